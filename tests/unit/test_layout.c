/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout arithmetic and proofs on numbers alone: layout.c, injective.c, overlap.c, dtype.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/storage.h"
#include "support/views.h"

#define TWO_62 ((int64_t)1 << 62)

/* Answer of a check on literal arrays. */
static tnr_status check(int rank, const int64_t *shape, const int64_t *strides, int64_t offset, int64_t elements)
{
    int64_t count = -7;
    const tnr_status status = tnri_layout_check("test", rank, shape, strides, offset, elements, &count);
    assert_true((status == TNR_OK) == (count != -7)); /* written on success only */
    return status;
}

static tnr_status count_of(int rank, const int64_t *shape, int64_t *count)
{
    *count = -7;
    return tnri_shape_count("test", rank, shape, count);
}

/* ---- Counts and bytes ------------------------------------------------------------------------------------------- */

static void counts(void **state)
{
    (void)state;
    int64_t count;
    assert_int_equal(count_of(0, NULL, &count), TNR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(count_of(3, EXTENTS(2, 3, 4), &count), TNR_OK);
    assert_int_equal(count, 24);
    assert_int_equal(count_of(2, EXTENTS(INT64_MAX, 1), &count), TNR_OK);
    assert_true(count == INT64_MAX);
}

static void sl_02_count_overflow_is_its_own_class(void **state)
{
    (void)state;
    int64_t count;
    uint64_t bytes = 7;
    /* (c) 2^64 elements wrap to 0 */
    assert_int_equal(count_of(2, EXTENTS((int64_t)1 << 32, (int64_t)1 << 32), &count), TNR_ERR_OVERFLOW);
    assert_int_equal(count, -7);
    assert_int_equal(count_of(2, EXTENTS(INT64_MAX, 2), &count), TNR_ERR_OVERFLOW);
    /* (b) the count fits, the bytes do not */
    assert_int_equal(tnri_shape_bytes("test", TNR_F64, 1, EXTENTS((int64_t)1 << 61), &count, &bytes), TNR_ERR_OVERFLOW);
    assert_int_equal(tnri_shape_bytes("test", TNR_F64, 1, EXTENTS((int64_t)1 << 60), &count, &bytes), TNR_ERR_OVERFLOW);
    assert_int_equal(bytes, 7);
    assert_int_equal(tnri_shape_bytes("test", TNR_BOOL, 1, EXTENTS(INT64_MAX), &count, &bytes), TNR_OK);
    assert_true(bytes == (uint64_t)INT64_MAX);
    assert_int_equal(tnri_shape_bytes("test", TNR_F64, 1, EXTENTS((int64_t)1 << 59), &count, &bytes), TNR_OK);
    assert_true(bytes == (uint64_t)1 << 62);
    /* (g) no 32-bit path */
    const int64_t shape[] = {4096, 33, 32768};
    int64_t strides[3];
    int64_t low;
    int64_t high;
    tnri_compact_strides(3, shape, strides);
    assert_int_equal(tnri_reach("test", 3, shape, strides, &low, &high), TNR_OK);
    assert_true(low == 0 && high == INT64_C(4429185023));
}

/* Idea 41: a zero extent decides, wherever it stands and however large the others are. */
static void a_zero_extent_stands_anywhere(void **state)
{
    (void)state;
    int64_t count;
    uint64_t bytes;
    assert_int_equal(count_of(3, EXTENTS(INT64_MAX, INT64_MAX, 0), &count), TNR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(count_of(3, EXTENTS(0, INT64_MAX, INT64_MAX), &count), TNR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(tnri_shape_bytes("test", TNR_C64, 3, EXTENTS(INT64_MAX, 0, INT64_MAX), &count, &bytes), TNR_OK);
    assert_int_equal(count, 0);
    assert_int_equal(bytes, 0);
    int64_t strides[3];
    tnri_compact_strides(3, EXTENTS(INT64_MAX, INT64_MAX, 0), strides);
    assert_true(strides[0] == 1 && strides[1] == INT64_MAX && strides[2] == INT64_MAX);
    /* and a negative extent is a bad argument, beside zeros and overflow */
    assert_int_equal(count_of(3, EXTENTS(0, -1, 5), &count), TNR_ERR_ARGUMENT);
    assert_int_equal(count_of(3, EXTENTS(INT64_MAX, INT64_MAX, -1), &count), TNR_ERR_ARGUMENT);
    assert_int_equal(count_of(1, EXTENTS(INT64_MIN), &count), TNR_ERR_ARGUMENT);
}

static void bad_ranks_and_nulls(void **state)
{
    (void)state;
    int64_t count;
    uint64_t bytes;
    assert_int_equal(count_of(-1, EXTENTS(1), &count), TNR_ERR_ARGUMENT);
    assert_int_equal(count_of(TNR_MAX_RANK + 1, EXTENTS(1), &count), TNR_ERR_ARGUMENT);
    assert_int_equal(count_of(1, NULL, &count), TNR_ERR_ARGUMENT);
    assert_int_equal(check(1, EXTENTS(2), NULL, 0, 4), TNR_ERR_ARGUMENT);
    assert_int_equal(tnri_shape_bytes("test", TNR_DTYPE_NONE, 0, NULL, &count, &bytes), TNR_ERR_ARGUMENT);
    assert_int_equal(tnri_shape_bytes("test", TNR_DTYPE_END, 0, NULL, &count, &bytes), TNR_ERR_ARGUMENT);
}

/* ---- Strides, reach, bounds ------------------------------------------------------------------------------------- */

/* Ideas 34 and 40. */
static void compact_layouts(void **state)
{
    (void)state;
    int64_t strides[3];
    tnri_compact_strides(2, EXTENTS(2, 3), strides);
    assert_true(strides[0] == 1 && strides[1] == 2);
    tnri_compact_strides(3, EXTENTS(4, 0, 5), strides);
    assert_true(strides[0] == 1 && strides[1] == 4 && strides[2] == 4);
    assert_true(tnri_is_compact(0, NULL, NULL));
    assert_true(tnri_is_compact(2, EXTENTS(2, 3), EXTENTS(1, 2)));
    assert_false(tnri_is_compact(2, EXTENTS(2, 3), EXTENTS(3, 1)));
    assert_false(tnri_is_compact(1, EXTENTS(3), EXTENTS(-1)));
    assert_false(tnri_is_compact(1, EXTENTS(3), EXTENTS(0)));
    assert_true(tnri_is_compact(3, EXTENTS(1, 3, 1), EXTENTS(INT64_MIN, 1, -9)));
    assert_false(tnri_is_compact(3, EXTENTS(TWO_62, 4, 2), EXTENTS(1, TWO_62, 0))); /* 2^64 is not stride 0 */
}

static void sl_01_empty_and_length_one_axes(void **state)
{
    (void)state;
    const int64_t empty[] = {0, 3};
    const int64_t strides[][2] = {{1, 0}, {1, 1}, {5, 7}};
    for (size_t i = 0; i < 3; i++) {
        assert_true(tnri_is_compact(2, empty, strides[i]));
        assert_true(tnri_is_distinct(2, empty, strides[i]));
        assert_int_equal(check(2, empty, strides[i], 0, 0), TNR_OK);
    }
    assert_int_equal(check(2, EXTENTS(0, 3), EXTENTS(1, 4), 4, 12), TNR_OK);
    assert_int_equal(check(2, EXTENTS(4, 0), EXTENTS(1, 4), 12, 12), TNR_OK);
    assert_int_equal(check(3, EXTENTS(3, 1, 2), EXTENTS(1, 999999, 3), 0, 6), TNR_OK);
    assert_true(tnri_is_compact(3, EXTENTS(3, 1, 2), EXTENTS(1, 999999, 3)));
}

/* Ideas 39 and 40. */
static void empty_offsets(void **state)
{
    (void)state;
    assert_int_equal(check(1, EXTENTS(0), EXTENTS(1), 0, 5), TNR_OK);
    assert_int_equal(check(1, EXTENTS(0), EXTENTS(1), 5, 5), TNR_OK);
    assert_int_equal(check(1, EXTENTS(0), EXTENTS(1), 6, 5), TNR_ERR_BOUNDS);
    assert_int_equal(check(1, EXTENTS(0), EXTENTS(1), -1, 5), TNR_ERR_BOUNDS);
    assert_int_equal(check(3, EXTENTS(INT64_MAX, 0, INT64_MAX), EXTENTS(INT64_MAX, 1, INT64_MIN), 2, 5), TNR_OK);
}

static void sl_02_offset_overflow(void **state)
{
    (void)state;
    /* (a) last offset 2^63 + 1 */
    assert_int_equal(check(2, EXTENTS(2, 2), EXTENTS(1, TWO_62), TWO_62, INT64_MAX), TNR_ERR_OVERFLOW);
    /* the reach alone */
    assert_int_equal(check(1, EXTENTS(3), EXTENTS(TWO_62), 0, INT64_MAX), TNR_ERR_OVERFLOW);
    assert_int_equal(check(2, EXTENTS(2, 2), EXTENTS(INT64_MIN, INT64_MIN), 0, INT64_MAX), TNR_ERR_OVERFLOW);
    assert_int_equal(check(1, EXTENTS(2), EXTENTS(INT64_MIN), -1, INT64_MAX), TNR_ERR_OVERFLOW);
    /* idea 41: zero strides do not hide a count that overflows */
    assert_int_equal(check(2, EXTENTS(INT64_MAX, 2), EXTENTS(0, 0), 0, 1), TNR_ERR_OVERFLOW);
    /* a count that fits with zero strides reads one element */
    assert_int_equal(check(1, EXTENTS(INT64_MAX), EXTENTS(0), 0, 1), TNR_OK);
}

static void sl_04_span_is_a_sum(void **state)
{
    (void)state;
    assert_int_equal(check(2, EXTENTS(2, 2), EXTENTS(1, 4), 14, 20), TNR_OK);
    assert_int_equal(check(2, EXTENTS(2, 2), EXTENTS(1, 4), 15, 20), TNR_ERR_BOUNDS);
    assert_int_equal(check(0, NULL, NULL, 19, 20), TNR_OK);
    assert_int_equal(check(0, NULL, NULL, 20, 20), TNR_ERR_BOUNDS);
}

/* Also idea 39. */
static void sl_10_lowest_and_highest(void **state)
{
    (void)state;
    assert_int_equal(check(1, EXTENTS(4), EXTENTS(-1), 3, 4), TNR_OK);
    assert_int_equal(check(1, EXTENTS(4), EXTENTS(-1), 2, 4), TNR_ERR_BOUNDS);
    assert_int_equal(check(1, EXTENTS(4), EXTENTS(-1), 4, 4), TNR_ERR_BOUNDS);
    assert_int_equal(check(2, EXTENTS(2, 2), EXTENTS(-1, 2), 1, 4), TNR_OK);
    assert_int_equal(check(2, EXTENTS(2, 2), EXTENTS(-1, 2), 0, 4), TNR_ERR_BOUNDS);
    assert_int_equal(check(2, EXTENTS(2, 2), EXTENTS(-1, 2), 2, 4), TNR_ERR_BOUNDS);
}

/* ---- Distinct --------------------------------------------------------------------------------------------------- */

static void sl_05_stride_zero(void **state)
{
    (void)state;
    assert_false(tnri_is_distinct(1, EXTENTS(3), EXTENTS(0)));
    assert_true(tnri_is_distinct(1, EXTENTS(1), EXTENTS(0)));
    assert_true(tnri_is_distinct(1, EXTENTS(0), EXTENTS(0)));
    assert_false(tnri_is_distinct(3, EXTENTS(2, 3, 4), EXTENTS(1, 0, 2)));
}

/* Idea 42. */
static void distinct_in_order_of_proof(void **state)
{
    (void)state;
    assert_true(tnri_is_distinct(0, NULL, NULL));
    /* sorted spans, any order and sign */
    assert_true(tnri_is_distinct(3, EXTENTS(2, 3, 4), EXTENTS(1, 2, 6)));
    assert_true(tnri_is_distinct(3, EXTENTS(4, 3, 2), EXTENTS(6, -2, 1)));
    assert_true(tnri_is_distinct(1, EXTENTS(INT64_MAX), EXTENTS(-1)));
    assert_true(tnri_is_distinct(2, EXTENTS(2, 1000000), EXTENTS(INT64_MIN, 3)));
    assert_true(tnri_is_distinct(3, EXTENTS(2, 1, 3), EXTENTS(1, 0, 2)));
    /* pairs: exact, whatever the size */
    assert_false(tnri_is_distinct(2, EXTENTS(2, 2), EXTENTS(1, 1)));
    assert_true(tnri_is_distinct(2, EXTENTS(3, 2), EXTENTS(2, 3)));
    assert_false(tnri_is_distinct(2, EXTENTS(4, 3), EXTENTS(2, 3)));
    assert_true(tnri_is_distinct(2, EXTENTS(4097, 2), EXTENTS(2, 4097)));
    assert_true(tnri_is_distinct(3, EXTENTS(999, 1, 1000000), EXTENTS(-1000000, 5, 999)));
    assert_false(tnri_is_distinct(2, EXTENTS(1000, 1000001), EXTENTS(1000000, 999)));
    /* three interleaved axes: up to 4096 elements are looked at, 4098 are not */
    assert_true(tnri_is_distinct(3, EXTENTS(2, 3, 682), EXTENTS(3, 2, 8)));
    assert_false(tnri_is_distinct(3, EXTENTS(2, 3, 683), EXTENTS(3, 2, 8)));
    assert_false(tnri_is_distinct(3, EXTENTS(2, 2, 2), EXTENTS(2, 3, 5)));
}

/* Spans too wide for a bitmap, up to the end of 64 bits. */
static void distinct_with_huge_spans(void **state)
{
    (void)state;
    const int64_t unit = (int64_t)1 << 50;
    assert_true(tnri_is_distinct(3, EXTENTS(2, 3, 682), EXTENTS(3 * unit, 2 * unit, 8 * unit)));
    assert_false(tnri_is_distinct(3, EXTENTS(2, 2, 2), EXTENTS(2 * unit, 3 * unit, 5 * unit)));
    assert_true(tnri_is_distinct(3, EXTENTS(2, 2, 2), EXTENTS(2 * unit, 3 * unit, 5 * unit + 1)));
    assert_false(tnri_is_distinct(3, EXTENTS(2, 2, 2), EXTENTS(2 * unit + 1, 3 * unit, 5 * unit + 1)));
    assert_true(tnri_is_distinct(3, EXTENTS(16, 16, 16), EXTENTS(unit, unit + 1, unit + 17)));
    assert_false(tnri_is_distinct(3, EXTENTS(16, 16, 16), EXTENTS(unit, unit + 1, unit + 3)));
    /* reaches beyond 64 bits prove nothing and break nothing */
    assert_false(tnri_is_distinct(3, EXTENTS(9, 9, 9), EXTENTS(INT64_MAX, INT64_MAX - 1, INT64_MIN)));
    assert_true(tnri_is_distinct(2, EXTENTS(9, 9), EXTENTS(INT64_MAX, INT64_MAX - 1)));
    assert_false(tnri_is_distinct(2, EXTENTS(9, 9), EXTENTS(INT64_MIN, INT64_MIN)));
}

/* ---- Overlap ---------------------------------------------------------------------------------------------------- */

typedef struct operand {
    uint64_t address;
    int rank;
    int64_t shape[2];
    int64_t strides[2];
    int64_t size;
} operand;

static tnr_overlap overlap(operand a, operand b)
{
    const tnri_lattice left = {a.address, a.rank, a.shape, a.strides, a.size};
    const tnri_lattice right = {b.address, b.rank, b.shape, b.strides, b.size};
    const tnr_overlap answer = tnri_lattice_overlap(&left, &right);
    assert_int_equal(tnri_lattice_overlap(&right, &left), answer);
    return answer;
}

/* The proofs behind idea 54. */
static void overlap_of_lines(void **state)
{
    (void)state;
    const operand low = {1000, 1, {4}, {1}, 8};
    assert_int_equal(overlap(low, low), TNR_OVERLAP_SAME);
    assert_int_equal(overlap(low, (operand){1032, 1, {4}, {1}, 8}), TNR_OVERLAP_NONE);
    assert_int_equal(overlap(low, (operand){1024, 1, {4}, {1}, 8}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap(low, (operand){1056, 1, {4}, {-1}, 8}), TNR_OVERLAP_NONE);
    assert_int_equal(overlap(low, (operand){1048, 1, {4}, {-1}, 8}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap(low, (operand){1024, 1, {4}, {-1}, 8}), TNR_OVERLAP_POSSIBLE); /* other order */
    assert_int_equal(overlap(low, (operand){1000, 1, {0}, {1}, 8}), TNR_OVERLAP_NONE);
    assert_int_equal(overlap(low, (operand){1000, 1, {8}, {1}, 4}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap(low, (operand){1000, 2, {4, 1}, {1, 77}, 8}), TNR_OVERLAP_POSSIBLE); /* another rank */
    assert_int_equal(overlap((operand){1000, 2, {4, 1}, {1, 5}, 8}, (operand){1000, 2, {4, 1}, {1, 77}, 8}),
                     TNR_OVERLAP_SAME);
    assert_int_equal(overlap((operand){8, 0, {0}, {0}, 8}, (operand){16, 0, {0}, {0}, 8}), TNR_OVERLAP_NONE);
    assert_int_equal(overlap((operand){8, 0, {0}, {0}, 8}, (operand){12, 0, {0}, {0}, 8}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap((operand){8, 1, {5}, {0}, 8}, (operand){16, 1, {5}, {0}, 8}), TNR_OVERLAP_NONE);
}

static void overlap_by_residues(void **state)
{
    (void)state;
    /* two rows of a column-major 2x2 */
    assert_int_equal(overlap((operand){1000, 1, {2}, {2}, 8}, (operand){1008, 1, {2}, {2}, 8}), TNR_OVERLAP_NONE);
    /* real against imaginary parts of one c64 vector, and against the vector */
    assert_int_equal(overlap((operand){1000, 1, {9}, {2}, 8}, (operand){1008, 1, {9}, {2}, 8}), TNR_OVERLAP_NONE);
    assert_int_equal(overlap((operand){1000, 1, {9}, {2}, 8}, (operand){1000, 1, {9}, {1}, 16}), TNR_OVERLAP_POSSIBLE);
    /* elements of different sizes: every third 8 bytes, and 16 bytes that fill the rest or one byte too many */
    assert_int_equal(overlap((operand){0, 1, {5}, {3}, 8}, (operand){8, 2, {1, 3}, {9, 3}, 16}), TNR_OVERLAP_NONE);
    assert_int_equal(overlap((operand){0, 1, {5}, {3}, 8}, (operand){9, 2, {1, 3}, {9, 3}, 16}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap((operand){0, 1, {5}, {3}, 8}, (operand){7, 2, {1, 3}, {9, 3}, 16}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap((operand){1000, 1, {5}, {3}, 8}, (operand){1012, 1, {5}, {6}, 4}), TNR_OVERLAP_NONE);
    assert_int_equal(overlap((operand){1000, 1, {5}, {3}, 8}, (operand){1021, 1, {5}, {6}, 4}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap((operand){1000, 1, {5}, {3}, 8}, (operand){1007, 1, {5}, {6}, 4}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap((operand){1000, 1, {5}, {3}, 8}, (operand){1020, 1, {5}, {6}, 4}), TNR_OVERLAP_NONE);
    /* even against odd, walked the other way */
    assert_int_equal(overlap((operand){1000, 1, {4}, {2}, 8}, (operand){1056, 1, {4}, {-2}, 8}), TNR_OVERLAP_NONE);
    /* strides 4 and 6 meet on even distances only */
    assert_int_equal(overlap((operand){0, 1, {9}, {4}, 1}, (operand){7, 1, {5}, {6}, 1}), TNR_OVERLAP_NONE);
    assert_int_equal(overlap((operand){0, 1, {9}, {4}, 1}, (operand){6, 1, {5}, {6}, 1}), TNR_OVERLAP_POSSIBLE);
}

static void overlap_of_row_blocks(void **state)
{
    (void)state;
    /* upper and lower half of a 4x4, then halves that share a row */
    assert_int_equal(overlap((operand){0, 2, {2, 4}, {1, 4}, 8}, (operand){16, 2, {2, 4}, {1, 4}, 8}),
                     TNR_OVERLAP_NONE);
    assert_int_equal(overlap((operand){0, 2, {3, 4}, {1, 4}, 8}, (operand){16, 2, {2, 4}, {1, 4}, 8}),
                     TNR_OVERLAP_POSSIBLE);
    /* reversed rows below */
    assert_int_equal(overlap((operand){0, 2, {2, 4}, {1, 4}, 8}, (operand){24, 2, {2, 4}, {-1, 4}, 8}),
                     TNR_OVERLAP_NONE);
    /* opposite quarters */
    assert_int_equal(overlap((operand){0, 2, {2, 2}, {1, 4}, 8}, (operand){80, 2, {2, 2}, {1, 4}, 8}),
                     TNR_OVERLAP_NONE);
    /* another number of columns */
    assert_int_equal(overlap((operand){0, 2, {2, 4}, {1, 4}, 8}, (operand){16, 2, {2, 1}, {1, 4}, 8}),
                     TNR_OVERLAP_NONE);
}

static void overlap_beyond_64_bits_proves_nothing(void **state)
{
    (void)state;
    const operand far = {UINT64_MAX - 7, 0, {0}, {0}, 8};
    assert_int_equal(overlap(far, (operand){16, 1, {4}, {1}, 8}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap((operand){16, 1, {4}, {-1}, 8}, (operand){512, 1, {4}, {1}, 8}), TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap((operand){16, 1, {4}, {INT64_MAX}, 8}, (operand){8, 0, {0}, {0}, 8}),
                     TNR_OVERLAP_POSSIBLE);
    assert_int_equal(overlap((operand){16, 1, {4}, {INT64_MIN}, 1}, (operand){8, 0, {0}, {0}, 8}),
                     TNR_OVERLAP_POSSIBLE);
}

/* ---- Dtypes ----------------------------------------------------------------------------------------------------- */

static void dtypes(void **state)
{
    (void)state;
    static const size_t sizes[] = {4, 8, 8, 16, 4, 8, 1};
    static const char *const names[] = {"f32", "f64", "c32", "c64", "i32", "i64", "bool"};
    for (int i = 0; i < 7; i++) {
        const tnr_dtype dtype = (tnr_dtype)(TNR_F32 + i);
        assert_int_equal(tnr_dtype_size(dtype), sizes[i]);
        assert_string_equal(tnr_dtype_name(dtype), names[i]);
        assert_int_equal(tnr_dtype_alignment(dtype), tnr_dtype_alignment(tnr_dtype_real(dtype)));
        assert_int_equal(tnr_dtype_size(dtype) % tnr_dtype_alignment(dtype), 0);
    }
    assert_int_equal(tnr_dtype_real(TNR_C32), TNR_F32);
    assert_int_equal(tnr_dtype_real(TNR_C64), TNR_F64);
    assert_int_equal(tnr_dtype_real(TNR_I64), TNR_I64);
    const int none[] = {TNR_DTYPE_NONE, TNR_DTYPE_END, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(tnr_dtype_size((tnr_dtype)none[i]), 0);
        assert_int_equal(tnr_dtype_alignment((tnr_dtype)none[i]), 0);
        assert_string_equal(tnr_dtype_name((tnr_dtype)none[i]), "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(sl_02_count_overflow_is_its_own_class),
        cmocka_unit_test(a_zero_extent_stands_anywhere),
        cmocka_unit_test(bad_ranks_and_nulls),
        cmocka_unit_test(compact_layouts),
        cmocka_unit_test(sl_01_empty_and_length_one_axes),
        cmocka_unit_test(empty_offsets),
        cmocka_unit_test(sl_02_offset_overflow),
        cmocka_unit_test(sl_04_span_is_a_sum),
        cmocka_unit_test(sl_10_lowest_and_highest),
        cmocka_unit_test(sl_05_stride_zero),
        cmocka_unit_test(distinct_in_order_of_proof),
        cmocka_unit_test(distinct_with_huge_spans),
        cmocka_unit_test(overlap_of_lines),
        cmocka_unit_test(overlap_by_residues),
        cmocka_unit_test(overlap_of_row_blocks),
        cmocka_unit_test(overlap_beyond_64_bits_proves_nothing),
        cmocka_unit_test(dtypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
