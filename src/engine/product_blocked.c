/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Five loops around a register tile: those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
 * 34 (2008), as Van Zee and van de Geijn arranged them, "BLIS: a framework for rapidly instantiating BLAS functionality", ACM TOMS
 * 41 (2015), with operands packed straight from any layout by tables of offsets, as Matthews, "High-performance tensor contraction
 * without transposition", SIAM J. Sci. Comput. 40 (2018).
 *
 * Tiles are longer than wide, so the innermost loop goes along the columns: a slice of rows stays in the first-level cache, and a
 * block of columns, in the second, is read once for each of them, which asks least of that cache. Two arrangements:
 *
 *   narrow: all columns are one such block, which all lanes share; rows are shared out, and a slice of them is packed, if at all,
 *           right before its use
 *   wide:   a panel of rows is packed for all lanes, and each lane has blocks of columns of its own
 *
 * Guarantees: an element's sum is made in the order of k, cut at kc, whatever the number of lanes.
 */
#include "product_internal.h"
#include "team_internal.h"

/* ---- What tables of offsets tell ------------------------------------------------------------------------------------------------- */

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

/* ---- Slices of rows -------------------------------------------------------------------------------------------------------------- */

/* Rows of the next slice of `left`: a whole tile's, but what would leave less than a vector or just that is cut in two halves. */
static int slice_rows(const tnri_product_kernel *kernel, int64_t left)
{
    if (left <= kernel->mr) {
        return (int)left;
    }
    if (left > kernel->mr + kernel->step) {
        return kernel->mr;
    }
    const int half = ((int)left + 1) / 2;
    return (half + kernel->step - 1) / kernel->step * kernel->step;
}

/* Within each slice they are neighbours. */
static bool slices_unit(const int64_t *offsets, int64_t count, int slice)
{
    for (int64_t i = 0; i < count; i += slice) {
        if (!neighbours(offsets + i, count - i < slice ? count - i : slice)) {
            return false;
        }
    }
    return true;
}

/* Slices of a whole tile's rows, before one or two others. */
static int64_t whole_slices(const tnri_product_kernel *kernel, int64_t rows)
{
    const int64_t whole = rows / kernel->mr;
    return whole > 0 && slice_rows(kernel, rows - (whole - 1) * kernel->mr) != kernel->mr ? whole - 1 : whole;
}

/* ---- Work ------------------------------------------------------------------------------------------------------------------------ */

/* Columns of one block, with b's for this part of k: packed, or as they lie. */
typedef struct column_block {
    const int64_t *in_b, *in_c;
    int64_t count;
    char *packed;
    bool direct; /* whole slices are not packed; then */
    int64_t b_row, b_column;
} column_block;

typedef struct block_work {
    const tnri_product *product;
    const tnri_product_kernel *kernel;
    const tnri_product_blocks *blocks;
    tnri_finish finish; /* of this part of k */
    size_t element;
    const char *a; /* of this batch */
    const char *b;
    char *c;
    char *packed; /* shared: b's block, or a's panel */
    int64_t *k_in_a, *k_in_b;
    int64_t *in_x, *in_c; /* offsets of the block's columns in b and c, or of the panel's rows in a and c */
    int64_t depth;        /* of this part of k */
    bool k_unit_a, k_unit_b;
    bool k_regular_a, k_regular_b;
    int64_t a_column, b_row; /* steps along k where they are */
    int64_t rows;            /* of the panel */
    column_block columns;    /* narrow */
    char *lanes_room;        /* lane_bytes for each */
    int64_t row_parts;       /* pieces are a grid: parts of the rows by parts of the columns */
    int64_t column_parts;
    int64_t depths; /* parts of k */
    int64_t panels; /* parts of the rows; 1 where columns are few */
} block_work;

static char *lane_room(const block_work *w, int64_t piece)
{
    return w->lanes_room + (uint64_t)piece * w->blocks->lane_bytes;
}

