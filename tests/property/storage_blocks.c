/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw blocks of every domain, and pools from above: caps, trims, closing with live tensors. See storage_model.h. */
#include <string.h>

#include "storage_model.h"

static void fill(const sm_block *block)
{
    if (sm_reaches_directly(block->domain) && block->it.bytes != 0) {
        memset(block->it.address, block->pattern, (size_t)block->it.bytes);
    }
}

static void check_filled(const sm_block *block)
{
    const unsigned char *bytes = block->it.address;
    for (uint64_t i = 0; sm_reaches_directly(block->domain) && i < block->it.bytes; i++) {
        sm_check(bytes[i] == block->pattern, "a block is nobody else's");
    }
}

void sm_op_block(void)
{
    static const uint64_t alignments[] = {0, 0, 1, 8, 64, 64, 256, 1024};
    sm_block *block = &sm.blocks[sm_below(SM_BLOCKS)];
    if (block->used) {
        return;
    }
    sm_domain *domain = sm_any_domain();
    const uint64_t alignment = alignments[sm_below(8)];
    const uint64_t bytes = sm_chance(5) ? 0 : sm_chance(80) ? sm_below(600) + 1 : sm_below(9000) + 1;
    tnr_block it;
    memset(&it, 0xFF, sizeof(it));
    if (sm_chance(3)) {
        sm_expect(tnr_domain_allocate(domain->it, bytes, 24, &it), TNR_ERR_ARGUMENT, "domain_allocate");
        return;
    }
    const tnr_status status = tnr_domain_allocate(domain->it, bytes, alignment, &it);
    if (sm_was_full(domain, status, bytes + alignment)) {
        return;
    }
    sm_expect(status, TNR_OK, "domain_allocate");
    if (bytes == 0) {
        sm_check(it.address == NULL && it.bytes == 0, "no bytes are no block");
        sm_expect(tnr_domain_release(domain->it, &it), TNR_OK, "domain_release of no block");
        sm_expect(tnr_domain_release(domain->it, &it), TNR_OK, "domain_release of no block");
        return;
    }
    const uint64_t least = alignment < 64 ? 64 : alignment;
    sm_check(it.bytes >= bytes && it.allocation != 0, "a block has what was asked for");
    sm_check(!sm_reaches_directly(domain) || (uint64_t)(uintptr_t)it.address % least == 0, "a block is aligned");
    memset(block, 0, sizeof(*block));
    block->used = true;
    block->straight = alignment > 64;
    block->domain = domain;
    block->id = domain->id;
    block->it = it;
    block->pattern = (unsigned char)sm_below(256);
    if (sm_is_pool(domain)) {
        sm_pool_take(domain, bytes, block->straight);
        sm_check(it.bytes == sm_class(bytes), "a pool's block is its size class");
    }
    domain->live++;
    domain->raw_blocks++;
    fill(block);
}

void sm_block_release(sm_block *block)
{
    if (!block->used) {
        return;
    }
    sm_domain *domain = block->domain;
    check_filled(block);
    sm_expect(tnr_domain_release(domain->it, &block->it), TNR_OK, "domain_release");
    sm_expect(tnr_domain_release(domain->it, &block->it), TNR_ERR_STALE, "a second domain_release");
    if (sm_is_pool(domain)) {
        sm_pool_give(domain, block->it.bytes, block->straight);
    }
    block->used = false;
    domain->raw_blocks--;
    sm_unlive(domain);
    sm.dead_block[sm_below(SM_DEAD)] = *block;
}

void sm_op_block_release(void) { sm_block_release(&sm.blocks[sm_below(SM_BLOCKS)]); }

void sm_op_block_wrong(void)
{
    /* Long after: other blocks have its place now. */
    const sm_block *dead = &sm.dead_block[sm_below(SM_DEAD)];
    if (dead->domain != NULL && dead->domain->used && dead->domain->open &&
        tnr_domain_id_equal(dead->id, dead->domain->id)) {
        sm_expect(tnr_domain_release(dead->domain->it, &dead->it), TNR_ERR_STALE, "a late second domain_release");
    }
    const sm_block *block = &sm.blocks[sm_below(SM_BLOCKS)];
    sm_domain *other = sm_any_domain();
    if (block->used && block->domain != other) {
        sm_expect(tnr_domain_release(other->it, &block->it), TNR_ERR_FOREIGN, "domain_release of another's block");
    }
    if (block->used) {
        tnr_block forged = block->it;
        forged.allocation += 1000000000;
        sm_expect(tnr_domain_release(block->domain->it, &forged), TNR_ERR_FOREIGN, "domain_release of a forged block");
        check_filled(block);
    }
    if (!sm_is_pool(other) && other->live != 0) {
        tnr_domain *it = other->it;
        sm_expect(tnr_domain_close(&it), TNR_ERR_BUSY, "domain_close of a used domain");
        sm_check(it == other->it, "a domain that is used stays");
        if (other->max_blocks != 0 && other->live > other->raw_blocks) {
            sm_expect(tnr_arena_reset(it), TNR_ERR_BUSY, "arena_reset of a used arena");
        }
    }
}

/* ---- Pools ---------------------------------------------------------------------------------------------------------------- */

/* Oldest first until at most `keep` bytes stay. */
static uint64_t trim_model(sm_domain *pool, uint64_t keep)
{
    uint64_t freed = 0;
    while (pool->retained_bytes > keep) {
        freed += pool->retained[0];
        pool->retained_bytes -= pool->retained[0];
        pool->retained_count--;
        memmove(&pool->retained[0], &pool->retained[1], pool->retained_count * sizeof(uint64_t));
        pool->evictions++;
    }
    return freed;
}

void sm_op_pool(void)
{
    sm_domain *pool = sm_any_domain();
    if (sm_chance(50)) {
        const uint64_t keep = sm_below(pool->retained_bytes + 64);
        uint64_t freed = 0;
        sm_expect(tnr_pool_trim(pool->it, keep, &freed), sm_is_pool(pool) ? TNR_OK : TNR_ERR_ARGUMENT, "pool_trim");
        sm_check(freed == trim_model(pool, keep), "a trim frees the oldest buffers");
    } else {
        const uint64_t cap = sm_chance(10) ? 0 : sm_below(32 * 1024);
        sm_expect(tnr_pool_set_max_bytes(pool->it, cap), sm_is_pool(pool) ? TNR_OK : TNR_ERR_ARGUMENT,
                  "pool_set_max_bytes");
        pool->cap = cap;
        (void)trim_model(pool, cap);
    }
}

void sm_op_pool_close(void)
{
    sm_domain *pool = sm_any_domain();
    if (!sm_is_pool(pool)) {
        return;
    }
    tnr_domain *it = pool->it;
    const tnr_status wanted = pool->raw_blocks != 0 ? TNR_ERR_BUSY : TNR_OK;
    sm_expect(tnr_domain_close(&it), wanted, "domain_close of a pool");
    sm_check((it == NULL) == (wanted == TNR_OK), "close nulls the pointer exactly when it closes");
    if (wanted == TNR_OK) {
        sm.role[pool->role] = NULL;
        pool->open = false;
        pool->retained_count = 0;
        pool->retained_bytes = 0;
        pool->live++; /* let go of it as of a last tensor */
        sm_unlive(pool);
    }
}
