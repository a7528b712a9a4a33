/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of elementwise.h. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "ops.h"

/* ---- Models ---- */

typedef catalogue_value (*binary_model)(tnr_dtype dtype, catalogue_value a, catalogue_value b);

static void each_pair(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output,
                      binary_model model, bool product)
{
    int64_t index[TNR_MAX_RANK] = {0};
    if (output->count == 0) {
        return;
    }
    do {
        const catalogue_value a = inputs[0].values[catalogue_position(&inputs[0], index)];
        const catalogue_value b = inputs[1].values[catalogue_position(&inputs[1], index)];
        const int64_t at = catalogue_position(output, index);
        output->values[at] = model(call->dtype, a, b);
        output->scale[at] = product ? size_of(a) * size_of(b) : size_of(a) + size_of(b);
    } while (catalogue_step(output->rank, output->shape, index));
}

static void add_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_pair(call, inputs, output, plus, false);
}

static void sub_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_pair(call, inputs, output, minus, false);
}

static void mul_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_pair(call, inputs, output, times, true);
}

/* By zero, each part is divided by +0; which infinities meet is not asked here. */
static catalogue_value quotient(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    catalogue_value result = {0.0L, 0.0L, 0};
    if (catalogue_is_complex(dtype)) {
        const long double square = b.re * b.re + b.im * b.im;
        result.re = square == 0.0L ? a.re / 0.0L : (a.re * b.re + a.im * b.im) / square;
        result.im = square == 0.0L ? a.im / 0.0L : (a.im * b.re - a.re * b.im) / square;
    } else if (catalogue_is_float(dtype)) {
        result.re = a.re / b.re;
    } else {
        result.integer = b.integer == -1 ? wrap(dtype, 0U - (uint64_t)a.integer) : a.integer / b.integer;
    }
    return result;
}

static void div_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_pair(call, inputs, output, quotient, false);
    for (int64_t i = 0; i < output->count; ++i) {
        output->scale[i] = size_of(output->values[i]);
    }
}

static catalogue_value remainder_of(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    if (catalogue_is_float(dtype)) {
        return (catalogue_value){fmodl(a.re, b.re), 0.0L, 0};
    }
    return (catalogue_value){0.0L, 0.0L, b.integer == -1 ? 0 : a.integer % b.integer};
}

static void rem_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_pair(call, inputs, output, remainder_of, false);
}

static catalogue_value integer_power(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    uint64_t bits = 1;
    for (int64_t i = 0; i < b.integer; ++i) {
        bits *= (uint64_t)a.integer;
    }
    return (catalogue_value){0.0L, 0.0L, wrap(dtype, bits)};
}

static catalogue_value larger(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    if (catalogue_is_float(dtype)) {
        return isnan(a.re) || a.re > b.re ? a : b;
    }
    return a.integer > b.integer ? a : b;
}

static catalogue_value smaller(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    if (catalogue_is_float(dtype)) {
        return isnan(a.re) || a.re < b.re ? a : b;
    }
    return a.integer < b.integer ? a : b;
}

static void maximum_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_pair(call, inputs, output, larger, false);
}

static void minimum_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_pair(call, inputs, output, smaller, false);
}

static bool compared(tnr_dtype dtype, tnr_comparison comparison, catalogue_value a, catalogue_value b)
{
    bool equal;
    bool less;
    bool greater;
    if (catalogue_is_float(dtype)) {
        equal = a.re == b.re && a.im == b.im;
        less = a.re < b.re;
        greater = a.re > b.re;
    } else {
        const int64_t x = dtype == TNR_BOOL ? a.integer != 0 : a.integer;
        const int64_t y = dtype == TNR_BOOL ? b.integer != 0 : b.integer;
        equal = x == y;
        less = x < y;
        greater = x > y;
    }
    switch (comparison) {
    case TNR_COMPARE_EQUAL:
        return equal;
    case TNR_COMPARE_NOT_EQUAL:
        return !equal;
    case TNR_COMPARE_LESS:
        return less;
    case TNR_COMPARE_LESS_EQUAL:
        return less || equal;
    case TNR_COMPARE_GREATER:
        return greater;
    default:
        return greater || equal;
    }
}

static catalogue_value input_at(const catalogue_array *input, const int64_t *index)
{
    return input->values[catalogue_position(input, index)];
}

