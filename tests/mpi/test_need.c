/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * What a world takes of its home is what tnr_world_need says: an arena of exactly that serves, and less does not. */
#include "ranks.h"

static tnr_domain *heap;

static tnr_need need_of(const tnr_world_options *options, int transfers)
{
    tnr_need need = {0, 0, 0};
    CHECK_OK(tnr_world_need(options, ranks_size, transfers, &need));
    return need;
}

/* An arena with room for `need` and not a byte more, or for `part` of 2 of it. */
static tnr_domain *arena_for(const tnr_need *need, uint64_t part, unsigned char **region)
{
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    uint64_t bytes = 0;
    uint64_t control = 0;
    tnr_domain *arena = NULL;
    CHECK_OK(tnr_arena_bytes(need, &options, &bytes, &control, &options.max_blocks));
    CHECK(control == 0);
    bytes = bytes * part / 2;
    *region = aligned_alloc(64, (bytes + 63) / 64 * 64);
    CHECK(*region != NULL);
    CHECK_OK(tnr_arena_create(*region, bytes, &options, &arena));
    return arena;
}

static void arena_end(tnr_domain **arena, unsigned char *region)
{
    CHECK_OK(tnr_domain_close(arena));
    free(region);
}

static uint64_t peak_of(tnr_domain *domain)
{
    tnr_domain_statistics statistics;
    CHECK_OK(tnr_domain_statistics_get(domain, &statistics));
    return statistics.peak_bytes;
}

static void creation_takes_what_it_says(void)
{
    static const tnr_world_options all[] = {
        TNR_WORLD_OPTIONS,
        {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 1, 1, 0, 4096, 0, 65536, false, 0, 60000, false},
        {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 33, 3072, 0, 4096, 0, 0, true, 0, 60000, true},
    };
    for (size_t index = 0; index < sizeof(all) / sizeof(all[0]); index++) {
        const tnr_need need = need_of(&all[index], 0);
        unsigned char *region = NULL;
        tnr_world *world = NULL;
        tnr_domain *arena = arena_for(&need, 2, &region);
        CHECK_OK(tnr_world_create(arena, MPI_COMM_WORLD, &all[index], &world));
        CHECK_OK(tnr_world_barrier(world));
        CHECK(peak_of(arena) == need.bytes); /* one node runs this: exact */
        CHECK_OK(tnr_world_destroy(&world));
        arena_end(&arena, region);
        arena = arena_for(&need, 1, &region);
        CHECK_STATUS(TNR_ERR_MEMORY, tnr_world_create(arena, MPI_COMM_WORLD, &all[index], &world));
        CHECK(world == NULL);
        arena_end(&arena, region);
    }
}

/* Every second element of a column: packed. */
static void strided(tnr_tensor **tensor, tnr_view_mut *view, double value)
{
    const int64_t shape[1] = {4000};
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, shape, &value, tensor));
    CHECK_OK(tnr_tensor_view_mut(*tensor, view));
    CHECK_OK(tnr_view_mut_slice_axis(view, 0, (tnr_range){0, TNR_END, 2}, view));
}

static void all_elements_are(const tnr_view *view, double value)
{
    for (int64_t i = 0; i < view->shape[0]; i += 7) {
        double found = 0;
        CHECK_OK(tnr_view_get(view, &i, &found));
        CHECK(found == value);
    }
}

