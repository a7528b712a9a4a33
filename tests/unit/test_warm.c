/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warm loops allocate nothing: not from the C library, which is watched here, and not from the domains, which count. Views,
 * splits, mappings, single elements, tensors through a pool or an arena, moves into and out of groups.
 *
 * How the C library's allocator is watched is in support/heap_watch.h. Products, contractions and einsum are in test_warm_products.c.
 */
#include "engine/engine_internal.h"
#include "support/storage_test.h"

#include "support/heap_watch.h"
#include "tenure/features.h"
#include "tenure/tenure.h"

#define ROUNDS 50

/* Run a body often; after the first rounds neither the C library nor the home may be asked for anything. */
static void check_warm(tnr_domain *home, void (*body)(void *), void *argument)
{
    for (int round = 0; round < 3; round++) {
        body(argument);
    }
    const tnr_domain_statistics before = statistics_of(home);
    const unsigned long calls = library_calls;
    for (int round = 0; round < ROUNDS; round++) {
        body(argument);
    }
    const unsigned long more = library_calls - calls;
    const tnr_domain_statistics after = statistics_of(home);
    if (more != 0) {
        print_error("%lu calls of the C library's allocator in %d warm rounds\n", more, ROUNDS);
    }
    assert_int_equal(more, 0);
    assert_memory_equal(&before, &after, sizeof(before));
}

/* As check_warm, for bodies that take blocks of an arena itself: the C library only. */
static void check_no_library_call(void (*body)(void *), void *argument)
{
    body(argument);
    const unsigned long calls = library_calls;
    for (int round = 0; round < ROUNDS; round++) {
        body(argument);
    }
    assert_int_equal(library_calls - calls, 0);
}

/* Idea 59. */
static void make_views(void *argument)
{
    tnr_tensor *tensor = *(tnr_tensor **)argument;
    tnr_view view = view_of(tensor);
    tnr_view_mut view_mut = view_mut_of(tensor);
    tnr_view made;
    bool distinct = false;
    int64_t number = 0;
    tnr_overlap overlap = TNR_OVERLAP_POSSIBLE;
    OK(tnr_view_permute(&view, NULL, &made));
    OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, TNR_END, -2}, &made));
    OK(tnr_view_select(&view, 1, 2, &made));
    OK(tnr_view_reshape(&view, 1, SHAPE(48), &made));
    OK(tnr_view_broadcast(&view, 3, SHAPE(8, 6, 5), (const int[]){0, 1}, &made));
    OK(tnr_view_diagonal(&view, 0, 1, &made));
    assert_int_not_equal(tnr_view_as_complex(&made, &made), TNR_OK); /* a failure's text allocates nothing either */
    OK(tnr_view_mut_permute(&view_mut, NULL, &view_mut));
    OK(tnr_view_count(&view, &number));
    OK(tnr_view_span(&view, &number));
    OK(tnr_view_distinct(&view, &distinct));
    OK(tnr_view_overlap(&view, &made, &overlap));
    OK(tnr_tensor_region(tensor, 2, SHAPE(2, 2), SHAPE(1, 8), 0, &made));
    for (tnr_cursor cursor = tnr_cursor_begin(&view); cursor.valid; tnr_cursor_next(&cursor)) {
        number += cursor.offset;
    }
    tnr_tensor_info info;
    OK(tnr_tensor_describe(tensor, &info));
}

static void views_allocate_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(8, 6));
    check_warm(heap, make_views, &tensor);
    release(&tensor);
    close_domain(&heap);
}

static void split_and_map(void *argument)
{
    tnr_tensor *tensor = *(tnr_tensor **)argument;
    tnr_view_mut parts[6];
    tnr_write_map writes[6];
    tnr_read_map read;
    bool granted = false;
    for (int64_t part = 0; part < 6; part++) {
        parts[part] = view_mut_of(tensor);
        OK(tnr_view_mut_slice_axis(&parts[part], 1, (tnr_range){part, part + 1, 1}, &parts[part]));
    }
    OK(tnr_view_mut_split(parts, 6, &granted));
    assert_true(granted);
    for (int part = 0; part < 6; part++) {
        OK(tnr_map_write(&parts[part], &writes[part]));
        EXPECT(TNR_ERR_BUSY, tnr_map_read(&parts[part].view, &read));
    }
    for (int part = 0; part < 6; part++) {
        OK(tnr_unmap_write(&writes[part]));
    }
    const tnr_view view = view_of(tensor);
    double value = 1;
    OK(tnr_map_read(&view, &read));
    OK(tnr_unmap_read(&read));
    OK(tnr_view_get(&view, SHAPE(3, 3), &value));
    OK(tnr_view_set(&parts[3], SHAPE(3, 0), &value));
    EXPECT(TNR_ERR_BOUNDS, tnr_view_get(&view, SHAPE(8, 0), &value));
}

static void splits_and_mappings_allocate_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *mapped = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
    tnr_domain *domains[2] = {heap, mapped};
    for (int index = 0; index < 2; index++) {
        tnr_tensor *tensor = make_counting(domains[index], 2, SHAPE(8, 6));
        check_warm(heap, split_and_map, &tensor);
        release(&tensor);
    }
    close_domain(&mapped);
    close_domain(&heap);
}

