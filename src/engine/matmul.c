/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix product: checks, scalars, and the choice of a kernel.
 *
 * Guarantees: alpha 0 or k 0 read no input, beta 0 does not read the output; every layout gives the same as its compact
 * copy. Tiny products run straight loops, larger ones BLIS where it takes the operands as they lie, else the packed loops.
 */
#include "engine_internal.h"

/* Most multiplications that the straight loops do; extents all below SMALL_EXTENT are below it anyway. */
#define SMALL_WORK 1000.0
#define SMALL_EXTENT 8

static const tnr_matmul_options default_options = TNR_MATMUL_OPTIONS;

static const tnri_gemm_scalar zero;
static const tnri_gemm_scalar ones[TNR_C64 + 1] = {[TNR_F32] = {.f32 = 1.0F},
                                                   [TNR_F64] = {.f64 = 1.0},
                                                   [TNR_C32] = {.c32 = {1.0F, 0.0F}},
                                                   [TNR_C64] = {.c64 = {1.0, 0.0}}};

static tnri_gemm_scalar to_scalar(tnr_dtype dtype, tnr_scalar scalar)
{
    tnri_gemm_scalar made = {.c64 = {0.0, 0.0}};
    switch (dtype) {
    case TNR_F32:
        made.f32 = (float)scalar.re;
        break;
    case TNR_F64:
        made.f64 = scalar.re;
        break;
    case TNR_C32:
        made.c32 = (tnr_c32){(float)scalar.re, (float)scalar.im};
        break;
    default:
        made.c64 = (tnr_c64){scalar.re, scalar.im};
        break;
    }
    return made;
}

/* Is the scalar, in the dtype's precision, this real number? The imaginary part counts for complex dtypes only. */
static bool scalar_is(tnr_dtype dtype, tnri_gemm_scalar scalar, double value)
{
    switch (dtype) {
    case TNR_F32:
        return (double)scalar.f32 == value;
    case TNR_F64:
        return scalar.f64 == value;
    case TNR_C32:
        return (double)scalar.c32.re == value && scalar.c32.im == 0.0F;
    default:
        return scalar.c64.re == value && scalar.c64.im == 0.0;
    }
}

