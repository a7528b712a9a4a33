/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lives over a numa domain: tensors, pools and arenas have its placement, outlive its closing, and come and go on many
 * threads.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <pthread.h>

#include "support/numa_fixture.h"

/* ---- Tensors ---------------------------------------------------------------------------------------------------------------- */

static tnr_tensor *make_zeros(tnr_domain *domain, int64_t count)
{
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(count), &tensor));
    return tensor;
}

static void check_placed(const tnr_tensor *tensor, tnr_domain *domain, int node)
{
    tnr_tensor_info info;
    OK(tnr_tensor_describe(tensor, &info));
    assert_int_equal(info.placement.cpu_affinity, node);
    assert_int_equal(info.placement.kind, TNR_MEMORY_HOST);
    assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(domain)));
    const void *data = NULL;
    OK(tnr_tensor_host_data(tensor, &data));
    if (node != TNR_NONE && can_see_pages()) {
        const tnr_residence residence = residence_of(data, 8, node);
        assert_int_equal(residence.at_node, residence.pages);
    }
}

static void test_tensors_have_the_node(void **state)
{
    fixture *f = *state;
    tnr_ledger ledger;
    tnr_tensor *tensor = make_zeros(f->domain, 1000);
    check_placed(tensor, f->domain, f->bound);
    OK(tnr_ledger_get(f->domain, &ledger));
    assert_int_equal(ledger.allocations[TNR_ALLOCATION_CREATE].count, 1);
    assert_int_equal(ledger.allocations[TNR_ALLOCATION_CREATE].bytes, 8000);
    OK(tnr_tensor_release(&tensor));
    OK(tnr_ledger_get(f->domain, &ledger));
    assert_int_equal(ledger.releases, 1);
    assert_int_equal(blocks_out(f->domain), 0);
}

static void test_export_and_import(void **state)
{
    fixture *f = *state;
    tnr_tensor *tensor = make_zeros(f->domain, 1000);
    const void *data = NULL;
    OK(tnr_tensor_host_data(tensor, &data));
    tnr_exported exported;
    OK(tnr_tensor_export(&tensor, &exported));
    assert_ptr_equal(exported.data, data);
    assert_ptr_equal(exported.domain, f->domain);
    void *forgotten = NULL;
    EXPECT(TNR_ERR_FOREIGN, tnr_exported_forget(&exported, &forgotten)); /* no free() could take it */
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&f->domain));                  /* a raw block of the program's */
    TEXT_HAS("1 raw blocks");
    OK(tnr_tensor_import(f->heap, &exported, &tensor));
    check_placed(tensor, f->domain, f->bound);
    OK(tnr_tensor_export(&tensor, &exported));
    OK(tnr_exported_free(&exported));
    assert_int_equal(blocks_out(f->domain), 0);
    assert_false(is_mapped(data, f->page));
}

static void test_pools_have_the_node_and_cache_its_pages(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(f->domain, NULL, &pool));
    assert_int_equal(tnr_domain_placement(pool).cpu_affinity, f->bound);
    for (int i = 0; i < 10; i++) {
        tnr_tensor *tensor = make_zeros(pool, 1000);
        check_placed(tensor, pool, f->bound);
        OK(tnr_tensor_release(&tensor));
    }
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(f->domain, &statistics));
    assert_int_equal(statistics.allocations, 1);
    tnr_tensor *tensor = make_zeros(pool, 1000);
    tnr_exported exported;
    OK(tnr_tensor_export(&tensor, &exported)); /* leaves the pool for the domain */
    assert_ptr_equal(exported.domain, f->domain);
    OK(tnr_exported_free(&exported));
    OK(tnr_domain_close(&pool));
    assert_int_equal(blocks_out(f->domain), 0);
}

static void test_arenas_have_the_node(void **state)
{
    fixture *f = *state;
    tnr_domain *arena = NULL;
    OK(tnr_arena_create_in(f->domain, 100000, NULL, &arena));
    assert_int_equal(tnr_domain_placement(arena).cpu_affinity, f->bound);
    assert_int_equal(blocks_out(f->domain), 1);
    tnr_tensor *tensor = make_zeros(arena, 1000);
    check_placed(tensor, arena, f->bound);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(arena, NULL, &pool));
    tnr_tensor *pooled = make_zeros(pool, 10);
    check_placed(pooled, pool, f->bound);
    OK(tnr_tensor_release(&pooled));
    OK(tnr_domain_close(&pool));
    OK(tnr_tensor_release(&tensor));
    OK(tnr_arena_check(arena));
    OK(tnr_domain_close(&arena));
    assert_int_equal(blocks_out(f->domain), 0);
}

static void test_a_domain_can_live_in_an_arena_on_its_node(void **state)
{
    fixture *f = *state;
    tnr_domain *arena = NULL;
    OK(tnr_arena_create_in(f->domain, 100000, NULL, &arena));
    tnr_domain *inner = NULL;
    const tnr_numa_options options = options_of(f);
    OK(tnr_numa_create(arena, f->topology, f->node, &options, &inner));
    tnr_tensor *tensor = make_zeros(inner, 1000); /* its handle lies in the arena */
    check_placed(tensor, inner, f->bound);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&arena));
    OK(tnr_tensor_release(&tensor));
    OK(tnr_domain_close(&inner));
    OK(tnr_arena_check(arena));
    OK(tnr_domain_close(&arena));
}

