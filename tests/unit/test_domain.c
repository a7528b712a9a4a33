/* SPDX-License-Identifier: BSD-3-Clause */
/* Domains by their contract: a program's table of functions, identity, closing. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "support/storage_test.h"

/* ---- A program's table ------------------------------------------------------------------------------------------- */

static void refuse_table(tnr_domain *home, const tnr_domain_config *config)
{
    tnr_domain *domain = untouched();
    const tnr_domain_statistics before = statistics_of(home);
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_create(home, config, &domain));
    assert_ptr_equal(domain, untouched());
    const tnr_domain_statistics after = statistics_of(home);
    assert_int_equal(after.blocks, before.blocks);
    assert_int_equal(after.bytes, before.bytes);
}

static void table_with_a_missing_entry_is_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    test_memory *where = &memory;
    tnr_domain_ops ops = test_ops(TNR_ACCESS_DIRECT);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.config = &where;
    refuse_table(heap, &config); /* no table */
    config.ops = &ops;
    ops.name = NULL;
    refuse_table(heap, &config);
    ops = test_ops(TNR_ACCESS_DIRECT);
    ops.allocate = NULL;
    refuse_table(heap, &config);
    ops = test_ops(TNR_ACCESS_DIRECT);
    ops.release = NULL;
    refuse_table(heap, &config);
    ops = test_ops(TNR_ACCESS_DIRECT);
    config.size = sizeof(config) - 1;
    refuse_table(heap, &config);
    config.size = 0;
    refuse_table(heap, &config);
    assert_int_equal(memory.opens, 0);
    close_domain(&heap);
}

static void map_and_unmap_are_required_exactly_for_mapped_access(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    test_memory *where = &memory;
    tnr_domain_ops ops = test_ops(TNR_ACCESS_MAPPED);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = &where;
    config.access = TNR_ACCESS_MAPPED;
    ops.map = NULL;
    refuse_table(heap, &config);
    ops = test_ops(TNR_ACCESS_MAPPED);
    ops.unmap = NULL;
    refuse_table(heap, &config);
    ops = test_ops(TNR_ACCESS_MAPPED);
    config.access = TNR_ACCESS_DIRECT; /* entries that would never be called */
    refuse_table(heap, &config);
    config.access = TNR_ACCESS_NONE;
    refuse_table(heap, &config);
    config.access = (tnr_host_access)7;
    refuse_table(heap, &config);
    close_domain(&heap);
}

static tnr_status read_nothing(void *state, const tnr_block *block, const tnr_domain_box *box, void *host)
{
    (void)state;
    (void)block;
    (void)box;
    (void)host;
    return TNR_OK;
}

static tnr_status write_nothing(void *state, const tnr_block *block, const tnr_domain_box *box, const void *host)
{
    return read_nothing(state, block, box, (void *)(uintptr_t)host);
}

static void read_and_write_come_together_and_for_access_none(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    test_memory *where = &memory;
    tnr_domain_ops ops = test_ops(TNR_ACCESS_NONE);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = &where;
    config.access = TNR_ACCESS_NONE;
    ops.read = read_nothing;
    refuse_table(heap, &config);
    ops.read = NULL;
    ops.write = write_nothing;
    refuse_table(heap, &config);
    ops.read = read_nothing;
    config.access = TNR_ACCESS_DIRECT;
    refuse_table(heap, &config);
    config.access = TNR_ACCESS_NONE;
    tnr_domain *domain;
    OK(tnr_domain_create(heap, &config, &domain));
    close_domain(&domain);
    close_domain(&heap);
}

static tnr_status expose_nothing(void *state, const tnr_block *block, tnr_map_mode mode, void **address)
{
    (void)state;
    (void)block;
    (void)mode;
    (void)address;
    return TNR_OK;
}

static void conceal_nothing(void *state, const tnr_block *block, tnr_map_mode mode)
{
    (void)state;
    (void)block;
    (void)mode;
}

