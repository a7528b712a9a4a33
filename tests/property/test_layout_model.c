/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proofs about layouts against brute force: every element is written down. A proof must never claim what the elements
 * deny; where the documentation calls it exact, it must also claim what they show. How much is proved is printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/storage.h"
#include "support/layout_model.h"

#ifndef CASES
#define CASES 300000
#endif

/* ---- Layouts ---------------------------------------------------------------------------------------------------- */

typedef struct layout {
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
} layout;

/* Arbitrary strides, or those of slices and permutations of a compact parent, some of them disturbed. */
static layout random_layout(int max_rank, int64_t max_extent, int64_t max_stride)
{
    layout made = {.rank = (int)within(0, max_rank)};
    const bool sliced = chance(2);
    int64_t stride = 1;
    for (int i = 0; i < made.rank; i++) {
        made.shape[i] = chance(40) ? 0 : within(1, max_extent);
        made.strides[i] = within(-max_stride, max_stride);
        if (sliced) {
            const int64_t step = within(1, 3);
            made.strides[i] = stride * step * (chance(3) ? -1 : 1) + (chance(12) ? within(-2, 2) : 0);
            stride *= (made.shape[i] > 0 ? made.shape[i] - 1 : 0) * step + within(1, 2);
        }
    }
    for (int i = made.rank; i-- > 1;) {
        const int other = chance(2) ? i : (int)within(0, i);
        const int64_t extent = made.shape[i];
        const int64_t of_extent = made.strides[i];
        made.shape[i] = made.shape[other];
        made.strides[i] = made.strides[other];
        made.shape[other] = extent;
        made.strides[other] = of_extent;
    }
    return made;
}

static void reach_of(const layout *of, int64_t *low, int64_t *high)
{
    *low = 0;
    *high = 0;
    for (int i = 0; i < of->rank; i++) {
        const int64_t step = (of->shape[i] - 1) * of->strides[i];
        *(step < 0 ? low : high) += step;
    }
}

/* ---- Proofs ----------------------------------------------------------------------------------------------------- */

#define PLACES (1 << 20)
static uint8_t places[PLACES];

/* By marking every element; false in *feasible when the span is too wide for that. */
static bool truly_distinct(const layout *of, int64_t count, bool *feasible)
{
    int64_t low;
    int64_t high;
    *feasible = true;
    if (count == 0) {
        return true;
    }
    reach_of(of, &low, &high);
    if (high - low >= PLACES) {
        *feasible = false;
        return false;
    }
    memset(places, 0, (size_t)(high - low + 1));
    for (int64_t i = 0; i < count; i++) {
        int64_t index[TNR_MAX_RANK];
        index_of(of->rank, of->shape, i, index);
        uint8_t *place = &places[offset_of(of->rank, of->strides, index) - low];
        if (*place != 0) {
            return false;
        }
        *place = 1;
    }
    return true;
}

static void distinct_is_sound_and_exact_where_promised(void **state)
{
    (void)state;
    int64_t tried = 0;
    int64_t true_ones = 0;
    int64_t proved_ones = 0;
    int64_t beyond = 0;
    while (tried < CASES) {
        layout made = chance(60) ? random_layout(4, 20, 400) : random_layout(5, 6, chance(2) ? 6 : 40);
        const int64_t count = count_of(made.rank, made.shape);
        bool feasible;
        const bool truth = truly_distinct(&made, count, &feasible);
        if (!feasible || count > 200000) {
            continue;
        }
        int longer = 0;
        for (int i = 0; i < made.rank; i++) {
            longer += made.shape[i] > 1;
            if (made.shape[i] == 1 && chance(2)) {
                made.strides[i] = within(-INT64_MAX / 4, INT64_MAX / 4); /* means nothing */
            }
        }
        const bool proved = tnri_is_distinct(made.rank, made.shape, made.strides);
        if (proved && !truth) {
            fail_msg("claimed distinct: case %lld", (long long)tried);
        }
        if (count <= 4096 || longer <= 2) {
            if (proved != truth) {
                fail_msg("not exact: case %lld, %lld elements", (long long)tried, (long long)count);
            }
        } else {
            beyond++;
        }
        true_ones += truth;
        proved_ones += proved;
        tried++;
    }
    printf("distinct: %lld layouts, %lld distinct, %lld of them proved; %lld beyond the exact rules\n",
           (long long)tried, (long long)true_ones, (long long)proved_ones, (long long)beyond);
    assert_true(true_ones > CASES / 10 && true_ones < CASES && beyond > CASES / 1000);
}

