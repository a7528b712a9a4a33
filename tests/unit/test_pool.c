/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools, sentence by sentence of domain.h, and the pool entries of the list of known bugs. */
#define _POSIX_C_SOURCE 200809L /* fork, setenv, alarm */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "arena/arena.h"
#include "support/counted_parent.h"

#define MIB (UINT64_C(1) << 20)

typedef struct fixture {
    tnr_domain *heap;
    counted_parent counts;
    tnr_domain *parent;
    tnr_domain *pool;
} fixture;

static tnr_domain *make_pool(tnr_domain *parent, uint64_t max_bytes)
{
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = max_bytes;
    tnr_domain *pool = NULL;
    assert_int_equal(tnr_pool_create(parent, &options, &pool), TNR_OK);
    return pool;
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_int_equal(tnr_heap_create(&f->heap), TNR_OK);
    assert_int_equal(counted_create(f->heap, &f->counts, TNR_ACCESS_DIRECT, &f->parent), TNR_OK);
    f->pool = make_pool(f->parent, 100 * MIB);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    assert_int_equal(tnr_domain_close(&f->pool), TNR_OK);
    assert_null(f->pool);
    assert_int_equal(f->counts.out, 0);
    assert_int_equal(f->counts.faults, 0);
    assert_int_equal(tnr_domain_close(&f->parent), TNR_OK);
    assert_int_equal(tnr_domain_close(&f->heap), TNR_OK);
    free(f);
    return 0;
}

static tnr_block take(tnr_domain *domain, uint64_t bytes)
{
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(domain, bytes, 0, &block), TNR_OK);
    return block;
}

static void give(tnr_domain *domain, const tnr_block *block)
{
    assert_int_equal(tnr_domain_release(domain, block), TNR_OK);
}

/* Put one buffer of each size into the pool, in this order. */
static void recycle(tnr_domain *pool, uint64_t bytes)
{
    const tnr_block block = take(pool, bytes);
    give(pool, &block);
}

static tnr_pool_statistics figures(tnr_domain *pool)
{
    tnr_pool_statistics statistics;
    assert_int_equal(tnr_pool_statistics_get(pool, &statistics), TNR_OK);
    return statistics;
}

static uint64_t class_of(uint64_t bytes)
{
    uint64_t class_bytes = UINT64_MAX;
    assert_int_equal(tnr_pool_class_bytes(bytes, &class_bytes), TNR_OK);
    return class_bytes;
}

/* ---- Size classes ---------------------------------------------------------------------------------------------------- */

static void class_is_the_smallest_of_four_per_power_of_two(void **state)
{
    (void)state;
    /* The naive list of classes, walked beside the requests. */
    uint64_t base = 64;
    uint64_t quarter = 0;
    uint64_t expected = 64;
    for (uint64_t bytes = 1; bytes <= 70000; bytes++) {
        while (expected < bytes) {
            quarter++;
            if (quarter == 4) {
                quarter = 0;
                base *= 2;
            }
            expected = base + quarter * (base / 4);
        }
        assert_int_equal(class_of(bytes), expected);
    }
}

static void class_excess_is_at_most_a_quarter_and_none_at_powers_of_two(void **state)
{
    (void)state;
    for (unsigned shift = 6; shift < 63; shift++) {
        const uint64_t power = UINT64_C(1) << shift;
        assert_int_equal(class_of(power), power);
        assert_int_equal(class_of(power + 1), power + power / 4);
        assert_int_equal(class_of(power - 1), power);
        for (uint64_t part = 1; part <= 64; part++) {
            const uint64_t bytes = power + power / 64 * part;
            assert_true(class_of(bytes) >= bytes && class_of(bytes) - bytes <= bytes / 4);
        }
    }
}

static void class_ends(void **state)
{
    (void)state;
    assert_int_equal(class_of(0), 0);
    assert_int_equal(class_of(1), 64);
    assert_int_equal(class_of(63), 64);
    assert_int_equal(class_of(UINT64_C(7) << 61), UINT64_C(7) << 61);
    uint64_t untouched = 5;
    assert_int_equal(tnr_pool_class_bytes((UINT64_C(7) << 61) + 1, &untouched), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_pool_class_bytes(UINT64_MAX, &untouched), TNR_ERR_OVERFLOW);
    assert_int_equal(untouched, 5);
    assert_int_equal(tnr_pool_class_bytes(1, NULL), TNR_ERR_ARGUMENT);
}

/* ---- Recycling ---------------------------------------------------------------------------------------------------------- */

