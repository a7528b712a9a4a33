/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the ranks of one node share, for transfers among them.
 *
 * One segment for all of a world's ranks on a node, a part for each: lanes, slots, a ring of headers from each of the others, and a notice
 * that its world has ended. It is POSIX shared memory, not an MPI window: freeing a window is collective, destroying a world is not, and this segment can go back after MPI_Finalize too. It has no
 * name any more once all have opened it, which is before any page of it is taken: however a process ends, no memory is left behind.
 *
 * Guarantees: pages are reserved when the world is made (a full /dev/shm is no bus error later), each part by its own rank. Where the
 * system does not lend the memory, or only some ranks reach it, transfers go by messages.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flight_internal.h"
#include "group_internal.h"

enum { SLOTS_LEAST = 8, SLOTS_BEYOND = 4, SLOT_LEAST = 1024, PAGE = 4096 };

/* The first lane of a rank. */
static tnri_lane *first_lane(const tnri_near *near, int rank)
{
    return (tnri_lane *)(void *)((char *)near->mapping + (uint64_t)rank * near->part);
}

/* One for each neighbour at the least, and some that whoever is at work may have. */
static uint32_t slots_of(int node_size)
{
    const uint32_t wanted = (uint32_t)(node_size - 1) + SLOTS_BEYOND;
    return wanted > SLOTS_LEAST ? wanted : SLOTS_LEAST;
}

static uint64_t pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static void plan(const tnr_world *world, tnri_near *near)
{
    near->lanes = world->transfers->count;
    near->slots = slots_of(world->node_size);
    near->slot_bytes = tnri_max_u64(world->options.shared_bytes / near->slots, SLOT_LEAST);
    near->slot_bytes -= near->slot_bytes % (near->slot_bytes >= PAGE ? PAGE : 64U);
    near->slots_begin = pages((uint64_t)near->lanes * sizeof(tnri_lane));
    near->mail_begin = near->slots_begin + pages(near->slot_bytes * near->slots);
    near->notice_begin = near->mail_begin + (uint64_t)world->node_size * TNRI_MAIL_ENTRIES * sizeof(tnri_mail);
    near->part = pages(near->notice_begin + sizeof(tnri_notice));
    near->free_count = 0;
    near->unserved = (uint32_t)(world->node_size - 1);
    near->guessed = 0;
    near->mapping = NULL;
    near->mapped = (size_t)(near->part * (uint64_t)world->node_size);
}

/* A new segment of this size; the descriptor, or -1. */
static int create_segment(tnri_segment_name name, size_t bytes)
{
    const int file = tnri_segment_create(name, "");
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        (void)close(file);
        (void)shm_unlink(name);
        name[0] = '\0';
        return -1;
    }
    return file;
}

/* Map the segment and reserve this rank's part. */
static bool map_segment(const tnr_world *world, tnri_near *near, int file)
{
    const off_t begin = (off_t)(near->part * (uint64_t)world->node_rank);
    if (posix_fallocate(file, begin, (off_t)near->part) != 0) {
        return false;
    }
    void *mapping = mmap(NULL, near->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) {
        return false;
    }
    near->mapping = mapping;
    return true;
}

/* Collective over the node. */
static tnr_status all_of_node(const char *op, const tnr_world *world, bool mine, bool *all)
{
    const int here = mine ? 1 : 0;
    int least = 0;
    TNR_TRY(tnri_mpi(op, "MPI_Allreduce", MPI_Allreduce(&here, &least, 1, MPI_INT, MPI_MIN, world->node)));
    *all = least == 1;
    return TNR_OK;
}

/* Collective over the node: *all when every rank has it mapped. The name goes before any memory is taken. */
static tnr_status map_together(const char *op, const tnr_world *world, tnri_near *near, bool willing, bool *all)
{
    tnri_segment_name name = "";
    int file = -1;
    if (world->node_rank == 0 && willing) {
        file = create_segment(name, near->mapped);
    }
    tnr_status status = tnri_mpi(op, "MPI_Bcast", MPI_Bcast(name, (int)sizeof(name), MPI_CHAR, 0, world->node));
    if (status == TNR_OK && world->node_rank != 0 && willing && name[0] != '\0') {
        file = shm_open(name, O_RDWR, 0);
    }
    *all = false;
    status = status == TNR_OK ? all_of_node(op, world, file >= 0, all) : status;
    if (world->node_rank == 0 && name[0] != '\0') {
        (void)shm_unlink(name);
    }
    if (*all) {
        status = tnri_mpi(op, "MPI_Barrier", MPI_Barrier(world->node)); /* it has no name any more */
        *all = status == TNR_OK;
    }
    if (*all) {
        status = all_of_node(op, world, map_segment(world, near, file), all);
        *all = *all && status == TNR_OK;
    }
    if (file >= 0) {
        (void)close(file);
    }
    return status;
}

