/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3
 * transports: tcp
 * Every call of tenure::mpi that copies, with tensors of every kind of a device's memory at both ends, on the fake driver: what comes out
 * is what the same call gives in heap memory. By default MPI sees no address of a device (CU-02); where it says that it takes them it gets
 * those of plain memory, dense, and no others; and the off switches win. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <string.h>

#include "cuda_ranks.h"

typedef enum call {
    SEND,
    TICKETS,
    SEND_RECEIVE,
    EXCHANGE,
    BROADCAST,
    REDUCE,
    ALL_REDUCE,
    SCATTER,
    GATHER,
    ALL_GATHER,
    ALL_TO_ALL,
    REDISTRIBUTE,
    FETCH,
    CALLS
} call;

static const char *const call_names[CALLS] = {"send, receive", "tickets",      "send_receive", "exchange", "broadcast",
                                              "reduce",        "all_reduce",   "scatter",      "gather",   "all_gather",
                                              "all_to_all",    "redistribute", "fetch"};
static const char *const place_names[PLACES] = {"pool", "plain", "pinned", "managed", "host"};

static const int64_t part[2] = {60, 90}; /* 43 KB: several pieces on every path */

typedef struct table {
    tnr_world *world;
    tnr_engine *engine;
    tnr_axis_cut rows[2];
    tnr_axis_cut columns[2];
    int64_t whole[2];
    tnr_distribution from;
    tnr_distribution to;
} table;

static void table_begin(table *of, int setting)
{
    const tnr_axis_cut one = {1, 0, NULL};
    of->world = here_world(heap(), setting, 60000);
    CHECK_OK(tnr_engine_create(heap(), NULL, &of->engine));
    of->whole[0] = part[0] * ranks_size;
    of->whole[1] = part[1];
    of->rows[0] = (tnr_axis_cut){ranks_size, 0, NULL};
    of->rows[1] = one;
    of->columns[0] = one;
    of->columns[1] = (tnr_axis_cut){ranks_size, 4, NULL};
    of->from = (tnr_distribution){sizeof(tnr_distribution), 2, of->whole, of->rows, NULL};
    of->to = (tnr_distribution){sizeof(tnr_distribution), 2, of->whole, of->columns, NULL};
}

static void table_end(table *of)
{
    tnr_world_info info;
    CHECK_OK(tnr_world_barrier(of->world));
    CHECK_OK(tnr_world_describe(of->world, &info));
    CHECK(info.requests == 0 && info.tickets == 0 && info.poisoned == TNR_OK);
    CHECK_OK(tnr_engine_destroy(&of->engine));
    CHECK_OK(tnr_world_destroy(&of->world));
}

static int right(void) { return (ranks_me + 1) % ranks_size; }
static int left(void) { return (ranks_me + ranks_size - 1) % ranks_size; }

/* Round the ring: rank 0 sends first, or, to itself, begins to. */
static tnr_status send_and_receive(tnr_world *world, const tnr_view *source, tnr_domain *domain, tnr_tensor **made,
                                   const tnr_view_mut *target)
{
    tnr_ticket *sent = NULL;
    if (ranks_size == 1) {
        CHECK_OK(tnr_world_send_begin(world, source, 0, 1, &sent));
    } else if (ranks_me == 0) {
        CHECK_OK(tnr_world_send(world, source, right(), 1));
    }
    const tnr_status status = target != NULL ? tnr_world_receive_into(world, target, left(), 1)
                                             : tnr_world_receive(world, left(), 1, domain, made);
    if (ranks_size == 1) {
        CHECK_OK(tnr_ticket_wait(&sent));
    } else if (ranks_me != 0) {
        CHECK_OK(tnr_world_send(world, source, right(), 1));
    }
    return status;
}

static tnr_status by_tickets(tnr_world *world, const tnr_view *source, tnr_domain *domain, tnr_tensor **made,
                             const tnr_view_mut *target)
{
    tnr_ticket *sent = NULL;
    tnr_ticket *got = NULL;
    CHECK_OK(target != NULL ? tnr_world_receive_into_begin(world, target, left(), 2, &got)
                            : tnr_world_receive_begin(world, left(), 2, domain, made, &got));
    CHECK_OK(tnr_world_send_begin(world, source, right(), 2, &sent));
    CHECK_OK(tnr_ticket_wait(&sent));
    return tnr_ticket_wait(&got);
}

