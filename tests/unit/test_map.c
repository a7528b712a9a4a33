/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapped and unreachable memory by their contract: exactly one map and one unmap per mapping whatever the element count,
 * what a failing one leaves behind, and what the host is told when it can never get there.
 */
#include "support/storage_test.h"

typedef struct fixture {
    tnr_domain *heap;
    test_memory memory;
    tnr_domain *domain;
} fixture;

static void start(fixture *f, tnr_host_access access)
{
    memset(f, 0, sizeof(*f));
    f->heap = make_heap();
    f->domain = make_program_domain(f->heap, &f->memory, access);
}

static void finish(fixture *f)
{
    close_domain(&f->domain);
    close_domain(&f->heap);
    assert_int_equal(f->memory.maps, f->memory.unmaps);
    assert_int_equal(f->memory.allocates, f->memory.releases);
}

#define EXPECT_CALLS(f, count_maps, count_unmaps)             \
    do {                                                      \
        assert_int_equal((f)->memory.maps, (count_maps));     \
        assert_int_equal((f)->memory.unmaps, (count_unmaps)); \
        (f)->memory.maps -= (count_maps);                     \
        (f)->memory.unmaps -= (count_unmaps);                 \
    } while (0)

/* Ideas 17, 21. */
static void one_call_each_whatever_the_element_count(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    const int64_t counts[] = {1, 2, 4096, 100000};
    for (size_t at = 0; at < sizeof(counts) / sizeof(counts[0]); at++) {
        tnr_tensor *tensor = NULL;
        OK(tnr_tensor_zeros(f.domain, TNR_F64, 1, &counts[at], &tensor));
        EXPECT_CALLS(&f, 1, 1);
        assert_int_equal(f.memory.last_mode, TNR_MAP_WRITE);
        const tnr_view view = view_of(tensor);
        const tnr_view_mut view_mut = view_mut_of(tensor);
        tnr_read_map read;
        tnr_write_map write;
        OK(tnr_map_write(&view_mut, &write));
        EXPECT_CALLS(&f, 1, 0);
        assert_int_equal(f.memory.last_mode, TNR_MAP_WRITE);
        ((double *)write.data)[counts[at] - 1] = 7;
        OK(tnr_unmap_write(&write));
        EXPECT_CALLS(&f, 0, 1);
        OK(tnr_map_read(&view, &read));
        EXPECT_CALLS(&f, 1, 0);
        assert_int_equal(f.memory.last_mode, TNR_MAP_READ);
        assert_true(((const double *)read.data)[counts[at] - 1] == 7.0);
        OK(tnr_unmap_read(&read));
        EXPECT_CALLS(&f, 0, 1);
        release(&tensor);
        EXPECT_CALLS(&f, 0, 0);
    }
    finish(&f);
}

/* Ideas 3, 5: only a mapping maps. */
static void looking_and_moving_map_nothing(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = make_counting(f.domain, 2, SHAPE(4, 6));
    EXPECT_CALLS(&f, 2, 2);
    tnr_view view = view_of(tensor);
    tnr_view_mut parts[2] = {view_mut_of(tensor), view_mut_of(tensor)};
    bool granted = false;
    tnr_tensor_info info;
    tnr_group *group = NULL;
    tnr_slot slot;
    tnr_descriptor descriptor;
    OK(tnr_view_permute(&view, NULL, &view));
    OK(tnr_view_mut_slice_axis(&parts[0], 1, (tnr_range){0, 3, 1}, &parts[0]));
    OK(tnr_view_mut_slice_axis(&parts[1], 1, (tnr_range){3, 6, 1}, &parts[1]));
    OK(tnr_view_mut_split(parts, 2, &granted));
    assert_true(granted);
    OK(tnr_tensor_describe(tensor, &info));
    OK(tnr_group_from_tensors(f.heap, &tensor, 1, &group));
    OK(tnr_group_slot(group, 0, &slot));
    OK(tnr_group_describe(group, slot, &descriptor));
    OK(tnr_group_view(group, slot, &view));
    OK(tnr_group_split(group, &slot, 1, &granted, parts));
    OK(tnr_group_take(group, slot, &tensor));
    OK(tnr_group_release(&group));
    release(&tensor);
    EXPECT_CALLS(&f, 0, 0);
    finish(&f);
}

