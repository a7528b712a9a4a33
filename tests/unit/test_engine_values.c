/* SPDX-License-Identifier: BSD-3-Clause */
/* Values at the edges: integers that wrap, exponentials of infinities and NaN, sums that lose nothing to their length. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"

static tnr_domain *heap;
static tnr_engine *engine;

static int set_up(void **state)
{
    (void)state;
    catalogue_ok(tnr_heap_create(&heap), "heap");
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    catalogue_ok(tnr_engine_destroy(&engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&heap), "heap");
    return 0;
}

static tnr_tensor *vector(tnr_dtype dtype, int64_t count, const void *values, tnr_view *view)
{
    tnr_tensor *made = NULL;
    catalogue_ok(
        tnr_tensor_from_row_major(heap, dtype, 1, &count, values, (uint64_t)count * tnr_dtype_size(dtype), &made),
        "vector");
    catalogue_ok(tnr_tensor_view(made, view), "view");
    return made;
}

static void test_integers_wrap(void **state)
{
    (void)state;
    static const int64_t left[4] = {INT64_MAX, INT64_MIN, INT64_MIN, INT64_MAX};
    static const int64_t right[4] = {1, -1, -1, INT64_MAX};
    static const int64_t sums[4] = {INT64_MIN, INT64_MAX, INT64_MAX, -2};
    static const int64_t differences[4] = {INT64_MAX - 1, INT64_MIN + 1, INT64_MIN + 1, 0};
    static const int64_t products[4] = {INT64_MAX, INT64_MIN, INT64_MIN, 1};
    tnr_view a;
    tnr_view b;
    tnr_tensor *x = vector(TNR_I64, 4, left, &a);
    tnr_tensor *y = vector(TNR_I64, 4, right, &b);
    tnr_tensor *out = NULL;
    const void *data;
    catalogue_ok(tnr_add(engine, &a, &b, &out), "add");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    assert_memory_equal(data, sums, sizeof sums);
    catalogue_ok(tnr_tensor_release(&out), "release");
    catalogue_ok(tnr_sub(engine, &a, &b, &out), "sub");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    assert_memory_equal(data, differences, sizeof differences);
    catalogue_ok(tnr_tensor_release(&out), "release");
    catalogue_ok(tnr_mul(engine, &a, &b, &out), "mul");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    assert_memory_equal(data, products, sizeof products);
    catalogue_ok(tnr_tensor_release(&out), "release");
    catalogue_ok(tnr_sum(engine, &a, (const int[]){0}, 1, &out), "sum");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    assert_true(*(const int64_t *)data == -2);
    catalogue_ok(tnr_tensor_release(&out), "release");
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
}

static void test_exp_of_reals(void **state)
{
    (void)state;
    const double in[6] = {0.0, (double)-INFINITY, (double)INFINITY, (double)NAN, 1000.0, -1000.0};
    tnr_view a;
    tnr_tensor *x = vector(TNR_F64, 6, in, &a);
    tnr_tensor *out = NULL;
    const void *data;
    catalogue_ok(tnr_exp(engine, &a, &out), "exp");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    const double *found = data;
    assert_true(found[0] == 1.0 && found[1] == 0.0 && isinf(found[2]) && found[2] > 0.0);
    assert_true(isnan(found[3]) && isinf(found[4]) && found[5] == 0.0);
    catalogue_ok(tnr_tensor_release(&out), "release");
    catalogue_ok(tnr_tensor_release(&x), "release");
}

static void test_exp_of_complex_numbers(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    const double nan_value = (double)NAN;
    const tnr_c64 in[10] = {{0, -0.0}, {1, 0},         {-inf, 1}, {-inf, inf}, {-inf, nan_value},
                            {inf, 0},  {nan_value, 0}, {1, inf},  {inf, 2},    {709.9, 1.5707963267948966}};
    tnr_view a;
    tnr_tensor *x = vector(TNR_C64, 10, in, &a);
    tnr_tensor *out = NULL;
    const void *data;
    catalogue_ok(tnr_exp(engine, &a, &out), "exp");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    const tnr_c64 *found = data;
    assert_true(found[0].re == 1.0 && found[0].im == 0.0 && signbit(found[0].im));
    assert_true(found[1].re == exp(1.0) && found[1].im == 0.0);
    for (int i = 2; i < 5; ++i) { /* e to minus infinity is 0 whatever the angle */
        assert_true(found[i].re == 0.0 && found[i].im == 0.0);
    }
    assert_true(isinf(found[5].re) && found[5].re > 0.0 && found[5].im == 0.0);
    assert_true(isnan(found[6].re) && found[6].im == 0.0);
    assert_true(isnan(found[7].re) && isnan(found[7].im));
    assert_true(isinf(found[8].re) && found[8].re < 0.0 && isinf(found[8].im) && found[8].im > 0.0);
    /* e^709.9 alone is too large; times cos(pi/2) = 6e-17 it is not. */
    assert_true(isfinite(found[9].re) && fabs(found[9].re / 1.0e292 - 1.16) < 0.2);
    catalogue_ok(tnr_tensor_release(&out), "release");
    catalogue_ok(tnr_tensor_release(&x), "release");
}

