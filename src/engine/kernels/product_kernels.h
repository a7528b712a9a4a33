/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of matrix products: register tiles, the packing that feeds them, and small products that need none.
 *
 * A tile is `mr` rows by `nr` columns of the result, held in registers over the whole of k. What it reads is
 *
 *   packed a: micro-panels of mr rows; per k the mr elements side by side
 *   packed b: micro-panels of nr columns; per k the nr elements side by side
 *
 * or a in place, where its rows are neighbours. Complex elements stay pairs everywhere: with a seen as twice as many real rows
 * and b as twice as many real columns, the real tile makes all four products of parts, and a finish puts them together. So one
 * tile serves real and complex numbers, packing knows elements by their size alone, and conjugation is a sign at the end.
 *
 * Tiles, small, gathered, tiny and by_columns sum over k in order, each of the products of parts for itself, from 0, with one rounding per
 * step where the instruction set has fused multiply and add (v3, v4, NEON, Cortex-M7) and with two elsewhere; alpha, beta and the two halves of a
 * complex product come after that, each with a rounding of its own. So an element is the same by each of them, and wherever it lies in
 * a tile, up to where the loops around tiles cut k (kc): with any compiler, for fusing is written (fused.inl.h). by_rows makes partial
 * sums, as many as vectors hold; zip adds in k's order, but complex numbers as a whole; outer fuses the second product of parts to the first,
 * and both to c where that is added to. A way's results do not depend on who
 * shares the work; those of different ways, and of instruction sets that differ in the above, may differ in their last bits.
 */
#ifndef TENURE_ENGINE_PRODUCT_KERNELS_H
#define TENURE_ENGINE_PRODUCT_KERNELS_H

#include "../engine_internal.h"

/* Offsets that are all neighbours. */
static inline bool tnri_offsets_unit(const int64_t *offsets, int64_t count)
{
    for (int64_t i = 1; i < count; ++i) {
        if (offsets[i] != offsets[0] + i) {
            return false;
        }
    }
    return true;
}

/* What becomes of sums of products: c = alpha * sum + beta * c. */
typedef struct tnri_finish {
    bool nothing;   /* alpha is 0: neither a nor b is read */
    bool plain;     /* alpha is 1 and beta 0 */
    bool overwrite; /* beta is 0: c is not read */
    bool add;       /* alpha and beta are 1 */
    bool keep;      /* beta is 1: c is not multiplied, so an infinite one stays what it is */
    bool conjugate_a;
    bool conjugate_b;
    tnr_c64 alpha, beta; /* as the dtype rounds them; real for real dtypes */
} tnri_finish;

/* Of k, between which a tile asks for what comes later: often enough for requests to come a few at a time. */
#define TNRI_PRODUCT_FETCH_STEPS 16

/* A tile's place in the result. Steps and offsets in elements. */
typedef struct tnri_tile {
    void *c;                /* offsets count from here */
    const int64_t *rows;    /* offset of each row */
    const int64_t *columns; /* offset of each column */
    int m, n;               /* live rows and columns: what is beyond is not written */
    bool unit;              /* the rows are neighbours */
    uintptr_t next;         /* what is fetched from here on meanwhile is for later tiles: */
    int next_lines;         /* so many cache lines for every TNRI_PRODUCT_FETCH_STEPS of k, or part of them */
} tnri_tile;

/*
 * A product of operands that lie regularly: m x k by k x n. Steps in elements. Kernels form the addresses of elements that exist and
 * no others: steps along extents of 1 mean nothing.
 */
typedef struct tnri_gemm {
    tnri_finish finish;
    int64_t m, n, k; /* >= 1 */
    const void *a;
    int64_t a_row, a_column;
    const void *b;
    int64_t b_row, b_column;
    void *c;
    int64_t c_row, c_column;
} tnri_gemm;

typedef void (*tnri_gemm_kernel)(const tnri_gemm *gemm);

/* An operand that is gathered on the stack. */
#define TNRI_GATHERED_BYTES 16384
#define TNRI_GATHERED_EXTENT 128

/* The kernels of one dtype. */
typedef struct tnri_product_kernel {
    int mr, nr; /* of a tile, in elements */
    int step;   /* elements of a vector */
    int few;    /* rows from which on `small` is worth it */
    int depth;  /* kc: products that are summed before they are put into c */
    /* From packed micro-panels. */
    void (*tile)(int64_t k, const void *a, const void *b, const tnri_tile *tile, const tnri_finish *finish);
    /* The same from operands in place, rows of a being neighbours: all mr rows and all nr columns are read. NULL: not offered. */
    void (*tile_in_place)(int64_t k, const void *a, int64_t a_column, const void *b, int64_t b_row, int64_t b_column,
                          const tnri_tile *tile, const tnri_finish *finish);
    /* The end of a tile whose sums another has made: columns of `rows` reals, a complex column being two of them. */
    void (*finish)(const void *sums, int rows, const tnri_tile *tile, const tnri_finish *finish);
    /* Without packing anything: rows of a and of c are neighbours. */
    tnri_gemm_kernel small;
    /* The same where rows of a are no neighbours: they are gathered first. m and k to TNRI_GATHERED_EXTENT, a to TNRI_GATHERED_BYTES. */
    tnri_gemm_kernel gathered;
    /* n is 1: rows of a are neighbours. */
    tnri_gemm_kernel by_columns;
    /* n is 1: best where elements of a and of b along k are neighbours. */
    tnri_gemm_kernel by_rows;
    /* k is 1: rows of a and of c are neighbours, m >= step. */
    tnri_gemm_kernel outer;
    /* Without packing, vectors or a question asked. */
    tnri_gemm_kernel tiny;
    /* c = alpha * (a * b, summed over `depth` of k) + beta * c, element by element. Offsets of k in elements. */
    void (*zip)(const tnri_finish *finish, int64_t count, int64_t depth, const void *a, int64_t a_step,
                const int64_t *k_in_a, const void *b, int64_t b_step, const int64_t *k_in_b, void *c, int64_t c_step);
    /* c = beta * c. */
    void (*scale)(const tnri_finish *finish, int64_t count, void *c, int64_t c_step);
    /*
     * Pack `count` rows (of a; columns of b) by `depth` of k in micro-panels of `width`, filled up with zeros. Offsets in elements from
     * `from`; `unit`: the rows are neighbours; `unit_depth`: those of k are.
     */
    void (*pack)(void *to, const void *from, const int64_t *rows, int64_t count, bool unit, const int64_t *depths,
                 int64_t depth, bool unit_depth, int width);
    /*
     * Pack `live` rows, each with the `lines` - 1 ones that are its neighbours, as a micro-panel of `width` for the rows, one for their
     * first neighbours, and so on.
     */
    void (*pack_across)(void *to, const void *from, const int64_t *rows, int live, int lines, const int64_t *depths,
                        int64_t depth, int width);
} tnri_product_kernel;

typedef struct tnri_product_table {
    tnri_product_kernel of[TNR_DTYPE_END];
} tnri_product_table;

TNRI_ISA_DECLARE(tnri_product_table, tnri_product_kernels);

#endif /* TENURE_ENGINE_PRODUCT_KERNELS_H */
