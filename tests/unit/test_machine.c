/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine makes one engine per node, once and when asked; it routes by its inputs, ends all it made or nothing, and leaves
 * what was made in it.
 */
#include "support/team_test.h"

#include <stdatomic.h>
#include <sys/wait.h>

#include "engine/engine_internal.h"

static tnr_domain *heap;
static tnr_topology *topology;

static int set_up(void **state)
{
    (void)state;
    start_a_thread();
    heap = make_heap();
    topology = make_topology(heap);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
    return 0;
}

static tnr_machine *make_machine(void)
{
    tnr_machine *machine = NULL;
    OK(tnr_machine_create(heap, topology, NULL, &machine));
    return machine;
}

static tnr_engine *engine_of(tnr_machine *machine, int node)
{
    tnr_engine *engine = NULL;
    OK(tnr_machine_engine(machine, node, &engine));
    return engine;
}

static tnr_domain *domain_of(tnr_machine *machine, int node)
{
    tnr_domain *domain = NULL;
    OK(tnr_machine_domain(machine, node, &domain));
    return domain;
}

/* ---- Nodes --------------------------------------------------------------------------------------------------------------------- */

static void lists_the_nodes_with_cpus(void **state)
{
    (void)state;
    tnr_topology_info all;
    OK(tnr_topology_describe(topology, &all));
    tnr_machine *machine = make_machine();
    assert_int_equal(tnr_machine_nodes(machine), all.cpu_nodes);
    int last = -1;
    for (int i = 0; i < all.cpu_nodes; i++) {
        tnr_node_info node;
        assert_true(tnr_machine_node_at(machine, i) > last);
        last = tnr_machine_node_at(machine, i);
        OK(tnr_topology_node(topology, last, &node));
        assert_true(node.cpus > 0);
    }
    assert_int_equal(tnr_machine_node_at(machine, all.cpu_nodes), TNR_NONE);
    assert_int_equal(tnr_machine_node_at(machine, -1), TNR_NONE);
    assert_int_equal(tnr_machine_nodes(NULL), 0);
    assert_int_equal(tnr_machine_node_at(NULL, 0), TNR_NONE);
    OK(tnr_machine_destroy(&machine));
    assert_null(machine);
    OK(tnr_machine_destroy(&machine));
    OK(tnr_machine_destroy(NULL));
}

static void each_engine_is_made_once_and_late(void **state)
{
    (void)state;
    const int threads = count_threads();
    tnr_machine *machine = make_machine();
    assert_int_equal(count_threads(), threads);
    const int nodes = tnr_machine_nodes(machine);
    int workers = 0;
    for (int i = 0; i < nodes; i++) {
        const int node = tnr_machine_node_at(machine, i);
        tnr_engine *engine = engine_of(machine, node);
        tnr_node_info expected;
        const tnr_engine_info info = info_of(engine);
        OK(tnr_topology_node(topology, node, &expected));
        assert_int_equal(info.node, node);
        assert_memory_equal(&info.cpus, &expected.core_set, sizeof info.cpus);
        workers += info.threads ? info.workers : 0;
        assert_int_equal(count_threads(), threads + workers);
        assert_ptr_equal(engine_of(machine, node), engine);
        assert_ptr_equal(domain_of(machine, node), domain_of(machine, node));
    }
    assert_int_equal(count_threads(), threads + workers);
    assert_ptr_equal(engine_of(machine, TNR_NONE), engine_of(machine, tnr_machine_node_at(machine, 0)));
    assert_ptr_equal(domain_of(machine, TNR_NONE), domain_of(machine, tnr_machine_node_at(machine, 0)));
    OK(tnr_machine_destroy(&machine));
    assert_true(threads_become(threads));
}

enum { ASKERS = 8 };

typedef struct asker {
    tnr_machine *machine;
    tnr_engine *engine;
    tnr_domain *domain;
    pthread_t thread;
} asker;

static atomic_int askers_ready;

static void *ask(void *argument)
{
    asker *own = argument;
    const int node = tnr_machine_node_at(own->machine, 0);
    atomic_fetch_add(&askers_ready, 1);
    while (atomic_load(&askers_ready) < ASKERS) {
        (void)sched_yield();
    }
    if (tnr_machine_engine(own->machine, node, &own->engine) != TNR_OK ||
        tnr_machine_domain(own->machine, node, &own->domain) != TNR_OK) {
        own->engine = NULL;
    }
    return NULL;
}

