/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels on a device: compiled and loaded when the first one is wanted, launched in a lane.
 *
 * Guarantees: without NVRTC, or where the device refuses the image, there are none, which is found out once; whoever asked goes
 * another way that it documents. Zero elements are no launch.
 */
#include "cuda_internal.h"

static const char *const NAMES[TNRI_KERNELS] = {"tnri_pack_1", "tnri_pack_4", "tnri_pack_8", "tnri_pack_16"};

static tnr_status load(const char *op, tnr_cuda_device *device)
{
    tnr_block image;
    TNR_TRY(tnri_nvrtc_compile(op, device->nvrtc[0] != '\0' ? device->nvrtc : NULL, device->info.major,
                               device->info.minor, device->home, &image));
    tnr_status status = TNRI_CUDA(op, device, module_load, &device->module, image.address);
    for (int at = 0; at < TNRI_KERNELS && status == TNR_OK; at++) {
        status = TNRI_CUDA(op, device, module_function, &device->kernels[at], device->module, NAMES[at]);
    }
    tnr_provider.record_give(device->home, &image);
    return status;
}

bool tnri_kernels_ready(const char *op, tnr_cuda_device *device)
{
    if (device->kernel_state == TNRI_KERNELS_UNTRIED) {
        device->kernel_state = load(op, device) == TNR_OK ? TNRI_KERNELS_READY : TNRI_KERNELS_NONE;
    }
    return device->kernel_state == TNRI_KERNELS_READY;
}

void tnri_kernels_end(tnr_cuda_device *device, bool current)
{
    if (device->module != NULL && current) {
        (void)TNRI_CUDA("device_close", device, module_unload, device->module);
    }
    device->module = NULL;
    device->kernel_state = TNRI_KERNELS_NONE;
}

tnr_status tnri_kernel_pack(const char *op, tnr_cuda_lane *lane, uint64_t element_bytes, const tnri_pair *axes,
                            uint64_t target, uint64_t source)
{
    tnr_cuda_device *device = lane->device;
    tnri_pack_layout layout;
    memset(&layout, 0, sizeof(layout));
    layout.count = 1;
    layout.rank = axes->rank;
    for (int axis = 0; axis < axes->rank; axis++) {
        layout.shape[axis] = axes->shape[axis];
        layout.target[axis] = axes->away[axis];
        layout.source[axis] = axes->host[axis] * (int64_t)element_bytes;
        layout.count *= axes->shape[axis];
    }
    target += (uint64_t)axes->away_begin;
    source += (uint64_t)(axes->host_begin * (int64_t)element_bytes);
    const int64_t blocks = tnri_quotient_up(layout.count, TNRI_PACK_THREADS);
    const unsigned grid = blocks < TNRI_PACK_MOST_BLOCKS ? (unsigned)blocks : (unsigned)TNRI_PACK_MOST_BLOCKS;
    void *parameters[] = {&layout, &target, &source};
    const int kernel = element_bytes == 1 ? 0 : element_bytes == 4 ? 1 : element_bytes == 8 ? 2 : 3;
    device->counts.operations++;
    device->counts.launches++;
    return TNRI_CUDA(op, device, launch, device->kernels[kernel], grid, 1, 1, TNRI_PACK_THREADS, 1, 1, 0, lane->stream,
                     parameters, NULL);
}
