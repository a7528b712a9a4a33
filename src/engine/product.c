/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Five loops around a register tile: those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
 * 34 (2008), as Van Zee and van de Geijn arranged them, "BLIS: a framework for rapidly instantiating BLAS functionality", ACM TOMS
 * 41 (2015), with operands packed straight from any layout by tables of offsets, as Matthews, "High-performance tensor contraction
 * without transposition", SIAM J. Sci. Comput. 40 (2018).
 *
 * Guarantees: an element's sum is made in the order of k, cut at kc, whatever the number of lanes and the way taken.
 */
#include "product_internal.h"

static const tnri_product_table *const tables[] = TNRI_ISA_TABLES(tnri_product_kernels);

const tnri_product_kernel *tnri_product_kernel_of(tnri_isa isa, tnr_dtype dtype) { return &tables[isa]->of[dtype]; }

/* ---- Offsets ----------------------------------------------------------------------------------------------------------------- */

/* Offsets of indices first..first+count-1 of a group, by each of two lists of steps. True in *unit: the first's are neighbours. */
static void table_offsets(const tnri_product_axes *axes, const int64_t *first_steps, const int64_t *second_steps,
                          int64_t first, int64_t count, int64_t *first_offsets, int64_t *second_offsets)
{
    int64_t index[TNRI_PRODUCT_RANK];
    int64_t rest = first;
    int64_t x = 0;
    int64_t y = 0;
    for (int i = 0; i < axes->rank; ++i) {
        index[i] = rest % axes->extents[i];
        rest /= axes->extents[i];
        x += index[i] * first_steps[i];
        y += index[i] * second_steps[i];
    }
    for (int64_t done = 0; done < count;) {
        /* a run along the first axis */
        const int64_t left = axes->rank > 0 ? axes->extents[0] - index[0] : 1;
        const int64_t run = left < count - done ? left : count - done;
        const int64_t dx = axes->rank > 0 ? first_steps[0] : 0;
        const int64_t dy = axes->rank > 0 ? second_steps[0] : 0;
        for (int64_t i = 0; i < run; ++i) {
            first_offsets[done + i] = x + i * dx;
            second_offsets[done + i] = y + i * dy;
        }
        done += run;
        if (done == count) {
            return;
        }
        x -= index[0] * dx; /* to the beginning of the next run */
        y -= index[0] * dy;
        index[0] = 0;
        for (int i = 1; i < axes->rank; ++i) {
            x += first_steps[i];
            y += second_steps[i];
            if (++index[i] < axes->extents[i]) {
                break;
            }
            x -= index[i] * first_steps[i];
            y -= index[i] * second_steps[i];
            index[i] = 0;
        }
    }
}

static bool neighbours(const int64_t *offsets, int64_t count)
{
    for (int64_t i = 1; i < count; ++i) {
        if (offsets[i] != offsets[i - 1] + 1) {
            return false;
        }
    }
    return true;
}

static bool regular(const int64_t *offsets, int64_t count, int64_t *step)
{
    *step = count > 1 ? offsets[1] - offsets[0] : 0;
    for (int64_t i = 2; i < count; ++i) {
        if (offsets[i] - offsets[i - 1] != *step) {
            return false;
        }
    }
    return true;
}

/* All whole slices have the same step. */
static bool slices_regular(const int64_t *offsets, int64_t count, int slice, int64_t *step)
{
    for (int64_t i = 0; i + slice <= count; i += slice) {
        int64_t own;
        if (!regular(offsets + i, slice, &own) || (i > 0 && own != *step)) {
            return false;
        }
        *step = own;
    }
    return count >= slice;
}

/* What comes of the next part of k is added to what is there. */
static void add_next(tnri_finish *finish)
{
    finish->add = finish->alpha.re == 1.0 && finish->alpha.im == 0.0;
    finish->plain = false;
    finish->overwrite = false;
    finish->beta = (tnr_c64){1.0, 0.0};
}

/* ---- One block of b and what is made with it --------------------------------------------------------------------------------- */

typedef struct block_work {
    const tnri_product *product;
    const tnri_product_kernel *kernel;
    const tnri_product_blocks *blocks;
    tnri_finish finish; /* of this part of k */
    size_t element;
    const char *a; /* of this batch */
    const char *b;
    char *c;
    char *packed_b;
    int64_t *n_in_b, *n_in_c, *k_in_a, *k_in_b;
    int64_t columns, depth; /* of this block */
    bool k_unit_a, k_unit_b, n_unit_b;
    bool direct_a;    /* slices of a whose rows are neighbours are not packed; then */
    int64_t a_column; /* the step along k */
    bool direct_b;    /* whole slices of b are not packed; then */
    int64_t b_row, b_column;
    char *lanes_room;  /* lane_bytes for each */
    int64_t row_parts; /* pieces are a grid: parts of the rows by parts of the columns */
    int64_t column_parts;
} block_work;

