/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded builds have no environment: the cap of a pool that states none is the default. */
#include "pool_internal.h"

tnr_status tnri_pool_environment(uint64_t *max_bytes)
{
    *max_bytes = TNR_POOL_DEFAULT_MAX_BYTES;
    return TNR_OK;
}
