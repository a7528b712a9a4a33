/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bytes a fetch reads: pure, against an element-by-element copy. */
#include "support/storage_test.h"

#include "mpi/group_internal.h"

static uint64_t random_state;

static uint64_t below(uint64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33U) % limit;
}

/* Strides of a layout that has room for every index, axes in any order, some backwards, with gaps; *low is its lowest offset. */
static int64_t draw_strides(int rank, const int64_t *shape, bool gaps, int64_t *strides, int64_t *low)
{
    int order[4] = {0, 1, 2, 3};
    int64_t next = gaps ? (int64_t)below(3) + 1 : 1;
    int64_t high = 0;
    *low = 0;
    for (int at = rank - 1; at > 0; at--) {
        const int with = (int)below((uint64_t)at + 1);
        const int other = order[at];
        order[at] = order[with];
        order[with] = other;
    }
    for (int at = 0; at < rank; at++) {
        const int axis = order[at];
        const int64_t reach = (shape[axis] - 1) * next;
        const bool back = below(3) == 0;
        strides[axis] = back ? -next : next;
        *low -= back ? reach : 0;
        high += back ? 0 : reach;
        next = next * shape[axis] + (gaps ? (int64_t)below(40) : 0);
    }
    return high - *low + 1;
}

/* Follow the plan, reading nothing but what its pieces name. */
static void run_plan(tnri_fetch_plan *plan, const char *memory, uint64_t bytes, uint64_t most)
{
    static char buffer[1 << 20];
    tnri_fetch_piece piece;
    while (tnri_fetch_plan_next(plan, &piece)) {
        assert_true(piece.begin <= bytes && piece.span <= bytes - piece.begin && piece.span > 0);
        if (plan->direct) {
            memcpy(piece.to, memory + piece.begin, piece.span);
            continue;
        }
        assert_true(piece.span <= most);
        memcpy(buffer, memory + piece.begin, piece.span);
        tnri_copy_elements(plan->element_bytes, piece.rank, piece.shape, piece.to, plan->target, buffer, plan->source);
    }
}

static void pieces_are_all_and_nothing_else(void **state)
{
    (void)state;
    static char memory[1 << 20];
    static char found[1 << 20];
    static char expected[1 << 20];
    static const uint64_t sizes[] = {1, 4, 8, 16};
    const char *given = getenv("TENURE_TEST_SEED");
    random_state = given != NULL ? strtoull(given, NULL, 0) : 12345;
    print_message("TENURE_TEST_SEED=%llu\n", (unsigned long long)random_state);
    for (size_t at = 0; at < sizeof(memory); at++) {
        memory[at] = (char)(at * 31 + at / 251);
    }
    for (int round = 0; round < 3000; round++) {
        const uint64_t size = sizes[below(4)];
        const int rank = (int)below(5);
        int64_t shape[4];
        int64_t source[4];
        int64_t target[4];
        int64_t low;
        int64_t target_low;
        for (int axis = 0; axis < rank; axis++) {
            shape[axis] = (int64_t)below(round % 3 == 0 ? 14 : 6) + (round % 17 == 0 ? 0 : 1);
        }
        bool empty = false;
        for (int axis = 0; axis < rank; axis++) {
            empty = empty || shape[axis] == 0;
        }
        const int64_t span = empty ? 1 : draw_strides(rank, shape, below(2) == 0, source, &low);
        const int64_t target_span = empty ? 1 : draw_strides(rank, shape, below(2) == 0, target, &target_low);
        if (empty) {
            memset(source, 0, sizeof(source));
            memset(target, 0, sizeof(target));
            low = 0;
            target_low = 0;
        } else if (rank > 0 && below(5) == 0) {
            source[below((uint64_t)rank)] = 0; /* broadcast: only shrinks the reach */
        }
        const uint64_t bytes = (uint64_t)span * size;
        if (bytes > sizeof(memory) || (uint64_t)target_span * size > sizeof(found)) {
            continue;
        }
        const uint64_t most = (uint64_t)4096 << below(4);
        const uint64_t start = (uint64_t)1 << below(15);
        tnri_fetch_plan plan;
        memset(found, 77, sizeof(found));
        memset(expected, 77, sizeof(expected));
        tnri_fetch_plan_make(&plan, size, rank, shape, -low * (int64_t)size, source, found - target_low * (int64_t)size,
                             target, most, start);
        run_plan(&plan, memory, bytes, most);
        tnri_copy_elements(size, rank, shape, expected - target_low * (int64_t)size, target,
                           memory - low * (int64_t)size, source);
        assert_memory_equal(found, expected, sizeof(found));
    }
}

static void near_elements_are_read_together_and_far_ones_apart(void **state)
{
    (void)state;
    tnri_fetch_plan plan;
    tnri_fetch_piece piece;
    static char to[1];
    const int64_t shape[2] = {4, 100};
    const int64_t target[2] = {1, 4};
    const int64_t near[2] = {1, 8};
    const int64_t far[2] = {1, 100000};
    const int64_t dense[2] = {1, 4};
    tnri_fetch_plan_make(&plan, 8, 2, shape, 16, near, to, target, 1 << 20, 1024);
    assert_true(tnri_fetch_plan_next(&plan, &piece));
    assert_int_equal(piece.begin, 16);
    assert_int_equal(piece.span, 99 * 64 + 32);
    assert_false(tnri_fetch_plan_next(&plan, &piece));
    int pieces = 0;
    tnri_fetch_plan_make(&plan, 8, 2, shape, 16, far, to, target, 1 << 20, 1024);
    for (; tnri_fetch_plan_next(&plan, &piece); pieces++) {
        assert_int_equal(piece.begin, 16 + pieces * 800000);
        assert_int_equal(piece.span, 32);
    }
    assert_int_equal(pieces, 100);
    tnri_fetch_plan_make(&plan, 8, 2, shape, 16, dense, to, target, 4096, 1024);
    assert_true(plan.direct);
    assert_true(tnri_fetch_plan_next(&plan, &piece));
    assert_int_equal(piece.span, 3200);
    assert_ptr_equal(piece.to, to);
}

/* MP-01: 6 GiB and one byte are read in counts that fit; nothing is touched here. */
static void large_ones_are_cut(void **state)
{
    (void)state;
    static char to[1];
    const int64_t count = (INT64_C(6) << 30U) + 1;
    const int64_t one = 1;
    tnri_fetch_plan plan;
    tnri_fetch_piece piece;
    uint64_t sum = 0;
    tnri_fetch_plan_make(&plan, 1, 1, &count, 0, &one, to, &one, 1 << 19, 1024);
    while (tnri_fetch_plan_next(&plan, &piece)) {
        assert_int_equal(piece.begin, sum);
        assert_true(piece.span >= 1 && piece.span <= 1 << 30);
        sum += piece.span;
    }
    assert_int_equal(sum, (uint64_t)count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_all_and_nothing_else),
        cmocka_unit_test(near_elements_are_read_together_and_far_ones_apart),
        cmocka_unit_test(large_ones_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
