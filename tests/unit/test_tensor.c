/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners by their contract: how tensors are made, described and touched, and every error on the way. */
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

/* ---- Adopting ---------------------------------------------------------------------------------------------------- */

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

/* ---- Asking and touching ----------------------------------------------------------------------------------------- */

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
    OK(tnr_view_mut_slice_axis(&view_mut, 1, (tnr_range){0, TNR_END, -1}, &view_mut));
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

/* Idea 60: a text names its operation, and is the last failure's of this thread. */
static void error_texts_name_the_operation(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    tnr_tensor *made = NULL;
    tnr_draft *draft = NULL;
    tnr_group *group = NULL;
    tnr_tensor_info info;
    tnr_exported exported;
    tnr_view view;
    tnr_need need;
    const void *data;
    double value = 0;
    const double rows[4] = {0};
    tnr_slot slot = {0, 0, 0};
    OK(tnr_group_create(heap, &group));
#define NAMES(operation, call)                \
    do {                                      \
        assert_int_not_equal((call), TNR_OK); \
        TEXT_HAS(operation);                  \
    } while (0)
    NAMES("tensor_zeros", tnr_tensor_zeros(heap, TNR_F64, 1, SHAPE(-1), &made));
    NAMES("tensor_full", tnr_tensor_full(heap, TNR_F64, 1, SHAPE(-1), &value, &made));
    NAMES("tensor_adopt", tnr_tensor_adopt(heap, TNR_F64, 1, SHAPE(4), &value, 8, NULL, NULL, &made));
    NAMES("from_row_major", tnr_tensor_from_row_major(heap, TNR_F64, 1, SHAPE(4), rows, 8, &made));
    NAMES("from_column_major", tnr_tensor_from_column_major(heap, TNR_F64, 1, SHAPE(4), rows, 8, &made));
    NAMES("draft_begin", tnr_draft_begin(heap, TNR_F64, 1, SHAPE(-1), &draft));
    NAMES("tensor_need", tnr_tensor_need(TNR_F64, 1, SHAPE(-1), 1, &need));
    NAMES("tensor_region", tnr_tensor_region(tensor, 1, SHAPE(5), SHAPE(1), 0, &view));
    view = view_of(tensor);
    NAMES("view_get", tnr_view_get(&view, SHAPE(4), &value));
    NAMES("group_take", tnr_group_take(group, slot, &made));
    NAMES("group_view", tnr_group_view(group, slot, &view));
    NAMES("group_slot", tnr_group_slot(group, 0, &slot));
    NAMES("group_describe_span", tnr_group_describe_span(group, slot, TNR_F64, 0, 8, 0, NULL, NULL, 0, NULL));
    view = view_of(tensor);
    release(&tensor);
    tnr_tensor *gone = view.root;
    NAMES("tensor_release", tnr_tensor_release(&gone));
    NAMES("tensor_export", tnr_tensor_export(&gone, &exported));
    NAMES("tensor_describe", tnr_tensor_describe(gone, &info));
    NAMES("tensor_host_data", tnr_tensor_host_data(gone, &data));
    NAMES("tensor_duplicate", tnr_tensor_duplicate(&view, heap, &made));
    NAMES("group_append", tnr_group_append(group, &gone, NULL));
#undef NAMES
    const char *const last = tnr_last_error();
    OK(tnr_group_release(&group));
    assert_ptr_equal(tnr_last_error(), last); /* success does not clear it */
    TEXT_HAS("group_append");
    close_domain(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adopted_buffer_keeps_its_pointer_and_is_released_once),
        cmocka_unit_test(adopt_and_export_give_the_same_pointer),
        cmocka_unit_test(adopted_empty_buffer_keeps_its_pointer_through_export),
        cmocka_unit_test(adopt_refuses_what_does_not_fit),
        cmocka_unit_test(describe_tells_domain_number_and_capacity),
        cmocka_unit_test(get_and_set_go_by_logical_index),
        cmocka_unit_test(tampered_views_are_refused),
        cmocka_unit_test(host_pointer_needs_no_lease_and_null_is_refused),
        cmocka_unit_test(error_texts_name_the_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
