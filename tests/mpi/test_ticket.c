/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * transports: tcp nocma
 * Copies in flight: tickets of all kinds, many at once, out of order, given up; leases; limits; send_receive. */
#include "../../src/mpi/mpi_internal.h"

#include "layouts.h"

static tnr_domain *heap;

static tnr_world *make_world(bool no_shared, int tickets)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    options.no_shared = no_shared;
    options.tickets = tickets;
    options.shared_bytes = 128 << 10;
    options.pack_bytes = 16 << 10;
    options.chunk_bytes = 32 << 10;
    options.timeout_ms = 20000;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
    return world;
}

static void end_world(tnr_world **world)
{
    tnr_world_info info;
    CHECK_OK(tnr_world_barrier(*world));
    CHECK_OK(tnr_world_describe(*world, &info));
    CHECK(info.requests == 0 && info.datatypes == 0 && info.tickets == 0 && info.poisoned == TNR_OK);
    CHECK_OK(tnr_world_destroy(world));
}

/* One transfer of the storm, known to both ends. */
typedef struct storm_part {
    int from;
    int to;
    int channel;
    bool allocates;
    uint64_t seed;
    layout_shape shape;
    layout_piece piece;
    tnr_tensor *made;
    tnr_ticket *ticket;
} storm_part;

/*
 * Every rank draws the same list of transfers between random ranks on a few channels, starts its own ends in the list's order, and ends
 * them in a random order, by waiting or by testing.
 */
static void storm(tnr_world *world, uint64_t *common, uint64_t *own)
{
    enum { MOST = 24 };
    static storm_part parts[MOST];
    const int count = 1 + (int)layout_below(common, MOST);
    int mine[2 * MOST];
    int ends = 0;
    static tnr_ticket *tickets[2 * MOST];
    for (int i = 0; i < count; i++) {
        storm_part *part = &parts[i];
        part->from = (int)layout_below(common, (uint64_t)ranks_size);
        part->to = (int)layout_below(common, (uint64_t)ranks_size);
        part->channel = (int)layout_below(common, 3);
        part->allocates = layout_below(common, 2) == 0;
        part->seed = layout_random(common);
        part->made = NULL;
        layout_draw_shape(common, layout_below(common, 6) == 0 ? 60000 : 500, &part->shape);
    }
    static layout_piece sends[MOST];
    for (int i = 0; i < count; i++) {
        storm_part *part = &parts[i];
        if (part->to == ranks_me) {
            if (part->allocates) {
                CHECK_OK(tnr_world_receive_begin(world, part->from, part->channel, heap, &part->made, &tickets[ends]));
            } else {
                layout_make(own, heap, &part->shape, LAYOUT_ANY, &part->piece);
                CHECK_OK(
                    tnr_world_receive_into_begin(world, &part->piece.view, part->from, part->channel, &tickets[ends]));
            }
            mine[ends++] = i;
        }
        if (part->from == ranks_me) {
            layout_make(own, heap, &part->shape, LAYOUT_ANY, &sends[i]);
            layout_fill(&sends[i], part->seed);
            CHECK_OK(tnr_world_send_begin(world, &sends[i].view.view, part->to, part->channel, &tickets[ends]));
            mine[ends++] = i;
        }
    }
    for (int left = ends; left > 0; left--) {
        const int at = (int)layout_below(own, (uint64_t)left);
        if (layout_below(own, 2) == 0) {
            CHECK_OK(tnr_ticket_wait(&tickets[at]));
        } else {
            for (bool done = false; !done;) {
                CHECK_OK(tnr_ticket_test(&tickets[at], &done));
            }
        }
        CHECK(tickets[at] == NULL);
        tickets[at] = tickets[left - 1];
        mine[at] = mine[left - 1];
    }
    for (int i = 0; i < count; i++) {
        storm_part *part = &parts[i];
        if (part->to == ranks_me && part->allocates) {
            tnr_view view;
            CHECK_OK(tnr_tensor_view(part->made, &view));
            layout_check(&view, part->seed);
            CHECK_OK(tnr_tensor_release(&part->made));
        } else if (part->to == ranks_me) {
            layout_check(&part->piece.view.view, part->seed);
            layout_end(&part->piece);
        }
        if (part->from == ranks_me) {
            layout_end(&sends[i]);
        }
    }
}

