/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Minting of domain serials: one counter per process, checked, never reused. The process part is 0 here; an MPI world sets
 * it later.
 */
#include "arena.h"

static _Atomic uint64_t last_serial;

tnr_status tnri_mint_domain_id(tnr_domain_id *id)
{
    uint64_t last = atomic_load_explicit(&last_serial, memory_order_relaxed);
    do {
        TNR_REQUIRE(last != UINT64_MAX, TNR_ERR_OVERFLOW, "domain: all serial numbers of this process are used up");
    } while (!atomic_compare_exchange_weak_explicit(&last_serial, &last, last + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    id->process = 0;
    id->serial = last + 1;
    return TNR_OK;
}
