/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures that other libraries had, as they were reported, run against the engine: each test is named after its row in the
 * project's list of bugs. Matrix products have a file of their own.
 */
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/matrix.h"

/* ---- Elementwise and reductions ---------------------------------------------------------------------------------------------- */

static void test_ER_05_shifted_output_is_refused_before_the_first_write(void **state)
{
    (void)state;
    static const double values[5] = {1, 2, 3, 4, 5};
    matrix x = matrix_of(TNR_F64, 1, LIST(5), values);
    tnr_view head;
    tnr_view tail;
    tnr_view_mut target;
    catalogue_ok(tnr_tensor_region(x.tensor, 1, LIST(4), LIST(1), 0, &head), "x[0..3]");
    catalogue_ok(tnr_tensor_region(x.tensor, 1, LIST(4), LIST(1), 1, &tail), "x[1..4]");
    catalogue_ok(tnr_tensor_region_mut(x.tensor, 1, LIST(4), LIST(1), 1, &target), "x[1..4]");
    assert_int_equal(tnr_copy_into(engine, &head, &target), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_add_into(engine, &head, &tail, &target), TNR_ERR_OVERLAP);
    assert_int_equal(tnr_exp_into(engine, &head, &target), TNR_ERR_OVERLAP);
    expect_f64(&x, 5, values);
    drop(&x);
}

static void test_ER_03_axis_lists_are_validated_first(void **state)
{
    (void)state;
    static const double values[4] = {1, 2, 3, 4};
    matrix full = matrix_of(TNR_F64, 2, LIST(2, 2), values);
    matrix empty = matrix_of(TNR_F64, 2, LIST(0, 2), NULL);
    const matrix *both[2] = {&full, &empty};
    tnr_tensor *made = NULL;
    for (int i = 0; i < 2; ++i) {
        const tnr_view *view = &both[i]->view.view;
        assert_int_equal(tnr_sum(engine, view, (const int[]){0, 0}, 2, &made), TNR_ERR_ARGUMENT);
        assert_int_equal(tnr_sum(engine, view, (const int[]){2}, 1, &made), TNR_ERR_BOUNDS);
        assert_int_equal(tnr_sum(engine, view, (const int[]){-1}, 1, &made), TNR_ERR_BOUNDS);
        assert_null(made);
    }
    const void *data;
    catalogue_ok(tnr_sum(engine, &full.view.view, NULL, 0, &made), "no axes");
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_memory_equal(data, full.data, sizeof values);
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_sum(engine, &full.view.view, (const int[]){1, 0}, 2, &made), "both axes");
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_true(*(const double *)data == 10.0);
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_sum(engine, &empty.view.view, (const int[]){0}, 1, &made), "axis of extent 0");
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_true(((const double *)data)[0] == 0.0 && ((const double *)data)[1] == 0.0);
    catalogue_ok(tnr_tensor_release(&made), "release");
    drop(&full);
    drop(&empty);
}

/* ---- Life of an engine ----------------------------------------------------------------------------------------------------------- */