/* A running sum of ones in f32 sticks at 2^24; a pairwise one does not. */
static void test_long_sums_keep_their_precision(void **state)
{
    (void)state;
    const int64_t count = (int64_t)1 << 25;
    float *ones = malloc((size_t)count * sizeof *ones);
    assert_non_null(ones);
    for (int64_t i = 0; i < count; ++i) {
        ones[i] = 1.0F;
    }
    tnr_tensor *owner = NULL;
    tnr_tensor *out = NULL;
    tnr_view line;
    tnr_view view;
    const void *data;
    catalogue_ok(tnr_tensor_adopt(heap, TNR_F32, 1, &count, ones, (uint64_t)count * sizeof *ones, NULL, NULL, &owner),
                 "adopt");
    catalogue_ok(tnr_tensor_view(owner, &line), "view");
    /* One run; then columns side by side; then steps of 4, so that neither way of adding is left out. */
    const int64_t shapes[3][2] = {{count, 1}, {4, count / 4}, {4, count / 4}};
    for (int way = 0; way < 3; ++way) {
        catalogue_ok(tnr_view_reshape(&line, 2, shapes[way], &view), "reshape");
        const int axis = way == 0 ? 0 : 1;
        catalogue_ok(tnr_sum(engine, &view, way == 2 ? (const int[]){0, 1} : &axis, way == 2 ? 2 : 1, &out), "sum");
        catalogue_ok(tnr_tensor_host_data(out, &data), "data");
        assert_true(*(const float *)data == (float)(way == 1 ? count / 4 : count));
        catalogue_ok(tnr_tensor_release(&out), "release");
    }
    const tnr_range every_other = {0, TNR_END, 2};
    catalogue_ok(tnr_view_slice_axis(&line, 0, every_other, &view), "slice");
    const int zero_axis = 0;
    catalogue_ok(tnr_sum(engine, &view, &zero_axis, 1, &out), "sum");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    assert_true(*(const float *)data == (float)(count / 2));
    catalogue_ok(tnr_tensor_release(&out), "release");
    catalogue_ok(tnr_tensor_release(&owner), "release");
    free(ones);
}

/* So many ones that even each of a run's accumulators would stick: one element, seen 2^29 times. */
static void test_very_long_sums_keep_their_precision(void **state)
{
    (void)state;
    const float one = 1.0F;
    const int64_t count = (int64_t)1 << 29;
    const int64_t stride = 0;
    const int axis = 0;
    tnr_view view;
    tnr_tensor *out = NULL;
    const void *data;
    tnr_tensor *owner = vector(TNR_F32, 1, &one, &view);
    catalogue_ok(tnr_tensor_region(owner, 1, &count, &stride, 0, &view), "repeated");
    catalogue_ok(tnr_sum(engine, &view, &axis, 1, &out), "sum");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    assert_true(*(const float *)data == (float)count);
    catalogue_ok(tnr_tensor_release(&out), "release");
    catalogue_ok(tnr_tensor_release(&owner), "release");
}

/* ---- Large planes: tiles, strips and lines against one element after another -------------------------------------------------- */

