/* SPDX-License-Identifier: BSD-3-Clause */
/* The model's ground: drawing, judging, domains, the books of pools and ledgers, the end. See storage_model.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage_model.h"

sm_model sm;

/* ---- Drawing ------------------------------------------------------------------------------------------------------------ */

/* SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). */
static uint64_t draw(void)
{
    uint64_t z = sm.random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t sm_below(uint64_t bound) { return bound == 0 ? 0 : (draw() >> 11) % bound; }

int64_t sm_between(int64_t low, int64_t high) { return low + (int64_t)sm_below((uint64_t)(high - low) + 1); }

bool sm_chance(unsigned percent) { return sm_below(100) < percent; }

void sm_random_bytes(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        const uint64_t word = draw();
        memcpy(bytes + i, &word, count - i < 8 ? count - i : 8);
    }
}

/* ---- Judging ------------------------------------------------------------------------------------------------------------ */

void sm_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "seed %llu, step %llu, %s: ", (unsigned long long)sm.seed, (unsigned long long)sm.step,
            sm.operation);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n  last error: %s\n", tnr_last_error());
    va_end(arguments);
    fail();
    abort();
}

void sm_check(bool condition, const char *what)
{
    if (!condition) {
        sm_fail("expected that %s", what);
    }
}

void sm_expect(tnr_status got, tnr_status wanted, const char *call)
{
    sm.counts[got]++;
    if (got != wanted) {
        sm_fail("%s answered %s, expected %s", call, tnr_status_name(got), tnr_status_name(wanted));
    }
}

/* ---- The program's own domain: bytes that are wrong unless they are mapped ------------------------------------------------ */

#define MAPPED_SLOTS 256
#define MAPPED_BYTES 12288

/*
 * What lies in a block is scrambled; mapping makes a clear copy, and unmapping after a write scrambles all of it back. When
 * mappings are coherent they share one copy; else each has its own, and a writer beside anybody would lose elements.
 */
typedef struct mapped_slot {
    unsigned char *scrambled;
    unsigned char *clear;
    uint64_t bytes;
    unsigned maps;
    unsigned written; /* of them, by writers */
} mapped_slot;

typedef struct mapped_state {
    uint64_t free_bytes;
    mapped_slot slots[MAPPED_SLOTS];
} mapped_state;

static mapped_state *mapped; /* the one domain's, for sm_mapped_free */

static tnr_status mapped_open(void *state, const void *config)
{
    mapped = state;
    mapped->free_bytes = *(const uint64_t *)config;
    return TNR_OK;
}

static tnr_status mapped_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    (void)alignment; /* binds addresses only, and a mapping is as aligned as malloc's memory */
    mapped_state *own = state;
    uint64_t slot = 0;
    while (slot < MAPPED_SLOTS && own->slots[slot].scrambled != NULL) {
        slot++;
    }
    if (bytes > own->free_bytes || slot == MAPPED_SLOTS) {
        return tnr_set_error(TNR_ERR_MEMORY, "mapped: full");
    }
    own->slots[slot].scrambled = malloc((size_t)bytes);
    sm_random_bytes(own->slots[slot].scrambled, (size_t)bytes);
    own->slots[slot].bytes = bytes;
    own->free_bytes -= bytes;
    block->address = own->slots[slot].scrambled;
    block->bytes = bytes;
    block->tag = slot;
    return TNR_OK;
}

static void mapped_release(void *state, const tnr_block *block)
{
    mapped_state *own = state;
    mapped_slot *slot = &own->slots[block->tag];
    sm_check(slot->scrambled == block->address && slot->bytes == block->bytes && slot->maps == 0,
             "a domain gets its own unmapped block back");
    own->free_bytes += slot->bytes;
    free(slot->scrambled);
    memset(slot, 0, sizeof(*slot));
}

static void scramble(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        to[i] = from[i] ^ 0xA5;
    }
}

static tnr_status mapped_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    mapped_slot *slot = &((mapped_state *)state)->slots[block->tag];
    sm_check(slot->scrambled == block->address, "a domain is asked to map a block that is out");
    sm_check(slot->written == 0 || sm.coherent, "a writer's mapping is alone where mappings hide each other's writes");
    sm_check(mode == TNR_MAP_READ || slot->maps == 0 || sm.coherent, "nobody maps where somebody writes");
    slot->written += mode == TNR_MAP_WRITE ? 1U : 0U;
    if (slot->maps++ == 0 || !sm.coherent) {
        slot->clear = aligned_alloc(16, (size_t)((slot->bytes + 15) / 16 * 16));
        scramble(slot->clear, slot->scrambled, slot->bytes);
    }
    *host = slot->clear;
    return TNR_OK;
}

