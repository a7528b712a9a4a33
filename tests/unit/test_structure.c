/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of what a view can say as well, diagonals and triangles: values by hand, and what they refuse. */
#include "support/structure_test.h"

static const tnr_range everything = TNR_RANGE_ALL;

/*
 * ---- Failures that other libraries had
 * ------------------------------------------------------------------------------------
 */

static void test_ER_10_zero_sized_batches(void **state)
{
    (void)state;
    tnr_tensor *flat = counting(2, SHAPE(0, 3));
    tnr_tensor *none = counting(2, SHAPE(2, 0));
    tnr_tensor *some = counting(2, SHAPE(2, 3));
    tnr_tensor *batch = counting(3, SHAPE(2, 2, 0));
    const tnr_view flat_view = view_of(flat);
    const tnr_view none_view = view_of(none);
    const tnr_view some_view = view_of(some);
    const tnr_view batch_view = view_of(batch);
    const tnr_view *const pair[2] = {&none_view, &some_view};
    tnr_tensor *made = NULL;
    OK(tnr_permute(engine, &flat_view, NULL, &made));
    MADE(made, 2, SHAPE(3, 0), NULL);
    OK(tnr_concatenate(engine, pair, 2, 1, &made));
    MADE(made, 2, SHAPE(2, 3), VALUES(0, 1, 2, 3, 4, 5));
    OK(tnr_tril(engine, &batch_view, 0, &made));
    MADE(made, 3, SHAPE(2, 2, 0), NULL);
    OK(tnr_triu(engine, &batch_view, 0, &made));
    MADE(made, 3, SHAPE(2, 2, 0), NULL);
    OK(tnr_embed_diagonal(engine, &none_view, 1, 0, &made));
    MADE(made, 3, SHAPE(0, 2, 0), NULL);
    release(&flat);
    release(&none);
    release(&some);
    release(&batch);
}

static void test_ER_10_direction_of_a_permutation(void **state)
{
    (void)state;
    tnr_tensor *in = counting(3, SHAPE(2, 3, 4));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_permute(engine, &view, AXES(2, 0, 1), &made)); /* out(k, i, j) = in(i, j, k) */
    const tnr_view out = view_of(made);
    assert_true(out.shape[0] == 4 && out.shape[1] == 2 && out.shape[2] == 3);
    const int32_t *found = (const int32_t *)(const void *)host_of(made);
    assert_int_equal(found[17], 10);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 3; j++) {
                assert_int_equal(found[k + 4 * i + 8 * j], i + 2 * j + 6 * k);
            }
        }
    }
    release(&made);
    REFUSED(TNR_ERR_ARGUMENT, tnr_permute(engine, &view, AXES(0, 0, 1), &made));
    release(&in);
}

/*
 * ---- Reshape
 * ------------------------------------------------------------------------------------------------------------------
 */

