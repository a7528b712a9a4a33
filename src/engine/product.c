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
    if (parts == 1) { /* without divisions */
        *begin = 0;
        *end = count;
        return;
    }
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

/* Results are written in vectors of rows; a single vector is a column. */
static bool is_better_turned(int64_t m, int64_t n, int64_t c_row, int64_t c_column)
{
    return m == 1 || n == 1 ? m == 1 && n != 1 : c_row != 1 && c_column == 1;
}

/* A vector is taken for one from so many multiplications on. */
#define VECTOR_FROM 16

/*
 * Small products read a again for every few columns, out of a second-level cache, and b once. Where b's neighbours are not along k they
 * must be near, too.
 */
static inline bool is_small(const tnri_product_kernel *kernel, tnr_dtype dtype, const tnri_gemm *g)
{
    const int64_t near = TNRI_PRODUCT_NEAR >> tnri_dtype_shift[dtype];
    return g->m >= kernel->few && g->c_row == 1 && tnri_product_work(g->m, 1, g->k) <= near &&
           (g->b_row == 1 || tnri_product_work(1, g->n, g->k) <= near);
}

/* Multiplications from which on it pays to gather a. */
#define GATHERED_FROM 100

/* And columns that use it. */
#define GATHERED_FOR 3

static bool is_gathered(tnr_dtype dtype, const tnri_gemm *g, int64_t work)
{
    return work >= GATHERED_FROM && g->n >= GATHERED_FOR && g->m <= TNRI_GATHERED_EXTENT &&
           g->k <= TNRI_GATHERED_EXTENT && g->m * g->k <= TNRI_GATHERED_BYTES >> tnri_dtype_shift[dtype];
}

/* The kernel that makes such a product, of so much work, in place, or NULL. Steps along extents of 1 are 0. */
static inline tnri_gemm_kernel in_place_kernel(const tnri_product_kernel *kernel, tnr_dtype dtype, const tnri_gemm *g,
                                               int64_t work)
{
    if (g->n == 1 && work > VECTOR_FROM) {
        return g->a_row == 1 ? kernel->by_columns : kernel->by_rows;
    }
    if (g->k == 1 && g->m >= kernel->step && g->a_row == 1 && g->c_row == 1) {
        return kernel->outer;
    }
    if (is_small(kernel, dtype, g)) {
        if (g->a_row == 1) {
            return kernel->small;
        }
        if (is_gathered(dtype, g, work)) {
            return kernel->gathered;
        }
    }
    return work <= TNRI_PRODUCT_TINY ? kernel->tiny : NULL;
}

/* The same for a product, whose groups must be one axis each; a vector's k may have several. */
static tnri_gemm_kernel items_kernel(const tnri_product *product)
{
    if (product->m.rank > 1 || product->n.rank > 1 || (product->k.rank > 1 && product->n.size > 1)) {
        return NULL;
    }
    tnri_gemm gemm = tnri_product_gemm(product);
    gemm.k = product->k.size;
    return in_place_kernel(product->kernel, product->dtype, &gemm, tnri_product_work(gemm.m, gemm.n, gemm.k));
}

/* Additions and multiplications in a nanosecond: about what a core does that has vectors of 256 bits. */
static double speed_of(tnr_dtype dtype)
{
    const tnr_dtype real = tnr_dtype_real(dtype);
    return real == TNR_F32 ? 80.0 : 40.0;
}

#define BYTES_PER_NS 20.0 /* that one core writes */

static uint64_t as_nanoseconds(double work) { return work < 1e15 ? (uint64_t)work : UINT64_C(1000000000000000); }

static int lanes_of(const tnr_engine *engine, const tnri_product *product)
{
    const double elements = (double)product->m.size * (double)product->n.size * (double)product->batch.size;
    if (product->way == TNRI_PRODUCT_SCALE) {
        return tnri_engine_lanes(engine,
                                 as_nanoseconds(elements * (double)tnr_dtype_size(product->dtype) / BYTES_PER_NS));
    }
    const double parts = tnri_is_complex(product->dtype) ? 8.0 : 2.0;
    return tnri_engine_lanes(engine,
                             as_nanoseconds(parts * elements * (double)product->k.size / speed_of(product->dtype)));
}

/* Operands are read in place that are along their first axis at least so long. */
#define RUN_FROM 16
#define COLUMNS_FROM 4 /* that are added to a column of the result at once */

/* Sums of elementwise products, each along neighbours in memory: one dot after another. */
static bool is_many_dots(const tnri_product *product)
{
    const tnri_product_axes *k = &product->k;
    return tnri_product_step(k, k->a) == 1 && tnri_product_step(k, k->b) == 1 && k->extents[0] >= RUN_FROM;
}

