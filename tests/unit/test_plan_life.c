/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of plans: the order of ends, calls from inside, threads that take turns, needs that are exact, and that runs take nothing.
 */
#include <pthread.h>

#include "catalogue/catalogue.h"
#include "support/einsum_test.h"
#include "support/plan_test.h"

/* ---- Ends -------------------------------------------------------------------------------------------------------------------------------------- */

static void engines_outlive_their_plans(void **state)
{
    (void)state;
    quads q = make_quads(1.0, 1.0);
    tnr_engine *own = NULL;
    tnr_plan *plans[2] = {NULL, NULL};
    OK(tnr_engine_create(heap, NULL, &own));
    for (int i = 0; i < 2; i++) {
        OK(tnr_plan_contract(own, &q.views[0], "abcd", &q.views[1], "cdef", NULL, "abef", NULL, &plans[i]));
    }
    for (int i = 0; i < 2; i++) {
        const tnr_domain_statistics before = statistics_of(heap);
        EXPECT(TNR_ERR_BUSY, tnr_engine_destroy(&own));
        TEXT_HAS(i == 0 ? "engine_destroy: plans of the engine that are left: 2" : "are left: 1 (tnr_plan_destroy)");
        assert_non_null(own);
        SAME_STATISTICS(heap, &before);
        OK(tnr_plan_run_into(plans[1], list_of(&q), 2, &q.into)); /* it is as it was */
        all_elements_are(q.out, 256, 16.0);
        OK(tnr_plan_destroy(&plans[i]));
    }
    OK(tnr_engine_destroy(&own));
    free_quads(&q);
}

static void machines_outlive_the_plans_of_their_engines(void **state)
{
    (void)state;
    tnr_topology *topology = NULL;
    if (tnr_topology_create(heap, NULL, &topology) != TNR_OK) {
        print_message("skipped: %s\n", tnr_last_error());
        skip();
    }
    quads q = make_quads(1.0, 1.0);
    tnr_machine *machine = NULL;
    tnr_engine *own = NULL;
    tnr_plan *plan = NULL;
    OK(tnr_machine_create(heap, topology, NULL, &machine));
    OK(tnr_machine_engine(machine, TNR_NONE, &own));
    OK(tnr_plan_contract(own, &q.views[0], "abcd", &q.views[1], "cdef", NULL, "abef", NULL, &plan));
    EXPECT(TNR_ERR_BUSY, tnr_machine_destroy(&machine));
    TEXT_HAS("machine_destroy: plans of the engine that are left: 1");
    OK(tnr_plan_run_into(plan, list_of(&q), 2, &q.into));
    all_elements_are(q.out, 256, 16.0);
    OK(tnr_plan_destroy(&plan));
    tnr_plan_cache_info info;
    OK(tnr_engine_plans(own, &info));
    assert_int_equal(info.bytes, TNR_PLAN_CACHE_BYTES);
    OK(tnr_machine_destroy(&machine));
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    options.plan_cache_bytes = 4096;
    OK(tnr_machine_create(heap, topology, &options, &machine));
    OK(tnr_machine_engine(machine, TNR_NONE, &own));
    OK(tnr_engine_plans(own, &info));
    assert_int_equal(info.bytes, 4096);
    OK(tnr_machine_destroy(&machine));
    OK(tnr_topology_destroy(&topology));
    free_quads(&q);
}

typedef struct inner_calls {
    quads q;
    tnr_plan *plan;
    int count;
} inner_calls;

static void call_from_inside(void *context)
{
    inner_calls *calls = context;
    tnr_plan *before = calls->plan;
    tnr_plan *other = untouched();
    tnr_plan_cache_info info;
    tnr_contraction_path path;
    EXPECT(TNR_ERR_BUSY, tnr_plan_destroy(&calls->plan));
    assert_ptr_equal(calls->plan, before);
    EXPECT(TNR_ERR_BUSY, tnr_plan_run_into(calls->plan, list_of(&calls->q), 2, &calls->q.into));
    EXPECT(TNR_ERR_BUSY, tnr_plan_contract(engine, &calls->q.views[0], "abcd", &calls->q.views[1], "cdef", NULL, "abef",
                                           NULL, &other));
    EXPECT(TNR_ERR_BUSY, tnr_engine_plans(engine, &info));
    OK(tnr_plan_path(calls->plan, &path));
    calls->count++;
}

