/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners by their contract: how tensors are made, let go, described and touched, and every error on the way. */
#include "support/storage_test.h"

/* Remembers what the release function of an adopted buffer was given. */
typedef struct released {
    int calls;
    void *context;
    void *data;
    uint64_t bytes;
} released;

static void note_release(void *context, void *data, uint64_t bytes)
{
    released *note = context;
    note->calls++;
    note->context = context;
    note->data = data;
    note->bytes = bytes;
}

/* ---- Adopting ---------------------------------------------------------------------------------------------------------- */

/* Ideas 22, 45. */
static void adopted_buffer_keeps_its_pointer_and_is_released_once(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    double buffer[6] = {1, 2, 3, 4, 5, 6};
    released note = {0};
    tnr_tensor *tensor = NULL;
    const tnr_domain_statistics before = statistics_of(heap);
    OK(tnr_tensor_adopt(heap, TNR_F64, 2, SHAPE(2, 3), buffer, sizeof(buffer), note_release, &note, &tensor));
    assert_ptr_equal(host_of(tensor), buffer);
    tnr_tensor_info info;
    OK(tnr_tensor_describe(tensor, &info));
    assert_int_equal(info.dtype, TNR_F64);
    assert_int_equal(info.rank, 2);
    assert_int_equal(info.shape[0], 2);
    assert_int_equal(info.shape[1], 3);
    assert_int_equal(info.count, 6);
    assert_int_equal(info.bytes, 48);
    assert_int_equal(info.domain.serial, 0); /* no domain and no number outside a group */
    assert_int_equal(info.domain.process, 0);
    assert_int_equal(info.allocation, 0);
    assert_int_equal(info.placement.kind, TNR_MEMORY_HOST);
    assert_int_equal(info.placement.cpu_affinity, TNR_NONE);
    assert_int_equal(info.access, TNR_ACCESS_DIRECT);
    assert_true(statistics_of(heap).blocks <= before.blocks + 1); /* handles only */
    assert_int_equal(note.calls, 0);
    release(&tensor);
    assert_int_equal(note.calls, 1);
    assert_ptr_equal(note.context, &note);
    assert_ptr_equal(note.data, buffer);
    assert_int_equal(note.bytes, 48);
    close_domain(&heap);
}

/* Idea 45. */
static void adopt_and_export_give_the_same_pointer(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    float buffer[4] = {1, 2, 3, 4};
    released note = {0};
    tnr_tensor *tensor = NULL;
    tnr_exported exported;
    OK(tnr_tensor_adopt(heap, TNR_F32, 1, SHAPE(4), buffer, sizeof(buffer), note_release, &note, &tensor));
    OK(tnr_tensor_export(&tensor, &exported));
    assert_null(tensor);
    assert_int_equal(note.calls, 0);
    assert_ptr_equal(exported.data, buffer);
    assert_int_equal(exported.bytes, 16);
    assert_int_equal(exported.dtype, TNR_F32);
    assert_int_equal(exported.rank, 1);
    assert_int_equal(exported.shape[0], 4);
    assert_null(exported.domain);
    assert_true(exported.release == note_release);
    assert_ptr_equal(exported.context, &note);
    OK(tnr_tensor_import(heap, &exported, &tensor));
    assert_null(exported.data);
    assert_null(exported.release);
    assert_ptr_equal(host_of(tensor), buffer);
    OK(tnr_tensor_export(&tensor, &exported));
    OK(tnr_exported_free(&exported));
    assert_int_equal(note.calls, 1);
    assert_ptr_equal(note.data, buffer);
    OK(tnr_exported_free(&exported)); /* a zeroed one */
    OK(tnr_exported_free(NULL));
    assert_int_equal(note.calls, 1);
    close_domain(&heap);
}

static void adopted_empty_buffer_keeps_its_pointer_through_export(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    double unused[1];
    released note = {0};
    tnr_tensor *tensor = NULL;
    tnr_exported exported;
    OK(tnr_tensor_adopt(heap, TNR_F64, 2, SHAPE(0, 3), unused, 0, note_release, &note, &tensor));
    OK(tnr_tensor_export(&tensor, &exported));
    assert_ptr_equal(exported.data, unused);
    OK(tnr_tensor_import(heap, &exported, &tensor));
    release(&tensor);
    assert_int_equal(note.calls, 1);
    assert_ptr_equal(note.data, unused); /* whoever allocated it must be able to free it */
    OK(tnr_tensor_adopt(heap, TNR_F64, 1, SHAPE(0), NULL, 0, NULL, NULL, &tensor));
    const void *data = untouched();
    OK(tnr_tensor_host_data(tensor, &data));
    assert_null(data);
    release(&tensor);
    close_domain(&heap);
}

static void refuse_adopt(tnr_domain *home, tnr_status expected, tnr_dtype dtype, int rank, const int64_t *shape,
                         void *data, uint64_t bytes)
{
    released note = {0};
    tnr_tensor *tensor = untouched();
    const tnr_domain_statistics before = statistics_of(home);
    EXPECT(expected, tnr_tensor_adopt(home, dtype, rank, shape, data, bytes, note_release, &note, &tensor));
    assert_ptr_equal(tensor, untouched());
    assert_int_equal(note.calls, 0); /* still the caller's */
    const tnr_domain_statistics after = statistics_of(home);
    assert_memory_equal(&before, &after, sizeof(before));
}

