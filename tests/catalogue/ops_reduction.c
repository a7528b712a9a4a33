/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of reduction.h. */
#include <math.h>
#include <string.h>

#include "ops.h"

/* ---- Shapes ---- */

/* The axes that stay make the output. */
static void drop_axes(catalogue_call *call)
{
    call->rank = 0;
    for (int i = 0; i < call->input_rank[0]; ++i) {
        bool gone = false;
        for (int k = 0; k < call->axis_count; ++k) {
            gone = gone || call->axes[k] == i;
        }
        if (!gone) {
            call->shape[call->rank++] = call->input_shape[0][i];
        }
    }
}

/* Now and then an axis that is long enough for several rows of a line, or for a tree of tiles. */
static void choose_axes(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = random_rank(random);
    random_shape(random, limit, rank, shape);
    if (rank > 0 && rank < 3 && catalogue_below(random, 8) == 0) {
        shape[catalogue_below(random, rank)] = 1 + catalogue_below(random, 3000);
    } else if (rank > 0 && rank < 4 && catalogue_below(random, 5) == 0) {
        shape[catalogue_below(random, rank)] = 1 + catalogue_below(random, 150);
    }
    set_input(call, 0, rank, shape);
    random_axes(random, rank, call->axes);
    call->axis_count = (int)catalogue_below(random, rank + 1);
    drop_axes(call);
}

/* No axis that goes is empty. */
static void choose_full_axes(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    choose_axes(random, limit, call);
    for (int k = 0; k < call->axis_count; ++k) {
        if (call->input_shape[0][call->axes[k]] == 0) {
            call->input_shape[0][call->axes[k]] = 1 + catalogue_below(random, limit);
        }
    }
    drop_axes(call);
}

static void choose_norm(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    choose_axes(random, limit, call);
    call->output_dtype = call->dtype == TNR_C32 ? TNR_F32 : call->dtype == TNR_C64 ? TNR_F64 : call->dtype;
}

static void choose_arg(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    do {
        choose_full_axes(random, limit, call);
    } while (call->input_rank[0] == 0);
    call->axis_count = 1;
    if (call->input_shape[0][call->axes[0]] == 0) {
        call->input_shape[0][call->axes[0]] = 1 + catalogue_below(random, limit);
    }
    drop_axes(call);
    call->output_dtype = TNR_I64;
}

/* ---- Models ---- */

/* Take one more term, number `term` along the one axis of an arg operation, into output element `at`. */
typedef void (*take_term)(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term,
                          catalogue_value a);

static void each_term(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output,
                      catalogue_value start, long double start_scale, take_term take)
{
    for (int64_t i = 0; i < output->count; ++i) {
        output->values[i] = start;
        output->scale[i] = start_scale;
    }
    int64_t index[TNR_MAX_RANK] = {0};
    if (inputs[0].count == 0) {
        return;
    }
    do {
        int64_t kept[TNR_MAX_RANK] = {0};
        int rank = 0;
        for (int i = 0; i < inputs[0].rank; ++i) {
            bool gone = false;
            for (int k = 0; k < call->axis_count; ++k) {
                gone = gone || call->axes[k] == i;
            }
            if (!gone) {
                kept[rank++] = index[i];
            }
        }
        take(call, output, catalogue_position(output, kept), index[call->axes[0]],
             inputs[0].values[catalogue_position(&inputs[0], index)]);
    } while (catalogue_step(inputs[0].rank, inputs[0].shape, index));
}

static const catalogue_value nothing = {0.0L, 0.0L, 0};
static const catalogue_value unit = {1.0L, 0.0L, 1};
static const catalogue_value none_yet = {0.0L, 0.0L, -1};

static void take_sum(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term, catalogue_value a)
{
    (void)term;
    output->values[at] = plus(call->dtype, output->values[at], a);
    output->scale[at] += size_of(a);
}

static void sum_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, nothing, 0.0L, take_sum);
}