/* Part `part` of `count` cut into `parts` runs of whole units. */
static void part_of(int64_t count, int64_t unit, int64_t parts, int64_t part, int64_t *begin, int64_t *end)
{
    const int64_t units = (count + unit - 1) / unit;
    *begin = units * part / parts * unit;
    *end = units * (part + 1) / parts * unit;
    *end = *end < count ? *end : count;
}

static void pack_b(void *context, int64_t piece)
{
    const block_work *w = context;
    int64_t begin;
    int64_t end;
    part_of(w->columns, w->kernel->nr, w->row_parts * w->column_parts, piece, &begin, &end);
    if (w->direct_b) { /* all but what is no whole slice */
        begin = end - end % w->kernel->nr;
    }
    if (begin < end) {
        w->kernel->pack(w->packed_b + (size_t)(begin * w->depth) * w->element, w->b, w->n_in_b + begin, end - begin,
                        w->n_unit_b, w->k_in_b, w->depth, w->k_unit_b, w->kernel->nr);
    }
}

/* One tile: `a` is a packed slice, or, with `as_it_lies`, the slice's first element. */
static void one_tile(const block_work *w, const char *a, bool as_it_lies, int64_t j, tnri_tile *tile)
{
    const tnri_product_kernel *kernel = w->kernel;
    const int64_t left = w->columns - j;
    tile->n = left < kernel->nr ? (int)left : kernel->nr;
    tile->columns = w->n_in_c + j;
    const char *packed_b = w->packed_b + (size_t)(j * w->depth) * w->element;
    if (w->direct_b && tile->n == kernel->nr) {
        const char *b = w->b + (w->n_in_b[j] + w->k_in_b[0]) * (int64_t)w->element;
        kernel->tile_direct(w->depth, a, as_it_lies ? w->a_column : kernel->mr, b, w->b_row, w->b_column, tile,
                            &w->finish);
    } else if (as_it_lies) {
        kernel->tile_direct(w->depth, a, w->a_column, packed_b, kernel->nr, 1, tile, &w->finish);
    } else {
        kernel->tile(w->depth, a, packed_b, tile, &w->finish);
    }
}

/* A block of rows that is packed: the columns' slices one after another, each with all slices of rows. */
static void multiply_packed(const block_work *w, const char *packed_a, const int64_t *rows, const bool *unit,
                            int64_t count, int64_t begin, int64_t end)
{
    const int mr = w->kernel->mr;
    const size_t slice = (size_t)(mr * w->depth) * w->element;
    tnri_tile tile = {.c = w->c};
    for (int64_t j = begin; j < end; j += w->kernel->nr) {
        const char *a = packed_a;
        for (int64_t i = 0; i < count; i += mr, a += slice) {
            tile.rows = rows + i;
            tile.m = count - i < mr ? (int)(count - i) : mr;
            tile.unit = unit[i / mr];
            one_tile(w, a, false, j, &tile);
        }
    }
}

/* Rows of a as they lie: each slice of them with all columns, out of the first-level cache. */
static void multiply_direct(const block_work *w, char *packed_a, const int64_t *in_a, const int64_t *rows,
                            const bool *unit, int64_t count, int64_t begin, int64_t end)
{
    const tnri_product_kernel *kernel = w->kernel;
    tnri_tile tile = {.c = w->c};
    for (int64_t i = 0; i < count; i += kernel->mr) {
        tile.rows = rows + i;
        tile.m = count - i < kernel->mr ? (int)(count - i) : kernel->mr;
        tile.unit = unit[i / kernel->mr];
        const bool as_it_lies = tile.m == kernel->mr && neighbours(in_a + i, kernel->mr);
        const char *a = w->a + (in_a[i] + w->k_in_a[0]) * (int64_t)w->element;
        if (!as_it_lies) {
            kernel->pack(packed_a, w->a, in_a + i, tile.m, false, w->k_in_a, w->depth, w->k_unit_a, kernel->mr);
            a = packed_a;
        }
        for (int64_t j = begin; j < end; j += kernel->nr) {
            one_tile(w, a, as_it_lies, j, &tile);
        }
    }
}