#if defined(TNRI_SANITIZED) /* freed memory, or its shadow, stays resident */
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static long resident_pages(void)
{
    long total = 0;
    long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        if (fscanf(file, "%ld %ld", &total, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return resident;
}

static void test_PA_09_outputs_outlive_their_engine(void **state)
{
    (void)state;
    tnr_engine *short_lived = NULL;
    tnr_tensor *made = NULL;
    tnr_pool_statistics pool;
    const void *data;
    matrix a = matrix_of(TNR_F64, 2, LIST(2, 2), (const double[]){1, 2, 3, 4});
    matrix b = matrix_of(TNR_F64, 2, LIST(2, 2), (const double[]){1, 0, 0, 1});
    catalogue_ok(tnr_engine_create(heap, NULL, &short_lived), "engine");
    catalogue_ok(tnr_matmul(short_lived, &a.view.view, &b.view.view, NULL, &made), "product");
    catalogue_ok(tnr_engine_destroy(&short_lived), "destroy with an output alive");
    assert_null(short_lived);
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_memory_equal(data, a.data, 4 * sizeof(double));
    catalogue_ok(tnr_engine_create(heap, NULL, &short_lived), "engine");
    catalogue_ok(tnr_pool_statistics_get(tnr_engine_pool(short_lived), &pool), "pool");
    assert_true(pool.buffers == 0 && pool.capacity_bytes == 0);
    catalogue_ok(tnr_tensor_release(&made), "release after the engine");
    catalogue_ok(tnr_engine_destroy(&short_lived), "destroy");

    tnr_domain_statistics before;
    tnr_domain_statistics after;
    catalogue_ok(tnr_domain_statistics_get(heap, &before), "statistics");
    long pages = resident_pages(); /* its own first call touches pages of the C library */
    for (int round = 0; round < 100; ++round) {
        catalogue_ok(tnr_engine_create(heap, NULL, &short_lived), "engine");
        catalogue_ok(tnr_matmul(short_lived, &a.view.view, &b.view.view, NULL, &made), "product");
        catalogue_ok(tnr_tensor_release(&made), "release");
        catalogue_ok(tnr_engine_destroy(&short_lived), "destroy");
        if (round == 20) {
            pages = resident_pages();
        }
    }
    catalogue_ok(tnr_domain_statistics_get(heap, &after), "statistics");
    assert_true(before.blocks == after.blocks && before.bytes == after.bytes);
    assert_true(SANITIZED || resident_pages() <= pages + 8); /* 80 rounds: less than a page each */
    drop(&a);
    drop(&b);
}

/* ---- Placement -------------------------------------------------------------------------------------------------------------------- */

static void test_CU_01_device_memory_never_reaches_a_host_loop(void **state)
{
    (void)state;
    catalogue_probe probe = {.access = TNR_ACCESS_NONE};
    tnr_domain *device = NULL;
    catalogue_probe_domain(heap, &probe, &device);
    assert_true(tnr_domain_placement(device).kind == TNR_MEMORY_DEVICE);
    tnr_draft *draft = NULL;
    tnr_tensor *remote = NULL;
    tnr_tensor *made = NULL;
    tnr_view view;
    const void *data = NULL;
    catalogue_ok(tnr_draft_begin(device, TNR_F64, 2, LIST(2, 2), &draft), "device tensor");
    catalogue_ok(tnr_draft_commit(&draft, &remote), "device tensor");
    catalogue_ok(tnr_tensor_view(remote, &view), "view");
    assert_int_equal(tnr_add(engine, &view, &view, &made), TNR_ERR_RESIDENCY);
    assert_non_null(strstr(tnr_last_error(), "download"));
    assert_int_equal(tnr_matmul(engine, &view, &view, NULL, &made), TNR_ERR_RESIDENCY);
    assert_int_equal(tnr_tensor_host_data(remote, &data), TNR_ERR_RESIDENCY);
    assert_true(made == NULL && data == NULL);
    catalogue_ok(tnr_tensor_release(&remote), "release");
    catalogue_ok(tnr_domain_close(&device), "device");
    assert_true(probe.live == 0 && probe.maps == 0);
}

/* ---- Build ------------------------------------------------------------------------------------------------------------------------ */

static void assert_plain_arithmetic(void)
{
    volatile double small = 1e-310;
    volatile double zero = 0.0;
    assert_true(small * 0.5 > 0.0); /* no flush to zero */
    assert_true(isnan(zero / zero));
    assert_int_equal(fegetround(), FE_TONEAREST);
}

static tnr_view nan_view;

static void *use_everything(void *context)
{
    tnr_engine *own = context;
    tnr_tensor *made = NULL;
    const void *data;
    catalogue_ok(tnr_matmul(own, &nan_view, &nan_view, NULL, &made), "product");
    assert_plain_arithmetic();
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_true(isnan(((const double *)data)[0]));
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_exp(own, &nan_view, &made), "exp");
    assert_plain_arithmetic();
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_true(isnan(((const double *)data)[0]));
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_add(own, &nan_view, &nan_view, &made), "add");
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_sum(own, &nan_view, (const int[]){0, 1}, 2, &made), "sum");
    assert_plain_arithmetic();
    catalogue_ok(tnr_tensor_host_data(made, &data), "data");
    assert_true(isnan(*(const double *)data));
    catalogue_ok(tnr_tensor_release(&made), "release");
    catalogue_ok(tnr_permute(own, &nan_view, NULL, &made), "permute");
    catalogue_ok(tnr_tensor_release(&made), "release");
    assert_plain_arithmetic();
    return NULL;
}

static void test_BI_01_floating_point_state_is_the_callers(void **state)
{
    (void)state;
    assert_plain_arithmetic();
    matrix values = matrix_of(TNR_F64, 2, LIST(40, 40), NULL); /* large enough for every kernel */
    ((double *)values.data)[0] = (double)NAN;
    nan_view = values.view.view;
    use_everything(engine);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_everything, engine), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    drop(&values);
}

/* Standard names of another BLAS in the same program, with another idea of their parameters. */
static int stranger_called;
void dgemm_(void);
void dgemm_(void) { ++stranger_called; }
void cblas_dgemm(void);
void cblas_dgemm(void) { ++stranger_called; }

static void test_BI_03_another_blas_in_the_program(void **state)
{
    (void)state;
    matrix a = matrix_of(TNR_F64, 2, LIST(2, 2), (const double[]){1, 2, 3, 4});
    matrix b = matrix_of(TNR_F64, 2, LIST(2, 2), (const double[]){5, 6, 7, 8});
    matrix c = matrix_of(TNR_F64, 2, LIST(2, 2), NULL);
    catalogue_ok(tnr_matmul_into(engine, &a.view.view, &b.view.view, NULL, &c.view), "product");
    expect_f64(&c, 4, (const double[]){19, 43, 22, 50});
    assert_true(product_of_ones(64)); /* through the library that was linked, if any */
    assert_int_equal(stranger_called, 0);
    drop(&a);
    drop(&b);
    drop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ER_05_shifted_output_is_refused_before_the_first_write),
        cmocka_unit_test(test_ER_03_axis_lists_are_validated_first),
        cmocka_unit_test(test_PA_09_outputs_outlive_their_engine),
        cmocka_unit_test(test_CU_01_device_memory_never_reaches_a_host_loop),
        cmocka_unit_test(test_BI_01_floating_point_state_is_the_callers),
        cmocka_unit_test(test_BI_03_another_blas_in_the_program),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
