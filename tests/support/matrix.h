/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of engines by their bugs share: a heap, an engine without workers, small matrices written row by row, and a
 * product whose every element is known.
 */
#ifndef TENURE_TESTS_SUPPORT_MATRIX_H
#define TENURE_TESTS_SUPPORT_MATRIX_H

#include "catalogue/catalogue.h"

#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static tnr_domain *heap;
static tnr_engine *engine;

static inline int set_up(void **state)
{
    (void)state;
    catalogue_ok(tnr_heap_create(&heap), "heap");
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    catalogue_ok(tnr_engine_destroy(&engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&heap), "heap");
    return 0;
}

/* A tensor with these elements in row-major order, a view of it, and a plain pointer to it. */
typedef struct matrix {
    tnr_tensor *tensor;
    tnr_view_mut view;
    void *data;
} matrix;

static inline matrix matrix_of(tnr_dtype dtype, int rank, const int64_t *shape, const void *row_major)
{
    matrix made = {.tensor = NULL};
    uint64_t bytes = tnr_dtype_size(dtype);
    for (int i = 0; i < rank; ++i) {
        bytes *= (uint64_t)shape[i];
    }
    if (row_major != NULL) {
        catalogue_ok(tnr_tensor_from_row_major(heap, dtype, rank, shape, row_major, bytes, &made.tensor), "matrix");
    } else {
        catalogue_ok(tnr_tensor_zeros(heap, dtype, rank, shape, &made.tensor), "matrix");
    }
    catalogue_ok(tnr_tensor_view_mut(made.tensor, &made.view), "view");
    catalogue_ok(tnr_tensor_host_data_mut(made.tensor, &made.data), "data");
    return made;
}

static inline void drop(matrix *old) { catalogue_ok(tnr_tensor_release(&old->tensor), "release"); }

/* Set real and imaginary part of element i. */
static inline void put(tnr_dtype dtype, void *data, int64_t i, double re, double im)
{
    switch (dtype) {
    case TNR_F32:
        ((float *)data)[i] = (float)re;
        break;
    case TNR_F64:
        ((double *)data)[i] = re;
        break;
    case TNR_C32:
        ((tnr_c32 *)data)[i] = (tnr_c32){(float)re, (float)im};
        break;
    default:
        ((tnr_c64 *)data)[i] = (tnr_c64){re, im};
        break;
    }
}

static inline bool holds(tnr_dtype dtype, const void *data, int64_t i, double re, double im)
{
    switch (dtype) {
    case TNR_F32:
        return (double)((const float *)data)[i] == re;
    case TNR_F64:
        return ((const double *)data)[i] == re;
    case TNR_C32:
        return (double)((const tnr_c32 *)data)[i].re == re && (double)((const tnr_c32 *)data)[i].im == im;
    default:
        return ((const tnr_c64 *)data)[i].re == re && ((const tnr_c64 *)data)[i].im == im;
    }
}

static inline void expect_f64(const matrix *found, int64_t count, const double *column_major)
{
    for (int64_t i = 0; i < count; ++i) {
        assert_true(((const double *)found->data)[i] == column_major[i]);
    }
}

/* Product of n x n ones; true when every element is n. */
static inline bool product_of_ones(int64_t n)
{
    tnr_tensor *ones = NULL;
    tnr_tensor *made = NULL;
    tnr_view view;
    void *data;
    const void *result;
    if (tnr_tensor_zeros(heap, TNR_F64, 2, LIST(n, n), &ones) != TNR_OK || tnr_tensor_view(ones, &view) != TNR_OK ||
        tnr_tensor_host_data_mut(ones, &data) != TNR_OK) {
        return false;
    }
    for (int64_t i = 0; i < n * n; ++i) {
        ((double *)data)[i] = 1.0;
    }
    if (tnr_matmul(engine, &view, &view, NULL, &made) != TNR_OK || tnr_tensor_host_data(made, &result) != TNR_OK) {
        return false;
    }
    bool right = true;
    for (int64_t i = 0; i < n * n; ++i) {
        right = right && ((const double *)result)[i] == (double)n;
    }
    return tnr_tensor_release(&made) == TNR_OK && tnr_tensor_release(&ones) == TNR_OK && right;
}

#endif /* TENURE_TESTS_SUPPORT_MATRIX_H */
