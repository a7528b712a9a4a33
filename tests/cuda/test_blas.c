/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cuBLAS an engine has: one that was named is used or its products are errors; one that was looked for may be missing. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "scene.h"

/* N * N * N multiplications are cuBLAS's, of 8 * 8 * 8 the library's. */
enum { N = 40, SMALL = 8 };

typedef struct products {
    stage of;
    tnr_tensor *a;
    tnr_tensor *out;
    tnr_view large;
    tnr_view small;
    tnr_view_mut into;
} products;

static void products_begin(products *p, const char *cublas)
{
    tnr_cuda_engine_options options = TNR_CUDA_ENGINE_OPTIONS;
    const double value = 0.5;
    tnr_tensor *host = NULL;
    options.cublas = cublas;
    stage_begin(&p->of, 1, &options);
    p->a = NULL;
    p->out = NULL;
    OK(tnr_tensor_full(p->of.s.heap, TNR_F64, 2, SHAPE(N, N), &value, &host));
    tnr_view view = view_of(host);
    OK(tnr_cuda_upload(p->of.s.lane[0], &view, p->of.s.domain[TNR_CUDA_POOL], &p->a));
    OK(tnr_cuda_upload(p->of.s.lane[0], &view, p->of.s.domain[TNR_CUDA_POOL], &p->out));
    release(&host);
    p->large = view_of(p->a);
    p->into = view_mut_of(p->out);
    OK(tnr_tensor_region(p->a, 2, SHAPE(SMALL, SMALL), SHAPE(1, N), 0, &p->small));
}

static void products_end(products *p)
{
    release(&p->a);
    release(&p->out);
    stage_end(&p->of);
}

/* All of a matrix on the device has this value. */
static void expect_all(const products *p, const tnr_view *away, double value)
{
    tnr_tensor *down = NULL;
    const void *data = NULL;
    OK(tnr_cuda_download(p->of.s.lane[1], away, p->of.s.heap, &down));
    OK(tnr_tensor_host_data(down, &data));
    for (int64_t at = 0; at < away->shape[0] * away->shape[1]; at++) {
        assert_true(((const double *)data)[at] == value);
    }
    release(&down);
}

static void expect_product(products *p, const char *blas)
{
    tnr_engine_info info;
    OK(tnr_matmul_into(p->of.engine, &p->large, &p->large, NULL, &p->into));
    expect_all(p, &p->into.view, N * 0.25);
    OK(tnr_engine_describe(p->of.engine, &info));
    assert_string_equal(info.blas, blas);
}

/* Refused each time, and nothing is changed; what is not for cuBLAS goes on. */
static void expect_refused(products *p, const char *names, const char *why)
{
    for (int round = 0; round < 2; round++) {
        tnr_tensor *made = NULL;
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_matmul(p->of.engine, &p->large, &p->large, NULL, &made));
        TEXT_HAS(names);
        TEXT_HAS(why);
        assert_null(made);
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_matmul_into(p->of.engine, &p->large, &p->large, NULL, &p->into));
        expect_all(p, &p->into.view, 0.5);
        OK(tnr_matmul(p->of.engine, &p->small, &p->small, NULL, &made));
        const tnr_view view = view_of(made);
        expect_all(p, &view, SMALL * 0.25);
        release(&made);
    }
    assert_int_equal(scene_counts(&p->of.s).blas_products, 0);
}

static void named_and_missing(void **state)
{
    (void)state;
    products p;
    products_begin(&p, "/nowhere/libcublas.so.99");
    expect_refused(&p, "options.cublas", "/nowhere/libcublas.so.99: cannot open");
    products_end(&p);
    products_begin(&p, NULL);
    assert_int_equal(setenv("TENURE_CUBLAS", "/nowhere/libcublas.so.98", 1), 0);
    expect_refused(&p, "TENURE_CUBLAS", "/nowhere/libcublas.so.98: cannot open");
    if (scene_fake() != NULL) { /* asked anew each time */
        assert_int_equal(setenv("TENURE_CUBLAS", scene_driver(), 1), 0);
        expect_product(&p, "cublas");
    }
    assert_int_equal(unsetenv("TENURE_CUBLAS"), 0);
    products_end(&p);
}

static void named_and_another(void **state)
{
    (void)state;
    products p;
    products_begin(&p, "libm.so.6");
    expect_refused(&p, "\"libm.so.6\"", "cublasCreate_v2");
    products_end(&p);
}

static void named_and_unwilling(void **state)
{
    (void)state;
    NEEDS_FAKE();
    static const char *const entries[] = {"cublasCreate_v2", "cublasSetStream_v2", "cublasSetWorkspace_v2",
                                          "cublasSetMathMode"};
    for (int at = 0; at < 4; at++) {
        products p;
        products_begin(&p, scene_driver());
        scene_fake()->fail_entry = entries[at];
        scene_fake()->fail_code = 8;
        scene_fake()->fail_at = 1;
        scene_fake()->fail_for_ever = true;
        expect_refused(&p, "options.cublas", entries[at]);
        TEXT_HAS("status 8");
        scene_fake()->fail_at = 0;
        expect_product(&p, "cublas");
        products_end(&p);
    }
}

/* Want of memory is that, and passes. */
static void no_memory_once(void **state)
{
    (void)state;
    NEEDS_FAKE();
    static const char *const entries[] = {"cublasCreate_v2", "cublasSetWorkspace_v2"};
    for (int at = 0; at < 4; at++) { /* named, and found by the environment */
        products p;
        tnr_tensor *made = NULL;
        assert_int_equal(setenv("TENURE_CUBLAS", scene_driver(), 1), 0);
        products_begin(&p, at < 2 ? scene_driver() : NULL);
        scene_fake()->fail_entry = entries[at % 2];
        scene_fake()->fail_code = 3;
        scene_fake()->fail_at = 1;
        EXPECT(TNR_ERR_MEMORY, tnr_matmul(p.of.engine, &p.large, &p.large, NULL, &made));
        TEXT_HAS(entries[at % 2]);
        assert_null(made);
        expect_product(&p, "cublas");
        assert_int_equal(scene_counts(&p.of.s).products, 0);
        products_end(&p);
        assert_int_equal(unsetenv("TENURE_CUBLAS"), 0);
    }
}

/* Neither named nor of use, or not wanted: the library's kernel, and the engine says so. */
static void without(void **state)
{
    (void)state;
    products p;
    products_begin(&p, "off");
    expect_product(&p, "own");
    assert_int_equal(scene_counts(&p.of.s).products, 1);
    products_end(&p);
    products_begin(&p, NULL);
    assert_int_equal(setenv("TENURE_CUBLAS", "off", 1), 0);
    expect_product(&p, "own");
    assert_int_equal(unsetenv("TENURE_CUBLAS"), 0);
    products_end(&p);
    if (scene_fake() != NULL) { /* a real cuBLAS, if there is one, finds no driver beside the fake */
        products_begin(&p, NULL);
        expect_product(&p, "own");
        products_end(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_and_missing), cmocka_unit_test(named_and_another), cmocka_unit_test(named_and_unwilling),
        cmocka_unit_test(no_memory_once),    cmocka_unit_test(without),
    };
    (void)unsetenv("TENURE_CUBLAS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