/* Ideas 2, 23, 44, 48. */
static void adopt_refuses_what_does_not_fit(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    double buffer[8] = {0};
    refuse_adopt(heap, TNR_ERR_SHAPE, TNR_F64, 1, SHAPE(4), buffer, 24);
    refuse_adopt(heap, TNR_ERR_SHAPE, TNR_F64, 1, SHAPE(4), buffer, 40);
    refuse_adopt(heap, TNR_ERR_SHAPE, TNR_F64, 1, SHAPE(4), buffer, 33);
    refuse_adopt(heap, TNR_ERR_SHAPE, TNR_F64, 1, SHAPE(0), buffer, 8);
    refuse_adopt(heap, TNR_ERR_ARGUMENT, TNR_F64, 1, SHAPE(4), NULL, 32);
    refuse_adopt(heap, TNR_ERR_ARGUMENT, TNR_F64, 1, SHAPE(4), (char *)buffer + 4, 32); /* misaligned */
    refuse_adopt(heap, TNR_ERR_ARGUMENT, TNR_C64, 1, SHAPE(2), (char *)buffer + 4, 32);
    refuse_adopt(heap, TNR_ERR_ARGUMENT, TNR_I32, 1, SHAPE(2), (char *)buffer + 3, 8);
    refuse_adopt(heap, TNR_ERR_ARGUMENT, TNR_F64, -1, SHAPE(4), buffer, 32);
    refuse_adopt(heap, TNR_ERR_ARGUMENT, TNR_F64, TNR_MAX_RANK + 1, SHAPE(4), buffer, 32);
    refuse_adopt(heap, TNR_ERR_ARGUMENT, TNR_F64, 1, NULL, buffer, 32);
    refuse_adopt(heap, TNR_ERR_ARGUMENT, TNR_F64, 1, SHAPE(-4), buffer, 32);
    refuse_adopt(heap, TNR_ERR_OVERFLOW, TNR_F64, 2, SHAPE(INT64_MAX, 2), buffer, 32);
    tnr_tensor *tensor = untouched();
    assert_int_not_equal(tnr_tensor_adopt(heap, TNR_DTYPE_NONE, 1, SHAPE(4), buffer, 32, NULL, NULL, &tensor), TNR_OK);
    assert_int_not_equal(tnr_tensor_adopt(heap, TNR_DTYPE_END, 1, SHAPE(4), buffer, 32, NULL, NULL, &tensor), TNR_OK);
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_adopt(NULL, TNR_F64, 1, SHAPE(4), buffer, 32, NULL, NULL, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_adopt(heap, TNR_F64, 1, SHAPE(4), buffer, 32, NULL, NULL, NULL));
    /* C64 has the alignment of its component. */
    tensor = NULL;
    OK(tnr_tensor_adopt(heap, TNR_C64, 1, SHAPE(2), &buffer[1], 32, NULL, NULL, &tensor));
    release(&tensor);
    close_domain(&heap);
}

/* ---- Making ------------------------------------------------------------------------------------------------------------ */

static void zeros_are_zero_in_every_dtype_also_on_used_memory(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(arena, NULL, &pool));
    for (int dtype = TNR_DTYPE_NONE + 1; dtype < TNR_DTYPE_END; dtype++) {
        for (int round = 0; round < 2; round++) {
            tnr_tensor *tensor = NULL;
            void *data = NULL;
            OK(tnr_tensor_zeros(pool, (tnr_dtype)dtype, 2, SHAPE(7, 9), &tensor));
            OK(tnr_tensor_host_data_mut(tensor, &data));
            const size_t bytes = 63 * tnr_dtype_size((tnr_dtype)dtype);
            for (size_t at = 0; at < bytes; at++) {
                assert_int_equal(((unsigned char *)data)[at], 0);
            }
            memset(data, 0xFF, bytes); /* the next one gets this buffer back */
            release(&tensor);
        }
    }
    close_domain(&pool);
    close_domain(&arena);
    free(region);
}

/* Idea 13. */
static void from_row_major_transposes_the_memory_order(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    const int32_t rows[6] = {1, 2, 3, 4, 5, 6}; /* 2 x 3 */
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_from_row_major(heap, TNR_I32, 2, SHAPE(2, 3), rows, sizeof(rows), &tensor));
    const void *data;
    OK(tnr_tensor_host_data(tensor, &data));
    const int32_t expected[6] = {1, 4, 2, 5, 3, 6};
    assert_memory_equal(data, expected, sizeof(expected));
    release(&tensor);
    int64_t cube[24];
    for (int at = 0; at < 24; at++) {
        cube[at] = at;
    }
    OK(tnr_tensor_from_row_major(heap, TNR_I64, 3, SHAPE(2, 3, 4), cube, sizeof(cube), &tensor));
    const tnr_view view = view_of(tensor);
    for (int64_t i = 0; i < 2; i++) {
        for (int64_t j = 0; j < 3; j++) {
            for (int64_t k = 0; k < 4; k++) {
                int64_t value = -1;
                OK(tnr_view_get(&view, SHAPE(i, j, k), &value));
                assert_int_equal(value, i * 12 + j * 4 + k);
            }
        }
    }
    release(&tensor);
    OK(tnr_tensor_from_row_major(heap, TNR_I64, 2, SHAPE(3, 0), NULL, 0, &tensor));
    release(&tensor);
    close_domain(&heap);
}

