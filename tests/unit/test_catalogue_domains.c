/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every operation of the catalogue with inputs and outputs in every kind of domain: heap, arena, pool, a program's own
 * direct and mapped ones. Memory that the host cannot reach is refused with the call to make.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"

#define ROUNDS 6
#define ARENA_BYTES ((size_t)4 << 20)

enum { HEAP, ARENA, POOL, DIRECT, MAPPED, KINDS };

static struct {
    tnr_domain *kinds[KINDS];
    catalogue_probe direct;
    catalogue_probe mapped;
    void *region;
    catalogue_random random;
} all;

static int set_up(void **state)
{
    (void)state;
    all.random = catalogue_seed(415U);
    all.direct = (catalogue_probe){.access = TNR_ACCESS_DIRECT};
    all.mapped = (catalogue_probe){.access = TNR_ACCESS_MAPPED};
    all.region = malloc(ARENA_BYTES);
    assert_non_null(all.region);
    catalogue_ok(tnr_heap_create(&all.kinds[HEAP]), "heap");
    catalogue_ok(tnr_arena_create(all.region, ARENA_BYTES, NULL, &all.kinds[ARENA]), "arena");
    catalogue_ok(tnr_pool_create(all.kinds[HEAP], NULL, &all.kinds[POOL]), "pool");
    catalogue_probe_domain(all.kinds[HEAP], &all.direct, &all.kinds[DIRECT]);
    catalogue_probe_domain(all.kinds[HEAP], &all.mapped, &all.kinds[MAPPED]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int kind = KINDS - 1; kind >= 0; --kind) {
        catalogue_ok(tnr_domain_close(&all.kinds[kind]), "nothing was left in a domain");
    }
    assert_int_equal(all.direct.live, 0);
    assert_int_equal(all.mapped.live, 0);
    free(all.region);
    return 0;
}

static void check(tnr_engine *engine, const catalogue_call *call, tnr_domain *inputs_in, tnr_domain *output_in)
{
    catalogue_operand inputs[CATALOGUE_INPUTS];
    catalogue_operand output;
    tnr_view views[CATALOGUE_INPUTS];
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_input_make(&all.random, inputs_in, call, i, call->op->layouts, false, &inputs[i]);
        views[i] = inputs[i].view.view;
    }
    catalogue_output_make(&all.random, output_in, call, call->reads_output ? CATALOGUE_VALUES : CATALOGUE_DIRT,
                          &output);
    if (call->op->into != NULL) {
        catalogue_array expected = catalogue_expect(call, inputs, &output.array);
        catalogue_ok(call->op->into(engine, call, views, &output.view), call->op->name);
        catalogue_operand_check(call, &output, &expected);
        catalogue_array_free(&expected);
    }
    if (call->op->make != NULL) {
        catalogue_call fresh = *call;
        fresh.reads_output = false;
        catalogue_array expected = catalogue_expect(&fresh, inputs, NULL);
        tnr_tensor *made = NULL;
        catalogue_ok(call->op->make(engine, &fresh, views, &made), call->op->name);
        catalogue_tensor_check(&fresh, made, &expected);
        tnr_tensor_info info;
        catalogue_ok(tnr_tensor_describe(made, &info), "describe of an output");
        assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(output_in)));
        catalogue_ok(tnr_tensor_release(&made), "release of an output");
        catalogue_array_free(&expected);
    }
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_operand_unchanged(&inputs[i]);
        catalogue_operand_free(&inputs[i]);
    }
    catalogue_operand_free(&output);
    assert_int_equal(all.mapped.open_maps, 0);
    assert_int_equal(all.mapped.misuse + all.direct.misuse, 0);
}

/* The engine's own record and pool in one kind of domain, outputs in another, inputs in a third. */
static void run_engine_in(int engine_in)
{
    for (int output_in = 0; output_in < KINDS; ++output_in) {
        tnr_engine_options options = TNR_ENGINE_OPTIONS;
        options.output = all.kinds[output_in];
        options.pool_max_bytes = 1 << 20;
        tnr_engine *engine = NULL;
        catalogue_ok(tnr_engine_create(all.kinds[engine_in], &options, &engine), "engine");
        assert_ptr_equal(tnr_engine_output(engine), all.kinds[output_in]);
        for (int inputs_in = 0; inputs_in < KINDS; ++inputs_in) {
            const catalogue_op *op;
            for (int o = 0; (op = catalogue_op_at(o)) != NULL; ++o) {
                for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
                    const bool has = (op->dtypes & CATALOGUE_BIT(dtype)) != 0;
                    for (int round = 0; has && round < ROUNDS; ++round) {
                        const catalogue_call call = catalogue_choose(&all.random, op, (tnr_dtype)dtype, 8);
                        check(engine, &call, all.kinds[inputs_in], all.kinds[output_in]);
                    }
                }
            }
        }
        catalogue_ok(tnr_engine_destroy(&engine), "engine destroy");
    }
}