static void every_copy_maps_once_at_each_end(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    const int32_t rows[6] = {1, 2, 3, 4, 5, 6};
    tnr_tensor *tensor = NULL;
    tnr_tensor *copy = NULL;
    OK(tnr_tensor_from_row_major(f.domain, TNR_I32, 2, SHAPE(2, 3), rows, 24, &tensor));
    EXPECT_CALLS(&f, 1, 1);
    tnr_view view = view_of(tensor);
    OK(tnr_view_permute(&view, NULL, &view));
    OK(tnr_tensor_duplicate(&view, f.heap, &copy));
    EXPECT_CALLS(&f, 1, 1);
    assert_int_equal(f.memory.last_mode, TNR_MAP_READ);
    const void *data;
    OK(tnr_tensor_host_data(copy, &data));
    const int32_t expected[6] = {1, 2, 3, 4, 5, 6};
    assert_memory_equal(data, expected, 24);
    release(&copy);
    OK(tnr_tensor_duplicate(&view, f.domain, &copy)); /* both ends mapped: two owners, one mapping each */
    assert_int_equal(f.memory.maps, 2);
    f.memory.maps = f.memory.unmaps = 0;
    release(&copy);
    int32_t value = 0;
    OK(tnr_view_get(&view, SHAPE(2, 1), &value));
    assert_int_equal(value, 6);
    EXPECT_CALLS(&f, 1, 1);
    release(&tensor);
    finish(&f);
}

/* Elements that are not written keep their values. Ideas 18, 19, 53. */
static void writing_through_a_strided_view_keeps_the_rest(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = make_counting(f.domain, 1, SHAPE(6));
    tnr_view_mut view = view_mut_of(tensor);
    tnr_write_map write;
    tnr_read_map read;
    OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, TNR_END, -2}, &view)); /* elements 5, 3, 1 */
    OK(tnr_map_write(&view, &write));
    tnr_cursor cursor = tnr_cursor_begin(&view.view);
    for (; cursor.valid; tnr_cursor_next(&cursor)) {
        ((double *)write.data)[cursor.offset] = 10.0 * (double)(cursor.position + 1);
    }
    OK(tnr_unmap_write(&write));
    const tnr_view whole = view_of(tensor);
    OK(tnr_map_read(&whole, &read));
    const double expected[6] = {1, 30, 3, 20, 5, 10};
    assert_memory_equal(read.data, expected, sizeof(expected));
    OK(tnr_unmap_read(&read));
    release(&tensor);
    f.memory.maps = f.memory.unmaps = 0;
    finish(&f);
}

static void refused_mappings_call_nothing(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = make_counting(f.domain, 1, SHAPE(6));
    EXPECT_CALLS(&f, 2, 2);
    const tnr_view view = view_of(tensor);
    const tnr_view_mut view_mut = view_mut_of(tensor);
    tnr_read_map read;
    tnr_write_map write;
    tnr_view forged = view;
    forged.offset = 3; /* idea 15 */
    EXPECT(TNR_ERR_BOUNDS, tnr_map_read(&forged, &read));
    tnr_view_mut overlapping = view_mut;
    overlapping.view.strides[0] = 0;
    EXPECT(TNR_ERR_OVERLAP, tnr_map_write(&overlapping, &write));
    double value = 0;
    EXPECT(TNR_ERR_BOUNDS, tnr_view_get(&view, SHAPE(6), &value));
    EXPECT_CALLS(&f, 0, 0);
    OK(tnr_map_write(&view_mut, &write));
    EXPECT_CALLS(&f, 1, 0);
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view, &read));
    EXPECT_CALLS(&f, 0, 0);
    OK(tnr_unmap_write(&write));
    EXPECT_CALLS(&f, 0, 1);
    release(&tensor);
    EXPECT(TNR_ERR_STALE, tnr_map_read(&view, &read));
    EXPECT_CALLS(&f, 0, 0);
    finish(&f);
}

