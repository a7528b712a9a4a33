/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups with entries of other ranks, without ranks: what a publishing companion asks of the core, through its table. */
#include "support/group_fixture.h"

#include "storage/provider.h"

static int token;

/* Descriptor of rank 2, process 3: a 2x3 f64, transposed, in an owner of 64 bytes. */
static tnri_group_item an_item(void)
{
    tnri_group_item item;
    memset(&item, 0, sizeof(item));
    item.rank = 2;
    item.owner = 5;
    item.owner_bytes = 64;
    item.domain.process = 3;
    item.domain.serial = 9;
    item.allocation = 77;
    item.placement.device = TNR_NONE;
    item.placement.cpu_affinity = 1;
    item.source[0] = 123;
    item.dtype = TNR_F64;
    item.dimensions = 2;
    item.byte_begin = 8;
    item.byte_count = 56;
    item.offset = 1;
    item.shape[0] = 2;
    item.shape[1] = 3;
    item.strides[0] = 3;
    item.strides[1] = 1;
    return item;
}

/* A group of X and Y with two remote entries, slots 2 and 3. */
static tnr_group *published(tnr_domain *heap, uint32_t epoch)
{
    tnr_group *group = make_group(heap, heap);
    tnri_group_item items[2] = {an_item(), an_item()};
    items[1].owner = 6;
    OK(tnr_provider.group_publish("test", group, epoch, &token, items, 2));
    return group;
}

