/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One stretch of memory, two domains: an arena inside a tensor's buffer. Operations must see that operands of different
 * domains overlap. And: a product that lacks scratch leaves nothing in the pool that its output would have come from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tenure/tenure.h"

static void operands_of_nested_domains_overlap(void **state)
{
    (void)state;
    static unsigned char control[64 * 1024];
    const int64_t outer_shape[1] = {2048};
    const int64_t inner_shape[1] = {200};
    const double one = 1.0;
    tnr_domain *heap = NULL;
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *outer = NULL;
    tnr_tensor *inner = NULL;
    void *region = NULL;
    void *data = NULL;
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    assert_int_equal(tnr_engine_create(heap, NULL, &engine), TNR_OK);
    assert_int_equal(tnr_tensor_zeros(heap, TNR_F64, 1, outer_shape, &outer), TNR_OK);
    assert_int_equal(tnr_tensor_host_data_mut(outer, &region), TNR_OK);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.control = control;
    options.control_bytes = sizeof control;
    assert_int_equal(tnr_arena_create(region, 2048 * sizeof(double), &options, &arena), TNR_OK);
    assert_int_equal(tnr_tensor_full(arena, TNR_F64, 1, inner_shape, &one, &inner), TNR_OK);
    assert_int_equal(tnr_tensor_host_data_mut(inner, &data), TNR_OK);

    /* The same elements, one further on: what is written would be read. */
    tnr_view_mut shifted;
    tnr_view_mut same;
    tnr_view view;
    const int64_t stride[1] = {1};
    const int64_t at = ((double *)data - (double *)region);
    assert_int_equal(tnr_tensor_region_mut(outer, 1, inner_shape, stride, at + 1, &shifted), TNR_OK);
    assert_int_equal(tnr_tensor_region_mut(outer, 1, inner_shape, stride, at, &same), TNR_OK);
    assert_int_equal(tnr_tensor_view(inner, &view), TNR_OK);
    tnr_overlap overlap;
    assert_int_equal(tnr_view_overlap(&view, &shifted.view, &overlap), TNR_OK);
    assert_int_equal(overlap, TNR_OVERLAP_POSSIBLE);
    assert_int_equal(tnr_add_into(engine, &view, &view, &shifted), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_copy_into(engine, &view, &shifted), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_copy_into(engine, &view, &same), TNR_ERR_OVERLAP);
    for (int i = 0; i < 200; i++) {
        assert_true(((double *)data)[i] == 1.0);
    }
    /* Element for element it is in place, whoever owns it. */
    assert_int_equal(tnr_add_into(engine, &view, &view, &same), TNR_OK);
    assert_true(((double *)data)[0] == 2.0 && ((double *)data)[199] == 2.0);

    assert_int_equal(tnr_tensor_release(&inner), TNR_OK);
    assert_int_equal(tnr_domain_close(&arena), TNR_OK);
    assert_int_equal(tnr_tensor_release(&outer), TNR_OK);
    assert_int_equal(tnr_engine_destroy(&engine), TNR_OK);
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
}

