/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numa domains while the system and hwloc refuse: every call fails in turn, with every errno that counts, and answers that do not
 * fit are not believed. Whatever fails, nothing stays mapped or taken, and no node is claimed. PT-03.
 *
 * wraps: mmap munmap madvise
 * wraps: hwloc_topology_init hwloc_topology_destroy hwloc_topology_load hwloc_topology_set_flags hwloc_get_api_version
 * wraps: hwloc_bitmap_alloc hwloc_bitmap_free hwloc_get_cpubind hwloc_set_area_membind hwloc_get_area_membind
 * wraps: tnri_place_locate tnri_place_membind tnri_place_affinity tnri_place_prefer tnri_place_gather
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, unsetenv */

#include "numa_faults.h"

#include <errno.h>

#include "arena/topology_internal.h"

/* ---- Refusals with a reason -------------------------------------------------------------------------------------------------- */

/* A strict domain fails with this status and text; a best-effort one is unbound, and remembers why. */
static void check_refusal(fixture *f, tnr_status expected, int error, const char *text)
{
    const uint64_t blocks = blocks_of(f->heap);
    tnr_domain *domain = untouched();
    EXPECT(expected, make_numa(f, false, false, &domain));
    TEXT_HAS(text);
    assert_ptr_equal(domain, untouched());
    check_untaken(f, blocks);
    OK(make_numa(f, true, false, &domain));
    assert_int_equal(tnr_domain_placement(domain).cpu_affinity, TNR_NONE);
    tnr_numa_info info;
    OK(tnr_numa_describe(domain, &info));
    assert_int_equal(info.requested, f->node);
    assert_int_equal(info.bound, TNR_NONE);
    assert_int_equal(info.error, error);
    if (strstr(info.reason, text) == NULL) {
        print_error("\"%s\" does not contain \"%s\"\n", info.reason, text);
        fail();
    }
    /* Its blocks are taken without asking for a binding. */
    tnr_block block;
    OK(tnr_domain_allocate(domain, 5000, 0, &block));
    memset(block.address, 1, 5000);
    OK(tnr_domain_release(domain, &block));
    OK(tnr_domain_close(&domain));
    OK(tnr_topology_destroy(&f->topology)); /* nothing counts as its user */
    f->topology = make_topology(f->heap, NULL, NULL);
}

static void test_every_refusal_has_its_reason(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    static const struct {
        int error;
        tnr_status status;
        const char *word;
    } rows[] = {
        {EPERM, TNR_ERR_BACKEND, "EPERM"},   {ENOSYS, TNR_ERR_UNSUPPORTED, "ENOSYS"},
        {EXDEV, TNR_ERR_BACKEND, "EXDEV"},   {EINVAL, TNR_ERR_BACKEND, "EINVAL"},
        {EACCES, TNR_ERR_BACKEND, "EACCES"}, {EIO, TNR_ERR_BACKEND, "EIO"},
        {ENOMEM, TNR_ERR_BACKEND, "ENOMEM"}, {EFAULT, TNR_ERR_BACKEND, "EFAULT"},
        {EBADF, TNR_ERR_BACKEND, "no word"},
    };
    static const struct {
        fault_call call;
        const char *text;
    } places[] = {{CALL_BIND, "binding a page"}, {CALL_READ_BACK, "reading the binding"}};
    for (size_t place = 0; place < 2; place++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            faults.error = rows[i].error;
            faults.fails[places[place].call] = true;
            check_refusal(f, rows[i].status, rows[i].error, rows[i].word);
            check_refusal(f, rows[i].status, rows[i].error, places[place].text);
            faults.fails[places[place].call] = false;
        }
    }
    faults.error = ENOMEM;
    faults.fails[CALL_POPULATE] = true;
    check_refusal(f, TNR_ERR_BACKEND, ENOMEM, "having a page of the node");
}

static void test_failure_without_errno_is_one(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    faults.error = 0;
    faults.fails[CALL_BIND] = true;
    check_refusal(f, TNR_ERR_BACKEND, EINVAL, "EINVAL");
}

static void test_answers_that_do_not_fit_are_not_believed(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    faults.other_node = true;
    check_refusal(f, TNR_ERR_BACKEND, 0, "reading the binding of a page back: another answer");
    faults.other_node = false;
    faults.other_place = true;
    check_refusal(f, TNR_ERR_BACKEND, 0, "finding a page on the node: another answer");
}

