/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every operation of the catalogue refuses, and that it then has done nothing: dtypes that it does not have, operands that
 * do not fit, overlap, leases in the way, owners that are gone, NULL, and a second thread in the engine.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"

typedef struct scene {
    catalogue_call call;
    catalogue_operand inputs[CATALOGUE_INPUTS];
    catalogue_operand output;
    tnr_view views[CATALOGUE_INPUTS];
    tnr_view_mut out;
} scene;

static tnr_domain *heap;
static tnr_engine *engine;
static catalogue_random random_numbers;

static int set_up(void **state)
{
    (void)state;
    random_numbers = catalogue_seed(99U);
    catalogue_ok(tnr_heap_create(&heap), "heap");
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    catalogue_ok(tnr_engine_destroy(&engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&heap), "heap");
    return 0;
}

static void open_scene(scene *s, const catalogue_op *op, tnr_dtype dtype)
{
    s->call = catalogue_plain_call(op, dtype);
    for (int i = 0; i < op->arity; ++i) {
        catalogue_input_make(&random_numbers, heap, &s->call, i, CATALOGUE_ANY_OUTPUT, false, &s->inputs[i]);
        s->views[i] = s->inputs[i].view.view;
    }
    catalogue_output_make(&random_numbers, heap, &s->call, CATALOGUE_VALUES, &s->output);
    s->out = s->output.view;
}

static void close_scene(scene *s)
{
    for (int i = 0; i < s->call.op->arity; ++i) {
        if (s->inputs[i].tensor != NULL) {
            catalogue_operand_unchanged(&s->inputs[i]);
        }
        catalogue_operand_free(&s->inputs[i]);
    }
    catalogue_operand_unchanged(&s->output);
    catalogue_operand_free(&s->output);
}

/* Everything that a domain and a pool count. */
typedef struct counters {
    tnr_domain_statistics home;
    tnr_domain_statistics domain;
    tnr_pool_statistics pool;
    tnr_ledger home_ledger;
    tnr_ledger ledger;
} counters;

static void read_counters(counters *now)
{
    memset(now, 0, sizeof *now);
    tnr_domain *pool = tnr_engine_pool(engine);
    catalogue_ok(tnr_domain_statistics_get(heap, &now->home), "statistics");
    catalogue_ok(tnr_domain_statistics_get(pool, &now->domain), "statistics");
    catalogue_ok(tnr_pool_statistics_get(pool, &now->pool), "pool statistics");
    catalogue_ok(tnr_ledger_get(heap, &now->home_ledger), "ledger");
    catalogue_ok(tnr_ledger_get(pool, &now->ledger), "ledger");
}

static void refused_into(scene *s, tnr_status expected)
{
    if (s->call.op->into != NULL) {
        counters before;
        counters after;
        read_counters(&before);
        assert_int_equal(s->call.op->into(engine, &s->call, s->views, &s->out), expected);
        assert_non_null(strstr(tnr_last_error(), s->call.op->name)); /* the text says which operation */
        read_counters(&after);
        assert_memory_equal(&before, &after, sizeof before);
    }
}

/* A refused call leaves no trace, not even in counts of what was once taken and given back. */
static void refused_make(scene *s, tnr_status expected)
{
    if (s->call.op->make != NULL) {
        tnr_tensor *made = NULL;
        counters before;
        counters after;
        read_counters(&before);
        assert_int_equal(s->call.op->make(engine, &s->call, s->views, &made), expected);
        assert_non_null(strstr(tnr_last_error(), s->call.op->name));
        read_counters(&after);
        assert_memory_equal(&before, &after, sizeof before); /* 64-bit members only: no padding */
        assert_null(made);
    }
}

static void refused(scene *s, tnr_status expected)
{
    refused_into(s, expected);
    refused_make(s, expected);
}

#define EACH_ROW(op)        \
    const catalogue_op *op; \
    for (int row = 0; (op = catalogue_op_at(row)) != NULL; ++row)

static void test_dtypes_that_an_operation_does_not_have(void **state)
{
    (void)state;
    EACH_ROW(op)
    {
        for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
            scene s;
            open_scene(&s, op, (tnr_dtype)dtype);
            if ((op->dtypes & CATALOGUE_BIT(dtype)) == 0) {
                refused(&s, TNR_ERR_UNSUPPORTED);
            }
            close_scene(&s);
        }
    }
}

