/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Math functions where the answer is exact or has no digits: infinities, NaN, both zeros, the least numbers, the ends of the
 * range, branch cuts. And: the result of an element depends on that element alone, whatever its place, its neighbours and the
 * layout.
 */
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

#define INF ((double)INFINITY)
#define NOT_A_NUMBER ((double)NAN)

static tnr_domain *heap;
static tnr_engine *engine;

static int set_up(void **state)
{
    (void)state;
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

typedef tnr_status (*unary)(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

static tnr_tensor *vector(tnr_dtype dtype, int64_t count, const void *values)
{
    tnr_tensor *made = NULL;
    catalogue_ok(
        tnr_tensor_from_row_major(heap, dtype, 1, &count, values, (uint64_t)count * tnr_dtype_size(dtype), &made),
        "vector");
    return made;
}

/* out[i] = function(in[i]): of every step-th element of both, from element `offset` on. */
static void run(unary function, tnr_dtype dtype, int64_t count, const void *in, void *out, int64_t offset, int64_t step)
{
    const tnr_range range = {offset, TNR_END, step};
    tnr_tensor *x = vector(dtype, count, in);
    tnr_tensor *y = vector(dtype, count, in);
    tnr_view a;
    tnr_view_mut b;
    const void *data = NULL;
    catalogue_ok(tnr_tensor_view(x, &a), "view");
    catalogue_ok(tnr_tensor_view_mut(y, &b), "view to write");
    catalogue_ok(tnr_view_slice(&a, &range, &a), "slice");
    catalogue_ok(tnr_view_mut_slice(&b, &range, &b), "slice to write");
    catalogue_ok(function(engine, &a, &b), "function");
    catalogue_ok(tnr_tensor_host_data(y, &data), "data");
    memcpy(out, data, (size_t)count * tnr_dtype_size(dtype));
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
}

static bool same(double found, double expected)
{
    return isnan(expected) ? isnan(found) : found == expected && signbit(found) == signbit(expected);
}

/* ---- Reals ------------------------------------------------------------------------------------------------------------------------ */

typedef struct exact {
    const char *name;
    unary function;
    double in, out;
} exact;

/* These hold in f32 and f64. */
static const exact of_both[] = {
    {"exp", tnr_exp_into, INF, INF},
    {"exp", tnr_exp_into, -INF, 0.0},
    {"exp", tnr_exp_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"exp", tnr_exp_into, 0.0, 1.0},
    {"exp", tnr_exp_into, -0.0, 1.0},
    {"exp", tnr_exp_into, 1e4, INF},
    {"exp", tnr_exp_into, -1e4, 0.0},
    {"log", tnr_log_into, INF, INF},
    {"log", tnr_log_into, -INF, NOT_A_NUMBER},
    {"log", tnr_log_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"log", tnr_log_into, 0.0, -INF},
    {"log", tnr_log_into, -0.0, -INF},
    {"log", tnr_log_into, 1.0, 0.0},
    {"log", tnr_log_into, -1.0, NOT_A_NUMBER},
    {"sin", tnr_sin_into, INF, NOT_A_NUMBER},
    {"sin", tnr_sin_into, -INF, NOT_A_NUMBER},
    {"sin", tnr_sin_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"sin", tnr_sin_into, 0.0, 0.0},
    {"sin", tnr_sin_into, -0.0, -0.0},
    {"cos", tnr_cos_into, INF, NOT_A_NUMBER},
    {"cos", tnr_cos_into, -INF, NOT_A_NUMBER},
    {"cos", tnr_cos_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"cos", tnr_cos_into, 0.0, 1.0},
    {"cos", tnr_cos_into, -0.0, 1.0},
    {"tanh", tnr_tanh_into, INF, 1.0},
    {"tanh", tnr_tanh_into, -INF, -1.0},
    {"tanh", tnr_tanh_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"tanh", tnr_tanh_into, 0.0, 0.0},
    {"tanh", tnr_tanh_into, -0.0, -0.0},
    {"tanh", tnr_tanh_into, 30.0, 1.0},
    {"tanh", tnr_tanh_into, -1e30, -1.0},
    {"sqrt", tnr_sqrt_into, INF, INF},
    {"sqrt", tnr_sqrt_into, -INF, NOT_A_NUMBER},
    {"sqrt", tnr_sqrt_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"sqrt", tnr_sqrt_into, 0.0, 0.0},
    {"sqrt", tnr_sqrt_into, -0.0, -0.0},
    {"sqrt", tnr_sqrt_into, -1.0, NOT_A_NUMBER},
    {"sqrt", tnr_sqrt_into, 2.25, 1.5},
    {"rsqrt", tnr_rsqrt_into, INF, 0.0},
    {"rsqrt", tnr_rsqrt_into, -INF, NOT_A_NUMBER},
    {"rsqrt", tnr_rsqrt_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"rsqrt", tnr_rsqrt_into, 0.0, INF},
    {"rsqrt", tnr_rsqrt_into, -0.0, -INF},
    {"rsqrt", tnr_rsqrt_into, -1.0, NOT_A_NUMBER},
    {"rsqrt", tnr_rsqrt_into, 0.25, 2.0},
    {"expm1", tnr_expm1_into, INF, INF},
    {"expm1", tnr_expm1_into, -INF, -1.0},
    {"expm1", tnr_expm1_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"expm1", tnr_expm1_into, 0.0, 0.0},
    {"expm1", tnr_expm1_into, -0.0, -0.0},
    {"expm1", tnr_expm1_into, 1e4, INF},
    {"expm1", tnr_expm1_into, -1e4, -1.0},
    {"expm1", tnr_expm1_into, -60.0, -1.0},
    {"log1p", tnr_log1p_into, INF, INF},
    {"log1p", tnr_log1p_into, -INF, NOT_A_NUMBER},
    {"log1p", tnr_log1p_into, NOT_A_NUMBER, NOT_A_NUMBER},
    {"log1p", tnr_log1p_into, 0.0, 0.0},
    {"log1p", tnr_log1p_into, -0.0, -0.0},
    {"log1p", tnr_log1p_into, -1.0, -INF},
    {"log1p", tnr_log1p_into, -1.5, NOT_A_NUMBER},
};

/* At the ends of one dtype; `low` is its least number, `least` its least normal number, `high` its largest. */
static void ends(tnr_dtype dtype, double low, double least, double high, double eps)
{
    const double exp_high = dtype == TNR_F32 ? 88.7228317 : 709.782712893384;     /* the last finite power */
    const double exp_over = dtype == TNR_F32 ? 88.7228394 : 709.7827128933841;    /* and the first that is not */
    const double exp_low = dtype == TNR_F32 ? -103.972076 : -745.1332191019411;   /* the last power above 0 */
    const double exp_under = dtype == TNR_F32 ? -103.972084 : -745.1332191019412; /* and the first that is not */
    const struct {
        const char *name;
        unary function;
        double in, low, high;
    } rows[] = {
        {"exp", tnr_exp_into, exp_high, high * (1.0 - 0x1p-10), high},
        {"exp", tnr_exp_into, exp_over, INF, INF},
        {"exp", tnr_exp_into, exp_low, low, low},
        {"exp", tnr_exp_into, exp_under, 0.0, 0.0},
        {"exp", tnr_exp_into, low, 1.0, 1.0},
        {"exp", tnr_exp_into, -least, 1.0, 1.0},
        {"expm1", tnr_expm1_into, exp_high, high * (1.0 - 0x1p-10), high},
        {"expm1", tnr_expm1_into, exp_over, INF, INF},
        {"expm1", tnr_expm1_into, low, low, low},
        {"expm1", tnr_expm1_into, -low, -low, -low},
        {"expm1", tnr_expm1_into, least, least, least},
        {"log", tnr_log_into, low, dtype == TNR_F32 ? -103.28 : -744.45, dtype == TNR_F32 ? -103.27 : -744.44},
        {"log", tnr_log_into, least, dtype == TNR_F32 ? -87.34 : -708.4, dtype == TNR_F32 ? -87.33 : -708.39},
        {"log", tnr_log_into, high, dtype == TNR_F32 ? 88.72 : 709.78, dtype == TNR_F32 ? 88.73 : 709.79},
        {"log1p", tnr_log1p_into, low, low, low},
        {"log1p", tnr_log1p_into, -low, -low, -low},
        {"log1p", tnr_log1p_into, high, dtype == TNR_F32 ? 88.72 : 709.78, dtype == TNR_F32 ? 88.73 : 709.79},
        {"log1p", tnr_log1p_into, eps / 2 - 1.0, log(eps / 2) * (1 + eps), log(eps / 2) * (1 - eps)},
        {"sin", tnr_sin_into, low, low, low},
        {"sin", tnr_sin_into, -low, -low, -low},
        {"sin", tnr_sin_into, -least, -least, -least},
        {"sin", tnr_sin_into, high, dtype == TNR_F32 ? -0.52188 : 0.004961, dtype == TNR_F32 ? -0.52187 : 0.004962},
        {"cos", tnr_cos_into, high, dtype == TNR_F32 ? 0.85302 : -0.99999, dtype == TNR_F32 ? 0.85303 : -0.99998},
        {"cos", tnr_cos_into, low, 1.0, 1.0},
        {"tanh", tnr_tanh_into, low, low, low},
        {"tanh", tnr_tanh_into, -low, -low, -low},
        {"tanh", tnr_tanh_into, high, 1.0, 1.0},
        {"sqrt", tnr_sqrt_into, low, sqrt(low), sqrt(low)},
        {"rsqrt", tnr_rsqrt_into, low, (1 - eps) / sqrt(low), (1 + eps) / sqrt(low)},
        {"rsqrt", tnr_rsqrt_into, high, (1 - eps) / sqrt(high), (1 + eps) / sqrt(high)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        double found;
        if (dtype == TNR_F32) {
            const float in = (float)rows[i].in;
            float out;
            run(rows[i].function, dtype, 1, &in, &out, 0, 1);
            found = out;
        } else {
            run(rows[i].function, dtype, 1, &rows[i].in, &found, 0, 1);
        }
        /* sqrt of the least f32 is not a double that a float holds exactly */
        const double low_end = dtype == TNR_F32 ? (float)rows[i].low : rows[i].low;
        const double high_end = dtype == TNR_F32 ? (float)rows[i].high : rows[i].high;
        if (!(found >= low_end && found <= high_end)) {
            fail_msg("%s(%a) is %a, expected %a to %a", rows[i].name, rows[i].in, found, low_end, high_end);
        }
    }
}

static void exact_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof of_both / sizeof of_both[0]; ++i) {
        const exact *row = &of_both[i];
        const float in = (float)row->in;
        float single;
        double found;
        run(row->function, TNR_F32, 1, &in, &single, 0, 1);
        run(row->function, TNR_F64, 1, &row->in, &found, 0, 1);
        if (!same(found, row->out) || !same(single, row->out)) {
            fail_msg("%s(%g) is %g in f64 and %g in f32, expected %g", row->name, row->in, found, (double)single,
                     row->out);
        }
    }
}

static void ends_of_the_range(void **state)
{
    (void)state;
    ends(TNR_F32, (double)FLT_TRUE_MIN, (double)FLT_MIN, (double)FLT_MAX, (double)FLT_EPSILON);
    ends(TNR_F64, DBL_TRUE_MIN, DBL_MIN, DBL_MAX, DBL_EPSILON);
}

/* ---- The element alone --------------------------------------------------------------------------------------------------------------- */

static const unary functions[] = {tnr_exp_into,  tnr_log_into,   tnr_sin_into,   tnr_cos_into,  tnr_tanh_into,
                                  tnr_sqrt_into, tnr_rsqrt_into, tnr_expm1_into, tnr_log1p_into};
enum { FUNCTIONS = sizeof functions / sizeof functions[0], MOST = 300 };

/*
 * Ordinary numbers with such between them as vector functions take other ways for. Every count, start and step gives the
 * bits that the element had alone.
 */
static void an_element_depends_on_itself_alone(void **state)
{
    (void)state;
    const tnr_dtype dtypes[] = {TNR_F32, TNR_F64, TNR_C32, TNR_C64};
    catalogue_random chance = catalogue_seed(7);
    for (int d = 0; d < 4; ++d) {
        const size_t width = tnr_dtype_size(dtypes[d]);
        const bool single = dtypes[d] == TNR_F32 || dtypes[d] == TNR_C32;
        const int parts = catalogue_is_complex(dtypes[d]) ? 2 : 1;
        _Alignas(16) unsigned char in[MOST * 16];
        _Alignas(16) unsigned char alone[MOST * 16];
        _Alignas(16) unsigned char out[MOST * 16];
        for (int i = 0; i < MOST * parts; ++i) {
            static const double odd[] = {1e30, -0.0, -3.0, 100.0, -104.0, 1e-42, 800.0, 5e-310, 3e4, 2e6, 1e9};
            const double x = catalogue_below(&chance, 9) == 0
                                 ? odd[catalogue_below(&chance, sizeof odd / sizeof odd[0])]
                                 : (double)catalogue_below(&chance, 1 << 20) * 0x1p-18 - 1.0;
            const float x_single = (float)x;
            memcpy(in + (size_t)i * width / (size_t)parts, single ? (const void *)&x_single : (const void *)&x,
                   single ? sizeof x_single : sizeof x);
        }
        for (int f = 0; f < FUNCTIONS; ++f) {
            for (size_t i = 0; i < MOST; ++i) {
                run(functions[f], dtypes[d], 1, in + i * width, alone + i * width, 0, 1);
            }
            for (int round = 0; round < 60; ++round) {
                static const int64_t steps[] = {1, 1, 2, 3, -1, -2};
                const int64_t step = steps[round % 6];
                const int64_t first = step < 0 ? 0 : catalogue_below(&chance, 20);
                const int64_t count = 20 + (round < 40 ? round : catalogue_below(&chance, MOST - 20));
                run(functions[f], dtypes[d], count, in, out, first, step);
                /* A negative step walks the same range from its last element down. */
                for (int64_t i = step < 0 ? count - 1 : first; i >= 0 && i < count; i += step) {
                    const size_t at = (size_t)i * width;
                    assert_memory_equal(out + at, alone + at, width);
                }
            }
        }
    }
}

/* ---- Powers ---------------------------------------------------------------------------------------------------------------------------- */

static void run_pow(tnr_dtype dtype, const void *a, const void *b, void *out)
{
    tnr_tensor *x = vector(dtype, 1, a);
    tnr_tensor *y = vector(dtype, 1, b);
    tnr_tensor *z = NULL;
    tnr_view base;
    tnr_view exponent;
    const void *data = NULL;
    catalogue_ok(tnr_tensor_view(x, &base), "view");
    catalogue_ok(tnr_tensor_view(y, &exponent), "view");
    catalogue_ok(tnr_pow(engine, &base, &exponent, &z), "pow");
    catalogue_ok(tnr_tensor_host_data(z, &data), "data");
    memcpy(out, data, tnr_dtype_size(dtype));
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
    catalogue_ok(tnr_tensor_release(&z), "release");
}

static void powers_of_reals(void **state)
{
    (void)state;
    static const double rows[][3] = {
        {0.0, 0.0, 1.0},
        {NOT_A_NUMBER, 0.0, 1.0},
        {1.0, NOT_A_NUMBER, 1.0},
        {INF, 0.0, 1.0},
        {-0.0, -1.0, -INF},
        {0.0, -1.0, INF},
        {-0.0, 3.0, -0.0},
        {-0.0, 2.0, 0.0},
        {-0.0, -2.0, INF},
        {-1.0, INF, 1.0},
        {-1.0, -INF, 1.0},
        {0.5, INF, 0.0},
        {0.5, -INF, INF},
        {2.0, INF, INF},
        {2.0, -INF, 0.0},
        {-INF, 3.0, -INF},
        {-INF, 2.0, INF},
        {-INF, -1.0, -0.0},
        {INF, -1.0, 0.0},
        {-8.0, 1.0 / 3.0, NOT_A_NUMBER},
        {-2.0, 3.0, -8.0},
        {-2.0, 2.0, 4.0},
        {2.0, -2.0, 0.25},
        {2.0, 2000.0, INF},
        {2.0, -2000.0, 0.0},
        {-2.0, 2001.0, -INF},
        {-2.0, -2001.0, -0.0},
        {4.0, 0.5, 2.0},
        {NOT_A_NUMBER, 1.0, NOT_A_NUMBER},
        {2.0, NOT_A_NUMBER, NOT_A_NUMBER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const float a = (float)rows[i][0];
        const float b = (float)rows[i][1];
        float single;
        double found;
        run_pow(TNR_F64, &rows[i][0], &rows[i][1], &found);
        run_pow(TNR_F32, &a, &b, &single);
        if (!same(found, rows[i][2]) || !same(single, rows[i][2])) {
            fail_msg("pow(%g, %g) is %g in f64 and %g in f32, expected %g", rows[i][0], rows[i][1], found,
                     (double)single, rows[i][2]);
        }
    }
}

/* ---- Complex numbers ---------------------------------------------------------------------------------------------------------------------- */

#define ANY 12345.0 /* no claim */
#define PI 3.14159265358979323846

typedef struct complex_case {
    const char *name;
    unary function;
    tnr_c64 in, out;
} complex_case;

/* Those with finite digits in the result are checked to 1e-6 times 1, the others exactly, signs of zeros too. */
static const complex_case complex_cases[] = {
    {"exp", tnr_exp_into, {0.0, 0.0}, {1.0, 0.0}},
    {"exp", tnr_exp_into, {-0.0, -0.0}, {1.0, -0.0}},
    {"exp", tnr_exp_into, {-INF, 1.0}, {0.0, 0.0}},
    {"exp", tnr_exp_into, {-INF, -1.0}, {0.0, -0.0}},
    {"exp", tnr_exp_into, {-INF, 2.0}, {-0.0, 0.0}},
    {"exp", tnr_exp_into, {INF, 0.0}, {INF, 0.0}},
    {"exp", tnr_exp_into, {INF, 2.0}, {-INF, INF}},
    {"exp", tnr_exp_into, {1.0, INF}, {NOT_A_NUMBER, NOT_A_NUMBER}},
    {"exp", tnr_exp_into, {NOT_A_NUMBER, 0.0}, {NOT_A_NUMBER, 0.0}},
    {"exp", tnr_exp_into, {NOT_A_NUMBER, 1.0}, {NOT_A_NUMBER, NOT_A_NUMBER}},
    {"log", tnr_log_into, {0.0, 0.0}, {-INF, 0.0}},
    {"log", tnr_log_into, {-0.0, 0.0}, {-INF, PI}},
    {"log", tnr_log_into, {-0.0, -0.0}, {-INF, -PI}},
    {"log", tnr_log_into, {-1.0, 0.0}, {0.0, PI}},
    {"log", tnr_log_into, {-1.0, -0.0}, {0.0, -PI}},
    {"log", tnr_log_into, {1.0, 0.0}, {0.0, 0.0}},
    {"log", tnr_log_into, {1.0, -0.0}, {0.0, -0.0}},
    {"log", tnr_log_into, {0.0, INF}, {INF, PI / 2}},
    {"log", tnr_log_into, {-INF, INF}, {INF, 3 * PI / 4}},
    {"log", tnr_log_into, {INF, NOT_A_NUMBER}, {INF, NOT_A_NUMBER}},
    {"log", tnr_log_into, {NOT_A_NUMBER, 1.0}, {NOT_A_NUMBER, NOT_A_NUMBER}},
    {"sqrt", tnr_sqrt_into, {0.0, 0.0}, {0.0, 0.0}},
    {"sqrt", tnr_sqrt_into, {-0.0, -0.0}, {0.0, -0.0}},
    {"sqrt", tnr_sqrt_into, {-4.0, 0.0}, {0.0, 2.0}},
    {"sqrt", tnr_sqrt_into, {-4.0, -0.0}, {0.0, -2.0}},
    {"sqrt", tnr_sqrt_into, {3.0, 4.0}, {2.0, 1.0}},
    {"sqrt", tnr_sqrt_into, {1.0, INF}, {INF, INF}},
    {"sqrt", tnr_sqrt_into, {NOT_A_NUMBER, -INF}, {INF, -INF}},
    {"sqrt", tnr_sqrt_into, {-INF, 1.0}, {0.0, INF}},
    {"sqrt", tnr_sqrt_into, {INF, -1.0}, {INF, -0.0}},
    {"rsqrt", tnr_rsqrt_into, {0.0, 0.0}, {INF, -0.0}},
    {"rsqrt", tnr_rsqrt_into, {-0.0, -0.0}, {INF, 0.0}},
    {"rsqrt", tnr_rsqrt_into, {4.0, 0.0}, {0.5, -0.0}},
    {"rsqrt", tnr_rsqrt_into, {-4.0, 0.0}, {0.0, -0.5}},
    {"rsqrt", tnr_rsqrt_into, {-4.0, -0.0}, {0.0, 0.5}},
    {"rsqrt", tnr_rsqrt_into, {3.0, 4.0}, {0.4, -0.2}},
    {"rsqrt", tnr_rsqrt_into, {INF, 1.0}, {0.0, -0.0}},
    {"rsqrt", tnr_rsqrt_into, {-INF, -1.0}, {0.0, 0.0}},
    {"rsqrt", tnr_rsqrt_into, {NOT_A_NUMBER, 1.0}, {NOT_A_NUMBER, NOT_A_NUMBER}},
    {"sin", tnr_sin_into, {0.0, 0.0}, {0.0, 0.0}},
    {"sin", tnr_sin_into, {-0.0, -0.0}, {-0.0, -0.0}},
    {"sin", tnr_sin_into, {0.0, INF}, {0.0, INF}},
    {"sin", tnr_sin_into, {0.5, INF}, {INF, INF}},
    {"sin", tnr_sin_into, {INF, 1.0}, {NOT_A_NUMBER, NOT_A_NUMBER}},
    {"sin", tnr_sin_into, {0.0, 1.0}, {0.0, 1.1752011936438014}},
    {"cos", tnr_cos_into, {0.0, 0.0}, {1.0, -0.0}},
    {"cos", tnr_cos_into, {0.5, INF}, {INF, -INF}},
    {"cos", tnr_cos_into, {INF, 1.0}, {NOT_A_NUMBER, NOT_A_NUMBER}},
    {"cos", tnr_cos_into, {0.0, 1.0}, {1.5430806348152437, -0.0}},
    {"tanh", tnr_tanh_into, {0.0, 0.0}, {0.0, 0.0}},
    {"tanh", tnr_tanh_into, {-0.0, -0.0}, {-0.0, -0.0}},
    {"tanh", tnr_tanh_into, {INF, 1.0}, {1.0, 0.0}},
    {"tanh", tnr_tanh_into, {-INF, 1.0}, {-1.0, 0.0}},
    {"tanh", tnr_tanh_into, {1000.0, 1.0}, {1.0, 0.0}},
    {"tanh", tnr_tanh_into, {1.0, INF}, {NOT_A_NUMBER, NOT_A_NUMBER}},
    {"tanh", tnr_tanh_into, {NOT_A_NUMBER, 0.0}, {NOT_A_NUMBER, 0.0}},
    {"expm1", tnr_expm1_into, {0.0, 0.0}, {0.0, 0.0}},
    {"expm1", tnr_expm1_into, {-0.0, -0.0}, {-0.0, -0.0}},
    {"expm1", tnr_expm1_into, {-INF, 1.0}, {-1.0, 0.0}},
    {"expm1", tnr_expm1_into, {INF, 0.0}, {INF, 0.0}},
    {"expm1", tnr_expm1_into, {INF, 2.0}, {-INF, INF}},
    {"expm1", tnr_expm1_into, {1.0, INF}, {NOT_A_NUMBER, NOT_A_NUMBER}},
    {"expm1", tnr_expm1_into, {NOT_A_NUMBER, 0.0}, {NOT_A_NUMBER, 0.0}},
    {"expm1", tnr_expm1_into, {0.0, PI}, {-2.0, ANY}},
    {"log1p", tnr_log1p_into, {0.0, 0.0}, {0.0, 0.0}},
    {"log1p", tnr_log1p_into, {-0.0, -0.0}, {-0.0, -0.0}},
    {"log1p", tnr_log1p_into, {-1.0, 0.0}, {-INF, 0.0}},
    {"log1p", tnr_log1p_into, {-1.0, -0.0}, {-INF, -0.0}},
    {"log1p", tnr_log1p_into, {-2.0, 0.0}, {0.0, PI}},
    {"log1p", tnr_log1p_into, {-2.0, -0.0}, {0.0, -PI}},
    {"log1p", tnr_log1p_into, {-1.0, 1.0}, {0.0, PI / 2}},
    {"log1p", tnr_log1p_into, {INF, 1.0}, {INF, 0.0}},
    {"log1p", tnr_log1p_into, {NOT_A_NUMBER, 1.0}, {NOT_A_NUMBER, NOT_A_NUMBER}},
};

static bool close_enough(double found, double expected)
{
    if (expected == ANY) {
        return true;
    }
    if (isfinite(expected) && expected != 0.0) {
        return fabs(found - expected) <= 1e-6;
    }
    return same(found, expected);
}

static void complex_special_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof complex_cases / sizeof complex_cases[0]; ++i) {
        const complex_case *row = &complex_cases[i];
        const tnr_c32 in = {(float)row->in.re, (float)row->in.im};
        tnr_c64 found;
        tnr_c32 single;
        run(row->function, TNR_C64, 1, &row->in, &found, 0, 1);
        run(row->function, TNR_C32, 1, &in, &single, 0, 1);
        if (!close_enough(found.re, row->out.re) || !close_enough(found.im, row->out.im) ||
            !close_enough(single.re, row->out.re) || !close_enough(single.im, row->out.im)) {
            fail_msg("%s(%g %g) is %g %g in c64 and %g %g in c32, expected %g %g", row->name, row->in.re, row->in.im,
                     found.re, found.im, (double)single.re, (double)single.im, row->out.re, row->out.im);
        }
    }
}

