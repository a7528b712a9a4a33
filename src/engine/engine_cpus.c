/* SPDX-License-Identifier: BSD-3-Clause */
/* On which CPUs of a topology an engine works. */
#include "team_internal.h"

tnr_status tnri_one_per_core(const tnr_topology *topology, const tnr_cpu_set *from, tnr_cpu_set *cpus)
{
    tnr_cpu_set chosen = {{0}};
    tnr_cpu_set cores = {{0}}; /* a core's number is below that of CPUs */
    for (int cpu = tnr_cpu_set_next(from, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(from, cpu)) {
        tnr_cpu_info info;
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        if (!tnr_cpu_set_has(&cores, info.core)) {
            TNR_TRY(tnr_cpu_set_add(&cores, info.core));
            TNR_TRY(tnr_cpu_set_add(&chosen, cpu));
        }
    }
    *cpus = chosen;
    return TNR_OK;
}

/* TNR_ERR_BOUNDS, naming the first CPU of `cpus` that is not in `within`. */
static tnr_status check_within(const char *op, const tnr_cpu_set *cpus, const tnr_cpu_set *within, int node)
{
    for (int cpu = tnr_cpu_set_next(cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(cpus, cpu)) {
        const bool has = tnr_cpu_set_has(within, cpu);
        TNR_REQUIRE(has || node != TNR_NONE, TNR_ERR_BOUNDS, "%s: CPU %d is none that this process may use", op, cpu);
        TNR_REQUIRE(has, TNR_ERR_BOUNDS, "%s: CPU %d is none of node %d that this process may use", op, cpu, node);
    }
    return TNR_OK;
}

/* `most` CPUs of a set, spread evenly over it: they share as few caches as can be. */
static tnr_status thin_out(tnr_cpu_set *cpus, int count, int most)
{
    tnr_cpu_set chosen = {{0}};
    int at = 0;
    int taken = 0;
    for (int cpu = tnr_cpu_set_next(cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(cpus, cpu), ++at) {
        if ((int64_t)at * most >= (int64_t)taken * count && taken < most) {
            TNR_TRY(tnr_cpu_set_add(&chosen, cpu));
            ++taken;
        }
    }
    *cpus = chosen;
    return TNR_OK;
}

tnr_status tnri_engine_cpus(const char *op, const tnr_engine_options *options, tnr_cpu_set *cpus)
{
    tnr_topology_info info;
    TNR_TRY(tnr_topology_describe(options->topology, &info));
    TNR_REQUIRE(info.this_system, TNR_ERR_UNSUPPORTED,
                "%s: the topology describes another machine than the one that this process runs on", op);
    tnr_cpu_set usable;
    tnr_cpu_set chosen;
    if (options->node != TNR_NONE) {
        tnr_node_info node;
        TNR_TRY(tnr_topology_node(options->topology, options->node, &node));
        TNR_REQUIRE(node.cpus > 0, TNR_ERR_BOUNDS, "%s: node %d has memory, but no CPU that this process may use", op,
                    options->node);
        usable = node.cpu_set;
        chosen = node.core_set;
    } else {
        TNR_TRY(tnr_topology_cpus(options->topology, &usable));
        TNR_TRY(tnr_topology_cores(options->topology, &chosen));
    }
    if (options->cpus != NULL) {
        TNR_REQUIRE(tnr_cpu_set_count(options->cpus) > 0, TNR_ERR_ARGUMENT, "%s: the set of CPUs is empty", op);
        TNR_TRY(check_within(op, options->cpus, &usable, options->node));
        chosen = *options->cpus;
    }
    const int count = tnr_cpu_set_count(&chosen);
    TNR_REQUIRE(options->workers <= count, TNR_ERR_BOUNDS, "%s: %d workers on %d CPUs", op, options->workers, count);
    if (options->workers != 0) {
        TNR_TRY(thin_out(&chosen, count, options->workers));
    }
    *cpus = chosen;
    return TNR_OK;
}

tnr_status tnri_node_of_cpus(const tnr_topology *topology, const tnr_cpu_set *cpus, int *node)
{
    int found = TNR_NONE;
    bool first = true;
    for (int cpu = tnr_cpu_set_next(cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(cpus, cpu)) {
        tnr_cpu_info info;
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        found = first || found == info.node ? info.node : TNR_NONE;
        if (found == TNR_NONE) {
            break;
        }
        first = false;
    }
    *node = found;
    return TNR_OK;
}
