/* SPDX-License-Identifier: BSD-3-Clause */
/* killed: 2 3 4
 * The last rank publishes, sleeps outside MPI while the others fetch from it, and is killed. After that fetching and unpublishing end
 * with an error in time, and destroying the world ends the publication: groups can be released. Like test_world_death.c.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, raise */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

enum { MOST_MS = 20000 };

static void rest(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
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
    const int last = ranks_size - 1;
    const int64_t count = 100000;
    tnr_domain *heap = NULL;
    tnr_world *world = NULL;
    tnr_group *group = NULL;
    tnr_tensor *tensor = NULL;
    tnr_slot slot;
    CHECK_OK(tnr_heap_create(&heap));
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, &count, &(double){ranks_me}, &tensor));
    CHECK_OK(tnr_group_create(heap, &group));
    CHECK_OK(tnr_group_append(group, &tensor, NULL));
    CHECK_OK(tnr_group_publish(world, group));
    if (ranks_me == last) {
        rest(1500); /* takes no part */
        (void)raise(SIGKILL);
    }
    const uint64_t begin = tnri_milliseconds();
    tnr_view view;
    const int64_t at = count - 1;
    double value = -1;
    SURVIVOR(tnr_group_slot(group, (uint32_t)last, &slot) == TNR_OK);
    SURVIVOR(tnr_group_fetch(world, group, slot, heap, &tensor) == TNR_OK);
    SURVIVOR(tnr_tensor_view(tensor, &view) == TNR_OK && tnr_view_get(&view, &at, &value) == TNR_OK && value == last);
    SURVIVOR(tnr_tensor_release(&tensor) == TNR_OK);
    tnr_status status = TNR_OK;
    while (status == TNR_OK && tnri_milliseconds() - begin < MOST_MS) {
        rest(20);
        status = tnr_group_fetch(world, group, slot, heap, &tensor);
        SURVIVOR(status != TNR_OK || tnr_tensor_release(&tensor) == TNR_OK);
    }
    SURVIVOR(status == TNR_ERR_PEER && tensor == NULL);
    SURVIVOR(tnr_group_unpublish(world, group) == TNR_ERR_PEER);
    SURVIVOR(tnri_milliseconds() - begin < MOST_MS);
    tnr_group *same = group;
    SURVIVOR(tnr_group_release(&same) == TNR_ERR_BUSY);
    SURVIVOR(tnr_world_destroy(&world) == TNR_OK);
    tnr_descriptor found;
    SURVIVOR(tnr_group_describe(group, slot, &found) == TNR_ERR_STALE);
    SURVIVOR(tnr_group_release(&group) == TNR_OK);
    SURVIVOR(tnr_domain_close(&heap) == TNR_OK);
    if (ranks_me == 0) {
        printf("ok the others heard of it in %llu ms\n", (unsigned long long)(tnri_milliseconds() - begin));
        (void)fflush(stdout);
        rest(500); /* the others too, before the launcher ends them for our sake */
    }
    _exit(0);
}
