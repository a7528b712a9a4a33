/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of one dtype on values: what elementwise, reducing and multiplying kernels are written in. */

#if KIND == KIND_INTEGER

static inline T NAME(zero)(void) { return 0; }
static inline T NAME(plus)(T a, T b) { return (T)((UNSIGNED)a + (UNSIGNED)b); }
static inline T NAME(minus)(T a, T b) { return (T)((UNSIGNED)a - (UNSIGNED)b); }
static inline T NAME(times)(T a, T b) { return (T)((UNSIGNED)a * (UNSIGNED)b); }

#elif KIND == KIND_REAL

static inline T NAME(zero)(void) { return 0; }
static inline T NAME(plus)(T a, T b) { return a + b; }
static inline T NAME(minus)(T a, T b) { return a - b; }
static inline T NAME(times)(T a, T b) { return a * b; }
/* The imaginary part by `sign`, 1 or -1: the number or its conjugate. */
static inline T NAME(conjugated)(T a, REAL sign)
{
    (void)sign;
    return a;
}
/* A scalar that was rounded to the dtype. */
static inline T NAME(scalar)(tnr_c64 a) { return (T)a.re; }

#else

static inline T NAME(zero)(void) { return (T){0, 0}; }
static inline T NAME(plus)(T a, T b) { return (T){a.re + b.re, a.im + b.im}; }
static inline T NAME(minus)(T a, T b) { return (T){a.re - b.re, a.im - b.im}; }
/* The plain formula: no second look at results that became NaN. */
static inline T NAME(times)(T a, T b)
{
    return (T){ROUNDED(a.re * b.re) - ROUNDED(a.im * b.im), ROUNDED(a.re * b.im) + ROUNDED(a.im * b.re)};
}
static inline T NAME(conjugated)(T a, REAL sign) { return (T){a.re, sign * a.im}; }
static inline T NAME(scalar)(tnr_c64 a) { return (T){(REAL)a.re, (REAL)a.im}; }

#endif
