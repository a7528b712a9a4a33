/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block of a numa domain cannot be touched before it is bound: not by us, and not by the system for the sake of a mapping
 * that adjoins, whose huge pages may reach into it. And what happens when it cannot be opened then.
 *
 * wraps: mmap munmap mprotect hwloc_set_area_membind
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>

#include "support/topology_fixture.h"

#define WEAK __attribute__((weak))

/* The mapping that was made last: open to touch, bound. */
static struct {
    int64_t maps; /* bytes */
    bool open;
    bool bound;
    int opened_unbound;
    int refuse; /* the call of this number that opens fails; 0: none */
} seen;

void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);
int __real_mprotect(void *address, size_t bytes, int protection);
int __real_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags) WEAK;
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *address, size_t bytes);
int __wrap_mprotect(void *address, size_t bytes, int protection);
int __wrap_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags);

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *mapped = __real_mmap(address, bytes, protection, flags, file, offset);
    seen.maps += mapped != MAP_FAILED ? (int64_t)bytes : 0;
    seen.bound = false;
    seen.open = protection != PROT_NONE;
    return mapped;
}

int __wrap_munmap(void *address, size_t bytes)
{
    seen.maps -= (int64_t)bytes;
    return __real_munmap(address, bytes);
}

int __wrap_mprotect(void *address, size_t bytes, int protection)
{
    if (seen.refuse != 0 && --seen.refuse == 0) {
        errno = ENOMEM;
        return -1;
    }
    seen.opened_unbound += seen.bound ? 0 : 1;
    seen.open = protection != PROT_NONE;
    return __real_mprotect(address, bytes, protection);
}

int __wrap_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags)
{
    seen.bound = true;
    return __real_hwloc_set_area_membind(topology, address, bytes, set, policy, flags);
}

/* A strict domain without prefault; skips where nothing can be bound. */
static tnr_domain *bound_domain(tnr_domain *heap, tnr_topology *topology)
{
    tnr_node_info node;
    tnr_domain *domain = NULL;
    OK(tnr_topology_node_at(topology, 0, &node));
    const tnr_status status = tnr_numa_create(heap, topology, node.node, NULL, &domain);
    if (status != TNR_OK) {
        OK(tnr_topology_destroy(&topology));
        OK(tnr_domain_close(&heap));
        SKIP("skipped: memory cannot be bound here: %s", tnr_last_error());
    }
    return domain;
}

static void nobody_touches_what_is_not_bound(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_topology *topology = make_topology(heap, NULL, NULL);
    tnr_domain *domain = bound_domain(heap, topology);
    static const uint64_t sizes[] = {1, 5000, 3 << 20, 20 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tnr_block block;
        memset(&seen, 0, sizeof seen);
        OK(tnr_domain_allocate(domain, sizes[i], 0, &block));
        assert_true(seen.bound && seen.open);
        assert_int_equal(seen.opened_unbound, 0);
        memset(block.address, 1, (size_t)sizes[i]);
        OK(tnr_domain_release(domain, &block));
        assert_int_equal(seen.maps, 0);
    }
    OK(tnr_domain_close(&domain));
    OK(tnr_topology_destroy(&topology));
    OK(tnr_domain_close(&heap));
}

static void what_cannot_be_opened_is_no_block(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_topology *topology = make_topology(heap, NULL, NULL);
    tnr_domain *domain = bound_domain(heap, topology);
    tnr_node_info node;
    OK(tnr_topology_node_at(topology, 0, &node));
    for (int prefault = 0; prefault < 2; prefault++) {
        tnr_numa_options options = TNR_NUMA_OPTIONS;
        tnr_domain *own = NULL;
        tnr_block block;
        options.prefault = prefault != 0;
        OK(tnr_numa_create(heap, topology, node.node, &options, &own));
        memset(&seen, 0, sizeof seen);
        seen.refuse = 1;
        EXPECT(TNR_ERR_MEMORY, tnr_domain_allocate(own, 5000, 0, &block));
        TEXT_HAS("ENOMEM");
        assert_int_equal(seen.maps, 0);
        OK(tnr_domain_allocate(own, 5000, 0, &block));
        OK(tnr_domain_release(own, &block));
        OK(tnr_domain_close(&own));
        seen.refuse = 1; /* the trial page */
        own = untouched();
        EXPECT(TNR_ERR_BACKEND, tnr_numa_create(heap, topology, node.node, &options, &own));
        TEXT_HAS("having a page of the node");
        assert_ptr_equal(own, untouched());
        assert_int_equal(seen.maps, 0);
    }
    OK(tnr_domain_close(&domain));
    OK(tnr_topology_destroy(&topology));
    OK(tnr_domain_close(&heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_touches_what_is_not_bound),
        cmocka_unit_test(what_cannot_be_opened_is_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
