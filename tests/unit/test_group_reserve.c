/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups that have their tables at once: as far as that nothing is asked of the home, whatever fails in between. */
#include "support/storage_test.h"

enum { OWNERS = 100, DESCRIPTORS = 150 };

static void within_the_reserve_nothing_is_asked(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 500);
    tnr_tensor *tensors[OWNERS];
    tnr_group *group = NULL;
    tnr_slot slot;
    for (int i = 0; i < OWNERS; i++) {
        OK(tnr_tensor_zeros(arena, TNR_F32, 1, SHAPE(4), &tensors[i]));
    }
    OK(tnr_group_create(arena, &group));
    OK(tnr_group_reserve(group, OWNERS, DESCRIPTORS));
    const tnr_domain_statistics reserved = statistics_of(arena);
    OK(tnr_group_reserve(group, OWNERS, DESCRIPTORS));
    OK(tnr_group_reserve(group, 1, 0)); /* less changes nothing */
    SAME_STATISTICS(arena, &reserved);
    uint32_t owners = 7;
    uint32_t descriptors = 7;
    OK(tnr_group_counts(group, &owners, &descriptors));
    assert_true(owners == 0 && descriptors == 0);
    for (int i = 0; i < OWNERS; i++) {
        if (i % 10 == 5) { /* a refused entry gives nothing of the reserve back */
            tnr_read_map map;
            const tnr_view view = view_of(tensors[i]);
            OK(tnr_map_read(&view, &map));
            EXPECT(TNR_ERR_BUSY, tnr_group_append(group, &tensors[i], &slot));
            OK(tnr_unmap_read(&map));
            SAME_STATISTICS(arena, &reserved);
        }
        OK(tnr_group_append(group, &tensors[i], &slot));
    }
    for (int i = OWNERS; i < DESCRIPTORS; i++) {
        tnr_slot part;
        OK(tnr_group_describe_span(group, slot, TNR_F32, 0, 8, 1, SHAPE(2), NULL, 0, &part));
    }
    SAME_STATISTICS(arena, &reserved);
    OK(tnr_group_check(group));
    OK(tnr_group_reserve(group, 10, 10)); /* fewer than there are */
    SAME_STATISTICS(arena, &reserved);
    OK(tnr_group_release(&group));
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    free(region);
}

static void a_reserve_of_exactly_its_need(void **state)
{
    (void)state;
    for (int less = 0; less < 2; less++) {
        tnr_need need;
        tnr_arena_options options = TNR_ARENA_OPTIONS;
        uint64_t bytes;
        uint64_t control;
        OK(tnr_group_need(OWNERS, DESCRIPTORS, &need));
        OK(tnr_arena_bytes(&need, &options, &bytes, &control, &options.max_blocks));
        void *region = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
        assert_non_null(region);
        tnr_domain *arena = NULL;
        tnr_group *group = NULL;
        OK(tnr_arena_create(region, bytes - (uint64_t)less, &options, &arena));
        OK(tnr_group_create(arena, &group));
        const tnr_domain_statistics before = statistics_of(arena);
        EXPECT(less ? TNR_ERR_MEMORY : TNR_OK, tnr_group_reserve(group, OWNERS, DESCRIPTORS));
        if (less) {
            assert_int_equal(strncmp(tnr_last_error(), "group_reserve: arena has no room for ", 37), 0);
            const tnr_domain_statistics after = statistics_of(arena);
            assert_true(after.bytes == before.bytes && after.blocks == before.blocks);
            OK(tnr_group_reserve(group, 8, 8)); /* what there is room for */
            const tnr_domain_statistics some = statistics_of(arena);
            EXPECT(TNR_ERR_MEMORY, tnr_group_reserve(group, OWNERS, DESCRIPTORS)); /* and that is kept */
            assert_true(statistics_of(arena).bytes == some.bytes);
        } else {
            assert_int_equal(statistics_of(arena).free_bytes, 0);
        }
        OK(tnr_group_release(&group));
        close_domain(&arena);
        free(region);
    }
}

static void merged_groups_and_wrong_calls(void **state)
{
    (void)state;
    void *region;
    tnr_domain *arena = make_arena(&region, 500);
    tnr_group *target = NULL;
    tnr_group *source = NULL;
    tnr_tensor *tensor = NULL;
    tnr_slot slot;
    uint32_t first = 9;
    EXPECT(TNR_ERR_ARGUMENT, tnr_group_reserve(NULL, 1, 1));
    OK(tnr_group_create(arena, &target));
    OK(tnr_group_create(arena, &source));
    const tnr_domain_statistics before = statistics_of(arena);
    EXPECT(TNR_ERR_OVERFLOW, tnr_group_reserve(target, UINT32_MAX, 0));
    EXPECT(TNR_ERR_OVERFLOW, tnr_group_reserve(target, 10, UINT32_MAX));
    const tnr_domain_statistics after = statistics_of(arena);
    assert_true(after.blocks == before.blocks && after.bytes == before.bytes);
    OK(tnr_group_reserve(target, 20, 20));
    OK(tnr_group_reserve(source, 20, 20));
    OK(tnr_tensor_zeros(arena, TNR_F32, 1, SHAPE(4), &tensor));
    OK(tnr_group_append(source, &tensor, &slot));
    const tnr_domain_statistics reserved = statistics_of(arena);
    OK(tnr_group_merge(target, &source, &first));
    assert_null(source);
    assert_int_equal(first, 0);
    assert_true(statistics_of(arena).bytes < reserved.bytes); /* the source's tables are gone, its reserve with them */
    OK(tnr_group_check(target));
    OK(tnr_group_release(&target));
    assert_int_equal(statistics_of(arena).blocks, 1); /* handles */
    close_domain(&arena);
    free(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_the_reserve_nothing_is_asked),
        cmocka_unit_test(a_reserve_of_exactly_its_need),
        cmocka_unit_test(merged_groups_and_wrong_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
