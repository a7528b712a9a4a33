/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Domains in memory that a node shares: slices, engines at work in them, fetching as one copy, and every order of ending.
 *
 * ranks: 1 2 3 4 7
 * wraps: posix_fallocate
 */
#define _POSIX_C_SOURCE 200809L /* sysconf */
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "layouts.h"

static tnr_domain *heap;

static tnr_world *make_world(bool no_shared)
{
    tnr_world *world = NULL;
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.no_shared = no_shared;
    options.timeout_ms = 60000;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
    return world;
}

static void end_world(tnr_world **world)
{
    tnr_world_info info;
    CHECK_OK(tnr_world_barrier(*world));
    CHECK_OK(tnr_world_describe(*world, &info));
    CHECK(info.requests == 0 && info.datatypes == 0 && info.windows == 0 && info.poisoned == TNR_OK);
    CHECK_OK(tnr_world_destroy(world));
}

static tnr_domain *make_window(tnr_world *world, uint64_t bytes, uint64_t page)
{
    tnr_window_options options = TNR_WINDOW_OPTIONS;
    tnr_domain *window = NULL;
    options.bytes = bytes;
    options.page = page;
    CHECK_OK(tnr_window_create(world, heap, &options, &window));
    return window;
}

static void slices_are_what_was_asked_for(void)
{
    static const uint64_t pages[] = {0, 64, 4096, 2 << 20};
    tnr_world *world = make_world(false);
    for (size_t index = 0; index < sizeof(pages) / sizeof(pages[0]); index++) {
        const uint64_t bytes = ranks_me % 2 == 0 ? 100000 : 5000;
        tnr_domain *window = make_window(world, bytes, pages[index]);
        const tnr_placement placement = tnr_domain_placement(window);
        tnr_domain_statistics statistics;
        tnr_block blocks[2];
        CHECK(placement.kind == TNR_MEMORY_MANAGED && placement.device == TNR_NONE);
        CHECK(tnr_domain_access(window) == TNR_ACCESS_MAPPED);
        CHECK(strcmp(tnr_domain_name(window), "window") == 0);
        CHECK_OK(tnr_domain_statistics_get(window, &statistics));
        CHECK(statistics.capacity >= bytes && statistics.largest_free >= bytes);
        CHECK_OK(tnr_domain_allocate(window, bytes - 1000, 0, &blocks[0]));
        const uint64_t page = pages[index] != 0 ? pages[index] : 64;
        CHECK((uintptr_t)blocks[0].address % page == 0);
        CHECK_STATUS(TNR_ERR_MEMORY, tnr_domain_allocate(window, statistics.capacity, 0, &blocks[1]));
        CHECK_OK(tnr_domain_release(window, &blocks[0]));
        CHECK_STATUS(TNR_ERR_STALE, tnr_domain_release(window, &blocks[0]));
        CHECK_OK(tnr_domain_close(&window));
    }
    end_world(&world);
}

/* How much of shared memory was taken. */
static int64_t reserved;
int __real_posix_fallocate(int file, off_t begin, off_t length);
int __wrap_posix_fallocate(int file, off_t begin, off_t length);
int __wrap_posix_fallocate(int file, off_t begin, off_t length)
{
    struct stat state;
    CHECK(fstat(file, &state) == 0 &&
          state.st_nlink == 0); /* a process that is killed from here on leaves nothing behind */
    reserved += length;
    return __real_posix_fallocate(file, begin, length);
}

/* Placed where it is written first: nothing of /dev/shm is taken before, and blocks begin on pages without a word about pages. */
static void first_touch_takes_nothing_before(void)
{
    tnr_world *world = make_world(false);
    for (int first = 0; first < 2; first++) {
        tnr_window_options options = TNR_WINDOW_OPTIONS;
        tnr_domain *window = NULL;
        tnr_block block;
        options.bytes = 8 << 20;
        options.first_touch = first != 0;
        reserved = 0;
        CHECK_OK(tnr_window_create(world, heap, &options, &window));
        CHECK_OK(tnr_domain_allocate(window, 4 << 20, 0, &block));
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        CHECK(first != 0 ? reserved == 0 : reserved >= 8 << 20);
        CHECK(first == 0 || (uintptr_t)block.address % page == 0);
        CHECK_OK(tnr_domain_release(window, &block));
        CHECK_OK(tnr_domain_close(&window));
    }
    end_world(&world);
}

