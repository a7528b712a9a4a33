/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One transfer, step by step: straight between the two places, through chunks, or on the device.
 *
 * Guarantees: nothing is given to the driver before the lane is ordered behind what must come first and errors of earlier work were
 * asked for; each batch is noted in the blocks that it touches before the driver hears of it. "Over" is a proof for everything
 * that touches memory of the host's. Under the device's lock throughout; it is let go only in a call's last wait.
 */
#include "cuda_internal.h"

/* Most operations of the driver for one transfer that goes straight: beyond, packing by the host is cheaper. */
enum { DIRECT_OPERATIONS = 64 };

/* Most operations for one copy on the device: beyond, one kernel does it all, where there are kernels. */
enum { PLAN_OPERATIONS = 4 };

static void host_bytes(const tnri_pair *pair, int64_t *strides)
{
    for (int axis = 0; axis < pair->rank; axis++) {
        strides[axis] = pair->host[axis] * (int64_t)pair->element_bytes;
    }
}

/* The plan of a box of the pair that goes straight: all of it. */
static void direct_plan(const tnri_flight *flight, tnri_plan *plan)
{
    const tnri_pair *pair = &flight->pair;
    int64_t host[TNR_MAX_RANK];
    host_bytes(pair, host);
    const bool up = flight->way == TNRI_UPLOAD;
    tnri_plan_make(plan, flight->lane->device->max_pitch, pair->element_bytes, pair->rank, pair->shape,
                   up ? pair->away : host, up ? host : pair->away);
}

void tnri_transfer_stage(tnri_flight *flight, uint64_t most)
{
    flight->staged = true;
    flight->touches_host = false;
    flight->pieces_left = true;
    flight->most = most;
    tnri_piece_first(&flight->pair, most, &flight->piece);
}

void tnri_transfer_prepare(tnri_flight *flight, bool locked)
{
    const tnri_pair *pair = &flight->pair;
    tnri_plan plan;
    flight->base += (uint64_t)pair->away_begin;
    flight->host_base += pair->host_begin * (int64_t)pair->element_bytes;
    direct_plan(flight, &plan);
    const bool run = plan.operations == 1 && plan.height == 1;
    /* ordinary memory: an upload is read before the driver's call returns; a download would hold the lock until its lane came to it */
    const bool small = flight->way == TNRI_UPLOAD && run && pair->bytes <= flight->lane->device->options.direct_bytes;
    const bool direct = pair->repeats == 0 && (locked ? plan.operations <= DIRECT_OPERATIONS : small);
    flight->touches_host = direct;
    if (!direct) {
        tnri_transfer_stage(flight, flight->lane->device->options.chunk_bytes);
    }
}

/* ---- Batches -------------------------------------------------------------------------------------------------------------------- */

static void begin_batch(tnri_flight *flight)
{
    flight->number = tnri_lane_begin(flight->lane);
    flight->issued = true;
    if (flight->target != NULL) {
        tnri_lane_note(flight->lane, flight->target, true);
    }
    if (flight->source != NULL) {
        tnri_lane_note(flight->lane, flight->source, false);
    }
}

tnr_status tnri_transfer_views(const char *op, tnr_cuda_lane *lane, int64_t most_pitch, const tnr_view *to,
                               const tnr_view *from, tnri_side target, tnri_side source)
{
    const int64_t element = (int64_t)tnr_dtype_size(to->dtype);
    int64_t strides[2][TNR_MAX_RANK];
    tnri_plan plan;
    for (int axis = 0; axis < to->rank; axis++) {
        const bool alone = to->shape[axis] == 1; /* such a step means nothing and need not fit */
        strides[0][axis] = alone ? 0 : to->strides[axis] * element;
        strides[1][axis] = alone ? 0 : from->strides[axis] * element;
    }
    tnri_plan_make(&plan, most_pitch, (uint64_t)element, to->rank, to->shape, strides[0], strides[1]);
    if (plan.operations > PLAN_OPERATIONS && tnri_kernels_ready(op, lane->device)) {
        tnri_pair pair;
        tnri_pair_make(&pair, (size_t)element, to->rank, to->shape, to->strides, from->strides);
        return tnri_kernel_pack(op, lane, (uint64_t)element, &pair, target.address, source.address);
    }
    return tnri_plan_issue(op, lane, &plan, target, source);
}

static tnr_status issue_whole(tnri_flight *flight)
{
    tnr_cuda_device *device = flight->lane->device;
    tnri_plan plan;
    tnri_side target = {.address = flight->base};
    tnri_side source = {.address = flight->base};
    begin_batch(flight);
    if (flight->way == TNRI_ON_DEVICE) {
        source.address = (uint64_t)(uintptr_t)flight->host_base;
        device->counts.device_bytes += flight->ledger_bytes;
        return tnri_transfer_views(flight->op, flight->lane, device->max_pitch, &flight->target_view,
                                   &flight->source_view, target, source);
    }
    tnri_side *host = flight->way == TNRI_UPLOAD ? &source : &target;
    host->host = true;
    host->address = (uint64_t)(uintptr_t)flight->host_base;
    direct_plan(flight, &plan);
    device->counts.direct_bytes += flight->pair.bytes;
    return tnri_plan_issue(flight->op, flight->lane, &plan, target, source);
}

