/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * transports: tcp nocma
 * Parts along an axis: scatter, gather, all-gather, all-to-all, with uneven and empty parts, every layout, and what is refused. */
#include "collective.h"

/* A whole, how it is cut along one axis, and this rank's part. */
typedef struct problem {
    tnr_dtype dtype;
    int rank;
    int axis;
    int other;
    int root;
    bool even;
    bool makes;
    bool mixed; /* each rank its own form */
    uint64_t number;
    int64_t shape[TNR_MAX_RANK];
    int64_t extents[64];
    int64_t starts[65];
} problem;

static void draw_extents(uint64_t *common, bool even, int64_t extent, int64_t *extents, int64_t *starts)
{
    int64_t left = extent;
    starts[0] = 0;
    for (int r = 0; r < ranks_size; r++) {
        if (even) {
            CHECK_OK(tnr_block_range(extent, ranks_size, r, &starts[r], &extents[r]));
        } else {
            extents[r] = r + 1 == ranks_size ? left : (int64_t)layout_below(common, (uint64_t)left + 1);
        }
        left -= extents[r];
        starts[r + 1] = starts[r] + extents[r];
    }
}

static void draw(uint64_t *common, problem *of, int64_t most)
{
    layout_shape shape;
    do {
        layout_draw_shape(common, most, &shape);
    } while (shape.rank == 0);
    of->dtype = shape.dtype;
    of->rank = shape.rank;
    memcpy(of->shape, shape.shape, sizeof(of->shape));
    of->axis = (int)layout_below(common, (uint64_t)of->rank);
    of->other = (int)layout_below(common, (uint64_t)of->rank);
    of->root = (int)layout_below(common, (uint64_t)ranks_size);
    of->even = layout_below(common, 2) == 0;
    of->makes = layout_below(common, 2) == 0;
    of->mixed = layout_below(common, 3) == 0;
    of->number = layout_random(common);
    draw_extents(common, of->even, of->shape[of->axis], of->extents, of->starts);
}

static void scatter_round(tnr_world *world, const problem *of, uint64_t *own)
{
    collective_map whole;
    collective_map part;
    layout_piece source;
    layout_piece target;
    tnr_tensor *made = NULL;
    collective_map_make(&whole, of->rank, of->shape);
    collective_map_make(&part, of->rank, of->shape);
    collective_map_keep(&part, of->axis, of->starts[ranks_me], of->extents[ranks_me]);
    collective_piece(own, of->dtype, &whole, &source);
    collective_fill(&source.view.view, &whole, of->number);
    collective_piece(own, of->dtype, &part, &target);
    const uint64_t outside = layout_outside(&target);
    const tnr_view *given = ranks_me == of->root ? &source.view.view : NULL;
    if (of->makes) {
        CHECK_OK(
            tnr_world_scatter(world, of->root, given, of->axis, of->even ? NULL : of->extents, collective_heap, &made));
        collective_check_made(made, of->dtype, &part, of->number);
        CHECK_OK(tnr_tensor_release(&made));
    } else {
        CHECK_OK(tnr_world_scatter_into(world, of->root, given, of->axis, &target.view));
        collective_check(&target.view.view, &part, of->number);
        CHECK(layout_outside(&target) == outside);
    }
    layout_end(&source);
    layout_end(&target);
    collective_map_end(&whole);
    collective_map_end(&part);
}

