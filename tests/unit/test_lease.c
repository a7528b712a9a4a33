/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases by their contract: many readers or one writer, parts of a split each for themselves, BUSY at once and never a
 * wait, STALE once the owner went. The last cases run on several threads.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>

#include "support/storage_test.h"

typedef struct fixture {
    tnr_domain *heap;
    tnr_tensor *tensor; /* 8 x 4, f64 */
} fixture;

static fixture start(void)
{
    fixture made;
    made.heap = make_heap();
    made.tensor = make_counting(made.heap, 2, SHAPE(8, 4));
    return made;
}

static void finish(fixture *used)
{
    release(&used->tensor);
    close_domain(&used->heap);
}

/* Column `column` of the fixture's tensor. */
static tnr_view_mut column_of(tnr_tensor *tensor, int64_t column)
{
    tnr_view_mut view = view_mut_of(tensor);
    OK(tnr_view_mut_slice_axis(&view, 1, (tnr_slice){column, column + 1, 1}, &view));
    return view;
}

static void split_columns(tnr_tensor *tensor, tnr_view_mut *parts, size_t count)
{
    bool granted = false;
    for (size_t part = 0; part < count; part++) {
        parts[part] = column_of(tensor, (int64_t)part);
    }
    OK(tnr_view_mut_split(parts, count, &granted));
    assert_true(granted);
}

/* ---- The whole ------------------------------------------------------------------------------------------------------------ */

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

/* ---- Consuming under a lease ------------------------------------------------------------------------------------------------ */

static void refuse_all_consuming(fixture *f)
{
    tnr_tensor *same = f->tensor;
    tnr_domain *pool = NULL;
    tnr_group *group = NULL;
    tnr_group *made = untouched();
    tnr_exported exported;
    tnr_slot slot = {7, 7};
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

/* ---- Stale -------------------------------------------------------------------------------------------------------------------- */

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

/* ---- Drafts --------------------------------------------------------------------------------------------------------------------- */

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
        OK(tnr_view_mut_slice_axis(&view, 1, (tnr_slice){part, part + 1, 1}, &parts[part]));
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

/* ---- Splits --------------------------------------------------------------------------------------------------------------------- */

/* Idea 61 of the pass set: a disjoint split. */
static void siblings_are_written_at_the_same_time(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view_mut parts[4];
    tnr_write_map maps[4];
    split_columns(f.tensor, parts, 4);
    for (int part = 0; part < 4; part++) {
        OK(tnr_map_write(&parts[part], &maps[part]));
        *(double *)maps[part].data = 100.0 + part;
    }
    for (int part = 0; part < 4; part++) {
        OK(tnr_unmap_write(&maps[(part + 2) % 4])); /* in another order */
    }
    for (int part = 0; part < 4; part++) {
        assert_true(host_of(f.tensor)[8 * part] == 100.0 + part);
    }
    finish(&f);
}

static void same_part_twice_is_busy(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view_mut parts[2];
    tnr_write_map first;
    tnr_write_map second;
    tnr_read_map read;
    split_columns(f.tensor, parts, 2);
    OK(tnr_map_write(&parts[0], &first));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[0], &second));
    TEXT_HAS("this part is leased for writing");
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&parts[0].view, &read));
    TEXT_HAS("this part is leased for writing");
    /* What is cut from a part stays that part. */
    tnr_view_mut piece;
    OK(tnr_view_mut_slice_axis(&parts[0], 0, (tnr_slice){4, 8, 1}, &piece));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&piece, &second));
    OK(tnr_view_mut_slice_axis(&parts[1], 0, (tnr_slice){4, 8, 1}, &piece));
    OK(tnr_map_write(&piece, &second));
    OK(tnr_unmap_write(&second));
    OK(tnr_unmap_write(&first));
    OK(tnr_map_write(&parts[0], &first));
    OK(tnr_unmap_write(&first));
    finish(&f);
}

