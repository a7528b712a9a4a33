/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena: a domain over the allocator of tlsf.c in a region that the caller supplies.
 *
 *   options.control NULL:   region | (to 64) | control | (to a granule) | granule | granule | ... | (rest) |
 *   else:                   control elsewhere; the region holds granules only
 *
 *   control: | struct tnr_domain | struct arena | descriptors, row bits, list heads |
 *
 * A granule is `page`, at least 64 bytes, doubled until 32 bits can number those of the region (from 256 GiB on).
 * Blocks have no headers; what is known of one lies in its descriptor: where, how large, for whom, number, generation.
 * A block that comes back must agree with all of them, so no block is taken back that is not out, whatever its bytes
 * say.
 *
 * Threads: one lock, held for the bounded time of one take, give or look of tlsf.c. Three go over every block with it, O(max_blocks):
 * program_blocks (tnr_domain_close, tnr_machine_destroy), tnr_arena_reset and tnr_arena_check.
 */
#include "arena_internal.h"
#include "poison.inl.h"
#include "tlsf.inl.h"

typedef struct arena {
    tnri_lock lock; /* guards everything below */
    unsigned shift; /* a granule is 1 << shift bytes */
    unsigned char *base;
    size_t last_byte;     /* of a granule: its size less 1 */
    uint64_t capacity;    /* bytes */
    uint32_t least_free;  /* fewest granules that were free at one time */
    uint64_t allocations; /* also the number of the last block */
    uint64_t failures;
    tnri_tlsf tlsf;
} arena;

#define DOMAIN_BYTES ((sizeof(tnr_domain) + 63U) / 64U * 64U)
#define ARENA_BYTES ((sizeof(arena) + 63U) / 64U * 64U)

/* What a descriptor's state says of a block that is out. */
#define STATE_FOR(use) (TNRI_TLSF_OUT | (uint32_t)(use))

static inline uint64_t granules_to_bytes(const arena *self, uint64_t granules) { return granules << self->shift; }

/* ---- The class --------------------------------------------------------------------------------------------------- */

static TNRI_COLD tnr_status no_room(const arena *self, uint64_t bytes, uint64_t alignment)
{
    if (self->tlsf.blocks_left == 0U) {
        return tnri_fail(TNR_ERR_MEMORY,
                         "arena: no room for %llu bytes: all max_blocks = %llu blocks are out, %llu bytes free",
                         TNRI_LLU(bytes), TNRI_LLU(self->tlsf.block_limit),
                         TNRI_LLU(granules_to_bytes(self, self->tlsf.free_units)));
    }
    return tnri_fail(TNR_ERR_MEMORY,
                     "arena: no room for %llu bytes at alignment %llu: %llu bytes free, largest free block %llu",
                     TNRI_LLU(bytes), TNRI_LLU(alignment), TNRI_LLU(granules_to_bytes(self, self->tlsf.free_units)),
                     TNRI_LLU(granules_to_bytes(self, tnri_tlsf_largest(&self->tlsf))));
}

/* The lock is held and is free afterwards. */
static TNRI_COLD tnr_status give_up(arena *self, uint64_t bytes, uint64_t alignment)
{
    self->failures++;
    const tnr_status status = no_room(self, bytes, alignment);
    tnri_lock_give(&self->lock);
    return status;
}

static TNRI_COLD tnr_status no_room_at_all(arena *self, uint64_t bytes, uint64_t alignment)
{
    uint64_t rounded;
    TNR_REQUIRE(tnri_round_up(bytes, UINT64_C(1) << self->shift, &rounded), TNR_ERR_OVERFLOW,
                "arena: %llu bytes, rounded up, do not fit in 64 bits", TNRI_LLU(bytes));
    tnri_lock_take(&self->lock);
    return give_up(self, bytes, alignment);
}

