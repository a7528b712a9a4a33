/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of one node: the node is claimed when it was obtained and only then, and blocks are whole pages. PT-06. Runs on every
 * node that this process may use. What lives over the domain is in test_numa_life.c.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "support/numa_fixture.h"

#include <sys/mman.h>

/* ---- The domain ----------------------------------------------------------------------------------------------------------- */

static void test_node_is_claimed_because_it_was_obtained(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    const tnr_topology_info info = info_of(f->topology);
    assert_true(info.binding);
    static tnr_node_info node;
    for (int index = 0; index < info.nodes; index++) {
        OK(tnr_topology_node_at(f->topology, index, &node));
        tnr_domain *domain = NULL;
        OK(tnr_numa_create(f->heap, f->topology, node.node, NULL, &domain));
        const tnr_placement placement = tnr_domain_placement(domain);
        assert_int_equal(placement.cpu_affinity, node.node);
        assert_int_equal(placement.kind, TNR_MEMORY_HOST);
        assert_int_equal(placement.device, TNR_NONE);
        assert_string_equal(tnr_domain_name(domain), "numa");
        assert_int_equal(tnr_domain_access(domain), TNR_ACCESS_DIRECT);
        tnr_numa_info numa;
        OK(tnr_numa_describe(domain, &numa));
        assert_int_equal(numa.requested, node.node);
        assert_int_equal(numa.bound, node.node);
        assert_int_equal(numa.error, 0);
        assert_string_equal(numa.reason, "");
        assert_int_equal(numa.page_bytes, f->page);
        assert_int_equal(numa.huge_above, info.huge_bytes != 0 ? 4 * info.huge_bytes : UINT64_MAX);
        /* And the pages are there. */
        const tnr_block block = take(domain, 10 * f->page, 0);
        memset(block.address, 3, (size_t)block.bytes);
        if (can_see_pages()) {
            const tnr_residence residence = residence_of(block.address, block.bytes, node.node);
            assert_int_equal(residence.at_node, 10);
            assert_int_equal(tnr_node_set_count(&residence.nodes), 1);
            assert_true(tnr_node_set_has(&residence.nodes, node.node));
        }
        give(domain, &block);
        OK(tnr_domain_close(&domain));
    }
}

static void test_best_effort_binds_where_it_can(void **state)
{
    fixture *f = *state;
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.best_effort = true;
    tnr_domain *domain = NULL;
    OK(tnr_numa_create(f->heap, f->topology, f->node, &options, &domain));
    tnr_numa_info numa;
    OK(tnr_numa_describe(domain, &numa));
    assert_int_equal(tnr_domain_placement(domain).cpu_affinity, f->bound);
    assert_int_equal(numa.bound, tnr_domain_placement(domain).cpu_affinity);
    assert_int_equal(numa.reason[0] != '\0', f->bound == TNR_NONE);
    if (!has_hwloc()) {
        assert_int_equal(f->bound, TNR_NONE);
        assert_string_equal(numa.reason, "this build has no hwloc");
        tnr_domain *strict = untouched();
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_numa_create(f->heap, f->topology, f->node, NULL, &strict));
        assert_ptr_equal(strict, untouched());
    }
    OK(tnr_domain_close(&domain));
}

static void test_arguments_are_checked(void **state)
{
    fixture *f = *state;
    tnr_domain *domain = untouched();
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    tnr_numa_info numa;
    EXPECT(TNR_ERR_ARGUMENT, tnr_numa_create(NULL, f->topology, f->node, NULL, &domain));
    EXPECT(TNR_ERR_ARGUMENT, tnr_numa_create(f->heap, NULL, f->node, NULL, &domain));
    EXPECT(TNR_ERR_ARGUMENT, tnr_numa_create(f->heap, f->topology, f->node, NULL, NULL));
    options.size = 1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_numa_create(f->heap, f->topology, f->node, &options, &domain));
    EXPECT(TNR_ERR_ARGUMENT, tnr_numa_need(NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_numa_describe(NULL, &numa));
    EXPECT(TNR_ERR_ARGUMENT, tnr_numa_describe(f->heap, &numa));
    TEXT_HAS("heap");
    EXPECT(TNR_ERR_ARGUMENT, tnr_numa_describe(f->domain, NULL));
    assert_ptr_equal(domain, untouched());
}

