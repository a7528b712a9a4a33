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

/* The kernel's argument for the item that the walk is at. */
static void go_to(tnri_gemm *gemm, const tnri_gemm *first, const tnri_product_place *at, size_t element)
{
    gemm->a = (const char *)first->a + at->a * (int64_t)element;
    gemm->b = (const char *)first->b + at->b * (int64_t)element;
    gemm->c = (char *)first->c + at->c * (int64_t)element;
}

static void multiply_items(void *context, int64_t piece)
{
    const items_work *w = context;
    int64_t begin;
    int64_t end;
    tnri_product_part(w->batch->size, 1, w->pieces, piece, &begin, &end);
    tnri_gemm gemm = w->gemm;
    tnri_product_place at;
    tnri_product_place_at(w->batch, begin, &at);
    for (int64_t item = begin; item < end; ++item) {
        go_to(&gemm, &w->gemm, &at, w->element);
        w->kernel(&gemm);
        (void)tnri_product_step_on(w->batch, &at);
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
    if (!w.by_columns && w.pieces > gemm->m / w.unit) {      /* no piece has fewer rows than a vector (`outer`) */
        w.pieces = gemm->m < w.unit ? 1 : gemm->m / w.unit;
    }
    tnri_engine_run(engine, product->lanes, w.pieces, multiply_part, &w);
}

/* One after another, for few of them. */
static void run_singly(tnr_engine *engine, const tnri_product *product, const tnri_gemm *gemm)
{
    tnri_product_place at = {.a = 0};
    do {
        tnri_gemm one = *gemm;
        go_to(&one, gemm, &at, tnr_dtype_size(product->dtype));
        run_one(engine, product, &one);
    } while (tnri_product_step_on(&product->batch, &at));
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
        tnri_product_place at;
        tnri_product_place_at(k, p, &at);
        gemm.a = (const char *)product->a + at.a * element;
        gemm.b = (const char *)product->b + at.b * element;
        tnri_product_add_next(&gemm.finish);
        run_gemm(engine, product, &gemm);
    }
}