static tnr_status mapped_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    mapped_slot *slot = &((mapped_state *)state)->slots[block->tag];
    sm_check(slot->maps != 0 && (slot->clear == host || !sm.coherent), "a domain is asked to unmap what it mapped");
    if (mode == TNR_MAP_WRITE) {
        scramble(slot->scrambled, host, slot->bytes);
        slot->written--;
    }
    if (--slot->maps == 0 || !sm.coherent) {
        free(host);
        slot->clear = NULL;
    }
    return TNR_OK;
}

static const tnr_domain_ops mapped_ops = {
    .size = sizeof(mapped_state),
    .name = "scrambled",
    .open = mapped_open,
    .allocate = mapped_allocate,
    .release = mapped_release,
    .map = mapped_map,
    .unmap = mapped_unmap,
};

uint64_t sm_mapped_free(void) { return mapped->free_bytes; }

/* ---- Domains ------------------------------------------------------------------------------------------------------------ */

static unsigned char region[56 * 1024];
static unsigned char region_apart[36 * 1024];
static unsigned char control_apart[128 * 1024];

static sm_domain *enter_domain(sm_role role, tnr_domain *it, sm_domain *home)
{
    sm_domain *entered = sm.domains;
    while (entered->used) {
        entered++;
        sm_check(entered < sm.domains + SM_DOMAINS, "the model has room for one more domain");
    }
    memset(entered, 0, sizeof(*entered));
    entered->used = true;
    entered->open = true;
    entered->role = role;
    entered->it = it;
    entered->home = home != NULL ? home : entered;
    entered->id = tnr_domain_identity(it);
    sm.role[role] = entered;
    return entered;
}

void sm_open_pool(sm_role role)
{
    sm_domain *parent = sm.role[role == SM_POOL_HEAP ? SM_HEAP : role == SM_POOL_ARENA ? SM_ARENA : SM_MAPPED];
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = sm_below(32) * 1024;
    tnr_domain *pool = NULL;
    const tnr_status status = tnr_pool_create(parent->it, &options, &pool);
    if (sm_was_full(parent->home, status, 4096)) {
        sm.role[role] = NULL;
        return;
    }
    sm_expect(status, TNR_OK, "pool_create");
    sm_domain *entered = enter_domain(role, pool, parent->home);
    entered->parent = parent;
    entered->cap = options.max_bytes;
    parent->live++;
}

void sm_start(uint64_t seed)
{
    memset(&sm, 0, sizeof(sm));
    sm.seed = seed;
    sm.random = seed;
    sm.operation = "start";
    sm.coherent = sm_chance(50);
    tnr_domain *it = NULL;
    sm_expect(tnr_heap_create(&it), TNR_OK, "heap_create");
    sm_domain *heap = enter_domain(SM_HEAP, it, NULL);

    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.max_blocks = 256;
    sm_expect(tnr_arena_create(region, sizeof(region), &options, &it), TNR_OK, "arena_create");
    enter_domain(SM_ARENA, it, NULL)->max_blocks = options.max_blocks;
    options.max_blocks = 96;
    options.page = 256;
    options.control = control_apart;
    options.control_bytes = sizeof(control_apart);
    sm_expect(tnr_arena_create(region_apart + 7, sizeof(region_apart) - 7, &options, &it), TNR_OK, "arena_create");
    enter_domain(SM_ARENA_APART, it, NULL)->max_blocks = options.max_blocks;

    const uint64_t room = MAPPED_BYTES;
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &mapped_ops;
    config.config = &room;
    config.access = TNR_ACCESS_MAPPED;
    config.coherent_maps = sm.coherent;
    config.placement.kind = TNR_MEMORY_MANAGED;
    sm_expect(tnr_domain_create(heap->it, &config, &it), TNR_OK, "domain_create");
    enter_domain(SM_MAPPED, it, heap);
    heap->live++;
    sm_open_pool(SM_POOL_HEAP);
    sm_open_pool(SM_POOL_ARENA);
    sm_open_pool(SM_POOL_MAPPED);
}

