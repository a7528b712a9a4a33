/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner: adopting, releasing, exporting, importing, reclaiming, describing, and views of all or a region of it.
 *
 * Order of letting go: end the generation (from then on every view is stale and nobody else can get in), give the bytes
 * back, give the handle back.
 */
#include "storage_internal.h"

_Static_assert(sizeof(tnr_tensor) <= TNRI_HANDLE_BYTES, "a tensor fits a slot");

/* ---- Inside ------------------------------------------------------------------------------------------------------------------ */

tnr_status tnri_tensor_check(const char *op, const tnr_tensor *tensor, uint32_t *generation)
{
    TNR_REQUIRE(tensor != NULL, TNR_ERR_ARGUMENT, "%s: tensor must not be NULL", op);
    const uint64_t state = atomic_load_explicit(&tensor->handle.state, memory_order_acquire);
    const uint32_t kind = atomic_load_explicit(&tensor->handle.kind, memory_order_acquire);
    TNR_REQUIRE(kind == TNRI_HANDLE_TENSOR, TNR_ERR_STALE, "%s: the tensor was released%s", op,
                kind == TNRI_HANDLE_GROUPED ? " to a group" : " or never was one");
    *generation = (uint32_t)(state >> 32);
    return TNR_OK;
}

void tnri_root_init(tnr_tensor *root, tnr_domain *domain, uint64_t bytes, tnr_dtype dtype, int rank,
                    const int64_t *shape)
{
    root->domain = domain;
    root->bytes = bytes;
    root->release = NULL;
    root->context = NULL;
    root->group_serial = 0;
    root->split = 0;
    root->split_parts = 0;
    memset(root->split_readers, 0, sizeof(root->split_readers));
    root->dtype = (uint8_t)dtype;
    root->rank = (uint8_t)rank;
    root->access = (uint8_t)(domain != NULL ? domain->access : TNR_ACCESS_DIRECT);
    root->coherent = domain == NULL || domain->coherent;
    for (int axis = 0; axis < rank; axis++) {
        root->shape[axis] = shape[axis];
    }
}

void tnri_root_view(const tnr_tensor *root, uint32_t generation, tnr_view *view)
{
    const int rank = root->rank <= TNR_MAX_RANK ? root->rank : 0; /* a slot that went meanwhile may say anything */
    view->root = (tnr_tensor *)(uintptr_t)root; /* whether it may be written is told by the view's type */
    view->generation = generation;
    view->dtype = (tnr_dtype)root->dtype;
    view->rank = rank;
    view->part = 0;
    view->split = 0;
    view->base = tnri_root_base(root);
    view->window_begin = 0;
    view->window_bytes = root->bytes;
    view->offset = 0;
    for (int axis = 0; axis < rank; axis++) {
        view->shape[axis] = root->shape[axis];
    }
    tnri_compact_strides(rank, view->shape, view->strides);
}

tnr_domain_id tnri_root_domain(const tnr_tensor *root)
{
    return tnri_identity_of(root->domain != NULL ? root->domain->serial : root->group_serial);
}

uint64_t tnri_root_allocation(const tnr_tensor *root)
{
    return root->domain != NULL || root->group_serial != 0 ? root->block.allocation : 0;
}

tnr_placement tnri_root_placement(const tnr_tensor *root)
{
    const tnr_placement host = TNR_PLACEMENT_HOST;
    return root->domain != NULL ? root->domain->placement : host;
}

tnr_status tnri_view_placement(const char *op, const tnr_view *view, tnr_placement *placement)
{
    TNR_REQUIRE(view->root != NULL, TNR_ERR_ARGUMENT, "%s: the view has no owner", op);
    TNR_REQUIRE(view->generation == tnri_generation(view->root), TNR_ERR_STALE,
                "%s: the view's owner was released or moved", op);
    *placement = tnri_root_placement(view->root);
    return TNR_OK;
}

void tnri_root_free(tnr_tensor *root)
{
    tnr_domain *counted = tnri_owner_domain(root);
    if (root->domain != NULL) {
        tnri_block_give(root->domain, &root->block);
    } else if (root->release != NULL) {
        root->release(root->context, root->block.address, root->bytes);
    }
    tnri_handle_give(counted, &root->handle, true);
}

