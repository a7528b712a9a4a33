/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 * transports: tcp
 * wraps: aligned_alloc
 * A world whose home has no more memory, from each of its allocations on, in every kind of call: TNR_ERR_MEMORY there, TNR_ERR_PEER with
 * the reason at the other ends, nothing written where it failed, nobody waits, and the world goes on when there is memory again. */
#include "../../src/mpi/mpi_internal.h"

#include "collective.h"

enum { COUNT = 3000, FULL = 1000000 };

static tnr_domain *heap;
static tnr_domain *home;
static tnr_engine *engine;
static tnr_topology *topology;
static int64_t budget = FULL; /* blocks that heaps still grant */

/* ---- A home that fills up ------------------------------------------------------------------------------------------------------------ */

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

/* Where heaps get their blocks. */
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    if (budget == 0) {
        return NULL;
    }
    budget--;
    return __real_aligned_alloc(alignment, bytes);
}

/* ---- Views: every second element of twice as many, or rows of a matrix of twice as many ------------------------------------------------ */

typedef struct piece {
    tnr_tensor *tensor;
    tnr_view_mut view;
} piece;

static void make_piece(piece *of, int rank, const int64_t *shape, double value)
{
    int64_t twice[2] = {2 * shape[0], rank == 2 ? shape[1] : 1};
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, rank, twice, &value, &of->tensor));
    CHECK_OK(tnr_tensor_view_mut(of->tensor, &of->view));
    CHECK_OK(tnr_view_mut_slice_axis(&of->view, 0, (tnr_range){0, TNR_END, 2}, &of->view));
}

static piece source; /* COUNT of this rank's number */
static piece target; /* COUNT */
static piece wide;   /* COUNT for each rank */
static piece rows;   /* 60 x 50 of this rank's number */
static tnr_group *group;
static tnr_tensor *made;

static void all_are(const tnr_view *view, int64_t from, int64_t to, double value)
{
    const int64_t last = view->rank == 2 ? view->shape[1] - 1 : 0;
    for (int64_t i = from; i < to; i += 97) {
        double found = 0;
        const int64_t index[2] = {i, last};
        CHECK_OK(tnr_view_get(view, index, &found));
        CHECK(found == value);
    }
}

static void reset(const piece *of)
{
    void *data = NULL;
    tnr_tensor_info info;
    CHECK_OK(tnr_tensor_describe(of->tensor, &info));
    CHECK_OK(tnr_tensor_host_data_mut(of->tensor, &data));
    for (int64_t i = 0; i < info.count; i++) {
        ((double *)data)[i] = -1;
    }
}

static int next(void) { return (ranks_me + 1) % ranks_size; }
static int before(void) { return (ranks_me + ranks_size - 1) % ranks_size; }

/* ---- Calls: each makes one, and checks what came of it ----------------------------------------------------------------------------------- */

static tnr_status send_receive(tnr_world *world)
{
    const tnr_status status = tnr_world_send_receive(world, &source.view.view, next(), &target.view, before(), 0);
    if (status == TNR_OK) {
        all_are(&target.view.view, 0, COUNT, before());
    }
    return status;
}

static tnr_status prepare(tnr_world *world)
{
    const tnr_exchange_part parts[2] = {{next(), 3, &source.view.view, NULL}, {before(), 3, NULL, &target.view}};
    tnr_exchange *exchange = NULL;
    const tnr_status status = tnr_exchange_prepare(world, parts, 2, &exchange);
    CHECK((exchange != NULL) == (status == TNR_OK));
    if (status == TNR_OK && tnr_world_agree(world, TNR_OK) == TNR_OK) { /* ranks further off may have none */
        CHECK_OK(tnr_exchange_run(exchange));
        all_are(&target.view.view, 0, COUNT, before());
    } else if (status != TNR_OK) {
        char text[TNR_ERROR_TEXT_BYTES];
        (void)snprintf(text, sizeof(text), "%s", tnr_last_error());
        CHECK(tnr_world_agree(world, status) == status);
        (void)tnr_set_error(status, text);
    }
    CHECK_OK(tnr_exchange_destroy(&exchange));
    return status;
}

static tnr_status broadcast_into(tnr_world *world)
{
    const bool root = ranks_me == 0;
    const tnr_status status =
        tnr_world_broadcast_into(world, 0, root ? &source.view.view : NULL, root ? NULL : &target.view);
    if (status == TNR_OK && !root) {
        all_are(&target.view.view, 0, COUNT, 0);
    }
    return status;
}

