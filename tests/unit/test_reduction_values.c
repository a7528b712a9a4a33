/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of reductions at the edges: NaN at every position, signs of zeros, empty axes, integers that wrap, bytes that
 * are true, axis lists that are wrong. Norms and positions have files of their own.
 */
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

/* ---- ER-01 ---- */

static void check_nan_at(const tnr_view *a, int64_t at)
{
    if (a->dtype == TNR_F64) {
        assert_true(isnan(f64_of(tnr_max, a)));
        assert_true(isnan(f64_of(tnr_min, a)));
    } else {
        assert_true(isnan(f32_of(tnr_max, a)));
        assert_true(isnan(f32_of(tnr_min, a)));
    }
    assert_int_equal(arg_of(tnr_argmax, a), at);
    assert_int_equal(arg_of(tnr_argmin, a), at);
}

static void put(tnr_dtype dtype, void *data, int64_t at, double value)
{
    if (dtype == TNR_F64) {
        ((double *)data)[at] = value;
    } else {
        ((float *)data)[at] = (float)value;
    }
}

static void check_nan_everywhere(tnr_dtype dtype, int64_t length)
{
    tnr_view dense;
    tnr_view wide;
    void *data;
    void *spread;
    const int64_t strided_length = 3 * length;
    tnr_tensor *x = zeros(dtype, 1, &length, &dense, &data);
    tnr_tensor *y = zeros(dtype, 1, &strided_length, &wide, &spread);
    const tnr_view strided = every(&wide, 3);
    assert_true(strided.shape[0] == length);
    for (int64_t i = 0; i < length; ++i) {
        put(dtype, data, i, 1.0);
        put(dtype, spread, 3 * i, 1.0);
        put(dtype, spread, 3 * i + 1, (double)NAN); /* not in the view */
        put(dtype, spread, 3 * i + 2, INFINITY);
    }
    const int64_t step = length > 100 ? 37 : 1;
    for (int64_t at = 0; at < length; at += step) {
        put(dtype, data, at, (double)NAN);
        put(dtype, spread, 3 * at, (double)NAN);
        check_nan_at(&dense, at);
        check_nan_at(&strided, at);
        put(dtype, data, at, 1.0);
        put(dtype, spread, 3 * at, 1.0);
    }
    for (int64_t i = 0; i < length; ++i) {
        put(dtype, data, i, (double)NAN);
    }
    check_nan_at(&dense, 0);
    drop(x);
    drop(y);
}

static void test_ER_01_nan_at_every_position_wins(void **state)
{
    (void)state;
    for (int64_t length = 1; length <= 33; ++length) {
        check_nan_everywhere(TNR_F32, length);
        check_nan_everywhere(TNR_F64, length);
    }
    check_nan_everywhere(TNR_F32, 2500); /* several tiles */
    check_nan_everywhere(TNR_F64, 2500);
}

static void test_ER_01_nan_in_rows_and_columns(void **state)
{
    (void)state;
    const int64_t shape[2] = {33, 33};
    tnr_view a;
    void *data;
    tnr_tensor *x = zeros(TNR_F64, 2, shape, &a, &data);
    double *values = data;
    for (int i = 0; i < 33 * 33; ++i) {
        values[i] = 1.0;
    }
    for (int i = 0; i < 33; ++i) {
        for (int j = 0; j < 33; j += 4) {
            values[i + 33 * j] = (double)NAN;
            for (int axis = 0; axis < 2; ++axis) {
                for (int op = MAX; op <= MIN; ++op) {
                    tnr_tensor *out = NULL;
                    double found[33];
                    catalogue_ok(axes_ops[op](engine, &a, &axis, 1, &out), "rows");
                    take(out, found, sizeof found);
                    for (int k = 0; k < 33; ++k) {
                        assert_true(k == (axis == 0 ? j : i) ? isnan(found[k]) : found[k] == 1.0);
                    }
                }
            }
            values[i + 33 * j] = 1.0;
        }
    }
    drop(x);
}

