/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases by their contract: many readers or one writer, BUSY at once and never a wait, STALE once the owner went, drafts that
 * nobody can read.
 */
#include "support/lease_fixture.h"

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* Idea 61 of the pass set: many shared views. */
static void readers_share(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    tnr_read_map maps[200];
    for (int at = 0; at < 200; at++) {
        OK(tnr_map_read(&view, &maps[at]));
        assert_ptr_equal(maps[at].data, maps[0].data);
    }
    double value;
    OK(tnr_view_get(&view, SHAPE(7, 3), &value));
    assert_true(value == 32.0);
    for (int at = 0; at < 200; at++) {
        OK(tnr_unmap_read(&maps[at]));
    }
    finish(&f);
}

/* Idea 61 of the refused set: a second mutable view in use, a shared view while a mutable one is used. */
static void writer_excludes_writer_and_reader(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_write_map write;
    tnr_write_map second;
    tnr_read_map read;
    double value = 5;
    memset(&second, 0x11, sizeof(second));
    memset(&read, 0x11, sizeof(read));
    const tnr_write_map second_before = second;
    const tnr_read_map read_before = read;
    OK(tnr_map_write(&view_mut, &write));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&view_mut, &second));
    TEXT_HAS("map_write");
    TEXT_HAS("write lease");
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view, &read));
    TEXT_HAS("map_read");
    TEXT_HAS("write lease");
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view_mut.view, &read)); /* reading through the writable view is no way round */
    EXPECT(TNR_ERR_BUSY, tnr_view_get(&view, SHAPE(0, 0), &value));
    EXPECT(TNR_ERR_BUSY, tnr_view_set(&view_mut, SHAPE(0, 0), &value));
    assert_memory_equal(&second, &second_before, sizeof(second));
    assert_memory_equal(&read, &read_before, sizeof(read));
    OK(tnr_unmap_write(&write));
    OK(tnr_map_read(&view, &read));
    OK(tnr_unmap_read(&read));
    OK(tnr_map_write(&view_mut, &write)); /* one after the other */
    OK(tnr_unmap_write(&write));
    finish(&f);
}

static void reader_excludes_writer(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_read_map reads[2];
    tnr_write_map write;
    OK(tnr_map_read(&view, &reads[0]));
    OK(tnr_map_read(&view, &reads[1]));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&view_mut, &write));
    TEXT_HAS("2 read leases");
    OK(tnr_unmap_read(&reads[0]));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&view_mut, &write));
    TEXT_HAS("1 read lease");
    OK(tnr_unmap_read(&reads[1]));
    OK(tnr_map_write(&view_mut, &write));
    OK(tnr_unmap_write(&write));
    finish(&f);
}

/* Views that share no element still share their owner's lease, unless they were split. */
static void disjoint_views_that_were_not_split_exclude_each_other(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view_mut first = column_of(f.tensor, 0);
    const tnr_view_mut second = column_of(f.tensor, 1);
    tnr_write_map write;
    tnr_write_map other;
    OK(tnr_map_write(&first, &write));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&second, &other));
    OK(tnr_unmap_write(&write));
    finish(&f);
}

static void unmap_of_a_zeroed_map_is_fine_and_twice_too(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_read_map read;
    tnr_write_map write;
    memset(&read, 0, sizeof(read));
    memset(&write, 0, sizeof(write));
    OK(tnr_unmap_read(&read));
    OK(tnr_unmap_write(&write));
    OK(tnr_unmap_read(NULL));
    OK(tnr_unmap_write(NULL));
    OK(tnr_map_read(&view, &read));
    OK(tnr_unmap_read(&read));
    assert_null(read.data);
    OK(tnr_unmap_read(&read));
    OK(tnr_map_write(&view_mut, &write));
    OK(tnr_unmap_write(&write));
    assert_null(write.data);
    OK(tnr_unmap_write(&write));
    EXPECT(TNR_ERR_ARGUMENT, tnr_map_read(NULL, &read));
    EXPECT(TNR_ERR_ARGUMENT, tnr_map_read(&view, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_map_write(NULL, &write));
    EXPECT(TNR_ERR_ARGUMENT, tnr_map_write(&view_mut, NULL));
    OK(tnr_map_write(&view_mut, &write)); /* nothing above left a lease */
    OK(tnr_unmap_write(&write));
    finish(&f);
}

/* ---- Consuming under a lease ------------------------------------------------------------------------------------- */

static void refuse_all_consuming(fixture *f)
{
    tnr_tensor *same = f->tensor;
    tnr_domain *pool = NULL;
    tnr_group *group = NULL;
    tnr_group *made = untouched();
    tnr_exported exported;
    tnr_slot slot = {7, 7, 7};
    uint32_t owners = 9;
    OK(tnr_pool_create(f->heap, NULL, &pool));
    OK(tnr_group_create(f->heap, &group));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_release(&f->tensor));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_export(&f->tensor, &exported));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_reclaim(pool, &f->tensor));
    EXPECT(TNR_ERR_BUSY, tnr_group_append(group, &f->tensor, &slot));
    EXPECT(TNR_ERR_BUSY, tnr_group_from_tensors(f->heap, &f->tensor, 1, &made));
    assert_ptr_equal(f->tensor, same);
    assert_ptr_equal(made, untouched());
    assert_int_equal(slot.index, 7);
    OK(tnr_group_counts(group, &owners, NULL));
    assert_int_equal(owners, 0);
    OK(tnr_group_check(group));
    OK(tnr_group_release(&group));
    close_domain(&pool);
}

