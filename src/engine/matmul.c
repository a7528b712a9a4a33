/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix product: checks, scalars, and the choice of a kernel.
 *
 * Guarantees: alpha 0 or k 0 read no input, beta 0 does not read the output; every layout gives the same as its compact
 * copy. Tiny products run straight loops, larger ones BLIS where it takes the operands as they lie, else the packed loops.
 */
#include "product_internal.h"

/* Most multiplications that the straight loops do; extents all below SMALL_EXTENT, a power of two, are below it anyway. */
#define SMALL_WORK 1000
#define SMALL_EXTENT 8

static inline bool is_small(int64_t m, int64_t n, int64_t k)
{
    return (m | n | k) < SMALL_EXTENT || tnri_gemm_work(m, n, k) <= SMALL_WORK;
}

static inline bool has_product(tnr_dtype dtype)
{
    static const bool floats[TNR_DTYPE_END] = {[TNR_F32] = true, [TNR_F64] = true, [TNR_C32] = true, [TNR_C64] = true};
    return floats[dtype];
}

/* The scalar as the dtype has it. */
static inline tnr_c64 rounded(tnr_dtype dtype, tnr_scalar scalar)
{
    static const bool single[TNR_DTYPE_END] = {[TNR_F32] = true, [TNR_C32] = true};
    static const bool complex[TNR_DTYPE_END] = {[TNR_C32] = true, [TNR_C64] = true};
    const tnr_c64 exact = {scalar.re, complex[dtype] ? scalar.im : 0.0};
    return single[dtype] ? (tnr_c64){(double)(float)exact.re, (double)(float)exact.im} : exact;
}

static inline bool is_real(tnr_c64 scalar, double value) { return scalar.re == value && scalar.im == 0.0; }

/* Operands are leased and nothing is written yet: the last thing that can fail is wanting scratch. */
static tnr_status compute(tnr_engine *engine, tnri_gemm *gemm)
{
    if (gemm->m == 0 || gemm->n == 0) {
        return TNR_OK;
    }
    if (gemm->k == 0 || is_real(gemm->alpha, 0.0)) {
        tnri_gemm_scale(gemm);
    } else if (is_small(gemm->m, gemm->n, gemm->k)) {
        tnri_gemm_small(gemm);
    } else {
        tnri_product product = {.dtype = gemm->dtype, .a = gemm->a, .b = gemm->b, .c = gemm->c};
        product.finish = (tnri_finish){gemm->plain, gemm->overwrite, gemm->conjugate_a, gemm->conjugate_b, gemm->alpha,
                                       gemm->beta};
        product.m = (tnri_product_axes){1, gemm->m, {gemm->m}, {gemm->a_row}, {0}, {gemm->c_row}};
        product.n = (tnri_product_axes){1, gemm->n, {gemm->n}, {0}, {gemm->b_column}, {gemm->c_column}};
        product.k = (tnri_product_axes){1, gemm->k, {gemm->k}, {gemm->a_column}, {gemm->b_row}, {0}};
        product.batch.size = 1;
        return tnri_product_run(engine, &product);
    }
    return TNR_OK;
}

