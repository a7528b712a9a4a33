/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Concatenation: places of the inputs, thousands of them, one of them many times, the records of their leases, and
 * refusals that leave nothing held.
 */
#include "support/structure_test.h"

#define MOST 4096

static tnr_tensor *tensors[MOST];
static tnr_view views[MOST + 1];
static const tnr_view *list[MOST + 1];

/* `count` tensors, input k of extent k % 3, with values counting on. */
static void make_inputs(int count)
{
    int32_t next = 0;
    for (int k = 0; k < count; k++) {
        const int64_t extent = k % 3;
        const int32_t values[2] = {next, next + 1};
        tensors[k] = numbers(1, &extent, values);
        views[k] = view_of(tensors[k]);
        list[k] = &views[k];
        next += (int32_t)extent;
    }
}

static void release_inputs(int count)
{
    for (int k = 0; k < count; k++) {
        release(&tensors[k]);
    }
}

static uint64_t scratch_count(void) { return ledger_of(heap).allocations[TNR_ALLOCATION_SCRATCH].count; }

static void test_places_along_each_axis(void **state)
{
    (void)state;
    tnr_tensor *a = numbers(2, SHAPE(2, 2), VALUES(1, 2, 3, 4));
    tnr_tensor *b = numbers(2, SHAPE(2, 1), VALUES(5, 6));
    tnr_tensor *c = numbers(2, SHAPE(1, 2), VALUES(7, 8));
    const tnr_view a_view = view_of(a);
    const tnr_view b_view = view_of(b);
    const tnr_view c_view = view_of(c);
    const tnr_view *const columns[3] = {&a_view, &b_view, &a_view};
    const tnr_view *const rows[2] = {&c_view, &a_view};
    tnr_tensor *made = NULL;
    OK(tnr_concatenate(engine, columns, 3, 1, &made));
    MADE(made, 2, SHAPE(2, 5), VALUES(1, 2, 3, 4, 5, 6, 1, 2, 3, 4));
    OK(tnr_concatenate(engine, rows, 2, 0, &made));
    MADE(made, 2, SHAPE(3, 2), VALUES(7, 1, 2, 8, 3, 4));
    OK(tnr_concatenate(engine, rows, 1, 0, &made));
    MADE(made, 2, SHAPE(1, 2), VALUES(7, 8));
    release(&a);
    release(&b);
    release(&c);
}

static void test_thousands_of_inputs(void **state)
{
    (void)state;
    static const int counts[5] = {7, 8, 9, 1000, MOST};
    for (int i = 0; i < 5; i++) {
        tnr_tensor *made = NULL;
        make_inputs(counts[i]);
        const uint64_t before = scratch_count();
        OK(tnr_concatenate(engine, list, counts[i], 0, &made));
        const int64_t extent = view_of(made).shape[0];
        const int32_t *found = (const int32_t *)(const void *)host_of(made);
        for (int32_t k = 0; k < extent; k++) {
            assert_int_equal(found[k], k);
        }
        assert_int_equal(scratch_count() - before, counts[i] >= 8 ? 1 : 0);
        release(&made);
        OK(tnr_concatenate(engine, list, counts[i], 0, &made)); /* with records that are there */
        release(&made);
        assert_int_equal(scratch_count() - before, counts[i] >= 8 ? 1 : 0);
        release_inputs(counts[i]);
    }
}

/* One owner many times: one lease. Parts of a split count their readers one by one, up to 63. */
static void test_one_input_thousands_of_times(void **state)
{
    (void)state;
    tnr_tensor *in = counting(1, SHAPE(4));
    tnr_tensor *out = NULL;
    const tnr_view_mut whole = view_mut_of(in);
    tnr_view_mut parts[2];
    bool granted = false;
    for (int p = 0; p < 2; p++) {
        const tnr_range half = {2 * p, 2 * p + 2, 1};
        OK(tnr_view_mut_slice(&whole, &half, &parts[p]));
    }
    OK(tnr_view_mut_split(parts, 2, &granted));
    assert_true(granted);
    for (int k = 0; k < MOST; k++) {
        views[k] = parts[0].view;
        list[k] = &views[k];
    }
    tnr_write_map other;
    OK(tnr_map_write(&parts[1], &other)); /* the sibling is being written all the while */
    OK(tnr_tensor_zeros(heap, TNR_I32, 1, SHAPE(2 * MOST), &out));
    const tnr_view_mut target = view_mut_of(out);
    OK(tnr_concatenate_into(engine, list, MOST, 0, &target));
    OK(tnr_unmap_write(&other));
    const int32_t *found = (const int32_t *)(const void *)host_of(out);
    for (int k = 0; k < 2 * MOST; k++) {
        assert_int_equal(found[k], k % 2);
    }
    release(&in);
    release(&out);
}

