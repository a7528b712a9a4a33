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

/* ---- Offsets ----------------------------------------------------------------------------------------------------------------- */

/* Offsets of indices first..first+count-1 of a group, by each of two lists of steps. True in *unit: the first's are neighbours. */
static void table_offsets(const tnri_product_axes *axes, const int64_t *first_steps, const int64_t *second_steps,
                          int64_t first, int64_t count, int64_t *first_offsets, int64_t *second_offsets)
{
    int64_t index[TNR_MAX_RANK];
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
    int64_t a_step;         /* k is regular in a: its step */
    bool k_regular;
    bool k_unit_a, k_unit_b, n_unit_b;
    bool direct;       /* rows of a that are neighbours are not packed */
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
    if (begin < end) {
        w->kernel->pack(w->packed_b + (size_t)(begin * w->depth) * w->element, w->b, w->n_in_b + begin, end - begin,
                        w->n_unit_b, w->k_in_b, w->depth, w->k_unit_b, w->kernel->nr);
    }
}

/* A block of rows that is packed: the columns' slices one after another, each with all slices of rows. */
static void multiply_packed(const block_work *w, const char *packed_a, const int64_t *rows, const bool *unit, int64_t count,
                            int64_t begin, int64_t end)
{
    const tnri_product_kernel *kernel = w->kernel;
    const size_t slice_a = (size_t)(kernel->mr * w->depth) * w->element;
    const size_t slice_b = (size_t)w->depth * w->element;
    for (int64_t j = begin; j < end; j += kernel->nr) {
        const char *b = w->packed_b + (size_t)j * slice_b;
        const char *a = packed_a;
        tnri_tile tile = {w->c, rows, w->n_in_c + j, 0, end - j < kernel->nr ? (int)(end - j) : kernel->nr, false};
        for (int64_t i = 0; i < count; i += kernel->mr, a += slice_a) {
            tile.rows = rows + i;
            tile.m = count - i < kernel->mr ? (int)(count - i) : kernel->mr;
            tile.unit = unit[i / kernel->mr];
            kernel->tile(w->depth, a, b, &tile, &w->finish);
        }
    }
}

