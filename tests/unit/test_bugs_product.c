/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures of matrix products that other libraries had, as they were reported: each test is named after its row in the project's
 * list of bugs. Poisoned outputs, zero and huge strides, conjugates, parameters, many callers, fork.
 */
#define _GNU_SOURCE /* MAP_NORESERVE */

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/matrix.h"

static void ones_into_poison(tnr_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    matrix a = matrix_of(dtype, 2, LIST(m, k), NULL);
    matrix b = matrix_of(dtype, 2, LIST(k, n), NULL);
    matrix buffer =
        matrix_of(dtype, 1, LIST((2 * m + 1) * n + 1), NULL); /* c has row stride 2 and a gap between columns */
    for (int64_t i = 0; i < m * k; ++i) {
        put(dtype, a.data, i, 1.0, 0.0);
    }
    for (int64_t i = 0; i < k * n; ++i) {
        put(dtype, b.data, i, 1.0, 0.0);
    }
    for (int64_t i = 0; i < (2 * m + 1) * n + 1; ++i) {
        put(dtype, buffer.data, i, i % 2 == 0 ? (double)NAN : (double)INFINITY, (double)NAN);
    }
    tnr_view_mut c;
    catalogue_ok(tnr_tensor_region_mut(buffer.tensor, 2, LIST(m, n), LIST(2, 2 * m + 1), 0, &c), "strided c");
    catalogue_ok(tnr_matmul_into(engine, &a.view.view, &b.view.view, NULL, &c), "product");
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) {
            assert_true(holds(dtype, buffer.data, 2 * i + (2 * m + 1) * j, (double)k, 0.0));
        }
    }
    drop(&a);
    drop(&b);
    drop(&buffer);
}

static void test_MM_01_beta_zero_overwrites_and_alpha_zero_reads_nothing(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 7, 17, 23};
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        for (int m = 0; m < 6; ++m) {
            for (int n = 0; n < 6; ++n) {
                for (int k = 0; k < 6; ++k) {
                    ones_into_poison((tnr_dtype)dtype, sizes[m], sizes[n], sizes[k]);
                }
            }
        }
        ones_into_poison((tnr_dtype)dtype, 65, 66, 67);
        matrix poison = matrix_of((tnr_dtype)dtype, 2, LIST(2, 2), NULL);
        matrix c = matrix_of((tnr_dtype)dtype, 2, LIST(2, 2), NULL);
        for (int64_t i = 0; i < 4; ++i) {
            put((tnr_dtype)dtype, poison.data, i, (double)NAN, (double)NAN);
            put((tnr_dtype)dtype, c.data, i, (double)i + 1.0, 0.0);
        }
        tnr_product_options options = TNR_PRODUCT_OPTIONS;
        options.alpha.re = 0.0;
        options.beta.re = 2.0;
        catalogue_ok(tnr_matmul_into(engine, &poison.view.view, &poison.view.view, &options, &c.view), "alpha 0");
        for (int64_t i = 0; i < 4; ++i) {
            assert_true(holds((tnr_dtype)dtype, c.data, i, 2.0 * ((double)i + 1.0), 0.0));
            put((tnr_dtype)dtype, c.data, i, (double)NAN, (double)NAN);
        }
        options.beta.re = 0.0;
        catalogue_ok(tnr_matmul_into(engine, &poison.view.view, &poison.view.view, &options, &c.view), "both 0");
        matrix a = matrix_of((tnr_dtype)dtype, 2, LIST(2, 0), NULL);
        matrix b = matrix_of((tnr_dtype)dtype, 2, LIST(0, 2), NULL);
        for (int round = 0; round < 2; ++round) {
            for (int64_t i = 0; i < 4; ++i) {
                assert_true(holds((tnr_dtype)dtype, c.data, i, 0.0, 0.0));
                put((tnr_dtype)dtype, c.data, i, round == 0 ? (double)NAN : 0.0, 0.0);
            }
            catalogue_ok(tnr_matmul_into(engine, &a.view.view, &b.view.view, NULL, &c.view), "k = 0");
        }
        drop(&a);
        drop(&b);
        drop(&poison);
        drop(&c);
    }
}

/* What is written to standard error while `body` runs must be nothing. */
static void silently(void (*body)(void))
{
    FILE *caught = tmpfile();
    assert_non_null(caught);
    fflush(stderr);
    const int saved = dup(2);
    assert_true(saved >= 0 && dup2(fileno(caught), 2) == 2);
    body();
    fflush(stderr);
    assert_true(dup2(saved, 2) == 2);
    close(saved);
    fseek(caught, 0, SEEK_END);
    assert_true(ftell(caught) == 0);
    fclose(caught);
}

