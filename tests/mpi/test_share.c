/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a host agree on cores: on a described machine, on this one, a machine within the share, and the table.
 *
 * ranks: 1 2 3 4
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "ranks.h"

static tnr_domain *heap;

static tnr_world *make_world(void)
{
    tnr_world *world = NULL;
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.timeout_ms = 60000;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
    return world;
}

static tnr_topology *make_topology(const char *synthetic)
{
    tnr_topology *topology = NULL;
    tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
    options.synthetic = synthetic;
    const tnr_status status = tnr_topology_create(heap, &options, &topology);
    CHECK(status == TNR_OK || (status == TNR_ERR_UNSUPPORTED && synthetic != NULL));
    return topology;
}

/* CPUs of all ranks, added up by MPI itself. */
static void add_up(const tnr_share *share, int *sums, int cpus)
{
    int mine[64];
    CHECK(cpus <= 64);
    for (int cpu = 0; cpu < cpus; cpu++) {
        mine[cpu] = tnr_cpu_set_has(&share->cpus, cpu) ? 1 : 0;
    }
    CHECK(MPI_Allreduce(mine, sums, cpus, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void a_described_machine_is_shared_out(void)
{
    tnr_topology *topology = make_topology("node:2 core:6 pu:2");
    if (topology == NULL) {
        printf("skipped: no hwloc to describe machines\n");
        return;
    }
    tnr_world *world = make_world();
    tnr_share share;
    int sums[24];
    CHECK_OK(tnr_world_share(world, topology, 4, &share));
    CHECK(share.local_rank == ranks_me && share.local_size == ranks_size && !share.oversubscribed);
    CHECK(tnr_cpu_set_count(&share.cpus) == (ranks_size != 3 ? 12 / ranks_size
                                             : ranks_me == 2 ? 6
                                                             : 3) &&
          !share.launcher_bound);
    CHECK((share.node == TNR_NONE) == (ranks_size == 1));
    CHECK(share.device == ranks_me % 4);
    CHECK(share.cores == tnr_cpu_set_count(&share.cpus) && share.host_cores == 12);
    add_up(&share, sums, 24);
    for (int cpu = 0; cpu < 24; cpu++) {
        CHECK(sums[cpu] == (cpu % 2 == 0 ? 1 : 0)); /* one of each core */
    }
    char table[4096] = "kept";
    CHECK_OK(tnr_world_share_table(world, &share, ranks_size - 1, table, sizeof(table)));
    if (ranks_me == ranks_size - 1) {
        int lines = 0;
        for (const char *at = table; *at != '\0'; at++) {
            lines += *at == '\n' ? 1 : 0;
        }
        CHECK(lines == ranks_size && strstr(table, "rank 0 ") == table && strstr(table, "cpus 0") != NULL);
        char little[8];
        memset(little, 'x', sizeof(little));
        CHECK_OK(tnr_world_share_table(world, &share, ranks_size - 1, little, sizeof(little)));
        CHECK(strcmp(little, "rank 0 ") == 0);
    } else {
        CHECK(table[0] == '\0');
        CHECK_OK(tnr_world_share_table(world, &share, ranks_size - 1, NULL, 0));
    }
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_topology_destroy(&topology));
}

static void few_cores_are_said_to_be_few(void)
{
    tnr_topology *topology = make_topology("node:1 core:2 pu:1");
    if (topology == NULL) {
        return;
    }
    tnr_world *world = make_world();
    tnr_share share;
    CHECK_OK(tnr_world_share(world, topology, 0, &share));
    CHECK(share.oversubscribed == (ranks_size > 2) && share.device == TNR_NONE);
    CHECK(share.cores == (ranks_size == 1 ? 2 : 1) && share.host_cores == 2);
    CHECK(tnr_cpu_set_has(&share.cpus, ranks_me % 2) && tnr_cpu_set_count(&share.cpus) == (ranks_size == 1 ? 2 : 1));
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_topology_destroy(&topology));
}

static void the_environments_choice_of_a_device_stands(void)
{
    tnr_topology *topology = make_topology(NULL);
    tnr_world *world = make_world();
    tnr_share share;
    char mine[16];
    (void)snprintf(mine, sizeof(mine), "%d", ranks_me);
    CHECK(setenv("CUDA_VISIBLE_DEVICES", mine, 1) == 0);
    CHECK_OK(tnr_world_share(world, topology, 1, &share));
    CHECK(share.device == TNR_NONE);
    CHECK(setenv("CUDA_VISIBLE_DEVICES", "0,1", 1) == 0);
    CHECK_OK(tnr_world_share(world, topology, 2, &share));
    CHECK(share.device == ranks_me % 2);
    CHECK(unsetenv("CUDA_VISIBLE_DEVICES") == 0);
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_topology_destroy(&topology));
}

