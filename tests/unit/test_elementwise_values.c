/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elementwise operations at the edges of their values, as the header states them; and large operands, whose results must be
 * those of small ones wherever the walk cuts, tiles or streams.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/vectors.h"

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

static bool same(double found, double wanted)
{
    return isnan(wanted) ? isnan(found) : found == wanted && signbit(found) == signbit(wanted);
}

/* ---- Larger and smaller ------------------------------------------------------------------------------------------------------ */

static double larger(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    if (a == b) {
        return signbit(a) ? b : a;
    }
    return a > b ? a : b;
}

static double smaller(double a, double b) { return -larger(-a, -b); }

/* All pairs of the list, at every place of a vector and beside it, in both precisions, compact, held still and strided. */
static void test_maximum_and_minimum(void **state)
{
    (void)state;
    static const double list[] = {
        0.0, -0.0, 1.0, -1.0, (double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY, 5e-324};
    enum { KINDS = sizeof list / sizeof *list, COUNT = KINDS * KINDS };
    for (int single = 0; single < 2; ++single) {
        const tnr_dtype dtype = single ? TNR_F32 : TNR_F64;
        vector a = vector_of(heap, dtype, COUNT, NULL);
        vector b = vector_of(heap, dtype, COUNT, NULL);
        vector out = vector_of(heap, dtype, COUNT, NULL);
        for (int i = 0; i < COUNT; ++i) {
            if (single) {
                ((float *)a.data)[i] = (float)list[i / KINDS];
                ((float *)b.data)[i] = (float)list[i % KINDS];
            } else {
                ((double *)a.data)[i] = list[i / KINDS];
                ((double *)b.data)[i] = list[i % KINDS];
            }
        }
        for (int way = 0; way < 4; ++way) { /* compact; a one element; b one element; backwards */
            for (int from = 0; from < COUNT; ++from) {
                tnr_view x = a.view.view;
                tnr_view y = b.view.view;
                const int64_t none = 0;
                const int64_t back = -1;
                const int64_t length = COUNT;
                const int64_t one = 1;
                if (way == 1) {
                    catalogue_ok(tnr_tensor_region(a.tensor, 0, &none, &none, from, &x), "one element");
                } else if (way == 2) {
                    catalogue_ok(tnr_tensor_region(b.tensor, 0, &none, &none, from, &y), "one element");
                } else if (way == 3) {
                    catalogue_ok(tnr_tensor_region(a.tensor, 1, &length, &back, COUNT - 1, &x), "backwards");
                } else {
                    catalogue_ok(tnr_tensor_region(a.tensor, 1, &length, &one, 0, &x), "compact");
                }
                for (int least = 0; least < 2; ++least) {
                    catalogue_ok((least ? tnr_minimum_into : tnr_maximum_into)(engine, &x, &y, &out.view), "larger");
                    for (int i = 0; i < COUNT; ++i) {
                        const int p = way == 1 ? from : way == 3 ? COUNT - 1 - i : i;
                        const int q = way == 2 ? from : i;
                        const double u = single ? (double)((float *)a.data)[p] : ((double *)a.data)[p];
                        const double v = single ? (double)((float *)b.data)[q] : ((double *)b.data)[q];
                        const double w = single ? (double)((float *)out.data)[i] : ((double *)out.data)[i];
                        assert_true(same(w, least ? smaller(u, v) : larger(u, v)));
                    }
                }
                if (way == 0 || way == 3) {
                    break;
                }
            }
        }
        vector_drop(&a);
        vector_drop(&b);
        vector_drop(&out);
    }
}

static void test_nan_wins_at_every_place(void **state)
{
    (void)state;
    for (int64_t count = 1; count <= 67; ++count) {
        vector a = vector_of(heap, TNR_F32, count, NULL);
        vector b = vector_of(heap, TNR_F32, count, NULL);
        vector out = vector_of(heap, TNR_F32, count, NULL);
        for (int64_t place = 0; place < count; ++place) {
            ((float *)a.data)[place] = NAN;
            catalogue_ok(tnr_maximum_into(engine, &a.view.view, &b.view.view, &out.view), "maximum");
            for (int64_t i = 0; i < count; ++i) {
                assert_true(isnan(((float *)out.data)[i]) == (i == place));
            }
            catalogue_ok(tnr_minimum_into(engine, &b.view.view, &a.view.view, &out.view), "minimum");
            for (int64_t i = 0; i < count; ++i) {
                assert_true(isnan(((float *)out.data)[i]) == (i == place));
            }
            ((float *)a.data)[place] = 0.0F;
        }
        vector_drop(&a);
        vector_drop(&b);
        vector_drop(&out);
    }
}

/* ---- Reals ------------------------------------------------------------------------------------------------------------------- */

static void expect_unary(tnr_status (*operation)(tnr_engine *, const tnr_view *, tnr_tensor **), int64_t count,
                         const double *values, const double *wanted)
{
    vector a = vector_of(heap, TNR_F64, count, values);
    tnr_tensor *made = NULL;
    catalogue_ok(operation(engine, &a.view.view, &made), "operation");
    for (int64_t i = 0; i < count; ++i) {
        assert_true(same(((const double *)made_data(made))[i], wanted[i]));
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    vector_drop(&a);
}

static void test_signs_of_reals(void **state)
{
    (void)state;
    const double values[] = {0.0, -0.0, 2.5, -2.5, (double)INFINITY, -(double)INFINITY, 5e-324, (double)NAN};
    const double signs[] = {0.0, -0.0, 1.0, -1.0, 1.0, -1.0, 1.0, (double)NAN};
    const double sizes[] = {0.0, 0.0, 2.5, 2.5, (double)INFINITY, (double)INFINITY, 5e-324, (double)NAN};
    const double negatives[] = {-0.0, 0.0, -2.5, 2.5, -(double)INFINITY, (double)INFINITY, -5e-324, (double)NAN};
    expect_unary(tnr_sign, 8, values, signs);
    expect_unary(tnr_abs, 8, values, sizes);
    expect_unary(tnr_neg, 8, values, negatives);
    expect_unary(tnr_conj, 8, values, values);
}

static void test_quotients_and_remainders_of_reals(void **state)
{
    (void)state;
    const double a[] = {1.0, -1.0, 0.0, 7.5, -7.5, 7.5, 5.0, (double)INFINITY, -4.0, 1e300};
    const double b[] = {0.0, 0.0, 0.0, 2.0, 2.0, -2.0, (double)INFINITY, 2.0, 2.0, 1e-300};
    vector x = vector_of(heap, TNR_F64, 10, a);
    vector y = vector_of(heap, TNR_F64, 10, b);
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_div(engine, &x.view.view, &y.view.view, &made), "div");
    for (int i = 0; i < 10; ++i) {
        const volatile double quotient = a[i] / b[i];
        assert_true(same(((const double *)made_data(made))[i], quotient));
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_rem(engine, &x.view.view, &y.view.view, &made), "rem");
    for (int i = 0; i < 10; ++i) {
        assert_true(same(((const double *)made_data(made))[i], fmod(a[i], b[i])));
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    vector_drop(&x);
    vector_drop(&y);
}

/* ---- Complex numbers ----------------------------------------------------------------------------------------------------------- */

static void test_complex_edges(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    const double nan = (double)NAN;
    const tnr_c64 points[] = {{0.0, -0.0}, {-0.0, 0.0},    {inf, nan},       {nan, -inf},     {nan, 1.0},
                              {3.0, -4.0}, {0.0, -2e-320}, {5e-324, 5e-324}, {1e308, -1e308}, {-inf, 2.0}};
    const double sizes[] = {0.0, 0.0, inf, inf, nan, 5.0, 2e-320, 5e-324, sqrt(2.0) * 1e308, inf};
    vector z = vector_of(heap, TNR_C64, 10, points);
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_abs(engine, &z.view.view, &made), "abs");
    for (int i = 0; i < 10; ++i) {
        const double found = ((const double *)made_data(made))[i];
        assert_true(same(found, sizes[i]) || fabs(found / sizes[i] - 1.0) < 1e-15);
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_sign(engine, &z.view.view, &made), "sign");
    const tnr_c64 *signs = made_data(made);
    assert_true(same(signs[0].re, 0.0) && same(signs[0].im, -0.0) && same(signs[1].re, -0.0) && same(signs[1].im, 0.0));
    assert_true(isnan(signs[4].re) && isnan(signs[4].im));
    assert_true(fabs(signs[5].re - 0.6) < 1e-15 && fabs(signs[5].im + 0.8) < 1e-15);
    assert_true(same(signs[6].re, 0.0) && same(signs[6].im, -1.0));
    assert_true(fabs(signs[7].re - sqrt(0.5)) < 1e-15 && fabs(signs[7].im - sqrt(0.5)) < 1e-15);
    assert_true(fabs(signs[8].re - sqrt(0.5)) < 1e-15 && fabs(signs[8].im + sqrt(0.5)) < 1e-15);
    catalogue_ok(tnr_tensor_release(&made), "release");
    /* By zero: every part by +0. */
    vector zeros = vector_of(heap, TNR_C64, 10, NULL);
    catalogue_ok(tnr_div(engine, &z.view.view, &zeros.view.view, &made), "div");
    for (int i = 0; i < 10; ++i) {
        const tnr_c64 found = ((const tnr_c64 *)made_data(made))[i];
        const volatile double re = points[i].re / 0.0;
        const volatile double im = points[i].im / 0.0;
        assert_true(same(found.re, re) && same(found.im, im));
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    vector_drop(&z);
    vector_drop(&zeros);
}

/* Quotients against long double, over exponents that a plain formula does not survive. */
static void test_complex_quotients(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    catalogue_random random = catalogue_seed(11);
    vector a = vector_of(heap, TNR_C64, COUNT, NULL);
    vector b = vector_of(heap, TNR_C64, COUNT, NULL);
    for (int i = 0; i < COUNT; ++i) {
        const int base = (int)catalogue_below(&random, 1900) - 950;
        tnr_c64 *both[2] = {(tnr_c64 *)a.data + i, (tnr_c64 *)b.data + i};
        for (int k = 0; k < 2; ++k) {
            const int power = base + (int)catalogue_below(&random, 41) - 20;
            both[k]->re = ldexp((double)catalogue_below(&random, 1 << 30) - (1 << 29), power - 29);
            both[k]->im = ldexp((double)catalogue_below(&random, 1 << 30) - (1 << 29), power - 29);
        }
    }
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_div(engine, &a.view.view, &b.view.view, &made), "div");
    for (int i = 0; i < COUNT; ++i) {
        const tnr_c64 u = ((const tnr_c64 *)a.data)[i];
        const tnr_c64 v = ((const tnr_c64 *)b.data)[i];
        const tnr_c64 w = ((const tnr_c64 *)made_data(made))[i];
        const long double c = (long double)v.re;
        const long double d = (long double)v.im;
        const long double square = c * c + d * d;
        const long double re = ((long double)u.re * c + (long double)u.im * d) / square;
        const long double im = ((long double)u.im * c - (long double)u.re * d) / square;
        const long double size = hypotl(re, im);
        assert_true(fabsl((long double)w.re - re) <= 1e-15L * size && fabsl((long double)w.im - im) <= 1e-15L * size);
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    vector_drop(&a);
    vector_drop(&b);
}

/* A rank-0 real meets complex numbers of its precision, from either side, also in place; other mixtures are refused. */
static void test_a_real_scalar_meets_complex_numbers(void **state)
{
    (void)state;
    typedef tnr_status (*binary)(tnr_engine *, const tnr_view *, const tnr_view *, const tnr_view_mut *);
    static const binary operations[] = {tnr_add_into, tnr_sub_into, tnr_mul_into, tnr_div_into};
    const double real = 2.5;
    const tnr_c64 as_complex = {2.5, 0.0};
    tnr_tensor *scalar = NULL;
    tnr_tensor *lifted = NULL;
    tnr_tensor *single = NULL;
    tnr_view s;
    tnr_view l;
    tnr_view f;
    catalogue_ok(tnr_tensor_from_row_major(heap, TNR_F64, 0, NULL, &real, sizeof real, &scalar), "scalar");
    catalogue_ok(tnr_tensor_from_row_major(heap, TNR_C64, 0, NULL, &as_complex, sizeof as_complex, &lifted), "scalar");
    catalogue_ok(tnr_tensor_zeros(heap, TNR_F32, 0, NULL, &single), "scalar");
    catalogue_ok(tnr_tensor_view(scalar, &s), "view");
    catalogue_ok(tnr_tensor_view(lifted, &l), "view");
    catalogue_ok(tnr_tensor_view(single, &f), "view");
    enum { COUNT = 37 };
    tnr_c64 values[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        values[i] = (tnr_c64){i - 20.0, 3.0 - i};
    }
    vector z = vector_of(heap, TNR_C64, COUNT, values);
    vector out = vector_of(heap, TNR_C64, COUNT, NULL);
    vector wanted = vector_of(heap, TNR_C64, COUNT, NULL);
    vector r = vector_of(heap, TNR_F64, COUNT, NULL);
    for (int i = 0; i < 4; ++i) {
        catalogue_ok(operations[i](engine, &z.view.view, &l, &wanted.view), "as complex");
        catalogue_ok(operations[i](engine, &z.view.view, &s, &out.view), "real on the right");
        assert_memory_equal(out.data, wanted.data, sizeof values);
        catalogue_ok(operations[i](engine, &l, &z.view.view, &wanted.view), "as complex");
        catalogue_ok(operations[i](engine, &s, &z.view.view, &out.view), "real on the left");
        assert_memory_equal(out.data, wanted.data, sizeof values);
        catalogue_ok(operations[i](engine, &s, &z.view.view, &z.view), "in place");
        assert_memory_equal(z.data, wanted.data, sizeof values);
        memcpy(z.data, values, sizeof values);
        assert_int_equal(operations[i](engine, &f, &z.view.view, &out.view), TNR_ERR_DTYPE);
        assert_int_equal(operations[i](engine, &r.view.view, &z.view.view, &out.view), TNR_ERR_DTYPE);
        assert_int_equal(operations[i](engine, &s, &z.view.view, &r.view), TNR_ERR_DTYPE);
    }
    assert_int_equal(tnr_pow_into(engine, &z.view.view, &s, &out.view), TNR_ERR_DTYPE);
    catalogue_ok(tnr_tensor_release(&scalar), "release");
    catalogue_ok(tnr_tensor_release(&lifted), "release");
    catalogue_ok(tnr_tensor_release(&single), "release");
    vector_drop(&z);
    vector_drop(&out);
    vector_drop(&wanted);
    vector_drop(&r);
}

/* ---- Integers, bools ------------------------------------------------------------------------------------------------------------ */

static void test_integer_powers(void **state)
{
    (void)state;
    static const int64_t bases[] = {0, 0, 2, 3, -2, INT64_MIN, 10, -1, 2};
    static const int64_t exponents[] = {0, 5, 62, 40, 63, 2, 19, INT64_MAX, 64};
    static const uint64_t powers[] = {1, /* and modulo 2^64: */
                                      0,
                                      UINT64_C(1) << 62,
                                      UINT64_C(12157665459056928801),
                                      UINT64_C(1) << 63,
                                      0,
                                      UINT64_C(10000000000000000000),
                                      UINT64_MAX,
                                      0};
    vector a = vector_of(heap, TNR_I64, 9, bases);
    vector b = vector_of(heap, TNR_I64, 9, exponents);
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_pow(engine, &a.view.view, &b.view.view, &made), "pow");
    for (int i = 0; i < 9; ++i) {
        assert_true((uint64_t)((const int64_t *)made_data(made))[i] == powers[i]);
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    vector_drop(&a);
    vector_drop(&b);
}

/* Any byte but 0 is true. */
static void test_bools_of_any_byte(void **state)
{
    (void)state;
    uint8_t bytes[256];
    int32_t left[256];
    int32_t right[256];
    for (int i = 0; i < 256; ++i) {
        bytes[i] = (uint8_t)i;
        left[i] = i + 1;
        right[i] = -i - 1;
    }
    vector which = vector_of(heap, TNR_BOOL, 256, bytes);
    vector a = vector_of(heap, TNR_I32, 256, left);
    vector b = vector_of(heap, TNR_I32, 256, right);
    vector ones = vector_of(heap, TNR_BOOL, 256, NULL);
    memset(ones.data, 1, 256);
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_select(engine, &which.view.view, &a.view.view, &b.view.view, &made), "select");
    for (int i = 0; i < 256; ++i) {
        assert_true(((const int32_t *)made_data(made))[i] == (i != 0 ? left[i] : right[i]));
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    static const bool against_true[6][2] = {{false, true}, {true, false},  {true, false},
                                            {true, true},  {false, false}, {false, true}};
    for (int comparison = 0; comparison < 6; ++comparison) {
        catalogue_ok(tnr_compare(engine, (tnr_comparison)comparison, &which.view.view, &ones.view.view, &made),
                     "compare");
        for (int i = 0; i < 256; ++i) {
            assert_true(((const uint8_t *)made_data(made))[i] == (uint8_t)against_true[comparison][i != 0]);
        }
        catalogue_ok(tnr_tensor_release(&made), "release");
    }
    assert_int_equal(tnr_compare(engine, (tnr_comparison)6, &which.view.view, &ones.view.view, &made),
                     TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_compare(engine, (tnr_comparison)-1, &which.view.view, &ones.view.view, &made),
                     TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_select(engine, &a.view.view, &a.view.view, &b.view.view, &made), TNR_ERR_DTYPE);
    assert_int_equal(tnr_select(engine, &which.view.view, &a.view.view, &ones.view.view, &made), TNR_ERR_DTYPE);
    vector_drop(&which);
    vector_drop(&a);
    vector_drop(&b);
    vector_drop(&ones);
}

static void test_comparisons_with_nan(void **state)
{
    (void)state;
    const double a[4] = {(double)NAN, 1.0, (double)NAN, 0.0};
    const double b[4] = {1.0, (double)NAN, (double)NAN, -0.0};
    vector x = vector_of(heap, TNR_F64, 4, a);
    vector y = vector_of(heap, TNR_F64, 4, b);
    tnr_tensor *made = NULL;
    for (int comparison = 0; comparison < 6; ++comparison) {
        catalogue_ok(tnr_compare(engine, (tnr_comparison)comparison, &x.view.view, &y.view.view, &made), "compare");
        const uint8_t *found = made_data(made);
        const bool alike = comparison == TNR_COMPARE_EQUAL || comparison == TNR_COMPARE_LESS_EQUAL ||
                           comparison == TNR_COMPARE_GREATER_EQUAL;
        for (int i = 0; i < 3; ++i) {
            assert_true(found[i] == (uint8_t)(comparison == TNR_COMPARE_NOT_EQUAL));
        }
        assert_true(found[3] == (uint8_t)alike);
        catalogue_ok(tnr_tensor_release(&made), "release");
    }
    vector_drop(&x);
    vector_drop(&y);
}

/* ---- Large operands ------------------------------------------------------------------------------------------------------------ */

#define LARGE \
    (INT64_C(5) << 20) /* 40 MiB of f64: three of them are streamed on machines with the largest caches, too */

/* From the n-th element on, so that outputs begin anywhere in a cache line; to the last byte, and none beyond. */
static void test_large_runs_from_any_element(void **state)
{
    (void)state;
    vector a = vector_of(heap, TNR_F64, LARGE, NULL);
    vector b = vector_of(heap, TNR_F64, LARGE, NULL);
    vector out = vector_of(heap, TNR_F64, LARGE, NULL);
    double *const x = a.data;
    double *const y = b.data;
    double *const z = out.data;
    for (int64_t i = 0; i < LARGE; ++i) {
        x[i] = (double)(i % 1013) - 500.0;
        y[i] = (double)(i % 31) + 0.5;
    }
    const int64_t one = 1;
    const int64_t none = 0;
    tnr_view scalar;
    catalogue_ok(tnr_tensor_region(b.tensor, 0, &none, &none, 3, &scalar), "one element");
    static const int64_t firsts[] = {0, 1, 3, 7, 8};
    for (int start = 0; start < 5; ++start) {
        const int64_t first = firsts[start];
        const int64_t count = LARGE - first - first % 3 * 7;
        tnr_view u;
        tnr_view v;
        tnr_view_mut w;
        catalogue_ok(tnr_tensor_region(a.tensor, 1, &count, &one, first, &u), "a");
        catalogue_ok(tnr_tensor_region(b.tensor, 1, &count, &one, first / 2, &v), "b");
        catalogue_ok(tnr_tensor_region_mut(out.tensor, 1, &count, &one, first, &w), "out");
        for (int way = 0; way < 4; ++way) {
            memset(z, 0, (size_t)LARGE * sizeof(double));
            switch (way) {
            case 0:
                catalogue_ok(tnr_sub_into(engine, &u, &v, &w), "sub");
                break;
            case 1:
                catalogue_ok(tnr_sub_into(engine, &scalar, &u, &w), "sub");
                break;
            case 2:
                catalogue_ok(tnr_sqrt_into(engine, &v, &w), "sqrt"); /* a kernel that may leave streaming to the walk */
                break;
            default:
                catalogue_ok(tnr_clamp_into(engine, &u, &v, &scalar, &w), "clamp");
                break;
            }
            bool good = true;
            for (int64_t i = 0; i < count; ++i) {
                const double p = x[first + i];
                const double q = y[first / 2 + i];
                const double found = z[first + i];
                good = good && found == (way == 0   ? p - q
                                         : way == 1 ? y[3] - p
                                         : way == 2 ? sqrt(q)
                                                    : smaller(larger(p, q), y[3]));
            }
            for (int64_t i = 0; i < LARGE; ++i) {
                good = good && ((i >= first && i < first + count) || z[i] == 0.0);
            }
            assert_true(good);
        }
    }
    vector_drop(&a);
    vector_drop(&b);
    vector_drop(&out);
}

/* Rows, columns, broadcasts and transposes of large planes, widths of elements mixed. */
static void test_large_planes(void **state)
{
    (void)state;
    enum { ROWS = 1003, COLUMNS = 801 };
    vector a = vector_of(heap, TNR_F64, ROWS * COLUMNS, NULL);
    vector out = vector_of(heap, TNR_F64, ROWS * COLUMNS, NULL);
    vector whole = vector_of(heap, TNR_I32, ROWS * COLUMNS, NULL);
    vector truth = vector_of(heap, TNR_BOOL, ROWS * COLUMNS, NULL);
    double *const x = a.data;
    for (int64_t i = 0; i < ROWS * COLUMNS; ++i) {
        x[i] = (double)((i * 7919) % 100003) / 8.0 - 6000.0;
        ((uint8_t *)truth.data)[i] = (uint8_t)(i * 31 % 5 == 0);
    }
    const int64_t shape[2] = {ROWS, COLUMNS};
    const int64_t plain[2] = {1, ROWS};
    const int64_t turned[2] = {COLUMNS, 1};
    const int64_t column[2] = {1, 0};
    const int64_t row[2] = {0, 1};
    tnr_view views[4];
    tnr_view flags;
    tnr_view_mut target;
    tnr_view_mut narrow;
    catalogue_ok(tnr_tensor_region(a.tensor, 2, shape, plain, 0, &views[0]), "plain");
    catalogue_ok(tnr_tensor_region(a.tensor, 2, shape, turned, 0, &views[1]), "turned");
    catalogue_ok(tnr_tensor_region(a.tensor, 2, shape, column, 0, &views[2]), "column");
    catalogue_ok(tnr_tensor_region(a.tensor, 2, shape, row, 0, &views[3]), "row");
    catalogue_ok(tnr_tensor_region(truth.tensor, 2, shape, turned, 0, &flags), "flags");
    catalogue_ok(tnr_tensor_region_mut(out.tensor, 2, shape, plain, 0, &target), "out");
    catalogue_ok(tnr_tensor_region_mut(whole.tensor, 2, shape, plain, 0, &narrow), "out");
    const int64_t *const strides[4] = {plain, turned, column, row};
    for (int p = 0; p < 4; ++p) {
        for (int q = 0; q < 4; ++q) {
            catalogue_ok(tnr_select_into(engine, &flags, &views[p], &views[q], &target), "select");
            bool good = true;
            for (int64_t j = 0; j < COLUMNS; ++j) {
                for (int64_t i = 0; i < ROWS; ++i) {
                    const int k = ((const uint8_t *)truth.data)[i * COLUMNS + j] ? p : q;
                    good = good && ((const double *)out.data)[i + j * ROWS] == x[i * strides[k][0] + j * strides[k][1]];
                }
            }
            assert_true(good);
        }
        catalogue_ok(tnr_cast_into(engine, &views[p], &narrow), "cast");
        bool good = true;
        for (int64_t j = 0; j < COLUMNS; ++j) {
            for (int64_t i = 0; i < ROWS; ++i) {
                good = good &&
                       ((const int32_t *)whole.data)[i + j * ROWS] == (int32_t)x[i * strides[p][0] + j * strides[p][1]];
            }
        }
        assert_true(good);
    }
    vector_drop(&a);
    vector_drop(&out);
    vector_drop(&whole);
    vector_drop(&truth);
}

/* An engine with workers, large operands of several layouts: the bits of an engine without, every time. */
static void test_workers_change_no_bit(void **state)
{
    (void)state;
    enum { ROWS = 1531, COLUMNS = 701 };
    const int64_t count = (int64_t)ROWS * COLUMNS;
    tnr_topology *topology = NULL;
    tnr_engine *team = NULL;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    catalogue_ok(tnr_topology_create(heap, NULL, &topology), "topology");
    options.topology = topology;
    catalogue_ok(tnr_engine_create(heap, &options, &team), "engine with workers");
    vector a = vector_of(heap, TNR_C64, count, NULL);
    vector b = vector_of(heap, TNR_C64, count, NULL);
    vector whole = vector_of(heap, TNR_I64, count, NULL);
    vector truth = vector_of(heap, TNR_BOOL, count, NULL);
    for (int64_t i = 0; i < count; ++i) {
        ((tnr_c64 *)a.data)[i] = (tnr_c64){(double)(i % 977) - 400.0, (double)(i % 31)};
        ((tnr_c64 *)b.data)[i] = (tnr_c64){(double)(i % 61) - 30.0, (double)(i % 7) + 0.25};
        ((int64_t *)whole.data)[i] = i % 50 + 1;
        ((uint8_t *)truth.data)[i] = (uint8_t)(i % 3);
    }
    const int64_t shape[2] = {ROWS, COLUMNS};
    const int64_t plain[2] = {1, ROWS};
    const int64_t turned[2] = {COLUMNS, 1};
    tnr_view flat;
    tnr_view over;
    tnr_view integer;
    tnr_view flags;
    catalogue_ok(tnr_tensor_region(a.tensor, 2, shape, plain, 0, &flat), "plain");
    catalogue_ok(tnr_tensor_region(b.tensor, 2, shape, turned, 0, &over), "turned");
    catalogue_ok(tnr_tensor_region(whole.tensor, 2, shape, turned, 0, &integer), "turned");
    catalogue_ok(tnr_tensor_region(truth.tensor, 2, shape, plain, 0, &flags), "plain");
    for (int way = 0; way < 8; ++way) {
        tnr_tensor *made[2] = {NULL, NULL};
        for (int k = 0; k < 2; ++k) {
            tnr_engine *which = k == 0 ? engine : team;
            switch (way) {
            case 0:
                catalogue_ok(tnr_div(which, &flat, &over, &made[k]), "div");
                break;
            case 1:
                catalogue_ok(tnr_add(which, &flat, &flat, &made[k]), "add");
                break;
            case 2:
                catalogue_ok(tnr_pow(which, &integer, &integer, &made[k]), "pow");
                break;
            case 3:
                catalogue_ok(tnr_select(which, &flags, &over, &flat, &made[k]), "select");
                break;
            case 4:
                catalogue_ok(tnr_cast(which, &over, TNR_I32, &made[k]), "cast");
                break;
            case 5:
                catalogue_ok(tnr_exp(which, &over, &made[k]), "exp");
                break;
            case 6:
                catalogue_ok(tnr_abs(which, &flat, &made[k]), "abs");
                break;
            default:
                catalogue_ok(tnr_compare(which, TNR_COMPARE_EQUAL, &flat, &over, &made[k]), "compare");
                break;
            }
        }
        tnr_tensor_info info;
        catalogue_ok(tnr_tensor_describe(made[0], &info), "describe");
        assert_memory_equal(made_data(made[0]), made_data(made[1]), (size_t)count * tnr_dtype_size(info.dtype));
        catalogue_ok(tnr_tensor_release(&made[0]), "release");
        catalogue_ok(tnr_tensor_release(&made[1]), "release");
    }
    ((int64_t *)whole.data)[count - 5] = 0;
    tnr_tensor *none = NULL;
    assert_int_equal(tnr_div(team, &whole.view.view, &whole.view.view, &none), TNR_ERR_NUMERIC);
    catalogue_ok(tnr_engine_destroy(&team), "engine destroy");
    catalogue_ok(tnr_topology_destroy(&topology), "topology");
    vector_drop(&a);
    vector_drop(&b);
    vector_drop(&whole);
    vector_drop(&truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maximum_and_minimum),
        cmocka_unit_test(test_nan_wins_at_every_place),
        cmocka_unit_test(test_signs_of_reals),
        cmocka_unit_test(test_quotients_and_remainders_of_reals),
        cmocka_unit_test(test_complex_edges),
        cmocka_unit_test(test_complex_quotients),
        cmocka_unit_test(test_a_real_scalar_meets_complex_numbers),
        cmocka_unit_test(test_integer_powers),
        cmocka_unit_test(test_bools_of_any_byte),
        cmocka_unit_test(test_comparisons_with_nan),
        cmocka_unit_test(test_large_runs_from_any_element),
        cmocka_unit_test(test_large_planes),
        cmocka_unit_test(test_workers_change_no_bit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
