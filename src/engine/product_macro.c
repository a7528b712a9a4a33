/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The macro-kernel: one micro-panel of rows by a block of columns, of which each micro-panel passes by it once. And the packing of both,
 * straight from any layout by tables of offsets.
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
                      tnri_offsets_micro_regular(block->in_b, block->count, kernel->nr, &block->b_column);
    block->b_row = r->b_row;
}

void tnri_block_pack(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end)
{
    const tnri_product_kernel *kernel = r->kernel;
    if (block->in_place) {
        begin = end - end % kernel->nr;
    }
    if (begin < end) {
        const bool unit = tnri_offsets_micro_unit(block->in_b + begin, end - begin, kernel->nr);
        kernel->pack(block->packed + (size_t)(begin * r->depth) * r->element, r->b, block->in_b + begin, end - begin,
                     unit, r->k_in_b, r->depth, r->k_unit_b, kernel->nr);
    }
}

/* ---- Micro-panels of rows -------------------------------------------------------------------------------------------------------- */

int64_t tnri_micro_count(const tnri_product_kernel *kernel, int64_t rows)
{
    return (rows + kernel->mr - 1) / kernel->mr;
}

/* Of the last but one, which with the last has so many rows: half, in whole vectors. */
static int half_of(const tnri_product_kernel *kernel, int64_t rows)
{
    const int half = ((int)rows + 1) / 2;
    const int vectors = (half + kernel->step - 1) / kernel->step * kernel->step;
    return vectors < kernel->mr ? vectors : kernel->mr;
}

int64_t tnri_micro_at(const tnri_product_kernel *kernel, int64_t rows, int64_t number, int *rows_here)
{
    const int mr = kernel->mr;
    const int64_t begin = number * mr;
    const int64_t left = rows - begin;
    if (left > mr) {
        *rows_here = left <= mr + kernel->step ? half_of(kernel, left) : mr;
        return begin;
    }
    const int more = number > 0 && left <= kernel->step ? mr - half_of(kernel, mr + left) : 0; /* than `left` */
    *rows_here = (int)left + more;
    return begin - more;
}

static void pack_rows(const tnri_round *r, char *to, const int64_t *in_a, int64_t rows)
{
    const int mr = r->kernel->mr;
    r->kernel->pack(to, r->a, in_a, rows, tnri_offsets_micro_unit(in_a, rows, mr), r->k_in_a, r->depth, r->k_unit_a,
                    mr);
}

void tnri_micro_pack(const tnri_round *r, char *packed, const int64_t *in_a, int64_t rows, int64_t begin, int64_t end)
{
    const tnri_product_kernel *kernel = r->kernel;
    const int64_t bytes = tnri_micro_bytes(r);
    int64_t whole = begin; /* behind those of a whole tile's rows, which are packed together */
    int here;
    while (whole < end && tnri_micro_at(kernel, rows, whole, &here) == whole * kernel->mr && here == kernel->mr) {
        ++whole;
    }
    if (begin < whole) {
        pack_rows(r, packed + begin * bytes, in_a + begin * kernel->mr, (whole - begin) * kernel->mr);
    }
    for (int64_t number = whole; number < end; ++number) {
        const int64_t at = tnri_micro_at(kernel, rows, number, &here);
        pack_rows(r, packed + number * bytes, in_a + at, here);
    }
}

void tnri_tile_of_rows(const tnri_round *r, const int64_t *in_c, int rows, tnri_tile *tile)
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
static void multiply_tile(const tnri_round *r, const tnri_column_block *block, int64_t j, const char *micro,
                          tnri_tile *tile)
{
    const tnri_product_kernel *kernel = r->kernel;
    take_columns(r, block, j, tile);
    if (block->in_place && tile->n == kernel->nr) {
        kernel->tile_in_place(r->depth, micro, kernel->mr, columns_in_place(r, block, j), block->b_row, block->b_column,
                              tile, &r->finish);
    } else {
        kernel->tile(r->depth, micro, packed_columns(r, block, j), tile, &r->finish);
    }
}

void tnri_macro_kernel(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end,
                       const char *micro, const char *next, tnri_tile *tile)
{
    const int nr = r->kernel->nr;
    const int64_t tiles = (end - begin + nr - 1) / nr;
    const int64_t bytes = next != NULL ? tnri_micro_bytes(r) : 0;
    const int64_t times = tiles * ((r->depth + TNRI_PRODUCT_FETCH_STEPS - 1) / TNRI_PRODUCT_FETCH_STEPS);
    const int64_t lines = (bytes / TNRI_PRODUCT_LINE + times - 1) / times;
    const int64_t share = times / tiles * lines * TNRI_PRODUCT_LINE; /* of a tile */
    tile->next = (uintptr_t)next;
    int64_t fetched = 0;
    for (int64_t j = begin; j < end; j += nr) {
        tile->next_lines = fetched < bytes ? (int)lines : 0;
        multiply_tile(r, block, j, micro, tile);
        tile->next += (uintptr_t)share;
        fetched += share;
    }
}

void tnri_macro_kernel_down(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end,
                            const tnri_packed_rows *rows, int64_t first, int64_t behind)
{
    const tnri_product_kernel *kernel = r->kernel;
    const int64_t bytes = tnri_micro_bytes(r);
    tnri_tile tile;
    tnri_tile_of_rows(r, rows->in_c, 1, &tile); /* of neighbours */
    for (int64_t j = begin; j < end; j += kernel->nr) {
        for (int64_t number = first; number < behind; ++number) {
            tile.rows = rows->in_c + tnri_micro_at(kernel, rows->count, number, &tile.m);
            multiply_tile(r, block, j, rows->packed + number * bytes, &tile);
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
