/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tiles of one dtype (each_dtype.inl.h), in vectors of REAL. `mv` vectors of rows and `nr` real columns are constants wherever
 * these functions are inlined. Complex: real columns 2j and 2j + 1 are a times the real and the imaginary part of column j.
 */

#define VEC REAL_NAME(vector)
#define LOOSE REAL_NAME(loose)
#define LANES ((int)(sizeof(VEC) / sizeof(REAL)))
#if KIND == KIND_COMPLEX
#define PARTS 2
#else
#define PARTS 1
#endif
#define STEP (LANES / PARTS) /* elements of a vector */
#define MR (TILE_VECTORS * STEP)
#define NR (TILE_COLUMNS / PARTS)

#define SOME REAL_NAME(some)
#define ALL REAL_NAME(FIRST)(LANES)

/* Lines of c that a tile is put into. */
static inline ALWAYS_INLINE void NAME(fetch_tile)(const tnri_tile *tile)
{
    if (tile->unit) {
        const char *rows = (const char *)((const T *)tile->c + tile->rows[0]);
        const int64_t bytes = tile->m * (int64_t)sizeof(T);
        for (int j = 0; j < tile->n; ++j) {
            const char *column = rows + tile->columns[j] * (int64_t)sizeof(T);
            for (int64_t at = 0; at < bytes; at += 64) {
                __builtin_prefetch(column + at, 1, 3);
            }
            __builtin_prefetch(column + bytes - 1, 1, 3);
        }
    }
}

#include "product_sums.tmpl.h"

/* Rows of a tile from `i` on that are neighbours, as many as a vector has. */
static inline bool NAME(is_vector)(const tnri_tile *tile, int i)
{
    bool unit = i + STEP <= tile->m;
    for (int r = 1; unit && r < STEP; ++r) {
        unit = tile->rows[i + r] == tile->rows[i] + r;
    }
    return unit;
}

/*
 * Rows and columns that are few, or no neighbours: by way of a tile that is whole, and vectors where a vector's rows are neighbours.
 */
static inline ALWAYS_INLINE void NAME(finish_some)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr,
                                                   const tnri_tile *tile, const tnri_finish *finish)
{
    T whole[NR][MR];
    T *c = tile->c;
    bool vectors[TILE_VECTORS]; /* whose rows go together */
    for (int v = 0; v < mv; ++v) {
        vectors[v] = NAME(is_vector)(tile, v * STEP);
    }
    memset(whole, 0, sizeof whole); /* what is beyond is multiplied, too */
    for (int v = 0; !finish->overwrite && v < mv; ++v) {
        for (int j = 0; j < tile->n; ++j) {
            const T *from = c + tile->columns[j];
            if (vectors[v]) {
                *(LOOSE *)(void *)(whole[j] + v * STEP) = *(const LOOSE *)(const void *)(from + tile->rows[v * STEP]);
                continue;
            }
            for (int i = v * STEP; i < (v + 1) * STEP && i < tile->m; ++i) {
                whole[j][i] = from[tile->rows[i]];
            }
        }
    }
    NAME(finish_unit)(sums, mv, nr, false, ALL, (REAL *)(void *)whole, NULL, MR, finish);
    for (int v = 0; v < mv; ++v) {
        for (int j = 0; j < tile->n; ++j) {
            T *to = c + tile->columns[j];
            if (vectors[v]) {
                *(LOOSE *)(void *)(to + tile->rows[v * STEP]) = *(const LOOSE *)(const void *)(whole[j] + v * STEP);
                continue;
            }
            for (int i = v * STEP; i < (v + 1) * STEP && i < tile->m; ++i) {
                to[tile->rows[i]] = whole[j][i];
            }
        }
    }
}

static inline ALWAYS_INLINE void NAME(one_tile)(int mv, fetch_ahead ahead, int64_t k, const REAL *a, int64_t a_step,
                                                const REAL *b, int64_t b_row, int64_t b_column, const tnri_tile *tile,
                                                const tnri_finish *finish)
{
    VEC sums[TILE_COLUMNS][2 * TILE_VECTORS];
    NAME(accumulate)(sums, mv, TILE_COLUMNS, false, ALL, ahead, k, a, a_step, b, b_row, b_column, tile);
    if (tile->unit && tile->m == mv * STEP && tile->n == NR) {
        NAME(finish_unit)
        (sums, mv, TILE_COLUMNS, false, ALL, (REAL *)tile->c + tile->rows[0] * PARTS, tile->columns, 0, finish);
    } else {
        NAME(finish_some)(sums, mv, TILE_COLUMNS, tile, finish);
    }
}