/* Rows of a as they lie: each slice of them with all columns, out of the first-level cache. */
static void multiply_direct(const block_work *w, char *packed_a, const int64_t *in_a, const int64_t *rows, const bool *unit,
                            int64_t count, int64_t begin, int64_t end)
{
    const tnri_product_kernel *kernel = w->kernel;
    const size_t slice_b = (size_t)w->depth * w->element;
    for (int64_t i = 0; i < count; i += kernel->mr) {
        tnri_tile tile = {w->c, rows + i, NULL, count - i < kernel->mr ? (int)(count - i) : kernel->mr, kernel->nr,
                          unit[i / kernel->mr]};
        const bool whole = tile.m == kernel->mr && neighbours(in_a + i, kernel->mr);
        if (!whole) {
            kernel->pack(packed_a, w->a, in_a + i, tile.m, false, w->k_in_a, w->depth, w->k_unit_a, kernel->mr);
        }
        const char *a = w->a + (in_a[i] + w->k_in_a[0]) * (int64_t)w->element;
        for (int64_t j = begin; j < end; j += kernel->nr) {
            const char *b = w->packed_b + (size_t)j * slice_b;
            tile.columns = w->n_in_c + j;
            tile.n = end - j < kernel->nr ? (int)(end - j) : kernel->nr;
            if (whole) {
                kernel->tile_direct(w->depth, a, w->a_step, b, &tile, &w->finish);
            } else {
                kernel->tile(w->depth, packed_a, b, &tile, &w->finish);
            }
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
        if (w->direct) {
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
        int64_t unused;
        table_offsets(&batch, batch.a, batch.b, item, 1, &in_a, &in_b);
        table_offsets(&batch, batch.c, batch.c, item, 1, &in_c, &unused);
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
            w.finish = product->finish;
            for (int64_t p = 0; p < product->k.size; p += blocks->kc) {
                w.depth = product->k.size - p < blocks->kc ? product->k.size - p : blocks->kc;
                table_offsets(&product->k, product->k.a, product->k.b, p, w.depth, w.k_in_a, w.k_in_b);
                w.k_regular = regular(w.k_in_a, w.depth, &w.a_step);
                w.k_unit_a = neighbours(w.k_in_a, w.depth);
                w.k_unit_b = neighbours(w.k_in_b, w.depth);
                w.direct = w.k_regular && !w.k_unit_a && w.columns <= 8 * (int64_t)kernel->nr;
                tnri_engine_run(engine, lanes, lanes, pack_b, &w);
                tnri_engine_run(engine, lanes, lanes, multiply, &w);
                w.finish.plain = false; /* the next part is added */
                w.finish.overwrite = false;
                w.finish.beta = (tnr_c64){1.0, 0.0};
            }
        }
    }
}

/* ---- Choice -------------------------------------------------------------------------------------------------------------------- */

/* a and b change places, as the rows and columns of the result do. */
static void turn(tnri_product *product)
{
    const void *const a = product->a;
    product->a = product->b;
    product->b = a;
    const tnri_product_axes m = product->m;
    product->m = product->n;
    product->n = m;
    const bool conjugate_a = product->finish.conjugate_a;
    product->finish.conjugate_a = product->finish.conjugate_b;
    product->finish.conjugate_b = conjugate_a;
    tnri_product_axes *const groups[] = {&product->m, &product->n, &product->k, &product->batch};
    for (int g = 0; g < 4; ++g) {
        for (int i = 0; i < groups[g]->rank; ++i) {
            const int64_t step = groups[g]->a[i];
            groups[g]->a[i] = groups[g]->b[i];
            groups[g]->b[i] = step;
        }
    }
}

static int64_t step_of(const tnri_product_axes *axes, const int64_t *steps) { return axes->rank == 0 ? 0 : steps[0]; }

/* No packing: few enough multiplications, or so few columns that a would be packed for nothing. */
#define SMALL_WORK (INT64_C(96) * 96 * 96)
#define SMALL_COLUMNS 4

static bool is_small(const tnri_product *product, const tnri_product_kernel *kernel)
{
    const tnri_product_axes *m = &product->m;
    const tnri_product_axes *n = &product->n;
    const tnri_product_axes *k = &product->k;
    if (m->rank > 1 || n->rank > 1 || k->rank > 1 || product->batch.rank > 0) {
        return false;
    }
    const int64_t work = tnri_gemm_work(m->size, n->size, k->size);
    return step_of(m, m->a) == 1 && step_of(m, m->c) == 1 && m->size >= kernel->mr && work <= SMALL_WORK;
}

uint64_t tnri_product_bytes(const tnr_engine *engine, tnr_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    (void)engine;
    (void)dtype;
    (void)m;
    (void)n;
    (void)k;
    return 0;
}

tnr_status tnri_product_run(tnr_engine *engine, tnri_product *product)
{
    const tnri_product_kernel *kernel = &tables[engine->isa]->of[product->dtype];
    /* Results are written in vectors of rows. */
    if (step_of(&product->m, product->m.c) != 1 && step_of(&product->n, product->n.c) == 1) {
        turn(product);
    }
    if (is_small(product, kernel)) {
        const tnri_small small = {
            product->m.size,
            product->n.size,
            product->k.size,
            product->a,
            step_of(&product->k, product->k.a),
            product->b,
            step_of(&product->k, product->k.b),
            step_of(&product->n, product->n.b),
            product->c,
            step_of(&product->n, product->n.c),
        };
        kernel->small(&small, &product->finish);
        return TNR_OK;
    }
    const double parts = tnr_dtype_real(product->dtype) != product->dtype ? 8.0 : 2.0;
    const double work = parts * (double)product->m.size * (double)product->n.size * (double)product->k.size *
                        (double)product->batch.size / 30.0;
    const int lanes = tnri_engine_lanes(engine, work < 1e15 ? (uint64_t)work : UINT64_C(1000000000000000));
    const tnri_product_blocks blocks =
        tnri_product_choose_blocks(kernel, product->dtype, product->m.size, product->n.size, product->k.size,
                                   engine->l2_bytes, engine->l3_bytes);
    void *scratch;
    TNR_TRY(tnri_engine_scratch(engine, blocks.shared_bytes + (uint64_t)lanes * blocks.lane_bytes, &scratch));
    blocked(engine, product, kernel, &blocks, lanes, scratch);
    return TNR_OK;
}
