/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors on spans of an owner by their contract, and views through several of them at a time. */
#include "support/group_fixture.h"

/* ---- Spans ------------------------------------------------------------------------------------------------------- */

/* Ideas 2, 11, 15, 23, 25, 26. */
static void wrong_spans_have_their_own_errors_and_change_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_group *other = make_group(heap, heap);
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(8));
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    const tnr_slot of = slot_of(group, 0);
    tnr_slot slot = {77, 77, 77};
    const int64_t max = INT64_MAX;
    struct {
        tnr_status expected;
        tnr_dtype dtype;
        uint64_t begin;
        uint64_t count;
        int rank;
        int64_t shape[2];
        int64_t strides[2];
        int64_t offset;
    } cases[] = {
        {TNR_ERR_ARGUMENT, TNR_I64, 4, 8, 1, {1, 0}, {1, 0}, 0},             /* misaligned */
        {TNR_ERR_ARGUMENT, TNR_I32, 2, 4, 1, {1, 0}, {1, 0}, 0},             /* misaligned */
        {TNR_ERR_ARGUMENT, TNR_F64, 0, 12, 1, {1, 0}, {1, 0}, 0},            /* indivisible */
        {TNR_ERR_ARGUMENT, TNR_C64, 0, 24, 1, {1, 0}, {1, 0}, 0},            /* indivisible */
        {TNR_ERR_BOUNDS, TNR_F64, 64, 8, 1, {1, 0}, {1, 0}, 0},              /* past the owner */
        {TNR_ERR_BOUNDS, TNR_F64, 72, 0, 1, {0, 0}, {1, 0}, 0},              /* begins past the owner */
        {TNR_ERR_BOUNDS, TNR_F64, UINT64_MAX - 7, 16, 1, {1, 0}, {1, 0}, 0}, /* wraps */
        {TNR_ERR_BOUNDS, TNR_F64, 8, UINT64_MAX - 7, 1, {1, 0}, {1, 0}, 0},  /* wraps */
        {TNR_ERR_BOUNDS, TNR_F64, 0, 16, 1, {3, 0}, {1, 0}, 0},              /* layout leaves the span */
        {TNR_ERR_BOUNDS, TNR_F64, 0, 16, 1, {2, 0}, {1, 0}, 1},              /* by its offset */
        {TNR_ERR_BOUNDS, TNR_F64, 16, 16, 1, {1, 0}, {1, 0}, -1},            /* below the span, inside the owner */
        {TNR_ERR_BOUNDS, TNR_F64, 16, 32, 1, {3, 0}, {-1, 0}, 1},            /* below, by its stride: SL-10 */
        {TNR_ERR_BOUNDS, TNR_F64, 0, 16, 1, {0, 0}, {1, 0}, 3},              /* empty, beyond the end */
        {TNR_ERR_ARGUMENT, TNR_F64, 0, 16, -1, {1, 0}, {1, 0}, 0},           /* rank */
        {TNR_ERR_ARGUMENT, TNR_F64, 0, 16, TNR_MAX_RANK + 1, {1, 0}, {1, 0}, 0},
        {TNR_ERR_ARGUMENT, TNR_F64, 0, 16, 1, {-1, 0}, {1, 0}, 0},  /* extent */
        {TNR_ERR_OVERFLOW, TNR_F64, 0, 16, 2, {max, 3}, {1, 1}, 0}, /* count */
        {TNR_ERR_OVERFLOW, TNR_F64, 0, 16, 2, {3, 2}, {max, 1}, 0}, /* reach */
        {TNR_ERR_OVERFLOW, TNR_F64, 0, 16, 1, {2, 0}, {1, 0}, max}, /* offset */
    };
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        const tnr_status found =
            tnr_group_describe_span(group, of, cases[at].dtype, cases[at].begin, cases[at].count, cases[at].rank,
                                    cases[at].shape, cases[at].strides, cases[at].offset, &slot);
        if (found != cases[at].expected) {
            print_error("case %d: %s: %s\n", (int)at, tnr_status_name(found), tnr_last_error());
            fail();
        }
    }
    assert_int_not_equal(tnr_group_describe_span(group, of, TNR_DTYPE_NONE, 0, 8, 1, SHAPE(1), NULL, 0, &slot), TNR_OK);
    assert_int_not_equal(tnr_group_describe_span(group, of, TNR_DTYPE_END, 0, 8, 1, SHAPE(1), NULL, 0, &slot), TNR_OK);
    const tnr_slot beyond = {of.group, 5, 0};
    const tnr_slot never = {0, 0, 0};
    EXPECT(TNR_ERR_BOUNDS, tnr_group_describe_span(group, beyond, TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, &slot));
    EXPECT(TNR_ERR_FOREIGN, tnr_group_describe_span(group, never, TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, &slot));
    EXPECT(TNR_ERR_FOREIGN,
           tnr_group_describe_span(group, slot_of(other, 0), TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, &slot));
    assert_int_equal(slot.index, 77);
    check_counts(group, 1, 1);
    OK(tnr_group_take(group, of, &tensor));
    EXPECT(TNR_ERR_VACANT, tnr_group_describe_span(group, of, TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, &slot));
    release(&tensor);
    OK(tnr_group_release(&group));
    OK(tnr_group_release(&other));
    close_domain(&heap);
}

