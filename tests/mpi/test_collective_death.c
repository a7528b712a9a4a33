/* SPDX-License-Identifier: BSD-3-Clause */
/* killed: 2 3 4
 * The last rank is killed in the middle of collective calls, wherever it is just then: the others end with an error in time, and
 * their world is ended. Survivors leave without MPI_Finalize, which would wait for the dead.
 */
#define _XOPEN_SOURCE 700 /* setitimer, sigaction */
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

enum { MOST_MS = 20000 };

static void survivor(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d of %d: not so: %s: %s\n", ranks_me, ranks_size, what, tnr_last_error());
        (void)fflush(stderr);
        _exit(1);
    }
}
#define SURVIVOR(condition) survivor((condition), #condition)

static void die(int number)
{
    (void)number;
    (void)raise(SIGKILL);
}

static void die_soon(void)
{
    const struct itimerval soon = {{0, 0}, {0, 150000}};
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = die;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &ranks_me) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks_size) == MPI_SUCCESS);
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    tnr_world *world = NULL;
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    CHECK_OK(tnr_heap_create(&heap));
    CHECK_OK(tnr_engine_create(heap, NULL, &engine));
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){1 << 20}, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    CHECK_OK(tnr_world_barrier(world));
    if (ranks_me == ranks_size - 1) {
        die_soon();
    }
    const uint64_t begin = tnri_milliseconds();
    tnr_status status = TNR_OK;
    int rounds = 0;
    while (status == TNR_OK) {
        status = tnr_world_all_reduce_into(world, engine, TNR_COMBINE_SUM, &view.view, &view);
        rounds += status == TNR_OK;
        SURVIVOR(tnri_milliseconds() - begin < MOST_MS);
    }
    SURVIVOR(status == TNR_ERR_PEER || status == TNR_ERR_MPI);
    SURVIVOR(tnr_world_barrier(world) == status && strstr(tnr_last_error(), "the world ended: ") != NULL);
    tnr_world_info info;
    SURVIVOR(tnr_world_describe(world, &info) == TNR_OK && info.poisoned == status);
    SURVIVOR(tnr_world_destroy(&world) == TNR_OK && world == NULL);
    if (ranks_me == 0) {
        printf("ok the others heard of it in %llu ms, after %d rounds\n",
               (unsigned long long)(tnri_milliseconds() - begin), rounds);
        (void)fflush(stdout);
        const struct timespec rest = {0, 500000000};
        (void)nanosleep(&rest, NULL); /* the others too, before the launcher ends them for our sake */
    }
    _exit(0);
}