static void gather_round(tnr_world *world, const problem *of, uint64_t *own, bool all)
{
    collective_map whole;
    collective_map part;
    layout_piece source;
    layout_piece target;
    tnr_tensor *made = NULL;
    collective_map_make(&whole, of->rank, of->shape);
    collective_map_make(&part, of->rank, of->shape);
    collective_map_keep(&part, of->axis, of->starts[ranks_me], of->extents[ranks_me]);
    collective_piece(own, of->dtype, &part, &source);
    collective_fill(&source.view.view, &part, of->number);
    collective_piece(own, of->dtype, &whole, &target);
    const uint64_t outside = layout_outside(&target);
    const bool gets = all || ranks_me == of->root;
    const bool makes = of->mixed ? layout_below(own, 2) == 0 : of->makes;
    const tnr_view *given = &source.view.view;
    if (makes) {
        if (all) {
            CHECK_OK(tnr_world_all_gather(world, given, of->axis, collective_heap, &made));
        } else {
            CHECK_OK(tnr_world_gather(world, of->root, given, of->axis, gets ? collective_heap : NULL,
                                      gets || ranks_me % 2 == 0 ? &made : NULL));
        }
        CHECK((made != NULL) == gets);
        if (gets) {
            collective_check_made(made, of->dtype, &whole, of->number);
        }
        CHECK_OK(tnr_tensor_release(&made));
    } else {
        if (all) {
            CHECK_OK(tnr_world_all_gather_into(world, given, of->axis, &target.view));
        } else {
            CHECK_OK(tnr_world_gather_into(world, of->root, given, of->axis, gets ? &target.view : NULL));
        }
        if (gets) {
            collective_check(&target.view.view, &whole, of->number);
        }
        CHECK(layout_outside(&target) == outside);
    }
    layout_end(&source);
    layout_end(&target);
    collective_map_end(&whole);
    collective_map_end(&part);
}

/* Slabs along `other` become slabs along `axis`. */
static void all_to_all_round(tnr_world *world, const problem *of, uint64_t *common, uint64_t *own)
{
    collective_map before;
    collective_map after;
    layout_piece source;
    layout_piece target;
    tnr_tensor *made = NULL;
    int64_t cuts[64];
    int64_t extents[64];
    int64_t starts[65];
    collective_map_make(&before, of->rank, of->shape);
    collective_map_make(&after, of->rank, of->shape);
    draw_extents(common, false, of->shape[of->other], extents, starts);
    collective_map_keep(&before, of->other, starts[ranks_me], extents[ranks_me]);
    memcpy(cuts, of->extents, sizeof(cuts));
    if (of->axis != of->other) {
        collective_map_keep(&after, of->axis, of->starts[ranks_me], of->extents[ranks_me]);
    } else { /* rank p deals its own slab: evenly, or all of it to rank p + 1 */
        int64_t count = 0;
        for (int p = 0; p < ranks_size; p++) {
            int64_t start = 0;
            int64_t mine = 0;
            CHECK_OK(tnr_block_range(extents[p], ranks_size, ranks_me, &start, &mine));
            if (!of->even) {
                start = 0;
                mine = ranks_me == (p + 1) % ranks_size ? extents[p] : 0;
            }
            for (int64_t i = 0; i < mine; i++) {
                after.index[of->axis][count++] = starts[p] + start + i;
            }
        }
        after.shape[of->axis] = count;
        for (int q = 0; q < ranks_size; q++) {
            cuts[q] = q == (ranks_me + 1) % ranks_size ? extents[ranks_me] : 0;
        }
    }
    collective_piece(own, of->dtype, &before, &source);
    collective_fill(&source.view.view, &before, of->number);
    collective_piece(own, of->dtype, &after, &target);
    const uint64_t outside = layout_outside(&target);
    if (of->mixed ? layout_below(own, 2) == 0 : of->makes) {
        CHECK_OK(tnr_world_all_to_all(world, &source.view.view, of->axis, of->even ? NULL : cuts, of->other,
                                      collective_heap, &made));
        collective_check_made(made, of->dtype, &after, of->number);
        CHECK_OK(tnr_tensor_release(&made));
    } else {
        CHECK_OK(tnr_world_all_to_all_into(world, &source.view.view, of->axis, of->even ? NULL : cuts, of->other,
                                           &target.view));
        collective_check(&target.view.view, &after, of->number);
        CHECK(layout_outside(&target) == outside);
    }
    layout_end(&source);
    layout_end(&target);
    collective_map_end(&before);
    collective_map_end(&after);
}

