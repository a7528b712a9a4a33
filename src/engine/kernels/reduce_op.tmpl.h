/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One reduction of one dtype (reduce.tmpl.h): tiles, the tree over them, and outputs. Define before
 *
 *   OP          the operation's word
 *   IN, ACC     types of a term and of an accumulator
 *   LIFT(x)     what a term is to an accumulator; `r` is at hand
 *   JOIN(x, y)  of two accumulators
 *   LANE        optional: component of both types; then VLIFT(v) and VJOIN(v, w) do the same with vectors of them
 *   QUICK(v, w) optional, with LANE: VJOIN but for NaN and for signs of zeros, in one instruction; the grouping of terms
 *               must not matter where neither is among them
 *   SIGNED(v,w) with QUICK: what two results of it, of (v, w) and of (w, v), become so that zeros are right too
 *   DECIDED(x)  optional: no further term changes an accumulator
 *   WRITE       optional: function that writes results; without it there is only the tree
 *   PLAIN       optional: results are accumulators as they are
 *
 * The order of JOINs is the same in every branch: rows of a tile one after another, then the tree (reduce_kernels.h).
 */

#define OPNAME(x) NAME(OPNAME_(x, OP))
#define OPNAME_(x, op) OPNAME__(x, op)
#define OPNAME__(x, op) x##_##op

#define AT(p) (*(const IN *)(const void *)(p))
#define ROW(number) ((const IN *)(const void *)(a + (number)*step))

#ifdef LANE
typedef LANE OPNAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef LANE OPNAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(LANE)), may_alias));
#endif

static inline void OPNAME(join)(ACC *restrict acc, const ACC *restrict other, int64_t count)
{
    int64_t done = 0;
#ifdef LANE
    const int64_t wide = VECTOR_BYTES / (int64_t)sizeof(ACC);
    for (int64_t v = 0; v < count / wide; ++v) {
        OPNAME(loose) *to = (OPNAME(loose) *)(void *)(acc + v * wide);
        const OPNAME(vector) x = *to;
        const OPNAME(vector) y = *(const OPNAME(loose) *)(const void *)(other + v * wide);
        *to = VJOIN(x, y);
    }
    done = count / wide * wide;
#endif
    for (int64_t j = done; j < count; ++j) {
        acc[j] = JOIN(acc[j], other[j]);
    }
}

#include "reduce_tiles.tmpl.h"

/* ---- Rows ----------------------------------------------------------------------------------------------------------------- */

/* Rows begin..begin+rows-1 of a line or strip. */
static void OPNAME(rows)(const tnri_reduction *r, const char *a, int64_t begin, int64_t rows, int64_t columns, ACC *acc)
{
    const int64_t step = r->strides[0];
    if (r->across == (int64_t)sizeof(IN)) {
        OPNAME(tile_unit)(r, acc, a + begin * step, step, rows, columns);
    } else {
        OPNAME(tile_across)(r, acc, a + begin * step, step, rows, r->across, columns);
    }
    if (r->tail != 0 && begin + rows == r->shape[0]) {
        const char *tail = a + r->shape[0] * step;
        for (int64_t j = 0; j < r->tail; ++j) {
            acc[j] = JOIN(acc[j], LIFT(AT(tail + j * r->across)));
        }
    }
}

#ifdef LANE
/* A whole row of one output. */
static inline void OPNAME(fold_row)(ACC *acc)
{
    OPNAME(vector) sums[ROW_BYTES / VECTOR_BYTES];
    UNROLL
    for (int k = 0; k < ROW_BYTES / VECTOR_BYTES; ++k) {
        sums[k] = *(const OPNAME(loose) *)(const void *)((const char *)acc + k * VECTOR_BYTES);
    }
    UNROLL
    for (int half = ROW_BYTES / VECTOR_BYTES / 2; half > 0; half /= 2) {
        UNROLL
        for (int k = 0; k < half; ++k) {
            sums[k] = VJOIN(sums[k], sums[k + half]);
        }
    }
    ACC last[VECTOR_BYTES / sizeof(ACC)];
    memcpy(last, &sums[0], sizeof last);
    UNROLL
    for (int half = VECTOR_BYTES / (int)sizeof(ACC) / 2; half > 0; half /= 2) {
        UNROLL
        for (int k = 0; k < half; ++k) {
            last[k] = JOIN(last[k], last[k + half]);
        }
    }
    acc[0] = last[0];
}
#endif