/* The same answers when every stride is multiplied: the wide-span path against the narrow one. */
static void distinct_does_not_depend_on_scale(void **state)
{
    (void)state;
    int64_t distinct = 0;
    for (int i = 0; i < CASES / 10; i++) {
        layout made = random_layout(4, 6, 30);
        const int64_t count = count_of(made.rank, made.shape);
        bool feasible;
        const bool truth = truly_distinct(&made, count, &feasible);
        if (!feasible) {
            continue;
        }
        /* An axis of its own for the unit's remainder keeps the gcd at 1: one more axis, far below all others. */
        const int64_t unit = ((int64_t)1 << within(20, 44)) + within(0, 1);
        for (int axis = 0; axis < made.rank; axis++) {
            made.strides[axis] *= unit;
        }
        made.shape[made.rank] = 2;
        made.strides[made.rank++] = 1;
        if (2 * count <= 4096) {
            assert_true(tnri_is_distinct(made.rank, made.shape, made.strides) == truth);
            distinct += truth;
        }
    }
    assert_true(distinct > CASES / 300);
}

#define BASE 4096
#define REGION 8192
static uint8_t bytes_of_a[REGION];

static int64_t element_size(void)
{
    static const int64_t sizes[] = {1, 4, 8, 16};
    return sizes[within(0, 3)];
}

/* Does any byte of b fall on a byte of a? Both lie in [0, REGION). */
static bool truly_overlaps(const layout *a, int64_t at_a, int64_t size_a, const layout *b, int64_t at_b, int64_t size_b)
{
    int64_t index[TNR_MAX_RANK];
    memset(bytes_of_a, 0, sizeof bytes_of_a);
    const int64_t count_a = count_of(a->rank, a->shape);
    const int64_t count_b = count_of(b->rank, b->shape);
    for (int64_t i = 0; i < count_a; i++) {
        index_of(a->rank, a->shape, i, index);
        memset(&bytes_of_a[at_a + size_a * offset_of(a->rank, a->strides, index)], 1, (size_t)size_a);
    }
    for (int64_t i = 0; i < count_b; i++) {
        index_of(b->rank, b->shape, i, index);
        const uint8_t *first = &bytes_of_a[at_b + size_b * offset_of(b->rank, b->strides, index)];
        if (memchr(first, 1, (size_t)size_b) != NULL) {
            return true;
        }
    }
    return false;
}

static bool truly_same(const layout *a, const layout *b)
{
    if (a->rank != b->rank || !same_numbers(a->shape, b->shape, a->rank)) {
        return false;
    }
    int64_t index[TNR_MAX_RANK];
    for (int64_t i = 0; i < count_of(a->rank, a->shape); i++) {
        index_of(a->rank, a->shape, i, index);
        if (offset_of(a->rank, a->strides, index) != offset_of(b->rank, b->strides, index)) {
            return false;
        }
    }
    return true;
}

static tnr_overlap ask(const layout *a, int64_t at_a, int64_t size_a, const layout *b, int64_t at_b, int64_t size_b)
{
    const tnri_lattice left = {(uint64_t)at_a, a->rank, a->shape, a->strides, size_a};
    const tnri_lattice right = {(uint64_t)at_b, b->rank, b->shape, b->strides, size_b};
    const tnr_overlap answer = tnri_lattice_overlap(&left, &right);
    assert_int_equal(tnri_lattice_overlap(&right, &left), answer);
    return answer;
}

static bool fits_region(const layout *of, int64_t at, int64_t size)
{
    int64_t low;
    int64_t high;
    reach_of(of, &low, &high);
    return at + size * low >= 0 && at + size * (high + 1) <= REGION;
}

