/* SPDX-License-Identifier: BSD-3-Clause */
/* Padding by hand: frames, cuts, spread axes, and extents at the ends of 64 bits. */
#include "support/structure_test.h"

#define PADDING(...) ((const tnr_padding[]){__VA_ARGS__})

static tnr_tensor *one_to(int32_t n)
{
    const int32_t values[5] = {1, 2, 3, 4, 5};
    const int64_t shape = n;
    return numbers(1, &shape, values);
}

static void test_frames_are_zero(void **state)
{
    (void)state;
    tnr_tensor *in = numbers(2, SHAPE(2, 2), VALUES(1, 2, 3, 4));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_pad(engine, &view, PADDING({1, 0, 0}, {0, 1, 0}), &made));
    MADE(made, 2, SHAPE(3, 3), VALUES(0, 1, 2, 0, 3, 4, 0, 0, 0));
    OK(tnr_pad(engine, &view, PADDING({0, 0, 0}, {0, 0, 0}), &made));
    MADE(made, 2, SHAPE(2, 2), VALUES(1, 2, 3, 4));
    release(&in);
}

static void test_cuts(void **state)
{
    (void)state;
    tnr_tensor *in = one_to(5);
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_pad(engine, &view, PADDING({-1, -2, 0}), &made));
    MADE(made, 1, SHAPE(2), VALUES(2, 3));
    OK(tnr_pad(engine, &view, PADDING({-4, 2, 0}), &made));
    MADE(made, 1, SHAPE(3), VALUES(5, 0, 0));
    OK(tnr_pad(engine, &view, PADDING({-7, 4, 0}), &made)); /* all cut off, and more */
    MADE(made, 1, SHAPE(2), VALUES(0, 0));
    OK(tnr_pad(engine, &view, PADDING({3, -7, 0}), &made));
    MADE(made, 1, SHAPE(1), VALUES(0));
    OK(tnr_pad(engine, &view, PADDING({-2, -3, 0}), &made));
    MADE(made, 1, SHAPE(0), NULL);
    REFUSED(TNR_ERR_SHAPE, tnr_pad(engine, &view, PADDING({-3, -3, 0}), &made));
    TEXT_HAS("pad");
    release(&in);
}

static void test_spread_axes(void **state)
{
    (void)state;
    tnr_tensor *in = one_to(3);
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_pad(engine, &view, PADDING({0, 0, 1}), &made));
    MADE(made, 1, SHAPE(5), VALUES(1, 0, 2, 0, 3));
    OK(tnr_pad(engine, &view, PADDING({1, 1, 3}), &made));
    MADE(made, 1, SHAPE(11), VALUES(0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0));
    OK(tnr_pad(engine, &view, PADDING({-1, -1, 2}), &made)); /* what is cut off is cut off the spread axis */
    MADE(made, 1, SHAPE(5), VALUES(0, 0, 2, 0, 0));
    OK(tnr_pad(engine, &view, PADDING({-3, -3, 2}), &made));
    MADE(made, 1, SHAPE(1), VALUES(2));
    OK(tnr_pad(engine, &view, PADDING({-1, -4, 2}), &made)); /* only zeros of the interior stay */
    MADE(made, 1, SHAPE(2), VALUES(0, 0));
    REFUSED(TNR_ERR_ARGUMENT, tnr_pad(engine, &view, PADDING({0, 0, -1}), &made));
    release(&in);
}

