/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The strided copy against a loop over indices: random shapes, padded, permuted, reversed and broadcast layouts, every
 * element size, every instruction set of the machine, with and without streaming stores, whole and in pieces of any order;
 * bytes between and around the target's elements must stay as they were.
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

/* Bytes around a buffer that no copy may touch. */
#define GUARD 128

/* Every element one by one. */
static void copy_plainly(size_t width, int rank, const int64_t *shape, unsigned char *target, const layout *to,
                         const unsigned char *source, const layout *from)
{
    int64_t index[MAX_AXES] = {0};
    bool more = true;
    for (int i = 0; i < rank; ++i) {
        more = more && shape[i] > 0;
    }
    while (more) {
        int64_t t = to->first;
        int64_t s = from->first;
        for (int i = 0; i < rank; ++i) {
            t += index[i] == 0 ? 0 : index[i] * to->strides[i];
            s += index[i] == 0 ? 0 : index[i] * from->strides[i];
        }
        memcpy(target + t * (int64_t)width, source + s * (int64_t)width, width);
        more = false;
        for (int i = 0; i < rank; ++i) {
            if (++index[i] < shape[i]) {
                more = true;
                break;
            }
            index[i] = 0;
        }
    }
}

/* One of the ways to copy: instruction set, stores, pieces. */
typedef struct way {
    int isa; /* -1: tnri_copy_elements */
    bool streams;
    int64_t pieces;
} way;

static void run_way(const way *how, size_t width, int rank, const int64_t *shape, unsigned char *target,
                    const layout *to, const unsigned char *source, const layout *from)
{
    if (how->isa < 0) {
        tnri_copy_elements(width, rank, shape, target, to->strides, source, from->strides);
        return;
    }
    tnri_copy_plan plan;
    tnri_copy_plan_make(&plan, tnri_copy_kernels_of((tnri_isa)how->isa), how->streams, width, rank, shape, target,
                        to->strides, source, from->strides);
    int64_t order[8] = {0};
    for (int64_t i = 0; i < how->pieces; ++i) {
        const int64_t at = random_below(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int64_t i = 0; i < how->pieces; ++i) {
        tnri_copy_plan_run(&plan, order[i], how->pieces);
    }
}

/* `skew` elements before the first one: where in a cache line things start. */
static void check_way(const way *how, size_t width, int rank, const int64_t *shape, const layout *to,
                      const layout *from, int64_t skew)
{
    const size_t before = GUARD + (size_t)skew * width;
    const size_t target_bytes = (size_t)to->elements * width + before + GUARD;
    const size_t source_bytes = (size_t)from->elements * width + before;
    unsigned char *target = aligned_alloc(64, (target_bytes + 63) / 64 * 64);
    unsigned char *expected = malloc(target_bytes);
    unsigned char *source = malloc(source_bytes);
    assert_true(target != NULL && expected != NULL && source != NULL);
    memset(target, 0xA5, target_bytes);
    memset(expected, 0xA5, target_bytes);
    for (size_t i = 0; i < source_bytes; i += sizeof(uint64_t)) {
        const uint64_t word = random_next();
        memcpy(source + i, &word, source_bytes - i < sizeof word ? source_bytes - i : sizeof word);
    }
    const size_t first_target = before + (size_t)to->first * width;
    const size_t first_source = before + (size_t)from->first * width;
    layout plain_to = *to;
    layout plain_from = *from;
    plain_to.first = plain_from.first = 0;
    copy_plainly(width, rank, shape, expected + first_target, &plain_to, source + first_source, &plain_from);
    run_way(how, width, rank, shape, target + first_target, to, source + first_source, from);
    if (memcmp(target, expected, target_bytes) != 0) {
        print_message("isa %d, streams %d, pieces %lld, width %d, shape", how->isa, how->streams,
                      (long long)how->pieces, (int)width);
        for (int i = 0; i < rank; ++i) {
            print_message(" %lld (%lld <- %lld)", (long long)shape[i], (long long)to->strides[i],
                          (long long)from->strides[i]);
        }
        print_message("\n");
    }
    assert_memory_equal(target, expected, target_bytes);
    free(target);
    free(expected);
    free(source);
}

static way random_way(void)
{
    const way how = {(int)random_below((int64_t)tnri_isa_best() + 2) - 1, random_below(3) != 0, 1 + random_below(8)};
    return how;
}

static void check_copy(size_t width, int rank, const int64_t *shape, const layout *to, const layout *from)
{
    const way how = random_way();
    check_way(&how, width, rank, shape, to, from, random_below(3) == 0 ? random_below(64) : 0);
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

/* Larger, in three or four axes: every mode of the plan, with lines that are whole or shared between blocks. */
static void test_copy_permutes_blocks_of_every_kind(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 4, 8, 16};
    static const int64_t extents[] = {16, 32, 64, 96, 128, 5, 17, 75, 100, 1, 2, 3, 48};
    for (int round = 0; round < 1500; ++round) {
        const int rank = 2 + (int)random_below(3);
        const size_t width = widths[random_below(4)];
        int64_t shape[MAX_AXES];
        int64_t count = 1;
        for (int i = 0; i < rank; ++i) {
            shape[i] = extents[random_below(sizeof extents / sizeof *extents)];
            if (count * shape[i] > 60000) {
                shape[i] = 2;
            }
            count *= shape[i];
        }
        layout to = {{0}, 0, 0};
        if (random_below(2) == 0) {
            int64_t step = 1;
            for (int i = 0; i < rank; ++i) {
                to.strides[i] = step;
                step *= shape[i];
            }
            to.elements = step;
        } else {
            to = random_layout(rank, shape, false);
        }
        const layout from = random_layout(rank, shape, random_below(4) == 0);
        check_copy(width, rank, shape, &to, &from);
    }
}

/* Compact on both sides, of whole lines: blocks with one and with several axes in their runs, with and without a second axis. */
static void test_copy_puts_runs_together(void **state)
{
    (void)state;
    static const struct {
        int rank;
        int axes[MAX_AXES]; /* of the source, in the target's order */
        int64_t shape[MAX_AXES];
    } cases[] = {
        {3, {1, 0, 2}, {96, 128, 3}},      {3, {2, 1, 0}, {64, 10, 128}},     {3, {2, 1, 0}, {128, 4, 48}},
        {4, {3, 2, 1, 0}, {16, 6, 8, 16}}, {4, {0, 3, 2, 1}, {16, 5, 16, 7}}, {4, {3, 2, 1, 0}, {128, 3, 12, 20}},
        {3, {1, 0, 2}, {64, 70, 4}},       {4, {0, 2, 3, 1}, {16, 9, 8, 32}},
    };
    bool several = false;
    bool second = false;
    bool rows = false;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; ++n) {
        for (size_t width = 1; width <= 16; width = width == 1 ? 4 : 2 * width) {
            const int rank = cases[n].rank;
            layout to = {{0}, 0, 1};
            layout from = {{0}, 0, 1};
            int64_t shape[MAX_AXES];
            int64_t source_strides[MAX_AXES];
            for (int i = 0; i < rank; ++i) {
                source_strides[i] = from.elements;
                from.elements *= cases[n].shape[i];
            }
            for (int i = 0; i < rank; ++i) {
                shape[i] = cases[n].shape[cases[n].axes[i]];
                from.strides[i] = source_strides[cases[n].axes[i]];
                to.strides[i] = to.elements;
                to.elements *= shape[i];
            }
            static _Alignas(64) char place[64]; /* never touched: only the plan is looked at */
            tnri_copy_plan plan;
            tnri_copy_plan_make(&plan, tnri_copy_kernels_of(tnri_isa_best()), true, width, rank, shape, place,
                                to.strides, place, from.strides);
            if (plan.mode == TNRI_COPY_BLOCKS) {
                several = several || plan.cut > 0;
                second = second || plan.second >= 0;
                rows = rows || from.strides[0] == 1;
            }
            for (int isa = 0; isa <= (int)tnri_isa_best(); ++isa) {
                for (int64_t pieces = 1; pieces <= 7; pieces += 3) {
                    const way how = {isa, true, pieces};
                    check_way(&how, width, rank, shape, &to, &from, 0);
                }
            }
        }
    }
    assert_true(several && second && rows);
}