/* ---- Columns --------------------------------------------------------------------------------------------------------------------- */

/* Slices of these columns: how they are to be read. */
static void plan_columns(const block_work *w, column_block *block)
{
    const tnri_product_kernel *kernel = w->kernel;
    block->direct = kernel->tile_direct != NULL && w->k_regular_b && w->product->m.size <= 8 * (int64_t)kernel->mr &&
                    slices_regular(block->in_b, block->count, kernel->nr, &block->b_column);
    block->b_row = w->b_row;
}

/* Pack columns begin..end-1 of a block, but for those that are read as they lie. */
static void pack_columns(const block_work *w, const column_block *block, int64_t begin, int64_t end)
{
    const tnri_product_kernel *kernel = w->kernel;
    if (block->direct) {
        begin = end - end % kernel->nr;
    }
    if (begin < end) {
        const bool unit = slices_unit(block->in_b + begin, end - begin, kernel->nr);
        kernel->pack(block->packed + (size_t)(begin * w->depth) * w->element, w->b, block->in_b + begin, end - begin,
                     unit, w->k_in_b, w->depth, w->k_unit_b, kernel->nr);
    }
}

/* ---- One slice of rows by columns ------------------------------------------------------------------------------------------------ */

/* One tile of the products p..p+depth-1: `a` is a packed slice, or, with `as_it_lies`, the slice's first element. */
static void one_tile(const block_work *w, const column_block *columns, const char *a, bool as_it_lies, int64_t p,
                     int64_t depth, int64_t j, tnri_tile *tile, const tnri_finish *finish)
{
    const tnri_product_kernel *kernel = w->kernel;
    const int64_t left = columns->count - j;
    tile->n = left < kernel->nr ? (int)left : kernel->nr;
    tile->columns = columns->in_c + j;
    const int64_t element = (int64_t)w->element;
    const char *packed_b = columns->packed + (j * w->depth + p * kernel->nr) * element;
    if (as_it_lies) {
        a += p * w->a_column * element;
    }
    if (columns->direct && tile->n == kernel->nr) {
        const char *b = w->b + (columns->in_b[j] + w->k_in_b[p]) * element;
        kernel->tile_direct(depth, a, as_it_lies ? w->a_column : kernel->mr, b, columns->b_row, columns->b_column, tile,
                            finish);
    } else if (as_it_lies) {
        kernel->tile_direct(depth, a, w->a_column, packed_b, kernel->nr, 1, tile, finish);
    } else {
        kernel->tile(depth, a, packed_b, tile, finish);
    }
}

/*
 * Products p..p+depth-1 of a slice of rows with columns begin..end-1. `next`, unless NULL, is the panel's next slice: it is fetched
 * meanwhile.
 */
static void one_slice(const block_work *w, const column_block *columns, int64_t begin, int64_t end, const char *a,
                      bool as_it_lies, int64_t p, int64_t depth, tnri_tile *tile, const tnri_finish *finish,
                      const char *next)
{
    const int nr = w->kernel->nr;
    const int64_t tiles = (end - begin + nr - 1) / nr;
    const int64_t bytes = next != NULL ? w->kernel->mr * depth * (int64_t)w->element : 0;
    const int64_t share = (bytes / tiles + 63) / 64 * 64;
    int64_t fetched = 0;
    for (int64_t j = begin; j < end; j += nr) {
        for (int64_t to = fetched + share; fetched < to && fetched < bytes; fetched += 64) {
            __builtin_prefetch(next + fetched, 0, 2);
        }
        one_tile(w, columns, a, as_it_lies, p, depth, j, tile, finish);
    }
}

/* ---- Narrow ---------------------------------------------------------------------------------------------------------------------- */

static void pack_narrow(void *context, int64_t piece)
{
    const block_work *w = context;
    int64_t begin;
    int64_t end;
    tnri_product_part(w->columns.count, w->kernel->nr, w->row_parts * w->column_parts, piece, &begin, &end);
    pack_columns(w, &w->columns, begin, end);
}

