/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel itself says about threads and pages, read from /proc: a second witness beside the library's own
 * questions. Answers of -1, and false, mean that the kernel said nothing.
 */
#ifndef TENURE_TESTS_NUMA_PROC_FILES_H
#define TENURE_TESTS_NUMA_PROC_FILES_H

#include "tenure/topology.h"

#include <stdbool.h>
#include <stdint.h>

/* The line of /proc/self/numa_maps for the mapping that holds an address: its policy, and pages per node. */
typedef struct proc_mapping {
    char policy[32];   /* "bind:2", "default" */
    uint64_t pages[8]; /* of nodes 0 to 7 */
} proc_mapping;

bool proc_mapping_of(const void *address, proc_mapping *mapping);

/* Threads of this process other than the caller, each with the CPUs it may run on; at most `room`. */
int proc_other_threads(tnr_cpu_set *allowed, int room);

/* Bytes of huge pages that the process has. */
int64_t proc_huge_bytes(void);

#endif /* TENURE_TESTS_NUMA_PROC_FILES_H */