static void released_buffer_serves_the_next_request_of_its_class(void **state)
{
    fixture *f = *state;
    tnr_block first = take(f->pool, 32768);
    assert_int_equal(first.bytes, 32768);
    assert_int_equal((uintptr_t)first.address % 64, 0);
    memset(first.address, 0x5A, 32768);
    give(f->pool, &first);
    assert_int_equal(f->counts.releases, 0);
    const tnr_block second = take(f->pool, 30000); /* same class */
    assert_ptr_equal(second.address, first.address);
    assert_int_equal(second.bytes, 32768);
    assert_true(second.allocation > first.allocation);
    const tnr_pool_statistics s = figures(f->pool);
    assert_int_equal(s.hits, 1);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.in_flight, 1);
    assert_int_equal(s.in_flight_bytes, 32768);
    assert_int_equal(s.buffers, 0);
    assert_int_equal(s.capacity_bytes, 0);
    give(f->pool, &second);
    assert_int_equal(figures(f->pool).buffers, 1);
    assert_int_equal(figures(f->pool).capacity_bytes, 32768);
    assert_int_equal(figures(f->pool).in_flight, 0);
    assert_int_equal(f->counts.calls, 1);
}

static void newest_of_a_class_goes_first(void **state)
{
    fixture *f = *state;
    const tnr_block a = take(f->pool, 1000);
    const tnr_block b = take(f->pool, 1000);
    const tnr_block c = take(f->pool, 1000);
    give(f->pool, &b);
    give(f->pool, &c);
    give(f->pool, &a);
    const tnr_block again[3] = {take(f->pool, 1024), take(f->pool, 1024), take(f->pool, 1024)};
    assert_ptr_equal(again[0].address, a.address);
    assert_ptr_equal(again[1].address, c.address);
    assert_ptr_equal(again[2].address, b.address);
    for (int i = 0; i < 3; i++) {
        give(f->pool, &again[i]);
    }
}

static void larger_class_never_serves(void **state)
{
    fixture *f = *state;
    recycle(f->pool, 160);
    const tnr_block small = take(f->pool, 128);
    assert_int_equal(small.bytes, 128);
    assert_int_equal(figures(f->pool).misses, 2);
    assert_int_equal(figures(f->pool).buffers, 1);
    give(f->pool, &small);
}

static void zero_bytes_never_take_a_buffer(void **state)
{
    fixture *f = *state;
    recycle(f->pool, 64);
    const tnr_block none = take(f->pool, 0);
    assert_null(none.address);
    assert_int_equal(none.bytes, 0);
    give(f->pool, &none);
    give(f->pool, &none);
    const tnr_pool_statistics s = figures(f->pool);
    assert_int_equal(s.hits + s.misses, 1);
    assert_int_equal(s.in_flight, 0);
    assert_int_equal(s.buffers, 1);
}

static void large_alignment_goes_to_the_parent_and_back(void **state)
{
    fixture *f = *state;
    recycle(f->pool, 8192);
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(f->pool, 8192, 4096, &block), TNR_OK);
    assert_int_equal((uintptr_t)block.address % 4096, 0);
    assert_int_equal(f->counts.last_alignment, 4096);
    assert_int_equal(figures(f->pool).in_flight, 1);
    give(f->pool, &block);
    assert_int_equal(tnr_domain_release(f->pool, &block), TNR_ERR_STALE);
    assert_int_equal(f->counts.releases, 1);
    assert_int_equal(figures(f->pool).buffers, 1);
    assert_int_equal(figures(f->pool).in_flight, 0);
    assert_int_equal(tnr_domain_allocate(f->pool, 8192, 48, &block), TNR_ERR_ARGUMENT);
}

static void small_alignment_is_pooled(void **state)
{
    fixture *f = *state;
    tnr_block block;
    for (uint64_t alignment = 1; alignment <= 64; alignment *= 2) {
        assert_int_equal(tnr_domain_allocate(f->pool, 100, alignment, &block), TNR_OK);
        assert_int_equal((uintptr_t)block.address % 64, 0);
        give(f->pool, &block);
    }
    assert_int_equal(f->counts.calls, 1);
}

static void near_2_to_64_is_overflow_and_changes_nothing(void **state)
{
    fixture *f = *state;
    tnr_block block = {NULL, 7, 7, 7};
    assert_int_equal(tnr_domain_allocate(f->pool, UINT64_MAX, 0, &block), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_domain_allocate(f->pool, (UINT64_C(7) << 61) + 1, 4096, &block), TNR_ERR_OVERFLOW);
    assert_int_equal(block.bytes, 7);
    assert_int_equal(f->counts.calls, 0);
    assert_int_equal(figures(f->pool).misses, 0);
}

/* ---- The cap -------------------------------------------------------------------------------------------------------------- */

