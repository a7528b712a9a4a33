/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3
 * transports: tcp nocma
 * Memory that the host cannot reach, in every call that takes views or domains: what comes out is what the same call gives in heap
 * memory, byte for byte, on every path. A touch of it by MPI or by the library ends the test by a signal. Then again with an MPI that says
 * it takes such memory, and gets it. */
#include "collective.h"
#include "device.h"
#include "query.h"

static tnr_domain *heap;
static device chip;
static uint64_t common; /* random states: one for all ranks, one of this rank's own */
static uint64_t own;

static void start(void)
{
    static unsigned long long seed;
    seed = seed != 0 ? seed : ranks_seed();
    common = seed * 2 + 1;
    own = (seed + (uint64_t)ranks_me * 7919 + 1) * 2 + 1;
    CHECK_OK(tnr_heap_create(&heap));
    collective_heap = heap;
    device_make(&chip, heap);
}

static int64_t exposures; /* of all chips */

static void end(void)
{
    exposures += chip.exposures;
    device_end(&chip);
    CHECK_OK(tnr_domain_close(&heap));
}

/* So many rounds, or, with an MPI that takes device memory, some of them. */
static int rounds(int all) { return query_state.answer == 1 ? (all + 5) / 6 : all; }

static bool tosses(uint64_t *state) { return layout_below(state, 2) == 0; }

/* ---- One end of something: a piece in the heap, and perhaps its twin, which is used then ------------------------------------------------ */

typedef struct side {
    layout_piece host;
    layout_piece twin;
    bool away;
} side;

static void side_make(const layout_shape *shape, bool away, side *of)
{
    layout_make(&own, heap, shape, layout_below(&own, 3) == 0 ? LAYOUT_COMPACT : LAYOUT_ANY, &of->host);
    of->away = away;
    if (away) {
        device_twin(&chip, chip.domain, &of->host, &of->twin);
    }
}

/* The twin gets what the host's has. */
static void side_fill(const side *of, uint64_t seed)
{
    layout_fill(&of->host, seed);
    if (of->away) {
        const void *data;
        tnr_tensor_info info;
        CHECK_OK(tnr_tensor_describe(of->host.tensor, &info));
        CHECK_OK(tnr_tensor_host_data(of->host.tensor, &data));
        memcpy(device_bytes(&chip, of->twin.tensor), data, info.bytes);
    }
}

static const tnr_view_mut *side_view(const side *of) { return of->away ? &of->twin.view : &of->host.view; }

/* The window has the elements of number `seed`, and nothing around it has changed. */
static void side_check(side *of, uint64_t seed)
{
    if (of->away) {
        layout_fill(&of->host, seed);
        CHECK(device_same(&chip, &of->twin, &of->host));
    } else {
        layout_check(&of->host.view.view, seed);
    }
}

static void side_end(side *of)
{
    layout_end(&of->host);
    if (of->away) {
        layout_end(&of->twin);
    }
}

/* A new tensor, in the device or not, has the elements of number `seed`. */
static void check_new(tnr_tensor *made, const layout_shape *shape, uint64_t seed)
{
    tnr_tensor_info info;
    tnr_tensor *host = made;
    CHECK_OK(tnr_tensor_describe(made, &info));
    if (info.access == TNR_ACCESS_NONE) {
        device_download(&chip, made, heap, &host);
        CHECK_OK(tnr_tensor_release(&made));
    }
    collective_check_tensor(host, shape, seed);
    CHECK_OK(tnr_tensor_release(&host));
}

/* ---- One rank to another --------------------------------------------------------------------------------------------------------------- */

typedef enum way { WAY_BLOCKING, WAY_NEW, WAY_TICKETS, WAY_TICKETS_NEW, WAY_EXCHANGE, WAYS } way;

static void finish(tnr_ticket **ticket)
{
    CHECK_OK(tnr_ticket_wait(ticket));
    CHECK(*ticket == NULL);
}

