/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums over axes.
 *
 * Guarantees: axes are validated before anything else, for empty tensors too; any layouts; pairwise error for floats;
 * integers wrap. Stack use is bounded: recursion depth is the logarithm of the longest axis plus the rank.
 */
#include "engine_internal.h"

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

#include "kernels/arithmetic.inl.h"

#define TEMPLATE "reduce.tmpl.h"
#define DTYPES DTYPES_NUMBER
#include "kernels/each_dtype.inl.h"

typedef void (*sum_kernel)(const reduced_axes *reduced, char *out, int64_t out_step, const char *a, int64_t a_step,
                           int64_t count, bool by_strips);

static const sum_kernel kernels[TNR_DTYPE_END] = NUMBER_TABLE(sum);

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
static void compute(const tnr_view *a, uint64_t gone, const tnri_call *call)
{
    const tnr_view *out = call->out;
    int64_t spread[TNR_MAX_RANK];
    bool nothing = false;
    int kept = 0;
    for (int i = 0; i < a->rank; ++i) {
        nothing = nothing || a->shape[i] == 0;
        spread[i] = (gone >> i & 1U) != 0 ? 0 : out->strides[kept++];
    }
    if (nothing) { /* sums of nothing, if there are any */
        tnri_copy_elements(tnr_dtype_size(out->dtype), out->rank, out->shape, call->operands[0].data, out->strides,
                           &zero, still);
    } else {
        sum_walk(a, spread, call->operands[1].data, call->operands[0].data);
    }
}

static tnr_status inside(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnri_target target)
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
    TNR_TRY(tnri_check_into("sum", target.into, a->dtype, rank, shape));
    if (kernels[a->dtype] == NULL) {
        return tnri_fail_unsupported("sum", a->dtype);
    }
    tnri_call call;
    call.op = "sum";
    call.inputs = 1;
    call.dtype = a->dtype;
    call.rank = rank;
    call.shape = shape;
    call.reason = TNR_ALLOCATION_OUTPUT;
    call.aliasing = TNRI_APART;
    call.operands[1].view = a;
    TNR_TRY(tnri_call_begin(engine, &call, target));
    compute(a, gone, &call);
    return tnri_call_end(&call, target, TNR_OK);
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("sum", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, axes, axis_count, target));
}

tnr_status tnr_sum(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run(engine, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_sum_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, const tnr_view_mut *out)
{
    return run(engine, a, axes, axis_count, (tnri_target){.into = out});
}
