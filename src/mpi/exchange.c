/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers that repeat: agreed on once, by the same headers and answers as single ones, then started again and again without either.
 *
 * Guarantees: a start allocates nothing, plans nothing, and takes one access for all views, so that the halos of one tensor may go out and come
 * in at one time. Preparation ends well on a rank only if it did on all ranks that it has parts with. Slots of shared memory that a
 * sender fills before its partner has started count as guesses (near_lane.c), so an exchange that runs ahead is in nobody's way.
 */
#include "flight_internal.h"

struct tnr_exchange {
    tnri_dependent dependent; /* first */
    tnr_world *world;
    tnr_block record;
    size_t count;
    bool under_way; /* its views are leased */
    tnri_flight **flights;
    tnri_operand *operands; /* views in the flights */
};

/* ---- Giving back -------------------------------------------------------------------------------------------------------------------- */

/* Leases of an exchange under way, unless MPI may still be at the bytes. */
static tnr_status end_access(tnr_exchange *exchange)
{
    bool active = false;
    for (size_t i = 0; i < exchange->count; i++) {
        active = active || (exchange->flights[i] != NULL && tnri_flight_is_active(exchange->flights[i]));
    }
    if (!exchange->under_way || active) {
        return TNR_OK;
    }
    for (size_t i = 0; i < exchange->count; i++) {
        if (exchange->flights[i] != NULL) {
            tnri_flight_conceal(exchange->flights[i]);
        }
    }
    exchange->under_way = false;
    return tnr_provider.access_end(exchange->operands, (int)exchange->count);
}

static void drop_flights(tnr_exchange *exchange)
{
    for (size_t i = 0; i < exchange->count; i++) {
        tnri_flight *flight = exchange->flights[i];
        if (flight == NULL) {
            continue;
        }
        exchange->flights[i] = NULL;
        exchange->world->transfers->prepared--;
        if (!tnri_flight_is_active(flight)) {
            (void)tnri_flight_drop(flight, TNR_OK);
        } /* else it stays in the world's list until MPI lets go of it */
    }
}

static void give(tnr_exchange *exchange)
{
    tnr_domain *home = exchange->world->home;
    const tnr_block record = exchange->record;
    for (size_t i = 0; i < exchange->count; i++) {
        if (exchange->flights[i] != NULL) {
            tnri_flight_call_off(exchange->flights[i]);
        }
    }
    (void)end_access(exchange);
    drop_flights(exchange);
    tnr_provider.record_give(home, &record);
}

static void when_world_ends(tnri_dependent *dependent) { give((tnr_exchange *)dependent); }

static void when_mpi_ends(tnri_dependent *dependent)
{
    tnr_exchange *exchange = (tnr_exchange *)dependent;
    for (size_t i = 0; i < exchange->count; i++) {
        tnri_messages_end(exchange->flights[i]);
    }
}

/* ---- Preparing ---------------------------------------------------------------------------------------------------------------------------- */

static tnr_status check_parts(const char *op, const tnr_world *world, const tnr_exchange_part *parts, size_t count,
                              tnr_exchange **exchange)
{
    TNR_REQUIRE(exchange != NULL, TNR_ERR_ARGUMENT, "%s: exchange is NULL", op);
    TNR_REQUIRE(count == 0 || parts != NULL, TNR_ERR_ARGUMENT, "%s: parts is NULL", op);
    TNR_REQUIRE(count <= (uint64_t)world->options.tickets - world->tickets - world->transfers->prepared, TNR_ERR_MEMORY,
                "%s: %llu parts do not fit the %d tickets (options.tickets)", op, TNRI_LLU(count),
                world->options.tickets);
    for (size_t i = 0; i < count; i++) {
        TNR_REQUIRE((parts[i].send == NULL) != (parts[i].receive == NULL), TNR_ERR_ARGUMENT,
                    "%s: part %llu must have one of the two views", op, TNRI_LLU(i));
        TNR_TRY(tnri_check_ends(op, world, parts[i].rank, parts[i].channel));
    }
    return TNR_OK;
}

/* Where operands and flights begin in an exchange's record. */
static uint64_t at_operands(void) { return (sizeof(tnr_exchange) + 15U) & ~UINT64_C(15); }