static void test_reshape_keeps_column_major_order(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(2, 6));
    const tnr_view view = view_of(in);
    tnr_view turned;
    tnr_tensor *made = NULL;
    OK(tnr_reshape(engine, &view, 3, SHAPE(3, 2, 2), &made));
    MADE(made, 3, SHAPE(3, 2, 2), VALUES(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    OK(tnr_view_permute(&view, NULL, &turned)); /* has no view under another shape */
    EXPECT(TNR_ERR_LAYOUT, tnr_view_reshape(&turned, 1, SHAPE(12), &turned));
    OK(tnr_reshape(engine, &turned, 1, SHAPE(12), &made));
    MADE(made, 1, SHAPE(12), VALUES(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
    release(&in);
    tnr_tensor *one = counting(0, NULL);
    const tnr_view scalar = view_of(one);
    OK(tnr_reshape(engine, &scalar, 3, SHAPE(1, 1, 1), &made));
    MADE(made, 3, SHAPE(1, 1, 1), VALUES(0));
    OK(tnr_reshape(engine, &scalar, 0, NULL, &made));
    MADE(made, 0, NULL, VALUES(0));
    release(&one);
}

/* Neither side has strides for the other's shape: both are walked. */
static void test_reshape_between_layouts_without_a_common_shape(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(5, 9));
    tnr_tensor *out = NULL;
    OK(tnr_tensor_zeros(heap, TNR_I32, 2, SHAPE(7, 7), &out));
    tnr_view all = view_of(in);
    tnr_view a;
    const tnr_range rows[2] = {{0, 4, 1}, {0, 6, 1}};
    const tnr_range target[2] = {{0, 6, -1}, {1, 5, 1}};
    OK(tnr_view_slice(&all, rows, &a)); /* 4 x 6, columns 5 apart */
    tnr_view_mut whole = view_mut_of(out);
    tnr_view_mut b;
    OK(tnr_view_mut_slice(&whole, target, &b)); /* 6 x 4, backwards */
    OK(tnr_reshape_into(engine, &a, &b));
    const int32_t *found = (const int32_t *)(const void *)host_of(out);
    for (int i = 0; i < 7; i++) {
        for (int j = 0; j < 7; j++) {
            const bool inside = i < 6 && j >= 1 && j < 5;
            const int position = (5 - i) + 6 * (j - 1);
            assert_int_equal(found[i + 7 * j], inside ? position % 4 + 5 * (position / 4) : 0);
        }
    }
    release(&in);
    release(&out);
}

/* Looking for a shape that there is not is no failure: what the caller had as its last error stays. */
static void test_reshape_leaves_no_text_of_a_failure(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(5, 9));
    tnr_tensor *out = counting(2, SHAPE(7, 7));
    tnr_tensor *made = NULL;
    const tnr_view all = view_of(in);
    const tnr_view_mut whole = view_mut_of(out);
    tnr_view a;
    tnr_view_mut b;
    const tnr_range rows[2] = {{0, 4, 1}, {0, 6, 1}};
    const tnr_range target[2] = {{0, 6, 1}, {1, 5, 1}};
    OK(tnr_view_slice(&all, rows, &a));
    OK(tnr_view_mut_slice(&whole, target, &b));
    REFUSED(TNR_ERR_BOUNDS, tnr_diagonal(engine, &a, 0, 5, &made));
    TEXT_HAS("view_diagonal");
    OK(tnr_reshape_into(engine, &a, &b)); /* neither has strides under the other's shape */
    TEXT_HAS("view_diagonal");
    OK(tnr_reshape(engine, &a, 1, SHAPE(24), &made)); /* the output has them */
    TEXT_HAS("view_diagonal");
    release(&made);
    release(&in);
    release(&out);
}

/* The enumeration comes first, whatever else is wrong, and is told in the same words everywhere. */
static void test_values_of_no_enumeration_come_first(void **state)
{
    (void)state;
    tnr_tensor *made = NULL;
    tnr_index_options options = TNR_INDEX_OPTIONS;
    options.out_of_range = (tnr_out_of_range)7;
    REFUSED(TNR_ERR_ARGUMENT, tnr_gather(NULL, NULL, NULL, &options, &made));
    TEXT_HAS("gather: out_of_range is 7, which is none of its values");
    REFUSED(TNR_ERR_ARGUMENT, tnr_scatter(engine, NULL, NULL, NULL, &options, &made));
    TEXT_HAS("scatter: out_of_range is 7, which is none of its values");
    REFUSED(TNR_ERR_ARGUMENT, tnr_compare(engine, (tnr_comparison)77, NULL, NULL, &made));
    TEXT_HAS("compare: comparison is 77, which is none of its values");
    REFUSED(TNR_ERR_ARGUMENT, tnr_cast(NULL, NULL, (tnr_dtype)99, &made));
    TEXT_HAS("cast: dtype is 99, which is none of its values");
}

static void test_reshape_refuses(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(2, 3));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    REFUSED(TNR_ERR_SHAPE, tnr_reshape(engine, &view, 1, SHAPE(5), &made));
    TEXT_HAS("reshape");
    REFUSED(TNR_ERR_ARGUMENT, tnr_reshape(engine, &view, 2, SHAPE(-2, -3), &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_reshape(engine, &view, TNR_MAX_RANK + 1, SHAPE(6), &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_reshape(engine, &view, -1, SHAPE(6), &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_reshape(engine, &view, 1, NULL, &made));
    REFUSED(TNR_ERR_OVERFLOW, tnr_reshape(engine, &view, 2, SHAPE(INT64_MAX, 2), &made));
    tnr_tensor *other = counting(1, SHAPE(7));
    const tnr_view_mut seven = view_mut_of(other);
    REFUSED(TNR_ERR_SHAPE, tnr_reshape_into(engine, &view, &seven));
    const tnr_view_mut itself = view_mut_of(in);
    REFUSED(TNR_ERR_OVERLAP, tnr_reshape_into(engine, &view, &itself));
    release(&other);
    release(&in);
}

/*
 * ---- Broadcast, slice, reverse
 * ------------------------------------------------------------------------------------------------
 */

static void test_broadcast_repeats(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(1, 3));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_broadcast(engine, &view, 3, SHAPE(3, 2, 2), AXES(1, 0), &made)); /* out(j, i, .) = in(0, j) */
    MADE(made, 3, SHAPE(3, 2, 2), VALUES(0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2));
    REFUSED(TNR_ERR_SHAPE, tnr_broadcast(engine, &view, 2, SHAPE(2, 4), AXES(0, 1), &made));
    TEXT_HAS("broadcast");
    REFUSED(TNR_ERR_ARGUMENT, tnr_broadcast(engine, &view, 2, SHAPE(3, 3), AXES(1, 1), &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_broadcast(engine, &view, 2, SHAPE(3, 3), AXES(2, 1), &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_broadcast(engine, &view, 2, SHAPE(3, 3), NULL, &made));
    REFUSED(TNR_ERR_OVERFLOW, tnr_broadcast(engine, &view, 3, SHAPE(INT64_MAX, 3, 2), AXES(0, 1), &made));
    REFUSED(TNR_ERR_OVERFLOW, tnr_broadcast(engine, &view, 2, SHAPE(INT64_MAX / 4, 3), AXES(0, 1), &made));
    release(&in);
}

static void test_slice_takes_ranges(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(4, 3));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    const tnr_range ranges[2] = {{0, 4, -2}, {-2, TNR_END, 1}};
    OK(tnr_slice(engine, &view, ranges, &made));
    MADE(made, 2, SHAPE(2, 2), VALUES(7, 5, 11, 9));
    const tnr_range nothing[2] = {{3, 1, 1}, everything};
    OK(tnr_slice(engine, &view, nothing, &made));
    MADE(made, 2, SHAPE(0, 3), NULL);
    const tnr_range still[2] = {{0, 4, 0}, everything};
    REFUSED(TNR_ERR_ARGUMENT, tnr_slice(engine, &view, still, &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_slice(engine, &view, NULL, &made));
    release(&in);
}

/*
 * The output must be apart from all of the input, also from what the slice leaves out; from another view it need not.
 */
static void test_slice_into_another_part_of_its_input(void **state)
{
    (void)state;
    tnr_tensor *in = counting(1, SHAPE(6));
    const tnr_view all = view_of(in);
    const tnr_view_mut whole = view_mut_of(in);
    const tnr_range head = {0, 3, 1};
    const tnr_range tail = {3, 6, 1};
    tnr_view_mut end;
    tnr_view begin;
    tnr_tensor *made = NULL;
    OK(tnr_view_mut_slice(&whole, &tail, &end));
    OK(tnr_view_slice(&all, &head, &begin));
    REFUSED(TNR_ERR_OVERLAP, tnr_slice_into(engine, &all, &head, &end));
    OK(tnr_slice_into(engine, &begin, &everything, &end));
    const int32_t *found = (const int32_t *)(const void *)host_of(in);
    assert_memory_equal(found, VALUES(0, 1, 2, 0, 1, 2), 6 * sizeof *found);
    release(&in);
}

static void test_reverse_turns_the_listed_axes(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(2, 3));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_reverse(engine, &view, AXES(1), 1, &made));
    MADE(made, 2, SHAPE(2, 3), VALUES(4, 5, 2, 3, 0, 1));
    OK(tnr_reverse(engine, &view, AXES(1, 0), 2, &made));
    MADE(made, 2, SHAPE(2, 3), VALUES(5, 4, 3, 2, 1, 0));
    OK(tnr_reverse(engine, &view, NULL, 0, &made));
    MADE(made, 2, SHAPE(2, 3), VALUES(0, 1, 2, 3, 4, 5));
    REFUSED(TNR_ERR_ARGUMENT, tnr_reverse(engine, &view, AXES(1, 1), 2, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_reverse(engine, &view, AXES(2), 1, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_reverse(engine, &view, AXES(-1), 1, &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_reverse(engine, &view, NULL, 1, &made));
    REFUSED(TNR_ERR_ARGUMENT, tnr_reverse(engine, &view, AXES(1), -1, &made));
    release(&in);
}

/*
 * ---- Diagonals and triangles
 * ---------------------------------------------------------------------------------------------------
 */

static void test_diagonals(void **state)
{
    (void)state;
    tnr_tensor *in = counting(3, SHAPE(2, 2, 3));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_diagonal(engine, &view, 0, 2, &made)); /* out(j, d) = in(d, j, d) */
    MADE(made, 2, SHAPE(2, 2), VALUES(0, 2, 5, 7));
    REFUSED(TNR_ERR_ARGUMENT, tnr_diagonal(engine, &view, 1, 1, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_diagonal(engine, &view, 1, 3, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_embed_diagonal(engine, &view, 3, 0, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_embed_diagonal(engine, &view, -1, 0, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_embed_diagonal(engine, &view, 0, 4, &made));
    REFUSED(TNR_ERR_BOUNDS, tnr_embed_diagonal(engine, &view, 0, -1, &made));
    release(&in);
}

static void test_embedded_diagonals_come_out_again(void **state)
{
    (void)state;
    tnr_tensor *in = counting(2, SHAPE(2, 3));
    const tnr_view view = view_of(in);
    for (int axis = 0; axis < 2; axis++) {
        for (int at = 0; at < 3; at++) {
            tnr_tensor *square = NULL;
            tnr_tensor *made = NULL;
            OK(tnr_embed_diagonal(engine, &view, axis, at, &square));
            const tnr_view wide = view_of(square);
            assert_true(wide.rank == 3);
            OK(tnr_diagonal(engine, &wide, axis < at ? axis : axis + 1, at, &made));
            if (axis == 1) { /* the joint axis is the last one */
                MADE(made, 2, SHAPE(2, 3), VALUES(0, 1, 2, 3, 4, 5));
            } else {
                MADE(made, 2, SHAPE(3, 2), VALUES(0, 2, 4, 1, 3, 5));
            }
            release(&square);
        }
    }
    release(&in);
}

static void test_embed_diagonal_of_a_vector_and_of_the_highest_rank(void **state)
{
    (void)state;
    tnr_tensor *in = counting(1, SHAPE(3));
    tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_embed_diagonal(engine, &view, 0, 1, &made));
    MADE(made, 2, SHAPE(3, 3), VALUES(0, 0, 0, 0, 1, 0, 0, 0, 2));
    release(&in);
    int64_t shape[TNR_MAX_RANK];
    for (int i = 0; i < TNR_MAX_RANK; i++) {
        shape[i] = 1;
    }
    in = counting(TNR_MAX_RANK, shape);
    view = view_of(in);
    REFUSED(TNR_ERR_SHAPE, tnr_embed_diagonal(engine, &view, 0, 1, &made));
    OK(tnr_reverse(engine, &view, AXES(0, TNR_MAX_RANK - 1), 2, &made));
    MADE(made, TNR_MAX_RANK, shape, VALUES(0));
    OK(tnr_tril(engine, &view, 0, &made));
    MADE(made, TNR_MAX_RANK, shape, VALUES(0));
    release(&in);
}

static void test_triangles(void **state)
{
    (void)state;
    tnr_tensor *in = numbers(2, SHAPE(3, 4), VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    const tnr_view view = view_of(in);
    tnr_tensor *made = NULL;
    OK(tnr_tril(engine, &view, 0, &made));
    MADE(made, 2, SHAPE(3, 4), VALUES(1, 2, 3, 0, 5, 6, 0, 0, 9, 0, 0, 0));
    OK(tnr_tril(engine, &view, -1, &made));
    MADE(made, 2, SHAPE(3, 4), VALUES(0, 2, 3, 0, 0, 6, 0, 0, 0, 0, 0, 0));
    OK(tnr_triu(engine, &view, 1, &made));
    MADE(made, 2, SHAPE(3, 4), VALUES(0, 0, 0, 4, 0, 0, 7, 8, 0, 10, 11, 12));
    OK(tnr_tril(engine, &view, INT64_MAX, &made));
    MADE(made, 2, SHAPE(3, 4), VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    OK(tnr_triu(engine, &view, INT64_MIN, &made));
    MADE(made, 2, SHAPE(3, 4), VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    OK(tnr_tril(engine, &view, INT64_MIN, &made));
    MADE(made, 2, SHAPE(3, 4), VALUES(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    tnr_view row;
    OK(tnr_view_select(&view, 0, 0, &row));
    REFUSED(TNR_ERR_SHAPE, tnr_tril(engine, &row, 0, &made));
    TEXT_HAS("tril");
    REFUSED(TNR_ERR_SHAPE, tnr_triu(engine, &row, 0, &made));
    TEXT_HAS("triu");
    release(&in);
}

/* More small matrices than are gone over at once. */
static void test_triangles_of_many_small_matrices(void **state)
{
    (void)state;
    enum { MANY = 9001 };
    tnr_tensor *in = numbers(2, SHAPE(2, 3), VALUES(1, 2, 3, 4, 5, 6));
    tnr_tensor *many = NULL;
    tnr_tensor *made = NULL;
    const tnr_view one = view_of(in);
    OK(tnr_broadcast(engine, &one, 3, SHAPE(2, 3, MANY), AXES(0, 1), &many));
    const tnr_view view = view_of(many);
    OK(tnr_triu(engine, &view, 0, &made));
    const int32_t *found = (const int32_t *)(const void *)host_of(made);
    for (int k = 0; k < MANY; k++) {
        assert_memory_equal(found + 6 * k, VALUES(1, 0, 3, 4, 5, 6), 6 * sizeof *found);
    }
    release(&made);
    release(&many);
    release(&in);
}

/* A NaN off the triangle is not multiplied away, it is replaced: zero is zero. */
static void test_what_is_dropped_may_be_nan(void **state)
{
    (void)state;
    const double nan = strtod("nan", NULL);
    const double values[4] = {1.0, nan, nan, 4.0};
    tnr_tensor *in = NULL;
    tnr_tensor *made = NULL;
    OK(tnr_tensor_from_column_major(heap, TNR_F64, 2, SHAPE(2, 2), values, sizeof values, &in));
    const tnr_view view = view_of(in);
    OK(tnr_tril(engine, &view, -5, &made));
    for (int i = 0; i < 4; i++) {
        assert_true(host_of(made)[i] == 0.0);
    }
    release(&made);
    release(&in);
}

/*
 * ---- Memory
 * ------------------------------------------------------------------------------------------------------------------------
 */

/* No room for the output: nothing is left behind, and with room the same call works. */
static void test_exhaustion_changes_nothing(void **state)
{
    (void)state;
    void *region = NULL;
    tnr_domain *arena = make_arena(&region, 64);
    tnr_domain *const old_heap = heap;
    tnr_engine *const old_engine = engine;
    heap = arena;
    OK(tnr_engine_create(arena, NULL, &engine));
    tnr_tensor *in = counting(2, SHAPE(32, 32));
    const tnr_view view = view_of(in);
    const tnr_padding wide[2] = {{0, 1 << 12, 0}, {0, 1 << 10, 0}};
    tnr_tensor *made = NULL;
    REFUSED(TNR_ERR_MEMORY, tnr_broadcast(engine, &view, 3, SHAPE(32, 32, 1024), AXES(0, 1), &made));
    REFUSED(TNR_ERR_MEMORY, tnr_pad(engine, &view, wide, &made));
    OK(tnr_reverse(engine, &view, AXES(0, 1), 2, &made));
    assert_int_equal(((const int32_t *)(const void *)host_of(made))[0], 1023);
    release(&made);
    release(&in);
    OK(tnr_engine_destroy(&engine));
    close_domain(&arena);
    free(region);
    heap = old_heap;
    engine = old_engine;
}

/* Every dtype's width takes the same way. */
static void test_every_width_is_reversed(void **state)
{
    (void)state;
    for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; dtype++) {
        const size_t width = tnr_dtype_size((tnr_dtype)dtype);
        unsigned char bytes[5 * 16];
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (unsigned char)(i * 37 + 1);
        }
        tnr_tensor *in = NULL;
        tnr_tensor *made = NULL;
        OK(tnr_tensor_from_column_major(heap, (tnr_dtype)dtype, 1, SHAPE(5), bytes, 5 * width, &in));
        const tnr_view view = view_of(in);
        OK(tnr_reverse(engine, &view, AXES(0), 1, &made));
        const unsigned char *found = (const unsigned char *)(const void *)host_of(made);
        for (size_t i = 0; i < 5; i++) {
            assert_memory_equal(found + i * width, bytes + (4 - i) * width, width);
        }
        release(&made);
        release(&in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ER_10_zero_sized_batches),
        cmocka_unit_test(test_ER_10_direction_of_a_permutation),
        cmocka_unit_test(test_reshape_keeps_column_major_order),
        cmocka_unit_test(test_reshape_between_layouts_without_a_common_shape),
        cmocka_unit_test(test_reshape_leaves_no_text_of_a_failure),
        cmocka_unit_test(test_values_of_no_enumeration_come_first),
        cmocka_unit_test(test_reshape_refuses),
        cmocka_unit_test(test_broadcast_repeats),
        cmocka_unit_test(test_slice_takes_ranges),
        cmocka_unit_test(test_slice_into_another_part_of_its_input),
        cmocka_unit_test(test_reverse_turns_the_listed_axes),
        cmocka_unit_test(test_diagonals),
        cmocka_unit_test(test_embedded_diagonals_come_out_again),
        cmocka_unit_test(test_embed_diagonal_of_a_vector_and_of_the_highest_rank),
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_triangles_of_many_small_matrices),
        cmocka_unit_test(test_what_is_dropped_may_be_nan),
        cmocka_unit_test(test_exhaustion_changes_nothing),
        cmocka_unit_test(test_every_width_is_reversed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
