/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What reduce.c and reduce_arg.c tell their kernels, and the tables of these.
 *
 * Terms of one output are rows of columns. A tile is up to TILE_ROWS successive rows, added up column by column; tiles are
 * joined pairwise, two and two and so on; last, where the columns are one output's, they are folded into one.
 *
 *   lines   the source's shortest step goes away: a row is `columns` neighbours along that axis, all of one output
 *
 *           | row 0        | row 1        | ...  | tail |     next line
 *           |-- columns ---|
 *
 *   strips  it stays: a row is one term each of many outputs; where these are few and the rows lie end to end, they are taken
 *           as lines in which the outputs take turns; where short lines go and another axis outside of the outputs, a term of
 *           the strip is what became of a line
 *
 * All of this follows from shape and layout alone. Tiles are numbered through, and the tree over a run of 2^k of them that
 * begins at a multiple of 2^k is a subtree of the whole: so work may be cut there without changing a bit of the result.
 */
#ifndef TENURE_ENGINE_REDUCE_KERNELS_H
#define TENURE_ENGINE_REDUCE_KERNELS_H

#include "../engine_internal.h"

/* Rows of a tile: its error is that of TILE_ROWS - 1 additions, and of TILE_ROWS in the last tile of a line. */
#define TILE_ROWS 16

/* Bytes of a full row of a line: whatever the instruction set, so that the order of additions is the same. */
#define ROW_BYTES 256

/*
 * Strips at least so wide are taken SWEEP_ROWS rows at a time from end to end: so many streams at once, all read in order, are
 * what memory likes best. SWEEP_VECTORS are a cache line.
 */
#define SWEEP_BYTES 1024
#define SWEEP_ROWS (TILE_ROWS / 2)
#define SWEEP_VECTORS (64 / VECTOR_BYTES)

/* Rows of accumulators that eight tiles of a line need on their way. */
#define OCTET_SLOTS 3

/*
 * Partial results of one piece, on its stack: what is there decides how wide strips are, and wide strips read memory in longer
 * runs. Norms need it twice, and LINE_LEVELS_BYTES, where squares leave the range.
 */
#if TNRI_SMALL
#define PARTIAL_BYTES 2048
#elif TNRI_THREADS
#define PARTIAL_BYTES 49152
#define LINE_LEVELS_BYTES 16384
#else
#define PARTIAL_BYTES 8192
#define LINE_LEVELS_BYTES 8192
#endif

/* Small builds: what a term does to an accumulator (reduce_small_kernels.c). */
typedef struct tnri_reduce_terms tnri_reduce_terms;

/* How outputs come from their terms. Steps in bytes, of the source. */
typedef struct tnri_reduction tnri_reduction;
struct tnri_reduction {
    bool lines;
    bool short_line;                /* lines: one row, and not a whole one, is all there is */
    int rank;                       /* of rows, >= 1; axis 0 is the one that tiles are cut from */
    int64_t shape[TNR_MAX_RANK];    /* rows */
    int64_t strides[TNR_MAX_RANK];  /* from row to row */
    int64_t across;                 /* from column to column */
    int64_t columns;                /* lines: columns of a row */
    int64_t group;                  /* lines: outputs that take turns in a row; 1: all of it is one output's */
    int64_t tail;                   /* lines: columns of one more row behind the last of axis 0 */
    int64_t line_tiles;             /* tiles along axis 0 */
    int64_t tiles;                  /* in all */
    int64_t strip;                  /* strips: most outputs side by side */
    double scale;                   /* what terms are multiplied by, where the operation does that */
    const tnri_reduce_terms *terms; /* the reducer's */
    const tnri_reduction *inner; /* strips: each term is itself the result of this line of one tile; NULL: an element */
};

/* One operation on one dtype. */
typedef struct tnri_reducer {
    /* Outputs out, out + out_step, ... of the terms that begin at a, a + a_step, ... */
    void (*outputs)(const tnri_reduction *r, char *out, int64_t out_step, const char *a, int64_t a_step, int64_t count);
    /* The same in two steps, for several threads (NULL in small builds): a subtree's partial result, `columns` accumulators, aligned to 64 bytes; and what comes of them. */
    void (*partial)(const tnri_reduction *r, const char *a, int64_t columns, int64_t first, int64_t tiles,
                    void *result);
    /* `blocks` partial results that lie `pitch` bytes apart, which are lost. strips: of `columns` outputs; lines: of one. */
    void (*merge)(const tnri_reduction *r, char *out, int64_t out_step, const char *a, int64_t a_step, int64_t columns,
                  char *partials, int64_t blocks, int64_t pitch);
    const tnri_reduce_terms *terms; /* small builds; else NULL */
} tnri_reducer;

/* Most outputs that an arg kernel looks at side by side. */
#if TNRI_SMALL
#define ARG_COLUMNS 16
#else
#define ARG_COLUMNS 128
#endif

/* What is known of `columns` outputs: the best so far and where it is. Values have 8 bytes each, of which the dtype takes its
 * own first ones. */
typedef struct tnri_arg_best {
    int64_t index[ARG_COLUMNS];
    _Alignas(64) char values[8 * ARG_COLUMNS];
} tnri_arg_best;

/* argmax or argmin of one dtype. Rows are steps along the axis. */
typedef struct tnri_arg_kernel {
    /* Look at `rows` >= 1 rows, the first of which is number `first` and begins at a. */
    void (*look)(const char *a, int64_t step, int64_t first, int64_t rows, int64_t across, int64_t columns,
                 tnri_arg_best *best);
    /* What was found in later rows. */
    void (*merge)(tnri_arg_best *best, const tnri_arg_best *later, int64_t columns);
} tnri_arg_kernel;

typedef struct tnri_reduce_table {
    tnri_reducer reducers[TNRI_REDUCE_END][TNR_DTYPE_END];
    tnri_arg_kernel argmax[TNR_DTYPE_END];
    tnri_arg_kernel argmin[TNR_DTYPE_END];
} tnri_reduce_table;

TNRI_ISA_DECLARE(tnri_reduce_table, tnri_reduce_kernels);

#endif /* TENURE_ENGINE_REDUCE_KERNELS_H */
