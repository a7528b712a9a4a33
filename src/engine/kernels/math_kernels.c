/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exp, log, sin, cos, tanh, sqrt, rsqrt, expm1, log1p and pow of floats, for one instruction set.
 *
 * Reals: vector functions of our own (math_lanes.tmpl.h). Measured on x86-64-v3, glibc's vector library was 1.2 to 2.2 times
 * slower and up to 3.5 ulp off, and SLEEF slower still; ours exist on every machine, a board included, and need no library
 * beyond C's, which computes what is rare: results that are not normal numbers, angles beyond 2^24, powers.
 * Complex numbers: one at a time, from the C library's functions (math_complex.tmpl.h).
 *
 * Bounds of every function: docs/elementwise.md; tests/unit/test_math_accuracy.c measures them.
 */
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "elementwise_kernels.h"
#include "lanes.inl.h"
#include "math_coefficients.inl.h"
#include "stream.inl.h"

/* An element of an operand of a plane, line by line. */
typedef struct place {
    int64_t line, element;
} place;

static inline char *next_place(const tnri_plane *p, int operand, place *at)
{
    char *const here = p->data[operand] + at->line * p->jump[operand] + at->element * p->step[operand];
    if (++at->element == p->count) {
        at->element = 0;
        ++at->line;
    }
    return here;
}

#define TEMPLATE "math_lanes.tmpl.h"
#define DTYPES DTYPES_REAL
#include "each_dtype.inl.h"

#define FUNCTION_NAME(function, part) FUNCTION_NAME_(function, part)
#define FUNCTION_NAME_(function, part) function##_##part

#define TEMPLATE "math_map.tmpl.h"
#define DTYPES DTYPES_REAL
#include "each_dtype.inl.h"

#include "math_complex.inl.h"

#define TEMPLATE "math_complex.tmpl.h"
#define DTYPES DTYPES_COMPLEX
#include "each_dtype.inl.h"

/* clang-format off */
const tnri_math_kernels TNRI_ISA_NAME(tnri_math_kernels) = {
    .exp = FLOAT_TABLE(exp),
    .log = FLOAT_TABLE(log),
    .sin = FLOAT_TABLE(sin),
    .cos = FLOAT_TABLE(cos),
    .tanh = FLOAT_TABLE(tanh),
    .sqrt = FLOAT_TABLE(sqrt),
    .rsqrt = FLOAT_TABLE(rsqrt),
    .expm1 = FLOAT_TABLE(expm1),
    .log1p = FLOAT_TABLE(log1p),
    .pow = FLOAT_TABLE(pow),
};
/* clang-format on */