/* May every rank of the node read its neighbour's memory? Collective over the node. */
static tnr_status try_reading(const char *op, const tnr_world *world, tnri_near *near)
{
    static const uint64_t word = UINT64_C(0x74656E7572650001);
    const int neighbour = (world->node_rank + 1) % world->node_size;
    tnri_lane *own = first_lane(near, world->node_rank);
    own->address = (uint64_t)(uintptr_t)&word;
    TNR_TRY(tnri_mpi(op, "MPI_Barrier", MPI_Barrier(world->node)));
    bool mine = false;
    for (int rank = 0; rank < world->size; rank++) {
        const tnri_peer *peer = &world->peers[rank];
        uint64_t seen = 0;
        const tnri_peer_span span = {&seen, first_lane(near, neighbour)->address, sizeof(seen)};
        if (peer->near == neighbour && peer->pid > 0) {
            mine = tnri_peer_read(peer->pid, &span, 1) && seen == word;
        }
    }
    TNR_TRY(all_of_node(op, world, mine, &near->reads));
    own->address = 0;
    return TNR_OK;
}

static void unmap(tnri_near *near)
{
    if (near->mapping != NULL) {
        (void)munmap(near->mapping, near->mapped);
        near->mapping = NULL;
    }
}

uint64_t tnri_near_bytes(int node_size)
{
    return sizeof(tnri_near) + (uint64_t)node_size * sizeof(tnri_ends) + slots_of(node_size) * sizeof(uint16_t);
}

tnr_status tnri_near_make(tnr_world *world)
{
    static const char *const op = "world_create";
    world->near = NULL;
    if (world->options.no_shared || world->node_size == 1) {
        return TNR_OK;
    }
    tnr_block record = {NULL, 0, 0, 0};
    tnri_near none;
    const uint64_t bytes = tnri_near_bytes(world->node_size);
    const tnr_status memory = tnr_provider.record_take(world->home, bytes, &record);
    tnri_near *near = memory == TNR_OK ? record.address : &none;
    bool all = false;
    memset(near, 0, memory == TNR_OK ? bytes : sizeof(*near));
    near->ends = (tnri_ends *)(near + 1);
    plan(world, near);
    tnr_status status = map_together(op, world, near, memory == TNR_OK, &all);
    if (all) {
        status = try_reading(op, world, near);
        all = status == TNR_OK;
    }
    if (all) {
        near->record = record;
        near->free_slots = (uint16_t *)(void *)(near->ends + world->node_size);
        while (near->free_count < near->slots) { /* the first one is taken first */
            near->free_slots[near->free_count] = (uint16_t)(near->slots - 1U - near->free_count);
            near->free_count++;
        }
        world->near = near;
        return TNR_OK;
    }
    unmap(near);
    if (memory == TNR_OK) {
        tnr_provider.record_give(world->home, &record);
    }
    return memory != TNR_OK ? memory : status;
}

void tnri_near_free(tnr_world *world)
{
    tnri_near *near = world->near;
    if (near == NULL) {
        return;
    }
    tnri_mail_end(world);
    world->near = NULL;
    unmap(near);
    const tnr_block record = near->record;
    tnr_provider.record_give(world->home, &record);
}

bool tnri_near_alive(const tnr_world *world, int near)
{
    for (int rank = 0; rank < world->size; rank++) {
        if (world->peers[rank].near == near) {
            const int64_t pid = world->peers[rank].pid;
            return pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH;
        }
    }
    return true;
}

static tnri_notice *notice_of(const tnri_near *near, int rank)
{
    return (tnri_notice *)(void *)((char *)near->mapping + (uint64_t)rank * near->part + near->notice_begin);
}

void tnri_near_end(const tnr_world *world, int rank, const char *text)
{
    if (world->near == NULL) {
        return;
    }
    tnri_notice *own = notice_of(world->near, world->node_rank);
    if (atomic_load_explicit(&own->there, memory_order_relaxed) == 0U) {
        own->rank = rank;
        memcpy(own->text, text, tnri_min_u64(strlen(text), sizeof(own->text) - 1)); /* the memory came as zeros */
        atomic_store_explicit(&own->there, 1U, memory_order_release);
    }
}

bool tnri_near_ended(const tnr_world *world, int near, int *rank, char *text)
{
    if (world->near == NULL) {
        return false;
    }
    const tnri_notice *notice = notice_of(world->near, near);
    if (atomic_load_explicit(&notice->there, memory_order_acquire) == 0U) {
        return false;
    }
    *rank = notice->rank;
    memcpy(text, notice->text, TNR_ERROR_TEXT_BYTES);
    text[TNR_ERROR_TEXT_BYTES - 1] = '\0';
    return true;
}

tnri_lane *tnri_near_lane(const tnr_world *world, int near, uint32_t index)
{
    return first_lane(world->near, near) + index;
}

char *tnri_near_slot(const tnr_world *world, int near, uint32_t slot)
{
    char *part = (char *)world->near->mapping + (uint64_t)near * world->near->part;
    return part + world->near->slots_begin + slot * world->near->slot_bytes;
}
