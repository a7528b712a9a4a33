/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that are never used twice, and the process part that makes a domain's number unique in a job. The process part is
 * added when an identity is asked for, so that domains made before an MPI world is attached have it too.
 */
#include "arena.h"

static TNRI_ATOMIC(uint64_t) this_process;

tnr_status tnri_mint_serial(const char *op, TNRI_ATOMIC(uint64_t) * last, uint64_t *serial)
{
    uint64_t seen = atomic_load_explicit(last, memory_order_relaxed);
    do {
        TNR_REQUIRE(seen != UINT64_MAX, TNR_ERR_OVERFLOW, "%s: all serial numbers of this process are used up", op);
    } while (!atomic_compare_exchange_weak_explicit(last, &seen, seen + 1, memory_order_relaxed, memory_order_relaxed));
    *serial = seen + 1;
    return TNR_OK;
}

tnr_domain_id tnri_identity_of(uint64_t serial)
{
    const tnr_domain_id none = {0, 0};
    const tnr_domain_id id = {atomic_load_explicit(&this_process, memory_order_relaxed), serial};
    return serial != 0 ? id : none;
}

tnr_status tnri_process_attach(const char *op, uint64_t process)
{
    uint64_t seen = 0;
    TNR_REQUIRE(atomic_compare_exchange_strong_explicit(&this_process, &seen, process, memory_order_relaxed,
                                                        memory_order_relaxed) ||
                    seen == process,
                TNR_ERR_ARGUMENT, "%s: this process is number %llu already, not %llu", op, TNRI_LLU(seen),
                TNRI_LLU(process));
    return TNR_OK;
}