static tnr_status by_exchange(tnr_world *world, const tnr_view *source, const tnr_view_mut *target)
{
    const tnr_exchange_part parts[2] = {{right(), 3, source, NULL}, {left(), 3, NULL, target}};
    tnr_exchange *exchange = NULL;
    CHECK_OK(tnr_exchange_prepare(world, parts, 2, &exchange));
    for (int round = 0; round < 2; round++) {
        CHECK_OK(tnr_exchange_run(exchange));
    }
    return tnr_exchange_destroy(&exchange);
}

/* What the right neighbour published, which lies in a heap. */
static tnr_status by_fetch(tnr_world *world, const tnr_view *source, tnr_domain *domain, tnr_tensor **made,
                           const tnr_view_mut *target)
{
    tnr_group *group = NULL;
    tnr_tensor *owner = here_counting(PLACE_HOST, 2, part, 1000000 * (ranks_me + 1));
    tnr_slot slot;
    (void)source;
    CHECK_OK(tnr_group_create(heap(), &group));
    CHECK_OK(tnr_group_append(group, &owner, &slot));
    CHECK_OK(tnr_group_publish(world, group));
    const int theirs = right() == ranks_me ? 0 : 1 + (right() < ranks_me ? right() : right() - 1);
    CHECK_OK(tnr_group_slot(group, (uint32_t)theirs, &slot));
    const tnr_status status = target != NULL ? tnr_group_fetch_into(world, group, slot, target)
                                             : tnr_group_fetch(world, group, slot, domain, made);
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_OK(tnr_group_release(&group));
    return status;
}

/* `target` NULL: into a new tensor. Rank 0 is root. */
static tnr_status make_call(const table *of, call which, const tnr_view *source, tnr_domain *domain, tnr_tensor **made,
                            const tnr_view_mut *target)
{
    tnr_world *world = of->world;
    const bool root = ranks_me == 0;
    const bool into = target != NULL;
    switch (which) {
    case SEND:
        return send_and_receive(world, source, domain, made, target);
    case TICKETS:
        return by_tickets(world, source, domain, made, target);
    case SEND_RECEIVE:
        return tnr_world_send_receive(world, source, right(), target, left(), 0);
    case EXCHANGE:
        return by_exchange(world, source, target);
    case BROADCAST:
        return into ? tnr_world_broadcast_into(world, 0, root ? source : NULL, root ? NULL : target)
                    : tnr_world_broadcast(world, 0, root ? source : NULL, domain, made);
    case REDUCE:
        return into ? tnr_world_reduce_into(world, of->engine, TNR_COMBINE_SUM, 0, source, root ? target : NULL)
                    : tnr_world_reduce(world, of->engine, TNR_COMBINE_SUM, 0, source, root ? domain : NULL, made);
    case ALL_REDUCE:
        return into ? tnr_world_all_reduce_into(world, of->engine, TNR_COMBINE_SUM, source, target)
                    : tnr_world_all_reduce(world, of->engine, TNR_COMBINE_SUM, source, domain, made);
    case SCATTER:
        return into ? tnr_world_scatter_into(world, 0, root ? source : NULL, 1, target)
                    : tnr_world_scatter(world, 0, root ? source : NULL, 1, NULL, domain, made);
    case GATHER:
        return into ? tnr_world_gather_into(world, 0, source, 1, root ? target : NULL)
                    : tnr_world_gather(world, 0, source, 1, root ? domain : NULL, made);
    case ALL_GATHER:
        return into ? tnr_world_all_gather_into(world, source, 1, target)
                    : tnr_world_all_gather(world, source, 1, domain, made);
    case ALL_TO_ALL:
        return into ? tnr_world_all_to_all_into(world, source, 0, NULL, 1, target)
                    : tnr_world_all_to_all(world, source, 0, NULL, 1, domain, made);
    case REDISTRIBUTE:
        return into ? tnr_world_redistribute_into(world, &of->from, source, &of->to, target)
                    : tnr_world_redistribute(world, &of->from, source, &of->to, domain, made);
    default:
        return by_fetch(world, source, domain, made, target);
    }
}

