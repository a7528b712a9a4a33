/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts along an axis: scatter, gather, all-gather, all-to-all. What goes where follows from the words that every rank has of
 * every other; elements go straight from view to view, whatever their layouts.
 */
#include <stdio.h>

#include "collective_internal.h"

/* ---- Shapes ---------------------------------------------------------------------------------------------------------------------- */

static tnr_status check_axis(const tnri_course *course, int axis, int rank)
{
    TNR_REQUIRE(axis >= 0 && axis < rank, TNR_ERR_BOUNDS, "%s: axis %d of a view of rank %d", course->op, axis, rank);
    return TNR_OK;
}

/* Parts that follow each other along `axis` fit: all as rank 0's elsewhere. *whole: their sum. `sides` in the words: give or take. */
static const tnri_side *side_of(const tnri_course *course, int rank, bool take)
{
    return take ? &course->all[rank].take : &course->all[rank].give;
}

static tnr_status join(const tnri_course *course, bool take, int axis, tnri_side *whole)
{
    const char *const verb = take ? "the target has" : "the part has";
    *whole = *side_of(course, 0, take);
    for (int rank = 1; rank < course->world->size; rank++) {
        const tnri_side *side = side_of(course, rank, take);
        int64_t shape[TNR_MAX_RANK];
        memcpy(shape, side_of(course, 0, take)->shape, sizeof(shape));
        shape[axis] = side->rank == whole->rank ? side->shape[axis] : shape[axis];
        TNR_TRY(tnri_course_expect(course, rank, side, verb, whole->dtype, whole->rank, shape));
        if (!tnri_add_i64(whole->shape[axis], side->shape[axis], &whole->shape[axis])) {
            return tnri_course_blame(course, rank, TNR_ERR_OVERFLOW, "the parts' extents do not add up in 63 bits");
        }
    }
    return TNR_OK;
}

static int64_t extent_of(const tnri_course *course, int rank, bool take, int axis)
{
    return side_of(course, rank, take)->shape[axis];
}

/* Where the part of `rank` begins in the whole. */
static int64_t start_of(const tnri_course *course, int rank, bool take, int axis)
{
    int64_t start = 0;
    for (int before = 0; before < rank; before++) {
        start += extent_of(course, before, take, axis);
    }
    return start;
}

/* One extent per rank, none negative, adding up to the axis; even ones for NULL: in the world's room. */
static tnr_status cut(tnri_course *course, const int64_t *extents, int64_t extent)
{
    const int size = course->world->size;
    int64_t *sent = course->world->collective->sent;
    int64_t left = extent;
    for (int rank = 0; rank < size; rank++) {
        int64_t start = 0;
        tnri_even_part(extent, size, rank, &start, &sent[rank]);
        sent[rank] = extents != NULL ? extents[rank] : sent[rank];
        TNR_REQUIRE(sent[rank] >= 0 && sent[rank] <= left, TNR_ERR_BOUNDS,
                    "%s: the extent %lld for rank %d; %lld of the axis' %lld are left", course->op, TNRI_LL(sent[rank]),
                    rank, TNRI_LL(left), TNRI_LL(extent));
        left -= sent[rank];
    }
    TNR_REQUIRE(left == 0, TNR_ERR_BOUNDS, "%s: the extents leave %lld of the axis' %lld", course->op, TNRI_LL(left),
                TNRI_LL(extent));
    return TNR_OK;
}

/* ---- Scatter ---------------------------------------------------------------------------------------------------------------------- */