/* Join the columns of `group` outputs that take turns into acc[0..group-1]: upper parts to lower ones, until one is left. */
static void OPNAME(fold)(ACC *acc, int64_t columns, int64_t group)
{
#ifdef LANE
    if (group == 1 && columns == ROW_BYTES / (int64_t)sizeof(ACC)) { /* the same, in registers */
        OPNAME(fold_row)(acc);
        return;
    }
#endif
    while (columns > group) {
        const int64_t half = group << tnri_highest_bit((uint64_t)((columns - 1) / group));
        OPNAME(join)(acc, acc + half, columns - half);
        columns = half;
    }
}

/* One row that is not a whole one: four sums in turn. */
static ACC OPNAME(short_line)(const tnri_reduction *r, const char *a)
{
    const int64_t across = r->across;
    const int64_t count = r->columns;
    ACC w = LIFT(AT(a));
    if (count < 4) {
        for (int64_t j = 1; j < count; ++j) {
            w = JOIN(w, LIFT(AT(a + j * across)));
        }
        return w;
    }
    ACC x = LIFT(AT(a + across));
    ACC y = LIFT(AT(a + 2 * across));
    ACC z = LIFT(AT(a + 3 * across));
    int64_t j = 4;
    for (; j + 4 <= count; j += 4) {
        const char *next = a + j * across;
        w = JOIN(w, LIFT(AT(next)));
        x = JOIN(x, LIFT(AT(next + across)));
        y = JOIN(y, LIFT(AT(next + 2 * across)));
        z = JOIN(z, LIFT(AT(next + 3 * across)));
    }
    for (; j < count; ++j) {
        w = JOIN(w, LIFT(AT(a + j * across)));
    }
    w = JOIN(w, x);
    y = JOIN(y, z);
    return JOIN(w, y);
}

/* The same where each term is what became of a line. */
static void OPNAME(rows_of_lines)(const tnri_reduction *r, const char *a, int64_t begin, int64_t rows, int64_t columns,
                                  ACC *acc)
{
    _Alignas(64) ACC line[ROW_BYTES / sizeof(ACC)];
    const tnri_reduction *inner = r->inner;
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            const char *from = a + (begin + i) * r->strides[0] + j * r->across;
            if (inner->short_line) {
                line[0] = OPNAME(short_line)(inner, from);
            } else {
                OPNAME(rows)(inner, from, 0, inner->shape[0], inner->columns, line);
                OPNAME(fold)(line, inner->columns, 1);
            }
            acc[j] = i == 0 ? line[0] : JOIN(acc[j], line[0]);
        }
    }
}

/* Tile number `tile` of a line, or of a strip along axis 0, that begins at a. */
static inline void OPNAME(tile)(const tnri_reduction *r, const char *a, int64_t tile, int64_t columns, ACC *acc)
{
    const int64_t begin = tile * TILE_ROWS;
    const int64_t left = r->shape[0] - begin;
    const int64_t rows = left < TILE_ROWS ? left : TILE_ROWS;
    if (r->inner != NULL) {
        OPNAME(rows_of_lines)(r, a, begin, rows, columns, acc);
    } else {
        OPNAME(rows)(r, a, begin, rows, columns, acc);
    }
}

#ifdef DECIDED
/* One column that is decided settles the one output that all are of; of several outputs all must be. */
static bool OPNAME(decided)(const ACC *acc, int64_t columns, bool one_output)
{
    int64_t count = 0;
    for (int64_t j = 0; j < columns; ++j) {
        count += DECIDED(acc[j]) ? 1 : 0;
    }
    return one_output ? count > 0 : count == columns;
}
#endif

/* ---- The tree ------------------------------------------------------------------------------------------------------------- */

/*
 * Tiles first..first+tiles-1 into levels[0..columns-1]. A stack of subtrees, each at least twice as large as the one above
 * it: behind tile number k there are as many to join as k + 1 has factors of two. `slots` of them fit; more tiles than that
 * could serve are joined early, at the price of accuracy, instead of running over.
 */