/* Results that exist although something on the way to them would overflow, underflow or cancel. */
static void complex_without_accidents_on_the_way(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unary function;
        tnr_c64 in, out;
    } rows[] = {
        {"sqrt", tnr_sqrt_into, {1.5e308, 1.5e308}, {1.3455796155398e154, 5.5735733061e153}},
        {"sqrt", tnr_sqrt_into, {0.0, 2e-320}, {1e-160, 1e-160}},
        {"rsqrt", tnr_rsqrt_into, {1.5e308, 1.5e308}, {6.343417e-155, -2.627529e-155}},
        {"rsqrt", tnr_rsqrt_into, {0.0, 2e-320}, {5e159, -5e159}},
        {"log", tnr_log_into, {1.7e308, 1.7e308}, {710.0739, 0.7853981633974483}},
        {"log", tnr_log_into, {0.6, 0.8}, {2.220446e-17, 0.9272952180016122}},
        {"log", tnr_log_into, {1.0, 1e-10}, {5e-21, 1e-10}},
        {"log1p", tnr_log1p_into, {1e-20, 1e-9}, {5.1e-19, 1e-9}},
        {"log1p", tnr_log1p_into, {-2e-20, 2e-10}, {0.0, 2e-10}},
        {"log1p", tnr_log1p_into, {1e308, 1e308}, {709.5428, 0.7853981633974483}},
        {"expm1", tnr_expm1_into, {1e-20, 1e-20}, {1e-20, 1e-20}},
        {"expm1", tnr_expm1_into, {-1e3, 1.0}, {-1.0, 0.0}},
        {"exp", tnr_exp_into, {709.9, 1.5707963267948966}, {1.23775e292, INF}},
        {"sin", tnr_sin_into, {1e-300, 711.0}, {3.03631e8, INF}},
        {"tanh", tnr_tanh_into, {400.0, 0.5}, {1.0, 0.0}},
        {"tanh", tnr_tanh_into, {0.0, 1e-200}, {0.0, 1e-200}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        tnr_c64 found;
        run(rows[i].function, TNR_C64, 1, &rows[i].in, &found, 0, 1);
        const double parts[2][2] = {{found.re, rows[i].out.re}, {found.im, rows[i].out.im}};
        for (int k = 0; k < 2; ++k) {
            const double expected = parts[k][1];
            const bool good = isinf(expected)   ? parts[k][0] == expected
                              : expected == 0.0 ? fabs(parts[k][0]) < 1e-17
                                                : fabs(parts[k][0] / expected - 1.0) < 0.06;
            if (!good) {
                fail_msg("%s(%g %g) is %g %g, expected %g %g", rows[i].name, rows[i].in.re, rows[i].in.im, found.re,
                         found.im, rows[i].out.re, rows[i].out.im);
            }
        }
    }
}

