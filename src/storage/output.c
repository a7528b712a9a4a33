/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outputs that the library writes itself. Until an output is committed nobody else knows its handle, so it needs no lease,
 * no published slot, and on failure everything it took goes back as if it had never been asked for.
 */
#include "storage_internal.h"

tnr_status tnri_root_take(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                          tnr_allocation_reason reason, tnr_tensor **root)
{
    int64_t count;
    uint64_t bytes;
    TNR_TRY(tnri_shape_bytes(op, dtype, rank, shape, &count, &bytes));
    tnri_handle *handle;
    tnr_status status = tnri_handle_take(domain, reason, bytes, &handle);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        return tnri_failed_in(op, NULL, status);
    }
    tnr_tensor *taken = (tnr_tensor *)(void *)handle;
    status = tnri_block_take(domain, bytes, &taken->block);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        tnri_handle_cancel(domain, reason, bytes, handle);
        return tnri_failed_in(op, NULL, status);
    }
    tnri_root_init(taken, domain, bytes, dtype, rank, shape);
    *root = taken;
    return TNR_OK;
}

static void give_back(const tnri_output *output)
{
    tnr_tensor *root = output->root;
    tnr_domain *domain = root->domain;
    const uint64_t bytes = root->bytes;
    tnri_block_undo(domain, &root->block);
    tnri_handle_cancel(domain, output->reason, bytes, &root->handle);
}

static tnr_status map_bytes(const tnr_tensor *root, bool bare, void **host)
{
    if (root->bytes == 0 || tnri_root_access(root) == TNR_ACCESS_DIRECT) {
        *host = root->bytes != 0 ? root->block.address : NULL;
        return TNR_OK;
    }
    if (bare || tnri_root_access(root) == TNR_ACCESS_NONE) {
        *host = (void *)TNRI_AWAY_BASE;
        return TNR_OK;
    }
    return root->domain->kind->map(root->domain, &root->block, TNR_MAP_WRITE, host);
}

static tnr_status begin(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                        tnr_allocation_reason reason, bool bare, tnri_output *output)
{
    output->reason = reason;
    output->host = NULL;
    TNR_TRY(tnri_root_take(op, domain, dtype, rank, shape, reason, &output->root));
    const tnr_status status = map_bytes(output->root, bare, &output->host);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        give_back(output);
        return tnri_failed_in(op, "the output", status);
    }
    output->data = output->host;
    tnri_root_view(output->root, tnri_generation(output->root), &output->view);
    return TNR_OK;
}

tnr_status tnri_output_begin(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                             tnr_allocation_reason reason, tnri_output *output)
{
    TNR_REQUIRE(domain->access != TNR_ACCESS_NONE, TNR_ERR_RESIDENCY,
                "%s: the host cannot reach domain \"%s\": fill a host tensor and upload it", op,
                tnr_domain_name(domain));
    return begin(op, domain, dtype, rank, shape, reason, false, output);
}

tnr_status tnri_output_begin_away(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                  tnr_allocation_reason reason, tnri_output *output)
{
    TNR_REQUIRE(domain->access != TNR_ACCESS_NONE || domain->copies, TNR_ERR_RESIDENCY,
                "%s: the host cannot reach domain \"%s\", which has no read and write: name a host domain, and upload",
                op, tnr_domain_name(domain));
    return begin(op, domain, dtype, rank, shape, reason, false, output);
}

tnr_status tnri_output_begin_bare(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                  tnr_allocation_reason reason, tnri_output *output)
{
    return begin(op, domain, dtype, rank, shape, reason, true, output);
}

tnr_status tnri_output_end(tnri_output *output, tnr_status status, tnr_tensor **tensor)
{
    tnr_tensor *root = output->root;
    if (TNRI_UNLIKELY(tnri_root_access(root) == TNR_ACCESS_MAPPED) && output->host != NULL &&
        output->host != (void *)TNRI_AWAY_BASE) {
        const tnr_status unmapped = root->domain->kind->unmap(root->domain, &root->block, TNR_MAP_WRITE, output->host);
        status = status == TNR_OK ? unmapped : status;
    }
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        give_back(output);
        return status;
    }
    tnri_handle_publish(&root->handle, TNRI_HANDLE_TENSOR);
    *tensor = root;
    return TNR_OK;
}
