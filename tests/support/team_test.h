/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests of engines with workers share: CPUs by list, threads counted by the system, the calling thread bound for a while.
 * Include it first: it asks for the system's own interfaces.
 */
#ifndef TENURE_TESTS_SUPPORT_TEAM_TEST_H
#define TENURE_TESTS_SUPPORT_TEAM_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/storage_test.h"
#include "tenure/tenure.h"

/* Threads of this process, by the system's own list. One that was joined a moment ago may still be leaving: it is waited for. */
static inline int count_threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    (void)closedir(folder);
    return count;
}

static inline void *tell_number(void *number)
{
    *(pid_t *)number = (pid_t)syscall(SYS_gettid);
    return NULL;
}

/*
 * A sanitizer starts a thread of its own beside the first one of the program's: before anybody counts, then. The system may
 * list a thread that was joined for a moment more: until it does not.
 */
static inline void start_a_thread(void)
{
    pthread_t thread;
    pid_t number = 0;
    char path[64];
    assert_int_equal(pthread_create(&thread, NULL, tell_number, &number), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)snprintf(path, sizeof path, "/proc/self/task/%ld", (long)number);
    for (int tries = 0; tries < 2000 && access(path, F_OK) == 0; tries++) {
        (void)usleep(1000);
    }
}

static inline bool threads_become(int expected)
{
    for (int tries = 0; tries < 2000 && count_threads() != expected; tries++) {
        (void)usleep(1000);
    }
    return count_threads() == expected;
}

static inline pid_t thread_number(void) { return (pid_t)syscall(SYS_gettid); }

static inline tnr_cpu_set affinity(void)
{
    tnr_cpu_set set;
    OK(tnr_thread_affinity(&set));
    return set;
}

/* Bind the calling thread; the set that it had. */
static inline tnr_cpu_set bind_to(const tnr_cpu_set *set)
{
    const tnr_cpu_set before = affinity();
    assert_int_equal(sched_setaffinity(0, sizeof *set, (const cpu_set_t *)(const void *)set), 0);
    return before;
}

static inline tnr_cpu_set only(int cpu)
{
    tnr_cpu_set set = {{0}};
    OK(tnr_cpu_set_add(&set, cpu));
    return set;
}

/* The index-th CPU that this process may use, or TNR_NONE. */
static inline int usable_cpu(int index)
{
    const tnr_cpu_set set = affinity();
    int cpu = tnr_cpu_set_next(&set, TNR_NONE);
    while (index-- > 0 && cpu != TNR_NONE) {
        cpu = tnr_cpu_set_next(&set, cpu);
    }
    return cpu;
}

#define NEEDS_CPUS(count)                                                                      \
    do {                                                                                       \
        if (usable_cpu((count)-1) == TNR_NONE) {                                               \
            print_message("skipped: this process may use fewer than %d CPUs\n", (int)(count)); \
            skip();                                                                            \
        }                                                                                      \
    } while (0)

static inline tnr_topology *make_topology(tnr_domain *home)
{
    tnr_topology *topology = NULL;
    OK(tnr_topology_create(home, NULL, &topology));
    return topology;
}

/* An engine on these CPUs; NULL: the default. */
static inline tnr_engine *make_team(tnr_domain *domain, tnr_topology *topology, const tnr_cpu_set *cpus)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine *engine = NULL;
    options.topology = topology;
    options.cpus = cpus;
    OK(tnr_engine_create(domain, &options, &engine));
    return engine;
}

static inline tnr_engine_info info_of(const tnr_engine *engine)
{
    tnr_engine_info info;
    OK(tnr_engine_describe(engine, &info));
    return info;
}

static inline tnr_tensor *make_ones(tnr_domain *domain, int64_t n)
{
    const double one = 1.0;
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_full(domain, TNR_F64, 2, SHAPE(n, n), &one, &tensor));
    return tensor;
}

/* All n x n elements are `value`. */
static inline bool all_are(const tnr_tensor *tensor, int64_t n, double value)
{
    const void *data;
    if (tnr_tensor_host_data(tensor, &data) != TNR_OK) {
        return false;
    }
    for (int64_t at = 0; at < n * n; at++) {
        if (((const double *)data)[at] != value) {
            return false;
        }
    }
    return true;
}

#endif /* TENURE_TESTS_SUPPORT_TEAM_TEST_H */