static void take_product(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term,
                         catalogue_value a)
{
    (void)term;
    output->values[at] = times(call->dtype, output->values[at], a);
    output->scale[at] *= hypotl(a.re, a.im);
}

/* Each factor adds a rounding of its own: the scale is the magnitude, times how many they are. */
static void prod_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, unit, 1.0L, take_product);
    const long double terms = output->count == 0 ? 0.0L : (long double)inputs[0].count / (long double)output->count;
    for (int64_t i = 0; i < output->count; ++i) {
        output->scale[i] *= 1.0L + terms;
    }
}

/* Near 1, so that long products stay in range, those of one value that a view repeats included. */
static void near_one(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    (void)input;
    if (catalogue_is_float(call->dtype)) {
        const long double angle = (long double)catalogue_below(random, 1000) / 500.0L;
        const long double size = 1.0L + (long double)(catalogue_below(random, 21) - 10) / 20000.0L;
        value->re = catalogue_is_complex(call->dtype) ? size * cosl(angle)
                    : catalogue_below(random, 2) == 0 ? size
                                                      : -size;
        value->im = catalogue_is_complex(call->dtype) ? size * sinl(angle) : 0.0L;
    }
}

/* scale is 1 once there was a term. */
static void take_max(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term, catalogue_value a)
{
    (void)term;
    catalogue_value *best = &output->values[at];
    if (output->scale[at] == 0.0L) {
        *best = a;
    } else if (catalogue_is_float(call->dtype)) {
        *best = isnan(best->re) || best->re >= a.re ? *best : a;
    } else {
        *best = best->integer >= a.integer ? *best : a;
    }
    output->scale[at] = 1.0L;
}

static void take_min(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term, catalogue_value a)
{
    (void)term;
    catalogue_value *best = &output->values[at];
    if (output->scale[at] == 0.0L) {
        *best = a;
    } else if (catalogue_is_float(call->dtype)) {
        *best = isnan(best->re) || best->re <= a.re ? *best : a;
    } else {
        *best = best->integer <= a.integer ? *best : a;
    }
    output->scale[at] = 1.0L;
}

static void max_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, nothing, 0.0L, take_max);
}

static void min_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, nothing, 0.0L, take_min);
}

static void take_all(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term, catalogue_value a)
{
    (void)call;
    (void)term;
    output->values[at].integer = output->values[at].integer != 0 && a.integer != 0 ? 1 : 0;
}

static void take_any(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term, catalogue_value a)
{
    (void)call;
    (void)term;
    output->values[at].integer = output->values[at].integer != 0 || a.integer != 0 ? 1 : 0;
}

static void all_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, unit, 0.0L, take_all);
}

static void any_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, nothing, 0.0L, take_any);
}

/* Mostly one answer until late: a kernel that looks at a part only is found out. */
static void mostly_true(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    (void)call;
    (void)input;
    value->integer = catalogue_below(random, 60) != 0 ? 1 : 0;
}

static void mostly_false(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    (void)call;
    (void)input;
    value->integer = catalogue_below(random, 60) == 0 ? 1 : 0;
}

/* re is the sum of squares; im is 1 once there was an infinity. */
static void take_norm(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term, catalogue_value a)
{
    (void)call;
    (void)term;
    output->values[at].re += a.re * a.re + a.im * a.im;
    output->values[at].im = isinf(a.re) || isinf(a.im) ? 1.0L : output->values[at].im;
}

static void norm_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, nothing, 0.0L, take_norm);
    for (int64_t i = 0; i < output->count; ++i) {
        catalogue_value *value = &output->values[i];
        value->re = value->im != 0.0L ? (long double)INFINITY : sqrtl(value->re);
        value->im = 0.0L;
        output->scale[i] = value->re;
    }
}

