/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team does every piece once, on the CPUs that it was given and no others, with the caller in the place of one worker or
 * without it; its threads take no signals, and none is left when the engine goes.
 */
#include "support/team_test.h"

#include <signal.h>

#include "engine/engine_internal.h"

static tnr_domain *heap;
static tnr_topology *topology;

static int set_up(void **state)
{
    (void)state;
    start_a_thread();
    heap = make_heap();
    topology = make_topology(heap);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
    return 0;
}

/* ---- Pieces -------------------------------------------------------------------------------------------------------------------- */

enum { MOST_PIECES = 2000 };

/* Written by whoever does the piece, read by the caller: no atomics, so that a missing happens-before shows. */
typedef struct record {
    int done;
    int cpu;
    int cpus_allowed;
    pid_t thread;
    bool signals_blocked; /* those of the program, and none that a thread's own instructions raise */
    size_t stack;
} record;

typedef struct work {
    record *pieces;
    int64_t slow_piece; /* takes as long as many others: -1 none */
    int64_t each_ns;
} work;

static void wait_ns(int64_t nanoseconds)
{
    struct timespec start;
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        (void)clock_gettime(CLOCK_MONOTONIC, &time);
    } while ((time.tv_sec - start.tv_sec) * 1000000000 + (time.tv_nsec - start.tv_nsec) < nanoseconds);
}

static void do_piece(void *context, int64_t piece)
{
    work *all = context;
    record *own = &all->pieces[piece];
    sigset_t blocked;
    tnr_cpu_set allowed;
    const bool known = tnr_thread_affinity(&allowed) == TNR_OK;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    wait_ns(piece == all->slow_piece ? 2000000 : all->each_ns);
    own->done++;
    own->cpu = sched_getcpu();
    own->cpus_allowed = known ? tnr_cpu_set_count(&allowed) : 0;
    own->thread = thread_number();
    own->signals_blocked = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGUSR1) == 1 &&
                           sigismember(&blocked, SIGSEGV) == 0 && sigismember(&blocked, SIGFPE) == 0;
    pthread_attr_t attributes;
    own->stack = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        (void)pthread_attr_getstacksize(&attributes, &own->stack);
        (void)pthread_attr_destroy(&attributes);
    }
}

static void run(tnr_engine *engine, work *all, int64_t pieces)
{
    memset(all->pieces, 0, MOST_PIECES * sizeof(record));
    tnri_engine_run(engine, INT_MAX, pieces, do_piece, all);
    for (int64_t piece = 0; piece < MOST_PIECES; piece++) {
        assert_int_equal(all->pieces[piece].done, piece < pieces ? 1 : 0);
    }
}

static void every_piece_is_done_once(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 31, 100, MOST_PIECES};
    record *pieces = calloc(MOST_PIECES, sizeof *pieces);
    assert_non_null(pieces);
    for (int cpus = 0; cpus < 3; cpus++) { /* the default, then one CPU, then the last of several */
        const int cpu = usable_cpu(cpus == 2 ? 1 : 0);
        if (cpu == TNR_NONE) {
            continue;
        }
        const tnr_cpu_set set = only(cpu);
        tnr_engine *engine = make_team(heap, topology, cpus == 0 ? NULL : &set);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            for (int slow = 0; slow < 3; slow++) {
                work all = {pieces, slow == 0 ? -1 : slow == 1 ? 0 : counts[i] - 1, 0};
                run(engine, &all, counts[i]);
            }
        }
        OK(tnr_engine_destroy(&engine));
    }
    free(pieces);
}

/* Calls that come at once, after a moment, and when the workers sleep: each meets them in another state. */
static void calls_at_any_distance(void **state)
{
    (void)state;
    record *pieces = calloc(MOST_PIECES, sizeof *pieces);
    assert_non_null(pieces);
    tnr_engine *engine = make_team(heap, topology, NULL);
    for (int round = 0; round < 400; round++) {
        work all = {pieces, -1, round % 3 * 500};
        run(engine, &all, 2 + round % 7);
        wait_ns((round % 11) * 12000);
    }
    OK(tnr_engine_destroy(&engine));
    free(pieces);
}

/* ---- Places -------------------------------------------------------------------------------------------------------------------- */

static void workers_are_pinned_and_take_no_signals(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    record *pieces = calloc(MOST_PIECES, sizeof *pieces);
    assert_non_null(pieces);
    work all = {pieces, -1, 20000};
    const tnr_cpu_set one = only(usable_cpu(0));
    const int other = usable_cpu(1);
    const tnr_cpu_set workers_cpu = only(other);
    const tnr_cpu_set before = bind_to(&one);
    tnr_engine *engine = make_team(heap, topology, &workers_cpu); /* the caller is outside */
    assert_true(info_of(engine).threads);
    run(engine, &all, 50);
    for (int piece = 0; piece < 50; piece++) {
        assert_int_equal(pieces[piece].cpu, other);
        assert_int_equal(pieces[piece].cpus_allowed, 1);
        assert_int_not_equal(pieces[piece].thread, thread_number());
        assert_true(pieces[piece].signals_blocked);
        assert_true(pieces[piece].stack >= (size_t)512 << 10);
    }
    const tnr_cpu_set now = affinity();
    assert_memory_equal(&now, &one, sizeof now);
    OK(tnr_engine_destroy(&engine));
    (void)bind_to(&before);
    free(pieces);
}