/* Root sends each its part, its own last; `start` of each part follows from the extents. */
static tnr_status scatter_data(tnri_course *course, int root, int axis, const int64_t *extents, bool targets)
{
    const tnr_world *world = course->world;
    if (world->rank != root) {
        TNR_TRY(tnri_course_receive(course, &course->take, course->take_data, root));
        return tnri_course_wait(course, course->begun);
    }
    tnr_view part;
    char *data = NULL;
    int64_t start = 0;
    tnr_view own = course->give;
    char *own_data = NULL;
    for (int rank = 0; rank < world->size; rank++) {
        const int64_t extent = targets ? extent_of(course, rank, true, axis) : extents[rank];
        tnri_part_of(&course->give, course->give_data, axis, start, extent, &part, &data);
        start += extent;
        if (rank == root) {
            own = part;
            own_data = data;
        } else {
            TNR_TRY(tnri_course_send(course, &part, data, rank));
        }
    }
    tnri_course_copy(course, &own, own_data, &course->take, course->take_data);
    return tnri_course_wait(course, course->begun);
}

static tnr_status scatter_arguments(tnri_course *course, int root, const tnr_view *source, int axis,
                                    const tnr_view_mut *target)
{
    const bool sends = course->world->rank == root;
    course->words.axis = axis;
    course->give_cut = axis;
    TNR_TRY(tnri_course_root(course, root));
    TNR_REQUIRE(!sends || source != NULL, TNR_ERR_ARGUMENT, "%s: root's source is NULL", course->op);
    TNR_TRY(tnri_course_lease(course, sends ? source : NULL, target != NULL ? &target->view : NULL, TNRI_APART));
    return sends ? check_axis(course, axis, source->rank) : TNR_OK;
}

static tnr_status scatter(tnri_course *course, tnr_status status, int root, int axis)
{
    TNR_TRY(tnri_course_tell(course, status));
    TNR_TRY(tnri_course_trade(course)); /* what root names for each */
    tnri_side part = course->all[root].give;
    part.shape[axis] = course->world->collective->got[root];
    TNR_TRY(tnri_course_make(course, TNR_OK, true, (tnr_dtype)part.dtype, (int)part.rank, part.shape));
    return scatter_data(course, root, axis, course->world->collective->sent, false);
}

tnr_status tnr_world_scatter(tnr_world *world, int root, const tnr_view *source, int axis, const int64_t *extents,
                             tnr_domain *domain, tnr_tensor **out)
{
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, "world_scatter", world, TNRI_CALL_SCATTER));
    tnr_status status = tnri_course_makes(&course, domain, out);
    status = status == TNR_OK ? scatter_arguments(&course, root, source, axis, NULL) : status;
    if (status == TNR_OK && world->rank == root) {
        status = cut(&course, extents, source->shape[axis]);
    }
    return tnri_course_leave(&course, scatter(&course, status, root, axis));
}

static tnr_status scatter_into(tnri_course *course, tnr_status status, int root, int axis)
{
    TNR_TRY(tnri_course_tell(course, status));
    const tnri_side *source = &course->all[root].give;
    tnri_side whole;
    TNR_TRY(tnri_course_expect(course, 0, &course->all[0].take, "the target has", source->dtype, source->rank,
                               course->all[0].take.rank == source->rank ? course->all[0].take.shape : source->shape));
    TNR_TRY(join(course, true, axis, &whole));
    TNR_TRY(tnri_course_expect(course, root, source, "the source has", whole.dtype, whole.rank, whole.shape));
    return scatter_data(course, root, axis, NULL, true);
}

tnr_status tnr_world_scatter_into(tnr_world *world, int root, const tnr_view *source, int axis,
                                  const tnr_view_mut *target)
{
    static const char *const op = "world_scatter_into";
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, op, world, TNRI_CALL_SCATTER_INTO));
    tnr_status status = target != NULL ? TNR_OK : tnri_fail(TNR_ERR_ARGUMENT, "%s: target is NULL", op);
    status = status == TNR_OK ? scatter_arguments(&course, root, source, axis, target) : status;
    return tnri_course_leave(&course, scatter_into(&course, status, root, axis));
}

/* ---- Gather ------------------------------------------------------------------------------------------------------------------------- */

