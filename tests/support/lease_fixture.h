/* SPDX-License-Identifier: BSD-3-Clause */
/* One tensor of 8 x 4 to be leased, and its columns as parts of a split. */
#ifndef TENURE_TESTS_SUPPORT_LEASE_FIXTURE_H
#define TENURE_TESTS_SUPPORT_LEASE_FIXTURE_H

#include "storage_test.h"

typedef struct fixture {
    tnr_domain *heap;
    tnr_tensor *tensor; /* 8 x 4, f64 */
} fixture;

static inline fixture start(void)
{
    fixture made;
    made.heap = make_heap();
    made.tensor = make_counting(made.heap, 2, SHAPE(8, 4));
    return made;
}

static inline void finish(fixture *used)
{
    release(&used->tensor);
    close_domain(&used->heap);
}

/* Column `column` of the fixture's tensor. */
static inline tnr_view_mut column_of(tnr_tensor *tensor, int64_t column)
{
    tnr_view_mut view = view_mut_of(tensor);
    OK(tnr_view_mut_slice_axis(&view, 1, (tnr_range){column, column + 1, 1}, &view));
    return view;
}

static inline void split_columns(tnr_tensor *tensor, tnr_view_mut *parts, size_t count)
{
    bool granted = false;
    for (size_t part = 0; part < count; part++) {
        parts[part] = column_of(tensor, (int64_t)part);
    }
    OK(tnr_view_mut_split(parts, count, &granted));
    assert_true(granted);
}

#endif /* TENURE_TESTS_SUPPORT_LEASE_FIXTURE_H */
