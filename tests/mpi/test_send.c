/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * transports: tcp nocma
 * Blocking copies between ranks: every path, every kind of layout, refusals at both ends, order, nothing left behind. */
#include "../../src/mpi/near_internal.h"

#include "layouts.h"

static tnr_domain *heap;

/* Settings under which every test of values runs. */
typedef struct setting {
    const char *name;
    bool no_shared;
    uint64_t chunk_bytes;
    uint64_t pack_bytes;
    uint64_t derived_run_bytes;
    uint64_t shared_bytes;
    bool no_reads; /* as if the system did not let one rank read another's memory */
} setting;

static const setting settings[] = {
    {"usual", false, 0, 0, 0, 0, false},
    {"small ring", false, 0, 0, 0, 64 << 10, true},
    {"messages", true, 0, 0, 0, 0, false},
    {"messages, always packed", true, 8 << 10, 4 << 10, UINT64_MAX, 0, false},
    {"messages, derived", true, 4 << 10, 4 << 10, 2, 0, false},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

static tnr_world *make_world(const setting *with)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    options.no_shared = with->no_shared;
    options.chunk_bytes = with->chunk_bytes;
    options.pack_bytes = with->pack_bytes;
    options.derived_run_bytes = with->derived_run_bytes;
    options.shared_bytes = with->shared_bytes;
    options.timeout_ms = 20000;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
    if (with->no_reads && world->near != NULL) {
        world->near->reads = false;
    }
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

/* ---- Values ----------------------------------------------------------------------------------------------------------------------- */

/* Round a ring: even ranks send first; every rank sends `shape` laid out somehow and receives the same laid out otherwise. */
static void round_trip(tnr_world *world, uint64_t *common, uint64_t *own, int64_t most)
{
    layout_shape shape;
    layout_draw_shape(common, most, &shape);
    const int channel = (int)layout_below(common, TNR_WORLD_CHANNELS);
    const uint64_t seed = layout_random(common);
    const bool allocates = layout_below(common, 3) == 0;
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    layout_piece send;
    layout_piece receive;
    layout_make(own, heap, &shape, layout_below(own, 3) == 0 ? LAYOUT_COMPACT : LAYOUT_ANY, &send);
    layout_fill(&send, seed + (uint64_t)ranks_me);
    layout_make(own, heap, &shape, layout_below(own, 3) == 0 ? LAYOUT_COMPACT : LAYOUT_ANY, &receive);
    const uint64_t outside = layout_outside(&receive);
    tnr_tensor *made = NULL;
    const bool first = ranks_me % 2 == 0 && !(ranks_me == ranks_size - 1 && ranks_size % 2 == 1);
    if (first) {
        CHECK_OK(tnr_world_send(world, &send.view.view, next, channel));
    }
    if (allocates) {
        CHECK_OK(tnr_world_receive(world, last, channel, heap, &made));
    } else {
        CHECK_OK(tnr_world_receive_into(world, &receive.view, last, channel));
    }
    if (!first) {
        CHECK_OK(tnr_world_send(world, &send.view.view, next, channel));
    }
    if (allocates) {
        tnr_view view;
        tnr_tensor_info info;
        CHECK_OK(tnr_tensor_describe(made, &info));
        CHECK(info.dtype == shape.dtype && info.rank == shape.rank);
        CHECK(shape.rank == 0 || memcmp(info.shape, shape.shape, (size_t)shape.rank * sizeof(int64_t)) == 0);
        CHECK_OK(tnr_tensor_view(made, &view));
        layout_check(&view, seed + (uint64_t)last);
        CHECK_OK(tnr_tensor_release(&made));
    } else {
        layout_check(&receive.view.view, seed + (uint64_t)last);
        CHECK(layout_outside(&receive) == outside);
    }
    layout_end(&send);
    layout_end(&receive);
}

static void random_layouts_round_a_ring(void)
{
    const unsigned long long seed = ranks_seed();
    if (ranks_size == 1) {
        return;
    }
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(&settings[with]);
        uint64_t common = seed * 2 + 1;
        uint64_t own = (seed + (uint64_t)ranks_me * 7919) * 2 + 1;
        for (int round = 0; round < 60; round++) {
            const int64_t most = round % 12 == 11 ? 200000 : round % 3 == 0 ? 6000 : 300;
            round_trip(world, &common, &own, most);
        }
        end_world(&world);
    }
}

