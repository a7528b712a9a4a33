/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In whose place a caller works: that of the worker on its core, whichever of the core's CPUs it is on, bound or not. The cores
 * are those of a described machine; the CPUs are this one's.
 */
#include "support/team_test.h"

#include "engine/team_threads_internal.h"

static tnr_domain *heap;

static int set_up(void **state)
{
    (void)state;
    start_a_thread();
    heap = make_heap();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_domain(&heap);
    return 0;
}

/* This process's first two CPUs, as one core or two of one thread each. */
static tnr_topology *describe(bool one_core)
{
    tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
    tnr_topology *topology = NULL;
    char text[80];
    (void)snprintf(text, sizeof text, "core:%d pu:%d(indexes=%d,%d)", one_core ? 1 : 2, one_core ? 2 : 1, usable_cpu(0),
                   usable_cpu(1));
    options.synthetic = text;
    const tnr_status status = tnr_topology_create(heap, &options, &topology);
    if (status == TNR_ERR_UNSUPPORTED) {
        print_message("skipped: this build has no hwloc to read descriptions of machines\n");
        skip();
    }
    OK(status);
    return topology;
}

static tnri_team *start(tnr_topology *topology, const tnr_cpu_set *cpus, void **block)
{
    uint64_t bytes = 0;
    tnri_team *team = NULL;
    OK(tnri_team_need(topology, cpus, &bytes));
    *block = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    assert_non_null(*block);
    OK(tnri_team_start("test", *block, topology, cpus, &team));
    return team;
}

static int place_on(const tnri_team *team, int cpu)
{
    const tnr_cpu_set one = only(cpu);
    const tnr_cpu_set before = bind_to(&one);
    const int place = tnri_team_place(team);
    (void)bind_to(&before);
    return place;
}

static void the_other_cpu_of_a_core_is_as_good(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    tnr_topology *topology = describe(true);
    for (int own = 0; own < 2; own++) {
        void *block = NULL;
        const tnr_cpu_set cpus = only(usable_cpu(own));
        tnr_cpu_set both = only(usable_cpu(0));
        OK(tnr_cpu_set_add(&both, usable_cpu(1)));
        const tnr_cpu_set before = bind_to(&both);
        tnri_team *team = start(topology, &cpus, &block);
        assert_false(tnri_team_threads(team)); /* bound to the core, as a scheduler binds */
        assert_int_equal(place_on(team, usable_cpu(0)), 0);
        assert_int_equal(place_on(team, usable_cpu(1)), 0);
        tnri_team_stop(team);
        free(block);
        (void)bind_to(&before);
    }
    OK(tnr_topology_destroy(&topology));
}

static void both_cpus_of_a_core_have_their_own(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    tnr_topology *topology = describe(true);
    void *block = NULL;
    tnr_cpu_set both = only(usable_cpu(0));
    OK(tnr_cpu_set_add(&both, usable_cpu(1)));
    tnri_team *team = start(topology, &both, &block);
    assert_true(tnri_team_threads(team));
    assert_int_equal(place_on(team, usable_cpu(0)), 0);
    assert_int_equal(place_on(team, usable_cpu(1)), 1);
    tnri_team_stop(team);
    free(block);
    OK(tnr_topology_destroy(&topology));
}

/* On a core of the team's it takes part, elsewhere it does not; its binding has no say. */
static void where_the_caller_is_decides(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    tnr_topology *topology = describe(false);
    void *block = NULL;
    const tnr_cpu_set first = only(usable_cpu(0));
    const tnr_cpu_set before = affinity();
    tnri_team *team = start(topology, &first, &block);
    assert_true(tnri_team_threads(team)); /* this thread may run elsewhere too */
    assert_int_equal(place_on(team, usable_cpu(0)), 0);
    assert_int_equal(place_on(team, usable_cpu(1)), -1);
    bool met[2] = {false, false};
    for (int tries = 0; tries < 2000 && !(met[0] && met[1]); tries++) {
        const tnr_cpu_set here = only(usable_cpu(tries % 2));
        (void)bind_to(&here);   /* go there, */
        (void)bind_to(&before); /* and be free to leave */
        const int cpu = sched_getcpu();
        const int place = tnri_team_place(team);
        if (cpu == sched_getcpu()) { /* nobody moved it meanwhile */
            assert_int_equal(place, cpu == usable_cpu(0) ? 0 : -1);
            met[place == 0 ? 0 : 1] = true;
        }
    }
    assert_true(met[0] && met[1]);
    tnri_team_stop(team);
    free(block);
    OK(tnr_topology_destroy(&topology));
}

/* For those who look at a process's threads: each worker's name tells its CPU. */
static void workers_have_names(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    tnr_topology *topology = describe(false);
    void *block = NULL;
    tnr_cpu_set both = only(usable_cpu(0));
    OK(tnr_cpu_set_add(&both, usable_cpu(1)));
    tnri_team *team = start(topology, &both, &block);
    for (int lane = 0; lane < 2; lane++) {
        char expected[32];
        char name[32] = "";
        (void)snprintf(expected, sizeof expected, "tenure-%d", usable_cpu(lane));
        for (int tries = 0; tries < 2000 && strcmp(name, expected) != 0; tries++) { /* it names itself when it is up */
            assert_int_equal(pthread_getname_np(team->lanes[lane].thread, name, sizeof name), 0);
            (void)usleep(1000);
        }
        assert_string_equal(name, expected);
    }
    tnri_team_stop(team);
    free(block);
    OK(tnr_topology_destroy(&topology));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_other_cpu_of_a_core_is_as_good, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_cpus_of_a_core_have_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(where_the_caller_is_decides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(workers_have_names, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
