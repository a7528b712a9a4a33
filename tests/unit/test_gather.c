/* SPDX-License-Identifier: BSD-3-Clause */
/* Gather and scatter by hand: rows, windows, index vectors, what is refused, and in which order scatter adds. */
#include "support/structure_test.h"

static const tnr_index_options no_options = TNR_INDEX_OPTIONS;

static tnr_view view_i64(tnr_tensor **tensor, int64_t count, const int64_t *values)
{
    OK(tnr_tensor_from_column_major(heap, TNR_I64, 1, &count, values, (uint64_t)count * sizeof *values, tensor));
    return view_of(*tensor);
}

/*
 * ---- Gather
 * ----------------------------------------------------------------------------------------------------------------------
 */

static void test_slices_along_one_axis(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(3, 4)); /* in(i, j) = i + 3 j */
    tnr_tensor *picks = numbers(2, SHAPE(1, 2), VALUES(2, 0));
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(picks);
    tnr_tensor *made = NULL;
    tnr_index_options options;
    OK(tnr_index_along(&a, &indices, 0, &options)); /* rows */
    OK(tnr_gather(engine, &a, &indices, &options, &made));
    MADE(made, 3, SHAPE(1, 2, 4), VALUES(2, 0, 5, 3, 8, 6, 11, 9));
    OK(tnr_index_along(&a, &indices, 1, &options)); /* columns */
    OK(tnr_gather(engine, &a, &indices, &options, &made));
    MADE(made, 3, SHAPE(3, 1, 2), VALUES(6, 7, 8, 0, 1, 2));
    release(&picks);
    release(&in);
}

/* Starts of 2 x 2 windows in vectors (row, column) along axis 0 of the indices. */
static void test_windows_at_index_vectors(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(3, 4));
    tnr_tensor *starts = numbers(2, SHAPE(2, 2), VALUES(1, 2, 0, 0));
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(starts);
    tnr_tensor *made = NULL;
    tnr_index_options options = no_options;
    options.axis_count = 2;
    options.axes[1] = 1;
    options.window[0] = 2;
    options.window[1] = 2;
    options.window_axes[1] = 1;
    OK(tnr_gather(engine, &a, &indices, &options, &made));
    MADE(made, 3, SHAPE(2, 2, 2), VALUES(7, 8, 10, 11, 0, 1, 3, 4));
    options.axes[0] = 1; /* the vectors are (column, row) */
    options.axes[1] = 0;
    options.out_of_range = TNR_OUT_OF_RANGE_CLAMP;
    options.window_axes[0] = 1;
    options.window_axes[1] = 2;
    OK(tnr_gather(engine, &a, &indices, &options, &made)); /* (1, 2) is moved to row 1 */
    MADE(made, 3, SHAPE(2, 2, 2), VALUES(4, 0, 5, 1, 7, 3, 8, 4));
    release(&starts);
    release(&in);
}

static void test_single_elements(void **state)
{
    (void)state;
    tnr_tensor *in = counting(1, SHAPE(5));
    tnr_tensor *picks = NULL;
    const tnr_view a = view_of(in);
    const tnr_view indices = view_i64(&picks, 4, SHAPE(4, 4, 0, 3));
    tnr_tensor *made = NULL;
    tnr_index_options options;
    OK(tnr_index_along(&a, &indices, 0, &options));
    OK(tnr_gather(engine, &a, &indices, &options, &made));
    MADE(made, 1, SHAPE(4), VALUES(4, 4, 0, 3));
    options.collapsed[0] = false; /* the window's axis of extent 1 stays, as the first */
    OK(tnr_gather(engine, &a, &indices, &options, &made));
    MADE(made, 2, SHAPE(1, 4), VALUES(4, 4, 0, 3));
    release(&picks);
    release(&in);
}

