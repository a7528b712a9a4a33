/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 7
 * alone: also started by itself, without a launcher
 * A world around the life of MPI: asked for before MPI_Init and after MPI_Finalize; destroyed before, after, from atexit, never. MPI is
 * initialised by plain MPI_Init, so that its level is MPI_THREAD_SINGLE. One program does all of it, because a process has one MPI. */
#include <pthread.h>

#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

static tnr_domain *heap;
static tnr_world *before_end, *after_end, *at_exit, *busy, *poisoned, *by_thread;
tnr_world *never_destroyed; /* visible from outside, so that it is no leak to tools that look for them */

static int finalized;
static int ended;
static void count_finalize(tnri_dependent *dependent)
{
    (void)dependent;
    int over = -1;
    CHECK(MPI_Finalized(&over) == MPI_SUCCESS && over == 0); /* MPI still works */
    finalized++;
}
static void count_end(tnri_dependent *dependent)
{
    (void)dependent;
    ended++;
}
static tnr_ticket *tickets[3]; /* of after_end, begun before MPI's end */
static tnr_tensor *never = NULL;
static tnri_dependent in_use = {NULL, NULL, count_finalize, count_end};

static void refused(const char *words)
{
    tnr_world *world = NULL;
    CHECK_STATUS(TNR_ERR_MPI, tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_TEXT(words);
    CHECK(world == NULL);
    tnr_domain_statistics statistics;
    CHECK_OK(tnr_domain_statistics_get(heap, &statistics));
}

static void destroy_at_exit(void)
{
    /* MPI is gone: a check that fails cannot tell the others, the exit status does */
    if (tnr_world_destroy(&at_exit) != TNR_OK || at_exit != NULL) {
        fprintf(stderr, "rank %d: destroyed from atexit: %s\n", ranks_me, tnr_last_error());
        _Exit(1);
    }
}

static void fail_after(int line, const char *what)
{
    fprintf(stderr, "rank %d of %d: %s:%d: not so: %s: %s\n", ranks_me, ranks_size, __FILE__, line, what,
            tnr_last_error());
    _Exit(1);
}

#define AFTER(condition)                      \
    do {                                      \
        if (!(condition)) {                   \
            fail_after(__LINE__, #condition); \
        }                                     \
    } while (0)

static void *destroy_elsewhere(void *world)
{
    static tnr_status status;
    status = tnr_world_destroy(world);
    return &status;
}

int main(int argc, char **argv)
{
    CHECK_OK(tnr_heap_create(&heap));
    refused("MPI is not initialised");
    CHECK(tnr_domain_identity(heap).process == 0);
    int64_t start;
    int64_t count;
    CHECK_OK(tnr_block_range(10, 3, 1, &start, &count)); /* pure: needs no MPI */

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &ranks_me) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks_size) == MPI_SUCCESS);
    CHECK(atexit(destroy_at_exit) == 0);
    tnr_world **const all[] = {&before_end, &after_end, &at_exit, &busy, &poisoned, &never_destroyed, &by_thread};
    for (size_t index = 0; index < sizeof(all) / sizeof(all[0]); index++) {
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, all[index]));
        CHECK_OK(tnr_world_barrier(*all[index]));
    }
    CHECK_OK(tnr_world_destroy(&before_end));
    for (int channel = 0; channel < 3; channel++) {
        CHECK_OK(tnr_world_receive_begin(after_end, 0, channel, heap, &never, &tickets[channel]));
    }
    tnri_dependent_add(busy, &in_use);
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_destroy(&busy));
    CHECK_OK(tnri_world_enter("test", poisoned));
    (void)tnri_world_poison(poisoned, tnri_fail(TNR_ERR_PEER, "test: ended early"));
    CHECK_OK(tnri_world_leave(poisoned, TNR_OK));
    CHECK(MPI_Finalize() == MPI_SUCCESS);

    AFTER(finalized == 1 && ended == 0);
    AFTER(atomic_load(&tnri_mpi_live.communicators) == 0);
    AFTER(atomic_load(&tnri_mpi_live.windows) == 0 && atomic_load(&tnri_mpi_live.requests) == 0);
    tnr_world *world = NULL;
    AFTER(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world) == TNR_ERR_MPI && world == NULL);
    AFTER(strstr(tnr_last_error(), "MPI was finalised") != NULL);
    AFTER(tnr_world_barrier(after_end) == TNR_ERR_MPI);
    AFTER(strstr(tnr_last_error(), "MPI was finalised") != NULL);
    tnr_world_info info;
    AFTER(tnr_world_describe(after_end, &info) == TNR_OK);
    AFTER(info.poisoned == TNR_ERR_MPI && info.rank == ranks_me && info.communicators == 0);
    AFTER(tnr_world_poisoned(after_end) == TNR_ERR_MPI && tnr_world_poisoned(poisoned) == TNR_ERR_PEER);
    AFTER(strstr(tnr_last_error(), "world_poisoned: the world ended: test: ended early") != NULL);
    AFTER(tnr_world_describe(poisoned, &info) == TNR_OK && info.poisoned == TNR_ERR_PEER); /* the first reason stays */
    AFTER(tnr_world_rank(after_end) == ranks_me && tnr_world_size(after_end) == ranks_size);
    bool done = false;
    AFTER(tnr_ticket_abandon(&tickets[0]) == TNR_OK && tickets[0] == NULL);
    AFTER(tnr_ticket_wait(&tickets[1]) == TNR_ERR_MPI && tickets[1] == NULL);
    AFTER(strstr(tnr_last_error(), "MPI was finalised") != NULL);
    AFTER(tnr_ticket_test(&tickets[2], &done) == TNR_ERR_MPI && done && tickets[2] == NULL);
    AFTER(tnr_world_describe(after_end, &info) == TNR_OK && info.tickets == 0 && never == NULL);
    AFTER(tnr_world_destroy(&after_end) == TNR_OK && after_end == NULL);
    AFTER(tnr_world_destroy(&busy) == TNR_OK && ended == 1); /* what lived in it ended with it */
    AFTER(tnr_world_destroy(&poisoned) == TNR_OK);
    pthread_t thread;
    void *status = NULL;
    AFTER(pthread_create(&thread, NULL, destroy_elsewhere, &by_thread) == 0);
    AFTER(pthread_join(thread, &status) == 0 && *(tnr_status *)status == TNR_OK && by_thread == NULL);
    AFTER(tnr_domain_identity(heap).process == (uint64_t)ranks_me + 1);
    AFTER(tnr_domain_close(&heap) == TNR_ERR_BUSY); /* two worlds are left: for atexit, and for ever */
    if (ranks_me == 0) {
        printf("ok around the life of MPI on %d\n", ranks_size);
    }
    return 0;
}
