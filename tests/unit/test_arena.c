/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena, call by call: where blocks lie, what the size query promises, what exhaustion says, which blocks are taken
 * back and which are refused. Random traffic is in tests/property/test_arena_model.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arena/arena.h"
#include "arena/poison.inl.h"
#include "tenure/tensor.h"

#define GUARD 0xA7
#define CONTROL_BYTES 65536U

/* A region with guards around it, at a chosen distance from a multiple of 4096, and control memory elsewhere. */
typedef struct place {
    unsigned char *memory;
    uint64_t memory_bytes;
    unsigned char *region;
    uint64_t bytes;
    unsigned char *control;
} place;

static place place_make(uint64_t bytes, uint64_t skew)
{
    place made;
    made.memory_bytes = (bytes + skew + 3U * 4096U) / 4096U * 4096U;
    made.memory = aligned_alloc(4096, (size_t)made.memory_bytes);
    made.control = aligned_alloc(64, CONTROL_BYTES);
    assert_non_null(made.memory);
    assert_non_null(made.control);
    memset(made.memory, GUARD, (size_t)made.memory_bytes);
    made.region = made.memory + 4096 + skew;
    made.bytes = bytes;
    return made;
}

/* All bytes outside the region still are what they were. */
static void place_check(const place *made)
{
    for (const unsigned char *at = made->memory; at < made->memory + made->memory_bytes; at++) {
        if ((at < made->region || at >= made->region + made->bytes) && *at != GUARD) {
            fail_msg("byte %td from the region's start was written", at - made->region);
        }
    }
}

static void place_free(place *made)
{
    place_check(made);
    free(made->memory);
    free(made->control);
}

static tnr_arena_options options_apart(const place *made)
{
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.control = made->control;
    options.control_bytes = CONTROL_BYTES;
    return options;
}

static tnr_domain *arena_make(const place *made, const tnr_arena_options *options)
{
    tnr_domain *arena = NULL;
    assert_int_equal(tnr_arena_create(made->region, made->bytes, options, &arena), TNR_OK);
    assert_non_null(arena);
    return arena;
}

static void arena_close(tnr_domain **arena)
{
    assert_int_equal(tnr_arena_check(*arena), TNR_OK);
    assert_int_equal(tnr_domain_close(arena), TNR_OK);
    assert_null(*arena);
}

static tnr_domain_statistics statistics_of(tnr_domain *arena)
{
    tnr_domain_statistics statistics;
    assert_int_equal(tnr_domain_statistics_get(arena, &statistics), TNR_OK);
    assert_int_equal(statistics.bytes + statistics.free_bytes, statistics.capacity);
    assert_true(statistics.largest_free <= statistics.free_bytes);
    return statistics;
}

static tnr_block take(tnr_domain *arena, uint64_t bytes)
{
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(arena, bytes, 0, &block), TNR_OK);
    assert_true(block.bytes >= bytes);
    memset(block.address, 0x5A, (size_t)block.bytes);
    return block;
}

static void expect_no_room(tnr_domain *arena, uint64_t bytes)
{
    const tnr_domain_statistics before = statistics_of(arena);
    tnr_block block = {NULL, 11, 12, 13};
    assert_int_equal(tnr_domain_allocate(arena, bytes, 0, &block), TNR_ERR_MEMORY);
    assert_true(block.address == NULL && block.bytes == 11 && block.allocation == 12 && block.tag == 13);
    tnr_domain_statistics after = statistics_of(arena);
    assert_int_equal(after.failures, before.failures + 1);
    after.failures = before.failures;
    assert_memory_equal(&after, &before, sizeof(after));
}

/* ---- Where blocks lie --------------------------------------------------------------------------------------------- */

static void pa04_unaligned_region(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        place made = place_make(large ? 1087 : 1024, 1);
        const tnr_arena_options options = options_apart(&made);
        tnr_domain *arena = arena_make(&made, &options);
        /* 63 bytes are lost; of the 961 that the small one has left, 960 are whole units. */
        assert_int_equal(statistics_of(arena).capacity, large ? 1024 : 960);
        if (!large) {
            expect_no_room(arena, 1024);
        }
        const tnr_block block = take(arena, large ? 1024 : 896);
        assert_int_equal((uintptr_t)block.address % 64, 0);
        assert_ptr_equal(block.address, made.region + 63);
        assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
        arena_close(&arena);
        place_free(&made);
    }
    /* Nothing is left after the loss. */
    place tiny = place_make(126, 1);
    const tnr_arena_options options = options_apart(&tiny);
    tnr_domain *arena = NULL;
    assert_int_equal(tnr_arena_create(tiny.region, 126, &options, &arena), TNR_ERR_ARGUMENT);
    assert_null(arena);
    assert_int_equal(tnr_arena_create(tiny.region, 1, NULL, &arena), TNR_ERR_ARGUMENT);
    place_free(&tiny);
}

