/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels on a device: a module is loaded when the first of its kernels is wanted, and stays until the device object is closed.
 *
 * Guarantees: what cannot be had is found out once for each module, and said every time; a call that went wrong for want of memory is
 * tried again. Zero elements are no launch.
 */
#include <stdlib.h>

#include "cuda_internal.h"

/* By the images that are built in; TNR_ERR_UNSUPPORTED: there are none, or the device takes none of them. */
static tnr_status load_built(const char *op, tnr_cuda_device *device, tnri_module module)
{
    const char *wanted = getenv("TENURE_CUDA_IMAGES");
    if (tnri_module_images[module] == NULL || (wanted != NULL && strcmp(wanted, "off") == 0)) {
        return TNR_ERR_UNSUPPORTED;
    }
    const CUresult code = device->driver.module_load(&device->modules[module], tnri_module_images[module]);
    if (code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_INVALID_IMAGE ||
        code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || code == CUDA_ERROR_INVALID_PTX ||
        code == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || code == CUDA_ERROR_JIT_COMPILATION_DISABLED) {
        device->modules[module] = NULL;
        return TNR_ERR_UNSUPPORTED;
    }
    return tnri_device_check(op, device, tnri_call_name_module_load, code);
}

static tnr_status load_compiled(const char *op, tnr_cuda_device *device, tnri_module module)
{
    tnr_block image;
    TNR_TRY(tnri_nvrtc_compile(op, device->nvrtc[0] != '\0' ? device->nvrtc : NULL, module, device->info.major,
                               device->info.minor, device->home, &image));
    const tnr_status status = TNRI_CUDA(op, device, module_load, &device->modules[module], image.address);
    tnr_provider.record_give(device->home, &image);
    return status;
}

static tnr_status load(const char *op, tnr_cuda_device *device, tnri_module module)
{
    tnr_status status = load_built(op, device, module);
    if (status == TNR_ERR_UNSUPPORTED) {
        status = load_compiled(op, device, module);
    }
    device->module_states[module] = status == TNR_OK           ? TNRI_MODULE_LOADED
                                    : status == TNR_ERR_MEMORY ? TNRI_MODULE_UNTRIED
                                                               : TNRI_MODULE_NONE;
    return status;
}

tnr_status tnri_kernel_get(const char *op, tnr_cuda_device *device, int kernel, CUfunction *function)
{
    TNR_REQUIRE(kernel >= 0 && kernel < TNRI_KERNELS, TNR_ERR_UNSUPPORTED, "%s: not on devices for this dtype", op);
    const tnri_module module = (tnri_module)tnri_kernel_modules[kernel];
    if (device->module_states[module] == TNRI_MODULE_UNTRIED) {
        TNR_TRY(load(op, device, module));
    }
    TNR_REQUIRE(device->module_states[module] == TNRI_MODULE_LOADED, TNR_ERR_UNSUPPORTED,
                "%s: the kernels of \"%s\" could not be loaded on %s when they were first wanted: neither as built nor "
                "by NVRTC",
                op, tnri_module_names[module], device->info.name);
    if (device->kernels[kernel] == NULL) {
        const tnr_status status = TNRI_CUDA(op, device, module_function, &device->kernels[kernel],
                                            device->modules[module], tnri_kernel_names[kernel]);
        if (status != TNR_OK) {
            device->kernels[kernel] = NULL;
            device->module_states[module] = status == TNR_ERR_MEMORY ? TNRI_MODULE_LOADED : TNRI_MODULE_NONE;
            return status;
        }
    }
    *function = device->kernels[kernel];
    return TNR_OK;
}

bool tnri_kernels_ready(const char *op, tnr_cuda_device *device)
{
    CUfunction any;
    return device->module_states[TNRI_MODULE_move] != TNRI_MODULE_NONE &&
           tnri_kernel_get(op, device, TNRI_KERNEL_pack_1, &any) == TNR_OK;
}

void tnri_kernels_end(tnr_cuda_device *device, bool current)
{
    for (int module = 0; module < TNRI_MODULES; module++) {
        if (device->modules[module] != NULL && current) {
            (void)TNRI_CUDA("device_close", device, module_unload, device->modules[module]);
        }
        device->modules[module] = NULL;
        device->module_states[module] = TNRI_MODULE_NONE;
    }
}

tnr_status tnri_kernel_launch(const char *op, tnr_cuda_lane *lane, int kernel, unsigned blocks, void **parameters)
{
    tnr_cuda_device *device = lane->device;
    CUfunction function;
    TNR_TRY(tnri_kernel_get(op, device, kernel, &function));
    device->counts.operations++;
    device->counts.launches++;
    return TNRI_CUDA(op, device, launch, function, blocks, 1, 1, TNRI_KERNEL_THREADS, 1, 1, 0, lane->stream, parameters,
                     NULL);
}

tnr_status tnri_kernel_copy(const char *op, tnr_cuda_lane *lane, int rank, const int64_t *shape,
                            tnri_kernel_operand *operands)
{
    const int multiprocessors = lane->device->multiprocessors;
    const size_t width = operands[0].width;
    tnri_map_layout layout;
    tnri_copy_layout_make(&layout, rank, shape, operands);
    const bool turned = layout.way == TNRI_WAY_TURNED;
    void *parameters[] = {&layout, &operands[0].address, &operands[1].address};
    return tnri_kernel_launch(op, lane, tnri_kernel_of_width(turned ? TNRI_KERNEL_turn_1 : TNRI_KERNEL_pack_1, width),
                              turned ? tnri_turn_blocks(&layout, multiprocessors)
                                     : tnri_map_blocks(layout.count, multiprocessors),
                              parameters);
}

tnr_status tnri_kernel_pack(const char *op, tnr_cuda_lane *lane, uint64_t element_bytes, const tnri_pair *axes,
                            uint64_t target, uint64_t source)
{
    int64_t away[TNR_MAX_RANK];
    for (int axis = 0; axis < axes->rank; axis++) {
        away[axis] = axes->away[axis] / (int64_t)element_bytes;
    }
    tnri_kernel_operand operands[2] = {
        {target + (uint64_t)axes->away_begin, (size_t)element_bytes, away},
        {source + (uint64_t)(axes->host_begin * (int64_t)element_bytes), (size_t)element_bytes, axes->host}};
    return tnri_kernel_copy(op, lane, axes->rank, axes->shape, operands);
}