/* No vectors, vectors of no entries, and windows of nothing. */
static void test_nothing_to_look_up(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(0, 2));
    tnr_tensor *full = counting(1, SHAPE(3));
    tnr_tensor *none = NULL;
    tnr_tensor *blank = NULL;
    tnr_tensor *made = NULL;
    const tnr_view a = view_of(in);
    const tnr_view vector = view_of(full);
    const tnr_view indices = view_i64(&none, 0, SHAPE(0));
    tnr_index_options options;
    OK(tnr_index_along(&a, &indices, 0, &options)); /* no rows of no rows */
    OK(tnr_gather(engine, &a, &indices, &options, &made));
    MADE(made, 2, SHAPE(0, 2), NULL);
    const tnr_view one = view_of(full);
    REFUSED(TNR_ERR_SHAPE, tnr_gather(engine, &a, &one, &options, &made)); /* but there is no row to take */
    OK(tnr_tensor_zeros(heap, TNR_I32, 2, SHAPE(0, 2), &blank));
    const tnr_view entries = view_of(blank);
    options = no_options; /* two vectors of no entries: all of it, twice */
    options.window[0] = 3;
    OK(tnr_gather(engine, &vector, &entries, &options, &made));
    MADE(made, 2, SHAPE(3, 2), VALUES(0, 1, 2, 0, 1, 2));
    options.axis_count = 1;
    options.index_axis = 1;
    options.window[0] = 0; /* windows of nothing have places too */
    OK(tnr_gather(engine, &vector, &one, &options, &made));
    MADE(made, 2, SHAPE(0, 3), NULL);
    options.window[0] = 1;
    options.collapsed[0] = true;
    OK(tnr_gather(engine, &vector, &one, &options, &made));
    MADE(made, 1, SHAPE(3), VALUES(0, 1, 2));
    release(&blank);
    release(&none);
    release(&full);
    release(&in);
}

static void test_indices_that_leave_the_tensor(void **state)
{
    (void)state;
    static const int64_t bad[4] = {-1, 5, INT64_MIN, INT64_MAX};
    tnr_tensor *in = counting(1, SHAPE(5));
    tnr_tensor *out = NULL;
    OK(tnr_tensor_zeros(heap, TNR_I32, 1, SHAPE(600), &out));
    const tnr_view a = view_of(in);
    const tnr_view_mut target = view_mut_of(out);
    const tnr_view_mut itself = view_mut_of(in);
    for (int k = 0; k < 4; k++) {
        int64_t values[600] = {0};
        tnr_tensor *picks = NULL;
        tnr_tensor *made = NULL;
        tnr_index_options options;
        values[450] = bad[k];
        values[500] = 77;
        const tnr_view indices = view_i64(&picks, 600, values);
        OK(tnr_index_along(&a, &indices, 0, &options));
        REFUSED(TNR_ERR_BOUNDS, tnr_gather(engine, &a, &indices, &options, &made));
        TEXT_HAS("vector 450");
        char number[32];
        (void)snprintf(number, sizeof number, "index %lld ", (long long)bad[k]);
        TEXT_HAS(number);
        REFUSED(TNR_ERR_BOUNDS, tnr_gather_into(engine, &a, &indices, &options, &target));
        REFUSED(TNR_ERR_BOUNDS, tnr_scatter(engine, &a, &indices, &target.view, &options, &made));
        REFUSED(TNR_ERR_BOUNDS, tnr_scatter_into(engine, &a, &indices, &target.view, &options, &itself));
        options.out_of_range = TNR_OUT_OF_RANGE_CLAMP;
        OK(tnr_gather(engine, &a, &indices, &options, &made));
        const int32_t *found = (const int32_t *)(const void *)host_of(made);
        assert_int_equal(found[450], bad[k] < 0 ? 0 : 4);
        assert_int_equal(found[500], 4);
        release(&made);
        release(&picks);
    }
    for (int k = 0; k < 600; k++) {
        assert_int_equal(((const int32_t *)(const void *)host_of(out))[k], 0);
    }
    assert_memory_equal((const void *)host_of(in), VALUES(0, 1, 2, 3, 4), 20);
    release(&out);
    release(&in);
}

/*
 * ---- Options
 * ----------------------------------------------------------------------------------------------------------------------
 */

