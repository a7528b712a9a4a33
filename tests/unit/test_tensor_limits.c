/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes at the edge: SL-02 through every public call that takes a shape, and the stated need of tensors. */
#include "support/storage_test.h"

/* ---- SL-02 through the public calls ------------------------------------------------------------------------------ */

static void SL_02_a_offset_past_64_bits_is_overflow(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(8));
    tnr_view view;
    tnr_view_mut view_mut;
    const int64_t huge = (int64_t)1 << 62;
    EXPECT(TNR_ERR_OVERFLOW, tnr_tensor_region(tensor, 2, SHAPE(2, 2), SHAPE(1, huge), huge, &view));
    EXPECT(TNR_ERR_OVERFLOW, tnr_tensor_region_mut(tensor, 2, SHAPE(2, 2), SHAPE(1, huge), huge, &view_mut));
    tnr_group *group = NULL;
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    tnr_slot slot;
    OK(tnr_group_slot(group, 0, &slot));
    EXPECT(TNR_ERR_OVERFLOW,
           tnr_group_describe_span(group, slot, TNR_F64, 0, 64, 2, SHAPE(2, 2), SHAPE(1, huge), huge, NULL));
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* Every call that takes a shape refuses it with the same answer and takes nothing. */
static void refuse_shape(tnr_status expected, tnr_dtype dtype, int rank, const int64_t *shape)
{
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    const tnr_domain_statistics before = statistics_of(arena);
    double buffer[4] = {0};
    tnr_tensor *tensor = untouched();
    tnr_draft *draft = untouched();
    tnr_need need = {1, 2, 3};
    EXPECT(expected, tnr_tensor_zeros(arena, dtype, rank, shape, &tensor));
    EXPECT(expected, tnr_tensor_from_row_major(arena, dtype, rank, shape, buffer, 0, &tensor));
    EXPECT(expected, tnr_tensor_adopt(arena, dtype, rank, shape, buffer, 0, NULL, NULL, &tensor));
    EXPECT(expected, tnr_draft_begin(arena, dtype, rank, shape, &draft));
    EXPECT(expected, tnr_tensor_need(dtype, rank, shape, 1, &need));
    assert_ptr_equal(tensor, untouched());
    assert_ptr_equal(draft, untouched());
    assert_int_equal(need.bytes, 1);
    const tnr_domain_statistics after = statistics_of(arena);
    assert_memory_equal(&before, &after, sizeof(before)); /* not even a failure: the domain was never asked */
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    free(region);
}

static void SL_02_b_bytes_past_64_bits_are_overflow(void **state)
{
    (void)state;
    refuse_shape(TNR_ERR_OVERFLOW, TNR_F64, 1, SHAPE((int64_t)1 << 61));
    refuse_shape(TNR_ERR_OVERFLOW, TNR_C64, 1, SHAPE((int64_t)1 << 60));
    refuse_shape(TNR_ERR_OVERFLOW, TNR_F64, 1, SHAPE((int64_t)1 << 60)); /* 2^63 bytes: not in 63 bits */
}

static void SL_02_c_count_that_wraps_to_zero_is_overflow(void **state)
{
    (void)state;
    const int64_t power = (int64_t)1 << 32;
    refuse_shape(TNR_ERR_OVERFLOW, TNR_BOOL, 2, SHAPE(power, power));
    refuse_shape(TNR_ERR_OVERFLOW, TNR_F64, 2, SHAPE(power, power));
    refuse_shape(TNR_ERR_OVERFLOW, TNR_BOOL, 3, SHAPE(2, INT64_MAX, 2));
}

static void SL_02_d_negative_extent_is_argument(void **state)
{
    (void)state;
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, 1, SHAPE(-1));
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, 1, SHAPE(INT64_MIN));
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, 2, SHAPE(0, -1));         /* a zero extent does not hide it */
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, 2, SHAPE(INT64_MAX, -1)); /* nor does overflow */
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, 3, SHAPE(INT64_MAX, 4, -1));
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, -1, SHAPE(1));
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, TNR_MAX_RANK + 1, SHAPE(1));
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, 1, NULL);
}

