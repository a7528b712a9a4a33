/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report as one JSON object (RFC 8259): for programs, so every CPU has its entry. What does not exist is null, sets
 * of CPUs are lists as taskset writes them ("" for the empty one), sizes are bytes.
 */
#include "info.h"

#include <inttypes.h>
#include <string.h>

/* Where we are in the text: how deep, and whether something came before on this level. */
typedef struct writer {
    FILE *file;
    int depth;
    bool first;
} writer;

static void put_text(writer *w, const char *text)
{
    (void)fputc('"', w->file);
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++) {
        if (*at == '"' || *at == '\\') {
            (void)fprintf(w->file, "\\%c", *at);
        } else if (*at < 0x20 || *at > 0x7e) { /* bytes of no known encoding: their Latin-1 characters */
            (void)fprintf(w->file, "\\u%04x", *at);
        } else {
            (void)fputc(*at, w->file);
        }
    }
    (void)fputc('"', w->file);
}

/* Begin an entry: a name in an object, nothing but its place in an array. */
static void entry(writer *w, const char *name)
{
    (void)fprintf(w->file, w->first ? "\n" : ",\n");
    (void)fprintf(w->file, "%*s", 2 * w->depth, "");
    w->first = false;
    if (name != NULL) {
        put_text(w, name);
        (void)fputs(": ", w->file);
    }
}

static void begin(writer *w, char bracket)
{
    (void)fputc(bracket, w->file);
    w->depth++;
    w->first = true;
}

static void end(writer *w, char bracket)
{
    w->depth--;
    if (!w->first) {
        (void)fprintf(w->file, "\n%*s", 2 * w->depth, "");
    }
    (void)fputc(bracket, w->file);
    w->first = false;
}

static void add_text(writer *w, const char *name, const char *text)
{
    entry(w, name);
    if (text == NULL) {
        (void)fputs("null", w->file);
    } else {
        put_text(w, text);
    }
}

static void add_number(writer *w, const char *name, uint64_t value)
{
    entry(w, name);
    (void)fprintf(w->file, "%" PRIu64, value);
}

/* A node, or null for TNR_NONE. */
static void add_node(writer *w, const char *name, int node)
{
    entry(w, name);
    if (node == TNR_NONE) {
        (void)fputs("null", w->file);
    } else {
        (void)fprintf(w->file, "%d", node);
    }
}

static void add_bool(writer *w, const char *name, bool value)
{
    entry(w, name);
    (void)fputs(value ? "true" : "false", w->file);
}

static void add_set(writer *w, const char *name, const tnr_cpu_set *set)
{
    char text[16 * 1024]; /* even every other CPU of a large machine fits */
    add_text(w, name, tnr_cpu_set_count(set) == 0 ? "" : info_list(set, text, sizeof(text)));
}

static void add_object(writer *w, const char *name)
{
    entry(w, name);
    begin(w, '{');
}

static void add_array(writer *w, const char *name)
{
    entry(w, name);
    begin(w, '[');
}

static void add_rank(writer *w, const info *all)
{
    if (all->rank_from == NULL) {
        add_text(w, "rank", NULL);
        return;
    }
    add_object(w, "rank");
    add_number(w, "number", (uint64_t)all->rank);
    add_text(w, "from", all->rank_from);
    if (all->local_ranks > 0) {
        add_number(w, "ranks_on_host", (uint64_t)all->local_ranks);
    } else {
        add_text(w, "ranks_on_host", NULL);
    }
    end(w, '}');
}

static void add_features(writer *w, const tnr_feature_set *features)
{
    add_object(w, "features");
    add_number(w, "max_rank", (uint64_t)features->max_rank);
    add_bool(w, "bounded", features->bounded);
    add_bool(w, "threads", features->threads);
    add_bool(w, "debug", features->debug);
    add_text(w, "hwloc", features->hwloc);
    add_text(w, "blis", features->blis);
    add_text(w, "vector_math", features->vector_math);
    add_text(w, "mpi", features->mpi);
    add_text(w, "cuda", features->cuda);
    add_text(w, "sanitize", features->sanitize);
    end(w, '}');
}

/* A described machine runs nobody: there the affinity is the real machine's, and is called so. */
static void add_affinity(writer *w, const info *all)
{
    if (all->affinity_known && all->machine.this_system) {
        add_set(w, "affinity", &all->affinity);
    } else {
        add_text(w, "affinity", NULL);
    }
    if (all->affinity_known && !all->machine.this_system) {
        add_set(w, "real_affinity", &all->affinity);
    }
}

static void add_machine(writer *w, const info *all)
{
    add_object(w, "machine");
    add_bool(w, "described", !all->machine.this_system);
    add_bool(w, "hwloc", all->machine.hwloc);
    add_bool(w, "binding", all->machine.binding);
    add_number(w, "machine_cpus", (uint64_t)all->machine.machine_cpus);
    add_number(w, "usable_cpus", (uint64_t)all->machine.cpus);
    add_number(w, "usable_cores", (uint64_t)all->machine.cores);
    add_number(w, "usable_nodes", (uint64_t)all->machine.nodes);
    add_number(w, "nodes_with_cpus", (uint64_t)all->machine.cpu_nodes);
    add_set(w, "cpus", &all->cpus);
    add_set(w, "cores", &all->cores);
    add_affinity(w, all);
    add_number(w, "page_bytes", all->machine.page_bytes);
    add_number(w, "huge_page_bytes", all->machine.huge_bytes);
    end(w, '}');
}