static void test_dtypes_that_differ(void **state)
{
    (void)state;
    EACH_ROW(op)
    {
        scene s;
        open_scene(&s, op, catalogue_plain_dtype(op));
        catalogue_operand other;
        if ((op->exempt & CATALOGUE_FREE_OUTPUT_DTYPE) == 0) {
            const tnr_dtype wrong = s.call.output_dtype == TNR_F32 ? TNR_F64 : TNR_F32;
            catalogue_operand_make(&random_numbers, heap, wrong, s.call.rank, s.call.shape, CATALOGUE_COMPACT, true,
                                   CATALOGUE_VALUES, &other);
            s.out = other.view;
            refused_into(&s, TNR_ERR_DTYPE);
            s.out = s.output.view;
            catalogue_operand_unchanged(&other);
            catalogue_operand_free(&other);
        }
        for (int i = 0; i < op->arity && op->arity > 1 && (op->exempt & CATALOGUE_FREE_INPUT_DTYPES) == 0; ++i) {
            const tnr_dtype wrong = s.call.input_dtype[i] == TNR_F32 ? TNR_F64 : TNR_F32;
            catalogue_operand_make(&random_numbers, heap, wrong, s.call.input_rank[i], s.call.input_shape[i],
                                   CATALOGUE_COMPACT, true, CATALOGUE_VALUES, &other);
            s.views[i] = other.view.view;
            refused(&s, TNR_ERR_DTYPE);
            s.views[i] = s.inputs[i].view.view;
            catalogue_operand_free(&other);
        }
        close_scene(&s);
    }
}

static void test_descriptors_that_no_call_made(void **state)
{
    (void)state;
    EACH_ROW(op)
    {
        scene s;
        open_scene(&s, op, catalogue_plain_dtype(op));
        for (int i = 0; i < op->arity; ++i) {
            s.views[i].rank = TNR_MAX_RANK + 1;
            refused(&s, TNR_ERR_ARGUMENT);
            s.views[i].rank = -1;
            refused(&s, TNR_ERR_ARGUMENT);
            s.views[i] = s.inputs[i].view.view;
            s.views[i].dtype = TNR_DTYPE_END;
            refused(&s, TNR_ERR_ARGUMENT);
            s.views[i].dtype = TNR_DTYPE_NONE;
            refused(&s, TNR_ERR_ARGUMENT);
            s.views[i] = s.inputs[i].view.view;
            s.views[i].offset += 1 << 20;
            refused(&s, TNR_ERR_BOUNDS);
            s.views[i] = s.inputs[i].view.view;
            s.views[i].root = NULL;
            refused(&s, TNR_ERR_ARGUMENT);
            s.views[i] = s.inputs[i].view.view;
        }
        s.out.view.rank = 1000;
        refused_into(&s, TNR_ERR_ARGUMENT);
        s.out = s.output.view;
        s.out.view.offset = -1;
        refused_into(&s, TNR_ERR_BOUNDS);
        close_scene(&s);
    }
}

static void test_shapes_that_do_not_fit(void **state)
{
    (void)state;
    EACH_ROW(op)
    {
        scene s;
        open_scene(&s, op, catalogue_plain_dtype(op));
        const tnr_view whole = s.out.view;
        const tnr_range shorter = {0, -1, 1};
        const bool strict = (op->exempt & CATALOGUE_FREE_OUTPUT_SHAPE) == 0;
        for (int axis = 0; axis < whole.rank && strict; ++axis) {
            catalogue_ok(tnr_view_mut_slice_axis(&s.output.view, axis, shorter, &s.out), "slice");
            refused_into(&s, TNR_ERR_SHAPE);
        }
        if (strict) {
            catalogue_ok(tnr_view_mut_select(&s.output.view, 0, 0, &s.out), "select");
            refused_into(&s, TNR_ERR_SHAPE);
        }
        s.out = s.output.view;
        for (int i = 1; i < op->arity && (op->exempt & CATALOGUE_FREE_INPUT_SHAPES) == 0; ++i) {
            catalogue_ok(tnr_view_slice_axis(&s.views[i], 0, shorter, &s.views[i]), "slice");
            refused(&s, TNR_ERR_SHAPE);
            s.views[i] = s.inputs[i].view.view;
        }
        close_scene(&s);
    }
}