/* `all`: everyone gets the whole; else root alone. */
static tnr_status gather_arguments(tnri_course *course, bool all, int root, const tnr_view *part, int axis,
                                   const tnr_view_mut *target, bool makes, tnr_domain *domain, tnr_tensor **out)
{
    course->words.axis = axis;
    course->take_cut = axis;
    TNR_TRY(tnri_course_root(course, root));
    const bool gets = all || course->world->rank == root;
    TNR_REQUIRE(part != NULL, TNR_ERR_ARGUMENT, "%s: part is NULL", course->op);
    TNR_REQUIRE(makes || (target != NULL) == gets, TNR_ERR_ARGUMENT, "%s: target is %sNULL", course->op,
                gets ? "" : "given where nothing comes: it must be ");
    if (makes && gets) {
        TNR_TRY(tnri_course_makes(course, domain, out));
    }
    TNR_TRY(tnri_course_lease(course, part, target != NULL ? &target->view : NULL, TNRI_APART));
    return check_axis(course, axis, part->rank);
}

static tnr_status gather_verdict(const tnri_course *course, int axis, tnri_side *whole)
{
    TNR_TRY(join(course, false, axis, whole));
    for (int rank = 0; rank < course->world->size; rank++) {
        const tnri_side *take = &course->all[rank].take;
        if (take->there != 0) {
            TNR_TRY(tnri_course_expect(course, rank, take, "the target has", whole->dtype, whole->rank, whole->shape));
        }
    }
    return TNR_OK;
}

/* One part of the whole comes from `rank`. */
static tnr_status receive_part(tnri_course *course, int rank, int axis)
{
    tnr_view into;
    char *data = NULL;
    tnri_part_of(&course->take, course->take_data, axis, start_of(course, rank, false, axis),
                 extent_of(course, rank, false, axis), &into, &data);
    if (rank == course->world->rank) {
        tnri_course_copy(course, &course->give, course->give_data, &into, data);
        return TNR_OK;
    }
    return tnri_course_receive(course, &into, data, rank);
}

static tnr_status gather(tnri_course *course, tnr_status status, int root, int axis)
{
    const tnr_world *world = course->world;
    tnri_side whole;
    TNR_TRY(tnri_course_tell(course, status));
    TNR_TRY(gather_verdict(course, axis, &whole));
    TNR_TRY(tnri_course_make(course, TNR_OK, false, (tnr_dtype)whole.dtype, (int)whole.rank, whole.shape));
    if (world->rank != root) {
        TNR_TRY(tnri_course_send(course, &course->give, course->give_data, root));
    }
    for (int step = 0; step < world->size && world->rank == root; step++) {
        TNR_TRY(receive_part(course, (root + step) % world->size, axis));
    }
    return tnri_course_wait(course, course->begun);
}

tnr_status tnr_world_gather(tnr_world *world, int root, const tnr_view *part, int axis, tnr_domain *domain,
                            tnr_tensor **out)
{
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, "world_gather", world, TNRI_CALL_GATHER));
    tnr_status status = gather_arguments(&course, false, root, part, axis, NULL, true, domain, out);
    status = tnri_course_leave(&course, gather(&course, status, root, axis));
    if (status == TNR_OK && out != NULL && course.out == NULL) {
        *out = NULL;
    }
    return status;
}

tnr_status tnr_world_gather_into(tnr_world *world, int root, const tnr_view *part, int axis, const tnr_view_mut *target)
{
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, "world_gather_into", world, TNRI_CALL_GATHER));
    const tnr_status status = gather_arguments(&course, false, root, part, axis, target, false, NULL, NULL);
    return tnri_course_leave(&course, gather(&course, status, root, axis));
}