/* Where pages cannot be found, the binding that reads back is enough. */
static void test_binding_stands_where_pages_cannot_be_found(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    faults.error = EPERM;
    faults.fails[CALL_LOCATE] = true;
    tnr_domain *domain = NULL;
    OK(make_numa(f, false, false, &domain));
    assert_int_equal(tnr_domain_placement(domain).cpu_affinity, f->node);
    OK(tnr_domain_close(&domain));
    tnr_residence residence;
    char byte = 0;
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_residence_of(&byte, 1, TNR_NONE, &residence));
    TEXT_HAS("errno 1)");
}

static void test_no_page_to_try_is_no_refusal(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    faults.error = ENOMEM;
    faults.fails[CALL_MMAP] = true;
    tnr_domain *domain = untouched();
    EXPECT(TNR_ERR_MEMORY, make_numa(f, false, false, &domain));
    EXPECT(TNR_ERR_MEMORY, make_numa(f, true, false, &domain));
    assert_ptr_equal(domain, untouched());
}

/* The system's own answer for a node that is not there: an error, no crash, nothing bound. */
static void test_pt03_strict_binding_to_a_missing_node(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    void *page = __real_mmap(NULL, (size_t)f->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    int node = 1;
    while (tnri_topology_node_check("test", f->topology, node) == TNR_OK) {
        node++;
    }
    assert_int_equal(tnri_topology_bind(f->topology, page, f->page, node), EINVAL);
    int bound = 7;
    assert_int_equal(tnri_topology_bound(f->topology, page, f->page, &bound), 0);
    assert_int_equal(bound, TNR_NONE);
    assert_int_equal(__real_munmap(page, (size_t)f->page), 0);
    tnr_domain *domain = untouched();
    EXPECT(TNR_ERR_BOUNDS, tnr_numa_create(f->heap, f->topology, node, NULL, &domain));
    assert_ptr_equal(domain, untouched());
}

/* ---- Blocks ----------------------------------------------------------------------------------------------------------------- */

static void check_block_fails(tnr_domain *domain, tnr_status expected, const char *text)
{
    const int64_t maps = faults.maps;
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    tnr_block block;
    memset(&block, 0x5A, sizeof(block));
    const tnr_block untaken = block;
    OK(tnr_domain_statistics_get(domain, &before));
    EXPECT(expected, tnr_domain_allocate(domain, 5000, 0, &block));
    TEXT_HAS(text);
    assert_memory_equal(&block, &untaken, sizeof(block));
    OK(tnr_domain_statistics_get(domain, &after));
    assert_int_equal(after.failures, before.failures + (expected == TNR_ERR_MEMORY ? 1U : 0U));
    before.failures = after.failures;
    assert_memory_equal(&after, &before, sizeof(after));
    assert_int_equal(faults.maps, maps);
    tnr_tensor *tensor = untouched();
    EXPECT(expected, tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(1000), &tensor));
    assert_ptr_equal(tensor, untouched());
    assert_int_equal(faults.maps, maps);
}

static void test_blocks_that_cannot_be_had(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    tnr_domain *domain = NULL;
    OK(make_numa(f, false, true, &domain));
    static const struct {
        fault_call call;
        int error;
        tnr_status status;
        const char *text;
    } rows[] = {
        {CALL_MMAP, ENOMEM, TNR_ERR_MEMORY, "no room for their addresses"},
        {CALL_BIND, EPERM, TNR_ERR_BACKEND, "EPERM"},
        {CALL_BIND, EINVAL, TNR_ERR_BACKEND, "EINVAL"},
        {CALL_BIND, ENOMEM, TNR_ERR_MEMORY, "none to bind them"},
        {CALL_BITMAP, ENOMEM, TNR_ERR_MEMORY, "none to bind them"},
        {CALL_POPULATE, ENOMEM, TNR_ERR_MEMORY, "ENOMEM"},
        {CALL_POPULATE, EFAULT, TNR_ERR_MEMORY, "EFAULT"},
        {CALL_GATHER, ENOMEM, TNR_ERR_MEMORY, "ENOMEM"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        faults.error = rows[i].error;
        faults.fails[rows[i].call] = true;
        check_block_fails(domain, rows[i].status, rows[i].text);
        faults.fails[rows[i].call] = false;
        tnr_tensor *tensor = NULL;
        OK(tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(1000), &tensor)); /* and the next one works */
        OK(tnr_tensor_release(&tensor));
    }
    OK(tnr_domain_close(&domain));
}

