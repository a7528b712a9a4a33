/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork while other threads are inside calls over the same heap, pool, arena, tensor and machine: the child does the same things
 * with right results, and never waits for a lock that a thread which it does not have once held. Children tell by their exit
 * status, and an alarm ends one that hangs.
 */
#include "support/team_test.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "support/lease_fixture.h"

#if defined(__SANITIZE_THREAD__)
#define TSAN 1
#define ASAN 0
#elif defined(__SANITIZE_ADDRESS__)
#define TSAN 0
#define ASAN 1
#elif defined(__has_feature)
#define TSAN __has_feature(thread_sanitizer)
#define ASAN __has_feature(address_sanitizer)
#else
#define TSAN 0
#define ASAN 0
#endif

/* A sanitizer on a busy machine takes its time. */
enum { HANG_SECONDS = 30, FORKS = 200, HAMMERS = 2, PARTS = 4, PLACES = 3 };

static struct {
    fixture leased;
    tnr_view_mut parts[PARTS]; /* one of each hammer, one of the children, one of nobody */
    tnr_domain *heap;
    tnr_domain *pool;
    tnr_domain *arena;
    void *region;
    tnr_engine *engines[HAMMERS];
    tnr_engine *own;
    pthread_t threads[HAMMERS];
    atomic_bool stop;
    atomic_int rounds;
    atomic_int wrong;
} shared;

/* ---- What every thread and every child does ------------------------------------------------------------------------------------- */

static int make_and_release(tnr_domain *domain)
{
    const double seven = 7.0;
    tnr_tensor *made = NULL;
    if (tnr_tensor_full(domain, TNR_F64, 2, SHAPE(3, 3), &seven, &made) != TNR_OK) {
        return 1;
    }
    const bool right = all_are(made, 3, 7.0);
    return tnr_tensor_release(&made) == TNR_OK && right ? 0 : 2;
}

static int take_and_give_raw(tnr_domain *domain)
{
    tnr_block block;
    if (tnr_domain_allocate(domain, 200, 0, &block) != TNR_OK) {
        return 3;
    }
    memset(block.address, 1, 200);
    return tnr_domain_release(domain, &block) == TNR_OK ? 0 : 4;
}

static int compute(tnr_engine *engine)
{
    const double two = 2.0;
    tnr_tensor *input = NULL;
    tnr_tensor *output = NULL;
    tnr_view view;
    bool right = tnr_tensor_full(shared.heap, TNR_F64, 2, SHAPE(3, 3), &two, &input) == TNR_OK &&
                 tnr_tensor_view(input, &view) == TNR_OK && tnr_neg(engine, &view, &output) == TNR_OK &&
                 all_are(output, 3, -2.0);
    right = tnr_tensor_release(&output) == TNR_OK && right;
    return tnr_tensor_release(&input) == TNR_OK && right ? 0 : 5;
}

/* Large enough for the kernels of register tiles. */
static int multiply(tnr_engine *engine)
{
    enum { EXTENT = 32 };
    const double two = 2.0;
    tnr_tensor *factor = NULL;
    tnr_tensor *product = NULL;
    tnr_view view;
    bool right = tnr_tensor_full(shared.heap, TNR_F64, 2, SHAPE(EXTENT, EXTENT), &two, &factor) == TNR_OK &&
                 tnr_tensor_view(factor, &view) == TNR_OK &&
                 tnr_matmul(engine, &view, &view, NULL, &product) == TNR_OK && all_are(product, EXTENT, 4.0 * EXTENT);
    right = tnr_tensor_release(&product) == TNR_OK && right;
    return tnr_tensor_release(&factor) == TNR_OK && right ? 0 : 8;
}

static int write_part(int part)
{
    tnr_write_map map;
    if (tnr_map_write(&shared.parts[part], &map) != TNR_OK) {
        return 6;
    }
    *(double *)map.data += 1.0;
    return tnr_unmap_write(&map) == TNR_OK ? 0 : 7;
}

/* 0, or which of them went wrong. */
static int do_all(int part, tnr_engine *engine)
{
    tnr_domain *const places[PLACES] = {shared.heap, shared.pool, shared.arena};
    int wrong = 0;
    for (int place = 0; place < PLACES && wrong == 0; place++) {
        wrong = make_and_release(places[place]);
        wrong = wrong == 0 ? take_and_give_raw(places[place]) : wrong;
        wrong = wrong == 0 ? 0 : wrong + 10 * place;
    }
    wrong = wrong == 0 ? compute(engine) : wrong;
    wrong = wrong == 0 ? multiply(engine) : wrong;
    return wrong == 0 ? write_part(part) : wrong;
}