static void zero_extents(void)
{
    matrix none_4 = matrix_of(TNR_F64, 2, LIST(0, 4), NULL);
    matrix four_3 = matrix_of(TNR_F64, 2, LIST(4, 3), NULL);
    matrix three_4 = matrix_of(TNR_F64, 2, LIST(3, 4), NULL);
    matrix four_none = matrix_of(TNR_F64, 2, LIST(4, 0), NULL);
    tnr_tensor *made = NULL;
    tnr_tensor_info info;
    catalogue_ok(tnr_matmul(engine, &none_4.view.view, &four_3.view.view, NULL, &made), "0x4 by 4x3");
    catalogue_ok(tnr_tensor_describe(made, &info), "describe");
    assert_true(info.rank == 2 && info.shape[0] == 0 && info.shape[1] == 3 && info.count == 0);
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_matmul(engine, &three_4.view.view, &four_none.view.view, NULL, &made), "3x4 by 4x0");
    catalogue_ok(tnr_tensor_describe(made, &info), "describe");
    assert_true(info.rank == 2 && info.shape[0] == 3 && info.shape[1] == 0 && info.count == 0);
    catalogue_ok(tnr_tensor_release(&made), "release");
    drop(&none_4);
    drop(&four_3);
    drop(&three_4);
    drop(&four_none);
}

/* n columns, `stride` elements apart, in reserved address space: only the pages in use become memory. */
static void far_columns(int64_t rows, int64_t columns, int64_t stride)
{
    const int64_t elements = stride * (columns - 1) + rows;
    const size_t bytes = (size_t)elements * sizeof(double);
    double *space = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) {
        print_message("no %zu bytes of address space to be had: left out\n", bytes);
        return;
    }
    tnr_tensor *owner = NULL;
    tnr_view a;
    catalogue_ok(tnr_tensor_adopt(heap, TNR_F64, 1, &elements, space, bytes, NULL, NULL, &owner), "adopt");
    catalogue_ok(tnr_tensor_region(owner, 2, LIST(rows, columns), LIST(1, stride), 0, &a), "far columns");
    matrix b = matrix_of(TNR_F64, 2, LIST(columns, columns), NULL);
    for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < rows; ++i) {
            space[i + j * stride] = (double)(i + 100 * j);
        }
        ((double *)b.data)[j + j * columns] = 1.0;
    }
    tnr_tensor *made = NULL;
    const void *data;
    catalogue_ok(tnr_matmul(engine, &a, &b.view.view, NULL, &made), "times the identity");
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < rows; ++i) {
            assert_true(((const double *)data)[i + j * rows] == (double)(i + 100 * j));
        }
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_tensor_release(&owner), "release");
    drop(&b);
    munmap(space, bytes);
}

static void test_MM_03_zero_extents_and_huge_strides(void **state)
{
    (void)state;
    silently(zero_extents);
    static const double two = 2.0;
    static const double three = 3.0;
    matrix a = matrix_of(TNR_F64, 2, LIST(1, 1), &two);
    matrix b = matrix_of(TNR_F64, 2, LIST(1, 1), &three);
    tnr_view far;
    tnr_tensor *made = NULL;
    const void *data;
    catalogue_ok(tnr_tensor_region(a.tensor, 2, LIST(1, 1), LIST(1, 3000000000), 0, &far), "column stride 3000000000");
    catalogue_ok(tnr_matmul(engine, &far, &b.view.view, NULL, &made), "1x1");
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_true(*(const double *)data == 6.0);
    catalogue_ok(tnr_tensor_release(&made), "release");
    drop(&a);
    drop(&b);
    far_columns(1, 2, 3000000000);
    far_columns(32, 32, 2200000000); /* large enough for every kernel */
}

