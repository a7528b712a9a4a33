/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributions as arithmetic: block ranges, parts, and where two distributions meet, against counting index by index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "../../src/mpi/distribution_internal.h"

static uint64_t random_state;

static int64_t below(int64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)((random_state >> 11) % (uint64_t)limit);
}

static void test_mp_08_block_ranges(void **state)
{
    (void)state;
    int64_t start;
    int64_t count;
    for (int part = 0; part < 8; part++) {
        assert_int_equal(tnr_block_range(5, 8, part, &start, &count), TNR_OK);
        assert_int_equal(count, part < 5 ? 1 : 0);
        assert_int_equal(start, part < 5 ? part : 5);
    }
    const int64_t counts[] = {2863311533, 2863311532, 2863311532};
    int64_t next = 0;
    for (int part = 0; part < 3; part++) {
        assert_int_equal(tnr_block_range(8589934597, 3, part, &start, &count), TNR_OK);
        assert_int_equal(count, counts[part]);
        assert_int_equal(start, next);
        next += count;
    }
    assert_int_equal(tnr_block_range(INT64_MAX, INT32_MAX, INT32_MAX - 1, &start, &count), TNR_OK);
    assert_int_equal(start + count, INT64_MAX);
    assert_int_equal(tnr_block_range(5, 0, 0, &start, &count), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_block_range(-1, 2, 0, &start, &count), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_block_range(5, 2, 2, &start, &count), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_block_range(5, 2, -1, &start, &count), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_block_range(5, 2, 1, NULL, &count), TNR_ERR_ARGUMENT);
}

/* ---- One axis, index by index ------------------------------------------------------------------------------------------------------ */

enum { MOST = 200, PARTS = 9 };

typedef struct random_cut {
    tnr_axis_cut cut;
    int64_t starts[PARTS + 1];
} random_cut;

static void draw_cut(random_cut *of, int64_t extent)
{
    memset(of, 0, sizeof(*of));
    of->cut.parts = 1 + (int)below(PARTS);
    switch (below(4)) {
    case 0:
        break;
    case 1:
        for (int part = 1; part < of->cut.parts; part++) {
            of->starts[part] = below(extent + 1);
        }
        for (int part = 1; part < of->cut.parts; part++) { /* sorted by insertion */
            for (int at = part; at > 1 && of->starts[at - 1] > of->starts[at]; at--) {
                const int64_t kept = of->starts[at];
                of->starts[at] = of->starts[at - 1];
                of->starts[at - 1] = kept;
            }
        }
        of->starts[of->cut.parts] = extent;
        of->cut.starts = of->starts;
        break;
    default:
        of->cut.block = 1 + below(below(2) == 0 ? 4 : 40);
        break;
    }
}

/* Which part has an index, and where. */
static void owner(const tnr_axis_cut *cut, int64_t extent, int64_t index, int *part, int64_t *place)
{
    if (cut->block != 0) {
        *part = (int)(index / cut->block % cut->parts);
        *place = index / cut->block / cut->parts * cut->block + index % cut->block;
        return;
    }
    for (int p = 0; p < cut->parts; p++) {
        int64_t start;
        int64_t count;
        if (cut->starts != NULL) {
            start = cut->starts[p];
            count = cut->starts[p + 1] - start;
        } else {
            assert_int_equal(tnr_block_range(extent, cut->parts, p, &start, &count), TNR_OK);
        }
        if (index >= start && index < start + count) {
            *part = p;
            *place = index - start;
            return;
        }
    }
    fail_msg("nobody has index %lld", (long long)index);
}

static void test_parts_against_counting(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        const int64_t extent = below(MOST);
        random_cut of;
        int64_t counts[PARTS] = {0};
        draw_cut(&of, extent);
        for (int64_t index = 0; index < extent; index++) {
            int part = 0;
            int64_t place = 0;
            owner(&of.cut, extent, index, &part, &place);
            assert_int_equal(place, counts[part]); /* places go up without a gap */
            counts[part]++;
        }
        for (int part = 0; part < of.cut.parts; part++) {
            tnri_axis_part made;
            tnri_axis_part_make(&of.cut, extent, part, &made);
            assert_int_equal(tnri_axis_part_count(&made), counts[part]);
        }
    }
}

