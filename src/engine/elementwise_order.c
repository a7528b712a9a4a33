/* SPDX-License-Identifier: BSD-3-Clause */
/* Order, equality and choice. */
#include "elementwise_internal.h"

static const tnri_operation op_maximum = {
    .name = "maximum",
    .rows = TNRI_ROWS(tnri_order_kernels, maximum),
    .code = TNRI_DO_MAXIMUM,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a", "b"},
    .takes_stream = true,
    .picoseconds = 100,
};
static const tnri_operation op_minimum = {
    .name = "minimum",
    .rows = TNRI_ROWS(tnri_order_kernels, minimum),
    .code = TNRI_DO_MINIMUM,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a", "b"},
    .takes_stream = true,
    .picoseconds = 100,
};
static const tnri_operation op_clamp = {
    .name = "clamp",
    .rows = TNRI_ROWS(tnri_order_kernels, clamp),
    .code = TNRI_DO_CLAMP,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a", "low", "high"},
    .takes_stream = true,
    .picoseconds = 200,
};
static const tnri_operation op_select = {
    .name = "select",
    .rows = TNRI_ROWS(tnri_order_kernels, select),
    .code = TNRI_DO_SELECT,
    .rule = TNRI_BY_BOOL,
    .inputs = {"which", "a", "b"},
    .takes_stream = true,
    .picoseconds = 100,
};

/* Greater is less with the inputs exchanged. */
static const tnri_operation comparisons[TNR_COMPARE_GREATER_EQUAL + 1] = {
    [TNR_COMPARE_EQUAL] =
        {
            .name = "compare",
            .rows = TNRI_ROWS(tnri_order_kernels, equal),
            .code = TNRI_DO_EQUAL,
            .rule = TNRI_TO_RESULT,
            .result = TNR_BOOL,
            .inputs = {"a", "b"},
            .picoseconds = 100,
        },
    [TNR_COMPARE_NOT_EQUAL] =
        {
            .name = "compare",
            .rows = TNRI_ROWS(tnri_order_kernels, not_equal),
            .code = TNRI_DO_NOT_EQUAL,
            .rule = TNRI_TO_RESULT,
            .result = TNR_BOOL,
            .inputs = {"a", "b"},
            .picoseconds = 100,
        },
    [TNR_COMPARE_LESS] =
        {
            .name = "compare",
            .rows = TNRI_ROWS(tnri_order_kernels, less),
            .code = TNRI_DO_LESS,
            .rule = TNRI_TO_RESULT,
            .result = TNR_BOOL,
            .inputs = {"a", "b"},
            .picoseconds = 100,
        },
    [TNR_COMPARE_LESS_EQUAL] =
        {
            .name = "compare",
            .rows = TNRI_ROWS(tnri_order_kernels, less_equal),
            .code = TNRI_DO_LESS_EQUAL,
            .rule = TNRI_TO_RESULT,
            .result = TNR_BOOL,
            .inputs = {"a", "b"},
            .picoseconds = 100,
        },
    [TNR_COMPARE_GREATER] =
        {
            .name = "compare",
            .rows = TNRI_ROWS(tnri_order_kernels, less),
            .code = TNRI_DO_LESS,
            .rule = TNRI_TO_RESULT,
            .result = TNR_BOOL,
            .inputs = {"a", "b"},
            .swaps = true,
            .picoseconds = 100,
        },
    [TNR_COMPARE_GREATER_EQUAL] =
        {
            .name = "compare",
            .rows = TNRI_ROWS(tnri_order_kernels, less_equal),
            .code = TNRI_DO_LESS_EQUAL,
            .rule = TNRI_TO_RESULT,
            .result = TNR_BOOL,
            .inputs = {"a", "b"},
            .swaps = true,
            .picoseconds = 100,
        },
};

tnr_status tnr_maximum(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_two(engine, &op_maximum, a, b, (tnri_target){.made = out});
}

tnr_status tnr_maximum_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return tnri_elementwise_two(engine, &op_maximum, a, b, (tnri_target){.into = out});
}

tnr_status tnr_minimum(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_two(engine, &op_minimum, a, b, (tnri_target){.made = out});
}

tnr_status tnr_minimum_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return tnri_elementwise_two(engine, &op_minimum, a, b, (tnri_target){.into = out});
}

static tnr_status check_comparison(tnr_comparison comparison)
{
    const bool known = (unsigned)comparison <= TNR_COMPARE_GREATER_EQUAL;
    return known ? TNR_OK : tnri_fail_enumeration("compare", "comparison", (int)comparison);
}

tnr_status tnr_compare(tnr_engine *engine, tnr_comparison comparison, const tnr_view *a, const tnr_view *b,
                       tnr_tensor **out)
{
    TNR_TRY(check_comparison(comparison));
    return tnri_elementwise_two(engine, &comparisons[comparison], a, b, (tnri_target){.made = out});
}

tnr_status tnr_compare_into(tnr_engine *engine, tnr_comparison comparison, const tnr_view *a, const tnr_view *b,
                            const tnr_view_mut *out)
{
    TNR_TRY(check_comparison(comparison));
    return tnri_elementwise_two(engine, &comparisons[comparison], a, b, (tnri_target){.into = out});
}

tnr_status tnr_select(tnr_engine *engine, const tnr_view *which, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_three(engine, &op_select, which, a, b, (tnri_target){.made = out});
}

tnr_status tnr_select_into(tnr_engine *engine, const tnr_view *which, const tnr_view *a, const tnr_view *b,
                           const tnr_view_mut *out)
{
    return tnri_elementwise_three(engine, &op_select, which, a, b, (tnri_target){.into = out});
}

tnr_status tnr_clamp(tnr_engine *engine, const tnr_view *a, const tnr_view *low, const tnr_view *high, tnr_tensor **out)
{
    return tnri_elementwise_three(engine, &op_clamp, a, low, high, (tnri_target){.made = out});
}

tnr_status tnr_clamp_into(tnr_engine *engine, const tnr_view *a, const tnr_view *low, const tnr_view *high,
                          const tnr_view_mut *out)
{
    return tnri_elementwise_three(engine, &op_clamp, a, low, high, (tnri_target){.into = out});
}
