/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool's life: how it is made, asked, capped and closed, and what it only passes on to its parent. What it is for, taking
 * and giving, is in pool.c.
 *
 * A lowered cap holds for what comes in at once, and for what is there when tnr_pool_set_max_bytes returns. No lock is held
 * while the parent works.
 */
#include "pool_internal.h"

/* ---- Passed on to the parent ------------------------------------------------------------------------------------- */

/* Mapped access only: the parent maps its own block. */
static tnr_status pool_map(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode, void **host)
{
    tnr_block parent_block;
    tnri_pool_parent_block(domain, block, &parent_block);
    return domain->parent->kind->map(domain->parent, &parent_block, mode, host);
}

static tnr_status pool_unmap(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode, void *host)
{
    tnr_block parent_block;
    tnri_pool_parent_block(domain, block, &parent_block);
    return domain->parent->kind->unmap(domain->parent, &parent_block, mode, host);
}

/* Likewise where the host cannot reach the memory. */
static tnr_status pool_read(tnr_domain *domain, const tnr_block *block, const tnr_domain_box *box, void *host)
{
    tnr_block parent_block;
    tnri_pool_parent_block(domain, block, &parent_block);
    return domain->parent->kind->read(domain->parent, &parent_block, box, host);
}

static tnr_status pool_write(tnr_domain *domain, const tnr_block *block, const tnr_domain_box *box, const void *host)
{
    tnr_block parent_block;
    tnri_pool_parent_block(domain, block, &parent_block);
    return domain->parent->kind->write(domain->parent, &parent_block, box, host);
}

static tnr_status pool_expose(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode, void **address)
{
    tnr_block parent_block;
    tnri_pool_parent_block(domain, block, &parent_block);
    return domain->parent->kind->expose(domain->parent, &parent_block, mode, address);
}

static void pool_conceal(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode)
{
    tnr_block parent_block;
    tnri_pool_parent_block(domain, block, &parent_block);
    domain->parent->kind->conceal(domain->parent, &parent_block, mode);
}

/* ---- The class --------------------------------------------------------------------------------------------------- */

static void pool_statistics(tnr_domain *domain, tnr_domain_statistics *statistics)
{
    tnri_pool *pool = tnri_pool_of(domain);
    tnri_lock_take(&pool->lock);
    statistics->blocks = pool->held - tnri_pool_retained(pool);
    statistics->bytes = pool->held_bytes - pool->retained_bytes;
    statistics->peak_bytes = pool->peak_bytes;
    statistics->allocations = pool->hits + pool->misses;
    statistics->failures = pool->failures;
    tnri_lock_give(&pool->lock);
}

static uint64_t pool_program_blocks(tnr_domain *domain)
{
    tnri_pool *pool = tnri_pool_of(domain);
    tnri_lock_take(&pool->lock);
    const uint64_t blocks = pool->program_blocks;
    tnri_lock_give(&pool->lock);
    return blocks;
}

/* Lower or raise the cap. What comes in obeys the lower one at once; max_bytes tells it when it holds. */
static void set_cap(tnri_pool *pool, uint64_t max_bytes)
{
    tnri_lock_take(&pool->lock);
    pool->admit_bytes = max_bytes;
    pool->max_bytes = tnri_max_u64(max_bytes, pool->retained_bytes);
    tnri_lock_give(&pool->lock);
    (void)tnri_pool_trim(pool, max_bytes);
    tnri_lock_take(&pool->lock);
    pool->max_bytes = tnri_max_u64(pool->admit_bytes, pool->retained_bytes);
    tnri_lock_give(&pool->lock);
}

/* From here on nothing is retained: whatever is still out goes straight to the parent when it is released. */
static void pool_close(tnr_domain *domain) { set_cap(tnri_pool_of(domain), 0); }

static void pool_destroy(tnr_domain *domain) { tnri_pool_entries_close(tnri_pool_of(domain)); }

static const tnri_domain_class pool_class = {
    .name = "pool",
    .allocate = tnri_pool_allocate,
    .release = tnri_pool_release,
    .map = pool_map,
    .unmap = pool_unmap,
    .read = pool_read,
    .write = pool_write,
    .expose = pool_expose,
    .conceal = pool_conceal,
    .statistics = pool_statistics,
    .program_blocks = pool_program_blocks,
    .transfer = tnri_pool_transfer,
    .close = pool_close,
    .destroy = pool_destroy,
    .outlives_close = true,
};