/* Idea 61: consuming submission with a live view. */
static void consuming_a_leased_tensor_is_busy(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_read_map read;
    tnr_write_map write;
    OK(tnr_map_read(&view, &read));
    refuse_all_consuming(&f);
    OK(tnr_unmap_read(&read));
    OK(tnr_map_write(&view_mut, &write));
    refuse_all_consuming(&f);
    OK(tnr_unmap_write(&write));
    tnr_view_mut parts[2];
    split_columns(f.tensor, parts, 2);
    OK(tnr_map_write(&parts[1], &write));
    refuse_all_consuming(&f);
    OK(tnr_unmap_write(&write));
    OK(tnr_map_read(&parts[1].view, &read));
    refuse_all_consuming(&f);
    OK(tnr_unmap_read(&read));
    assert_true(host_of(f.tensor)[31] == 32.0);
    finish(&f);
}

/* ---- Stale ------------------------------------------------------------------------------------------------------- */

static void check_stale(const tnr_view *view, const tnr_view_mut *view_mut)
{
    tnr_read_map read;
    tnr_write_map write;
    double value = 0;
    tnr_overlap overlap = TNR_OVERLAP_POSSIBLE;
    tnr_view_mut part = *view_mut;
    bool granted = true;
    EXPECT(TNR_ERR_STALE, tnr_map_read(view, &read));
    TEXT_HAS("map_read");
    EXPECT(TNR_ERR_STALE, tnr_map_write(view_mut, &write));
    EXPECT(TNR_ERR_STALE, tnr_view_get(view, SHAPE(0, 0), &value));
    EXPECT(TNR_ERR_STALE, tnr_view_set(view_mut, SHAPE(0, 0), &value));
    EXPECT(TNR_ERR_STALE, tnr_view_overlap(view, view, &overlap));
    EXPECT(TNR_ERR_STALE, tnr_view_mut_split(&part, 1, &granted));
}

static void views_are_stale_after_every_way_out(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view view = view_of(f.tensor);
    tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_exported exported;
    OK(tnr_tensor_export(&f.tensor, &exported));
    check_stale(&view, &view_mut);
    OK(tnr_tensor_import(f.heap, &exported, &f.tensor));
    check_stale(&view, &view_mut); /* the import has views of its own */

    tnr_group *group = NULL;
    tnr_slot slot;
    view = view_of(f.tensor);
    view_mut = view_mut_of(f.tensor);
    OK(tnr_group_create(f.heap, &group));
    OK(tnr_group_append(group, &f.tensor, &slot));
    check_stale(&view, &view_mut); /* entry */
    OK(tnr_group_view(group, slot, &view));
    OK(tnr_group_view_mut(group, slot, &view_mut));
    OK(tnr_group_take(group, slot, &f.tensor));
    check_stale(&view, &view_mut); /* take */
    OK(tnr_group_append(group, &f.tensor, &slot));
    OK(tnr_group_view(group, slot, &view));
    OK(tnr_group_view_mut(group, slot, &view_mut));
    OK(tnr_group_release(&group));
    check_stale(&view, &view_mut); /* release of the group */

    tnr_draft *draft = NULL;
    OK(tnr_draft_begin(f.heap, TNR_F64, 2, SHAPE(8, 4), &draft));
    OK(tnr_draft_view(draft, &view_mut));
    OK(tnr_draft_commit(&draft, &f.tensor));
    check_stale(&view_mut.view, &view_mut); /* commit */
    view = view_of(f.tensor);
    view_mut = view_mut_of(f.tensor);
    tnr_view_mut parts[2];
    split_columns(f.tensor, parts, 2);
    release(&f.tensor);
    check_stale(&view, &view_mut);
    check_stale(&parts[0].view, &parts[0]);
    close_domain(&f.heap);
}

/* ---- Drafts ------------------------------------------------------------------------------------------------------ */

static void draft_cannot_be_read_before_commit(void **state)
{
    (void)state;
    fixture f = start();
    tnr_draft *draft = NULL;
    tnr_view_mut view;
    tnr_read_map read;
    tnr_write_map write;
    tnr_tensor *copy = untouched();
    double value = 3;
    OK(tnr_draft_begin(f.heap, TNR_F64, 2, SHAPE(2, 2), &draft));
    OK(tnr_draft_view(draft, &view));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view.view, &read));
    TEXT_HAS("tnr_draft_commit");
    EXPECT(TNR_ERR_BUSY, tnr_view_get(&view.view, SHAPE(0, 0), &value));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_duplicate(&view.view, f.heap, &copy));
    assert_ptr_equal(copy, untouched());
    tnr_view_mut parts[2];
    bool granted = false;
    for (int64_t part = 0; part < 2; part++) {
        parts[part] = view;
        OK(tnr_view_mut_slice_axis(&view, 1, (tnr_range){part, part + 1, 1}, &parts[part]));
    }
    OK(tnr_view_mut_split(parts, 2, &granted));
    assert_true(granted);
    OK(tnr_map_write(&parts[0], &write));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&parts[1].view, &read));
    TEXT_HAS("tnr_draft_commit");
    OK(tnr_unmap_write(&write));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&parts[1].view, &read));
    OK(tnr_view_set(&view, SHAPE(0, 0), &value)); /* refusals left no lease */
    OK(tnr_draft_abandon(&draft));
    finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_share),
        cmocka_unit_test(writer_excludes_writer_and_reader),
        cmocka_unit_test(reader_excludes_writer),
        cmocka_unit_test(disjoint_views_that_were_not_split_exclude_each_other),
        cmocka_unit_test(unmap_of_a_zeroed_map_is_fine_and_twice_too),
        cmocka_unit_test(consuming_a_leased_tensor_is_busy),
        cmocka_unit_test(views_are_stale_after_every_way_out),
        cmocka_unit_test(draft_cannot_be_read_before_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
