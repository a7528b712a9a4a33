/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drafts: bytes that are being written before anybody can read them, and the tensors that the library fills itself.
 * A draft is the slot of the tensor-to-be; committing changes its kind and ends the writing views' generation.
 */
#include "storage_internal.h"

struct tnr_draft {
    tnr_tensor tensor;
};

tnr_status tnri_draft_begin(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                            tnr_allocation_reason reason, tnr_draft **draft)
{
    int64_t count;
    uint64_t bytes;
    TNR_TRY(tnri_shape_bytes(op, dtype, rank, shape, &count, &bytes));
    tnri_handle *handle;
    TNR_TRY(tnri_handle_take(domain, reason, bytes, &handle));
    tnr_tensor *root = (tnr_tensor *)(void *)handle;
    const tnr_status status = tnri_block_take(domain, bytes, &root->block);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        tnri_handle_cancel(domain, reason, bytes, handle);
        return status;
    }
    root->domain = domain;
    root->bytes = bytes;
    root->release = NULL;
    root->context = NULL;
    root->group_home = NULL;
    root->split = 0;
    root->split_parts = 0;
    atomic_init(&root->splits, 0);
    root->dtype = (uint8_t)dtype;
    root->rank = (uint8_t)rank;
    for (int axis = 0; axis < rank; axis++) {
        root->shape[axis] = shape[axis];
    }
    /* Not published: until somebody outside gets a view of it, tnri_draft_cancel may take back all that it took. */
    atomic_store_explicit(&handle->kind, (uint32_t)TNRI_HANDLE_DRAFT, memory_order_release);
    *draft = (tnr_draft *)(void *)root;
    return TNR_OK;
}

tnr_status tnr_draft_begin(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape, tnr_draft **draft)
{
    TNR_REQUIRE(domain != NULL && draft != NULL, TNR_ERR_ARGUMENT, "draft_begin: domain and draft must not be NULL");
    tnr_draft *made;
    TNR_TRY(tnri_draft_begin("draft_begin", domain, dtype, rank, shape, TNR_ALLOCATION_CREATE, &made));
    tnri_handle_publish(&made->tensor.handle, TNRI_HANDLE_DRAFT);
    *draft = made;
    return TNR_OK;
}

tnr_status tnr_draft_view(tnr_draft *draft, tnr_view_mut *view)
{
    TNR_REQUIRE(draft != NULL && view != NULL, TNR_ERR_ARGUMENT, "draft_view: draft and view must not be NULL");
    TNR_REQUIRE(atomic_load_explicit(&draft->tensor.handle.kind, memory_order_acquire) == TNRI_HANDLE_DRAFT,
                TNR_ERR_STALE, "draft_view: the draft was committed or abandoned");
    tnri_root_view(&draft->tensor, &view->view);
    return TNR_OK;
}

tnr_status tnr_draft_commit(tnr_draft **draft, tnr_tensor **tensor)
{
    TNR_REQUIRE(draft != NULL && *draft != NULL && tensor != NULL, TNR_ERR_ARGUMENT,
                "draft_commit: draft and tensor must not be NULL");
    tnr_tensor *root = &(*draft)->tensor;
    TNR_TRY(tnri_generation_hold("draft_commit", root, TNRI_HANDLE_DRAFT));
    tnri_handle_publish(&root->handle, TNRI_HANDLE_DRAFT); /* views may know it from now on: its slot stays */
    tnri_generation_end_held(root, TNRI_HANDLE_TENSOR);
    *draft = NULL;
    *tensor = root;
    return TNR_OK;
}

tnr_status tnr_draft_abandon(tnr_draft **draft)
{
    if (draft == NULL || *draft == NULL) {
        return TNR_OK;
    }
    tnr_tensor *root = &(*draft)->tensor;
    TNR_TRY(tnri_generation_end("draft_abandon", root, TNRI_HANDLE_DRAFT, TNRI_HANDLE_FREE));
    tnri_root_free(root);
    *draft = NULL;
    return TNR_OK;
}

/* Undo a draft that an operation made for itself: as if it had never been asked for. */
void tnri_draft_cancel(tnr_draft *draft, tnr_allocation_reason reason)
{
    tnr_tensor *root = &draft->tensor;
    tnr_domain *domain = root->domain;
    (void)tnri_generation_end("draft_cancel", root, TNRI_HANDLE_DRAFT, TNRI_HANDLE_FREE);
    const uint64_t bytes = root->bytes;
    tnri_block_give(domain, &root->block);
    tnri_handle_cancel(domain, reason, bytes, &root->handle);
}

/* ---- Tensors that the library fills --------------------------------------------------------------------------------------- */

static tnr_status check_reachable(const char *op, const tnr_domain *domain)
{
    TNR_REQUIRE(domain->access != TNR_ACCESS_NONE, TNR_ERR_RESIDENCY,
                "%s: the host cannot reach domain \"%s\": fill a host tensor and upload it", op, tnr_domain_name(domain));
    return TNR_OK;
}

