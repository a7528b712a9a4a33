/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying what a descriptor of a published group names. The owner's rank need not take part. Where it is decides how:
 *
 *   this rank's own                               a local copy
 *   in a shared window that this process has too  a local copy
 *   a rank of this node, readable                 pieces of its memory, by tnri_peer_read
 *   else                                          pieces by one-sided MPI
 *
 * The owners are leased and mapped by their ranks as long as the epoch lasts, so their bytes hold still. Which bytes are read is
 * decided from what this rank keeps of the directory, checked when it came. MPI may need the owner's rank to be in some MPI call now
 * and then for one-sided reads between nodes to go on: that is the library's affair (Open MPI over tcp does).
 */
#include "group_internal.h"

typedef struct fetch {
    const char *op;
    tnr_world *world;
    const tnri_publication *from;
    tnri_group_item item;
    size_t element_bytes;
    uint64_t bytes;
    bool stuck; /* MPI may still write to the target */
} fetch;

/* The price of another read, in bytes that could be read meanwhile: about 0.1 us within a node, 2 us by MPI. */
enum { PEER_START_BYTES = 1024, REMOTE_START_BYTES = 16384 };

/* What is read out of a neighbour's memory to be sorted out here stays in the second-level cache meanwhile. */
enum { PEER_BUFFER_BYTES = 256 * 1024 };

/* ---- Pieces --------------------------------------------------------------------------------------------------------------------------- */

static void make_plan(const fetch *of, const tnr_view *target, char *data, uint64_t most, uint64_t start_bytes,
                      tnri_fetch_plan *plan)
{
    const tnri_group_item *item = &of->item;
    const int64_t first = (int64_t)item->byte_begin + item->offset * (int64_t)of->element_bytes;
    tnri_fetch_plan_make(plan, of->element_bytes, (int)item->dimensions, item->shape, first, item->strides, data,
                         target->strides, most, start_bytes);
}

/* A piece that was read to `from` goes to its place. */
static void unpack(const tnri_fetch_plan *plan, const tnri_fetch_piece *piece, const char *from)
{
    tnr_provider.copy_elements(plan->element_bytes, piece->rank, piece->shape, piece->to, plan->target, from,
                               plan->source);
}

static tnr_status peer_failed(const fetch *of)
{
    tnr_world *world = of->world;
    const int rank = of->item.rank;
    if (!tnri_near_alive(world, world->peers[rank].near)) {
        return tnri_world_poison(
            world, tnri_fail(TNR_ERR_PEER, "%s: the process of rank %d, which owns the bytes, is gone", of->op, rank));
    }
    return tnri_fail(TNR_ERR_PEER, "%s: the memory of rank %d, which owns the bytes, cannot be read any more", of->op,
                     rank);
}

/* As many pieces as fit at a time. */
static tnr_status read_peer(const fetch *of, const tnr_view *target, char *data)
{
    const uint64_t room = tnri_min_u64(of->world->options.pack_bytes * TNRI_FETCHES, PEER_BUFFER_BYTES);
    const uint64_t base = of->item.source[TNRI_SOURCE_ADDRESS];
    char *buffer = of->from->buffer.address;
    tnri_fetch_plan plan;
    make_plan(of, target, data, room / 4, PEER_START_BYTES, &plan);
    tnri_fetch_piece pieces[TNRI_PEER_SPANS];
    tnri_peer_span spans[TNRI_PEER_SPANS];
    tnri_fetch_piece next;
    bool more = tnri_fetch_plan_next(&plan, &next);
    while (more) {
        int count = 0;
        uint64_t used = 0;
        while (more && count < TNRI_PEER_SPANS && (plan.direct || used + next.span <= room)) {
            pieces[count] = next;
            spans[count].local = plan.direct ? next.to : buffer + used;
            spans[count].remote = base + next.begin;
            spans[count].bytes = next.span;
            used += plan.direct ? 0 : (next.span + 15U) / 16U * 16U;
            count++;
            more = tnri_fetch_plan_next(&plan, &next);
        }
        if (!tnri_peer_read(of->world->peers[of->item.rank].pid, spans, count)) {
            return peer_failed(of);
        }
        for (int index = 0; !plan.direct && index < count; index++) {
            unpack(&plan, &pieces[index], spans[index].local);
        }
    }
    return TNR_OK;
}

/* ---- One-sided MPI ------------------------------------------------------------------------------------------------------------------------ */

typedef struct read_in_flight {
    MPI_Request request;
    tnri_fetch_piece piece;
    char *buffer;
} read_in_flight;

/* The oldest read is over: its piece goes to its place. */
static tnr_status finish_read(fetch *of, const tnri_fetch_plan *plan, read_in_flight *read)
{
    if (read->request == MPI_REQUEST_NULL) {
        return TNR_OK;
    }
    const tnr_status status = tnri_world_wait(of->op, of->world, &read->request, "bytes of another rank");
    of->stuck = of->stuck || read->request != MPI_REQUEST_NULL;
    if (status == TNR_OK && !plan->direct) {
        unpack(plan, &read->piece, read->buffer);
    }
    return status;
}