static void multiply(void *context, int64_t piece)
{
    const block_work *w = context;
    const tnri_product_kernel *kernel = w->kernel;
    const tnri_product_axes *m = &w->product->m;
    const int64_t mc = w->blocks->mc;
    char *packed_a = w->lanes_room + (uint64_t)piece * w->blocks->lane_bytes;
    int64_t *in_a = (int64_t *)(void *)(packed_a + ((size_t)(mc * w->blocks->kc) * w->element + 63) / 64 * 64);
    int64_t *in_c = in_a + mc;
    bool *unit = (bool *)(void *)(in_c + mc);
    int64_t row_begin;
    int64_t row_end;
    int64_t begin;
    int64_t end;
    part_of(m->size, kernel->mr, w->row_parts, piece % w->row_parts, &row_begin, &row_end);
    part_of(w->columns, kernel->nr, w->column_parts, piece / w->row_parts, &begin, &end);
    if (begin >= end) {
        return;
    }
    for (int64_t first = row_begin; first < row_end; first += mc) {
        const int64_t count = row_end - first < mc ? row_end - first : mc;
        table_offsets(m, m->a, m->c, first, count, in_a, in_c);
        bool unit_a = true;
        for (int64_t i = 0; i < count; i += kernel->mr) {
            const int64_t live = count - i < kernel->mr ? count - i : kernel->mr;
            unit[i / kernel->mr] = neighbours(in_c + i, live);
            unit_a = unit_a && neighbours(in_a + i, live);
        }
        if (w->direct_a) {
            multiply_direct(w, packed_a, in_a, in_c, unit, count, begin, end);
        } else {
            kernel->pack(packed_a, w->a, in_a, count, unit_a, w->k_in_a, w->depth, w->k_unit_a, kernel->mr);
            multiply_packed(w, packed_a, in_c, unit, count, begin, end);
        }
    }
}

/* ---- All blocks ---------------------------------------------------------------------------------------------------------------- */

static void blocked(tnr_engine *engine, const tnri_product *product, const tnri_product_kernel *kernel,
                    const tnri_product_blocks *blocks, int lanes, char *scratch)
{
    const size_t element = tnr_dtype_size(product->dtype);
    block_work w = {.product = product, .kernel = kernel, .blocks = blocks, .element = element};
    w.packed_b = scratch;
    w.n_in_b = (int64_t *)(void *)(scratch + ((size_t)(blocks->kc * blocks->nc) * element + 63) / 64 * 64);
    w.n_in_c = w.n_in_b + blocks->nc;
    w.k_in_a = w.n_in_c + blocks->nc;
    w.k_in_b = w.k_in_a + blocks->kc;
    w.lanes_room = scratch + blocks->shared_bytes;

    /* Rows are shared out first: lanes then pack apart from each other. Few rows leave lanes for the columns. */
    const int64_t slices = (product->m.size + kernel->mr - 1) / kernel->mr;
    w.row_parts = lanes;
    while (w.row_parts > 1 && (w.row_parts > slices || lanes % w.row_parts != 0)) {
        --w.row_parts;
    }
    w.column_parts = lanes / w.row_parts;

    tnri_product_axes batch = product->batch;
    for (int64_t item = 0; item < batch.size; ++item) {
        int64_t in_a;
        int64_t in_b;
        int64_t in_c;
        table_offsets(&batch, batch.a, batch.b, item, 1, &in_a, &in_b);
        table_offsets(&batch, batch.c, batch.c, item, 1, &in_c, &in_c);
        w.a = (const char *)product->a + in_a * (int64_t)element;
        w.b = (const char *)product->b + in_b * (int64_t)element;
        w.c = (char *)product->c + in_c * (int64_t)element;
        for (int64_t j = 0; j < product->n.size; j += blocks->nc) {
            w.columns = product->n.size - j < blocks->nc ? product->n.size - j : blocks->nc;
            table_offsets(&product->n, product->n.b, product->n.c, j, w.columns, w.n_in_b, w.n_in_c);
            w.n_unit_b = true;
            for (int64_t i = 0; i < w.columns && w.n_unit_b; i += kernel->nr) {
                w.n_unit_b = neighbours(w.n_in_b + i, w.columns - i < kernel->nr ? w.columns - i : kernel->nr);
            }
            const bool n_regular = slices_regular(w.n_in_b, w.columns, kernel->nr, &w.b_column);
            w.finish = product->finish;
            for (int64_t p = 0; p < product->k.size; p += blocks->kc) {
                w.depth = product->k.size - p < blocks->kc ? product->k.size - p : blocks->kc;
                table_offsets(&product->k, product->k.a, product->k.b, p, w.depth, w.k_in_a, w.k_in_b);
                w.k_unit_a = neighbours(w.k_in_a, w.depth);
                w.k_unit_b = neighbours(w.k_in_b, w.depth);
                w.direct_a =
                    w.columns <= 8 * (int64_t)kernel->nr && !w.k_unit_a && regular(w.k_in_a, w.depth, &w.a_column);
                w.direct_b =
                    n_regular && product->m.size <= 8 * (int64_t)kernel->mr && regular(w.k_in_b, w.depth, &w.b_row);
                tnri_engine_run(engine, lanes, lanes, pack_b, &w);
                tnri_engine_run(engine, lanes, lanes, multiply, &w);
                add_next(&w.finish);
            }
        }
    }
}

