/* SPDX-License-Identifier: BSD-3-Clause */
/* Which CPUs an engine works on, what it says of itself, what it needs, and every refusal of its options. */
#include "support/team_test.h"

#include <sys/wait.h>

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

/* Neither an engine nor a need, nothing taken, no thread left. */
static void refused(const tnr_engine_options *options, tnr_status expected, const char *text)
{
    tnr_engine *engine = untouched();
    tnr_need need = {1, 2, 3};
    const tnr_domain_statistics before = statistics_of(heap);
    const int threads = count_threads();
    EXPECT(expected, tnr_engine_create(heap, options, &engine));
    TEXT_HAS(text);
    assert_ptr_equal(engine, untouched());
    EXPECT(expected, tnr_engine_need(options, 1, &need));
    TEXT_HAS(text);
    assert_true(need.bytes == 1 && need.blocks == 2 && need.handles == 3);
    SAME_STATISTICS(heap, &before);
    assert_int_equal(count_threads(), threads);
}

static void without_a_topology_nothing_can_be_chosen(void **state)
{
    (void)state;
    const tnr_cpu_set cpus = affinity();
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.cpus = &cpus;
    refused(&options, TNR_ERR_ARGUMENT, "topology");
    options.cpus = NULL;
    options.node = 0;
    refused(&options, TNR_ERR_ARGUMENT, "topology");
    options.node = TNR_NONE;
    options.workers = 1;
    refused(&options, TNR_ERR_ARGUMENT, "topology");
}

static void what_is_not_there_is_refused(void **state)
{
    (void)state;
    tnr_cpu_set cpus = {{0}};
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.topology = topology;
    options.cpus = &cpus;
    refused(&options, TNR_ERR_ARGUMENT, "empty");
    OK(tnr_cpu_set_add(&cpus, TNR_MAX_CPUS - 1));
    refused(&options, TNR_ERR_BOUNDS, "8191");
    EXPECT(TNR_ERR_BOUNDS, tnr_cpu_set_add(&cpus, 9999)); /* row PT-07 */
    OK(tnr_cpu_set_add(&cpus, usable_cpu(0)));
    refused(&options, TNR_ERR_BOUNDS, "8191");
    options.cpus = NULL;
    options.node = TNR_MAX_NODES - 1;
    refused(&options, TNR_ERR_BOUNDS, "1023");
    options.node = -2;
    refused(&options, TNR_ERR_ARGUMENT, "node -2");
    options.node = TNR_NONE;
    options.workers = -1;
    refused(&options, TNR_ERR_ARGUMENT, "-1 workers");
    options.workers = TNR_MAX_CPUS;
    refused(&options, TNR_ERR_BOUNDS, "8192 workers");
    const tnr_cpu_set one = only(usable_cpu(0));
    options.cpus = &one;
    options.workers = 2;
    refused(&options, TNR_ERR_BOUNDS, "2 workers on 1 CPUs");
}

static void a_described_machine_has_no_cpus_to_work_on(void **state)
{
    (void)state;
    tnr_topology_options description = TNR_TOPOLOGY_OPTIONS;
    tnr_topology *other = NULL;
    description.synthetic = "numa:2 pu:2";
    const tnr_status status = tnr_topology_create(heap, &description, &other);
    if (status == TNR_ERR_UNSUPPORTED) {
        print_message("skipped: no hwloc in this build\n");
        skip();
    }
    OK(status);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.topology = other;
    refused(&options, TNR_ERR_UNSUPPORTED, "another machine");
    OK(tnr_topology_destroy(&other));
}

static void describes_a_serial_engine(void **state)
{
    (void)state;
    tnr_engine *engine = NULL;
    tnr_engine_info info;
    OK(tnr_engine_create(heap, NULL, &engine));
    info = info_of(engine);
    assert_int_equal(info.node, TNR_NONE);
    assert_int_equal(info.workers, 1);
    assert_false(info.threads);
    assert_int_equal(tnr_cpu_set_count(&info.cpus), 0);
    assert_true(strlen(info.isa) > 0);
    assert_true(strcmp(info.blas, "blis") == 0 || strcmp(info.blas, "own") == 0);
    assert_true(info.l2_bytes > 0);
    EXPECT(TNR_ERR_ARGUMENT, tnr_engine_describe(NULL, &info));
    EXPECT(TNR_ERR_ARGUMENT, tnr_engine_describe(engine, NULL));
    OK(tnr_engine_destroy(&engine));
}

