/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums, products, quotients and signs of one dtype (each_dtype.inl.h): what they are on values, then the kernels. Written
 * without branches where it can be, so that loops over them become vector code; the same operations in the same order
 * on every instruction set.
 */

/* ---- Values ------------------------------------------------------------------------------------------------------------------- */

#if KIND == KIND_INTEGER

static inline T NAME(negative)(T a) { return (T)(0U - (UNSIGNED)a); }
static inline T NAME(absolute)(T a) { return a < 0 ? NAME(negative)(a) : a; }
static inline T NAME(sign_of)(T a) { return (T)((a > 0) - (a < 0)); }

/* b is not 0. The smallest by -1 is the one quotient that does not fit: it wraps. */
static inline T NAME(quotient)(T a, T b)
{
    const T by = b == -1 ? 1 : b;
#if IS_I32 /* exact in doubles, which vectors can divide: a quotient is a whole number or at least 2^-31 of itself away */
    const T whole = (T)((double)a / (double)by);
#else
    const T whole = a / by;
#endif
    return b == -1 ? NAME(negative)(a) : whole;
}

static inline T NAME(remainder)(T a, T b) { return NAME(minus)(a, NAME(times)(NAME(quotient)(a, b), b)); }

/* b is not negative. */
static inline T NAME(power)(T a, T b)
{
    UNSIGNED result = 1;
    UNSIGNED square = (UNSIGNED)a;
    for (UNSIGNED left = (UNSIGNED)b; left != 0; left >>= 1) {
        result = (left & 1U) != 0 ? result * square : result;
        square *= square;
    }
    return (T)result;
}

#elif KIND == KIND_REAL

static inline T NAME(negative)(T a) { return -a; }
static inline T NAME(absolute)(T a) { return MATH(fabs)(a); }
static inline T NAME(sign_of)(T a)
{
    const T other = a < (T)0 ? (T)-1 : a; /* NaN, and zeros with their sign */
    return a > (T)0 ? (T)1 : other;
}
static inline T NAME(quotient)(T a, T b) { return a / b; }
static inline T NAME(remainder)(T a, T b) { return MATH(fmod)(a, b); }
static inline T NAME(conjugate)(T a) { return a; }

#else

static inline T NAME(negative)(T a) { return (T){-a.re, -a.im}; }
static inline T NAME(conjugate)(T a) { return (T){a.re, -a.im}; }

#if IS_SINGLE /* in doubles nothing overflows or underflows, and errors are those of the last rounding */

static inline REAL NAME(absolute)(T a)
{
    const double re = (double)a.re;
    const double im = (double)a.im;
    const double size = sqrt(re * re + im * im);
    const double unless_re = is_infinite(re) ? (double)INFINITY : size; /* also beside NaN, as hypot is */
    return (REAL)(is_infinite(im) ? (double)INFINITY : unless_re);
}

static inline T NAME(sign_of)(T a)
{
    const double re = (double)a.re;
    const double im = (double)a.im;
    const double size = sqrt(re * re + im * im);
    const bool nothing = size == 0.0;
    return (T){nothing ? a.re : (REAL)(re / size), nothing ? a.im : (REAL)(im / size)};
}

static inline T NAME(quotient)(T a, T b)
{
    const double c = (double)b.re;
    const double d = (double)b.im;
    const double size = ROUNDED(c * c) + ROUNDED(d * d);
    const double re = (ROUNDED((double)a.re * c) + ROUNDED((double)a.im * d)) / size;
    const double im = (ROUNDED((double)a.im * c) - ROUNDED((double)a.re * d)) / size;
    const bool by_zero = size == 0.0;
    return (T){by_zero ? a.re * (REAL)INFINITY : (REAL)re, by_zero ? a.im * (REAL)INFINITY : (REAL)im};
}

#else

/* Powers of two that bring squares of parts of this size into range, and back. Exact but for results below the normal. */
static inline double scale_for(double size)
{
    const double up = size < 0x1p-500 ? 0x1p600 : 1.0;
    return size > 0x1p500 ? 0x1p-600 : up;
}
static inline double scale_back(double size)
{
    const double down = size < 0x1p-500 ? 0x1p-600 : 1.0;
    return size > 0x1p500 ? 0x1p600 : down;
}

static inline double larger_part(tnr_c64 a)
{
    const double re = fabs(a.re);
    const double im = fabs(a.im);
    return re > im ? re : im;
}

