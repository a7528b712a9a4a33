/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 4 7
 * transports: tcp
 * An exchange that one rank cannot prepare, for whatever reason: the ranks that it names hear of it, nobody waits, nothing stays taken, and
 * the next one is prepared well. */
#include "ranks.h"

enum { COUNT = 40, TICKETS = 16 };

static tnr_domain *heap;
static tnr_world *world;
static tnr_tensor *tensor;
static tnr_view_mut halves[2];
static tnr_tensor *gone; /* released */
static tnr_view gone_view;

static int next(void) { return (ranks_me + 1) % ranks_size; }
static int before(void) { return (ranks_me + ranks_size - 1) % ranks_size; }

static void begin(bool no_shared, uint32_t timeout_ms)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_view_mut view;
    options.no_shared = no_shared;
    options.tickets = TICKETS;
    options.timeout_ms = timeout_ms;
    CHECK_OK(tnr_heap_create(&heap));
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){COUNT}, &(double){ranks_me}, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){COUNT / 2 * i, COUNT / 2 * (i + 1), 1}, &halves[i]));
    }
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){COUNT / 2}, &(double){0}, &gone));
    CHECK_OK(tnr_tensor_view(gone, &gone_view));
    CHECK_OK(tnr_tensor_release(&gone));
}

static void end(void)
{
    tnr_world_info info;
    CHECK_OK(tnr_world_describe(world, &info));
    CHECK(info.requests == 0 && info.datatypes == 0);
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_domain_close(&heap)); /* nothing of it is out */
}

/* A ring, as it should be. */
static void good_parts(tnr_exchange_part *parts)
{
    parts[0] = (tnr_exchange_part){next(), 3, &halves[0].view, NULL};
    parts[1] = (tnr_exchange_part){before(), 3, NULL, &halves[1]};
}

static void works(void)
{
    tnr_exchange *exchange = NULL;
    tnr_exchange_part parts[2];
    double value = -1;
    good_parts(parts);
    CHECK_OK(tnr_exchange_prepare(world, parts, 2, &exchange));
    CHECK_OK(tnr_exchange_run(exchange));
    CHECK_OK(tnr_view_get(&halves[1].view, (int64_t[]){COUNT / 2 - 1}, &value));
    CHECK(value == before());
    CHECK_OK(tnr_exchange_destroy(&exchange));
}

/* ---- What may be wrong with a list ------------------------------------------------------------------------------------------------------ */

typedef struct fault {
    const char *words; /* in the text on all that hear of it */
    tnr_status status;
    void (*make)(tnr_exchange_part *parts);
    size_t count;
} fault;

static void neither(tnr_exchange_part *parts) { parts[1].receive = NULL; }
static void both(tnr_exchange_part *parts) { parts[1].send = &halves[0].view; }
static void no_rank(tnr_exchange_part *parts) { parts[2] = (tnr_exchange_part){ranks_size, 0, &halves[0].view, NULL}; }
static void no_channel(tnr_exchange_part *parts) { parts[1].channel = TNR_WORLD_CHANNELS; }
static void stale(tnr_exchange_part *parts) { parts[0].send = &gone_view; }
static void overlaps(tnr_exchange_part *parts) { parts[1].receive = &halves[0]; }
static void too_many(tnr_exchange_part *parts)
{
    for (int i = 2; i <= TICKETS; i++) {
        parts[i] = (tnr_exchange_part){ranks_me, i, &halves[0].view, NULL};
    }
}
static void nothing(tnr_exchange_part *parts) { (void)parts; }

static const fault faults[] = {
    {"part 1 must have one of the two views", TNR_ERR_ARGUMENT, neither, 2},
    {"part 1 must have one of the two views", TNR_ERR_ARGUMENT, both, 2},
    {"the world has 0 to", TNR_ERR_BOUNDS, no_rank, 3},
    {"channel 1024; there are 0 to 1023", TNR_ERR_BOUNDS, no_channel, 2},
    {"", TNR_ERR_STALE, stale, 2},
    {"", TNR_ERR_OVERLAP, overlaps, 2},
    {"17 parts do not fit the 16 tickets", TNR_ERR_MEMORY, too_many, TICKETS + 1},
    {"exchange is NULL", TNR_ERR_ARGUMENT, nothing, 2},
};