static void blocks_come_and_go_in_any_order(void)
{
    enum { BLOCKS = 40 };
    tnr_world *world = make_world(false);
    tnr_domain *window = make_window(world, 1 << 20, 0);
    tnr_tensor *tensors[BLOCKS] = {NULL};
    uint64_t state = (uint64_t)ranks_me + 5;
    for (int round = 0; round < 2000; round++) {
        const uint64_t at = layout_below(&state, BLOCKS);
        if (tensors[at] != NULL) {
            CHECK_OK(tnr_tensor_release(&tensors[at]));
        } else {
            const int64_t count = (int64_t)layout_below(&state, 1000) + 1;
            CHECK_OK(tnr_tensor_full(window, TNR_F64, 1, &count, &(double){(double)at}, &tensors[at]));
        }
    }
    for (uint64_t at = 0; at < BLOCKS; at++) {
        tnr_view view;
        const int64_t zero = 0;
        double value = -1;
        if (tensors[at] != NULL) {
            CHECK_OK(tnr_tensor_view(tensors[at], &view));
            CHECK_OK(tnr_view_get(&view, &zero, &value));
            CHECK(value == (double)at);
            CHECK_OK(tnr_tensor_release(&tensors[at]));
        }
    }
    tnr_domain_statistics statistics;
    CHECK_OK(tnr_domain_statistics_get(window, &statistics));
    CHECK(statistics.blocks == 0 && statistics.free_bytes == statistics.capacity);
    CHECK_OK(tnr_domain_close(&window));
    end_world(&world);
}

static void engines_work_in_it(void)
{
    tnr_world *world = make_world(false);
    tnr_domain *window = make_window(world, 1 << 20, 0);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine *engine = NULL;
    tnr_tensor *operands[2] = {NULL, NULL};
    tnr_tensor *sum = NULL;
    tnr_tensor *product = NULL;
    tnr_view views[2];
    const int64_t shape[2] = {30, 30};
    options.output = window;
    CHECK_OK(tnr_engine_create(heap, &options, &engine));
    CHECK_OK(tnr_tensor_full(window, TNR_F64, 2, shape, &(double){2}, &operands[0]));
    CHECK_OK(tnr_tensor_full(window, TNR_F64, 2, shape, &(double){3}, &operands[1]));
    CHECK_OK(tnr_tensor_view(operands[0], &views[0]));
    CHECK_OK(tnr_tensor_view(operands[1], &views[1]));
    CHECK_OK(tnr_add(engine, &views[0], &views[1], &sum));
    CHECK_OK(tnr_matmul(engine, &views[0], &views[1], NULL, &product));
    const int64_t at[2] = {29, 17};
    double value = 0;
    tnr_view view;
    tnr_tensor_info info;
    CHECK_OK(tnr_tensor_describe(sum, &info));
    CHECK(tnr_domain_id_equal(info.domain, tnr_domain_identity(window)));
    CHECK_OK(tnr_tensor_view(sum, &view));
    CHECK_OK(tnr_view_get(&view, at, &value));
    CHECK(value == 5);
    CHECK_OK(tnr_tensor_view(product, &view));
    CHECK_OK(tnr_view_get(&view, at, &value));
    CHECK(value == 180);
    CHECK_OK(tnr_tensor_release(&sum));
    CHECK_OK(tnr_tensor_release(&product));
    CHECK_OK(tnr_tensor_release(&operands[0]));
    CHECK_OK(tnr_tensor_release(&operands[1]));
    CHECK_OK(tnr_engine_destroy(&engine));
    CHECK_OK(tnr_domain_close(&window));
    end_world(&world);
}