/* The one lease of an owner covers the parts of all its operands, also of the last. */
static void test_a_part_among_many_is_being_written(void **state)
{
    (void)state;
    tnr_tensor *in = counting(1, SHAPE(4));
    const tnr_view_mut whole = view_mut_of(in);
    tnr_view_mut parts[2];
    bool granted = false;
    for (int p = 0; p < 2; p++) {
        const tnr_range half = {2 * p, 2 * p + 2, 1};
        OK(tnr_view_mut_slice(&whole, &half, &parts[p]));
    }
    OK(tnr_view_mut_split(parts, 2, &granted));
    assert_true(granted);
    tnr_tensor *made = NULL;
    static const int counts[2] = {5, 50};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < counts[i]; k++) {
            list[k] = k == counts[i] - 1 ? &parts[1].view : &parts[0].view;
        }
        tnr_write_map other;
        OK(tnr_map_write(&parts[1], &other));
        REFUSED(TNR_ERR_BUSY, tnr_concatenate(engine, list, counts[i], 0, &made));
        OK(tnr_unmap_write(&other));
        OK(tnr_concatenate(engine, list, counts[i], 0, &made));
        release(&made);
    }
    release(&in);
}

/* Output and inputs in one owner: one lease, as long as they are apart. */
static void test_output_in_an_owner_of_inputs(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(4, 24));
    const tnr_view_mut whole = view_mut_of(in);
    const tnr_range lower[2] = {{0, 2, 1}, TNR_RANGE_ALL};
    tnr_view_mut out;
    tnr_tensor *made = NULL;
    OK(tnr_view_mut_slice(&whole, lower, &out)); /* rows 0 and 1 */
    for (int k = 0; k < 12; k++) {
        const tnr_range part[2] = {{2, 4, 1}, {22 - 2 * k, 24 - 2 * k, 1}}; /* rows 2 and 3, the last columns first */
        OK(tnr_view_slice(&whole.view, part, &views[k]));
        list[k] = &views[k];
    }
    OK(tnr_concatenate_into(engine, list, 12, 1, &out));
    const int32_t *found = (const int32_t *)(const void *)host_of(in);
    for (int j = 0; j < 24; j++) {
        const int from = 22 - 2 * (j / 2) + j % 2;
        assert_int_equal(found[4 * j], 2 + 4 * from);
        assert_int_equal(found[4 * j + 1], 3 + 4 * from);
        assert_int_equal(found[4 * j + 2], 2 + 4 * j);
        assert_int_equal(found[4 * j + 3], 3 + 4 * j);
    }
    const tnr_range shifted[2] = {{1, 3, 1}, {0, 2, 1}}; /* row 1 is the output's */
    OK(tnr_view_slice(&whole.view, shifted, &views[11]));
    REFUSED(TNR_ERR_OVERLAP, tnr_concatenate_into(engine, list, 12, 1, &out));
    release(&in);
}