tnr_status tnri_fail_residency(const char *op, const tnr_tensor *root)
{
    if (TNRI_DEVICES && tnri_root_placement(root).kind == TNR_MEMORY_DEVICE) {
        return tnri_fail(TNR_ERR_RESIDENCY,
                         "%s: the bytes lie in domain \"%s\", which the host cannot reach: download them to a host "
                         "domain first (tnr_cuda_download; tnr_cuda_upload_into writes there)",
                         op, tnr_domain_name(root->domain));
    }
    return tnri_fail(
        TNR_ERR_RESIDENCY,
        "%s: the bytes lie in domain \"%s\", which the host cannot reach: download them to a host domain first", op,
        tnr_domain_name(root->domain));
}

tnr_status tnri_region(const char *op, const tnr_tensor *root, uint32_t generation, tnr_dtype dtype,
                       uint64_t window_begin, uint64_t window_bytes, int rank, const int64_t *shape,
                       const int64_t *strides, int64_t offset, tnr_view *view)
{
    int64_t count;
    TNR_REQUIRE(rank >= 0 && rank <= TNR_MAX_RANK, TNR_ERR_ARGUMENT, "%s: rank %d is not in 0 to %d", op, rank,
                TNR_MAX_RANK);
    TNR_REQUIRE((shape != NULL && strides != NULL) || rank == 0, TNR_ERR_ARGUMENT,
                "%s: shape and strides must not be NULL", op);
    const int64_t elements = (int64_t)(window_bytes / tnr_dtype_size(dtype));
    TNR_TRY(tnri_layout_check(op, rank, shape, strides, offset, elements, &count));
    tnr_view made;
    made.root = (tnr_tensor *)(uintptr_t)root;
    made.generation = generation;
    made.dtype = dtype;
    made.rank = rank;
    made.part = 0;
    made.split = 0;
    made.base = tnri_root_base(root);
    made.window_begin = window_begin;
    made.window_bytes = window_bytes;
    made.offset = offset;
    for (int axis = 0; axis < rank; axis++) {
        made.shape[axis] = shape[axis];
        made.strides[axis] = strides[axis];
    }
    *view = made;
    return TNR_OK;
}

/* ---- Adopting ---------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_buffer_check(const char *op, tnr_dtype dtype, int rank, const int64_t *shape, const void *data,
                             uint64_t bytes, int64_t *count)
{
    uint64_t need;
    TNR_TRY(tnri_shape_bytes(op, dtype, rank, shape, count, &need));
    TNR_REQUIRE(bytes == need, TNR_ERR_SHAPE, "%s: the shape needs %llu bytes, the buffer has %llu", op, TNRI_LLU(need),
                TNRI_LLU(bytes));
    TNR_REQUIRE(data != NULL || bytes == 0, TNR_ERR_ARGUMENT, "%s: data must not be NULL", op);
    TNR_REQUIRE((uintptr_t)data % tnr_dtype_alignment(dtype) == 0, TNR_ERR_ARGUMENT,
                "%s: data is not aligned to the %llu bytes of %s", op, TNRI_LLU(tnr_dtype_alignment(dtype)),
                tnr_dtype_name(dtype));
    return TNR_OK;
}

/* A handle for bytes that are already there; the block's owner is `domain`, or nobody (adopted). */
static tnr_status wrap(tnr_domain *counted, tnr_domain *domain, const tnr_block *block, uint64_t bytes, tnr_dtype dtype,
                       int rank, const int64_t *shape, tnr_tensor **tensor)
{
    tnri_handle *handle;
    TNR_TRY(tnri_handle_take(counted, TNR_ALLOCATION_REASON_END, 0, &handle));
    tnr_tensor *root = (tnr_tensor *)(void *)handle;
    tnri_root_init(root, domain, bytes, dtype, rank, shape);
    root->block = *block;
    *tensor = root;
    return TNR_OK;
}

