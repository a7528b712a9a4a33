/* SPDX-License-Identifier: BSD-3-Clause */
/* killed: 2 3 4
 * The last rank is killed while the others wait for it: to send, to receive, to answer a ticket, to go on with an exchange. They hear of it in
 * time, and what was leased is free again. Survivors leave without MPI_Finalize, which would wait for the dead.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, raise */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

enum { MOST_MS = 20000, COUNT = 300000 }; /* noticed within 50 ms where there is a core for each */

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

static void gone(tnr_status status)
{
    SURVIVOR(status == TNR_ERR_PEER);
    SURVIVOR(strstr(tnr_last_error(), "is gone") != NULL);
}

int main(int argc, char **argv)
{
    enum { SENDS, RECEIVES, TICKET, EXCHANGE, WORLDS };
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &ranks_me) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks_size) == MPI_SUCCESS);
    const int victim = ranks_size - 1;
    tnr_domain *heap = NULL;
    tnr_world *worlds[WORLDS];
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    CHECK_OK(tnr_heap_create(&heap));
    for (int i = 0; i < WORLDS; i++) {
        tnr_world_options options = TNR_WORLD_OPTIONS;
        options.no_shared = i == RECEIVES; /* by messages too */
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &worlds[i]));
    }
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){COUNT}, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    tnr_exchange *exchange = NULL;
    if (ranks_me == 0 || ranks_me == victim) {
        const tnr_exchange_part part = {victim - ranks_me, 0, ranks_me == 0 ? &view.view : NULL,
                                        ranks_me == 0 ? NULL : &view};
        CHECK_OK(tnr_exchange_prepare(worlds[EXCHANGE], &part, 1, &exchange));
    }
    CHECK_OK(tnr_world_barrier(worlds[0]));
    if (ranks_me == victim) {
        rest(200); /* the others wait by now */
        (void)raise(SIGKILL);
    }
    const uint64_t begin = tnri_milliseconds();
    tnr_ticket *ticket = NULL;
    tnr_tensor *made = NULL;
    gone(tnr_world_send(worlds[SENDS], &view.view, victim, 0));
    gone(tnr_world_receive(worlds[RECEIVES], victim, 0, heap, &made));
    SURVIVOR(tnr_world_receive_into_begin(worlds[TICKET], &view, victim, 0, &ticket) == TNR_OK);
    SURVIVOR(tnr_tensor_release(&tensor) == TNR_ERR_BUSY);
    gone(tnr_ticket_wait(&ticket));
    if (ranks_me == 0) {
        gone(tnr_exchange_run(exchange));
        SURVIVOR(tnr_exchange_destroy(&exchange) == TNR_OK);
    }
    SURVIVOR(tnri_milliseconds() - begin < MOST_MS);
    for (int i = 0; i < WORLDS; i++) {
        SURVIVOR(tnr_world_destroy(&worlds[i]) == TNR_OK);
    }
    SURVIVOR(tnr_tensor_release(&tensor) == TNR_OK);
    SURVIVOR(tnr_domain_close(&heap) == TNR_OK);
    if (ranks_me == 0) {
        printf("ok the others heard of it in %llu ms\n", (unsigned long long)(tnri_milliseconds() - begin));
        (void)fflush(stdout);
        rest(500); /* the others too, before the launcher ends them for our sake */
    }
    _exit(0);
}
