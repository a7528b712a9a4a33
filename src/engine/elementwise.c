/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elementwise operations: one driver for two inputs, one for one, and a table of kernels per dtype.
 *
 * Guarantees: any layouts; a rank-0 operand meets every element of the other; in place where output and input are the same
 * elements. Axes are merged and put in the output's order, and the kernel runs over the longest unit run.
 */
#include <math.h>

#include "engine_internal.h"

#if defined(__clang__) /* "independent" permits vector code; where the compiler sees no gain in it, that is no defect */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#define KIND_REAL 1
#define KIND_COMPLEX 2
#define KIND_INTEGER 3

#define T float
#define EXP expf
#define KIND KIND_REAL
#define NAME(x) NAME_(x, f32)
#define NAME_(x, y) NAME__(x, y)
#define NAME__(x, y) x##_##y
#include "kernels/elementwise.tmpl.h"

#define T double
#define EXP exp
#define KIND KIND_REAL
#define NAME(x) NAME_(x, f64)
#include "kernels/elementwise.tmpl.h"

#define T tnr_c32
#define REAL float
#define EXP expf
#define SIN sinf
#define COS cosf
#define KIND KIND_COMPLEX
#define NAME(x) NAME_(x, c32)
#include "kernels/elementwise.tmpl.h"

#define T tnr_c64
#define REAL double
#define EXP exp
#define SIN sin
#define COS cos
#define KIND KIND_COMPLEX
#define NAME(x) NAME_(x, c64)
#include "kernels/elementwise.tmpl.h"

#define T int32_t
#define UNSIGNED uint32_t
#define KIND KIND_INTEGER
#define NAME(x) NAME_(x, i32)
#include "kernels/elementwise.tmpl.h"

#define T int64_t
#define UNSIGNED uint64_t
#define KIND KIND_INTEGER
#define NAME(x) NAME_(x, i64)
#include "kernels/elementwise.tmpl.h"

typedef void (*binary_kernel)(char *out, int64_t out_step, const char *a, int64_t a_step, const char *b, int64_t b_step,
                              int64_t count);
typedef void (*unary_kernel)(char *out, int64_t out_step, const char *a, int64_t a_step, int64_t count);

/* NULL: not defined for the dtype. */
typedef struct binary_op {
    const char *name;
    binary_kernel kernels[TNR_DTYPE_END];
} binary_op;

typedef struct unary_op {
    const char *name;
    unary_kernel kernels[TNR_DTYPE_END];
} unary_op;

static const binary_op op_add = {"add", {NULL, add_f32, add_f64, add_c32, add_c64, add_i32, add_i64, NULL}};
static const binary_op op_sub = {"sub", {NULL, sub_f32, sub_f64, sub_c32, sub_c64, sub_i32, sub_i64, NULL}};
static const binary_op op_mul = {"mul", {NULL, mul_f32, mul_f64, mul_c32, mul_c64, mul_i32, mul_i64, NULL}};
static const unary_op op_exp = {"exp", {NULL, exp_f32, exp_f64, exp_c32, exp_c64, NULL, NULL, NULL}};

/* The two tables above are in the order of TNR_DTYPES. */
_Static_assert(TNR_F32 == 1 && TNR_F64 == 2 && TNR_C32 == 3 && TNR_C64 == 4 && TNR_I32 == 5 && TNR_I64 == 6 &&
                   TNR_BOOL == 7,
               "order of dtypes");

static const int64_t still[TNR_MAX_RANK]; /* strides of an operand that is one element */

/* ---- Two inputs ------------------------------------------------------------------------------------------------------------- */

static void binary_walk(binary_kernel kernel, const tnr_view *out, const tnr_view *a, const tnr_view *b,
                        const tnri_operand *operands) __attribute__((noinline));

static void binary_walk(binary_kernel kernel, const tnr_view *out, const tnr_view *a, const tnr_view *b,
                        const tnri_operand *operands)
{
    const size_t width = tnr_dtype_size(out->dtype);
    const tnri_nest_operand list[3] = {{operands[0].data, out->strides, width},
                                       {operands[1].data, a->rank == 0 ? still : a->strides, width},
                                       {operands[2].data, b->rank == 0 ? still : b->strides, width}};
    tnri_nest nest;
    if (!tnri_nest_make(&nest, out->rank, out->shape, 3, list)) {
        return;
    }
    do {
        kernel(nest.data[0], nest.strides[0][0], nest.data[1], nest.strides[1][0], nest.data[2], nest.strides[2][0],
               nest.shape[0]);
    } while (tnri_nest_step(&nest, 1));
}

/* Checks are done: lease, compute, let go. */
static tnr_status binary_run(const binary_op *op, const tnr_view *a, const tnr_view *b, const tnr_view *out)
{
    tnri_operand operands[3];
    operands[0].view = out;
    operands[0].write = true;
    operands[1].view = a;
    operands[1].write = false;
    operands[2].view = b;
    operands[2].write = false;
    TNR_TRY(tnri_access_begin(op->name, operands, 3, TNRI_IN_PLACE));
    const binary_kernel kernel = op->kernels[out->dtype];
    if (out->rank == 1 && out->shape[0] > 0) { /* one run: nothing to order or merge */
        const int64_t width = (int64_t)tnr_dtype_size(out->dtype);
        kernel(operands[0].data, out->strides[0] * width, operands[1].data, a->rank == 0 ? 0 : a->strides[0] * width,
               operands[2].data, b->rank == 0 ? 0 : b->strides[0] * width, out->shape[0]);
    } else {
        binary_walk(kernel, out, a, b, operands);
    }
    return tnri_access_end(operands, 3);
}