static void test_refusals_of_lists(void **state)
{
    (void)state;
    tnr_tensor *made = NULL;
    make_inputs(9);
    tnr_tensor *matrix = counting(2, SHAPE(1, 2));
    tnr_tensor *scalar = counting(0, NULL);
    tnr_tensor *wide = NULL;
    OK(tnr_tensor_zeros(heap, TNR_I64, 1, SHAPE(2), &wide));
    const tnr_view matrix_view = view_of(matrix);
    const tnr_view scalar_view = view_of(scalar);
    const tnr_view wide_view = view_of(wide);
    REFUSED(TNR_ERR_ARGUMENT, tnr_concatenate(engine, list, 0, 0, &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_concatenate(engine, list, -1, 0, &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_concatenate(engine, list, MOST + 1, 0, &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_concatenate(engine, NULL, 1, 0, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_concatenate(engine, list, 2, 1, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_concatenate(engine, list, 2, -1, &made));
    const tnr_view *pair[2] = {&views[1], NULL};
    REFUSED(TNR_ERR_ARGUMENT, tnr_concatenate(engine, pair, 2, 0, &made));
    pair[1] = &matrix_view;
    REFUSED(TNR_ERR_SHAPE, tnr_concatenate(engine, pair, 2, 0, &made));
    pair[1] = &wide_view;
    REFUSED(TNR_ERR_DTYPE, tnr_concatenate(engine, pair, 2, 0, &made));
    pair[0] = &scalar_view;
    REFUSED(TNR_ERR_SHAPE, tnr_concatenate(engine, pair, 1, 0, &made));
    tnr_tensor *taller = counting(2, SHAPE(2, 2));
    const tnr_view taller_view = view_of(taller);
    pair[0] = &matrix_view;
    pair[1] = &taller_view;
    REFUSED(TNR_ERR_SHAPE, tnr_concatenate(engine, pair, 2, 1, &made));
    /* sums of extents that do not fit, of views that repeat one element */
    tnr_view endless;
    OK(tnr_view_broadcast(&scalar_view, 1, SHAPE(INT64_MAX / 2 + 1), NULL, &endless));
    pair[0] = &endless;
    pair[1] = &endless;
    REFUSED(TNR_ERR_OVERFLOW, tnr_concatenate(engine, pair, 2, 0, &made));
    release(&taller);
    release(&matrix);
    release(&scalar);
    release(&wide);
    release_inputs(9);
}

/* The last of many inputs is in the way: nothing is leased, counted or kept. */
static void test_refused_calls_keep_no_records(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    tnr_engine *fresh = NULL;
    tnr_engine *const kept = engine;
    OK(tnr_engine_create(heap, NULL, &fresh));
    engine = fresh; /* without scratch */
    tnr_tensor *made = NULL;
    tnr_write_map writing;
    make_inputs(COUNT + 2);
    tnr_view_mut last = view_mut_of(tensors[COUNT - 1]);
    OK(tnr_map_write(&last, &writing));
    REFUSED(TNR_ERR_BUSY, tnr_concatenate(engine, list, COUNT, 0, &made));
    OK(tnr_unmap_write(&writing));
    last = view_mut_of(tensors[COUNT + 1]); /* extent 2 */
    REFUSED(TNR_ERR_SHAPE, tnr_concatenate_into(engine, list, COUNT, 0, &last));
    release(&tensors[COUNT + 1]);
    REFUSED(TNR_ERR_STALE, tnr_concatenate(engine, list, COUNT + 2, 0, &made));
    for (int k = 0; k <= COUNT; k++) {
        tnr_view_mut free_again = view_mut_of(tensors[k]);
        OK(tnr_map_write(&free_again, &writing));
        OK(tnr_unmap_write(&writing));
    }
    OK(tnr_concatenate(engine, list, COUNT, 0, &made));
    release(&made);
    release_inputs(COUNT + 1);
    OK(tnr_engine_destroy(&fresh));
    engine = kept;
}

/* The block of the records cannot be had, then that of the output: everything is as before. */
static void test_failing_allocations(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    tnr_domain *const old_heap = heap;
    tnr_engine *const old_engine = engine;
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(old_heap, &memory, TNR_ACCESS_DIRECT);
    make_inputs(COUNT);
    heap = domain;
    OK(tnr_engine_create(domain, NULL, &engine));
    tnr_tensor *made = NULL;
    for (uint64_t fails = 1; fails <= 2; fails++) {
        memory.fail_allocate = fails;
        REFUSED(TNR_ERR_MEMORY, tnr_concatenate(engine, list, COUNT, 0, &made));
        assert_int_equal(memory.fail_allocate, 0);
    }
    OK(tnr_concatenate(engine, list, COUNT, 0, &made));
    release(&made);
    OK(tnr_engine_destroy(&engine));
    close_domain(&domain);
    heap = old_heap;
    engine = old_engine;
    release_inputs(COUNT);
}

/* Memory that is mapped: once for each owner, however often it occurs. */
static void test_an_owner_is_mapped_once(void **state)
{
    (void)state;
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
    tnr_tensor *a = make_counting(domain, 1, SHAPE(2));
    tnr_tensor *b = make_counting(domain, 1, SHAPE(3));
    const tnr_view a_view = view_of(a);
    const tnr_view b_view = view_of(b);
    for (int k = 0; k < 40; k++) {
        list[k] = k % 2 == 0 ? &a_view : &b_view;
    }
    tnr_tensor *made = NULL;
    const uint64_t maps = memory.maps;
    OK(tnr_concatenate(engine, list, 40, 0, &made));
    assert_int_equal(memory.maps - maps, 2);
    assert_int_equal(memory.unmaps, memory.maps);
    for (int k = 0; k < 100; k++) {
        const int place = k % 5;
        assert_true(host_of(made)[k] == (place < 2 ? place + 1 : place - 1));
    }
    release(&made);
    memory.fail_unmap = 2;
    EXPECT(TNR_ERR_IO, tnr_concatenate(engine, list, 40, 0, &made));
    assert_null(made);
    assert_int_equal(memory.unmaps, memory.maps);
    release(&a);
    release(&b);
    close_domain(&domain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_along_each_axis),        cmocka_unit_test(test_thousands_of_inputs),
        cmocka_unit_test(test_one_input_thousands_of_times),  cmocka_unit_test(test_a_part_among_many_is_being_written),
        cmocka_unit_test(test_output_in_an_owner_of_inputs),  cmocka_unit_test(test_refusals_of_lists),
        cmocka_unit_test(test_refused_calls_keep_no_records), cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_an_owner_is_mapped_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