/* What went wrong, in the library's words; empty when all is well. */
static void add_problems(writer *w, const info *all)
{
    add_array(w, "problems");
    if (all->pool_refused[0] != 0) {
        add_text(w, NULL, all->pool_refused);
    }
    for (int at = 0; at < all->machine.nodes; at++) {
        if (all->nodes[at].refused[0] != 0) {
            add_text(w, NULL, all->nodes[at].refused);
        }
    }
    end(w, ']');
}

static void add_binding(writer *w, const info *all, const info_node *node)
{
    add_object(w, "binding");
    add_node(w, "requested", node->tried ? node->binding.requested : TNR_NONE);
    add_node(w, "bound", node->tried ? node->binding.bound : TNR_NONE);
    add_bool(w, "verified", node->verified);
    if (node->tried) {
        add_text(w, "reason", node->binding.bound == TNR_NONE ? node->binding.reason : NULL);
    } else {
        const char *refused = node->refused[0] != 0 ? node->refused : "built without hwloc";
        add_text(w, "reason", all->machine.this_system ? refused : "described machine");
    }
    end(w, '}');
}

static void add_nodes(writer *w, const info *all)
{
    add_array(w, "nodes");
    for (int at = 0; at < all->machine.nodes; at++) {
        const info_node *node = &all->nodes[at];
        add_object(w, NULL);
        add_number(w, "node", (uint64_t)node->node.node);
        add_set(w, "cpus", &node->node.cpu_set);
        add_set(w, "cores", &node->node.core_set);
        add_number(w, "bytes", node->node.bytes);
        add_number(w, "l3_bytes", node->node.l3_bytes);
        add_binding(w, all, node);
        end(w, '}');
    }
    end(w, ']');
}

static void add_cpus(writer *w, const info *all)
{
    add_array(w, "cpus");
    for (int at = 0; at < all->machine.cpus; at++) {
        const tnr_cpu_info *cpu = &all->cpu[at];
        add_object(w, NULL);
        add_number(w, "cpu", (uint64_t)cpu->cpu);
        add_node(w, "node", cpu->node);
        add_node(w, "nearest", cpu->nearest);
        add_number(w, "core", (uint64_t)cpu->core);
        add_number(w, "sibling", (uint64_t)cpu->sibling);
        add_number(w, "l1_bytes", cpu->l1_bytes);
        add_number(w, "l2_bytes", cpu->l2_bytes);
        add_number(w, "l2_cpus", (uint64_t)cpu->l2_cpus);
        add_number(w, "l3_bytes", cpu->l3_bytes);
        add_number(w, "l3_cpus", (uint64_t)cpu->l3_cpus);
        add_number(w, "line_bytes", cpu->line_bytes);
        end(w, '}');
    }
    end(w, ']');
}

static void add_kernels(writer *w, const info *all, const info_node *node)
{
    add_object(w, "kernels");
    for (int dtype = TNR_DTYPE_NONE + 1; dtype < TNR_DTYPE_END; dtype++) {
        const info_kernels kernels = info_kernels_of(all, node, (tnr_dtype)dtype);
        add_object(w, tnr_dtype_name((tnr_dtype)dtype));
        add_text(w, "elements", kernels.elementwise);
        add_text(w, "math", kernels.math);
        add_text(w, "product", kernels.product);
        end(w, '}');
    }
    end(w, '}');
}

static void add_engines(writer *w, const info *all)
{
    add_array(w, "engines");
    for (int at = 0; at < all->machine.nodes; at++) {
        const info_node *node = &all->nodes[at];
        if (!node->engine_made) {
            continue;
        }
        add_object(w, NULL);
        add_node(w, "node", node->engine.node);
        add_number(w, "workers", (uint64_t)node->engine.workers);
        add_bool(w, "threads", node->engine.threads);
        add_set(w, "cpus", &node->engine.cpus);
        add_node(w, "outputs_on", node->output_node);
        add_text(w, "isa", node->engine.isa);
        add_text(w, "blas", node->engine.blas);
        add_number(w, "l2_bytes", node->engine.l2_bytes);
        add_number(w, "l3_bytes", node->engine.l3_bytes);
        if (all->pool_refused[0] != 0) {
            add_text(w, "pool_max_bytes", NULL);
        } else {
            add_number(w, "pool_max_bytes", node->pool.max_bytes);
        }
        add_kernels(w, all, node);
        end(w, '}');
    }
    end(w, ']');
}

bool info_print_json(const info *all, FILE *file)
{
    writer w = {file, 0, true};
    begin(&w, '{');
    add_text(&w, "tenure", all->features.version);
    add_text(&w, "host", all->host);
    add_rank(&w, all);
    add_text(&w, "verdict", all->verdict);
    add_problems(&w, all);
    add_machine(&w, all);
    add_nodes(&w, all);
    add_cpus(&w, all);
    add_engines(&w, all);
    add_features(&w, &all->features);
    end(&w, '}');
    (void)fputc('\n', file);
    return fflush(file) == 0 && ferror(file) == 0;
}
