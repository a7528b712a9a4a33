/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sealed arena: whatever lasts is refused and takes nothing, everything else goes on, and ends in any order.
 */
#include "support/storage_test.h"

#include "tenure/tenure.h"

/* Refused, by name, with nothing taken and the result left alone. */
#define REFUSED(arena, call)                                    \
    do {                                                        \
        const tnr_domain_statistics was = statistics_of(arena); \
        EXPECT(TNR_ERR_UNSUPPORTED, call);                      \
        TEXT_HAS("is sealed");                                  \
        SAME_STATISTICS(arena, &was);                           \
    } while (0)

static tnr_domain *make_program_kind(tnr_domain *home, test_memory *memory)
{
    tnr_domain *made = NULL;
    OK(create_program_domain(home, memory, TNR_ACCESS_DIRECT, &made));
    return made;
}

static void whatever_lasts_is_refused(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = NULL;
    tnr_domain *inner = NULL;
    test_memory memory = {0};
    test_memory other = {0};
    OK(tnr_pool_create(arena, NULL, &pool));
    OK(tnr_arena_create_in(arena, 65536, NULL, &inner));
    tnr_domain *program = make_program_kind(arena, &memory);
    assert_false(tnr_arena_is_sealed(arena));
    OK(tnr_arena_seal(arena));
    OK(tnr_arena_seal(arena));
    assert_true(tnr_arena_is_sealed(arena));

    tnr_domain *made = untouched();
    tnr_engine *engine = untouched();
    tnr_domain *const homes[3] = {arena, pool, program};
    for (int i = 0; i < 3; i++) {
        REFUSED(arena, tnr_pool_create(homes[i], NULL, &made));
        REFUSED(arena, tnr_arena_create_in(homes[i], 8192, NULL, &made));
        REFUSED(arena, create_program_domain(homes[i], &other, TNR_ACCESS_DIRECT, &made));
        REFUSED(arena, tnr_engine_create(homes[i], NULL, &engine));
        assert_ptr_equal(made, untouched());
        assert_ptr_equal(engine, untouched());
    }
    assert_int_equal(other.opens, 0);

    /* The arena inside is one of its own. */
    assert_false(tnr_arena_is_sealed(inner));
    OK(tnr_pool_create(inner, NULL, &made));
    close_domain(&made);
    OK(tnr_arena_seal(inner));
    REFUSED(inner, tnr_pool_create(inner, NULL, &made));

    close_domain(&inner);
    REFUSED(arena, tnr_arena_create_in(arena, 65536, NULL, &inner)); /* not again, though it was there before */
    close_domain(&program);
    close_domain(&pool);
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    OK(tnr_arena_create(region, ARENA_REGION_BYTES, NULL, &arena)); /* another arena in the same place */
    assert_false(tnr_arena_is_sealed(arena));
    OK(tnr_pool_create(arena, NULL, &pool));
    close_domain(&pool);
    close_domain(&arena);
    free(region);
}

static void what_cannot_be_sealed(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(arena, NULL, &pool));
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_seal(NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_arena_seal(pool));
    TEXT_HAS("pool");
    assert_false(tnr_arena_is_sealed(NULL));
    assert_false(tnr_arena_is_sealed(pool));
    close_domain(&pool);
    close_domain(&arena);
    free(region);
}

/* Tensors, groups, plans and results come and go; what grows may grow. */
static void everything_else_goes_on(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 1000);
    tnr_engine *engine = NULL;
    OK(tnr_engine_create(arena, NULL, &engine));
    OK(tnr_arena_seal(arena));
    const tnr_domain_statistics sealed = statistics_of(arena);
    tnr_tensor *tensors[40];
    tnr_group *group = NULL;
    tnr_slot slot;
    for (int i = 0; i < 40; i++) { /* more handles than one chunk has */
        OK(tnr_tensor_zeros(i % 2 ? arena : tnr_engine_pool(engine), TNR_F64, 2, SHAPE(8, 8), &tensors[i]));
    }
    const tnr_view view = view_of(tensors[0]);
    const tnr_view *const three[3] = {&view, &view, &view};
    tnr_tensor *made = NULL;
    tnr_plan *plan = NULL;
    OK(tnr_einsum(engine, "ab,bc,cd->ad", three, 3, NULL, &made));
    OK(tnr_tensor_release(&made));
    OK(tnr_plan_contract(engine, &view, "ab", &view, "bc", NULL, "ac", NULL, &plan));
    OK(tnr_plan_run(plan, three, 2, &made));
    OK(tnr_plan_destroy(&plan));
    OK(tnr_group_create(arena, &group));
    OK(tnr_group_append(group, &made, &slot));
    for (int i = 1; i < 40; i++) {
        OK(tnr_group_append(group, &tensors[i], &slot));
    }
    OK(tnr_group_release(&group));
    tnr_block block;
    OK(tnr_domain_allocate(arena, 1000, 0, &block));
    OK(tnr_domain_release(arena, &block));
    release(&tensors[0]);
    OK(tnr_engine_destroy(&engine));
    OK(tnr_arena_check(arena));
    assert_true(statistics_of(arena).allocations > sealed.allocations);
    tnr_engine *again = untouched();
    REFUSED(arena, tnr_engine_create(arena, NULL, &again));
    close_domain(&arena);
    free(region);
}

