/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products whose operands are read as they lie: single small ones, many of them, sums of elementwise products, and the result alone.
 *
 * Guarantees: pieces are whole items or runs, so no result depends on the number of lanes.
 */
#include "product_internal.h"

/* ---- Small products ---------------------------------------------------------------------------------------------------------- */

/* A product whose groups are one axis each, for every item of the batch. */
typedef struct items_work {
    const tnri_product_axes *batch;
    size_t element;
    tnri_gemm gemm; /* of the item whose offsets are 0 */
    void (*kernel)(const tnri_gemm *gemm);
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
    void (*kernel)(const tnri_gemm *gemm);
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

void tnri_product_run_items(tnr_engine *engine, const tnri_product *product)
{
    const tnri_product_axes *m = &product->m;
    const tnri_product_axes *n = &product->n;
    const tnri_product_axes *k = &product->k;
    const tnri_gemm gemm = {product->finish,
                            m->size,
                            n->size,
                            k->size,
                            product->a,
                            tnri_product_step(m, m->a),
                            tnri_product_step(k, k->a),
                            product->b,
                            tnri_product_step(k, k->b),
                            tnri_product_step(n, n->b),
                            product->c,
                            tnri_product_step(m, m->c),
                            tnri_product_step(n, n->c)};
    if (product->batch.size == 1 && product->lanes == 1) {
        product->items_kernel(&gemm);
    } else if (product->batch.size < product->lanes) { /* one after another */
        for (int64_t item = 0; item < product->batch.size; ++item) {
            int64_t in_a;
            int64_t in_b;
            int64_t in_c;
            tnri_product_offsets(&product->batch, product->batch.a, product->batch.b, item, 1, &in_a, &in_b);
            tnri_product_offsets(&product->batch, product->batch.c, product->batch.c, item, 1, &in_c, &in_c);
            tnri_gemm one = gemm;
            const int64_t element = (int64_t)tnr_dtype_size(product->dtype);
            one.a = (const char *)gemm.a + in_a * element;
            one.b = (const char *)gemm.b + in_b * element;
            one.c = (char *)gemm.c + in_c * element;
            run_one(engine, product, &one);
        }
    } else {
        items_work w = {.batch = &product->batch,
                        .element = tnr_dtype_size(product->dtype),
                        .gemm = gemm,
                        .kernel = product->items_kernel,
                        .pieces = product->lanes};
        tnri_engine_run(engine, product->lanes, product->lanes, multiply_items, &w);
    }
}

/* ---- Sums of elementwise products ---------------------------------------------------------------------------------------------- */

/* Runs along the first axis of the batch, for products of single elements: one run for each of the other indices. */
typedef struct runs_work {
    const tnri_product *product;
    const tnri_product_kernel *kernel;
    size_t element;
    tnri_product_axes outer; /* the batch but for its first axis */
    int64_t pieces;          /* the first axis is cut in so many, where there are no others; else the others are */
} runs_work;

static void zip_runs(void *context, int64_t piece)
{
    const runs_work *w = context;
    const tnri_product *product = w->product;
    const tnri_product_axes *batch = &product->batch;
    const tnri_product_axes *k = &product->k;
    int64_t first = 0;
    int64_t last = batch->rank > 0 ? batch->extents[0] : 1;
    int64_t begin = 0;
    int64_t end = 1;
    if (w->outer.size == 1) {
        tnri_product_part(last, 8, w->pieces, piece, &first, &last);
    } else {
        tnri_product_part(w->outer.size, 1, w->pieces, piece, &begin, &end);
    }
    const int64_t a_step = batch->rank > 0 ? batch->a[0] : 0;
    const int64_t b_step = batch->rank > 0 ? batch->b[0] : 0;
    const int64_t c_step = batch->rank > 0 ? batch->c[0] : 0;
    for (int64_t item = begin; item < end && first < last; ++item) {
        int64_t in_a;
        int64_t in_b;
        int64_t in_c;
        tnri_product_offsets(&w->outer, w->outer.a, w->outer.b, item, 1, &in_a, &in_b);
        tnri_product_offsets(&w->outer, w->outer.c, w->outer.c, item, 1, &in_c, &in_c);
        tnri_finish finish = product->finish;
        for (int64_t p = 0; p < k->size; ++p) {
            int64_t k_in_a;
            int64_t k_in_b;
            tnri_product_offsets(k, k->a, k->b, p, 1, &k_in_a, &k_in_b);
            w->kernel->zip(&finish, last - first,
                           (const char *)product->a + (in_a + k_in_a + first * a_step) * (int64_t)w->element, a_step,
                           (const char *)product->b + (in_b + k_in_b + first * b_step) * (int64_t)w->element, b_step,
                           (char *)product->c + (in_c + first * c_step) * (int64_t)w->element, c_step);
            tnri_product_add_next(&finish);
        }
    }
}

void tnri_product_run_zip(tnr_engine *engine, const tnri_product *product)
{
    runs_work w = {.product = product,
                   .kernel = product->kernel,
                   .element = tnr_dtype_size(product->dtype),
                   .outer = product->batch,
                   .pieces = product->lanes};
    if (w.outer.rank > 0) {
        w.outer.size /= w.outer.extents[0];
        --w.outer.rank;
    }
    for (int i = 0; i < w.outer.rank; ++i) {
        w.outer.extents[i] = w.outer.extents[i + 1];
        w.outer.a[i] = w.outer.a[i + 1];
        w.outer.b[i] = w.outer.b[i + 1];
        w.outer.c[i] = w.outer.c[i + 1];
    }
    tnri_engine_run(engine, product->lanes, product->lanes, zip_runs, &w);
}

/* ---- The result alone ------------------------------------------------------------------------------------------------------------ */

/* c = beta * c, without a look at a and b. */
void tnri_product_run_scale(const tnri_product *product)
{
    const size_t element = tnr_dtype_size(product->dtype);
    const tnri_product_axes *m = &product->m;
    const tnri_product_axes *n = &product->n;
    const tnri_product_axes *batch = &product->batch;
    const int64_t run = m->rank > 0 ? m->extents[0] : 1;
    for (int64_t item = 0; item < batch->size; ++item) {
        int64_t in_c;
        tnri_product_offsets(batch, batch->c, batch->c, item, 1, &in_c, &in_c);
        for (int64_t j = 0; j < n->size; ++j) {
            int64_t column;
            tnri_product_offsets(n, n->c, n->c, j, 1, &column, &column);
            for (int64_t i = 0; i < m->size; i += run) {
                int64_t row;
                tnri_product_offsets(m, m->c, m->c, i, 1, &row, &row);
                product->kernel->scale(&product->finish, run,
                                       (char *)product->c + (in_c + column + row) * (int64_t)element,
                                       tnri_product_step(m, m->c));
            }
        }
    }
}