/* The region ends in the address space and begins a granule above 0: no overflow where the arena has so many bytes. */
static inline uint32_t granules_of(const arena *self, size_t bytes)
{
    return (uint32_t)((bytes + self->last_byte) >> self->shift);
}

/* Enter what was taken and say it. The lock is held and is free afterwards. */
static inline void hand_out(arena *self, uint32_t index, uint32_t granules, tnr_block *block)
{
    tnri_tlsf *tlsf = &self->tlsf;
    tnri_tlsf_block *taken = &tlsf->blocks[index];
    if (tlsf->free_units < self->least_free) {
        self->least_free = tlsf->free_units;
    }
    const uint64_t number = ++self->allocations;
    taken->u.number = number;
    unsigned char *const address = self->base + ((size_t)taken->offset << self->shift);
    const size_t rounded = (size_t)granules << self->shift;
    const uint64_t tag = (uint64_t)taken->generation << 32 | index;
    tnri_lock_give(&self->lock);
    block->address = address;
    block->bytes = rounded;
    block->allocation = number;
    block->tag = tag;
    tnri_poison_mark_used(address, rounded);
}

/* With the usual alignment, as far as a search ever goes. The lock is held and is free afterwards. */
static TNRI_NOINLINE tnr_status take_last(arena *self, tnri_block_use use, size_t bytes, tnr_block *block)
{
    const uint32_t granules = granules_of(self, bytes);
    uint32_t index = 0;
    if (TNRI_UNLIKELY(!tnri_tlsf_take(&self->tlsf, granules, STATE_FOR(use), &index))) {
        return give_up(self, bytes, TNRI_UNIT);
    }
    hand_out(self, index, granules, block);
    return TNR_OK;
}

static tnr_status arena_allocate(tnr_domain *domain, tnri_block_use use, uint64_t bytes, uint64_t alignment,
                                 tnr_block *block)
{
    arena *self = domain->state;
    alignment = tnri_max_u64(alignment, TNRI_UNIT);
    if (bytes > self->capacity) {
        return no_room_at_all(self, bytes, alignment);
    }
    const uint64_t steps = alignment >> self->shift;
    tnri_lock_take(&self->lock);
    if (steps <= 1U) {
        return take_last(self, use, (size_t)bytes, block);
    }
    const uint32_t granules = granules_of(self, (size_t)bytes);
    uint32_t index = 0;
    if (TNRI_UNLIKELY(!tnri_tlsf_take_aligned(&self->tlsf, granules, steps, STATE_FOR(use), &index))) {
        return give_up(self, bytes, alignment);
    }
    hand_out(self, index, granules, block);
    return TNR_OK;
}

/* Is the block out for that use, exactly as it says? The lock is held. One decision on all that must be equal. */
static inline bool is_out(const arena *self, const tnr_block *block, uint32_t state)
{
    const tnri_tlsf *tlsf = &self->tlsf;
    const uint32_t index = (uint32_t)block->tag;
    if (TNRI_UNLIKELY(index >= tlsf->descriptors)) {
        return false;
    }
    const tnri_tlsf_block *known = &tlsf->blocks[index]; /* the sentinel's state is no use's */
    const uintptr_t address = (uintptr_t)self->base + ((uintptr_t)known->offset << self->shift);
    const size_t bytes = (size_t)known->units << self->shift;
    const uint32_t narrow = (known->state ^ state) | (known->generation ^ (uint32_t)(block->tag >> 32));
    const uint64_t wide =
        (address ^ (uintptr_t)block->address) | (bytes ^ block->bytes) | (known->u.number ^ block->allocation);
    return (wide | narrow) == 0;
}

