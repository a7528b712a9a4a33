/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts of failures say which operation failed and on which operand: a and b of products and contractions, numbers from 0 in lists. Also of
 * what fails further down, where neither is known: leases, bounds, and memory that a domain does not have.
 */
#include "support/storage_test.h"

#include "tenure/tenure.h"

static tnr_domain *heap;
static tnr_engine *engine;

static int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    OK(tnr_engine_create(heap, NULL, &engine));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(tnr_engine_destroy(&engine));
    close_domain(&heap);
    return 0;
}

typedef struct trio {
    tnr_tensor *tensors[3];
    tnr_view views[3];
    const tnr_view *list[3];
    tnr_view_mut into[3];
} trio;

static void make_trio(trio *t)
{
    for (int i = 0; i < 3; i++) {
        OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(3, 3), &t->tensors[i]));
        t->views[i] = view_of(t->tensors[i]);
        t->into[i] = view_mut_of(t->tensors[i]);
        t->list[i] = &t->views[i];
    }
}

static void free_trio(trio *t)
{
    for (int i = 0; i < 3; i++) {
        OK(tnr_tensor_release(&t->tensors[i]));
    }
}

static const char chain[] = "ij,jk,kl->il";

static void operands_that_are_gone(void **state)
{
    (void)state;
    trio t;
    make_trio(&t);
    tnr_tensor *out = NULL;
    tnr_plan *plan = NULL;
    OK(tnr_plan_einsum(engine, chain, t.list, 3, NULL, NULL, &plan));
    OK(tnr_tensor_release(&t.tensors[1]));
    EXPECT(TNR_ERR_STALE, tnr_einsum(engine, chain, t.list, 3, NULL, &out));
    TEXT_HAS("einsum: operand 1: the view's owner was released or moved");
    EXPECT(TNR_ERR_STALE, tnr_einsum_into(engine, "ij,jk->ik", t.list, 2, NULL, &t.into[2]));
    TEXT_HAS("einsum: operand 1: the view's owner");
    EXPECT(TNR_ERR_STALE, tnr_plan_run(plan, t.list, 3, &out));
    TEXT_HAS("plan_run: operand 1: the view's owner");
    EXPECT(TNR_ERR_STALE, tnr_contract(engine, t.list[0], "ik", t.list[1], "kj", "ij", NULL, &out));
    TEXT_HAS("contract: b: the view's owner");
    EXPECT(TNR_ERR_STALE, tnr_matmul(engine, t.list[1], t.list[0], NULL, &out));
    TEXT_HAS("matmul: a: the view's owner");
    EXPECT(TNR_ERR_STALE, tnr_matmul_into(engine, t.list[0], t.list[2], NULL, &t.into[1]));
    TEXT_HAS("matmul: the output: the view's owner");
    EXPECT(TNR_ERR_STALE, tnr_add(engine, t.list[0], t.list[1], &out));
    TEXT_HAS("add: operand 1: the view's owner");
    OK(tnr_plan_destroy(&plan));
    free_trio(&t);
}

/* Two views of one tensor, of which one was made before it moved: that one is named, whichever it is. */
static void the_old_view_of_two(void **state)
{
    (void)state;
    trio t;
    make_trio(&t);
    tnr_view old = t.views[0];
    old.generation--;
    const tnr_view *lists[2][2] = {{&t.views[0], &old}, {&old, &t.views[0]}};
    static const char *const texts[2] = {"einsum: operand 1: the view's owner", "einsum: operand 0: the view's owner"};
    for (int i = 0; i < 2; i++) {
        EXPECT(TNR_ERR_STALE, tnr_einsum_into(engine, "ij,jk->ik", lists[i], 2, NULL, &t.into[2]));
        TEXT_HAS(texts[i]);
    }
    free_trio(&t);
}

static void operands_that_are_leased(void **state)
{
    (void)state;
    trio t;
    make_trio(&t);
    tnr_tensor *out = NULL;
    tnr_write_map map;
    tnr_read_map reading;
    OK(tnr_map_write(&t.into[2], &map));
    EXPECT(TNR_ERR_BUSY, tnr_einsum(engine, chain, t.list, 3, NULL, &out));
    TEXT_HAS("einsum: operand 2: a write lease on the owner is live where a read lease is wanted");
    EXPECT(TNR_ERR_BUSY, tnr_contract(engine, t.list[2], "ik", t.list[1], "kj", "ij", NULL, &out));
    TEXT_HAS("contract: a: a write lease");
    OK(tnr_unmap_write(&map));
    OK(tnr_map_read(&t.views[2], &reading));
    EXPECT(TNR_ERR_BUSY, tnr_contract_into(engine, t.list[0], "ik", t.list[1], "kj", "ij", NULL, &t.into[2]));
    TEXT_HAS("contract: the output: 1 read leases are live where a write lease is wanted");
    OK(tnr_unmap_read(&reading));
    free_trio(&t);
}

