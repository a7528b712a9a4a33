/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool: a cache of buffers over another domain.
 *
 * A request is served by the newest retained buffer of its own size class, never by a larger one: that keeps the excess
 * under 25 %. A release puts the buffer on top of its class; when the cap demands room, the least recently released
 * buffer of all goes first. All of it under one short lock that is never held while parent or home work: O(1) for a hit
 * and a release, O(classes in use) for finding a buffer to evict. Room is made before a buffer is counted as retained,
 * so the sum is under the cap at every moment.
 *
 * Retained memory is not touched, except for the marks and patterns of debugging builds. How a pool is made, asked and closed:
 * pool_life.c.
 */
#include "poison.inl.h"
#include "pool_internal.h"

/* ---- Lists; the lock is held ------------------------------------------------------------------------------------- */

static void mark_free(const tnri_pool *pool, const tnri_pool_entry *entry)
{
    if (pool->domain.access == TNR_ACCESS_DIRECT) {
        tnri_poison_mark_free(entry->address, tnri_class_bytes(entry->size_class));
    }
}

static void mark_used(const tnri_pool *pool, const tnr_block *block)
{
    if (pool->domain.access == TNR_ACCESS_DIRECT) {
        tnri_poison_mark_used(block->address, block->bytes);
    }
}

/* A retained buffer leaves the pool: the marks go, the parent sets its own. */
static void unmark(const tnri_pool *pool, const tnri_pool_entry *entry)
{
    if (pool->domain.access == TNR_ACCESS_DIRECT) {
        tnri_poison_show(entry->address, tnri_class_bytes(entry->size_class));
    }
}

/* True when so many more bytes may be retained now. The cap may have been lowered below what still is. */
static inline bool fits(const tnri_pool *pool, uint64_t bytes)
{
    return bytes <= pool->admit_bytes && pool->retained_bytes <= pool->admit_bytes - bytes;
}

/* Make a buffer the newest of the pool and of its class. */
static inline void retain(tnri_pool *pool, tnri_pool_entry *entry, uint64_t bytes)
{
    const uint32_t size_class = entry->size_class;
    tnri_pool_class *class = &pool->classes[size_class];
    const uint64_t stamp = pool->kept++;
    tnri_pool_entry *below = class->newest;
    entry->below = below;
    entry->stamp = stamp;
    if (below != NULL) {
        below->above = entry;
    } else {
        class->oldest = entry;
        class->oldest_stamp = stamp;
        if (TNRI_UNLIKELY((pool->used[size_class / 64U] >> size_class % 64U & 1U) == 0)) {
            pool->used[size_class / 64U] |= UINT64_C(1) << size_class % 64U;
        }
    }
    class->newest = entry;
    entry->state = TNRI_POOL_RETAINED;
    pool->retained_bytes += bytes;
    mark_free(pool, entry);
}

/* The parent's own words for the buffer of an entry. */
static void parent_block_of(const tnri_pool *pool, const tnri_pool_entry *entry, tnr_block *block)
{
    block->address = entry->address;
    block->bytes = entry->parent_bytes;
    block->allocation = entry->parent_allocation;
    block->tag = *tnri_pool_parent_tag(pool, entry);
}

static void set_parent_block(const tnri_pool *pool, tnri_pool_entry *entry, const tnr_block *block)
{
    entry->address = block->address;
    entry->parent_bytes = block->bytes;
    entry->parent_allocation = block->allocation;
    *tnri_pool_parent_tag(pool, entry) = block->tag;
}

/* Part with the buffer of an entry that is in no list any more: *block is the parent's block. */
static void drop_buffer(tnri_pool *pool, tnri_pool_entry *entry, tnr_block *block)
{
    parent_block_of(pool, entry, block);
    pool->held--;
    pool->held_bytes -= tnri_class_bytes(entry->size_class);
    tnri_pool_entry_idle(pool, entry);
}

/* The class of the least recently retained buffer; there is one. Forgets classes that turn out to be empty. */
static tnri_pool_class *oldest_class(tnri_pool *pool)
{
    tnri_pool_class *oldest = NULL;
    for (uint32_t word = 0; word < sizeof(pool->used) / sizeof(pool->used[0]); word++) {
        for (uint64_t bits = pool->used[word]; bits != 0; bits &= bits - 1U) {
            tnri_pool_class *class = &pool->classes[word * 64U + tnri_lowest_bit(bits)];
            if (class->newest == NULL) {
                pool->used[word] &= ~(bits & -bits);
            } else if (oldest == NULL || class->oldest_stamp < oldest->oldest_stamp) {
                oldest = class;
            }
        }
    }
    return oldest;
}

