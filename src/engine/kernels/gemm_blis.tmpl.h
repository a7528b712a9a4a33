/* SPDX-License-Identifier: BSD-3-Clause */
/* One product through BLIS, of one real or complex dtype (each_dtype.inl.h): BLIS's call and type are blis_call_f32 and
 * blis_type_f32. It takes pointers to what it does not change. */

static void NAME(gemm_blis)(const tnri_gemm *gemm)
{
    rntm_t rntm = one_thread();
    T alpha = NAME(scalar)(gemm->alpha);
    T beta = NAME(scalar)(gemm->beta);
    NAME(blis_call)
    (gemm->conjugate_a ? BLIS_CONJ_NO_TRANSPOSE : BLIS_NO_TRANSPOSE,
     gemm->conjugate_b ? BLIS_CONJ_NO_TRANSPOSE : BLIS_NO_TRANSPOSE, gemm->m, gemm->n, gemm->k,
     (NAME(blis_type) *)(void *)&alpha, (NAME(blis_type) *)gemm->a, gemm->a_row, gemm->a_column,
     (NAME(blis_type) *)gemm->b, gemm->b_row, gemm->b_column, (NAME(blis_type) *)(void *)&beta,
     (NAME(blis_type) *)gemm->c, gemm->c_row, gemm->c_column, NULL, &rntm);
}
