/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups across ranks: every rank tells all others what its group describes, and keeps its owners as they are until the epoch ends.
 *
 *   leases and mappings of the own owners -> heads to all: how many descriptors, last epoch -> memory, who can be read directly
 *     -> windows for one-sided reading, where somebody needs them -> descriptors to all -> entries appended
 *
 * All vote between the steps, so that a group is published on all ranks or on none. Nothing here moves an element. A rank that
 * dies ends the world; only while windows are made does MPI itself wait.
 */
#include <limits.h>

#include "group_internal.h"

/* What a rank tells before its descriptors. */
typedef struct tnri_head {
    uint64_t items;
    uint64_t owners;
    uint64_t epoch; /* of its group's last publication */
    uint64_t probe_address;
    uint64_t probe;
    uint64_t needs_windows; /* told later: it cannot read some rank directly */
    uint64_t has_window;    /* and then: it made one */
} tnri_head;

/* An owner's bytes may be in one MPI window with so many others: Open MPI 4.1 attaches at most 32 regions to one. */
enum { REGIONS = 30 };

/* ---- Making and ending -------------------------------------------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t bytes) { return (bytes + 63U) / 64U * 64U; }

/* Memory for a publication of a group with so many owners in a world of so many ranks. */
static tnr_status take_record(tnr_world *world, uint64_t owners, tnri_publication **publication)
{
    const uint64_t at_owners = align_up(sizeof(tnri_publication));
    const uint64_t at_views = at_owners + align_up(owners * sizeof(tnri_operand));
    const uint64_t at_heads = at_views + align_up(owners * sizeof(tnr_view));
    const uint64_t at_readable = at_heads + align_up(((uint64_t)world->size + 1) * sizeof(tnri_head));
    tnr_block record;
    TNR_TRY(tnr_provider.record_take(world->home, at_readable + align_up((uint64_t)world->size), &record));
    char *base = record.address;
    tnri_publication *made = record.address;
    memset(made, 0, sizeof(*made));
    made->world = world;
    made->record = record;
    made->owners = (tnri_operand *)(void *)(base + at_owners);
    made->views = (tnr_view *)(void *)(base + at_views);
    made->heads = (tnri_head *)(void *)(base + at_heads);
    made->readable = (uint8_t *)(base + at_readable);
    *publication = made;
    return TNR_OK;
}

/*
 * Leases and mappings of all owners, kept until the epoch ends. Managed memory of devices is none that other processes can read, and
 * the device could not use it as long as it is mapped.
 */
static tnr_status lease_owners(const char *op, tnri_publication *of, uint32_t owners)
{
    for (uint32_t index = 0; index < owners; index++) {
        tnr_view *view = &of->views[of->owner_count];
        if (tnr_provider.group_owner(of->group, index, view)) {
            TNR_REQUIRE(!tnri_is_managed(view->root), TNR_ERR_RESIDENCY,
                        "%s: owner %llu is managed memory of a device, which other ranks cannot read: "
                        "tnr_tensor_duplicate it to host memory",
                        op, TNRI_LLU(index));
            of->owners[of->owner_count].view = view;
            of->owners[of->owner_count++].write = false;
        }
    }
    if (of->owner_count != 0) {
        TNR_REQUIRE(of->owner_count <= INT_MAX, TNR_ERR_OVERFLOW, "%s: more owners than can be leased at once", op);
        TNR_TRY(tnr_provider.access_begin(op, of->owners, (int)of->owner_count, TNRI_APART));
        of->leased = true;
    }
    return TNR_OK;
}

/* Windows, where MPI still lets us: collective. */
static tnr_status free_windows(const char *op, tnri_publication *of)
{
    tnr_status status = TNR_OK;
    for (uint32_t index = 0; index < of->window_count; index++) {
        if (of->windows[index] == MPI_WIN_NULL) {
            continue;
        }
        const tnr_status freed = tnri_mpi(op, "MPI_Win_free", MPI_Win_free(&of->windows[index]));
        if (freed == TNR_OK) {
            atomic_fetch_sub_explicit(&tnri_mpi_live.windows, 1U, memory_order_relaxed);
        }
        status = status != TNR_OK ? status : freed;
    }
    of->window_count = 0;
    return status;
}

