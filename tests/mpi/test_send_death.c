/* SPDX-License-Identifier: BSD-3-Clause */
/* killed: 2 3 4
 * The last rank is killed while the others wait for it: to send, to receive, to answer a ticket, to go on with an exchange, to prepare one; or
 * ask now and then, without waiting. They hear of it in time, and what was leased is free again. Survivors leave without MPI_Finalize, which would wait for the dead.
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

/* Again and again until it is over, for a while: one of the three. */
static tnr_status asked(tnr_world *world, tnr_ticket **ticket, tnr_exchange *exchange, uint64_t begin)
{
    bool done = false;
    tnr_status status = TNR_OK;
    while (status == TNR_OK && !done && tnri_milliseconds() - begin < MOST_MS) {
        status = ticket != NULL     ? tnr_ticket_test(ticket, &done)
                 : exchange != NULL ? tnr_exchange_test(exchange, &done)
                                    : tnr_world_progress(world);
    }
    SURVIVOR(world != NULL || done);
    return status;
}

int main(int argc, char **argv)
{
    enum { SENDS, RECEIVES, TICKET, EXCHANGE, PREPARES, TESTED, TESTED_EXCHANGE, PUSHED, WORLDS };
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
        options.no_shared = i == RECEIVES || i == TESTED; /* by messages too */
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &worlds[i]));
    }
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){COUNT}, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    tnr_exchange *exchange = NULL;
    tnr_exchange *tested = NULL;
    const tnr_exchange_part part = {victim - ranks_me, 0, ranks_me == 0 ? &view.view : NULL,
                                    ranks_me == 0 ? NULL : &view};
    if (ranks_me == 0 || ranks_me == victim) {
        CHECK_OK(tnr_exchange_prepare(worlds[EXCHANGE], &part, 1, &exchange));
        CHECK_OK(tnr_exchange_prepare(worlds[TESTED_EXCHANGE], &part, 1, &tested));
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
        gone(tnr_exchange_prepare(worlds[PREPARES], &part, 1, &exchange));
        SURVIVOR(tnr_exchange_start(tested) == TNR_OK);
        gone(asked(NULL, NULL, tested, begin));
        SURVIVOR(tnr_exchange_destroy(&tested) == TNR_OK);
    }
    SURVIVOR(tnr_world_receive_begin(worlds[TESTED], victim, 0, heap, &made, &ticket) == TNR_OK);
    gone(asked(NULL, &ticket, NULL, begin));
    SURVIVOR(tnr_world_receive_into_begin(worlds[PUSHED], &view, victim, 0, &ticket) == TNR_OK);
    gone(asked(worlds[PUSHED], NULL, NULL, begin));
    SURVIVOR(tnr_ticket_wait(&ticket) == TNR_ERR_PEER && ticket == NULL);
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