static void compare_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    for (int64_t i = 0; i < output->count; ++i) {
        output->values[i].integer =
            compared(call->dtype, call->comparison, input_at(&inputs[0], index), input_at(&inputs[1], index));
        (void)catalogue_step(output->rank, output->shape, index);
    }
}

static void select_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    (void)call;
    int64_t index[TNR_MAX_RANK] = {0};
    for (int64_t i = 0; i < output->count; ++i) {
        output->values[i] = input_at(&inputs[input_at(&inputs[0], index).integer != 0 ? 1 : 2], index);
        (void)catalogue_step(output->rank, output->shape, index);
    }
}

static void clamp_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    for (int64_t i = 0; i < output->count; ++i) {
        const catalogue_value raised = larger(call->dtype, input_at(&inputs[0], index), input_at(&inputs[1], index));
        output->values[i] = smaller(call->dtype, raised, input_at(&inputs[2], index));
        (void)catalogue_step(output->rank, output->shape, index);
    }
}

static void neg_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    for (int64_t i = 0; i < output->count; ++i) {
        const catalogue_value a = inputs[0].values[i];
        output->values[i] = (catalogue_value){-a.re, -a.im, wrap(call->dtype, 0U - (uint64_t)a.integer)};
    }
}

static void abs_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    for (int64_t i = 0; i < output->count; ++i) {
        const catalogue_value a = inputs[0].values[i];
        const uint64_t bits = (uint64_t)a.integer;
        output->values[i] =
            (catalogue_value){hypotl(a.re, a.im), 0.0L, wrap(call->dtype, a.integer < 0 ? 0U - bits : bits)};
        output->scale[i] = output->values[i].re;
    }
}

static long double sign_of(long double a) { return a > 0.0L ? 1.0L : a < 0.0L ? -1.0L : a; }

static void sign_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    for (int64_t i = 0; i < output->count; ++i) {
        const catalogue_value a = inputs[0].values[i];
        catalogue_value *result = &output->values[i];
        *result = (catalogue_value){sign_of(a.re), 0.0L, (a.integer > 0) - (a.integer < 0)};
        if (catalogue_is_complex(call->dtype)) {
            const long double size = hypotl(a.re, a.im);
            *result = size == 0.0L ? a : (catalogue_value){a.re / size, a.im / size, 0};
            output->scale[i] = 1.0L;
        }
    }
}

static void conj_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    (void)call;
    for (int64_t i = 0; i < output->count; ++i) {
        output->values[i] = conjugate(inputs[0].values[i]);
    }
}

static int64_t truncated(tnr_dtype dtype, long double a)
{
    const int64_t most = dtype == TNR_I32 ? INT32_MAX : INT64_MAX;
    if (isnan(a)) {
        return 0;
    }
    if (a >= (long double)most) {
        return most;
    }
    return a <= -(long double)most - 1.0L ? -most - 1 : (int64_t)a;
}

static void cast_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    const tnr_dtype from = call->dtype;
    const tnr_dtype to = call->output_dtype;
    for (int64_t i = 0; i < output->count; ++i) {
        const catalogue_value a = inputs[0].values[i];
        catalogue_value *result = &output->values[i];
        *result = (catalogue_value){0.0L, 0.0L, 0};
        if (to == TNR_BOOL) {
            result->integer = from == TNR_BOOL           ? a.integer
                              : catalogue_is_float(from) ? a.re != 0.0L || a.im != 0.0L
                                                         : a.integer != 0;
        } else if (catalogue_is_float(to)) {
            const int64_t whole = from == TNR_BOOL ? a.integer != 0 : a.integer;
            result->re = catalogue_is_float(from) ? a.re : (long double)whole;
            result->im = catalogue_is_complex(to) ? a.im : 0.0L;
            output->scale[i] = size_of(*result);
        } else {
            result->integer = catalogue_is_float(from) ? truncated(to, a.re)
                              : from == TNR_BOOL       ? a.integer != 0
                                                       : wrap(to, (uint64_t)a.integer);
        }
    }
}

/* ---- Functions: how well they do is measured elsewhere, here it is that they are the right ones everywhere ---- */

typedef long double (*real_function)(long double a);
typedef complex long double (*complex_function)(complex long double a);

