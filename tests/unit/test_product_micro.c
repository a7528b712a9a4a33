/* SPDX-License-Identifier: BSD-3-Clause */
/* How rows are cut in micro-panels: against the rule taken step by step, for tiles of all shapes, those that divide nothing too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/product_loops_internal.h"

/* Rows of the next one of `left`: a whole tile's; half where a vector or less would be left, in whole vectors. */
static int next_rows(const tnri_product_kernel *kernel, int64_t left)
{
    if (left <= kernel->mr) {
        return (int)left;
    }
    if (left > kernel->mr + kernel->step) {
        return kernel->mr;
    }
    const int half = ((int)left + 1) / 2;
    return (half + kernel->step - 1) / kernel->step * kernel->step;
}

static void cuts_are_those_of_the_rule(void **state)
{
    (void)state;
    for (int step = 1; step <= 16; step *= 2) {
        for (int mr = step; mr <= TNRI_PRODUCT_TILE; mr += step) {
            const tnri_product_kernel kernel = {.mr = mr, .step = step};
            for (int64_t rows = 1; rows < 5 * TNRI_PRODUCT_TILE; ++rows) {
                const int64_t count = tnri_micro_count(&kernel, rows);
                int64_t at = 0;
                for (int64_t number = 0; number < count; ++number) {
                    int here;
                    assert_int_equal(tnri_micro_at(&kernel, rows, number, &here), at);
                    assert_int_equal(here, next_rows(&kernel, rows - at));
                    at += here;
                }
                assert_int_equal(at, rows);
            }
        }
    }
}

/* No more than a tile has, none empty, none left out: also where a vector is longer than a tile or does not divide it. */
static void cuts_fit_any_tile(void **state)
{
    (void)state;
    for (int step = 1; step <= 16; ++step) {
        for (int mr = 1; mr <= TNRI_PRODUCT_TILE; ++mr) {
            const tnri_product_kernel kernel = {.mr = mr, .step = step};
            for (int64_t rows = 1; rows < 3 * TNRI_PRODUCT_TILE; ++rows) {
                int64_t at = 0;
                for (int64_t number = 0; number < tnri_micro_count(&kernel, rows); ++number) {
                    int here;
                    assert_int_equal(tnri_micro_at(&kernel, rows, number, &here), at);
                    assert_in_range(here, 1, mr);
                    at += here;
                }
                assert_int_equal(at, rows);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_are_those_of_the_rule),
        cmocka_unit_test(cuts_fit_any_tile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