/* PA-01: the first half is about buffers of 0 bytes, the second about many distinct sizes. */
static void pa_01_eviction_ends_and_the_cap_is_on_the_sum(void **state)
{
    fixture *f = *state;
    tnr_domain *small = make_pool(f->parent, 1024);
    const uint64_t sizes[] = {0, 512, 600, 0, 600, 512};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        recycle(small, sizes[i]);
        assert_true(figures(small).capacity_bytes <= 1024);
    }
    assert_int_equal(tnr_domain_close(&small), TNR_OK);

    tnr_domain *pool = make_pool(f->parent, MIB);
    uint64_t asked = 0;
    for (uint64_t k = 1; k <= 400; k++) {
        asked += 1024 * k;
        recycle(pool, 1024 * k);
        const tnr_pool_statistics s = figures(pool);
        assert_true(s.capacity_bytes <= MIB);
        assert_int_equal(f->counts.out_bytes, s.capacity_bytes);
    }
    assert_int_equal(asked, 82124800);
    assert_true(figures(pool).evictions > 0);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
}

/* PA-02: sizes that are no multiple of anything; a fixed working set fits every round exactly. */
static void pa_02_fixed_working_set_stays_as_it_is(void **state)
{
    fixture *f = *state;
    f->counts.capacity = 2 * class_of(1032);
    void *seen[2] = {NULL, NULL};
    for (int round = 0; round < 5; round++) {
        const tnr_block blocks[2] = {take(f->pool, 1032), take(f->pool, 1032)};
        assert_ptr_not_equal(blocks[0].address, blocks[1].address);
        if (round == 0) {
            seen[0] = blocks[0].address;
            seen[1] = blocks[1].address;
        }
        for (int i = 0; i < 2; i++) {
            assert_true(blocks[i].address == seen[0] || blocks[i].address == seen[1]);
        }
        give(f->pool, &blocks[round % 2]);
        give(f->pool, &blocks[1 - round % 2]);
        const tnr_pool_statistics s = figures(f->pool);
        assert_int_equal(s.misses, 2);
        assert_int_equal(s.hits, 2 * round);
        assert_int_equal(s.high_water_bytes, 2 * class_of(1032));
    }
    assert_int_equal(f->counts.calls, 2);
}

static void buffer_above_the_cap_is_freed_at_once_and_evicts_nothing(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = make_pool(f->parent, 4096);
    recycle(pool, 1024);
    recycle(pool, 2048);
    const tnr_block large = take(pool, 5120);
    assert_int_equal(figures(pool).in_flight_bytes, 5120);
    give(pool, &large);
    const tnr_pool_statistics s = figures(pool);
    assert_int_equal(s.buffers, 2);
    assert_int_equal(s.capacity_bytes, 3072);
    assert_int_equal(s.evictions, 0);
    assert_int_equal(s.in_flight, 0);
    assert_int_equal(f->counts.releases, 1);
    assert_ptr_equal(f->counts.log[0], large.address);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
}

static void least_recently_released_goes_first(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = make_pool(f->parent, 4096);
    const tnr_block a = take(pool, 1024);
    const tnr_block b = take(pool, 1280);
    const tnr_block c = take(pool, 1024);
    give(pool, &b);
    give(pool, &a);
    give(pool, &c); /* retained, old to new: b a c */
    const tnr_block c_again = take(pool, 1024);
    assert_ptr_equal(c_again.address, c.address);
    const tnr_block a_again = take(pool, 1024);
    give(pool, &a_again);
    give(pool, &c_again); /* b a c again, by way of hits */
    const tnr_block d = take(pool, 1792);
    give(pool, &d); /* 3328 + 1792: b goes, then 2048 + 1792 fits */
    assert_int_equal(f->counts.releases, 1);
    assert_ptr_equal(f->counts.log[0], b.address);
    const tnr_block e = take(pool, 2048);
    give(pool, &e); /* a and c go: 1792 + 2048 fits */
    assert_int_equal(f->counts.releases, 3);
    assert_ptr_equal(f->counts.log[1], a.address);
    assert_ptr_equal(f->counts.log[2], c.address);
    assert_int_equal(figures(pool).evictions, 3);
    assert_int_equal(figures(pool).capacity_bytes, 1792 + 2048);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
}

static void cap_of_zero_retains_nothing(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = make_pool(f->parent, 0);
    recycle(pool, 64);
    recycle(pool, 64);
    const tnr_pool_statistics s = figures(pool);
    assert_int_equal(s.max_bytes, 0);
    assert_int_equal(s.misses, 2);
    assert_int_equal(s.hits + s.buffers + s.evictions, 0);
    assert_int_equal(f->counts.out, 0);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
}

static void cap_counts_to_the_byte(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = make_pool(f->parent, 128);
    tnr_block blocks[3] = {take(pool, 64), take(pool, 64), take(pool, 64)};
    give(pool, &blocks[0]);
    give(pool, &blocks[1]);
    assert_int_equal(figures(pool).capacity_bytes, 128);
    assert_int_equal(figures(pool).evictions, 0);
    give(pool, &blocks[2]);
    assert_int_equal(figures(pool).capacity_bytes, 128);
    assert_int_equal(figures(pool).evictions, 1);
    assert_ptr_equal(f->counts.log[0], blocks[0].address);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
}