static void whole_and_part_exclude_each_other(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_view_mut parts[2];
    tnr_write_map write;
    tnr_write_map second;
    tnr_read_map read;
    split_columns(f.tensor, parts, 2);
    OK(tnr_map_write(&parts[0], &write));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&view_mut, &second));
    TEXT_HAS("parts of the owner");
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view, &read));
    TEXT_HAS("parts of the owner");
    OK(tnr_unmap_write(&write));
    OK(tnr_map_write(&view_mut, &write));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[0], &second));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&parts[0].view, &read));
    OK(tnr_unmap_write(&write));
    OK(tnr_map_read(&view, &read));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[0], &second));
    OK(tnr_unmap_read(&read));
    OK(tnr_map_write(&parts[0], &write));
    OK(tnr_unmap_write(&write));
    finish(&f);
}

/* In either order of arrival. */
static void reader_of_one_part_beside_writer_of_another(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view_mut parts[2];
    tnr_write_map write;
    tnr_write_map second;
    tnr_read_map reads[2];
    split_columns(f.tensor, parts, 2);
    for (int order = 0; order < 2; order++) {
        if (order == 0) {
            OK(tnr_map_write(&parts[1], &write));
            OK(tnr_map_read(&parts[0].view, &reads[0]));
        } else {
            OK(tnr_map_read(&parts[0].view, &reads[0]));
            OK(tnr_map_write(&parts[1], &write));
        }
        OK(tnr_map_read(&parts[0].view, &reads[1])); /* many readers of a part */
        EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[0], &second));
        TEXT_HAS("this part is leased for reading");
        assert_true(*(const double *)reads[1].data == 1.0);
        OK(tnr_unmap_read(&reads[0]));
        EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[0], &second)); /* one reader is left */
        OK(tnr_unmap_read(&reads[1]));
        OK(tnr_map_write(&parts[0], &second)); /* and now none, though the other part is still written */
        OK(tnr_unmap_write(&second));
        OK(tnr_unmap_write(&write));
    }
    finish(&f);
}

/* Reading excludes no reading, of whatever: the whole, a part, a part of another split, in every order. */
static void readers_of_all_kinds_share(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_view_mut first[2];
    tnr_view_mut second[2];
    split_columns(f.tensor, first, 2);
    split_columns(f.tensor, second, 2);
    const tnr_view *kinds[4] = {&view, &first[0].view, &first[1].view, &second[0].view};
    for (int order = 0; order < 24; order++) {
        int left[4] = {0, 1, 2, 3};
        int code = order;
        tnr_read_map maps[4];
        int picked[4];
        for (int at = 0; at < 4; at++) {
            const int which = code % (4 - at);
            code /= 4 - at;
            picked[at] = left[which];
            left[which] = left[3 - at];
            OK(tnr_map_read(kinds[picked[at]], &maps[at]));
        }
        tnr_write_map write;
        EXPECT(TNR_ERR_BUSY, tnr_map_write(&view_mut, &write));
        EXPECT(TNR_ERR_BUSY, tnr_map_write(&first[0], &write));
        EXPECT(TNR_ERR_BUSY, tnr_map_write(&second[1], &write));
        for (int at = 0; at < 4; at++) {
            OK(tnr_unmap_read(&maps[(at + order) % 4]));
        }
        OK(tnr_map_write(&view_mut, &write));
        OK(tnr_unmap_write(&write));
    }
    finish(&f);
}

static void parts_of_different_splits_exclude_each_other(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view_mut first[2];
    tnr_view_mut second[2];
    tnr_write_map write;
    tnr_write_map other;
    tnr_read_map read;
    split_columns(f.tensor, first, 2);
    split_columns(f.tensor, second, 2);
    OK(tnr_map_write(&first[0], &write));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&second[1], &other)); /* apart, but nobody proved it */
    TEXT_HAS("another split");
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&second[1].view, &read));
    OK(tnr_unmap_write(&write));
    OK(tnr_map_write(&second[1], &other)); /* the split in use changes once the other is at rest */
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&first[0], &write));
    OK(tnr_map_write(&second[0], &write));
    OK(tnr_unmap_write(&write));
    OK(tnr_unmap_write(&other));
    OK(tnr_map_write(&first[0], &write)); /* the old split is as good as ever */
    OK(tnr_unmap_write(&write));
    finish(&f);
}