static void round_a_ring(tnr_world *world, bool tickets, int64_t most)
{
    layout_shape shape;
    layout_draw_shape(&common, most, &shape);
    const uint64_t seed = layout_random(&common) >> 8;
    const way drawn = (way)layout_below(&common, WAYS);
    const way how = !tickets && drawn != WAY_NEW ? WAY_EXCHANGE : drawn; /* two at a time */
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    tnr_domain *domain = tosses(&own) ? chip.domain : heap;
    tnr_tensor *made = NULL;
    tnr_ticket *sent = NULL;
    tnr_ticket *got = NULL;
    side send;
    side receive;
    side_make(&shape, tosses(&own), &send);
    side_fill(&send, seed + (uint64_t)ranks_me);
    side_make(&shape, tosses(&own), &receive);
    const tnr_view *from = &side_view(&send)->view;
    const tnr_view_mut *to = side_view(&receive);
    if (how == WAY_EXCHANGE) {
        CHECK_OK(tnr_world_send_receive(world, from, next, to, last, 3));
    } else if (how == WAY_BLOCKING || how == WAY_NEW) {
        CHECK_OK(tnr_world_send_begin(world, from, next, 3, &sent));
        CHECK_OK(how == WAY_NEW ? tnr_world_receive(world, last, 3, domain, &made)
                                : tnr_world_receive_into(world, to, last, 3));
        finish(&sent);
    } else {
        CHECK_OK(how == WAY_TICKETS_NEW ? tnr_world_receive_begin(world, last, 3, domain, &made, &got)
                                        : tnr_world_receive_into_begin(world, to, last, 3, &got));
        CHECK_OK(tnr_world_send_begin(world, from, next, 3, &sent));
        finish(&got);
        finish(&sent);
    }
    if (made != NULL) {
        check_new(made, &shape, seed + (uint64_t)last);
    } else {
        side_check(&receive, seed + (uint64_t)last);
    }
    side_check(&send, seed + (uint64_t)ranks_me);
    side_end(&send);
    side_end(&receive);
}

static void transfers_on_every_path(void)
{
    start();
    for (int setting = 0; setting < COLLECTIVE_SETTINGS; setting++) {
        tnr_world *world = collective_world(setting);
        for (int round = 0; round < rounds(60); round++) {
            round_a_ring(world, setting != 2, round % 12 == 11 ? 200000 : round % 3 == 0 ? 6000 : 200);
        }
        collective_end(&world);
    }
    end();
}

/* What is sent from a device and received into one is packed or goes through shared memory, and has its entries in the ledger. */
static void paths_and_ledgers(void)
{
    start();
    const layout_shape shape = {TNR_F64, 1, {40000}, 40000};
    for (int setting = 0; setting < 2 && ranks_size > 1; setting++) {
        tnr_world *world = collective_world(setting);
        tnr_world_info info;
        tnr_ledger before;
        tnr_ledger after;
        side of;
        side_make(&shape, true, &of);
        side_fill(&of, 5);
        CHECK_OK(tnr_ledger_get(chip.domain, &before));
        if (ranks_me == 0) {
            CHECK_OK(tnr_world_send(world, &side_view(&of)->view, 1, 0));
        } else if (ranks_me == 1) {
            CHECK_OK(tnr_world_receive_into(world, side_view(&of), 0, 0));
        }
        CHECK_OK(tnr_ledger_get(chip.domain, &after));
        CHECK_OK(tnr_world_describe(world, &info));
        CHECK(info.sends[TNR_PATH_DIRECT] == 0 && info.sends[TNR_PATH_DERIVED] == 0);
        CHECK(ranks_me != 0 || info.sends[info.shared ? TNR_PATH_SHARED : TNR_PATH_PACKED] == 1);
        const tnr_copy_reason reason = ranks_me == 0 ? TNR_COPY_SEND : TNR_COPY_RECEIVE;
        CHECK(ranks_me > 1 || after.copies[reason].bytes - before.copies[reason].bytes == 40000 * sizeof(double));
        side_check(&of, 5);
        side_end(&of);
        collective_end(&world);
    }
    end();
}

/* ---- Prepared exchanges ------------------------------------------------------------------------------------------------------------------- */

