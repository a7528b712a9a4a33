/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing of elements of one size: E a word that may alias, QUAD a vector of four, OCTET one of eight, each of them or undefined, SIZED(x) the suffix. See product_kernels.h. */

/* Whole micro-panels side by side, all of whose rows are neighbours: the rows of one k at a time, for lines are read once then. */
static inline ALWAYS_INLINE void SIZED(pack_runs)(char *to, const E *from, const int64_t *depths, int64_t depth,
                                                  int bytes, int micros)
{
    const size_t next = (size_t)bytes * (size_t)depth;
    for (int64_t p = 0; p < depth; ++p, to += bytes) {
        const char *source = (const char *)(from + depths[p]);
        char *target = to;
        const uintptr_t rows_after = (uintptr_t)source + (uintptr_t)(micros * bytes);
        for (int at = 0; at < micros * bytes; at += 64) { /* likely to be packed next */
            __builtin_prefetch((const void *)(rows_after + (uintptr_t)at), 0, 3);
        }
        for (int i = 0; i < micros; ++i, source += bytes, target += next) {
            memcpy(target, source, (size_t)bytes);
        }
    }
}

static void SIZED(pack_unit)(E *to, const E *from, const int64_t *depths, int64_t depth, int width, int micros)
{
    const int bytes = width * (int)sizeof(E);
    if (bytes != TILE_VECTORS * VECTOR_BYTES) {
        SIZED(pack_runs)((char *)to, from, depths, depth, bytes, micros);
    } else if (micros == 1) {
        SIZED(pack_runs)((char *)to, from, depths, depth, TILE_VECTORS * VECTOR_BYTES, 1);
    } else {
        SIZED(pack_runs)((char *)to, from, depths, depth, TILE_VECTORS * VECTOR_BYTES, micros);
    }
}

#ifdef QUAD
/* Four lines of four elements each, turned. */
static inline ALWAYS_INLINE void SIZED(turn)(E *const to[4], const E *w, const E *x, const E *y, const E *z)
{
    QUAD a;
    QUAD b;
    QUAD c;
    QUAD d;
    memcpy(&a, w, sizeof a);
    memcpy(&b, x, sizeof b);
    memcpy(&c, y, sizeof c);
    memcpy(&d, z, sizeof d);
    const QUAD low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const QUAD high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const QUAD low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const QUAD high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5);
    d = __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7);
    memcpy(to[0], &a, sizeof a);
    memcpy(to[1], &b, sizeof b);
    memcpy(to[2], &c, sizeof c);
    memcpy(to[3], &d, sizeof d);
}
#endif

#ifdef QUAD
/* All live rows by `length` of k, 4 or 8, that are neighbours. */
static inline ALWAYS_INLINE void SIZED(pack_run)(E *restrict at, const E *restrict line, const int64_t *rows, int live,
                                                 int width, const int length)
{
    int r = 0;
    for (; r + 4 <= live; r += 4) {
        for (int q = 0; q < length; q += 4) {
            E *const first = at + q * width + r;
            E *const to[4] = {first, first + width, first + 2 * width, first + 3 * width};
            const E *from = line + q;
            SIZED(turn)(to, from + rows[r], from + rows[r + 1], from + rows[r + 2], from + rows[r + 3]);
        }
    }
    for (; r < live; ++r) {
        for (int q = 0; q < length; ++q) {
            at[q * width + r] = line[rows[r] + q];
        }
    }
}
#endif

/* Rows whose elements along k are neighbours, or runs of them: read in lines, written side by side. */
static void SIZED(pack_lines)(E *restrict to, const E *restrict from, const int64_t *rows, int live,
                              const int64_t *depths, int64_t depth, int width)
{
    int64_t p = 0;
    while (p < depth) {
#ifdef QUAD
        if (p + 8 <= depth && tnri_offsets_unit(depths + p, 8)) {
            SIZED(pack_run)(to + p * width, from + depths[p], rows, live, width, 8);
            p += 8;
            continue;
        }
        if (p + 4 <= depth && tnri_offsets_unit(depths + p, 4)) {
            SIZED(pack_run)(to + p * width, from + depths[p], rows, live, width, 4);
            p += 4;
            continue;
        }
#endif
        for (int r = 0; r < live; ++r) {
            to[p * width + r] = from[rows[r] + depths[p]];
        }
        ++p;
    }
}