static void expose_and_conceal_come_together_and_beside_read_and_write(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    test_memory *where = &memory;
    tnr_domain_ops ops = test_ops(TNR_ACCESS_NONE);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = &where;
    config.access = TNR_ACCESS_NONE;
    ops.expose = expose_nothing;
    ops.conceal = conceal_nothing;
    refuse_table(heap, &config); /* no read, no write */
    ops.read = read_nothing;
    ops.write = write_nothing;
    ops.conceal = NULL;
    refuse_table(heap, &config);
    ops.expose = NULL;
    ops.conceal = conceal_nothing;
    refuse_table(heap, &config);
    ops.expose = expose_nothing;
    tnr_domain *domain;
    OK(tnr_domain_create(heap, &config, &domain));
    close_domain(&domain);
    close_domain(&heap);
}

static void placement_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain_ops ops = test_ops(TNR_ACCESS_DIRECT);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.placement.device = -2;
    refuse_table(heap, &config);
    config.placement.device = TNR_NONE;
    config.placement.cpu_affinity = -5;
    refuse_table(heap, &config);
    config.placement.cpu_affinity = TNR_NONE;
    config.placement.kind = (tnr_memory_kind)99;
    refuse_table(heap, &config);
    close_domain(&heap);
}

static void null_arguments_are_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *domain = untouched();
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    tnr_domain_statistics statistics;
    tnr_ledger ledger;
    tnr_block block;
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_create(NULL, &config, &domain));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_create(heap, NULL, &domain));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_create(heap, &config, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_heap_create(NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_statistics_get(NULL, &statistics));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_statistics_get(heap, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_ledger_get(NULL, &ledger));
    EXPECT(TNR_ERR_ARGUMENT, tnr_ledger_get(heap, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_ledger_reset(NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_allocate(NULL, 8, 0, &block));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_allocate(heap, 8, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_release(NULL, &block));
    EXPECT(TNR_ERR_ARGUMENT, tnr_domain_release(heap, NULL));
    assert_ptr_equal(domain, untouched());
    OK(tnr_domain_close(NULL));
    tnr_domain *none = NULL;
    OK(tnr_domain_close(&none));
    assert_string_equal(tnr_domain_name(NULL), "none");
    assert_int_equal(tnr_domain_access(NULL), TNR_ACCESS_NONE);
    assert_int_equal(tnr_domain_placement(NULL).kind, TNR_MEMORY_HOST);
    assert_int_equal(tnr_domain_placement(NULL).device, TNR_NONE);
    assert_int_equal(tnr_domain_placement(NULL).cpu_affinity, TNR_NONE);
    assert_int_equal(tnr_domain_identity(NULL).serial, 0);
    assert_int_equal(tnr_domain_identity(NULL).process, 0);
    close_domain(&heap);
}

static void open_gets_zeroed_aligned_state_and_close_is_called_once(void **state)
{
    (void)state;
    void *region;
    tnr_domain *homes[2] = {make_heap(), make_arena(&region, 0)};
    for (int index = 0; index < 2; index++) {
        test_memory memory = {0};
        tnr_domain *domain = make_program_domain(homes[index], &memory, TNR_ACCESS_DIRECT);
        assert_int_equal(memory.opens, 1);
        assert_true(memory.state_was_zero);
        assert_true(memory.state_was_aligned);
        assert_string_equal(tnr_domain_name(domain), "test");
        close_domain(&domain);
        assert_int_equal(memory.closes, 1);
        /* The block was used before now: its bytes must be zeroed again. */
        domain = make_program_domain(homes[index], &memory, TNR_ACCESS_DIRECT);
        assert_true(memory.state_was_zero);
        close_domain(&domain);
        assert_int_equal(memory.closes, 2);
        assert_int_equal(statistics_of(homes[index]).blocks, 0);
        close_domain(&homes[index]);
    }
    free(region);
}

static void failing_open_is_the_answer_and_leaves_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {.open_answer = TNR_ERR_IO};
    tnr_domain *domain = untouched();
    EXPECT(TNR_ERR_IO, create_program_domain(heap, &memory, TNR_ACCESS_DIRECT, &domain));
    TEXT_HAS("open refuses");
    assert_ptr_equal(domain, untouched());
    assert_int_equal(memory.opens, 1);
    assert_int_equal(memory.closes, 0);
    assert_int_equal(statistics_of(heap).blocks, 0);
    close_domain(&heap);
}

static void optional_entries_may_be_missing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    /* No open: the state cannot know its memory, so only a domain that never allocates is possible here. */
    tnr_domain_ops ops = test_ops(TNR_ACCESS_DIRECT);
    ops.size = 0;
    ops.open = NULL;
    ops.close = NULL;
    ops.statistics = NULL;
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    tnr_domain *domain = NULL;
    OK(tnr_domain_create(heap, &config, &domain));
    assert_int_equal(statistics_of(domain).capacity, 0);
    close_domain(&domain);
    assert_int_equal(memory.opens, 0);
    close_domain(&heap);
}

