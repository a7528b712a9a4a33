/* SPDX-License-Identifier: BSD-3-Clause */
/* How ranks of a host share cores: the pure part, on machines that nobody has. */
#include "support/storage_test.h"

#include "mpi/share_internal.h"

enum { MOST_RANKS = 16, MOST_CORES = 64 };

static tnri_share_core cores[MOST_RANKS][MOST_CORES];
static tnri_share_rank ranks[MOST_RANKS];
static tnri_share_core room_cores[MOST_RANKS * MOST_CORES];
static int room_owner[MOST_RANKS * MOST_CORES];
static int room_seen[MOST_RANKS * MOST_CORES];
static int room_group[MOST_RANKS];
static tnr_share shares[MOST_RANKS];

/* Rank r may use these CPUs, each a core; CPU c is near node c / per_node. */
static void allow(int rank, const char *cpus, int per_node)
{
    tnri_share_rank *of = &ranks[rank];
    memset(&of->cpus, 0, sizeof(of->cpus));
    OK(tnr_cpu_set_parse(cpus, &of->cpus));
    of->core_count = 0;
    of->cores = cores[rank];
    for (int cpu = tnr_cpu_set_next(&of->cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(&of->cpus, cpu)) {
        cores[rank][of->core_count].cpu = cpu;
        cores[rank][of->core_count++].node = cpu / per_node;
    }
}

static void plan_all(int count)
{
    const tnri_share_room room = {room_cores, room_owner, room_group, room_seen};
    for (int rank = 0; rank < count; rank++) {
        tnri_share_plan(ranks, count, rank, &room, &shares[rank]);
        assert_int_equal(shares[rank].local_rank, rank);
        assert_int_equal(shares[rank].local_size, count);
        assert_int_equal(shares[rank].device, TNR_NONE);
        assert_true(strlen(shares[rank].reason) > 10);
        assert_true(tnr_cpu_set_within(&shares[rank].cpus, &ranks[rank].cpus));
        assert_true(tnr_cpu_set_count(&shares[rank].cpus) > 0);
        assert_int_equal(shares[rank].cores, tnr_cpu_set_count(&shares[rank].cpus));
    }
    tnr_cpu_set together = shares[0].cpus;
    for (int rank = 1; rank < count; rank++) {
        for (size_t word = 0; word < sizeof(together.words) / sizeof(together.words[0]); word++) {
            together.words[word] |= shares[rank].cpus.words[word];
        }
    }
    for (int rank = 0; rank < count; rank++) {
        assert_int_equal(shares[rank].host_cores, tnr_cpu_set_count(&together));
    }
}

static void has(int rank, const char *cpus, int node, bool bound, bool oversubscribed)
{
    char text[256];
    OK(tnr_cpu_set_format(&shares[rank].cpus, text, sizeof(text), NULL));
    assert_string_equal(text, cpus);
    assert_int_equal(shares[rank].node, node);
    assert_int_equal(shares[rank].launcher_bound, bound);
    assert_int_equal(shares[rank].oversubscribed, oversubscribed);
}

/* No core twice. */
static void all_apart(int count)
{
    for (int rank = 0; rank < count; rank++) {
        for (int other = 0; other < rank; other++) {
            for (int cpu = 0; cpu < 1024; cpu++) {
                assert_false(tnr_cpu_set_has(&shares[rank].cpus, cpu) && tnr_cpu_set_has(&shares[other].cpus, cpu));
            }
        }
    }
}

static void a_rank_alone_has_all(void **state)
{
    (void)state;
    allow(0, "0-7", 4);
    plan_all(1);
    has(0, "0-7", TNR_NONE, false, false);
    allow(0, "4-7", 4);
    plan_all(1);
    has(0, "4-7", 1, false, false);
}

static void what_the_launcher_bound_is_honoured(void **state)
{
    (void)state;
    allow(0, "0-1", 4);
    allow(1, "2-5", 4);
    allow(2, "7", 4);
    plan_all(3);
    has(0, "0-1", 0, true, false);
    has(1, "2-5", TNR_NONE, true, false);
    has(2, "7", 1, true, false);
}

static void equal_sets_are_shared_by_whole_nodes(void **state)
{
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        allow(rank, "0-31", 8);
    }
    plan_all(2);
    has(0, "0-15", TNR_NONE, false, false);
    has(1, "16-31", TNR_NONE, false, false);
    plan_all(3);
    has(0, "0-15", TNR_NONE, false, false);
    has(1, "16-23", 2, false, false);
    has(2, "24-31", 3, false, false);
    all_apart(3);
}

