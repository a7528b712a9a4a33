/* SPDX-License-Identifier: BSD-3-Clause */
/* Views against plain lists of byte offsets: leases, transforms, questions, splits. See storage_model.h. */
#include <stdlib.h>
#include <string.h>

#include "storage_model.h"

/* ---- Leases ------------------------------------------------------------------------------------------------------------- */

bool sm_alive(const sm_view *view)
{
    const sm_tensor *owner = view->owner;
    return owner->epoch == view->epoch &&
           (owner->state == SM_TENSOR || owner->state == SM_DRAFT || owner->state == SM_GROUPED);
}

bool sm_leased(const sm_tensor *tensor) { return tensor->readers != 0 || tensor->writer || tensor->split != 0; }

tnr_status sm_lease(const sm_view *view, bool write, bool take, uint64_t *split, uint64_t *parts)
{
    sm_tensor *owner = view->owner;
    if (!sm_alive(view)) {
        return TNR_ERR_STALE;
    }
    if (!write && owner->state == SM_DRAFT) {
        return TNR_ERR_BUSY;
    }
    if (owner->writer) {
        return TNR_ERR_BUSY;
    }
    const uint64_t part = UINT64_C(1) << view->part;
    bool whole = view->split == 0;
    if (!whole && (owner->split == 0 || owner->split == view->split)) {
        /* A part counts for itself: many readers or one writer; a writer minds readers of the whole too. */
        if ((owner->parts & part) != 0 || (write && (owner->part_readers[view->part] != 0 || owner->readers != 0))) {
            return TNR_ERR_BUSY;
        }
    } else {
        /* Parts of another split are not known to be apart: they are written by nobody, and read as the whole. */
        if (owner->parts != 0 || (write && (owner->split != 0 || owner->readers != 0))) {
            return TNR_ERR_BUSY;
        }
        whole = true;
    }
    if (!take) {
        return TNR_OK;
    }
    *split = whole ? 0 : view->split;
    *parts = whole ? 0 : part;
    if (whole) {
        owner->writer = write;
        owner->readers += write ? 0U : 1U;
        return TNR_OK;
    }
    owner->split = view->split;
    owner->parts |= write ? part : 0;
    owner->part_readers[view->part] += write ? 0U : 1U;
    return TNR_OK;
}

void sm_unlease(sm_tensor *tensor, bool write, uint64_t split, uint64_t parts)
{
    if (split == 0) {
        tensor->writer = false;
        tensor->readers -= write ? 0U : 1U;
        return;
    }
    unsigned readers = 0;
    tensor->parts &= write ? ~parts : UINT64_MAX;
    for (unsigned part = 0; part < SM_PARTS; part++) {
        tensor->part_readers[part] -= !write && parts == UINT64_C(1) << part ? 1U : 0U;
        readers += tensor->part_readers[part];
    }
    tensor->split = tensor->parts != 0 || readers != 0 ? split : 0;
}

/* ---- Layouts ------------------------------------------------------------------------------------------------------------ */

void sm_compact(int rank, const int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = 0; i < rank; i++) {
        strides[i] = stride;
        stride *= shape[i];
    }
}

static int64_t count_of(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= shape[i];
    }
    return count;
}

/* Step a column-major index. */
static void step(int rank, const int64_t *shape, int64_t *index)
{
    for (int i = 0; i < rank && ++index[i] == shape[i]; i++) {
        index[i] = 0;
    }
}

bool sm_layout_make(sm_layout *layout, tnr_dtype dtype, int rank, const int64_t *shape, const int64_t *strides,
                    int64_t offset, uint64_t window, int64_t elements)
{
    const int64_t size = (int64_t)tnr_dtype_size(dtype);
    layout->dtype = dtype;
    layout->rank = rank;
    layout->count = count_of(rank, shape);
    memcpy(layout->shape, shape, (size_t)rank * sizeof(shape[0]));
    if (layout->count == 0) {
        return offset >= 0 && offset <= elements;
    }
    int64_t index[SM_MAX_RANK] = {0};
    sm_check(layout->count <= SM_MAX_VIEW, "the test draws small views");
    for (int64_t k = 0; k < layout->count; k++) {
        int64_t at = offset;
        for (int i = 0; i < rank; i++) {
            at += index[i] * strides[i];
        }
        if (at < 0 || at >= elements) {
            return false;
        }
        layout->at[k] = (uint32_t)((int64_t)window + at * size);
        step(rank, shape, index);
    }
    return true;
}