static void test_stretches_against_counting(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        const int64_t extent = below(MOST);
        random_cut from;
        random_cut to;
        draw_cut(&from, extent);
        draw_cut(&to, extent);
        const bool repeats = below(4) != 0;
        int seen[MOST] = {0};
        int64_t at[PARTS][MOST]; /* index at a place of a part of `from` */
        for (int64_t index = 0; index < extent; index++) {
            int part = 0;
            int64_t place = 0;
            owner(&from.cut, extent, index, &part, &place);
            at[part][place] = index;
        }
        for (int p = 0; p < from.cut.parts; p++) {
            for (int q = 0; q < to.cut.parts; q++) {
                tnri_axis_part a;
                tnri_axis_part b;
                tnri_meet meet;
                tnri_stretch stretch;
                tnri_axis_part_make(&from.cut, extent, p, &a);
                tnri_axis_part_make(&to.cut, extent, q, &b);
                tnri_meet_start(&meet, &a, &b, repeats);
                while (tnri_meet_next(&meet, &stretch)) {
                    assert_true(stretch.run > 0 && stretch.count > 0 && (repeats || stretch.count == 1));
                    for (int64_t i = 0; i < stretch.count; i++) {
                        for (int64_t j = 0; j < stretch.run; j++) {
                            const int64_t index = at[p][stretch.from + i * stretch.from_step + j];
                            int part = 0;
                            int64_t place = 0;
                            owner(&to.cut, extent, index, &part, &place);
                            assert_int_equal(part, q);
                            assert_int_equal(place, stretch.to + i * stretch.to_step + j);
                            seen[index]++;
                        }
                    }
                }
            }
        }
        for (int64_t index = 0; index < extent; index++) {
            assert_int_equal(seen[index], 1);
        }
    }
}

/* Cyclic axes are a few strided stretches, however long they are. */
static void test_few_stretches(void **state)
{
    (void)state;
    const int64_t extent = INT64_C(1) << 40;
    const tnr_axis_cut blocks = {4, 0, NULL};
    const tnr_axis_cut cyclic = {3, 64, NULL};
    const tnr_axis_cut other = {4, 16, NULL};
    const tnr_axis_cut *cuts[] = {&blocks, &cyclic, &other};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            int64_t total = 0;
            for (int p = 0; p < cuts[i]->parts; p++) {
                for (int q = 0; q < cuts[j]->parts; q++) {
                    tnri_axis_part a;
                    tnri_axis_part b;
                    tnri_meet meet;
                    tnri_stretch stretch;
                    int stretches = 0;
                    tnri_axis_part_make(cuts[i], extent, p, &a);
                    tnri_axis_part_make(cuts[j], extent, q, &b);
                    tnri_meet_start(&meet, &a, &b, true);
                    while (tnri_meet_next(&meet, &stretch)) {
                        total += stretch.run * stretch.count;
                        stretches++;
                    }
                    assert_true(stretches <= 10);
                }
            }
            assert_true(total == extent);
        }
    }
}

static void test_blocks_that_do_not_fit_64_bits(void **state)
{
    (void)state;
    const tnr_axis_cut cut = {1000, INT64_MAX / 2, NULL};
    int64_t total = 0;
    for (int part = 0; part < cut.parts; part++) {
        tnri_axis_part of;
        tnri_axis_part_make(&cut, INT64_MAX, part, &of);
        total += tnri_axis_part_count(&of);
        assert_true(part < 3 || tnri_axis_part_count(&of) == 0);
    }
    assert_true(total == INT64_MAX);
}

/* ---- Whole distributions ---------------------------------------------------------------------------------------------------------------- */

static void refused(tnr_status expected, const char *words, const tnr_distribution *distribution)
{
    bool holds = true;
    int64_t shape[TNR_MAX_RANK];
    assert_int_equal(tnr_distribution_part(distribution, 4, 0, &holds, shape), expected);
    if (strstr(tnr_last_error(), words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, tnr_last_error());
    }
}

static void test_part_shapes(void **state)
{
    (void)state;
    const int64_t global[] = {5, 7};
    const tnr_axis_cut cuts[] = {{2, 0, NULL}, {2, 2, NULL}};
    const int owners[] = {3, 1, 0, 4};
    const tnr_distribution by_number = {sizeof(tnr_distribution), 2, global, cuts, NULL};
    const tnr_distribution named = {sizeof(tnr_distribution), 2, global, cuts, owners};
    const int64_t expected[4][2] = {{3, 4}, {2, 4}, {3, 3}, {2, 3}};
    for (int part = 0; part < 4; part++) {
        bool holds = false;
        int64_t shape[2];
        assert_int_equal(tnr_distribution_part(&by_number, 5, part, &holds, shape), TNR_OK);
        assert_true(holds && shape[0] == expected[part][0] && shape[1] == expected[part][1]);
        assert_int_equal(tnr_distribution_part(&named, 5, owners[part], &holds, shape), TNR_OK);
        assert_true(holds && shape[0] == expected[part][0] && shape[1] == expected[part][1]);
    }
    bool holds = true;
    int64_t shape[2] = {9, 9};
    assert_int_equal(tnr_distribution_part(&named, 5, 2, &holds, shape), TNR_OK);
    assert_true(!holds && shape[0] == 0 && shape[1] == 0);
    const tnr_distribution scalar = {sizeof(tnr_distribution), 0, NULL, NULL, NULL};
    assert_int_equal(tnr_distribution_part(&scalar, 5, 0, &holds, NULL), TNR_OK);
    assert_true(holds);
    assert_int_equal(tnr_distribution_part(&scalar, 5, 1, &holds, NULL), TNR_OK);
    assert_false(holds);
}

