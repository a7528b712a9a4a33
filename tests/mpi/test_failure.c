/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 7
 * transports: nocma
 * A rank whose world is ended by an error of its own, and that lives on: MPI calls of it fail, as this program stands between the library
 * and MPI. The others of its node, which would wait for ever, hear of it at once, and why. */
#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

enum { TRIES = 3, SOON_MS = 500, MOST_MS = 20000 }; /* one of the tries is soon; other programs are at work here too */

static tnr_domain *heap;
static bool failing; /* this rank's next collective call of the library */

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    return failing ? MPI_ERR_OTHER : PMPI_Isend(data, count, type, to, tag, comm, request);
}

static int last(void) { return ranks_size - 1; }

static tnr_world *make_world(const tnr_world_options *options)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, options, &world));
    tnr_world_info info;
    CHECK_OK(tnr_world_describe(world, &info));
    CHECK(info.shared); /* one node runs this */
    (void)MPI_Barrier(MPI_COMM_WORLD);
    return world;
}

static void world_end(tnr_world **world)
{
    (void)MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(tnr_world_destroy(world));
    CHECK(*world == NULL);
}

/* The first failure of the last rank's own, and what it keeps saying. */
static void fails_here(tnr_world *world, tnr_status status)
{
    failing = false;
    CHECK(status == TNR_ERR_MPI);
    CHECK_TEXT("class ");
    CHECK_STATUS(TNR_ERR_MPI, tnr_world_poisoned(world));
    CHECK_STATUS(TNR_ERR_MPI, tnr_world_barrier(world));
}

/* What the others hear. */
static void heard_of(tnr_world *world, tnr_status status, const char *call, const char *cause)
{
    char words[64];
    CHECK(status == TNR_ERR_PEER);
    CHECK(strstr(tnr_last_error(), call) == tnr_last_error()); /* the function that was called, then the cause */
    (void)snprintf(words, sizeof(words), "; the world of rank %d has ended: %s: MPI_I", last(), cause);
    CHECK_TEXT(words);
    CHECK_TEXT("class ");
    CHECK_STATUS(TNR_ERR_PEER, tnr_world_poisoned(world));
    CHECK_STATUS(TNR_ERR_PEER, tnr_world_barrier(world));
}

static void note(uint64_t begin, uint64_t *least)
{
    const uint64_t took = tnri_milliseconds() - begin;
    CHECK(took < MOST_MS);
    *least = took < *least ? took : *least;
}

static void in_a_barrier(void)
{
    uint64_t least = UINT64_MAX;
    for (int times = 0; times < TRIES; times++) {
        tnr_world *world = make_world(NULL);
        const uint64_t begin = tnri_milliseconds();
        failing = ranks_me == last();
        const tnr_status status = tnr_world_barrier(world);
        note(begin, &least);
        if (ranks_me == last()) {
            fails_here(world, status);
        } else {
            heard_of(world, status, "world_barrier: ", "world_barrier");
        }
        world_end(&world);
    }
    CHECK(least < SOON_MS);
}

/* The others wait for its elements, which never come. */
static void in_a_collective_call(void)
{
    uint64_t least = UINT64_MAX;
    for (int times = 0; times < TRIES; times++) {
        tnr_world *world = make_world(NULL);
        const int64_t shape[1] = {1000};
        tnr_tensor *part = NULL;
        tnr_tensor *all = NULL;
        tnr_view view;
        CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, shape, &part));
        CHECK_OK(tnr_tensor_view(part, &view));
        const uint64_t begin = tnri_milliseconds();
        failing = ranks_me == last();
        const tnr_status status = tnr_world_all_gather(world, &view, 0, heap, &all);
        note(begin, &least);
        CHECK(all == NULL);
        if (ranks_me == last()) {
            fails_here(world, status);
        } else {
            heard_of(world, status, "world_all_gather: ", "world_all_gather");
        }
        CHECK_OK(tnr_tensor_release(&part)); /* its lease is over */
        world_end(&world);
    }
    CHECK(least < SOON_MS);
}

