/* SPDX-License-Identifier: BSD-3-Clause */
/* Mathematical functions, and powers. */
#include "elementwise_internal.h"

static const tnri_operation op_exp = {
    .name = "exp",
    .rows = TNRI_ROWS(tnri_math_kernels, exp),
    .code = TNRI_DO_EXP,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .to_nearest = true,
    .picoseconds = 1200,
};
static const tnri_operation op_log = {
    .name = "log",
    .rows = TNRI_ROWS(tnri_math_kernels, log),
    .code = TNRI_DO_LOG,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .to_nearest = true,
    .picoseconds = 1600,
};
static const tnri_operation op_sin = {
    .name = "sin",
    .rows = TNRI_ROWS(tnri_math_kernels, sin),
    .code = TNRI_DO_SIN,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .to_nearest = true,
    .picoseconds = 1100,
};
static const tnri_operation op_cos = {
    .name = "cos",
    .rows = TNRI_ROWS(tnri_math_kernels, cos),
    .code = TNRI_DO_COS,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .to_nearest = true,
    .picoseconds = 1200,
};
static const tnri_operation op_tanh = {
    .name = "tanh",
    .rows = TNRI_ROWS(tnri_math_kernels, tanh),
    .code = TNRI_DO_TANH,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .to_nearest = true,
    .picoseconds = 3300,
};
static const tnri_operation op_sqrt = {
    .name = "sqrt",
    .rows = TNRI_ROWS(tnri_math_kernels, sqrt),
    .code = TNRI_DO_SQRT,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .picoseconds = 700,
};
static const tnri_operation op_rsqrt = {
    .name = "rsqrt",
    .rows = TNRI_ROWS(tnri_math_kernels, rsqrt),
    .code = TNRI_DO_RSQRT,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .picoseconds = 1000,
};
static const tnri_operation op_expm1 = {
    .name = "expm1",
    .rows = TNRI_ROWS(tnri_math_kernels, expm1),
    .code = TNRI_DO_EXPM1,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .to_nearest = true,
    .picoseconds = 1400,
};
static const tnri_operation op_log1p = {
    .name = "log1p",
    .rows = TNRI_ROWS(tnri_math_kernels, log1p),
    .code = TNRI_DO_LOG1P,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a"},
    .takes_stream = true,
    .to_nearest = true,
    .picoseconds = 1900,
};
static const tnri_operation op_pow_float = {
    .name = "pow",
    .rows = TNRI_ROWS(tnri_math_kernels, pow),
    .code = TNRI_DO_POW,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a", "b"},
    .takes_stream = true,
    .to_nearest = true,
    .picoseconds = 6200,
};
static const tnri_operation op_pow_integer = {
    .name = "pow",
    .rows = TNRI_ROWS(tnri_arithmetic_kernels, pow),
    .code = TNRI_DO_POW,
    .rule = TNRI_ONE_DTYPE,
    .inputs = {"a", "b"},
    .picoseconds = 8000,
    .scans = TNRI_ROWS(tnri_scan_kernels, negative),
    .forbidden = "negative exponent",
};

tnr_status tnr_exp(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_exp, a, (tnri_target){.made = out});
}

tnr_status tnr_exp_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_exp, a, (tnri_target){.into = out});
}

tnr_status tnr_log(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_log, a, (tnri_target){.made = out});
}

tnr_status tnr_log_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_log, a, (tnri_target){.into = out});
}

tnr_status tnr_sin(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_sin, a, (tnri_target){.made = out});
}

tnr_status tnr_sin_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_sin, a, (tnri_target){.into = out});
}

tnr_status tnr_cos(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_cos, a, (tnri_target){.made = out});
}

tnr_status tnr_cos_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_cos, a, (tnri_target){.into = out});
}

tnr_status tnr_tanh(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_tanh, a, (tnri_target){.made = out});
}

tnr_status tnr_tanh_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_tanh, a, (tnri_target){.into = out});
}

tnr_status tnr_sqrt(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_sqrt, a, (tnri_target){.made = out});
}

tnr_status tnr_sqrt_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_sqrt, a, (tnri_target){.into = out});
}

tnr_status tnr_rsqrt(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_rsqrt, a, (tnri_target){.made = out});
}

tnr_status tnr_rsqrt_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_rsqrt, a, (tnri_target){.into = out});
}

tnr_status tnr_expm1(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_expm1, a, (tnri_target){.made = out});
}

tnr_status tnr_expm1_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_expm1, a, (tnri_target){.into = out});
}

tnr_status tnr_log1p(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return tnri_elementwise_one(engine, &op_log1p, a, (tnri_target){.made = out});
}

tnr_status tnr_log1p_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return tnri_elementwise_one(engine, &op_log1p, a, (tnri_target){.into = out});
}

static const tnri_operation *power_of(const tnr_view *a)
{
    return a != NULL && (a->dtype == TNR_I32 || a->dtype == TNR_I64) ? &op_pow_integer : &op_pow_float;
}

tnr_status tnr_pow(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return tnri_elementwise_two(engine, power_of(a), a, b, (tnri_target){.made = out});
}

tnr_status tnr_pow_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return tnri_elementwise_two(engine, power_of(a), a, b, (tnri_target){.into = out});
}
