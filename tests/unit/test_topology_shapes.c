/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machines that are only described, by a synthetic string, an XML file or hwloc's variables: PT-05, memory-only nodes, CPUs
 * without memory, hardware threads, caches, sparse numbers, large machines, descriptions that are none. Nothing is ever bound
 * on them, and nothing is printed.
 */
#define _POSIX_C_SOURCE 200809L /* setenv, dup */

#include <unistd.h>

#include "support/topology_fixture.h"

#define PT05 "numa:2 pu:2(indexes=0,63,2,5)"

static int set_up(void **state)
{
    (void)unsetenv("HWLOC_SYNTHETIC");
    (void)unsetenv("HWLOC_XMLFILE");
    *state = make_heap();
    return 0;
}

static int tear_down(void **state)
{
    (void)unsetenv("HWLOC_SYNTHETIC");
    (void)unsetenv("HWLOC_XMLFILE");
    tnr_domain *heap = *state;
    OK(tnr_domain_close(&heap));
    return 0;
}

static tnr_node_info node_of(const tnr_topology *topology, int node)
{
    static tnr_node_info info;
    OK(tnr_topology_node(topology, node, &info));
    return info;
}

/* Not this machine: nothing is bound on it, and strict domains say why. Best effort is unbound memory of this machine. */
static void check_never_bound(tnr_domain *home, tnr_topology *topology)
{
    const tnr_topology_info info = info_of(topology);
    assert_true(info.hwloc);
    assert_false(info.this_system);
    assert_false(info.binding);
    assert_int_equal(info.cpus, info.machine_cpus);
    static tnr_node_info node;
    for (int index = 0; index < info.nodes; index += 1 + info.nodes / 4) {
        OK(tnr_topology_node_at(topology, index, &node));
        tnr_domain *domain = untouched();
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_numa_create(home, topology, node.node, NULL, &domain));
        TEXT_HAS("another machine");
        assert_ptr_equal(domain, untouched());
        tnr_numa_options options = TNR_NUMA_OPTIONS;
        options.best_effort = true;
        OK(tnr_numa_create(home, topology, node.node, &options, &domain));
        assert_int_equal(tnr_domain_placement(domain).cpu_affinity, TNR_NONE);
        assert_int_equal(tnr_domain_placement(domain).kind, TNR_MEMORY_HOST);
        tnr_numa_info numa;
        OK(tnr_numa_describe(domain, &numa));
        assert_int_equal(numa.requested, node.node);
        assert_int_equal(numa.bound, TNR_NONE);
        assert_int_equal(numa.error, 0);
        assert_non_null(strstr(numa.reason, "another machine"));
        tnr_block block;
        OK(tnr_domain_allocate(domain, 5000, 0, &block));
        memset(block.address, 1, 5000);
        OK(tnr_domain_release(domain, &block));
        OK(tnr_domain_close(&domain));
    }
}

static tnr_topology *described(void **state, const char *synthetic, const char *xml)
{
    if (!has_hwloc()) {
        SKIP("skipped: this build has no hwloc to read descriptions of machines");
    }
    tnr_topology *topology = make_topology(*state, synthetic, xml);
    check_topology(topology);
    check_never_bound(*state, topology);
    return topology;
}

/* ---- PT-05 ---------------------------------------------------------------------------------------------------------------- */

static void check_pt05(const tnr_topology *topology)
{
    const tnr_topology_info info = info_of(topology);
    assert_int_equal(info.nodes, 2);
    assert_int_equal(info.cpus, 4);
    const tnr_node_info first = node_of(topology, 0);
    LIST_IS(&first.cpu_set, "0,63");
    const tnr_node_info second = node_of(topology, 1);
    LIST_IS(&second.cpu_set, "2,5");
    assert_int_equal(cpu_of(topology, 63).node, 0);
    assert_int_equal(cpu_of(topology, 5).node, 1);
    tnr_cpu_info cpu;
    memset(&cpu, 0x5A, sizeof(cpu));
    const tnr_cpu_info before = cpu;
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_cpu(topology, 1, &cpu));
    TEXT_HAS("CPU 1");
    assert_memory_equal(&cpu, &before, sizeof(cpu));
}

static void test_pt05_numbers_with_holes_by_option(void **state)
{
    tnr_topology *topology = described(state, PT05, NULL);
    check_pt05(topology);
    OK(tnr_topology_destroy(&topology));
}

static void test_pt05_numbers_with_holes_by_variable(void **state)
{
    assert_int_equal(setenv("HWLOC_SYNTHETIC", PT05, 1), 0);
    tnr_topology *topology = described(state, NULL, NULL);
    check_pt05(topology);
    OK(tnr_topology_destroy(&topology));
}