static void storms_of_transfers(void)
{
    const unsigned long long seed = ranks_seed();
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world *world = make_world(no_shared != 0, 0);
        uint64_t common = seed * 2 + 1;
        uint64_t own = (seed + (uint64_t)ranks_me * 7919) * 2 + 1;
        for (int round = 0; round < 30; round++) {
            storm(world, &common, &own);
        }
        end_world(&world);
    }
}

static void sequence_tensor(int64_t count, tnr_tensor **tensor, tnr_view_mut *view)
{
    void *data;
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, &count, tensor));
    CHECK_OK(tnr_tensor_host_data_mut(*tensor, &data));
    for (int64_t i = 0; i < count; i++) {
        ((double *)data)[i] = (double)i;
    }
    CHECK_OK(tnr_tensor_view_mut(*tensor, view));
}

/*
 * A send that nobody has accepted must not keep another one from going: the second channel's receiver comes first. Much more than the shared
 * memory holds.
 */
static void unaccepted_sends_are_in_nobodys_way(void)
{
    enum { COUNT = 30000, SENDS = 20 };
    if (ranks_size < 2) {
        return;
    }
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world *world = make_world(no_shared != 0, 0);
        tnr_tensor *tensor;
        tnr_view_mut view;
        tnr_ticket *tickets[SENDS];
        sequence_tensor(COUNT, &tensor, &view);
        if (ranks_me == 0) {
            for (int i = 0; i < SENDS; i++) {
                CHECK_OK(tnr_world_send_begin(world, &view.view, 1, i, &tickets[i]));
            }
            for (int i = 0; i < SENDS; i++) {
                CHECK_OK(tnr_ticket_wait(&tickets[i]));
            }
        } else if (ranks_me == 1) {
            for (int i = SENDS - 1; i >= 0; i--) {
                tnr_tensor *made = NULL;
                const void *data;
                const void *expected;
                CHECK_OK(tnr_world_receive(world, 0, i, heap, &made));
                CHECK_OK(tnr_tensor_host_data(made, &data));
                CHECK_OK(tnr_tensor_host_data(tensor, &expected));
                CHECK(memcmp(data, expected, COUNT * sizeof(double)) == 0);
                CHECK_OK(tnr_tensor_release(&made));
            }
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

static void tickets_hold_leases(void)
{
    tnr_world *world = make_world(false, 0);
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    tnr_tensor *source;
    tnr_tensor *target;
    tnr_view_mut from;
    tnr_view_mut into;
    tnr_ticket *send = NULL;
    tnr_ticket *receive = NULL;
    sequence_tensor(5000, &source, &from);
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){5000}, &target));
    CHECK_OK(tnr_tensor_view_mut(target, &into));
    CHECK_OK(tnr_world_receive_into_begin(world, &into, last, 1, &receive));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_tensor_release(&target));
    double value = 0;
    CHECK_STATUS(TNR_ERR_BUSY, tnr_view_get(&into.view, (int64_t[]){0}, &value));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_send(world, &into.view, next, 2));
    CHECK_OK(tnr_world_barrier(world));
    CHECK_OK(tnr_world_send_begin(world, &from.view, next, 1, &send));
    CHECK_OK(tnr_view_get(&from.view, (int64_t[]){7}, &value));
    CHECK(value == 7);
    CHECK_STATUS(TNR_ERR_BUSY, tnr_view_set(&from, (int64_t[]){7}, &value));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_tensor_release(&source));
    tnr_world *same = world;
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_destroy(&same));
    CHECK_OK(tnr_ticket_wait(&send));
    CHECK_OK(tnr_ticket_wait(&receive));
    CHECK_OK(tnr_ticket_wait(&receive)); /* of NULL */
    CHECK_OK(tnr_view_get(&into.view, (int64_t[]){4999}, &value));
    CHECK(value == 4999);
    CHECK_OK(tnr_tensor_release(&source));
    CHECK_OK(tnr_tensor_release(&target));
    end_world(&world);
}

