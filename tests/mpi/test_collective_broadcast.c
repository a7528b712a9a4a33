/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * transports: tcp nocma
 * Broadcasts of all layouts from every root, and what all collective calls have in common: refusals heard by all, nothing
 * written then, and a world that goes on. */
#include "collective.h"

static void random_layouts_from_every_root(void)
{
    const unsigned long long seed = ranks_seed();
    for (int with = 0; with < COLLECTIVE_SETTINGS; with++) {
        tnr_world *world = collective_world(with);
        uint64_t common = seed * 2 + 1;
        uint64_t own = (seed + (uint64_t)ranks_me * 7919) * 2 + 1;
        for (int round = 0; round < 40; round++) {
            layout_shape shape;
            layout_piece piece;
            layout_draw_shape(&common, round % 10 == 9 ? 400000 : 500, &shape);
            const int root = (int)layout_below(&common, (uint64_t)ranks_size);
            const uint64_t number = layout_random(&common);
            const bool mixed = layout_below(&common, 3) == 0; /* each rank its own form */
            const bool makes = layout_below(mixed ? &own : &common, 2) == 0;
            tnr_tensor *made = NULL;
            layout_make(&own, collective_heap, &shape, layout_below(&own, 3) == 0 ? LAYOUT_COMPACT : LAYOUT_ANY,
                        &piece);
            const uint64_t outside = layout_outside(&piece);
            if (ranks_me == root) {
                layout_fill(&piece, number);
            }
            if (makes) {
                CHECK_OK(tnr_world_broadcast(world, root, ranks_me == root ? &piece.view.view : NULL, collective_heap,
                                             &made));
                collective_check_tensor(made, &shape, number);
                CHECK_OK(tnr_tensor_release(&made));
            } else {
                CHECK_OK(tnr_world_broadcast_into(world, root, ranks_me == root ? &piece.view.view : NULL,
                                                  ranks_me == root ? NULL : &piece.view));
                layout_check(&piece.view.view, number);
                CHECK(layout_outside(&piece) == outside);
            }
            layout_end(&piece);
        }
        collective_end(&world);
    }
}

static void broadcast_sources_may_repeat_elements(void)
{
    tnr_world *world = collective_world(0);
    const double values[] = {1, 2, 3};
    const double *data;
    tnr_tensor *three;
    tnr_tensor *made = NULL;
    tnr_view view;
    tnr_view repeated;
    collective_f64(1, (int64_t[]){3}, values, &three);
    CHECK_OK(tnr_tensor_view(three, &view));
    CHECK_OK(tnr_view_broadcast(&view, 2, (int64_t[]){2, 3}, (int[]){1}, &repeated));
    CHECK_OK(tnr_world_broadcast(world, 0, ranks_me == 0 ? &repeated : NULL, collective_heap, &made));
    data = collective_data(made);
    for (int i = 0; i < 6; i++) {
        CHECK(data[i] == values[i / 2]);
    }
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_tensor_release(&three));
    collective_end(&world);
}

