/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tickets of transfers: what the calls of ticket.h do with a flight.
 *
 * Guarantees: a ticket always ends: well, refused, or with the error that ended its world, MPI_Finalize among them. Giving up succeeds only while no partner can have
 * seen the flight; MPI decides that for a receive whose header may be on its way.
 */
#include "flight_internal.h"

/* After MPI_Finalize, which has ended all flights as far as that goes (tnri_flights_stop): the ticket is let go of. */
static tnr_status end_finalized(const char *op, tnri_flight *flight)
{
    tnr_world *world = flight->world;
    TNR_TRY(tnri_world_enter_ended(op, world));
    world->tickets--;
    flight->ticketed = false;
    return tnri_world_leave(world, TNR_OK);
}

static tnr_status ticket_advance(tnr_ticket *ticket, bool wait, bool *done)
{
    tnri_flight *flight = (tnri_flight *)ticket;
    tnr_world *world = flight->world;
    const char *const op = wait ? "ticket_wait" : "ticket_test";
    if (TNRI_UNLIKELY(!tnri_mpi_running())) {
        TNR_TRY(end_finalized(op, flight));
        *done = true;
        return tnri_fail(TNR_ERR_MPI, "%s: MPI was finalised", op);
    }
    const tnr_status entered = tnri_world_enter(op, world);
    if (entered != TNR_OK && (entered == TNR_ERR_BUSY || world->poison == TNR_OK)) {
        return entered;
    }
    tnr_status status = entered;
    if (status == TNR_OK) {
        status = wait ? tnri_flight_wait(flight) : tnri_world_progress(world);
    }
    if (flight->state != TNRI_FLIGHT_OVER && world->poison == TNR_OK) {
        return tnri_world_leave(world, status); /* not over; or what can never be was refused */
    }
    status = tnri_flight_settle(flight);
    *done = true;
    return entered == TNR_OK ? tnri_world_leave(world, status) : status;
}

static tnr_status abandon(tnri_flight *flight)
{
    TNR_REQUIRE(flight->state == TNRI_FLIGHT_WAITING && !flight->seen, TNR_ERR_BUSY,
                "ticket_abandon: rank %d may have seen the %s; wait for it", flight->peer,
                flight->kind == TNRI_SEND ? "send" : "receive");
    if (flight->header_request != MPI_REQUEST_NULL) { /* of a receive: MPI knows whether a header has been matched */
        MPI_Status status;
        int cancelled = 0;
        tnr_status answer = tnri_mpi("ticket_abandon", "MPI_Cancel", MPI_Cancel(&flight->header_request));
        if (answer == TNR_OK) {
            answer = tnri_mpi("ticket_abandon", "MPI_Wait", MPI_Wait(&flight->header_request, &status));
        }
        if (answer == TNR_OK) {
            atomic_fetch_sub_explicit(&tnri_mpi_live.requests, 1U, memory_order_relaxed);
            answer = tnri_mpi("ticket_abandon", "MPI_Test_cancelled", MPI_Test_cancelled(&status, &cancelled));
        }
        if (answer != TNR_OK) {
            return tnri_world_poison(flight->world, answer);
        }
        if (cancelled == 0) {
            int length = 0;
            answer = tnri_mpi("ticket_abandon", "MPI_Get_count", MPI_Get_count(&status, MPI_BYTE, &length));
            answer = answer == TNR_OK ? tnri_receive_header(flight, length) : answer;
            if (answer != TNR_OK) {
                return tnri_world_poison(flight->world, answer);
            }
            return tnri_fail(TNR_ERR_BUSY, "ticket_abandon: rank %d has sent; wait for it", flight->peer);
        }
    }
    flight->world->tickets--;
    flight->ticketed = false;
    (void)tnri_flight_drop(flight, TNR_OK);
    return TNR_OK;
}

static tnr_status ticket_abandon(tnr_ticket *ticket)
{
    tnri_flight *flight = (tnri_flight *)ticket;
    tnr_world *world = flight->world;
    if (TNRI_UNLIKELY(!tnri_mpi_running())) {
        return end_finalized("ticket_abandon", flight);
    }
    TNR_TRY(tnri_world_enter("ticket_abandon", world));
    return tnri_world_leave(world, abandon(flight));
}

const tnri_ticket_class tnri_flight_tickets = {ticket_advance, ticket_abandon};
