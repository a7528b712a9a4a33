/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reshape: the elements in column-major order under another shape.
 *
 * Where one side can be seen under the other's shape, as a compact output always can, it is one strided copy. Else both
 * are walked in column-major order, by runs that lie on one axis of either.
 */
#include "structure_internal.h"

static const tnri_rearrangement op_reshape = {"reshape", TNR_COPY_RESHAPE};

/*
 * ---- Two layouts without a common shape
 * ----------------------------------------------------------------------------------------
 */

/* A place in a layout, and how it goes on; strides in bytes. Axes that follow one another are one. */
typedef struct walk {
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
    int64_t index[TNR_MAX_RANK];
    char *data;
} walk;

static void walk_begin(walk *w, const tnr_view *view, char *data)
{
    const int64_t width = (int64_t)tnr_dtype_size(view->dtype);
    w->rank = 0;
    w->data = data;
    for (int i = 0; i < view->rank; ++i) {
        if (view->shape[i] == 1) {
            continue;
        }
        const int64_t stride = view->strides[i] * width;
        const int last = w->rank - 1;
        if (last >= 0 && w->strides[last] * w->shape[last] == stride) {
            w->shape[last] *= view->shape[i];
            continue;
        }
        w->shape[w->rank] = view->shape[i];
        w->strides[w->rank] = stride;
        w->index[w->rank] = 0;
        ++w->rank;
    }
}

/* Over `count` elements, no more than are left on axis 0. */
static void walk_on(walk *w, int64_t count)
{
    w->index[0] += count;
    w->data += count * w->strides[0];
    for (int i = 0; w->index[i] == w->shape[i]; ++i) {
        w->data -= w->shape[i] * w->strides[i];
        w->index[i] = 0;
        if (i + 1 == w->rank) {
            return; /* past the last element, and at the first again */
        }
        ++w->index[i + 1];
        w->data += w->strides[i + 1];
    }
}

/* `count` > 1: were there one element, it would have a common shape. */
static void copy_runs(const tnr_view *out, char *target, const tnr_view *a, char *source, int64_t count)
{
    const size_t width = tnr_dtype_size(a->dtype);
    walk to;
    walk from;
    walk_begin(&to, out, target);
    walk_begin(&from, a, source);
    while (count > 0) {
        /* NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): count > 1, so both have an axis */
        const int64_t to_left = to.shape[0] - to.index[0];
        const int64_t from_left = from.shape[0] - from.index[0];
        /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        const int64_t run = to_left < from_left ? to_left : from_left;
        const int64_t to_stride = to.strides[0] / (int64_t)width;
        const int64_t from_stride = from.strides[0] / (int64_t)width;
        tnri_copy_elements(width, 1, &run, to.data, &to_stride, from.data, &from_stride);
        walk_on(&to, run);
        walk_on(&from, run);
        count -= run;
    }
}

/*
 * ---- The operation
 * ---------------------------------------------------------------------------------------------------------------
 */

static void compute(tnr_engine *engine, const tnr_view *a, tnri_call *call, int64_t count)
{
    tnr_view seen;
    tnri_box box;
    if (count == 0) {
        return;
    }
    if (tnr_view_reshape(call->out, a->rank, a->shape, &seen) == TNR_OK) {
        tnri_box_make(&box, &seen, call->operands[0].data, call->operands[1].data, a->strides);
    } else if (tnr_view_reshape(a, call->rank, call->shape, &seen) == TNR_OK) {
        tnri_box_make(&box, call->out, call->operands[0].data, call->operands[1].data, seen.strides);
    } else {
        copy_runs(call->out, call->operands[0].data, a, call->operands[1].data, count);
        return;
    }
    tnri_box_run_on_lanes(engine, &box);
}

static tnr_status inside(tnr_engine *engine, const tnr_view *a, int rank, const int64_t *shape, tnri_target target)
{
    TNRI_CHECK_VIEW("reshape", "a", a);
    if (target.into != NULL) {
        TNRI_CHECK_VIEW("reshape", "out", &target.into->view);
        rank = target.into->view.rank;
        shape = target.into->view.shape;
    }
    int64_t count;
    int64_t wanted;
    TNR_TRY(tnri_shape_count("reshape", a->rank, a->shape, &count));
    TNR_TRY(tnri_shape_count("reshape", rank, shape, &wanted));
    TNR_REQUIRE(wanted == count, TNR_ERR_SHAPE, "reshape: a shape of %lld elements expected, found one of %lld",
                TNRI_LL(count), TNRI_LL(wanted));
    tnri_call call;
    call.inputs = 1;
    call.dtype = a->dtype;
    call.rank = rank;
    call.shape = shape;
    call.aliasing = TNRI_APART;
    call.operands[1].view = a;
    TNR_TRY(tnri_rearrange_begin(engine, &op_reshape, &call, target));
    compute(engine, a, &call, count);
    return tnri_rearrange_end(engine, &op_reshape, &call, target);
}

tnr_status tnr_reshape(tnr_engine *engine, const tnr_view *a, int rank, const int64_t *shape, tnr_tensor **out)
{
    const tnri_target target = {.made = out};
    TNR_TRY(tnri_engine_enter("reshape", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, rank, shape, target));
}

tnr_status tnr_reshape_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    const tnri_target target = {.into = out};
    TNR_TRY(tnri_engine_enter("reshape", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, 0, NULL, target));
}