static void from_row_major_refuses_what_does_not_fit(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    const double rows[4] = {1, 2, 3, 4};
    tnr_tensor *tensor = untouched();
    EXPECT(TNR_ERR_SHAPE, tnr_tensor_from_row_major(heap, TNR_F64, 2, SHAPE(2, 2), rows, 31, &tensor));
    EXPECT(TNR_ERR_SHAPE, tnr_tensor_from_row_major(heap, TNR_F64, 2, SHAPE(2, 2), rows, 24, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_from_row_major(heap, TNR_F64, 2, SHAPE(2, 2), NULL, 32, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_from_row_major(NULL, TNR_F64, 2, SHAPE(2, 2), rows, 32, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_from_row_major(heap, TNR_F64, 2, SHAPE(2, -2), rows, 32, &tensor));
    EXPECT(TNR_ERR_OVERFLOW, tnr_tensor_from_row_major(heap, TNR_F64, 2, SHAPE(INT64_MAX, 4), rows, 32, &tensor));
    assert_ptr_equal(tensor, untouched());
    close_domain(&heap);
}

static void duplicate_of_any_layout_is_compact(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(3, 4));
    tnr_view view = view_of(tensor);
    OK(tnr_view_permute(&view, NULL, &view));
    OK(tnr_view_slice_axis(&view, 0, (tnr_slice){0, TNR_END, -2}, &view)); /* columns 3 and 1 */
    tnr_tensor *copy = NULL;
    OK(tnr_tensor_duplicate(&view, arena, &copy));
    tnr_tensor_info info;
    OK(tnr_tensor_describe(copy, &info));
    assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(arena)));
    assert_int_equal(info.shape[0], 2);
    assert_int_equal(info.shape[1], 3);
    const double expected[6] = {10, 4, 11, 5, 12, 6};
    assert_memory_equal(host_of(copy), expected, sizeof(expected));
    /* Broadcast, and nothing at all. */
    tnr_view column = view_of(tensor);
    OK(tnr_view_select(&column, 1, 0, &column));
    OK(tnr_view_broadcast(&column, 2, SHAPE(3, 5), (const int[]){0}, &column));
    release(&copy);
    OK(tnr_tensor_duplicate(&column, heap, &copy));
    assert_true(host_of(copy)[14] == 3.0);
    release(&copy);
    OK(tnr_view_slice_axis(&column, 1, (tnr_slice){2, 2, 1}, &column));
    OK(tnr_tensor_duplicate(&column, heap, &copy));
    OK(tnr_tensor_describe(copy, &info));
    assert_int_equal(info.count, 0);
    release(&copy);
    copy = untouched();
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_duplicate(NULL, heap, &copy));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_duplicate(&view, NULL, &copy));
    release(&tensor);
    EXPECT(TNR_ERR_STALE, tnr_tensor_duplicate(&view, heap, &copy));
    assert_ptr_equal(copy, untouched());
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

/* Idea 46; SL-01. */
static void rank_zero_and_zero_extents_are_tensors(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 0, NULL);
    tnr_view view = view_of(tensor);
    double value = 0;
    OK(tnr_view_get(&view, NULL, &value));
    assert_true(value == 1.0);
    release(&tensor);
    /* Ideas 41, 68: any zero extent means count 0, whatever the others are; no block is taken. */
    const tnr_domain_statistics before = statistics_of(heap);
    OK(tnr_tensor_zeros(heap, TNR_F64, 3, SHAPE(INT64_MAX, INT64_MAX, 0), &tensor));
    tnr_tensor_info info;
    OK(tnr_tensor_describe(tensor, &info));
    assert_int_equal(info.count, 0);
    assert_int_equal(info.bytes, 0);
    assert_int_equal(statistics_of(heap).blocks, before.blocks);
    const void *data = untouched();
    OK(tnr_tensor_host_data(tensor, &data));
    assert_null(data);
    view = view_of(tensor);
    tnr_read_map map;
    OK(tnr_map_read(&view, &map));
    assert_null(map.data);
    OK(tnr_unmap_read(&map));
    EXPECT(TNR_ERR_BOUNDS, tnr_view_get(&view, SHAPE(0, 0, 0), &value));
    tnr_exported exported;
    OK(tnr_tensor_export(&tensor, &exported));
    assert_null(exported.data);
    OK(tnr_tensor_import(heap, &exported, &tensor));
    release(&tensor);
    int64_t ones[TNR_MAX_RANK];
    for (int axis = 0; axis < TNR_MAX_RANK; axis++) {
        ones[axis] = 1;
    }
    OK(tnr_tensor_zeros(heap, TNR_BOOL, TNR_MAX_RANK, ones, &tensor)); /* CT-09: exactly the limit works */
    release(&tensor);
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_zeros(heap, TNR_BOOL, TNR_MAX_RANK + 1, ones, &tensor));
    close_domain(&heap);
}

/* ---- SL-02 through the public calls -------------------------------------------------------------------------------------- */

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
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, 2, SHAPE(0, -1));            /* a zero extent does not hide it */
    refuse_shape(TNR_ERR_ARGUMENT, TNR_F64, 2, SHAPE(INT64_MAX, -1));    /* nor does overflow */
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

/* ---- Drafts ------------------------------------------------------------------------------------------------------------- */

