/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each way of making a product, on one lane and on several: the same bits. The number of lanes is set here, for an engine uses them by
 * what its workers do at the moment.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/product_internal.h"
#include "support/matrix.h"

static void fill(tnr_dtype dtype, const matrix *m, int64_t elements, unsigned seed)
{
    const int64_t parts = elements * (tnr_dtype_real(dtype) != dtype ? 2 : 1);
    for (int64_t i = 0; i < parts; ++i) {
        seed = seed * 1664525U + 1013904223U;
        const double value = (double)(seed >> 8) / 16777216.0 - 0.5; /* sums round */
        if (tnr_dtype_real(dtype) == TNR_F32) {
            ((float *)m->data)[i] = (float)value;
        } else {
            ((double *)m->data)[i] = value;
        }
    }
}

/* c by so many lanes, whose pieces run one after another where the engine has no workers. */
static void compute(tnr_dtype dtype, const int64_t *mnk, bool a_turned, bool b_turned, int lanes, const matrix *a,
                    const matrix *b, const matrix *c, tnri_product_way way)
{
    tnri_product product = {.dtype = dtype, .finish = {.plain = true, .overwrite = true, .alpha = {1.0, 0.0}}};
    tnri_product_one(&product.m, mnk[0], a_turned ? mnk[2] : 1, 0, 1);
    tnri_product_one(&product.n, mnk[1], 0, b_turned ? 1 : mnk[2], mnk[0]);
    tnri_product_one(&product.k, mnk[2], a_turned ? 1 : mnk[0], b_turned ? mnk[1] : 1, 0);
    product.batch.size = 1;
    tnri_product_prepare(engine, &product);
    assert_int_equal(product.way, way);
    product.lanes = lanes;
    product.a = product.turned ? b->data : a->data;
    product.b = product.turned ? a->data : b->data;
    product.c = c->data;
    if (way == TNRI_PRODUCT_ITEMS) {
        tnri_product_run_items(engine, &product);
    } else {
        void *scratch;
        const uint64_t bytes = tnri_product_scratch(&product, lanes);
        catalogue_ok(tnri_engine_scratch(engine, bytes, &scratch), "scratch");
        memset(scratch, 0xFF, (size_t)bytes);
        tnri_product_run_blocks(1, &engine, &product, &scratch);
    }
}

static void check(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned, tnri_product_way way)
{
    const int64_t mnk[3] = {m, n, k};
    matrix a = matrix_of(dtype, 1, LIST(m * k), NULL);
    matrix b = matrix_of(dtype, 1, LIST(k * n), NULL);
    matrix one = matrix_of(dtype, 1, LIST(m * n), NULL);
    matrix many = matrix_of(dtype, 1, LIST(m * n), NULL);
    fill(dtype, &a, m * k, 1);
    fill(dtype, &b, k * n, 2);
    compute(dtype, mnk, a_turned, b_turned, 1, &a, &b, &one, way);
    static const int lanes[] = {2, 3, 4, 7, 16};
    for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; ++i) {
        memset(many.data, 0xFF, (size_t)(m * n) * tnr_dtype_size(dtype));
        compute(dtype, mnk, a_turned, b_turned, lanes[i], &a, &b, &many, way);
        assert_memory_equal(many.data, one.data, (size_t)(m * n) * tnr_dtype_size(dtype));
    }
    drop(&a);
    drop(&b);
    drop(&one);
    drop(&many);
}

static void vectors_are_the_same(void **state)
{
    (void)state;
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        check((tnr_dtype)dtype, 3001, 1, 37, false, false, TNRI_PRODUCT_ITEMS);
        check((tnr_dtype)dtype, 303, 1, 205, true, false, TNRI_PRODUCT_ITEMS);
        check((tnr_dtype)dtype, 1, 303, 205, false, false, TNRI_PRODUCT_ITEMS);
        check((tnr_dtype)dtype, 1, 1, 1999, false, false, TNRI_PRODUCT_ITEMS);
        check((tnr_dtype)dtype, 333, 77, 1, false, false, TNRI_PRODUCT_ITEMS);
    }
}

static void small_products_are_the_same(void **state)
{
    (void)state;
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        check((tnr_dtype)dtype, 83, 90, 70, false, false, TNRI_PRODUCT_ITEMS);
        check((tnr_dtype)dtype, 241, 3, 60, false, true, TNRI_PRODUCT_ITEMS);
    }
}

static void packed_products_are_the_same(void **state)
{
    (void)state;
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        check((tnr_dtype)dtype, 1501, 13, 290, false, false, TNRI_PRODUCT_BLOCKS); /* rows as they lie */
        check((tnr_dtype)dtype, 190, 70, 515, true, false, TNRI_PRODUCT_BLOCKS);
        check((tnr_dtype)dtype, 205, 333, 270, true, true, TNRI_PRODUCT_BLOCKS);
        check((tnr_dtype)dtype, 30, 700, 600, true, false, TNRI_PRODUCT_BLOCKS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_the_same),
        cmocka_unit_test(small_products_are_the_same),
        cmocka_unit_test(packed_products_are_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
