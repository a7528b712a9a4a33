/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Five loops around a register tile: those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
 * 34 (2008), as Van Zee and van de Geijn arranged them, "BLIS: a framework for rapidly instantiating BLAS functionality", ACM TOMS
 * 41 (2015), with operands packed straight from any layout by tables of offsets, as Matthews, "High-performance tensor contraction
 * without transposition", SIAM J. Sci. Comput. 40 (2018).
 *
 * Tiles are longer than wide, so the innermost loop goes along the columns: a micro-panel of rows stays where it is (product_blocks.c says
 * in which cache), and a block of columns is read once for each of them, which asks least of the cache that it is in: BLIS's loops with a
 * and b in exchanged parts. What lanes share is that block, where all columns are one, or else a panel of rows.
 *
 * This file has the loops that all engines and lanes go through together, as rounds; what is done in one is in files of its own
 * (product_loops_internal.h).
 *
 * Guarantees: an element's sum is made in the order of k, cut at kc, whatever the number of lanes.
 */
#include "product_loops_internal.h"
#include "team_internal.h"

/* ---- A round --------------------------------------------------------------------------------------------------------------------- */

static int64_t pieces_of(int64_t size, int64_t most) { return (size + most - 1) / most; }

static int64_t depths_of(const tnri_round *r) { return pieces_of(r->product->k.size, r->blocks->kc); }

static int64_t panels_of(const tnri_round *r)
{
    return r->blocks->one_block ? 1 : pieces_of(r->product->m.size, r->blocks->mc);
}

static void begin_depth(tnri_round *r, int64_t part)
{
    const tnri_product_axes *k = &r->product->k;
    const int64_t first = part * r->blocks->kc;
    r->depth = k->size - first < r->blocks->kc ? k->size - first : r->blocks->kc;
    tnri_product_offsets(k, k->a, k->b, first, r->depth, r->k_in_a, r->k_in_b);
    r->k_unit_a = tnri_offsets_unit(r->k_in_a, r->depth);
    r->k_unit_b = tnri_offsets_unit(r->k_in_b, r->depth);
    r->k_regular_a = tnri_offsets_regular(r->k_in_a, r->depth, &r->a_column);
    r->k_regular_b = tnri_offsets_regular(r->k_in_b, r->depth, &r->b_row);
}

/* Rows of a panel, or all columns. */
static void begin_shared(tnri_round *r, int64_t panel)
{
    const tnri_product *product = r->product;
    if (r->blocks->one_block) {
        r->columns =
            (tnri_column_block){.in_b = r->in_x, .in_c = r->in_c, .count = product->n.size, .packed = r->packed};
        tnri_product_offsets(&product->n, product->n.b, product->n.c, 0, product->n.size, r->in_x, r->in_c);
    } else {
        const int64_t first = panel * r->blocks->mc;
        r->rows = product->m.size - first < r->blocks->mc ? product->m.size - first : r->blocks->mc;
        tnri_product_offsets(&product->m, product->m.a, product->m.c, first, r->rows, r->in_x, r->in_c);
    }
}

static void begin_item(tnri_round *r, int64_t item)
{
    const tnri_product *product = r->product;
    tnri_product_place at;
    tnri_product_place_at(&product->batch, item, &at);
    r->a = (const char *)product->a + at.a * (int64_t)r->element;
    r->b = (const char *)product->b + at.b * (int64_t)r->element;
    r->c = (char *)product->c + at.c * (int64_t)r->element;
}

/* A round is one part of k of one panel (of all rows, where there is one block) of one item of the batch. They come in this order. */
static void begin_round(tnri_round *r, int64_t round)
{
    const int64_t depths = depths_of(r);
    const int64_t panels = panels_of(r);
    const int64_t part = round % depths;
    const int64_t panel = round / depths % panels;
    if (part != 0) {
        tnri_product_add_next(&r->finish);
    } else {
        if (panel == 0) {
            begin_item(r, round / depths / panels);
        }
        if (panel != 0 || !r->blocks->one_block || round == 0) {
            begin_shared(r, panel);
        }
        r->finish = r->product->finish;
    }
    begin_depth(r, part);
    if (r->blocks->one_block) {
        tnri_block_plan(r, &r->columns);
    }
}

