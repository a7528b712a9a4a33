/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may call now, and what an answer of the driver means.
 *
 * Guarantees: the context that was current before a call is current after it, whatever happened in between; after an error that
 * ends the context no call reaches the driver but those that end things.
 */
#include <unistd.h>

#include "cuda_internal.h"

#define NAME(member, name, parameters) const char tnri_call_name_##member[] = name;
TNRI_CUDA_CALLS(NAME)
#undef NAME

tnr_status tnri_device_here(const char *op, const tnr_cuda_device *device)
{
    TNR_REQUIRE((long)getpid() == device->owner, TNR_ERR_BACKEND,
                "%s: the device was opened by the process that this one was forked from; a child that wants one is "
                "forked before its parent looks for it, and opens it itself",
                op);
    return TNR_OK;
}

/* The first error stays; its text was just recorded. */
static void poison(tnr_cuda_device *device, tnr_status status)
{
    if (device->poison == TNR_OK) {
        device->poison = status;
        const char *text = tnr_last_error();
        const size_t bytes = strlen(text);
        memcpy(device->poison_text, text, bytes + 1);
    }
}

tnr_status tnri_device_check(const char *op, tnr_cuda_device *device, const char *call, CUresult code)
{
    if (TNRI_LIKELY(code == CUDA_SUCCESS)) {
        return TNR_OK;
    }
    const char *name = tnri_driver_error(&device->driver, code);
    const tnr_status status = code == CUDA_ERROR_OUT_OF_MEMORY ? TNR_ERR_MEMORY : TNR_ERR_BACKEND;
    (void)tnri_fail(status, "%s: %s: %s (%d)", op, call, name, (int)code);
    if (code == CUDA_ERROR_DEINITIALIZED) {
        device->unloading = true;
        poison(device, status);
    } else if (tnri_driver_is_fatal(code)) {
        poison(device, status);
    }
    return status;
}

/* A context that cannot be entered, asked twice, is as good as lost. */
static bool make_current(const char *op, tnr_cuda_device *device, tnr_status *status)
{
    *status = TNR_OK;
    if (device->driver.context_push(device->context) == CUDA_SUCCESS) {
        return true;
    }
    *status = TNRI_CUDA(op, device, context_push, device->context);
    if (*status != TNR_OK) {
        poison(device, *status);
    }
    return *status == TNR_OK;
}

tnr_status tnri_device_enter(const char *op, tnr_cuda_device *device)
{
    TNR_TRY(tnri_device_here(op, device));
    (void)pthread_mutex_lock(&device->mutex);
    tnr_status status = device->poison;
    if (status != TNR_OK) {
        (void)tnri_fail(status, "%s: the device is poisoned: %s", op, device->poison_text);
    } else {
        (void)make_current(op, device, &status);
    }
    if (status != TNR_OK) {
        (void)pthread_mutex_unlock(&device->mutex);
    }
    return status;
}

tnr_status tnri_device_enter_ended(const char *op, tnr_cuda_device *device, bool *current)
{
    TNR_TRY(tnri_device_here(op, device));
    (void)pthread_mutex_lock(&device->mutex);
    tnr_status status;
    *current = device->context_held && !device->unloading && make_current(op, device, &status);
    return TNR_OK;
}

tnr_status tnri_device_leave(tnr_cuda_device *device, bool current, tnr_status status)
{
    if (current) {
        /* Nothing else may stay as the caller's context: ask again when the driver refuses. */
        CUcontext popped;
        if (device->driver.context_pop(&popped) != CUDA_SUCCESS) {
            const tnr_status left = TNRI_CUDA("leave", device, context_pop, &popped);
            if (left != TNR_OK) {
                poison(device, left);
                status = status == TNR_OK ? left : status;
            }
        }
    }
    (void)pthread_mutex_unlock(&device->mutex);
    return status;
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------------------------- */

/*
 * Addresses of the device objects that are open. A program's pointers to lanes are not nulled when their object is closed; these tell without
 * looking at a lane whether it lives.
 */
static _Atomic(uintptr_t) open_objects[TNRI_MOST_OPEN];

static bool swap_object(uintptr_t from, uintptr_t to)
{
    for (int at = 0; at < TNRI_MOST_OPEN; at++) {
        uintptr_t seen = from;
        if (atomic_compare_exchange_strong_explicit(&open_objects[at], &seen, to, memory_order_acq_rel,
                                                    memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

tnr_status tnri_device_list(const char *op, const tnr_cuda_device *device)
{
    TNR_REQUIRE(swap_object(0, (uintptr_t)device), TNR_ERR_MEMORY, "%s: %d device objects are open in this process", op,
                (int)TNRI_MOST_OPEN);
    return TNR_OK;
}

void tnri_device_unlist(const tnr_cuda_device *device) { (void)swap_object((uintptr_t)device, 0); }

tnr_status tnri_lane_here(const char *op, const tnr_cuda_lane *lane)
{
    for (int at = 0; at < TNRI_MOST_OPEN; at++) {
        const uintptr_t object = atomic_load_explicit(&open_objects[at], memory_order_acquire);
        const uintptr_t first = object + offsetof(tnr_cuda_device, lanes);
        if (object != 0 && (uintptr_t)lane >= first && (uintptr_t)lane - first < TNRI_LANES * sizeof(*lane)) {
            return TNR_OK;
        }
    }
    return tnri_fail(TNR_ERR_STALE, "%s: the lane's device object was closed", op);
}

tnr_status tnri_lane_enter(const char *op, tnr_cuda_lane *lane)
{
    TNR_TRY(tnri_lane_here(op, lane));
    TNR_TRY(tnri_device_here(op, lane->device));
    TNR_REQUIRE(atomic_exchange_explicit(&lane->inside, 1U, memory_order_acquire) == 0U, TNR_ERR_BUSY,
                "%s: another thread is in lane %d", op, lane->index - 1);
    return TNR_OK;
}

void tnri_lane_leave(tnr_cuda_lane *lane) { atomic_store_explicit(&lane->inside, 0U, memory_order_release); }