/* What the call brings in heap memory: asked of the call itself, or, where it makes no tensor, of one that brings the same. */
static tnr_tensor *expected_of(const table *of, call which)
{
    tnr_tensor *source = here_counting(PLACE_HOST, 2, part, 1000 * ranks_me);
    const tnr_view view = here_view(source);
    tnr_tensor *made = NULL;
    CHECK_OK(make_call(of, which == SEND_RECEIVE || which == EXCHANGE ? TICKETS : which, &view, heap(), &made, NULL));
    CHECK_OK(tnr_tensor_release(&source));
    return made;
}

typedef struct counts {
    uint64_t sends[TNR_WORLD_PATHS]; /* of all ranks */
} counts;

static counts count(const tnr_world *world)
{
    tnr_world_info info;
    counts all;
    CHECK_OK(tnr_world_describe(world, &info));
    CHECK(MPI_Allreduce(info.sends, all.sends, TNR_WORLD_PATHS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    return all;
}

/* One cell of the table, new tensors and views; then which paths were taken. */
static counts cell(const table *of, call which, place where)
{
    tnr_tensor *expected = expected_of(of, which);
    const counts before = count(of->world);
    tnr_tensor *source = here_counting(where, 2, part, 1000 * ranks_me);
    const tnr_view view = here_view(source);
    tnr_tensor *made = NULL;
    if (which != SEND_RECEIVE && which != EXCHANGE) {
        CHECK_OK(make_call(of, which, &view, here.domain[where], &made, NULL));
        CHECK((made == NULL) == (expected == NULL));
        CHECK(made == NULL || here_same(made, expected, 1));
        CHECK_OK(tnr_tensor_release(&made));
    }
    tnr_tensor_info info = {.rank = 2};
    memcpy(info.shape, part, sizeof(part));
    if (expected != NULL) {
        CHECK_OK(tnr_tensor_describe(expected, &info));
    }
    tnr_tensor *target = here_counting(where, info.rank, info.shape, -1000000);
    const tnr_view_mut into = here_view_mut(target);
    CHECK_OK(make_call(of, which, &view, NULL, NULL, &into));
    const bool gets = expected != NULL && (which != BROADCAST || ranks_me != 0);
    CHECK(!gets || here_same(target, expected, 0));
    CHECK_OK(tnr_tensor_release(&source));
    CHECK_OK(tnr_tensor_release(&target));
    CHECK_OK(tnr_tensor_release(&expected));
    counts after = count(of->world);
    for (int path = 0; path < TNR_WORLD_PATHS; path++) {
        after.sends[path] -= before.sends[path];
    }
    return after;
}

static const char *paths_of(const counts *of, char *text)
{
    static const char letters[] = "seDdPSM"; /* self, eager, direct, derived, packed, shared, device memory by MPI */
    int length = 0;
    for (int path = 0; path < TNR_PATH_END; path++) {
        if (of->sends[path] != 0) {
            text[length++] = letters[path];
        }
    }
    text[length] = '\0';
    return text;
}

/* Calls whose transfers are dense at the sender, so that MPI gets all of them where it may. */
static bool is_dense(call which)
{
    return which != REDUCE && which != ALL_REDUCE && which != ALL_TO_ALL && which != FETCH && which != REDISTRIBUTE;
}

/* Calls that send pieces of the world's own, combined in host memory. */
static bool is_scratch(call which) { return which == REDUCE || which == ALL_REDUCE; }

static void fill_table(bool direct)
{
    here_begin(11);
    query_state.answer = direct ? 1 : 0;
    for (int setting = 0; setting < 2; setting++) {
        table of;
        table_begin(&of, setting);
        const bool may = direct && query_exists(of.world);
        for (int which = 0; which < CALLS; which++) {
            char line[200] = "";
            size_t used = 0;
            for (int where = 0; where < PLACE_HOST; where++) {
                char text[16];
                shim.count = 0;
                const counts taken = cell(&of, (call)which, (place)where);
                used += (size_t)snprintf(line + used, sizeof(line) - used, " %s:%s", place_names[where],
                                         paths_of(&taken, text));
                const bool wanted = may && where == PLACE_PLAIN && ranks_size > 1;
                CHECK(where == PLACE_PINNED || is_scratch((call)which) ||
                      (taken.sends[TNR_PATH_DIRECT] == 0 && taken.sends[TNR_PATH_DERIVED] == 0));
                CHECK(wanted ? !is_dense((call)which) || taken.sends[TNR_PATH_DEVICE] != 0
                             : taken.sends[TNR_PATH_DEVICE] == 0);
                CHECK(wanted || shim.count == 0);
            }
            if (ranks_me == 0) {
                printf("%s, %s: %-14s%s\n", direct ? "direct" : "staged", setting == 0 ? "shared" : "messages",
                       call_names[which], line);
            }
        }
        table_end(&of);
    }
    here_end();
}

/* Row CU-02: device tensors with an MPI that does not take them; the shim ends the test where MPI gets one. */
static void cu_02_every_call_staged(void) { fill_table(false); }
static void every_call_direct(void) { fill_table(true); }

/* ---- Which way, and why --------------------------------------------------------------------------------------------------------------- */

static tnr_world *world_of(const tnr_world_options *options, tnr_world_device device, const char *words)
{
    tnr_world *world = NULL;
    tnr_world_info info;
    CHECK_OK(tnr_world_create(heap(), MPI_COMM_WORLD, options, &world));
    CHECK_OK(tnr_world_describe(world, &info));
    if (!query_exists(world)) {
        printf("skipped: this MPI cannot be asked whether it takes device memory\n");
        return world;
    }
    CHECK(info.device == device);
    CHECK(strstr(tnr_world_device_text(info.device), words) != NULL);
    return world;
}

/* One dense plain tensor from rank 0 to 1, and back into another, strided one on request. The shim has what MPI was given. */
static void to_and_fro(tnr_world *world, place where, bool strided)
{
    static const int64_t shape[2] = {100, 40};
    tnr_tensor *tensor = here_counting(where, 2, shape, 5);
    tnr_tensor *same = here_counting(PLACE_HOST, 2, shape, 5);
    tnr_tensor *other = here_counting(where, 2, shape, strided ? 5 : -5000);
    tnr_view_mut into = here_view_mut(other);
    tnr_view from = here_view(tensor);
    if (strided) {
        into.view.shape[0] = 50;
        from.shape[0] = 50;
    }
    if (ranks_me == 0) {
        CHECK_OK(tnr_world_send(world, &from, 1, 0));
    } else if (ranks_me == 1) {
        CHECK_OK(tnr_world_receive_into(world, &into, 0, 0));
        CHECK(here_same(other, same, 0));
    }
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_tensor_release(&same));
    CHECK_OK(tnr_tensor_release(&other));
}

/* Row CU-02: the switches, each alone, with an MPI that would take everything. */
static void cu_02_off_switches_win(void)
{
    if (ranks_size == 1) {
        return;
    }
    here_begin(12);
    query_state.answer = 1;
    tnr_world_options options = TNR_WORLD_OPTIONS;
    for (int shared = 0; shared < 2; shared++) {
        options.no_shared = shared == 0;
        options.no_device = true;
        tnr_world *world = world_of(&options, TNR_WORLD_DEVICE_OFF, "options.no_device");
        to_and_fro(world, PLACE_PLAIN, false);
        CHECK(shim.count == 0);
        CHECK_OK(tnr_world_destroy(&world));
        options.no_device = false;
        CHECK(setenv("TENURE_MPI_DEVICE", "off", 1) == 0);
        world = world_of(&options, TNR_WORLD_DEVICE_OFF_ENVIRONMENT, "TENURE_MPI_DEVICE");
        to_and_fro(world, PLACE_PLAIN, false);
        CHECK(shim.count == 0);
        CHECK_OK(tnr_world_destroy(&world));
        CHECK(setenv("TENURE_MPI_DEVICE", "auto", 1) == 0);
        world = world_of(&options, TNR_WORLD_DEVICE_DIRECT, "direct");
        to_and_fro(world, PLACE_PLAIN, false);
        CHECK(shim.count != 0 || ranks_me > 1 || !query_exists(world));
        CHECK_OK(tnr_world_destroy(&world));
        CHECK(unsetenv("TENURE_MPI_DEVICE") == 0);
        shim.count = 0;
    }
    tnr_world *none = NULL;
    CHECK(setenv("TENURE_MPI_DEVICE", "of", 1) == 0);
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_create(heap(), MPI_COMM_WORLD, NULL, &none));
    CHECK_TEXT("TENURE_MPI_DEVICE is \"of\"");
    CHECK(unsetenv("TENURE_MPI_DEVICE") == 0);
    CHECK(strcmp(tnr_world_device_text((tnr_world_device)99), "unknown") == 0);
    here_end();
}

