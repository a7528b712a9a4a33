/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of views, readable and writable, cursors and questions, on views whose owner must not be looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/storage.h"
#include "support/views.h"

#define TWO_62 ((int64_t)1 << 62)

/* Shape, strides and offset of a view; and that it lies in its window. Strides of axes of extent 1 are not compared. */
static void expect(const tnr_view *view, int rank, const int64_t *shape, const int64_t *strides, int64_t offset)
{
    assert_int_equal(view->rank, rank);
    for (int i = 0; i < rank; i++) {
        assert_true(view->shape[i] == shape[i]);
        assert_true(shape[i] == 1 || view->strides[i] == strides[i]);
    }
    assert_true(view->offset == offset);
    int64_t count;
    assert_int_equal(tnri_layout_check("test", view->rank, view->shape, view->strides, view->offset,
                                       (int64_t)(view->window_bytes / tnr_dtype_size(view->dtype)), &count),
                     TNR_OK);
    assert_int_equal(view->generation, 7);
    assert_ptr_equal(view->root, (void *)(uintptr_t)16);
}

/* Elements of an i64 view in column-major order, read by a cursor. */
static void expect_elements(const tnr_view *view, const int64_t *memory, size_t count, const int64_t *wanted)
{
    size_t seen = 0;
    for (tnr_cursor cursor = tnr_cursor_begin(view); cursor.valid; tnr_cursor_next(&cursor)) {
        assert_true(seen < count);
        assert_true(cursor.position == (int64_t)seen);
        assert_true(memory[view->offset + cursor.offset] == wanted[seen]);
        seen++;
    }
    assert_int_equal(seen, count);
}