static void all_64_parts_are_written_at_the_same_time(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(4, 65));
    tnr_view_mut parts[TNR_MAX_PARTS + 1];
    tnr_write_map maps[TNR_MAX_PARTS];
    bool granted = false;
    for (int64_t part = 0; part <= TNR_MAX_PARTS; part++) {
        parts[part] = column_of(tensor, part);
    }
    const tnr_view_mut before = parts[0];
    EXPECT(TNR_ERR_ARGUMENT, tnr_view_mut_split(parts, TNR_MAX_PARTS + 1, &granted));
    assert_false(granted);
    assert_memory_equal(&parts[0], &before, sizeof(before));
    OK(tnr_view_mut_split(parts, TNR_MAX_PARTS, &granted));
    assert_true(granted);
    for (int part = 0; part < TNR_MAX_PARTS; part++) {
        OK(tnr_map_write(&parts[part], &maps[part]));
    }
    for (int part = 0; part < TNR_MAX_PARTS; part++) {
        tnr_write_map again;
        EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[part], &again));
        OK(tnr_unmap_write(&maps[part]));
        OK(tnr_map_write(&parts[part], &again));
        OK(tnr_unmap_write(&again));
    }
    release(&tensor);
    close_domain(&heap);
}

/* The readers of one part can be counted up to a limit; the next one is refused, and all of them leave in good order. */
static void readers_of_a_part_have_a_limit(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view_mut parts[2];
    tnr_read_map maps[200];
    tnr_write_map write;
    split_columns(f.tensor, parts, 2);
    int count = 0;
    while (count < 200 && tnr_map_read(&parts[0].view, &maps[count]) == TNR_OK) {
        count++;
    }
    assert_int_equal(count, 63);
    TEXT_HAS("no more readers");
    OK(tnr_map_write(&parts[1], &write));
    OK(tnr_unmap_write(&write));
    while (count > 0) {
        EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[0], &write));
        OK(tnr_unmap_read(&maps[--count]));
    }
    OK(tnr_map_write(&parts[0], &write));
    OK(tnr_unmap_write(&write));
    finish(&f);
}

static void split_that_is_not_granted_changes_nothing(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view_mut parts[3] = {column_of(f.tensor, 0), column_of(f.tensor, 1), view_mut_of(f.tensor)};
    tnr_view_mut before[3];
    bool granted = true;
    memcpy(before, parts, sizeof(parts));
    OK(tnr_view_mut_split(parts, 3, &granted)); /* all pairs are compared: the last holds the others */
    assert_false(granted);
    assert_memory_equal(before, parts, sizeof(parts));
    granted = false;
    OK(tnr_view_mut_split(NULL, 0, &granted));
    assert_true(granted);
    EXPECT(TNR_ERR_ARGUMENT, tnr_view_mut_split(NULL, 1, &granted));
    EXPECT(TNR_ERR_ARGUMENT, tnr_view_mut_split(parts, 2, NULL));
    finish(&f);
}

/* Idea 54; views of different owners never conflict. */
static void split_over_two_owners(void **state)
{
    (void)state;
    fixture f = start();
    tnr_tensor *other = make_counting(f.heap, 2, SHAPE(8, 4));
    tnr_view_mut parts[4] = {column_of(f.tensor, 0), column_of(other, 0), column_of(f.tensor, 1), column_of(other, 1)};
    tnr_write_map maps[4];
    bool granted = false;
    OK(tnr_view_mut_split(parts, 4, &granted));
    assert_true(granted);
    for (int part = 0; part < 4; part++) {
        OK(tnr_map_write(&parts[part], &maps[part]));
    }
    for (int part = 0; part < 4; part++) {
        OK(tnr_unmap_write(&maps[part]));
    }
    release(&other);
    finish(&f);
}