/* The addresses and lengths of the messages are the tensor's, once each and in order; what is not dense, or of another kind, is staged. */
static void direct_addresses_and_others(void)
{
    static const int64_t shape[2] = {100, 40};
    if (ranks_size == 1) {
        return;
    }
    here_begin(13);
    query_state.answer = 1;
    for (int setting = 0; setting < 2; setting++) {
        tnr_world *world = here_world(heap(), setting, 60000);
        tnr_tensor *tensor = here_counting(PLACE_PLAIN, 2, shape, ranks_me);
        tnr_view_mut view = here_view_mut(tensor);
        const char *first = NULL;
        view.view.offset = 100 * 3; /* columns 3 to 35: dense */
        view.view.shape[1] = 33;
        shim.count = 0;
        if (ranks_me == 0) {
            CHECK_OK(tnr_world_send(world, &view.view, 1, 0));
        } else if (ranks_me == 1) {
            CHECK_OK(tnr_world_receive_into(world, &view, 0, 0));
        }
        uint64_t bytes = 0;
        for (int i = 0; i < shim.count; i++) {
            const shim_message *message = &shim.messages[i];
            first = i == 0 ? message->address : first;
            CHECK(message->address == first + bytes && message->sent == (ranks_me == 0));
            bytes += message->bytes;
        }
        CHECK(ranks_me > 1 || !query_exists(world) || bytes == UINT64_C(100) * 33 * 8);
        CHECK(ranks_me > 1 || !query_exists(world) || shim.count == (setting == 0 ? 1 : 4));
        shim.count = 0;
        to_and_fro(world, PLACE_POOL, false);
        to_and_fro(world, PLACE_MANAGED, false);
        to_and_fro(world, PLACE_PLAIN, true);
        CHECK(shim.count == 0);
        CHECK_OK(tnr_tensor_release(&tensor));
        CHECK_OK(tnr_world_destroy(&world));
    }
    here_end();
}

