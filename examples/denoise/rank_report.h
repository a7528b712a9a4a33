/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the steps cost on each rank: planes, workers, time, the part of it spent waiting for neighbours, and what the ledgers say.
 */
#ifndef DENOISE_RANK_REPORT_H
#define DENOISE_RANK_REPORT_H

#include "rank_slab.h"

typedef struct rank_work {
    long steps;
    double elapsed;
    double waited;
    uint64_t tensors; /* made, in the heap and in the slab's memory */
    uint64_t copies;  /* there: the planes that came in */
    uint64_t blocks;  /* taken from the heap */
} rank_work;

/* What was made, copied and taken until now. */
TNR_MUST_CHECK tnr_status rank_report_count(tnr_domain *heap, const rank_slab *slab, rank_work *work);

/* Collective. Rank 0 prints two tables: what each rank was given, and what it did. */
TNR_MUST_CHECK tnr_status rank_report_print(const tnr_share *share, const rank_slab *slab, const rank_work *work);

#endif /* DENOISE_RANK_REPORT_H */