static void outputs_on_operands(void **state)
{
    (void)state;
    trio t;
    make_trio(&t);
    tnr_view turned;
    OK(tnr_view_permute(&t.views[1], NULL, &turned));
    const tnr_view *const list[3] = {t.list[0], &turned, t.list[2]};
    tnr_plan *plan = NULL;
    EXPECT(TNR_ERR_OVERLAP, tnr_einsum_into(engine, chain, list, 3, NULL, &t.into[1]));
    TEXT_HAS("einsum: the output is not proved apart from operand 1");
    EXPECT(TNR_ERR_OVERLAP, tnr_einsum_into(engine, chain, t.list, 3, NULL, &t.into[0]));
    TEXT_HAS("einsum: the output may not be the elements of operand 0");
    OK(tnr_plan_einsum(engine, chain, t.list, 3, NULL, NULL, &plan));
    EXPECT(TNR_ERR_OVERLAP, tnr_plan_run_into(plan, t.list, 3, &t.into[2]));
    TEXT_HAS("plan_run_into: the output may not be the elements of operand 2");
    OK(tnr_plan_destroy(&plan));
    EXPECT(TNR_ERR_OVERLAP, tnr_matmul_into(engine, t.list[0], t.list[1], NULL, &t.into[1]));
    TEXT_HAS("matmul: the output may not be the elements of b");
    tnr_product_options add = TNR_PRODUCT_OPTIONS;
    add.beta.re = 1.0;
    EXPECT(TNR_ERR_OVERLAP, tnr_contract_into(engine, t.list[0], "ik", t.list[1], "kj", "ij", &add, &t.into[0]));
    TEXT_HAS("contract: the output may not be the elements of a");
    free_trio(&t);
}

static void descriptors(void **state)
{
    (void)state;
    trio t;
    make_trio(&t);
    tnr_tensor *out = NULL;
    tnr_view shaped;
    tnr_view single;
    OK(tnr_view_shaped(TNR_F64, 2, SHAPE(3, 3), &shaped));
    OK(tnr_view_shaped(TNR_F32, 2, SHAPE(3, 3), &single));
    const tnr_view *list[3] = {t.list[0], NULL, t.list[2]};
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, chain, list, 3, NULL, &out));
    TEXT_HAS("einsum: operand 1 is NULL");
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, chain, NULL, 3, NULL, &out));
    TEXT_HAS("einsum: the list of operands is NULL");
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, chain, list, 0, NULL, &out));
    TEXT_HAS("operands expected, found 0");
    list[1] = &single;
    EXPECT(TNR_ERR_DTYPE, tnr_einsum(engine, chain, list, 3, NULL, &out));
    TEXT_HAS("operand 0 is f64, and operand 1 f32");
    EXPECT(TNR_ERR_DTYPE, tnr_contract(engine, list[0], "ik", list[1], "kj", "ij", NULL, &out));
    TEXT_HAS("a is f64, and b f32");
    list[1] = &shaped; /* it has no elements to read */
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, chain, list, 3, NULL, &out));
    TEXT_HAS("einsum: operand 1: the view is NULL or has no owner");
    EXPECT(TNR_ERR_ARGUMENT, tnr_contract(engine, &shaped, "ik", list[0], "kj", "ij", NULL, &out));
    TEXT_HAS("contract: a: the view is NULL or has no owner");
    free_trio(&t);
}

/* The plan's count is looked at before the list, which is no longer than the caller says, or shorter. */
static void the_count_before_the_list(void **state)
{
    (void)state;
    trio t;
    make_trio(&t);
    tnr_plan *plan = NULL;
    tnr_tensor *out = NULL;
    OK(tnr_plan_einsum(engine, "ij,jk->ik", t.list, 2, NULL, NULL, &plan));
    const tnr_view *const list[3] = {t.list[0], t.list[1], (const tnr_view *)(uintptr_t)8};
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run(plan, list, 3, &out));
    TEXT_HAS("plan_run: number of operands: 2 in the plan, 3 given");
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run(plan, NULL, 2, &out));
    TEXT_HAS("plan_run: the list of operands is NULL");
    OK(tnr_plan_destroy(&plan));
    free_trio(&t);
}