static void random_parts(void)
{
    const unsigned long long seed = ranks_seed();
    for (int with = 0; with < COLLECTIVE_SETTINGS; with++) {
        tnr_world *world = collective_world(with);
        uint64_t common = seed * 2 + 1;
        uint64_t own = (seed + (uint64_t)ranks_me * 7919) * 2 + 1;
        for (int round = 0; round < 60; round++) {
            problem of;
            draw(&common, &of, round % 15 >= 11 ? 60000 : 400);
            switch (round % 4) {
            case 0:
                scatter_round(world, &of, &own);
                break;
            case 1:
                gather_round(world, &of, &own, false);
                break;
            case 2:
                gather_round(world, &of, &own, true);
                break;
            default:
                all_to_all_round(world, &of, &common, &own);
                break;
            }
        }
        collective_end(&world);
    }
}

/* 5 rows on up to 7 ranks: some have none, and take part. */
static void mp_08_more_ranks_than_rows(void)
{
    tnr_world *world = collective_world(0);
    double values[10];
    tnr_tensor *whole;
    tnr_tensor *part = NULL;
    tnr_tensor *again = NULL;
    tnr_view view;
    int64_t start;
    int64_t count;
    for (int i = 0; i < 10; i++) {
        values[i] = i;
    }
    collective_f64(2, (int64_t[]){5, 2}, values, &whole);
    CHECK_OK(tnr_tensor_view(whole, &view));
    CHECK_OK(tnr_world_scatter(world, 0, ranks_me == 0 ? &view : NULL, 0, NULL, collective_heap, &part));
    CHECK_OK(tnr_tensor_view(part, &view));
    CHECK_OK(tnr_block_range(5, ranks_size, ranks_me, &start, &count));
    CHECK(view.shape[0] == count && view.shape[1] == 2);
    for (int64_t i = 0; i < 2 * count; i++) {
        CHECK(collective_data(part)[i] == (double)(start + i % count + 5 * (i / count)));
    }
    CHECK_OK(tnr_world_all_gather(world, &view, 0, collective_heap, &again));
    CHECK(memcmp(collective_data(again), values, sizeof(values)) == 0);
    CHECK_OK(tnr_tensor_release(&again));
    CHECK_OK(tnr_tensor_release(&part));
    CHECK_OK(tnr_tensor_release(&whole));
    collective_end(&world);
}

/* Ones [3, 2] by rows times ones [2, 2]: ranks without a row multiply nothing, and finish. */
static void mp_08_product_by_rows(void)
{
    tnr_world *world = collective_world(0);
    const double ones[] = {1, 1, 1, 1, 1, 1};
    tnr_engine *engine = NULL;
    tnr_tensor *left;
    tnr_tensor *right;
    tnr_tensor *rows = NULL;
    tnr_tensor *all = NULL;
    tnr_tensor *product = NULL;
    tnr_tensor *whole = NULL;
    tnr_view view;
    tnr_view factor;
    CHECK_OK(tnr_engine_create(collective_heap, NULL, &engine));
    collective_f64(2, (int64_t[]){3, 2}, ones, &left);
    collective_f64(2, (int64_t[]){2, 2}, ones, &right);
    CHECK_OK(tnr_tensor_view(left, &view));
    CHECK_OK(tnr_tensor_view(right, &factor));
    CHECK_OK(tnr_world_scatter(world, 0, ranks_me == 0 ? &view : NULL, 0, NULL, collective_heap, &rows));
    CHECK_OK(tnr_world_broadcast(world, 0, ranks_me == 0 ? &factor : NULL, collective_heap, &all));
    CHECK_OK(tnr_tensor_view(rows, &view));
    CHECK_OK(tnr_tensor_view(all, &factor));
    CHECK_OK(tnr_matmul(engine, &view, &factor, NULL, &product));
    CHECK_OK(tnr_tensor_view(product, &view));
    CHECK(view.shape[0] == (ranks_me < 3 ? 3 / ranks_size + (ranks_me < 3 % ranks_size) : 0) && view.shape[1] == 2);
    CHECK_OK(tnr_world_gather(world, 0, &view, 0, collective_heap, &whole));
    for (int i = 0; i < 6 && ranks_me == 0; i++) {
        CHECK(collective_data(whole)[i] == 2);
    }
    tnr_tensor **const made[] = {&left, &right, &rows, &all, &product, &whole};
    for (int i = 0; i < 6; i++) {
        CHECK_OK(tnr_tensor_release(made[i]));
    }
    CHECK_OK(tnr_engine_destroy(&engine));
    collective_end(&world);
}

