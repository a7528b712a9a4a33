/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying what a descriptor of a published group names. The owner's rank need not take part. Where it is decides how:
 *
 *   this rank's own                               a local copy
 *   in a shared window that this process has too  a local copy
 *   a rank of this node, readable                 pieces of its memory, by tnri_peer_read
 *   else                                          pieces by one-sided MPI
 *
 * A target that is away (storage.h) is written by its domain, from pieces in host memory. When that fails the call fails, and nobody
 * else has to know.
 *
 * The owners are leased and mapped by their ranks as long as the epoch lasts, so their bytes hold still. Which bytes are read is
 * decided from what this rank keeps of the directory, checked when it came. MPI may need the owner's rank to be in some MPI call now
 * and then for one-sided reads between nodes to go on: that is the library's affair (Open MPI over tcp does).
 */
#include "flight_internal.h"
#include "group_internal.h"

typedef struct fetch {
    const char *op;
    tnr_world *world;
    tnri_publication *from;
    tnri_group_item item;
    size_t element_bytes;
    uint64_t bytes;
    bool stuck;             /* MPI may still write to the target */
    const tnr_tensor *away; /* the target, where it is */
    bool managed;           /* the target is, by a device: MPI does not write there */
    tnri_pack *pack;        /* for copies into, or out of, memory that is away; NULL: there is none */
    tnr_status failed;
    char text[TNR_ERROR_TEXT_BYTES];
} fetch;

/* The price of another read, in bytes that could be read meanwhile: about 0.1 us within a node, 2 us by MPI. */
enum { PEER_START_BYTES = 1024, REMOTE_START_BYTES = 16384 };

/* What is read out of a neighbour's memory to be sorted out here stays in the second-level cache meanwhile. */
enum { PEER_BUFFER_BYTES = 256 * 1024 };

/* Without zeros where nobody looks: a small fetch takes no longer than these. */
static void fetch_begin(fetch *of, const char *op, tnr_world *world)
{
    of->op = op;
    of->world = world;
    of->from = NULL;
    of->stuck = false;
    of->away = NULL;
    of->managed = false;
    of->pack = NULL;
    of->failed = TNR_OK;
}

/* ---- Pieces --------------------------------------------------------------------------------------------------------------------------- */

static void make_plan(const fetch *of, const tnr_view *target, char *data, uint64_t most, uint64_t start_bytes,
                      tnri_fetch_plan *plan)
{
    const tnri_group_item *item = &of->item;
    const int64_t first = (int64_t)item->byte_begin + item->offset * (int64_t)of->element_bytes;
    tnri_fetch_plan_make(plan, of->element_bytes, (int)item->dimensions, item->shape, first, item->strides, data,
                         target->strides, most, start_bytes);
    if ((of->away != NULL || of->managed) && plan->direct) { /* nothing is read into memory that is away */
        plan->direct = false;
        plan->step = (int64_t)tnri_min_u64((uint64_t)plan->step, tnri_max_u64(most / of->element_bytes, 1));
    }
}

/* The first failure of a domain's copy; reads that are under way come to their end. */
static void fail_away(fetch *of, tnr_status status)
{
    if (status != TNR_OK && of->failed == TNR_OK) {
        of->failed = status;
        memcpy(of->text, tnr_last_error(), sizeof(of->text));
    }
}

static tnr_status away_status(const fetch *of)
{
    return of->failed == TNR_OK ? TNR_OK : tnri_fail(of->failed, "%s: %s", of->op, of->text);
}

/* From layout to layout of one shape, at least one of them away. */
static void copy_away(fetch *of, tnri_stream *from, tnri_stream *to)
{
    bool moved = false;
    fail_away(of, tnri_stream_copy(from, to, of->pack->data, of->world->options.pack_bytes, &moved));
}