static void test_every_operation_works_in_every_domain(void **state)
{
    (void)state;
    run_engine_in(HEAP);
    assert_true(all.mapped.maps > 0);
}

static void test_every_operation_works_from_an_engine_in_an_arena(void **state)
{
    (void)state;
    run_engine_in(ARENA);
    catalogue_ok(tnr_arena_check(all.kinds[ARENA]), "arena check");
}

static void test_engine_refuses_homes_that_it_cannot_live_in(void **state)
{
    (void)state;
    catalogue_probe away = {.access = TNR_ACCESS_NONE};
    tnr_domain *device = NULL;
    catalogue_probe_domain(all.kinds[HEAP], &away, &device);
    tnr_engine *engine = NULL;
    assert_int_equal(tnr_engine_create(device, NULL, &engine), TNR_ERR_RESIDENCY);
    assert_int_equal(tnr_engine_create(all.kinds[MAPPED], NULL, &engine), TNR_ERR_RESIDENCY);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.output = device;
    assert_int_equal(tnr_engine_create(all.kinds[HEAP], &options, &engine), TNR_ERR_RESIDENCY);
    options.output = NULL;
    options.size = 3;
    assert_int_equal(tnr_engine_create(all.kinds[HEAP], &options, &engine), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_engine_create(NULL, NULL, &engine), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_engine_create(all.kinds[HEAP], NULL, NULL), TNR_ERR_ARGUMENT);
    assert_null(engine);
    assert_null(tnr_engine_output(NULL));
    assert_null(tnr_engine_pool(NULL));
    catalogue_ok(tnr_engine_destroy(NULL), "destroy of nothing");
    catalogue_ok(tnr_engine_destroy(&engine), "destroy of nothing");
    catalogue_ok(tnr_domain_close(&device), "device domain");
}

/* Device-like inputs and outputs, in every combination with host ones. */
static void test_memory_out_of_reach_is_refused_with_the_call_to_make(void **state)
{
    (void)state;
    catalogue_probe away = {.access = TNR_ACCESS_NONE};
    tnr_domain *device = NULL;
    catalogue_probe_domain(all.kinds[HEAP], &away, &device);
    tnr_engine *engine = NULL;
    catalogue_ok(tnr_engine_create(all.kinds[HEAP], NULL, &engine), "engine");
    const catalogue_op *op;
    for (int o = 0; (op = catalogue_op_at(o)) != NULL; ++o) {
        const catalogue_call call = catalogue_plain_call(op, catalogue_plain_dtype(op));
        for (int where = 0; where <= op->arity; ++where) { /* which operand is away; arity: the output */
            catalogue_operand inputs[CATALOGUE_INPUTS];
            catalogue_operand output;
            tnr_view views[CATALOGUE_INPUTS];
            tnr_draft *draft = NULL;
            tnr_tensor *remote = NULL;
            for (int i = 0; i < op->arity; ++i) {
                catalogue_input_make(&all.random, all.kinds[HEAP], &call, i, op->layouts, false, &inputs[i]);
                views[i] = inputs[i].view.view;
            }
            catalogue_output_make(&all.random, all.kinds[HEAP], &call, CATALOGUE_DIRT, &output);
            tnr_view_mut out = output.view;
            const bool output_away = where == op->arity;
            catalogue_ok(tnr_draft_begin(device, output_away ? call.output_dtype : call.input_dtype[where],
                                         output_away ? call.rank : call.input_rank[where],
                                         output_away ? call.shape : call.input_shape[where], &draft),
                         "remote tensor");
            catalogue_ok(tnr_draft_commit(&draft, &remote), "remote tensor");
            if (output_away) {
                catalogue_ok(tnr_tensor_view_mut(remote, &out), "remote view");
            } else {
                catalogue_ok(tnr_tensor_view(remote, &views[where]), "remote view");
            }
            if (op->into != NULL) {
                assert_int_equal(op->into(engine, &call, views, &out), TNR_ERR_RESIDENCY);
                assert_non_null(strstr(tnr_last_error(), "load")); /* download or upload */
            }
            if (op->make != NULL && !output_away) {
                tnr_tensor *made = NULL;
                assert_int_equal(op->make(engine, &call, views, &made), TNR_ERR_RESIDENCY);
                assert_non_null(strstr(tnr_last_error(), "load"));
                assert_null(made);
            }
            catalogue_operand_unchanged(&output);
            catalogue_operand_free(&output);
            for (int i = 0; i < op->arity; ++i) {
                catalogue_operand_unchanged(&inputs[i]);
                catalogue_operand_free(&inputs[i]);
            }
            catalogue_ok(tnr_tensor_release(&remote), "remote tensor");
        }
    }
    catalogue_ok(tnr_engine_destroy(&engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&device), "device domain");
    assert_int_equal(away.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_works_in_every_domain),
        cmocka_unit_test(test_every_operation_works_from_an_engine_in_an_arena),
        cmocka_unit_test(test_engine_refuses_homes_that_it_cannot_live_in),
        cmocka_unit_test(test_memory_out_of_reach_is_refused_with_the_call_to_make),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
