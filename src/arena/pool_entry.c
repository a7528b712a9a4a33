/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry table of a pool: chunks of doubling size in the home domain, taken when needed and kept until the pool is
 * gone. An entry never moves, so a tag can be checked for as long as the pool lives.
 */
#include "pool_internal.h"

/* Entries in all chunks before this one. */
static uint64_t first_of_chunk(uint32_t chunk) { return tnri_pool_chunk_entries(chunk) - tnri_pool_chunk_entries(0); }

uint64_t *tnri_pool_parent_tag(const tnri_pool *pool, const tnri_pool_entry *entry)
{
    const uint64_t place = entry->index + tnri_pool_chunk_entries(0);
    const uint32_t chunk = tnri_highest_bit(place) - TNRI_POOL_FIRST_SHIFT;
    const uint64_t entries = tnri_pool_chunk_entries(chunk);
    return (uint64_t *)(void *)(pool->chunks[chunk] + entries) + (place - entries);
}

void tnri_pool_entry_idle(tnri_pool *pool, tnri_pool_entry *entry)
{
    entry->state = TNRI_POOL_IDLE;
    entry->below = pool->idle;
    pool->idle = entry;
}

/* Number the entries of a fresh chunk and chain them; gives the last of the chain. */
static tnri_pool_entry *prepare(tnri_pool_entry *entries, uint32_t chunk)
{
    const uint64_t count = tnri_pool_chunk_entries(chunk);
    for (uint64_t slot = 0; slot < count; slot++) {
        entries[slot].index = (uint32_t)(first_of_chunk(chunk) + slot);
        entries[slot].below = slot + 1 < count ? &entries[slot + 1] : NULL;
    }
    return &entries[count - 1];
}

/* Add the chunk after the first `chunk` ones, unless another thread does so meanwhile. The lock is not held. */
static tnr_status grow(tnri_pool *pool, uint32_t chunk)
{
    TNR_REQUIRE(chunk < TNRI_POOL_CHUNKS, TNR_ERR_OVERFLOW, "pool: more than 2^32 buffers");
    tnr_block record;
    TNR_TRY(tnri_record_take(&pool->domain, tnri_pool_chunk_entries(chunk) * TNRI_POOL_ENTRY_BYTES, &record));
    tnri_pool_entry *entries = record.address;
    tnri_pool_entry *last = prepare(entries, chunk);
    tnri_lock_take(&pool->lock);
    const bool needed = pool->chunk_count == chunk;
    if (needed) {
        pool->chunks[chunk] = entries;
        pool->chunk_records[chunk] = record;
        pool->chunk_count = chunk + 1;
        last->below = pool->idle;
        pool->idle = entries;
    }
    tnri_lock_give(&pool->lock);
    if (!needed) {
        tnri_record_give(&pool->domain, &record);
    }
    return TNR_OK;
}

static bool has_idle(tnri_pool *pool)
{
    tnri_lock_take(&pool->lock);
    const bool idle = pool->idle != NULL;
    tnri_lock_give(&pool->lock);
    return idle;
}

tnr_status tnri_pool_entry_take(tnri_pool *pool, tnri_pool_entry **entry)
{
    for (;;) {
        tnri_lock_take(&pool->lock);
        tnri_pool_entry *taken = pool->idle;
        const uint32_t chunk = pool->chunk_count;
        if (taken != NULL) {
            pool->idle = taken->below;
        }
        tnri_lock_give(&pool->lock);
        if (taken != NULL) {
            *entry = taken;
            return TNR_OK;
        }
        const tnr_status status = grow(pool, chunk);
        if (status != TNR_OK && !has_idle(pool)) { /* another thread may have added some meanwhile */
            return status;
        }
    }
}

void tnri_pool_entries_close(tnri_pool *pool)
{
    while (pool->chunk_count > 0) {
        const tnr_block record = pool->chunk_records[--pool->chunk_count];
        tnri_record_give(&pool->domain, &record);
    }
    pool->idle = NULL;
}

tnr_status tnr_pool_reserve(tnr_domain *domain, uint64_t buffers)
{
    static const char *const op = "pool_reserve";
    TNR_REQUIRE(domain != NULL && tnri_is_pool(domain), TNR_ERR_ARGUMENT, "%s: needs a pool, not %s", op,
                tnr_domain_name(domain));
    TNR_REQUIRE(buffers <= first_of_chunk(TNRI_POOL_CHUNKS), TNR_ERR_OVERFLOW, "%s: no pool has %llu buffers", op,
                TNRI_LLU(buffers));
    tnri_pool *pool = tnri_pool_of(domain);
    for (;;) {
        tnri_lock_take(&pool->lock);
        const uint32_t chunk = pool->chunk_count;
        tnri_lock_give(&pool->lock);
        if (first_of_chunk(chunk) >= buffers) {
            return TNR_OK;
        }
        const tnr_status status = grow(pool, chunk);
        if (status != TNR_OK) {
            return tnri_failed_in(op, NULL, status);
        }
    }
}

tnr_status tnr_pool_need(uint64_t buffers, tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "pool_need: need must not be NULL");
    tnr_need sum;
    TNR_TRY(tnri_record_need(sizeof(tnri_pool), &sum));
    for (uint32_t chunk = 0; first_of_chunk(chunk) < buffers; chunk++) {
        TNR_REQUIRE(chunk < TNRI_POOL_CHUNKS, TNR_ERR_OVERFLOW, "pool_need: no pool has %llu buffers",
                    TNRI_LLU(buffers));
        tnr_need term;
        TNR_TRY(tnri_record_need(tnri_pool_chunk_entries(chunk) * TNRI_POOL_ENTRY_BYTES, &term));
        TNR_TRY(tnr_need_add(&sum, &term, 1));
    }
    *need = sum;
    return TNR_OK;
}
