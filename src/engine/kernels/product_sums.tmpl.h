/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of products in registers, and what becomes of them, for vectors of one dtype (each_dtype.inl.h, after product_tile.tmpl.h has
 * named VEC, LOOSE and LANES). `mv` vectors of rows and `nr` real columns are constants wherever these functions are inlined, and so
 * is whether the last vector has `some` elements only (some.inl.h): the others are neither read nor written.
 */
static inline ALWAYS_INLINE VEC NAME(load)(const bool some, SOME which, const REAL *from)
{
    if (some) {
        return REAL_NAME(load_some)(which, from);
    }
    return *(const LOOSE *)(const void *)from;
}

static inline ALWAYS_INLINE void NAME(store)(const bool some, SOME which, REAL *to, VEC v)
{
    if (some) {
        REAL_NAME(store_some)(which, to, v);
    } else {
        *(LOOSE *)(void *)to = v;
    }
}

/* How long before the last step of k a tile's elements of c are fetched: any earlier, and operands would push them out again. */
#define LATE (3 * TNRI_PRODUCT_FETCH_STEPS)

/*
 * sums = a times b over k. Steps in REALs, but for b_column: from column to column. `tile`, unless NULL, is the one whose elements of c are
 * to be there when the sums are.
 */
static inline ALWAYS_INLINE void NAME(accumulate)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr,
                                                  const bool some, SOME last, fetch_ahead ahead, int64_t k,
                                                  const REAL *a, int64_t a_step, const REAL *b, int64_t b_row,
                                                  int64_t b_column, const tnri_tile *tile)
{
    UNROLL
    for (int j = 0; j < nr; ++j) {
        UNROLL
        for (int i = 0; i < mv; ++i) {
            sums[j][i] = (VEC){0};
        }
    }
    const int64_t whole = k / TNRI_PRODUCT_FETCH_STEPS * TNRI_PRODUCT_FETCH_STEPS;
    const int64_t late = whole > LATE ? whole - LATE : 0;
    uintptr_t next = tile != NULL ? tile->next : 0;
    for (int64_t p = 0; p < k;) {
        int64_t stop = k;
        if (tile != NULL) {
            stop = p + TNRI_PRODUCT_FETCH_STEPS < k ? p + TNRI_PRODUCT_FETCH_STEPS : k;
            for (int i = 0; i < tile->next_lines; ++i, next += 64) {
                __builtin_prefetch((const void *)next, 0, 2);
            }
            if (p == late) {
                NAME(fetch_tile)(tile);
            }
        }
        for (; p < stop; ++p) {
            VEC rows[2 * TILE_VECTORS];
            UNROLL
            for (int i = 0; i < mv; ++i) {
                rows[i] = NAME(load)(some && i == mv - 1, last, a + i * LANES);
            }
            if (ahead == FETCH_B) {
                __builtin_prefetch((const void *)((uintptr_t)b + 512), 0, 3);
            } else if (ahead == FETCH_ROWS) { /* the next, of the same column */
                __builtin_prefetch((const void *)((uintptr_t)a + (uintptr_t)mv * sizeof(VEC)), 0, 3);
            }
            UNROLL
            for (int j = 0; j < nr; ++j) {
                const VEC value = SPREAD(VEC, b[j / PARTS * b_column + j % PARTS]);
                UNROLL
                for (int i = 0; i < mv; ++i) {
                    sums[j][i] = REAL_NAME(FUSED)(rows[i], value, sums[j][i]);
                }
            }
            /* not as pointers: the last step leaves the operands */
            a = (const REAL *)((uintptr_t)a + (uintptr_t)a_step * sizeof(REAL));
            b = (const REAL *)((uintptr_t)b + (uintptr_t)b_row * sizeof(REAL));
        }
    }
}

#undef LATE

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

/* c = alpha * element + beta * c, where it is not simply one of them or their sum. */
static inline ALWAYS_INLINE void NAME(finish_scaled)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr,
                                                     const bool some, SOME last, REAL *const c[TILE_COLUMNS],
                                                     const tnri_finish *finish)
{
    const bool keep = finish->keep;
    const bool overwrite = finish->overwrite;
#if KIND == KIND_COMPLEX
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
        UNROLL
        for (int i = 0; i < mv; ++i) {
            const bool part = some && i == mv - 1;
            REAL *to = c[j / PARTS] + i * LANES;
#if KIND == KIND_COMPLEX
            VEC v = NAME(scaled)(sums[j][i], alpha_re, alpha_im);
#else
            VEC v = sums[j][i] * alpha;
#endif
            if (keep) {
                v += NAME(load)(part, last, to);
            } else if (!overwrite) {
#if KIND == KIND_COMPLEX
                v += NAME(scaled)(NAME(load)(part, last, to), beta_re, beta_im);
#else
                v += NAME(load)(part, last, to) * beta;
#endif
            }
            NAME(store)(part, last, to, v);
        }
    }
}

/* Sums to elements, and these to c: whole vectors of neighbouring rows. */
static inline ALWAYS_INLINE void NAME(finish_unit)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr,
                                                   const bool some, SOME last, REAL *c, const int64_t *columns,
                                                   int64_t c_step, const tnri_finish *finish)
{
    REAL *to[TILE_COLUMNS];
    UNROLL
    for (int j = 0; j < nr; j += PARTS) {
        to[j / PARTS] = c + (columns != NULL ? columns[j / PARTS] : j / PARTS * c_step) * PARTS;
    }
#if KIND == KIND_COMPLEX
    const REAL sign_a = finish->conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = finish->conjugate_b ? (REAL)-1 : (REAL)1;
    const VEC first = NAME(pairs)((REAL)1, sign_a);
    const VEC second = NAME(pairs)(-sign_a * sign_b, sign_b);
    UNROLL
    for (int j = 0; j < nr; j += PARTS) {
        UNROLL
        for (int i = 0; i < mv; ++i) {
            sums[j][i] = REAL_NAME(FUSED)(
                sums[j][i], first, REAL_NAME(SWAPPED)(sums[j + 1][i]) * second); /* by 1 and -1: the same either way */
        }
    }
#endif
    if (finish->plain) {
        UNROLL
        for (int j = 0; j < nr; j += PARTS) {
            UNROLL
            for (int i = 0; i < mv; ++i) {
                NAME(store)(some && i == mv - 1, last, to[j / PARTS] + i * LANES, sums[j][i]);
            }
        }
    } else if (finish->add) {
        UNROLL
        for (int j = 0; j < nr; j += PARTS) {
            UNROLL
            for (int i = 0; i < mv; ++i) {
                const bool part = some && i == mv - 1;
                REAL *at = to[j / PARTS] + i * LANES;
                NAME(store)(part, last, at, NAME(load)(part, last, at) + sums[j][i]);
            }
        }
    } else {
        NAME(finish_scaled)(sums, mv, nr, some, last, to, finish);
    }
}
