/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On which node to compute: pure functions of numbers.
 *
 * Guarantees: the same answer for the same numbers; no allocation whatever the number of nodes. Nodes are visited in ascending
 * order, one pass over the inputs each, so ties and overflows meet the smallest first. O(inputs * nodes among them).
 */
#include "route_internal.h"

/* The smallest known node above `after` that counts, or TNR_NONE. */
static tnr_status next_node(const tnri_route_source *source, bool with_empty, int32_t after, int32_t *next)
{
    int32_t found = TNR_NONE;
    for (size_t i = 0; i < source->count; ++i) {
        tnr_route_input input;
        TNR_TRY(source->at(source->context, i, &input));
        if (input.node > after && (with_empty || input.bytes != 0) && (found == TNR_NONE || input.node < found)) {
            found = input.node;
        }
    }
    *next = found;
    return TNR_OK;
}

static tnr_status sum_of(const tnri_route_source *source, int32_t node, uint64_t *bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < source->count; ++i) {
        tnr_route_input input;
        TNR_TRY(source->at(source->context, i, &input));
        TNR_REQUIRE(input.node != node || tnri_add_u64(sum, input.bytes, &sum), TNR_ERR_OVERFLOW,
                    "route: the bytes of the inputs on node %d do not fit in 64 bits", (int)node);
    }
    *bytes = sum;
    return TNR_OK;
}

/* TNR_NONE: no input counts. */
static tnr_status dominant(const tnri_route_source *source, int32_t *node)
{
    int32_t best = TNR_NONE;
    uint64_t most = 0;
    int32_t at;
    TNR_TRY(next_node(source, false, TNR_NONE, &at));
    while (at != TNR_NONE) {
        uint64_t bytes;
        TNR_TRY(sum_of(source, at, &bytes));
        if (bytes > most) {
            most = bytes;
            best = at;
        }
        TNR_TRY(next_node(source, false, at, &at));
    }
    *node = best;
    return TNR_OK;
}

static tnr_status single(const tnri_route_source *source, int32_t *node)
{
    int32_t one;
    int32_t other;
    TNR_TRY(next_node(source, true, TNR_NONE, &one));
    TNR_TRY(next_node(source, true, one, &other));
    TNR_REQUIRE(one == TNR_NONE || other == TNR_NONE, TNR_ERR_RESIDENCY,
                "route: inputs lie on nodes %d and %d, where one node was required: copy them to one by "
                "tnr_tensor_duplicate, or name an engine",
                (int)one, (int)other);
    *node = one;
    return TNR_OK;
}

tnr_status tnri_route(tnr_route_policy policy, const tnri_route_source *source, int32_t named, int32_t otherwise,
                      int32_t *node, tnr_route_reason *reason)
{
    TNR_REQUIRE(policy == TNR_ROUTE_DOMINANT || policy == TNR_ROUTE_REQUIRE_ONE, TNR_ERR_ARGUMENT,
                "route: %d is no policy", (int)policy);
    int32_t found = named;
    tnr_route_reason why = TNR_ROUTED_EXPLICIT;
    if (named == TNR_NONE) {
        if (policy == TNR_ROUTE_DOMINANT) {
            TNR_TRY(dominant(source, &found));
            why = TNR_ROUTED_DOMINANT;
        } else {
            TNR_TRY(single(source, &found));
            why = TNR_ROUTED_SINGLE;
        }
        if (found == TNR_NONE) {
            found = otherwise;
            why = TNR_ROUTED_DEFAULT;
        }
    }
    *node = found;
    if (reason != NULL) {
        *reason = why;
    }
    return TNR_OK;
}

static tnr_status input_at(const void *context, size_t index, tnr_route_input *input)
{
    *input = ((const tnr_route_input *)context)[index];
    return TNR_OK;
}

tnr_status tnr_route(tnr_route_policy policy, const tnr_route_input *inputs, size_t count, int32_t named,
                     int32_t otherwise, int32_t *node, tnr_route_reason *reason)
{
    TNR_REQUIRE(node != NULL, TNR_ERR_ARGUMENT, "route: node is NULL");
    TNR_REQUIRE(inputs != NULL || count == 0 || named != TNR_NONE, TNR_ERR_ARGUMENT, "route: inputs is NULL");
    const tnri_route_source source = {.at = input_at, .context = inputs, .count = count};
    return tnri_route(policy, &source, named, otherwise, node, reason);
}

tnr_status tnr_route_input_of(const tnr_view *view, tnr_route_input *input)
{
    TNR_REQUIRE(input != NULL, TNR_ERR_ARGUMENT, "route_input_of: input is NULL");
    TNRI_CHECK_VIEW("route_input_of", "view", view);
    uint64_t bytes = tnr_dtype_size(view->dtype);
    bool fits = true;
    bool empty = false;
    for (int i = 0; i < view->rank; ++i) {
        TNR_REQUIRE(view->shape[i] >= 0, TNR_ERR_ARGUMENT, "route_input_of: extent %lld on axis %d",
                    TNRI_LL(view->shape[i]), i);
        empty = empty || view->shape[i] == 0;
        fits = fits && tnri_mul_u64(bytes, (uint64_t)view->shape[i], &bytes);
    }
    TNR_REQUIRE(fits || empty, TNR_ERR_OVERFLOW, "route_input_of: the bytes of the view do not fit in 64 bits");
    tnr_placement placement;
    TNR_TRY(tnri_view_placement("route_input_of", view, &placement));
    input->node = placement.cpu_affinity;
    input->bytes = empty ? 0 : bytes;
    return TNR_OK;
}
