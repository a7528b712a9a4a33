/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between two device objects, on one device or on two. The target's lane does the work: behind the source's lane before,
 * in front of it after, so that each side's own order holds the other's work too.
 *
 * Guarantees: both objects are locked in one order for all threads. Bytes go from device to device, or not at all.
 */
#include "cuda_internal.h"

typedef struct between {
    const char *op;
    tnr_cuda_lane *source_lane;
    tnr_cuda_lane *target_lane;
    tnri_operand operands[2]; /* target, source */
    tnri_memory *target;
    tnri_memory *source;
    uint64_t target_base;
    uint64_t source_base;
    uint64_t bytes;
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
    TNR_TRY(tnri_lane_order(copy->op, copy->source_lane, copy->source, false));
    tnri_lane_note(copy->source_lane, copy->source, false);
    (void)tnri_lane_begin(copy->source_lane);
    return tnri_lane_mark(copy->op, copy->source_lane);
}

static tnr_status check_reach(between *copy)
{
    tnr_cuda_device *to = copy->target_lane->device;
    tnr_cuda_device *from = copy->source_lane->device;
    int reaches = 0;
    TNR_TRY(TNRI_CUDA(copy->op, to, device_reaches, &reaches, to->handle, from->handle));
    TNR_REQUIRE(reaches != 0, TNR_ERR_UNSUPPORTED,
                "%s: device %d does not reach the memory of device %d; download and upload", copy->op, to->info.ordinal,
                from->info.ordinal);
    TNR_REQUIRE(copy->source->kind == TNR_CUDA_POOL && copy->target->kind == TNR_CUDA_POOL &&
                    copy->source->domain != NULL,
                TNR_ERR_UNSUPPORTED,
                "%s: between devices, both must be of a pool domain, whose access is the library's to give; download "
                "and upload",
                copy->op);
    const uint64_t bit = to->info.ordinal < 64 ? UINT64_C(1) << to->info.ordinal : 0;
    if ((copy->source->domain->peers & bit) == 0) {
        CUmemAccessDesc access;
        memset(&access, 0, sizeof(access));
        access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        access.location.id = to->handle;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        TNR_TRY(TNRI_CUDA(copy->op, from, pool_access, copy->source->domain->pool, &access, 1));
        copy->source->domain->peers |= bit;
    }
    return TNR_OK;
}

/* The target's lane does the copy; a mark behind it. */
static tnr_status target_work(between *copy)
{
    tnr_cuda_lane *lane = copy->target_lane;
    tnr_cuda_device *device = lane->device;
    const tnr_view *to = copy->operands[0].view;
    const tnr_view *from = copy->operands[1].view;
    const int64_t element = (int64_t)tnr_dtype_size(to->dtype);
    int64_t strides[2][TNR_MAX_RANK];
    tnri_plan plan;
    const bool peers = device->handle != copy->source_lane->device->handle;
    for (int axis = 0; axis < to->rank; axis++) {
        const bool alone = to->shape[axis] == 1;
        strides[0][axis] = alone ? 0 : to->strides[axis] * element;
        strides[1][axis] = alone ? 0 : from->strides[axis] * element;
    }
    tnri_plan_make(&plan, device->max_pitch, (uint64_t)element, to->rank, to->shape, strides[0], strides[1]);
    TNR_TRY(tnri_lane_behind(copy->op, lane, copy->source_lane, copy->source_lane->issued));
    TNR_TRY(tnri_lane_order(copy->op, lane, copy->target, true));
    (void)tnri_lane_begin(lane);
    tnri_lane_note(lane, copy->target, true);
    const tnri_side target = {.address = copy->target_base, .context = peers ? device->context : NULL};
    const tnri_side source = {.address = copy->source_base,
                              .context = peers ? copy->source_lane->device->context : NULL};
    const tnr_status status = tnri_plan_issue(copy->op, lane, &plan, target, source);
    device->counts.device_bytes += status == TNR_OK ? copy->bytes : 0;
    const tnr_status marked = tnri_lane_mark(copy->op, lane);
    return status == TNR_OK ? marked : status;
}

/* What was given to the target's lane is over: for where the source's lane cannot be ordered behind it. */
static tnr_status target_wait(between *copy)
{
    return tnri_lane_wait(copy->op, copy->target_lane, copy->target_lane->issued, false);
}

