/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file topology.h
 * Where this process may run and keep its bytes: NUMA nodes, CPUs, caches. And memory that is bound to one node.
 *
 * What is listed is what may be used: hwloc's allowed set *and* the binding that the process got from taskset, srun, mpirun
 * or a cgroup when the topology was made. Numbers of nodes and CPUs are the operating system's: they may have holes, and a
 * node's number says nothing about its CPUs'. Node sets and CPU sets are two types, so that they cannot be mixed up.
 *
 * CPUs and memory are allowed apart. A node whose memory may be used is listed also when no usable CPU is near it (cpus is
 * 0), and a CPU near a node whose memory may not be used, or near no memory at all, has node TNR_NONE. The usable node nearest
 * to such a CPU is the one at the smallest distance by the system's table; where that is silent, the one that shares the
 * smallest part of the machine with it; of equal ones the smallest number.
 *
 * Without hwloc in the build there is one node, number 0, with the process's CPUs, and nothing can be bound.
 */
#ifndef TENURE_TOPOLOGY_H
#define TENURE_TOPOLOGY_H

#include "tenure/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sets ------------------------------------------------------------------------------------------------------------ */

/** CPU numbers are below this, node numbers below TNR_MAX_NODES. */
#define TNR_MAX_CPUS 8192
#define TNR_MAX_NODES 1024

/** A set of CPUs (hardware threads), by the operating system's numbers. Zeroed it is empty. */
typedef struct tnr_cpu_set {
    uint64_t words[TNR_MAX_CPUS / 64];
} tnr_cpu_set;

/** A set of NUMA nodes, by the operating system's numbers. Zeroed it is empty. */
typedef struct tnr_node_set {
    uint64_t words[TNR_MAX_NODES / 64];
} tnr_node_set;

/** Add or remove one CPU. TNR_ERR_BOUNDS outside 0..TNR_MAX_CPUS-1. */
TNR_API TNR_MUST_CHECK tnr_status tnr_cpu_set_add(tnr_cpu_set *set, int cpu);
TNR_API TNR_MUST_CHECK tnr_status tnr_cpu_set_remove(tnr_cpu_set *set, int cpu);
/** False for CPUs out of range and for NULL. */
TNR_API bool tnr_cpu_set_has(const tnr_cpu_set *set, int cpu);
/** Number of CPUs; 0 for NULL. */
TNR_API int tnr_cpu_set_count(const tnr_cpu_set *set);
/** The smallest CPU above `after` (start with TNR_NONE); TNR_NONE when there is none. */
TNR_API int tnr_cpu_set_next(const tnr_cpu_set *set, int after);
/** Every CPU of `inner` is in `outer`; NULL is empty. */
TNR_API bool tnr_cpu_set_within(const tnr_cpu_set *inner, const tnr_cpu_set *outer);
/**
 * Read a list as taskset and Slurm write it: "0-3,8,10-14:2" is 0 to 3, 8, 10, 12 and 14. TNR_ERR_ARGUMENT for anything
 * else: empty lists and items, ranges that fall, strides of 0 or without a range, blanks. TNR_ERR_BOUNDS for numbers from
 * TNR_MAX_CPUS on.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cpu_set_parse(const char *text, tnr_cpu_set *set);
/**
 * Write such a list, as short as it gets without strides, with its ending 0, into `room` bytes; "" for no CPU. *needed (may
 * be NULL) gets the bytes that it takes, also with TNR_ERR_BOUNDS when they are more than `room` (text may then be NULL and
 * room 0).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cpu_set_format(const tnr_cpu_set *set, char *text, size_t room, size_t *needed);

/** The same for nodes. @{ */
TNR_API bool tnr_node_set_has(const tnr_node_set *set, int node);
TNR_API int tnr_node_set_count(const tnr_node_set *set);
TNR_API int tnr_node_set_next(const tnr_node_set *set, int after);
/** @} */

/* ---- Topology ---------------------------------------------------------------------------------------------------------- */

typedef struct tnr_topology tnr_topology;

/** Settings of a topology. Start from TNR_TOPOLOGY_OPTIONS. */
typedef struct tnr_topology_options {
    size_t size;           /**< sizeof(tnr_topology_options) */
    const char *synthetic; /**< describe another machine, in hwloc's synthetic notation; NULL: this one */
    const char *xml;       /**< or an hwloc XML file; NULL: this machine */
} tnr_topology_options;

/* clang-format off */
#define TNR_TOPOLOGY_OPTIONS {sizeof(tnr_topology_options), NULL, NULL}
/* clang-format on */