/* An arena full of `taken` tensors, and what then fails says for whom. */
static void memory_that_is_short(void **state)
{
    (void)state;
    enum { BYTES = 1 << 21, SIDE = 320 };
    unsigned char *region = aligned_alloc(64, BYTES);
    assert_non_null(region);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    tnr_domain *arena = NULL;
    tnr_engine *own = NULL;
    tnr_tensor *whole = NULL;
    tnr_tensor *out = NULL;
    tnr_plan *plan = NULL;
    tnr_draft *draft = NULL;
    tnr_engine_options with = TNR_ENGINE_OPTIONS;
    options.max_blocks = 64;
    with.plan_cache_bytes = 0;
    OK(tnr_arena_create(region, BYTES, &options, &arena));
    OK(tnr_engine_create(arena, &with, &own));
    OK(tnr_tensor_zeros(arena, TNR_F64, 2, SHAPE(SIDE, SIDE), &whole));
    const tnr_view view = view_of(whole);
    tnr_tensor *heaped = NULL;
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(SIDE, SIDE), &heaped));
    const tnr_view_mut into = view_mut_of(heaped);
    const int64_t rest = (int64_t)((statistics_of(arena).free_bytes - 512) / 8);
    tnr_tensor *filler = NULL;
    OK(tnr_tensor_zeros(arena, TNR_F64, 1, SHAPE(rest), &filler));

    EXPECT(TNR_ERR_MEMORY, tnr_tensor_zeros(arena, TNR_F64, 2, SHAPE(SIDE, SIDE), &out));
    TEXT_HAS("tensor_zeros: arena: no room for");
    EXPECT(TNR_ERR_MEMORY, tnr_draft_begin(arena, TNR_F64, 2, SHAPE(SIDE, SIDE), &draft));
    TEXT_HAS("draft_begin: arena: no room for");
    EXPECT(TNR_ERR_MEMORY, tnr_add(own, &view, &view, &out));
    TEXT_HAS("add: arena: no room for");
    EXPECT(TNR_ERR_MEMORY, tnr_contract(own, &view, "ik", &view, "kj", "ij", NULL, &out));
    TEXT_HAS("contract: arena: no room for");
    EXPECT(TNR_ERR_MEMORY, tnr_contract_into(own, &view, "ik", &view, "kj", "ij", NULL, &into));
    TEXT_HAS("contract: scratch: arena: no room for");
    EXPECT(TNR_ERR_MEMORY, tnr_matmul_into(own, &view, &view, NULL, &into));
    TEXT_HAS("matmul: scratch: arena: no room for");
    EXPECT(TNR_ERR_MEMORY, tnr_plan_contract(own, &view, "ik", &view, "kj", NULL, "ij", NULL, &plan));
    TEXT_HAS("plan_contract: arena: no room for");
    tnr_engine *other = NULL;
    EXPECT(TNR_ERR_MEMORY, tnr_engine_create(arena, NULL, &other));
    TEXT_HAS("engine_create: arena: no room for");

    OK(tnr_tensor_release(&filler));
    OK(tnr_tensor_release(&heaped));
    OK(tnr_tensor_release(&whole));
    OK(tnr_engine_destroy(&own));
    close_domain(&arena);
    free(region);
}

static void settings(void **state)
{
    (void)state;
    trio t;
    make_trio(&t);
    struct {
        tnr_einsum_options known;
        unsigned char later[8];
    } longer = {TNR_EINSUM_OPTIONS, {0}};
    longer.known.size = sizeof longer;
    longer.later[3] = 1;
    tnr_tensor *out = NULL;
    char text[64];
    (void)snprintf(text, sizeof text, "einsum: options of %d bytes, of which this version knows %d", (int)sizeof longer,
                   (int)sizeof longer.known);
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, chain, t.list, 3, &longer.known, &out));
    TEXT_HAS(text);
    free_trio(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_that_are_gone),
        cmocka_unit_test(the_old_view_of_two),
        cmocka_unit_test(operands_that_are_leased),
        cmocka_unit_test(outputs_on_operands),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(the_count_before_the_list),
        cmocka_unit_test(memory_that_is_short),
        cmocka_unit_test(settings),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
