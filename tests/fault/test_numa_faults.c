/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies and numa domains while the system and hwloc refuse: every call fails in turn, with every errno that counts, and
 * answers that do not fit are not believed. Whatever fails, nothing stays mapped or taken, and no node is claimed. PT-03.
 *
 * wraps: mmap munmap madvise
 * wraps: hwloc_topology_init hwloc_topology_destroy hwloc_topology_load hwloc_topology_set_flags hwloc_get_api_version
 * wraps: hwloc_bitmap_alloc hwloc_bitmap_free hwloc_get_cpubind hwloc_set_area_membind hwloc_get_area_membind
 * wraps: tnri_place_locate tnri_place_membind tnri_place_affinity tnri_place_prefer tnri_place_gather
 */
#define _GNU_SOURCE /* MADV_POPULATE_WRITE */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena/topology_internal.h"
#include "support/topology_fixture.h"

/* ---- Between the library and the system ----------------------------------------------------------------------------------- */

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
static struct {
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
} faults;

static bool fails_now(fault_call which)
{
    faults.calls++;
    const bool now = faults.fails[which] || (faults.counting && faults.calls == faults.call);
    if (now) {
        errno = faults.error;
    }
    return now;
}

/* hwloc's types are pointers to structs that this file need not know. Weak: a build without hwloc has none of these. */
#define WEAK __attribute__((weak))
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);
int __real_madvise(void *address, size_t bytes, int advice);
int __real_hwloc_topology_init(void **topology) WEAK;
void __real_hwloc_topology_destroy(void *topology) WEAK;
int __real_hwloc_topology_load(void *topology) WEAK;
int __real_hwloc_topology_set_flags(void *topology, unsigned long flags) WEAK;
unsigned __real_hwloc_get_api_version(void) WEAK;
void *__real_hwloc_bitmap_alloc(void) WEAK;
void __real_hwloc_bitmap_free(void *set) WEAK;
int __real_hwloc_get_cpubind(void *topology, void *set, int flags) WEAK;
int __real_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags) WEAK;
int __real_hwloc_get_area_membind(void *topology, const void *address, size_t bytes, void *set, int *policy,
                                  int flags) WEAK;
void hwloc_bitmap_zero(void *set) WEAK;
int hwloc_bitmap_only(void *set, unsigned member) WEAK;
int __real_tnri_place_locate(uint64_t count, void **addresses, int *nodes);
bool __real_tnri_place_membind(tnr_node_set *set);
int __real_tnri_place_affinity(tnr_cpu_set *set);
int __real_tnri_place_prefer(void *address, uint64_t bytes, int node);
int __real_tnri_place_gather(void *address, uint64_t bytes, uint64_t page, int node);

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *address, size_t bytes);
int __wrap_madvise(void *address, size_t bytes, int advice);
int __wrap_hwloc_topology_init(void **topology);
void __wrap_hwloc_topology_destroy(void *topology);
int __wrap_hwloc_topology_load(void *topology);
int __wrap_hwloc_topology_set_flags(void *topology, unsigned long flags);
unsigned __wrap_hwloc_get_api_version(void);
void *__wrap_hwloc_bitmap_alloc(void);
void __wrap_hwloc_bitmap_free(void *set);
int __wrap_hwloc_get_cpubind(void *topology, void *set, int flags);
int __wrap_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags);
int __wrap_hwloc_get_area_membind(void *topology, const void *address, size_t bytes, void *set, int *policy, int flags);
int __wrap_tnri_place_locate(uint64_t count, void **addresses, int *nodes);
bool __wrap_tnri_place_membind(tnr_node_set *set);
int __wrap_tnri_place_affinity(tnr_cpu_set *set);
int __wrap_tnri_place_prefer(void *address, uint64_t bytes, int node);
int __wrap_tnri_place_gather(void *address, uint64_t bytes, uint64_t page, int node);

/* Mapped bytes less unmapped ones: pieces may go one by one. */
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (fails_now(CALL_MMAP)) {
        return MAP_FAILED;
    }
    void *mapped = __real_mmap(address, bytes, protection, flags, file, offset);
    faults.maps += mapped != MAP_FAILED ? (int64_t)bytes : 0;
    return mapped;
}

int __wrap_munmap(void *address, size_t bytes)
{
    if (fails_now(CALL_MUNMAP)) {
        return -1;
    }
    faults.maps -= (int64_t)bytes;
    return __real_munmap(address, bytes);
}