static void prepared_exchanges(void)
{
    start();
    for (int setting = 0; setting < COLLECTIVE_SETTINGS; setting++) {
        tnr_world *world = setting == 2 ? collective_world(0) : collective_world(setting);
        for (int round = 0; round < rounds(6); round++) {
            enum { PARTS = 4 };
            layout_shape shapes[PARTS / 2];
            side sides[PARTS];
            tnr_exchange_part parts[PARTS];
            tnr_exchange *exchange = NULL;
            for (int i = 0; i < PARTS; i++) {
                if (i % 2 == 0) {
                    layout_draw_shape(&common, i == 0 ? 300 : 50000, &shapes[i / 2]);
                }
                side_make(&shapes[i / 2], tosses(&own), &sides[i]);
                parts[i].channel = i / 2;
                parts[i].rank = (ranks_me + (i % 2 == 0 ? 1 : ranks_size - 1)) % ranks_size;
                parts[i].send = i % 2 == 0 ? &side_view(&sides[i])->view : NULL;
                parts[i].receive = i % 2 == 0 ? NULL : side_view(&sides[i]);
            }
            CHECK_OK(tnr_exchange_prepare(world, parts, PARTS, &exchange));
            for (uint64_t step = 0; step < 5; step++) {
                for (int i = 0; i < PARTS; i += 2) {
                    side_fill(&sides[i], step * 100 + (uint64_t)(ranks_me * 10 + i));
                }
                CHECK_OK(tnr_exchange_run(exchange));
                for (int i = 1; i < PARTS; i += 2) {
                    side_check(&sides[i], step * 100 + (uint64_t)(parts[i].rank * 10 + i - 1));
                }
            }
            CHECK_OK(tnr_exchange_destroy(&exchange));
            for (int i = 0; i < PARTS; i++) {
                side_end(&sides[i]);
            }
        }
        collective_end(&world);
    }
    end();
}

/* ---- All ranks at once: the same call with views in the heap, then with twins ---------------------------------------------------------------- */

typedef enum kind { BROADCAST, REDUCE, ALL_REDUCE, SCATTER, GATHER, ALL_GATHER, ALL_TO_ALL, REDISTRIBUTE, KINDS } kind;

typedef struct call {
    kind kind;
    tnr_world *world;
    tnr_engine *engine;
    int root;
    int64_t whole[3];
    layout_shape give; /* of this rank */
    layout_shape take;
    bool gives;
    bool takes;
    tnr_axis_cut from_cuts[3];
    tnr_axis_cut to_cuts[3];
    tnr_distribution from;
    tnr_distribution to;
} call;

static void set_shape(layout_shape *shape, tnr_dtype dtype, const int64_t *extents)
{
    shape->dtype = dtype;
    shape->rank = 3;
    shape->count = 1;
    for (int axis = 0; axis < 3; axis++) {
        shape->shape[axis] = extents[axis];
        shape->count *= extents[axis];
    }
}

static void set_part(layout_shape *shape, int axis)
{
    int64_t start_at = 0;
    const int64_t whole = shape->shape[axis];
    CHECK_OK(tnr_block_range(whole, ranks_size, ranks_me, &start_at, &shape->shape[axis]));
    shape->count = shape->shape[0] * shape->shape[1] * shape->shape[2];
}

