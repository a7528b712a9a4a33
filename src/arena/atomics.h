/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomic objects: C11's, or, in builds with one thread and no calls from interrupts (TENURE_ATOMICS=PLAIN), plain ones under the same
 * names. There are cores without 64-bit atomics, for which compilers would call a library that boards do not have.
 */
#ifndef TENURE_ARENA_ATOMICS_H
#define TENURE_ARENA_ATOMICS_H

#ifndef TNRI_PLAIN_ATOMICS
#define TNRI_PLAIN_ATOMICS 0
#endif

#if TNRI_PLAIN_ATOMICS

#include <stdbool.h>
#include <stdint.h>

#define TNRI_ATOMIC(type) type
typedef int atomic_int;
typedef unsigned atomic_uint;
typedef bool atomic_bool;

#define atomic_init(object, value) ((void)(*(object) = (value)))
#define atomic_load_explicit(object, order) (*(object))
#define atomic_store_explicit(object, value, order) ((void)(*(object) = (value)))
#define atomic_fetch_add_explicit(object, value, order) TNRI_PLAIN_SET(object, *(object) + (value))
#define atomic_fetch_sub_explicit(object, value, order) TNRI_PLAIN_SET(object, *(object) - (value))
#define atomic_fetch_and_explicit(object, value, order) TNRI_PLAIN_SET(object, *(object) & (value))
#define TNRI_PLAIN_SET(object, value) \
    _Generic(*(object), uint64_t : tnri_plain_set, unsigned : tnri_plain_exchange)((object), (value))
#define atomic_exchange_explicit(object, value, order) tnri_plain_exchange((object), (value))
#define atomic_compare_exchange_strong_explicit(object, seen, value, success, failure) \
    (*(object) == *(seen) ? (*(object) = (value), true) : (*(seen) = *(object), false))
#define atomic_compare_exchange_weak_explicit atomic_compare_exchange_strong_explicit

/* Each tells what was there. */
static inline uint64_t tnri_plain_set(uint64_t *object, uint64_t value)
{
    const uint64_t before = *object;
    *object = value;
    return before;
}

static inline unsigned tnri_plain_exchange(unsigned *object, unsigned value)
{
    const unsigned before = *object;
    *object = value;
    return before;
}

#else

#include <stdatomic.h>

#define TNRI_ATOMIC(type) _Atomic(type)

#endif

#endif /* TENURE_ARENA_ATOMICS_H */
