/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small products of one dtype. Expects T, REAL, NAME(x), FIELD (the union member of the dtype), and COMPLEX 0 or 1.
 * Strides in elements.
 */

#if COMPLEX
static inline T NAME(fma)(T sum, T x, T y)
{
    return (T){sum.re + (x.re * y.re - x.im * y.im), sum.im + (x.re * y.im + x.im * y.re)};
}
static inline T NAME(times)(T x, T y) { return (T){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
static inline T NAME(sum)(T x, T y) { return (T){x.re + y.re, x.im + y.im}; }
static inline T NAME(sign)(T x, REAL sign) { return (T){x.re, sign * x.im}; }
#define SIGNED(x, factor) NAME(sign)((x), (factor))
#else
static inline T NAME(fma)(T sum, T x, T y) { return sum + x * y; }
static inline T NAME(times)(T x, T y) { return x * y; }
static inline T NAME(sum)(T x, T y) { return x + y; }
#define SIGNED(x, factor) (x)
#endif

static inline void NAME(store)(const tnri_gemm *gemm, T *c, T product)
{
    if (gemm->overwrite) {
        *c = NAME(times)(gemm->alpha.FIELD, product);
    } else {
        *c = NAME(sum)(NAME(times)(gemm->alpha.FIELD, product), NAME(times)(gemm->beta.FIELD, *c));
    }
}

/* `rows` elements of one column of c, held in registers over k; inlined for the constants 8, 4, 2 and 1. */
static inline __attribute__((always_inline)) void NAME(piece)(const tnri_gemm *gemm, const T *a, int64_t a_row,
                                                              const T *b, T *c, int rows)
{
    T sums[8];
    for (int i = 0; i < rows; ++i) {
#if COMPLEX
        sums[i] = (T){0, 0};
#else
        sums[i] = 0;
#endif
    }
#if COMPLEX
    const REAL sign_a = gemm->conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = gemm->conjugate_b ? (REAL)-1 : (REAL)1;
#endif
    for (int64_t p = 0; p < gemm->k; ++p) {
        const T right = SIGNED(b[p * gemm->b_row], sign_b);
        const T *left = a + p * gemm->a_column;
        for (int i = 0; i < rows; ++i) {
            sums[i] = NAME(fma)(sums[i], SIGNED(left[i * a_row], sign_a), right);
        }
    }
    if (TNRI_LIKELY(gemm->plain)) {
        for (int i = 0; i < rows; ++i) {
            c[i * gemm->c_row] = sums[i];
        }
    } else {
        for (int i = 0; i < rows; ++i) {
            NAME(store)(gemm, c + i * gemm->c_row, sums[i]);
        }
    }
}

/* All of c; a_row is the constant 1 where a's columns are compact. */
static inline __attribute__((always_inline)) void NAME(columns)(const tnri_gemm *gemm, int64_t a_row)
{
    const T *a = gemm->a;
    const T *b = gemm->b;
    T *c = gemm->c;
    for (int64_t j = 0; j < gemm->n; ++j, b += gemm->b_column, c += gemm->c_column) {
        int64_t i = 0;
        for (; i + 8 <= gemm->m; i += 8) {
            NAME(piece)(gemm, a + i * a_row, a_row, b, c + i * gemm->c_row, 8);
        }
        if (i + 4 <= gemm->m) {
            NAME(piece)(gemm, a + i * a_row, a_row, b, c + i * gemm->c_row, 4);
            i += 4;
        }
        if (i + 2 <= gemm->m) {
            NAME(piece)(gemm, a + i * a_row, a_row, b, c + i * gemm->c_row, 2);
            i += 2;
        }
        if (i < gemm->m) {
            NAME(piece)(gemm, a + i * a_row, a_row, b, c + i * gemm->c_row, 1);
        }
    }
}

static void NAME(gemm_small)(const tnri_gemm *gemm)
{
    if (gemm->a_row == 1) {
        NAME(columns)(gemm, 1);
    } else {
        NAME(columns)(gemm, gemm->a_row);
    }
}

#undef SIGNED
#undef T
#undef REAL
#undef NAME
#undef FIELD
#undef COMPLEX