static void draw_call(kind which, tnr_world *world, tnr_engine *engine, call *of)
{
    static const tnr_dtype dtypes[] = {TNR_I32, TNR_I64};
    const tnr_dtype dtype = dtypes[layout_below(&common, 2)];
    const bool large = layout_below(&common, 4) == 0;
    memset(of, 0, sizeof(*of));
    of->kind = which;
    of->world = world;
    of->engine = engine;
    of->root = (int)layout_below(&common, (uint64_t)ranks_size);
    for (int axis = 0; axis < 3; axis++) {
        of->whole[axis] = (int64_t)layout_below(&common, large ? 60 : 7);
    }
    set_shape(&of->give, dtype, of->whole);
    set_shape(&of->take, dtype, of->whole);
    of->gives = true;
    of->takes = true;
    switch (which) {
    case BROADCAST:
        of->gives = ranks_me == of->root;
        break;
    case REDUCE:
        of->takes = ranks_me == of->root;
        break;
    case SCATTER:
        of->gives = ranks_me == of->root;
        set_part(&of->take, 1);
        break;
    case GATHER:
        of->takes = ranks_me == of->root;
        set_part(&of->give, 1);
        break;
    case ALL_GATHER:
        set_part(&of->give, 2);
        break;
    case ALL_TO_ALL:
        set_part(&of->give, 1);
        set_part(&of->take, 0);
        break;
    case REDISTRIBUTE:
        for (int axis = 0; axis < 3; axis++) {
            of->from_cuts[axis].parts = axis == 0 ? ranks_size : 1;
            of->to_cuts[axis].parts = axis == 1 ? ranks_size : 1;
            of->to_cuts[axis].block = axis == 1 ? 2 : 0;
        }
        of->from = (tnr_distribution){sizeof(tnr_distribution), 3, of->whole, of->from_cuts, NULL};
        of->to = (tnr_distribution){sizeof(tnr_distribution), 3, of->whole, of->to_cuts, NULL};
        CHECK_OK(tnr_distribution_part(&of->from, ranks_size, ranks_me, &of->gives, of->give.shape));
        CHECK_OK(tnr_distribution_part(&of->to, ranks_size, ranks_me, &of->takes, of->take.shape));
        break;
    default:
        break;
    }
}

static tnr_status make_call(const call *of, const tnr_view *give, const tnr_view_mut *take, tnr_domain *domain,
                            tnr_tensor **out)
{
    const bool into = out == NULL;
    const bool sum = of->kind == REDUCE || of->kind == ALL_REDUCE;
    const tnr_world_combine combine = of->whole[0] % 2 == 0 || !sum ? TNR_COMBINE_SUM : TNR_COMBINE_MAX;
    tnr_world *world = of->world;
    switch (of->kind) {
    case BROADCAST:
        return into ? tnr_world_broadcast_into(world, of->root, give, ranks_me == of->root ? NULL : take)
                    : tnr_world_broadcast(world, of->root, give, domain, out);
    case REDUCE:
        return into ? tnr_world_reduce_into(world, of->engine, combine, of->root, give, take)
                    : tnr_world_reduce(world, of->engine, combine, of->root, give, domain, out);
    case ALL_REDUCE:
        return into ? tnr_world_all_reduce_into(world, of->engine, combine, give, take)
                    : tnr_world_all_reduce(world, of->engine, combine, give, domain, out);
    case SCATTER:
        return into ? tnr_world_scatter_into(world, of->root, give, 1, take)
                    : tnr_world_scatter(world, of->root, give, 1, NULL, domain, out);
    case GATHER:
        return into ? tnr_world_gather_into(world, of->root, give, 1, take)
                    : tnr_world_gather(world, of->root, give, 1, domain, out);
    case ALL_GATHER:
        return into ? tnr_world_all_gather_into(world, give, 2, take)
                    : tnr_world_all_gather(world, give, 2, domain, out);
    case ALL_TO_ALL:
        return into ? tnr_world_all_to_all_into(world, give, 0, NULL, 1, take)
                    : tnr_world_all_to_all(world, give, 0, NULL, 1, domain, out);
    default:
        return into ? tnr_world_redistribute_into(world, &of->from, give, &of->to, take)
                    : tnr_world_redistribute(world, &of->from, give, &of->to, domain, out);
    }
}

/* The bytes of two compact tensors, the second one of the device. */
static void check_made(tnr_tensor **expected, tnr_tensor **made)
{
    tnr_tensor_info info;
    tnr_tensor_info other;
    const void *data;
    CHECK((*expected == NULL) == (*made == NULL));
    if (*made == NULL) {
        return;
    }
    CHECK_OK(tnr_tensor_describe(*expected, &info));
    CHECK_OK(tnr_tensor_describe(*made, &other));
    CHECK(info.dtype == other.dtype && info.rank == other.rank && info.bytes == other.bytes);
    CHECK_OK(tnr_tensor_host_data(*expected, &data));
    CHECK(info.bytes == 0 || memcmp(device_bytes(&chip, *made), data, info.bytes) == 0);
    CHECK_OK(tnr_tensor_release(expected));
    CHECK_OK(tnr_tensor_release(made));
}

