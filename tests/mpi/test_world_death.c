/* SPDX-License-Identifier: BSD-3-Clause */
/* killed: 2 3 4
 * The last rank is killed while the others wait for it: in a barrier, in a vote. They hear of it in time, and their world is ended. Not one
 * of the programs that ranks.h runs: MPI_Finalize would wait for the dead, so that the survivors leave without it, each with one line.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, raise */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

enum { MOST_MS = 20000 }; /* noticed within 50 ms where there is a core for each */

static void rest(long milliseconds)
{
    const struct timespec time = {0, milliseconds * 1000000};
    (void)nanosleep(&time, NULL);
}

static void survivor(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d of %d: not so: %s: %s\n", ranks_me, ranks_size, what, tnr_last_error());
        (void)fflush(stderr);
        _exit(1);
    }
}
#define SURVIVOR(condition) survivor((condition), #condition)

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &ranks_me) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks_size) == MPI_SUCCESS);
    tnr_domain *heap = NULL;
    tnr_world *world = NULL;
    tnr_world *second = NULL;
    CHECK_OK(tnr_heap_create(&heap));
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &second));
    CHECK_OK(tnr_world_barrier(world));
    if (ranks_me == ranks_size - 1) {
        rest(200); /* the others wait by now */
        (void)raise(SIGKILL);
    }
    const uint64_t begin = tnri_milliseconds();
    SURVIVOR(tnr_world_barrier(world) == TNR_ERR_PEER);
    SURVIVOR(strstr(tnr_last_error(), "is gone") != NULL);
    SURVIVOR(tnri_vote("choose", second, TNR_OK) == TNR_ERR_PEER);
    SURVIVOR(tnri_milliseconds() - begin < MOST_MS);
    SURVIVOR(tnr_world_barrier(world) == TNR_ERR_PEER && strstr(tnr_last_error(), "the world ended: ") != NULL);
    tnr_world_info info;
    SURVIVOR(tnr_world_describe(second, &info) == TNR_OK && info.poisoned == TNR_ERR_PEER);
    SURVIVOR(tnr_world_destroy(&world) == TNR_OK && tnr_world_destroy(&second) == TNR_OK);
    SURVIVOR(tnr_domain_close(&heap) == TNR_OK);
    if (ranks_me == 0) {
        printf("ok the others heard of it in %llu ms\n", (unsigned long long)(tnri_milliseconds() - begin));
        (void)fflush(stdout);
        rest(500); /* the others too, before the launcher ends them for our sake */
    }
    _exit(0);
}
