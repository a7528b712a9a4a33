/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * transports: tcp nocma
 * Redistribution between random distributions in random layouts, against what counting index by index says each rank has; and
 * against a gather. */
#include "collective.h"

/* A distribution with its own memory. */
typedef struct drawn {
    tnr_distribution of;
    int64_t shape[TNR_MAX_RANK];
    tnr_axis_cut cuts[TNR_MAX_RANK];
    int64_t starts[TNR_MAX_RANK][65];
    int owners[64];
} drawn;

static void draw_cut(uint64_t *common, int64_t extent, int most, tnr_axis_cut *cut, int64_t *starts)
{
    cut->parts = 1 + (int)layout_below(common, (uint64_t)most);
    cut->block = 0;
    cut->starts = NULL;
    switch (layout_below(common, 4)) {
    case 0:
        break;
    case 1:
        starts[0] = 0;
        for (int part = 1; part < cut->parts; part++) {
            starts[part] = starts[part - 1] + (int64_t)layout_below(common, (uint64_t)(extent - starts[part - 1]) + 1);
        }
        starts[cut->parts] = extent;
        cut->starts = starts;
        break;
    default:
        cut->block = 1 + (int64_t)layout_below(common, 5);
        break;
    }
}

static void draw(uint64_t *common, int rank, const int64_t *shape, drawn *into)
{
    int room = ranks_size;
    memset(into, 0, sizeof(*into));
    memcpy(into->shape, shape, sizeof(into->shape));
    for (int axis = 0; axis < rank; axis++) {
        draw_cut(common, shape[axis], room, &into->cuts[axis], into->starts[axis]);
        room /= into->cuts[axis].parts;
    }
    for (int r = 0; r < ranks_size; r++) {
        into->owners[r] = r;
    }
    for (int r = ranks_size - 1; r > 0; r--) {
        const int other = (int)layout_below(common, (uint64_t)r + 1);
        const int kept = into->owners[r];
        into->owners[r] = into->owners[other];
        into->owners[other] = kept;
    }
    into->of.size = sizeof(tnr_distribution);
    into->of.rank = rank;
    into->of.shape = into->shape;
    into->of.cuts = into->cuts;
    into->of.owners = layout_below(common, 2) == 0 ? into->owners : NULL;
}

/* Is index `at` of an axis in this part of it? Straight from the definition. */
static bool has(const tnr_axis_cut *cut, int64_t extent, int part, int64_t at)
{
    if (cut->block != 0) {
        return at / cut->block % cut->parts == part;
    }
    int64_t start;
    int64_t count;
    if (cut->starts != NULL) {
        return at >= cut->starts[part] && at < cut->starts[part + 1];
    }
    CHECK_OK(tnr_block_range(extent, cut->parts, part, &start, &count));
    return at >= start && at < start + count;
}

/* What rank `who` has; false: it is in no part. */
static bool map_of(const drawn *from, int who, collective_map *map)
{
    int parts = 1;
    int part = -1;
    collective_map_make(map, from->of.rank, from->shape);
    for (int axis = 0; axis < from->of.rank; axis++) {
        parts *= from->cuts[axis].parts;
    }
    for (int p = 0; p < parts; p++) {
        part = (from->of.owners != NULL ? from->owners[p] : p) == who ? p : part;
    }
    for (int axis = 0; axis < from->of.rank; axis++) {
        int64_t count = 0;
        for (int64_t at = 0; at < from->shape[axis] && part >= 0; at++) {
            if (has(&from->cuts[axis], from->shape[axis], part % from->cuts[axis].parts, at)) {
                map->index[axis][count++] = at;
            }
        }
        map->shape[axis] = count;
        part = part >= 0 ? part / from->cuts[axis].parts : part;
    }
    return part >= 0;
}

static bool is_empty(const collective_map *map)
{
    for (int axis = 0; axis < map->rank; axis++) {
        if (map->shape[axis] == 0) {
            return true;
        }
    }
    return false;
}

