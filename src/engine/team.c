/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team: one worker thread pinned to each CPU of an engine, and the calling thread in the place of one of them.
 *
 * Guarantees: every piece runs once; what pieces wrote is seen by the caller; nobody waits for a worker that has not begun;
 * no allocation after creation; no lock, and nothing that two teams share; no thread is left behind.
 *
 * How: each lane has a range of the pieces (the same ones for the same number of pieces, so that a repeated operation finds
 * its data in the same core's caches) and takes them from the front; who has none left takes half of another's from the back.
 * A range is one atomic word, so taking is one compare-and-swap, and what was taken cannot be taken twice. This is the
 * splitting of Blumofe and Leiserson ("Scheduling multithreaded computations by work stealing", JACM 1999) without deques:
 * pieces are numbers.
 *
 * The caller takes part when its affinity lies within the team's CPUs: in the lane of the CPU where it is, whose worker then
 * sleeps on. When nothing is left to take it calls back the workers that have not yet awoken, and waits for those that are at
 * work. A caller from outside only waits.
 *
 * After fork the child has none of the threads: it knows by its process number, and works alone.
 *
 * Does not do: nested work, priorities. Linux only, by futex and sched_getaffinity.
 */
#define _GNU_SOURCE /* affinity of threads; sched_getcpu */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "team_internal.h"

/*
 * Measured on two cores of a Zen 3 in a shared virtual machine: waking a sleeping worker costs the caller 1 to 13 us, and the
 * worker is there after 5 to 30 us. A spinning one is there after 0.3 us. A worker therefore spins about as long as its
 * waking would take; and work is shared out to sleeping workers from WORTH_WAKING on, where two lanes, one of them late by
 * 30 us, are at least as fast as one.
 */
enum {
    SPIN_NS = 50000,
    WORTH_SHARING = 10000, /* nanoseconds of work: with all workers spinning */
    WORTH_A_LANE = 3000,
    WORTH_WAKING = 80000,
    WORTH_OUTSIDE = 120000, /* the caller sleeps meanwhile, and must be woken too */
    WAKE_NS = 5000
};

/*
 * What a lane's worker does; its word. Only the worker makes it BUSY, and only the caller CALLED. Either may turn IDLE into
 * ASLEEP: a worker that finds its word so goes to sleep.
 */
enum { IDLE, ASLEEP, CALLED, BUSY };

typedef struct tnri_lane {
    _Alignas(64) atomic_uint word;
    int cpu;
    pthread_t thread;
    tnri_team *team;
    _Alignas(64) _Atomic uint64_t range; /* of units left: first in the high half, end in the low half */
} tnri_lane;

/* `pending`: workers called and not yet done, and whether the caller sleeps on it. */
#define CALLER_SLEEPS 0x80000000U

struct tnri_team {
    int count;   /* lanes */
    int threads; /* workers that run */
    pid_t owner; /* the process that has them */
    bool quit;

    /* One call of tnri_engine_run: written before workers are called, read by those that were. */
    tnri_task task;
    void *context;
    int64_t pieces;
    int64_t unit; /* pieces in one unit of a range: 1 unless there are more than 2^31 */
    int first;    /* lanes first, first + 1, ... modulo count take part */
    int taking;   /* so many of them */

    bool outside; /* the last caller was not within our CPUs */
    int64_t
        last_call; /* when tnri_engine_lanes last refused work for want of awake workers, and how much in this burst */
    uint64_t refused;

    tnr_cpu_set cpus;
    _Alignas(64) atomic_uint pending;
    tnri_lane lanes[];
};

/* ---- The system --------------------------------------------------------------------------------------------------------------- */

/* Sleep until the word is woken, if it still is `seen`; may return for no reason. */
static void sleep_on(atomic_uint *word, unsigned seen)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void wake(atomic_uint *word) { (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

static int64_t now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A little of a spin; false when it has lasted long enough. *until is 0 at first. */
static bool spin(unsigned *tries, int64_t *until)
{
    tnri_relax(0);
    if ((++*tries & 31U) == 0) { /* about a microsecond */
        const int64_t time = now();
        if (*until == 0) {
            *until = time + SPIN_NS;
        }
        return time < *until;
    }
    return true;
}

/* The system's sets are arrays of unsigned long, ours of 64 bits: the same bytes in little-endian order or with 64-bit longs. */
_Static_assert(sizeof(unsigned long) == 8 || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "CPU sets have our layout");

static bool affinity_of_caller(tnr_cpu_set *set)
{
    memset(set, 0, sizeof *set);
    return sched_getaffinity(0, sizeof *set, (cpu_set_t *)(void *)set) == 0;
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

/* ---- Workers ------------------------------------------------------------------------------------------------------------------ */

/* Until called; the word is BUSY then. */
static void await_call(tnri_lane *lane)
{
    unsigned tries = 0;
    int64_t until = 0;
    for (;;) {
        unsigned word = atomic_load_explicit(&lane->word, memory_order_relaxed);
        if (word == CALLED) {
            if (atomic_compare_exchange_strong_explicit(&lane->word, &word, BUSY, memory_order_acquire,
                                                        memory_order_relaxed)) {
                return;
            }
        } else if (word == ASLEEP) {
            sleep_on(&lane->word, ASLEEP);
            tries = 0;
            until = 0;
        } else if (!spin(&tries, &until)) {
            (void)atomic_compare_exchange_strong_explicit(&lane->word, &word, ASLEEP, memory_order_relaxed,
                                                          memory_order_relaxed);
        }
    }
}

static void *worker(void *argument)
{
    tnri_lane *lane = argument;
    tnri_team *team = lane->team;
    for (;;) {
        await_call(lane);
        if (team->quit) {
            return NULL;
        }
        work_in(team, lane);
        atomic_store_explicit(&lane->word, IDLE, memory_order_relaxed);
        /* From here on the next call may begin. The team itself stays until this thread is joined. */
        if (atomic_fetch_sub_explicit(&team->pending, 1, memory_order_acq_rel) == (CALLER_SLEEPS | 1U)) {
            wake(&team->pending);
        }
    }
}

static void call(tnri_lane *lane)
{
    if (atomic_exchange_explicit(&lane->word, CALLED, memory_order_acq_rel) == ASLEEP) {
        wake(&lane->word);
    }
}

/* A worker that spins where the caller is about to work gives the CPU up. */
static void send_to_sleep(tnri_lane *lane)
{
    unsigned word = IDLE;
    (void)atomic_compare_exchange_strong_explicit(&lane->word, &word, ASLEEP, memory_order_relaxed,
                                                  memory_order_relaxed);
}

/* A worker that has not begun goes back to what it was doing; false when it has begun. */
static bool call_back(tnri_lane *lane)
{
    unsigned word = CALLED;
    return atomic_compare_exchange_strong_explicit(&lane->word, &word, IDLE, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* ---- One call ----------------------------------------------------------------------------------------------------------------- */

static void run_alone(int64_t pieces, tnri_task task, void *context)
{
    for (int64_t piece = 0; piece < pieces; ++piece) {
        task(context, piece);
    }
}

/* The lane in whose place the calling thread works, or -1: it may run elsewhere too. */
static int place_of_caller(const tnri_team *team)
{
    tnr_cpu_set set;
    if (!affinity_of_caller(&set) || !tnr_cpu_set_within(&set, &team->cpus)) {
        return -1;
    }
    const int cpu = sched_getcpu();
    for (int i = 0; i < team->count; ++i) {
        if (team->lanes[i].cpu == cpu) {
            return i;
        }
    }
    return 0; /* the system does not tell: any */
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

void tnri_engine_run(tnr_engine *engine, int64_t pieces, tnri_task task, void *context)
{
    tnri_team *team = engine->team;
    if (team == NULL || team->threads == 0 || pieces <= 1 || getpid() != team->owner) {
        run_alone(pieces, task, context);
        return;
    }
    const int place = place_of_caller(team);
    team->outside = place < 0;
    if (team->count == 1 && place == 0) {
        run_alone(pieces, task, context);
        return;
    }
    team->task = task;
    team->context = context;
    team->pieces = pieces;
    team->unit = 1 + pieces / INT32_MAX;
    const int64_t units = (pieces - 1) / team->unit + 1;
    team->taking = units < team->count ? (int)units : team->count;
    team->first = team->taking == team->count || place < 0 ? 0 : place;
    deal(team, units);
    const unsigned called = (unsigned)team->taking - (place >= 0 ? 1U : 0U);
    atomic_store_explicit(&team->pending, called, memory_order_relaxed);
    for (int i = 0; i < team->taking; ++i) {
        tnri_lane *lane = lane_at(team, team->first + i);
        if (place < 0 || lane != &team->lanes[place]) {
            call(lane);
        } else {
            send_to_sleep(lane);
        }
    }
    if (place >= 0) {
        work_in(team, &team->lanes[place]);
        unsigned back = 0;
        for (int i = 0; i < team->taking; ++i) {
            tnri_lane *lane = lane_at(team, team->first + i);
            back += lane != &team->lanes[place] && call_back(lane) ? 1U : 0U;
        }
        if (back != 0) {
            (void)atomic_fetch_sub_explicit(&team->pending, back, memory_order_relaxed);
        }
    }
    await_workers(team);
}

/* Work comes in quick succession that is each too little to wake anybody, but is worth it in sum. */
static bool worth_waking_by_now(tnri_team *team, uint64_t nanoseconds)
{
    const int64_t time = now();
    const bool burst = time - team->last_call < SPIN_NS + 2 * (int64_t)nanoseconds;
    team->refused = burst ? team->refused + nanoseconds : nanoseconds;
    team->last_call = time;
    if (team->refused < 2 * WORTH_WAKING) {
        return false;
    }
    team->refused = 0;
    return true;
}

int tnri_engine_lanes(const tnr_engine *engine, uint64_t nanoseconds)
{
    tnri_team *team = engine->team;
    if (nanoseconds < WORTH_SHARING || team == NULL || team->threads == 0) {
        return 1;
    }
    if (team->outside && nanoseconds < WORTH_OUTSIDE) {
        return 1;
    }
    if (team->count == 1) { /* for the worker where the caller is elsewhere: tnri_engine_run finds out */
        return nanoseconds < WORTH_OUTSIDE ? 1 : 2;
    }
    const uint64_t most = nanoseconds / WORTH_A_LANE;
    int lanes = most < (uint64_t)team->count ? (int)most : team->count;
    int asleep = 0;
    for (int i = 0; i < team->count; ++i) {
        asleep += atomic_load_explicit(&team->lanes[i].word, memory_order_relaxed) == ASLEEP ? 1 : 0;
    }
    if (team->count - asleep + 1 >= lanes) {
        return lanes;
    }
    if (nanoseconds < WORTH_WAKING && !worth_waking_by_now(team, nanoseconds)) {
        return 1;
    }
    /* They are woken one after the other: n lanes cost n * WAKE_NS, and save least when the last comes at the end. */
    while (lanes > 2 && (uint64_t)lanes * (uint64_t)lanes * WAKE_NS > nanoseconds) {
        --lanes;
    }
    return lanes;
}

/* ---- Life --------------------------------------------------------------------------------------------------------------------- */

uint64_t tnri_team_bytes(int cpus) { return sizeof(tnri_team) + (uint64_t)cpus * sizeof(tnri_lane); }

int tnri_team_lanes(const tnri_team *team) { return team->count; }

bool tnri_team_threads(const tnri_team *team) { return team->threads != 0; }

const tnr_cpu_set *tnri_team_cpus(const tnri_team *team) { return &team->cpus; }

/*
 * Of a worker, whatever the system's default is: reductions have up to 112 KiB of partial results on it, sanitizers several
 * times that. Address space only, but where the program locks its memory.
 */
#define STACK_BYTES ((size_t)1 << 20)

/* A thread that is where it should be from its first instruction on. Answers as pthread_create does. */
static int start_pinned(tnri_lane *lane, const tnr_cpu_set *only)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    error = pthread_attr_setaffinity_np(&attributes, sizeof *only, (const cpu_set_t *)(const void *)only);
    if (error == 0) {
        error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    }
    if (error == 0) {
        error = pthread_create(&lane->thread, &attributes, worker, lane);
    }
    (void)pthread_attr_destroy(&attributes);
    return error;
}

static tnr_status start_worker(const char *op, tnri_team *team, tnri_lane *lane)
{
    tnr_cpu_set only = {{0}};
    tnr_cpu_set found = {{0}};
    TNR_TRY(tnr_cpu_set_add(&only, lane->cpu));
    const int error = start_pinned(lane, &only);
    TNR_REQUIRE(error == 0, TNR_ERR_BACKEND, "%s: no worker thread on CPU %d: the system answers %s (%d)", op,
                lane->cpu,
                error == EAGAIN   ? "that there are enough threads"
                : error == EINVAL ? "that this process may not use it"
                                  : "an error",
                error);
    ++team->threads;
    const int unread = pthread_getaffinity_np(lane->thread, sizeof found, (cpu_set_t *)(void *)&found);
    TNR_REQUIRE(unread == 0, TNR_ERR_BACKEND, "%s: the pin of the worker on CPU %d cannot be read back (error %d)", op,
                lane->cpu, unread);
    TNR_REQUIRE(memcmp(&only, &found, sizeof only) == 0, TNR_ERR_BACKEND,
                "%s: a worker was to be bound to CPU %d, and the system lets it run on %d CPUs, CPU %d first", op,
                lane->cpu, tnr_cpu_set_count(&found), tnr_cpu_set_next(&found, TNR_NONE));
    return TNR_OK;
}

static tnr_status start_workers(const char *op, tnri_team *team)
{
    /* Workers inherit the mask: signals are the program's. Not what a thread's own instructions raise, which blocked would
     * end the process unheard, nor a profiler's clock. */
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
    sigset_t others;
    sigset_t before;
    (void)sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i) {
        (void)sigdelset(&others, own[i]);
    }
    const int error = pthread_sigmask(SIG_BLOCK, &others, &before);
    TNR_REQUIRE(error == 0, TNR_ERR_BACKEND, "%s: signals cannot be blocked (error %d)", op, error);
    tnr_status status = TNR_OK;
    for (int i = 0; i < team->count && status == TNR_OK; ++i) {
        status = start_worker(op, team, &team->lanes[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

tnr_status tnri_team_start(const char *op, void *block, const tnr_cpu_set *cpus, tnri_team **team)
{
    tnri_team *made = block;
    const int count = tnr_cpu_set_count(cpus);
    memset(block, 0, (size_t)tnri_team_bytes(count));
    made->count = count;
    made->owner = getpid();
    made->cpus = *cpus;
    atomic_init(&made->pending, 0);
    int cpu = TNR_NONE;
    for (int i = 0; i < count; ++i) {
        tnri_lane *lane = &made->lanes[i];
        cpu = tnr_cpu_set_next(cpus, cpu);
        lane->cpu = cpu;
        lane->team = made;
        atomic_init(&lane->word, IDLE);
        atomic_init(&lane->range, 0);
    }
    tnr_cpu_set caller;
    if (count > 1 || !affinity_of_caller(&caller) || !tnr_cpu_set_within(&caller, cpus)) {
        const tnr_status status = start_workers(op, made);
        if (status != TNR_OK) {
            tnri_team_stop(made);
            return status;
        }
    }
    *team = made;
    return TNR_OK;
}

void tnri_team_stop(tnri_team *team)
{
    if (team == NULL || getpid() != team->owner) {
        return;
    }
    team->quit = true;
    for (int i = 0; i < team->threads; ++i) {
        call(&team->lanes[i]);
    }
    for (int i = 0; i < team->threads; ++i) {
        (void)pthread_join(team->lanes[i].thread, NULL);
    }
    team->threads = 0;
}
