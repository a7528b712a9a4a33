/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside a topology: tables that one of topology_hwloc.c and topology_none.c fills, and that topology.c answers from.
 *
 *   record: | struct tnr_topology |      tables: | cpus, ascending by number | nodes, ascending by number |
 *
 * Both are blocks of the home domain. Nothing in them changes after creation but the counts under the lock.
 */
#ifndef TENURE_ARENA_TOPOLOGY_INTERNAL_H
#define TENURE_ARENA_TOPOLOGY_INTERNAL_H

#include "arena.h"
#include "tenure/topology.h"

typedef struct tnri_topology_node {
    int node;
    uint64_t bytes;
} tnri_topology_node;

struct tnr_topology {
    tnr_domain *home;
    tnr_block record;
    tnr_block tables;
    tnri_lock lock;   /* guards the three below */
    uint64_t users;   /* open domains, engines and machines: destroying is busy */
    uint64_t holders; /* closed domains whose tensors or pools live: the topology stays for them */
    bool gone;        /* destroyed by its owner */
    tnr_topology_info info;
    tnr_cpu_set usable_cpus;
    tnr_node_set usable_nodes;
    tnr_cpu_info *cpus;
    tnri_topology_node *nodes;
    void *system; /* hwloc's topology; NULL without */
};

/* Members of a set below a number: where a member stands in a table that ascends. */
int tnri_cpu_rank(const tnr_cpu_set *set, int cpu);
int tnri_node_rank(const tnr_node_set *set, int node);

static inline void tnri_cpu_set_put(tnr_cpu_set *set, int cpu) { set->words[cpu / 64] |= UINT64_C(1) << (cpu % 64); }
static inline void tnri_node_set_put(tnr_node_set *set, int node)
{
    set->words[node / 64] |= UINT64_C(1) << (node % 64);
}

/* ---- topology_hwloc.c, topology_none.c ------------------------------------------------------------------------------- */

/*
 * Look at the machine: fill `system`, the usable sets, and info but for the counts that follow from them. The options are
 * checked. On failure nothing is held.
 */
tnr_status tnri_topology_open(tnr_topology *topology, const tnr_topology_options *options);

/* Fill the tables, which have room for the usable sets. */
tnr_status tnri_topology_fill(tnr_topology *topology);

void tnri_topology_close(tnr_topology *topology);

/* Bind whole pages strictly to one node; the system's errno, 0 when it agreed. ENOSYS without hwloc. */
int tnri_topology_bind(const tnr_topology *topology, void *address, uint64_t bytes, int node);

/* Read back: the one node that the pages are strictly bound to, or TNR_NONE. errno as above. */
int tnri_topology_bound(const tnr_topology *topology, const void *address, uint64_t bytes, int *node);

#endif /* TENURE_ARENA_TOPOLOGY_INTERNAL_H */