static void every_alignment_and_every_skew(void **state)
{
    (void)state;
    static const uint64_t pages[] = {0, 1, 64, 128, 4096};
    for (size_t p = 0; p < sizeof(pages) / sizeof(pages[0]); p++) {
        for (uint64_t skew = 0; skew < 130; skew += 13) {
            place made = place_make(128 * 1024, skew);
            tnr_arena_options options = skew % 2 ? options_apart(&made) : (tnr_arena_options)TNR_ARENA_OPTIONS;
            options.page = pages[p];
            options.max_blocks = 64;
            tnr_domain *arena = arena_make(&made, &options);
            tnr_block kept = take(arena, 100);
            for (uint64_t alignment = 1; alignment <= 32768; alignment *= 2) {
                tnr_block block;
                assert_int_equal(tnr_domain_allocate(arena, 333, alignment, &block), TNR_OK);
                assert_int_equal((uintptr_t)block.address % alignment, 0);
                assert_int_equal((uintptr_t)block.address % (pages[p] > 64 ? pages[p] : 64), 0);
                assert_int_equal(block.bytes % (pages[p] > 64 ? pages[p] : 64), 0);
                assert_true((unsigned char *)block.address >= made.region);
                assert_true((unsigned char *)block.address + block.bytes <= made.region + made.bytes);
                memset(block.address, 0x33, (size_t)block.bytes);
                assert_int_equal(tnr_arena_check(arena), TNR_OK);
                assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
                assert_int_equal(tnr_arena_check(arena), TNR_OK);
            }
            assert_int_equal(tnr_domain_release(arena, &kept), TNR_OK);
            const tnr_domain_statistics end = statistics_of(arena);
            assert_int_equal(end.largest_free, end.capacity);
            arena_close(&arena);
            place_free(&made);
        }
    }
}

/* With an alignment, the only block that has room at such an address is found though it lies in a class of its own. */
static void alignment_finds_the_exact_fit(void **state)
{
    (void)state;
    place made = place_make(16384, 0);
    const tnr_arena_options options = options_apart(&made);
    tnr_domain *arena = arena_make(&made, &options);
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(arena, 16384, 4096, &block), TNR_OK);
    assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
    tnr_block first = take(arena, 64);
    assert_int_equal(tnr_domain_allocate(arena, 12288, 4096, &block), TNR_OK);
    assert_int_equal((uintptr_t)block.address % 4096, 0);
    tnr_block none;
    assert_int_equal(tnr_domain_allocate(arena, 64, 4096, &none), TNR_ERR_MEMORY);
    assert_int_equal(tnr_domain_allocate(arena, 64, UINT64_C(1) << 63, &none), TNR_ERR_MEMORY);
    assert_int_equal(tnr_domain_release(arena, &first), TNR_OK);
    assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

/* ---- Sizes -------------------------------------------------------------------------------------------------------- */

