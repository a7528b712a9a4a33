/* SPDX-License-Identifier: BSD-3-Clause */
/* What terms of one dtype (each_dtype.inl.h) do to accumulators, for reduce_small_kernels.c. */

#if KIND == KIND_BOOL

#define OP all
#define LIFT(x) (x)
#define JOIN(x, y) ((x) < (y) ? (x) : (y))
#define END TRUTH
#include "reduce_small_op.tmpl.h"
#define OP any
#define LIFT(x) (x)
#define JOIN(x, y) ((T)((x) | (y)))
#define END TRUTH
#include "reduce_small_op.tmpl.h"

#else

#define OP sum
#define LIFT(x) (x)
#define JOIN(x, y) NAME(plus)(x, y)
#include "reduce_small_op.tmpl.h"
#define OP prod
#define LIFT(x) (x)
#define JOIN(x, y) NAME(times)(x, y)
#include "reduce_small_op.tmpl.h"

#endif

/* ---- Largest and smallest ----------------------------------------------------------------------------------------------------- */

#if KIND == KIND_REAL || KIND == KIND_INTEGER

#if KIND == KIND_REAL /* NaN if either is; of two zeros the positive one, the smaller of two: reduce.tmpl.h */
static T NAME(larger)(T x, T y) { return x > y ? x : x < y ? y : x == y ? (x == (T)0 ? x + y : x) : x != x ? x : y; }
static T NAME(smaller)(T x, T y)
{
    return x < y ? x : x > y ? y : x == y ? (x == (T)0 ? -(-x - y) : x) : x != x ? x : y;
}
#define MORE(x, best) ((x) > (best) || ((x) != (x) && (best) == (best)))
#define LESS(x, best) ((x) < (best) || ((x) != (x) && (best) == (best)))
#else
static T NAME(larger)(T x, T y) { return x > y ? x : y; }
static T NAME(smaller)(T x, T y) { return x < y ? x : y; }
#define MORE(x, best) ((x) > (best))
#define LESS(x, best) ((x) < (best))
#endif

#define OP max
#define LIFT(x) (x)
#define JOIN(x, y) NAME(larger)(x, y)
#define BEATS MORE
#include "reduce_small_op.tmpl.h"
#define OP min
#define LIFT(x) (x)
#define JOIN(x, y) NAME(smaller)(x, y)
#define BEATS LESS
#include "reduce_small_op.tmpl.h"
#undef MORE
#undef LESS

#endif

/* ---- Norms: reduce.tmpl.h tells how ------------------------------------------------------------------------------------------- */

#if KIND == KIND_REAL

/* Magnitudes as integers: numbers, then NaN, then infinity. */
static NAME(bits) NAME(magnitude)(T x)
{
    const NAME(bits) infinite = sizeof(T) == 4 ? (NAME(bits))0x7f800000 : (NAME(bits))UINT64_C(0x7ff0000000000000);
    NAME(bits) bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= (NAME(bits)) ~(NAME(bits))0 >> 1;
    return bits == infinite ? (NAME(bits)) ~(NAME(bits))0 : bits;
}

static double NAME(norm_scale)(char *out, const char *peak)
{
    const NAME(bits) infinite = sizeof(T) == 4 ? (NAME(bits))0x7f800000 : (NAME(bits))UINT64_C(0x7ff0000000000000);
    NAME(bits) bits = *(const NAME(bits) *)(const void *)peak;
    T norm;
    bits = bits == (NAME(bits)) ~(NAME(bits))0 ? infinite : bits;
    memcpy(&norm, &bits, sizeof norm);
    if (bits == 0 || bits >= infinite) {
        *(T *)(void *)out = norm;
        return 0.0;
    }
    const int most = (sizeof(T) == 4 ? FLT_MAX_EXP : DBL_MAX_EXP) - 1;
    const int exponent = -MATH(ilogb)(norm);
    return (double)MATH(ldexp)((T)1, exponent < most ? exponent : most);
}

/* Inside the range no bits that count were lost. */
static bool NAME(norm_root)(char *out, T squares, double scale)
{
    const T least = sizeof(T) == 4 ? (T)0x1p-80F : (T)0x1p-900;
    const T most = sizeof(T) == 4 ? (T)FLT_MAX : (T)DBL_MAX;
    *(T *)(void *)out = MATH(sqrt)(squares) / (T)scale;
    return squares >= least && squares <= most;
}

#endif

#if KIND == KIND_REAL || KIND == KIND_COMPLEX

#if KIND == KIND_REAL
#define SCALED(x) ((x) * (REAL)r->scale)
#define SQUARES(x) ((x) * (x))
#define ALL_SQUARES(acc) (acc)
#define PEAK(x) NAME(magnitude)(x)
#else
static inline T NAME(scaled)(T x, REAL by) { return (T){x.re * by, x.im * by}; }
static inline T NAME(squares)(T x) { return (T){x.re * x.re, x.im * x.im}; }
static inline REAL_NAME(bits) NAME(peak)(T x)
{
    const REAL_NAME(bits) re = REAL_NAME(magnitude)(x.re);
    const REAL_NAME(bits) im = REAL_NAME(magnitude)(x.im);
    return re > im ? re : im;
}
#define SCALED(x) NAME(scaled)(x, (REAL)r->scale)
#define SQUARES(x) NAME(squares)(x)
#define ALL_SQUARES(acc) ((acc).re + (acc).im)
#define PEAK(x) NAME(peak)(x)
#endif

#define OP peak
#define ACC REAL_NAME(bits)
#define LIFT(x) PEAK(x)
#define JOIN(x, y) ((x) > (y) ? (x) : (y))
#include "reduce_small_op.tmpl.h"

static inline T NAME(scaled_squares)(const tnri_reduction *r, T x)
{
    const T scaled = SCALED(x);
    return SQUARES(scaled);
}
#define OP scaled
#define LIFT(x) NAME(scaled_squares)(r, x)
#define JOIN(x, y) NAME(plus)(x, y)
#include "reduce_small_op.tmpl.h"

static bool NAME(root)(char *out, const char *acc, double scale)
{
    const T squares = *(const T *)(const void *)acc;
    return REAL_NAME(norm_root)(out, ALL_SQUARES(squares), scale);
}

static const norm_rules NAME(norm) = {NAME(root), REAL_NAME(norm_scale), &NAME(terms_peak), &NAME(terms_scaled)};
#define OP norm
#define LIFT(x) SQUARES(x)
#define JOIN(x, y) NAME(plus)(x, y)
#define END NORM
#define RULES &NAME(norm)
#include "reduce_small_op.tmpl.h"
#undef SCALED
#undef SQUARES
#undef ALL_SQUARES
#undef PEAK

#endif
