/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way a product goes, and the going: the choice looks at groups of axes alone, so that it can be made once for many runs.
 *
 * Guarantees: the way depends on dtype, extents, steps and alpha, never on the number of lanes; nothing is written before the last
 * thing that can fail.
 */
#include "product_internal.h"
#include "team_internal.h"

/* ---- Shared by the ways ---------------------------------------------------------------------------------------------------------- */

void tnri_product_part(int64_t count, int64_t unit, int64_t parts, int64_t part, int64_t *begin, int64_t *end)
{
    const int64_t units = (count + unit - 1) / unit;
    *begin = units * part / parts * unit;
    *end = units * (part + 1) / parts * unit;
    *end = *end < count ? *end : count;
}

void tnri_product_add_next(tnri_finish *finish)
{
    finish->add = finish->alpha.re == 1.0 && finish->alpha.im == 0.0;
    finish->plain = false;
    finish->overwrite = false;
    finish->keep = true;
    finish->beta = (tnr_c64){1.0, 0.0};
}

/* ---- Choice -------------------------------------------------------------------------------------------------------------------- */

static void exchange_steps(int64_t *x, int64_t *y)
{
    const int64_t step = *x;
    *x = *y;
    *y = step;
}

/* Two groups change places, or are one and the same, and what was a step in a is one in b. */
static void exchange(tnri_product_axes *x, tnri_product_axes *y)
{
    const int rank = x->rank > y->rank ? x->rank : y->rank;
    for (int i = 0; i < rank; ++i) {
        exchange_steps(&x->a[i], &y->b[i]);
        if (x != y) {
            exchange_steps(&x->b[i], &y->a[i]);
            exchange_steps(&x->c[i], &y->c[i]);
            exchange_steps(&x->extents[i], &y->extents[i]);
        }
    }
    exchange_steps(&x->size, &y->size);
    const int other = x->rank;
    x->rank = y->rank;
    y->rank = other;
}

/* a and b change places, as the rows and columns of the result do. */
static void turn(tnri_product *product)
{
    const bool conjugate_a = product->finish.conjugate_a;
    product->finish.conjugate_a = product->finish.conjugate_b;
    product->finish.conjugate_b = conjugate_a;
    exchange(&product->m, &product->n);
    exchange(&product->k, &product->k);
    exchange(&product->batch, &product->batch);
    product->turned = true;
}

/* A vector is taken for one from so many multiplications on. */
#define VECTOR_FROM 16

/*
 * Small products read a again for every few columns, out of a second-level cache, and b once. Where b's neighbours are not along k they
 * must be near, too.
 */
static bool is_small(const tnri_product *product)
{
    const tnri_product_axes *m = &product->m;
    const int64_t near = TNRI_PRODUCT_NEAR / (int64_t)tnr_dtype_size(product->dtype);
    const int64_t k = product->k.size;
    return m->size >= product->kernel->step && tnri_product_step(m, m->a) == 1 && tnri_product_step(m, m->c) == 1 &&
           tnri_product_work(m->size, 1, k) <= near &&
           (tnri_product_step(&product->k, product->k.b) == 1 || tnri_product_work(1, product->n.size, k) <= near);
}

/* The kernel that makes such a product without packing, or NULL. */
static void (*items_kernel(const tnri_product *product))(const tnri_gemm *)
{
    const tnri_product_kernel *kernel = product->kernel;
    const tnri_product_axes *m = &product->m;
    if (m->rank > 1 || product->n.rank > 1 || product->k.rank > 1) {
        return NULL;
    }
    const int64_t work = tnri_product_work(m->size, product->n.size, product->k.size);
    const bool unit_a = tnri_product_step(m, m->a) == 1;
    if (product->n.size == 1 && work > VECTOR_FROM) {
        return unit_a ? kernel->by_columns : kernel->by_rows;
    }
    if (product->k.size == 1 && m->size >= kernel->step && unit_a && tnri_product_step(m, m->c) == 1) {
        return kernel->outer;
    }
    if (is_small(product)) {
        return kernel->small;
    }
    return work <= TNRI_PRODUCT_TINY ? kernel->tiny : NULL;
}