/* Domains of programs are called by operations, and so know when a thread is inside. */
static void nothing_but_the_path_from_inside(void **state)
{
    (void)state;
    inner_calls calls = {.q = make_quads(1.0, 1.0)};
    catalogue_probe probe = {.access = TNR_ACCESS_MAPPED};
    tnr_domain *mapped = NULL;
    catalogue_probe_domain(heap, &probe, &mapped);
    calls.plan = plan_of(&calls.q, NULL, NULL);
    tnr_tensor *out = NULL;
    OK(tnr_tensor_zeros(mapped, TNR_F64, 4, SHAPE(4, 4, 4, 4), &out));
    const tnr_view_mut into = view_mut_of(out);
    probe.on_map = call_from_inside;
    probe.context = &calls;
    OK(tnr_plan_run_into(calls.plan, list_of(&calls.q), 2, &into));
    assert_int_equal(calls.count, 1);
    probe.on_map = NULL;
    double found = 0.0;
    OK(tnr_view_get(&into.view, SHAPE(3, 3, 3, 3), &found));
    assert_true(found == 16.0);
    release(&out);
    OK(tnr_plan_destroy(&calls.plan));
    close_domain(&mapped);
    free_quads(&calls.q);
}

static void *run_elsewhere(void *argument)
{
    inner_calls *calls = argument;
    for (int i = 0; i < 100; i++) {
        calls->count += tnr_plan_run_into(calls->plan, calls->q.list, 2, &calls->q.into) == TNR_OK ? 1 : 0;
    }
    return NULL;
}

static void threads_take_turns(void **state)
{
    (void)state;
    inner_calls calls = {.q = make_quads(1.0, 1.0)};
    calls.plan = plan_of(&calls.q, NULL, NULL);
    (void)list_of(&calls.q);
    for (int turn = 1; turn <= 3; turn++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_elsewhere, &calls), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(calls.count, 100 * turn);
        all_elements_are(calls.q.out, 256, 16.0);
        tnr_tensor *made = NULL; /* the engine does other things between */
        OK(tnr_contract(engine, &calls.q.views[0], "abcd", &calls.q.views[1], "abcd", "", NULL, &made));
        assert_true(host_of(made)[0] == 256.0);
        release(&made);
    }
    OK(tnr_plan_destroy(&calls.plan));
    free_quads(&calls.q);
}

/* ---- Needs --------------------------------------------------------------------------------------------------------------------------------------- */

/* So many operands of the highest rank and with as many labels as there are, and a path told: no plan of that many is larger. */
static tnr_status plan_the_largest(tnr_engine *own, int count, tnr_plan **plan)
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char text[(TNR_EINSUM_OPERANDS + 1) * (TNR_MAX_RANK + 1) + 4];
    char *at = text;
    tnr_view view = {.dtype = TNR_F64, .rank = TNR_MAX_RANK};
    const tnr_view *list[TNR_EINSUM_OPERANDS];
    tnr_einsum_step steps[TNR_EINSUM_OPERANDS];
    for (int axis = 0; axis < TNR_MAX_RANK; axis++) {
        view.shape[axis] = 1;
    }
    for (int i = 0; i < count; i++) {
        list[i] = &view;
        steps[i] = (tnr_einsum_step){.a = i == 0 ? 0 : count + i - 1, .b = i + 1};
        for (int axis = 0; axis < TNR_MAX_RANK; axis++) {
            *at++ = names[(i * TNR_MAX_RANK + axis) % TNR_EINSUM_LABELS];
        }
        *at++ = i + 1 < count ? ',' : '-';
    }
    *at++ = '>';
    memcpy(at, names, TNR_MAX_RANK);
    at[TNR_MAX_RANK] = '\0';
    if (count == 1) {
        steps[0].b = TNR_NONE;
    }
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    options.steps = steps;
    options.step_count = count > 1 ? count - 1 : 1;
    return tnr_plan_einsum(own, text, list, count, &view, &options, plan);
}

