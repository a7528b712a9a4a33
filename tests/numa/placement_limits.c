/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process meets at its limits on the emulated machine: a node that is full, huge pages, a binding, a cpuset. */
#define _GNU_SOURCE /* sched_setaffinity */

#include "placement_world.h"

#include <sys/stat.h>

/* ---- Limits -------------------------------------------------------------------------------------------------------------------- */

/* Takes more and more of node 3, whose memory is small, every page at once: in the end a refusal, never a death. */
static void exhaust_the_small_node(void)
{
    enum { BLOCKS = 64 };
    const uint64_t bytes = (uint64_t)4 << 20;
    world w;
    tnr_domain *domain = NULL;
    tnr_block blocks[BLOCKS];
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.prefault = true;
    memset(&w, 0, sizeof(w));
    CHILD(tnr_heap_create(&w.heap) == TNR_OK);
    CHILD(tnr_topology_create(w.heap, NULL, &w.topology) == TNR_OK);
    CHILD(tnr_numa_create(w.heap, w.topology, MEMORY_NODE, &options, &domain) == TNR_OK);
    int taken = 0;
    tnr_status status = TNR_OK;
    while (taken < BLOCKS && (status = tnr_domain_allocate(domain, bytes, 0, &blocks[taken])) == TNR_OK) {
        tnr_residence where;
        CHILD(tnr_residence_of(blocks[taken].address, bytes, MEMORY_NODE, &where) == TNR_OK);
        CHILD(where.at_node == bytes / 4096); /* there already, and nowhere else */
        taken++;
    }
    (void)printf("node %d gave %d blocks of %d MiB, then: %s\n", MEMORY_NODE, taken, (int)(bytes >> 20),
                 tnr_last_error());
    CHILD(status == TNR_ERR_MEMORY || status == TNR_ERR_BACKEND);
    CHILD(taken >= 4);
    /* To the last page, nearly. Another domain tries one: it is there or it is not. */
    enum { SMALL_BLOCKS = 512 };
    static tnr_block small[SMALL_BLOCKS];
    int more = 0;
    while (more < SMALL_BLOCKS && tnr_domain_allocate(domain, 16384, 0, &small[more]) == TNR_OK) {
        more++;
    }
    for (int round = 0; round < 20; round++) {
        tnr_domain *other = NULL;
        tnr_block block;
        status = tnr_numa_create(w.heap, w.topology, MEMORY_NODE, &options, &other);
        CHILD(status == TNR_OK || status == TNR_ERR_BACKEND);
        status = other != NULL ? tnr_domain_allocate(other, 4096, 0, &block) : TNR_ERR_MEMORY;
        CHILD(status != TNR_OK || tnr_domain_release(other, &block) == TNR_OK);
        CHILD(tnr_domain_close(&other) == TNR_OK);
    }
    while (more > 0) {
        more--;
        CHILD(tnr_domain_release(domain, &small[more]) == TNR_OK);
    }
    while (taken > 0) {
        taken--;
        CHILD(tnr_domain_release(domain, &blocks[taken]) == TNR_OK);
    }
    CHILD(tnr_domain_allocate(domain, bytes, 0, &blocks[0]) == TNR_OK); /* what came back can be had again */
    CHILD(tnr_domain_release(domain, &blocks[0]) == TNR_OK);
    CHILD(tnr_domain_close(&domain) == TNR_OK);
    CHILD(tnr_topology_destroy(&w.topology) == TNR_OK);
    CHILD(tnr_domain_close(&w.heap) == TNR_OK);
}

void a_full_node_is_an_error(void **state)
{
    (void)state;
    in_child(exhaust_the_small_node);
}

void huge_pages_stay_on_the_node(void **state)
{
    const uint64_t bytes = (uint64_t)16 << 20;
    world *w = *state;
    tnr_topology_info all;
    tnr_domain *domain = NULL;
    tnr_numa_info info;
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    tnr_block block;
    OK(tnr_topology_describe(w->topology, &all));
    assert_int_equal(all.huge_bytes, (uint64_t)2 << 20);
    options.prefault = true;
    OK(tnr_numa_create(w->heap, w->topology, 2, &options, &domain));
    OK(tnr_numa_describe(domain, &info));
    assert_int_equal(info.huge_above, 4 * all.huge_bytes);
    const int64_t before = proc_huge_bytes();
    OK(tnr_domain_allocate(domain, bytes, 0, &block));
    assert_int_equal((uintptr_t)block.address % all.huge_bytes, 0);
    memset(block.address, 1, (size_t)bytes);
    assert_bytes_at(block.address, bytes, 2);
    assert_true(proc_huge_bytes() > before); /* the node is empty enough for the system to grant some */
    OK(tnr_domain_release(domain, &block));
    OK(tnr_domain_close(&domain));
}