/**
 * Look at the machine. hwloc's own variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC, ...) are honoured when the options name no
 * other machine. On a described machine everything is allowed, and nothing is ever bound or claimed to be.
 *
 * The process's binding is that of all its threads together; a memory policy that binds the calling thread (numactl
 * --membind, srun --mem-bind) limits the nodes, one that only prefers does not. A node without any memory is no node.
 *
 * @param home keeps the tables (heap or arena); hwloc's own memory comes from the C library while the topology lives.
 * Errors: TNR_ERR_ARGUMENT for both descriptions at once; TNR_ERR_BACKEND when hwloc cannot read the description (one in
 * its variables included), has another major version than the one built in, or finds no CPU that may be used;
 * TNR_ERR_UNSUPPORTED for descriptions without hwloc; TNR_ERR_BOUNDS for numbers beyond the sets'. Cost: some tens of
 * milliseconds.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_topology_create(tnr_domain *home, const tnr_topology_options *options,
                                                      tnr_topology **topology);

/**
 * Null *topology. TNR_ERR_BUSY while domains, engines or machines use it; numa domains that are closed and whose tensors live
 * do not count. NULL and a pointer to NULL are fine.
 */
TNR_API tnr_status tnr_topology_destroy(tnr_topology **topology);

/** Need of a topology of the same machine as this one; of one numa domain. @{ */
TNR_API TNR_MUST_CHECK tnr_status tnr_topology_need(const tnr_topology *topology, tnr_need *need);
TNR_API TNR_MUST_CHECK tnr_status tnr_numa_need(tnr_need *need);
/** @} */

/** Facts about the whole. Read-only from then on; every question below may come from any thread. */
typedef struct tnr_topology_info {
    bool hwloc;           /**< made by hwloc; else one node that nobody has looked at */
    bool this_system;     /**< the machine that we run on, not a described one */
    bool binding;         /**< memory can be bound to a node here */
    int nodes;            /**< usable nodes, memory-only ones included */
    int cpu_nodes;        /**< of these, nodes with usable CPUs */
    int cpus;             /**< usable CPUs */
    int cores;            /**< cores that they belong to */
    int machine_cpus;     /**< CPUs of the machine, usable or not */
    uint64_t page_bytes;  /**< the ordinary page */
    uint64_t huge_bytes;  /**< the huge page that can be asked for by advice, 0 when there is none */
    uint64_t reserved[8]; /**< 0 */
} tnr_topology_info;

TNR_API TNR_MUST_CHECK tnr_status tnr_topology_describe(const tnr_topology *topology, tnr_topology_info *info);

/** One usable node. */
typedef struct tnr_node_info {
    int node;             /**< the operating system's number */
    int cpus;             /**< usable CPUs near it; 0: memory only */
    int cores;            /**< cores that they belong to */
    uint64_t bytes;       /**< memory of the node; 0 when unknown */
    uint64_t l3_bytes;    /**< largest third-level cache over these CPUs; 0: none */
    tnr_cpu_set cpu_set;  /**< the CPUs */
    tnr_cpu_set core_set; /**< one CPU of each core: the first usable one */
    uint64_t reserved[8]; /**< 0 */
} tnr_node_info;

/**
 * Usable nodes by index 0..nodes-1, ascending by number. TNR_ERR_BOUNDS beyond. CPUs that are near no node with memory
 * count with node TNR_NONE, which is not listed here (see tnr_cpu_info).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_topology_node_at(const tnr_topology *topology, int index, tnr_node_info *info);
/** A node by its number. TNR_ERR_BOUNDS, naming the usable ones, when this process may not use it or it does not exist. */
TNR_API TNR_MUST_CHECK tnr_status tnr_topology_node(const tnr_topology *topology, int node, tnr_node_info *info);

/** One usable CPU. */
typedef struct tnr_cpu_info {
    int cpu;              /**< the operating system's number */
    int node;             /**< the node near it; TNR_NONE: a CPU without local memory */
    int nearest;          /**< the usable node that it reaches best: `node`, or where that is TNR_NONE another */
    int core;             /**< counts the usable cores, 0..cores-1, over the machine */
    int sibling;          /**< 0 for the first usable CPU of its core, then 1, 2, ... */
    uint64_t l1_bytes;    /**< its data caches; 0: none or unknown */
    uint64_t l2_bytes;    /**< */
    uint64_t l3_bytes;    /**< */
    int l2_cpus;          /**< usable CPUs that share its second-level cache */
    int l3_cpus;          /**< usable CPUs that share its third-level cache */
    int l3_cores;         /**< cores of the machine that share it, usable or not */
    int l3;               /**< counts the third-level caches of the machine; TNR_NONE: none or unknown */
    uint64_t line_bytes;  /**< cache line; 64 when unknown */
    uint64_t reserved[4]; /**< 0 */
} tnr_cpu_info;

/** A CPU by its number. TNR_ERR_BOUNDS when this process may not use it or it does not exist. */
TNR_API TNR_MUST_CHECK tnr_status tnr_topology_cpu(const tnr_topology *topology, int cpu, tnr_cpu_info *info);

