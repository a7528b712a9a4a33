/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups across ranks: what each rank sees of the others' owners, and what nobody may do meanwhile.
 *
 * ranks: 1 2 3 4 7
 */
#include "ranks.h"

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

/* Rank r has r + 1 tensors, tensor k is f64 [r + 1, k + 2] with 100 * r + k everywhere. */
static tnr_tensor *make_tensor(int rank, int number)
{
    const int64_t shape[2] = {rank + 1, number + 2};
    double values[64];
    tnr_tensor *tensor = NULL;
    for (int64_t index = 0; index < shape[0] * shape[1]; index++) {
        values[index] = 100.0 * rank + number;
    }
    CHECK_OK(
        tnr_tensor_from_column_major(heap, TNR_F64, 2, shape, values, (uint64_t)(shape[0] * shape[1]) * 8, &tensor));
    return tensor;
}

static tnr_group *make_group(void)
{
    tnr_group *group = NULL;
    CHECK_OK(tnr_group_create(heap, &group));
    for (int number = 0; number <= ranks_me; number++) {
        tnr_tensor *tensor = make_tensor(ranks_me, number);
        CHECK_OK(tnr_group_append(group, &tensor, NULL));
    }
    return group;
}

static uint32_t count_of(const tnr_group *group)
{
    uint32_t descriptors;
    CHECK_OK(tnr_group_counts(group, NULL, &descriptors));
    return descriptors;
}

static void descriptors_of_all_ranks_are_there_in_order(void)
{
    tnr_world *world = make_world(false);
    tnr_group *group = make_group();
    CHECK_OK(tnr_group_publish(world, group));
    CHECK(count_of(group) == (uint32_t)(ranks_size * (ranks_size + 1) / 2));
    uint32_t index = (uint32_t)ranks_me + 1;
    for (int rank = 0; rank < ranks_size; rank++) {
        for (int number = 0; rank != ranks_me && number <= rank; number++) {
            tnr_slot slot;
            tnr_descriptor found;
            tnr_view view;
            tnr_tensor *tensor = NULL;
            CHECK_OK(tnr_group_slot(group, index++, &slot));
            CHECK(slot.epoch == 1);
            CHECK_OK(tnr_group_describe(group, slot, &found));
            CHECK(!found.vacant && found.owner == (uint32_t)number && found.dtype == TNR_F64 && found.rank == 2);
            CHECK(found.shape[0] == rank + 1 && found.shape[1] == number + 2 && found.strides[1] == rank + 1);
            CHECK(found.domain.process == (uint64_t)rank + 1 && found.domain.serial != 0 && found.allocation != 0);
            CHECK_STATUS(TNR_ERR_FOREIGN, tnr_group_view(group, slot, &view));
            char words[32];
            (void)snprintf(words, sizeof(words), "rank %d ", rank);
            CHECK_TEXT(words);
            CHECK_STATUS(TNR_ERR_FOREIGN, tnr_group_take(group, slot, &tensor));
        }
    }
    CHECK_OK(tnr_group_check(group));
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_OK(tnr_group_release(&group));
    end_world(&world);
}

/* By rank and number, in a second epoch: places of the first are vacant, and not counted; nor are this rank's own that were taken. */
static void entries_are_found_by_rank(void)
{
    tnr_world *world = make_world(false);
    tnr_world *other = make_world(true);
    tnr_group *group = make_group();
    tnr_tensor *taken = NULL;
    tnr_tensor *more = make_tensor(ranks_me, ranks_me + 1);
    tnr_slot slot = {7, 7, 7};
    CHECK_STATUS(TNR_ERR_STALE, tnr_group_find(world, group, 0, 0, &slot));
    CHECK_OK(tnr_group_publish(world, group));
    CHECK_OK(tnr_group_find(world, group, ranks_me, 0, &slot));
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_OK(tnr_group_take(group, slot, &taken)); /* number 0 is gone, and one comes behind the others' places */
    CHECK_OK(tnr_group_append(group, &more, NULL));
    CHECK_OK(tnr_group_publish(world, group));
    for (int rank = 0; rank < ranks_size; rank++) {
        for (int number = 1; number <= rank + 1; number++) {
            tnr_tensor *copy = NULL;
            tnr_view view;
            const int64_t index[2] = {rank, number + 1};
            double value = 0;
            CHECK_OK(tnr_group_find(world, group, rank, (uint32_t)number - 1, &slot));
            CHECK_OK(tnr_group_fetch(world, group, slot, heap, &copy));
            CHECK_OK(tnr_tensor_view(copy, &view));
            CHECK_OK(tnr_view_get(&view, index, &value));
            CHECK(value == 100.0 * rank + number);
            CHECK_OK(tnr_tensor_release(&copy));
        }
        const tnr_slot before = slot;
        CHECK_STATUS(TNR_ERR_BOUNDS, tnr_group_find(world, group, rank, (uint32_t)rank + 1, &slot));
        CHECK_STATUS(TNR_ERR_BOUNDS, tnr_group_find(world, group, rank, UINT32_MAX, &slot));
        CHECK(memcmp(&slot, &before, sizeof(slot)) == 0);
    }
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_group_find(world, group, -1, 0, &slot));
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_group_find(world, group, ranks_size, 0, &slot));
    CHECK_STATUS(TNR_ERR_FOREIGN, tnr_group_find(other, group, 0, 0, &slot));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_group_find(NULL, group, 0, 0, &slot));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_group_find(world, NULL, 0, 0, &slot));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_group_find(world, group, 0, 0, NULL));
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_OK(tnr_group_release(&group));
    CHECK_OK(tnr_tensor_release(&taken));
    end_world(&world);
    end_world(&other);
}