/* More boxes of zeros than are listed at a time, in an output of several strips. */
static void test_a_lattice_of_many_boxes(void **state)
{
    (void)state;
    enum { SIDE = 12, STEP = 12, LOW = 2, EXTENT = LOW + (SIDE - 1) * STEP + 1 + 3 };
    tnr_tensor *in = counting(3, SHAPE(SIDE, SIDE, SIDE));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    int wrong = 0;
    OK(tnr_pad(engine, &view, PADDING({LOW, 3, STEP - 1}, {LOW, 3, STEP - 1}, {LOW, 3, STEP - 1}), &made));
    const int32_t *found = (const int32_t *)(const void *)host_of(made);
    for (int k = 0; k < EXTENT; k++) {
        for (int j = 0; j < EXTENT; j++) {
            for (int i = 0; i < EXTENT; i++, found++) {
                const int at[3] = {i - LOW, j - LOW, k - LOW};
                int32_t expected = 0;
                bool inside = true;
                for (int axis = 2; axis >= 0; axis--) {
                    inside = inside && at[axis] >= 0 && at[axis] % STEP == 0 && at[axis] / STEP < SIDE;
                    expected = expected * SIDE + at[axis] / STEP;
                }
                wrong += *found != (inside ? expected : 0) ? 1 : 0;
            }
        }
    }
    assert_int_equal(wrong, 0);
    release(&made);
    release(&in);
}

static void test_empty_axes_are_only_framed(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(0, 2));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_pad(engine, &view, PADDING({1, 1, 5}, {0, 0, 1}), &made));
    MADE(made, 2, SHAPE(2, 3), VALUES(0, 0, 0, 0, 0, 0));
    OK(tnr_pad(engine, &view, PADDING({0, 0, 5}, {0, 0, 1}), &made));
    MADE(made, 2, SHAPE(0, 3), NULL);
    REFUSED(TNR_ERR_SHAPE, tnr_pad(engine, &view, PADDING({1, -2, 0}, {0, 0, 0}), &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_pad(engine, &view, NULL, &made));
    release(&in);
    in = counting(0, NULL);
    const tnr_view scalar = view_of(in);
    OK(tnr_pad(engine, &scalar, NULL, &made));
    MADE(made, 0, NULL, VALUES(0));
    release(&in);
}

static void test_extents_at_the_ends_of_64_bits(void **state)
{
    (void)state;
    tnr_tensor *in = one_to(2);
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    REFUSED(TNR_ERR_OVERFLOW, tnr_pad(engine, &view, PADDING({INT64_MAX, 0, 0}), &made));
    REFUSED(TNR_ERR_OVERFLOW, tnr_pad(engine, &view, PADDING({0, INT64_MAX, 0}), &made));
    REFUSED(TNR_ERR_OVERFLOW, tnr_pad(engine, &view, PADDING({0, 0, INT64_MAX}), &made));
    REFUSED(TNR_ERR_OVERFLOW, tnr_pad(engine, &view, PADDING({0, 0, INT64_MAX / 2}), &made)); /* of bytes */
    REFUSED(TNR_ERR_SHAPE, tnr_pad(engine, &view, PADDING({INT64_MIN, INT64_MIN, 0}), &made));
    REFUSED(TNR_ERR_SHAPE, tnr_pad(engine, &view, PADDING({0, INT64_MIN, 0}), &made));
    OK(tnr_pad(engine, &view, PADDING({INT64_MIN, INT64_MAX, 0}), &made)); /* 2 - 2^63 + 2^63 - 1 */
    MADE(made, 1, SHAPE(1), VALUES(0));
    OK(tnr_pad(engine, &view, PADDING({INT64_MAX, -INT64_MAX, 0}), &made));
    MADE(made, 1, SHAPE(2), VALUES(0, 0));
    OK(tnr_pad(engine, &view, PADDING({-(INT64_MAX - 1), 1, INT64_MAX - 3}),
               &made)); /* the second element is cut off */
    MADE(made, 1, SHAPE(1), VALUES(0));
    OK(tnr_pad(engine, &view, PADDING({-(INT64_MAX - 2), 1, INT64_MAX - 3}), &made)); /* and is just kept */
    MADE(made, 1, SHAPE(2), VALUES(2, 0));
    release(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_zero),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_spread_axes),
        cmocka_unit_test(test_a_lattice_of_many_boxes),
        cmocka_unit_test(test_empty_axes_are_only_framed),
        cmocka_unit_test(test_extents_at_the_ends_of_64_bits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
