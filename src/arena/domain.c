/* SPDX-License-Identifier: BSD-3-Clause */
/* What all kinds of domain share: identity, users, closing, raw blocks, records. */
#include "arena.h"

/* ---- Identity and users ------------------------------------------------------------------------------------------------ */

tnr_status tnri_domain_init(tnr_domain *domain, const tnri_domain_class *kind, tnr_domain *home, tnr_placement placement,
                            tnr_host_access access)
{
    TNR_TRY(tnri_mint_domain_id(&domain->id));
    domain->kind = kind;
    domain->home = home;
    domain->placement = placement;
    domain->access = access;
    return TNR_OK;
}

uint64_t tnri_mint(tnr_domain *domain)
{
    /* 64 bits at one allocation per nanosecond last for centuries: no check. */
    return atomic_fetch_add_explicit(&domain->minted, 1, memory_order_relaxed) + 1;
}

void tnri_domain_use(tnr_domain *domain)
{
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    domain->users++;
    tnri_lock_give(lock);
}

void tnri_domain_unuse(tnr_domain *domain)
{
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    domain->users--;
    const bool last = domain->closed && domain->users == 0;
    tnri_lock_give(lock);
    if (last) {
        tnri_domain_free_record(domain);
    }
}

void tnri_domain_free_record(tnr_domain *domain)
{
    tnr_domain *home = domain->home;
    tnr_domain *support = domain->parent != NULL ? domain->parent : home;
    const tnr_block record = domain->record;
    if (domain->kind->destroy != NULL) {
        domain->kind->destroy(domain);
    }
    if (home != domain) {
        tnri_record_give(home, &record);
        tnri_domain_unuse(support);
    }
}

tnr_status tnr_domain_close(tnr_domain **domain)
{
    if (domain == NULL || *domain == NULL) {
        return TNR_OK;
    }
    tnr_domain *closing = *domain;
    const uint64_t blocks = closing->kind->program_blocks != NULL ? closing->kind->program_blocks(closing) : 0;
    tnri_lock *lock = &closing->home->slab.lock;
    tnri_lock_take(lock);
    const uint64_t users = closing->users;
    const bool may_close = blocks == 0 && (users == 0 || closing->kind->outlives_close);
    tnri_lock_give(lock);
    TNR_REQUIRE(may_close, TNR_ERR_BUSY,
                "domain_close: %s is in use: %llu tensors, drafts, groups, engines or domains, %llu raw blocks",
                tnr_domain_name(closing), TNRI_LLU(users), TNRI_LLU(blocks));
    if (closing->kind->close != NULL) {
        closing->kind->close(closing);
    }
    /* A tensor of a pool may go at this very moment on another thread: whoever sees "closed and no users" frees. */
    tnri_lock_take(lock);
    closing->closed = true;
    const bool last = closing->users == 0;
    tnri_lock_give(lock);
    if (last) {
        tnri_domain_free_record(closing);
    }
    *domain = NULL;
    return TNR_OK;
}

/* ---- Questions ----------------------------------------------------------------------------------------------------------- */

tnr_domain_id tnr_domain_identity(const tnr_domain *domain)
{
    const tnr_domain_id none = {0, 0};
    return domain != NULL ? domain->id : none;
}

const char *tnr_domain_name(const tnr_domain *domain)
{
    if (domain == NULL) {
        return "none";
    }
    return domain->kind->name != NULL ? domain->kind->name : tnri_program_domain_name(domain);
}

tnr_placement tnr_domain_placement(const tnr_domain *domain)
{
    const tnr_placement host = TNR_PLACEMENT_HOST;
    return domain != NULL ? domain->placement : host;
}

tnr_host_access tnr_domain_access(const tnr_domain *domain)
{
    return domain != NULL ? domain->access : TNR_ACCESS_NONE;
}

tnr_status tnr_domain_statistics_get(tnr_domain *domain, tnr_domain_statistics *statistics)
{
    TNR_REQUIRE(domain != NULL && statistics != NULL, TNR_ERR_ARGUMENT,
                "domain_statistics_get: domain and statistics must not be NULL");
    memset(statistics, 0, sizeof(*statistics));
    domain->kind->statistics(domain, statistics);
    return TNR_OK;
}

