/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds without matrix products and contractions: engines have no kernels of products. */
#include "product_internal.h"

tnr_status tnri_product_source_take(const char *op, tnr_product_source source, tnri_isa isa,
                                    const tnri_product_table **products)
{
    (void)op;
    (void)source;
    (void)isa;
    *products = NULL;
    return TNR_OK;
}

const char *tnri_product_source_name(const tnri_product_table *products)
{
    (void)products;
    return "off";
}
