/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What making a team does when the system refuses: every call that can fail fails in turn. No engine then, no thread and no
 * memory left, and the next try works.
 *
 * wraps: pthread_attr_init pthread_attr_setaffinity_np pthread_create pthread_getaffinity_np pthread_sigmask sched_getcpu
 */
#include "support/team_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/engine_internal.h"

/* The call of that number from now on fails with `error`; 0: none. `seen` counts calls. */
typedef struct fault {
    int at;
    int error;
    int seen;
} fault;

static fault attr_init;
static fault attr_affinity;
static fault create;
static fault read_back;
static fault mask;
static fault caller_cpu;
static bool misplace; /* the pin that is read back is another than was asked for */

/* Faults are the main thread's: a sanitizer calls some of these functions from threads that are just starting. */
static int fails(fault *it)
{
    if (syscall(SYS_gettid) != getpid()) {
        return 0;
    }
    it->seen++;
    return it->at != 0 && --it->at == 0 ? it->error : 0;
}

int __real_pthread_attr_init(pthread_attr_t *attributes);                                            /* NOLINT */
int __real_pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *s); /* NOLINT */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int __real_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set);                    /* NOLINT */
int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);                             /* NOLINT */
int __real_sched_getcpu(void);                                                                       /* NOLINT */
int __wrap_pthread_attr_init(pthread_attr_t *attributes);                                            /* NOLINT */
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *s); /* NOLINT */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int __wrap_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set); /* NOLINT */
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);          /* NOLINT */
int __wrap_sched_getcpu(void);                                                    /* NOLINT */

int __wrap_pthread_attr_init(pthread_attr_t *attributes)
{
    const int error = fails(&attr_init);
    return error != 0 ? error : __real_pthread_attr_init(attributes);
}

int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *s)
{
    const int error = fails(&attr_affinity);
    return error != 0 ? error : __real_pthread_attr_setaffinity_np(attributes, size, s);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument)
{
    const int error = fails(&create);
    return error != 0 ? error : __real_pthread_create(thread, attributes, body, argument);
}

int __wrap_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set)
{
    const int error = fails(&read_back);
    if (error != 0) {
        return error;
    }
    const int answer = __real_pthread_getaffinity_np(thread, size, set);
    if (misplace) {
        ((unsigned char *)set)[20] |= 1U;
    }
    return answer;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    const int error = fails(&mask);
    return error != 0 ? error : __real_pthread_sigmask(how, set, old);
}

int __wrap_sched_getcpu(void)
{
    const int error = fails(&caller_cpu);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return __real_sched_getcpu();
}

/* ---- Tests ---------------------------------------------------------------------------------------------------------------------- */

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

static void add_piece(void *context, int64_t piece) { ((int *)context)[piece] += 1; }

static void works(tnr_engine *engine)
{
    int numbers[100] = {0};
    tnri_engine_run(engine, INT_MAX, 100, add_piece, numbers);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(numbers[i], 1);
    }
}

static tnr_status try_to_make(const tnr_engine_options *options, tnr_engine **engine)
{
    *engine = untouched();
    const tnr_status status = tnr_engine_create(heap, options, engine);
    if (status != TNR_OK) {
        assert_ptr_equal(*engine, untouched());
    }
    return status;
}

/* On CPUs of which the last is not the caller's, so that threads are made for one CPU too. */
static tnr_cpu_set last_cpus(int count)
{
    tnr_cpu_set set = {{0}};
    for (int i = 0; i < count; i++) {
        OK(tnr_cpu_set_add(&set, usable_cpu(i)));
    }
    return set;
}

static void each_failure(fault *it, int error, const char *text)
{
    const int threads = count_threads();
    const tnr_domain_statistics before = statistics_of(heap);
    const int most = usable_cpu(1) != TNR_NONE ? 2 : 1;
    for (int cpus = 1; cpus <= most; cpus++) {
        const tnr_cpu_set set = last_cpus(cpus);
        tnr_engine_options options = TNR_ENGINE_OPTIONS;
        options.topology = topology;
        options.cpus = &set;
        options.scratch_bytes = 4096;
        tnr_engine *engine = NULL;
        if (cpus == 1 && most == 1) {
            continue; /* bound to that CPU, the caller needs no thread */
        }
        for (int at = 1; at <= cpus; at++) {
            const tnr_ledger ledger = ledger_of(heap);
            sigset_t signals_before;
            sigset_t signals_after;
            (void)sigemptyset(&signals_before);
            (void)sigemptyset(&signals_after);
            (void)__real_pthread_sigmask(SIG_SETMASK, NULL, &signals_before);
            it->at = at;
            it->error = error;
            const tnr_status status = try_to_make(&options, &engine);
            if (it == &mask && at == 2) { /* the second call gives the signals back, and its answer is nobody's */
                assert_int_equal(status, TNR_OK);
                OK(tnr_engine_destroy(&engine));
                (void)__real_pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
                continue;
            }
            assert_int_equal(status, TNR_ERR_BACKEND);
            TEXT_HAS(text);
            assert_int_equal(it->at, 0);
            assert_true(threads_become(threads));
            SAME_STATISTICS(heap, &before);
            const tnr_ledger ledger_after = ledger_of(heap);
            assert_memory_equal(&ledger, &ledger_after, sizeof ledger);
            (void)__real_pthread_sigmask(SIG_SETMASK, NULL, &signals_after);
            for (int number = 1; number < 32; number++) {
                assert_int_equal(sigismember(&signals_before, number), sigismember(&signals_after, number));
            }
        }
        OK(tnr_engine_create(heap, &options, &engine));
        works(engine);
        OK(tnr_engine_destroy(&engine));
        assert_true(threads_become(threads));
    }
}