/* ---- Blocks ---------------------------------------------------------------------------------------------------------------- */

/*
 * A raw block of a class that keeps no list: the slot remembers what the class handed out, and the block that the program
 * holds has the slot as its tag. Its number, never used twice, makes the check exact.
 */
typedef struct raw_block {
    tnri_handle handle;
    tnr_domain *domain;
    tnr_block block;
} raw_block;

_Static_assert(sizeof(raw_block) <= TNRI_HANDLE_BYTES, "a raw block fits a slot");

static void raw_fill(tnr_domain *domain, tnri_handle *handle, const tnr_block *block, tnr_block *lent)
{
    raw_block *raw = (raw_block *)(void *)handle;
    raw->domain = domain;
    raw->block = *block;
    *lent = *block;
    lent->tag = (uint64_t)(uintptr_t)raw;
    tnri_handle_publish(handle, TNRI_HANDLE_BLOCK);
}

static TNRI_NOINLINE tnr_status raw_allocate(tnr_domain *domain, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    tnri_handle *handle;
    TNR_TRY(tnri_handle_take(domain, TNR_ALLOCATION_REASON_END, 0, &handle));
    tnr_block taken;
    const tnr_status status = domain->kind->allocate(domain, bytes, alignment, TNRI_FOR_PROGRAM, &taken);
    if (status != TNR_OK) {
        tnri_handle_cancel(domain, TNR_ALLOCATION_REASON_END, 0, handle);
        return status;
    }
    raw_fill(domain, handle, &taken, block);
    return TNR_OK;
}

/* Is this slot the block's? The slab's lock is held: a slot leaves the kind BLOCK only under it. */
static tnr_status raw_recognise(const tnr_domain *domain, const tnri_handle *handle, const tnr_block *block)
{
    /* The tag is only believed once it is known to be one of our slots. */
    if (handle == NULL || block->allocation == 0 ||
        block->allocation > atomic_load_explicit(&domain->minted, memory_order_relaxed)) {
        return TNR_ERR_FOREIGN;
    }
    if (atomic_load_explicit(&handle->kind, memory_order_acquire) != TNRI_HANDLE_BLOCK) {
        return TNR_ERR_STALE;
    }
    const raw_block *raw = (const raw_block *)(const void *)handle;
    const tnr_block *out = &raw->block;
    const bool same = out->address == block->address && out->bytes == block->bytes;
    if (raw->domain != domain) {
        return out->allocation == block->allocation && same ? TNR_ERR_FOREIGN : TNR_ERR_STALE;
    }
    if (out->allocation != block->allocation) {
        /* May have had this slot before, also with a later number: an exported tensor's is as old as the tensor. */
        return TNR_ERR_STALE;
    }
    return same ? TNR_OK : TNR_ERR_FOREIGN;
}

/* The program gives its right to a block up: *taken is what the class knows it as. */
static tnr_status raw_retake(const char *op, tnr_domain *domain, const tnr_block *block, tnri_handle **slot,
                             tnr_block *taken)
{
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    tnri_handle *handle = tnri_slab_find(domain->home, block->tag);
    const tnr_status status = raw_recognise(domain, handle, block);
    if (status == TNR_OK) {
        *taken = ((const raw_block *)(const void *)handle)->block;
        atomic_store_explicit(&handle->kind, (uint32_t)TNRI_HANDLE_FREE, memory_order_relaxed);
    }
    tnri_lock_give(lock);
    TNR_REQUIRE(status != TNR_ERR_STALE, TNR_ERR_STALE, "%s: block %llu of %s was released before", op,
                TNRI_LLU(block->allocation), tnr_domain_name(domain));
    TNR_REQUIRE(status == TNR_OK, TNR_ERR_FOREIGN, "%s: %s did not hand this block out", op, tnr_domain_name(domain));
    *slot = handle;
    return TNR_OK;
}

static TNRI_NOINLINE tnr_status raw_release(tnr_domain *domain, const tnr_block *block)
{
    tnri_handle *handle;
    tnr_block taken;
    TNR_TRY(raw_retake("domain_release", domain, block, &handle, &taken));
    const tnr_status status = domain->kind->release(domain, &taken, TNRI_FOR_PROGRAM);
    tnri_handle_give(domain, handle, false);
    return status;
}