static void lowering_the_cap_evicts_at_once(void **state)
{
    fixture *f = *state;
    tnr_block blocks[4];
    for (int i = 0; i < 4; i++) {
        blocks[i] = take(f->pool, 1024);
    }
    for (int i = 0; i < 4; i++) {
        give(f->pool, &blocks[i]);
    }
    assert_int_equal(tnr_pool_set_max_bytes(f->pool, 2050), TNR_OK);
    const tnr_pool_statistics s = figures(f->pool);
    assert_int_equal(s.max_bytes, 2050);
    assert_int_equal(s.capacity_bytes, 2048);
    assert_int_equal(s.evictions, 2);
    assert_ptr_equal(f->counts.log[0], blocks[0].address);
    assert_ptr_equal(f->counts.log[1], blocks[1].address);
    assert_int_equal(tnr_pool_set_max_bytes(f->pool, 4096), TNR_OK);
    assert_int_equal(figures(f->pool).max_bytes, 4096);
    assert_int_equal(figures(f->pool).capacity_bytes, 2048);
    assert_int_equal(tnr_pool_set_max_bytes(f->heap, 1), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_pool_set_max_bytes(NULL, 1), TNR_ERR_ARGUMENT);
}

/* ---- Trim ------------------------------------------------------------------------------------------------------------------ */

static void trim_gives_up_the_oldest_down_to_what_is_kept(void **state)
{
    fixture *f = *state;
    const uint64_t sizes[] = {1024, 2048, 512};
    tnr_block blocks[3];
    for (int i = 0; i < 3; i++) {
        blocks[i] = take(f->pool, sizes[i]);
    }
    for (int i = 0; i < 3; i++) {
        give(f->pool, &blocks[i]);
    }
    uint64_t freed = 1;
    assert_int_equal(tnr_pool_trim(f->pool, 3584, &freed), TNR_OK);
    assert_int_equal(freed, 0);
    assert_int_equal(tnr_pool_trim(f->pool, 3583, &freed), TNR_OK);
    assert_int_equal(freed, 1024);
    assert_ptr_equal(f->counts.log[0], blocks[0].address);
    assert_int_equal(tnr_pool_trim(f->pool, 511, &freed), TNR_OK);
    assert_int_equal(freed, 2560);
    assert_int_equal(figures(f->pool).evictions, 3);
    assert_int_equal(figures(f->pool).buffers, 0);
    recycle(f->pool, 64);
    assert_int_equal(tnr_pool_trim(f->pool, 0, NULL), TNR_OK);
    assert_int_equal(f->counts.out, 0);
    assert_int_equal(tnr_pool_trim(f->heap, 0, &freed), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_pool_trim(NULL, 0, &freed), TNR_ERR_ARGUMENT);
}

/* PA-07: double release, a table that grows, and a trim with nothing to trim. */
static void pa_07_double_release_growth_and_idle_trim(void **state)
{
    fixture *f = *state;
    uint64_t freed = 1;
    assert_int_equal(tnr_pool_trim(f->pool, 0, &freed), TNR_OK);
    assert_int_equal(freed, 0);

    const tnr_block p = take(f->pool, 256);
    give(f->pool, &p);
    assert_int_equal(tnr_domain_release(f->pool, &p), TNR_ERR_STALE);
    assert_int_equal(figures(f->pool).buffers, 1);
    tnr_block two[2] = {take(f->pool, 256), take(f->pool, 256)};
    assert_ptr_not_equal(two[0].address, two[1].address);
    assert_int_equal(tnr_domain_release(f->pool, &p), TNR_ERR_STALE); /* its buffer is out again, under another number */
    assert_int_equal(figures(f->pool).in_flight, 2);
    give(f->pool, &two[0]);
    give(f->pool, &two[1]);

    enum { MANY = 1000 };
    f->counts.capacity = MANY * 256;
    static tnr_block blocks[MANY];
    for (int i = 0; i < MANY; i++) {
        blocks[i] = take(f->pool, 256);
        memset(blocks[i].address, 0, 256);
        *(int *)blocks[i].address = i;
    }
    tnr_block one_more;
    assert_int_equal(tnr_domain_allocate(f->pool, 256, 0, &one_more), TNR_ERR_MEMORY);
    assert_int_equal(tnr_pool_trim(f->pool, 0, &freed), TNR_OK);
    assert_int_equal(freed, 0);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(*(int *)blocks[i].address, i);
        give(f->pool, &blocks[i]);
    }
    assert_int_equal(figures(f->pool).in_flight, 0);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(tnr_domain_release(f->pool, &blocks[i]), TNR_ERR_STALE);
    }
    assert_int_equal(figures(f->pool).buffers, MANY);
}

/* ---- What is refused ------------------------------------------------------------------------------------------------------- */

