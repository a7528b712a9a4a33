/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an engine asks of its team: to be made, described and ended. Running work on it is in engine_internal.h. team.c,
 * team_call.c and team_worth.c have worker threads; team_inline.c stands for them where there are none.
 */
#ifndef TENURE_ENGINE_TEAM_INTERNAL_H
#define TENURE_ENGINE_TEAM_INTERNAL_H

#include "engine_internal.h"

/* ---- What is asked for (engine_options.c, engine_cpus.c) ------------------------------------------------------------------------------------- */

/* The defaults with what is given over them; TNR_ERR_ARGUMENT for what fits no topology. */
tnr_status tnri_engine_options_take(const char *op, const tnr_engine_options *options, tnr_engine_options *taken);

/* CPUs to work on, at least one, by options that name a topology. */
tnr_status tnri_engine_cpus(const char *op, const tnr_engine_options *options, tnr_cpu_set *cpus);

/* The first CPU of `from` in each core. All of `from` must be the topology's. */
tnr_status tnri_one_per_core(const tnr_topology *topology, const tnr_cpu_set *from, tnr_cpu_set *cpus);

/* The node near all of these CPUs, or TNR_NONE. */
tnr_status tnri_node_of_cpus(const tnr_topology *topology, const tnr_cpu_set *cpus, int *node);

/* No plan of the program's lives: TNR_ERR_BUSY. (engine.c) */
tnr_status tnri_engine_check_unused(const char *op, const tnr_engine *engine);

/* ---- The team (team.c; team_inline.c) ------------------------------------------------------------------------------------------ */

/* Bytes of the one block that a team on these CPUs lives in; 0: there are no teams here, and tnri_team_start is not called. */
tnr_status tnri_team_need(const tnr_topology *topology, const tnr_cpu_set *cpus, uint64_t *bytes);

/*
 * Make a team in a block of tnri_team_need: one worker pinned to each CPU of the set, each pin read back. No thread for a
 * team of one when the calling thread is bound to that CPU's core. TNR_ERR_BACKEND with the system's reason: no thread is left.
 */
tnr_status tnri_team_start(const char *op, void *block, const tnr_topology *topology, const tnr_cpu_set *cpus,
                           tnri_team **team);

/* End and join all threads; NULL is fine. In a forked child there are none. The block is the caller's again. */
void tnri_team_stop(tnri_team *team);

/* Lanes of a team, whether it has threads, and its CPUs. */
int tnri_team_lanes(const tnri_team *team);
bool tnri_team_threads(const tnri_team *team);
const tnr_cpu_set *tnri_team_cpus(const tnri_team *team);

/*
 * Most lanes that tnri_engine_lanes tells for an engine with so many workers; 0: one without a team. A single worker's caller may be
 * elsewhere, and then shares the work out to it: two.
 */
static inline int tnri_most_lanes(int workers) { return workers == 1 ? 2 : workers > 1 ? workers : 1; }

static inline int tnri_engine_most_lanes(const tnr_engine *engine)
{
    return tnri_most_lanes(engine->team == NULL ? 0 : tnri_team_lanes(engine->team));
}

/* ---- Several engines at one time (team_call.c; team_inline.c) ------------------------------------------------------------------ */

#define TNRI_ENGINES_AT_ONCE (TNRI_THREADS ? 8 : 1)

/* What one of them does of a task: as the parameters of tnri_engine_run. */
typedef struct tnri_engine_share {
    tnr_engine *engine;
    int lanes;
    int64_t pieces;
    void *context;
} tnri_engine_share;

/* Engines that make one thing together; the calling thread is inside of them all. */
typedef struct tnri_company {
    int count; /* 1 at least */
    tnr_engine *engines[TNRI_ENGINES_AT_ONCE];
} tnri_company;

/* tnri_engine_run on up to TNRI_ENGINES_AT_ONCE engines, each different, in all of which the calling thread is. */
void tnri_engines_run(int count, const tnri_engine_share *shares, tnri_task task);

#endif /* TENURE_ENGINE_TEAM_INTERNAL_H */