static void a_product_without_scratch_leaves_nothing(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char region[128 * 1024];
    static unsigned char control[64 * 1024];
    static double elements[50 * 50];
    const int64_t shape[2] = {50, 50};
    const tnr_range backwards[2] = {{0, TNR_END, -1}, TNR_RANGE_ALL};
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *a = NULL;
    tnr_tensor *product = NULL;
    tnr_view view;
    tnr_view reversed;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.control = control;
    options.control_bytes = sizeof control;
    options.handles = 16;
    tnr_engine_options engine_options = TNR_ENGINE_OPTIONS;
    engine_options.plan_cache_bytes = 0;
    assert_int_equal(tnr_arena_create(region, sizeof region, &options, &arena), TNR_OK);
    assert_int_equal(tnr_engine_create(arena, &engine_options, &engine), TNR_OK);
    assert_int_equal(tnr_tensor_adopt(arena, TNR_F64, 2, shape, elements, sizeof elements, NULL, NULL, &a), TNR_OK);
    assert_int_equal(tnr_tensor_view(a, &view), TNR_OK);
    assert_int_equal(tnr_view_slice(&view, backwards, &reversed), TNR_OK);

    /* The pool's table of buffers is made with its first one, and stays. */
    tnr_draft *draft = NULL;
    assert_int_equal(tnr_draft_begin(tnr_engine_pool(engine), TNR_F64, 0, NULL, &draft), TNR_OK);
    assert_int_equal(tnr_draft_abandon(&draft), TNR_OK);
    assert_int_equal(tnr_pool_trim(tnr_engine_pool(engine), 0, NULL), TNR_OK);

    /* Leave room for an output and not for the scratch that packing these needs. */
    tnr_need scratch;
    assert_int_equal(tnr_matmul_need(TNR_F64, 50, 50, 50, 0, &scratch), TNR_OK);
    assert_true(scratch.bytes > 25000);
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    tnr_block ballast = {NULL, 0, 0, 0};
    assert_int_equal(tnr_domain_statistics_get(arena, &before), TNR_OK);
    if (before.largest_free > 25000 + scratch.bytes / 2) {
        assert_int_equal(tnr_domain_allocate(arena, before.largest_free - 25000 - scratch.bytes / 2, 0, &ballast),
                         TNR_OK);
    }
    tnr_pool_statistics pool_before;
    tnr_pool_statistics pool_after;
    tnr_ledger ledger_before;
    tnr_ledger ledger_after;
    tnr_domain *pool = tnr_engine_pool(engine);
    assert_int_equal(tnr_domain_statistics_get(arena, &before), TNR_OK);
    assert_true(before.largest_free > 24576 && before.largest_free < 24576 + scratch.bytes);
    assert_int_equal(tnr_pool_statistics_get(pool, &pool_before), TNR_OK);
    assert_int_equal(tnr_ledger_get(pool, &ledger_before), TNR_OK);
    assert_int_equal(tnr_matmul(engine, &reversed, &view, NULL, &product), TNR_ERR_MEMORY);
    assert_null(product);
    assert_int_equal(tnr_domain_statistics_get(arena, &after), TNR_OK);
    assert_int_equal(tnr_pool_statistics_get(pool, &pool_after), TNR_OK);
    assert_int_equal(tnr_ledger_get(pool, &ledger_after), TNR_OK);
    assert_true(after.free_bytes == before.free_bytes && after.blocks == before.blocks);
    assert_int_equal(pool_after.buffers, pool_before.buffers);
    assert_int_equal(pool_after.misses, pool_before.misses);
    assert_int_equal(pool_after.in_flight, pool_before.in_flight);
    assert_memory_equal(&ledger_before, &ledger_after, sizeof ledger_before);
    assert_int_equal(tnr_arena_check(arena), TNR_OK);

    /* The same with a buffer that waits in the pool for just this output: it waits still, and no hit was counted. */
    assert_int_equal(tnr_draft_begin(pool, TNR_F64, 2, shape, &draft), TNR_OK);
    assert_int_equal(tnr_draft_abandon(&draft), TNR_OK);
    assert_int_equal(tnr_pool_statistics_get(pool, &pool_before), TNR_OK);
    assert_int_equal(pool_before.buffers, 1);
    assert_int_equal(tnr_matmul(engine, &reversed, &view, NULL, &product), TNR_ERR_MEMORY);
    assert_int_equal(tnr_pool_statistics_get(pool, &pool_after), TNR_OK);
    assert_memory_equal(&pool_before, &pool_after, sizeof pool_before);

    assert_int_equal(tnr_domain_release(arena, &ballast), TNR_OK);
    assert_int_equal(tnr_tensor_release(&a), TNR_OK);
    assert_int_equal(tnr_engine_destroy(&engine), TNR_OK);
    assert_int_equal(tnr_domain_close(&arena), TNR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_of_nested_domains_overlap),
        cmocka_unit_test(a_product_without_scratch_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