static void pack_shared(void *context, int64_t piece)
{
    const tnri_round *r = context;
    if (r->blocks->one_block) {
        tnri_shared_block_pack(context, piece);
    } else {
        tnri_shared_panel_pack(context, piece);
    }
}

static void multiply(void *context, int64_t piece)
{
    const tnri_round *r = context;
    if (r->product->across && r->blocks->one_block) {
        tnri_shared_across_multiply(context, piece);
    } else if (r->blocks->one_block) {
        tnri_shared_block_multiply(context, piece);
    } else {
        tnri_shared_panel_multiply(context, piece);
    }
}

/* On how many lanes what is shared is packed; 0: there is nothing to pack. */
static int packing_lanes(const tnri_round *r)
{
    if (!r->blocks->one_block || !r->columns.in_place) {
        return r->product->lanes;
    }
    return r->columns.count % r->kernel->nr != 0 ? 1 : 0;
}

/* ---- All rounds ------------------------------------------------------------------------------------------------------------------ */

/* As many parts as lanes allow, and no more than there is work for. */
static int64_t parts_of(int64_t lanes, int64_t most)
{
    int64_t parts = lanes;
    while (parts > 1 && (parts > most || lanes % parts != 0)) {
        --parts;
    }
    return parts > 1 ? parts : 1;
}

/* Columns of a lane, in micro-panels, below which rows are cut instead. */
#define LANE_MICRO 12

static void open_rounds(tnri_round *r, const tnri_product *product, void *room)
{
    const tnri_product_kernel *kernel = product->kernel;
    const tnri_product_blocks *blocks = &product->blocks;
    const int64_t across = blocks->one_block ? blocks->nc : blocks->mc;
    char *scratch = room;
    *r =
        (tnri_round){.product = product, .kernel = kernel, .blocks = blocks, .element = tnr_dtype_size(product->dtype)};
    r->packed = scratch;
    r->in_x = (int64_t *)(void *)(scratch + tnri_product_lines((uint64_t)(blocks->kc * across) * r->element));
    r->in_c = r->in_x + across;
    r->k_in_a = r->in_c + across;
    r->k_in_b = r->k_in_a + blocks->kc;
    r->lanes_room = scratch + blocks->shared_bytes;
    if (blocks->one_block) {
        r->row_parts = parts_of(product->lanes, pieces_of(product->m.size, kernel->mr));
        r->column_parts = product->lanes / r->row_parts;
    } else {
        r->column_parts = parts_of(product->lanes, product->n.size / (LANE_MICRO * kernel->nr));
        r->row_parts = product->lanes / r->column_parts;
    }
}

static int64_t rounds_of(const tnri_round *r) { return r->product->batch.size * panels_of(r) * depths_of(r); }

void tnri_product_run_blocks(int count, tnr_engine *const *engines, const tnri_product *products, void *const *rooms)
{
    tnri_round parts[TNRI_ENGINES_AT_ONCE];
    tnri_engine_share packing[TNRI_ENGINES_AT_ONCE];
    tnri_engine_share multiplying[TNRI_ENGINES_AT_ONCE];
    int64_t rounds = 0;
    for (int i = 0; i < count; ++i) {
        open_rounds(&parts[i], &products[i], rooms[i]);
        rounds = rounds > rounds_of(&parts[i]) ? rounds : rounds_of(&parts[i]);
    }
    for (int64_t round = 0; round < rounds; ++round) {
        int at_work = 0;
        for (int i = 0; i < count; ++i) {
            tnri_round *r = &parts[i];
            if (round < rounds_of(r)) {
                begin_round(r, round);
                const int packers = packing_lanes(r);
                packing[at_work] = (tnri_engine_share){engines[i], packers, packers != 0 ? r->product->lanes : 0, r};
                multiplying[at_work++] = (tnri_engine_share){engines[i], r->product->lanes, r->product->lanes, r};
            }
        }
        tnri_engines_run(at_work, packing, pack_shared);
        tnri_engines_run(at_work, multiplying, multiply);
    }
}
