/* SPDX-License-Identifier: BSD-3-Clause */
/* The ledger of a domain: what was allocated and copied there, by reason. Guarded by the lock of the home's slab. */
#include "arena.h"

void tnri_ledger_allocation(tnr_domain *domain, tnr_allocation_reason reason, uint64_t bytes)
{
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    domain->ledger.allocations[reason].count++;
    domain->ledger.allocations[reason].bytes += bytes;
    tnri_lock_give(lock);
}

void tnri_ledger_copy(tnr_domain *domain, tnr_copy_reason reason, uint64_t bytes)
{
    if (domain == NULL) {
        return;
    }
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    domain->ledger.copies[reason].count++;
    domain->ledger.copies[reason].bytes += bytes;
    tnri_lock_give(lock);
}

tnr_status tnr_ledger_get(tnr_domain *domain, tnr_ledger *ledger)
{
    TNR_REQUIRE(domain != NULL && ledger != NULL, TNR_ERR_ARGUMENT, "ledger_get: domain and ledger must not be NULL");
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    *ledger = domain->ledger;
    tnri_lock_give(lock);
    return TNR_OK;
}

static tnr_ledger_entry total_of(const tnr_ledger_entry *entries, int count)
{
    tnr_ledger_entry sum = {0, 0};
    for (int reason = 0; reason < count; reason++) {
        sum.count += entries[reason].count;
        sum.bytes += entries[reason].bytes;
    }
    return sum;
}

void tnr_ledger_total(const tnr_ledger *ledger, tnr_ledger_entry *allocations, tnr_ledger_entry *copies)
{
    const tnr_ledger_entry none = {0, 0};
    if (allocations != NULL) {
        *allocations = ledger != NULL ? total_of(ledger->allocations, TNR_ALLOCATION_REASON_END) : none;
    }
    if (copies != NULL) {
        *copies = ledger != NULL ? total_of(ledger->copies, TNR_COPY_REASON_END) : none;
    }
}

tnr_status tnr_ledger_reset(tnr_domain *domain)
{
    TNR_REQUIRE(domain != NULL, TNR_ERR_ARGUMENT, "ledger_reset: domain must not be NULL");
    tnri_lock *lock = &domain->home->slab.lock;
    tnri_lock_take(lock);
    memset(&domain->ledger, 0, sizeof(domain->ledger));
    tnri_lock_give(lock);
    return TNR_OK;
}
