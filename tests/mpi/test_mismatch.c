/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 7
 * transports: tcp nocma
 * Ranks in different collective calls at one time: every pair of calls. All hear which ranks are in which, nothing has moved or stays
 * taken, and the world goes on. MPI_COMM_WORLD's error handler is MPI's default, which ends the program. */
#include "../../src/mpi/mpi_internal.h"

#include "collective.h"

static tnr_domain *heap;
static tnr_engine *engine;
static tnr_topology *topology;
static tnr_tensor *tensor;
static tnr_tensor *row;
static tnr_view_mut view; /* of it: 4 elements */
static tnr_view_mut wide; /* 4 for each rank */
static tnr_group *group;
static tnr_group *published;
static int64_t elements = 4;

/* ---- The calls -------------------------------------------------------------------------------------------------------------------- */

/* A result, were there one: nothing may come of a call that the others do not make. */
typedef struct result {
    tnr_tensor *tensor;
    tnr_domain *domain;
    tnr_machine *machine;
} result;

static tnr_status barrier(tnr_world *world, result *of)
{
    (void)of;
    return tnr_world_barrier(world);
}

static tnr_status agree(tnr_world *world, result *of)
{
    (void)of;
    return tnr_world_agree(world, TNR_OK);
}

/* One rank has something to tell: who is where goes before it. */
static tnr_status disagree(tnr_world *world, result *of)
{
    (void)of;
    return tnr_world_agree(world, tnr_set_error(TNR_ERR_IO, "a reason of its own"));
}

static tnr_status broadcast(tnr_world *world, result *of)
{
    return tnr_world_broadcast(world, 0, &view.view, heap, &of->tensor);
}

static tnr_status broadcast_into(tnr_world *world, result *of)
{
    (void)of;
    return tnr_world_broadcast_into(world, 0, ranks_me == 0 ? &view.view : NULL, ranks_me == 0 ? NULL : &view);
}

static tnr_status reduce(tnr_world *world, result *of)
{
    return tnr_world_reduce(world, engine, TNR_COMBINE_SUM, 1, &view.view, heap, &of->tensor);
}

static tnr_status all_reduce_into(tnr_world *world, result *of)
{
    (void)of;
    return tnr_world_all_reduce_into(world, engine, TNR_COMBINE_SUM, &view.view, &view);
}

static tnr_status scatter(tnr_world *world, result *of)
{
    return tnr_world_scatter(world, 0, &wide.view, 0, NULL, heap, &of->tensor);
}

static tnr_status scatter_into(tnr_world *world, result *of)
{
    (void)of;
    return tnr_world_scatter_into(world, 0, ranks_me == 0 ? &wide.view : NULL, 0, &view);
}

static tnr_status gather(tnr_world *world, result *of)
{
    return tnr_world_gather(world, 0, &view.view, 0, heap, &of->tensor);
}

static tnr_status all_gather_into(tnr_world *world, result *of)
{
    (void)of;
    return tnr_world_all_gather_into(world, &view.view, 0, &wide);
}

static tnr_status all_to_all(tnr_world *world, result *of)
{
    return tnr_world_all_to_all(world, &wide.view, 0, NULL, 0, heap, &of->tensor);
}

static tnr_status redistribute(tnr_world *world, result *of)
{
    const int64_t shape[1] = {4 * ranks_size};
    const tnr_axis_cut even = {ranks_size, 0, NULL};
    const tnr_axis_cut dealt = {ranks_size, 1, NULL};
    const tnr_distribution from = {sizeof(from), 1, shape, &even, NULL};
    const tnr_distribution to = {sizeof(to), 1, shape, &dealt, NULL};
    return tnr_world_redistribute(world, &from, &view.view, &to, heap, &of->tensor);
}

static tnr_status publish(tnr_world *world, result *of)
{
    (void)of;
    const tnr_status status = tnr_group_publish(world, group);
    if (status == TNR_OK) { /* when all did */
        CHECK_OK(tnr_group_unpublish(world, group));
    }
    return status;
}

static tnr_status unpublish(tnr_world *world, result *of)
{
    (void)of;
    const tnr_status status = tnr_group_unpublish(world, published);
    if (status == TNR_OK) {
        CHECK_OK(tnr_group_publish(world, published));
    }
    return status;
}

static tnr_status window(tnr_world *world, result *of)
{
    tnr_window_options options = TNR_WINDOW_OPTIONS;
    options.bytes = 4096;
    return tnr_window_create(world, heap, &options, &of->domain);
}

static tnr_status share(tnr_world *world, result *of)
{
    (void)of;
    tnr_share share;
    return tnr_world_share(world, topology, 0, &share);
}

static tnr_status machine(tnr_world *world, result *of)
{
    return tnr_world_machine(world, heap, topology, NULL, NULL, &of->machine);
}

static tnr_status share_table(tnr_world *world, result *of)
{
    (void)of;
    char text[64];
    tnr_share share = {.node = TNR_NONE, .device = TNR_NONE};
    return tnr_world_share_table(world, &share, 0, text, sizeof(text));
}

typedef struct call {
    const char *name; /* what others call it */
    tnr_status (*make)(tnr_world *world, result *of);
    tnr_status alike; /* the answer where all make it */
} call;