/* Every rank sends its part to each: as many bytes as round a ring, and nobody waits for a chain. */
static tnr_status all_gather(tnri_course *course, tnr_status status, int axis)
{
    const tnr_world *world = course->world;
    const int size = world->size;
    tnri_side whole;
    TNR_TRY(tnri_course_tell(course, status));
    TNR_TRY(gather_verdict(course, axis, &whole));
    TNR_TRY(tnri_course_make(course, TNR_OK, false, (tnr_dtype)whole.dtype, (int)whole.rank, whole.shape));
    for (int step = 1; step <= size; step++) { /* the last: to itself, while others travel */
        TNR_TRY(receive_part(course, (world->rank - step + size) % size, axis));
        if (step != size) {
            TNR_TRY(tnri_course_send(course, &course->give, course->give_data, (world->rank + step) % size));
        }
    }
    return tnri_course_wait(course, course->begun);
}

tnr_status tnr_world_all_gather(tnr_world *world, const tnr_view *part, int axis, tnr_domain *domain, tnr_tensor **out)
{
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, "world_all_gather", world, TNRI_CALL_ALL_GATHER));
    const tnr_status status = gather_arguments(&course, true, 0, part, axis, NULL, true, domain, out);
    return tnri_course_leave(&course, all_gather(&course, status, axis));
}

tnr_status tnr_world_all_gather_into(tnr_world *world, const tnr_view *part, int axis, const tnr_view_mut *target)
{
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, "world_all_gather_into", world, TNRI_CALL_ALL_GATHER));
    const tnr_status status = gather_arguments(&course, true, 0, part, axis, target, false, NULL, NULL);
    return tnri_course_leave(&course, all_gather(&course, status, axis));
}

/* ---- All to all ------------------------------------------------------------------------------------------------------------------------ */

typedef struct exchange {
    int send_axis;
    int receive_axis;
} exchange;

/* What rank `from` sends here, as a shape. */
static void block_from(const tnri_course *course, int from, int send_axis, tnri_side *block)
{
    *block = course->all[from].give;
    block->shape[send_axis] = course->world->collective->got[from];
}

/* The blocks that come here fit together: this rank's own finding, which goes into the vote. */
static tnr_status blocks_fit(const tnri_course *course, const exchange *of, tnri_side *whole)
{
    const int axis = of->receive_axis;
    block_from(course, 0, of->send_axis, whole);
    const tnri_side first = *whole;
    for (int rank = 1; rank < course->world->size; rank++) {
        tnri_side block;
        block_from(course, rank, of->send_axis, &block);
        bool same = true;
        for (int at = 0; at < block.rank; at++) {
            same = same && (at == axis || block.shape[at] == first.shape[at]);
        }
        if (!same) {
            char theirs[120];
            char ours[120];
            tnri_shape_text(block.shape, (int)block.rank, theirs, sizeof(theirs));
            tnri_shape_text(first.shape, (int)first.rank, ours, sizeof(ours));
            return tnri_fail(TNR_ERR_SHAPE, "%s: %s from rank %d and %s from rank 0 do not join along axis %d",
                             course->op, theirs, rank, ours, axis);
        }
        TNR_REQUIRE(tnri_add_i64(whole->shape[axis], block.shape[axis], &whole->shape[axis]), TNR_ERR_OVERFLOW,
                    "%s: the extents that come do not add up in 63 bits", course->op);
    }
    if (course->words.take.there == 0) {
        return TNR_OK;
    }
    return tnri_course_expect(course, course->world->rank, &course->words.take, "the target has", whole->dtype,
                              whole->rank, whole->shape);
}

static tnr_status same_kinds(const tnri_course *course)
{
    const tnri_side *first = &course->all[0].give;
    for (int rank = 1; rank < course->world->size; rank++) {
        const tnri_side *side = &course->all[rank].give;
        TNR_TRY(tnri_course_expect(course, rank, side, "the source has", first->dtype, first->rank,
                                   side->rank == first->rank ? side->shape : first->shape));
    }
    return TNR_OK;
}