static void make_and_release(void *argument)
{
    tnr_domain *domain = *(tnr_domain **)argument;
    tnr_tensor *tensors[5];
    tnr_draft *draft = NULL;
    tnr_tensor *copy = NULL;
    for (int64_t at = 0; at < 5; at++) {
        const int64_t extent = 50 * (at + 1);
        OK(tnr_tensor_zeros(domain, TNR_F64, 1, &extent, &tensors[at]));
    }
    const tnr_view view = view_of(tensors[4]);
    OK(tnr_tensor_duplicate(&view, domain, &copy));
    OK(tnr_draft_begin(domain, TNR_C32, 2, SHAPE(10, 10), &draft));
    OK(tnr_draft_abandon(&draft));
    OK(tnr_tensor_release(&copy));
    for (int at = 0; at < 5; at++) {
        OK(tnr_tensor_release(&tensors[(3 * at) % 5]));
    }
}

static void tensors_through_a_pool_allocate_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(heap, NULL, &pool));
    check_warm(heap, make_and_release, &pool);
    tnr_pool_statistics statistics;
    OK(tnr_pool_statistics_get(pool, &statistics));
    const uint64_t misses = statistics.misses;
    make_and_release(&pool);
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.misses, misses);
    close_domain(&pool);
    close_domain(&heap);
}

static void tensors_in_an_arena_call_no_library(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = NULL;
    check_no_library_call(make_and_release, &arena);
    OK(tnr_pool_create(arena, NULL, &pool));
    check_warm(arena, make_and_release, &pool);
    close_domain(&pool);
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    free(region);
}

/* From birth to end: an arena never calls the C library, whatever lives in it. */
static void live_a_life_in_an_arena(void *argument)
{
    tnr_domain *arena = NULL;
    tnr_domain *pool = NULL;
    tnr_domain *program = NULL;
    tnr_group *group = NULL;
    tnr_tensor *tensor = NULL;
    tnr_slot slot;
    test_memory memory = {0};
    OK(tnr_arena_create(argument, ARENA_REGION_BYTES, NULL, &arena));
    OK(tnr_pool_create(arena, NULL, &pool));
    OK(create_program_domain(arena, &memory, TNR_ACCESS_DIRECT, &program));
    OK(tnr_group_create(arena, &group));
    for (int64_t at = 0; at < 40; at++) {
        OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(at), &tensor));
        OK(tnr_group_append(group, &tensor, &slot));
    }
    OK(tnr_group_take(group, slot, &tensor));
    tnr_exported exported;
    OK(tnr_tensor_export(&tensor, &exported));
    OK(tnr_tensor_import(arena, &exported, &tensor));
    OK(tnr_tensor_release(&tensor));
    EXPECT(TNR_ERR_MEMORY, tnr_tensor_zeros(arena, TNR_F64, 1, SHAPE(ARENA_REGION_BYTES), &tensor));
    OK(tnr_group_release(&group));
    OK(tnr_domain_close(&program));
    OK(tnr_domain_close(&pool));
    OK(tnr_domain_close(&arena));
}

static void a_whole_life_in_an_arena_calls_no_library(void **state)
{
    (void)state;
    void *region = aligned_alloc(64, ARENA_REGION_BYTES);
    assert_non_null(region);
    check_no_library_call(live_a_life_in_an_arena, region);
    free(region);
}

typedef struct group_work {
    tnr_group *group;
    tnr_tensor *tensor;
    tnr_slot span;
} group_work;

static void look_through_a_group(void *argument)
{
    group_work *work = argument;
    tnr_view view;
    tnr_view_mut views[2];
    tnr_descriptor descriptor;
    bool granted = false;
    tnr_slot slots[2] = {{0, 0, 0}, work->span};
    OK(tnr_group_slot(work->group, 1, &slots[0]));
    OK(tnr_group_describe(work->group, slots[0], &descriptor));
    OK(tnr_group_view(work->group, slots[0], &view));
    OK(tnr_group_view_mut(work->group, slots[1], &views[0]));
    OK(tnr_group_split(work->group, slots, 2, &granted, views));
    assert_true(granted);
    OK(tnr_group_check(work->group));
}

static void looking_through_a_group_allocates_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensors[2] = {make_counting(heap, 1, SHAPE(4)), make_counting(heap, 1, SHAPE(4))};
    group_work work = {NULL, NULL, {0, 0, 0}};
    tnr_slot first;
    OK(tnr_group_from_tensors(heap, tensors, 2, &work.group));
    OK(tnr_group_slot(work.group, 0, &first));
    OK(tnr_group_describe_span(work.group, first, TNR_F64, 8, 16, 1, SHAPE(2), NULL, 0, &work.span));
    check_warm(heap, look_through_a_group, &work);
    OK(tnr_group_release(&work.group));
    close_domain(&heap);
}

static void export_and_import(void *argument)
{
    tnr_tensor **tensor = argument;
    tnr_exported exported;
    OK(tnr_tensor_export(tensor, &exported));
    OK(tnr_tensor_import(exported.domain, &exported, tensor));
}

