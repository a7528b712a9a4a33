/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds without contractions: nothing is planned, and no cache is made, whatever its size would be. */
#include "recipe_internal.h"

uint64_t tnri_plan_cache_bytes(uint64_t wanted)
{
    (void)wanted;
    return 0;
}

struct tnri_plan_cache *tnri_plan_cache_make(void *block, uint64_t bytes)
{
    (void)block;
    (void)bytes;
    return NULL;
}
