/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of views against plain lists of byte offsets. See storage_model.h. */
#include <string.h>

#include "storage_model.h"

/*
 * Each try_ draws arguments, puts the list of the result in made->layout and the answer in *wanted, and calls the readable or
 * the writable form.
 */
#define TRANSFORM(name, ...)                                                 \
    (made->writable ? tnr_view_mut_##name(&from->it, __VA_ARGS__, &made->it) \
                    : tnr_view_##name(&from->it.view, __VA_ARGS__, &made->it.view))

static tnr_status try_permute(const sm_view *from, sm_view *made, tnr_status *wanted)
{
    const sm_layout *in = &from->layout;
    int axes[SM_MAX_RANK + 1] = {0};
    int64_t shape[SM_MAX_RANK];
    int64_t steps[SM_MAX_RANK];
    int64_t positions[SM_MAX_RANK];
    for (int i = 0; i < in->rank; i++) {
        axes[i] = i;
    }
    for (int i = in->rank - 1; i > 0; i--) {
        const int other = (int)sm_below((uint64_t)i + 1);
        const int axis = axes[i];
        axes[i] = axes[other];
        axes[other] = axis;
    }
    const bool reverse = sm_chance(20);
    sm_compact(in->rank, in->shape, positions);
    for (int i = 0; i < in->rank; i++) {
        const int axis = reverse ? in->rank - 1 - i : axes[i];
        shape[i] = in->shape[axis];
        steps[i] = positions[axis];
    }
    (void)sm_gather(&made->layout, in, in->rank, shape, 0, steps);
    if (!reverse && in->rank > 1 && sm_chance(5)) {
        axes[0] = axes[1];
        *wanted = TNR_ERR_ARGUMENT;
    } else if (!reverse && in->rank > 0 && sm_chance(5)) {
        axes[in->rank - 1] = sm_chance(50) ? in->rank : -1;
        *wanted = TNR_ERR_BOUNDS;
    }
    return TRANSFORM(permute, reverse ? NULL : axes);
}

static tnr_range draw_slice(int64_t extent)
{
    const tnr_range whole = TNR_RANGE_ALL;
    if (sm_chance(25)) {
        return whole;
    }
    tnr_range slice;
    slice.start = sm_between(-extent - 1, extent + 1);
    slice.end = sm_chance(30) ? TNR_END : sm_between(-extent - 1, extent + 1);
    slice.step = sm_chance(60) ? 1 : sm_between(1, 3) * (sm_chance(50) ? 1 : -1);
    return slice;
}

static tnr_status try_slice(const sm_view *from, sm_view *made, tnr_status *wanted)
{
    const sm_layout *in = &from->layout;
    const bool all = sm_chance(50) || in->rank == 0;
    const int only = (int)sm_below((uint64_t)in->rank);
    tnr_range slices[SM_MAX_RANK + 1];
    int64_t shape[SM_MAX_RANK];
    int64_t steps[SM_MAX_RANK];
    int64_t positions[SM_MAX_RANK];
    int64_t base = 0;
    sm_compact(in->rank, in->shape, positions);
    for (int i = 0; i < in->rank; i++) {
        const tnr_range whole = TNR_RANGE_ALL;
        slices[i] = all || i == only ? draw_slice(in->shape[i]) : whole;
        int64_t first;
        int64_t stride;
        sm_slice(in->shape[i], slices[i], &first, &shape[i], &stride);
        base += first * positions[i];
        steps[i] = stride * positions[i];
    }
    (void)sm_gather(&made->layout, in, in->rank, shape, base, steps);
    if (in->rank > 0 && sm_chance(4)) {
        slices[only].step = 0;
        *wanted = TNR_ERR_ARGUMENT;
    }
    if (all) {
        return TRANSFORM(slice, slices);
    }
    if (*wanted == TNR_OK && sm_chance(4)) {
        *wanted = TNR_ERR_BOUNDS;
        return TRANSFORM(slice_axis, in->rank, slices[only]);
    }
    return TRANSFORM(slice_axis, only, slices[only]);
}

/* Drop axes from shape and steps. */
static void drop(int64_t *shape, int64_t *steps, int rank, int axis)
{
    for (int i = axis + 1; i < rank; i++) {
        shape[i - 1] = shape[i];
        steps[i - 1] = steps[i];
    }
}

static tnr_status try_select(const sm_view *from, sm_view *made, tnr_status *wanted)
{
    const sm_layout *in = &from->layout;
    int64_t shape[SM_MAX_RANK];
    int64_t steps[SM_MAX_RANK];
    memcpy(shape, in->shape, sizeof(shape));
    sm_compact(in->rank, in->shape, steps);
    const int axis = (int)sm_between(0, sm_chance(4) ? in->rank : in->rank - 1);
    if (axis >= in->rank) {
        *wanted = TNR_ERR_BOUNDS;
        return TRANSFORM(select, axis, 0);
    }
    const int64_t index = sm_chance(5) ? in->shape[axis] : sm_between(-in->shape[axis], in->shape[axis]);
    const int64_t at = index < 0 ? index + in->shape[axis] : index;
    if (at < 0 || at >= in->shape[axis]) {
        *wanted = TNR_ERR_BOUNDS;
    } else {
        const int64_t base = at * steps[axis];
        drop(shape, steps, in->rank, axis);
        (void)sm_gather(&made->layout, in, in->rank - 1, shape, base, steps);
    }
    return TRANSFORM(select, axis, index);
}

static tnr_status try_diagonal(const sm_view *from, sm_view *made, tnr_status *wanted)
{
    const sm_layout *in = &from->layout;
    const int a = (int)sm_below((uint64_t)in->rank);
    const int b = (int)sm_between(0, in->rank);
    int64_t shape[SM_MAX_RANK];
    int64_t steps[SM_MAX_RANK];
    memcpy(shape, in->shape, sizeof(shape));
    sm_compact(in->rank, in->shape, steps);
    if (a == b) {
        *wanted = TNR_ERR_ARGUMENT;
    } else if (b == in->rank) {
        *wanted = TNR_ERR_BOUNDS;
    } else {
        const int64_t extent = shape[a] < shape[b] ? shape[a] : shape[b];
        const int64_t joint = steps[a] + steps[b];
        drop(shape, steps, in->rank, a > b ? a : b);
        drop(shape, steps, in->rank - 1, a > b ? b : a);
        shape[in->rank - 2] = extent;
        steps[in->rank - 2] = joint;
        (void)sm_gather(&made->layout, in, in->rank - 1, shape, 0, steps);
    }
    return TRANSFORM(diagonal, a, b);
}

/* Is the list affine in this shape? Then strides exist for it. */
static bool is_affine(const sm_layout *in, int rank, const int64_t *shape)
{
    int64_t positions[SM_MAX_RANK];
    int64_t index[SM_MAX_RANK] = {0};
    sm_compact(rank, shape, positions);
    for (int64_t k = 0; k < in->count; k++) {
        int64_t at = in->at[0];
        for (int i = 0; i < rank; i++) {
            at += index[i] == 0 ? 0 : index[i] * ((int64_t)in->at[positions[i]] - (int64_t)in->at[0]);
        }
        if (at != (int64_t)in->at[k]) {
            return false;
        }
        sm_step(rank, shape, index);
    }
    return true;
}

static tnr_status try_reshape(const sm_view *from, sm_view *made, tnr_status *wanted)
{
    const sm_layout *in = &from->layout;
    int64_t shape[SM_MAX_RANK];
    int rank = 0;
    int64_t left = in->count;
    while (rank < 4 && (left != 1 || sm_chance(20))) {
        int64_t extent = rank == 3 ? left : sm_between(1, left < 6 ? left : 6);
        while (left != 0 && left % extent != 0) {
            extent--;
        }
        shape[rank++] = left == 0 ? (sm_chance(50) ? 0 : 3) : extent;
        left = left == 0 ? 0 : left / extent;
    }
    if (sm_chance(5)) {
        shape[rank++] = 2;
    }
    if (sm_count_of(rank, shape) != in->count) {
        *wanted = TNR_ERR_SHAPE;
    } else if (!is_affine(in, rank, shape)) {
        *wanted = TNR_ERR_LAYOUT;
    } else {
        made->layout = *in;
        made->layout.rank = rank;
        memcpy(made->layout.shape, shape, (size_t)rank * sizeof(shape[0]));
    }
    return TRANSFORM(reshape, rank, shape);
}

static tnr_status try_broadcast(const sm_view *from, sm_view *made, tnr_status *wanted)
{
    const sm_layout *in = &from->layout;
    int64_t shape[SM_MAX_RANK];
    int64_t steps[SM_MAX_RANK] = {0};
    int64_t positions[SM_MAX_RANK];
    int axes[SM_MAX_RANK + 1] = {0};
    const int rank = (int)sm_between(in->rank, in->rank < 5 ? 5 : in->rank);
    sm_compact(in->rank, in->shape, positions);
    for (int i = 0; i < rank; i++) {
        shape[i] = sm_chance(5) ? 0 : sm_chance(50) ? 1 : sm_between(2, 3);
    }
    /* Source axes in order, with gaps. */
    for (int i = 0, to = 0; i < in->rank; i++, to++) {
        to += (int)sm_below((uint64_t)(rank - to - (in->rank - 1 - i)));
        axes[i] = to;
        if (in->shape[i] != 1 || sm_chance(50)) {
            shape[to] = in->shape[i];
        }
        steps[to] = in->shape[i] == 1 ? 0 : positions[i];
    }
    if (!sm_gather(&made->layout, in, rank, shape, 0, steps)) {
        return try_permute(from, made, wanted); /* too large for the model */
    }
    if (in->rank > 0 && in->shape[0] > 1 && sm_chance(5)) {
        shape[axes[0]]++;
        *wanted = TNR_ERR_SHAPE;
    } else if (in->rank > 1 && sm_chance(5)) {
        axes[in->rank - 1] = axes[0];
        *wanted = TNR_ERR_ARGUMENT;
    } else if (made->writable && !sm_layout_distinct(&made->layout)) {
        *wanted = TNR_ERR_OVERLAP;
    }
    return TRANSFORM(broadcast, rank, shape, axes);
}

static tnr_status try_reinterpret(const sm_view *from, sm_view *made, tnr_status *wanted)
{
    const sm_layout *in = &from->layout;
    sm_layout *out = &made->layout;
    const tnr_dtype real = tnr_dtype_real(in->dtype);
    const uint32_t part = (uint32_t)tnr_dtype_size(real);
    out->count = 0;
    if (sm_chance(50)) {
        if (real == in->dtype) {
            *wanted = TNR_ERR_DTYPE;
        } else if (in->rank < SM_MAX_RANK && in->count * 2 <= SM_MAX_VIEW) {
            out->dtype = real;
            out->rank = in->rank + 1;
            out->shape[0] = 2;
            memcpy(out->shape + 1, in->shape, (size_t)in->rank * sizeof(in->shape[0]));
            out->count = in->count * 2;
            for (int64_t k = 0; k < out->count; k++) {
                out->at[k] = in->at[k / 2] + (uint32_t)(k % 2) * part;
            }
        } else {
            return try_permute(from, made, wanted); /* too large for the model */
        }
        return made->writable ? tnr_view_mut_as_real(&from->it, &made->it)
                              : tnr_view_as_real(&from->it.view, &made->it.view);
    }
    if (in->dtype != TNR_F32 && in->dtype != TNR_F64) {
        *wanted = TNR_ERR_DTYPE;
    } else if (in->rank == 0 || in->shape[0] != 2) {
        *wanted = TNR_ERR_SHAPE;
    } else {
        out->dtype = in->dtype == TNR_F32 ? TNR_C32 : TNR_C64;
        out->rank = in->rank - 1;
        memcpy(out->shape, in->shape + 1, (size_t)out->rank * sizeof(in->shape[0]));
        out->count = in->count / 2;
        for (int64_t k = 0; k < out->count; k++) {
            out->at[k] = in->at[2 * k];
            if (in->at[2 * k + 1] != in->at[2 * k] + part || (in->at[2 * k] - from->window) % (2 * part) != 0) {
                *wanted = TNR_ERR_LAYOUT;
            }
        }
    }
    return made->writable ? tnr_view_mut_as_complex(&from->it, &made->it)
                          : tnr_view_as_complex(&from->it.view, &made->it.view);
}

void sm_op_transform(void)
{
    static sm_view made;
    const sm_view *from = sm_any_view(false);
    if (from == NULL) {
        return;
    }
    made = *from;
    made.writable = from->writable && sm_chance(80);
    const tnr_view_mut before = made.it;
    const int rank = from->layout.rank;
    tnr_status wanted = TNR_OK;
    tnr_status got = TNR_OK;
    switch (sm_below(8)) {
    case 0:
        got = try_permute(from, &made, &wanted);
        break;
    case 1:
        got = rank > 0 ? try_select(from, &made, &wanted) : try_broadcast(from, &made, &wanted);
        break;
    case 2:
        got = rank > 0 ? try_diagonal(from, &made, &wanted) : try_broadcast(from, &made, &wanted);
        break;
    case 3:
        got = try_reshape(from, &made, &wanted);
        break;
    case 4:
        got = try_broadcast(from, &made, &wanted);
        break;
    case 5:
        got = try_reinterpret(from, &made, &wanted);
        break;
    default:
        got = try_slice(from, &made, &wanted);
        break;
    }
    sm_expect(got, wanted, "a transform");
    if (wanted != TNR_OK) {
        sm_check(memcmp(&before, &made.it, sizeof(before)) == 0, "a refused transform leaves its result alone");
        return;
    }
    sm_keep_view(&made);
    if (sm_chance(30)) {
        sm_check_values(&made);
    }
}
