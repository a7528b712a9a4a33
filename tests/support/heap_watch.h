/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the C library's allocator is watched: a program that includes this defines malloc and its family over glibc's own; under a sanitizer,
 * which has its own family, by the sanitizer's hooks. Elsewhere only the domains' counts can be checked. Include it in one file.
 */
#ifndef TENURE_TESTS_SUPPORT_HEAP_WATCH_H
#define TENURE_TESTS_SUPPORT_HEAP_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "tenure/features.h"

/* volatile: compilers know what malloc does, and would keep the count in a register across it. */
static volatile unsigned long library_calls;

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

void *__libc_malloc(size_t size);                     /* NOLINT: glibc's names */
void *__libc_calloc(size_t count, size_t size);       /* NOLINT */
void *__libc_realloc(void *old, size_t size);         /* NOLINT */
void *__libc_memalign(size_t alignment, size_t size); /* NOLINT */
void __libc_free(void *old);                          /* NOLINT */

void *malloc(size_t size)
{
    library_calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    library_calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    library_calls++;
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    library_calls++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size);

int posix_memalign(void **place, size_t alignment, size_t size)
{
    library_calls++;
    *place = __libc_memalign(alignment, size);
    return *place != NULL ? 0 : 12;
}

void free(void *old)
{
    library_calls += old != NULL ? 1U : 0U;
    __libc_free(old);
}

static bool watch(void) { return true; }

#else

static bool watch(void) { return false; }

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
