/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring: a few chunks of page-locked memory through which large transfers of ordinary memory go.
 *
 * Taken at the first use. A chunk is free again when the batch that uses it is over; what a download brought is moved to its place by
 * whoever needs a chunk or goes on with that download, so that tickets nobody waits for never hold up others. A chunk whose
 * batch cannot be proved to be over is lost until it is.
 */
#include "cuda_internal.h"

static tnr_status ring_begin(const char *op, tnr_cuda_device *device)
{
    if (device->ring != NULL) {
        return TNR_OK;
    }
    void *bytes = NULL;
    const uint64_t each = device->options.chunk_bytes;
    TNR_TRY(
        TNRI_CUDA(op, device, pinned_take, &bytes, each * (uint64_t)device->options.chunks, CU_MEMHOSTALLOC_PORTABLE));
    device->ring = bytes;
    for (int at = 0; at < device->options.chunks; at++) {
        device->chunks[at].bytes = device->ring + (uint64_t)at * each;
    }
    return TNR_OK;
}

/* Steps of the piece in its chunk, in elements; along repeats 0. */
static int packed_strides(const tnri_pair *pair, const tnri_piece *piece, int64_t *shape, int64_t *chunk, int64_t *host)
{
    tnr_provider.compact_strides(piece->rank, piece->shape, chunk);
    int rank = 0;
    for (; rank < piece->rank; rank++) {
        shape[rank] = piece->shape[rank];
        host[rank] = pair->host[rank];
    }
    for (int repeat = 0; repeat < pair->repeats; repeat++, rank++) {
        shape[rank] = pair->repeat_shape[repeat];
        host[rank] = pair->repeat_host[repeat];
        chunk[rank] = 0;
    }
    return rank;
}

/* Targets from here on are written past the caches, as the core does with copies that it makes whole. */
#define PAST_CACHES ((uint64_t)4 << 20)

static void unpack(tnri_chunk *chunk)
{
    tnri_flight *flight = chunk->download;
    const tnri_pair *pair = &flight->pair;
    int64_t shape[TNR_MAX_RANK];
    int64_t from[TNR_MAX_RANK];
    int64_t to[TNR_MAX_RANK];
    const int rank = packed_strides(pair, &chunk->piece, shape, from, to);
    char *target = flight->host_base + tnri_piece_host(pair, &chunk->piece) * (int64_t)pair->element_bytes;
    (pair->bytes >= PAST_CACHES ? tnr_provider.copy_past_caches : tnr_provider.copy_elements)(
        pair->element_bytes, rank, shape, target, to, chunk->bytes, from);
    flight->outstanding--;
}

static bool is_lost(const tnri_chunk *chunk) { return chunk->state == TNRI_CHUNK_LOST; }

void tnri_chunks_collect(tnr_cuda_device *device)
{
    for (int at = 0; at < device->options.chunks; at++) {
        tnri_chunk *chunk = &device->chunks[at];
        if (chunk->state == TNRI_CHUNK_BUSY && tnri_lane_reached(&device->lanes[chunk->lane], chunk->number)) {
            if (chunk->download != NULL) {
                unpack(chunk);
            }
            chunk->download = NULL;
            chunk->state = TNRI_CHUNK_FREE;
        }
    }
}

tnr_status tnri_chunk_take(const char *op, tnr_cuda_device *device, bool wait, tnri_chunk **chunk)
{
    *chunk = NULL;
    TNR_TRY(ring_begin(op, device));
    for (;;) {
        tnri_chunk *busy = NULL;
        for (int pass = 0; pass < 2; pass++) {
            busy = NULL;
            for (int at = 0; at < device->options.chunks; at++) {
                tnri_chunk *candidate = &device->chunks[at];
                if (candidate->state == TNRI_CHUNK_FREE) {
                    *chunk = candidate;
                    return TNR_OK;
                }
                busy = candidate->state == TNRI_CHUNK_BUSY && (busy == NULL || candidate->number < busy->number)
                           ? candidate
                           : busy;
            }
            if (pass == 0) {
                tnri_chunks_collect(device);
            }
        }
        TNR_REQUIRE(busy != NULL, TNR_ERR_MEMORY, "%s: all %d chunks are in quarantine; tnr_cuda_synchronize", op,
                    device->options.chunks);
        if (!wait) {
            return TNR_OK;
        }
        TNR_TRY(tnri_lane_wait(op, &device->lanes[busy->lane], busy->number, true)); /* others may go on, and take it */
    }
}

void tnri_chunks_drop(tnr_cuda_device *device, const tnri_flight *flight, bool over)
{
    for (int at = 0; at < device->options.chunks; at++) {
        tnri_chunk *chunk = &device->chunks[at];
        const bool mine = chunk->download == flight || (chunk->state == TNRI_CHUNK_BUSY && chunk->download == NULL &&
                                                        chunk->lane == flight->lane->index && !over);
        if (mine && !is_lost(chunk)) {
            chunk->download = NULL;
            chunk->state = over ? TNRI_CHUNK_FREE : TNRI_CHUNK_LOST;
            device->counts.quarantined += over ? 0 : 1;
            device->counts.quarantined_ever += over ? 0 : 1;
        }
    }
}

void tnri_chunks_recover(tnr_cuda_device *device)
{
    for (int at = 0; at < device->options.chunks; at++) {
        tnri_chunk *chunk = &device->chunks[at];
        if (is_lost(chunk)) {
            chunk->state = TNRI_CHUNK_FREE;
            device->counts.quarantined--;
        }
    }
}

void tnri_ring_end(tnr_cuda_device *device, bool current)
{
    if (device->ring != NULL && current) {
        (void)TNRI_CUDA("device_close", device, pinned_give, device->ring);
    }
    device->ring = NULL;
}