static const call calls[] = {
    {"world_barrier", barrier, TNR_OK},
    {"world_agree", agree, TNR_OK},
    {"world_agree", disagree, TNR_ERR_IO},
    {"world_broadcast", broadcast, TNR_OK},
    {"world_broadcast", broadcast_into, TNR_OK},
    {"world_reduce", reduce, TNR_OK},
    {"world_all_reduce", all_reduce_into, TNR_OK},
    {"world_scatter", scatter, TNR_OK},
    {"world_scatter_into", scatter_into, TNR_OK},
    {"world_gather", gather, TNR_OK},
    {"world_all_gather", all_gather_into, TNR_OK},
    {"world_all_to_all", all_to_all, TNR_OK},
    {"world_redistribute", redistribute, TNR_OK},
    {"group_publish", publish, TNR_OK},
    {"group_unpublish", unpublish, TNR_OK},
    {"window_create", window, TNR_OK},
    {"world_share", share, TNR_OK},
    {"world_machine", machine, TNR_OK},
    {"world_share_table", share_table, TNR_OK},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* ---- All pairs ----------------------------------------------------------------------------------------------------------------------- */

static void start(void)
{
    CHECK_OK(tnr_heap_create(&heap));
    collective_heap = heap;
    CHECK_OK(tnr_engine_create(heap, NULL, &engine));
    CHECK_OK(tnr_topology_create(heap, NULL, &topology));
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, &elements, &tensor));
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){4 * ranks_size}, &row));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    CHECK_OK(tnr_tensor_view_mut(row, &wide));
    CHECK_OK(tnr_group_create(heap, &group));
    CHECK_OK(tnr_group_create(heap, &published));
}

static void end(void)
{
    CHECK_OK(tnr_group_release(&group));
    CHECK_OK(tnr_group_release(&published));
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_tensor_release(&row));
    CHECK_OK(tnr_topology_destroy(&topology));
    CHECK_OK(tnr_engine_destroy(&engine));
    CHECK_OK(tnr_domain_close(&heap));
}

static uint64_t blocks_out(void)
{
    tnr_domain_statistics statistics;
    CHECK_OK(tnr_domain_statistics_get(heap, &statistics));
    return statistics.blocks;
}

/* This rank makes calls[mine]; the first two ranks that differ are in the text on all. */
static void differ(tnr_world *world, int mine, int other, const call *first, const call *second)
{
    result of = {NULL, NULL, NULL};
    char words[120];
    const uint64_t before = blocks_out();
    CHECK_STATUS(TNR_ERR_PEER, calls[mine].make(world, &of));
    (void)snprintf(words, sizeof(words), "rank 0 calls %s, rank %d %s: all ranks must make the same calls", first->name,
                   other, second->name);
    CHECK_TEXT(words);
    CHECK(strstr(tnr_last_error(), words) != tnr_last_error()); /* its own name comes first */
    CHECK(of.tensor == NULL && of.domain == NULL && of.machine == NULL);
    CHECK_OK(tnr_world_poisoned(world));
    CHECK(blocks_out() == before);
    CHECK_OK(tnr_view_set(&view, (int64_t[]){1}, &(double){1})); /* nothing is leased */
}

static void alike(tnr_world *world, int which)
{
    result of = {NULL, NULL, NULL};
    CHECK_STATUS(calls[which].alike, calls[which].make(world, &of));
    CHECK_OK(tnr_tensor_release(&of.tensor));
    if (of.domain != NULL) {
        CHECK_OK(tnr_domain_close(&of.domain));
    }
    CHECK_OK(tnr_machine_destroy(&of.machine));
}

static void every_pair(void)
{
    start();
    for (int setting = 0; setting < 2; setting++) {
        tnr_world *world = collective_world(setting);
        CHECK_OK(tnr_group_publish(world, published));
        for (int a = 0; a < CALLS; a++) {
            alike(world, a);
            for (int b = 0; b < CALLS; b++) {
                if (strcmp(calls[a].name, calls[b].name) == 0) {
                    continue;
                }
                /* one rank is elsewhere: each in its turn */
                const int odd = (a + b) % ranks_size;
                if (odd == 0) {
                    differ(world, ranks_me == 0 ? a : b, 1, &calls[a], &calls[b]);
                } else {
                    differ(world, ranks_me == odd ? b : a, odd, &calls[a], &calls[b]);
                }
            }
            alike(world, a); /* as if nothing had been */
        }
        CHECK_OK(tnr_group_unpublish(world, published));
        collective_end(&world);
    }
    end();
}

/* All ranks in calls of their own, again and again, without a good one between. */
static void everybody_elsewhere(void)
{
    start();
    tnr_world *world = collective_world(0);
    CHECK_OK(tnr_group_publish(world, published));
    for (int times = 0; times < 40; times++) {
        const int mine = (times * 5 + ranks_me * 3) % CALLS;
        const int zero = times * 5 % CALLS;
        int other = 1;
        while (strcmp(calls[(times * 5 + other * 3) % CALLS].name, calls[zero].name) == 0) {
            other++;
        }
        if (other >= ranks_size) {
            continue;
        }
        differ(world, mine, other, &calls[zero], &calls[(times * 5 + other * 3) % CALLS]);
    }
    CHECK_OK(tnr_group_unpublish(world, published));
    collective_end(&world);
    end();
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(every_pair), RANK_TEST(everybody_elsewhere)};
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