static void test_options_that_do_not_fit(void **state)
{
    (void)state;
    tnr_tensor *in = counting(3, SHAPE(3, 4, 5));
    tnr_tensor *picks = counting(2, SHAPE(2, 3));
    tnr_tensor *floats = make_counting(heap, 1, SHAPE(2));
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(picks);
    const tnr_view reals = view_of(floats);
    tnr_tensor *made = NULL;
    tnr_index_options good = no_options; /* vectors of two entries: axes 2 and 0; result: [3, window 4] */
    good.axis_count = 2;
    good.axes[0] = 2;
    good.axes[1] = 0;
    good.window[0] = 1;
    good.window[1] = 4;
    good.window[2] = 1;
    good.collapsed[0] = true;
    good.collapsed[2] = true;
    good.window_axes[0] = 1;
    good.out_of_range = TNR_OUT_OF_RANGE_CLAMP;
    OK(tnr_gather(engine, &a, &indices, &good, &made));
    MADE(made, 2, SHAPE(3, 4), VALUES(1, 26, 50, 4, 29, 53, 7, 32, 56, 10, 35, 59));

#define WRONG(expected, change)                                                 \
    do {                                                                        \
        tnr_index_options options = good;                                       \
        change;                                                                 \
        REFUSED((expected), tnr_gather(engine, &a, &indices, &options, &made)); \
        TEXT_HAS("gather");                                                     \
    } while (0)
    WRONG(TNR_ERR_BOUNDS, options.index_axis = 3);
    WRONG(TNR_ERR_BOUNDS, options.index_axis = -1);
    WRONG(TNR_ERR_SHAPE, options.index_axis = 1); /* vectors of three */
    WRONG(TNR_ERR_SHAPE, options.index_axis = 2); /* vectors of one */
    WRONG(TNR_ERR_SHAPE, options.axis_count = 1);
    WRONG(TNR_ERR_ARGUMENT, options.axis_count = -1);
    WRONG(TNR_ERR_ARGUMENT, options.axis_count = 4);
    WRONG(TNR_ERR_BOUNDS, options.axes[0] = 3);
    WRONG(TNR_ERR_BOUNDS, options.axes[1] = -1);
    WRONG(TNR_ERR_ARGUMENT, options.axes[1] = 2);
    WRONG(TNR_ERR_SHAPE, options.window[1] = 5);
    WRONG(TNR_ERR_SHAPE, options.window[1] = -1);
    WRONG(TNR_ERR_SHAPE, options.window[0] = 2); /* which is left out */
    WRONG(TNR_ERR_SHAPE, options.window[0] = 0);
    WRONG(TNR_ERR_BOUNDS, options.window_axes[0] = 2);
    WRONG(TNR_ERR_BOUNDS, options.window_axes[0] = -1);
    WRONG(TNR_ERR_ARGUMENT, (options.collapsed[0] = false, options.window_axes[0] = 1, options.window_axes[1] = 0));
    WRONG(TNR_ERR_ARGUMENT, (options.collapsed[0] = false, options.window_axes[1] = 1)); /* twice */
    WRONG(TNR_ERR_ARGUMENT, options.out_of_range = (tnr_out_of_range)2);
    WRONG(TNR_ERR_ARGUMENT, options.size = 4);
#undef WRONG
    REFUSED(TNR_ERR_ARGUMENT, tnr_gather(engine, &a, &indices, NULL, &made));
    REFUSED(TNR_ERR_DTYPE, tnr_gather(engine, &a, &reals, &good, &made));
    REFUSED(TNR_ERR_DTYPE, tnr_scatter(engine, &a, &reals, &a, &good, &made));
    release(&floats);
    release(&picks);
    release(&in);
}

static void test_index_along_refuses(void **state)
{
    (void)state;
    int64_t ones[TNR_MAX_RANK];
    for (int i = 0; i < TNR_MAX_RANK; i++) {
        ones[i] = 1;
    }
    tnr_tensor *in = counting(2, SHAPE(3, 4));
    tnr_tensor *deep = counting(TNR_MAX_RANK, ones);
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(deep);
    tnr_index_options options = no_options;
    EXPECT(TNR_ERR_SHAPE, tnr_index_along(&a, &indices, 0, &options));
    EXPECT(TNR_ERR_BOUNDS, tnr_index_along(&a, &a, 2, &options));
    EXPECT(TNR_ERR_BOUNDS, tnr_index_along(&a, &a, -1, &options));
    EXPECT(TNR_ERR_ARGUMENT, tnr_index_along(NULL, &a, 0, &options));
    EXPECT(TNR_ERR_ARGUMENT, tnr_index_along(&a, NULL, 0, &options));
    EXPECT(TNR_ERR_ARGUMENT, tnr_index_along(&a, &a, 0, NULL));
    assert_memory_equal(&options.window, &no_options.window, sizeof options.window);
    release(&deep);
    release(&in);
}