static tnr_status start_read(const fetch *of, const tnri_fetch_plan *plan, MPI_Win window, read_in_flight *read)
{
    const int bytes = (int)read->piece.span;
    char *to = plan->direct ? read->piece.to : read->buffer;
    const MPI_Aint at = (MPI_Aint)(of->item.source[TNRI_SOURCE_ADDRESS] + read->piece.begin);
    TNR_TRY(tnri_world_poison(of->world, tnri_mpi(of->op, "MPI_Rget",
                                                  MPI_Rget(to, bytes, MPI_BYTE, of->item.rank, at, bytes, MPI_BYTE,
                                                           window, &read->request))));
    atomic_fetch_add_explicit(&tnri_mpi_live.requests, 1U, memory_order_relaxed);
    return TNR_OK;
}

/* Several reads in flight, each with a buffer of its own. An error ends the world. */
static tnr_status read_pieces(fetch *of, tnri_fetch_plan *plan, MPI_Win window)
{
    read_in_flight reads[TNRI_FETCHES];
    tnr_status status = TNR_OK;
    for (int index = 0; index < TNRI_FETCHES; index++) {
        reads[index].request = MPI_REQUEST_NULL;
        reads[index].buffer = (char *)of->from->buffer.address + (uint64_t)index * of->world->options.pack_bytes;
    }
    int at = 0;
    tnri_fetch_piece piece;
    while (status == TNR_OK && tnri_fetch_plan_next(plan, &piece)) {
        status = finish_read(of, plan, &reads[at]);
        if (status == TNR_OK) {
            reads[at].piece = piece;
            status = start_read(of, plan, window, &reads[at]);
        }
        at = (at + 1) % TNRI_FETCHES;
    }
    for (int index = 0; index < TNRI_FETCHES; index++) {
        read_in_flight *oldest = &reads[(at + index) % TNRI_FETCHES];
        if (status == TNR_OK) {
            status = finish_read(of, plan, oldest);
        }
        of->stuck = of->stuck || oldest->request != MPI_REQUEST_NULL;
    }
    return status;
}

static tnr_status read_remote(fetch *of, const tnr_view *target, char *data)
{
    const uint64_t which = of->item.source[TNRI_SOURCE_REMOTE];
    TNR_REQUIRE(
        of->from->window_count != 0, TNR_ERR_UNSUPPORTED,
        "%s: the bytes are on rank %d, whose memory this process cannot read, and this MPI has no one-sided reads "
        "over the transports in use: send and receive them",
        of->op, (int)of->item.rank);
    TNR_REQUIRE(which >= 1 && which <= of->from->window_count, TNR_ERR_MPI,
                "%s: rank %d did not say where its bytes are", of->op, (int)of->item.rank);
    const MPI_Win window = of->from->windows[which - 1];
    tnri_fetch_plan plan;
    make_plan(of, target, data, of->world->options.pack_bytes, REMOTE_START_BYTES, &plan);
    TNR_TRY(
        tnri_world_poison(of->world, tnri_mpi(of->op, "MPI_Win_lock",
                                              MPI_Win_lock(MPI_LOCK_SHARED, of->item.rank, MPI_MODE_NOCHECK, window))));
    TNR_TRY(read_pieces(of, &plan, window));
    return tnri_world_poison(of->world, tnri_mpi(of->op, "MPI_Win_unlock", MPI_Win_unlock(of->item.rank, window)));
}

/* ---- Which way ------------------------------------------------------------------------------------------------------------------------------ */

static bool copy_window(const fetch *of, const tnr_view *target, char *data)
{
    const tnri_group_item *item = &of->item;
    const uint64_t window = item->source[TNRI_SOURCE_WINDOW];
    const uint64_t begin = item->source[TNRI_SOURCE_OFFSET];
    return window != 0 && of->world->peers[item->rank].near >= 0 &&
           tnri_window_copy(window, begin, item->owner_bytes,
                            begin + item->byte_begin + (uint64_t)(item->offset * (int64_t)of->element_bytes),
                            of->element_bytes, (int)item->dimensions, item->shape, data, target->strides,
                            item->strides);
}

static tnr_status move(fetch *of, const tnr_view *target, char *data)
{
    if (of->bytes == 0) {
        return TNR_OK;
    }
    if (copy_window(of, target, data)) {
        return TNR_OK;
    }
    return of->from->readable[of->item.rank] != 0 ? read_peer(of, target, data) : read_remote(of, target, data);
}

/* What is asked for. *own: of this rank, and *source is the view; else of->item. */
static tnr_status look_up(fetch *of, const tnr_group *group, tnr_slot slot, bool *own, tnr_view *source)
{
    TNR_TRY(tnr_provider.group_find_item(of->op, group, slot, own, &of->item));
    if (*own) {
        TNR_TRY(tnr_group_view(group, slot, source));
        of->item.dtype = (uint32_t)source->dtype;
        of->item.dimensions = (uint32_t)source->rank;
        memcpy(of->item.shape, source->shape, (size_t)source->rank * sizeof(source->shape[0]));
    } else {
        of->from = tnr_provider.group_publication(group);
        TNR_REQUIRE(of->from->world == of->world, TNR_ERR_FOREIGN, "%s: the group is published in another world",
                    of->op);
    }
    int64_t count;
    of->element_bytes = tnr_dtype_size((tnr_dtype)of->item.dtype);
    return tnr_provider.shape_bytes(of->op, (tnr_dtype)of->item.dtype, (int)of->item.dimensions, of->item.shape, &count,
                                    &of->bytes);
}