/* Prepared exchanges on all tickets, and a blocking copy each way beside them, all of them packed. */
static void transfers_take_no_more_than_it_says(void)
{
    enum { EXCHANGES = 16, TICKETS = 2 * EXCHANGES }; /* the copy beside them may end before it needs all of its own */
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.tickets = TICKETS;
    options.pack_bytes = 4096;
    options.derived_run_bytes = UINT64_MAX;
    options.no_shared = true;
    options.timeout_ms = 60000;
    const tnr_need need = need_of(&options, TICKETS + 2);
    unsigned char *region = NULL;
    tnr_domain *arena = arena_for(&need, 2, &region);
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(arena, MPI_COMM_WORLD, &options, &world));
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    tnr_tensor *tensors[EXCHANGES + 1][2];
    tnr_view_mut views[EXCHANGES + 1][2];
    tnr_exchange *exchanges[EXCHANGES] = {NULL};
    for (int i = 0; i <= EXCHANGES; i++) {
        strided(&tensors[i][0], &views[i][0], ranks_me + 10 * i);
        strided(&tensors[i][1], &views[i][1], -1);
    }
    for (int times = 0; times < 3; times++) { /* again, in memory that was given back */
        for (int i = 0; i < EXCHANGES; i++) {
            const tnr_exchange_part parts[2] = {{next, i, &views[i][0].view, NULL}, {last, i, NULL, &views[i][1]}};
            CHECK_OK(tnr_exchange_prepare(world, parts, 2, &exchanges[i]));
            CHECK_OK(tnr_exchange_start(exchanges[i]));
        }
        CHECK_OK(tnr_world_send_receive(world, &views[EXCHANGES][0].view, next, &views[EXCHANGES][1], last, 0));
        for (int i = 0; i < EXCHANGES; i++) {
            CHECK_OK(tnr_exchange_wait(exchanges[i]));
            CHECK_OK(tnr_exchange_destroy(&exchanges[i]));
        }
    }
    for (int i = 0; i <= EXCHANGES; i++) {
        all_elements_are(&views[i][1].view, last + 10 * i);
        CHECK_OK(tnr_tensor_release(&tensors[i][0]));
        CHECK_OK(tnr_tensor_release(&tensors[i][1]));
    }
    if (ranks_size > 1) {
        CHECK(10 * peak_of(arena) >= 9 * need.bytes); /* and not much less */
    }
    CHECK_OK(tnr_world_destroy(&world));
    arena_end(&arena, region);
}

/* Headers that come long before their receives, through shared memory. */
static void early_headers_are_counted(void)
{
    enum { TICKETS = 40 };
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.tickets = TICKETS;
    options.pack_bytes = 4096;
    options.timeout_ms = 60000;
    const tnr_need need = need_of(&options, TICKETS);
    unsigned char *region = NULL;
    tnr_domain *arena = arena_for(&need, 2, &region);
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(arena, MPI_COMM_WORLD, &options, &world));
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    const double mine = ranks_me;
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 0, NULL, &mine, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    if (ranks_me == 0) {
        for (int from = ranks_size - 1; from > 0; from--) {
            for (int channel = TICKETS; channel-- > 0;) {
                double value = 0;
                CHECK_OK(tnr_world_receive_into(world, &view, from, channel));
                CHECK_OK(tnr_view_get(&view.view, NULL, &value));
                CHECK(value == from);
            }
        }
        CHECK(peak_of(arena) > need_of(&options, 0).bytes || ranks_size == 1); /* it kept some */
    } else {
        tnr_ticket *tickets[TICKETS] = {NULL};
        for (int channel = 0; channel < TICKETS; channel++) {
            CHECK_OK(tnr_world_send_begin(world, &view.view, 0, channel, &tickets[channel]));
        }
        for (int channel = 0; channel < TICKETS; channel++) {
            CHECK_OK(tnr_ticket_wait(&tickets[channel]));
        }
    }
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_world_destroy(&world));
    arena_end(&arena, region);
}

static void receive_number(tnr_world *world, const tnr_view_mut *view, int channel, double expected)
{
    double value = -1;
    CHECK_OK(tnr_world_receive_into(world, view, 1, channel));
    CHECK_OK(tnr_view_get(&view->view, NULL, &value));
    CHECK(value == expected);
}