static void test_ranks_of_results_that_do_not_fit(void **state)
{
    (void)state;
    int64_t ones[TNR_MAX_RANK];
    for (int i = 0; i < TNR_MAX_RANK; i++) {
        ones[i] = 1;
    }
    tnr_tensor *in = counting(1, SHAPE(3));
    tnr_tensor *deep = counting(TNR_MAX_RANK, ones);
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(deep);
    tnr_tensor *made = NULL;
    tnr_index_options options;
    OK(tnr_index_along(&a, &indices, 0, &options));
    OK(tnr_gather(engine, &a, &indices, &options, &made));
    MADE(made, TNR_MAX_RANK, ones, VALUES(0));
    options.collapsed[0] = false;
    REFUSED(TNR_ERR_SHAPE, tnr_gather(engine, &a, &indices, &options, &made));
    release(&deep);
    release(&in);
}

/*
 * ---- Scatter
 * -----------------------------------------------------------------------------------------------------------------------
 */

static void test_scatter_adds(void **state)
{
    (void)state;
    tnr_tensor *in = numbers(1, SHAPE(4), VALUES(10, 20, 30, 40));
    tnr_tensor *picks = numbers(1, SHAPE(3), VALUES(3, 1, 3));
    tnr_tensor *more = numbers(1, SHAPE(3), VALUES(1, 2, 3));
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(picks);
    const tnr_view updates = view_of(more);
    tnr_tensor *made = NULL;
    tnr_index_options options;
    OK(tnr_index_along(&a, &indices, 0, &options));
    OK(tnr_scatter(engine, &a, &indices, &updates, &options, &made));
    MADE(made, 1, SHAPE(4), VALUES(10, 22, 30, 44));
    const tnr_view_mut itself = view_mut_of(in);
    tnr_ledger before;
    tnr_ledger after;
    OK(tnr_ledger_get(heap, &before));
    OK(tnr_scatter_into(engine, &a, &indices, &updates, &options, &itself)); /* in place: nothing is copied */
    OK(tnr_ledger_get(heap, &after));
    assert_memory_equal(&before, &after, sizeof before);
    assert_memory_equal((const void *)host_of(in), VALUES(10, 22, 30, 44), 16);
    release(&more);
    release(&picks);
    release(&in);
}

