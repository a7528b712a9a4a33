/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several engines at once, and several threads at one engine: results are right or the answer is "busy", and there are no more
 * threads than engines were given CPUs.
 */
#include "support/team_test.h"

#include <stdatomic.h>
#include <sys/wait.h>

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

/* ---- Four engines ---------------------------------------------------------------------------------------------------------------- */

enum { CALLERS = 4, ROUNDS = 30, N = 64 };

typedef struct caller {
    tnr_engine *engine;
    tnr_view ones;
    tnr_view wide;
    int wrong;
    int most_threads;
    pthread_t thread;
} caller;

static bool f64_is(tnr_tensor **made, int64_t count, double value)
{
    const void *data;
    bool good = tnr_tensor_host_data(*made, &data) == TNR_OK;
    for (int64_t i = 0; good && i < count; i++) {
        good = ((const double *)data)[i] == value;
    }
    return tnr_tensor_release(made) == TNR_OK && good;
}

static void add_piece(void *context, int64_t piece)
{
    double *numbers = context;
    for (int i = 0; i < 1000; i++) {
        numbers[piece * 1000 + i] += 1.0;
    }
}

static bool pieces_add_up(tnr_engine *engine)
{
    double *numbers = calloc(64 * 1000, sizeof *numbers);
    bool good = numbers != NULL;
    for (int round = 0; good && round < 3; round++) {
        tnri_engine_run(engine, INT_MAX, 64, add_piece, numbers);
    }
    for (int i = 0; good && i < 64 * 1000; i++) {
        good = numbers[i] == 3.0;
    }
    free(numbers);
    return good;
}

static bool operations_are_right(const caller *own)
{
    const int both[2] = {0, 1};
    tnr_tensor *made = NULL;
    tnr_engine *engine = own->engine;
    const int64_t count = own->wide.shape[0] * own->wide.shape[1];
    bool good = tnr_matmul(engine, &own->ones, &own->ones, NULL, &made) == TNR_OK && f64_is(&made, N * N, N);
    good = good && tnr_add(engine, &own->wide, &own->wide, &made) == TNR_OK && f64_is(&made, count, 2);
    good = good && tnr_sum(engine, &own->wide, both, 2, &made) == TNR_OK && f64_is(&made, 1, (double)count);
    good = good && tnr_sum(engine, &own->wide, both, 1, &made) == TNR_OK &&
           f64_is(&made, own->wide.shape[1], (double)own->wide.shape[0]);
    return good && tnr_permute(engine, &own->wide, NULL, &made) == TNR_OK && f64_is(&made, count, 1);
}

static void *compute(void *argument)
{
    caller *own = argument;
    for (int round = 0; round < ROUNDS; round++) {
        own->wrong += operations_are_right(own) ? 0 : 1;
        own->wrong += pieces_add_up(own->engine) ? 0 : 1;
        const int threads = count_threads();
        own->most_threads = threads > own->most_threads ? threads : own->most_threads;
    }
    return NULL;
}

/* Rows PT-07 (disjoint sets of CPUs work side by side) and PT-08 (no more threads than were asked for). */
static void bugs_pt_07_pt_08_four_engines_at_once(void **state)
{
    (void)state;
    caller callers[CALLERS];
    const double one = 1.0;
    tnr_tensor *ones = make_ones(heap, N);
    tnr_tensor *wide = NULL;
    OK(tnr_tensor_full(heap, TNR_F64, 2, SHAPE(400, 300), &one, &wide));
    int bound = count_threads() + CALLERS;
    for (int i = 0; i < CALLERS; i++) { /* one CPU, another, all, all again */
        const int cpu = usable_cpu(i);
        const tnr_cpu_set set = only(cpu != TNR_NONE ? cpu : usable_cpu(0));
        callers[i] = (caller){.engine = make_team(heap, topology, i < 2 ? &set : NULL)};
        callers[i].ones = view_of(ones);
        callers[i].wide = view_of(wide);
        bound += info_of(callers[i].engine).workers;
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_create(&callers[i].thread, NULL, compute, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].wrong, 0);
        assert_true(callers[i].most_threads <= bound);
    }
    for (int i = 0; i < CALLERS; i++) {
        OK(tnr_engine_destroy(&callers[i].engine));
    }
    release(&ones);
    release(&wide);
}

