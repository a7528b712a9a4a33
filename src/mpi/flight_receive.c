/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving end of a transfer: its header is matched by sender and channel, in order, by MPI or in the node's shared memory; it is decoded and compared, a new tensor
 * is made where one was asked for, and the answer goes back before anything is written; but for a small payload that came with its
 * header into memory that is away: writing that may fail, and the answer tells.
 *
 * Guarantees: nothing is allocated for a header that is malformed or over the cap; a transfer that is refused leaves nothing
 * here, and its sender hears the same text. A header that cannot be decoded ends the world: what its sender waits for is not known.
 */
#include "flight_internal.h"

tnr_status tnri_receive_begin(tnri_flight *flight)
{
    tnr_world *world = flight->world;
    tnri_flight_add(flight);
    if (flight->peer == world->rank) {
        flight->path = TNR_PATH_SELF;
        return TNR_OK;
    }
    if (world->near != NULL && world->peers[flight->peer].near >= 0) {
        return tnri_world_poison(world, tnri_mail_kept(flight));
    }
    const int tag = tnri_header_tag(flight);
    const uint64_t room = TNRI_WIRE_MOST_BYTES + world->options.eager_bytes;
    const tnr_status status =
        tnri_mpi(flight->op, "MPI_Irecv",
                 MPI_Irecv(flight->wire, (int)room, MPI_BYTE, flight->peer, tag, world->comm, &flight->header_request));
    if (status != TNR_OK) {
        return tnri_world_poison(world, status);
    }
    tnri_request_count();
    return TNR_OK;
}

/* ---- Does it fit? ---------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_match(const tnri_flight *flight, tnr_dtype dtype, int rank, const int64_t *shape)
{
    const tnr_view *view = &flight->view;
    TNR_REQUIRE(dtype == view->dtype, TNR_ERR_DTYPE, "%s: rank %d sends %s, the view has %s", flight->op, flight->peer,
                tnr_dtype_name(dtype), tnr_dtype_name(view->dtype));
    bool same = rank == view->rank;
    for (int axis = 0; same && axis < rank; axis++) {
        same = shape[axis] == view->shape[axis];
    }
    if (!same) {
        char theirs[120];
        char ours[120];
        tnri_shape_text(shape, rank, theirs, sizeof(theirs));
        tnri_shape_text(view->shape, view->rank, ours, sizeof(ours));
        return tnri_fail(TNR_ERR_SHAPE, "%s: rank %d sends %s, the view has %s", flight->op, flight->peer, theirs,
                         ours);
    }
    return TNR_OK;
}

/* Room for what comes: the view's, or a draft. */
static tnr_status make_room(tnri_flight *flight, const tnri_header *header)
{
    if (flight->kind == TNRI_RECEIVE) {
        return tnri_match(flight, (tnr_dtype)header->dtype, (int)header->rank, header->shape);
    }
    const uint64_t most = flight->world->options.receive_max_bytes;
    TNR_REQUIRE(most == 0 || header->bytes <= most, TNR_ERR_MEMORY,
                "%s: rank %d sends %llu bytes; options.receive_max_bytes is %llu", flight->op, flight->peer,
                TNRI_LLU(header->bytes), TNRI_LLU(most));
    TNR_TRY(tnr_provider.output_begin_away(flight->op, flight->domain, (tnr_dtype)header->dtype, (int)header->rank,
                                           header->shape, TNR_ALLOCATION_COPY, &flight->output));
    flight->drafted = true;
    tnri_stream_of(&flight->stream, &flight->output.view, flight->output.data);
    return TNR_OK;
}

/* ---- The answer -------------------------------------------------------------------------------------------------------------------- */

