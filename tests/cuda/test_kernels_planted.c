/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes planted under the kernels: barriers that do nothing, a thread that is left out. Each must make results wrong, or the tests
 * of kernels would not see such a mistake in a kernel.
 */
#include "launching.h"

/* Copies 40 by 50 elements turned round. */
static bool turn_is_right(launching *of)
{
    const int64_t shape[2] = {40, 50};
    operand out;
    operand in;
    operand_make(of, &out, TNR_F32, 2, shape, false, true, false);
    operand_make(of, &in, TNR_F32, 2, (const int64_t[]){50, 40}, false, true, false);
    int64_t strides[2] = {50, 1};
    tnri_kernel_operand operands[2] = {{operand_address(&out), 4, out.strides}, {operand_address(&in), 4, strides}};
    tnri_map_layout layout;
    tnri_copy_layout_make(&layout, 2, shape, operands);
    assert_int_equal(layout.way, TNRI_WAY_TURNED);
    void *parameters[] = {&layout, &operands[0].address, &operands[1].address};
    device_launch(of, TNRI_KERNEL_turn_4, tnri_turn_blocks(&layout, 1), parameters);
    operand_fetch(of, &out);
    bool right = true;
    for (int64_t at = 0; at < out.count; at++) {
        right = right && memcmp(operand_at(&out, at), operand_at(&in, at / 40 + at % 40 * 50), 4) == 0;
    }
    operand_end(of, &in);
    operand_end(of, &out);
    return right;
}

static bool sum_is_right(launching *of)
{
    const int64_t count = 9000;
    const int64_t zero = 0;
    operand in;
    operand out;
    operand_make(of, &in, TNR_I64, 1, &count, false, true, false);
    operand_make(of, &out, TNR_I64, 0, NULL, false, true, false);
    tnri_reduce_layout layout;
    tnri_reduce_layout_make(&layout, TNRI_KERNEL_SUM, TNR_I64, 1, &count, 1, in.strides, &zero);
    uint64_t addresses[3] = {operand_address(&out), operand_address(&in),
                             device_take(of, tnri_reduce_scratch(&layout), NULL)};
    void *parameters[] = {&layout, &addresses[0], &addresses[1], &addresses[2]};
    device_launch(of, TNRI_KERNEL_reduce_i64, tnri_reduce_blocks(&layout, 1), parameters);
    tnri_reduce_layout_join(&layout);
    device_launch(of, TNRI_KERNEL_reduce_i64, tnri_reduce_blocks(&layout, 1), parameters);
    operand_fetch(of, &out);
    uint64_t sum = 0;
    int64_t got;
    memcpy(&got, operand_at(&out, 0), sizeof(got));
    for (int64_t at = 0; at < count; at++) {
        uint64_t value;
        memcpy(&value, operand_at(&in, at), sizeof(value));
        sum += value;
    }
    device_give(of, addresses[2]);
    operand_end(of, &in);
    operand_end(of, &out);
    return (uint64_t)got == sum;
}

static bool product_is_right(launching *of)
{
    const int64_t shape[2] = {40, 40};
    operand a;
    operand c;
    operand_make(of, &a, TNR_F64, 2, shape, false, true, false);
    operand_make(of, &c, TNR_F64, 2, shape, false, true, false);
    tnri_product_layout l;
    memset(&l, 0, sizeof(l));
    l.m = (tnri_product_group){.size = 40, .step = {8, 0, 8}};
    l.n = (tnri_product_group){.size = 40, .step = {0, 320, 320}};
    l.k = (tnri_product_group){.size = 40, .step = {320, 8, 0}};
    l.batch.size = 1;
    l.plain = l.overwrite = 1;
    tnri_product_layout_finish(&l, TNR_F64);
    assert_int_equal(l.splits, 1);
    uint64_t addresses[4] = {operand_address(&c), operand_address(&a), operand_address(&a), 0};
    void *parameters[] = {&l, &addresses[0], &addresses[1], &addresses[2], &addresses[3]};
    device_launch(of, TNRI_KERNEL_product_f64, 1, parameters);
    operand_fetch(of, &c);
    bool right = true;
    for (int64_t at = 0; at < c.count; at++) {
        double sum = 0.0;
        double got;
        for (int64_t k = 0; k < 40; k++) {
            double x;
            double y;
            memcpy(&x, operand_at(&a, at % 40 + k * 40), sizeof(x));
            memcpy(&y, operand_at(&a, k + at / 40 * 40), sizeof(y));
            sum += x * y;
        }
        memcpy(&got, operand_at(&c, at), sizeof(got));
        right = right && got - sum < 1e-9 && sum - got < 1e-9;
    }
    operand_end(of, &a);
    operand_end(of, &c);
    return right;
}