static void many_ask_and_one_makes(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        const int threads = count_threads();
        asker askers[ASKERS];
        tnr_machine *machine = make_machine();
        atomic_store(&askers_ready, 0);
        for (int i = 0; i < ASKERS; i++) {
            askers[i] = (asker){.machine = machine};
            assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
        }
        for (int i = 0; i < ASKERS; i++) {
            assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        }
        for (int i = 0; i < ASKERS; i++) {
            assert_non_null(askers[i].engine);
            assert_ptr_equal(askers[i].engine, askers[0].engine);
            assert_ptr_equal(askers[i].domain, askers[0].domain);
        }
        const tnr_engine_info info = info_of(askers[0].engine);
        assert_true(threads_become(threads + (info.threads ? info.workers : 0)));
        OK(tnr_machine_destroy(&machine));
        assert_true(threads_become(threads));
    }
}

static void what_is_not_there_is_refused(void **state)
{
    (void)state;
    tnr_machine *machine = make_machine();
    tnr_engine *engine = untouched();
    tnr_domain *domain = untouched();
    EXPECT(TNR_ERR_BOUNDS, tnr_machine_engine(machine, TNR_MAX_NODES - 1, &engine));
    TEXT_HAS("node 1023");
    EXPECT(TNR_ERR_BOUNDS, tnr_machine_domain(machine, TNR_MAX_NODES - 1, &domain));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_engine(NULL, 0, &engine));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_engine(machine, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_domain(NULL, 0, &domain));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_domain(machine, 0, NULL));
    assert_ptr_equal(engine, untouched());
    assert_ptr_equal(domain, untouched());
    OK(tnr_machine_destroy(&machine));
}

/* ---- Options --------------------------------------------------------------------------------------------------------------------- */

static void bad_options(void **state)
{
    (void)state;
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    tnr_machine *machine = untouched();
    tnr_cpu_set cpus = {{0}};
    options.cpus = &cpus;
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_create(heap, topology, &options, &machine));
    OK(tnr_cpu_set_add(&cpus, TNR_MAX_CPUS - 1));
    EXPECT(TNR_ERR_BOUNDS, tnr_machine_create(heap, topology, &options, &machine));
    TEXT_HAS("8191");
    options.cpus = NULL;
    options.workers = -1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_create(heap, topology, &options, &machine));
    options.workers = 0;
    tnr_numa_options memory = TNR_NUMA_OPTIONS;
    memory.size = 3;
    options.memory = &memory;
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_create(heap, topology, &options, &machine));
    options.memory = NULL;
    options.size = 8;
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_create(heap, topology, &options, &machine));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_create(NULL, topology, NULL, &machine));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_create(heap, NULL, NULL, &machine));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_create(heap, topology, NULL, NULL));
    assert_ptr_equal(machine, untouched());
}

static void a_described_machine_cannot_compute(void **state)
{
    (void)state;
    tnr_topology_options description = TNR_TOPOLOGY_OPTIONS;
    tnr_topology *other = NULL;
    tnr_machine *machine = untouched();
    description.synthetic = "numa:2 pu:2";
    const tnr_status status = tnr_topology_create(heap, &description, &other);
    if (status == TNR_ERR_UNSUPPORTED) {
        print_message("skipped: no hwloc in this build\n");
        skip();
    }
    OK(status);
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_machine_create(heap, other, NULL, &machine));
    assert_ptr_equal(machine, untouched());
    OK(tnr_topology_destroy(&other));
}

static void uses_no_cpu_outside_its_set(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    for (int index = 0; index < 2; index++) {
        const tnr_cpu_set one = only(usable_cpu(index));
        tnr_machine_options options = TNR_MACHINE_OPTIONS;
        tnr_machine *machine = NULL;
        options.cpus = &one;
        options.workers = 64; /* most */
        OK(tnr_machine_create(heap, topology, &options, &machine));
        assert_int_equal(tnr_machine_nodes(machine), 1);
        const tnr_engine_info info = info_of(engine_of(machine, TNR_NONE));
        assert_int_equal(info.workers, 1);
        assert_memory_equal(&info.cpus, &one, sizeof one);
        OK(tnr_machine_destroy(&machine));
    }
}