static tnr_status all_to_all_data(tnri_course *course, const exchange *of)
{
    const tnr_world *world = course->world;
    const int size = world->size;
    const int me = world->rank;
    for (int step = 1; step <= size; step++) {
        const int from = (me - step + size) % size;
        const int to = (me + step) % size;
        tnri_side block;
        tnr_view into;
        tnr_view part;
        char *into_data = NULL;
        char *part_data = NULL;
        int64_t start = 0;
        for (int rank = 0; rank < from; rank++) {
            block_from(course, rank, of->send_axis, &block);
            start += block.shape[of->receive_axis];
        }
        block_from(course, from, of->send_axis, &block);
        tnri_part_of(&course->take, course->take_data, of->receive_axis, start, block.shape[of->receive_axis], &into,
                     &into_data);
        start = 0;
        for (int rank = 0; rank < to; rank++) {
            start += world->collective->sent[rank];
        }
        tnri_part_of(&course->give, course->give_data, of->send_axis, start, world->collective->sent[to], &part,
                     &part_data);
        if (step == size) {
            tnri_course_copy(course, &part, part_data, &into, into_data);
        } else {
            TNR_TRY(tnri_course_receive(course, &into, into_data, from));
            TNR_TRY(tnri_course_send(course, &part, part_data, to));
        }
    }
    return tnri_course_wait(course, course->begun);
}

static tnr_status all_to_all(tnri_course *course, tnr_status status, const exchange *of)
{
    tnri_side whole;
    TNR_TRY(tnri_course_tell(course, status));
    TNR_TRY(same_kinds(course));
    TNR_TRY(tnri_course_trade(course));
    memset(&whole, 0, sizeof(whole));
    status = blocks_fit(course, of, &whole);
    TNR_TRY(tnri_course_make(course, status, true, (tnr_dtype)whole.dtype, (int)whole.rank, whole.shape));
    return all_to_all_data(course, of);
}

static tnr_status all_to_all_arguments(tnri_course *course, const tnr_view *source, const exchange *of,
                                       const int64_t *extents, const tnr_view_mut *target)
{
    course->words.axis = of->send_axis;
    course->words.other = of->receive_axis;
    course->give_cut = of->send_axis;
    course->take_cut = of->receive_axis;
    TNR_REQUIRE(source != NULL, TNR_ERR_ARGUMENT, "%s: source is NULL", course->op);
    TNR_TRY(tnri_course_lease(course, source, target != NULL ? &target->view : NULL, TNRI_APART));
    TNR_TRY(check_axis(course, of->send_axis, source->rank));
    TNR_TRY(check_axis(course, of->receive_axis, source->rank));
    return cut(course, extents, source->shape[of->send_axis]);
}

tnr_status tnr_world_all_to_all(tnr_world *world, const tnr_view *source, int send_axis, const int64_t *extents,
                                int receive_axis, tnr_domain *domain, tnr_tensor **out)
{
    const exchange of = {send_axis, receive_axis};
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, "world_all_to_all", world, TNRI_CALL_ALL_TO_ALL));
    tnr_status status = tnri_course_makes(&course, domain, out);
    status = status == TNR_OK ? all_to_all_arguments(&course, source, &of, extents, NULL) : status;
    return tnri_course_leave(&course, all_to_all(&course, status, &of));
}

tnr_status tnr_world_all_to_all_into(tnr_world *world, const tnr_view *source, int send_axis, const int64_t *extents,
                                     int receive_axis, const tnr_view_mut *target)
{
    static const char *const op = "world_all_to_all_into";
    const exchange of = {send_axis, receive_axis};
    tnri_course course;
    TNR_TRY(tnri_course_enter(&course, op, world, TNRI_CALL_ALL_TO_ALL));
    tnr_status status = target != NULL ? TNR_OK : tnri_fail(TNR_ERR_ARGUMENT, "%s: target is NULL", op);
    status = status == TNR_OK ? all_to_all_arguments(&course, source, &of, extents, target) : status;
    return tnri_course_leave(&course, all_to_all(&course, status, &of));
}
