/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products in little code, for small builds: what product.c, its blocks and its kernels do, one element of the result after another.
 *
 * Every element is the sum over k in order, of reals with one rounding per step where there is an instruction for that
 * (fused.inl.h). Nothing is packed and no scratch is taken, whatever the layouts.
 */
#include "kernels/arithmetic.inl.h"
#include "kernels/fused.inl.h"
#include "product_internal.h"
#include "team_internal.h"

#define TEMPLATE "product_small.tmpl.h"
#define DTYPES DTYPES_FLOAT
#include "kernels/each_dtype.inl.h"

typedef void (*element_kernel)(const tnri_finish *finish, const tnri_product_axes *k, const char *a, const char *b,
                               char *c);
static const element_kernel kernels[TNR_DTYPE_END] = FLOAT_TABLE(element);

uint64_t tnri_product_bytes(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, int lanes)
{
    (void)dtype;
    (void)m;
    (void)n;
    (void)k;
    (void)lanes;
    return 0;
}

uint64_t tnri_product_scratch(const tnri_product *product, int lanes)
{
    (void)product;
    (void)lanes;
    return 0;
}

tnr_status tnri_product_source_take(const char *op, tnr_product_source source, tnri_isa isa,
                                    const tnri_product_table **products)
{
    (void)isa;
    TNR_REQUIRE(source == TNR_PRODUCTS_AUTOMATIC || source == TNR_PRODUCTS_OWN, TNR_ERR_UNSUPPORTED,
                "%s: this build has its own products alone", op);
    *products = NULL;
    return TNR_OK;
}

const char *tnri_product_source_name(const tnri_product_table *products)
{
    (void)products;
    return "own";
}

void tnri_product_prepare(const tnr_engine *engine, tnri_product *product)
{
    (void)engine;
    product->turned = false;
    product->kernel = NULL;
    product->way = TNRI_PRODUCT_ITEMS;
    if (product->m.size == 0 || product->n.size == 0 || product->batch.size == 0) {
        product->way = TNRI_PRODUCT_NOTHING;
    } else if (product->k.size == 0 || product->finish.nothing) {
        product->way = TNRI_PRODUCT_SCALE;
    }
}

bool tnri_product_run_at_once(const tnr_engine *engine, tnr_dtype dtype, const tnri_gemm *gemm)
{
    (void)engine;
    (void)dtype;
    (void)gemm;
    return false;
}

tnr_status tnri_product_run(tnr_engine *engine, tnri_product *product, const void *a, const void *b, void *c)
{
    if (tnri_is_device(engine)) {
        return tnri_product_run_on_device(engine, product, a, b, c);
    }
    (void)engine;
    const int64_t width = (int64_t)tnr_dtype_size(product->dtype);
    const bool nothing = product->way == TNRI_PRODUCT_SCALE;
    if (product->way == TNRI_PRODUCT_NOTHING) {
        return TNR_OK;
    }
    tnri_product_place batch = {.a = 0};
    do {
        tnri_product_place column = {batch.a, batch.b, batch.c, {0}};
        do {
            tnri_product_place row = {column.a, column.b, column.c, {0}};
            do {
                kernels[product->dtype](&product->finish, nothing ? NULL : &product->k,
                                        nothing ? NULL : (const char *)a + row.a * width,
                                        nothing ? NULL : (const char *)b + row.b * width, (char *)c + row.c * width);
            } while (tnri_product_step_on(&product->m, &row));
        } while (tnri_product_step_on(&product->n, &column));
    } while (tnri_product_step_on(&product->batch, &batch));
    return TNR_OK;
}

tnr_status tnri_product_run_by(const tnri_company *company, tnri_product *product, const void *a, const void *b,
                               void *c)
{
    return tnri_product_run(company->engines[0], product, a, b, c);
}
