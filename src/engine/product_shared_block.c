/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of products all of whose columns are one block: the lanes pack it together and share it, rows are shared out among them, and
 * each packs a few micro-panels of its rows at a time, right before their use, or reads them in place.
 */
#include "product_loops_internal.h"

void tnri_shared_block_pack(void *context, int64_t piece)
{
    const tnri_round *r = context;
    int64_t begin;
    int64_t end;
    tnri_product_part(r->columns.count, r->kernel->nr, r->row_parts * r->column_parts, piece, &begin, &end);
    tnri_block_pack(r, &r->columns, begin, end);
}

/* Rows of a lane that it has tabled, and the columns that it makes of them. */
typedef struct lane_rows {
    const tnri_round *r;
    int64_t begin, end; /* columns */
    char *packed;
    const int64_t *in_a, *in_c;
    int64_t count;
} lane_rows;

/* Micro-panels of columns so few that rows may serve them in place. */
#define MICRO_IN_PLACE 8

/* Columns of a so far apart, or a multiple of it, crowd in few sets of a first-level cache. */
#define FEW_SETS 256

static bool may_be_in_place(const tnri_round *r, const lane_rows *rows)
{
    return r->kernel->tile_in_place != NULL && r->k_regular_a && !r->k_unit_a &&
           rows->end - rows->begin <= MICRO_IN_PLACE * (int64_t)r->kernel->nr &&
           r->a_column * (int64_t)r->element % FEW_SETS != 0;
}

/* Rows in place, a line's at a time, or packed where they are no neighbours. A tile asks for the next ones ahead. */
static void multiply_in_place(const lane_rows *rows)
{
    const tnri_round *r = rows->r;
    const tnri_product_kernel *kernel = r->kernel;
    const int64_t element = (int64_t)r->element;
    const int whole = TNRI_PRODUCT_LINE / (int)element;
    const int line = whole < kernel->mr ? whole : kernel->mr;
    tnri_tile tile;
    for (int64_t at = 0; at < rows->count; at += tile.m) {
        const int count = rows->count - at < line ? (int)(rows->count - at) : line;
        tnri_tile_of_rows(r, rows->in_c + at, count, &tile);
        if (count == line && tnri_offsets_unit(rows->in_a + at, count)) {
            const char *first = r->a + (rows->in_a[at] + r->k_in_a[0]) * element;
            tnri_macro_kernel_in_place(r, &r->columns, rows->begin, rows->end, first, &tile);
        } else {
            tnri_micro_pack(r, rows->packed, rows->in_a + at, count, 0, 1);
            tnri_macro_kernel(r, &r->columns, rows->begin, rows->end, rows->packed, NULL, &tile);
        }
    }
}

static void multiply_packed(const lane_rows *rows)
{
    const tnri_round *r = rows->r;
    const int64_t count = tnri_micro_count(r->kernel, rows->count);
    tnri_micro_pack(r, rows->packed, rows->in_a, rows->count, 0, count);
    if (r->depth <= TNRI_PRODUCT_SHALLOW && tnri_offsets_unit(rows->in_c, rows->count)) {
        const tnri_packed_rows packed = {rows->packed, rows->in_c, rows->count};
        tnri_macro_kernel_down(r, &r->columns, rows->begin, rows->end, &packed, 0, count);
        return;
    }
    for (int64_t number = 0; number < count; ++number) {
        int here;
        const int64_t at = tnri_micro_at(r->kernel, rows->count, number, &here);
        tnri_tile tile;
        tnri_tile_of_rows(r, rows->in_c + at, here, &tile);
        tnri_macro_kernel(r, &r->columns, rows->begin, rows->end, rows->packed + number * tnri_micro_bytes(r), NULL,
                          &tile);
    }
}

/* Rows that are best packed together: whole micro-panels, and where it is no more than `most` four runs along the first axis. */
static int64_t whole_runs(const tnri_product_axes *m, int mr, int64_t most)
{
    const int64_t runs = m->rank > 1 ? 4 * m->extents[0] : 1;
    int64_t rows = runs;
    while (rows % mr != 0 && rows <= most) {
        rows += runs;
    }
    return rows <= most ? rows : mr;
}

void tnri_shared_block_multiply(void *context, int64_t piece)
{
    const tnri_round *r = context;
    const tnri_product_kernel *kernel = r->kernel;
    const tnri_product_axes *m = &r->product->m;
    lane_rows rows = {.r = r, .packed = tnri_round_lane_room(r, piece)};
    int64_t *in_a =
        (int64_t *)(void *)(rows.packed +
                            tnri_product_lines((uint64_t)(r->blocks->rows_room * r->blocks->kc) * r->element));
    int64_t *in_c = in_a + TNRI_PRODUCT_ROWS_TABLED;
    rows.in_a = in_a;
    rows.in_c = in_c;
    int64_t row_begin;
    int64_t row_end;
    tnri_product_part(m->size, kernel->mr, r->row_parts, piece % r->row_parts, &row_begin, &row_end);
    tnri_product_part(r->columns.count, kernel->nr, r->column_parts, piece / r->row_parts, &rows.begin, &rows.end);
    if (rows.begin >= rows.end) {
        return;
    }
    const int64_t fitting = r->blocks->rows_at_once;
    const int64_t at_once = fitting - fitting % whole_runs(m, kernel->mr, fitting);
    const bool in_place = may_be_in_place(r, &rows);
    const int64_t tabled = TNRI_PRODUCT_ROWS_TABLED / kernel->mr * kernel->mr;
    for (int64_t i = row_begin; i < row_end; i += rows.count) {
        const int64_t most = in_place ? tabled : at_once;
        rows.count = row_end - i < most ? row_end - i : most;
        tnri_product_offsets(m, m->a, m->c, i, rows.count, in_a, in_c);
        if (in_place && tnri_offsets_unit(in_a, rows.count < kernel->step ? rows.count : kernel->step)) {
            multiply_in_place(&rows);
        } else {
            rows.count = rows.count < at_once ? rows.count : at_once;
            multiply_packed(&rows);
        }
    }
}
