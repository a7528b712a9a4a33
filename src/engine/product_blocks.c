/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes of blocks, after Low, Igual, Smith and Quintana-Orti, "Analytical modeling is enough for high-performance BLIS", ACM TOMS 43
 * (2016), roundly: a slice of b and one of a share the first-level cache, a block of a takes half the second, b half the third.
 */
#include "product_internal.h"

#define DEPTH 256         /* kc: a slice has as many bytes per k for every dtype */
#define MOST_COLUMNS 4096 /* nc: b's block is read once from memory for each block of a; more buys nothing */
#define NO_L3_BYTES (4 << 20)

static int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static int64_t at_least(int64_t value, int64_t least) { return value < least ? least : value; }

/* `size` cut into as few parts as `most` allows, all about equal, in whole units. */
static int64_t even(int64_t size, int64_t most, int64_t unit)
{
    const int64_t parts = (size + most - 1) / most;
    return round_up((size + parts - 1) / parts, unit);
}

static uint64_t lines(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

tnri_product_blocks tnri_product_choose_blocks(const tnri_product_kernel *kernel, tnr_dtype dtype, int64_t m, int64_t n,
                                               int64_t k, uint64_t l2_bytes, uint64_t l3_bytes)
{
    const int64_t element = (int64_t)tnr_dtype_size(dtype);
    tnri_product_blocks blocks;
    blocks.kc = even(k, DEPTH, 4);
    const int64_t rows = (int64_t)(l2_bytes / 2) / (blocks.kc * element);
    blocks.mc = even(m, at_least(rows / kernel->mr * kernel->mr, kernel->mr), kernel->mr);
    const int64_t columns = (int64_t)((l3_bytes > 0 ? l3_bytes : NO_L3_BYTES) / 2) / (blocks.kc * element);
    const int64_t most = columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
    blocks.nc = even(n, at_least(most / kernel->nr * kernel->nr, kernel->nr), kernel->nr);
    const uint64_t kc = (uint64_t)blocks.kc;
    const uint64_t mc = (uint64_t)blocks.mc;
    const uint64_t nc = (uint64_t)blocks.nc;
    blocks.shared_bytes =
        lines(kc * nc * (uint64_t)element) + lines(2 * nc * sizeof(int64_t)) + lines(2 * kc * sizeof(int64_t));
    blocks.lane_bytes =
        lines(kc * mc * (uint64_t)element) + lines(2 * mc * sizeof(int64_t)) + lines(mc / (uint64_t)kernel->mr);
    return blocks;
}
