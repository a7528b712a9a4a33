/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fetching from published groups: out of a neighbour's memory, by one-sided MPI, and from this rank itself, for every layout.
 *
 * ranks: 1 2 3 4 7
 * transports: tcp nocma nowindows
 */
#include "layouts.h"

static tnr_domain *heap;

/* Ways for bytes to travel: a neighbour's memory, one-sided MPI, both with small buffers. */
enum { SETTINGS = 4 };

static tnr_world *make_world(int setting)
{
    tnr_world *world = NULL;
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.no_shared = setting == 1 || setting == 3;
    options.pack_bytes = setting >= 2 ? 4 << 10 : 0;
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

/* Has MPI one-sided reads over this transport? Where it has not, fetching what nothing else reaches says so. */
static bool one_sided;

static void find_out(void)
{
    MPI_Comm comm;
    MPI_Win window = MPI_WIN_NULL;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    one_sided = MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window) == MPI_SUCCESS;
    if (one_sided) {
        CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    if (ranks_me == 0) {
        printf("one-sided MPI: %s\n", one_sided ? "yes" : "no");
    }
}

/* Settings that can be had here; where they cannot, that is what is checked. */
static bool serves(int setting)
{
    if (one_sided || ranks_size == 1 || setting % 2 == 0) {
        return true;
    }
    tnr_world *world = make_world(setting);
    tnr_group *group = NULL;
    tnr_tensor *tensor = NULL;
    tnr_slot slot;
    const int64_t count = 4;
    CHECK_OK(tnr_group_create(heap, &group));
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, &count, &(double){1}, &tensor));
    CHECK_OK(tnr_group_append(group, &tensor, NULL));
    CHECK_OK(tnr_group_publish(world, group));
    CHECK_OK(tnr_group_slot(group, 1, &slot));
    CHECK_STATUS(TNR_ERR_UNSUPPORTED, tnr_group_fetch(world, group, slot, heap, &tensor));
    CHECK_TEXT("one-sided");
    CHECK_OK(tnr_group_slot(group, 0, &slot));
    CHECK_OK(tnr_group_fetch(world, group, slot, heap, &tensor));
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_OK(tnr_group_release(&group));
    end_world(&world);
    return false;
}

/* Descriptor `number` of the others, in rank order, of `each` per rank: its slot. */
static tnr_slot slot_of(const tnr_group *group, int own, int rank, int number, int each)
{
    tnr_slot slot;
    const int others = rank < ranks_me ? rank : rank - 1;
    const int index = rank == ranks_me ? number : own + others * each + number;
    CHECK_OK(tnr_group_slot(group, (uint32_t)index, &slot));
    return slot;
}

static uint64_t fetched(const tnr_domain *domain)
{
    tnr_ledger ledger;
    CHECK_OK(tnr_ledger_get((tnr_domain *)(uintptr_t)domain, &ledger));
    return ledger.copies[TNR_COPY_FETCH].count;
}

static void one_tensor_from_each_rank(void)
{
    for (int setting = 0; setting < SETTINGS; setting++) {
        if (!serves(setting)) {
            continue;
        }
        tnr_world *world = make_world(setting);
        tnr_group *group = NULL;
        tnr_tensor *tensor = NULL;
        const int64_t shape[2] = {3, 2};
        const double base = 10.0 * ranks_me;
        const double values[6] = {base, base + 1, base + 2, base + 3, base + 4, base + 5};
        CHECK_OK(tnr_group_create(heap, &group));
        CHECK_OK(tnr_tensor_from_column_major(heap, TNR_F64, 2, shape, values, sizeof(values), &tensor));
        CHECK_OK(tnr_group_append(group, &tensor, NULL));
        CHECK_OK(tnr_group_publish(world, group));
        for (int rank = 0; rank < ranks_size; rank++) {
            const uint64_t before = fetched(heap);
            CHECK_OK(tnr_group_fetch(world, group, slot_of(group, 1, rank, 0, 1), heap, &tensor));
            CHECK(fetched(heap) == before + 1);
            const void *data;
            CHECK_OK(tnr_tensor_host_data(tensor, &data));
            for (int index = 0; index < 6; index++) {
                CHECK(((const double *)data)[index] == 10.0 * rank + index);
            }
            CHECK_OK(tnr_tensor_release(&tensor));
        }
        CHECK_OK(tnr_group_unpublish(world, group));
        CHECK_OK(tnr_group_release(&group));
        end_world(&world);
    }
}