static bool fill_is_right(launching *of)
{
    const int64_t count = 16 * 256;
    operand out;
    operand_make(of, &out, TNR_I32, 1, &count, false, false, false);
    tnri_kernel_operand target = {operand_address(&out), 4, out.strides};
    tnri_map_layout layout;
    tnri_value value = {77777, 0};
    tnri_map_layout_make(&layout, 1, &count, 1, &target);
    layout.way = TNRI_WAY_GENERAL;
    void *parameters[] = {&layout, &target.address, &value};
    device_launch(of, TNRI_KERNEL_fill_4, 8, parameters);
    operand_fetch(of, &out);
    bool right = true;
    for (int64_t at = 0; at < out.count; at++) {
        right = right && memcmp(operand_at(&out, at), &value, 4) == 0;
    }
    operand_end(of, &out);
    return right;
}

static void nothing_planted(void **state)
{
    (void)state;
    launching of;
    launching_begin(&of, 51);
    assert_true(turn_is_right(&of));
    assert_true(sum_is_right(&of));
    assert_true(product_is_right(&of));
    assert_true(fill_is_right(&of));
    launching_end(&of);
}

static void barriers_that_do_nothing(void **state)
{
    (void)state;
    NEEDS_FAKE();
    launching of;
    launching_begin(&of, 52);
    scene_fake()->planted.no_barriers = true;
    assert_false(turn_is_right(&of));
    assert_false(sum_is_right(&of));
    assert_false(product_is_right(&of));
    scene_fake()->planted.no_barriers = false;
    launching_end(&of);
}

static void a_thread_is_left_out(void **state)
{
    (void)state;
    NEEDS_FAKE();
    launching of;
    launching_begin(&of, 53);
    scene_fake()->planted.lost_thread = true;
    assert_false(fill_is_right(&of));
    scene_fake()->planted.lost_thread = false;
    launching_end(&of);
}

/* A layout with one element too many: the fake sees the store. */
static void one_element_beyond(void **state)
{
    (void)state;
    NEEDS_FAKE();
    launching of;
    launching_begin(&of, 54);
    const int64_t count = 64; /* 256 bytes: all of the allocation */
    static const char zeros[256];
    uint64_t buffer = device_take(&of, sizeof(zeros), zeros);
    const int64_t step = 1;
    tnri_kernel_operand target = {buffer, 4, &step};
    tnri_map_layout layout;
    tnri_value value = {1, 0};
    tnri_map_layout_make(&layout, 1, &count, 1, &target);
    layout.count++;
    void *parameters[] = {&layout, &target.address, &value};
    tnr_cuda_device *device = of.s.device;
    CUfunction function = NULL;
    OK(tnri_device_enter("test", device));
    OK(tnri_kernel_get("test", device, TNRI_KERNEL_fill_4, &function));
    OK(TNRI_CUDA("test", device, launch, function, 1, 1, 1, TNRI_KERNEL_THREADS, 1, 1, 0, device->lanes[1].stream,
                 parameters, NULL));
    OK(TNRI_CUDA("test", device, stream_synchronize, device->lanes[1].stream));
    OK(tnri_device_leave(device, true, TNR_OK));
    assert_true(scene_fake()->out_of_bounds > 0);
    scene_fake()->out_of_bounds = 0;
    scene_fake()->first[0] = '\0';
    device_give(&of, buffer);
    launching_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_planted),
        cmocka_unit_test(barriers_that_do_nothing),
        cmocka_unit_test(a_thread_is_left_out),
        cmocka_unit_test(one_element_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