/* Anything else: four elements at a time where rows are neighbours by fours, else one. */
static void SIZED(pack_singly)(E *restrict to, const E *restrict from, const int64_t *rows, int live,
                               const int64_t *depths, int64_t depth, int width)
{
    bool fours = live % 4 == 0;
    for (int r = 0; r < live && fours; r += 4) {
        fours = tnri_offsets_unit(rows + r, 4);
    }
    for (int64_t p = 0; p < depth && fours; ++p) {
        for (int r = 0; r < live; r += 4) {
            memcpy(to + p * width + r, from + depths[p] + rows[r], 4 * sizeof(E));
        }
    }
    for (int64_t p = 0; p < depth && !fours; ++p) {
        const E *column = from + depths[p];
        for (int r = 0; r < live; ++r) {
            to[p * width + r] = column[rows[r]];
        }
    }
}

#ifdef QUAD

/* How many rows after the first its neighbour comes; 0: it does not, or too soon or too late to make use of it. */
static int64_t SIZED(run_of)(const int64_t *rows, int64_t count)
{
    for (int64_t i = 4; 4 * i <= count; ++i) {
        if (rows[i] == rows[0] + 1) {
            return i;
        }
    }
    return 0;
}

/* Each of four rows has its neighbours one, two and three runs further on, in the same place of a micro-panel. */
static bool SIZED(is_square)(const int64_t *rows, int64_t first, int64_t run, int width)
{
    for (int s = 0; s < 4; ++s) {
        const int64_t at = first + s * run;
        for (int q = 0; q < 4; ++q) {
            if (rows[at + q] != rows[first + q] + s) {
                return false;
            }
        }
        if (at % width + 4 > width) {
            return false;
        }
    }
    return true;
}

/*
 * Rows that are apart, while those of the next runs are their neighbours: four by four, turned, and all of a line one after the other. Rows
 * come in micro-panels one behind the other.
 */
static void SIZED(pack_runs_across)(E *restrict to, const E *restrict from, const int64_t *rows, int64_t count,
                                    int64_t run, const int64_t *depths, int64_t depth, int width)
{
    const int64_t line = 64 / (int)sizeof(E);
    for (int64_t base = 0; base < count; base += line * run) {
        for (int64_t i = base; i < base + run && i < count; i += 4) {
            const int live = base + run - i < 4 ? (int)(base + run - i) : 4;
            for (int64_t first = i; first < i + line * run && first < count; first += 4 * run) {
                if (live == 4 && first + 3 * run + 4 <= count && SIZED(is_square)(rows, first, run, width)) {
                    E *at[4];
                    for (int s = 0; s < 4; ++s) {
                        const int64_t row = first + s * run;
                        at[s] = to + row / width * width * depth + row % width;
                    }
                    for (int64_t p = 0; p < depth; ++p) {
                        const E *column = from + depths[p];
                        E *const here[4] = {at[0] + p * width, at[1] + p * width, at[2] + p * width, at[3] + p * width};
                        SIZED(turn)
                        (here, column + rows[first], column + rows[first + 1], column + rows[first + 2],
                         column + rows[first + 3]);
                    }
                    continue;
                }
                for (int64_t row = first; row < first + 4 * run && row < count; row += run) {
                    for (int q = 0; q < live && row + q < count; ++q) {
                        E *at = to + (row + q) / width * width * depth + (row + q) % width;
                        for (int64_t p = 0; p < depth; ++p) {
                            at[p * width] = from[rows[row + q] + depths[p]];
                        }
                    }
                }
            }
        }
    }
}

#endif

static void SIZED(pack)(void *packed, const void *elements, const int64_t *rows, int64_t count, bool unit,
                        const int64_t *depths, int64_t depth, bool unit_depth, int width)
{
    E *to = packed;
    const E *from = elements;
    const bool lines = unit_depth || (!unit && has_lines(depths, depth));
    int64_t i = 0;
#ifdef QUAD
    const int64_t run = unit || lines ? 0 : SIZED(run_of)(rows, count);
    if (run != 0) {
        const int64_t whole = count / width * width;
        if (whole < count) {
            memset(to + whole * depth, 0, (size_t)width * (size_t)depth * sizeof(E));
        }
        SIZED(pack_runs_across)(to, from, rows, count, run, depths, depth, width);
        return;
    }
#endif
    if (unit) {
        while (i + width <= count) { /* of few enough that their targets do not push each other out of a cache */
            int micros = 1;
            while (micros < 4 && i + (micros + 1) * width <= count &&
                   rows[i + micros * width] == rows[i] + micros * width) {
                ++micros;
            }
            SIZED(pack_unit)(to, from + rows[i], depths, depth, width, micros);
            i += micros * width;
            to += (int64_t)micros * width * depth;
        }
    }
    for (; i < count; i += width, to += (int64_t)width * depth) {
        const int live = count - i < width ? (int)(count - i) : width;
        if (live < width) {
            memset(to, 0, (size_t)width * (size_t)depth * sizeof(E));
        }
        if (unit) {
            for (int64_t p = 0; p < depth; ++p) {
                memcpy(to + p * width, from + rows[i] + depths[p], (size_t)live * sizeof(E));
            }
        } else if (lines) {
            SIZED(pack_lines)(to, from, rows + i, live, depths, depth, width);
        } else {
            SIZED(pack_singly)(to, from, rows + i, live, depths, depth, width);
        }
    }
}

