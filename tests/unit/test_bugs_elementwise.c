/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures of elementwise operations that other libraries had, as they were reported: each test is named after its row in
 * the project's list of bugs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

/* Every elementwise operation, long enough for blocks, with an output one element further on: nothing may be written. */
static void test_ER_05_shifted_outputs_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    double values[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        values[i] = i + 1;
    }
    vector x = vector_of(heap, TNR_F64, COUNT, values);
    tnr_view head;
    tnr_view tail;
    tnr_view_mut target;
    const int64_t length = COUNT - 1;
    const int64_t step = 1;
    catalogue_ok(tnr_tensor_region(x.tensor, 1, &length, &step, 0, &head), "x[0..]");
    catalogue_ok(tnr_tensor_region(x.tensor, 1, &length, &step, 1, &tail), "x[1..]");
    catalogue_ok(tnr_tensor_region_mut(x.tensor, 1, &length, &step, 1, &target), "x[1..]");
    typedef tnr_status (*unary)(tnr_engine *, const tnr_view *, const tnr_view_mut *);
    typedef tnr_status (*binary)(tnr_engine *, const tnr_view *, const tnr_view *, const tnr_view_mut *);
    static const unary one[] = {tnr_neg_into, tnr_abs_into, tnr_sign_into, tnr_conj_into, tnr_cast_into};
    static const binary two[] = {tnr_add_into, tnr_sub_into, tnr_mul_into,     tnr_div_into,
                                 tnr_rem_into, tnr_pow_into, tnr_maximum_into, tnr_minimum_into};
    for (size_t i = 0; i < sizeof one / sizeof *one; ++i) {
        assert_int_equal(one[i](engine, &head, &target), TNR_ERR_OVERLAP);
        catalogue_ok(one[i](engine, &tail, &target), "in place");
        memcpy(x.data, values, sizeof values);
    }
    for (size_t i = 0; i < sizeof two / sizeof *two; ++i) {
        assert_int_equal(two[i](engine, &head, &tail, &target), TNR_ERR_OVERLAP);
        assert_int_equal(two[i](engine, &tail, &head, &target), TNR_ERR_OVERLAP);
    }
    assert_int_equal(tnr_clamp_into(engine, &tail, &head, &tail, &target), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_clamp_into(engine, &tail, &tail, &head, &target), TNR_ERR_OVERLAP);
    assert_memory_equal(x.data, values, sizeof values);
    vector_drop(&x);
}

/* A cast whose output has the same bytes as its input but other elements is no operation in place. */
static void test_ER_05_casts_over_other_elements_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    double values[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        values[i] = 1.5 * i;
    }
    vector x = vector_of(heap, TNR_F64, COUNT, values);
    const int64_t count = COUNT;
    vector narrow = {.tensor = NULL};
    vector same = {.tensor = NULL};
    /* Two more owners over the same memory, as a program can make them. */
    catalogue_ok(tnr_tensor_adopt(heap, TNR_F32, 1, &count, x.data, COUNT * sizeof(float), NULL, NULL, &narrow.tensor),
                 "f32");
    catalogue_ok(tnr_tensor_adopt(heap, TNR_I64, 1, &count, x.data, sizeof values, NULL, NULL, &same.tensor), "i64");
    catalogue_ok(tnr_tensor_view_mut(narrow.tensor, &narrow.view), "view");
    catalogue_ok(tnr_tensor_view_mut(same.tensor, &same.view), "view");
    assert_int_equal(tnr_cast_into(engine, &x.view.view, &narrow.view), TNR_ERR_OVERLAP);
    assert_memory_equal(x.data, values, sizeof values);
    catalogue_ok(tnr_cast_into(engine, &x.view.view, &same.view), "the same elements");
    for (int i = 0; i < COUNT; ++i) {
        assert_true(((const int64_t *)x.data)[i] == (int64_t)values[i]);
    }
    vector_drop(&narrow);
    vector_drop(&same);
    vector_drop(&x);
}

static bool near(double found, double expected) { return fabs(found - expected) <= 1e-15 * fabs(expected); }

