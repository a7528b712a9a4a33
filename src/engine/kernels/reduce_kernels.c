/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions, for one instruction set. */
#include <float.h>
#include <math.h>

#include "arithmetic.inl.h"
#include "reduce_kernels.h"
#include "reduce_vector.inl.h"

/* An integer as wide as the element, signed and not. */
typedef int32_t flag_f32;
typedef int64_t flag_f64;
typedef int32_t flag_i32;
typedef int64_t flag_i64;
typedef uint32_t bits_f32;
typedef uint64_t bits_f64;

/* ---- What norms need to know of floats -------------------------------------------------------------------------------------- */

/*
 * n squares lose at most n * 2^-1075 to underflow (2^-150 for f32), which does not count in sums from here on; below, and
 * above the largest number, terms are scaled.
 */
#define least_squares_f32 0x1p-80F
#define least_squares_f64 0x1p-900
#define most_squares_f32 FLT_MAX
#define most_squares_f64 DBL_MAX
#define most_f32 FLT_MAX
#define most_f64 DBL_MAX

/* Orders magnitudes as integers: numbers, then NaN, then infinity. */
static inline bits_f32 magnitude_key_f32(float x)
{
    bits_f32 bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT32_C(0x7fffffff);
    return bits == UINT32_C(0x7f800000) ? UINT32_MAX : bits;
}

static inline bits_f64 magnitude_key_f64(double x)
{
    bits_f64 bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7fffffffffffffff);
    return bits == UINT64_C(0x7ff0000000000000) ? UINT64_MAX : bits;
}

static inline float magnitude_of_f32(bits_f32 key)
{
    const bits_f32 bits = key == UINT32_MAX ? UINT32_C(0x7f800000) : key;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double magnitude_of_f64(bits_f64 key)
{
    const bits_f64 bits = key == UINT64_MAX ? UINT64_C(0x7ff0000000000000) : key;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A power of two that brings x to about 1, as far as there is one. */
static inline float scale_for_f32(float x)
{
    const int exponent = -ilogbf(x);
    return ldexpf(1.0F, exponent < FLT_MAX_EXP - 1 ? exponent : FLT_MAX_EXP - 1);
}

static inline double scale_for_f64(double x)
{
    const int exponent = -ilogb(x);
    return ldexp(1.0, exponent < DBL_MAX_EXP - 1 ? exponent : DBL_MAX_EXP - 1);
}

/* ---- Walking over tiles ------------------------------------------------------------------------------------------------------ */

/* Where the line begins that has tile number `first` of all, its number in the line, and the index of the line. */
static int64_t seek_tile(const tnri_reduction *r, int64_t first, int64_t *tile, int64_t *index)
{
    if (first == 0) {
        for (int i = 1; i < r->rank; ++i) {
            index[i] = 0;
        }
        return 0;
    }
    *tile = first % r->line_tiles;
    int64_t line = first / r->line_tiles;
    int64_t offset = 0;
    for (int i = 1; i < r->rank; ++i) {
        index[i] = line % r->shape[i];
        line /= r->shape[i];
        offset += index[i] * r->strides[i];
    }
    return offset;
}

/* From the beginning of a line to the next one's. */
static int64_t next_line(const tnri_reduction *r, int64_t *index)
{
    int64_t offset = 0;
    for (int i = 1; i < r->rank; ++i) {
        offset += r->strides[i];
        ++index[i];
        if (index[i] < r->shape[i]) {
            break;
        }
        offset -= r->strides[i] * r->shape[i];
        index[i] = 0;
    }
    return offset;
}

/* ---- Kernels and their table ------------------------------------------------------------------------------------------------ */

#define TEMPLATE "reduce.tmpl.h"
#define DTYPES DTYPES_ALL
#include "each_dtype.inl.h"

/* clang-format off */
#define REDUCER_(op, dtype) {PICK_##dtype(outputs_##op##_##dtype), PICK_##dtype(partial_##op##_##dtype), \
                             PICK_##dtype(merge_##op##_##dtype), NULL}
#define ORDERED_(op) {[TNR_F32] = REDUCER_(op, f32), [TNR_F64] = REDUCER_(op, f64), [TNR_I32] = REDUCER_(op, i32), \
                      [TNR_I64] = REDUCER_(op, i64)}
#define FLOATS__(op) [TNR_F32] = REDUCER_(op, f32), [TNR_F64] = REDUCER_(op, f64), [TNR_C32] = REDUCER_(op, c32), \
                     [TNR_C64] = REDUCER_(op, c64)
#define NUMBERS_(op) {FLOATS__(op), [TNR_I32] = REDUCER_(op, i32), [TNR_I64] = REDUCER_(op, i64)}
#define ARG__(op, dtype) {PICK_ARG(PICK_##dtype(arg_look_##op##_##dtype)), \
                          PICK_ARG(PICK_##dtype(arg_merge_##op##_##dtype))}
#define ARGS_(op) {[TNR_F32] = ARG__(op, f32), [TNR_F64] = ARG__(op, f64), [TNR_I32] = ARG__(op, i32), \
                   [TNR_I64] = ARG__(op, i64)}
/* clang-format on */

const tnri_reduce_table TNRI_ISA_NAME(tnri_reduce_kernels) = {
    .reducers =
        {
            [TNRI_REDUCE_SUM] = NUMBERS_(sum),
            [TNRI_REDUCE_PROD] = NUMBERS_(prod),
            [TNRI_REDUCE_MAX] = ORDERED_(max),
            [TNRI_REDUCE_MIN] = ORDERED_(min),
            [TNRI_REDUCE_ALL] = {[TNR_BOOL] = REDUCER_(all, b8)},
            [TNRI_REDUCE_ANY] = {[TNR_BOOL] = REDUCER_(any, b8)},
            [TNRI_REDUCE_NORM] = {FLOATS__(norm)},
        },
    .argmax = ARGS_(max),
    .argmin = ARGS_(min),
};
