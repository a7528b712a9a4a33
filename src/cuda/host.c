/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own memory, page-locked for as long as it says so. */
#include "cuda_internal.h"

static bool meets(const tnri_registered *at, uint64_t address, uint64_t bytes)
{
    return address < at->address + at->bytes && at->address < address + bytes;
}

tnri_registered *tnri_registered_find(const tnr_cuda_device *device, uint64_t address, uint64_t bytes)
{
    tnri_registered *at = device->registered;
    while (at != NULL && (address < at->address || address - at->address > at->bytes ||
                          bytes > at->bytes - (address - at->address))) {
        at = at->next;
    }
    return at;
}

static tnr_status enlist(const char *op, tnr_cuda_device *device, void *data, uint64_t bytes)
{
    const uint64_t address = (uint64_t)(uintptr_t)data;
    for (const tnri_registered *at = device->registered; at != NULL; at = at->next) {
        TNR_REQUIRE(!meets(at, address, bytes), TNR_ERR_OVERLAP, "%s: some of these bytes are registered already", op);
    }
    void *item;
    TNR_TRY(tnri_store_take(&device->registered_store, device->home, &item));
    const tnr_status status = TNRI_CUDA(op, device, host_register, data, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    if (status != TNR_OK) {
        tnri_store_give(&device->registered_store, item);
        return status;
    }
    tnri_registered *made = item;
    made->address = address;
    made->bytes = bytes;
    made->next = device->registered;
    device->registered = made;
    return TNR_OK;
}

tnr_status tnr_cuda_register(tnr_cuda_device *device, void *data, uint64_t bytes)
{
    static const char *const op = "cuda_register";
    TNR_REQUIRE(device != NULL && data != NULL && bytes != 0, TNR_ERR_ARGUMENT,
                "%s: device and data must not be NULL, nor bytes 0", op);
    TNR_REQUIRE(bytes <= UINTPTR_MAX - (uintptr_t)data, TNR_ERR_OVERFLOW, "%s: %llu bytes leave the address space", op,
                TNRI_LLU(bytes));
    TNR_TRY(tnri_device_enter(op, device));
    return tnri_device_leave(device, true, enlist(op, device, data, bytes));
}

tnr_status tnr_cuda_unregister(tnr_cuda_device *device, void *data)
{
    static const char *const op = "cuda_unregister";
    TNR_REQUIRE(device != NULL && data != NULL, TNR_ERR_ARGUMENT, "%s: device and data must not be NULL", op);
    bool current;
    TNR_TRY(tnri_device_enter_ended(op, device, &current));
    tnr_status status = TNR_OK;
    tnri_registered **at = &device->registered;
    while (*at != NULL && (*at)->address != (uint64_t)(uintptr_t)data) {
        at = &(*at)->next;
    }
    tnri_registered *found = *at;
    if (found == NULL) {
        status = tnri_fail(TNR_ERR_FOREIGN, "%s: this memory was not registered", op);
    } else if (found->users != 0) {
        status = tnri_fail(TNR_ERR_BUSY, "%s: %llu transfers use it", op, TNRI_LLU(found->users));
    } else {
        if (current && !device->unloading) {
            status = TNRI_CUDA(op, device, host_unregister, data);
        } else if (!device->gone && !device->unloading) {
            status = tnri_fail(TNR_ERR_BACKEND, "%s: the device's context cannot be entered", op);
        }
        status = device->unloading ? TNR_OK : status;
        if (status == TNR_OK) { /* else it may be tried again, or goes with the context */
            *at = found->next;
            tnri_store_give(&device->registered_store, found);
        }
    }
    return tnri_device_leave(device, current, status);
}