static void owners_are_leased_until_the_epoch_ends(void)
{
    tnr_world *world = make_world(false);
    tnr_group *group = make_group();
    tnr_group *same = group;
    tnr_tensor *tensor = make_tensor(0, 0);
    tnr_slot own;
    tnr_view view;
    tnr_view_mut view_mut;
    const int64_t index[2] = {0, 0};
    double value = 0;
    CHECK_OK(tnr_group_publish(world, group));
    CHECK_OK(tnr_group_slot(group, 0, &own));
    CHECK_OK(tnr_group_view(group, own, &view));
    CHECK_OK(tnr_view_get(&view, index, &value));
    CHECK(value == 100.0 * ranks_me);
    CHECK_OK(tnr_group_view_mut(group, own, &view_mut));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_view_set(&view_mut, index, &value));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_group_release(&same));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_group_append(group, &tensor, NULL));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_group_publish(world, group));
    tnr_world *busy = world;
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_destroy(&busy));
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_OK(tnr_view_set(&view_mut, index, &value));
    CHECK_OK(tnr_group_append(group, &tensor, NULL));
    CHECK_OK(tnr_group_release(&group));
    end_world(&world);
}

static void epochs_end_and_slots_go_stale(void)
{
    tnr_world *world = make_world(false);
    tnr_group *group = make_group();
    tnr_slot old = {0, 0, 0};
    tnr_descriptor found;
    for (uint32_t epoch = 1; epoch <= 3; epoch++) {
        const uint32_t before = count_of(group);
        CHECK_OK(tnr_group_publish(world, group));
        if (epoch > 1 && ranks_size > 1) {
            CHECK_STATUS(TNR_ERR_STALE, tnr_group_describe(group, old, &found));
        }
        if (ranks_size > 1) {
            CHECK_OK(tnr_group_slot(group, before, &old));
            CHECK(old.epoch == epoch);
            CHECK_OK(tnr_group_describe(group, old, &found));
        }
        CHECK_OK(tnr_group_unpublish(world, group));
        if (ranks_size > 1) {
            CHECK_STATUS(TNR_ERR_STALE, tnr_group_describe(group, old, &found));
            tnr_slot place;
            CHECK_OK(tnr_group_slot(group, before, &place));
            CHECK(place.epoch == 0);
            CHECK_OK(tnr_group_describe(group, place, &found));
            CHECK(found.vacant);
        }
        CHECK_OK(tnr_group_check(group));
    }
    CHECK_OK(tnr_group_release(&group));
    end_world(&world);
}

static void a_refusal_on_one_rank_is_one_on_all(void)
{
    tnr_world *world = make_world(false);
    tnr_group *group = make_group();
    tnr_slot own;
    tnr_view_mut view;
    tnr_write_map map;
    const uint32_t before = count_of(group);
    CHECK_OK(tnr_group_slot(group, 0, &own));
    CHECK_OK(tnr_group_view_mut(group, own, &view));
    const int last = ranks_size - 1;
    if (ranks_me == last) {
        CHECK_OK(tnr_map_write(&view, &map));
    }
    CHECK_STATUS(ranks_me == last ? TNR_ERR_BUSY : TNR_ERR_PEER, tnr_group_publish(world, group));
    CHECK(count_of(group) == before);
    if (ranks_me == last) {
        CHECK_OK(tnr_unmap_write(&map));
    }
    CHECK_STATUS(ranks_me == last ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                 tnr_group_publish(world, ranks_me == last ? NULL : group));
    CHECK_STATUS(TNR_ERR_STALE, tnr_group_unpublish(world, group));
    CHECK_OK(tnr_map_write(&view, &map)); /* no lease is left */
    CHECK_OK(tnr_unmap_write(&map));
    CHECK_OK(tnr_group_publish(world, group));
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_OK(tnr_group_release(&group));
    end_world(&world);
}

/* Merging tables of several worlds is refused, and so is a world that is not the one. */
static void one_group_is_in_one_world(void)
{
    tnr_world *first = make_world(false);
    tnr_world *second = make_world(true);
    tnr_group *one = make_group();
    tnr_group *two = make_group();
    tnr_group *same = two;
    CHECK_OK(tnr_group_publish(first, one));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_group_publish(second, one));
    CHECK_OK(tnr_group_publish(second, two));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_group_merge(one, &same, NULL));
    CHECK_STATUS(TNR_ERR_FOREIGN, tnr_group_unpublish(second, one));
    CHECK_OK(tnr_group_unpublish(first, one));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_group_merge(one, &same, NULL));
    CHECK_OK(tnr_group_unpublish(second, two));
    CHECK_OK(tnr_group_merge(one, &two, NULL));
    CHECK_OK(tnr_group_release(&one));
    end_world(&first);
    end_world(&second);
}

