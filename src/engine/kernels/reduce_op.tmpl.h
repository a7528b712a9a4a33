/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One reduction of one dtype (reduce.tmpl.h): tiles, the tree over them, and outputs. Define before
 *
 *   OP          the operation's word
 *   IN, ACC     types of a term and of an accumulator
 *   LIFT(x)     what a term is to an accumulator; `r` is at hand
 *   JOIN(x, y)  of two accumulators
 *   LANE        optional: component of both types; then VLIFT(v) and VJOIN(v, w) do the same with vectors of them
 *   QUICK(v, w) optional, with LANE: VJOIN but for NaN and for signs of zeros, in one instruction
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

/* ---- Tiles ---------------------------------------------------------------------------------------------------------------- */

#ifdef LANE

/* Neighbouring columns that fill a known, small number of vectors: these stay in registers. `more`: joined to acc. */
static inline ALWAYS_INLINE void OPNAME(block)(LANE *acc, const char *a, int64_t step, int64_t rows, int vectors,
                                               bool more)
{
    OPNAME(vector) sums[8];
    UNROLL
    for (int k = 0; k < vectors; ++k) {
        const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(a + k * VECTOR_BYTES);
        sums[k] = VLIFT(x);
    }
    ROLLED
    for (int64_t i = 1; i < rows; ++i) {
        a += step;
        UNROLL
        for (int k = 0; k < vectors; ++k) {
            const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(a + k * VECTOR_BYTES);
            sums[k] = VJOIN(sums[k], VLIFT(x));
        }
    }
    UNROLL
    for (int k = 0; k < vectors; ++k) {
        OPNAME(loose) *to = (OPNAME(loose) *)(void *)((char *)acc + k * VECTOR_BYTES);
        if (more) {
            const OPNAME(vector) before = *to;
            sums[k] = VJOIN(before, sums[k]);
        }
        *to = sums[k];
    }
}

static void OPNAME(tile_careful)(const tnri_reduction *r, ACC *restrict acc, const char *a, int64_t step, int64_t rows,
                                 int64_t columns)
{
    (void)r;
    const int64_t wide = VECTOR_BYTES / (int64_t)sizeof(LANE);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression,misc-redundant-expression): 1 for reals, 2 for complex */
    const int64_t count = columns * (int64_t)(sizeof(ACC) / sizeof(LANE));
    LANE *lanes = (LANE *)acc;
    int64_t j = 0;
    for (; j + 8 * wide <= count; j += 8 * wide) {
        OPNAME(block)(lanes + j, a + j * (int64_t)sizeof(LANE), step, rows, 8, false);
    }
    if (j + 4 * wide <= count) {
        OPNAME(block)(lanes + j, a + j * (int64_t)sizeof(LANE), step, rows, 4, false);
        j += 4 * wide;
    }
    for (; j + wide <= count; j += wide) {
        OPNAME(block)(lanes + j, a + j * (int64_t)sizeof(LANE), step, rows, 1, false);
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression,misc-redundant-expression): 1 for reals, 2 for complex */
    const int64_t done = j / (int64_t)(sizeof(ACC) / sizeof(LANE));
    for (int64_t k = done; k < columns; ++k) {
        const char *column = a + k * (int64_t)sizeof(IN);
        ACC sum = LIFT(AT(column));
        for (int64_t i = 1; i < rows; ++i) {
            sum = JOIN(sum, LIFT(AT(column + i * step)));
        }
        acc[k] = sum;
    }
}

#else

/* Plain loops over columns, four rows at a time: vector code as far as JOIN allows it. */
static void OPNAME(tile_careful)(const tnri_reduction *r, ACC *restrict acc, const char *a, int64_t step, int64_t rows,
                                 int64_t columns)
{
    (void)r;
    const IN *row = ROW(0);
    for (int64_t j = 0; j < columns; ++j) {
        acc[j] = LIFT(row[j]);
    }
    int64_t i = 1;
    for (; i + 4 <= rows; i += 4) {
        const IN *w = ROW(i);
        const IN *x = ROW(i + 1);
        const IN *y = ROW(i + 2);
        const IN *z = ROW(i + 3);
        for (int64_t j = 0; j < columns; ++j) {
            ACC sum = JOIN(acc[j], LIFT(w[j]));
            sum = JOIN(sum, LIFT(x[j]));
            sum = JOIN(sum, LIFT(y[j]));
            acc[j] = JOIN(sum, LIFT(z[j]));
        }
    }
    for (; i < rows; ++i) {
        row = ROW(i);
        for (int64_t j = 0; j < columns; ++j) {
            acc[j] = JOIN(acc[j], LIFT(row[j]));
        }
    }
}