static void draft_becomes_a_tensor_with_the_same_bytes(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_draft *draft = NULL;
    tnr_view_mut view;
    tnr_write_map map;
    OK(tnr_draft_begin(heap, TNR_F64, 2, SHAPE(2, 2), &draft));
    OK(tnr_draft_view(draft, &view));
    OK(tnr_map_write(&view, &map));
    const void *place = map.data;
    const double values[4] = {1, 2, 3, 4};
    memcpy(map.data, values, sizeof(values));
    OK(tnr_unmap_write(&map));
    tnr_tensor *tensor = NULL;
    tnr_draft *copy = draft;
    OK(tnr_draft_commit(&draft, &tensor));
    assert_null(draft);
    assert_ptr_equal(host_of(tensor), place);
    assert_memory_equal(host_of(tensor), values, sizeof(values));
    EXPECT(TNR_ERR_STALE, tnr_map_write(&view, &map)); /* views of the draft ended */
    EXPECT(TNR_ERR_STALE, tnr_draft_view(copy, &view));
    tnr_tensor *second = untouched();
    EXPECT(TNR_ERR_STALE, tnr_draft_commit(&copy, &second));
    assert_ptr_equal(second, untouched());
    EXPECT(TNR_ERR_STALE, tnr_draft_abandon(&copy));
    release(&tensor);
    close_domain(&heap);
}

/* Idea 66. */
static void abandoned_draft_goes_back_to_its_pool(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    tnr_draft *draft = NULL;
    tnr_pool_statistics statistics;
    OK(tnr_pool_create(heap, NULL, &pool));
    OK(tnr_draft_begin(pool, TNR_F64, 1, SHAPE(100), &draft));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.in_flight, 1);
    OK(tnr_draft_abandon(&draft));
    assert_null(draft);
    OK(tnr_draft_abandon(&draft));
    OK(tnr_draft_abandon(NULL));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.in_flight, 0);
    assert_int_equal(statistics.buffers, 1);
    close_domain(&pool);
    close_domain(&heap);
}

static void draft_under_a_lease_is_busy(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_draft *draft = NULL;
    tnr_draft *same;
    tnr_view_mut view;
    tnr_write_map map;
    tnr_tensor *tensor = untouched();
    OK(tnr_draft_begin(heap, TNR_F64, 1, SHAPE(4), &draft));
    same = draft;
    OK(tnr_draft_view(draft, &view));
    OK(tnr_map_write(&view, &map));
    EXPECT(TNR_ERR_BUSY, tnr_draft_commit(&draft, &tensor));
    EXPECT(TNR_ERR_BUSY, tnr_draft_abandon(&draft));
    assert_ptr_equal(draft, same);
    assert_ptr_equal(tensor, untouched());
    OK(tnr_unmap_write(&map));
    OK(tnr_draft_abandon(&draft));
    EXPECT(TNR_ERR_STALE, tnr_map_write(&view, &map));
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_commit(NULL, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_commit(&draft, &tensor)); /* NULL inside */
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_view(NULL, &view));
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_begin(NULL, TNR_F64, 1, SHAPE(4), &draft));
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_begin(heap, TNR_F64, 1, SHAPE(4), NULL));
    close_domain(&heap);
}

/* ---- Letting go --------------------------------------------------------------------------------------------------------- */

static void released_tensor_is_stale_everywhere(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    tnr_tensor *second = tensor;
    const tnr_view view = view_of(tensor);
    const tnr_view_mut view_mut = view_mut_of(tensor);
    release(&tensor);
    OK(tnr_tensor_release(&tensor)); /* a pointer to NULL */
    OK(tnr_tensor_release(NULL));

    EXPECT(TNR_ERR_STALE, tnr_tensor_release(&second));
    assert_non_null(second);
    tnr_exported exported;
    tnr_tensor_info info;
    tnr_view made;
    tnr_view_mut made_mut;
    const void *data;
    void *data_mut;
    tnr_group *group = NULL;
    tnr_domain *pool = NULL;
    tnr_read_map read;
    tnr_write_map write;
    double value = 0;
    OK(tnr_group_create(heap, &group));
    OK(tnr_pool_create(heap, NULL, &pool));
    EXPECT(TNR_ERR_STALE, tnr_tensor_export(&second, &exported));
    EXPECT(TNR_ERR_STALE, tnr_tensor_describe(second, &info));
    EXPECT(TNR_ERR_STALE, tnr_tensor_view(second, &made));
    EXPECT(TNR_ERR_STALE, tnr_tensor_view_mut(second, &made_mut));
    EXPECT(TNR_ERR_STALE, tnr_tensor_region(second, 0, NULL, NULL, 0, &made));
    EXPECT(TNR_ERR_STALE, tnr_tensor_region_mut(second, 0, NULL, NULL, 0, &made_mut));
    EXPECT(TNR_ERR_STALE, tnr_tensor_host_data(second, &data));
    EXPECT(TNR_ERR_STALE, tnr_tensor_host_data_mut(second, &data_mut));
    EXPECT(TNR_ERR_STALE, tnr_group_append(group, &second, NULL));
    EXPECT(TNR_ERR_STALE, tnr_tensor_reclaim(pool, &second));
    EXPECT(TNR_ERR_STALE, tnr_map_read(&view, &read));
    EXPECT(TNR_ERR_STALE, tnr_map_write(&view_mut, &write));
    EXPECT(TNR_ERR_STALE, tnr_view_get(&view, SHAPE(0), &value));
    EXPECT(TNR_ERR_STALE, tnr_view_set(&view_mut, SHAPE(0), &value));
    /* The slot lives on under another tensor: the view is still stale. */
    tnr_tensor *other = make_counting(heap, 1, SHAPE(4));
    EXPECT(TNR_ERR_STALE, tnr_view_get(&view, SHAPE(0), &value));
    release(&other);
    OK(tnr_group_release(&group));
    close_domain(&pool);
    close_domain(&heap);
}