/* Leases and memory, but what MPI may still touch. Windows of a world that ended stay with MPI. */
static tnr_status give_all(tnri_publication *of)
{
    tnr_status status = TNR_OK;
    tnr_domain *home = of->world->home;
    if (of->leased) {
        status = tnr_provider.access_end(of->owners, (int)of->owner_count);
    }
    if (of->stuck) {
        return status;
    }
    if (of->buffer.bytes != 0) {
        tnr_provider.record_give(home, &of->buffer);
    }
    if (of->windows_record.bytes != 0) {
        tnr_provider.record_give(home, &of->windows_record);
    }
    const tnr_block record = of->record;
    tnr_provider.record_give(home, &record);
    return status;
}

/* The world was ended by an error, or by MPI_Finalize, and goes. */
static void when_world_ends(tnri_dependent *dependent)
{
    tnri_publication *of = (tnri_publication *)(void *)dependent;
    tnr_provider.group_unpublish(of->group);
    (void)give_all(of);
}

/* ---- Publishing ----------------------------------------------------------------------------------------------------------------------- */

/* This rank's part, before anything is told. */
static tnr_status prepare(const char *op, tnr_world *world, tnr_group *group, tnri_publication **publication)
{
    uint32_t epoch;
    uint32_t owners;
    uint32_t descriptors;
    TNR_TRY(tnr_provider.group_can_publish(op, group, &epoch));
    TNR_TRY(tnr_group_counts(group, &owners, &descriptors));
    TNR_TRY(take_record(world, owners, publication));
    tnri_publication *of = *publication;
    of->group = group;
    of->descriptors = descriptors;
    of->before = epoch;
    TNR_TRY(lease_owners(op, of, owners));
    tnri_head *head = &of->heads[world->size];
    for (uint32_t index = 0; index < descriptors; index++) {
        tnri_group_item item;
        head->items += tnr_provider.group_item(group, index, &item) ? 1U : 0U;
    }
    of->probe = UINT64_C(0x9E3779B97F4A7C15) * ((uint64_t)world->process + 1) ^ (uint64_t)(uintptr_t)of;
    head->owners = of->owner_count;
    head->epoch = epoch > world->published ? epoch : world->published;
    head->probe_address = (uint64_t)(uintptr_t)&of->probe;
    head->probe = of->probe;
    return TNR_OK;
}

/* Whose memory can this rank read without MPI? *all: everybody's. */
static void probe_ranks(tnri_publication *of, bool *all)
{
    const tnr_world *world = of->world;
    *all = true;
    for (int rank = 0; rank < world->size; rank++) {
        uint64_t found = 0;
        const tnri_peer_span span = {&found, of->heads[rank].probe_address, sizeof(found)};
        const int64_t pid = world->peers[rank].pid;
        const bool reads = rank != world->rank && !world->options.no_shared && world->peers[rank].near >= 0 &&
                           pid > 0 && tnri_peer_read(pid, &span, 1) && found == of->heads[rank].probe;
        of->readable[rank] = reads ? 1 : 0;
        *all = *all && (reads || rank == world->rank || of->heads[rank].owners == 0);
    }
}

/* What the heads say: room for all descriptors, the next epoch. */
static tnr_status read_heads(const char *op, tnri_publication *of, uint64_t *items, uint64_t *most_owners)
{
    uint64_t epoch = 0;
    *items = 0;
    *most_owners = 0;
    for (int rank = 0; rank < of->world->size; rank++) {
        TNR_REQUIRE(of->heads[rank].items <= UINT32_MAX && tnri_add_u64(*items, of->heads[rank].items, items) &&
                        *items <= INT_MAX / TNRI_ITEM_WORDS,
                    TNR_ERR_OVERFLOW, "%s: %llu descriptors on the first %d ranks, at most %d in all", op,
                    TNRI_LLU(*items), rank + 1, INT_MAX / TNRI_ITEM_WORDS);
        *most_owners = tnri_max_u64(*most_owners, of->heads[rank].owners);
        epoch = tnri_max_u64(epoch, of->heads[rank].epoch);
    }
    TNR_REQUIRE(epoch < UINT32_MAX, TNR_ERR_OVERFLOW, "%s: all epochs are used up", op);
    of->epoch = (uint32_t)epoch + 1;
    return TNR_OK;
}

/*
 * One window, or none on any rank where this MPI has no one-sided reads over its transports (Open MPI 4.1 as Debian sets it up, over
 * tcp): fetching says so. Collective.
 */
