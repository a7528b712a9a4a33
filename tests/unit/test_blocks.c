/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw blocks of every kind of domain by their contract: what is not out is refused, from one thread and from several. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>

#include "support/storage_test.h"

/* ---- Raw blocks -------------------------------------------------------------------------------------------------- */

static void refuse_release(tnr_domain *domain, tnr_status expected, const tnr_block *block)
{
    const tnr_domain_statistics before = statistics_of(domain);
    EXPECT(expected, tnr_domain_release(domain, block));
    const tnr_domain_statistics after = statistics_of(domain);
    assert_memory_equal(&before, &after, sizeof(before));
}

/* A block that is not out is refused, whoever's it is and however it was made; `other` is a domain of the same kind. */
static void check_raw_blocks(tnr_domain *domain, tnr_domain *other)
{
    tnr_block block;
    tnr_block kept;
    tnr_block others;
    OK(tnr_domain_allocate(domain, 100, 0, &kept));
    OK(tnr_domain_allocate(domain, 100, 256, &block));
    OK(tnr_domain_allocate(other, 100, 0, &others));
    assert_true(block.bytes >= 100);
    assert_ptr_not_equal(block.address, kept.address);
    if (tnr_domain_access(domain) == TNR_ACCESS_DIRECT) {
        assert_int_equal((uintptr_t)block.address % 256, 0);
        memset(block.address, 0x5A, (size_t)block.bytes);
    }
    /* Forged in one field each. */
    tnr_block forged = block;
    forged.address = (char *)block.address + 64;
    refuse_release(domain, TNR_ERR_FOREIGN, &forged);
    forged = block;
    forged.allocation += 1000000;
    refuse_release(domain, TNR_ERR_FOREIGN, &forged);
    forged = block;
    forged.allocation = 0;
    refuse_release(domain, TNR_ERR_FOREIGN, &forged);
    forged = block;
    forged.bytes += 64;
    refuse_release(domain, TNR_ERR_FOREIGN, &forged);
    forged = block;
    forged.tag = (uint64_t)(uintptr_t)&forged;
    refuse_release(domain, TNR_ERR_FOREIGN, &forged);
    forged.tag = UINT64_MAX;
    refuse_release(domain, TNR_ERR_FOREIGN, &forged);
    /* Two live blocks mixed up. */
    forged = kept;
    forged.tag = block.tag;
    assert_int_not_equal(tnr_domain_release(domain, &forged), TNR_OK);
    /* The other domain's, live. */
    refuse_release(domain, TNR_ERR_FOREIGN, &others);
    refuse_release(other, TNR_ERR_FOREIGN, &block);
    /* PA-07: twice. */
    OK(tnr_domain_release(domain, &block));
    refuse_release(domain, TNR_ERR_STALE, &block);
    /* Its place is another's by now, perhaps its very slot: still stale. */
    tnr_block again;
    OK(tnr_domain_allocate(domain, 100, 256, &again));
    assert_int_not_equal(again.allocation, block.allocation);
    refuse_release(domain, TNR_ERR_STALE, &block);
    OK(tnr_domain_release(domain, &again));
    refuse_release(domain, TNR_ERR_STALE, &again);
    OK(tnr_domain_release(domain, &kept));
    OK(tnr_domain_release(other, &others));
}

static void raw_blocks_of_the_heap(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *other = make_heap();
    check_raw_blocks(heap, other);
    close_domain(&other);
    close_domain(&heap);
}

static void raw_blocks_of_an_arena(void **state)
{
    (void)state;
    void *regions[2];
    tnr_domain *arena = make_arena(&regions[0], 0);
    tnr_domain *other = make_arena(&regions[1], 0);
    check_raw_blocks(arena, other);
    OK(tnr_arena_check(arena));
    close_domain(&other);
    close_domain(&arena);
    free(regions[0]);
    free(regions[1]);
}

static void raw_blocks_of_a_pool(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pools[2] = {NULL, NULL};
    OK(tnr_pool_create(heap, NULL, &pools[0]));
    OK(tnr_pool_create(heap, NULL, &pools[1]));
    check_raw_blocks(pools[0], pools[1]);
    close_domain(&pools[0]);
    close_domain(&pools[1]);
    close_domain(&heap);
}

/* Two domains of one home: their blocks come from one slab of handles. */
static void raw_blocks_of_a_program_domain(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    const tnr_host_access kinds[3] = {TNR_ACCESS_DIRECT, TNR_ACCESS_MAPPED, TNR_ACCESS_NONE};
    for (int index = 0; index < 3; index++) {
        test_memory memories[2] = {{0}, {0}};
        tnr_domain *domain = make_program_domain(heap, &memories[0], kinds[index]);
        tnr_domain *other = make_program_domain(heap, &memories[1], kinds[index]);
        check_raw_blocks(domain, other);
        assert_int_equal(memories[0].allocates, memories[0].releases);
        close_domain(&other);
        close_domain(&domain);
    }
    close_domain(&heap);
}

static void block_of_a_tensor_is_not_the_programs_to_release(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 1, SHAPE(4));
    tnr_tensor_info info;
    OK(tnr_tensor_describe(tensor, &info));
    const tnr_block forged = {(void *)(uintptr_t)host_of(tensor), info.capacity_bytes, info.allocation,
                              (uint64_t)(uintptr_t)tensor};
    assert_int_not_equal(tnr_domain_release(heap, &forged), TNR_OK);
    assert_true(host_of(tensor)[3] == 4.0);
    release(&tensor);
    close_domain(&heap);
}