/* An old system has no call to populate: pages are touched. */
static void test_prefault_by_touching(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    static const int errors[] = {EINVAL, ENOSYS};
    for (int i = 0; i < 2; i++) {
        faults.error = errors[i];
        faults.fails[CALL_POPULATE] = true;
        tnr_domain *domain = NULL;
        tnr_block block;
        OK(make_numa(f, false, true, &domain));
        OK(tnr_domain_allocate(domain, 10 * f->page, 0, &block));
        faults.fails[CALL_POPULATE] = false;
        tnr_residence residence;
        if (tnr_residence_of(block.address, block.bytes, f->node, &residence) == TNR_OK) {
            assert_int_equal(residence.at_node, 10);
        }
        OK(tnr_domain_release(domain, &block));
        OK(tnr_domain_close(&domain));
    }
}

/* Where a preference or the places of pages are refused, the strict binding comes before the pages. */
static void test_prefault_where_pages_cannot_be_brought_together(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    static const fault_call refused[] = {CALL_PREFER, CALL_LOCATE};
    for (int i = 0; i < 2; i++) {
        faults.error = EPERM;
        faults.fails[refused[i]] = true;
        tnr_domain *domain = NULL;
        tnr_block block;
        OK(make_numa(f, false, true, &domain));
        OK(tnr_domain_allocate(domain, 10 * f->page, 0, &block));
        faults.fails[refused[i]] = false;
        int bound = TNR_NONE;
        assert_int_equal(tnri_topology_bound(f->topology, block.address, block.bytes, &bound), 0);
        assert_int_equal(bound, f->node);
        tnr_residence residence;
        if (tnr_residence_of(block.address, block.bytes, f->node, &residence) == TNR_OK) {
            assert_int_equal(residence.at_node, 10);
        }
        OK(tnr_domain_release(domain, &block));
        OK(tnr_domain_close(&domain));
    }
}

/* A pool over the domain gives up what it retains when the system has no more, and asks again. */
static void test_pool_makes_room(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    tnr_domain *domain = NULL;
    tnr_domain *pool = NULL;
    tnr_block block;
    OK(make_numa(f, false, false, &domain));
    OK(tnr_pool_create(domain, NULL, &pool));
    OK(tnr_domain_allocate(pool, 5000, 0, &block));
    OK(tnr_domain_release(pool, &block));
    faults.error = ENOMEM;
    faults.counting = true;
    faults.calls = 0;
    faults.call = 1; /* the first mapping, once */
    OK(tnr_domain_allocate(pool, 50000, 0, &block));
    faults.counting = false;
    tnr_pool_statistics statistics;
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.evictions, 1);
    OK(tnr_domain_release(pool, &block));
    OK(tnr_domain_close(&pool));
    OK(tnr_domain_close(&domain));
}

/* The system cannot cut a mapping: pages go back, addresses are lost, nobody is told of a failure. */
static void test_release_that_cannot_unmap(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    tnr_domain *domain = NULL;
    tnr_block block;
    OK(make_numa(f, false, false, &domain));
    OK(tnr_domain_allocate(domain, 5 * f->page, 0, &block));
    memset(block.address, 1, (size_t)block.bytes);
    faults.error = ENOMEM;
    faults.fails[CALL_MUNMAP] = true;
    OK(tnr_domain_release(domain, &block));
    faults.fails[CALL_MUNMAP] = false;
    assert_int_equal(faults.given_up, 1);
    tnr_residence residence;
    if (tnr_residence_of(block.address, block.bytes, f->node, &residence) == TNR_OK) {
        assert_int_equal(residence.present, 0);
    }
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(domain, &statistics));
    assert_int_equal(statistics.blocks, 0);
    OK(tnr_domain_close(&domain));
    assert_int_equal(__real_munmap(block.address, (size_t)block.bytes), 0);
}