static void test_ER_07_complex_division_and_absolute_value_without_overflow(void **state)
{
    (void)state;
    static const tnr_c64 large = {1e200, 1e200};
    static const tnr_c64 small = {1e-200, 1e-200};
    const tnr_c64 numerators[] = {large, small, {1e308, 1e308}, {3e-308, 3e-308}, {4e-324, 4e-324}, {0.0, 1e-300}};
    const tnr_c64 divisors[] = {large, small, {1e308, 1e308}, {3e-308, 3e-308}, {4e-324, 4e-324}, {0.0, 1e-300}};
    enum { COUNT = sizeof numerators / sizeof *numerators };
    vector a = vector_of(heap, TNR_C64, COUNT, numerators);
    vector b = vector_of(heap, TNR_C64, COUNT, divisors);
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_div(engine, &a.view.view, &b.view.view, &made), "div");
    const tnr_c64 *quotients = made_data(made);
    for (int i = 0; i < COUNT; ++i) {
        assert_true(near(quotients[i].re, 1.0) && fabs(quotients[i].im) <= 1e-15);
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    static const tnr_c64 points[] = {
        {3e200, 4e200}, {3e-200, 4e-200}, {-3e200, 4e200}, {3e307, 4e307}, {3e-307, -4e-307}};
    static const double sizes[] = {5e200, 5e-200, 5e200, 5e307, 5e-307};
    vector p = vector_of(heap, TNR_C64, 5, points);
    catalogue_ok(tnr_abs(engine, &p.view.view, &made), "abs");
    for (int i = 0; i < 5; ++i) {
        assert_true(near(((const double *)made_data(made))[i], sizes[i]));
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    static const tnr_c32 single[] = {{3e30F, 4e30F}, {3e-40F, 4e-40F}, {3e38F, 1e38F}};
    vector q = vector_of(heap, TNR_C32, 3, single);
    catalogue_ok(tnr_div(engine, &q.view.view, &q.view.view, &made), "div");
    for (int i = 0; i < 3; ++i) {
        const tnr_c32 one = ((const tnr_c32 *)made_data(made))[i];
        assert_true(one.re == 1.0F && one.im == 0.0F);
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_abs(engine, &q.view.view, &made), "abs");
    assert_true(fabs((double)((const float *)made_data(made))[0] / 5e30 - 1.0) < 2e-7);
    catalogue_ok(tnr_tensor_release(&made), "release");
    vector_drop(&a);
    vector_drop(&b);
    vector_drop(&p);
    vector_drop(&q);
}

static void test_ER_08_clamp_and_order(void **state)
{
    (void)state;
    const double values[] = {(double)NAN, 5.0, -5.0, 1.0, 0.0};
    const double two = 2.0;
    const double minus_two = -2.0;
    const double three = 3.0;
    const double one = 1.0;
    vector a = vector_of(heap, TNR_F64, 5, values);
    tnr_tensor *scalars[4] = {NULL};
    tnr_view bounds[4];
    const double *const list[4] = {&minus_two, &two, &three, &one};
    for (int i = 0; i < 4; ++i) {
        catalogue_ok(tnr_tensor_from_row_major(heap, TNR_F64, 0, NULL, list[i], sizeof(double), &scalars[i]), "scalar");
        catalogue_ok(tnr_tensor_view(scalars[i], &bounds[i]), "view");
    }
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_clamp(engine, &a.view.view, &bounds[0], &bounds[1], &made), "clamp");
    const double *found = made_data(made);
    assert_true(isnan(found[0]) && found[1] == 2.0 && found[2] == -2.0 && found[3] == 1.0);
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_clamp(engine, &a.view.view, &bounds[2], &bounds[3], &made), "low above high");
    found = made_data(made);
    assert_true(isnan(found[0]));
    for (int i = 1; i < 5; ++i) {
        assert_true(found[i] == 1.0);
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    vector z = vector_of(heap, TNR_C64, 2, NULL);
    vector w = vector_of(heap, TNR_C32, 2, NULL);
    const tnr_view *const complexes[2] = {&z.view.view, &w.view.view};
    for (int i = 0; i < 2; ++i) {
        const tnr_view *c = complexes[i];
        assert_int_equal(tnr_maximum(engine, c, c, &made), TNR_ERR_UNSUPPORTED);
        assert_int_equal(tnr_minimum(engine, c, c, &made), TNR_ERR_UNSUPPORTED);
        assert_int_equal(tnr_clamp(engine, c, c, c, &made), TNR_ERR_UNSUPPORTED);
        assert_int_equal(tnr_rem(engine, c, c, &made), TNR_ERR_UNSUPPORTED);
        for (int comparison = TNR_COMPARE_LESS; comparison <= TNR_COMPARE_GREATER_EQUAL; ++comparison) {
            assert_int_equal(tnr_compare(engine, (tnr_comparison)comparison, c, c, &made), TNR_ERR_UNSUPPORTED);
        }
    }
    assert_null(made);
    for (int i = 0; i < 4; ++i) {
        catalogue_ok(tnr_tensor_release(&scalars[i]), "release");
    }
    vector_drop(&a);
    vector_drop(&z);
    vector_drop(&w);
}

typedef struct integers {
    tnr_dtype dtype;
    int64_t least;
} integers;

static vector integers_of(tnr_dtype dtype, int64_t count, const int64_t *values)
{
    vector made = vector_of(heap, dtype, count, NULL);
    for (int64_t i = 0; i < count; ++i) {
        if (dtype == TNR_I32) {
            ((int32_t *)made.data)[i] = (int32_t)values[i];
        } else {
            ((int64_t *)made.data)[i] = values[i];
        }
    }
    return made;
}

static void expect_integers(tnr_dtype dtype, tnr_tensor **made, int64_t count, const int64_t *values)
{
    const void *data = made_data(*made);
    for (int64_t i = 0; i < count; ++i) {
        assert_true((dtype == TNR_I32 ? (int64_t)((const int32_t *)data)[i] : ((const int64_t *)data)[i]) == values[i]);
    }
    catalogue_ok(tnr_tensor_release(made), "release");
}