/* A piece that was read to `from` goes to its place. */
static void unpack(fetch *of, const tnri_fetch_plan *plan, const tnri_fetch_piece *piece, char *from)
{
    if (of->away != NULL) {
        tnri_stream source;
        tnri_stream target;
        tnri_stream_make(&source, from, (tnr_dtype)of->item.dtype, piece->rank, piece->shape, plan->source);
        tnri_stream_make(&target, piece->to, (tnr_dtype)of->item.dtype, piece->rank, piece->shape, plan->target);
        target.away = of->away;
        if (of->failed == TNR_OK) {
            copy_away(of, &source, &target);
        }
        return;
    }
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

/* Out of the owner's memory, or the window of ours that it lies in. */
static tnr_status read_spans(const fetch *of, const tnri_peer_span *spans, int count, uint64_t window)
{
    static const int64_t dense = 1;
    const tnri_group_item *item = &of->item;
    if (window == 0) {
        return tnri_peer_read(of->world->peers[item->rank].pid, spans, count) ? TNR_OK : peer_failed(of);
    }
    for (int index = 0; index < count; index++) {
        const int64_t bytes = (int64_t)spans[index].bytes;
        TNR_REQUIRE(tnri_window_copy(window, item->source[TNRI_SOURCE_OFFSET], item->owner_bytes, spans[index].remote,
                                     1, 1, &bytes, spans[index].local, &dense, &dense),
                    TNR_ERR_PEER, "%s: the window that the bytes of rank %d lie in was closed here", of->op,
                    item->rank);
    }
    return TNR_OK;
}

/* As many pieces as fit at a time. */
static tnr_status read_peer(fetch *of, const tnr_view *target, char *data, uint64_t window)
{
    const uint64_t room = tnri_min_u64(of->world->options.pack_bytes * TNRI_FETCHES, PEER_BUFFER_BYTES);
    const uint64_t base = of->item.source[window != 0 ? TNRI_SOURCE_OFFSET : TNRI_SOURCE_ADDRESS];
    char *buffer = of->from->buffer.address;
    tnri_fetch_plan plan;
    make_plan(of, target, data, room / 4, PEER_START_BYTES, &plan);
    tnri_fetch_piece pieces[TNRI_PEER_SPANS];
    tnri_peer_span spans[TNRI_PEER_SPANS];
    tnri_fetch_piece next;
    bool more = tnri_fetch_plan_next(&plan, &next);
    while (more && of->failed == TNR_OK) {
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
        TNR_TRY(read_spans(of, spans, count, window));
        for (int index = 0; !plan.direct && index < count; index++) {
            unpack(of, &plan, &pieces[index], spans[index].local);
        }
    }
    return away_status(of);
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
    of->from->stuck = of->from->stuck || of->stuck; /* its buffers stay */
    if (status == TNR_OK && !plan->direct) {
        unpack(of, plan, &read->piece, read->buffer);
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
    while (status == TNR_OK && of->failed == TNR_OK && tnri_fetch_plan_next(plan, &piece)) {
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
    of->from->stuck = of->from->stuck || of->stuck;
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
    TNR_TRY(tnri_world_poison(of->world, tnri_mpi(of->op, "MPI_Win_unlock", MPI_Win_unlock(of->item.rank, window))));
    return away_status(of);
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

/* The window of this process that the bytes lie in, or 0. */
static uint64_t own_window(const fetch *of)
{
    static const int64_t none = 0;
    const tnri_group_item *item = &of->item;
    const uint64_t window = item->source[TNRI_SOURCE_WINDOW];
    const bool near = window != 0 && of->world->peers[item->rank].near >= 0;
    return near && tnri_window_copy(window, item->source[TNRI_SOURCE_OFFSET], item->owner_bytes, 0, 1, 1, &none, NULL,
                                    &none, &none)
               ? window
               : 0;
}

static tnr_status move(fetch *of, const tnr_view *target, char *data)
{
    if (of->bytes == 0) {
        return TNR_OK;
    }
    if (of->away == NULL && copy_window(of, target, data)) {
        return TNR_OK;
    }
    const uint64_t window = of->away != NULL ? own_window(of) : 0;
    if (window != 0) {
        return read_peer(of, target, data, window);
    }
    return of->from->readable[of->item.rank] != 0 ? read_peer(of, target, data, 0) : read_remote(of, target, data);
}

/* Of this rank's own: a local copy. */
static tnr_status copy_own(fetch *of, const tnri_operand *source, const tnr_view *target, char *data)
{
    const tnr_view *from = source->view;
    if (of->bytes == 0) {
        return TNR_OK;
    }
    if (of->pack == NULL) {
        tnr_provider.copy_elements(of->element_bytes, from->rank, from->shape, data, target->strides, source->data,
                                   from->strides);
        return TNR_OK;
    }
    tnri_stream streams[2];
    tnri_stream_of(&streams[0], from, source->data);
    tnri_stream_of(&streams[1], target, data);
    copy_away(of, &streams[0], &streams[1]);
    return away_status(of);
}

/* Room for copies where the target, or a source of this rank's own, is away. Until the call ends. */
static tnr_status prepare_away(fetch *of, const tnr_view *source, bool target)
{
    return target || (source != NULL && tnri_is_away(source)) ? tnri_pack_take(of->op, of->world, &of->pack) : TNR_OK;
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
    TNR_TRY(prepare_away(of, own ? &source : NULL, tnr_domain_access(domain) == TNR_ACCESS_NONE));
    if (own) {
        TNR_TRY(tnr_provider.access_begin_away(of->op, &operand, 1, TNRI_APART));
    }
    tnri_output output;
    tnr_status status =
        tnr_provider.output_begin_away(of->op, domain, (tnr_dtype)of->item.dtype, (int)of->item.dimensions,
                                       of->item.shape, TNR_ALLOCATION_COPY, &output);
    if (status == TNR_OK) {
        of->away = tnri_is_away(&output.view) ? output.view.root : NULL;
        of->managed = tnri_is_managed(output.view.root);
        status = own ? copy_own(of, &operand, &output.view, output.data) : move(of, &output.view, output.data);
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
    static const char *const op = "group_fetch";
    TNR_REQUIRE(domain != NULL && tensor != NULL, TNR_ERR_ARGUMENT, "%s: domain or result is NULL", op);
    TNR_TRY(tnri_world_enter(op, world));
    fetch of;
    fetch_begin(&of, op, world);
    tnr_tensor *made = NULL;
    const tnr_status status = fetch_new(&of, group, slot, domain, &made);
    tnri_pack_give(world, of.pack);
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
    tnri_operand operands[2];
    operands[0].view = target;
    operands[0].write = true;
    operands[1].view = &source;
    operands[1].write = false;
    TNR_TRY(tnr_provider.access_begin_away(of->op, operands, own ? 2 : 1, TNRI_APART));
    const tnr_tensor *root = target->root;
    of->away = root->access == TNR_ACCESS_NONE ? root : NULL;
    of->managed = tnri_is_managed(root);
    tnr_status status = prepare_away(of, own ? &source : NULL, of->away != NULL);
    if (status == TNR_OK) {
        status = own ? copy_own(of, &operands[1], target, operands[0].data) : move(of, target, operands[0].data);
    }
    if (of->stuck) {
        return status; /* the lease stays: MPI may still write */
    }
    const tnr_status ended = tnr_provider.access_end(operands, own ? 2 : 1);
    status = status != TNR_OK ? status : ended;
    if (status == TNR_OK) {
        tnr_provider.ledger_copy(root->domain, TNR_COPY_FETCH, of->bytes);
    }
    return status;
}

tnr_status tnr_group_fetch_into(tnr_world *world, const tnr_group *group, tnr_slot slot, const tnr_view_mut *view)
{
    static const char *const op = "group_fetch_into";
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: view is NULL", op);
    TNR_TRY(tnri_world_enter(op, world));
    fetch of;
    fetch_begin(&of, op, world);
    const tnr_status status = fetch_into(&of, group, slot, &view->view);
    tnri_pack_give(world, of.pack);
    return tnri_world_leave(world, status);
}
