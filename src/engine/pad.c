/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Padding: the input spread out and framed with zeros, or cut.
 *
 * Guarantees: each element of the output is written once. Axis by axis, the outermost in memory first, what is below
 * the first element that stays, above the last, and between neighbours is zeroed; what remains, narrowed to the
 * elements, is copied.
 */
#include "structure_internal.h"

static const tnri_rearrangement op_pad = {"pad", TNR_COPY_PAD};

/*
 * ---- Shapes
 * --------------------------------------------------------------------------------------------------------------------
 */

/*
 * low + n + interior * (n - 1) + high, where the spread-out axis fits. Negative terms next: only so do sums that fit never overflow
 * on the way.
 */
static tnr_status padded_extent(int axis, int64_t n, tnr_padding padding, int64_t *extent)
{
    TNR_REQUIRE(padding.interior >= 0, TNR_ERR_ARGUMENT, "pad: interior padding of %lld on axis %d, expected 0 or more",
                TNRI_LL(padding.interior), axis);
    int64_t sum = 0;
    bool fits = n == 0 || (tnri_mul_i64(n - 1, padding.interior, &sum) && tnri_add_i64(sum, n, &sum));
    const int64_t ends[2] = {padding.low, padding.high};
    bool below = false;
    for (int i = 0; i < 2 && fits; ++i) {
        below = below || (ends[i] < 0 && !tnri_add_i64(sum, ends[i], &sum));
    }
    for (int i = 0; i < 2 && fits && !below; ++i) {
        fits = ends[i] < 0 || tnri_add_i64(sum, ends[i], &sum);
    }
    TNR_REQUIRE(fits, TNR_ERR_OVERFLOW, "pad: the extent of axis %d does not fit 63 bits", axis);
    TNR_REQUIRE(!below && sum >= 0, TNR_ERR_SHAPE, "pad: more is cut off than axis %d has", axis);
    *extent = sum;
    return TNR_OK;
}

/* Elements of the input that stay on one axis, and where they come to lie. */
typedef struct kept {
    int64_t first; /* of the input */
    int64_t count;
    int64_t begin; /* of the output: index of the first */
    int64_t step;  /* from one to the next */
} kept;

/* Element k lies at low + k * step: those within 0 <= . < extent. */
static kept kept_of(int64_t n, tnr_padding padding, int64_t extent)
{
    kept stay = {.first = 0, .count = 0, .begin = 0, .step = 1};
    if (n == 0 || extent == 0 || padding.low >= extent) {
        return stay;
    }
    /* one element is its own neighbour: so step does not overflow, for two and interior elements fit the spread axis */
    const int64_t step = n > 1 ? padding.interior + 1 : 1;
    const int64_t low = padding.low;
    const uint64_t cut = low < 0 ? 0 - (uint64_t)low : 0;
    const uint64_t skipped = (cut + (uint64_t)step - 1) / (uint64_t)step;
    if (skipped >= (uint64_t)n) {
        return stay;
    }
    const int64_t first = (int64_t)skipped;
    const int64_t begin = low + first * step;
    if (begin >= extent) {
        return stay;
    }
    const int64_t fit = (extent - 1 - begin) / step + 1;
    stay.first = first;
    stay.count = fit < n - first ? fit : n - first;
    stay.begin = begin;
    stay.step = step;
    return stay;
}

/*
 * ---- Writing
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* What is left of the output, and where it lies on the axis that strips are cut along. */
typedef struct remains {
    tnri_patches *patches;
    tnri_box box;
    int64_t at;
    int64_t step;
} remains;

static void remains_narrow(remains *rest, int axis, int64_t begin, int64_t count, int64_t step)
{
    tnri_box_narrow(&rest->box, axis, begin, count, step);
    if (axis == rest->patches->strips.axis) { /* narrowed once: it was all of the axis before */
        rest->at = begin;
        rest->step = step;
    }
}

static void remains_write(const remains *rest)
{
    tnri_patches_add(rest->patches, &rest->box, rest->patches->strips.axis, rest->at, rest->step);
}

static void zero_part(const remains *rest, int axis, int64_t begin, int64_t count, int64_t step)
{
    if (count > 0) {
        remains part = *rest;
        remains_narrow(&part, axis, begin, count, step);
        remains_write(&part);
    }
}

/* Between neighbours: by places after an element, or by gaps, whichever are fewer. */
static void zero_between(const remains *rest, int axis, const kept *stay)
{
    const int64_t gaps = stay->count - 1;
    const int64_t places = stay->step - 1;
    for (int64_t k = 0; k < places && places <= gaps; ++k) {
        zero_part(rest, axis, stay->begin + 1 + k, gaps, stay->step);
    }
    for (int64_t k = 0; k < gaps && gaps < places; ++k) {
        zero_part(rest, axis, stay->begin + k * stay->step + 1, places, 1);
    }
}

