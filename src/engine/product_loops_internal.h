/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the loops around a register tile share. Terms: product_internal.h.
 *
 *   product_loops.c          rounds: items of the batch, panels of rows, parts of k; who packs and multiplies in each
 *   product_shared_block.c   one round where all columns are one block, which the lanes share
 *   product_shared_across.c  the same where neighbours in a are none in the result
 *   product_shared_panel.c   one round where they share a panel of rows, and each has blocks of columns of its own
 *   product_macro.c          one micro-panel of rows by a block of columns, and what both kinds of rounds pack alike
 */
#ifndef TENURE_ENGINE_PRODUCT_LOOPS_INTERNAL_H
#define TENURE_ENGINE_PRODUCT_LOOPS_INTERNAL_H

#include "product_internal.h"

/*
 * Up to this depth c is most of what is read and written, and is taken column by column where its rows are neighbours, so that its lines
 * come in order.
 */
#define TNRI_PRODUCT_SHALLOW 64

/* Columns of one block, with b's elements for this part of k: packed, or in place. */
typedef struct tnri_column_block {
    const int64_t *in_b, *in_c; /* offsets of the columns */
    int64_t count;
    char *packed;
    bool in_place; /* whole micro-panels are not packed; then */
    int64_t b_row, b_column;
} tnri_column_block;

/* A product, or an engine's part of one, and the round that it is in. */
typedef struct tnri_round {
    const tnri_product *product;
    const tnri_product_kernel *kernel;
    const tnri_product_blocks *blocks;
    size_t element;
    char *packed;      /* shared: b's block, or a's panel */
    char *lanes_room;  /* lane_bytes for each */
    int64_t row_parts; /* pieces are a grid: parts of the rows by parts of the columns */
    int64_t column_parts;
    /* Of the item of the batch. */
    const char *a;
    const char *b;
    char *c;
    /* Of the part of k. */
    tnri_finish finish;
    int64_t depth;
    int64_t *k_in_a, *k_in_b;
    bool k_unit_a, k_unit_b;
    bool k_regular_a, k_regular_b;
    int64_t a_column, b_row; /* steps along k where they are */
    /* Of what is shared: offsets of the block's columns in b and c, or of the panel's rows in a and c. */
    int64_t *in_x, *in_c;
    tnri_column_block columns; /* a shared block */
    int64_t rows;              /* of a shared panel */
} tnri_round;

static inline char *tnri_round_lane_room(const tnri_round *r, int64_t piece)
{
    return r->lanes_room + (uint64_t)piece * r->blocks->lane_bytes;
}

/* ---- Tasks of a round: the context is a tnri_round ------------------------------------------------------------------------------- */

void tnri_shared_block_pack(void *context, int64_t piece);
void tnri_shared_block_multiply(void *context, int64_t piece);
void tnri_shared_across_multiply(void *context, int64_t piece); /* after tnri_shared_block_pack */
void tnri_shared_panel_pack(void *context, int64_t piece);
void tnri_shared_panel_multiply(void *context, int64_t piece);

/* ---- The macro-kernel (product_macro.c) ------------------------------------------------------------------------------------------ */

/* How these columns are to be read; then packed but for those that are read in place. */
void tnri_block_plan(const tnri_round *r, tnri_column_block *block);
void tnri_block_pack(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end);

/* Micro-panels of so many rows. */
int64_t tnri_micro_count(const tnri_product_kernel *kernel, int64_t rows);

/*
 * Where the micro-panel of that number begins in so many rows, and how many it has: a whole tile's, but what would leave a vector or less to
 * the last one is cut in two halves.
 */
int64_t tnri_micro_at(const tnri_product_kernel *kernel, int64_t rows, int64_t number, int *rows_here);

/* Bytes from a packed micro-panel of rows to the next. */
static inline int64_t tnri_micro_bytes(const tnri_round *r) { return r->kernel->mr * r->depth * (int64_t)r->element; }

/* Pack micro-panels begin..end-1 of so many rows, with these offsets in a. `packed` is where the first of all goes. */
void tnri_micro_pack(const tnri_round *r, char *packed, const int64_t *in_a, int64_t rows, int64_t begin, int64_t end);

/* The tile of these rows, with offsets in c; its columns are the macro-kernel's to set. */
void tnri_tile_of_rows(const tnri_round *r, const int64_t *in_c, int rows, tnri_tile *tile);

/* A packed micro-panel of rows by columns begin..end-1 of a block; `next`, unless NULL, is the one after it: it is fetched meanwhile. */
void tnri_macro_kernel(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end,
                       const char *micro, const char *next, tnri_tile *tile);

/* Rows that are packed, and their offsets in c. */
typedef struct tnri_packed_rows {
    const char *packed;
    const int64_t *in_c;
    int64_t count;
} tnri_packed_rows;

/*
 * Micro-panels first..behind-1 of such rows, neighbours in c, by such columns, column by column. These micro-panels should be in a
 * second-level cache.
 */
void tnri_macro_kernel_down(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end,
                            const tnri_packed_rows *rows, int64_t first, int64_t behind);

/* The same for rows that are neighbours in a and are read in place, from `first` on. */
void tnri_macro_kernel_in_place(const tnri_round *r, const tnri_column_block *block, int64_t begin, int64_t end,
                                const char *first, tnri_tile *tile);

#endif /* TENURE_ENGINE_PRODUCT_LOOPS_INTERNAL_H */