/* Two adopted owners of one buffer: the memory decides, not the owner. */
static void split_over_two_owners_of_one_buffer(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    double buffer[8] = {0};
    tnr_tensor *owners[2] = {NULL, NULL};
    OK(tnr_tensor_adopt(heap, TNR_F64, 1, SHAPE(8), buffer, 64, NULL, NULL, &owners[0]));
    OK(tnr_tensor_adopt(heap, TNR_F64, 1, SHAPE(8), buffer, 64, NULL, NULL, &owners[1]));
    tnr_view_mut parts[2] = {view_mut_of(owners[0]), view_mut_of(owners[1])};
    bool granted = true;
    OK(tnr_view_mut_split(parts, 2, &granted));
    assert_false(granted);
    OK(tnr_view_mut_slice_axis(&parts[0], 0, (tnr_slice){0, 4, 1}, &parts[0]));
    OK(tnr_view_mut_slice_axis(&parts[1], 0, (tnr_slice){4, 8, 1}, &parts[1]));
    OK(tnr_view_mut_split(parts, 2, &granted));
    assert_true(granted);
    release(&owners[0]);
    release(&owners[1]);
    close_domain(&heap);
}

/* A copy of a part reads it and writes the new owner; a reader of the part shares with it. */
static void operations_on_parts_lease_just_their_parts(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view_mut parts[2];
    tnr_write_map write;
    tnr_tensor *copy = NULL;
    split_columns(f.tensor, parts, 2);
    OK(tnr_map_write(&parts[1], &write));
    OK(tnr_tensor_duplicate(&parts[0].view, f.heap, &copy));
    assert_true(host_of(copy)[7] == 8.0);
    release(&copy);
    EXPECT(TNR_ERR_BUSY, tnr_tensor_duplicate(&parts[1].view, f.heap, &copy));
    const double value = 70;
    OK(tnr_view_set(&parts[0], SHAPE(7, 0), &value));
    OK(tnr_unmap_write(&write));
    assert_true(host_of(f.tensor)[7] == 70.0);
    finish(&f);
}

/* ---- Threads ---------------------------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 3000

typedef struct job {
    tnr_view view;
    tnr_view_mut view_mut;
    int64_t number;
    uint64_t got;
    uint64_t busy;
    bool wrong;
} job;

static void run_threads(void *(*body)(void *), job *jobs, int count)
{
    pthread_t threads[THREADS];
    assert_true(count <= THREADS);
    for (int at = 0; at < count; at++) {
        assert_int_equal(pthread_create(&threads[at], NULL, body, &jobs[at]), 0);
    }
    for (int at = 0; at < count; at++) {
        assert_int_equal(pthread_join(threads[at], NULL), 0);
        assert_false(jobs[at].wrong);
    }
}

/* Adds 1 to every element under a write lease: lost updates and torn reads would show, and so would a data race. */
static void *add_when_let_in(void *argument)
{
    job *own = argument;
    int64_t count = 0;
    own->wrong = tnr_view_count(&own->view, &count) != TNR_OK;
    while (own->got < ROUNDS && !own->wrong) {
        tnr_write_map write;
        tnr_read_map read;
        tnr_status status = tnr_map_write(&own->view_mut, &write);
        if (status == TNR_OK) {
            for (int64_t at = 0; at < count; at++) {
                ((double *)write.data)[at] += 1.0;
            }
            own->got++;
            own->wrong = tnr_unmap_write(&write) != TNR_OK;
        } else {
            own->busy++;
            own->wrong = status != TNR_ERR_BUSY;
        }
        status = tnr_map_read(&own->view, &read);
        if (status == TNR_OK) {
            const double *data = read.data;
            for (int64_t at = 1; at < count && !own->wrong; at++) {
                own->wrong = data[at] != data[0]; /* a whole update or none */
            }
            own->wrong = tnr_unmap_read(&read) != TNR_OK || own->wrong;
        } else {
            own->wrong = own->wrong || status != TNR_ERR_BUSY;
        }
    }
    return NULL;
}

static void threads_on_the_whole_never_meet(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_zeros(heap, TNR_F64, 1, SHAPE(16), &tensor));
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) {
        jobs[at].view = view_of(tensor);
        jobs[at].view_mut = view_mut_of(tensor);
    }
    run_threads(add_when_let_in, jobs, THREADS);
    assert_true(host_of(tensor)[15] == (double)THREADS * ROUNDS);
    release(&tensor);
    close_domain(&heap);
}

