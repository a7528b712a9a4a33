/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routing against a naive model: a table of sums with a place for every node that occurs, in twice the digits. Random inputs
 * that are few and small enough for ties, and now and then large enough for overflow. And: neither the order of the inputs nor
 * a split of one in two changes the answer.
 */
#include "support/storage_test.h"
#include "tenure/tenure.h"

#include "support/layout_model.h"

enum { NODES = 12, MOST_INPUTS = 30 };

typedef struct answer {
    tnr_status status;
    int32_t node;
    tnr_route_reason reason;
    int first; /* nodes that a refusal names */
    int second;
} answer;

/* Sums in two halves of 64 bits. */
typedef struct wide {
    uint64_t high;
    uint64_t low;
} wide;

static bool above(wide a, wide b) { return a.high != b.high ? a.high > b.high : a.low > b.low; }

static answer model_dominant(const tnr_route_input *inputs, size_t count, int32_t otherwise)
{
    wide sums[NODES] = {{0, 0}};
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].node >= 0) {
            wide *sum = &sums[inputs[i].node];
            sum->low += inputs[i].bytes;
            sum->high += sum->low < inputs[i].bytes ? 1U : 0U;
        }
    }
    answer found = {TNR_OK, otherwise, TNR_ROUTED_DEFAULT, -1, -1};
    wide most = {0, 0};
    for (int node = 0; node < NODES; node++) {
        if (sums[node].high != 0) {
            return (answer){TNR_ERR_OVERFLOW, 0, TNR_ROUTED_DEFAULT, node, -1};
        }
        if (above(sums[node], most)) {
            most = sums[node];
            found.node = node;
            found.reason = TNR_ROUTED_DOMINANT;
        }
    }
    return found;
}

static answer model_one(const tnr_route_input *inputs, size_t count, int32_t otherwise)
{
    bool occurs[NODES] = {false};
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].node >= 0) {
            occurs[inputs[i].node] = true;
        }
    }
    answer found = {TNR_OK, otherwise, TNR_ROUTED_DEFAULT, -1, -1};
    for (int node = 0; node < NODES; node++) {
        if (occurs[node] && found.reason == TNR_ROUTED_SINGLE) {
            return (answer){TNR_ERR_RESIDENCY, 0, TNR_ROUTED_DEFAULT, found.node, node};
        }
        if (occurs[node]) {
            found.node = node;
            found.reason = TNR_ROUTED_SINGLE;
        }
    }
    return found;
}

static void check(tnr_route_policy policy, const tnr_route_input *inputs, size_t count, int32_t named,
                  int32_t otherwise)
{
    answer expected =
        policy == TNR_ROUTE_DOMINANT ? model_dominant(inputs, count, otherwise) : model_one(inputs, count, otherwise);
    if (named != TNR_NONE) {
        expected = (answer){TNR_OK, named, TNR_ROUTED_EXPLICIT, -1, -1};
    }
    int32_t node = -99;
    tnr_route_reason reason = (tnr_route_reason)99;
    const tnr_status status = tnr_route(policy, inputs, count, named, otherwise, &node, &reason);
    bool good = status == expected.status;
    if (status == TNR_OK) {
        good = good && node == expected.node && reason == expected.reason;
    } else {
        char text[64];
        (void)snprintf(text, sizeof text, status == TNR_ERR_OVERFLOW ? "node %d " : "nodes %d and %d,", expected.first,
                       expected.second);
        good = good && node == -99 && reason == 99 && strstr(tnr_last_error(), text) != NULL;
    }
    if (!good) {
        print_error("policy %d, %zu inputs: status %d, node %d, reason %d, expected %d, %d, %d; \"%s\"\n", (int)policy,
                    count, (int)status, node, (int)reason, (int)expected.status, expected.node, (int)expected.reason,
                    tnr_last_error());
        fail();
    }
}

static uint64_t random_size(void)
{
    switch (within(0, 9)) {
    case 0:
        return 0;
    case 1:
        return chance(4) ? UINT64_MAX - (uint64_t)within(0, 3) : UINT64_MAX / 2 + (uint64_t)within(0, 2);
    default:
        return (uint64_t)within(1, 6);
    }
}

static void route_agrees_with_the_model(void **state)
{
    (void)state;
    seed_from_environment();
    for (int round = 0; round < 40000; round++) {
        tnr_route_input inputs[MOST_INPUTS + 1];
        size_t count = (size_t)within(0, chance(3) ? MOST_INPUTS : 5);
        const int32_t nodes = (int32_t)within(1, NODES);
        for (size_t i = 0; i < count; i++) {
            inputs[i].node = chance(5) ? TNR_NONE : (int32_t)within(0, nodes - 1);
            inputs[i].bytes = random_size();
        }
        const int32_t named = chance(10) ? (int32_t)within(0, 20) : TNR_NONE;
        const int32_t otherwise = (int32_t)within(0, 20);
        check(TNR_ROUTE_DOMINANT, inputs, count, named, otherwise);
        check(TNR_ROUTE_REQUIRE_ONE, inputs, count, named, otherwise);
        for (size_t i = count; i-- > 1;) {
            const size_t other = (size_t)within(0, (int64_t)i);
            const tnr_route_input kept = inputs[i];
            inputs[i] = inputs[other];
            inputs[other] = kept;
        }
        if (count > 0 && inputs[0].bytes > 1) {
            inputs[count] = inputs[0];
            inputs[count].bytes = inputs[0].bytes / 2;
            inputs[0].bytes -= inputs[count].bytes;
            count++;
        }
        check(TNR_ROUTE_DOMINANT, inputs, count, named, otherwise);
        check(TNR_ROUTE_REQUIRE_ONE, inputs, count, named, otherwise);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(route_agrees_with_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