static uint64_t at_flights(uint64_t count)
{
    return at_operands() + ((count * sizeof(tnri_operand) + 15U) & ~UINT64_C(15));
}

uint64_t tnri_exchange_bytes(uint64_t parts) { return at_flights(parts) + parts * sizeof(tnri_flight *); }

static tnr_status make(const char *op, tnr_world *world, size_t count, tnr_exchange **exchange)
{
    tnr_block record;
    const uint64_t bytes = tnri_exchange_bytes(count);
    const tnr_status status = tnr_provider.record_take(world->home, bytes, &record);
    TNR_REQUIRE(status == TNR_OK, status, "%s: no room for %llu parts in the world's home", op, TNRI_LLU(count));
    tnr_exchange *made = record.address;
    memset(made, 0, bytes);
    made->dependent.end = when_world_ends;
    made->dependent.finalize = when_mpi_ends;
    made->world = world;
    made->record = record;
    made->count = count;
    made->operands = (tnri_operand *)(void *)((char *)record.address + at_operands());
    made->flights = (tnri_flight **)(void *)((char *)record.address + at_flights(count));
    *exchange = made;
    return TNR_OK;
}

/* A flight for each part, and access to all views, whose addresses are resolved by it. */
static tnr_status take_parts(const char *op, tnr_exchange *exchange, const tnr_exchange_part *parts)
{
    for (size_t i = 0; i < exchange->count; i++) {
        const bool sends = parts[i].send != NULL;
        tnri_flight *flight = NULL;
        TNR_TRY(tnri_flight_take(op, exchange->world, sends ? TNRI_SEND : TNRI_RECEIVE, parts[i].rank, parts[i].channel,
                                 &flight));
        exchange->world->transfers->prepared++;
        exchange->flights[i] = flight;
        flight->prepared = true;
        flight->joint = true;
        flight->view = sends ? *parts[i].send : parts[i].receive->view;
        exchange->operands[i].view = &flight->view;
        exchange->operands[i].write = !sends;
    }
    TNR_TRY(tnr_provider.access_begin_away(op, exchange->operands, (int)exchange->count, TNRI_APART));
    exchange->under_way = true;
    return TNR_OK;
}

/* All that this rank needs; *exchange has what was taken, whatever the answer. */
static tnr_status arrange(const char *op, tnr_world *world, const tnr_exchange_part *parts, size_t count,
                          tnr_exchange **result, tnr_exchange **exchange)
{
    TNR_TRY(check_parts(op, world, parts, count, result));
    TNR_TRY(make(op, world, count, exchange));
    return take_parts(op, *exchange, parts);
}

/* How it went with one part, as its caller is told. */
static tnr_status part_status(const char *op, const tnr_exchange *exchange, size_t part)
{
    const tnri_flight *flight = exchange->flights[part];
    const tnr_status status = flight->state == TNRI_FLIGHT_OVER ? flight->status : flight->failed;
    TNR_REQUIRE(status == TNR_OK, status, "%s: part %llu, on channel %d: %s", op, TNRI_LLU(part), flight->channel,
                tnri_text_after(op, flight->text));
    return TNR_OK;
}

static bool is_refused(const tnri_flight *flight)
{
    const tnr_world *world = flight->world;
    return flight->peer != world->rank && world->transfers->rolls[flight->peer].refused;
}

/* Headers and answers of all parts but those with ranks that cannot; the first failure. `heard`, of those ranks, is every other part's. */
static tnr_status agree(const char *op, tnr_exchange *exchange, tnr_status heard)
{
    tnr_world *world = exchange->world;
    tnr_status first = heard;
    char text[TNR_ERROR_TEXT_BYTES];
    if (heard != TNR_OK) {
        memcpy(text, tnr_last_error(), sizeof(text));
    }
    for (size_t i = 0; i < exchange->count; i++) {
        tnri_flight *flight = exchange->flights[i];
        if (is_refused(flight)) {
            continue;
        }
        if (heard != TNR_OK) {
            tnri_flight_fail(flight, tnri_fail(heard, "%s", text), false);
        }
        /* without memory it goes on all the same; what fails is MPI */
        TNR_TRY(tnri_world_poison(world, tnri_flight_adopt(flight, &flight->view, exchange->operands[i].data)));
    }
    for (size_t i = 0; i < exchange->count; i++) {
        tnri_flight *flight = exchange->flights[i];
        if (is_refused(flight)) {
            continue;
        }
        tnr_status status = tnri_flight_wait(flight);
        if (status != TNR_OK && world->poison != TNR_OK) {
            return status;
        }
        status = status == TNR_OK ? part_status(op, exchange, i) : status;
        if (status != TNR_OK && first == TNR_OK) {
            first = status;
            memcpy(text, tnr_last_error(), sizeof(text));
        }
        if (flight->header_request != MPI_REQUEST_NULL) {
            TNR_TRY(tnri_world_wait(op, world, &flight->header_request, "a header to go"));
        }
        if (flight->answer_request != MPI_REQUEST_NULL) {
            TNR_TRY(tnri_world_wait(op, world, &flight->answer_request, "an answer to go"));
        }
    }
    return first == TNR_OK ? TNR_OK : tnri_fail(first, "%s", text);
}