static void threads_on_their_own_parts_are_never_busy(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = NULL;
    tnr_view_mut parts[THREADS];
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(8, THREADS), &tensor));
    split_columns(tensor, parts, THREADS);
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) {
        jobs[at].view = parts[at].view;
        jobs[at].view_mut = parts[at];
    }
    run_threads(add_when_let_in, jobs, THREADS);
    for (int at = 0; at < THREADS; at++) {
        assert_int_equal(jobs[at].busy, 0);
        assert_true(host_of(tensor)[8 * at + 7] == (double)ROUNDS);
    }
    release(&tensor);
    close_domain(&heap);
}

static void threads_on_shared_parts_and_the_whole_never_meet(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = NULL;
    tnr_view_mut parts[2];
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(8, 2), &tensor));
    split_columns(tensor, parts, 2);
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) { /* two to each part; the halves of a pair exclude each other */
        jobs[at].view = parts[at % 2].view;
        jobs[at].view_mut = parts[at % 2];
    }
    jobs[3].view = view_of(tensor); /* and one wants the whole: its halves differ, so it only writes equal ones */
    jobs[3].view_mut = view_mut_of(tensor);
    OK(tnr_view_mut_slice_axis(&jobs[3].view_mut, 1, (tnr_slice){0, 1, 1}, &jobs[3].view_mut));
    OK(tnr_view_slice_axis(&jobs[3].view, 1, (tnr_slice){0, 1, 1}, &jobs[3].view));
    run_threads(add_when_let_in, jobs, THREADS);
    assert_true(host_of(tensor)[0] == 3.0 * ROUNDS); /* jobs 0, 2 and 3 */
    assert_true(host_of(tensor)[8] == 1.0 * ROUNDS);
    release(&tensor);
    close_domain(&heap);
}

/* Readers of part 0 on all threads while each writes its own part: nobody is ever in anybody's way. */
static void *read_one_write_another(void *argument)
{
    job *own = argument;
    for (int round = 0; round < ROUNDS && !own->wrong; round++) {
        tnr_read_map read;
        tnr_write_map write;
        own->wrong = tnr_map_read(&own->view, &read) != TNR_OK;
        own->wrong = own->wrong || tnr_map_write(&own->view_mut, &write) != TNR_OK;
        if (!own->wrong) {
            *(double *)write.data += *(const double *)read.data;
            own->wrong = tnr_unmap_read(&read) != TNR_OK || tnr_unmap_write(&write) != TNR_OK;
        }
    }
    return NULL;
}

static void threads_read_one_part_and_write_their_own(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(1, THREADS + 1));
    tnr_view_mut parts[THREADS + 1];
    split_columns(tensor, parts, THREADS + 1);
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) {
        jobs[at].view = parts[0].view;
        jobs[at].view_mut = parts[at + 1];
    }
    run_threads(read_one_write_another, jobs, THREADS);
    for (int at = 0; at < THREADS; at++) {
        assert_true(host_of(tensor)[at + 1] == at + 2.0 + ROUNDS);
    }
    release(&tensor);
    close_domain(&heap);
}

/* Readers race with the owner's release: each gets the bytes or STALE, never something in between. */
static atomic_int gone;

static void *read_until_stale(void *argument)
{
    job *own = argument;
    for (;;) {
        tnr_read_map read;
        const tnr_status status = tnr_map_read(&own->view, &read);
        if (status == TNR_ERR_STALE) {
            return NULL;
        }
        if (status != TNR_OK && status != TNR_ERR_BUSY) {
            own->wrong = true;
            return NULL;
        }
        if (status == TNR_OK) {
            own->wrong = own->wrong || ((const double *)read.data)[31] != 32.0 || atomic_load(&gone) != 0;
            own->wrong = tnr_unmap_read(&read) != TNR_OK || own->wrong;
        }
    }
}

