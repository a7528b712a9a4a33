/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles: slots of one size in chunks that are blocks of the home domain.
 *
 *   chunk: | head (64 bytes) | slot 0 | slot 1 | ...        slot: | tnri_handle | what storage keeps |
 *
 * A chunk stays until the home closes, so reading a stale handle's state is always defined; the one exception is a
 * chunk that was added for a handle which came to nothing: tnri_handle_cancel gives it back. Last in, first out: a warm
 * slot is reused while it is in the cache.
 */
#include "arena.h"
#include "poison.inl.h"

struct tnri_slab_chunk {
    tnri_slab_chunk *next;
    tnr_block block;
    atomic_bool stays; /* was reserved, or one of its slots was a handle that views could know */
    uint32_t slots;
};

_Static_assert(sizeof(tnri_slab_chunk) <= TNRI_UNIT, "the head of a chunk is one unit");
_Static_assert(TNRI_SLAB_FIRST_SLOTS << 8U == TNRI_SLAB_MOST_SLOTS, "eight chunks double");
_Static_assert(sizeof(tnri_handle) <= TNRI_HANDLE_BYTES, "a slot holds its head");

static tnri_handle *chunk_slot(tnri_slab_chunk *chunk, uint32_t index)
{
    return (tnri_handle *)(void *)((char *)chunk + TNRI_UNIT + (size_t)index * TNRI_HANDLE_BYTES);
}

/* What lies behind the head of a free slot may not be looked at. */
static void mark_slot_free(tnri_handle *handle)
{
    tnri_poison_mark_free((char *)handle + sizeof(*handle), TNRI_HANDLE_BYTES - sizeof(*handle));
}

static void mark_slot_used(tnri_handle *handle)
{
    tnri_poison_mark_used((char *)handle + sizeof(*handle), TNRI_HANDLE_BYTES - sizeof(*handle));
}

static uint64_t slots_of(uint64_t chunk)
{
    return chunk < 8 ? (uint64_t)TNRI_SLAB_FIRST_SLOTS << chunk : (uint64_t)TNRI_SLAB_MOST_SLOTS;
}

static uint64_t bytes_of(uint64_t slots) { return TNRI_UNIT + slots * TNRI_HANDLE_BYTES; }

bool tnri_slab_need(uint64_t handles, uint64_t *bytes, uint64_t *blocks)
{
    uint64_t sum = 0;
    uint64_t chunk = 0;
    uint64_t room = 0;
    for (; room < handles && chunk < 8; chunk++) {
        room += slots_of(chunk);
        sum += bytes_of(slots_of(chunk));
    }
    if (room < handles) { /* the rest in chunks of the largest size */
        const uint64_t rest = (handles - room - 1) / TNRI_SLAB_MOST_SLOTS + 1;
        uint64_t rest_bytes;
        if (!tnri_mul_u64(rest, bytes_of(TNRI_SLAB_MOST_SLOTS), &rest_bytes) || !tnri_add_u64(sum, rest_bytes, &sum)) {
            return false;
        }
        chunk += rest;
    }
    *bytes = sum;
    *blocks = chunk;
    return true;
}

/* Add one chunk. Only `growing` is held: the home may take its time. */
static tnr_status grow(tnr_domain *home, uint64_t slots, bool stays)
{
    tnri_slab *slab = &home->slab;
    tnr_block block;
    TNR_TRY(home->kind->allocate(home, TNRI_FOR_RECORD, bytes_of(slots), 0, &block));
    tnri_slab_chunk *chunk = block.address;
    memset(chunk, 0, (size_t)bytes_of(slots));
    chunk->block = block;
    chunk->slots = (uint32_t)slots;
    atomic_init(&chunk->stays, stays);
    for (uint32_t index = chunk->slots; index-- > 0;) {
        tnri_handle *slot = chunk_slot(chunk, index);
        slot->home = home;
        slot->chunk = chunk;
        slot->next = index + 1 < slots ? chunk_slot(chunk, index + 1) : NULL;
        mark_slot_free(slot);
    }
    tnri_lock_take(&slab->lock);
    chunk->next = slab->chunks;
    slab->chunks = chunk;
    slab->chunk_count++;
    slab->slots += slots;
    chunk_slot(chunk, chunk->slots - 1)->next = slab->free;
    slab->free = chunk_slot(chunk, 0);
    tnri_lock_give(&slab->lock);
    return TNR_OK;
}

/* A text about 5184 bytes that nobody asked for helps nobody: say what they are for. */
static TNRI_COLD tnr_status no_room(uint64_t slots)
{
    return tnri_fail(TNR_ERR_MEMORY, "no room for the handles of %llu tensors, drafts or blocks: %s", TNRI_LLU(slots),
                     tnr_last_error());
}

/* Make sure of a free slot, unless the home is full. One thread grows; the others find what it added. */
static TNRI_COLD tnr_status refill(tnr_domain *home)
{
    tnri_slab *slab = &home->slab;
    tnri_turn_take(&slab->growing);
    tnri_lock_take(&slab->lock);
    const bool empty = slab->free == NULL;
    uint64_t slots = slots_of(slab->chunk_count);
    tnri_lock_give(&slab->lock);
    tnr_status status = empty ? grow(home, slots, false) : TNR_OK;
    while (status == TNR_ERR_MEMORY && slots > TNRI_SLAB_FIRST_SLOTS) {
        slots /= 2; /* a full home may still have room for a few */
        status = grow(home, slots, false);
    }
    tnri_turn_give(&slab->growing);
    return status == TNR_ERR_MEMORY ? no_room(slots) : status;
}

