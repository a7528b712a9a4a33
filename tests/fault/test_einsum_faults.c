/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Einsum while a program's domain fails: every allocation, every mapping and every unmapping in turn, by both forms. Outputs, inputs,
 * leases and ledgers are as before, and the next try works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/fault_scene.h"

/* A sum, three pairs; large enough to pack. */
static const char *const equation = "abf,bc,cd,de->ea";
static const int64_t shapes[OPERANDS + 1][3] = {{40, 50, 2}, {50, 60}, {60, 70}, {70, 30}, {30, 40}};

static void check_ledger(const tnr_ledger *before, tnr_domain *domain)
{
    const tnr_ledger after = ledger_of(domain);
    for (int i = 0; i < TNR_ALLOCATION_REASON_END; i++) {
        assert_true(before->allocations[i].count == after.allocations[i].count);
        assert_true(before->allocations[i].bytes == after.allocations[i].bytes);
    }
    for (int i = 0; i < TNR_COPY_REASON_END; i++) {
        assert_true(before->copies[i].count == after.copies[i].count);
    }
    assert_true(before->releases == after.releases);
}

static const double result = 2.0 * 50 * 60 * 70;

/* Fail the n-th time for n = 1, 2, ... until it works; the number of failures. */
static int fail_until_success(scene *s, bool make, int64_t *trigger, tnr_status expected)
{
    for (int n = 1; n < 50; n++) {
        tnr_tensor *made = NULL;
        const tnr_ledger ledgers[2] = {ledger_of(s->domain), ledger_of(tnr_engine_pool(s->engine))};
        const tnr_domain_statistics before = statistics_of(s->domain);
        const int64_t live = s->probe.live;
        *trigger = n;
        const tnr_status status = make ? tnr_einsum(s->engine, equation, s->list, OPERANDS, NULL, &made)
                                       : tnr_einsum_into(s->engine, equation, s->list, OPERANDS, NULL, &s->into);
        const bool fired = *trigger == 0;
        *trigger = 0;
        if (status == TNR_OK) {
            assert_false(fired);
            all_elements_are(make ? made : s->out, result);
            OK(tnr_tensor_release(&made));
            return n - 1;
        }
        assert_true(fired);
        assert_int_equal(status, expected);
        TEXT_HAS("on order");
        assert_null(made);
        check_ledger(&ledgers[0], s->domain);
        check_ledger(&ledgers[1], tnr_engine_pool(s->engine));
        SAME_STATISTICS(s->domain, &before);
        assert_int_equal(s->probe.live, live);
        assert_int_equal(s->probe.open_maps, 0);
        all_elements_are(s->out, 7.0);
    }
    fail_msg("never succeeds");
    return 0;
}

static void allocations_of_outputs_and_scratch(void **state)
{
    (void)state;
    for (int make = 0; make < 2; make++) {
        scene s;
        open_scene(&s, shapes, 3, true, TNR_ACCESS_DIRECT);
        const int failures = fail_until_success(&s, make == 1, &s.probe.fail_allocate, TNR_ERR_MEMORY);
        assert_true(failures == 1 + make); /* one block for intermediates and packing */
        close_scene(&s);
        open_scene(&s, shapes, 3, false, TNR_ACCESS_DIRECT);
        assert_int_equal(fail_until_success(&s, make == 1, &s.probe.fail_allocate, TNR_ERR_MEMORY), make);
        close_scene(&s);
    }
}

static void mappings_of_operands_and_outputs(void **state)
{
    (void)state;
    for (int make = 0; make < 2; make++) {
        scene s;
        open_scene(&s, shapes, 3, false, TNR_ACCESS_MAPPED);
        /* scratch that was had for a new output whose mapping fails afterwards would be in the ledger: warm */
        assert_int_equal(fail_until_success(&s, make == 1, &s.probe.fail_map, TNR_ERR_BACKEND), OPERANDS + 1);
        close_scene(&s);
    }
}

/* The last thing a call does; what was written to the caller's view stays. */
static void failing_unmaps(void **state)
{
    (void)state;
    for (int make = 0; make < 2; make++) {
        for (int n = 1; n <= OPERANDS + 1; n++) {
            scene s;
            open_scene(&s, shapes, 3, false, TNR_ACCESS_MAPPED);
            const int64_t live = s.probe.live;
            tnr_tensor *made = NULL;
            s.probe.fail_unmap = n;
            EXPECT(TNR_ERR_BACKEND, make == 1 ? tnr_einsum(s.engine, equation, s.list, OPERANDS, NULL, &made)
                                              : tnr_einsum_into(s.engine, equation, s.list, OPERANDS, NULL, &s.into));
            assert_null(made);
            assert_int_equal(s.probe.open_maps, 0);
            assert_int_equal(s.probe.live, live);
            OK(tnr_einsum(s.engine, equation, s.list, OPERANDS, NULL, &made));
            all_elements_are(made, result);
            release(&made);
            close_scene(&s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_of_outputs_and_scratch),
        cmocka_unit_test(mappings_of_operands_and_outputs),
        cmocka_unit_test(failing_unmaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
