/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products of strided operands: c = alpha * a * b + beta * c, summed over the indices that a and b share and c lacks.
 *
 * Axes come in groups: m (in a and c), n (in b and c), k (in a and b) and batch (in all three). A matrix product has one axis in
 * each of the first three. Nothing asks that a group's axes lie regularly: offsets are tabled a block at a time, and where
 * neighbours turn up in these tables kernels use it.
 */
#ifndef TENURE_ENGINE_PRODUCT_INTERNAL_H
#define TENURE_ENGINE_PRODUCT_INTERNAL_H

#include "kernels/product_kernels.h"

/* A summed group may have all axes of both operands. */
#define TNRI_PRODUCT_RANK (2 * TNR_MAX_RANK)

/* One group: steps in elements; the first axis varies fastest. */
typedef struct tnri_product_axes {
    int rank;     /* 0: one index */
    int64_t size; /* product of the extents */
    int64_t extents[TNRI_PRODUCT_RANK];
    int64_t a[TNRI_PRODUCT_RANK]; /* 0 where the group is not in that operand */
    int64_t b[TNRI_PRODUCT_RANK];
    int64_t c[TNRI_PRODUCT_RANK];
} tnri_product_axes;

/* A group of one axis; entries beyond the rank stay unset. */
static inline void tnri_product_one(tnri_product_axes *axes, int64_t extent, int64_t a, int64_t b, int64_t c)
{
    axes->rank = extent == 1 ? 0 : 1; /* the step along one element means nothing */
    axes->size = extent;
    axes->extents[0] = extent;
    axes->a[0] = a;
    axes->b[0] = b;
    axes->c[0] = c;
}

typedef struct tnri_product {
    tnr_dtype dtype;
    tnri_finish finish;
    tnri_product_axes m, n, k, batch; /* k alone may have a size of 0 */
    const void *a;
    const void *b;
    void *c;
} tnri_product;

/* Blocks of the three loops, in elements, and what they need of scratch. */
typedef struct tnri_product_blocks {
    int64_t mc, kc, nc;
    uint64_t shared_bytes; /* packed b, and offsets along n and k */
    uint64_t lane_bytes;   /* packed a, and offsets along m, of one lane */
} tnri_product_blocks;

/* Blocks for a product of that size, none 0. Pure. Sums are cut at kc, which k alone decides. */
tnri_product_blocks tnri_product_choose_blocks(const tnri_product_kernel *kernel, tnr_dtype dtype, int64_t m, int64_t n,
                                               int64_t k);

/*
 * Scratch with which tnri_product_run makes every product of up to m x n x k, none 0, whose operands are packed, on `lanes` lanes,
 * whichever operand takes which part; and what it takes for one of exactly that size.
 */
uint64_t tnri_product_bytes(const tnri_product_kernel *kernel, tnr_dtype dtype, int64_t m, int64_t n, int64_t k,
                            int lanes);

/* Products of up to so many multiplications whose groups are one axis each are never packed. */
#define TNRI_PRODUCT_TINY 1000

/* m * n * k, or 2^20 at least when it is more: enough to choose by, without overflow. */
static inline int64_t tnri_product_work(int64_t m, int64_t n, int64_t k)
{
    const int64_t most = INT64_C(1) << 20;
    return (m < most ? m : most) * (n < most ? n : most) * (k < most ? k : most);
}

const tnri_product_kernel *tnri_product_kernel_of(tnri_isa isa, tnr_dtype dtype);

/* Products are of floats. */
bool tnri_has_product(tnr_dtype dtype);

/* Options, which may be NULL, checked. */
tnr_status tnri_finish_take(const char *op, const tnr_product_options *options, tnr_dtype dtype, bool into,
                            tnri_finish *finish);

/* Compute it; alpha 0 or no k reads neither a nor b. Fails, before the first write, only where scratch is missing. */
tnr_status tnri_product_run(tnr_engine *engine, tnri_product *product);

#endif /* TENURE_ENGINE_PRODUCT_INTERNAL_H */