/* An engine and `plans` such plans, in an arena of exactly what they were said to need less so many bytes: how many fitted. */
static int plans_that_fit(int operands, int plans, uint64_t less)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_arena_options arena_options = TNR_ARENA_OPTIONS;
    tnr_need sum;
    tnr_need each;
    uint64_t bytes;
    uint64_t control;
    options.plan_cache_bytes = 0;
    options.scratch_bytes = 4096; /* intermediates of one element */
    OK(tnr_engine_need(&options, 0, &sum));
    OK(tnr_plan_need(operands, &each));
    OK(tnr_need_add(&sum, &each, (uint64_t)plans));
    OK(tnr_arena_bytes(&sum, &arena_options, &bytes, &control, &arena_options.max_blocks));
    void *region = aligned_alloc(64, (size_t)bytes);
    assert_non_null(region);
    tnr_domain *arena = NULL;
    tnr_engine *own = NULL;
    tnr_plan *made[4] = {NULL};
    OK(tnr_arena_create(region, bytes - less, &arena_options, &arena));
    OK(tnr_engine_create(arena, &options, &own));
    int fitted = 0;
    while (fitted < plans && plan_the_largest(own, operands, &made[fitted]) == TNR_OK) {
        fitted++;
    }
    if (fitted < plans) {
        assert_null(made[fitted]);
        OK(tnr_arena_check(arena));
    }
    for (int i = 0; i < fitted; i++) {
        OK(tnr_plan_destroy(&made[i]));
    }
    OK(tnr_engine_destroy(&own));
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    free(region);
    return fitted;
}

