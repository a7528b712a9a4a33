/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structure: the copies by name of what a view can say as well (permute, to_contiguous, copy_into, reshape, broadcast,
 * slice, reverse, diagonal), and the frame that they share with the others. Each is checks, one strided copy of the
 * input seen another way, and an entry in the ledger of the destination's domain.
 *
 * Guarantees: all dtypes, any layouts; the output is apart from all of the input; a call that was refused is not
 * entered. When a domain fails to end the call after the bytes of a caller's view have moved, the entry stays: it says
 * what was copied.
 */
#include "structure_internal.h"

static const tnri_rearrangement op_permute = {"permute", TNR_COPY_PERMUTE};
static const tnri_rearrangement op_to_contiguous = {"to_contiguous", TNR_COPY_TO_CONTIGUOUS};
static const tnri_rearrangement op_copy_into = {"copy_into", TNR_COPY_COPY_INTO};
static const tnri_rearrangement op_broadcast = {"broadcast", TNR_COPY_BROADCAST};
static const tnri_rearrangement op_slice = {"slice", TNR_COPY_SLICE};
static const tnri_rearrangement op_reverse = {"reverse", TNR_COPY_REVERSE};
static const tnri_rearrangement op_diagonal = {"diagonal", TNR_COPY_DIAGONAL};

/* ---- Frame of a call ------------------------------------------------------------------------------------------------- */

uint64_t tnri_shape_extent_bytes(tnr_dtype dtype, int rank, const int64_t *shape)
{
    uint64_t bytes = tnr_dtype_size(dtype);
    for (int i = 0; i < rank; ++i) {
        bytes *= (uint64_t)shape[i]; /* fits, or some extent is 0 and then so is this */
    }
    return bytes;
}

tnr_status tnri_rearrange_begin(tnr_engine *engine, const tnri_rearrangement *op, tnri_call *call, tnri_target target)
{
    TNR_TRY(tnri_check_into(op->name, target.into, call->dtype, call->rank, call->shape));
    call->op = op->name;
    call->reason = TNR_ALLOCATION_COPY;
    return tnri_call_begin(engine, call, target);
}

tnr_status tnri_rearrange_end(tnr_engine *engine, const tnri_rearrangement *op, tnri_call *call, tnri_target target,
                              tnr_status status)
{
    const uint64_t bytes = tnri_shape_extent_bytes(call->dtype, call->rank, call->shape);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        return tnri_call_end(engine, call, target, status);
    }
    if (target.into != NULL) { /* before the lease goes: after it nothing keeps the owner's domain */
        const bool in_place = call->aliasing == TNRI_FIRST_IN_PLACE && call->operands[0].data == call->operands[1].data;
        if (!in_place || bytes == 0) { /* in place nothing is copied */
            tnri_ledger_copy(target.into->view.root->domain, op->reason, bytes);
        }
        return tnri_call_end(engine, call, target, TNR_OK);
    }
    TNR_TRY(tnri_call_end(engine, call, target, TNR_OK));
    tnri_ledger_copy(engine->output, op->reason, bytes); /* the engine is its user */
    return TNR_OK;
}

/*
 * ---- The input, seen another way
 * ----------------------------------------------------------------------------------------------
 */

static tnr_status begin(tnr_engine *engine, const tnri_rearrangement *op, tnri_call *call, const tnr_view *a, int rank,
                        const int64_t *shape, tnri_target target)
{
    call->inputs = 1;
    call->dtype = a->dtype;
    call->rank = rank;
    call->shape = shape;
    call->aliasing = TNRI_APART;
    call->operands[1].view = a;
    return tnri_rearrange_begin(engine, op, call, target);
}

/* Fill the output from the input's elements, from `source` on with those strides. */
static tnr_status fill(tnr_engine *engine, const tnri_call *call, const char *source, const int64_t *strides)
{
    return tnri_copy_on_lanes(engine, tnr_dtype_size(call->dtype), call->rank, call->shape, call->operands[0].data,
                              call->out->strides, source, strides);
}

/* `seen` is a transform of `a`, which is what is leased: the output must be apart from all of it. */
static tnr_status copy(tnr_engine *engine, const tnri_rearrangement *op, const tnr_view *a, const tnr_view *seen,
                       tnri_target target)
{
    tnri_call call;
    TNR_TRY(begin(engine, op, &call, a, seen->rank, seen->shape, target));
    tnr_status status = TNR_OK;
    if (call.operands[0].data != NULL) {
        const int64_t moved = (seen->offset - a->offset) * (int64_t)tnr_dtype_size(seen->dtype);
        status = fill(engine, &call, call.operands[1].data + moved, seen->strides);
    }
    return tnri_rearrange_end(engine, op, &call, target, status);
}

/*
 * ---- Operations
 * ----------------------------------------------------------------------------------------------------------------
 */

static tnr_status plain(tnr_engine *engine, const tnri_rearrangement *op, const tnr_view *a, tnri_target target)
{
    TNRI_CHECK_VIEW(op->name, "a", a);
    return copy(engine, op, a, a, target);
}

static tnr_status run_plain(tnr_engine *engine, const tnri_rearrangement *op, const tnr_view *a, tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op->name, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, plain(engine, op, a, target));
}

tnr_status tnr_to_contiguous(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return run_plain(engine, &op_to_contiguous, a, (tnri_target){.made = out});
}

tnr_status tnr_copy_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return run_plain(engine, &op_copy_into, a, (tnri_target){.into = out});
}