int __wrap_madvise(void *address, size_t bytes, int advice)
{
    if (advice == MADV_POPULATE_WRITE && fails_now(CALL_POPULATE)) {
        return -1;
    }
    faults.huge += advice == MADV_HUGEPAGE ? 1 : 0;
    if (advice == MADV_DONTNEED) {
        faults.given_up++;
        faults.maps -= (int64_t)bytes;
    }
    return __real_madvise(address, bytes, advice);
}

int __wrap_hwloc_topology_init(void **topology)
{
    if (fails_now(CALL_INIT)) {
        return -1;
    }
    faults.topologies++;
    return __real_hwloc_topology_init(topology);
}

void __wrap_hwloc_topology_destroy(void *topology)
{
    faults.topologies--;
    __real_hwloc_topology_destroy(topology);
}

int __wrap_hwloc_topology_load(void *topology)
{
    return fails_now(CALL_LOAD) ? -1 : __real_hwloc_topology_load(topology);
}

int __wrap_hwloc_topology_set_flags(void *topology, unsigned long flags)
{
    return fails_now(CALL_FLAGS) ? -1 : __real_hwloc_topology_set_flags(topology, flags);
}

unsigned __wrap_hwloc_get_api_version(void)
{
    return faults.version != 0 ? faults.version : __real_hwloc_get_api_version();
}

void *__wrap_hwloc_bitmap_alloc(void)
{
    if (fails_now(CALL_BITMAP)) {
        return NULL;
    }
    faults.bitmaps++;
    return __real_hwloc_bitmap_alloc();
}

void __wrap_hwloc_bitmap_free(void *set)
{
    faults.bitmaps -= set != NULL ? 1 : 0;
    __real_hwloc_bitmap_free(set);
}

int __wrap_hwloc_get_cpubind(void *topology, void *set, int flags)
{
    if (fails_now(CALL_CPUBIND)) {
        return -1;
    }
    if (faults.no_cpu) {
        hwloc_bitmap_zero(set);
        return 0;
    }
    return __real_hwloc_get_cpubind(topology, set, flags);
}

int __wrap_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags)
{
    return fails_now(CALL_BIND) ? -1 : __real_hwloc_set_area_membind(topology, address, bytes, set, policy, flags);
}

int __wrap_hwloc_get_area_membind(void *topology, const void *address, size_t bytes, void *set, int *policy, int flags)
{
    if (fails_now(CALL_READ_BACK)) {
        return -1;
    }
    const int result = __real_hwloc_get_area_membind(topology, address, bytes, set, policy, flags);
    if (result == 0 && faults.other_node) {
        return hwloc_bitmap_only(set, 999);
    }
    return result;
}

int __wrap_tnri_place_locate(uint64_t count, void **addresses, int *nodes)
{
    if (fails_now(CALL_LOCATE)) {
        return faults.error;
    }
    const int error = __real_tnri_place_locate(count, addresses, nodes);
    for (uint64_t at = 0; faults.other_place && at < count; at++) {
        nodes[at] = 999;
    }
    return error;
}

bool __wrap_tnri_place_membind(tnr_node_set *set)
{
    if (faults.bound_elsewhere) {
        memset(set, 0, sizeof(*set));
        set->words[999 / 64] = UINT64_C(1) << (999 % 64);
        return true;
    }
    return __real_tnri_place_membind(set);
}

int __wrap_tnri_place_affinity(tnr_cpu_set *set)
{
    return fails_now(CALL_AFFINITY) ? faults.error : __real_tnri_place_affinity(set);
}

int __wrap_tnri_place_prefer(void *address, uint64_t bytes, int node)
{
    return fails_now(CALL_PREFER) ? faults.error : __real_tnri_place_prefer(address, bytes, node);
}

int __wrap_tnri_place_gather(void *address, uint64_t bytes, uint64_t page, int node)
{
    return fails_now(CALL_GATHER) ? faults.error : __real_tnri_place_gather(address, bytes, page, node);
}

/* ---- Fixture --------------------------------------------------------------------------------------------------------------- */

typedef struct fixture {
    tnr_domain *heap;
    tnr_topology *topology;
    int node;
    uint64_t page;
} fixture;

static int set_up(void **state)
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

static int tear_down(void **state)
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

static tnr_status make_numa(fixture *f, bool best_effort, bool prefault, tnr_domain **domain)
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