/* Slices of columns that rows may serve as they lie. */
#define LYING_SLICES 8

/* Columns so far apart, or a multiple of it, crowd in few sets of a first-level cache. */
#define FEW_SETS 256

/* Rows of a lane, with what it knows of them. */
typedef struct lane_rows {
    const block_work *w;
    int64_t begin, end; /* columns */
    char *packed;
    const int64_t *in_a, *in_c;
    int64_t count;
} lane_rows;

/* Rows as they lie, a line's at a time, or packed where they are no neighbours. A tile asks for the next ones ahead. */
static void multiply_lying(const lane_rows *rows)
{
    const block_work *w = rows->w;
    const tnri_product_kernel *kernel = w->kernel;
    const int64_t element = (int64_t)w->element;
    const int whole = TNRI_PRODUCT_LINE / (int)element;
    const int line = whole < kernel->mr ? whole : kernel->mr;
    tnri_tile tile = {.c = w->c};
    for (int64_t at = 0; at < rows->count; at += tile.m) {
        tile.m = rows->count - at < line ? (int)(rows->count - at) : line;
        const bool unit = neighbours(rows->in_a + at, tile.m);
        const bool as_it_lies = unit && tile.m == line;
        tile.rows = rows->in_c + at;
        tile.unit = neighbours(tile.rows, tile.m);
        const char *a = w->a + (rows->in_a[at] + w->k_in_a[0]) * element;
        if (!as_it_lies) {
            kernel->pack(rows->packed, w->a, rows->in_a + at, tile.m, unit, w->k_in_a, w->depth, false, kernel->mr);
            a = rows->packed;
        }
        one_slice(w, &w->columns, rows->begin, rows->end, a, as_it_lies, 0, w->depth, &tile, &w->finish, NULL);
    }
}

static void multiply_packed(const lane_rows *rows)
{
    const block_work *w = rows->w;
    const tnri_product_kernel *kernel = w->kernel;
    const size_t slice = (size_t)(kernel->mr * w->depth) * w->element;
    tnri_tile tile = {.c = w->c};
    const int64_t whole = whole_slices(kernel, rows->count);
    if (whole > 0) {
        kernel->pack(rows->packed, w->a, rows->in_a, whole * kernel->mr,
                     slices_unit(rows->in_a, whole * kernel->mr, kernel->mr), w->k_in_a, w->depth, w->k_unit_a,
                     kernel->mr);
    }
    char *packed = rows->packed + (size_t)whole * slice;
    for (int64_t at = whole * kernel->mr; at < rows->count; at += tile.m, packed += slice) {
        tile.m = slice_rows(kernel, rows->count - at);
        kernel->pack(packed, w->a, rows->in_a + at, tile.m, neighbours(rows->in_a + at, tile.m), w->k_in_a, w->depth,
                     w->k_unit_a, kernel->mr);
    }
    packed = rows->packed;
    for (int64_t at = 0; at < rows->count; at += tile.m, packed += slice) {
        tile.m = slice_rows(kernel, rows->count - at);
        tile.rows = rows->in_c + at;
        tile.unit = neighbours(tile.rows, tile.m);
        one_slice(w, &w->columns, rows->begin, rows->end, packed, false, 0, w->depth, &tile, &w->finish, NULL);
    }
}

