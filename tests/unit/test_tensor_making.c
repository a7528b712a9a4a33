/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors that are filled as they are made: zeros, one value, arrays of either order, other tensors' elements. */
#include "support/storage_test.h"

/* ---- Making ------------------------------------------------------------------------------------------------------ */

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

static void arrays_must_be_aligned_and_single_values_need_not(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    const tnr_domain_statistics before = statistics_of(heap);
    const tnr_ledger entries = ledger_of(heap);
    _Alignas(16) unsigned char buffer[64 + 16] = {0};
    for (int dtype = TNR_DTYPE_NONE + 1; dtype < TNR_DTYPE_END; dtype++) {
        const uint64_t bytes = 2 * tnr_dtype_size((tnr_dtype)dtype);
        for (size_t askew = 0; askew < 16; askew++) {
            const bool fits = askew % tnr_dtype_alignment((tnr_dtype)dtype) == 0;
            tnr_tensor *tensors[3] = {untouched(), untouched(), untouched()};
            for (size_t at = 0; at < sizeof(buffer); at++) {
                buffer[at] = (unsigned char)at;
            }
            EXPECT(fits ? TNR_OK : TNR_ERR_ARGUMENT, tnr_tensor_from_column_major(heap, (tnr_dtype)dtype, 1, SHAPE(2),
                                                                                  buffer + askew, bytes, &tensors[0]));
            EXPECT(fits ? TNR_OK : TNR_ERR_ARGUMENT,
                   tnr_tensor_from_row_major(heap, (tnr_dtype)dtype, 1, SHAPE(2), buffer + askew, bytes, &tensors[1]));
            if (fits) {
                release(&tensors[0]);
                release(&tensors[1]);
            } else {
                TEXT_HAS("aligned");
                assert_ptr_equal(tensors[0], untouched());
                assert_ptr_equal(tensors[1], untouched());
            }
            OK(tnr_tensor_full(heap, (tnr_dtype)dtype, 1, SHAPE(2), buffer + askew, &tensors[2]));
            const void *data;
            OK(tnr_tensor_host_data(tensors[2], &data));
            assert_memory_equal(data, buffer + askew, bytes / 2);
            assert_memory_equal((const char *)data + bytes / 2, buffer + askew, bytes / 2);
            release(&tensors[2]);
        }
    }
    tnr_tensor *tensor = untouched();
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_full(heap, TNR_DTYPE_NONE, 1, SHAPE(2), buffer, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_full(heap, TNR_DTYPE_END, 1, SHAPE(2), buffer, &tensor));
    assert_ptr_equal(tensor, untouched());
    const tnr_ledger after = ledger_of(heap);
    assert_int_equal(after.copies[TNR_COPY_FROM_ROW_MAJOR].count - entries.copies[TNR_COPY_FROM_ROW_MAJOR].count,
                     after.copies[TNR_COPY_FROM_COLUMN_MAJOR].count);
    assert_int_equal(statistics_of(heap).blocks, before.blocks + 1); /* the slab's chunk */
    close_domain(&heap);
}

static void from_column_major_copies_in_the_tensors_own_order(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *mapped = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
    const double columns[6] = {1, 2, 3, 4, 5, 6};
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_from_column_major(heap, TNR_F64, 2, SHAPE(2, 3), columns, 48, &tensor));
    assert_memory_equal(host_of(tensor), columns, 48);
    assert_ptr_not_equal(host_of(tensor), columns);
    assert_int_equal(ledger_of(heap).copies[TNR_COPY_FROM_COLUMN_MAJOR].count, 1);
    assert_int_equal(ledger_of(heap).copies[TNR_COPY_FROM_COLUMN_MAJOR].bytes, 48);
    release(&tensor);
    OK(tnr_tensor_from_column_major(mapped, TNR_F64, 2, SHAPE(2, 3), columns, 48, &tensor));
    const tnr_view view = view_of(tensor);
    double value = 0;
    OK(tnr_view_get(&view, SHAPE(1, 1), &value));
    assert_true(value == 4.0);
    release(&tensor);
    OK(tnr_tensor_from_column_major(heap, TNR_F64, 3, SHAPE(INT64_MAX, 0, 7), NULL, 0, &tensor));
    release(&tensor);
    tensor = untouched();
    EXPECT(TNR_ERR_SHAPE, tnr_tensor_from_column_major(heap, TNR_F64, 1, SHAPE(6), columns, 40, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_from_column_major(heap, TNR_F64, 1, SHAPE(6), NULL, 48, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_from_column_major(NULL, TNR_F64, 1, SHAPE(6), columns, 48, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_from_column_major(heap, TNR_F64, 1, SHAPE(6), columns, 48, NULL));
    EXPECT(TNR_ERR_OVERFLOW, tnr_tensor_from_column_major(heap, TNR_F64, 2, SHAPE(INT64_MAX, 2), columns, 48, &tensor));
    assert_ptr_equal(tensor, untouched());
    close_domain(&mapped);
    close_domain(&heap);
}

static void full_repeats_one_element_of_any_dtype(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    for (int dtype = TNR_DTYPE_NONE + 1; dtype < TNR_DTYPE_END; dtype++) {
        const size_t size = tnr_dtype_size((tnr_dtype)dtype);
        unsigned char element[16];
        tnr_tensor *tensor = NULL;
        const void *data = NULL;
        for (size_t at = 0; at < sizeof(element); at++) {
            element[at] = (unsigned char)(at + 1);
        }
        OK(tnr_tensor_full(heap, (tnr_dtype)dtype, 2, SHAPE(5, 7), element, &tensor));
        OK(tnr_tensor_host_data(tensor, &data));
        for (size_t at = 0; at < 35; at++) {
            assert_memory_equal((const unsigned char *)data + at * size, element, size);
        }
        release(&tensor);
        OK(tnr_tensor_full(heap, (tnr_dtype)dtype, 0, NULL, element, &tensor)); /* a scalar */
        OK(tnr_tensor_host_data(tensor, &data));
        assert_memory_equal(data, element, size);
        release(&tensor);
        OK(tnr_tensor_full(heap, (tnr_dtype)dtype, 1, SHAPE(0), element, &tensor));
        release(&tensor);
    }
    tnr_tensor *tensor = untouched();
    const double value = 1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_full(heap, TNR_F64, 1, SHAPE(3), NULL, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_full(NULL, TNR_F64, 1, SHAPE(3), &value, &tensor));
    EXPECT(TNR_ERR_OVERFLOW, tnr_tensor_full(heap, TNR_F64, 1, SHAPE(INT64_MAX), &value, &tensor));
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
    OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, TNR_END, -2}, &view)); /* columns 3 and 1 */
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
    OK(tnr_view_slice_axis(&column, 1, (tnr_range){2, 2, 1}, &column));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_are_zero_in_every_dtype_also_on_used_memory),
        cmocka_unit_test(from_row_major_transposes_the_memory_order),
        cmocka_unit_test(from_row_major_refuses_what_does_not_fit),
        cmocka_unit_test(arrays_must_be_aligned_and_single_values_need_not),
        cmocka_unit_test(from_column_major_copies_in_the_tensors_own_order),
        cmocka_unit_test(full_repeats_one_element_of_any_dtype),
        cmocka_unit_test(duplicate_of_any_layout_is_compact),
        cmocka_unit_test(rank_zero_and_zero_extents_are_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