static void one_round(tnr_world *world, uint64_t *common, uint64_t *own, int64_t most)
{
    layout_shape whole;
    drawn from;
    drawn to;
    collective_map before;
    collective_map after;
    layout_piece source;
    layout_piece target;
    tnr_tensor *made = NULL;
    layout_draw_shape(common, most, &whole);
    draw(common, whole.rank, whole.shape, &from);
    draw(common, whole.rank, whole.shape, &to);
    const uint64_t number = layout_random(common);
    const bool makes = layout_below(common, 2) == 0;
    const bool gives = map_of(&from, ranks_me, &before);
    const bool takes = map_of(&to, ranks_me, &after);
    bool holds = false;
    int64_t shape[TNR_MAX_RANK];
    CHECK_OK(tnr_distribution_part(&to.of, ranks_size, ranks_me, &holds, shape));
    CHECK(holds == takes && (whole.rank == 0 || memcmp(shape, after.shape, (size_t)whole.rank * sizeof(int64_t)) == 0));
    collective_piece(own, whole.dtype, &before, &source);
    if (gives) {
        collective_fill(&source.view.view, &before, number);
    }
    collective_piece(own, whole.dtype, &after, &target);
    const uint64_t outside = layout_outside(&target);
    const bool silent = !gives || (is_empty(&before) && !makes && layout_below(own, 2) == 0);
    const tnr_view *given = silent ? NULL : &source.view.view;
    if (makes) {
        CHECK_OK(tnr_world_redistribute(world, &from.of, given, &to.of, takes ? collective_heap : NULL,
                                        takes || ranks_me % 2 == 0 ? &made : NULL));
        CHECK((made != NULL) == takes);
        if (takes) {
            collective_check_made(made, whole.dtype, &after, number);
        }
        CHECK_OK(tnr_tensor_release(&made));
    } else {
        CHECK_OK(tnr_world_redistribute_into(world, &from.of, given, &to.of, takes ? &target.view : NULL));
        if (takes) {
            collective_check(&target.view.view, &after, number);
        }
        CHECK(layout_outside(&target) == outside);
    }
    layout_end(&source);
    layout_end(&target);
    collective_map_end(&before);
    collective_map_end(&after);
}

static void random_distributions(void)
{
    const unsigned long long seed = ranks_seed();
    for (int with = 0; with < COLLECTIVE_SETTINGS; with++) {
        tnr_world *world = collective_world(with);
        uint64_t common = seed * 2 + 1;
        uint64_t own = (seed + (uint64_t)ranks_me * 7919) * 2 + 1;
        for (int round = 0; round < 60; round++) {
            one_round(world, &common, &own, round % 20 == 19 ? 5000 : 200);
        }
        collective_end(&world);
    }
}

/* From anything to one rank alone is a gather: of slabs, the same as tnr_world_gather. And back. */
static void to_one_rank_is_a_gather(void)
{
    tnr_world *world = collective_world(0);
    const int64_t shape[] = {6, 9};
    const tnr_axis_cut slabs[] = {{1, 0, NULL}, {ranks_size, 0, NULL}};
    const int owner = ranks_size - 1;
    const tnr_distribution from = {sizeof(tnr_distribution), 2, shape, slabs, NULL};
    const tnr_distribution to = {sizeof(tnr_distribution), 2, shape, NULL, &owner};
    int64_t start;
    int64_t count;
    double values[54];
    tnr_tensor *part;
    tnr_tensor *gathered = NULL;
    tnr_tensor *moved = NULL;
    tnr_view view;
    CHECK_OK(tnr_block_range(9, ranks_size, ranks_me, &start, &count));
    for (int i = 0; i < 6 * count; i++) {
        values[i] = (double)(6 * start + i);
    }
    collective_f64(2, (int64_t[]){6, count}, values, &part);
    CHECK_OK(tnr_tensor_view(part, &view));
    CHECK_OK(tnr_world_gather(world, owner, &view, 1, collective_heap, &gathered));
    CHECK_OK(tnr_world_redistribute(world, &from, &view, &to, collective_heap, &moved));
    CHECK((moved != NULL) == (ranks_me == owner));
    for (int i = 0; i < 54 && ranks_me == owner; i++) {
        CHECK(collective_data(gathered)[i] == i && collective_data(moved)[i] == i);
    }
    tnr_tensor *back = NULL;
    if (ranks_me == owner) {
        CHECK_OK(tnr_tensor_view(moved, &view));
    }
    CHECK_OK(tnr_world_redistribute(world, &to, ranks_me == owner ? &view : NULL, &from, collective_heap, &back));
    for (int i = 0; i < 6 * count; i++) {
        CHECK(collective_data(back)[i] == values[i]);
    }
    CHECK_OK(tnr_tensor_release(&back));
    CHECK_OK(tnr_tensor_release(&gathered));
    CHECK_OK(tnr_tensor_release(&moved));
    CHECK_OK(tnr_tensor_release(&part));
    collective_end(&world);
}