/* Few rows: as many vectors as they take. */
static inline ALWAYS_INLINE void NAME(low_tile)(fetch_ahead ahead, int64_t k, const REAL *a, int64_t a_step,
                                                const REAL *b, int64_t b_row, int64_t b_column, const tnri_tile *tile,
                                                const tnri_finish *finish)
{
    if (tile->m <= STEP) {
        NAME(one_tile)(1, ahead, k, a, a_step, b, b_row, b_column, tile, finish);
#if TILE_VECTORS > 2
    } else if (tile->m <= 2 * STEP) {
        NAME(one_tile)(2, ahead, k, a, a_step, b, b_row, b_column, tile, finish);
#endif
    } else {
        NAME(one_tile)(TILE_VECTORS, ahead, k, a, a_step, b, b_row, b_column, tile, finish);
    }
}

static void NAME(tile)(int64_t k, const void *a, const void *b, const tnri_tile *tile, const tnri_finish *finish)
{
    EXPECTED(tile->m <= MR && tile->n <= NR);
    NAME(low_tile)(FETCH_B, k, a, MR * PARTS, b, TILE_COLUMNS, PARTS, tile, finish);
}

static void NAME(tile_in_place)(int64_t k, const void *a, int64_t a_column, const void *b, int64_t b_row,
                                int64_t b_column, const tnri_tile *tile, const tnri_finish *finish)
{
    EXPECTED(tile->m <= MR && tile->n <= NR);
    NAME(low_tile)(FETCH_ROWS, k, a, a_column * PARTS, b, b_row * PARTS, b_column * PARTS, tile, finish);
}

/* ---- Small products --------------------------------------------------------------------------------------------------------- */

/* mv vectors of rows from row i on, the last of which may have some only, by nr real columns from column j on. */
static inline ALWAYS_INLINE void NAME(part)(const tnri_gemm *g, int64_t i, int64_t j, int mv, int nr, const bool some,
                                            SOME last)
{
    VEC sums[TILE_COLUMNS][2 * TILE_VECTORS];
    NAME(accumulate)
    (sums, mv, nr, some, last, FETCH_NOTHING, g->k, (const REAL *)g->a + i * PARTS, g->a_column * PARTS,
     (const REAL *)g->b + j * g->b_column * PARTS, g->b_row * PARTS, g->b_column * PARTS, NULL);
    NAME(finish_unit)
    (sums, mv, nr, some, last, (REAL *)g->c + (i + j * g->c_column) * PARTS, NULL, g->c_column, &g->finish);
}

static inline ALWAYS_INLINE void NAME(vectors_of_rows)(const tnri_gemm *g, int64_t i, int64_t j, int mv, int nr)
{
    const int64_t rest = g->m - i - (mv - 1) * STEP;
    if (rest >= STEP) {
        NAME(part)(g, i, j, mv, nr, false, ALL);
    } else {
        NAME(part)(g, i, j, mv, nr, true, REAL_NAME(FIRST)((int)rest * PARTS));
    }
}

/* nr real columns, all rows. */
static inline ALWAYS_INLINE void NAME(columns)(const tnri_gemm *g, int64_t j, int nr)
{
    int64_t i = 0;
    if (nr == PARTS) {
        for (; i + 2 * MR <= g->m; i += 2 * MR) {
            NAME(part)(g, i, j, 2 * TILE_VECTORS, nr, false, ALL);
        }
    }
    while (i < g->m) {
        const int64_t left = g->m - i;
        if (left > MR && left <= MR + STEP && TILE_VECTORS == 3 && nr > PARTS) {
            NAME(part)
            (g, i, j, 2, nr, false,
             ALL); /* of four vectors: better two and two than three and one, which would wait for its sums */
            i += 2 * STEP;
        } else if (left > (TILE_VECTORS - 1) * STEP) {
            NAME(vectors_of_rows)(g, i, j, TILE_VECTORS, nr);
            i += MR;
#if TILE_VECTORS > 3
        } else if (left > 2 * STEP) {
            NAME(vectors_of_rows)(g, i, j, 3, nr);
            return;
#endif
#if TILE_VECTORS > 2
        } else if (left > STEP) {
            NAME(vectors_of_rows)(g, i, j, 2, nr);
            return;
#endif
        } else {
            NAME(vectors_of_rows)(g, i, j, 1, nr);
            return;
        }
    }
}

static void NAME(small)(const tnri_gemm *g)
{
    int64_t j = 0;
    for (; j + NR <= g->n; j += NR) {
        NAME(columns)(g, j, TILE_COLUMNS);
    }
#if TILE_COLUMNS == 8
    if (j + 4 / PARTS <= g->n) {
        NAME(columns)(g, j, 4);
        j += 4 / PARTS;
    }
#endif
    for (; j + 2 / PARTS <= g->n; j += 2 / PARTS) {
        NAME(columns)(g, j, 2);
    }
#if KIND != KIND_COMPLEX
    if (j < g->n) {
        NAME(columns)(g, j, 1);
    }
#endif
}

