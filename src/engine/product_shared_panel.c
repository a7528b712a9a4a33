/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of products with more columns than one block has: the lanes pack a panel of rows together and share it, and each packs blocks of
 * columns of its own.
 */
#include "product_loops_internal.h"

void tnri_shared_panel_pack(void *context, int64_t piece)
{
    const tnri_round *r = context;
    int64_t begin;
    int64_t end;
    tnri_product_part(tnri_micro_count(r->kernel, r->rows), 1, r->row_parts * r->column_parts, piece, &begin, &end);
    tnri_micro_pack(r, r->packed, r->in_x, r->rows, begin, end);
}

/* Micro-panels begin..end-1 of the rows by one block. */
static void multiply_block(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end)
{
    for (int64_t number = begin; number < end; ++number) {
        const char *micro = r->packed + number * tnri_micro_bytes(r);
        int here;
        const int64_t at = tnri_micro_at(r->kernel, r->rows, number, &here);
        tnri_tile tile;
        tnri_tile_of_rows(r, r->in_c + at, here, &tile);
        tnri_macro_kernel(r, block, 0, block->count, micro, number + 1 < end ? micro + tnri_micro_bytes(r) : NULL,
                          &tile);
    }
}

/* The same, column by column of a few micro-panels at a time. */
static void multiply_block_down(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end)
{
    const tnri_packed_rows rows = {r->packed, r->in_c, r->rows};
    const int64_t fitting = tnri_product_rows_bytes(r->kernel->depth) / tnri_micro_bytes(r);
    const int64_t most = fitting > 1 ? fitting : 1;
    for (int64_t first = begin; first < end; first += most) {
        tnri_macro_kernel_down(r, block, 0, block->count, &rows, first, end - first < most ? end : first + most);
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
    int64_t first; /* micro-panel of rows */
    int64_t behind;
    tnri_product_part(tnri_micro_count(r->kernel, r->rows), 1, r->row_parts, piece % r->row_parts, &first, &behind);
    tnri_product_part(n->size, nr, r->column_parts, piece / r->row_parts, &begin, &end);
    if (first >= behind) {
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
            multiply_block_down(r, &block, first, behind);
        } else {
            multiply_block(r, &block, first, behind);
        }
    }
}
