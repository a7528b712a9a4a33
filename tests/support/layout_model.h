/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers, and the arithmetic of indices by definition: what tests of layouts compare with. Nothing here uses
 * the library.
 */
#ifndef TENURE_TESTS_SUPPORT_LAYOUT_MODEL_H
#define TENURE_TESTS_SUPPORT_LAYOUT_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Randomness ------------------------------------------------------------------------------------------------- */

static uint64_t seed;

/* From TENURE_TEST_SEED, else always the same; printed, so that a failure can be had again. */
static inline void seed_from_environment(void)
{
    const char *given = getenv("TENURE_TEST_SEED");
    seed = given != NULL ? strtoull(given, NULL, 0) : 20240611;
    printf("TENURE_TEST_SEED=%llu\n", (unsigned long long)seed);
}

static inline uint64_t random_bits(void)
{
    uint64_t mixed = seed += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* A number from low to high, both included. */
static inline int64_t within(int64_t low, int64_t high)
{
    return low + (int64_t)(random_bits() % (uint64_t)(high - low + 1));
}

static inline bool chance(int one_in) { return within(1, one_in) == 1; }

/* ---- Indices ---------------------------------------------------------------------------------------------------- */

static inline bool same_numbers(const int64_t *a, const int64_t *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static inline int64_t count_of(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= shape[i];
    }
    return count;
}

static inline void index_of(int rank, const int64_t *shape, int64_t position, int64_t *index)
{
    for (int i = 0; i < rank; i++) {
        index[i] = position % shape[i];
        position /= shape[i];
    }
}

static inline int64_t position_of(int rank, const int64_t *shape, const int64_t *index)
{
    int64_t position = 0;
    for (int i = rank; i-- > 0;) {
        position = position * shape[i] + index[i];
    }
    return position;
}

static inline int64_t offset_of(int rank, const int64_t *strides, const int64_t *index)
{
    int64_t offset = 0;
    for (int i = 0; i < rank; i++) {
        offset += strides[i] * index[i];
    }
    return offset;
}

#endif /* TENURE_TESTS_SUPPORT_LAYOUT_MODEL_H */