static void test_huge_pages_are_asked_for_from_the_limit_on(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    const uint64_t huge = info_of(f->topology).huge_bytes;
    if (huge == 0) {
        SKIP("skipped: the system advises no huge pages");
    }
    static const struct {
        uint64_t limit; /* in pages; UINT64_MAX as it is */
        uint64_t pages;
        int advised;
    } rows[] = {{10, 9, 0}, {10, 10, 1}, {10, 11, 1}, {UINT64_MAX, 5000, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tnr_numa_options options = TNR_NUMA_OPTIONS;
        options.huge_above = rows[i].limit == UINT64_MAX ? UINT64_MAX : rows[i].limit * f->page;
        tnr_domain *domain = NULL;
        tnr_block block;
        OK(tnr_numa_create(f->heap, f->topology, f->node, &options, &domain));
        faults.huge = 0;
        OK(tnr_domain_allocate(domain, rows[i].pages * f->page, 0, &block));
        assert_int_equal(faults.huge, rows[i].advised);
        OK(tnr_domain_release(domain, &block));
        OK(tnr_domain_close(&domain));
        assert_int_equal(faults.maps, 0); /* what was mapped beside the block too */
    }
}

/* ---- Every call in turn ------------------------------------------------------------------------------------------------------ */

/* All that this part of the library asks the system for, once. */
static tnr_status whole_life(tnr_domain *heap, tnr_topology **topology, tnr_domain **domain, tnr_block *block,
                             tnr_domain **arena)
{
    tnr_node_set nodes;
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.prefault = true;
    TNR_TRY(tnr_topology_create(heap, NULL, topology));
    TNR_TRY(tnr_topology_nodes(*topology, &nodes));
    TNR_TRY(tnr_numa_create(heap, *topology, tnr_node_set_next(&nodes, TNR_NONE), &options, domain));
    TNR_TRY(tnr_domain_allocate(*domain, 100000, UINT64_C(1) << 20, block));
    return tnr_arena_create_in(*domain, 65536, NULL, arena);
}

static void test_every_call_fails_once(void **state)
{
    fixture *f = *state;
    NEED_BINDING(f);
    static const int errors[] = {ENOMEM, EPERM, EINVAL, ENOSYS};
    const int64_t topologies = faults.topologies;
    tnr_block first; /* handles stay with the heap: have them now */
    OK(tnr_domain_allocate(f->heap, 1, 0, &first));
    OK(tnr_domain_release(f->heap, &first));
    const uint64_t blocks = blocks_of(f->heap);
    int failures = 0;
    for (int e = 0; e < 4; e++) {
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            tnr_topology *topology = NULL;
            tnr_domain *domain = NULL;
            tnr_domain *arena = NULL;
            tnr_block block = {NULL, 0, 0, 0};
            faults.error = errors[e];
            faults.calls = 0;
            faults.call = n;
            faults.counting = true;
            const tnr_status status = whole_life(f->heap, &topology, &domain, &block, &arena);
            reached = faults.calls >= n;
            faults.counting = false;
            assert_true(status == TNR_OK || status == TNR_ERR_MEMORY || status == TNR_ERR_BACKEND ||
                        status == TNR_ERR_UNSUPPORTED);
            assert_true(status == TNR_OK || reached);
            failures += status != TNR_OK ? 1 : 0;
            OK(tnr_domain_close(&arena));
            if (block.bytes != 0) {
                assert_int_equal(tnr_domain_placement(domain).cpu_affinity, f->node);
                memset(block.address, 1, 100000);
                OK(tnr_domain_release(domain, &block));
            }
            OK(tnr_domain_close(&domain));
            OK(tnr_topology_destroy(&topology));
            check_untaken(f, blocks);
            assert_int_equal(faults.topologies, topologies);
            assert_true(n < 1000);
        }
    }
    assert_true(failures >= 4 * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(test_every_refusal_has_its_reason),
        FAULT_TEST(test_failure_without_errno_is_one),
        FAULT_TEST(test_answers_that_do_not_fit_are_not_believed),
        FAULT_TEST(test_binding_stands_where_pages_cannot_be_found),
        FAULT_TEST(test_no_page_to_try_is_no_refusal),
        FAULT_TEST(test_pt03_strict_binding_to_a_missing_node),
        FAULT_TEST(test_blocks_that_cannot_be_had),
        FAULT_TEST(test_prefault_by_touching),
        FAULT_TEST(test_prefault_where_pages_cannot_be_brought_together),
        FAULT_TEST(test_pool_makes_room),
        FAULT_TEST(test_release_that_cannot_unmap),
        FAULT_TEST(test_huge_pages_are_asked_for_from_the_limit_on),
        FAULT_TEST(test_every_call_fails_once),
    };
    (void)unsetenv("HWLOC_SYNTHETIC");
    (void)unsetenv("HWLOC_XMLFILE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
