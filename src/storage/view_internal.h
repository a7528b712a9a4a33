/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of this folder that take descriptors from a program. A view is a plain struct: whatever is in it
 * is looked at before it is believed, and nothing beyond its arrays is read.
 */
#ifndef TENURE_STORAGE_VIEW_INTERNAL_H
#define TENURE_STORAGE_VIEW_INTERNAL_H

#include "storage.h"

/* Not NULL, a dtype, rank and extents legal (TNR_ERR_ARGUMENT), count in 63 bits (TNR_ERR_OVERFLOW). */
tnr_status tnri_view_shape_check(const char *op, const tnr_view *view, int64_t *count);

/* The same, and every element inside the view's window (tnri_layout_check). Does not look at the root. */
tnr_status tnri_view_check(const char *op, const tnr_view *view, int64_t *count);

/* Whole elements of the view's dtype that fit its window; the dtype must be one. */
int64_t tnri_view_window(const tnr_view *view);

/*
 * Copy what a view says. Most of the struct is room for axes that are not there, and copying all of it takes longer
 * than anything else that a transform does. The rank must have been checked.
 */
static inline void tnri_view_copy(tnr_view *to, const tnr_view *from)
{
    memcpy(to, from, offsetof(tnr_view, shape));
    for (int i = 0; i < from->rank; i++) {
        to->shape[i] = from->shape[i];
        to->strides[i] = from->strides[i];
    }
}

#endif /* TENURE_STORAGE_VIEW_INTERNAL_H */
