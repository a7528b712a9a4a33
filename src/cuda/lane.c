/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order in and between lanes.
 *
 * Guarantees: a lane never touches a block before what must come first is over or ordered in front of it; "reached" and a wait that
 * succeeds are proofs. Where no event can be had, a whole lane is waited for instead; where that fails too, nothing is
 * claimed.
 */
#include "cuda_internal.h"

/* ---- Marks ----------------------------------------------------------------------------------------------------------------------- */

static void mark_free(tnr_cuda_device *device, tnri_mark *mark)
{
    mark->next = device->free_marks;
    device->free_marks = mark;
}

/* The lane's first mark is reached. */
static void mark_pop(tnr_cuda_lane *lane)
{
    tnri_mark *mark = lane->first;
    lane->first = mark->next;
    lane->last = lane->first == NULL ? NULL : lane->last;
    lane->done = tnri_max_u64(lane->done, mark->number);
    mark->reached = true;
    if (mark->holders == 0) {
        mark_free(lane->device, mark);
    }
}

/* Everything up to a number is over. */
static void lane_is_done(tnr_cuda_lane *lane, uint64_t number)
{
    lane->done = tnri_max_u64(lane->done, number);
    while (lane->first != NULL && lane->first->number <= lane->done) {
        mark_pop(lane);
    }
}

static void lane_reap(tnr_cuda_lane *lane)
{
    tnr_cuda_device *device = lane->device;
    while (lane->first != NULL) {
        const CUresult code = device->driver.event_query(lane->first->event);
        if (code != CUDA_SUCCESS) {
            if (code != CUDA_ERROR_NOT_READY) {
                (void)tnri_device_check("lane", device, tnri_call_name_event_query, code);
            }
            return;
        }
        mark_pop(lane);
    }
}

/* An event behind everything that was issued. */
static tnr_status mark_make(const char *op, tnr_cuda_lane *lane, tnri_mark **mark)
{
    tnr_cuda_device *device = lane->device;
    tnri_mark *made = device->free_marks;
    if (made == NULL) {
        void *item;
        TNR_TRY(tnri_store_take(&device->mark_store, device->home, &item));
        made = item;
        const tnr_status status = TNRI_CUDA(op, device, event_create, &made->event, CU_EVENT_DISABLE_TIMING);
        if (status != TNR_OK) {
            tnri_store_give(&device->mark_store, item);
            return status;
        }
        device->counts.events++;
        mark_free(device, made);
    }
    TNR_TRY(TNRI_CUDA(op, device, event_record, made->event, lane->stream));
    device->free_marks = made->next;
    made->next = NULL;
    made->number = lane->issued;
    made->holders = 0;
    made->reached = false;
    if (lane->last != NULL) {
        lane->last->next = made;
    } else {
        lane->first = made;
    }
    lane->last = made;
    *mark = made;
    return TNR_OK;
}

/* The earliest mark at or behind a number, made when there is none. */
static tnr_status mark_for(const char *op, tnr_cuda_lane *lane, uint64_t number, tnri_mark **mark)
{
    for (tnri_mark *at = lane->first; at != NULL; at = at->next) {
        if (at->number >= number) {
            *mark = at;
            return TNR_OK;
        }
    }
    return mark_make(op, lane, mark);
}

void tnri_marks_end(tnr_cuda_device *device, bool current)
{
    for (int index = 0; index < device->lane_count; index++) {
        lane_is_done(&device->lanes[index], device->lanes[index].issued);
    }
    for (tnri_mark *mark = device->free_marks; mark != NULL && current; mark = mark->next) {
        (void)TNRI_CUDA("device_close", device, event_destroy, mark->event);
    }
    device->free_marks = NULL;
}

/* ---- Waiting ------------------------------------------------------------------------------------------------------------------------ */

