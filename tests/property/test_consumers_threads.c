/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads that consume one tensor through copies of its pointer, in every way, at the same moment: one of them gets it.
 * TENURE_TEST_SEED sets the seed.
 */
#include <pthread.h>

#include "worker_threads.h"

#define ROUNDS 10000

typedef struct contest {
    tnr_domain *domain;
    tnr_tensor *tensor;
    tnr_group *groups[2];
    _Atomic int arrived;
    _Atomic int won;
} contest;

static void meet(contest *all)
{
    const int place = atomic_fetch_add(&all->arrived, 1);
    for (int spins = 0; atomic_load(&all->arrived) < (place / 2 + 1) * 2; spins++) {
        if (spins > 200) {
            (void)sched_yield();
        }
    }
}

static void *contest_work(void *argument)
{
    worker *me = argument;
    contest *all = me->shared;
    const int64_t shape[] = {4};
    for (int round = 0; round < ROUNDS; round++) {
        if (me->index == 0) {
            atomic_store(&all->won, 0);
            REQUIRE(tnr_tensor_zeros(all->domain, TNR_F64, 1, shape, &all->tensor) == TNR_OK, "zeros");
        }
        meet(all);
        tnr_tensor *copy = all->tensor;
        tnr_exported exported;
        tnr_group *group = NULL;
        const uint64_t how = below(me, tnr_domain_name(all->domain)[0] == 'p' ? 4 : 3); /* a pool reclaims too */
        meet(all);
        tnr_status status;
        if (how == 0) {
            status = count(tnr_tensor_export(&copy, &exported));
        } else if (how == 1) {
            status = count(tnr_group_append(all->groups[me->index], &copy, NULL));
        } else if (how == 3) {
            status = count(tnr_tensor_reclaim(all->domain, &copy));
        } else {
            status = count(tnr_tensor_release(&copy));
        }
        REQUIRE(status == TNR_OK || status == TNR_ERR_BUSY || status == TNR_ERR_STALE, "a contest");
        atomic_fetch_add(&all->won, status == TNR_OK ? 1 : 0);
        meet(all);
        REQUIRE(atomic_load(&all->won) == 1, "a tensor was consumed twice, or by nobody");
        if (status == TNR_OK && how == 0) {
            REQUIRE(tnr_exported_free(&exported) == TNR_OK, "exported_free");
        } else if (status == TNR_OK && how == 1) {
            REQUIRE(tnr_group_release(&all->groups[me->index]) == TNR_OK, "group_release");
            REQUIRE(tnr_group_create(all->domain, &group) == TNR_OK, "group_create");
            all->groups[me->index] = group;
        }
        meet(all);
    }
    return NULL;
}

static void one_consumer_wins(tnr_domain *domain)
{
    static contest all;
    memset(&all, 0, sizeof(all));
    all.domain = domain;
    OK(tnr_group_create(domain, &all.groups[0]));
    OK(tnr_group_create(domain, &all.groups[1]));
    run_threads(2, contest_work, &all);
    OK(tnr_group_release(&all.groups[0]));
    OK(tnr_group_release(&all.groups[1]));
}

static void test_one_consumer_wins_heap(void **state)
{
    (void)state;
    tnr_domain *heap = NULL;
    OK(tnr_heap_create(&heap));
    one_consumer_wins(heap);
    OK(tnr_domain_close(&heap));
}

static void test_one_consumer_wins_arena(void **state)
{
    (void)state;
    static unsigned char region[64 * 1024];
    tnr_domain *arena = NULL;
    OK(tnr_arena_create(region, sizeof(region), NULL, &arena));
    one_consumer_wins(arena);
    OK(tnr_arena_check(arena));
    OK(tnr_domain_close(&arena));
}

static void test_one_consumer_wins_pool(void **state)
{
    (void)state;
    tnr_domain *heap = NULL;
    tnr_domain *pool = NULL;
    OK(tnr_heap_create(&heap));
    OK(tnr_pool_create(heap, NULL, &pool));
    one_consumer_wins(pool);
    OK(tnr_domain_close(&pool));
    OK(tnr_domain_close(&heap));
}

int main(void)
{
    take_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_consumer_wins_heap),
        cmocka_unit_test(test_one_consumer_wins_arena),
        cmocka_unit_test(test_one_consumer_wins_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