/* ---- PT-08: a library that binds the first thread -------------------------------------------------------------------------------- */

static void note_cpu(void *context, int64_t piece)
{
    ((int *)context)[piece] = sched_getcpu();
    (void)usleep(2000);
}

/* In the program started anew: workers are on both of their CPUs, whatever the caller was bound to. */
static int workers_report_their_cpus(const char *list)
{
    int seen[32];
    int count = 0;
    tnr_cpu_set cpus;
    if (tnr_cpu_set_parse(list, &cpus) != TNR_OK) {
        return 10;
    }
    const tnr_cpu_set now = affinity();
    if (!tnr_cpu_set_within(&cpus, &now) &&
        sched_setaffinity(0, sizeof cpus, (const cpu_set_t *)(const void *)&cpus) != 0) {
        return 11;
    }
    tnr_domain *home = make_heap();
    tnr_topology *mine = make_topology(home);
    tnr_engine *engine = make_team(home, mine, &cpus);
    const tnr_cpu_set first = only(tnr_cpu_set_next(&cpus, TNR_NONE));
    (void)bind_to(&first); /* as such a library does */
    tnri_engine_run(engine, INT_MAX, 32, note_cpu, seen);
    tnr_cpu_set found = {{0}};
    for (int i = 0; i < 32; i++) {
        OK(tnr_cpu_set_add(&found, seen[i]));
    }
    count = tnr_cpu_set_count(&found);
    OK(tnr_engine_destroy(&engine));
    OK(tnr_topology_destroy(&mine));
    close_domain(&home);
    return count == 2 && tnr_cpu_set_within(&found, &cpus) ? 0 : 12;
}

static void bugs_pt_08_openmp_that_binds_does_not_gather_the_workers(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    char list[64];
    (void)snprintf(list, sizeof list, "%d,%d", usable_cpu(0), usable_cpu(1));
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv("OMP_PROC_BIND", "true", 1);
        (void)setenv("TEAM_TEST_CPUS", list, 1);
        (void)execl("/proc/self/exe", "team_threads", (char *)NULL);
        _exit(99);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- MM-11: one engine, many threads ---------------------------------------------------------------------------------------------- */

enum { CROWD = 64, CROWD_ROUNDS = 50, SMALL = 50 };

static tnr_engine *crowded;
static tnr_view crowd_ones;
static atomic_int crowd_right;
static atomic_int crowd_busy;
static atomic_int crowd_wrong;

static void *press_in(void *argument)
{
    (void)argument;
    for (int round = 0; round < CROWD_ROUNDS; round++) {
        tnr_tensor *made = NULL;
        const tnr_status status = tnr_matmul(crowded, &crowd_ones, &crowd_ones, NULL, &made);
        if (status == TNR_ERR_BUSY) {
            atomic_fetch_add(&crowd_busy, 1);
        } else if (status == TNR_OK && all_are(made, SMALL, SMALL)) {
            atomic_fetch_add(&crowd_right, 1);
        } else {
            atomic_fetch_add(&crowd_wrong, 1);
        }
        if (tnr_tensor_release(&made) != TNR_OK) {
            atomic_fetch_add(&crowd_wrong, 1);
        }
    }
    return NULL;
}

static void bugs_mm_11_a_crowd_gets_results_or_busy(void **state)
{
    (void)state;
    pthread_t threads[CROWD];
    tnr_tensor *ones = make_ones(heap, SMALL);
    crowd_ones = view_of(ones);
    crowded = make_team(heap, topology, NULL);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, press_in, NULL), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(crowd_wrong, 0);
    assert_true(crowd_right > 0);
    assert_int_equal(crowd_right + crowd_busy, CROWD * CROWD_ROUNDS);
    OK(tnr_engine_destroy(&crowded));
    release(&ones);
}

int main(void)
{
    const char *list = getenv("TEAM_TEST_CPUS");
    if (list != NULL) {
        return workers_report_their_cpus(list);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bugs_pt_07_pt_08_four_engines_at_once),
        cmocka_unit_test(bugs_pt_08_openmp_that_binds_does_not_gather_the_workers),
        cmocka_unit_test(bugs_mm_11_a_crowd_gets_results_or_busy),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
