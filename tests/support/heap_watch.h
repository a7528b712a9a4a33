/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the C library's allocator is watched: a program that includes this defines malloc and its family over glibc's own; under a sanitizer,
 * which has its own family, by the sanitizer's hooks. Elsewhere only the domains' counts can be checked. Include it in one file.
 *
 * own_calls: of these, calls from the program itself, in which the library is linked, and not from another shared object. With
 * WATCH_SYSTEM defined (and _GNU_SOURCE), mmap and its family and brk are watched too, where that can be; system_watched says so.
 */
#ifndef TENURE_TESTS_SUPPORT_HEAP_WATCH_H
#define TENURE_TESTS_SUPPORT_HEAP_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "tenure/features.h"

/* Compilers know what malloc does, and would keep a plain count in a register across it. Any thread may count. */
static _Atomic unsigned long library_calls;
static _Atomic unsigned long own_calls;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define WATCH_BY_HOOKS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WATCH_BY_HOOKS 1
#endif

#if defined(WATCH_BY_HOOKS)

/* From sanitizer/allocator_interface.h, which not every compiler installs. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *)); /* NOLINT */

static void count_malloc(const volatile void *address, size_t size)
{
    (void)address;
    (void)size;
    library_calls++;
}

static void count_free(const volatile void *address)
{
    if (address != NULL) {
        library_calls++;
    }
}

static bool watch(void) { return __sanitizer_install_malloc_and_free_hooks(count_malloc, count_free) > 0; }

#elif defined(__GLIBC__)

extern const char __executable_start[]; /* NOLINT: where the linker has put the program */
extern const char etext[];

static void watch_note(const void *caller)
{
    library_calls++;
    own_calls += (const char *)caller >= __executable_start && (const char *)caller < etext ? 1U : 0U;
}

/* Not inlined, so that whoever calls them is their caller. */
#define WATCHED __attribute__((noinline))
#define WATCH_NOTE() watch_note(__builtin_return_address(0))

void *__libc_malloc(size_t size);                     /* NOLINT: glibc's names */
void *__libc_calloc(size_t count, size_t size);       /* NOLINT */
void *__libc_realloc(void *old, size_t size);         /* NOLINT */
void *__libc_memalign(size_t alignment, size_t size); /* NOLINT */
void __libc_free(void *old);                          /* NOLINT */

WATCHED void *malloc(size_t size)
{
    WATCH_NOTE();
    return __libc_malloc(size);
}

WATCHED void *calloc(size_t count, size_t size)
{
    WATCH_NOTE();
    return __libc_calloc(count, size);
}

WATCHED void *realloc(void *old, size_t size)
{
    WATCH_NOTE();
    return __libc_realloc(old, size);
}

WATCHED void *aligned_alloc(size_t alignment, size_t size)
{
    WATCH_NOTE();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size);

WATCHED int posix_memalign(void **place, size_t alignment, size_t size)
{
    WATCH_NOTE();
    *place = __libc_memalign(alignment, size);
    return *place != NULL ? 0 : 12;
}

WATCHED void free(void *old)
{
    if (old != NULL) {
        WATCH_NOTE();
    }
    __libc_free(old);
}

#if defined(WATCH_SYSTEM)

#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *memalign(size_t alignment, size_t size);
void *valloc(size_t size);
void *reallocarray(void *old, size_t count, size_t size);

WATCHED void *memalign(size_t alignment, size_t size)
{
    WATCH_NOTE();
    return __libc_memalign(alignment, size);
}

WATCHED void *valloc(size_t size)
{
    WATCH_NOTE();
    return __libc_memalign(4096, size);
}

WATCHED void *reallocarray(void *old, size_t count, size_t size)
{
    WATCH_NOTE();
    return size != 0 && count > SIZE_MAX / size ? NULL : __libc_realloc(old, count * size);
}

WATCHED void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
    WATCH_NOTE();
    return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset); /* NOLINT: what it answers */
}

WATCHED void *mmap64(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
    WATCH_NOTE();
    return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset); /* NOLINT */
}

WATCHED int munmap(void *address, size_t length)
{
    WATCH_NOTE();
    return (int)syscall(SYS_munmap, address, length);
}

WATCHED void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
    WATCH_NOTE();
    va_list more;
    va_start(more, flags);
    void *const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void *) : NULL;
    va_end(more);
    return (void *)syscall(SYS_mremap, old, old_length, length, flags, wanted); /* NOLINT */
}

/* The C library keeps the break to itself: whoever else moves it is told that there is none. */
WATCHED int brk(void *end)
{
    WATCH_NOTE();
    (void)end;
    return -1;
}

WATCHED void *sbrk(intptr_t more)
{
    WATCH_NOTE();
    (void)more;
    return (void *)-1; /* NOLINT */
}

static const bool system_watched = true;

#endif

static bool watch(void) { return true; }

#else

static bool watch(void) { return false; }

#endif

#if defined(WATCH_SYSTEM) && (defined(WATCH_BY_HOOKS) || !defined(__GLIBC__))
static const bool system_watched = false;
#endif

/* The watch itself must see what it is there for. */
static inline void the_watch_sees_an_allocation(void **state)
{
    (void)state;
    if (!watch()) {
        print_message("the C library's allocator cannot be watched here: only the domains' own counts are checked\n");
        skip();
    }
    const unsigned long before = library_calls;
    void *volatile place = malloc(100);
    assert_true(library_calls > before);
    const unsigned long after = library_calls;
    free(place);
    assert_true(library_calls > after);
}

#endif /* TENURE_TESTS_SUPPORT_HEAP_WATCH_H */