static void release_waits_for_no_reader_and_no_reader_sees_freed_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        fixture f = start();
        job jobs[2];
        pthread_t threads[2];
        memset(jobs, 0, sizeof(jobs));
        atomic_store(&gone, 0);
        for (int at = 0; at < 2; at++) {
            jobs[at].view = view_of(f.tensor);
            assert_int_equal(pthread_create(&threads[at], NULL, read_until_stale, &jobs[at]), 0);
        }
        tnr_status status;
        do {
            status = tnr_tensor_release(&f.tensor);
        } while (status == TNR_ERR_BUSY);
        atomic_store(&gone, 1);
        for (int at = 0; at < 2; at++) {
            assert_int_equal(pthread_join(threads[at], NULL), 0);
            assert_false(jobs[at].wrong);
        }
        OK(status);
        close_domain(&f.heap);
    }
}

/* Tensors are made and released on every thread at once, in one domain. */
static void *make_and_release(void *argument)
{
    job *own = argument;
    for (int round = 0; round < ROUNDS && !own->wrong; round++) {
        tnr_tensor *made = NULL;
        tnr_read_map read;
        own->wrong = tnr_tensor_duplicate(&own->view, own->view.root == NULL ? NULL : (tnr_domain *)(uintptr_t)own->got,
                                          &made) != TNR_OK;
        if (!own->wrong) {
            tnr_view view;
            own->wrong = tnr_tensor_view(made, &view) != TNR_OK || tnr_map_read(&view, &read) != TNR_OK;
            own->wrong = own->wrong || ((const double *)read.data)[31] != 32.0;
            own->wrong = own->wrong || tnr_unmap_read(&read) != TNR_OK || tnr_tensor_release(&made) != TNR_OK;
        }
    }
    return NULL;
}

static void threads_make_tensors_in_one_domain(void **state)
{
    (void)state;
    fixture f = start();
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(arena, NULL, &pool));
    tnr_domain *domains[3] = {f.heap, arena, pool};
    for (int index = 0; index < 3; index++) {
        job jobs[THREADS];
        memset(jobs, 0, sizeof(jobs));
        for (int at = 0; at < THREADS; at++) {
            jobs[at].view = view_of(f.tensor);
            jobs[at].got = (uint64_t)(uintptr_t)domains[index];
        }
        const tnr_ledger before = ledger_of(domains[index]);
        run_threads(make_and_release, jobs, THREADS);
        const tnr_ledger after = ledger_of(domains[index]);
        assert_int_equal(after.copies[TNR_COPY_DUPLICATE].count - before.copies[TNR_COPY_DUPLICATE].count,
                         THREADS * ROUNDS);
        assert_int_equal(after.releases - before.releases, THREADS * ROUNDS);
    }
    close_domain(&pool);
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    free(region);
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
        cmocka_unit_test(siblings_are_written_at_the_same_time),
        cmocka_unit_test(same_part_twice_is_busy),
        cmocka_unit_test(whole_and_part_exclude_each_other),
        cmocka_unit_test(reader_of_one_part_beside_writer_of_another),
        cmocka_unit_test(readers_of_all_kinds_share),
        cmocka_unit_test(parts_of_different_splits_exclude_each_other),
        cmocka_unit_test(all_64_parts_are_written_at_the_same_time),
        cmocka_unit_test(readers_of_a_part_have_a_limit),
        cmocka_unit_test(split_that_is_not_granted_changes_nothing),
        cmocka_unit_test(split_over_two_owners),
        cmocka_unit_test(split_over_two_owners_of_one_buffer),
        cmocka_unit_test(operations_on_parts_lease_just_their_parts),
        cmocka_unit_test(threads_on_the_whole_never_meet),
        cmocka_unit_test(threads_on_their_own_parts_are_never_busy),
        cmocka_unit_test(threads_on_shared_parts_and_the_whole_never_meet),
        cmocka_unit_test(threads_read_one_part_and_write_their_own),
        cmocka_unit_test(release_waits_for_no_reader_and_no_reader_sees_freed_bytes),
        cmocka_unit_test(threads_make_tensors_in_one_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
