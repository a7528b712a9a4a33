/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans while a program's domain fails: every allocation of making one in turn, every mapping and unmapping of running one. Nothing is
 * left of what failed, the engine can be destroyed, and the next try works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/fault_scene.h"

static const int64_t shapes[OPERANDS + 1][3] = {{40, 40}, {40, 40}, {40, 40}, {40, 40}, {40, 40}};

/* The contraction, or the einsum with intermediates: 40^3 or 40^6 ones. */
static tnr_status make_plan(scene *s, bool pair, tnr_plan **plan)
{
    return pair ? tnr_plan_contract(s->engine, s->list[0], "ik", s->list[1], "jk", NULL, "ij", NULL, plan)
                : tnr_plan_einsum(s->engine, "ab,bc,cd,de->ae", s->list, OPERANDS, NULL, NULL, plan);
}

static int count_of_operands(bool pair) { return pair ? 2 : OPERANDS; }
static double value_of(bool pair) { return pair ? 40.0 : 64000.0; }

static void allocations_of_making(void **state)
{
    (void)state;
    for (int pair = 0; pair < 2; pair++) {
        scene s;
        open_scene(&s, shapes, 2, true, TNR_ACCESS_DIRECT);
        int failures = 0;
        for (;; failures++) {
            tnr_plan *plan = untouched();
            const tnr_ledger ledger = ledger_of(s.domain);
            const tnr_domain_statistics before = statistics_of(s.domain);
            const int64_t live = s.probe.live;
            s.probe.fail_allocate = failures + 1;
            const tnr_status status = make_plan(&s, pair == 1, &plan);
            const bool fired = s.probe.fail_allocate == 0;
            s.probe.fail_allocate = 0;
            if (status == TNR_OK) {
                assert_false(fired);
                EXPECT(TNR_ERR_BUSY, tnr_engine_destroy(&s.engine));
                s.probe.fail_allocate = 1; /* runs take nothing */
                OK(tnr_plan_run_into(plan, s.list, count_of_operands(pair == 1), &s.into));
                assert_int_equal(s.probe.fail_allocate, 1);
                s.probe.fail_allocate = 0;
                all_elements_are(s.out, value_of(pair == 1));
                OK(tnr_plan_destroy(&plan));
                break;
            }
            assert_true(fired);
            assert_int_equal(status, TNR_ERR_MEMORY);
            TEXT_HAS("on order");
            assert_ptr_equal(plan, untouched());
            SAME_STATISTICS(s.domain, &before);
            assert_int_equal(s.probe.live, live);
            const tnr_ledger after = ledger_of(s.domain);
            for (int i = 0; i < TNR_ALLOCATION_REASON_END; i++) {
                assert_true(ledger.allocations[i].count == after.allocations[i].count);
            }
        }
        /* scratch if it has any; the plan itself lies in the domain's home */
        const uint64_t scratch = ledger_of(s.domain).allocations[TNR_ALLOCATION_SCRATCH].count;
        assert_int_equal(failures, (int)scratch);
        assert_true(scratch == 1 || (scratch == 0 && pair == 1));
        close_scene(&s);
    }
}