/* The elements of `in` at base + sum of index * steps, counted in positions of `in`. */
static bool gather(sm_layout *out, const sm_layout *in, int rank, const int64_t *shape, int64_t base,
                   const int64_t *steps)
{
    out->dtype = in->dtype;
    out->rank = rank;
    out->count = count_of(rank, shape);
    if (out->count > SM_MAX_VIEW) {
        return false;
    }
    memcpy(out->shape, shape, (size_t)rank * sizeof(shape[0]));
    int64_t index[SM_MAX_RANK] = {0};
    for (int64_t k = 0; k < out->count; k++) {
        int64_t position = base;
        for (int i = 0; i < rank; i++) {
            position += index[i] * steps[i];
        }
        out->at[k] = in->at[position];
        step(rank, shape, index);
    }
    return true;
}

/* Do no two elements share a byte? Elements of one view start a multiple of their size apart. */
bool sm_layout_distinct(const sm_layout *layout)
{
    static unsigned char met[SM_MAX_BYTES + 64];
    bool distinct = true;
    for (int64_t k = 0; k < layout->count; k++) {
        distinct = distinct && met[layout->at[k]] == 0;
        met[layout->at[k]] = 1;
    }
    for (int64_t k = 0; k < layout->count; k++) {
        met[layout->at[k]] = 0;
    }
    return distinct;
}

static bool share_bytes(const sm_layout *a, const sm_layout *b)
{
    static unsigned char met[SM_MAX_BYTES + 64];
    const size_t size_a = tnr_dtype_size(a->dtype);
    const size_t size_b = tnr_dtype_size(b->dtype);
    bool share = false;
    for (int64_t k = 0; k < a->count; k++) {
        memset(met + a->at[k], 1, size_a);
    }
    for (int64_t k = 0; k < b->count && !share; k++) {
        for (size_t i = 0; i < size_b; i++) {
            share = share || met[b->at[k] + i] != 0;
        }
    }
    for (int64_t k = 0; k < a->count; k++) {
        memset(met + a->at[k], 0, size_a);
    }
    return share;
}

static void bytes_of(const sm_layout *layout, uint32_t *low, uint32_t *end)
{
    *low = UINT32_MAX;
    *end = 0;
    for (int64_t k = 0; k < layout->count; k++) {
        *low = layout->at[k] < *low ? layout->at[k] : *low;
        *end = layout->at[k] > *end ? layout->at[k] : *end;
    }
    *end += (uint32_t)tnr_dtype_size(layout->dtype);
}

/* ---- The table of views ------------------------------------------------------------------------------------------------- */

sm_view *sm_new_view(void)
{
    for (int tries = 0; tries < 8; tries++) {
        sm_view *view = &sm.views[sm_below(SM_VIEWS)];
        if (!view->used || tries == 7) {
            return view;
        }
    }
    return &sm.views[0];
}

sm_view *sm_any_view(bool writable)
{
    const bool alive = sm_chance(90);
    for (int tries = 0; tries < 40; tries++) {
        sm_view *view = &sm.views[sm_below(SM_VIEWS)];
        if (view->used && (view->writable || !writable) && (!alive || sm_alive(view))) {
            return view;
        }
    }
    return NULL;
}

static void keep_view(const sm_view *made)
{
    sm_view *kept = sm_new_view();
    *kept = *made;
    kept->used = true;
    sm_check_descriptor(kept);
}

sm_view *sm_view_whole(sm_tensor *tensor, bool writable)
{
    sm_view *view = sm_new_view();
    view->used = true;
    view->writable = writable;
    view->owner = tensor;
    view->epoch = tensor->epoch;
    view->window = 0;
    view->split = 0;
    view->part = 0;
    int64_t strides[SM_MAX_RANK];
    sm_compact(tensor->rank, tensor->shape, strides);
    (void)sm_layout_make(&view->layout, tensor->dtype, tensor->rank, tensor->shape, strides, 0, 0, tensor->count);
    return view;
}