static void empty_tensors_are_never_mapped(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = NULL;
    tnr_read_map read;
    OK(tnr_tensor_zeros(f.domain, TNR_F64, 2, SHAPE(0, 5), &tensor));
    const tnr_view view = view_of(tensor);
    OK(tnr_map_read(&view, &read));
    assert_null(read.data);
    OK(tnr_unmap_read(&read));
    EXPECT_CALLS(&f, 0, 0);
    release(&tensor);
    /* An empty view of a tensor with elements has no first element either. */
    tensor = make_counting(f.domain, 1, SHAPE(4));
    tnr_view none = view_of(tensor);
    OK(tnr_view_slice_axis(&none, 0, (tnr_range){4, 4, 1}, &none));
    OK(tnr_map_read(&none, &read));
    assert_null(read.data);
    OK(tnr_unmap_read(&read));
    release(&tensor);
    finish(&f);
}

/* Idea 14: a failing map leaves the tensor as it was, lease included. */
static void failing_map_is_the_answer_and_leaves_no_lease(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = make_counting(f.domain, 1, SHAPE(4));
    EXPECT_CALLS(&f, 2, 2);
    const tnr_view view = view_of(tensor);
    const tnr_view_mut view_mut = view_mut_of(tensor);
    tnr_read_map read;
    tnr_write_map write;
    memset(&read, 0x22, sizeof(read));
    memset(&write, 0x22, sizeof(write));
    const tnr_read_map read_before = read;
    const tnr_write_map write_before = write;
    f.memory.fail_map = 1;
    EXPECT(TNR_ERR_IO, tnr_map_read(&view, &read));
    TEXT_HAS("map fails on demand");
    f.memory.fail_map = 1;
    EXPECT(TNR_ERR_IO, tnr_map_write(&view_mut, &write));
    assert_memory_equal(&read, &read_before, sizeof(read));
    assert_memory_equal(&write, &write_before, sizeof(write));
    EXPECT_CALLS(&f, 0, 0); /* what failed is not unmapped */
    f.memory.map_to_null = true;
    EXPECT(TNR_ERR_BACKEND, tnr_map_read(&view, &read));
    f.memory.map_to_null = false;
    f.memory.maps = 0;
    OK(tnr_map_write(&view_mut, &write));
    OK(tnr_unmap_write(&write));
    double value = 0;
    OK(tnr_view_get(&view, SHAPE(3), &value));
    assert_true(value == 4.0);
    release(&tensor);
    finish(&f);
}

static void failing_unmap_is_the_answer_and_ends_the_lease(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = make_counting(f.domain, 1, SHAPE(4));
    const tnr_view view = view_of(tensor);
    const tnr_view_mut view_mut = view_mut_of(tensor);
    tnr_read_map read;
    tnr_write_map write;
    double value = 9;
    OK(tnr_map_write(&view_mut, &write));
    f.memory.fail_unmap = 1;
    EXPECT(TNR_ERR_IO, tnr_unmap_write(&write));
    TEXT_HAS("unmap fails on demand");
    assert_null(write.data); /* it is over all the same */
    OK(tnr_unmap_write(&write));
    OK(tnr_map_read(&view, &read));
    f.memory.fail_unmap = 1;
    EXPECT(TNR_ERR_IO, tnr_unmap_read(&read));
    OK(tnr_unmap_read(&read));
    f.memory.fail_unmap = 1;
    EXPECT(TNR_ERR_IO, tnr_view_set(&view_mut, SHAPE(0), &value));
    f.memory.fail_unmap = 1;
    EXPECT(TNR_ERR_IO, tnr_view_get(&view, SHAPE(0), &value));
    OK(tnr_view_set(&view_mut, SHAPE(0), &value));
    release(&tensor);
    finish(&f);
}

