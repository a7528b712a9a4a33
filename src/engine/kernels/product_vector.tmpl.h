/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products of a matrix by a vector, and outer ones, of one dtype (each_dtype.inl.h, after product_tile.tmpl.h): every element of the
 * matrix is read once, so what counts is that lines are read in order, several streams at a time.
 *
 * Sums over k: by columns in the order of k, as everywhere; by rows, where neighbours in memory are neighbours along k, in partial
 * sums, of every so manieth product each, which are added up in the end. Their number depends on whether a row is made with three
 * others: who cuts a product must cut at multiples of ROWS_AT_ONCE.
 */

#define ROWS_AT_ONCE 4
#define COLUMNS_AT_ONCE (8 / PARTS)
#define ROW_VECTORS (2 / PARTS)       /* of partial sums of a row among others */
#define LONE_VECTORS (8 / PARTS)      /* of one by itself */
#define CHUNK (2048 / (int)sizeof(T)) /* elements that are gathered at a time, a multiple of what LONE_VECTORS hold */

/* sums += columns of a times elements of b, for `reals` rows from a on. The imaginary parts' products come SUMS_REALS behind. */
static inline ALWAYS_INLINE void NAME(add_columns)(REAL *restrict sums, int reals, int count, const REAL *a,
                                                   int64_t a_step, const REAL *b, int64_t b_step)
{
    VEC values[COLUMNS_AT_ONCE * PARTS];
    UNROLL
    for (int q = 0; q < count; ++q) {
        UNROLL
        for (int part = 0; part < PARTS; ++part) {
            values[q * PARTS + part] = SPREAD(VEC, b[q * b_step + part]);
        }
    }
    int i = 0;
    for (; i + LANES <= reals; i += LANES) {
        VEC to[PARTS];
        UNROLL
        for (int part = 0; part < PARTS; ++part) {
            to[part] = *(const LOOSE *)(const void *)(sums + part * SUMS_REALS + i);
        }
        UNROLL
        for (int q = 0; q < count; ++q) {
            const VEC rows = *(const LOOSE *)(const void *)(a + q * a_step + i);
            UNROLL
            for (int part = 0; part < PARTS; ++part) {
                to[part] = REAL_NAME(FUSED)(rows, values[q * PARTS + part], to[part]);
            }
        }
        UNROLL
        for (int part = 0; part < PARTS; ++part) {
            *(LOOSE *)(void *)(sums + part * SUMS_REALS + i) = to[part];
        }
    }
    for (; i < reals; ++i) {
        for (int q = 0; q < count; ++q) {
            UNROLL
            for (int part = 0; part < PARTS; ++part) {
                REAL *to = sums + part * SUMS_REALS + i;
                *to = REAL_NAME(fused)(a[q * a_step + i], values[q * PARTS + part][0], *to);
            }
        }
    }
}

/* One column of c: rows of a are neighbours. */
static void NAME(by_columns)(const tnri_gemm *g)
{
    _Alignas(VECTOR_BYTES) REAL sums[PARTS * SUMS_REALS];
    const int most = SUMS_REALS / PARTS;
    const int64_t a_step = g->k > 1 ? g->a_column * PARTS : 0;
    const int64_t b_step = g->k > 1 ? g->b_row * PARTS : 0;
    for (int64_t first = 0; first < g->m; first += most) {
        const int rows = g->m - first < most ? (int)(g->m - first) : most;
        const REAL *a = (const REAL *)g->a + first * PARTS;
        const REAL *b = g->b;
        for (int part = 0; part < PARTS; ++part) {
            memset(sums + part * SUMS_REALS, 0, (size_t)(rows * PARTS) * sizeof(REAL));
        }
        int64_t p = 0;
        for (; p + COLUMNS_AT_ONCE <= g->k; p += COLUMNS_AT_ONCE) {
            NAME(add_columns)(sums, rows * PARTS, COLUMNS_AT_ONCE, a + p * a_step, a_step, b + p * b_step, b_step);
        }
        for (; p < g->k; ++p) {
            NAME(add_columns)(sums, rows * PARTS, 1, a + p * a_step, 0, b + p * b_step, 0);
        }
        NAME(finish_line)
        (sums, sums + (PARTS - 1) * SUMS_REALS, rows, (T *)g->c + first * g->c_row, g->c_row, &g->finish);
    }
}

