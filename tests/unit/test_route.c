/* SPDX-License-Identifier: BSD-3-Clause */
/* Which node is chosen: the rules one by one, in numbers, and what is known of a view. */
#include "support/storage_test.h"
#include "tenure/tenure.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef struct row {
    const char *what;
    tnr_route_policy policy;
    size_t count;
    tnr_route_input inputs[4];
    int32_t named;
    int32_t expected;
    tnr_route_reason reason;
} row;

#define MOST (UINT64_MAX)

static const row rows[] = {
    /* BUGS.md row PT-07 */
    {"PT-07: most bytes", TNR_ROUTE_DOMINANT, 2, {{1, 100}, {0, 60}}, TNR_NONE, 1, TNR_ROUTED_DOMINANT},
    {"PT-07: a tie", TNR_ROUTE_DOMINANT, 2, {{1, 64}, {0, 64}}, TNR_NONE, 0, TNR_ROUTED_DOMINANT},
    {"PT-07: sums", TNR_ROUTE_DOMINANT, 3, {{0, 40}, {1, 64}, {0, 40}}, TNR_NONE, 0, TNR_ROUTED_DOMINANT},
    {"PT-07: a name wins", TNR_ROUTE_DOMINANT, 2, {{1, 100}, {0, 60}}, 5, 5, TNR_ROUTED_EXPLICIT},
    {"a name wins over an overflow", TNR_ROUTE_DOMINANT, 2, {{1, MOST}, {1, 1}}, 3, 3, TNR_ROUTED_EXPLICIT},
    {"a name wins over several nodes", TNR_ROUTE_REQUIRE_ONE, 2, {{1, 1}, {2, 1}}, 3, 3, TNR_ROUTED_EXPLICIT},
    {"node 0 can be named", TNR_ROUTE_DOMINANT, 1, {{1, 100}}, 0, 0, TNR_ROUTED_EXPLICIT},
    {"nothing", TNR_ROUTE_DOMINANT, 0, {{0, 0}}, TNR_NONE, 7, TNR_ROUTED_DEFAULT},
    {"nothing known", TNR_ROUTE_DOMINANT, 2, {{TNR_NONE, 9}, {TNR_NONE, 9}}, TNR_NONE, 7, TNR_ROUTED_DEFAULT},
    {"nothing but empty ones", TNR_ROUTE_DOMINANT, 2, {{3, 0}, {2, 0}}, TNR_NONE, 7, TNR_ROUTED_DEFAULT},
    {"unknown ones do not count", TNR_ROUTE_DOMINANT, 2, {{TNR_NONE, MOST}, {4, 1}}, TNR_NONE, 4, TNR_ROUTED_DOMINANT},
    {"nor do they overflow",
     TNR_ROUTE_DOMINANT,
     2,
     {{TNR_NONE, MOST}, {TNR_NONE, MOST}},
     TNR_NONE,
     7,
     TNR_ROUTED_DEFAULT},
    {"a sum that just fits",
     TNR_ROUTE_DOMINANT,
     3,
     {{2, MOST - 1}, {2, 1}, {0, MOST}},
     TNR_NONE,
     0,
     TNR_ROUTED_DOMINANT},
    {"sparse numbers",
     TNR_ROUTE_DOMINANT,
     3,
     {{1000, 5}, {8, 4}, {INT32_MAX, 6}},
     TNR_NONE,
     INT32_MAX,
     TNR_ROUTED_DOMINANT},
    {"one node", TNR_ROUTE_REQUIRE_ONE, 3, {{6, 1}, {6, 2}, {TNR_NONE, 3}}, TNR_NONE, 6, TNR_ROUTED_SINGLE},
    {"one node of an empty input", TNR_ROUTE_REQUIRE_ONE, 2, {{6, 0}, {TNR_NONE, 3}}, TNR_NONE, 6, TNR_ROUTED_SINGLE},
    {"one node: none known", TNR_ROUTE_REQUIRE_ONE, 1, {{TNR_NONE, 3}}, TNR_NONE, 7, TNR_ROUTED_DEFAULT},
    {"one node: no input", TNR_ROUTE_REQUIRE_ONE, 0, {{0, 0}}, TNR_NONE, 7, TNR_ROUTED_DEFAULT},
    {"one node: bytes are not added", TNR_ROUTE_REQUIRE_ONE, 2, {{6, MOST}, {6, MOST}}, TNR_NONE, 6, TNR_ROUTED_SINGLE},
};

static void bugs_pt_07_rules_of_choice(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const row *r = &rows[i];
        int32_t node = -99;
        tnr_route_reason reason = (tnr_route_reason)99;
        const tnr_status status = tnr_route(r->policy, r->inputs, r->count, r->named, 7, &node, &reason);
        if (status != TNR_OK || node != r->expected || reason != r->reason) {
            print_error("%s: status %d, node %d, reason %d\n", r->what, (int)status, node, (int)reason);
            fail();
        }
        node = -99;
        OK(tnr_route(r->policy, r->inputs, r->count, r->named, 7, &node, NULL));
        assert_int_equal(node, r->expected);
    }
}

static void refuse(tnr_route_policy policy, const tnr_route_input *inputs, size_t count, tnr_status expected,
                   const char *text)
{
    int32_t node = -99;
    tnr_route_reason reason = (tnr_route_reason)99;
    EXPECT(expected, tnr_route(policy, inputs, count, TNR_NONE, 7, &node, &reason));
    TEXT_HAS(text);
    assert_int_equal(node, -99);
    assert_int_equal(reason, 99);
}

