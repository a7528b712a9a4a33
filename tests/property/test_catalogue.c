/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every operation of the catalogue against its model: random shapes with zero extents, every dtype, inputs strided,
 * reversed, permuted and broadcast, outputs fresh, strided and full of NaN, and in place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"

#ifndef ROUNDS /* fewer on boards, and where each access is checked */
#if defined(TNRI_SANITIZED)
#define ROUNDS 100
#else
#define ROUNDS 300
#endif
#endif
#ifndef LIMIT
#define LIMIT 24
#endif

typedef struct fixture {
    tnr_domain *heap;
    tnr_engine *engine;
    catalogue_random random;
} fixture;

static fixture all;

static int set_up(void **state)
{
    (void)state;
    all.random = catalogue_seed(20261130U);
    catalogue_ok(tnr_heap_create(&all.heap), "heap");
    catalogue_ok(tnr_engine_create(all.heap, NULL, &all.engine), "engine");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    catalogue_ok(tnr_engine_destroy(&all.engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&all.heap), "every tensor came back");
    return 0;
}

static void make_inputs(const catalogue_call *call, catalogue_operand *inputs, tnr_view *views)
{
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_input_make(&all.random, all.heap, call, i, call->op->layouts, false, &inputs[i]);
        views[i] = inputs[i].view.view;
    }
}

static void free_inputs(const catalogue_call *call, catalogue_operand *inputs)
{
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_operand_unchanged(&inputs[i]);
        catalogue_operand_free(&inputs[i]);
    }
}

/* Walk all rows and dtypes with one kind of check. */
static void each(void (*check)(const catalogue_call *call))
{
    const catalogue_op *op;
    for (int o = 0; (op = catalogue_op_at(o)) != NULL; ++o) {
        for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
            for (int round = 0; round < ROUNDS && (op->dtypes & CATALOGUE_BIT(dtype)) != 0; ++round) {
                const catalogue_call call = catalogue_choose(&all.random, op, (tnr_dtype)dtype, LIMIT);
                check(&call);
            }
        }
    }
}

static void check_make(const catalogue_call *call)
{
    if (call->op->make == NULL) {
        return;
    }
    catalogue_call fresh = *call;
    fresh.reads_output = false; /* there is no output yet */
    catalogue_operand inputs[CATALOGUE_INPUTS];
    tnr_view views[CATALOGUE_INPUTS];
    make_inputs(&fresh, inputs, views);
    catalogue_array expected = catalogue_expect(&fresh, inputs, NULL);
    tnr_tensor *out = NULL;
    catalogue_ok(call->op->make(all.engine, &fresh, views, &out), call->op->name);
    catalogue_tensor_check(&fresh, out, &expected);
    catalogue_ok(tnr_tensor_release(&out), "release of an output");
    catalogue_array_free(&expected);
    free_inputs(&fresh, inputs);
}

static void check_into(const catalogue_call *call)
{
    if (call->op->into == NULL) {
        return;
    }
    catalogue_operand inputs[CATALOGUE_INPUTS];
    catalogue_operand output;
    tnr_view views[CATALOGUE_INPUTS];
    make_inputs(call, inputs, views);
    catalogue_output_make(&all.random, all.heap, call, call->reads_output ? CATALOGUE_VALUES : CATALOGUE_DIRT, &output);
    catalogue_array expected = catalogue_expect(call, inputs, &output.array);
    catalogue_ok(call->op->into(all.engine, call, views, &output.view), call->op->name);
    catalogue_operand_check(call, &output, &expected);
    catalogue_array_free(&expected);
    catalogue_operand_free(&output);
    free_inputs(call, inputs);
}

/* The output is the very view of one input. */
static void check_in_place(const catalogue_call *call)
{
    const int place = (int)catalogue_below(&all.random, call->op->arity);
    if ((call->op->in_place & CATALOGUE_IN_PLACE(place)) == 0 || call->input_rank[place] != call->rank ||
        call->input_dtype[place] != call->output_dtype) {
        return;
    }
    catalogue_operand inputs[CATALOGUE_INPUTS];
    tnr_view views[CATALOGUE_INPUTS];
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_input_make(&all.random, all.heap, call, i, i == place ? CATALOGUE_ANY_OUTPUT : call->op->layouts,
                             i == place, &inputs[i]);
        views[i] = inputs[i].view.view;
    }
    catalogue_array expected = catalogue_expect(call, inputs, NULL);
    catalogue_ok(call->op->into(all.engine, call, views, &inputs[place].view), call->op->name);
    catalogue_operand_check(call, &inputs[place], &expected);
    catalogue_array_free(&expected);
    for (int i = 0; i < call->op->arity; ++i) {
        if (i != place) {
            catalogue_operand_unchanged(&inputs[i]);
        }
        catalogue_operand_free(&inputs[i]);
    }
}