tnr_status tnri_slab_reserve(tnr_domain *home, uint64_t handles)
{
    tnri_slab *slab = &home->slab;
    tnr_status status = TNR_OK;
    tnri_turn_take(&slab->growing);
    for (;;) {
        tnri_lock_take(&slab->lock);
        const bool enough = slab->slots >= handles;
        const uint64_t slots = slots_of(slab->chunk_count);
        tnri_lock_give(&slab->lock);
        if (enough || status != TNR_OK) {
            break;
        }
        status = grow(home, slots, true);
        if (status == TNR_ERR_MEMORY) {
            (void)no_room(slots);
        }
    }
    tnri_turn_give(&slab->growing);
    return status;
}

tnr_status tnri_handle_take(tnr_domain *domain, tnr_allocation_reason reason, uint64_t bytes, tnri_handle **handle)
{
    tnr_domain *home = domain->home;
    tnri_slab *slab = &home->slab;
    tnri_lock_take(&slab->lock);
    while (TNRI_UNLIKELY(slab->free == NULL)) {
        tnri_lock_give(&slab->lock);
        TNR_TRY(refill(home));
        tnri_lock_take(&slab->lock);
    }
    tnri_handle *taken = slab->free;
    slab->free = taken->next;
    domain->users++;
    domain->handles++;
    if (reason != TNR_ALLOCATION_REASON_END) {
        domain->ledger.allocations[reason].count++;
        domain->ledger.allocations[reason].bytes += bytes;
    }
    tnri_lock_give(&slab->lock);
    mark_slot_used(taken);
    *handle = taken;
    return TNR_OK;
}

/* Take a chunk out of the slab when none of its slots was ever published and all are free. The lock is held. */
static tnri_slab_chunk *unlink_unpublished(tnri_slab *slab, tnri_slab_chunk *chunk)
{
    if (atomic_load_explicit(&chunk->stays, memory_order_relaxed)) {
        return NULL;
    }
    uint32_t free_slots = 0;
    for (tnri_handle *slot = slab->free; slot != NULL; slot = slot->next) {
        free_slots += slot->chunk == chunk ? 1U : 0U;
    }
    if (free_slots < chunk->slots) {
        return NULL;
    }
    for (tnri_handle **at = &slab->free; *at != NULL;) {
        if ((*at)->chunk == chunk) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
    tnri_slab_chunk **link = &slab->chunks;
    while (*link != chunk) {
        link = &(*link)->next;
    }
    *link = chunk->next;
    slab->chunk_count--;
    slab->slots -= chunk->slots;
    return chunk;
}

static void release_chunk(tnr_domain *home, tnri_slab_chunk *chunk)
{
    const tnr_block block = chunk->block;
    tnri_poison_show(chunk, bytes_of(chunk->slots));
    (void)home->kind->release(home, &block, TNRI_FOR_RECORD);
}

void tnri_handle_publish(tnri_handle *handle, tnri_handle_kind kind)
{
    /* Read under the lock, which whoever gives the slot back takes after this. */
    if (TNRI_UNLIKELY(!atomic_load_explicit(&handle->chunk->stays, memory_order_relaxed))) {
        atomic_store_explicit(&handle->chunk->stays, true, memory_order_relaxed);
    }
    atomic_store_explicit(&handle->kind, (uint32_t)kind, memory_order_release);
}

void tnri_handle_cancel(tnr_domain *domain, tnr_allocation_reason reason, uint64_t bytes, tnri_handle *handle)
{
    tnr_domain *home = domain->home;
    tnri_slab *slab = &home->slab;
    tnri_slab_chunk *chunk = handle->chunk;
    mark_slot_free(handle);
    tnri_lock_take(&slab->lock);
    handle->next = slab->free;
    slab->free = handle;
    domain->users--;
    domain->handles--;
    if (reason != TNR_ALLOCATION_REASON_END) {
        domain->ledger.allocations[reason].count--;
        domain->ledger.allocations[reason].bytes -= bytes;
    }
    chunk = unlink_unpublished(slab, chunk);
    tnri_lock_give(&slab->lock);
    if (chunk != NULL) {
        release_chunk(home, chunk);
    }
}

void tnri_handle_give(tnr_domain *domain, tnri_handle *handle, bool released)
{
    tnri_slab *slab = &domain->home->slab;
    atomic_store_explicit(&handle->kind, (uint32_t)TNRI_HANDLE_FREE, memory_order_release);
    mark_slot_free(handle);
    tnri_lock_take(&slab->lock);
    handle->next = slab->free;
    slab->free = handle;
    if (released) {
        domain->ledger.releases++;
    }
    domain->users--;
    domain->handles--;
    const bool last = domain->closed && domain->users == 0;
    tnri_lock_give(&slab->lock);
    if (TNRI_UNLIKELY(last)) {
        tnri_domain_free_record(domain);
    }
}

tnri_handle *tnri_slab_find(tnr_domain *home, uint64_t address)
{
    tnri_handle *found = NULL;
    for (tnri_slab_chunk *chunk = home->slab.chunks; chunk != NULL && found == NULL; chunk = chunk->next) {
        const uint64_t first = (uint64_t)(uintptr_t)chunk + TNRI_UNIT;
        if (address >= first && (address - first) / TNRI_HANDLE_BYTES < chunk->slots &&
            (address - first) % TNRI_HANDLE_BYTES == 0) {
            found = chunk_slot(chunk, (uint32_t)((address - first) / TNRI_HANDLE_BYTES));
        }
    }
    return found;
}

void tnri_slab_close(tnr_domain *home)
{
    while (home->slab.chunks != NULL) {
        tnri_slab_chunk *chunk = home->slab.chunks;
        home->slab.chunks = chunk->next;
        release_chunk(home, chunk);
    }
    home->slab.free = NULL;
    home->slab.chunk_count = 0;
}
