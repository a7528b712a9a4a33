/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of examples/hosvd: eigenvectors of matrices that are known, the decomposition of views of any layout, the bound that a wrong
 * error does not keep, and what is left when a domain has no room: nothing.
 */
#include <math.h>

#include "support/storage_test.h"

#include "../../examples/hosvd/eigen.h"
#include "../../examples/hosvd/tucker.h"
#include "support/counted_parent.h"

typedef struct fixture {
    tnr_domain *heap;
    tnr_domain *output; /* the engine's, over `counts` */
    tnr_engine *engine;
    counted_parent counts;
} fixture;

static int set_up(void **state)
{
    fixture *const f = calloc(1, sizeof *f);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    if (f == NULL || tnr_heap_create(&f->heap) != TNR_OK ||
        counted_create(f->heap, &f->counts, TNR_ACCESS_DIRECT, &f->output) != TNR_OK) {
        return -1;
    }
    options.output = f->output;
    *state = f;
    return tnr_engine_create(f->heap, &options, &f->engine) == TNR_OK ? 0 : -1;
}

/* Domains close only when every tensor was given back. */
static int tear_down(void **state)
{
    fixture *const f = *state;
    if (tnr_engine_destroy(&f->engine) != TNR_OK || tnr_domain_close(&f->output) != TNR_OK ||
        tnr_domain_close(&f->heap) != TNR_OK || f->counts.faults != 0 || f->counts.out != 0) {
        return -1;
    }
    free(f);
    return 0;
}

static double *data_of(tnr_tensor *tensor)
{
    void *data = NULL;
    OK(tnr_tensor_host_data_mut(tensor, &data));
    return data;
}

/* ---- Eigenvectors --------------------------------------------------------------------------------------------------- */

/* The second difference of n points: eigenvalues 2 - 2 cos(pi k / (n + 1)). */
static void eigenvectors_of_the_second_difference(void **state)
{
    fixture *const f = *state;
    enum { N = 40 };
    tnr_tensor *matrix = NULL;
    tnr_tensor *values = NULL;
    OK(tnr_tensor_zeros(f->heap, TNR_F64, 2, SHAPE(N, N), &matrix));
    double *a = data_of(matrix);
    for (int i = 0; i < N; i++) {
        a[i + N * i] = 2.0;
        if (i + 1 < N) {
            a[i + 1 + N * i] = -1.0;
            a[i + N * (i + 1)] = -1.0;
        }
    }
    OK(eigen_symmetric(f->output, matrix, &values));
    const double *const found = data_of(values);
    for (int k = 0; k < N; k++) {
        const double expected = 2.0 - 2.0 * cos(3.14159265358979323846 * (k + 1) / (N + 1));
        assert_true(fabs(found[k] - expected) < 1e-14 * N);
        double length = 0.0;
        for (int i = 0; i < N; i++) {
            const double *const v = a + (ptrdiff_t)N * k;
            const double product = 2.0 * v[i] - (i > 0 ? v[i - 1] : 0.0) - (i + 1 < N ? v[i + 1] : 0.0);
            assert_true(fabs(product - expected * v[i]) < 1e-14 * N);
            length += v[i] * v[i];
        }
        assert_true(fabs(length - 1.0) < 1e-14 * N);
    }
    assert_int_equal(f->counts.out, 1); /* the values: what LAPACK worked in went back */
    OK(tnr_tensor_release(&values));
    OK(tnr_tensor_release(&matrix));
}

static void eigenvectors_of_what_is_no_matrix(void **state)
{
    fixture *const f = *state;
    tnr_tensor *wrong = NULL;
    tnr_tensor *values = untouched();
    OK(tnr_tensor_zeros(f->heap, TNR_F64, 2, SHAPE(3, 4), &wrong));
    EXPECT(TNR_ERR_SHAPE, eigen_symmetric(f->output, wrong, &values));
    OK(tnr_tensor_release(&wrong));
    OK(tnr_tensor_zeros(f->heap, TNR_F32, 2, SHAPE(3, 3), &wrong));
    EXPECT(TNR_ERR_SHAPE, eigen_symmetric(f->output, wrong, &values));
    OK(tnr_tensor_release(&wrong));
    EXPECT(TNR_ERR_ARGUMENT, eigen_symmetric(f->output, NULL, &values));
    assert_ptr_equal(values, untouched());
    assert_int_equal(f->counts.out, 0);
}

