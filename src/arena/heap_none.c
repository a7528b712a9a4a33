/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded builds have no heap: everything lives in arenas. */
#include "arena.h"

bool tnri_is_heap(const tnr_domain *domain)
{
    (void)domain;
    return false;
}

tnr_status tnr_heap_create(tnr_domain **heap)
{
    (void)heap;
    return tnri_fail(TNR_ERR_UNSUPPORTED, "heap_create: this build is bounded; use tnr_arena_create");
}