/* What the ledger says a call did: one allocation by the allocating form, none by the other, copies by their names. */
static void check_ledger(const catalogue_call *call)
{
    catalogue_operand inputs[CATALOGUE_INPUTS];
    catalogue_operand output;
    tnr_view views[CATALOGUE_INPUTS];
    make_inputs(call, inputs, views);
    catalogue_output_make(&all.random, all.heap, call, CATALOGUE_VALUES, &output);
    const uint64_t bytes = (uint64_t)output.array.count * tnr_dtype_size(call->output_dtype);
    const bool copies = call->op->copies != TNR_COPY_REASON_END;
    tnr_domain *pool = tnr_engine_output(all.engine);
    tnr_ledger pool_ledger;
    tnr_ledger heap_ledger;
    tnr_tensor *out = NULL;
    if (call->op->into != NULL) {
        catalogue_ok(tnr_ledger_reset(all.heap), "ledger reset");
        catalogue_ok(tnr_ledger_reset(pool), "ledger reset");
        catalogue_ok(call->op->into(all.engine, call, views, &output.view), call->op->name);
        catalogue_ok(tnr_ledger_get(all.heap, &heap_ledger), "ledger");
        catalogue_ok(tnr_ledger_get(pool, &pool_ledger), "ledger");
        for (int reason = 0; reason < TNR_ALLOCATION_REASON_END; ++reason) {
            /* Some may take the engine's scratch, once, from the engine's domain. */
            const bool scratch = reason == TNR_ALLOCATION_SCRATCH && call->op->scratch;
            assert_true(heap_ledger.allocations[reason].count <= (scratch ? 1U : 0U));
            assert_true(pool_ledger.allocations[reason].count == 0);
        }
        for (int reason = 0; reason < TNR_COPY_REASON_END; ++reason) {
            const bool named = copies && reason == (int)call->op->copies;
            assert_true(heap_ledger.copies[reason].count == (named ? 1 : 0));
            assert_true(heap_ledger.copies[reason].bytes == (named ? bytes : 0));
            assert_true(pool_ledger.copies[reason].count == 0);
        }
    }
    if (call->op->make != NULL) {
        catalogue_ok(tnr_ledger_reset(all.heap), "ledger reset");
        catalogue_ok(tnr_ledger_reset(pool), "ledger reset");
        catalogue_ok(call->op->make(all.engine, call, views, &out), call->op->name);
        catalogue_ok(tnr_ledger_get(all.heap, &heap_ledger), "ledger");
        catalogue_ok(tnr_ledger_get(pool, &pool_ledger), "ledger");
        const int reason = copies ? TNR_ALLOCATION_COPY : TNR_ALLOCATION_OUTPUT;
        assert_true(pool_ledger.allocations[reason].count == 1);
        assert_true(pool_ledger.allocations[reason].bytes == bytes);
        assert_true(pool_ledger.allocations[TNR_ALLOCATION_CREATE].count == 0);
        if (copies) {
            assert_true(pool_ledger.copies[call->op->copies].count == 1);
            assert_true(pool_ledger.copies[call->op->copies].bytes == bytes);
        }
        catalogue_ok(tnr_tensor_release(&out), "release of an output");
    }
    catalogue_operand_free(&output);
    free_inputs(call, inputs);
}

static void test_allocating_forms_match_the_model(void **state)
{
    (void)state;
    each(check_make);
}

static void test_into_forms_match_the_model(void **state)
{
    (void)state;
    each(check_into);
}

static void test_in_place_matches_the_model(void **state)
{
    (void)state;
    each(check_in_place);
}

static void test_ledger_says_what_was_done(void **state)
{
    (void)state;
    each(check_ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocating_forms_match_the_model),
        cmocka_unit_test(test_into_forms_match_the_model),
        cmocka_unit_test(test_in_place_matches_the_model),
        cmocka_unit_test(test_ledger_says_what_was_done),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