static tnr_status answer(tnri_flight *flight, tnr_status status, uint64_t message)
{
    if (flight->lane != NULL) {
        flight->lane->status = (uint32_t)status;
        flight->lane->message = message;
        if (status != TNR_OK) {
            const char *text = tnr_last_error();
            memcpy(flight->lane->text, text, strlen(text) + 1);
        }
        atomic_store_explicit(&flight->lane->answered, flight->number, memory_order_release);
        return TNR_OK;
    }
    int length = TNRI_ANSWER_LEAST;
    flight->answer.number = flight->number;
    flight->answer.status = (uint32_t)status;
    flight->answer.message = message;
    if (status != TNR_OK) {
        const char *text = tnr_last_error();
        const size_t bytes = strlen(text) + 1;
        memcpy(flight->answer.text, text, bytes);
        length += (int)bytes;
    }
    const int tag = tnri_answer_tag(flight);
    TNR_TRY(tnri_mpi(
        flight->op, "MPI_Isend",
        MPI_Isend(&flight->answer, length, MPI_BYTE, flight->peer, tag, flight->world->comm, &flight->answer_request)));
    tnri_request_count();
    return TNR_OK;
}

/* What a domain answers is this call's. */
static tnr_status told(const tnri_flight *flight, tnr_status status)
{
    if (status != TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        return tnri_fail(status, "%s: %s", flight->op, text);
    }
    return TNR_OK;
}

/* An eager payload into memory that is away: a failure is the answer. */
static tnr_status write_away(const tnri_flight *flight, const void *payload)
{
    return told(flight, tnri_stream_unpack(&flight->stream, 0, flight->stream.bytes, payload));
}

/*
 * Through slots where the sender says so. Else by messages; but a rank of this node, which sends that way because MPI takes its device's
 * memory, is asked for slots where this end would need buffers: nobody reserves those for ranks of the node.
 */
static tnr_status choose_path(tnri_flight *flight, bool shared)
{
    bool direct = false;
    if (!shared) {
        TNR_TRY(told(flight, tnri_flight_go_direct(flight, &direct)));
        flight->path = direct ? TNR_PATH_DEVICE : tnri_messages_path(flight->world, &flight->stream);
        shared = flight->lane != NULL && flight->path != TNR_PATH_DEVICE && flight->path != TNR_PATH_DIRECT;
    }
    flight->path = shared ? TNR_PATH_SHARED : flight->path;
    return TNR_OK;
}

/* Everything that has to be had before the answer is yes. `payload`: what came with an eager header. */
static tnr_status arrange(tnri_flight *flight, const tnri_header *header, const void *payload, bool eager,
                          uint64_t *message)
{
    TNR_REQUIRE(flight->failed == TNR_OK, flight->failed, "%s", flight->text); /* before it began */
    TNR_TRY(make_room(flight, header));
    *message = header->chunk;
    if (eager) {
        return flight->stream.away != NULL ? write_away(flight, payload) : TNR_OK;
    }
    TNR_TRY(choose_path(flight, (header->flags & TNRI_WIRE_SHARED) != 0));
    if (flight->path == TNR_PATH_SHARED) {
        *message = TNRI_ANSWER_SLOTS;
        tnri_cargo_choose(flight);
        return TNR_OK;
    }
    flight->messages.judged = flight->stream.away != NULL && flight->path != TNR_PATH_DEVICE;
    *message = tnri_messages_propose(flight, header->chunk);
    return tnri_messages_prepare(flight);
}

/* Numbers of a pair go up; several channels, and receives that come late, change the order in which they are met. */
static tnr_status check_number(tnri_flight *flight, uint32_t number)
{
    tnri_peer *peer = &flight->world->peers[flight->peer];
    const int32_t ahead = (int32_t)(number - peer->received);
    TNR_REQUIRE(number != 0, TNR_ERR_MPI, "%s: rank %d sends a transfer without a number", flight->op, flight->peer);
    if (ahead > 0) {
        peer->received = number;
    }
    flight->number = number;
    return TNR_OK;
}

