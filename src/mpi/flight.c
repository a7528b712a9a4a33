/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flights: taken from a fixed room, stepped, waited for, settled.
 *
 * Guarantees: no allocation after the world was made, but for buffers of packed messages, which are kept; a step never waits; while one
 * flight is waited for all others go on. Where MPI may still write into memory when a world ends by an error, that memory stays leased and
 * the flight taken until MPI lets go of it: a leak, never a wild write.
 */
#define _POSIX_C_SOURCE 200809L /* sched_yield */
#include <sched.h>
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
static uint64_t head_bytes(uint64_t count)
{
    return (sizeof(tnri_flights) + count * sizeof(tnri_flight) + 63U) & ~UINT64_C(63);
}

uint64_t tnri_flights_count(const tnr_world_options *options) { return (uint64_t)options->tickets + SPARE; }

uint64_t tnri_flights_bytes(const tnr_world_options *options)
{
    const uint64_t count = tnri_flights_count(options);
    return head_bytes(count) + count * wire_room(options);
}

tnr_status tnri_flights_make(tnr_world *world)
{
    const uint64_t count = tnri_flights_count(&world->options);
    const uint64_t head = head_bytes(count);
    tnr_block record;
    TNR_TRY(tnr_provider.record_take(world->home, tnri_flights_bytes(&world->options), &record));
    tnri_flights *room = record.address;
    memset(room, 0, head);
    room->record = record;
    room->count = (uint32_t)count;
    room->spins = sysconf(_SC_NPROCESSORS_ONLN) >= world->node_size ? SPINS : SPINS_CROWDED;
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

tnr_status tnri_flight_lease(tnri_flight *flight, const tnr_view *view, bool write)
{
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: view is NULL", flight->op);
    flight->view = *view;
    flight->operand.view = &flight->view;
    flight->operand.write = write;
    TNR_TRY(tnr_provider.access_begin_away(flight->op, &flight->operand, 1, TNRI_APART));
    flight->leased = true;
    tnri_stream_of(&flight->stream, &flight->view, flight->operand.data);
    return TNR_OK;
}

bool tnri_flight_is_active(const tnri_flight *flight)
{
    bool active = flight->header_request != MPI_REQUEST_NULL || flight->answer_request != MPI_REQUEST_NULL;
    for (int i = 0; i < TNRI_MESSAGES_AT_ONCE; i++) {
        active = active || flight->messages.requests[i] != MPI_REQUEST_NULL;
    }
    return active;
}

tnr_status tnri_flight_drop(tnri_flight *flight, tnr_status status)
{
    tnr_world *world = flight->world;
    char text[TNR_ERROR_TEXT_BYTES];
    const tnr_status given = status;
    if (given != TNR_OK) {
        memcpy(text, tnr_last_error(), sizeof(text));
    }
    tnri_messages_end(flight);
    if (flight->lane != NULL) {
        tnri_cargo_end(flight);
    }
    if (flight->leased) {
        const tnr_status ended = tnr_provider.access_end(&flight->operand, 1);
        status = status != TNR_OK ? status : ended;
        flight->leased = false;
    }
    if (flight->drafted) {
        status = tnr_provider.output_end(&flight->output, status, flight->tensor);
        flight->drafted = false;
    }
    if (flight->domain != NULL) {
        tnr_provider.domain_unuse(flight->domain);
        flight->domain = NULL;
    }
    tnri_flight_remove(flight);
    flight->state = TNRI_FLIGHT_OVER;
    flight->next = world->free_flights;
    world->free_flights = flight;
    return given != TNR_OK ? tnri_fail(given, "%s", text) : status;
}

/* ---- Buffers and requests ---------------------------------------------------------------------------------------------------------- */

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

void tnri_request_count(void) { atomic_fetch_add_explicit(&tnri_mpi_live.requests, 1U, memory_order_relaxed); }

tnr_status tnri_request_test(const char *op, MPI_Request *request, MPI_Status *status, bool *done)
{
    int over = 1;
    if (*request != MPI_REQUEST_NULL) {
        TNR_TRY(tnri_mpi(op, "MPI_Test", MPI_Test(request, &over, status)));
        if (over != 0) {
            atomic_fetch_sub_explicit(&tnri_mpi_live.requests, 1U, memory_order_relaxed);
        }
    }
    *done = over != 0;
    return TNR_OK;
}

/* ---- Going on ------------------------------------------------------------------------------------------------------------------------- */

void tnri_flight_close(tnri_flight *flight, tnr_status status)
{
    flight->status = status;
    if (status != TNR_OK) {
        const char *text = tnr_last_error();
        memcpy(flight->text, text, strlen(text) + 1);
    }
    flight->state = TNRI_FLIGHT_CLOSING;
}

void tnri_flight_fail(tnri_flight *flight, tnr_status status, bool moved)
{
    if (flight->failed == TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        flight->failed = status;
        (void)tnri_fail(status, "%s: %s", flight->op, text);
        memcpy(flight->text, tnr_last_error(), sizeof(text));
    }
    flight->fatal = flight->fatal || moved;
}

void tnri_flight_hear(tnri_flight *flight, const char *text, bool moved)
{
    tnri_flight_fail(flight, tnri_fail(TNR_ERR_PEER, "rank %d failed: %s", flight->peer, text), moved);
}

void tnri_flight_finish(tnri_flight *flight)
{
    flight->status = flight->failed;
    flight->state = TNRI_FLIGHT_CLOSING;
}

bool tnri_flight_packed(const tnri_flight *flight)
{
    const tnri_stream *stream = &flight->stream;
    return flight->path == TNR_PATH_PACKED ||
           (flight->path == TNR_PATH_SHARED && (!stream->dense || stream->away != NULL));
}

static tnr_status closing_step(tnri_flight *flight, bool *moved)
{
    bool header = false;
    bool answer = false;
    TNR_TRY(tnri_request_test(flight->op, &flight->header_request, MPI_STATUS_IGNORE, &header));
    TNR_TRY(tnri_request_test(flight->op, &flight->answer_request, MPI_STATUS_IGNORE, &answer));
    if (header && answer) {
        flight->state = TNRI_FLIGHT_OVER;
        *moved = true;
        if (TNRI_UNLIKELY(flight->fatal) && !flight->joint) {
            return tnri_fail(flight->status, "%s", flight->text);
        }
    }
    return TNR_OK;
}

/* One flight; an error ends the world. */
static tnr_status step(tnri_flight *flight, bool *moved)
{
    tnr_status status = TNR_OK;
    if (flight->state == TNRI_FLIGHT_WAITING || flight->state == TNRI_FLIGHT_MOVING) {
        if (flight->peer == flight->world->rank) {
            tnri_self_step(flight, moved);
        } else {
            status = flight->kind == TNRI_SEND ? tnri_send_step(flight, moved) : tnri_receive_step(flight, moved);
        }
    }
    if (status == TNR_OK && flight->state == TNRI_FLIGHT_CLOSING) {
        status = closing_step(flight, moved);
    }
    return status == TNR_OK ? TNR_OK : tnri_world_poison(flight->world, status);
}

static tnr_status step_all(tnr_world *world, const tnri_flight *but, bool *moved)
{
    for (tnri_flight *flight = world->flights; flight != NULL; flight = flight->next) {
        if (flight != but) {
            TNR_TRY(step(flight, moved));
        }
    }
    return TNR_OK;
}

tnr_status tnri_world_move(tnr_world *world, bool *moved) { return step_all(world, NULL, moved); }

tnr_status tnri_world_progress(tnr_world *world)
{
    bool moved = false;
    return step_all(world, NULL, &moved);
}

/* ---- Waiting -------------------------------------------------------------------------------------------------------------------------- */

/* Looks in vain between two at the other flights, at MPI and at the clock, and milliseconds between two looks for the dead. */
enum { OTHERS = 8, PROGRESS = 256, CLOCK = 512, WATCH_MS = 50 };

typedef struct patience {
    uint32_t idle;
    uint64_t since; /* ms of the first look in vain; 0: not known */
    uint64_t watched;
    bool lost; /* the partner was, at the last look: what it sent before may still come */
} patience;

static tnr_status watch(const tnri_flight *flight, patience *wait)
{
    const tnr_world *world = flight->world;
    const uint64_t now = tnri_milliseconds();
    wait->since = wait->since == 0 ? now : wait->since;
    if (now - wait->watched < WATCH_MS) {
        return TNR_OK;
    }
    wait->watched = now;
    char why[TNR_ERROR_TEXT_BYTES];
    const bool all = flight->channel == TNRI_CHANNEL_COLLECTIVE;
    const char *what = flight->kind != TNRI_SEND              ? "a transfer from"
                       : flight->state == TNRI_FLIGHT_WAITING ? "an answer of"
                                                              : "bytes to be taken by";
    const bool before = wait->lost;
    wait->lost = tnri_world_lost(world, all ? -1 : flight->peer, before, why);
    TNR_REQUIRE(!all || !before || !wait->lost, TNR_ERR_PEER,
                "%s: rank %d waits for %s rank %d, as all wait for all; %s", flight->op, world->rank, what,
                flight->peer, why);
    TNR_REQUIRE(!before || !wait->lost, TNR_ERR_PEER, "%s: rank %d waits for %s rank %d on channel %d; %s", flight->op,
                world->rank, what, flight->peer, flight->channel, why);
    TNR_REQUIRE(world->options.timeout_ms == 0 || now - wait->since <= world->options.timeout_ms, TNR_ERR_PEER,
                "%s: rank %d has waited %llu ms for %s rank %d on channel %d", flight->op, world->rank,
                TNRI_LLU(now - wait->since), what, flight->peer, flight->channel);
    return TNR_OK;
}

static bool is_over(const tnri_flight *flight)
{
    return flight->state == TNRI_FLIGHT_OVER || flight->state == TNRI_FLIGHT_READY;
}

tnr_status tnri_flight_wait(tnri_flight *flight)
{
    tnr_world *world = flight->world;
    const bool alone = world->flights == flight && flight->next == NULL;
    patience wait = {0, 0, 0, false};
    while (!is_over(flight)) {
        bool moved = false;
        TNR_TRY(step(flight, &moved));
        if (is_over(flight)) {
            break;
        }
        if (!alone && (moved || wait.idle % OTHERS == 0)) {
            bool others = false;
            TNR_TRY(step_all(world, flight, &others));
            moved = moved || others;
        }
        if (flight->peer == world->rank && flight->state == TNRI_FLIGHT_WAITING && flight->kind == TNRI_SEND) {
            return tnri_fail(TNR_ERR_BUSY, "%s: rank %d waits for itself on channel %d, where it has begun no receive",
                             flight->op, world->rank, flight->channel);
        }
        if (flight->peer == world->rank && flight->state == TNRI_FLIGHT_WAITING) {
            return tnri_fail(TNR_ERR_BUSY, "%s: rank %d waits for itself on channel %d, where it has begun no send",
                             flight->op, world->rank, flight->channel);
        }
        if (moved) {
            wait.idle = 0;
            wait.since = 0;
            wait.lost = false;
            continue;
        }
        wait.idle++;
        if (wait.idle % PROGRESS == 0) { /* the program's own messages go on while we look at shared memory */
            int there = 0;
            (void)MPI_Iprobe(world->rank, TNRI_TAG_HEADER, world->comm, &there, MPI_STATUS_IGNORE);
        }
        if (wait.idle > world->transfers->spins) {
            (void)sched_yield();
        }
        if (wait.idle % CLOCK == 0) {
            const tnr_status status = watch(flight, &wait);
            if (status != TNR_OK) {
                return tnri_world_poison(world, status);
            }
        }
    }
    return TNR_OK;
}

tnr_status tnri_flight_settle(tnri_flight *flight)
{
    tnr_world *world = flight->world;
    if (flight->ticketed) {
        world->tickets--;
        flight->ticketed = false;
    }
    if (flight->state == TNRI_FLIGHT_OVER) {
        if (flight->status != TNR_OK) {
            return tnri_flight_drop(flight, tnri_fail(flight->status, "%s", flight->text));
        }
        tnr_domain *domain = flight->domain != NULL ? flight->domain : flight->view.root->domain;
        const uint64_t bytes = flight->stream.bytes;
        const bool receives = flight->kind != TNRI_SEND;
        if ((receives || tnri_flight_packed(flight)) && !flight->piece) {
            tnr_provider.ledger_copy(domain, receives ? TNR_COPY_RECEIVE : TNR_COPY_SEND, bytes);
        }
        return tnri_flight_drop(flight, TNR_OK);
    }
    const tnr_status status = tnri_fail(world->poison, "%s: the world ended: %s", flight->op, world->poison_text);
    return tnri_flight_is_active(flight) ? status : tnri_flight_drop(flight, status);
}

/* ---- The end of a world ----------------------------------------------------------------------------------------------------------------- */

/* Cancel what can be, and let go of what is over. */
static void call_off(MPI_Request *request, bool cancels)
{
    bool done = false;
    if (*request != MPI_REQUEST_NULL && cancels) {
        (void)MPI_Cancel(request);
    }
    (void)tnri_request_test("world_destroy", request, MPI_STATUS_IGNORE, &done);
}

void tnri_flight_call_off(tnri_flight *flight)
{
    enum { STOP_MS = 50 };
    const uint64_t begin = tnri_milliseconds();
    const bool receives = flight->kind != TNRI_SEND;
    for (bool first = true; tnri_flight_is_active(flight); first = false) {
        if (!tnri_mpi_running() || tnri_milliseconds() - begin > STOP_MS) {
            return;
        }
        call_off(&flight->header_request, first && receives);
        call_off(&flight->answer_request, first && !receives);
        for (int i = 0; i < TNRI_MESSAGES_AT_ONCE; i++) {
            call_off(&flight->messages.requests[i], first && receives);
        }
    }
}

void tnri_flights_stop(tnr_world *world)
{
    tnri_flight *next = NULL;
    for (tnri_flight *flight = world->transfers != NULL ? world->flights : NULL; flight != NULL; flight = next) {
        next = flight->next;
        tnri_flight_call_off(flight);
        if (!tnri_flight_is_active(flight)) {
            (void)tnri_flight_drop(flight, tnri_fail(world->poison, "%s", world->poison_text));
        } else {
            tnri_stream_type_free(&flight->messages.type); /* may go; buffers stay */
        }
    }
}

void tnri_flights_free(tnr_world *world)
{
    tnri_flights *room = world->transfers;
    if (room == NULL) {
        return;
    }
    if (!tnri_mpi_running()) { /* nobody writes any more */
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
    if (world->flights == NULL) { /* else MPI may still write into it */
        const tnr_block record = room->record;
        tnr_provider.record_give(world->home, &record);
    }
}