static void NAME(gathered)(const tnri_gemm *g)
{
    _Alignas(64) T rows[TNRI_GATHERED_BYTES / sizeof(T)];
    int64_t in_rows[TNRI_GATHERED_EXTENT];
    int64_t in_depth[TNRI_GATHERED_EXTENT];
    for (int64_t i = 0; i < g->m; ++i) {
        in_rows[i] = i * g->a_row;
    }
    for (int64_t p = 0; p < g->k; ++p) {
        in_depth[p] = p * g->a_column;
    }
    NAME(pack)(rows, g->a, in_rows, g->m, false, in_depth, g->k, g->a_column == 1, (int)g->m);
    tnri_gemm near = *g;
    near.a = rows;
    near.a_row = 1;
    near.a_column = g->m;
    near.b_row = g->k == 1 ? 0 : g->b_row; /* means nothing then */
    near.b_column = g->n == 1 ? 0 : g->b_column;
    near.c_column = g->n == 1 ? 0 : g->c_column;
    NAME(small)(&near);
}

/* ---- Without vectors --------------------------------------------------------------------------------------------------------- */

#include "finished.tmpl.h"

#if KIND == KIND_COMPLEX
/* An element of a * b from the products of parts: re[0] and re[1] are a's parts by the real part of b, im[0] and im[1] by the other. */
static inline ALWAYS_INLINE T NAME(joined)(const REAL *re, const REAL *im, REAL sign_a, REAL sign_b)
{
    return (T){re[0] - sign_a * sign_b * im[1], sign_a * re[1] + sign_b * im[0]};
}
#endif

/* One line of elements from sums; `others` are those of the products with imaginary parts. */
static inline ALWAYS_INLINE void NAME(finish_line)(const REAL *sums, const REAL *others, int count, T *c,
                                                   int64_t c_step, const tnri_finish *finish)
{
    const tnri_finish how = *finish;
#if KIND == KIND_COMPLEX
    const REAL sign_a = how.conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = how.conjugate_b ? (REAL)-1 : (REAL)1;
#else
    (void)others;
#endif
    for (int i = 0; i < count; ++i) {
#if KIND == KIND_COMPLEX
        const T value = NAME(joined)(sums + 2 * i, others + 2 * i, sign_a, sign_b);
#else
        const T value = sums[i];
#endif
        T *to = c + i * c_step;
        *to = NAME(finished)(&how, value, to);
    }
}

static void NAME(finish)(const void *sums, int rows, const tnri_tile *tile, const tnri_finish *finish)
{
    const tnri_finish how = *finish;
    const REAL *column = sums;
#if KIND == KIND_COMPLEX
    const REAL sign_a = how.conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = how.conjugate_b ? (REAL)-1 : (REAL)1;
#endif
    for (int j = 0; j < tile->n; ++j, column += PARTS * rows) {
        T *to = (T *)tile->c + tile->columns[j];
#if KIND != KIND_COMPLEX
        if (tile->unit && (how.plain || how.add)) {
            T *line = to + tile->rows[0];
            if (how.plain) {
                memcpy(line, column, (size_t)tile->m * sizeof(T));
            } else {
                for (int i = 0; i < tile->m; ++i) {
                    line[i] += column[i];
                }
            }
            continue;
        }
#endif
        for (int i = 0; i < tile->m; ++i) {
#if KIND == KIND_COMPLEX
            const REAL *re = column + 2 * i;
            const REAL *im = re + rows;
            const T value = NAME(joined)(re, im, sign_a, sign_b);
#else
            const T value = column[i];
#endif
            T *element = to + tile->rows[i];
            *element = NAME(finished)(&how, value, element);
        }
    }
}

/* Sums of products of parts: both parts of a by the real part of b, and by the imaginary one. */
typedef struct NAME(parts) {
    REAL re[PARTS];
#if KIND == KIND_COMPLEX
    REAL im[PARTS];
#endif
} NAME(parts);

static inline ALWAYS_INLINE NAME(parts) NAME(parts_plus)(T a, T b, NAME(parts) sum)
{
#if KIND == KIND_COMPLEX
    return (NAME(parts)){{REAL_NAME(fused)(a.re, b.re, sum.re[0]), REAL_NAME(fused)(a.im, b.re, sum.re[1])},
                         {REAL_NAME(fused)(a.re, b.im, sum.im[0]), REAL_NAME(fused)(a.im, b.im, sum.im[1])}};
#else
    return (NAME(parts)){{NAME(fused)(a, b, sum.re[0])}};
#endif
}

