/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Domains in memory that the ranks of a node share: one segment for all of them, a slice for each, an arena over the own slice.
 *
 * The segment is POSIX shared memory that loses its name before it takes memory, as near.c's and for the same reasons: closing the domain is local, in whatever
 * order ranks close theirs, after MPI_Finalize too, and the pages go back when the last rank has unmapped them. So a window does not
 * hang on its world.
 *
 * Guarantees: slices begin and end on pages (or on multiples of the alignment asked for), so no page has two owners; the bookkeeping is
 * in the home, not in the shared memory; map and unmap are full fences. Blocks are as the arena gives them, by ordinary host addresses.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "group_internal.h"
#include "near_internal.h"

/* The state of one such domain. */
typedef struct window {
    struct window *next; /* of this process */
    uint64_t number;     /* the same on all ranks of the node, of no other window */
    void *reserved;      /* addresses: more than the segment, so that it begins where it must */
    size_t reserved_bytes;
    char *base;
    uint64_t bytes;
    uint64_t begin; /* of the own slice */
    uint64_t slice;
    tnr_domain *home;
    tnr_domain *arena; /* NULL: the slice is empty */
    tnr_block control; /* the arena's bookkeeping, then the next */
    uint64_t *
        numbers; /* the arena's number of a block, where the window gave it its own: by the place in the tag's lower half */
    uint64_t entries;
} window;

/* Windows of this process; read-locked while bytes are copied out of one. */
static pthread_rwlock_t windows_lock = PTHREAD_RWLOCK_INITIALIZER;
static window *windows;

bool tnri_window_of(const void *address, uint64_t bytes, uint64_t *number, uint64_t *offset)
{
    bool found = false;
    const uintptr_t at = (uintptr_t)address;
    (void)pthread_rwlock_rdlock(&windows_lock);
    for (const window *of = windows; of != NULL && !found; of = of->next) {
        const uintptr_t base = (uintptr_t)of->base;
        found = at >= base && bytes <= of->bytes && at - base <= of->bytes - bytes;
        if (found) {
            *number = of->number;
            *offset = at - base;
        }
    }
    (void)pthread_rwlock_unlock(&windows_lock);
    return found;
}

bool tnri_window_copy(uint64_t number, uint64_t begin, uint64_t bytes, uint64_t first, size_t element_bytes, int rank,
                      const int64_t *shape, void *target, const int64_t *target_strides, const int64_t *strides)
{
    (void)pthread_rwlock_rdlock(&windows_lock);
    const window *of = windows;
    while (of != NULL && of->number != number) {
        of = of->next;
    }
    const bool there = of != NULL && begin <= of->bytes && bytes <= of->bytes - begin;
    if (there) {
        atomic_thread_fence(memory_order_seq_cst);
        tnr_provider.copy_elements(element_bytes, rank, shape, target, target_strides, of->base + first, strides);
    }
    (void)pthread_rwlock_unlock(&windows_lock);
    return there;
}

/* ---- The domain ------------------------------------------------------------------------------------------------------------------------- */

static tnr_status window_open(void *state, const void *config)
{
    window *of = state;
    *of = *(const window *)config;
    (void)pthread_rwlock_wrlock(&windows_lock);
    of->next = windows;
    windows = of;
    (void)pthread_rwlock_unlock(&windows_lock);
    return TNR_OK;
}

/* What is not in the list any more, or never was. */
static void dissolve(window *of)
{
    if (of->arena != NULL) {
        (void)tnr_domain_close(&of->arena); /* nothing of it is out */
    }
    if (of->control.bytes != 0) {
        tnr_provider.record_give(of->home, &of->control);
    }
    if (of->reserved != NULL) {
        (void)munmap(of->reserved, of->reserved_bytes);
        of->reserved = NULL;
    }
}

static void window_close(void *state)
{
    window *of = state;
    (void)pthread_rwlock_wrlock(&windows_lock);
    window **at = &windows;
    while (*at != NULL && *at != of) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = of->next;
    }
    (void)pthread_rwlock_unlock(&windows_lock);
    dissolve(of);
}

