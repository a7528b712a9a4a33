/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine's life: what it takes and keeps, that it says so exactly, that nobody can pull its pool away, and that a refused
 * end changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"

#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static tnr_domain *heap;

static int set_up(void **state)
{
    (void)state;
    catalogue_ok(tnr_heap_create(&heap), "heap");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    catalogue_ok(tnr_domain_close(&heap), "nothing was left");
    return 0;
}

static tnr_tensor *square(tnr_domain *domain, tnr_dtype dtype, int64_t n, tnr_view_mut *view)
{
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_tensor_zeros(domain, dtype, 2, LIST(n, n), &made), "square");
    catalogue_ok(tnr_tensor_view_mut(made, view), "view");
    return made;
}

static uint64_t blocks_out(tnr_domain *domain)
{
    tnr_domain_statistics now;
    catalogue_ok(tnr_domain_statistics_get(domain, &now), "statistics");
    return now.blocks;
}

/* A view whose rows run backwards: only the packed kernels take it, whatever is built in. */
static tnr_view backwards(const tnr_view *view)
{
    const tnr_range slices[2] = {{0, TNR_END, -1}, TNR_RANGE_ALL};
    tnr_view reversed;
    catalogue_ok(tnr_view_slice(view, slices, &reversed), "slice");
    return reversed;
}

/* ---- The pool ------------------------------------------------------------------------------------------------------------------ */

static void test_raw_blocks_of_the_pool_keep_the_engine(void **state)
{
    (void)state;
    tnr_engine *engine = NULL;
    tnr_block block;
    tnr_view_mut a;
    tnr_view_mut c;
    tnr_tensor *x = square(heap, TNR_F64, 50, &a);
    tnr_tensor *y = square(heap, TNR_F64, 50, &c);
    const tnr_view reversed = backwards(&a.view);
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    catalogue_ok(tnr_matmul_into(engine, &reversed, &a.view, NULL, &c), "product"); /* now there is scratch */
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_add(engine, &a.view, &a.view, &made), "add");
    catalogue_ok(tnr_tensor_release(&made), "a retained buffer");
    catalogue_ok(tnr_domain_allocate(tnr_engine_pool(engine), 100, 0, &block), "raw block");
    tnr_pool_statistics before;
    tnr_pool_statistics after;
    const uint64_t blocks = blocks_out(heap);
    tnr_engine *same = engine;
    catalogue_ok(tnr_pool_statistics_get(tnr_engine_pool(engine), &before), "pool");
    assert_int_equal(tnr_engine_destroy(&engine), TNR_ERR_BUSY);
    assert_ptr_equal(engine, same);
    catalogue_ok(tnr_pool_statistics_get(tnr_engine_pool(engine), &after), "pool");
    assert_memory_equal(&before, &after, sizeof before);
    assert_true(before.buffers > 0);
    assert_true(blocks_out(heap) == blocks);
    catalogue_ok(tnr_matmul_into(engine, &reversed, &a.view, NULL, &c), "the engine still works");
    assert_true(blocks_out(heap) == blocks);
    catalogue_ok(tnr_domain_release(tnr_engine_pool(engine), &block), "release");
    catalogue_ok(tnr_engine_destroy(&engine), "destroy");
    assert_null(engine);
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
}

/* A program that closes what is not its own: the engine goes on, before and after, with and without tensors of the pool. */
static void test_closing_the_engines_pool_does_not_pull_it_away(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; ++keep) {
        tnr_engine *engine = NULL;
        tnr_tensor *kept = NULL;
        tnr_view_mut a;
        tnr_tensor *x = square(heap, TNR_F64, 4, &a);
        catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
        catalogue_ok(tnr_add(engine, &a.view, &a.view, &kept), "add");
        if (keep == 0) {
            catalogue_ok(tnr_tensor_release(&kept), "release");
        }
        tnr_domain *pool = tnr_engine_pool(engine);
        tnr_block raw;
        catalogue_ok(tnr_domain_allocate(pool, 64, 0, &raw), "raw block");
        assert_int_equal(tnr_engine_destroy(&engine), TNR_ERR_BUSY);
        assert_int_equal(strncmp(tnr_last_error(), "engine_destroy: raw blocks", 26), 0);
        assert_non_null(engine);
        catalogue_ok(tnr_domain_release(pool, &raw), "raw block");
        (void)tnr_domain_close(&pool); /* refused or not, the engine must be able to go on */
        assert_non_null(tnr_engine_pool(engine));
        for (int round = 0; round < 3; ++round) {
            tnr_tensor *made = NULL;
            catalogue_ok(tnr_add(engine, &a.view, &a.view, &made), "add");
            catalogue_ok(tnr_tensor_release(&made), "release");
        }
        catalogue_ok(tnr_engine_destroy(&engine), "destroy");
        catalogue_ok(tnr_tensor_release(&kept), "release after the engine");
        catalogue_ok(tnr_tensor_release(&x), "release");
        assert_true(blocks_out(heap) <= 1); /* handles stay */
    }
}

