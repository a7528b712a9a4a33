/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much stack a public call takes: the unused stack is painted before each call and looked at after it. Every operation of the
 * catalogue on random shapes, dtypes and layouts, both forms; and the calls of storage by hand. The ceiling is docs/bounded.md's.
 */
#include <stdio.h>

#include "board.h"
#include "catalogue/catalogue.h"
#include "cmocka.h"

#define CEILING 8192U
enum { ROUNDS = 4, LIMIT = 7 };

extern const char board_left_out[];
const char board_left_out[] = "";

static size_t most;
static const char *most_of = "";
static bool above;

static void note(const char *name, size_t used)
{
    above = above || used > CEILING;
    if (used > most) {
        most = used;
        most_of = name;
    }
}

/* Bytes of stack below this function that the call takes, into `used`. */
#define MEASURE(used, call)          \
    do {                             \
        board_stack_paint();         \
        const tnr_status s = call;   \
        (used) = board_stack_used(); \
        catalogue_ok(s, #call);      \
    } while (0)

static void storage_call(const char *name, size_t used)
{
    print_message("%6u  %s\n", (unsigned)used, name);
    note(name, used);
}

#define STORAGE(call)               \
    do {                            \
        size_t bytes;               \
        MEASURE(bytes, call);       \
        storage_call(#call, bytes); \
    } while (0)

static void test_storage(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char region[192 * 1024];
    const int64_t shape[3] = {5, 4, 3};
    const int turned[3] = {2, 0, 1};
    tnr_domain *arena = NULL;
    tnr_domain *pool = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *tensor = NULL;
    tnr_tensor *copy = NULL;
    tnr_group *group = NULL;
    tnr_view view;
    tnr_view other;
    tnr_view_mut whole;
    tnr_view_mut halves[2];
    tnr_slot slot;
    tnr_need need;
    bool granted = false;
    STORAGE(tnr_arena_create(region, sizeof region, NULL, &arena));
    STORAGE(tnr_pool_create(arena, NULL, &pool));
    tnr_engine_options with = TNR_ENGINE_OPTIONS;
    with.plan_cache_bytes = 0;
    STORAGE(tnr_engine_create(arena, &with, &engine));
    STORAGE(tnr_tensor_zeros(pool, TNR_F64, 3, shape, &tensor));
    STORAGE(tnr_tensor_view(tensor, &view));
    STORAGE(tnr_view_permute(&view, turned, &other));
    STORAGE(tnr_tensor_duplicate(&other, arena, &copy));
    STORAGE(tnr_tensor_view_mut(tensor, &whole));
    STORAGE(tnr_view_mut_slice_axis(&whole, 0, (tnr_range){0, 2, 1}, &halves[0]));
    STORAGE(tnr_view_mut_slice_axis(&whole, 0, (tnr_range){2, 5, 1}, &halves[1]));
    STORAGE(tnr_view_mut_split(halves, 2, &granted));
    STORAGE(tnr_group_create(arena, &group));
    STORAGE(tnr_group_append(group, &copy, &slot));
    STORAGE(tnr_group_view(group, slot, &other));
    STORAGE(tnr_group_take(group, slot, &copy));
    STORAGE(tnr_group_release(&group));
    STORAGE(tnr_tensor_need(TNR_F64, 3, shape, 2, &need));
    STORAGE(tnr_tensor_release(&copy));
    STORAGE(tnr_tensor_release(&tensor));
    STORAGE(tnr_engine_destroy(&engine));
    STORAGE(tnr_domain_close(&pool));
    tnr_topology *topology = NULL;
    tnr_machine *machine = NULL;
    STORAGE(tnr_topology_create(arena, NULL, &topology));
    with.topology = topology;
    STORAGE(tnr_engine_create(arena, &with, &engine));
    STORAGE(tnr_engine_destroy(&engine));
    STORAGE(tnr_machine_create(arena, topology, NULL, &machine));
    STORAGE(tnr_machine_destroy(&machine));
    STORAGE(tnr_topology_destroy(&topology));
    STORAGE(tnr_arena_check(arena));
    STORAGE(tnr_domain_close(&arena));
}

/*
 * The longest ways of einsum: a path that is searched for, sums before pairs, intermediates, a factor; with a cache of plans and without;
 * plans, and what is asked before there is an engine.
 */
static void test_plans(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char region[256 * 1024];
    static const char equation[] = "abij,bcjk,cdkl,deml,efno,fgpq->ag";
    enum { OPERANDS = 6 };
    const int64_t shape[4] = {2, 2, 2, 2};
    tnr_domain *arena = NULL;
    tnr_tensor *tensor = NULL;
    tnr_view view;
    const tnr_view *list[OPERANDS];
    tnr_need need;
    static tnr_contraction_path path;
    catalogue_ok(tnr_arena_create(region, sizeof region, NULL, &arena), "arena");
    catalogue_ok(tnr_tensor_zeros(arena, TNR_F64, 4, shape, &tensor), "tensor");
    catalogue_ok(tnr_tensor_view(tensor, &view), "view");
    for (int i = 0; i < OPERANDS; ++i) {
        list[i] = &view;
    }
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    options.mode = TNR_EINSUM_EXACT;
    options.alpha.re = 2.0;
    STORAGE(tnr_einsum_path(equation, list, OPERANDS, &options, &path));
    STORAGE(tnr_einsum_need(equation, list, OPERANDS, &options, 0, &need));
    STORAGE(tnr_contract_need(&view, "abij", &view, "bcjk", "acik", 0, &need));
    for (unsigned cache = 0; cache <= 8192; cache += 8192) {
        tnr_engine_options with = TNR_ENGINE_OPTIONS;
        tnr_engine *engine = NULL;
        tnr_tensor *made = NULL;
        tnr_plan *plan = NULL;
        with.plan_cache_bytes = cache;
        catalogue_ok(tnr_engine_create(arena, &with, &engine), "engine");
        for (int again = 0; again < 2; ++again) {
            STORAGE(tnr_einsum(engine, equation, list, OPERANDS, &options, &made));
            catalogue_ok(tnr_tensor_release(&made), "release");
            STORAGE(tnr_contract(engine, &view, "abij", &view, "bcjk", "acik", NULL, &made));
            catalogue_ok(tnr_tensor_release(&made), "release");
        }
        STORAGE(tnr_plan_contract(engine, &view, "abij", &view, "bcjk", NULL, "acik", NULL, &plan));
        STORAGE(tnr_plan_destroy(&plan));
        STORAGE(tnr_plan_einsum(engine, equation, list, OPERANDS, NULL, &options, &plan));
        STORAGE(tnr_plan_run(plan, list, OPERANDS, &made));
        STORAGE(tnr_plan_path(plan, &path));
        catalogue_ok(tnr_tensor_release(&made), "release");
        STORAGE(tnr_plan_destroy(&plan));
        catalogue_ok(tnr_engine_destroy(&engine), "engine");
    }
    STORAGE(tnr_arena_seal(arena));
    catalogue_ok(tnr_tensor_release(&tensor), "release");
    catalogue_ok(tnr_domain_close(&arena), "close");
}

/* A layout that no usual transform makes: distinct or not is found by looking at all elements. */
static void test_odd_layouts(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char region[64 * 1024];
    const int64_t shape[3] = {9, 9, 9};
    const int64_t strides[3] = {101, 103, 107};
    const int64_t elements = 4000;
    tnr_domain *arena = NULL;
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    catalogue_ok(tnr_arena_create(region, sizeof region, NULL, &arena), "arena");
    catalogue_ok(tnr_tensor_zeros(arena, TNR_F32, 1, &elements, &tensor), "tensor");
    board_stack_paint();
    const tnr_status status = tnr_tensor_region_mut(tensor, 3, shape, strides, 0, &view);
    storage_call("tnr_tensor_region_mut", board_stack_used());
    (void)status;
    catalogue_ok(tnr_tensor_release(&tensor), "release");
    catalogue_ok(tnr_domain_close(&arena), "close");
}

static void one_call(catalogue_random *random, tnr_domain *heap, tnr_engine *engine, const catalogue_call *call,
                     size_t *used)
{
    catalogue_operand inputs[CATALOGUE_INPUTS];
    catalogue_operand output;
    tnr_view views[CATALOGUE_INPUTS];
    size_t bytes = 0;
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_input_make(random, heap, call, i, call->op->layouts, false, &inputs[i]);
        views[i] = inputs[i].view.view;
    }
    catalogue_output_make(random, heap, call, CATALOGUE_VALUES, &output);
    if (call->op->into != NULL) {
        MEASURE(bytes, call->op->into(engine, call, views, &output.view));
        *used = bytes > *used ? bytes : *used;
    }
    if (call->op->make != NULL && !call->reads_output) {
        tnr_tensor *made = NULL;
        MEASURE(bytes, call->op->make(engine, call, views, &made));
        *used = bytes > *used ? bytes : *used;
        catalogue_ok(tnr_tensor_release(&made), "release");
    }
    catalogue_operand_free(&output);
    for (int i = 0; i < call->op->arity; ++i) {
        catalogue_operand_free(&inputs[i]);
    }
}

static void test_operations(void **state)
{
    (void)state;
    catalogue_random random = catalogue_seed(31);
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    catalogue_ok(tnr_heap_create(&heap), "heap");
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    const catalogue_op *op;
    for (int o = 0; (op = catalogue_op_at(o)) != NULL; ++o) {
        size_t used = 0;
        for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
            for (int round = 0; round < ROUNDS && (op->dtypes & CATALOGUE_BIT(dtype)) != 0; ++round) {
                const catalogue_call call = catalogue_choose(&random, op, (tnr_dtype)dtype, LIMIT);
                one_call(&random, heap, engine, &call, &used);
            }
        }
        storage_call(op->name, used);
    }
    catalogue_ok(tnr_engine_destroy(&engine), "engine");
    catalogue_ok(tnr_domain_close(&heap), "heap");
}

static void test_ceiling(void **state)
{
    (void)state;
    print_message("most: %u bytes, by %s; the ceiling is %u\n", (unsigned)most, most_of, CEILING);
    assert_true(most > 500 && !above);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage),    cmocka_unit_test(test_plans),   cmocka_unit_test(test_odd_layouts),
        cmocka_unit_test(test_operations), cmocka_unit_test(test_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
