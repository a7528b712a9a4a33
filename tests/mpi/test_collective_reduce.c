/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * transports: tcp nocma
 * Reduce and all-reduce: every combination and dtype against the same tree computed on one rank, every root, every layout, the same bits
 * on all ranks and transports, NaN, what is refused, and memory. */
#include <math.h>

#include "collective.h"

static tnr_engine *engine;

/* ---- What must come out: the tree that mpi.h promises, by plain arithmetic ------------------------------------------------------------ */

/* Element n of rank r's view: small numbers of either sign, so that the order of additions shows in f32 only. */
static double number_of(uint64_t seed, int rank, int64_t n)
{
    uint64_t state = (seed + (uint64_t)rank * 1000003U + (uint64_t)n * 7919U) * 2 + 1;
    (void)layout_random(&state);
    const double value = (double)(int64_t)(layout_below(&state, 2001)) - 1000;
    return value / 7;
}

typedef union element {
    float f32;
    double f64;
    float c32[2];
    double c64[2];
    int32_t i32;
    int64_t i64;
    uint8_t boolean;
} element;

static element make_element(tnr_dtype dtype, uint64_t seed, int rank, int64_t n)
{
    const double a = number_of(seed, rank, n);
    const double b = number_of(seed + 1, rank, n);
    element value;
    memset(&value, 0, sizeof(value));
    switch (dtype) {
    case TNR_F32:
        value.f32 = (float)a;
        break;
    case TNR_F64:
        value.f64 = a;
        break;
    case TNR_C32:
        value.c32[0] = (float)a;
        value.c32[1] = (float)b;
        break;
    case TNR_C64:
        value.c64[0] = a;
        value.c64[1] = b;
        break;
    case TNR_I32:
        value.i32 = (int32_t)(a * 7 * 2000003);
        break;
    case TNR_I64:
        value.i64 = (int64_t)(a * 7) * INT64_C(9007199254740993);
        break;
    default:
        value.boolean = a > 0;
        break;
    }
    return value;
}

/* left = left op right. */
#define COMBINE_ORDERED(member)                                                         \
    do {                                                                                \
        switch (combine) {                                                              \
        case TNR_COMBINE_SUM:                                                           \
            left->member += right->member;                                              \
            break;                                                                      \
        case TNR_COMBINE_PROD:                                                          \
            left->member *= right->member;                                              \
            break;                                                                      \
        case TNR_COMBINE_MIN:                                                           \
            left->member = right->member < left->member ? right->member : left->member; \
            break;                                                                      \
        default:                                                                        \
            left->member = right->member > left->member ? right->member : left->member; \
            break;                                                                      \
        }                                                                               \
    } while (0)

static void combine_elements(tnr_dtype dtype, tnr_world_combine combine, element *left, const element *right)
{
    switch (dtype) {
    case TNR_F32:
        COMBINE_ORDERED(f32);
        return;
    case TNR_F64:
        COMBINE_ORDERED(f64);
        return;
    case TNR_I32:
        switch (combine) {
        case TNR_COMBINE_SUM:
            left->i32 = (int32_t)((uint32_t)left->i32 + (uint32_t)right->i32);
            return;
        case TNR_COMBINE_PROD:
            left->i32 = (int32_t)((uint32_t)left->i32 * (uint32_t)right->i32);
            return;
        default:
            break;
        }
        COMBINE_ORDERED(i32);
        return;
    case TNR_I64:
        switch (combine) {
        case TNR_COMBINE_SUM:
            left->i64 = (int64_t)((uint64_t)left->i64 + (uint64_t)right->i64);
            return;
        case TNR_COMBINE_PROD:
            left->i64 = (int64_t)((uint64_t)left->i64 * (uint64_t)right->i64);
            return;
        default:
            break;
        }
        COMBINE_ORDERED(i64);
        return;
    case TNR_C32:
        if (combine == TNR_COMBINE_SUM) {
            left->c32[0] += right->c32[0];
            left->c32[1] += right->c32[1];
        } else {
            const float re = left->c32[0] * right->c32[0] - left->c32[1] * right->c32[1];
            left->c32[1] = left->c32[0] * right->c32[1] + left->c32[1] * right->c32[0];
            left->c32[0] = re;
        }
        return;
    case TNR_C64:
        if (combine == TNR_COMBINE_SUM) {
            left->c64[0] += right->c64[0];
            left->c64[1] += right->c64[1];
        } else {
            const double re = left->c64[0] * right->c64[0] - left->c64[1] * right->c64[1];
            left->c64[1] = left->c64[0] * right->c64[1] + left->c64[1] * right->c64[0];
            left->c64[0] = re;
        }
        return;
    default:
        left->boolean =
            combine == TNR_COMBINE_ALL ? (left->boolean && right->boolean) : (left->boolean || right->boolean);
        return;
    }
}