static complex long double complex_of(catalogue_value a)
{
    const long double parts[2] = {a.re, a.im}; /* a complex number is laid out like two */
    complex long double result;
    memcpy(&result, parts, sizeof result);
    return result;
}

static void each_of(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output,
                    real_function real, complex_function pair)
{
    for (int64_t i = 0; i < output->count; ++i) {
        const catalogue_value a = inputs[0].values[i];
        if (catalogue_is_complex(call->dtype)) {
            const complex long double result = pair(complex_of(a));
            output->values[i] = (catalogue_value){creall(result), cimagl(result), 0};
        } else {
            output->values[i] = (catalogue_value){real(a.re), 0.0L, 0};
        }
        output->scale[i] = 1.0L + size_of(output->values[i]);
    }
}

static long double reciprocal_root(long double a) { return 1.0L / sqrtl(a); }
static complex long double complex_reciprocal_root(complex long double a) { return 1.0L / csqrtl(a); }
static complex long double complex_expm1(complex long double a) { return cexpl(a) - 1.0L; }
static complex long double complex_log1p(complex long double a) { return clogl(1.0L + a); }

static void exp_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, expl, cexpl);
}

static void log_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, logl, clogl);
}

static void sin_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, sinl, csinl);
}

static void cos_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, cosl, ccosl);
}

static void tanh_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, tanhl, ctanhl);
}

static void sqrt_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, sqrtl, csqrtl);
}

static void rsqrt_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, reciprocal_root, complex_reciprocal_root);
}

static void expm1_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, expm1l, complex_expm1);
}

static void log1p_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_of(call, inputs, output, log1pl, complex_log1p);
}

/* Errors of the logarithm grow with the exponent. */
static catalogue_value power(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    if (catalogue_is_complex(dtype)) {
        const complex long double result = cexpl(complex_of(b) * clogl(complex_of(a)));
        return (catalogue_value){creall(result), cimagl(result), 0};
    }
    return catalogue_is_float(dtype) ? (catalogue_value){powl(a.re, b.re), 0.0L, 0} : integer_power(dtype, a, b);
}

static void pow_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_pair(call, inputs, output, power, false);
    for (int64_t i = 0; i < output->count; ++i) {
        output->scale[i] = size_of(output->values[i]) * (catalogue_is_complex(call->dtype) ? 16.0L : 1.0L);
    }
}

/* ---- What the rows choose ---- */

/* A scalar real may stand for a complex number. */
static void choose_mixed(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    choose_elementwise(random, limit, call);
    const int scalar = call->input_rank[0] == 0 ? 0 : 1;
    if (catalogue_is_complex(call->dtype) && call->input_rank[scalar] == 0 && call->input_rank[1 - scalar] != 0 &&
        catalogue_below(random, 2) == 0) {
        call->input_dtype[scalar] = tnr_dtype_real(call->dtype);
    }
}

static void choose_compare(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    choose_elementwise(random, limit, call);
    call->comparison = (tnr_comparison)catalogue_below(random, catalogue_is_complex(call->dtype) ? 2 : 6);
    call->output_dtype = TNR_BOOL;
}

static void choose_select(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    choose_elementwise(random, limit, call);
    call->input_dtype[0] = TNR_BOOL;
}

static void choose_abs(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    choose_same(random, limit, call);
    call->output_dtype = tnr_dtype_real(call->dtype);
}

static void choose_cast(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    choose_same(random, limit, call);
    call->output_dtype = (tnr_dtype)(TNR_F32 + catalogue_below(random, TNR_DTYPE_END - TNR_F32));
}

static void no_zero_divisor(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    (void)call;
    const int64_t kind = catalogue_below(random, 4); /* small ones too, and those that make the smallest wrap */
    if (input == 1) {
        value->integer = kind == 0 ? -1 : kind == 1 ? value->integer % 100 : value->integer;
        value->integer = value->integer == 0 ? 3 : value->integer;
    } else if (kind == 0) {
        value->integer = wrap(call->dtype, (uint64_t)1 << (call->dtype == TNR_I32 ? 31 : 63));
    }
}

/* Complex powers of nearly nothing are left out: the model is not good there. */
static void small_exponent(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    if (input == 0 && catalogue_is_complex(call->dtype) && size_of(*value) < 0.25L) {
        value->re = 1.0L;
    }
    if (input == 1) {
        value->integer = catalogue_below(random, 70);
    }
}

