/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of complex numbers, in double precision; c32 goes through them too, and is then rounded. Branch cuts, signed zeros and
 * special values are those of C11's annex G, as the C library has them which the CPU's engine calls; rsqrt, expm1, log1p and power
 * as src/engine/kernels/math_complex.inl.h.
 *
 * After Kahan, "Branch cuts for complex elementary functions, or Much ado about nothing's sign bit", 1987.
 */
#include "functions.cuh"

#define LN_2 0.6931471805599453
#define LARGEST_EXPONENT 709.0 /* exp of it is finite */

/* part * e^x (cos y + i sin y) for finite x and y, also where e^x alone overflows. */
DEVICE c64 turned_by(double x, double y, double part_of_it)
{
    double cosine;
    double sine;
    sincos(y, &sine, &cosine);
    cosine *= part_of_it;
    sine *= part_of_it;
    for (int i = 0; i < 2 && x > LARGEST_EXPONENT; i++) {
        const double part = exp(LARGEST_EXPONENT);
        cosine *= part;
        sine *= part;
        x -= LARGEST_EXPONENT;
    }
    const double power = x > LARGEST_EXPONENT ? infinity() : exp(x);
    return c64{power * cosine, power * sine};
}

FAR_DEVICE c64 function_exp(c64 z)
{
    if (z.im == 0.0) {
        return c64{exp(z.re), z.im};
    }
    if (!is_finite(z.im)) {
        if (z.re == -infinity()) {
            return c64{0.0, copysign(0.0, z.im)};
        }
        return z.re == infinity() ? c64{infinity(), z.im - z.im} : c64{z.im - z.im, z.im - z.im};
    }
    if (z.re == 0.0) {
        return c64{cos(z.im), sin(z.im)};
    }
    if (is_infinite(z.re)) {
        const double size = z.re > 0.0 ? infinity() : 0.0;
        return c64{copysign(size, cos(z.im)), copysign(size, sin(z.im))};
    }
    return z.re != z.re ? c64{z.re, z.re} : turned_by(z.re, z.im, 1.0);
}

/* log of sqrt(x^2 + y^2) */
DEVICE double log_of_size(double x, double y)
{
    x = fabs(x);
    y = fabs(y);
    if (x < y) {
        const double other = x;
        x = y;
        y = other;
    }
    if (is_infinite(x) || is_infinite(y)) {
        return infinity();
    }
    if (!(x >= y)) {
        return x + y; /* NaN */
    }
    if (x > 1e300) {
        x *= 0.25;
        y *= 0.25;
        return log(hypot(x, y)) + 2.0 * LN_2;
    }
    if (x < 1e-290) {
        const double scale = 1.0141204801825835e31; /* 2^103 */
        return x == 0.0 ? -infinity() : log(hypot(x * scale, y * scale)) - 103.0 * LN_2;
    }
    if (x >= 0.5 && x <= 2.0) {
        /* x^2 + y^2 - 1 exactly but for the last rounding: squares as two doubles each */
        const double high_x = x * x;
        const double low_x = fma(x, x, -high_x);
        const double high_y = y * y;
        const double low_y = fma(y, y, -high_y);
        const double first = high_x - 1.0;
        const double lost_first = (high_x - (first + 1.0)) + 0.0;
        const double sum = first + high_y;
        const double back = sum - first;
        const double lost = (first - (sum - back)) + (high_y - back);
        const double excess = sum + (lost + lost_first + low_x + low_y);
        if (excess > -0.5 && excess < 2.0) {
            return 0.5 * log1p(excess);
        }
    }
    return log(hypot(x, y));
}

FAR_DEVICE c64 function_log(c64 z) { return c64{log_of_size(z.re, z.im), atan2(z.im, z.re)}; }

FAR_DEVICE c64 function_sqrt(c64 z)
{
    double x = z.re;
    double y = z.im;
    if (is_infinite(y)) {
        return c64{infinity(), y};
    }
    if (is_infinite(x)) {
        if (x > 0.0) {
            return c64{x, y != y ? y : copysign(0.0, y)};
        }
        return c64{y != y ? y : 0.0, copysign(infinity(), y)};
    }
    if (x != x || y != y) {
        return c64{x + y, x + y};
    }
    if (x == 0.0 && y == 0.0) {
        return c64{0.0, y};
    }
    double back = 1.0;
    const double size = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
    if (size > 1e307) {
        x *= 0.0625;
        y *= 0.0625;
        back = 4.0;
    } else if (size < 1e-290) {
        x *= 18014398509481984.0; /* 2^54 */
        y *= 18014398509481984.0;
        back = 7.450580596923828e-09; /* 2^-27 */
    }
    const double half = sqrt(0.5 * (fabs(x) + hypot(x, y)));
    const double other = fabs(y) / (2.0 * half);
    return x >= 0.0 ? c64{half * back, copysign(other * back, y)} : c64{other * back, copysign(half * back, y)};
}

/* e^|x| / 2 in the place of both cosh and sinh, for large |x| */
DEVICE c64 half_of_power(double x, double y) { return turned_by(fabs(x), y, 0.5); }

DEVICE c64 complex_sinh(c64 z)
{
    const double x = z.re;
    const double y = z.im;
    if (is_finite(x) && is_finite(y)) {
        if (y == 0.0) {
            return c64{sinh(x), y};
        }
        if (fabs(x) < 22.0) {
            return c64{sinh(x) * cos(y), cosh(x) * sin(y)};
        }
        const c64 all = half_of_power(x, y);
        return c64{x < 0.0 ? -all.re : all.re, all.im};
    }
    if (x == 0.0) {
        return c64{x, y - y};
    }
    if (y == 0.0) {
        return c64{x, y};
    }
    if (is_finite(x) || x != x) {
        return c64{x != x ? x : y - y, x != x ? x : y - y};
    }
    if (!is_finite(y)) {
        return c64{x, y - y};
    }
    return c64{x * cos(y), infinity() * sin(y)};
}