sm_domain *sm_any_domain(void)
{
    for (;;) {
        const sm_role role = (sm_role)sm_below(SM_ROLES);
        if (sm.role[role] == NULL) {
            sm_open_pool(role);
        }
        if (sm.role[role] != NULL) {
            return sm.role[role];
        }
    }
}

bool sm_is_pool(const sm_domain *domain) { return domain->parent != NULL; }

bool sm_reaches_directly(const sm_domain *domain)
{
    return domain == NULL || (domain->role != SM_MAPPED && domain->role != SM_POOL_MAPPED);
}

static bool is_arena(const sm_domain *domain) { return domain->role == SM_ARENA || domain->role == SM_ARENA_APART; }

void sm_unlive(sm_domain *domain)
{
    sm_check(domain->live != 0, "the model's counts do not go below 0");
    domain->live--;
    if (!domain->open && domain->live == 0) {
        domain->used = false;
        sm_unlive(domain->parent);
    }
}

/* ---- Pools: the naive way --------------------------------------------------------------------------------------------------- */

uint64_t sm_class(uint64_t bytes)
{
    uint64_t quarter = 16;
    while (quarter * 8 < bytes) {
        quarter *= 2;
    }
    uint64_t size = quarter * 4;
    while (size < bytes) {
        size += quarter;
    }
    return size;
}

static void forget_retained(sm_domain *pool, size_t index)
{
    pool->retained_bytes -= pool->retained[index];
    pool->retained_count--;
    memmove(&pool->retained[index], &pool->retained[index + 1], (pool->retained_count - index) * sizeof(uint64_t));
}

static void evict(sm_domain *pool)
{
    forget_retained(pool, 0);
    pool->evictions++;
}

/* A parent that is full makes a pool give up buffers, the oldest first: how many, its counter says. */
static void follow_evictions(sm_domain *pool)
{
    tnr_pool_statistics now;
    sm_expect(tnr_pool_statistics_get(pool->it, &now), TNR_OK, "pool_statistics_get");
    sm_check(now.evictions == pool->evictions || pool->role != SM_POOL_HEAP, "the heap is never full");
    while (pool->evictions < now.evictions) {
        sm_check(pool->retained_count != 0, "only what is retained is given up");
        evict(pool);
    }
}

static void high_water(sm_domain *pool)
{
    const uint64_t held = pool->retained_bytes + pool->in_flight_bytes;
    pool->high_water = held > pool->high_water ? held : pool->high_water;
}

void sm_pool_take(sm_domain *pool, uint64_t bytes, bool straight)
{
    const uint64_t size = sm_class(bytes);
    pool->in_flight++;
    for (size_t i = pool->retained_count; i-- > 0 && !straight;) {
        if (pool->retained[i] == size) {
            forget_retained(pool, i);
            pool->in_flight_bytes += size;
            pool->hits++;
            return;
        }
    }
    follow_evictions(pool);
    pool->in_flight_bytes += size;
    pool->misses++;
    high_water(pool);
}

static void retain(sm_domain *pool, uint64_t size)
{
    if (!pool->open || size > pool->cap) {
        return;
    }
    while (pool->retained_bytes + size > pool->cap) {
        evict(pool);
    }
    sm_check(pool->retained_count < SM_RETAINED, "the model has room for one more retained buffer");
    pool->retained[pool->retained_count++] = size;
    pool->retained_bytes += size;
}

void sm_pool_lose(sm_domain *pool, uint64_t class_bytes)
{
    pool->in_flight--;
    pool->in_flight_bytes -= class_bytes;
}

void sm_pool_give(sm_domain *pool, uint64_t class_bytes, bool straight)
{
    sm_pool_lose(pool, class_bytes);
    if (!straight) {
        retain(pool, class_bytes);
    }
}

void sm_pool_accept(sm_domain *pool, uint64_t block_bytes)
{
    if (block_bytes < 64) {
        return; /* smaller than the smallest class */
    }
    uint64_t size = sm_class(block_bytes);
    if (size > block_bytes) {
        /* The largest class within: at most one class below the smallest that holds it. */
        uint64_t quarter = 16;
        while (quarter * 8 < size) {
            quarter *= 2;
        }
        size -= quarter;
    }
    if (pool->role == SM_POOL_ARENA) {
        /* Its table may not have grown; then the buffer was freed. */
        tnr_pool_statistics now;
        sm_expect(tnr_pool_statistics_get(pool->it, &now), TNR_OK, "pool_statistics_get");
        if (now.buffers == pool->retained_count && now.capacity_bytes == pool->retained_bytes &&
            now.evictions == pool->evictions) {
            return;
        }
    }
    if (size <= pool->cap) {
        const uint64_t held = pool->retained_bytes + pool->in_flight_bytes + size;
        pool->high_water = held > pool->high_water ? held : pool->high_water;
    }
    retain(pool, size);
}