static void check_zeros(int64_t length, int64_t negative)
{
    tnr_view a;
    void *data;
    tnr_tensor *x = zeros(TNR_F64, 1, &length, &a, &data);
    double *values = data;
    float singles[64] = {0};
    values[negative] = -0.0;
    assert_true(signbit(f64_of(tnr_min, &a)) != 0);
    assert_true((signbit(f64_of(tnr_max, &a)) != 0) == (length == 1));
    for (int64_t i = 0; i < length; ++i) {
        values[i] = i == negative ? 0.0 : -0.0;
    }
    assert_true(signbit(f64_of(tnr_max, &a)) == 0);
    assert_true((signbit(f64_of(tnr_min, &a)) != 0) == (length > 1));
    assert_int_equal(arg_of(tnr_argmax, &a), 0); /* equal all the same */
    assert_int_equal(arg_of(tnr_argmin, &a), 0);
    drop(x);
    if (length <= 64) {
        tnr_tensor *y = zeros(TNR_F32, 1, &length, &a, &data);
        singles[negative] = -0.0F;
        memcpy(data, singles, (size_t)length * sizeof(float));
        assert_true(signbit(f32_of(tnr_min, &a)) != 0);
        assert_true((signbit(f32_of(tnr_max, &a)) != 0) == (length == 1));
        drop(y);
    }
}

static void test_ER_01_negative_zero_is_less(void **state)
{
    (void)state;
    for (int64_t length = 1; length <= 40; ++length) {
        for (int64_t negative = 0; negative < length; ++negative) {
            check_zeros(length, negative);
        }
    }
    check_zeros(1500, 0);
    check_zeros(1500, 700);
    check_zeros(1500, 1499);
}

/* ---- ER-03 ---- */

static void refuse_lists(const tnr_view *a)
{
    static const int twice[2] = {0, 0};
    static const int beyond[1] = {2};
    static const int negative[1] = {-1};
    for (int op = 0; op < OPS; ++op) {
        tnr_tensor *out = NULL;
        tnr_view_mut into = {.view = *a};
        assert_int_equal(axes_ops[op](engine, a, twice, 2, &out), TNR_ERR_ARGUMENT);
        assert_int_equal(axes_ops[op](engine, a, beyond, 1, &out), TNR_ERR_BOUNDS);
        assert_int_equal(axes_ops[op](engine, a, negative, 1, &out), TNR_ERR_BOUNDS);
        assert_int_equal(axes_ops[op](engine, a, NULL, 1, &out), TNR_ERR_ARGUMENT);
        assert_int_equal(axes_ops[op](engine, a, twice, -1, &out), TNR_ERR_ARGUMENT);
        assert_int_equal(axes_ops_into[op](engine, a, twice, 2, &into), TNR_ERR_ARGUMENT);
        assert_int_equal(axes_ops_into[op](engine, a, beyond, 1, &into), TNR_ERR_BOUNDS);
        assert_null(out);
    }
    tnr_tensor *out = NULL;
    assert_int_equal(tnr_argmax(engine, a, 2, &out), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_argmin(engine, a, -1, &out), TNR_ERR_BOUNDS);
    assert_null(out);
}

static void test_ER_03_axis_lists_of_every_reduction(void **state)
{
    (void)state;
    static const int64_t shape[2] = {2, 2};
    static const int64_t empty_shape[2] = {0, 2};
    static const int both[2] = {1, 0};
    tnr_view a;
    tnr_view empty;
    void *data;
    tnr_tensor *x = zeros(TNR_F64, 2, shape, &a, &data);
    tnr_tensor *y = zeros(TNR_F64, 2, empty_shape, &empty, NULL);
    memcpy(data, (double[]){1.0, 3.0, 2.0, 4.0}, 4 * sizeof(double));
    refuse_lists(&a);
    refuse_lists(&empty);
    tnr_tensor *out = NULL;
    double found[4];
    catalogue_ok(tnr_sum(engine, &a, both, 2, &out), "sum");
    take(out, found, sizeof(double));
    assert_true(found[0] == 10.0);
    for (int op = SUM; op <= NORM; ++op) {
        if (op != ALL && op != ANY) {
            catalogue_ok(axes_ops[op](engine, &a, NULL, 0, &out), "no axes");
            take(out, found, sizeof found);
            assert_memory_equal(found, data, sizeof found);
        }
    }
    drop(x);
    drop(y);
}

