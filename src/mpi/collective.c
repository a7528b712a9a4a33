/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all collective calls that move elements have in common (collective_internal.h tells the course): fixed words of each rank, told
 * along with the first vote (vote.c), from which every rank comes to the same verdict by itself, so that no second round is needed when
 * nobody makes a tensor.
 */
#include <stddef.h>
#include <stdio.h>

#include "collective_internal.h"

uint64_t tnri_collective_bytes(int size)
{
    return sizeof(tnri_collective) + (uint64_t)size * (sizeof(tnri_words) + 2 * sizeof(int64_t)) +
           2 * tnri_ballot_bytes(size);
}

tnr_status tnri_collective_make(tnr_world *world)
{
    const uint64_t size = (uint64_t)world->size;
    const uint64_t bytes = tnri_collective_bytes(world->size);
    tnr_block record;
    TNR_TRY(tnr_provider.record_take(world->home, bytes, &record));
    tnri_collective *made = record.address;
    memset(made, 0, bytes);
    made->record = record;
    made->all = (tnri_words *)(made + 1);
    made->sent = (int64_t *)(made->all + size);
    made->got = made->sent + size;
    made->ballot_in = (char *)(made->got + size);
    made->ballot_out = made->ballot_in + tnri_ballot_bytes(world->size);
    world->collective = made;
    return TNR_OK;
}

void tnri_collective_free(tnr_world *world)
{
    tnri_collective *made = world->collective;
    world->collective = NULL;
    if (made != NULL && (!made->stuck || !tnri_mpi_running())) {
        const tnr_block record = made->record;
        tnr_provider.record_give(world->home, &record);
    }
}

/* ---- Local checks ------------------------------------------------------------------------------------------------------------------ */

tnr_status tnri_course_enter(tnri_course *course, const char *op, tnr_world *world, tnri_call call)
{
    TNR_TRY(tnri_world_enter(op, world));
    memset(course, 0, sizeof(*course));
    course->op = op;
    course->world = world;
    course->call = call;
    course->give_cut = TNRI_CUT_NOT;
    course->take_cut = TNRI_CUT_NOT;
    return TNR_OK;
}

tnr_status tnri_course_root(tnri_course *course, int root)
{
    course->words.root = root;
    TNR_REQUIRE(root >= 0 && root < course->world->size, TNR_ERR_BOUNDS, "%s: root %d; the world has ranks 0 to %d",
                course->op, root, course->world->size - 1);
    return TNR_OK;
}

static uint64_t distance(int64_t stride) { return stride < 0 ? 0U - (uint64_t)stride : (uint64_t)stride; }

/* Axes by their strides, whatever the sign; those of one element, whose stride says nothing, last. */
static void find_order(const tnr_view *view, uint8_t *order)
{
    for (int axis = 0; axis < view->rank; axis++) {
        const bool moves = view->shape[axis] > 1;
        int at = axis;
        while (at > 0 && moves &&
               (view->shape[order[at - 1]] <= 1 ||
                distance(view->strides[order[at - 1]]) > distance(view->strides[axis]))) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = (uint8_t)axis;
    }
}

static void side_fill(tnri_side *side, const tnr_view *view)
{
    find_order(view, side->order);
    side->there = 1;
    side->dtype = (uint64_t)view->dtype;
    side->rank = view->rank;
    for (int axis = 0; axis < view->rank; axis++) {
        side->shape[axis] = view->shape[axis];
    }
}

tnr_status tnri_course_lease(tnri_course *course, const tnr_view *give, const tnr_view *take, tnri_aliasing aliasing)
{
    int count = 0;
    if (give != NULL) {
        course->give = *give;
        course->operands[count].view = &course->give;
        course->operands[count++].write = false;
    }
    if (take != NULL) {
        course->take = *take;
        course->operands[count].view = &course->take;
        course->operands[count++].write = true;
    }
    if (count != 0) {
        TNR_TRY(tnr_provider.access_begin_away(course->op, course->operands, count, aliasing));
        course->leased = true;
        course->operand_count = count;
    }
    if (give != NULL) {
        course->give_data = course->operands[0].data;
        side_fill(&course->words.give, give);
    }
    if (take != NULL) {
        course->take_data = course->operands[count - 1].data;
        side_fill(&course->words.take, take);
    }
    return TNR_OK;
}

tnr_status tnri_course_makes(tnri_course *course, tnr_domain *domain, tnr_tensor **out)
{
    TNR_REQUIRE(domain != NULL && out != NULL, TNR_ERR_ARGUMENT, "%s: domain or result is NULL", course->op);
    course->words.makes = 1;
    course->domain = domain;
    course->out = out;
    return TNR_OK;
}

/* ---- Telling ----------------------------------------------------------------------------------------------------------------------- */