/* Elements of a line side by side: as they lie, or copied. */
static inline const REAL *NAME(line)(T *room, const T *from, int64_t step, int64_t count)
{
    if (step == 1 || count == 1) {
        return (const REAL *)(const void *)from;
    }
    for (int64_t i = 0; i < count; ++i) {
        room[i] = from[i * step];
    }
    return (const REAL *)(const void *)room;
}

/* `rows` rows of a times b, the first of both along k being neighbours, or copied chunk by chunk. */
static inline ALWAYS_INLINE void NAME(some_rows)(const tnri_gemm *g, int64_t first, int rows, int vectors)
{
    VEC sums[PARTS][ROWS_AT_ONCE][LONE_VECTORS];
    REAL rest[PARTS][ROWS_AT_ONCE][PARTS];
    T room[ROWS_AT_ONCE + 1][CHUNK];
    UNROLL
    for (int part = 0; part < PARTS; ++part) {
        UNROLL
        for (int r = 0; r < rows; ++r) {
            UNROLL
            for (int v = 0; v < vectors; ++v) {
                sums[part][r][v] = (VEC){0};
            }
            UNROLL
            for (int q = 0; q < PARTS; ++q) {
                rest[part][r][q] = (REAL)0;
            }
        }
    }
    const bool lies = g->b_row == 1 && g->a_column == 1;
    const int64_t chunk = lies || g->k < CHUNK ? g->k : CHUNK;
    for (int64_t p = 0; p < g->k; p += chunk) {
        const int64_t count = g->k - p < chunk ? g->k - p : chunk;
        const REAL *a[ROWS_AT_ONCE];
        const REAL *b = NAME(line)(room[ROWS_AT_ONCE], (const T *)g->b + p * g->b_row, g->b_row, count);
        UNROLL
        for (int r = 0; r < rows; ++r) {
            a[r] = NAME(line)(room[r], (const T *)g->a + (first + r) * g->a_row + p * g->a_column, g->a_column, count);
        }
        const int64_t reals = count * PARTS;
        int64_t i = 0;
        for (; i + vectors * LANES <= reals; i += vectors * LANES) {
            UNROLL
            for (int v = 0; v < vectors; ++v) {
                const VEC x = *(const LOOSE *)(const void *)(b + i + v * LANES);
#if KIND == KIND_COMPLEX
                const VEC turned = REAL_NAME(SWAPPED)(x);
#endif
                UNROLL
                for (int r = 0; r < rows; ++r) {
                    const VEC y = *(const LOOSE *)(const void *)(a[r] + i + v * LANES);
                    sums[0][r][v] = REAL_NAME(FUSED)(y, x, sums[0][r][v]);
#if KIND == KIND_COMPLEX
                    sums[1][r][v] = REAL_NAME(FUSED)(y, turned, sums[1][r][v]);
#endif
                }
            }
        }
        for (; i < reals; i += PARTS) { /* of the last chunk alone: all others are whole */
            UNROLL
            for (int r = 0; r < rows; ++r) {
                UNROLL
                for (int q = 0; q < PARTS; ++q) {
                    rest[0][r][q] = REAL_NAME(fused)(a[r][i + q], b[i + q], rest[0][r][q]);
#if KIND == KIND_COMPLEX
                    rest[1][r][q] = REAL_NAME(fused)(a[r][i + q], b[i + 1 - q], rest[1][r][q]);
#endif
                }
            }
        }
    }
    for (int r = 0; r < rows; ++r) {
        /* what even and odd reals come to: one sum for a real dtype */
        REAL totals[PARTS][PARTS];
        for (int part = 0; part < PARTS; ++part) {
            VEC all = sums[part][r][0];
            for (int v = 1; v < vectors; ++v) {
                all += sums[part][r][v];
            }
            for (int width = LANES / 2; width >= PARTS; width /= 2) {
                for (int i = 0; i < width; ++i) {
                    all[i] += all[i + width];
                }
            }
            for (int q = 0; q < PARTS; ++q) {
                totals[part][q] = all[q] + rest[part][r][q];
            }
        }
#if KIND == KIND_COMPLEX
        const REAL re[2] = {totals[0][0], totals[1][1]}; /* a's parts by the real part of b */
        const REAL im[2] = {totals[1][0], totals[0][1]};
#else
        const REAL *re = totals[0];
        const REAL *im = NULL;
#endif
        NAME(finish_line)(re, im, 1, (T *)g->c + (first + r) * g->c_row, 0, &g->finish);
    }
}

