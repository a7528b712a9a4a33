/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of products in registers, and what becomes of them, for vectors of one length of one dtype (each_dtype.inl.h): VEC of REAL, LOOSE
 * the same at any address, SWAP(v) with real and imaginary parts exchanged, VECTORS(x) the functions' names; all four are undefined
 * at the end. `mv` vectors of rows and `nr` real columns are constants wherever these functions are inlined.
 */
#define VEC_LANES ((int)(sizeof(VEC) / sizeof(REAL)))

/* sums = a times b over k. Steps in REALs, but for b_column: from column to column. */
static inline ALWAYS_INLINE void VECTORS(accumulate)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr,
                                                     fetch_ahead ahead, int64_t k, const REAL *a, int64_t a_step,
                                                     const REAL *b, int64_t b_row, int64_t b_column)
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
            rows[i] = *(const LOOSE *)(const void *)(a + i * VEC_LANES);
        }
        if (ahead == FETCH_B) {
            __builtin_prefetch((const void *)((uintptr_t)b + 512), 0, 3);
        } else if (ahead == FETCH_ROWS) { /* the next, of the same column */
            __builtin_prefetch((const void *)((uintptr_t)a + (uintptr_t)mv * sizeof(VEC)), 0, 3);
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
static inline ALWAYS_INLINE VEC VECTORS(scaled)(VEC v, VEC re, VEC im)
{
    VEC x = v * re;
    VEC y = SWAP(v) * im;
    UNFUSED(x);
    UNFUSED(y);
    return x + y;
}

#endif

/* Sums to elements, and these to c: whole vectors of neighbouring rows. */
static inline ALWAYS_INLINE void VECTORS(finish_unit)(VEC sums[TILE_COLUMNS][2 * TILE_VECTORS], int mv, int nr, REAL *c,
                                                      const int64_t *columns, int64_t c_step, const tnri_finish *finish)
{
#if KIND == KIND_COMPLEX
    const REAL sign_a = finish->conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = finish->conjugate_b ? (REAL)-1 : (REAL)1;
    const VEC first = VECTORS(pairs)((REAL)1, sign_a);
    const VEC second = VECTORS(pairs)(-sign_a * sign_b, sign_b);
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
        REAL *column = c + (columns != NULL ? columns[j / PARTS] : j / PARTS * c_step) * PARTS;
        UNROLL
        for (int i = 0; i < mv; ++i) {
            LOOSE *to = (LOOSE *)(void *)(column + i * VEC_LANES);
#if KIND == KIND_COMPLEX
            VEC v = sums[j][i] * first + SWAP(sums[j + 1][i]) * second;
#else
            VEC v = sums[j][i];
#endif
            if (finish->add) {
                v += *to;
            } else if (!finish->plain) {
#if KIND == KIND_COMPLEX
                v = VECTORS(scaled)(v, alpha_re, alpha_im);
#else
                v *= alpha;
                UNFUSED(v);
#endif
                if (finish->keep) {
                    v += *to;
                } else if (!finish->overwrite) {
#if KIND == KIND_COMPLEX
                    v += VECTORS(scaled)(*to, beta_re, beta_im);
#else
                    VEC old = *to * beta;
                    UNFUSED(old);
                    v += old;
#endif
                }
            }
            *to = v;
        }
    }
}

#undef VEC_LANES
#undef VEC
#undef LOOSE
#undef SWAP
#undef VECTORS