static void test_MM_05_stride_zero_inside_a_matrix(void **state)
{
    (void)state;
    static const double row[2] = {1, 2};
    static const double column[2] = {3, 4};
    matrix a = matrix_of(TNR_F64, 2, LIST(1, 2), row);
    matrix b = matrix_of(TNR_F64, 1, LIST(2), column);
    tnr_view repeated;
    tnr_tensor *made = NULL;
    const void *data;
    catalogue_ok(tnr_tensor_region(b.tensor, 2, LIST(2, 2), LIST(1, 0), 0, &repeated), "column stride 0");
    catalogue_ok(tnr_matmul(engine, &a.view.view, &repeated, NULL, &made), "product");
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_true(((const double *)data)[0] == 11.0 && ((const double *)data)[1] == 11.0);
    catalogue_ok(tnr_tensor_release(&made), "release");
    /* The same at a size where a library is asked. */
    tnr_view wide;
    matrix ones = matrix_of(TNR_F64, 2, LIST(80, 2), NULL);
    for (int i = 0; i < 160; ++i) {
        ((double *)ones.data)[i] = 1.0;
    }
    catalogue_ok(tnr_tensor_region(b.tensor, 2, LIST(2, 300), LIST(1, 0), 0, &wide), "column stride 0");
    catalogue_ok(tnr_matmul(engine, &ones.view.view, &wide, NULL, &made), "product");
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    for (int i = 0; i < 80 * 300; ++i) {
        assert_true(((const double *)data)[i] == 7.0);
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    drop(&ones);
    drop(&a);
    drop(&b);
}

static void test_MM_06_only_the_logical_tile_is_written(void **state)
{
    (void)state;
    static const double left[4] = {1, 2, 3, 4};
    static const double right[4] = {5, 6, 7, 8};
    double nines[12];
    double expected[12];
    for (int i = 0; i < 12; ++i) {
        nines[i] = expected[i] = 9.0;
    }
    expected[5] = 19.0;
    expected[6] = 43.0;
    expected[9] = 22.0;
    expected[10] = 50.0;
    matrix a = matrix_of(TNR_F64, 2, LIST(2, 2), left);
    matrix b = matrix_of(TNR_F64, 2, LIST(2, 2), right);
    matrix buffer = matrix_of(TNR_F64, 2, LIST(4, 3), nines);
    tnr_view_mut tile;
    catalogue_ok(tnr_tensor_region_mut(buffer.tensor, 2, LIST(2, 2), LIST(1, 4), 5, &tile), "tile");
    catalogue_ok(tnr_matmul_into(engine, &a.view.view, &b.view.view, NULL, &tile), "product");
    expect_f64(&buffer, 12, expected);

    static const double rows[6] = {1, -3, 1, 2, -6, 2}; /* as it lies: row-major [2, 3] */
    static const double vector[3] = {2, 1, 1};
    matrix flat = matrix_of(TNR_F64, 1, LIST(6), rows);
    matrix x = matrix_of(TNR_F64, 2, LIST(3, 1), vector);
    matrix y = matrix_of(TNR_F64, 2, LIST(2, 1), nines);
    tnr_view row_major;
    catalogue_ok(tnr_tensor_region(flat.tensor, 2, LIST(2, 3), LIST(3, 1), 0, &row_major), "row-major");
    catalogue_ok(tnr_matmul_into(engine, &row_major, &x.view.view, NULL, &y.view), "product");
    expect_f64(&y, 2, (const double[]){0.0, 0.0});
    drop(&a);
    drop(&b);
    drop(&buffer);
    drop(&flat);
    drop(&x);
    drop(&y);
}

static void test_MM_08_conjugate_transposes_and_large_complex_products(void **state)
{
    (void)state;
    static const tnr_c64 left[2] = {{1, 1}, {2, 0}};
    static const tnr_c64 right[3] = {{1, 2}, {3, 0}, {0, 1}};
    static const tnr_c64 expected[6] = {{3, -1}, {2, -4}, {3, 3}, {6, 0}, {1, -1}, {0, -2}}; /* column-major */
    matrix a = matrix_of(TNR_C64, 2, LIST(2, 1), left);
    matrix b = matrix_of(TNR_C64, 2, LIST(3, 1), right);
    tnr_view transposed;
    tnr_tensor *made = NULL;
    const void *data;
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    options.conjugate_b = true;
    catalogue_ok(tnr_view_permute(&b.view.view, NULL, &transposed), "transpose");
    catalogue_ok(tnr_matmul(engine, &a.view.view, &transposed, &options, &made), "product");
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    for (int i = 0; i < 6; ++i) {
        assert_true(((const tnr_c64 *)data)[i].re == expected[i].re && ((const tnr_c64 *)data)[i].im == expected[i].im);
    }
    catalogue_ok(tnr_tensor_release(&made), "release");
    drop(&a);
    drop(&b);
    for (unsigned dtype = TNR_C32; dtype <= TNR_C64; ++dtype) {
        matrix ones = matrix_of((tnr_dtype)dtype, 2, LIST(257, 257), NULL);
        for (int64_t i = 0; i < 257 * 257; ++i) {
            put((tnr_dtype)dtype, ones.data, i, 1.0, 0.0);
        }
        catalogue_ok(tnr_matmul(engine, &ones.view.view, &ones.view.view, &options, &made), "257 cubed");
        catalogue_ok(tnr_tensor_host_data(made, &data), "data");
        for (int64_t i = 0; i < 257 * 257; ++i) {
            assert_true(holds((tnr_dtype)dtype, data, i, 257.0, 0.0));
        }
        catalogue_ok(tnr_tensor_release(&made), "release");
        drop(&ones);
    }
}

static void wrong_inner_extents(void)
{
    matrix a = matrix_of(TNR_F64, 2, LIST(2, 3), NULL);
    matrix b = matrix_of(TNR_F64, 2, LIST(2, 2), (const double[]){1, 2, 3, 4});
    matrix c = matrix_of(TNR_F64, 2, LIST(2, 2), (const double[]){5, 7, 6, 8});
    assert_int_equal(tnr_matmul_into(engine, &a.view.view, &b.view.view, NULL, &c.view), TNR_ERR_SHAPE);
    expect_f64(&c, 4, (const double[]){5, 6, 7, 8});
    catalogue_ok(tnr_matmul_into(engine, &b.view.view, &b.view.view, NULL, &c.view), "a valid product");
    expect_f64(&c, 4, (const double[]){7, 15, 10, 22});
    drop(&a);
    drop(&b);
    drop(&c);
}

static void test_MM_10_parameter_errors_are_answers(void **state)
{
    (void)state;
    silently(wrong_inner_extents);
}

/* ---- Threads and processes ----------------------------------------------------------------------------------------------------- */

#define CALLERS 64
#define CALLS 50

typedef struct caller {
    const tnr_view *ones;
    int served;
    int refused;
    int wrong;
} caller;

static void *call_often(void *context)
{
    caller *self = context;
    for (int round = 0; round < CALLS; ++round) {
        tnr_tensor *made = NULL;
        const tnr_status status = tnr_matmul(engine, self->ones, self->ones, NULL, &made);
        if (status == TNR_ERR_BUSY) {
            ++self->refused;
            continue;
        }
        const void *data = NULL;
        bool right = status == TNR_OK && tnr_tensor_host_data(made, &data) == TNR_OK;
        for (int i = 0; right && i < 2500; ++i) {
            right = ((const double *)data)[i] == 50.0;
        }
        right = tnr_tensor_release(&made) == TNR_OK && right;
        ++*(right ? &self->served : &self->wrong);
    }
    return NULL;
}

static void test_MM_11_many_callers_of_one_engine(void **state)
{
    (void)state;
    matrix ones = matrix_of(TNR_F64, 2, LIST(50, 50), NULL);
    for (int i = 0; i < 2500; ++i) {
        ((double *)ones.data)[i] = 1.0;
    }
    static caller callers[CALLERS];
    static pthread_t threads[CALLERS];
    int served = 0;
    for (int i = 0; i < CALLERS; ++i) {
        callers[i] = (caller){.ones = &ones.view.view};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].wrong, 0);
        assert_int_equal(callers[i].served + callers[i].refused, CALLS);
        served += callers[i].served;
    }
    assert_true(served > 0);
    drop(&ones);
}

static void test_MM_12_products_after_fork(void **state)
{
    (void)state;
    assert_true(product_of_ones(64));
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(10); /* a hang ends the child by a signal */
        _exit(product_of_ones(8) && product_of_ones(64) ? 0 : 1);
    }
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(product_of_ones(64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_MM_01_beta_zero_overwrites_and_alpha_zero_reads_nothing),
        cmocka_unit_test(test_MM_03_zero_extents_and_huge_strides),
        cmocka_unit_test(test_MM_05_stride_zero_inside_a_matrix),
        cmocka_unit_test(test_MM_06_only_the_logical_tile_is_written),
        cmocka_unit_test(test_MM_08_conjugate_transposes_and_large_complex_products),
        cmocka_unit_test(test_MM_10_parameter_errors_are_answers),
        cmocka_unit_test(test_MM_11_many_callers_of_one_engine),
        cmocka_unit_test(test_MM_12_products_after_fork),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