static tnr_status make_window(const char *op, tnri_publication *of, MPI_Win *made)
{
    tnr_world *world = of->world;
    const tnr_status created =
        tnri_mpi(op, "MPI_Win_create_dynamic", MPI_Win_create_dynamic(MPI_INFO_NULL, world->comm, made));
    if (created == TNR_OK) {
        atomic_fetch_add_explicit(&tnri_mpi_live.windows, 1U, memory_order_relaxed);
    } else {
        *made = MPI_WIN_NULL;
    }
    of->heads[world->size].has_window = created == TNR_OK ? 1 : 0;
    TNR_TRY(tnri_tell(op, world, world->comm, world->size, of->heads, sizeof(tnri_head), &of->stuck));
    int have = 0;
    for (int rank = 0; rank < world->size; rank++) {
        have += of->heads[rank].has_window != 0 ? 1 : 0;
    }
    if (have != 0 && have != world->size) {
        return tnri_world_poison(world, tnri_fail(TNR_ERR_MPI, "%s: MPI_Win_create_dynamic succeeded on %d of %d ranks",
                                                  op, have, world->size));
    }
    return TNR_OK;
}

/* Windows over all owners with bytes, for ranks that cannot read them otherwise. Collective; waits inside MPI. */
static tnr_status make_windows(const char *op, tnri_publication *of, uint64_t count)
{
    const uint64_t bytes = count * sizeof(MPI_Win);
    tnr_status status = tnr_provider.record_take(of->world->home, bytes, &of->windows_record);
    TNR_TRY(tnri_vote(op, of->world, status));
    of->windows = of->windows_record.address;
    of->window_count = (uint32_t)count;
    for (uint64_t index = 0; index < count; index++) {
        of->windows[index] = MPI_WIN_NULL;
    }
    for (uint64_t index = 0; index < count; index++) {
        TNR_TRY(make_window(op, of, &of->windows[index]));
        if (of->windows[index] == MPI_WIN_NULL) {
            return free_windows(op, of);
        }
        const tnr_status set =
            tnri_mpi(op, "MPI_Win_set_errhandler", MPI_Win_set_errhandler(of->windows[index], MPI_ERRORS_RETURN));
        status = status == TNR_OK ? set : status;
    }
    for (uint64_t index = 0; status == TNR_OK && index < of->owner_count; index++) {
        const uint64_t size = of->views[index].window_bytes;
        if (size != 0) {
            status = tnri_mpi(op, "MPI_Win_attach",
                              MPI_Win_attach(of->windows[index / REGIONS], of->owners[index].data, (MPI_Aint)size));
        }
    }
    return status;
}

/* Where the owner of this descriptor is to be had: the publication has them in order. */
static void find_source(const tnri_publication *of, const tnr_view *bytes, tnri_group_item *item)
{
    if (item->owner_bytes == 0) {
        return;
    }
    uint64_t low = tnri_min_u64(item->owner, of->owner_count - 1);
    while (low > 0 && of->views[low].root != bytes->root) {
        low--; /* owners that were vacated are left out */
    }
    const char *address = of->owners[low].data;
    item->source[TNRI_SOURCE_ADDRESS] = (uint64_t)(uintptr_t)address;
    item->source[TNRI_SOURCE_REMOTE] = of->window_count != 0 ? low / REGIONS + 1 : 0;
    if (!tnri_window_of(address, item->owner_bytes, &item->source[TNRI_SOURCE_WINDOW],
                        &item->source[TNRI_SOURCE_OFFSET])) {
        item->source[TNRI_SOURCE_WINDOW] = 0;
    }
}

static void encode_own(const tnri_publication *of, uint64_t *words)
{
    for (uint32_t index = 0; index < of->descriptors; index++) {
        tnri_group_item item;
        tnr_view bytes;
        if (tnr_provider.group_item(of->group, index, &item) &&
            tnr_provider.group_owner(of->group, item.owner, &bytes)) {
            item.rank = of->world->rank;
            find_source(of, &bytes, &item);
            tnri_item_encode(&item, words);
            words += TNRI_ITEM_WORDS;
        }
    }
}

/* Descriptors as they travel, and as they come in. */
typedef struct directory {
    tnr_block record;
    int *counts; /* words of each rank, and where they begin */
    int *begins;
    uint64_t *all;
    uint64_t *mine;
    tnri_group_item *items; /* of the others */
    uint32_t item_count;
} directory;