/* The same where the home has no room for them: those that wait are found, what is behind them is refused alone, and the world goes on. */
static void early_headers_in_a_full_home(void)
{
    enum { SENDS = 20, CHANNELS = SENDS / 2 }; /* more than are on their way at one time: two on each channel */
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.tickets = SENDS;
    options.timeout_ms = 60000;
    const tnr_need need = need_of(&options, 0);
    unsigned char *region = NULL;
    tnr_domain *arena = arena_for(&need, 2, &region);
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(arena, MPI_COMM_WORLD, &options, &world));
    tnr_tensor *tensors[SENDS];
    tnr_view_mut views[SENDS];
    for (int i = 0; i < SENDS; i++) {
        const double mine = 100 * ranks_me + i;
        CHECK_OK(tnr_tensor_full(heap, TNR_F64, 0, NULL, &mine, &tensors[i]));
        CHECK_OK(tnr_tensor_view_mut(tensors[i], &views[i]));
    }
    if (ranks_size > 1 && ranks_me == 0) {
        const tnr_view_mut *view = &views[0];
        /* the last channel first: those before it must be kept, and cannot be */
        CHECK_STATUS(TNR_ERR_MEMORY, tnr_world_receive_into(world, view, 1, CHANNELS - 1));
        CHECK_TEXT("world_receive_into: the world's home has no room for the headers of transfers from rank 1");
        CHECK_TEXT("tnr_world_need");
        CHECK_OK(tnr_world_poisoned(world));
        receive_number(world, view, 3, 106); /* is on its way, behind those that nobody receives */
        receive_number(world, view, 2, 104);
        receive_number(world, view, 3, 107);
        tnr_ticket *ticket = NULL;
        CHECK_OK(tnr_world_receive_into_begin(world, &views[1], 1, CHANNELS - 1, &ticket));
        CHECK_STATUS(TNR_ERR_MEMORY, tnr_ticket_wait(&ticket));
        CHECK(ticket != NULL); /* not over: what is before it may still be received */
        receive_number(world, view, 0, 100);
        receive_number(world, view, 0, 101);
        receive_number(world, view, 1, 102);
        receive_number(world, view, 2, 105);
        receive_number(world, view, 1, 103);
        for (int i = 8; i < SENDS - 2; i++) {
            receive_number(world, view, i / 2, 100 + i);
        }
        double value = -1;
        CHECK_OK(tnr_ticket_wait(&ticket));
        CHECK_OK(tnr_view_get(&views[1].view, NULL, &value));
        CHECK(value == 100 + SENDS - 2);
        receive_number(world, view, CHANNELS - 1, 100 + SENDS - 1);
    } else if (ranks_me == 1) {
        tnr_ticket *tickets[SENDS] = {NULL};
        for (int i = 0; i < SENDS; i++) {
            CHECK_OK(tnr_world_send_begin(world, &views[i].view, 0, i / 2, &tickets[i]));
        }
        for (int i = 0; i < SENDS; i++) {
            CHECK_OK(tnr_ticket_wait(&tickets[i]));
        }
    }
    CHECK_OK(tnr_world_barrier(world));
    for (int i = 0; i < SENDS; i++) {
        CHECK_OK(tnr_tensor_release(&tensors[i]));
    }
    CHECK_OK(tnr_world_destroy(&world));
    arena_end(&arena, region);
}

/* A collective call that such headers keep from its own: it is clear why, and the world is over. */
static void early_headers_in_the_way_of_all(void)
{
    enum { SENDS = 12 };
    if (ranks_size != 2) { /* elsewhere the call's own way may be another */
        return;
    }
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.tickets = SENDS;
    options.timeout_ms = 60000;
    const tnr_need need = need_of(&options, 0);
    unsigned char *region = NULL;
    tnr_domain *arena = arena_for(&need, 2, &region);
    tnr_world *world = NULL;
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    tnr_ticket *tickets[SENDS] = {NULL};
    const double mine = ranks_me;
    CHECK_OK(tnr_world_create(arena, MPI_COMM_WORLD, &options, &world));
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 0, NULL, &mine, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    for (int i = 0; i < SENDS && ranks_me == 1; i++) {
        CHECK_OK(tnr_world_send_begin(world, &view.view, 0, i, &tickets[i]));
    }
    CHECK_STATUS(ranks_me == 0 ? TNR_ERR_MEMORY : TNR_ERR_PEER,
                 tnr_world_broadcast_into(world, 1, ranks_me == 1 ? &view.view : NULL, ranks_me == 1 ? NULL : &view));
    CHECK_TEXT("no room for the headers of transfers from rank 1");
    CHECK_STATUS(ranks_me == 0 ? TNR_ERR_MEMORY : TNR_ERR_PEER, tnr_world_poisoned(world));
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_tensor_release(&tensor));
    arena_end(&arena, region);
}

static void what_is_wrong_is_said(void)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_need need = {7, 7, 7};
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_need(NULL, 1, 0, NULL));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_need(NULL, 0, 0, &need));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_need(NULL, 1, -1, &need));
    options.tickets = 5000;
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_need(&options, 1, 0, &need));
    CHECK_TEXT("world_need: options.tickets is 5000");
    CHECK(need.bytes == 7 && need.blocks == 7 && need.handles == 7);
    tnr_need most = need;
    CHECK_OK(tnr_world_need(NULL, 3, 258, &need)); /* tickets + 2 */
    CHECK_OK(tnr_world_need(NULL, 3, 1000000, &most));
    CHECK(most.bytes == need.bytes && most.blocks == need.blocks);
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(creation_takes_what_it_says),     RANK_TEST(transfers_take_no_more_than_it_says),
        RANK_TEST(early_headers_are_counted),       RANK_TEST(early_headers_in_a_full_home),
        RANK_TEST(early_headers_in_the_way_of_all), RANK_TEST(what_is_wrong_is_said),
    };
    CHECK_OK(tnr_heap_create(&heap));
    const int result = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    CHECK_OK(tnr_domain_close(&heap));
    return result;
}
