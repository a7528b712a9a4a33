/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From one distribution to another. What two parts have in common is enumerated as boxes (distribution.c), in the same order at both
 * ends; each box is one transfer between the two views as they lie, so nothing is packed as a whole and nothing is planned ahead.
 *
 * Memory: none of its own. At most TNRI_AT_ONCE transfers are under way per rank, each with at most two buffers of options.pack_bytes.
 */
#include <stdio.h>

#include "collective_internal.h"
#include "distribution_internal.h"

typedef struct change {
    const tnr_distribution *from;
    const tnr_distribution *to;
    tnri_axis_part mine_from[TNR_MAX_RANK]; /* this rank's parts */
    tnri_axis_part mine_to[TNR_MAX_RANK];
    bool gives;
    bool takes;
} change;

/* ---- Checks ------------------------------------------------------------------------------------------------------------------------ */

static int64_t part_count(int rank, const tnri_axis_part *parts)
{
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++) {
        count *= tnri_axis_part_count(&parts[axis]);
    }
    return count;
}

/* *view stays, or is NULL where there is nothing to look at. */
static tnr_status check_view(const char *op, const char *which, int rank, const tnri_axis_part *parts, bool holds,
                             const tnr_view **view)
{
    const bool none = !holds || part_count(rank, parts) == 0;
    if (*view == NULL) {
        TNR_REQUIRE(none, TNR_ERR_ARGUMENT, "%s: %s is NULL", op, which);
        return TNR_OK;
    }
    int64_t shape[TNR_MAX_RANK];
    char theirs[120];
    char ours[120];
    const tnr_view *given = *view;
    if (!holds) {
        int64_t count = 0;
        TNR_TRY(tnr_view_count(given, &count));
        TNR_REQUIRE(count == 0, TNR_ERR_SHAPE, "%s: %s has %lld elements, and this rank no part", op, which,
                    TNRI_LL(count));
        *view = NULL;
        return TNR_OK;
    }
    bool same = given->rank == rank;
    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = tnri_axis_part_count(&parts[axis]);
        same = same && given->shape[axis] == shape[axis];
    }
    if (!same) {
        tnri_shape_text(given->shape, given->rank, theirs, sizeof(theirs));
        tnri_shape_text(shape, rank, ours, sizeof(ours));
        return tnri_fail(TNR_ERR_SHAPE, "%s: %s has %s, this rank's part %s", op, which, theirs, ours);
    }
    return TNR_OK;
}

static tnr_status check_change(const tnri_course *course, change *of)
{
    const char *op = course->op;
    TNR_TRY(tnri_distribution_check(op, of->from, course->world->size));
    TNR_TRY(tnri_distribution_check(op, of->to, course->world->size));
    TNR_REQUIRE(of->from->rank == of->to->rank, TNR_ERR_SHAPE, "%s: distributions of rank %d and %d", op,
                of->from->rank, of->to->rank);
    for (int axis = 0; axis < of->from->rank; axis++) {
        TNR_REQUIRE(of->from->shape[axis] == of->to->shape[axis], TNR_ERR_SHAPE,
                    "%s: axis %d has %lld elements in one distribution and %lld in the other", op, axis,
                    TNRI_LL(of->from->shape[axis]), TNRI_LL(of->to->shape[axis]));
    }
    of->gives = tnri_distribution_find(of->from, course->world->rank, of->mine_from);
    of->takes = tnri_distribution_find(of->to, course->world->rank, of->mine_to);
    return TNR_OK;
}

static tnr_status arguments(tnri_course *course, change *of, const tnr_view *source, const tnr_view_mut *target,
                            bool makes, tnr_domain *domain, tnr_tensor **out)
{
    course->give_cut = TNRI_CUT_ANYHOW;
    course->take_cut = TNRI_CUT_ANYHOW;
    TNR_TRY(check_change(course, of));
    const int rank = of->from->rank;
    const tnr_view *give = source;
    const tnr_view *take = target != NULL ? &target->view : NULL;
    course->words.hash = tnri_distribution_hash(of->to, tnri_distribution_hash(of->from, 1));
    TNR_TRY(check_view(course->op, "source", rank, of->mine_from, of->gives, &give));
    if (!makes) {
        TNR_TRY(check_view(course->op, "target", rank, of->mine_to, of->takes, &take));
    } else if (of->takes) {
        TNR_TRY(tnri_course_makes(course, domain, out));
    }
    return tnri_course_lease(course, give, take, TNRI_APART);
}

/* One dtype everywhere: that of the first rank that shows one. */
static tnr_status find_dtype(const tnri_course *course, uint64_t *dtype)
{
    const tnri_side *first = NULL;
    bool made = false;
    for (int rank = 0; rank < course->world->size; rank++) {
        const tnri_words *words = &course->all[rank];
        const tnri_side *sides[] = {&words->give, &words->take};
        made = made || words->makes != 0;
        for (int side = 0; side < 2; side++) {
            if (sides[side]->there == 0) {
                continue;
            }
            first = first != NULL ? first : sides[side];
            TNR_TRY(tnri_course_expect(course, rank, sides[side], side == 0 ? "the source has" : "the target has",
                                       first->dtype, sides[side]->rank, sides[side]->shape));
        }
    }
    TNR_REQUIRE(first != NULL || !made, TNR_ERR_ARGUMENT, "%s: no rank shows a source, so there is no dtype",
                course->op);
    *dtype = first != NULL ? first->dtype : 0;
    return TNR_OK;
}

/* ---- Data ---------------------------------------------------------------------------------------------------------------------------- */

