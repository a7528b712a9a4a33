/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * transports: tcp nocma
 * Prepared exchanges: halos again and again, all paths, refusals while preparing, stale views, several at one time, an ended world. */
#include "../../src/mpi/mpi_internal.h"

#include "layouts.h"

static tnr_domain *heap;

static tnr_world *make_world(bool no_shared, uint64_t derived_run_bytes)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    options.no_shared = no_shared;
    options.shared_bytes = 128 << 10;
    options.pack_bytes = 16 << 10;
    options.chunk_bytes = 32 << 10;
    options.derived_run_bytes = derived_run_bytes;
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

typedef struct setting {
    bool no_shared;
    uint64_t derived_run_bytes;
} setting;

static const setting settings[] = {{false, 0}, {true, 0}, {true, 2}, {true, UINT64_MAX}};
enum { SETTINGS = 4 };

/* A slab of a 3-D field with one ghost layer at each end of `axis`, periodic over all ranks; several steps. */
static void halo(const setting *with, int axis, const int64_t *shape)
{
    enum { STEPS = 12 };
    tnr_world *world = make_world(with->no_shared, with->derived_run_bytes);
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    tnr_tensor *tensor;
    tnr_view_mut all;
    tnr_view_mut layers[4]; /* ghost, first, last, ghost */
    void *data;
    const int64_t n = shape[axis];
    const int64_t at[] = {0, 1, n - 2, n - 1};
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 3, shape, &tensor));
    CHECK_OK(tnr_tensor_host_data_mut(tensor, &data));
    double *field = data;
    CHECK_OK(tnr_tensor_view_mut(tensor, &all));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(tnr_view_mut_slice_axis(&all, axis, (tnr_range){at[i], at[i] + 1, 1}, &layers[i]));
    }
    const tnr_exchange_part parts[] = {{next, 0, &layers[2].view, NULL},
                                       {last, 1, &layers[1].view, NULL},
                                       {last, 0, NULL, &layers[0]},
                                       {next, 1, NULL, &layers[3]}};
    tnr_exchange *exchange = NULL;
    CHECK_OK(tnr_exchange_prepare(world, parts, 4, &exchange));
    tnr_world *same = world;
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_destroy(&same));
    for (int step = 0; step < STEPS; step++) {
        for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
            field[i] = ranks_me * 1e6 + step * 1e4 + (double)(i % 9973);
        }
        if (step % 2 == 0) {
            CHECK_OK(tnr_exchange_run(exchange));
        } else {
            CHECK_OK(tnr_exchange_start(exchange));
            CHECK_STATUS(TNR_ERR_BUSY, tnr_exchange_start(exchange));
            CHECK_STATUS(TNR_ERR_BUSY, tnr_exchange_destroy(&exchange));
            CHECK_STATUS(TNR_ERR_BUSY, tnr_tensor_release(&tensor));
            CHECK_OK(tnr_exchange_wait(exchange));
            CHECK_OK(tnr_exchange_wait(exchange));
        }
        const int64_t inner = axis == 0 ? 1 : axis == 1 ? shape[0] : shape[0] * shape[1];
        const int64_t outer = shape[0] * shape[1] * shape[2] / (inner * n);
        for (int64_t o = 0; o < outer; o++) {
            for (int64_t i = 0; i < inner; i++) {
                const int64_t low = i + inner * (0 + n * o);
                const int64_t high = i + inner * (n - 1 + n * o);
                const int64_t from_last = i + inner * (n - 2 + n * o);
                const int64_t from_next = i + inner * (1 + n * o);
                CHECK(field[low] == last * 1e6 + step * 1e4 + (double)(from_last % 9973));
                CHECK(field[high] == next * 1e6 + step * 1e4 + (double)(from_next % 9973));
            }
        }
    }
    tnr_world_info info;
    CHECK_OK(tnr_world_describe(world, &info));
    uint64_t sends = 0;
    for (int path = 0; path < TNR_PATH_END; path++) {
        sends += info.sends[path];
    }
    CHECK(sends == 2 * STEPS);
    CHECK_OK(tnr_exchange_destroy(&exchange));
    CHECK(exchange == NULL);
    CHECK_OK(tnr_exchange_destroy(&exchange));
    CHECK_OK(tnr_tensor_release(&tensor));
    end_world(&world);
}

