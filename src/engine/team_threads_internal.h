/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside a team of threads: what its files share. team.c makes and ends it, team_call.c has it work, team_worth.c tells for how
 * much work that is worth while.
 *
 *   block: | struct tnri_team | lanes, ascending by CPU | nears, ascending by CPU |
 */
#ifndef TENURE_ENGINE_TEAM_THREADS_INTERNAL_H
#define TENURE_ENGINE_TEAM_THREADS_INTERNAL_H

#include <pthread.h>
#include <time.h>

#include "fork_mark_internal.h"
#include "fp_control_internal.h"
#include "team_internal.h"

/*
 * What a lane's worker does; its word. Only the worker makes it BUSY. The caller makes IDLE to CALLED and ASLEEP to
 * CALLED_ASLEEP, and takes both back; either may turn IDLE into ASLEEP. A worker that finds ASLEEP goes to sleep; one that is
 * CALLED_ASLEEP has to be woken, if it was quick enough to sleep.
 */
enum { TNRI_LANE_IDLE, TNRI_LANE_ASLEEP, TNRI_LANE_CALLED, TNRI_LANE_CALLED_ASLEEP, TNRI_LANE_BUSY };

/* How long a worker spins before it sleeps; see team_worth.c. */
enum { TNRI_SPIN_NS = 50000 };

typedef struct tnri_lane {
    _Alignas(64) atomic_uint word;
    int cpu;
    pthread_t thread;
    tnri_team *team;
    _Alignas(64) TNRI_ATOMIC(uint64_t) range; /* of units left: first in the high half, end in the low half */
} tnri_lane;

/* A CPU of one of the team's cores, and the lane there: a caller who runs on it stands in for that lane's worker. */
typedef struct tnri_near {
    int cpu;
    int lane;
} tnri_near;

struct tnri_team {
    int count;   /* lanes */
    int threads; /* workers that run */
    int near_count;
    bool quit;
    tnri_fork_mark here; /* the process that has them */

    /* One call of tnri_engine_run: written before workers are called, read by those that were. */
    tnri_task task;
    void *context;
    int64_t pieces;
    int64_t unit;           /* pieces in one unit of a range: 1 unless there are more than 2^31 */
    int first;              /* lanes first, first + 1, ... modulo count take part */
    int taking;             /* so many of them */
    int root;               /* of these, the caller's, or the first that it wakes */
    tnri_fp_control floats; /* the caller's floating-point environment */

    /* When tnri_engine_lanes last refused work for want of awake workers, and how much in this burst. */
    int64_t last_call;
    uint64_t refused;

    tnr_cpu_set cpus;
    tnri_near *nears;
    _Alignas(64) atomic_uint pending; /* workers called and not yet done, and whether the caller sleeps on it */
    tnri_lane lanes[];
};

static inline int64_t tnri_team_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The lane in whose place the calling thread works, or -1: it is not on one of the team's cores now, or nobody tells. */
int tnri_team_place(const tnri_team *team);

/* What a worker's thread does: until team->quit. */
void *tnri_team_worker(void *argument);

/* Tell the workers, all idle or asleep, to look at team->quit. */
void tnri_team_dismiss(tnri_team *team);

#endif /* TENURE_ENGINE_TEAM_THREADS_INTERNAL_H */