/* Each waits for the one above it: rank by rank they hear where it began. */
static void down_a_chain(void)
{
    uint64_t least = UINT64_MAX;
    for (int times = 0; times < TRIES; times++) {
        tnr_world *world = make_world(NULL);
        const uint64_t begin = tnri_milliseconds();
        if (ranks_me == last()) {
            failing = true;
            fails_here(world, tnr_world_barrier(world));
        } else {
            tnr_tensor *never = NULL;
            const tnr_status status = tnr_world_receive(world, ranks_me + 1, 5, heap, &never);
            note(begin, &least);
            heard_of(world, status, "world_receive: ", "world_barrier");
        }
        world_end(&world);
    }
    CHECK(ranks_me == last() || least < SOON_MS);
}

/* Two that have nothing to do with it go on. */
static void others_are_left_alone(void)
{
    if (ranks_size < 3) {
        return;
    }
    tnr_world *world = make_world(NULL);
    if (ranks_me == last()) {
        failing = true;
        fails_here(world, tnr_world_barrier(world));
    }
    (void)MPI_Barrier(MPI_COMM_WORLD);
    if (ranks_me < 2) {
        const int64_t shape[1] = {100000};
        const double mine = ranks_me;
        double value = -1;
        tnr_tensor *tensor = NULL;
        tnr_view_mut view;
        CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, shape, &mine, &tensor));
        CHECK_OK(tnr_tensor_view_mut(tensor, &view));
        for (int times = 0; times < 10; times++) {
            if (ranks_me == 0) {
                CHECK_OK(tnr_world_send(world, &view.view, 1, 0));
            } else {
                CHECK_OK(tnr_world_receive_into(world, &view, 0, 0));
            }
        }
        CHECK_OK(tnr_view_get(&view.view, (const int64_t[]){99999}, &value));
        CHECK(value == 0);
        CHECK_OK(tnr_world_poisoned(world));
        CHECK_OK(tnr_tensor_release(&tensor));
    }
    world_end(&world);
}

/* Leaving is no failure: who waits for one that has left waits for timeout_ms, and hears that. */
static void leaving_is_not_told(void)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.timeout_ms = 300;
    tnr_world *world = make_world(&options);
    if (ranks_me == last()) {
        CHECK_OK(tnr_world_destroy(&world));
        (void)MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    tnr_tensor *never = NULL;
    CHECK_STATUS(TNR_ERR_PEER, tnr_world_receive(world, last(), 0, heap, &never));
    CHECK_TEXT("has waited ");
    CHECK(strstr(tnr_last_error(), "has ended") == NULL);
    world_end(&world);
}

/* A rank that cannot go on says so: those that wait for it hear why. */
static void giving_up(void)
{
    uint64_t least = UINT64_MAX;
    for (int times = 0; times < TRIES; times++) {
        tnr_world *world = make_world(NULL);
        const uint64_t begin = tnri_milliseconds();
        if (ranks_me == last()) {
            CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_give_up(NULL, TNR_ERR_IO));
            CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_give_up(world, TNR_OK));
            CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_give_up(world, (tnr_status)12345));
            CHECK_OK(tnr_world_poisoned(world));
            (void)tnr_set_error(TNR_ERR_IO, "checkpoint: the disk is full");
            CHECK_OK(tnr_world_give_up(world, TNR_ERR_IO));
            CHECK_STATUS(TNR_ERR_IO, tnr_world_poisoned(world));
            CHECK_TEXT("checkpoint: the disk is full");
            CHECK_STATUS(TNR_ERR_IO, tnr_world_give_up(world, TNR_ERR_MPI)); /* the first reason stays */
        } else {
            CHECK_STATUS(TNR_ERR_PEER, tnr_world_barrier(world));
            CHECK_TEXT("checkpoint: the disk is full");
        }
        note(begin, &least);
        world_end(&world);
    }
    CHECK(least < SOON_MS);
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(in_a_barrier),          RANK_TEST(in_a_collective_call), RANK_TEST(down_a_chain),
        RANK_TEST(others_are_left_alone), RANK_TEST(leaving_is_not_told),  RANK_TEST(giving_up),
    };
    CHECK_OK(tnr_heap_create(&heap));
    const int result = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    return tnr_domain_close(&heap) == TNR_OK ? result : 1;
}