/* The last rank is wrong in some way: it hears its own error, all others hear of it, nobody's bytes change. */
static void refusals_are_heard_by_all(void)
{
    if (ranks_size < 2) {
        return;
    }
    tnr_world *world = collective_world(0);
    const int last = ranks_size - 1;
    double values[] = {1, 2, 3, 4};
    float others[] = {0, 0, 0, 0};
    tnr_tensor *source;
    tnr_tensor *target;
    tnr_tensor *single;
    tnr_view from;
    tnr_view_mut into;
    tnr_view_mut wrong;
    collective_f64(1, (int64_t[]){4}, values, &source);
    memset(values, 0, sizeof(values));
    collective_f64(1, (int64_t[]){4}, values, &target);
    CHECK_OK(
        tnr_tensor_from_column_major(collective_heap, TNR_F32, 1, (int64_t[]){4}, others, sizeof(others), &single));
    CHECK_OK(tnr_tensor_view(source, &from));
    CHECK_OK(tnr_tensor_view_mut(target, &into));
    const tnr_view *mine = ranks_me == 0 ? &from : NULL;
    for (int way = 0; way < 6; way++) {
        tnr_status own = TNR_ERR_DTYPE;
        const char *words = "the target has f32, not f64";
        tnr_read_map map = {0};
        CHECK_OK(tnr_tensor_view_mut(single, &wrong));
        int root = 0;
        switch (way) {
        case 0:
            break;
        case 1:
            own = TNR_ERR_SHAPE;
            words = "the target has shape [3], not [4]";
            CHECK_OK(tnr_view_mut_slice(&into, &(tnr_range){0, 3, 1}, &wrong));
            break;
        case 2:
            own = TNR_ERR_BUSY;
            words = "lease";
            wrong = into;
            if (ranks_me == last) {
                CHECK_OK(tnr_map_read(&into.view, &map));
            }
            break;
        case 3:
            own = TNR_ERR_BOUNDS;
            words = "root 99";
            root = ranks_me == last ? 99 : 0;
            wrong = into;
            break;
        case 4:
            own = TNR_ERR_ARGUMENT;
            words = "root 1 here, 0 on rank 0";
            root = ranks_me == last ? 1 : 0;
            wrong = into;
            break;
        default:
            own = TNR_ERR_STALE;
            words = "";
            wrong = into;
            wrong.view.generation += 2;
            break;
        }
        if (way == 4 && last == 1) { /* it would be root itself, without a source */
            continue;
        }
        const tnr_view_mut *to = ranks_me == 0 ? NULL : ranks_me == last ? &wrong : &into;
        CHECK_STATUS(ranks_me == last ? own : TNR_ERR_PEER, tnr_world_broadcast_into(world, root, mine, to));
        CHECK_TEXT(words);
        if (ranks_me != last) {
            char text[32];
            (void)snprintf(text, sizeof(text), "rank %d: ", last);
            CHECK_TEXT(text);
        }
        CHECK_OK(tnr_unmap_read(&map));
        for (int i = 0; i < 4; i++) {
            CHECK(collective_data(target)[i] == 0);
        }
    }
    CHECK_STATUS(ranks_me == 0 ? TNR_ERR_ARGUMENT : TNR_ERR_PEER, tnr_world_broadcast_into(world, 0, NULL, &into));
    CHECK_TEXT("root's source is NULL");
    CHECK_OK(tnr_world_broadcast_into(world, 0, mine, ranks_me == 0 ? NULL : &into)); /* and on it goes */
    CHECK(ranks_me == 0 || collective_data(target)[3] == 4);
    CHECK_OK(tnr_tensor_release(&source));
    CHECK_OK(tnr_tensor_release(&target));
    CHECK_OK(tnr_tensor_release(&single));
    collective_end(&world);
}

/* One rank's domain is full: no rank has a tensor, no domain has less room than before. */
static void a_full_domain_fails_all(void)
{
    tnr_world *world = collective_world(0);
    static _Alignas(64) char buffer[64 << 10];
    tnr_domain *arena = NULL;
    tnr_tensor *source = NULL;
    tnr_tensor *made = NULL;
    tnr_view view;
    tnr_ledger before;
    tnr_ledger after;
    const int full = ranks_size - 1;
    const int64_t shape[] = {1 << 20};
    CHECK_OK(tnr_arena_create(buffer, sizeof(buffer), NULL, &arena));
    CHECK_OK(tnr_tensor_zeros(collective_heap, TNR_F64, 1, shape, &source));
    CHECK_OK(tnr_tensor_view(source, &view));
    CHECK_OK(tnr_ledger_get(collective_heap, &before));
    CHECK_STATUS(
        ranks_me == full ? TNR_ERR_MEMORY : TNR_ERR_PEER,
        tnr_world_broadcast(world, 0, ranks_me == 0 ? &view : NULL, ranks_me == full ? arena : collective_heap, &made));
    CHECK(made == NULL);
    CHECK_OK(tnr_ledger_get(collective_heap, &after));
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
    CHECK_OK(tnr_tensor_release(&source));
    CHECK_OK(tnr_domain_close(&arena));
    collective_end(&world);
}

