/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 * Any one call of the driver, or of MPI, fails while device tensors travel, staged or direct: both ends hear of it or neither, no rank waits
 * for ever, a rank that says that all went well has the bytes, and what was taken is given back. */
#include "cuda_ranks.h"
#include "layouts.h"

#include <limits.h>

static const int64_t shape[1] = {4000}; /* 32 KB: some pieces */

typedef enum call { SEND, EXCHANGE, BROADCAST, ALL_GATHER, CALLS } call;

typedef struct fault {
    call which;
    int setting;
    bool direct;
    int whose; /* rank */
    bool mpi;  /* a call of MPI's, else of the driver's */
    bool dead; /* of the driver's: and all that come after it */
} fault;

static bool anywhere(bool so)
{
    int mine = so ? 1 : 0;
    int all = 0;
    CHECK(PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
    return all != 0;
}

static tnr_status exchange(tnr_world *world, const tnr_view *view, const tnr_view_mut *into, tnr_exchange **made)
{
    const tnr_exchange_part parts[2] = {{1 - ranks_me, 0, view, NULL}, {1 - ranks_me, 0, NULL, into}};
    const tnr_status status = tnr_exchange_prepare(world, parts, 2, made);
    return status == TNR_OK ? tnr_exchange_run(*made) : status;
}

/* Does this rank take part, and does it get something? */
static bool takes_part(call which) { return ranks_me <= 1 || which >= BROADCAST; }
static bool gets(call which)
{
    return which == SEND || which == BROADCAST ? ranks_me == 1 || (which == BROADCAST && ranks_me != 0)
                                               : takes_part(which);
}

static tnr_status make_call(call which, tnr_world *world, const tnr_view *view, const tnr_view_mut *into,
                            tnr_exchange **made)
{
    switch (which) {
    case SEND:
        return ranks_me == 0 ? tnr_world_send(world, view, 1, 0) : tnr_world_receive_into(world, into, 0, 0);
    case EXCHANGE:
        return exchange(world, view, into, made);
    case BROADCAST:
        return tnr_world_broadcast_into(world, 0, ranks_me == 0 ? view : NULL, ranks_me == 0 ? NULL : into);
    default:
        return tnr_world_all_gather_into(world, view, 0, into);
    }
}

/* What this rank must have. */
static bool has_all(call which, const tnr_tensor *target)
{
    tnr_tensor *host = NULL;
    const void *data = NULL;
    const tnr_view view = here_view(target);
    bool right = true;
    CHECK_OK(tnr_cuda_download(here.lane[1], &view, heap(), &host));
    CHECK_OK(tnr_tensor_host_data(host, &data));
    const int64_t *values = data;
    for (int64_t at = 0; at < view.shape[0]; at++) {
        const int64_t from = which == ALL_GATHER ? at / shape[0] : which == EXCHANGE ? 1 - ranks_me : 0;
        right = right && values[at] == 100000 * (from + 1) + at % shape[0];
    }
    CHECK_OK(tnr_tensor_release(&host));
    return right;
}

/* What MPI or the driver may still be at stays leased, and then its domain stays open: a leak, never a wild write. */
static bool give(tnr_tensor **tensor)
{
    const tnr_status status = tnr_tensor_release(tensor);
    CHECK(status == TNR_OK || status == TNR_ERR_BUSY);
    return status == TNR_OK;
}

static void device_end(bool clean)
{
    here_make_current(-1);
    if (clean) {
        bool closed = true;
        for (int kind = 0; kind < TNR_CUDA_MEMORY_END; kind++) {
            closed = tnr_domain_close(&here.domain[kind]) == TNR_OK && closed;
        }
        CHECK(closed);
        CHECK_OK(tnr_cuda_device_close(&here.device));
        CHECK_OK(tnr_domain_close(&here.domain[PLACE_HOST]));
        const fake_cuda *fake = shim.fake;
        CHECK(fake->live == 0 || fake->faults != 0);
    }
    const fake_cuda *fake = shim.fake;
    if (fake->first[0] != '\0') {
        (void)fprintf(stderr, "the driver says: %s\n", fake->first);
    }
    CHECK(fake->use_after_free == 0 && fake->double_free == 0 && fake->out_of_bounds == 0 && fake->misuse == 0);
    CHECK(fake->hangs == 0);
}

/* Worlds by setting and way, as long as they have not ended: making one takes time where ranks share cores. */
static tnr_domain *worlds_home;
static tnr_world *worlds[2][2];

static tnr_world *world_of(const fault *of)
{
    tnr_world **world = &worlds[of->setting][of->direct ? 1 : 0];
    query_state.answer = of->direct ? 1 : 0;
    if (*world == NULL) {
        if (worlds_home == NULL) {
            CHECK_OK(tnr_heap_create(&worlds_home));
        }
        *world = here_world(worlds_home, of->setting, !of->mpi ? 60000 : of->setting == 0 ? 20000 : 300);
    }
    return *world;
}

/* Destroy it, where it has ended or must. */
static void world_over(const fault *of, bool must)
{
    tnr_world **world = &worlds[of->setting][of->direct ? 1 : 0];
    if (anywhere(must || tnr_world_poisoned(*world) != TNR_OK)) {
        CHECK_OK(tnr_world_destroy(world));
    }
}

/* The number-th call fails. False: there are fewer. */
static bool fail_one(const fault *of, int number)
{
    const bool own = ranks_me == of->whose;
    here_begin((uint64_t)number + 100);
    tnr_world *world = world_of(of);
    if (of->direct && !query_exists(world)) {
        world_over(of, true);
        here_end();
        return false;
    }
    const int64_t all[1] = {shape[0] * (of->which == ALL_GATHER ? ranks_size : 1)};
    tnr_tensor *source = here_counting(PLACE_PLAIN, 1, shape, 100000 * (ranks_me + 1));
    tnr_tensor *target = here_counting(PLACE_PLAIN, 1, all, -1);
    const tnr_view view = here_view(source);
    const tnr_view_mut into = here_view_mut(target);
    tnr_exchange *made = NULL;
    CHECK_OK(tnr_cuda_synchronize(here.device));
    CHECK(PMPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (own && of->mpi) {
        shim.fail_at = number;
    } else if (own) {
        shim.fake->fail_code = of->dead ? 700 : 2; /* an address that is none; no memory */
        shim.fake->fail_fatal = of->dead;
        shim.fake->fail_at = (uint64_t)number;
    }
    tnr_status status = TNR_OK;
    if (takes_part(of->which)) {
        status = make_call(of->which, world, &view, &into, &made);
    }
    const bool reached = anywhere(of->mpi ? shim.failed != 0 : shim.fake->faults != 0);
    shim.fail_at = 0;
    shim.fake->fail_at = 0;
    const bool failed = anywhere(status != TNR_OK);
    const bool all_failed = !anywhere(takes_part(of->which) && status == TNR_OK);
    CHECK(reached || !failed);
    CHECK(!failed || all_failed || of->mpi); /* what MPI failed at after a rank had all is not its loss */
    if (status != TNR_OK) {
        CHECK(own ? status != TNR_ERR_PEER : status == TNR_ERR_PEER);
    }
    if (status == TNR_OK && gets(of->which) && !(of->dead && own && reached)) {
        CHECK(has_all(of->which, target));
    }
    (void)tnr_exchange_destroy(&made);
    world_over(of, of->mpi && of->setting == 1);
    const bool source_back = give(&source);
    const bool clean = give(&target) && source_back;
    CHECK(of->mpi || clean);
    device_end(clean);
    query_state.answer = 0;
    return reached;
}

/* Those of one call and one end: a few that a seed draws, or all of them. How many there were. */
static int fail_some(const fault *of, bool all, uint64_t *state)
{
    const int most = all ? INT_MAX : of->mpi || of->dead ? 2 : 3;
    int number = 1;
    int reached = 0;
    while (reached < most && fail_one(of, number)) {
        number += all ? 1 : 1 + (int)layout_below(state, (uint64_t)number * 6);
        reached++;
    }
    return reached;
}

/*
 * An end of a world is heard of after a tenth of a second at the other rank, so a run takes some faults only. TENURE_TEST_SLOW=1: each of
 * them, at both ends, in both settings.
 */
static void fail_each(bool mpi, bool direct, bool dead)
{
    static uint64_t state;
    const char *word = getenv("TENURE_TEST_SLOW");
    const bool all = word != NULL && strcmp(word, "1") == 0;
    state = state != 0 ? state : (uint64_t)ranks_seed() * 2 + 1;
    for (int which = 0; which < CALLS; which += dead && !all ? ALL_GATHER : 1) {
        const int drawn = (int)layout_below(&state, 4);
        int reached = 0;
        for (int at = 0; at < 4; at++) {
            const fault of = {(call)which, at / 2, direct, at % 2, mpi, dead};
            const bool chosen = all || at == drawn || (which == SEND && at / 2 == drawn / 2);
            if (mpi ? at < 2 && (all || at == drawn % 2) : chosen) {
                reached += fail_some(&of, all, &state);
            }
        }
        CHECK(reached > 0 || (mpi && !direct && which == SEND) || (direct && query_state.asked == 0));
        if (all && ranks_me == 0) {
            printf("%s, %s, call %d: %d faults\n",
                   mpi    ? "MPI"
                   : dead ? "device lost"
                          : "driver",
                   direct ? "direct" : "staged", which, reached);
        }
    }
}

static void driver_calls_staged(void) { fail_each(false, false, false); }
static void driver_calls_direct(void) { fail_each(false, true, false); }
static void device_lost_staged(void) { fail_each(false, false, true); }
static void device_lost_direct(void) { fail_each(false, true, true); }
static void mpi_calls_staged(void) { fail_each(true, false, false); }
static void mpi_calls_direct(void) { fail_each(true, true, false); }

/* Without shared memory it is the time limit that tells the other end. */
static void mpi_call_by_messages(void)
{
    const fault of = {SEND, 1, true, 1, true, false};
    query_state.answer = 1;
    (void)world_of(&of);
    world_over(&of, true); /* the next one has another time limit */
    CHECK(fail_one(&of, 3));
}

static void end(void)
{
    for (int i = 0; i < 4; i++) {
        CHECK_OK(tnr_world_destroy(&worlds[i / 2][i % 2]));
    }
    CHECK_OK(tnr_domain_close(&worlds_home));
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(driver_calls_staged),  RANK_TEST(driver_calls_direct),
        RANK_TEST(device_lost_staged),   RANK_TEST(device_lost_direct),
        RANK_TEST(mpi_calls_staged),     RANK_TEST(mpi_calls_direct),
        RANK_TEST(mpi_call_by_messages), RANK_TEST(end),
    };
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