bool tnri_is_pool(const tnr_domain *domain) { return domain->kind == &pool_class; }

/* ---- The public calls -------------------------------------------------------------------------------------------- */

static tnr_status resolve_cap(uint64_t asked, uint64_t *max_bytes)
{
    if (asked == TNR_POOL_MAX_BYTES_AUTO) {
        return tnri_pool_environment(max_bytes);
    }
    *max_bytes = asked;
    return TNR_OK;
}

tnr_status tnr_pool_create(tnr_domain *parent, const tnr_pool_options *options, tnr_domain **pool)
{
    TNR_REQUIRE(parent != NULL && pool != NULL, TNR_ERR_ARGUMENT, "pool_create: parent and pool must not be NULL");
    tnr_pool_options taken = TNR_POOL_OPTIONS;
    TNR_TRY(tnri_options_take("pool_create", options, sizeof(taken), &taken, sizeof(taken)));
    uint64_t max_bytes;
    TNR_TRY(resolve_cap(taken.max_bytes, &max_bytes));
    TNR_TRY(tnri_domain_check_open("pool_create", parent));
    tnr_block record;
    TNR_TRY(tnri_record_take(parent, sizeof(tnri_pool), &record));
    tnri_pool *made = record.address;
    const tnr_status status =
        tnri_domain_init(&made->domain, &pool_class, parent->home, parent->placement, parent->access);
    if (status != TNR_OK) {
        tnri_record_give(parent, &record);
        return status;
    }
    made->domain.parent = parent;
    made->domain.coherent = parent->coherent;
    made->domain.copies = parent->copies;
    made->domain.exposes = parent->exposes;
    made->domain.record = record;
    made->admit_bytes = max_bytes;
    made->max_bytes = max_bytes;
    tnri_domain_use_as_child(parent);
    *pool = &made->domain;
    return TNR_OK;
}

tnr_status tnr_pool_statistics_get(tnr_domain *domain, tnr_pool_statistics *statistics)
{
    TNR_REQUIRE(domain != NULL && statistics != NULL && tnri_is_pool(domain), TNR_ERR_ARGUMENT,
                "pool_statistics_get: needs a pool, not %s, and statistics", tnr_domain_name(domain));
    tnri_pool *pool = tnri_pool_of(domain);
    memset(statistics, 0, sizeof(*statistics));
    tnri_lock_take(&pool->lock);
    statistics->buffers = tnri_pool_retained(pool);
    statistics->capacity_bytes = pool->retained_bytes;
    statistics->hits = pool->hits;
    statistics->misses = pool->misses;
    statistics->evictions = pool->evictions;
    statistics->in_flight = pool->held - tnri_pool_retained(pool);
    statistics->in_flight_bytes = pool->held_bytes - pool->retained_bytes;
    statistics->high_water_bytes = pool->high_water_bytes;
    statistics->max_bytes = pool->max_bytes;
    tnri_lock_give(&pool->lock);
    return TNR_OK;
}

tnr_status tnr_pool_set_max_bytes(tnr_domain *domain, uint64_t max_bytes)
{
    TNR_REQUIRE(domain != NULL && tnri_is_pool(domain), TNR_ERR_ARGUMENT, "pool_set_max_bytes: needs a pool, not %s",
                tnr_domain_name(domain));
    uint64_t cap;
    TNR_TRY(resolve_cap(max_bytes, &cap));
    set_cap(tnri_pool_of(domain), cap);
    return TNR_OK;
}

tnr_status tnr_pool_trim(tnr_domain *domain, uint64_t keep_bytes, uint64_t *freed)
{
    TNR_REQUIRE(domain != NULL && tnri_is_pool(domain), TNR_ERR_ARGUMENT, "pool_trim: needs a pool, not %s",
                tnr_domain_name(domain));
    const uint64_t bytes = tnri_pool_trim(tnri_pool_of(domain), keep_bytes);
    if (freed != NULL) {
        *freed = bytes;
    }
    return TNR_OK;
}
