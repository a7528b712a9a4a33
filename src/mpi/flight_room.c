/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The room that flights are taken from, made with the world, and the lists that they are in; buffers of packed messages.
 *
 * Guarantees: no allocation after the world was made, but for these buffers, which are kept.
 */
#define _POSIX_C_SOURCE 200809L /* sysconf */
#include <unistd.h>

#include "flight_internal.h"

/* Blocking calls have flights of their own when all tickets are taken: a send and a receive at one time. */
enum { SPARE = 2 };

/* Looks in vain before the core is given away, about a millisecond: where each rank of the node can have one, and where not. */
enum { SPINS = 20000, SPINS_CROWDED = 50 };

/* ---- Room ---------------------------------------------------------------------------------------------------------------------- */

static uint64_t wire_room(const tnr_world_options *options)
{
    return (TNRI_WIRE_MOST_BYTES + tnri_max_u64(options->eager_bytes, 64U) + 63U) & ~UINT64_C(63);
}

/* The flights themselves, before their wires. */
static uint64_t head_bytes(uint64_t count, int size)
{
    return (sizeof(tnri_flights) + count * sizeof(tnri_flight) + (uint64_t)size * sizeof(tnri_roll) + 63U) &
           ~UINT64_C(63);
}

uint64_t tnri_flights_count(const tnr_world_options *options) { return (uint64_t)options->tickets + SPARE; }

uint64_t tnri_flights_bytes(const tnr_world_options *options, int size)
{
    const uint64_t count = tnri_flights_count(options);
    return head_bytes(count, size) + count * wire_room(options);
}

tnr_status tnri_flights_make(tnr_world *world)
{
    const uint64_t count = tnri_flights_count(&world->options);
    const uint64_t head = head_bytes(count, world->size);
    tnr_block record;
    TNR_TRY(tnr_provider.record_take(world->home, tnri_flights_bytes(&world->options, world->size), &record));
    tnri_flights *room = record.address;
    memset(room, 0, head);
    room->record = record;
    room->count = (uint32_t)count;
    room->rolls = (tnri_roll *)(void *)(room->flights + count);
    room->spins = sysconf(_SC_NPROCESSORS_ONLN) >= world->node_size ? SPINS : SPINS_CROWDED;
    room->lost = -1;
    world->transfers = room;
    world->flights = NULL;
    world->free_flights = NULL;
    world->tickets = 0;
    for (uint64_t i = count; i-- > 0;) {
        tnri_flight *flight = &room->flights[i];
        flight->world = world;
        flight->index = (uint32_t)i;
        flight->wire = (unsigned char *)record.address + head + i * wire_room(&world->options);
        flight->state = TNRI_FLIGHT_OVER;
        flight->next = world->free_flights;
        world->free_flights = flight;
    }
    return TNR_OK;
}

tnr_status tnri_flight_take(const char *op, tnr_world *world, tnri_flight_kind kind, int peer, int channel,
                            tnri_flight **flight)
{
    tnri_flight *taken = world->free_flights;
    TNR_REQUIRE(taken != NULL, TNR_ERR_MEMORY, "%s: all %d tickets are in use (options.tickets)", op,
                world->options.tickets);
    world->free_flights = taken->next;
    taken->next = NULL;
    taken->previous = NULL;
    taken->op = op;
    taken->kind = kind;
    taken->state = TNRI_FLIGHT_WAITING;
    taken->ticketed = false;
    taken->prepared = false;
    taken->piece = false;
    taken->joint = false;
    taken->seen = false;
    taken->partner = NULL;
    taken->peer = peer;
    taken->channel = channel;
    taken->number = 0;
    taken->path = TNR_PATH_END;
    taken->leased = false;
    taken->domain = NULL;
    taken->tensor = NULL;
    taken->drafted = false;
    taken->exposed = NULL;
    taken->failed = TNR_OK;
    taken->fatal = false;
    taken->status = TNR_OK;
    taken->header_request = MPI_REQUEST_NULL;
    taken->answer_request = MPI_REQUEST_NULL;
    taken->lane = NULL;
    taken->messages.count = 0;
    taken->messages.begun = 0;
    taken->messages.ended = 0;
    taken->messages.judged = false;
    taken->messages.notice = TNRI_LATE_NONE;
    taken->messages.verdict = TNRI_LATE_NONE;
    taken->messages.type = MPI_DATATYPE_NULL;
    for (int i = 0; i < TNRI_MESSAGES_AT_ONCE; i++) {
        taken->messages.requests[i] = MPI_REQUEST_NULL;
    }
    for (int i = 0; i < TNRI_PACKS; i++) {
        taken->messages.packs[i] = NULL;
    }
    *flight = taken;
    return TNR_OK;
}

