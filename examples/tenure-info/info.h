/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tenure-info knows before it prints anything: collect.c asks the library, launcher.c who started us, text.c and json.c
 * write it down.
 */
#ifndef TENURE_EXAMPLES_INFO_H
#define TENURE_EXAMPLES_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tenure/tenure.h>

/* One usable node: its facts, how binding memory to it went, and the engine that works there, if there are CPUs. */
typedef struct info_node {
    tnr_node_info node;
    tnr_numa_info binding;
    bool tried;    /* binding was tried; not on a described machine */
    bool verified; /* a page of the domain was touched and found on the node */
    bool engine_made;
    tnr_engine_info engine;
    tnr_pool_statistics pool;
    int32_t output_node;                /* the node that the engine's outputs carry, or TNR_NONE */
    char refused[TNR_ERROR_TEXT_BYTES]; /* why the node has no domain or no engine; "" when it has what it can have */
} info_node;

typedef struct info {
    char host[256];
    const char *rank_from; /* the variable that gives the rank; NULL when no launcher gave one */
    long rank;
    long local_ranks;  /* ranks that it started on this host; 0: it does not say */
    char verdict[256]; /* are this host's ranks kept apart, and how many workers are there: one sentence */
    char pool_refused[TNR_ERROR_TEXT_BYTES]; /* why no pool can be made as the environment says; "": it can */
    tnr_feature_set features;
    tnr_topology_info machine;
    bool affinity_known;
    tnr_cpu_set
        affinity;      /* CPUs on which this process may run now, of the real machine also when another is described */
    tnr_cpu_set cpus;  /* of these and of the allowed ones, what the library uses */
    tnr_cpu_set cores; /* the first CPU of each core */
    tnr_cpu_info *cpu; /* machine.cpus of them, ascending */
    info_node *nodes;  /* machine.nodes of them, ascending */
} info;

/*
 * Ask everything. What a node or the environment refuses is kept in all->...refused and hides nothing else. On failure the
 * library's last error says what failed, and nothing is left to give back.
 */
tnr_status info_collect(info *all);

/* Its parts in launcher.c: the rank and the ranks beside it; the verdict, when all else is known. */
void info_find_rank(info *all);
void info_judge(info *all);

void info_free(info *all);

/* The report for a person, and the same as one JSON object. True when all of it was written. */
bool info_print_text(const info *all, FILE *file);
bool info_print_json(const info *all, FILE *file);

/* Why the engines' kernels and products are what they are for one dtype. */
typedef struct info_kernels {
    const char *elementwise; /* instruction set of everything but matrix products */
    const char *math;        /* where exp, sin and so on come from; NULL: not for this dtype */
    const char *product;     /* matrix products; NULL: not for this dtype */
} info_kernels;

info_kernels info_kernels_of(const info *all, const info_node *node, tnr_dtype dtype);

/* A list as taskset writes it; "none" for the empty set. */
const char *info_list(const tnr_cpu_set *set, char *text, size_t room);

#endif /* TENURE_EXAMPLES_INFO_H */