static tnr_status take_directory(const tnri_publication *of, uint64_t items, directory *made)
{
    const tnr_world *world = of->world;
    const uint64_t own = of->heads[world->rank].items;
    const uint64_t ints = align_up((uint64_t)world->size * sizeof(int));
    const uint64_t at_mine = 2 * ints + align_up(items * TNRI_ITEM_WORDS * sizeof(uint64_t));
    const uint64_t at_items = at_mine + align_up(own * TNRI_ITEM_WORDS * sizeof(uint64_t));
    TNR_TRY(tnr_provider.record_take(world->home, at_items + (items - own) * sizeof(tnri_group_item), &made->record));
    char *base = made->record.address;
    made->counts = (int *)(void *)base;
    made->begins = (int *)(void *)(base + ints);
    made->all = (uint64_t *)(void *)(base + 2 * ints);
    made->mine = (uint64_t *)(void *)(base + at_mine);
    made->items = (tnri_group_item *)(void *)(base + at_items);
    made->item_count = (uint32_t)(items - own);
    int begin = 0;
    for (int rank = 0; rank < world->size; rank++) {
        made->counts[rank] = (int)of->heads[rank].items * TNRI_ITEM_WORDS;
        made->begins[rank] = begin;
        begin += made->counts[rank];
    }
    return TNR_OK;
}

/* Everybody's descriptors to everybody, and into the table. Collective. */
static tnr_status trade(const char *op, tnri_publication *of, const directory *words)
{
    tnr_world *world = of->world;
    encode_own(of, words->mine);
    MPI_Request request = MPI_REQUEST_NULL;
    tnr_status status = tnri_mpi(op, "MPI_Iallgatherv",
                                 MPI_Iallgatherv(words->mine, words->counts[world->rank], MPI_UINT64_T, words->all,
                                                 words->counts, words->begins, MPI_UINT64_T, world->comm, &request));
    if (status != TNR_OK) {
        return tnri_world_poison(world, status);
    }
    atomic_fetch_add_explicit(&tnri_mpi_live.requests, 1U, memory_order_relaxed);
    status = tnri_world_wait(op, world, &request, "all ranks to publish");
    of->stuck = of->stuck || request != MPI_REQUEST_NULL;
    TNR_TRY(status);
    uint32_t item = 0;
    for (int rank = 0; rank < world->size; rank++) {
        const uint64_t *at = words->all + words->begins[rank];
        for (uint64_t index = 0; rank != world->rank && index < of->heads[rank].items; index++) {
            status = status == TNR_OK ? tnri_item_decode(op, rank, at, &words->items[item]) : status;
            at += TNRI_ITEM_WORDS;
            item++;
        }
    }
    if (status == TNR_OK) {
        status = tnr_provider.group_publish(op, of->group, of->epoch, of, words->items, words->item_count);
    }
    const tnr_status all = tnri_vote(op, world, status);
    if (all != TNR_OK && status == TNR_OK) {
        tnr_provider.group_retract(of->group, of->before);
    }
    if (all == TNR_OK) {
        world->published = of->epoch;
    }
    return all;
}

/* From the heads on: all ranks are here. */
static tnr_status publish(const char *op, tnri_publication *of)
{
    tnr_world *world = of->world;
    uint64_t items;
    uint64_t most_owners;
    bool direct = true;
    directory words = {.record = {NULL, 0, 0, 0}};
    TNR_TRY(tnri_tell(op, world, world->comm, world->size, of->heads, sizeof(tnri_head), &of->stuck));
    TNR_TRY(read_heads(op, of, &items, &most_owners)); /* the same on all ranks */
    probe_ranks(of, &direct);
    tnr_status status = tnr_provider.record_take(world->home, TNRI_FETCHES * world->options.pack_bytes, &of->buffer);
    if (status == TNR_OK) {
        status = take_directory(of, items, &words);
    }
    status = tnri_vote(op, world, status);
    of->heads[world->size] = of->heads[world->rank];
    of->heads[world->size].needs_windows = direct ? 0 : 1;
    if (status == TNR_OK) {
        status = tnri_tell(op, world, world->comm, world->size, of->heads, sizeof(tnri_head), &of->stuck);
    }
    bool windows = false;
    for (int rank = 0; status == TNR_OK && rank < world->size; rank++) {
        windows = windows || of->heads[rank].needs_windows != 0;
    }
    if (status == TNR_OK && windows && most_owners != 0) {
        status = make_windows(op, of, (most_owners + REGIONS - 1) / REGIONS);
        status = world->poison == TNR_OK ? tnri_vote(op, world, status) : status;
    }
    if (status == TNR_OK) {
        status = trade(op, of, &words);
    }
    if (status != TNR_OK && world->poison == TNR_OK) {
        (void)free_windows(op, of); /* the first failure is the one to tell */
    }
    if (words.record.bytes != 0 && !of->stuck) {
        tnr_provider.record_give(world->home, &words.record);
    }
    return status;
}