static element expected_element(tnr_dtype dtype, tnr_world_combine combine, uint64_t seed, int64_t n)
{
    element values[64];
    for (int r = 0; r < ranks_size; r++) {
        values[r] = make_element(dtype, seed, r, n);
    }
    for (int bit = 1; bit < ranks_size; bit <<= 1) {
        for (int r = 0; r + bit < ranks_size; r += 2 * bit) {
            combine_elements(dtype, combine, &values[r], &values[r + bit]);
        }
    }
    return values[0];
}

/* Complex products may be fused or not by another compiler: a few units in the last place. */
static bool same(tnr_dtype dtype, tnr_world_combine combine, const element *a, const element *b)
{
    if (combine == TNR_COMBINE_PROD && (dtype == TNR_C32 || dtype == TNR_C64)) {
        const bool single = dtype == TNR_C32;
        const double size = single ? hypot((double)b->c32[0], (double)b->c32[1]) : hypot(b->c64[0], b->c64[1]);
        const double off = single ? hypot((double)(a->c32[0] - b->c32[0]), (double)(a->c32[1] - b->c32[1]))
                                  : hypot(a->c64[0] - b->c64[0], a->c64[1] - b->c64[1]);
        return off <= size * (single ? 1e-5 : 1e-13);
    }
    return memcmp(a, b, tnr_dtype_size(dtype)) == 0;
}

/* ---- Filling and checking views ------------------------------------------------------------------------------------------------------ */

static unsigned char *place(const tnr_view *view, const tnr_cursor *at)
{
    const void *origin;
    CHECK_OK(tnr_tensor_host_data(view->root, &origin));
    return (unsigned char *)(uintptr_t)origin + view->window_begin +
           (view->offset + at->offset) * (int64_t)tnr_dtype_size(view->dtype);
}

static void fill(const tnr_view *view, uint64_t seed)
{
    for (tnr_cursor at = tnr_cursor_begin(view); at.valid; tnr_cursor_next(&at)) {
        const element value = make_element(view->dtype, seed, ranks_me, at.position);
        memcpy(place(view, &at), &value, tnr_dtype_size(view->dtype));
    }
}

static void check(const tnr_view *view, tnr_world_combine combine, uint64_t seed)
{
    for (tnr_cursor at = tnr_cursor_begin(view); at.valid; tnr_cursor_next(&at)) {
        const element value = expected_element(view->dtype, combine, seed, at.position);
        element got;
        memset(&got, 0, sizeof(got));
        memcpy(&got, place(view, &at), tnr_dtype_size(view->dtype));
        if (!same(view->dtype, combine, &got, &value)) {
            ranks_fail(__FILE__, __LINE__, "%s, combination %d: element %lld is not what the tree gives",
                       tnr_dtype_name(view->dtype), (int)combine, (long long)at.position);
        }
    }
}

static tnr_world_combine draw_combine(uint64_t *common, tnr_dtype dtype)
{
    if (dtype == TNR_BOOL) {
        return layout_below(common, 2) == 0 ? TNR_COMBINE_ALL : TNR_COMBINE_ANY;
    }
    const bool complex = dtype == TNR_C32 || dtype == TNR_C64;
    return (tnr_world_combine)layout_below(common, complex ? 2 : 4);
}