/* Give up the oldest retained buffer; the caller gives *block to the parent once the lock is free. */
static uint64_t evict(tnri_pool *pool, tnr_block *block)
{
    tnri_pool_class *class = oldest_class(pool);
    tnri_pool_entry *oldest = class->oldest;
    if (class->newest == oldest) {
        class->newest = NULL;
    } else {
        class->oldest = oldest->above;
        class->oldest->below = NULL;
        class->oldest_stamp = class->oldest->stamp;
    }
    const uint64_t bytes = tnri_class_bytes(oldest->size_class);
    pool->retained_bytes -= bytes;
    pool->evictions++;
    unmark(pool, oldest);
    drop_buffer(pool, oldest, block);
    return bytes;
}

/* Start the life of a block of an entry; *block is what the program gets. */
static inline void hand_out(tnri_pool *pool, tnri_pool_entry *entry, tnri_block_use use, uint64_t bytes,
                            tnr_block *block)
{
    if (TNRI_UNLIKELY(pool->next_number == pool->end_number)) {
        pool->next_number =
            atomic_fetch_add_explicit(&pool->domain.minted, TNRI_POOL_NUMBERS, memory_order_relaxed) + 1;
        pool->end_number = pool->next_number + TNRI_POOL_NUMBERS;
    }
    const uint64_t number = pool->next_number++;
    entry->number = number;
    entry->state = TNRI_POOL_OUT;
    entry->use = (uint8_t)use;
    pool->program_blocks += use == TNRI_FOR_PROGRAM ? 1U : 0U;
    pool->peak_bytes = tnri_max_u64(pool->peak_bytes, pool->held_bytes - pool->retained_bytes);
    block->address = entry->address;
    block->bytes = bytes;
    block->allocation = number;
    block->tag = (uint64_t)(uintptr_t)entry;
}

/* The program or tensor lets go of an entry's block; the caller sets the entry's next state. */
static inline void take_back(tnri_pool *pool, const tnri_pool_entry *entry)
{
    pool->program_blocks -= entry->use == TNRI_FOR_PROGRAM ? 1U : 0U;
}

/* ---- Giving up retained buffers; the lock is not held ------------------------------------------------------------ */

/* Give up the oldest retained buffer if more than `keep` bytes are; says how many bytes went. */
static uint64_t give_up_oldest(tnri_pool *pool, uint64_t keep)
{
    tnr_block block = {NULL, 0, 0, 0};
    uint64_t freed = 0;
    tnri_lock_take(&pool->lock);
    if (pool->retained_bytes > keep) {
        freed = evict(pool, &block);
    }
    tnri_lock_give(&pool->lock);
    if (freed != 0) {
        tnri_block_give(pool->domain.parent, &block);
    }
    return freed;
}

uint64_t tnri_pool_trim(tnri_pool *pool, uint64_t keep)
{
    uint64_t sum = 0;
    for (uint64_t freed; (freed = give_up_oldest(pool, keep)) != 0;) {
        sum += freed;
    }
    return sum;
}

/* ---- Taking ------------------------------------------------------------------------------------------------------ */

/* A buffer from the parent and an entry for it: in this order, so that a parent that is full costs the home nothing. */
static tnr_status ask_parent(tnri_pool *pool, uint64_t bytes, uint64_t alignment, tnri_pool_entry **entry,
                             tnr_block *parent_block)
{
    tnr_domain *parent = pool->domain.parent;
    tnr_block taken;
    TNR_TRY(parent->kind->allocate(parent, TNRI_FOR_TENSOR, bytes, alignment, &taken));
    const tnr_status status = tnri_pool_entry_take(pool, entry);
    if (status != TNR_OK) {
        tnri_block_undo(parent, &taken);
        return status;
    }
    *parent_block = taken;
    return TNR_OK;
}