/* One end direct, the other staged, by their memory or by what their MPI answers: each chooses for itself. */
static void one_end_only(void)
{
    static const int64_t shape[2] = {200, 40};
    if (ranks_size == 1) {
        return;
    }
    here_begin(14);
    for (int at = 0; at < 6; at++) {
        query_state.answer = at < 2 || ranks_me == at / 2 - 1 ? 1 : 0;
        tnr_world *world = here_world(heap(), at % 2, 60000);
        for (int from = 0; from < PLACES; from++) {
            for (int to = 0; to < PLACES; to++) {
                tnr_tensor *source = here_counting((place)from, 2, shape, 77);
                tnr_tensor *target = here_counting((place)to, 2, shape, 0);
                const tnr_view view = here_view(source);
                const tnr_view_mut into = here_view_mut(target);
                if (ranks_me == 0) {
                    CHECK_OK(tnr_world_send(world, &view, 1, 0));
                } else if (ranks_me == 1) {
                    CHECK_OK(tnr_world_receive_into(world, &into, 0, 0));
                    CHECK(here_same(source, target, 1));
                }
                CHECK_OK(tnr_tensor_release(&source));
                CHECK_OK(tnr_tensor_release(&target));
            }
        }
        CHECK_OK(tnr_world_destroy(&world));
    }
    here_end();
}

/* ---- Where buffers are not to be had ---------------------------------------------------------------------------------------------------- */

/*
 * A home with room for a world and one buffer, which collective calls take for their own part where memory is away, but not for the two of a
 * packed transfer. The world in it.
 */
static tnr_domain *bare_home(bool shared, tnr_world **world)
{
    tnr_world_options settings = TNR_WORLD_OPTIONS;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    tnr_need need;
    uint64_t bytes = 0;
    uint64_t control = 0;
    tnr_domain *home = NULL;
    settings.no_shared = !shared;
    settings.pack_bytes = 16 << 10;
    settings.timeout_ms = 20000;
    CHECK_OK(tnr_world_need(&settings, ranks_size, 0, &need));
    CHECK_OK(tnr_arena_bytes(&need, &options, &bytes, &control, &options.max_blocks));
    options.max_blocks += 32;
    options.handles = need.handles;
    CHECK_OK(tnr_arena_create_in(heap(), bytes + (20 << 10), &options, &home));
    CHECK_OK(tnr_world_create(home, MPI_COMM_WORLD, &settings, world));
    return home;
}

