/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payload by MPI messages: cut into messages of equal size that both ends agreed on, a few of them in flight at one time, each end
 * in its own way:
 *
 *   dense                 MPI reads or writes the tensor itself; a device's only where MPI takes its memory (expose.c)
 *   runs from derived_run_bytes on   a derived datatype per message, one for all where each message is whole outer slices
 *   shorter runs, memory that is away, managed memory   packed into, or unpacked from, one of two buffers, while the other one travels
 *
 * Guarantees: never more than options.chunk_bytes (1 GiB) in one message, never more than two buffers of options.pack_bytes; MPI_BYTE at
 * the bottom, so the two ends may choose differently; each message's length is checked. Measured on Open MPI 4.1: packing all at once
 * is slower at every run length, and derived types win from 32 to 256 bytes of run on, depending on the transport.
 */
#include "flight_internal.h"

/* Bytes of one slice of the outermost axis. */
static uint64_t slice_bytes(const tnri_stream *stream)
{
    uint64_t slice = stream->element_bytes;
    for (int axis = 0; axis + 1 < stream->rank; axis++) {
        slice *= (uint64_t)stream->shape[axis];
    }
    return slice;
}

tnr_world_path tnri_messages_path(const tnr_world *world, const tnri_stream *stream)
{
    if (stream->away != NULL || stream->managed) {
        return TNR_PATH_PACKED;
    }
    if (stream->dense) {
        return TNR_PATH_DIRECT;
    }
    return stream->run_bytes > 1 && stream->run_bytes >= world->options.derived_run_bytes ? TNR_PATH_DERIVED
                                                                                          : TNR_PATH_PACKED;
}

uint64_t tnri_messages_propose(const tnri_flight *flight, uint64_t most)
{
    const tnri_stream *stream = &flight->stream;
    const uint64_t element = stream->element_bytes;
    switch (flight->path) {
    case TNR_PATH_DERIVED:
        return tnri_stream_message(stream, most);
    case TNR_PATH_PACKED:
        most = tnri_min_u64(most, flight->world->options.pack_bytes);
        break;
    default:
        break;
    }
    return tnri_max_u64(most - most % element, element);
}

tnr_status tnri_messages_prepare(tnri_flight *flight)
{
    for (int i = 0; flight->path == TNR_PATH_PACKED && i < TNRI_PACKS; i++) {
        if (flight->messages.packs[i] == NULL) {
            TNR_TRY(tnri_pack_take(flight->op, flight->world, &flight->messages.packs[i]));
        }
    }
    return TNR_OK;
}

static int data_tag(const tnri_flight *flight)
{
    return flight->prepared ? tnri_tag(TNRI_TAG_EXCHANGE, TNRI_TAG_EXCHANGES, flight->number)
                            : tnri_tag(TNRI_TAG_DATA, TNRI_TAG_NUMBERS, flight->number);
}

tnr_status tnri_messages_begin(tnri_flight *flight, uint64_t most)
{
    tnri_messages *messages = &flight->messages;
    const tnri_stream *stream = &flight->stream;
    const uint64_t limit = flight->path == TNR_PATH_PACKED
                               ? tnri_max_u64(flight->world->options.pack_bytes, stream->element_bytes)
                               : tnri_max_u64(flight->world->options.chunk_bytes, stream->element_bytes);
    TNR_REQUIRE(most >= 1 && most <= limit && most % stream->element_bytes == 0, TNR_ERR_MPI,
                "%s: rank %d wants messages of %llu bytes; at most %llu, and whole elements, expected", flight->op,
                flight->peer, TNRI_LLU(most), TNRI_LLU(limit));
    messages->most = most;
    messages->count = tnri_chunk_count(stream->bytes, most);
    tnri_messages_restart(flight);
    messages->tag = data_tag(flight);
    messages->at_once = flight->path == TNR_PATH_PACKED ? TNRI_PACKS : TNRI_MESSAGES_AT_ONCE;
    if (flight->path == TNR_PATH_DERIVED && messages->type == MPI_DATATYPE_NULL &&
        (messages->count > 1 || flight->prepared) && (most % slice_bytes(stream) == 0 || messages->count == 1)) {
        TNR_TRY(tnri_stream_type(flight->op, stream, 0, tnri_min_u64(most, stream->bytes), &messages->type));
    }
    return TNR_OK;
}

void tnri_messages_restart(tnri_flight *flight)
{
    flight->messages.begun = 0;
    flight->messages.ended = 0;
    flight->messages.notice = TNRI_LATE_NONE;
    flight->messages.verdict = flight->messages.judged ? TNRI_LATE_DUE : TNRI_LATE_NONE;
}

void tnri_messages_end(tnri_flight *flight)
{
    tnri_messages *messages = &flight->messages;
    if (messages->type != MPI_DATATYPE_NULL && tnri_mpi_running()) {
        tnri_stream_type_free(&messages->type);
    }
    for (int i = 0; i < TNRI_PACKS; i++) {
        tnri_pack_give(flight->world, messages->packs[i]);
        messages->packs[i] = NULL;
    }
}