/* A collective of MPI was begun in the world's room. */
static tnr_status finish(tnri_course *course, const char *call, int code, MPI_Request *request)
{
    tnr_world *world = course->world;
    tnr_status status = tnri_mpi(course->op, call, code);
    if (status != TNR_OK) {
        return tnri_world_poison(world, status);
    }
    tnri_request_count();
    status = tnri_world_wait(course->op, world, request, "all ranks to take part");
    if (*request != MPI_REQUEST_NULL) {
        world->collective->stuck = true;
    }
    return status;
}

tnr_status tnri_course_blame(const tnri_course *course, int who, tnr_status status, const char *text)
{
    if (who == course->world->rank) {
        return tnri_fail(status, "%s: %s", course->op, text);
    }
    return tnri_fail(TNR_ERR_PEER, "%s: rank %d: %s", course->op, who, text);
}

static tnr_status compare(const tnri_course *course, int who, const char *what, int64_t theirs, int64_t ours)
{
    if (theirs == ours) {
        return TNR_OK;
    }
    char text[160];
    (void)snprintf(text, sizeof(text), "%s %lld here, %lld on rank 0", what, (long long)theirs, (long long)ours);
    return tnri_course_blame(course, who, TNR_ERR_ARGUMENT, text);
}

static tnr_status agree(const tnri_course *course)
{
    const tnri_words *first = &course->all[0];
    for (int rank = 1; rank < course->world->size; rank++) {
        const tnri_words *other = &course->all[rank];
        TNR_TRY(compare(course, rank, "root", other->root, first->root));
        TNR_TRY(compare(course, rank, "axis", other->axis, first->axis));
        TNR_TRY(compare(course, rank, course->call == TNRI_CALL_ALL_TO_ALL ? "receive axis" : "combination",
                        other->other, first->other));
        if (other->hash != first->hash) {
            return tnri_course_blame(course, rank, TNR_ERR_ARGUMENT, "other distributions here than on rank 0");
        }
    }
    return TNR_OK;
}

/* A transfer in each direction at one time is the least that data need. */
static tnr_status check_flights(const tnri_course *course)
{
    const tnri_flight *first = course->world->free_flights;
    TNR_REQUIRE(first != NULL && first->next != NULL, TNR_ERR_MEMORY, "%s: all %d tickets are in use (options.tickets)",
                course->op, course->world->options.tickets);
    return TNR_OK;
}

/* Is any memory of this rank away? Then it needs room for copies of its own. */
static tnr_status prepare_away(tnri_course *course)
{
    const bool gives = course->words.give.there != 0 && tnri_is_away(&course->give);
    const bool takes = course->words.take.there != 0 && tnri_is_away(&course->take);
    const bool makes = course->domain != NULL && tnr_domain_access(course->domain) == TNR_ACCESS_NONE;
    if (!gives && !takes && !makes) {
        return TNR_OK;
    }
    course->words.away = 1;
    course->votes_again = true;
    return tnri_pack_take(course->op, course->world, &course->pack);
}

tnr_status tnri_course_tell(tnri_course *course, tnr_status mine)
{
    tnr_world *world = course->world;
    tnri_collective *room = world->collective;
    mine = mine == TNR_OK ? check_flights(course) : mine;
    mine = mine == TNR_OK ? prepare_away(course) : mine;
    if (mine == TNR_OK && course->words.give.there != 0) {
        mine = tnri_course_reserve(course, &course->give, course->give_data, course->give_cut);
    }
    if (mine == TNR_OK && course->words.take.there != 0) {
        mine = tnri_course_reserve(course, &course->take, course->take_data, course->take_cut);
    }
    room->all[world->rank] = course->words;
    course->all = room->all;
    TNR_TRY(tnri_vote_words(course->op, world, course->call, mine));
    for (int rank = 0; rank < world->size; rank++) {
        course->votes_again = course->votes_again || room->all[rank].away != 0;
    }
    return agree(course);
}

tnr_status tnri_course_trade(tnri_course *course)
{
    tnr_world *world = course->world;
    tnri_collective *room = world->collective;
    MPI_Request request = MPI_REQUEST_NULL;
    if (world->size == 1) {
        room->got[0] = room->sent[0];
        return TNR_OK;
    }
    const int code = MPI_Ialltoall(room->sent, 1, MPI_INT64_T, room->got, 1, MPI_INT64_T, world->comm, &request);
    return finish(course, "MPI_Ialltoall", code, &request);
}

