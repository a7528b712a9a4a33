/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 * What lanes still have to do when a tensor is sent or received, on a fake driver that does nothing before it is waited for: the bytes that
 * leave are those of work queued before, what comes neither overtakes nor is overtaken, and work queued after sees it. Staged, and with
 * an MPI that takes device memory. Each wait is shown to be needed: the fake leaves it out, and the same check finds wrong bytes. */
#include "cuda_ranks.h"

static const int64_t shape[1] = {3000};

typedef enum planted { NOTHING, NO_LANE_WAITS, NO_HOST_WAITS } planted;

/* The fake leaves something out for the length of one call of the world. */
static void plant(planted what)
{
    shim.fake->planted.drop_waits = what == NO_LANE_WAITS;
    shim.fake->planted.false_ready = what == NO_HOST_WAITS;
}

/* From here on nothing runs but what is waited for. */
static tnr_tensor *new_at_rest(place where, int64_t first)
{
    tnr_tensor *made = here_counting(where, 1, shape, first);
    CHECK_OK(tnr_cuda_synchronize(here.device));
    return made;
}

static void queue_copy(int lane, const tnr_tensor *from, tnr_tensor *to)
{
    const tnr_view source = here_view(from);
    const tnr_view_mut target = here_view_mut(to);
    CHECK_OK(tnr_cuda_copy_into(here.lane[lane], &source, &target));
}

static void send(tnr_world *world, const tnr_tensor *tensor, int to, planted what)
{
    const tnr_view view = here_view(tensor);
    plant(what);
    CHECK_OK(tnr_world_send(world, &view, to, 0));
    plant(NOTHING);
}

static void receive(tnr_world *world, tnr_tensor *tensor, int from, planted what)
{
    const tnr_view_mut view = here_view_mut(tensor);
    plant(what);
    CHECK_OK(tnr_world_receive_into(world, &view, from, 0));
    plant(NOTHING);
}

static bool is(const tnr_tensor *tensor, int64_t first, int lane)
{
    tnr_tensor *same = here_counting(PLACE_HOST, 1, shape, first);
    const bool answer = here_same(tensor, same, lane);
    CHECK_OK(tnr_tensor_release(&same));
    return answer;
}

static void give(tnr_tensor **tensors, int count)
{
    plant(NOTHING);
    CHECK_OK(tnr_cuda_synchronize(here.device));
    for (int i = 0; i < count; i++) {
        CHECK_OK(tnr_tensor_release(&tensors[i]));
    }
}

/* Work that writes the tensor is queued, then it is sent: rank 1 gets what that work wrote. */
static bool sent_after_its_work(tnr_world *world, place where, planted what)
{
    bool right = true;
    if (ranks_me == 0) {
        tnr_tensor *tensors[2] = {new_at_rest(where, 0), new_at_rest(where, 100000)};
        queue_copy(0, tensors[1], tensors[0]);
        send(world, tensors[0], 1, what);
        give(tensors, 2);
    } else {
        tnr_tensor *got = here_counting(PLACE_HOST, 1, shape, -1);
        receive(world, got, 0, NOTHING);
        right = is(got, 100000, 0);
        CHECK_OK(tnr_tensor_release(&got));
    }
    return right;
}

/* Rank 0's side where rank 1 receives and sends back what came. */
static void send_and_take_back(tnr_world *world, int64_t first)
{
    tnr_tensor *sent = here_counting(PLACE_HOST, 1, shape, first);
    send(world, sent, 1, NOTHING);
    receive(world, sent, 1, NOTHING);
    CHECK_OK(tnr_tensor_release(&sent));
}

/* Work that reads the target is queued, then it is received into: that work reads what was there before. */
static bool received_behind_readers(tnr_world *world, place where, planted what)
{
    bool right = true;
    if (ranks_me == 0) {
        send_and_take_back(world, 200000);
    } else {
        tnr_tensor *tensors[2] = {new_at_rest(where, 0), new_at_rest(where, -1)};
        queue_copy(0, tensors[0], tensors[1]);
        receive(world, tensors[0], 0, what);
        send(world, tensors[0], 0, what); /* so that what came is there */
        right = is(tensors[1], 0, 0) && is(tensors[0], 200000, 1);
        give(tensors, 2);
    }
    return right;
}

