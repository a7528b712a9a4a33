/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of elementwise products: every element of the result is one sum over k, and neither operand is used for a second one. Runs go along
 * the first axis of the batch.
 *
 * Guarantees: an element's sum is made in the order of k, cut at DEPTH, whatever the number of lanes.
 */
#include "product_internal.h"

#define DEPTH 256 /* of k whose offsets are tabled */

typedef struct zip_work {
    const tnri_product *product;
    size_t element;
    tnri_product_axes outer; /* the batch but for its first axis */
    int64_t pieces;          /* the first axis is cut in so many, where there are no others; else the others are */
} zip_work;

/* Elements of a run along the first axis, and where they are. */
typedef struct zip_run {
    int64_t count;
    const char *a;
    const char *b;
    char *c;
    int64_t a_step, b_step, c_step;
} zip_run;

static void sum_run(const zip_work *w, const zip_run *run)
{
    const tnri_product_axes *k = &w->product->k;
    const tnri_product_kernel *kernel = w->product->kernel;
    tnri_finish finish = w->product->finish;
    int64_t k_in_a[DEPTH];
    int64_t k_in_b[DEPTH];
    for (int64_t p = 0; p < k->size; p += DEPTH) {
        const int64_t depth = k->size - p < DEPTH ? k->size - p : DEPTH;
        tnri_product_offsets(k, k->a, k->b, p, depth, k_in_a, k_in_b);
        kernel->zip(&finish, run->count, depth, run->a, run->a_step, k_in_a, run->b, run->b_step, k_in_b, run->c,
                    run->c_step);
        tnri_product_add_next(&finish);
    }
}

static void sum_runs(void *context, int64_t piece)
{
    const zip_work *w = context;
    const tnri_product *product = w->product;
    const tnri_product_axes *batch = &product->batch;
    const int64_t element = (int64_t)w->element;
    int64_t first = 0;
    int64_t last = batch->rank > 0 ? batch->extents[0] : 1;
    int64_t begin = 0;
    int64_t end = 1;
    if (w->outer.size == 1) {
        tnri_product_part(last, 8, w->pieces, piece, &first, &last);
    } else {
        tnri_product_part(w->outer.size, 1, w->pieces, piece, &begin, &end);
    }
    zip_run run = {.count = last - first,
                   .a_step = tnri_product_step(batch, batch->a),
                   .b_step = tnri_product_step(batch, batch->b),
                   .c_step = tnri_product_step(batch, batch->c)};
    for (int64_t item = begin; item < end && run.count > 0; ++item) {
        int64_t in_a;
        int64_t in_b;
        int64_t in_c;
        tnri_product_offsets(&w->outer, w->outer.a, w->outer.b, item, 1, &in_a, &in_b);
        tnri_product_offsets(&w->outer, w->outer.c, w->outer.c, item, 1, &in_c, &in_c);
        run.a = (const char *)product->a + (in_a + first * run.a_step) * element;
        run.b = (const char *)product->b + (in_b + first * run.b_step) * element;
        run.c = (char *)product->c + (in_c + first * run.c_step) * element;
        sum_run(w, &run);
    }
}

void tnri_product_run_zip(tnr_engine *engine, const tnri_product *product)
{
    zip_work w = {.product = product,
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
    tnri_engine_run(engine, product->lanes, product->lanes, sum_runs, &w);
}