static tnr_status synchronise(const char *op, tnr_cuda_lane *lane)
{
    tnr_cuda_device *device = lane->device;
    const uint64_t issued = lane->issued;
    device->counts.host_waits++;
    device->counts.synchronises++;
    TNR_TRY(TNRI_CUDA(op, device, stream_synchronize, lane->stream));
    lane_is_done(lane, issued);
    return TNR_OK;
}

bool tnri_lane_reached(tnr_cuda_lane *lane, uint64_t number)
{
    if (lane->done >= number) {
        return true;
    }
    tnri_mark *mark;
    if (mark_for("lane", lane, number, &mark) != TNR_OK) {
        return false;
    }
    lane_reap(lane);
    return lane->done >= number;
}

tnr_status tnri_lane_mark(const char *op, tnr_cuda_lane *lane)
{
    tnri_mark *mark;
    if (lane->done >= lane->issued || mark_for(op, lane, lane->issued, &mark) == TNR_OK) {
        return TNR_OK;
    }
    return synchronise(op, lane);
}

tnr_status tnri_lane_wait(const char *op, tnr_cuda_lane *lane, uint64_t number, bool open)
{
    tnr_cuda_device *device = lane->device;
    if (lane->done >= number) {
        return TNR_OK;
    }
    tnri_mark *mark;
    if (mark_for(op, lane, number, &mark) != TNR_OK) {
        return synchronise(op, lane);
    }
    const uint64_t reached = mark->number;
    mark->holders++;
    device->counts.host_waits++;
    if (open) {
        (void)pthread_mutex_unlock(&device->mutex);
    }
    const CUresult code = device->driver.event_synchronize(mark->event);
    if (open) {
        (void)pthread_mutex_lock(&device->mutex);
    }
    mark->holders--;
    if (mark->reached && mark->holders == 0) {
        mark_free(device, mark);
    }
    if (code == CUDA_SUCCESS) {
        lane_is_done(lane, reached);
        return TNR_OK;
    }
    (void)tnri_device_check(op, device, tnri_call_name_event_synchronize, code);
    return lane->done >= number ? TNR_OK : synchronise(op, lane);
}

tnr_status tnri_lanes_wait(const char *op, tnr_cuda_device *device)
{
    tnr_status answer = TNR_OK;
    for (int index = 0; index < device->lane_count; index++) {
        const tnr_status status = synchronise(op, &device->lanes[index]);
        answer = answer == TNR_OK ? status : answer;
    }
    return answer;
}

/* ---- Order ------------------------------------------------------------------------------------------------------------------------------ */

uint64_t tnri_lane_begin(tnr_cuda_lane *lane) { return ++lane->issued; }

tnr_status tnri_lane_behind(const char *op, tnr_cuda_lane *lane, tnr_cuda_lane *other, uint64_t number)
{
    tnr_cuda_device *device = lane->device;
    const bool same = other->device == device;
    if (lane == other || other->done >= number || (same && lane->waited[other->index] >= number)) {
        return TNR_OK;
    }
    tnri_mark *mark;
    if (mark_for(op, other, number, &mark) != TNR_OK) {
        return tnri_lane_wait(op, other, number, false);
    }
    TNR_TRY(TNRI_CUDA(op, device, stream_wait, lane->stream, mark->event, 0));
    device->counts.lane_waits++;
    if (same) {
        lane->waited[other->index] = mark->number;
    }
    return TNR_OK;
}

tnr_status tnri_lane_order(const char *op, tnr_cuda_lane *lane, const tnri_memory *memory, bool write)
{
    tnr_cuda_device *device = lane->device;
    if (!write) {
        return tnri_lane_behind(op, lane, &device->lanes[memory->written_in], memory->written);
    }
    for (int index = 0; index < device->lane_count; index++) {
        TNR_TRY(tnri_lane_behind(op, lane, &device->lanes[index], memory->used[index]));
    }
    return TNR_OK;
}

void tnri_lane_note(const tnr_cuda_lane *lane, tnri_memory *memory, bool write)
{
    memory->used[lane->index] = lane->issued;
    if (write) {
        memory->written_in = lane->index;
        memory->written = lane->issued;
    }
}
