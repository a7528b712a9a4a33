/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Guards of mappings that were copied or ended before hold nothing and take nothing; and mapped memory whose mappings do not
 * show each other's writes: parts of a split are then leased one after the other, and no write is lost.
 */
#include "support/lease_fixture.h"

/* ---- Copies of guards -------------------------------------------------------------------------------------------- */

static void copied_read_guard_takes_nobodys_lease(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_read_map read;
    tnr_read_map other;
    tnr_write_map write;
    OK(tnr_map_read(&view, &read));
    OK(tnr_map_read(&view, &other));
    tnr_read_map copy = read;
    const tnr_read_map before = copy;
    EXPECT(TNR_ERR_STALE, tnr_unmap_read(&copy)); /* while the mapping lives */
    assert_memory_equal(&copy, &before, sizeof(copy));
    OK(tnr_unmap_read(&read));
    EXPECT(TNR_ERR_STALE, tnr_unmap_read(&copy)); /* and after, with another reader live */
    TEXT_HAS("copy");
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&view_mut, &write)); /* whose lease is untouched */
    OK(tnr_unmap_read(&other));
    EXPECT(TNR_ERR_STALE, tnr_unmap_read(&copy));
    OK(tnr_map_write(&view_mut, &write));
    OK(tnr_unmap_write(&write));
    finish(&f);
}

static void copied_write_guard_takes_nobodys_lease(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_write_map write;
    tnr_write_map again;
    tnr_read_map read;
    OK(tnr_map_write(&view_mut, &write));
    tnr_write_map copy = write;
    EXPECT(TNR_ERR_STALE, tnr_unmap_write(&copy));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view, &read));
    OK(tnr_unmap_write(&write));
    EXPECT(TNR_ERR_STALE, tnr_unmap_write(&copy));
    OK(tnr_map_write(&view_mut, &again));
    EXPECT(TNR_ERR_STALE, tnr_unmap_write(&copy));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view, &read)); /* the second writer still holds it */
    OK(tnr_unmap_write(&again));
    finish(&f);
}

/* The guard put back where it lay: only the lease itself can tell that it ended. */
static void guard_that_ended_before_is_stale(void **state)
{
    (void)state;
    fixture f = start();
    const tnr_view view = view_of(f.tensor);
    const tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_read_map read;
    tnr_write_map write;
    OK(tnr_map_read(&view, &read));
    const tnr_read_map kept = read;
    OK(tnr_unmap_read(&read));
    read = kept;
    EXPECT(TNR_ERR_STALE, tnr_unmap_read(&read));
    OK(tnr_map_write(&view_mut, &write));
    const tnr_write_map kept_write = write;
    EXPECT(TNR_ERR_STALE, tnr_unmap_read(&read)); /* a writer is no reader */
    OK(tnr_unmap_write(&write));
    write = kept_write;
    EXPECT(TNR_ERR_STALE, tnr_unmap_write(&write));
    OK(tnr_map_read(&view, &read));
    EXPECT(TNR_ERR_STALE, tnr_unmap_write(&write));
    OK(tnr_unmap_read(&read));
    finish(&f);
}

static void guard_of_a_part_that_ended_before_is_stale(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view_mut parts[2];
    tnr_read_map read;
    tnr_write_map write;
    tnr_write_map sibling;
    split_columns(f.tensor, parts, 2);
    OK(tnr_map_read(&parts[0].view, &read));
    const tnr_read_map kept = read;
    OK(tnr_unmap_read(&read));
    OK(tnr_map_write(&parts[0], &write));
    const tnr_write_map kept_write = write;
    OK(tnr_unmap_write(&write));
    OK(tnr_map_write(&parts[1], &sibling)); /* the owner has leases, this part has none */
    read = kept;
    write = kept_write;
    EXPECT(TNR_ERR_STALE, tnr_unmap_read(&read));
    EXPECT(TNR_ERR_STALE, tnr_unmap_write(&write));
    OK(tnr_map_write(&parts[0], &write)); /* no reader was counted below none */
    OK(tnr_unmap_write(&write));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&parts[1].view, &read));
    OK(tnr_unmap_write(&sibling));
    finish(&f);
}

/* The slot has a new tensor by now, which somebody else has mapped. */
static void guard_of_a_tensor_that_is_gone_is_stale(void **state)
{
    (void)state;
    fixture f = start();
    tnr_view view = view_of(f.tensor);
    tnr_view_mut view_mut = view_mut_of(f.tensor);
    tnr_read_map read;
    tnr_write_map write;
    OK(tnr_map_read(&view, &read));
    const tnr_read_map kept = read;
    OK(tnr_unmap_read(&read));
    OK(tnr_map_write(&view_mut, &write));
    const tnr_write_map kept_write = write;
    OK(tnr_unmap_write(&write));
    const tnr_tensor *slot = f.tensor;
    release(&f.tensor);
    f.tensor = make_counting(f.heap, 2, SHAPE(8, 4));
    assert_ptr_equal(f.tensor, slot); /* last in, first out */
    view = view_of(f.tensor);
    view_mut = view_mut_of(f.tensor);
    tnr_read_map other;
    OK(tnr_map_read(&view, &other));
    read = kept;
    EXPECT(TNR_ERR_STALE, tnr_unmap_read(&read));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&view_mut, &write));
    OK(tnr_unmap_read(&other));
    tnr_write_map writer;
    OK(tnr_map_write(&view_mut, &writer));
    write = kept_write;
    EXPECT(TNR_ERR_STALE, tnr_unmap_write(&write));
    EXPECT(TNR_ERR_BUSY, tnr_map_read(&view, &other));
    OK(tnr_unmap_write(&writer));
    finish(&f);
}