/* ---- Restrictions ----------------------------------------------------------------------------------------------------------- */

/* What a process sees that may run on CPUs 2 and 3 only. `nodes`: how many nodes' memory it may use. */
static void look_at_node_1_alone(int nodes)
{
    world w;
    tnr_topology_info all;
    tnr_node_info node;
    tnr_engine *engine = NULL;
    tnr_engine_info info;
    tnr_view view;
    tnr_tensor *in = NULL;
    tnr_tensor *out = NULL;
    tnr_tensor_info placed;
    const double value = 2.0;
    memset(&w, 0, sizeof(w));
    CHILD(tnr_heap_create(&w.heap) == TNR_OK);
    CHILD(tnr_topology_create(w.heap, NULL, &w.topology) == TNR_OK);
    CHILD(tnr_machine_create(w.heap, w.topology, NULL, &w.machine) == TNR_OK);
    CHILD(tnr_topology_describe(w.topology, &all) == TNR_OK);
    CHILD(all.cpus == 2 && all.cpu_nodes == 1 && all.machine_cpus == 6);
    CHILD(nodes == 0 || all.nodes == nodes);
    CHILD(tnr_topology_node(w.topology, 1, &node) == TNR_OK && node.cpus == 2);
    CHILD(tnr_machine_nodes(w.machine) == 1 && tnr_machine_node_at(w.machine, 0) == 1);
    CHILD(tnr_machine_engine(w.machine, 0, &engine) == TNR_ERR_BOUNDS);
    CHILD(tnr_machine_engine(w.machine, TNR_NONE, &engine) == TNR_OK);
    CHILD(tnr_engine_describe(engine, &info) == TNR_OK);
    CHILD(info.node == 1 && info.workers == 2);
    CHILD(tnr_cpu_set_count(&info.cpus) == 2 && tnr_cpu_set_has(&info.cpus, 2) && tnr_cpu_set_has(&info.cpus, 3));
    CHILD(tnr_tensor_full(tnr_engine_output(engine), TNR_F64, 1, extent, &value, &in) == TNR_OK);
    CHILD(tnr_tensor_view(in, &view) == TNR_OK && tnr_add(engine, &view, &view, &out) == TNR_OK);
    CHILD(tnr_tensor_describe(out, &placed) == TNR_OK && placed.placement.cpu_affinity == 1);
    const void *data = NULL;
    tnr_residence where;
    CHILD(tnr_tensor_host_data(out, &data) == TNR_OK);
    CHILD(tnr_residence_of(data, placed.bytes, 1, &where) == TNR_OK && where.at_node == where.pages);
    CHILD(tnr_tensor_release(&in) == TNR_OK && tnr_tensor_release(&out) == TNR_OK);
    if (nodes == 1) {
        tnr_domain *domain = NULL;
        CHILD(tnr_numa_create(w.heap, w.topology, 0, NULL, &domain) == TNR_ERR_BOUNDS); /* its memory is not ours */
        CHILD(tnr_machine_domain(w.machine, MEMORY_NODE, &domain) == TNR_ERR_BOUNDS);
    }
    CHILD(tnr_machine_destroy(&w.machine) == TNR_OK);
    CHILD(tnr_topology_destroy(&w.topology) == TNR_OK);
    CHILD(tnr_domain_close(&w.heap) == TNR_OK);
}

/* As taskset, srun or mpirun leave a process. */
static void bound_child(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(2, &set);
    CPU_SET(3, &set);
    CHILD(sched_setaffinity(0, sizeof(set), &set) == 0);
    look_at_node_1_alone(0);
}

