/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between two device objects, on one device or on two. The target's lane does the work: behind the source's lane before,
 * in front of it after, so that each side's own order holds the other's work too. A kernel there reads the other device's memory where it is: no
 * scratch on either side. From then on a ticket needs the target's lane alone.
 *
 * Guarantees: both objects are locked in one order for all threads. Bytes go from device to device, or not at all.
 */
#include "cuda_internal.h"

typedef struct between {
    tnri_flight *flight; /* of the target's object and lane; base: the target's address, host_base: the source's */
    tnr_cuda_lane *source_lane;
} between;

/* Give the driver work of one object, in its context, which is not left current. */
static tnr_status in_context(const char *op, tnr_cuda_device *device, tnr_status (*work)(between *), between *copy)
{
    TNR_TRY(TNRI_CUDA(op, device, context_push, device->context));
    tnr_status status = work(copy);
    CUcontext popped;
    if (device->driver.context_pop(&popped) != CUDA_SUCCESS) {
        const tnr_status left = TNRI_CUDA(op, device, context_pop, &popped);
        status = status == TNR_OK ? left : status;
    }
    return status;
}

/* The source's lane: behind its last writer, and a mark that says so. */
static tnr_status source_before(between *copy)
{
    const char *op = copy->flight->op;
    TNR_TRY(tnri_lane_order(op, copy->source_lane, copy->flight->source, false));
    tnri_lane_note(copy->source_lane, copy->flight->source, false);
    (void)tnri_lane_begin(copy->source_lane);
    return tnri_lane_mark(op, copy->source_lane);
}

static tnr_status check_reach(between *copy)
{
    const tnri_flight *flight = copy->flight;
    tnr_cuda_device *to = flight->lane->device;
    tnr_cuda_device *from = copy->source_lane->device;
    int reaches = 0;
    TNR_TRY(TNRI_CUDA(flight->op, to, device_reaches, &reaches, to->handle, from->handle));
    TNR_REQUIRE(reaches != 0, TNR_ERR_UNSUPPORTED,
                "%s: device %d does not reach the memory of device %d; download and upload", flight->op,
                to->info.ordinal, from->info.ordinal);
    TNR_REQUIRE(flight->source->kind == TNR_CUDA_POOL && flight->target->kind == TNR_CUDA_POOL &&
                    flight->source->domain != NULL,
                TNR_ERR_UNSUPPORTED,
                "%s: between devices, both must be of a pool domain, whose access is the library's to give; download "
                "and upload",
                flight->op);
    const uint64_t bit = to->info.ordinal < 64 ? UINT64_C(1) << to->info.ordinal : 0;
    if ((flight->source->domain->peers & bit) == 0) {
        CUmemAccessDesc access;
        memset(&access, 0, sizeof(access));
        access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        access.location.id = to->handle;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        TNR_TRY(TNRI_CUDA(flight->op, from, pool_access, flight->source->domain->pool, &access, 1));
        flight->source->domain->peers |= bit;
    }
    return TNR_OK;
}

/* The target's lane does the copy; a mark behind it. */
static tnr_status target_work(between *copy)
{
    tnri_flight *flight = copy->flight;
    tnr_cuda_lane *lane = flight->lane;
    tnr_cuda_device *device = lane->device;
    const tnr_cuda_device *from = copy->source_lane->device;
    const bool peers = device->handle != from->handle;
    const int64_t most_pitch = device->max_pitch < from->max_pitch ? device->max_pitch : from->max_pitch;
    TNR_TRY(tnri_lane_behind(flight->op, lane, copy->source_lane, copy->source_lane->issued));
    TNR_TRY(tnri_lane_order(flight->op, lane, flight->target, true));
    flight->number = tnri_lane_begin(lane);
    flight->issued = true;
    tnri_lane_note(lane, flight->target, true);
    const tnri_side target = {.address = flight->base, .context = peers ? device->context : NULL};
    const tnri_side source = {.address = (uint64_t)(uintptr_t)flight->host_base,
                              .context = peers ? from->context : NULL};
    const tnr_status status =
        tnri_transfer_views(flight->op, lane, most_pitch, &flight->target_view, &flight->source_view, target, source);
    device->counts.device_bytes += status == TNR_OK ? flight->ledger_bytes : 0;
    const tnr_status marked = tnri_lane_mark(flight->op, lane);
    return status == TNR_OK ? marked : status;
}