/* Idea 45: bytes of every kind of domain leave and come back under the same pointer. */
static void export_and_import_move_no_byte(void **state)
{
    (void)state;
    void *region;
    test_memory memory = {0};
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *program = make_program_domain(arena, &memory, TNR_ACCESS_DIRECT);
    tnr_domain *domains[3] = {heap, arena, program};
    for (int index = 0; index < 3; index++) {
        tnr_tensor *tensor = make_counting(domains[index], 2, SHAPE(2, 3));
        tnr_tensor *second = tensor;
        const double *data = host_of(tensor);
        const tnr_view view = view_of(tensor);
        const tnr_domain_statistics before = statistics_of(domains[index]);
        tnr_exported exported;
        OK(tnr_tensor_export(&tensor, &exported));
        assert_null(tensor);
        assert_ptr_equal(exported.data, data);
        assert_ptr_equal(exported.domain, domains[index]);
        assert_int_equal(exported.bytes, 48);
        assert_int_equal(exported.rank, 2);
        assert_int_equal(exported.shape[1], 3);
        assert_int_equal(statistics_of(domains[index]).bytes, before.bytes);
        tnr_read_map map;
        EXPECT(TNR_ERR_STALE, tnr_map_read(&view, &map));
        EXPECT(TNR_ERR_STALE, tnr_tensor_release(&second));
        tnr_exported copy = exported;
        OK(tnr_tensor_import(domains[index], &exported, &tensor));
        assert_null(exported.data);
        assert_null(exported.domain);
        assert_int_equal(exported.bytes, 0);
        assert_ptr_equal(host_of(tensor), data);
        assert_true(host_of(tensor)[5] == 6.0);
        SAME_STATISTICS(domains[index], &before);
        tnr_tensor_info info;
        OK(tnr_tensor_describe(tensor, &info));
        assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(domains[index])));
        assert_int_equal(info.rank, 2);
        /* The copy names a block that is a tensor's again. */
        tnr_tensor *twice = untouched();
        assert_int_not_equal(tnr_tensor_import(domains[index], &copy, &twice), TNR_OK);
        assert_int_not_equal(tnr_exported_free(&copy), TNR_OK);
        assert_ptr_equal(twice, untouched());
        assert_true(host_of(tensor)[5] == 6.0);
        /* Free after export, twice. */
        OK(tnr_tensor_export(&tensor, &exported));
        copy = exported;
        OK(tnr_exported_free(&exported));
        assert_null(exported.data);
        EXPECT(TNR_ERR_STALE, tnr_exported_free(&copy));
        EXPECT(TNR_ERR_STALE, tnr_tensor_import(domains[index], &copy, &twice));
    }
    close_domain(&program);
    assert_int_equal(memory.allocates, memory.releases);
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