/* MP-02, MP-04: sub-blocks with an offset, another layout at each end. */
static void spans_and_layouts_are_honoured(void)
{
    for (int setting = 0; setting < SETTINGS; setting++) {
        if (!serves(setting)) {
            continue;
        }
        tnr_world *world = make_world(setting);
        tnr_group *group = NULL;
        tnr_tensor *tensor = NULL;
        double values[32];
        const int64_t shape[2] = {4, 8};
        const int64_t part[2] = {2, 4};
        const int64_t strides[2] = {1, 4};
        const int64_t backwards[2] = {-1, -4};
        const int64_t repeated[2] = {0, 4};
        tnr_slot whole;
        for (int index = 0; index < 32; index++) {
            values[index] = 1000 * ranks_me + 100 * (index % 4) + index / 4;
        }
        CHECK_OK(tnr_group_create(heap, &group));
        CHECK_OK(tnr_tensor_from_column_major(heap, TNR_F64, 2, shape, values, sizeof(values), &tensor));
        CHECK_OK(tnr_group_append(group, &tensor, &whole));
        CHECK_OK(tnr_group_describe_span(group, whole, TNR_F64, 128, 128, 2, part, strides, 1, NULL));
        CHECK_OK(tnr_group_describe_span(group, whole, TNR_F64, 0, 256, 2, part, backwards, 30, NULL));
        CHECK_OK(tnr_group_describe_span(group, whole, TNR_F64, 0, 256, 2, part, repeated, 17, NULL));
        CHECK_OK(tnr_group_publish(world, group));
        const int rank = (ranks_me + 1) % ranks_size;
        for (int number = 1; number < 4; number++) {
            const int64_t lines[2] = {4, 2};
            tnr_tensor *target = NULL;
            tnr_view_mut view;
            const int axes[2] = {1, 0};
            CHECK_OK(tnr_tensor_full(heap, TNR_F64, 2, lines, &(double){-1}, &target));
            CHECK_OK(tnr_tensor_view_mut(target, &view));
            CHECK_OK(tnr_view_mut_permute(&view, axes, &view));
            CHECK_OK(tnr_group_fetch_into(world, group, slot_of(group, 4, rank, number, 4), &view));
            for (int64_t row = 0; row < 2; row++) {
                for (int64_t column = 0; column < 4; column++) {
                    const int64_t at[2] = {row, column};
                    double found = 0;
                    const double expected = number == 1   ? (double)(100 * (row + 1) + column + 4)
                                            : number == 2 ? (double)(100 * (2 - row) + 7 - column)
                                                          : (double)(100 + column + 4);
                    CHECK_OK(tnr_view_get(&view.view, at, &found));
                    CHECK(found == 1000 * rank + expected);
                }
            }
            CHECK_OK(tnr_tensor_release(&target));
        }
        CHECK_OK(tnr_group_unpublish(world, group));
        CHECK_OK(tnr_group_release(&group));
        end_world(&world);
    }
}

/* Any view of anything, into anything: seeds are the same on all ranks, so each knows what the others published. */
static void random_layouts_come_as_they_are(void)
{
    enum { EACH = 6, RANKS_MOST = 8 };
    const unsigned long long seed = ranks_seed();
    for (int round = 0; round < 12; round++) {
        tnr_world *world = make_world(one_sided ? round % SETTINGS : round % 2 * 2);
        tnr_group *group = NULL;
        layout_shape shapes[RANKS_MOST][EACH];
        CHECK(ranks_size <= RANKS_MOST);
        CHECK_OK(tnr_group_create(heap, &group));
        uint64_t state = (uint64_t)seed + (uint64_t)(unsigned)round;
        int own = 0;
        for (int rank = 0; rank < ranks_size; rank++) {
            for (int number = 0; number < EACH; number++) {
                layout_piece piece;
                layout_draw_shape(&state, round < 8 ? 500 : 30000, &shapes[rank][number]);
                layout_make(&state, heap, &shapes[rank][number], LAYOUT_ANY, &piece);
                if (rank != ranks_me) {
                    layout_end(&piece);
                    continue;
                }
                layout_fill(&piece, (uint64_t)(rank * EACH + number));
                const tnr_view view = piece.view.view;
                tnr_slot slot;
                CHECK_OK(tnr_group_append(group, &piece.tensor, &slot));
                CHECK_OK(tnr_group_describe_span(group, slot, view.dtype, view.window_begin, view.window_bytes,
                                                 view.rank, view.shape, view.strides, view.offset, NULL));
                own += 2;
            }
        }
        CHECK_OK(tnr_group_publish(world, group));
        for (int rank = 0; rank < ranks_size; rank++) {
            for (int number = 0; number < EACH; number++) {
                const layout_shape *shape = &shapes[rank][number];
                const tnr_slot slot = slot_of(group, own, rank, 2 * number + 1, 2 * EACH);
                const uint64_t known = (uint64_t)(rank * EACH + number);
                layout_piece piece;
                layout_make(&state, heap, shape, LAYOUT_ANY, &piece);
                const uint64_t outside = layout_outside(&piece);
                CHECK_OK(tnr_group_fetch_into(world, group, slot, &piece.view));
                layout_check(&piece.view.view, known);
                CHECK(layout_outside(&piece) == outside);
                layout_end(&piece);
                tnr_tensor *tensor = NULL;
                tnr_view view;
                CHECK_OK(tnr_group_fetch(world, group, slot, heap, &tensor));
                CHECK_OK(tnr_tensor_view(tensor, &view));
                layout_check(&view, known);
                CHECK_OK(tnr_tensor_release(&tensor));
            }
        }
        CHECK_OK(tnr_group_unpublish(world, group));
        CHECK_OK(tnr_group_release(&group));
        end_world(&world);
    }
}