static tnr_status inside(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_matmul_options *options,
                         tnri_target target)
{
    static const char *const op = "matmul";
    TNRI_CHECK_VIEW(op, "a", a);
    TNRI_CHECK_VIEW(op, "b", b);
    tnr_matmul_options taken = TNR_MATMUL_OPTIONS;
    if (options != NULL) {
        TNR_TRY(tnri_options_take(op, options, sizeof taken, &taken, sizeof taken));
    }
    const tnr_dtype dtype = a->dtype;
    if (TNRI_UNLIKELY(dtype != b->dtype)) {
        return tnri_fail_dtype(op, dtype, b->dtype);
    }
    TNR_REQUIRE(a->rank == 2 && b->rank == 2, TNR_ERR_SHAPE, "matmul: operands must have rank 2, found %d and %d",
                (int)a->rank, (int)b->rank);
    TNR_REQUIRE(a->shape[1] == b->shape[0], TNR_ERR_SHAPE, "matmul: [%lld, %lld] x [%lld, %lld]: inner extents differ",
                TNRI_LL(a->shape[0]), TNRI_LL(a->shape[1]), TNRI_LL(b->shape[0]), TNRI_LL(b->shape[1]));
    const int64_t shape[2] = {a->shape[0], b->shape[1]};
    TNR_TRY(tnri_check_into(op, target.into, dtype, 2, shape));
    if (TNRI_UNLIKELY(!has_product(dtype))) {
        return tnri_fail_unsupported(op, dtype);
    }
    tnri_gemm gemm;
    gemm.alpha = options != NULL ? rounded(dtype, taken.alpha) : (tnr_c64){1.0, 0.0};
    gemm.beta = options != NULL ? rounded(dtype, taken.beta) : (tnr_c64){0.0, 0.0};
    gemm.overwrite = is_real(gemm.beta, 0.0);
    TNR_REQUIRE(gemm.overwrite || target.into != NULL, TNR_ERR_ARGUMENT,
                "matmul: beta must be 0 where there is no output yet");
    const bool complex = tnr_dtype_real(dtype) != dtype;
    gemm.conjugate_a = complex && taken.conjugate_a;
    gemm.conjugate_b = complex && taken.conjugate_b;
    gemm.plain = gemm.overwrite && is_real(gemm.alpha, 1.0);

    tnri_call call;
    call.op = op;
    call.inputs = 2;
    call.dtype = dtype;
    call.rank = 2;
    call.shape = shape;
    call.reason = TNR_ALLOCATION_OUTPUT;
    call.aliasing = gemm.overwrite ? TNRI_APART : TNRI_READ_BACK;
    call.operands[1].view = a;
    call.operands[2].view = b;
    TNR_TRY(tnri_call_begin(engine, &call, target));
    gemm.dtype = dtype;
    gemm.m = shape[0];
    gemm.n = shape[1];
    gemm.k = a->shape[1];
    gemm.a = call.operands[1].data;
    gemm.a_row = a->strides[0];
    gemm.a_column = a->strides[1];
    gemm.b = call.operands[2].data;
    gemm.b_row = b->strides[0];
    gemm.b_column = b->strides[1];
    gemm.c = call.operands[0].data;
    gemm.c_row = call.out->strides[0];
    gemm.c_column = call.out->strides[1];
    return tnri_call_end(&call, target, compute(engine, &gemm));
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_matmul_options *options,
                      tnri_target target)
{
    TNR_TRY(tnri_engine_enter("matmul", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, b, options, target));
}

tnr_status tnr_matmul(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_matmul_options *options,
                      tnr_tensor **out)
{
    return run(engine, a, b, options, (tnri_target){.made = out});
}

tnr_status tnr_matmul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_matmul_options *options,
                           const tnr_view_mut *out)
{
    return run(engine, a, b, options, (tnri_target){.into = out});
}

tnr_status tnr_matmul_need(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "matmul need: need is NULL");
    TNR_REQUIRE(dtype > TNR_DTYPE_NONE && dtype < TNR_DTYPE_END, TNR_ERR_ARGUMENT, "matmul need: no valid dtype (%d)",
                (int)dtype);
    TNR_REQUIRE(m >= 0 && n >= 0 && k >= 0, TNR_ERR_ARGUMENT, "matmul need: negative extent in %lld x %lld x %lld",
                TNRI_LL(m), TNRI_LL(n), TNRI_LL(k));
    if (!has_product(dtype)) {
        return tnri_fail_unsupported("matmul need", dtype);
    }
    if (is_small(m, n, k)) { /* an extent of 0 is */
        *need = (tnr_need){0, 0, 0};
        return TNR_OK;
    }
    return tnr_block_need(tnri_product_bytes(NULL, dtype, m, n, k), 1, need);
}
