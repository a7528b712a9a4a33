/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For how much work it is worth while to call workers, and how many.
 *
 * Measured on two cores of a Zen 3 in a shared virtual machine: waking a sleeping worker costs the caller 1 to 13 us, and the
 * worker is there after 5 to 30 us. A spinning one is there after 0.3 us. A worker therefore spins about as long as its
 * waking would take; and work is shared out to sleeping workers from WORTH_WAKING on, where two lanes, one of them late by
 * 30 us, are at least as fast as one. For more than two lanes the cost is reckoned, not measured: the last of n is up after
 * log2 n wakings one after the other (team_call.c).
 */
#define _GNU_SOURCE /* clock_gettime, for the header */
#include "team_threads_internal.h"

enum {
    WORTH_SHARING = 10000, /* nanoseconds of work: with all workers spinning */
    WORTH_A_LANE = 3000,
    WORTH_WAKING = 80000,
    WORTH_OUTSIDE = 120000, /* the caller sleeps meanwhile, and must be woken too */
    LEVEL_NS = 10000        /* two wakings, and the second one's worker on its way */
};

/* Work comes in quick succession that is each too little to wake anybody, but is worth it in sum. */
static bool worth_waking_by_now(tnri_team *team, uint64_t nanoseconds)
{
    const int64_t time = tnri_team_now();
    const bool burst = time - team->last_call < TNRI_SPIN_NS + 2 * (int64_t)nanoseconds;
    team->refused = burst ? team->refused + nanoseconds : nanoseconds;
    team->last_call = time;
    if (team->refused < 2 * WORTH_WAKING) {
        return false;
    }
    team->refused = 0;
    return true;
}

/* The depth of a tree of wakings. */
static uint64_t levels(int lanes) { return (uint64_t)tnri_highest_bit((uint64_t)lanes); }

int tnri_engine_lanes(const tnr_engine *engine, uint64_t nanoseconds)
{
    tnri_team *team = engine->team;
    if (nanoseconds < WORTH_SHARING || team == NULL || team->threads == 0) {
        return 1;
    }
    const int place = tnri_team_place(team);
    if (place < 0 && nanoseconds < WORTH_OUTSIDE) {
        return 1;
    }
    if (team->count == 1) { /* for the worker where the caller is elsewhere */
        return place < 0 ? 2 : 1;
    }
    const uint64_t most = nanoseconds / WORTH_A_LANE;
    int lanes = most < (uint64_t)team->count ? (int)most : team->count;
    int asleep = 0;
    for (int i = 0; i < team->count; ++i) {
        asleep += atomic_load_explicit(&team->lanes[i].word, memory_order_relaxed) == TNRI_LANE_ASLEEP ? 1 : 0;
    }
    if (team->count - asleep + 1 >= lanes) {
        return lanes;
    }
    if (nanoseconds < WORTH_WAKING && !worth_waking_by_now(team, nanoseconds)) {
        return 1;
    }
    /* One lane more saves least when the last to come finds nothing left to do. */
    while (lanes > 2 && (uint64_t)lanes * levels(lanes) * LEVEL_NS > nanoseconds) {
        --lanes;
    }
    return lanes;
}