#endif

#ifdef QUICK
static inline ALWAYS_INLINE bool OPNAME(quick_block)(ACC *acc, const char *a, int64_t step, int64_t rows, int vectors)
{
    OPNAME(vector) best[8];
    NAME(mask) doubt[2] = {{0}, {0}};
    UNROLL
    for (int k = 0; k < vectors; ++k) {
        const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(a + k * VECTOR_BYTES);
        best[k] = x;
        doubt[k & 1] |= x != x; /* NOLINT(misc-redundant-expression): NaN */
    }
    ROLLED
    for (int64_t i = 1; i < rows; ++i) {
        const char *row = a + i * step;
        UNROLL
        for (int k = 0; k < vectors; ++k) {
            const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(row + k * VECTOR_BYTES);
            best[k] = QUICK(best[k], x);
            doubt[k & 1] |= x != x; /* NOLINT(misc-redundant-expression): NaN */
        }
    }
    UNROLL
    for (int k = 0; k < vectors; ++k) {
        *(OPNAME(loose) *)(void *)((char *)acc + k * VECTOR_BYTES) = best[k];
        doubt[k & 1] |= best[k] == (LANE)0;
    }
    doubt[0] |= doubt[1];
    NAME(flag) any = 0;
    for (int k = 0; k < VECTOR_BYTES / (int)sizeof(LANE); ++k) {
        any |= doubt[0][k];
    }
    return any != 0;
}

/* What QUICK cannot tell apart shows in the end: a NaN among the terms, or a zero as result. Then carefully, once more. */
static void OPNAME(tile_unit)(const tnri_reduction *r, ACC *restrict acc, const char *a, int64_t step, int64_t rows,
                              int64_t columns)
{
    const int64_t wide = VECTOR_BYTES / (int64_t)sizeof(LANE);
    int64_t j = 0;
    bool doubt = false;
    for (; j + 8 * wide <= columns; j += 8 * wide) {
        doubt |= OPNAME(quick_block)(acc + j, a + j * (int64_t)sizeof(LANE), step, rows, 8);
    }
    for (; j + 4 * wide <= columns; j += 4 * wide) {
        doubt |= OPNAME(quick_block)(acc + j, a + j * (int64_t)sizeof(LANE), step, rows, 4);
    }
    if (doubt) {
        j = 0;
    }
    if (j < columns) {
        OPNAME(tile_careful)(r, acc + j, a + j * (int64_t)sizeof(LANE), step, rows, columns - j);
    }
}
#else
static inline void OPNAME(tile_unit)(const tnri_reduction *r, ACC *restrict acc, const char *a, int64_t step,
                                     int64_t rows, int64_t columns)
{
    OPNAME(tile_careful)(r, acc, a, step, rows, columns);
}
#endif

#ifdef LANE
/*
 * Two whole tiles of a line, joined, in the order of memory. Where a row fills fewer than eight vectors, both at once: enough
 * independent accumulators for any pipeline.
 */
static TNRI_NOINLINE void OPNAME(pair)(const tnri_reduction *r, ACC *acc, const char *a)
{
    (void)r;
    const char *b = a + TILE_ROWS * ROW_BYTES;
#ifdef QUICK
    ACC other[ROW_BYTES / sizeof(ACC)];
    OPNAME(tile_unit)(r, acc, a, ROW_BYTES, TILE_ROWS, ROW_BYTES / (int64_t)sizeof(ACC));
    OPNAME(tile_unit)(r, other, b, ROW_BYTES, TILE_ROWS, ROW_BYTES / (int64_t)sizeof(ACC));
    OPNAME(join)(acc, other, ROW_BYTES / (int64_t)sizeof(ACC));
#elif ROW_BYTES >= 8 * VECTOR_BYTES
    for (int part = 0; part < ROW_BYTES; part += 8 * VECTOR_BYTES) {
        OPNAME(block)((LANE *)(void *)((char *)acc + part), a + part, ROW_BYTES, TILE_ROWS, 8, false);
    }
    for (int part = 0; part < ROW_BYTES; part += 8 * VECTOR_BYTES) {
        OPNAME(block)((LANE *)(void *)((char *)acc + part), b + part, ROW_BYTES, TILE_ROWS, 8, true);
    }
#else
    enum { VECTORS = ROW_BYTES / VECTOR_BYTES };
    OPNAME(vector) first[VECTORS];
    OPNAME(vector) second[VECTORS];
    UNROLL
    for (int k = 0; k < VECTORS; ++k) {
        const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(a + k * VECTOR_BYTES);
        const OPNAME(vector) y = *(const OPNAME(loose) *)(const void *)(b + k * VECTOR_BYTES);
        first[k] = VLIFT(x);
        second[k] = VLIFT(y);
    }
    ROLLED
    for (int i = 1; i < TILE_ROWS; ++i) {
        UNROLL
        for (int k = 0; k < VECTORS; ++k) {
            const int at = i * ROW_BYTES + k * VECTOR_BYTES;
            const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(a + at);
            const OPNAME(vector) y = *(const OPNAME(loose) *)(const void *)(b + at);
            first[k] = VJOIN(first[k], VLIFT(x));
            second[k] = VJOIN(second[k], VLIFT(y));
        }
    }
    UNROLL
    for (int k = 0; k < VECTORS; ++k) {
        *(OPNAME(loose) *)(void *)((char *)acc + k * VECTOR_BYTES) = VJOIN(first[k], second[k]);
    }
#endif
}

