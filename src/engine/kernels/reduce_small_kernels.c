/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions in little code: what reduce_kernels.c does, in the same order and to the same bits, by one set of functions for all
 * operations and dtypes. These know accumulators as bytes; what a term does to one is told by tnri_reduce_terms.
 *
 * One thread only, and no vectors. Where a line has more tiles than levels fit (128 where PARTIAL_BYTES is 2 KiB), subtrees are
 * joined early, as there.
 */
#include <float.h>
#include <math.h>

#include "arithmetic.inl.h"
#include "reduce_kernels.h"

/* What becomes of an accumulator in the end. */
typedef enum ending { AS_IT_IS, TRUTH, NORM } ending;

/* How norms of one dtype look at sums of squares. */
typedef struct norm_rules {
    bool (*root)(char *out, const char *squares, double scale); /* false: doubtful */
    double (*scale)(char *out, const char *peak);               /* 0: the norm is known, and written */
    const tnri_reduce_terms *peak;
    const tnri_reduce_terms *scaled;
} norm_rules;

struct tnri_reduce_terms {
    /* `rows` >= 1 terms, `step` bytes apart, into an accumulator; `more`: behind what it has. */
    void (*column)(const tnri_reduction *r, char *acc, const char *a, int64_t step, int64_t rows, bool more);
    void (*join)(char *acc, const char *other);
    uint8_t bytes; /* of an accumulator */
    uint8_t end;   /* an ending */
    const norm_rules *norm;
};

typedef uint32_t bits_f32;
typedef uint64_t bits_f64;

/* ---- Tiles and their tree: reduce_op.tmpl.h has the reasons ----------------------------------------------------------------- */

#define LEVELS_BYTES PARTIAL_BYTES
#define AGAIN_BYTES 1536 /* of levels where a norm is computed once more */

static int64_t seek_line(const tnri_reduction *r, int64_t *index)
{
    int64_t offset = 0;
    for (int i = 1; i < r->rank; ++i) {
        offset += r->strides[i];
        if (++index[i] < r->shape[i]) {
            break;
        }
        offset -= r->strides[i] * r->shape[i];
        index[i] = 0;
    }
    return offset;
}

static void join_all(const tnri_reduction *r, char *acc, const char *other, int64_t count)
{
    const int64_t bytes = r->terms->bytes;
    for (int64_t j = 0; j < count; ++j) {
        r->terms->join(acc + j * bytes, other + j * bytes);
    }
}

static void fold(const tnri_reduction *r, char *acc, int64_t columns, int64_t group)
{
    while (columns > group) {
        const int64_t half = group << tnri_highest_bit((uint64_t)((columns - 1) / group));
        join_all(r, acc, acc + half * r->terms->bytes, columns - half);
        columns = half;
    }
}

static void add_rows(const tnri_reduction *r, const char *a, int64_t begin, int64_t rows, int64_t columns, char *acc)
{
    const tnri_reduce_terms *terms = r->terms;
    const char *row = a + begin * r->strides[0];
    const char *tail = a + r->shape[0] * r->strides[0];
    const bool last = begin + rows == r->shape[0];
    for (int64_t j = 0; j < columns; ++j) {
        terms->column(r, acc + j * terms->bytes, row + j * r->across, r->strides[0], rows, false);
        if (last && j < r->tail) {
            terms->column(r, acc + j * terms->bytes, tail + j * r->across, 0, 1, true);
        }
    }
}

/* One row that is not a whole one: four sums in turn. */
static void add_short_line(const tnri_reduction *r, const char *a, char *acc)
{
    const tnri_reduce_terms *terms = r->terms;
    const int64_t across = r->across;
    const int64_t count = r->columns;
    _Alignas(8) char turns[3][16];
    if (count < 4) {
        terms->column(r, acc, a, across, count, false);
        return;
    }
    const int64_t rows = count / 4;
    terms->column(r, acc, a, 4 * across, rows, false);
    for (int k = 1; k < 4; ++k) {
        terms->column(r, turns[k - 1], a + k * across, 4 * across, rows, false);
    }
    if (count % 4 != 0) {
        terms->column(r, acc, a + 4 * rows * across, across, count % 4, true);
    }
    terms->join(acc, turns[0]);
    terms->join(turns[1], turns[2]);
    terms->join(acc, turns[1]);
}