/* Is its other end to be told, and does it tell? */
static bool is_agreed(const tnri_flight *flight)
{
    return flight->state == TNRI_FLIGHT_READY && flight->peer != flight->world->rank;
}

/* One message of a part whose both ends agreed: nothing, or why its rank could not prepare all. */
static tnr_status post_end(const char *op, tnri_flight *flight, bool sends, const char *text)
{
    const MPI_Comm comm = flight->world->comm;
    /* apart from the tags of data: an exchange that was prepared before may be under way */
    const int tag = tnri_tag(TNRI_TAG_CONFIRM, TNRI_TAG_EXCHANGES, flight->number);
    tnr_status status = TNR_OK;
    if (sends) {
        memcpy(flight->text, text, text[0] != '\0' ? sizeof(flight->text) : 1);
        status = tnri_mpi(op, "MPI_Isend",
                          MPI_Isend(flight->text, text[0] != '\0' ? TNR_ERROR_TEXT_BYTES : 0, MPI_BYTE, flight->peer,
                                    tag, comm, &flight->header_request));
    } else {
        flight->answer.text[0] = '\0';
        status = tnri_mpi(op, "MPI_Irecv",
                          MPI_Irecv(flight->answer.text, TNR_ERROR_TEXT_BYTES, MPI_BYTE, flight->peer, tag, comm,
                                    &flight->answer_request));
    }
    if (status == TNR_OK) {
        tnri_request_count();
    }
    return tnri_world_poison(flight->world, status);
}

/* Both ends of each agreed part tell each other how it went with all their parts. */
static tnr_status confirm(const char *op, tnr_exchange *exchange, tnr_status mine)
{
    tnr_world *world = exchange->world;
    char text[TNR_ERROR_TEXT_BYTES] = "";
    tnr_status result = mine;
    if (world->poison != TNR_OK) {
        return mine;
    }
    if (mine != TNR_OK) {
        memcpy(text, tnr_last_error(), sizeof(text));
    }
    for (size_t i = 0; i < exchange->count; i++) { /* what comes finds its place */
        TNR_TRY(is_agreed(exchange->flights[i]) ? post_end(op, exchange->flights[i], false, NULL) : TNR_OK);
    }
    for (size_t i = 0; i < exchange->count; i++) {
        TNR_TRY(is_agreed(exchange->flights[i]) ? post_end(op, exchange->flights[i], true, text) : TNR_OK);
    }
    for (size_t i = 0; i < exchange->count; i++) {
        tnri_flight *flight = exchange->flights[i];
        if (!is_agreed(flight)) {
            continue;
        }
        TNR_TRY(tnri_world_wait(op, world, &flight->answer_request, "a partner to be prepared"));
        TNR_TRY(tnri_world_wait(op, world, &flight->header_request, "a partner to hear of it"));
        flight->answer.text[TNR_ERROR_TEXT_BYTES - 1] = '\0';
        if (flight->answer.text[0] != '\0' && result == TNR_OK) {
            result = tnri_fail(TNR_ERR_PEER, "%s: rank %d could not prepare all of its parts: %s", op, flight->peer,
                               tnri_text_after(op, flight->answer.text));
            memcpy(text, tnr_last_error(), sizeof(text));
        }
    }
    return result == TNR_OK ? TNR_OK : tnri_fail(result, "%s", text);
}

