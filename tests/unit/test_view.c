/* SPDX-License-Identifier: BSD-3-Clause */
/* Readable transforms, on views whose owner must not be looked at. */
#include "support/view_checks.h"

#define TWO_62 ((int64_t)1 << 62)

/* ---- Permute ---------------------------------------------------------------------------------------------------- */

/* Also idea 35. */
static void er_10_permutation_direction(void **state)
{
    (void)state;
    int64_t memory[24];
    for (int64_t i = 0; i < 24; i++) {
        memory[i] = i;
    }
    const tnr_view in = test_view(TNR_I64, 24, 3, EXTENTS(2, 3, 4), NULL, 0);
    tnr_view out;
    /* out(k, i, j) = in(i, j, k) */
    assert_int_equal(tnr_view_permute(&in, AXES(2, 0, 1), &out), TNR_OK);
    expect(&out, 3, EXTENTS(4, 2, 3), EXTENTS(6, 1, 2), 0);
    tnr_cursor cursor = tnr_cursor_begin(&out);
    for (int i = 0; i < 17; i++) {
        tnr_cursor_next(&cursor);
    }
    assert_true(cursor.index[0] == 1 && cursor.index[1] == 0 && cursor.index[2] == 2);
    assert_int_equal(memory[cursor.offset], 10);
    /* zero-size: [0,3] -> [3,0] */
    const tnr_view empty = test_view(TNR_F64, 0, 2, EXTENTS(0, 3), NULL, 0);
    assert_int_equal(tnr_view_permute(&empty, NULL, &out), TNR_OK);
    assert_true(out.rank == 2 && out.shape[0] == 3 && out.shape[1] == 0);
    FAILS(tnr_view_permute(&in, AXES(0, 0, 1), &kept), TNR_ERR_ARGUMENT);
}

static void permute_reverses_without_axes(void **state)
{
    (void)state;
    tnr_view view = test_view(TNR_F32, 30, 3, EXTENTS(2, 3, 4), EXTENTS(1, 2, 6), 3);
    assert_int_equal(tnr_view_permute(&view, NULL, &view), TNR_OK);
    expect(&view, 3, EXTENTS(4, 3, 2), EXTENTS(6, 2, 1), 3);
    tnr_view scalar = test_view(TNR_F32, 1, 0, NULL, NULL, 0);
    assert_int_equal(tnr_view_permute(&scalar, NULL, &scalar), TNR_OK);
    expect(&scalar, 0, NULL, NULL, 0);
}