static void remote_entries_are_listed_and_described(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = published(heap, 4);
    check_counts(group, 2, 4);
    const tnr_slot slot = slot_of(group, 2);
    assert_int_equal(slot.epoch, 4);
    assert_int_equal(slot_of(group, 1).epoch, 0);
    const tnr_descriptor found = descriptor_of(group, 2);
    assert_false(found.vacant);
    assert_int_equal(found.owner, 5);
    assert_int_equal(found.domain.process, 3);
    assert_int_equal(found.domain.serial, 9);
    assert_int_equal(found.allocation, 77);
    assert_int_equal(found.placement.cpu_affinity, 1);
    assert_int_equal(found.dtype, TNR_F64);
    assert_int_equal(found.rank, 2);
    assert_int_equal(found.shape[1], 3);
    assert_int_equal(found.strides[0], 3);
    assert_int_equal(found.offset, 1);
    assert_int_equal(found.byte_begin, 8);
    assert_int_equal(found.byte_count, 56);
    assert_ptr_equal(tnr_provider.group_publication(group), &token);
    tnr_provider.group_unpublish(group);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void remote_bytes_are_refused_with_the_rank(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = published(heap, 1);
    const tnr_slot slot = slot_of(group, 3);
    tnr_view view;
    tnr_view_mut view_mut;
    tnr_tensor *tensor = NULL;
    bool granted;
    EXPECT(TNR_ERR_FOREIGN, tnr_group_view(group, slot, &view));
    assert_non_null(strstr(tnr_last_error(), "rank 2"));
    assert_non_null(strstr(tnr_last_error(), "process 3"));
    assert_non_null(strstr(tnr_last_error(), "fetch"));
    EXPECT(TNR_ERR_FOREIGN, tnr_group_view_mut(group, slot, &view_mut));
    EXPECT(TNR_ERR_FOREIGN, tnr_group_take(group, slot, &tensor));
    EXPECT(TNR_ERR_FOREIGN, tnr_group_copy_out(group, slot, heap, &tensor));
    EXPECT(TNR_ERR_FOREIGN, tnr_group_split(group, &slot, 1, &granted, &view_mut));
    EXPECT(TNR_ERR_FOREIGN, tnr_group_describe_span(group, slot, TNR_F64, 0, 8, 1, SHAPE(1), NULL, 0, NULL));
    const tnr_slot forged = {slot.group, slot.index, 0};
    EXPECT(TNR_ERR_STALE, tnr_group_view(group, forged, &view));
    const tnr_slot later = {slot.group, slot.index, 2};
    EXPECT(TNR_ERR_STALE, tnr_group_view(group, later, &view));
    const tnr_slot own = {slot.group, 0, 1};
    EXPECT(TNR_ERR_STALE, tnr_group_view(group, own, &view));
    OK(tnr_group_view(group, slot_of(group, 1), &view));
    tnr_provider.group_unpublish(group);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void published_groups_do_not_change(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = published(heap, 1);
    tnr_group *other = make_group(heap, heap);
    tnr_group *same = group;
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(2));
    tnr_tensor *taken = NULL;
    uint32_t epoch;
    tnr_slot slot;
    const tnri_group_item item = an_item();
    EXPECT(TNR_ERR_BUSY, tnr_group_append(group, &tensor, NULL));
    assert_non_null(tensor);
    EXPECT(TNR_ERR_BUSY, tnr_group_take(group, slot_of(group, 0), &taken));
    EXPECT(TNR_ERR_BUSY, tnr_group_merge(group, &other, NULL));
    EXPECT(TNR_ERR_BUSY, tnr_group_merge(other, &same, NULL));
    EXPECT(TNR_ERR_BUSY, tnr_group_release(&same));
    assert_ptr_equal(same, group);
    EXPECT(TNR_ERR_BUSY, tnr_provider.group_can_publish("test", group, &epoch));
    EXPECT(TNR_ERR_BUSY, tnr_provider.group_publish("test", group, 2, &token, &item, 1));
    check_counts(group, 2, 4);
    check_counts(other, 2, 2);
    /* Another way to look at its own bytes is no change. */
    OK(tnr_group_describe_span(group, slot_of(group, 0), TNR_F64, 8, 16, 1, SHAPE(2), NULL, 0, &slot));
    assert_int_equal(slot.index, 4);
    tnr_provider.group_unpublish(group);
    OK(tnr_group_append(group, &tensor, &slot));
    assert_int_equal(slot.index, 5);
    OK(tnr_group_release(&group));
    OK(tnr_group_release(&other));
    close_domain(&heap);
}

static void an_ended_epoch_leaves_vacant_places(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = published(heap, 1);
    const tnr_slot old = slot_of(group, 2);
    const tnri_group_item item = an_item();
    tnri_group_item found;
    tnr_descriptor descriptor;
    tnr_view view;
    bool own;
    uint32_t epoch = 0;
    tnr_provider.group_unpublish(group);
    assert_null(tnr_provider.group_publication(group));
    EXPECT(TNR_ERR_STALE, tnr_group_describe(group, old, &descriptor));
    EXPECT(TNR_ERR_STALE, tnr_group_view(group, old, &view));
    EXPECT(TNR_ERR_STALE, tnr_provider.group_find_item("test", group, old, &own, &found));
    check_counts(group, 2, 4);
    assert_true(descriptor_of(group, 2).vacant);
    EXPECT(TNR_ERR_VACANT, tnr_group_view(group, slot_of(group, 2), &view));
    OK(tnr_provider.group_can_publish("test", group, &epoch));
    assert_int_equal(epoch, 1);
    OK(tnr_provider.group_publish("test", group, 2, &token, &item, 1));
    EXPECT(TNR_ERR_STALE, tnr_group_describe(group, old, &descriptor));
    assert_int_equal(slot_of(group, 4).epoch, 2);
    assert_true(descriptor_of(group, 3).vacant);
    assert_false(descriptor_of(group, 4).vacant);
    tnr_provider.group_unpublish(group);
    /* Merging carries the vacant places along. */
    tnr_group *target = make_group(heap, heap);
    OK(tnr_group_merge(target, &group, NULL));
    check_counts(target, 4, 7);
    assert_true(descriptor_of(target, 6).vacant);
    OK(tnr_group_view(target, slot_of(target, 3), &view));
    OK(tnr_group_release(&target));
    close_domain(&heap);
}

static void a_publication_can_be_taken_back(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = published(heap, 3);
    tnr_provider.group_unpublish(group);
    tnri_group_item items[20];
    for (int index = 0; index < 20; index++) {
        items[index] = an_item();
    }
    uint32_t epoch = 0;
    OK(tnr_provider.group_publish("test", group, 7, &token, items, 20));
    check_counts(group, 2, 24);
    tnr_provider.group_retract(group, 3);
    check_counts(group, 2, 4);
    OK(tnr_provider.group_can_publish("test", group, &epoch));
    assert_int_equal(epoch, 3);
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(2));
    tnr_slot slot;
    OK(tnr_group_append(group, &tensor, &slot));
    assert_int_equal(slot.index, 4);
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void items_come_and_go_as_they_were(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = published(heap, 1);
    tnri_group_item item;
    tnr_view bytes;
    bool own = true;
    memset(&item, 0, sizeof(item)); /* beyond the tensor's rank nothing is written */
    OK(tnr_provider.group_find_item("test", group, slot_of(group, 2), &own, &item));
    assert_false(own);
    const tnri_group_item expected = an_item();
    assert_memory_equal(&item, &expected, sizeof(item));
    OK(tnr_provider.group_find_item("test", group, slot_of(group, 1), &own, &item));
    assert_true(own);
    assert_true(tnr_provider.group_item(group, 1, &item));
    assert_int_equal(item.owner, 1);
    assert_int_equal(item.owner_bytes, 16);
    assert_int_equal(item.domain.serial, tnr_domain_identity(heap).serial);
    assert_false(tnr_provider.group_item(group, 2, &item));
    assert_true(tnr_provider.group_owner(group, 0, &bytes));
    assert_int_equal(bytes.dtype, TNR_BOOL);
    assert_int_equal(bytes.shape[0], 24);
    tnr_provider.group_unpublish(group);
    tnr_tensor *taken = NULL;
    OK(tnr_group_take(group, slot_of(group, 0), &taken));
    assert_false(tnr_provider.group_owner(group, 0, &bytes));
    assert_false(tnr_provider.group_item(group, 0, &item));
    OK(tnr_tensor_release(&taken));
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void items_that_cannot_be_true_are_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_group *group = make_group(heap, heap);
    for (int fault = 0; fault < 11; fault++) {
        tnri_group_item items[2] = {an_item(), an_item()};
        tnri_group_item *bad = &items[1];
        switch (fault) {
        case 0:
            bad->dtype = TNR_DTYPE_NONE;
            break;
        case 1:
            bad->dtype = UINT32_MAX;
            break;
        case 2:
            bad->dimensions = TNR_MAX_RANK + 1;
            break;
        case 3:
            bad->byte_begin = 65;
            break;
        case 4:
            bad->byte_count = 57;
            break;
        case 5:
            bad->byte_begin = UINT64_MAX;
            break;
        case 6:
            bad->shape[0] = 4;
            break;
        case 7:
            bad->shape[0] = -1;
            break;
        case 8:
            bad->offset = -1;
            break;
        case 9:
            bad->strides[1] = INT64_MAX;
            break;
        default:
            bad->rank = -1;
            break;
        }
        EXPECT(TNR_ERR_MPI, tnr_provider.group_publish("test", group, 1, &token, items, 2));
        check_counts(group, 2, 2);
        assert_null(tnr_provider.group_publication(group));
    }
    const tnri_group_item item = an_item();
    EXPECT(TNR_ERR_OVERFLOW, tnr_provider.group_publish("test", group, 0, &token, &item, 1));
    OK(tnr_group_release(&group));
    close_domain(&heap);
}

static void nothing_is_left_when_memory_ends(void **state)
{
    (void)state;
    enum { ITEMS = 300 };
    static _Alignas(64) char region[24 << 10];
    static tnri_group_item items[ITEMS];
    tnr_domain *arena = NULL;
    tnr_group *group = NULL;
    for (int index = 0; index < ITEMS; index++) {
        items[index] = an_item();
    }
    OK(tnr_arena_create(region, sizeof(region), NULL, &arena));
    OK(tnr_group_create(arena, &group));
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    OK(tnr_domain_statistics_get(arena, &before));
    EXPECT(TNR_ERR_MEMORY, tnr_provider.group_publish("test", group, 1, &token, items, ITEMS));
    OK(tnr_domain_statistics_get(arena, &after));
    assert_int_equal(after.bytes, before.bytes);
    check_counts(group, 0, 0);
    OK(tnr_provider.group_publish("test", group, 1, &token, items, 3));
    check_counts(group, 0, 3);
    tnr_provider.group_unpublish(group);
    OK(tnr_group_release(&group));
    close_domain(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remote_entries_are_listed_and_described),
        cmocka_unit_test(remote_bytes_are_refused_with_the_rank),
        cmocka_unit_test(published_groups_do_not_change),
        cmocka_unit_test(an_ended_epoch_leaves_vacant_places),
        cmocka_unit_test(a_publication_can_be_taken_back),
        cmocka_unit_test(items_come_and_go_as_they_were),
        cmocka_unit_test(items_that_cannot_be_true_are_refused),
        cmocka_unit_test(nothing_is_left_when_memory_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
