/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes of blocks, after Low, Igual, Smith and Quintana-Orti, "Analytical modeling is enough for high-performance BLIS", ACM TOMS 43
 * (2016), roundly, and the same on every machine, so that what a product needs can be told beforehand: a slice of each operand
 * shares a first-level cache of 32 KiB, a block of a takes half a second-level one of 512 KiB, a block of b is for the third.
 */
#include "product_internal.h"

#define DEPTH 256 /* kc: a slice has as many bytes per k for every dtype */
#define ROWS_BYTES (256 << 10)
#define COLUMNS_BYTES (4 << 20)

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

static uint64_t lines(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

tnri_product_blocks tnri_product_choose_blocks(const tnri_product_kernel *kernel, tnr_dtype dtype, int64_t m, int64_t n,
                                               int64_t k)
{
    const int64_t element = (int64_t)tnr_dtype_size(dtype);
    tnri_product_blocks blocks;
    blocks.kc = even(k, DEPTH, 4);
    blocks.mc = even(m, ROWS_BYTES / (DEPTH * element) / kernel->mr * kernel->mr, kernel->mr);
    blocks.nc = even(n, COLUMNS_BYTES / (DEPTH * element) / kernel->nr * kernel->nr, kernel->nr);
    const uint64_t kc = (uint64_t)blocks.kc;
    const uint64_t mc = (uint64_t)blocks.mc;
    const uint64_t nc = (uint64_t)blocks.nc;
    const uint64_t offset = sizeof(int64_t);
    blocks.shared_bytes = lines(kc * nc * (uint64_t)element) + lines(2 * (nc + kc) * offset);
    blocks.lane_bytes = lines(kc * mc * (uint64_t)element) + lines(2 * mc * offset + mc / (uint64_t)kernel->mr);
    return blocks;
}

/* Blocks of the largest product are the largest, but for cuts that come out even: so with the most that these may be. */
static int64_t least(int64_t size, int64_t most) { return size < most ? size : most; }

uint64_t tnri_product_bytes(const tnri_product_kernel *kernel, tnr_dtype dtype, int64_t m, int64_t n, int64_t k,
                            int lanes)
{
    const int64_t element = (int64_t)tnr_dtype_size(dtype);
    const int64_t rows = ROWS_BYTES / (DEPTH * element) / kernel->mr * kernel->mr;
    const int64_t columns = COLUMNS_BYTES / (DEPTH * element) / kernel->nr * kernel->nr;
    uint64_t most = 0;
    for (int turned = 0; turned < 2; ++turned) { /* either operand may be the one that rows are of */
        const tnri_product_blocks blocks = tnri_product_choose_blocks(kernel, dtype, least(turned ? n : m, rows),
                                                                      least(turned ? m : n, columns), least(k, DEPTH));
        const uint64_t bytes = blocks.shared_bytes + (uint64_t)lanes * blocks.lane_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}
