/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numa domain: whole pages from the system, each block bound strictly to one node before anything touches it.
 *
 *   record in the home: | tnr_domain | numa_state |
 *
 * Guarantees: the node in the placement is one to which a trial page was bound, read back, and put (where the system tells);
 * a block that cannot be bound is not handed out. Nothing is kept per block: what a block says is enough to unmap it, and the
 * core checks the program's raw blocks.
 * Does not cache: each block costs system calls, and a pool over it is meant to stand between.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */

#include "place_internal.h"
#include "poison.inl.h"
#include "topology_internal.h"

#include <errno.h>
#include <sys/mman.h>

typedef struct numa_state {
    tnr_topology *topology;
    tnr_numa_info info;
    bool prefault;
    uint64_t huge_bytes; /* 0: none */
    uint64_t node_bytes; /* memory of the node; 0: unknown, or not bound */
} numa_state;

static numa_state *state_of(const tnr_domain *domain) { return domain->state; }

/* ---- Pages -------------------------------------------------------------------------------------------------------------- */

/* A word for the errors that these calls give. */
static const char *error_word(int error)
{
    switch (error) {
    case EPERM:
        return "EPERM, not permitted";
    case EACCES:
        return "EACCES, not permitted";
    case ENOSYS:
        return "ENOSYS, the system has no such call";
    case EXDEV:
        return "EXDEV, the set cannot be enforced";
    case EINVAL:
        return "EINVAL, no such node here or not allowed";
    case ENOMEM:
        return "ENOMEM, no memory";
    case EIO:
        return "EIO, a page is elsewhere";
    case EFAULT:
        return "EFAULT, no memory behind a page";
    case EBUSY:
        return "EBUSY, something holds a page elsewhere";
    default:
        return "an error that this library has no word for";
    }
}

/*
 * Give pages back. The system may have no room to cut a mapping in two; then the memory goes back all the same, and only the
 * addresses stay taken.
 */
static void unmap(void *address, uint64_t bytes)
{
    if (bytes != 0 && munmap(address, (size_t)bytes) != 0) {
        (void)madvise(address, (size_t)bytes, MADV_DONTNEED);
    }
}

/*
 * Fresh pages that start on a multiple of `alignment`, a power of two of at least a page. NULL: no room. Nobody can touch them
 * before open_pages: the system joins equal mappings that adjoin, and a huge page that comes for a neighbour's sake, a thread's
 * stack for one, would fill some of ours where that thread runs, before they are bound.
 */
static void *map(uint64_t bytes, uint64_t alignment, uint64_t page)
{
    uint64_t room;
    if (!tnri_add_u64(bytes, alignment - page, &room) || room > PTRDIFF_MAX) {
        return NULL;
    }
    void *mapped = mmap(NULL, (size_t)room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return NULL;
    }
    const uint64_t head = (alignment - ((uint64_t)(uintptr_t)mapped & (alignment - 1))) & (alignment - 1);
    char *address = (char *)mapped + head;
    unmap(mapped, head);
    unmap(address + bytes, room - head - bytes);
    return address;
}