/* Every second column of twice as many, in the heap; else a whole tensor of the place. */
static tnr_view_mut strided_in(place where, const int64_t *shape, tnr_tensor **tensor)
{
    const int64_t twice[2] = {2 * shape[0], shape[1]};
    *tensor = here_counting(where, 2, where == PLACE_HOST ? twice : shape, -9);
    tnr_view_mut view = here_view_mut(*tensor);
    if (where == PLACE_HOST) {
        CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, TNR_END, 2}, &view));
    }
    return view;
}

/*
 * Ranks of one node need no buffers, whatever MPI takes and wherever the two ends have their elements: a sender that would go direct hears that
 * its receiver wants slots. One by one, prepared, and all at once.
 */
static void no_buffers_on_a_node(void)
{
    static const int64_t shape[2] = {100, 60};
    static const place targets[] = {PLACE_POOL, PLACE_HOST, PLACE_MANAGED, PLACE_PLAIN};
    if (ranks_size == 1) {
        return;
    }
    here_begin(17);
    query_state.answer = 1;
    tnr_world *world = NULL;
    tnr_domain *home = bare_home(true, &world);
    const bool asked = query_exists(world);
    for (int at = 0; at < 4; at++) {
        tnr_tensor *source = here_counting(PLACE_PLAIN, 2, shape, 1000);
        tnr_tensor *target = NULL;
        const tnr_view view = here_view(source);
        const tnr_view_mut into = strided_in(targets[at], shape, &target);
        const counts before = count(world);
        shim.count = 0;
        for (int how = 0; how < 3; how++) {
            const tnr_exchange_part send = {1, 3, &view, NULL};
            const tnr_exchange_part receive = {0, 3, NULL, &into};
            tnr_exchange *exchange = NULL;
            if (how == 0 && ranks_me <= 1) {
                CHECK_OK(ranks_me == 0 ? tnr_world_send(world, &view, 1, 0)
                                       : tnr_world_receive_into(world, &into, 0, 0));
            } else if (how == 1) {
                CHECK_OK(
                    tnr_world_broadcast_into(world, 0, ranks_me == 0 ? &view : NULL, ranks_me == 0 ? NULL : &into));
            } else if (ranks_me <= 1) {
                CHECK_OK(tnr_exchange_prepare(world, ranks_me == 0 ? &send : &receive, 1, &exchange));
                CHECK_OK(tnr_exchange_run(exchange));
                CHECK_OK(tnr_exchange_run(exchange));
                CHECK_OK(tnr_exchange_destroy(&exchange));
            }
            if (ranks_me == 1 || (how == 1 && ranks_me > 1)) {
                tnr_tensor *got = NULL;
                if (targets[at] == PLACE_HOST) {
                    CHECK_OK(tnr_tensor_duplicate(&into.view, heap(), &got));
                }
                CHECK(here_same(source, got != NULL ? got : target, 1));
                CHECK_OK(tnr_tensor_release(&got));
            }
        }
        const counts after = count(world);
        const uint64_t direct = after.sends[TNR_PATH_DEVICE] - before.sends[TNR_PATH_DEVICE];
        CHECK(asked && targets[at] == PLACE_PLAIN ? direct >= 4 && (shim.count > 0 || ranks_me > 2)
                                                  : direct == 0 && shim.count == 0);
        CHECK_OK(tnr_tensor_release(&source));
        CHECK_OK(tnr_tensor_release(&target));
    }
    CHECK_OK(tnr_world_poisoned(world));
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_domain_close(&home));
    here_end();
}

/* ---- Where the device is not the thread's ----------------------------------------------------------------------------------------------- */

static void check_current(const void *context)
{
    void *now = NULL;
    CHECK(shim.context_current(&now) == 0 && now == context);
}

