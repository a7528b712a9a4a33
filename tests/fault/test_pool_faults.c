/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool whose parent or home fails at the n-th request, for every n: what failed has changed nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/counted_parent.h"

enum { BLOCKS = 60 };

static uint64_t size_of(int i) { return 64 + (uint64_t)(i * 37 % 11) * 100; }

static tnr_pool_statistics figures(tnr_domain *pool)
{
    tnr_pool_statistics statistics;
    assert_int_equal(tnr_pool_statistics_get(pool, &statistics), TNR_OK);
    return statistics;
}

static void assert_same_figures(const tnr_pool_statistics *a, const tnr_pool_statistics *b)
{
    assert_memory_equal(a, b, sizeof(*a));
}

static tnr_domain *make_pool(tnr_domain *parent)
{
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = 1 << 20;
    tnr_domain *pool = NULL;
    assert_int_equal(tnr_pool_create(parent, &options, &pool), TNR_OK);
    return pool;
}

static void parent_fails_at_every_request_in_turn(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= BLOCKS; n++) {
        tnr_domain *heap;
        tnr_domain *parent;
        counted_parent counts = {.fail_at = n};
        assert_int_equal(tnr_heap_create(&heap), TNR_OK);
        assert_int_equal(counted_create(heap, &counts, TNR_ACCESS_DIRECT, &parent), TNR_OK);
        tnr_domain *pool = make_pool(parent);
        tnr_block blocks[BLOCKS];
        int failures = 0;
        for (int i = 0; i < BLOCKS; i++) {
            const tnr_pool_statistics before = figures(pool);
            const uint64_t out = counts.out;
            memset(&blocks[i], 0x11, sizeof(blocks[i]));
            const tnr_block untouched = blocks[i];
            const tnr_status status = tnr_domain_allocate(pool, size_of(i), 0, &blocks[i]);
            if (counts.calls == n && failures == 0) {
                assert_int_equal(status, TNR_ERR_MEMORY);
                assert_memory_equal(&blocks[i], &untouched, sizeof(untouched));
                const tnr_pool_statistics after = figures(pool);
                assert_same_figures(&before, &after);
                assert_int_equal(counts.out, out);
                failures++;
                /* And the next try works. */
                assert_int_equal(tnr_domain_allocate(pool, size_of(i), 0, &blocks[i]), TNR_OK);
            } else {
                assert_int_equal(status, TNR_OK);
            }
        }
        assert_int_equal(failures, 1);
        for (int i = 0; i < BLOCKS; i++) {
            assert_int_equal(tnr_domain_release(pool, &blocks[i]), TNR_OK);
        }
        assert_int_equal(tnr_domain_close(&pool), TNR_OK);
        assert_int_equal(counts.out, 0);
        assert_int_equal(counts.faults, 0);
        assert_int_equal(tnr_domain_close(&parent), TNR_OK);
        assert_int_equal(tnr_domain_close(&heap), TNR_OK);
    }
}

/* Failures use nothing up: a thousand of them leave the home as the first one left it. */
static void failures_do_not_grow_the_home(void **state)
{
    (void)state;
    tnr_domain *heap;
    tnr_domain *parent;
    counted_parent counts = {.capacity = 1};
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    assert_int_equal(counted_create(heap, &counts, TNR_ACCESS_DIRECT, &parent), TNR_OK);
    tnr_domain *pool = make_pool(parent);
    tnr_domain_statistics before = {0};
    tnr_domain_statistics after;
    tnr_block block;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(tnr_domain_allocate(pool, 64, i % 2 == 0 ? 64 : 4096, &block), TNR_ERR_MEMORY);
        if (i == 0) {
            assert_int_equal(tnr_domain_statistics_get(heap, &before), TNR_OK);
        }
    }
    assert_int_equal(tnr_domain_statistics_get(heap, &after), TNR_OK);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(tnr_domain_statistics_get(pool, &after), TNR_OK);
    assert_int_equal(after.failures, 1000);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(tnr_domain_close(&parent), TNR_OK);
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
}