static void check_untaken(fixture *f, uint64_t blocks_before)
{
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(f->heap, &statistics));
    assert_int_equal(statistics.blocks, blocks_before);
    assert_int_equal(faults.maps, 0);
    assert_int_equal(faults.bitmaps, 0);
}

static uint64_t blocks_of(tnr_domain *domain)
{
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(domain, &statistics));
    return statistics.blocks;
}

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

/* ---- Topologies ---------------------------------------------------------------------------------------------------------------- */

static void check_no_topology(fixture *f, tnr_status expected, const char *text)
{
    const uint64_t blocks = blocks_of(f->heap);
    const int64_t topologies = faults.topologies;
    tnr_topology *topology = untouched();
    EXPECT(expected, tnr_topology_create(f->heap, NULL, &topology));
    TEXT_HAS(text);
    assert_ptr_equal(topology, untouched());
    assert_int_equal(blocks_of(f->heap), blocks);
    assert_int_equal(faults.topologies, topologies);
    assert_int_equal(faults.bitmaps, 0);
}

#define NEED_HWLOC()                                  \
    do {                                              \
        if (!has_hwloc()) {                           \
            SKIP("skipped: this build has no hwloc"); \
        }                                             \
    } while (0)

static void test_hwloc_that_fails(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    static const struct {
        fault_call call;
        tnr_status status;
        const char *text;
    } rows[] = {
        {CALL_INIT, TNR_ERR_BACKEND, "cannot begin"},
        {CALL_FLAGS, TNR_ERR_BACKEND, "flag"},
        {CALL_LOAD, TNR_ERR_BACKEND, "cannot load"},
        {CALL_BITMAP, TNR_ERR_MEMORY, "no memory"},
    };
    faults.error = EIO;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        faults.fails[rows[i].call] = true;
        check_no_topology(f, rows[i].status, rows[i].text);
        faults.fails[rows[i].call] = false;
    }
}

static void test_hwloc_of_another_major_version(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    faults.version = __real_hwloc_get_api_version() + 0x10000U;
    check_no_topology(f, TNR_ERR_BACKEND, "same major version");
}

static void test_binding_without_cpus(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    faults.no_cpu = true;
    check_no_topology(f, TNR_ERR_BACKEND, "no CPU");
}

/* Without the process's binding the thread's counts, and without that all that is allowed. */
static void test_unknown_binding(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    faults.error = ENOSYS;
    faults.fails[CALL_CPUBIND] = true;
    tnr_topology *topology = make_topology(f->heap, NULL, NULL);
    tnr_cpu_set cpus;
    tnr_cpu_set affinity;
    OK(tnr_topology_cpus(topology, &cpus));
    OK(tnr_thread_affinity(&affinity));
    assert_memory_equal(&cpus, &affinity, sizeof(cpus));
    OK(tnr_topology_destroy(&topology));
    faults.fails[CALL_AFFINITY] = true;
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_thread_affinity(&affinity));
    topology = make_topology(f->heap, NULL, NULL);
    check_topology(topology);
    OK(tnr_topology_cpus(topology, &cpus));
    assert_true(tnr_cpu_set_within(&affinity, &cpus));
    OK(tnr_topology_destroy(&topology));
}

static void test_memory_policy_limits_the_nodes(void **state)
{
    fixture *f = *state;
    NEED_HWLOC();
    faults.bound_elsewhere = true;
    tnr_topology *topology = make_topology(f->heap, NULL, NULL);
    check_topology(topology);
    assert_int_equal(info_of(topology).nodes, 0);
    assert_int_equal(info_of(topology).cpus, info_of(f->topology).cpus);
    tnr_domain *domain = untouched();
    EXPECT(TNR_ERR_BOUNDS, tnr_numa_create(f->heap, topology, f->node, NULL, &domain));
    OK(tnr_topology_destroy(&topology));
    /* A described machine is not this one. */
    topology = make_topology(f->heap, "numa:2 pu:2", NULL);
    assert_int_equal(info_of(topology).nodes, 2);
    OK(tnr_topology_destroy(&topology));
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        FAULT_TEST(test_hwloc_that_fails),
        FAULT_TEST(test_hwloc_of_another_major_version),
        FAULT_TEST(test_binding_without_cpus),
        FAULT_TEST(test_unknown_binding),
        FAULT_TEST(test_memory_policy_limits_the_nodes),
    };
    (void)unsetenv("HWLOC_SYNTHETIC");
    (void)unsetenv("HWLOC_XMLFILE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