tnr_status tnr_tensor_adopt(tnr_domain *home, tnr_dtype dtype, int rank, const int64_t *shape, void *data,
                            uint64_t bytes, tnr_release_fn release, void *context, tnr_tensor **tensor)
{
    static const char *const op = "tensor_adopt";
    TNR_REQUIRE(home != NULL && tensor != NULL, TNR_ERR_ARGUMENT, "%s: home and tensor must not be NULL", op);
    int64_t count;
    TNR_TRY(tnri_buffer_check(op, dtype, rank, shape, data, bytes, &count));
    const tnr_block block = {.address = data, .bytes = bytes};
    tnr_tensor *root;
    TNR_TRY(wrap(home->home, NULL, &block, bytes, dtype, rank, shape, &root));
    root->release = release;
    root->context = context;
    tnri_handle_publish(&root->handle, TNRI_HANDLE_TENSOR);
    *tensor = root;
    return TNR_OK;
}

/* ---- Letting go -------------------------------------------------------------------------------------------------------------- */

tnr_status tnr_tensor_release(tnr_tensor **tensor)
{
    if (tensor == NULL || *tensor == NULL) {
        return TNR_OK;
    }
    TNR_TRY(tnri_generation_end("tensor_release", *tensor, TNRI_HANDLE_TENSOR, TNRI_HANDLE_FREE));
    tnri_root_free(*tensor);
    *tensor = NULL;
    return TNR_OK;
}

/* The bytes' way out of the library: the block that the caller gets, counted in `*domain`. */
static tnr_status lend_bytes(tnr_tensor *root, tnr_domain **domain, tnr_block *lent)
{
    *domain = root->domain;
    *lent = root->block;
    if (root->domain == NULL || root->bytes == 0) {
        *domain = NULL;
        return TNR_OK;
    }
    if (!tnri_is_pool(root->domain)) {
        return tnri_block_lend(root->domain, &root->block, lent);
    }
    /* The parent is kept from closing by the lent block before the pool lets go of it. */
    tnr_block parent_block;
    *domain = root->domain->parent;
    tnri_pool_parent_block(root->domain, &root->block, &parent_block);
    TNR_TRY(tnri_block_lend(*domain, &parent_block, lent));
    tnri_pool_detach(root->domain, &root->block);
    return TNR_OK;
}

/* All that an export tells, of a tensor that is held. */
static tnr_status export_held(const char *op, tnr_tensor *root, tnr_exported *exported)
{
    const tnr_host_access access = tnri_root_access(root);
    if (access == TNR_ACCESS_NONE) {
        return tnri_fail_residency(op, root);
    }
    TNR_REQUIRE(access == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "%s: the bytes lie in domain \"%s\", which the host reaches by mapping: tnr_tensor_duplicate them to a "
                "host domain first",
                op, tnr_domain_name(root->domain));
    memset(exported, 0, sizeof(*exported));
    /* An adopted buffer is its release function's, also when it is empty. */
    exported->data = root->bytes != 0 || root->domain == NULL ? root->block.address : NULL;
    exported->bytes = root->bytes;
    exported->dtype = (tnr_dtype)root->dtype;
    exported->rank = root->rank;
    memcpy(exported->shape, root->shape, (size_t)root->rank * sizeof(root->shape[0]));
    exported->release = root->release;
    exported->context = root->context;
    return lend_bytes(root, &exported->domain, &exported->block);
}

tnr_status tnr_tensor_export(tnr_tensor **tensor, tnr_exported *exported)
{
    static const char *const op = "tensor_export";
    TNR_REQUIRE(tensor != NULL && exported != NULL, TNR_ERR_ARGUMENT, "%s: tensor and exported must not be NULL", op);
    tnr_tensor *root = *tensor;
    uint32_t generation;
    TNR_TRY(tnri_tensor_check(op, root, &generation));
    /* Held before anything of it is looked at: a copied pointer's owner may be going at this moment. */
    TNR_TRY(tnri_generation_hold(op, root, TNRI_HANDLE_TENSOR));
    tnr_exported made;
    const tnr_status status = export_held(op, root, &made);
    if (status != TNR_OK) {
        tnri_generation_unhold(root);
        return status;
    }
    tnri_generation_end_held(root, TNRI_HANDLE_FREE);
    tnri_handle_give(tnri_owner_domain(root), &root->handle, false);
    *exported = made;
    *tensor = NULL;
    return TNR_OK;
}