static void limited_statistics(void *state, tnr_domain_statistics *statistics)
{
    (void)state;
    statistics->capacity = 1000;
    statistics->free_bytes = 600;
    statistics->largest_free = 500;
    statistics->blocks = 77; /* not the table's to say */
}

static void statistics_entry_gives_capacity_and_the_library_counts_the_rest(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {.access = TNR_ACCESS_DIRECT};
    test_memory *where = &memory;
    tnr_domain_ops ops = test_ops(TNR_ACCESS_DIRECT);
    ops.statistics = limited_statistics;
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = &where;
    tnr_domain *domain = NULL;
    OK(tnr_domain_create(heap, &config, &domain));
    tnr_block blocks[2];
    OK(tnr_domain_allocate(domain, 100, 0, &blocks[0]));
    OK(tnr_domain_allocate(domain, 50, 0, &blocks[1]));
    OK(tnr_domain_release(domain, &blocks[0]));
    memory.fail_allocate = 1;
    EXPECT(TNR_ERR_MEMORY, tnr_domain_allocate(domain, 10, 0, &blocks[0]));
    const tnr_domain_statistics found = statistics_of(domain);
    assert_int_equal(found.capacity, 1000);
    assert_int_equal(found.free_bytes, 600);
    assert_int_equal(found.largest_free, 500);
    assert_int_equal(found.blocks, 1);
    assert_int_equal(found.bytes, 50);
    assert_int_equal(found.peak_bytes, 150);
    assert_int_equal(found.allocations, 2);
    assert_int_equal(found.failures, 1);
    OK(tnr_domain_release(domain, &blocks[1]));
    close_domain(&domain);
    close_domain(&heap);
}

static void allocate_is_asked_for_at_least_one_byte_at_a_power_of_two(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
    tnr_block block;
    OK(tnr_domain_allocate(domain, 0, 0, &block));
    assert_int_equal(memory.allocates, 0); /* zero bytes are no block */
    assert_null(block.address);
    OK(tnr_domain_release(domain, &block));
    assert_int_equal(memory.releases, 0);
    OK(tnr_domain_allocate(domain, 1, 0, &block));
    assert_int_equal(memory.last_alignment, 64);
    OK(tnr_domain_release(domain, &block));
    OK(tnr_domain_allocate(domain, 1, 4096, &block));
    assert_int_equal(memory.last_alignment, 4096);
    OK(tnr_domain_release(domain, &block));
    assert_int_equal(memory.releases, 2);
    close_domain(&domain);
    close_domain(&heap);
}

static void access_kinds_and_placement_are_what_the_table_says(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memories[3] = {{0}, {0}, {0}};
    const tnr_host_access kinds[3] = {TNR_ACCESS_DIRECT, TNR_ACCESS_MAPPED, TNR_ACCESS_NONE};
    for (int index = 0; index < 3; index++) {
        tnr_domain *domain = make_program_domain(heap, &memories[index], kinds[index]);
        tnr_draft *draft = NULL;
        tnr_tensor *tensor = NULL;
        tnr_tensor_info info;
        assert_int_equal(tnr_domain_access(domain), kinds[index]);
        OK(tnr_draft_begin(domain, TNR_F32, 1, SHAPE(5), &draft));
        OK(tnr_draft_commit(&draft, &tensor));
        OK(tnr_tensor_describe(tensor, &info));
        assert_int_equal(info.access, kinds[index]);
        assert_int_equal(info.placement.kind, tnr_domain_placement(domain).kind);
        assert_int_equal(info.placement.device, kinds[index] == TNR_ACCESS_NONE ? 3 : TNR_NONE);
        assert_true(tnr_domain_id_equal(info.domain, tnr_domain_identity(domain)));
        release(&tensor);
        close_domain(&domain);
    }
    close_domain(&heap);
}

