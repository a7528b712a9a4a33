/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Splitting: writable views that were proved disjoint are marked as parts of one split of their owner. The mark is what
 * lets the lease word hold several writers at a time (lease.c). A split's number is never used twice on one owner.
 */
#include "storage_internal.h"

static tnr_status check_part(const tnr_view_mut *part)
{
    const tnr_view *view = &part->view;
    TNR_REQUIRE(view->root != NULL && view->rank >= 0 && view->rank <= TNR_MAX_RANK && view->dtype > TNR_DTYPE_NONE &&
                    view->dtype < TNR_DTYPE_END,
                TNR_ERR_ARGUMENT, "view_mut_split: a part was not made by the library");
    TNR_REQUIRE(view->generation == tnri_generation(view->root), TNR_ERR_STALE,
                "view_mut_split: the view's owner was released or moved");
    return TNR_OK;
}

void tnri_mark_parts(tnr_view_mut *parts, size_t count)
{
    /* One number per owner, taken by its first part. */
    for (size_t index = 0; index < count; index++) {
        tnr_view *view = &parts[index].view;
        size_t first = 0;
        while (parts[first].view.root != view->root) {
            first++;
        }
        view->split = first == index ? atomic_fetch_add_explicit(&view->root->splits, 1, memory_order_relaxed) + 1
                                     : parts[first].view.split;
        view->part = (uint32_t)index;
    }
}

tnr_status tnr_view_mut_split(tnr_view_mut *parts, size_t count, bool *granted)
{
    TNR_REQUIRE(granted != NULL && (parts != NULL || count == 0), TNR_ERR_ARGUMENT,
                "view_mut_split: parts and granted must not be NULL");
    TNR_REQUIRE(count <= TNR_MAX_PARTS, TNR_ERR_ARGUMENT, "view_mut_split: %llu parts, at most %d", TNRI_LLU(count),
                TNR_MAX_PARTS);
    for (size_t index = 0; index < count; index++) {
        TNR_TRY(check_part(&parts[index]));
    }
    for (size_t first = 0; first < count; first++) {
        const tnri_operand a = {.view = &parts[first].view, .write = true};
        for (size_t second = first + 1; second < count; second++) {
            const tnri_operand b = {.view = &parts[second].view, .write = true};
            if (tnri_operand_overlap(&a, &b) != TNR_OVERLAP_NONE) {
                *granted = false;
                return TNR_OK;
            }
        }
    }
    tnri_mark_parts(parts, count);
    *granted = true;
    return TNR_OK;
}

tnr_status tnr_view_overlap(const tnr_view *a, const tnr_view *b, tnr_overlap *overlap)
{
    TNR_REQUIRE(a != NULL && b != NULL && overlap != NULL, TNR_ERR_ARGUMENT,
                "view_overlap: views and overlap must not be NULL");
    const tnr_view *views[2] = {a, b};
    for (int index = 0; index < 2; index++) {
        const tnr_view *view = views[index];
        int64_t count;
        TNR_REQUIRE(view->root != NULL && view->dtype > TNR_DTYPE_NONE && view->dtype < TNR_DTYPE_END, TNR_ERR_ARGUMENT,
                    "view_overlap: a view was not made by the library");
        TNR_TRY(tnri_layout_check("view_overlap", view->rank, view->shape, view->strides, view->offset,
                                  (int64_t)(view->window_bytes / tnr_dtype_size(view->dtype)), &count));
        TNR_REQUIRE(view->generation == tnri_generation(view->root), TNR_ERR_STALE,
                    "view_overlap: the view's owner was released or moved");
    }
    const tnri_operand of_a = {.view = a};
    const tnri_operand of_b = {.view = b};
    *overlap = tnri_operand_overlap(&of_a, &of_b);
    return TNR_OK;
}
