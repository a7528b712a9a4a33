/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elementwise kernels of one dtype (each_dtype.inl.h), each over one plane: lines of runs.
 *
 * An output may be an input's very elements: every iteration reads its own elements before it writes them.
 */

#if KIND == KIND_REAL
static inline T NAME(exp1)(T a) { return MATH(exp)(a); }
#elif KIND == KIND_COMPLEX
/*
 * e^x (cos y + i sin y), and C's answers where that product has none: a zero imaginary part stays as it is; e^-inf is 0
 * whatever the angle; a huge e^x is applied in two halves, so that a small cosine can still bring it back into range.
 */
static inline T NAME(exp1)(T a)
{
    if (a.im == (REAL)0) {
        return (T){MATH(exp)(a.re), a.im};
    }
    if (!isfinite(a.im)) {
        if (isinf(a.re) && a.re < (REAL)0) {
            return (T){(REAL)0, (REAL)0};
        }
        return isinf(a.re) ? (T){a.re, a.im - a.im} : (T){a.im - a.im, a.im - a.im};
    }
    const REAL cosine = MATH(cos)(a.im);
    const REAL sine = MATH(sin)(a.im);
    const REAL scale = MATH(exp)(a.re);
    if (isinf(scale) && isfinite(a.re)) {
        const REAL half = MATH(exp)(a.re * (REAL)0.5);
        return (T){half * cosine * half, half * sine * half};
    }
    return (T){scale * cosine, scale * sine};
}
#endif

#define KERNEL add
#define APPLY NAME(plus)
#include "elementwise_binary.tmpl.h"
#define KERNEL sub
#define APPLY NAME(minus)
#include "elementwise_binary.tmpl.h"
#define KERNEL mul
#define APPLY NAME(times)
#include "elementwise_binary.tmpl.h"

#if KIND != KIND_INTEGER
static void NAME(exp)(const plane *p)
{
    for (int64_t j = 0; j < p->lines; ++j) {
        char *out = p->data[0] + j * p->jump[0];
        const char *a = p->data[1] + j * p->jump[1];
        for (int64_t i = 0; i < p->count; ++i) {
            *(T *)(void *)(out + i * p->step[0]) = NAME(exp1)(*(const T *)(const void *)(a + i * p->step[1]));
        }
    }
}
#endif
