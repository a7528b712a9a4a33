/* SPDX-License-Identifier: BSD-3-Clause */
/* A heap and a topology of this machine, and short words for questions. Skips are visible, with their reason. */
#ifndef TENURE_TESTS_SUPPORT_TOPOLOGY_FIXTURE_H
#define TENURE_TESTS_SUPPORT_TOPOLOGY_FIXTURE_H

#include "support/storage_test.h"
#include "tenure/features.h"
#include "tenure/topology.h"

/* Why this test cannot be made here. */
#define SKIP(...)                      \
    do {                               \
        print_message("            "); \
        print_message(__VA_ARGS__);    \
        print_message("\n");           \
        skip();                        \
    } while (0)

static inline bool has_hwloc(void)
{
    tnr_feature_set features;
    tnr_features(&features);
    return strcmp(features.hwloc, "off") != 0;
}

static inline bool is_debug(void)
{
    tnr_feature_set features;
    tnr_features(&features);
    return features.debug;
}

static inline tnr_topology *make_topology(tnr_domain *home, const char *synthetic, const char *xml)
{
    tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
    options.synthetic = synthetic;
    options.xml = xml;
    tnr_topology *topology = NULL;
    OK(tnr_topology_create(home, &options, &topology));
    assert_non_null(topology);
    return topology;
}

static inline tnr_topology_info info_of(const tnr_topology *topology)
{
    tnr_topology_info info;
    OK(tnr_topology_describe(topology, &info));
    return info;
}

static inline tnr_cpu_info cpu_of(const tnr_topology *topology, int cpu)
{
    tnr_cpu_info info;
    OK(tnr_topology_cpu(topology, cpu, &info));
    return info;
}

static inline void check_list(const tnr_cpu_set *set, const char *expected, const char *file, int line)
{
    static char text[TNR_MAX_CPUS * 5];
    OK(tnr_cpu_set_format(set, text, sizeof(text), NULL));
    if (strcmp(text, expected) != 0) {
        print_error("%s:%d: CPUs \"%s\", expected \"%s\"\n", file, line, text, expected);
        _fail(file, line);
    }
}

#define LIST_IS(set, expected) check_list((set), (expected), __FILE__, __LINE__)

/* What holds for every topology, whatever the machine. */
static inline void check_topology(const tnr_topology *topology)
{
    static tnr_node_info node;
    static bool core_seen[TNR_MAX_CPUS];
    const tnr_topology_info info = info_of(topology);
    tnr_cpu_set cpus;
    tnr_cpu_set cores;
    tnr_cpu_set left;
    tnr_node_set nodes;
    OK(tnr_topology_cpus(topology, &cpus));
    OK(tnr_topology_cores(topology, &cores));
    OK(tnr_topology_nodes(topology, &nodes));
    left = cpus;
    assert_true(info.cpus > 0 && info.cpus <= info.machine_cpus);
    assert_int_equal(tnr_cpu_set_count(&cpus), info.cpus);
    assert_int_equal(tnr_cpu_set_count(&cores), info.cores);
    assert_int_equal(tnr_node_set_count(&nodes), info.nodes);
    assert_true(tnr_cpu_set_within(&cores, &cpus));
    assert_true(info.page_bytes >= 4096 && (info.page_bytes & (info.page_bytes - 1)) == 0);
    assert_true(!info.binding || info.this_system);

    int number = TNR_NONE;
    int with_cpus = 0;
    for (int index = 0; index < info.nodes; index++) {
        OK(tnr_topology_node_at(topology, index, &node));
        number = tnr_node_set_next(&nodes, number);
        assert_int_equal(node.node, number);
        assert_int_equal(tnr_cpu_set_count(&node.cpu_set), node.cpus);
        assert_int_equal(tnr_cpu_set_count(&node.core_set), node.cores);
        assert_true(tnr_cpu_set_within(&node.core_set, &node.cpu_set));
        assert_true(tnr_cpu_set_within(&node.core_set, &cores));
        with_cpus += node.cpus > 0 ? 1 : 0;
        for (int cpu = tnr_cpu_set_next(&node.cpu_set, TNR_NONE); cpu != TNR_NONE;
             cpu = tnr_cpu_set_next(&node.cpu_set, cpu)) {
            assert_int_equal(cpu_of(topology, cpu).node, number);
            assert_true(tnr_cpu_set_has(&left, cpu)); /* of one node only */
            OK(tnr_cpu_set_remove(&left, cpu));
        }
        tnr_node_info again;
        OK(tnr_topology_node(topology, number, &again));
        assert_memory_equal(&again, &node, sizeof(node));
    }
    assert_int_equal(with_cpus, info.cpu_nodes);
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_node_at(topology, info.nodes, &node));
    EXPECT(TNR_ERR_BOUNDS, tnr_topology_node_at(topology, -1, &node));
    for (int cpu = tnr_cpu_set_next(&left, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(&left, cpu)) {
        assert_int_equal(cpu_of(topology, cpu).node, TNR_NONE);
    }

    memset(core_seen, 0, sizeof(core_seen));
    for (int cpu = 0; cpu < TNR_MAX_CPUS; cpu++) {
        tnr_cpu_info one;
        if (!tnr_cpu_set_has(&cpus, cpu)) {
            EXPECT(TNR_ERR_BOUNDS, tnr_topology_cpu(topology, cpu, &one));
            continue;
        }
        one = cpu_of(topology, cpu);
        assert_int_equal(one.cpu, cpu);
        assert_true(one.core >= 0 && one.core < info.cores);
        assert_int_equal(one.sibling == 0, tnr_cpu_set_has(&cores, cpu));
        assert_true(one.line_bytes >= 16 && (one.line_bytes & (one.line_bytes - 1)) == 0);
        assert_true(one.l2_cpus <= info.cpus && one.l3_cpus <= info.cpus);
        assert_true((one.l2_bytes != 0) == (one.l2_cpus != 0) && (one.l3_bytes != 0) == (one.l3_cpus != 0));
        assert_true((one.l3_bytes != 0) == (one.l3 != TNR_NONE) && (one.l3_bytes != 0) == (one.l3_cores > 0));
        assert_true(one.node == TNR_NONE || one.nearest == one.node);
        assert_true(info.nodes == 0 ? one.nearest == TNR_NONE : tnr_node_set_has(&nodes, one.nearest));
        if (one.sibling == 0) {
            assert_false(core_seen[one.core]);
            core_seen[one.core] = true;
        }
    }
}

#endif /* TENURE_TESTS_SUPPORT_TOPOLOGY_FIXTURE_H */
