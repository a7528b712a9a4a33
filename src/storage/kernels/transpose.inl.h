/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Squares that are transposed in registers, for elements of 1, 4, 8 and 16 bytes. Rows lie `source_row` bytes apart in the
 * source and become columns, `target_column` bytes apart in the target; both may start anywhere.
 *
 * A vector is LANES lanes of 16 bytes. Inside the lanes, rows are interleaved in pairs (bytes 8) and fours (bytes 4);
 * whole lanes are then exchanged between rows, at distance 1 and 2: the recursion of Eklundh, "A fast computer method for
 * matrix transposing", IEEE Trans. Comput. 1972. Bytes: four perfect shuffles of 16 rows.
 */
#ifndef TENURE_STORAGE_KERNELS_TRANSPOSE_INL_H
#define TENURE_STORAGE_KERNELS_TRANSPOSE_INL_H

#include <stdint.h>

#if defined(__AVX512F__)
#define LANES 4
#elif defined(__AVX2__)
#define LANES 2
#else
#define LANES 1
#endif

typedef uint8_t lane1 __attribute__((vector_size(16)));
typedef uint32_t lane4 __attribute__((vector_size(16)));
typedef uint64_t lane8 __attribute__((vector_size(16)));
typedef uint32_t vector4 __attribute__((vector_size(16 * LANES)));
typedef uint64_t vector8 __attribute__((vector_size(16 * LANES)));

/* The same, anywhere in memory. */
typedef uint64_t lane_any __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t vector_any __attribute__((vector_size(16 * LANES), aligned(1), may_alias));

static inline lane8 lane_load(const char *from) { return *(const lane_any *)(const void *)from; }
static inline void lane_store(char *to, lane8 value) { *(lane_any *)(void *)to = value; }
static inline vector8 vector_load(const char *from) { return *(const vector_any *)(const void *)from; }
static inline void vector_store(char *to, vector8 value) { *(vector_any *)(void *)to = value; }

#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/* In each lane: low or high halves of a and b by turns, in units of 4 or 8 bytes. */
#define LANE_LOW_4(a, b) MIX(a, b, 0, 4, 1, 5)
#define LANE_HIGH_4(a, b) MIX(a, b, 2, 6, 3, 7)
#define LANE_LOW_8(a, b) MIX(a, b, 0, 2)
#define LANE_HIGH_8(a, b) MIX(a, b, 1, 3)

#if LANES == 1
#define LOW_4(a, b) LANE_LOW_4(a, b)
#define HIGH_4(a, b) LANE_HIGH_4(a, b)
#define LOW_8(a, b) LANE_LOW_8(a, b)
#define HIGH_8(a, b) LANE_HIGH_8(a, b)
#elif LANES == 2
#define LOW_4(a, b) MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_4(a, b) MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_8(a, b) MIX(a, b, 0, 4, 2, 6)
#define HIGH_8(a, b) MIX(a, b, 1, 5, 3, 7)
/* Lanes whose number has the bit clear, or set, of a and of b by turns. */
#define CLEAR_1(a, b) MIX(a, b, 0, 1, 4, 5)
#define SET_1(a, b) MIX(a, b, 2, 3, 6, 7)
#else
#define LOW_4(a, b) MIX(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH_4(a, b) MIX(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define LOW_8(a, b) MIX(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define HIGH_8(a, b) MIX(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define CLEAR_1(a, b) MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define SET_1(a, b) MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define CLEAR_2(a, b) MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define SET_2(a, b) MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#endif

/* Exchange lanes between LANES groups of `per_lane` rows each. */
static inline __attribute__((always_inline)) void exchange_lanes(vector8 *rows, int per_lane)
{
#if LANES >= 2
    for (int group = 0; group < LANES; group += 2) {
        for (int i = 0; i < per_lane; ++i) {
            const vector8 a = rows[group * per_lane + i];
            const vector8 b = rows[(group + 1) * per_lane + i];
            rows[group * per_lane + i] = CLEAR_1(a, b);
            rows[(group + 1) * per_lane + i] = SET_1(a, b);
        }
    }
#endif
#if LANES == 4
    for (int i = 0; i < 2 * per_lane; ++i) {
        const vector8 a = rows[i];
        const vector8 b = rows[2 * per_lane + i];
        rows[i] = CLEAR_2(a, b);
        rows[2 * per_lane + i] = SET_2(a, b);
    }
#endif
    (void)rows;
    (void)per_lane;
}

/* ---- Squares of whole vectors: SQUARE_<bytes> elements a side ---------------------------------------------------------- */

#define SQUARE_1 16
#define SQUARE_4 (4 * LANES)
#define SQUARE_8 (2 * LANES)
#define SQUARE_16 LANES

