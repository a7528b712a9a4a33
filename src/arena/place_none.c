/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded builds, and systems whose calls we do not know: nothing can be asked. */
#include <errno.h>

#include "place_internal.h"

int tnri_place_affinity(tnr_cpu_set *set)
{
    (void)set;
    return ENOSYS;
}

bool tnri_place_membind(tnr_node_set *set)
{
    (void)set;
    return false;
}

uint64_t tnri_place_page_bytes(void) { return 4096; }

uint64_t tnri_place_huge_bytes(void) { return 0; }

int tnri_place_locate(uint64_t count, void **addresses, int *nodes)
{
    (void)count;
    (void)addresses;
    (void)nodes;
    return ENOSYS;
}

void tnri_place_advise_huge(void *address, uint64_t bytes)
{
    (void)address;
    (void)bytes;
}
