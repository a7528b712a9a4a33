/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The n-th allocation, and the n-th mapping, of a program's domain fails, n = 1, 2, ... until the operation succeeds: every
 * operation of the catalogue. After each failure nothing has changed: outputs, inputs, ledger, statistics, blocks out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"

typedef struct snapshot {
    tnr_ledger ledger;
    tnr_ledger pool_ledger;
    tnr_domain_statistics domain;
    tnr_pool_statistics pool;
    int64_t live;
} snapshot;

/* Counters that may move although nothing changed (attempts, and what only ever grows) are left out. */
static snapshot take_snapshot(tnr_domain *domain, tnr_engine *engine, const catalogue_probe *probe)
{
    snapshot taken;
    memset(&taken, 0, sizeof taken);
    catalogue_ok(tnr_ledger_get(domain, &taken.ledger), "ledger");
    catalogue_ok(tnr_ledger_get(tnr_engine_pool(engine), &taken.pool_ledger), "ledger");
    catalogue_ok(tnr_domain_statistics_get(domain, &taken.domain), "statistics");
    catalogue_ok(tnr_pool_statistics_get(tnr_engine_pool(engine), &taken.pool), "pool statistics");
    taken.domain.failures = 0;
    taken.domain.peak_bytes = 0;
    taken.domain.allocations = 0;
    taken.pool.misses = 0;
    taken.pool.hits = 0;
    taken.pool.evictions = 0;
    taken.pool.high_water_bytes = 0;
    taken.live = probe->live;
    return taken;
}

/* Fields, not bytes: structs may have padding. */
static void assert_same(const snapshot *before, const snapshot *after)
{
    for (int i = 0; i < TNR_ALLOCATION_REASON_END; ++i) {
        assert_true(before->ledger.allocations[i].count == after->ledger.allocations[i].count);
        assert_true(before->ledger.allocations[i].bytes == after->ledger.allocations[i].bytes);
        assert_true(before->pool_ledger.allocations[i].count == after->pool_ledger.allocations[i].count);
        assert_true(before->pool_ledger.allocations[i].bytes == after->pool_ledger.allocations[i].bytes);
    }
    for (int i = 0; i < TNR_COPY_REASON_END; ++i) {
        assert_true(before->ledger.copies[i].count == after->ledger.copies[i].count);
        assert_true(before->ledger.copies[i].bytes == after->ledger.copies[i].bytes);
        assert_true(before->pool_ledger.copies[i].count == after->pool_ledger.copies[i].count);
    }
    assert_true(before->ledger.releases == after->ledger.releases);
    assert_true(before->pool_ledger.releases == after->pool_ledger.releases);
    assert_true(before->domain.blocks == after->domain.blocks);
    assert_true(before->domain.bytes == after->domain.bytes);
    assert_true(before->pool.buffers == after->pool.buffers);
    assert_true(before->pool.in_flight == after->pool.in_flight);
    assert_true(before->pool.in_flight_bytes == after->pool.in_flight_bytes);
    assert_true(before->live == after->live);
}

typedef struct scene {
    tnr_domain *heap;
    tnr_domain *domain; /* the probe's */
    tnr_engine *engine;
    catalogue_probe probe;
    catalogue_random random;
    catalogue_operand inputs[CATALOGUE_INPUTS];
    tnr_view views[CATALOGUE_INPUTS];
    catalogue_operand output;
} scene;

static void open_scene(scene *s, const catalogue_call *call, tnr_host_access access, bool engine_in_probe,
                       uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->random.state = seed;
    s->probe.access = access;
    catalogue_ok(tnr_heap_create(&s->heap), "heap");
    catalogue_probe_domain(s->heap, &s->probe, &s->domain);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.output = engine_in_probe ? NULL : s->domain;
    options.pool_max_bytes = 0; /* nothing retained: each output asks the domain */
    catalogue_ok(tnr_engine_create(engine_in_probe ? s->domain : s->heap, &options, &s->engine), "engine");
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_input_make(&s->random, s->domain, call, i, call->op->layouts, false, &s->inputs[i]);
        s->views[i] = s->inputs[i].view.view;
    }
    catalogue_output_make(&s->random, s->domain, call, CATALOGUE_DIRT, &s->output);
}

