/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An axis made the diagonal of two. (Taking a diagonal out is a copy of a view: structure.c.)
 *
 * The output is zeroed and the diagonal written over that, strip by strip, while a strip is in the cache.
 */
#include "structure_internal.h"

static const tnri_rearrangement op_embed = {"embed_diagonal", TNR_COPY_EMBED_DIAGONAL};

/* `axis` of a and the new axis `at` of the output. */
static tnr_status compute(tnr_engine *engine, const tnr_view *a, int axis, int at, const tnri_call *call)
{
    const tnr_view *out = call->out;
    if (tnri_shape_extent_bytes(out->dtype, out->rank, out->shape) == 0) {
        return TNR_OK;
    }
    tnri_patches patches;
    tnri_box box;
    tnri_box_make(&box, out, call->operands[0].data, NULL, out->strides);
    const int other = axis < at ? axis : axis + 1; /* where `axis` went */
    const bool square =
        a->shape[axis] > 1; /* index (1, 1) is in the output: the sum of its strides is a step inside it */
    const int64_t step = square ? out->strides[at] + out->strides[other] : INT64_MAX / 16;
    tnri_patches_begin(engine, &box, tnri_magnitude(step) * box.width, &patches);
    const int cut = patches.strips.axis;
    tnri_patches_add(&patches, &box, cut, 0, 1);
    box.rank = a->rank;
    box.source = call->operands[1].data;
    for (int i = 0; i < a->rank; ++i) {
        const int to = i < at ? i : i + 1;
        box.shape[i] = a->shape[i];
        box.source_strides[i] = a->strides[i];
        box.target_strides[i] = out->strides[to];
        if (i == axis && square) {
            box.target_strides[i] = step;
        }
    }
    /* along either axis of the square the diagonal has the same indices */
    tnri_patches_add(&patches, &box, cut == at ? axis : cut < at ? cut : cut - 1, 0, 1);
    return tnri_patches_end(&patches);
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
    return tnri_rearrange_end(engine, &op_embed, &call, target, compute(engine, a, axis, at, &call));
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
