/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending end of a transfer: a header with the channel as its tag, small payloads along with it; the partner's answer; the
 * payload by messages or through shared memory.
 *
 * Guarantees: what can fail here fails before the header goes; but memory that is away, whose failing reads go on as a transfer
 * that both ends see fail. The answer comes for every transfer, small ones too, so that the
 * caller knows of refusal. The view is not read any more once the flight is over.
 */
#include "flight_internal.h"

/* A number whose tags no living transfer to this rank has. */
static bool is_taken(const tnri_flight *list, int peer, uint32_t number)
{
    for (; list != NULL; list = list->next) {
        if (list->kind == TNRI_SEND && list->peer == peer && (list->number - number) % TNRI_TAG_EXCHANGES == 0 &&
            list->number != 0) {
            return true;
        }
    }
    return false;
}

static uint32_t next_number(tnr_world *world, int peer)
{
    uint32_t *sent = &world->peers[peer].sent;
    do {
        ++*sent;
    } while (*sent == 0 || is_taken(world->flights, peer, *sent) || is_taken(world->transfers->parked, peer, *sent));
    return *sent;
}

/* Bytes of the header in flight->wire. */
static uint32_t write_header(tnri_flight *flight, bool eager, uint64_t chunk)
{
    const tnr_view *view = &flight->view;
    tnri_header header;
    header.dtype = (uint32_t)view->dtype;
    header.rank = (uint32_t)view->rank;
    header.flags = eager ? TNRI_WIRE_EAGER : flight->path == TNR_PATH_SHARED ? TNRI_WIRE_SHARED : 0U;
    header.epoch = flight->world->epoch;
    header.number = flight->number;
    header.source = (uint32_t)flight->world->rank;
    header.channel = (uint32_t)flight->channel;
    header.ack = flight->index;
    header.bytes = flight->stream.bytes;
    header.count = flight->stream.bytes / flight->stream.element_bytes;
    header.chunk = chunk;
    const tnr_tensor *root = view->root;
    header.domain = root->domain != NULL ? root->domain->serial : 0;
    header.allocation = root->block.allocation;
    for (int axis = 0; axis < view->rank; axis++) {
        header.shape[axis] = view->shape[axis];
    }
    if (flight->lane == NULL) {
        return tnri_wire_encode(&header, flight->wire);
    }
    const uint32_t length = tnri_mail_head(header.rank);
    memcpy(flight->wire, &header, length);
    return length;
}

static tnr_status post_answer(tnri_flight *flight)
{
    const int tag = tnri_answer_tag(flight);
    TNR_TRY(tnri_mpi(flight->op, "MPI_Irecv",
                     MPI_Irecv(&flight->answer, (int)sizeof(flight->answer), MPI_BYTE, flight->peer, tag,
                               flight->world->comm, &flight->answer_request)));
    tnri_request_count();
    return TNR_OK;
}

/* A small payload that is away, to where it goes behind the header. If that fails the transfer goes the longer way, to tell. */
static bool read_away(tnri_flight *flight, bool near)
{
    const uint32_t rank = (uint32_t)flight->view.rank;
    const uint32_t head = near ? tnri_mail_head(rank) : TNRI_WIRE_BYTES(rank);
    const tnr_status status = tnri_stream_pack(&flight->stream, 0, flight->stream.bytes, flight->wire + head);
    if (status != TNR_OK) {
        tnri_flight_fail(flight, status, false);
    }
    return status == TNR_OK;
}

/*
 * Does MPI get the device's memory itself? To a rank of this node too, for MPI may copy from device to device, where slots take two copies
 * through the host; which of them is faster has not been measured. Where that fails the transfer goes as others do, and tells.
 */
static bool goes_direct(tnri_flight *flight)
{
    bool direct = false;
    const tnr_status status = flight->failed == TNR_OK ? tnri_flight_go_direct(flight, &direct) : TNR_OK;
    if (status != TNR_OK) {
        tnri_flight_fail(flight, status, false);
    }
    return direct;
}

tnr_status tnri_send_begin(tnri_flight *flight)
{
    tnr_world *world = flight->world;
    const uint64_t bytes = flight->stream.bytes;
    if (flight->peer == world->rank) {
        flight->path = TNR_PATH_SELF;
        tnri_flight_add(flight);
        return TNR_OK;
    }
    const bool near = world->near != NULL && world->peers[flight->peer].near >= 0;
    const uint64_t room = near ? TNRI_MAIL_BYTES - tnri_mail_head((uint32_t)flight->view.rank) : UINT64_MAX;
    bool eager = bytes <= tnri_min_u64(room, world->options.eager_bytes) && !flight->prepared;
    if (eager && flight->stream.away != NULL) {
        eager = read_away(flight, near);
    }
    uint64_t chunk = tnri_max_u64(bytes, 1);
    const bool direct = !eager && goes_direct(flight);
    if (direct || (!eager && !near)) {
        flight->path = direct ? TNR_PATH_DEVICE : tnri_messages_path(world, &flight->stream);
        chunk = tnri_messages_propose(flight, tnri_min_u64(world->options.chunk_bytes, tnri_max_u64(bytes, 1)));
        const tnr_status buffers = flight->failed == TNR_OK ? tnri_messages_prepare(flight) : TNR_OK;
        if (buffers != TNR_OK && !flight->joint) {
            return buffers;
        }
        if (buffers != TNR_OK) { /* its call has begun others: the partner hears of it */
            tnri_flight_fail(flight, buffers, false);
        }
    }
    flight->number = next_number(world, flight->peer);
    if (near) {
        flight->lane = tnri_near_lane(world, world->node_rank, flight->index);
        atomic_store_explicit(&flight->lane->answered, 0U, memory_order_relaxed);
        flight->lane->failed = 0U;
        flight->path = eager ? TNR_PATH_EAGER : direct ? TNR_PATH_DEVICE : TNR_PATH_SHARED;
        tnri_cargo_begin_send(flight);
        chunk = eager || direct ? chunk : flight->cargo.piece;
    }
    uint64_t length = write_header(flight, eager, chunk);
    if (eager) {
        flight->path = TNR_PATH_EAGER;
        if (flight->stream.away == NULL) {
            (void)tnri_stream_pack(&flight->stream, 0, bytes, flight->wire + length);
        }
        length += bytes;
    }
    flight->wire_length = (uint32_t)length;
    tnri_flight_add(flight);
    if (near) {
        bool moved = false;
        if (flight->path == TNR_PATH_SHARED && !flight->prepared) {
            tnri_cargo_send_step(flight, &moved); /* so that the first piece is there when the header is */
        }
        tnri_mail_post(flight, &moved);
        return TNR_OK;
    }
    tnr_status status = post_answer(flight);
    if (status == TNR_OK) {
        const int tag = tnri_header_tag(flight);
        status = tnri_mpi(
            flight->op, "MPI_Isend",
            MPI_Isend(flight->wire, (int)length, MPI_BYTE, flight->peer, tag, world->comm, &flight->header_request));
    }
    if (status != TNR_OK) {
        return tnri_world_poison(world, status);
    }
    tnri_request_count();
    flight->seen = true;
    return TNR_OK;
}