static void powers_of_complex_numbers(void **state)
{
    (void)state;
    static const struct {
        tnr_c64 a, b, out;
    } rows[] = {
        {{0, 0}, {0, 0}, {1, 0}},
        {{0, 0}, {2, 1}, {0, 0}},
        {{2, 3}, {0, 0}, {1, 0}},
        {{0, 1}, {2, 0}, {-1, ANY}},
        {{1, 2}, {2, 0}, {-3, 4}},
        {{-4, 0}, {0.5, 0}, {ANY, 2}},
        {{-4, -0.0}, {0.5, 0}, {ANY, -2}},
        {{0, 1}, {0, 1}, {0.20787957635076193, 0}},
        {{2, 0}, {-1, 0}, {0.5, 0}},
        {{INF, 0}, {0, 0}, {1, 0}},
        {{NOT_A_NUMBER, 0}, {0, 0}, {1, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const tnr_c32 a = {(float)rows[i].a.re, (float)rows[i].a.im};
        const tnr_c32 b = {(float)rows[i].b.re, (float)rows[i].b.im};
        tnr_c64 found;
        tnr_c32 single;
        run_pow(TNR_C64, &rows[i].a, &rows[i].b, &found);
        run_pow(TNR_C32, &a, &b, &single);
        const double results[2][2] = {{found.re, found.im}, {single.re, single.im}};
        for (int k = 0; k < 2; ++k) {
            const bool good = (rows[i].out.re == ANY || fabs(results[k][0] - rows[i].out.re) < 1e-6) &&
                              (rows[i].out.im == ANY || fabs(results[k][1] - rows[i].out.im) < 1e-6);
            if (!good) {
                fail_msg("row %d gives %g %g, expected %g %g", (int)i, results[k][0], results[k][1], rows[i].out.re,
                         rows[i].out.im);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_values),
        cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(an_element_depends_on_itself_alone),
        cmocka_unit_test(powers_of_reals),
        cmocka_unit_test(complex_special_values),
        cmocka_unit_test(complex_without_accidents_on_the_way),
        cmocka_unit_test(powers_of_complex_numbers),
    };
    return cmocka_run_group_tests_name("math special values", tests, set_up, tear_down);
}