/* A header in flight->wire, of `length` bytes with what is behind it; *head of its own. */
static tnr_status read_header(tnri_flight *flight, int length, tnri_header *header, uint64_t *head)
{
    const tnr_world *world = flight->world;
    const tnri_wire_limits limits = {world->epoch, (uint32_t)flight->peer, (uint32_t)flight->channel, UINT64_MAX};
    const uint64_t bytes = (uint64_t)(length > 0 ? length : 0);
    const int near = world->near != NULL ? world->peers[flight->peer].near : -1;
    if (near < 0) {
        TNR_TRY(tnri_wire_decode(flight->op, flight->wire, bytes, &limits, header));
        *head = TNRI_WIRE_BYTES(header->rank);
        TNR_REQUIRE((header->flags & TNRI_WIRE_SHARED) == 0, TNR_ERR_MPI, "%s: rank %d speaks of shared memory",
                    flight->op, flight->peer);
        return TNR_OK;
    }
    memcpy(header, flight->wire, sizeof(*header)); /* wire has room for more, whatever of it came */
    *head = tnri_mail_head(header->rank);
    TNR_REQUIRE(header->rank <= TNR_MAX_RANK && bytes >= *head, TNR_ERR_MPI,
                "%s: rank %d posts %d bytes that are no header", flight->op, flight->peer, length);
    TNR_TRY(tnri_wire_check(flight->op, header, bytes - *head, &limits));
    TNR_REQUIRE(header->ack < world->near->lanes, TNR_ERR_MPI, "%s: rank %d posts a header of lane %llu, which is none",
                flight->op, flight->peer, TNRI_LLU(header->ack));
    flight->lane = tnri_near_lane(world, near, header->ack);
    return TNR_OK;
}

tnr_status tnri_receive_header(tnri_flight *flight, int length)
{
    tnri_header header;
    uint64_t head = 0;
    TNR_TRY(read_header(flight, length, &header, &head));
    TNR_TRY(check_number(flight, header.number));
    const bool eager = (header.flags & TNRI_WIRE_EAGER) != 0;
    TNR_REQUIRE(!eager || !flight->prepared, TNR_ERR_MPI, "%s: rank %d prepares nothing", flight->op, flight->peer);
    flight->seen = true;
    if (flight->lane != NULL && !eager) {
        const bool shared = (header.flags & TNRI_WIRE_SHARED) != 0;
        TNR_TRY(tnri_cargo_begin_receive(flight, header.bytes, shared ? header.chunk : flight->lane->piece));
    }
    uint64_t message = 0;
    const tnr_status arranged = arrange(flight, &header, flight->wire + head, eager, &message);
    TNR_TRY(answer(flight, arranged, flight->messages.judged ? message | TNRI_ANSWER_VERDICT : message));
    if (arranged != TNR_OK) {
        tnri_flight_close(flight, arranged);
        return TNR_OK;
    }
    if (eager) {
        flight->path = TNR_PATH_EAGER;
        if (flight->stream.away == NULL) {
            (void)tnri_stream_unpack(&flight->stream, 0, header.bytes, flight->wire + head);
        }
        tnri_flight_close(flight, TNR_OK);
        return TNR_OK;
    }
    flight->state = flight->prepared ? TNRI_FLIGHT_READY : TNRI_FLIGHT_MOVING;
    return flight->path == TNR_PATH_SHARED ? TNR_OK : tnri_messages_begin(flight, message);
}

static tnr_status look_for_header(tnri_flight *flight, bool *moved)
{
    if (flight->header_request == MPI_REQUEST_NULL) {
        return tnri_mail_collect(flight->world, flight->peer, moved);
    }
    MPI_Status status;
    bool done = false;
    TNR_TRY(tnri_request_test(flight->op, &flight->header_request, &status, &done));
    if (!done) {
        return TNR_OK;
    }
    *moved = true;
    int length = 0;
    TNR_TRY(tnri_mpi(flight->op, "MPI_Get_count", MPI_Get_count(&status, MPI_BYTE, &length)));
    return tnri_receive_header(flight, length);
}

tnr_status tnri_receive_step(tnri_flight *flight, bool *moved)
{
    if (flight->state == TNRI_FLIGHT_WAITING) {
        TNR_TRY(look_for_header(flight, moved));
    }
    if (flight->state != TNRI_FLIGHT_MOVING) {
        return TNR_OK;
    }
    bool over = false;
    if (flight->path == TNR_PATH_SHARED) {
        TNR_TRY(tnri_cargo_receive_step(flight, moved));
        over = flight->cargo.moved == flight->cargo.count;
    } else {
        TNR_TRY(tnri_messages_step(flight, moved));
        over = tnri_messages_over(flight);
    }
    if (over) {
        tnri_flight_finish(flight);
    }
    return TNR_OK;
}