/* Fetching is one local copy, also where nothing else may be shared; and goes on by other ways for who closed the window. */
static void tensors_in_it_are_fetched(void)
{
    for (int setting = 0; setting < 2; setting++) {
        tnr_world *world = make_world(setting == 1);
        tnr_domain *window = make_window(world, ranks_me == 0 ? 0 : 1 << 16, 0);
        tnr_group *group = NULL;
        uint64_t state = 99;
        layout_shape shapes[7]; /* of most ranks, as said above */
        CHECK_OK(tnr_group_create(heap, &group));
        for (int rank = 0; rank < ranks_size; rank++) {
            layout_piece piece;
            tnr_tensor *tensor = NULL;
            layout_draw_shape(&state, 500, &shapes[rank]);
            layout_make(&state, heap, &shapes[rank], LAYOUT_ANY, &piece);
            layout_fill(&piece, (uint64_t)rank);
            if (rank == ranks_me) {
                CHECK_OK(tnr_tensor_duplicate(&piece.view.view, rank != 0 ? window : heap, &tensor));
                CHECK_OK(tnr_group_append(group, &tensor, NULL));
            }
            layout_end(&piece);
        }
        CHECK_OK(tnr_group_publish(world, group));
        for (int turn = 0; turn < 2; turn++) {
            for (int rank = 0; rank < ranks_size; rank++) {
                tnr_slot slot;
                tnr_descriptor descriptor;
                const uint32_t others = (uint32_t)(rank < ranks_me ? rank : rank - 1);
                CHECK_OK(tnr_group_slot(group, rank == ranks_me ? 0 : others + 1, &slot));
                CHECK_OK(tnr_group_describe(group, slot, &descriptor));
                CHECK((descriptor.placement.kind == TNR_MEMORY_MANAGED) == (rank != 0));
                layout_piece piece;
                layout_make(&state, heap, &shapes[rank], LAYOUT_ANY, &piece);
                const bool mapped = turn == 0 && rank != 0; /* and then one copy, whatever else there is */
                const tnr_status found = tnr_group_fetch_into(world, group, slot, &piece.view);
                CHECK(found == TNR_OK || (found == TNR_ERR_UNSUPPORTED && setting == 1 && !mapped));
                if (found == TNR_OK) {
                    layout_check(&piece.view.view, (uint64_t)rank);
                }
                layout_end(&piece);
            }
            if (ranks_me == 0 && turn == 0) { /* nothing of it is out here */
                CHECK_OK(tnr_domain_close(&window));
            }
        }
        CHECK_OK(tnr_group_unpublish(world, group));
        CHECK_OK(tnr_group_release(&group));
        CHECK_OK(tnr_domain_close(&window));
        end_world(&world);
    }
}

static void it_does_not_hang_on_its_world(void)
{
    tnr_world *world = make_world(false);
    tnr_domain *window = make_window(world, 1 << 16, 0);
    tnr_tensor *tensor = NULL;
    const int64_t count = 100;
    CHECK_OK(tnr_tensor_full(window, TNR_I64, 1, &count, &(int64_t){ranks_me}, &tensor));
    tnr_domain *same = window;
    CHECK_STATUS(TNR_ERR_BUSY, tnr_domain_close(&same));
    end_world(&world);
    tnr_view view;
    const int64_t at = 99;
    int64_t value = -1;
    CHECK_OK(tnr_tensor_view(tensor, &view));
    CHECK_OK(tnr_view_get(&view, &at, &value));
    CHECK(value == ranks_me);
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_domain_close(&window));
}

static void a_refusal_on_one_rank_is_one_on_all(void)
{
    tnr_world *world = make_world(false);
    tnr_window_options options = TNR_WINDOW_OPTIONS;
    tnr_domain *window = NULL;
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    const int last = ranks_size - 1;
    CHECK_OK(tnr_domain_statistics_get(heap, &before));
    options.bytes = 4096;
    options.page = ranks_me == last ? 100 : 0;
    CHECK_STATUS(ranks_me == last ? TNR_ERR_ARGUMENT : TNR_ERR_PEER, tnr_window_create(world, heap, &options, &window));
    options.page = 0;
    options.bytes = ranks_me == last ? UINT64_C(1) << 40U : 4096;
    CHECK_STATUS(ranks_me == last ? TNR_ERR_MEMORY : TNR_ERR_PEER, tnr_window_create(world, heap, &options, &window));
    options.bytes = 4096;
    CHECK_STATUS(ranks_me == last ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                 tnr_window_create(world, ranks_me == last ? NULL : heap, &options, &window));
    CHECK(window == NULL);
    CHECK_OK(tnr_domain_statistics_get(heap, &after));
    CHECK(after.blocks == before.blocks && after.bytes == before.bytes);
    CHECK_OK(tnr_window_create(world, heap, &options, &window));
    CHECK_OK(tnr_domain_close(&window));
    end_world(&world);
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(slices_are_what_was_asked_for),       RANK_TEST(blocks_come_and_go_in_any_order),
        RANK_TEST(first_touch_takes_nothing_before),    RANK_TEST(engines_work_in_it),
        RANK_TEST(tensors_in_it_are_fetched),           RANK_TEST(it_does_not_hang_on_its_world),
        RANK_TEST(a_refusal_on_one_rank_is_one_on_all),
    };
    CHECK_OK(tnr_heap_create(&heap));
    const int result = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    CHECK_OK(tnr_domain_close(&heap));
    return result;
}