/* In the program started anew, bound to one CPU: one engine of one worker, without a thread. */
static int bound_process(void)
{
    start_a_thread();
    const int threads = count_threads();
    const tnr_cpu_set one = affinity();
    heap = make_heap();
    topology = make_topology(heap);
    tnr_machine *machine = make_machine();
    const bool one_node = tnr_machine_nodes(machine) == 1;
    const tnr_engine_info info = info_of(engine_of(machine, TNR_NONE));
    const bool as_expected = tnr_cpu_set_count(&one) == 1 && info.workers == 1 && !info.threads &&
                             memcmp(&info.cpus, &one, sizeof one) == 0 && count_threads() == threads;
    OK(tnr_machine_destroy(&machine));
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
    return one_node && as_expected ? 0 : 1;
}

/* As taskset and mpirun bind a process. */
static void bugs_pt_03_a_bound_process_has_one_engine_of_one_worker(void **state)
{
    (void)state;
    for (int index = 0; index < 2 && usable_cpu(index) != TNR_NONE; index++) {
        const tnr_cpu_set one = only(usable_cpu(index));
        (void)fflush(NULL);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)setenv("MACHINE_TEST_BOUND", "1", 1);
            if (sched_setaffinity(0, sizeof one, (const cpu_set_t *)(const void *)&one) == 0) {
                (void)execl("/proc/self/exe", "machine", (char *)NULL);
            }
            _exit(99);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void the_topology_must_outlive_the_machine(void **state)
{
    (void)state;
    tnr_topology *mine = make_topology(heap);
    tnr_topology *same = mine;
    tnr_machine *machine = NULL;
    OK(tnr_machine_create(heap, mine, NULL, &machine));
    EXPECT(TNR_ERR_BUSY, tnr_topology_destroy(&mine));
    assert_ptr_equal(mine, same);
    OK(tnr_machine_destroy(&machine));
    OK(tnr_topology_destroy(&mine));
}

static void strict_means_bound_or_not_at_all(void **state)
{
    (void)state;
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    tnr_machine *machine = NULL;
    tnr_domain *domain = NULL;
    tnr_numa_options bound = TNR_NUMA_OPTIONS;
    bound.huge_above = 123456789;
    options.memory = &bound;
    OK(tnr_machine_create(heap, topology, &options, &machine));
    bound.huge_above = 1; /* its copy it has */
    const int node = tnr_machine_node_at(machine, 0);
    const tnr_status status = tnr_machine_domain(machine, node, &domain);
    if (status == TNR_OK) {
        tnr_numa_info info;
        tnr_topology_info all;
        assert_int_equal(tnr_domain_placement(domain).cpu_affinity, node);
        OK(tnr_numa_describe(domain, &info));
        OK(tnr_topology_describe(topology, &all));
        assert_true(all.huge_bytes == 0 || info.huge_above == 123456789);
    } else {
        tnr_engine *engine = untouched();
        assert_true(status == TNR_ERR_UNSUPPORTED || status == TNR_ERR_BACKEND);
        EXPECT(status, tnr_machine_engine(machine, node, &engine));
        assert_ptr_equal(engine, untouched());
    }
    OK(tnr_machine_destroy(&machine));
}

static void scratch_is_taken_at_once(void **state)
{
    (void)state;
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    tnr_machine *machine = NULL;
    options.scratch_bytes = (uint64_t)3 << 20;
    OK(tnr_machine_create(heap, topology, &options, &machine));
    (void)engine_of(machine, TNR_NONE);
    assert_true(statistics_of(domain_of(machine, TNR_NONE)).bytes >= options.scratch_bytes);
    OK(tnr_machine_destroy(&machine));
}

/* So many tensors from an engine, at one time. */
static tnr_status make_some(tnr_engine *engine, int tensors)
{
    tnr_tensor *made[2] = {NULL, NULL};
    tnr_status status = TNR_OK;
    for (int i = 0; i < tensors && status == TNR_OK; i++) {
        status = tnr_tensor_zeros(tnr_engine_pool(engine), TNR_F64, 1, SHAPE(10), &made[i]);
    }
    release(&made[0]);
    release(&made[1]);
    return status;
}

/* All that a machine makes at its home, and tensors from each engine, in an arena of so many bytes less than was said. */
static tnr_status live_in_exactly(const tnr_need *need, int tensors, uint64_t less)
{
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    uint64_t bytes = 0;
    uint64_t control = 0;
    tnr_domain *arena = NULL;
    tnr_machine *machine = NULL;
    options.handles = need->handles;
    OK(tnr_arena_bytes(need, &options, &bytes, &control, &options.max_blocks));
    void *region = aligned_alloc(64, (size_t)bytes);
    assert_non_null(region);
    tnr_status status = tnr_arena_create(region, bytes - less, &options, &arena);
    if (status == TNR_OK) {
        status = tnr_machine_create(arena, topology, NULL, &machine);
    }
    tnr_topology_info all;
    OK(tnr_topology_describe(topology, &all));
    for (int i = 0; i < all.nodes && status == TNR_OK; i++) {
        tnr_node_info node;
        tnr_domain *domain = NULL;
        OK(tnr_topology_node_at(topology, i, &node));
        status = tnr_machine_domain(machine, node.node, &domain);
    }
    for (int i = 0; i < tnr_machine_nodes(machine) && status == TNR_OK; i++) {
        tnr_engine *engine = NULL;
        status = tnr_machine_engine(machine, tnr_machine_node_at(machine, i), &engine);
        status = status == TNR_OK ? make_some(engine, tensors) : status;
    }
    OK(tnr_machine_destroy(&machine));
    if (arena != NULL) {
        OK(tnr_arena_check(arena));
        OK(tnr_domain_close(&arena));
    }
    free(region);
    return status;
}

static void needs_exactly_what_it_says(void **state)
{
    (void)state;
    tnr_need need = {0, 0, 0};
    for (int tensors = 0; tensors <= 2; tensors += 2) {
        const tnr_need handles = {0, 0, (uint64_t)tensors};
        OK(tnr_machine_need(topology, NULL, (uint64_t)tensors, &need));
        OK(tnr_need_add(&need, &handles, 1));
        assert_int_equal(live_in_exactly(&need, tensors, 0), TNR_OK);
        assert_int_equal(live_in_exactly(&need, tensors, 1), TNR_ERR_MEMORY);
    }

    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    tnr_need more = {0, 0, 0};
    OK(tnr_machine_need(topology, NULL, 100, &more));
    assert_true(more.bytes > need.bytes);
    const tnr_need before = more;
    options.workers = -1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_need(topology, &options, 1, &more));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_need(NULL, NULL, 1, &more));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_need(topology, NULL, 1, NULL));
    assert_memory_equal(&before, &more, sizeof before);
}

