/* SPDX-License-Identifier: BSD-3-Clause */
/* Norms: squares that leave the range, infinities and NaN, and large beside small ones in one call. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/reduction_test.h"

static void check_norm(const double *values, int64_t count, double expected)
{
    tnr_view a;
    void *data;
    tnr_tensor *x = zeros(TNR_F64, 1, &count, &a, &data);
    memcpy(data, values, (size_t)count * sizeof(double));
    const double found = f64_of(tnr_norm, &a);
    if (isnan(expected)) {
        assert_true(isnan(found));
    } else {
        assert_true(found == expected || fabs(found - expected) <= 4.0 * DBL_EPSILON * expected);
    }
    if (count % 2 == 0) { /* the same numbers as complex ones */
        const int64_t half = count / 2;
        tnr_tensor *y = zeros(TNR_C64, 1, &half, &a, &data);
        memcpy(data, values, (size_t)count * sizeof(double));
        const double complex_found = f64_of(tnr_norm, &a);
        assert_true(isnan(expected)
                        ? isnan(complex_found)
                        : complex_found == expected || fabs(complex_found - expected) <= 4.0 * DBL_EPSILON * expected);
        drop(y);
    }
    drop(x);
}

static void test_norms_scale_where_squares_leave_the_range(void **state)
{
    (void)state;
    check_norm((double[]){3e200, 4e200}, 2, 5e200);
    check_norm((double[]){3e-200, -4e-200}, 2, 5e-200);
    check_norm((double[]){DBL_MAX, 0.0}, 2, DBL_MAX);
    check_norm((double[]){DBL_TRUE_MIN, 0.0}, 2, DBL_TRUE_MIN);
    check_norm((double[]){3.0 * DBL_TRUE_MIN, 4.0 * DBL_TRUE_MIN}, 2, 5.0 * DBL_TRUE_MIN);
    check_norm((double[]){0.0, -0.0}, 2, 0.0);
    check_norm((double[]){DBL_MAX, DBL_MAX}, 2, INFINITY); /* the norm itself is too large */
    check_norm((double[]){3e200, 1e-200, 4e200, 0.0}, 4, 5e200);
    check_norm((double[]){(double)NAN, 1.0}, 2, (double)NAN);
    check_norm((double[]){(double)NAN, -INFINITY}, 2, INFINITY);
    check_norm((double[]){INFINITY, (double)NAN}, 2, INFINITY);
    check_norm((double[]){1e300, INFINITY, (double)NAN, 2.0}, 4, INFINITY);
    tnr_view a;
    void *data;
    const int64_t two = 2;
    tnr_tensor *x = zeros(TNR_F32, 1, &two, &a, &data);
    memcpy(data, (float[]){3e30F, 4e30F}, sizeof(float[2]));
    assert_true(fabsf(f32_of(tnr_norm, &a) - 5e30F) <= 4.0F * FLT_EPSILON * 5e30F);
    memcpy(data, (float[]){3e-30F, 4e-30F}, sizeof(float[2]));
    assert_true(fabsf(f32_of(tnr_norm, &a) - 5e-30F) <= 4.0F * FLT_EPSILON * 5e-30F);
    memcpy(data, (float[]){0.0F, FLT_TRUE_MIN}, sizeof(float[2]));
    assert_true(f32_of(tnr_norm, &a) == FLT_TRUE_MIN);
    drop(x);
}

/* Every second pass: lines, strips, turns; one column each of huge, tiny, zero, infinite, undefined and usual numbers. */
static void check_mixed_norms(int64_t rows, int64_t columns, int axis)
{
    const double of_kind[6] = {1e200, 1e-200, 0.0, INFINITY, (double)NAN, 1.0};
    const int64_t shape[2] = {rows, columns};
    tnr_view a;
    void *data;
    tnr_tensor *x = zeros(TNR_F64, 2, shape, &a, &data);
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            ((double *)data)[i + rows * j] = of_kind[(axis == 0 ? j : i) % 6];
        }
    }
    tnr_tensor *out = NULL;
    catalogue_ok(tnr_norm(engine, &a, &axis, 1, &out), "norm");
    const void *found;
    catalogue_ok(tnr_tensor_host_data(out, &found), "data");
    const int64_t outputs = shape[1 - axis];
    const double factor = sqrt((double)shape[axis]);
    for (int64_t k = 0; k < outputs; ++k) {
        const double expected = of_kind[k % 6] * factor;
        const double value = ((const double *)found)[k];
        assert_true(isnan(expected) ? isnan(value) : value == expected || fabs(value - expected) <= 1e-14 * expected);
    }
    drop(out);
    drop(x);
}

static void test_norms_beside_each_other(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; ++axis) {
        check_mixed_norms(3, 40, axis);
        check_mixed_norms(20, 50, axis);
        check_mixed_norms(700, 30, axis);
        check_mixed_norms(12, 700, axis);
        check_mixed_norms(4000, 7, axis);
    }
    check_mixed_norms(6, 4000, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms_scale_where_squares_leave_the_range),
        cmocka_unit_test(test_norms_beside_each_other),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
