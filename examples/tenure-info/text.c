/* SPDX-License-Identifier: BSD-3-Clause */
/* The report for a person. CPUs with the same caches share a line, so that large machines stay readable. */
#include "info.h"

#include <inttypes.h>
#include <string.h>

enum { LIST_ROOM = 512, SIZE_ROOM = 32 };

/* "23.5 GiB", "48 KiB"; "none" for 0. */
static const char *size_text(uint64_t bytes, char *text)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)bytes;
    size_t unit = 0;
    while (amount >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        amount /= 1024;
        unit++;
    }
    const bool whole = amount >= 100 || amount - (double)(uint64_t)amount < 0.05;
    if (bytes == 0) {
        (void)snprintf(text, SIZE_ROOM, "none");
    } else {
        (void)snprintf(text, SIZE_ROOM, whole ? "%.0f %s" : "%.1f %s", amount, units[unit]);
    }
    return text;
}

static const char *plural(int count) { return count == 1 ? "" : "s"; }

static void print_head(const info *all, FILE *file)
{
    char list[LIST_ROOM];
    (void)fprintf(file, "tenure %s on %s", all->features.version, all->host);
    if (all->rank_from != NULL) {
        (void)fprintf(file, ", rank %ld (%s)", all->rank, all->rank_from);
    }
    (void)fprintf(file, "\n\n");
    if (!all->machine.this_system) {
        (void)fprintf(file, "This is a described machine: nothing is bound, and no engine can be made for it.\n");
    }
    (void)fprintf(file, "usable     %d of %d CPU%s: %s\n", all->machine.cpus, all->machine.machine_cpus,
                  plural(all->machine.machine_cpus), info_list(&all->cpus, list, sizeof(list)));
    (void)fprintf(file, "cores      %d, by their first CPUs: %s\n", all->machine.cores,
                  info_list(&all->cores, list, sizeof(list)));
    (void)fprintf(file, "affinity   %s%s\n",
                  all->affinity_known ? info_list(&all->affinity, list, sizeof(list)) : "the system does not tell",
                  all->affinity_known && !all->machine.this_system ? " (on the real machine, not on this one)" : "");
    (void)fprintf(file, "verdict    %s\n", all->verdict);
    if (!all->machine.hwloc) {
        (void)fprintf(file, "topology   built without hwloc: one node that nobody has looked at\n");
    }
}

static void print_binding(const info *all, const info_node *node, FILE *file)
{
    if (!all->machine.this_system) {
        (void)fprintf(file, "not bound: described machine\n");
    } else if (!node->tried && node->refused[0] != 0) {
        (void)fprintf(file, "no memory: see the end\n");
    } else if (!node->tried) {
        (void)fprintf(file, "not bound: built without hwloc\n");
    } else if (node->binding.bound == TNR_NONE) {
        (void)fprintf(file, "not bound: %s\n", node->binding.reason);
    } else {
        (void)fprintf(file, "bound, %s\n", node->verified ? "a page was found there" : "pages cannot be verified");
    }
}

static void print_nodes(const info *all, FILE *file)
{
    char list[LIST_ROOM];
    char memory[SIZE_ROOM];
    char cache[SIZE_ROOM];
    (void)fprintf(file, "\n%-5s %-12s %5s %10s %10s  %s\n", "node", "CPUs", "cores", "memory", "L3", "binding");
    for (int at = 0; at < all->machine.nodes; at++) {
        const info_node *node = &all->nodes[at];
        (void)fprintf(file, "%-5d %-12s %5d %10s %10s  ", node->node.node,
                      info_list(&node->node.cpu_set, list, sizeof(list)), node->node.cores,
                      node->node.bytes == 0 ? "unknown" : size_text(node->node.bytes, memory),
                      size_text(node->node.l3_bytes, cache));
        print_binding(all, node, file);
    }
    char page[SIZE_ROOM];
    (void)fprintf(file, "pages of %s, huge pages: %s\n", size_text(all->machine.page_bytes, page),
                  size_text(all->machine.huge_bytes, memory));
}

static bool same_caches(const tnr_cpu_info *a, const tnr_cpu_info *b)
{
    return a->node == b->node && a->l1_bytes == b->l1_bytes && a->l2_bytes == b->l2_bytes &&
           a->l3_bytes == b->l3_bytes && a->l2_cpus == b->l2_cpus && a->l3_cpus == b->l3_cpus &&
           a->line_bytes == b->line_bytes;
}

/* "2 MiB", and how many usable CPUs share it when it is more than one. */
static const char *shared_text(uint64_t bytes, int cpus, char *text)
{
    char size[SIZE_ROOM];
    if (bytes == 0 || cpus <= 1) {
        return size_text(bytes, text);
    }
    (void)snprintf(text, 2 * (size_t)SIZE_ROOM, "%s by %d", size_text(bytes, size), cpus);
    return text;
}