/* ---- Ending ---------------------------------------------------------------------------------------------------------------------- */

static void tensors_outlive_their_machine(void **state)
{
    (void)state;
    tnr_machine *machine = make_machine();
    tnr_engine *engine = engine_of(machine, TNR_NONE);
    tnr_domain *domain = domain_of(machine, tnr_machine_node_at(machine, 0));
    tnr_tensor *ones = make_ones(domain, 50);
    tnr_tensor *sum = NULL;
    const tnr_view view = view_of(ones);
    OK(tnr_add(engine, &view, &view, &sum));
    tnr_tensor_info info;
    OK(tnr_tensor_describe(sum, &info));
    const tnr_placement expected = tnr_domain_placement(domain);
    assert_memory_equal(&info.placement, &expected, sizeof expected);
    OK(tnr_machine_destroy(&machine));
    assert_true(all_are(sum, 50, 2.0));
    assert_true(all_are(ones, 50, 1.0));
    OK(tnr_tensor_describe(sum, &info));
    assert_memory_equal(&info.placement, &expected, sizeof expected);
    release(&sum);
    release(&ones);
}

/* Refused, and everything as it was. */
static void still_there(tnr_machine **machine, tnr_engine *engine, const char *text)
{
    tnr_machine *same = *machine;
    tnr_tensor *ones = make_ones(heap, 20);
    tnr_tensor *made = NULL;
    const tnr_view view = view_of(ones);
    const int threads = count_threads();
    const tnr_domain_statistics before = statistics_of(heap);
    EXPECT(TNR_ERR_BUSY, tnr_machine_destroy(machine));
    TEXT_HAS(text);
    assert_ptr_equal(*machine, same);
    SAME_STATISTICS(heap, &before);
    assert_int_equal(count_threads(), threads);
    if (engine != NULL) {
        OK(tnr_add(engine, &view, &view, &made));
        assert_true(all_are(made, 20, 2.0));
        release(&made);
    }
    release(&ones);
}