/* Idea 66: the tensor does not come to be, its bytes go back, and nothing is counted. */
static void failing_map_or_unmap_while_making_a_tensor(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        fixture f;
        start(&f, TNR_ACCESS_MAPPED);
        tnr_tensor *tensor = untouched();
        const double values[2] = {1, 2};
        const tnr_domain_statistics home = statistics_of(f.heap);
        const tnr_ledger before = ledger_of(f.domain);
        uint64_t *countdown = which == 0 ? &f.memory.fail_map : &f.memory.fail_unmap;
        *countdown = 1;
        EXPECT(TNR_ERR_IO, tnr_tensor_zeros(f.domain, TNR_F64, 1, SHAPE(2), &tensor));
        *countdown = 1;
        EXPECT(TNR_ERR_IO, tnr_tensor_from_row_major(f.domain, TNR_F64, 1, SHAPE(2), values, 16, &tensor));
        assert_ptr_equal(tensor, untouched());
        const tnr_ledger after = ledger_of(f.domain);
        assert_memory_equal(&before, &after, sizeof(before));
        assert_int_equal(statistics_of(f.domain).blocks, 0);
        SAME_STATISTICS(f.heap, &home); /* not even a chunk of handles */
        finish(&f);
    }
}

static void pool_over_mapped_memory_maps_through_its_parent(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_MAPPED);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(f.domain, NULL, &pool));
    assert_int_equal(tnr_domain_access(pool), TNR_ACCESS_MAPPED);
    for (int round = 0; round < 3; round++) {
        tnr_tensor *tensor = make_counting(pool, 1, SHAPE(10));
        EXPECT_CALLS(&f, 2, 2);
        const tnr_view view = view_of(tensor);
        tnr_read_map read;
        OK(tnr_map_read(&view, &read));
        assert_true(((const double *)read.data)[9] == 10.0);
        OK(tnr_unmap_read(&read));
        EXPECT_CALLS(&f, 1, 1);
        release(&tensor);
        assert_int_equal(f.memory.allocates, 1); /* the buffer waits in the pool */
    }
    close_domain(&pool);
    finish(&f);
}

/* Ideas 20, 49, 56. */
static void unreachable_bytes_are_residency_naming_the_call(void **state)
{
    (void)state;
    fixture f;
    start(&f, TNR_ACCESS_NONE);
    tnr_draft *draft = NULL;
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    tnr_read_map read;
    tnr_write_map write;
    OK(tnr_draft_begin(f.domain, TNR_F32, 1, SHAPE(8), &draft));
    OK(tnr_draft_view(draft, &view));
    EXPECT(TNR_ERR_RESIDENCY, tnr_map_write(&view, &write));
    OK(tnr_draft_commit(&draft, &tensor));
    view = view_mut_of(tensor);
    EXPECT(TNR_ERR_RESIDENCY, tnr_map_read(&view.view, &read));
    TEXT_HAS("download");
    TEXT_HAS("test");
    EXPECT(TNR_ERR_RESIDENCY, tnr_map_write(&view, &write));
    TEXT_HAS("download");
    tnr_view_mut parts[2] = {view, view}; /* idea 50: metadata splits as anywhere, bytes stay out of reach */
    bool granted = false;
    OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, 4, 1}, &parts[0]));
    OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){4, 8, 1}, &parts[1]));
    OK(tnr_view_mut_split(parts, 2, &granted));
    assert_true(granted);
    EXPECT(TNR_ERR_RESIDENCY, tnr_map_write(&parts[0], &write));
    release(&tensor); /* refusals left no lease */
    EXPECT_CALLS(&f, 0, 0);
    finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call_each_whatever_the_element_count),
        cmocka_unit_test(looking_and_moving_map_nothing),
        cmocka_unit_test(every_copy_maps_once_at_each_end),
        cmocka_unit_test(writing_through_a_strided_view_keeps_the_rest),
        cmocka_unit_test(refused_mappings_call_nothing),
        cmocka_unit_test(empty_tensors_are_never_mapped),
        cmocka_unit_test(failing_map_is_the_answer_and_leaves_no_lease),
        cmocka_unit_test(failing_unmap_is_the_answer_and_ends_the_lease),
        cmocka_unit_test(failing_map_or_unmap_while_making_a_tensor),
        cmocka_unit_test(pool_over_mapped_memory_maps_through_its_parent),
        cmocka_unit_test(unreachable_bytes_are_residency_naming_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
