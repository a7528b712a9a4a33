/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An axis made the diagonal of two. (Taking a diagonal out is a copy of a view: structure.c.)
 *
 * What is off the diagonal is zeroed column by column where the square is small, each element written once. In larger
 * squares the diagonal is so small a part that zeroing everything first costs less than going round it.
 */
#include "structure_internal.h"

static const tnri_rearrangement op_embed = {"embed_diagonal", TNR_COPY_EMBED_DIAGONAL};

#define SMALL_SIDE 8
#define SMALL_BYTES 32768 /* all of the output is in the first-level cache when the diagonal is written */

/* Zero the rest of the square of axes `row` and `column`, of which `column` is the outer one in memory. */
static void zero_off_diagonal(tnr_engine *engine, const tnri_box *zeros, int row, int column)
{
    const int64_t side = zeros->shape[row];
    for (int64_t j = 0; j < side; ++j) {
        tnri_box part = *zeros;
        tnri_box_narrow(&part, column, j, 1, 1);
        tnri_box above = part;
        if (j > 0) {
            tnri_box_narrow(&above, row, 0, j, 1);
            tnri_box_run_on_lanes(engine, &above);
        }
        if (j + 1 < side) {
            tnri_box_narrow(&part, row, j + 1, side - j - 1, 1);
            tnri_box_run_on_lanes(engine, &part);
        }
    }
}

/* `axis` of a and the new axis `at` of the output. */
static void compute(tnr_engine *engine, const tnr_view *a, int axis, int at, const tnri_call *call)
{
    const tnr_view *out = call->out;
    const uint64_t bytes = tnri_shape_extent_bytes(out->dtype, out->rank, out->shape);
    if (bytes == 0) {
        return;
    }
    const int other = axis < at ? axis : axis + 1; /* where `axis` went */
    tnri_box box;
    tnri_box_make(&box, out, call->operands[0].data, NULL, out->strides);
    if (out->shape[at] > SMALL_SIDE || (bytes <= SMALL_BYTES && out->shape[at] > 1)) {
        tnri_box_run_on_lanes(engine, &box);
    } else {
        const bool at_is_outer = tnri_magnitude(out->strides[at]) > tnri_magnitude(out->strides[other]);
        zero_off_diagonal(engine, &box, at_is_outer ? other : at, at_is_outer ? at : other);
    }
    box.rank = a->rank;
    box.source = call->operands[1].data;
    for (int i = 0; i < a->rank; ++i) {
        const int to = i < at ? i : i + 1;
        box.shape[i] = a->shape[i];
        box.source_strides[i] = a->strides[i];
        box.target_strides[i] = out->strides[to];
        if (i == axis && a->shape[i] > 1) { /* index (1, 1) is in the output: the sum is a step inside it */
            box.target_strides[i] += out->strides[at];
        }
    }
    tnri_box_run_on_lanes(engine, &box);
}

static tnr_status inside(tnr_engine *engine, const tnr_view *a, int axis, int at, tnri_target target)
{
    TNRI_CHECK_VIEW("embed_diagonal", "a", a);
    TNR_REQUIRE(axis >= 0 && axis < a->rank, TNR_ERR_BOUNDS, "embed_diagonal: axis %d of a tensor of rank %d", axis,
                (int)a->rank);
    TNR_REQUIRE(at >= 0 && at <= a->rank, TNR_ERR_BOUNDS, "embed_diagonal: position %d, expected 0 to %d", at,
                (int)a->rank);
    TNR_REQUIRE(a->rank < TNR_MAX_RANK, TNR_ERR_SHAPE, "embed_diagonal: the result would have rank %d, at most %d",
                (int)a->rank + 1, TNR_MAX_RANK);
    int64_t shape[TNR_MAX_RANK];
    for (int i = 0; i <= a->rank; ++i) {
        shape[i] = i == at ? a->shape[axis] : a->shape[i < at ? i : i - 1];
    }
    int64_t count;
    uint64_t bytes;
    TNR_TRY(tnri_shape_bytes("embed_diagonal", a->dtype, a->rank + 1, shape, &count, &bytes));
    tnri_call call;
    call.inputs = 1;
    call.dtype = a->dtype;
    call.rank = a->rank + 1;
    call.shape = shape;
    call.aliasing = TNRI_APART;
    call.operands[1].view = a;
    TNR_TRY(tnri_rearrange_begin(engine, &op_embed, &call, target));
    compute(engine, a, axis, at, &call);
    return tnri_rearrange_end(engine, &op_embed, &call, target);
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, int axis, int at, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("embed_diagonal", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, axis, at, target));
}

tnr_status tnr_embed_diagonal(tnr_engine *engine, const tnr_view *a, int axis, int at, tnr_tensor **out)
{
    return run(engine, a, axis, at, (tnri_target){.made = out});
}

tnr_status tnr_embed_diagonal_into(tnr_engine *engine, const tnr_view *a, int axis, int at, const tnr_view_mut *out)
{
    return run(engine, a, axis, at, (tnri_target){.into = out});
}
