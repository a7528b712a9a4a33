/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing of elements of one size: E a word that may alias, QUAD a vector of four or undefined, SIZED(x) the suffix. See product_kernels.h. */

/* Whole micro-panels side by side, all of whose rows are neighbours: the rows of one k at a time, for lines are read once then. */
static inline ALWAYS_INLINE void SIZED(pack_runs)(char *to, const E *from, const int64_t *depths, int64_t depth,
                                                  int bytes, int panels)
{
    const size_t next = (size_t)bytes * (size_t)depth;
    for (int64_t p = 0; p < depth; ++p, to += bytes) {
        const char *source = (const char *)(from + depths[p]);
        char *target = to;
        const uintptr_t rows_after = (uintptr_t)source + (uintptr_t)(panels * bytes);
        for (int at = 0; at < panels * bytes; at += 64) { /* likely to be packed next */
            __builtin_prefetch((const void *)(rows_after + (uintptr_t)at), 0, 3);
        }
        for (int i = 0; i < panels; ++i, source += bytes, target += next) {
            memcpy(target, source, (size_t)bytes);
        }
    }
}

static void SIZED(pack_unit)(E *to, const E *from, const int64_t *depths, int64_t depth, int width, int panels)
{
    const int bytes = width * (int)sizeof(E);
    if (bytes != TILE_VECTORS * VECTOR_BYTES) {
        SIZED(pack_runs)((char *)to, from, depths, depth, bytes, panels);
    } else if (panels == 1) {
        SIZED(pack_runs)((char *)to, from, depths, depth, TILE_VECTORS * VECTOR_BYTES, 1);
    } else {
        SIZED(pack_runs)((char *)to, from, depths, depth, TILE_VECTORS * VECTOR_BYTES, panels);
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

/* Rows whose elements along k are neighbours: read in lines, written side by side. */
static void SIZED(pack_lines)(E *restrict to, const E *restrict from, const int64_t *rows, int live, int64_t depth,
                              int width)
{
    int64_t p = 0;
#ifdef QUAD
    for (; p + 8 <= depth; p += 8) {
        E *at = to + p * width;
        const E *line = from + p;
        int r = 0;
        for (; r + 4 <= live; r += 4) {
            const E *w = line + rows[r];
            const E *x = line + rows[r + 1];
            const E *y = line + rows[r + 2];
            const E *z = line + rows[r + 3];
            E *const low[4] = {at + r, at + width + r, at + 2 * width + r, at + 3 * width + r};
            E *const high[4] = {low[0] + 4 * width, low[1] + 4 * width, low[2] + 4 * width, low[3] + 4 * width};
            SIZED(turn)(low, w, x, y, z);
            SIZED(turn)(high, w + 4, x + 4, y + 4, z + 4);
        }
        for (; r < live; ++r) {
            for (int q = 0; q < 8; ++q) {
                at[q * width + r] = line[rows[r] + q];
            }
        }
    }
#endif
    for (; p < depth; ++p) {
        for (int r = 0; r < live; ++r) {
            to[p * width + r] = from[rows[r] + p];
        }
    }
}

/* Anything else: an element at a time. */
static void SIZED(pack_singly)(E *restrict to, const E *restrict from, const int64_t *rows, int live,
                               const int64_t *depths, int64_t depth, int width)
{
    for (int64_t p = 0; p < depth; ++p) {
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
    int64_t i = 0;
#ifdef QUAD
    const int64_t run = unit || unit_depth ? 0 : SIZED(run_of)(rows, count);
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
            int panels = 1;
            while (panels < 4 && i + (panels + 1) * width <= count &&
                   rows[i + panels * width] == rows[i] + panels * width) {
                ++panels;
            }
            SIZED(pack_unit)(to, from + rows[i], depths, depth, width, panels);
            i += panels * width;
            to += (int64_t)panels * width * depth;
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
        } else if (unit_depth) {
            SIZED(pack_lines)(to, from + depths[0], rows + i, live, depth, width);
        } else {
            SIZED(pack_singly)(to, from, rows + i, live, depths, depth, width);
        }
    }
}

#undef E
#undef QUAD
#undef SIZED