static void f64_tensor(int rank, const int64_t *shape, const double *values, tnr_tensor **tensor)
{
    uint64_t bytes = sizeof(double);
    for (int axis = 0; axis < rank; axis++) {
        bytes *= (uint64_t)shape[axis];
    }
    CHECK_OK(tnr_tensor_from_column_major(heap, TNR_F64, rank, shape, values, bytes, tensor));
}

static const double *f64_data(const tnr_tensor *tensor)
{
    const void *data;
    CHECK_OK(tnr_tensor_host_data(tensor, &data));
    return data;
}

/* Rank 0 sends, rank 1 receives into; the others only look on. */
static void send_receive(tnr_world *world, const tnr_view *send, const tnr_view_mut *receive)
{
    if (ranks_me == 0) {
        CHECK_OK(tnr_world_send(world, send, 1, 0));
    } else if (ranks_me == 1) {
        CHECK_OK(tnr_world_receive_into(world, receive, 0, 0));
    }
}

static void mp_01_chunks_arrive_in_order(void)
{
    if (ranks_size < 2) {
        return;
    }
    tnr_world *world = make_world(&settings[2]);
    world->options.chunk_bytes = 28; /* seven elements: fewer than the public call lets one choose */
    world->options.eager_bytes = 0;
    int32_t values[20];
    for (int i = 0; i < 20; i++) {
        values[i] = ranks_me == 0 ? i : -1;
    }
    tnr_tensor *tensor;
    tnr_view_mut view;
    CHECK_OK(tnr_tensor_from_column_major(heap, TNR_I32, 1, (int64_t[]){20}, values, sizeof(values), &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    send_receive(world, &view.view, &view);
    const void *data;
    CHECK_OK(tnr_tensor_host_data(tensor, &data));
    for (int i = 0; i < 20 && ranks_me == 1; i++) {
        CHECK(((const int32_t *)data)[i] == i);
    }
    CHECK_OK(tnr_tensor_release(&tensor));
    end_world(&world);
}

static void mp_02_offsets_count_at_both_ends(void)
{
    if (ranks_size < 2) {
        return;
    }
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(&settings[with]);
        double values[32];
        for (int j = 0; j < 8; j++) {
            for (int i = 0; i < 4; i++) {
                values[4 * j + i] = ranks_me == 0 ? 100 * i + j : 0;
            }
        }
        tnr_tensor *tensor;
        tnr_view_mut all;
        tnr_view_mut part;
        f64_tensor(2, (int64_t[]){4, 8}, values, &tensor);
        CHECK_OK(tnr_tensor_view_mut(tensor, &all));
        const tnr_range from[] = {{1, 3, 1}, {4, 8, 1}};
        const tnr_range into[] = {{2, 4, 1}, {0, 4, 1}};
        CHECK_OK(tnr_view_mut_slice(&all, ranks_me == 0 ? from : into, &part));
        send_receive(world, &part.view, &part);
        if (ranks_me == 1) {
            const double expected[] = {104, 204, 105, 205, 106, 206, 107, 207};
            int at = 0;
            for (int j = 0; j < 8; j++) {
                for (int i = 0; i < 4; i++) {
                    const double is = f64_data(tensor)[4 * j + i];
                    CHECK(i >= 2 && j < 4 ? is == expected[at++] : is == 0);
                }
            }
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

static void mp_04_layouts_differ_and_overlap(void)
{
    if (ranks_size < 2) {
        return;
    }
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(&settings[with]);
        tnr_tensor *source;
        tnr_tensor *target;
        tnr_view from;
        tnr_view_mut into;
        /* overlapping elements of the source */
        f64_tensor(1, (int64_t[]){4}, (double[]){1, 2, 3, 4}, &source);
        f64_tensor(1, (int64_t[]){6}, (double[]){0, 0, 0, 0, 0, 0}, &target);
        CHECK_OK(tnr_tensor_region(source, 2, (int64_t[]){3, 2}, (int64_t[]){1, 1}, 0, &from));
        CHECK_OK(tnr_tensor_region_mut(target, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0, &into));
        send_receive(world, &from, &into);
        CHECK(ranks_me != 1 || memcmp(f64_data(target), (double[]){1, 2, 3, 2, 3, 4}, 48) == 0);
        CHECK_OK(tnr_tensor_release(&source));
        /* other strides at the other end */
        f64_tensor(1, (int64_t[]){6}, (double[]){1, 2, 3, 4, 5, 6}, &source);
        CHECK_OK(tnr_tensor_region(source, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2}, 0, &from));
        CHECK_OK(tnr_tensor_region_mut(target, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1}, 0, &into));
        send_receive(world, &from, &into);
        CHECK(ranks_me != 1 || memcmp(f64_data(target), (double[]){1, 3, 5, 2, 4, 6}, 48) == 0);
        /* a broadcast source; a rank 0; an empty one */
        CHECK_OK(tnr_tensor_region(source, 2, (int64_t[]){2, 3}, (int64_t[]){0, 1}, 1, &from));
        send_receive(world, &from, &into);
        CHECK(ranks_me != 1 || memcmp(f64_data(target), (double[]){2, 3, 4, 2, 3, 4}, 48) == 0);
        CHECK_OK(tnr_tensor_region(source, 0, NULL, NULL, 5, &from));
        CHECK_OK(tnr_tensor_region_mut(target, 0, NULL, NULL, 2, &into));
        send_receive(world, &from, &into);
        CHECK(ranks_me != 1 || f64_data(target)[2] == 6);
        CHECK_OK(tnr_tensor_region(source, 2, (int64_t[]){0, 7}, (int64_t[]){1, 1}, 0, &from));
        CHECK_OK(tnr_tensor_region_mut(target, 2, (int64_t[]){0, 7}, (int64_t[]){1, 1}, 0, &into));
        send_receive(world, &from, &into);
        CHECK_OK(tnr_tensor_release(&source));
        CHECK_OK(tnr_tensor_release(&target));
        end_world(&world);
    }
}

/* ---- Refusals ----------------------------------------------------------------------------------------------------------------------- */

/* dtype f64 [4] against f32 [8], both 32 bytes; shapes that differ; larger than what travels with a header; then all is well. */
static void mp_04_mismatch_is_an_error_at_both_ends(void)
{
    if (ranks_size < 2) {
        return;
    }
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(&settings[with]);
        for (int64_t scale = 1; scale <= 20000; scale *= 20000) {
            tnr_tensor *tensors[3];
            tnr_view_mut views[3];
            CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){4 * scale}, &(double){3}, &tensors[0]));
            CHECK_OK(tnr_tensor_full(heap, TNR_F32, 1, (int64_t[]){8 * scale}, &(float){5}, &tensors[1]));
            CHECK_OK(tnr_tensor_full(heap, TNR_F64, 2, (int64_t[]){2 * scale, 2}, &(double){7}, &tensors[2]));
            for (int i = 0; i < 3; i++) {
                CHECK_OK(tnr_tensor_view_mut(tensors[i], &views[i]));
            }
            if (ranks_me == 0) {
                CHECK_STATUS(TNR_ERR_PEER, tnr_world_send(world, &views[0].view, 1, 9));
                CHECK_TEXT("rank 1 refused");
                CHECK_TEXT("rank 0 sends f64, the view has f32");
                CHECK_STATUS(TNR_ERR_PEER, tnr_world_send(world, &views[0].view, 1, 9));
                CHECK_TEXT(scale == 1 ? "rank 0 sends [4], the view has [2, 2]" : "the view has [40000, 2]");
                CHECK_OK(tnr_world_send(world, &views[0].view, 1, 9));
            } else if (ranks_me == 1) {
                CHECK_STATUS(TNR_ERR_DTYPE, tnr_world_receive_into(world, &views[1], 0, 9));
                CHECK_TEXT("rank 0 sends f64, the view has f32");
                CHECK_STATUS(TNR_ERR_SHAPE, tnr_world_receive_into(world, &views[2], 0, 9));
                CHECK(((const float *)(const void *)f64_data(tensors[1]))[0] == 5);
                CHECK(f64_data(tensors[2])[0] == 7);
                CHECK_OK(tnr_world_receive_into(world, &views[0], 0, 9));
            }
            for (int i = 0; i < 3; i++) {
                CHECK_OK(tnr_tensor_release(&tensors[i]));
            }
        }
        end_world(&world);
    }
}

