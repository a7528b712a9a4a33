/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement on a real kernel with four NUMA nodes (vm.sh): nodes 0, 1, 2 with two CPUs each, node 3 with memory only, and
 * little of it. Every test makes its own topology and machine, and asks both the library and /proc where things are.
 * Elsewhere than on that machine this program refuses to run: it would show nothing.
 */
#define _GNU_SOURCE /* sched_setaffinity */

#include "placement_world.h"

#include <pthread.h>

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
        cmocka_unit_test(cpus_without_memory_of_their_own_have_an_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
