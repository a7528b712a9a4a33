/* SPDX-License-Identifier: BSD-3-Clause */
/* Every dtype to every other: what saturates, wraps, rounds and is dropped, by an independent rule per pair; and in place. */
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

/* Values at which conversions do something special, as the dtype holds them. Each list is longer than any vector. */
static const double reals[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               -0.5,
                               0.999999,
                               -0.999999,
                               1.5,
                               -2.5,
                               255.0,
                               256.0,
                               2147483646.5,
                               2147483647.0,
                               2147483647.5,
                               2147483648.0,
                               4294967296.0,
                               -2147483647.5,
                               -2147483648.0,
                               -2147483648.5,
                               -2147483649.0,
                               1e10,
                               -1e10,
                               9007199254740993.0,
                               0x1p62,
                               0x1.fffffep62,
                               0x1p63,
                               -0x1p63,
                               -0x1.8p63,
                               0x1p64,
                               1e30,
                               -1e30,
                               1e300,
                               -1e300,
                               1e-300,
                               -1e-300,
                               (double)NAN,
                               (double)INFINITY,
                               (double)-INFINITY,
                               3.4028235e38,
                               3.4028236e38,
                               16777217.0};
static const int64_t integers[] = {0,
                                   1,
                                   -1,
                                   2,
                                   255,
                                   256,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_MAX,
                                   INT64_MIN,
                                   16777217,
                                   -16777217,
                                   (1LL << 31),
                                   (1LL << 32),
                                   (1LL << 53) + 1,
                                   -(1LL << 53) - 1,
                                   (1LL << 62) + 3,
                                   4294967295LL,
                                   4294967297LL,
                                   INT64_MAX - 511,
                                   INT64_MAX - 512};
enum { REALS = sizeof reals / sizeof *reals, INTEGERS = sizeof integers / sizeof *integers };
enum { COUNT = 3 * REALS + 1 }; /* vector blocks, their ends, and each value at several places */

typedef struct number {
    double re;
    double im;
    int64_t whole;
} number;

static bool is_real(tnr_dtype dtype) { return dtype == TNR_F32 || dtype == TNR_F64; }
static bool is_pair(tnr_dtype dtype) { return dtype == TNR_C32 || dtype == TNR_C64; }

static number number_at(tnr_dtype dtype, int i)
{
    const double re = reals[i % REALS];
    const double im = reals[(i * 7 + 3) % REALS];
    const int64_t whole = integers[i % INTEGERS];
    switch (dtype) {
    case TNR_F32:
    case TNR_C32:
        return (number){(double)(float)re, dtype == TNR_C32 ? (double)(float)im : 0.0, 0};
    case TNR_F64:
    case TNR_C64:
        return (number){re, dtype == TNR_C64 ? im : 0.0, 0};
    case TNR_I32:
        return (number){0.0, 0.0, (int64_t)(int32_t)(uint32_t)(uint64_t)whole};
    case TNR_I64:
        return (number){0.0, 0.0, whole};
    default:
        return (number){0.0, 0.0, whole & 255};
    }
}

static void put(tnr_dtype dtype, void *data, int i, number value)
{
    switch (dtype) {
    case TNR_F32:
        ((float *)data)[i] = (float)value.re;
        break;
    case TNR_F64:
        ((double *)data)[i] = value.re;
        break;
    case TNR_C32:
        ((tnr_c32 *)data)[i] = (tnr_c32){(float)value.re, (float)value.im};
        break;
    case TNR_C64:
        ((tnr_c64 *)data)[i] = (tnr_c64){value.re, value.im};
        break;
    case TNR_I32:
        ((int32_t *)data)[i] = (int32_t)value.whole;
        break;
    case TNR_I64:
        ((int64_t *)data)[i] = value.whole;
        break;
    default:
        ((uint8_t *)data)[i] = (uint8_t)value.whole;
        break;
    }
}

static int64_t saturated(double a, int64_t least, int64_t most)
{
    if (isnan(a)) {
        return 0;
    }
    const double whole = trunc(a);
    if (whole >= -(double)least) { /* 2^31 or 2^63: the first that does not fit */
        return most;
    }
    return whole < (double)least ? least : (int64_t)whole;
}

/* What the header says. */
static number expected(tnr_dtype from, tnr_dtype to, number a)
{
    const bool floating = is_real(from) || is_pair(from);
    const int64_t whole = from == TNR_BOOL ? a.whole != 0 : a.whole;
    number result = {0.0, 0.0, 0};
    switch (to) {
    case TNR_F32:
    case TNR_C32:
        result.re = floating ? (double)(float)a.re : (double)(float)whole;
        result.im = to == TNR_C32 && is_pair(from) ? (double)(float)a.im : 0.0;
        break;
    case TNR_F64:
    case TNR_C64:
        result.re = floating ? a.re : (double)whole;
        result.im = to == TNR_C64 && is_pair(from) ? a.im : 0.0;
        break;
    case TNR_I32:
        result.whole = floating ? saturated(a.re, INT32_MIN, INT32_MAX) : (int64_t)(int32_t)(uint32_t)(uint64_t)whole;
        break;
    case TNR_I64:
        result.whole = floating ? saturated(a.re, INT64_MIN, INT64_MAX) : whole;
        break;
    default:
        result.whole = from == TNR_BOOL ? a.whole : floating ? a.re != 0.0 || a.im != 0.0 : whole != 0;
        break;
    }
    return result;
}

