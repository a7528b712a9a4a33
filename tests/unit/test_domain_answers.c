/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program's table of functions answers is checked before it is believed. */
#include "support/storage_test.h"

static void answer_of_too_few_bytes_is_refused_and_given_back(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {.short_by = 1};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_DIRECT);
    tnr_block block = {untouched(), 1, 2, 3};
    EXPECT(TNR_ERR_BACKEND, tnr_domain_allocate(domain, 100, 0, &block));
    assert_ptr_equal(block.address, untouched());
    assert_int_equal(memory.releases, 1);
    assert_int_equal(statistics_of(domain).blocks, 0);
    assert_int_equal(statistics_of(domain).failures, 0); /* it was not for want of room */
    close_domain(&domain);
    close_domain(&heap);
}

static void answer_without_a_usable_address_is_refused_and_given_back(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memories[2] = {{.map_to_null = true}, {.askew = 8}};
    for (int which = 0; which < 2; which++) {
        tnr_domain *domain = make_program_domain(heap, &memories[which], TNR_ACCESS_DIRECT);
        tnr_block block = {untouched(), 1, 2, 3};
        tnr_tensor *tensor = untouched();
        EXPECT(TNR_ERR_BACKEND, tnr_domain_allocate(domain, 100, 0, &block));
        EXPECT(TNR_ERR_BACKEND, tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(3), &tensor));
        TEXT_HAS("test");
        assert_ptr_equal(block.address, untouched());
        assert_ptr_equal(tensor, untouched());
        assert_int_equal(memories[which].allocates, 2);
        assert_int_equal(memories[which].releases, 2);
        assert_int_equal(statistics_of(domain).blocks, 0);
        close_domain(&domain);
    }
    close_domain(&heap);
}

/* Elements need 16 bytes at most; what a mapping answers is checked like what allocate answers. */
static void mapping_that_is_not_aligned_is_refused_and_ended(void **state)
{
    (void)state;
    for (size_t askew = 1; askew <= 64; askew *= 2) {
        tnr_domain *heap = make_heap();
        test_memory memory = {.askew = 0};
        tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
        tnr_tensor *tensor = make_counting(domain, 1, SHAPE(20));
        tnr_tensor *made = untouched();
        const tnr_view view = view_of(tensor);
        const tnr_view_mut view_mut = view_mut_of(tensor);
        tnr_read_map read;
        tnr_write_map write;
        memory.askew = askew;
        if (askew % 16 != 0) {
            EXPECT(TNR_ERR_BACKEND, tnr_map_read(&view, &read));
            TEXT_HAS("aligned");
            EXPECT(TNR_ERR_BACKEND, tnr_map_write(&view_mut, &write));
            EXPECT(TNR_ERR_BACKEND, tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(3), &made));
            assert_ptr_equal(made, untouched());
        } else {
            OK(tnr_map_read(&view, &read));
            OK(tnr_unmap_read(&read));
        }
        assert_int_equal(memory.maps, memory.unmaps);
        memory.askew = 0;
        OK(tnr_map_write(&view_mut, &write)); /* no lease is left */
        OK(tnr_unmap_write(&write));
        release(&tensor);
        close_domain(&domain);
        close_domain(&heap);
        assert_int_equal(memory.allocates, memory.releases);
    }
}

static void silent_failure_of_an_entry_has_a_text_of_its_own(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {.silent = true};
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = NULL;
    (void)tnr_set_error(TNR_ERR_NUMERIC, "an older failure");
    memory.fail_allocate = 1;
    EXPECT(TNR_ERR_MEMORY, tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(3), &tensor));
    assert_null(strstr(tnr_last_error(), "an older failure"));
    TEXT_HAS("test");
    OK(tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(3), &tensor));
    tnr_read_map map;
    const tnr_view view = view_of(tensor);
    (void)tnr_set_error(TNR_ERR_NUMERIC, "an older failure");
    memory.fail_map = 1;
    EXPECT(TNR_ERR_IO, tnr_map_read(&view, &map));
    assert_null(strstr(tnr_last_error(), "an older failure"));
    release(&tensor);
    close_domain(&domain);
    close_domain(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_of_too_few_bytes_is_refused_and_given_back),
        cmocka_unit_test(answer_without_a_usable_address_is_refused_and_given_back),
        cmocka_unit_test(mapping_that_is_not_aligned_is_refused_and_ended),
        cmocka_unit_test(silent_failure_of_an_entry_has_a_text_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