bool sm_was_full(sm_domain *domain, tnr_status status, uint64_t bytes)
{
    if (status != TNR_ERR_MEMORY) {
        return false;
    }
    sm.counts[status]++;
    uint64_t room = bytes;
    sm_domain *source = domain;
    if (sm_is_pool(domain)) {
        follow_evictions(domain);
        room = sm_class(bytes) + 16384; /* its table may have to grow */
        source = domain->parent;
    }
    if (is_arena(source)) {
        tnr_domain_statistics now;
        sm_expect(tnr_domain_statistics_get(source->it, &now), TNR_OK, "domain_statistics_get");
        if (now.blocks + 2 <= source->max_blocks && now.largest_free > room + room / 32 + 8192) {
            sm_fail("refused %llu bytes with a free block of %llu", (unsigned long long)bytes,
                    (unsigned long long)now.largest_free);
        }
        return true;
    }
    sm_check(source->role == SM_MAPPED, "the heap is never full");
    const uint64_t size = sm_is_pool(domain) ? sm_class(bytes) : bytes;
    unsigned out = 0;
    for (unsigned i = 0; i < MAPPED_SLOTS; i++) {
        out += mapped->slots[i].scrambled != NULL ? 1U : 0U;
    }
    sm_check(size > mapped->free_bytes || out == MAPPED_SLOTS, "a domain with room is used");
    return true;
}

void sm_check_pools(void)
{
    for (sm_role role = SM_POOL_HEAP; role < SM_ROLES; role++) {
        const sm_domain *pool = sm.role[role];
        if (pool == NULL || !sm_is_pool(pool)) {
            continue;
        }
        tnr_pool_statistics now;
        sm_expect(tnr_pool_statistics_get(pool->it, &now), TNR_OK, "pool_statistics_get");
        sm_check(now.capacity_bytes <= now.max_bytes && now.max_bytes == pool->cap, "a pool's cap holds");
        if (now.buffers != pool->retained_count || now.capacity_bytes != pool->retained_bytes ||
            now.hits != pool->hits || now.misses != pool->misses || now.evictions != pool->evictions ||
            now.in_flight != pool->in_flight || now.in_flight_bytes != pool->in_flight_bytes ||
            now.high_water_bytes != pool->high_water) {
            sm_fail(
                "pool of role %d: buffers %llu (model %llu), bytes %llu (%llu), hits %llu (%llu), misses %llu (%llu), "
                "evictions %llu (%llu), in flight %llu (%llu), %llu (%llu) bytes, high water %llu (%llu)",
                (int)role, (unsigned long long)now.buffers, (unsigned long long)pool->retained_count,
                (unsigned long long)now.capacity_bytes, (unsigned long long)pool->retained_bytes,
                (unsigned long long)now.hits, (unsigned long long)pool->hits, (unsigned long long)now.misses,
                (unsigned long long)pool->misses, (unsigned long long)now.evictions,
                (unsigned long long)pool->evictions, (unsigned long long)now.in_flight,
                (unsigned long long)pool->in_flight, (unsigned long long)now.in_flight_bytes,
                (unsigned long long)pool->in_flight_bytes, (unsigned long long)now.high_water_bytes,
                (unsigned long long)pool->high_water);
        }
    }
}

/* ---- Books ---------------------------------------------------------------------------------------------------------------- */

static void check_entry(const tnr_ledger_entry *now, const tnr_ledger_entry *wanted, sm_role role, const char *what,
                        int reason)
{
    if (now->count != wanted->count || now->bytes != wanted->bytes) {
        sm_fail("ledger of role %d, %s %d: %llu of %llu bytes, model %llu of %llu", (int)role, what, reason,
                (unsigned long long)now->count, (unsigned long long)now->bytes, (unsigned long long)wanted->count,
                (unsigned long long)wanted->bytes);
    }
}

