/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pool keeps, hands out, gives up and refuses, sentence by sentence of domain.h; PA-01, PA-02 and PA-07. */
#include <string.h>

#include "arena/arena.h"
#include "support/pool_fixture.h"

/* ---- Size classes ------------------------------------------------------------------------------------------------ */

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

/* ---- Recycling --------------------------------------------------------------------------------------------------- */

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

/* ---- The cap ----------------------------------------------------------------------------------------------------- */

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

/* ---- Trim -------------------------------------------------------------------------------------------------------- */

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
    assert_int_equal(tnr_domain_release(f->pool, &p),
                     TNR_ERR_STALE); /* its buffer is out again, under another number */
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

/* ---- What is refused --------------------------------------------------------------------------------------------- */

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
    const uint64_t tags[] = {0,
                             1,
                             8,
                             good.tag + 1,
                             good.tag + 8,
                             good.tag - 64 * 1024,
                             UINT64_MAX,
                             good.tag + 64,
                             good.tag + 128,
                             ~good.tag,
                             good.tag << 32,
                             good.tag + 64 * 4096};
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

static void bytes_of_a_tensor_are_not_the_programs_to_release(void **state)
{
    fixture *f = *state;
    tnr_block block;
    assert_int_equal(tnri_block_take(f->pool, 512, &block), TNR_OK);
    assert_int_equal(tnr_domain_release(f->pool, &block), TNR_ERR_FOREIGN);
    assert_int_equal(figures(f->pool).in_flight, 1);
    /* Lent, they are; and then no longer the tensor's. */
    tnr_block lent;
    assert_int_equal(tnri_block_lend(f->pool, &block, &lent), TNR_OK);
    assert_int_equal(f->pool->kind->program_blocks(f->pool), 1);
    assert_int_equal(tnri_block_lend(f->pool, &block, &lent), TNR_ERR_FOREIGN);
    tnr_block back;
    assert_int_equal(tnri_block_retake(f->pool, &lent, &back), TNR_OK);
    assert_int_equal(f->pool->kind->program_blocks(f->pool), 0);
    tnri_block_give(f->pool, &back);
    assert_int_equal(figures(f->pool).in_flight, 0);
    assert_int_equal(tnri_block_retake(f->pool, &lent, &back), TNR_ERR_STALE);
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

int main(void)
{
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
        POOL_TEST(bytes_of_a_tensor_are_not_the_programs_to_release),
        POOL_TEST(null_and_wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