static inline __attribute__((always_inline)) void square_4(char *target, int64_t target_column, const char *source,
                                                           int64_t source_row)
{
    vector8 rows[SQUARE_4];
    for (int i = 0; i < SQUARE_4; i += 4) {
        const vector4 a = (vector4)vector_load(source + i * source_row);
        const vector4 b = (vector4)vector_load(source + (i + 1) * source_row);
        const vector4 c = (vector4)vector_load(source + (i + 2) * source_row);
        const vector4 d = (vector4)vector_load(source + (i + 3) * source_row);
        const vector8 ab_low = (vector8)LOW_4(a, b);
        const vector8 ab_high = (vector8)HIGH_4(a, b);
        const vector8 cd_low = (vector8)LOW_4(c, d);
        const vector8 cd_high = (vector8)HIGH_4(c, d);
        rows[i] = LOW_8(ab_low, cd_low);
        rows[i + 1] = HIGH_8(ab_low, cd_low);
        rows[i + 2] = LOW_8(ab_high, cd_high);
        rows[i + 3] = HIGH_8(ab_high, cd_high);
    }
    exchange_lanes(rows, 4);
    for (int j = 0; j < SQUARE_4; ++j) {
        vector_store(target + j * target_column, rows[j]);
    }
}

static inline __attribute__((always_inline)) void square_8(char *target, int64_t target_column, const char *source,
                                                           int64_t source_row)
{
    vector8 rows[SQUARE_8];
    for (int i = 0; i < SQUARE_8; i += 2) {
        const vector8 a = vector_load(source + i * source_row);
        const vector8 b = vector_load(source + (i + 1) * source_row);
        rows[i] = LOW_8(a, b);
        rows[i + 1] = HIGH_8(a, b);
    }
    exchange_lanes(rows, 2);
    for (int j = 0; j < SQUARE_8; ++j) {
        vector_store(target + j * target_column, rows[j]);
    }
}

static inline __attribute__((always_inline)) void square_16(char *target, int64_t target_column, const char *source,
                                                            int64_t source_row)
{
    vector8 rows[SQUARE_16];
    for (int i = 0; i < SQUARE_16; ++i) {
        rows[i] = vector_load(source + i * source_row);
    }
    exchange_lanes(rows, 1);
    for (int j = 0; j < SQUARE_16; ++j) {
        vector_store(target + j * target_column, rows[j]);
    }
}

static inline __attribute__((always_inline)) void shuffle_bytes(const lane1 *from, lane1 *to)
{
    for (int i = 0; i < 8; ++i) {
        to[2 * i] = MIX(from[i], from[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        to[2 * i + 1] = MIX(from[i], from[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
}

static inline void square_1(char *target, int64_t target_column, const char *source, int64_t source_row)
{
    lane1 rows[16];
    lane1 other[16];
    for (int i = 0; i < 16; ++i) {
        rows[i] = (lane1)lane_load(source + i * source_row);
    }
    shuffle_bytes(rows, other);
    shuffle_bytes(other, rows);
    shuffle_bytes(rows, other);
    shuffle_bytes(other, rows);
    for (int j = 0; j < 16; ++j) {
        lane_store(target + j * target_column, (lane8)rows[j]);
    }
}

/* ---- Squares of one lane, for what is left at the edges: CORNER_<bytes> elements a side ----------------------------------- */

#define CORNER_1 16
#define CORNER_4 4
#define CORNER_8 2
#define CORNER_16 1

static inline void corner_1(char *target, int64_t target_column, const char *source, int64_t source_row)
{
    square_1(target, target_column, source, source_row);
}

static inline __attribute__((always_inline)) void corner_4(char *target, int64_t target_column, const char *source,
                                                           int64_t source_row)
{
    const lane4 a = (lane4)lane_load(source);
    const lane4 b = (lane4)lane_load(source + source_row);
    const lane4 c = (lane4)lane_load(source + 2 * source_row);
    const lane4 d = (lane4)lane_load(source + 3 * source_row);
    const lane8 ab_low = (lane8)LANE_LOW_4(a, b);
    const lane8 ab_high = (lane8)LANE_HIGH_4(a, b);
    const lane8 cd_low = (lane8)LANE_LOW_4(c, d);
    const lane8 cd_high = (lane8)LANE_HIGH_4(c, d);
    lane_store(target, LANE_LOW_8(ab_low, cd_low));
    lane_store(target + target_column, LANE_HIGH_8(ab_low, cd_low));
    lane_store(target + 2 * target_column, LANE_LOW_8(ab_high, cd_high));
    lane_store(target + 3 * target_column, LANE_HIGH_8(ab_high, cd_high));
}

static inline __attribute__((always_inline)) void corner_8(char *target, int64_t target_column, const char *source,
                                                           int64_t source_row)
{
    const lane8 a = lane_load(source);
    const lane8 b = lane_load(source + source_row);
    lane_store(target, LANE_LOW_8(a, b));
    lane_store(target + target_column, LANE_HIGH_8(a, b));
}

static inline __attribute__((always_inline)) void corner_16(char *target, int64_t target_column, const char *source,
                                                            int64_t source_row)
{
    (void)target_column;
    (void)source_row;
    lane_store(target, lane_load(source));
}

#endif /* TENURE_STORAGE_KERNELS_TRANSPOSE_INL_H */
