/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small products of one real or complex dtype (each_dtype.inl.h). Strides in elements.
 */

static inline void NAME(store)(const tnri_gemm *gemm, T *c, T product)
{
    const T scaled = NAME(times)(NAME(scalar)(gemm->alpha), product);
    *c = gemm->overwrite ? scaled : NAME(plus)(scaled, NAME(times)(NAME(scalar)(gemm->beta), *c));
}

/* `rows` elements of one column of c, held in registers over k; inlined for the constants 8, 4, 2 and 1. */
static inline __attribute__((always_inline)) void NAME(piece)(const tnri_gemm *gemm, const T *a, int64_t a_row,
                                                              const T *b, T *c, int rows)
{
    T sums[8];
    for (int i = 0; i < rows; ++i) {
        sums[i] = NAME(zero)();
    }
    const REAL sign_a = gemm->conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = gemm->conjugate_b ? (REAL)-1 : (REAL)1;
    for (int64_t p = 0; p < gemm->k; ++p) {
        const T right = NAME(conjugated)(b[p * gemm->b_row], sign_b);
        const T *left = a + p * gemm->a_column;
        for (int i = 0; i < rows; ++i) {
            sums[i] = NAME(plus)(sums[i], NAME(times)(NAME(conjugated)(left[i * a_row], sign_a), right));
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
    for (int64_t j = 0; j < gemm->n; ++j) {
        const T *b = (const T *)gemm->b + j * gemm->b_column;
        T *c = (T *)gemm->c + j * gemm->c_column;
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

static void NAME(gemm_scale)(const tnri_gemm *gemm)
{
    const T beta = NAME(scalar)(gemm->beta);
    for (int64_t j = 0; j < gemm->n; ++j) {
        T *column = (T *)gemm->c + j * gemm->c_column;
        for (int64_t i = 0; i < gemm->m; ++i) {
            T *element = column + i * gemm->c_row;
            *element = gemm->overwrite ? NAME(zero)() : NAME(times)(beta, *element);
        }
    }
}
