/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank to itself: the oldest send and the oldest receive on one channel find each other, and the elements are copied here and now. No MPI.
 */
#include <stdio.h>

#include "flight_internal.h"

void tnri_shape_text(const int64_t *shape, int rank, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int axis = 0; axis <= rank && used < bytes; axis++) {
        int written = 0;
        if (axis == rank) {
            written = snprintf(text + used, bytes - used, rank == 0 ? "[]" : "]");
        } else {
            written = snprintf(text + used, bytes - used, "%s%lld", axis == 0 ? "[" : ", ", (long long)shape[axis]);
        }
        used += written > 0 ? (size_t)written : 0;
    }
}

static tnri_flight *partner(const tnri_flight *flight)
{
    const bool sends = flight->kind == TNRI_SEND;
    for (tnri_flight *at = flight->world->flights; at != NULL; at = at->next) {
        if (at->peer == flight->peer && at->channel == flight->channel && at->state == TNRI_FLIGHT_WAITING &&
            at->prepared == flight->prepared && (at->kind == TNRI_SEND) != sends) {
            return at;
        }
    }
    return NULL;
}

/* For copies out of or into memory that is away. */
static tnr_status room_between(tnri_flight *send, const tnri_flight *receive)
{
    const bool away = send->stream.away != NULL || receive->stream.away != NULL;
    return away ? tnri_pack_take(receive->op, send->world, &send->messages.packs[0]) : TNR_OK;
}

static tnr_status make_room(tnri_flight *send, tnri_flight *receive)
{
    const tnr_view *from = &send->view;
    if (receive->kind == TNRI_RECEIVE) {
        TNR_TRY(tnri_match(receive, from->dtype, from->rank, from->shape));
        return room_between(send, receive);
    }
    const uint64_t most = receive->world->options.receive_max_bytes;
    TNR_REQUIRE(most == 0 || send->stream.bytes <= most, TNR_ERR_MEMORY,
                "%s: rank %d sends %llu bytes; options.receive_max_bytes is %llu", receive->op, receive->peer,
                TNRI_LLU(send->stream.bytes), TNRI_LLU(most));
    TNR_TRY(tnr_provider.output_begin_away(receive->op, receive->domain, from->dtype, from->rank, from->shape,
                                           TNR_ALLOCATION_COPY, &receive->output));
    receive->drafted = true;
    tnri_stream_of(&receive->stream, &receive->output.view, receive->output.data);
    return room_between(send, receive);
}

/* Through a buffer: what fails, fails both. */
static void copy_away(tnri_flight *send, tnri_flight *receive)
{
    bool moved = false;
    const tnr_status status = tnri_stream_copy(&send->stream, &receive->stream, send->messages.packs[0]->data,
                                               send->world->options.pack_bytes, &moved);
    if (status != TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        tnri_flight_fail(send, status, moved);
        tnri_flight_fail(receive, tnri_fail(status, "%s", text), moved);
    }
}

/* Both views have one shape. */
void tnri_self_copy(tnri_flight *send, tnri_flight *receive)
{
    if (send->messages.packs[0] != NULL) {
        copy_away(send, receive);
        return;
    }
    const tnr_view *from = &send->view;
    const tnr_view *to = receive->drafted ? &receive->output.view : &receive->view;
    if (send->stream.bytes != 0) {
        tnr_provider.copy_elements(send->stream.element_bytes, from->rank, from->shape, receive->stream.data,
                                   to->strides, send->stream.data, from->strides);
    }
}

/* A flight of the world's list that is WAITING: its partner, if there is one, is in the list too. */
void tnri_self_step(tnri_flight *flight, bool *moved)
{
    tnri_flight *other = partner(flight);
    if (other == NULL) {
        return;
    }
    *moved = true;
    tnri_flight *first = partner(other); /* of flight's kind, and not begun after it */
    tnri_flight *send = flight->kind == TNRI_SEND ? first : other;
    tnri_flight *receive = flight->kind == TNRI_SEND ? other : first;
    const tnr_status status = make_room(send, receive);
    if (status != TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        tnri_flight_close(receive, status);
        tnri_flight_close(send, tnri_fail(TNR_ERR_PEER, "%s: rank %d refused: %s", send->op, send->peer,
                                          tnri_text_after(send->op, text)));
        return;
    }
    if (send->prepared) {
        send->partner = receive;
        receive->partner = send;
        send->state = TNRI_FLIGHT_READY;
        receive->state = TNRI_FLIGHT_READY;
        return;
    }
    tnri_self_copy(send, receive);
    send->world->sends[TNR_PATH_SELF]++;
    send->world->sent_bytes[TNR_PATH_SELF] += send->stream.bytes;
    tnri_flight_finish(send);
    tnri_flight_finish(receive);
}
