/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products of strided operands: c = alpha * a * b + beta * c, summed over the indices that a and b share and c lacks.
 *
 * Axes come in groups: m (in a and c), n (in b and c), k (in a and b) and batch (in all three). A matrix product has one axis in
 * each of the first three. Nothing asks that a group's axes lie regularly: offsets are tabled a block at a time, and where
 * neighbours turn up in these tables kernels use it.
 *
 * Terms, as in papers on BLIS (product_loops.c names them):
 *
 *   tile          mr x nr elements of c, in registers while k passes by; made by a micro-kernel
 *   kc            products that are summed before they are put into c: k is cut in parts of at most so many
 *   micro-panel   what a tile reads of an operand: mr rows of a, or nr columns of b, for one part of k; packed, their elements for
 *                 each k are side by side
 *   block         micro-panels of up to nc columns of b, which stay in a second-level cache
 *   panel         micro-panels of up to mc rows of a, which stay in a third-level cache
 *   macro-kernel  a micro-panel of rows by a block of columns
 *   in place      read where it lies, not packed
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

/* Where a walk over a group is: offsets in elements of each operand. {0} is its first index. */
typedef struct tnri_product_place {
    int64_t a, b, c;
    int64_t index[TNRI_PRODUCT_RANK];
} tnri_product_place;

/* On to the next index; false, and back at the first, after the last. */
static inline bool tnri_product_step_on(const tnri_product_axes *axes, tnri_product_place *at)
{
    for (int i = 0; i < axes->rank; ++i) {
        at->a += axes->a[i];
        at->b += axes->b[i];
        at->c += axes->c[i];
        if (++at->index[i] < axes->extents[i]) {
            return true;
        }
        at->index[i] = 0;
        at->a -= axes->a[i] * axes->extents[i];
        at->b -= axes->b[i] * axes->extents[i];
        at->c -= axes->c[i] * axes->extents[i];
    }
    return false;
}

/* At the index of that number. */
static inline void tnri_product_place_at(const tnri_product_axes *axes, int64_t number, tnri_product_place *at)
{
    at->a = 0;
    at->b = 0;
    at->c = 0;
    for (int i = 0; i < axes->rank; ++i) {
        at->index[i] = number % axes->extents[i];
        number /= axes->extents[i];
        at->a += at->index[i] * axes->a[i];
        at->b += at->index[i] * axes->b[i];
        at->c += at->index[i] * axes->c[i];
    }
}

/* Blocks of the loops, in elements, and what they need of scratch. */
typedef struct tnri_product_blocks {
    bool one_block; /* of all columns, which lanes share; else they share a panel of rows */
    int64_t mc, kc, nc;
    int64_t rows_at_once;  /* that a lane packs, where there is one block */
    int64_t rows_room;     /* and for how many it has room: those that are packed across */
    uint64_t shared_bytes; /* what lanes share: b's block, or a's panel, and offsets */
    uint64_t lane_bytes;   /* of one lane: micro-panels of a and offsets along m, or a block of b and offsets along n */
} tnri_product_blocks;

/* Of a cache. */
#define TNRI_PRODUCT_LINE 64

/* Rows and columns that a tile may have. */
#define TNRI_PRODUCT_TILE 48

/* Operands of so few bytes are taken to be in a second-level cache. */
#define TNRI_PRODUCT_NEAR 262144

/* Rows whose offsets a lane has at hand. */
#define TNRI_PRODUCT_ROWS_TABLED 512

/* Bytes of a line across micro-panels: a few of a cache's, which come faster. */
#define TNRI_PRODUCT_ACROSS_LINE 256