static tnr_status broadcast(tnr_world *world) { return tnr_world_broadcast(world, 1, &source.view.view, home, &made); }

static tnr_status all_reduce_into(tnr_world *world)
{
    const tnr_status status =
        tnr_world_all_reduce_into(world, engine, TNR_COMBINE_SUM, &source.view.view, &target.view);
    if (status == TNR_OK) {
        all_are(&target.view.view, 0, COUNT, 0.5 * ranks_size * (ranks_size - 1));
    }
    return status;
}

static tnr_status reduce(tnr_world *world)
{
    return tnr_world_reduce(world, engine, TNR_COMBINE_MAX, 1, &source.view.view, home, &made);
}

static tnr_status scatter_into(tnr_world *world)
{
    const tnr_status status = tnr_world_scatter_into(world, 0, ranks_me == 0 ? &wide.view.view : NULL, 0, &target.view);
    if (status == TNR_OK) {
        all_are(&target.view.view, 0, COUNT, 7);
    }
    return status;
}

static tnr_status scatter(tnr_world *world)
{
    return tnr_world_scatter(world, 1, &wide.view.view, 0, NULL, home, &made);
}

static tnr_status gather(tnr_world *world) /* rows: no part lies in one piece */
{
    const tnr_status status = tnr_world_gather(world, 0, &rows.view.view, 0, home, &made);
    if (status == TNR_OK && ranks_me == 0) {
        tnr_view view;
        CHECK_OK(tnr_tensor_view(made, &view));
        all_are(&view, 60, 120, 1);
    }
    return status;
}

static tnr_status all_gather(tnr_world *world) { return tnr_world_all_gather(world, &rows.view.view, 0, home, &made); }

static tnr_status all_to_all(tnr_world *world)
{
    return tnr_world_all_to_all(world, &rows.view.view, 1, NULL, 0, home, &made);
}

static tnr_status redistribute(tnr_world *world)
{
    const int64_t shape[1] = {(int64_t)COUNT * ranks_size};
    const tnr_axis_cut even = {ranks_size, 0, NULL};
    const tnr_axis_cut dealt = {ranks_size, 100, NULL};
    const tnr_distribution from = {sizeof(from), 1, shape, &even, NULL};
    const tnr_distribution to = {sizeof(to), 1, shape, &dealt, NULL};
    return tnr_world_redistribute(world, &from, &source.view.view, &to, home, &made);
}

static tnr_status publish(tnr_world *world)
{
    const tnr_status status = tnr_group_publish(world, group);
    if (status == TNR_OK) {
        CHECK_OK(tnr_group_unpublish(world, group));
    }
    return status;
}

static tnr_status window(tnr_world *world)
{
    tnr_window_options options = TNR_WINDOW_OPTIONS;
    tnr_domain *domain = NULL;
    options.bytes = 4096;
    const tnr_status status = tnr_window_create(world, home, &options, &domain);
    CHECK((domain != NULL) == (status == TNR_OK));
    CHECK_OK(tnr_domain_close(&domain));
    return status;
}

static tnr_status machine(tnr_world *world)
{
    tnr_machine *of = NULL;
    const tnr_status status = tnr_world_machine(world, home, topology, NULL, NULL, &of);
    CHECK((of != NULL) == (status == TNR_OK));
    CHECK_OK(tnr_machine_destroy(&of));
    return status;
}

static tnr_status share_table(tnr_world *world)
{
    char text[1000];
    tnr_share share = {.node = TNR_NONE, .device = TNR_NONE};
    return tnr_world_share_table(world, &share, 0, text, sizeof(text));
}

typedef struct call {
    const char *name;
    tnr_status (*make)(tnr_world *world);
    bool collective; /* it fails on all ranks or on none */
    bool packs;      /* it takes buffers of the world */
} call;

static const call calls[] = {
    {"send_receive", send_receive, false, true},
    {"exchange_prepare", prepare, false, true},
    {"broadcast_into", broadcast_into, true, true},
    {"broadcast", broadcast, true, true},
    {"all_reduce_into", all_reduce_into, true, true},
    {"reduce", reduce, true, true},
    {"scatter_into", scatter_into, true, true},
    {"scatter", scatter, true, true},
    {"gather", gather, true, true},
    {"all_gather", all_gather, true, true},
    {"all_to_all", all_to_all, true, true},
    {"redistribute", redistribute, true, true},
    {"publish", publish, true, true},
    {"window", window, true, true},
    {"machine", machine, true, true},
    {"share_table", share_table, true, true},
};