static tnr_status check_exported(const char *op, const tnr_exported *exported)
{
    int64_t count;
    uint64_t bytes;
    TNR_TRY(tnri_shape_bytes(op, exported->dtype, exported->rank, exported->shape, &count, &bytes));
    TNR_REQUIRE(bytes == exported->bytes && (bytes == 0 || exported->data != NULL), TNR_ERR_SHAPE,
                "%s: shape and bytes of the exported buffer do not agree", op);
    TNR_REQUIRE((uintptr_t)exported->data % tnr_dtype_alignment(exported->dtype) == 0, TNR_ERR_ARGUMENT,
                "%s: data is not aligned to the %llu bytes of %s", op, TNRI_LLU(tnr_dtype_alignment(exported->dtype)),
                tnr_dtype_name(exported->dtype));
    TNR_REQUIRE(exported->domain == NULL ||
                    (exported->block.address == exported->data && exported->block.bytes >= bytes),
                TNR_ERR_ARGUMENT, "%s: data is not the exported block", op);
    return TNR_OK;
}

tnr_status tnr_tensor_import(tnr_domain *home, tnr_exported *exported, tnr_tensor **tensor)
{
    static const char *const op = "tensor_import";
    TNR_REQUIRE(home != NULL && exported != NULL && tensor != NULL, TNR_ERR_ARGUMENT,
                "%s: home, exported and tensor must not be NULL", op);
    TNR_TRY(check_exported(op, exported));
    tnr_domain *domain = exported->domain;
    tnr_domain *counted = domain != NULL ? domain : home->home;
    tnr_block block = {.address = exported->data, .bytes = exported->bytes};
    tnr_tensor *root;
    TNR_TRY(wrap(counted, domain, &block, exported->bytes, exported->dtype, exported->rank, exported->shape, &root));
    if (domain != NULL) {
        const tnr_status status = tnri_block_retake(domain, &exported->block, &root->block);
        if (status != TNR_OK) {
            tnri_handle_cancel(counted, TNR_ALLOCATION_REASON_END, 0, &root->handle);
            return status;
        }
    }
    root->release = exported->release;
    root->context = exported->context;
    tnri_handle_publish(&root->handle, TNRI_HANDLE_TENSOR);
    memset(exported, 0, sizeof(*exported));
    *tensor = root;
    return TNR_OK;
}

tnr_status tnr_exported_free(tnr_exported *exported)
{
    if (exported == NULL) {
        return TNR_OK;
    }
    if (exported->domain != NULL) {
        TNR_TRY(tnr_domain_release(exported->domain, &exported->block));
    } else if (exported->release != NULL) {
        exported->release(exported->context, exported->data, exported->bytes);
    }
    memset(exported, 0, sizeof(*exported));
    return TNR_OK;
}

tnr_status tnr_exported_forget(tnr_exported *exported, void **data)
{
    static const char *const op = "exported_forget";
    TNR_REQUIRE(exported != NULL && data != NULL, TNR_ERR_ARGUMENT, "%s: exported and data must not be NULL", op);
    if (exported->bytes == 0 && exported->domain == NULL && exported->release == NULL) {
        memset(exported, 0, sizeof(*exported));
        *data = NULL;
        return TNR_OK;
    }
    TNR_REQUIRE(exported->domain != NULL && tnri_is_heap(exported->domain), TNR_ERR_FOREIGN,
                "%s: the bytes are no heap domain's block", op);
    tnr_block block;
    TNR_TRY(tnri_block_retake(exported->domain, &exported->block, &block));
    tnri_tally_give(&exported->domain->tally, block.bytes);
    memset(exported, 0, sizeof(*exported));
    *data = block.address;
    return TNR_OK;
}