/* A tensor of small whole numbers, all different near one another, seen through `order` (NULL: as it is). */
static tnr_tensor *numbered(tnr_dtype dtype, int rank, const int64_t *shape, int64_t salt, const int *order,
                            tnr_view_mut *view)
{
    int64_t own[TNR_MAX_RANK];
    for (int i = 0; i < rank; ++i) { /* so that its permuted view has the shape */
        own[order == NULL ? i : order[i]] = shape[i];
    }
    tnr_tensor *made = NULL;
    tnr_tensor_info info;
    void *data;
    catalogue_ok(tnr_tensor_zeros(heap, dtype, rank, own, &made), "numbered");
    catalogue_ok(tnr_tensor_describe(made, &info), "describe");
    catalogue_ok(tnr_tensor_host_data_mut(made, &data), "data");
    const int64_t parts = info.count * (catalogue_is_complex(dtype) ? 2 : 1);
    for (int64_t i = 0; i < parts; ++i) {
        const int64_t value = (i * 37 + salt) % 1009;
        if (dtype == TNR_F32 || dtype == TNR_C32) {
            ((float *)data)[i] = (float)value;
        } else if (dtype == TNR_F64 || dtype == TNR_C64) {
            ((double *)data)[i] = (double)value;
        } else if (dtype == TNR_I32) {
            ((int32_t *)data)[i] = (int32_t)value;
        } else {
            ((int64_t *)data)[i] = value;
        }
    }
    catalogue_ok(tnr_tensor_view_mut(made, view), "view");
    if (order != NULL) {
        catalogue_ok(tnr_view_mut_permute(view, order, view), "permuted");
    }
    return made;
}

static double part(tnr_dtype dtype, const void *data, int64_t i)
{
    return dtype == TNR_F32 || dtype == TNR_C32   ? (double)((const float *)data)[i]
           : dtype == TNR_F64 || dtype == TNR_C64 ? ((const double *)data)[i]
           : dtype == TNR_I32                     ? (double)((const int32_t *)data)[i]
                                                  : (double)((const int64_t *)data)[i];
}

/* out[i] == a[i] + b[i] for every index; all sums are exact. */
static void expect_sums(const tnr_view *a, const tnr_view *b, const tnr_view *out)
{
    const int parts = catalogue_is_complex(a->dtype) ? 2 : 1;
    tnr_read_map maps[3];
    catalogue_ok(tnr_map_read(a, &maps[0]), "map");
    catalogue_ok(tnr_map_read(b, &maps[1]), "map");
    catalogue_ok(tnr_map_read(out, &maps[2]), "map");
    tnr_cursor x = tnr_cursor_begin(a);
    tnr_cursor y = tnr_cursor_begin(b);
    tnr_cursor z = tnr_cursor_begin(out);
    for (; z.valid; tnr_cursor_next(&x), tnr_cursor_next(&y), tnr_cursor_next(&z)) {
        for (int k = 0; k < parts; ++k) {
            const double want =
                part(a->dtype, maps[0].data, x.offset * parts + k) + part(a->dtype, maps[1].data, y.offset * parts + k);
            assert_true(part(a->dtype, maps[2].data, z.offset * parts + k) == want);
        }
    }
    for (int i = 0; i < 3; ++i) {
        catalogue_ok(tnr_unmap_read(&maps[i]), "unmap");
    }
}

static void add_in_orders(tnr_dtype dtype, int rank, const int64_t *shape, const int *order_a, const int *order_b,
                          const int *order_out)
{
    tnr_view_mut a;
    tnr_view_mut b;
    tnr_view_mut out;
    tnr_tensor *x = numbered(dtype, rank, shape, 1, order_a, &a);
    tnr_tensor *y = numbered(dtype, rank, shape, 500, order_b, &b);
    tnr_tensor *z = numbered(dtype, rank, shape, 0, order_out, &out);
    tnr_range slices[TNR_MAX_RANK];
    for (int way = 0; way < 3; ++way) {
        catalogue_ok(tnr_add_into(engine, &a.view, &b.view, &out), "add");
        expect_sums(&a.view, &b.view, &out.view);
        for (int i = 0; i < rank; ++i) { /* then parts, one axis of a backwards */
            const tnr_range inner = {1, TNR_END, i == way ? -1 : 1};
            slices[i] = inner;
        }
        catalogue_ok(tnr_view_mut_slice(&a, slices, &a), "slice");
        slices[way < rank ? way : 0].step = 1;
        catalogue_ok(tnr_view_mut_slice(&b, slices, &b), "slice");
        catalogue_ok(tnr_view_mut_slice(&out, slices, &out), "slice");
    }
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
    catalogue_ok(tnr_tensor_release(&z), "release");
}