/* Ideas 2, 7, 40. */
static void spans_may_be_strided_reversed_empty_or_of_another_dtype(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(8));
    tnr_slot slots[5];
    tnr_view view;
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    const tnr_slot of = slot_of(group, 0);
    OK(tnr_group_describe_span(group, of, TNR_F64, 8, 24, 1, SHAPE(3), SHAPE(-1), 2, &slots[0])); /* 4, 3, 2 */
    OK(tnr_group_describe_span(group, of, TNR_F64, 0, 64, 2, SHAPE(2, 2), SHAPE(4, 2), 1, &slots[1]));
    OK(tnr_group_describe_span(group, of, TNR_F64, 64, 0, 1, SHAPE(0), NULL, 0, &slots[2])); /* at the very end */
    OK(tnr_group_describe_span(group, of, TNR_BOOL, 3, 5, 1, SHAPE(5), NULL, 0,
                               &slots[3])); /* bytes have no alignment */
    OK(tnr_group_describe_span(group, of, TNR_C64, 8, 48, 1, SHAPE(3), NULL, 0, &slots[4])); /* 8 is enough for c64 */
    double value = 0;
    OK(tnr_group_view(group, slots[0], &view));
    OK(tnr_view_get(&view, SHAPE(0), &value));
    assert_true(value == 4.0);
    OK(tnr_view_get(&view, SHAPE(2), &value));
    assert_true(value == 2.0);
    OK(tnr_group_view(group, slots[1], &view));
    OK(tnr_view_get(&view, SHAPE(1, 1), &value));
    assert_true(value == 8.0);
    OK(tnr_group_view(group, slots[2], &view));
    int64_t count = 9;
    OK(tnr_view_count(&view, &count));
    assert_int_equal(count, 0);
    tnr_c64 number;
    OK(tnr_group_view(group, slots[4], &view));
    OK(tnr_view_get(&view, SHAPE(2), &number));
    assert_true(number.re == 6.0 && number.im == 7.0);
    const tnr_descriptor d = descriptor_of(group, 1);
    assert_int_equal(d.owner, 0);
    assert_int_equal(d.byte_begin, 8);
    assert_int_equal(d.byte_count, 24);
    assert_int_equal(d.strides[0], -1);
    assert_int_equal(d.offset, 2);
    check_counts(group, 1, 6);
    OK(tnr_group_describe_span(group, of, TNR_F64, 0, 8, 0, NULL, NULL, 0, NULL)); /* the slot may be NULL */
    check_counts(group, 1, 7);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* Idea 4; SL-05. */
static void span_with_coinciding_elements_is_for_reading(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    tnr_slot slot;
    tnr_view view;
    tnr_view_mut view_mut;
    bool granted = true;
    OK(tnr_group_describe_span(group, slot_of(group, 0), TNR_F64, 0, 24, 1, SHAPE(3), SHAPE(0), 1, &slot));
    OK(tnr_group_view(group, slot, &view));
    double value = 0;
    OK(tnr_view_get(&view, SHAPE(2), &value));
    assert_true(value == 2.0);
    EXPECT(TNR_ERR_OVERLAP, tnr_group_view_mut(group, slot, &view_mut));
    EXPECT(TNR_ERR_OVERLAP, tnr_group_split(group, &slot, 1, &granted, &view_mut));
    assert_true(granted);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* Idea 3: several descriptors of one owner, each touching its own bytes. */
static void writing_through_one_descriptor_touches_only_its_bytes(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    tnr_slot middle;
    tnr_view_mut view_mut;
    tnr_view view;
    OK(tnr_group_describe_span(group, slot_of(group, 0), TNR_F64, 8, 8, 1, SHAPE(1), NULL, 0, &middle));
    OK(tnr_group_view_mut(group, middle, &view_mut));
    const double twenty = 20;
    OK(tnr_view_set(&view_mut, SHAPE(0), &twenty));
    OK(tnr_group_view(group, slot_of(group, 0), &view));
    double values[3];
    for (int64_t at = 0; at < 3; at++) {
        OK(tnr_view_get(&view, &at, &values[at]));
    }
    assert_true(values[0] == 1.0 && values[1] == 20.0 && values[2] == 3.0);
    /* One owner, one lease. */
    tnr_write_map write;
    tnr_read_map read;
    OK(tnr_map_write(&view_mut, &write));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view, &read));
    OK(tnr_unmap_write(&write));
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* ---- Splits ------------------------------------------------------------------------------------------------------ */

