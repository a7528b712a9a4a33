/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Math functions give the same bits whatever the caller's direction of rounding, which is as before after the call: vector
 * libraries are right to nearest only (upward, sin of 6e-19 was off by 1e27 ulp). Roots and quotients do follow the caller.
 */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"

enum { COUNT = 1000 };

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

typedef tnr_status (*unary)(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);

static tnr_status power(tnr_engine *with, const tnr_view *a, tnr_tensor **out) { return tnr_pow(with, a, a, out); }

/* From tiny to some tens, where every function here has results. */
static double value(int i) { return i < COUNT / 2 ? 1e-19 * (i + 1) : 0.037 * (i - COUNT / 2 + 1); }

static void results(unary function, tnr_dtype dtype, int rounding, void *bits)
{
    const int64_t count = COUNT;
    double doubles[COUNT];
    float floats[COUNT];
    for (int i = 0; i < COUNT; i++) {
        doubles[i] = value(i);
        floats[i] = (float)value(i);
    }
    const uint64_t bytes = (uint64_t)COUNT * tnr_dtype_size(dtype);
    tnr_tensor *in = NULL;
    tnr_tensor *out = NULL;
    tnr_view a;
    const void *data = NULL;
    catalogue_ok(tnr_tensor_from_column_major(heap, dtype, 1, &count,
                                              dtype == TNR_F64 ? (const void *)doubles : (const void *)floats, bytes,
                                              &in),
                 "in");
    catalogue_ok(tnr_tensor_view(in, &a), "view");
    assert_int_equal(fesetround(rounding), 0);
    const tnr_status status = function(engine, &a, &out);
    const int after = fegetround();
    (void)fesetround(FE_TONEAREST);
    catalogue_ok(status, "function");
    assert_int_equal(after, rounding);
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    memcpy(bits, data, bytes);
    catalogue_ok(tnr_tensor_release(&in), "in");
    catalogue_ok(tnr_tensor_release(&out), "out");
}

static const int roundings[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static void functions_do_not_follow_the_callers_rounding(void **state)
{
    (void)state;
    static const unary functions[] = {tnr_exp, tnr_log, tnr_sin, tnr_cos, tnr_tanh, tnr_expm1, tnr_log1p, power};
    static const tnr_dtype dtypes[] = {TNR_F32, TNR_F64};
    static double expected[COUNT];
    static double found[COUNT];
    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
        for (size_t d = 0; d < 2; d++) {
            results(functions[f], dtypes[d], FE_TONEAREST, expected);
            for (size_t r = 0; r < 3; r++) {
                results(functions[f], dtypes[d], roundings[r], found);
                if (memcmp(expected, found, COUNT * tnr_dtype_size(dtypes[d])) != 0) {
                    fail_msg("function %d of %s follows rounding %d", (int)f, tnr_dtype_name(dtypes[d]), (int)r);
                }
            }
        }
    }
}

static void roots_follow_the_callers_rounding(void **state)
{
    (void)state;
    static double down[COUNT];
    static double up[COUNT];
    results(tnr_sqrt, TNR_F64, FE_DOWNWARD, down);
    results(tnr_sqrt, TNR_F64, FE_UPWARD, up);
    int apart = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_true(down[i] <= up[i]);
        apart += down[i] < up[i];
    }
    assert_true(apart > COUNT / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_do_not_follow_the_callers_rounding),
        cmocka_unit_test(roots_follow_the_callers_rounding),
    };
    return cmocka_run_group_tests_name("math functions and rounding", tests, set_up, tear_down);
}