static void tickets_run_out(void)
{
    enum { TICKETS = 3 };
    tnr_world *world = make_world(false, TICKETS);
    tnr_tensor *made[TICKETS + 1];
    tnr_ticket *tickets[TICKETS + 1] = {NULL};
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    for (int i = 0; i < TICKETS; i++) {
        CHECK_OK(tnr_world_receive_begin(world, last, 0, heap, &made[i], &tickets[i]));
    }
    CHECK_STATUS(TNR_ERR_MEMORY, tnr_world_receive_begin(world, last, 0, heap, &made[TICKETS], &tickets[TICKETS]));
    CHECK_TEXT("all 3 tickets are in use");
    CHECK(tickets[TICKETS] == NULL);
    /* a blocking call still can */
    tnr_tensor *tensor;
    tnr_view_mut view;
    sequence_tensor(3, &tensor, &view);
    for (int i = 0; i < TICKETS; i++) {
        CHECK_OK(tnr_world_send(world, &view.view, next, 0));
    }
    for (int i = 0; i < TICKETS; i++) {
        CHECK_OK(tnr_ticket_wait(&tickets[i]));
        CHECK_OK(tnr_tensor_release(&made[i]));
    }
    CHECK_OK(tnr_tensor_release(&tensor));
    end_world(&world);
}

/* What no partner has answered can be given up; what it may have seen cannot. */
static void giving_up(void)
{
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world *world = make_world(no_shared != 0, 0);
        tnr_tensor *made = NULL;
        tnr_ticket *ticket = NULL;
        tnr_tensor *tensor;
        tnr_view_mut view;
        const int next = (ranks_me + 1) % ranks_size;
        const int last = (ranks_me + ranks_size - 1) % ranks_size;
        sequence_tensor(1000, &tensor, &view);
        CHECK_OK(tnr_world_receive_into_begin(world, &view, last, 5, &ticket));
        CHECK_STATUS(TNR_ERR_BUSY, tnr_tensor_release(&tensor));
        CHECK_OK(tnr_ticket_abandon(&ticket));
        CHECK(ticket == NULL);
        CHECK_OK(tnr_world_receive_begin(world, last, 5, heap, &made, &ticket));
        CHECK_OK(tnr_ticket_abandon(&ticket));
        CHECK(made == NULL);
        CHECK_OK(tnr_ticket_abandon(&ticket));
        CHECK_OK(tnr_world_send_begin(world, &view.view, ranks_me, 6, &ticket)); /* to itself: nobody has seen it */
        CHECK_OK(tnr_ticket_abandon(&ticket));
        CHECK_OK(tnr_world_barrier(world));
        /* what was given up does not take what comes next */
        tnr_ticket *send = NULL;
        CHECK_OK(tnr_world_send_begin(world, &view.view, next, 5, &send));
        if (ranks_size > 1) {
            CHECK_STATUS(TNR_ERR_BUSY, tnr_ticket_abandon(&send));
            CHECK(send != NULL);
        }
        CHECK_OK(tnr_world_receive_begin(world, last, 5, heap, &made, &ticket));
        const tnr_status late = tnr_ticket_abandon(&ticket); /* may have come already, or not */
        CHECK(late == TNR_OK || late == TNR_ERR_BUSY);
        if (late == TNR_OK) {
            CHECK_OK(tnr_world_receive(world, last, 5, heap, &made));
        } else {
            CHECK_OK(tnr_ticket_wait(&ticket));
        }
        CHECK_OK(tnr_ticket_wait(&send));
        CHECK_OK(tnr_tensor_release(&made));
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

/* A refusal is its ticket's alone. */
static void refusal_reaches_its_ticket(void)
{
    if (ranks_size < 2) {
        return;
    }
    tnr_world *world = make_world(false, 0);
    tnr_tensor *tensor;
    tnr_view_mut view;
    tnr_view_mut half;
    sequence_tensor(40000, &tensor, &view);
    CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, 20000, 1}, &half));
    if (ranks_me == 0) {
        tnr_ticket *bad = NULL;
        tnr_ticket *good = NULL;
        CHECK_OK(tnr_world_send_begin(world, &view.view, 1, 0, &bad));
        CHECK_OK(tnr_world_send_begin(world, &half.view, 1, 0, &good));
        CHECK_OK(tnr_ticket_wait(&good));
        CHECK_STATUS(TNR_ERR_PEER, tnr_ticket_wait(&bad));
        CHECK_TEXT("rank 0 sends [40000], the view has [20000]");
        CHECK(bad == NULL && good == NULL);
    } else if (ranks_me == 1) {
        bool done = false;
        tnr_ticket *ticket = NULL;
        CHECK_OK(tnr_world_receive_into_begin(world, &half, 0, 0, &ticket));
        tnr_status status = TNR_OK;
        while (!done) {
            status = tnr_ticket_test(&ticket, &done);
        }
        CHECK(status == TNR_ERR_SHAPE && ticket == NULL);
        CHECK_OK(tnr_world_receive_into(world, &half, 0, 0));
    }
    CHECK_OK(tnr_tensor_release(&tensor));
    end_world(&world);
}

