/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that draw, count answers and report faults: shared by the tests of leases and of consumers. */
#ifndef TENURE_TESTS_PROPERTY_WORKER_THREADS_H
#define TENURE_TESTS_PROPERTY_WORKER_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tenure/group.h"

#define MOST_THREADS 4
#define OPERATIONS 120000 /* of all threads of one run together */

static uint64_t seed;
static _Atomic int faults;
static _Atomic uint64_t answers[TNR_ERR_IO + 1];

static inline void fault(const char *what, int thread)
{
    if (atomic_fetch_add(&faults, 1) < 10) {
        fprintf(stderr, "seed %llu, thread %d: %s; last error: %s\n", (unsigned long long)seed, thread, what,
                tnr_last_error());
    }
}

#define REQUIRE(condition, what)      \
    do {                              \
        if (!(condition)) {           \
            fault((what), me->index); \
        }                             \
    } while (0)

#define OK(call) assert_int_equal((call), TNR_OK)

typedef struct worker {
    pthread_t thread;
    int index;
    int threads;
    uint64_t random;
    int operations;
    void *shared;
} worker;

static inline uint64_t below(worker *me, uint64_t bound)
{
    uint64_t z = me->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return ((z ^ (z >> 31)) >> 11) % bound;
}

static inline tnr_status count(tnr_status status)
{
    atomic_fetch_add_explicit(&answers[status], 1, memory_order_relaxed);
    return status;
}

static inline void run_threads(int threads, void *(*work)(void *), void *shared)
{
    worker workers[MOST_THREADS];
    atomic_store(&faults, 0);
    for (int i = 0; i <= TNR_ERR_IO; i++) {
        atomic_store(&answers[i], 0);
    }
    for (int i = 0; i < threads; i++) {
        workers[i].index = i;
        workers[i].threads = threads;
        workers[i].random = seed * 1000 + (uint64_t)(threads * 10 + i);
        workers[i].operations = OPERATIONS / threads;
        workers[i].shared = shared;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    printf("%d threads: %llu ok, %llu busy, %llu stale\n", threads, (unsigned long long)answers[TNR_OK],
           (unsigned long long)answers[TNR_ERR_BUSY], (unsigned long long)answers[TNR_ERR_STALE]);
    assert_int_equal(atomic_load(&faults), 0);
}

/* The seed from the environment or the clock, said so that a failure can be had again. */
static inline void take_seed(void)
{
    const char *text = getenv("TENURE_TEST_SEED");
    seed = text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
}

#endif /* TENURE_TESTS_PROPERTY_WORKER_THREADS_H */