static void more_ranks_than_nodes_share_a_nodes_cores(void **state)
{
    (void)state;
    for (int rank = 0; rank < 5; rank++) {
        allow(rank, "0-7", 4);
    }
    plan_all(5);
    has(0, "0-1", 0, false, false);
    has(1, "2", 0, false, false);
    has(2, "3", 0, false, false);
    has(3, "4-5", 1, false, false);
    has(4, "6-7", 1, false, false);
    all_apart(5);
}

/* Node 0 has one core, node 1 has five: two ranks each would not fit. */
static void uneven_nodes_are_cut_where_they_must(void **state)
{
    (void)state;
    for (int rank = 0; rank < 4; rank++) {
        allow(rank, "3-8", 4);
    }
    plan_all(4);
    has(0, "3-4", TNR_NONE, false, false);
    has(1, "5-6", 1, false, false);
    has(2, "7", 1, false, false);
    has(3, "8", 2, false, false);
    all_apart(4);
}

static void fewer_cores_than_ranks_is_said(void **state)
{
    (void)state;
    for (int rank = 0; rank < 5; rank++) {
        allow(rank, "2-3", 4);
    }
    plan_all(5);
    has(0, "2", 0, false, true);
    has(1, "3", 0, false, true);
    has(4, "2", 0, false, true);
    /* As mpirun binds where it finds one core. */
    allow(0, "0", 4);
    allow(1, "0", 4);
    plan_all(2);
    has(0, "0", 0, false, true);
    has(1, "0", 0, false, true);
}

static void overlapping_sets_are_matched(void **state)
{
    (void)state;
    /* Only 2, 0, 1 serves all three. */
    allow(0, "0,2", 4);
    allow(1, "0-1", 4);
    allow(2, "0-1", 4);
    plan_all(3);
    all_apart(3);
    has(0, "2", 0, false, false);
    /* A wide and a narrow one: the rest goes round. */
    allow(0, "0-3", 4);
    allow(1, "0", 4);
    plan_all(2);
    has(0, "1-3", 0, false, false);
    has(1, "0", 0, false, false);
    /* Overlap through a third; the fourth is apart. */
    allow(0, "0-1", 4);
    allow(1, "1-2", 4);
    allow(2, "2-3", 4);
    allow(3, "8-9", 4);
    plan_all(4);
    all_apart(4);
    assert_true(shares[3].launcher_bound);
    assert_false(shares[0].launcher_bound);
    /* Not enough. */
    allow(0, "0", 4);
    allow(1, "0-1", 4);
    allow(2, "1", 4);
    plan_all(3);
    for (int rank = 0; rank < 3; rank++) {
        assert_true(shares[rank].oversubscribed);
    }
}

static void devices_go_by_local_rank_unless_chosen(void **state)
{
    (void)state;
    const uint64_t none[3] = {0, 0, 0};
    const uint64_t same[3] = {7, 7, 7};
    const uint64_t each[3] = {7, 8, 9};
    assert_int_equal(tnri_share_device(1, 3, 0, none, 8, 0), TNR_NONE);
    assert_int_equal(tnri_share_device(0, 3, 2, none, 8, 0), 0);
    assert_int_equal(tnri_share_device(2, 3, 2, none, 8, 0), 0);
    assert_int_equal(tnri_share_device(1, 3, 4, same, 8, 4), 1); /* the job's devices, not this rank's */
    assert_int_equal(tnri_share_device(1, 3, 1, same, 8, 1), TNR_NONE);
    assert_int_equal(tnri_share_device(1, 3, 2, each, 8, 2), TNR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_alone_has_all),
        cmocka_unit_test(what_the_launcher_bound_is_honoured),
        cmocka_unit_test(equal_sets_are_shared_by_whole_nodes),
        cmocka_unit_test(more_ranks_than_nodes_share_a_nodes_cores),
        cmocka_unit_test(uneven_nodes_are_cut_where_they_must),
        cmocka_unit_test(fewer_cores_than_ranks_is_said),
        cmocka_unit_test(overlapping_sets_are_matched),
        cmocka_unit_test(devices_go_by_local_rank_unless_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
