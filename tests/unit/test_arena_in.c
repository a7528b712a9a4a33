/* SPDX-License-Identifier: BSD-3-Clause */
/* Arenas whose region is a block of another domain: the parent's placement, all of its block, and the way back. */
#include "support/counted_parent.h"
#include "support/storage_test.h"

typedef struct fixture {
    tnr_domain *heap;
    counted_parent counts;
    tnr_domain *parent; /* a program's domain with affinity 3 */
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->heap = make_heap();
    OK(counted_create(f->heap, &f->counts, TNR_ACCESS_DIRECT, &f->parent));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    assert_int_equal(f->counts.out, 0);
    assert_int_equal(f->counts.faults, 0);
    OK(tnr_domain_close(&f->parent));
    OK(tnr_domain_close(&f->heap));
    free(f);
    return 0;
}

static tnr_domain_statistics figures_of(tnr_domain *domain)
{
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(domain, &statistics));
    return statistics;
}

static void test_region_is_one_block_of_the_parent(void **state)
{
    fixture *f = *state;
    tnr_domain *arena = NULL;
    OK(tnr_arena_create_in(f->parent, 100000, NULL, &arena));
    assert_int_equal(f->counts.out, 1);
    assert_int_equal(f->counts.out_bytes, 100000);
    assert_string_equal(tnr_domain_name(arena), "arena");
    const tnr_placement placement = tnr_domain_placement(arena);
    assert_int_equal(placement.cpu_affinity, 3);
    assert_int_equal(placement.kind, TNR_MEMORY_HOST);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&f->parent));

    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_zeros(arena, TNR_F64, 1, SHAPE(100), &tensor));
    tnr_tensor_info info;
    OK(tnr_tensor_describe(tensor, &info));
    assert_int_equal(info.placement.cpu_affinity, 3);
    assert_int_equal(f->counts.calls, 1); /* handles and all lie in the region */
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&arena));
    OK(tnr_tensor_release(&tensor));
    OK(tnr_arena_check(arena));
    OK(tnr_domain_close(&arena));
    assert_null(arena);
    assert_int_equal(f->counts.out, 0);
    tnr_ledger ledger;
    tnr_ledger_entry allocations;
    OK(tnr_ledger_get(f->parent, &ledger));
    tnr_ledger_total(&ledger, &allocations, NULL);
    assert_int_equal(allocations.count, 0); /* it is nobody's tensor */
}

static void test_as_large_as_one_in_a_region_of_the_programs(void **state)
{
    fixture *f = *state;
    for (uint64_t bytes = 65536; bytes <= 1 << 20; bytes *= 4) {
        void *region = aligned_alloc(64, (size_t)bytes);
        assert_non_null(region);
        tnr_domain *plain = NULL;
        tnr_domain *inside = NULL;
        OK(tnr_arena_create(region, bytes, NULL, &plain));
        OK(tnr_arena_create_in(f->parent, bytes, NULL, &inside));
        assert_int_equal(figures_of(inside).capacity, figures_of(plain).capacity);
        assert_int_equal(tnr_domain_placement(plain).cpu_affinity, TNR_NONE);
        OK(tnr_domain_close(&plain));
        OK(tnr_domain_close(&inside));
        free(region);
    }
}

static void test_over_every_kind_of_domain(void **state)
{
    fixture *f = *state;
    tnr_domain *outer = NULL;
    tnr_domain *pool = NULL;
    OK(tnr_arena_create_in(f->heap, 1 << 20, NULL, &outer));
    OK(tnr_pool_create(outer, NULL, &pool));
    tnr_domain *const parents[] = {f->heap, outer, pool, f->parent};
    for (int i = 0; i < 4; i++) {
        const tnr_domain_statistics before = figures_of(parents[i]);
        tnr_domain *arena = NULL;
        OK(tnr_arena_create_in(parents[i], 70000, NULL, &arena));
        const tnr_domain_statistics during = figures_of(parents[i]);
        assert_int_equal(during.blocks, before.blocks + 1);
        /* All of the block: a pool's class of 70000 bytes is 81920. */
        assert_true(figures_of(arena).capacity > during.bytes - before.bytes - 8192);
        tnr_block block;
        OK(tnr_domain_allocate(arena, 50000, 0, &block));
        memset(block.address, 1, 50000);
        OK(tnr_arena_reset(arena));
        EXPECT(TNR_ERR_STALE, tnr_domain_release(arena, &block));
        OK(tnr_arena_check(arena));
        OK(tnr_domain_close(&arena));
        assert_int_equal(figures_of(parents[i]).blocks, before.blocks);
    }
    OK(tnr_domain_close(&pool));
    OK(tnr_arena_check(outer));
    OK(tnr_domain_close(&outer));
}