/* What was given to the target's lane is over: for where the source's lane cannot be ordered behind it. */
static tnr_status target_wait(between *copy)
{
    return tnri_lane_wait(copy->flight->op, copy->flight->lane, copy->flight->lane->issued, false);
}

static tnr_status source_after(between *copy)
{
    tnr_cuda_lane *lane = copy->flight->lane;
    (void)tnri_lane_begin(copy->source_lane);
    tnri_lane_note(copy->source_lane, copy->flight->source, false);
    return tnri_lane_behind(copy->flight->op, copy->source_lane, lane, lane->issued);
}

static tnr_status run(between *copy)
{
    const char *op = copy->flight->op;
    tnr_cuda_device *from = copy->source_lane->device;
    tnr_cuda_device *to = copy->flight->lane->device;
    if (from->handle != to->handle) {
        TNR_TRY(check_reach(copy));
    }
    TNR_TRY(in_context(op, from, source_before, copy));
    const tnr_status worked = in_context(op, to, target_work, copy);
    const tnr_status ordered = worked == TNR_OK ? in_context(op, from, source_after, copy) : worked;
    if (worked != TNR_OK || ordered != TNR_OK) {
        /* The source must not be given back under the copy. */
        const tnr_status waited = in_context(op, to, target_wait, copy);
        if (waited != TNR_OK && from->poison == TNR_OK) {
            from->poison = waited;
            const char *why = "a copy to another device object cannot be proved to be over";
            memcpy(from->poison_text, why, strlen(why) + 1);
        }
    }
    return worked != TNR_OK ? worked : ordered;
}

static tnr_status check_alive(const char *op, const tnr_cuda_device *device)
{
    TNR_REQUIRE(device->poison == TNR_OK, device->poison, "%s: the device is poisoned: %s", op, device->poison_text);
    TNR_REQUIRE(device->managed_maps == 0 || device->info.concurrent_managed, TNR_ERR_BUSY,
                "%s: a managed tensor is mapped, and this device cannot work meanwhile", op);
    return TNR_OK;
}

/* Both objects locked, by their addresses. */
static tnr_status run_locked(between *copy, bool ticket)
{
    const char *op = copy->flight->op;
    tnr_cuda_device *from = copy->source_lane->device;
    tnr_cuda_device *to = copy->flight->lane->device;
    tnr_cuda_device *first = (uintptr_t)from < (uintptr_t)to ? from : to;
    tnr_cuda_device *second = first == from ? to : from;
    (void)pthread_mutex_lock(&first->mutex);
    (void)pthread_mutex_lock(&second->mutex);
    tnr_status status = check_alive(op, from);
    status = status == TNR_OK ? check_alive(op, to) : status;
    status = status == TNR_OK && copy->flight->ledger_bytes != 0 ? run(copy) : status;
    to->counts.tickets += status == TNR_OK && ticket ? 1 : 0;
    (void)pthread_mutex_unlock(&second->mutex);
    (void)pthread_mutex_unlock(&first->mutex);
    return status;
}