static void groups_may_be_empty_and_owners_vacated(void)
{
    tnr_world *world = make_world(false);
    tnr_group *group = NULL;
    CHECK_OK(tnr_group_create(heap, &group));
    CHECK_OK(tnr_group_publish(world, group));
    CHECK(count_of(group) == 0);
    CHECK_OK(tnr_group_unpublish(world, group));
    tnr_tensor *tensors[3] = {make_tensor(ranks_me, 0), make_tensor(ranks_me, 1), make_tensor(ranks_me, 2)};
    tnr_slot slots[3];
    for (int index = 0; index < 3; index++) {
        CHECK_OK(tnr_group_append(group, &tensors[index], &slots[index]));
    }
    CHECK_OK(tnr_group_take(group, slots[1], &tensors[1]));
    CHECK_OK(tnr_group_publish(world, group));
    CHECK(count_of(group) == 3 + 2 * (uint32_t)(ranks_size - 1));
    for (int other = 0; other < ranks_size - 1; other++) {
        tnr_slot slot;
        tnr_descriptor found;
        CHECK_OK(tnr_group_slot(group, 4 + 2 * (uint32_t)other, &slot));
        CHECK_OK(tnr_group_describe(group, slot, &found));
        CHECK(found.owner == 2 && found.shape[1] == 4);
    }
    CHECK_OK(tnr_group_unpublish(world, group));
    CHECK_OK(tnr_group_release(&group));
    CHECK_OK(tnr_tensor_release(&tensors[1]));
    end_world(&world);
}

static void memory_that_ends_on_one_rank_ends_it_for_all(void)
{
    tnr_world *world = make_world(false);
    static _Alignas(64) char region[24 << 10];
    tnr_domain *arena = NULL;
    tnr_group *group = NULL;
    tnr_group *many = NULL;
    const int64_t one = 1;
    CHECK_OK(tnr_arena_create(region, sizeof(region), NULL, &arena));
    CHECK_OK(tnr_group_create(arena, &group)); /* too little room for the others' descriptors, on rank 0 */
    CHECK_OK(tnr_group_create(heap, &many));
    for (int index = 0; index < 200; index++) {
        tnr_tensor *tensor = NULL;
        CHECK_OK(tnr_tensor_full(heap, TNR_BOOL, 1, &one, &(bool){true}, &tensor));
        CHECK_OK(tnr_group_append(many, &tensor, NULL));
    }
    const tnr_status expected = ranks_size == 1 ? TNR_OK : ranks_me == 0 ? TNR_ERR_MEMORY : TNR_ERR_PEER;
    tnr_group *mine = ranks_me == 0 ? group : many;
    CHECK_STATUS(expected, tnr_group_publish(world, mine));
    if (expected == TNR_OK) {
        CHECK_OK(tnr_group_unpublish(world, mine));
    } else {
        CHECK(count_of(mine) == (ranks_me == 0 ? 0U : 200U));
    }
    CHECK_OK(tnr_group_release(&group));
    CHECK_OK(tnr_group_release(&many));
    CHECK_OK(tnr_domain_close(&arena));
    end_world(&world);
}

/* Ranks that mean different publications are told, and both go on. */
static void ending_is_agreed_on(void)
{
    tnr_world *world = make_world(false);
    tnr_group *first = make_group();
    tnr_group *second = make_group();
    CHECK_OK(tnr_group_publish(world, first));
    CHECK_OK(tnr_group_publish(world, second));
    if (ranks_size > 1) {
        CHECK_STATUS(TNR_ERR_PEER, tnr_group_unpublish(world, ranks_me == 0 ? first : second));
        CHECK_TEXT("do not agree on which publication to end");
    }
    CHECK_OK(tnr_group_unpublish(world, second));
    CHECK_OK(tnr_group_unpublish(world, first));
    CHECK_OK(tnr_group_release(&first));
    CHECK_OK(tnr_group_release(&second));
    end_world(&world);
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(descriptors_of_all_ranks_are_there_in_order),  RANK_TEST(entries_are_found_by_rank),
        RANK_TEST(owners_are_leased_until_the_epoch_ends),       RANK_TEST(epochs_end_and_slots_go_stale),
        RANK_TEST(a_refusal_on_one_rank_is_one_on_all),          RANK_TEST(one_group_is_in_one_world),
        RANK_TEST(groups_may_be_empty_and_owners_vacated),       RANK_TEST(ending_is_agreed_on),
        RANK_TEST(memory_that_ends_on_one_rank_ends_it_for_all),
    };
    CHECK_OK(tnr_heap_create(&heap));
    const int result = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    CHECK_OK(tnr_domain_close(&heap));
    return result;
}