/* Could a parent that has refused so many bytes serve them if it had back all that is retained? */
static bool may_have_room(tnri_pool *pool, uint64_t bytes)
{
    tnr_domain *parent = pool->domain.parent;
    tnr_domain_statistics found;
    memset(&found, 0, sizeof(found));
    parent->kind->statistics(parent, &found);
    tnri_lock_take(&pool->lock);
    const uint64_t retained = pool->retained_bytes;
    tnri_lock_give(&pool->lock);
    return found.capacity == 0 ||
           (bytes <= found.capacity && (bytes <= found.free_bytes || bytes - found.free_bytes <= retained));
}

/* The same, and where the parent is full, retained buffers make room, oldest first: no more of them than it takes. */
static tnr_status ask_and_make_room(tnri_pool *pool, uint64_t bytes, uint64_t alignment, tnri_pool_entry **entry,
                                    tnr_block *parent_block)
{
    tnr_status status = ask_parent(pool, bytes, alignment, entry, parent_block);
    if (status == TNR_ERR_MEMORY && may_have_room(pool, bytes)) {
        while (status == TNR_ERR_MEMORY && give_up_oldest(pool, 0) != 0) {
            status = ask_parent(pool, bytes, alignment, entry, parent_block);
        }
    }
    return status;
}

/* Serve a request that no retained buffer serves. */
static TNRI_COLD tnr_status allocate_fresh(tnri_pool *pool, uint64_t bytes, uint64_t alignment, tnri_block_use use,
                                           tnr_block *block)
{
    TNR_REQUIRE(bytes <= TNRI_CLASS_LARGEST, TNR_ERR_OVERFLOW,
                "pool: the size class of %llu bytes does not fit in 64 bits", TNRI_LLU(bytes));
    const uint32_t size_class = tnri_class_of(bytes);
    const uint64_t class_bytes = tnri_class_bytes(size_class);
    tnri_pool_entry *entry = NULL;
    tnr_block parent_block;
    const tnr_status status = ask_and_make_room(pool, class_bytes, alignment, &entry, &parent_block);
    tnri_lock_take(&pool->lock);
    if (status == TNR_OK) {
        set_parent_block(pool, entry, &parent_block);
        entry->size_class = (uint8_t)size_class;
        entry->pooled = alignment <= TNRI_UNIT;
        entry->stamp = TNRI_POOL_FRESH;
        pool->misses++;
        pool->held++;
        pool->held_bytes += class_bytes;
        pool->high_water_bytes = tnri_max_u64(pool->high_water_bytes, pool->held_bytes);
        hand_out(pool, entry, use, class_bytes, block);
    } else {
        pool->failures += status == TNR_ERR_MEMORY ? 1U : 0U;
    }
    tnri_lock_give(&pool->lock);
    return status;
}

/* Serve a request from the retained buffers, else afresh. The lock is held and is free afterwards. */
static inline tnr_status allocate_locked(tnri_pool *pool, uint64_t bytes, uint64_t alignment, tnri_block_use use,
                                         tnr_block *block)
{
    /* Found under the lock on purpose: the processor does it while it waits for the lock's word. */
    const uint32_t size_class = tnri_class_of(bytes);
    const uint64_t class_bytes = tnri_class_bytes(size_class);
    tnri_pool_class *class = &pool->classes[size_class];
    tnri_pool_entry *entry = class->newest;
    if (TNRI_UNLIKELY(entry == NULL)) {
        tnri_lock_give(&pool->lock);
        return allocate_fresh(pool, bytes, alignment, use, block);
    }
    class->newest = entry->below;
    pool->retained_bytes -= class_bytes;
    pool->hits++;
    hand_out(pool, entry, use, class_bytes, block);
    tnri_lock_give(&pool->lock);
    mark_used(pool, block);
    return TNR_OK;
}

static TNRI_COLD tnr_status allocate_contended(tnri_pool *pool, uint64_t bytes, uint64_t alignment, tnri_block_use use,
                                               tnr_block *block)
{
    tnri_lock_take(&pool->lock);
    return allocate_locked(pool, bytes, alignment, use, block);
}

tnr_status tnri_pool_allocate(tnr_domain *domain, tnri_block_use use, uint64_t bytes, uint64_t alignment,
                              tnr_block *block)
{
    tnri_pool *pool = tnri_pool_of(domain);
    if (TNRI_UNLIKELY(alignment > TNRI_UNIT || bytes > TNRI_CLASS_LARGEST)) {
        return allocate_fresh(pool, bytes, alignment, use, block);
    }
    if (TNRI_UNLIKELY(!tnri_lock_try(&pool->lock))) {
        return allocate_contended(pool, bytes, alignment, use, block);
    }
    return allocate_locked(pool, bytes, alignment, use, block);
}

