/* SPDX-License-Identifier: BSD-3-Clause */
/* Products that read neither operand: c = beta * c, lanes sharing the elements out. */
#include "product_internal.h"

typedef struct scale_work {
    const tnri_product *product;
    int64_t run; /* elements along the first axis of m */
    int64_t runs;
    int64_t pieces;
} scale_work;

/* Where a run begins. */
static int64_t offset_of(const tnri_product *product, int64_t first)
{
    const tnri_product_axes *const groups[3] = {&product->m, &product->n, &product->batch};
    int64_t offset = 0;
    for (int i = 0; i < 3; ++i) {
        tnri_product_place at;
        tnri_product_place_at(groups[i], first % groups[i]->size, &at);
        offset += at.c;
        first /= groups[i]->size;
    }
    return offset;
}

static void scale_part(void *context, int64_t piece)
{
    const scale_work *w = context;
    const tnri_product *product = w->product;
    const int64_t step = tnri_product_step(&product->m, product->m.c);
    int64_t at;
    int64_t end;
    tnri_product_part(w->run * w->runs, 8, w->pieces, piece, &at, &end);
    while (at < end) {
        const int64_t left = w->run - at % w->run;
        const int64_t count = left < end - at ? left : end - at;
        const int64_t offset = offset_of(product, at);
        product->kernel->scale(&product->finish, count,
                               (char *)product->c + offset * (int64_t)tnr_dtype_size(product->dtype), step);
        at += count;
    }
}

void tnri_product_run_scale(tnr_engine *engine, const tnri_product *product)
{
    const tnri_product_axes *m = &product->m;
    scale_work w = {.product = product, .run = m->rank > 0 ? m->extents[0] : 1, .pieces = product->lanes};
    w.runs = m->size / w.run * product->n.size * product->batch.size;
    if (!product->finish.keep) {
        tnri_engine_run(engine, product->lanes, product->lanes, scale_part, &w);
    }
}