/** All usable CPUs; the first of each core; all usable nodes. @{ */
TNR_API TNR_MUST_CHECK tnr_status tnr_topology_cpus(const tnr_topology *topology, tnr_cpu_set *set);
TNR_API TNR_MUST_CHECK tnr_status tnr_topology_cores(const tnr_topology *topology, tnr_cpu_set *set);
TNR_API TNR_MUST_CHECK tnr_status tnr_topology_nodes(const tnr_topology *topology, tnr_node_set *set);
/** @} */

/** CPUs on which the calling thread may run now. TNR_ERR_UNSUPPORTED where the system does not tell. */
TNR_API TNR_MUST_CHECK tnr_status tnr_thread_affinity(tnr_cpu_set *set);

/* ---- Memory of one node ---------------------------------------------------------------------------------------------------- */

/** Settings of a numa domain. Start from TNR_NUMA_OPTIONS. */
typedef struct tnr_numa_options {
    size_t size;         /**< sizeof(tnr_numa_options) */
    bool best_effort;    /**< unbound memory, affinity none, where binding is refused; false: fail instead */
    bool prefault;       /**< touch every page when it is taken, so that binding and room are known at once */
    uint64_t huge_above; /**< blocks from so many bytes on ask for huge pages; 0: four of them; UINT64_MAX: none */
} tnr_numa_options;

/* clang-format off */
#define TNR_NUMA_OPTIONS {sizeof(tnr_numa_options), false, false, 0}
/* clang-format on */

/**
 * A domain whose blocks are whole pages bound strictly to one node: put a pool or an arena over it for anything small.
 *
 * The binding is tried when the domain is made, and cpu_affinity of its placement is `node` only if the system granted it.
 * If not: TNR_ERR_UNSUPPORTED (no hwloc, a described machine, ENOSYS), TNR_ERR_BACKEND with the system's reason (EPERM,
 * EXDEV, EINVAL, ...), or, with best_effort, a domain of unbound memory whose affinity is TNR_NONE and whose reason
 * tnr_numa_describe gives. TNR_ERR_BOUNDS when the process may not use the node. Each block is bound anew, and a block
 * that cannot be is TNR_ERR_BACKEND (TNR_ERR_MEMORY when the system has no memory for that): nothing is taken then.
 *
 * Without prefault a page of a bound block that is touched when its node is full is the system's affair, which may end the
 * process. With prefault such a block is TNR_ERR_MEMORY where the system can tell in time, and so is at once one of more
 * bytes than the node has.
 *
 * @param home     keeps the domain's state and handles; heap or arena.
 * @param topology must outlive the domain until that is closed.
 * Closing it is like closing a pool: only raw blocks keep it from closing (TNR_ERR_BUSY); its tensors, and pools and arenas
 * over it, stay valid, and their pages go back to the system when they are released. Not in bounded builds
 * (TNR_ERR_UNSUPPORTED).
 * Huge pages are asked for by advice (they are the system's to grant) for blocks from huge_above on, which then start on
 * a multiple of one. Cost of a block: two or three system calls and at least one page, so give it a pool.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_numa_create(tnr_domain *home, tnr_topology *topology, int node,
                                                  const tnr_numa_options *options, tnr_domain **domain);

/** How far a numa domain's binding went. */
typedef struct tnr_numa_info {
    int requested;        /**< the node that was asked for */
    int bound;            /**< the node that blocks are bound to; TNR_NONE when the system refused */
    int error;            /**< the system's errno when it refused, else 0 */
    char reason[160];     /**< the same in words; "" when bound */
    uint64_t page_bytes;  /**< blocks are multiples of this */
    uint64_t huge_above;  /**< from so many bytes on, huge pages are asked for; UINT64_MAX: never */
    uint64_t reserved[8]; /**< 0 */
} tnr_numa_info;

/** Fill *info. TNR_ERR_ARGUMENT when the domain is no numa domain. Thread-safe. */
TNR_API TNR_MUST_CHECK tnr_status tnr_numa_describe(const tnr_domain *domain, tnr_numa_info *info);

/** Where the pages of some bytes are. */
typedef struct tnr_residence {
    uint64_t pages;   /**< pages that the bytes lie in */
    uint64_t present; /**< of these, pages that have been touched and are in memory; debug builds touch fresh blocks */
    uint64_t at_node; /**< of these, pages on `node` */
    uint64_t elsewhere;   /**< of these, pages on other nodes */
    tnr_node_set nodes;   /**< all nodes that hold some; empty before the first touch */
    uint64_t reserved[8]; /**< 0 */
} tnr_residence;

/**
 * Ask the system where bytes really are: the *verified* part, beside what was *requested* and *bound*. Touches nothing.
 * TNR_ERR_UNSUPPORTED where the system does not tell. O(pages), one system call per 1024.
 *
 * @param node what at_node and elsewhere are counted against. TNR_NONE, which tnr_placement.cpu_affinity is for memory that
 *        is bound to nothing: then at_node is 0, elsewhere is present, and `nodes` alone says where the pages are.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_residence_of(const void *address, uint64_t bytes, int node,
                                                   tnr_residence *residence);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_TOPOLOGY_H */