/* Work that writes the target is queued, then it is received into: what came stays. */
static bool received_behind_writers(tnr_world *world, place where, planted what)
{
    bool right = true;
    if (ranks_me == 0) {
        send_and_take_back(world, 300000);
    } else {
        tnr_tensor *tensors[2] = {new_at_rest(where, 0), new_at_rest(where, 50)};
        queue_copy(0, tensors[1], tensors[0]);
        receive(world, tensors[0], 0, what);
        send(world, tensors[0], 0, what);
        CHECK_OK(tnr_cuda_synchronize(here.device));
        right = is(tensors[0], 300000, 0);
        give(tensors, 2);
    }
    return right;
}

/* A tensor is received into, then work that reads it is queued in another lane: it sees what came. */
static bool work_after_receiving(tnr_world *world, place where, planted what)
{
    bool right = true;
    if (ranks_me == 0) {
        tnr_tensor *sent = here_counting(PLACE_HOST, 1, shape, 400000);
        send(world, sent, 1, NOTHING);
        CHECK_OK(tnr_tensor_release(&sent));
    } else {
        tnr_tensor *tensors[2] = {new_at_rest(where, 0), new_at_rest(where, -1)};
        receive(world, tensors[0], 0, NOTHING);
        plant(what);
        queue_copy(1, tensors[0], tensors[1]);
        plant(NOTHING);
        right = is(tensors[1], 400000, 1);
        give(tensors, 2);
    }
    return right;
}

/* A prepared exchange: each start waits anew. */
static bool exchanged_after_work(tnr_world *world, place where, planted what)
{
    bool right = true;
    tnr_tensor *tensors[2] = {new_at_rest(where, 0), new_at_rest(where, 500000)};
    tnr_tensor *got = here_counting(PLACE_HOST, 1, shape, -1);
    const tnr_view from = here_view(tensors[0]);
    const tnr_view_mut to = here_view_mut(got);
    const tnr_exchange_part parts[2] = {{1 - ranks_me, 0, &from, NULL}, {1 - ranks_me, 0, NULL, &to}};
    tnr_exchange *exchange = NULL;
    CHECK_OK(tnr_exchange_prepare(world, parts, 2, &exchange));
    CHECK_OK(tnr_exchange_run(exchange));
    right = is(got, 0, 0);
    queue_copy(0, tensors[1], tensors[0]);
    plant(what);
    CHECK_OK(tnr_exchange_run(exchange));
    plant(NOTHING);
    right = right && is(got, 500000, 0);
    CHECK_OK(tnr_exchange_destroy(&exchange));
    give(tensors, 2);
    CHECK_OK(tnr_tensor_release(&got));
    return right;
}

/* All ranks at once, out of and into the device: the same waits. */
static bool broadcast_after_work(tnr_world *world, place where, planted what)
{
    tnr_tensor *tensors[2] = {new_at_rest(where, 0), new_at_rest(where, 600000)};
    const tnr_view view = here_view(tensors[0]);
    const tnr_view_mut into = here_view_mut(tensors[0]);
    if (ranks_me == 0) {
        queue_copy(0, tensors[1], tensors[0]);
    }
    plant(ranks_me == 0 ? what : NOTHING);
    CHECK_OK(tnr_world_broadcast_into(world, 0, ranks_me == 0 ? &view : NULL, ranks_me == 0 ? NULL : &into));
    plant(NOTHING);
    const bool right = is(tensors[0], 600000, 1);
    give(tensors, 2);
    return right;
}

typedef struct check {
    const char *name;
    bool (*run)(tnr_world *world, place where, planted what);
    bool staged_only; /* what comes by MPI itself is there when the call returns: nothing can be left out */
} check;

static const check checks[] = {
    {"sent after its work", sent_after_its_work, false},
    {"received behind readers", received_behind_readers, false},
    {"received behind writers", received_behind_writers, false},
    {"work after receiving", work_after_receiving, true},
    {"exchanged after work", exchanged_after_work, false},
    {"broadcast after work", broadcast_after_work, false},
};
enum { CHECKS = sizeof(checks) / sizeof(checks[0]) };