static void one_round(tnr_world *world, uint64_t *common, uint64_t *own, int64_t most)
{
    layout_shape shape;
    layout_piece source;
    layout_piece target;
    tnr_tensor *made = NULL;
    layout_draw_shape(common, most, &shape);
    const tnr_world_combine combine = draw_combine(common, shape.dtype);
    const int root = (int)layout_below(common, (uint64_t)ranks_size);
    const uint64_t number = layout_random(common) >> 8;
    const bool all = layout_below(common, 2) == 0;
    const bool gets = all || ranks_me == root;
    const bool mixed = layout_below(common, 3) == 0; /* each rank its own form */
    const int how = (int)layout_below(mixed ? own : common, 3);
    layout_make(own, collective_heap, &shape, layout_below(own, 2) == 0 ? LAYOUT_COMPACT : LAYOUT_ANY, &source);
    layout_make(own, collective_heap, &shape, layout_below(own, 2) == 0 ? LAYOUT_COMPACT : LAYOUT_ANY, &target);
    fill(&source.view.view, number);
    const uint64_t outside = layout_outside(&target);
    const tnr_view *given = &source.view.view;
    if (how == 0) {
        if (all) {
            CHECK_OK(tnr_world_all_reduce(world, engine, combine, given, collective_heap, &made));
        } else {
            CHECK_OK(tnr_world_reduce(world, engine, combine, root, given, gets ? collective_heap : NULL,
                                      gets ? &made : NULL));
        }
        if (gets) {
            tnr_view view;
            CHECK_OK(tnr_tensor_view(made, &view));
            CHECK(view.dtype == shape.dtype && view.rank == shape.rank);
            check(&view, combine, number);
        }
        CHECK_OK(tnr_tensor_release(&made));
    } else {
        const tnr_view_mut *into = how == 1 ? &target.view : &source.view; /* the source's very elements */
        if (all) {
            CHECK_OK(tnr_world_all_reduce_into(world, engine, combine, given, into));
        } else {
            CHECK_OK(tnr_world_reduce_into(world, engine, combine, root, given, gets ? into : NULL));
        }
        if (gets) {
            check(&into->view, combine, number);
        }
        CHECK(layout_outside(&target) == outside);
    }
    layout_end(&source);
    layout_end(&target);
}

static void random_reductions(void)
{
    const unsigned long long seed = ranks_seed();
    for (int with = 0; with < COLLECTIVE_SETTINGS; with++) {
        tnr_world *world = collective_world(with);
        uint64_t common = seed * 2 + 1;
        uint64_t own = (seed + (uint64_t)ranks_me * 7919) * 2 + 1;
        for (int round = 0; round < 60; round++) {
            one_round(world, &common, &own, round % 15 == 14 ? 20000 : 300);
        }
        collective_end(&world);
    }
}

/* Several pieces, of which some travel while others are combined: every root, and the same bits at each. */
static void many_pieces(void)
{
    tnr_world *world = collective_world(0);
    const layout_shape shape = {TNR_F32, 2, {1001, 701}, 1001 * 701};
    layout_piece source;
    layout_piece target;
    uint64_t own = 12345 + (uint64_t)ranks_me;
    layout_make(&own, collective_heap, &shape, ranks_me % 2 == 0 ? LAYOUT_COMPACT : LAYOUT_ANY, &source);
    layout_make(&own, collective_heap, &shape, LAYOUT_ANY, &target);
    fill(&source.view.view, 42);
    for (int root = 0; root < ranks_size; root++) {
        CHECK_OK(tnr_world_reduce_into(world, engine, TNR_COMBINE_SUM, root, &source.view.view,
                                       ranks_me == root ? &target.view : NULL));
    }
    check(&target.view.view, TNR_COMBINE_SUM, 42);
    CHECK_OK(tnr_world_all_reduce_into(world, engine, TNR_COMBINE_SUM, &source.view.view, &source.view));
    check(&source.view.view, TNR_COMBINE_SUM, 42);
    layout_end(&source);
    layout_end(&target);
    collective_end(&world);
}

