/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of a team: one worker thread pinned to each CPU of an engine, and which CPUs are as good as these.
 *
 * Guarantees: each pin is read back; no allocation after creation; no thread is left behind, whatever fails. After fork the
 * child has none of the threads: it knows by a mark that children do not have, and works alone.
 * How a team works is in team_call.c. Linux only, by affinity of threads.
 */
#define _GNU_SOURCE /* affinity of threads */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "team_threads_internal.h"

/* The system's sets are arrays of unsigned long, ours of 64 bits: the same bytes in little-endian order or with 64-bit longs. */
_Static_assert(sizeof(unsigned long) == 8 || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "CPU sets have our layout");

static bool affinity_of_caller(tnr_cpu_set *set)
{
    memset(set, 0, sizeof *set);
    return sched_getaffinity(0, sizeof *set, (cpu_set_t *)(void *)set) == 0;
}

/* ---- Life --------------------------------------------------------------------------------------------------------------------- */

/* Usable CPUs of the cores that these are in, these included. */
static tnr_status find_near(const tnr_topology *topology, const tnr_cpu_set *cpus, tnr_cpu_set *near)
{
    tnr_cpu_set usable;
    tnr_cpu_set found = {{0}};
    tnr_cpu_set cores = {{0}}; /* a core's number is below that of CPUs */
    tnr_cpu_info info;
    for (int cpu = tnr_cpu_set_next(cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(cpus, cpu)) {
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        TNR_TRY(tnr_cpu_set_add(&cores, info.core));
    }
    TNR_TRY(tnr_topology_cpus(topology, &usable));
    for (int cpu = tnr_cpu_set_next(&usable, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(&usable, cpu)) {
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        if (tnr_cpu_set_has(&cores, info.core)) {
            TNR_TRY(tnr_cpu_set_add(&found, cpu));
        }
    }
    *near = found;
    return TNR_OK;
}

/* The team's nears, for the CPUs that find_near found. A CPU of the team's is its own; others have the first of their core. */
static tnr_status fill_nears(const tnr_topology *topology, const tnr_cpu_set *near, tnri_team *team)
{
    int16_t of_core[TNR_MAX_CPUS];
    tnr_cpu_info info;
    for (int i = team->count - 1; i >= 0; --i) {
        TNR_TRY(tnr_topology_cpu(topology, team->lanes[i].cpu, &info));
        of_core[info.core] = (int16_t)i;
    }
    int at = 0;
    int own = 0;
    for (int cpu = tnr_cpu_set_next(near, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(near, cpu)) {
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        const bool is_own = tnr_cpu_set_has(&team->cpus, cpu);
        team->nears[at++] = (tnri_near){cpu, is_own ? own : of_core[info.core]};
        own += is_own ? 1 : 0;
    }
    return TNR_OK;
}

static uint64_t bytes_of(int cpus, int near)
{
    return sizeof(tnri_team) + (uint64_t)cpus * sizeof(tnri_lane) + (uint64_t)near * sizeof(tnri_near);
}

tnr_status tnri_team_need(const tnr_topology *topology, const tnr_cpu_set *cpus, uint64_t *bytes)
{
    tnr_cpu_set near;
    TNR_TRY(find_near(topology, cpus, &near));
    *bytes = bytes_of(tnr_cpu_set_count(cpus), tnr_cpu_set_count(&near));
    return TNR_OK;
}

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
        error = pthread_create(&lane->thread, &attributes, tnri_team_worker, lane);
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

tnr_status tnri_team_start(const char *op, void *block, const tnr_topology *topology, const tnr_cpu_set *cpus,
                           tnri_team **team)
{
    tnri_team *made = block;
    const int count = tnr_cpu_set_count(cpus);
    tnr_cpu_set near;
    TNR_TRY(find_near(topology, cpus, &near));
    const int near_count = tnr_cpu_set_count(&near);
    memset(block, 0, (size_t)bytes_of(count, near_count));
    made->count = count;
    made->cpus = *cpus;
    made->near_count = near_count;
    made->nears = (tnri_near *)(void *)&made->lanes[count];
    atomic_init(&made->pending, 0);
    int cpu = TNR_NONE;
    for (int i = 0; i < count; ++i) {
        tnri_lane *lane = &made->lanes[i];
        cpu = tnr_cpu_set_next(cpus, cpu);
        lane->cpu = cpu;
        lane->team = made;
        atomic_init(&lane->word, TNRI_LANE_IDLE);
        atomic_init(&lane->range, 0);
    }
    TNR_TRY(fill_nears(topology, &near, made));
    tnri_fork_mark_make(&made->here);
    tnr_cpu_set caller;
    if (count > 1 || !affinity_of_caller(&caller) || !tnr_cpu_set_within(&caller, &near)) {
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
    if (team == NULL) {
        return;
    }
    if (tnri_fork_mark_is_here(&team->here)) {
        tnri_team_dismiss(team);
        for (int i = 0; i < team->threads; ++i) {
            (void)pthread_join(team->lanes[i].thread, NULL);
        }
        team->threads = 0;
    }
    tnri_fork_mark_drop(&team->here);
}
