/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops that a careful programmer would write by hand, for one instruction set: LOOP(x) names them, TARGET is the function
 * attribute, LANES the doubles of a vector, STREAM(p, v) a streaming store of one.
 */

typedef double LOOP(vector) __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

TARGET static void LOOP(copy)(double *to, const double *a, const double *b, int64_t count)
{
    (void)b;
    for (int64_t i = 0; i < count; ++i) {
        to[i] = a[i];
    }
}

TARGET static void LOOP(add)(double *to, const double *a, const double *b, int64_t count)
{
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
        to[i] = a[i] + b[i];
    }
}

/* Streaming: `to` is aligned to 64 bytes, count a multiple of 8. */
TARGET static void LOOP(copy_stream)(double *to, const double *a, const double *b, int64_t count)
{
    (void)b;
    for (int64_t i = 0; i < count; i += LANES) {
        STREAM(to + i, *(const LOOP(vector) *)(const void *)(a + i));
    }
    __builtin_ia32_sfence();
}

TARGET static void LOOP(add_stream)(double *to, const double *a, const double *b, int64_t count)
{
    for (int64_t i = 0; i < count; i += LANES) {
        STREAM(to + i, *(const LOOP(vector) *)(const void *)(a + i) + *(const LOOP(vector) *)(const void *)(b + i));
    }
    __builtin_ia32_sfence();
}

/* The naive sum at the speed of reading: eight vectors side by side. */
TARGET static double LOOP(sum)(const double *a, int64_t count)
{
    LOOP(vector) sums[8] = {{0}};
    int64_t i = 0;
    for (; i + 8 * LANES <= count; i += 8 * LANES) {
        for (int k = 0; k < 8; ++k) {
            sums[k] += *(const LOOP(vector) *)(const void *)(a + i + k * LANES);
        }
    }
    double total = 0.0;
    for (; i < count; ++i) {
        total += a[i];
    }
    for (int k = 0; k < 8; ++k) {
        for (int j = 0; j < LANES; ++j) {
            total += sums[k][j];
        }
    }
    return total;
}

#undef LOOP
#undef TARGET
#undef LANES
#undef STREAM
