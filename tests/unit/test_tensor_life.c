/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners by their contract: drafts, and every way in which a tensor is let go: released, exported, reclaimed. */
#include "support/storage_test.h"

/* ---- Drafts ------------------------------------------------------------------------------------------------------ */

static void draft_becomes_a_tensor_with_the_same_bytes(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_draft *draft = NULL;
    tnr_view_mut view;
    tnr_write_map map;
    OK(tnr_draft_begin(heap, TNR_F64, 2, SHAPE(2, 2), &draft));
    OK(tnr_draft_view(draft, &view));
    OK(tnr_map_write(&view, &map));
    const void *place = map.data;
    const double values[4] = {1, 2, 3, 4};
    memcpy(map.data, values, sizeof(values));
    OK(tnr_unmap_write(&map));
    tnr_tensor *tensor = NULL;
    tnr_draft *copy = draft;
    OK(tnr_draft_commit(&draft, &tensor));
    assert_null(draft);
    assert_ptr_equal(host_of(tensor), place);
    assert_memory_equal(host_of(tensor), values, sizeof(values));
    EXPECT(TNR_ERR_STALE, tnr_map_write(&view, &map)); /* views of the draft ended */
    EXPECT(TNR_ERR_STALE, tnr_draft_view(copy, &view));
    tnr_tensor *second = untouched();
    EXPECT(TNR_ERR_STALE, tnr_draft_commit(&copy, &second));
    assert_ptr_equal(second, untouched());
    EXPECT(TNR_ERR_STALE, tnr_draft_abandon(&copy));
    release(&tensor);
    close_domain(&heap);
}

/* Idea 66. */
static void abandoned_draft_goes_back_to_its_pool(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    tnr_draft *draft = NULL;
    tnr_pool_statistics statistics;
    OK(tnr_pool_create(heap, NULL, &pool));
    OK(tnr_draft_begin(pool, TNR_F64, 1, SHAPE(100), &draft));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.in_flight, 1);
    OK(tnr_draft_abandon(&draft));
    assert_null(draft);
    OK(tnr_draft_abandon(&draft));
    OK(tnr_draft_abandon(NULL));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.in_flight, 0);
    assert_int_equal(statistics.buffers, 1);
    close_domain(&pool);
    close_domain(&heap);
}

static void draft_under_a_lease_is_busy(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_draft *draft = NULL;
    tnr_draft *same;
    tnr_view_mut view;
    tnr_write_map map;
    tnr_tensor *tensor = untouched();
    OK(tnr_draft_begin(heap, TNR_F64, 1, SHAPE(4), &draft));
    same = draft;
    OK(tnr_draft_view(draft, &view));
    OK(tnr_map_write(&view, &map));
    EXPECT(TNR_ERR_BUSY, tnr_draft_commit(&draft, &tensor));
    EXPECT(TNR_ERR_BUSY, tnr_draft_abandon(&draft));
    assert_ptr_equal(draft, same);
    assert_ptr_equal(tensor, untouched());
    OK(tnr_unmap_write(&map));
    OK(tnr_draft_abandon(&draft));
    EXPECT(TNR_ERR_STALE, tnr_map_write(&view, &map));
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_commit(NULL, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_commit(&draft, &tensor)); /* NULL inside */
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_view(NULL, &view));
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_begin(NULL, TNR_F64, 1, SHAPE(4), &draft));
    EXPECT(TNR_ERR_ARGUMENT, tnr_draft_begin(heap, TNR_F64, 1, SHAPE(4), NULL));
    close_domain(&heap);
}

/* ---- Letting go -------------------------------------------------------------------------------------------------- */

