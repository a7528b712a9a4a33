/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of products with more columns than one block has: the lanes pack a panel of rows together and share it, and each packs blocks of
 * columns of its own.
 */
#include "product_loops_internal.h"

static int64_t panels_of(const tnri_round *r) { return (r->rows + r->kernel->mr - 1) / r->kernel->mr; }

void tnri_shared_panel_pack(void *context, int64_t piece)
{
    const tnri_round *r = context;
    const int mr = r->kernel->mr;
    int64_t begin;
    int64_t end;
    tnri_product_part(panels_of(r), 1, r->row_parts * r->column_parts, piece, &begin, &end);
    const int64_t whole = tnri_panel_whole(r->kernel, r->rows);
    if (begin < whole) {
        const int64_t to = end < whole ? end : whole;
        tnri_panel_pack(r, r->packed, begin, r->in_x + begin * mr, (to - begin) * mr);
    }
    int64_t at = whole * mr;
    for (int64_t panel = whole; panel < end; ++panel) {
        const int rows = tnri_panel_rows(r->kernel, r->rows - at);
        if (panel >= begin) {
            tnri_panel_pack(r, r->packed, panel, r->in_x + at, rows);
        }
        at += rows;
    }
}

/* Micro-panels begin..end-1 of the rows by one block. */
static void multiply_block(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end)
{
    const size_t bytes = (size_t)(r->kernel->mr * r->depth) * r->element;
    tnri_tile tile;
    int64_t at = 0;
    for (int64_t panel = 0; panel < end; ++panel) {
        const int rows = tnri_panel_rows(r->kernel, r->rows - at);
        if (panel >= begin) {
            const char *packed = r->packed + (size_t)panel * bytes;
            tnri_panel_tile(r, r->in_c + at, rows, &tile);
            tnri_macro_kernel(r, block, 0, block->count, packed, panel + 1 < end ? packed + bytes : NULL, &tile);
        }
        at += rows;
    }
}

/* The same, column by column of a few micro-panels at a time. */
static void multiply_block_down(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end)
{
    const int64_t bytes = r->kernel->mr * r->depth * (int64_t)r->element;
    const int64_t fitting = tnri_product_rows_bytes(r->kernel->depth) / bytes;
    const int64_t most = fitting > 1 ? fitting : 1;
    int64_t at = 0;
    int64_t first = 0;
    int64_t from = begin;
    for (int64_t panel = 0; panel < end; ++panel) {
        first = panel == from ? at : first;
        at += tnri_panel_rows(r->kernel, r->rows - at);
        if (panel + 1 == from + most || panel + 1 == end) {
            tnri_macro_kernel_down(r, block, 0, block->count, r->packed + from * bytes, r->in_c + first, at - first);
            from = panel + 1;
        }
    }
}

void tnri_shared_panel_multiply(void *context, int64_t piece)
{
    const tnri_round *r = context;
    const tnri_product_axes *n = &r->product->n;
    const int nr = r->kernel->nr;
    const int64_t nc = r->blocks->nc;
    tnri_column_block block;
    block.packed = tnri_round_lane_room(r, piece);
    int64_t *in_b = (int64_t *)(void *)(block.packed + tnri_product_lines((uint64_t)(nc * r->blocks->kc) * r->element));
    int64_t *in_c = in_b + nc;
    block.in_b = in_b;
    block.in_c = in_c;
    int64_t begin;
    int64_t end;
    int64_t panel_begin;
    int64_t panel_end;
    tnri_product_part(panels_of(r), 1, r->row_parts, piece % r->row_parts, &panel_begin, &panel_end);
    tnri_product_part(n->size, nr, r->column_parts, piece / r->row_parts, &begin, &end);
    if (panel_begin >= panel_end) {
        return;
    }
    const int64_t blocks = (end - begin + nc - 1) / nc;
    const bool down = r->depth <= TNRI_PRODUCT_SHALLOW && tnri_offsets_unit(r->in_c, r->rows);
    for (int64_t at = 0; at < blocks; ++at) {
        int64_t from;
        int64_t to;
        tnri_product_part(end - begin, nr, blocks, at, &from, &to);
        block.count = to - from;
        tnri_product_offsets(n, n->b, n->c, begin + from, block.count, in_b, in_c);
        tnri_block_plan(r, &block);
        tnri_block_pack(r, &block, 0, block.count);
        if (down) {
            multiply_block_down(r, &block, panel_begin, panel_end);
        } else {
            multiply_block(r, &block, panel_begin, panel_end);
        }
    }
}
