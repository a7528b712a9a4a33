/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Views made by hand, for tests of calls that never look at an owner. The owner's address is one that faults when it is
 * followed, so a call that does look is found out.
 */
#ifndef TENURE_TESTS_SUPPORT_VIEWS_H
#define TENURE_TESTS_SUPPORT_VIEWS_H

#include "tenure/tensor.h"

/* A view over `elements` elements of window. strides NULL: compact. */
static inline tnr_view test_view(tnr_dtype dtype, int64_t elements, int rank, const int64_t *shape,
                                 const int64_t *strides, int64_t offset)
{
    tnr_view view = {
        .root = (tnr_tensor *)(uintptr_t)16, /* NOLINT: meant to fault */
        .generation = 7,
        .dtype = dtype,
        .rank = rank,
        .window_bytes = (uint64_t)elements * tnr_dtype_size(dtype),
        .offset = offset,
    };
    int64_t compact = 1;
    for (int i = 0; i < rank; i++) {
        view.shape[i] = shape[i];
        view.strides[i] = strides != NULL ? strides[i] : compact;
        compact *= strides != NULL ? 1 : shape[i] > 0 ? shape[i] : 1;
    }
    return view;
}

/* Literals for the calls' array parameters. */
#define EXTENTS(...) ((const int64_t[]){__VA_ARGS__})
#define AXES(...) ((const int[]){__VA_ARGS__})
#define SLICES(...) ((const tnr_range[]){__VA_ARGS__})

#endif /* TENURE_TESTS_SUPPORT_VIEWS_H */
