/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data of collective calls: flights on a channel of their own, of which each pair of ranks has the same ones in the same order, so
 * that headers meet without further agreement. A call has at most TNRI_AT_ONCE in flight, or as few as two where tickets hold the
 * rest; it waits for its oldest before it starts one more.
 *
 * Why that cannot lock: every call numbers its transfers in one order that all ranks follow, and a rank waits only for transfers with
 * smaller numbers than the one that it starts; the smallest unfinished one has both its ends under way.
 */
#include "collective_internal.h"

void tnri_part_of(const tnr_view *view, char *data, int axis, int64_t start, int64_t count, tnr_view *part,
                  char **part_data)
{
    *part = *view;
    *part_data = data != NULL ? data + start * view->strides[axis] * (int64_t)tnr_dtype_size(view->dtype) : NULL;
    part->shape[axis] = count;
}

static bool is_empty(const tnr_view *view)
{
    for (int axis = 0; axis < view->rank; axis++) {
        if (view->shape[axis] == 0) {
            return true;
        }
    }
    return false;
}

/* ---- Flights ---------------------------------------------------------------------------------------------------------------------- */

static tnr_status end_oldest(tnri_course *course)
{
    tnri_flight *flight = course->flights[course->ended % TNRI_AT_ONCE];
    TNR_TRY(tnri_flight_wait(flight));
    course->ended++;
    if (flight->kind == TNRI_SEND && tnri_flight_packed(flight)) {
        course->packed += flight->stream.bytes;
    }
    tnri_course_regain(course, flight);
    const tnr_status status = tnri_flight_settle(flight);
    if (TNRI_UNLIKELY(status != TNR_OK) && course->votes_again && course->world->poison == TNR_OK) {
        tnri_course_fail(course, status); /* both ends know: all goes on, and all vote at the end */
        return TNR_OK;
    }
    return tnri_world_poison(course->world, status);
}

tnr_status tnri_course_wait(tnri_course *course, uint64_t upto)
{
    while (course->ended < upto) {
        TNR_TRY(end_oldest(course));
    }
    return TNR_OK;
}

static tnr_status start(tnri_course *course, tnri_flight_kind kind, const tnr_view *view, char *data, int peer)
{
    tnr_world *world = course->world;
    if (is_empty(view)) {
        return TNR_OK;
    }
    while (course->begun - course->ended == TNRI_AT_ONCE ||
           (world->free_flights == NULL && course->begun != course->ended)) {
        TNR_TRY(end_oldest(course));
    }
    tnri_flight *flight = NULL;
    tnr_status status = tnri_flight_take(course->op, world, kind, peer, TNRI_CHANNEL_COLLECTIVE, &flight);
    if (status != TNR_OK) {
        return tnri_world_poison(world, status);
    }
    flight->piece = true;
    flight->joint = true;
    tnri_stream_of(&flight->stream, view, data);
    for (bool full = true; full;) {
        tnri_course_outfit(course, flight, &full);
        status = full ? end_oldest(course) : TNR_OK;
        if (status != TNR_OK) {
            return tnri_flight_drop(flight, status);
        }
    }
    status = tnri_flight_adopt(flight, view, data);
    if (status != TNR_OK) { /* the others wait for it by now */
        (void)tnri_world_poison(world, status);
        return tnri_flight_settle(flight);
    }
    course->flights[course->begun % TNRI_AT_ONCE] = flight;
    course->begun++;
    return TNR_OK;
}

tnr_status tnri_course_send(tnri_course *course, const tnr_view *view, char *data, int to)
{
    return start(course, TNRI_SEND, view, data, to);
}

tnr_status tnri_course_receive(tnri_course *course, const tnr_view *view, char *data, int from)
{
    return start(course, TNRI_RECEIVE, view, data, from);
}

static void copy_away(tnri_course *course, const tnr_view *from, const char *from_data, const tnr_view *to,
                      char *to_data)
{
    tnri_stream source;
    tnri_stream target;
    bool moved = false;
    tnri_stream_of(&source, from, (char *)(uintptr_t)from_data);
    tnri_stream_of(&target, to, to_data);
    const tnr_status status =
        tnri_stream_copy(&source, &target, course->pack->data, course->world->options.pack_bytes, &moved);
    if (status != TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        tnri_course_fail(course, tnri_fail(status, "%s: %s", course->op, text));
    }
}