static void overlap_is_sound(void **state)
{
    (void)state;
    int64_t apart = 0;
    int64_t proved = 0;
    int64_t same = 0;
    for (int64_t tried = 0; tried < CASES;) {
        const layout a = random_layout(3, 5, 12);
        layout b = random_layout(3, 5, 12);
        const int64_t size_a = element_size();
        int64_t size_b = chance(2) ? size_a : element_size();
        const int64_t at_a = BASE + within(0, 3);
        int64_t at_b = at_a + within(-80, 80) * (chance(3) ? 1 : size_a);
        if (chance(3)) {
            b = a; /* the same lattice, shifted */
        }
        if (chance(20)) {
            b = a;
            size_b = size_a;
            at_b = at_a;
            if (b.rank > 0 && chance(2)) {
                b.strides[within(0, b.rank - 1)] += 1;
            }
        }
        if (!fits_region(&a, at_a, size_a) || !fits_region(&b, at_b, size_b)) {
            continue;
        }
        const bool truth = truly_overlaps(&a, at_a, size_a, &b, at_b, size_b);
        const tnr_overlap answer = ask(&a, at_a, size_a, &b, at_b, size_b);
        if (answer == TNR_OVERLAP_NONE && truth) {
            fail_msg("claimed apart: case %lld", (long long)tried);
        }
        const bool equal = truth && at_a == at_b && size_a == size_b && truly_same(&a, &b);
        if ((answer == TNR_OVERLAP_SAME) != equal) {
            fail_msg("same or not: case %lld", (long long)tried);
        }
        apart += !truth;
        proved += answer == TNR_OVERLAP_NONE;
        same += equal;
        tried++;
    }
    printf("overlap: %d arbitrary pairs, %lld apart, %lld of them proved (%.1f %%)\n", CASES, (long long)apart,
           (long long)proved, 100.0 * (double)proved / (double)apart);
    assert_true(apart > CASES / 10 && apart < CASES && same > 100 && proved > apart / 4);
}

/* Two blocks of one compact parent, as programs cut them: ranges on every axis, few steps. */
static void overlap_of_blocks(void **state)
{
    (void)state;
    int64_t apart = 0;
    int64_t proved = 0;
    for (int64_t tried = 0; tried < CASES; tried++) {
        layout block[2] = {{.rank = (int)within(1, 3)}, {0}};
        int64_t at[2] = {0, 0};
        block[1].rank = block[0].rank;
        int64_t stride = 1;
        for (int axis = 0; axis < block[0].rank; axis++) {
            const int64_t extent = within(1, 9);
            for (int i = 0; i < 2; i++) {
                const int64_t step = chance(5) ? within(1, 3) : 1;
                const int64_t first = within(0, extent - 1);
                const int64_t last = within(first, extent - 1);
                block[i].shape[axis] = (last - first) / step + 1;
                block[i].strides[axis] = stride * step;
                at[i] += first * stride * 8;
            }
            stride *= extent;
        }
        const bool truth = truly_overlaps(&block[0], at[0], 8, &block[1], at[1], 8);
        const tnr_overlap answer = ask(&block[0], at[0], 8, &block[1], at[1], 8);
        if (answer == TNR_OVERLAP_NONE && truth) {
            fail_msg("claimed apart: case %lld", (long long)tried);
        }
        apart += !truth;
        proved += answer == TNR_OVERLAP_NONE;
    }
    printf("overlap: %d pairs of blocks, %lld apart, %lld of them proved (%.1f %%)\n", CASES, (long long)apart,
           (long long)proved, 100.0 * (double)proved / (double)apart);
    assert_true(apart > CASES / 10 && proved > apart / 10 * 9);
}

static void bounds_are_those_of_the_elements(void **state)
{
    (void)state;
    int64_t inside = 0;
    for (int tried = 0; tried < CASES; tried++) {
        const layout made = random_layout(4, 5, 9);
        const int64_t count = count_of(made.rank, made.shape);
        const int64_t elements = within(0, 80);
        const int64_t offset = within(-3, 60);
        bool truth = count != 0 || (offset >= 0 && offset <= elements);
        int64_t next = 0;
        for (int64_t i = 0; i < count && truth; i++) {
            int64_t index[TNR_MAX_RANK];
            index_of(made.rank, made.shape, i, index);
            const int64_t at = offset + offset_of(made.rank, made.strides, index);
            truth = at >= 0 && at < elements;
        }
        int64_t answer = -1;
        const tnr_status status =
            tnri_layout_check("test", made.rank, made.shape, made.strides, offset, elements, &answer);
        assert_int_equal(status, truth ? TNR_OK : TNR_ERR_BOUNDS);
        assert_true(!truth || answer == count);
        inside += truth;
        /* compact: elements 0, 1, 2, ... in order */
        bool compact = true;
        for (int64_t i = 0; i < count && compact; i++) {
            int64_t index[TNR_MAX_RANK];
            index_of(made.rank, made.shape, i, index);
            compact = offset_of(made.rank, made.strides, index) == next++;
        }
        assert_true(tnri_is_compact(made.rank, made.shape, made.strides) == compact);
    }
    assert_true(inside > CASES / 50 && inside < CASES);
}

int main(void)
{
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct_is_sound_and_exact_where_promised),
        cmocka_unit_test(distinct_does_not_depend_on_scale),
        cmocka_unit_test(overlap_is_sound),
        cmocka_unit_test(overlap_of_blocks),
        cmocka_unit_test(bounds_are_those_of_the_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