static void test_need_is_exact(void **state)
{
    fixture *f = *state;
    tnr_need need;
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.best_effort = true;
    OK(tnr_numa_need(&need));
    OK(tnr_domain_statistics_get(f->heap, &before));
    tnr_domain *domain = NULL;
    OK(tnr_numa_create(f->heap, f->topology, f->node, &options, &domain));
    OK(tnr_domain_statistics_get(f->heap, &after));
    assert_int_equal(after.blocks - before.blocks, need.blocks);
    assert_int_equal(after.bytes - before.bytes, need.bytes);
    OK(tnr_domain_close(&domain));
}

/* ---- Blocks ----------------------------------------------------------------------------------------------------------------- */

static void test_pt06_blocks_are_whole_pages(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    /* Two domains for the two smallest nodes, or twice for the one that there is. */
    static tnr_node_info node;
    OK(tnr_topology_node_at(f->topology, info_of(f->topology).nodes > 1 ? 1 : 0, &node));
    tnr_domain *other = NULL;
    OK(tnr_numa_create(f->heap, f->topology, node.node, NULL, &other));
    const tnr_block a = take(f->domain, 5000, 0);
    const tnr_block b = take(other, 5000, 0);
    const uint64_t expected = (5000 + f->page - 1) / f->page * f->page;
    assert_int_equal(a.bytes, expected);
    assert_int_equal(b.bytes, expected);
    if (f->page == 4096) {
        assert_int_equal(a.bytes, 8192);
    }
    assert_int_equal((uintptr_t)a.address % f->page, 0);
    assert_int_equal((uintptr_t)b.address % f->page, 0);
    memset(a.address, 1, (size_t)a.bytes);
    memset(b.address, 2, (size_t)b.bytes);
    if (can_see_pages()) {
        assert_int_equal(residence_of(a.address, a.bytes, f->node).at_node, expected / f->page);
        assert_int_equal(residence_of(b.address, b.bytes, node.node).at_node, expected / f->page);
    }
    give(f->domain, &a);
    give(other, &b);
    OK(tnr_domain_close(&other));
}

/* The same for regions that a program cuts itself: pages for each of two pools in an arena of two times two pages. */
static void test_pt06_arena_of_two_times_two_pages(void **state)
{
    fixture *f = *state;
    if (f->page != 4096) {
        SKIP("skipped: the row's figures are for pages of 4096 bytes");
    }
    static const struct {
        uint64_t bytes;
        bool fits;
    } rows[] = {{16384, true}, {10000, false}};
    for (int row = 0; row < 2; row++) {
        tnr_block region = take(f->heap, rows[row].bytes, 4096);
        tnr_arena_options options = TNR_ARENA_OPTIONS;
        static _Alignas(64) unsigned char control[65536];
        options.page = 4096;
        options.control = control;
        options.control_bytes = sizeof(control);
        tnr_domain *arena = NULL;
        OK(tnr_arena_create(region.address, rows[row].bytes, &options, &arena));
        tnr_block blocks[2];
        OK(tnr_domain_allocate(arena, 5000, 0, &blocks[0]));
        assert_int_equal(blocks[0].bytes, 8192);
        assert_int_equal((uintptr_t)blocks[0].address % 4096, 0);
        const tnr_status status = tnr_domain_allocate(arena, 5000, 0, &blocks[1]);
        assert_int_equal(status, rows[row].fits ? TNR_OK : TNR_ERR_MEMORY);
        if (rows[row].fits) {
            assert_int_equal(blocks[1].bytes, 8192);
            assert_int_equal((uintptr_t)blocks[1].address % 4096, 0);
            give(arena, &blocks[1]);
        }
        give(arena, &blocks[0]);
        OK(tnr_domain_close(&arena));
        give(f->heap, &region);
    }
}

