/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products in little code, for small builds: what product.c, its blocks and its kernels do, one element of the result after another.
 *
 * Every element is the sum over k in order. Nothing is packed and no scratch is taken, whatever the layouts.
 */
#include "kernels/arithmetic.inl.h"
#include "product_internal.h"

/* Where a walk over a group is, in elements of each operand. */
typedef struct place {
    int64_t index[TNRI_PRODUCT_RANK];
    int64_t a, b, c;
} place;

/* On to the next index of a group; false, and back at the first, after the last. */
static bool step(const tnri_product_axes *axes, place *at)
{
    for (int i = 0; i < axes->rank; ++i) {
        at->a += axes->a[i];
        at->b += axes->b[i];
        at->c += axes->c[i];
        if (++at->index[i] < axes->extents[i]) {
            return true;
        }
        at->index[i] = 0;
        at->a -= axes->a[i] * axes->extents[i];
        at->b -= axes->b[i] * axes->extents[i];
        at->c -= axes->c[i] * axes->extents[i];
    }
    return false;
}

#define TEMPLATE "product_small.tmpl.h"
#define DTYPES DTYPES_FLOAT
#include "kernels/each_dtype.inl.h"

typedef void (*element_kernel)(const tnri_finish *finish, const tnri_product_axes *k, const char *a, const char *b,
                               char *c);
static const element_kernel kernels[TNR_DTYPE_END] = FLOAT_TABLE(element);

const tnri_product_kernel *tnri_product_kernel_of(tnri_isa isa, tnr_dtype dtype)
{
    (void)isa;
    (void)dtype;
    return NULL;
}

uint64_t tnri_product_bytes(const tnri_product_kernel *kernel, tnr_dtype dtype, int64_t m, int64_t n, int64_t k,
                            int lanes)
{
    (void)kernel;
    (void)dtype;
    (void)m;
    (void)n;
    (void)k;
    (void)lanes;
    return 0;
}

tnr_status tnri_product_run(tnr_engine *engine, tnri_product *product)
{
    (void)engine;
    const int64_t width = (int64_t)tnr_dtype_size(product->dtype);
    const bool nothing = product->k.size == 0 || (product->finish.alpha.re == 0.0 && product->finish.alpha.im == 0.0);
    place batch = {{0}, 0, 0, 0};
    do {
        place column = {{0}, batch.a, batch.b, batch.c};
        do {
            place row = {{0}, column.a, column.b, column.c};
            do {
                kernels[product->dtype](&product->finish, nothing ? NULL : &product->k,
                                        nothing ? NULL : (const char *)product->a + row.a * width,
                                        nothing ? NULL : (const char *)product->b + row.b * width,
                                        (char *)product->c + row.c * width);
            } while (step(&product->m, &row));
        } while (step(&product->n, &column));
    } while (step(&product->batch, &batch));
    return TNR_OK;
}