static void block_of_another_pool_is_foreign(void **state)
{
    fixture *f = *state;
    tnr_domain *other = make_pool(f->parent, MIB);
    const tnr_block ours = take(f->pool, 512);
    const tnr_block theirs = take(other, 512);
    assert_int_equal(tnr_domain_release(f->pool, &theirs), TNR_ERR_FOREIGN);
    assert_int_equal(tnr_domain_release(other, &ours), TNR_ERR_FOREIGN);
    const tnr_block heap_block = take(f->heap, 512);
    assert_int_equal(tnr_domain_release(f->pool, &heap_block), TNR_ERR_FOREIGN);
    const tnr_block parent_block = take(f->parent, 512);
    assert_int_equal(tnr_domain_release(f->pool, &parent_block), TNR_ERR_FOREIGN);
    assert_int_equal(figures(f->pool).in_flight, 1);
    assert_int_equal(figures(other).in_flight, 1);
    give(f->pool, &ours);
    give(other, &theirs);
    /* Released, it is still no block of ours. */
    assert_int_equal(tnr_domain_release(f->pool, &theirs), TNR_ERR_FOREIGN);
    give(f->heap, &heap_block);
    give(f->parent, &parent_block);
    assert_int_equal(tnr_domain_close(&other), TNR_OK);
}

static void made_up_blocks_are_foreign(void **state)
{
    fixture *f = *state;
    const tnr_block good = take(f->pool, 512);
    const uint64_t tags[] = {0,        1,           8,           good.tag + 1, good.tag + 8,   good.tag - 64 * 1024,
                             UINT64_MAX, good.tag + 64, good.tag + 128, ~good.tag,    good.tag << 32, good.tag + 64 * 4096};
    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
        tnr_block bad = good;
        bad.tag = tags[i];
        assert_int_equal(tnr_domain_release(f->pool, &bad), TNR_ERR_FOREIGN);
    }
    tnr_block bad = good;
    bad.address = (char *)bad.address + 64;
    assert_int_equal(tnr_domain_release(f->pool, &bad), TNR_ERR_FOREIGN);
    bad = good;
    bad.bytes = 1024;
    assert_int_equal(tnr_domain_release(f->pool, &bad), TNR_ERR_FOREIGN);
    bad = good;
    bad.allocation++;
    assert_int_equal(tnr_domain_release(f->pool, &bad), TNR_ERR_FOREIGN);
    bad.allocation = 0;
    assert_int_equal(tnr_domain_release(f->pool, &bad), TNR_ERR_FOREIGN);
    tnr_domain *empty = make_pool(f->parent, MIB);
    assert_int_equal(tnr_domain_release(empty, &good), TNR_ERR_FOREIGN);
    assert_int_equal(tnr_domain_close(&empty), TNR_OK);
    assert_int_equal(figures(f->pool).in_flight, 1);
    give(f->pool, &good);
}

static void null_and_wrong_arguments(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = NULL;
    tnr_pool_options options = TNR_POOL_OPTIONS;
    assert_int_equal(options.max_bytes, TNR_POOL_MAX_BYTES_AUTO);
    options.max_bytes = 1;
    assert_int_equal(tnr_pool_create(NULL, &options, &pool), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_pool_create(f->parent, &options, NULL), TNR_ERR_ARGUMENT);
    options.size--;
    assert_int_equal(tnr_pool_create(f->parent, &options, &pool), TNR_ERR_ARGUMENT);
    assert_null(pool);
    tnr_pool_statistics statistics;
    assert_int_equal(tnr_pool_statistics_get(f->heap, &statistics), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_pool_statistics_get(NULL, &statistics), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_pool_statistics_get(f->pool, NULL), TNR_ERR_ARGUMENT);
    tnr_need need;
    assert_int_equal(tnr_pool_need(1, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_pool_need(UINT64_MAX, &need), TNR_ERR_OVERFLOW);
}

/* ---- Parent and home --------------------------------------------------------------------------------------------------------- */

static void placement_and_access_are_the_parents(void **state)
{
    fixture *f = *state;
    assert_int_equal(tnr_domain_placement(f->pool).kind, TNR_MEMORY_HOST);
    assert_int_equal(tnr_domain_placement(f->pool).cpu_affinity, 3);
    assert_int_equal(tnr_domain_access(f->pool), TNR_ACCESS_DIRECT);
    assert_string_equal(tnr_domain_name(f->pool), "pool");
    assert_false(tnr_domain_id_equal(tnr_domain_identity(f->pool), tnr_domain_identity(f->parent)));
    assert_true(tnri_is_pool(f->pool));
    assert_false(tnri_is_pool(f->parent));
}

static void full_parent_gets_all_that_is_retained_and_is_asked_once_more(void **state)
{
    fixture *f = *state;
    f->counts.capacity = 4096;
    recycle(f->pool, 1024);
    recycle(f->pool, 512);
    recycle(f->pool, 256);
    const tnr_block large = take(f->pool, 4096);
    const tnr_pool_statistics s = figures(f->pool);
    assert_int_equal(s.evictions, 3);
    assert_int_equal(s.buffers, 0);
    assert_int_equal(s.misses, 4);
    assert_int_equal(f->counts.calls, 5);
    /* Nothing retained: asked once, refused. */
    tnr_block block = {NULL, 9, 9, 9};
    assert_int_equal(tnr_domain_allocate(f->pool, 64, 0, &block), TNR_ERR_MEMORY);
    assert_int_equal(block.bytes, 9);
    assert_int_equal(f->counts.calls, 6);
    assert_int_equal(figures(f->pool).misses, 4);
    tnr_domain_statistics d;
    assert_int_equal(tnr_domain_statistics_get(f->pool, &d), TNR_OK);
    assert_int_equal(d.failures, 1);
    give(f->pool, &large);
}

static void other_failures_of_the_parent_do_not_cost_what_is_retained(void **state)
{
    fixture *f = *state;
    recycle(f->pool, 1024);
    f->counts.fail_at = 2;
    f->counts.fail_with = TNR_ERR_BACKEND;
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(f->pool, 64, 0, &block), TNR_ERR_BACKEND);
    assert_int_equal(figures(f->pool).buffers, 1);
    assert_int_equal(f->counts.calls, 2);
}

