/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, products, quotients and signs, for one instruction set. */
#include <float.h>
#include <math.h>

#include "../../storage/stream.h"
#include "elementwise_kernels.h"

#if defined(__clang__) /* "independent" permits vector code; where the compiler sees no gain in it, that is no defect */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include "arithmetic.inl.h"

static inline bool is_infinite(double a) { return fabs(a) > DBL_MAX; }

/* Which of its kind is being included: 1 for T float, or a pair of floats, or int32_t. */
#define IS_SINGLE (IS_SINGLE_(REAL_SUFFIX))
#define IS_SINGLE_(suffix) IS_SINGLE__(suffix)
#define IS_SINGLE__(suffix) IS_SINGLE_##suffix
#define IS_SINGLE_f32 1
#define IS_SINGLE_f64 0
#define IS_SINGLE_i32 1
#define IS_SINGLE_i64 0
#define IS_I32 IS_SINGLE

#define TEMPLATE "arithmetic_ops.tmpl.h"
#define DTYPES DTYPES_NUMBER
#include "each_dtype.inl.h"

/* clang-format off */
const tnri_arithmetic_kernels TNRI_ISA_NAME(tnri_arithmetic_kernels) = {
    .add = NUMBER_TABLE(add),
    .sub = NUMBER_TABLE(sub),
    .mul = NUMBER_TABLE(mul),
    .div = NUMBER_TABLE(div),
    .rem = ORDERED_TABLE(rem),
    .pow = INTEGER_TABLE(pow),
    .neg = NUMBER_TABLE(neg),
    .abs = NUMBER_TABLE(abs),
    .sign = NUMBER_TABLE(sign),
    .conj = FLOAT_TABLE(conj),
};
/* clang-format on */