static void what_is_in_use_is_not_ended(void **state)
{
    (void)state;
    tnr_machine *machine = make_machine();
    const int node = tnr_machine_node_at(machine, 0);
    tnr_domain *domain = domain_of(machine, node); /* before there is an engine */
    tnr_block block;
    OK(tnr_domain_allocate(domain, 100, 0, &block));
    still_there(&machine, NULL, "raw blocks");
    OK(tnr_domain_release(domain, &block));
    tnr_engine *engine = engine_of(machine, node);

    OK(tnr_domain_allocate(domain, 100, 0, &block));
    still_there(&machine, engine, "1 raw blocks");
    OK(tnr_domain_release(domain, &block));

    OK(tnr_domain_allocate(tnr_engine_pool(engine), 100, 0, &block));
    still_there(&machine, engine, "1 raw blocks of a pool");
    OK(tnr_domain_release(tnr_engine_pool(engine), &block));

    tnr_domain *pool = NULL;
    OK(tnr_pool_create(domain, NULL, &pool));
    still_there(&machine, engine, "1 domains over it live");
    close_domain(&pool);
    OK(tnr_pool_create(tnr_engine_pool(engine), NULL, &pool));
    still_there(&machine, engine, "1 domains over it live");
    close_domain(&pool);

    OK(tnri_engine_enter("test", engine, true));
    still_there(&machine, NULL, "inside");
    (void)tnri_engine_leave(engine, TNR_OK);
    OK(tnr_machine_destroy(&machine));
}

/* What the machine lends is not the program's to close, before there is an engine and after. */
static void what_it_lends_is_not_the_programs_to_end(void **state)
{
    (void)state;
    tnr_machine *machine = make_machine();
    for (int round = 0; round < 2; round++) {
        tnr_domain *domain = domain_of(machine, TNR_NONE);
        tnr_domain *same = domain;
        EXPECT(TNR_ERR_BUSY, tnr_domain_close(&domain));
        TEXT_HAS("belongs to a machine");
        assert_ptr_equal(domain, same);
        assert_ptr_equal(domain_of(machine, TNR_NONE), same);
        tnr_tensor *ones = make_ones(domain, 10);
        release(&ones);
        tnr_engine *engine = engine_of(machine, TNR_NONE);
        tnr_engine *kept = engine;
        EXPECT(TNR_ERR_BUSY, tnr_engine_destroy(&engine));
        TEXT_HAS("belongs to a machine");
        assert_ptr_equal(engine, kept);
        assert_ptr_equal(engine_of(machine, TNR_NONE), kept);
    }
    OK(tnr_machine_destroy(&machine));
}

/* A pool that the program has closed is not in the way, though its tensors live; nor is the engine's own that it closed. */
static void closed_pools_are_not_in_the_way(void **state)
{
    (void)state;
    tnr_machine *machine = make_machine();
    const int node = tnr_machine_node_at(machine, 0);
    tnr_engine *engine = engine_of(machine, node);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(domain_of(machine, node), NULL, &pool));
    tnr_tensor *ones = make_ones(pool, 30);
    close_domain(&pool);
    tnr_domain *not_ours = tnr_engine_pool(engine);
    OK(tnr_domain_close(&not_ours));
    OK(tnr_machine_destroy(&machine));
    assert_true(all_are(ones, 30, 1.0));
    release(&ones);
}

/* ---- Routing --------------------------------------------------------------------------------------------------------------------- */

/* A domain of memory that says it is on a node. */
static tnr_domain *claiming(test_memory *memory, int node)
{
    tnr_domain_ops ops = test_ops(TNR_ACCESS_DIRECT);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    tnr_domain *domain = NULL;
    config.ops = &ops;
    config.config = &memory;
    config.placement.cpu_affinity = node;
    OK(tnr_domain_create(heap, &config, &domain));
    return domain;
}