/* ---- Decompositions --------------------------------------------------------------------------------------------------- */

static tnr_tensor *make_volume(fixture *f, const int64_t shape[3])
{
    tnr_tensor *volume = NULL;
    OK(tnr_tensor_zeros(f->heap, TNR_F64, 3, shape, &volume));
    double *data = data_of(volume);
    uint64_t random = 7;
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        data[i] = (double)(random >> 40) / 16777216.0;
    }
    return volume;
}

/* Decompose, make again, and hold the difference against the bound. */
static void check_view(fixture *f, const tnr_view *volume, bool sequential, double error, const int64_t *ranks)
{
    tucker t;
    tnr_tensor *rebuilt = NULL;
    tnr_contraction_path path;
    tucker_cost cost;
    double difference = 0.0;
    OK(tucker_decompose(f->engine, NULL, volume, sequential, error, ranks, &t));
    OK(tucker_rebuild(&t, &rebuilt, &path, &cost));
    tnr_view_mut all;
    OK(tnr_tensor_view_mut(rebuilt, &all));
    assert_memory_equal(all.view.shape, volume->shape, 3 * sizeof(int64_t));
    OK(tnr_sub_into(f->engine, &all.view, volume, &all));
    OK(tucker_norm(f->engine, &all.view, &difference));
    const tucker_bound bound = tucker_bound_of(&t);
    assert_true(bound.rounding > 0.0 && bound.rounding < 1e-11 * t.norm * t.norm);
    assert_true(tucker_bound_holds(&bound, difference * difference));
    assert_false(tucker_bound_holds(&bound, bound.most + 2.0 * bound.rounding));
    assert_true(bound.least <= 2.0 * bound.rounding || !tucker_bound_holds(&bound, bound.least - 2.0 * bound.rounding));
    if (ranks == NULL) {
        assert_true(difference <= error * t.norm);
    }
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        assert_true(ranks == NULL || t.mode[mode].rank == ranks[mode]);
        assert_int_equal(t.mode[mode].factor.shape[0], volume->shape[mode]);
        assert_int_equal(t.mode[mode].factor.shape[1], t.mode[mode].rank);
    }
    OK(tnr_tensor_release(&rebuilt));
    tucker_release(&t);
    assert_int_equal(f->counts.out, 0);
}

static void any_layout_and_both_methods(void **state)
{
    fixture *const f = *state;
    tnr_tensor *volume = make_volume(f, SHAPE(12, 9, 14));
    const tnr_view all = view_of(volume);
    tnr_view turned;
    OK(tnr_view_permute(&all, (const int[]){2, 0, 1}, &turned)); /* 14 x 12 x 9 */
    OK(tnr_view_slice(&turned, (const tnr_range[]){{0, TNR_END, -1}, {1, 11, 3}, {0, TNR_END, 1}}, &turned));
    for (int method = 0; method < 2; method++) {
        check_view(f, &all, method == 0, 0.4, NULL);
        check_view(f, &all, method == 0, TUCKER_LEAST_ERROR, NULL);
        check_view(f, &all, method == 0, 0.0, SHAPE(3, 9, 1));
        check_view(f, &turned, method == 0, 0.4, NULL); /* 14 x 4 x 9 */
        check_view(f, &turned, method == 0, 0.0, SHAPE(14, 2, 8));
    }
    OK(tnr_tensor_release(&volume));
}

