/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elementwise kernels of one dtype over one run of elements, strides in bytes. Expects T, NAME(x), and KIND: one of
 * KIND_REAL, KIND_COMPLEX (with REAL, EXP, SIN, COS), KIND_INTEGER (with UNSIGNED, in which overflow wraps).
 *
 * An output may be an input's very elements: every iteration reads its own elements before it writes them.
 */

#if KIND == KIND_INTEGER
static inline T NAME(add1)(T a, T b) { return (T)((UNSIGNED)a + (UNSIGNED)b); }
static inline T NAME(sub1)(T a, T b) { return (T)((UNSIGNED)a - (UNSIGNED)b); }
static inline T NAME(mul1)(T a, T b) { return (T)((UNSIGNED)a * (UNSIGNED)b); }
#elif KIND == KIND_REAL
static inline T NAME(add1)(T a, T b) { return a + b; }
static inline T NAME(sub1)(T a, T b) { return a - b; }
static inline T NAME(mul1)(T a, T b) { return a * b; }
static inline T NAME(exp1)(T a) { return EXP(a); }
#else
static inline T NAME(add1)(T a, T b) { return (T){a.re + b.re, a.im + b.im}; }
static inline T NAME(sub1)(T a, T b) { return (T){a.re - b.re, a.im - b.im}; }
/* The plain formula: no second look at results that became NaN. */
static inline T NAME(mul1)(T a, T b) { return (T){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/*
 * e^x (cos y + i sin y), and C's answers where that product has none: a zero imaginary part stays as it is; e^-inf is 0
 * whatever the angle; a huge e^x is applied in two halves, so that a small cosine can still bring it back into range.
 */
static inline T NAME(exp1)(T a)
{
    if (a.im == (REAL)0) {
        return (T){EXP(a.re), a.im};
    }
    if (!isfinite(a.im)) {
        if (isinf(a.re) && a.re < (REAL)0) {
            return (T){(REAL)0, (REAL)0};
        }
        return isinf(a.re) ? (T){a.re, a.im - a.im} : (T){a.im - a.im, a.im - a.im};
    }
    const REAL cosine = COS(a.im);
    const REAL sine = SIN(a.im);
    const REAL scale = EXP(a.re);
    if (isinf(scale) && isfinite(a.re)) {
        const REAL half = EXP(a.re * (REAL)0.5);
        return (T){half * cosine * half, half * sine * half};
    }
    return (T){scale * cosine, scale * sine};
}
#endif

#define BINARY add
#include "elementwise_binary.tmpl.h"
#define BINARY sub
#include "elementwise_binary.tmpl.h"
#define BINARY mul
#include "elementwise_binary.tmpl.h"

#if KIND != KIND_INTEGER
static void NAME(exp)(char *out, int64_t out_step, const char *a, int64_t a_step, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        *(T *)(void *)(out + i * out_step) = NAME(exp1)(*(const T *)(const void *)(a + i * a_step));
    }
}
#endif

#undef T
#undef REAL
#undef EXP
#undef SIN
#undef COS
#undef UNSIGNED
#undef KIND
#undef NAME