static tnr_status prepare(const char *op, tnr_world *world, const tnr_exchange_part *parts, size_t count,
                          tnr_exchange **exchange)
{
    tnr_exchange *made = NULL;
    const tnr_status mine = arrange(op, world, parts, count, exchange, &made);
    tnr_status status = tnri_roll_call(op, world, parts, count, mine);
    if (mine == TNR_OK && world->poison == TNR_OK) {
        status = confirm(op, made, agree(op, made, status));
    }
    status = mine == TNR_OK ? status : mine; /* as it is already, said once more for analysers */
    for (size_t i = 0; i < count && status == TNR_OK; i++) {
        tnri_flight_park(made->flights[i]);
    }
    status = status == TNR_OK ? end_access(made) : status;
    if (status != TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        if (made != NULL) {
            give(made);
        }
        return tnri_fail(status, "%s", text);
    }
    tnri_dependent_add(world, &made->dependent);
    *exchange = made;
    return TNR_OK;
}

tnr_status tnr_exchange_prepare(tnr_world *world, const tnr_exchange_part *parts, size_t count, tnr_exchange **exchange)
{
    static const char *const op = "exchange_prepare";
    TNR_TRY(tnri_world_enter(op, world));
    return tnri_world_leave(world, prepare(op, world, parts, count, exchange));
}

/* ---- Again and again ------------------------------------------------------------------------------------------------------------------------ */

static void restart(tnri_flight *flight, char *data)
{
    flight->stream.data = data;
    flight->state = TNRI_FLIGHT_MOVING;
    flight->status = TNR_OK;
    flight->failed = TNR_OK;
    flight->fatal = false;
    tnri_flight_remove(flight);
    tnri_flight_add(flight);
    if (flight->peer == flight->world->rank) {
        return;
    }
    if (flight->path == TNR_PATH_SHARED) {
        tnri_cargo_restart(flight);
    } else {
        tnri_messages_restart(flight);
    }
}

static void count_send(const tnri_flight *flight)
{
    flight->world->sends[flight->path]++;
    flight->world->sent_bytes[flight->path] += flight->stream.bytes;
}

/* What MPI gets of devices' memory. Where that fails nothing has begun here: as if access had been refused. */
static tnr_status expose_all(const char *op, tnr_exchange *exchange)
{
    for (size_t i = 0; i < exchange->count; i++) {
        tnri_flight *flight = exchange->flights[i];
        if (flight->path != TNR_PATH_DEVICE) {
            continue;
        }
        flight->stream.data = exchange->operands[i].data;
        const tnr_status status = tnri_flight_expose(flight);
        if (status != TNR_OK) {
            char text[TNR_ERROR_TEXT_BYTES];
            memcpy(text, tnr_last_error(), sizeof(text));
            (void)end_access(exchange);
            return tnri_fail(status, "%s: %s", op, text);
        }
    }
    return TNR_OK;
}

static tnr_status start(const char *op, tnr_exchange *exchange)
{
    TNR_REQUIRE(!exchange->under_way, TNR_ERR_BUSY, "%s: it is under way; exchange_wait ends it", op);
    TNR_TRY(tnr_provider.access_begin_away(op, exchange->operands, (int)exchange->count, TNRI_APART));
    exchange->under_way = true;
    TNR_TRY(expose_all(op, exchange));
    for (int sends = 0; sends < 2; sends++) { /* what comes must find its place */
        for (size_t i = 0; i < exchange->count; i++) {
            tnri_flight *flight = exchange->flights[i];
            if ((flight->kind == TNRI_SEND) == (sends != 0)) {
                flight->op = op;
                restart(flight, exchange->operands[i].data);
            }
        }
    }
    for (size_t i = 0; i < exchange->count; i++) {
        tnri_flight *flight = exchange->flights[i];
        if (flight->kind == TNRI_SEND) {
            count_send(flight);
            if (flight->partner != NULL) {
                tnri_self_copy(flight, flight->partner);
                tnri_flight_finish(flight);
                tnri_flight_finish(flight->partner);
            }
        }
    }
    return tnri_world_progress(exchange->world);
}

