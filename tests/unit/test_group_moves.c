/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaves a group, by its contract: taking, copying out, merging, releasing. */
#include "support/group_fixture.h"

/* ---- Taking ------------------------------------------------------------------------------------------------------ */

static void refuse_take(tnr_group *group, tnr_slot slot, tnr_status expected)
{
    tnr_tensor *tensor = untouched();
    EXPECT(expected, tnr_group_take(group, slot, &tensor));
    assert_ptr_equal(tensor, untouched());
    OK(tnr_group_check(group));
    tnr_view view;
    OK(tnr_group_view(group, slot, &view));
}

/* The descriptor of a part never stands alone, because the one that the tensor entered with stays: BUSY says so first. */
static void take_of_a_part_is_refused_and_copied_out_instead(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = NULL;
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(2, 3));
    OK(tnr_group_from_tensors(heap, &tensor, 1, &group));
    tnr_slot slot;
    OK(tnr_group_describe_span(group, slot_of(group, 0), TNR_F64, 8, 40, 1, SHAPE(5), NULL, 0, &slot));
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

/* ---- Merging ----------------------------------------------------------------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take_of_a_part_is_refused_and_copied_out_instead),
        cmocka_unit_test(take_under_a_lease_is_busy),
        cmocka_unit_test(taken_tensor_is_ordinary_and_keeps_its_pool),
        cmocka_unit_test(release_gives_every_owner_back_once),
        cmocka_unit_test(copy_out_works_for_any_descriptor),
        cmocka_unit_test(merge_moves_everything_to_the_end),
        cmocka_unit_test(merge_with_itself_or_another_home_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
