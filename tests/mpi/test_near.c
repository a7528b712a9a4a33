/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 7
 * transports: tcp nocma
 * Neighbours: what is left of shared memory, partners that are gone or do not come, and what an ended world leaves behind. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/mpi/flight_internal.h"

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

/*
 * Two ranks accept a transfer each, more than the shared memory holds, and leave it lying: a third one goes on all the same, and so
 * does what either of them begins afterwards when it is back.
 */
static void receivers_that_stay_away(void)
{
    enum { COUNT = 400000 };
    if (ranks_size < 4) {
        return;
    }
    for (int strided = 0; strided < 2; strided++) {
        tnr_world_options options = TNR_WORLD_OPTIONS;
        tnr_world *world = NULL;
        options.shared_bytes = 64 << 10;
        options.timeout_ms = 10000;
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
        tnr_tensor *tensor;
        tnr_view_mut view;
        int64_t value = 77;
        CHECK_OK(tnr_tensor_full(heap, TNR_I64, 1, (int64_t[]){(1 + strided) * COUNT}, &value, &tensor));
        CHECK_OK(tnr_tensor_view_mut(tensor, &view));
        CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, TNR_END, 1 + strided}, &view));
        tnr_ticket *tickets[2] = {NULL, NULL};
        tnr_tensor *made = NULL;
        for (int away = 1; away <= 2; away++) { /* one after the other: the first has all that one may have */
            if (ranks_me == 0) {
                CHECK_OK(tnr_world_send_begin(world, &view.view, away, 0, &tickets[away - 1]));
            } else if (ranks_me == away) {
                CHECK_OK(tnr_world_receive_begin(world, 0, 0, heap, &made, &tickets[0]));
                while (world->flights->state == TNRI_FLIGHT_WAITING) {
                    bool done = false;
                    CHECK_OK(tnr_ticket_test(&tickets[0], &done));
                    CHECK(!done);
                }
            }
            CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS); /* it has accepted, and is away */
            const uint64_t begin = tnri_milliseconds();
            while (ranks_me == 0 && tnri_milliseconds() - begin < 20) {
                bool done = false;
                CHECK_OK(tnr_ticket_test(&tickets[away - 1], &done));
                CHECK(!done);
            }
        }
        if (ranks_me == 0) {
            CHECK_OK(tnr_world_send(world, &view.view, 3, 0));
        } else if (ranks_me == 3) {
            CHECK_OK(tnr_world_receive(world, 0, 0, heap, &made));
        }
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS); /* and back */
        for (int i = 0; i < 2; i++) {
            CHECK_OK(tnr_ticket_wait(&tickets[i]));
        }
        if (ranks_me >= 1 && ranks_me <= 3) {
            tnr_view got;
            CHECK_OK(tnr_tensor_view(made, &got));
            CHECK_OK(tnr_view_get(&got, (int64_t[]){COUNT - 1}, &value));
            CHECK(value == 77);
            CHECK_OK(tnr_tensor_release(&made));
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        CHECK_OK(tnr_world_destroy(&world));
    }
}

/*
 * What a receiver reads out of its neighbour's memory is worth nothing when that one's world has ended, for its lease ended too.
 */
static void reading_from_a_world_that_has_ended(void)
{
    enum { COUNT = 50000 };
    tnr_world *world = make_world(false, 10000);
    tnr_tensor *tensor;
    tnr_view_mut view;
    i64_tensor(COUNT, &tensor, &view); /* dense, and of a size that is read */
    if (ranks_me == 0 && !world->near->reads) {
        printf("skipped here: ranks may not read each other's memory\n");
    }
    if (ranks_me == 0) {
        tnr_ticket *ticket = NULL;
        CHECK_OK(tnr_world_send_begin(world, &view.view, 1, 0, &ticket));
        (void)tnr_set_error(TNR_ERR_IO, "the tape is torn");
        CHECK_OK(tnr_world_give_up(world, TNR_ERR_IO));
        CHECK_STATUS(TNR_ERR_IO, tnr_ticket_wait(&ticket));
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (ranks_me == 1 && world->near->reads) {
        CHECK_STATUS(TNR_ERR_PEER, tnr_world_receive_into(world, &view, 0, 0));
        CHECK_TEXT("the tape is torn");
        CHECK_STATUS(TNR_ERR_PEER, tnr_world_poisoned(world));
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_tensor_release(&tensor));
}

/* A barrier's patience is for what does not move: a neighbour that takes long to receive, but does, is waited for. */
static void a_barrier_beside_a_slow_transfer(void)
{
    enum { COUNT = 250000, STEP_MS = 15, TIMEOUT_MS = 400 };
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    options.shared_bytes = 64 << 10;
    options.timeout_ms = TIMEOUT_MS;
    MPI_Comm two; /* a third rank would wait without anything moving */
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, ranks_me < 2 ? 0 : ranks_me, 0, &two) == MPI_SUCCESS);
    CHECK_OK(tnr_world_create(heap, two, &options, &world));
    CHECK(MPI_Comm_free(&two) == MPI_SUCCESS);
    tnr_tensor *tensor;
    tnr_view_mut view;
    i64_tensor(2 * COUNT, &tensor, &view);
    CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, TNR_END, 2}, &view)); /* strided: piece by piece */
    tnr_ticket *ticket = NULL;
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (ranks_me == 0) {
        CHECK_OK(tnr_world_send_begin(world, &view.view, 1, 0, &ticket));
    } else if (ranks_me == 1) {
        const uint64_t begin = tnri_milliseconds();
        CHECK_OK(tnr_world_receive_into_begin(world, &view, 0, 0, &ticket));
        for (bool done = false; !done;) {
            const struct timespec while_it_computes = {0, STEP_MS * 1000000L};
            (void)nanosleep(&while_it_computes, NULL);
            CHECK_OK(tnr_ticket_test(&ticket, &done));
        }
        CHECK(tnri_milliseconds() - begin > TIMEOUT_MS); /* longer than the others' patience */
    }
    CHECK_OK(tnr_world_barrier(world));
    CHECK_OK(tnr_ticket_wait(&ticket));
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_world_destroy(&world));
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(nothing_has_a_name),
        RANK_TEST(a_partner_that_does_not_come),
        RANK_TEST(a_partner_whose_process_is_gone),
        RANK_TEST(an_exchange_that_gets_stuck),
        RANK_TEST(receivers_that_stay_away),
        RANK_TEST(reading_from_a_world_that_has_ended),
        RANK_TEST(a_barrier_beside_a_slow_transfer),
    };
    if (tnr_heap_create(&heap) != TNR_OK) {
        return 1;
    }
    const int answer = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    return answer != 0 || tnr_domain_close(&heap) != TNR_OK;
}
