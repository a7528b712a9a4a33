/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the library what this process may use and what it makes of it: a topology, and a machine whose engines are all
 * made, looked at, and given back again. On a described machine there is nothing to make. What cannot be made is noted with
 * the library's own words, and the rest is asked all the same.
 */
#define _POSIX_C_SOURCE 200809L /* gethostname */

#include "info.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRY(call)                          \
    do {                                   \
        const tnr_status status_ = (call); \
        if (status_ != TNR_OK) {           \
            return status_;                \
        }                                  \
    } while (0)

static tnr_status collect_topology(info *all, const tnr_topology *topology)
{
    TRY(tnr_topology_describe(topology, &all->machine));
    TRY(tnr_topology_cpus(topology, &all->cpus));
    TRY(tnr_topology_cores(topology, &all->cores));
    all->cpu = calloc((size_t)all->machine.cpus + 1, sizeof(*all->cpu));
    all->nodes = calloc((size_t)all->machine.nodes + 1, sizeof(*all->nodes));
    if (all->cpu == NULL || all->nodes == NULL) {
        return tnr_set_error(TNR_ERR_MEMORY, "tenure-info: no memory for the tables");
    }
    int cpu = TNR_NONE;
    for (int at = 0; at < all->machine.cpus; at++) {
        cpu = tnr_cpu_set_next(&all->cpus, cpu);
        TRY(tnr_topology_cpu(topology, cpu, &all->cpu[at]));
    }
    for (int at = 0; at < all->machine.nodes; at++) {
        TRY(tnr_topology_node_at(topology, at, &all->nodes[at].node));
        all->nodes[at].output_node = TNR_NONE;
    }
    return TNR_OK;
}

/* Touch one page of a domain and ask the system where it is. Where it does not tell, nothing is verified. */
static tnr_status verify_node(info_node *node, tnr_domain *domain)
{
    tnr_block block;
    tnr_residence where;
    TRY(tnr_domain_allocate(domain, 1, 0, &block));
    *(volatile char *)block.address = 1;
    const tnr_status asked = tnr_residence_of(block.address, 1, node->node.node, &where);
    TRY(tnr_domain_release(domain, &block));
    node->verified = asked == TNR_OK && where.pages > 0 && where.at_node == where.pages;
    return TNR_OK;
}

/* Keep the words of the failure that just happened. */
static void note_refusal(char refused[TNR_ERROR_TEXT_BYTES])
{
    (void)snprintf(refused, TNR_ERROR_TEXT_BYTES, "%s", tnr_last_error());
}

/* Nodes whose CPUs are others' may have an engine too, of CPUs that have no memory of their own. */
static bool computes(const tnr_machine *machine, int node)
{
    bool found = false;
    for (int index = 0; index < tnr_machine_nodes(machine) && !found; index++) {
        found = tnr_machine_node_at(machine, index) == node;
    }
    return found;
}

static tnr_status collect_node(info_node *node, tnr_machine *machine)
{
    tnr_domain *domain = NULL;
    tnr_engine *engine = NULL;
    TRY(tnr_machine_domain(machine, node->node.node, &domain));
    const tnr_status described = tnr_numa_describe(domain, &node->binding);
    if (described != TNR_OK && described != TNR_ERR_ARGUMENT) { /* without hwloc it is no numa domain */
        return described;
    }
    node->tried = described == TNR_OK;
    TRY(verify_node(node, domain));
    if (!computes(machine, node->node.node)) {
        return TNR_OK;
    }
    TRY(tnr_machine_engine(machine, node->node.node, &engine));
    TRY(tnr_engine_describe(engine, &node->engine));
    TRY(tnr_pool_statistics_get(tnr_engine_pool(engine), &node->pool));
    node->output_node = tnr_domain_placement(tnr_engine_output(engine)).cpu_affinity;
    node->engine_made = true;
    return TNR_OK;
}

/* Would a pool of no special cap be made? If not, engines are looked at with the cap that they would have without a word. */
static tnr_status try_pool(info *all, tnr_domain *heap, tnr_machine_options *options)
{
    tnr_domain *pool = NULL;
    if (tnr_pool_create(heap, NULL, &pool) != TNR_OK) {
        note_refusal(all->pool_refused);
        options->pool_max_bytes = TNR_POOL_DEFAULT_MAX_BYTES;
    }
    return tnr_domain_close(&pool);
}

static tnr_status collect_machine(info *all, tnr_domain *heap, tnr_topology *topology)
{
    tnr_machine *machine = NULL;
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    TRY(try_pool(all, heap, &options));
    TRY(tnr_machine_create(heap, topology, &options, &machine));
    for (int at = 0; at < all->machine.nodes; at++) {
        if (collect_node(&all->nodes[at], machine) != TNR_OK) {
            note_refusal(all->nodes[at].refused);
        }
    }
    return tnr_machine_destroy(&machine);
}

static tnr_status collect(info *all, tnr_domain *heap)
{
    tnr_topology *topology = NULL;
    TRY(tnr_topology_create(heap, NULL, &topology));
    tnr_status status = collect_topology(all, topology);
    if (status == TNR_OK && all->machine.this_system) {
        status = collect_machine(all, heap, topology);
    }
    if (status == TNR_OK) {
        info_judge(all);
    }
    const tnr_status ended = tnr_topology_destroy(&topology);
    return status != TNR_OK ? status : ended;
}

tnr_status info_collect(info *all)
{
    memset(all, 0, sizeof(*all));
    if (gethostname(all->host, sizeof(all->host) - 1) != 0) {
        (void)snprintf(all->host, sizeof(all->host), "unknown");
    }
    info_find_rank(all);
    tnr_features(&all->features);
    all->affinity_known = tnr_thread_affinity(&all->affinity) == TNR_OK;
    tnr_domain *heap = NULL;
    TRY(tnr_heap_create(&heap));
    tnr_status status = collect(all, heap);
    if (status == TNR_OK) {
        status = tnr_domain_close(&heap);
    }
    if (status != TNR_OK) { /* the process ends now: what is left of the heap goes with it */
        info_free(all);
    }
    return status;
}

void info_free(info *all)
{
    free(all->cpu);
    free(all->nodes);
    all->cpu = NULL;
    all->nodes = NULL;
}

info_kernels info_kernels_of(const info *all, const info_node *node, tnr_dtype dtype)
{
    const bool is_real = dtype == TNR_F32 || dtype == TNR_F64;
    const bool is_float = is_real || dtype == TNR_C32 || dtype == TNR_C64;
    info_kernels kernels = {node->engine.isa, NULL, NULL};
    if (is_float) {
        const bool vector = is_real && strcmp(all->features.vector_math, "off") != 0;
        kernels.math = vector ? all->features.vector_math : "C library";
        kernels.product = node->engine.blas;
    }
    return kernels;
}

const char *info_list(const tnr_cpu_set *set, char *text, size_t room)
{
    if (tnr_cpu_set_count(set) == 0) {
        (void)snprintf(text, room, "none");
    } else if (tnr_cpu_set_format(set, text, room, NULL) != TNR_OK) {
        (void)snprintf(text, room, "%d CPUs", tnr_cpu_set_count(set));
    }
    return text;
}