/* ---- Several items ------------------------------------------------------------------------------------------------------------- */

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
    part_of(w->batch->size, 1, w->pieces, piece, &begin, &end);
    tnri_gemm gemm = w->gemm;
    int64_t in_a[ITEMS_AT_ONCE];
    int64_t in_b[ITEMS_AT_ONCE];
    int64_t in_c[ITEMS_AT_ONCE];
    for (int64_t item = begin; item < end; item += ITEMS_AT_ONCE) {
        const int64_t count = end - item < ITEMS_AT_ONCE ? end - item : ITEMS_AT_ONCE;
        table_offsets(w->batch, w->batch->a, w->batch->b, item, count, in_a, in_b);
        table_offsets(w->batch, w->batch->c, w->batch->c, item, count, in_c, in_c);
        for (int64_t i = 0; i < count; ++i) {
            gemm.a = (const char *)w->gemm.a + in_a[i] * (int64_t)w->element;
            gemm.b = (const char *)w->gemm.b + in_b[i] * (int64_t)w->element;
            gemm.c = (char *)w->gemm.c + in_c[i] * (int64_t)w->element;
            w->kernel(&gemm);
        }
    }
}

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
        part_of(last, 8, w->pieces, piece, &first, &last);
    } else {
        part_of(w->outer.size, 1, w->pieces, piece, &begin, &end);
    }
    const int64_t a_step = batch->rank > 0 ? batch->a[0] : 0;
    const int64_t b_step = batch->rank > 0 ? batch->b[0] : 0;
    const int64_t c_step = batch->rank > 0 ? batch->c[0] : 0;
    for (int64_t item = begin; item < end && first < last; ++item) {
        int64_t in_a;
        int64_t in_b;
        int64_t in_c;
        table_offsets(&w->outer, w->outer.a, w->outer.b, item, 1, &in_a, &in_b);
        table_offsets(&w->outer, w->outer.c, w->outer.c, item, 1, &in_c, &in_c);
        tnri_finish finish = product->finish;
        for (int64_t p = 0; p < k->size; ++p) {
            int64_t k_in_a;
            int64_t k_in_b;
            table_offsets(k, k->a, k->b, p, 1, &k_in_a, &k_in_b);
            w->kernel->zip(&finish, last - first,
                           (const char *)product->a + (in_a + k_in_a + first * a_step) * (int64_t)w->element, a_step,
                           (const char *)product->b + (in_b + k_in_b + first * b_step) * (int64_t)w->element, b_step,
                           (char *)product->c + (in_c + first * c_step) * (int64_t)w->element, c_step);
            add_next(&finish);
        }
    }
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
    const void *const a = product->a;
    product->a = product->b;
    product->b = a;
    const bool conjugate_a = product->finish.conjugate_a;
    product->finish.conjugate_a = product->finish.conjugate_b;
    product->finish.conjugate_b = conjugate_a;
    exchange(&product->m, &product->n);
    exchange(&product->k, &product->k);
    exchange(&product->batch, &product->batch);
}

static int64_t step_of(const tnri_product_axes *axes, const int64_t *steps) { return axes->rank == 0 ? 0 : steps[0]; }

/* Most multiplications that are done in vectors without packing. */
#define SMALL_WORK (INT64_C(96) * 96 * 96)

