/* SPDX-License-Identifier: BSD-3-Clause */
/* See rank_report.h. */
#include "rank_report.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE_BYTES = 160, GIVEN_BYTES = 512 /* a rank's line of the first table, at most */ };

tnr_status rank_report_count(tnr_domain *heap, const rank_slab *slab, rank_work *work)
{
    tnr_domain *const domains[2] = {heap, slab->memory};
    tnr_domain_statistics statistics;
    work->tensors = 0;
    work->copies = 0;
    for (int i = 0; i < 2; i++) {
        tnr_ledger ledger;
        tnr_ledger_entry made;
        tnr_ledger_entry copied;
        const tnr_status status = tnr_ledger_get(domains[i], &ledger);
        if (status != TNR_OK) {
            return status;
        }
        tnr_ledger_total(&ledger, &made, &copied);
        work->tensors += made.count;
        work->copies += copied.count;
    }
    const tnr_status status = tnr_domain_statistics_get(heap, &statistics);
    work->blocks = status == TNR_OK ? statistics.allocations : 0;
    return status;
}

static void describe(const rank_slab *slab, const rank_work *work, char line[LINE_BYTES])
{
    tnr_engine_info engine = {.workers = 0};
    char planes[48] = "none";
    if (slab->planes > 0) {
        (void)snprintf(planes, sizeof planes, "%lld to %lld", (long long)slab->first,
                       (long long)(slab->first + slab->planes - 1));
    }
    (void)!tnr_engine_describe(slab->engine, &engine);
    (void)snprintf(line, LINE_BYTES, "%-6d %14s %8d %11.3f s %8.1f %% %8llu %8llu %8llu", tnr_world_rank(slab->world),
                   planes, engine.workers, work->elapsed / (double)work->steps,
                   work->elapsed > 0.0 ? 100.0 * work->waited / work->elapsed : 0.0, (unsigned long long)work->tensors,
                   (unsigned long long)work->blocks, (unsigned long long)work->copies);
}

tnr_status rank_report_print(const tnr_share *share, const rank_slab *slab, const rank_work *work)
{
    const int ranks = tnr_world_size(slab->world);
    const bool root = tnr_world_rank(slab->world) == 0;
    const size_t room = root ? (size_t)ranks * GIVEN_BYTES : 0;
    char *given = root ? calloc(room, 1) : NULL; /* text for people, no tensor */
    char line[LINE_BYTES];
    const tnr_status status = tnr_world_share_table(slab->world, share, 0, given, given != NULL ? room : 0);
    describe(slab, work, line);
    if (status == TNR_OK && !root) {
        (void)MPI_Send(line, LINE_BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    } else if (status == TNR_OK) {
        (void)printf("ranks\n%s", given != NULL ? given : "");
        (void)printf("rank           planes  workers  time per step  waiting  tensors   blocks   halos\n%s\n", line);
        for (int rank = 1; rank < ranks; rank++) {
            (void)MPI_Recv(line, LINE_BYTES, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            (void)printf("%s\n", line);
        }
    }
    free(given);
    return status;
}