/* All in an arena that has one block more in each round. */
static void blocks_of_making(void **state)
{
    (void)state;
    scene s;
    open_scene(&s, shapes, 2, false, TNR_ACCESS_DIRECT);
    tnr_engine *own = s.engine;
    static _Alignas(64) unsigned char region[1 << 20];
    int refused = 0;
    bool made = false;
    for (uint64_t blocks = 1; !made; blocks++) {
        tnr_arena_options options = TNR_ARENA_OPTIONS;
        options.max_blocks = blocks;
        tnr_domain *arena = NULL;
        OK(tnr_arena_create(region, sizeof region, &options, &arena));
        s.engine = NULL;
        if (tnr_engine_create(arena, NULL, &s.engine) == TNR_OK) {
            tnr_plan *plan = untouched();
            const tnr_domain_statistics before = statistics_of(arena);
            const tnr_status status = make_plan(&s, false, &plan);
            OK(tnr_arena_check(arena));
            made = status == TNR_OK;
            if (made) {
                OK(tnr_plan_run_into(plan, s.list, OPERANDS, &s.into));
                all_elements_are(s.out, value_of(false));
                OK(tnr_plan_destroy(&plan));
            } else {
                assert_int_equal(status, TNR_ERR_MEMORY);
                assert_ptr_equal(plan, untouched());
                SAME_STATISTICS(arena, &before);
                refused++;
            }
        }
        OK(tnr_engine_destroy(&s.engine));
        OK(tnr_arena_check(arena));
        close_domain(&arena);
    }
    assert_int_equal(refused, 2); /* the plan, the scratch */
    s.engine = own;
    close_scene(&s);
}

/* A new tensor is made by every run: its bytes and its handle. */
static void allocations_of_running(void **state)
{
    (void)state;
    for (int pair = 0; pair < 2; pair++) {
        scene s;
        open_scene(&s, shapes, 2, true, TNR_ACCESS_DIRECT);
        tnr_plan *plan = NULL;
        tnr_tensor *made = NULL;
        OK(make_plan(&s, pair == 1, &plan));
        s.probe.fail_allocate = 1;
        EXPECT(TNR_ERR_MEMORY, tnr_plan_run(plan, s.list, count_of_operands(pair == 1), &made));
        assert_null(made);
        OK(tnr_plan_run(plan, s.list, count_of_operands(pair == 1), &made));
        all_elements_are(made, value_of(pair == 1));
        release(&made);
        OK(tnr_plan_destroy(&plan));
        close_scene(&s);
    }
}

static void mappings_of_operands_and_outputs(void **state)
{
    (void)state;
    for (int pair = 0; pair < 2; pair++) {
        for (int make = 0; make < 2; make++) {
            scene s;
            open_scene(&s, shapes, 2, false, TNR_ACCESS_MAPPED);
            tnr_plan *plan = NULL;
            OK(make_plan(&s, pair == 1, &plan));
            const int count = count_of_operands(pair == 1);
            int failures = 0;
            for (;; failures++) {
                tnr_tensor *made = NULL;
                const tnr_domain_statistics before = statistics_of(s.domain);
                s.probe.fail_map = failures + 1;
                const tnr_status status = make == 1 ? tnr_plan_run(plan, s.list, count, &made)
                                                    : tnr_plan_run_into(plan, s.list, count, &s.into);
                const bool fired = s.probe.fail_map == 0;
                s.probe.fail_map = 0;
                if (status == TNR_OK) {
                    assert_false(fired);
                    all_elements_are(make == 1 ? made : s.out, value_of(pair == 1));
                    OK(tnr_tensor_release(&made));
                    break;
                }
                assert_int_equal(status, TNR_ERR_BACKEND);
                assert_null(made);
                SAME_STATISTICS(s.domain, &before);
                assert_int_equal(s.probe.open_maps, 0);
                all_elements_are(s.out, 7.0);
            }
            assert_int_equal(failures, count + 1);
            s.probe.fail_unmap = 1; /* the last thing that a run does */
            tnr_tensor *made = NULL;
            EXPECT(TNR_ERR_BACKEND, make == 1 ? tnr_plan_run(plan, s.list, count, &made)
                                              : tnr_plan_run_into(plan, s.list, count, &s.into));
            assert_null(made);
            assert_int_equal(s.probe.open_maps, 0);
            OK(tnr_plan_run(plan, s.list, count, &made));
            all_elements_are(made, value_of(pair == 1));
            release(&made);
            OK(tnr_plan_destroy(&plan));
            close_scene(&s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_of_making),
        cmocka_unit_test(blocks_of_making),
        cmocka_unit_test(allocations_of_running),
        cmocka_unit_test(mappings_of_operands_and_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
