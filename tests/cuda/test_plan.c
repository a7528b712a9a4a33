/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts as runs, rows and planes: pure arithmetic against a copy element by element. */
#include "support/storage_test.h"

#include "../../src/cuda/cuda_internal.h"

enum { BYTES = 40000, ROUNDS = 4000 };

static uint64_t dice = 1;

static int64_t roll(int64_t below)
{
    dice = dice * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((dice >> 33) % (uint64_t)below);
}

typedef struct layout {
    int rank;
    int64_t shape[5];
    int64_t strides[2][5]; /* elements */
    int64_t offset[2];
} layout;

/* Two layouts of one shape; the first without two indices on one element, the second perhaps with. */
static void any_layouts(layout *of, int64_t most)
{
    of->rank = (int)roll(6);
    for (;;) {
        bool fits = true;
        for (int axis = 0; axis < of->rank; axis++) {
            of->shape[axis] = 1 + roll(roll(2) == 0 ? 4 : 9);
        }
        for (int side = 0; side < 2; side++) {
            int order[5] = {0, 1, 2, 3, 4};
            int64_t step = 1;
            int64_t reach = 0;
            const bool plain = roll(3) == 0;
            of->offset[side] = 0;
            for (int at = of->rank - 1; at > 0 && !plain; at--) {
                const int other = (int)roll(at + 1);
                const int kept = order[at];
                order[at] = order[other];
                order[other] = kept;
            }
            for (int at = 0; at < of->rank; at++) {
                const int axis = order[at];
                step += !plain && roll(5) == 0 ? step : 0;
                of->strides[side][axis] = step;
                if (side == 1 && roll(8) == 0) {
                    of->strides[side][axis] = 0;
                    continue;
                }
                reach += step * (of->shape[axis] - 1);
                if (!plain && roll(5) == 0) {
                    of->offset[side] += step * (of->shape[axis] - 1);
                    of->strides[side][axis] = -step;
                }
                step *= of->shape[axis] + (plain ? 0 : roll(2));
            }
            fits = fits && reach < most;
        }
        if (fits) {
            return;
        }
    }
}

static void naive(const layout *of, int64_t element, char *target, const char *source)
{
    int64_t index[5] = {0};
    for (;;) {
        int64_t t = of->offset[0];
        int64_t s = of->offset[1];
        for (int axis = 0; axis < of->rank; axis++) {
            t += index[axis] * of->strides[0][axis];
            s += index[axis] * of->strides[1][axis];
        }
        memcpy(target + t * element, source + s * element, (size_t)element);
        int axis = 0;
        for (; axis < of->rank && ++index[axis] == of->shape[axis]; axis++) {
            index[axis] = 0;
        }
        if (axis == of->rank) {
            return;
        }
    }
}

/* What the driver would do, with its conditions. */
static void run_plan(const tnri_plan *plan, char *target, const char *source)
{
    int64_t index[TNR_MAX_RANK] = {0};
    target += plan->begin[0];
    source += plan->begin[1];
    for (uint64_t operation = 0; operation < plan->operations; operation++) {
        char *t = target;
        const char *s = source;
        for (int loop = 0; loop < plan->loops; loop++) {
            t += index[loop] * plan->strides[0][loop];
            s += index[loop] * plan->strides[1][loop];
        }
        for (uint64_t plane = 0; plane < plan->depth; plane++) {
            for (uint64_t row = 0; row < plan->height; row++) {
                memcpy(t + (plane * plan->slice[0] + row) * plan->pitch[0],
                       s + (plane * plan->slice[1] + row) * plan->pitch[1], plan->width);
            }
        }
        for (int loop = 0; loop < plan->loops && ++index[loop] == plan->shape[loop]; loop++) {
            index[loop] = 0;
        }
    }
    for (int side = 0; side < 2; side++) {
        assert_true(plan->height == 1 || (plan->pitch[side] >= plan->width && plan->pitch[side] <= INT32_MAX));
        assert_true(plan->depth == 1 || (plan->height > 1 && plan->slice[side] >= plan->height));
    }
}

static void fill(char *bytes)
{
    for (int at = 0; at < BYTES; at++) {
        bytes[at] = (char)roll(256);
    }
}

static void plans_copy_what_they_should(void **state)
{
    (void)state;
    static char source[BYTES];
    static char expected[BYTES];
    static char found[BYTES];
    static const int64_t elements[] = {1, 4, 8, 16};
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t element = elements[roll(4)];
        layout of;
        tnri_plan plan;
        int64_t strides[2][5];
        any_layouts(&of, BYTES / element);
        for (int axis = 0; axis < of.rank; axis++) {
            strides[0][axis] = of.strides[0][axis] * element;
            strides[1][axis] = of.strides[1][axis] * element;
        }
        fill(source);
        memset(expected, 0x55, sizeof(expected));
        memset(found, 0x55, sizeof(found));
        naive(&of, element, expected, source);
        tnri_plan_make(&plan, INT32_MAX, (uint64_t)element, of.rank, of.shape, strides[0], strides[1]);
        run_plan(&plan, found + of.offset[0] * element, source + of.offset[1] * element);
        assert_memory_equal(found, expected, sizeof(found));
    }
}

