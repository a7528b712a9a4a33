/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines and fork: a child has none of the workers, and gets right results or an error, never a hang; the parent does not
 * notice. Children tell by their exit status, and an alarm ends one that hangs.
 */
#include "support/team_test.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "engine/engine_internal.h"

enum { HANG_SECONDS = 30 }; /* BUGS.md says 10; a sanitizer on a busy machine takes its time */

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

/* What the child's function answers, 0 for good. */
static void expect_child(int (*body)(tnr_engine **), tnr_engine *engine)
{
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(HANG_SECONDS);
        _exit(body(&engine));
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        print_error("child: %s %d\n", WIFEXITED(status) ? "exit status" : "ended by signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        fail();
    }
}

static void add_piece(void *context, int64_t piece) { ((int *)context)[piece] += (int)piece; }

/* Every piece, whether by workers or alone. */
static bool pieces_add_up(tnr_engine *engine)
{
    static int numbers[1000];
    memset(numbers, 0, sizeof numbers);
    tnri_engine_run(engine, INT_MAX, 1000, add_piece, numbers);
    for (int i = 0; i < 1000; i++) {
        if (numbers[i] != i) {
            return false;
        }
    }
    return true;
}

static bool product_is(tnr_engine *engine, int64_t n)
{
    tnr_tensor *ones = NULL;
    tnr_tensor *made = NULL;
    tnr_view view;
    const double one = 1.0;
    bool good = tnr_tensor_full(heap, TNR_F64, 2, SHAPE(n, n), &one, &ones) == TNR_OK &&
                tnr_tensor_view(ones, &view) == TNR_OK && tnr_matmul(engine, &view, &view, NULL, &made) == TNR_OK &&
                all_are(made, n, (double)n);
    good = tnr_tensor_release(&made) == TNR_OK && good;
    return tnr_tensor_release(&ones) == TNR_OK && good;
}

static int child_multiplies_and_ends(tnr_engine **engine)
{
    if (!product_is(*engine, 8)) {
        return 1;
    }
    if (!pieces_add_up(*engine)) {
        return 2;
    }
    if (tnr_engine_destroy(engine) != TNR_OK || *engine != NULL) {
        return 3;
    }
    return 0;
}

static void bugs_mm_12_a_forked_child_computes(void **state)
{
    (void)state;
    for (int asleep = 0; asleep < 2; asleep++) {
        tnr_engine *engine = make_team(heap, topology, NULL);
        assert_true(product_is(engine, 64));
        assert_true(pieces_add_up(engine));
        if (asleep != 0) {
            (void)usleep(5000);
        }
        expect_child(child_multiplies_and_ends, engine);
        assert_true(product_is(engine, 64));
        assert_true(pieces_add_up(engine));
        OK(tnr_engine_destroy(&engine));
    }
}

/* A caller from outside the engine's CPUs has nothing done by itself, but in a child there is nobody else. */
static void a_child_of_a_caller_from_outside_computes(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    const tnr_cpu_set here = only(usable_cpu(0));
    const tnr_cpu_set there = only(usable_cpu(1));
    const tnr_cpu_set before = bind_to(&here);
    tnr_engine *engine = make_team(heap, topology, &there);
    assert_true(pieces_add_up(engine));
    expect_child(child_multiplies_and_ends, engine);
    assert_true(pieces_add_up(engine));
    OK(tnr_engine_destroy(&engine));
    (void)bind_to(&before);
}

/* ---- The same number in another namespace ------------------------------------------------------------------------------------- */

enum { NO_NAMESPACES = 42 };

/* A child's exit status. The first process of a namespace cannot be ended by its own alarm: one that hangs is 98. */
static int status_within(pid_t child)
{
    int status = 0;
    for (int tries = 0; tries < HANG_SECONDS * 100; tries++) {
        if (waitpid(child, &status, WNOHANG) == child) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
        }
        (void)usleep(10000);
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
    return 98;
}