/* Where parts begin: every element of the whole is at one rank, where its start and its shape say. */
static void test_part_starts(void **state)
{
    (void)state;
    const int64_t global[] = {5, 7};
    const int64_t at[] = {0, 1, 1, 7};
    const tnr_axis_cut cuts[] = {{2, 0, NULL}, {3, 0, at}};
    const int owners[] = {3, 1, 0, 4, 5, 6};
    const tnr_distribution named = {sizeof(tnr_distribution), 2, global, cuts, owners};
    static const int64_t expected[6][2] = {{0, 0}, {3, 0}, {0, 1}, {3, 1}, {0, 1}, {3, 1}};
    for (int part = 0; part < 6; part++) {
        bool holds = false;
        int64_t starts[2] = {9, 9};
        assert_int_equal(tnr_distribution_starts(&named, 8, owners[part], &holds, starts), TNR_OK);
        assert_true(holds && starts[0] == expected[part][0] && starts[1] == expected[part][1]);
    }
    bool holds = true;
    int64_t starts[2] = {9, 9};
    assert_int_equal(tnr_distribution_starts(&named, 8, 2, &holds, starts), TNR_OK);
    assert_true(!holds && starts[0] == 0 && starts[1] == 0);
    /* blocks of 2 dealt to three: 0 1 | 2 3 | 4, and one rank more has none */
    const int64_t five[] = {5};
    const tnr_axis_cut dealt = {4, 2, NULL};
    const tnr_distribution blocks = {sizeof(tnr_distribution), 1, five, &dealt, NULL};
    static const int64_t first[] = {0, 2, 4, 5};
    for (int rank = 0; rank < 4; rank++) {
        int64_t start = 9;
        assert_int_equal(tnr_distribution_starts(&blocks, 4, rank, &holds, &start), TNR_OK);
        assert_true(holds && start == first[rank]);
    }
    const tnr_distribution scalar = {sizeof(tnr_distribution), 0, NULL, NULL, NULL};
    assert_int_equal(tnr_distribution_starts(&scalar, 5, 0, &holds, NULL), TNR_OK);
    assert_true(holds);
    assert_int_equal(tnr_distribution_starts(&blocks, 4, 0, &holds, NULL), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_distribution_starts(&blocks, 4, 0, NULL, starts), TNR_ERR_ARGUMENT);
    assert_int_equal(tnr_distribution_starts(&blocks, 4, 4, &holds, starts), TNR_ERR_BOUNDS);
    assert_int_equal(tnr_distribution_starts(NULL, 4, 0, &holds, starts), TNR_ERR_ARGUMENT);
}

/* No cuts: one part, as if each axis were cut into one. */
static void test_nothing_is_cut(void **state)
{
    (void)state;
    const int64_t global[] = {5, 7};
    const tnr_axis_cut plain[] = {{1, 0, NULL}, {1, 0, NULL}};
    const int owner = 2;
    const tnr_distribution on_0 = {sizeof(tnr_distribution), 2, global, NULL, NULL};
    const tnr_distribution on_2 = {sizeof(tnr_distribution), 2, global, NULL, &owner};
    const tnr_distribution said = {sizeof(tnr_distribution), 2, global, plain, &owner};
    for (int rank = 0; rank < 4; rank++) {
        bool holds = false;
        int64_t shape[2] = {9, 9};
        assert_int_equal(tnr_distribution_part(&on_0, 4, rank, &holds, shape), TNR_OK);
        assert_true(holds == (rank == 0) && shape[0] == (rank == 0 ? 5 : 0) && shape[1] == (rank == 0 ? 7 : 0));
        assert_int_equal(tnr_distribution_part(&on_2, 4, rank, &holds, shape), TNR_OK);
        assert_true(holds == (rank == 2) && shape[0] == (rank == 2 ? 5 : 0) && shape[1] == (rank == 2 ? 7 : 0));
    }
    assert_true(tnri_distribution_hash(&on_2, 1) == tnri_distribution_hash(&said, 1));
    assert_true(tnri_distribution_hash(&on_2, 1) != tnri_distribution_hash(&on_0, 1));
    const int nobody = 4;
    refused(TNR_ERR_BOUNDS, "part 0 is on rank 4", &(tnr_distribution){sizeof(on_0), 2, global, NULL, &nobody});
}

