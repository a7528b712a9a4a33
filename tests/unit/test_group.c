/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: every sentence of group.h, and the rows of SL-08. */
#include "support/storage_test.h"

static tnr_slot slot_of(const tnr_group *group, uint32_t index)
{
    tnr_slot slot = {0, 0};
    OK(tnr_group_slot(group, index, &slot));
    return slot;
}

static void check_counts(const tnr_group *group, uint32_t owners, uint32_t descriptors)
{
    uint32_t found[2] = {99, 99};
    OK(tnr_group_counts(group, &found[0], &found[1]));
    assert_int_equal(found[0], owners);
    assert_int_equal(found[1], descriptors);
    OK(tnr_group_check(group));
}

static tnr_descriptor descriptor_of(const tnr_group *group, uint32_t index)
{
    tnr_descriptor descriptor;
    OK(tnr_group_describe(group, slot_of(group, index), &descriptor));
    return descriptor;
}

/* Group of X = [1, 2, 3] and Y = [4, 5]. */
static tnr_group *make_group(tnr_domain *home, tnr_domain *domain)
{
    tnr_group *group = NULL;
    tnr_tensor *tensors[2] = {make_counting(domain, 1, SHAPE(3)), make_counting(domain, 1, SHAPE(2))};
    void *data;
    OK(tnr_tensor_host_data_mut(tensors[1], &data));
    ((double *)data)[0] = 4;
    ((double *)data)[1] = 5;
    OK(tnr_group_from_tensors(home, tensors, 2, &group));
    assert_null(tensors[0]);
    assert_null(tensors[1]);
    return group;
}

/* ---- Creating and entering ------------------------------------------------------------------------------------------------- */