/* Ideas 5, 7. */
static void split_of_none_one_and_three_permuted_slots(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(8));
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    tnr_slot slots[4];
    const tnr_slot of = slot_of(group, 0);
    OK(tnr_group_describe_span(group, of, TNR_F64, 0, 16, 1, SHAPE(2), NULL, 0, &slots[0]));
    OK(tnr_group_describe_span(group, of, TNR_F64, 16, 24, 1, SHAPE(3), SHAPE(-1), 2, &slots[1]));
    OK(tnr_group_describe_span(group, of, TNR_F64, 40, 24, 1, SHAPE(3), NULL, 0, &slots[2]));
    OK(tnr_group_describe_span(group, of, TNR_F64, 0, 64, 1, SHAPE(0), NULL, 4, &slots[3])); /* empty: apart from all */
    bool granted = false;
    OK(tnr_group_split(group, NULL, 0, &granted, NULL));
    assert_true(granted);
    tnr_view_mut views[4];
    granted = false;
    OK(tnr_group_split(group, &slots[1], 1, &granted, views));
    assert_true(granted);
    const tnr_slot permuted[4] = {slots[2], slots[0], slots[3], slots[1]};
    granted = false;
    OK(tnr_group_split(group, permuted, 4, &granted, views));
    assert_true(granted);
    tnr_write_map maps[4];
    for (int at = 0; at < 4; at++) {
        OK(tnr_map_write(&views[at], &maps[at]));
    }
    assert_true(*(double *)maps[0].data == 6.0);
    assert_true(*(double *)maps[1].data == 1.0);
    assert_null(maps[2].data);
    assert_true(*(double *)maps[3].data == 5.0); /* reversed: its first element is the last of the span */
    for (int at = 0; at < 4; at++) {
        OK(tnr_unmap_write(&maps[at]));
    }
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* Idea 6. */
static void split_refuses_overlap_and_repeats(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    tnr_slot part;
    bool granted = true;
    tnr_view_mut views[3];
    tnr_view_mut before[3];
    memset(views, 0x33, sizeof(views));
    memcpy(before, views, sizeof(views));
    OK(tnr_group_describe_span(group, slot_of(group, 0), TNR_F64, 16, 8, 1, SHAPE(1), NULL, 0, &part));
    const tnr_slot overlapping[3] = {slot_of(group, 1), slot_of(group, 0), part};
    OK(tnr_group_split(group, overlapping, 3, &granted, views)); /* an answer, not an error */
    assert_false(granted);
    const tnr_slot repeated[3] = {slot_of(group, 0), slot_of(group, 1), slot_of(group, 0)};
    granted = true;
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_split(group, repeated, 3, &granted, views));
    assert_true(granted);
    assert_memory_equal(views, before, sizeof(views));
    /* Still readable; different owners split although their offsets are equal. */
    tnr_view view;
    OK(tnr_group_view(group, part, &view));
    const tnr_slot apart[2] = {slot_of(group, 0), slot_of(group, 1)};
    granted = false;
    OK(tnr_group_split(group, apart, 2, &granted, views));
    assert_true(granted);
    tnr_slot many[TNR_MAX_PARTS + 1];
    tnr_view_mut room[TNR_MAX_PARTS + 1];
    for (int at = 0; at <= TNR_MAX_PARTS; at++) {
        many[at] = apart[0];
    }
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_split(group, many, TNR_MAX_PARTS + 1, &granted, room));
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_spans_have_their_own_errors_and_change_nothing),
        cmocka_unit_test(spans_may_be_strided_reversed_empty_or_of_another_dtype),
        cmocka_unit_test(span_with_coinciding_elements_is_for_reading),
        cmocka_unit_test(writing_through_one_descriptor_touches_only_its_bytes),
        cmocka_unit_test(split_of_none_one_and_three_permuted_slots),
        cmocka_unit_test(split_refuses_overlap_and_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