/* The flight's next piece, through this chunk. */
static tnr_status issue_piece(tnri_flight *flight, tnri_chunk *chunk)
{
    tnr_cuda_device *device = flight->lane->device;
    const tnri_pair *pair = &flight->pair;
    const tnri_piece *piece = &flight->piece;
    const bool up = flight->way == TNRI_UPLOAD;
    int64_t compact[TNR_MAX_RANK];
    int64_t packed[TNR_MAX_RANK];
    tnri_plan plan;
    tnr_provider.compact_strides(piece->rank, piece->shape, compact);
    for (int axis = 0; axis < piece->rank; axis++) {
        packed[axis] = compact[axis] * (int64_t)pair->element_bytes;
    }
    if (up) {
        tnr_provider.copy_elements(pair->element_bytes, piece->rank, piece->shape, chunk->bytes, compact,
                                   flight->host_base + tnri_piece_host(pair, piece) * (int64_t)pair->element_bytes,
                                   pair->host);
    }
    const tnri_side away = {.address = flight->base + (uint64_t)tnri_piece_away(pair, piece)};
    const tnri_side here = {.host = true, .address = (uint64_t)(uintptr_t)chunk->bytes};
    tnri_plan_make(&plan, device->max_pitch, pair->element_bytes, piece->rank, piece->shape, up ? pair->away : packed,
                   up ? packed : pair->away);
    begin_batch(flight);
    chunk->state = TNRI_CHUNK_BUSY;
    chunk->lane = flight->lane->index;
    chunk->number = flight->number;
    chunk->piece = *piece;
    chunk->download = up ? NULL : flight;
    flight->outstanding += up ? 0 : 1;
    device->counts.staged_bytes += piece->bytes;
    flight->pieces_left = tnri_piece_next(pair, flight->most, &flight->piece);
    return tnri_plan_issue(flight->op, flight->lane, &plan, up ? away : here, up ? here : away);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------------------------ */

tnr_status tnri_transfer_begin(tnri_flight *flight)
{
    tnr_cuda_lane *lane = flight->lane;
    tnr_cuda_device *device = lane->device;
    TNR_REQUIRE(device->managed_maps == 0 || device->info.concurrent_managed, TNR_ERR_BUSY,
                "%s: a managed tensor is mapped, and this device cannot work meanwhile", flight->op);
    const CUresult before = device->driver.stream_query(lane->stream);
    if (before != CUDA_SUCCESS && before != CUDA_ERROR_NOT_READY) {
        return tnri_device_check(flight->op, device, tnri_call_name_stream_query, before);
    }
    if (flight->target != NULL) {
        TNR_TRY(tnri_lane_order(flight->op, lane, flight->target, true));
    }
    if (flight->source != NULL) {
        TNR_TRY(tnri_lane_order(flight->op, lane, flight->source, false));
    }
    return flight->staged ? TNR_OK : issue_whole(flight);
}

/* Give the driver what chunks can be had for. */
static tnr_status feed(tnri_flight *flight, bool wait)
{
    while (flight->pieces_left) {
        tnri_chunk *chunk;
        TNR_TRY(tnri_chunk_take(flight->op, flight->lane->device, wait, &chunk));
        if (chunk == NULL) {
            return TNR_OK;
        }
        TNR_TRY(issue_piece(flight, chunk));
    }
    return TNR_OK;
}

/* The first batch of this download that is still to be taken out of a chunk. */
static uint64_t next_arrival(const tnri_flight *flight)
{
    const tnr_cuda_device *device = flight->lane->device;
    uint64_t number = flight->number;
    for (int at = 0; at < device->options.chunks; at++) {
        const tnri_chunk *chunk = &device->chunks[at];
        if (chunk->download == flight) {
            number = tnri_min_u64(number, chunk->number);
        }
    }
    return number;
}

tnr_status tnri_transfer_step(tnri_flight *flight, bool wait, bool *over)
{
    tnr_cuda_lane *lane = flight->lane;
    *over = false;
    TNR_TRY(feed(flight, wait));
    if (flight->pieces_left) {
        return TNR_OK;
    }
    if (flight->ordered) {
        *over = true;
        return TNR_OK;
    }
    if (flight->staged && flight->way == TNRI_DOWNLOAD) {
        tnri_chunks_collect(lane->device);
        while (flight->outstanding != 0 && wait) {
            TNR_TRY(tnri_lane_wait(flight->op, lane, next_arrival(flight), true));
            tnri_chunks_collect(lane->device);
        }
        *over = flight->outstanding == 0;
        return lane->device->poison != TNR_OK && !*over
                   ? tnri_fail(lane->device->poison, "%s: the device is poisoned: %s", flight->op,
                               lane->device->poison_text)
                   : TNR_OK;
    }
    if (wait) {
        TNR_TRY(tnri_lane_wait(flight->op, lane, flight->number, true));
        *over = true;
        return TNR_OK;
    }
    *over = tnri_lane_reached(lane, flight->number);
    return !*over && lane->device->poison != TNR_OK ? tnri_fail(lane->device->poison, "%s: the device is poisoned: %s",
                                                                flight->op, lane->device->poison_text)
                                                    : TNR_OK;
}

bool tnri_transfer_fail(tnri_flight *flight)
{
    tnr_cuda_device *device = flight->lane->device;
    const bool over = !flight->issued || device->unloading ||
                      tnri_lane_wait(flight->op, flight->lane, flight->lane->issued, false) == TNR_OK;
    tnri_chunks_drop(device, flight, over);
    return over;
}
