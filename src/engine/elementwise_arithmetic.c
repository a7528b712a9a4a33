/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, products, quotients and signs; powers of integers. */
#include "elementwise_internal.h"

static const tnri_operation op_add = {
    .name = "add",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, add),
    .code = TNRI_DO_ADD,
    .rule = TNRI_MIXES_SCALAR,
    .inputs = {"a", "b"},
    .takes_stream = true,
    .picoseconds = 50,
};
static const tnri_operation op_sub = {
    .name = "sub",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, sub),
    .code = TNRI_DO_SUB,
    .rule = TNRI_MIXES_SCALAR,
    .inputs = {"a", "b"},
    .takes_stream = true,
    .picoseconds = 50,
};
static const tnri_operation op_mul = {
    .name = "mul",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, mul),
    .code = TNRI_DO_MUL,
    .rule = TNRI_MIXES_SCALAR,
    .inputs = {"a", "b"},
    .takes_stream = true,
    .picoseconds = 50,
};
static const tnri_operation op_div = {
    .name = "div",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, div),
    .code = TNRI_DO_DIV,
    .rule = TNRI_MIXES_SCALAR,
    .inputs = {"a", "b"},
    .takes_stream = true,
    .picoseconds = 1000,
    .scans = TNRI_ROWS(tnri_scan_kernels, zero),
    .forbidden = "zero divisor",
};
static const tnri_operation op_rem = {
    .name = "rem",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, rem),
    .code = TNRI_DO_REM,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a", "b"},
    .picoseconds = 8000,
    .scans = TNRI_ROWS(tnri_scan_kernels, zero),
    .forbidden = "zero divisor",
};
static const tnri_operation op_neg = {
    .name = "neg",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, neg),
    .code = TNRI_DO_NEG,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .picoseconds = 50,
};
static const tnri_operation op_abs = {
    .name = "abs",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, abs),
    .code = TNRI_DO_ABS,
    .rule = TNRI_TO_REAL,
    .inputs = {"a"},
    .takes_stream = true,
    .picoseconds = 500,
};
static const tnri_operation op_sign = {
    .name = "sign",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, sign),
    .code = TNRI_DO_SIGN,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .picoseconds = 500,
};
static const tnri_operation op_conj = {
    .name = "conj",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, conj),
    .code = TNRI_DO_CONJ,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .picoseconds = 50,
};

tnr_status tnr_add(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_two(engine, &op_add, a, b, (tnri_target){.made = out});
}

tnr_status tnr_add_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return tnri_elementwise_two(engine, &op_add, a, b, (tnri_target){.into = out});
}

tnr_status tnr_sub(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_two(engine, &op_sub, a, b, (tnri_target){.made = out});
}

tnr_status tnr_sub_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return tnri_elementwise_two(engine, &op_sub, a, b, (tnri_target){.into = out});
}

tnr_status tnr_mul(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_two(engine, &op_mul, a, b, (tnri_target){.made = out});
}

tnr_status tnr_mul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return tnri_elementwise_two(engine, &op_mul, a, b, (tnri_target){.into = out});
}

tnr_status tnr_div(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_two(engine, &op_div, a, b, (tnri_target){.made = out});
}

tnr_status tnr_div_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return tnri_elementwise_two(engine, &op_div, a, b, (tnri_target){.into = out});
}

tnr_status tnr_rem(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_two(engine, &op_rem, a, b, (tnri_target){.made = out});
}

tnr_status tnr_rem_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return tnri_elementwise_two(engine, &op_rem, a, b, (tnri_target){.into = out});
}

tnr_status tnr_neg(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_neg, a, (tnri_target){.made = out});
}

tnr_status tnr_neg_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_neg, a, (tnri_target){.into = out});
}

tnr_status tnr_abs(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_abs, a, (tnri_target){.made = out});
}

tnr_status tnr_abs_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_abs, a, (tnri_target){.into = out});
}

tnr_status tnr_sign(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_sign, a, (tnri_target){.made = out});
}

tnr_status tnr_sign_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_sign, a, (tnri_target){.into = out});
}

tnr_status tnr_conj(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_conj, a, (tnri_target){.made = out});
}

tnr_status tnr_conj_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_conj, a, (tnri_target){.into = out});
}