static void statistics_of_the_domain_agree(void **state)
{
    fixture *f = *state;
    const tnr_block a = take(f->pool, 1000);
    const tnr_block b = take(f->pool, 3000);
    give(f->pool, &a);
    const tnr_block c = take(f->pool, 64);
    tnr_domain_statistics d;
    assert_int_equal(tnr_domain_statistics_get(f->pool, &d), TNR_OK);
    assert_int_equal(d.blocks, 2);
    assert_int_equal(d.bytes, 3072 + 64);
    assert_int_equal(d.peak_bytes, 1024 + 3072);
    assert_int_equal(d.allocations, 3);
    assert_int_equal(d.failures, 0);
    assert_int_equal(d.capacity, 0);
    assert_int_equal(figures(f->pool).high_water_bytes, 1024 + 3072 + 64);
    give(f->pool, &b);
    give(f->pool, &c);
}

static void look_at_pool(void *context)
{
    tnr_pool_statistics statistics;
    assert_int_equal(tnr_pool_statistics_get(context, &statistics), TNR_OK);
}

static void parent_is_called_outside_the_lock(void **state)
{
    fixture *f = *state;
    alarm(20); /* a call under the lock would wait for itself */
    tnr_domain *pool = make_pool(f->parent, 1024);
    f->counts.on_release = look_at_pool;
    f->counts.context = pool;
    recycle(pool, 1024);
    recycle(pool, 512);  /* evicts */
    recycle(pool, 2048); /* above the cap */
    assert_int_equal(tnr_pool_trim(pool, 0, NULL), TNR_OK);
    recycle(pool, 512);
    assert_int_equal(tnr_pool_set_max_bytes(pool, 0), TNR_OK);
    assert_int_equal(f->counts.releases, 4);
    f->counts.on_release = NULL;
    alarm(0);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
}

static void mapped_buffers_are_mapped_by_the_parent(void **state)
{
    fixture *f = *state;
    counted_parent counts = {0};
    tnr_domain *parent;
    assert_int_equal(counted_create(f->heap, &counts, TNR_ACCESS_MAPPED, &parent), TNR_OK);
    tnr_domain *pool = make_pool(parent, MIB);
    assert_int_equal(tnr_domain_access(pool), TNR_ACCESS_MAPPED);
    recycle(pool, 100);
    const tnr_block block = take(pool, 100);
    void *host = NULL;
    assert_int_equal(pool->kind->map(pool, &block, TNR_MAP_WRITE, &host), TNR_OK);
    memset(host, 1, 100);
    assert_int_equal(pool->kind->unmap(pool, &block, TNR_MAP_WRITE, host), TNR_OK);
    give(pool, &block);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(counts.faults, 0);
    assert_int_equal(counts.out, 0);
    assert_int_equal(tnr_domain_close(&parent), TNR_OK);
}