/* ---- The answer --------------------------------------------------------------------------------------------------------------- */

static void refused(tnri_flight *flight, const char *text)
{
    flight->fatal = false; /* pieces that were ahead of the answer went nowhere */
    tnri_flight_close(flight, tnri_fail(TNR_ERR_PEER, "%s: rank %d refused: %s", flight->op, flight->peer,
                                        tnri_text_after(flight->op, text)));
}

/* `message` as the answer has it, where there are messages. */
static tnr_status accepted(tnri_flight *flight, uint64_t message)
{
    tnr_world *world = flight->world;
    if (flight->path == TNR_PATH_DEVICE && flight->lane != NULL && message == TNRI_ANSWER_SLOTS) {
        tnri_flight_conceal(flight); /* MPI never saw it */
        flight->path = TNR_PATH_SHARED;
    }
    flight->state = flight->prepared ? TNRI_FLIGHT_READY : TNRI_FLIGHT_MOVING;
    if (!flight->prepared) {
        world->sends[flight->path]++;
        world->sent_bytes[flight->path] += flight->stream.bytes;
    }
    if (flight->path == TNR_PATH_EAGER) {
        tnri_flight_close(flight, TNR_OK);
        return TNR_OK;
    }
    if (flight->path == TNR_PATH_SHARED) {
        return TNR_OK;
    }
    flight->messages.judged = (message & TNRI_ANSWER_VERDICT) != 0;
    return tnri_messages_begin(flight, message & ~TNRI_ANSWER_VERDICT);
}

static tnr_status look_for_answer(tnri_flight *flight, bool *moved)
{
    if (flight->lane != NULL) {
        if (atomic_load_explicit(&flight->lane->answered, memory_order_acquire) != flight->number) {
            return TNR_OK;
        }
        *moved = true;
        tnri_cargo_answered(flight);
        if (flight->lane->status == TNR_OK) {
            return accepted(flight, flight->lane->message);
        }
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, flight->lane->text, sizeof(text));
        text[sizeof(text) - 1] = '\0';
        refused(flight, text);
        return TNR_OK;
    }
    MPI_Status status;
    bool done = false;
    TNR_TRY(tnri_request_test(flight->op, &flight->answer_request, &status, &done));
    if (!done) {
        return TNR_OK;
    }
    *moved = true;
    int length = 0;
    TNR_TRY(tnri_mpi(flight->op, "MPI_Get_count", MPI_Get_count(&status, MPI_BYTE, &length)));
    const tnri_answer *answer = &flight->answer;
    const bool whole = length >= TNRI_ANSWER_LEAST && answer->number == flight->number &&
                       (length == TNRI_ANSWER_LEAST) == (answer->status == TNR_OK);
    TNR_REQUIRE(whole, TNR_ERR_MPI, "%s: rank %d answers with %d bytes that are no answer", flight->op, flight->peer,
                length);
    if (answer->status != TNR_OK) {
        flight->answer.text[length - TNRI_ANSWER_LEAST - 1] = '\0';
        refused(flight, answer->text);
        return TNR_OK;
    }
    return accepted(flight, answer->message);
}

tnr_status tnri_send_step(tnri_flight *flight, bool *moved)
{
    if (flight->state == TNRI_FLIGHT_WAITING) {
        if (flight->lane != NULL && !flight->seen) {
            tnri_mail_post(flight, moved);
        }
        TNR_TRY(look_for_answer(flight, moved));
    }
    const bool guess = flight->state == TNRI_FLIGHT_WAITING && !flight->prepared;
    if (flight->path == TNR_PATH_SHARED && (guess || flight->state == TNRI_FLIGHT_MOVING)) {
        tnri_cargo_send_step(flight, moved);
        if (flight->state == TNRI_FLIGHT_MOVING && flight->cargo.freed == flight->cargo.count) {
            tnri_cargo_sent(flight);
            tnri_flight_finish(flight);
        }
    } else if (flight->state == TNRI_FLIGHT_MOVING) {
        TNR_TRY(tnri_messages_step(flight, moved));
        if (tnri_messages_over(flight)) {
            tnri_flight_finish(flight);
        }
    }
    return TNR_OK;
}
