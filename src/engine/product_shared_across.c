/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds as those of product_shared_block.c where neighbours in a are none in the result: a's along the last axis of m, the result's along
 * the others. Micro-panels are of rows along the others, so that tiles write lines of the result; as many of them are packed at once as
 * lines of a have elements, so that these are read as a whole, and once.
 */
#include "product_loops_internal.h"

/* A micro-panel of rows along all axes of m but the last, by indices begin..end-1 of that. */
typedef struct cell {
    const int64_t *in_a, *in_c; /* offsets of the rows */
    int rows;
    int64_t begin, end;
    int64_t begin_column, end_column;
    char *packed;
} cell;

#define OCTET 8 /* neighbours that are best packed together */

static void multiply_cell(const tnri_round *r, const cell *at)
{
    const tnri_product_axes *m = &r->product->m;
    const int last = m->rank - 1;
    const int lines = (int)(at->end - at->begin);
    const int64_t element = (int64_t)r->element;
    tnri_tile tile;
    r->kernel->pack_across(at->packed, r->a + at->begin * element, at->in_a, at->rows, lines, r->k_in_a, r->depth,
                           r->kernel->mr);
    tnri_tile_of_rows(r, at->in_c, at->rows, &tile);
    for (int i = 0; i < lines; ++i) {
        tile.c = r->c + (at->begin + i) * m->c[last] * element;
        tnri_macro_kernel(r, &r->columns, at->begin_column, at->end_column, at->packed + i * tnri_micro_bytes(r), NULL,
                          &tile);
    }
}

void tnri_shared_across_multiply(void *context, int64_t piece)
{
    const tnri_round *r = context;
    const tnri_product_kernel *kernel = r->kernel;
    tnri_product_axes along = r->product->m;
    const int64_t across = along.extents[--along.rank];
    along.size /= across;
    const int64_t fitting = r->blocks->rows_room / kernel->mr;
    const int64_t unit = fitting >= OCTET ? OCTET : 1;
    const int64_t most = fitting / unit * unit;
    const int64_t columns = (across + most - 1) / most; /* of cells */
    int64_t in_a[TNRI_PRODUCT_TILE];
    int64_t in_c[TNRI_PRODUCT_TILE];
    cell at = {.in_a = in_a, .in_c = in_c, .packed = tnri_round_lane_room(r, piece)};
    int64_t begin;
    int64_t end;
    tnri_product_part(tnri_micro_count(kernel, along.size) * columns, 1, r->row_parts, piece % r->row_parts, &begin,
                      &end);
    tnri_product_part(r->columns.count, kernel->nr, r->column_parts, piece / r->row_parts, &at.begin_column,
                      &at.end_column);
    if (at.begin_column >= at.end_column) {
        return;
    }
    for (int64_t i = begin; i < end; ++i) {
        const int64_t first = tnri_micro_at(kernel, along.size, i / columns, &at.rows);
        tnri_product_part(across, unit, columns, i % columns, &at.begin, &at.end);
        tnri_product_offsets(&along, along.a, along.c, first, at.rows, in_a, in_c);
        multiply_cell(r, &at);
    }
}