/* The sequential method leaves no more out than was allowed, and needs no more numbers than the plain one here. */
static void sequential_uses_what_earlier_modes_left(void **state)
{
    fixture *const f = *state;
    tnr_tensor *volume = make_volume(f, SHAPE(10, 10, 10));
    const tnr_view all = view_of(volume);
    tucker sequential;
    tucker plain;
    OK(tucker_decompose(f->engine, NULL, &all, true, 0.4, NULL, &sequential));
    OK(tucker_decompose(f->engine, NULL, &all, false, 0.4, NULL, &plain));
    assert_true(tucker_numbers(&sequential) <= tucker_numbers(&plain));
    assert_true(tucker_bound_of(&sequential).most <= 0.16 * sequential.norm * sequential.norm);
    tucker_release(&sequential);
    tucker_release(&plain);
    OK(tnr_tensor_release(&volume));
}

static void refusals(void **state)
{
    fixture *const f = *state;
    tnr_tensor *volume = make_volume(f, SHAPE(3, 4, 5));
    tnr_view view = view_of(volume);
    tnr_view plane;
    tucker t;
    OK(tnr_view_select(&view, 2, 0, &plane));
    EXPECT(TNR_ERR_SHAPE, tucker_decompose(f->engine, NULL, &plane, true, 0.1, NULL, &t));
    EXPECT(TNR_ERR_ARGUMENT, tucker_decompose(f->engine, NULL, &view, true, 1e-7, NULL, &t));
    EXPECT(TNR_ERR_ARGUMENT, tucker_decompose(f->engine, NULL, &view, true, 1.0, NULL, &t));
    EXPECT(TNR_ERR_ARGUMENT, tucker_decompose(f->engine, NULL, &view, true, (double)NAN, NULL, &t));
    EXPECT(TNR_ERR_ARGUMENT, tucker_decompose(f->engine, NULL, &view, true, 0.0, SHAPE(3, 5, 5), &t));
    EXPECT(TNR_ERR_ARGUMENT, tucker_decompose(f->engine, NULL, &view, true, 0.0, SHAPE(0, 4, 5), &t));
    data_of(volume)[7] = 1e200;
    EXPECT(TNR_ERR_NUMERIC, tucker_decompose(f->engine, NULL, &view, true, 0.1, NULL, &t));
    data_of(volume)[7] = (double)NAN;
    EXPECT(TNR_ERR_NUMERIC, tucker_decompose(f->engine, NULL, &view, true, 0.1, NULL, &t));
    tucker_release(&t);
    OK(tnr_tensor_release(&volume));
    EXPECT(TNR_ERR_STALE, tucker_decompose(f->engine, NULL, &view, true, 0.1, NULL, &t));
    assert_int_equal(f->counts.out, 0);
}

/* Every request for memory fails once: the status comes through, and nothing is left behind. */
static void no_room(void **state)
{
    fixture *const f = *state;
    tnr_tensor *volume = make_volume(f, SHAPE(5, 4, 6));
    const tnr_view all = view_of(volume);
    int failures = 0;
    for (;;) {
        tucker t;
        tnr_tensor *rebuilt = NULL;
        tnr_contraction_path path;
        tucker_cost cost;
        f->counts.calls = 0;
        f->counts.fail_at = (uint64_t)failures + 1;
        tnr_status status = tucker_decompose(f->engine, NULL, &all, true, 0.3, NULL, &t);
        if (status == TNR_OK) {
            status = tucker_rebuild(&t, &rebuilt, &path, &cost);
        }
        OK(tnr_tensor_release(&rebuilt));
        tucker_release(&t);
        assert_int_equal(f->counts.out, 0);
        if (status == TNR_OK) {
            break;
        }
        assert_int_equal(status, TNR_ERR_MEMORY);
        failures++;
    }
    assert_int_equal(failures, 1 + 3 * 5 + 1); /* norm; Gram matrix, values, work, integers, what is kept; the volume */
    OK(tnr_tensor_release(&volume));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(eigenvectors_of_the_second_difference, set_up, tear_down),
        cmocka_unit_test_setup_teardown(eigenvectors_of_what_is_no_matrix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_layout_and_both_methods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sequential_uses_what_earlier_modes_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_room, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("hosvd_parts", tests, NULL, NULL);
}