static void released_tensor_is_stale_everywhere(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    tnr_tensor *second = tensor;
    const tnr_view view = view_of(tensor);
    const tnr_view_mut view_mut = view_mut_of(tensor);
    release(&tensor);
    OK(tnr_tensor_release(&tensor)); /* a pointer to NULL */
    OK(tnr_tensor_release(NULL));

    EXPECT(TNR_ERR_STALE, tnr_tensor_release(&second));
    assert_non_null(second);
    tnr_exported exported;
    tnr_tensor_info info;
    tnr_view made;
    tnr_view_mut made_mut;
    const void *data;
    void *data_mut;
    tnr_group *group = NULL;
    tnr_domain *pool = NULL;
    tnr_read_map read;
    tnr_write_map write;
    double value = 0;
    OK(tnr_group_create(heap, &group));
    OK(tnr_pool_create(heap, NULL, &pool));
    EXPECT(TNR_ERR_STALE, tnr_tensor_export(&second, &exported));
    EXPECT(TNR_ERR_STALE, tnr_tensor_describe(second, &info));
    EXPECT(TNR_ERR_STALE, tnr_tensor_view(second, &made));
    EXPECT(TNR_ERR_STALE, tnr_tensor_view_mut(second, &made_mut));
    EXPECT(TNR_ERR_STALE, tnr_tensor_region(second, 0, NULL, NULL, 0, &made));
    EXPECT(TNR_ERR_STALE, tnr_tensor_region_mut(second, 0, NULL, NULL, 0, &made_mut));
    EXPECT(TNR_ERR_STALE, tnr_tensor_host_data(second, &data));
    EXPECT(TNR_ERR_STALE, tnr_tensor_host_data_mut(second, &data_mut));
    EXPECT(TNR_ERR_STALE, tnr_group_append(group, &second, NULL));
    EXPECT(TNR_ERR_STALE, tnr_tensor_reclaim(pool, &second));
    EXPECT(TNR_ERR_STALE, tnr_map_read(&view, &read));
    EXPECT(TNR_ERR_STALE, tnr_map_write(&view_mut, &write));
    EXPECT(TNR_ERR_STALE, tnr_view_get(&view, SHAPE(0), &value));
    EXPECT(TNR_ERR_STALE, tnr_view_set(&view_mut, SHAPE(0), &value));
    /* The slot lives on under another tensor: the view is still stale. */
    tnr_tensor *other = make_counting(heap, 1, SHAPE(4));
    EXPECT(TNR_ERR_STALE, tnr_view_get(&view, SHAPE(0), &value));
    release(&other);
    OK(tnr_group_release(&group));
    close_domain(&pool);
    close_domain(&heap);
}

/* Idea 45: bytes of every kind of domain leave and come back under the same pointer. */
static void export_and_import_move_no_byte(void **state)
{
    (void)state;
    void *region;
    test_memory memory = {0};
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *program = make_program_domain(arena, &memory, TNR_ACCESS_DIRECT);
    tnr_domain *domains[3] = {heap, arena, program};
    for (int index = 0; index < 3; index++) {
        tnr_tensor *tensor = make_counting(domains[index], 2, SHAPE(2, 3));
        tnr_tensor *second = tensor;
        const double *data = host_of(tensor);
        const tnr_view view = view_of(tensor);
        const tnr_domain_statistics before = statistics_of(domains[index]);
        tnr_exported exported;
        OK(tnr_tensor_export(&tensor, &exported));
        assert_null(tensor);
        assert_ptr_equal(exported.data, data);
        assert_ptr_equal(exported.domain, domains[index]);
        assert_int_equal(exported.bytes, 48);
        assert_int_equal(exported.rank, 2);
        assert_int_equal(exported.shape[1], 3);
        assert_int_equal(statistics_of(domains[index]).bytes, before.bytes);
        tnr_read_map map;
        EXPECT(TNR_ERR_STALE, tnr_map_read(&view, &map));
        EXPECT(TNR_ERR_STALE, tnr_tensor_release(&second));
        tnr_exported copy = exported;
        OK(tnr_tensor_import(domains[index], &exported, &tensor));
        assert_null(exported.data);
        assert_null(exported.domain);
        assert_int_equal(exported.bytes, 0);
        assert_ptr_equal(host_of(tensor), data);
        assert_true(host_of(tensor)[5] == 6.0);
        SAME_STATISTICS(domains[index], &before);
        tnr_tensor_info info;
        OK(tnr_tensor_describe(tensor, &info));
        assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(domains[index])));
        assert_int_equal(info.rank, 2);
        /* The copy names a block that is a tensor's again. */
        tnr_tensor *twice = untouched();
        assert_int_not_equal(tnr_tensor_import(domains[index], &copy, &twice), TNR_OK);
        assert_int_not_equal(tnr_exported_free(&copy), TNR_OK);
        assert_ptr_equal(twice, untouched());
        assert_true(host_of(tensor)[5] == 6.0);
        /* Free after export, twice. */
        OK(tnr_tensor_export(&tensor, &exported));
        copy = exported;
        OK(tnr_exported_free(&exported));
        assert_null(exported.data);
        EXPECT(TNR_ERR_STALE, tnr_exported_free(&copy));
        EXPECT(TNR_ERR_STALE, tnr_tensor_import(domains[index], &copy, &twice));
    }
    close_domain(&program);
    assert_int_equal(memory.allocates, memory.releases);
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