/* integer is the position, re (floats) or scale the best value so far. */
static void take_arg(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term, catalogue_value a,
                     bool largest)
{
    catalogue_value *best = &output->values[at];
    const long double value = catalogue_is_float(call->dtype) ? a.re : (long double)a.integer;
    const bool wins = largest ? value > best->re : value < best->re;
    if (best->integer < 0 || (!isnan(best->re) && (isnan(value) || wins))) {
        best->integer = term;
        best->re = value;
    }
}

static void take_argmax(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term,
                        catalogue_value a)
{
    take_arg(call, output, at, term, a, true);
}

static void take_argmin(const catalogue_call *call, catalogue_array *output, int64_t at, int64_t term,
                        catalogue_value a)
{
    take_arg(call, output, at, term, a, false);
}

static void argmax_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, none_yet, 0.0L, take_argmax);
}

static void argmin_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    each_term(call, inputs, output, none_yet, 0.0L, take_argmin);
}

/* ---- Forms ---- */

static tnr_status sum_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_sum(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status sum_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_sum_into(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status prod_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_prod(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status prod_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_prod_into(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status max_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_max(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status max_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_max_into(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status min_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_min(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status min_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_min_into(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status all_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_all(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status all_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_all_into(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status any_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_any(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status any_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_any_into(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status norm_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_norm(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status norm_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_norm_into(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status argmax_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_argmax(engine, &in[0], call->axes[0], out);
}

static tnr_status argmax_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                              const tnr_view_mut *out)
{
    return tnr_argmax_into(engine, &in[0], call->axes[0], out);
}

static tnr_status argmin_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_argmin(engine, &in[0], call->axes[0], out);
}

static tnr_status argmin_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                              const tnr_view_mut *out)
{
    return tnr_argmin_into(engine, &in[0], call->axes[0], out);
}

static const catalogue_op rows[] = {
    {.name = "sum",
     .arity = 1,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 32.0,
     .copies = NO_COPY,
     .choose = choose_axes,
     .make = sum_make,
     .into = sum_into,
     .model = sum_model},
    {.name = "prod",
     .arity = 1,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 4.0,
     .copies = NO_COPY,
     .choose = choose_axes,
     .adjust = near_one,
     .make = prod_make,
     .into = prod_into,
     .model = prod_model},
    {.name = "max",
     .arity = 1,
     .dtypes = CATALOGUE_REAL | CATALOGUE_INTEGER,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_full_axes,
     .make = max_make,
     .into = max_into,
     .model = max_model,
     .specials = true},
    {.name = "min",
     .arity = 1,
     .dtypes = CATALOGUE_REAL | CATALOGUE_INTEGER,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_full_axes,
     .make = min_make,
     .into = min_into,
     .model = min_model,
     .specials = true},
    {.name = "all",
     .arity = 1,
     .dtypes = CATALOGUE_BIT(TNR_BOOL),
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_axes,
     .adjust = mostly_true,
     .make = all_make,
     .into = all_into,
     .model = all_model},
    {.name = "any",
     .arity = 1,
     .dtypes = CATALOGUE_BIT(TNR_BOOL),
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_axes,
     .adjust = mostly_false,
     .make = any_make,
     .into = any_into,
     .model = any_model},
    {.name = "norm",
     .arity = 1,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 32.0,
     .copies = NO_COPY,
     .choose = choose_norm,
     .make = norm_make,
     .into = norm_into,
     .model = norm_model,
     .specials = true},
    {.name = "argmax",
     .arity = 1,
     .dtypes = CATALOGUE_REAL | CATALOGUE_INTEGER,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_arg,
     .make = argmax_make,
     .into = argmax_into,
     .model = argmax_model,
     .specials = true},
    {.name = "argmin",
     .arity = 1,
     .dtypes = CATALOGUE_REAL | CATALOGUE_INTEGER,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 0.0,
     .copies = NO_COPY,
     .choose = choose_arg,
     .make = argmin_make,
     .into = argmin_into,
     .model = argmin_model,
     .specials = true},
};

const catalogue_family catalogue_reduction = {rows, (int)(sizeof rows / sizeof *rows)};