static void halos_again_and_again(void)
{
    for (int with = 0; with < SETTINGS; with++) {
        for (int axis = 0; axis < 3; axis++) {
            halo(&settings[with], axis, (int64_t[]){6, 5, 7});
            halo(&settings[with], axis, (int64_t[]){40, 41, 42});
        }
    }
}

/* More than the shared memory holds, and other transfers in between on the same channel. */
static void large_ones_beside_single_transfers(void)
{
    enum { COUNT = 50000 };
    if (ranks_size < 2) {
        return;
    }
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(settings[with].no_shared, settings[with].derived_run_bytes);
        tnr_tensor *tensor;
        tnr_view_mut view;
        void *data;
        CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){COUNT}, &tensor));
        CHECK_OK(tnr_tensor_view_mut(tensor, &view));
        CHECK_OK(tnr_tensor_host_data_mut(tensor, &data));
        tnr_tensor *other;
        tnr_view_mut side;
        CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){3000}, &other));
        CHECK_OK(tnr_tensor_view_mut(other, &side));
        if (ranks_me < 2) {
            const tnr_exchange_part part = {1 - ranks_me, 4, ranks_me == 0 ? &view.view : NULL,
                                            ranks_me == 0 ? NULL : &view};
            tnr_exchange *exchange = NULL;
            CHECK_OK(tnr_exchange_prepare(world, &part, 1, &exchange));
            for (int step = 0; step < 5; step++) {
                for (int i = 0; i < COUNT && ranks_me == 0; i++) {
                    ((double *)data)[i] = i + step;
                }
                /* the receiver starts late: the sender must get through with its other transfer meanwhile */
                if (ranks_me == 0) {
                    CHECK_OK(tnr_exchange_start(exchange));
                    CHECK_OK(tnr_world_send(world, &side.view, 1, 4));
                } else {
                    CHECK_OK(tnr_world_receive_into(world, &side, 0, 4));
                    CHECK_OK(tnr_exchange_start(exchange));
                }
                CHECK_OK(tnr_exchange_wait(exchange));
                for (int i = 0; i < COUNT; i++) {
                    CHECK(((double *)data)[i] == i + step);
                }
            }
            CHECK_OK(tnr_exchange_destroy(&exchange));
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        CHECK_OK(tnr_tensor_release(&other));
        end_world(&world);
    }
}

/* One part of two does not fit: nobody who is named gets an exchange, and all goes on. */
static void refused_while_preparing(void)
{
    if (ranks_size < 2) {
        return;
    }
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(settings[with].no_shared, settings[with].derived_run_bytes);
        tnr_tensor *tensor;
        tnr_view_mut view;
        tnr_view_mut left;
        tnr_view_mut right;
        CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){20}, &(double){ranks_me}, &tensor));
        CHECK_OK(tnr_tensor_view_mut(tensor, &view));
        CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, 10, 1}, &left));
        CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){10, ranks_me == 1 ? 19 : 20, 1}, &right));
        if (ranks_me < 2) {
            tnr_exchange *exchange = NULL;
            const tnr_exchange_part parts[] = {
                {1 - ranks_me, 0, ranks_me == 0 ? &left.view : NULL, ranks_me == 0 ? NULL : &left},
                {1 - ranks_me, 1, ranks_me == 0 ? &right.view : NULL, ranks_me == 0 ? NULL : &right}};
            CHECK_STATUS(ranks_me == 0 ? TNR_ERR_PEER : TNR_ERR_SHAPE,
                         tnr_exchange_prepare(world, parts, 2, &exchange));
            CHECK_TEXT("exchange_prepare: part 1, on channel 1: rank ");
            CHECK_TEXT("rank 0 sends [10], the view has [9]");
            CHECK(strstr(tnr_last_error() + 1, "exchange_prepare") == NULL); /* said once */
            CHECK(exchange == NULL);
            CHECK_OK(tnr_exchange_prepare(world, parts, 1, &exchange));
            CHECK_OK(tnr_exchange_run(exchange));
            double value;
            CHECK_OK(tnr_view_get(&left.view, (int64_t[]){9}, &value));
            CHECK(value == 0);
            CHECK_OK(tnr_view_get(&right.view, (int64_t[]){0}, &value));
            CHECK(value == ranks_me);
            CHECK_OK(tnr_exchange_destroy(&exchange));
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

/* A ring: rank 1 refuses what rank 0 sends; rank 2, which has nothing to do with that part, hears why there is no exchange. */
static void a_third_rank_hears_the_reason(void)
{
    if (ranks_size < 3) {
        return;
    }
    for (int with = 0; with < 2; with++) {
        tnr_world *world = make_world(settings[with].no_shared, settings[with].derived_run_bytes);
        tnr_tensor *tensor;
        tnr_view_mut view;
        tnr_view_mut left;
        tnr_view_mut right;
        tnr_exchange *exchange = NULL;
        CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){20}, &(double){ranks_me}, &tensor));
        CHECK_OK(tnr_tensor_view_mut(tensor, &view));
        CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, 10, 1}, &left));
        CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){10, ranks_me == 1 ? 19 : 20, 1}, &right));
        const tnr_exchange_part parts[] = {{ranks_me - 1, 5, NULL, &right}, {ranks_me + 1, 5, &left.view, NULL}};
        if (ranks_me < 3) { /* 0 -> 1 -> 2 */
            const size_t from = ranks_me == 0 ? 1 : 0;
            const tnr_status status = tnr_exchange_prepare(world, parts + from, ranks_me == 1 ? 2 : 1, &exchange);
            CHECK(status == (ranks_me == 1 ? TNR_ERR_SHAPE : TNR_ERR_PEER) && exchange == NULL);
            CHECK_TEXT("on channel 5: rank");
            CHECK_TEXT("rank 0 sends [10], the view has [9]");
            CHECK(strstr(tnr_last_error() + 1, "exchange_prepare") == NULL);
            if (ranks_me == 2) {
                CHECK_TEXT("rank 1 could not prepare all of its parts: part 0, on channel 5");
            }
        }
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