/* A failing call says why and leaves its result, which the call names `kept`, as it was. */
#define FAILS(call, status)                                  \
    do {                                                     \
        tnr_view kept;                                       \
        tnr_view before;                                     \
        memset(&kept, 0x5a, sizeof kept);                    \
        memcpy(&before, &kept, sizeof kept);                 \
        tnr_status ignored = tnr_set_error(TNR_ERR_IO, "-"); \
        (void)ignored;                                       \
        assert_int_equal((call), (status));                  \
        assert_memory_equal(&kept, &before, sizeof kept);    \
        assert_non_null(strstr(tnr_last_error(), "view_"));  \
    } while (0)

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
        tnr_slice slice;
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
    assert_int_equal(tnr_view_slice(&view, SLICES(TNR_SLICE_ALL, {0, TNR_END, 2}), &out), TNR_OK);
    expect(&out, 2, EXTENTS(4, 3), EXTENTS(1, 8), 0);
    assert_int_equal(tnr_view_slice(&view, SLICES({0, TNR_END, -1}, {1, 4, -2}), &out), TNR_OK);
    expect(&out, 2, EXTENTS(4, 2), EXTENTS(-1, -8), 15);
    assert_int_equal(tnr_view_slice_axis(&view, 1, (tnr_slice){2, 4, 1}, &view), TNR_OK);
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
    assert_int_equal(tnr_view_slice_axis(&parent, 0, (tnr_slice){4, 4, 1}, &rows), TNR_OK);
    assert_int_equal(tnr_view_slice_axis(&parent, 1, (tnr_slice){3, 3, 1}, &columns), TNR_OK);
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
    const tnr_view wild =
        test_view(TNR_C64, 3, 4, EXTENTS(INT64_MAX, 0, INT64_MAX, 2), EXTENTS(INT64_MIN, INT64_MAX, INT64_MAX, TWO_62), 2);
    tnr_view out;
    assert_int_equal(tnr_view_slice(&wild, SLICES({-5, TNR_END, -7}, {0, 9, 1}, {INT64_MAX - 1, TNR_END, 1}, {1, 2, 1}), &out),
                     TNR_OK);
    expect(&out, 4, EXTENTS(1, 0, 1, 1), out.strides, out.offset);
    assert_int_equal(tnr_view_slice(&wild, SLICES({0, TNR_END, 1 << 20}, {0, 9, 1}, {5, 900, INT64_MIN}, {1, 2, -1}), &out),
                     TNR_OK);
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
    assert_int_equal(tnr_view_broadcast(&wild, 5, EXTENTS(INT64_MAX, 0, INT64_MAX, 2, INT64_MAX), AXES(0, 1, 2, 3), &out),
                     TNR_OK);
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
    FAILS(tnr_view_slice(&in, SLICES(TNR_SLICE_ALL, {0, 1, 0}), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice(&in, SLICES({0, 0, 0}, TNR_SLICE_ALL), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice(&in, NULL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice(NULL, SLICES(TNR_SLICE_ALL), &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice(&in, SLICES(TNR_SLICE_ALL, TNR_SLICE_ALL), NULL), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice_axis(&in, 2, (tnr_slice)TNR_SLICE_ALL, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_slice_axis(&in, -1, (tnr_slice)TNR_SLICE_ALL, &kept), TNR_ERR_BOUNDS);
    FAILS(tnr_view_slice_axis(&in, 0, (tnr_slice){0, 1, 0}, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice_axis(NULL, 0, (tnr_slice)TNR_SLICE_ALL, &kept), TNR_ERR_ARGUMENT);
    FAILS(tnr_view_slice_axis(&in, 0, (tnr_slice)TNR_SLICE_ALL, NULL), TNR_ERR_ARGUMENT);
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

/* ---- Writable forms --------------------------------------------------------------------------------------------- */

static void sl_05_no_writing_through_repetition(void **state)
{
    (void)state;
    const tnr_view_mut one = {test_view(TNR_F64, 1, 1, EXTENTS(1), NULL, 0)};
    tnr_view_mut out = one;
    assert_int_equal(tnr_view_mut_broadcast(&one, 1, EXTENTS(3), AXES(0), &out), TNR_ERR_OVERLAP);
    assert_memory_equal(&out, &one, sizeof out);
    assert_int_equal(tnr_view_mut_broadcast(&one, 1, EXTENTS(1), AXES(0), &out), TNR_OK);
    assert_int_equal(tnr_view_mut_broadcast(&one, 2, EXTENTS(1, 1), AXES(1), &out), TNR_OK);
    assert_int_equal(tnr_view_mut_broadcast(&one, 1, EXTENTS(0), AXES(0), &out), TNR_OK);
    bool distinct = true;
    const tnr_view repeated = test_view(TNR_F64, 1, 1, EXTENTS(3), EXTENTS(0), 0);
    assert_int_equal(tnr_view_distinct(&repeated, &distinct), TNR_OK);
    assert_false(distinct);
}

static void writable_forms(void **state)
{
    (void)state;
    const tnr_view_mut in = {test_view(TNR_F64, 24, 3, EXTENTS(2, 3, 4), NULL, 0)};
    tnr_view_mut out;
    assert_int_equal(tnr_view_mut_permute(&in, AXES(2, 0, 1), &out), TNR_OK);
    expect(&out.view, 3, EXTENTS(4, 2, 3), EXTENTS(6, 1, 2), 0);
    assert_int_equal(tnr_view_mut_slice(&in, SLICES(TNR_SLICE_ALL, {0, TNR_END, -1}, {1, TNR_END, 2}), &out), TNR_OK);
    expect(&out.view, 3, EXTENTS(2, 3, 2), EXTENTS(1, -2, 12), 10);
    assert_int_equal(tnr_view_mut_slice_axis(&in, 1, (tnr_slice){1, 3, 1}, &out), TNR_OK);
    expect(&out.view, 3, EXTENTS(2, 2, 4), EXTENTS(1, 2, 6), 2);
    assert_int_equal(tnr_view_mut_select(&in, 1, 1, &out), TNR_OK);
    expect(&out.view, 2, EXTENTS(2, 4), EXTENTS(1, 6), 2);
    assert_int_equal(tnr_view_mut_reshape(&in, 1, EXTENTS(24), &out), TNR_OK);
    expect(&out.view, 1, EXTENTS(24), EXTENTS(1), 0);
    assert_int_equal(tnr_view_mut_diagonal(&in, 0, 1, &out), TNR_OK);
    expect(&out.view, 2, EXTENTS(4, 2), EXTENTS(6, 3), 0);
    assert_int_equal(tnr_view_mut_as_complex(&in, &out), TNR_OK);
    expect(&out.view, 2, EXTENTS(3, 4), EXTENTS(1, 3), 0);
    assert_int_equal(tnr_view_mut_as_real(&out, &out), TNR_OK);
    expect(&out.view, 3, EXTENTS(2, 3, 4), EXTENTS(1, 2, 6), 0);
    /* errors of the readable form come through */
    const tnr_view_mut before = out;
    assert_int_equal(tnr_view_mut_reshape(&in, 1, EXTENTS(23), &out), TNR_ERR_SHAPE);
    assert_int_equal(tnr_view_mut_select(&in, 3, 0, &out), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_view_mut_slice(&in, NULL, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_as_real(&in, &out), TNR_ERR_DTYPE);
    assert_memory_equal(&out, &before, sizeof out);
}

static void writable_forms_take_no_null(void **state)
{
    (void)state;
    const tnr_view_mut in = {test_view(TNR_C64, 6, 2, EXTENTS(2, 3), NULL, 0)};
    const tnr_view_mut real = {test_view(TNR_F64, 6, 2, EXTENTS(2, 3), NULL, 0)};
    tnr_view_mut out;
    assert_int_equal(tnr_view_mut_permute(NULL, NULL, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_permute(&in, NULL, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_slice(NULL, NULL, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_slice(&in, SLICES(TNR_SLICE_ALL, TNR_SLICE_ALL), NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_slice_axis(NULL, 0, (tnr_slice)TNR_SLICE_ALL, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_slice_axis(&in, 0, (tnr_slice)TNR_SLICE_ALL, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_select(NULL, 0, 0, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_select(&in, 0, 0, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_reshape(NULL, 1, EXTENTS(6), &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_reshape(&in, 1, EXTENTS(6), NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_broadcast(NULL, 2, EXTENTS(2, 3), AXES(0, 1), &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_broadcast(&in, 2, EXTENTS(2, 3), AXES(0, 1), NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_diagonal(NULL, 0, 1, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_diagonal(&in, 0, 1, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_as_real(NULL, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_as_real(&in, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_as_complex(NULL, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_as_complex(&real, NULL), TNR_ERR_ARGUMENT);
}

/* ---- Questions and cursors -------------------------------------------------------------------------------------- */

static void sl_04_span_of_views(void **state)
{
    (void)state;
    int64_t span;
    const tnr_view corner = test_view(TNR_F64, 20, 2, EXTENTS(2, 2), EXTENTS(1, 4), 14);
    assert_int_equal(tnr_view_span(&corner, &span), TNR_OK);
    assert_int_equal(span, 6);
    const tnr_view scalar = test_view(TNR_F64, 20, 0, NULL, NULL, 19);
    assert_int_equal(tnr_view_span(&scalar, &span), TNR_OK);
    assert_int_equal(span, 1);
    const tnr_view turned = test_view(TNR_F64, 20, 2, EXTENTS(3, 2), EXTENTS(-2, 7), 4);
    assert_int_equal(tnr_view_span(&turned, &span), TNR_OK);
    assert_int_equal(span, 12);
    /* views that reach out are refused by every transform */
    const tnr_view out_of_it = test_view(TNR_F64, 20, 2, EXTENTS(2, 2), EXTENTS(1, 4), 15);
    FAILS(tnr_view_permute(&out_of_it, NULL, &kept), TNR_ERR_BOUNDS);
}

static void sl_10_reversed_views_read_backwards(void **state)
{
    (void)state;
    static const int64_t memory[] = {1, 2, 3, 4};
    const tnr_view reversed = test_view(TNR_I64, 4, 1, EXTENTS(4), EXTENTS(-1), 3);
    expect_elements(&reversed, memory, 4, EXTENTS(4, 3, 2, 1));
    const tnr_view pairs = test_view(TNR_I64, 4, 2, EXTENTS(2, 2), EXTENTS(-1, 2), 1);
    expect_elements(&pairs, memory, 4, EXTENTS(2, 1, 4, 3));
    const tnr_view low = test_view(TNR_I64, 4, 1, EXTENTS(4), EXTENTS(-1), 2);
    FAILS(tnr_view_slice(&low, SLICES(TNR_SLICE_ALL), &kept), TNR_ERR_BOUNDS);
}

/* Idea 44: compactness is a matter of strides, not of the offset. */
static void compact_anywhere(void **state)
{
    (void)state;
    const tnr_view inside = test_view(TNR_F64, 20, 2, EXTENTS(2, 3), NULL, 9);
    assert_true(tnr_view_is_compact(&inside));
    const tnr_view stepped = test_view(TNR_F64, 20, 1, EXTENTS(3), EXTENTS(2), 0);
    assert_false(tnr_view_is_compact(&stepped));
    const tnr_view row_major = test_view(TNR_F64, 20, 2, EXTENTS(2, 3), EXTENTS(3, 1), 0); /* idea 52 */
    assert_false(tnr_view_is_compact(&row_major));
    assert_false(tnr_view_is_compact(NULL));
}

static void cursors(void **state)
{
    (void)state;
    const tnr_view scalar = test_view(TNR_F64, 1, 0, NULL, NULL, 0);
    tnr_cursor cursor = tnr_cursor_begin(&scalar);
    assert_true(cursor.valid && cursor.offset == 0 && cursor.position == 0);
    tnr_cursor_next(&cursor);
    assert_false(cursor.valid);
    assert_true(cursor.position == 1);
    tnr_cursor_next(&cursor);
    assert_true(!cursor.valid && cursor.position == 1);
    tnr_cursor_next(NULL);
    assert_false(tnr_cursor_begin(NULL).valid);
    const tnr_view ones = test_view(TNR_F64, 9, 3, EXTENTS(1, 3, 1), EXTENTS(INT64_MIN, -4, INT64_MAX), 8);
    cursor = tnr_cursor_begin(&ones);
    for (int64_t i = 0; i < 3; i++) {
        assert_true(cursor.valid && cursor.offset == -4 * i && cursor.index[1] == i);
        tnr_cursor_next(&cursor);
    }
    assert_false(cursor.valid);
}

/* Views are plain structs: whatever stands in one, calls answer and stay inside its arrays. */
static void garbage_is_refused(void **state)
{
    (void)state;
    tnr_view bad[10];
    for (size_t i = 0; i < 10; i++) {
        bad[i] = test_view(TNR_F64, 6, 2, EXTENTS(2, 3), NULL, 0);
    }
    bad[0].rank = -1;
    bad[1].rank = TNR_MAX_RANK + 1;
    bad[2].rank = INT32_MAX;
    bad[3].rank = INT32_MIN;
    bad[4].shape[1] = -3;
    bad[5].dtype = TNR_DTYPE_NONE;
    bad[6].dtype = (tnr_dtype)99;
    memset(&bad[7], 0xff, sizeof bad[7]);
    memset(&bad[8], 0, sizeof bad[8]);
    bad[9].shape[0] = INT64_MIN;
    for (size_t i = 0; i < 10; i++) {
        const tnr_view *view = &bad[i];
        const bool dtype_only = i == 5 || i == 6 || i == 8;
        int64_t number;
        bool distinct;
        FAILS(tnr_view_permute(view, NULL, &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_slice(view, SLICES(TNR_SLICE_ALL, TNR_SLICE_ALL), &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_slice_axis(view, 0, (tnr_slice)TNR_SLICE_ALL, &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_select(view, 0, 0, &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_reshape(view, 1, EXTENTS(6), &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_broadcast(view, 2, EXTENTS(2, 3), AXES(0, 1), &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_diagonal(view, 0, 1, &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_as_real(view, &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_as_complex(view, &kept), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_view_count(view, &number), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_view_span(view, &number), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_view_distinct(view, &distinct), TNR_ERR_ARGUMENT);
        assert_true(dtype_only || !tnr_cursor_begin(view).valid);
        assert_true(dtype_only || !tnr_view_is_compact(view));
    }
    const tnr_view good = test_view(TNR_F64, 6, 2, EXTENTS(2, 3), NULL, 0);
    assert_int_equal(tnr_view_count(&good, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_span(&good, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_distinct(&good, NULL), TNR_ERR_ARGUMENT);
    int64_t number;
    bool distinct;
    assert_int_equal(tnr_view_count(NULL, &number), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_span(NULL, &number), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_distinct(NULL, &distinct), TNR_ERR_ARGUMENT);
}

/* Well-formed, but no call made it: overflow and bounds are named, nothing wraps. */
static void made_up_views_overflow_by_name(void **state)
{
    (void)state;
    int64_t number;
    const tnr_view count = test_view(TNR_F64, 6, 2, EXTENTS(TWO_62, 4), EXTENTS(0, 0), 0);
    assert_int_equal(tnr_view_count(&count, &number), TNR_ERR_OVERFLOW);
    FAILS(tnr_view_permute(&count, NULL, &kept), TNR_ERR_OVERFLOW);
    const tnr_view span = test_view(TNR_F64, 6, 2, EXTENTS(2, 2), EXTENTS(INT64_MAX, INT64_MIN), 0);
    assert_int_equal(tnr_view_span(&span, &number), TNR_ERR_OVERFLOW);
    const tnr_view reach = test_view(TNR_F64, 6, 2, EXTENTS(2, 2), EXTENTS(1, TWO_62), TWO_62);
    FAILS(tnr_view_select(&reach, 1, 1, &kept), TNR_ERR_OVERFLOW);
    FAILS(tnr_view_slice(&reach, SLICES({1, 2, 1}, {1, 2, 1}), &kept), TNR_ERR_OVERFLOW);
    tnr_view wide = test_view(TNR_BOOL, 6, 1, EXTENTS(6), NULL, 0);
    wide.window_bytes = UINT64_MAX; /* more elements than 63 bits can count */
    tnr_view out;
    assert_int_equal(tnr_view_slice(&wide, SLICES({1, 3, 1}), &out), TNR_OK);
    assert_true(out.offset == 1 && out.shape[0] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(sl_05_no_writing_through_repetition),
        cmocka_unit_test(writable_forms),
        cmocka_unit_test(writable_forms_take_no_null),
        cmocka_unit_test(sl_04_span_of_views),
        cmocka_unit_test(sl_10_reversed_views_read_backwards),
        cmocka_unit_test(compact_anywhere),
        cmocka_unit_test(cursors),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(made_up_views_overflow_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