/* Number 1 in its namespace, with a team that it only waits for; its child is number 1 in the next. */
static int first_of_its_namespace(void)
{
    tnr_engine *engine = NULL;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    const tnr_cpu_set here = only(usable_cpu(0));
    const tnr_cpu_set there = only(usable_cpu(1));
    options.topology = topology;
    options.cpus = &there;
    (void)bind_to(&here);
    if (getpid() != 1 || tnr_engine_create(heap, &options, &engine) != TNR_OK || !pieces_add_up(engine)) {
        return 10;
    }
    if (unshare(CLONE_NEWPID) != 0) {
        return NO_NAMESPACES;
    }
    const pid_t child = fork();
    if (child == 0) {
        _exit(getpid() == 1 ? child_multiplies_and_ends(&engine) : 11);
    }
    const int status = child < 0 ? 12 : status_within(child);
    return status != 0 ? status : pieces_add_up(engine) && tnr_engine_destroy(&engine) == TNR_OK ? 0 : 13;
}

static void a_child_of_the_same_number_computes(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    (void)fflush(NULL);
    const pid_t between = fork(); /* whoever goes into another namespace starts no thread any more */
    assert_true(between >= 0);
    if (between == 0) {
        const pid_t first = unshare(CLONE_NEWPID) == 0 ? fork() : -1;
        if (first == 0) {
            _exit(first_of_its_namespace());
        }
        _exit(first < 0 ? NO_NAMESPACES : status_within(first));
    }
    const int status = status_within(between);
    if (status == NO_NAMESPACES) {
        print_message("skipped: this process may not make PID namespaces\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* ---- A thread is inside ----------------------------------------------------------------------------------------------------------- */

static atomic_int inside;
static atomic_int may_go;

static void wait_inside(void *context, int64_t piece)
{
    (void)context;
    (void)piece;
    atomic_store(&inside, 1);
    while (atomic_load(&may_go) == 0) {
        (void)usleep(100);
    }
}

static void *stay_inside(void *engine)
{
    if (tnri_engine_enter("test", engine, true) == TNR_OK) {
        tnri_engine_run(engine, INT_MAX, 2, wait_inside, NULL);
        (void)tnri_engine_leave(engine, TNR_OK);
    }
    return NULL;
}

static tnr_view operand;

static int child_is_told_busy(tnr_engine **engine)
{
    tnr_tensor *made = NULL;
    if (tnr_add(*engine, &operand, &operand, &made) != TNR_ERR_BUSY || made != NULL) {
        return 1;
    }
    if (tnr_engine_destroy(engine) != TNR_ERR_BUSY || *engine == NULL) {
        return 2;
    }
    return 0;
}

static void a_child_forked_while_a_thread_is_inside_is_told(void **state)
{
    (void)state;
    pthread_t thread;
    tnr_tensor *ones = make_ones(heap, 4);
    operand = view_of(ones);
    tnr_engine *engine = make_team(heap, topology, NULL);
    atomic_store(&inside, 0);
    atomic_store(&may_go, 0);
    assert_int_equal(pthread_create(&thread, NULL, stay_inside, engine), 0);
    while (atomic_load(&inside) == 0) {
        (void)usleep(100);
    }
    expect_child(child_is_told_busy, engine);
    EXPECT(TNR_ERR_BUSY, tnr_engine_destroy(&engine));
    atomic_store(&may_go, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(pieces_add_up(engine));
    OK(tnr_engine_destroy(&engine));
    release(&ones);
}

/* ---- A machine ---------------------------------------------------------------------------------------------------------------------- */

static tnr_machine *machine;

static int child_ends_the_machine(tnr_engine **engine)
{
    if (!pieces_add_up(*engine)) {
        return 1;
    }
    return tnr_machine_destroy(&machine) == TNR_OK && machine == NULL ? 0 : 2;
}

static void a_child_may_end_its_copy_of_a_machine(void **state)
{
    (void)state;
    tnr_engine *engine = NULL;
    OK(tnr_machine_create(heap, topology, NULL, &machine));
    OK(tnr_machine_engine(machine, TNR_NONE, &engine));
    expect_child(child_ends_the_machine, engine);
    assert_true(pieces_add_up(engine));
    OK(tnr_machine_destroy(&machine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bugs_mm_12_a_forked_child_computes),
        cmocka_unit_test(a_child_of_a_caller_from_outside_computes),
        cmocka_unit_test(a_child_of_the_same_number_computes),
        cmocka_unit_test(a_child_forked_while_a_thread_is_inside_is_told),
        cmocka_unit_test(a_child_may_end_its_copy_of_a_machine),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
