/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums over axes.
 *
 * Guarantees: axes are validated before anything else, for empty tensors too; any layouts; pairwise error for floats;
 * integers wrap. Stack use is bounded: recursion depth is the logarithm of the longest axis plus the rank.
 */
#include "engine_internal.h"

#define KIND_REAL 1
#define KIND_COMPLEX 2
#define KIND_INTEGER 3

#define LANES 16      /* accumulators of a run */
#define LINE_LEAF 512 /* longest run that is added up without halving */
#define AXIS_LEAF 16  /* most partial sums that are added up without halving */
#define STRIP 64      /* outputs that are summed side by side */

/* The axes that go away, innermost (shortest step of the source) first; rank >= 1. Byte strides of the source. */
typedef struct reduced_axes {
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
} reduced_axes;

#define NAME_(x, y) NAME__(x, y)
#define NAME__(x, y) x##_##y

#define T float
#define KIND KIND_REAL
#define NAME(x) NAME_(x, f32)
#include "kernels/reduce.tmpl.h"

#define T double
#define KIND KIND_REAL
#define NAME(x) NAME_(x, f64)
#include "kernels/reduce.tmpl.h"

#define T tnr_c32
#define KIND KIND_COMPLEX
#define NAME(x) NAME_(x, c32)
#include "kernels/reduce.tmpl.h"

#define T tnr_c64
#define KIND KIND_COMPLEX
#define NAME(x) NAME_(x, c64)
#include "kernels/reduce.tmpl.h"

#define T int32_t
#define UNSIGNED uint32_t
#define KIND KIND_INTEGER
#define NAME(x) NAME_(x, i32)
#include "kernels/reduce.tmpl.h"

#define T int64_t
#define UNSIGNED uint64_t
#define KIND KIND_INTEGER
#define NAME(x) NAME_(x, i64)
#include "kernels/reduce.tmpl.h"

typedef void (*sum_kernel)(const reduced_axes *reduced, char *out, int64_t out_step, const char *a, int64_t a_step,
                           int64_t count, bool by_strips);

static const sum_kernel kernels[TNR_DTYPE_END] = {
    [TNR_F32] = sum_f32, [TNR_F64] = sum_f64, [TNR_C32] = sum_c32,
    [TNR_C64] = sum_c64, [TNR_I32] = sum_i32, [TNR_I64] = sum_i64,
};

static const int64_t still[TNR_MAX_RANK];
static const tnr_c64 zero; /* all bytes zero: zero in every dtype */

/*
 * Walk source and output together; the output stands still on the axes that go away. `spread` has the output's strides by
 * the source's axes.
 */
static void sum_walk(const tnr_view *a, const int64_t *spread, const char *source, char *target)
{
    const size_t width = tnr_dtype_size(a->dtype);
    const tnri_nest_operand list[2] = {{source, a->strides, width}, {target, spread, width}};
    tnri_nest nest;
    if (!tnri_nest_make(&nest, a->rank, a->shape, 2, list)) {
        return;
    }
    reduced_axes reduced = {0, {0}, {0}};
    const bool by_strips = nest.strides[1][0] != 0;
    int kept = 0;
    for (int i = 0; i < nest.rank; ++i) {
        if (nest.strides[1][i] == 0) {
            reduced.shape[reduced.rank] = nest.shape[i];
            reduced.strides[reduced.rank] = nest.strides[0][i];
            ++reduced.rank;
            continue;
        }
        nest.shape[kept] = nest.shape[i];
        nest.strides[0][kept] = nest.strides[0][i];
        nest.strides[1][kept] = nest.strides[1][i];
        ++kept;
    }
    if (reduced.rank == 0) { /* only axes of extent 1 go away */
        reduced.rank = 1;
        reduced.shape[0] = 1;
    }
    if (kept == 0) {
        kept = 1;
        nest.shape[0] = 1;
        nest.strides[0][0] = 0;
        nest.strides[1][0] = 0;
    }
    nest.rank = kept;
    do {
        kernels[a->dtype](&reduced, nest.data[1], nest.strides[1][0], nest.data[0], nest.strides[0][0], nest.shape[0],
                          by_strips);
    } while (tnri_nest_step(&nest, 1));
}

