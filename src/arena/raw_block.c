/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raw blocks: what programs take and give by tnr_domain_allocate and tnr_domain_release, and tensors' blocks that change
 * hands with them.
 *
 * Classes that count their blocks (arenas, pools) check them themselves. For the others (the heap, programs' domains) each
 * raw block has a handle slot, which remembers what the class handed out; the block that the program holds has the slot as
 * its tag. Its number, never used twice, makes the check exact.
 */
#include "arena.h"

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
    atomic_fetch_add_explicit(&domain->raw_blocks, 1, memory_order_relaxed);
    tnri_handle_publish(handle, TNRI_HANDLE_BLOCK);
}

static TNRI_NOINLINE tnr_status raw_allocate(tnr_domain *domain, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    tnri_handle *handle;
    TNR_TRY(tnri_handle_take(domain, TNR_ALLOCATION_REASON_END, 0, &handle));
    tnr_block taken;
    const tnr_status status = domain->kind->allocate(domain, TNRI_FOR_PROGRAM, bytes, alignment, &taken);
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
    atomic_fetch_sub_explicit(&domain->raw_blocks, 1, memory_order_relaxed);
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

tnr_status tnri_raw_allocate(tnr_domain *domain, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    TNR_REQUIRE(domain != NULL && block != NULL, TNR_ERR_ARGUMENT,
                "domain_allocate: domain and block must not be NULL");
    TNR_REQUIRE(alignment == 0 || tnri_is_power_of_two(alignment), TNR_ERR_ARGUMENT,
                "domain_allocate: alignment %llu is no power of two", TNRI_LLU(alignment));
    if (bytes == 0) {
        memset(block, 0, sizeof(*block));
        return TNR_OK;
    }
    /* A class writes *block on success only; a copy of ours would cost more than a pool's hit. */
    return domain->kind->program_blocks != NULL
               ? domain->kind->allocate(domain, TNRI_FOR_PROGRAM, bytes, alignment, block)
               : raw_allocate(domain, bytes, alignment, block);
}

tnr_status tnri_raw_release(tnr_domain *domain, const tnr_block *block)
{
    TNR_REQUIRE(domain != NULL && block != NULL, TNR_ERR_ARGUMENT, "domain_release: domain and block must not be NULL");
    if (TNRI_UNLIKELY(tnri_block_is_empty(block))) {
        return TNR_OK;
    }
    return domain->kind->program_blocks != NULL ? domain->kind->release(domain, block, TNRI_FOR_PROGRAM)
                                                : raw_release(domain, block);
}