void tnri_flight_add(tnri_flight *flight)
{
    tnri_flight **at = &flight->world->flights;
    tnri_flight *last = NULL;
    while (*at != NULL) {
        last = *at;
        at = &last->next;
    }
    flight->previous = last;
    flight->next = NULL;
    *at = flight;
}

void tnri_flight_remove(tnri_flight *flight)
{
    tnr_world *world = flight->world;
    if (flight->previous != NULL) {
        flight->previous->next = flight->next;
    } else if (world->flights == flight) {
        world->flights = flight->next;
    } else if (world->transfers->parked == flight) {
        world->transfers->parked = flight->next;
    }
    if (flight->next != NULL) {
        flight->next->previous = flight->previous;
    }
    flight->next = NULL;
    flight->previous = NULL;
}

void tnri_flight_park(tnri_flight *flight)
{
    tnri_flights *room = flight->world->transfers;
    tnri_flight_remove(flight);
    flight->next = room->parked;
    if (room->parked != NULL) {
        room->parked->previous = flight;
    }
    room->parked = flight;
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------------------------- */

uint64_t tnri_pack_bytes(const tnr_world_options *options) { return 64U + tnri_max_u64(options->pack_bytes, 64U); }

tnr_status tnri_pack_take(const char *op, tnr_world *world, tnri_pack **pack)
{
    tnri_pack *taken = world->transfers->packs;
    if (taken != NULL) {
        world->transfers->packs = taken->next;
    } else {
        tnr_block block;
        const uint64_t bytes = tnri_pack_bytes(&world->options);
        const tnr_status status = tnr_provider.record_take(world->home, bytes, &block);
        TNR_REQUIRE(status == TNR_OK, status, "%s: no room for %llu bytes of packed elements in the world's home", op,
                    TNRI_LLU(bytes));
        taken = block.address;
        taken->block = block;
        taken->data = (char *)block.address + 64;
    }
    *pack = taken;
    return TNR_OK;
}

void tnri_pack_give(tnr_world *world, tnri_pack *pack)
{
    if (pack != NULL) {
        pack->next = world->transfers->packs;
        world->transfers->packs = pack;
    }
}

/* ---- The end --------------------------------------------------------------------------------------------------------------------------- */

void tnri_flights_free(tnr_world *world)
{
    tnri_flights *room = world->transfers;
    if (room == NULL) {
        return;
    }
    if (!tnri_mpi_running()) { /* nobody writes any more */
        room->stuck = false;
        while (world->flights != NULL) {
            tnri_flight *flight = world->flights;
            flight->lane = NULL;
            for (int i = 0; i < TNRI_PACKS; i++) {
                tnri_pack_give(world, flight->messages.packs[i]);
                flight->messages.packs[i] = NULL;
            }
            (void)tnri_flight_drop(flight, tnri_fail(TNR_ERR_MPI, "%s: MPI was finalised", flight->op));
        }
    }
    while (room->packs != NULL) {
        tnri_pack *pack = room->packs;
        room->packs = pack->next;
        const tnr_block block = pack->block;
        tnr_provider.record_give(world->home, &block);
    }
    world->free_flights = NULL;
    world->transfers = NULL;
    if (world->flights == NULL && !room->stuck) { /* else MPI may still write into it */
        const tnr_block record = room->record;
        tnr_provider.record_give(world->home, &record);
    }
}