static void overflow_names_the_smallest_node(void **state)
{
    (void)state;
    const tnr_route_input two[] = {{9, MOST}, {4, MOST}, {9, 1}, {4, 1}, {1, 5}};
    const tnr_route_input late[] = {{9, MOST}, {1, 5}, {9, 1}, {0, MOST}};
    refuse(TNR_ROUTE_DOMINANT, two, LENGTH(two), TNR_ERR_OVERFLOW, "node 4");
    refuse(TNR_ROUTE_DOMINANT, late, LENGTH(late), TNR_ERR_OVERFLOW, "node 9");
}

static void several_nodes_are_named_in_order(void **state)
{
    (void)state;
    const tnr_route_input three[] = {{9, 1}, {4, 0}, {6, 3}};
    refuse(TNR_ROUTE_REQUIRE_ONE, three, LENGTH(three), TNR_ERR_RESIDENCY, "nodes 4 and 6");
}

static void bad_arguments(void **state)
{
    (void)state;
    const tnr_route_input one[] = {{1, 1}};
    int32_t node = -99;
    refuse((tnr_route_policy)2, one, 1, TNR_ERR_ARGUMENT, "policy");
    refuse(TNR_ROUTE_DOMINANT, NULL, 1, TNR_ERR_ARGUMENT, "inputs");
    EXPECT(TNR_ERR_ARGUMENT, tnr_route(TNR_ROUTE_DOMINANT, one, 1, TNR_NONE, 0, NULL, NULL));
    OK(tnr_route(TNR_ROUTE_DOMINANT, NULL, 0, TNR_NONE, 3, &node, NULL));
    assert_int_equal(node, 3);
}

static void more_nodes_than_any_table_holds(void **state)
{
    (void)state;
    enum { NODES = 300 };
    tnr_route_input inputs[2 * NODES];
    for (int i = 0; i < NODES;
         i++) { /* sums 2i + 1, but for node 100, which has most, and node 250, which has as many */
        inputs[i] = (tnr_route_input){NODES - 1 - i, (uint64_t)(NODES - 1 - i)};
        inputs[NODES + i] = (tnr_route_input){i, (uint64_t)i + 1 + (i == 100 ? 1000U : i == 250 ? 700U : 0U)};
    }
    int32_t node;
    OK(tnr_route(TNR_ROUTE_DOMINANT, inputs, 2 * NODES, TNR_NONE, 0, &node, NULL));
    assert_int_equal(node, 100);
    refuse(TNR_ROUTE_REQUIRE_ONE, inputs, 2 * NODES, TNR_ERR_RESIDENCY, "nodes 0 and 1");
}

/* ---- Views ------------------------------------------------------------------------------------------------------------------- */

static void what_is_known_of_a_view(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {0};
    tnr_domain_ops ops = test_ops(TNR_ACCESS_DIRECT);
    test_memory *place = &memory;
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = &place;
    config.placement.cpu_affinity = 5;
    tnr_domain *bound = NULL;
    OK(tnr_domain_create(heap, &config, &bound));

    tnr_tensor *here = make_counting(heap, 2, SHAPE(3, 4));
    tnr_tensor *there = make_counting(bound, 2, SHAPE(3, 4));
    tnr_tensor *scalar = make_counting(bound, 0, NULL);
    tnr_route_input input;
    tnr_view view = view_of(here);
    OK(tnr_route_input_of(&view, &input));
    assert_true(input.node == TNR_NONE && input.bytes == 96);
    view = view_of(there);
    OK(tnr_route_input_of(&view, &input));
    assert_true(input.node == 5 && input.bytes == 96);
    OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, 1, 1}, &view));
    OK(tnr_route_input_of(&view, &input));
    assert_true(input.node == 5 && input.bytes == 32); /* of the view, not of its owner */
    OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, 0, 1}, &view));
    OK(tnr_route_input_of(&view, &input));
    assert_true(input.node == 5 && input.bytes == 0);
    view = view_of(scalar);
    OK(tnr_route_input_of(&view, &input));
    assert_true(input.node == 5 && input.bytes == 8);

    /* Broadcast over more than there could ever be: overflow, unless an extent is 0. */
    view = view_of(scalar);
    view.rank = 3;
    view.shape[0] = INT64_MAX;
    view.shape[1] = 2;
    view.shape[2] = 1;
    view.strides[0] = view.strides[1] = view.strides[2] = 0;
    input = (tnr_route_input){77, 77};
    EXPECT(TNR_ERR_OVERFLOW, tnr_route_input_of(&view, &input));
    assert_true(input.node == 77 && input.bytes == 77);
    view.shape[2] = 0;
    OK(tnr_route_input_of(&view, &input));
    assert_true(input.node == 5 && input.bytes == 0);
    view.shape[2] = -1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_route_input_of(&view, &input));

    view = view_of(there);
    EXPECT(TNR_ERR_ARGUMENT, tnr_route_input_of(NULL, &input));
    EXPECT(TNR_ERR_ARGUMENT, tnr_route_input_of(&view, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_route_input_of(&(tnr_view){.dtype = TNR_F64}, &input));
    release(&there);
    EXPECT(TNR_ERR_STALE, tnr_route_input_of(&view, &input));
    release(&here);
    release(&scalar);
    close_domain(&bound);
    close_domain(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bugs_pt_07_rules_of_choice),       cmocka_unit_test(overflow_names_the_smallest_node),
        cmocka_unit_test(several_nodes_are_named_in_order), cmocka_unit_test(bad_arguments),
        cmocka_unit_test(more_nodes_than_any_table_holds),  cmocka_unit_test(what_is_known_of_a_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
