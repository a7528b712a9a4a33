/* SPDX-License-Identifier: BSD-3-Clause */
/* The ledger by its contract: allocations, copies and releases by reason, and nothing else. */
#include "support/storage_test.h"

/* ---- The ledger -------------------------------------------------------------------------------------------------- */

static tnr_ledger zero_ledger(void)
{
    tnr_ledger ledger;
    memset(&ledger, 0, sizeof(ledger));
    return ledger;
}

static void check_ledger(tnr_domain *domain, const tnr_ledger *expected, int line)
{
    const tnr_ledger found = ledger_of(domain);
    for (int reason = 0; reason < TNR_ALLOCATION_REASON_END; reason++) {
        if (found.allocations[reason].count != expected->allocations[reason].count ||
            found.allocations[reason].bytes != expected->allocations[reason].bytes) {
            print_error("line %d: allocations[%d] are %llu, %llu bytes\n", line, reason,
                        (unsigned long long)found.allocations[reason].count,
                        (unsigned long long)found.allocations[reason].bytes);
            fail();
        }
    }
    for (int reason = 0; reason < TNR_COPY_REASON_END; reason++) {
        if (found.copies[reason].count != expected->copies[reason].count ||
            found.copies[reason].bytes != expected->copies[reason].bytes) {
            print_error("line %d: copies[%d] are %llu, %llu bytes\n", line, reason,
                        (unsigned long long)found.copies[reason].count, (unsigned long long)found.copies[reason].bytes);
            fail();
        }
    }
    if (found.releases != expected->releases) {
        print_error("line %d: releases are %llu\n", line, (unsigned long long)found.releases);
        fail();
    }
}

static void ledger_counts_allocations_copies_and_releases_by_reason(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *other = make_heap();
    tnr_ledger expected = zero_ledger();
    check_ledger(heap, &expected, __LINE__);

    tnr_tensor *zeros = NULL;
    OK(tnr_tensor_zeros(heap, TNR_F32, 2, SHAPE(3, 5), &zeros));
    expected.allocations[TNR_ALLOCATION_CREATE].count = 1;
    expected.allocations[TNR_ALLOCATION_CREATE].bytes = 60; /* logical, not the block's 64 */
    check_ledger(heap, &expected, __LINE__);

    const double rows[4] = {1, 2, 3, 4};
    tnr_tensor *square = NULL;
    OK(tnr_tensor_from_row_major(heap, TNR_F64, 2, SHAPE(2, 2), rows, 32, &square));
    expected.allocations[TNR_ALLOCATION_CREATE].count = 2;
    expected.allocations[TNR_ALLOCATION_CREATE].bytes = 92;
    expected.copies[TNR_COPY_FROM_ROW_MAJOR].count = 1;
    expected.copies[TNR_COPY_FROM_ROW_MAJOR].bytes = 32;
    check_ledger(heap, &expected, __LINE__);

    /* A copy counts where it goes. */
    tnr_tensor *copy = NULL;
    const tnr_view view = view_of(square);
    OK(tnr_tensor_duplicate(&view, other, &copy));
    check_ledger(heap, &expected, __LINE__);
    tnr_ledger of_other = zero_ledger();
    of_other.allocations[TNR_ALLOCATION_COPY].count = 1;
    of_other.allocations[TNR_ALLOCATION_COPY].bytes = 32;
    of_other.copies[TNR_COPY_DUPLICATE].count = 1;
    of_other.copies[TNR_COPY_DUPLICATE].bytes = 32;
    check_ledger(other, &of_other, __LINE__);

    /* Views, mappings, groups, export and import add nothing. */
    tnr_view part;
    tnr_read_map map;
    tnr_group *group = NULL;
    tnr_slot slot;
    tnr_exported exported;
    OK(tnr_view_permute(&view, NULL, &part));
    OK(tnr_map_read(&part, &map));
    OK(tnr_unmap_read(&map));
    OK(tnr_group_create(heap, &group));
    OK(tnr_group_append(group, &square, &slot));
    OK(tnr_group_take(group, slot, &square));
    OK(tnr_tensor_export(&square, &exported));
    OK(tnr_tensor_import(heap, &exported, &square));
    check_ledger(heap, &expected, __LINE__);

    OK(tnr_group_append(group, &square, &slot));
    tnr_tensor *out = NULL;
    OK(tnr_group_copy_out(group, slot, other, &out));
    of_other.allocations[TNR_ALLOCATION_COPY].count = 2;
    of_other.allocations[TNR_ALLOCATION_COPY].bytes = 64;
    of_other.copies[TNR_COPY_COPY_OUT].count = 1;
    of_other.copies[TNR_COPY_COPY_OUT].bytes = 32;
    check_ledger(other, &of_other, __LINE__);
    check_ledger(heap, &expected, __LINE__);

    release(&out);
    release(&copy);
    of_other.releases = 2;
    check_ledger(other, &of_other, __LINE__);
    OK(tnr_group_release(&group));
    release(&zeros);
    expected.releases = 2;
    check_ledger(heap, &expected, __LINE__);

    OK(tnr_ledger_reset(heap));
    expected = zero_ledger();
    check_ledger(heap, &expected, __LINE__);
    check_ledger(other, &of_other, __LINE__);
    close_domain(&other);
    close_domain(&heap);
}

static void ledger_of_a_pool_is_its_own(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(heap, NULL, &pool));
    tnr_tensor *tensor = make_counting(pool, 1, SHAPE(3));
    tnr_ledger expected = zero_ledger();
    check_ledger(heap, &expected, __LINE__);
    expected.allocations[TNR_ALLOCATION_CREATE].count = 1;
    expected.allocations[TNR_ALLOCATION_CREATE].bytes = 24;
    check_ledger(pool, &expected, __LINE__);
    release(&tensor);
    expected.releases = 1;
    check_ledger(pool, &expected, __LINE__);
    close_domain(&pool);
    close_domain(&heap);
}

