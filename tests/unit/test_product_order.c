/* SPDX-License-Identifier: BSD-3-Clause */
/* In which order the axes of a summed group are taken (product_order.c), by which operand is the larger and by its neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/product_internal.h"

static const tnri_product_kernel kernel = {.mr = 8, .nr = 4, .step = 4, .depth = 256};

/* An m x n product summed over axes of these extents and steps, in order. */
static tnri_product_axes ordered(int64_t m, int64_t n, int rank, const int64_t *extents, const int64_t *a,
                                 const int64_t *b)
{
    tnri_product product = {.dtype = TNR_F64, .kernel = &kernel};
    tnri_product_one(&product.m, m, 100000, 0, 1);
    tnri_product_one(&product.n, n, 0, 100000, m);
    product.batch.size = 1;
    product.k.rank = rank;
    product.k.size = 1;
    for (int i = 0; i < rank; ++i) {
        product.k.extents[i] = extents[i];
        product.k.size *= extents[i];
        product.k.a[i] = a[i];
        product.k.b[i] = b[i];
    }
    product.blocks = tnri_product_choose_blocks(&kernel, TNR_F64, m, n, product.k.size);
    tnri_product_order(&product);
    return product.k;
}

static void assert_axis(const tnri_product_axes *k, int at, int64_t extent, int64_t a, int64_t b)
{
    assert_true(at < k->rank);
    assert_int_equal(k->extents[at], extent);
    assert_int_equal(k->a[at], a);
    assert_int_equal(k->b[at], b);
}

/* Neighbours in a along the third axis, in b along the second. */
static tnri_product_axes three(int64_t m, int64_t n, int64_t in_b, int64_t in_a)
{
    return ordered(m, n, 3, (const int64_t[]){3, in_b, in_a}, (const int64_t[]){in_a * in_b, in_a, 1},
                   (const int64_t[]){in_b, 1, 3 * in_b});
}

static void a_run_of_the_larger_comes_first(void **state)
{
    (void)state;
    const tnri_product_axes k = three(100, 60, 20, 36); /* 12 divides 36 */
    assert_int_equal(k.rank, 4);
    assert_axis(&k, 0, 12, 1, 60);
    assert_axis(&k, 1, 20, 36, 1);
    assert_axis(&k, 2, 3, 12, 720);
    assert_axis(&k, 3, 3, 720, 20);
}

static void an_axis_may_be_the_run(void **state)
{
    (void)state;
    for (int64_t run = 4; run <= 16; run += 4) {
        const tnri_product_axes of_a = three(100, 60, 20, run);
        assert_int_equal(of_a.rank, 3);
        assert_axis(&of_a, 0, run, 1, 60);
        assert_axis(&of_a, 1, 20, run, 1);
        assert_axis(&of_a, 2, 3, 20 * run, 20);
        const tnri_product_axes of_b = three(60, 100, run, 20);
        assert_int_equal(of_b.rank, 3);
        assert_axis(&of_b, 0, run, 20, 1);
        assert_axis(&of_b, 1, 20, 1, 3 * run);
        assert_axis(&of_b, 2, 3, 20 * run, run);
    }
}

static void the_columns_go_first_among_equals(void **state)
{
    (void)state;
    const tnri_product_axes k = three(60, 60, 8, 8);
    assert_axis(&k, 0, 8, 8, 1);
    assert_axis(&k, 1, 8, 1, 24);
}

/* Without a divisor; beside a small operand; where the other has no neighbours along k, or along the same axis. */
static void the_axis_comes_whole(void **state)
{
    (void)state;
    const tnri_product_axes odd = three(100, 60, 20, 35);
    assert_int_equal(odd.rank, 3);
    assert_axis(&odd, 0, 35, 1, 60);
    assert_axis(&odd, 1, 3, 700, 20);
    assert_axis(&odd, 2, 20, 35, 1);
    const tnri_product_axes large = three(100, 50, 20, 36);
    assert_int_equal(large.rank, 3);
    assert_axis(&large, 0, 36, 1, 60);
    assert_axis(&large, 2, 20, 36, 1);
    const tnri_product_axes other = three(50, 100, 20, 36);
    assert_int_equal(other.rank, 3);
    assert_axis(&other, 0, 20, 36, 1);
    const int64_t extents[] = {3, 20, 36};
    const int64_t apart[] = {1440, 72, 2};
    const int64_t last[] = {720, 36, 1};
    const tnri_product_axes alone = ordered(60, 100, 3, extents, last, apart);
    assert_int_equal(alone.rank, 3);
    assert_axis(&alone, 0, 36, 1, 2);
    const tnri_product_axes same = ordered(60, 100, 3, extents, last, last);
    assert_int_equal(same.rank, 3);
    assert_axis(&same, 0, 36, 1, 1);
    const tnri_product_axes none = ordered(60, 100, 3, extents, apart, apart);
    assert_int_equal(none.rank, 3);
    assert_axis(&none, 0, 3, 1440, 1440);
}

/* There is no room for one more. */
static void no_axis_is_cut_where_there_are_most(void **state)
{
    (void)state;
    int64_t extents[TNRI_PRODUCT_RANK];
    int64_t a[TNRI_PRODUCT_RANK];
    int64_t b[TNRI_PRODUCT_RANK];
    for (int i = 0; i < TNRI_PRODUCT_RANK; ++i) {
        extents[i] = i == 0 ? 2 : 1;
        a[i] = INT64_C(1000) + i;
        b[i] = INT64_C(1000) + i;
    }
    extents[TNRI_PRODUCT_RANK - 1] = 36;
    a[TNRI_PRODUCT_RANK - 1] = 1;
    b[0] = 1;
    const tnri_product_axes k = ordered(100, 60, TNRI_PRODUCT_RANK, extents, a, b);
    assert_int_equal(k.rank, TNRI_PRODUCT_RANK);
    assert_axis(&k, 0, 36, 1, 1000 + TNRI_PRODUCT_RANK - 1);
    assert_axis(&k, 1, 2, 1000, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_the_larger_comes_first),     cmocka_unit_test(an_axis_may_be_the_run),
        cmocka_unit_test(the_columns_go_first_among_equals),   cmocka_unit_test(the_axis_comes_whole),
        cmocka_unit_test(no_axis_is_cut_where_there_are_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