static void multiply_narrow(void *context, int64_t piece)
{
    const block_work *w = context;
    const tnri_product_kernel *kernel = w->kernel;
    const tnri_product_axes *m = &w->product->m;
    const int64_t at_once = w->blocks->rows_at_once;
    lane_rows rows = {.w = w, .packed = lane_room(w, piece)};
    int64_t *in_a =
        (int64_t *)(void *)(rows.packed + tnri_product_lines((uint64_t)(at_once * w->blocks->kc) * w->element));
    int64_t *in_c = in_a + TNRI_PRODUCT_ROWS_TABLED;
    rows.in_a = in_a;
    rows.in_c = in_c;
    int64_t row_begin;
    int64_t row_end;
    tnri_product_part(m->size, kernel->mr, w->row_parts, piece % w->row_parts, &row_begin, &row_end);
    tnri_product_part(w->columns.count, kernel->nr, w->column_parts, piece / w->row_parts, &rows.begin, &rows.end);
    if (rows.begin >= rows.end) {
        return;
    }
    /* Slices that few columns use are read where they are. */
    const bool may_lie = kernel->tile_direct != NULL && w->k_regular_a && !w->k_unit_a &&
                         rows.end - rows.begin <= LYING_SLICES * (int64_t)kernel->nr &&
                         w->a_column * (int64_t)w->element % FEW_SETS != 0;
    const int64_t tabled = TNRI_PRODUCT_ROWS_TABLED / kernel->mr * kernel->mr;
    for (int64_t i = row_begin; i < row_end; i += rows.count) {
        const int64_t most = may_lie ? tabled : at_once;
        rows.count = row_end - i < most ? row_end - i : most;
        tnri_product_offsets(m, m->a, m->c, i, rows.count, in_a, in_c);
        if (may_lie && neighbours(in_a, rows.count < kernel->step ? rows.count : kernel->step)) {
            multiply_lying(&rows);
        } else {
            rows.count = rows.count < at_once ? rows.count : at_once;
            multiply_packed(&rows);
        }
    }
}

/* ---- Wide ------------------------------------------------------------------------------------------------------------------------ */

/* The panel's rows from i on, to its slices from one on. */
static void pack_slices(const block_work *w, int64_t slice, int64_t i, int64_t rows)
{
    const tnri_product_kernel *kernel = w->kernel;
    kernel->pack(w->packed + (size_t)(slice * kernel->mr * w->depth) * w->element, w->a, w->in_x + i, rows,
                 slices_unit(w->in_x + i, rows, kernel->mr), w->k_in_a, w->depth, w->k_unit_a, kernel->mr);
}

static void pack_panel(void *context, int64_t piece)
{
    const block_work *w = context;
    const tnri_product_kernel *kernel = w->kernel;
    const int64_t slices = (w->rows + kernel->mr - 1) / kernel->mr;
    int64_t begin;
    int64_t end;
    tnri_product_part(slices, 1, w->row_parts * w->column_parts, piece, &begin, &end);
    const int64_t whole = whole_slices(kernel, w->rows);
    int64_t slice = begin;
    if (begin < whole) {
        const int64_t to = end < whole ? end : whole;
        pack_slices(w, begin, begin * kernel->mr, (to - begin) * kernel->mr);
        slice = to;
    }
    int64_t i = whole * kernel->mr;
    for (int64_t at = whole; at < end; ++at) {
        const int rows = slice_rows(kernel, w->rows - i);
        if (at >= slice) {
            pack_slices(w, at, i, rows);
        }
        i += rows;
    }
}