static bool same_real(double found, double wanted)
{
    return isnan(wanted) ? isnan(found) : found == wanted && signbit(found) == signbit(wanted);
}

static void check(tnr_dtype from, tnr_dtype to, const void *data, int count)
{
    for (int i = 0; i < count; ++i) {
        const number want = expected(from, to, number_at(from, i));
        number found = {0.0, 0.0, 0};
        switch (to) {
        case TNR_F32:
            found.re = (double)((const float *)data)[i];
            break;
        case TNR_F64:
            found.re = ((const double *)data)[i];
            break;
        case TNR_C32:
            found = (number){(double)((const tnr_c32 *)data)[i].re, (double)((const tnr_c32 *)data)[i].im, 0};
            break;
        case TNR_C64:
            found = (number){((const tnr_c64 *)data)[i].re, ((const tnr_c64 *)data)[i].im, 0};
            break;
        case TNR_I32:
            found.whole = ((const int32_t *)data)[i];
            break;
        case TNR_I64:
            found.whole = ((const int64_t *)data)[i];
            break;
        default:
            found.whole = ((const uint8_t *)data)[i];
            break;
        }
        if (!same_real(found.re, want.re) || !same_real(found.im, want.im) || found.whole != want.whole) {
            fail_msg("%s to %s, element %d: %.17g %.17g %lld, expected %.17g %.17g %lld", tnr_dtype_name(from),
                     tnr_dtype_name(to), i, found.re, found.im, (long long)found.whole, want.re, want.im,
                     (long long)want.whole);
        }
    }
}

static vector input_of(tnr_dtype dtype, int count)
{
    vector made = vector_of(heap, dtype, count, NULL);
    for (int i = 0; i < count; ++i) {
        put(dtype, made.data, i, number_at(dtype, i));
    }
    return made;
}

static void test_all_pairs(void **state)
{
    (void)state;
    static const int counts[] = {1, 3, REALS, COUNT};
    for (int from = TNR_F32; from < TNR_DTYPE_END; ++from) {
        for (int to = TNR_F32; to < TNR_DTYPE_END; ++to) {
            for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
                vector a = input_of((tnr_dtype)from, counts[k]);
                vector out = vector_of(heap, (tnr_dtype)to, counts[k], NULL);
                tnr_tensor *made = NULL;
                catalogue_ok(tnr_cast(engine, &a.view.view, (tnr_dtype)to, &made), "cast");
                check((tnr_dtype)from, (tnr_dtype)to, made_data(made), counts[k]);
                catalogue_ok(tnr_cast_into(engine, &a.view.view, &out.view), "cast into");
                assert_memory_equal(out.data, made_data(made), (size_t)counts[k] * tnr_dtype_size((tnr_dtype)to));
                catalogue_ok(tnr_tensor_release(&made), "release");
                vector_drop(&a);
                vector_drop(&out);
            }
        }
    }
}

/* The output is the input's very elements, seen as another dtype of their size. */
static void test_in_place(void **state)
{
    (void)state;
    const int64_t count = COUNT;
    for (int from = TNR_F32; from < TNR_DTYPE_END; ++from) {
        for (int to = TNR_F32; to < TNR_DTYPE_END; ++to) {
            const size_t size = tnr_dtype_size((tnr_dtype)from);
            if (tnr_dtype_size((tnr_dtype)to) != size) {
                continue;
            }
            vector a = input_of((tnr_dtype)from, COUNT);
            vector over = {.tensor = NULL};
            catalogue_ok(tnr_tensor_adopt(heap, (tnr_dtype)to, 1, &count, a.data, (uint64_t)COUNT * size, NULL, NULL,
                                          &over.tensor),
                         "adopt");
            catalogue_ok(tnr_tensor_view_mut(over.tensor, &over.view), "view");
            catalogue_ok(tnr_cast_into(engine, &a.view.view, &over.view), "in place");
            check((tnr_dtype)from, (tnr_dtype)to, a.data, COUNT);
            vector_drop(&over);
            vector_drop(&a);
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    vector a = input_of(TNR_F64, 4);
    vector out = vector_of(heap, TNR_I32, 5, NULL);
    tnr_tensor *made = NULL;
    assert_int_equal(tnr_cast(engine, &a.view.view, TNR_DTYPE_NONE, &made), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_cast(engine, &a.view.view, TNR_DTYPE_END, &made), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_cast(engine, NULL, TNR_F32, &made), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_cast(engine, &a.view.view, TNR_F32, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_cast(NULL, &a.view.view, TNR_F32, &made), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_cast_into(engine, &a.view.view, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_cast_into(engine, &a.view.view, &out.view), TNR_ERR_SHAPE);
    assert_null(made);
    vector_drop(&a);
    vector_drop(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pairs),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