static void pa05_failed_requests_take_nothing(void **state)
{
    (void)state;
    place made = place_make(4096, 0);
    const tnr_arena_options options = options_apart(&made);
    tnr_domain *arena = arena_make(&made, &options);
    const tnr_block first = take(arena, 3000);
    assert_int_equal(first.bytes, 3008);
    expect_no_room(arena, 2000);
    const tnr_block second = take(arena, 1000);
    assert_int_equal(second.bytes, 1024);
    assert_int_equal(statistics_of(arena).bytes, 4032);
    assert_int_equal(tnr_domain_release(arena, &first), TNR_OK);
    assert_int_equal(tnr_domain_release(arena, &second), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

static void pa05_exact_size_query_for_tensors(void **state)
{
    (void)state;
    const int64_t shape[] = {3};
    tnr_need need;
    assert_int_equal(tnr_tensor_need(TNR_F64, 1, shape, 100, &need), TNR_OK);
    uint64_t region_bytes;
    uint64_t control_bytes;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    assert_int_equal(tnr_arena_bytes(&need, &options, &region_bytes, &control_bytes, &options.max_blocks), TNR_OK);
    assert_int_equal(control_bytes, 0);
    place made = place_make(region_bytes, 0);
    tnr_domain *arena = arena_make(&made, &options);

    tnr_tensor *tensors[101] = {NULL};
    for (int i = 0; i < 100; i++) {
        const double values[] = {i, 2.0 * i, 3.0 * i};
        assert_int_equal(tnr_tensor_from_row_major(arena, TNR_F64, 1, shape, values, sizeof(values), &tensors[i]), TNR_OK);
    }
    assert_int_equal(tnr_tensor_zeros(arena, TNR_F64, 1, shape, &tensors[100]), TNR_ERR_MEMORY);
    assert_null(tensors[100]);
    for (int i = 0; i < 100; i++) {
        tnr_exported exported;
        assert_int_equal(tnr_tensor_export(&tensors[i], &exported), TNR_OK);
        const double *values = exported.data;
        assert_true(values[0] == i && values[1] == 2.0 * i && values[2] == 3.0 * i);
        assert_int_equal(tnr_exported_free(&exported), TNR_OK);
    }
    arena_close(&arena);
    place_free(&made);
}

/* Take everything of a need: `blocks` blocks of `bytes` bytes and the chunks of `handles` handles. */
static bool whole_need_fits(tnr_domain *arena, uint64_t bytes, uint64_t blocks, uint64_t handles)
{
    tnri_handle **taken = calloc((size_t)handles + 1U, sizeof(*taken));
    tnr_block *out = calloc((size_t)blocks + 1U, sizeof(*out));
    assert_true(taken != NULL && out != NULL);
    uint64_t got_handles = 0;
    uint64_t got_blocks = 0;
    bool fits = true;
    /* In turns, so that chunks and blocks lie mixed. */
    while (fits && (got_handles < handles || got_blocks < blocks)) {
        if (got_handles < handles) {
            fits = tnri_handle_take(arena, TNR_ALLOCATION_REASON_END, 0, &taken[got_handles]) == TNR_OK;
            got_handles += fits ? 1U : 0U;
        }
        if (fits && got_blocks < blocks) {
            fits = tnr_domain_allocate(arena, bytes, 0, &out[got_blocks]) == TNR_OK;
            got_blocks += fits ? 1U : 0U;
        }
    }
    while (got_blocks > 0) {
        assert_int_equal(tnr_domain_release(arena, &out[--got_blocks]), TNR_OK);
    }
    while (got_handles > 0) {
        tnri_handle_give(arena, taken[--got_handles], false);
    }
    free(taken);
    free(out);
    return fits;
}

static void size_query_is_exact(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 64, 65, 1000, 4032, 4096, 70000};
    static const uint64_t counts[] = {0, 1, 7, 63, 64, 200};
    static const uint64_t handles[] = {0, 1, 16, 17, 100};
    unsigned configurations = 0;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            for (size_t h = 0; h < sizeof(handles) / sizeof(handles[0]); h++) {
                for (unsigned apart = 0; apart < 2; apart++) {
                    tnr_need need;
                    const tnr_need handle_need = {0, 0, handles[h]};
                    assert_int_equal(tnr_block_need(sizes[s], counts[c], &need), TNR_OK);
                    assert_int_equal(tnr_need_add(&need, &handle_need, 1), TNR_OK);
                    tnr_arena_options options = TNR_ARENA_OPTIONS;
                    options.control = apart ? &need : NULL;
                    uint64_t bytes;
                    uint64_t control_bytes;
                    assert_int_equal(tnr_arena_bytes(&need, &options, &bytes, &control_bytes, &options.max_blocks), TNR_OK);
                    assert_int_equal(control_bytes != 0, apart);
                    const bool more = counts[c] != 0 || handles[h] != 0;
                    for (uint64_t less = 0; less <= 1; less++) {
                        place made = place_make(bytes - less + (bytes == less), 0);
                        if (apart) {
                            assert_true(control_bytes <= CONTROL_BYTES);
                            options.control = made.control;
                            options.control_bytes = control_bytes;
                        }
                        tnr_domain *arena = NULL;
                        const tnr_status status = tnr_arena_create(made.region, bytes - less, &options, &arena);
                        if (less == 0) {
                            assert_int_equal(status, TNR_OK);
                        }
                        if (status == TNR_OK) {
                            const bool fits = whole_need_fits(arena, sizes[s], counts[c], handles[h]);
                            assert_true(fits == (less == 0 || !more));
                            arena_close(&arena);
                        } else {
                            assert_int_equal(status, TNR_ERR_ARGUMENT);
                        }
                        place_free(&made);
                    }
                    if (apart) { /* One byte less of control memory. */
                        place made = place_make(bytes, 0);
                        options.control = made.control;
                        options.control_bytes = control_bytes - 1;
                        tnr_domain *arena = NULL;
                        assert_int_equal(tnr_arena_create(made.region, bytes, &options, &arena), TNR_ERR_ARGUMENT);
                        place_free(&made);
                    }
                    configurations++;
                }
            }
        }
    }
    assert_int_equal(configurations, 7 * 6 * 5 * 2);
}