/* Pushed on without waiting, between pieces of work. */
static void tested_until_it_is_over(void)
{
    for (int with = 0; with < SETTINGS; with++) {
        tnr_world *world = make_world(settings[with].no_shared, settings[with].derived_run_bytes);
        const int next = (ranks_me + 1) % ranks_size;
        const int last = (ranks_me + ranks_size - 1) % ranks_size;
        tnr_tensor *tensor;
        tnr_view_mut view;
        tnr_view_mut halves[2];
        CHECK_OK(tnr_tensor_full(heap, TNR_F64, 2, (int64_t[]){40, 2000}, &(double){ranks_me}, &tensor));
        CHECK_OK(tnr_tensor_view_mut(tensor, &view));
        for (int i = 0; i < 2; i++) {
            CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){20 * i, 20 * i + 20, 1}, &halves[i]));
        }
        const tnr_exchange_part parts[] = {{next, 0, &halves[0].view, NULL}, {last, 0, NULL, &halves[1]}};
        tnr_exchange *exchange = NULL;
        CHECK_OK(tnr_exchange_prepare(world, parts, 2, &exchange));
        bool done = false;
        CHECK_OK(tnr_exchange_test(exchange, &done)); /* it is not under way */
        CHECK(done);
        CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_exchange_test(NULL, &done));
        CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_exchange_test(exchange, NULL));
        for (int step = 0; step < 4; step++) {
            double value = ranks_me + 100 * step;
            CHECK_OK(tnr_view_set(&halves[0], (int64_t[]){19, 1999}, &value));
            CHECK_OK(tnr_exchange_start(exchange));
            for (done = false; !done;) {
                CHECK_OK(tnr_exchange_test(exchange, &done));
                if (!done) {
                    CHECK_STATUS(TNR_ERR_BUSY, tnr_exchange_start(exchange));
                    CHECK_OK(tnr_world_progress(world));
                }
            }
            CHECK_OK(tnr_view_get(&halves[1].view, (int64_t[]){19, 1999}, &value));
            CHECK(value == last + 100 * step);
        }
        CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_progress(NULL));
        CHECK_OK(tnr_exchange_destroy(&exchange));
        CHECK_OK(tnr_tensor_release(&tensor));
        end_world(&world);
    }
}