/* With something retained, one failure costs the oldest of it and nothing else: the second question succeeds. */
static void one_failure_is_absorbed_by_what_is_retained(void **state)
{
    (void)state;
    tnr_domain *heap;
    tnr_domain *parent;
    counted_parent counts = {.fail_at = 4};
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    assert_int_equal(counted_create(heap, &counts, TNR_ACCESS_DIRECT, &parent), TNR_OK);
    tnr_domain *pool = make_pool(parent);
    tnr_block blocks[4];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tnr_domain_allocate(pool, 64U << i, 0, &blocks[i]), TNR_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tnr_domain_release(pool, &blocks[i]), TNR_OK);
    }
    assert_int_equal(tnr_domain_allocate(pool, 4096, 0, &blocks[3]), TNR_OK);
    const tnr_pool_statistics s = figures(pool);
    assert_int_equal(s.misses, 4);
    assert_int_equal(s.evictions, 1);
    assert_int_equal(s.buffers, 1);
    assert_int_equal(s.in_flight, 2);
    assert_int_equal(counts.calls, 5);
    assert_int_equal(tnr_domain_release(pool, &blocks[2]), TNR_OK);
    assert_int_equal(tnr_domain_release(pool, &blocks[3]), TNR_OK);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(tnr_domain_close(&parent), TNR_OK);
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
}

/* The home is an arena that has no room for the pool, or for one more chunk of its entries. */
static void home_is_full_at_every_size(void **state)
{
    (void)state;
    int refused_pools = 0;
    int refused_blocks = 0;
    for (uint64_t bytes = 16384; bytes <= 65536; bytes += 1024) {
        void *region = aligned_alloc(64, bytes);
        assert_non_null(region);
        tnr_arena_options arena_options = TNR_ARENA_OPTIONS;
        tnr_domain *arena;
        tnr_domain *parent;
        counted_parent counts = {0};
        assert_int_equal(tnr_arena_create(region, bytes, &arena_options, &arena), TNR_OK);
        assert_int_equal(counted_create(arena, &counts, TNR_ACCESS_DIRECT, &parent), TNR_OK);
        tnr_pool_options options = TNR_POOL_OPTIONS;
        options.max_bytes = 1 << 20;
        tnr_domain *pool = NULL;
        tnr_domain_statistics before;
        tnr_domain_statistics after;
        assert_int_equal(tnr_domain_statistics_get(arena, &before), TNR_OK);
        const tnr_status status = tnr_pool_create(parent, &options, &pool);
        if (status != TNR_OK) {
            assert_int_equal(status, TNR_ERR_MEMORY);
            assert_null(pool);
            assert_int_equal(tnr_domain_statistics_get(arena, &after), TNR_OK);
            assert_int_equal(after.bytes, before.bytes);
            refused_pools++;
        } else {
            static tnr_block blocks[2000];
            int taken = 0;
            while (taken < 2000 && tnr_domain_allocate(pool, 64, 0, &blocks[taken]) == TNR_OK) {
                taken++;
            }
            assert_true(taken < 2000);
            refused_blocks++;
            assert_int_equal(figures(pool).in_flight, taken);
            assert_int_equal(figures(pool).misses, taken);
            assert_int_equal(counts.out, taken); /* nothing was taken from the parent that has no entry */
            if (taken > 0) {
                /* A retained buffer of another class makes room: its entry serves again. */
                assert_int_equal(tnr_domain_release(pool, &blocks[0]), TNR_OK);
                assert_int_equal(tnr_domain_allocate(pool, 128, 0, &blocks[0]), TNR_OK);
                assert_int_equal(figures(pool).evictions, 1);
            }
            for (int i = 0; i < taken; i++) {
                assert_int_equal(tnr_domain_release(pool, &blocks[i]), TNR_OK);
            }
            assert_int_equal(tnr_domain_close(&pool), TNR_OK);
        }
        assert_int_equal(tnr_arena_check(arena), TNR_OK);
        assert_int_equal(tnr_domain_close(&parent), TNR_OK);
        assert_int_equal(tnr_domain_close(&arena), TNR_OK);
        assert_int_equal(counts.out, 0);
        free(region);
    }
    assert_true(refused_blocks > 10);
    (void)refused_pools;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parent_fails_at_every_request_in_turn),
        cmocka_unit_test(failures_do_not_grow_the_home),
        cmocka_unit_test(one_failure_is_absorbed_by_what_is_retained),
        cmocka_unit_test(home_is_full_at_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