static void OPNAME(tree)(const tnri_reduction *r, const char *a, int64_t columns, int64_t first, int64_t tiles,
                         ACC *levels, int64_t slots)
{
    int64_t index[TNR_MAX_RANK];
    int64_t tile = 0;
    a += seek_tile(r, first, &tile, index);
#ifdef LANE
    const bool whole_rows = r->lines && r->across == (int64_t)sizeof(IN) && columns == ROW_BYTES / (int64_t)sizeof(ACC);
    const int64_t whole = r->tail == 0 ? r->shape[0] / TILE_ROWS : (r->shape[0] - 1) / TILE_ROWS;
#endif
    int64_t top = 0;
    for (int64_t k = 0; k < tiles;) {
        if (TNRI_UNLIKELY(top == slots)) {
            --top;
            OPNAME(join)(levels + (top - 1) * columns, levels + top * columns, columns);
        }
        ACC *acc = levels + top * columns;
        int64_t joins = 0;
#ifdef LANE
        int together = whole_rows ? top + OCTET_SLOTS <= slots ? 8 : 2 : 1;
        while (together > 1 && ((k & (together - 1)) != 0 || tile + together > whole || k + together > tiles)) {
            together /= 2;
        }
        if (together > 1) {
            OPNAME(tiles)(acc, a + tile * TILE_ROWS * ROW_BYTES, together);
            tile += together;
            k += together;
            joins = -(int64_t)tnri_highest_bit((uint64_t)together);
        } else
#endif
        {
            OPNAME(tile)(r, a, tile, columns, acc);
            ++tile;
            ++k;
        }
        ++top;
        for (joins += tnri_lowest_bit((uint64_t)k); joins > 0 && top > 1; --joins) {
            --top;
            OPNAME(join)(levels + (top - 1) * columns, levels + top * columns, columns);
        }
#ifdef DECIDED
        if (OPNAME(decided)(levels + (top - 1) * columns, columns, r->lines && r->group == 1)) {
            break;
        }
#endif
        if (tile == r->line_tiles && k < tiles) {
            tile = 0;
            a += next_line(r, index);
        }
    }
    for (; top > 1; --top) {
        OPNAME(join)(levels + (top - 2) * columns, levels + (top - 1) * columns, columns);
    }
}

/* ---- Outputs -------------------------------------------------------------------------------------------------------------- */

#ifdef WRITE

static void OPNAME(outputs)(const tnri_reduction *r, char *out, int64_t out_step, const char *a, int64_t a_step,
                            int64_t count)
{
    _Alignas(64) ACC levels[PARTIAL_BYTES / sizeof(ACC)];
    const int64_t room = PARTIAL_BYTES / (int64_t)sizeof(ACC);
    if (r->lines) {
        for (int64_t i = 0; i < count; i += r->group) {
            const char *from = a + i * a_step;
            if (r->short_line) {
                levels[0] = OPNAME(short_line)(r, from);
                WRITE(r, out + i * out_step, out_step, levels, 1, from, a_step);
                continue;
            }
            if (r->tiles == 1) {
                OPNAME(tile)(r, from, 0, r->columns, levels);
            } else {
                OPNAME(tree)(r, from, r->columns, 0, r->tiles, levels, room / r->columns);
            }
            OPNAME(fold)(levels, r->columns, r->group);
            WRITE(r, out + i * out_step, out_step, levels, r->group, from, a_step);
        }
        return;
    }
    for (int64_t i = 0; i < count; i += r->strip) {
        const int64_t columns = count - i < r->strip ? count - i : r->strip;
        const char *from = a + i * a_step;
        char *to = out + i * out_step;
#ifdef PLAIN
        if (r->tiles == 1 && out_step == (int64_t)sizeof(ACC)) {
            OPNAME(tile)(r, from, 0, columns, (ACC *)(void *)to);
            continue;
        }
#endif
        if (r->tiles == 1) {
            OPNAME(tile)(r, from, 0, columns, levels);
        } else {
            OPNAME(tree)(r, from, columns, 0, r->tiles, levels, room / columns);
        }
        WRITE(r, to, out_step, levels, columns, from, a_step);
    }
}

static void OPNAME(partial)(const tnri_reduction *r, const char *a, int64_t columns, int64_t first, int64_t tiles,
                            void *result)
{
    _Alignas(64) ACC levels[PARTIAL_BYTES / sizeof(ACC)];
    OPNAME(tree)(r, a, columns, first, tiles, levels, PARTIAL_BYTES / (int64_t)sizeof(ACC) / columns);
    memcpy(result, levels, (size_t)columns * sizeof(ACC));
}

static void OPNAME(merge)(const tnri_reduction *r, char *out, int64_t out_step, const char *a, int64_t a_step,
                          int64_t columns, char *partials, int64_t blocks, int64_t pitch)
{
    const int64_t width = r->lines ? r->columns : columns;
    for (int64_t size = 1; size < blocks; size *= 2) {
        for (int64_t b = 0; b + size < blocks; b += 2 * size) {
            OPNAME(join)((ACC *)(void *)(partials + b * pitch), (ACC *)(void *)(partials + (b + size) * pitch), width);
        }
    }
    ACC *acc = (ACC *)(void *)partials;
    if (r->lines) {
        OPNAME(fold)(acc, width, r->group);
    }
    WRITE(r, out, out_step, acc, columns, a, a_step);
}

#endif

#undef OPNAME
#undef OPNAME_
#undef OPNAME__
#undef AT
#undef ROW
#undef OP
#undef IN
#undef ACC
#undef LIFT
#undef JOIN
#undef LANE
#undef VLIFT
#undef VJOIN
#undef QUICK
#undef SIGNED
#undef DECIDED
#undef WRITE
#undef PLAIN