static void close_scene(scene *s, const catalogue_call *call)
{
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_operand_unchanged(&s->inputs[i]);
        catalogue_operand_free(&s->inputs[i]);
    }
    catalogue_operand_free(&s->output);
    catalogue_ok(tnr_engine_destroy(&s->engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&s->domain), "nothing was left");
    catalogue_ok(tnr_domain_close(&s->heap), "nothing was left");
    assert_int_equal(s->probe.live, 0);
    assert_int_equal(s->probe.open_maps, 0);
    assert_int_equal(s->probe.misuse, 0);
}

/* Run one form with the n-th allocation or mapping failing, n = 1, 2, ...; give the number of failures seen. */
static int fail_until_success(scene *s, const catalogue_call *call, bool make, int64_t *trigger, tnr_status expected)
{
    for (int64_t n = 1; n < 100; ++n) {
        tnr_tensor *made = NULL;
        const snapshot before = take_snapshot(s->domain, s->engine, &s->probe);
        *trigger = n;
        const tnr_status status = make ? call->op->make(s->engine, call, s->views, &made)
                                       : call->op->into(s->engine, call, s->views, &s->output.view);
        const bool fired = *trigger == 0;
        *trigger = 0;
        if (status == TNR_OK) {
            assert_false(fired);
            catalogue_array want = catalogue_expect(call, s->inputs, NULL);
            if (make) {
                catalogue_tensor_check(call, made, &want);
                catalogue_ok(tnr_tensor_release(&made), "release of an output");
            } else {
                catalogue_operand_check(call, &s->output, &want);
            }
            catalogue_array_free(&want);
            return (int)n - 1;
        }
        assert_true(fired);
        assert_int_equal(status, expected);
        assert_non_null(strstr(tnr_last_error(), "on order"));
        assert_null(made);
        const snapshot after = take_snapshot(s->domain, s->engine, &s->probe);
        assert_same(&before, &after);
        catalogue_operand_unchanged(&s->output);
        for (int i = 0; i < call->op->arity; ++i) {
            catalogue_operand_unchanged(&s->inputs[i]);
        }
    }
    fail_msg("%s never succeeds", call->op->name);
    return 0;
}

static void each_row(tnr_host_access access, bool engine_in_probe, bool make, bool map)
{
    const catalogue_op *op;
    for (int o = 0; (op = catalogue_op_at(o)) != NULL; ++o) {
        for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
            if ((op->dtypes & CATALOGUE_BIT(dtype)) == 0 || (make ? op->make == NULL : op->into == NULL)) {
                continue;
            }
            const catalogue_call call = catalogue_plain_call(op, (tnr_dtype)dtype);
            scene s;
            open_scene(&s, &call, access, engine_in_probe, 1000U * (unsigned)o + dtype + 1U);
            const int failures = map ? fail_until_success(&s, &call, make, &s.probe.fail_map, TNR_ERR_BACKEND)
                                     : fail_until_success(&s, &call, make, &s.probe.fail_allocate, TNR_ERR_MEMORY);
            if (map) {
                assert_true(failures == op->arity + 1); /* each operand has its own owner */
            } else {
                /* the _into form allocates nothing, scratch apart */
                assert_true(make ? failures >= 1 : failures <= (op->scratch ? 1 : 0));
            }
            close_scene(&s, &call);
        }
    }
}

static void test_failing_allocations_of_the_output_domain(void **state)
{
    (void)state;
    each_row(TNR_ACCESS_DIRECT, false, true, false);
}

static void test_failing_allocations_under_the_engines_own_pool(void **state)
{
    (void)state;
    each_row(TNR_ACCESS_DIRECT, true, true, false);
}

static void test_into_forms_allocate_nothing(void **state)
{
    (void)state;
    each_row(TNR_ACCESS_DIRECT, true, false, false);
}