/* An arena is a domain that lives there: not forgotten by reset, and what lives in it is none of the outer one's. */
static void test_arena_in_an_arena(void **state)
{
    fixture *f = *state;
    tnr_domain *outer = NULL;
    tnr_domain *inner = NULL;
    tnr_domain *innermost = NULL;
    OK(tnr_arena_create_in(f->parent, 1 << 20, NULL, &outer));
    OK(tnr_arena_create_in(outer, 1 << 18, NULL, &inner));
    OK(tnr_arena_create_in(inner, 1 << 16, NULL, &innermost));
    assert_int_equal(tnr_domain_placement(innermost).cpu_affinity, 3);
    EXPECT(TNR_ERR_BUSY, tnr_arena_reset(outer));
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&outer));
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&inner));
    OK(tnr_domain_close(&innermost));
    OK(tnr_domain_close(&inner));
    assert_int_equal(figures_of(outer).blocks, 0);
    OK(tnr_arena_reset(outer));
    OK(tnr_domain_close(&outer));
    assert_int_equal(f->counts.out, 0);
}

static void test_page_and_control_as_for_any_arena(void **state)
{
    fixture *f = *state;
    static _Alignas(64) unsigned char control[65536];
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.page = 4096;
    options.control = control;
    options.control_bytes = sizeof(control);
    tnr_domain *arena = NULL;
    OK(tnr_arena_create_in(f->parent, 65536, &options, &arena));
    assert_int_equal(f->counts.last_alignment, 4096);
    assert_int_equal(figures_of(arena).capacity, 65536); /* nothing lost: it starts on a page */
    tnr_block block;
    OK(tnr_domain_allocate(arena, 1, 0, &block));
    assert_int_equal((uintptr_t)block.address % 4096, 0);
    OK(tnr_domain_release(arena, &block));
    OK(tnr_domain_close(&arena));
    assert_int_equal(f->counts.out, 0);
}

/* What a program's own region may not claim, nobody may claim over a parent's either. */
static void test_refusals_change_nothing(void **state)
{
    fixture *f = *state;
    tnr_domain *arena = untouched();
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create_in(NULL, 65536, NULL, &arena));
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create_in(f->parent, 0, NULL, &arena));
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create_in(f->parent, 65536, NULL, NULL));
    options.placement.cpu_affinity = 3;
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create_in(f->parent, 65536, &options, &arena));
    TEXT_HAS("placement is the parent's");
    static unsigned char region[65536];
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create(region, sizeof(region), &options, &arena));
    TEXT_HAS("that the library bound");
    options.placement.cpu_affinity = TNR_NONE;
    options.placement.kind = TNR_MEMORY_PINNED;
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create_in(f->parent, 65536, &options, &arena));
    options.placement.kind = TNR_MEMORY_HOST;
    options.placement.device = 0;
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create_in(f->parent, 65536, &options, &arena));
    options.placement.device = TNR_NONE;
    options.page = 3;
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create_in(f->parent, 65536, &options, &arena));
    assert_int_equal(f->counts.calls, 0);

    /* Refused once the block is there: it goes back. */
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_create_in(f->parent, 64, NULL, &arena));
    options.page = 0;
    options.handles = 1000;
    EXPECT(TNR_ERR_MEMORY, tnr_arena_create_in(f->parent, 65536, &options, &arena));
    assert_int_equal(f->counts.calls, 2);
    assert_int_equal(f->counts.out, 0);
    f->counts.fail_at = 3;
    EXPECT(TNR_ERR_MEMORY, tnr_arena_create_in(f->parent, 65536, NULL, &arena));
    TEXT_HAS("told to fail");
    f->counts.fail_at = 4;
    f->counts.fail_with = TNR_ERR_BACKEND;
    EXPECT(TNR_ERR_BACKEND, tnr_arena_create_in(f->parent, 65536, NULL, &arena));
    assert_ptr_equal(arena, untouched());
    assert_int_equal(figures_of(f->parent).blocks, 0);
}

static void test_parents_that_the_host_does_not_reach(void **state)
{
    fixture *f = *state;
    tnr_domain *arena = untouched();
    counted_parent counts = {0};
    tnr_domain *mapped = NULL;
    OK(counted_create(f->heap, &counts, TNR_ACCESS_MAPPED, &mapped));
    EXPECT(TNR_ERR_RESIDENCY, tnr_arena_create_in(mapped, 65536, NULL, &arena));
    assert_ptr_equal(arena, untouched());
    assert_int_equal(counts.calls, 0);
    OK(tnr_domain_close(&mapped));
}

/* A pool may be closed while an arena lives in it, as while tensors do: the region stays until the arena goes. */
static void test_closed_pool_stays_for_its_arena(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = NULL;
    tnr_domain *arena = NULL;
    OK(tnr_pool_create(f->parent, NULL, &pool));
    OK(tnr_arena_create_in(pool, 65536, NULL, &arena));
    OK(tnr_domain_close(&pool));
    assert_int_equal(f->counts.out, 1);
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_zeros(arena, TNR_F64, 1, SHAPE(100), &tensor));
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&f->parent));
    OK(tnr_tensor_release(&tensor));
    OK(tnr_domain_close(&arena));
    assert_int_equal(f->counts.out, 0);
}

#define IN_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TEST(test_region_is_one_block_of_the_parent),
        IN_TEST(test_as_large_as_one_in_a_region_of_the_programs),
        IN_TEST(test_over_every_kind_of_domain),
        IN_TEST(test_arena_in_an_arena),
        IN_TEST(test_page_and_control_as_for_any_arena),
        IN_TEST(test_refusals_change_nothing),
        IN_TEST(test_parents_that_the_host_does_not_reach),
        IN_TEST(test_closed_pool_stays_for_its_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
