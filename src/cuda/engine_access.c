/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call of an engine from open to close: where its operands are, what comes before it, what it keeps.
 *
 * Guarantees: nothing is given to the lane before every operand is known to be the device object's and the lane is ordered behind all that
 * must come first; every block that the call touches is noted under a number that no mark stands for yet. A failed open leaves nothing held.
 */
#include "engine_internal.h"

/* ---- Batches -------------------------------------------------------------------------------------------------------------------------- */

static tnri_memory *memory_of(const tnri_cuda_engine *engine, const tnri_operand *operand)
{
    const tnr_tensor *root = operand->view->root;
    return tnri_memory_find(engine->device, (uint64_t)(uintptr_t)root->block.address);
}

static void begin_batch(tnri_cuda_engine *engine)
{
    tnr_cuda_lane *lane = engine->lane;
    (void)tnri_lane_begin(lane);
    for (int at = 0; at < engine->count; at++) {
        if (engine->operands[at].data != NULL) {
            tnri_lane_note(lane, memory_of(engine, &engine->operands[at]), engine->operands[at].write);
        }
    }
    for (int kind = 0; kind < TNRI_KEPT; kind++) {
        if (engine->kept[kind] != NULL) {
            tnri_lane_note(lane, engine->kept[kind], true);
        }
    }
}

void tnri_engine_batch(tnri_cuda_engine *engine)
{
    const tnr_cuda_lane *lane = engine->lane;
    if (lane->done >= lane->issued || (lane->last != NULL && lane->last->number >= lane->issued)) {
        begin_batch(engine);
    }
}

/* ---- Operands ------------------------------------------------------------------------------------------------------------------------- */

static tnr_status place(const char *op, const tnri_cuda_engine *engine, tnri_operand *operand)
{
    tnr_cuda_device *device = engine->device;
    const tnr_tensor *root = operand->view->root;
    const tnri_cuda_domain *own = root->domain != NULL ? tnri_domain_of(device, root->domain) : NULL;
    TNR_REQUIRE(own != NULL || !tnri_domain_is_device(root->domain), TNR_ERR_FOREIGN,
                "%s: operand in \"%s\" of another device object: tnr_cuda_copy_between", op,
                tnr_domain_name(root->domain));
    TNR_REQUIRE(own != NULL && own->memory != TNR_CUDA_PINNED, TNR_ERR_RESIDENCY,
                "%s: operand in host memory (%s), the engine is device %d's: tnr_cuda_upload it first", op,
                root->domain != NULL ? tnr_domain_name(root->domain) : "adopted", device->info.ordinal);
    if (operand->data == NULL) {
        return TNR_OK;
    }
    const tnri_memory *memory = memory_of(engine, operand);
    TNR_REQUIRE(memory != NULL, TNR_ERR_FOREIGN, "%s: the block is none of the device object's", op);
    return tnri_lane_order(op, engine->lane, memory, operand->write);
}

static tnr_status place_all(const char *op, const tnri_cuda_engine *engine, tnri_operand *operands, int count)
{
    TNR_REQUIRE(engine->device->managed_maps == 0 || engine->device->info.concurrent_managed, TNR_ERR_BUSY,
                "%s: a managed tensor is mapped, and this device cannot work meanwhile", op);
    for (int at = 0; at < count; at++) {
        TNR_TRY(place(op, engine, &operands[at]));
    }
    for (int at = 0; at < count; at++) {
        if (operands[at].data != NULL) {
            operands[at].data = (char *)operands[at].view->root->block.address + tnri_away_byte(operands[at].data);
        }
    }
    return TNR_OK;
}

tnr_status tnri_engine_open(void *state, const char *op, tnri_operand *operands, int count)
{
    tnri_cuda_engine *engine = state;
    TNR_TRY(tnri_lane_enter(op, engine->lane));
    tnr_status status = tnri_device_enter(op, engine->device);
    if (status == TNR_OK) {
        status = place_all(op, engine, operands, count);
        if (status != TNR_OK) {
            status = tnri_device_leave(engine->device, true, status);
        }
    }
    if (status != TNR_OK) {
        tnri_lane_leave(engine->lane);
        return status;
    }
    engine->op = op;
    engine->operands = operands;
    engine->count = count;
    begin_batch(engine);
    return TNR_OK;
}

tnr_status tnri_engine_close(void *state, tnr_status status)
{
    tnri_cuda_engine *engine = state;
    engine->op = NULL;
    engine->operands = NULL;
    engine->count = 0;
    status = tnri_device_leave(engine->device, true, status);
    tnri_lane_leave(engine->lane);
    return status;
}

/* ---- Kept memory ------------------------------------------------------------------------------------------------------------------------ */