/* A larger region never holds less, whatever number of rows its bookkeeping gets. */
static void capacity_rises_with_the_region(void **state)
{
    (void)state;
    place made = place_make(40000, 0);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.max_blocks = 8;
    uint64_t last = 0;
    for (uint64_t bytes = 1; bytes <= 40000; bytes += bytes < 12000 ? 1 : 61) {
        tnr_domain *arena = NULL;
        if (tnr_arena_create(made.region, bytes, &options, &arena) != TNR_OK) {
            assert_int_equal(last, 0);
            continue;
        }
        const uint64_t capacity = statistics_of(arena).capacity;
        assert_true(capacity >= last && capacity < bytes);
        last = capacity;
        arena_close(&arena);
    }
    assert_true(last > 30000);
    place_free(&made);
}

static void size_query_with_pages_is_enough(void **state)
{
    (void)state;
    for (uint64_t bytes = 64; bytes <= 12288; bytes += 64 * 5) {
        for (uint64_t count = 1; count <= 9; count += 4) {
            tnr_need need;
            assert_int_equal(tnr_block_need(bytes, count, &need), TNR_OK);
            tnr_arena_options options = TNR_ARENA_OPTIONS;
            options.page = 4096;
            uint64_t region_bytes;
            uint64_t control_bytes;
            assert_int_equal(tnr_arena_bytes(&need, &options, &region_bytes, &control_bytes, &options.max_blocks), TNR_OK);
            assert_int_equal(region_bytes % 4096, 0);
            place made = place_make(region_bytes, 0);
            tnr_domain *arena = arena_make(&made, &options);
            assert_true(whole_need_fits(arena, bytes, count, 0));
            arena_close(&arena);
            place_free(&made);
        }
    }
}

static void needs_are_checked(void **state)
{
    (void)state;
    tnr_need need = {1, 2, 3};
    assert_int_equal(tnr_block_need(UINT64_MAX - 8, 1, &need), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_block_need(UINT64_C(1) << 40, UINT64_C(1) << 24, &need), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_block_need(1, 1, NULL), TNR_ERR_ARGUMENT);
    const tnr_need huge = {UINT64_C(1) << 62, 0, 0};
    assert_int_equal(tnr_need_add(&need, &huge, 4), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_need_add(&need, NULL, 1), TNR_ERR_ARGUMENT);
    assert_true(need.bytes == 1 && need.blocks == 2 && need.handles == 3);
    assert_int_equal(tnr_block_need(100, 3, &need), TNR_OK);
    assert_true(need.bytes == 384 && need.blocks == 3 && need.handles == 0);
    assert_int_equal(tnr_block_need(0, 3, &need), TNR_OK);
    assert_true(need.bytes == 0 && need.blocks == 0 && need.handles == 0);
    const tnr_need term = {64, 1, 2};
    assert_int_equal(tnr_need_add(&need, &term, 5), TNR_OK);
    assert_true(need.bytes == 320 && need.blocks == 5 && need.handles == 10);

    uint64_t bytes = 7;
    uint64_t control = 7;
    uint64_t blocks = 7;
    const tnr_need most = {UINT64_MAX - 63, 1, 0};
    const tnr_need many = {0, UINT64_C(1) << 31, 0};
    const tnr_need handles = {0, 0, UINT64_MAX};
    assert_int_equal(tnr_arena_bytes(&most, NULL, &bytes, &control, &blocks), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_arena_bytes(&many, NULL, &bytes, &control, &blocks), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_arena_bytes(&handles, NULL, &bytes, &control, &blocks), TNR_ERR_OVERFLOW);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.max_blocks = 4;
    assert_int_equal(tnr_arena_bytes(&need, &options, &bytes, &control, &blocks), TNR_ERR_ARGUMENT);
    assert_true(bytes == 7 && control == 7 && blocks == 7);
}