/* The world ends while it is under way: the test says so, once and for all. */
static void tested_in_a_world_that_ends(void)
{
    if (ranks_size < 2) {
        return;
    }
    tnr_world *world = make_world(false, 0);
    tnr_tensor *tensor;
    tnr_view_mut view;
    tnr_exchange *exchange = NULL;
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){90000}, &(double){0}, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    if (ranks_me < 2) {
        const tnr_exchange_part part = {1 - ranks_me, 0, ranks_me == 0 ? &view.view : NULL,
                                        ranks_me == 0 ? NULL : &view};
        CHECK_OK(tnr_exchange_prepare(world, &part, 1, &exchange));
        CHECK_OK(tnr_exchange_start(exchange));
        bool done = true;
        if (ranks_me == 1) {
            CHECK_OK(tnri_world_enter("test", world));
            (void)tnri_world_poison(world, tnri_fail(TNR_ERR_PEER, "test: the line is cut"));
            CHECK_OK(tnri_world_leave(world, TNR_OK));
            CHECK_STATUS(TNR_ERR_PEER, tnr_exchange_test(exchange, &done));
            CHECK_TEXT("the line is cut");
        }
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (ranks_me == 0) { /* by a call of its own: the loop that tests comes to its end all the same */
        bool done = false;
        CHECK_OK(tnr_world_give_up(world, TNR_ERR_PEER));
        CHECK_STATUS(TNR_ERR_PEER, tnr_exchange_test(exchange, &done));
        CHECK(done);
    }
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_tensor_release(&tensor));
}

static void arguments_and_stale_views(void)
{
    tnr_world *world = make_world(false, 0);
    tnr_tensor *tensor;
    tnr_view_mut view;
    tnr_view_mut left;
    tnr_view_mut right;
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){20}, &(double){ranks_me}, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, 10, 1}, &left));
    CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){10, 20, 1}, &right));
    tnr_exchange *exchange = NULL;
    const tnr_exchange_part neither = {ranks_me, 0, NULL, NULL};
    const tnr_exchange_part both = {ranks_me, 0, &left.view, &right};
    const tnr_exchange_part beyond = {ranks_size, 0, &left.view, NULL};
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_exchange_prepare(world, &neither, 1, &exchange));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_exchange_prepare(world, &both, 1, &exchange));
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_exchange_prepare(world, &beyond, 1, &exchange));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_exchange_prepare(world, NULL, 1, &exchange));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_exchange_start(NULL));
    const tnr_exchange_part good[] = {{ranks_me, 9, &left.view, NULL}, {ranks_me, 9, NULL, &right}};
    tnr_exchange *other = NULL;
    CHECK_OK(tnr_exchange_prepare(world, good, 2, &other)); /* and with it the sum of all parts is no count any more */
    CHECK_STATUS(TNR_ERR_MEMORY, tnr_exchange_prepare(world, good, SIZE_MAX, &exchange));
    CHECK_STATUS(TNR_ERR_MEMORY, tnr_exchange_prepare(world, good, SIZE_MAX - 1, &exchange));
    CHECK_TEXT("do not fit the 256 tickets");
    CHECK_OK(tnr_exchange_destroy(&other));
    CHECK_OK(tnr_exchange_prepare(world, NULL, 0, &exchange)); /* no parts: nothing to do, again and again */
    CHECK_OK(tnr_exchange_run(exchange));
    CHECK_OK(tnr_exchange_destroy(&exchange));
    /* overlap is refused, and nothing stays leased */
    const tnr_exchange_part same[] = {{ranks_me, 0, &left.view, NULL}, {ranks_me, 0, NULL, &left}};
    CHECK_STATUS(TNR_ERR_OVERLAP, tnr_exchange_prepare(world, same, 2, &exchange));
    const tnr_exchange_part self[] = {{ranks_me, 0, &left.view, NULL}, {ranks_me, 0, NULL, &right}};
    CHECK_OK(tnr_exchange_prepare(world, self, 2, &exchange));
    CHECK_OK(tnr_view_set(&left, (int64_t[]){3}, &(double){77}));
    CHECK_OK(tnr_exchange_run(exchange));
    double value;
    CHECK_OK(tnr_view_get(&right.view, (int64_t[]){3}, &value));
    CHECK(value == 77);
    /* somebody else has the owner */
    tnr_read_map map;
    CHECK_OK(tnr_map_read(&right.view, &map));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_exchange_start(exchange));
    CHECK_OK(tnr_unmap_read(&map));
    CHECK_OK(tnr_exchange_run(exchange));
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_STATUS(TNR_ERR_STALE, tnr_exchange_start(exchange));
    CHECK_OK(tnr_exchange_destroy(&exchange));
    end_world(&world);
}

