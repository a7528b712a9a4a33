/* SPDX-License-Identifier: BSD-3-Clause */
/* Writable forms of the transforms: the same views, and proof that their elements are distinct. */
#include "support/view_checks.h"

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
    assert_int_equal(tnr_view_mut_slice(&in, SLICES(TNR_RANGE_ALL, {0, TNR_END, -1}, {1, TNR_END, 2}), &out), TNR_OK);
    expect(&out.view, 3, EXTENTS(2, 3, 2), EXTENTS(1, -2, 12), 10);
    assert_int_equal(tnr_view_mut_slice_axis(&in, 1, (tnr_range){1, 3, 1}, &out), TNR_OK);
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
    assert_int_equal(tnr_view_mut_slice(&in, SLICES(TNR_RANGE_ALL, TNR_RANGE_ALL), NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_slice_axis(NULL, 0, (tnr_range)TNR_RANGE_ALL, &out), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_view_mut_slice_axis(&in, 0, (tnr_range)TNR_RANGE_ALL, NULL), TNR_ERR_ARGUMENT);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sl_05_no_writing_through_repetition),
        cmocka_unit_test(writable_forms),
        cmocka_unit_test(writable_forms_take_no_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