static void test_ER_09_integers_at_the_edges(void **state)
{
    (void)state;
    static const integers both[2] = {{TNR_I32, INT32_MIN}, {TNR_I64, INT64_MIN}};
    for (int i = 0; i < 2; ++i) {
        const tnr_dtype dtype = both[i].dtype;
        const int64_t least = both[i].least;
        vector a = integers_of(dtype, 4, (const int64_t[]){8, 9, least, -7});
        vector b = integers_of(dtype, 4, (const int64_t[]){2, 3, -1, 2});
        vector zero = integers_of(dtype, 4, (const int64_t[]){2, 3, 0, 2});
        vector out = integers_of(dtype, 4, (const int64_t[]){1, 2, 3, 4});
        tnr_tensor *made = NULL;
        catalogue_ok(tnr_div(engine, &a.view.view, &b.view.view, &made), "div");
        expect_integers(dtype, &made, 4, (const int64_t[]){4, 3, least, -3});
        catalogue_ok(tnr_rem(engine, &a.view.view, &b.view.view, &made), "rem");
        expect_integers(dtype, &made, 4, (const int64_t[]){0, 0, 0, -1});
        catalogue_ok(tnr_abs(engine, &a.view.view, &made), "abs");
        expect_integers(dtype, &made, 4, (const int64_t[]){8, 9, least, 7});
        catalogue_ok(tnr_neg(engine, &a.view.view, &made), "neg");
        expect_integers(dtype, &made, 4, (const int64_t[]){-8, -9, least, 7});
        assert_int_equal(tnr_div(engine, &a.view.view, &zero.view.view, &made), TNR_ERR_NUMERIC);
        assert_non_null(strstr(tnr_last_error(), "[2]"));
        assert_int_equal(tnr_rem(engine, &a.view.view, &zero.view.view, &made), TNR_ERR_NUMERIC);
        assert_null(made);
        assert_int_equal(tnr_div_into(engine, &a.view.view, &zero.view.view, &out.view), TNR_ERR_NUMERIC);
        assert_int_equal(tnr_pow_into(engine, &a.view.view, &b.view.view, &out.view), TNR_ERR_NUMERIC);
        assert_non_null(strstr(tnr_last_error(), "[2]"));
        for (int64_t k = 0; k < 4; ++k) {
            assert_true((dtype == TNR_I32 ? (int64_t)((int32_t *)out.data)[k] : ((int64_t *)out.data)[k]) == k + 1);
        }
        vector_drop(&a);
        vector_drop(&b);
        vector_drop(&zero);
        vector_drop(&out);
    }
}

/* The one zero is found wherever it is, in whatever layout, and named by the view's own index. */
static void test_ER_09_every_zero_divisor_is_found(void **state)
{
    (void)state;
    static const int64_t shape[3] = {7, 5, 300};
    enum { COUNT = 7 * 5 * 300 };
    vector flat = vector_of(heap, TNR_I32, COUNT, NULL);
    vector a = vector_of(heap, TNR_I32, COUNT, NULL);
    int32_t *values = flat.data;
    for (int i = 0; i < COUNT; ++i) {
        values[i] = i % 9 + 1;
    }
    static const int64_t strides[2][3] = {{1, 7, 35}, {-300, 2100, 1}};
    static const int64_t first[2] = {0, 1800};
    catalogue_random random = {5};
    for (int layout = 0; layout < 2; ++layout) {
        tnr_view b;
        tnr_view numerator;
        catalogue_ok(tnr_tensor_region(flat.tensor, 3, shape, strides[layout], first[layout], &b), "divisor");
        catalogue_ok(tnr_tensor_region(a.tensor, 3, shape, strides[0], 0, &numerator), "numerator");
        for (int round = 0; round < 50; ++round) {
            const int64_t index[3] = {catalogue_below(&random, 7), catalogue_below(&random, 5),
                                      catalogue_below(&random, 300)};
            int64_t at = first[layout];
            for (int i = 0; i < 3; ++i) {
                at += index[i] * strides[layout][i];
            }
            const int32_t kept = values[at];
            values[at] = 0;
            tnr_tensor *made = NULL;
            assert_int_equal(tnr_div(engine, &numerator, &b, &made), TNR_ERR_NUMERIC);
            char text[64];
            (void)snprintf(text, sizeof text, "[%d, %d, %d]", (int)index[0], (int)index[1], (int)index[2]);
            assert_non_null(strstr(tnr_last_error(), text));
            values[at] = kept;
        }
        tnr_tensor *made = NULL;
        catalogue_ok(tnr_div(engine, &numerator, &b, &made), "no zero");
        catalogue_ok(tnr_tensor_release(&made), "release");
    }
    vector_drop(&flat);
    vector_drop(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ER_05_shifted_outputs_are_refused),
        cmocka_unit_test(test_ER_05_casts_over_other_elements_are_refused),
        cmocka_unit_test(test_ER_07_complex_division_and_absolute_value_without_overflow),
        cmocka_unit_test(test_ER_08_clamp_and_order),
        cmocka_unit_test(test_ER_09_integers_at_the_edges),
        cmocka_unit_test(test_ER_09_every_zero_divisor_is_found),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
