/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 10: Arena mode on bound memory: ask beforehand, take once, and never ask the system again.
 *
 * The topology and the numa domain live in a static region, sized by what they say they need. Engine, inputs and outputs live
 * in an arena over one block that is bound to a node, sized likewise: to the last byte. From then on the program computes
 * without the C library's allocator and without asking the system for memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/tenure.h>

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

static void add(tnr_need *sum, const tnr_need *term) { CHECK(tnr_need_add(sum, term, 1) == TNR_OK); }

/* Bytes of an arena in which exactly this need fits, and the options that go with it. */
static uint64_t size_of(const tnr_need *need, tnr_arena_options *options)
{
    uint64_t bytes = 0;
    uint64_t control = 0;
    options->handles = need->handles;
    CHECK(tnr_arena_bytes(need, options, &bytes, &control, &options->max_blocks) == TNR_OK);
    return bytes;
}

/* What topologies of this machine need: only a topology can say, so one is made on the heap, asked, and given back. */
static tnr_need need_of_places(void)
{
    tnr_need need = {0, 0, 0};
    tnr_need term;
    tnr_domain *heap = NULL;
    tnr_topology *probe = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_topology_create(heap, NULL, &probe) == TNR_OK);
    CHECK(tnr_topology_need(probe, &term) == TNR_OK);
    add(&need, &term);
    CHECK(tnr_numa_need(&term) == TNR_OK);
    add(&need, &term);
    CHECK(tnr_topology_destroy(&probe) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return need;
}

int main(void)
{
    /* A static region for what knows the machine. */
    static _Alignas(64) unsigned char places[1 << 20]; /* enough for a few thousand CPUs */
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    tnr_need need = need_of_places();
    const uint64_t places_bytes = size_of(&need, &options);
    tnr_domain *home = NULL;
    tnr_topology *topology = NULL;
    CHECK(places_bytes <= sizeof(places));
    CHECK(tnr_arena_create(places, places_bytes, &options, &home) == TNR_OK);
    CHECK(tnr_topology_create(home, NULL, &topology) == TNR_OK);

    /* The node of the first CPU, and its memory: bound, or, where the system refuses, not bound and saying so. */
    tnr_cpu_set cpus;
    tnr_cpu_info cpu;
    CHECK(tnr_topology_cpus(topology, &cpus) == TNR_OK);
    CHECK(tnr_topology_cpu(topology, tnr_cpu_set_next(&cpus, TNR_NONE), &cpu) == TNR_OK);
    tnr_numa_options numa = TNR_NUMA_OPTIONS;
    tnr_domain *memory = NULL;
    numa.best_effort = true;
    numa.prefault = true; /* all pages are there before the work begins */
    CHECK(tnr_numa_create(home, topology, cpu.nearest, &numa, &memory) == TNR_OK);

    /* The need of the work: an engine on that node, two inputs, and two outputs at a time. */
    enum { OUTPUTS = 2 };
    const int64_t shape[2] = {300, 100};
    const uint64_t output_bytes = 300 * 100 * sizeof(double);
    tnr_engine_options engine_options = TNR_ENGINE_OPTIONS;
    tnr_need term;
    uint64_t class_bytes = 0;
    engine_options.topology = topology;
    engine_options.node = cpu.node; /* TNR_NONE, for CPUs without memory of their own: any */
    memset(&need, 0, sizeof(need));
    CHECK(tnr_engine_need(&engine_options, OUTPUTS, &term) == TNR_OK); /* and the pool's records, but not its bytes */
    add(&need, &term);
    CHECK(tnr_tensor_need(TNR_F64, 2, shape, 2, &term) == TNR_OK);
    add(&need, &term);
    CHECK(tnr_pool_class_bytes(output_bytes, &class_bytes) == TNR_OK); /* a pool rounds up to its size class */
    CHECK(tnr_block_need(class_bytes, OUTPUTS, &term) == TNR_OK);
    term.handles = OUTPUTS; /* each output is a tensor */
    add(&need, &term);

    /* One block of the node, and an arena in it that has exactly this. */
    tnr_arena_options work = TNR_ARENA_OPTIONS;
    const uint64_t bytes = size_of(&need, &work);
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *input[2] = {NULL, NULL};
    tnr_view view[2];
    CHECK(tnr_arena_create_in(memory, bytes, &work, &arena) == TNR_OK);
    CHECK(tnr_engine_create(arena, &engine_options, &engine) == TNR_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(tnr_tensor_zeros(arena, TNR_F64, 2, shape, &input[i]) == TNR_OK);
        CHECK(tnr_tensor_view(input[i], &view[i]) == TNR_OK);
    }

    /* Work, as long as it takes. The pool asks the arena in the first round; nobody asks the node's memory again. */
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    CHECK(tnr_domain_statistics_get(memory, &before) == TNR_OK);
    for (int step = 0; step < 1000; step++) {
        tnr_tensor *sum = NULL;
        tnr_tensor *exponential = NULL;
        tnr_view s;
        CHECK(tnr_add(engine, &view[0], &view[1], &sum) == TNR_OK);
        CHECK(tnr_tensor_view(sum, &s) == TNR_OK);
        CHECK(tnr_exp(engine, &s, &exponential) == TNR_OK);
        if (step == 0) {
            tnr_tensor_info info;
            CHECK(tnr_tensor_describe(exponential, &info) == TNR_OK);
            CHECK(info.placement.cpu_affinity == tnr_domain_placement(memory).cpu_affinity);
            printf("outputs %s\n",
                   info.placement.cpu_affinity == TNR_NONE ? "in memory that is not bound" : "on the node");
        }
        CHECK(tnr_tensor_release(&exponential) == TNR_OK);
        CHECK(tnr_tensor_release(&sum) == TNR_OK);
    }
    CHECK(tnr_domain_statistics_get(memory, &after) == TNR_OK);
    CHECK(after.allocations == before.allocations && after.bytes == before.bytes);

    /* Exactly this: a third output is one too many. It says what is lacking, and nothing has changed. */
    tnr_tensor *outputs[OUTPUTS + 1] = {NULL};
    for (int i = 0; i < OUTPUTS; i++) {
        CHECK(tnr_add(engine, &view[0], &view[1], &outputs[i]) == TNR_OK);
    }
    CHECK(tnr_add(engine, &view[0], &view[1], &outputs[OUTPUTS]) == TNR_ERR_MEMORY);
    printf("refused: %s\n", tnr_last_error());

    for (int i = 0; i < 2; i++) {
        CHECK(tnr_tensor_release(&outputs[i]) == TNR_OK);
        CHECK(tnr_tensor_release(&input[i]) == TNR_OK);
    }
    CHECK(tnr_engine_destroy(&engine) == TNR_OK);
    CHECK(tnr_domain_close(&arena) == TNR_OK); /* the block goes back to the node */
    CHECK(tnr_domain_close(&memory) == TNR_OK);
    CHECK(tnr_topology_destroy(&topology) == TNR_OK);
    CHECK(tnr_domain_close(&home) == TNR_OK);
    return 0;
}
