/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of an arena: chunks that double, reserved ones that stay, and a few more when there is hardly any room. */
#include "arena_place.h"

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static void slabs_grow_in_doubling_chunks(void **state)
{
    (void)state;
    static const uint64_t rows[][3] = {
        /* handles, slots, chunks */
        {0, 0, 0},          {1, 16, 1},         {16, 16, 1},          {17, 48, 2},     {48, 48, 2},
        {49, 112, 3},       {4080, 4080, 8},    {4081, 8176, 9},      {8176, 8176, 9}, {8177, 12272, 10},
        {12272, 12272, 10}, {12273, 16368, 11}, {100000, 102384, 32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bytes = 1;
        uint64_t blocks = 1;
        assert_true(tnri_slab_need(rows[i][0], &bytes, &blocks));
        assert_int_equal(blocks, rows[i][2]);
        assert_int_equal(bytes, rows[i][1] * TNRI_HANDLE_BYTES + rows[i][2] * 64);
    }
    uint64_t bytes = 1;
    uint64_t blocks = 1;
    assert_false(tnri_slab_need(UINT64_MAX, &bytes, &blocks));
}

static void reserved_handles_are_there_and_stay(void **state)
{
    (void)state;
    place made = place_make(262144, 0);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.handles = 100;
    tnr_domain *arena = arena_make(&made, &options);
    uint64_t bytes = 0;
    uint64_t blocks = 0;
    assert_true(tnri_slab_need(100, &bytes, &blocks));
    const tnr_domain_statistics before = statistics_of(arena);
    assert_int_equal(before.blocks, blocks);
    assert_int_equal(before.bytes, bytes);
    tnri_handle *handles[112];
    for (int i = 0; i < 112; i++) {
        assert_int_equal(tnri_handle_take(arena, TNR_ALLOCATION_REASON_END, 0, &handles[i]), TNR_OK);
    }
    assert_int_equal(statistics_of(arena).blocks, blocks); /* none of these took a block */
    for (int i = 0; i < 112; i++) {
        tnri_handle_cancel(arena, TNR_ALLOCATION_REASON_END, 0, handles[i]); /* nobody ever knew one of them */
    }
    assert_int_equal(statistics_of(arena).blocks, blocks);
    assert_int_equal(tnr_arena_reset(arena), TNR_OK);
    assert_int_equal(statistics_of(arena).blocks, blocks);
    arena_close(&arena);
    place_free(&made);
}

/* A chunk of the size that is due does not fit any more: a smaller one serves. */
static void nearly_full_arena_still_gives_a_few_handles(void **state)
{
    (void)state;
    place made = place_make(65536, 0);
    tnr_domain *arena = arena_make(&made, NULL);
    tnri_handle *handles[48];
    tnri_handle *handle;
    tnr_block filler;
    for (int i = 0; i < 48; i++) {
        assert_int_equal(tnri_handle_take(arena, TNR_ALLOCATION_REASON_END, 0, &handles[i]), TNR_OK);
        tnri_handle_publish(handles[i], TNRI_HANDLE_TENSOR);
    }
    assert_null(arena->slab.free);
    const uint64_t room = 64 + 16 * TNRI_HANDLE_BYTES;
    assert_int_equal(tnr_domain_allocate(arena, statistics_of(arena).largest_free - room, 0, &filler), TNR_OK);
    assert_int_equal(tnri_handle_take(arena, TNR_ALLOCATION_REASON_END, 0, &handle), TNR_OK);
    assert_int_equal(statistics_of(arena).free_bytes, 0);
    assert_int_equal(arena->slab.slots, 64);
    tnri_handle_cancel(arena, TNR_ALLOCATION_REASON_END, 0, handle);
    assert_int_equal(statistics_of(arena).free_bytes, room);
    assert_int_equal(tnr_domain_release(arena, &filler), TNR_OK);
    for (int i = 0; i < 48; i++) {
        tnri_handle_give(arena, handles[i], false);
    }
    arena_close(&arena);
    place_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slabs_grow_in_doubling_chunks),
        cmocka_unit_test(reserved_handles_are_there_and_stay),
        cmocka_unit_test(nearly_full_arena_still_gives_a_few_handles),
    };
    return cmocka_run_group_tests_name("arena handles", tests, NULL, NULL);
}
