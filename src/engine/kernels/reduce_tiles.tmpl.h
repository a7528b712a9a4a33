/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tiles of one reduction of one dtype, column by column: a part of reduce_op.tmpl.h, with its words. Whatever the way, a column's
 * rows are joined one after another, but where the order cannot be told from the result.
 */

#ifdef LANE

/*
 * Neighbouring columns that fill a known, small number of vectors: these stay in registers. What comes of them goes to acc, or
 * is joined to what is there and to `joins` - 1 more results, which lie before it `pitch` bytes apart; then the first of these
 * has it all.
 */
static inline ALWAYS_INLINE void OPNAME(block)(LANE *acc, const char *a, int64_t step, int64_t rows, int vectors,
                                               int joins, int64_t pitch)
{
    OPNAME(vector) sums[8];
    UNROLL
    for (int k = 0; k < vectors; ++k) {
        const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(a + k * VECTOR_BYTES);
        sums[k] = VLIFT(x);
    }
    TURNS
    for (int64_t i = 1; i < rows; ++i) {
        a += step;
        UNROLL
        for (int k = 0; k < vectors; ++k) {
            const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(a + k * VECTOR_BYTES);
            sums[k] = VJOIN(sums[k], VLIFT(x));
        }
    }
    char *to = (char *)acc + pitch;
    ROLLED
    for (int i = 0; i < joins; ++i) {
        to -= pitch;
        UNROLL
        for (int k = 0; k < vectors; ++k) {
            const OPNAME(vector) before = *(const OPNAME(loose) *)(const void *)(to + k * VECTOR_BYTES);
            sums[k] = VJOIN(before, sums[k]);
        }
    }
    if (joins == 0) {
        to = (char *)acc;
    }
    UNROLL
    for (int k = 0; k < vectors; ++k) {
        *(OPNAME(loose) *)(void *)(to + k * VECTOR_BYTES) = sums[k];
    }
}