/* One column of c, row by row. */
static void NAME(by_rows)(const tnri_gemm *g)
{
    int64_t i = 0;
    for (; i + ROWS_AT_ONCE <= g->m; i += ROWS_AT_ONCE) {
        NAME(some_rows)(g, i, ROWS_AT_ONCE, ROW_VECTORS);
    }
    for (; i < g->m; ++i) {
        NAME(some_rows)(g, i, 1, LONE_VECTORS);
    }
}

/* What an element of b multiplies rows by; of complex numbers, the rows as they are and with their parts exchanged. */
typedef struct NAME(factor) {
    VEC straight;
#if KIND == KIND_COMPLEX
    VEC crossed;
#endif
} NAME(factor);

static inline ALWAYS_INLINE NAME(factor) NAME(factor_of)(const REAL *b, const tnri_finish *finish)
{
#if KIND == KIND_COMPLEX
    const REAL sign_a = finish->conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = finish->conjugate_b ? (REAL)-1 : (REAL)1;
    return (NAME(factor)){NAME(pairs)(b[0], sign_a * b[0]), NAME(pairs)(-sign_a * sign_b * b[1], sign_b * b[1])};
#else
    (void)finish;
    return (NAME(factor)){SPREAD(VEC, *b)};
#endif
}

/* Rows times the factor, or that and what is there, fused. */
static inline ALWAYS_INLINE VEC NAME(outer_vector)(bool add, const REAL *a, NAME(factor) factor, const REAL *there)
{
    const VEC rows = *(const LOOSE *)(const void *)a;
    const VEC straight =
        add ? REAL_NAME(FUSED)(rows, factor.straight, *(const LOOSE *)(const void *)there) : rows * factor.straight;
#if KIND == KIND_COMPLEX
    return REAL_NAME(FUSED)(REAL_NAME(SWAPPED)(rows), factor.crossed, straight);
#else
    return straight;
#endif
}

#define OUTER_AHEAD 1024 /* bytes of c that are fetched ahead, past the end of a page, too */

/*
 * `reals` >= LANES of a column. Where vectors do not divide them the last one begins among what others hold: it is made before these are
 * written, and is the same.
 */
static inline ALWAYS_INLINE void NAME(outer_column)(bool add, int64_t reals, const REAL *a, NAME(factor) factor,
                                                    REAL *to)
{
    VEC last = {0};
    if (reals % LANES != 0) {
        last = NAME(outer_vector)(add, a + reals - LANES, factor, to + reals - LANES);
    }
    int64_t i = 0;
    for (; i + 4 * LANES <= reals; i += 4 * LANES) {
        UNROLL
        for (int v = 0; v < 4 * LANES; v += LANES) {
            __builtin_prefetch((const void *)((uintptr_t)(to + i + v) + OUTER_AHEAD), 1, 3);
            *(LOOSE *)(void *)(to + i + v) = NAME(outer_vector)(add, a + i + v, factor, to + i + v);
        }
    }
    for (; i + LANES <= reals; i += LANES) {
        *(LOOSE *)(void *)(to + i) = NAME(outer_vector)(add, a + i, factor, to + i);
    }
    if (reals % LANES != 0) {
        *(LOOSE *)(void *)(to + reals - LANES) = last;
    }
}

/* Depth 1: each column of c by itself. Rows of a and c are neighbours, m >= STEP. */
static void NAME(outer)(const tnri_gemm *g)
{
    EXPECTED(g->m >= STEP);
    if (!g->finish.plain && !g->finish.add) {
        for (int64_t j = 0; j < g->n; ++j) {
            NAME(columns)(g, j, PARTS);
        }
        return;
    }
    const tnri_finish how = g->finish;
    for (int64_t j = 0; j < g->n; ++j) {
        const NAME(factor) factor = NAME(factor_of)((const REAL *)g->b + j * g->b_column * PARTS, &how);
        REAL *to = (REAL *)g->c + j * g->c_column * PARTS;
        if (how.add) {
            NAME(outer_column)(true, g->m * PARTS, g->a, factor, to);
        } else {
            NAME(outer_column)(false, g->m * PARTS, g->a, factor, to);
        }
    }
}

#undef OUTER_AHEAD
#undef ROWS_AT_ONCE
#undef COLUMNS_AT_ONCE
#undef ROW_VECTORS
#undef LONE_VECTORS
#undef CHUNK
#undef VEC
#undef LOOSE
#undef LANES
#undef PARTS
#undef STEP
#undef SOME
#undef ALL
#undef MR
#undef NR
