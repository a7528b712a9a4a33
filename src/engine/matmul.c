/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix product: checks, and the product that it is (product_internal.h).
 *
 * Guarantees: alpha 0 or k 0 read no input, beta 0 does not read the output.
 */
#include "product_internal.h"
#include "team_internal.h"

tnr_status tnri_matmul_refuse(const char *op, const tnr_view *a, const tnr_view *b)
{
    TNRI_CHECK_VIEW(op, "a", a);
    TNRI_CHECK_VIEW(op, "b", b);
    if (a->dtype != b->dtype) {
        return tnri_fail_dtype(op, a->dtype, b->dtype);
    }
    TNR_REQUIRE(a->rank == 2 && b->rank == 2, TNR_ERR_SHAPE, "%s: operands must have rank 2, found %d and %d", op,
                (int)a->rank, (int)b->rank);
    return tnri_fail(TNR_ERR_SHAPE, "%s: [%lld, %lld] x [%lld, %lld]: inner extents differ", op, TNRI_LL(a->shape[0]),
                     TNRI_LL(a->shape[1]), TNRI_LL(b->shape[0]), TNRI_LL(b->shape[1]));
}

/* A step along one element means nothing. */
static int64_t step_of(const tnr_view *view, int axis) { return view->shape[axis] == 1 ? 0 : view->strides[axis]; }

static TNRI_NOINLINE tnr_status multiply(tnr_engine *engine, tnr_dtype dtype, const tnri_gemm *g)
{
    tnri_product product;
    product.dtype = dtype;
    product.finish = g->finish;
    tnri_product_one(&product.m, g->m, g->a_row, 0, g->c_row);
    tnri_product_one(&product.n, g->n, 0, g->b_column, g->c_column);
    tnri_product_one(&product.k, g->k, g->a_column, g->b_row, 0);
    product.batch.rank = 0;
    product.batch.size = 1;
    tnri_product_prepare(engine, &product);
    return tnri_product_run(engine, &product, g->a, g->b, g->c);
}

static tnr_status inside(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_product_options *options,
                         tnri_target target)
{
    static const char *const op = "matmul";
    TNR_TRY(tnri_matmul_check(op, a, b));
    const tnr_dtype dtype = a->dtype;
    const int64_t shape[2] = {a->shape[0], b->shape[1]};
    TNR_TRY(tnri_check_into(op, target.into, dtype, 2, shape));
    if (TNRI_UNLIKELY(!tnri_has_product(dtype))) {
        return tnri_fail_unsupported(op, dtype);
    }
    tnri_gemm gemm;
    TNR_TRY(tnri_finish_take(op, options, dtype, target.into != NULL, &gemm.finish));

    tnri_call call;
    call.op = op;
    call.inputs = 2;
    call.dtype = dtype;
    call.rank = 2;
    call.shape = shape;
    call.reason = TNR_ALLOCATION_OUTPUT;
    call.aliasing = gemm.finish.overwrite ? TNRI_APART_AB : TNRI_READ_BACK_AB;
    call.operands[1].view = a;
    call.operands[2].view = b;
    TNR_TRY(tnri_call_begin(engine, &call, target));
    gemm.m = shape[0];
    gemm.n = shape[1];
    gemm.k = a->shape[1];
    gemm.a = call.operands[1].data;
    gemm.a_row = step_of(a, 0);
    gemm.a_column = step_of(a, 1);
    gemm.b = call.operands[2].data;
    gemm.b_row = step_of(b, 0);
    gemm.b_column = step_of(b, 1);
    gemm.c = call.operands[0].data;
    gemm.c_row = step_of(call.out, 0);
    gemm.c_column = step_of(call.out, 1);
    const bool done = tnri_product_run_at_once(engine, dtype, &gemm);
    return tnri_call_end(engine, &call, target, done ? TNR_OK : multiply(engine, dtype, &gemm));
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_product_options *options,
                      tnri_target target)
{
    TNR_TRY(tnri_engine_enter("matmul", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, b, options, target));
}

tnr_status tnr_matmul(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_product_options *options,
                      tnr_tensor **out)
{
    return run(engine, a, b, options, (tnri_target){.made = out});
}

tnr_status tnr_matmul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_product_options *options,
                           const tnr_view_mut *out)
{
    return run(engine, a, b, options, (tnri_target){.into = out});
}

tnr_status tnr_matmul_need(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, int workers, tnr_need *need)
{
    static const char *const op = "matmul_need";
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "%s: need is NULL", op);
    TNR_REQUIRE(dtype > TNR_DTYPE_NONE && dtype < TNR_DTYPE_END, TNR_ERR_ARGUMENT, "%s: no valid dtype (%d)", op,
                (int)dtype);
    TNR_REQUIRE(m >= 0 && n >= 0 && k >= 0, TNR_ERR_ARGUMENT, "%s: negative extent in %lld x %lld x %lld", op,
                TNRI_LL(m), TNRI_LL(n), TNRI_LL(k));
    TNR_REQUIRE(workers >= 0 && workers <= TNR_MAX_CPUS, TNR_ERR_ARGUMENT, "%s: %d workers", op, workers);
    if (!tnri_has_product(dtype)) {
        return tnri_fail_unsupported(op, dtype);
    }
    if (m == 0 || n == 0 || k == 0) {
        *need = (tnr_need){0, 0, 0};
        return TNR_OK;
    }
    return tnr_block_need(tnri_product_bytes(dtype, m, n, k, tnri_most_lanes(workers)), 1, need);
}