/* The kernel that makes such a product without packing, or NULL. */
static void (*kernel_of(const tnri_product *product, const tnri_product_kernel *kernel))(const tnri_gemm *)
{
    const tnri_product_axes *m = &product->m;
    if (m->rank > 1 || product->n.rank > 1 || product->k.rank > 1) {
        return NULL;
    }
    const int64_t work = tnri_product_work(m->size, product->n.size, product->k.size);
    if (work <= SMALL_WORK && m->size >= kernel->step && step_of(m, m->a) == 1 && step_of(m, m->c) == 1) {
        return kernel->small;
    }
    return work <= TNRI_PRODUCT_TINY ? kernel->tiny : NULL;
}

/* c = beta * c, without a look at a and b. */
static void scale(const tnri_product *product, const tnri_product_kernel *kernel)
{
    const size_t element = tnr_dtype_size(product->dtype);
    const tnri_product_axes *m = &product->m;
    const tnri_product_axes *n = &product->n;
    const tnri_product_axes *batch = &product->batch;
    const int64_t run = m->rank > 0 ? m->extents[0] : 1;
    for (int64_t item = 0; item < batch->size; ++item) {
        int64_t in_c;
        table_offsets(batch, batch->c, batch->c, item, 1, &in_c, &in_c);
        for (int64_t j = 0; j < n->size; ++j) {
            int64_t column;
            table_offsets(n, n->c, n->c, j, 1, &column, &column);
            for (int64_t i = 0; i < m->size; i += run) {
                int64_t row;
                table_offsets(m, m->c, m->c, i, 1, &row, &row);
                kernel->scale(&product->finish, run, (char *)product->c + (in_c + column + row) * (int64_t)element,
                              step_of(m, m->c));
            }
        }
    }
}

tnr_status tnri_product_run(tnr_engine *engine, tnri_product *product)
{
    const tnri_product_kernel *kernel = tnri_product_kernel_of(engine->isa, product->dtype);
    const size_t element = tnr_dtype_size(product->dtype);
    if (product->k.size == 0 || (product->finish.alpha.re == 0.0 && product->finish.alpha.im == 0.0)) {
        scale(product, kernel);
        return TNR_OK;
    }
    /* Results are written in vectors of rows. */
    const tnri_product_axes *m = &product->m;
    const tnri_product_axes *n = &product->n;
    const tnri_product_axes *k = &product->k;
    if (step_of(m, m->c) != 1 && step_of(n, n->c) == 1) {
        turn(product);
    }
    const double parts = tnr_dtype_real(product->dtype) != product->dtype ? 8.0 : 2.0;
    const double work =
        parts * (double)m->size * (double)n->size * (double)k->size * (double)product->batch.size / 30.0;
    const int lanes = tnri_engine_lanes(engine, work < 1e15 ? (uint64_t)work : UINT64_C(1000000000000000));
    if (product->batch.size > 1 && m->size == 1 && n->size == 1) {
        runs_work w = {.product = product, .kernel = kernel, .element = element, .pieces = lanes};
        w.outer = product->batch;
        w.outer.size /= w.outer.extents[0];
        --w.outer.rank;
        for (int i = 0; i < w.outer.rank; ++i) {
            w.outer.extents[i] = w.outer.extents[i + 1];
            w.outer.a[i] = w.outer.a[i + 1];
            w.outer.b[i] = w.outer.b[i + 1];
            w.outer.c[i] = w.outer.c[i + 1];
        }
        tnri_engine_run(engine, lanes, lanes, zip_runs, &w);
        return TNR_OK;
    }
    items_work items = {.batch = &product->batch, .element = element, .kernel = kernel_of(product, kernel)};
    if (items.kernel != NULL) {
        items.gemm =
            (tnri_gemm){product->finish,  m->size,          n->size,         k->size,          product->a,
                        step_of(m, m->a), step_of(k, k->a), product->b,      step_of(k, k->b), step_of(n, n->b),
                        product->c,       step_of(m, m->c), step_of(n, n->c)};
        if (product->batch.size == 1) {
            items.kernel(&items.gemm);
        } else {
            items.pieces = lanes;
            tnri_engine_run(engine, lanes, lanes, multiply_items, &items);
        }
        return TNR_OK;
    }
    const tnri_product_blocks blocks = tnri_product_choose_blocks(kernel, product->dtype, m->size, n->size, k->size);
    void *scratch;
    TNR_TRY(tnri_engine_scratch(engine, tnri_product_bytes(kernel, product->dtype, m->size, n->size, k->size, lanes),
                                &scratch));
    blocked(engine, product, kernel, &blocks, lanes, scratch);
    return TNR_OK;
}
