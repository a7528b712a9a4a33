/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Splitting: writable views that were proved disjoint are marked as parts of one split of their owner. The mark is what
 * lets the lease word hold several writers at a time (lease.c). A split's number is never used twice. Owners are not looked
 * at beyond their generation, so they may go at any moment: the marks then mean nothing.
 */
#include "storage_internal.h"
#include "view_internal.h"

static tnr_status check_view(const char *op, const tnr_view *view)
{
    int64_t count;
    TNR_TRY(tnri_view_check(op, view, &count));
    TNR_REQUIRE(view->root != NULL, TNR_ERR_ARGUMENT, "%s: a view has no owner", op);
    TNR_REQUIRE(view->window_bytes <= INT64_MAX && view->window_begin <= INT64_MAX - view->window_bytes &&
                    view->window_begin % tnr_dtype_alignment(view->dtype) == 0,
                TNR_ERR_BOUNDS, "%s: a view's window is out of range or misaligned", op);
    TNR_REQUIRE(view->generation == tnri_generation(view->root), TNR_ERR_STALE,
                "%s: the view's owner was released or moved", op);
    return TNR_OK;
}

void tnri_mark_parts(tnr_view_mut *parts, size_t count)
{
    /* One number for all: what makes two views siblings is that it is the same, and never another split's. */
    static TNRI_ATOMIC(uint64_t) last_split;
    const uint64_t split = atomic_fetch_add_explicit(&last_split, 1, memory_order_relaxed) + 1;
    for (size_t index = 0; index < count; index++) {
        parts[index].view.split = split;
        parts[index].view.part = (uint32_t)index;
    }
}

tnr_status tnr_view_mut_split(tnr_view_mut *parts, size_t count, bool *granted)
{
    TNR_REQUIRE(granted != NULL && (parts != NULL || count == 0), TNR_ERR_ARGUMENT,
                "view_mut_split: parts and granted must not be NULL");
    TNR_REQUIRE(count <= TNR_MAX_PARTS, TNR_ERR_ARGUMENT, "view_mut_split: %llu parts, at most %d", TNRI_LLU(count),
                TNR_MAX_PARTS);
    for (size_t index = 0; index < count; index++) {
        TNR_TRY(check_view("view_mut_split", &parts[index].view));
    }
    for (size_t first = 0; first < count; first++) {
        for (size_t second = first + 1; second < count; second++) {
            if (tnri_views_overlap(&parts[first].view, &parts[second].view) != TNR_OVERLAP_NONE) {
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
    TNR_TRY(check_view("view_overlap", a));
    TNR_TRY(check_view("view_overlap", b));
    *overlap = tnri_views_overlap(a, b);
    return TNR_OK;
}