static tnr_status binary_inside(tnr_engine *engine, const binary_op *op, const tnr_view *a, const tnr_view *b,
                                const tnr_view_mut *into, tnr_tensor **tensor)
{
    TNRI_CHECK_VIEW(op->name, "a", a);
    TNRI_CHECK_VIEW(op->name, "b", b);
    if (TNRI_UNLIKELY(a->dtype != b->dtype)) {
        return tnri_fail_dtype(op->name, a->dtype, b->dtype);
    }
    const tnr_view *like = a->rank == 0 ? b : a;
    if (TNRI_UNLIKELY(b->rank != 0 && !tnri_same_shape(like, b))) {
        return tnri_fail_shape(op->name, "b", like->rank, like->shape, b);
    }
    if (into != NULL) {
        TNRI_CHECK_VIEW(op->name, "out", &into->view);
        if (TNRI_UNLIKELY(into->view.dtype != a->dtype)) {
            return tnri_fail_dtype(op->name, a->dtype, into->view.dtype);
        }
        if (TNRI_UNLIKELY(!tnri_same_shape(like, &into->view))) {
            return tnri_fail_shape(op->name, "out", like->rank, like->shape, &into->view);
        }
    }
    if (TNRI_UNLIKELY(op->kernels[a->dtype] == NULL)) {
        return tnri_fail_unsupported(op->name, a->dtype);
    }
    if (into != NULL) {
        return binary_run(op, a, b, &into->view);
    }
    tnri_output output;
    TNR_TRY(tnri_output_begin(op->name, engine, a->dtype, like->rank, like->shape, TNR_ALLOCATION_OUTPUT, &output));
    return tnri_output_end(&output, binary_run(op, a, b, &output.view.view), tensor);
}

static tnr_status binary_make(tnr_engine *engine, const binary_op *op, const tnr_view *a, const tnr_view *b,
                              tnr_tensor **out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "%s: out is NULL", op->name);
    TNR_TRY(tnri_engine_enter(op->name, engine));
    const tnr_status status = binary_inside(engine, op, a, b, NULL, out);
    tnri_engine_leave(engine);
    return status;
}

static tnr_status binary_into(tnr_engine *engine, const binary_op *op, const tnr_view *a, const tnr_view *b,
                              const tnr_view_mut *out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "%s: out is NULL", op->name);
    TNR_TRY(tnri_engine_enter(op->name, engine));
    const tnr_status status = binary_inside(engine, op, a, b, out, NULL);
    tnri_engine_leave(engine);
    return status;
}

tnr_status tnr_add(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return binary_make(engine, &op_add, a, b, out);
}

tnr_status tnr_add_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return binary_into(engine, &op_add, a, b, out);
}

tnr_status tnr_sub(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return binary_make(engine, &op_sub, a, b, out);
}

tnr_status tnr_sub_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return binary_into(engine, &op_sub, a, b, out);
}

tnr_status tnr_mul(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return binary_make(engine, &op_mul, a, b, out);
}

tnr_status tnr_mul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return binary_into(engine, &op_mul, a, b, out);
}

/* ---- One input -------------------------------------------------------------------------------------------------------------- */

static tnr_status unary_run(const unary_op *op, const tnr_view *a, const tnr_view *out)
{
    tnri_operand operands[2];
    operands[0].view = out;
    operands[0].write = true;
    operands[1].view = a;
    operands[1].write = false;
    TNR_TRY(tnri_access_begin(op->name, operands, 2, TNRI_IN_PLACE));
    const unary_kernel kernel = op->kernels[out->dtype];
    const size_t width = tnr_dtype_size(out->dtype);
    const tnri_nest_operand list[2] = {{operands[0].data, out->strides, width}, {operands[1].data, a->strides, width}};
    tnri_nest nest;
    if (tnri_nest_make(&nest, out->rank, out->shape, 2, list)) {
        do {
            kernel(nest.data[0], nest.strides[0][0], nest.data[1], nest.strides[1][0], nest.shape[0]);
        } while (tnri_nest_step(&nest, 1));
    }
    return tnri_access_end(operands, 2);
}

static tnr_status unary_inside(tnr_engine *engine, const unary_op *op, const tnr_view *a, const tnr_view_mut *into,
                               tnr_tensor **tensor)
{
    TNRI_CHECK_VIEW(op->name, "a", a);
    if (into != NULL) {
        TNRI_CHECK_VIEW(op->name, "out", &into->view);
        if (into->view.dtype != a->dtype) {
            return tnri_fail_dtype(op->name, a->dtype, into->view.dtype);
        }
        if (!tnri_same_shape(a, &into->view)) {
            return tnri_fail_shape(op->name, "out", a->rank, a->shape, &into->view);
        }
    }
    if (op->kernels[a->dtype] == NULL) {
        return tnri_fail_unsupported(op->name, a->dtype);
    }
    if (into != NULL) {
        return unary_run(op, a, &into->view);
    }
    tnri_output output;
    TNR_TRY(tnri_output_begin(op->name, engine, a->dtype, a->rank, a->shape, TNR_ALLOCATION_OUTPUT, &output));
    return tnri_output_end(&output, unary_run(op, a, &output.view.view), tensor);
}

tnr_status tnr_exp(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "exp: out is NULL");
    TNR_TRY(tnri_engine_enter("exp", engine));
    const tnr_status status = unary_inside(engine, &op_exp, a, NULL, out);
    tnri_engine_leave(engine);
    return status;
}

tnr_status tnr_exp_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "exp: out is NULL");
    TNR_TRY(tnri_engine_enter("exp", engine));
    const tnr_status status = unary_inside(engine, &op_exp, a, out, NULL);
    tnri_engine_leave(engine);
    return status;
}