/* An end that has no room, or does not want so much. */
static void refused_for_memory(void)
{
    if (ranks_size < 2) {
        return;
    }
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(&settings[with]);
        world->options.receive_max_bytes = 1 << 20;
        tnr_domain *arena = NULL;
        CHECK_OK(tnr_arena_create_in(heap, 64 << 10, NULL, &arena));
        for (int64_t count = 1 << 17; count <= 1 << 18; count <<= 1) {
            tnr_tensor *tensor = NULL;
            tnr_view view;
            if (ranks_me == 0) {
                CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, &count, &tensor));
                CHECK_OK(tnr_tensor_view(tensor, &view));
                CHECK_STATUS(TNR_ERR_PEER, tnr_world_send(world, &view, 1, 0));
                CHECK_TEXT(count == 1 << 17 ? "rank 1 refused" : "receive_max_bytes is 1048576");
                CHECK_OK(tnr_tensor_release(&tensor));
            } else if (ranks_me == 1) {
                CHECK_STATUS(TNR_ERR_MEMORY, tnr_world_receive(world, 0, 0, arena, &tensor));
                CHECK(tensor == NULL);
            }
        }
        CHECK_OK(tnr_domain_close(&arena));
        end_world(&world);
    }
}

static void arguments(void)
{
    tnr_world *world = make_world(&settings[0]);
    tnr_tensor *tensor;
    tnr_view_mut view;
    f64_tensor(1, (int64_t[]){2}, (double[]){1, 2}, &tensor);
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_world_send(world, &view.view, ranks_size, 0));
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_world_send(world, &view.view, -1, 0));
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_world_receive_into(world, &view, 0, TNR_WORLD_CHANNELS));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_send(world, NULL, 0, 0));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_send(NULL, &view.view, 0, 0));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_receive_into(world, NULL, 0, 0));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_receive(world, 0, 0, NULL, &tensor));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_receive(world, 0, 0, heap, NULL));
    /* a view whose elements coincide cannot be written */
    tnr_view_mut twice = view;
    twice.view.strides[0] = 0;
    CHECK_STATUS(TNR_ERR_OVERLAP, tnr_world_receive_into(world, &twice, 0, 0));
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_STATUS(TNR_ERR_STALE, tnr_world_send(world, &view.view, 0, 0));
    end_world(&world);
}