/* Idea 1. */
static void fresh_group_is_empty(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_slot slot = {7, 7};
    OK(tnr_group_create(heap, &group));
    check_counts(group, 0, 0);
    EXPECT(TNR_ERR_BOUNDS, tnr_group_slot(group, 0, &slot));
    assert_int_equal(slot.index, 7);
    OK(tnr_group_release(&group));
    assert_null(group);
    OK(tnr_group_release(&group));
    OK(tnr_group_release(NULL));
    OK(tnr_group_from_tensors(heap, NULL, 0, &group));
    check_counts(group, 0, 0);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    tnr_group *none = NULL;
    tnr_group *made = untouched();
    tnr_tensor *tensor = NULL;
    tnr_slot slot = slot_of(group, 0);
    tnr_descriptor descriptor;
    tnr_view view;
    tnr_view_mut view_mut;
    bool granted;
    uint32_t first;
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_create(NULL, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_create(heap, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_from_tensors(NULL, &tensor, 1, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_from_tensors(heap, NULL, 1, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_from_tensors(heap, &tensor, 1, &made)); /* a NULL tensor */
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_from_tensors(heap, &tensor, 1, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_append(NULL, &tensor, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_append(group, NULL, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_append(group, &tensor, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_describe_span(NULL, slot, TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_describe_span(group, slot, TNR_F64, 0, 8, 1, NULL, NULL, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_slot(NULL, 0, &slot));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_slot(group, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_counts(NULL, &first, &first));
    OK(tnr_group_counts(group, NULL, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_describe(group, slot, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_describe(NULL, slot, &descriptor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_view(group, slot, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_view(NULL, slot, &view));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_view_mut(group, slot, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_view_mut(NULL, slot, &view_mut));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_split(NULL, &slot, 1, &granted, &view_mut));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_split(group, NULL, 1, &granted, &view_mut));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_split(group, &slot, 1, NULL, &view_mut));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_split(group, &slot, 1, &granted, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_take(group, slot, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_take(NULL, slot, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_copy_out(group, slot, NULL, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_copy_out(group, slot, heap, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_copy_out(NULL, slot, heap, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_merge(NULL, &group, &first));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_merge(group, NULL, &first));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_merge(group, &none, &first));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_check(NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_need(1, 1, NULL));
    assert_ptr_equal(made, untouched());
    check_counts(group, 2, 2);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* Ideas 2, 13. */
static void entering_copies_nothing_and_publishes_the_tensor(void **state)
{
    (void)state;
    void *region;
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    tnr_tensor *tensor = make_counting(arena, 2, SHAPE(2, 3));
    const double *data = host_of(tensor);
    const tnr_view old = view_of(tensor);
    tnr_tensor *same = tensor;
    tnr_tensor_info info;
    OK(tnr_tensor_describe(tensor, &info));
    tnr_group *group = NULL;
    tnr_slot slot;
    const tnr_ledger before = ledger_of(arena);
    OK(tnr_group_create(heap, &group));
    OK(tnr_group_append(group, &tensor, &slot));
    assert_null(tensor);
    const tnr_ledger after = ledger_of(arena);
    assert_memory_equal(&before, &after, sizeof(before));
    tnr_descriptor d;
    OK(tnr_group_describe(group, slot, &d));
    assert_false(d.vacant);
    assert_int_equal(d.owner, 0);
    assert_true(tnr_domain_id_equal(d.domain, info.domain));
    assert_int_equal(d.allocation, info.allocation);
    assert_int_equal(d.placement.kind, TNR_MEMORY_HOST);
    assert_int_equal(d.dtype, TNR_F64);
    assert_int_equal(d.rank, 2);
    assert_int_equal(d.shape[0], 2);
    assert_int_equal(d.shape[1], 3);
    assert_int_equal(d.strides[0], 1);
    assert_int_equal(d.strides[1], 2);
    assert_int_equal(d.offset, 0);
    assert_int_equal(d.byte_begin, 0);
    assert_int_equal(d.byte_count, 48);
    tnr_view view;
    tnr_read_map map;
    OK(tnr_group_view(group, slot, &view));
    OK(tnr_map_read(&view, &map));
    assert_ptr_equal(map.data, data);
    OK(tnr_unmap_read(&map));
    EXPECT(TNR_ERR_STALE, tnr_map_read(&old, &map));
    /* A pointer that was kept is no way in. */
    EXPECT(TNR_ERR_STALE, tnr_tensor_describe(same, &info));
    EXPECT(TNR_ERR_STALE, tnr_tensor_release(&same));
    EXPECT(TNR_ERR_STALE, tnr_tensor_view(same, &view));
    tnr_group *other = NULL;
    EXPECT(TNR_ERR_STALE, tnr_group_from_tensors(heap, &same, 1, &other));
    check_counts(group, 1, 1);
    OK(tnr_group_release(&group));
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

/* Adopted memory gets a domain and a number when it enters. */
static void adopted_owner_gets_the_groups_home_and_a_number(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    double buffers[2][2] = {{1, 2}, {3, 4}};
    tnr_tensor *tensors[2] = {NULL, NULL};
    tnr_group *group = NULL;
    for (int index = 0; index < 2; index++) {
        OK(tnr_tensor_adopt(heap, TNR_F64, 1, SHAPE(2), buffers[index], 16, NULL, NULL, &tensors[index]));
    }
    OK(tnr_group_from_tensors(heap, tensors, 2, &group));
    const tnr_descriptor first = descriptor_of(group, 0);
    const tnr_descriptor second = descriptor_of(group, 1);
    assert_true(tnr_domain_id_equal(first.domain, tnr_domain_identity(heap)));
    assert_int_not_equal(first.allocation, 0);
    assert_int_not_equal(second.allocation, 0);
    assert_int_not_equal(first.allocation, second.allocation); /* idea 27 */
    assert_int_equal(first.placement.kind, TNR_MEMORY_HOST);
    OK(tnr_group_take(group, slot_of(group, 0), &tensors[0]));
    tnr_exported exported;
    OK(tnr_tensor_export(&tensors[0], &exported));
    assert_ptr_equal(exported.data, buffers[0]);
    OK(tnr_exported_free(&exported));
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void from_tensors_is_all_or_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensors[4];
    tnr_tensor *before[4];
    for (int64_t index = 0; index < 4; index++) {
        tensors[index] = make_counting(heap, 1, SHAPE(index + 1));
    }
    tnr_group *group = untouched();
    const tnr_domain_statistics statistics = statistics_of(heap);
    /* The last one is leased. */
    const tnr_view view = view_of(tensors[3]);
    const tnr_view first = view_of(tensors[0]);
    tnr_read_map map;
    memcpy(before, tensors, sizeof(tensors));
    OK(tnr_map_read(&view, &map));
    EXPECT(TNR_ERR_BUSY, tnr_group_from_tensors(heap, tensors, 4, &group));
    assert_memory_equal(before, tensors, sizeof(tensors));
    OK(tnr_unmap_read(&map));
    OK(tnr_map_read(&first, &map)); /* views of the others are as they were */
    OK(tnr_unmap_read(&map));
    /* Repeats. */
    tnr_tensor *twice[4] = {tensors[0], tensors[1], tensors[2], tensors[1]};
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_from_tensors(heap, twice, 4, &group));
    tnr_tensor *holes[4] = {tensors[0], tensors[1], NULL, tensors[2]};
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_from_tensors(heap, holes, 4, &group));
    assert_ptr_equal(group, untouched());
    for (int index = 0; index < 4; index++) {
        tnr_tensor_info info;
        OK(tnr_tensor_describe(tensors[index], &info));
    }
    SAME_STATISTICS(heap, &statistics);
    OK(tnr_group_from_tensors(heap, tensors, 4, &group));
    for (uint32_t index = 0; index < 4; index++) {
        assert_null(tensors[index]);
        assert_int_equal(descriptor_of(group, index).shape[0], index + 1); /* slot i each */
    }
    check_counts(group, 4, 4);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* ---- SL-08 --------------------------------------------------------------------------------------------------------------------- */

static void SL_08_take_needs_the_sole_descriptor_and_slots_are_never_reused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    tnr_slot part;
    OK(tnr_group_describe_span(group, slot_of(group, 0), TNR_F64, 8, 16, 1, SHAPE(2), NULL, 0, &part));
    assert_int_equal(part.index, 2);
    tnr_tensor *taken = untouched();
    /* Take 0: refused, group unchanged. */
    EXPECT(TNR_ERR_BUSY, tnr_group_take(group, slot_of(group, 0), &taken));
    EXPECT(TNR_ERR_BUSY, tnr_group_take(group, part, &taken));
    assert_ptr_equal(taken, untouched());
    check_counts(group, 2, 3);
    tnr_view view;
    tnr_read_map map;
    OK(tnr_group_view(group, part, &view));
    OK(tnr_map_read(&view, &map));
    assert_true(((const double *)map.data)[0] == 2.0 && ((const double *)map.data)[1] == 3.0);
    OK(tnr_unmap_read(&map));
    /* Take 1: the same data pointer. */
    OK(tnr_group_view(group, slot_of(group, 1), &view));
    OK(tnr_map_read(&view, &map));
    const void *data = map.data;
    OK(tnr_unmap_read(&map));
    OK(tnr_group_take(group, slot_of(group, 1), &taken));
    assert_ptr_equal(host_of(taken), data);
    assert_true(host_of(taken)[1] == 5.0);
    check_counts(group, 2, 3); /* vacated entries are counted */
    assert_true(descriptor_of(group, 1).vacant);
    assert_int_equal(descriptor_of(group, 1).owner, 1);
    /* Take 1 again. */
    tnr_tensor *again = untouched();
    EXPECT(TNR_ERR_VACANT, tnr_group_take(group, slot_of(group, 1), &again));
    TEXT_HAS("descriptor slot 1 is vacant");
    assert_ptr_equal(again, untouched());
    /* Add Z: slot 3. */
    tnr_slot slot;
    OK(tnr_group_append(group, &taken, &slot));
    assert_int_equal(slot.index, 3);
    assert_int_equal(descriptor_of(group, 3).owner, 2);
    EXPECT(TNR_ERR_VACANT, tnr_group_take(group, slot_of(group, 1), &again));
    check_counts(group, 3, 4);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void SL_08_spans_are_validated_once(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(8)); /* 64 bytes */
    tnr_slot slot;
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    const tnr_slot of = slot_of(group, 0);
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_describe_span(group, of, TNR_F64, 4, 56, 1, SHAPE(7), NULL, 0, &slot));
    OK(tnr_group_describe_span(group, of, TNR_F64, 8, 56, 1, SHAPE(7), NULL, 0, &slot));
    assert_int_equal(slot.index, 1);
    EXPECT(TNR_ERR_BOUNDS, tnr_group_describe_span(group, of, TNR_F64, 8, 64, 1, SHAPE(8), NULL, 0, &slot)); /* 72 */
    EXPECT(TNR_ERR_BOUNDS, tnr_group_describe_span(group, of, TNR_F64, 8, 56, 1, SHAPE(8), NULL, 0, &slot));
    assert_int_equal(slot.index, 1);
    check_counts(group, 1, 2);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* ---- Spans ----------------------------------------------------------------------------------------------------------------------- */

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
    tnr_slot slot = {77, 77};
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
        {TNR_ERR_ARGUMENT, TNR_I64, 4, 8, 1, {1, 0}, {1, 0}, 0},                /* misaligned */
        {TNR_ERR_ARGUMENT, TNR_I32, 2, 4, 1, {1, 0}, {1, 0}, 0},                /* misaligned */
        {TNR_ERR_ARGUMENT, TNR_F64, 0, 12, 1, {1, 0}, {1, 0}, 0},               /* indivisible */
        {TNR_ERR_ARGUMENT, TNR_C64, 0, 24, 1, {1, 0}, {1, 0}, 0},               /* indivisible */
        {TNR_ERR_BOUNDS, TNR_F64, 64, 8, 1, {1, 0}, {1, 0}, 0},                 /* past the owner */
        {TNR_ERR_BOUNDS, TNR_F64, 72, 0, 1, {0, 0}, {1, 0}, 0},                 /* begins past the owner */
        {TNR_ERR_BOUNDS, TNR_F64, UINT64_MAX - 7, 16, 1, {1, 0}, {1, 0}, 0},    /* wraps */
        {TNR_ERR_BOUNDS, TNR_F64, 8, UINT64_MAX - 7, 1, {1, 0}, {1, 0}, 0},     /* wraps */
        {TNR_ERR_BOUNDS, TNR_F64, 0, 16, 1, {3, 0}, {1, 0}, 0},                 /* layout leaves the span */
        {TNR_ERR_BOUNDS, TNR_F64, 0, 16, 1, {2, 0}, {1, 0}, 1},                 /* by its offset */
        {TNR_ERR_BOUNDS, TNR_F64, 16, 16, 1, {1, 0}, {1, 0}, -1},               /* below the span, inside the owner */
        {TNR_ERR_BOUNDS, TNR_F64, 16, 32, 1, {3, 0}, {-1, 0}, 1},               /* below, by its stride: SL-10 */
        {TNR_ERR_BOUNDS, TNR_F64, 0, 16, 1, {0, 0}, {1, 0}, 3},                 /* empty, beyond the end */
        {TNR_ERR_ARGUMENT, TNR_F64, 0, 16, -1, {1, 0}, {1, 0}, 0},              /* rank */
        {TNR_ERR_ARGUMENT, TNR_F64, 0, 16, TNR_MAX_RANK + 1, {1, 0}, {1, 0}, 0},
        {TNR_ERR_ARGUMENT, TNR_F64, 0, 16, 1, {-1, 0}, {1, 0}, 0},              /* extent */
        {TNR_ERR_OVERFLOW, TNR_F64, 0, 16, 2, {max, 3}, {1, 1}, 0},             /* count */
        {TNR_ERR_OVERFLOW, TNR_F64, 0, 16, 2, {3, 2}, {max, 1}, 0},             /* reach */
        {TNR_ERR_OVERFLOW, TNR_F64, 0, 16, 1, {2, 0}, {1, 0}, max},             /* offset */
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
    const tnr_slot beyond = {of.group, 5};
    const tnr_slot never = {0, 0};
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
    OK(tnr_group_describe_span(group, of, TNR_BOOL, 3, 5, 1, SHAPE(5), NULL, 0, &slots[3])); /* bytes have no alignment */
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

/* ---- Slots ------------------------------------------------------------------------------------------------------------------------ */

static void slots_of_other_groups_are_foreign(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *groups[2] = {make_group(heap, heap), make_group(heap, heap)};
    const tnr_slot foreign = slot_of(groups[1], 0);
    const tnr_slot beyond = {slot_of(groups[0], 0).group, 2};
    const tnr_slot wrong[2] = {foreign, beyond};
    const tnr_status expected[2] = {TNR_ERR_FOREIGN, TNR_ERR_BOUNDS};
    for (int at = 0; at < 2; at++) {
        tnr_descriptor descriptor;
        tnr_view view;
        tnr_view_mut view_mut;
        bool granted = true;
        tnr_tensor *tensor = untouched();
        EXPECT(expected[at], tnr_group_describe(groups[0], wrong[at], &descriptor));
        EXPECT(expected[at], tnr_group_view(groups[0], wrong[at], &view));
        EXPECT(expected[at], tnr_group_view_mut(groups[0], wrong[at], &view_mut));
        EXPECT(expected[at], tnr_group_split(groups[0], &wrong[at], 1, &granted, &view_mut));
        EXPECT(expected[at], tnr_group_take(groups[0], wrong[at], &tensor));
        EXPECT(expected[at], tnr_group_copy_out(groups[0], wrong[at], heap, &tensor));
        assert_ptr_equal(tensor, untouched());
    }
    /* Serials are never used again: a slot of a group that is gone is foreign to the next one in its place. */
    OK(tnr_group_release(&groups[1]));
    groups[1] = make_group(heap, heap);
    tnr_view view;
    EXPECT(TNR_ERR_FOREIGN, tnr_group_view(groups[1], foreign, &view));
    assert_true(slot_of(groups[1], 0).group > foreign.group);
    OK(tnr_group_release(&groups[0]));
    OK(tnr_group_release(&groups[1]));
    close_domain(&heap);
}

/* Idea 12. */
static void vacated_slot_reports_vacancy_everywhere(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    tnr_tensor *tensor = NULL;
    const tnr_slot slot = slot_of(group, 0);
    OK(tnr_group_take(group, slot, &tensor));
    tnr_view view;
    tnr_view_mut view_mut;
    tnr_tensor *copy = untouched();
    bool granted = true;
    EXPECT(TNR_ERR_VACANT, tnr_group_view(group, slot, &view));
    EXPECT(TNR_ERR_VACANT, tnr_group_view_mut(group, slot, &view_mut));
    EXPECT(TNR_ERR_VACANT, tnr_group_split(group, &slot, 1, &granted, &view_mut));
    EXPECT(TNR_ERR_VACANT, tnr_group_copy_out(group, slot, heap, &copy));
    EXPECT(TNR_ERR_VACANT, tnr_group_take(group, slot, &copy));
    assert_ptr_equal(copy, untouched());
    assert_int_equal(slot_of(group, 0).index, 0); /* the slot itself may be asked for */
    check_counts(group, 2, 2);
    release(&tensor);
    check_counts(group, 2, 2);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* CT-09, idea 11: tables grow past every chunk, and slots of all ages keep their meaning. */
static void tables_grow_without_moving_anything(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_slot slots[600];
    OK(tnr_group_create(arena, &group));
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(600));
    OK(tnr_group_append(group, &tensor, &slots[0]));
    tnr_view early;
    OK(tnr_group_view(group, slots[0], &early));
    for (uint32_t at = 1; at < 600; at++) {
        if (at % 3 == 0) {
            tensor = make_counting(heap, 1, SHAPE(at));
            OK(tnr_group_append(group, &tensor, &slots[at]));
        } else {
            OK(tnr_group_describe_span(group, slots[0], TNR_F64, 8 * at, 8, 1, SHAPE(1), NULL, 0, &slots[at]));
        }
        assert_int_equal(slots[at].index, at);
    }
    check_counts(group, 200, 600);
    for (uint32_t at = 0; at < 600; at++) {
        tnr_view view;
        double value = 0;
        OK(tnr_group_view(group, slots[at], &view));
        OK(tnr_view_get(&view, SHAPE(0), &value));
        assert_true(value == (at % 3 == 0 ? 1.0 : at + 1.0));
    }
    double value = 0;
    OK(tnr_view_get(&early, SHAPE(599), &value)); /* a view made before the growth */
    assert_true(value == 600.0);
    OK(tnr_group_release(&group));
    OK(tnr_arena_check(arena));
    assert_int_equal(statistics_of(arena).blocks, 0);
    close_domain(&heap);
    close_domain(&arena);
    free(region);
}

/* ---- Splits ------------------------------------------------------------------------------------------------------------------------ */

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

/* ---- Taking ------------------------------------------------------------------------------------------------------------------------- */

static void refuse_take(tnr_group *group, tnr_slot slot, tnr_status expected)
{
    tnr_tensor *tensor = untouched();
    EXPECT(expected, tnr_group_take(group, slot, &tensor));
    assert_ptr_equal(tensor, untouched());
    OK(tnr_group_check(group));
    tnr_view view;
    OK(tnr_group_view(group, slot, &view));
}

/* A group whose only live descriptor is the one asked for: the entering one is taken away by merging after a take. */
static void take_needs_the_whole_owner_compact_from_its_first_byte(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(2, 3));
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    tnr_slot slot;
    OK(tnr_group_describe_span(group, slot_of(group, 0), TNR_F64, 8, 40, 1, SHAPE(5), NULL, 0, &slot));
    /* Two descriptors: nobody can be taken, the text says what to do about the layout only when alone. */
    refuse_take(group, slot_of(group, 0), TNR_ERR_BUSY);
    refuse_take(group, slot, TNR_ERR_BUSY);
    tnr_tensor *copy = NULL;
    OK(tnr_group_copy_out(group, slot, heap, &copy));
    assert_true(host_of(copy)[4] == 6.0);
    release(&copy);
    check_counts(group, 1, 2);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void take_under_a_lease_is_busy(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    const tnr_slot slot = slot_of(group, 0);
    tnr_view view;
    tnr_view_mut view_mut;
    tnr_read_map read;
    tnr_write_map write;
    tnr_group *same = group;
    OK(tnr_group_view(group, slot, &view));
    OK(tnr_group_view_mut(group, slot, &view_mut));
    OK(tnr_map_read(&view, &read));
    refuse_take(group, slot, TNR_ERR_BUSY);
    EXPECT(TNR_ERR_BUSY, tnr_group_release(&group)); /* while any owner is leased */
    assert_ptr_equal(group, same);
    check_counts(group, 2, 2);
    assert_true(((const double *)read.data)[2] == 3.0);
    OK(tnr_unmap_read(&read));
    OK(tnr_group_view_mut(group, slot_of(group, 1), &view_mut));
    OK(tnr_map_write(&view_mut, &write)); /* the second owner: the first must be let go of again */
    EXPECT(TNR_ERR_BUSY, tnr_group_release(&group));
    OK(tnr_map_read(&view, &read));
    OK(tnr_unmap_read(&read));
    OK(tnr_unmap_write(&write));
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* Ideas 8, 63, 65; `same bytes, same pool, exportable`. */
static void taken_tensor_is_ordinary_and_keeps_its_pool(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    tnr_group *group = NULL;
    tnr_pool_statistics statistics;
    OK(tnr_pool_create(heap, NULL, &pool));
    tnr_tensor *tensor = make_counting(pool, 1, SHAPE(16));
    const double *data = host_of(tensor);
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    OK(tnr_group_take(group, slot_of(group, 0), &tensor));
    assert_ptr_equal(host_of(tensor), data);
    release(&tensor);
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 1);
    /* In a group until the group goes: the buffer comes back only then, views do not keep it. */
    tensor = make_counting(pool, 1, SHAPE(16));
    assert_ptr_equal(host_of(tensor), data);
    tnr_slot slot;
    tnr_view view;
    OK(tnr_group_append(group, &tensor, &slot));
    OK(tnr_group_describe_span(group, slot, TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, NULL));
    OK(tnr_group_view(group, slot, &view));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 0);
    OK(tnr_group_release(&group));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 1);
    tnr_read_map map;
    EXPECT(TNR_ERR_STALE, tnr_map_read(&view, &map));
    tensor = make_counting(pool, 1, SHAPE(16));
    assert_ptr_equal(host_of(tensor), data);
    /* Through a group and out: export detaches from the pool. */
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    OK(tnr_group_take(group, slot_of(group, 0), &tensor));
    tnr_exported exported;
    OK(tnr_tensor_export(&tensor, &exported));
    assert_ptr_equal(exported.data, data);
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.in_flight + statistics.buffers, 0);
    OK(tnr_exported_free(&exported));
    /* The pool may go first. */
    tensor = make_counting(pool, 1, SHAPE(16));
    OK(tnr_group_append(group, &tensor, &slot));
    close_domain(&pool);
    OK(tnr_group_view(group, slot, &view));
    double value = 0;
    OK(tnr_view_get(&view, SHAPE(15), &value));
    assert_true(value == 16.0);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

/* Ideas 10, 22, 31: release of a group gives every owner back once, vacated ones not at all. */
static void count_call(void *context, void *data, uint64_t bytes)
{
    (void)data;
    (void)bytes;
    ++*(int *)context;
}

static void release_gives_every_owner_back_once(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    double buffers[3] = {1, 2, 3};
    int calls[3] = {0, 0, 0};
    tnr_tensor *tensors[3] = {NULL, NULL, NULL};
    tnr_tensor *taken = NULL;
    tnr_group *group = NULL;
    for (int at = 0; at < 3; at++) {
        OK(tnr_tensor_adopt(heap, TNR_F64, 0, NULL, &buffers[at], 8, count_call, &calls[at], &tensors[at]));
    }
    OK(tnr_group_from_tensors(heap, tensors, 3, &group));
    OK(tnr_group_describe_span(group, slot_of(group, 2), TNR_F64, 0, 8, 0, NULL, NULL, 0, NULL));
    OK(tnr_group_take(group, slot_of(group, 1), &taken));
    OK(tnr_group_release(&group));
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 0);
    assert_int_equal(calls[2], 1);
    assert_true(*host_of(taken) == 2.0);
    release(&taken);
    assert_int_equal(calls[1], 1);
    close_domain(&heap);
}

static void copy_out_works_for_any_descriptor(void **state)
{
    (void)state;
    void *region;
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    tnr_group *group = make_group(heap, heap);
    tnr_slot reversed;
    tnr_tensor *copy = NULL;
    OK(tnr_group_describe_span(group, slot_of(group, 0), TNR_F64, 0, 24, 1, SHAPE(3), SHAPE(-1), 2, &reversed));
    OK(tnr_group_copy_out(group, reversed, arena, &copy));
    assert_true(host_of(copy)[0] == 3.0 && host_of(copy)[2] == 1.0);
    tnr_tensor_info info;
    OK(tnr_tensor_describe(copy, &info));
    assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(arena)));
    release(&copy);
    tnr_view_mut view_mut;
    tnr_write_map write;
    OK(tnr_group_view_mut(group, slot_of(group, 0), &view_mut));
    OK(tnr_map_write(&view_mut, &write));
    copy = untouched();
    EXPECT(TNR_ERR_BUSY, tnr_group_copy_out(group, reversed, arena, &copy));
    assert_ptr_equal(copy, untouched());
    OK(tnr_unmap_write(&write));
    OK(tnr_group_release(&group));
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

/* ---- Merging ------------------------------------------------------------------------------------------------------------------------ */

static void merge_moves_everything_to_the_end(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *target = make_group(heap, heap);
    tnr_group *source = make_group(heap, heap);
    tnr_tensor *taken = NULL;
    tnr_slot span;
    OK(tnr_group_describe_span(source, slot_of(source, 1), TNR_F64, 8, 8, 1, SHAPE(1), NULL, 0, &span));
    OK(tnr_group_take(source, slot_of(source, 0), &taken));
    const tnr_slot old = slot_of(source, 1);
    tnr_view view;
    OK(tnr_group_view(source, old, &view));
    uint32_t first = 99;
    OK(tnr_group_merge(target, &source, &first));
    assert_null(source);
    assert_int_equal(first, 2);
    check_counts(target, 4, 5);
    assert_true(descriptor_of(target, 2).vacant); /* vacated entries included */
    assert_int_equal(descriptor_of(target, 3).owner, 3);
    assert_int_equal(descriptor_of(target, 4).owner, 3);
    assert_int_equal(descriptor_of(target, 4).byte_begin, 8);
    tnr_view through;
    double value = 0;
    EXPECT(TNR_ERR_FOREIGN, tnr_group_view(target, old, &through));
    OK(tnr_view_get(&view, SHAPE(1), &value)); /* a view made through the source stays valid */
    assert_true(value == 5.0);
    OK(tnr_group_view(target, slot_of(target, 4), &through));
    OK(tnr_view_get(&through, SHAPE(0), &value));
    assert_true(value == 5.0);
    release(&taken);
    OK(tnr_group_release(&target));
    close_domain(&heap);
}

static void merge_with_itself_or_another_home_is_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *other = make_heap();
    tnr_group *group = make_group(heap, heap);
    tnr_group *same = group;
    tnr_group *foreign = make_group(other, heap);
    uint32_t first = 99;
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_merge(group, &same, &first));
    assert_ptr_equal(same, group);
    EXPECT(TNR_ERR_FOREIGN, tnr_group_merge(group, &foreign, &first));
    assert_non_null(foreign);
    assert_int_equal(first, 99);
    check_counts(group, 2, 2);
    check_counts(foreign, 2, 2);
    /* A leased owner moves too: nothing of it changes. */
    tnr_group *source = make_group(heap, heap);
    tnr_view view;
    tnr_read_map map;
    OK(tnr_group_view(source, slot_of(source, 0), &view));
    OK(tnr_map_read(&view, &map));
    OK(tnr_group_merge(group, &source, NULL));
    EXPECT(TNR_ERR_BUSY, tnr_group_release(&group));
    OK(tnr_unmap_read(&map));
    OK(tnr_group_create(heap, &source));
    OK(tnr_group_merge(group, &source, &first)); /* an empty one */
    assert_int_equal(first, 4);
    OK(tnr_group_release(&group));
    OK(tnr_group_release(&foreign));
    close_domain(&heap);
    close_domain(&other);
}

/* ---- Need ---------------------------------------------------------------------------------------------------------------------------- */

static void PA_05_group_need_is_enough_and_no_more(void **state)
{
    (void)state;
    const uint32_t counts[] = {1, 8, 9, 24, 25, 100};
    for (size_t at = 0; at < sizeof(counts) / sizeof(counts[0]); at++) {
        const uint32_t count = counts[at];
        tnr_need need;
        tnr_need tensors;
        uint64_t region_bytes;
        uint64_t control_bytes;
        tnr_arena_options options = TNR_ARENA_OPTIONS;
        OK(tnr_group_need(count, 2 * count, &need));
        OK(tnr_tensor_need(TNR_F64, 1, SHAPE(2), count, &tensors));
        OK(tnr_need_add(&need, &tensors, 1));
        OK(tnr_arena_bytes(&need, &options, &region_bytes, &control_bytes, &options.max_blocks));
        void *region = aligned_alloc(64, (size_t)((region_bytes + 63) / 64 * 64));
        assert_non_null(region);
        tnr_domain *arena = NULL;
        tnr_group *group = NULL;
        OK(tnr_arena_create(region, region_bytes, &options, &arena));
        OK(tnr_group_create(arena, &group));
        for (uint32_t made = 0; made < count; made++) {
            tnr_tensor *tensor = make_counting(arena, 1, SHAPE(2));
            tnr_slot slot;
            OK(tnr_group_append(group, &tensor, &slot));
            OK(tnr_group_describe_span(group, slot, TNR_F64, 8, 8, 1, SHAPE(1), NULL, 0, NULL));
        }
        check_counts(group, count, 2 * count);
        assert_int_equal(statistics_of(arena).free_bytes, 0);
        OK(tnr_group_release(&group));
        OK(tnr_arena_check(arena));
        close_domain(&arena);
        free(region);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fresh_group_is_empty),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(entering_copies_nothing_and_publishes_the_tensor),
        cmocka_unit_test(adopted_owner_gets_the_groups_home_and_a_number),
        cmocka_unit_test(from_tensors_is_all_or_nothing),
        cmocka_unit_test(SL_08_take_needs_the_sole_descriptor_and_slots_are_never_reused),
        cmocka_unit_test(SL_08_spans_are_validated_once),
        cmocka_unit_test(wrong_spans_have_their_own_errors_and_change_nothing),
        cmocka_unit_test(spans_may_be_strided_reversed_empty_or_of_another_dtype),
        cmocka_unit_test(span_with_coinciding_elements_is_for_reading),
        cmocka_unit_test(writing_through_one_descriptor_touches_only_its_bytes),
        cmocka_unit_test(slots_of_other_groups_are_foreign),
        cmocka_unit_test(vacated_slot_reports_vacancy_everywhere),
        cmocka_unit_test(tables_grow_without_moving_anything),
        cmocka_unit_test(split_of_none_one_and_three_permuted_slots),
        cmocka_unit_test(split_refuses_overlap_and_repeats),
        cmocka_unit_test(take_needs_the_whole_owner_compact_from_its_first_byte),
        cmocka_unit_test(take_under_a_lease_is_busy),
        cmocka_unit_test(taken_tensor_is_ordinary_and_keeps_its_pool),
        cmocka_unit_test(release_gives_every_owner_back_once),
        cmocka_unit_test(copy_out_works_for_any_descriptor),
        cmocka_unit_test(merge_moves_everything_to_the_end),
        cmocka_unit_test(merge_with_itself_or_another_home_is_refused),
        cmocka_unit_test(PA_05_group_need_is_enough_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
