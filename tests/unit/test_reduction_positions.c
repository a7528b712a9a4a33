/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions of extremes: the first of equal elements, the first NaN, and each axis of a tensor. */
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

static void test_first_of_equal_elements(void **state)
{
    (void)state;
    static const int64_t lengths[] = {2, 16, 17, 40, 512, 513, 1024, 3000};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
        tnr_view a;
        void *data;
        tnr_tensor *x = zeros(TNR_F64, 1, &lengths[k], &a, &data);
        double *values = data;
        for (int64_t at = 0; at < lengths[k]; at += 1 + lengths[k] / 40) {
            const int64_t later = (at + lengths[k]) / 2;
            values[at] = 2.0;
            values[later] = 2.0;
            assert_int_equal(arg_of(tnr_argmax, &a), at);
            int64_t least = 0;
            while (least < lengths[k] && values[least] != 0.0) {
                ++least;
            }
            assert_int_equal(arg_of(tnr_argmin, &a), least < lengths[k] ? least : 0);
            tnr_view backwards;
            const tnr_range down = {0, TNR_END, -1};
            catalogue_ok(tnr_view_slice(&a, &down, &backwards), "slice");
            assert_int_equal(arg_of(tnr_argmax, &backwards), lengths[k] - 1 - later);
            values[at] = 0.0;
            values[later] = 0.0;
        }
        drop(x);
    }
}

static void test_positions_along_each_axis(void **state)
{
    (void)state;
    static const int64_t shape[3] = {37, 5, 70};
    tnr_view a;
    void *data;
    tnr_tensor *x = zeros(TNR_I64, 3, shape, &a, &data);
    int64_t *values = data;
    for (int64_t i = 0; i < 37 * 5 * 70; ++i) {
        values[i] = (i * 7919) % 1000;
    }
    const int64_t steps[3] = {1, 37, 37 * 5};
    for (int axis = 0; axis < 3; ++axis) {
        tnr_tensor *out = NULL;
        catalogue_ok(tnr_argmin(engine, &a, axis, &out), "argmin");
        const void *found;
        catalogue_ok(tnr_tensor_host_data(out, &found), "data");
        const int u = axis == 0 ? 1 : 0;
        const int v = axis == 2 ? 1 : 2;
        for (int64_t i = 0; i < shape[u]; ++i) {
            for (int64_t j = 0; j < shape[v]; ++j) {
                const int64_t *from = values + i * steps[u] + j * steps[v];
                int64_t best = 0;
                for (int64_t k = 1; k < shape[axis]; ++k) {
                    best = from[k * steps[axis]] < from[best * steps[axis]] ? k : best;
                }
                assert_int_equal(((const int64_t *)found)[i + j * shape[u]], best);
            }
        }
        drop(out);
    }
    drop(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_of_equal_elements),
        cmocka_unit_test(test_positions_along_each_axis),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
