/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device domain's own copies, for calls that copy by name and do not know CUDA (tnr_domain_ops.read and write): one transfer in
 * the house lane, over when it returns.
 */
#include "cuda_internal.h"

/* Cut finer than chunks, so that the host packs or unpacks one piece while the device copies the next. */
enum { PIECES_AIMED = 4, LEAST_PIECE = 64 << 10 };

/* The largest element that everything about the box is a multiple of. */
static size_t element_of(const tnr_domain_box *box)
{
    uint64_t all = box->run_bytes | box->begin | 16U;
    for (int axis = 0; axis < box->rank; axis++) {
        all |= tnri_magnitude(box->strides[axis]);
    }
    const uint64_t power = (uint64_t)1 << tnri_lowest_bit(all);
    return power == 2 ? 1 : (size_t)power; /* the core copies 1, 4, 8 and 16 */
}

/* At most TNR_MAX_RANK axes with that of the run. */
static void box_pair(const tnr_domain_box *box, tnri_pair *pair)
{
    const size_t element = element_of(box);
    int64_t shape[TNR_MAX_RANK];
    int64_t away[TNR_MAX_RANK];
    int64_t host[TNR_MAX_RANK];
    int64_t step = (int64_t)(box->run_bytes / element);
    int rank = 0;
    if (step > 1) {
        shape[rank] = step;
        away[rank] = 1;
        host[rank++] = 1;
    }
    for (int axis = 0; axis < box->rank && rank < TNR_MAX_RANK; axis++, rank++) {
        shape[rank] = box->shape[axis];
        away[rank] = box->strides[axis] / (int64_t)element;
        host[rank] = step;
        step *= box->shape[axis];
    }
    tnri_pair_make(pair, element, rank, shape, away, host);
}

static tnr_status move(const char *op, tnr_cuda_device *device, tnri_way way, const tnr_block *block,
                       const tnr_domain_box *box, char *host)
{
    tnri_memory *memory = tnri_memory_find(device, block->tag);
    TNR_REQUIRE(memory != NULL, TNR_ERR_BACKEND, "%s: the block is not known", op);
    void *item;
    TNR_TRY(tnri_store_take(&device->flight_store, device->home, &item));
    tnri_flight *flight = item;
    flight->lane = &device->lanes[TNRI_HOUSE];
    flight->op = op;
    flight->way = way;
    *(way == TNRI_UPLOAD ? &flight->target : &flight->source) = memory;
    flight->base = memory->address + box->begin;
    flight->host_base = host;
    box_pair(box, &flight->pair);
    tnri_transfer_prepare(flight, false);
    /* the device never touches the caller's memory, so nothing of it can be in quarantine */
    const uint64_t most = tnri_max_u64(box->bytes / PIECES_AIMED, LEAST_PIECE);
    tnri_transfer_stage(flight, tnri_min_u64(most, device->options.chunk_bytes));
    flight->ordered = way == TNRI_UPLOAD;
    bool over;
    tnr_status status = tnri_transfer_begin(flight);
    if (status == TNR_OK) {
        status = tnri_transfer_step(flight, true, &over);
    }
    if (status != TNR_OK) {
        (void)tnri_transfer_fail(flight);
    }
    tnri_store_give(&device->flight_store, item);
    return status;
}

/* Runs of several elements in a box of full rank are one axis too many: slice by slice of the last one. */
static tnr_status move_slices(const char *op, tnr_cuda_device *device, tnri_way way, const tnr_block *block,
                              const tnr_domain_box *box, char *host)
{
    if (box->rank < TNR_MAX_RANK) {
        return move(op, device, way, block, box, host);
    }
    tnr_domain_box slice = *box;
    slice.rank--;
    slice.bytes /= (uint64_t)box->shape[slice.rank];
    for (int64_t at = 0; at < box->shape[slice.rank]; at++) {
        TNR_TRY(move(op, device, way, block, &slice, host));
        slice.begin += (uint64_t)box->strides[slice.rank];
        host += slice.bytes;
    }
    return TNR_OK;
}

static tnr_status box_copy(const char *op, void *state, tnri_way way, const tnr_block *block, const tnr_domain_box *box,
                           char *host)
{
    tnr_cuda_device *device = ((tnri_cuda_domain *)state)->device;
    TNR_TRY(tnri_device_enter(op, device));
    return tnri_device_leave(device, true, move_slices(op, device, way, block, box, host));
}

tnr_status tnri_box_read(void *state, const tnr_block *block, const tnr_domain_box *box, void *host)
{
    return box_copy("read", state, TNRI_DOWNLOAD, block, box, host);
}

tnr_status tnri_box_write(void *state, const tnr_block *block, const tnr_domain_box *box, const void *host)
{
    return box_copy("write", state, TNRI_UPLOAD, block, box, (char *)(uintptr_t)host);
}