/* ---- Giving ------------------------------------------------------------------------------------------------------ */

/* The entry of a block that is out exactly as it says, else NULL. The lock is held. */
static inline tnri_pool_entry *recognise(const tnri_pool *pool, const tnr_block *block)
{
    tnri_pool_entry *entry = tnri_pool_find(pool, block->tag);
    const bool out = entry != NULL && entry->state == TNRI_POOL_OUT && entry->number == block->allocation &&
                     entry->address == block->address && tnri_class_bytes(entry->size_class) == block->bytes;
    return TNRI_LIKELY(out) ? entry : NULL;
}

/* Say why a block that is not out is refused. The lock is held and is free afterwards. */
static TNRI_COLD tnr_status refuse(tnri_pool *pool, const tnr_block *block)
{
    /* Whoever knows an entry and a number under its last, or its last while it is not out, had a block of it. */
    const tnri_pool_entry *entry = tnri_pool_find(pool, block->tag);
    const bool was_ours =
        entry != NULL && block->allocation != 0 &&
        (block->allocation < entry->number || (block->allocation == entry->number && entry->state != TNRI_POOL_OUT));
    const uint64_t serial = pool->domain.serial;
    tnri_lock_give(&pool->lock);
    return was_ours ? tnri_fail(TNR_ERR_STALE, "domain_release: block %llu of pool %llu was released before",
                                TNRI_LLU(block->allocation), TNRI_LLU(serial))
                    : tnri_fail(TNR_ERR_FOREIGN, "domain_release: pool %llu did not hand block %llu out",
                                TNRI_LLU(serial), TNRI_LLU(block->allocation));
}

/*
 * The rest of a release that has to ask the parent. The lock is held and is free afterwards; the entry is in state
 * RETURNING, counted as out until it is retained or its buffer is given back.
 */
static TNRI_COLD tnr_status retain_or_free(tnri_pool *pool, tnri_pool_entry *entry)
{
    entry->state = TNRI_POOL_RETURNING;
    const uint64_t bytes = tnri_class_bytes(entry->size_class);
    tnr_domain *parent = pool->domain.parent;
    tnr_block block;
    /* The cap may be lowered while the lock is free: look at it every time. */
    while (entry->pooled && bytes <= pool->admit_bytes) {
        if (fits(pool, bytes)) {
            retain(pool, entry, bytes);
            tnri_lock_give(&pool->lock);
            return TNR_OK;
        }
        (void)evict(pool, &block);
        tnri_lock_give(&pool->lock);
        tnri_block_give(parent, &block);
        tnri_lock_take(&pool->lock);
    }
    drop_buffer(pool, entry, &block);
    tnri_lock_give(&pool->lock);
    tnri_block_give(parent, &block);
    return TNR_OK;
}

/* The lock is held and is free afterwards. */
static inline tnr_status release_locked(tnri_pool *pool, const tnr_block *block, tnri_block_use use)
{
    tnri_pool_entry *entry = recognise(pool, block);
    if (TNRI_UNLIKELY(entry == NULL || entry->use != (uint8_t)use)) {
        return refuse(pool, block);
    }
    take_back(pool, entry);
    const uint64_t bytes = block->bytes;
    if (TNRI_UNLIKELY(!entry->pooled || !fits(pool, bytes))) {
        return retain_or_free(pool, entry);
    }
    retain(pool, entry, bytes);
    tnri_lock_give(&pool->lock);
    return TNR_OK;
}

static TNRI_COLD tnr_status release_contended(tnri_pool *pool, const tnr_block *block, tnri_block_use use)
{
    tnri_lock_take(&pool->lock);
    return release_locked(pool, block, use);
}

tnr_status tnri_pool_release(tnr_domain *domain, const tnr_block *block, tnri_block_use use)
{
    tnri_pool *pool = tnri_pool_of(domain);
    if (TNRI_UNLIKELY(!tnri_lock_try(&pool->lock))) {
        return release_contended(pool, block, use);
    }
    return release_locked(pool, block, use);
}