/* Additions and multiplications in a nanosecond: about what a core does that has vectors of 256 bits. */
static double speed_of(tnr_dtype dtype)
{
    const tnr_dtype real = tnr_dtype_real(dtype);
    return real == TNR_F32 ? 80.0 : 40.0;
}

static int lanes_of(const tnr_engine *engine, const tnri_product *product)
{
    const double parts = tnr_dtype_real(product->dtype) != product->dtype ? 8.0 : 2.0;
    const double work = parts * (double)product->m.size * (double)product->n.size * (double)product->k.size *
                        (double)product->batch.size / speed_of(product->dtype);
    return tnri_engine_lanes(engine, work < 1e15 ? (uint64_t)work : UINT64_C(1000000000000000));
}

void tnri_product_prepare(const tnr_engine *engine, tnri_product *product)
{
    product->turned = false;
    if (tnri_is_device(engine)) { /* which chooses when it runs */
        product->kernel = NULL;
        product->way = TNRI_PRODUCT_NOTHING;
        return;
    }
    product->kernel = &engine->products->of[product->dtype];
    if (product->m.size == 0 || product->n.size == 0 || product->batch.size == 0) {
        product->way = TNRI_PRODUCT_NOTHING;
        return;
    }
    if (product->k.size == 0 || (product->finish.alpha.re == 0.0 && product->finish.alpha.im == 0.0)) {
        product->way = TNRI_PRODUCT_SCALE;
        return;
    }
    /* Results are written in vectors of rows; a single vector is a column. */
    const bool vector = product->m.size == 1 || product->n.size == 1;
    if (vector
            ? product->m.size == 1 && product->n.size != 1
            : tnri_product_step(&product->m, product->m.c) != 1 && tnri_product_step(&product->n, product->n.c) == 1) {
        turn(product);
    }
    if (product->batch.size > 1 && product->m.size == 1 && product->n.size == 1) {
        product->way = TNRI_PRODUCT_ZIP;
        return;
    }
    product->items_kernel = items_kernel(product);
    if (product->items_kernel != NULL) {
        product->way = TNRI_PRODUCT_ITEMS;
        return;
    }
    product->way = TNRI_PRODUCT_BLOCKS;
    product->blocks =
        tnri_product_choose_blocks(product->kernel, product->dtype, product->m.size, product->n.size, product->k.size);
}

void tnri_product_choose_part(const tnr_engine *engine, tnri_product *part)
{
    part->blocks = tnri_product_choose_blocks(part->kernel, part->dtype, part->m.size, part->n.size, part->k.size);
    part->lanes = lanes_of(engine, part);
}

uint64_t tnri_product_scratch(const tnri_product *product, int lanes)
{
    return product->way != TNRI_PRODUCT_BLOCKS
               ? 0
               : tnri_product_bytes(product->dtype, product->m.size, product->n.size, product->k.size, lanes);
}

/* ---- The going ------------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_product_run(tnr_engine *engine, tnri_product *product, const void *a, const void *b, void *c)
{
    if (tnri_is_device(engine)) {
        return tnri_product_run_on_device(engine, product, a, b, c);
    }
    product->a = product->turned ? b : a;
    product->b = product->turned ? a : b;
    product->c = c;
    if (product->way >= TNRI_PRODUCT_ZIP) {
        product->lanes = lanes_of(engine, product); /* now: who is awake and where the caller is changes */
    }
    switch (product->way) {
    case TNRI_PRODUCT_NOTHING:
        break;
    case TNRI_PRODUCT_SCALE:
        tnri_product_run_scale(product);
        break;
    case TNRI_PRODUCT_ZIP:
        tnri_product_run_zip(engine, product);
        break;
    case TNRI_PRODUCT_ITEMS:
        tnri_product_run_items(engine, product);
        break;
    case TNRI_PRODUCT_BLOCKS: {
        void *scratch;
        /* for all lanes, so that what was enough once is enough whoever is awake */
        TNR_TRY(tnri_engine_scratch(engine, tnri_product_scratch(product, tnri_engine_most_lanes(engine)), &scratch));
        tnri_product_run_blocks(1, &engine, product, &scratch);
        break;
    }
    }
    return TNR_OK;
}
