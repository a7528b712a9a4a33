/* SPDX-License-Identifier: BSD-3-Clause */
/* Needs and the arena's size query: exact to the byte where it says so, enough elsewhere, overflow refused. */
#include "arena_place.h"

#include "tenure/tensor.h"

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
        assert_int_equal(tnr_tensor_from_row_major(arena, TNR_F64, 1, shape, values, sizeof(values), &tensors[i]),
                         TNR_OK);
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
                    assert_int_equal(tnr_arena_bytes(&need, &options, &bytes, &control_bytes, &options.max_blocks),
                                     TNR_OK);
                    assert_int_equal(control_bytes != 0, apart);
                    const bool more = counts[c] != 0 || handles[h] != 0;
                    for (unsigned way = 0; way < 4; way++) {
                        const uint64_t less = way % 2;
                        const bool reserved = way / 2 != 0;
                        options.handles = reserved ? handles[h] : 0;
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
                            /* Handles that were not reserved come in smaller chunks when room is scarce. */
                            const bool exact = reserved || handles[h] <= TNRI_SLAB_FIRST_SLOTS;
                            assert_true(fits == (less == 0 || !more) || (fits && !exact));
                            arena_close(&arena);
                        } else {
                            assert_true(status == TNR_ERR_ARGUMENT || (status == TNR_ERR_MEMORY && reserved));
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
            assert_int_equal(tnr_arena_bytes(&need, &options, &region_bytes, &control_bytes, &options.max_blocks),
                             TNR_OK);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pa05_failed_requests_take_nothing),
        cmocka_unit_test(pa05_exact_size_query_for_tensors),
        cmocka_unit_test(size_query_is_exact),
        cmocka_unit_test(capacity_rises_with_the_region),
        cmocka_unit_test(size_query_with_pages_is_enough),
        cmocka_unit_test(needs_are_checked),
        cmocka_unit_test(size_query_for_huge_regions),
    };
    return cmocka_run_group_tests_name("arena_sizes", tests, NULL, NULL);
}