/* Idea 65. */
static void export_from_a_pool_detaches_first(void **state)
{
    (void)state;
    void *region;
    test_memory memory = {0};
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *program = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
    tnr_domain *parents[3] = {heap, arena, program};
    for (int index = 0; index < 3; index++) {
        tnr_domain *pool = NULL;
        OK(tnr_pool_create(parents[index], NULL, &pool));
        tnr_tensor *tensor = make_counting(pool, 1, SHAPE(10));
        const double *data = host_of(tensor);
        tnr_exported exported;
        OK(tnr_tensor_export(&tensor, &exported));
        assert_ptr_equal(exported.data, data);
        assert_ptr_equal(exported.domain, parents[index]);
        tnr_pool_statistics statistics;
        OK(tnr_pool_statistics_get(pool, &statistics));
        assert_int_equal(statistics.in_flight, 0);
        assert_int_equal(statistics.buffers, 0);
        close_domain(&pool); /* the pool may die first */
        assert_true(data[9] == 10.0);
        OK(tnr_tensor_import(parents[index], &exported, &tensor));
        assert_ptr_equal(host_of(tensor), data);
        release(&tensor);
    }
    close_domain(&program);
    assert_int_equal(memory.allocates, memory.releases);
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

static void forged_exports_are_refused_unchanged(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    tnr_exported exported;
    OK(tnr_tensor_export(&tensor, &exported));
    tnr_tensor *made = untouched();
    tnr_exported forged = exported;
    forged.bytes = 64;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.shape[0] = 1000; /* beyond the block */
    forged.bytes = 8000;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.data = (char *)exported.data + 8;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.rank = -3;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.rank = TNR_MAX_RANK + 1;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.dtype = TNR_DTYPE_END;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.block.allocation = 999999;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    assert_int_not_equal(tnr_exported_free(&forged), TNR_OK);
    assert_int_equal(forged.block.allocation, 999999);
    /* Two disagreeing places: adopted bytes must be aligned like adopted ones. */
    double buffer[3] = {0};
    tnr_exported odd = {(char *)buffer + 4, 16, TNR_F64, 1, {2}, NULL, {0}, NULL, NULL};
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_import(heap, &odd, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_import(NULL, &exported, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_import(heap, NULL, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_import(heap, &exported, NULL));
    assert_ptr_equal(made, untouched());
    OK(tnr_exported_free(&exported));
    close_domain(&heap);
}

static void forgotten_heap_bytes_are_given_to_free(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    tnr_exported exported;
    void *data = NULL;
    OK(tnr_pool_create(heap, NULL, &pool));
    tnr_domain *domains[2] = {heap, pool};
    for (int index = 0; index < 2; index++) {
        tnr_tensor *tensor = make_counting(domains[index], 1, SHAPE(4));
        const tnr_domain_statistics before = statistics_of(heap);
        const double *place = host_of(tensor);
        OK(tnr_tensor_export(&tensor, &exported));
        tnr_exported copy = exported;
        OK(tnr_exported_forget(&exported, &data));
        assert_ptr_equal(data, place);
        assert_null(exported.data);
        assert_null(exported.domain);
        assert_int_equal(statistics_of(heap).blocks, before.blocks - 1);
        void *again = untouched();
        EXPECT(TNR_ERR_STALE, tnr_exported_forget(&copy, &again)); /* it is the program's by now */
        assert_ptr_equal(again, untouched());
        free(data);
    }
    close_domain(&pool);
    close_domain(&heap); /* nothing of it keeps the heap open */
}

static void only_heap_bytes_can_be_forgotten(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_tensor *tensor = make_counting(arena, 1, SHAPE(4));
    tnr_exported exported;
    void *data = untouched();
    OK(tnr_tensor_export(&tensor, &exported));
    EXPECT(TNR_ERR_FOREIGN, tnr_exported_forget(&exported, &data));
    assert_ptr_equal(data, untouched());
    assert_non_null(exported.data);
    OK(tnr_exported_free(&exported));
    double value = 1;
    OK(tnr_tensor_adopt(arena, TNR_F64, 0, NULL, &value, 8, NULL, NULL, &tensor));
    OK(tnr_tensor_export(&tensor, &exported));
    EXPECT(TNR_ERR_FOREIGN, tnr_exported_forget(&exported, &data));
    EXPECT(TNR_ERR_ARGUMENT, tnr_exported_forget(NULL, &data));
    EXPECT(TNR_ERR_ARGUMENT, tnr_exported_forget(&exported, NULL));
    OK(tnr_exported_free(&exported));
    close_domain(&arena);
    free(region);
}

/* Ideas 20, 45, 49, 55; CU-01. */
static void bytes_out_of_the_hosts_reach_are_residency_naming_the_call(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_NONE);
    tnr_draft *draft = NULL;
    tnr_tensor *tensor = untouched();
    const double rows[2] = {1, 2};
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(2), &tensor));
    TEXT_HAS("upload");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_from_row_major(domain, TNR_F64, 1, SHAPE(2), rows, 16, &tensor));
    TEXT_HAS("upload");
    assert_ptr_equal(tensor, untouched());
    assert_int_equal(memory.allocates, 0);
    OK(tnr_draft_begin(domain, TNR_F64, 2, SHAPE(2, 2), &draft));
    OK(tnr_draft_commit(&draft, &tensor));
    const void *data = untouched();
    void *data_mut = untouched();
    tnr_exported exported;
    tnr_tensor *copy = untouched();
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data(tensor, &data));
    TEXT_HAS("download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data_mut(tensor, &data_mut));
    TEXT_HAS("download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_export(&tensor, &exported));
    assert_non_null(tensor);
    /* Metadata works as anywhere. */
    tnr_view view = view_of(tensor);
    tnr_view_mut view_mut = view_mut_of(tensor);
    OK(tnr_view_permute(&view, NULL, &view));
    OK(tnr_view_mut_slice_axis(&view_mut, 0, (tnr_slice){1, 2, 1}, &view_mut));
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_duplicate(&view, heap, &copy));
    TEXT_HAS("download");
    tnr_tensor *host = make_counting(heap, 1, SHAPE(2));
    const tnr_view host_view = view_of(host);
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_duplicate(&host_view, domain, &copy));
    TEXT_HAS("upload");
    double value = 0;
    EXPECT(TNR_ERR_RESIDENCY, tnr_view_get(&view, SHAPE(0, 0), &value));
    EXPECT(TNR_ERR_RESIDENCY, tnr_view_set(&view_mut, SHAPE(0, 0), &value));
    assert_ptr_equal(data, untouched());
    assert_ptr_equal(data_mut, untouched());
    assert_ptr_equal(copy, untouched());
    release(&host);
    release(&tensor);
    assert_int_equal(memory.releases, 1);
    close_domain(&domain);
    close_domain(&heap);
}

static void mapped_bytes_have_no_plain_pointer(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = make_counting(domain, 1, SHAPE(4));
    const void *data = untouched();
    void *data_mut = untouched();
    tnr_exported exported;
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data(tensor, &data));
    TEXT_HAS("tnr_map_read");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data_mut(tensor, &data_mut));
    TEXT_HAS("tnr_map_write");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_export(&tensor, &exported));
    assert_non_null(tensor);
    assert_ptr_equal(data, untouched());
    assert_ptr_equal(data_mut, untouched());
    release(&tensor);
    close_domain(&domain);
    close_domain(&heap);
}

/* ---- Pools ---------------------------------------------------------------------------------------------------------------- */