void sm_check_descriptor(const sm_view *view)
{
    const tnr_view *it = &view->it.view;
    const sm_layout *layout = &view->layout;
    const size_t size = tnr_dtype_size(layout->dtype);
    int64_t count = -1;
    sm_expect(tnr_view_count(it, &count), TNR_OK, "view_count");
    sm_check(it->dtype == layout->dtype && it->rank == layout->rank && count == layout->count &&
                 memcmp(it->shape, layout->shape, (size_t)it->rank * sizeof(it->shape[0])) == 0,
             "a view has the dtype and shape that were asked for");
    sm_check((it->split != 0) == (view->split != 0) && (it->split == 0 || it->part == view->part),
             "a view knows of what split it is a part");
    sm_check(it->window_begin == view->window, "a view keeps its window");
    int64_t k = 0;
    for (tnr_cursor cursor = tnr_cursor_begin(it); cursor.valid; tnr_cursor_next(&cursor)) {
        const int64_t at = (int64_t)it->window_begin + (it->offset + cursor.offset) * (int64_t)size;
        sm_check(cursor.position == k && k < layout->count && at == (int64_t)layout->at[k],
                 "a view's strides lead to the elements of the model");
        k++;
    }
    sm_check(k == layout->count, "a cursor meets every element");
}

/* ---- Making views --------------------------------------------------------------------------------------------------------- */

void sm_op_make_view(void)
{
    sm_tensor *tensor = sm_any_tensor(sm_chance(85) ? SM_TENSOR : SM_DRAFT);
    if (tensor == NULL) {
        return;
    }
    const bool writable = sm_chance(60);
    tnr_view_mut made;
    memset(&made, 0, sizeof(made));
    if (tensor->state == SM_DRAFT) {
        sm_expect(tnr_draft_view(tensor->draft, &made), TNR_OK, "draft_view");
        sm_expect(tnr_tensor_view((tnr_tensor *)(void *)tensor->draft, &made.view), TNR_ERR_STALE,
                  "tensor_view of a draft");
    } else if (writable) {
        sm_expect(tnr_tensor_view_mut(tensor->it, &made), TNR_OK, "tensor_view_mut");
    } else {
        sm_expect(tnr_tensor_view(tensor->it, &made.view), TNR_OK, "tensor_view");
    }
    sm_view *view = sm_view_whole(tensor, writable || tensor->state == SM_DRAFT);
    view->it = made;
    sm_check_descriptor(view);
    sm_check_values(view);
}

void sm_op_region(void)
{
    sm_tensor *tensor = sm_any_tensor(SM_TENSOR);
    if (tensor == NULL) {
        return;
    }
    static sm_view made;
    const int rank = (int)sm_below(4);
    int64_t shape[SM_MAX_RANK];
    int64_t strides[SM_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        shape[i] = sm_chance(6) ? 0 : sm_between(1, 5);
        strides[i] = sm_between(-2, 7) * (sm_chance(30) ? tensor->shape[0] : 1);
    }
    const int64_t offset = sm_between(-1, tensor->count + 1);
    const bool inside = sm_layout_make(&made.layout, tensor->dtype, rank, shape, strides, offset, 0, tensor->count);
    made.writable = sm_chance(50);
    made.owner = tensor;
    made.epoch = tensor->epoch;
    made.window = 0;
    made.split = 0;
    tnr_status wanted = inside ? TNR_OK : TNR_ERR_BOUNDS;
    if (made.writable) {
        wanted = inside && !sm_layout_distinct(&made.layout) ? TNR_ERR_OVERLAP : wanted;
        sm_expect(tnr_tensor_region_mut(tensor->it, rank, shape, strides, offset, &made.it), wanted,
                  "tensor_region_mut");
    } else {
        sm_expect(tnr_tensor_region(tensor->it, rank, shape, strides, offset, &made.it.view), wanted, "tensor_region");
    }
    if (wanted == TNR_OK) {
        keep_view(&made);
    }
}

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
    (void)gather(&made->layout, in, in->rank, shape, 0, steps);
    if (!reverse && in->rank > 1 && sm_chance(5)) {
        axes[0] = axes[1];
        *wanted = TNR_ERR_ARGUMENT;
    } else if (!reverse && in->rank > 0 && sm_chance(5)) {
        axes[in->rank - 1] = sm_chance(50) ? in->rank : -1;
        *wanted = TNR_ERR_BOUNDS;
    }
    return TRANSFORM(permute, reverse ? NULL : axes);
}