/* Of the host's: no part of what the engine keeps of the device. Its length never changes. */
static tnr_status keep_arrival(const char *op, tnri_cuda_engine *engine, uint64_t bytes)
{
    tnri_memory **arrival = &engine->kept[TNRI_KEPT_ARRIVAL];
    TNR_TRY(tnri_memory_take_pinned(op, engine->memory, bytes, arrival));
    tnr_engine_provider.ledger_scratch(engine->own, (*arrival)->bytes);
    return TNR_OK;
}

/* New before the old goes, so that wanting room changes nothing. Under the lock, context current. */
static tnr_status keep(const char *op, tnri_cuda_engine *engine, int kind, uint64_t bytes)
{
    tnri_memory *had = engine->kept[kind];
    const uint64_t others = engine->kept_bytes - (had != NULL ? had->bytes : 0);
    if (kind == TNRI_KEPT_ARRIVAL) {
        return keep_arrival(op, engine, bytes);
    }
    TNR_REQUIRE(bytes <= engine->scratch_max_bytes && others <= engine->scratch_max_bytes - bytes, TNR_ERR_MEMORY,
                "%s: %llu bytes of scratch beside %llu, the engine's cap is %llu", op, TNRI_LLU(bytes),
                TNRI_LLU(others), TNRI_LLU(engine->scratch_max_bytes));
    tnri_memory *taken;
    TNR_TRY(tnri_memory_take(op, engine->memory, bytes, &taken));
    const tnr_status status = tnri_lane_order(op, engine->lane, taken, true);
    if (status != TNR_OK) {
        tnri_memory_release(taken, true);
        return status;
    }
    tnr_engine_provider.ledger_scratch(engine->own, taken->bytes);
    if (had != NULL) {
        tnri_memory_release(had, true);
    }
    engine->kept[kind] = taken;
    engine->kept_bytes = others + taken->bytes;
    return TNR_OK;
}

tnr_status tnri_engine_keep(tnri_cuda_engine *engine, int kind, uint64_t bytes, uint64_t *address)
{
    tnr_status status = TNR_OK;
    if (bytes != 0 && (engine->kept[kind] == NULL || engine->kept[kind]->bytes < bytes)) {
        if (engine->op != NULL) {
            TNR_TRY(keep(engine->op, engine, kind, bytes));
            begin_batch(engine);
        } else {
            TNR_TRY(tnri_lane_enter("engine", engine->lane));
            status = tnri_device_enter("engine", engine->device);
            if (status == TNR_OK) {
                status = tnri_device_leave(engine->device, true, keep("engine", engine, kind, bytes));
            }
            tnri_lane_leave(engine->lane);
            TNR_TRY(status);
        }
    }
    *address = engine->kept[kind] != NULL ? engine->kept[kind]->address : 0;
    return TNR_OK;
}

void tnri_engine_drop(tnri_cuda_engine *engine, int kind)
{
    engine->kept_bytes -= engine->kept[kind]->bytes;
    tnri_memory_release(engine->kept[kind], true);
    engine->kept[kind] = NULL;
}

void tnri_engine_forget(tnri_cuda_engine *engine, bool current)
{
    for (int kind = 0; kind < TNRI_KEPT; kind++) {
        if (engine->kept[kind] != NULL) {
            tnri_memory_release(engine->kept[kind], current);
            engine->kept[kind] = NULL;
        }
    }
    engine->kept_bytes = 0;
}

/* ---- Values ------------------------------------------------------------------------------------------------------------------------------- */

/* With the mutex let go while the host waits (page-locked: the driver's call itself does not): leases keep the operands as they are. */
tnr_status tnri_engine_fetch(tnri_cuda_engine *engine, uint64_t address, size_t bytes)
{
    tnr_cuda_device *device = engine->device;
    tnr_cuda_lane *lane = engine->lane;
    void *arrival = (void *)(uintptr_t)engine->kept[TNRI_KEPT_ARRIVAL]->address;
    tnri_engine_batch(engine);
    device->counts.operations++;
    TNR_TRY(TNRI_CUDA(engine->op, device, copy_out, arrival, address, bytes, lane->stream));
    TNR_TRY(tnri_lane_wait(engine->op, lane, lane->issued, true));
    memcpy(engine->word, arrival, bytes);
    TNR_REQUIRE(device->poison == TNR_OK, device->poison, "%s: the device is poisoned: %s", engine->op,
                device->poison_text);
    TNR_REQUIRE(device->managed_maps == 0 || device->info.concurrent_managed, TNR_ERR_BUSY,
                "%s: a managed tensor was mapped meanwhile, and this device cannot work then", engine->op);
    begin_batch(engine);
    return TNR_OK;
}