void sm_check_books(void)
{
    for (sm_role role = SM_HEAP; role < SM_ROLES; role++) {
        const sm_domain *domain = sm.role[role];
        if (domain == NULL) {
            continue;
        }
        tnr_ledger now;
        sm_expect(tnr_ledger_get(domain->it, &now), TNR_OK, "ledger_get");
        for (int i = 0; i < TNR_ALLOCATION_REASON_END; i++) {
            check_entry(&now.allocations[i], &domain->ledger.allocations[i], role, "allocation", i);
        }
        for (int i = 0; i < TNR_COPY_REASON_END; i++) {
            check_entry(&now.copies[i], &domain->ledger.copies[i], role, "copy", i);
        }
        tnr_ledger_entry allocations = {0, 0};
        tnr_ledger_entry copies = {0, 0};
        tnr_ledger_total(&now, &allocations, &copies);
        for (int i = 0; i < TNR_ALLOCATION_REASON_END; i++) {
            allocations.count -= domain->ledger.allocations[i].count;
            allocations.bytes -= domain->ledger.allocations[i].bytes;
        }
        for (int i = 0; i < TNR_COPY_REASON_END; i++) {
            copies.count -= domain->ledger.copies[i].count;
            copies.bytes -= domain->ledger.copies[i].bytes;
        }
        sm_check(allocations.count == 0 && allocations.bytes == 0 && copies.count == 0 && copies.bytes == 0,
                 "a ledger's totals are its sums");
        if (now.releases != domain->ledger.releases) {
            sm_fail("ledger of role %d: %llu releases, model %llu", (int)role, (unsigned long long)now.releases,
                    (unsigned long long)domain->ledger.releases);
        }
        if (is_arena(domain)) {
            sm_expect(tnr_arena_check(domain->it), TNR_OK, "arena_check");
        }
    }
    tnr_domain_statistics now;
    sm_expect(tnr_domain_statistics_get(sm.role[SM_MAPPED]->it, &now), TNR_OK, "domain_statistics_get");
    sm_check(now.bytes == MAPPED_BYTES - mapped->free_bytes, "a program's domain counts its bytes");
    for (int i = 0; i < SM_GROUPS; i++) {
        const sm_group *group = &sm.groups[i];
        if (group->it != NULL) {
            uint32_t owners = 0;
            uint32_t entries = 0;
            sm_expect(tnr_group_check(group->it), TNR_OK, "group_check");
            sm_expect(tnr_group_counts(group->it, &owners, &entries), TNR_OK, "group_counts");
            sm_check(owners == group->owners && entries == group->entries, "a group counts as the model does");
        }
    }
}

/* ---- The end -------------------------------------------------------------------------------------------------------------- */

static void close_domain(sm_role role)
{
    sm_domain *domain = sm.role[role];
    if (domain == NULL) {
        return;
    }
    sm_check(domain->live == 0 && domain->raw_blocks == 0, "nothing lives in a domain at the end");
    if (is_arena(domain)) {
        sm_expect(tnr_arena_check(domain->it), TNR_OK, "arena_check");
    }
    sm_check(role != SM_MAPPED || mapped->free_bytes == MAPPED_BYTES, "a program's domain has all its bytes back");
    sm_domain *supports = domain->parent != NULL ? domain->parent : domain->home != domain ? domain->home : NULL;
    sm_expect(tnr_domain_close(&domain->it), TNR_OK, "domain_close");
    domain->used = false;
    sm.role[role] = NULL;
    if (supports != NULL) {
        sm_unlive(supports);
    }
}

void sm_finish(void)
{
    sm.operation = "finish";
    for (int i = 0; i < SM_MAPS; i++) {
        if (sm.maps[i].used) {
            sm_unmap(&sm.maps[i]);
        }
    }
    for (int i = 0; i < SM_GROUPS; i++) {
        if (sm.groups[i].it != NULL) {
            sm_group_release(&sm.groups[i]);
        }
    }
    for (int i = 0; i < SM_TENSORS; i++) {
        sm_release(&sm.tensors[i]);
    }
    for (int i = 0; i < SM_BLOCKS; i++) {
        sm_block_release(&sm.blocks[i]);
    }
    sm_check_pools();
    sm_check_books();
    for (sm_role role = SM_ROLES; role-- > SM_HEAP;) {
        close_domain(role);
    }
}
