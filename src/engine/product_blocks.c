/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes of blocks, after Low, Igual, Smith and Quintana-Orti, "Analytical modeling is enough for high-performance BLIS", ACM TOMS 43
 * (2016), roundly. They follow from the instruction set alone, so that what a product needs can be told beforehand: a block of columns
 * takes half of a second-level cache of 512 KiB, or of 1 MiB where vectors have 512 bits, and a panel of rows is for the third. Some
 * processors have half of that second level (256 KiB with 256 bits, 512 KiB with 512): a block fills it there, and part of what is used
 * comes from the third. Up to 256 bits a micro-panel of rows, with one of columns passing by, is in a first-level cache of 32 KiB; a
 * wider one, of 96 KiB, comes from the second level as fast as it is used, and more depth means that c is read and written less often.
 */
#include "product_internal.h"

/* For kc of `depth`, which has as many bytes of a micro-panel for every dtype. */
static int64_t block_bytes(int64_t depth) { return depth << 10; }
static int64_t panel_bytes(int64_t depth) { return depth << 14; }
int64_t tnri_product_rows_bytes(int64_t depth) { return depth << 9; }

/*
 * Of the micro-panels that are packed at once from lines across them. With a block of columns they are more than the second-level cache that
 * is planned for, so at full depth some of both come from the third; in return lines of a are read as a whole.
 */
static int64_t across_bytes(int64_t depth) { return 3 * tnri_product_rows_bytes(depth); }

#define TABLED 4096 /* rows or columns at most, when depth is little */

static int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/* `size` cut into as few parts as `most` allows, all about equal, in whole units. */
static int64_t even(int64_t size, int64_t most, int64_t unit)
{
    if (size <= most) {
        return round_up(size, unit);
    }
    const int64_t parts = size / most + (size % most != 0 ? 1 : 0);
    return round_up(size / parts + (size % parts != 0 ? 1 : 0), unit);
}

/* Most that fit, in whole units; offsets are tabled for no more. */
static int64_t fitting(int64_t bytes, int64_t kc, int64_t element, int64_t unit)
{
    const int64_t most = bytes / (kc * element);
    return (most < TABLED ? most : TABLED) / unit * unit;
}

static uint64_t least(uint64_t x, uint64_t y) { return x < y ? x : y; }

static uint64_t offsets_bytes(int64_t count) { return tnri_product_lines(2 * (uint64_t)count * sizeof(int64_t)); }

/* Packed bytes of so many rows or columns. */
static uint64_t packed_bytes(int64_t kc, int64_t count, int64_t element, uint64_t most)
{
    return tnri_product_lines(least((uint64_t)kc * (uint64_t)count * (uint64_t)element, most));
}

/* Room for blocks whose packed parts take no more than the most that they may. */
static void measure(tnri_product_blocks *blocks, int64_t element, int64_t depth)
{
    const int64_t kc = blocks->kc;
    const uint64_t block = (uint64_t)block_bytes(depth);
    const uint64_t panel = (uint64_t)panel_bytes(depth);
    if (blocks->one_block) {
        blocks->shared_bytes = packed_bytes(kc, blocks->nc, element, block) + offsets_bytes(blocks->nc + kc);
        blocks->lane_bytes =
            packed_bytes(kc, blocks->rows_room, element, UINT64_MAX) + offsets_bytes(TNRI_PRODUCT_ROWS_TABLED);
    } else {
        blocks->shared_bytes = packed_bytes(kc, blocks->mc, element, panel) + offsets_bytes(blocks->mc + kc);
        blocks->lane_bytes = packed_bytes(kc, blocks->nc, element, block) + offsets_bytes(blocks->nc);
    }
}

tnri_product_blocks tnri_product_choose_blocks(const tnri_product_kernel *kernel, tnr_dtype dtype, int64_t m, int64_t n,
                                               int64_t k)
{
    const int64_t element = (int64_t)tnr_dtype_size(dtype);
    const int64_t depth = kernel->depth;
    const int64_t rows_bytes = tnri_product_rows_bytes(depth);
    tnri_product_blocks blocks;
    blocks.kc = even(k, depth, 4);
    const int64_t columns = fitting(block_bytes(depth), blocks.kc, element, kernel->nr);
    blocks.one_block = n <= columns;
    blocks.nc = blocks.one_block ? round_up(n, kernel->nr) : columns;
    blocks.mc = even(m, fitting(panel_bytes(depth), blocks.kc, element, kernel->mr), kernel->mr);
    const int64_t micro = blocks.kc * kernel->mr * element; /* bytes of a micro-panel */
    const int64_t at_once = micro < rows_bytes ? rows_bytes / micro * kernel->mr : kernel->mr;
    const int64_t most =
        at_once < TNRI_PRODUCT_ROWS_TABLED ? at_once : TNRI_PRODUCT_ROWS_TABLED / kernel->mr * kernel->mr;
    blocks.rows_at_once = m < most ? round_up(m, kernel->mr) : most;
    const int64_t lines =
        (int64_t)least((uint64_t)(across_bytes(depth) / micro), TNRI_PRODUCT_ACROSS_LINE / (uint64_t)element);
    const int64_t across = lines * kernel->mr;
    const int64_t whole = m < across ? round_up(m, kernel->mr) : across;
    blocks.rows_room = whole > blocks.rows_at_once ? whole : blocks.rows_at_once;
    measure(&blocks, element, depth);
    return blocks;
}

/*
 * The most that products of up to these extents take by kernels of any source, whose tiles have at most TNRI_PRODUCT_TILE rows and columns.
 * Less depth leaves room for more rows and columns, in no more bytes.
 */
static uint64_t most_bytes(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, int lanes)
{
    const int64_t element = (int64_t)tnr_dtype_size(dtype);
    const int64_t tile = TNRI_PRODUCT_TILE;
    const int64_t depth = tnri_product_kernel_of(tnri_isa_best(), dtype)->depth;
    const int64_t kc = k < depth ? round_up(k, 4) : depth;
    const uint64_t block_most = (uint64_t)block_bytes(depth);
    const uint64_t across_most = (uint64_t)across_bytes(depth); /* more than other rows take at once */
    /* rounded up to the tile that fits worst */
    const int64_t rows = m < TABLED - tile ? m + tile - 1 : TABLED;
    const int64_t columns = n < TABLED - tile ? n + tile - 1 : TABLED;
    const uint64_t micro = (uint64_t)kc * (uint64_t)tile * (uint64_t)element;
    const uint64_t at_once =
        least(micro > across_most ? micro : across_most, packed_bytes(kc, rows, element, UINT64_MAX));
    const uint64_t shared_block =
        packed_bytes(kc, columns, element, block_most) + offsets_bytes(columns + kc) +
        (uint64_t)lanes * (tnri_product_lines(at_once) + offsets_bytes(TNRI_PRODUCT_ROWS_TABLED));
    if (n <= fitting(block_bytes(depth), kc, element, 1) - tile) {
        return shared_block;
    }
    const uint64_t shared_panel =
        packed_bytes(kc, rows, element, (uint64_t)panel_bytes(depth)) + offsets_bytes(rows + kc) +
        (uint64_t)lanes * (packed_bytes(kc, columns, element, block_most) + offsets_bytes(columns));
    return shared_block > shared_panel ? shared_block : shared_panel;
}

uint64_t tnri_product_bytes(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, int lanes)
{
    const uint64_t one = most_bytes(dtype, m, n, k, lanes);
    const uint64_t other = most_bytes(dtype, n, m, k, lanes); /* either operand may be the one that rows are of */
    return one > other ? one : other;
}