/* SWEEP_ROWS rows of a wide strip, one cache line of each at a time; `more`: acc has what came of the rows before. */
static inline ALWAYS_INLINE void OPNAME(sweep)(char *acc, const char *a, int64_t step, int64_t bytes, bool more)
{
    for (int64_t at = 0; at < bytes; at += VECTOR_BYTES * SWEEP_VECTORS) {
        OPNAME(vector) sums[SWEEP_VECTORS];
        UNROLL
        for (int i = 0; i < SWEEP_ROWS; ++i) {
            UNROLL
            for (int k = 0; k < SWEEP_VECTORS; ++k) {
                const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(a + i * step + at + k * VECTOR_BYTES);
                if (i > 0) {
                    sums[k] = VJOIN(sums[k], VLIFT(x));
                } else if (more) {
                    const OPNAME(vector) before = *(const OPNAME(loose) *)(const void *)(acc + at + k * VECTOR_BYTES);
                    sums[k] = VJOIN(before, VLIFT(x));
                } else {
                    sums[k] = VLIFT(x);
                }
            }
        }
        UNROLL
        for (int k = 0; k < SWEEP_VECTORS; ++k) {
            *(OPNAME(loose) *)(void *)(acc + at + k * VECTOR_BYTES) = sums[k];
        }
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
    if (rows == TILE_ROWS && count * (int64_t)sizeof(LANE) >= SWEEP_BYTES) {
        const int64_t bytes = count * (int64_t)sizeof(LANE) / 64 * 64;
        OPNAME(sweep)((char *)acc, a, step, bytes, false);
        OPNAME(sweep)((char *)acc, a + SWEEP_ROWS * step, step, bytes, true);
        j = bytes / (int64_t)sizeof(LANE);
    }
    for (; j + 8 * wide <= count; j += 8 * wide) {
        OPNAME(block)(lanes + j, a + j * (int64_t)sizeof(LANE), step, rows, 8, 0, 0);
    }
    if (j + 4 * wide <= count) {
        OPNAME(block)(lanes + j, a + j * (int64_t)sizeof(LANE), step, rows, 4, 0, 0);
        j += 4 * wide;
    }
    for (; j + wide <= count; j += wide) {
        OPNAME(block)(lanes + j, a + j * (int64_t)sizeof(LANE), step, rows, 1, 0, 0);
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
enum { OPNAME(SEEN_NAN) = 1, OPNAME(SEEN_ZERO) = 2 };

/* As `block`, and what makes its result doubtful: a NaN among the terms, or, unless `exact`, a zero as result. */
static inline ALWAYS_INLINE int OPNAME(quick)(ACC *acc, const char *a, int64_t step, int64_t rows, int vectors,
                                              bool exact)
{
    OPNAME(vector) best[8];
    NAME(doubt) nan = {0};
    UNROLL
    for (int k = 0; k < vectors; ++k) {
        best[k] = *(const OPNAME(loose) *)(const void *)(a + k * VECTOR_BYTES);
        nan |= NAME(DOUBT_NAN)(best[k], best[k]);
    }
    const char *row = a + step;
    const char *end = a + rows * step;
    TURNS
    for (int64_t pairs = (rows - 1) / 2; pairs > 0; --pairs) {
        UNROLL
        for (int k = 0; k < vectors; ++k) {
            const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(row + k * VECTOR_BYTES);
            const OPNAME(vector) y = *(const OPNAME(loose) *)(const void *)(row + step + k * VECTOR_BYTES);
            if (exact) {
                const OPNAME(vector) both = SIGNED(QUICK(x, y), QUICK(y, x));
                best[k] = SIGNED(QUICK(best[k], both), QUICK(both, best[k]));
            } else {
                best[k] = QUICK(best[k], QUICK(x, y));
                nan |= NAME(DOUBT_NAN)(x, y);
            }
        }
        row += 2 * step;
    }
    if (row != end) {
        UNROLL
        for (int k = 0; k < vectors; ++k) {
            const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(row + k * VECTOR_BYTES);
            nan |= NAME(DOUBT_NAN)(x, x);
            best[k] = exact ? SIGNED(QUICK(best[k], x), QUICK(x, best[k])) : QUICK(best[k], x);
        }
    }
    NAME(doubt) zero = {0};
    UNROLL
    for (int k = 0; k < vectors; ++k) {
        *(OPNAME(loose) *)(void *)((char *)acc + k * VECTOR_BYTES) = best[k];
        zero |= NAME(DOUBT_ZERO)(best[k]);
    }
    return (DOUBTED(nan) ? OPNAME(SEEN_NAN) : 0) | (DOUBTED(zero) ? OPNAME(SEEN_ZERO) : 0);
}

/* Zeros are looked at once more; false: carefully, for there is a NaN. */
static inline ALWAYS_INLINE bool OPNAME(quick_block)(ACC *acc, const char *a, int64_t step, int64_t rows, int vectors)
{
    const int seen = OPNAME(quick)(acc, a, step, rows, vectors, false);
    if (seen == OPNAME(SEEN_ZERO)) {
        (void)OPNAME(quick)(acc, a, step, rows, vectors, true);
    }
    return (seen & OPNAME(SEEN_NAN)) == 0;
}

/* As `sweep`; true where the result, if these are the last rows, is doubtful. */
static inline ALWAYS_INLINE bool OPNAME(quick_sweep)(char *acc, const char *a, int64_t step, int64_t bytes, bool more)
{
    NAME(doubt) doubt = {0};
    for (int64_t at = 0; at < bytes; at += VECTOR_BYTES * SWEEP_VECTORS) {
        UNROLL
        for (int k = 0; k < SWEEP_VECTORS; ++k) {
            const char *from = a + at + k * VECTOR_BYTES;
            OPNAME(loose) *to = (OPNAME(loose) *)(void *)(acc + at + k * VECTOR_BYTES);
            OPNAME(vector) best = {0};
            UNROLL
            for (int i = 0; i < SWEEP_ROWS; i += 2) {
                const OPNAME(vector) x = *(const OPNAME(loose) *)(const void *)(from + i * step);
                const OPNAME(vector) y = *(const OPNAME(loose) *)(const void *)(from + (i + 1) * step);
                doubt |= NAME(DOUBT_NAN)(x, y);
                best = i == 0 ? QUICK(x, y) : QUICK(best, QUICK(x, y));
            }
            if (more) {
                const OPNAME(vector) before = *to;
                best = QUICK(before, best);
                doubt |= NAME(DOUBT_ZERO)(best);
            }
            *to = best;
        }
    }
    return DOUBTED(doubt);
}

static void OPNAME(tile_unit)(const tnri_reduction *r, ACC *restrict acc, const char *a, int64_t step, int64_t rows,
                              int64_t columns)
{
    const int64_t wide = VECTOR_BYTES / (int64_t)sizeof(LANE);
    int64_t j = 0;
    if (rows == TILE_ROWS && columns * (int64_t)sizeof(LANE) >= SWEEP_BYTES) {
        const int64_t bytes = columns * (int64_t)sizeof(LANE) / 64 * 64;
        const bool first = OPNAME(quick_sweep)((char *)acc, a, step, bytes, false);
        const bool last = OPNAME(quick_sweep)((char *)acc, a + SWEEP_ROWS * step, step, bytes, true);
        j = first || last ? 0 : bytes / (int64_t)sizeof(LANE);
    }
    for (; j + 8 * wide <= columns; j += 8 * wide) {
        const char *from = a + j * (int64_t)sizeof(LANE);
        if (!OPNAME(quick_block)(acc + j, from, step, rows, 8)) {
            OPNAME(tile_careful)(r, acc + j, from, step, rows, 8 * wide);
        }
    }
    for (; j + 4 * wide <= columns; j += 4 * wide) {
        const char *from = a + j * (int64_t)sizeof(LANE);
        if (!OPNAME(quick_block)(acc + j, from, step, rows, 4)) {
            OPNAME(tile_careful)(r, acc + j, from, step, rows, 4 * wide);
        }
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
 * Two whole tiles of a line, joined, in the order of memory, and joined to `joins` rows of accumulators before acc, as in the
 * tree. Where a row fills fewer than eight vectors, both at once: enough independent accumulators for any pipeline.
 */
static TNRI_NOINLINE void OPNAME(pair)(ACC *acc, const char *a, int joins)
{
    const char *b = a + TILE_ROWS * ROW_BYTES;
#if ROW_BYTES >= 8 * VECTOR_BYTES
    for (int part = 0; part < ROW_BYTES; part += 8 * VECTOR_BYTES) {
        OPNAME(block)((LANE *)(void *)((char *)acc + part), a + part, ROW_BYTES, TILE_ROWS, 8, 0, 0);
    }
    for (int part = 0; part < ROW_BYTES; part += 8 * VECTOR_BYTES) {
        OPNAME(block)((LANE *)(void *)((char *)acc + part), b + part, ROW_BYTES, TILE_ROWS, 8, 1 + joins, ROW_BYTES);
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
        first[k] = VJOIN(first[k], second[k]);
    }
    char *to = (char *)acc;
    ROLLED
    for (int i = 0; i < joins; ++i) {
        to -= ROW_BYTES;
        UNROLL
        for (int k = 0; k < VECTORS; ++k) {
            const OPNAME(vector) before = *(const OPNAME(loose) *)(const void *)(to + k * VECTOR_BYTES);
            first[k] = VJOIN(before, first[k]);
        }
    }
    UNROLL
    for (int k = 0; k < VECTORS; ++k) {
        *(OPNAME(loose) *)(void *)(to + k * VECTOR_BYTES) = first[k];
    }
#endif
}

/* Whole tiles of a line, 2, 4, or 8, and the tree over them without a question asked; acc has room for OCTET_SLOTS rows. */
static TNRI_NOINLINE void OPNAME(tiles)(ACC *acc, const char *a, int tiles)
{
#ifdef QUICK
    enum { VECTORS = ROW_BYTES / VECTOR_BYTES < 8 ? ROW_BYTES / VECTOR_BYTES : 8 };
    bool done = true;
    for (int part = 0; part < ROW_BYTES && done; part += VECTORS * VECTOR_BYTES) {
        done =
            OPNAME(quick_block)((ACC *)(void *)((char *)acc + part), a + part, ROW_BYTES, tiles * TILE_ROWS, VECTORS);
    }
    if (done) {
        return;
    }
#endif
    enum { ROW = ROW_BYTES / sizeof(ACC), PAIR = 2 * TILE_ROWS * ROW_BYTES };
    OPNAME(pair)(acc, a, 0);
    if (tiles >= 4) {
        OPNAME(pair)(acc + ROW, a + PAIR, 1);
    }
    if (tiles == 8) {
        OPNAME(pair)(acc + ROW, a + 2 * PAIR, 0);
        OPNAME(pair)(acc + 2 * ROW, a + 3 * PAIR, 2);
    }
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