/* Why it is not; TNR_OK when it is out for some use. The lock is held. */
static tnr_status recognise(const arena *self, const tnr_block *block)
{
    const tnri_tlsf *tlsf = &self->tlsf;
    const uint32_t index = (uint32_t)block->tag;
    const uint32_t generation = (uint32_t)(block->tag >> 32);
    const uint64_t at = (uint64_t)((uintptr_t)block->address - (uintptr_t)self->base);
    if (index == 0 || index >= tlsf->descriptors || at >> self->shift >= tlsf->unit_count) {
        return TNR_ERR_FOREIGN;
    }
    const tnri_tlsf_block *known = &tlsf->blocks[index];
    if (TNRI_UNLIKELY(generation != known->generation)) {
        /* Generations count from tlsf->generation: an earlier one was handed out once, a later one never. */
        return generation - tlsf->generation < known->generation - tlsf->generation ? TNR_ERR_STALE : TNR_ERR_FOREIGN;
    }
    const bool same = (known->state & TNRI_TLSF_OUT) != 0 && granules_to_bytes(self, known->offset) == at &&
                      granules_to_bytes(self, known->units) == block->bytes && known->u.number == block->allocation;
    return same ? TNR_OK : TNR_ERR_FOREIGN;
}

static TNRI_COLD tnr_status refuse(tnr_status status, const tnr_block *block)
{
    return status == TNR_ERR_STALE
               ? tnri_fail(status, "arena: block %llu was released before", TNRI_LLU(block->allocation))
               : tnri_fail(status, "arena: block %llu was not handed out by this arena", TNRI_LLU(block->allocation));
}

/* The lock is held and is free afterwards. */
static TNRI_COLD tnr_status not_out(arena *self, const tnr_block *block)
{
    const tnr_status status = recognise(self, block);
    tnri_lock_give(&self->lock);
    if (tnri_block_is_empty(block)) {
        return TNR_OK;
    }
    return refuse(status != TNR_OK ? status : TNR_ERR_FOREIGN, block);
}

static tnr_status arena_release(tnr_domain *domain, const tnr_block *block, tnri_block_use use)
{
    arena *self = domain->state;
    tnri_lock_take(&self->lock);
    if (TNRI_UNLIKELY(!is_out(self, block, STATE_FOR(use)))) {
        return not_out(self, block);
    }
    /* Under the lock: once it is given back, the bytes may be another thread's. */
    tnri_poison_mark_free(block->address, block->bytes);
    tnri_tlsf_give(&self->tlsf, (uint32_t)block->tag);
    tnri_lock_give(&self->lock);
    return TNR_OK;
}

static void arena_statistics(tnr_domain *domain, tnr_domain_statistics *statistics)
{
    arena *self = domain->state;
    tnri_lock_take(&self->lock);
    const tnri_tlsf *tlsf = &self->tlsf;
    statistics->blocks = tlsf->block_limit - tlsf->blocks_left;
    statistics->bytes = granules_to_bytes(self, tlsf->unit_count - tlsf->free_units);
    statistics->peak_bytes = granules_to_bytes(self, tlsf->unit_count - self->least_free);
    statistics->allocations = self->allocations;
    statistics->failures = self->failures;
    statistics->capacity = granules_to_bytes(self, tlsf->unit_count);
    statistics->free_bytes = granules_to_bytes(self, tlsf->free_units);
    statistics->largest_free = granules_to_bytes(self, tnri_tlsf_largest(tlsf));
    tnri_lock_give(&self->lock);
}

/* Counted one by one: few ask, and every allocation would have to keep the sum. */
static uint64_t arena_program_blocks(tnr_domain *domain)
{
    arena *self = domain->state;
    uint64_t found = 0;
    tnri_lock_take(&self->lock);
    const tnri_tlsf_block *blocks = self->tlsf.blocks;
    for (uint32_t index = blocks[0].after; index != 0; index = blocks[index].after) {
        found += blocks[index].state == STATE_FOR(TNRI_FOR_PROGRAM) ? 1U : 0U;
    }
    tnri_lock_give(&self->lock);
    return found;
}