static void raw_block_of_no_bytes_counts_nowhere(void **state)
{
    (void)state;
    void *region;
    tnr_domain *domains[2] = {make_heap(), make_arena(&region, 0)};
    for (int index = 0; index < 2; index++) {
        tnr_block block;
        OK(tnr_domain_allocate(domains[index], 0, 0, &block));
        assert_null(block.address);
        assert_int_equal(block.bytes, 0);
        assert_int_equal(statistics_of(domains[index]).allocations, 0);
        OK(tnr_domain_release(domains[index], &block));
        OK(tnr_domain_release(domains[index], &block));
        close_domain(&domains[index]);
    }
    free(region);
}

static void SL_02_e_size_near_the_end_of_64_bits_is_refused(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    void *region;
    tnr_domain *domains[3] = {heap, make_arena(&region, 0), NULL};
    OK(tnr_pool_create(heap, NULL, &domains[2]));
    for (int index = 0; index < 3; index++) {
        tnr_block block = {untouched(), 1, 2, 3};
        const tnr_domain_statistics before = statistics_of(domains[index]);
        EXPECT(TNR_ERR_OVERFLOW, tnr_domain_allocate(domains[index], UINT64_MAX - 8, 64, &block));
        assert_ptr_equal(block.address, untouched());
        EXPECT(TNR_ERR_MEMORY, tnr_domain_allocate(domains[index], (uint64_t)1 << 63, 64, &block));
        SAME_STATISTICS(domains[index], &before);
    }
    OK(tnr_arena_check(domains[1]));
    close_domain(&domains[2]);
    close_domain(&domains[1]);
    close_domain(&domains[0]);
    free(region);
}

static void SL_02_f_alignment_that_is_no_power_of_two_is_refused(void **state)
{
    (void)state;
    void *region;
    tnr_domain *domains[2] = {make_heap(), make_arena(&region, 0)};
    const uint64_t wrong[] = {3, 48, 65, 100, UINT64_MAX};
    for (int index = 0; index < 2; index++) {
        tnr_block block;
        for (size_t at = 0; at < sizeof(wrong) / sizeof(wrong[0]); at++) {
            EXPECT(TNR_ERR_ARGUMENT, tnr_domain_allocate(domains[index], 64, wrong[at], &block));
        }
        OK(tnr_domain_allocate(domains[index], 64, 0, &block)); /* 0 means 64 */
        assert_int_equal((uintptr_t)block.address % 64, 0);
        OK(tnr_domain_release(domains[index], &block));
        close_domain(&domains[index]);
    }
    free(region);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define BLOCKS 64
#define ROUNDS 200

typedef struct shared {
    tnr_domain *domain;
    tnr_block blocks[BLOCKS];
    atomic_int ok;
    atomic_int stale;
    atomic_int other;
} shared;

/* All threads release the same blocks, and allocate some of their own meanwhile, so that places are used again at once. */
static void *release_all(void *argument)
{
    shared *s = argument;
    for (int at = 0; at < BLOCKS; at++) {
        const tnr_status status = tnr_domain_release(s->domain, &s->blocks[at]);
        atomic_fetch_add(status == TNR_OK ? &s->ok : status == TNR_ERR_STALE ? &s->stale : &s->other, 1);
        tnr_block own;
        if (tnr_domain_allocate(s->domain, 64, 0, &own) != TNR_OK || tnr_domain_release(s->domain, &own) != TNR_OK) {
            atomic_fetch_add(&s->other, 1);
        }
    }
    return NULL;
}

static void threads_release_each_block_just_once(void **state)
{
    (void)state;
    void *region;
    tnr_domain *heap = make_heap();
    tnr_domain *domains[3] = {heap, make_arena(&region, 0), NULL};
    OK(tnr_pool_create(heap, NULL, &domains[2]));
    for (int index = 0; index < 3; index++) {
        for (int round = 0; round < ROUNDS; round++) {
            shared s = {.domain = domains[index]};
            pthread_t threads[THREADS];
            for (int at = 0; at < BLOCKS; at++) {
                OK(tnr_domain_allocate(domains[index], 64, 0, &s.blocks[at]));
            }
            for (int at = 0; at < THREADS; at++) {
                assert_int_equal(pthread_create(&threads[at], NULL, release_all, &s), 0);
            }
            for (int at = 0; at < THREADS; at++) {
                assert_int_equal(pthread_join(threads[at], NULL), 0);
            }
            assert_int_equal(atomic_load(&s.ok), BLOCKS);
            assert_int_equal(atomic_load(&s.stale), (THREADS - 1) * BLOCKS);
            assert_int_equal(atomic_load(&s.other), 0);
        }
    }
    close_domain(&domains[2]);
    OK(tnr_arena_check(domains[1]));
    assert_int_equal(statistics_of(domains[1]).blocks, 0);
    close_domain(&domains[1]);
    close_domain(&heap);
    free(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_blocks_of_the_heap),
        cmocka_unit_test(raw_blocks_of_an_arena),
        cmocka_unit_test(raw_blocks_of_a_pool),
        cmocka_unit_test(raw_blocks_of_a_program_domain),
        cmocka_unit_test(block_of_a_tensor_is_not_the_programs_to_release),
        cmocka_unit_test(raw_block_of_no_bytes_counts_nowhere),
        cmocka_unit_test(SL_02_e_size_near_the_end_of_64_bits_is_refused),
        cmocka_unit_test(SL_02_f_alignment_that_is_no_power_of_two_is_refused),
        cmocka_unit_test(threads_release_each_block_just_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