static void products_are_of_the_source_that_is_named(void **state)
{
    (void)state;
    tnr_engine *engine = NULL;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.products = TNR_PRODUCTS_OWN;
    OK(tnr_engine_create(heap, &options, &engine));
    assert_string_equal(info_of(engine).blas, "own");
    OK(tnr_engine_destroy(&engine));
    options.products = TNR_PRODUCTS_BLIS;
    tnr_feature_set features;
    tnr_features(&features);
    if (strcmp(features.blis, "off") == 0) {
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_engine_create(heap, &options, &engine));
    } else {
        OK(tnr_engine_create(heap, &options, &engine));
        assert_string_equal(info_of(engine).blas, "blis");
        OK(tnr_engine_destroy(&engine));
    }
    options.products = (tnr_product_source)7;
    EXPECT(TNR_ERR_ARGUMENT, tnr_engine_create(heap, &options, &engine));
    options.products = (tnr_product_source)-1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_engine_create(heap, &options, &engine));
}

/* What becomes of an engine in a process whose environment has that word: the status, or 100 and more for what it would be. */
static int in_an_environment(const char *word, tnr_product_source products)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tnr_domain *own_heap = NULL;
        tnr_engine *engine = NULL;
        tnr_engine_options options = TNR_ENGINE_OPTIONS;
        tnr_engine_info info;
        options.products = products;
        if (setenv("TENURE_PRODUCTS", word, 1) != 0 || tnr_heap_create(&own_heap) != TNR_OK) {
            _exit(99);
        }
        const tnr_status status = tnr_engine_create(own_heap, &options, &engine);
        if (status != TNR_OK) {
            _exit((int)status);
        }
        if (tnr_engine_describe(engine, &info) != TNR_OK) {
            _exit(98);
        }
        _exit(strcmp(info.blas, "own") == 0 ? 100 : strcmp(info.blas, "blis") == 0 ? 101 : 97);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

/* Before the process asks for its own: the environment is read once. */
static void the_environment_names_a_source(void **state)
{
    (void)state;
    tnr_feature_set features;
    tnr_features(&features);
    const bool has_blis = strcmp(features.blis, "off") != 0;
    assert_int_equal(in_an_environment("own", TNR_PRODUCTS_AUTOMATIC), 100);
    assert_int_equal(in_an_environment("blis", TNR_PRODUCTS_AUTOMATIC), has_blis ? 101 : (int)TNR_ERR_UNSUPPORTED);
    assert_int_equal(in_an_environment("blis", TNR_PRODUCTS_OWN), 100);
    assert_int_equal(in_an_environment("BLIS", TNR_PRODUCTS_AUTOMATIC), (int)TNR_ERR_ARGUMENT);
    assert_int_equal(in_an_environment("blis or whatever is much longer than any word", TNR_PRODUCTS_AUTOMATIC),
                     (int)TNR_ERR_ARGUMENT);
    assert_true(in_an_environment("", TNR_PRODUCTS_AUTOMATIC) >= 100);
}

static void works_on_one_cpu_of_each_core_by_default(void **state)
{
    (void)state;
    tnr_topology_info all;
    tnr_cpu_set cores;
    OK(tnr_topology_describe(topology, &all));
    OK(tnr_topology_cores(topology, &cores));
    tnr_engine *engine = make_team(heap, topology, NULL);
    const tnr_engine_info info = info_of(engine);
    assert_int_equal(info.workers, all.cores);
    assert_memory_equal(&info.cpus, &cores, sizeof cores);
    tnr_cpu_info cpu;
    OK(tnr_topology_cpu(topology, tnr_cpu_set_next(&cores, TNR_NONE), &cpu));
    if (all.cpu_nodes == 1) {
        assert_int_equal(info.node, cpu.node);
    }
    if (cpu.l2_bytes != 0) {
        assert_true(info.l2_bytes <= cpu.l2_bytes);
    }
    OK(tnr_engine_destroy(&engine));
}