static void test_options_win_over_variables(void **state)
{
    assert_int_equal(setenv("HWLOC_SYNTHETIC", PT05, 1), 0);
    tnr_topology *topology = described(state, "numa:3 pu:1", NULL);
    assert_int_equal(info_of(topology).nodes, 3);
    OK(tnr_topology_destroy(&topology));
}

/* ---- Shapes ---------------------------------------------------------------------------------------------------------------- */

static void test_hardware_threads_and_three_levels_of_cache(void **state)
{
    tnr_topology *topology = described(
        state, "numa:2 l3:1(size=32MB) l2:2(size=1MB) l1d:1(size=48KB) core:1 pu:2(indexes=0,4,1,5,2,6,3,7)", NULL);
    const tnr_topology_info info = info_of(topology);
    assert_int_equal(info.cpus, 8);
    assert_int_equal(info.cores, 4);
    tnr_cpu_set cores;
    OK(tnr_topology_cores(topology, &cores));
    LIST_IS(&cores, "0-3");
    for (int cpu = 0; cpu < 8; cpu++) {
        const tnr_cpu_info one = cpu_of(topology, cpu);
        assert_int_equal(one.core, cpu % 4);
        assert_int_equal(one.sibling, cpu / 4);
        assert_int_equal(one.node, cpu % 4 / 2);
        assert_int_equal(one.l1_bytes, 48000);
        assert_int_equal(one.l2_bytes, 1000000);
        assert_int_equal(one.l3_bytes, 32000000);
        assert_int_equal(one.l2_cpus, 2);
        assert_int_equal(one.l3_cpus, 4);
        assert_int_equal(one.l3_cores, 2);
        assert_int_equal(one.l3, cpu % 4 / 2);
        assert_int_equal(one.line_bytes, 64);
    }
    const tnr_node_info node = node_of(topology, 1);
    assert_int_equal(node.l3_bytes, 32000000);
    assert_int_equal(node.cores, 2);
    LIST_IS(&node.cpu_set, "2-3,6-7");
    LIST_IS(&node.core_set, "2-3");
    OK(tnr_topology_destroy(&topology));
}

static void test_second_memory_of_a_package_is_memory_only(void **state)
{
    tnr_topology *topology = described(state, "package:2 [numa(memory=8GB)] [numa(memory=16GB)] core:2 pu:2", NULL);
    const tnr_topology_info info = info_of(topology);
    assert_int_equal(info.nodes, 4);
    assert_int_equal(info.cpu_nodes, 2);
    for (int number = 0; number < 4; number++) {
        const tnr_node_info node = node_of(topology, number);
        assert_int_equal(node.cpus, number % 2 == 0 ? 4 : 0);
        assert_int_equal(node.cores, number % 2 == 0 ? 2 : 0);
        assert_true(node.bytes == (number % 2 == 0 ? UINT64_C(8000000000) : UINT64_C(16000000000)));
    }
    OK(tnr_topology_destroy(&topology));
}

static void test_memory_of_the_whole_machine_beside_the_packages_is_memory_only(void **state)
{
    tnr_topology *topology = described(state, "[numa(memory=64GB)] package:2 [numa(memory=1GB)] core:2 pu:1", NULL);
    assert_int_equal(info_of(topology).nodes, 3);
    assert_int_equal(info_of(topology).cpu_nodes, 2);
    assert_int_equal(node_of(topology, 2).cpus, 0);
    assert_int_equal(cpu_of(topology, 3).node, 1);
    OK(tnr_topology_destroy(&topology));
}

static void test_memory_of_the_whole_machine_alone_is_near_all(void **state)
{
    tnr_topology *topology = described(state, "[numa(memory=64GB)] package:2 core:2 pu:1", NULL);
    assert_int_equal(info_of(topology).nodes, 1);
    assert_int_equal(node_of(topology, 0).cpus, 4);
    OK(tnr_topology_destroy(&topology));
}

static void test_nodes_with_holes(void **state)
{
    tnr_topology *topology = described(state, "numa:3(indexes=9,2,1023) pu:2", NULL);
    tnr_node_set nodes;
    OK(tnr_topology_nodes(topology, &nodes));
    assert_int_equal(tnr_node_set_next(&nodes, TNR_NONE), 2);
    assert_int_equal(tnr_node_set_next(&nodes, 2), 9);
    assert_int_equal(tnr_node_set_next(&nodes, 9), 1023);
    const tnr_node_info node = node_of(topology, 9);
    LIST_IS(&node.cpu_set, "0-1");
    assert_int_equal(cpu_of(topology, 3).node, 2);
    static tnr_node_info none;
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_node(topology, 0, &none));
    TEXT_HAS("2, 9, 1023");
    OK(tnr_topology_destroy(&topology));
}