static void compare_call(const call *of)
{
    side give;
    side take;
    side_make(&of->give, tosses(&own), &give);
    side_fill(&give, layout_random(&own) >> 8);
    side_make(&of->take, tosses(&own), &take);
    const tnr_view *source = of->gives ? &give.host.view.view : NULL;
    const tnr_view_mut *target = of->takes ? &take.host.view : NULL;
    const tnr_view *away_source = of->gives ? &side_view(&give)->view : NULL;
    const tnr_view_mut *away_target = of->takes ? side_view(&take) : NULL;
    CHECK_OK(make_call(of, source, target, NULL, NULL));
    CHECK_OK(make_call(of, away_source, away_target, NULL, NULL));
    CHECK(!take.away || device_same(&chip, &take.twin, &take.host));
    CHECK(!give.away || device_same(&chip, &give.twin, &give.host));
    tnr_tensor *expected = NULL;
    tnr_tensor *made = NULL;
    const bool gets = of->takes || of->kind == BROADCAST;
    CHECK_OK(make_call(of, source, NULL, gets ? heap : NULL, &expected));
    CHECK_OK(make_call(of, away_source, NULL, gets ? chip.domain : NULL, &made));
    check_made(&expected, &made);
    side_end(&give);
    side_end(&take);
}

static void collective_calls(void)
{
    start();
    tnr_engine *engine = NULL;
    CHECK_OK(tnr_engine_create(heap, NULL, &engine));
    for (int setting = 0; setting < COLLECTIVE_SETTINGS; setting++) {
        tnr_world *world = collective_world(setting);
        for (int round = 0; round < rounds(8) * KINDS; round++) {
            call of;
            draw_call((kind)(round % KINDS), world, engine, &of);
            compare_call(&of);
        }
        collective_end(&world);
    }
    CHECK_OK(tnr_engine_destroy(&engine));
    end();
}

/* Sum of all ranks over the very elements that it comes from. */
static void all_reduce_in_place(void)
{
    start();
    tnr_engine *engine = NULL;
    CHECK_OK(tnr_engine_create(heap, NULL, &engine));
    const layout_shape shape = {TNR_I64, 2, {301, 257}, INT64_C(301) * 257};
    for (int setting = 0; setting < COLLECTIVE_SETTINGS; setting++) {
        tnr_world *world = collective_world(setting);
        side of;
        side_make(&shape, true, &of);
        side_fill(&of, (uint64_t)ranks_me);
        CHECK_OK(tnr_world_all_reduce_into(world, engine, TNR_COMBINE_SUM, &of.twin.view.view, &of.twin.view));
        CHECK_OK(tnr_world_all_reduce_into(world, engine, TNR_COMBINE_SUM, &of.host.view.view, &of.host.view));
        CHECK(device_same(&chip, &of.twin, &of.host));
        side_end(&of);
        collective_end(&world);
    }
    CHECK_OK(tnr_engine_destroy(&engine));
    end();
}

/* ---- Groups ----------------------------------------------------------------------------------------------------------------------------------- */

/* Has MPI one-sided reads over this transport? */
static bool one_sided(void)
{
    MPI_Comm comm;
    MPI_Win window = MPI_WIN_NULL;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    const bool has = MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window) == MPI_SUCCESS;
    if (has) {
        CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    return has;
}

/* The second descriptor of a rank, which has two: the window on its piece. */
static tnr_slot slot_of(const tnr_group *group, int rank)
{
    tnr_slot slot;
    const int index = rank == ranks_me ? 1 : 2 + 2 * (rank < ranks_me ? rank : rank - 1) + 1;
    CHECK_OK(tnr_group_slot(group, (uint32_t)index, &slot));
    return slot;
}

