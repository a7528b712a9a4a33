/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between two ranks: the public calls. All of them start flights; the blocking ones wait for theirs, the others give it to the
 * caller as a ticket.
 */
#include "flight_internal.h"

tnr_status tnri_check_ends(const char *op, const tnr_world *world, int peer, int channel)
{
    TNR_REQUIRE(peer >= 0 && peer < world->size, TNR_ERR_BOUNDS, "%s: rank %d; the world has 0 to %d", op, peer,
                world->size - 1);
    TNR_REQUIRE(channel >= 0 && channel < TNR_WORLD_CHANNELS, TNR_ERR_BOUNDS, "%s: channel %d; there are 0 to %d", op,
                channel, TNR_WORLD_CHANNELS - 1);
    return TNR_OK;
}

/* The blocking calls may use what tickets may not. */
static tnr_status check_tickets(const char *op, const tnr_world *world)
{
    TNR_REQUIRE(world->tickets + world->transfers->prepared < (uint64_t)world->options.tickets, TNR_ERR_MEMORY,
                "%s: all %d tickets are in use (options.tickets)", op, world->options.tickets);
    return TNR_OK;
}

/* A flight that could not be begun: back, or, when the world ended by it, as far as that goes. */
static tnr_status undo(tnri_flight *flight, tnr_status status)
{
    const tnr_world *world = flight->world;
    if (world->poison == TNR_OK) {
        (void)tnri_flight_drop(flight, status); /* leaves the text */
        return status;
    }
    (void)tnri_flight_settle(flight);
    return tnri_fail(status, "%s", world->poison_text);
}

/* What a call wants: one end of a transfer. */
typedef struct wish {
    const char *op;
    tnri_flight_kind kind;
    int peer;
    int channel;
    const tnr_view *view; /* but for TNRI_RECEIVE_NEW, which has these: */
    tnr_domain *domain;
    tnr_tensor **tensor;
} wish;

static wish to_send(const char *op, const tnr_view *view, int to, int channel)
{
    return (wish){op, TNRI_SEND, to, channel, view, NULL, NULL};
}

static wish to_receive_into(const char *op, const tnr_view_mut *view, int from, int channel)
{
    return (wish){op, TNRI_RECEIVE, from, channel, view != NULL ? &view->view : NULL, NULL, NULL};
}

static wish to_receive(const char *op, int from, int channel, tnr_domain *domain, tnr_tensor **tensor)
{
    return (wish){op, TNRI_RECEIVE_NEW, from, channel, NULL, domain, tensor};
}

static tnr_status start(tnr_world *world, const wish *of, tnri_flight **flight)
{
    const bool makes = of->kind == TNRI_RECEIVE_NEW;
    tnri_flight *taken = NULL;
    tnr_status status = TNR_OK;
    TNR_TRY(tnri_check_ends(of->op, world, of->peer, of->channel));
    TNR_REQUIRE(!makes || (of->domain != NULL && of->tensor != NULL), TNR_ERR_ARGUMENT, "%s: domain or tensor is NULL",
                of->op);
    TNR_TRY(tnri_flight_take(of->op, world, of->kind, of->peer, of->channel, &taken));
    if (makes) {
        tnr_provider.domain_use(of->domain);
        taken->domain = of->domain;
        taken->tensor = of->tensor;
    } else {
        status = tnri_flight_lease(taken, of->view, of->kind == TNRI_RECEIVE);
    }
    if (status == TNR_OK) {
        status = of->kind == TNRI_SEND ? tnri_send_begin(taken) : tnri_receive_begin(taken);
    }
    if (status != TNR_OK) {
        return undo(taken, status);
    }
    *flight = taken;
    return TNR_OK;
}

/* To the end, whatever it is. A flight to itself that can never end is taken back. */
static tnr_status finish(tnri_flight *flight)
{
    const tnr_status status = tnri_flight_wait(flight);
    if (status != TNR_OK && flight->world->poison == TNR_OK) {
        return tnri_flight_drop(flight, status);
    }
    const tnr_status settled = tnri_flight_settle(flight);
    return status == TNR_OK ? settled : tnri_fail(status, "%s", flight->world->poison_text);
}

/* ---- Blocking ------------------------------------------------------------------------------------------------------------------- */

static tnr_status run(tnr_world *world, const wish *of)
{
    tnri_flight *flight = NULL;
    TNR_TRY(tnri_world_enter(of->op, world));
    tnr_status status = start(world, of, &flight);
    if (status == TNR_OK) {
        status = finish(flight);
    }
    return tnri_world_leave(world, status);
}

tnr_status tnr_world_send(tnr_world *world, const tnr_view *view, int to, int channel)
{
    const wish of = to_send("world_send", view, to, channel);
    return run(world, &of);
}

tnr_status tnr_world_receive_into(tnr_world *world, const tnr_view_mut *view, int from, int channel)
{
    const wish of = to_receive_into("world_receive_into", view, from, channel);
    return run(world, &of);
}

tnr_status tnr_world_receive(tnr_world *world, int from, int channel, tnr_domain *domain, tnr_tensor **tensor)
{
    const wish of = to_receive("world_receive", from, channel, domain, tensor);
    return run(world, &of);
}

/* ---- Tickets --------------------------------------------------------------------------------------------------------------------- */

