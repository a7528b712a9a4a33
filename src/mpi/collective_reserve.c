/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of packed messages for collective calls. What a call needs at the least it takes before its ranks agree, so that a full home is
 * a refusal like any other, and never found out with the others waiting. A transfer takes its buffers when it starts; where the home has no
 * more it waits for an older one of the call, whose buffers it gets. Two are always to be had: a send and a receive at one time, with which every
 * call gets on (collective_traffic.c).
 *
 * Between ranks of a node no end takes any: it is slots there, and messages only where both ends do without buffers, since the receiver
 * chooses (flight_receive.c). Device memory counts as packed although MPI may get it: that turns out when it is exposed.
 */
#include "collective_internal.h"

static bool is_far(const tnr_world *world, int peer)
{
    return peer != world->rank && (world->near == NULL || world->peers[peer].near < 0);
}

/* Is a part of this view, of so many indices where it is cut, packed? `cut` as for tnri_course_reserve. */
static bool is_packed(const tnr_world *world, const tnr_view *view, char *data, int cut, int64_t count)
{
    tnr_view part = *view;
    tnri_stream stream;
    if (cut >= 0) {
        part.shape[cut] = count < view->shape[cut] ? count : view->shape[cut];
    }
    tnri_stream_of(&stream, &part, data);
    return stream.bytes != 0 && tnri_messages_path(world, &stream) == TNR_PATH_PACKED;
}

tnr_status tnri_course_reserve(tnri_course *course, const tnr_view *view, char *data, int cut)
{
    tnr_world *world = course->world;
    const bool far = world->size > (world->near != NULL ? world->node_size : 1);
    if (!far || cut == TNRI_CUT_STAYS || cut >= view->rank || course->reserves) {
        return TNR_OK;
    }
    const uint64_t bytes = tnri_view_bytes(view);
    const bool small = bytes <= world->options.eager_bytes && !tnri_is_away(view);
    const bool boxes = cut == TNRI_CUT_ANYHOW && view->rank > 0;
    if (small || (!boxes && !is_packed(world, view, data, cut, 1) && !is_packed(world, view, data, cut, 2) &&
                  !is_packed(world, view, data, cut, INT64_MAX))) {
        return TNR_OK;
    }
    while (course->reserved_count < TNRI_RESERVED) {
        TNR_TRY(tnri_pack_take(course->op, world, &course->reserved[course->reserved_count]));
        course->reserved_count++;
    }
    course->reserves = true;
    return TNR_OK;
}

void tnri_course_outfit(tnri_course *course, tnri_flight *flight, bool *full)
{
    tnri_messages *messages = &flight->messages;
    *full = false;
    if (!is_far(course->world, flight->peer)) {
        return;
    }
    flight->path = tnri_messages_path(course->world, &flight->stream);
    const bool small = flight->stream.bytes <= course->world->options.eager_bytes && flight->stream.away == NULL;
    if (small || flight->path != TNR_PATH_PACKED || tnri_messages_prepare(flight) == TNR_OK) {
        return;
    }
    for (int i = 0; i < TNRI_PACKS && course->reserved_count > 0; i++) {
        if (messages->packs[i] == NULL) {
            messages->packs[i] = course->reserved[--course->reserved_count];
        }
    }
    *full = messages->packs[TNRI_PACKS - 1] == NULL && course->begun != course->ended;
}

void tnri_course_regain(tnri_course *course, tnri_flight *flight)
{
    for (int i = 0; i < TNRI_PACKS && course->reserves && course->reserved_count < TNRI_RESERVED; i++) {
        if (flight->messages.packs[i] != NULL) {
            course->reserved[course->reserved_count++] = flight->messages.packs[i];
            flight->messages.packs[i] = NULL;
        }
    }
}

void tnri_course_unreserve(tnri_course *course)
{
    while (course->reserved_count > 0) {
        tnri_pack_give(course->world, course->reserved[--course->reserved_count]);
    }
}