/* Axes of the output, the largest steps first. */
static void order_axes(const tnr_view *out, int *order)
{
    for (int i = 0; i < out->rank; ++i) {
        int place = i;
        for (; place > 0 && tnri_magnitude(out->strides[order[place - 1]]) < tnri_magnitude(out->strides[i]); --place) {
            order[place] = order[place - 1];
        }
        order[place] = i;
    }
}

/* There zeros and elements are two operations, whatever the paddings are. */
static tnr_status pad_on_device(tnr_engine *engine, const tnr_view *a, const tnri_call *call, const tnri_box *whole,
                                const tnri_box *elements, const kept *stays)
{
    tnri_box part = *elements;
    TNR_TRY(tnri_box_run_on_lanes(engine, whole));
    part.source = call->operands[1].data;
    for (int i = 0; i < call->out->rank && part.source != NULL; ++i) {
        if (stays[i].count == 0) {
            return TNR_OK;
        }
        part.source_strides[i] = a->strides[i];
        if (stays[i].first > 0) {
            part.source += stays[i].first * a->strides[i] * (int64_t)part.width;
        }
    }
    return part.source != NULL ? tnri_box_run_on_lanes(engine, &part) : TNR_OK;
}

static tnr_status compute(tnr_engine *engine, const tnr_view *a, const tnr_padding *paddings, const tnri_call *call)
{
    const tnr_view *out = call->out;
    if (tnri_shape_extent_bytes(out->dtype, out->rank, out->shape) == 0) {
        return TNR_OK;
    }
    tnri_patches patches;
    remains rest = {.patches = &patches, .at = 0, .step = 1};
    tnri_box_make(&rest.box, out, call->operands[0].data, NULL, a->strides);
    kept stays[TNR_MAX_RANK];
    tnri_box elements = rest.box; /* those that are copied: how they lie tells how to cut */
    for (int axis = 0; axis < out->rank; ++axis) {
        stays[axis] = kept_of(a->shape[axis], paddings[axis], out->shape[axis]);
        tnri_box_narrow(&elements, axis, stays[axis].begin, stays[axis].count, stays[axis].step);
    }
    if (tnri_is_device(engine)) {
        return pad_on_device(engine, a, call, &rest.box, &elements, stays);
    }
    tnri_patches_begin(engine, &rest.box, tnri_box_run_bytes(&elements), &patches);
    int order[TNR_MAX_RANK];
    order_axes(out, order);
    const char *source = call->operands[1].data;
    bool all_zero = false; /* on some axis nothing stays */
    for (int k = 0; k < out->rank && !all_zero; ++k) {
        const int axis = order[k];
        const int64_t extent = out->shape[axis];
        const kept stay = stays[axis];
        if (stay.count == 0) {
            all_zero = true;
            continue;
        }
        const int64_t end = stay.begin + (stay.count - 1) * stay.step + 1;
        zero_part(&rest, axis, 0, stay.begin, 1);
        zero_between(&rest, axis, &stay);
        zero_part(&rest, axis, end, extent - end, 1);
        remains_narrow(&rest, axis, stay.begin, stay.count, stay.step);
        if (source != NULL && stay.first > 0) {
            source += stay.first * a->strides[axis] * (int64_t)rest.box.width;
        }
    }
    if (!all_zero) {
        rest.box.source = source;
    }
    remains_write(&rest);
    return tnri_patches_end(&patches);
}

/*
 * ---- The operation
 * ----------------------------------------------------------------------------------------------------------------
 */

static tnr_status inside(tnr_engine *engine, const tnr_view *a, const tnr_padding *paddings, tnri_target target)
{
    TNRI_CHECK_VIEW("pad", "a", a);
    TNR_REQUIRE(paddings != NULL || a->rank == 0, TNR_ERR_ARGUMENT, "pad: a padding per axis expected, found NULL");
    int64_t count;
    uint64_t bytes;
    int64_t shape[TNR_MAX_RANK];
    TNR_TRY(tnri_shape_count("pad", a->rank, a->shape, &count));
    for (int i = 0; i < a->rank; ++i) {
        TNR_TRY(padded_extent(i, a->shape[i], paddings[i], &shape[i]));
    }
    TNR_TRY(tnri_shape_bytes("pad", a->dtype, a->rank, shape, &count, &bytes));
    tnri_call call;
    call.inputs = 1;
    call.dtype = a->dtype;
    call.rank = a->rank;
    call.shape = shape;
    call.aliasing = TNRI_APART;
    call.operands[1].view = a;
    TNR_TRY(tnri_rearrange_begin(engine, &op_pad, &call, target));
    return tnri_rearrange_end(engine, &op_pad, &call, target, compute(engine, a, paddings, &call));
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, const tnr_padding *paddings, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("pad", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, paddings, target));
}

tnr_status tnr_pad(tnr_engine *engine, const tnr_view *a, const tnr_padding *paddings, tnr_tensor **out)
{
    return run(engine, a, paddings, (tnri_target){.made = out});
}

tnr_status tnr_pad_into(tnr_engine *engine, const tnr_view *a, const tnr_padding *paddings, const tnr_view_mut *out)
{
    return run(engine, a, paddings, (tnri_target){.into = out});
}
