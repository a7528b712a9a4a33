/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology of this machine: what may be used and what may not (PT-03), errors, life. Machines that are only described are
 * in test_topology_shapes.c.
 */
#define _GNU_SOURCE /* sched_setaffinity */

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "support/topology_fixture.h"

static int set_up(void **state)
{
    (void)unsetenv("HWLOC_SYNTHETIC");
    (void)unsetenv("HWLOC_XMLFILE");
    *state = make_heap();
    return 0;
}

static int tear_down(void **state)
{
    tnr_domain *heap = *state;
    OK(tnr_domain_close(&heap));
    return 0;
}

static void test_this_machine(void **state)
{
    tnr_topology *topology = make_topology(*state, NULL, NULL);
    const tnr_topology_info info = info_of(topology);
    check_topology(topology);
    assert_true(info.this_system);
    assert_int_equal(info.hwloc, has_hwloc());
    assert_true(info.nodes >= 1);
    assert_int_equal(info.page_bytes, sysconf(_SC_PAGESIZE));
    tnr_cpu_set cpus;
    tnr_cpu_set affinity;
    OK(tnr_topology_cpus(topology, &cpus));
    OK(tnr_thread_affinity(&affinity));
    assert_true(tnr_cpu_set_within(&affinity, &cpus));
    OK(tnr_topology_destroy(&topology));
    assert_null(topology);
}

static void test_default_options_are_those_of_null(void **state)
{
    tnr_topology *plain = NULL;
    OK(tnr_topology_create(*state, NULL, &plain));
    tnr_topology *with = make_topology(*state, NULL, NULL);
    const tnr_topology_info a = info_of(plain);
    const tnr_topology_info b = info_of(with);
    assert_memory_equal(&a, &b, sizeof(a));
    OK(tnr_topology_destroy(&plain));
    OK(tnr_topology_destroy(&with));
}

/* ---- PT-03 ------------------------------------------------------------------------------------------------------------- */

/* The affinity of the calling thread, to be put back. */
static cpu_set_t affinity_now(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    return set;
}

static void test_pt03_only_the_cpus_of_the_binding_appear(void **state)
{
    const cpu_set_t before = affinity_now();
    tnr_topology *whole = make_topology(*state, NULL, NULL);
    if (CPU_COUNT(&before) < 2) {
        OK(tnr_topology_destroy(&whole));
        SKIP("skipped: one CPU, which cannot be bound to fewer");
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &before)) {
            continue;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
        tnr_topology *topology = make_topology(*state, NULL, NULL);
        tnr_cpu_set affinity;
        OK(tnr_thread_affinity(&affinity));
        assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);

        check_topology(topology);
        const tnr_topology_info info = info_of(topology);
        tnr_cpu_set cpus;
        OK(tnr_topology_cpus(topology, &cpus));
        assert_int_equal(info.cpus, 1);
        assert_int_equal(info.cores, 1);
        assert_true(tnr_cpu_set_has(&cpus, cpu));
        assert_memory_equal(&affinity, &cpus, sizeof(cpus));
        if (info.hwloc) {
            /* The rest of the machine is there, but not ours. Its memory is. */
            assert_int_equal(info.machine_cpus, info_of(whole).machine_cpus);
            assert_int_equal(info.nodes, info_of(whole).nodes);
            assert_int_equal(info.cpu_nodes, 1);
            assert_int_equal(cpu_of(topology, cpu).sibling, 0);
            assert_int_equal(cpu_of(topology, cpu).l2_cpus, cpu_of(whole, cpu).l2_bytes != 0 ? 1 : 0);
        }
        /* A topology that was made before does not change. */
        assert_true(info_of(whole).cpus > 1);
        OK(tnr_topology_destroy(&topology));
    }
    OK(tnr_topology_destroy(&whole));
}