/* Idea 65. */
static void export_from_a_pool_detaches_first(void **state)
{
    (void)state;
    void *region;
    test_memory memory = {0};
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *program = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
    tnr_domain *parents[3] = {heap, arena, program};
    for (int index = 0; index < 3; index++) {
        tnr_domain *pool = NULL;
        OK(tnr_pool_create(parents[index], NULL, &pool));
        tnr_tensor *tensor = make_counting(pool, 1, SHAPE(10));
        const double *data = host_of(tensor);
        tnr_exported exported;
        OK(tnr_tensor_export(&tensor, &exported));
        assert_ptr_equal(exported.data, data);
        assert_ptr_equal(exported.domain, parents[index]);
        tnr_pool_statistics statistics;
        OK(tnr_pool_statistics_get(pool, &statistics));
        assert_int_equal(statistics.in_flight, 0);
        assert_int_equal(statistics.buffers, 0);
        close_domain(&pool); /* the pool may die first */
        assert_true(data[9] == 10.0);
        OK(tnr_tensor_import(parents[index], &exported, &tensor));
        assert_ptr_equal(host_of(tensor), data);
        release(&tensor);
    }
    close_domain(&program);
    assert_int_equal(memory.allocates, memory.releases);
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

static void forged_exports_are_refused_unchanged(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    tnr_exported exported;
    OK(tnr_tensor_export(&tensor, &exported));
    tnr_tensor *made = untouched();
    tnr_exported forged = exported;
    forged.bytes = 64;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.shape[0] = 1000; /* beyond the block */
    forged.bytes = 8000;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.data = (char *)exported.data + 8;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.rank = -3;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.rank = TNR_MAX_RANK + 1;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.dtype = TNR_DTYPE_END;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    forged = exported;
    forged.block.allocation = 999999;
    assert_int_not_equal(tnr_tensor_import(heap, &forged, &made), TNR_OK);
    assert_int_not_equal(tnr_exported_free(&forged), TNR_OK);
    assert_int_equal(forged.block.allocation, 999999);
    /* Two disagreeing places: adopted bytes must be aligned like adopted ones. */
    double buffer[3] = {0};
    tnr_exported odd = {(char *)buffer + 4, 16, TNR_F64, 1, {2}, NULL, {0}, NULL, NULL};
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_import(heap, &odd, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_import(NULL, &exported, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_import(heap, NULL, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_import(heap, &exported, NULL));
    assert_ptr_equal(made, untouched());
    OK(tnr_exported_free(&exported));
    close_domain(&heap);
}

static void forgotten_heap_bytes_are_given_to_free(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    tnr_exported exported;
    void *data = NULL;
    OK(tnr_pool_create(heap, NULL, &pool));
    tnr_domain *domains[2] = {heap, pool};
    for (int index = 0; index < 2; index++) {
        tnr_tensor *tensor = make_counting(domains[index], 1, SHAPE(4));
        const tnr_domain_statistics before = statistics_of(heap);
        const double *place = host_of(tensor);
        OK(tnr_tensor_export(&tensor, &exported));
        tnr_exported copy = exported;
        OK(tnr_exported_forget(&exported, &data));
        assert_ptr_equal(data, place);
        assert_null(exported.data);
        assert_null(exported.domain);
        assert_int_equal(statistics_of(heap).blocks, before.blocks - 1);
        void *again = untouched();
        EXPECT(TNR_ERR_STALE, tnr_exported_forget(&copy, &again)); /* it is the program's by now */
        assert_ptr_equal(again, untouched());
        free(data);
    }
    close_domain(&pool);
    close_domain(&heap); /* nothing of it keeps the heap open */
}

static void nothing_is_forgotten_as_null(void **state)
{
    (void)state;
    void *region;
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(arena, NULL, &pool));
    tnr_domain *domains[3] = {heap, arena, pool};
    tnr_exported exported;
    void *data = untouched();
    memset(&exported, 0, sizeof(exported));
    OK(tnr_exported_forget(&exported, &data));
    assert_null(data);
    for (int at = 0; at < 3; at++) {
        tnr_tensor *tensor = NULL;
        OK(tnr_tensor_zeros(domains[at], TNR_F64, 2, SHAPE(0, 5), &tensor));
        OK(tnr_tensor_export(&tensor, &exported));
        assert_int_equal(exported.rank, 2);
        data = untouched();
        OK(tnr_exported_forget(&exported, &data));
        assert_null(data);
        assert_int_equal(exported.rank, 0);
    }
    close_domain(&pool);
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

static void count_release(void *context, void *data, uint64_t bytes)
{
    (void)data, (void)bytes;
    ++*(int *)context;
}

/* An adopted buffer without bytes still has a release function to be called. */
static void adopted_nothing_is_not_forgotten(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = NULL;
    tnr_exported exported;
    int calls = 0;
    void *data = untouched();
    OK(tnr_tensor_adopt(heap, TNR_F64, 1, SHAPE(0), NULL, 0, count_release, &calls, &tensor));
    OK(tnr_tensor_export(&tensor, &exported));
    EXPECT(TNR_ERR_FOREIGN, tnr_exported_forget(&exported, &data));
    assert_ptr_equal(data, untouched());
    assert_int_equal(calls, 0);
    OK(tnr_exported_free(&exported));
    assert_int_equal(calls, 1);
    close_domain(&heap);
}

static void only_heap_bytes_can_be_forgotten(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_tensor *tensor = make_counting(arena, 1, SHAPE(4));
    tnr_exported exported;
    void *data = untouched();
    OK(tnr_tensor_export(&tensor, &exported));
    EXPECT(TNR_ERR_FOREIGN, tnr_exported_forget(&exported, &data));
    assert_ptr_equal(data, untouched());
    assert_non_null(exported.data);
    OK(tnr_exported_free(&exported));
    double value = 1;
    OK(tnr_tensor_adopt(arena, TNR_F64, 0, NULL, &value, 8, NULL, NULL, &tensor));
    OK(tnr_tensor_export(&tensor, &exported));
    EXPECT(TNR_ERR_FOREIGN, tnr_exported_forget(&exported, &data));
    EXPECT(TNR_ERR_ARGUMENT, tnr_exported_forget(NULL, &data));
    EXPECT(TNR_ERR_ARGUMENT, tnr_exported_forget(&exported, NULL));
    OK(tnr_exported_free(&exported));
    close_domain(&arena);
    free(region);
}

/* Ideas 20, 45, 49, 55; CU-01. */
static void bytes_out_of_the_hosts_reach_are_residency_naming_the_call(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_NONE);
    tnr_draft *draft = NULL;
    tnr_tensor *tensor = untouched();
    const double rows[2] = {1, 2};
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(2), &tensor));
    TEXT_HAS("upload");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_from_row_major(domain, TNR_F64, 1, SHAPE(2), rows, 16, &tensor));
    TEXT_HAS("upload");
    assert_ptr_equal(tensor, untouched());
    assert_int_equal(memory.allocates, 0);
    OK(tnr_draft_begin(domain, TNR_F64, 2, SHAPE(2, 2), &draft));
    OK(tnr_draft_commit(&draft, &tensor));
    const void *data = untouched();
    void *data_mut = untouched();
    tnr_exported exported;
    tnr_tensor *copy = untouched();
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data(tensor, &data));
    TEXT_HAS("download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data_mut(tensor, &data_mut));
    TEXT_HAS("download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_export(&tensor, &exported));
    assert_non_null(tensor);
    /* Metadata works as anywhere. */
    tnr_view view = view_of(tensor);
    tnr_view_mut view_mut = view_mut_of(tensor);
    OK(tnr_view_permute(&view, NULL, &view));
    OK(tnr_view_mut_slice_axis(&view_mut, 0, (tnr_range){1, 2, 1}, &view_mut));
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_duplicate(&view, heap, &copy));
    TEXT_HAS("download");
    tnr_tensor *host = make_counting(heap, 1, SHAPE(2));
    const tnr_view host_view = view_of(host);
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_duplicate(&host_view, domain, &copy));
    TEXT_HAS("upload");
    double value = 0;
    EXPECT(TNR_ERR_RESIDENCY, tnr_view_get(&view, SHAPE(0, 0), &value));
    EXPECT(TNR_ERR_RESIDENCY, tnr_view_set(&view_mut, SHAPE(0, 0), &value));
    assert_ptr_equal(data, untouched());
    assert_ptr_equal(data_mut, untouched());
    assert_ptr_equal(copy, untouched());
    release(&host);
    release(&tensor);
    assert_int_equal(memory.releases, 1);
    close_domain(&domain);
    close_domain(&heap);
}

