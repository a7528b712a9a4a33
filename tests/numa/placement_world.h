/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs of placement_vm share: one test's world on the emulated machine, witnesses of where bytes are (the library's
 * and the kernel's own), and children in which a test may do what would harm the others. Needs _GNU_SOURCE.
 */
#ifndef TENURE_TESTS_NUMA_PLACEMENT_WORLD_H
#define TENURE_TESTS_NUMA_PLACEMENT_WORLD_H

#include "proc_files.h"
#include "tenure/tenure.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OK(call)                                                                       \
    do {                                                                               \
        const tnr_status status_ = (call);                                             \
        if (status_ != TNR_OK) {                                                       \
            fail_msg("%s: %s: %s", #call, tnr_status_name(status_), tnr_last_error()); \
        }                                                                              \
    } while (0)

enum {
    ELEMENTS = 1 << 19, /* of f64: 4 MiB, more than any cache level here, and large enough for the workers */
    MEMORY_NODE = 3,
    MISSING_NODE = 7,
    EXPECTED_NODES = 4,
    CPU_NODES = 3
};

static const int64_t extent[1] = {ELEMENTS};

/* One test's world. */
typedef struct world {
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_machine *machine;
} world;

static inline void world_open(world *w)
{
    const tnr_numa_options bound = TNR_NUMA_OPTIONS; /* or not at all */
    tnr_machine_options strict = TNR_MACHINE_OPTIONS;
    strict.memory = &bound;
    memset(w, 0, sizeof(*w));
    OK(tnr_heap_create(&w->heap));
    OK(tnr_topology_create(w->heap, NULL, &w->topology));
    OK(tnr_machine_create(w->heap, w->topology, &strict, &w->machine));
}

/* Also shows that nothing was left: domains that hold something refuse. */
static inline void world_close(world *w)
{
    OK(tnr_machine_destroy(&w->machine));
    OK(tnr_topology_destroy(&w->topology));
    OK(tnr_domain_close(&w->heap));
}

static inline int setup(void **state)
{
    world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    world_open(w);
    *state = w;
    return 0;
}

static inline int teardown(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

/* ---- Witnesses ---------------------------------------------------------------------------------------------------------- */

/* All pages of these bytes are there, on that node, because of a binding to it: by the library and by the kernel. */
static inline void assert_bytes_at(const void *address, uint64_t bytes, int node)
{
    tnr_residence where;
    OK(tnr_residence_of(address, bytes, node, &where));
    assert_true(where.pages >= bytes / 4096);
    assert_int_equal(where.present, where.pages);
    assert_int_equal(where.at_node, where.pages);
    assert_int_equal(where.elsewhere, 0);
    assert_int_equal(tnr_node_set_count(&where.nodes), 1);
    assert_true(tnr_node_set_has(&where.nodes, node));

    proc_mapping mapping;
    char expected[32];
    (void)snprintf(expected, sizeof(expected), "bind:%d", node);
    assert_true(proc_mapping_of(address, &mapping));
    assert_string_equal(mapping.policy, expected);
    for (int other = 0; other < 8; other++) {
        if (other == node) {
            assert_true(mapping.pages[other] > 0);
        } else {
            assert_int_equal(mapping.pages[other], 0);
        }
    }
}

/* A tensor says that it is on the node, and it is. */
static inline void assert_tensor_at(const tnr_tensor *tensor, int node)
{
    tnr_tensor_info info;
    const void *data = NULL;
    OK(tnr_tensor_describe(tensor, &info));
    assert_int_equal(info.placement.kind, TNR_MEMORY_HOST);
    assert_int_equal(info.placement.cpu_affinity, node);
    OK(tnr_tensor_host_data(tensor, &data));
    assert_bytes_at(data, info.bytes, node);
}

static inline void assert_all(const tnr_tensor *tensor, double value)
{
    const void *data = NULL;
    OK(tnr_tensor_host_data(tensor, &data));
    const double *elements = data;
    for (int64_t i = 0; i < ELEMENTS; i++) {
        if (!(elements[i] >= value && elements[i] <= value)) {
            fail_msg("element %lld is %g, expected %g", (long long)i, elements[i], value);
        }
    }
}

/* A tensor of one value in the memory of a node, by its machine's domain. */
static inline tnr_tensor *filled(world *w, int node, double value)
{
    tnr_domain *domain = NULL;
    tnr_tensor *tensor = NULL;
    OK(tnr_machine_domain(w->machine, node, &domain));
    OK(tnr_tensor_full(domain, TNR_F64, 1, extent, &value, &tensor));
    return tensor;
}

static inline tnr_tensor *sum_of(tnr_engine *engine, const tnr_tensor *a, const tnr_tensor *b)
{
    tnr_view left;
    tnr_view right;
    tnr_tensor *out = NULL;
    OK(tnr_tensor_view(a, &left));
    OK(tnr_tensor_view(b, &right));
    OK(tnr_add(engine, &left, &right, &out));
    return out;
}

/* Keep the calling thread on some CPUs. */
static inline void stay_on(int first, int last)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = first; cpu <= last; cpu++) {
        CPU_SET((size_t)cpu, &set);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* Run a function in a child, which cannot harm the other tests: it ends with 0 when all its assertions held. */
static inline void in_child(void (*body)(void))
{
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body();
        (void)fflush(NULL);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("the child ended with %s %d", WIFEXITED(status) ? "status" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
}

/* In a child cmocka's assertions have nowhere to jump to. */
#define CHILD(condition)                                                                               \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            (void)printf("child, line %d: %s is false; %s\n", __LINE__, #condition, tnr_last_error()); \
            (void)fflush(NULL);                                                                        \
            _exit(1);                                                                                  \
        }                                                                                              \
    } while (0)

/* Tests of placement_limits.c. */
void a_full_node_is_an_error(void **state);
void huge_pages_stay_on_the_node(void **state);
void a_bound_process_has_one_engine(void **state);
void a_cpuset_takes_nodes_away(void **state);
void cpus_without_memory_of_their_own_have_an_engine(void **state);

#endif /* TENURE_TESTS_NUMA_PLACEMENT_WORLD_H */