/* Halos of one tensor: what is sent and what is received have one owner. */
static void send_receive_halos(void)
{
    enum { ROWS = 700, COLUMNS = 6 };
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world *world = make_world(no_shared != 0, 0);
        const int next = (ranks_me + 1) % ranks_size;
        const int last = (ranks_me + ranks_size - 1) % ranks_size;
        for (int axis = 0; axis < 2; axis++) { /* short runs, then one long one */
            tnr_tensor *tensor;
            tnr_view_mut view;
            tnr_view_mut send;
            tnr_view_mut receive;
            void *data;
            const int64_t shape[] = {axis == 0 ? COLUMNS : ROWS, axis == 0 ? ROWS : COLUMNS};
            CHECK_OK(tnr_tensor_full(heap, TNR_F64, 2, shape, &(double){ranks_me}, &tensor));
            CHECK_OK(tnr_tensor_view_mut(tensor, &view));
            CHECK_OK(tnr_view_mut_slice_axis(&view, axis, (tnr_range){COLUMNS - 2, COLUMNS - 1, 1}, &send));
            CHECK_OK(tnr_view_mut_slice_axis(&view, axis, (tnr_range){0, 1, 1}, &receive));
            CHECK_OK(tnr_world_send_receive(world, &send.view, next, &receive, last, 8));
            CHECK_OK(tnr_tensor_host_data_mut(tensor, &data));
            for (int64_t j = 0; j < shape[1]; j++) {
                for (int64_t i = 0; i < shape[0]; i++) {
                    CHECK(((double *)data)[j * shape[0] + i] == ((axis == 0 ? i : j) == 0 ? last : ranks_me));
                }
            }
            /* the same elements cannot go out and come in */
            CHECK_STATUS(TNR_ERR_OVERLAP, tnr_world_send_receive(world, &receive.view, next, &receive, last, 8));
            CHECK_STATUS(TNR_ERR_BOUNDS, tnr_world_send_receive(world, &send.view, ranks_size, &receive, last, 8));
            CHECK_OK(tnr_tensor_release(&tensor));
        }
        end_world(&world);
    }
}