static void test_large_planes_in_every_order(void **state)
{
    (void)state;
    static const int64_t flat[2] = {171, 203};
    static const int64_t wide[2] = {3, 5003};
    static const int64_t solid[3] = {37, 41, 43};
    static const int turned[2] = {1, 0};
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const tnr_dtype dtypes[6] = {TNR_F32, TNR_F64, TNR_C32, TNR_C64, TNR_I32, TNR_I64};
    for (int d = 0; d < 6; ++d) {
        for (int mask = 0; mask < 8; ++mask) {
            const int *const a = (mask & 1) != 0 ? turned : NULL;
            const int *const b = (mask & 2) != 0 ? turned : NULL;
            const int *const out = (mask & 4) != 0 ? turned : NULL;
            add_in_orders(dtypes[d], 2, flat, a, b, out);
            add_in_orders(dtypes[d], 2, wide, a, b, out);
        }
        for (int a = 0; a < 6; ++a) {
            for (int b = 0; b < 6; ++b) {
                add_in_orders(dtypes[d], 3, solid, orders[a], orders[b], NULL);
            }
        }
    }
}

/* [1 x; 1 x] times [-r -r; x x], r being x * x rounded: what a second rounding of the last product would lose. */
static double lost_by_rounding(tnr_dtype dtype, const void *left, const void *right)
{
    static const int64_t square[2] = {2, 2};
    const uint64_t bytes = 4 * tnr_dtype_size(dtype);
    tnr_tensor *x = NULL;
    tnr_tensor *y = NULL;
    tnr_tensor *out = NULL;
    tnr_view a;
    tnr_view b;
    const void *data;
    catalogue_ok(tnr_tensor_from_row_major(heap, dtype, 2, square, left, bytes, &x), "left");
    catalogue_ok(tnr_tensor_from_row_major(heap, dtype, 2, square, right, bytes, &y), "right");
    catalogue_ok(tnr_tensor_view(x, &a), "view");
    catalogue_ok(tnr_tensor_view(y, &b), "view");
    catalogue_ok(tnr_matmul(engine, &a, &b, NULL, &out), "matmul");
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    double element[4];
    for (int i = 0; i < 4; ++i) {
        element[i] = dtype == TNR_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
        assert_true(element[i] == element[0]);
    }
    catalogue_ok(tnr_tensor_release(&x), "release");
    catalogue_ok(tnr_tensor_release(&y), "release");
    catalogue_ok(tnr_tensor_release(&out), "release");
    return element[0];
}

/* Sums of products have one rounding per step wherever the compiler says that C's fma is an instruction; elsewhere one or two. */
static void test_products_are_fused(void **state)
{
    (void)state;
    const float f = 1.0F + 0x1p-12F;
    const float f_squared = 1.0F + 0x1p-11F;
    const double d = 1.0 + 0x1p-27;
    const double d_squared = 1.0 + 0x1p-26;
    const float f_left[4] = {1.0F, f, 1.0F, f};
    const float f_right[4] = {-f_squared, -f_squared, f, f};
    const double d_left[4] = {1.0, d, 1.0, d};
    const double d_right[4] = {-d_squared, -d_squared, d, d};
    const double single_lost = lost_by_rounding(TNR_F32, f_left, f_right);
    const double double_lost = lost_by_rounding(TNR_F64, d_left, d_right);
#if defined(__FP_FAST_FMAF)
    assert_true(single_lost == 0x1p-24);
#else
    assert_true(single_lost == 0x1p-24 || single_lost == 0.0);
#endif
#if defined(__FP_FAST_FMA)
    assert_true(double_lost == 0x1p-54);
#else
    assert_true(double_lost == 0x1p-54 || double_lost == 0.0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_exp_of_reals),
        cmocka_unit_test(test_exp_of_complex_numbers),
        cmocka_unit_test(test_long_sums_keep_their_precision),
        cmocka_unit_test(test_very_long_sums_keep_their_precision),
        cmocka_unit_test(test_large_planes_in_every_order),
        cmocka_unit_test(test_products_are_fused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
