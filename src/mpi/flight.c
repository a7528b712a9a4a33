/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flights: stepped, waited for, settled.
 *
 * Guarantees: a step never waits for another rank or for MPI. For a domain's own memory it does: for a piece to be copied, or for what
 * comes before MPI may have it (expose.c). While one flight is waited for all others go on. Where MPI may still write into memory when a
 * world ends by an error, that memory stays leased and the flight taken until MPI lets go of it: a leak, never a wild write.
 */
#define _POSIX_C_SOURCE 200809L /* sched_yield */
#include <sched.h>

#include "flight_internal.h"

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
    tnri_flight_conceal(flight);
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

/* ---- Requests -------------------------------------------------------------------------------------------------------------------- */

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
        (void)tnri_fail(status, "%s: %s", flight->op, tnri_text_after(flight->op, text));
        memcpy(flight->text, tnr_last_error(), sizeof(text));
    }
    flight->fatal = flight->fatal || moved;
}

void tnri_flight_hear(tnri_flight *flight, const char *text, bool moved)
{
    tnri_flight_fail(
        flight, tnri_fail(TNR_ERR_PEER, "rank %d failed: %s", flight->peer, tnri_text_after(flight->op, text)), moved);
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

/* ---- Waiting -------------------------------------------------------------------------------------------------------------------------- */

/* Looks in vain between two at the other flights, at MPI and at the clock, where the core is given away too, which may take milliseconds. */
enum { OTHERS = 8, PROGRESS = 256, CLOCK = 512, CLOCK_YIELDING = 16 };

/*
 * A receive for which there is no room among headers that came before their receives. It alone fails, for nobody knows of it, and others may
 * be begun; what several ranks do together ends the world.
 */
static tnr_status choked(const tnri_flight *flight)
{
    const tnr_status status =
        tnri_fail(TNR_ERR_MEMORY,
                  "%s: the world's home has no room for the headers of transfers from rank %d that came before their "
                  "receives; those must be received first, or the home be larger: tnr_world_need",
                  flight->op, flight->peer);
    const bool together = flight->prepared || flight->channel == TNRI_CHANNEL_COLLECTIVE;
    return together ? tnri_world_poison(flight->world, status) : status;
}

static const char *awaited(const tnri_flight *flight)
{
    return flight->kind != TNRI_SEND              ? "a transfer from"
           : flight->state == TNRI_FLIGHT_WAITING ? "an answer of"
                                                  : "bytes to be taken by";
}

static tnr_status watch(const tnri_flight *flight, tnri_patience *patience)
{
    const tnr_world *world = flight->world;
    char why[TNR_ERROR_TEXT_BYTES];
    const bool all = flight->channel == TNRI_CHANNEL_COLLECTIVE;
    const char *what = awaited(flight);
    const tnri_outlook outlook = tnri_world_watch(world, all ? -1 : flight->peer, patience, why);
    TNR_REQUIRE(!all || outlook != TNRI_WAIT_LOST, TNR_ERR_PEER,
                "%s: rank %d waits for %s rank %d, as all wait for all; %s", flight->op, world->rank, what,
                flight->peer, why);
    TNR_REQUIRE(outlook != TNRI_WAIT_LOST, TNR_ERR_PEER, "%s: rank %d waits for %s rank %d on channel %d; %s",
                flight->op, world->rank, what, flight->peer, flight->channel, why);
    TNR_REQUIRE(outlook != TNRI_WAIT_LATE, TNR_ERR_PEER, "%s: rank %d has waited %llu ms for %s rank %d on channel %d",
                flight->op, world->rank, TNRI_LLU(patience->waited), what, flight->peer, flight->channel);
    return TNR_OK;
}

tnr_status tnri_world_progress(tnr_world *world)
{
    tnri_flights *room = world->transfers;
    char why[TNR_ERROR_TEXT_BYTES];
    bool moved = false;
    TNR_TRY(tnri_world_move(world, &moved));
    const uint64_t now = moved ? room->watched : tnri_milliseconds();
    if (now - room->watched < TNRI_WATCH_MS) {
        return TNR_OK;
    }
    const int before = room->lost;
    room->watched = now;
    room->lost = -1;
    for (const tnri_flight *flight = world->flights; flight != NULL && room->lost < 0; flight = flight->next) {
        if (flight->state != TNRI_FLIGHT_OVER && tnri_world_lost(world, flight->peer, flight->peer == before, why)) {
            room->lost = flight->peer;
            if (room->lost == before) { /* what it sent before has had its time to come */
                return tnri_world_poison(
                    world, tnri_fail(TNR_ERR_PEER, "%s: rank %d waits for %s rank %d on channel %d; %s", flight->op,
                                     world->rank, awaited(flight), flight->peer, flight->channel, why));
            }
        }
    }
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
    tnri_patience patience = {0, 0, 0, false};
    uint32_t idle = 0;
    while (!is_over(flight)) {
        bool moved = false;
        TNR_TRY(step(flight, &moved));
        if (is_over(flight)) {
            break;
        }
        if (!alone && (moved || idle % OTHERS == 0)) {
            bool others = false;
            TNR_TRY(step_all(world, flight, &others));
            moved = moved || others;
        }
        if (flight->peer == world->rank && flight->state == TNRI_FLIGHT_WAITING) {
            return tnri_fail(TNR_ERR_BUSY, "%s: rank %d waits for itself on channel %d, where it has begun no %s",
                             flight->op, world->rank, flight->channel, flight->kind == TNRI_SEND ? "receive" : "send");
        }
        if (moved) {
            idle = 0;
            patience.since = 0;
            patience.lost = false;
            continue;
        }
        idle++;
        if (idle % PROGRESS == 0) { /* the program's own messages go on while we look at shared memory */
            int there = 0;
            (void)MPI_Iprobe(world->rank, TNRI_TAG_HEADER, world->comm, &there, MPI_STATUS_IGNORE);
        }
        const bool yields = idle > world->transfers->spins;
        if (yields) {
            (void)sched_yield();
        }
        if (idle % (yields ? CLOCK_YIELDING : CLOCK) == 0) {
            if (tnri_mail_choked(flight)) {
                return choked(flight);
            }
            const tnr_status status = watch(flight, &patience);
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

bool tnri_request_call_off(MPI_Request *request, bool cancels, uint64_t until)
{
    if (*request != MPI_REQUEST_NULL && cancels && tnri_mpi_running()) {
        (void)MPI_Cancel(request);
    }
    for (bool done = false; *request != MPI_REQUEST_NULL && tnri_mpi_running();) {
        (void)tnri_request_test("world_destroy", request, MPI_STATUS_IGNORE, &done);
        if (!done && tnri_milliseconds() > until) {
            break;
        }
    }
    return *request == MPI_REQUEST_NULL;
}

void tnri_flight_call_off(tnri_flight *flight)
{
    const uint64_t until = tnri_milliseconds() + TNRI_CALL_OFF_MS;
    const bool receives = flight->kind != TNRI_SEND;
    (void)tnri_request_call_off(&flight->header_request, receives, until);
    (void)tnri_request_call_off(&flight->answer_request, !receives, until);
    for (int i = 0; i < TNRI_MESSAGES_AT_ONCE; i++) {
        (void)tnri_request_call_off(&flight->messages.requests[i], receives, until);
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