static void a_machine_keeps_to_its_share(void)
{
    tnr_topology *topology = make_topology(NULL);
    tnr_world *world = make_world();
    tnr_machine *machine = NULL;
    tnr_engine *engine = NULL;
    tnr_share share;
    tnr_share told;
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    CHECK_OK(tnr_world_share(world, topology, 0, &share));
    options.cpus = ranks_me == 0 ? &share.cpus : NULL;
    CHECK_OK(tnr_world_machine(world, heap, topology, &options, &told, &machine));
    CHECK(memcmp(&told.cpus, &share.cpus, sizeof(told.cpus)) == 0 && told.cores == share.cores &&
          told.host_cores == share.host_cores && told.local_rank == share.local_rank && told.device == TNR_NONE &&
          strcmp(told.reason, share.reason) == 0);
    CHECK_OK(tnr_machine_destroy(&machine));
    CHECK_OK(tnr_world_machine(world, heap, topology, NULL, ranks_me == 0 ? NULL : &told, &machine));
    CHECK(tnr_machine_nodes(machine) >= 1);
    CHECK_OK(tnr_machine_engine(machine, TNR_NONE, &engine));
    tnr_tensor *a = NULL;
    tnr_tensor *sum = NULL;
    tnr_view view;
    const int64_t count = 1000;
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, &count, &(double){1.5}, &a));
    CHECK_OK(tnr_tensor_view(a, &view));
    CHECK_OK(tnr_add(engine, &view, &view, &sum));
    CHECK_OK(tnr_tensor_release(&sum));
    CHECK_OK(tnr_tensor_release(&a));
    CHECK_OK(tnr_machine_destroy(&machine));
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_topology_destroy(&topology));
}

static void a_refusal_on_one_rank_is_one_on_all(void)
{
    tnr_topology *topology = make_topology(NULL);
    tnr_world *world = make_world();
    tnr_machine *machine = NULL;
    tnr_share share;
    const bool last = ranks_me == ranks_size - 1;
    const tnr_status expected = last ? TNR_ERR_ARGUMENT : TNR_ERR_PEER;
    memset(&share, 0, sizeof(share));
    CHECK_STATUS(expected, tnr_world_share(world, last ? NULL : topology, 0, &share));
    CHECK_STATUS(expected, tnr_world_machine(world, last ? NULL : heap, topology, NULL, &share, &machine));
    const tnr_cpu_set none = {{0}};
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    options.cpus = last ? &none : NULL;
    CHECK_STATUS(expected, tnr_world_machine(world, heap, topology, &options, &share, &machine));
    CHECK(machine == NULL && share.cores == 0 && share.host_cores == 0); /* nothing is written */
    char text[64];
    CHECK_STATUS(expected, tnr_world_share_table(world, last ? NULL : &share, 0, text, sizeof(text)));
    if (ranks_size > 1) {
        CHECK_STATUS(TNR_ERR_PEER, tnr_world_share_table(world, &share, last ? 1 : 0, text, sizeof(text)));
    }
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_world_share_table(world, &share, ranks_size, text, sizeof(text)));
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_topology_destroy(&topology));
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(a_described_machine_is_shared_out),          RANK_TEST(few_cores_are_said_to_be_few),
        RANK_TEST(the_environments_choice_of_a_device_stands), RANK_TEST(a_machine_keeps_to_its_share),
        RANK_TEST(a_refusal_on_one_rank_is_one_on_all),
    };
    CHECK_OK(tnr_heap_create(&heap));
    const int result = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    CHECK_OK(tnr_domain_close(&heap));
    return result;
}