/* Bound within the team's CPUs, the caller works, and on its CPU nobody else does. */
static void the_caller_takes_the_place_of_a_worker(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    record *pieces = calloc(MOST_PIECES, sizeof *pieces);
    assert_non_null(pieces);
    const tnr_cpu_set before = affinity();
    for (int index = 0; index < 2; index++) {
        tnr_cpu_set both = only(usable_cpu(0));
        OK(tnr_cpu_set_add(&both, usable_cpu(1)));
        const int cpu = usable_cpu(index);
        const tnr_cpu_set one = only(cpu);
        tnr_engine *engine = make_team(heap, topology, &both);
        (void)bind_to(&one);
        int by_caller = 0;
        int by_worker = 0;
        for (int round = 0; round < 20; round++) { /* others may keep a worker from its CPU for a while */
            work all = {pieces, -1, 100000};
            run(engine, &all, 40);
            for (int piece = 0; piece < 40; piece++) {
                const bool here = pieces[piece].cpu == cpu;
                assert_true(here == (pieces[piece].thread == thread_number()));
                by_caller += here ? 1 : 0;
                by_worker += here ? 0 : 1;
            }
        }
        assert_true(by_caller > 0);
        assert_true(by_worker > 0);
        (void)bind_to(&before);
        OK(tnr_engine_destroy(&engine));
    }
    free(pieces);
}

static void one_cpu_of_the_callers_needs_no_thread(void **state)
{
    (void)state;
    record *pieces = calloc(MOST_PIECES, sizeof *pieces);
    assert_non_null(pieces);
    work all = {pieces, -1, 0};
    const int threads = count_threads();
    const int cpu = usable_cpu(0);
    const tnr_cpu_set one = only(cpu);
    const tnr_cpu_set before = bind_to(&one);
    tnr_engine *engine = make_team(heap, topology, &one);
    const tnr_engine_info info = info_of(engine);
    assert_int_equal(info.workers, 1);
    assert_false(info.threads);
    assert_int_equal(count_threads(), threads);
    assert_memory_equal(&info.cpus, &one, sizeof one);
    run(engine, &all, 10);
    assert_int_equal(pieces[9].thread, thread_number());
    assert_int_equal(tnri_engine_lanes(engine, UINT64_MAX), 1);
    OK(tnr_engine_destroy(&engine));
    (void)bind_to(&before);
    free(pieces);
}

/* ---- Lanes --------------------------------------------------------------------------------------------------------------------- */

static void small_work_stays_with_the_caller(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    tnr_engine *engine = make_team(heap, topology, NULL);
    tnr_engine *alone = NULL;
    OK(tnr_engine_create(heap, NULL, &alone));
    const int workers = info_of(engine).workers;
    assert_int_equal(tnri_engine_lanes(engine, 0), 1);
    assert_int_equal(tnri_engine_lanes(engine, 1000), 1);
    for (uint64_t work_ns = 1; work_ns < UINT64_C(1) << 62; work_ns *= 2) {
        const int lanes = tnri_engine_lanes(engine, work_ns);
        assert_true(lanes >= 1 && lanes <= workers);
        assert_int_equal(tnri_engine_lanes(alone, work_ns), 1);
    }
    assert_int_equal(tnri_engine_lanes(engine, UINT64_MAX), workers);
    OK(tnr_engine_destroy(&engine));
    OK(tnr_engine_destroy(&alone));
}

/* Work too little to wake sleeping workers for wakes them when it comes again and again. */
static void bursts_of_middling_work_wake_the_workers(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    tnr_engine *engine = make_team(heap, topology, NULL);
    (void)usleep(20000); /* they sleep */
    int first = 0;
    for (int round = 1; round <= 100 && first == 0; round++) {
        first = tnri_engine_lanes(engine, 20000) > 1 ? round : 0;
    }
    assert_true(first > 1);
    for (int round = 0; round < 20; round++) { /* with pauses it does not */
        (void)usleep(2000);
        assert_int_equal(tnri_engine_lanes(engine, 20000), 1);
    }
    OK(tnr_engine_destroy(&engine));
}

/* ---- Life ---------------------------------------------------------------------------------------------------------------------- */

static void no_thread_is_left_behind(void **state)
{
    (void)state;
    record *pieces = calloc(MOST_PIECES, sizeof *pieces);
    assert_non_null(pieces);
    const int threads = count_threads();
    const tnr_domain_statistics before = statistics_of(heap);
    for (int round = 0; round < 100; round++) {
        tnr_engine *engine = make_team(heap, topology, NULL);
        const tnr_engine_info info = info_of(engine);
        assert_int_equal(count_threads(), threads + (info.threads ? info.workers : 0));
        if (round % 2 == 0) {
            work all = {pieces, -1, 1000};
            run(engine, &all, 10);
        }
        if (round % 3 == 0) {
            (void)usleep(500); /* asleep when they are told to go */
        }
        OK(tnr_engine_destroy(&engine));
        assert_true(threads_become(threads));
    }
    SAME_STATISTICS(heap, &before);
    free(pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_done_once),
        cmocka_unit_test(calls_at_any_distance),
        cmocka_unit_test(workers_are_pinned_and_take_no_signals),
        cmocka_unit_test(the_caller_takes_the_place_of_a_worker),
        cmocka_unit_test(one_cpu_of_the_callers_needs_no_thread),
        cmocka_unit_test(small_work_stays_with_the_caller),
        cmocka_unit_test(bursts_of_middling_work_wake_the_workers),
        cmocka_unit_test(no_thread_is_left_behind),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
