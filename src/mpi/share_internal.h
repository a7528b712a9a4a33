/* SPDX-License-Identifier: BSD-3-Clause */
/* How ranks of a host share its cores: the pure part (share_plan.c), and who calls it (share.c). */
#ifndef TENURE_MPI_SHARE_INTERNAL_H
#define TENURE_MPI_SHARE_INTERNAL_H

#include "mpi_internal.h"

/* A core that a rank may use: its first usable CPU stands for it. */
typedef struct tnri_share_core {
    int32_t cpu;
    int32_t node; /* TNR_NONE: near none that may be used */
} tnri_share_core;

/* What one rank of the host may use. */
typedef struct tnri_share_rank {
    tnr_cpu_set cpus; /* all of them */
    const tnri_share_core *cores;
    int core_count;
} tnri_share_rank;

/* Room for planning: one per core of all ranks together, and two ints per rank. */
typedef struct tnri_share_room {
    tnri_share_core *cores;
    int *owner; /* one per core: a rank, or -1 */
    int *group; /* one per rank */
    int *seen;  /* one per core */
} tnri_share_room;

/*
 * The cores of rank `which` among `count` ranks of one host: the same input gives the same partition on every rank. Fills all but
 * device, which stays TNR_NONE.
 *
 * Ranks whose CPUs overlap, directly or through others, are a party. A rank alone in its party was bound by the launcher: it keeps its
 * cores. A party of equal sets shares them out in consecutive parts, sorted by node: whole nodes while they last, else cores of a
 * node. A party of unequal sets: first each rank one core (a maximum matching), then the rest in turns. Fewer cores than ranks:
 * each rank has one, the k-th rank core k modulo their number.
 */
void tnri_share_plan(const tnri_share_rank *ranks, int count, int which, const tnri_share_room *room, tnr_share *share);

/*
 * Which of `devices` to suggest; TNR_NONE where there is none, or the environment chose. `lists`: what each rank of the host has in
 * the variables that choose devices, as a number (0: nothing); `listed`: how many devices this rank's names.
 */
int tnri_share_device(int local_rank, int local_size, int devices, const uint64_t *lists, size_t stride, int listed);

#endif /* TENURE_MPI_SHARE_INTERNAL_H */