static void known_plans(void **state)
{
    (void)state;
    tnri_plan plan;
    /* dense: one run */
    tnri_plan_make(&plan, INT32_MAX, 4, 3, SHAPE(5, 6, 7), SHAPE(4, 20, 120), SHAPE(4, 20, 120));
    assert_int_equal(plan.width, 840);
    assert_int_equal(plan.operations * plan.height * plan.depth, 1);
    /* rows, planes, and one level more */
    tnri_plan_make(&plan, INT32_MAX, 4, 4, SHAPE(5, 6, 7, 3), SHAPE(4, 40, 400, 4000), SHAPE(4, 20, 120, 840));
    assert_int_equal(plan.width, 20);
    assert_int_equal(plan.height * plan.depth * plan.operations, 6 * 7 * 3);
    assert_int_equal(plan.operations, 3);
    /* transposed: a row of elements at a time */
    tnri_plan_make(&plan, INT32_MAX, 8, 2, SHAPE(10, 20), SHAPE(8, 80), SHAPE(160, 8));
    assert_int_equal(plan.width, 8);
    assert_int_equal(plan.operations, 10);
    assert_int_equal(plan.height, 20);
    /* backwards on both sides is forwards */
    tnri_plan_make(&plan, INT32_MAX, 8, 1, SHAPE(10), SHAPE(-8), SHAPE(-8));
    assert_int_equal(plan.width, 80);
    assert_int_equal(plan.begin[0], -72);
    /* overlapping windows: rows and planes that step alike are no planes of rows */
    tnri_plan_make(&plan, INT32_MAX, 8, 3, SHAPE(2, 3, 4), SHAPE(8, 24, 72), SHAPE(8, 16, 16));
    assert_int_equal(plan.depth, 1);
    assert_int_equal(plan.height, 4);
    assert_int_equal(plan.operations, 3);
    /* a step that the driver says it takes, and one more than that */
    tnri_plan_make(&plan, 104, 8, 2, SHAPE(2, 3), SHAPE(8, 104), SHAPE(8, 16));
    assert_int_equal(plan.operations, 1);
    tnri_plan_make(&plan, 103, 8, 2, SHAPE(2, 3), SHAPE(8, 104), SHAPE(8, 16));
    assert_int_equal(plan.operations, 3);
    /* a step that no pitch can be */
    tnri_plan_make(&plan, INT32_MAX, 8, 2, SHAPE(2, 3), SHAPE(8, INT64_C(1) << 40), SHAPE(8, 16));
    assert_int_equal(plan.width, 16);
    assert_int_equal(plan.operations, 3);
}

/* Pieces: each element of the device's side once, none larger than a chunk, and packing and unpacking is the copy. */
static void pieces_cover_everything(void **state)
{
    (void)state;
    static char away[BYTES];
    static char expected[BYTES];
    static char found[BYTES];
    static char chunk[BYTES];
    for (int round = 0; round < ROUNDS; round++) {
        layout of;
        tnri_pair pair;
        tnri_piece piece;
        const int64_t element = 4;
        const uint64_t most = (uint64_t)(16 + roll(400));
        uint64_t bytes = 0;
        any_layouts(&of, BYTES / element);
        fill(away);
        memset(expected, 0x55, sizeof(expected));
        memset(found, 0x55, sizeof(found));
        naive(&of, element, expected, away);
        tnri_pair_make(&pair, (size_t)element, of.rank, of.shape, of.strides[1], of.strides[0]);
        tnri_piece_first(&pair, most, &piece);
        do {
            assert_true(piece.bytes <= most);
            bytes += piece.bytes;
            int64_t compact[TNR_MAX_RANK];
            int64_t packed[TNR_MAX_RANK];
            tnri_plan plan;
            tnr_provider.compact_strides(piece.rank, piece.shape, compact);
            for (int axis = 0; axis < piece.rank; axis++) {
                packed[axis] = compact[axis] * element;
            }
            tnri_plan_make(&plan, INT32_MAX, (uint64_t)element, piece.rank, piece.shape, packed, pair.away);
            run_plan(&plan, chunk, away + of.offset[1] * element + pair.away_begin + tnri_piece_away(&pair, &piece));
            int64_t shape[TNR_MAX_RANK];
            int64_t host[TNR_MAX_RANK];
            int rank = 0;
            for (; rank < piece.rank; rank++) {
                shape[rank] = piece.shape[rank];
                host[rank] = pair.host[rank];
            }
            for (int repeat = 0; repeat < pair.repeats; repeat++, rank++) {
                shape[rank] = pair.repeat_shape[repeat];
                host[rank] = pair.repeat_host[repeat];
                compact[rank] = 0;
            }
            tnr_provider.copy_elements((size_t)element, rank, shape,
                                       found +
                                           (of.offset[0] + pair.host_begin + tnri_piece_host(&pair, &piece)) * element,
                                       host, chunk, compact);
        } while (tnri_piece_next(&pair, most, &piece));
        assert_int_equal(bytes, pair.bytes);
        assert_memory_equal(found, expected, sizeof(found));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_copy_what_they_should),
        cmocka_unit_test(known_plans),
        cmocka_unit_test(pieces_cover_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