static tnr_status arena_transfer(tnr_domain *domain, const tnr_block *block, tnri_block_use from, tnri_block_use to)
{
    arena *self = domain->state;
    tnri_lock_take(&self->lock);
    tnr_status status = recognise(self, block);
    if (status == TNR_OK) {
        tnri_tlsf_block *known = &self->tlsf.blocks[(uint32_t)block->tag];
        const bool program = known->state == STATE_FOR(TNRI_FOR_PROGRAM);
        if (program != (from == TNRI_FOR_PROGRAM)) {
            status = TNR_ERR_FOREIGN;
        } else {
            known->state = STATE_FOR(to);
        }
    }
    tnri_lock_give(&self->lock);
    return status == TNR_OK ? TNR_OK : refuse(status, block);
}

static void arena_destroy(tnr_domain *domain)
{
    const arena *self = domain->state;
    tnr_domain *parent = domain->parent;
    const tnr_block region = domain->record;
    tnri_slab_close(domain);
    tnri_poison_show(self->base, granules_to_bytes(self, self->tlsf.unit_count));
    if (parent != NULL) { /* domain and self go with it where they lie in it */
        (void)parent->kind->release(parent, &region, TNRI_FOR_RECORD);
        tnri_domain_unuse(parent);
    }
}

static const tnri_domain_class arena_class = {
    .name = "arena",
    .allocate = arena_allocate,
    .release = arena_release,
    .statistics = arena_statistics,
    .program_blocks = arena_program_blocks,
    .transfer = arena_transfer,
    .destroy = arena_destroy,
};

/* ---- The program's calls ----------------------------------------------------------------------------------------- */

/*
 * They stand here for that which an arena is asked most often, a block of any alignment: all in one function, for on a Cortex-M3 each one
 * that passes a call on costs some twenty instructions. Everything else goes the common way.
 */
tnr_status tnr_domain_allocate(tnr_domain *domain, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    if (TNRI_UNLIKELY(domain == NULL || domain->kind != &arena_class || block == NULL || alignment != 0 ||
                      bytes - 1U >= ((const arena *)domain->state)->capacity)) { /* no bytes, or too many */
        return tnri_raw_allocate(domain, bytes, alignment, block);
    }
    arena *self = domain->state;
    const size_t asked = (size_t)bytes; /* a capacity is one */
    const uint32_t granules = granules_of(self, asked);
    uint32_t index = 0;
    tnri_lock_take(&self->lock);
    if (TNRI_UNLIKELY(!tlsf_take(&self->tlsf, granules, STATE_FOR(TNRI_FOR_PROGRAM), &index))) {
        return take_last(self, TNRI_FOR_PROGRAM, asked, block);
    }
    hand_out(self, index, granules, block);
    return TNR_OK;
}

tnr_status tnr_domain_release(tnr_domain *domain, const tnr_block *block)
{
    if (TNRI_UNLIKELY(domain == NULL || domain->kind != &arena_class || block == NULL)) {
        return tnri_raw_release(domain, block);
    }
    arena *self = domain->state;
    tnri_lock_take(&self->lock);
    if (TNRI_UNLIKELY(!is_out(self, block, STATE_FOR(TNRI_FOR_PROGRAM)))) {
        return not_out(self, block);
    }
    tnri_poison_mark_free(block->address, block->bytes);
    tlsf_give(&self->tlsf, (uint32_t)block->tag);
    tnri_lock_give(&self->lock);
    return TNR_OK;
}

/* ---- Birth and reset --------------------------------------------------------------------------------------------- */

const uint32_t tnri_arena_head_bytes = DOMAIN_BYTES + ARENA_BYTES;

static uint64_t default_max_blocks(uint64_t bytes) { return tnri_min_u64(tnri_max_u64(bytes / 4096U, 64U), 65536U); }

