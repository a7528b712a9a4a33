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

/* A prepared product by so many lanes, whose pieces run one after another where the engine has no workers. */
static void run_on(tnri_product *product, int lanes, const matrix *a, const matrix *b, const matrix *c)
{
    product->lanes = lanes;
    product->a = product->turned ? b->data : a->data;
    product->b = product->turned ? a->data : b->data;
    product->c = c->data;
    switch (product->way) {
    case TNRI_PRODUCT_ITEMS:
        tnri_product_run_items(engine, product);
        break;
    case TNRI_PRODUCT_ZIP:
        tnri_product_run_zip(engine, product);
        break;
    case TNRI_PRODUCT_SCALE:
        tnri_product_run_scale(engine, product);
        break;
    default: {
        void *scratch;
        const uint64_t bytes = tnri_product_scratch(product, lanes);
        catalogue_ok(tnri_engine_scratch(engine, bytes, &scratch), "scratch");
        memset(scratch, 0xFF, (size_t)bytes);
        tnri_product_run_blocks(1, &engine, product, &scratch);
        break;
    }
    }
}

static void compute(tnr_dtype dtype, const int64_t *mnk, bool a_turned, bool b_turned, int lanes, const matrix *a,
                    const matrix *b, const matrix *c, tnri_product_way way, const tnr_product_options *options)
{
    tnri_product product = {.dtype = dtype};
    catalogue_ok(tnri_finish_take("lanes", options, dtype, true, &product.finish), "options");
    tnri_product_one(&product.m, mnk[0], a_turned ? mnk[2] : 1, 0, 1);
    tnri_product_one(&product.n, mnk[1], 0, b_turned ? 1 : mnk[2], mnk[0]);
    tnri_product_one(&product.k, mnk[2], a_turned ? 1 : mnk[0], b_turned ? mnk[1] : 1, 0);
    product.batch.size = 1;
    tnri_product_prepare(engine, &product);
    assert_int_equal(product.way, way);
    run_on(&product, lanes, a, b, c);
}

static void check_with(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned,
                       tnri_product_way way, const tnr_product_options *options)
{
    const int64_t mnk[3] = {m, n, k};
    const bool plain = options == NULL; /* what is there before does not matter, and is NaN */
    matrix a = matrix_of(dtype, 1, LIST(m * k), NULL);
    matrix b = matrix_of(dtype, 1, LIST(k * n), NULL);
    matrix one = matrix_of(dtype, 1, LIST(m * n), NULL);
    matrix many = matrix_of(dtype, 1, LIST(m * n), NULL);
    fill(dtype, &a, m * k, 1);
    fill(dtype, &b, k * n, 2);
    fill(dtype, &one, m * n, 3);
    compute(dtype, mnk, a_turned, b_turned, 1, &a, &b, &one, way, options);
    static const int lanes[] = {2, 3, 4, 7, 16};
    for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; ++i) {
        fill(dtype, &many, m * n, 3);
        if (plain) {
            memset(many.data, 0xFF, (size_t)(m * n) * tnr_dtype_size(dtype));
        }
        compute(dtype, mnk, a_turned, b_turned, lanes[i], &a, &b, &many, way, options);
        assert_memory_equal(many.data, one.data, (size_t)(m * n) * tnr_dtype_size(dtype));
    }
    drop(&a);
    drop(&b);
    drop(&one);
    drop(&many);
}

/* Plain, and with factors that round: what is multiplied and added must be so alike wherever an element is in a tile. */
static void check(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned, tnri_product_way way)
{
    tnr_product_options factors = TNR_PRODUCT_OPTIONS;
    factors.alpha = (tnr_scalar){0.3, -0.7};
    factors.beta = (tnr_scalar){0.7, 0.1};
    check_with(dtype, m, n, k, a_turned, b_turned, way, NULL);
    check_with(dtype, m, n, k, a_turned, b_turned, way, &factors);
    factors.beta = (tnr_scalar){1.0, 0.0};
    check_with(dtype, m, n, k, a_turned, b_turned, way, &factors);
    factors.alpha = (tnr_scalar){1.0, 0.0}; /* what is done twice shows here */
    check_with(dtype, m, n, k, a_turned, b_turned, way, &factors);
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
        for (int64_t rows = 3; rows < 20; rows += 4) { /* the last piece would be one row: less than a vector */
            const int64_t piece = 4 * (int64_t)engine->products->of[dtype].mr;
            check((tnr_dtype)dtype, rows * piece + 1, 7, 1, false, false, TNRI_PRODUCT_ITEMS);
        }
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
        for (int64_t rest = 1; rest < 13; rest += 3) { /* last tiles of every height */
            check((tnr_dtype)dtype, 192 + rest, 101, 260, true, false, TNRI_PRODUCT_BLOCKS);
        }
        check((tnr_dtype)dtype, 603, 1200, 60, true, false, TNRI_PRODUCT_BLOCKS); /* column by column */
    }
}