static void not_zero(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    (void)random;
    (void)input;
    if (catalogue_is_complex(call->dtype) && size_of(*value) == 0.0L) {
        value->re = 1.0L;
    }
}

/* Equal ones among them. */
static void often_equal(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    (void)call;
    (void)input;
    if (catalogue_below(random, 2) == 0) {
        *value = (catalogue_value){(long double)catalogue_below(random, 2), 0.0L, catalogue_below(random, 2)};
    }
}

/* Beyond what integers hold. */
static void often_large(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    (void)call;
    (void)input;
    const int power = (int)catalogue_below(random, 70);
    value->re = ldexpl(value->re, catalogue_below(random, 2) == 0 ? power : 0);
}

/* ---- Calls ---- */

#define BINARY_CALLS(name)                                                                            \
    static tnr_status name##_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, \
                                  tnr_tensor **out)                                                   \
    {                                                                                                 \
        (void)call;                                                                                   \
        return tnr_##name(engine, &in[0], &in[1], out);                                               \
    }                                                                                                 \
    static tnr_status name##_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, \
                                  const tnr_view_mut *out)                                            \
    {                                                                                                 \
        (void)call;                                                                                   \
        return tnr_##name##_into(engine, &in[0], &in[1], out);                                        \
    }
BINARY_CALLS(add)
BINARY_CALLS(sub)
BINARY_CALLS(mul)
BINARY_CALLS(div)
BINARY_CALLS(rem)
BINARY_CALLS(pow)
BINARY_CALLS(maximum)
BINARY_CALLS(minimum)
#undef BINARY_CALLS

#define UNARY_CALLS(name)                                                                             \
    static tnr_status name##_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, \
                                  tnr_tensor **out)                                                   \
    {                                                                                                 \
        (void)call;                                                                                   \
        return tnr_##name(engine, &in[0], out);                                                       \
    }                                                                                                 \
    static tnr_status name##_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, \
                                  const tnr_view_mut *out)                                            \
    {                                                                                                 \
        (void)call;                                                                                   \
        return tnr_##name##_into(engine, &in[0], out);                                                \
    }
UNARY_CALLS(neg)
UNARY_CALLS(abs)
UNARY_CALLS(sign)
UNARY_CALLS(conj)
UNARY_CALLS(exp)
UNARY_CALLS(log)
UNARY_CALLS(sin)
UNARY_CALLS(cos)
UNARY_CALLS(tanh)
UNARY_CALLS(sqrt)
UNARY_CALLS(rsqrt)
UNARY_CALLS(expm1)
UNARY_CALLS(log1p)
#undef UNARY_CALLS

#define TERNARY_CALLS(name)                                                                           \
    static tnr_status name##_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, \
                                  tnr_tensor **out)                                                   \
    {                                                                                                 \
        (void)call;                                                                                   \
        return tnr_##name(engine, &in[0], &in[1], &in[2], out);                                       \
    }                                                                                                 \
    static tnr_status name##_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, \
                                  const tnr_view_mut *out)                                            \
    {                                                                                                 \
        (void)call;                                                                                   \
        return tnr_##name##_into(engine, &in[0], &in[1], &in[2], out);                                \
    }
TERNARY_CALLS(select)
TERNARY_CALLS(clamp)
#undef TERNARY_CALLS

static tnr_status compare_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_compare(engine, call->comparison, &in[0], &in[1], out);
}

static tnr_status compare_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                               const tnr_view_mut *out)
{
    return tnr_compare_into(engine, call->comparison, &in[0], &in[1], out);
}

static tnr_status cast_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_cast(engine, &in[0], call->output_dtype, out);
}

static tnr_status cast_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    (void)call;
    return tnr_cast_into(engine, &in[0], out);
}

/* ---- The rows ---- */