/* ---- Closing ---------------------------------------------------------------------------------------------------------------- */

static void test_tensors_outlive_the_domain_and_the_topology(void **state)
{
    fixture *f = *state;
    tnr_tensor *tensor = make_zeros(f->domain, 1000);
    EXPECT(TNR_ERR_BUSY, tnr_topology_destroy(&f->topology));
    TEXT_HAS("engines and machines that use it: 1");
    OK(tnr_domain_close(&f->domain));
    assert_null(f->domain);
    OK(tnr_topology_destroy(&f->topology));
    assert_null(f->topology);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&f->heap)); /* what is left of both lies there */

    tnr_tensor_info info;
    OK(tnr_tensor_describe(tensor, &info));
    assert_int_equal(info.placement.cpu_affinity, f->bound);
    const void *data = NULL;
    OK(tnr_tensor_host_data(tensor, &data));
    assert_true(((const double *)data)[999] == 0.0);
    OK(tnr_tensor_release(&tensor));
    assert_false(is_mapped(data, f->page));
    assert_int_equal(blocks_out(f->heap), 1); /* the handles' */
}

static void test_pools_and_arenas_outlive_the_domain(void **state)
{
    fixture *f = *state;
    tnr_domain *pool = NULL;
    tnr_domain *arena = NULL;
    OK(tnr_pool_create(f->domain, NULL, &pool));
    OK(tnr_arena_create_in(f->domain, 65536, NULL, &arena));
    OK(tnr_domain_close(&f->domain));
    OK(tnr_topology_destroy(&f->topology));
    for (int64_t count = 10; count < 100000; count *= 10) {
        tnr_tensor *tensor = make_zeros(pool, count); /* bound as before */
        check_placed(tensor, pool, f->bound);
        OK(tnr_tensor_release(&tensor));
    }
    tnr_tensor *tensor = make_zeros(pool, 77);
    OK(tnr_domain_close(&pool));
    OK(tnr_tensor_release(&tensor));
    OK(tnr_domain_close(&arena)); /* the last user */
}

static void test_raw_blocks_keep_it_from_closing(void **state)
{
    fixture *f = *state;
    const tnr_block block = take(f->domain, 10, 0);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&f->domain));
    TEXT_HAS("1 raw blocks");
    assert_non_null(f->domain);
    give(f->domain, &block);
}

/* ---- Threads ---------------------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 200 };

static void *take_and_give(void *context)
{
    fixture *f = context;
    for (int round = 0; round < ROUNDS; round++) {
        tnr_block block;
        if (tnr_domain_allocate(f->domain, (uint64_t)(round % 7 + 1) * 3000, 0, &block) != TNR_OK) {
            return "allocate";
        }
        memset(block.address, round, 3000);
        tnr_cpu_info cpu;
        tnr_numa_info numa;
        if (tnr_numa_describe(f->domain, &numa) != TNR_OK || tnr_topology_cpu(f->topology, -1, &cpu) == TNR_OK) {
            return "describe";
        }
        tnr_tensor *tensor = NULL;
        if (tnr_tensor_zeros(f->domain, TNR_F32, 1, SHAPE(100), &tensor) != TNR_OK ||
            tnr_tensor_release(&tensor) != TNR_OK || tnr_domain_release(f->domain, &block) != TNR_OK) {
            return "tensor";
        }
    }
    return NULL;
}

static void test_threads_share_a_domain(void **state)
{
    fixture *f = *state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, f), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(blocks_out(f->domain), 0);
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(f->domain, &statistics));
    assert_int_equal(statistics.allocations, 2 * THREADS * ROUNDS);
}

static void *release_tensor(void *context)
{
    tnr_tensor *tensor = context;
    return tnr_tensor_release(&tensor) == TNR_OK ? NULL : "release";
}

/* The last tensors go on other threads while domain and topology are being closed. */
static void test_last_tensors_go_while_all_is_closed(void **state)
{
    fixture *f = *state;
    const tnr_numa_options options = options_of(f);
    for (int round = 0; round < 50; round++) {
        tnr_topology *topology = make_topology(f->heap, NULL, NULL);
        tnr_domain *domain = NULL;
        OK(tnr_numa_create(f->heap, topology, f->node, &options, &domain));
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, release_tensor, make_zeros(domain, 10)), 0);
        }
        OK(tnr_domain_close(&domain));
        OK(tnr_topology_destroy(&topology));
        for (int i = 0; i < THREADS; i++) {
            void *failed = NULL;
            assert_int_equal(pthread_join(threads[i], &failed), 0);
            assert_null(failed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NUMA_TEST(test_tensors_have_the_node),
        NUMA_TEST(test_export_and_import),
        NUMA_TEST(test_pools_have_the_node_and_cache_its_pages),
        NUMA_TEST(test_arenas_have_the_node),
        NUMA_TEST(test_a_domain_can_live_in_an_arena_on_its_node),
        NUMA_TEST(test_tensors_outlive_the_domain_and_the_topology),
        NUMA_TEST(test_pools_and_arenas_outlive_the_domain),
        NUMA_TEST(test_raw_blocks_keep_it_from_closing),
        NUMA_TEST(test_threads_share_a_domain),
        NUMA_TEST(test_last_tensors_go_while_all_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