/* Hand one message to MPI. */
static tnr_status post(tnri_flight *flight, void *data, int count, MPI_Datatype type, MPI_Request *request)
{
    const MPI_Comm comm = flight->world->comm;
    const int tag = flight->messages.tag;
    if (flight->kind == TNRI_SEND) {
        TNR_TRY(tnri_mpi(flight->op, "MPI_Isend", MPI_Isend(data, count, type, flight->peer, tag, comm, request)));
    } else {
        TNR_TRY(tnri_mpi(flight->op, "MPI_Irecv", MPI_Irecv(data, count, type, flight->peer, tag, comm, request)));
    }
    tnri_request_count();
    return TNR_OK;
}

static tnr_status begin_one(tnri_flight *flight)
{
    tnri_messages *messages = &flight->messages;
    const tnri_stream *stream = &flight->stream;
    MPI_Request *request = &messages->requests[messages->begun % TNRI_MESSAGES_AT_ONCE];
    uint64_t begin;
    uint64_t bytes;
    tnri_chunk(stream->bytes, messages->most, messages->begun, &begin, &bytes);
    if (flight->path == TNR_PATH_PACKED) {
        const tnri_pack *pack = messages->packs[messages->begun % TNRI_PACKS];
        char *buffer = pack != NULL ? pack->data : flight->text; /* it failed for want of one: nothing goes */
        if (flight->kind == TNRI_SEND && flight->failed == TNR_OK) {
            const tnr_status status = tnri_stream_pack(stream, begin, bytes, buffer);
            if (status != TNR_OK) {
                tnri_flight_fail(flight, status, messages->begun != 0);
            }
        }
        if (flight->kind == TNRI_SEND && flight->failed != TNR_OK) {
            messages->notice = TNRI_LATE_DUE;
            bytes = 0;
        }
        return post(flight, buffer, (int)bytes, MPI_BYTE, request);
    }
    if (flight->path != TNR_PATH_DERIVED) {
        char *all = flight->path == TNR_PATH_DEVICE ? flight->exposed : stream->data;
        return post(flight, all + begin, (int)bytes, MPI_BYTE, request);
    }
    char *data = tnri_stream_at(stream, begin);
    if (messages->type != MPI_DATATYPE_NULL && (bytes == messages->most || messages->count == 1)) {
        return post(flight, data, 1, messages->type, request);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TNR_TRY(tnri_stream_type(flight->op, stream, begin, bytes, &type));
    const tnr_status status = post(flight, data, 1, type, request);
    tnri_stream_type_free(&type); /* MPI keeps it as long as the message needs it */
    return status;
}

/* The sender's memory failed it here: an empty message, and its text at the end. Those that are on their way come, whatever is in them. */
static void hear_empty(tnri_flight *flight)
{
    tnri_messages *messages = &flight->messages;
    if (messages->notice == TNRI_LATE_NONE) {
        messages->notice = TNRI_LATE_DUE;
        flight->fatal = flight->fatal || messages->ended != 0;
    }
}

static void unpack(tnri_flight *flight, uint64_t begin, uint64_t bytes)
{
    const tnri_messages *messages = &flight->messages;
    if (flight->failed == TNR_OK && messages->notice == TNRI_LATE_NONE) {
        const tnr_status status =
            tnri_stream_unpack(&flight->stream, begin, bytes, messages->packs[messages->ended % TNRI_PACKS]->data);
        if (status != TNR_OK) {
            tnri_flight_fail(flight, status, true);
        }
    }
}

static tnr_status end_one(tnri_flight *flight, const MPI_Status *status)
{
    tnri_messages *messages = &flight->messages;
    uint64_t begin;
    uint64_t bytes;
    tnri_chunk(flight->stream.bytes, messages->most, messages->ended, &begin, &bytes);
    if (flight->kind != TNRI_SEND) {
        MPI_Count got = 0;
        TNR_TRY(tnri_mpi(flight->op, "MPI_Get_elements_x", MPI_Get_elements_x(status, MPI_BYTE, &got)));
        if (TNRI_UNLIKELY(got == 0)) {
            hear_empty(flight);
            messages->ended++;
            return TNR_OK;
        }
        TNR_REQUIRE(got >= 0 && (uint64_t)got == bytes, TNR_ERR_MPI,
                    "%s: message %llu of rank %d has %llu bytes, %llu expected", flight->op, TNRI_LLU(messages->ended),
                    flight->peer, TNRI_LLU(got), TNRI_LLU(bytes));
        if (flight->path == TNR_PATH_PACKED) {
            unpack(flight, begin, bytes);
        }
    }
    messages->ended++;
    return TNR_OK;
}

/* ---- After the payload, where memory was away ---------------------------------------------------------------------------------------- */

/* The sender's text goes, or comes, by the request that the header went by. */
static tnr_status notice_step(tnri_flight *flight, bool *moved)
{
    tnri_messages *messages = &flight->messages;
    const bool sends = flight->kind == TNRI_SEND;
    char *const text = sends ? flight->text : flight->answer.text;
    bool done = false;
    if (messages->notice == TNRI_LATE_DUE) {
        bool answered = true; /* whose room is needed */
        TNR_TRY(tnri_request_test(flight->op, &flight->header_request, MPI_STATUS_IGNORE, &done));
        if (!sends) {
            TNR_TRY(tnri_request_test(flight->op, &flight->answer_request, MPI_STATUS_IGNORE, &answered));
        }
        if (!done || !answered) {
            return TNR_OK;
        }
        TNR_TRY(post(flight, text, TNR_ERROR_TEXT_BYTES, MPI_BYTE, &flight->header_request));
        messages->notice = TNRI_LATE_POSTED;
        *moved = true;
    }
    TNR_TRY(tnri_request_test(flight->op, &flight->header_request, MPI_STATUS_IGNORE, &done));
    if (done) {
        messages->notice = TNRI_LATE_NONE;
        *moved = true;
        if (!sends) {
            text[TNR_ERROR_TEXT_BYTES - 1] = '\0';
            tnri_flight_hear(flight, text, false);
        }
    }
    return TNR_OK;
}

/* How it went at a receiver that is away: by the request that the answer went by. */
static tnr_status verdict_step(tnri_flight *flight, bool *moved)
{
    tnri_messages *messages = &flight->messages;
    tnri_answer *answer = &flight->answer;
    const bool sends = flight->kind == TNRI_SEND;
    const int tag = tnri_answer_tag(flight);
    const MPI_Comm comm = flight->world->comm;
    bool done = false;
    if (messages->verdict == TNRI_LATE_DUE) {
        TNR_TRY(tnri_request_test(flight->op, &flight->answer_request, MPI_STATUS_IGNORE, &done));
        if (!done) {
            return TNR_OK;
        }
        if (sends) {
            TNR_TRY(tnri_mpi(
                flight->op, "MPI_Irecv",
                MPI_Irecv(answer, (int)sizeof(*answer), MPI_BYTE, flight->peer, tag, comm, &flight->answer_request)));
        } else {
            answer->number = flight->number;
            answer->status = (uint32_t)flight->failed;
            answer->message = 0;
            memcpy(answer->text, flight->text, sizeof(answer->text));
            TNR_TRY(tnri_mpi(flight->op, "MPI_Isend",
                             MPI_Isend(answer, flight->failed == TNR_OK ? TNRI_ANSWER_LEAST : (int)sizeof(*answer),
                                       MPI_BYTE, flight->peer, tag, comm, &flight->answer_request)));
        }
        tnri_request_count();
        messages->verdict = TNRI_LATE_POSTED;
        *moved = true;
    }
    TNR_TRY(tnri_request_test(flight->op, &flight->answer_request, MPI_STATUS_IGNORE, &done));
    if (!done) {
        return TNR_OK;
    }
    messages->verdict = TNRI_LATE_NONE;
    *moved = true;
    if (sends) {
        TNR_REQUIRE(answer->number == flight->number, TNR_ERR_MPI, "%s: rank %d ends a transfer with another's answer",
                    flight->op, flight->peer);
        if (answer->status != TNR_OK && flight->failed == TNR_OK) {
            answer->text[sizeof(answer->text) - 1] = '\0';
            tnri_flight_hear(flight, answer->text, true);
        }
    }
    return TNR_OK;
}

static tnr_status late_step(tnri_flight *flight, bool *moved)
{
    if (flight->messages.notice != TNRI_LATE_NONE) {
        TNR_TRY(notice_step(flight, moved));
    }
    if (flight->messages.notice == TNRI_LATE_NONE && flight->messages.verdict != TNRI_LATE_NONE) {
        return verdict_step(flight, moved);
    }
    return TNR_OK;
}

/* ---- Steps ---------------------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_messages_step(tnri_flight *flight, bool *moved)
{
    tnri_messages *messages = &flight->messages;
    while (messages->begun < messages->count && messages->begun - messages->ended < (uint64_t)messages->at_once) {
        TNR_TRY(begin_one(flight));
        messages->begun++;
        *moved = true;
    }
    while (messages->ended < messages->begun) {
        MPI_Status status;
        bool done = false;
        TNR_TRY(tnri_request_test(flight->op, &messages->requests[messages->ended % TNRI_MESSAGES_AT_ONCE], &status,
                                  &done));
        if (!done) {
            break;
        }
        TNR_TRY(end_one(flight, &status));
        *moved = true;
    }
    const bool late = messages->notice != TNRI_LATE_NONE || messages->verdict != TNRI_LATE_NONE;
    return TNRI_UNLIKELY(late) && messages->ended == messages->count ? late_step(flight, moved) : TNR_OK;
}