static void permute_errors(void **state)
{
    (void)state;
    const tnr_view in = test_view(TNR_F32, 6, 2, EXTENTS(2, 3), NULL, 0);
    FAILS(tnr_view_permute(&in, AXES(0, 2), &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_permute(&in, AXES(-1, 0), &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_permute(&in, AXES(1000000, 0), &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_permute(&in, AXES(1, 1), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_permute(NULL, NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_permute(&in, NULL, NULL), TNR_ERR_ARGUMENT);
}

/* ---- Slice, select ---------------------------------------------------------------------------------------------- */

/* Idea 36: the range first, then the step. */
static void slices_of_a_line(void **state)
{
    (void)state;
    static const int64_t memory[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const struct {
        tnr_range slice;
        size_t count;
        int64_t elements[10];
    } cases[] = {
        {{0, TNR_END, 1}, 10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
        {{2, 5, 1}, 3, {2, 3, 4}},
        {{-3, TNR_END, 1}, 3, {7, 8, 9}},
        {{-3, -1, 1}, 2, {7, 8}},
        {{0, -8, 1}, 2, {0, 1}},
        {{1, 8, 3}, 3, {1, 4, 7}},
        {{1, 7, 3}, 2, {1, 4}},
        {{1, 8, -3}, 3, {7, 4, 1}},
        {{1, 9, -3}, 3, {8, 5, 2}},
        {{0, TNR_END, -1}, 10, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
        {{-100, 100, 9}, 2, {0, 9}},
        {{0, TNR_END, INT64_MAX}, 1, {0}},
        {{0, TNR_END, INT64_MIN}, 1, {9}},
        {{0, TNR_END, INT64_MIN + 1}, 1, {9}},
        {{4, 4, 1}, 0, {0}},
        {{7, 3, 1}, 0, {0}},
        {{7, 3, -1}, 0, {0}},
        {{10, TNR_END, 1}, 0, {0}},
        {{10, TNR_END, -2}, 0, {0}},
        {{TNR_END, TNR_END, 1}, 0, {0}},
        {{0, -11, 1}, 0, {0}},
        {{INT64_MIN, INT64_MIN, INT64_MIN}, 0, {0}},
        {{INT64_MIN, INT64_MAX, 5}, 2, {0, 5}},
    };
    const tnr_view line = test_view(TNR_I64, 10, 1, EXTENTS(10), NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tnr_view out;
        tnr_view again;
        assert_int_equal(tnr_view_slice(&line, &cases[i].slice, &out), TNR_OK);
        assert_int_equal(tnr_view_slice_axis(&line, 0, cases[i].slice, &again), TNR_OK);
        assert_memory_equal(&out, &again, offsetof(tnr_view, shape));
        expect_elements(&out, memory, cases[i].count, cases[i].elements);
        expect(&out, 1, EXTENTS((int64_t)cases[i].count), again.strides, again.offset);
    }
}

/* Ideas 40 and 52: every other column, reversed axes, empty axes that take any range. */
static void slices_of_a_matrix(void **state)
{
    (void)state;
    tnr_view view = test_view(TNR_F64, 20, 2, EXTENTS(4, 5), NULL, 0);
    tnr_view out;
    assert_int_equal(tnr_view_slice(&view, SLICES(TNR_RANGE_ALL, {0, TNR_END, 2}), &out), TNR_OK);
    expect(&out, 2, EXTENTS(4, 3), EXTENTS(1, 8), 0);
    assert_int_equal(tnr_view_slice(&view, SLICES({0, TNR_END, -1}, {1, 4, -2}), &out), TNR_OK);
    expect(&out, 2, EXTENTS(4, 2), EXTENTS(-1, -8), 15);
    assert_int_equal(tnr_view_slice_axis(&view, 1, (tnr_range){2, 4, 1}, &view), TNR_OK);
    expect(&view, 2, EXTENTS(4, 2), EXTENTS(1, 4), 8);
    const tnr_view empty = test_view(TNR_F64, 20, 2, EXTENTS(4, 0), NULL, 20);
    assert_int_equal(tnr_view_slice(&empty, SLICES({3, 1, -1}, {-5, 9, -3}), &out), TNR_OK);
    assert_true(out.shape[0] == 0 && out.shape[1] == 0);
}

/* The rows of the table that need views; the layouts themselves are in test_layout.c. */
static void sl_01_empty_slices(void **state)
{
    (void)state;
    const tnr_view parent = test_view(TNR_F64, 12, 2, EXTENTS(4, 3), NULL, 0);
    tnr_view rows;
    tnr_view columns;
    assert_int_equal(tnr_view_slice_axis(&parent, 0, (tnr_range){4, 4, 1}, &rows), TNR_OK);
    assert_int_equal(tnr_view_slice_axis(&parent, 1, (tnr_range){3, 3, 1}, &columns), TNR_OK);
    assert_true(rows.shape[0] == 0 && rows.shape[1] == 3 && rows.offset == 4);
    assert_true(columns.shape[0] == 4 && columns.shape[1] == 0 && columns.offset == 12);
    const int64_t strides[][2] = {{1, 0}, {1, 1}, {5, 7}};
    for (size_t i = 0; i < 3; i++) {
        const tnr_view empty = test_view(TNR_F64, 0, 2, EXTENTS(0, 3), strides[i], 0);
        tnr_view out;
        int64_t number = -1;
        bool distinct = false;
        assert_true(tnr_view_is_compact(&empty));
        assert_int_equal(tnr_view_count(&empty, &number), TNR_OK);
        assert_int_equal(number, 0);
        assert_int_equal(tnr_view_span(&empty, &number), TNR_OK);
        assert_int_equal(number, 0);
        assert_int_equal(tnr_view_distinct(&empty, &distinct), TNR_OK);
        assert_true(distinct);
        assert_int_equal(tnr_view_reshape(&empty, 2, EXTENTS(3, 0), &out), TNR_OK);
        expect(&out, 2, EXTENTS(3, 0), out.strides, 0);
        assert_false(tnr_cursor_begin(&empty).valid);
    }
    const tnr_view singleton = test_view(TNR_F64, 6, 3, EXTENTS(3, 1, 2), EXTENTS(1, 999999, 3), 0);
    int64_t span;
    assert_true(tnr_view_is_compact(&singleton));
    assert_int_equal(tnr_view_span(&singleton, &span), TNR_OK);
    assert_int_equal(span, 6);
}

/* Strides of an empty view are arbitrary numbers: none of them may overflow anything. */
static void sl_02_empty_views_never_overflow(void **state)
{
    (void)state;
    const tnr_view wild = test_view(TNR_C64, 3, 4, EXTENTS(INT64_MAX, 0, INT64_MAX, 2),
                                    EXTENTS(INT64_MIN, INT64_MAX, INT64_MAX, TWO_62), 2);
    tnr_view out;
    assert_int_equal(
        tnr_view_slice(&wild, SLICES({-5, TNR_END, -7}, {0, 9, 1}, {INT64_MAX - 1, TNR_END, 1}, {1, 2, 1}), &out),
        TNR_OK);
    expect(&out, 4, EXTENTS(1, 0, 1, 1), out.strides, out.offset);
    assert_int_equal(
        tnr_view_slice(&wild, SLICES({0, TNR_END, 1 << 20}, {0, 9, 1}, {5, 900, INT64_MIN}, {1, 2, -1}), &out), TNR_OK);
    expect(&out, 4, EXTENTS((int64_t)1 << 43, 0, 1, 1), out.strides, out.offset);
    assert_int_equal(tnr_view_select(&wild, 0, -1, &out), TNR_OK);
    expect(&out, 3, EXTENTS(0, INT64_MAX, 2), out.strides, out.offset);
    assert_int_equal(tnr_view_diagonal(&wild, 0, 2, &out), TNR_OK);
    expect(&out, 3, EXTENTS(0, 2, INT64_MAX), out.strides, 2);
    assert_int_equal(tnr_view_as_real(&wild, &out), TNR_OK);
    expect(&out, 5, EXTENTS(2, INT64_MAX, 0, INT64_MAX, 2), out.strides, 4);
    assert_int_equal(tnr_view_as_complex(&out, &out), TNR_OK);
    expect(&out, 4, wild.shape, out.strides, 2);
    assert_int_equal(tnr_view_permute(&wild, NULL, &out), TNR_OK);
    expect(&out, 4, EXTENTS(2, INT64_MAX, 0, INT64_MAX), out.strides, 2);
    assert_int_equal(
        tnr_view_broadcast(&wild, 5, EXTENTS(INT64_MAX, 0, INT64_MAX, 2, INT64_MAX), AXES(0, 1, 2, 3), &out), TNR_OK);
    expect(&out, 5, EXTENTS(INT64_MAX, 0, INT64_MAX, 2, INT64_MAX), out.strides, 2);
    assert_int_equal(tnr_view_reshape(&wild, 2, EXTENTS(INT64_MAX, 0), &out), TNR_OK);
    expect(&out, 2, EXTENTS(INT64_MAX, 0), out.strides, 2);
    const tnr_view_mut wild_mut = {wild};
    tnr_view_mut out_mut;
    assert_int_equal(tnr_view_mut_permute(&wild_mut, NULL, &out_mut), TNR_OK); /* idea 41 */
    /* a stride that means nothing is not scaled */
    const tnr_view one = test_view(TNR_C64, 3, 1, EXTENTS(1), EXTENTS(INT64_MIN), 1);
    assert_int_equal(tnr_view_slice(&one, SLICES({0, 1, -9}), &out), TNR_OK);
    expect(&out, 1, EXTENTS(1), out.strides, 1);
    assert_int_equal(tnr_view_as_real(&one, &out), TNR_OK);
    expect(&out, 2, EXTENTS(2, 1), EXTENTS(1, 0), 2);
}

static void slice_errors(void **state)
{
    (void)state;
    const tnr_view in = test_view(TNR_F32, 6, 2, EXTENTS(2, 3), NULL, 0);
    FAILS(tnr_view_slice(&in, SLICES(TNR_RANGE_ALL, {0, 1, 0}), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice(&in, SLICES({0, 0, 0}, TNR_RANGE_ALL), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice(&in, NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice(NULL, SLICES(TNR_RANGE_ALL), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice(&in, SLICES(TNR_RANGE_ALL, TNR_RANGE_ALL), NULL), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice_axis(&in, 2, (tnr_range)TNR_RANGE_ALL, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_slice_axis(&in, -1, (tnr_range)TNR_RANGE_ALL, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_slice_axis(&in, 0, (tnr_range){0, 1, 0}, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice_axis(NULL, 0, (tnr_range)TNR_RANGE_ALL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice_axis(&in, 0, (tnr_range)TNR_RANGE_ALL, NULL), TNR_ERR_ARGUMENT);
    const tnr_view scalar = test_view(TNR_F32, 1, 0, NULL, NULL, 0);
    tnr_view same;
    assert_int_equal(tnr_view_slice(&scalar, NULL, &same), TNR_OK);
}

static void select_drops_an_axis(void **state)
{
    (void)state;
    const tnr_view in = test_view(TNR_F32, 24, 3, EXTENTS(2, 3, 4), NULL, 0);
    tnr_view out;
    assert_int_equal(tnr_view_select(&in, 1, 2, &out), TNR_OK);
    expect(&out, 2, EXTENTS(2, 4), EXTENTS(1, 6), 4);
    assert_int_equal(tnr_view_select(&in, 2, -1, &out), TNR_OK);
    expect(&out, 2, EXTENTS(2, 3), EXTENTS(1, 2), 18);
    assert_int_equal(tnr_view_select(&out, 0, -2, &out), TNR_OK);
    assert_int_equal(tnr_view_select(&out, 0, 1, &out), TNR_OK);
    expect(&out, 0, NULL, NULL, 20);
    FAILS(tnr_view_select(&in, 1, 3, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_select(&in, 1, -4, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_select(&in, 1, INT64_MIN, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_select(&in, 3, 0, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_select(&in, -1, 0, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_select(NULL, 0, 0, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_select(&in, 0, 0, NULL), TNR_ERR_ARGUMENT);
    const tnr_view empty = test_view(TNR_F32, 0, 2, EXTENTS(0, 3), NULL, 0);
    FAILS(tnr_view_select(&empty, 0, 0, &kept), TNR_ERR_BOUNDS);
}

/* ---- Reshape, broadcast, diagonal ------------------------------------------------------------------------------- */

/* Ideas 37 and 52. */
static void reshape_merges_and_splits(void **state)
{
    (void)state;
    tnr_view out;
    const tnr_view whole = test_view(TNR_F32, 40, 2, EXTENTS(4, 6), NULL, 16); /* offsets are kept */
    assert_int_equal(tnr_view_reshape(&whole, 3, EXTENTS(2, 1, 12), &out), TNR_OK);
    expect(&out, 3, EXTENTS(2, 1, 12), EXTENTS(1, 0, 2), 16);
    assert_int_equal(tnr_view_reshape(&whole, 1, EXTENTS(24), &out), TNR_OK);
    expect(&out, 1, EXTENTS(24), EXTENTS(1), 16);
    /* rows 0..3 of a 6x5: columns are apart, each splits */
    const tnr_view part = test_view(TNR_F32, 30, 2, EXTENTS(4, 5), EXTENTS(1, 6), 0);
    assert_int_equal(tnr_view_reshape(&part, 4, EXTENTS(2, 2, 1, 5), &out), TNR_OK);
    expect(&out, 4, EXTENTS(2, 2, 1, 5), EXTENTS(1, 2, 0, 6), 0);
    FAILS(tnr_view_reshape(&part, 1, EXTENTS(20), &kept), TNR_ERR_LAYOUT);
    assert_non_null(strstr(tnr_last_error(), "tnr_to_contiguous"));
    assert_non_null(strstr(tnr_last_error(), "tnr_tensor_duplicate"));
    FAILS(tnr_view_reshape(&part, 2, EXTENTS(5, 4), &kept), TNR_ERR_LAYOUT);
    FAILS(tnr_view_reshape(&part, 2, EXTENTS(10, 2), &kept), TNR_ERR_LAYOUT);
    /* merges beside a gap, with a meaningless stride between, walked backwards */
    const tnr_view runs = test_view(TNR_F32, 100, 4, EXTENTS(2, 1, 3, 4), EXTENTS(-2, 99, -4, 20), 12);
    assert_int_equal(tnr_view_reshape(&runs, 3, EXTENTS(6, 2, 2), &out), TNR_OK);
    expect(&out, 3, EXTENTS(6, 2, 2), EXTENTS(-2, 20, 40), 12);
    /* a repeated element stays one */
    const tnr_view repeated = test_view(TNR_F32, 1, 2, EXTENTS(6, 4), EXTENTS(0, 0), 0);
    assert_int_equal(tnr_view_reshape(&repeated, 2, EXTENTS(8, 3), &out), TNR_OK);
    expect(&out, 2, EXTENTS(8, 3), EXTENTS(0, 0), 0);
    /* rank 0 and back */
    tnr_view one = test_view(TNR_F32, 9, 2, EXTENTS(1, 1), EXTENTS(77, -5), 8);
    assert_int_equal(tnr_view_reshape(&one, 0, NULL, &one), TNR_OK);
    expect(&one, 0, NULL, NULL, 8);
    assert_int_equal(tnr_view_reshape(&one, 3, EXTENTS(1, 1, 1), &one), TNR_OK);
    expect(&one, 3, EXTENTS(1, 1, 1), EXTENTS(0, 0, 0), 8);
    /* the shape may be the view's own */
    assert_int_equal(tnr_view_reshape(&one, 2, one.shape + 1, &one), TNR_OK);
}

static void reshape_errors(void **state)
{
    (void)state;
    const tnr_view in = test_view(TNR_F32, 6, 2, EXTENTS(2, 3), NULL, 0);
    FAILS(tnr_view_reshape(&in, 1, EXTENTS(5), &kept), TNR_ERR_SHAPE);
    FAILS(tnr_view_reshape(&in, 1, EXTENTS(0), &kept), TNR_ERR_SHAPE);
    FAILS(tnr_view_reshape(&in, 2, EXTENTS(-2, -3), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_reshape(&in, 2, EXTENTS(TWO_62, 4), &kept), TNR_ERR_OVERFLOW);
    FAILS(tnr_view_reshape(&in, -1, EXTENTS(6), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_reshape(&in, TNR_MAX_RANK + 1, EXTENTS(6), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_reshape(&in, 1, NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_reshape(NULL, 1, EXTENTS(6), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_reshape(&in, 1, EXTENTS(6), NULL), TNR_ERR_ARGUMENT);
}

/* Idea 38. */
static void broadcast_repeats(void **state)
{
    (void)state;
    static const int64_t memory[] = {1, 2, 3};
    const tnr_view line = test_view(TNR_I64, 3, 1, EXTENTS(3), NULL, 0);
    tnr_view out;
    assert_int_equal(tnr_view_broadcast(&line, 2, EXTENTS(2, 3), AXES(1), &out), TNR_OK);
    expect(&out, 2, EXTENTS(2, 3), EXTENTS(0, 1), 0);
    expect_elements(&out, memory, 6, EXTENTS(1, 1, 2, 2, 3, 3));
    const tnr_view column = test_view(TNR_I64, 3, 2, EXTENTS(1, 3), EXTENTS(9, 1), 0);
    assert_int_equal(tnr_view_broadcast(&column, 3, EXTENTS(3, 4, 1), AXES(1, 0), &out), TNR_OK);
    expect(&out, 3, EXTENTS(3, 4, 1), EXTENTS(1, 0, 0), 0);
    const tnr_view scalar = test_view(TNR_I64, 3, 0, NULL, NULL, 2);
    assert_int_equal(tnr_view_broadcast(&scalar, 1, EXTENTS(INT64_MAX), NULL, &out), TNR_OK);
    expect(&out, 1, EXTENTS(INT64_MAX), EXTENTS(0), 2);
    assert_int_equal(tnr_view_broadcast(&column, 2, EXTENTS(0, 3), AXES(0, 1), &out), TNR_OK);
    expect(&out, 2, EXTENTS(0, 3), out.strides, 0);
}

static void broadcast_errors(void **state)
{
    (void)state;
    const tnr_view in = test_view(TNR_F32, 6, 2, EXTENTS(2, 3), NULL, 0);
    FAILS(tnr_view_broadcast(&in, 3, EXTENTS(2, 3, 4), AXES(0, 0), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_broadcast(&in, 3, EXTENTS(2, 3, 4), AXES(0, 3), &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_broadcast(&in, 3, EXTENTS(2, 3, 4), AXES(-1, 1), &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_broadcast(&in, 3, EXTENTS(2, 3, 4), AXES(0, 2), &kept), TNR_ERR_SHAPE);
    FAILS(tnr_view_broadcast(&in, 1, EXTENTS(2), AXES(0, 0), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_broadcast(&in, 2, EXTENTS(2, 0), AXES(0, 1), &kept), TNR_ERR_SHAPE);
    FAILS(tnr_view_broadcast(&in, 3, EXTENTS(2, 3, -4), AXES(0, 1), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_broadcast(&in, 3, EXTENTS(2, 3, TWO_62), AXES(0, 1), &kept), TNR_ERR_OVERFLOW);
    FAILS(tnr_view_broadcast(&in, TNR_MAX_RANK + 1, EXTENTS(2), AXES(0, 1), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_broadcast(&in, 2, NULL, AXES(0, 1), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_broadcast(&in, 2, EXTENTS(2, 3), NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_broadcast(NULL, 2, EXTENTS(2, 3), AXES(0, 1), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_broadcast(&in, 2, EXTENTS(2, 3), AXES(0, 1), NULL), TNR_ERR_ARGUMENT);
}

static void diagonals(void **state)
{
    (void)state;
    const tnr_view in = test_view(TNR_F32, 24, 3, EXTENTS(2, 3, 4), NULL, 0);
    tnr_view out;
    assert_int_equal(tnr_view_diagonal(&in, 0, 2, &out), TNR_OK);
    expect(&out, 2, EXTENTS(3, 2), EXTENTS(2, 7), 0);
    assert_int_equal(tnr_view_diagonal(&in, 2, 0, &out), TNR_OK);
    expect(&out, 2, EXTENTS(3, 2), EXTENTS(2, 7), 0);
    assert_int_equal(tnr_view_diagonal(&out, 0, 1, &out), TNR_OK);
    expect(&out, 1, EXTENTS(2), EXTENTS(9), 0);
    const tnr_view crossed = test_view(TNR_F32, 9, 2, EXTENTS(3, 3), EXTENTS(1, -1), 2);
    assert_int_equal(tnr_view_diagonal(&crossed, 0, 1, &out), TNR_OK);
    expect(&out, 1, EXTENTS(3), EXTENTS(0), 2);
    const tnr_view_mut crossed_mut = {crossed};
    tnr_view_mut refused;
    assert_int_equal(tnr_view_mut_diagonal(&crossed_mut, 0, 1, &refused), TNR_ERR_OVERLAP);
    FAILS(tnr_view_diagonal(&in, 1, 1, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_diagonal(&in, 7, 7, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_diagonal(&in, 0, 3, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_diagonal(&in, -1, 1, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_diagonal(NULL, 0, 1, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_diagonal(&in, 0, 1, NULL), TNR_ERR_ARGUMENT);
}

/* ---- Complex as real and back ----------------------------------------------------------------------------------- */

/* Idea 58: signs and offset, round trip, the window stays. */
static void complex_and_real(void **state)
{
    (void)state;
    tnr_view complex = test_view(TNR_C64, 10, 2, EXTENTS(2, 3), EXTENTS(-1, 3), 1);
    complex.window_begin = 8; /* eight bytes suit a c64, though sixteen do not divide it */
    tnr_view real;
    tnr_view back;
    assert_int_equal(tnr_view_as_real(&complex, &real), TNR_OK);
    expect(&real, 3, EXTENTS(2, 2, 3), EXTENTS(1, -2, 6), 2);
    assert_int_equal(real.dtype, TNR_F64);
    assert_true(real.window_begin == 8 && real.window_bytes == 160);
    assert_int_equal(tnr_view_as_complex(&real, &back), TNR_OK);
    expect(&back, 2, EXTENTS(2, 3), EXTENTS(-1, 3), 1);
    assert_int_equal(back.dtype, TNR_C64);
    assert_true(back.window_begin == 8 && back.window_bytes == 160);
    /* a window of an odd number of reals: the last whole pair is the last element */
    const tnr_view odd = test_view(TNR_F32, 7, 2, EXTENTS(2, 3), NULL, 0);
    assert_int_equal(tnr_view_as_complex(&odd, &back), TNR_OK);
    expect(&back, 1, EXTENTS(3), EXTENTS(1), 0);
    assert_int_equal(back.dtype, TNR_C32);
    /* an empty view at the end of such a window */
    const tnr_view end = test_view(TNR_F32, 7, 2, EXTENTS(2, 0), NULL, 7);
    assert_int_equal(tnr_view_as_complex(&end, &back), TNR_OK);
    expect(&back, 1, EXTENTS(0), EXTENTS(1), 3);
    const tnr_view scalar = test_view(TNR_F32, 4, 1, EXTENTS(2), NULL, 2);
    assert_int_equal(tnr_view_as_complex(&scalar, &back), TNR_OK);
    expect(&back, 0, NULL, NULL, 1);
    const tnr_view ones = test_view(TNR_F32, 4, 2, EXTENTS(2, 1), EXTENTS(1, 77), 2);
    assert_int_equal(tnr_view_as_complex(&ones, &back), TNR_OK);
    expect(&back, 1, EXTENTS(1), EXTENTS(0), 1);
}

static void complex_and_real_errors(void **state)
{
    (void)state;
    const tnr_view f32 = test_view(TNR_F32, 6, 2, EXTENTS(2, 3), NULL, 0);
    FAILS(tnr_view_as_real(&f32, &kept), TNR_ERR_DTYPE);
    const tnr_view i64 = test_view(TNR_I64, 6, 2, EXTENTS(2, 3), NULL, 0);
    FAILS(tnr_view_as_real(&i64, &kept), TNR_ERR_DTYPE);
    FAILS(tnr_view_as_complex(&i64, &kept), TNR_ERR_DTYPE);
    const tnr_view c32 = test_view(TNR_C32, 6, 2, EXTENTS(2, 3), NULL, 0);
    FAILS(tnr_view_as_complex(&c32, &kept), TNR_ERR_DTYPE);
    FAILS(tnr_view_as_real(NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_as_real(&c32, NULL), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_as_complex(NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_as_complex(&f32, NULL), TNR_ERR_ARGUMENT);
    const tnr_view scalar = test_view(TNR_F64, 6, 0, NULL, NULL, 0);
    FAILS(tnr_view_as_complex(&scalar, &kept), TNR_ERR_SHAPE);
    const tnr_view three = test_view(TNR_F64, 6, 1, EXTENTS(3), NULL, 0);
    FAILS(tnr_view_as_complex(&three, &kept), TNR_ERR_SHAPE);
    const tnr_view apart = test_view(TNR_F64, 6, 1, EXTENTS(2), EXTENTS(2), 0);
    FAILS(tnr_view_as_complex(&apart, &kept), TNR_ERR_LAYOUT);
    const tnr_view shifted = test_view(TNR_F64, 6, 1, EXTENTS(2), NULL, 1);
    FAILS(tnr_view_as_complex(&shifted, &kept), TNR_ERR_LAYOUT);
    const tnr_view odd = test_view(TNR_F64, 6, 2, EXTENTS(2, 2), EXTENTS(1, 3), 0);
    FAILS(tnr_view_as_complex(&odd, &kept), TNR_ERR_LAYOUT);
    int64_t ones[TNR_MAX_RANK];
    for (int i = 0; i < TNR_MAX_RANK; i++) {
        ones[i] = 1;
    }
    const tnr_view full = test_view(TNR_C64, 1, TNR_MAX_RANK, ones, NULL, 0);
    FAILS(tnr_view_as_real(&full, &kept), TNR_ERR_ARGUMENT);
    const tnr_view many = test_view(TNR_C64, 1, 1, EXTENTS(TWO_62), EXTENTS(0), 0);
    FAILS(tnr_view_as_real(&many, &kept), TNR_ERR_OVERFLOW);
}

/* Without an owner: as the view of a tensor of that shape, so that transforms have something to go by. */
static void views_of_no_tensor(void **state)
{
    (void)state;
    tnr_view view;
    tnr_view other;
    assert_int_equal(tnr_view_shaped(TNR_F32, 3, EXTENTS(2, 3, 4), &view), TNR_OK);
    assert_true(view.root == NULL && view.dtype == TNR_F32 && view.rank == 3 && view.window_bytes == 96);
    assert_true(view.shape[2] == 4 && view.strides[0] == 1 && view.strides[1] == 2 && view.strides[2] == 6);
    assert_int_equal(tnr_view_permute(&view, NULL, &other), TNR_OK);
    assert_true(other.shape[0] == 4 && other.strides[0] == 6);
    assert_int_equal(tnr_view_slice_axis(&view, 2, (tnr_range){1, 3, -1}, &other), TNR_OK);
    assert_true(other.shape[2] == 2 && other.strides[2] == -6 && other.offset == 12);
    assert_int_equal(tnr_view_shaped(TNR_C64, 0, NULL, &view), TNR_OK);
    assert_true(view.rank == 0 && view.window_bytes == 16);
    assert_int_equal(tnr_view_shaped(TNR_F64, 3, EXTENTS(TWO_62, 0, TWO_62), &view), TNR_OK);
    assert_int_equal(view.window_bytes, 0);
    FAILS(tnr_view_shaped(TNR_DTYPE_NONE, 0, NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_shaped(TNR_F64, TNR_MAX_RANK + 1, NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_shaped(TNR_F64, 1, EXTENTS(-1), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_shaped(TNR_F64, 1, EXTENTS(TWO_62), &kept), TNR_ERR_OVERFLOW);
    assert_int_equal(tnr_view_shaped(TNR_F64, 0, NULL, NULL), TNR_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_of_no_tensor),
        cmocka_unit_test(er_10_permutation_direction),
        cmocka_unit_test(permute_reverses_without_axes),
        cmocka_unit_test(permute_errors),
        cmocka_unit_test(slices_of_a_line),
        cmocka_unit_test(slices_of_a_matrix),
        cmocka_unit_test(sl_01_empty_slices),
        cmocka_unit_test(sl_02_empty_views_never_overflow),
        cmocka_unit_test(slice_errors),
        cmocka_unit_test(select_drops_an_axis),
        cmocka_unit_test(reshape_merges_and_splits),
        cmocka_unit_test(reshape_errors),
        cmocka_unit_test(broadcast_repeats),
        cmocka_unit_test(broadcast_errors),
        cmocka_unit_test(diagonals),
        cmocka_unit_test(complex_and_real),
        cmocka_unit_test(complex_and_real_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
