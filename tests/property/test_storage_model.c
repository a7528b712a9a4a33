/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations on domains, tensors, views, mappings, blocks and groups against the naive model of storage_model.h:
 * every answer is predicted, every byte compared, every book balanced. TENURE_TEST_SEED sets the seed, TENURE_TEST_STEPS the
 * number of operations; a failure names seed and step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "storage_model.h"

typedef struct operation {
    const char *name;
    unsigned weight;
    void (*run)(void);
} operation;

static const operation operations[] = {
    {"zeros or one value", 30, sm_op_zeros},
    {"from an array", 25, sm_op_from_array},
    {"duplicate", 25, sm_op_duplicate},
    {"adopt", 20, sm_op_adopt},
    {"draft", 25, sm_op_draft},
    {"end a draft", 30, sm_op_draft_end},
    {"release", 50, sm_op_release},
    {"export", 20, sm_op_export},
    {"use an export", 25, sm_op_exported},
    {"reclaim", 12, sm_op_reclaim},
    {"describe", 15, sm_op_describe},
    {"release twice", 10, sm_op_release_twice},
    {"make a view", 60, sm_op_make_view},
    {"region", 40, sm_op_region},
    {"transform", 200, sm_op_transform},
    {"questions", 60, sm_op_questions},
    {"split", 50, sm_op_split},
    {"values", 80, sm_op_values},
    {"set", 60, sm_op_set},
    {"map", 80, sm_op_map},
    {"use a mapping", 110, sm_op_unmap},
    {"take a block", 40, sm_op_block},
    {"release a block", 40, sm_op_block_release},
    {"misuse a block", 20, sm_op_block_wrong},
    {"trim or cap a pool", 10, sm_op_pool},
    {"close a pool", 1, sm_op_pool_close},
    {"make a group", 10, sm_op_group_make},
    {"append", 25, sm_op_group_append},
    {"describe a span", 25, sm_op_group_span},
    {"view of a group", 40, sm_op_group_view},
    {"split of a group", 25, sm_op_group_split},
    {"take", 25, sm_op_group_take},
    {"copy out", 10, sm_op_group_copy_out},
    {"merge", 5, sm_op_group_merge},
    {"release a group", 2, sm_op_group_release},
    {"misuse a group", 10, sm_op_group_wrong},
};

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

static void test_random_operations(void **state)
{
    (void)state;
    const size_t kinds = sizeof(operations) / sizeof(operations[0]);
    const uint64_t steps = from_environment("TENURE_TEST_STEPS", 400000);
    uint64_t weights = 0;
    for (size_t i = 0; i < kinds; i++) {
        weights += operations[i].weight;
    }
    const uint64_t seed = from_environment("TENURE_TEST_SEED", (uint64_t)time(NULL));
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    sm_start(seed);
    for (sm.step = 1; sm.step <= steps; sm.step++) {
        uint64_t drawn = sm_below(weights);
        size_t chosen = 0;
        while (drawn >= operations[chosen].weight) {
            drawn -= operations[chosen++].weight;
        }
        sm.operation = operations[chosen].name;
        operations[chosen].run();
        sm_check_pools();
        if (sm.step % 16 == 0) {
            sm_check_books();
        }
    }
    sm_finish();
    for (int status = 0; status <= TNR_ERR_IO; status++) {
        if (sm.counts[status] != 0) {
            printf("%12llu %s\n", (unsigned long long)sm.counts[status], tnr_status_name((tnr_status)status));
        }
    }
    /* What the run is for must have come up. */
    static const tnr_status wanted[] = {TNR_ERR_BUSY,      TNR_ERR_STALE,  TNR_ERR_VACANT,
                                        TNR_ERR_FOREIGN,   TNR_ERR_MEMORY, TNR_ERR_LAYOUT,
                                        TNR_ERR_RESIDENCY, TNR_ERR_BOUNDS, TNR_ERR_OVERLAP};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && steps >= 100000; i++) {
        assert_true(sm.counts[wanted[i]] > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_operations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