DEVICE c64 complex_cosh(c64 z)
{
    const double x = z.re;
    const double y = z.im;
    if (is_finite(x) && is_finite(y)) {
        if (y == 0.0) {
            return c64{cosh(x), x * y};
        }
        if (fabs(x) < 22.0) {
            return c64{cosh(x) * cos(y), sinh(x) * sin(y)};
        }
        const c64 all = half_of_power(x, y);
        return c64{all.re, x < 0.0 ? -all.im : all.im};
    }
    if (x == 0.0) {
        return c64{y - y, copysign(0.0, y)};
    }
    if (y == 0.0) {
        return c64{x * x, x != x ? y : copysign(0.0, x) * copysign(1.0, y)};
    }
    if (is_finite(x) || x != x) {
        return c64{x != x ? x : y - y, x != x ? x : y - y};
    }
    if (!is_finite(y)) {
        return c64{infinity(), y - y};
    }
    return c64{infinity() * cos(y), x * sin(y)};
}

FAR_DEVICE c64 function_sin(c64 z)
{
    const c64 w = complex_sinh(c64{-z.im, z.re});
    return c64{w.im, -w.re};
}
FAR_DEVICE c64 function_cos(c64 z) { return complex_cosh(c64{-z.im, z.re}); }

FAR_DEVICE c64 function_tanh(c64 z)
{
    const double x = z.re;
    const double y = z.im;
    if (!is_finite(x)) {
        if (x != x) {
            return c64{x, y == 0.0 ? y : x};
        }
        return c64{copysign(1.0, x), copysign(0.0, is_finite(y) ? sin(y) * cos(y) : y)};
    }
    if (!is_finite(y)) {
        return c64{x == 0.0 ? x : y - y, y - y};
    }
    if (fabs(x) >= 22.0) {
        const double small = exp(-fabs(x));
        return c64{copysign(1.0, x), 4.0 * sin(y) * cos(y) * small * small};
    }
    const double tangent = tan(y);
    const double beta = 1.0 + tangent * tangent;
    const double s = sinh(x);
    const double rho = sqrt(1.0 + s * s);
    if (is_infinite(tangent)) {
        return c64{rho / s, 1.0 / tangent};
    }
    const double denominator = 1.0 + beta * s * s;
    return c64{beta * rho * s / denominator, tangent / denominator};
}

FAR_DEVICE c64 function_rsqrt(c64 z)
{
    const c64 w = function_sqrt(z);
    if (is_infinite(w.re) || is_infinite(w.im)) {
        return c64{0.0, copysign(0.0, -w.im)};
    }
    if (w.re == 0.0 && w.im == 0.0) {
        return c64{infinity(), copysign(0.0, -w.im)};
    }
    if (fabs(w.re) >= fabs(w.im)) {
        const double ratio = w.im / w.re;
        const double norm = w.re + w.im * ratio;
        return c64{1.0 / norm, -ratio / norm};
    }
    const double ratio = w.re / w.im;
    const double norm = w.re * ratio + w.im;
    return c64{ratio / norm, -1.0 / norm};
}

FAR_DEVICE c64 function_expm1(c64 z)
{
    if (!(fabs(z.re) <= 40.0 && is_finite(z.im))) {
        const c64 power = function_exp(z);
        return c64{power.re - 1.0, power.im};
    }
    if (z.im == 0.0) {
        return c64{expm1(z.re), z.im};
    }
    const double half = sin(0.5 * z.im);
    return c64{expm1(z.re) * cos(z.im) - 2.0 * half * half, exp(z.re) * sin(z.im)};
}

FAR_DEVICE c64 function_log1p(c64 z)
{
    const double far = 2.5822498780869086e+120; /* 2^400 */
    if (z.im == 0.0 && z.re > -1.0) {
        return c64{log1p(z.re), z.im};
    }
    if (!(z.re > -0.5 && z.re < far && fabs(z.im) < far)) {
        return function_log(c64{1.0 + z.re, z.im});
    }
    return c64{0.5 * log1p(z.re * (2.0 + z.re) + z.im * z.im), atan2(z.im, 1.0 + z.re)};
}

FAR_DEVICE c64 function_power(c64 a, c64 b)
{
    if (b.re == 0.0 && b.im == 0.0) {
        return c64{1.0, 0.0};
    }
    if (a.re == 0.0 && a.im == 0.0 && b.re > 0.0) {
        return c64{0.0, 0.0};
    }
    const c64 l = function_log(a);
    if (b.im == 0.0) {
        return function_exp(c64{b.re * l.re, b.re * l.im});
    }
    return function_exp(c64{b.re * l.re - b.im * l.im, b.re * l.im + b.im * l.re});
}

DEVICE c64 widened(c32 z) { return c64{(double)z.re, (double)z.im}; }
DEVICE c32 narrow(c64 z) { return c32{(float)z.re, (float)z.im}; }

#define NARROW(function) \
    DEVICE c32 function_##function(c32 a) { return narrow(function_##function(widened(a))); }
NARROW(exp)
NARROW(log)
NARROW(sin)
NARROW(cos)
NARROW(tanh)
NARROW(sqrt)
NARROW(rsqrt)
NARROW(expm1)
NARROW(log1p)
DEVICE c32 function_power(c32 a, c32 b) { return narrow(function_power(widened(a), widened(b))); }

FUNCTIONS(c32, c32)
FUNCTIONS(c64, c64)