/* Each end alone, and both, where no device or another one is current: staged, and what was current is so after every call. */
static void not_current_is_staged(void)
{
    static const int64_t shape[2] = {100, 60};
    if (ranks_size == 1) {
        return;
    }
    here_begin(18);
    query_state.answer = 1;
    for (int at = 0; at < 12; at++) {
        const int setting = at % 2;
        const int own = at / 2 % 3 - 1; /* what is current at the ends chosen: none, this device, another one */
        const bool chosen = at < 6 || ranks_me == 0;
        tnr_world *world = here_world(heap(), setting, 20000);
        tnr_tensor *source = here_counting(PLACE_PLAIN, 2, shape, 4000 + at);
        tnr_tensor *target = here_counting(PLACE_PLAIN, 2, shape, -1);
        const tnr_view view = here_view(source);
        const tnr_view_mut into = here_view_mut(target);
        const bool asked = query_exists(world);
        void *context = NULL;
        here_make_current(chosen ? own : 0);
        CHECK(shim.context_current(&context) == 0 && (context == NULL) == (chosen && own < 0));
        shim.count = 0;
        if (ranks_me == 0) {
            CHECK_OK(tnr_world_send(world, &view, 1, 0));
        } else if (ranks_me == 1) {
            CHECK_OK(tnr_world_receive_into(world, &into, 0, 0));
        }
        check_current(context);
        const bool mine = asked && ranks_me <= 1 && (!chosen || own == 0);
        const bool sender = asked && own == 0;
        CHECK((shim.count != 0) == (mine && (setting == 1 || sender)));
        CHECK_OK(tnr_world_broadcast_into(world, 0, ranks_me == 0 ? &view : NULL, ranks_me == 0 ? NULL : &into));
        check_current(context);
        CHECK(ranks_me == 0 || here_same(source, target, 1));
        CHECK_OK(tnr_tensor_release(&source));
        CHECK_OK(tnr_tensor_release(&target));
        CHECK_OK(tnr_world_destroy(&world));
    }
    here_make_current(0);
    here_end();
}

/* By messages what is staged takes buffers: a collective call that does not get them is refused, and not found out with its ranks under way. */
static void not_current_and_no_buffers(void)
{
    static const int64_t shape[2] = {100, 60};
    if (ranks_size == 1) {
        return;
    }
    here_begin(20);
    query_state.answer = 1;
    tnr_world *world = NULL;
    tnr_domain *home = bare_home(false, &world);
    tnr_tensor *tensor = here_counting(PLACE_PLAIN, 2, shape, ranks_me);
    const tnr_view view = here_view(tensor);
    const tnr_view_mut into = here_view_mut(tensor);
    here_make_current(-1);
    CHECK_STATUS(TNR_ERR_MEMORY,
                 tnr_world_broadcast_into(world, 0, ranks_me == 0 ? &view : NULL, ranks_me == 0 ? NULL : &into));
    CHECK_TEXT("no room");
    CHECK_OK(tnr_world_poisoned(world));
    here_make_current(0);
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_domain_close(&home));
    here_end();
}

/* What is direct is agreed on when an exchange is prepared; a start without the device refuses, tells nobody, and may be made again. */
static void exchanges_keep_their_way(void)
{
    static const int64_t shape[2] = {100, 60};
    if (ranks_size == 1) {
        return;
    }
    here_begin(19);
    query_state.answer = 1;
    for (int at = 0; at < 4; at++) {
        const bool prepared_direct = at / 2 == 0;
        tnr_world *world = here_world(heap(), at % 2, 20000);
        const bool asked = query_exists(world);
        tnr_tensor *source = here_counting(PLACE_PLAIN, 2, shape, 10000 * ranks_me);
        tnr_tensor *target = here_counting(PLACE_PLAIN, 2, shape, -1);
        tnr_tensor *same = here_counting(PLACE_HOST, 2, shape, 10000 * (1 - ranks_me));
        const tnr_view view = here_view(source);
        const tnr_view_mut into = here_view_mut(target);
        const tnr_exchange_part parts[2] = {{1 - ranks_me, 0, &view, NULL}, {1 - ranks_me, 0, NULL, &into}};
        tnr_exchange *exchange = NULL;
        if (ranks_me <= 1) {
            here_make_current(prepared_direct ? 0 : -1);
            CHECK_OK(tnr_exchange_prepare(world, parts, 2, &exchange));
            shim.count = 0;
            here_make_current(-1);
            if (prepared_direct && asked && ranks_me == 0) {
                CHECK_STATUS(TNR_ERR_UNSUPPORTED, tnr_exchange_start(exchange));
                CHECK_TEXT("not current");
                CHECK_OK(tnr_world_poisoned(world));
                CHECK(shim.count == 0);
            }
            here_make_current(prepared_direct || ranks_me == 1 ? 0 : -1);
            CHECK_OK(tnr_exchange_run(exchange));
            CHECK(here_same(target, same, 1));
            CHECK((shim.count != 0) == (prepared_direct && asked));
            CHECK_OK(tnr_exchange_destroy(&exchange));
            here_make_current(0);
        }
        CHECK_OK(tnr_tensor_release(&source));
        CHECK_OK(tnr_tensor_release(&target));
        CHECK_OK(tnr_tensor_release(&same));
        CHECK_OK(tnr_world_barrier(world));
        CHECK_OK(tnr_world_destroy(&world));
    }
    here_end();
}

