/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the operating system itself is asked about places, behind a handful of functions: place_linux.c knows the system
 * calls, place_none.c is for systems and builds that have none of them. Answers are errno numbers, 0 for success.
 */
#ifndef TENURE_ARENA_PLACE_INTERNAL_H
#define TENURE_ARENA_PLACE_INTERNAL_H

#include "base.h"
#include "tenure/topology.h"

/* CPUs on which the calling thread may run. */
int tnri_place_affinity(tnr_cpu_set *set);

/* True, with the nodes, when the calling task's memory policy binds it strictly (numactl --membind, srun --mem-bind). */
bool tnri_place_membind(tnr_node_set *set);

/* The ordinary page, and the page that can be advised for large areas; 0: none. */
uint64_t tnri_place_page_bytes(void);
uint64_t tnri_place_huge_bytes(void);

/* Ask for huge pages in the whole pages of this area: advice, which the system may pass over. */
void tnri_place_advise_huge(void *address, uint64_t bytes);

/* The node of each page, by an address in it; negative where no page is there. Touches nothing. */
int tnri_place_locate(uint64_t count, void **addresses, int *nodes);

/*
 * For an area that is to have all its pages on one node at once (Linux only, as numa.c is): let its pages come from the node
 * as long as it has some, and then bring those that came from elsewhere. ENOMEM when the node has no room for them, EBUSY when
 * something holds one where it is. Under a strict binding the kernel ends a process that touches a page for which the node has no room.
 */
int tnri_place_prefer(void *address, uint64_t bytes, int node);
int tnri_place_gather(void *address, uint64_t bytes, uint64_t page, int node);

#endif /* TENURE_ARENA_PLACE_INTERNAL_H */