static void test_null_arguments(void **state)
{
    (void)state;
    EACH_ROW(op)
    {
        scene s;
        open_scene(&s, op, catalogue_plain_dtype(op));
        if (op->into != NULL) {
            assert_int_equal(op->into(NULL, &s.call, s.views, &s.out), TNR_ERR_ARGUMENT);
            assert_int_equal(op->into(engine, &s.call, s.views, NULL), TNR_ERR_ARGUMENT);
        }
        if (op->make != NULL) {
            tnr_tensor *made = NULL;
            assert_int_equal(op->make(NULL, &s.call, s.views, &made), TNR_ERR_ARGUMENT);
            assert_int_equal(op->make(engine, &s.call, s.views, NULL), TNR_ERR_ARGUMENT);
            assert_null(made);
        }
        close_scene(&s);
    }
}

/* Output one element behind an input, in the same owner; and, where in place is not allowed, the input itself. */
static void test_overlap(void **state)
{
    (void)state;
    EACH_ROW(op)
    {
        for (int place = 0; place < op->arity; ++place) {
            scene s;
            open_scene(&s, op, catalogue_plain_dtype(op));
            const tnr_dtype dtype = s.call.output_dtype;
            if (s.call.input_dtype[place] != dtype) { /* one owner has one dtype */
                close_scene(&s);
                continue;
            }
            int64_t room = 1;
            int64_t strides[TNR_MAX_RANK];
            int64_t input_strides[TNR_MAX_RANK];
            for (int i = 0; i < s.call.rank; ++i) {
                strides[i] = room;
                room *= s.call.shape[i];
            }
            int64_t input_room = 1;
            for (int i = 0; i < s.call.input_rank[place]; ++i) {
                input_strides[i] = input_room;
                input_room *= s.call.input_shape[place][i];
            }
            room = (room > input_room ? room : input_room) + 1;
            tnr_tensor *shared = NULL;
            catalogue_ok(tnr_tensor_zeros(heap, dtype, 1, &room, &shared), "shared owner");
            catalogue_ok(tnr_tensor_region(shared, s.call.input_rank[place], s.call.input_shape[place], input_strides,
                                           0, &s.views[place]),
                         "input");
            catalogue_ok(tnr_tensor_region_mut(shared, s.call.rank, s.call.shape, strides, 1, &s.out), "output");
            refused_into(&s, TNR_ERR_OVERLAP);
            if ((op->in_place & CATALOGUE_IN_PLACE(place)) == 0) {
                catalogue_ok(tnr_tensor_region_mut(shared, s.call.rank, s.call.shape, strides, 0, &s.out), "output");
                refused_into(&s, TNR_ERR_OVERLAP);
            }
            const void *data;
            catalogue_ok(tnr_tensor_host_data(shared, &data), "data");
            for (size_t i = 0; i < (size_t)room * tnr_dtype_size(dtype); ++i) {
                assert_int_equal(((const unsigned char *)data)[i], 0);
            }
            catalogue_ok(tnr_tensor_release(&shared), "release");
            close_scene(&s);
        }
    }
}

/* The output is the input itself, shape and all, for the operations that must have it apart. */
static void test_in_place_where_it_is_not_allowed(void **state)
{
    (void)state;
    static const double values[4] = {1, 2, 3, 4};
    const int64_t shape[2] = {2, 2};
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    const void *data;
    catalogue_ok(tnr_tensor_from_row_major(heap, TNR_F64, 2, shape, values, sizeof values, &tensor), "tensor");
    catalogue_ok(tnr_tensor_view_mut(tensor, &view), "view");
    const int axes[2] = {0, 1};
    assert_int_equal(tnr_matmul_into(engine, &view.view, &view.view, NULL, &view), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_sum_into(engine, &view.view, NULL, 0, &view), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_permute_into(engine, &view.view, axes, &view), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_permute_into(engine, &view.view, NULL, &view), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_copy_into(engine, &view.view, &view), TNR_ERR_OVERLAP);
    catalogue_ok(tnr_tensor_host_data(tensor, &data), "data");
    assert_true(((const double *)data)[1] == 3.0 && ((const double *)data)[2] == 2.0);
    catalogue_ok(tnr_tensor_release(&tensor), "release");
}

static void test_leases_in_the_way(void **state)
{
    (void)state;
    EACH_ROW(op)
    {
        scene s;
        open_scene(&s, op, catalogue_plain_dtype(op));
        tnr_view_mut owner;
        tnr_write_map writing;
        tnr_read_map reading;
        for (int i = 0; i < op->arity; ++i) {
            catalogue_ok(tnr_tensor_view_mut(s.inputs[i].tensor, &owner), "owner");
            catalogue_ok(tnr_map_write(&owner, &writing), "write lease");
            refused(&s, TNR_ERR_BUSY);
            catalogue_ok(tnr_unmap_write(&writing), "unmap");
        }
        catalogue_ok(tnr_map_read(&s.out.view, &reading), "read lease");
        refused_into(&s, TNR_ERR_BUSY);
        catalogue_ok(tnr_unmap_read(&reading), "unmap");
        close_scene(&s);
    }
}