static inline REAL NAME(absolute)(T a)
{
    const double size = larger_part(a);
    const double scale = scale_for(size);
    const double re = a.re * scale;
    const double im = a.im * scale;
    const double root = sqrt(re * re + im * im) * scale_back(size);
    const double unless_re = is_infinite(a.re) ? (double)INFINITY : root; /* also beside NaN, as hypot is */
    return is_infinite(a.im) ? (double)INFINITY : unless_re;
}

static inline T NAME(sign_of)(T a)
{
    const double scale = scale_for(larger_part(a));
    const double re = a.re * scale;
    const double im = a.im * scale;
    const double root = sqrt(re * re + im * im);
    const bool nothing = root == 0.0;
    return (T){nothing ? a.re : re / root, nothing ? a.im : im / root};
}

/*
 * Smith's quotient by the larger part of b, with the steps of Baudin and Smith (arXiv:1210.4539): both numbers are scaled
 * away from the ends of the range first, and products with a ratio that underflowed to 0 are made the other way round. By
 * zero, the parts of a are divided by +0.
 */
static inline T NAME(quotient)(T a, T b)
{
    const double near_top = DBL_MAX / 2.0;
    const double near_bottom = DBL_MIN * 2.0 / DBL_EPSILON;
    const double lift = 2.0 / (DBL_EPSILON * DBL_EPSILON);
    const double size_a = larger_part(a);
    const double size_b = larger_part(b);
    const double up_a = size_a <= near_bottom ? lift : 1.0;
    const double up_b = size_b <= near_bottom ? lift : 1.0;
    const double scale_a = size_a >= near_top ? 0.5 : up_a;
    const double scale_b = size_b >= near_top ? 0.5 : up_b;
    const double down_a = size_a <= near_bottom ? 1.0 / lift : 1.0;
    const double back = (size_a >= near_top ? 2.0 : down_a) * scale_b;
    const double re = a.re * scale_a;
    const double im = a.im * scale_a;
    const double c = b.re * scale_b;
    const double d = b.im * scale_b;
    const bool upright = fabs(d) <= fabs(c);
    const double large = upright ? c : d;
    const double small = upright ? d : c;
    const double first = upright ? re : im;
    const double second = upright ? im : re;
    const double ratio = small / large;
    const double inverse = 1.0 / (large + small * ratio);
    const bool lost = ratio == 0.0;
    const double second_part = lost ? small * (second / large) : second * ratio;
    const double first_part = lost ? small * (first / large) : first * ratio;
    const double real = (first + second_part) * inverse * back;
    const double imaginary = (second - first_part) * inverse * back;
    const bool by_zero = size_b == 0.0;
    const double turned = upright ? imaginary : -imaginary;
    return (T){by_zero ? a.re * (double)INFINITY : real, by_zero ? a.im * (double)INFINITY : turned};
}

#endif
#endif

/* ---- Kernels ------------------------------------------------------------------------------------------------------------------ */

#define OUT T
#define IN T
#define HOW STREAMS
#define KERNEL add
#define APPLY NAME(plus)
#include "binary.tmpl.h"
#define KERNEL sub
#define APPLY NAME(minus)
#include "binary.tmpl.h"
#define KERNEL mul
#define APPLY NAME(times)
#include "binary.tmpl.h"
#define KERNEL neg
#define APPLY NAME(negative)
#include "unary.tmpl.h"
#if KIND == KIND_REAL || KIND == KIND_COMPLEX
#define KERNEL div
#define APPLY NAME(quotient)
#include "binary.tmpl.h"
#define KERNEL conj
#define APPLY NAME(conjugate)
#include "unary.tmpl.h"
#endif
#define KERNEL sign
#define APPLY NAME(sign_of)
#include "unary.tmpl.h"
#undef OUT
#define OUT REAL
#define KERNEL abs
#define APPLY NAME(absolute)
#include "unary.tmpl.h"
#undef OUT
#define OUT T
#undef HOW
#define HOW PLAIN /* the arithmetic takes longer than the memory */
#if KIND == KIND_REAL || KIND == KIND_INTEGER
#define KERNEL rem
#define APPLY NAME(remainder)
#include "binary.tmpl.h"
#endif
#if KIND == KIND_INTEGER
#define KERNEL div
#define APPLY NAME(quotient)
#include "binary.tmpl.h"
#define KERNEL pow
#define APPLY NAME(power)
#include "binary.tmpl.h"
#endif
#undef OUT
#undef IN
#undef HOW
