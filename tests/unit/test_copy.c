/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The strided copy against a loop over indices: random shapes, padded, permuted, reversed and broadcast layouts, every
 * element size; bytes between the target's elements must stay as they were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/storage.h"

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int64_t random_below(int64_t limit) { return (int64_t)(random_next() % (uint64_t)limit); }

static void seed(void)
{
    const char *text = getenv("TENURE_TEST_SEED");
    random_state = text != NULL ? strtoull(text, NULL, 10) : 20260211U;
    random_state += random_state == 0;
    print_message("seed %llu\n", (unsigned long long)random_state);
}

#define MAX_AXES 6

/* A layout inside a buffer of `elements` elements. */
typedef struct layout {
    int64_t strides[MAX_AXES];
    int64_t first;
    int64_t elements;
} layout;

/* Distinct elements: axes stacked in random order with random gaps, some reversed. `broadcast` may zero some strides. */
static layout random_layout(int rank, const int64_t *shape, bool broadcast)
{
    layout made = {{0}, 0, 0};
    int order[MAX_AXES];
    for (int i = 0; i < rank; ++i) {
        order[i] = i;
    }
    const bool shuffled = random_below(3) != 0;
    for (int i = rank - 1; i > 0 && shuffled; --i) {
        const int j = (int)random_below(i + 1);
        const int axis = order[i];
        order[i] = order[j];
        order[j] = axis;
    }
    const bool gaps = random_below(2) != 0;
    int64_t step = gaps ? 1 + random_below(3) : 1;
    for (int i = 0; i < rank; ++i) {
        const int axis = order[i];
        if (shape[axis] == 1 && random_below(3) == 0) { /* a stride that means nothing */
            made.strides[axis] = random_below(2) == 0 ? INT64_MAX : INT64_MIN;
            continue;
        }
        if (broadcast && random_below(4) == 0) {
            made.strides[axis] = 0;
            continue;
        }
        made.strides[axis] = step;
        const int64_t extent = shape[axis] == 0 ? 1 : shape[axis];
        made.elements += step * (extent - 1);
        step *= extent;
        if (gaps) {
            step += random_below(3);
        }
        if (random_below(3) == 0) {
            made.first += made.strides[axis] * (extent - 1);
            made.strides[axis] = -made.strides[axis];
        }
    }
    made.elements += 1;
    return made;
}

static void check_copy(size_t width, int rank, const int64_t *shape, const layout *to, const layout *from)
{
    const size_t target_bytes = (size_t)to->elements * width;
    const size_t source_bytes = (size_t)from->elements * width;
    unsigned char *target = malloc(target_bytes);
    unsigned char *expected = malloc(target_bytes);
    unsigned char *source = malloc(source_bytes);
    assert_true(target != NULL && expected != NULL && source != NULL);
    memset(target, 0xA5, target_bytes);
    memset(expected, 0xA5, target_bytes);
    for (size_t i = 0; i < source_bytes; ++i) {
        source[i] = (unsigned char)random_next();
    }
    int64_t index[MAX_AXES] = {0};
    bool more = true;
    for (int i = 0; i < rank; ++i) {
        more = more && shape[i] > 0;
    }
    while (more) {
        int64_t t = to->first;
        int64_t s = from->first;
        for (int i = 0; i < rank; ++i) {
            t += index[i] * to->strides[i];
            s += index[i] * from->strides[i];
        }
        memcpy(expected + (size_t)t * width, source + (size_t)s * width, width);
        more = false;
        for (int i = 0; i < rank; ++i) {
            if (++index[i] < shape[i]) {
                more = true;
                break;
            }
            index[i] = 0;
        }
    }
    tnri_copy_elements(width, rank, shape, target + (size_t)to->first * width, to->strides,
                       source + (size_t)from->first * width, from->strides);
    assert_memory_equal(target, expected, target_bytes);
    free(target);
    free(expected);
    free(source);
}

static void test_copy_random_layouts(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 4, 8, 16};
    for (int round = 0; round < 6000; ++round) {
        const int rank = (int)random_below(MAX_AXES);
        int64_t shape[MAX_AXES];
        for (int i = 0; i < rank; ++i) {
            const int64_t kind = random_below(12);
            shape[i] = kind == 0 ? 0 : kind < 4 ? 1 : kind < 6 && rank < 4 ? random_below(40) : 1 + random_below(5);
        }
        const layout to = random_layout(rank, shape, false);
        const layout from = random_layout(rank, shape, true);
        check_copy(widths[random_below(4)], rank, shape, &to, &from);
    }
}

/* Matrices around the tile sides, plainly transposed: full tiles and every kind of rest. */
static void test_copy_transposes_every_size(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 4, 8, 16};
    static const int64_t extents[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65};
    for (size_t w = 0; w < 4; ++w) {
        for (size_t a = 0; a < sizeof extents / sizeof *extents; ++a) {
            for (size_t b = 0; b < sizeof extents / sizeof *extents; ++b) {
                const int64_t shape[2] = {extents[a], extents[b]};
                const layout to = {{1, shape[0]}, 0, shape[0] * shape[1]};
                const layout from = {{shape[1], 1}, 0, shape[0] * shape[1]};
                check_copy(widths[w], 2, shape, &to, &from);
            }
        }
    }
}

static void test_copy_ignores_strides_of_an_empty_shape(void **state)
{
    (void)state;
    const int64_t shape[3] = {INT64_MAX, 0, 5};
    const int64_t strides[3] = {INT64_MIN, INT64_MAX, -1};
    tnri_copy_elements(8, 3, shape, NULL, strides, NULL, strides);
    tnri_copy_elements(1, 1, shape + 1, NULL, strides, NULL, strides);
}

static void test_copy_of_one_element_ignores_strides(void **state)
{
    (void)state;
    const int64_t shape[2] = {1, 1};
    const int64_t strides[2] = {INT64_MAX, INT64_MIN};
    double target = 0.0;
    const double source = 2.5;
    tnri_copy_elements(8, 2, shape, &target, strides, &source, strides);
    assert_true(target == 2.5);
    target = 0.0;
    tnri_copy_elements(8, 0, NULL, &target, NULL, &source, NULL);
    assert_true(target == 2.5);
}

/* c32 is aligned as its float: eight-byte elements may start on a multiple of four. */
static void test_copy_takes_c32_at_float_alignment(void **state)
{
    (void)state;
    float source[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    float target[9] = {0};
    const int64_t shape[1] = {4};
    const int64_t forward[1] = {1};
    const int64_t backward[1] = {-1};
    tnri_copy_elements(8, 1, shape, target + 1, forward, source + 7, backward);
    static const float expected[9] = {0, 7, 8, 5, 6, 3, 4, 1, 2};
    for (int i = 0; i < 9; ++i) {
        assert_true(target[i] == expected[i]);
    }
}

int main(void)
{
    seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_random_layouts),
        cmocka_unit_test(test_copy_transposes_every_size),
        cmocka_unit_test(test_copy_ignores_strides_of_an_empty_shape),
        cmocka_unit_test(test_copy_of_one_element_ignores_strides),
        cmocka_unit_test(test_copy_takes_c32_at_float_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