static void test_pt03_other_nodes_and_cpus_are_errors(void **state)
{
    tnr_topology *topology = make_topology(*state, NULL, NULL);
    static tnr_node_info node;
    tnr_cpu_info cpu;
    tnr_node_set nodes;
    OK(tnr_topology_nodes(topology, &nodes));
    for (int number = -3; number < TNR_MAX_NODES + 3; number++) {
        tnr_domain *domain = untouched();
        if (tnr_node_set_has(&nodes, number)) {
            continue;
        }
        EXPECT(TNR_ERR_BOUNDS, tnr_topology_node(topology, number, &node));
        TEXT_HAS("it may use");
        EXPECT(TNR_ERR_BOUNDS, tnr_numa_create(*state, topology, number, NULL, &domain));
        TEXT_HAS("it may use");
        assert_ptr_equal(domain, untouched());
    }
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_cpu(topology, -1, &cpu));
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_cpu(topology, TNR_MAX_CPUS, &cpu));
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_cpu(topology, INT32_MAX, &cpu));
    OK(tnr_topology_destroy(&topology));
}

/* A thread that pins itself makes no smaller machine for the others. */
static void *look_from_pinned_thread(void *context)
{
    tnr_domain *home = context;
    const cpu_set_t before = affinity_now();
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &before)) {
        cpu++;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    tnr_cpu_set affinity;
    OK(tnr_thread_affinity(&affinity));
    assert_int_equal(tnr_cpu_set_count(&affinity), 1);
    assert_true(tnr_cpu_set_has(&affinity, cpu));
    tnr_topology *topology = make_topology(home, NULL, NULL);
    if (info_of(topology).hwloc) {
        assert_int_equal(info_of(topology).cpus, CPU_COUNT(&before));
    }
    OK(tnr_topology_destroy(&topology));
    return NULL;
}

static void test_binding_is_that_of_all_threads(void **state)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, look_from_pinned_thread, *state), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- Errors and life ------------------------------------------------------------------------------------------------------ */

static void test_null_arguments(void **state)
{
    tnr_topology *topology = untouched();
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_create(NULL, NULL, &topology));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_create(*state, NULL, NULL));
    assert_ptr_equal(topology, untouched());
    OK(tnr_topology_destroy(NULL));
    topology = NULL;
    OK(tnr_topology_destroy(&topology));

    topology = make_topology(*state, NULL, NULL);
    static tnr_node_info node;
    tnr_cpu_info cpu;
    tnr_cpu_set cpus;
    tnr_node_set nodes;
    tnr_topology_info info;
    tnr_need need;
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_describe(NULL, &info));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_describe(topology, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_node_at(NULL, 0, &node));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_node_at(topology, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_node(NULL, 0, &node));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_node(topology, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_cpu(NULL, 0, &cpu));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_cpu(topology, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_cpus(NULL, &cpus));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_cpus(topology, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_cores(NULL, &cpus));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_cores(topology, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_nodes(NULL, &nodes));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_nodes(topology, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_need(NULL, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_need(topology, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_thread_affinity(NULL));
    OK(tnr_topology_destroy(&topology));
}

static void test_options_are_checked(void **state)
{
    tnr_topology *topology = untouched();
    tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
    options.size = 4;
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_create(*state, &options, &topology));
    options.size = sizeof(options);
    options.synthetic = "pu:1";
    options.xml = "machine.xml";
    EXPECT(TNR_ERR_ARGUMENT, tnr_topology_create(*state, &options, &topology));
    TEXT_HAS("two machines");
    if (!has_hwloc()) {
        options.xml = NULL;
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_topology_create(*state, &options, &topology));
        options.xml = "machine.xml";
        options.synthetic = NULL;
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_topology_create(*state, &options, &topology));
    }
    assert_ptr_equal(topology, untouched());
}

static void test_home_lends_two_blocks_and_gets_them_back(void **state)
{
    tnr_domain *heap = *state;
    tnr_topology *topology = make_topology(heap, NULL, NULL);
    tnr_domain_statistics statistics;
    tnr_need need;
    OK(tnr_domain_statistics_get(heap, &statistics));
    OK(tnr_topology_need(topology, &need));
    assert_int_equal(statistics.blocks, 2);
    assert_int_equal(need.blocks, 2);
    assert_int_equal(statistics.bytes, need.bytes);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&heap));
    assert_non_null(heap);
    OK(tnr_topology_destroy(&topology));
    OK(tnr_domain_statistics_get(heap, &statistics));
    assert_int_equal(statistics.blocks, 0);
    tnr_ledger ledger;
    tnr_ledger_entry allocations;
    OK(tnr_ledger_get(heap, &ledger));
    tnr_ledger_total(&ledger, &allocations, NULL);
    assert_int_equal(allocations.count, 0);
}

