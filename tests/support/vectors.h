/* SPDX-License-Identifier: BSD-3-Clause */
/* One-dimensional tensors for tests of values: made from a list, looked at as a list. */
#ifndef TENURE_TESTS_VECTORS_H
#define TENURE_TESTS_VECTORS_H

#include "catalogue/catalogue.h"

typedef struct vector {
    tnr_tensor *tensor;
    tnr_view_mut view;
    void *data;
} vector;

/* Values NULL: zeros. */
static inline vector vector_of(tnr_domain *domain, tnr_dtype dtype, int64_t count, const void *values)
{
    vector made = {.tensor = NULL};
    if (values != NULL) {
        catalogue_ok(tnr_tensor_from_row_major(domain, dtype, 1, &count, values,
                                               (uint64_t)count * tnr_dtype_size(dtype), &made.tensor),
                     "vector");
    } else {
        catalogue_ok(tnr_tensor_zeros(domain, dtype, 1, &count, &made.tensor), "vector");
    }
    catalogue_ok(tnr_tensor_view_mut(made.tensor, &made.view), "view");
    catalogue_ok(tnr_tensor_host_data_mut(made.tensor, &made.data), "data");
    return made;
}

static inline void vector_drop(vector *old) { catalogue_ok(tnr_tensor_release(&old->tensor), "release"); }

/* The bytes of a tensor that an operation made. */
static inline const void *made_data(const tnr_tensor *made)
{
    const void *data = NULL;
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    return data;
}

#endif /* TENURE_TESTS_VECTORS_H */