/* A pool's own tensors are never exported as its blocks, but it may be the parent of a pool whose are. */
tnr_status tnri_pool_transfer(tnr_domain *domain, const tnr_block *block, tnri_block_use from, tnri_block_use to)
{
    tnri_pool *pool = tnri_pool_of(domain);
    tnri_lock_take(&pool->lock);
    tnri_pool_entry *entry = recognise(pool, block);
    if (entry == NULL || entry->use != (uint8_t)from) {
        return refuse(pool, block);
    }
    pool->program_blocks += to == TNRI_FOR_PROGRAM ? 1U : 0U;
    pool->program_blocks -= from == TNRI_FOR_PROGRAM ? 1U : 0U;
    entry->use = (uint8_t)to;
    tnri_lock_give(&pool->lock);
    return TNR_OK;
}

/* ---- Between the pool and its parent ----------------------------------------------------------------------------- */

void tnri_pool_parent_block(tnr_domain *domain, const tnr_block *block, tnr_block *parent_block)
{
    tnri_pool *pool = tnri_pool_of(domain);
    tnri_lock_take(&pool->lock);
    parent_block_of(pool, tnri_pool_find(pool, block->tag), parent_block);
    tnri_lock_give(&pool->lock);
}

/*
 * A pool that has never handed out anything, and of whose first entries nobody has one in hand (another thread that is about to): the
 * table of entries may go, for no tag of it is anywhere. The lock is held.
 */
static bool is_unused(const tnri_pool *pool)
{
    if (pool->held != 0 || pool->misses != 0 || pool->hits != 0 || pool->chunk_count != 1) {
        return false;
    }
    uint64_t idle = 0;
    for (const tnri_pool_entry *entry = pool->idle; entry != NULL; entry = entry->below) {
        idle++;
    }
    return idle == tnri_pool_chunk_entries(0);
}

void tnri_pool_undo(tnr_domain *domain, const tnr_block *block)
{
    tnri_pool *pool = tnri_pool_of(domain);
    tnr_block parent_block;
    tnri_lock_take(&pool->lock);
    tnri_pool_entry *entry = tnri_pool_find(pool, block->tag);
    take_back(pool, entry);
    if (entry->stamp != TNRI_POOL_FRESH) {
        /* It was retained before, and fitted: it still does, unless the cap was lowered or others came back meanwhile. */
        pool->hits--;
        pool->kept--;
        (void)retain_or_free(pool, entry);
        return;
    }
    pool->misses--;
    drop_buffer(pool, entry, &parent_block);
    const bool unused = is_unused(pool);
    tnr_block table = {0};
    if (unused) {
        table = pool->chunk_records[0];
        pool->chunk_count = 0;
        pool->idle = NULL;
    }
    tnri_lock_give(&pool->lock);
    if (unused) {
        tnri_record_give(domain, &table);
    }
    tnri_block_undo(domain->parent, &parent_block);
}

void tnri_pool_detach(tnr_domain *domain, const tnr_block *block)
{
    tnri_pool *pool = tnri_pool_of(domain);
    tnr_block parent_block;
    tnri_lock_take(&pool->lock);
    tnri_pool_entry *entry = tnri_pool_find(pool, block->tag);
    take_back(pool, entry);
    drop_buffer(pool, entry, &parent_block);
    tnri_lock_give(&pool->lock);
}

bool tnri_pool_accept(tnr_domain *domain, const tnr_block *parent_block)
{
    tnri_pool *pool = tnri_pool_of(domain);
    if (parent_block->bytes < TNRI_UNIT ||
        (domain->access == TNR_ACCESS_DIRECT && ((uintptr_t)parent_block->address & (TNRI_UNIT - 1U)) != 0)) {
        return false;
    }
    const uint32_t size_class = tnri_class_within(parent_block->bytes);
    const uint64_t bytes = tnri_class_bytes(size_class);
    tnri_pool_entry *entry;
    if (tnri_pool_entry_take(pool, &entry) != TNR_OK) {
        return false;
    }
    tnri_lock_take(&pool->lock);
    if (bytes > pool->admit_bytes) {
        tnri_pool_entry_idle(pool, entry);
        tnri_lock_give(&pool->lock);
        return false;
    }
    set_parent_block(pool, entry, parent_block);
    entry->size_class = (uint8_t)size_class;
    entry->pooled = true;
    pool->held++;
    pool->held_bytes += bytes;
    pool->high_water_bytes = tnri_max_u64(pool->high_water_bytes, pool->held_bytes);
    (void)retain_or_free(pool, entry);
    return true;
}