static tnr_status source_after(between *copy)
{
    (void)tnri_lane_begin(copy->source_lane);
    tnri_lane_note(copy->source_lane, copy->source, false);
    return tnri_lane_behind(copy->op, copy->source_lane, copy->target_lane, copy->target_lane->issued);
}

static tnr_status run(between *copy)
{
    tnr_cuda_device *from = copy->source_lane->device;
    tnr_cuda_device *to = copy->target_lane->device;
    if (from->handle != to->handle) {
        TNR_TRY(check_reach(copy));
    }
    TNR_TRY(in_context(copy->op, from, source_before, copy));
    const tnr_status worked = in_context(copy->op, to, target_work, copy);
    const tnr_status ordered = worked == TNR_OK ? in_context(copy->op, from, source_after, copy) : worked;
    if (worked != TNR_OK || ordered != TNR_OK) {
        /* The source must not be given back under the copy. */
        const tnr_status waited = in_context(copy->op, to, target_wait, copy);
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
static tnr_status run_locked(between *copy)
{
    tnr_cuda_device *from = copy->source_lane->device;
    tnr_cuda_device *to = copy->target_lane->device;
    tnr_cuda_device *first = (uintptr_t)from < (uintptr_t)to ? from : to;
    tnr_cuda_device *second = first == from ? to : from;
    (void)pthread_mutex_lock(&first->mutex);
    (void)pthread_mutex_lock(&second->mutex);
    tnr_status status = check_alive(copy->op, from);
    status = status == TNR_OK ? check_alive(copy->op, to) : status;
    status = status == TNR_OK ? run(copy) : status;
    (void)pthread_mutex_unlock(&second->mutex);
    (void)pthread_mutex_unlock(&first->mutex);
    return status;
}

static tnr_status leased(between *copy)
{
    static const tnri_hint hints[2] = {{"the target's domain", "tnr_cuda_download", TNRI_OWN_LANE},
                                       {"the source's domain", "tnr_cuda_upload", TNRI_OWN_LANE}};
    TNR_TRY(tnri_find_away(copy->op, copy->target_lane->device, &copy->operands[0], &hints[0], &copy->target,
                           &copy->target_base));
    TNR_TRY(tnri_find_away(copy->op, copy->source_lane->device, &copy->operands[1], &hints[1], &copy->source,
                           &copy->source_base));
    copy->bytes = (uint64_t)copy->operands[0].held.count * tnr_dtype_size(copy->operands[0].view->dtype);
    return copy->bytes != 0 ? run_locked(copy) : TNR_OK;
}

static tnr_status in_lanes(between *copy)
{
    TNR_TRY(tnr_provider.access_begin_bare(copy->op, copy->operands, 2, TNRI_APART));
    tnr_domain *ledger = copy->operands[0].view->root->domain;
    tnr_status status = leased(copy);
    const tnr_status given = tnr_provider.access_end(copy->operands, 2);
    status = status == TNR_OK ? given : status;
    if (status == TNR_OK) {
        tnr_provider.ledger_copy(ledger, TNR_COPY_COPY_INTO, copy->bytes);
    }
    return status;
}

tnr_status tnr_cuda_copy_between(tnr_cuda_lane *source_lane, const tnr_view *source, tnr_cuda_lane *target_lane,
                                 const tnr_view_mut *target)
{
    static const char *const op = "cuda_copy_between";
    TNR_REQUIRE(source_lane != NULL && source != NULL && target_lane != NULL && target != NULL, TNR_ERR_ARGUMENT,
                "%s: lanes, source and target must not be NULL", op);
    TNR_REQUIRE(source_lane->device != target_lane->device, TNR_ERR_ARGUMENT,
                "%s: both lanes are of one device object: tnr_cuda_copy_into", op);
    TNR_TRY(tnri_views_agree(op, &target->view, source));
    between copy = {.op = op, .source_lane = source_lane, .target_lane = target_lane};
    copy.operands[0] = (tnri_operand){.view = &target->view, .write = true};
    copy.operands[1] = (tnri_operand){.view = source, .write = false};
    TNR_TRY(tnri_lane_enter(op, source_lane));
    tnr_status status = tnri_lane_enter(op, target_lane);
    if (status == TNR_OK) {
        status = in_lanes(&copy);
        tnri_lane_leave(target_lane);
    }
    tnri_lane_leave(source_lane);
    return status;
}
