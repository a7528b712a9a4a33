/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of blocks for domains whose class keeps none: the heap's and programs' own. */
#include "arena.h"

void tnri_tally_take(tnri_tally *tally, uint64_t bytes)
{
    tnri_lock_take(&tally->lock);
    tally->blocks++;
    tally->bytes += bytes;
    tally->peak_bytes = tnri_max_u64(tally->peak_bytes, tally->bytes);
    tally->allocations++;
    tnri_lock_give(&tally->lock);
}

void tnri_tally_give(tnri_tally *tally, uint64_t bytes)
{
    tnri_lock_take(&tally->lock);
    tally->blocks--;
    tally->bytes -= bytes;
    tnri_lock_give(&tally->lock);
}

void tnri_tally_failure(tnri_tally *tally)
{
    tnri_lock_take(&tally->lock);
    tally->failures++;
    tnri_lock_give(&tally->lock);
}

void tnri_tally_report(tnri_tally *tally, tnr_domain_statistics *statistics)
{
    tnri_lock_take(&tally->lock);
    statistics->blocks = tally->blocks;
    statistics->bytes = tally->bytes;
    statistics->peak_bytes = tally->peak_bytes;
    statistics->allocations = tally->allocations;
    statistics->failures = tally->failures;
    tnri_lock_give(&tally->lock);
}