/* `gone` has a bit for each axis that goes away. */
static tnr_status sum_run(const tnr_view *a, uint64_t gone, const tnr_view *out)
{
    tnri_operand operands[2];
    operands[0].view = out;
    operands[0].write = true;
    operands[1].view = a;
    operands[1].write = false;
    TNR_TRY(tnri_access_begin("sum", operands, 2, TNRI_APART));
    int64_t spread[TNR_MAX_RANK];
    bool nothing = false;
    int kept = 0;
    for (int i = 0; i < a->rank; ++i) {
        nothing = nothing || a->shape[i] == 0;
        spread[i] = (gone >> i & 1U) != 0 ? 0 : out->strides[kept++];
    }
    if (nothing) { /* sums of nothing, if there are any */
        tnri_copy_elements(tnr_dtype_size(out->dtype), out->rank, out->shape, operands[0].data, out->strides, &zero,
                           still);
    } else {
        sum_walk(a, spread, operands[1].data, operands[0].data);
    }
    return tnri_access_end(operands, 2);
}

static tnr_status sum_inside(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                             const tnr_view_mut *into, tnr_tensor **tensor)
{
    TNRI_CHECK_VIEW("sum", "a", a);
    TNR_REQUIRE(axis_count >= 0 && (axes != NULL || axis_count == 0), TNR_ERR_ARGUMENT,
                "sum: %d axes at a NULL list, or a negative count", axis_count);
    uint64_t gone = 0;
    for (int i = 0; i < axis_count; ++i) {
        TNR_REQUIRE(axes[i] >= 0 && axes[i] < a->rank, TNR_ERR_BOUNDS, "sum: axis %d of a tensor of rank %d", axes[i],
                    (int)a->rank);
        TNR_REQUIRE((gone >> axes[i] & 1U) == 0, TNR_ERR_ARGUMENT, "sum: axis %d is listed twice", axes[i]);
        gone |= UINT64_C(1) << axes[i];
    }
    int64_t shape[TNR_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < a->rank; ++i) {
        if ((gone >> i & 1U) == 0) {
            shape[rank++] = a->shape[i];
        }
    }
    if (into != NULL) {
        const tnr_view *out = &into->view;
        TNRI_CHECK_VIEW("sum", "out", out);
        if (out->dtype != a->dtype) {
            return tnri_fail_dtype("sum", a->dtype, out->dtype);
        }
        bool fits = out->rank == rank;
        for (int i = 0; i < rank && fits; ++i) {
            fits = out->shape[i] == shape[i];
        }
        if (!fits) {
            return tnri_fail_shape("sum", "out", rank, shape, out);
        }
    }
    if (kernels[a->dtype] == NULL) {
        return tnri_fail_unsupported("sum", a->dtype);
    }
    if (into != NULL) {
        return sum_run(a, gone, &into->view);
    }
    tnri_output output;
    TNR_TRY(tnri_output_begin("sum", engine, a->dtype, rank, shape, TNR_ALLOCATION_OUTPUT, &output));
    return tnri_output_end(&output, sum_run(a, gone, &output.view.view), tensor);
}

tnr_status tnr_sum(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "sum: out is NULL");
    TNR_TRY(tnri_engine_enter("sum", engine));
    const tnr_status status = sum_inside(engine, a, axes, axis_count, NULL, out);
    tnri_engine_leave(engine);
    return status;
}

tnr_status tnr_sum_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, const tnr_view_mut *out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "sum: out is NULL");
    TNR_TRY(tnri_engine_enter("sum", engine));
    const tnr_status status = sum_inside(engine, a, axes, axis_count, out, NULL);
    tnri_engine_leave(engine);
    return status;
}
