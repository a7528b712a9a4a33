/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena, call by call: where blocks lie, what exhaustion says, which blocks are taken
 * back and which are refused. Random traffic is in tests/property/test_arena_model.c.
 */
#include "arena_place.h"

#include "arena/poison.inl.h"

/* ---- Where blocks lie -------------------------------------------------------------------------------------------- */

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
        assert_true((unsigned char *)block.address >= made.region + 63);
        assert_true((unsigned char *)block.address + block.bytes <= made.region + made.bytes);
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

/* ---- Exhaustion -------------------------------------------------------------------------------------------------- */

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
    assert_int_equal(tnr_domain_allocate(arena, (UINT64_C(1) << 38) + 64, 64, &block),
                     TNR_ERR_MEMORY); /* 2^32 + 1 units */
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
    options.handles = 1000;
    assert_int_equal(tnr_arena_create(made.region, 65536, &options, &arena), TNR_ERR_MEMORY);
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

/* Nobody can claim a node, and a device only for memory that is near one. */
static void placement_that_cannot_be_known_is_refused(void **state)
{
    (void)state;
    static const struct {
        tnr_placement placement;
        tnr_status expected;
    } rows[] = {
        {{TNR_MEMORY_HOST, TNR_NONE, TNR_NONE}, TNR_OK},
        {{TNR_MEMORY_PINNED, TNR_NONE, TNR_NONE}, TNR_OK},
        {{TNR_MEMORY_PINNED, 2, TNR_NONE}, TNR_OK},
        {{TNR_MEMORY_MANAGED, 0, TNR_NONE}, TNR_OK},
        {{TNR_MEMORY_HOST, TNR_NONE, 0}, TNR_ERR_ARGUMENT},
        {{TNR_MEMORY_PINNED, TNR_NONE, 1}, TNR_ERR_ARGUMENT},
        {{TNR_MEMORY_HOST, TNR_NONE, -2}, TNR_ERR_ARGUMENT},
        {{TNR_MEMORY_HOST, 0, TNR_NONE}, TNR_ERR_ARGUMENT},
        {{TNR_MEMORY_MANAGED, -2, TNR_NONE}, TNR_ERR_ARGUMENT},
        {{TNR_MEMORY_DEVICE, 0, TNR_NONE}, TNR_ERR_RESIDENCY},
        {{TNR_MEMORY_OTHER, TNR_NONE, TNR_NONE}, TNR_ERR_RESIDENCY},
    };
    place made = place_make(65536, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tnr_domain *arena = NULL;
        tnr_arena_options options = TNR_ARENA_OPTIONS;
        options.placement = rows[i].placement;
        assert_int_equal(tnr_arena_create(made.region, 65536, &options, &arena), rows[i].expected);
        assert_int_equal(arena != NULL, rows[i].expected == TNR_OK);
        if (arena != NULL) {
            assert_int_equal(tnr_domain_placement(arena).kind, rows[i].placement.kind);
            assert_int_equal(tnr_domain_placement(arena).device, rows[i].placement.device);
            arena_close(&arena);
        }
    }
    place_free(&made);
}

/* ---- Which blocks are taken back --------------------------------------------------------------------------------- */

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

/* ---- Closing and reset ------------------------------------------------------------------------------------------- */

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
    uint64_t chunk_bytes = 0;
    uint64_t chunks = 0;
    assert_true(tnri_slab_need(1, &chunk_bytes, &chunks));
    assert_int_equal(chunks, 1);
    assert_int_equal(after.bytes, chunk_bytes);
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

/* ---- Debugging aids ---------------------------------------------------------------------------------------------- */

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
        cmocka_unit_test(pa10_all_orders_of_release),
        cmocka_unit_test(exhaustion_says_what_is_left),
        cmocka_unit_test(sl02_e_sizes_near_the_limit),
        cmocka_unit_test(sl02_f_alignments_that_are_none),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(placement_that_cannot_be_known_is_refused),
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
