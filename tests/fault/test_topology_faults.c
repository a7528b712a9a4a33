/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies while the system and hwloc refuse: each failure has its status and text, and what is not told is made up for by the
 * next best that is.
 *
 * wraps: mmap munmap madvise
 * wraps: hwloc_topology_init hwloc_topology_destroy hwloc_topology_load hwloc_topology_set_flags hwloc_get_api_version
 * wraps: hwloc_bitmap_alloc hwloc_bitmap_free hwloc_get_cpubind hwloc_set_area_membind hwloc_get_area_membind
 * wraps: tnri_place_locate tnri_place_membind tnri_place_affinity tnri_place_prefer tnri_place_gather
 */
#define _GNU_SOURCE /* unsetenv */

#include "numa_faults.h"

#include <errno.h>

static void check_no_topology(fixture *f, tnr_status expected, const char *text)
{
    const uint64_t blocks = blocks_of(f->heap);
    const int64_t topologies = faults.topologies;
    tnr_topology *topology = untouched();
    EXPECT(expected, tnr_topology_create(f->heap, NULL, &topology));
    TEXT_HAS(text);
    assert_ptr_equal(topology, untouched());
    assert_int_equal(blocks_of(f->heap), blocks);
    assert_int_equal(faults.topologies, topologies);
    assert_int_equal(faults.bitmaps, 0);
}

#define NEED_HWLOC()                                  \
    do {                                              \
        if (!has_hwloc()) {                           \
            SKIP("skipped: this build has no hwloc"); \
        }                                             \
    } while (0)

static void test_hwloc_that_fails(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    static const struct {
        fault_call call;
        tnr_status status;
        const char *text;
    } rows[] = {
        {CALL_INIT, TNR_ERR_BACKEND, "cannot begin"},
        {CALL_FLAGS, TNR_ERR_BACKEND, "flag"},
        {CALL_LOAD, TNR_ERR_BACKEND, "cannot load"},
        {CALL_BITMAP, TNR_ERR_MEMORY, "no memory"},
    };
    faults.error = EIO;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        faults.fails[rows[i].call] = true;
        check_no_topology(f, rows[i].status, rows[i].text);
        faults.fails[rows[i].call] = false;
    }
}

static void test_hwloc_of_another_major_version(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    faults.version = __real_hwloc_get_api_version() + 0x10000U;
    check_no_topology(f, TNR_ERR_BACKEND, "same major version");
}

static void test_binding_without_cpus(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    faults.no_cpu = true;
    check_no_topology(f, TNR_ERR_BACKEND, "no CPU");
}

/* Without the process's binding the thread's counts, and without that all that is allowed. */
static void test_unknown_binding(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    faults.error = ENOSYS;
    faults.fails[CALL_CPUBIND] = true;
    tnr_topology *topology = make_topology(f->heap, NULL, NULL);
    tnr_cpu_set cpus;
    tnr_cpu_set affinity;
    OK(tnr_topology_cpus(topology, &cpus));
    OK(tnr_thread_affinity(&affinity));
    assert_memory_equal(&cpus, &affinity, sizeof(cpus));
    OK(tnr_topology_destroy(&topology));
    faults.fails[CALL_AFFINITY] = true;
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_thread_affinity(&affinity));
    topology = make_topology(f->heap, NULL, NULL);
    check_topology(topology);
    OK(tnr_topology_cpus(topology, &cpus));
    assert_true(tnr_cpu_set_within(&affinity, &cpus));
    OK(tnr_topology_destroy(&topology));
}

static void test_memory_policy_limits_the_nodes(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    faults.bound_elsewhere = true;
    tnr_topology *topology = make_topology(f->heap, NULL, NULL);
    check_topology(topology);
    assert_int_equal(info_of(topology).nodes, 0);
    assert_int_equal(info_of(topology).cpus, info_of(f->topology).cpus);
    tnr_domain *domain = untouched();
    EXPECT(TNR_ERR_BOUNDS, tnr_numa_create(f->heap, topology, f->node, NULL, &domain));
    OK(tnr_topology_destroy(&topology));
    /* A described machine is not this one. */
    topology = make_topology(f->heap, "numa:2 pu:2", NULL);
    assert_int_equal(info_of(topology).nodes, 2);
    OK(tnr_topology_destroy(&topology));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(test_hwloc_that_fails),
        FAULT_TEST(test_hwloc_of_another_major_version),
        FAULT_TEST(test_binding_without_cpus),
        FAULT_TEST(test_unknown_binding),
        FAULT_TEST(test_memory_policy_limits_the_nodes),
    };
    (void)unsetenv("HWLOC_SYNTHETIC");
    (void)unsetenv("HWLOC_XMLFILE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