/* ---- To oneself, and many ------------------------------------------------------------------------------------------------------------- */

static void mp_05_a_rank_to_itself(void)
{
    enum { COUNT = 131072 };
    tnr_world *world = make_world(&settings[0]);
    tnr_tensor *source;
    tnr_tensor *target = NULL;
    tnr_view view;
    tnr_ticket *ticket = NULL;
    double *values = malloc(COUNT * sizeof(double));
    for (int i = 0; i < COUNT; i++) {
        values[i] = i;
    }
    f64_tensor(1, (int64_t[]){COUNT}, values, &source);
    CHECK_OK(tnr_tensor_view(source, &view));
    /* alone it would wait for ever */
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_send(world, &view, ranks_me, 3));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_receive(world, ranks_me, 3, heap, &target));
    /* either first */
    CHECK_OK(tnr_world_send_begin(world, &view, ranks_me, 3, &ticket));
    CHECK_OK(tnr_world_receive(world, ranks_me, 3, heap, &target));
    CHECK_OK(tnr_ticket_wait(&ticket));
    CHECK(memcmp(f64_data(target), values, COUNT * sizeof(double)) == 0);
    CHECK_OK(tnr_tensor_release(&target));
    CHECK_OK(tnr_world_receive_begin(world, ranks_me, 3, heap, &target, &ticket));
    CHECK_OK(tnr_world_send(world, &view, ranks_me, 3));
    CHECK(target == NULL);
    CHECK_OK(tnr_ticket_wait(&ticket));
    CHECK(memcmp(f64_data(target), values, COUNT * sizeof(double)) == 0);
    tnr_world_info info;
    CHECK_OK(tnr_world_describe(world, &info));
    CHECK(info.sends[TNR_PATH_SELF] == 2 && info.sent_bytes[TNR_PATH_SELF] == 2 * COUNT * sizeof(double));
    CHECK_OK(tnr_tensor_release(&target));
    CHECK_OK(tnr_tensor_release(&source));
    free(values);
    end_world(&world);
}