/* out = beta * out: what is left when no input counts. */
static void scale_output(const tnri_gemm *gemm)
{
    static const int64_t still[2];
    const int64_t shape[2] = {gemm->m, gemm->n};
    const int64_t strides[2] = {gemm->c_row, gemm->c_column};
    if (gemm->overwrite) {
        tnri_copy_elements(tnr_dtype_size(gemm->dtype), 2, shape, gemm->c, strides, &zero, still);
        return;
    }
    for (int64_t j = 0; j < gemm->n; ++j) {
        for (int64_t i = 0; i < gemm->m; ++i) {
            const int64_t at = i * gemm->c_row + j * gemm->c_column;
            switch (gemm->dtype) {
            case TNR_F32:
                ((float *)gemm->c)[at] *= gemm->beta.f32;
                break;
            case TNR_F64:
                ((double *)gemm->c)[at] *= gemm->beta.f64;
                break;
            case TNR_C32: {
                tnr_c32 *c = (tnr_c32 *)gemm->c + at;
                const tnr_c32 x = *c;
                const tnr_c32 y = gemm->beta.c32;
                *c = (tnr_c32){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
                break;
            }
            default: {
                tnr_c64 *c = (tnr_c64 *)gemm->c + at;
                const tnr_c64 x = *c;
                const tnr_c64 y = gemm->beta.c64;
                *c = (tnr_c64){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
                break;
            }
            }
        }
    }
}

static bool takes_blis(const tnr_engine *engine, const tnri_gemm *gemm)
{
    return engine->blis && tnri_blis_accepts(gemm);
}

/* Scratch is had before anything is leased or written, so that wanting room fails clean. */
static tnr_status matmul_run(tnr_engine *engine, tnri_gemm *gemm, const tnr_view *a, const tnr_view *b,
                             const tnr_matmul_options *options, const tnr_view *out)
{
    const tnr_dtype dtype = out->dtype;
    bool no_input = false;
    gemm->dtype = dtype;
    if (options == &default_options) { /* out = a * b, without a look at scalars */
        gemm->conjugate_a = false;
        gemm->conjugate_b = false;
        gemm->overwrite = true;
        gemm->plain = true;
        gemm->alpha = ones[dtype];
        gemm->beta = zero;
    } else {
        const bool complex = dtype == TNR_C32 || dtype == TNR_C64;
        gemm->conjugate_a = complex && options->conjugate_a;
        gemm->conjugate_b = complex && options->conjugate_b;
        gemm->alpha = to_scalar(dtype, options->alpha);
        gemm->beta = to_scalar(dtype, options->beta);
        gemm->overwrite = scalar_is(dtype, gemm->beta, 0.0);
        gemm->plain = gemm->overwrite && scalar_is(dtype, gemm->alpha, 1.0);
        no_input = scalar_is(dtype, gemm->alpha, 0.0);
    }
    gemm->m = out->shape[0];
    gemm->n = out->shape[1];
    gemm->k = a->shape[1];
    gemm->a_row = a->strides[0];
    gemm->a_column = a->strides[1];
    gemm->b_row = b->strides[0];
    gemm->b_column = b->strides[1];
    gemm->c_row = out->strides[0];
    gemm->c_column = out->strides[1];
    const bool empty = gemm->m == 0 || gemm->n == 0;
    no_input = no_input || gemm->k == 0;
    const bool small = (gemm->m | gemm->n | gemm->k) < SMALL_EXTENT ||
                       (double)gemm->m * (double)gemm->n * (double)gemm->k <= SMALL_WORK;
    void *scratch = NULL;
    bool blis = false;
    if (!empty && !no_input && !small) {
        blis = takes_blis(engine, gemm);
        if (!blis) {
            TNR_TRY(tnri_engine_scratch("matmul", engine, tnri_gemm_portable_bytes(gemm), &scratch));
        }
    }

    tnri_operand operands[3];
    operands[0].view = out;
    operands[0].write = true;
    operands[1].view = a;
    operands[1].write = false;
    operands[2].view = b;
    operands[2].write = false;
    TNR_TRY(tnri_access_begin("matmul", operands, 3, TNRI_APART));
    gemm->c = operands[0].data;
    gemm->a = operands[1].data;
    gemm->b = operands[2].data;
    if (empty) {
        /* nothing to write */
    } else if (no_input) {
        scale_output(gemm);
    } else if (small) {
        tnri_gemm_small(gemm);
    } else if (blis) {
        tnri_gemm_blis(gemm);
    } else {
        tnri_gemm_portable(gemm, scratch);
    }
    return tnri_access_end(operands, 3);
}

static tnr_status matmul_inside(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                const tnr_matmul_options *options, const tnr_view_mut *into, tnr_tensor **tensor)
{
    static const char *const op = "matmul";
    TNRI_CHECK_VIEW(op, "a", a);
    TNRI_CHECK_VIEW(op, "b", b);
    if (options == NULL) {
        options = &default_options;
    }
    TNR_REQUIRE(options->size == sizeof(tnr_matmul_options), TNR_ERR_ARGUMENT,
                "matmul: options of %llu bytes, expected %llu", TNRI_LLU(options->size),
                TNRI_LLU(sizeof(tnr_matmul_options)));
    if (TNRI_UNLIKELY(a->dtype != b->dtype)) {
        return tnri_fail_dtype(op, a->dtype, b->dtype);
    }
    TNR_REQUIRE(a->rank == 2 && b->rank == 2, TNR_ERR_SHAPE, "matmul: operands must have rank 2, found %d and %d",
                (int)a->rank, (int)b->rank);
    TNR_REQUIRE(a->shape[1] == b->shape[0], TNR_ERR_SHAPE, "matmul: [%lld, %lld] x [%lld, %lld]: inner extents differ",
                TNRI_LL(a->shape[0]), TNRI_LL(a->shape[1]), TNRI_LL(b->shape[0]), TNRI_LL(b->shape[1]));
    const int64_t shape[2] = {a->shape[0], b->shape[1]};
    if (into != NULL) {
        const tnr_view *out = &into->view;
        TNRI_CHECK_VIEW(op, "out", out);
        if (TNRI_UNLIKELY(out->dtype != a->dtype)) {
            return tnri_fail_dtype(op, a->dtype, out->dtype);
        }
        if (TNRI_UNLIKELY(out->rank != 2 || out->shape[0] != shape[0] || out->shape[1] != shape[1])) {
            return tnri_fail_shape(op, "out", 2, shape, out);
        }
    }
    if (TNRI_UNLIKELY(a->dtype > TNR_C64)) {
        return tnri_fail_unsupported(op, a->dtype);
    }
    tnri_gemm gemm;
    if (into != NULL) {
        return matmul_run(engine, &gemm, a, b, options, &into->view);
    }
    TNR_REQUIRE(options->beta.re == 0.0 && (a->dtype < TNR_C32 || options->beta.im == 0.0), TNR_ERR_ARGUMENT,
                "matmul: beta must be 0 where there is no output yet");
    tnri_output output;
    TNR_TRY(tnri_output_begin(op, engine, a->dtype, 2, shape, TNR_ALLOCATION_OUTPUT, &output));
    return tnri_output_end(&output, matmul_run(engine, &gemm, a, b, options, &output.view.view), tensor);
}

tnr_status tnr_matmul(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_matmul_options *options,
                      tnr_tensor **out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "matmul: out is NULL");
    TNR_TRY(tnri_engine_enter("matmul", engine));
    const tnr_status status = matmul_inside(engine, a, b, options, NULL, out);
    tnri_engine_leave(engine);
    return status;
}

tnr_status tnr_matmul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_matmul_options *options,
                           const tnr_view_mut *out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "matmul: out is NULL");
    TNR_TRY(tnri_engine_enter("matmul", engine));
    const tnr_status status = matmul_inside(engine, a, b, options, out, NULL);
    tnri_engine_leave(engine);
    return status;
}
