/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Math functions of one complex number, in double precision; c32 goes through them too, and is then rounded.
 *
 * exp, log, sin, cos, tanh and sqrt are C's, with C's branch cuts, signed zeros and special values (C11, annex G). What C has
 * not is made here of C's real functions.
 */
#ifndef TENURE_ENGINE_MATH_COMPLEX_H
#define TENURE_ENGINE_MATH_COMPLEX_H

typedef union c64_or_c {
    tnr_c64 ours;
    double complex c;
} c64_or_c;

static inline double complex to_c(tnr_c64 z) { return ((c64_or_c){.ours = z}).c; }
static inline tnr_c64 from_c(double complex z) { return ((c64_or_c){.c = z}).ours; }

static tnr_c64 complex_exp(tnr_c64 z) { return from_c(cexp(to_c(z))); }
static tnr_c64 complex_log(tnr_c64 z) { return from_c(clog(to_c(z))); }
static tnr_c64 complex_sin(tnr_c64 z) { return from_c(csin(to_c(z))); }
static tnr_c64 complex_cos(tnr_c64 z) { return from_c(ccos(to_c(z))); }
static tnr_c64 complex_tanh(tnr_c64 z) { return from_c(ctanh(to_c(z))); }
static tnr_c64 complex_sqrt(tnr_c64 z) { return from_c(csqrt(to_c(z))); }

/*
 * 1 / w for w = sqrt z, whose parts are far from overflow and, unless z is 0, from underflow: so by Smith's quotient without
 * scaling. A zero has infinity, infinity a zero.
 */
static tnr_c64 complex_rsqrt(tnr_c64 z)
{
    const tnr_c64 w = complex_sqrt(z);
    if (isinf(w.re) || isinf(w.im)) {
        return (tnr_c64){0.0, copysign(0.0, -w.im)};
    }
    if (w.re == 0.0 && w.im == 0.0) {
        return (tnr_c64){(double)INFINITY, copysign(0.0, -w.im)};
    }
    if (fabs(w.re) >= fabs(w.im)) {
        const double ratio = w.im / w.re;
        const double norm = w.re + w.im * ratio;
        return (tnr_c64){1.0 / norm, -ratio / norm};
    }
    const double ratio = w.re / w.im;
    const double norm = w.re * ratio + w.im;
    return (tnr_c64){ratio / norm, -1.0 / norm};
}

/*
 * e^z - 1 = (e^x - 1) cos y - 2 sin^2(y/2) + i e^x sin y: near 0 nothing cancels that is large beside the result. Far from 0
 * the 1 is small or exact beside e^z.
 */
static tnr_c64 complex_expm1(tnr_c64 z)
{
    if (!(fabs(z.re) <= 40.0 && isfinite(z.im))) {
        const tnr_c64 power = complex_exp(z);
        return (tnr_c64){power.re - 1.0, power.im};
    }
    if (z.im == 0.0) {
        return (tnr_c64){expm1(z.re), z.im};
    }
    const double half = sin(0.5 * z.im);
    return (tnr_c64){expm1(z.re) * cos(z.im) - 2.0 * half * half, exp(z.re) * sin(z.im)};
}

/*
 * log |1 + z| + i arg(1 + z). |1 + z|^2 = 1 + x (2 + x) + y^2 is near 1 where log1p is needed; left of -1/2, 1 + x is exact and
 * C's log serves, as it does far out, where 1 is lost without loss.
 */
static tnr_c64 complex_log1p(tnr_c64 z)
{
    if (z.im == 0.0 && z.re > -1.0) {
        return (tnr_c64){log1p(z.re), z.im};
    }
    if (!(z.re > -0.5 && z.re < 0x1p400 && fabs(z.im) < 0x1p400)) {
        return complex_log((tnr_c64){1.0 + z.re, z.im});
    }
    return (tnr_c64){0.5 * log1p(z.re * (2.0 + z.re) + z.im * z.im), atan2(z.im, 1.0 + z.re)};
}

/* exp(b log a). A real exponent multiplies part by part, so an infinite part does not meet a zero. */
static tnr_c64 complex_pow(tnr_c64 a, tnr_c64 b)
{
    if (b.re == 0.0 && b.im == 0.0) {
        return (tnr_c64){1.0, 0.0};
    }
    if (a.re == 0.0 && a.im == 0.0 && b.re > 0.0) {
        return (tnr_c64){0.0, 0.0};
    }
    const tnr_c64 l = complex_log(a);
    if (b.im == 0.0) {
        return complex_exp((tnr_c64){b.re * l.re, b.re * l.im});
    }
    return complex_exp((tnr_c64){b.re * l.re - b.im * l.im, b.re * l.im + b.im * l.re});
}

static inline tnr_c64 widen_c64(tnr_c64 z) { return z; }
static inline tnr_c64 widen_c32(tnr_c32 z) { return (tnr_c64){(double)z.re, (double)z.im}; }

#endif /* TENURE_ENGINE_MATH_COMPLEX_H */