/* What a new tensor's elements come from: one element for all (strides 0), an array, or a view. */
typedef struct source {
    const tnr_view *view; /* NULL: memory of the caller's, below */
    const void *data;     /* NULL: zeros */
    const int64_t *strides;
} source;

/* Fill the draft and commit it; on failure everything is as before the draft. */
static tnr_status fill_and_commit(const char *op, tnr_draft *draft, tnr_allocation_reason reason, const source *from,
                                  tnr_tensor **tensor)
{
    tnr_view_mut target;
    tnri_root_view(&draft->tensor, &target.view);
    tnri_operand operands[2] = {{.view = &target.view, .write = true}, {.view = from->view, .write = false}};
    const int count = from->view != NULL ? 2 : 1;
    tnr_status status = tnri_access_begin(op, operands, count, TNRI_APART);
    if (status == TNR_OK) {
        const void *data = from->view != NULL ? operands[1].data : from->data;
        const int64_t *strides = from->view != NULL ? from->view->strides : from->strides;
        if (operands[0].data != NULL && data != NULL) {
            tnri_copy_elements(tnr_dtype_size(target.view.dtype), target.view.rank, target.view.shape, operands[0].data,
                               target.view.strides, data, strides);
        } else if (operands[0].data != NULL) {
            memset(operands[0].data, 0, (size_t)draft->tensor.bytes);
        }
        status = tnri_access_end(operands, count);
    }
    if (status != TNR_OK) {
        tnri_draft_cancel(draft, reason);
        return status;
    }
    return tnr_draft_commit(&draft, tensor);
}

static tnr_status make_filled(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                              const source *from, tnr_tensor **tensor)
{
    TNR_REQUIRE(domain != NULL && tensor != NULL, TNR_ERR_ARGUMENT, "%s: domain and tensor must not be NULL", op);
    TNR_TRY(check_reachable(op, domain));
    tnr_draft *draft;
    TNR_TRY(tnri_draft_begin(op, domain, dtype, rank, shape, TNR_ALLOCATION_CREATE, &draft));
    return fill_and_commit(op, draft, TNR_ALLOCATION_CREATE, from, tensor);
}

tnr_status tnr_tensor_zeros(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape, tnr_tensor **tensor)
{
    const source zeros = {NULL, NULL, NULL};
    return make_filled("tensor_zeros", domain, dtype, rank, shape, &zeros, tensor);
}

tnr_status tnr_tensor_full(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape, const void *value,
                           tnr_tensor **tensor)
{
    static const int64_t still[TNR_MAX_RANK];
    TNR_REQUIRE(value != NULL, TNR_ERR_ARGUMENT, "tensor_full: value must not be NULL");
    const source one = {NULL, value, still};
    return make_filled("tensor_full", domain, dtype, rank, shape, &one, tensor);
}

/* A named copy of an array whose length says the shape right. */
static tnr_status from_array(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                             const void *data, uint64_t bytes, tnr_copy_reason reason, tnr_tensor **tensor)
{
    int64_t count;
    uint64_t need;
    TNR_TRY(tnri_shape_bytes(op, dtype, rank, shape, &count, &need));
    TNR_REQUIRE(bytes == need, TNR_ERR_SHAPE, "%s: the shape needs %llu bytes, the buffer has %llu", op, TNRI_LLU(need),
                TNRI_LLU(bytes));
    TNR_REQUIRE(data != NULL || bytes == 0, TNR_ERR_ARGUMENT, "%s: data must not be NULL", op);
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
    TNR_TRY(make_filled(op, domain, dtype, rank, shape, &array, tensor));
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
    return from_array("tensor_from_row_major", domain, dtype, rank, shape, data, bytes, TNR_COPY_FROM_ROW_MAJOR, tensor);
}

tnr_status tnri_duplicate(const char *op, const tnr_view *view, tnr_domain *domain, tnr_copy_reason reason,
                          tnr_tensor **tensor)
{
    TNR_REQUIRE(view != NULL && domain != NULL && tensor != NULL, TNR_ERR_ARGUMENT,
                "%s: view, domain and tensor must not be NULL", op);
    TNR_TRY(check_reachable(op, domain));
    tnr_draft *draft;
    TNR_TRY(tnri_draft_begin(op, domain, view->dtype, view->rank, view->shape, TNR_ALLOCATION_COPY, &draft));
    const uint64_t bytes = draft->tensor.bytes;
    const source from = {view, NULL, NULL};
    TNR_TRY(fill_and_commit(op, draft, TNR_ALLOCATION_COPY, &from, tensor));
    tnri_ledger_copy(domain, reason, bytes);
    return TNR_OK;
}

tnr_status tnr_tensor_duplicate(const tnr_view *view, tnr_domain *domain, tnr_tensor **tensor)
{
    return tnri_duplicate("tensor_duplicate", view, domain, TNR_COPY_DUPLICATE, tensor);
}
