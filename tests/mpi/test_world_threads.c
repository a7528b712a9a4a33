/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3
 * Worlds and threads where MPI grants MPI_THREAD_MULTIPLE: worlds side by side, one world used by many in turn (MP-05). */
#include <pthread.h>
#include <sched.h>

#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

enum { THREADS = 3, ROUNDS = 50 };

static tnr_domain *heap;

static bool granted(int needed)
{
    int level;
    CHECK(MPI_Query_thread(&level) == MPI_SUCCESS);
    if (level < needed && ranks_me == 0) {
        printf("skipped: MPI grants thread level %d, %d needed\n", level, needed);
    }
    return level >= needed;
}

static void *rounds(void *world)
{
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(tnr_world_barrier(world));
        CHECK_OK(tnri_vote("round", world, TNR_OK));
    }
    return NULL;
}

static void worlds_side_by_side(void)
{
    if (!granted(MPI_THREAD_MULTIPLE)) {
        return;
    }
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.threads = TNR_WORLD_MULTIPLE;
    tnr_world *worlds[THREADS] = {NULL};
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++) {
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &worlds[index]));
    }
    for (int index = 0; index < THREADS; index++) {
        CHECK(pthread_create(&threads[index], NULL, rounds, worlds[index]) == 0);
    }
    for (int index = 0; index < THREADS; index++) {
        CHECK(pthread_join(threads[index], NULL) == 0);
        CHECK_OK(tnr_world_destroy(&worlds[index]));
    }
    CHECK(atomic_load(&tnri_mpi_live.communicators) == 0 && atomic_load(&tnri_mpi_live.requests) == 0);
}

typedef struct chosen {
    MPI_Comm comm;
    tnr_world *world;
} chosen;

static void *make_and_end(void *state)
{
    chosen *of = state;
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.threads = TNR_WORLD_MULTIPLE;
    for (int times = 0; times < 10; times++) {
        CHECK_OK(tnr_world_create(heap, of->comm, &options, &of->world));
        CHECK_OK(tnr_world_barrier(of->world));
        CHECK_OK(tnr_world_destroy(&of->world));
    }
    return NULL;
}

/* Each thread makes worlds over a communicator of its own, at the same time. */
static void worlds_made_side_by_side(void)
{
    if (!granted(MPI_THREAD_MULTIPLE)) {
        return;
    }
    chosen of[THREADS];
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++) {
        of[index].world = NULL;
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &of[index].comm) == MPI_SUCCESS);
    }
    for (int index = 0; index < THREADS; index++) {
        CHECK(pthread_create(&threads[index], NULL, make_and_end, &of[index]) == 0);
    }
    for (int index = 0; index < THREADS; index++) {
        CHECK(pthread_join(threads[index], NULL) == 0);
        CHECK(MPI_Comm_free(&of[index].comm) == MPI_SUCCESS);
    }
    CHECK(atomic_load(&tnri_mpi_live.communicators) == 0);
}

static void one_world_by_threads_in_turn(void)
{
    if (!granted(MPI_THREAD_SERIALIZED)) {
        return;
    }
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.threads = TNR_WORLD_SERIALIZED;
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
    for (int index = 0; index < THREADS; index++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, rounds, world) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    CHECK_OK(tnr_world_destroy(&world));
}

typedef struct contest {
    tnr_world *world;
    atomic_int refused;
    atomic_bool over;
} contest;

static void *disturb(void *state)
{
    contest *of = state;
    while (!atomic_load(&of->over)) {
        tnr_world_info info;
        const tnr_status status = tnr_world_describe(of->world, &info);
        CHECK(status == TNR_OK || status == TNR_ERR_BUSY);
        atomic_fetch_add(&of->refused, status == TNR_ERR_BUSY);
        sched_yield();
    }
    return NULL;
}

/* A second thread inside a world is refused, and the first one's call ends as if it had not come. */
static void a_second_thread_is_refused(void)
{
    if (!granted(MPI_THREAD_MULTIPLE)) {
        return;
    }
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.threads = TNR_WORLD_MULTIPLE;
    contest of = {NULL, 0, false};
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &of.world));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, disturb, &of) == 0);
    for (int round = 0; round < 50; round++) {
        tnr_status status;
        do { /* the other may be inside, too */
            status = tnri_world_enter("test", of.world);
        } while (status == TNR_ERR_BUSY);
        CHECK(status == TNR_OK);
        while (atomic_load(&of.refused) <= round) { /* stay inside until the other has been refused meanwhile */
            sched_yield();
        }
        CHECK_OK(tnri_world_leave(of.world, TNR_OK));
    }
    atomic_store(&of.over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(atomic_load(&of.refused) >= 50);
    CHECK_OK(tnr_world_barrier(of.world));
    CHECK_OK(tnr_world_destroy(&of.world));
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(worlds_side_by_side), RANK_TEST(worlds_made_side_by_side),
                                      RANK_TEST(one_world_by_threads_in_turn), RANK_TEST(a_second_thread_is_refused)};
    if (tnr_heap_create(&heap) != TNR_OK) {
        return 1;
    }
    const int status = ranks_main(argc, argv, MPI_THREAD_MULTIPLE, tests, sizeof(tests) / sizeof(tests[0]));
    return tnr_domain_close(&heap) == TNR_OK ? status : 1;
}
