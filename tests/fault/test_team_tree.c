/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams of more workers than this machine has CPUs: how sleeping workers are woken, one by two and these by two more, and how
 * many of them take part. The CPUs are those of a described machine; pins are taken down and read back here, and where the
 * caller is, is what the test says.
 *
 * wraps: pthread_attr_setaffinity_np pthread_getaffinity_np sched_getcpu syscall
 */
#include "support/team_test.h"

#include <linux/futex.h>
#include <stdatomic.h>

#include "engine/team_threads_internal.h"

enum { LANES = 16, PIECES = 200 };

static int caller_cpu;
static tnr_cpu_set last_pin;
static pid_t caller;
static atomic_int wakes_by_caller;

int __real_pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *s); /* NOLINT */
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *s); /* NOLINT */
int __wrap_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set);                    /* NOLINT */
int __wrap_sched_getcpu(void);                                                                       /* NOLINT */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *s)
{
    (void)attributes;
    memcpy(&last_pin, s, size);
    return 0;
}

int __wrap_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set)
{
    (void)thread;
    memcpy(set, &last_pin, size);
    return 0;
}

int __wrap_sched_getcpu(void) { return caller_cpu; }

long __wrap_syscall(long number, ...)
{
    long given[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        given[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_futex && given[1] == FUTEX_WAKE_PRIVATE && __real_syscall(SYS_gettid) == caller) {
        atomic_fetch_add(&wakes_by_caller, 1);
    }
    return __real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

/* ---- A team of 16 ---------------------------------------------------------------------------------------------------------------- */

typedef struct scene {
    tnr_domain *heap;
    tnr_topology *topology;
    void *block;
    tnr_engine engine; /* of which nothing but the team is looked at */
} scene;

static int set_up(void **state)
{
    static scene s;
    tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
    tnr_cpu_set cpus;
    uint64_t bytes = 0;
    memset(&s, 0, sizeof s);
    start_a_thread();
    caller = (pid_t)__real_syscall(SYS_gettid);
    s.heap = make_heap();
    options.synthetic = "core:16 pu:1";
    *state = &s;
    const tnr_status status = tnr_topology_create(s.heap, &options, &s.topology);
    if (status == TNR_ERR_UNSUPPORTED) {
        return 0;
    }
    OK(status);
    OK(tnr_topology_cpus(s.topology, &cpus));
    OK(tnri_team_need(s.topology, &cpus, &bytes));
    s.block = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    assert_non_null(s.block);
    OK(tnri_team_start("test", s.block, s.topology, &cpus, &s.engine.team));
    return 0;
}

static int tear_down(void **state)
{
    scene *s = *state;
    tnri_team_stop(s->engine.team);
    free(s->block);
    OK(tnr_topology_destroy(&s->topology));
    close_domain(&s->heap);
    return 0;
}

#define NEEDS_TEAM(s)                                                                      \
    do {                                                                                   \
        if ((s)->topology == NULL) {                                                       \
            print_message("skipped: this build has no hwloc to read descriptions with\n"); \
            skip();                                                                        \
        }                                                                                  \
    } while (0)

typedef struct record {
    int done;
    pid_t thread;
} record;

static void do_piece(void *context, int64_t piece)
{
    record *own = &((record *)context)[piece];
    struct timespec moment = {0, 20000};
    (void)nanosleep(&moment, NULL); /* the CPU is free for whoever is being woken */
    own->done++;
    own->thread = (pid_t)__real_syscall(SYS_gettid);
}

static bool all_asleep(const tnri_team *team)
{
    for (int i = 0; i < team->count; i++) {
        if (atomic_load(&team->lanes[i].word) != TNRI_LANE_ASLEEP) {
            return false;
        }
    }
    return true;
}

/* Threads that did something, of which the caller may be one. */
static int run(scene *s, int lanes, int pieces, bool *by_caller)
{
    static record records[PIECES];
    pid_t threads[LANES + 1];
    int count = 0;
    memset(records, 0, sizeof records);
    for (int tries = 0; tries < 5000 && !all_asleep(s->engine.team); tries++) {
        (void)usleep(100);
    }
    atomic_store(&wakes_by_caller, 0);
    tnri_engine_run(&s->engine, lanes, pieces, do_piece, records);
    *by_caller = false;
    for (int piece = 0; piece < pieces; piece++) {
        assert_int_equal(records[piece].done, 1);
        *by_caller = *by_caller || records[piece].thread == caller;
        int at = 0;
        while (at < count && threads[at] != records[piece].thread) {
            at++;
        }
        if (at == count) {
            assert_true(count <= LANES);
            threads[count++] = records[piece].thread;
        }
    }
    return count;
}

static void the_caller_wakes_two_and_all_come(void **state)
{
    scene *s = *state;
    NEEDS_TEAM(s);
    int most = 0;
    bool came = false; /* others may have taken all of its share when it comes to it */
    for (int round = 0; round < 3 * LANES; round++) {
        bool by_caller = false;
        caller_cpu = round % LANES;
        const int threads = run(s, INT_MAX, PIECES, &by_caller);
        most = threads > most ? threads : most;
        came = came || by_caller;
        assert_true(atomic_load(&wakes_by_caller) <= 2);
    }
    assert_true(came);
    assert_int_equal(most, LANES);
}

static void a_caller_from_outside_wakes_one_and_all_come(void **state)
{
    scene *s = *state;
    NEEDS_TEAM(s);
    int most = 0;
    caller_cpu = 999;
    for (int round = 0; round < 20; round++) {
        bool by_caller = false;
        const int threads = run(s, INT_MAX, PIECES, &by_caller);
        most = threads > most ? threads : most;
        assert_false(by_caller);
        assert_true(atomic_load(&wakes_by_caller) <= 1);
    }
    assert_int_equal(most, LANES);
}

/* No more threads than lanes were judged to be worth while, whatever the number of pieces. */
static void no_more_take_part_than_was_said(void **state)
{
    scene *s = *state;
    NEEDS_TEAM(s);
    for (int lanes = 1; lanes <= LANES; lanes++) {
        for (int place = -1; place < LANES; place += 5) {
            bool by_caller = false;
            caller_cpu = place < 0 ? 999 : place;
            const int threads = run(s, lanes, PIECES, &by_caller);
            assert_true(threads <= lanes);
            assert_true(!by_caller || place >= 0 || lanes == 1);
        }
    }
}

/* Little work: most are called back before they are up, and the next call finds them as if nothing had been. */
static void who_is_called_back_comes_the_next_time(void **state)
{
    scene *s = *state;
    NEEDS_TEAM(s);
    for (int round = 0; round < 500; round++) {
        static record records[PIECES];
        const int pieces = 2 + round % 40;
        memset(records, 0, sizeof records);
        caller_cpu = round % 7 == 0 ? 999 : round % LANES;
        tnri_engine_run(&s->engine, 2 + round % LANES, pieces, do_piece, records);
        for (int piece = 0; piece < pieces; piece++) {
            assert_int_equal(records[piece].done, 1);
        }
        assert_int_equal(atomic_load(&s->engine.team->pending) & 0x7FFFFFFFU, 0);
        if (round % 50 == 0) {
            (void)usleep(1000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_caller_wakes_two_and_all_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_caller_from_outside_wakes_one_and_all_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_more_take_part_than_was_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_called_back_comes_the_next_time, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
