/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool between its parent, its home and its users: failure, closing, leaving, entering; PA-09. */
#define _POSIX_C_SOURCE 200809L /* alarm */

#include <string.h>
#include <unistd.h>

#include "arena/arena.h"
#include "support/pool_fixture.h"

/* ---- Parent and home --------------------------------------------------------------------------------------------- */

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

static void full_parent_is_asked_again_for_each_buffer_it_gets(void **state)
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
    assert_int_equal(f->counts.calls, 7);
    /* Nothing retained: asked once, refused. */
    tnr_block block = {NULL, 9, 9, 9};
    assert_int_equal(tnr_domain_allocate(f->pool, 64, 0, &block), TNR_ERR_MEMORY);
    assert_int_equal(block.bytes, 9);
    assert_int_equal(f->counts.calls, 8);
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

/* An arena for a pool, so many buffers of 320 bytes, less a few bytes. */
static tnr_domain *arena_for(uint64_t buffers, uint64_t less, void **region)
{
    tnr_need need;
    tnr_need bytes;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    uint64_t region_bytes;
    uint64_t control_bytes;
    tnr_domain *arena = NULL;
    assert_int_equal(tnr_pool_need(buffers, &need), TNR_OK);
    assert_int_equal(tnr_block_need(320, buffers, &bytes), TNR_OK);
    assert_int_equal(tnr_need_add(&need, &bytes, 1), TNR_OK);
    assert_int_equal(tnr_arena_bytes(&need, &options, &region_bytes, &control_bytes, &options.max_blocks), TNR_OK);
    *region = aligned_alloc(64, (size_t)(region_bytes + 63) / 64 * 64);
    assert_non_null(*region);
    assert_int_equal(tnr_arena_create(*region, region_bytes - less, &options, &arena), TNR_OK);
    return arena;
}

static void reserved_records_are_all_that_a_pool_takes_beside_buffers(void **state)
{
    (void)state;
    enum { BUFFERS = 50 };
    for (uint64_t less = 0; less < 2; less++) {
        void *region;
        tnr_domain *arena = arena_for(BUFFERS, less, &region);
        tnr_domain *pool = make_pool(arena, MIB);
        tnr_domain_statistics before;
        tnr_domain_statistics after;
        assert_int_equal(tnr_pool_reserve(pool, 0), TNR_OK);
        assert_int_equal(tnr_pool_reserve(pool, BUFFERS), TNR_OK);
        assert_int_equal(tnr_domain_statistics_get(arena, &before), TNR_OK);
        assert_int_equal(tnr_pool_reserve(pool, BUFFERS), TNR_OK); /* there already */
        assert_int_equal(tnr_arena_seal(arena), TNR_OK);
        tnr_block blocks[BUFFERS];
        const int room = BUFFERS - (int)less;
        for (int i = 0; i < room; i++) {
            blocks[i] = take(pool, 320);
        }
        tnr_block block;
        assert_int_equal(tnr_domain_allocate(pool, 320, 0, &block), TNR_ERR_MEMORY);
        assert_int_equal(tnr_domain_statistics_get(arena, &after), TNR_OK);
        assert_int_equal(after.blocks, before.blocks + (uint64_t)room); /* buffers, nothing else */
        for (int i = 0; i < room; i++) {
            give(pool, &blocks[i]);
        }
        assert_int_equal(tnr_domain_close(&pool), TNR_OK);
        assert_int_equal(tnr_domain_statistics_get(arena, &after), TNR_OK);
        assert_int_equal(after.blocks, 0);
        assert_int_equal(tnr_domain_close(&arena), TNR_OK);
        free(region);
    }
}

static void records_without_room_are_refused_and_what_there_is_stays(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = arena_for(16, 0, &region);
    tnr_domain *pool = make_pool(arena, MIB);
    assert_int_equal(tnr_pool_reserve(pool, 100000), TNR_ERR_MEMORY);
    assert_int_equal(strncmp(tnr_last_error(), "pool_reserve: ", 14), 0);
    assert_int_equal(tnr_pool_reserve(pool, UINT64_MAX), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_pool_reserve(arena, 1), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_pool_reserve(NULL, 1), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(tnr_domain_close(&arena), TNR_OK);
    free(region);
}

static void full_arena_gets_no_more_than_it_takes(void **state)
{
    (void)state;
    enum { BUFFERS = 12 };
    void *region;
    tnr_domain *arena = arena_for(BUFFERS, 0, &region);
    tnr_domain *pool = make_pool(arena, MIB);
    assert_int_equal(tnr_pool_reserve(pool, BUFFERS), TNR_OK);
    tnr_block blocks[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) {
        blocks[i] = take(pool, 320);
    }
    for (int i = 0; i < BUFFERS; i++) { /* neighbours, the oldest first */
        give(pool, &blocks[i]);
    }
    assert_int_equal(figures(pool).buffers, BUFFERS);
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(pool, BUFFERS * 320 + 64, 0, &block), TNR_ERR_MEMORY); /* never */
    assert_int_equal(figures(pool).buffers, BUFFERS);
    assert_int_equal(figures(pool).evictions, 0);
    block = take(pool, 640);
    assert_int_equal(figures(pool).evictions, 2);
    assert_int_equal(figures(pool).buffers, BUFFERS - 2);
    give(pool, &block);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(tnr_domain_close(&arena), TNR_OK);
    free(region);
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

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

/* ---- Leaving and entering ---------------------------------------------------------------------------------------- */

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
    const struct CMUnitTest tests[] = {
        POOL_TEST(placement_and_access_are_the_parents),
        POOL_TEST(full_parent_is_asked_again_for_each_buffer_it_gets),
        POOL_TEST(other_failures_of_the_parent_do_not_cost_what_is_retained),
        POOL_TEST(statistics_of_the_domain_agree),
        POOL_TEST(parent_is_called_outside_the_lock),
        POOL_TEST(mapped_buffers_are_mapped_by_the_parent),
        cmocka_unit_test(need_is_enough_for_so_many_buffers),
        cmocka_unit_test(reserved_records_are_all_that_a_pool_takes_beside_buffers),
        cmocka_unit_test(records_without_room_are_refused_and_what_there_is_stays),
        cmocka_unit_test(full_arena_gets_no_more_than_it_takes),
        POOL_TEST(close_gives_all_back_and_waits_for_raw_blocks),
        POOL_TEST(pa_09_tensors_outlive_their_pool),
        POOL_TEST(pool_over_a_pool),
        POOL_TEST(detached_buffer_is_the_parents_block_and_can_come_back),
        POOL_TEST(accept_obeys_the_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