/* In an arena of exactly what it needs; with a byte less there is none, and nothing stays taken. */
static void test_topology_lives_in_an_arena(void **state)
{
    tnr_topology *first = make_topology(*state, NULL, NULL);
    tnr_need need;
    uint64_t bytes;
    uint64_t control;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    OK(tnr_topology_need(first, &need));
    OK(tnr_arena_bytes(&need, &options, &bytes, &control, &options.max_blocks));
    OK(tnr_topology_destroy(&first));
    unsigned char *region = aligned_alloc(64, (size_t)bytes);
    assert_non_null(region);
    for (int short_by = 0; short_by < 2; short_by++) {
        tnr_domain *arena = NULL;
        tnr_topology *topology = untouched();
        OK(tnr_arena_create(region, bytes - (short_by != 0 ? 64U : 0U), &options, &arena));
        if (short_by == 0) {
            OK(tnr_topology_create(arena, NULL, &topology));
            check_topology(topology);
            EXPECT(TNR_ERR_BUSY, tnr_domain_close(&arena));
            OK(tnr_topology_destroy(&topology));
        } else {
            EXPECT(TNR_ERR_MEMORY, tnr_topology_create(arena, NULL, &topology));
            assert_ptr_equal(topology, untouched());
        }
        tnr_domain_statistics statistics;
        OK(tnr_domain_statistics_get(arena, &statistics));
        assert_int_equal(statistics.blocks, 0);
        OK(tnr_arena_check(arena));
        OK(tnr_domain_close(&arena));
    }
    free(region);
}

/* ---- Where bytes are -------------------------------------------------------------------------------------------------------- */

static void test_residence_refusals(void **state)
{
    (void)state;
    char byte = 0;
    tnr_residence residence;
    memset(&residence, 0x5A, sizeof(residence));
    const tnr_residence before = residence;
    EXPECT(TNR_ERR_ARGUMENT, tnr_residence_of(NULL, 1, 0, &residence));
    EXPECT(TNR_ERR_ARGUMENT, tnr_residence_of(&byte, 1, 0, NULL));
    EXPECT(TNR_ERR_BOUNDS, tnr_residence_of(&byte, 1, -2, &residence));
    EXPECT(TNR_ERR_BOUNDS, tnr_residence_of(&byte, 1, TNR_MAX_NODES, &residence));
    EXPECT(TNR_ERR_OVERFLOW, tnr_residence_of(&byte, UINT64_MAX, 0, &residence));
    assert_memory_equal(&residence, &before, sizeof(before));
}

static void test_residence_of_nothing_and_of_one_byte(void **state)
{
    (void)state;
    tnr_residence residence;
    OK(tnr_residence_of(NULL, 0, TNR_NONE, &residence));
    assert_int_equal(residence.pages, 0);
    volatile char byte = 1;
    const tnr_status status = tnr_residence_of((const void *)(uintptr_t)&byte, 1, TNR_NONE, &residence);
    if (status == TNR_ERR_UNSUPPORTED) {
        SKIP("skipped: %s", tnr_last_error());
    }
    OK(status);
    assert_int_equal(residence.pages, 1);
    assert_int_equal(residence.present, 1);
    assert_int_equal(residence.elsewhere, 1);
    assert_int_equal(residence.at_node, 0);
    assert_int_equal(tnr_node_set_count(&residence.nodes), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_this_machine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_default_options_are_those_of_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pt03_only_the_cpus_of_the_binding_appear, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pt03_other_nodes_and_cpus_are_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_binding_is_that_of_all_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_null_arguments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_home_lends_two_blocks_and_gets_them_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_topology_lives_in_an_arena, set_up, tear_down),
        cmocka_unit_test(test_residence_refusals),
        cmocka_unit_test(test_residence_of_nothing_and_of_one_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
