/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far the math functions are from the truth, against long double. docs/elementwise.md states bounds per vector library; no
 * function of one may be farther than its bound and 1 unit, no other farther than its bound.
 *
 * Reals: in units of the last place of the true result (of the least normal number below it). f32: every 4099th number there
 * is, and dense ranges. f64: all exponents, ranges where a function does its work, and neighbours of multiples of pi/2.
 * Complex: the larger error of the two parts, in units of the last place of the true result's larger part.
 */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"

#define CHUNK 4096

static tnr_domain *heap;
static tnr_engine *engine;
static catalogue_random chance;

static int set_up(void **state)
{
    (void)state;
    chance = catalogue_seed(20260901);
    catalogue_ok(tnr_heap_create(&heap), "heap");
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    catalogue_ok(tnr_engine_destroy(&engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&heap), "heap");
    return 0;
}

/* What long double must have to judge double. */
static void skip_without_long_double(void)
{
    if (LDBL_MANT_DIG < 64) {
        print_message("skipped: long double has %d bits here, 64 are needed\n", LDBL_MANT_DIG);
        skip();
    }
}

/* ---- One call on a chunk of numbers --------------------------------------------------------------------------------------------- */

typedef tnr_status (*unary)(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

static void run(unary function, tnr_dtype dtype, const void *in, void *out)
{
    static const int64_t count = CHUNK;
    const uint64_t bytes = CHUNK * tnr_dtype_size(dtype);
    tnr_tensor *x = NULL;
    tnr_tensor *y = NULL;
    tnr_view a;
    tnr_view_mut b;
    const void *data = NULL;
    catalogue_ok(tnr_tensor_from_row_major(heap, dtype, 1, &count, in, bytes, &x), "input");
    catalogue_ok(tnr_tensor_from_row_major(heap, dtype, 1, &count, in, bytes, &y), "output");
    catalogue_ok(tnr_tensor_view(x, &a), "view");
    catalogue_ok(tnr_tensor_view_mut(y, &b), "view to write");
    catalogue_ok(function(engine, &a, &b), "function");
    catalogue_ok(tnr_tensor_host_data(y, &data), "data");
    memcpy(out, data, (size_t)bytes);
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
}

/* Error in units of the last place of a number with `digits` bits and the given least exponent; huge when kinds differ. */
static double units(long double found, long double truth, int digits, int least_exponent, long double largest)
{
    const long double wrong = 1e30L;
    if (isnan(truth) || isnan(found)) {
        return isnan(truth) && isnan(found) ? 0.0 : (double)wrong;
    }
    if (isinf(found) || fabsl(truth) > largest) {
        /* Where the truth rounds to infinity or just does not, both are right. */
        const bool near = fabsl(truth) >= largest * (1.0L - ldexpl(1.0L, -digits));
        return signbit(found) == signbit(truth) && near && (isinf(found) || fabsl(found) == largest) ? 0.0
                                                                                                     : (double)wrong;
    }
    int exponent = least_exponent;
    if (truth != 0.0L) {
        (void)frexpl(truth, &exponent);
        exponent = exponent < least_exponent ? least_exponent : exponent;
    }
    return (double)(fabsl(found - truth) / ldexpl(1.0L, exponent - digits));
}

static double units_f32(float found, long double truth) { return units(found, truth, 24, FLT_MIN_EXP, FLT_MAX); }
static double units_f64(double found, long double truth) { return units(found, truth, 53, DBL_MIN_EXP, DBL_MAX); }

static double uniform(double low, double high)
{
    return low + (high - low) * (double)(catalogue_next(&chance) >> 11) * 0x1p-53;
}

/* ---- Reals ------------------------------------------------------------------------------------------------------------------------ */

static long double true_rsqrt(long double x) { return 1.0L / sqrtl(x); }

enum { LIBMVEC, SLEEF, C_LIBRARY, PROVIDERS };

static int provider(void)
{
    tnr_feature_set features;
    tnr_features(&features);
    return strcmp(features.vector_math, "libmvec") == 0     ? LIBMVEC
           : strncmp(features.vector_math, "SLEEF", 5) == 0 ? SLEEF
                                                            : C_LIBRARY;
}

typedef struct real_row {
    const char *name;
    unary function;
    long double (*truth)(long double x);
    double bounds[PROVIDERS][2]; /* of f32 and f64; docs/elementwise.md says the same */
    double beyond;               /* what they may be exceeded by */
} real_row;

static const real_row reals[] = {
    {"exp", tnr_exp_into, expl, {{2.8, 2.8}, {1.0, 1.0}, {1.0, 1.0}}, 1.0},
    {"log", tnr_log_into, logl, {{4.0, 1.6}, {1.0, 1.0}, {1.0, 1.0}}, 1.0},
    {"sin", tnr_sin_into, sinl, {{2.3, 3.3}, {1.0, 1.0}, {1.0, 1.0}}, 1.0},
    {"cos", tnr_cos_into, cosl, {{2.3, 3.6}, {1.0, 1.0}, {1.0, 1.0}}, 1.0},
    {"tanh", tnr_tanh_into, tanhl, {{1.1, 2.2}, {1.0, 1.0}, {2.2, 2.2}}, 1.0},
    {"sqrt", tnr_sqrt_into, sqrtl, {{0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}}, 0.0001},
    {"rsqrt", tnr_rsqrt_into, true_rsqrt, {{1.5, 1.5}, {1.5, 1.5}, {1.5, 1.5}}, 0.0001},
    {"expm1", tnr_expm1_into, expm1l, {{1.8, 3.0}, {1.0, 1.0}, {1.0, 1.0}}, 1.0},
    {"log1p", tnr_log1p_into, log1pl, {{1.9, 1.6}, {1.0, 1.0}, {1.0, 1.0}}, 1.0},
};
enum { REALS = sizeof reals / sizeof reals[0] };

static double draw(int kind)
{
    switch (kind) {
    case 0: { /* any number at all */
        const uint64_t bits = catalogue_next(&chance);
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    case 1:
        return uniform(-4.0, 4.0);
    case 2:
        return uniform(-750.0, 750.0);
    case 3:
        return uniform(0.5, 2.0);
    case 4: /* around 0, by magnitude */
        return ldexp(uniform(-1.0, 1.0), -(int)catalogue_below(&chance, 60));
    case 5: /* beside multiples of pi/2 */
        return (double)catalogue_below(&chance, 1 << 25) * 1.5707963267948966 * (1.0 + uniform(-1e-15, 1e-15));
    default: /* angles, up to beyond where the C library takes over */
        return ldexp(uniform(-1.0, 1.0), (int)catalogue_below(&chance, 40));
    }
}

static void accuracy_of_f64(void **state)
{
    (void)state;
    skip_without_long_double();
    for (int k = 0; k < REALS; ++k) {
        double worst = 0.0;
        double where = 0.0;
        for (int chunk = 0; chunk < 7 * 12; ++chunk) {
            double in[CHUNK];
            double out[CHUNK];
            for (int i = 0; i < CHUNK; ++i) {
                in[i] = draw(chunk % 7);
            }
            run(reals[k].function, TNR_F64, in, out);
            for (int i = 0; i < CHUNK; ++i) {
                const double error = units_f64(out[i], reals[k].truth(in[i]));
                if (error > worst) {
                    worst = error;
                    where = in[i];
                }
            }
        }
        const double bound = reals[k].bounds[provider()][1];
        print_message("%-6s f64 %.3f units, bound %.1f, at %a\n", reals[k].name, worst, bound, where);
        assert_true(worst <= bound + reals[k].beyond);
        assert_true(worst >= 0.4); /* something was measured */
    }
}

static void accuracy_of_f32(void **state)
{
    (void)state;
    for (int k = 0; k < REALS; ++k) {
        double worst = 0.0;
        double where = 0.0;
        uint64_t bits = 0;
        while (bits <= UINT32_MAX) {
            float in[CHUNK];
            float out[CHUNK];
            for (int i = 0; i < CHUNK; ++i, bits += 4099) {
                const uint32_t word = (uint32_t)bits;
                memcpy(&in[i], &word, sizeof word);
                if ((i & 3) == 0) {
                    in[i] = (float)draw(1 + (i / 4) % 6);
                }
            }
            run(reals[k].function, TNR_F32, in, out);
            for (int i = 0; i < CHUNK; ++i) {
                const double error = units_f32(out[i], reals[k].truth(in[i]));
                if (error > worst) {
                    worst = error;
                    where = in[i];
                }
            }
        }
        const double bound = reals[k].bounds[provider()][0];
        print_message("%-6s f32 %.3f units, bound %.1f, at %a\n", reals[k].name, worst, bound, where);
        assert_true(worst <= bound + reals[k].beyond);
        assert_true(worst >= 0.4);
    }
}

/* ---- Complex numbers ---------------------------------------------------------------------------------------------------------------- */

typedef long double complex extended;
typedef union extended_parts {
    extended z;
    long double part[2];
} extended_parts;

static extended make(long double re, long double im) { return ((extended_parts){.part = {re, im}}).z; }

static extended complex_true_rsqrt(extended z)
{
    const extended w = csqrtl(z);
    const long double re = creall(w);
    const long double im = cimagl(w);
    const long double norm = re * re + im * im; /* inputs are such that it has no trouble */
    return make(re / norm, -im / norm);
}

static extended complex_true_expm1(extended z)
{
    const long double half = sinl(0.5L * cimagl(z));
    return make(expm1l(creall(z)) * cosl(cimagl(z)) - 2.0L * half * half, expl(creall(z)) * sinl(cimagl(z)));
}

static extended complex_true_log1p(extended z)
{
    const long double x = creall(z);
    const long double y = cimagl(z);
    if (x < -0.5L) { /* 1 + x is exact */
        return clogl(make(1.0L + x, y));
    }
    return make(0.5L * log1pl(x * (2.0L + x) + y * y), atan2l(y, 1.0L + x));
}

typedef struct complex_row {
    const char *name;
    unary function;
    extended (*truth)(extended z);
    double largest;              /* of the parts of inputs */
    double bound_c32, bound_c64; /* docs/elementwise.md says the same */
} complex_row;

static const complex_row complexes[] = {
    {"exp", tnr_exp_into, cexpl, 80.0, 0.6, 3.0},
    {"log", tnr_log_into, clogl, 1e30, 0.6, 3.0},
    {"sin", tnr_sin_into, csinl, 80.0, 0.6, 3.0},
    {"cos", tnr_cos_into, ccosl, 80.0, 0.6, 3.0},
    {"tanh", tnr_tanh_into, ctanhl, 80.0, 0.6, 6.0},
    {"sqrt", tnr_sqrt_into, csqrtl, 1e30, 0.6, 2.0},
    {"rsqrt", tnr_rsqrt_into, complex_true_rsqrt, 1e30, 0.6, 4.5},
    {"expm1", tnr_expm1_into, complex_true_expm1, 80.0, 0.6, 4.0},
    {"log1p", tnr_log1p_into, complex_true_log1p, 1e8, 0.6, 4.0},
};
enum { COMPLEXES = sizeof complexes / sizeof complexes[0] };

static double part(int kind, double largest)
{
    switch (kind) {
    case 0:
        return uniform(-2.0, 2.0);
    case 1:
        return ldexp(uniform(-1.0, 1.0), -(int)catalogue_below(&chance, 50));
    default:
        return largest * ldexp(uniform(-1.0, 1.0), -(int)catalogue_below(&chance, 40));
    }
}

/* The larger error of two parts in units of the larger part; 0 where the truth is beyond the dtype. */
static double units_complex(long double re, long double im, extended truth, int digits, int least_exponent,
                            long double largest)
{
    const long double size = fmaxl(fabsl(creall(truth)), fabsl(cimagl(truth)));
    if (size >= largest) {
        return 0.0;
    }
    int exponent;
    (void)frexpl(size, &exponent);
    const long double unit = ldexpl(1.0L, (exponent < least_exponent ? least_exponent : exponent) - digits);
    return (double)(fmaxl(fabsl(re - creall(truth)), fabsl(im - cimagl(truth))) / unit);
}

static double units_c32(tnr_c32 found, extended truth)
{
    return units_complex(found.re, found.im, truth, 24, FLT_MIN_EXP, FLT_MAX);
}
static double units_c64(tnr_c64 found, extended truth)
{
    return units_complex(found.re, found.im, truth, 53, DBL_MIN_EXP, DBL_MAX);
}

static void accuracy_of_complex(void **state)
{
    (void)state;
    skip_without_long_double();
    for (int k = 0; k < COMPLEXES; ++k) {
        double worst[2] = {0.0, 0.0};
        tnr_c64 where = {0, 0};
        for (int chunk = 0; chunk < 3 * 8; ++chunk) {
            tnr_c64 in[CHUNK];
            tnr_c64 out[CHUNK];
            tnr_c32 single_in[CHUNK];
            tnr_c32 single_out[CHUNK];
            for (int i = 0; i < CHUNK; ++i) {
                in[i].re = part(chunk % 3, complexes[k].largest);
                in[i].im = part((chunk / 3 + chunk) % 3, complexes[k].largest);
                single_in[i] = (tnr_c32){(float)in[i].re, (float)in[i].im};
            }
            run(complexes[k].function, TNR_C64, in, out);
            run(complexes[k].function, TNR_C32, single_in, single_out);
            for (int i = 0; i < CHUNK; ++i) {
                const double error = units_c64(out[i], complexes[k].truth(make(in[i].re, in[i].im)));
                const double single =
                    units_c32(single_out[i], complexes[k].truth(make(single_in[i].re, single_in[i].im)));
                if (!(error <= worst[1])) { /* a NaN shows */
                    worst[1] = error;
                    where = in[i];
                }
                worst[0] = single <= worst[0] ? worst[0] : single;
            }
        }
        print_message("%-6s c64 %.3f units, bound %.1f, at %a %a; c32 %.3f, bound %.1f\n", complexes[k].name, worst[1],
                      complexes[k].bound_c64, where.re, where.im, worst[0], complexes[k].bound_c32);
        assert_true(worst[1] <= complexes[k].bound_c64 && worst[1] >= 0.4);
        assert_true(worst[0] <= complexes[k].bound_c32 && worst[0] >= 0.4);
    }
}

/* ---- Powers ----------------------------------------------------------------------------------------------------------------------- */

/* run() of tnr_pow: the second half of `in` are the exponents. */
static tnr_status power_of_halves(tnr_engine *which, const tnr_view *a, const tnr_view_mut *out)
{
    const tnr_range bases = {0, CHUNK / 2, 1};
    const tnr_range exponents = {CHUNK / 2, CHUNK, 1};
    tnr_view base;
    tnr_view exponent;
    tnr_view_mut result;
    catalogue_ok(tnr_view_slice(a, &bases, &base), "bases");
    catalogue_ok(tnr_view_slice(a, &exponents, &exponent), "exponents");
    catalogue_ok(tnr_view_mut_slice(out, &bases, &result), "result");
    return tnr_pow_into(which, &base, &exponent, &result);
}

static void accuracy_of_powers(void **state)
{
    (void)state;
    skip_without_long_double();
    double worst[4] = {0.0, 0.0, 0.0, 0.0};
    for (int chunk = 0; chunk < 40; ++chunk) {
        double in[CHUNK];
        double out[CHUNK];
        float single_in[CHUNK];
        float single_out[CHUNK];
        for (int i = 0; i < CHUNK; ++i) {
            const bool base = i < CHUNK / 2;
            in[i] = base ? (chunk & 1 ? uniform(0.5, 2.0)
                                      : ldexp(uniform(0.5, 1.0), (int)catalogue_below(&chance, 40) - 20))
                         : uniform(-20.0, 20.0);
            single_in[i] = (float)in[i] * (base ? 1.0F : 0.2F);
        }
        run(power_of_halves, TNR_F64, in, out);
        run(power_of_halves, TNR_F32, single_in, single_out);
        for (int i = 0; i < CHUNK / 2; ++i) {
            const double error = units_f64(out[i], powl(in[i], in[i + CHUNK / 2]));
            const double single = units_f32(single_out[i], powl(single_in[i], single_in[i + CHUNK / 2]));
            worst[0] = single <= worst[0] ? worst[0] : single;
            worst[1] = error <= worst[1] ? worst[1] : error;
        }
        tnr_c64 z[CHUNK];
        tnr_c64 w[CHUNK];
        tnr_c32 single_z[CHUNK];
        tnr_c32 single_w[CHUNK];
        for (int i = 0; i < CHUNK; ++i) {
            z[i] = (tnr_c64){uniform(-3.0, 3.0), uniform(-3.0, 3.0)};
            single_z[i] = (tnr_c32){(float)z[i].re, (float)z[i].im};
        }
        run(power_of_halves, TNR_C64, z, w);
        run(power_of_halves, TNR_C32, single_z, single_w);
        for (int i = 0; i < CHUNK / 2; ++i) { /* what exp(b log a) may lose grows with |b log a| */
            const extended l = make(z[i + CHUNK / 2].re, z[i + CHUNK / 2].im) * clogl(make(z[i].re, z[i].im));
            const double error = units_c64(w[i], cexpl(l)) / (double)(1.0L + cabsl(l));
            const extended single_l = make(single_z[i + CHUNK / 2].re, single_z[i + CHUNK / 2].im) *
                                      clogl(make(single_z[i].re, single_z[i].im));
            const double single = units_c32(single_w[i], cexpl(single_l));
            worst[2] = single <= worst[2] ? worst[2] : single;
            worst[3] = error <= worst[3] ? worst[3] : error;
        }
    }
    print_message("pow f32 %.3f, f64 %.3f, c32 %.3f units, c64 %.3f units per 1 + |b log a|\n", worst[0], worst[1],
                  worst[2], worst[3]);
    assert_true(worst[0] <= 1.0 + 1.0 && worst[1] <= 1.0 + 1.0 && worst[2] <= 0.6 && worst[3] <= 3.0);
    assert_true(worst[0] >= 0.4 && worst[1] >= 0.4 && worst[2] >= 0.4 && worst[3] >= 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy_of_f32),
        cmocka_unit_test(accuracy_of_f64),
        cmocka_unit_test(accuracy_of_complex),
        cmocka_unit_test(accuracy_of_powers),
    };
    return cmocka_run_group_tests_name("math accuracy", tests, set_up, tear_down);
}