static void reset_keeps_the_seal(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = untouched();
    tnr_block block;
    OK(tnr_domain_allocate(arena, 1000, 0, &block));
    OK(tnr_arena_seal(arena));
    OK(tnr_arena_reset(arena));
    assert_true(tnr_arena_is_sealed(arena));
    REFUSED(arena, tnr_pool_create(arena, NULL, &pool));
    OK(tnr_domain_allocate(arena, 1000, 0, &block));
    OK(tnr_domain_release(arena, &block));
    close_domain(&arena);
    free(region);
}

/* The pool that was there is closed first, while a tensor of it lives: what is weakly returned is not made anew. */
static void ends_in_any_order(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = NULL;
    tnr_tensor *tensor = NULL;
    OK(tnr_pool_create(arena, NULL, &pool));
    OK(tnr_arena_seal(arena));
    OK(tnr_tensor_zeros(pool, TNR_F32, 1, SHAPE(100), &tensor));
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&arena));
    close_domain(&pool);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&arena));
    assert_true(tnr_arena_is_sealed(arena));
    release(&tensor);
    assert_int_equal(statistics_of(arena).blocks, 1); /* the handles */
    close_domain(&arena);
    free(region);
}

/* A machine's home, where there are machines: what is made late is refused, what is there works. */
static void a_machine_makes_nothing_late(void **state)
{
    (void)state;
    tnr_feature_set features;
    tnr_features(&features);
    if (features.bounded) {
        skip();
    }
    void *region = aligned_alloc(64, (size_t)4 << 20);
    tnr_domain *arena = NULL;
    tnr_topology *topology = NULL;
    tnr_machine *machine = NULL;
    assert_non_null(region);
    OK(tnr_arena_create(region, (uint64_t)4 << 20, NULL, &arena));
    OK(tnr_topology_create(arena, NULL, &topology));
    OK(tnr_machine_create(arena, topology, NULL, &machine));
    OK(tnr_arena_seal(arena));
    tnr_machine *no_machine = untouched();
    tnr_topology *no_topology = untouched();
    tnr_engine *engine = untouched();
    tnr_domain *memory = untouched();
    REFUSED(arena, tnr_topology_create(arena, NULL, &no_topology));
    REFUSED(arena, tnr_machine_create(arena, topology, NULL, &no_machine));
    REFUSED(arena, tnr_machine_engine(machine, TNR_NONE, &engine));
    REFUSED(arena, tnr_machine_domain(machine, TNR_NONE, &memory));
    REFUSED(arena, tnr_numa_create(arena, topology, tnr_machine_node_at(machine, 0), NULL, &memory));
    OK(tnr_machine_destroy(&machine));
    OK(tnr_topology_destroy(&topology));
    close_domain(&arena);

    OK(tnr_arena_create(region, (uint64_t)4 << 20, NULL, &arena));
    OK(tnr_topology_create(arena, NULL, &topology));
    OK(tnr_machine_create(arena, topology, NULL, &machine));
    OK(tnr_machine_engine(machine, TNR_NONE, &engine));
    OK(tnr_arena_seal(arena));
    tnr_engine *same = NULL;
    OK(tnr_machine_engine(machine, TNR_NONE, &same));
    assert_ptr_equal(same, engine);
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_zeros(tnr_engine_output(engine), TNR_F64, 1, SHAPE(100), &tensor));
    release(&tensor);
    OK(tnr_machine_destroy(&machine));
    OK(tnr_topology_destroy(&topology));
    close_domain(&arena);
    free(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_lasts_is_refused), cmocka_unit_test(what_cannot_be_sealed),
        cmocka_unit_test(everything_else_goes_on),   cmocka_unit_test(reset_keeps_the_seal),
        cmocka_unit_test(ends_in_any_order),         cmocka_unit_test(a_machine_makes_nothing_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