/* Leases, places. On failure the flight holds what it holds. */
static tnr_status set_up(between *copy)
{
    static const tnri_hint hints[2] = {{"the target's domain", "tnr_cuda_download", TNRI_OWN_LANE},
                                       {"the source's domain", "tnr_cuda_upload", TNRI_OWN_LANE}};
    tnri_flight *flight = copy->flight;
    uint64_t source = 0;
    flight->away[0] = (tnri_operand){.view = &flight->target_view, .write = true};
    flight->away[1] = (tnri_operand){.view = &flight->source_view, .write = false};
    TNR_TRY(tnr_provider.access_begin_bare(flight->op, flight->away, 2, TNRI_APART));
    flight->aways = 2;
    flight->ledger = flight->target_view.root->domain;
    flight->ledger_bytes = (uint64_t)flight->away[0].held.count * tnr_dtype_size(flight->target_view.dtype);
    TNR_TRY(
        tnri_find_away(flight->op, flight->lane->device, &flight->away[0], &hints[0], &flight->target, &flight->base));
    TNR_TRY(
        tnri_find_away(flight->op, copy->source_lane->device, &flight->away[1], &hints[1], &flight->source, &source));
    flight->host_base = (char *)(uintptr_t)source;
    return TNR_OK;
}

static tnr_status in_lanes(const char *op, tnr_cuda_lane *source_lane, const tnr_view *source,
                           tnr_cuda_lane *target_lane, const tnr_view *target, tnr_ticket **ticket)
{
    const tnri_order order = {
        .op = op, .way = TNRI_ON_DEVICE, .target = target, .source = source, .reason = TNR_COPY_COPY_INTO};
    between copy = {.source_lane = source_lane};
    TNR_TRY(tnri_order_take(target_lane, &order, &copy.flight));
    copy.flight->target_view = *target;
    tnr_status status = set_up(&copy);
    if (status == TNR_OK && (copy.flight->ledger_bytes != 0 || ticket != NULL)) {
        status = run_locked(&copy, ticket != NULL);
    }
    if (status == TNR_OK && ticket != NULL) {
        *ticket = &copy.flight->ticket;
        return TNR_OK;
    }
    return tnri_order_conclude(copy.flight, status, false, NULL); /* what is given back is ordered behind it */
}

static tnr_status between_lanes(const char *op, tnr_cuda_lane *source_lane, const tnr_view *source,
                                tnr_cuda_lane *target_lane, const tnr_view_mut *target, tnr_ticket **ticket)
{
    TNR_REQUIRE(source_lane != NULL && source != NULL && target_lane != NULL && target != NULL, TNR_ERR_ARGUMENT,
                "%s: lanes, source and target must not be NULL", op);
    TNR_TRY(tnri_lane_here(op, source_lane));
    TNR_TRY(tnri_lane_here(op, target_lane));
    TNR_REQUIRE(source_lane->device != target_lane->device, TNR_ERR_ARGUMENT,
                "%s: both lanes are of one device object: tnr_cuda_copy_into", op);
    TNR_TRY(tnri_views_agree(op, &target->view, source));
    TNR_TRY(tnri_lane_enter(op, source_lane));
    tnr_status status = tnri_lane_enter(op, target_lane);
    if (status == TNR_OK) {
        status = in_lanes(op, source_lane, source, target_lane, &target->view, ticket);
        tnri_lane_leave(target_lane);
    }
    tnri_lane_leave(source_lane);
    return status;
}

tnr_status tnr_cuda_copy_between(tnr_cuda_lane *source_lane, const tnr_view *source, tnr_cuda_lane *target_lane,
                                 const tnr_view_mut *target)
{
    return between_lanes("cuda_copy_between", source_lane, source, target_lane, target, NULL);
}

tnr_status tnr_cuda_copy_between_start(tnr_cuda_lane *source_lane, const tnr_view *source, tnr_cuda_lane *target_lane,
                                       const tnr_view_mut *target, tnr_ticket **ticket)
{
    static const char *const op = "cuda_copy_between_start";
    TNR_REQUIRE(ticket != NULL, TNR_ERR_ARGUMENT, "%s: ticket must not be NULL", op);
    return between_lanes(op, source_lane, source, target_lane, target, ticket);
}