static void NAME(tiny)(const tnri_gemm *g)
{
    const int64_t m = g->m; /* at hand, for c may be anywhere */
    const int64_t k = g->k;
    const int64_t a_row = g->a_row;
    const int64_t a_column = g->a_column;
    const int64_t b_row = g->b_row;
    const int64_t c_row = g->c_row;
    const bool plain = g->finish.plain;
    const NAME(parts) zero = {0};
#if KIND == KIND_COMPLEX
    const REAL sign_a = g->finish.conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = g->finish.conjugate_b ? (REAL)-1 : (REAL)1;
#endif
    for (int64_t j = 0; j < g->n; ++j) {
        const T *a = g->a;
        const T *b = (const T *)g->b + j * g->b_column;
        T *to = (T *)g->c + j * g->c_column;
        for (int64_t i = 0; i < m; ++i) {
            const T *x = a + i * a_row;
            const T *y = b;
            NAME(parts) sum = NAME(parts_plus)(*x, *y, zero);
            for (int64_t p = 1; p < k; ++p) {
                x += a_column;
                y += b_row;
                AS_IT_STANDS(x);
                sum = NAME(parts_plus)(*x, *y, sum);
            }
#if KIND == KIND_COMPLEX
            const T value = NAME(joined)(sum.re, sum.im, sign_a, sign_b);
#else
            const T value = sum.re[0];
#endif
            to[i * c_row] = plain ? value : NAME(finished)(&g->finish, value, to + i * c_row);
        }
    }
}

#include "times_plus.tmpl.h"

#define ZIPPED (1024 / PARTS) /* elements whose sums are held at a time */

/* sums = x * y, or what was there and that. */
static inline ALWAYS_INLINE void NAME(zip_line)(bool more, int count, T *restrict sums, const T *x, int64_t x_step,
                                                const T *y, int64_t y_step, REAL sign_x, REAL sign_y)
{
    for (int i = 0; i < count; ++i) {
        const T u = NAME(conjugated)(x[i * x_step], sign_x);
        const T v = NAME(conjugated)(y[i * y_step], sign_y);
        sums[i] = more ? NAME(times_plus)(u, v, sums[i]) : NAME(times)(u, v);
    }
}

static void NAME(zip)(const tnri_finish *finish, int64_t count, int64_t depth, const void *a, int64_t a_step,
                      const int64_t *k_in_a, const void *b, int64_t b_step, const int64_t *k_in_b, void *c,
                      int64_t c_step)
{
    const tnri_finish how = *finish;
    const REAL sign_a = how.conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = how.conjugate_b ? (REAL)-1 : (REAL)1;
    if (depth == 1) { /* no sums */
        const T *x = (const T *)a + k_in_a[0];
        const T *y = (const T *)b + k_in_b[0];
        T *restrict to = c;
        for (int64_t i = 0; i < count; ++i) {
            const T value =
                NAME(times)(NAME(conjugated)(x[i * a_step], sign_a), NAME(conjugated)(y[i * b_step], sign_b));
            to[i * c_step] = NAME(finished)(&how, value, to + i * c_step);
        }
        return;
    }
    for (int64_t first = 0; first < count; first += ZIPPED) {
        const int held = count - first < ZIPPED ? (int)(count - first) : ZIPPED;
        T sums[ZIPPED];
        T *restrict to = (T *)c + first * c_step;
        NAME(zip_line)
        (false, held, sums, (const T *)a + k_in_a[0] + first * a_step, a_step,
         (const T *)b + k_in_b[0] + first * b_step, b_step, sign_a, sign_b);
        for (int64_t p = 1; p < depth; ++p) {
            const T *x = (const T *)a + k_in_a[p] + first * a_step;
            const T *y = (const T *)b + k_in_b[p] + first * b_step;
            if (a_step == 1 && b_step == 1) {
                NAME(zip_line)(true, held, sums, x, 1, y, 1, sign_a, sign_b);
            } else {
                NAME(zip_line)(true, held, sums, x, a_step, y, b_step, sign_a, sign_b);
            }
        }
        for (int i = 0; i < held; ++i) {
            to[i * c_step] = NAME(finished)(&how, sums[i], to + i * c_step);
        }
    }
}

#undef ZIPPED

static void NAME(scale)(const tnri_finish *finish, int64_t count, void *c, int64_t c_step)
{
    const tnri_finish how = *finish;
    T *to = c;
    for (int64_t i = 0; i < count && !how.keep; ++i) {
        to[i * c_step] = NAME(scaled_by_beta)(&how, to + i * c_step);
    }
}

#include "product_vector.tmpl.h"
