/* SPDX-License-Identifier: BSD-3-Clause */
/* New tensors of zeros on the device: filled there, in their lane. */
#include "cuda_internal.h"

/* Under the lock, context current. */
static tnr_status fill(const char *op, tnr_cuda_lane *lane, tnri_memory *memory, uint64_t bytes)
{
    TNR_REQUIRE(lane->device->managed_maps == 0 || lane->device->info.concurrent_managed, TNR_ERR_BUSY,
                "%s: a managed tensor is mapped, and this device cannot work meanwhile", op);
    TNR_TRY(tnri_lane_order(op, lane, memory, true));
    (void)tnri_lane_begin(lane);
    tnri_lane_note(lane, memory, true);
    lane->device->counts.operations++;
    return TNRI_CUDA(op, lane->device, fill_bytes, memory->address, 0, bytes, lane->stream);
}

static tnr_status fill_root(const char *op, tnr_cuda_lane *lane, const tnr_tensor *root)
{
    tnr_cuda_device *device = lane->device;
    if (root->bytes == 0) {
        return TNR_OK;
    }
    TNR_TRY(tnri_device_enter(op, device));
    tnri_memory *memory = tnri_memory_find(device, (uint64_t)(uintptr_t)root->block.address);
    tnr_status status = TNR_OK;
    if (memory == NULL) {
        status = tnri_fail(TNR_ERR_FOREIGN, "%s: the block is not the device's", op);
    } else {
        status = fill(op, lane, memory, root->bytes);
    }
    return tnri_device_leave(device, true, status);
}

tnr_status tnr_cuda_zeros(tnr_cuda_lane *lane, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                          tnr_tensor **tensor)
{
    static const char *const op = "cuda_zeros";
    TNR_REQUIRE(lane != NULL && domain != NULL && tensor != NULL, TNR_ERR_ARGUMENT,
                "%s: lane, domain and tensor must not be NULL", op);
    static const tnri_hint hint = {"domain", "tnr_tensor_zeros makes tensors of host memory", TNRI_OWN_LANE};
    TNR_TRY(tnri_lane_enter(op, lane));
    tnri_output output;
    tnr_status status = tnri_check_device_domain(op, lane->device, domain, &hint);
    if (status == TNR_OK) {
        status = tnr_provider.output_begin_bare(op, domain, dtype, rank, shape, TNR_ALLOCATION_CREATE, &output);
    }
    if (status == TNR_OK) {
        status = tnr_provider.output_end(&output, fill_root(op, lane, output.root), tensor);
    }
    tnri_lane_leave(lane);
    return status;
}