static tnr_status finish(const char *op, tnr_exchange *exchange)
{
    tnr_world *world = exchange->world;
    const tnri_flight *failed = NULL;
    if (!exchange->under_way) {
        return TNR_OK;
    }
    for (size_t i = 0; i < exchange->count; i++) {
        const tnr_status status = tnri_flight_wait(exchange->flights[i]);
        if (status != TNR_OK) { /* the world has ended */
            (void)end_access(exchange);
            return tnri_fail(status, "%s: the world ended: %s", op, world->poison_text);
        }
    }
    for (size_t i = 0; i < exchange->count; i++) {
        tnri_flight *flight = exchange->flights[i];
        const bool receives = flight->kind == TNRI_RECEIVE;
        if (flight->status != TNR_OK) {
            failed = failed == NULL || (flight->fatal && !failed->fatal) ? flight : failed;
        } else if (receives || tnri_flight_packed(flight)) {
            tnr_provider.ledger_copy(flight->view.root->domain, receives ? TNR_COPY_RECEIVE : TNR_COPY_SEND,
                                     flight->stream.bytes);
        }
        flight->state = TNRI_FLIGHT_READY;
        tnri_flight_park(flight);
    }
    const tnr_status ended = end_access(exchange);
    if (failed == NULL) {
        return ended;
    }
    const tnr_status status = tnri_fail(failed->status, "%s", failed->text);
    return failed->fatal ? tnri_world_poison(world, status) : status;
}

tnr_status tnr_exchange_start(tnr_exchange *exchange)
{
    static const char *const op = "exchange_start";
    TNR_REQUIRE(exchange != NULL, TNR_ERR_ARGUMENT, "%s: exchange is NULL", op);
    TNR_TRY(tnri_world_enter(op, exchange->world));
    return tnri_world_leave(exchange->world, start(op, exchange));
}

tnr_status tnr_exchange_wait(tnr_exchange *exchange)
{
    static const char *const op = "exchange_wait";
    TNR_REQUIRE(exchange != NULL, TNR_ERR_ARGUMENT, "%s: exchange is NULL", op);
    TNR_TRY(tnri_world_enter(op, exchange->world));
    return tnri_world_leave(exchange->world, finish(op, exchange));
}

tnr_status tnr_exchange_test(tnr_exchange *exchange, bool *done)
{
    static const char *const op = "exchange_test";
    TNR_REQUIRE(exchange != NULL && done != NULL, TNR_ERR_ARGUMENT, "%s: exchange or done is NULL", op);
    tnr_world *world = exchange->world;
    tnr_status status = tnri_world_enter(op, world);
    if (status != TNR_OK) {
        *done = *done || (status != TNR_ERR_BUSY && world->poison != TNR_OK); /* by whatever call it ended */
        return status;
    }
    status = exchange->under_way ? tnri_world_progress(world) : TNR_OK;
    bool over = true;
    for (size_t i = 0; i < exchange->count && exchange->under_way; i++) {
        over = over && exchange->flights[i]->state == TNRI_FLIGHT_OVER;
    }
    if (status != TNR_OK) { /* the world has ended, and with it all that is under way */
        (void)end_access(exchange);
        status = tnri_fail(status, "%s: the world ended: %s", op, world->poison_text);
        over = true;
    } else if (over) {
        status = finish(op, exchange);
    }
    *done = over;
    return tnri_world_leave(world, status);
}

tnr_status tnr_exchange_run(tnr_exchange *exchange)
{
    static const char *const op = "exchange_run";
    TNR_REQUIRE(exchange != NULL, TNR_ERR_ARGUMENT, "%s: exchange is NULL", op);
    TNR_TRY(tnri_world_enter(op, exchange->world));
    tnr_status status = start(op, exchange);
    if (status == TNR_OK) {
        status = finish(op, exchange);
    }
    return tnri_world_leave(exchange->world, status);
}

tnr_status tnr_exchange_destroy(tnr_exchange **exchange)
{
    static const char *const op = "exchange_destroy";
    if (exchange == NULL || *exchange == NULL) {
        return TNR_OK;
    }
    tnr_world *world = (*exchange)->world;
    TNR_TRY(tnri_world_enter_ended(op, world));
    if ((*exchange)->under_way && world->poison == TNR_OK) {
        return tnri_world_leave(world, tnri_fail(TNR_ERR_BUSY, "%s: it is under way; exchange_wait ends it", op));
    }
    tnri_dependent_remove(world, &(*exchange)->dependent);
    give(*exchange);
    *exchange = NULL;
    return tnri_world_leave(world, TNR_OK);
}
