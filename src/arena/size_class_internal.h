/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Size classes of pools: 64, 80, 96, 112, 128, 160, 192, 224, 256, ... Four per power of two, so a class is less than
 * 25 % larger than any request it serves above 64 bytes, and exact at powers of two.
 *
 * A class is named by the highest bit of the last byte's index and the two bits below it: a few shifts, no table.
 */
#ifndef TENURE_ARENA_SIZE_CLASS_INTERNAL_H
#define TENURE_ARENA_SIZE_CLASS_INTERNAL_H

#include "base.h"

/* Highest bit of the smallest class, and the number of classes whose size fits in 64 bits. */
#define TNRI_CLASS_LOWEST 6U
#define TNRI_CLASS_COUNT ((64U - TNRI_CLASS_LOWEST) * 4U)

/* Largest request that has a class: 7 * 2^61. */
#define TNRI_CLASS_LARGEST (UINT64_C(7) << 61)

/* Bytes of a class. */
static inline uint64_t tnri_class_bytes(uint32_t size_class)
{
    return (uint64_t)(4U + (size_class & 3U)) << (size_class / 4U + TNRI_CLASS_LOWEST - 2U);
}

/* Smallest class that holds 1 <= bytes <= TNRI_CLASS_LARGEST. */
static inline uint32_t tnri_class_of(uint64_t bytes)
{
    /* The top three bits of the last byte's index, 4 to 7, name its quarter; the quarter's end is the class. */
    const uint64_t last = tnri_max_u64(bytes - 1U, TNRI_UNIT - 1U);
    const unsigned high = tnri_highest_bit(last);
    const unsigned quarter = (unsigned)(last >> (high - 2U));
    return high * 4U + quarter - (TNRI_CLASS_LOWEST * 4U + 3U);
}

/* Largest class that fits in a buffer of bytes >= 64. */
static inline uint32_t tnri_class_within(uint64_t bytes)
{
    const unsigned high = tnri_highest_bit(bytes);
    return high * 4U + (unsigned)(bytes >> (high - 2U)) - (TNRI_CLASS_LOWEST * 4U + 4U);
}

#endif /* TENURE_ARENA_SIZE_CLASS_INTERNAL_H */