tnr_status tnr_group_publish(tnr_world *world, tnr_group *group)
{
    static const char *const op = "group_publish";
    TNR_TRY(tnri_world_enter(op, world));
    tnri_publication *of = NULL;
    tnr_status status = tnri_vote_call(op, world, TNRI_CALL_PUBLISH, prepare(op, world, group, &of), NULL, 0);
    if (status == TNR_OK) {
        status = publish(op, of);
    }
    if (status != TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        if (of != NULL) {
            (void)give_all(of);
        }
        return tnri_world_leave(world, tnri_fail(status, "%s", text));
    }
    of->dependent.end = when_world_ends;
    tnri_dependent_add(world, &of->dependent);
    return tnri_world_leave(world, TNR_OK);
}

/* This rank's publication of a group in this world. */
static tnr_status find_publication(const char *op, const tnr_world *world, const tnr_group *group,
                                   tnri_publication **publication)
{
    TNR_REQUIRE(group != NULL, TNR_ERR_ARGUMENT, "%s: group must not be NULL", op);
    tnri_publication *of = tnr_provider.group_publication(group);
    TNR_REQUIRE(of != NULL, TNR_ERR_STALE, "%s: the group is not published", op);
    TNR_REQUIRE(of->world == world, TNR_ERR_FOREIGN, "%s: the group is published in another world", op);
    *publication = of;
    return TNR_OK;
}

tnr_status tnr_group_unpublish(tnr_world *world, tnr_group *group)
{
    static const char *const op = "group_unpublish";
    TNR_TRY(tnri_world_enter(op, world));
    tnri_publication *of = NULL;
    tnr_status status = find_publication(op, world, group, &of);
    const uint64_t epoch = of != NULL ? of->epoch : 0;
    status = tnri_vote_call(op, world, TNRI_CALL_UNPUBLISH, status, "which publication to end",
                            epoch); /* nobody fetches any more */
    if (status == TNR_OK) {
        status = free_windows(op, of);
        if (status != TNR_OK) {
            return tnri_world_leave(world, tnri_world_poison(world, status));
        }
        tnr_provider.group_unpublish(group);
        tnri_dependent_remove(world, &of->dependent);
        status = give_all(of);
    }
    return tnri_world_leave(world, status);
}

tnr_status tnr_group_find(const tnr_world *world, const tnr_group *group, int rank, uint32_t index, tnr_slot *slot)
{
    static const char *const op = "group_find";
    TNR_REQUIRE(world != NULL && slot != NULL, TNR_ERR_ARGUMENT, "%s: world or slot is NULL", op);
    tnri_publication *of = NULL;
    TNR_TRY(find_publication(op, world, group, &of));
    TNR_REQUIRE(rank >= 0 && rank < world->size, TNR_ERR_BOUNDS, "%s: rank %d; the world has 0 to %d", op, rank,
                world->size - 1);
    uint32_t entries = 0;
    uint32_t seen = 0;
    TNR_TRY(tnr_group_counts(group, NULL, &entries));
    for (uint32_t at = 0; at < entries; at++) {
        tnr_slot here;
        tnri_group_item item;
        bool own = false;
        TNR_TRY(tnr_group_slot(group, at, &here));
        if (tnr_provider.group_find_item(op, group, here, &own, &item) != TNR_OK) {
            continue; /* vacated */
        }
        if (own ? rank == world->rank : item.rank == rank) {
            if (seen == index) {
                *slot = here;
                return TNR_OK;
            }
            seen++;
        }
    }
    return tnri_fail(TNR_ERR_BOUNDS, "%s: entry %llu of rank %d, which published %llu", op, TNRI_LLU(index), rank,
                     TNRI_LLU(seen));
}
