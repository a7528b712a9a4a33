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

/* sums = a times b over k. Steps in REALs, but for b_column: from column to column. */
static inline ALWAYS_INLINE void NAME(accumulate)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr, int64_t k,
                                                  const REAL *a, int64_t a_step, const REAL *b, int64_t b_row,
                                                  int64_t b_column)
{
    UNROLL
    for (int j = 0; j < nr; ++j) {
        UNROLL
        for (int i = 0; i < mv; ++i) {
            sums[j][i] = (VEC){0};
        }
    }
    for (int64_t p = 0; p < k; ++p) {
        VEC rows[2 * TILE_VECTORS];
        UNROLL
        for (int i = 0; i < mv; ++i) {
            rows[i] = *(const LOOSE *)(const void *)(a + i * LANES);
        }
        UNROLL
        for (int j = 0; j < nr; ++j) {
            const REAL value = b[j / PARTS * b_column + j % PARTS];
            UNROLL
            for (int i = 0; i < mv; ++i) {
                sums[j][i] += rows[i] * value;
            }
        }
        a += a_step;
        b += b_row;
    }
}

#if KIND == KIND_COMPLEX

/* x at the real parts, y at the imaginary ones. */
static inline ALWAYS_INLINE VEC NAME(pairs)(REAL x, REAL y)
{
    VEC v = {0};
    UNROLL
    for (int i = 0; i < LANES; i += 2) {
        v[i] = x;
        v[i + 1] = y;
    }
    return v;
}

/* scale * v */
static inline ALWAYS_INLINE VEC NAME(scaled)(VEC v, VEC re, VEC im) { return v * re + REAL_NAME(SWAPPED)(v) * im; }

#endif

/* Sums to elements, and these to c: whole vectors of neighbouring rows. */
static inline ALWAYS_INLINE void NAME(finish_unit)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr,
                                                   REAL *c, const int64_t *columns, int64_t c_step,
                                                   const tnri_finish *finish)
{
#if KIND == KIND_COMPLEX
    const REAL sign_a = finish->conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = finish->conjugate_b ? (REAL)-1 : (REAL)1;
    const VEC first = NAME(pairs)((REAL)1, sign_a);
    const VEC second = NAME(pairs)(-sign_a * sign_b, sign_b);
    const VEC alpha_re = NAME(pairs)((REAL)finish->alpha.re, (REAL)finish->alpha.re);
    const VEC alpha_im = NAME(pairs)(-(REAL)finish->alpha.im, (REAL)finish->alpha.im);
    const VEC beta_re = NAME(pairs)((REAL)finish->beta.re, (REAL)finish->beta.re);
    const VEC beta_im = NAME(pairs)(-(REAL)finish->beta.im, (REAL)finish->beta.im);
#else
    const REAL alpha = (REAL)finish->alpha.re;
    const REAL beta = (REAL)finish->beta.re;
#endif
    UNROLL
    for (int j = 0; j < nr; j += PARTS) {
        REAL *column = c + (columns != NULL ? columns[j / PARTS] : j / PARTS * c_step) * PARTS;
        UNROLL
        for (int i = 0; i < mv; ++i) {
            LOOSE *to = (LOOSE *)(void *)(column + i * LANES);
#if KIND == KIND_COMPLEX
            VEC v = sums[j][i] * first + REAL_NAME(SWAPPED)(sums[j + 1][i]) * second;
#else
            VEC v = sums[j][i];
#endif
            if (!finish->plain) {
#if KIND == KIND_COMPLEX
                v = NAME(scaled)(v, alpha_re, alpha_im);
                if (!finish->overwrite) {
                    v += NAME(scaled)(*to, beta_re, beta_im);
                }
#else
                v *= alpha;
                if (!finish->overwrite) {
                    v += *to * beta;
                }
#endif
            }
            *to = v;
        }
    }
}

/* Rows and columns that are few, or no neighbours: by way of a tile that is whole. Rows before `skip` are not written. */
static inline ALWAYS_INLINE void NAME(finish_some)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr, int skip,
                                                   const tnri_tile *tile, const tnri_finish *finish)
{
    T whole[NR][MR];
    T *c = tile->c;
    if (!finish->overwrite) {
        for (int j = 0; j < tile->n; ++j) {
            for (int i = skip; i < tile->m; ++i) {
                whole[j][i] = c[tile->rows[i] + tile->columns[j]];
            }
        }
    }
    NAME(finish_unit)(sums, mv, nr, (REAL *)(void *)whole, NULL, MR, finish);
    for (int j = 0; j < tile->n; ++j) {
        for (int i = skip; i < tile->m; ++i) {
            c[tile->rows[i] + tile->columns[j]] = whole[j][i];
        }
    }
}