static tnri_product_axes axes_of(int rank, const int64_t *extents, const int64_t *a, const int64_t *b, const int64_t *c)
{
    tnri_product_axes axes = {.rank = rank, .size = 1};
    for (int i = 0; i < rank; ++i) {
        axes.extents[i] = extents[i];
        axes.size *= extents[i];
        axes.a[i] = a[i];
        axes.b[i] = b[i];
        axes.c[i] = c[i];
    }
    return axes;
}

static const tnri_product_axes one_index = {.rank = 0, .size = 1};

/* Each element is computed once: the same on any number of lanes. `elements` suffice for each operand. */
static void check_groups(const tnri_product *wanted, int64_t elements, tnri_product_way way, const double *alpha)
{
    matrix a = matrix_of(wanted->dtype, 1, LIST(elements), NULL);
    matrix b = matrix_of(wanted->dtype, 1, LIST(elements), NULL);
    matrix one = matrix_of(wanted->dtype, 1, LIST(elements), NULL);
    matrix many = matrix_of(wanted->dtype, 1, LIST(elements), NULL);
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    options.alpha.re = *alpha;
    options.beta = (tnr_scalar){0.7, 0.1};
    fill(wanted->dtype, &a, elements, 1);
    fill(wanted->dtype, &b, elements, 2);
    static const int lanes[] = {1, 2, 3, 5, 16};
    for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; ++i) {
        tnri_product product = *wanted;
        const matrix *out = i == 0 ? &one : &many;
        catalogue_ok(tnri_finish_take("lanes", &options, wanted->dtype, true, &product.finish), "options");
        fill(wanted->dtype, out, elements, 3);
        tnri_product_prepare(engine, &product);
        assert_int_equal(product.way, way);
        run_on(&product, lanes[i], &a, &b, out);
        assert_memory_equal(out->data, one.data, (size_t)elements * tnr_dtype_size(wanted->dtype));
    }
    fill(wanted->dtype, &many, elements, 3);
    assert_memory_not_equal(many.data, one.data, (size_t)elements * tnr_dtype_size(wanted->dtype));
    drop(&a);
    drop(&b);
    drop(&one);
    drop(&many);
}

static void several_axes_are_the_same(void **state)
{
    (void)state;
    static const double factor = 0.3;
    static const double nothing = 0.0;
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        tnri_product p = {.dtype = (tnr_dtype)dtype, .m = one_index, .n = one_index, .k = one_index};
        p.batch = axes_of(2, LIST(33, 7), LIST(1, 40), LIST(2, 70), LIST(1, 50));
        p.k = axes_of(1, LIST(300), LIST(300), LIST(500), LIST(0));
        check_groups(&p, 160000, TNRI_PRODUCT_ZIP, &factor);
        check_groups(&p, 160000, TNRI_PRODUCT_SCALE, &nothing);
        p.k = axes_of(1, LIST(300), LIST(1), LIST(1), LIST(0)); /* one dot after another */
        check_groups(&p, 160000, TNRI_PRODUCT_ITEMS, &factor);
        p.batch = one_index;
        p.m = axes_of(2, LIST(40, 9), LIST(1, 50), LIST(0, 0), LIST(1, 40)); /* a vector, by columns and by rows */
        p.k = axes_of(2, LIST(20, 5), LIST(500, 11000), LIST(1, 30), LIST(0, 0));
        check_groups(&p, 160000, TNRI_PRODUCT_ITEMS, &factor);
        p.m = axes_of(2, LIST(9, 4), LIST(200, 2000), LIST(0, 0), LIST(1, 40));
        p.k = axes_of(2, LIST(20, 5), LIST(1, 30), LIST(1, 30), LIST(0, 0));
        check_groups(&p, 160000, TNRI_PRODUCT_ITEMS, &factor);
        p.m = axes_of(2, LIST(40, 9), LIST(1, 50), LIST(0, 0), LIST(1, 80)); /* outer */
        p.n = axes_of(2, LIST(3, 11), LIST(0, 0), LIST(5, 40), LIST(1000, 3000));
        p.k = one_index;
        check_groups(&p, 160000, TNRI_PRODUCT_ITEMS, &factor);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_the_same),
        cmocka_unit_test(small_products_are_the_same),
        cmocka_unit_test(packed_products_are_the_same),
        cmocka_unit_test(several_axes_are_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