/*
 * The order in which elements go from one rank to another, as both know it: the giver's nearest ones, then the taker's, so that a piece
 * has whole lines of memory at both ends, then the rest as the giver has it.
 */
static void find_order(const tnri_course *course, int giver, int taker, uint8_t *order)
{
    const tnri_side *give = &course->all[giver].give;
    const tnri_side *take = &course->all[taker].take;
    const uint8_t nearest = take->there != 0 ? take->order[0] : 0;
    int at = 1;
    memcpy(order, give->order, sizeof(give->order)); /* of one that gives nothing: zeros, which nobody looks at */
    for (int axis = 1; axis < give->rank; axis++) {
        if (give->order[axis] == nearest) {
            order[at++] = nearest;
        }
    }
    for (int axis = 1; axis < give->rank; axis++) {
        if (give->order[axis] != nearest) {
            order[at++] = give->order[axis];
        }
    }
}

static void box_of(const tnri_meeting *meeting, bool to, const uint8_t *order, const tnr_view *view, char *data,
                   tnr_view *box, char **box_data)
{
    int64_t offset = 0;
    *box = *view;
    box->rank = tnri_meeting_layout(meeting, to, order, view->strides, &offset, box->shape, box->strides);
    *box_data = data + offset * (int64_t)tnr_dtype_size(view->dtype);
}

static void copy_own(tnri_course *course, const change *of)
{
    tnri_meeting meeting;
    uint8_t order[TNR_MAX_RANK];
    find_order(course, course->world->rank, course->world->rank, order);
    tnri_meeting_start(&meeting, of->from->rank, of->mine_from, of->mine_to);
    while (tnri_meeting_next(&meeting)) {
        tnr_view from;
        tnr_view to;
        char *from_data = NULL;
        char *to_data = NULL;
        box_of(&meeting, false, order, &course->give, course->give_data, &from, &from_data);
        box_of(&meeting, true, order, &course->take, course->take_data, &to, &to_data);
        tnri_course_copy(course, &from, from_data, &to, to_data);
    }
}

/* Boxes to one rank and from another, by turns, so that both ends come to box n at about the same time. */
static tnr_status move_step(tnri_course *course, const change *of, int to, int from)
{
    const int rank = of->from->rank;
    tnri_axis_part parts[TNR_MAX_RANK];
    tnri_meeting sends;
    tnri_meeting receives;
    uint8_t send_order[TNR_MAX_RANK];
    uint8_t receive_order[TNR_MAX_RANK];
    find_order(course, course->world->rank, to, send_order);
    find_order(course, from, course->world->rank, receive_order);
    bool sending = of->gives && tnri_distribution_find(of->to, to, parts);
    if (sending) {
        tnri_meeting_start(&sends, rank, of->mine_from, parts);
    }
    bool receiving = of->takes && tnri_distribution_find(of->from, from, parts);
    if (receiving) {
        tnri_meeting_start(&receives, rank, parts, of->mine_to);
    }
    while (sending || receiving) {
        tnr_view box;
        char *data = NULL;
        receiving = receiving && tnri_meeting_next(&receives);
        if (receiving) {
            box_of(&receives, true, receive_order, &course->take, course->take_data, &box, &data);
            TNR_TRY(tnri_course_receive(course, &box, data, from));
        }
        sending = sending && tnri_meeting_next(&sends);
        if (sending) {
            box_of(&sends, false, send_order, &course->give, course->give_data, &box, &data);
            TNR_TRY(tnri_course_send(course, &box, data, to));
        }
    }
    return TNR_OK;
}

static tnr_status run(tnri_course *course, const change *of, tnr_status status)
{
    const tnr_world *world = course->world;
    uint64_t dtype = 0;
    int64_t shape[TNR_MAX_RANK];
    TNR_TRY(tnri_course_tell(course, status));
    TNR_TRY(find_dtype(course, &dtype));
    for (int axis = 0; axis < of->to->rank && of->takes; axis++) {
        shape[axis] = tnri_axis_part_count(&of->mine_to[axis]);
    }
    TNR_TRY(tnri_course_make(course, TNR_OK, false, (tnr_dtype)dtype, of->to->rank, shape));
    for (int step = 1; step < world->size; step++) {
        TNR_TRY(move_step(course, of, (world->rank + step) % world->size,
                          (world->rank - step + world->size) % world->size));
    }
    if (of->gives && of->takes) {
        copy_own(course, of);
    }
    return tnri_course_wait(course, course->begun);
}

tnr_status tnr_world_redistribute(tnr_world *world, const tnr_distribution *from, const tnr_view *source,
                                  const tnr_distribution *to, tnr_domain *domain, tnr_tensor **out)
{
    tnri_course course;
    change of = {.from = from, .to = to};
    TNR_TRY(tnri_course_enter(&course, "world_redistribute", world, TNRI_CALL_REDISTRIBUTE));
    tnr_status status = arguments(&course, &of, source, NULL, true, domain, out);
    status = tnri_course_leave(&course, run(&course, &of, status));
    if (status == TNR_OK && out != NULL && course.out == NULL) {
        *out = NULL;
    }
    return status;
}

tnr_status tnr_world_redistribute_into(tnr_world *world, const tnr_distribution *from, const tnr_view *source,
                                       const tnr_distribution *to, const tnr_view_mut *target)
{
    tnri_course course;
    change of = {.from = from, .to = to};
    TNR_TRY(tnri_course_enter(&course, "world_redistribute_into", world, TNRI_CALL_REDISTRIBUTE));
    const tnr_status status = arguments(&course, &of, source, target, false, NULL, NULL);
    return tnri_course_leave(&course, run(&course, &of, status));
}