/* The options are checked; their placement is what tensors get. */
static tnr_status build(void *region, uint64_t bytes, const tnr_arena_options *options, tnr_domain **result)
{
    const uint64_t max_blocks = options->max_blocks != 0 ? options->max_blocks : default_max_blocks(bytes);
    tnri_arena_layout at = {0, 0, 0, 0, 0};
    TNR_TRY(tnri_arena_lay_out((uint64_t)(uintptr_t)region, bytes, options, (uint32_t)max_blocks, &at));
    unsigned char *control =
        options->control == NULL
            ? (unsigned char *)region + (at.control - (uint64_t)(uintptr_t)region)
            : (unsigned char *)options->control + (at.control - (uint64_t)(uintptr_t)options->control);
    tnr_domain prepared;
    memset(&prepared, 0, sizeof(prepared));
    TNR_TRY(tnri_domain_init(&prepared, &arena_class, NULL, options->placement, TNR_ACCESS_DIRECT));

    tnr_domain *domain = (tnr_domain *)(void *)control;
    arena *self = (arena *)(void *)(control + DOMAIN_BYTES);
    memcpy(domain, &prepared, sizeof(prepared));
    memset(self, 0, sizeof(*self));
    domain->home = domain;
    domain->state = self;
    /* The arena numbers its blocks itself, and what has a number and no bytes counts where they never get to. */
    atomic_store_explicit(&domain->minted, UINT64_C(1) << 63, memory_order_relaxed);
    self->shift = tnri_lowest_bit(at.granule);
    self->base = (unsigned char *)region + (at.base - (uint64_t)(uintptr_t)region);
    self->last_byte = (size_t)at.granule - 1U;
    self->least_free = at.granules;
    self->capacity = granules_to_bytes(self, at.granules);
    /* A first generation of its own, so that blocks of an earlier arena in the same place are not taken for ours. */
    const uint32_t generation = (uint32_t)domain->serial * 0x9E3779B9U;
    tnri_tlsf_init(&self->tlsf, control + DOMAIN_BYTES + ARENA_BYTES, at.granules, (uint32_t)max_blocks,
                   at.base >> self->shift, generation);
    tnri_poison_hide(self->base, granules_to_bytes(self, at.granules));
    const tnr_status status = tnri_slab_reserve(domain, options->handles);
    if (status != TNR_OK) {
        arena_destroy(domain);
        return status;
    }
    *result = domain;
    return TNR_OK;
}

tnr_status tnr_arena_create(void *region, uint64_t bytes, const tnr_arena_options *given, tnr_domain **result)
{
    tnr_arena_options options;
    TNR_REQUIRE(region != NULL && bytes != 0 && result != NULL, TNR_ERR_ARGUMENT,
                "arena_create: region, bytes and arena must not be NULL or 0");
    TNR_TRY(tnri_arena_options("arena_create", given, &options));
    const tnr_placement *placement = &options.placement;
    TNR_REQUIRE(placement->kind == TNR_MEMORY_HOST || placement->kind == TNR_MEMORY_PINNED ||
                    placement->kind == TNR_MEMORY_MANAGED,
                TNR_ERR_RESIDENCY, "arena_create: the region must be memory that the host reaches directly");
    TNR_REQUIRE(
        placement->cpu_affinity == TNR_NONE &&
            (placement->device == TNR_NONE || (placement->device > TNR_NONE && placement->kind != TNR_MEMORY_HOST)),
        TNR_ERR_ARGUMENT,
        "arena_create: a node is stamped only on memory that the library bound, a device only on memory near one");
    return build(region, bytes, &options, result);
}

