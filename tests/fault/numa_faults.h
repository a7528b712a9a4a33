/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the library and the system: numa_wraps.c stands in for the calls that topologies and numa domains make, lets the ones
 * that a test names fail, and counts what is mapped and made. And the fixture of these tests.
 */
#ifndef TENURE_TESTS_FAULT_NUMA_FAULTS_H
#define TENURE_TESTS_FAULT_NUMA_FAULTS_H

#include <sys/mman.h>
#include <unistd.h>

#include "support/topology_fixture.h"

typedef enum fault_call {
    CALL_MMAP,
    CALL_MUNMAP,
    CALL_POPULATE,
    CALL_INIT,
    CALL_LOAD,
    CALL_FLAGS,
    CALL_BITMAP,
    CALL_CPUBIND,
    CALL_BIND,
    CALL_READ_BACK,
    CALL_LOCATE,
    CALL_AFFINITY,
    CALL_PREFER,
    CALL_GATHER,
    CALL_COUNT
} fault_call;

/* Which call fails, and what some answer; and what was seen. */
typedef struct numa_faults {
    bool counting;
    int64_t call;  /* counting: number of the call that fails, from 1; 0: none */
    int64_t calls; /* made so far */
    bool fails[CALL_COUNT];
    int error;            /* errno of a failure */
    bool no_cpu;          /* the binding has no CPU */
    bool other_node;      /* pages read back as bound to another node */
    bool other_place;     /* pages are found on another node */
    bool bound_elsewhere; /* the thread's memory policy allows node 999 only */
    unsigned version;     /* of hwloc; 0: the true one */
    int64_t maps;
    int64_t topologies;
    int64_t bitmaps;
    int given_up; /* areas whose pages were dropped because they could not be unmapped */
    int huge;
} numa_faults;

extern numa_faults faults;

/* The system's own, where a test needs them. */
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);
unsigned __real_hwloc_get_api_version(void) __attribute__((weak));

/* ---- Fixture --------------------------------------------------------------------------------------------------------- */

typedef struct fixture {
    tnr_domain *heap;
    tnr_topology *topology;
    int node;
    uint64_t page;
} fixture;

static inline int set_up(void **state)
{
    memset(&faults, 0, sizeof(faults));
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->heap = make_heap();
    f->topology = make_topology(f->heap, NULL, NULL);
    tnr_node_set nodes;
    OK(tnr_topology_nodes(f->topology, &nodes));
    f->node = tnr_node_set_next(&nodes, TNR_NONE);
    f->page = (uint64_t)sysconf(_SC_PAGESIZE);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    memset(faults.fails, 0, sizeof(faults.fails));
    faults.counting = false;
    OK(tnr_topology_destroy(&f->topology));
    OK(tnr_domain_close(&f->heap));
    assert_int_equal(faults.maps, 0);
    assert_int_equal(faults.topologies, 0);
    assert_int_equal(faults.bitmaps, 0);
    free(f);
    return 0;
}

static inline tnr_status make_numa(fixture *f, bool best_effort, bool prefault, tnr_domain **domain)
{
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.best_effort = best_effort;
    options.prefault = prefault;
    return tnr_numa_create(f->heap, f->topology, f->node, &options, domain);
}

/* Binding works here when nothing is in its way. */
#define NEED_BINDING(f)                                        \
    do {                                                       \
        tnr_domain *trial_ = NULL;                             \
        if (!has_hwloc()) {                                    \
            SKIP("skipped: this build has no hwloc");          \
        }                                                      \
        if (make_numa((f), false, false, &trial_) != TNR_OK) { \
            SKIP("skipped: %s", tnr_last_error());             \
        }                                                      \
        OK(tnr_domain_close(&trial_));                         \
    } while (0)

static inline void check_untaken(fixture *f, uint64_t blocks_before)
{
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(f->heap, &statistics));
    assert_int_equal(statistics.blocks, blocks_before);
    assert_int_equal(faults.maps, 0);
    assert_int_equal(faults.bitmaps, 0);
}

static inline uint64_t blocks_of(tnr_domain *domain)
{
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(domain, &statistics));
    return statistics.blocks;
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif /* TENURE_TESTS_FAULT_NUMA_FAULTS_H */