/* From 256 GiB on granules grow, and the size query knows. Only arithmetic: nothing that large is created here. */
static void size_query_for_huge_regions(void **state)
{
    (void)state;
    for (uint64_t shift = 37; shift <= 60; shift++) {
        for (uint64_t delta = 0; delta < 3; delta++) {
            const tnr_need need = {(UINT64_C(1) << shift) + delta * 64 - 64, 3, 0};
            tnr_arena_options options = TNR_ARENA_OPTIONS;
            uint64_t bytes;
            uint64_t control;
            uint64_t blocks;
            options.control = &options;
            assert_int_equal(tnr_arena_bytes(&need, &options, &bytes, &control, &blocks), TNR_OK);
            uint64_t granule = 64;
            while (bytes / granule > 0xFFFFFFFEU) {
                granule *= 2;
            }
            assert_true(bytes >= need.bytes && bytes - need.bytes <= 3 * granule + 8 * 1024);
            assert_true(control < 16384 && blocks == 3);
        }
    }
}

/* ---- Exhaustion --------------------------------------------------------------------------------------------------- */

static void pa10_all_orders_of_release(void **state)
{
    (void)state;
    place made = place_make(1024 * 1024, 0);
    const tnr_arena_options options = options_apart(&made);
    tnr_domain *arena = arena_make(&made, &options);
    unsigned orders = 0;
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < 4; b++) {
            for (int c = 0; c < 4; c++) {
                const int d = 6 - a - b - c;
                if (a == b || a == c || b == c) {
                    continue;
                }
                const int order[] = {a, b, c, d};
                tnr_block blocks[4];
                for (int i = 0; i < 4; i++) {
                    blocks[i] = take(arena, 256 * 1024);
                }
                expect_no_room(arena, 1);
                for (int i = 0; i < 4; i++) {
                    assert_int_equal(tnr_domain_release(arena, &blocks[order[i]]), TNR_OK);
                    assert_int_equal(tnr_arena_check(arena), TNR_OK);
                }
                const tnr_block whole = take(arena, 1024 * 1024);
                assert_int_equal(tnr_domain_release(arena, &whole), TNR_OK);
                orders++;
            }
        }
    }
    assert_int_equal(orders, 24);
    arena_close(&arena);
    place_free(&made);
}