/* ---- Nothing to reduce ---- */

static void test_empty_axes(void **state)
{
    (void)state;
    static const int64_t shape[3] = {2, 0, 3};
    static const int axis = 1;
    static const int first = 0;
    for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
        tnr_view a;
        tnr_tensor *x = zeros((tnr_dtype)dtype, 3, shape, &a, NULL);
        for (int op = 0; op < OPS; ++op) {
            tnr_tensor *out = NULL;
            const tnr_status status = axes_ops[op](engine, &a, &axis, 1, &out);
            if (status == TNR_ERR_UNSUPPORTED) {
                continue;
            }
            if (op == MAX || op == MIN) {
                assert_int_equal(status, TNR_ERR_SHAPE);
                assert_null(out);
                assert_non_null(strstr(tnr_last_error(), op == MAX ? "max" : "min"));
                catalogue_ok(axes_ops[op](engine, &a, &first, 1, &out), "no outputs"); /* the empty axis stays */
                drop(out);
                continue;
            }
            catalogue_ok(status, "empty");
            tnr_tensor_info info;
            catalogue_ok(tnr_tensor_describe(out, &info), "describe");
            unsigned char found[6 * 16];
            unsigned char one[16] = {0};
            const size_t width = tnr_dtype_size(info.dtype);
            take(out, found, 6 * width);
            if (op == ALL || (op == PROD && (dtype == TNR_I32 || dtype == TNR_I64))) {
                one[0] = 1;
            } else if (op == PROD && (info.dtype == TNR_F32 || info.dtype == TNR_C32)) {
                memcpy(one, &(float){1.0F}, sizeof(float));
            } else if (op == PROD) {
                memcpy(one, &(double){1.0}, sizeof(double));
            }
            for (int i = 0; i < 6; ++i) {
                assert_memory_equal(found + (size_t)i * width, one, width);
            }
        }
        if (dtype != TNR_BOOL && dtype != TNR_C32 && dtype != TNR_C64) {
            tnr_tensor *out = NULL;
            assert_int_equal(tnr_argmax(engine, &a, 1, &out), TNR_ERR_SHAPE);
            assert_int_equal(tnr_argmin(engine, &a, 1, &out), TNR_ERR_SHAPE);
            assert_null(out);
            catalogue_ok(tnr_argmax(engine, &a, 0, &out), "no outputs");
            drop(out);
        }
        drop(x);
    }
}

static void test_dtypes_without_the_operation(void **state)
{
    (void)state;
    static const unsigned exist[OPS] = {CATALOGUE_NUMBER,
                                        CATALOGUE_NUMBER,
                                        CATALOGUE_REAL | CATALOGUE_INTEGER,
                                        CATALOGUE_REAL | CATALOGUE_INTEGER,
                                        CATALOGUE_BIT(TNR_BOOL),
                                        CATALOGUE_BIT(TNR_BOOL),
                                        CATALOGUE_FLOAT};
    static const int64_t shape[1] = {3};
    static const int axis = 0;
    for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
        tnr_view a;
        tnr_tensor *x = zeros((tnr_dtype)dtype, 1, shape, &a, NULL);
        for (int op = 0; op < OPS; ++op) {
            const bool exists = (exist[op] & CATALOGUE_BIT(dtype)) != 0;
            tnr_tensor *out = NULL;
            assert_int_equal(axes_ops[op](engine, &a, &axis, 1, &out), exists ? TNR_OK : TNR_ERR_UNSUPPORTED);
            if (exists) {
                drop(out);
            }
        }
        const bool ordered = (exist[MAX] & CATALOGUE_BIT(dtype)) != 0;
        tnr_tensor *out = NULL;
        assert_int_equal(tnr_argmax(engine, &a, 0, &out), ordered ? TNR_OK : TNR_ERR_UNSUPPORTED);
        if (ordered) {
            drop(out);
        }
        drop(x);
    }
}