/* A piece of number `seed` in a domain that the host maps or reaches, as owner and window of a new group. */
static void publish_piece(tnr_world *world, tnr_domain *domain, const layout_shape *shape, uint64_t seed,
                          tnr_group **group)
{
    layout_piece piece;
    tnr_tensor *owner = NULL;
    tnr_view view;
    tnr_slot slot;
    layout_make(&own, heap, shape, LAYOUT_ANY, &piece);
    layout_fill(&piece, seed);
    CHECK_OK(tnr_tensor_view(piece.tensor, &view));
    CHECK_OK(tnr_tensor_duplicate(&view, domain, &owner));
    CHECK_OK(tnr_group_create(heap, group));
    CHECK_OK(tnr_group_append(*group, &owner, &slot));
    CHECK_OK(tnr_group_describe_span(*group, slot, shape->dtype, 0,
                                     (uint64_t)view.shape[0] * tnr_dtype_size(shape->dtype), shape->rank, shape->shape,
                                     piece.view.view.strides, piece.view.view.offset, NULL));
    layout_end(&piece);
    CHECK_OK(tnr_group_publish(world, *group));
}

static void fetch_from_each(tnr_world *world, const tnr_group *group, const layout_shape *shape, uint64_t seed)
{
    for (int rank = 0; rank < ranks_size; rank++) {
        tnr_tensor *made = NULL;
        side into;
        CHECK_OK(tnr_group_fetch(world, group, slot_of(group, rank), chip.domain, &made));
        check_new(made, shape, seed + (uint64_t)rank);
        side_make(shape, true, &into);
        CHECK_OK(tnr_group_fetch_into(world, group, slot_of(group, rank), side_view(&into)));
        side_check(&into, seed + (uint64_t)rank);
        side_end(&into);
        if (shape->count == 0) {
            continue;
        }
        const int64_t out = (int64_t)chip.out;
        chip.fail_write = 1;
        CHECK_STATUS(TNR_ERR_BACKEND, tnr_group_fetch(world, group, slot_of(group, rank), chip.domain, &made));
        CHECK_TEXT("device: write refused on order");
        CHECK((int64_t)chip.out == out && chip.fail_write == 0);
        side_make(shape, true, &into);
        chip.fail_write = shape->count > 1000 ? 2 : 1; /* in the midst, perhaps: then with reads under way */
        const tnr_status status = tnr_group_fetch_into(world, group, slot_of(group, rank), side_view(&into));
        CHECK(status == (chip.fail_write == 0 ? TNR_ERR_BACKEND : TNR_OK));
        chip.fail_write = 0;
        side_end(&into);
    }
}

/* Into the device from heaps, from windows, out of a neighbour's memory and by MPI. */
static void fetch_into_the_device(void)
{
    start();
    const bool has = one_sided();
    for (int setting = 0; setting < 2; setting++) {
        tnr_world *world = collective_world(setting);
        tnr_domain *window = NULL;
        tnr_window_options options = TNR_WINDOW_OPTIONS;
        options.bytes = 16 << 20;
        CHECK_OK(tnr_window_create(world, heap, &options, &window));
        for (int round = 0; round < 16 && (setting == 0 || has || ranks_size == 1); round++) {
            layout_shape shape;
            tnr_group *group = NULL;
            layout_draw_shape(&common, round % 4 == 3 ? 60000 : 400, &shape);
            const uint64_t seed = layout_random(&common) >> 8;
            publish_piece(world, round % 2 == 0 ? heap : window, &shape, seed + (uint64_t)ranks_me, &group);
            fetch_from_each(world, group, &shape, seed);
            CHECK_OK(tnr_group_unpublish(world, group));
            CHECK_OK(tnr_group_release(&group));
        }
        collective_end(&world);
        CHECK_OK(tnr_domain_close(&window));
    }
    end();
}

/* What others would have to read out of the device is not published; this rank's own is copied where it is. */
static void groups_of_the_device(void)
{
    start();
    tnr_world *world = collective_world(0);
    const layout_shape shape = {TNR_F32, 2, {30, 20}, 600};
    tnr_group *group = NULL;
    tnr_tensor *made = NULL;
    tnr_slot slot;
    side of;
    side_make(&shape, true, &of);
    side_fill(&of, 9);
    CHECK_OK(tnr_group_create(heap, &group));
    CHECK_OK(tnr_group_append(group, &of.twin.tensor, &slot));
    CHECK_STATUS(TNR_ERR_RESIDENCY, tnr_group_publish(world, group));
    CHECK_TEXT("device");
    CHECK_OK(tnr_group_fetch(world, group, slot, heap, &made));
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_group_fetch(world, group, slot, chip.domain, &made));
    chip.fail_read = 1;
    tnr_tensor *none = NULL;
    CHECK_STATUS(TNR_ERR_BACKEND, tnr_group_fetch(world, group, slot, heap, &none));
    CHECK(none == NULL);
    const void *data;
    tnr_tensor_info info;
    CHECK_OK(tnr_tensor_describe(made, &info));
    CHECK_OK(tnr_tensor_host_data(of.host.tensor, &data));
    CHECK(memcmp(device_bytes(&chip, made), data, info.bytes) == 0);
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_group_release(&group));
    layout_end(&of.host);
    collective_end(&world);
    end();
}

