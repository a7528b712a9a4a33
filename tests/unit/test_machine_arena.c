/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machines in arena mode: each engine in an arena of its own, one block of its node's memory. It asks the node's domain once, a full arena
 * refuses and changes nothing, and the machine is not destroyed under what lives in an engine's arena.
 */
#include "support/storage_test.h"

#include "tenure/tenure.h"

enum { ARENA_BYTES = 8 << 20, SIDE = 100 };

static tnr_domain *heap;
static tnr_topology *topology;

static int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    OK(tnr_topology_create(heap, NULL, &topology));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
    return 0;
}

static tnr_machine_options in_arenas(uint64_t bytes)
{
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    options.arena_bytes = bytes;
    return options;
}

static void a_home_of_exactly_its_need(void **state)
{
    (void)state;
    const tnr_machine_options options = in_arenas(ARENA_BYTES);
    tnr_need need;
    OK(tnr_machine_need(topology, &options, 10, &need));
    tnr_arena_options with = TNR_ARENA_OPTIONS;
    uint64_t bytes;
    uint64_t control;
    OK(tnr_arena_bytes(&need, &with, &bytes, &control, &with.max_blocks));
    void *region = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    assert_non_null(region);
    for (int less = 0; less < 2; less++) {
        tnr_domain *home = NULL;
        tnr_machine *machine = NULL;
        OK(tnr_arena_create(region, bytes - (uint64_t)less, &with, &home));
        tnr_status status = tnr_machine_create(home, topology, &options, &machine);
        for (int i = 0; i < tnr_machine_nodes(machine) && status == TNR_OK; i++) {
            tnr_engine *engine;
            status = tnr_machine_engine(machine, tnr_machine_node_at(machine, i), &engine);
        }
        tnr_topology_info info;
        OK(tnr_topology_describe(topology, &info));
        for (int i = 0; i < info.nodes && status == TNR_OK; i++) { /* of nodes without CPUs too */
            tnr_node_info node;
            tnr_domain *memory;
            OK(tnr_topology_node_at(topology, i, &node));
            status = tnr_machine_domain(machine, node.node, &memory);
        }
        assert_int_equal(status, less ? TNR_ERR_MEMORY : TNR_OK);
        if (!less) {
            assert_int_equal(statistics_of(home).free_bytes, 0);
        }
        OK(tnr_machine_destroy(&machine));
        OK(tnr_arena_check(home));
        close_domain(&home);
    }
    free(region);
}

static void the_node_is_asked_once(void **state)
{
    (void)state;
    const tnr_machine_options options = in_arenas(ARENA_BYTES);
    tnr_machine *machine = NULL;
    tnr_engine *engine = NULL;
    tnr_domain *memory = NULL;
    tnr_tensor *a = NULL;
    OK(tnr_machine_create(heap, topology, &options, &machine));
    OK(tnr_machine_engine(machine, TNR_NONE, &engine));
    OK(tnr_machine_domain(machine, TNR_NONE, &memory));
    const tnr_domain_statistics before = statistics_of(memory);
    assert_int_equal(before.blocks, 1);
    OK(tnr_tensor_zeros(tnr_engine_output(engine), TNR_F64, 2, SHAPE(SIDE, SIDE), &a));
    tnr_tensor_info info;
    OK(tnr_tensor_describe(a, &info));
    assert_int_equal(info.placement.cpu_affinity, tnr_domain_placement(memory).cpu_affinity);
    const tnr_view view = view_of(a);
    const tnr_view *const three[3] = {&view, &view, &view};
    for (int i = 0; i < 20; i++) {
        tnr_tensor *made[3] = {NULL};
        OK(tnr_matmul(engine, &view, &view, NULL, &made[0]));
        OK(tnr_einsum(engine, "ab,cb,cd->da", three, 3, NULL, &made[1]));
        OK(tnr_exp(engine, &view, &made[2]));
        for (int k = 0; k < 3; k++) {
            OK(tnr_tensor_release(&made[k]));
        }
    }
    SAME_STATISTICS(memory, &before);

    /* Full: the call says so, and the next one works. */
    tnr_tensor *none = untouched();
    const tnr_view wide = view;
    tnr_view stretched;
    OK(tnr_view_broadcast(&wide, 3, SHAPE(SIDE, SIDE, 200), (const int[]){0, 1}, &stretched));
    const tnr_domain_statistics pool = statistics_of(tnr_engine_pool(engine));
    EXPECT(TNR_ERR_MEMORY, tnr_exp(engine, &stretched, &none));
    assert_ptr_equal(none, untouched());
    assert_int_equal(statistics_of(tnr_engine_pool(engine)).blocks, pool.blocks);
    assert_int_equal(statistics_of(tnr_engine_pool(engine)).bytes, pool.bytes);
    tnr_tensor *made = NULL;
    OK(tnr_exp(engine, &view, &made));
    release(&made);
    SAME_STATISTICS(memory, &before);

    EXPECT(TNR_ERR_BUSY, tnr_machine_destroy(&machine));
    TEXT_HAS("live in the arena");
    OK(tnr_add(engine, &view, &view, &made)); /* nothing had changed */
    release(&made);
    release(&a);
    OK(tnr_machine_destroy(&machine));
}

