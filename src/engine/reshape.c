/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reshape: the elements in column-major order under another shape.
 *
 * Where one side can be seen under the other's shape, as a compact output always can, it is one strided copy. Else both
 * are walked in column-major order, by runs that lie on one axis of either; on several lanes each walks a part of it.
 */
#include "structure_internal.h"

static const tnri_rearrangement op_reshape = {"reshape", TNR_COPY_RESHAPE};

/*
 * ---- Two layouts without a common shape
 * ----------------------------------------------------------------------------------------
 */

#define WORD tnri_word1
#define NAME(x) x##_1
#include "kernels/line.tmpl.h"

#define WORD tnri_word4
#define NAME(x) x##_4
#include "kernels/line.tmpl.h"

#define WORD tnri_word8
#define NAME(x) x##_8
#include "kernels/line.tmpl.h"

#define WORD tnri_word16
#define NAME(x) x##_16
#include "kernels/line.tmpl.h"

typedef void (*line_kernel)(char *target, int64_t target_step, const char *source, int64_t source_step, int64_t count);

/* By the bytes of an element. */
static const line_kernel lines[17] = {[1] = line_1, [4] = line_4, [8] = line_8, [16] = line_16};

/* A place in a layout, and how it goes on; strides in bytes. Axes that follow one another are one. */
typedef struct walk {
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
    int64_t index[TNR_MAX_RANK];
    char *data;
} walk;

/* At element `first` in column-major order. */
static void walk_begin(walk *w, const tnr_view *view, char *data, int64_t first)
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
        ++w->rank;
    }
    for (int i = 0; i < w->rank; ++i) {
        w->index[i] = first % w->shape[i];
        w->data += w->index[i] * w->strides[i];
        first /= w->shape[i];
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

typedef struct walks {
    const tnr_view *out;
    char *target;
    const tnr_view *a;
    char *source;
    int64_t count; /* > 1: were there one element, it would have a common shape */
    int64_t pieces;
} walks;

static void run_piece(void *context, int64_t piece)
{
    const walks *all = context;
    const line_kernel line = lines[tnr_dtype_size(all->a->dtype)];
    int64_t first;
    int64_t last;
    walk to;
    walk from;
    tnri_piece_of(all->count, all->pieces, piece, &first, &last);
    walk_begin(&to, all->out, all->target, first);
    walk_begin(&from, all->a, all->source, first);
    while (first < last) {
        /* NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): count > 1, so both have an axis */
        const int64_t to_left = to.shape[0] - to.index[0];
        const int64_t from_left = from.shape[0] - from.index[0];
        /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        int64_t run = to_left < from_left ? to_left : from_left;
        run = run < last - first ? run : last - first;
        line(to.data, to.strides[0], from.data, from.strides[0], run);
        walk_on(&to, run);
        walk_on(&from, run);
        first += run;
    }
}

/*
 * ---- The operation
 * ---------------------------------------------------------------------------------------------------------------
 */

static tnr_status compute(tnr_engine *engine, const tnr_view *a, tnri_call *call, int64_t count)
{
    int64_t strides[TNR_MAX_RANK];
    tnri_box box;
    if (count == 0) {
        return TNR_OK;
    }
    if (tnri_reshape_strides(call->out, a->rank, a->shape, strides)) {
        tnri_box_make(&box, a, call->operands[0].data, call->operands[1].data, a->strides);
        memcpy(box.target_strides, strides, (size_t)a->rank * sizeof *strides);
    } else if (tnri_reshape_strides(a, call->rank, call->shape, strides)) {
        tnri_box_make(&box, call->out, call->operands[0].data, call->operands[1].data, strides);
    } else if (tnri_is_device(engine)) {
        return tnri_device_reshape(engine, call->out, call->operands[0].data, a, call->operands[1].data);
    } else {
        const uint64_t bytes = (uint64_t)count * tnr_dtype_size(a->dtype);
        const int lanes = tnri_engine_lanes(engine, 4 * tnri_move_time(bytes)); /* runs are short, as a rule */
        walks all = {call->out, call->operands[0].data, a, call->operands[1].data, count, 1};
        if (lanes > 1) {
            all.pieces = count < 4 * (int64_t)lanes ? count : 4 * (int64_t)lanes;
        }
        tnri_engine_run(engine, lanes, all.pieces, run_piece, &all);
        return TNR_OK;
    }
    return tnri_box_run_on_lanes(engine, &box);
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
    return tnri_rearrange_end(engine, &op_reshape, &call, target, compute(engine, a, &call, count));
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