/* On any rank. */
static bool anywhere(bool here_so)
{
    int mine = here_so ? 1 : 0;
    int all = 0;
    CHECK(PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
    return all != 0;
}

/* The fake's order is a seed's: what is left out is found with some of them, and nothing is wrong with any otherwise. */
enum { SEEDS = 8, SEEDS_TRIED = 60 };

typedef struct findings {
    bool asked;                         /* there is an MPI that can play its part */
    int found[CHECKS][PLACE_PLAIN + 1]; /* seeds with which bytes were wrong */
} findings;

static bool applies(const findings *of, const check *one, bool direct, planted what)
{
    return what != NOTHING && !(direct && (one->staged_only || !of->asked));
}

static bool all_found(const findings *of, bool direct, planted what)
{
    bool all = true;
    for (int i = 0; i < CHECKS; i++) {
        for (int where = direct ? PLACE_PLAIN : PLACE_POOL; where <= PLACE_PLAIN; where++) {
            all = all && (of->found[i][where] != 0 || !applies(of, &checks[i], direct, what));
        }
    }
    return all;
}

static void run_checks(bool direct, planted what)
{
    for (int setting = 0; setting < 2; setting++) {
        findings of = {.asked = true};
        int seed = 1;
        for (; seed <= SEEDS || (seed <= SEEDS_TRIED && !all_found(&of, direct, what)); seed++) {
            here_begin((uint64_t)seed);
            query_state.answer = direct ? 1 : 0;
            tnr_world *world = here_world(heap(), setting, 60000);
            of.asked = query_exists(world);
            shim.fake->eagerness = 0;
            for (int i = 0; i < CHECKS && (of.asked || !direct); i++) {
                for (int where = direct ? PLACE_PLAIN : PLACE_POOL; where <= PLACE_PLAIN; where++) {
                    of.found[i][where] += anywhere(!checks[i].run(world, (place)where, what)) ? 1 : 0;
                }
            }
            CHECK_OK(tnr_world_destroy(&world));
            here_end();
        }
        for (int i = 0; i < CHECKS && (of.asked || !direct); i++) {
            for (int where = direct ? PLACE_PLAIN : PLACE_POOL; where <= PLACE_PLAIN; where++) {
                const bool wanted = applies(&of, &checks[i], direct, what);
                if (ranks_me == 0 && wanted) {
                    printf("%s, %s, %s, waits left out: found with %d of %d seeds\n", direct ? "direct" : "staged",
                           setting == 0 ? "shared" : "messages", checks[i].name, of.found[i][where], seed - 1);
                }
                if ((of.found[i][where] != 0) != wanted) {
                    ranks_fail(__FILE__, __LINE__, "%s, kind %d, setting %d: %s", checks[i].name, where, setting,
                               wanted ? "a missing wait is not seen" : "wrong bytes");
                }
            }
        }
    }
}

/*
 * While a piece travels the device copies the next one: an MPI that does not say that a message is over before the device has gone on gets
 * all of them. A library that waited for one before it copied the next would wait until the time limit.
 */
static void staged_pieces_overlap(void)
{
    for (int where = PLACE_POOL; where <= PLACE_PLAIN; where++) {
        here_begin(3);
        tnr_world *world = here_world(heap(), 1, 20000);
        shim.fake->eagerness = 0;
        if (ranks_me == 0) {
            tnr_tensor *tensors[1] = {new_at_rest((place)where, 700000)};
            shim.withholds = true;
            shim.large = 0;
            shim.last = (int)((shape[0] * 8 + 4095) / 4096);
            shim.withheld = 0;
            send(world, tensors[0], 1, NOTHING);
            shim.withholds = false;
            CHECK(shim.large == shim.last);
            if (shim.one_handle) {
                printf("pieces of place %d are not withheld: this MPI's requests cannot be told apart\n", where);
            }
            give(tensors, 1);
        } else {
            tnr_tensor *got = here_counting(PLACE_HOST, 1, shape, -1);
            receive(world, got, 0, NOTHING);
            CHECK(is(got, 700000, 0));
            CHECK_OK(tnr_tensor_release(&got));
        }
        CHECK_OK(tnr_world_destroy(&world));
        here_end();
    }
}

static void staged_in_order(void) { run_checks(false, NOTHING); }
static void direct_in_order(void) { run_checks(true, NOTHING); }
static void planted_staged_without_waits(void) { run_checks(false, NO_LANE_WAITS); }
static void planted_direct_without_waits(void) { run_checks(true, NO_HOST_WAITS); }

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(staged_in_order), RANK_TEST(direct_in_order),
                                      RANK_TEST(staged_pieces_overlap), RANK_TEST(planted_staged_without_waits),
                                      RANK_TEST(planted_direct_without_waits)};
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