static inline ALWAYS_INLINE void NAME(one_tile)(int64_t k, const REAL *a, int64_t a_step, const REAL *b,
                                                const tnri_tile *tile, const tnri_finish *finish)
{
    VEC sums[TILE_COLUMNS][2 * TILE_VECTORS];
    NAME(accumulate)(sums, TILE_VECTORS, TILE_COLUMNS, k, a, a_step, b, TILE_COLUMNS, PARTS);
    if (tile->unit && tile->m == MR && tile->n == NR) {
        NAME(finish_unit)(sums, TILE_VECTORS, TILE_COLUMNS, (REAL *)tile->c + tile->rows[0] * PARTS, tile->columns, 0,
                          finish);
    } else {
        NAME(finish_some)(sums, TILE_VECTORS, TILE_COLUMNS, 0, tile, finish);
    }
}

static void NAME(tile)(int64_t k, const void *a, const void *b, const tnri_tile *tile, const tnri_finish *finish)
{
    NAME(one_tile)(k, a, MR * PARTS, b, tile, finish);
}

static void NAME(tile_direct)(int64_t k, const void *a, int64_t a_step, const void *b, const tnri_tile *tile,
                              const tnri_finish *finish)
{
    NAME(one_tile)(k, a, a_step * PARTS, b, tile, finish);
}

/* ---- Small products --------------------------------------------------------------------------------------------------------- */

/* mv vectors of rows from row i on, by nr real columns from column j on. */
static inline ALWAYS_INLINE void NAME(part)(const tnri_small *s, const tnri_finish *finish, int64_t i, int64_t j, int mv,
                                            int nr)
{
    VEC sums[TILE_COLUMNS][2 * TILE_VECTORS];
    NAME(accumulate)(sums, mv, nr, s->k, (const REAL *)s->a + i * PARTS, s->a_step * PARTS,
                     (const REAL *)s->b + j * s->b_column * PARTS, s->b_row * PARTS, s->b_column * PARTS);
    NAME(finish_unit)(sums, mv, nr, (REAL *)s->c + (i + j * s->c_step) * PARTS, NULL, s->c_step, finish);
}

/* The last rows, fewer than a vector's, as the end of a vector that begins before them. */
static inline ALWAYS_INLINE void NAME(last_rows)(const tnri_small *s, const tnri_finish *finish, int64_t j, int nr, int rest)
{
    VEC sums[TILE_COLUMNS][2 * TILE_VECTORS];
    const int64_t i = s->m - STEP;
    NAME(accumulate)(sums, 1, nr, s->k, (const REAL *)s->a + i * PARTS, s->a_step * PARTS,
                     (const REAL *)s->b + j * s->b_column * PARTS, s->b_row * PARTS, s->b_column * PARTS);
    int64_t rows[MR];
    int64_t columns[NR];
    for (int r = 0; r < STEP; ++r) {
        rows[r] = i + r;
    }
    for (int q = 0; q < nr / PARTS; ++q) {
        columns[q] = (j + q) * s->c_step;
    }
    const tnri_tile tile = {s->c, rows, columns, STEP, nr / PARTS, true};
    NAME(finish_some)(sums, 1, nr, STEP - rest, &tile, finish);
}

/* nr real columns, all rows. m >= STEP. */
static inline ALWAYS_INLINE void NAME(columns)(const tnri_small *s, const tnri_finish *finish, int64_t j, int nr)
{
    int64_t i = 0;
    if (nr == PARTS) {
        for (; i + 2 * MR <= s->m; i += 2 * MR) {
            NAME(part)(s, finish, i, j, 2 * TILE_VECTORS, nr);
        }
    }
    for (; i + MR <= s->m; i += MR) {
        NAME(part)(s, finish, i, j, TILE_VECTORS, nr);
    }
    if (TILE_VECTORS > 3 && i + 3 * STEP <= s->m) {
        NAME(part)(s, finish, i, j, TILE_VECTORS > 3 ? 3 : 1, nr);
        i += 3 * STEP;
    }
    if (TILE_VECTORS > 2 && i + 2 * STEP <= s->m) {
        NAME(part)(s, finish, i, j, TILE_VECTORS > 2 ? 2 : 1, nr);
        i += 2 * STEP;
    }
    if (i + STEP <= s->m) {
        NAME(part)(s, finish, i, j, 1, nr);
        i += STEP;
    }
    if (i < s->m) {
        NAME(last_rows)(s, finish, j, nr, (int)(s->m - i));
    }
}

static void NAME(small)(const tnri_small *s, const tnri_finish *finish)
{
    int64_t j = 0;
    for (; j + NR <= s->n; j += NR) {
        NAME(columns)(s, finish, j, TILE_COLUMNS);
    }
#if TILE_COLUMNS == 8
    if (j + 4 / PARTS <= s->n) {
        NAME(columns)(s, finish, j, 4);
        j += 4 / PARTS;
    }
#endif
    for (; j + 2 / PARTS <= s->n; j += 2 / PARTS) {
        NAME(columns)(s, finish, j, 2);
    }
#if KIND != KIND_COMPLEX
    if (j < s->n) {
        NAME(columns)(s, finish, j, 1);
    }
#endif
}

#undef VEC
#undef LOOSE
#undef LANES
#undef PARTS
#undef STEP
#undef MR
#undef NR
