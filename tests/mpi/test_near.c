/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4
 * transports: tcp nocma
 * Neighbours: what is left of shared memory, partners that are gone or do not come, and what an ended world leaves behind. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/mpi/mpi_internal.h"

#include "layouts.h"

static tnr_domain *heap;

static tnr_world *make_world(bool no_shared, uint32_t timeout_ms)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    options.no_shared = no_shared;
    options.timeout_ms = timeout_ms;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
    return world;
}

static void nothing_has_a_name(void)
{
    tnr_world *world = make_world(false, 0);
    tnr_world_info info;
    CHECK_OK(tnr_world_describe(world, &info));
    CHECK(info.shared); /* a machine that has /dev/shm lends it */
    CHECK_OK(tnr_world_barrier(world));
    char ours[64];
    (void)snprintf(ours, sizeof(ours), "tenure-%ld-", (long)getpid());
    DIR *folder = opendir("/dev/shm");
    CHECK(folder != NULL);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        CHECK(strncmp(entry->d_name, ours, strlen(ours)) != 0);
    }
    (void)closedir(folder);
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_world_destroy(&world));
}

static void i64_tensor(int64_t count, tnr_tensor **tensor, tnr_view_mut *view)
{
    CHECK_OK(tnr_tensor_zeros(heap, TNR_I64, 1, &count, tensor));
    CHECK_OK(tnr_tensor_view_mut(*tensor, view));
}

/* After the end: every call says why, tickets end with it, destroying gives everything back. */
static void ended(tnr_world **world, tnr_ticket **receive, const char *why)
{
    tnr_world_info info;
    tnr_tensor *tensor;
    tnr_view_mut view;
    CHECK_OK(tnr_world_describe(*world, &info));
    CHECK(info.poisoned == TNR_ERR_PEER && info.tickets == 1);
    i64_tensor(4, &tensor, &view);
    CHECK_STATUS(TNR_ERR_PEER, tnr_world_send(*world, &view.view, 1, 0));
    CHECK_TEXT("the world ended");
    CHECK_TEXT(why);
    CHECK_STATUS(TNR_ERR_PEER, tnr_world_barrier(*world));
    CHECK_STATUS(TNR_ERR_PEER, tnr_ticket_wait(receive));
    CHECK(*receive == NULL);
    CHECK_OK(tnr_world_destroy(world));
    CHECK_OK(tnr_tensor_release(&tensor));
}

static void a_partner_that_does_not_come(void)
{
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world *world = make_world(no_shared != 0, 700);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        if (ranks_me == 0) {
            tnr_tensor *tensor;
            tnr_view_mut view;
            tnr_tensor *made = NULL;
            tnr_ticket *ticket = NULL;
            i64_tensor(100000, &tensor, &view);
            CHECK_OK(tnr_world_receive_into_begin(world, &view, 1, 3, &ticket));
            CHECK_STATUS(TNR_ERR_PEER, tnr_world_receive(world, 1, 2, heap, &made));
            CHECK_TEXT("rank 0 has waited");
            CHECK_TEXT("a transfer from rank 1 on channel 2");
            CHECK_STATUS(TNR_ERR_BUSY, tnr_tensor_release(&tensor));
            ended(&world, &ticket, "rank 0 has waited");
            CHECK_OK(tnr_tensor_release(&tensor)); /* nobody writes into it any more */
        } else {
            CHECK_OK(tnr_world_destroy(&world));
        }
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

/* A number that no process has. */
static pid_t gone_process(void)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return child;
}

static void a_partner_whose_process_is_gone(void)
{
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world *world = make_world(no_shared != 0, 0);
        if (ranks_me == 0) {
            tnr_tensor *tensor;
            tnr_view_mut view;
            tnr_ticket *ticket = NULL;
            world->peers[1].pid = gone_process();
            i64_tensor(500000, &tensor, &view);
            CHECK_OK(tnr_world_receive_begin(world, 1, 3, heap, &(tnr_tensor *){NULL}, &ticket));
            CHECK_STATUS(TNR_ERR_PEER, tnr_world_send(world, &view.view, 1, 2));
            CHECK_TEXT("the process of rank 1 is gone");
            ended(&world, &ticket, "the process of rank 1 is gone");
            CHECK_OK(tnr_tensor_release(&tensor));
        } else {
            CHECK_OK(tnr_world_destroy(&world));
        }
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

/* An exchange whose partner never starts. */
static void an_exchange_that_gets_stuck(void)
{
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world *world = make_world(no_shared != 0, 700);
        if (ranks_me < 2) {
            tnr_tensor *tensor;
            tnr_view_mut view;
            tnr_exchange *exchange = NULL;
            i64_tensor(300000, &tensor, &view);
            const tnr_exchange_part part = {1 - ranks_me, 0, ranks_me == 1 ? &view.view : NULL,
                                            ranks_me == 1 ? NULL : &view};
            CHECK_OK(tnr_exchange_prepare(world, &part, 1, &exchange));
            if (ranks_me == 0) {
                CHECK_STATUS(TNR_ERR_PEER, tnr_exchange_run(exchange));
                CHECK_TEXT("rank 0 has waited");
                CHECK_STATUS(TNR_ERR_PEER, tnr_exchange_start(exchange));
            }
            if (no_shared == 0) {
                CHECK_OK(tnr_exchange_destroy(&exchange));
                CHECK_OK(tnr_tensor_release(&tensor));
                CHECK_OK(tnr_world_destroy(&world));
            } else { /* the exchange ends with the world when that was ended by an error */
                CHECK_OK(ranks_me == 1 ? tnr_exchange_destroy(&exchange) : TNR_OK);
                CHECK_OK(tnr_world_destroy(&world));
                CHECK_OK(tnr_tensor_release(&tensor));
            }
        }
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        if (world != NULL) {
            CHECK_OK(tnr_world_destroy(&world));
        }
    }
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(nothing_has_a_name),
        RANK_TEST(a_partner_that_does_not_come),
        RANK_TEST(a_partner_whose_process_is_gone),
        RANK_TEST(an_exchange_that_gets_stuck),
    };
    if (tnr_heap_create(&heap) != TNR_OK) {
        return 1;
    }
    const int answer = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    return answer != 0 || tnr_domain_close(&heap) != TNR_OK;
}
