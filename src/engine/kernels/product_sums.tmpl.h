/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of products in registers, and what becomes of them, for vectors of one length of one dtype (each_dtype.inl.h): VEC of REAL, LOOSE
 * the same at any address, SWAP(v) with real and imaginary parts exchanged, FUSE(x, y, sum) what fused.inl.h has for them, VECTORS(x) the
 * functions' names; all five are undefined at the end. `mv` vectors of rows and `nr` real columns are constants wherever these functions are inlined.
 */
#define VEC_LANES ((int)(sizeof(VEC) / sizeof(REAL)))

/* How long before the last step of k a tile's elements of c are fetched: any earlier, and operands would push them out again. */
#define LATE (3 * TNRI_PRODUCT_FETCH_STEPS)

/*
 * sums = a times b over k. Steps in REALs, but for b_column: from column to column. `tile`, unless NULL, is the one whose elements of c are
 * to be there when the sums are.
 */
static inline ALWAYS_INLINE void VECTORS(accumulate)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr,
                                                     fetch_ahead ahead, int64_t k, const REAL *a, int64_t a_step,
                                                     const REAL *b, int64_t b_row, int64_t b_column,
                                                     const tnri_tile *tile)
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
                rows[i] = *(const LOOSE *)(const void *)(a + i * VEC_LANES);
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
                    sums[j][i] = FUSE(rows[i], value, sums[j][i]);
                }
            }
            /* not as pointers: the last step leaves the operands */
            a = (const REAL *)((uintptr_t)a + (uintptr_t)a_step * sizeof(REAL));
            b = (const REAL *)((uintptr_t)b + (uintptr_t)b_row * sizeof(REAL));
        }
    }
}

#if KIND == KIND_COMPLEX

/* x at the real parts, y at the imaginary ones. */
static inline ALWAYS_INLINE VEC VECTORS(pairs)(REAL x, REAL y)
{
    VEC v = {0};
    UNROLL
    for (int i = 0; i < VEC_LANES; i += 2) {
        v[i] = x;
        v[i + 1] = y;
    }
    return v;
}

/* scale * v */
static inline ALWAYS_INLINE VEC VECTORS(scaled)(VEC v, VEC re, VEC im) { return v * re + SWAP(v) * im; }

#endif

/* c = alpha * element + beta * c, where it is not simply one of them or their sum. */
static inline ALWAYS_INLINE void VECTORS(finish_scaled)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr,
                                                        REAL *const c[TILE_COLUMNS], const tnri_finish *finish)
{
    const bool keep = finish->keep;
    const bool overwrite = finish->overwrite;
#if KIND == KIND_COMPLEX
    const VEC alpha_re = VECTORS(pairs)((REAL)finish->alpha.re, (REAL)finish->alpha.re);
    const VEC alpha_im = VECTORS(pairs)(-(REAL)finish->alpha.im, (REAL)finish->alpha.im);
    const VEC beta_re = VECTORS(pairs)((REAL)finish->beta.re, (REAL)finish->beta.re);
    const VEC beta_im = VECTORS(pairs)(-(REAL)finish->beta.im, (REAL)finish->beta.im);
#else
    const REAL alpha = (REAL)finish->alpha.re;
    const REAL beta = (REAL)finish->beta.re;
#endif
    UNROLL
    for (int j = 0; j < nr; j += PARTS) {
        UNROLL
        for (int i = 0; i < mv; ++i) {
            LOOSE *to = (LOOSE *)(void *)(c[j / PARTS] + i * VEC_LANES);
#if KIND == KIND_COMPLEX
            VEC v = VECTORS(scaled)(sums[j][i], alpha_re, alpha_im);
#else
            VEC v = sums[j][i] * alpha;
#endif
            if (keep) {
                v += *to;
            } else if (!overwrite) {
#if KIND == KIND_COMPLEX
                v += VECTORS(scaled)(*to, beta_re, beta_im);
#else
                v += *to * beta;
#endif
            }
            *to = v;
        }
    }
}

/* Sums to elements, and these to c: whole vectors of neighbouring rows. */
static inline ALWAYS_INLINE void VECTORS(finish_unit)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr, REAL *c,
                                                      const int64_t *columns, int64_t c_step, const tnri_finish *finish)
{
    REAL *to[TILE_COLUMNS];
    UNROLL
    for (int j = 0; j < nr; j += PARTS) {
        to[j / PARTS] = c + (columns != NULL ? columns[j / PARTS] : j / PARTS * c_step) * PARTS;
    }
#if KIND == KIND_COMPLEX
    const REAL sign_a = finish->conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = finish->conjugate_b ? (REAL)-1 : (REAL)1;
    const VEC first = VECTORS(pairs)((REAL)1, sign_a);
    const VEC second = VECTORS(pairs)(-sign_a * sign_b, sign_b);
    UNROLL
    for (int j = 0; j < nr; j += PARTS) {
        UNROLL
        for (int i = 0; i < mv; ++i) {
            sums[j][i] = FUSE(sums[j][i], first, SWAP(sums[j + 1][i]) * second); /* by 1 and -1: the same either way */
        }
    }
#endif
    if (finish->plain) {
        UNROLL
        for (int j = 0; j < nr; j += PARTS) {
            UNROLL
            for (int i = 0; i < mv; ++i) {
                *(LOOSE *)(void *)(to[j / PARTS] + i * VEC_LANES) = sums[j][i];
            }
        }
    } else if (finish->add) {
        UNROLL
        for (int j = 0; j < nr; j += PARTS) {
            UNROLL
            for (int i = 0; i < mv; ++i) {
                *(LOOSE *)(void *)(to[j / PARTS] + i * VEC_LANES) += sums[j][i];
            }
        }
    } else {
        VECTORS(finish_scaled)(sums, mv, nr, to, finish);
    }
}

#undef LATE
#undef VEC_LANES
#undef VEC
#undef LOOSE
#undef SWAP
#undef FUSE
#undef VECTORS