static void add_lines(const tnri_reduction *r, const char *a, int64_t begin, int64_t rows, int64_t columns, char *acc)
{
    _Alignas(8) char line[ROW_BYTES];
    const tnri_reduction *inner = r->inner;
    const int64_t bytes = r->terms->bytes;
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            const char *from = a + (begin + i) * r->strides[0] + j * r->across;
            if (inner->short_line) {
                add_short_line(inner, from, line);
            } else {
                add_rows(inner, from, 0, inner->shape[0], inner->columns, line);
                fold(inner, line, inner->columns, 1);
            }
            if (i == 0) {
                memcpy(acc + j * bytes, line, (size_t)bytes);
            } else {
                r->terms->join(acc + j * bytes, line);
            }
        }
    }
}

/* All tiles into levels[0..columns-1], of which `room` bytes are there. */
static void add_tree(const tnri_reduction *r, const char *a, int64_t columns, char *levels, int64_t room)
{
    const int64_t pitch = columns * r->terms->bytes;
    const int64_t slots = room / pitch;
    int64_t index[TNR_MAX_RANK] = {0};
    int64_t tile = 0;
    int64_t top = 0;
    for (int64_t k = 0; k < r->tiles;) {
        if (top == slots) {
            --top;
            join_all(r, levels + (top - 1) * pitch, levels + top * pitch, columns);
        }
        const int64_t begin = tile * TILE_ROWS;
        const int64_t left = r->shape[0] - begin;
        (r->inner != NULL ? add_lines : add_rows)(r, a, begin, left < TILE_ROWS ? left : TILE_ROWS, columns,
                                                  levels + top * pitch);
        ++top;
        ++tile;
        ++k;
        for (unsigned joins = tnri_lowest_bit((uint64_t)k); joins > 0 && top > 1; --joins) {
            --top;
            join_all(r, levels + (top - 1) * pitch, levels + top * pitch, columns);
        }
        if (tile == r->line_tiles && k < r->tiles) {
            tile = 0;
            a += seek_line(r, index);
        }
    }
    for (; top > 1; --top) {
        join_all(r, levels + (top - 2) * pitch, levels + (top - 1) * pitch, columns);
    }
}

/* ---- Outputs ----------------------------------------------------------------------------------------------------------------- */

/* By other terms than its own: one of a norm's. */
static void add_once_more(const tnri_reduction *r, const tnri_reduce_terms *terms, double scale, const char *a,
                          char *levels)
{
    tnri_reduction other = *r;
    tnri_reduction inner;
    other.terms = terms;
    other.scale = scale;
    if (r->inner != NULL) {
        inner = *r->inner;
        inner.terms = terms;
        inner.scale = scale;
        other.inner = &inner;
    }
    add_tree(&other, a, r->lines ? r->columns : 1, levels, AGAIN_BYTES);
    if (r->lines) {
        fold(&other, levels, r->columns, r->group);
    }
}

/* Output number j of those whose terms begin at a had too large, too small, infinite or undefined squares. */
static TNRI_NOINLINE void norm_again(const tnri_reduction *r, char *out, const char *a, int64_t a_step, int64_t j)
{
    _Alignas(8) char levels[AGAIN_BYTES];
    const norm_rules *norm = r->terms->norm;
    const char *from = r->lines ? a : a + j * a_step;
    const int64_t at = r->lines ? j : 0;
    add_once_more(r, norm->peak, 0.0, from, levels);
    const double scale = norm->scale(out, levels + at * norm->peak->bytes);
    if (scale != 0.0) {
        add_once_more(r, norm->scaled, scale, from, levels);
        (void)norm->root(out, levels + at * norm->scaled->bytes, scale);
    }
}