static void *hammer(void *argument)
{
    const int number = *(const int *)argument;
    while (!atomic_load(&shared.stop)) {
        const int wrong = do_all(number, shared.engines[number]);
        if (wrong != 0) {
            atomic_store(&shared.wrong, wrong);
        }
        atomic_fetch_add(&shared.rounds, 1);
    }
    return NULL;
}

/* ---- The test's own -------------------------------------------------------------------------------------------------------------- */

static tnr_engine *make_engine(tnr_domain *domain)
{
    tnr_engine *engine = NULL;
    OK(tnr_engine_create(domain, NULL, &engine));
    return engine;
}

static int set_up(void **state)
{
    static const int numbers[HAMMERS] = {0, 1};
    (void)state;
    memset(&shared, 0, sizeof shared);
    shared.leased = start();
    split_columns(shared.leased.tensor, shared.parts, PARTS);
    shared.heap = shared.leased.heap;
    OK(tnr_pool_create(shared.heap, NULL, &shared.pool));
    shared.arena = make_arena(&shared.region, 0);
    shared.own = make_engine(shared.heap);
    for (int at = 0; at < HAMMERS; at++) {
        shared.engines[at] = make_engine(shared.heap);
    }
    for (int at = 0; at < HAMMERS; at++) {
        void *number = (void *)(uintptr_t)&numbers[at];
        assert_int_equal(pthread_create(&shared.threads[at], NULL, hammer, number), 0);
    }
    while (atomic_load(&shared.rounds) < 10) {
        (void)sched_yield();
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atomic_store(&shared.stop, true);
    for (int at = 0; at < HAMMERS; at++) {
        assert_int_equal(pthread_join(shared.threads[at], NULL), 0);
        OK(tnr_engine_destroy(&shared.engines[at]));
    }
    OK(tnr_engine_destroy(&shared.own));
    close_domain(&shared.pool);
    close_domain(&shared.arena);
    free(shared.region);
    finish(&shared.leased);
    assert_int_equal(atomic_load(&shared.wrong), 0);
    return 0;
}

/* What a child's body answers; 100 and its signal when it was ended by one. */
static int answer_of_child(int (*body)(void *), void *argument)
{
    const pid_t child = fork();
    if (child < 0) {
        return 99;
    }
    if (child == 0) {
        (void)alarm(HANG_SECONDS);
        _exit(body(argument));
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child) {
        return 98;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int child_does_all(void *argument)
{
    (void)argument;
    int wrong = 0;
    for (int round = 0; round < 3 && wrong == 0; round++) {
        wrong = do_all(HAMMERS, shared.own);
    }
    return wrong;
}

static void children_do_what_other_threads_were_doing(void **state)
{
    (void)state;
    for (int at = 0; at < FORKS; at++) {
        assert_int_equal(answer_of_child(child_does_all, NULL), 0);
    }
}

/* ---- Other ways to fork ---------------------------------------------------------------------------------------------------------- */

static void *fork_often(void *answer)
{
    for (int at = 0; at < FORKS / 2 && *(int *)answer == 0; at++) {
        *(int *)answer = answer_of_child(child_does_all, NULL);
    }
    return NULL;
}

static void any_thread_may_fork(void **state)
{
    (void)state;
    pthread_t threads[2];
    int answers[2] = {0, 0};
    for (int at = 0; at < 2; at++) {
        assert_int_equal(pthread_create(&threads[at], NULL, fork_often, &answers[at]), 0);
    }
    for (int at = 0; at < 2; at++) {
        assert_int_equal(pthread_join(threads[at], NULL), 0);
        assert_int_equal(answers[at], 0);
    }
}

static int child_has_a_child(void *argument)
{
    const int wrong = child_does_all(argument);
    return wrong == 0 ? answer_of_child(child_does_all, argument) : wrong;
}

static void a_child_may_fork(void **state)
{
    (void)state;
    for (int at = 0; at < FORKS / 10; at++) {
        assert_int_equal(answer_of_child(child_has_a_child, NULL), 0);
    }
}

static int child_has_a_thread(void *argument)
{
    pthread_t thread;
    int answer = 0;
    (void)argument;
    if (pthread_create(&thread, NULL, fork_often, &answer) != 0) {
        return 50;
    }
    int wrong = 0;
    for (int round = 0; round < 100 && wrong == 0; round++) {
        wrong = do_all(HAMMERS + 1, shared.engines[0]);
    }
    return pthread_join(thread, NULL) == 0 && answer == 0 ? wrong : answer;
}

/* Threads that it starts come where its parent's were, and are listed like those. */
static void a_child_may_have_threads_and_fork(void **state)
{
    (void)state;
#if TSAN
    print_message("skipped: ThreadSanitizer ends a forked child that starts threads\n");
    skip();
#endif
    atomic_store(&shared.stop, true); /* nobody is inside an engine at the fork */
    for (int at = 0; at < HAMMERS; at++) {
        assert_int_equal(pthread_join(shared.threads[at], NULL), 0);
    }
    assert_int_equal(answer_of_child(child_has_a_thread, NULL), 0);
    atomic_store(&shared.stop, false);
    for (int at = 0; at < HAMMERS; at++) {
        static const int numbers[HAMMERS] = {0, 1};
        void *number = (void *)(uintptr_t)&numbers[at];
        assert_int_equal(pthread_create(&shared.threads[at], NULL, hammer, number), 0);
    }
}

/* ---- The program's own handlers -------------------------------------------------------------------------------------------------- */

static pthread_mutex_t around = PTHREAD_MUTEX_INITIALIZER;
static bool handlers_on; /* handlers stay for good */

static void lock_around(void) { (void)(handlers_on && pthread_mutex_lock(&around)); }

static void unlock_around(void) { (void)(handlers_on && pthread_mutex_unlock(&around)); }

static void *call_under_the_mutex(void *unused)
{
    (void)unused;
    while (!atomic_load(&shared.stop)) {
        (void)pthread_mutex_lock(&around);
        const int wrong = make_and_release(shared.heap) + make_and_release(shared.pool);
        (void)pthread_mutex_unlock(&around);
        if (wrong != 0) {
            atomic_store(&shared.wrong, wrong);
        }
    }
    return NULL;
}

/* A mutex that threads hold over calls, and that the program's handlers lock: fork has it first, then waits for the calls. */
static void a_program_may_lock_its_own_mutex_for_fork(void **state)
{
    (void)state;
    pthread_t thread;
    (void)alarm(4 * HANG_SECONDS);
    handlers_on = true;
    assert_int_equal(pthread_atfork(lock_around, unlock_around, unlock_around), 0);
    assert_int_equal(pthread_create(&thread, NULL, call_under_the_mutex, NULL), 0);
    for (int at = 0; at < FORKS; at++) {
        assert_int_equal(answer_of_child(child_does_all, NULL), 0);
    }
    atomic_store(&shared.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    handlers_on = false;
    (void)alarm(0);
}

/* ---- Threads that end ------------------------------------------------------------------------------------------------------------ */

static pthread_key_t last_words;

/* Runs when the library has unlisted the thread, and once more in the next round of destructors. */
static void compute_at_the_end(void *rounds)
{
    const int round = *(int *)rounds;
    const int wrong = make_and_release(shared.heap) + make_and_release(shared.pool) + make_and_release(shared.arena);
    if (wrong != 0) {
        atomic_store(&shared.wrong, wrong);
    }
    if (round > 1) {
        *(int *)rounds = round - 1;
        (void)pthread_setspecific(last_words, rounds);
    }
}

static void *live_briefly(void *rounds)
{
    const bool early = *(int *)rounds != 1; /* otherwise its first lock is one of its destructor's */
    if (pthread_setspecific(last_words, rounds) != 0 || (early && make_and_release(shared.heap) != 0)) {
        atomic_store(&shared.wrong, 60);
    }
    return NULL;
}

static void *come_and_go(void *unused)
{
    (void)unused;
    for (int at = 0; !atomic_load(&shared.stop); at++) {
        pthread_t thread;
        int rounds = 1 + at % 3;
        if (pthread_create(&thread, NULL, live_briefly, &rounds) != 0 || pthread_join(thread, NULL) != 0) {
            atomic_store(&shared.wrong, 61);
        }
        atomic_fetch_add(&shared.rounds, 1);
    }
    return NULL;
}

static void threads_may_end_while_another_forks(void **state)
{
    (void)state;
    pthread_t thread;
    const int before = atomic_load(&shared.rounds);
    assert_int_equal(pthread_key_create(&last_words, compute_at_the_end), 0);
    assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
    for (int at = 0; at < FORKS; at++) {
        assert_int_equal(answer_of_child(child_does_all, NULL), 0);
    }
    while (atomic_load(&shared.rounds) < before + 100) {
        (void)sched_yield();
    }
    atomic_store(&shared.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_key_delete(last_words), 0);
}

/* ---- What stays taken ------------------------------------------------------------------------------------------------------------ */

static int child_uses_what_others_used(void *answers)
{
    const tnr_view_mut *part = &shared.parts[0];
    tnr_write_map map;
    tnr_tensor *input = NULL;
    tnr_tensor *output = NULL;
    tnr_view view;
    (void)answers;
    const tnr_status leased = tnr_map_write(part, &map);
    if (leased != TNR_OK && leased != TNR_ERR_BUSY) {
        return 70;
    }
    if (tnr_tensor_zeros(shared.heap, TNR_F64, 2, SHAPE(3, 3), &input) != TNR_OK ||
        tnr_tensor_view(input, &view) != TNR_OK) {
        return 71;
    }
    const tnr_status first = tnr_neg(shared.engines[0], &view, &output);
    if (first != TNR_OK && first != TNR_ERR_BUSY) {
        return 72;
    }
    tnr_tensor *again = NULL;
    if (tnr_neg(shared.engines[0], &view, &again) != first) {
        return 73;
    }
    return 0;
}

static void what_another_thread_used_is_busy_or_works(void **state)
{
    (void)state;
    for (int at = 0; at < FORKS; at++) {
        assert_int_equal(answer_of_child(child_uses_what_others_used, NULL), 0);
    }
}

/* ---- Topologies ------------------------------------------------------------------------------------------------------------------ */

static int discover(void)
{
    tnr_topology *topology = NULL;
    return tnr_topology_create(shared.heap, NULL, &topology) == TNR_OK && tnr_topology_destroy(&topology) == TNR_OK
               ? 0
               : 85;
}

static void *discover_often(void *unused)
{
    (void)unused;
    while (!atomic_load(&shared.stop)) {
        if (discover() != 0) {
            atomic_store(&shared.wrong, 86);
        }
    }
    return NULL;
}

static int child_discovers(void *unused)
{
    (void)unused;
    return discover();
}

static void a_child_may_discover_what_another_thread_was_discovering(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, discover_often, NULL), 0);
    for (int at = 0; at < FORKS / 4; at++) {
        assert_int_equal(answer_of_child(child_discovers, NULL), 0);
    }
    atomic_store(&shared.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- A machine's engine that is being made ----------------------------------------------------------------------------------------- */

static atomic_bool begun;

static void *make_first_engine(void *machine)
{
    tnr_engine *engine = NULL;
    atomic_store(&begun, true);
    if (tnr_machine_engine(machine, TNR_NONE, &engine) != TNR_OK) {
        atomic_store(&shared.wrong, 80);
    }
    return NULL;
}

static int child_wants_the_engine(void *machine)
{
    tnr_engine *engine = NULL;
    tnr_domain *domain = NULL;
    const tnr_cpu_set first = only(usable_cpu(0));
    if (sched_setaffinity(0, sizeof first, (const cpu_set_t *)(const void *)&first) != 0) {
        return 82;
    }
    if (tnr_machine_engine(machine, TNR_NONE, &engine) != TNR_OK ||
        tnr_machine_domain(machine, tnr_machine_node_at(machine, 0), &domain) != TNR_OK) {
        return 81;
    }
    const int wrong = compute(engine);
    return wrong == 0 ? make_and_release(domain) : wrong;
}

static void an_engine_that_was_being_made_is_made_anew(void **state)
{
    (void)state;
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    /* The child binds itself to the one CPU and needs no thread: a sanitizer ends a forked child that starts some. */
    options.workers = 1;
    tnr_topology *topology = make_topology(shared.heap);
    for (int at = 0; at < FORKS / 4; at++) {
        tnr_machine *machine = NULL;
        pthread_t thread;
        OK(tnr_machine_create(shared.heap, topology, &options, &machine));
        atomic_store(&begun, false);
        assert_int_equal(pthread_create(&thread, NULL, make_first_engine, machine), 0);
        while (!atomic_load(&begun)) {
            (void)sched_yield();
        }
        for (volatile int wait = 0; wait < at * 400; wait++) { /* forks at different moments of the making */
        }
        assert_int_equal(answer_of_child(child_wants_the_engine, machine), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        OK(tnr_machine_destroy(&machine));
    }
    OK(tnr_topology_destroy(&topology));
}

int main(void)
{
#if ASAN
    print_message(
        "skipped: AddressSanitizer's allocator may be held by another thread at a fork, and a child waits for it\n");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(children_do_what_other_threads_were_doing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_thread_may_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child_may_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child_may_have_threads_and_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_program_may_lock_its_own_mutex_for_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_may_end_while_another_forks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_another_thread_used_is_busy_or_works, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child_may_discover_what_another_thread_was_discovering, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_engine_that_was_being_made_is_made_anew, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