tnr_status tnr_arena_create_in(tnr_domain *parent, uint64_t bytes, const tnr_arena_options *given, tnr_domain **result)
{
    static const char *const op = "arena_create_in";
    tnr_arena_options options;
    TNR_REQUIRE(parent != NULL && bytes != 0 && result != NULL, TNR_ERR_ARGUMENT,
                "%s: parent, bytes and arena must not be NULL or 0", op);
    TNR_TRY(tnri_arena_options(op, given, &options));
    TNR_REQUIRE(options.placement.kind == TNR_MEMORY_HOST && options.placement.device == TNR_NONE &&
                    options.placement.cpu_affinity == TNR_NONE,
                TNR_ERR_ARGUMENT, "%s: the placement is the parent's, expected none in the options", op);
    TNR_REQUIRE(parent->access == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "%s: the host does not reach the memory of %s directly", op, tnr_domain_name(parent));
    TNR_TRY(tnri_domain_check_open(op, parent));
    options.placement = parent->placement;
    tnr_block region;
    TNR_TRY(parent->kind->allocate(parent, TNRI_FOR_RECORD, bytes, options.page, &region));
    /* A parent that rounds gives more than was asked for, and the arena has all of it. */
    tnr_domain *made = NULL;
    const tnr_status status = build(region.address, region.bytes, &options, &made);
    if (status != TNR_OK) {
        (void)parent->kind->release(parent, &region, TNRI_FOR_RECORD);
        return status;
    }
    made->parent = parent;
    made->record = region;
    tnri_domain_use_as_child(parent);
    *result = made;
    return TNR_OK;
}

static tnr_status arena_of(const char *op, tnr_domain *domain, arena **self)
{
    TNR_REQUIRE(domain != NULL && domain->kind == &arena_class, TNR_ERR_ARGUMENT, "%s: expected an arena, found %s", op,
                tnr_domain_name(domain));
    *self = domain->state;
    return TNR_OK;
}

tnr_status tnr_arena_reset(tnr_domain *domain)
{
    arena *self = NULL;
    TNR_TRY(arena_of("arena_reset", domain, &self));
    tnri_lock_take(&domain->slab.lock);
    const uint64_t users = domain->users;
    tnri_lock_give(&domain->slab.lock);
    TNR_REQUIRE(users == 0, TNR_ERR_BUSY, "arena_reset: %llu handles, groups, engines or domains live in the arena",
                TNRI_LLU(users));

    tnri_lock_take(&self->lock);
    tnri_tlsf_block *blocks = self->tlsf.blocks;
    for (uint32_t index = blocks[0].after, next; index != 0; index = next) {
        next = blocks[index].after;
        if (blocks[index].state != STATE_FOR(TNRI_FOR_PROGRAM)) {
            continue;
        }
        if ((blocks[next].state & TNRI_TLSF_FREE) != 0) { /* it may go into another one; what is behind it stays */
            next = blocks[next].after;
        }
        tnri_poison_mark_free(self->base + granules_to_bytes(self, blocks[index].offset),
                              granules_to_bytes(self, blocks[index].units));
        tnri_tlsf_give(&self->tlsf, index);
    }
    tnri_lock_give(&self->lock);
    return TNR_OK;
}

tnr_status tnr_arena_seal(tnr_domain *domain)
{
    arena *self = NULL;
    TNR_TRY(arena_of("arena_seal", domain, &self));
    tnri_lock_take(&domain->slab.lock);
    domain->sealed = true;
    tnri_lock_give(&domain->slab.lock);
    return TNR_OK;
}

bool tnr_arena_is_sealed(tnr_domain *domain)
{
    if (domain == NULL || domain->kind != &arena_class) {
        return false;
    }
    tnri_lock_take(&domain->slab.lock);
    const bool sealed = domain->sealed;
    tnri_lock_give(&domain->slab.lock);
    return sealed;
}

tnr_status tnr_arena_check(tnr_domain *domain)
{
    arena *self = NULL;
    TNR_TRY(arena_of("arena_check", domain, &self));
    tnri_lock_take(&self->lock);
    const char *fault = tnri_tlsf_check(&self->tlsf);
    tnri_lock_give(&self->lock);
    TNR_REQUIRE(fault == NULL, TNR_ERR_BACKEND, "arena_check: %s", fault);
    return TNR_OK;
}