static void export_and_import_allocate_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    check_warm(heap, export_and_import, &tensor);
    release(&tensor);
    close_domain(&heap);
}

/*
 * BLIS built over OpenMP has its runtime make a team of one for every product, from the C library: nothing of ours. There the
 * product that BLIS takes is left out of the count, and the program says so.
 */
static bool blis_calls_the_library(void)
{
    tnr_feature_set features;
    tnr_features(&features);
    return strstr(features.blis, "OpenMP") != NULL;
}

typedef struct computing {
    bool with_blis;
    tnr_engine *engine;
    tnr_view plain;
    tnr_view backwards; /* strides that only the packed kernels take */
} computing;

static void compute_and_release(void *argument)
{
    const computing *it = argument;
    const int axis = 1;
    tnr_tensor *made[7] = {NULL};
    OK(tnr_matmul(it->engine, it->with_blis ? &it->plain : &it->backwards, &it->plain, NULL, &made[0]));
    OK(tnr_matmul(it->engine, &it->backwards, &it->plain, NULL, &made[1]));
    OK(tnr_add(it->engine, &it->plain, &it->backwards, &made[2]));
    OK(tnr_exp(it->engine, &it->plain, &made[3]));
    OK(tnr_sum(it->engine, &it->plain, &axis, 1, &made[4]));
    OK(tnr_permute(it->engine, &it->plain, NULL, &made[5]));
    OK(tnr_to_contiguous(it->engine, &it->backwards, &made[6]));
    tnr_tensor *refused = NULL;
    EXPECT(TNR_ERR_SHAPE, tnr_matmul(it->engine, &it->plain, &(tnr_view){.rank = 2, .dtype = TNR_F64}, NULL, &refused));
    for (int at = 0; at < 7; at++) {
        OK(tnr_tensor_release(&made[at]));
    }
}

/* 64x64 products and their like, each output from the pool and back. */
static void operations_through_the_pool_allocate_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    computing it;
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(64, 64));
    it.plain = view_of(tensor);
    it.with_blis = !blis_calls_the_library();
    if (!it.with_blis) {
        print_message("BLIS is built over OpenMP: its products are not counted here, the packed kernels' are\n");
    }
    OK(tnr_view_slice_axis(&it.plain, 0, (tnr_range){0, TNR_END, -1}, &it.backwards));
    OK(tnr_engine_create(heap, NULL, &it.engine));
    check_warm(heap, compute_and_release, &it);
    tnr_pool_statistics counted;
    OK(tnr_pool_statistics_get(tnr_engine_pool(it.engine), &counted));
    assert_true(counted.hits > counted.misses && counted.in_flight == 0);
    OK(tnr_engine_destroy(&it.engine));
    release(&tensor);
    close_domain(&heap);
}

static void count_piece(void *context, int64_t piece) { ((unsigned char *)context)[piece]++; }

static void compute_on_the_team(void *argument)
{
    const computing *it = argument;
    unsigned char pieces[64] = {0};
    tnri_engine_run(it->engine, 64, 64, count_piece, pieces);
    for (size_t at = 0; at < sizeof(pieces); at++) {
        assert_int_equal(pieces[at], 1);
    }
    compute_and_release(argument);
}

/* An engine with workers, in an arena: it takes nothing after it was made, also where its workers run. */
static void operations_on_a_team_allocate_nothing(void **state)
{
    (void)state;
    const size_t bytes = (size_t)32 << 20;
    tnr_domain *heap = make_heap();
    tnr_domain *arena = NULL;
    tnr_topology *topology = NULL;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    void *region = aligned_alloc(64, bytes);
    computing it;
    assert_non_null(region);
    OK(tnr_arena_create(region, bytes, NULL, &arena));
    OK(tnr_topology_create(heap, NULL, &topology));
    tnr_tensor *tensor = make_counting(arena, 2, SHAPE(300, 300));
    it.plain = view_of(tensor);
    it.with_blis = !blis_calls_the_library();
    OK(tnr_view_slice_axis(&it.plain, 0, (tnr_range){0, TNR_END, -1}, &it.backwards));
    options.topology = topology;
    OK(tnr_engine_create(arena, &options, &it.engine));
    check_warm(arena, compute_on_the_team, &it);
    OK(tnr_engine_destroy(&it.engine));
    release(&tensor);
    OK(tnr_topology_destroy(&topology));
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watch_sees_an_allocation),
        cmocka_unit_test(views_allocate_nothing),
        cmocka_unit_test(splits_and_mappings_allocate_nothing),
        cmocka_unit_test(tensors_through_a_pool_allocate_nothing),
        cmocka_unit_test(tensors_in_an_arena_call_no_library),
        cmocka_unit_test(a_whole_life_in_an_arena_calls_no_library),
        cmocka_unit_test(looking_through_a_group_allocates_nothing),
        cmocka_unit_test(export_and_import_allocate_nothing),
        cmocka_unit_test(operations_through_the_pool_allocate_nothing),
        cmocka_unit_test(operations_on_a_team_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