static inline uint64_t tnri_product_lines(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/* How a product is made. */
typedef enum tnri_product_way {
    TNRI_PRODUCT_NOTHING, /* the result has no element */
    TNRI_PRODUCT_SCALE,   /* neither a nor b is read */
    TNRI_PRODUCT_ZIP,     /* element by element along the batch, summed over k */
    TNRI_PRODUCT_ITEMS,   /* operands as they lie, one item of the batch after another */
    TNRI_PRODUCT_BLOCKS   /* packed */
} tnri_product_way;

typedef struct tnri_product {
    tnr_dtype dtype;
    tnri_finish finish;
    tnri_product_axes m, n, k, batch; /* k alone may have a size of 0 where there is something to do */
    /* Set by tnri_product_prepare. */
    tnri_product_way way;
    bool turned; /* a and b, and with them m and n, have changed places */
    bool across; /* a's neighbours are along the last axis of m, the result's are not (product_shared_across.c) */
    const tnri_product_kernel *kernel;
    tnri_gemm_kernel items_kernel;
    tnri_product_blocks blocks;
    /* Set by tnri_product_run. */
    int lanes;
    const void *a;
    const void *b;
    void *c;
} tnri_product;

/* Blocks for a product of that size, none 0. Pure. Sums are cut at kc, which k alone decides. */
tnri_product_blocks tnri_product_choose_blocks(const tnri_product_kernel *kernel, tnr_dtype dtype, int64_t m, int64_t n,
                                               int64_t k);

/* So many bytes of rows are packed at once where all columns are near, by a kernel of that depth. */
int64_t tnri_product_rows_bytes(int64_t depth);

/*
 * Scratch with which tnri_product_run makes every product of up to m x n x k, none 0, whose operands are packed, on `lanes` lanes,
 * whichever operand takes which part; and what it takes for one of exactly that size.
 */
uint64_t tnri_product_bytes(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, int lanes);

/* Products of up to so many multiplications whose groups are one axis each are never packed. */
#define TNRI_PRODUCT_TINY 1000

/* m * n * k, or 2^20 at least when it is more: enough to choose by, without overflow. */
static inline int64_t tnri_product_work(int64_t m, int64_t n, int64_t k)
{
    const int64_t most = INT64_C(1) << 20;
    return (m < most ? m : most) * (n < most ? n : most) * (k < most ? k : most);
}

const tnri_product_kernel *tnri_product_kernel_of(tnri_isa isa, tnr_dtype dtype);

/* The kernels that options and environment ask for: TNR_ERR_UNSUPPORTED, TNR_ERR_ARGUMENT for an unknown word. (product_source.c) */
tnr_status tnri_product_source_take(const char *op, tnr_product_source source, tnri_isa isa,
                                    const tnri_product_table **products);
const char *tnri_product_source_name(const tnri_product_table *products);

/*
 * The library's kernels with BLIS's tiles; NULL: not built in, or they are not right. *native: they are written for this processor.
 * (product_blis.c; product_blis_none.c)
 */
const tnri_product_table *tnri_product_blis(const tnri_product_table *own, bool *native);

/* Two matrices of one dtype that can be multiplied. (matmul.c) */
tnr_status tnri_matmul_refuse(const char *op, const tnr_view *a, const tnr_view *b) TNRI_COLD;
static inline tnr_status tnri_matmul_check(const char *op, const tnr_view *a, const tnr_view *b)
{
    const bool fit = tnri_view_plausible(a) && tnri_view_plausible(b) && a->dtype == b->dtype && a->rank == 2 &&
                     b->rank == 2 && a->shape[1] == b->shape[0];
    return TNRI_LIKELY(fit) ? TNR_OK : tnri_matmul_refuse(op, a, b);
}

static inline bool tnri_is_complex(tnr_dtype dtype) { return dtype == TNR_C32 || dtype == TNR_C64; }

/* Products are of floats. */
static inline bool tnri_has_product(tnr_dtype dtype)
{
    return (dtype == TNR_F32 && TNRI_HAS_F32) || (dtype == TNR_F64 && TNRI_HAS_F64) ||
           (dtype == TNR_C32 && TNRI_HAS_C32) || (dtype == TNR_C64 && TNRI_HAS_C64);
}

/* Options checked, or the defaults for NULL. (product_options.c) */
tnr_status tnri_finish_from(const char *op, const tnr_product_options *options, tnr_dtype dtype, bool into,
                            tnri_finish *finish);
static inline tnr_status tnri_finish_take(const char *op, const tnr_product_options *options, tnr_dtype dtype,
                                          bool into, tnri_finish *finish)
{
    if (options == NULL) {
        *finish = (tnri_finish){.plain = true, .overwrite = true, .alpha = {1.0, 0.0}};
        return TNR_OK;
    }
    return tnri_finish_from(op, options, dtype, into, finish);
}

/* Choose the way, for an engine and whatever data come. Everything above the line in the struct is set. */
void tnri_product_prepare(const tnr_engine *engine, tnri_product *product);

/* Axes of a product by blocks, whose blocks are chosen, in the order in which they are taken: for it, and across. (product_order.c) */
void tnri_product_order(tnri_product *product);

/* What a prepared product takes of scratch on so many lanes. */
uint64_t tnri_product_scratch(const tnri_product *product, int lanes);

/* The same on the engine's device. (device.c) */
tnr_status tnri_product_run_on_device(tnr_engine *engine, const tnri_product *product, const void *a, const void *b,
                                      void *c) TNRI_COLD;

/* Compute it; a, b and c as they were before any turning. Fails, before the first write, only where scratch is missing. */
tnr_status tnri_product_run(tnr_engine *engine, tnri_product *product, const void *a, const void *b, void *c);

/*
 * A product of two matrices without any of that, where it is small and one kernel makes it in place, the same one as by the above: false,
 * and nothing is done, where not. Steps along extents of 1 are 0.
 */
bool tnri_product_run_at_once(const tnr_engine *engine, tnr_dtype dtype, const tnri_gemm *gemm);

/* Of a prepared product a part has become, by blocks: lanes and blocks anew. */
void tnri_product_choose_part(const tnr_engine *engine, tnri_product *part);

/* The same by several engines, for the first of which it was prepared. (product_company.c) */
struct tnri_company;
tnr_status tnri_product_run_by(const struct tnri_company *company, tnri_product *product, const void *a, const void *b,
                               void *c);

/* ---- Ways (product_loops.c, product_items.c, product_zip.c, product_scale.c) ----------------------------------------------------- */

/*
 * One product, or the parts of one that several engines make, in rooms of tnri_product_scratch: each engine its own, all in the same
 * rounds. Their sums over k are cut alike.
 */
void tnri_product_run_blocks(int count, tnr_engine *const *engines, const tnri_product *products, void *const *rooms);
tnri_gemm tnri_product_gemm(const tnri_product *product); /* of the first run along k of the first item */
void tnri_product_run_items(tnr_engine *engine, const tnri_product *product);
void tnri_product_run_zip(tnr_engine *engine, const tnri_product *product);
void tnri_product_run_scale(tnr_engine *engine, const tnri_product *product);

/* ---- Tables of offsets (product_offsets.c) --------------------------------------------------------------------------------------- */

/* Offsets of indices first..first+count-1 of a group, by each of two lists of steps. */
void tnri_product_offsets(const tnri_product_axes *axes, const int64_t *first_steps, const int64_t *second_steps,
                          int64_t first, int64_t count, int64_t *first_offsets, int64_t *second_offsets);

/* All have the same step, *step. */
bool tnri_offsets_regular(const int64_t *offsets, int64_t count, int64_t *step);

/* Within each micro-panel of that width they are neighbours; within each whole one they have the same step, and there is one. */
bool tnri_offsets_micro_unit(const int64_t *offsets, int64_t count, int width);
bool tnri_offsets_micro_regular(const int64_t *offsets, int64_t count, int width, int64_t *step);

/* ---- Shared by the ways (product.c) ---------------------------------------------------------------------------------------------- */

/* Part `part` of `count` cut into `parts` runs of whole units. */
void tnri_product_part(int64_t count, int64_t unit, int64_t parts, int64_t part, int64_t *begin, int64_t *end);

/* What comes of the next part of k is added to what is there. */
void tnri_product_add_next(tnri_finish *finish);

/* The step along a group's first axis; 0 for a group of one index. */
static inline int64_t tnri_product_step(const tnri_product_axes *axes, const int64_t *steps)
{
    return axes->rank == 0 ? 0 : steps[0];
}

#endif /* TENURE_ENGINE_PRODUCT_INTERNAL_H */