void tnri_course_copy(tnri_course *course, const tnr_view *from, const char *from_data, const tnr_view *to,
                      char *to_data)
{
    if (is_empty(from) || (to_data == from_data && to->root == from->root)) {
        return;
    }
    uint64_t bytes = tnr_dtype_size(from->dtype);
    for (int axis = 0; axis < from->rank; axis++) {
        bytes *= (uint64_t)from->shape[axis];
    }
    if (TNRI_UNLIKELY(course->pack != NULL) && (tnri_is_away(from) || tnri_is_away(to))) {
        copy_away(course, from, from_data, to, to_data);
    } else {
        tnr_provider.copy_elements(tnr_dtype_size(from->dtype), from->rank, from->shape, to_data, to->strides,
                                   from_data, from->strides);
    }
    course->world->sends[TNR_PATH_SELF]++;
    course->world->sent_bytes[TNR_PATH_SELF] += bytes;
}

/* ---- Slabs ------------------------------------------------------------------------------------------------------------------------ */

/* A layout of any shape in pieces of at most `most` elements (at least 1): whole slices, the last axis slowest; as all ranks cut it. */
typedef struct slabs {
    const tnr_view *view;
    char *data;
    int axis; /* cut along this one; those below are whole, one index at a time of those above */
    int64_t step;
    int64_t index[TNR_MAX_RANK];
    bool over;
} slabs;

static void slabs_start(slabs *of, const tnr_view *view, char *data, int64_t most)
{
    of->view = view;
    of->data = data;
    of->over = is_empty(view);
    of->axis = 0;
    of->step = 1;
    int64_t inner = 1;
    for (int axis = 0; axis < view->rank && !of->over; axis++) {
        of->index[axis] = 0;
        if (axis == of->axis && inner <= most / view->shape[axis]) {
            inner *= view->shape[axis];
            of->step = view->shape[axis];
            of->axis += axis + 1 < view->rank ? 1 : 0;
        } else if (axis == of->axis) {
            of->step = most / inner > 1 ? most / inner : 1;
            inner = most;
        }
    }
}

static bool slabs_next(slabs *of, tnr_view *slab, char **slab_data)
{
    const tnr_view *view = of->view;
    if (of->over) {
        return false;
    }
    int64_t offset = 0;
    *slab = *view;
    for (int axis = of->axis; axis < view->rank; axis++) {
        const int64_t left = view->shape[axis] - of->index[axis];
        const int64_t step = axis == of->axis ? of->step : 1;
        slab->shape[axis] = left < step ? left : step;
        offset += of->index[axis] * view->strides[axis];
    }
    *slab_data = of->data != NULL ? of->data + offset * (int64_t)tnr_dtype_size(view->dtype) : NULL;
    of->over = true;
    for (int axis = of->axis; axis < view->rank && of->over; axis++) {
        of->index[axis] += slab->shape[axis];
        of->over = of->index[axis] == view->shape[axis];
        of->index[axis] = of->over ? 0 : of->index[axis];
    }
    return true;
}

/* ---- One to all -------------------------------------------------------------------------------------------------------------------- */

/* Most of one piece: large enough that its header does not matter, small enough that ranks of a chain are at work together. */
enum { PIECE_BYTES = 1 << 20 };

/*
 * A binomial tree over ranks counted from root, piece by piece: while a piece goes down to a rank's children the next one comes in.
 */
tnr_status tnri_course_spread(tnri_course *course, int root, const tnr_view *source, char *source_data, bool root_too)
{
    const tnr_world *world = course->world;
    const int size = world->size;
    const int me = (world->rank - root + size) % size;
    const int64_t element = (int64_t)tnr_dtype_size(me == 0 ? source->dtype : course->take.dtype);
    int top = 1; /* this rank's parent is `top` below it; root: beyond all */
    while (top < size && (me & top) == 0) {
        top <<= 1;
    }
    slabs cut;
    tnr_view slab;
    tnr_view next = course->take;
    char *data = NULL;
    char *next_data = NULL;
    const int parent = (me - top + root + size) % size;
    uint64_t arrived = 0;
    slabs_start(&cut, me == 0 ? source : &course->take, me == 0 ? source_data : course->take_data,
                PIECE_BYTES / element);
    bool more = slabs_next(&cut, &next, &next_data);
    if (more && me != 0) {
        TNR_TRY(tnri_course_receive(course, &next, next_data, parent));
        arrived = course->begun;
    }
    while (more) {
        const uint64_t awaited = arrived;
        slab = next;
        data = next_data;
        more = slabs_next(&cut, &next, &next_data);
        if (more && me != 0) {
            TNR_TRY(tnri_course_receive(course, &next, next_data, parent));
            arrived = course->begun;
        }
        TNR_TRY(tnri_course_wait(course, awaited));
        for (int below = top >> 1; below > 0; below >>= 1) {
            if (me + below < size) {
                TNR_TRY(tnri_course_send(course, &slab, data, (me + below + root) % size));
            }
        }
    }
    if (me == 0 && root_too) {
        tnri_course_copy(course, source, source_data, &course->take, course->take_data);
    }
    return tnri_course_wait(course, course->begun);
}