/* Two different calls that meet are an error, not a mixture. */
static void different_calls_do_not_mix(void)
{
    if (ranks_size < 2) {
        return;
    }
    tnr_world *world = collective_world(0);
    const double one = 1;
    tnr_tensor *tensor;
    tnr_tensor *made = NULL;
    tnr_view view;
    collective_f64(1, (int64_t[]){1}, &one, &tensor);
    CHECK_OK(tnr_tensor_view(tensor, &view));
    if (ranks_me == 1) {
        CHECK_STATUS(TNR_ERR_PEER, tnr_world_all_gather(world, &view, 0, collective_heap, &made));
    } else {
        CHECK_STATUS(TNR_ERR_PEER, tnr_world_broadcast(world, 0, ranks_me == 0 ? &view : NULL, collective_heap, &made));
    }
    CHECK_TEXT("rank 0 calls world_broadcast, rank 1 world_all_gather");
    CHECK(made == NULL);
    CHECK_OK(tnr_tensor_release(&tensor));
    collective_end(&world);
}

/* All tickets taken: collective calls still have two flights. */
static void tickets_in_flight_do_not_hinder(void)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    tnr_ticket *ticket = NULL;
    tnr_tensor *late = NULL;
    tnr_tensor *made = NULL;
    tnr_tensor *source;
    tnr_view view;
    options.tickets = 1;
    options.timeout_ms = 60000;
    CHECK_OK(tnr_world_create(collective_heap, MPI_COMM_WORLD, &options, &world));
    const int64_t shape[] = {300, 1001};
    const int next = (ranks_me + 1) % ranks_size;
    const int before = (ranks_me + ranks_size - 1) % ranks_size;
    CHECK_OK(tnr_tensor_zeros(collective_heap, TNR_F64, 2, shape, &source));
    CHECK_OK(tnr_tensor_view(source, &view));
    CHECK_OK(tnr_world_receive_begin(world, before, 5, collective_heap, &late, &ticket));
    for (int root = 0; root < ranks_size; root++) {
        CHECK_OK(tnr_world_broadcast(world, root, ranks_me == root ? &view : NULL, collective_heap, &made));
        CHECK_OK(tnr_tensor_release(&made));
    }
    if (ranks_me % 2 == 0) {
        CHECK_OK(tnr_world_send(world, &view, next, 5));
        CHECK_OK(tnr_ticket_wait(&ticket));
    } else {
        CHECK_OK(tnr_ticket_wait(&ticket));
        CHECK_OK(tnr_world_send(world, &view, next, 5));
    }
    CHECK_OK(tnr_tensor_release(&late));
    CHECK_OK(tnr_tensor_release(&source));
    collective_end(&world);
}

/* Each copy is one entry of the receiver's domain. */
static void the_ledger_counts(void)
{
    tnr_world *world = collective_world(0);
    tnr_ledger before;
    tnr_ledger after;
    tnr_tensor *source;
    tnr_tensor *made = NULL;
    tnr_view view;
    CHECK_OK(tnr_tensor_zeros(collective_heap, TNR_F64, 1, (int64_t[]){100}, &source));
    CHECK_OK(tnr_tensor_view(source, &view));
    CHECK_OK(tnr_ledger_get(collective_heap, &before));
    CHECK_OK(tnr_world_broadcast(world, 0, ranks_me == 0 ? &view : NULL, collective_heap, &made));
    CHECK_OK(tnr_ledger_get(collective_heap, &after));
    CHECK(after.copies[TNR_COPY_RECEIVE].count == before.copies[TNR_COPY_RECEIVE].count + 1);
    CHECK(after.copies[TNR_COPY_RECEIVE].bytes == before.copies[TNR_COPY_RECEIVE].bytes + 800);
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_tensor_release(&source));
    collective_end(&world);
}

int main(int argc, char **argv)
{
    const rank_test tests[] = {
        RANK_TEST(random_layouts_from_every_root),
        RANK_TEST(broadcast_sources_may_repeat_elements),
        RANK_TEST(refusals_are_heard_by_all),
        RANK_TEST(a_full_domain_fails_all),
        RANK_TEST(different_calls_do_not_mix),
        RANK_TEST(tickets_in_flight_do_not_hinder),
        RANK_TEST(the_ledger_counts),
    };
    CHECK_OK(tnr_heap_create(&collective_heap));
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