/* ---- Integers, truth ---- */

static void test_integers_wrap_and_order(void **state)
{
    (void)state;
    const int64_t count = 1000;
    tnr_view a;
    void *data;
    tnr_tensor *x = zeros(TNR_I32, 1, &count, &a, &data);
    int32_t *values = data;
    uint32_t sum = 0;
    uint32_t product = 1;
    for (int i = 0; i < 1000; ++i) {
        values[i] = i % 2 == 0 ? INT32_MAX - i : INT32_MIN + 3 * i;
        sum += (uint32_t)values[i];
        product *= (uint32_t)values[i] | 1U;
    }
    static const int axis = 0;
    tnr_tensor *out = NULL;
    int32_t found;
    catalogue_ok(tnr_sum(engine, &a, &axis, 1, &out), "sum");
    take(out, &found, sizeof found);
    assert_int_equal((uint32_t)found, sum);
    catalogue_ok(tnr_max(engine, &a, &axis, 1, &out), "max");
    take(out, &found, sizeof found);
    assert_int_equal(found, INT32_MAX);
    catalogue_ok(tnr_min(engine, &a, &axis, 1, &out), "min");
    take(out, &found, sizeof found);
    assert_int_equal(found, INT32_MIN + 3);
    assert_int_equal(arg_of(tnr_argmin, &a), 1);
    for (int i = 0; i < 1000; ++i) {
        values[i] = (int32_t)((uint32_t)values[i] | 1U);
    }
    catalogue_ok(tnr_prod(engine, &a, &axis, 1, &out), "prod");
    take(out, &found, sizeof found);
    assert_int_equal((uint32_t)found, product);
    drop(x);
}

static void test_any_byte_but_zero_is_true(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 7, 200, 5000, 9001};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
        tnr_view a;
        void *data;
        tnr_tensor *x = zeros(TNR_BOOL, 1, &lengths[k], &a, &data);
        unsigned char *bytes = data;
        static const int axis = 0;
        tnr_tensor *out = NULL;
        unsigned char found;
        const size_t count = (size_t)lengths[k];
        const size_t places[3] = {0, count / 2, count - 1};
        for (int p = 0; p < 3; ++p) {
            memset(bytes, 0, count);
            catalogue_ok(tnr_any(engine, &a, &axis, 1, &out), "any");
            take(out, &found, 1);
            assert_int_equal(found, 0);
            bytes[places[p]] = p == 0 ? 128 : 2;
            catalogue_ok(tnr_any(engine, &a, &axis, 1, &out), "any");
            take(out, &found, 1);
            assert_int_equal(found, 1);
            for (size_t i = 0; i < count; ++i) {
                bytes[i] = (unsigned char)(1U << (i % 8)); /* no bit is common to all */
            }
            catalogue_ok(tnr_all(engine, &a, &axis, 1, &out), "all");
            take(out, &found, 1);
            assert_int_equal(found, 1);
            bytes[places[p]] = 0;
            catalogue_ok(tnr_all(engine, &a, &axis, 1, &out), "all");
            take(out, &found, 1);
            assert_int_equal(found, 0);
        }
        drop(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ER_01_nan_at_every_position_wins),
        cmocka_unit_test(test_ER_01_nan_in_rows_and_columns),
        cmocka_unit_test(test_ER_01_negative_zero_is_less),
        cmocka_unit_test(test_ER_03_axis_lists_of_every_reduction),
        cmocka_unit_test(test_empty_axes),
        cmocka_unit_test(test_dtypes_without_the_operation),
        cmocka_unit_test(test_integers_wrap_and_order),
        cmocka_unit_test(test_any_byte_but_zero_is_true),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
