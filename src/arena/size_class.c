/* SPDX-License-Identifier: BSD-3-Clause */
/* The public question about size classes; the arithmetic is in size_class_internal.h. */
#include "size_class_internal.h"

tnr_status tnr_pool_class_bytes(uint64_t bytes, uint64_t *class_bytes)
{
    TNR_REQUIRE(class_bytes != NULL, TNR_ERR_ARGUMENT, "pool_class_bytes: class_bytes must not be NULL");
    TNR_REQUIRE(bytes <= TNRI_CLASS_LARGEST, TNR_ERR_OVERFLOW,
                "pool_class_bytes: the size class of %llu bytes does not fit in 64 bits", TNRI_LLU(bytes));
    *class_bytes = bytes == 0 ? 0 : tnri_class_bytes(tnri_class_of(bytes));
    return TNR_OK;
}