static void exhaustion_says_what_is_left(void **state)
{
    (void)state;
    place made = place_make(64 * 100, 0);
    tnr_arena_options options = options_apart(&made);
    options.max_blocks = 12;
    tnr_domain *arena = arena_make(&made, &options);
    tnr_block blocks[10];
    for (int i = 0; i < 10; i++) {
        blocks[i] = take(arena, 640);
    }
    for (int i = 0; i < 10; i += 2) {
        assert_int_equal(tnr_domain_release(arena, &blocks[i]), TNR_OK);
    }
    tnr_domain_statistics statistics = statistics_of(arena);
    assert_int_equal(statistics.free_bytes, 3200);
    assert_int_equal(statistics.largest_free, 640);
    expect_no_room(arena, 641);
    assert_non_null(strstr(tnr_last_error(), "3200 bytes free"));
    assert_non_null(strstr(tnr_last_error(), "largest free block 640"));
    blocks[0] = take(arena, 640);
    for (int i = 2; i < 10; i += 2) {
        blocks[i] = take(arena, 1);
    }
    tnr_block more[2] = {take(arena, 1), take(arena, 1)};
    statistics = statistics_of(arena);
    assert_int_equal(statistics.blocks, 12);
    assert_int_equal(statistics.largest_free, 0); /* no block can be had, though bytes are free */
    expect_no_room(arena, 1);
    assert_non_null(strstr(tnr_last_error(), "max_blocks = 12"));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(tnr_domain_release(arena, &blocks[i]), TNR_OK);
    }
    assert_int_equal(tnr_domain_release(arena, &more[0]), TNR_OK);
    assert_int_equal(tnr_domain_release(arena, &more[1]), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

static void sl02_e_sizes_near_the_limit(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    const tnr_domain_statistics before = statistics_of(arena);
    tnr_block block = {NULL, 1, 2, 3};
    assert_int_equal(tnr_domain_allocate(arena, SIZE_MAX - 8, 64, &block), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_domain_allocate(arena, UINT64_MAX, 64, &block), TNR_ERR_OVERFLOW);
    tnr_domain_statistics after = statistics_of(arena);
    assert_memory_equal(&after, &before, sizeof(after));
    assert_int_equal(tnr_domain_allocate(arena, UINT64_MAX - 63, 64, &block), TNR_ERR_MEMORY);
    assert_int_equal(tnr_domain_allocate(arena, (UINT64_C(1) << 38) + 64, 64, &block), TNR_ERR_MEMORY); /* 2^32 + 1 units */
    after = statistics_of(arena);
    assert_int_equal(after.bytes, before.bytes);
    assert_true(block.bytes == 1 && block.allocation == 2 && block.tag == 3);
    arena_close(&arena);
    place_free(&made);
}

static void sl02_f_alignments_that_are_none(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    const tnr_domain_statistics before = statistics_of(arena);
    tnr_block block = {NULL, 1, 2, 3};
    static const uint64_t bad[] = {3, 48, 65, 96, 4095, UINT64_MAX};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(tnr_domain_allocate(arena, 64, bad[i], &block), TNR_ERR_ARGUMENT);
    }
    const tnr_domain_statistics after = statistics_of(arena);
    assert_memory_equal(&after, &before, sizeof(after));
    /* 0 is the default by contract. */
    assert_int_equal(tnr_domain_allocate(arena, 64, 0, &block), TNR_OK);
    assert_int_equal((uintptr_t)block.address % 64, 0);
    assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

static void options_are_checked(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = NULL;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    assert_int_equal(tnr_arena_create(NULL, 65536, NULL, &arena), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_arena_create(made.region, 0, NULL, &arena), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_arena_create(made.region, 65536, NULL, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_arena_create(made.region, UINT64_MAX, NULL, &arena), TNR_ERR_OVERFLOW);
    options.size = 8;
    assert_int_equal(tnr_arena_create(made.region, 65536, &options, &arena), TNR_ERR_ARGUMENT);
    options = (tnr_arena_options)TNR_ARENA_OPTIONS;
    options.page = 96;
    assert_int_equal(tnr_arena_create(made.region, 65536, &options, &arena), TNR_ERR_ARGUMENT);
    options = (tnr_arena_options)TNR_ARENA_OPTIONS;
    options.max_blocks = UINT64_C(1) << 31;
    assert_int_equal(tnr_arena_create(made.region, 65536, &options, &arena), TNR_ERR_ARGUMENT);
    options = (tnr_arena_options)TNR_ARENA_OPTIONS;
    options.placement.kind = TNR_MEMORY_DEVICE;
    assert_int_equal(tnr_arena_create(made.region, 65536, &options, &arena), TNR_ERR_RESIDENCY);
    options = (tnr_arena_options)TNR_ARENA_OPTIONS;
    options.control = made.region + 4096;
    options.control_bytes = 32768;
    assert_int_equal(tnr_arena_create(made.region, 65536, &options, &arena), TNR_ERR_OVERLAP);
    assert_null(arena);
    tnr_domain *heap = NULL;
    if (tnr_heap_create(&heap) == TNR_OK) {
        assert_int_equal(tnr_arena_check(heap), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_arena_reset(heap), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_domain_close(&heap), TNR_OK);
    }
    assert_int_equal(tnr_arena_check(NULL), TNR_ERR_ARGUMENT);
    place_free(&made);
}

/* ---- Which blocks are taken back ---------------------------------------------------------------------------------- */

static void double_release_is_stale(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    tnr_block old[40];
    for (int i = 0; i < 40; i++) {
        old[i] = take(arena, 64U + 64U * (unsigned)(i % 7));
        assert_int_equal(tnr_domain_release(arena, &old[i]), TNR_OK);
        assert_int_equal(tnr_domain_release(arena, &old[i]), TNR_ERR_STALE);
    }
    /* Also when its place is another block's by now. */
    const tnr_block now = take(arena, 64);
    const tnr_domain_statistics before = statistics_of(arena);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(tnr_domain_release(arena, &old[i]), TNR_ERR_STALE);
    }
    const tnr_domain_statistics after = statistics_of(arena);
    assert_memory_equal(&after, &before, sizeof(after));
    assert_int_equal(tnr_domain_release(arena, &now), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

static void merged_neighbours_stay_stale(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    tnr_block blocks[6];
    for (int i = 0; i < 6; i++) {
        blocks[i] = take(arena, 640);
    }
    static const int order[] = {1, 3, 2, 5, 0, 4};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(tnr_domain_release(arena, &blocks[order[i]]), TNR_OK);
        for (int j = 0; j <= i; j++) {
            assert_int_equal(tnr_domain_release(arena, &blocks[order[j]]), TNR_ERR_STALE);
        }
        assert_int_equal(tnr_arena_check(arena), TNR_OK);
    }
    arena_close(&arena);
    place_free(&made);
}

static void made_up_blocks_are_foreign(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    const tnr_block real = take(arena, 1000);
    const tnr_block neighbour = take(arena, 1000);
    const tnr_domain_statistics before = statistics_of(arena);
    tnr_block forged[12];
    for (int i = 0; i < 12; i++) {
        forged[i] = real;
    }
    int local = 0;
    forged[0].address = (char *)real.address + 64;
    forged[1].address = (char *)real.address + 1;
    forged[2].address = &local;
    forged[3].address = NULL;
    forged[4].bytes += 64;
    forged[5].bytes -= 64;
    forged[6].allocation += 1;
    forged[7].tag += UINT64_C(1) << 32; /* a generation that is still to come */
    forged[8].tag = 0;
    forged[9].tag |= 0xFFFFFFFFU;
    forged[10].tag = neighbour.tag;
    forged[11].tag += 40; /* a descriptor that was never used */
    for (int i = 0; i < 12; i++) {
        if (tnr_domain_release(arena, &forged[i]) != TNR_ERR_FOREIGN) {
            fail_msg("forged block %d was not refused as foreign", i);
        }
    }
    const tnr_domain_statistics after = statistics_of(arena);
    assert_memory_equal(&after, &before, sizeof(after));
    assert_int_equal(tnr_domain_release(arena, &real), TNR_OK);
    assert_int_equal(tnr_domain_release(arena, &neighbour), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

static void blocks_of_other_arenas_are_foreign(void **state)
{
    (void)state;
    place here = place_make(65536, 0);
    place there = place_make(65536, 0);
    tnr_domain *first = arena_make(&here, NULL);
    tnr_domain *second = arena_make(&there, NULL);
    const tnr_block mine = take(first, 640);
    const tnr_block yours = take(second, 640);
    assert_int_equal(tnr_domain_release(second, &mine), TNR_ERR_FOREIGN);
    assert_int_equal(tnr_domain_release(first, &yours), TNR_ERR_FOREIGN);
    assert_int_equal(tnr_domain_release(first, &mine), TNR_OK);
    assert_int_equal(tnr_domain_release(second, &yours), TNR_OK);
    arena_close(&first);
    /* A new arena in the same place: same descriptor, same address, same number, and still not its block. */
    first = arena_make(&here, NULL);
    tnr_block again = take(first, 640);
    assert_ptr_equal(again.address, mine.address);
    assert_int_equal(again.allocation, mine.allocation);
    const tnr_status status = tnr_domain_release(first, &mine);
    assert_true(status == TNR_ERR_FOREIGN || status == TNR_ERR_STALE);
    assert_int_equal(tnr_domain_release(first, &again), TNR_OK);
    arena_close(&first);
    arena_close(&second);
    place_free(&here);
    place_free(&there);
}

static void empty_blocks_count_nowhere(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(arena, 0, 0, &block), TNR_OK);
    assert_true(block.address == NULL && block.bytes == 0);
    assert_int_equal(statistics_of(arena).blocks, 0);
    assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
    assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

/* ---- Closing and reset -------------------------------------------------------------------------------------------- */

static void close_is_busy_while_blocks_are_out(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    const tnr_block block = take(arena, 64);
    assert_int_equal(tnr_domain_close(&arena), TNR_ERR_BUSY);
    assert_non_null(arena);
    assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

static void reset_forgets_blocks_and_keeps_records(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    tnri_handle *handle;
    tnr_block blocks[20];
    for (int i = 0; i < 10; i++) {
        blocks[i] = take(arena, 640);
    }
    assert_int_equal(tnri_handle_take(arena, TNR_ALLOCATION_REASON_END, 0, &handle), TNR_OK);
    for (int i = 10; i < 20; i++) {
        blocks[i] = take(arena, 640);
    }
    assert_int_equal(tnr_arena_reset(arena), TNR_ERR_BUSY);
    assert_int_equal(statistics_of(arena).blocks, 21);
    tnri_handle_give(arena, handle, false);
    const tnr_domain_statistics before = statistics_of(arena);
    assert_int_equal(tnr_domain_release(arena, &blocks[4]), TNR_OK);
    assert_int_equal(tnr_arena_reset(arena), TNR_OK);
    assert_int_equal(tnr_arena_check(arena), TNR_OK);
    const tnr_domain_statistics after = statistics_of(arena);
    assert_int_equal(after.blocks, 1); /* the handle's chunk stays: a stale view may still look at it */
    assert_int_equal(after.bytes, TNRI_SLAB_CHUNK_BYTES);
    assert_int_equal(after.peak_bytes, before.peak_bytes);
    assert_int_equal(after.allocations, before.allocations);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(tnr_domain_release(arena, &blocks[i]), TNR_ERR_STALE);
    }
    /* The slot that was given back still works, and the rest can be had again. */
    assert_int_equal(tnri_handle_take(arena, TNR_ALLOCATION_REASON_END, 0, &handle), TNR_OK);
    assert_int_equal(statistics_of(arena).blocks, 1);
    tnri_handle_give(arena, handle, false);
    assert_int_equal(tnr_arena_reset(arena), TNR_OK);
    arena_close(&arena);
    place_free(&made);
}

/* ---- Debugging aids ----------------------------------------------------------------------------------------------- */

static void fresh_and_freed_memory_is_marked(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    const tnr_arena_options options = options_apart(&made);
    tnr_domain *arena = arena_make(&made, &options);
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(arena, 640, 0, &block), TNR_OK);
    unsigned char *bytes = block.address;
#ifndef NDEBUG
    tnri_poison_show(bytes, 640);
    assert_int_equal(bytes[0], TNRI_FILL_FRESH);
    assert_int_equal(bytes[639], TNRI_FILL_FRESH);
#else
    assert_int_equal(bytes[0], GUARD); /* never touched */
#endif
    memset(bytes, 1, 640);
    assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
#if TNRI_POISON_ASAN
    assert_true(__asan_address_is_poisoned(bytes) && __asan_address_is_poisoned(bytes + 639));
    assert_true(__asan_address_is_poisoned(made.region + 65535));
#endif
    arena_close(&arena);
#if TNRI_POISON_ASAN
    assert_null(__asan_region_is_poisoned(made.region, 65536));
#endif
#ifndef NDEBUG
    assert_int_equal(bytes[0], TNRI_FILL_FREED);
    assert_int_equal(bytes[639], TNRI_FILL_FREED);
#else
    assert_int_equal(bytes[0], 1);
#endif
    place_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pa04_unaligned_region),
        cmocka_unit_test(every_alignment_and_every_skew),
        cmocka_unit_test(alignment_finds_the_exact_fit),
        cmocka_unit_test(pa05_failed_requests_take_nothing),
        cmocka_unit_test(pa05_exact_size_query_for_tensors),
        cmocka_unit_test(size_query_is_exact),
        cmocka_unit_test(capacity_rises_with_the_region),
        cmocka_unit_test(size_query_with_pages_is_enough),
        cmocka_unit_test(needs_are_checked),
        cmocka_unit_test(size_query_for_huge_regions),
        cmocka_unit_test(pa10_all_orders_of_release),
        cmocka_unit_test(exhaustion_says_what_is_left),
        cmocka_unit_test(sl02_e_sizes_near_the_limit),
        cmocka_unit_test(sl02_f_alignments_that_are_none),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(double_release_is_stale),
        cmocka_unit_test(merged_neighbours_stay_stale),
        cmocka_unit_test(made_up_blocks_are_foreign),
        cmocka_unit_test(blocks_of_other_arenas_are_foreign),
        cmocka_unit_test(empty_blocks_count_nowhere),
        cmocka_unit_test(close_is_busy_while_blocks_are_out),
        cmocka_unit_test(reset_forgets_blocks_and_keeps_records),
        cmocka_unit_test(fresh_and_freed_memory_is_marked),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