static tnr_status begin(tnr_world *world, const wish *of, tnr_ticket **ticket)
{
    tnri_flight *flight = NULL;
    TNR_REQUIRE(ticket != NULL, TNR_ERR_ARGUMENT, "%s: ticket is NULL", of->op);
    TNR_TRY(tnri_world_enter(of->op, world));
    tnr_status status = check_tickets(of->op, world);
    if (status == TNR_OK) {
        status = start(world, of, &flight);
    }
    if (status == TNR_OK) {
        flight->ticket.kind = &tnri_flight_tickets;
        flight->ticketed = true;
        world->tickets++;
        *ticket = &flight->ticket;
        (void)tnri_world_progress(world); /* an error that ends the world is the ticket's to tell */
    }
    return tnri_world_leave(world, status);
}

tnr_status tnr_world_send_begin(tnr_world *world, const tnr_view *view, int to, int channel, tnr_ticket **ticket)
{
    const wish of = to_send("world_send_begin", view, to, channel);
    return begin(world, &of, ticket);
}

tnr_status tnr_world_receive_into_begin(tnr_world *world, const tnr_view_mut *view, int from, int channel,
                                        tnr_ticket **ticket)
{
    const wish of = to_receive_into("world_receive_into_begin", view, from, channel);
    return begin(world, &of, ticket);
}

tnr_status tnr_world_receive_begin(tnr_world *world, int from, int channel, tnr_domain *domain, tnr_tensor **tensor,
                                   tnr_ticket **ticket)
{
    const wish of = to_receive("world_receive_begin", from, channel, domain, tensor);
    return begin(world, &of, ticket);
}

/* ---- Both at once ----------------------------------------------------------------------------------------------------------------- */

/* One access for both views, which may be of one owner. */
static tnr_status lease_both(const char *op, tnri_operand *operands, const tnr_view *send, const tnr_view_mut *receive)
{
    TNR_REQUIRE(send != NULL && receive != NULL, TNR_ERR_ARGUMENT, "%s: a view is NULL", op);
    operands[0].view = send;
    operands[0].write = false;
    operands[1].view = &receive->view;
    operands[1].write = true;
    return tnr_provider.access_begin_away(op, operands, 2, TNRI_APART);
}

tnr_status tnri_flight_adopt(tnri_flight *flight, const tnr_view *view, char *data)
{
    flight->view = *view;
    tnri_stream_of(&flight->stream, view, data);
    return flight->kind == TNRI_SEND ? tnri_send_begin(flight) : tnri_receive_begin(flight);
}

/* Receive first, so that a partner that does the same finds it posted. */
static tnr_status send_receive(const char *op, tnr_world *world, const tnri_operand *operands, int to, int from,
                               int channel)
{
    tnri_flight *receive = NULL;
    tnri_flight *send = NULL;
    TNR_TRY(tnri_flight_take(op, world, TNRI_RECEIVE, from, channel, &receive));
    tnr_status status = tnri_flight_take(op, world, TNRI_SEND, to, channel, &send);
    if (status != TNR_OK) {
        return tnri_flight_drop(receive, status);
    }
    receive->joint = true;
    send->joint = true;
    status = tnri_flight_adopt(receive, operands[1].view, operands[1].data);
    if (status == TNR_OK) {
        status = tnri_flight_adopt(send, operands[0].view, operands[0].data);
        if (status != TNR_OK && world->poison == TNR_OK) { /* not begun: the receive cannot be taken back alone */
            (void)tnri_flight_drop(send, status);
            char text[TNR_ERROR_TEXT_BYTES];
            memcpy(text, tnr_last_error(), sizeof(text));
            (void)finish(receive);
            return tnri_fail(status, "%s", text);
        }
    } else {
        (void)undo(send, status);
        return undo(receive, status);
    }
    char text[TNR_ERROR_TEXT_BYTES];
    status = finish(send);
    if (status != TNR_OK) {
        memcpy(text, tnr_last_error(), sizeof(text));
    }
    const tnr_status other = finish(receive);
    const bool fatal = send->fatal || receive->fatal; /* what free flights say still */
    status = status != TNR_OK ? tnri_fail(status, "%s", text) : other;
    return fatal ? tnri_world_poison(world, status) : status;
}

tnr_status tnr_world_send_receive(tnr_world *world, const tnr_view *send, int to, const tnr_view_mut *receive, int from,
                                  int channel)
{
    static const char *const op = "world_send_receive";
    tnri_operand operands[2];
    TNR_TRY(tnri_world_enter(op, world));
    tnr_status status = tnri_check_ends(op, world, to, channel);
    status = status == TNR_OK ? tnri_check_ends(op, world, from, channel) : status;
    status = status == TNR_OK ? lease_both(op, operands, send, receive) : status;
    if (status != TNR_OK) {
        return tnri_world_leave(world, status);
    }
    status = send_receive(op, world, operands, to, from, channel);
    if (world->poison != TNR_OK && world->flights != NULL) { /* MPI may still be at the bytes: the leases stay */
        return tnri_world_leave(world, status);
    }
    const tnr_status ended = tnr_provider.access_end(operands, 2);
    return tnri_world_leave(world, status != TNR_OK ? status : ended);
}