static void what_keeps_the_machine(void **state)
{
    (void)state;
    const tnr_machine_options options = in_arenas(ARENA_BYTES);
    tnr_machine *machine = NULL;
    tnr_engine *engine = NULL;
    OK(tnr_machine_create(heap, topology, &options, &machine));
    OK(tnr_machine_engine(machine, TNR_NONE, &engine));
    tnr_domain *pool = tnr_engine_pool(engine);
    tnr_group *group = NULL;
    tnr_domain *over = NULL;
    tnr_block block;
    OK(tnr_group_create(pool, &group)); /* its tables are in the arena */
    EXPECT(TNR_ERR_BUSY, tnr_machine_destroy(&machine));
    OK(tnr_group_release(&group));
    OK(tnr_pool_create(pool, NULL, &over));
    EXPECT(TNR_ERR_BUSY, tnr_machine_destroy(&machine));
    OK(tnr_domain_close(&over));
    OK(tnr_domain_allocate(pool, 100, 0, &block));
    EXPECT(TNR_ERR_BUSY, tnr_machine_destroy(&machine));
    OK(tnr_domain_release(pool, &block));
    OK(tnr_machine_destroy(&machine));
}

static void a_closed_pool_does_not_confuse_it(void **state)
{
    (void)state;
    const tnr_machine_options options = in_arenas(ARENA_BYTES);
    tnr_machine *machine = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *tensor = NULL;
    OK(tnr_machine_create(heap, topology, &options, &machine));
    OK(tnr_machine_engine(machine, TNR_NONE, &engine));
    tnr_domain *pool = tnr_engine_pool(engine);
    OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(10), &tensor));
    OK(tnr_domain_close(&pool));
    EXPECT(TNR_ERR_BUSY, tnr_machine_destroy(&machine));
    release(&tensor);
    OK(tnr_machine_destroy(&machine));
}

static void arenas_that_are_too_small(void **state)
{
    (void)state;
    const tnr_domain_statistics before = statistics_of(heap);
    static const uint64_t sizes[] = {1, 4096, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tnr_machine_options options = in_arenas(sizes[i]);
        options.scratch_bytes = 1 << 20;
        tnr_machine *machine = NULL;
        tnr_engine *engine = untouched();
        OK(tnr_machine_create(heap, topology, &options, &machine));
        const tnr_domain_statistics made = statistics_of(heap);
        const tnr_status status = tnr_machine_engine(machine, TNR_NONE, &engine);
        assert_int_equal(status, TNR_ERR_MEMORY);
        assert_ptr_equal(engine, untouched());
        assert_int_equal(statistics_of(heap).blocks, made.blocks);
        OK(tnr_machine_destroy(&machine));
    }
    assert_int_equal(statistics_of(heap).blocks, before.blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_home_of_exactly_its_need), cmocka_unit_test(the_node_is_asked_once),
        cmocka_unit_test(what_keeps_the_machine),     cmocka_unit_test(a_closed_pool_does_not_confuse_it),
        cmocka_unit_test(arenas_that_are_too_small),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