static void need_is_enough_for_so_many_buffers(void **state)
{
    (void)state;
    enum { BUFFERS = 50 };
    tnr_need need;
    tnr_need buffers;
    assert_int_equal(tnr_pool_need(BUFFERS, &need), TNR_OK);
    assert_int_equal(tnr_block_need(320, BUFFERS, &buffers), TNR_OK);
    assert_int_equal(tnr_need_add(&need, &buffers, 1), TNR_OK);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    uint64_t region_bytes;
    uint64_t control_bytes;
    assert_int_equal(tnr_arena_bytes(&need, &options, &region_bytes, &control_bytes, &options.max_blocks), TNR_OK);
    void *region = aligned_alloc(64, (size_t)(region_bytes + 63) / 64 * 64);
    assert_non_null(region);
    tnr_domain *arena;
    assert_int_equal(tnr_arena_create(region, region_bytes, &options, &arena), TNR_OK);
    tnr_domain *pool = make_pool(arena, MIB);
    tnr_block blocks[BUFFERS];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BUFFERS; i++) {
            blocks[i] = take(pool, 320);
            memset(blocks[i].address, round, 320);
        }
        tnr_block block;
        assert_int_equal(tnr_domain_allocate(pool, 320, 0, &block), TNR_ERR_MEMORY);
        for (int i = 0; i < BUFFERS; i++) {
            give(pool, &blocks[i]);
        }
    }
    assert_int_equal(tnr_arena_check(arena), TNR_OK);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(tnr_domain_close(&arena), TNR_OK);
    free(region);
}

/* ---- Closing ------------------------------------------------------------------------------------------------------------------ */

static void close_gives_all_back_and_waits_for_raw_blocks(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = make_pool(f->parent, MIB);
    recycle(pool, 1024);
    const tnr_block raw = take(pool, 64);
    assert_int_equal(tnr_domain_close(&pool), TNR_ERR_BUSY);
    assert_non_null(pool);
    assert_int_equal(figures(pool).buffers, 1);
    give(pool, &raw);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(f->counts.out, 0);
}

/* A tensor as storage makes it: a handle that uses the pool, and bytes of the pool. */
typedef struct stand_in {
    tnri_handle *handle;
    tnr_block block;
} stand_in;

static stand_in tensor_take(tnr_domain *pool, uint64_t bytes)
{
    stand_in made;
    assert_int_equal(tnri_handle_take(pool, TNR_ALLOCATION_CREATE, bytes, &made.handle), TNR_OK);
    assert_int_equal(tnri_block_take(pool, bytes, &made.block), TNR_OK);
    tnri_handle_publish(made.handle, TNRI_HANDLE_TENSOR);
    return made;
}

static void tensor_give(tnr_domain *pool, stand_in *made)
{
    tnri_block_give(pool, &made->block);
    tnri_handle_give(pool, made->handle, true);
}

/* PA-09, the pool's part: torn down while tensors are out; many rounds leave nothing behind. */
static void pa_09_tensors_outlive_their_pool(void **state)
{
    fixture *f = *state;
    for (int round = 0; round < 100; round++) {
        tnr_domain *pool = make_pool(f->parent, MIB);
        tnr_domain *same = pool;
        recycle(pool, 2048);
        stand_in a = tensor_take(pool, 4 * sizeof(double));
        stand_in b = tensor_take(pool, 100);
        memcpy(a.block.address, (const double[]){1, 3, 2, 4}, 4 * sizeof(double));
        assert_int_equal(figures(pool).in_flight, 2);
        assert_int_equal(tnr_domain_close(&pool), TNR_OK);
        assert_null(pool);
        assert_int_equal(f->counts.out, 2); /* what was retained is gone already */
        assert_memory_equal(a.block.address, ((const double[]){1, 3, 2, 4}), 4 * sizeof(double));
        tnr_domain *parent = f->parent;
        assert_int_equal(tnr_domain_close(&parent), TNR_ERR_BUSY);
        tensor_give(same, &b);
        assert_int_equal(f->counts.out, 1); /* straight to the parent */
        tensor_give(same, &a);
        assert_int_equal(f->counts.out, 0);
    }
    tnr_domain *fresh = make_pool(f->parent, MIB);
    assert_int_equal(figures(fresh).buffers, 0);
    assert_int_equal(tnr_domain_close(&fresh), TNR_OK);
    /* The heap, home of all of it, holds what it held after the first round: a chunk of handles and two records. */
    tnr_domain_statistics d;
    assert_int_equal(tnr_domain_statistics_get(f->heap, &d), TNR_OK);
    assert_true(d.blocks <= 4);
}

static void pool_over_a_pool(void **state)
{
    fixture *f = *state;
    tnr_domain *inner = make_pool(f->pool, 1024);
    const tnr_block block = take(inner, 1000);
    assert_int_equal(figures(f->pool).in_flight, 1);
    give(inner, &block);
    recycle(inner, 512); /* evicts the first, which the outer pool keeps */
    assert_int_equal(figures(f->pool).buffers, 1);
    assert_int_equal(figures(f->pool).capacity_bytes, 1024);
    assert_int_equal(tnr_domain_close(&inner), TNR_OK);
    assert_int_equal(figures(f->pool).in_flight, 0);
    assert_int_equal(figures(f->pool).buffers, 2);
}

/* ---- Leaving and entering --------------------------------------------------------------------------------------------------- */