static void mapped_bytes_have_no_plain_pointer(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = make_counting(domain, 1, SHAPE(4));
    const void *data = untouched();
    void *data_mut = untouched();
    tnr_exported exported;
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data(tensor, &data));
    TEXT_HAS("tnr_map_read");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data_mut(tensor, &data_mut));
    TEXT_HAS("tnr_map_write");
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_export(&tensor, &exported));
    assert_non_null(tensor);
    assert_ptr_equal(data, untouched());
    assert_ptr_equal(data_mut, untouched());
    release(&tensor);
    close_domain(&domain);
    close_domain(&heap);
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static void reclaimed_bytes_are_retained_by_the_pool(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *other = make_heap();
    tnr_domain *pool = NULL;
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = 1024;
    OK(tnr_pool_create(heap, &options, &pool));
    tnr_pool_statistics statistics;
    /* The parent's, the pool's own, too large a one. */
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(64));
    const double *data = host_of(tensor);
    const tnr_view view = view_of(tensor);
    OK(tnr_tensor_reclaim(pool, &tensor));
    assert_null(tensor);
    tnr_read_map map;
    EXPECT(TNR_ERR_STALE, tnr_map_read(&view, &map));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 1);
    assert_int_equal(statistics.capacity_bytes, 512);
    OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(64), &tensor));
    assert_ptr_equal(host_of(tensor), data);
    OK(tnr_tensor_reclaim(pool, &tensor));
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 1);
    tensor = make_counting(heap, 1, SHAPE(1000));
    OK(tnr_tensor_reclaim(pool, &tensor));
    assert_null(tensor);
    OK(tnr_pool_statistics_get(pool, &statistics));
    assert_int_equal(statistics.buffers, 1); /* freed at once, evicts nothing */
    /* Not this pool's business. */
    tensor = make_counting(other, 1, SHAPE(4));
    EXPECT(TNR_ERR_FOREIGN, tnr_tensor_reclaim(pool, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_reclaim(heap, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_reclaim(NULL, &tensor));
    EXPECT(TNR_ERR_ARGUMENT, tnr_tensor_reclaim(pool, NULL));
    assert_true(host_of(tensor)[3] == 4.0);
    release(&tensor);
    double value = 1;
    OK(tnr_tensor_adopt(heap, TNR_F64, 0, NULL, &value, 8, NULL, NULL, &tensor));
    EXPECT(TNR_ERR_FOREIGN, tnr_tensor_reclaim(pool, &tensor));
    release(&tensor);
    tensor = make_counting(heap, 1, SHAPE(4));
    tnr_view_mut view_mut = view_mut_of(tensor);
    tnr_write_map write;
    OK(tnr_map_write(&view_mut, &write));
    EXPECT(TNR_ERR_BUSY, tnr_tensor_reclaim(pool, &tensor));
    OK(tnr_unmap_write(&write));
    OK(tnr_tensor_reclaim(pool, &tensor));
    OK(tnr_tensor_zeros(heap, TNR_F64, 1, SHAPE(0), &tensor));
    OK(tnr_tensor_reclaim(pool, &tensor)); /* nothing to retain */
    close_domain(&pool);
    close_domain(&heap);
    close_domain(&other);
}

/* Ideas 62, 63: the very buffer comes back. */
static void released_pool_tensor_is_the_next_one(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(heap, NULL, &pool));
    tnr_tensor *tensor = make_counting(pool, 1, SHAPE(10));
    const double *data = host_of(tensor);
    uint64_t last = 0;
    for (int round = 0; round < 10; round++) {
        tnr_tensor_info info;
        OK(tnr_tensor_describe(tensor, &info));
        assert_ptr_equal(host_of(tensor), data);
        assert_true(info.allocation > last); /* a new allocation each time, whatever the buffer */
        assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(pool)));
        last = info.allocation;
        release(&tensor);
        OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(10), &tensor));
    }
    release(&tensor);
    close_domain(&pool);
    close_domain(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft_becomes_a_tensor_with_the_same_bytes),
        cmocka_unit_test(abandoned_draft_goes_back_to_its_pool),
        cmocka_unit_test(draft_under_a_lease_is_busy),
        cmocka_unit_test(released_tensor_is_stale_everywhere),
        cmocka_unit_test(export_and_import_move_no_byte),
        cmocka_unit_test(export_from_a_pool_detaches_first),
        cmocka_unit_test(forged_exports_are_refused_unchanged),
        cmocka_unit_test(forgotten_heap_bytes_are_given_to_free),
        cmocka_unit_test(nothing_is_forgotten_as_null),
        cmocka_unit_test(adopted_nothing_is_not_forgotten),
        cmocka_unit_test(only_heap_bytes_can_be_forgotten),
        cmocka_unit_test(bytes_out_of_the_hosts_reach_are_residency_naming_the_call),
        cmocka_unit_test(mapped_bytes_have_no_plain_pointer),
        cmocka_unit_test(reclaimed_bytes_are_retained_by_the_pool),
        cmocka_unit_test(released_pool_tensor_is_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