static void test_scatter_refuses(void **state)
{
    (void)state;
    tnr_tensor *in = counting(1, SHAPE(3));
    tnr_tensor *picks = counting(1, SHAPE(3));
    tnr_tensor *longer = counting(1, SHAPE(4));
    tnr_tensor *truth = NULL;
    tnr_tensor *made = NULL;
    OK(tnr_tensor_zeros(heap, TNR_BOOL, 1, SHAPE(3), &truth));
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(picks);
    const tnr_view four = view_of(longer);
    const tnr_view flags = view_of(truth);
    tnr_index_options options;
    OK(tnr_index_along(&a, &indices, 0, &options));
    REFUSED(TNR_ERR_SHAPE, tnr_scatter(engine, &a, &indices, &four, &options, &made));
    TEXT_HAS("updates");
    REFUSED(TNR_ERR_DTYPE, tnr_scatter(engine, &a, &indices, &flags, &options, &made));
    REFUSED(TNR_ERR_UNSUPPORTED, tnr_scatter(engine, &flags, &indices, &flags, &options, &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_scatter(engine, &a, &indices, NULL, &options, &made));
    const tnr_view_mut to_updates = view_mut_of(in);
    const tnr_view_mut to_indices = view_mut_of(picks);
    /* only a may be the output */
    REFUSED(TNR_ERR_OVERLAP, tnr_scatter_into(engine, &indices, &indices, &a, &options, &to_updates));
    REFUSED(TNR_ERR_OVERLAP, tnr_scatter_into(engine, &a, &indices, &a, &options, &to_indices));
    REFUSED(TNR_ERR_OVERLAP, tnr_scatter_into(engine, &a, &indices, &a, &options, &to_updates));
    release(&truth);
    release(&longer);
    release(&picks);
    release(&in);
}

/*
 * Windows of two that overlap in part: (0, 1, 0) and (3, 4, 3). Element 1 holds 1 and gets 0, 1, 2^53 in this order,
 * which makes 2^53 + 2; with the second element of every window first it would be 2^53. Element 4 holds 1e16 and gets
 * -1e16, 1, 0: 1; with the first element of every window first it would be 0.
 */
/* Rows of 1 to 70 elements of each width: each way of moving them. Index axes that follow one another and some that do not. */
static void test_rows_of_every_length(void **state)
{
    (void)state;
    static const tnr_dtype dtypes[4] = {TNR_BOOL, TNR_I32, TNR_F64, TNR_C64};
    enum { MOST = 70, COLUMNS = 9 };
    for (int d = 0; d < 4; d++) {
        const size_t width = tnr_dtype_size(dtypes[d]);
        for (int64_t rows = 1; rows <= MOST; rows++) {
            tnr_tensor *table = NULL;
            tnr_tensor *picks = NULL;
            tnr_tensor *made = NULL;
            tnr_index_options options;
            unsigned char *bytes;
            OK(tnr_tensor_zeros(heap, dtypes[d], 2, SHAPE(rows, COLUMNS), &table));
            OK(tnr_tensor_host_data_mut(table, (void **)(void *)&bytes));
            const size_t column = (size_t)rows * width;
            for (size_t i = 0; i < column * COLUMNS; i++) { /* a bool has 0 and 1 only */
                bytes[i] = (unsigned char)(d == 0 ? i * i % 7 % 2 : i * 31 % 251);
            }
            const tnr_view a = view_of(table);
            const tnr_view all = view_i64(&picks, 8, SHAPE(8, 0, 3, 3, 7, 1, 0, 5));
            tnr_view pairs;
            tnr_view seen;
            OK(tnr_view_reshape(&all, 3, SHAPE(2, 1, 4), &pairs));
            const tnr_range half[3] = {{0, 1, 1}, TNR_RANGE_ALL, TNR_RANGE_ALL};
            OK(tnr_view_slice(&pairs, half, &seen));
            for (int apart = 0; apart < 2; apart++) {
                const tnr_view *indices = apart == 0 ? &pairs : &seen;
                const int64_t order[8] = {8, 0, 3, 3, 7, 1, 0, 5};
                OK(tnr_index_along(&a, indices, 1, &options));
                OK(tnr_gather(engine, &a, indices, &options, &made));
                for (int i = 0; i < (apart == 0 ? 8 : 4); i++) {
                    const int64_t from = order[apart == 0 ? i : 2 * i];
                    assert_memory_equal((const unsigned char *)(const void *)host_of(made) + (size_t)i * column,
                                        bytes + (size_t)from * column, column);
                }
                release(&made);
            }
            release(&picks);
            release(&table);
        }
    }
}

static void test_scatter_adds_in_the_order_of_the_vectors(void **state)
{
    (void)state;
    static const double start[6] = {0.0, 1.0, 0.0, 0.0, 1e16, 0.0};
    static const double values[12] = {0.0, 0.0, 1.0, 0.0, 0.0, 9007199254740992.0, 0.0, -1e16, 1.0, 0.0, 0.0, 0.0};
    tnr_tensor *sums = NULL;
    tnr_tensor *more = NULL;
    tnr_tensor *turned = NULL;
    tnr_tensor *picks = NULL;
    tnr_tensor *made = NULL;
    OK(tnr_tensor_from_column_major(heap, TNR_F64, 1, SHAPE(6), start, sizeof start, &sums));
    OK(tnr_tensor_from_column_major(heap, TNR_F64, 2, SHAPE(2, 6), values, sizeof values, &more));
    const tnr_view a = view_of(sums);
    const tnr_view updates = view_of(more); /* [window, vectors] */
    const tnr_view indices = view_i64(&picks, 6, SHAPE(0, 1, 0, 3, 4, 3));
    OK(tnr_permute(engine, &updates, NULL, &turned)); /* vectors are nearer to one another than a window's elements */
    const tnr_view turned_updates = view_of(turned);
    tnr_index_options options = no_options;
    options.index_axis = 1;
    options.axis_count = 1;
    options.window[0] = 2;
    for (int window_axis = 0; window_axis < 2; window_axis++) {
        options.window_axes[0] = window_axis;
        OK(tnr_scatter(engine, &a, &indices, window_axis == 0 ? &updates : &turned_updates, &options, &made));
        assert_true(host_of(made)[1] == 9007199254740994.0);
        assert_true(host_of(made)[4] == 1.0);
        release(&made);
    }
    release(&picks);
    /* all at one place: ((0 + 1e16) + 1) - 1e16 */
    tnr_tensor *column = NULL;
    static const double terms[3] = {1e16, 1.0, -1e16};
    OK(tnr_tensor_from_column_major(heap, TNR_F64, 1, SHAPE(3), terms, sizeof terms, &column));
    const tnr_view single = view_of(column);
    const tnr_view zeros = view_i64(&picks, 3, SHAPE(0, 0, 0));
    OK(tnr_index_along(&a, &zeros, 0, &options));
    OK(tnr_scatter(engine, &a, &zeros, &single, &options, &made));
    assert_true(host_of(made)[0] == 0.0);
    release(&made);
    release(&column);
    release(&picks);
    release(&turned);
    release(&sums);
    release(&more);
}

/* Thousands of vectors, more than are looked up at a time, over several axes of indices of either width. */
static void test_many_vectors(void **state)
{
    (void)state;
    enum { ROWS = 50, COLUMNS = 7, PICKS = 3000 };
    int32_t narrow[PICKS];
    for (int k = 0; k < PICKS; k++) {
        narrow[k] = (int32_t)((k * 7919) % ROWS);
    }
    tnr_tensor *in = counting(2, SHAPE(ROWS, COLUMNS));
    tnr_tensor *picks = numbers(3, SHAPE(2, 300, 5), narrow);
    const tnr_view a = view_of(in);
    const tnr_view indices = view_of(picks);
    tnr_tensor *made = NULL;
    tnr_tensor *summed = NULL;
    tnr_index_options options;
    OK(tnr_index_along(&a, &indices, 0, &options));
    OK(tnr_gather(engine, &a, &indices, &options, &made)); /* [2, 300, 5, 7] */
    const int32_t *found = (const int32_t *)(const void *)host_of(made);
    for (int j = 0; j < COLUMNS; j++) {
        for (int k = 0; k < PICKS; k++) {
            assert_int_equal(found[k + PICKS * j], narrow[k] + ROWS * j);
        }
    }
    const tnr_view updates = view_of(made);
    OK(tnr_scatter(engine, &a, &indices, &updates, &options, &summed));
    const int32_t *sums = (const int32_t *)(const void *)host_of(summed);
    for (int j = 0; j < COLUMNS; j++) {
        for (int i = 0; i < ROWS; i++) {
            assert_int_equal(sums[i + ROWS * j], (i + ROWS * j) * (1 + PICKS / ROWS));
        }
    }
    release(&summed);
    release(&made);
    release(&picks);
    release(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_along_one_axis),
        cmocka_unit_test(test_windows_at_index_vectors),
        cmocka_unit_test(test_single_elements),
        cmocka_unit_test(test_nothing_to_look_up),
        cmocka_unit_test(test_indices_that_leave_the_tensor),
        cmocka_unit_test(test_options_that_do_not_fit),
        cmocka_unit_test(test_index_along_refuses),
        cmocka_unit_test(test_ranks_of_results_that_do_not_fit),
        cmocka_unit_test(test_scatter_adds),
        cmocka_unit_test(test_scatter_refuses),
        cmocka_unit_test(test_rows_of_every_length),
        cmocka_unit_test(test_scatter_adds_in_the_order_of_the_vectors),
        cmocka_unit_test(test_many_vectors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