#ifdef OCTET
/* Eight rows' lines of eight elements each, turned; the next of them, `ahead` elements on, are asked for. */
static inline ALWAYS_INLINE void SIZED(turn_octet)(E *to, int64_t micro, const E *from, const int64_t *rows,
                                                   int64_t ahead)
{
    OCTET x[8];
    OCTET y[8];
    UNROLL
    for (int i = 0; i < 8; ++i) {
        memcpy(&x[i], from + rows[i], sizeof x[i]);
        __builtin_prefetch((const void *)((uintptr_t)(from + rows[i]) + (uintptr_t)ahead * sizeof(E)), 0, 3);
    }
    UNROLL
    for (int i = 0; i < 8; i += 2) { /* y: elements 0 2 4 6 of a pair of rows; 1 3 5 7 */
        y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4) { /* of four rows: elements 0 4; 1 5; 2 6; 3 7 */
        UNROLL
        for (int odd = 0; odd < 2; ++odd) {
            x[i + odd] = __builtin_shufflevector(y[i + odd], y[i + 2 + odd], 0, 1, 8, 9, 4, 5, 12, 13);
            x[i + 2 + odd] = __builtin_shufflevector(y[i + odd], y[i + 2 + odd], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    UNROLL
    for (int i = 0; i < 4; ++i) {
        y[i] = __builtin_shufflevector(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        y[i + 4] = __builtin_shufflevector(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    UNROLL
    for (int i = 0; i < 8; ++i) {
        memcpy(to + i * micro, &y[i], sizeof y[i]);
    }
}
#endif

#ifdef QUAD
/* Four rows by `lines` elements, from the `i`-th on. */
static inline ALWAYS_INLINE void SIZED(turn_quads)(E *to, int64_t micro, const E *from, const int64_t *rows, int i,
                                                   int lines)
{
    for (; i + 4 <= lines; i += 4) {
        E *const targets[4] = {to + i * micro, to + (i + 1) * micro, to + (i + 2) * micro, to + (i + 3) * micro};
        SIZED(turn)(targets, from + rows[0] + i, from + rows[1] + i, from + rows[2] + i, from + rows[3] + i);
    }
    for (; i < lines; ++i) {
        for (int r = 0; r < 4; ++r) {
            to[i * micro + r] = from[rows[r] + i];
        }
    }
}
#endif

static void SIZED(pack_across)(void *packed, const void *elements, const int64_t *rows, int live, int lines,
                               const int64_t *depths, int64_t depth, int width)
{
    E *restrict to = packed;
    const E *restrict from = elements;
    const int64_t micro = (int64_t)width * depth;
    if (live < width) {
        memset(to, 0, (size_t)(lines * micro) * sizeof(E));
    }
    int r = 0;
#ifdef OCTET
    for (; r + 8 <= live; r += 8) {
        for (int64_t p = 0; p < depth; ++p) {
            const int64_t ahead = depths[p + 8 < depth ? p + 8 : depth - 1] - depths[p];
            E *at = to + p * width + r;
            int i = 0;
            for (; i + 8 <= lines; i += 8) {
                SIZED(turn_octet)(at + i * micro, micro, from + depths[p] + i, rows + r, ahead);
            }
            SIZED(turn_quads)(at, micro, from + depths[p], rows + r, i, lines);
            SIZED(turn_quads)(at + 4, micro, from + depths[p], rows + r + 4, i, lines);
        }
    }
#endif
#ifdef QUAD
    for (; r + 4 <= live; r += 4) {
        for (int64_t p = 0; p < depth; ++p) {
            SIZED(turn_quads)(to + p * width + r, micro, from + depths[p], rows + r, 0, lines);
        }
    }
#endif
    for (; r < live; ++r) {
        for (int64_t p = 0; p < depth; ++p) {
            const E *line = from + rows[r] + depths[p];
            E *at = to + p * width + r;
            for (int i = 0; i < lines; ++i) {
                at[i * micro] = line[i];
            }
        }
    }
}

#undef E
#undef QUAD
#undef OCTET
#undef SIZED