static tnr_status window_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    window *of = state;
    TNR_REQUIRE(of->arena != NULL, TNR_ERR_MEMORY, "window: this rank's slice has 0 bytes, %llu are asked for",
                TNRI_LLU(bytes));
    TNR_TRY(tnr_domain_allocate(of->arena, bytes, alignment, block));
    const uint64_t entry = (uint32_t)block->tag;
    if (entry >= of->entries) {
        (void)tnr_domain_release(of->arena, block);
        return tnri_fail(TNR_ERR_BACKEND, "window: the arena's block %llu is beyond its %llu", TNRI_LLU(entry),
                         TNRI_LLU(of->entries));
    }
    of->numbers[entry] = block->allocation; /* the entry is the block's as long as it is out */
    return TNR_OK;
}

static void window_release(void *state, const tnr_block *block)
{
    window *of = state;
    tnr_block own = *block;
    own.allocation = of->numbers[(uint32_t)block->tag];
    (void)tnr_domain_release(of->arena, &own);
}

static tnr_status window_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    (void)state;
    (void)mode;
    atomic_thread_fence(memory_order_seq_cst); /* see what others wrote before */
    *host = block->address;
    return TNR_OK;
}

static tnr_status window_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    (void)state;
    (void)block;
    (void)mode;
    (void)host;
    atomic_thread_fence(memory_order_seq_cst); /* let others see it */
    return TNR_OK;
}

static void window_statistics(void *state, tnr_domain_statistics *statistics)
{
    window *of = state;
    tnr_domain_statistics arena;
    if (of->arena != NULL && tnr_domain_statistics_get(of->arena, &arena) == TNR_OK) {
        statistics->capacity = arena.capacity;
        statistics->free_bytes = arena.free_bytes;
        statistics->largest_free = arena.largest_free;
    }
}

static const tnr_domain_ops window_ops = {
    .size = sizeof(window),
    .name = "window",
    .open = window_open,
    .close = window_close,
    .allocate = window_allocate,
    .release = window_release,
    .map = window_map,
    .unmap = window_unmap,
    .statistics = window_statistics,
};

/* An arena over the own slice, its bookkeeping in the home. */
static tnr_status make_arena(const char *op, window *of, uint64_t page)
{
    if (of->slice == 0) {
        return TNR_OK;
    }
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.page = page;
    options.placement.kind = TNR_MEMORY_MANAGED;
    options.max_blocks = tnri_min_u64(tnri_max_u64(of->slice / 4096U, 64), 65536);
    options.control = of->base;
    uint64_t region = 0;
    uint64_t control = 0;
    uint64_t blocks = options.max_blocks;
    const tnr_need need = {.bytes = of->slice, .blocks = 1, .handles = 0};
    TNR_TRY(tnr_arena_bytes(&need, &options, &region, &control, &blocks));
    control = (control + 63U) / 64U * 64U;
    of->entries = 2 * blocks + 2;
    TNR_TRY(tnr_provider.record_take(of->home, control + of->entries * sizeof(uint64_t), &of->control));
    of->numbers = (uint64_t *)(void *)((char *)of->control.address + control);
    options.max_blocks = blocks;
    options.control = of->control.address;
    options.control_bytes = control;
    const tnr_status status = tnr_arena_create(of->base + of->begin, of->slice, &options, &of->arena);
    if (status != TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        return tnri_fail(status, "%s: %s", op, text);
    }
    return TNR_OK;
}

/* ---- The segment -------------------------------------------------------------------------------------------------------------------------- */

/* What ranks of a node tell each other. */
typedef struct slice_words {
    uint64_t bytes; /* rounded */
    uint64_t page;  /* the largest counts */
    uint64_t number;
    tnri_segment_name name;
} slice_words;

