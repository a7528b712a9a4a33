/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases on parts of a split: each part for itself, and against the whole and other splits. */
#include "support/lease_fixture.h"

/* ---- Splits ------------------------------------------------------------------------------------------------------ */

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
    OK(tnr_view_mut_slice_axis(&parts[0], 0, (tnr_range){4, 8, 1}, &piece));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&piece, &second));
    OK(tnr_view_mut_slice_axis(&parts[1], 0, (tnr_range){4, 8, 1}, &piece));
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
    OK(tnr_view_mut_slice_axis(&parts[0], 0, (tnr_range){0, 4, 1}, &parts[0]));
    OK(tnr_view_mut_slice_axis(&parts[1], 0, (tnr_range){4, 8, 1}, &parts[1]));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