tnr_status tnri_block_lend(tnr_domain *domain, const tnr_block *block, tnr_block *lent)
{
    if (domain->kind->program_blocks != NULL) {
        TNR_TRY(domain->kind->transfer(domain, block, TNRI_FOR_TENSOR, TNRI_FOR_PROGRAM));
        *lent = *block;
        return TNR_OK;
    }
    tnri_handle *handle;
    TNR_TRY(tnri_handle_take(domain, TNR_ALLOCATION_REASON_END, 0, &handle));
    raw_fill(domain, handle, block, lent);
    return TNR_OK;
}

tnr_status tnri_block_retake(tnr_domain *domain, const tnr_block *lent, tnr_block *block)
{
    if (domain->kind->program_blocks != NULL) {
        TNR_TRY(domain->kind->transfer(domain, lent, TNRI_FOR_PROGRAM, TNRI_FOR_TENSOR));
        *block = *lent;
        return TNR_OK;
    }
    tnri_handle *handle;
    TNR_TRY(raw_retake("tensor_import", domain, lent, &handle, block));
    tnri_handle_give(domain, handle, false);
    return TNR_OK;
}

tnr_status tnr_domain_allocate(tnr_domain *domain, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    TNR_REQUIRE(domain != NULL && block != NULL, TNR_ERR_ARGUMENT,
                "domain_allocate: domain and block must not be NULL");
    if (alignment < TNRI_UNIT) {
        TNR_REQUIRE(alignment == 0 || tnri_is_power_of_two(alignment), TNR_ERR_ARGUMENT,
                    "domain_allocate: alignment %llu is no power of two", TNRI_LLU(alignment));
        alignment = TNRI_UNIT;
    }
    TNR_REQUIRE(tnri_is_power_of_two(alignment), TNR_ERR_ARGUMENT,
                "domain_allocate: alignment %llu is no power of two", TNRI_LLU(alignment));
    if (TNRI_UNLIKELY(bytes == 0)) {
        memset(block, 0, sizeof(*block));
        return TNR_OK;
    }
    /* A class writes *block on success only; a copy of ours would cost more than a pool's hit. */
    return domain->kind->program_blocks != NULL
               ? domain->kind->allocate(domain, bytes, alignment, TNRI_FOR_PROGRAM, block)
               : raw_allocate(domain, bytes, alignment, block);
}

tnr_status tnr_domain_release(tnr_domain *domain, const tnr_block *block)
{
    TNR_REQUIRE(domain != NULL && block != NULL, TNR_ERR_ARGUMENT,
                "domain_release: domain and block must not be NULL");
    if (TNRI_UNLIKELY(block->bytes == 0 && block->address == NULL)) {
        return TNR_OK;
    }
    return domain->kind->program_blocks != NULL ? domain->kind->release(domain, block, TNRI_FOR_PROGRAM)
                                                : raw_release(domain, block);
}

tnr_status tnri_block_take(tnr_domain *domain, uint64_t bytes, tnr_block *block)
{
    if (bytes == 0) {
        memset(block, 0, sizeof(*block));
        block->allocation = tnri_mint(domain);
        return TNR_OK;
    }
    return domain->kind->allocate(domain, bytes, TNRI_UNIT, TNRI_FOR_TENSOR, block);
}

void tnri_block_give(tnr_domain *domain, const tnr_block *block)
{
    if (block->bytes != 0) {
        (void)domain->kind->release(domain, block, TNRI_FOR_TENSOR);
    }
}

tnr_status tnri_record_take(tnr_domain *domain, uint64_t bytes, tnr_block *block)
{
    tnr_domain *home = domain->home;
    TNR_TRY(home->kind->allocate(home, bytes, TNRI_UNIT, TNRI_FOR_RECORD, block));
    memset(block->address, 0, (size_t)bytes);
    return TNR_OK;
}

void tnri_record_give(tnr_domain *domain, const tnr_block *block)
{
    (void)domain->home->kind->release(domain->home, block, TNRI_FOR_RECORD);
}

tnr_status tnri_record_need(uint64_t bytes, tnr_need *need) { return tnr_block_need(bytes, 1, need); }
