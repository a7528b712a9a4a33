/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds without worker threads: bounded ones, and systems on which threads cannot be pinned. Every piece runs on the calling
 * thread, in order, and engines have no team, whatever topology they are given.
 */
#include "team_internal.h"

tnr_status tnri_team_need(const tnr_topology *topology, const tnr_cpu_set *cpus, uint64_t *bytes)
{
    (void)topology;
    (void)cpus;
    *bytes = 0;
    return TNR_OK;
}

tnr_status tnri_team_start(const char *op, void *block, const tnr_topology *topology, const tnr_cpu_set *cpus,
                           tnri_team **team)
{
    (void)block;
    (void)topology;
    (void)cpus;
    (void)team;
    return tnri_fail(TNR_ERR_UNSUPPORTED, "%s: this build has no worker threads", op);
}

void tnri_team_stop(tnri_team *team) { (void)team; }

int tnri_team_lanes(const tnri_team *team)
{
    (void)team;
    return 1;
}

bool tnri_team_threads(const tnri_team *team)
{
    (void)team;
    return false;
}

const tnr_cpu_set *tnri_team_cpus(const tnri_team *team)
{
    (void)team;
    return NULL;
}

int tnri_engine_lanes(const tnr_engine *engine, uint64_t nanoseconds)
{
    (void)engine;
    (void)nanoseconds;
    return 1;
}

void tnri_engines_run(int count, const tnri_engine_share *shares, tnri_task task)
{
    for (int i = 0; i < count; ++i) {
        tnri_engine_run(shares[i].engine, 1, shares[i].pieces, task, shares[i].context);
    }
}

void tnri_engine_run(tnr_engine *engine, int lanes, int64_t pieces, tnri_task task, void *context)
{
    (void)engine;
    (void)lanes;
    for (int64_t piece = 0; piece < pieces; ++piece) {
        task(context, piece);
    }
}
