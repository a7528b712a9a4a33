/* SPDX-License-Identifier: BSD-3-Clause */
/* What all kinds of domain share: identity, users, closing, tensors' blocks, records. */
#include "arena.h"

/* ---- Identity and users ------------------------------------------------------------------------------------------------ */

tnr_status tnri_domain_init(tnr_domain *domain, const tnri_domain_class *kind, tnr_domain *home,
                            tnr_placement placement, tnr_host_access access)
{
    static TNRI_ATOMIC(uint64_t) last_serial;
    TNR_TRY(tnri_mint_serial("domain", &last_serial, &domain->serial));
    domain->kind = kind;
    domain->home = home;
    domain->placement = placement;
    domain->access = access;
    domain->copies = false;
    domain->coherent = access == TNR_ACCESS_DIRECT;
    return TNR_OK;
}

void tnri_domain_use(tnr_domain *domain)
{
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    domain->users++;
    tnri_lock_give(lock);
}

void tnri_domain_use_as_child(tnr_domain *support)
{
    tnri_lock *lock = &support->home->slab.lock;
    tnri_lock_take(lock);
    support->users++;
    support->children++;
    tnri_lock_give(lock);
}

/* The program has closed it. Its record may live on, and count as a user, for the sake of tensors. */
static void end_childhood(tnr_domain *domain)
{
    tnr_domain *support = domain->parent != NULL ? domain->parent : domain->home;
    if (support != domain) {
        tnri_lock *lock = &support->home->slab.lock;
        tnri_lock_take(lock);
        support->children--;
        tnri_lock_give(lock);
    }
}

uint64_t tnri_domain_children(tnr_domain *domain)
{
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    const uint64_t children = domain->children;
    tnri_lock_give(lock);
    return children;
}

uint64_t tnri_domain_users(tnr_domain *domain)
{
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    const uint64_t users = domain->users;
    tnri_lock_give(lock);
    return users;
}

uint64_t tnri_domain_program_blocks(tnr_domain *domain)
{
    return domain->kind->program_blocks != NULL ? domain->kind->program_blocks(domain)
                                                : atomic_load_explicit(&domain->raw_blocks, memory_order_relaxed);
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

tnr_status tnri_domain_check_open(const char *op, tnr_domain *domain)
{
    tnr_domain *home = domain->home;
    tnri_lock_take(&home->slab.lock);
    const bool sealed = home->sealed;
    tnri_lock_give(&home->slab.lock);
    TNR_REQUIRE(!sealed, TNR_ERR_UNSUPPORTED,
                "%s: arena %llu is sealed: domains, engines and what else lasts are made before tnr_arena_seal", op,
                TNRI_LLU(home->serial));
    return TNR_OK;
}

void tnri_domain_keep(tnr_domain *domain, const char *keeper)
{
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    domain->keeper = keeper;
    tnri_lock_give(lock);
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
    const uint64_t blocks = tnri_domain_program_blocks(closing);
    tnri_lock *lock = &closing->home->slab.lock;
    tnri_lock_take(lock);
    const uint64_t users = closing->users;
    const uint64_t handles = closing->handles;
    const uint64_t children = closing->children;
    const char *keeper = closing->keeper;
    const bool again = closing->closed; /* an engine's pool that the program had closed */
    const bool may_close = blocks == 0 && (users == 0 || closing->kind->outlives_close);
    tnri_lock_give(lock);
    TNR_REQUIRE(keeper == NULL, TNR_ERR_BUSY,
                "domain_close: %s belongs to a %s, which closes it when that is destroyed", tnr_domain_name(closing),
                keeper);
    if (!may_close) {
        /* Raw blocks come and go beside the lock where they have handles: never less than none. */
        const uint64_t raw = closing->kind->program_blocks != NULL ? 0 : tnri_min_u64(blocks, handles);
        return tnri_fail(
            TNR_ERR_BUSY,
            "domain_close: %s is in use: %llu tensors or drafts, %llu raw blocks, %llu domains over it, %llu "
            "others (groups, engines, machines, topologies, closed pools whose tensors live)",
            tnr_domain_name(closing), TNRI_LLU(handles - raw), TNRI_LLU(blocks), TNRI_LLU(children),
            TNRI_LLU(users - handles - children));
    }
    if (closing->kind->close != NULL) {
        closing->kind->close(closing);
    }
    if (!again) {
        end_childhood(closing);
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
    return tnri_identity_of(domain != NULL ? domain->serial : 0);
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

tnr_status tnri_block_take(tnr_domain *domain, uint64_t bytes, tnr_block *block)
{
    if (bytes == 0) {
        memset(block, 0, sizeof(*block));
        block->allocation = tnri_mint(domain);
        return TNR_OK;
    }
    return domain->kind->allocate(domain, TNRI_FOR_TENSOR, bytes, 0, block);
}

void tnri_block_give(tnr_domain *domain, const tnr_block *block)
{
    if (block->bytes != 0) {
        (void)domain->kind->release(domain, block, TNRI_FOR_TENSOR);
    }
}

void tnri_block_undo(tnr_domain *domain, const tnr_block *block)
{
    if (block->bytes != 0 && tnri_is_pool(domain)) {
        tnri_pool_undo(domain, block);
    } else {
        tnri_block_give(domain, block);
    }
}

tnr_status tnri_record_take(tnr_domain *domain, uint64_t bytes, tnr_block *block)
{
    tnr_domain *home = domain->home;
    TNR_TRY(home->kind->allocate(home, TNRI_FOR_RECORD, bytes, 0, block));
    memset(block->address, 0, (size_t)bytes);
    return TNR_OK;
}

void tnri_record_give(tnr_domain *domain, const tnr_block *block)
{
    (void)domain->home->kind->release(domain->home, block, TNRI_FOR_RECORD);
}

tnr_status tnri_record_need(uint64_t bytes, tnr_need *need) { return tnr_block_need(bytes, 1, need); }