static void test_large_machine(void **state)
{
    tnr_topology *topology = described(state, "numa:64 l3:1 core:64 pu:2", NULL);
    const tnr_topology_info info = info_of(topology);
    assert_int_equal(info.nodes, 64);
    assert_int_equal(info.cpus, TNR_MAX_CPUS);
    assert_int_equal(info.cores, TNR_MAX_CPUS / 2);
    assert_int_equal(cpu_of(topology, TNR_MAX_CPUS - 1).node, 63);
    assert_int_equal(cpu_of(topology, TNR_MAX_CPUS - 1).l3_cpus, 128);
    static tnr_node_info none;
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_node(topology, 64, &none));
    TEXT_HAS("0, 1, 2"); /* and not all of them: the text ends */
    OK(tnr_topology_destroy(&topology));
}

static void test_more_than_the_sets_hold(void **state)
{
    if (!has_hwloc()) {
        SKIP("skipped: this build has no hwloc to read descriptions of machines");
    }
    tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
    tnr_topology *topology = untouched();
    options.synthetic = "numa:2 pu:2(indexes=0,1,2,8192)";
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_create(*state, &options, &topology));
    TEXT_HAS("CPU 8192");
    options.synthetic = "numa:2(indexes=0,1024) pu:2";
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_create(*state, &options, &topology));
    TEXT_HAS("node 1024");
    assert_ptr_equal(topology, untouched());
}

/*
 * tests/data/odd_machine.xml: package 0 with node 3, CPUs 0 and 64 in one core and 2 alone in another, all caches, lines of 128
 * bytes; package 1 without memory, CPUs 5 and 9, a second-level cache; package 2, CPU 10, whose node 7 has no memory; node 12
 * has memory and no CPUs.
 */
static const char *odd_machine(void)
{
    static char path[4096];
    const char *root = getenv("TENURE_SOURCE_DIR");
    (void)snprintf(path, sizeof(path), "%s/tests/data/odd_machine.xml", root != NULL ? root : ".");
    return path;
}

static void check_odd_machine(const tnr_topology *topology)
{
    const tnr_topology_info info = info_of(topology);
    assert_int_equal(info.nodes, 2);
    assert_int_equal(info.cpu_nodes, 1);
    assert_int_equal(info.cpus, 6);
    assert_int_equal(info.cores, 5);
    assert_int_equal(info.page_bytes, 4096);
    assert_int_equal(info.huge_bytes, 2097152);
    const tnr_node_info near = node_of(topology, 3);
    LIST_IS(&near.cpu_set, "0,2,64");
    LIST_IS(&near.core_set, "0,2");
    assert_true(near.bytes == UINT64_C(8589934592));
    const tnr_node_info far = node_of(topology, 12);
    assert_int_equal(far.cpus, 0);
    assert_true(far.bytes == UINT64_C(68719476736));
    static tnr_node_info none;
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_node(topology, 7, &none)); /* nothing can be bound to it */

    const tnr_cpu_info sibling = cpu_of(topology, 64);
    assert_int_equal(sibling.core, cpu_of(topology, 0).core);
    assert_int_equal(sibling.sibling, 1);
    assert_int_equal(sibling.line_bytes, 128);
    assert_int_equal(sibling.l2_cpus, 2);
    assert_int_equal(sibling.l3_cpus, 3);
    assert_int_equal(sibling.l3_cores, 2);
    assert_int_equal(sibling.nearest, 3);
    assert_int_equal(cpu_of(topology, 2).l2_cpus, 1);
    static const int without_memory[] = {5, 9, 10};
    for (int i = 0; i < 3; i++) {
        const tnr_cpu_info cpu = cpu_of(topology, without_memory[i]);
        assert_int_equal(cpu.node, TNR_NONE);
        assert_int_equal(cpu.nearest, 3); /* not node 12, which has no CPUs to be near to */
        assert_int_equal(cpu.l3, TNR_NONE);
        assert_int_equal(cpu.sibling, 0);
        assert_int_equal(cpu.l3_bytes, 0);
    }
    assert_int_equal(cpu_of(topology, 9).l2_cpus, 2);
    assert_int_equal(cpu_of(topology, 10).l2_cpus, 0);
    assert_int_equal(cpu_of(topology, 10).line_bytes, 64);
}