static void one_rank_has_bad_arguments(void)
{
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        begin(no_shared != 0, 0);
        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
            for (int victim = 0; victim < 2; victim++) {
                const fault *of = &faults[i];
                const bool mine = ranks_me == victim;
                tnr_exchange_part parts[TICKETS + 1];
                tnr_exchange *exchange = NULL;
                good_parts(parts);
                if (mine) {
                    of->make(parts);
                }
                const tnr_status status = tnr_exchange_prepare(world, parts, mine ? of->count : 2,
                                                               mine && of->make == nothing ? NULL : &exchange);
                const bool named = next() == victim || before() == victim;
                const bool further = !mine && !named; /* it may have one; who is next to it has none */
                if (!further && status != (mine ? of->status : TNR_ERR_PEER)) {
                    ranks_fail(__FILE__, __LINE__, "fault %d of rank %d: %s: %s", (int)i, victim,
                               tnr_status_name(status), tnr_last_error());
                }
                if (!further) {
                    CHECK_TEXT("exchange_prepare: ");
                    CHECK_TEXT(of->words);
                    CHECK(strstr(tnr_last_error() + 1, "exchange_prepare") == NULL); /* said once */
                    CHECK(exchange == NULL);
                }
                CHECK(mine || further || strstr(tnr_last_error(), victim == 0 ? "rank 0" : "rank 1") != NULL);
                CHECK_OK(tnr_exchange_destroy(&exchange));
                CHECK_OK(tnr_world_poisoned(world));
                works();
            }
        }
        end();
    }
}

/* Both ends have lists that are good by themselves, and do not fit each other. */
static void lists_that_do_not_fit(void)
{
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        begin(no_shared != 0, 0);
        tnr_exchange *exchange = NULL;
        tnr_exchange_part parts[3];
        if (ranks_me < 2) { /* one sends two and receives one; the other receives one and sends one */
            const int other = 1 - ranks_me;
            parts[0] = (tnr_exchange_part){other, 0, &halves[0].view, NULL};
            parts[1] = (tnr_exchange_part){other, 0, NULL, &halves[1]};
            parts[2] = (tnr_exchange_part){other, 1, &halves[0].view, NULL};
            CHECK_STATUS(TNR_ERR_PEER, tnr_exchange_prepare(world, parts, ranks_me == 0 ? 3 : 2, &exchange));
            CHECK_TEXT(ranks_me == 0
                           ? "rank 1 has 1 sends to and 1 receives from rank 0, which has 1 receives and 2 sends"
                           : "rank 0 has 2 sends to and 1 receives from rank 1, which has 1 receives and 1 sends");
            parts[0].channel = ranks_me; /* as many, but elsewhere */
            CHECK_STATUS(TNR_ERR_PEER, tnr_exchange_prepare(world, parts, 2, &exchange));
            CHECK_TEXT("have their parts on different channels");
            parts[0].channel = 7 * ranks_me; /* and the two channels told apart by direction */
            parts[1].channel = 7 * ranks_me;
            CHECK_STATUS(TNR_ERR_PEER, tnr_exchange_prepare(world, parts, 2, &exchange));
            parts[0].channel = 7 * ranks_me;
            parts[1].channel = 7 * other;
            CHECK_OK(tnr_exchange_prepare(world, parts, 2, &exchange));
            CHECK_OK(tnr_exchange_run(exchange));
            CHECK_OK(tnr_exchange_destroy(&exchange));
        }
        works();
        end();
    }
}

/* A named rank that never prepares: the other waits as long as timeout_ms says, and a rank that is refused its arguments does too. */
static void a_rank_that_never_comes(void)
{
    for (int bad = 0; bad < 2; bad++) {
        begin(true, 700);
        tnr_exchange_part parts[2];
        tnr_exchange *exchange = NULL;
        good_parts(parts);
        parts[0].rank = 1;
        if (ranks_me == 0) {
            parts[0].channel = bad != 0 ? -1 : 0;
            const double start = MPI_Wtime();
            CHECK_STATUS(bad != 0 ? TNR_ERR_BOUNDS : TNR_ERR_PEER, tnr_exchange_prepare(world, parts, 1, &exchange));
            CHECK(exchange == NULL && MPI_Wtime() - start > 0.6 && MPI_Wtime() - start < 20);
            CHECK_STATUS(TNR_ERR_PEER, tnr_world_poisoned(world));
            CHECK_TEXT("rank 0 has waited for rank 1 to prepare its end of an exchange");
        }
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        end();
    }
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(one_rank_has_bad_arguments), RANK_TEST(lists_that_do_not_fit),
                                      RANK_TEST(a_rank_that_never_comes)};
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