/* A few MiB through tnri_copy_elements and each instruction set: power-of-two strides, and shapes with odd edges. */
static void test_copy_large(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {
        {1024, 64, 32}, {1023, 65, 33}, {16, 512, 256}, {2048, 1024, 1}, {3, 1000, 700}};
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        for (size_t o = 0; o < sizeof orders / sizeof *orders; ++o) {
            layout to = {{0}, 0, 1};
            layout from = {{0}, 0, 1};
            for (int i = 0; i < 3; ++i) {
                to.strides[i] = to.elements;
                to.elements *= shapes[s][i];
                from.strides[orders[o][i]] = from.elements;
                from.elements *= shapes[s][orders[o][i]];
            }
            const way whole = {-1, false, 1};
            check_way(&whole, 4, 3, shapes[s], &to, &from, random_below(2));
            for (int isa = 0; isa <= (int)tnri_isa_best(); ++isa) {
                const way how = {isa, true, 1 + random_below(8)};
                check_way(&how, 8, 3, shapes[s], &to, &from, random_below(2));
            }
        }
    }
}

/* No two pieces of a plan write one element, and together they write all: each piece alone, added up. */
static void test_copy_pieces_are_apart(void **state)
{
    (void)state;
    const int64_t shape[3] = {40, 24, 16};
    const int64_t target_strides[3] = {1, 40, 960};
    const int64_t source_strides[3] = {384, 16, 1};
    static double source[15360];
    static double target[15360];
    static unsigned char written[15360];
    for (int streams = 0; streams < 2; ++streams) {
        for (int64_t pieces = 1; pieces <= 100; pieces += 11) {
            memset(written, 0, sizeof written);
            for (int i = 0; i < 15360; ++i) {
                source[i] = 1.0;
            }
            for (int64_t piece = 0; piece < pieces; ++piece) {
                memset(target, 0, sizeof target);
                tnri_copy_plan plan;
                tnri_copy_plan_make(&plan, tnri_copy_kernels_of(tnri_isa_best()), streams != 0, 8, 3, shape, target,
                                    target_strides, source, source_strides);
                assert_int_equal(plan.bytes, sizeof target);
                tnri_copy_plan_run(&plan, piece, pieces);
                for (int i = 0; i < 15360; ++i) {
                    written[i] = (unsigned char)(written[i] + (target[i] == 1.0));
                }
            }
            for (int i = 0; i < 15360; ++i) {
                assert_int_equal(written[i], 1);
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
        cmocka_unit_test(test_copy_permutes_blocks_of_every_kind),
        cmocka_unit_test(test_copy_puts_runs_together),
        cmocka_unit_test(test_copy_large),
        cmocka_unit_test(test_copy_pieces_are_apart),
        cmocka_unit_test(test_copy_ignores_strides_of_an_empty_shape),
        cmocka_unit_test(test_copy_of_one_element_ignores_strides),
        cmocka_unit_test(test_copy_takes_c32_at_float_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