static void test_cpus_without_memory_and_memory_without_cpus(void **state)
{
    tnr_topology *topology = described(state, NULL, odd_machine());
    check_odd_machine(topology);
    OK(tnr_topology_destroy(&topology));
}

static void test_xml_by_variable(void **state)
{
    assert_int_equal(setenv("HWLOC_XMLFILE", odd_machine(), 1), 0);
    tnr_topology *topology = described(state, NULL, NULL);
    check_odd_machine(topology);
    OK(tnr_topology_destroy(&topology));
}

/* ---- Descriptions that are none --------------------------------------------------------------------------------------------- */

/* What a call wrote to standard error. */
static int save_stderr(FILE **file)
{
    *file = tmpfile();
    assert_non_null(*file);
    (void)fflush(stderr);
    const int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0);
    assert_true(dup2(fileno(*file), STDERR_FILENO) >= 0);
    return saved;
}

static long restore_stderr(FILE *file, int saved)
{
    (void)fflush(stderr);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    const long written = (long)lseek(fileno(file), 0, SEEK_END);
    (void)fclose(file);
    return written;
}

static void check_refused(tnr_domain *home, const tnr_topology_options *options, const char *text)
{
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    tnr_topology *topology = untouched();
    FILE *file;
    OK(tnr_domain_statistics_get(home, &before));
    const int saved = save_stderr(&file);
    const tnr_status status = tnr_topology_create(home, options, &topology);
    assert_int_equal(restore_stderr(file, saved), 0);
    EXPECT(TNR_ERR_BACKEND, status);
    TEXT_HAS(text);
    assert_ptr_equal(topology, untouched());
    OK(tnr_domain_statistics_get(home, &after));
    assert_int_equal(after.blocks, before.blocks);
}

static void test_broken_descriptions(void **state)
{
    if (!has_hwloc()) {
        SKIP("skipped: this build has no hwloc to read descriptions of machines");
    }
    static const char *const broken[] = {
        "", "garbage", "numa:2 pu:", "numa:0 pu:2", "pu:2 numa:2", "numa:2 pu:2(indexes"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
        options.synthetic = broken[i];
        check_refused(*state, &options, "cannot read the synthetic description");
    }
    char not_xml[8192];
    (void)snprintf(not_xml, sizeof(not_xml), "%s.not", odd_machine());
    tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
    options.xml = not_xml; /* missing */
    check_refused(*state, &options, "odd_machine.xml.not");
    options.xml = "/";
    check_refused(*state, &options, "XML");
    options.xml = "CMakeLists.txt"; /* there, and no XML */
    check_refused(*state, &options, "XML");
}

/* hwloc would look at this machine instead, and say nothing. */
static void test_broken_variables_are_not_passed_over(void **state)
{
    if (!has_hwloc()) {
        SKIP("skipped: this build has no hwloc to read descriptions of machines");
    }
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "garbage", 1), 0);
    check_refused(*state, NULL, "HWLOC_SYNTHETIC");
    (void)unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(setenv("HWLOC_XMLFILE", "/nowhere/machine.xml", 1), 0);
    check_refused(*state, NULL, "HWLOC_XMLFILE");
    assert_int_equal(setenv("HWLOC_XMLFILE", "", 1), 0); /* empty is as good as unset */
    tnr_topology *topology = make_topology(*state, NULL, NULL);
    assert_true(info_of(topology).this_system);
    OK(tnr_topology_destroy(&topology));
}

#define SHAPE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHAPE_TEST(test_pt05_numbers_with_holes_by_option),
        SHAPE_TEST(test_pt05_numbers_with_holes_by_variable),
        SHAPE_TEST(test_options_win_over_variables),
        SHAPE_TEST(test_hardware_threads_and_three_levels_of_cache),
        SHAPE_TEST(test_second_memory_of_a_package_is_memory_only),
        SHAPE_TEST(test_memory_of_the_whole_machine_beside_the_packages_is_memory_only),
        SHAPE_TEST(test_memory_of_the_whole_machine_alone_is_near_all),
        SHAPE_TEST(test_nodes_with_holes),
        SHAPE_TEST(test_large_machine),
        SHAPE_TEST(test_more_than_the_sets_hold),
        SHAPE_TEST(test_cpus_without_memory_and_memory_without_cpus),
        SHAPE_TEST(test_xml_by_variable),
        SHAPE_TEST(test_broken_descriptions),
        SHAPE_TEST(test_broken_variables_are_not_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