tnr_status tnr_tensor_reclaim(tnr_domain *pool, tnr_tensor **tensor)
{
    static const char *const op = "tensor_reclaim";
    TNR_REQUIRE(pool != NULL && tnri_is_pool(pool), TNR_ERR_ARGUMENT, "%s: the domain is no pool", op);
    TNR_REQUIRE(tensor != NULL, TNR_ERR_ARGUMENT, "%s: tensor must not be NULL", op);
    tnr_tensor *root = *tensor;
    uint32_t generation;
    TNR_TRY(tnri_tensor_check(op, root, &generation));
    TNR_TRY(tnri_generation_hold(op, root, TNRI_HANDLE_TENSOR));
    tnr_domain *domain = root->domain;
    if (domain != pool && (domain == NULL || domain != pool->parent)) {
        tnri_generation_unhold(root);
        return tnri_fail(TNR_ERR_FOREIGN, "%s: the bytes are neither the pool's nor its parent's", op);
    }
    tnri_generation_end_held(root, TNRI_HANDLE_FREE);
    if (domain == pool || root->bytes == 0 || !tnri_pool_accept(pool, &root->block)) {
        tnri_root_free(root);
    } else {
        tnri_handle_give(domain, &root->handle, true);
    }
    *tensor = NULL;
    return TNR_OK;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------------------ */

tnr_status tnr_tensor_describe(const tnr_tensor *tensor, tnr_tensor_info *info)
{
    TNR_REQUIRE(info != NULL, TNR_ERR_ARGUMENT, "tensor_describe: info must not be NULL");
    uint32_t generation;
    TNR_TRY(tnri_tensor_check("tensor_describe", tensor, &generation));
    memset(info, 0, sizeof(*info));
    info->dtype = (tnr_dtype)tensor->dtype;
    info->rank = tensor->rank;
    memcpy(info->shape, tensor->shape, (size_t)tensor->rank * sizeof(tensor->shape[0]));
    info->bytes = tensor->bytes;
    info->count = (int64_t)(tensor->bytes >> tnri_dtype_shift[tensor->dtype]);
    info->capacity_bytes = tensor->block.bytes;
    info->domain = tnri_root_domain(tensor);
    info->allocation = tnri_root_allocation(tensor);
    info->placement = tnri_root_placement(tensor);
    info->access = tnri_root_access(tensor);
    return TNR_OK;
}

tnr_status tnr_tensor_need(tnr_dtype dtype, int rank, const int64_t *shape, uint64_t count, tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "tensor_need: need must not be NULL");
    int64_t elements;
    uint64_t bytes;
    TNR_TRY(tnri_shape_bytes("tensor_need", dtype, rank, shape, &elements, &bytes));
    tnr_need made = {0, 0, 0};
    if (bytes != 0) {
        TNR_TRY(tnr_block_need(bytes, count, &made));
    }
    made.handles = count;
    *need = made;
    return TNR_OK;
}

/* ---- Views ------------------------------------------------------------------------------------------------------------------- */

tnr_status tnr_tensor_view(const tnr_tensor *tensor, tnr_view *view)
{
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "tensor_view: view must not be NULL");
    uint32_t generation;
    TNR_TRY(tnri_tensor_check("tensor_view", tensor, &generation));
    tnri_root_view(tensor, generation, view);
    return TNR_OK;
}

tnr_status tnr_tensor_view_mut(tnr_tensor *tensor, tnr_view_mut *view)
{
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "tensor_view_mut: view must not be NULL");
    uint32_t generation;
    TNR_TRY(tnri_tensor_check("tensor_view_mut", tensor, &generation));
    tnri_root_view(tensor, generation, &view->view);
    return TNR_OK;
}

tnr_status tnr_tensor_region(const tnr_tensor *tensor, int rank, const int64_t *shape, const int64_t *strides,
                             int64_t offset, tnr_view *view)
{
    static const char *const op = "tensor_region";
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: view must not be NULL", op);
    uint32_t generation;
    TNR_TRY(tnri_tensor_check(op, tensor, &generation));
    return tnri_region(op, tensor, generation, (tnr_dtype)tensor->dtype, 0, tensor->bytes, rank, shape, strides, offset,
                       view);
}

tnr_status tnr_tensor_region_mut(tnr_tensor *tensor, int rank, const int64_t *shape, const int64_t *strides,
                                 int64_t offset, tnr_view_mut *view)
{
    static const char *const op = "tensor_region_mut";
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: view must not be NULL", op);
    uint32_t generation;
    TNR_TRY(tnri_tensor_check(op, tensor, &generation));
    tnr_view made;
    TNR_TRY(tnri_region(op, tensor, generation, (tnr_dtype)tensor->dtype, 0, tensor->bytes, rank, shape, strides,
                        offset, &made));
    TNR_REQUIRE(tnri_is_distinct(rank, shape, strides), TNR_ERR_OVERLAP,
                "%s: two indices may fall on one element; read such a view with tnr_tensor_region", op);
    view->view = made;
    return TNR_OK;
}
