/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions that a descriptor answers alone, cursors, and descriptors that no call made. */
#include "support/view_checks.h"

#define TWO_62 ((int64_t)1 << 62)

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
    FAILS(tnr_view_slice(&low, SLICES(TNR_RANGE_ALL), &kept), TNR_ERR_BOUNDS);
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

/* ---- Descriptors that no call made ------------------------------------------------------------------------------ */

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
        FAILS(tnr_view_slice(view, SLICES(TNR_RANGE_ALL, TNR_RANGE_ALL), &kept), TNR_ERR_ARGUMENT);
        FAILS(tnr_view_slice_axis(view, 0, (tnr_range)TNR_RANGE_ALL, &kept), TNR_ERR_ARGUMENT);
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
        cmocka_unit_test(sl_04_span_of_views), cmocka_unit_test(sl_10_reversed_views_read_backwards),
        cmocka_unit_test(compact_anywhere),    cmocka_unit_test(cursors),
        cmocka_unit_test(garbage_is_refused),  cmocka_unit_test(made_up_views_overflow_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