static struct {
    tnr_status status; /* of a world that was asked for before MPI_Init */
    int asked;
} early;

static void ask_early(void)
{
    tnr_domain *home = NULL;
    tnr_world *none = NULL;
    query_state.answer = 1;
    early.status = tnr_heap_create(&home);
    early.status = early.status == TNR_OK ? tnr_world_create(home, MPI_COMM_WORLD, NULL, &none) : TNR_OK;
    early.asked = query_state.asked;
    (void)tnr_domain_close(&home);
    query_state.answer = 0;
}

/* Row CU-03: what MPI was like when this was built counts for nothing; it is asked when a world is made, after MPI_Init, and what is no 1 is a no. */
static void cu_03_asked_at_run_time(void)
{
    static const int answers[] = {0, 1, -1, 2, 0};
    CHECK(early.status == TNR_ERR_MPI && early.asked == 0);
    here_begin(15);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        const int before = query_state.asked;
        query_state.answer = answers[i];
        tnr_world *world =
            world_of(NULL, answers[i] == 1 ? TNR_WORLD_DEVICE_DIRECT : TNR_WORLD_DEVICE_REFUSED, "MPI answers");
        CHECK(!query_exists(world) || query_state.asked > before);
        CHECK(query_state.too_early == 0);
        if (answers[i] != 1 && ranks_size > 1) {
            to_and_fro(world, PLACE_PLAIN, false);
            CHECK(shim.count == 0);
        }
        CHECK_OK(tnr_world_destroy(&world));
    }
    here_end();
}

/* What others would have to read out of a device is not published, and no rank hangs; pieces in host memory are not a device's engine's. */
static void what_is_refused(void)
{
    here_begin(16);
    table of;
    table_begin(&of, 0);
    static const place unread[] = {PLACE_POOL, PLACE_PLAIN, PLACE_MANAGED};
    for (int i = 0; i < 3; i++) {
        tnr_group *group = NULL;
        tnr_tensor *owner = here_counting(unread[i], 2, part, 0);
        tnr_slot slot;
        CHECK_OK(tnr_group_create(heap(), &group));
        CHECK_OK(tnr_group_append(group, &owner, &slot));
        CHECK_STATUS(TNR_ERR_RESIDENCY, tnr_group_publish(of.world, group));
        CHECK_OK(tnr_group_release(&group));
    }
    tnr_engine *engine = NULL;
    tnr_tensor *source = here_counting(PLACE_POOL, 2, part, 0);
    tnr_tensor *made = NULL;
    const tnr_view view = here_view(source);
    CHECK_OK(tnr_cuda_engine_create(heap(), here.lane[0], NULL, &engine));
    CHECK_STATUS(TNR_ERR_UNSUPPORTED,
                 tnr_world_all_reduce(of.world, engine, TNR_COMBINE_SUM, &view, here.domain[0], &made));
    CHECK(made == NULL && strstr(tnr_last_error(), "takes an engine of CPUs") != NULL);
    CHECK_OK(tnr_tensor_release(&source));
    CHECK_OK(tnr_engine_destroy(&engine));
    table_end(&of);
    here_end();
}

int main(int argc, char **argv)
{
    ask_early();
    static const rank_test tests[] = {
        RANK_TEST(cu_02_every_call_staged),
        RANK_TEST(every_call_direct),
        RANK_TEST(cu_02_off_switches_win),
        RANK_TEST(direct_addresses_and_others),
        RANK_TEST(one_end_only),
        RANK_TEST(no_buffers_on_a_node),
        RANK_TEST(not_current_is_staged),
        RANK_TEST(not_current_and_no_buffers),
        RANK_TEST(exchanges_keep_their_way),
        RANK_TEST(cu_03_asked_at_run_time),
        RANK_TEST(what_is_refused),
    };
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