static void reclaimed_bytes_are_retained_by_the_pool(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *other = make_heap();
    tnr_domain *pool = NULL;
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = 1024;
    OK(tnr_pool_create(heap, &options, &pool));
    tnr_pool_statistics statistics;
    /* The parent's, the pool's own, too large a one. */
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(64));
    const double *data = host_of(tensor);
    const tnr_view view = view_of(tensor);
    OK(tnr_tensor_reclaim(pool, &tensor));
    assert_null(tensor);
    tnr_read_map map;
    EXPECT(TNR_ERR_STALE, tnr_map_read(&view, &map));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 1);
    assert_int_equal(statistics.capacity_bytes, 512);
    OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(64), &tensor));
    assert_ptr_equal(host_of(tensor), data);
    OK(tnr_tensor_reclaim(pool, &tensor));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 1);
    tensor = make_counting(heap, 1, SHAPE(1000));
    OK(tnr_tensor_reclaim(pool, &tensor));
    assert_null(tensor);
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 1); /* freed at once, evicts nothing */
    /* Not this pool's business. */
    tensor = make_counting(other, 1, SHAPE(4));
    EXPECT(TNR_ERR_FOREIGN, tnr_tensor_reclaim(pool, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_reclaim(heap, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_reclaim(NULL, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_reclaim(pool, NULL));
    assert_true(host_of(tensor)[3] == 4.0);
    release(&tensor);
    double value = 1;
    OK(tnr_tensor_adopt(heap, TNR_F64, 0, NULL, &value, 8, NULL, NULL, &tensor));
    EXPECT(TNR_ERR_FOREIGN, tnr_tensor_reclaim(pool, &tensor));
    release(&tensor);
    tensor = make_counting(heap, 1, SHAPE(4));
    tnr_view_mut view_mut = view_mut_of(tensor);
    tnr_write_map write;
    OK(tnr_map_write(&view_mut, &write));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_reclaim(pool, &tensor));
    OK(tnr_unmap_write(&write));
    OK(tnr_tensor_reclaim(pool, &tensor));
    OK(tnr_tensor_zeros(heap, TNR_F64, 1, SHAPE(0), &tensor));
    OK(tnr_tensor_reclaim(pool, &tensor)); /* nothing to retain */
    close_domain(&pool);
    close_domain(&heap);
    close_domain(&other);
}

/* Ideas 62, 63: the very buffer comes back. */
static void released_pool_tensor_is_the_next_one(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(heap, NULL, &pool));
    tnr_tensor *tensor = make_counting(pool, 1, SHAPE(10));
    const double *data = host_of(tensor);
    uint64_t last = 0;
    for (int round = 0; round < 10; round++) {
        tnr_tensor_info info;
        OK(tnr_tensor_describe(tensor, &info));
        assert_ptr_equal(host_of(tensor), data);
        assert_true(info.allocation > last); /* a new allocation each time, whatever the buffer */
        assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(pool)));
        last = info.allocation;
        release(&tensor);
        OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(10), &tensor));
    }
    release(&tensor);
    close_domain(&pool);
    close_domain(&heap);
}

/* ---- Asking and touching --------------------------------------------------------------------------------------------------- */

static void describe_tells_domain_number_and_capacity(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_tensor *first = make_counting(arena, 1, SHAPE(5));
    tnr_tensor *second = make_counting(arena, 1, SHAPE(5));
    tnr_tensor_info a;
    tnr_tensor_info b;
    OK(tnr_tensor_describe(first, &a));
    OK(tnr_tensor_describe(second, &b));
    assert_true(tnr_domain_id_equal(a.domain, b.domain));
    assert_true(b.allocation > a.allocation);
    assert_int_equal(a.bytes, 40);
    assert_int_equal(a.capacity_bytes, 64);
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_describe(NULL, &a));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_describe(first, NULL));
    release(&first);
    release(&second);
    close_domain(&arena);
    free(region);
}

/* Idea 47. */
static void get_and_set_go_by_logical_index(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(2, 3));
    tnr_view view = view_of(tensor);
    tnr_view_mut view_mut = view_mut_of(tensor);
    double value = -1;
    OK(tnr_view_get(&view, SHAPE(1, 2), &value));
    assert_true(value == 6.0);
    OK(tnr_view_permute(&view, NULL, &view));
    OK(tnr_view_get(&view, SHAPE(2, 0), &value));
    assert_true(value == 5.0);
    OK(tnr_view_mut_slice_axis(&view_mut, 1, (tnr_slice){0, TNR_END, -1}, &view_mut));
    value = 50;
    OK(tnr_view_set(&view_mut, SHAPE(0, 0), &value));
    assert_true(host_of(tensor)[4] == 50.0);
    value = -1;
    EXPECT(TNR_ERR_BOUNDS, tnr_view_get(&view, SHAPE(3, 0), &value));
    EXPECT(TNR_ERR_BOUNDS, tnr_view_get(&view, SHAPE(0, 2), &value));
    EXPECT(TNR_ERR_BOUNDS, tnr_view_get(&view, SHAPE(-1, 0), &value));
    EXPECT(TNR_ERR_BOUNDS, tnr_view_get(&view, SHAPE(INT64_MAX, 0), &value));
    EXPECT(TNR_ERR_BOUNDS, tnr_view_set(&view_mut, SHAPE(2, 0), &value));
    EXPECT(TNR_ERR_BOUNDS, tnr_view_set(&view_mut, SHAPE(0, INT64_MIN), &value));
    EXPECT(TNR_ERR_ARGUMENT, tnr_view_get(&view, NULL, &value));
    EXPECT(TNR_ERR_ARGUMENT, tnr_view_get(NULL, SHAPE(0, 0), &value));
    EXPECT(TNR_ERR_ARGUMENT, tnr_view_get(&view, SHAPE(0, 0), NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_view_set(NULL, SHAPE(0, 0), &value));
    EXPECT(TNR_ERR_ARGUMENT, tnr_view_set(&view_mut, SHAPE(0, 0), NULL));
    assert_true(value == -1.0);
    const double expected[6] = {1, 2, 3, 4, 50, 6};
    assert_memory_equal(host_of(tensor), expected, sizeof(expected));
    release(&tensor);
    close_domain(&heap);
}

