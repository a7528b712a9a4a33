/* SPDX-License-Identifier: BSD-3-Clause */
/* BLIS is not built in. */
#include "product_internal.h"

const tnri_product_table *tnri_product_blis(const tnri_product_table *own, bool *native)
{
    (void)own;
    (void)native;
    return NULL;
}