/* The rule of tnr_slice, one element at a time. */
static void slice_model(int64_t extent, tnr_slice slice, int64_t *first, int64_t *count, int64_t *stride)
{
    int64_t low = slice.start < 0 ? slice.start + extent : slice.start;
    int64_t high = slice.end < 0 ? slice.end + extent : slice.end;
    *count = 0;
    *first = 0;
    *stride = slice.step;
    const int64_t apart = slice.step < 0 ? -slice.step : slice.step;
    int64_t seen = 0;
    for (int64_t k = 0; k < extent; k++) {
        const int64_t at = slice.step > 0 ? k : extent - 1 - k;
        if (at < low || at >= high) {
            continue;
        }
        if (seen++ % apart == 0) {
            *first = *count == 0 ? at : *first;
            (*count)++;
        }
    }
}

static tnr_slice draw_slice(int64_t extent)
{
    const tnr_slice whole = TNR_SLICE_ALL;
    if (sm_chance(25)) {
        return whole;
    }
    tnr_slice slice;
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
    tnr_slice slices[SM_MAX_RANK + 1];
    int64_t shape[SM_MAX_RANK];
    int64_t steps[SM_MAX_RANK];
    int64_t positions[SM_MAX_RANK];
    int64_t base = 0;
    sm_compact(in->rank, in->shape, positions);
    for (int i = 0; i < in->rank; i++) {
        const tnr_slice whole = TNR_SLICE_ALL;
        slices[i] = all || i == only ? draw_slice(in->shape[i]) : whole;
        int64_t first;
        int64_t stride;
        slice_model(in->shape[i], slices[i], &first, &shape[i], &stride);
        base += first * positions[i];
        steps[i] = stride * positions[i];
    }
    (void)gather(&made->layout, in, in->rank, shape, base, steps);
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
        (void)gather(&made->layout, in, in->rank - 1, shape, base, steps);
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
        (void)gather(&made->layout, in, in->rank - 1, shape, 0, steps);
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
        step(rank, shape, index);
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
    if (count_of(rank, shape) != in->count) {
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
    if (!gather(&made->layout, in, rank, shape, 0, steps)) {
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
    keep_view(&made);
    if (sm_chance(30)) {
        sm_check_values(&made);
    }
}

/* ---- Questions ---------------------------------------------------------------------------------------------------------- */

void sm_op_questions(void)
{
    const sm_view *a = sm_any_view(false);
    const sm_view *b = sm_any_view(false);
    if (a == NULL || b == NULL) {
        return;
    }
    for (int tries = 0; tries < 20 && a->owner != b->owner; tries++) {
        const sm_view *other = sm_any_view(false);
        b = other != NULL ? other : b;
    }
    tnr_overlap overlap = TNR_OVERLAP_POSSIBLE;
    const bool alive = sm_alive(a) && sm_alive(b);
    sm_expect(tnr_view_overlap(&a->it.view, &b->it.view, &overlap), alive ? TNR_OK : TNR_ERR_STALE, "view_overlap");
    if (alive) {
        const bool share = a->owner == b->owner && share_bytes(&a->layout, &b->layout);
        const bool same = a->owner == b->owner && a->layout.count != 0 &&
                          tnr_dtype_size(a->layout.dtype) == tnr_dtype_size(b->layout.dtype) &&
                          a->layout.rank == b->layout.rank &&
                          memcmp(a->layout.shape, b->layout.shape, (size_t)a->layout.rank * sizeof(int64_t)) == 0 &&
                          memcmp(a->layout.at, b->layout.at, (size_t)a->layout.count * sizeof(uint32_t)) == 0;
        sm_check(overlap != TNR_OVERLAP_NONE || !share, "views said to be apart share no byte");
        sm_check((overlap == TNR_OVERLAP_SAME) == same, "views are the same exactly when their elements are");
        uint32_t low_a, end_a, low_b, end_b;
        bytes_of(&a->layout, &low_a, &end_a);
        bytes_of(&b->layout, &low_b, &end_b);
        const bool plain =
            a->owner != b->owner || a->layout.count == 0 || b->layout.count == 0 || end_a <= low_b || end_b <= low_a;
        sm_check(!plain || overlap == TNR_OVERLAP_NONE, "disjoint intervals are proved apart");
    }
    bool distinct = false;
    sm_expect(tnr_view_distinct(&a->it.view, &distinct), TNR_OK, "view_distinct");
    sm_check(distinct == sm_layout_distinct(&a->layout), "distinct says what the list says");
    int64_t span = -1;
    uint32_t low, end;
    bytes_of(&a->layout, &low, &end);
    sm_expect(tnr_view_span(&a->it.view, &span), TNR_OK, "view_span");
    sm_check(span == (a->layout.count == 0 ? 0 : (int64_t)((end - low) / tnr_dtype_size(a->layout.dtype))),
             "a span reaches from the lowest to the highest element");
    bool compact = true;
    for (int64_t k = 0; k < a->layout.count; k++) {
        compact =
            compact && a->layout.at[k] == a->layout.at[0] + (uint32_t)k * (uint32_t)tnr_dtype_size(a->layout.dtype);
    }
    sm_check(tnr_view_is_compact(&a->it.view) == compact, "compact says what the list says");
}

/* ---- Splits --------------------------------------------------------------------------------------------------------------- */

#define MOST_PARTS SM_PARTS

/* Parts of one view: slices of it, or of what others look at. */
static size_t draw_parts(sm_view *parts)
{
    const sm_view *from = sm_any_view(true);
    size_t count = sm_below(MOST_PARTS + 1);
    if (from == NULL || from->layout.rank == 0) {
        return 0;
    }
    const int axis = (int)sm_below((uint64_t)from->layout.rank);
    for (size_t k = 0; k < count; k++) {
        sm_view *made = &parts[k];
        const sm_view *other = sm_chance(8) ? sm_any_view(true) : NULL;
        *made = other != NULL ? *other : *from;
        made->writable = true;
        if (other != NULL) {
            continue;
        }
        const int64_t extent = from->layout.shape[axis];
        const bool comb = sm_chance(50);
        const tnr_slice slice = {comb ? (int64_t)k : extent * (int64_t)k / (int64_t)count,
                                 comb ? TNR_END : extent * ((int64_t)k + 1) / (int64_t)count,
                                 comb ? (int64_t)count : 1};
        int64_t shape[SM_MAX_RANK];
        int64_t steps[SM_MAX_RANK];
        int64_t first;
        int64_t stride;
        memcpy(shape, from->layout.shape, sizeof(shape));
        sm_compact(from->layout.rank, from->layout.shape, steps);
        slice_model(extent, slice, &first, &shape[axis], &stride);
        const int64_t base = first * steps[axis];
        steps[axis] *= stride;
        (void)gather(&made->layout, &from->layout, from->layout.rank, shape, base, steps);
        sm_expect(tnr_view_mut_slice_axis(&from->it, axis, slice, &made->it), TNR_OK, "view_mut_slice_axis");
    }
    return count;
}

void sm_op_split(void)
{
    static sm_view parts[MOST_PARTS];
    tnr_view_mut its[MOST_PARTS];
    memset(its, 0, sizeof(its));
    const size_t count = draw_parts(parts);
    bool alive = true;
    bool plain = true;
    bool apart = true;
    for (size_t k = 0; k < count; k++) {
        its[k] = parts[k].it;
        alive = alive && sm_alive(&parts[k]);
        for (size_t other = 0; other < k; other++) {
            const sm_layout *a = &parts[k].layout;
            const sm_layout *b = &parts[other].layout;
            if (parts[k].owner != parts[other].owner || a->count == 0 || b->count == 0) {
                continue;
            }
            uint32_t low_a, end_a, low_b, end_b;
            bytes_of(a, &low_a, &end_a);
            bytes_of(b, &low_b, &end_b);
            plain = plain && (end_a <= low_b || end_b <= low_a);
            apart = apart && !share_bytes(a, b);
        }
    }
    bool granted = false;
    sm_expect(tnr_view_mut_split(its, count, &granted), alive ? TNR_OK : TNR_ERR_STALE, "view_mut_split");
    if (!alive || !granted) {
        for (size_t k = 0; k < count; k++) {
            sm_check(memcmp(&its[k], &parts[k].it, sizeof(its[k])) == 0, "a split that is not granted changes nothing");
        }
        sm_check(!alive || !plain, "disjoint intervals are granted");
        return;
    }
    sm_check(apart, "what is granted shares no byte");
    for (size_t k = 0; k < count; k++) {
        parts[k].it = its[k];
        parts[k].part = (unsigned)k;
        parts[k].split = 0;
        for (size_t other = 0; other < k && parts[k].split == 0; other++) {
            parts[k].split = parts[other].owner == parts[k].owner ? parts[other].split : 0;
        }
        parts[k].split = parts[k].split != 0 ? parts[k].split : ++sm.splits;
    }
    for (size_t k = 0; k < count; k++) {
        keep_view(&parts[k]);
    }
}