/* Rank 0 sends f64 where f32 is expected, and receives well all the same. */
static void send_receive_ends_both(void)
{
    if (ranks_size < 2) {
        return;
    }
    tnr_world *world = make_world(false, 0);
    if (ranks_me < 2) {
        tnr_tensor *f64;
        tnr_tensor *f32;
        tnr_view_mut wide;
        tnr_view_mut narrow;
        CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){9}, &(double){ranks_me}, &f64));
        CHECK_OK(tnr_tensor_full(heap, TNR_F32, 1, (int64_t[]){9}, &(float){(float)ranks_me}, &f32));
        CHECK_OK(tnr_tensor_view_mut(f64, &wide));
        CHECK_OK(tnr_tensor_view_mut(f32, &narrow));
        if (ranks_me == 0) {
            CHECK_STATUS(TNR_ERR_PEER, tnr_world_send_receive(world, &wide.view, 1, &narrow, 1, 0));
            float value;
            CHECK_OK(tnr_view_get(&narrow.view, (int64_t[]){8}, &value));
            CHECK(value == 1);
        } else {
            tnr_tensor *other;
            tnr_view_mut into;
            CHECK_OK(tnr_tensor_full(heap, TNR_F32, 1, (int64_t[]){9}, &(float){4}, &other));
            CHECK_OK(tnr_tensor_view_mut(other, &into));
            CHECK_STATUS(TNR_ERR_DTYPE, tnr_world_send_receive(world, &narrow.view, 0, &into, 0, 0));
            float value;
            CHECK_OK(tnr_view_get(&into.view, (int64_t[]){0}, &value));
            CHECK(value == 4);
            CHECK_OK(tnr_tensor_release(&other));
        }
        CHECK_OK(tnr_tensor_release(&f64));
        CHECK_OK(tnr_tensor_release(&f32));
    }
    end_world(&world);
}

/* All tickets that a world may have, all to one rank, and a blocking transfer beside them: each has a number of its own. */
static void as_many_tickets_as_there_may_be(void)
{
    if (ranks_size < 2) {
        return;
    }
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world *world = make_world(no_shared != 0, TNRI_TICKETS_MOST);
        static tnr_ticket *tickets[TNRI_TICKETS_MOST];
        tnr_tensor *tensor;
        tnr_view_mut view;
        sequence_tensor(TNRI_TICKETS_MOST + 1, &tensor, &view);
        for (int i = 0; i < TNRI_TICKETS_MOST && ranks_me == 0; i++) {
            tnr_view_mut one;
            CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){i, i + 1, 1}, &one));
            CHECK_OK(tnr_world_send_begin(world, &one.view, 1, i % TNR_WORLD_CHANNELS, &tickets[i]));
        }
        for (int i = 0; i < TNRI_TICKETS_MOST && ranks_me == 0; i++) {
            CHECK_OK(tnr_ticket_wait(&tickets[i]));
        }
        for (int i = 0; i < TNRI_TICKETS_MOST && ranks_me == 1; i++) {
            double value = -1;
            tnr_view_mut one;
            CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){TNRI_TICKETS_MOST, TNR_END, 1}, &one));
            CHECK_OK(tnr_world_receive_into(world, &one, 0, i % TNR_WORLD_CHANNELS));
            CHECK_OK(tnr_view_get(&one.view, (int64_t[]){0}, &value));
            CHECK(value == i);
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(storms_of_transfers),
        RANK_TEST(unaccepted_sends_are_in_nobodys_way),
        RANK_TEST(tickets_hold_leases),
        RANK_TEST(tickets_run_out),
        RANK_TEST(giving_up),
        RANK_TEST(refusal_reaches_its_ticket),
        RANK_TEST(send_receive_halos),
        RANK_TEST(send_receive_ends_both),
        RANK_TEST(as_many_tickets_as_there_may_be),
    };
    if (tnr_heap_create(&heap) != TNR_OK) {
        return 1;
    }
    const int answer = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    return answer != 0 || tnr_domain_close(&heap) != TNR_OK;
}