/* Two exchanges under way at one time, ended in the other order; no home memory is taken by a start. */
static void two_at_one_time(void)
{
    tnr_world *world = make_world(false, 0);
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    tnr_tensor *tensors[4];
    tnr_view_mut views[4];
    tnr_exchange *exchanges[2] = {NULL, NULL};
    for (int i = 0; i < 4; i++) {
        CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){9000}, &(double){ranks_me * 10 + i}, &tensors[i]));
        CHECK_OK(tnr_tensor_view_mut(tensors[i], &views[i]));
    }
    for (int i = 0; i < 2; i++) {
        const tnr_exchange_part parts[] = {{next, 3, &views[2 * i].view, NULL}, {last, 3, NULL, &views[2 * i + 1]}};
        CHECK_OK(tnr_exchange_prepare(world, parts, 2, &exchanges[i]));
    }
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    CHECK_OK(tnr_domain_statistics_get(heap, &before));
    for (int step = 0; step < 20; step++) {
        CHECK_OK(tnr_exchange_start(exchanges[step % 2]));
        CHECK_OK(tnr_exchange_start(exchanges[1 - step % 2]));
        CHECK_OK(tnr_exchange_wait(exchanges[0]));
        CHECK_OK(tnr_exchange_wait(exchanges[1]));
        for (int i = 0; i < 2; i++) {
            double value;
            CHECK_OK(tnr_view_get(&views[2 * i + 1].view, (int64_t[]){8999}, &value));
            CHECK(value == last * 10 + 2 * i);
        }
    }
    CHECK_OK(tnr_domain_statistics_get(heap, &after));
    CHECK(after.allocations == before.allocations);
    for (int i = 0; i < 4; i++) {
        CHECK_OK(i >= 2 ? TNR_OK : tnr_exchange_destroy(&exchanges[i]));
        CHECK_OK(tnr_tensor_release(&tensors[i]));
    }
    end_world(&world);
}

/* One is under way the other way round, with the same number, while another is agreed on: neither takes the other's messages. */
static void prepared_while_another_is_under_way(void)
{
    if (ranks_size < 2) {
        return;
    }
    tnr_world *world = make_world(true, 0);
    const int64_t shape[1] = {1000};
    const double mine = ranks_me;
    double last = -1.0;
    tnr_tensor *out;
    tnr_tensor *in;
    tnr_view source;
    tnr_view_mut target;
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, shape, &mine, &out));
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, shape, &in));
    CHECK_OK(tnr_tensor_view(out, &source));
    CHECK_OK(tnr_tensor_view_mut(in, &target));
    if (ranks_me < 2) {
        const tnr_exchange_part send = {1 - ranks_me, 0, &source, NULL};
        const tnr_exchange_part receive = {1 - ranks_me, 0, NULL, &target};
        tnr_exchange *back = NULL;  /* from 1 to 0 */
        tnr_exchange *forth = NULL; /* from 0 to 1 */
        CHECK_OK(tnr_exchange_prepare(world, ranks_me == 0 ? &receive : &send, 1, &back));
        if (ranks_me == 1) {
            CHECK_OK(tnr_exchange_start(back));
        }
        CHECK_OK(tnr_exchange_prepare(world, ranks_me == 0 ? &send : &receive, 1, &forth));
        if (ranks_me == 0) {
            CHECK_OK(tnr_exchange_start(back));
        }
        CHECK_OK(tnr_exchange_wait(back));
        CHECK_OK(tnr_exchange_run(forth));
        CHECK_OK(tnr_view_get(&target.view, (const int64_t[]){999}, &last));
        CHECK(last == 1 - ranks_me);
        CHECK_OK(tnr_exchange_destroy(&back));
        CHECK_OK(tnr_exchange_destroy(&forth));
    }
    CHECK_OK(tnr_tensor_release(&out));
    CHECK_OK(tnr_tensor_release(&in));
    end_world(&world);
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(halos_again_and_again),     RANK_TEST(large_ones_beside_single_transfers),
        RANK_TEST(refused_while_preparing),   RANK_TEST(a_third_rank_hears_the_reason),
        RANK_TEST(tested_until_it_is_over),   RANK_TEST(tested_in_a_world_that_ends),
        RANK_TEST(arguments_and_stale_views), RANK_TEST(prepared_while_another_is_under_way),
        RANK_TEST(two_at_one_time),
    };
    if (tnr_heap_create(&heap) != TNR_OK) {
        return 1;
    }
    const int answer = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    return answer != 0 || tnr_domain_close(&heap) != TNR_OK;
}
