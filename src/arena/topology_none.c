/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds without hwloc: one node, number 0, with the CPUs of the calling thread; CPU 0 alone where the system does not tell.
 * Each CPU counts as a core, no cache is known, nothing can be bound. hwloc's variables mean nothing here.
 */
#include <errno.h>

#include "place_internal.h"
#include "topology_internal.h"

tnr_status tnri_topology_open(tnr_topology *topology, const tnr_topology_options *options)
{
    TNR_REQUIRE(options->synthetic == NULL && options->xml == NULL, TNR_ERR_UNSUPPORTED,
                "topology_create: this build has no hwloc to read descriptions of machines");
    if (tnri_place_affinity(&topology->usable_cpus) != 0) {
        memset(&topology->usable_cpus, 0, sizeof(topology->usable_cpus));
        tnri_cpu_set_put(&topology->usable_cpus, 0);
    }
    tnri_node_set_put(&topology->usable_nodes, 0);
    topology->info.this_system = true;
    topology->info.machine_cpus = tnr_cpu_set_count(&topology->usable_cpus);
    topology->info.page_bytes = tnri_place_page_bytes();
    topology->info.huge_bytes = tnri_place_huge_bytes();
    return TNR_OK;
}

tnr_status tnri_topology_fill(tnr_topology *topology)
{
    int cpu = TNR_NONE;
    for (int at = 0; at < topology->info.cpus; at++) {
        cpu = tnr_cpu_set_next(&topology->usable_cpus, cpu);
        tnr_cpu_info *info = &topology->cpus[at];
        info->cpu = cpu;
        info->core = at;
        info->l3 = TNR_NONE;
        info->line_bytes = TNRI_UNIT;
    }
    return TNR_OK;
}

void tnri_topology_close(tnr_topology *topology) { (void)topology; }

int tnri_topology_bind(const tnr_topology *topology, void *address, uint64_t bytes, int node)
{
    (void)topology;
    (void)address;
    (void)bytes;
    (void)node;
    return ENOSYS;
}

int tnri_topology_bound(const tnr_topology *topology, const void *address, uint64_t bytes, int *node)
{
    (void)topology;
    (void)address;
    (void)bytes;
    (void)node;
    return ENOSYS;
}