/* ---- Options -------------------------------------------------------------------------------------------------------------------- */

static void test_options_of_other_versions(void **state)
{
    (void)state;
    struct {
        tnr_engine_options known;
        uint64_t later;
    } newer = {TNR_ENGINE_OPTIONS, 0};
    struct {
        tnr_product_options known;
        uint64_t later;
    } product = {TNR_PRODUCT_OPTIONS, 0};
    tnr_engine *engine = NULL;
    tnr_tensor *made = NULL;
    tnr_need need;
    tnr_view_mut a;
    tnr_tensor *x = square(heap, TNR_F64, 2, &a);
    newer.known.size = sizeof newer;
    product.known.size = sizeof product;
    catalogue_ok(tnr_engine_create(heap, &newer.known, &engine), "a larger struct with nothing in its tail");
    catalogue_ok(tnr_engine_need(&newer.known, 1, &need), "need");
    catalogue_ok(tnr_matmul(engine, &a.view, &a.view, &product.known, &made), "product");
    catalogue_ok(tnr_tensor_release(&made), "release");
    product.later = 1;
    assert_int_equal(tnr_matmul(engine, &a.view, &a.view, &product.known, &made), TNR_ERR_ARGUMENT);
    product.known.size = sizeof(size_t);
    assert_int_equal(tnr_matmul(engine, &a.view, &a.view, &product.known, &made), TNR_ERR_ARGUMENT);
    catalogue_ok(tnr_engine_destroy(&engine), "destroy");
    newer.later = 1;
    assert_int_equal(tnr_engine_create(heap, &newer.known, &engine), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_engine_need(&newer.known, 1, &need), TNR_ERR_ARGUMENT);
    newer.known.size = sizeof(size_t);
    assert_int_equal(tnr_engine_create(heap, &newer.known, &engine), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_engine_need(NULL, 1, NULL), TNR_ERR_ARGUMENT);
    assert_true(engine == NULL && made == NULL);
    catalogue_ok(tnr_tensor_release(&x), "release");
}

/* ---- Needs ---------------------------------------------------------------------------------------------------------------------- */

static void test_need_of_a_product(void **state)
{
    (void)state;
    tnr_need need = {1, 1, 1};
    tnr_need larger;
    catalogue_ok(tnr_matmul_need(TNR_F64, 2, 2, 2, 1, &need), "small: as a contraction over several axes it is packed");
    assert_true(need.bytes > 0 && need.blocks == 1 && need.handles == 0);
    catalogue_ok(tnr_matmul_need(TNR_F64, 1000000, 0, 1000000, 1, &need), "empty");
    assert_true(need.bytes == 0 && need.blocks == 0 && need.handles == 0);
    catalogue_ok(tnr_matmul_need(TNR_F64, INT64_MAX, INT64_MAX, INT64_MAX, 1, &need), "the largest there is");
    assert_true(need.bytes > 0 && need.blocks == 1 && need.handles == 0);
    assert_int_equal(tnr_matmul_need(TNR_F64, -1, 1, 1, 1, &need), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_matmul_need(TNR_F64, 1, 1, 1, 1, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_matmul_need(TNR_DTYPE_NONE, 1, 1, 1, 1, &need), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_matmul_need(TNR_I64, 100, 100, 100, 1, &need), TNR_ERR_UNSUPPORTED);
    /* It grows with every extent, so the need of the largest serves all that are smaller. */
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        for (int axis = 0; axis < 3; ++axis) {
            int64_t extents[3] = {40, 40, 40};
            need.bytes = 0;
            for (extents[axis] = 0; extents[axis] < 700; ++extents[axis]) {
                catalogue_ok(tnr_matmul_need((tnr_dtype)dtype, extents[0], extents[1], extents[2], 1, &larger), "need");
                assert_true(larger.bytes >= need.bytes);
                need = larger;
            }
        }
    }
}