/* 16 axes, all cyclic: more boxes than axes can say at once. */
static void sixteen_axes(void)
{
    tnr_world *world = collective_world(0);
    int64_t shape[TNR_MAX_RANK];
    drawn from;
    drawn to;
    collective_map before;
    collective_map after;
    layout_piece source;
    tnr_tensor *made = NULL;
    uint64_t own = 77;
    for (int axis = 0; axis < TNR_MAX_RANK; axis++) {
        shape[axis] = axis == 3 || axis == 14 ? 12 : axis % 4 == 0 ? 2 : 1;
    }
    memset(&from, 0, sizeof(from));
    memcpy(from.shape, shape, sizeof(shape));
    for (int axis = 0; axis < TNR_MAX_RANK; axis++) {
        from.cuts[axis].parts = 1;
    }
    from.of.size = sizeof(tnr_distribution);
    from.of.rank = TNR_MAX_RANK;
    to = from;
    from.of.shape = from.shape;
    from.of.cuts = from.cuts;
    to.of.shape = to.shape;
    to.of.cuts = to.cuts;
    from.cuts[3].parts = ranks_size;
    from.cuts[3].block = 2;
    to.cuts[14].parts = ranks_size;
    to.cuts[14].block = 1;
    CHECK(map_of(&from, ranks_me, &before) && map_of(&to, ranks_me, &after));
    collective_piece(&own, TNR_I32, &before, &source);
    collective_fill(&source.view.view, &before, 5);
    CHECK_OK(tnr_world_redistribute(world, &from.of, &source.view.view, &to.of, collective_heap, &made));
    collective_check_made(made, TNR_I32, &after, 5);
    CHECK_OK(tnr_tensor_release(&made));
    layout_end(&source);
    collective_map_end(&before);
    collective_map_end(&after);
    collective_end(&world);
}

static void what_does_not_fit_is_refused_everywhere(void)
{
    tnr_world *world = collective_world(0);
    const int64_t shape[] = {8};
    const int64_t other_shape[] = {9};
    const tnr_axis_cut even[] = {{ranks_size, 0, NULL}};
    const tnr_axis_cut cyclic[] = {{ranks_size, 1, NULL}};
    const tnr_axis_cut cyclic_2[] = {{ranks_size, 2, NULL}};
    const tnr_distribution from = {sizeof(tnr_distribution), 1, shape, even, NULL};
    const tnr_distribution to = {sizeof(tnr_distribution), 1, shape, cyclic, NULL};
    const tnr_distribution to_2 = {sizeof(tnr_distribution), 1, shape, cyclic_2, NULL};
    const tnr_distribution longer = {sizeof(tnr_distribution), 1, other_shape, cyclic, NULL};
    const double values[10] = {0};
    int64_t start;
    int64_t count;
    tnr_tensor *part;
    tnr_tensor *made = NULL;
    tnr_view view;
    CHECK_OK(tnr_block_range(8, ranks_size, ranks_me, &start, &count));
    collective_f64(1, &count, values, &part);
    CHECK_OK(tnr_tensor_view(part, &view));
    const bool odd = ranks_me == ranks_size - 1;
    CHECK_STATUS(TNR_ERR_SHAPE, tnr_world_redistribute(world, &from, &view, &longer, collective_heap, &made));
    CHECK_STATUS(odd ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                 tnr_world_redistribute(world, &from, odd ? NULL : &view, &to, collective_heap, &made));
    CHECK_TEXT("source is NULL");
    if (ranks_size > 1) {
        CHECK_STATUS(odd ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                     tnr_world_redistribute(world, &from, &view, odd ? &to_2 : &to, collective_heap, &made));
        CHECK_TEXT("other distributions here than on rank 0");
        tnr_tensor *more;
        tnr_view wrong = view;
        collective_f64(1, (int64_t[]){count + 1}, values, &more);
        if (odd) {
            CHECK_OK(tnr_tensor_view(more, &wrong));
        }
        CHECK_STATUS(odd ? TNR_ERR_SHAPE : TNR_ERR_PEER,
                     tnr_world_redistribute(world, &from, &wrong, &to, collective_heap, &made));
        CHECK_TEXT("this rank's part");
        CHECK_OK(tnr_tensor_release(&more));
    }
    CHECK(made == NULL);
    CHECK_OK(tnr_world_redistribute(world, &from, &view, &to, collective_heap, &made));
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_tensor_release(&part));
    collective_end(&world);
}

int main(int argc, char **argv)
{
    const rank_test tests[] = {
        RANK_TEST(random_distributions),
        RANK_TEST(to_one_rank_is_a_gather),
        RANK_TEST(sixteen_axes),
        RANK_TEST(what_does_not_fit_is_refused_everywhere),
    };
    CHECK_OK(tnr_heap_create(&collective_heap));
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