static void print_caches(const info *all, FILE *file)
{
    (void)fprintf(file, "\n%-18s %5s %10s %16s %16s %6s\n", "caches of CPUs", "node", "L1 data", "L2", "L3", "line");
    for (int at = 0; at < all->machine.cpus; at++) {
        const tnr_cpu_info *cpu = &all->cpu[at];
        bool printed = false;
        for (int before = 0; before < at && !printed; before++) {
            printed = same_caches(&all->cpu[before], cpu);
        }
        if (printed) {
            continue;
        }
        tnr_cpu_set alike;
        char list[LIST_ROOM];
        char node[16] = "none";
        char l1[SIZE_ROOM];
        char l2[2 * SIZE_ROOM];
        char l3[2 * SIZE_ROOM];
        memset(&alike, 0, sizeof(alike));
        for (int other = at; other < all->machine.cpus; other++) {
            if (same_caches(&all->cpu[other], cpu) && tnr_cpu_set_add(&alike, all->cpu[other].cpu) != TNR_OK) {
                continue; /* the library's own numbers are in range */
            }
        }
        if (cpu->node != TNR_NONE) {
            (void)snprintf(node, sizeof(node), "%d", cpu->node);
        }
        (void)fprintf(file, "%-18s %5s %10s %16s %16s %6" PRIu64 "\n", info_list(&alike, list, sizeof(list)), node,
                      size_text(cpu->l1_bytes, l1), shared_text(cpu->l2_bytes, cpu->l2_cpus, l2),
                      shared_text(cpu->l3_bytes, cpu->l3_cpus, l3), cpu->line_bytes);
    }
}

static void print_engine(const info *all, const info_node *node, FILE *file)
{
    char list[LIST_ROOM];
    char size[SIZE_ROOM];
    const tnr_engine_info *engine = &node->engine;
    (void)fprintf(file, "\nengine of node %d\n", node->node.node);
    if (engine->threads) {
        (void)fprintf(file, "  workers  %d, each pinned to one of the CPUs %s\n", engine->workers,
                      info_list(&engine->cpus, list, sizeof(list)));
    } else {
        (void)fprintf(file, "  workers  the calling thread alone, on CPU %s\n",
                      info_list(&engine->cpus, list, sizeof(list)));
    }
    if (node->output_node == TNR_NONE) {
        (void)fprintf(file, "  outputs  in memory that is not bound\n");
    } else {
        (void)fprintf(file, "  outputs  on node %d\n", node->output_node);
    }
    if (all->pool_refused[0] != 0) {
        (void)fprintf(file, "  pool     none: see the end\n");
    } else {
        (void)fprintf(file, "  pool     retains at most %s\n",
                      node->pool.max_bytes == 0 ? "nothing" : size_text(node->pool.max_bytes, size));
    }
    (void)fprintf(file, "  kernels  %s", engine->isa);
    (void)fprintf(file, ", reckoning with L2 %s", size_text(engine->l2_bytes, size));
    (void)fprintf(file, ", L3 %s\n", size_text(engine->l3_bytes, size));
}

/* Engines of one process have the same kernels: they differ by processor, not by node. */
static void print_kernels(const info *all, const info_node *node, FILE *file)
{
    (void)fprintf(file, "\n%-6s %-22s %-16s %s\n", "dtype", "elements, reductions", "exp, sin, ...", "matrix products");
    for (int dtype = TNR_DTYPE_NONE + 1; dtype < TNR_DTYPE_END; dtype++) {
        const info_kernels kernels = info_kernels_of(all, node, (tnr_dtype)dtype);
        (void)fprintf(file, "%-6s %-22s %-16s %s\n", tnr_dtype_name((tnr_dtype)dtype), kernels.elementwise,
                      kernels.math != NULL ? kernels.math : "-", kernels.product != NULL ? kernels.product : "-");
    }
}

static void print_features(const info *all, FILE *file)
{
    const tnr_feature_set *f = &all->features;
    (void)fprintf(file, "\nbuilt with hwloc %s, blis %s, vector math %s, mpi %s, cuda %s, threads %s, rank limit %d",
                  f->hwloc, f->blis, f->vector_math, f->mpi, f->cuda, f->threads ? "on" : "off", f->max_rank);
    if (f->debug) {
        (void)fprintf(file, ", debug");
    }
    if (strcmp(f->sanitize, "off") != 0) {
        (void)fprintf(file, ", sanitizers %s", f->sanitize);
    }
    (void)fprintf(file, "\n");
}

/* What a program that is started the same way would fail with. */
static void print_problems(const info *all, FILE *file)
{
    const char *head = "\nproblems\n";
    if (all->pool_refused[0] != 0) {
        (void)fprintf(file, "%s  %s\n", head, all->pool_refused);
        head = "";
    }
    for (int at = 0; at < all->machine.nodes; at++) {
        if (all->nodes[at].refused[0] != 0) {
            (void)fprintf(file, "%s  node %d: %s\n", head, all->nodes[at].node.node, all->nodes[at].refused);
            head = "";
        }
    }
}

bool info_print_text(const info *all, FILE *file)
{
    const info_node *with_engine = NULL;
    print_head(all, file);
    print_nodes(all, file);
    print_caches(all, file);
    for (int at = 0; at < all->machine.nodes; at++) {
        if (all->nodes[at].engine_made) {
            print_engine(all, &all->nodes[at], file);
            with_engine = with_engine == NULL ? &all->nodes[at] : with_engine;
        }
    }
    if (with_engine != NULL) {
        print_kernels(all, with_engine, file);
    }
    print_features(all, file);
    print_problems(all, file);
    return fflush(file) == 0 && ferror(file) == 0;
}