/* ---- Into a new tensor ----------------------------------------------------------------------------------------------------------------------- */

static tnr_status fetch_new(fetch *of, const tnr_group *group, tnr_slot slot, tnr_domain *domain, tnr_tensor **tensor)
{
    bool own;
    tnr_view source;
    TNR_TRY(look_up(of, group, slot, &own, &source));
    tnri_operand operand = {.view = &source, .write = false};
    if (own) {
        TNR_TRY(tnr_provider.access_begin(of->op, &operand, 1, TNRI_APART));
    }
    tnri_output output;
    tnr_status status = tnr_provider.output_begin(of->op, domain, (tnr_dtype)of->item.dtype, (int)of->item.dimensions,
                                                  of->item.shape, TNR_ALLOCATION_COPY, &output);
    if (status == TNR_OK) {
        if (!own) {
            status = move(of, &output.view, output.data);
        } else if (of->bytes != 0) {
            tnr_provider.copy_elements(of->element_bytes, source.rank, source.shape, output.data, output.view.strides,
                                       operand.data, source.strides);
        }
        if (of->stuck) {
            return status; /* the draft stays: MPI may still write to it */
        }
        status = tnr_provider.output_end(&output, status, tensor);
    }
    if (own) {
        const tnr_status ended = tnr_provider.access_end(&operand, 1);
        if (status == TNR_OK && ended != TNR_OK) {
            (void)tnr_tensor_release(tensor);
            status = ended;
        }
    }
    if (status == TNR_OK) {
        tnr_provider.ledger_copy(domain, TNR_COPY_FETCH, of->bytes);
    }
    return status;
}

tnr_status tnr_group_fetch(tnr_world *world, const tnr_group *group, tnr_slot slot, tnr_domain *domain,
                           tnr_tensor **tensor)
{
    static const char *const op = "group fetch";
    TNR_REQUIRE(domain != NULL && tensor != NULL, TNR_ERR_ARGUMENT, "%s: domain or result is NULL", op);
    TNR_TRY(tnri_world_enter(op, world));
    fetch of = {.op = op, .world = world};
    tnr_tensor *made = NULL;
    const tnr_status status = fetch_new(&of, group, slot, domain, &made);
    if (status == TNR_OK) {
        *tensor = made;
    }
    return tnri_world_leave(world, status);
}

/* ---- Into a view --------------------------------------------------------------------------------------------------------------------------------- */

static tnr_status fetch_into(fetch *of, const tnr_group *group, tnr_slot slot, const tnr_view *target)
{
    bool own;
    tnr_view source;
    TNR_TRY(look_up(of, group, slot, &own, &source));
    TNR_REQUIRE(target->dtype == (tnr_dtype)of->item.dtype, TNR_ERR_DTYPE, "%s: slot %llu has %s, the view %s", of->op,
                TNRI_LLU(slot.index), tnr_dtype_name((tnr_dtype)of->item.dtype), tnr_dtype_name(target->dtype));
    bool same = target->rank == (int32_t)of->item.dimensions;
    for (int axis = 0; same && axis < target->rank; axis++) {
        same = target->shape[axis] == of->item.shape[axis];
    }
    TNR_REQUIRE(same, TNR_ERR_SHAPE, "%s: the view has not the shape of slot %llu (rank %d, that one %d)", of->op,
                TNRI_LLU(slot.index), (int)target->rank, (int)of->item.dimensions);
    tnri_operand operands[2] = {{.view = target, .write = true}, {.view = &source, .write = false}};
    TNR_TRY(tnr_provider.access_begin(of->op, operands, own ? 2 : 1, TNRI_APART));
    tnr_status status = TNR_OK;
    if (!own) {
        status = move(of, target, operands[0].data);
    } else if (of->bytes != 0) {
        tnr_provider.copy_elements(of->element_bytes, source.rank, source.shape, operands[0].data, target->strides,
                                   operands[1].data, source.strides);
    }
    if (of->stuck) {
        return status; /* the lease stays: MPI may still write */
    }
    const tnr_status ended = tnr_provider.access_end(operands, own ? 2 : 1);
    status = status != TNR_OK ? status : ended;
    if (status == TNR_OK) {
        tnr_provider.ledger_copy(target->root->domain, TNR_COPY_FETCH, of->bytes);
    }
    return status;
}

tnr_status tnr_group_fetch_into(tnr_world *world, const tnr_group *group, tnr_slot slot, const tnr_view_mut *view)
{
    static const char *const op = "group fetch";
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: view is NULL", op);
    TNR_TRY(tnri_world_enter(op, world));
    fetch of = {.op = op, .world = world};
    const tnr_view target = view->view;
    return tnri_world_leave(world, fetch_into(&of, group, slot, &target));
}