/* ---- Identity ---------------------------------------------------------------------------------------------------- */

/* Idea 57. */
static void serials_grow_and_are_never_used_again(void **state)
{
    (void)state;
    uint64_t last = 0;
    tnr_domain *heap = make_heap();
    for (int round = 0; round < 50; round++) {
        test_memory memory = {0};
        tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
        const tnr_domain_id id = tnr_domain_identity(domain);
        assert_int_equal(id.process, 0);
        assert_true(id.serial > last);
        last = id.serial;
        close_domain(&domain);
        tnr_domain *pool = NULL;
        OK(tnr_pool_create(heap, NULL, &pool));
        assert_true(tnr_domain_identity(pool).serial > last);
        last = tnr_domain_identity(pool).serial;
        close_domain(&pool);
    }
    close_domain(&heap);
    heap = make_heap();
    assert_true(tnr_domain_identity(heap).serial > last);
    close_domain(&heap);
}

static void allocation_numbers_grow_and_are_never_used_again(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    void *region;
    test_memory memory = {0};
    tnr_domain *domains[4] = {heap, make_arena(&region, 0), make_program_domain(heap, &memory, TNR_ACCESS_DIRECT),
                              NULL};
    OK(tnr_pool_create(heap, NULL, &domains[3]));
    for (int index = 0; index < 4; index++) {
        uint64_t last = 0;
        for (int round = 0; round < 100; round++) {
            tnr_block block;
            OK(tnr_domain_allocate(domains[index], 100, 0, &block));
            assert_true(block.allocation > last);
            last = block.allocation;
            OK(tnr_domain_release(domains[index], &block));
        }
    }
    close_domain(&domains[3]);
    close_domain(&domains[2]);
    close_domain(&domains[1]);
    close_domain(&domains[0]);
    free(region);
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

static void refuse_close(tnr_domain *domain)
{
    tnr_domain *same = domain;
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&same));
    assert_ptr_equal(same, domain);
    TEXT_HAS(tnr_domain_name(domain));
}

/* Everything that keeps a domain from closing, one after the other. */
static void check_every_busy(tnr_domain *domain)
{
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(4), &tensor));
    refuse_close(domain);
    tnr_exported exported;
    OK(tnr_tensor_export(&tensor, &exported));
    refuse_close(domain); /* the exported block */
    OK(tnr_tensor_import(domain, &exported, &tensor));
    refuse_close(domain);
    release(&tensor);
    OK(tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(0), &tensor)); /* no bytes, still a tensor */
    refuse_close(domain);
    release(&tensor);
    tnr_draft *draft = NULL;
    OK(tnr_draft_begin(domain, TNR_I32, 1, SHAPE(4), &draft));
    refuse_close(domain);
    OK(tnr_draft_abandon(&draft));
    tnr_block block;
    OK(tnr_domain_allocate(domain, 10, 0, &block));
    refuse_close(domain);
    OK(tnr_domain_release(domain, &block));
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(domain, NULL, &pool));
    refuse_close(domain);
    OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(4), &tensor));
    close_domain(&pool);
    refuse_close(domain); /* the closed pool's tensor */
    release(&tensor);
    tnr_group *group = NULL;
    OK(tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(4), &tensor));
    tnr_domain *other = make_heap();
    OK(tnr_group_from_tensors(other, &tensor, 1, &group));
    refuse_close(domain); /* its tensor lives in a group of another home */
    OK(tnr_group_release(&group));
    close_domain(&other);
}

static void check_every_busy_of_a_home(tnr_domain *home)
{
    check_every_busy(home);
    tnr_group *group = NULL;
    OK(tnr_group_create(home, &group));
    refuse_close(home);
    OK(tnr_group_release(&group));
    test_memory memory = {0};
    tnr_domain *child = make_program_domain(home, &memory, TNR_ACCESS_DIRECT);
    refuse_close(home);
    close_domain(&child);
    double value = 1;
    tnr_tensor *adopted = NULL;
    OK(tnr_tensor_adopt(home, TNR_F64, 0, NULL, &value, 8, NULL, NULL, &adopted));
    refuse_close(home); /* its handle */
    release(&adopted);
}

