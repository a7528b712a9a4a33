/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an engine takes its CPUs' caches to be: the smallest of them, and of a third level that other cores share only its own
 * cores' part. On described machines.
 */
#include "engine/caches_internal.h"
#include "support/topology_fixture.h"

#define MACHINE "numa:2 l3:1(size=32MB) l2:4(size=1MB) core:1 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)"

static tnr_domain *heap;
static tnr_topology *topology;

static int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_domain(&heap);
    return 0;
}

static void expect(const char *cpus, uint64_t third)
{
    tnr_cpu_set set;
    uint64_t l2 = 0;
    uint64_t l3 = 0;
    OK(tnr_cpu_set_parse(cpus, &set));
    OK(tnri_caches_of(topology, &set, &l2, &l3));
    assert_int_equal(l2, 1000000);
    assert_int_equal(l3, third);
}

static void the_third_level_is_shared_by_cores(void **state)
{
    (void)state;
    if (!has_hwloc()) {
        SKIP("skipped: this build has no hwloc to read descriptions of machines");
    }
    topology = make_topology(heap, MACHINE, NULL);
    expect("0-3", 32000000);      /* all cores of one cache */
    expect("0-3,8-11", 32000000); /* their hardware threads beside add nothing */
    expect("0-7", 32000000);      /* two whole caches */
    expect("0", 8000000);         /* one core of four */
    expect("0,8", 8000000);       /* the same one twice */
    expect("9-10", 16000000);     /* by other threads than the first */
    expect("0-3,4", 8000000);     /* the smallest part counts */
    OK(tnr_topology_destroy(&topology));
}

static void without_a_third_level_there_is_none(void **state)
{
    (void)state;
    if (!has_hwloc()) {
        SKIP("skipped: this build has no hwloc to read descriptions of machines");
    }
    topology = make_topology(heap, "numa:1 l2:2(size=1MB) core:1 pu:1", NULL);
    expect("0-1", 0);
    OK(tnr_topology_destroy(&topology));
}

static void streams_beyond(uint64_t l2, uint64_t l3, uint64_t most)
{
    tnr_engine engine;
    memset(&engine, 0, sizeof engine);
    engine.l2_bytes = l2;
    engine.l3_bytes = l3;
    assert_false(tnri_engine_streams(&engine, 0));
    assert_false(tnri_engine_streams(&engine, most));
    assert_true(tnri_engine_streams(&engine, most + 8));
    assert_true(tnri_engine_streams(&engine, UINT64_MAX));
}

static void streaming_begins_where_caches_end(void **state)
{
    (void)state;
    enum { KIB = 1 << 10, MIB = 1 << 20 };
    streams_beyond(512 * KIB, 32 * MIB, 24 * MIB);
    streams_beyond(512 * KIB, 8 * MIB, 6 * MIB);  /* a part of one */
    streams_beyond(2 * MIB, 260 * MIB, 24 * MIB); /* a socket's */
    streams_beyond(1 * MIB, 0, 8 * MIB + 7);      /* none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_third_level_is_shared_by_cores),
        cmocka_unit_test(without_a_third_level_there_is_none),
        cmocka_unit_test(streaming_begins_where_caches_end),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