/* More owners than one MPI window takes, and one of 3 MB. */
static void many_owners_and_large_ones(void)
{
    enum { MANY = 70, LARGE = 400000 };
    for (int setting = 0; setting < 2; setting++) {
        if (!serves(setting)) {
            continue;
        }
        tnr_world *world = make_world(setting);
        tnr_group *group = NULL;
        const int64_t large = LARGE;
        const int own = ranks_me == 0 ? MANY : 1;
        CHECK_OK(tnr_group_create(heap, &group));
        for (int number = 0; number < own; number++) {
            tnr_tensor *tensor = NULL;
            void *data;
            CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, &large, &(double){ranks_me + number}, &tensor));
            CHECK_OK(tnr_tensor_host_data_mut(tensor, &data));
            ((double *)data)[LARGE - 1] = -number;
            CHECK_OK(tnr_group_append(group, &tensor, NULL));
        }
        CHECK_OK(tnr_group_publish(world, group));
        for (int number = 0; number < MANY; number += 23) {
            tnr_tensor *tensor = NULL;
            const void *data;
            tnr_slot slot;
            CHECK_OK(tnr_group_slot(group, (uint32_t)(ranks_me == 0 ? number : own + number), &slot));
            CHECK_OK(tnr_group_fetch(world, group, slot, heap, &tensor));
            CHECK_OK(tnr_tensor_host_data(tensor, &data));
            CHECK(((const double *)data)[0] == number && ((const double *)data)[LARGE - 2] == number);
            CHECK(((const double *)data)[LARGE - 1] == -number);
            CHECK_OK(tnr_tensor_release(&tensor));
        }
        CHECK_OK(tnr_group_unpublish(world, group));
        CHECK_OK(tnr_group_release(&group));
        end_world(&world);
    }
}

static void what_cannot_be_fetched_is_refused_and_nothing_changes(void)
{
    tnr_world *world = make_world(0);
    tnr_world *other = make_world(0);
    tnr_group *group = NULL;
    tnr_tensor *tensor = NULL;
    tnr_tensor *none = NULL;
    const int64_t shape[2] = {3, 2};
    const int64_t turned[2] = {2, 3};
    tnr_view_mut view;
    static _Alignas(64) char region[4096 + 2048];
    tnr_domain *arena = NULL;
    CHECK_OK(tnr_arena_create(region, sizeof(region), NULL, &arena));
    CHECK_OK(tnr_group_create(heap, &group));
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 2, shape, &(double){1}, &tensor));
    CHECK_OK(tnr_group_append(group, &tensor, NULL));
    const int64_t large = 4096;
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, &large, &(double){1}, &tensor));
    CHECK_OK(tnr_group_append(group, &tensor, NULL));
    CHECK_OK(tnr_group_publish(world, group));
    const int rank = (ranks_me + 1) % ranks_size;
    const tnr_slot slot = slot_of(group, 2, rank, 0, 2);
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_group_fetch(NULL, group, slot, heap, &none));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_group_fetch(world, NULL, slot, heap, &none));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_group_fetch(world, group, slot, NULL, &none));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_group_fetch(world, group, slot, heap, NULL));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_group_fetch_into(world, group, slot, NULL));
    CHECK_STATUS(TNR_ERR_MEMORY, tnr_group_fetch(world, group, slot_of(group, 2, rank, 1, 2), arena, &none));
    if (ranks_size > 1) {
        CHECK_STATUS(TNR_ERR_FOREIGN, tnr_group_fetch(other, group, slot, heap, &none));
    }
    CHECK_OK(tnr_tensor_full(heap, TNR_F32, 2, shape, &(float){5}, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    CHECK_STATUS(TNR_ERR_DTYPE, tnr_group_fetch_into(world, group, slot, &view));
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 2, turned, &(double){5}, &tensor));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    CHECK_STATUS(TNR_ERR_SHAPE, tnr_group_fetch_into(world, group, slot, &view));
    const int64_t at[2] = {1, 1};
    double value = 0;
    CHECK_OK(tnr_view_get(&view.view, at, &value));
    CHECK(value == 5);
    CHECK_OK(tnr_tensor_release(&tensor));
    CHECK(none == NULL);
    CHECK_OK(tnr_world_barrier(world));
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_STATUS(rank == ranks_me ? TNR_OK : TNR_ERR_STALE, tnr_group_fetch(world, group, slot, heap, &none));
    CHECK_OK(tnr_tensor_release(&none));
    CHECK_OK(tnr_group_release(&group));
    CHECK_OK(tnr_domain_close(&arena));
    end_world(&other);
    end_world(&world);
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(find_out),
        RANK_TEST(one_tensor_from_each_rank),
        RANK_TEST(spans_and_layouts_are_honoured),
        RANK_TEST(random_layouts_come_as_they_are),
        RANK_TEST(many_owners_and_large_ones),
        RANK_TEST(what_cannot_be_fetched_is_refused_and_nothing_changes),
    };
    CHECK_OK(tnr_heap_create(&heap));
    const int result = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    CHECK_OK(tnr_domain_close(&heap));
    return result;
}