/* Messages or shared memory, small chunks or large: one result. */
static void the_same_bits_on_every_transport(void)
{
    enum { COUNT = 5000 };
    float first[COUNT];
    for (int with = 0; with < COLLECTIVE_SETTINGS; with++) {
        tnr_world *world = collective_world(with);
        tnr_tensor *tensor;
        tnr_tensor *made = NULL;
        tnr_view view;
        float values[COUNT];
        for (int n = 0; n < COUNT; n++) {
            values[n] = (float)number_of(9, ranks_me, n);
        }
        CHECK_OK(tnr_tensor_from_column_major(collective_heap, TNR_F32, 1, (int64_t[]){COUNT}, values, sizeof(values),
                                              &tensor));
        CHECK_OK(tnr_tensor_view(tensor, &view));
        CHECK_OK(tnr_world_all_reduce(world, engine, TNR_COMBINE_SUM, &view, collective_heap, &made));
        const void *data;
        CHECK_OK(tnr_tensor_host_data(made, &data));
        if (with == 0) {
            memcpy(first, data, sizeof(first));
            CHECK(MPI_Bcast(values, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
            float others[COUNT];
            memcpy(others, first, sizeof(others));
            CHECK(MPI_Bcast(others, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
            CHECK(memcmp(others, first, sizeof(first)) == 0);
        }
        CHECK(memcmp(first, data, sizeof(first)) == 0);
        CHECK_OK(tnr_tensor_release(&made));
        CHECK_OK(tnr_tensor_release(&tensor));
        collective_end(&world);
    }
}

/* A NaN on one rank is a NaN for all; zeros keep their order. */
static void nan_and_zeros(void)
{
    tnr_world *world = collective_world(0);
    const bool odd = ranks_me == ranks_size - 1;
    const double values[] = {odd ? (double)NAN : 1, odd ? -0.0 : 0.0, (double)ranks_me};
    tnr_tensor *tensor;
    tnr_tensor *made = NULL;
    tnr_view view;
    collective_f64(1, (int64_t[]){3}, values, &tensor);
    CHECK_OK(tnr_tensor_view(tensor, &view));
    CHECK_OK(tnr_world_all_reduce(world, engine, TNR_COMBINE_MIN, &view, collective_heap, &made));
    CHECK(isnan(collective_data(made)[0]) && signbit(collective_data(made)[1]) && collective_data(made)[2] == 0);
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_world_all_reduce(world, engine, TNR_COMBINE_MAX, &view, collective_heap, &made));
    CHECK(isnan(collective_data(made)[0]) && collective_data(made)[2] == ranks_size - 1);
    CHECK_OK(tnr_tensor_release(&made));
    CHECK_OK(tnr_tensor_release(&tensor));
    collective_end(&world);
}

static void what_cannot_be_combined_is_refused_everywhere(void)
{
    tnr_world *world = collective_world(0);
    const bool odd = ranks_me == ranks_size - 1;
    const double values[] = {1, 2, 3, 4};
    tnr_tensor *tensor;
    tnr_tensor *made = NULL;
    tnr_view view;
    tnr_view complex;
    tnr_view_mut target;
    tnr_view half;
    collective_f64(1, (int64_t[]){4}, values, &tensor);
    CHECK_OK(tnr_tensor_view(tensor, &view));
    CHECK_OK(tnr_tensor_view_mut(tensor, &target));
    CHECK_OK(tnr_view_reshape(&view, 2, (int64_t[]){2, 2}, &complex));
    CHECK_OK(tnr_view_as_complex(&complex, &complex));
    CHECK_OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, 2, 1}, &half));
    CHECK_STATUS(TNR_ERR_UNSUPPORTED,
                 tnr_world_all_reduce(world, engine, TNR_COMBINE_MIN, &complex, collective_heap, &made));
    CHECK_STATUS(TNR_ERR_UNSUPPORTED,
                 tnr_world_all_reduce(world, engine, TNR_COMBINE_ANY, &view, collective_heap, &made));
    CHECK_STATUS(TNR_ERR_ARGUMENT,
                 tnr_world_all_reduce(world, engine, (tnr_world_combine)17, &view, collective_heap, &made));
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_world_reduce(world, engine, TNR_COMBINE_SUM, -1, &view, collective_heap, &made));
    CHECK_STATUS(odd ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                 tnr_world_all_reduce(world, odd ? NULL : engine, TNR_COMBINE_SUM, &view, collective_heap, &made));
    CHECK_TEXT("engine or source is NULL");
    if (ranks_size > 1) {
        CHECK_STATUS(odd ? TNR_ERR_SHAPE : TNR_ERR_PEER,
                     tnr_world_all_reduce(world, engine, TNR_COMBINE_SUM, odd ? &half : &view, collective_heap, &made));
        CHECK_TEXT("the source has shape [2], not [4]");
        CHECK_STATUS(odd ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                     tnr_world_all_reduce(world, engine, odd ? TNR_COMBINE_MAX : TNR_COMBINE_SUM, &view,
                                          collective_heap, &made));
        CHECK_TEXT("combination 3 here, 0 on rank 0");
    }
    tnr_view_mut shifted; /* neither apart from the source nor the same */
    CHECK_OK(tnr_view_mut_slice_axis(&target, 0, (tnr_range){1, 3, 1}, &shifted));
    CHECK_STATUS(TNR_ERR_OVERLAP, tnr_world_all_reduce_into(world, engine, TNR_COMBINE_SUM, &half, &shifted));
    CHECK(made == NULL && collective_data(tensor)[1] == 2);
    CHECK_OK(tnr_tensor_release(&tensor));
    collective_end(&world);
}

