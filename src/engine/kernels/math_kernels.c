/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exp, log, sin, cos, tanh, sqrt, rsqrt, expm1, log1p and pow of floats, for one instruction set.
 *
 * Reals: roots are the hardware's; all else comes from a vector math library, the provider, which CMake chooses by naming one
 * of the files vector_math_*.inl.h in TNRI_VECTOR_MATH. With S for f32 or f64 it gives
 *
 *   lanes_S             a vector of numbers, as many as the library takes at a time
 *   exp_lanes_S(x)      the function on each of them; also log, sin, cos, tanh, expm1, log1p, and pow_lanes_S(x, y)
 *
 * with C's special values, and so that a lane's result depends on that lane alone.
 * Complex numbers: one at a time, from the C library's functions (math_complex.tmpl.h).
 *
 * Bounds of every function: docs/elementwise.md; tests/unit/test_math_accuracy.c measures them.
 */
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../storage/stream.h"
#include "elementwise_kernels.h"
#include TNRI_VECTOR_MATH

#if defined(__clang__) /* "independent" permits vector code; where the compiler sees no gain in it, that is no defect */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

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

#define FUNCTION_NAME(function, part) FUNCTION_NAME_(function, part)
#define FUNCTION_NAME_(function, part) function##_##part

#define TEMPLATE "math_map.tmpl.h"
#define DTYPES DTYPES_REAL
#include "each_dtype.inl.h"

#if TNRI_HAS_C32 || TNRI_HAS_C64
#include "math_complex.inl.h"
#endif

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