/* ---- Each allocation ----------------------------------------------------------------------------------------------------------------------- */

static tnr_world *make_world(void)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    options.no_shared = true;
    options.tickets = 8;
    options.pack_bytes = 4096;
    options.eager_bytes = 64;
    options.derived_run_bytes = UINT64_MAX;
    options.timeout_ms = 20000;
    CHECK_OK(tnr_world_create(home, MPI_COMM_WORLD, &options, &world));
    return world;
}

/* How it went on all ranks. */
static void statuses_of(tnr_status mine, int *all)
{
    const int status = (int)mine;
    CHECK(MPI_Allgather(&status, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Rank `victim` has `left` allocations. True: that was enough. */
static bool full_at(const call *of, int victim, int64_t left)
{
    tnr_world *world = make_world();
    int all[8];
    reset(&target);
    budget = ranks_me == victim ? left : FULL;
    const tnr_status status = of->make(world);
    char text[TNR_ERROR_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "%s", tnr_last_error());
    budget = FULL;
    statuses_of(status, all);
    bool heard = false;
    for (int rank = 0; rank < ranks_size; rank++) {
        const bool failed = all[rank] != (int)TNR_OK;
        const bool as_it_must =
            rank == victim ? !failed || all[rank] == (int)TNR_ERR_MEMORY : !failed || all[rank] == (int)TNR_ERR_PEER;
        if (!as_it_must || (of->collective && failed != (all[victim] != (int)TNR_OK))) {
            ranks_fail(__FILE__, __LINE__, "%s, %lld blocks for rank %d: rank %d answers %d, that one %d: %s", of->name,
                       (long long)left, victim, rank, all[rank], all[victim], text);
        }
        heard = heard || (rank != victim && failed);
    }
    const bool enough = all[victim] == (int)TNR_OK;
    CHECK(heard == !enough);
    if (status == TNR_ERR_PEER && strstr(text, "room") == NULL && strstr(text, "heap:") == NULL) {
        ranks_fail(__FILE__, __LINE__, "%s: no reason in \"%s\"", of->name, text);
    }
    if (of->collective && status != TNR_OK) {
        all_are(&target.view.view, 0, COUNT, -1);
    }
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_world_poisoned(world));
    CHECK_OK(of->make(world)); /* and now there is memory */
    CHECK_OK(tnr_tensor_release(&made));
    collective_end(&world);
    return enough;
}

static void each_allocation(void)
{
    CHECK_OK(tnr_heap_create(&heap));
    collective_heap = heap;
    CHECK_OK(tnr_heap_create(&home));
    CHECK_OK(tnr_engine_create(heap, NULL, &engine));
    CHECK_OK(tnr_topology_create(heap, NULL, &topology));
    make_piece(&source, 1, (int64_t[]){COUNT}, ranks_me);
    make_piece(&target, 1, (int64_t[]){COUNT}, -1);
    make_piece(&wide, 1, (int64_t[]){(int64_t)COUNT * ranks_size}, 7);
    make_piece(&rows, 2, (int64_t[]){60, 50}, ranks_me);
    tnr_tensor *owned = NULL;
    tnr_slot slot;
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){5}, &owned));
    CHECK_OK(tnr_group_create(heap, &group));
    CHECK_OK(tnr_group_append(group, &owned, &slot));
    for (size_t index = 0; index < sizeof(calls) / sizeof(calls[0]); index++) {
        for (int victim = 0; victim < 2; victim++) {
            int64_t left = 0;
            for (; !full_at(&calls[index], victim, left); left++) {
                CHECK(left < 40);
            }
            if (ranks_me == 0 && getenv("VERBOSE") != NULL) {
                printf("%s: enough for rank %d: %lld\n", calls[index].name, victim, (long long)left);
            }
        }
    }
    CHECK_OK(tnr_group_release(&group));
    CHECK_OK(tnr_tensor_release(&source.tensor));
    CHECK_OK(tnr_tensor_release(&target.tensor));
    CHECK_OK(tnr_tensor_release(&wide.tensor));
    CHECK_OK(tnr_tensor_release(&rows.tensor));
    CHECK_OK(tnr_topology_destroy(&topology));
    CHECK_OK(tnr_engine_destroy(&engine));
    CHECK_OK(tnr_domain_close(&home));
    CHECK_OK(tnr_domain_close(&heap));
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(each_allocation)};
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