static void test_owners_that_are_gone(void **state)
{
    (void)state;
    EACH_ROW(op)
    {
        for (int place = 0; place < op->arity; ++place) {
            scene s;
            open_scene(&s, op, catalogue_plain_dtype(op));
            catalogue_ok(tnr_tensor_release(&s.inputs[place].tensor), "release");
            refused(&s, TNR_ERR_STALE);
            close_scene(&s);
        }
        scene s;
        open_scene(&s, op, catalogue_plain_dtype(op));
        tnr_tensor *other = NULL;
        catalogue_ok(tnr_tensor_zeros(heap, s.call.output_dtype, s.call.rank, s.call.shape, &other), "output");
        catalogue_ok(tnr_tensor_view_mut(other, &s.out), "output");
        catalogue_ok(tnr_tensor_release(&other), "release");
        refused_into(&s, TNR_ERR_STALE);
        close_scene(&s);
    }
}

/* A product that would need scratch takes none when an operand is refused. */
static void test_refused_products_take_no_scratch(void **state)
{
    (void)state;
    const int64_t shape[2] = {50, 50};
    const tnr_range backwards[2] = {{0, TNR_END, -1}, TNR_RANGE_ALL};
    tnr_tensor *tensors[3] = {NULL, NULL, NULL};
    tnr_view_mut views[3];
    for (int i = 0; i < 3; ++i) {
        catalogue_ok(tnr_tensor_zeros(heap, TNR_F64, 2, shape, &tensors[i]), "tensor");
        catalogue_ok(tnr_tensor_view_mut(tensors[i], &views[i]), "view");
    }
    tnr_engine *fresh = NULL;
    tnr_engine *const kept = engine;
    catalogue_ok(tnr_engine_create(heap, NULL, &fresh), "engine");
    engine = fresh; /* whose pool is counted */
    tnr_view reversed;
    catalogue_ok(tnr_view_slice(&views[0].view, backwards, &reversed), "slice");
    tnr_write_map writing;
    tnr_tensor *made = NULL;
    counters before;
    counters after;
    read_counters(&before);
    catalogue_ok(tnr_map_write(&views[1], &writing), "write lease");
    assert_int_equal(tnr_matmul(fresh, &reversed, &views[1].view, NULL, &made), TNR_ERR_BUSY);
    assert_int_equal(tnr_matmul_into(fresh, &reversed, &views[1].view, NULL, &views[2]), TNR_ERR_BUSY);
    catalogue_ok(tnr_unmap_write(&writing), "unmap");
    read_counters(&after);
    assert_memory_equal(&before, &after, sizeof before);
    catalogue_ok(tnr_matmul_into(fresh, &reversed, &views[1].view, NULL, &views[2]), "product");
    read_counters(&after);
    assert_true(after.home.blocks ==
                before.home.blocks + 1); /* the scratch: in the domain and its ledger, nowhere else */
    assert_memory_equal(&before.domain, &after.domain, sizeof before.domain);
    assert_memory_equal(&before.pool, &after.pool, sizeof before.pool);
    assert_memory_equal(&before.ledger, &after.ledger, sizeof before.ledger);
    const tnr_ledger_entry *const scratch = &after.home_ledger.allocations[TNR_ALLOCATION_SCRATCH];
    assert_true(scratch->count == before.home_ledger.allocations[TNR_ALLOCATION_SCRATCH].count + 1);
    assert_true(scratch->bytes > before.home_ledger.allocations[TNR_ALLOCATION_SCRATCH].bytes);
    after.home_ledger.allocations[TNR_ALLOCATION_SCRATCH] = before.home_ledger.allocations[TNR_ALLOCATION_SCRATCH];
    assert_memory_equal(&before.home_ledger, &after.home_ledger, sizeof before.home_ledger);
    engine = kept;
    catalogue_ok(tnr_engine_destroy(&fresh), "engine destroy");
    for (int i = 0; i < 3; ++i) {
        catalogue_ok(tnr_tensor_release(&tensors[i]), "release");
    }
}

