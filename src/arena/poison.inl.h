/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks on memory that a program must not touch: free blocks of arenas, buffers that wait in a pool, free handle slots.
 *
 * Under AddressSanitizer a touch of marked memory is a report; under Valgrind (builds without NDEBUG where its header
 * was found) too, and fresh memory counts as not initialised. Builds without NDEBUG also fill: fresh memory with
 * TNRI_FILL_FRESH, freed with TNRI_FILL_FREED, so that stray values have a face. Elsewhere all of this is nothing at
 * all, and no byte is touched. Both tools keep track of 8 bytes at a time here: ranges should start on multiples of 8.
 */
#ifndef TENURE_ARENA_POISON_INL_H
#define TENURE_ARENA_POISON_INL_H

#include "base.h"

/* Both make a NaN in every floating dtype and a large odd number in every integer one. */
#define TNRI_FILL_FRESH 0xFF
#define TNRI_FILL_FREED 0xFD

#if defined(__SANITIZE_ADDRESS__)
#define TNRI_POISON_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TNRI_POISON_ASAN 1
#endif
#endif
#ifndef TNRI_POISON_ASAN
#define TNRI_POISON_ASAN 0
#endif

#if !defined(NDEBUG) && !TNRI_POISON_ASAN && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#define TNRI_POISON_VALGRIND 1
#endif
#endif
#ifndef TNRI_POISON_VALGRIND
#define TNRI_POISON_VALGRIND 0
#endif

#if TNRI_POISON_ASAN
#include <sanitizer/asan_interface.h>
#endif
#if TNRI_POISON_VALGRIND
#include <valgrind/memcheck.h>
#endif

/* Nobody may touch the range; its bytes stay as they are. */
static inline void tnri_poison_hide(void *address, uint64_t bytes)
{
    (void)address;
    (void)bytes;
#if TNRI_POISON_ASAN
    ASAN_POISON_MEMORY_REGION(address, (size_t)bytes);
#elif TNRI_POISON_VALGRIND
    (void)VALGRIND_MAKE_MEM_NOACCESS(address, (size_t)bytes);
#endif
}

/* Everybody may touch the range again; its bytes count as written. */
static inline void tnri_poison_show(void *address, uint64_t bytes)
{
    (void)address;
    (void)bytes;
#if TNRI_POISON_ASAN
    ASAN_UNPOISON_MEMORY_REGION(address, (size_t)bytes);
#elif TNRI_POISON_VALGRIND
    (void)VALGRIND_MAKE_MEM_DEFINED(address, (size_t)bytes);
#endif
}

/* The range goes to an allocator that marks it itself. */
static inline void tnri_fill_freed(void *address, uint64_t bytes)
{
    (void)address;
    (void)bytes;
#ifndef NDEBUG
    memset(address, TNRI_FILL_FREED, (size_t)bytes);
#endif
}

/* The range is being freed; parts of it may be hidden already. */
static inline void tnri_poison_mark_free(void *address, uint64_t bytes)
{
#ifndef NDEBUG
    tnri_poison_show(address, bytes);
    memset(address, TNRI_FILL_FREED, (size_t)bytes);
#endif
    tnri_poison_hide(address, bytes);
}

/* The range is being handed out, and what it holds means nothing. */
static inline void tnri_poison_mark_used(void *address, uint64_t bytes)
{
    tnri_poison_show(address, bytes);
#ifndef NDEBUG
    memset(address, TNRI_FILL_FRESH, (size_t)bytes);
#endif
#if TNRI_POISON_VALGRIND
    (void)VALGRIND_MAKE_MEM_UNDEFINED(address, (size_t)bytes);
#endif
}

#endif /* TENURE_ARENA_POISON_INL_H */
