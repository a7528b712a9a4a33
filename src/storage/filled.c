/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors that are filled as they are made: zeros, one value, an array of the caller's, or a view's elements. */
#include "storage_internal.h"

/* What a new tensor's elements come from: one element for all (strides 0), an array, or a view. */
typedef struct source {
    const tnr_view *view; /* NULL: memory of the caller's, below */
    const void *data;     /* NULL: zeros */
    const int64_t *strides;
} source;

/* A new tensor of these elements. A view is leased while it is read, and before anything is taken for the new tensor. */
static tnr_status make_filled(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                              tnr_allocation_reason reason, const source *from, tnr_tensor **tensor)
{
    TNR_REQUIRE(domain != NULL && tensor != NULL, TNR_ERR_ARGUMENT, "%s: domain and tensor must not be NULL", op);
    tnri_operand operand = {.view = from->view, .write = false};
    if (from->view != NULL) {
        TNR_TRY(tnri_access_begin(op, &operand, 1, TNRI_APART));
    }
    tnri_output output;
    const tnr_status begun = tnri_output_begin(op, domain, dtype, rank, shape, reason, &output);
    if (begun == TNR_OK) {
        const void *data = from->view != NULL ? operand.data : from->data;
        if (output.data != NULL && data != NULL) {
            tnri_copy_elements(tnr_dtype_size(dtype), rank, shape, output.data, output.view.strides, data,
                               from->view != NULL ? from->view->strides : from->strides);
        } else if (output.data != NULL) {
            memset(output.data, 0, (size_t)output.root->bytes);
        }
    }
    /* Ended before the output is: once a tensor, it could not be undone without a trace. */
    const tnr_status ended = from->view != NULL ? tnri_access_end(&operand, 1) : TNR_OK;
    TNR_TRY(begun);
    return tnri_output_end(&output, ended, tensor);
}

tnr_status tnr_tensor_zeros(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape, tnr_tensor **tensor)
{
    const source zeros = {NULL, NULL, NULL};
    return make_filled("tensor_zeros", domain, dtype, rank, shape, TNR_ALLOCATION_CREATE, &zeros, tensor);
}

tnr_status tnr_tensor_full(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape, const void *value,
                           tnr_tensor **tensor)
{
    static const int64_t still[TNR_MAX_RANK];
    TNR_REQUIRE(value != NULL, TNR_ERR_ARGUMENT, "tensor_full: value must not be NULL");
    const size_t size = tnr_dtype_size(dtype);
    TNR_REQUIRE(size != 0, TNR_ERR_ARGUMENT, "tensor_full: %d is no dtype", (int)dtype);
    _Alignas(16) unsigned char element[16];
    memcpy(element, value, size); /* the caller's may lie anywhere */
    const source one = {NULL, element, still};
    return make_filled("tensor_full", domain, dtype, rank, shape, TNR_ALLOCATION_CREATE, &one, tensor);
}

/* A named copy of an array whose length says the shape right. */
static tnr_status from_array(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                             const void *data, uint64_t bytes, tnr_copy_reason reason, tnr_tensor **tensor)
{
    int64_t count;
    TNR_TRY(tnri_buffer_check(op, dtype, rank, shape, data, bytes, &count));
    int64_t strides[TNR_MAX_RANK] = {0};
    if (reason == TNR_COPY_FROM_COLUMN_MAJOR) {
        tnri_compact_strides(rank, shape, strides);
    } else if (count != 0) {
        int64_t stride = 1; /* at most count: it fits */
        for (int axis = rank - 1; axis >= 0; axis--) {
            strides[axis] = stride;
            stride *= shape[axis];
        }
    }
    const source array = {NULL, data, strides};
    TNR_TRY(make_filled(op, domain, dtype, rank, shape, TNR_ALLOCATION_CREATE, &array, tensor));
    tnri_ledger_copy(domain, reason, bytes);
    return TNR_OK;
}

tnr_status tnr_tensor_from_column_major(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                        const void *data, uint64_t bytes, tnr_tensor **tensor)
{
    return from_array("tensor_from_column_major", domain, dtype, rank, shape, data, bytes, TNR_COPY_FROM_COLUMN_MAJOR,
                      tensor);
}

tnr_status tnr_tensor_from_row_major(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                     const void *data, uint64_t bytes, tnr_tensor **tensor)
{
    return from_array("tensor_from_row_major", domain, dtype, rank, shape, data, bytes, TNR_COPY_FROM_ROW_MAJOR,
                      tensor);
}

tnr_status tnri_duplicate(const char *op, const tnr_view *view, tnr_domain *domain, tnr_copy_reason reason,
                          tnr_tensor **tensor)
{
    TNR_REQUIRE(view != NULL && domain != NULL && tensor != NULL, TNR_ERR_ARGUMENT,
                "%s: view, domain and tensor must not be NULL", op);
    const source from = {view, NULL, NULL};
    tnr_tensor *made;
    TNR_TRY(make_filled(op, domain, view->dtype, view->rank, view->shape, TNR_ALLOCATION_COPY, &from, &made));
    tnri_ledger_copy(domain, reason, made->bytes);
    *tensor = made;
    return TNR_OK;
}

tnr_status tnr_tensor_duplicate(const tnr_view *view, tnr_domain *domain, tnr_tensor **tensor)
{
    return tnri_duplicate("tensor_duplicate", view, domain, TNR_COPY_DUPLICATE, tensor);
}
