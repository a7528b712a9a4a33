/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What started this process, by the variables that launchers set, and the one sentence that people run tenure-info for: are
 * the ranks of this host kept apart or not. Knows only what this process can see: that other ranks got *other* CPUs is the
 * launcher's to say, so the verdict speaks of them only where there are more ranks than CPUs can serve.
 */
#include "info.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A variable that is a number from 0 on and nothing else; else -1. */
static long number_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end = NULL;
    const long number = text != NULL ? strtol(text, &end, 10) : -1;
    return text != NULL && end != text && *end == 0 && number >= 0 && number <= INT_MAX ? number : -1;
}

/* Slurm's list of tasks per node: "4(x2),3" is 4 on the first two nodes and 3 on the third. -1: not such a list. */
static long tasks_of_node(const char *list, long node)
{
    for (const char *at = list; at != NULL && *at != 0;) {
        char *end = NULL;
        long times = 1;
        const long tasks = strtol(at, &end, 10);
        if (end == at || tasks <= 0 || tasks > INT_MAX) {
            return -1;
        }
        if (strncmp(end, "(x", 2) == 0) {
            at = end + 2;
            times = strtol(at, &end, 10);
            if (end == at || times <= 0 || *end != ')') {
                return -1;
            }
            end++;
        }
        if (node < times) {
            return tasks;
        }
        node -= times;
        if (*end != ',') {
            return -1;
        }
        at = end + 1;
    }
    return -1;
}

/* Ranks that the launcher started on this host; 0 when none says so. */
static long find_local_ranks(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const long ranks = number_of(variables[i]);
        if (ranks > 0) {
            return ranks;
        }
    }
    const long node = number_of("SLURM_NODEID");
    const long tasks = node >= 0 ? tasks_of_node(getenv("SLURM_STEP_TASKS_PER_NODE"), node) : -1;
    return tasks > 0 ? tasks : 0;
}

void info_find_rank(info *all)
{
    /* Launchers number their processes in variables of their own; the first that is there counts. */
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && all->rank_from == NULL; i++) {
        const long rank = number_of(variables[i]);
        if (rank >= 0) {
            all->rank_from = variables[i];
            all->rank = rank;
            all->local_ranks = find_local_ranks();
        }
    }
}

/* ---- The verdict ----------------------------------------------------------------------------------------------------- */

static void say(info *all, const char *format, ...)
{
    const size_t length = strlen(all->verdict);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(all->verdict + length, sizeof(all->verdict) - length, format, list);
    va_end(list);
}

static void say_unbound(info *all)
{
    const int cpus = all->machine.cpus;
    say(all, "nothing is bound: ");
    if (all->rank_from == NULL) {
        say(all, "this process has all %d CPUs", cpus);
    } else if (all->local_ranks == 1) {
        say(all, "the only rank on this host has all %d CPUs", cpus);
    } else if (all->local_ranks == 0) {
        say(all, "all ranks on this host would share all %d CPUs", cpus);
    } else {
        say(all, "%ld ranks on this host would share all %d CPUs", all->local_ranks, cpus);
    }
}

static void say_bound(info *all)
{
    const int cpus = all->machine.cpus;
    const int whole = all->machine.machine_cpus;
    if (all->rank_from == NULL) {
        say(all, "this process is bound to %d of %d CPUs", cpus, whole);
        return;
    }
    say(all, "the launcher bound this process to %d of %d CPUs", cpus, whole);
    if (all->local_ranks > whole / cpus) {
        say(all, ", but %ld ranks on this host with so many each must share some", all->local_ranks);
    }
}

void info_judge(info *all)
{
    if (!all->machine.this_system) {
        say(all, "none: a described machine runs nothing");
        return;
    }
    if (all->machine.cpus < all->machine.machine_cpus) {
        say_bound(all);
    } else {
        say_unbound(all);
    }
    int workers = 0;
    for (int at = 0; at < all->machine.nodes; at++) {
        workers += all->nodes[at].engine_made ? all->nodes[at].engine.workers : 0;
    }
    if (workers == 1) {
        say(all, "; one worker");
    } else if (workers > 1) {
        say(all, "; %d workers", workers);
    }
}