static void mp_07_many_transfers_stay_in_order(void)
{
    enum { ROUNDS = 40000, PAUSE = 64 };
    if (ranks_size < 2) {
        return;
    }
    for (int with = 0; with <= 2; with += 2) {
        tnr_world *world = make_world(&settings[with]);
        tnr_tensor *tensor;
        tnr_view_mut view;
        void *data;
        const int rounds = ranks_size <= 2 ? ROUNDS : ROUNDS / 20;
        CHECK_OK(tnr_tensor_zeros(heap, TNR_I64, 0, NULL, &tensor));
        CHECK_OK(tnr_tensor_view_mut(tensor, &view));
        CHECK_OK(tnr_tensor_host_data_mut(tensor, &data));
        for (int64_t round = 0; round < rounds && ranks_me < 2; round++) {
            if (ranks_me == 0) {
                *(int64_t *)data = round;
                CHECK_OK(tnr_world_send(world, &view.view, 1, (int)(round % 3)));
            } else {
                CHECK_OK(tnr_world_receive_into(world, &view, 0, (int)(round % 3)));
                CHECK(*(int64_t *)data == round);
            }
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

/* Copies are in the ledger of the receiving domain, once each; the heap has nothing of it left. */
static void ledger_and_paths(void)
{
    if (ranks_size < 2) {
        return;
    }
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(&settings[with]);
        tnr_domain *pool = NULL;
        CHECK_OK(tnr_pool_create(heap, NULL, &pool));
        tnr_tensor *tensor = NULL;
        tnr_view_mut view;
        const int64_t big = 40000;
        if (ranks_me == 0) {
            CHECK_OK(tnr_tensor_zeros(pool, TNR_F64, 1, &big, &tensor));
            CHECK_OK(tnr_tensor_view_mut(tensor, &view));
            tnr_view part;
            CHECK_OK(tnr_view_slice_axis(&view.view, 0, (tnr_range){0, 4, 1}, &part));
            CHECK_OK(tnr_world_send(world, &part, 1, 0));
            CHECK_OK(tnr_world_send(world, &view.view, 1, 0));
            CHECK_OK(tnr_view_slice_axis(&view.view, 0, (tnr_range){0, TNR_END, 2}, &part));
            CHECK_OK(tnr_world_send(world, &part, 1, 0));
            tnr_world_info info;
            CHECK_OK(tnr_world_describe(world, &info));
            CHECK(info.sends[TNR_PATH_EAGER] == 1 && info.sent_bytes[TNR_PATH_EAGER] == 32);
            if (info.shared) {
                CHECK(info.sends[TNR_PATH_SHARED] == 2);
            } else {
                CHECK(info.sends[TNR_PATH_DIRECT] == 1 && info.sent_bytes[TNR_PATH_DIRECT] == 320000);
                CHECK(info.sends[settings[with].derived_run_bytes == 2 ? TNR_PATH_DERIVED : TNR_PATH_PACKED] == 1);
            }
        } else if (ranks_me == 1) {
            for (int i = 0; i < 3; i++) {
                CHECK_OK(tnr_world_receive(world, 0, 0, pool, &tensor));
                CHECK_OK(i < 2 ? tnr_tensor_release(&tensor) : TNR_OK);
            }
            tnr_ledger ledger;
            CHECK_OK(tnr_ledger_get(pool, &ledger));
            CHECK(ledger.copies[TNR_COPY_RECEIVE].count == 3);
            CHECK(ledger.copies[TNR_COPY_RECEIVE].bytes == 32 + 320000 + 160000);
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        CHECK_OK(tnr_domain_close(&pool));
        end_world(&world);
    }
}

/* A transfer may be received long after later ones of the pair: as many as numbers go, by the counter. */
static void received_late(void)
{
    const int64_t shape[1] = {3};
    const double value = 7.0;
    for (int with = 0; with < SETTINGS && ranks_size > 1; with++) {
        tnr_world *world = make_world(&settings[with]);
        tnr_tensor *tensor = NULL;
        tnr_view view;
        if (ranks_me == 0) {
            CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, shape, &value, &tensor));
            CHECK_OK(tnr_tensor_view(tensor, &view));
            CHECK_OK(tnr_world_send(world, &view, 1, 5));
        } else if (ranks_me == 1) {
            world->peers[0].received = (1U << 20) + 1000U;
            CHECK_OK(tnr_world_receive(world, 0, 5, heap, &tensor));
            CHECK(world->peers[0].received == (1U << 20) + 1000U);
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(random_layouts_round_a_ring),
        RANK_TEST(mp_01_chunks_arrive_in_order),
        RANK_TEST(mp_02_offsets_count_at_both_ends),
        RANK_TEST(mp_04_layouts_differ_and_overlap),
        RANK_TEST(mp_04_mismatch_is_an_error_at_both_ends),
        RANK_TEST(refused_for_memory),
        RANK_TEST(arguments),
        RANK_TEST(mp_05_a_rank_to_itself),
        RANK_TEST(mp_07_many_transfers_stay_in_order),
        RANK_TEST(received_late),
        RANK_TEST(ledger_and_paths),
    };
    if (tnr_heap_create(&heap) != TNR_OK) {
        return 1;
    }
    const int answer = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    return answer != 0 || tnr_domain_close(&heap) != TNR_OK;
}