/*
 * Vectors, and outer products, whose axes are several: every element of the larger operand, or of the result, is used once, so packing
 * would cost more than the product. They are made run by run.
 */
static bool is_many_runs(const tnri_product *product)
{
    const tnri_product_axes *m = &product->m;
    const tnri_product_axes *n = &product->n;
    const tnri_product_axes *k = &product->k;
    if (m->rank < 2 && n->rank < 2 && k->rank < 2) {
        return false;
    }
    if (n->size == 1) {
        const bool along_m = tnri_product_step(m, m->a) == 1 && m->extents[0] >= RUN_FROM &&
                             (k->rank < 2 || k->extents[0] >= COLUMNS_FROM);
        const bool along_k = tnri_product_step(k, k->a) == 1 && k->extents[0] >= RUN_FROM;
        return along_m || along_k;
    }
    return k->size == 1 && tnri_product_step(m, m->a) == 1 && tnri_product_step(m, m->c) == 1 &&
           m->extents[0] >= RUN_FROM;
}

/* All axes but the first become the batch's. */
static void outer_axes_to_batch(tnri_product_axes *axes, tnri_product_axes *batch)
{
    for (int i = 1; i < axes->rank; ++i) {
        const int at = batch->rank++;
        batch->extents[at] = axes->extents[i];
        batch->a[at] = axes->a[i];
        batch->b[at] = axes->b[i];
        batch->c[at] = axes->c[i];
        batch->size *= axes->extents[i];
        axes->size /= axes->extents[i];
    }
    axes->rank = axes->rank > 1 ? 1 : axes->rank;
}

void tnri_product_prepare(const tnr_engine *engine, tnri_product *product)
{
    product->turned = false;
    product->across = false;
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
    if (product->k.size == 0 || product->finish.nothing) {
        product->way = TNRI_PRODUCT_SCALE;
        return;
    }
    if (is_better_turned(product->m.size, product->n.size, tnri_product_step(&product->m, product->m.c),
                         tnri_product_step(&product->n, product->n.c))) {
        turn(product);
    }
    if (product->batch.size > 1 && product->m.size == 1 && product->n.size == 1 && !is_many_dots(product)) {
        product->way = TNRI_PRODUCT_ZIP;
        return;
    }
    if (is_many_runs(product)) {
        outer_axes_to_batch(&product->m, &product->batch);
        outer_axes_to_batch(&product->n, &product->batch);
    }
    product->items_kernel = items_kernel(product);
    if (product->items_kernel != NULL) {
        product->way = TNRI_PRODUCT_ITEMS;
        return;
    }
    product->way = TNRI_PRODUCT_BLOCKS;
    product->blocks =
        tnri_product_choose_blocks(product->kernel, product->dtype, product->m.size, product->n.size, product->k.size);
    tnri_product_order(product);
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
    if (product->way >= TNRI_PRODUCT_SCALE) {
        product->lanes = lanes_of(engine, product); /* now: who is awake and where the caller is changes */
    }
    switch (product->way) {
    case TNRI_PRODUCT_NOTHING:
        break;
    case TNRI_PRODUCT_SCALE:
        tnri_product_run_scale(engine, product);
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

/* Too little for several lanes, whatever the dtype. */
#define AT_ONCE 32768

bool tnri_product_run_at_once(const tnr_engine *engine, tnr_dtype dtype, const tnri_gemm *gemm)
{
    if (tnri_is_device(engine)) {
        return false;
    }
    const tnri_product_kernel *kernel = &engine->products->of[dtype];
    const uint64_t extents[3] = {(uint64_t)gemm->m - 1, (uint64_t)gemm->n - 1, (uint64_t)gemm->k - 1};
    if (extents[0] >= AT_ONCE || extents[1] >= AT_ONCE || extents[2] >= AT_ONCE || gemm->finish.nothing) {
        return false;
    }
    const int64_t work = gemm->m * gemm->n * gemm->k;
    if (work > AT_ONCE) {
        return false;
    }
    tnri_gemm turned;
    if (is_better_turned(gemm->m, gemm->n, gemm->c_row, gemm->c_column)) {
        turned =
            (tnri_gemm){gemm->finish, gemm->n,        gemm->m,     gemm->k, gemm->b,        gemm->b_column, gemm->b_row,
                        gemm->a,      gemm->a_column, gemm->a_row, gemm->c, gemm->c_column, gemm->c_row};
        turned.finish.conjugate_a = gemm->finish.conjugate_b;
        turned.finish.conjugate_b = gemm->finish.conjugate_a;
        gemm = &turned;
    }
    const tnri_gemm_kernel run = in_place_kernel(kernel, dtype, gemm, work);
    if (run != NULL) {
        run(gemm);
    }
    return run != NULL;
}
