/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What making an engine, and the heap itself, does when memory ends: every block of the home in turn cannot be had, and every
 * call of the C library's allocator fails in turn. Nothing stays behind, and the next try works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tenure/tenure.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OTHER_ALLOCATOR 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define OTHER_ALLOCATOR 1
#endif

#ifndef OTHER_ALLOCATOR
/* The library's two ways to the C library's memory; the n-th call from now on fails. */
static volatile long fail_at;

void *__libc_calloc(size_t count, size_t size);       /* NOLINT: glibc's names */
void *__libc_memalign(size_t alignment, size_t size); /* NOLINT */

static int fails(void) { return fail_at > 0 && --fail_at == 0; }

void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }

void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
#endif

static void the_heap_survives_the_c_library(void **state)
{
    (void)state;
#ifdef OTHER_ALLOCATOR
    print_message("skipped: the C library's allocator is the sanitizer's here; the plain build runs this\n");
    skip();
#else
    const int64_t shape[1] = {1000};
    tnr_domain *heap = NULL;
    fail_at = 1;
    assert_int_equal(tnr_heap_create(&heap), TNR_ERR_MEMORY);
    assert_null(heap);
    fail_at = 0;
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    for (long at = 1;; at++) {
        assert_int_equal(tnr_domain_statistics_get(heap, &before), TNR_OK);
        tnr_engine *engine = NULL;
        tnr_tensor *ones = NULL;
        tnr_tensor *sum = NULL;
        tnr_view view;
        const double one = 1.0;
        fail_at = at;
        tnr_status status = tnr_engine_create(heap, NULL, &engine);
        status = status == TNR_OK ? tnr_tensor_full(heap, TNR_F64, 1, shape, &one, &ones) : status;
        status = status == TNR_OK ? tnr_tensor_view(ones, &view) : status;
        status = status == TNR_OK ? tnr_add(engine, &view, &view, &sum) : status;
        const int reached = fail_at == 0;
        fail_at = 0;
        assert_int_equal(tnr_tensor_release(&sum), TNR_OK);
        assert_int_equal(tnr_tensor_release(&ones), TNR_OK);
        assert_int_equal(tnr_engine_destroy(&engine), TNR_OK);
        if (!reached) { /* all of it was had */
            assert_int_equal(status, TNR_OK);
            assert_true(at > 5);
            break;
        }
        assert_int_equal(status, TNR_ERR_MEMORY);
        assert_int_equal(tnr_domain_statistics_get(heap, &after), TNR_OK);
        /* Handle chunks stay once they had a handle; nothing else does. */
        assert_true(after.blocks <= before.blocks + 1);
        assert_true(after.failures == before.failures + 1);
    }
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
#endif
}

static void an_engine_is_made_in_full_or_not_at_all(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char region[512 * 1024];
    static unsigned char control[256 * 1024];
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.scratch_bytes = 4096;
    int refused = 0;
    for (uint64_t blocks = 1;; blocks++) {
        tnr_arena_options arena_options = TNR_ARENA_OPTIONS;
        arena_options.max_blocks = blocks;
        arena_options.control = control;
        arena_options.control_bytes = sizeof control;
        tnr_domain *arena = NULL;
        tnr_engine *engine = NULL;
        assert_int_equal(tnr_arena_create(region, sizeof region, &arena_options, &arena), TNR_OK);
        tnr_domain_statistics before;
        tnr_domain_statistics after;
        assert_int_equal(tnr_domain_statistics_get(arena, &before), TNR_OK);
        const tnr_status status = tnr_engine_create(arena, &options, &engine);
        assert_int_equal(tnr_arena_check(arena), TNR_OK);
        if (status == TNR_OK) {
            assert_int_equal(tnr_engine_destroy(&engine), TNR_OK);
        } else {
            assert_int_equal(status, TNR_ERR_MEMORY);
            assert_null(engine);
            refused++;
        }
        assert_int_equal(tnr_domain_statistics_get(arena, &after), TNR_OK);
        assert_true(after.blocks == before.blocks && after.bytes == before.bytes);
        assert_int_equal(tnr_domain_close(&arena), TNR_OK);
        if (status == TNR_OK) {
            break;
        }
    }
    assert_true(refused >= 2); /* the engine, its pool, its scratch */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_heap_survives_the_c_library),
        cmocka_unit_test(an_engine_is_made_in_full_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