static tnr_status permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnri_target target)
{
    TNRI_CHECK_VIEW("permute", "a", a);
    tnr_view seen;
    TNR_TRY(tnr_view_permute(a, axes, &seen));
    return copy(engine, &op_permute, a, &seen, target);
}

static tnr_status run_permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("permute", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, permute(engine, a, axes, target));
}

tnr_status tnr_permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnr_tensor **out)
{
    return run_permute(engine, a, axes, (tnri_target){.made = out});
}

tnr_status tnr_permute_into(tnr_engine *engine, const tnr_view *a, const int *axes, const tnr_view_mut *out)
{
    return run_permute(engine, a, axes, (tnri_target){.into = out});
}

/* `rank` and `shape` are the caller's, or those of its output. */
static tnr_status broadcast(tnr_engine *engine, const tnr_view *a, int rank, const int64_t *shape, const int *axes,
                            tnri_target target)
{
    TNRI_CHECK_VIEW("broadcast", "a", a);
    if (target.into != NULL) {
        TNRI_CHECK_VIEW("broadcast", "out", &target.into->view);
        rank = target.into->view.rank;
        shape = target.into->view.shape;
    }
    tnr_view seen;
    TNR_TRY(tnr_view_broadcast(a, rank, shape, axes, &seen));
    return copy(engine, &op_broadcast, a, &seen, target);
}

tnr_status tnr_broadcast(tnr_engine *engine, const tnr_view *a, int rank, const int64_t *shape, const int *axes,
                         tnr_tensor **out)
{
    const tnri_target target = {.made = out};
    TNR_TRY(tnri_engine_enter("broadcast", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, broadcast(engine, a, rank, shape, axes, target));
}

tnr_status tnr_broadcast_into(tnr_engine *engine, const tnr_view *a, const int *axes, const tnr_view_mut *out)
{
    const tnri_target target = {.into = out};
    TNR_TRY(tnri_engine_enter("broadcast", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, broadcast(engine, a, 0, NULL, axes, target));
}

static tnr_status slice(tnr_engine *engine, const tnr_view *a, const tnr_range *ranges, tnri_target target)
{
    TNRI_CHECK_VIEW("slice", "a", a);
    tnr_view seen;
    TNR_TRY(tnr_view_slice(a, ranges, &seen));
    return copy(engine, &op_slice, a, &seen, target);
}

static tnr_status run_slice(tnr_engine *engine, const tnr_view *a, const tnr_range *ranges, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("slice", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, slice(engine, a, ranges, target));
}

tnr_status tnr_slice(tnr_engine *engine, const tnr_view *a, const tnr_range *ranges, tnr_tensor **out)
{
    return run_slice(engine, a, ranges, (tnri_target){.made = out});
}

tnr_status tnr_slice_into(tnr_engine *engine, const tnr_view *a, const tnr_range *ranges, const tnr_view_mut *out)
{
    return run_slice(engine, a, ranges, (tnri_target){.into = out});
}

/* By hand, and after access has seen the strides: a slice's refusals would speak of slices. */
static tnr_status reverse(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnri_target target)
{
    TNRI_CHECK_VIEW("reverse", "a", a);
    uint64_t turned;
    TNR_TRY(tnri_axes_enter("reverse", axes, axis_count, a->rank, &turned));
    tnri_call call;
    TNR_TRY(begin(engine, &op_reverse, &call, a, a->rank, a->shape, target));
    tnr_status status = TNR_OK;
    if (call.operands[0].data != NULL) {
        const char *source = call.operands[1].data;
        int64_t strides[TNR_MAX_RANK];
        for (int i = 0; i < a->rank; ++i) {
            strides[i] = a->strides[i];
            if ((turned >> i & 1U) != 0 && a->shape[i] > 1) {
                source += (a->shape[i] - 1) * strides[i] * (int64_t)tnr_dtype_size(a->dtype);
                strides[i] = -strides[i];
            }
        }
        status = fill(engine, &call, source, strides);
    }
    return tnri_rearrange_end(engine, &op_reverse, &call, target, status);
}

static tnr_status run_reverse(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                              tnri_target target)
{
    TNR_TRY(tnri_engine_enter("reverse", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, reverse(engine, a, axes, axis_count, target));
}

tnr_status tnr_reverse(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run_reverse(engine, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_reverse_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                            const tnr_view_mut *out)
{
    return run_reverse(engine, a, axes, axis_count, (tnri_target){.into = out});
}

static tnr_status diagonal(tnr_engine *engine, const tnr_view *a, int axis_a, int axis_b, tnri_target target)
{
    TNRI_CHECK_VIEW("diagonal", "a", a);
    tnr_view seen;
    TNR_TRY(tnr_view_diagonal(a, axis_a, axis_b, &seen));
    return copy(engine, &op_diagonal, a, &seen, target);
}

static tnr_status run_diagonal(tnr_engine *engine, const tnr_view *a, int axis_a, int axis_b, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("diagonal", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, diagonal(engine, a, axis_a, axis_b, target));
}

tnr_status tnr_diagonal(tnr_engine *engine, const tnr_view *a, int axis_a, int axis_b, tnr_tensor **out)
{
    return run_diagonal(engine, a, axis_a, axis_b, (tnri_target){.made = out});
}

tnr_status tnr_diagonal_into(tnr_engine *engine, const tnr_view *a, int axis_a, int axis_b, const tnr_view_mut *out)
{
    return run_diagonal(engine, a, axis_a, axis_b, (tnri_target){.into = out});
}
