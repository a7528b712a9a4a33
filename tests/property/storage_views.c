/* SPDX-License-Identifier: BSD-3-Clause */
/* Views against plain lists of byte offsets: leases, questions, splits. See storage_model.h. */
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
    /* One mapping may hide what another writes: then a part is leased as the whole. */
    bool whole = view->split == 0 || (!sm.coherent && !sm_reaches_directly(owner->domain));
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

int64_t sm_count_of(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= shape[i];
    }
    return count;
}

/* Step a column-major index. */
void sm_step(int rank, const int64_t *shape, int64_t *index)
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
    layout->count = sm_count_of(rank, shape);
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
        sm_step(rank, shape, index);
    }
    return true;
}

/* The elements of `in` at base + sum of index * steps, counted in positions of `in`. */
bool sm_gather(sm_layout *out, const sm_layout *in, int rank, const int64_t *shape, int64_t base, const int64_t *steps)
{
    out->dtype = in->dtype;
    out->rank = rank;
    out->count = sm_count_of(rank, shape);
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
        sm_step(rank, shape, index);
    }
    return true;
}

/* The rule of tnr_range, one element at a time. */
void sm_slice(int64_t extent, tnr_range slice, int64_t *first, int64_t *count, int64_t *stride)
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

void sm_keep_view(const sm_view *made)
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
        sm_keep_view(&made);
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
        const tnr_range slice = {comb ? (int64_t)k : extent * (int64_t)k / (int64_t)count,
                                 comb ? TNR_END : extent * ((int64_t)k + 1) / (int64_t)count,
                                 comb ? (int64_t)count : 1};
        int64_t shape[SM_MAX_RANK];
        int64_t steps[SM_MAX_RANK];
        int64_t first;
        int64_t stride;
        memcpy(shape, from->layout.shape, sizeof(shape));
        sm_compact(from->layout.rank, from->layout.shape, steps);
        sm_slice(extent, slice, &first, &shape[axis], &stride);
        const int64_t base = first * steps[axis];
        steps[axis] *= stride;
        (void)sm_gather(&made->layout, &from->layout, from->layout.rank, shape, base, steps);
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
        sm_keep_view(&parts[k]);
    }
}
