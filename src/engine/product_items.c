/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products whose operands are read in place: single small ones and vectors, and many of them. Where a summed index has several axes, one
 * run along the first of them after another is added to the result.
 *
 * Guarantees: pieces are whole items or runs, so no result depends on the number of lanes.
 */
#include "product_internal.h"

/* A product whose groups are one axis each, for every item of the batch. */
typedef struct items_work {
    const tnri_product_axes *batch;
    size_t element;
    tnri_gemm gemm; /* of the item whose offsets are 0 */
    tnri_gemm_kernel kernel;
    int64_t pieces;
} items_work;

#define ITEMS_AT_ONCE 64

static void multiply_items(void *context, int64_t piece)
{
    const items_work *w = context;
    int64_t begin;
    int64_t end;
    tnri_product_part(w->batch->size, 1, w->pieces, piece, &begin, &end);
    tnri_gemm gemm = w->gemm;
    int64_t in_a[ITEMS_AT_ONCE];
    int64_t in_b[ITEMS_AT_ONCE];
    int64_t in_c[ITEMS_AT_ONCE];
    for (int64_t item = begin; item < end; item += ITEMS_AT_ONCE) {
        const int64_t count = end - item < ITEMS_AT_ONCE ? end - item : ITEMS_AT_ONCE;
        tnri_product_offsets(w->batch, w->batch->a, w->batch->b, item, count, in_a, in_b);
        tnri_product_offsets(w->batch, w->batch->c, w->batch->c, item, count, in_c, in_c);
        for (int64_t i = 0; i < count; ++i) {
            gemm.a = (const char *)w->gemm.a + in_a[i] * (int64_t)w->element;
            gemm.b = (const char *)w->gemm.b + in_b[i] * (int64_t)w->element;
            gemm.c = (char *)w->gemm.c + in_c[i] * (int64_t)w->element;
            w->kernel(&gemm);
        }
    }
}

/* One product, cut across its columns, or its rows: no element's sum is. */
typedef struct one_work {
    size_t element;
    tnri_gemm gemm;
    tnri_gemm_kernel kernel;
    bool by_columns;
    int64_t unit;
    int64_t pieces;
} one_work;

static void multiply_part(void *context, int64_t piece)
{
    const one_work *w = context;
    tnri_gemm gemm = w->gemm;
    int64_t begin;
    int64_t end;
    tnri_product_part(w->by_columns ? gemm.n : gemm.m, w->unit, w->pieces, piece, &begin, &end);
    if (begin >= end) {
        return;
    }
    if (w->by_columns) {
        gemm.b = (const char *)gemm.b + begin * gemm.b_column * (int64_t)w->element;
        gemm.c = (char *)gemm.c + begin * gemm.c_column * (int64_t)w->element;
        gemm.n = end - begin;
    } else {
        gemm.a = (const char *)gemm.a + begin * gemm.a_row * (int64_t)w->element;
        gemm.c = (char *)gemm.c + begin * gemm.c_row * (int64_t)w->element;
        gemm.m = end - begin;
    }
    w->kernel(&gemm);
}

static void run_one(tnr_engine *engine, const tnri_product *product, const tnri_gemm *gemm)
{
    const tnri_product_kernel *kernel = product->kernel;
    one_work w = {.element = tnr_dtype_size(product->dtype),
                  .gemm = *gemm,
                  .kernel = product->items_kernel,
                  .by_columns = gemm->n >= 2 * (int64_t)kernel->nr * product->lanes,
                  .pieces = product->lanes};
    w.unit =
        w.by_columns ? kernel->nr : 4 * (int64_t)kernel->mr; /* a multiple of what is made at once, for equal sums */
    tnri_engine_run(engine, product->lanes, product->lanes, multiply_part, &w);
}

/* One after another, for few of them. */
static void run_singly(tnr_engine *engine, const tnri_product *product, const tnri_gemm *gemm)
{
    const tnri_product_axes *batch = &product->batch;
    const int64_t element = (int64_t)tnr_dtype_size(product->dtype);
    for (int64_t item = 0; item < batch->size; ++item) {
        int64_t in_a;
        int64_t in_b;
        int64_t in_c;
        tnri_product_offsets(batch, batch->a, batch->b, item, 1, &in_a, &in_b);
        tnri_product_offsets(batch, batch->c, batch->c, item, 1, &in_c, &in_c);
        tnri_gemm one = *gemm;
        one.a = (const char *)gemm->a + in_a * element;
        one.b = (const char *)gemm->b + in_b * element;
        one.c = (char *)gemm->c + in_c * element;
        run_one(engine, product, &one);
    }
}

static void run_gemm(tnr_engine *engine, const tnri_product *product, const tnri_gemm *gemm)
{
    if (product->batch.size == 1 && product->lanes == 1) {
        product->items_kernel(gemm);
    } else if (product->batch.size < product->lanes) {
        run_singly(engine, product, gemm);
    } else {
        items_work w = {.batch = &product->batch,
                        .element = tnr_dtype_size(product->dtype),
                        .gemm = *gemm,
                        .kernel = product->items_kernel,
                        .pieces = product->lanes};
        tnri_engine_run(engine, product->lanes, product->lanes, multiply_items, &w);
    }
}

tnri_gemm tnri_product_gemm(const tnri_product *product)
{
    const tnri_product_axes *m = &product->m;
    const tnri_product_axes *n = &product->n;
    const tnri_product_axes *k = &product->k;
    return (tnri_gemm){product->finish,
                       m->size,
                       n->size,
                       k->rank > 1 ? k->extents[0] : k->size,
                       product->a,
                       tnri_product_step(m, m->a),
                       tnri_product_step(k, k->a),
                       product->b,
                       tnri_product_step(k, k->b),
                       tnri_product_step(n, n->b),
                       product->c,
                       tnri_product_step(m, m->c),
                       tnri_product_step(n, n->c)};
}

void tnri_product_run_items(tnr_engine *engine, const tnri_product *product)
{
    const tnri_product_axes *k = &product->k;
    tnri_gemm gemm = tnri_product_gemm(product);
    run_gemm(engine, product, &gemm);
    const int64_t element = (int64_t)tnr_dtype_size(product->dtype);
    for (int64_t p = gemm.k; p < k->size; p += gemm.k) {
        int64_t in_a;
        int64_t in_b;
        tnri_product_offsets(k, k->a, k->b, p, 1, &in_a, &in_b);
        gemm.a = (const char *)product->a + in_a * element;
        gemm.b = (const char *)product->b + in_b * element;
        tnri_product_add_next(&gemm.finish);
        run_gemm(engine, product, &gemm);
    }
}