/* ---- Mappings that do not show each other's writes ---------------------------------------------------------------- */

typedef struct staged {
    tnr_domain *heap;
    test_memory memory;
    tnr_domain *domain;
    tnr_domain *pool; /* over it: just as incoherent */
} staged;

static void stage(staged *s)
{
    memset(s, 0, sizeof(*s));
    s->memory.staging = true;
    s->heap = make_heap();
    s->domain = make_program_domain(s->heap, &s->memory, TNR_ACCESS_MAPPED);
    OK(tnr_pool_create(s->domain, NULL, &s->pool));
}

static void unstage(staged *s)
{
    close_domain(&s->pool);
    close_domain(&s->domain);
    close_domain(&s->heap);
    assert_int_equal(s->memory.maps, s->memory.unmaps);
    assert_int_equal(s->memory.allocates, s->memory.releases);
}

static void siblings_take_turns_in(tnr_domain *domain)
{
    tnr_tensor *tensor = make_counting(domain, 2, SHAPE(8, 2));
    const tnr_view whole = view_of(tensor);
    tnr_view_mut parts[2];
    tnr_write_map write[2];
    tnr_read_map read[2];
    split_columns(tensor, parts, 2); /* granted: that is a question of bytes */
    for (int turn = 0; turn < 2; turn++) {
        OK(tnr_map_write(&parts[turn], &write[turn]));
        EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[1 - turn], &write[1 - turn]));
        EXPECT(TNR_ERR_BUSY, tnr_map_read(&parts[1 - turn].view, &read[0]));
        EXPECT(TNR_ERR_BUSY, tnr_map_read(&whole, &read[0]));
        *(double *)write[turn].data = 100.0 * (turn + 1);
        OK(tnr_unmap_write(&write[turn]));
    }
    OK(tnr_map_read(&parts[0].view, &read[0])); /* readers hide nothing from each other */
    OK(tnr_map_read(&parts[1].view, &read[1]));
    assert_true(*(const double *)read[0].data == 100.0);
    assert_true(((const double *)read[0].data)[7] == 8.0); /* what was not written is what it was */
    assert_true(*(const double *)read[1].data == 200.0);
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[0], &write[0]));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_release(&tensor));
    OK(tnr_unmap_read(&read[0]));
    EXPECT(TNR_ERR_BUSY, tnr_map_write(&parts[0], &write[0]));
    OK(tnr_unmap_read(&read[1]));
    OK(tnr_map_write(&parts[0], &write[0]));
    OK(tnr_unmap_write(&write[0]));
    release(&tensor);
}

static void siblings_take_turns_where_mappings_are_not_coherent(void **state)
{
    (void)state;
    staged s;
    stage(&s);
    siblings_take_turns_in(s.domain);
    siblings_take_turns_in(s.pool);
    unstage(&s);
}

/* Writes to neighbouring parts, element by element, in turns: each mapping copies all in and all out. */
static void staging_loses_no_write(void **state)
{
    (void)state;
    staged s;
    stage(&s);
    tnr_tensor *tensor = make_counting(s.pool, 2, SHAPE(4, 3));
    tnr_tensor *copy = NULL;
    tnr_view_mut parts[3];
    split_columns(tensor, parts, 3);
    double value = 0;
    for (int64_t row = 0; row < 4; row++) {
        for (int part = 0; part < 3; part++) {
            value = 10.0 * (part + 1) + (double)row;
            OK(tnr_view_set(&parts[part], SHAPE(row, 0), &value));
        }
    }
    const tnr_view view = view_of(tensor);
    OK(tnr_tensor_duplicate(&view, s.heap, &copy));
    for (int at = 0; at < 12; at++) {
        assert_true(host_of(copy)[at] == 10.0 * (at / 4 + 1) + at % 4);
    }
    release(&copy);
    OK(tnr_tensor_duplicate(&parts[1].view, s.domain, &copy)); /* staged at both ends */
    const tnr_view made = view_of(copy);
    OK(tnr_view_get(&made, SHAPE(3, 0), &value));
    assert_true(value == 23.0);
    release(&copy);
    release(&tensor);
    unstage(&s);
}

static void siblings_are_written_at_once_where_mappings_are_coherent(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(domain, NULL, &pool));
    tnr_domain *domains[2] = {domain, pool};
    for (int at = 0; at < 2; at++) {
        tnr_tensor *tensor = make_counting(domains[at], 2, SHAPE(8, 2));
        tnr_view_mut parts[2];
        tnr_write_map write[2];
        split_columns(tensor, parts, 2);
        OK(tnr_map_write(&parts[0], &write[0]));
        OK(tnr_map_write(&parts[1], &write[1]));
        OK(tnr_unmap_write(&write[0]));
        OK(tnr_unmap_write(&write[1]));
        release(&tensor);
    }
    close_domain(&pool);
    close_domain(&domain);
    close_domain(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copied_read_guard_takes_nobodys_lease),
        cmocka_unit_test(copied_write_guard_takes_nobodys_lease),
        cmocka_unit_test(guard_that_ended_before_is_stale),
        cmocka_unit_test(guard_of_a_part_that_ended_before_is_stale),
        cmocka_unit_test(guard_of_a_tensor_that_is_gone_is_stale),
        cmocka_unit_test(siblings_take_turns_where_mappings_are_not_coherent),
        cmocka_unit_test(staging_loses_no_write),
        cmocka_unit_test(siblings_are_written_at_once_where_mappings_are_coherent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