static void multiply_wide(void *context, int64_t piece)
{
    const block_work *w = context;
    const tnri_product_kernel *kernel = w->kernel;
    const tnri_product_axes *n = &w->product->n;
    const int64_t nc = w->blocks->nc;
    const size_t slice = (size_t)(kernel->mr * w->depth) * w->element;
    const int64_t slices = (w->rows + kernel->mr - 1) / kernel->mr;
    column_block block;
    block.packed = lane_room(w, piece);
    int64_t *in_b = (int64_t *)(void *)(block.packed + tnri_product_lines((uint64_t)(nc * w->blocks->kc) * w->element));
    int64_t *in_c = in_b + nc;
    block.in_b = in_b;
    block.in_c = in_c;
    int64_t begin;
    int64_t end;
    int64_t slice_begin;
    int64_t slice_end;
    tnri_product_part(slices, 1, w->row_parts, piece % w->row_parts, &slice_begin, &slice_end);
    tnri_product_part(n->size, kernel->nr, w->column_parts, piece / w->row_parts, &begin, &end);
    if (slice_begin >= slice_end) {
        return;
    }
    tnri_tile tile = {.c = w->c};
    const int64_t blocks = (end - begin + nc - 1) / nc;
    for (int64_t at = 0; at < blocks; ++at) {
        int64_t from;
        int64_t to;
        tnri_product_part(end - begin, kernel->nr, blocks, at, &from, &to);
        block.count = to - from;
        tnri_product_offsets(n, n->b, n->c, begin + from, block.count, in_b, in_c);
        plan_columns(w, &block);
        pack_columns(w, &block, 0, block.count);
        int64_t i = 0;
        for (int64_t s = 0; s < slice_end; ++s, i += tile.m) {
            tile.m = slice_rows(kernel, w->rows - i);
            if (s < slice_begin) {
                continue;
            }
            tile.rows = w->in_c + i;
            tile.unit = neighbours(tile.rows, tile.m);
            const char *a = w->packed + (size_t)s * slice;
            const char *next = s + 1 < slice_end ? a + slice : NULL;
            one_slice(w, &block, 0, block.count, a, false, 0, w->depth, &tile, &w->finish, next);
        }
    }
}

/* ---- Rounds ---------------------------------------------------------------------------------------------------------------------- */

/* Tables for k from p on. */
static void begin_depth(block_work *w, int64_t p)
{
    const tnri_product_axes *k = &w->product->k;
    w->depth = k->size - p < w->blocks->kc ? k->size - p : w->blocks->kc;
    tnri_product_offsets(k, k->a, k->b, p, w->depth, w->k_in_a, w->k_in_b);
    w->k_unit_a = neighbours(w->k_in_a, w->depth);
    w->k_unit_b = neighbours(w->k_in_b, w->depth);
    w->k_regular_a = regular(w->k_in_a, w->depth, &w->a_column);
    w->k_regular_b = regular(w->k_in_b, w->depth, &w->b_row);
}

/* Rows of a panel, or all columns. */
static void begin_panel(block_work *w, int64_t first)
{
    const tnri_product *product = w->product;
    if (w->blocks->narrow) {
        w->columns = (column_block){.in_b = w->in_x, .in_c = w->in_c, .count = product->n.size, .packed = w->packed};
        tnri_product_offsets(&product->n, product->n.b, product->n.c, 0, product->n.size, w->in_x, w->in_c);
    } else {
        w->rows = product->m.size - first < w->blocks->mc ? product->m.size - first : w->blocks->mc;
        tnri_product_offsets(&product->m, product->m.a, product->m.c, first, w->rows, w->in_x, w->in_c);
    }
}

static void begin_item(block_work *w, int64_t item)
{
    const tnri_product *product = w->product;
    const tnri_product_axes *batch = &product->batch;
    int64_t in_a;
    int64_t in_b;
    int64_t in_c;
    tnri_product_offsets(batch, batch->a, batch->b, item, 1, &in_a, &in_b);
    tnri_product_offsets(batch, batch->c, batch->c, item, 1, &in_c, &in_c);
    w->a = (const char *)product->a + in_a * (int64_t)w->element;
    w->b = (const char *)product->b + in_b * (int64_t)w->element;
    w->c = (char *)product->c + in_c * (int64_t)w->element;
}

/* A round is one part of k of one panel (of all rows, where columns are few) of one item of the batch. They come in this order. */
static void begin_round(block_work *w, int64_t round)
{
    const int64_t part = round % w->depths;
    const int64_t panel = round / w->depths % w->panels;
    if (part != 0) {
        tnri_product_add_next(&w->finish);
    } else {
        if (panel == 0) {
            begin_item(w, round / w->depths / w->panels);
        }
        if (panel != 0 || !w->blocks->narrow || round == 0) {
            begin_panel(w, panel * w->blocks->mc);
        }
        w->finish = w->product->finish;
    }
    begin_depth(w, part * w->blocks->kc);
    if (w->blocks->narrow) {
        plan_columns(w, &w->columns);
    }
}