static void test_pt06_nowhere_before_the_first_touch(void **state)
{
    fixture *f = *state;
    if (!can_see_pages()) {
        SKIP("skipped: %s", tnr_last_error());
    }
    /* A fresh area of the program's own, and a block where the library does not fill fresh bytes itself. */
    void *area = mmap(NULL, 2 * (size_t)f->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area != MAP_FAILED);
    tnr_residence residence = residence_of(area, 2 * f->page, f->node);
    assert_int_equal(residence.pages, 2);
    assert_int_equal(residence.present, 0);
    assert_int_equal(tnr_node_set_count(&residence.nodes), 0);
    memset(area, 1, 2 * (size_t)f->page);
    residence = residence_of(area, 2 * f->page, f->node);
    assert_int_equal(residence.present, 2);
    if (info_of(f->topology).nodes == 1) {
        assert_int_equal(tnr_node_set_count(&residence.nodes), 1);
        assert_true(tnr_node_set_has(&residence.nodes, f->node));
    }
    assert_int_equal(munmap(area, 2 * (size_t)f->page), 0);

    const tnr_block block = take(f->domain, 3 * f->page, 0);
    if (!is_debug()) {
        assert_int_equal(residence_of(block.address, block.bytes, f->node).present, 0);
    }
    ((volatile char *)block.address)[f->page] = 1; /* the middle page only */
    if (!is_debug()) {
        residence = residence_of(block.address, block.bytes, f->node);
        assert_int_equal(residence.pages, 3);
        assert_int_equal(residence.present, 1);
        assert_int_equal(residence.at_node, f->bound != TNR_NONE ? 1 : residence.at_node);
    }
    /* Bytes count by the pages that they lie in. */
    assert_int_equal(residence_of((char *)block.address + f->page - 1, 2, f->node).pages, 2);
    give(f->domain, &block);
}

static void test_many_pages_are_asked_for_in_turns(void **state)
{
    fixture *f = *state;
    if (!can_see_pages()) {
        SKIP("skipped: %s", tnr_last_error());
    }
    const uint64_t pages = 2 * 1024 + 3;
    tnr_numa_options options = options_of(f);
    options.huge_above = UINT64_MAX;
    tnr_domain *domain = NULL;
    OK(tnr_numa_create(f->heap, f->topology, f->node, &options, &domain));
    const tnr_block block = take(domain, pages * f->page, 0);
    (void)madvise(block.address, block.bytes, MADV_NOHUGEPAGE); /* where the system makes huge pages unasked */
    for (uint64_t at = 0; at < pages; at += 2) {
        ((volatile char *)block.address)[at * f->page] = 1;
    }
    const tnr_residence residence = residence_of(block.address, block.bytes, f->node);
    assert_int_equal(residence.pages, pages);
    assert_int_equal(residence.present, is_debug() ? pages : pages / 2 + 1);
    give(domain, &block);
    OK(tnr_domain_close(&domain));
}

static void test_prefault_has_every_page_at_once(void **state)
{
    fixture *f = *state;
    tnr_numa_options options = options_of(f);
    options.prefault = true;
    tnr_domain *domain = NULL;
    OK(tnr_numa_create(f->heap, f->topology, f->node, &options, &domain));
    const tnr_block block = take(domain, 100 * f->page, 0);
    if (can_see_pages()) {
        assert_int_equal(residence_of(block.address, block.bytes, f->node).present, 100);
    }
    give(domain, &block);

    /* More than the node has is refused before a page is touched. */
    if (f->bound == TNR_NONE) {
        OK(tnr_domain_close(&domain));
        return;
    }
    static tnr_node_info node;
    OK(tnr_topology_node(f->topology, f->node, &node));
    tnr_block none;
    memset(&none, 0x5A, sizeof(none));
    const tnr_block before = none;
    EXPECT(TNR_ERR_MEMORY, tnr_domain_allocate(domain, node.bytes + 1, 0, &none));
    TEXT_HAS("less in all");
    assert_memory_equal(&none, &before, sizeof(none));
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(domain, &statistics));
    assert_int_equal(statistics.failures, 1);
    OK(tnr_domain_close(&domain));
}

static void test_large_blocks_start_on_huge_pages(void **state)
{
    fixture *f = *state;
    const uint64_t huge = info_of(f->topology).huge_bytes;
    if (huge == 0) {
        SKIP("skipped: the system advises no huge pages");
    }
    for (int i = 0; i < 4; i++) {
        const tnr_block block = take(f->domain, 4 * huge + (uint64_t)i, 0);
        assert_int_equal((uintptr_t)block.address % huge, 0);
        assert_int_equal(block.bytes, i == 0 ? 4 * huge : 4 * huge + f->page);
        ((volatile char *)block.address)[block.bytes - 1] = 1;
        ((volatile char *)block.address)[0] = 1;
        give(f->domain, &block);
    }
    tnr_numa_options options = options_of(f);
    options.huge_above = 3 * f->page;
    tnr_domain *domain = NULL;
    OK(tnr_numa_create(f->heap, f->topology, f->node, &options, &domain));
    const tnr_block block = take(domain, 3 * f->page, 0);
    assert_int_equal((uintptr_t)block.address % huge, 0);
    assert_int_equal(block.bytes, 3 * f->page);
    give(domain, &block);
    OK(tnr_domain_close(&domain));
}