static void detached_buffer_is_the_parents_block_and_can_come_back(void **state)
{
    fixture *f = *state;
    stand_in made = tensor_take(f->pool, 1000);
    tnr_block parent_block;
    tnri_pool_parent_block(f->pool, &made.block, &parent_block);
    assert_ptr_equal(parent_block.address, made.block.address);
    tnri_pool_detach(f->pool, &made.block);
    assert_int_equal(figures(f->pool).in_flight, 0);
    assert_int_equal(figures(f->pool).buffers, 0);
    assert_int_equal(f->counts.out, 1);
    assert_int_equal(tnr_domain_release(f->pool, &made.block), TNR_ERR_STALE);
    assert_true(tnri_pool_accept(f->pool, &parent_block));
    assert_int_equal(figures(f->pool).buffers, 1);
    assert_int_equal(figures(f->pool).capacity_bytes, 1024);
    const tnr_block again = take(f->pool, 1024);
    assert_ptr_equal(again.address, made.block.address);
    give(f->pool, &again);
    tnri_handle_give(f->pool, made.handle, true);
}

static void accept_obeys_the_cap(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = make_pool(f->parent, 2048);
    recycle(pool, 2048);
    tnr_block block;
    assert_int_equal(tnri_block_take(f->parent, 4096, &block), TNR_OK);
    assert_false(tnri_pool_accept(pool, &block));
    assert_int_equal(figures(pool).evictions, 0);
    tnri_block_give(f->parent, &block);
    /* Between two classes: counted and used as the smaller. */
    assert_int_equal(tnri_block_take(f->parent, 2500, &block), TNR_OK);
    assert_true(tnri_pool_accept(pool, &block));
    assert_int_equal(figures(pool).evictions, 1);
    assert_int_equal(figures(pool).capacity_bytes, 2048);
    const tnr_block used = take(pool, 2000);
    assert_ptr_equal(used.address, block.address);
    assert_int_equal(used.bytes, 2048);
    give(pool, &used);
    assert_int_equal(tnri_block_take(f->parent, 512, &block), TNR_OK);
    assert_true(tnri_pool_accept(pool, &block));
    assert_int_equal(figures(pool).evictions, 2);
    assert_int_equal(figures(pool).capacity_bytes, 512);
    assert_int_equal(tnri_block_take(f->parent, 63, &block), TNR_OK);
    assert_false(tnri_pool_accept(pool, &block));
    tnri_block_give(f->parent, &block);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
}

int main(void)
{
#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(class_is_the_smallest_of_four_per_power_of_two),
        cmocka_unit_test(class_excess_is_at_most_a_quarter_and_none_at_powers_of_two),
        cmocka_unit_test(class_ends),
        POOL_TEST(released_buffer_serves_the_next_request_of_its_class),
        POOL_TEST(newest_of_a_class_goes_first),
        POOL_TEST(larger_class_never_serves),
        POOL_TEST(zero_bytes_never_take_a_buffer),
        POOL_TEST(large_alignment_goes_to_the_parent_and_back),
        POOL_TEST(small_alignment_is_pooled),
        POOL_TEST(near_2_to_64_is_overflow_and_changes_nothing),
        POOL_TEST(pa_01_eviction_ends_and_the_cap_is_on_the_sum),
        POOL_TEST(pa_02_fixed_working_set_stays_as_it_is),
        POOL_TEST(buffer_above_the_cap_is_freed_at_once_and_evicts_nothing),
        POOL_TEST(least_recently_released_goes_first),
        POOL_TEST(cap_of_zero_retains_nothing),
        POOL_TEST(cap_counts_to_the_byte),
        POOL_TEST(lowering_the_cap_evicts_at_once),
        POOL_TEST(trim_gives_up_the_oldest_down_to_what_is_kept),
        POOL_TEST(pa_07_double_release_growth_and_idle_trim),
        POOL_TEST(block_of_another_pool_is_foreign),
        POOL_TEST(made_up_blocks_are_foreign),
        POOL_TEST(null_and_wrong_arguments),
        POOL_TEST(placement_and_access_are_the_parents),
        POOL_TEST(full_parent_gets_all_that_is_retained_and_is_asked_once_more),
        POOL_TEST(other_failures_of_the_parent_do_not_cost_what_is_retained),
        POOL_TEST(statistics_of_the_domain_agree),
        POOL_TEST(parent_is_called_outside_the_lock),
        POOL_TEST(mapped_buffers_are_mapped_by_the_parent),
        cmocka_unit_test(need_is_enough_for_so_many_buffers),
        POOL_TEST(close_gives_all_back_and_waits_for_raw_blocks),
        POOL_TEST(pa_09_tensors_outlive_their_pool),
        POOL_TEST(pool_over_a_pool),
        POOL_TEST(detached_buffer_is_the_parents_block_and_can_come_back),
        POOL_TEST(accept_obeys_the_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