tnr_status tnri_course_expect(const tnri_course *course, int who, const tnri_side *side, const char *verb,
                              uint64_t dtype, int64_t rank, const int64_t *shape)
{
    char text[360];
    if (side->dtype != dtype) {
        (void)snprintf(text, sizeof(text), "%s %s, not %s", verb, tnr_dtype_name((tnr_dtype)side->dtype),
                       tnr_dtype_name((tnr_dtype)dtype));
        return tnri_course_blame(course, who, TNR_ERR_DTYPE, text);
    }
    if (side->rank == rank && memcmp(side->shape, shape, (size_t)rank * sizeof(int64_t)) == 0) {
        return TNR_OK;
    }
    char theirs[120];
    char ours[120];
    tnri_shape_text(side->shape, (int)side->rank, theirs, sizeof(theirs));
    tnri_shape_text(shape, (int)rank, ours, sizeof(ours));
    (void)snprintf(text, sizeof(text), "%s shape %s, not %s", verb, theirs, ours);
    return tnri_course_blame(course, who, TNR_ERR_SHAPE, text);
}

/* ---- New tensors, the end -------------------------------------------------------------------------------------------------------------- */

static tnr_status make_draft(tnri_course *course, tnr_dtype dtype, int rank, const int64_t *shape)
{
    TNR_TRY(tnr_provider.output_begin_away(course->op, course->domain, dtype, rank, shape, TNR_ALLOCATION_COPY,
                                           &course->output));
    course->drafted = true;
    course->take = course->output.view;
    course->take_data = course->output.data;
    return tnri_course_reserve(course, &course->take, course->take_data, course->take_cut);
}

tnr_status tnri_course_make(tnri_course *course, tnr_status status, bool votes, tnr_dtype dtype, int rank,
                            const int64_t *shape)
{
    if (status == TNR_OK && course->domain != NULL) {
        status = make_draft(course, dtype, rank, shape);
    }
    for (int other = 0; other < course->world->size; other++) {
        votes = votes || course->all[other].makes != 0;
    }
    return votes ? tnri_vote(course->op, course->world, status) : status;
}

uint64_t tnri_view_bytes(const tnr_view *view)
{
    uint64_t bytes = tnr_dtype_size(view->dtype);
    for (int axis = 0; axis < view->rank; axis++) {
        bytes *= (uint64_t)view->shape[axis];
    }
    return bytes;
}

/* One entry for all that came, and one for what was packed. */
static void write_ledgers(const tnri_course *course)
{
    const bool takes = course->drafted || course->words.take.there != 0;
    if (takes) {
        tnr_provider.ledger_copy(course->take.root->domain, TNR_COPY_RECEIVE, tnri_view_bytes(&course->take));
    }
    if (course->packed != 0) {
        const tnr_view *from = course->words.give.there != 0 ? &course->give : &course->take;
        tnr_provider.ledger_copy(from->root->domain, TNR_COPY_SEND, course->packed);
    }
}

bool tnri_course_settle(tnri_course *course, tnr_status status)
{
    for (; status != TNR_OK && course->ended < course->begun; course->ended++) {
        tnri_flight *flight = course->flights[course->ended % TNRI_AT_ONCE];
        (void)tnri_flight_settle(flight);
        course->stays = course->stays || flight->state != TNRI_FLIGHT_OVER;
    }
    return course->stays;
}

void tnri_course_fail(tnri_course *course, tnr_status status)
{
    if (course->failed == TNR_OK) {
        course->failed = status;
        memcpy(course->failed_text, tnr_last_error(), sizeof(course->failed_text));
    }
}

/* All has moved; did it, on all ranks? */
static tnr_status vote_again(tnri_course *course)
{
    tnr_status status = course->failed;
    if (status != TNR_OK) {
        status = tnri_fail(status, "%s", course->failed_text);
    }
    status = tnri_vote(course->op, course->world, status);
    tnri_world_close(course->world, status);
    return status;
}

tnr_status tnri_course_leave(tnri_course *course, tnr_status status)
{
    tnr_world *world = course->world;
    if (TNRI_UNLIKELY(course->votes_again) && status == TNR_OK) {
        status = vote_again(course);
    }
    char text[TNR_ERROR_TEXT_BYTES];
    if (status != TNR_OK) {
        memcpy(text, tnr_last_error(), sizeof(text));
    }
    const tnr_status given = status;
    tnri_pack_give(world, course->pack);
    tnri_course_unreserve(course);
    if (tnri_course_settle(course, status)) {
        return tnri_world_leave(world, tnri_fail(given, "%s", text));
    }
    if (status == TNR_OK) {
        write_ledgers(course);
    }
    if (course->leased) {
        const tnr_status ended = tnr_provider.access_end(course->operands, course->operand_count);
        status = status != TNR_OK ? status : ended;
    }
    if (course->drafted) {
        status = tnr_provider.output_end(&course->output, status, course->out);
    }
    return tnri_world_leave(world, given != TNR_OK ? tnri_fail(given, "%s", text) : status);
}