/* What was to be settled before the first touch is. The system's errno, or 0. */
static int open_pages(void *address, uint64_t bytes)
{
    return mprotect(address, (size_t)bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
}

/* Have every page now. Touching is for systems older than the call, and cannot fail in a way that a program survives. */
static int prefault(void *address, uint64_t bytes, uint64_t page)
{
    if (madvise(address, (size_t)bytes, MADV_POPULATE_WRITE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    volatile char *first = address;
    for (uint64_t at = 0; at < bytes; at += page) {
        first[at] = 0;
    }
    return 0;
}

/* ---- The class ------------------------------------------------------------------------------------------------------------ */

static tnr_status no_memory(tnr_domain *domain, uint64_t bytes, const char *why)
{
    tnri_tally_failure(&domain->tally);
    return tnri_fail(TNR_ERR_MEMORY, "numa: no %llu bytes for node %d: %s", TNRI_LLU(bytes),
                     state_of(domain)->info.requested, why);
}

static tnr_status bind_block(tnr_domain *domain, void *address, uint64_t bytes)
{
    const numa_state *state = state_of(domain);
    const int error = tnri_topology_bind(state->topology, address, bytes, state->info.bound);
    if (error == ENOMEM) {
        return no_memory(domain, bytes, "the system has none to bind them");
    }
    TNR_REQUIRE(error == 0, TNR_ERR_BACKEND, "numa: %llu bytes cannot be bound to node %d: errno %d (%s)",
                TNRI_LLU(bytes), state->info.bound, error, error_word(error));
    return TNR_OK;
}

/* Can pages be had first, by preference, and bound once they are there? */
static bool prefers(void *address, uint64_t bytes, int node)
{
    int place = 0;
    return tnri_place_locate(1, &address, &place) == 0 && tnri_place_prefer(address, bytes, node) == 0;
}

/*
 * Have all pages now. Where the node has no room for one, a strict binding would have the kernel end the process: so they
 * come by preference, are brought together, and are bound strictly once they are there. Where the system does not tell where
 * pages are, that cannot be checked, and the strict binding comes first.
 */
static tnr_status prefault_block(tnr_domain *domain, void *address, uint64_t bytes)
{
    const numa_state *state = state_of(domain);
    const int node = state->info.bound;
    const bool gently = node != TNR_NONE && prefers(address, bytes, node);
    if (node != TNR_NONE && !gently) {
        TNR_TRY(bind_block(domain, address, bytes));
    }
    int error = open_pages(address, bytes);
    error = error == 0 ? prefault(address, bytes, state->info.page_bytes) : error;
    if (error == 0 && gently) {
        error = tnri_place_gather(address, bytes, state->info.page_bytes, node);
    }
    if (error != 0) {
        return no_memory(domain, bytes, error_word(error));
    }
    return gently ? bind_block(domain, address, bytes) : TNR_OK;
}

static tnr_status prepare(tnr_domain *domain, void *address, uint64_t bytes, bool huge)
{
    const numa_state *state = state_of(domain);
    if (huge) {
        (void)madvise(address, (size_t)bytes, MADV_HUGEPAGE); /* advice: without it ordinary pages serve */
    }
    if (state->prefault) {
        return prefault_block(domain, address, bytes);
    }
    if (state->info.bound != TNR_NONE) {
        TNR_TRY(bind_block(domain, address, bytes));
    }
    const int error = open_pages(address, bytes);
    return error == 0 ? TNR_OK : no_memory(domain, bytes, error_word(error));
}

static tnr_status numa_allocate(tnr_domain *domain, tnri_block_use use, uint64_t bytes, uint64_t alignment,
                                tnr_block *block)
{
    (void)use;
    alignment = tnri_max_u64(alignment, TNRI_UNIT);
    const numa_state *state = state_of(domain);
    uint64_t rounded;
    TNR_REQUIRE(tnri_round_up(bytes, state->info.page_bytes, &rounded), TNR_ERR_OVERFLOW,
                "numa: %llu bytes, rounded up to pages, do not fit in 64 bits", TNRI_LLU(bytes));
    if (state->prefault && state->node_bytes != 0 && rounded > state->node_bytes) {
        return no_memory(domain, rounded, "it has less in all");
    }
    const bool huge = state->huge_bytes != 0 && rounded >= state->info.huge_above;
    const uint64_t start = tnri_max_u64(alignment, huge ? state->huge_bytes : state->info.page_bytes);
    void *address = map(rounded, start, state->info.page_bytes);
    if (address == NULL) {
        return no_memory(domain, rounded, "the system has no room for their addresses");
    }
    const tnr_status status = prepare(domain, address, rounded, huge);
    if (status != TNR_OK) {
        unmap(address, rounded);
        return status;
    }
    tnri_poison_mark_used(address, rounded);
    block->address = address;
    block->bytes = rounded;
    block->allocation = tnri_mint(domain);
    block->tag = 0;
    tnri_tally_take(&domain->tally, rounded);
    return TNR_OK;
}

static tnr_status numa_release(tnr_domain *domain, const tnr_block *block, tnri_block_use use)
{
    (void)use;
    tnri_tally_give(&domain->tally, block->bytes);
    tnri_poison_show(block->address, block->bytes); /* the addresses may become anybody's */
    unmap(block->address, block->bytes);
    return TNR_OK;
}

static void numa_statistics(tnr_domain *domain, tnr_domain_statistics *statistics)
{
    tnri_tally_report(&domain->tally, statistics);
}

static void numa_close(tnr_domain *domain)
{
    if (!domain->closed) {
        tnri_topology_retire(state_of(domain)->topology);
    }
}

static void numa_destroy(tnr_domain *domain) { tnri_topology_let_go(state_of(domain)->topology); }

static const tnri_domain_class numa_class = {
    .name = "numa",
    .allocate = numa_allocate,
    .release = numa_release,
    .statistics = numa_statistics,
    .close = numa_close,
    .destroy = numa_destroy,
    .outlives_close = true,
};

/* ---- Obtaining the binding -------------------------------------------------------------------------------------------------- */

static void put_reason(tnr_numa_info *info, const char *what, const char *why)
{
    size_t length = 0;
    for (const char *at = what; *at != '\0' && length < sizeof(info->reason) - 1; at++) {
        info->reason[length++] = *at;
    }
    for (const char *at = why; *at != '\0' && length < sizeof(info->reason) - 1; at++) {
        info->reason[length++] = *at;
    }
    info->reason[length] = '\0';
}

/* The system's error, or an answer that does not fit (error 0), in words. */
static tnr_status refused(tnr_numa_info *info, const char *what, int error)
{
    info->error = error;
    put_reason(info, what, error != 0 ? error_word(error) : "another answer than what was asked for");
    return error == ENOSYS ? TNR_ERR_UNSUPPORTED : TNR_ERR_BACKEND;
}

/* Bind the trial page and read that back. */
static tnr_status bind_trial(const numa_state *state, tnr_numa_info *info, void *page)
{
    int error = tnri_topology_bind(state->topology, page, info->page_bytes, info->requested);
    if (error != 0) {
        return refused(info, "binding a page to the node: ", error);
    }
    int found = TNR_NONE;
    error = tnri_topology_bound(state->topology, page, info->page_bytes, &found);
    if (error != 0 || found != info->requested) {
        return refused(info, "reading the binding of a page back: ", error);
    }
    return TNR_OK;
}

/* Put the trial page on the node, bind it and look where it is. As for blocks, a full node must not end the process. */
static tnr_status try_page(const numa_state *state, tnr_numa_info *info, void *page)
{
    const int node = info->requested;
    const uint64_t bytes = info->page_bytes;
    const bool gently = prefers(page, bytes, node);
    if (!gently) {
        TNR_TRY(bind_trial(state, info, page));
    }
    int error = open_pages(page, bytes);
    error = error == 0 ? prefault(page, bytes, bytes) : error;
    error = error == 0 && gently ? tnri_place_gather(page, bytes, bytes, node) : error;
    if (error != 0) {
        return refused(info, "having a page of the node: ", error);
    }
    if (gently) {
        TNR_TRY(bind_trial(state, info, page));
    }
    int found = TNR_NONE;
    if (tnri_place_locate(1, &page, &found) == 0 && found >= 0 && found != node) {
        return refused(info, "finding a page on the node: ", 0);
    }
    return TNR_OK;
}

/* TNR_OK with info->bound set, or why not, in info and as a status. */
static tnr_status obtain(const numa_state *state, tnr_numa_info *info)
{
    const tnr_topology_info *machine = &state->topology->info;
    if (!machine->hwloc) {
        put_reason(info, "this build has no hwloc", "");
        return TNR_ERR_UNSUPPORTED;
    }
    if (!machine->this_system) {
        put_reason(info, "the topology describes another machine than this one", "");
        return TNR_ERR_UNSUPPORTED;
    }
    if (!machine->binding) {
        put_reason(info, "the system cannot bind memory", "");
        info->error = ENOSYS;
        return TNR_ERR_UNSUPPORTED;
    }
    void *page = map(info->page_bytes, info->page_bytes, info->page_bytes);
    TNR_REQUIRE(page != NULL, TNR_ERR_MEMORY, "numa_create: the system has no page to try");
    const tnr_status status = try_page(state, info, page);
    unmap(page, info->page_bytes);
    if (status == TNR_OK) {
        info->bound = info->requested;
    }
    return status;
}

/* ---- The public calls -------------------------------------------------------------------------------------------------------- */

#define RECORD_BYTES (sizeof(tnr_domain) + sizeof(numa_state))

_Static_assert(sizeof(tnr_domain) % _Alignof(numa_state) == 0, "the state follows the domain");

tnr_status tnr_numa_need(tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "numa_need: need must not be NULL");
    return tnri_record_need(RECORD_BYTES, need);
}

static void prepare_state(tnr_topology *topology, int node, const tnr_numa_options *options, numa_state *state)
{
    memset(state, 0, sizeof(*state));
    state->topology = topology;
    state->prefault = options->prefault;
    state->info.requested = node;
    state->info.bound = TNR_NONE;
    state->info.page_bytes = tnri_place_page_bytes(); /* of this machine, whichever the topology describes */
    state->huge_bytes = tnri_place_huge_bytes();
    if (state->huge_bytes <= state->info.page_bytes) {
        state->huge_bytes = 0;
    }
    state->info.huge_above = options->huge_above != 0 ? options->huge_above : 4 * state->huge_bytes;
    if (state->huge_bytes == 0) {
        state->info.huge_above = UINT64_MAX;
    }
}

tnr_status tnr_numa_create(tnr_domain *home, tnr_topology *topology, int node, const tnr_numa_options *given,
                           tnr_domain **domain)
{
    static const char *const op = "numa_create";
    TNR_REQUIRE(home != NULL && topology != NULL && domain != NULL, TNR_ERR_ARGUMENT,
                "%s: home, topology and domain must not be NULL", op);
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    TNR_TRY(tnri_options_take(op, given, sizeof(options), &options, sizeof(options)));
    TNR_TRY(tnri_topology_node_check(op, topology, node));
    TNR_TRY(tnri_domain_check_open(op, home));
    numa_state state;
    prepare_state(topology, node, &options, &state);
    const tnr_status refusal = obtain(&state, &state.info);
    if (refusal == TNR_ERR_MEMORY) {
        return refusal; /* no answer about binding at all */
    }
    TNR_REQUIRE(refusal == TNR_OK || options.best_effort, refusal, "%s: memory cannot be bound to node %d: %s", op,
                node, state.info.reason);
    tnr_placement placement = TNR_PLACEMENT_HOST;
    placement.cpu_affinity = state.info.bound;
    if (refusal == TNR_OK) {
        state.node_bytes = topology->nodes[tnri_node_rank(&topology->usable_nodes, node)].bytes;
    }
    tnr_block record;
    TNR_TRY(tnri_record_take(home, RECORD_BYTES, &record));
    tnr_domain *made = record.address;
    const tnr_status status = tnri_domain_init(made, &numa_class, home->home, placement, TNR_ACCESS_DIRECT);
    if (status != TNR_OK) {
        tnri_record_give(home, &record);
        return status;
    }
    numa_state *kept = (numa_state *)(void *)(made + 1);
    *kept = state;
    made->record = record;
    made->state = kept;
    tnri_topology_use(topology);
    tnri_domain_use_as_child(home->home);
    *domain = made;
    return TNR_OK;
}

tnr_status tnr_numa_describe(const tnr_domain *domain, tnr_numa_info *info)
{
    TNR_REQUIRE(domain != NULL && info != NULL && domain->kind == &numa_class, TNR_ERR_ARGUMENT,
                "numa_describe: needs a numa domain, not %s, and info", tnr_domain_name(domain));
    *info = state_of(domain)->info;
    return TNR_OK;
}