static void write_results(const tnri_reduction *r, char *out, int64_t out_step, const char *acc, int64_t count,
                          const char *a, int64_t a_step)
{
    const tnri_reduce_terms *terms = r->terms;
    for (int64_t j = 0; j < count; ++j) {
        char *to = out + j * out_step;
        const char *from = acc + j * terms->bytes;
        if (terms->end == NORM) {
            if (!terms->norm->root(to, from, 1.0)) {
                norm_again(r, to, a, a_step, j);
            }
        } else if (terms->end == TRUTH) {
            *to = *from != 0 ? 1 : 0;
        } else {
            memcpy(to, from, terms->bytes);
        }
    }
}

static void outputs(const tnri_reduction *r, char *out, int64_t out_step, const char *a, int64_t a_step, int64_t count)
{
    _Alignas(8) char levels[LEVELS_BYTES];
    levels[0] = 0; /* analyzers do not know that there is a tile at least */
    int64_t wide = 1;
    for (int64_t i = 0; i < count; i += wide) {
        const char *from = a + i * a_step;
        wide = r->lines ? r->group : count - i < r->strip ? count - i : r->strip;
        if (r->lines && r->short_line) {
            add_short_line(r, from, levels);
        } else {
            add_tree(r, from, r->lines ? r->columns : wide, levels, LEVELS_BYTES);
        }
        if (r->lines && !r->short_line) {
            fold(r, levels, r->columns, r->group);
        }
        write_results(r, out + i * out_step, out_step, levels, wide, from, a_step);
    }
}

/* ---- Terms, argmax and argmin ------------------------------------------------------------------------------------------------ */

#define TEMPLATE "reduce_small.tmpl.h"
#define DTYPES DTYPES_ALL
#include "each_dtype.inl.h"

/* ---- Table ------------------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define ENTRY_(op, dtype) [PICK_DTYPE_##dtype] = {PICK_##dtype(outputs), NULL, NULL, PICK_##dtype(&terms_##op##_##dtype)}
#define PICK_DTYPE_f32 TNR_F32
#define PICK_DTYPE_f64 TNR_F64
#define PICK_DTYPE_c32 TNR_C32
#define PICK_DTYPE_c64 TNR_C64
#define PICK_DTYPE_i32 TNR_I32
#define PICK_DTYPE_i64 TNR_I64
#define PICK_DTYPE_b8 TNR_BOOL
#define FLOATS__(op) ENTRY_(op, f32), ENTRY_(op, f64), ENTRY_(op, c32), ENTRY_(op, c64)
#define NUMBERS__(op) {FLOATS__(op), ENTRY_(op, i32), ENTRY_(op, i64)}
#define ORDERED__(op) {ENTRY_(op, f32), ENTRY_(op, f64), ENTRY_(op, i32), ENTRY_(op, i64)}
#define ARG_(op, dtype) [PICK_DTYPE_##dtype] = {PICK_ARG(PICK_##dtype(arg_look_##op##_##dtype)), NULL}
#define ARGS__(op) {ARG_(op, f32), ARG_(op, f64), ARG_(op, i32), ARG_(op, i64)}
/* clang-format on */

const tnri_reduce_table TNRI_ISA_NAME(tnri_reduce_kernels) = {
    .reducers =
        {
            [TNRI_REDUCE_SUM] = NUMBERS__(sum),
            [TNRI_REDUCE_PROD] = NUMBERS__(prod),
            [TNRI_REDUCE_MAX] = ORDERED__(max),
            [TNRI_REDUCE_MIN] = ORDERED__(min),
            [TNRI_REDUCE_ALL] = {ENTRY_(all, b8)},
            [TNRI_REDUCE_ANY] = {ENTRY_(any, b8)},
            [TNRI_REDUCE_NORM] = {FLOATS__(norm)},
        },
    .argmax = ARGS__(max),
    .argmin = ARGS__(min),
};