/* Eight whole tiles, and the tree over them without a question asked. */
static TNRI_NOINLINE void OPNAME(octet)(const tnri_reduction *r, ACC *acc, const char *a)
{
    ACC other[2][ROW_BYTES / sizeof(ACC)];
    const char *b = a + 2 * TILE_ROWS * ROW_BYTES;
    OPNAME(pair)(r, acc, a);
    OPNAME(pair)(r, other[0], b);
    OPNAME(join)(acc, other[0], ROW_BYTES / (int64_t)sizeof(ACC));
    a += 4 * TILE_ROWS * ROW_BYTES;
    b += 4 * TILE_ROWS * ROW_BYTES;
    OPNAME(pair)(r, other[0], a);
    OPNAME(pair)(r, other[1], b);
    OPNAME(join)(other[0], other[1], ROW_BYTES / (int64_t)sizeof(ACC));
    OPNAME(join)(acc, other[0], ROW_BYTES / (int64_t)sizeof(ACC));
}
#endif

/* Columns that are no neighbours. */
static void OPNAME(tile_across)(const tnri_reduction *r, ACC *restrict acc, const char *a, int64_t step, int64_t rows,
                                int64_t across, int64_t columns)
{
    (void)r;
    if (step < across) { /* but perhaps the terms of a column are */
        int64_t j = 0;
        for (; j + 4 <= columns; j += 4) {
            const char *column = a + j * across;
            ACC w = LIFT(AT(column));
            ACC x = LIFT(AT(column + across));
            ACC y = LIFT(AT(column + 2 * across));
            ACC z = LIFT(AT(column + 3 * across));
            for (int64_t i = 1; i < rows; ++i) {
                column += step;
                w = JOIN(w, LIFT(AT(column)));
                x = JOIN(x, LIFT(AT(column + across)));
                y = JOIN(y, LIFT(AT(column + 2 * across)));
                z = JOIN(z, LIFT(AT(column + 3 * across)));
            }
            acc[j] = w;
            acc[j + 1] = x;
            acc[j + 2] = y;
            acc[j + 3] = z;
        }
        for (; j < columns; ++j) {
            const char *column = a + j * across;
            ACC sum = LIFT(AT(column));
            for (int64_t i = 1; i < rows; ++i) {
                sum = JOIN(sum, LIFT(AT(column + i * step)));
            }
            acc[j] = sum;
        }
        return;
    }
    for (int64_t j = 0; j < columns; ++j) {
        acc[j] = LIFT(AT(a + j * across));
    }
    int64_t i = 1;
    for (; i + 3 <= rows; i += 3) {
        const char *row = a + i * step;
        for (int64_t j = 0; j < columns; ++j) {
            ACC sum = JOIN(acc[j], LIFT(AT(row + j * across)));
            sum = JOIN(sum, LIFT(AT(row + j * across + step)));
            acc[j] = JOIN(sum, LIFT(AT(row + j * across + 2 * step)));
        }
    }
    for (; i < rows; ++i) {
        const char *row = a + i * step;
        for (int64_t j = 0; j < columns; ++j) {
            acc[j] = JOIN(acc[j], LIFT(AT(row + j * across)));
        }
    }
}

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
        if (whole_rows && (k & 7) == 0 && tile + 8 <= whole && k + 8 <= tiles) {
            OPNAME(octet)(r, acc, a + tile * TILE_ROWS * ROW_BYTES);
            tile += 8;
            k += 8;
            joins = -3;
        } else if (whole_rows && (k & 1) == 0 && tile + 2 <= whole && k + 2 <= tiles) {
            OPNAME(pair)(r, acc, a + tile * TILE_ROWS * ROW_BYTES);
            tile += 2;
            k += 2;
            joins = -1;
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
#undef DECIDED
#undef WRITE
#undef PLAIN