static void failed_calls_leave_the_ledger_alone(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
    tnr_tensor *tensor = untouched();
    const tnr_ledger expected = zero_ledger();
    memory.fail_allocate = 1;
    EXPECT(TNR_ERR_MEMORY, tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(3), &tensor));
    EXPECT(TNR_ERR_OVERFLOW, tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(INT64_MAX), &tensor));
    EXPECT(TNR_ERR_SHAPE, tnr_tensor_from_row_major(domain, TNR_F64, 1, SHAPE(3), &memory, 16, &tensor));
    assert_ptr_equal(tensor, untouched());
    check_ledger(domain, &expected, __LINE__);
    close_domain(&domain);
    close_domain(&heap);
}

static void totals_are_the_sums_over_all_reasons(void **state)
{
    (void)state;
    tnr_ledger ledger = zero_ledger();
    tnr_ledger_entry allocations = {7, 7};
    tnr_ledger_entry copies = {7, 7};
    for (unsigned reason = 0; reason < TNR_ALLOCATION_REASON_END; reason++) {
        ledger.allocations[reason] = (tnr_ledger_entry){1, 100};
    }
    for (unsigned reason = 0; reason < TNR_COPY_REASON_END; reason++) {
        ledger.copies[reason] = (tnr_ledger_entry){2, reason};
    }
    ledger.releases = 9;
    tnr_ledger_total(&ledger, &allocations, &copies);
    assert_int_equal(allocations.count, TNR_ALLOCATION_REASON_END);
    assert_int_equal(allocations.bytes, 100 * TNR_ALLOCATION_REASON_END);
    assert_int_equal(copies.count, 2 * TNR_COPY_REASON_END);
    assert_int_equal(copies.bytes, TNR_COPY_REASON_END * (TNR_COPY_REASON_END - 1) / 2);
    allocations.count = copies.count = 7;
    tnr_ledger_total(&ledger, NULL, &copies);
    tnr_ledger_total(&ledger, &allocations, NULL);
    tnr_ledger_total(&ledger, NULL, NULL);
    assert_int_equal(allocations.count, TNR_ALLOCATION_REASON_END);
    assert_int_equal(copies.count, 2 * TNR_COPY_REASON_END);
    tnr_ledger_total(NULL, &allocations, &copies);
    assert_true(allocations.count == 0 && allocations.bytes == 0 && copies.count == 0 && copies.bytes == 0);
    assert_true(TNR_ALLOCATION_REASON_END <= TNR_LEDGER_REASONS && TNR_COPY_REASON_END <= TNR_LEDGER_REASONS);
}

/* A named copy that fails at any step: source busy, destination full, either mapping refused. */
static void failed_copies_leave_no_trace_in_either_ledger(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memories[2] = {{0}, {0}};
    tnr_domain *from = make_program_domain(heap, &memories[0], TNR_ACCESS_MAPPED);
    tnr_domain *to = make_program_domain(heap, &memories[1], TNR_ACCESS_MAPPED);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(to, NULL, &pool));
    tnr_tensor *tensor = make_counting(from, 1, SHAPE(4));
    tnr_tensor *copy = untouched();
    const tnr_view view = view_of(tensor);
    const tnr_view_mut view_mut = view_mut_of(tensor);
    tnr_write_map write;
    const tnr_ledger source = ledger_of(from);
    const tnr_ledger none = zero_ledger();
    tnr_pool_statistics before;
    tnr_pool_statistics after;
    OK(tnr_pool_statistics_get(pool, &before));
    OK(tnr_map_write(&view_mut, &write));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_duplicate(&view, pool, &copy));
    OK(tnr_unmap_write(&write));
    memories[0].fail_map = 1;
    EXPECT(TNR_ERR_IO, tnr_tensor_duplicate(&view, pool, &copy));
    OK(tnr_pool_statistics_get(pool, &after));
    assert_memory_equal(&before, &after, sizeof(before)); /* the destination was not even asked */
    memories[1].fail_allocate = 1;
    EXPECT(TNR_ERR_MEMORY, tnr_tensor_duplicate(&view, pool, &copy));
    memories[1].fail_map = 1;
    EXPECT(TNR_ERR_IO, tnr_tensor_duplicate(&view, pool, &copy));
    memories[0].fail_unmap = 1;
    EXPECT(TNR_ERR_IO, tnr_tensor_duplicate(&view, pool, &copy));
    memories[1].fail_unmap = 1;
    EXPECT(TNR_ERR_IO, tnr_tensor_duplicate(&view, pool, &copy));
    assert_ptr_equal(copy, untouched());
    check_ledger(from, &source, __LINE__);
    check_ledger(pool, &none, __LINE__);
    check_ledger(to, &none, __LINE__);
    OK(tnr_pool_statistics_get(pool, &after));
    assert_int_equal(after.in_flight, 0);
    assert_int_equal(memories[0].maps, memories[0].unmaps);
    assert_int_equal(memories[1].maps, memories[1].unmaps);
    release(&tensor); /* no lease is left */
    close_domain(&pool);
    close_domain(&to);
    close_domain(&from);
    close_domain(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ledger_counts_allocations_copies_and_releases_by_reason),
        cmocka_unit_test(ledger_of_a_pool_is_its_own),
        cmocka_unit_test(failed_calls_leave_the_ledger_alone),
        cmocka_unit_test(totals_are_the_sums_over_all_reasons),
        cmocka_unit_test(failed_copies_leave_no_trace_in_either_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