static void test_what_is_wrong_is_said(void **state)
{
    (void)state;
    const int64_t global[] = {5};
    const int64_t starts[] = {0, 3, 2, 5};
    const int64_t short_starts[] = {0, 3, 4};
    const int twice[] = {1, 1};
    const int outside[] = {0, 4};
    const tnr_axis_cut two = {2, 0, NULL};
    const tnr_axis_cut none = {0, 0, NULL};
    const tnr_axis_cut negative = {2, -1, NULL};
    const tnr_axis_cut both = {2, 1, short_starts};
    const tnr_axis_cut falls = {3, 0, starts};
    const tnr_axis_cut ends = {2, 0, short_starts};
    const tnr_axis_cut many = {5, 0, NULL};
    const size_t size = sizeof(tnr_distribution);
    refused(TNR_ERR_ARGUMENT, "distribution is NULL", NULL);
    refused(TNR_ERR_ARGUMENT, "distribution.size is 3", &(tnr_distribution){3, 1, global, &two, NULL});
    refused(TNR_ERR_ARGUMENT, "rank 17", &(tnr_distribution){size, TNR_MAX_RANK + 1, global, &two, NULL});
    refused(TNR_ERR_ARGUMENT, "shape of a distribution is NULL", &(tnr_distribution){size, 1, NULL, &two, NULL});
    refused(TNR_ERR_ARGUMENT, "0 parts", &(tnr_distribution){size, 1, global, &none, NULL});
    refused(TNR_ERR_ARGUMENT, "blocks of -1", &(tnr_distribution){size, 1, global, &negative, NULL});
    refused(TNR_ERR_ARGUMENT, "both blocks and starts", &(tnr_distribution){size, 1, global, &both, NULL});
    refused(TNR_ERR_BOUNDS, "do not ascend: 3, then 2", &(tnr_distribution){size, 1, global, &falls, NULL});
    refused(TNR_ERR_BOUNDS, "from 0 to 4; the axis from 0 to 5", &(tnr_distribution){size, 1, global, &ends, NULL});
    refused(TNR_ERR_BOUNDS, "more parts than the world's 4", &(tnr_distribution){size, 1, global, &many, NULL});
    refused(TNR_ERR_ARGUMENT, "parts 0 and 1 are both on rank 1", &(tnr_distribution){size, 1, global, &two, twice});
    refused(TNR_ERR_BOUNDS, "part 1 is on rank 4", &(tnr_distribution){size, 1, global, &two, outside});
    const int64_t huge[] = {INT64_MAX, 3};
    const tnr_axis_cut plain[] = {{1, 0, NULL}, {1, 0, NULL}};
    refused(TNR_ERR_OVERFLOW, "distribution_part", &(tnr_distribution){size, 2, huge, plain, NULL});
}

static void test_hashes_differ(void **state)
{
    (void)state;
    const int64_t global[] = {12};
    const int64_t starts[] = {0, 6, 12};
    const int64_t others[] = {0, 5, 12};
    const int owners[] = {1, 0};
    const tnr_axis_cut cuts[] = {{2, 0, NULL}, {2, 0, starts}, {2, 0, others},
                                 {2, 3, NULL}, {2, 4, NULL},   {3, 0, NULL}};
    uint64_t hashes[7];
    for (int i = 0; i < 6; i++) {
        const tnr_distribution of = {sizeof(tnr_distribution), 1, global, &cuts[i], NULL};
        hashes[i] = tnri_distribution_hash(&of, 1);
    }
    const tnr_distribution of = {sizeof(tnr_distribution), 1, global, &cuts[0], owners};
    hashes[6] = tnri_distribution_hash(&of, 1);
    assert_true(hashes[0] == hashes[1]); /* the same parts, said in two ways */
    for (int i = 1; i < 7; i++) {
        for (int j = 1; j < i; j++) {
            assert_true(hashes[i] != hashes[j]);
        }
    }
}

int main(void)
{
    const char *given = getenv("TENURE_TEST_SEED");
    const unsigned long long seed = given != NULL ? strtoull(given, NULL, 0) : (unsigned long long)time(NULL);
    printf("TENURE_TEST_SEED=%llu\n", seed);
    random_state = seed * 2 + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mp_08_block_ranges),
        cmocka_unit_test(test_parts_against_counting),
        cmocka_unit_test(test_stretches_against_counting),
        cmocka_unit_test(test_few_stretches),
        cmocka_unit_test(test_blocks_that_do_not_fit_64_bits),
        cmocka_unit_test(test_part_shapes),
        cmocka_unit_test(test_part_starts),
        cmocka_unit_test(test_nothing_is_cut),
        cmocka_unit_test(test_what_is_wrong_is_said),
        cmocka_unit_test(test_hashes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