static void pack_shared(void *context, int64_t piece)
{
    const block_work *w = context;
    if (w->blocks->narrow) {
        pack_narrow(context, piece);
    } else {
        pack_panel(context, piece);
    }
}

static void multiply_round(void *context, int64_t piece)
{
    const block_work *w = context;
    if (w->blocks->narrow) {
        multiply_narrow(context, piece);
    } else {
        multiply_wide(context, piece);
    }
}

/* On how many lanes the shared block is packed; 0: there is nothing to pack. */
static int packing_lanes(const block_work *w)
{
    if (!w->blocks->narrow || !w->columns.direct) {
        return w->product->lanes;
    }
    return w->columns.count % w->kernel->nr != 0 ? 1 : 0;
}

/* ---- All of it -------------------------------------------------------------------------------------------------------------------- */

/* As many parts as lanes allow, and no more than there is work for. */
static int64_t parts_of(int64_t lanes, int64_t most)
{
    int64_t parts = lanes;
    while (parts > 1 && (parts > most || lanes % parts != 0)) {
        --parts;
    }
    return parts;
}

static int64_t pieces_of(int64_t size, int64_t most) { return (size + most - 1) / most; }

static void begin_work(block_work *w, const tnri_product *product, void *room)
{
    const tnri_product_kernel *kernel = product->kernel;
    const tnri_product_blocks *blocks = &product->blocks;
    const int64_t across = blocks->narrow ? blocks->nc : blocks->mc;
    char *scratch = room;
    *w =
        (block_work){.product = product, .kernel = kernel, .blocks = blocks, .element = tnr_dtype_size(product->dtype)};
    w->packed = scratch;
    w->in_x = (int64_t *)(void *)(scratch + tnri_product_lines((uint64_t)(blocks->kc * across) * w->element));
    w->in_c = w->in_x + across;
    w->k_in_a = w->in_c + across;
    w->k_in_b = w->k_in_a + blocks->kc;
    w->lanes_room = scratch + blocks->shared_bytes;
    w->depths = pieces_of(product->k.size, blocks->kc);
    w->panels = blocks->narrow ? 1 : pieces_of(product->m.size, blocks->mc);
    if (blocks->narrow) {
        w->row_parts = parts_of(product->lanes, pieces_of(product->m.size, kernel->mr));
        w->column_parts = product->lanes / w->row_parts;
    } else {
        w->column_parts = parts_of(product->lanes, product->n.size / (12 * kernel->nr));
        w->row_parts = product->lanes / w->column_parts;
    }
}

static int64_t rounds_of(const block_work *w) { return w->product->batch.size * w->panels * w->depths; }

void tnri_product_run_blocks(int count, tnr_engine *const *engines, const tnri_product *products, void *const *rooms)
{
    block_work works[TNRI_ENGINES_AT_ONCE];
    tnri_engine_share packing[TNRI_ENGINES_AT_ONCE];
    tnri_engine_share multiplying[TNRI_ENGINES_AT_ONCE];
    int64_t rounds = 0;
    for (int i = 0; i < count; ++i) {
        begin_work(&works[i], &products[i], rooms[i]);
        rounds = rounds > rounds_of(&works[i]) ? rounds : rounds_of(&works[i]);
    }
    for (int64_t round = 0; round < rounds; ++round) {
        int at_work = 0;
        for (int i = 0; i < count; ++i) {
            block_work *w = &works[i];
            if (round < rounds_of(w)) {
                begin_round(w, round);
                const int packers = packing_lanes(w);
                packing[at_work] = (tnri_engine_share){engines[i], packers, packers != 0 ? w->product->lanes : 0, w};
                multiplying[at_work++] = (tnri_engine_share){engines[i], w->product->lanes, w->product->lanes, w};
            }
        }
        tnri_engines_run(at_work, packing, pack_shared);
        tnri_engines_run(at_work, multiplying, multiply_round);
    }
}