void a_bound_process_has_one_engine(void **state)
{
    (void)state;
    in_child(bound_child);
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    const bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

/* Into a new cpuset. */
static void go_into_cpuset(const char *cpus, const char *mems)
{
    char self[24];
    (void)snprintf(self, sizeof(self), "%ld", (long)getpid());
    CHILD(mkdir("/sys/fs/cgroup/one", 0755) == 0);
    CHILD(write_file("/sys/fs/cgroup/one/cpuset.cpus", cpus));
    CHILD(write_file("/sys/fs/cgroup/one/cpuset.mems", mems));
    CHILD(write_file("/sys/fs/cgroup/one/cgroup.procs", self));
}

/* As a batch system's cpuset leaves it: CPUs and memory of node 1. */
static void cpuset_child(void)
{
    go_into_cpuset("2-3", "1");
    look_at_node_1_alone(1);
}

void a_cpuset_takes_nodes_away(void **state)
{
    (void)state;
    in_child(cpuset_child);
    assert_int_equal(rmdir("/sys/fs/cgroup/one"), 0);
}

/* ---- CPUs whose own memory is not allowed ------------------------------------------------------------------------------------- */

/* CPUs 2 and 3 compute, with memory of another node than theirs. */
static void look_at_cpus_2_and_3_with(int node)
{
    world w;
    tnr_topology_info all;
    tnr_cpu_info cpu;
    tnr_engine *engine = NULL;
    tnr_domain *domain = NULL;
    tnr_engine_info info;
    tnr_view view;
    tnr_tensor *in = NULL;
    tnr_tensor *out = NULL;
    tnr_tensor_info placed;
    tnr_residence where;
    const void *data = NULL;
    const double value = 2.0;
    memset(&w, 0, sizeof(w));
    CHILD(tnr_heap_create(&w.heap) == TNR_OK);
    CHILD(tnr_topology_create(w.heap, NULL, &w.topology) == TNR_OK);
    CHILD(tnr_topology_describe(w.topology, &all) == TNR_OK && all.cpus == 2 && all.cpu_nodes == 0);
    CHILD(tnr_topology_cpu(w.topology, 2, &cpu) == TNR_OK && cpu.node == TNR_NONE && cpu.nearest == node);
    CHILD(tnr_machine_create(w.heap, w.topology, NULL, &w.machine) == TNR_OK);
    CHILD(tnr_machine_nodes(w.machine) == 1 && tnr_machine_node_at(w.machine, 0) == node);
    CHILD(tnr_machine_engine(w.machine, TNR_NONE, &engine) == TNR_OK);
    CHILD(tnr_machine_domain(w.machine, TNR_NONE, &domain) == TNR_OK);
    CHILD(tnr_domain_placement(domain).cpu_affinity == node);
    CHILD(tnr_engine_describe(engine, &info) == TNR_OK && info.workers == 2 && info.threads);
    CHILD(tnr_cpu_set_has(&info.cpus, 2) && tnr_cpu_set_has(&info.cpus, 3) && info.node == TNR_NONE);
    CHILD(tnr_tensor_full(domain, TNR_F64, 1, extent, &value, &in) == TNR_OK);
    CHILD(tnr_tensor_view(in, &view) == TNR_OK && tnr_add(engine, &view, &view, &out) == TNR_OK);
    CHILD(tnr_tensor_describe(out, &placed) == TNR_OK && placed.placement.cpu_affinity == node);
    CHILD(tnr_tensor_host_data(out, &data) == TNR_OK);
    CHILD(tnr_residence_of(data, placed.bytes, node, &where) == TNR_OK && where.at_node == where.pages);
    CHILD(tnr_tensor_release(&in) == TNR_OK && tnr_tensor_release(&out) == TNR_OK);
    CHILD(tnr_machine_destroy(&w.machine) == TNR_OK);
    CHILD(tnr_topology_destroy(&w.topology) == TNR_OK);
    CHILD(tnr_domain_close(&w.heap) == TNR_OK);
}

/* Node 2 is closer than node 0 (vm.sh). */
static void two_nodes_to_choose_from(void)
{
    go_into_cpuset("2-3", "0,2");
    look_at_cpus_2_and_3_with(2);
}

static void the_memory_only_node_alone(void)
{
    go_into_cpuset("2-3", "3");
    look_at_cpus_2_and_3_with(MEMORY_NODE);
}

void cpus_without_memory_of_their_own_have_an_engine(void **state)
{
    (void)state;
    in_child(two_nodes_to_choose_from);
    assert_int_equal(rmdir("/sys/fs/cgroup/one"), 0);
    in_child(the_memory_only_node_alone);
    assert_int_equal(rmdir("/sys/fs/cgroup/one"), 0);
}