/* The world's home has no room for scratch on one rank: all hear of it. */
static void scratch_that_does_not_fit(void)
{
    if (ranks_size < 2) {
        return;
    }
    tnr_world *world = NULL;
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_domain *arena = NULL;
    tnr_tensor *tensor;
    tnr_tensor *made = NULL;
    tnr_view view;
    static _Alignas(64) char region[256 << 10];
    options.tickets = 4;
    options.timeout_ms = 60000;
    CHECK_OK(tnr_arena_create(region, sizeof(region), NULL, &arena));
    CHECK_OK(tnr_world_create(ranks_me == 0 ? arena : collective_heap, MPI_COMM_WORLD, &options, &world));
    CHECK_OK(tnr_tensor_zeros(collective_heap, TNR_F64, 1, (int64_t[]){1 << 20}, &tensor));
    CHECK_OK(tnr_tensor_view(tensor, &view));
    for (int round = 0; round < 3; round++) {
        CHECK_STATUS(ranks_me == 0 ? TNR_ERR_MEMORY : TNR_ERR_PEER,
                     tnr_world_all_reduce(world, engine, TNR_COMBINE_SUM, &view, collective_heap, &made));
        CHECK(made == NULL);
        CHECK_OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, 100, 1}, &view));
        CHECK_OK(tnr_world_all_reduce(world, engine, TNR_COMBINE_SUM, &view, collective_heap, &made)); /* this does */
        CHECK_OK(tnr_tensor_release(&made));
        CHECK_OK(tnr_tensor_view(tensor, &view));
    }
    CHECK_OK(tnr_tensor_release(&tensor));
    collective_end(&world);
    CHECK_OK(tnr_domain_close(&arena));
}

int main(int argc, char **argv)
{
    const rank_test tests[] = {
        RANK_TEST(random_reductions),
        RANK_TEST(many_pieces),
        RANK_TEST(the_same_bits_on_every_transport),
        RANK_TEST(nan_and_zeros),
        RANK_TEST(what_cannot_be_combined_is_refused_everywhere),
        RANK_TEST(scratch_that_does_not_fit),
    };
    CHECK_OK(tnr_heap_create(&collective_heap));
    CHECK_OK(tnr_engine_create(collective_heap, NULL, &engine));
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
