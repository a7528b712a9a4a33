/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The macro-kernel: one micro-panel of rows, which stays in the first-level cache, by a block of columns, of which each micro-panel
 * passes by it once. And the packing of both, straight from any layout by tables of offsets.
 */
#include "product_loops_internal.h"

/* ---- Blocks of columns ----------------------------------------------------------------------------------------------------------- */

/* Rows of so many tiles do not pay for packing the columns that they use. */
#define TILES_IN_PLACE 8

void tnri_block_plan(const tnri_round *r, tnri_column_block *block)
{
    const tnri_product_kernel *kernel = r->kernel;
    block->in_place = kernel->tile_in_place != NULL && r->k_regular_b &&
                      r->product->m.size <= TILES_IN_PLACE * (int64_t)kernel->mr &&
                      tnri_offsets_panels_regular(block->in_b, block->count, kernel->nr, &block->b_column);
    block->b_row = r->b_row;
}

void tnri_block_pack(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end)
{
    const tnri_product_kernel *kernel = r->kernel;
    if (block->in_place) {
        begin = end - end % kernel->nr;
    }
    if (begin < end) {
        const bool unit = tnri_offsets_panels_unit(block->in_b + begin, end - begin, kernel->nr);
        kernel->pack(block->packed + (size_t)(begin * r->depth) * r->element, r->b, block->in_b + begin, end - begin,
                     unit, r->k_in_b, r->depth, r->k_unit_b, kernel->nr);
    }
}

/* ---- Micro-panels of rows -------------------------------------------------------------------------------------------------------- */

int tnri_panel_rows(const tnri_product_kernel *kernel, int64_t left)
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

int64_t tnri_panel_whole(const tnri_product_kernel *kernel, int64_t rows)
{
    const int64_t whole = rows / kernel->mr;
    return whole > 0 && tnri_panel_rows(kernel, rows - (whole - 1) * kernel->mr) != kernel->mr ? whole - 1 : whole;
}

void tnri_panel_pack(const tnri_round *r, char *packed, int64_t panel, const int64_t *in_a, int64_t rows)
{
    const int mr = r->kernel->mr;
    r->kernel->pack(packed + (size_t)(panel * mr * r->depth) * r->element, r->a, in_a, rows,
                    tnri_offsets_panels_unit(in_a, rows, mr), r->k_in_a, r->depth, r->k_unit_a, mr);
}

void tnri_panel_tile(const tnri_round *r, const int64_t *in_c, int rows, tnri_tile *tile)
{
    tile->c = r->c;
    tile->rows = in_c;
    tile->m = rows;
    tile->unit = tnri_offsets_unit(in_c, rows);
    tile->next = 0;
    tile->next_lines = 0;
}

/* ---- The macro-kernel ------------------------------------------------------------------------------------------------------------ */

/* The tile's next columns, from j on. */
static void take_columns(const tnri_round *r, const tnri_column_block *block, int64_t j, tnri_tile *tile)
{
    const int64_t left = block->count - j;
    tile->n = left < r->kernel->nr ? (int)left : r->kernel->nr;
    tile->columns = block->in_c + j;
}

static const char *packed_columns(const tnri_round *r, const tnri_column_block *block, int64_t j)
{
    return block->packed + (size_t)(j * r->depth) * r->element;
}

static const char *columns_in_place(const tnri_round *r, const tnri_column_block *block, int64_t j)
{
    return r->b + (block->in_b[j] + r->k_in_b[0]) * (int64_t)r->element;
}

/* A packed micro-panel of rows by the next columns, from j on. */
static void multiply_tile(const tnri_round *r, const tnri_column_block *block, int64_t j, const char *panel,
                          tnri_tile *tile)
{
    const tnri_product_kernel *kernel = r->kernel;
    take_columns(r, block, j, tile);
    if (block->in_place && tile->n == kernel->nr) {
        kernel->tile_in_place(r->depth, panel, kernel->mr, columns_in_place(r, block, j), block->b_row, block->b_column,
                              tile, &r->finish);
    } else {
        kernel->tile(r->depth, panel, packed_columns(r, block, j), tile, &r->finish);
    }
}

void tnri_macro_kernel(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end,
                       const char *panel, const char *next, tnri_tile *tile)
{
    const tnri_product_kernel *kernel = r->kernel;
    const int nr = kernel->nr;
    const int64_t tiles = (end - begin + nr - 1) / nr;
    const int64_t bytes = next != NULL ? kernel->mr * r->depth * (int64_t)r->element : 0;
    const int64_t times = tiles * ((r->depth + TNRI_PRODUCT_FETCH_STEPS - 1) / TNRI_PRODUCT_FETCH_STEPS);
    const int64_t lines = (bytes / TNRI_PRODUCT_LINE + times - 1) / times;
    const int64_t share = times / tiles * lines * TNRI_PRODUCT_LINE; /* of a tile */
    tile->next = (uintptr_t)next;
    int64_t fetched = 0;
    for (int64_t j = begin; j < end; j += nr) {
        tile->next_lines = fetched < bytes ? (int)lines : 0;
        multiply_tile(r, block, j, panel, tile);
        tile->next += (uintptr_t)share;
        fetched += share;
    }
}

void tnri_macro_kernel_down(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end,
                            const char *packed, const int64_t *in_c, int64_t rows)
{
    const tnri_product_kernel *kernel = r->kernel;
    const int64_t bytes = kernel->mr * r->depth * (int64_t)r->element;
    tnri_tile tile;
    tnri_panel_tile(r, in_c, 1, &tile); /* of neighbours */
    for (int64_t j = begin; j < end; j += kernel->nr) {
        const char *panel = packed;
        for (int64_t at = 0; at < rows; at += tile.m, panel += bytes) {
            tile.rows = in_c + at;
            tile.m = tnri_panel_rows(kernel, rows - at);
            multiply_tile(r, block, j, panel, &tile);
        }
    }
}

void tnri_macro_kernel_in_place(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end,
                                const char *first, tnri_tile *tile)
{
    const tnri_product_kernel *kernel = r->kernel;
    for (int64_t j = begin; j < end; j += kernel->nr) {
        take_columns(r, block, j, tile);
        if (block->in_place && tile->n == kernel->nr) {
            kernel->tile_in_place(r->depth, first, r->a_column, columns_in_place(r, block, j), block->b_row,
                                  block->b_column, tile, &r->finish);
        } else {
            kernel->tile_in_place(r->depth, first, r->a_column, packed_columns(r, block, j), kernel->nr, 1, tile,
                                  &r->finish);
        }
    }
}