static void heap_close_is_busy_in_every_way(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    check_every_busy_of_a_home(heap);
    close_domain(&heap);
}

static void arena_close_is_busy_in_every_way(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    check_every_busy_of_a_home(arena);
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    free(region);
}

static void program_domain_close_is_busy_in_every_way(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    test_memory memory = {0};
    tnr_domain *domain = make_program_domain(arena, &memory, TNR_ACCESS_DIRECT);
    check_every_busy(domain);
    assert_int_equal(memory.closes, 0);
    close_domain(&domain);
    assert_int_equal(memory.closes, 1);
    assert_int_equal(memory.allocates, memory.releases);
    close_domain(&arena);
    free(region);
}

static void pool_close_leaves_its_tensors_valid_and_keeps_the_parent_open(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(heap, NULL, &pool));
    tnr_tensor *first = make_counting(pool, 1, SHAPE(8));
    tnr_tensor *second = make_counting(pool, 1, SHAPE(3));
    tnr_block block;
    OK(tnr_domain_allocate(pool, 10, 0, &block));
    refuse_close(pool); /* a raw block could not be given back any more */
    OK(tnr_domain_release(pool, &block));
    close_domain(&pool);
    assert_true(host_of(first)[7] == 8.0);
    refuse_close(heap);
    release(&first);
    refuse_close(heap);
    tnr_exported exported;
    OK(tnr_tensor_export(&second, &exported)); /* from a pool that is gone */
    assert_ptr_equal(exported.domain, heap);
    refuse_close(heap);
    OK(tnr_exported_free(&exported));
    close_domain(&heap);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define MINTED 500

static void *mint(void *argument)
{
    uint64_t *serials = argument;
    for (int at = 0; at < MINTED; at++) {
        tnr_domain *heap = NULL;
        if (tnr_heap_create(&heap) == TNR_OK) {
            serials[at] = tnr_domain_identity(heap).serial;
            (void)tnr_domain_close(&heap);
        }
    }
    return NULL;
}

static int compare_serials(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a;
    const uint64_t second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static void serials_minted_by_threads_differ(void **state)
{
    (void)state;
    static uint64_t serials[THREADS * MINTED];
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++) {
        assert_int_equal(pthread_create(&threads[at], NULL, mint, &serials[at * MINTED]), 0);
    }
    for (int at = 0; at < THREADS; at++) {
        assert_int_equal(pthread_join(threads[at], NULL), 0);
    }
    qsort(serials, (size_t)THREADS * MINTED, sizeof(serials[0]), compare_serials);
    assert_true(serials[0] > 0);
    for (int at = 1; at < THREADS * MINTED; at++) {
        assert_true(serials[at] > serials[at - 1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_with_a_missing_entry_is_refused),
        cmocka_unit_test(map_and_unmap_are_required_exactly_for_mapped_access),
        cmocka_unit_test(read_and_write_come_together_and_for_access_none),
        cmocka_unit_test(expose_and_conceal_come_together_and_beside_read_and_write),
        cmocka_unit_test(placement_that_does_not_exist_is_refused),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(open_gets_zeroed_aligned_state_and_close_is_called_once),
        cmocka_unit_test(failing_open_is_the_answer_and_leaves_nothing),
        cmocka_unit_test(optional_entries_may_be_missing),
        cmocka_unit_test(statistics_entry_gives_capacity_and_the_library_counts_the_rest),
        cmocka_unit_test(allocate_is_asked_for_at_least_one_byte_at_a_power_of_two),
        cmocka_unit_test(access_kinds_and_placement_are_what_the_table_says),
        cmocka_unit_test(serials_grow_and_are_never_used_again),
        cmocka_unit_test(allocation_numbers_grow_and_are_never_used_again),
        cmocka_unit_test(heap_close_is_busy_in_every_way),
        cmocka_unit_test(arena_close_is_busy_in_every_way),
        cmocka_unit_test(program_domain_close_is_busy_in_every_way),
        cmocka_unit_test(pool_close_leaves_its_tensors_valid_and_keeps_the_parent_open),
        cmocka_unit_test(serials_minted_by_threads_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