/* ---- Domains over, and without --------------------------------------------------------------------------------------------------------- */

static tnr_status unread_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    (void)state;
    (void)alignment;
    block->bytes = bytes;
    return TNR_OK;
}

static void unread_release(void *state, const tnr_block *block)
{
    (void)state;
    (void)block;
}

/* Through a pool; and a domain without read and write is refused at both ends. */
static void pools_and_domains_that_do_not_copy(void)
{
    start();
    tnr_world *world = collective_world(0);
    const layout_shape shape = {TNR_I64, 1, {5000}, 5000};
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    tnr_domain *pool = NULL;
    tnr_tensor *made = NULL;
    tnr_ticket *ticket = NULL;
    tnr_view view;
    side of;
    CHECK_OK(tnr_pool_create(chip.domain, NULL, &pool));
    side_make(&shape, false, &of);
    side_fill(&of, (uint64_t)ranks_me);
    CHECK_OK(tnr_world_send_begin(world, &side_view(&of)->view, next, 0, &ticket));
    CHECK_OK(tnr_world_receive(world, last, 0, pool, &made));
    finish(&ticket);
    CHECK_OK(tnr_tensor_view(made, &view));
    CHECK_OK(tnr_world_send_receive(world, &view, last, side_view(&of), next, 0)); /* back to where it came from */
    side_check(&of, (uint64_t)ranks_me);
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_domain_close(&pool));

    static const tnr_domain_ops ops = {.name = "unread", .allocate = unread_allocate, .release = unread_release};
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    tnr_domain *unread = NULL;
    config.ops = &ops;
    config.access = TNR_ACCESS_NONE;
    CHECK_OK(tnr_domain_create(heap, &config, &unread));
    CHECK_OK(tnr_world_send_begin(world, &side_view(&of)->view, next, 0, &ticket));
    CHECK_STATUS(TNR_ERR_RESIDENCY, tnr_world_receive(world, last, 0, unread, &made));
    CHECK_TEXT("no read and write");
    CHECK_STATUS(TNR_ERR_PEER, tnr_ticket_wait(&ticket));
    CHECK_TEXT("no read and write");
    side_end(&of);
    collective_end(&world);
    CHECK_OK(tnr_domain_close(&unread));
    end();
}

/* ---- An MPI that takes it ------------------------------------------------------------------------------------------------------------------ */

static void direct(void (*run)(void))
{
    exposures = 0;
    run();
    CHECK(exposures == 0);
    query_state.answer = 1;
    run();
    query_state.answer = 0;
    CHECK(query_state.asked != 0 || exposures == 0);
    CHECK(query_state.too_early == 0);
    int64_t all = 0;
    CHECK(MPI_Allreduce(&exposures, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(all > 0 || ranks_size == 1 || query_state.asked == 0);
}

static void transfers_direct_and_not(void) { direct(transfers_on_every_path); }
static void exchanges_direct_and_not(void) { direct(prepared_exchanges); }
static void collective_calls_direct_and_not(void) { direct(collective_calls); }
static void in_place_direct_and_not(void) { direct(all_reduce_in_place); }

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(transfers_direct_and_not), RANK_TEST(paths_and_ledgers),
        RANK_TEST(exchanges_direct_and_not), RANK_TEST(collective_calls_direct_and_not),
        RANK_TEST(in_place_direct_and_not),  RANK_TEST(fetch_into_the_device),
        RANK_TEST(groups_of_the_device),     RANK_TEST(pools_and_domains_that_do_not_copy),
    };
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