static const catalogue_op rows[] = {
    {.name = "add",
     .arity = 2,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.5,
     .copies = NO_COPY,
     .choose = choose_mixed,
     .make = add_make,
     .into = add_into,
     .model = add_model},
    {.name = "sub",
     .arity = 2,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.5,
     .copies = NO_COPY,
     .choose = choose_mixed,
     .make = sub_make,
     .into = sub_into,
     .model = sub_model},
    {.name = "mul",
     .arity = 2,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 2.0,
     .copies = NO_COPY,
     .choose = choose_mixed,
     .make = mul_make,
     .into = mul_into,
     .model = mul_model},
    {.name = "div",
     .arity = 2,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_mixed,
     .adjust = no_zero_divisor,
     .make = div_make,
     .into = div_into,
     .model = div_model},
    {.name = "rem",
     .arity = 2,
     .dtypes = CATALOGUE_REAL | CATALOGUE_INTEGER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .adjust = no_zero_divisor,
     .make = rem_make,
     .into = rem_into,
     .model = rem_model,
     .specials = true},
    {.name = "pow",
     .arity = 2,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .adjust = small_exponent,
     .make = pow_make,
     .into = pow_into,
     .model = pow_model},
    {.name = "maximum",
     .arity = 2,
     .dtypes = CATALOGUE_REAL | CATALOGUE_INTEGER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .adjust = often_equal,
     .make = maximum_make,
     .into = maximum_into,
     .model = maximum_model,
     .specials = true},
    {.name = "minimum",
     .arity = 2,
     .dtypes = CATALOGUE_REAL | CATALOGUE_INTEGER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .adjust = often_equal,
     .make = minimum_make,
     .into = minimum_into,
     .model = minimum_model,
     .specials = true},
    {.name = "compare",
     .arity = 2,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_compare,
     .adjust = often_equal,
     .make = compare_make,
     .into = compare_into,
     .model = compare_model,
     .specials = true},
    {.name = "select",
     .arity = 3,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_select,
     .adjust = often_equal,
     .make = select_make,
     .into = select_into,
     .model = select_model,
     .specials = true},
    {.name = "clamp",
     .arity = 3,
     .dtypes = CATALOGUE_REAL | CATALOGUE_INTEGER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .make = clamp_make,
     .into = clamp_into,
     .model = clamp_model,
     .specials = true},
    {.name = "neg",
     .arity = 1,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_same,
     .make = neg_make,
     .into = neg_into,
     .model = neg_model,
     .specials = true},
    {.name = "abs",
     .arity = 1,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 1.0,
     .copies = NO_COPY,
     .choose = choose_abs,
     .make = abs_make,
     .into = abs_into,
     .model = abs_model,
     .specials = true},
    {.name = "sign",
     .arity = 1,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 2.0,
     .copies = NO_COPY,
     .choose = choose_same,
     .make = sign_make,
     .into = sign_into,
     .model = sign_model,
     .specials = true},
    {.name = "conj",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_same,
     .make = conj_make,
     .into = conj_into,
     .model = conj_model,
     .specials = true},
    {.name = "cast",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 0.5,
     .copies = NO_COPY,
     .choose = choose_cast,
     .adjust = often_large,
     .make = cast_make,
     .into = cast_into,
     .model = cast_model,
     .specials = true,
     .exempt = CATALOGUE_FREE_OUTPUT_DTYPE},
    {.name = "exp",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .make = exp_make,
     .into = exp_into,
     .model = exp_model},
    {.name = "log",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .adjust = not_zero,
     .make = log_make,
     .into = log_into,
     .model = log_model},
    {.name = "sin",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .make = sin_make,
     .into = sin_into,
     .model = sin_model},
    {.name = "cos",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .make = cos_make,
     .into = cos_into,
     .model = cos_model},
    {.name = "tanh",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .make = tanh_make,
     .into = tanh_into,
     .model = tanh_model},
    {.name = "sqrt",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .make = sqrt_make,
     .into = sqrt_into,
     .model = sqrt_model},
    {.name = "rsqrt",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .adjust = not_zero,
     .make = rsqrt_make,
     .into = rsqrt_into,
     .model = rsqrt_model},
    {.name = "expm1",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .make = expm1_make,
     .into = expm1_into,
     .model = expm1_model},
    {.name = "log1p",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .in_place = CATALOGUE_IN_PLACE_ANY,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_elementwise,
     .adjust = not_zero,
     .make = log1p_make,
     .into = log1p_into,
     .model = log1p_model},
};

const catalogue_family catalogue_elementwise = {rows, (int)(sizeof rows / sizeof *rows)};
