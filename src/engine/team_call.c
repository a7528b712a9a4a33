/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call of tnri_engine_run, or of several engines at one time: workers are called, pieces are shared out, and the caller waits until all are done.
 *
 * Guarantees: every piece runs once; what pieces wrote is seen by the caller; a caller that takes part waits for no worker
 * that has not begun; no lock, no allocation, and nothing that two teams share.
 *
 * How: each lane has a range of the pieces (the same ones for the same number of pieces, so that a repeated operation finds
 * its data in the same core's caches) and takes them from the front; who has none left takes half of another's from the back.
 * A range is one atomic word, so taking is one compare-and-swap, and what was taken cannot be taken twice. This is the
 * splitting of Blumofe and Leiserson ("Scheduling multithreaded computations by work stealing", JACM 1999) without deques:
 * pieces are numbers.
 *
 * All lanes are called before any is woken. Those that sleep are woken as in a tree: the caller wakes two, each of these two
 * more as soon as it is up, and so on, so that the last of n has waited for log2 n wakings. Lanes are called from the leaves
 * up, so whoever is up finds its own two called.
 *
 * A caller who runs on one of the team's cores takes part in the lane there, whose worker then sleeps on. When nothing is left
 * to take, it calls back the workers that have not begun, and waits for those that are at work. Where it is, is asked once at
 * the beginning: one that the system moves meanwhile only does its share elsewhere. A caller from outside takes no part, and
 * waits until every worker that it called has been up.
 *
 * Does not do: nested work, priorities. Linux only, by futex.
 */
#define _GNU_SOURCE /* sched_getcpu, pthread_setname_np */
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "team_threads_internal.h"

#define CALLER_SLEEPS 0x80000000U

/* ---- The system --------------------------------------------------------------------------------------------------------------- */

/* Sleep until the word is woken, if it still is `seen`; may return for no reason. */
static void sleep_on(atomic_uint *word, unsigned seen)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void wake(atomic_uint *word) { (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

/* A little of a spin; false when it has lasted long enough. *until is 0 at first. */
static bool spin(unsigned *tries, int64_t *until)
{
    tnri_relax(0);
    if ((++*tries & 31U) == 0) { /* about a microsecond */
        const int64_t time = tnri_team_now();
        if (*until == 0) {
            *until = time + TNRI_SPIN_NS;
        }
        return time < *until;
    }
    return true;
}

int tnri_team_place(const tnri_team *team)
{
    const int cpu = sched_getcpu(); /* no system call, where the C library knows better */
    int low = 0;
    int high = team->near_count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (team->nears[middle].cpu < cpu) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < team->near_count && team->nears[low].cpu == cpu ? team->nears[low].lane : -1;
}

/* ---- Ranges ------------------------------------------------------------------------------------------------------------------- */

static uint64_t range_of(int64_t begin, int64_t end) { return ((uint64_t)begin << 32) | (uint64_t)end; }
static int64_t range_begin(uint64_t range) { return (int64_t)(range >> 32); }
static int64_t range_end(uint64_t range) { return (int64_t)(range & UINT32_MAX); }

/* The next unit of one's own range; false when it is empty. */
static bool take_own(tnri_lane *lane, int64_t *unit)
{
    uint64_t range = atomic_load_explicit(&lane->range, memory_order_relaxed);
    while (range_begin(range) < range_end(range)) {
        const uint64_t rest = range_of(range_begin(range) + 1, range_end(range));
        if (atomic_compare_exchange_weak_explicit(&lane->range, &range, rest, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            *unit = range_begin(range);
            return true;
        }
    }
    return false;
}

/* Half of another lane's units from its end: the first of them to be done now, the others become one's own. */
static bool take_from(tnri_lane *victim, tnri_lane *lane, int64_t *unit)
{
    uint64_t range = atomic_load_explicit(&victim->range, memory_order_relaxed);
    while (range_begin(range) < range_end(range)) {
        const int64_t middle = range_begin(range) + (range_end(range) - range_begin(range)) / 2;
        if (atomic_compare_exchange_weak_explicit(&victim->range, &range, range_of(range_begin(range), middle),
                                                  memory_order_relaxed, memory_order_relaxed)) {
            *unit = middle;
            /* One's own is empty: nobody else changes it. */
            atomic_store_explicit(&lane->range, range_of(middle + 1, range_end(range)), memory_order_relaxed);
            return true;
        }
    }
    return false;
}

static tnri_lane *lane_at(tnri_team *team, int index) { return &team->lanes[index % team->count]; }

static void do_unit(const tnri_team *team, int64_t unit)
{
    const int64_t begin = unit * team->unit;
    const int64_t end = team->pieces - begin < team->unit ? team->pieces : begin + team->unit;
    for (int64_t piece = begin; piece < end; ++piece) {
        team->task(team->context, piece);
    }
}

/* Until no lane has anything left to take. */
static void work_in(tnri_team *team, tnri_lane *lane)
{
    const int place = (int)(lane - team->lanes);
    const int own = (place - team->first + team->count) % team->count; /* counted from the first that takes part */
    int64_t unit;
    for (;;) {
        while (take_own(lane, &unit)) {
            do_unit(team, unit);
        }
        bool found = false;
        for (int step = 1; step < team->taking && !found; ++step) {
            found = take_from(lane_at(team, team->first + (own + step) % team->taking), lane, &unit);
        }
        if (!found) {
            return;
        }
        do_unit(team, unit);
    }
}

/* ---- Calling ------------------------------------------------------------------------------------------------------------------ */

static void call(tnri_lane *lane)
{
    unsigned word = atomic_load_explicit(&lane->word, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&lane->word, &word,
                                                  word == TNRI_LANE_ASLEEP ? TNRI_LANE_CALLED_ASLEEP : TNRI_LANE_CALLED,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

/* A worker that has not begun goes back to what it was doing; false when it has begun. */
static bool call_back(tnri_lane *lane)
{
    unsigned word = atomic_load_explicit(&lane->word, memory_order_relaxed);
    while (word == TNRI_LANE_CALLED || word == TNRI_LANE_CALLED_ASLEEP) {
        if (atomic_compare_exchange_weak_explicit(&lane->word, &word,
                                                  word == TNRI_LANE_CALLED ? TNRI_LANE_IDLE : TNRI_LANE_ASLEEP,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static void wake_called(tnri_lane *lane)
{
    if (atomic_load_explicit(&lane->word, memory_order_relaxed) == TNRI_LANE_CALLED_ASLEEP) {
        wake(&lane->word);
    }
}

/* The two below the at-th lane of the tree, whose root is the 0th. */
static void wake_below(tnri_team *team, int at)
{
    for (int below = 2 * at + 1; below <= 2 * at + 2 && below < team->taking; ++below) {
        wake_called(lane_at(team, team->root + below));
    }
}

/* A worker that spins where the caller is about to work gives the CPU up. */
static void send_to_sleep(tnri_lane *lane)
{
    unsigned word = TNRI_LANE_IDLE;
    (void)atomic_compare_exchange_strong_explicit(&lane->word, &word, TNRI_LANE_ASLEEP, memory_order_relaxed,
                                                  memory_order_relaxed);
}

/* ---- Workers ------------------------------------------------------------------------------------------------------------------ */

/* Until called; the word is BUSY then. */
static void await_call(tnri_lane *lane)
{
    unsigned tries = 0;
    int64_t until = 0;
    for (;;) {
        unsigned word = atomic_load_explicit(&lane->word, memory_order_relaxed);
        if (word == TNRI_LANE_CALLED || word == TNRI_LANE_CALLED_ASLEEP) {
            if (atomic_compare_exchange_strong_explicit(&lane->word, &word, TNRI_LANE_BUSY, memory_order_acquire,
                                                        memory_order_relaxed)) {
                return;
            }
        } else if (word == TNRI_LANE_ASLEEP) {
            sleep_on(&lane->word, TNRI_LANE_ASLEEP);
            tries = 0;
            until = 0;
        } else if (!spin(&tries, &until)) {
            (void)atomic_compare_exchange_strong_explicit(&lane->word, &word, TNRI_LANE_ASLEEP, memory_order_relaxed,
                                                          memory_order_relaxed);
        }
    }
}

/* "tenure-12", for those who look at a process's threads. */
static void take_name(int cpu)
{
    char name[16] = "tenure-";
    size_t length = strlen(name);
    length += (size_t)tnri_put_decimal(name + length, (uint64_t)cpu); /* below TNR_MAX_CPUS: four digits */
    name[length] = '\0';
    (void)pthread_setname_np(pthread_self(), name);
}

void *tnri_team_worker(void *argument)
{
    tnri_lane *lane = argument;
    tnri_team *team = lane->team;
    const int own = (int)(lane - team->lanes);
    take_name(lane->cpu);
    for (;;) {
        await_call(lane);
        if (team->quit) {
            return NULL;
        }
        wake_below(team, (own - team->root + team->count) % team->count);
        tnri_fp_control_set(team->floats);
        work_in(team, lane);
        atomic_store_explicit(&lane->word, TNRI_LANE_IDLE, memory_order_relaxed);
        /* From here on the next call may begin. The team itself stays until this thread is joined. */
        if (atomic_fetch_sub_explicit(&team->pending, 1, memory_order_acq_rel) == (CALLER_SLEEPS | 1U)) {
            wake(&team->pending);
        }
    }
}

void tnri_team_dismiss(tnri_team *team)
{
    team->quit = true;
    for (int i = 0; i < team->threads; ++i) {
        call(&team->lanes[i]);
        wake_called(&team->lanes[i]);
    }
}

/* ---- One call ----------------------------------------------------------------------------------------------------------------- */

static void run_alone(int64_t pieces, tnri_task task, void *context)
{
    for (int64_t piece = 0; piece < pieces; ++piece) {
        task(context, piece);
    }
}

static void await_workers(tnri_team *team)
{
    unsigned tries = 0;
    int64_t until = 0;
    unsigned pending = atomic_load_explicit(&team->pending, memory_order_acquire);
    while ((pending & ~CALLER_SLEEPS) != 0) {
        if (spin(&tries, &until)) {
            pending = atomic_load_explicit(&team->pending, memory_order_acquire);
        } else if ((pending & CALLER_SLEEPS) != 0 ||
                   atomic_compare_exchange_strong_explicit(&team->pending, &pending, pending | CALLER_SLEEPS,
                                                           memory_order_acquire, memory_order_acquire)) {
            sleep_on(&team->pending, pending | CALLER_SLEEPS);
            pending = atomic_load_explicit(&team->pending, memory_order_acquire);
        }
    }
}

/* Share the pieces out: lane first + i gets the i-th part. */
static void deal(tnri_team *team, int64_t units)
{
    for (int i = 0; i < team->taking; ++i) {
        const uint64_t range = range_of(units * i / team->taking, units * (i + 1) / team->taking);
        atomic_store_explicit(&lane_at(team, team->first + i)->range, range, memory_order_relaxed);
    }
}

/* Call all that take part but the caller's own lane, and wake the first of them. */
static void call_all(tnri_team *team, int place)
{
    const int least = place >= 0 ? 1 : 0;
    const unsigned called = (unsigned)(team->taking - least);
    atomic_store_explicit(&team->pending, called, memory_order_relaxed);
    for (int at = team->taking - 1; at >= least; --at) {
        call(lane_at(team, team->root + at));
    }
    if (place >= 0) {
        send_to_sleep(&team->lanes[place]);
        wake_below(team, 0);
    } else {
        wake_called(lane_at(team, team->root));
    }
}

static void take_part(tnri_team *team, int place)
{
    work_in(team, &team->lanes[place]);
    unsigned back = 0;
    for (int at = 1; at < team->taking; ++at) {
        back += call_back(lane_at(team, team->root + at)) ? 1U : 0U;
    }
    if (back != 0) {
        (void)atomic_fetch_sub_explicit(&team->pending, back, memory_order_relaxed);
    }
}

/* Call the workers of an engine to a task; false, and nothing begun, where the calling thread is to do it alone. */
static bool begin(const tnri_engine_share *share, tnri_task task, int *place)
{
    tnri_team *team = share->engine->team;
    if (share->lanes <= 1 || share->pieces <= 1 || team == NULL || team->threads == 0 ||
        !tnri_fork_mark_is_here(&team->here)) {
        return false;
    }
    *place = tnri_team_place(team);
    if (team->count == 1 && *place == 0) {
        return false;
    }
    team->task = task;
    team->context = share->context;
    team->pieces = share->pieces;
    team->floats = tnri_fp_control_get();
    team->unit = 1 + share->pieces / INT32_MAX;
    const int64_t units = (share->pieces - 1) / team->unit + 1;
    team->taking = share->lanes < team->count ? share->lanes : team->count;
    team->taking = units < team->taking ? (int)units : team->taking;
    team->first = team->taking == team->count || *place < 0 ? 0 : *place;
    team->root = *place >= 0 ? *place : team->first;
    deal(team, units);
    call_all(team, *place);
    return true;
}

void tnri_engines_run(int count, const tnri_engine_share *shares, tnri_task task)
{
    bool begun[TNRI_ENGINES_AT_ONCE];
    int places[TNRI_ENGINES_AT_ONCE];
    for (int i = 0; i < count; ++i) {
        begun[i] = begin(&shares[i], task, &places[i]);
    }
    for (int i = 0; i < count; ++i) {
        if (!begun[i]) {
            run_alone(shares[i].pieces, task, shares[i].context);
        } else if (places[i] >= 0) {
            take_part(shares[i].engine->team, places[i]);
        }
    }
    for (int i = 0; i < count; ++i) {
        if (begun[i]) {
            await_workers(shares[i].engine->team);
        }
    }
}

void tnri_engine_run(tnr_engine *engine, int lanes, int64_t pieces, tnri_task task, void *context)
{
    const tnri_engine_share share = {engine, lanes, pieces, context};
    tnri_engines_run(1, &share, task);
}
