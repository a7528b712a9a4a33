/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups by their contract: entering, slots, the rows of SL-08, and the stated need. */
#include "support/group_fixture.h"

#include "storage/group_internal.h" /* only for the limit of its tables */

/* ---- Creating and entering --------------------------------------------------------------------------------------- */

/* Idea 1. */
static void fresh_group_is_empty(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_slot slot = {7, 7, 7};
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

/* The number of adopted bytes outlives the home that gave it: only its serial is kept. */
static void adopted_number_outlives_the_groups_home(void **state)
{
    (void)state;
    tnr_domain *first = make_heap();
    tnr_domain *second = make_heap();
    const tnr_domain_id id = tnr_domain_identity(second);
    double buffer[2] = {1, 2};
    tnr_tensor *tensor = NULL;
    tnr_group *group = NULL;
    tnr_tensor_info info;
    OK(tnr_tensor_adopt(first, TNR_F64, 1, SHAPE(2), buffer, 16, NULL, NULL, &tensor));
    OK(tnr_tensor_describe(tensor, &info));
    assert_int_equal(info.domain.serial, 0);
    assert_int_equal(info.allocation, 0);
    OK(tnr_group_create(second, &group));
    OK(tnr_group_append(group, &tensor, NULL));
    const tnr_descriptor entered = descriptor_of(group, 0);
    assert_true(tnr_domain_id_equal(entered.domain, id));
    OK(tnr_group_take(group, slot_of(group, 0), &tensor));
    OK(tnr_group_release(&group));
    close_domain(&second);
    OK(tnr_tensor_describe(tensor, &info)); /* no look at the closed heap, which is freed memory by now */
    assert_true(tnr_domain_id_equal(info.domain, id));
    assert_int_equal(info.allocation, entered.allocation);
    /* A new home gives a new number; the next domain may lie where the closed one lay. */
    second = make_heap();
    OK(tnr_group_create(second, &group));
    OK(tnr_group_append(group, &tensor, NULL));
    assert_true(tnr_domain_id_equal(descriptor_of(group, 0).domain, tnr_domain_identity(second)));
    const uint64_t number = descriptor_of(group, 0).allocation;
    assert_int_not_equal(number, 0);
    OK(tnr_group_take(group, slot_of(group, 0), &tensor));
    OK(tnr_group_append(group, &tensor, NULL)); /* the same home: the same number */
    assert_int_equal(descriptor_of(group, 1).allocation, number);
    OK(tnr_group_release(&group));
    close_domain(&second);
    close_domain(&first);
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

/* ---- SL-08 ------------------------------------------------------------------------------------------------------- */

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

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

static void slots_of_other_groups_are_foreign(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *groups[2] = {make_group(heap, heap), make_group(heap, heap)};
    const tnr_slot foreign = slot_of(groups[1], 0);
    const tnr_slot beyond = {slot_of(groups[0], 0).group, 2, 0};
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
/* Only remote entries have an epoch, and none of this process' groups has remote entries. */
static void slot_of_an_epoch_is_stale(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    tnr_slot slot = slot_of(group, 1);
    assert_int_equal(slot.epoch, 0);
    slot.epoch = 1;
    tnr_slot made = {7, 7, 7};
    tnr_view view;
    tnr_view_mut view_mut;
    tnr_descriptor descriptor;
    tnr_tensor *tensor = untouched();
    bool granted = true;
    EXPECT(TNR_ERR_STALE, tnr_group_describe(group, slot, &descriptor));
    TEXT_HAS("epoch 1");
    EXPECT(TNR_ERR_STALE, tnr_group_view(group, slot, &view));
    EXPECT(TNR_ERR_STALE, tnr_group_view_mut(group, slot, &view_mut));
    EXPECT(TNR_ERR_STALE, tnr_group_split(group, &slot, 1, &granted, &view_mut));
    EXPECT(TNR_ERR_STALE, tnr_group_take(group, slot, &tensor));
    EXPECT(TNR_ERR_STALE, tnr_group_copy_out(group, slot, heap, &tensor));
    EXPECT(TNR_ERR_STALE, tnr_group_describe_span(group, slot, TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, &made));
    assert_ptr_equal(tensor, untouched());
    assert_true(granted && made.index == 7 && made.epoch == 7);
    OK(tnr_group_describe_span(group, slot_of(group, 1), TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, &made));
    assert_int_equal(made.epoch, 0);
    tensor = make_counting(heap, 1, SHAPE(1));
    made.epoch = 7;
    OK(tnr_group_append(group, &tensor, &made));
    assert_int_equal(made.epoch, 0);
    slot.group++; /* of another group first of all */
    EXPECT(TNR_ERR_FOREIGN, tnr_group_view(group, slot, &view));
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void tables_end_where_their_chunks_do(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0); /* too small for any such table */
    const uint32_t most = (uint32_t)(((uint64_t)TNRI_TABLE_FIRST << TNRI_TABLE_CHUNKS) - TNRI_TABLE_FIRST);
    tnri_table table = {.entry_bytes = 8, .count = most - 1, .chunk_count = 0};
    const tnr_domain_statistics before = statistics_of(arena);
    EXPECT(TNR_ERR_OVERFLOW, tnri_table_reserve("test", arena, &table, 2));
    assert_int_equal(table.chunk_count, 0);
    table.count = most;
    EXPECT(TNR_ERR_OVERFLOW, tnri_table_reserve("test", arena, &table, 1));
    table.count = UINT32_MAX;
    EXPECT(TNR_ERR_OVERFLOW, tnri_table_reserve("test", arena, &table, UINT32_MAX));
    table.count = most - 1;
    EXPECT(TNR_ERR_MEMORY, tnri_table_reserve("test", arena, &table, 1)); /* the very last one can be numbered */
    table.count = 0;
    tnri_table_trim(arena, &table);
    assert_int_equal(table.chunk_count, 0);
    SAME_STATISTICS(arena, &before);
    tnr_need need;
    OK(tnri_table_need(8, most, &need));
    assert_int_equal(need.bytes, 8 * (uint64_t)most);
    assert_int_equal(need.blocks, TNRI_TABLE_CHUNKS);
    close_domain(&arena);
    free(region);
}

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

/* ---- Need -------------------------------------------------------------------------------------------------------- */

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
        cmocka_unit_test(adopted_number_outlives_the_groups_home),
        cmocka_unit_test(from_tensors_is_all_or_nothing),
        cmocka_unit_test(SL_08_take_needs_the_sole_descriptor_and_slots_are_never_reused),
        cmocka_unit_test(SL_08_spans_are_validated_once),
        cmocka_unit_test(slots_of_other_groups_are_foreign),
        cmocka_unit_test(slot_of_an_epoch_is_stale),
        cmocka_unit_test(tables_end_where_their_chunks_do),
        cmocka_unit_test(vacated_slot_reports_vacancy_everywhere),
        cmocka_unit_test(tables_grow_without_moving_anything),
        cmocka_unit_test(PA_05_group_need_is_enough_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