static void routes_to_the_engine_of_the_inputs(void **state)
{
    (void)state;
    test_memory memory[2] = {{0}, {0}};
    tnr_machine *machine = make_machine();
    const int node = tnr_machine_node_at(machine, 0);
    tnr_domain *near = claiming(&memory[0], node);
    tnr_domain *far = claiming(&memory[1], TNR_MAX_NODES - 1); /* no engine is there */
    tnr_tensor *plain = make_ones(heap, 10);
    tnr_tensor *close = make_ones(near, 5);
    tnr_tensor *away = make_ones(far, 20);
    const tnr_view views[3] = {view_of(plain), view_of(close), view_of(away)};
    const tnr_view *inputs[3] = {&views[0], &views[1], &views[2]};
    tnr_engine *engine = NULL;
    tnr_route_reason reason;

    OK(tnr_machine_route(machine, TNR_ROUTE_DOMINANT, inputs, 3, TNR_NONE, &engine, &reason));
    assert_ptr_equal(engine, engine_of(machine, node));
    assert_int_equal(reason, TNR_ROUTED_DOMINANT);
    OK(tnr_machine_route(machine, TNR_ROUTE_REQUIRE_ONE, inputs, 3, TNR_NONE, &engine, &reason));
    assert_int_equal(reason, TNR_ROUTED_SINGLE);
    inputs[1] = inputs[0];
    OK(tnr_machine_route(machine, TNR_ROUTE_DOMINANT, inputs, 3, TNR_NONE, &engine, &reason));
    assert_ptr_equal(engine, engine_of(machine, node));
    assert_int_equal(reason, TNR_ROUTED_DEFAULT);
    OK(tnr_machine_route(machine, TNR_ROUTE_DOMINANT, NULL, 0, TNR_NONE, &engine, NULL));
    assert_ptr_equal(engine, engine_of(machine, node));
    OK(tnr_machine_route(machine, TNR_ROUTE_DOMINANT, NULL, 3, node, &engine, &reason)); /* a name: nobody looks */
    assert_int_equal(reason, TNR_ROUTED_EXPLICIT);

    engine = untouched();
    reason = (tnr_route_reason)99;
    EXPECT(TNR_ERR_BOUNDS,
           tnr_machine_route(machine, TNR_ROUTE_DOMINANT, inputs, 3, TNR_MAX_NODES - 1, &engine, &reason));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_route(machine, TNR_ROUTE_DOMINANT, NULL, 1, TNR_NONE, &engine, &reason));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_route(NULL, TNR_ROUTE_DOMINANT, NULL, 0, TNR_NONE, &engine, &reason));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_route(machine, TNR_ROUTE_DOMINANT, NULL, 0, TNR_NONE, NULL, &reason));
    release(&away);
    EXPECT(TNR_ERR_STALE, tnr_machine_route(machine, TNR_ROUTE_DOMINANT, inputs, 3, TNR_NONE, &engine, &reason));
    assert_ptr_equal(engine, untouched());
    assert_int_equal(reason, 99);
    release(&plain);
    release(&close);
    close_domain(&near);
    close_domain(&far);
    OK(tnr_machine_destroy(&machine));
}

int main(void)
{
    if (getenv("MACHINE_TEST_BOUND") != NULL) {
        return bound_process();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_the_nodes_with_cpus),
        cmocka_unit_test(each_engine_is_made_once_and_late),
        cmocka_unit_test(many_ask_and_one_makes),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(a_described_machine_cannot_compute),
        cmocka_unit_test(uses_no_cpu_outside_its_set),
        cmocka_unit_test(bugs_pt_03_a_bound_process_has_one_engine_of_one_worker),
        cmocka_unit_test(the_topology_must_outlive_the_machine),
        cmocka_unit_test(strict_means_bound_or_not_at_all),
        cmocka_unit_test(scratch_is_taken_at_once),
        cmocka_unit_test(needs_exactly_what_it_says),
        cmocka_unit_test(tensors_outlive_their_machine),
        cmocka_unit_test(what_is_in_use_is_not_ended),
        cmocka_unit_test(what_it_lends_is_not_the_programs_to_end),
        cmocka_unit_test(closed_pools_are_not_in_the_way),
        cmocka_unit_test(routes_to_the_engine_of_the_inputs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