/* Axis lists, for the operations that have them, also for empty tensors. */
static void test_axis_lists(void **state)
{
    (void)state;
    const int64_t shapes[2][2] = {{2, 3}, {0, 3}};
    for (int k = 0; k < 2; ++k) {
        tnr_tensor *tensor = NULL;
        tnr_tensor *made = NULL;
        tnr_view view;
        catalogue_ok(tnr_tensor_zeros(heap, TNR_F64, 2, shapes[k], &tensor), "tensor");
        catalogue_ok(tnr_tensor_view(tensor, &view), "view");
        const int repeated[2] = {1, 1};
        const int outside[2] = {0, 2};
        const int negative[2] = {0, -1};
        assert_int_equal(tnr_sum(engine, &view, repeated, 2, &made), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_sum(engine, &view, outside, 2, &made), TNR_ERR_BOUNDS);
        assert_int_equal(tnr_sum(engine, &view, negative, 2, &made), TNR_ERR_BOUNDS);
        assert_int_equal(tnr_sum(engine, &view, NULL, 1, &made), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_sum(engine, &view, repeated, -1, &made), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_permute(engine, &view, repeated, &made), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_permute(engine, &view, outside, &made), TNR_ERR_BOUNDS);
        assert_null(made);
        catalogue_ok(tnr_tensor_release(&tensor), "release");
    }
}

/* ---- A second thread ----------------------------------------------------------------------------------------------------------- */

typedef struct intruder {
    scene *scene;
    tnr_status into;
    tnr_status make;
    tnr_status destroy;
    bool made_nothing;
} intruder;

static void *intrude(void *context)
{
    intruder *self = context;
    const catalogue_op *op = self->scene->call.op;
    tnr_tensor *made = NULL;
    tnr_engine *same = engine;
    self->into =
        op->into == NULL ? TNR_ERR_BUSY : op->into(engine, &self->scene->call, self->scene->views, &self->scene->out);
    self->make = op->make == NULL ? TNR_ERR_BUSY : op->make(engine, &self->scene->call, self->scene->views, &made);
    self->destroy = tnr_engine_destroy(&same);
    self->made_nothing = made == NULL && same == engine;
    return NULL;
}

static void start_intruder(void *context)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, intrude, context), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The engine is held open inside a mapping of a program's domain while another thread calls it. */
static void test_a_second_thread_in_the_engine(void **state)
{
    (void)state;
    catalogue_probe probe = {.access = TNR_ACCESS_MAPPED};
    tnr_domain *mapped = NULL;
    catalogue_probe_domain(heap, &probe, &mapped);
    tnr_tensor *slow = NULL;
    tnr_tensor *target = NULL;
    tnr_view slow_view;
    tnr_view_mut target_view;
    const int64_t extent = 4;
    catalogue_ok(tnr_tensor_zeros(mapped, TNR_F64, 1, &extent, &slow), "mapped tensor");
    catalogue_ok(tnr_tensor_zeros(heap, TNR_F64, 1, &extent, &target), "target");
    catalogue_ok(tnr_tensor_view(slow, &slow_view), "view");
    catalogue_ok(tnr_tensor_view_mut(target, &target_view), "view");
    EACH_ROW(op)
    {
        scene s;
        open_scene(&s, op, catalogue_plain_dtype(op));
        intruder second = {.scene = &s};
        probe.on_map = start_intruder;
        probe.context = &second;
        catalogue_ok(tnr_copy_into(engine, &slow_view, &target_view), "the first thread's call");
        probe.on_map = NULL;
        assert_int_equal(second.into, TNR_ERR_BUSY);
        assert_int_equal(second.make, TNR_ERR_BUSY);
        assert_int_equal(second.destroy, TNR_ERR_BUSY);
        assert_true(second.made_nothing);
        close_scene(&s);
    }
    catalogue_ok(tnr_tensor_release(&slow), "release");
    catalogue_ok(tnr_tensor_release(&target), "release");
    catalogue_ok(tnr_domain_close(&mapped), "mapped domain");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtypes_that_an_operation_does_not_have),
        cmocka_unit_test(test_dtypes_that_differ),
        cmocka_unit_test(test_descriptors_that_no_call_made),
        cmocka_unit_test(test_shapes_that_do_not_fit),
        cmocka_unit_test(test_null_arguments),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_in_place_where_it_is_not_allowed),
        cmocka_unit_test(test_leases_in_the_way),
        cmocka_unit_test(test_owners_that_are_gone),
        cmocka_unit_test(test_refused_products_take_no_scratch),
        cmocka_unit_test(test_axis_lists),
        cmocka_unit_test(test_a_second_thread_in_the_engine),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
