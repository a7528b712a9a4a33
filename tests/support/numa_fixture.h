/* SPDX-License-Identifier: BSD-3-Clause */
/* A numa domain on the smallest usable node: strict, or best effort where binding is refused; and short words for its tests. */
#ifndef TENURE_TESTS_SUPPORT_NUMA_FIXTURE_H
#define TENURE_TESTS_SUPPORT_NUMA_FIXTURE_H

/* Programs define _GNU_SOURCE first. */
#include <sys/mman.h>
#include <unistd.h>

#include "support/topology_fixture.h"

#define MIB (UINT64_C(1) << 20)

typedef struct fixture {
    tnr_domain *heap;
    tnr_topology *topology;
    uint64_t page;
    tnr_domain *domain; /* on the smallest node: strict, or, where that is refused for `reason`, best effort */
    int node;
    int bound; /* the node, or TNR_NONE */
    char reason[256];
} fixture;

static inline int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->heap = make_heap();
    f->topology = make_topology(f->heap, NULL, NULL);
    f->page = (uint64_t)sysconf(_SC_PAGESIZE);
    static tnr_node_info node;
    OK(tnr_topology_node_at(f->topology, 0, &node));
    f->node = node.node;
    f->bound = f->node;
    const tnr_status status = tnr_numa_create(f->heap, f->topology, f->node, NULL, &f->domain);
    if (status != TNR_OK) {
        assert_true(status == TNR_ERR_UNSUPPORTED || status == TNR_ERR_BACKEND);
        (void)snprintf(f->reason, sizeof(f->reason), "skipped: %s", tnr_last_error());
        f->bound = TNR_NONE;
        tnr_numa_options options = TNR_NUMA_OPTIONS;
        options.best_effort = true;
        OK(tnr_numa_create(f->heap, f->topology, f->node, &options, &f->domain));
    }
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    OK(tnr_domain_close(&f->domain));
    OK(tnr_topology_destroy(&f->topology));
    OK(tnr_domain_close(&f->heap)); /* all that was taken came back */
    free(f);
    return 0;
}

#define NEED_BINDING(f)               \
    do {                              \
        if ((f)->bound == TNR_NONE) { \
            SKIP("%s", (f)->reason);  \
        }                             \
    } while (0)

/* Options of a domain like the fixture's: strict wherever binding works. */
static inline tnr_numa_options options_of(const fixture *f)
{
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.best_effort = f->bound == TNR_NONE;
    return options;
}

static inline tnr_block take(tnr_domain *domain, uint64_t bytes, uint64_t alignment)
{
    tnr_block block;
    OK(tnr_domain_allocate(domain, bytes, alignment, &block));
    return block;
}

static inline void give(tnr_domain *domain, const tnr_block *block) { OK(tnr_domain_release(domain, block)); }

static inline tnr_residence residence_of(const void *address, uint64_t bytes, int node)
{
    tnr_residence residence;
    OK(tnr_residence_of(address, bytes, node, &residence));
    assert_true(residence.at_node + residence.elsewhere == residence.present);
    assert_true(residence.present <= residence.pages);
    return residence;
}

static inline bool can_see_pages(void)
{
    char byte = 1;
    tnr_residence residence;
    return tnr_residence_of(&byte, 1, TNR_NONE, &residence) == TNR_OK;
}

static inline bool is_mapped(const void *address, uint64_t page)
{
    return msync((void *)(uintptr_t)address, (size_t)page, MS_ASYNC) == 0;
}

static inline uint64_t blocks_out(tnr_domain *domain)
{
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(domain, &statistics));
    return statistics.blocks;
}

#define NUMA_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif /* TENURE_TESTS_SUPPORT_NUMA_FIXTURE_H */