/* The index arithmetic of a view too large for 32 bits; nothing is touched. */
static void SL_02_g_offsets_past_32_bits_are_exact(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
    tnr_tensor *small = make_counting(domain, 1, SHAPE(2));
    tnr_view view = view_of(small);
    /* An adopted buffer of such a size, that is never followed. */
    tnr_tensor *large = NULL;
    const int64_t shape[3] = {4096, 33, 32768};
    const uint64_t bytes = (uint64_t)4096 * 33 * 32768;
    OK(tnr_tensor_adopt(heap, TNR_BOOL, 3, shape, &memory, bytes, NULL, NULL, &large));
    view = view_of(large);
    OK(tnr_view_select(&view, 2, 32767, &view));
    OK(tnr_view_select(&view, 1, 32, &view));
    OK(tnr_view_select(&view, 0, 4095, &view));
    assert_true(view.offset == INT64_C(4429185023));
    const void *data;
    OK(tnr_tensor_host_data(large, &data));
    tnr_read_map map;
    OK(tnr_map_read(&view, &map));
    assert_true((uintptr_t)map.data - (uintptr_t)data == UINT64_C(4429185023));
    OK(tnr_unmap_read(&map));
    release(&large);
    release(&small);
    close_domain(&domain);
    close_domain(&heap);
}

/* ---- Need -------------------------------------------------------------------------------------------------------- */

/* An arena of exactly the stated need holds exactly that; 17 is one handle chunk and one handle more. */
static void PA_05_arena_of_the_stated_need_holds_just_that(void **state)
{
    (void)state;
    const uint64_t counts[] = {1, 16, 17, 100};
    for (size_t at = 0; at < sizeof(counts) / sizeof(counts[0]); at++) {
        const uint64_t count = counts[at];
        tnr_need need;
        uint64_t region_bytes;
        uint64_t control_bytes;
        tnr_arena_options options = TNR_ARENA_OPTIONS;
        OK(tnr_tensor_need(TNR_F64, 1, SHAPE(3), count, &need));
        assert_int_equal(need.blocks, count);
        assert_int_equal(need.handles, count);
        assert_int_equal(need.bytes, 64 * count);
        OK(tnr_arena_bytes(&need, &options, &region_bytes, &control_bytes, &options.max_blocks));
        assert_int_equal(control_bytes, 0);
        void *region = aligned_alloc(64, (size_t)((region_bytes + 63) / 64 * 64));
        assert_non_null(region);
        tnr_domain *arena = NULL;
        OK(tnr_arena_create(region, region_bytes, &options, &arena));
        tnr_tensor *tensors[100];
        for (uint64_t made = 0; made < count; made++) {
            tensors[made] = make_counting(arena, 1, SHAPE(3));
        }
        tnr_tensor *more = untouched();
        EXPECT(TNR_ERR_MEMORY, tnr_tensor_zeros(arena, TNR_F64, 1, SHAPE(3), &more));
        assert_ptr_equal(more, untouched());
        OK(tnr_arena_check(arena));
        for (uint64_t made = 0; made < count; made++) {
            assert_true(host_of(tensors[made])[2] == 3.0);
            release(&tensors[made]);
        }
        close_domain(&arena);
        free(region);
    }
}

static void need_of_nothing_and_of_too_much(void **state)
{
    (void)state;
    tnr_need need = {9, 9, 9};
    OK(tnr_tensor_need(TNR_F64, 1, SHAPE(0), 5, &need));
    assert_int_equal(need.bytes, 0);
    assert_int_equal(need.blocks, 0);
    assert_int_equal(need.handles, 5);
    need.bytes = 9;
    EXPECT(TNR_ERR_OVERFLOW, tnr_tensor_need(TNR_F64, 1, SHAPE((int64_t)1 << 40), (uint64_t)1 << 40, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_need(TNR_F64, 1, SHAPE(3), 1, NULL));
    assert_int_equal(need.bytes, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(SL_02_a_offset_past_64_bits_is_overflow),
        cmocka_unit_test(SL_02_b_bytes_past_64_bits_are_overflow),
        cmocka_unit_test(SL_02_c_count_that_wraps_to_zero_is_overflow),
        cmocka_unit_test(SL_02_d_negative_extent_is_argument),
        cmocka_unit_test(SL_02_g_offsets_past_32_bits_are_exact),
        cmocka_unit_test(PA_05_arena_of_the_stated_need_holds_just_that),
        cmocka_unit_test(need_of_nothing_and_of_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