static uint64_t mint_number(const char *name)
{
    uint64_t number = UINT64_C(0xCBF29CE484222325);
    for (; *name != '\0'; name++) {
        number = (number ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
    }
    return number != 0 ? number : 1;
}

/* Where the slices lie, from what all ranks of the node told. */
static tnr_status lay_out(const char *op, const tnr_world *world, const slice_words *all, window *of, uint64_t *align)
{
    *align = (uint64_t)sysconf(_SC_PAGESIZE);
    of->bytes = 0;
    for (int near = 0; near < world->node_size; near++) {
        *align = tnri_max_u64(*align, all[near].page);
    }
    for (int near = 0; near < world->node_size; near++) {
        uint64_t rounded;
        TNR_REQUIRE(tnri_round_up(all[near].bytes, *align, &rounded) && tnri_add_u64(of->bytes, rounded, &of->bytes) &&
                        of->bytes <= (uint64_t)INT64_MAX / 2,
                    TNR_ERR_OVERFLOW, "%s: the slices of a node do not fit 63 bits", op);
        if (near == world->node_rank) {
            of->begin = of->bytes - rounded;
            of->slice = rounded;
        }
    }
    of->bytes = tnri_max_u64(of->bytes, *align);
    of->number = all[0].number;
    return TNR_OK;
}

/* Addresses that begin as they must, the segment there, and this rank's slice reserved unless placement comes by first touch. */
static tnr_status map_segment(const char *op, window *of, int file, uint64_t align, bool reserve)
{
    struct statvfs room;
    if (ftruncate(file, (off_t)of->bytes) != 0) {
        return tnri_fail(TNR_ERR_MEMORY, "%s: no shared memory: errno %d", op, errno);
    }
    if (fstatvfs(file, &room) == 0) {
        const uint64_t free_bytes = (uint64_t)room.f_bavail * (uint64_t)room.f_frsize;
        TNR_REQUIRE(room.f_blocks == 0 || of->slice <= free_bytes, TNR_ERR_MEMORY,
                    "%s: shared memory has %llu bytes left, this rank's slice needs %llu", op, TNRI_LLU(free_bytes),
                    TNRI_LLU(of->slice));
    }
    if (reserve && of->slice != 0) {
        const int error = posix_fallocate(file, (off_t)of->begin, (off_t)of->slice);
        TNR_REQUIRE(error == 0, TNR_ERR_MEMORY, "%s: %llu bytes of shared memory are not to be had: errno %d", op,
                    TNRI_LLU(of->slice), error);
    }
    const size_t bytes = (size_t)(of->bytes + align);
    void *reserved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TNR_REQUIRE(reserved != MAP_FAILED, TNR_ERR_MEMORY, "%s: no room for %llu bytes of addresses", op, TNRI_LLU(bytes));
    of->reserved = reserved;
    of->reserved_bytes = bytes;
    of->base = (char *)reserved + (align - (uintptr_t)reserved % align) % align;
    void *mapped = mmap(of->base, (size_t)of->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    TNR_REQUIRE(mapped != MAP_FAILED, TNR_ERR_MEMORY, "%s: mapping %llu bytes of shared memory: errno %d", op,
                TNRI_LLU(of->bytes), errno);
    return TNR_OK;
}

/* All ranks of the node map one segment. Collective over the world; *of has what was taken, whatever the answer. */
static tnr_status share_segment(const char *op, tnr_world *world, const tnr_window_options *options, window *of,
                                slice_words *room, bool *stuck)
{
    slice_words *mine = &room[world->node_size];
    uint64_t align = 0;
    int file = -1;
    memset(mine, 0, sizeof(*mine));
    mine->bytes = options->bytes;
    mine->page = options->page;
    if (world->node_rank == 0) {
        file = tnri_segment_create(mine->name, "window-");
        mine->number = mint_number(mine->name);
    }
    tnr_status status = tnri_tell(op, world, world->node, world->node_size, room, sizeof(*room), stuck);
    if (status == TNR_OK) {
        if (world->node_rank != 0) {
            room[0].name[sizeof(room[0].name) - 1] = '\0';
            file = shm_open(room[0].name, O_RDWR, 0);
        }
        status = file >= 0 ? TNR_OK : tnri_fail(TNR_ERR_MEMORY, "%s: no shared memory: errno %d", op, errno);
        status = tnri_vote(op, world, status);
    }
    if (world->node_rank == 0) { /* all have opened it, or it is not wanted */
        (void)shm_unlink(mine->name);
    }
    if (status == TNR_OK) {
        status = tnri_vote(op, world, TNR_OK); /* it has no name any more, and no memory yet */
    }
    if (status == TNR_OK) {
        status = lay_out(op, world, room, of, &align);
        if (status == TNR_OK) {
            status = map_segment(op, of, file, align, !options->first_touch);
        }
        if (status == TNR_OK) {
            status = make_arena(op, of, options->page != 0 ? options->page : 64);
        }
        status = tnri_vote(op, world, status);
    }
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}

/* ---- Making one ----------------------------------------------------------------------------------------------------------------------------- */

static tnr_status check(const char *op, tnr_domain *home, const tnr_window_options *given, tnr_domain **domain,
                        tnr_window_options *options)
{
    TNR_REQUIRE(home != NULL && domain != NULL, TNR_ERR_ARGUMENT, "%s: home or result is NULL", op);
    TNR_TRY(tnr_provider.options_take(op, given, sizeof(*options), options, sizeof(*options)));
    TNR_REQUIRE(options->page == 0 ||
                    (tnri_is_power_of_two(options->page) && options->page >= 64 && options->page <= UINT64_C(1) << 30U),
                TNR_ERR_ARGUMENT, "%s: options.page is %llu, no power of two from 64 to 2^30", op,
                TNRI_LLU(options->page));
    if (options->first_touch && options->page == 0) { /* no page has elements of two blocks */
        options->page = (uint64_t)sysconf(_SC_PAGESIZE);
    }
    TNR_REQUIRE(options->bytes <= (uint64_t)INT64_MAX / 4, TNR_ERR_OVERFLOW,
                "%s: options.bytes is %llu, more than 2^61", op, TNRI_LLU(options->bytes));
    return TNR_OK;
}

tnr_status tnr_window_create(tnr_world *world, tnr_domain *home, const tnr_window_options *given, tnr_domain **domain)
{
    static const char *const op = "window_create";
    TNR_TRY(tnri_world_enter(op, world));
    tnr_window_options options = TNR_WINDOW_OPTIONS;
    tnr_block room = {NULL, 0, 0, 0};
    bool stuck = false;
    window made = {.home = home};
    tnr_status status = check(op, home, given, domain, &options);
    if (status == TNR_OK) {
        status = tnr_provider.record_take(world->home, ((uint64_t)world->node_size + 1) * sizeof(slice_words), &room);
    }
    status = tnri_vote_call(op, world, TNRI_CALL_WINDOW, status, NULL, 0);
    if (status == TNR_OK) {
        status = share_segment(op, world, &options, &made, room.address, &stuck);
    }
    tnr_domain *domain_made = NULL;
    if (status == TNR_OK) {
        tnr_domain_config config = TNR_DOMAIN_CONFIG;
        config.ops = &window_ops;
        config.config = &made;
        config.placement.kind = TNR_MEMORY_MANAGED;
        config.access = TNR_ACCESS_MAPPED;
        config.coherent_maps = true;
        const tnr_status mine = tnr_domain_create(home, &config, &domain_made);
        status = tnri_vote(op, world, mine);
    }
    if (room.bytes != 0 && !stuck) {
        tnr_provider.record_give(world->home, &room);
    }
    if (status == TNR_OK) {
        *domain = domain_made;
        return tnri_world_leave(world, TNR_OK);
    }
    char text[TNR_ERROR_TEXT_BYTES];
    memcpy(text, tnr_last_error(), sizeof(text));
    if (domain_made != NULL) {
        (void)tnr_domain_close(&domain_made); /* and with it all of `made` */
    } else {
        dissolve(&made);
    }
    return tnri_world_leave(world, tnri_fail(status, "%s", text));
}