static void test_failing_mappings_of_into_forms(void **state)
{
    (void)state;
    each_row(TNR_ACCESS_MAPPED, false, false, true);
}

static void test_failing_mappings_of_allocating_forms(void **state)
{
    (void)state;
    each_row(TNR_ACCESS_MAPPED, false, true, true);
}

/* A product that needs packing scratch: its allocation fails clean too, and is made once. */
static void test_failing_scratch_of_a_packed_product(void **state)
{
    (void)state;
    const tnr_product_options options = TNR_PRODUCT_OPTIONS;
    catalogue_call call = {.dtype = TNR_F64,
                           .input_dtype = {TNR_F64, TNR_F64},
                           .output_dtype = TNR_F64,
                           .input_rank = {2, 2},
                           .rank = 2,
                           .matmul = options};
    catalogue_op compact = catalogue_product.ops[0];
    assert_string_equal(compact.name, "matmul");
    compact.layouts = CATALOGUE_COMPACT;
    call.op = &compact;
    for (int i = 0; i < 2; ++i) {
        call.input_shape[0][i] = call.input_shape[1][i] = call.shape[i] = 50;
    }
    scene s;
    open_scene(&s, &call, TNR_ACCESS_DIRECT, true, 9U);
    tnr_view reversed; /* a backwards axis, too large to be gathered: the packed loops take it */
    const tnr_range backwards[2] = {{0, TNR_END, -1}, TNR_RANGE_ALL};
    catalogue_ok(tnr_view_slice(&s.views[0], backwards, &reversed), "slice");
    s.views[0] = reversed;
    catalogue_array values = catalogue_array_make(TNR_F64, 2, call.shape);
    for (int64_t j = 0; j < 50; ++j) {
        for (int64_t i = 0; i < 50; ++i) {
            values.values[i + 50 * j] = s.inputs[0].array.values[49 - i + 50 * j];
        }
    }
    catalogue_array_free(&s.inputs[0].array);
    s.inputs[0].array = values;
    assert_true(reversed.strides[0] < 0);
    /* The output's bytes, then the scratch; a product that lacks the scratch gives its output back. */
    assert_true(fail_until_success(&s, &call, true, &s.probe.fail_allocate, TNR_ERR_MEMORY) == 2);
    catalogue_ok(tnr_engine_destroy(&s.engine), "engine destroy");
    catalogue_ok(tnr_engine_create(s.domain, NULL, &s.engine), "engine without scratch");
    assert_true(fail_until_success(&s, &call, false, &s.probe.fail_allocate, TNR_ERR_MEMORY) == 1);
    assert_true(fail_until_success(&s, &call, false, &s.probe.fail_allocate, TNR_ERR_MEMORY) == 0); /* kept */
    catalogue_array_free(&s.inputs[0].array);
    s.inputs[0].array = catalogue_array_make(TNR_F64, 2, call.shape);
    close_scene(&s, &call);
}

/* ---- Domains that fail to end a mapping ----------------------------------------------------------------------------------------- */

static tnr_ledger_entry copies_of(tnr_domain *domain, const catalogue_op *op)
{
    tnr_ledger ledger;
    catalogue_ok(tnr_ledger_get(domain, &ledger), "ledger");
    return op->copies == TNR_COPY_REASON_END ? (tnr_ledger_entry){0, 0} : ledger.copies[op->copies];
}

/*
 * Everything is mapped; the n-th unmap fails. All other mappings end all the same, all leases go back, and a tensor that could
 * not be finished does not exist. A copy into a view stays in the ledger: its bytes had moved.
 */