static void test_alignment_beyond_a_page(void **state)
{
    fixture *f = *state;
    for (uint64_t alignment = f->page; alignment <= 64 * MIB; alignment *= 4) {
        const tnr_block block = take(f->domain, 100, alignment);
        assert_int_equal((uintptr_t)block.address % alignment, 0);
        assert_int_equal(block.bytes, f->page);
        ((volatile char *)block.address)[99] = 1;
        give(f->domain, &block);
    }
}

static void test_requests_that_no_system_can_serve(void **state)
{
    fixture *f = *state;
    static const uint64_t bytes[] = {UINT64_MAX, UINT64_MAX - 4096, UINT64_C(1) << 63, UINT64_C(1) << 50};
    for (int i = 0; i < 4; i++) {
        tnr_block block;
        memset(&block, 0x5A, sizeof(block));
        const tnr_block before = block;
        const tnr_status status = tnr_domain_allocate(f->domain, bytes[i], 0, &block);
        assert_true(status == TNR_ERR_OVERFLOW || status == TNR_ERR_MEMORY);
        assert_memory_equal(&block, &before, sizeof(block));
        EXPECT(TNR_ERR_MEMORY, tnr_domain_allocate(f->domain, 1, UINT64_C(1) << 63, &block));
    }
    assert_int_equal(blocks_out(f->domain), 0);
}

static void test_statistics_and_release(void **state)
{
    fixture *f = *state;
    const tnr_block a = take(f->domain, 1, 0);
    const tnr_block b = take(f->domain, f->page + 1, 0);
    assert_true(is_mapped(a.address, f->page));
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(f->domain, &statistics));
    assert_int_equal(statistics.blocks, 2);
    assert_int_equal(statistics.bytes, 3 * f->page);
    assert_int_equal(statistics.capacity, 0);
    give(f->domain, &a);
    EXPECT(TNR_ERR_STALE, tnr_domain_release(f->domain, &a));
    EXPECT(TNR_ERR_FOREIGN, tnr_domain_release(f->heap, &b));
    tnr_block other = b;
    other.address = (char *)b.address + f->page;
    EXPECT(TNR_ERR_FOREIGN, tnr_domain_release(f->domain, &other));
    give(f->domain, &b);
    OK(tnr_domain_statistics_get(f->domain, &statistics));
    assert_int_equal(statistics.blocks, 0);
    assert_int_equal(statistics.bytes, 0);
    assert_int_equal(statistics.peak_bytes, 3 * f->page);
    assert_int_equal(statistics.allocations, 2);
    /* The pages went back to the system: the addresses are nobody's now. */
    assert_false(is_mapped(b.address, f->page));
    tnr_block nothing;
    OK(tnr_domain_allocate(f->domain, 0, 0, &nothing));
    assert_null(nothing.address);
    give(f->domain, &nothing);
}

static void test_debug_builds_fill_fresh_blocks(void **state)
{
    fixture *f = *state;
    const tnr_block block = take(f->domain, 2 * f->page, 0);
    const unsigned char *bytes = block.address;
    for (uint64_t i = 0; i < block.bytes; i++) {
        assert_int_equal(bytes[i], is_debug() ? 0xFF : 0);
    }
    give(f->domain, &block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NUMA_TEST(test_node_is_claimed_because_it_was_obtained),
        NUMA_TEST(test_best_effort_binds_where_it_can),
        NUMA_TEST(test_arguments_are_checked),
        NUMA_TEST(test_need_is_exact),
        NUMA_TEST(test_pt06_blocks_are_whole_pages),
        NUMA_TEST(test_pt06_arena_of_two_times_two_pages),
        NUMA_TEST(test_pt06_nowhere_before_the_first_touch),
        NUMA_TEST(test_many_pages_are_asked_for_in_turns),
        NUMA_TEST(test_prefault_has_every_page_at_once),
        NUMA_TEST(test_large_blocks_start_on_huge_pages),
        NUMA_TEST(test_alignment_beyond_a_page),
        NUMA_TEST(test_requests_that_no_system_can_serve),
        NUMA_TEST(test_statistics_and_release),
        NUMA_TEST(test_debug_builds_fill_fresh_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