/* What one engine with outputs and a packed product was said to need, in an arena of exactly that; `less` bytes fewer. */
static tnr_status run_in_exactly(tnr_dtype dtype, int64_t n, bool at_once, uint64_t less)
{
    const int64_t shape[2] = {n, n};
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_arena_options arena_options = TNR_ARENA_OPTIONS;
    tnr_need sum = {0, 0, 0};
    tnr_need term;
    uint64_t bytes;
    uint64_t control;
    options.pool_max_bytes = 0; /* an output's bytes go back at once */
    catalogue_ok(tnr_matmul_need(dtype, n, n, n, 0, &term), "need of the product");
    if (at_once) {
        options.scratch_bytes = term.bytes;
    } else {
        catalogue_ok(tnr_need_add(&sum, &term, 1), "sum");
    }
    catalogue_ok(tnr_engine_need(&options, 1, &term), "need of the engine");
    catalogue_ok(tnr_need_add(&sum, &term, 1), "sum");
    catalogue_ok(tnr_tensor_need(dtype, 2, shape, 3, &term), "need of two operands and a result");
    catalogue_ok(tnr_need_add(&sum, &term, 1), "sum");
    catalogue_ok(tnr_arena_bytes(&sum, &arena_options, &bytes, &control, &arena_options.max_blocks), "arena bytes");
    void *region = aligned_alloc(64, (size_t)bytes);
    assert_non_null(region);
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *made = NULL;
    tnr_view_mut a;
    tnr_view_mut b;
    catalogue_ok(tnr_arena_create(region, bytes - less, &arena_options, &arena), "arena");
    tnr_tensor *x = square(arena, dtype, n, &a);
    tnr_tensor *y = square(arena, dtype, n, &b);
    const tnr_view reversed = backwards(&a.view);
    tnr_status status = tnr_engine_create(arena, &options, &engine);
    if (status == TNR_OK) {
        status = tnr_matmul(engine, &reversed, &b.view, NULL, &made);
        for (int round = 0; round < 3 && status == TNR_OK; ++round) { /* warm calls take nothing more */
            catalogue_ok(tnr_tensor_release(&made), "release");
            catalogue_ok(tnr_matmul(engine, &reversed, &b.view, NULL, &made), "again");
        }
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_engine_destroy(&engine), "destroy");
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
    catalogue_ok(tnr_arena_check(arena), "arena check");
    catalogue_ok(tnr_domain_close(&arena), "close");
    free(region);
    return status;
}

static void test_needs_are_exact(void **state)
{
    (void)state;
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        for (int at_once = 0; at_once < 2; ++at_once) {
            assert_int_equal(run_in_exactly((tnr_dtype)dtype, 128, at_once != 0, 0), TNR_OK);
            assert_int_equal(run_in_exactly((tnr_dtype)dtype, 128, at_once != 0, 64), TNR_ERR_MEMORY);
        }
    }
}

/* Scratch only grows, is one block, and is not taken again for what it has room for. */
static void test_scratch_is_kept_and_grows(void **state)
{
    (void)state;
    tnr_engine *engine = NULL;
    tnr_need need;
    tnr_view_mut small;
    tnr_view_mut large;
    tnr_view_mut out;
    tnr_tensor *x = square(heap, TNR_F64, 50, &small);
    tnr_tensor *y = square(heap, TNR_F64, 90, &large);
    tnr_tensor *z = square(heap, TNR_F64, 90, &out);
    tnr_view_mut corner;
    const tnr_range part = {0, 50, 1};
    const tnr_view small_back = backwards(&small.view);
    const tnr_view large_back = backwards(&large.view);
    catalogue_ok(tnr_view_mut_slice_axis(&out, 0, part, &corner), "corner");
    catalogue_ok(tnr_view_mut_slice_axis(&corner, 1, part, &corner), "corner");
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    catalogue_ok(tnr_domain_statistics_get(heap, &before), "statistics");
    catalogue_ok(tnr_matmul_into(engine, &small_back, &small.view, NULL, &corner), "50");
    catalogue_ok(tnr_domain_statistics_get(heap, &after), "statistics");
    catalogue_ok(tnr_matmul_need(TNR_F64, 50, 50, 50, 0, &need), "need");
    assert_true(after.blocks == before.blocks + 1 && after.bytes == before.bytes + need.bytes);
    catalogue_ok(tnr_matmul_into(engine, &large_back, &large.view, NULL, &out), "90");
    catalogue_ok(tnr_matmul_into(engine, &small_back, &small.view, NULL, &corner), "50 again");
    catalogue_ok(tnr_domain_statistics_get(heap, &after), "statistics");
    catalogue_ok(tnr_matmul_need(TNR_F64, 90, 90, 90, 0, &need), "need");
    assert_true(after.blocks == before.blocks + 1 && after.bytes == before.bytes + need.bytes);
    assert_true(after.allocations == before.allocations + 2);
    catalogue_ok(tnr_engine_destroy(&engine), "destroy");
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
    catalogue_ok(tnr_tensor_release(&z), "release");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raw_blocks_of_the_pool_keep_the_engine),
        cmocka_unit_test(test_closing_the_engines_pool_does_not_pull_it_away),
        cmocka_unit_test(test_options_of_other_versions),
        cmocka_unit_test(test_need_of_a_product),
        cmocka_unit_test(test_needs_are_exact),
        cmocka_unit_test(test_scratch_is_kept_and_grows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