/* A view is a plain struct: what a program writes into one is checked again where bytes are touched. */
static void tampered_views_are_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    const tnr_view view = view_of(tensor);
    tnr_view forged = view;
    tnr_read_map map;
    forged.shape[0] = 5;
    EXPECT(TNR_ERR_BOUNDS, tnr_map_read(&forged, &map));
    forged = view;
    forged.offset = 1;
    EXPECT(TNR_ERR_BOUNDS, tnr_map_read(&forged, &map));
    forged = view;
    forged.offset = -1;
    EXPECT(TNR_ERR_BOUNDS, tnr_map_read(&forged, &map));
    forged = view;
    forged.strides[0] = 2;
    EXPECT(TNR_ERR_BOUNDS, tnr_map_read(&forged, &map));
    forged = view;
    forged.strides[0] = INT64_MAX;
    EXPECT(TNR_ERR_OVERFLOW, tnr_map_read(&forged, &map));
    forged = view;
    forged.window_bytes = 64;
    EXPECT(TNR_ERR_BOUNDS, tnr_map_read(&forged, &map));
    forged = view;
    forged.window_begin = UINT64_MAX - 7;
    EXPECT(TNR_ERR_BOUNDS, tnr_map_read(&forged, &map));
    forged = view;
    forged.dtype = TNR_C64; /* 4 elements of 16 bytes */
    EXPECT(TNR_ERR_BOUNDS, tnr_map_read(&forged, &map));
    forged = view;
    forged.rank = TNR_MAX_RANK + 1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_map_read(&forged, &map));
    forged = view;
    forged.dtype = TNR_DTYPE_END;
    assert_int_not_equal(tnr_map_read(&forged, &map), TNR_OK);
    forged = view;
    forged.root = NULL;
    EXPECT(TNR_ERR_ARGUMENT, tnr_map_read(&forged, &map));
    forged = view;
    forged.generation += 1;
    EXPECT(TNR_ERR_STALE, tnr_map_read(&forged, &map));
    tnr_view_mut wrong = {view};
    wrong.view.strides[0] = 0;
    tnr_write_map write;
    EXPECT(TNR_ERR_OVERLAP, tnr_map_write(&wrong, &write)); /* SL-05 */
    tnr_tensor *same = tensor;
    release(&same); /* nothing above left a lease */
    close_domain(&heap);
}

static void host_pointer_needs_no_lease_and_null_is_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    const tnr_view_mut view = view_mut_of(tensor);
    tnr_write_map map;
    void *data = NULL;
    OK(tnr_map_write(&view, &map));
    OK(tnr_tensor_host_data_mut(tensor, &data));
    assert_ptr_equal(data, map.data);
    OK(tnr_unmap_write(&map));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_host_data(tensor, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_host_data_mut(tensor, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_host_data_mut(NULL, &data));
    release(&tensor);
    close_domain(&heap);
}

/* ---- Need ------------------------------------------------------------------------------------------------------------------ */

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
        cmocka_unit_test(adopted_buffer_keeps_its_pointer_and_is_released_once),
        cmocka_unit_test(adopt_and_export_give_the_same_pointer),
        cmocka_unit_test(adopted_empty_buffer_keeps_its_pointer_through_export),
        cmocka_unit_test(adopt_refuses_what_does_not_fit),
        cmocka_unit_test(zeros_are_zero_in_every_dtype_also_on_used_memory),
        cmocka_unit_test(from_row_major_transposes_the_memory_order),
        cmocka_unit_test(from_row_major_refuses_what_does_not_fit),
        cmocka_unit_test(duplicate_of_any_layout_is_compact),
        cmocka_unit_test(rank_zero_and_zero_extents_are_tensors),
        cmocka_unit_test(SL_02_a_offset_past_64_bits_is_overflow),
        cmocka_unit_test(SL_02_b_bytes_past_64_bits_are_overflow),
        cmocka_unit_test(SL_02_c_count_that_wraps_to_zero_is_overflow),
        cmocka_unit_test(SL_02_d_negative_extent_is_argument),
        cmocka_unit_test(SL_02_g_offsets_past_32_bits_are_exact),
        cmocka_unit_test(draft_becomes_a_tensor_with_the_same_bytes),
        cmocka_unit_test(abandoned_draft_goes_back_to_its_pool),
        cmocka_unit_test(draft_under_a_lease_is_busy),
        cmocka_unit_test(released_tensor_is_stale_everywhere),
        cmocka_unit_test(export_and_import_move_no_byte),
        cmocka_unit_test(export_from_a_pool_detaches_first),
        cmocka_unit_test(forged_exports_are_refused_unchanged),
        cmocka_unit_test(forgotten_heap_bytes_are_given_to_free),
        cmocka_unit_test(only_heap_bytes_can_be_forgotten),
        cmocka_unit_test(bytes_out_of_the_hosts_reach_are_residency_naming_the_call),
        cmocka_unit_test(mapped_bytes_have_no_plain_pointer),
        cmocka_unit_test(reclaimed_bytes_are_retained_by_the_pool),
        cmocka_unit_test(released_pool_tensor_is_the_next_one),
        cmocka_unit_test(describe_tells_domain_number_and_capacity),
        cmocka_unit_test(get_and_set_go_by_logical_index),
        cmocka_unit_test(tampered_views_are_refused),
        cmocka_unit_test(host_pointer_needs_no_lease_and_null_is_refused),
        cmocka_unit_test(PA_05_arena_of_the_stated_need_holds_just_that),
        cmocka_unit_test(need_of_nothing_and_of_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