static void fail_each_unmap(const catalogue_op *op, bool make)
{
    const catalogue_call call = catalogue_plain_call(op, catalogue_plain_dtype(op));
    const int unmaps = 1 + op->arity; /* each operand has its own owner */
    for (int64_t n = 1; n <= unmaps; ++n) {
        scene s;
        open_scene(&s, &call, TNR_ACCESS_MAPPED, false, 11U);
        tnr_tensor *made = NULL;
        const snapshot before = take_snapshot(s.domain, s.engine, &s.probe);
        const tnr_ledger_entry copies = copies_of(s.domain, op);
        s.probe.fail_unmap = n;
        const tnr_status status =
            make ? op->make(s.engine, &call, s.views, &made) : op->into(s.engine, &call, s.views, &s.output.view);
        assert_int_equal(s.probe.fail_unmap, 0);
        assert_int_equal(status, TNR_ERR_BACKEND);
        assert_non_null(strstr(tnr_last_error(), "on order"));
        assert_int_equal(s.probe.open_maps, 0);
        assert_null(made);
        const bool entered = !make && op->copies != TNR_COPY_REASON_END;
        assert_true(copies_of(s.domain, op).count == copies.count + (entered ? 1 : 0));
        snapshot after = take_snapshot(s.domain, s.engine, &s.probe);
        if (entered) {
            after.ledger.copies[op->copies] = before.ledger.copies[op->copies];
        }
        assert_same(&before, &after);
        for (int i = 0; i < op->arity; ++i) { /* nothing is leased any more */
            tnr_view_mut owner;
            tnr_write_map map;
            catalogue_ok(tnr_tensor_view_mut(s.inputs[i].tensor, &owner), "owner");
            catalogue_ok(tnr_map_write(&owner, &map), "map");
            catalogue_ok(tnr_unmap_write(&map), "unmap");
        }
        tnr_tensor *again = NULL; /* and the engine goes on */
        if (op->make != NULL) {
            catalogue_ok(op->make(s.engine, &call, s.views, &again), op->name);
            catalogue_ok(tnr_tensor_release(&again), "release");
        }
        close_scene(&s, &call);
    }
}

static void test_unmaps_that_fail(void **state)
{
    (void)state;
    const catalogue_op *op;
    for (int o = 0; (op = catalogue_op_at(o)) != NULL; ++o) {
        if (op->make != NULL) {
            fail_each_unmap(op, true);
        }
        if (op->into != NULL) {
            fail_each_unmap(op, false);
        }
    }
}

/* While the mapping of a copy's target, the first to go, ends, its owner is still leased and the ledger already knows. */
typedef struct witness {
    const scene *scene;
    const catalogue_op *op;
    uint64_t before;
    int seen;
} witness;

static void look_at_the_ledger(void *context)
{
    witness *self = context;
    if (self->seen++ == 0) {
        tnr_tensor *owner = self->scene->output.tensor;
        assert_true(copies_of(self->scene->domain, self->op).count == self->before + 1);
        assert_int_equal(tnr_tensor_release(&owner), TNR_ERR_BUSY);
    }
}

static void test_copies_are_entered_before_their_leases_end(void **state)
{
    (void)state;
    const catalogue_op *op;
    for (int o = 0; (op = catalogue_op_at(o)) != NULL; ++o) {
        if (op->copies == TNR_COPY_REASON_END || op->into == NULL) {
            continue;
        }
        const catalogue_call call = catalogue_plain_call(op, catalogue_plain_dtype(op));
        scene s;
        open_scene(&s, &call, TNR_ACCESS_MAPPED, false, 12U);
        witness self = {&s, op, copies_of(s.domain, op).count, 0};
        s.probe.context = &self;
        s.probe.on_unmap = look_at_the_ledger;
        catalogue_ok(op->into(s.engine, &call, s.views, &s.output.view), op->name);
        s.probe.on_unmap = NULL;
        assert_true(self.seen >= 1);
        close_scene(&s, &call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing_allocations_of_the_output_domain),
        cmocka_unit_test(test_failing_allocations_under_the_engines_own_pool),
        cmocka_unit_test(test_into_forms_allocate_nothing),
        cmocka_unit_test(test_failing_mappings_of_into_forms),
        cmocka_unit_test(test_failing_mappings_of_allocating_forms),
        cmocka_unit_test(test_failing_scratch_of_a_packed_product),
        cmocka_unit_test(test_unmaps_that_fail),
        cmocka_unit_test(test_copies_are_entered_before_their_leases_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
