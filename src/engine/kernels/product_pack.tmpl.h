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
/* Four rows by four of k, turned. */
static inline void SIZED(turn)(E *to, int width, const E *w, const E *x, const E *y, const E *z)
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
    memcpy(to, &a, sizeof a);
    memcpy(to + width, &b, sizeof b);
    memcpy(to + 2 * width, &c, sizeof c);
    memcpy(to + 3 * width, &d, sizeof d);
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
            SIZED(turn)(at + r, width, w, x, y, z);
            SIZED(turn)(at + 4 * width + r, width, w + 4, x + 4, y + 4, z + 4);
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

static void SIZED(pack)(void *packed, const void *elements, const int64_t *rows, int64_t count, bool unit,
                        const int64_t *depths, int64_t depth, bool unit_depth, int width)
{
    E *to = packed;
    const E *from = elements;
    int64_t i = 0;
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