static void what_does_not_fit_is_refused_everywhere(void)
{
    tnr_world *world = collective_world(0);
    const int last = ranks_size - 1;
    double values[64] = {0};
    int64_t extents[64] = {0};
    tnr_tensor *tensor;
    tnr_tensor *made = NULL;
    tnr_view view;
    tnr_view_mut target;
    collective_f64(2, (int64_t[]){8, 8}, values, &tensor);
    CHECK_OK(tnr_tensor_view(tensor, &view));
    CHECK_OK(tnr_tensor_view_mut(tensor, &target));
    const bool odd = ranks_me == last;
    const tnr_status expected = odd ? TNR_ERR_BOUNDS : TNR_ERR_PEER;
    const tnr_view *given = odd ? &view : NULL;
    extents[0] = 7;
    CHECK_STATUS(expected, tnr_world_scatter(world, last, given, 0, extents, collective_heap, &made));
    CHECK_TEXT("leave 1 of the axis' 8");
    extents[0] = 9;
    CHECK_STATUS(expected, tnr_world_scatter(world, last, given, 0, extents, collective_heap, &made));
    CHECK_TEXT("extent 9 for rank 0; 8 of the axis' 8 are left");
    extents[0] = -1;
    CHECK_STATUS(expected, tnr_world_scatter(world, last, given, 0, extents, collective_heap, &made));
    CHECK_TEXT("extent -1");
    if (ranks_size > 1) { /* an axis that is none at one rank; parts that do not agree; a target of another size */
        tnr_view part;
        CHECK_STATUS(expected, tnr_world_all_gather(world, &view, odd ? 2 : 1, collective_heap, &made));
        CHECK_TEXT("axis 2 of a view of rank 2");
        CHECK_STATUS(odd ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                     tnr_world_all_gather(world, &view, odd ? 0 : 1, collective_heap, &made));
        CHECK_TEXT("axis 0 here, 1 on rank 0");
        CHECK_OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, odd ? 3 : 4, 1}, &part));
        CHECK_STATUS(odd ? TNR_ERR_SHAPE : TNR_ERR_PEER, tnr_world_all_gather(world, &part, 1, collective_heap, &made));
        CHECK_TEXT("the part has shape [3, 8], not [4, 8]");
        tnr_tensor *small;
        tnr_view of_it;
        collective_f64(2, (int64_t[]){1, 8}, values, &small);
        CHECK_OK(tnr_tensor_view(small, &of_it));
        CHECK_STATUS(ranks_me == 0 ? TNR_ERR_SHAPE : TNR_ERR_PEER,
                     tnr_world_gather_into(world, 0, &of_it, 0, ranks_me == 0 ? &target : NULL));
        CHECK_TEXT("the target has shape [8, 8], not");
        CHECK_STATUS(TNR_ERR_SHAPE, tnr_world_all_to_all_into(world, &of_it, 1, NULL, 0, &target)); /* wrong on all */
        CHECK_TEXT("the target has shape [8, 8], not");
        CHECK_OK(tnr_tensor_release(&small));
    }
    CHECK(made == NULL);
    for (int i = 0; i < 64; i++) {
        CHECK(collective_data(tensor)[i] == 0);
    }
    /* a target that overlaps the source */
    tnr_view_mut same = target;
    CHECK_STATUS(TNR_ERR_OVERLAP, tnr_world_all_to_all_into(world, &view, 0, NULL, 1, &same));
    CHECK_OK(tnr_tensor_release(&tensor));
    collective_end(&world);
}

int main(int argc, char **argv)
{
    const rank_test tests[] = {
        RANK_TEST(random_parts),
        RANK_TEST(mp_08_more_ranks_than_rows),
        RANK_TEST(mp_08_product_by_rows),
        RANK_TEST(what_does_not_fit_is_refused_everywhere),
    };
    CHECK_OK(tnr_heap_create(&collective_heap));
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