static void needs_are_exact(void **state)
{
    (void)state;
    for (int operands = 1; operands <= TNR_EINSUM_OPERANDS; operands++) {
        assert_int_equal(plans_that_fit(operands, 1, 0), 1);
        assert_int_equal(plans_that_fit(operands, 1, 1), 0);
        assert_int_equal(plans_that_fit(operands, 3, 0), 3);
        assert_int_equal(plans_that_fit(operands, 3, 1), 2);
    }
    tnr_need need = {1, 2, 3};
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_need(0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_need(TNR_EINSUM_OPERANDS + 1, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_need(1, NULL));
    tnr_view matrix;
    OK(tnr_view_shaped(TNR_F64, 2, SHAPE(3, 3), &matrix));
    const tnr_view *const list[2] = {&matrix, NULL};
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum_need("ij->ji", list, 1, NULL, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum_need("ij,jk->ik", list, 2, NULL, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum_need("ij->ji", list, 0, &options, &need));
    EXPECT(TNR_ERR_SHAPE, tnr_plan_einsum_need("ijk->k", list, 1, &options, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract_need(&matrix, "ik", &matrix, NULL, "ij", &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract_need(&matrix, "ik", &matrix, "kj", "ij", NULL));
    assert_true(need.bytes == 1 && need.blocks == 2 && need.handles == 3);
    options.beta.re = 1.0; /* of no account for what a plan takes */
    OK(tnr_plan_einsum_need("ij->ji", list, 1, &options, &need));
}

/* No plan takes more than was said, and each what is said of its own: random ones of every size. */
static void needs_are_enough(void **state)
{
    (void)state;
    seed_from_environment();
    for (int round = 0; round < 2000; round++) {
        const sum_case c = random_case(MOST_OPERANDS, 20000);
        tnr_view views[MOST_OPERANDS];
        const tnr_view *list[MOST_OPERANDS];
        for (int i = 0; i < c.count; i++) {
            views[i] = (tnr_view){.dtype = c.dtype, .rank = c.terms[i].rank};
            int64_t step = within(1, 3);
            for (int axis = 0; axis < views[i].rank; axis++) {
                views[i].shape[axis] = extent_of(&c, c.terms[i].labels[axis]);
                views[i].strides[axis] = chance(2) ? step : -step;
                step = step * (views[i].shape[axis] + within(0, 1)) + within(0, 1);
            }
            list[i] = &views[i];
        }
        tnr_need need;
        tnr_plan *plan = NULL;
        tnr_need exact;
        OK(tnr_plan_need(c.count, &need));
        OK(tnr_plan_einsum_need(c.equation, list, c.count, NULL, &exact));
        const tnr_domain_statistics before = statistics_of(heap);
        OK(tnr_plan_einsum(engine, c.equation, list, c.count, NULL, NULL, &plan));
        tnr_contraction_path path;
        OK(tnr_plan_path(plan, &path));
        const tnr_domain_statistics with = statistics_of(heap);
        OK(tnr_plan_destroy(&plan));
        const tnr_domain_statistics after = statistics_of(heap); /* the engine's scratch may have grown */
        assert_true(with.bytes - after.bytes <= need.bytes && with.blocks - after.blocks == need.blocks);
        assert_true(with.bytes - after.bytes == exact.bytes && exact.blocks == 1 && exact.handles == 0);
        if (c.count == 2) {
            OK(tnr_plan_contract_need(list[0], c.terms[0].labels, list[1], c.terms[1].labels, c.out.labels, &need));
            assert_memory_equal(&need, &exact, sizeof need);
        }
        assert_true(after.blocks - before.blocks <= 1);
    }
}

/* Scratch is there when the plan is: runs take nothing, whatever ran before. */
static void runs_take_nothing(void **state)
{
    (void)state;
    for (int dtype = TNR_F32; dtype <= TNR_C64; dtype++) {
        tnr_engine *own = NULL;
        tnr_plan *plan = NULL;
        tnr_plan *sum = NULL;
        tnr_tensor *a = NULL;
        tnr_tensor *out = NULL;
        OK(tnr_engine_create(heap, NULL, &own));
        OK(tnr_tensor_zeros(heap, (tnr_dtype)dtype, 2, SHAPE(150, 150), &a));
        OK(tnr_tensor_zeros(heap, (tnr_dtype)dtype, 2, SHAPE(150, 150), &out));
        const tnr_view view = view_of(a);
        const tnr_view_mut into = view_mut_of(out);
        const tnr_view *const list[4] = {&view, &view, &view, &view};
        const tnr_domain_statistics before = statistics_of(heap);
        OK(tnr_plan_contract(own, &view, "ik", &view, "kj", &into.view, "ji", NULL, &plan));
        OK(tnr_plan_einsum(own, "ab,bc,cd,de->ea", list, 4, &into.view, NULL, &sum));
        const tnr_domain_statistics made = statistics_of(heap);
        for (int round = 0; round < 3; round++) {
            OK(tnr_plan_run_into(plan, list, 2, &into));
            OK(tnr_plan_run_into(sum, list, 4, &into));
        }
        const tnr_domain_statistics after = statistics_of(heap);
        assert_memory_equal(&made, &after, sizeof made);
        OK(tnr_plan_destroy(&plan));
        OK(tnr_plan_destroy(&sum));
        assert_true(statistics_of(heap).blocks == before.blocks + 1); /* the scratch */
        OK(tnr_engine_destroy(&own));
        release(&a);
        release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_outlive_their_plans),
        cmocka_unit_test(machines_outlive_the_plans_of_their_engines),
        cmocka_unit_test(nothing_but_the_path_from_inside),
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(needs_are_exact),
        cmocka_unit_test(needs_are_enough),
        cmocka_unit_test(runs_take_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