static void no_thread_to_be_had(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    each_failure(&create, EAGAIN, "enough threads");
    each_failure(&create, EINVAL, "may not use it");
    each_failure(&create, EPERM, "(1)");
}

static void attributes_fail(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    each_failure(&attr_init, ENOMEM, "(12)");
    each_failure(&attr_affinity, ENOMEM, "(12)");
}

static void the_pin_cannot_be_read_back(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    each_failure(&read_back, ESRCH, "read back");
}

static void signals_cannot_be_blocked(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    each_failure(&mask, EINVAL, "signals");
}

static void the_pin_is_another(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    const int threads = count_threads();
    const tnr_cpu_set set = last_cpus(2);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine *engine;
    options.topology = topology;
    options.cpus = &set;
    misplace = true;
    const tnr_status status = try_to_make(&options, &engine);
    misplace = false;
    assert_int_equal(status, TNR_ERR_BACKEND);
    TEXT_HAS("lets it run on 2 CPUs");
    assert_true(threads_become(threads));
}

/* A caller of whom the system does not tell where it runs counts as one from outside. */
static void an_unknown_caller_waits_for_the_workers(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    tnr_engine *engine = make_team(heap, topology, NULL);
    for (int round = 0; round < 10; round++) {
        caller_cpu.at = 1;
        caller_cpu.error = ENOSYS;
        works(engine);
        assert_int_equal(caller_cpu.at, 0);
    }
    OK(tnr_engine_destroy(&engine));
}

/* Every block of the engine's domain in turn cannot be had. */
static void no_block_to_be_had(void **state)
{
    (void)state;
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.topology = topology;
    options.scratch_bytes = 4096;
    const int threads = count_threads();
    for (uint64_t at = 1; at <= 3; at++) { /* team, plans, scratch */
        tnr_engine *engine = untouched();
        const tnr_domain_statistics before = statistics_of(heap);
        memory.fail_allocate = at;
        EXPECT(TNR_ERR_MEMORY, tnr_engine_create(domain, &options, &engine));
        assert_ptr_equal(engine, untouched());
        assert_true(threads_become(threads));
        assert_true(memory.allocates == memory.releases);
        SAME_STATISTICS(heap, &before);
    }
    memory.fail_allocate = 4;
    tnr_engine *engine = NULL;
    OK(tnr_engine_create(domain, &options, &engine));
    memory.fail_allocate = 0;
    works(engine);
    OK(tnr_engine_destroy(&engine));
    close_domain(&domain);
}

/* The machine's making is all or nothing too, and the next one who asks tries anew. */
static void a_machine_makes_its_engine_later(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    tnr_machine *machine = NULL;
    tnr_engine *engine = untouched();
    tnr_domain *domain = NULL;
    OK(tnr_machine_create(heap, topology, NULL, &machine));
    const int node = tnr_machine_node_at(machine, 0);
    const tnr_domain_statistics before = statistics_of(heap);
    for (int asked_before = 0; asked_before < 2; asked_before++) {
        if (asked_before != 0) {
            OK(tnr_machine_domain(machine, node, &domain));
        }
        const tnr_domain_statistics now = statistics_of(heap);
        create.at = 1;
        create.error = EAGAIN;
        EXPECT(TNR_ERR_BACKEND, tnr_machine_engine(machine, node, &engine));
        assert_ptr_equal(engine, untouched());
        SAME_STATISTICS(heap, asked_before != 0 ? &now : &before);
        if (asked_before != 0) {
            tnr_domain *again = NULL;
            OK(tnr_machine_domain(machine, node, &again));
            assert_ptr_equal(again, domain);
        }
    }
    OK(tnr_machine_engine(machine, node, &engine));
    works(engine);
    OK(tnr_machine_destroy(&machine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_thread_to_be_had),         cmocka_unit_test(attributes_fail),
        cmocka_unit_test(the_pin_cannot_be_read_back), cmocka_unit_test(signals_cannot_be_blocked),
        cmocka_unit_test(the_pin_is_another),          cmocka_unit_test(an_unknown_caller_waits_for_the_workers),
        cmocka_unit_test(no_block_to_be_had),          cmocka_unit_test(a_machine_makes_its_engine_later),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