static void works_on_the_cpus_of_a_node(void **state)
{
    (void)state;
    tnr_topology_info all;
    tnr_node_info node;
    OK(tnr_topology_describe(topology, &all));
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.topology = topology;
    for (int i = 0; i < all.nodes; i++) {
        OK(tnr_topology_node_at(topology, i, &node));
        options.node = node.node;
        if (node.cpus == 0) {
            refused(&options, TNR_ERR_BOUNDS, "memory");
            continue;
        }
        tnr_engine *engine = NULL;
        OK(tnr_engine_create(heap, &options, &engine));
        const tnr_engine_info info = info_of(engine);
        assert_int_equal(info.node, node.node);
        assert_memory_equal(&info.cpus, &node.core_set, sizeof info.cpus);
        OK(tnr_engine_destroy(&engine));
    }
}

static void has_as_many_workers_as_it_is_told(void **state)
{
    (void)state;
    tnr_cpu_set cpus;
    OK(tnr_topology_cpus(topology, &cpus));
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.topology = topology;
    options.cpus = &cpus;
    for (int workers = 1; workers <= tnr_cpu_set_count(&cpus); workers++) {
        tnr_engine *engine = NULL;
        options.workers = workers;
        OK(tnr_engine_create(heap, &options, &engine));
        const tnr_engine_info info = info_of(engine);
        assert_int_equal(info.workers, workers);
        assert_int_equal(tnr_cpu_set_count(&info.cpus), workers);
        assert_true(tnr_cpu_set_within(&info.cpus, &cpus));
        OK(tnr_engine_destroy(&engine));
    }
}

static void the_topology_must_outlive_the_engine(void **state)
{
    (void)state;
    tnr_topology *mine = make_topology(heap);
    tnr_topology *same = mine;
    tnr_engine *engine = make_team(heap, mine, NULL);
    EXPECT(TNR_ERR_BUSY, tnr_topology_destroy(&mine));
    assert_ptr_equal(mine, same);
    OK(tnr_engine_destroy(&engine));
    OK(tnr_topology_destroy(&mine));
}

/* An engine with a team in an arena of exactly its need, `less` bytes fewer. */
static tnr_status make_in_exactly(const tnr_engine_options *options, uint64_t less)
{
    tnr_arena_options arena_options = TNR_ARENA_OPTIONS;
    tnr_need need;
    uint64_t bytes;
    uint64_t control;
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    const int threads = count_threads();
    OK(tnr_engine_need(options, 0, &need));
    OK(tnr_arena_bytes(&need, &arena_options, &bytes, &control, &arena_options.max_blocks));
    void *region = aligned_alloc(64, (size_t)bytes);
    assert_non_null(region);
    OK(tnr_arena_create(region, bytes - less, &arena_options, &arena));
    const tnr_status status = tnr_engine_create(arena, options, &engine);
    OK(tnr_engine_destroy(&engine));
    assert_true(threads_become(threads));
    OK(tnr_arena_check(arena));
    assert_int_equal(statistics_of(arena).blocks, 0);
    close_domain(&arena);
    free(region);
    return status;
}

static void needs_are_exact(void **state)
{
    (void)state;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_cpu_set cpus;
    options.topology = topology;
    options.cpus = &cpus;
    OK(tnr_topology_cpus(topology, &cpus));
    for (int workers = 0; workers <= tnr_cpu_set_count(&cpus) && workers < 4; workers++) {
        options.workers = workers;
        for (int scratch = 0; scratch < 2; scratch++) {
            options.scratch_bytes = scratch != 0 ? 10000 : 0;
            assert_int_equal(make_in_exactly(&options, 0), TNR_OK);
            assert_int_equal(make_in_exactly(&options, 64), TNR_ERR_MEMORY);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_names_a_source), /* first */
        cmocka_unit_test(without_a_topology_nothing_can_be_chosen),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(a_described_machine_has_no_cpus_to_work_on),
        cmocka_unit_test(describes_a_serial_engine),
        cmocka_unit_test(products_are_of_the_source_that_is_named),
        cmocka_unit_test(works_on_one_cpu_of_each_core_by_default),
        cmocka_unit_test(works_on_the_cpus_of_a_node),
        cmocka_unit_test(has_as_many_workers_as_it_is_told),
        cmocka_unit_test(the_topology_must_outlive_the_engine),
        cmocka_unit_test(needs_are_exact),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
