/* SPDX-License-Identifier: BSD-3-Clause */
/* alpha and beta of products: what is not read, what is not multiplied, and what becomes of no products at all. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/matrix.h"

/* Scalars are of the dtype: what vanishes there is 0, and neither operands nor the target are read for it. */
static void test_scalars_that_vanish_are_zeros(void **state)
{
    (void)state;
    static const tnr_dtype dtypes[] = {TNR_F32, TNR_C32};
    for (size_t d = 0; d < 2; ++d) {
        matrix poison = matrix_of(dtypes[d], 2, LIST(2, 2), NULL);
        matrix c = matrix_of(dtypes[d], 2, LIST(2, 2), NULL);
        for (int64_t i = 0; i < 4; ++i) {
            put(dtypes[d], poison.data, i, (double)NAN, (double)NAN);
            put(dtypes[d], c.data, i, (double)NAN, (double)NAN);
        }
        tnr_product_options options = TNR_PRODUCT_OPTIONS;
        options.alpha.re = 1e-60;
        options.beta.re = 1e-60;
        catalogue_ok(tnr_matmul_into(engine, &poison.view.view, &poison.view.view, &options, &c.view), "both vanish");
        for (int64_t i = 0; i < 4; ++i) {
            assert_true(holds(dtypes[d], c.data, i, 0.0, 0.0));
        }
        drop(&poison);
        drop(&c);
    }
}

/* beta 1 adds to what is there: an infinity with an imaginary part of 0 stays one, by every way a product goes. */
static void test_beta_one_leaves_infinities_alone(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{3, 3, 3}, {40, 1, 30}, {40, 30, 600}, {3, 2, 0}};
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
            for (int zero = 0; zero < 2; ++zero) {
                const int64_t m = sizes[s][0];
                const int64_t n = sizes[s][1];
                const int64_t k = sizes[s][2];
                matrix a = matrix_of((tnr_dtype)dtype, 2, LIST(m, k), NULL);
                matrix b = matrix_of((tnr_dtype)dtype, 2, LIST(k, n), NULL);
                matrix c = matrix_of((tnr_dtype)dtype, 2, LIST(m, n), NULL);
                for (int64_t i = 0; i < m * k; ++i) {
                    put((tnr_dtype)dtype, a.data, i, 1.0, 0.0);
                }
                for (int64_t i = 0; i < k * n; ++i) {
                    put((tnr_dtype)dtype, b.data, i, 1.0, 0.0);
                }
                for (int64_t i = 0; i < m * n; ++i) {
                    put((tnr_dtype)dtype, c.data, i, (double)INFINITY, 0.0);
                }
                tnr_product_options options = TNR_PRODUCT_OPTIONS;
                options.alpha.re = zero != 0 ? 0.0 : 0.5;
                options.beta.re = 1.0;
                catalogue_ok(tnr_matmul_into(engine, &a.view.view, &b.view.view, &options, &c.view), "product");
                for (int64_t i = 0; i < m * n; ++i) {
                    assert_true(holds((tnr_dtype)dtype, c.data, i, (double)INFINITY, 0.0));
                }
                drop(&a);
                drop(&b);
                drop(&c);
            }
        }
    }
}

/* Neither is what is added to it, where alpha is 1. */
static void test_alpha_one_leaves_infinite_sums_alone(void **state)
{
    (void)state;
    static const tnr_dtype dtypes[] = {TNR_F64, TNR_C64};
    for (size_t d = 0; d < 2; ++d) {
        matrix a = matrix_of(dtypes[d], 2, LIST(3, 2), NULL);
        matrix b = matrix_of(dtypes[d], 2, LIST(2, 3), NULL);
        matrix c = matrix_of(dtypes[d], 2, LIST(3, 3), NULL);
        for (int64_t i = 0; i < 6; ++i) {
            put(dtypes[d], a.data, i, DBL_MAX, 0.0);
            put(dtypes[d], b.data, i, 1.0, 0.0);
        }
        tnr_product_options options = TNR_PRODUCT_OPTIONS;
        options.beta.re = 1.0;
        catalogue_ok(tnr_matmul_into(engine, &a.view.view, &b.view.view, &options, &c.view), "product");
        for (int64_t i = 0; i < 9; ++i) {
            assert_true(holds(dtypes[d], c.data, i, (double)INFINITY, 0.0));
        }
        drop(&a);
        drop(&b);
        drop(&c);
    }
}

/* Of no products alpha is not looked at, and a target is kept as it is, or multiplied, with the sign of its zeros. */
static void test_without_products_beta_is_all(void **state)
{
    (void)state;
    static const double betas[] = {0.0, 1.0, 2.0};
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        for (size_t i = 0; i < sizeof betas / sizeof betas[0]; ++i) {
            matrix a = matrix_of((tnr_dtype)dtype, 2, LIST(2, 0), NULL);
            matrix b = matrix_of((tnr_dtype)dtype, 2, LIST(0, 2), NULL);
            matrix c = matrix_of((tnr_dtype)dtype, 2, LIST(2, 2), NULL);
            for (int64_t e = 0; e < 4; ++e) {
                put((tnr_dtype)dtype, c.data, e, betas[i] == 0.0 ? (double)NAN : -0.0, -0.0);
            }
            tnr_product_options options = TNR_PRODUCT_OPTIONS;
            options.alpha.re = (double)NAN;
            options.beta.re = betas[i];
            catalogue_ok(tnr_matmul_into(engine, &a.view.view, &b.view.view, &options, &c.view), "no products");
            const bool real = tnr_dtype_real((tnr_dtype)dtype) == (tnr_dtype)dtype;
            for (int64_t e = 0; e < 4; ++e) {
                assert_true(holds((tnr_dtype)dtype, c.data, e, 0.0, 0.0));
                const double re = tnr_dtype_real((tnr_dtype)dtype) == TNR_F32
                                      ? (double)((const float *)c.data)[real ? e : 2 * e]
                                      : ((const double *)c.data)[real ? e : 2 * e];
                if (real || betas[i] < 2.0) { /* a complex product of zeros adds two of them */
                    assert_true((signbit(re) != 0) == (betas[i] != 0.0));
                }
            }
            drop(&a);
            drop(&b);
            drop(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_that_vanish_are_zeros),
        cmocka_unit_test(test_beta_one_leaves_infinities_alone),
        cmocka_unit_test(test_alpha_one_leaves_infinite_sums_alone),
        cmocka_unit_test(test_without_products_beta_is_all),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
