/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement on a real kernel with four NUMA nodes (vm.sh): nodes 0, 1, 2 with two CPUs each, node 3 with memory only, and
 * little of it. Every test makes its own topology and machine, and asks both the library and /proc where things are.
 * Elsewhere than on that machine this program refuses to run: it would show nothing.
 */
#define _GNU_SOURCE /* sched_setaffinity */

#include "proc_files.h"
#include "tenure/tenure.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OK(call)                                                                       \
    do {                                                                               \
        const tnr_status status_ = (call);                                             \
        if (status_ != TNR_OK) {                                                       \
            fail_msg("%s: %s: %s", #call, tnr_status_name(status_), tnr_last_error()); \
        }                                                                              \
    } while (0)

enum {
    ELEMENTS = 1 << 19, /* of f64: 4 MiB, more than any cache level here, and large enough for the workers */
    MEMORY_NODE = 3,
    MISSING_NODE = 7,
    EXPECTED_NODES = 4,
    CPU_NODES = 3
};

static const int64_t extent[1] = {ELEMENTS};

/* One test's world. */
typedef struct world {
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_machine *machine;
} world;

static void world_open(world *w)
{
    const tnr_machine_options strict = {
        .size = sizeof(strict), .pool_max_bytes = TNR_POOL_MAX_BYTES_AUTO, .strict = true};
    memset(w, 0, sizeof(*w));
    OK(tnr_heap_create(&w->heap));
    OK(tnr_topology_create(w->heap, NULL, &w->topology));
    OK(tnr_machine_create(w->heap, w->topology, &strict, &w->machine));
}

/* Also shows that nothing was left: domains that hold something refuse. */
static void world_close(world *w)
{
    OK(tnr_machine_destroy(&w->machine));
    OK(tnr_topology_destroy(&w->topology));
    OK(tnr_domain_close(&w->heap));
}

static int setup(void **state)
{
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    world_open(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

/* ---- Witnesses ---------------------------------------------------------------------------------------------------------- */

/* All pages of these bytes are there, on that node, because of a binding to it: by the library and by the kernel. */
static void assert_bytes_at(const void *address, uint64_t bytes, int node)
{
    tnr_residence where;
    OK(tnr_residence_of(address, bytes, node, &where));
    assert_true(where.pages >= bytes / 4096);
    assert_int_equal(where.present, where.pages);
    assert_int_equal(where.at_node, where.pages);
    assert_int_equal(where.elsewhere, 0);
    assert_int_equal(tnr_node_set_count(&where.nodes), 1);
    assert_true(tnr_node_set_has(&where.nodes, node));

    proc_mapping mapping;
    char expected[32];
    (void)snprintf(expected, sizeof(expected), "bind:%d", node);
    assert_true(proc_mapping_of(address, &mapping));
    assert_string_equal(mapping.policy, expected);
    for (int other = 0; other < 8; other++) {
        if (other == node) {
            assert_true(mapping.pages[other] > 0);
        } else {
            assert_int_equal(mapping.pages[other], 0);
        }
    }
}

/* A tensor says that it is on the node, and it is. */
static void assert_tensor_at(const tnr_tensor *tensor, int node)
{
    tnr_tensor_info info;
    const void *data = NULL;
    OK(tnr_tensor_describe(tensor, &info));
    assert_int_equal(info.placement.kind, TNR_MEMORY_HOST);
    assert_int_equal(info.placement.cpu_affinity, node);
    OK(tnr_tensor_host_data(tensor, &data));
    assert_bytes_at(data, info.bytes, node);
}

static void assert_all(const tnr_tensor *tensor, double value)
{
    const void *data = NULL;
    OK(tnr_tensor_host_data(tensor, &data));
    const double *elements = data;
    for (int64_t i = 0; i < ELEMENTS; i++) {
        if (!(elements[i] >= value && elements[i] <= value)) {
            fail_msg("element %lld is %g, expected %g", (long long)i, elements[i], value);
        }
    }
}

/* A tensor of one value in the memory of a node, by its machine's domain. */
static tnr_tensor *filled(world *w, int node, double value)
{
    tnr_domain *domain = NULL;
    tnr_tensor *tensor = NULL;
    OK(tnr_machine_domain(w->machine, node, &domain));
    OK(tnr_tensor_full(domain, TNR_F64, 1, extent, &value, &tensor));
    return tensor;
}

static tnr_tensor *sum_of(tnr_engine *engine, const tnr_tensor *a, const tnr_tensor *b)
{
    tnr_view left;
    tnr_view right;
    tnr_tensor *out = NULL;
    OK(tnr_tensor_view(a, &left));
    OK(tnr_tensor_view(b, &right));
    OK(tnr_add(engine, &left, &right, &out));
    return out;
}

/* Keep the calling thread on some CPUs. */
static void stay_on(int first, int last)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = first; cpu <= last; cpu++) {
        CPU_SET((size_t)cpu, &set);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* Run a function in a child, which cannot harm the other tests: it ends with 0 when all its assertions held. */
static void in_child(void (*body)(void))
{
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body();
        (void)fflush(NULL);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("the child ended with %s %d", WIFEXITED(status) ? "status" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
}

/* In a child cmocka's assertions have nowhere to jump to. */
#define CHILD(condition)                                                                               \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            (void)printf("child, line %d: %s is false; %s\n", __LINE__, #condition, tnr_last_error()); \
            (void)fflush(NULL);                                                                        \
            _exit(1);                                                                                  \
        }                                                                                              \
    } while (0)

/* ---- What there is -------------------------------------------------------------------------------------------------------- */

static void the_nodes_are_as_booted(void **state)
{
    static const char *const cpus[EXPECTED_NODES] = {"0-1", "2-3", "4-5", ""};
    world *w = *state;
    tnr_topology_info all;
    OK(tnr_topology_describe(w->topology, &all));
    assert_true(all.hwloc && all.this_system && all.binding);
    assert_int_equal(all.nodes, EXPECTED_NODES);
    assert_int_equal(all.cpu_nodes, CPU_NODES);
    assert_int_equal(all.cpus, 6);
    assert_int_equal(all.cores, 6);
    assert_int_equal(all.machine_cpus, 6);
    assert_int_equal(all.page_bytes, 4096);
    for (int node = 0; node < EXPECTED_NODES; node++) {
        tnr_node_info info;
        char list[64];
        OK(tnr_topology_node_at(w->topology, node, &info));
        assert_int_equal(info.node, node);
        assert_int_equal(info.cpus, node == MEMORY_NODE ? 0 : 2);
        assert_true(info.bytes >= (uint64_t)64 << 20 && info.bytes <= (uint64_t)512 << 20);
        OK(tnr_cpu_set_format(&info.cpu_set, list, sizeof(list), NULL));
        assert_string_equal(list, cpus[node]);
    }
    for (int cpu = 0; cpu < 6; cpu++) {
        tnr_cpu_info info;
        OK(tnr_topology_cpu(w->topology, cpu, &info));
        assert_int_equal(info.node, cpu / 2);
        assert_int_equal(info.sibling, 0);
    }
    assert_int_equal(tnr_machine_nodes(w->machine), CPU_NODES); /* no engine where there is no CPU */
    assert_int_equal(tnr_machine_node_at(w->machine, 2), 2);
    assert_int_equal(tnr_machine_node_at(w->machine, 3), TNR_NONE);
}

static void a_missing_node_is_an_error(void **state)
{
    world *w = *state;
    tnr_node_info info;
    tnr_domain *domain = NULL;
    tnr_engine *engine = NULL;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.topology = w->topology;
    options.node = MISSING_NODE;
    assert_int_equal(tnr_topology_node(w->topology, MISSING_NODE, &info), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_numa_create(w->heap, w->topology, MISSING_NODE, NULL, &domain), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_machine_domain(w->machine, MISSING_NODE, &domain), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_machine_engine(w->machine, MISSING_NODE, &engine), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_machine_engine(w->machine, MEMORY_NODE, &engine), TNR_ERR_BOUNDS); /* no CPU there */
    assert_int_equal(tnr_engine_create(w->heap, &options, &engine), TNR_ERR_BOUNDS);
    assert_null(domain);
    assert_null(engine);
}

static void every_node_binds_and_says_so(void **state)
{
    world *w = *state;
    for (int node = 0; node < EXPECTED_NODES; node++) {
        tnr_domain *domain = NULL;
        tnr_numa_info info;
        OK(tnr_machine_domain(w->machine, node, &domain));
        OK(tnr_numa_describe(domain, &info));
        assert_int_equal(info.requested, node);
        assert_int_equal(info.bound, node);
        assert_int_equal(info.error, 0);
        assert_string_equal(info.reason, "");
        assert_int_equal(tnr_domain_placement(domain).cpu_affinity, node);
    }
}

/* Bound is not yet there: pages come with the first touch, and then where they must, whoever touches them. */
static void pages_appear_on_first_touch(void **state)
{
    const uint64_t bytes = (uint64_t)1 << 20;
    world *w = *state;
    tnr_feature_set features;
    tnr_features(&features);
    for (int node = 0; node < EXPECTED_NODES; node++) {
        tnr_domain *domain = NULL;
        tnr_block block;
        tnr_residence before;
        OK(tnr_machine_domain(w->machine, node, &domain));
        OK(tnr_domain_allocate(domain, bytes, 0, &block));
        OK(tnr_residence_of(block.address, bytes, node, &before));
        assert_int_equal(before.pages, bytes / 4096);
        if (!features.debug) { /* those builds fill what they hand out */
            assert_int_equal(before.present, 0);
            assert_int_equal(tnr_node_set_count(&before.nodes), 0);
        }
        stay_on(2 * ((node + 1) % CPU_NODES), 2 * ((node + 1) % CPU_NODES));
        memset(block.address, 1, (size_t)bytes);
        stay_on(0, 5);
        assert_bytes_at(block.address, bytes, node);
        OK(tnr_domain_release(domain, &block));
    }
}

/* ---- Engines -------------------------------------------------------------------------------------------------------------- */

static void workers_are_pinned_to_their_nodes(void **state)
{
    world *w = *state;
    tnr_cpu_set before;
    tnr_cpu_set after;
    tnr_cpu_set threads[16];
    const int had = proc_other_threads(threads, 16); /* a sanitizer's own, if any */
    assert_true(had >= 0);
    OK(tnr_thread_affinity(&before));
    for (int node = 0; node < CPU_NODES; node++) {
        tnr_engine *engine = NULL;
        tnr_engine_info info;
        char list[64];
        char expected[64];
        OK(tnr_machine_engine(w->machine, node, &engine));
        tnr_tensor *a = filled(w, node, 1.0);
        tnr_tensor *out = sum_of(engine, a, a); /* so that lazy workers are there, too */
        OK(tnr_tensor_release(&out));
        OK(tnr_tensor_release(&a));
        OK(tnr_engine_describe(engine, &info));
        assert_int_equal(info.node, node);
        assert_int_equal(info.workers, 2);
        assert_true(info.threads);
        OK(tnr_cpu_set_format(&info.cpus, list, sizeof(list), NULL));
        (void)snprintf(expected, sizeof(expected), "%d-%d", 2 * node, 2 * node + 1);
        assert_string_equal(list, expected);
    }
    /* The kernel's own list: six new threads, each with one CPU, no two with the same. */
    int seen[6] = {0};
    const int have = proc_other_threads(threads, 16);
    assert_int_equal(have, had + 6);
    for (int at = 0; at < have; at++) {
        if (tnr_cpu_set_count(&threads[at]) == 1) {
            seen[tnr_cpu_set_next(&threads[at], TNR_NONE)]++;
        }
    }
    for (int cpu = 0; cpu < 6; cpu++) {
        assert_int_equal(seen[cpu], 1);
    }
    OK(tnr_thread_affinity(&after));
    assert_memory_equal(&before, &after, sizeof(before)); /* the caller's own is untouched */
    OK(tnr_machine_destroy(&w->machine));
    for (int tries = 0; tries < 2000 && proc_other_threads(threads, 16) != had; tries++) {
        (void)usleep(1000); /* the system lists a thread that was joined for a moment more */
    }
    assert_int_equal(proc_other_threads(threads, 16), had); /* no thread is left behind */
}

/* Each engine's outputs are on its node, though the caller runs on another one; buffers that come again are there still. */
static void outputs_and_reused_buffers_are_on_the_node(void **state)
{
    world *w = *state;
    for (int node = 0; node < CPU_NODES; node++) {
        tnr_engine *engine = NULL;
        tnr_pool_statistics pool;
        const void *first = NULL;
        const void *again = NULL;
        const int far = (node + 1) % CPU_NODES;
        OK(tnr_machine_engine(w->machine, node, &engine));
        tnr_tensor *a = filled(w, node, 1.5);
        stay_on(2 * far, 2 * far + 1);
        tnr_tensor *out = sum_of(engine, a, a);
        assert_tensor_at(out, node);
        assert_all(out, 3.0);
        OK(tnr_tensor_host_data(out, &first));
        OK(tnr_tensor_release(&out));

        out = sum_of(engine, a, a);
        OK(tnr_tensor_host_data(out, &again));
        assert_ptr_equal(again, first);
        OK(tnr_pool_statistics_get(tnr_engine_pool(engine), &pool));
        assert_true(pool.hits >= 1);
        assert_tensor_at(out, node);
        OK(tnr_tensor_release(&out));

        double small_value = 2.0; /* small work runs on the caller, far away, and stays on the node all the same */
        const int64_t few[1] = {4};
        tnr_tensor *small = NULL;
        tnr_view view;
        OK(tnr_tensor_full(tnr_engine_output(engine), TNR_F64, 1, few, &small_value, &small));
        OK(tnr_tensor_view(small, &view));
        OK(tnr_add(engine, &view, &view, &out));
        assert_tensor_at(out, node);
        OK(tnr_tensor_release(&out));
        OK(tnr_tensor_release(&small));
        stay_on(0, 5);
        OK(tnr_tensor_release(&a));
    }
}

/* Memory of other nodes is read where it is: nothing of it moves. */
static void a_remote_read_moves_nothing(void **state)
{
    world *w = *state;
    tnr_engine *engine = NULL;
    tnr_ledger before;
    tnr_ledger after;
    OK(tnr_machine_engine(w->machine, 1, &engine));
    tnr_tensor *a = filled(w, 0, 40.0);
    tnr_tensor *b = filled(w, 2, 2.0);
    OK(tnr_ledger_get(tnr_engine_output(engine), &before));
    tnr_tensor *out = sum_of(engine, a, b);
    OK(tnr_ledger_get(tnr_engine_output(engine), &after));
    assert_memory_equal(before.copies, after.copies, sizeof(before.copies));
    assert_all(out, 42.0);
    assert_tensor_at(out, 1);
    assert_tensor_at(a, 0);
    assert_tensor_at(b, 2);
    assert_all(a, 40.0);
    assert_all(b, 2.0);

    /* Into the caller's own tensor: its place stays what it was, whoever writes it. */
    tnr_view left;
    tnr_view right;
    tnr_view_mut target;
    OK(tnr_tensor_view(b, &left));
    OK(tnr_tensor_view(out, &right));
    OK(tnr_tensor_view_mut(a, &target));
    OK(tnr_add_into(engine, &left, &right, &target));
    assert_all(a, 44.0);
    assert_tensor_at(a, 0);
    OK(tnr_tensor_release(&a));
    OK(tnr_tensor_release(&b));
    OK(tnr_tensor_release(&out));
}

static void the_memory_only_node_keeps_bytes(void **state)
{
    world *w = *state;
    tnr_domain *domain = NULL;
    tnr_domain *pool = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *kept = NULL;
    const double value = 5.0;
    OK(tnr_machine_domain(w->machine, MEMORY_NODE, &domain));
    OK(tnr_pool_create(domain, NULL, &pool));
    OK(tnr_tensor_full(pool, TNR_F64, 1, extent, &value, &kept));
    assert_tensor_at(kept, MEMORY_NODE);
    OK(tnr_machine_engine(w->machine, 0, &engine));
    tnr_tensor *out = sum_of(engine, kept, kept);
    assert_tensor_at(out, 0);
    assert_tensor_at(kept, MEMORY_NODE);
    assert_all(out, 10.0);
    OK(tnr_tensor_release(&out));
    OK(tnr_tensor_release(&kept));
    OK(tnr_domain_close(&pool));
}

static void an_arena_on_bound_memory_stamps_its_node(void **state)
{
    world *w = *state;
    tnr_domain *domain = NULL;
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    OK(tnr_machine_domain(w->machine, 2, &domain));
    OK(tnr_arena_create_in(domain, (uint64_t)32 << 20, NULL, &arena));
    assert_int_equal(tnr_domain_placement(arena).cpu_affinity, 2);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.output = arena;
    options.topology = w->topology;
    options.node = 1;
    OK(tnr_engine_create(w->heap, &options, &engine));
    const double value = 3.0;
    tnr_tensor *in = NULL;
    OK(tnr_tensor_full(arena, TNR_F64, 1, extent, &value, &in));
    tnr_tensor *out = sum_of(engine, in, in); /* workers of node 1, output of node 2 */
    assert_tensor_at(in, 2);
    assert_tensor_at(out, 2);
    assert_all(out, 6.0);
    OK(tnr_tensor_release(&out));
    OK(tnr_tensor_release(&in));
    OK(tnr_engine_destroy(&engine));
    OK(tnr_arena_check(arena));
    OK(tnr_domain_close(&arena));
}

/* ---- Routing ---------------------------------------------------------------------------------------------------------------- */

static void a_route_follows_the_bytes(void **state)
{
    world *w = *state;
    tnr_engine *engine = NULL;
    tnr_engine *engine_of_2 = NULL;
    tnr_engine *engine_of_0 = NULL;
    tnr_route_reason reason;
    tnr_tensor *small = NULL;
    tnr_domain *domain = NULL;
    tnr_view views[3];
    const int64_t few[1] = {16};
    OK(tnr_machine_engine(w->machine, 2, &engine_of_2));
    OK(tnr_machine_engine(w->machine, 0, &engine_of_0));
    OK(tnr_machine_domain(w->machine, 1, &domain));
    OK(tnr_tensor_zeros(domain, TNR_F64, 1, few, &small));
    tnr_tensor *large = filled(w, 2, 1.0);
    tnr_tensor *far = filled(w, MEMORY_NODE, 1.0);
    OK(tnr_tensor_view(small, &views[0]));
    OK(tnr_tensor_view(large, &views[1]));
    OK(tnr_tensor_view(far, &views[2]));
    const tnr_view *both[2] = {&views[0], &views[1]};
    const tnr_view *with_far[2] = {&views[1], &views[2]};
    const tnr_view *only_far[1] = {&views[2]};

    OK(tnr_machine_route(w->machine, TNR_ROUTE_DOMINANT, both, 2, TNR_NONE, &engine, &reason));
    assert_ptr_equal(engine, engine_of_2);
    assert_int_equal(reason, TNR_ROUTED_DOMINANT);
    assert_int_equal(tnr_machine_route(w->machine, TNR_ROUTE_REQUIRE_ONE, both, 2, TNR_NONE, &engine, &reason),
                     TNR_ERR_RESIDENCY);
    OK(tnr_machine_route(w->machine, TNR_ROUTE_REQUIRE_ONE, with_far, 2, TNR_NONE, &engine, &reason));
    assert_ptr_equal(engine, engine_of_2); /* a node without an engine has no say */
    assert_int_equal(reason, TNR_ROUTED_SINGLE);
    OK(tnr_machine_route(w->machine, TNR_ROUTE_DOMINANT, only_far, 1, TNR_NONE, &engine, &reason));
    assert_ptr_equal(engine, engine_of_0);
    assert_int_equal(reason, TNR_ROUTED_DEFAULT);
    OK(tnr_machine_route(w->machine, TNR_ROUTE_DOMINANT, both, 2, 0, &engine, &reason));
    assert_ptr_equal(engine, engine_of_0);
    assert_int_equal(reason, TNR_ROUTED_EXPLICIT);
    OK(tnr_tensor_release(&small));
    OK(tnr_tensor_release(&large));
    OK(tnr_tensor_release(&far));
}

/* ---- Several at once ---------------------------------------------------------------------------------------------------------- */

typedef struct side {
    tnr_engine *engine;
    const tnr_tensor *in;
    tnr_tensor *out;
    tnr_status status;
    int rounds;
} side;

static void *work_on_one_side(void *argument)
{
    side *s = argument;
    for (int round = 0; round < s->rounds && s->status == TNR_OK; round++) {
        tnr_view view;
        s->status = tnr_tensor_release(&s->out);
        s->status = s->status == TNR_OK ? tnr_tensor_view(s->in, &view) : s->status;
        s->status = s->status == TNR_OK ? tnr_add(s->engine, &view, &view, &s->out) : s->status;
    }
    return NULL;
}

static void three_engines_work_at_once(void **state)
{
    world *w = *state;
    side sides[CPU_NODES];
    pthread_t threads[CPU_NODES];
    memset(sides, 0, sizeof(sides));
    for (int node = 0; node < CPU_NODES; node++) {
        OK(tnr_machine_engine(w->machine, node, &sides[node].engine));
        sides[node].in = filled(w, node, (double)node + 1);
        sides[node].rounds = 5;
    }
    for (int node = 0; node < CPU_NODES; node++) {
        assert_int_equal(pthread_create(&threads[node], NULL, work_on_one_side, &sides[node]), 0);
    }
    for (int node = 0; node < CPU_NODES; node++) {
        assert_int_equal(pthread_join(threads[node], NULL), 0);
    }
    for (int node = 0; node < CPU_NODES; node++) {
        tnr_tensor *in = (tnr_tensor *)(uintptr_t)sides[node].in;
        assert_int_equal(sides[node].status, TNR_OK);
        assert_tensor_at(sides[node].out, node);
        assert_all(sides[node].out, 2.0 * ((double)node + 1));
        OK(tnr_tensor_release(&sides[node].out));
        OK(tnr_tensor_release(&in));
    }
}

/* ---- Limits -------------------------------------------------------------------------------------------------------------------- */

/* Takes more and more of node 3, whose memory is small, every page at once: in the end a refusal, never a death. */
static void exhaust_the_small_node(void)
{
    enum { BLOCKS = 64 };
    const uint64_t bytes = (uint64_t)4 << 20;
    world w;
    tnr_domain *domain = NULL;
    tnr_block blocks[BLOCKS];
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.prefault = true;
    memset(&w, 0, sizeof(w));
    CHILD(tnr_heap_create(&w.heap) == TNR_OK);
    CHILD(tnr_topology_create(w.heap, NULL, &w.topology) == TNR_OK);
    CHILD(tnr_numa_create(w.heap, w.topology, MEMORY_NODE, &options, &domain) == TNR_OK);
    int taken = 0;
    tnr_status status = TNR_OK;
    while (taken < BLOCKS && (status = tnr_domain_allocate(domain, bytes, 0, &blocks[taken])) == TNR_OK) {
        tnr_residence where;
        CHILD(tnr_residence_of(blocks[taken].address, bytes, MEMORY_NODE, &where) == TNR_OK);
        CHILD(where.at_node == bytes / 4096); /* there already, and nowhere else */
        taken++;
    }
    (void)printf("node %d gave %d blocks of %d MiB, then: %s\n", MEMORY_NODE, taken, (int)(bytes >> 20),
                 tnr_last_error());
    CHILD(status == TNR_ERR_MEMORY || status == TNR_ERR_BACKEND);
    CHILD(taken >= 4);
    while (taken > 0) {
        taken--;
        CHILD(tnr_domain_release(domain, &blocks[taken]) == TNR_OK);
    }
    CHILD(tnr_domain_allocate(domain, bytes, 0, &blocks[0]) == TNR_OK); /* what came back can be had again */
    CHILD(tnr_domain_release(domain, &blocks[0]) == TNR_OK);
    CHILD(tnr_domain_close(&domain) == TNR_OK);
    CHILD(tnr_topology_destroy(&w.topology) == TNR_OK);
    CHILD(tnr_domain_close(&w.heap) == TNR_OK);
}

static void a_full_node_is_an_error(void **state)
{
    (void)state;
    in_child(exhaust_the_small_node);
}

static void huge_pages_stay_on_the_node(void **state)
{
    const uint64_t bytes = (uint64_t)16 << 20;
    world *w = *state;
    tnr_topology_info all;
    tnr_domain *domain = NULL;
    tnr_numa_info info;
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    tnr_block block;
    OK(tnr_topology_describe(w->topology, &all));
    assert_int_equal(all.huge_bytes, (uint64_t)2 << 20);
    options.prefault = true;
    OK(tnr_numa_create(w->heap, w->topology, 2, &options, &domain));
    OK(tnr_numa_describe(domain, &info));
    assert_int_equal(info.huge_above, 4 * all.huge_bytes);
    const int64_t before = proc_huge_bytes();
    OK(tnr_domain_allocate(domain, bytes, 0, &block));
    assert_int_equal((uintptr_t)block.address % all.huge_bytes, 0);
    memset(block.address, 1, (size_t)bytes);
    assert_bytes_at(block.address, bytes, 2);
    assert_true(proc_huge_bytes() > before); /* the node is empty enough for the system to grant some */
    OK(tnr_domain_release(domain, &block));
    OK(tnr_domain_close(&domain));
}

/* ---- Restrictions ----------------------------------------------------------------------------------------------------------- */

/* What a process sees that may run on CPUs 2 and 3 only. `nodes`: how many nodes' memory it may use. */
static void look_at_node_1_alone(int nodes)
{
    world w;
    tnr_topology_info all;
    tnr_node_info node;
    tnr_engine *engine = NULL;
    tnr_engine_info info;
    tnr_view view;
    tnr_tensor *in = NULL;
    tnr_tensor *out = NULL;
    tnr_tensor_info placed;
    const double value = 2.0;
    memset(&w, 0, sizeof(w));
    CHILD(tnr_heap_create(&w.heap) == TNR_OK);
    CHILD(tnr_topology_create(w.heap, NULL, &w.topology) == TNR_OK);
    CHILD(tnr_machine_create(w.heap, w.topology, NULL, &w.machine) == TNR_OK);
    CHILD(tnr_topology_describe(w.topology, &all) == TNR_OK);
    CHILD(all.cpus == 2 && all.cpu_nodes == 1 && all.machine_cpus == 6);
    CHILD(nodes == 0 || all.nodes == nodes);
    CHILD(tnr_topology_node(w.topology, 1, &node) == TNR_OK && node.cpus == 2);
    CHILD(tnr_machine_nodes(w.machine) == 1 && tnr_machine_node_at(w.machine, 0) == 1);
    CHILD(tnr_machine_engine(w.machine, 0, &engine) == TNR_ERR_BOUNDS);
    CHILD(tnr_machine_engine(w.machine, TNR_NONE, &engine) == TNR_OK);
    CHILD(tnr_engine_describe(engine, &info) == TNR_OK);
    CHILD(info.node == 1 && info.workers == 2);
    CHILD(tnr_cpu_set_count(&info.cpus) == 2 && tnr_cpu_set_has(&info.cpus, 2) && tnr_cpu_set_has(&info.cpus, 3));
    CHILD(tnr_tensor_full(tnr_engine_output(engine), TNR_F64, 1, extent, &value, &in) == TNR_OK);
    CHILD(tnr_tensor_view(in, &view) == TNR_OK && tnr_add(engine, &view, &view, &out) == TNR_OK);
    CHILD(tnr_tensor_describe(out, &placed) == TNR_OK && placed.placement.cpu_affinity == 1);
    const void *data = NULL;
    tnr_residence where;
    CHILD(tnr_tensor_host_data(out, &data) == TNR_OK);
    CHILD(tnr_residence_of(data, placed.bytes, 1, &where) == TNR_OK && where.at_node == where.pages);
    CHILD(tnr_tensor_release(&in) == TNR_OK && tnr_tensor_release(&out) == TNR_OK);
    if (nodes == 1) {
        tnr_domain *domain = NULL;
        CHILD(tnr_numa_create(w.heap, w.topology, 0, NULL, &domain) == TNR_ERR_BOUNDS); /* its memory is not ours */
        CHILD(tnr_machine_domain(w.machine, MEMORY_NODE, &domain) == TNR_ERR_BOUNDS);
    }
    CHILD(tnr_machine_destroy(&w.machine) == TNR_OK);
    CHILD(tnr_topology_destroy(&w.topology) == TNR_OK);
    CHILD(tnr_domain_close(&w.heap) == TNR_OK);
}

/* As taskset, srun or mpirun leave a process. */
static void bound_child(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(2, &set);
    CPU_SET(3, &set);
    CHILD(sched_setaffinity(0, sizeof(set), &set) == 0);
    look_at_node_1_alone(0);
}

static void a_bound_process_has_one_engine(void **state)
{
    (void)state;
    in_child(bound_child);
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    const bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

/* As a batch system's cpuset leaves it: CPUs and memory of node 1. */
static void cpuset_child(void)
{
    char self[24];
    (void)snprintf(self, sizeof(self), "%ld", (long)getpid());
    CHILD(mkdir("/sys/fs/cgroup/one", 0755) == 0);
    CHILD(write_file("/sys/fs/cgroup/one/cpuset.cpus", "2-3"));
    CHILD(write_file("/sys/fs/cgroup/one/cpuset.mems", "1"));
    CHILD(write_file("/sys/fs/cgroup/one/cgroup.procs", self));
    look_at_node_1_alone(1);
}

static void a_cpuset_takes_nodes_away(void **state)
{
    (void)state;
    in_child(cpuset_child);
    assert_int_equal(rmdir("/sys/fs/cgroup/one"), 0);
}

int main(void)
{
    if (getenv("TENURE_VM") == NULL) {
        (void)printf("skipped: this program looks at the machine that tests/numa/vm.sh boots\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_nodes_are_as_booted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_node_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(every_node_binds_and_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_appear_on_first_touch, setup, teardown),
        cmocka_unit_test_setup_teardown(workers_are_pinned_to_their_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(outputs_and_reused_buffers_are_on_the_node, setup, teardown),
        cmocka_unit_test_setup_teardown(a_remote_read_moves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(the_memory_only_node_keeps_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(an_arena_on_bound_memory_stamps_its_node, setup, teardown),
        cmocka_unit_test_setup_teardown(a_route_follows_the_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(three_engines_work_at_once, setup, teardown),
        cmocka_unit_test(a_full_node_is_an_error),
        cmocka_unit_test_setup_teardown(huge_pages_stay_on_the_node, setup, teardown),
        cmocka_unit_test(a_bound_process_has_one_engine),
        cmocka_unit_test(a_cpuset_takes_nodes_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
