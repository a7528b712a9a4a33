/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the catalogue, each with its shape rule and its naive model. */
#include <math.h>
#include <string.h>

#include "catalogue/catalogue.h"

/* ---- Shape rules ----------------------------------------------------------------------------------------------------------- */

static void random_shape(catalogue_random *random, int64_t limit, int rank, int64_t *shape)
{
    /* Keep the count in hand: long axes only where there are few. */
    const int64_t most = rank <= 2 ? limit : rank == 3 ? 1 + limit / 3 : 4;
    for (int i = 0; i < rank; ++i) {
        const int64_t kind = catalogue_below(random, 12);
        shape[i] = kind == 0 ? 0 : kind <= 2 ? 1 : 1 + catalogue_below(random, most);
    }
}

static void set_input(catalogue_call *call, int input, int rank, const int64_t *shape)
{
    call->input_rank[input] = rank;
    for (int i = 0; i < rank; ++i) {
        call->input_shape[input][i] = shape[i];
    }
}

static void set_output(catalogue_call *call, int rank, const int64_t *shape)
{
    call->rank = rank;
    for (int i = 0; i < rank; ++i) {
        call->shape[i] = shape[i];
    }
}

static void choose_elementwise(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = (int)catalogue_below(random, CATALOGUE_RANK + 1);
    random_shape(random, limit, rank, shape);
    for (int input = 0; input < call->op->arity; ++input) {
        set_input(call, input, rank, shape);
    }
    set_output(call, rank, shape);
    if (call->op->arity == 2 && catalogue_below(random, 4) == 0) {
        call->input_rank[catalogue_below(random, 2)] = 0; /* a scalar meets all */
    }
}

static void random_axes(catalogue_random *random, int rank, int *axes)
{
    for (int i = 0; i < rank; ++i) {
        axes[i] = i;
    }
    for (int i = rank - 1; i > 0; --i) {
        const int64_t j = catalogue_below(random, i + 1);
        const int axis = axes[i];
        axes[i] = axes[j];
        axes[j] = axis;
    }
}

static void choose_sum(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = (int)catalogue_below(random, CATALOGUE_RANK + 1);
    random_shape(random, limit, rank, shape);
    if (rank > 0 && rank < 3 && catalogue_below(random, 8) == 0) {
        shape[catalogue_below(random, rank)] = 1 + catalogue_below(random, 3000); /* long enough to be halved */
    }
    set_input(call, 0, rank, shape);
    random_axes(random, rank, call->axes);
    call->axis_count = (int)catalogue_below(random, rank + 1);
    call->rank = 0;
    for (int i = 0; i < rank; ++i) {
        bool gone = false;
        for (int k = 0; k < call->axis_count; ++k) {
            gone = gone || call->axes[k] == i;
        }
        if (!gone) {
            call->shape[call->rank++] = shape[i];
        }
    }
}

static void choose_permute(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = (int)catalogue_below(random, CATALOGUE_RANK + 1);
    random_shape(random, limit, rank, shape);
    set_input(call, 0, rank, shape);
    random_axes(random, rank, call->axes);
    call->axis_count = rank;
    call->reversed_axes = catalogue_below(random, 4) == 0;
    for (int i = 0; i < rank; ++i) {
        if (call->reversed_axes) {
            call->axes[i] = rank - 1 - i;
        }
        call->shape[i] = shape[call->axes[i]];
    }
    call->rank = rank;
}

static void choose_same(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = (int)catalogue_below(random, CATALOGUE_RANK + 1);
    random_shape(random, limit, rank, shape);
    set_input(call, 0, rank, shape);
    set_output(call, rank, shape);
}

static double random_factor(catalogue_random *random)
{
    static const double factors[] = {1.0, 0.0, -1.0, 0.5, 2.0};
    return factors[catalogue_below(random, 5)];
}

static void choose_matmul(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t extents[3]; /* m, k, n */
    const int64_t most = catalogue_below(random, 8) == 0 ? 2 * limit : 1 + limit / 2;
    for (int i = 0; i < 3; ++i) {
        const int64_t kind = catalogue_below(random, 16);
        extents[i] = kind == 0 ? 0 : kind == 1 ? 1 : 1 + catalogue_below(random, most);
    }
    set_input(call, 0, 2, extents);
    set_input(call, 1, 2, extents + 1);
    call->rank = 2;
    call->shape[0] = extents[0];
    call->shape[1] = extents[2];
    if (catalogue_below(random, 2) == 0) {
        call->matmul.alpha = (tnr_scalar){random_factor(random), random_factor(random)};
        call->matmul.conjugate_a = catalogue_below(random, 2) == 0;
        call->matmul.conjugate_b = catalogue_below(random, 2) == 0;
    }
    if (catalogue_below(random, 3) == 0) {
        call->matmul.beta = (tnr_scalar){random_factor(random), random_factor(random)};
        call->reads_output =
            call->matmul.beta.re != 0.0 || (catalogue_is_complex(call->dtype) && call->matmul.beta.im != 0.0);
    }
}

/* ---- Calls ------------------------------------------------------------------------------------------------------------------- */

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
#undef BINARY_CALLS

static tnr_status exp_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    (void)call;
    return tnr_exp(engine, &in[0], out);
}

static tnr_status exp_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    (void)call;
    return tnr_exp_into(engine, &in[0], out);
}

static tnr_status sum_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_sum(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status sum_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_sum_into(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status permute_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_permute(engine, &in[0], call->reversed_axes ? NULL : call->axes, out);
}

static tnr_status permute_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                               const tnr_view_mut *out)
{
    return tnr_permute_into(engine, &in[0], call->reversed_axes ? NULL : call->axes, out);
}

static tnr_status to_contiguous_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                                     tnr_tensor **out)
{
    (void)call;
    return tnr_to_contiguous(engine, &in[0], out);
}

static tnr_status copy_into_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                                 const tnr_view_mut *out)
{
    (void)call;
    return tnr_copy_into(engine, &in[0], out);
}

static tnr_status matmul_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    tnr_matmul_options options = call->matmul;
    options.beta = (tnr_scalar){0.0, 0.0};
    return tnr_matmul(engine, &in[0], &in[1], &options, out);
}

static tnr_status matmul_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                              const tnr_view_mut *out)
{
    return tnr_matmul_into(engine, &in[0], &in[1], &call->matmul, out);
}

/* ---- Models ------------------------------------------------------------------------------------------------------------------- */

/* Keep what fits the dtype: integers wrap. */
static int64_t wrap(tnr_dtype dtype, uint64_t bits)
{
    return dtype == TNR_I32 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
}

static catalogue_value plus(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    return (catalogue_value){a.re + b.re, a.im + b.im, wrap(dtype, (uint64_t)a.integer + (uint64_t)b.integer)};
}

static catalogue_value minus(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    return (catalogue_value){a.re - b.re, a.im - b.im, wrap(dtype, (uint64_t)a.integer - (uint64_t)b.integer)};
}

static catalogue_value times(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    if (!catalogue_is_complex(dtype)) {
        return (catalogue_value){a.re * b.re, 0.0L, wrap(dtype, (uint64_t)a.integer * (uint64_t)b.integer)};
    }
    return (catalogue_value){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, 0};
}

static catalogue_value conjugate(catalogue_value a) { return (catalogue_value){a.re, -a.im, a.integer}; }

static long double size_of(catalogue_value a) { return fabsl(a.re) + fabsl(a.im); }

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

static void exp_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    (void)call;
    for (int64_t i = 0; i < output->count; ++i) {
        const catalogue_value a = inputs[0].values[i];
        const long double scale = expl(a.re);
        output->values[i] = (catalogue_value){scale * cosl(a.im), scale * sinl(a.im), 0};
        output->scale[i] = scale;
    }
}

static void sum_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    for (int64_t i = 0; i < output->count; ++i) {
        output->values[i] = (catalogue_value){0.0L, 0.0L, 0};
        output->scale[i] = 0.0L;
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
        const catalogue_value a = inputs[0].values[catalogue_position(&inputs[0], index)];
        const int64_t at = catalogue_position(output, kept);
        output->values[at] = plus(call->dtype, output->values[at], a);
        output->scale[at] += size_of(a);
    } while (catalogue_step(inputs[0].rank, inputs[0].shape, index));
}

static void permute_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    if (output->count == 0) {
        return;
    }
    do {
        int64_t source[TNR_MAX_RANK] = {0};
        for (int i = 0; i < output->rank; ++i) {
            source[call->axes[i]] = index[i];
        }
        output->values[catalogue_position(output, index)] = inputs[0].values[catalogue_position(&inputs[0], source)];
    } while (catalogue_step(output->rank, output->shape, index));
}

static void copy_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    (void)call;
    for (int64_t i = 0; i < output->count; ++i) {
        output->values[i] = inputs[0].values[i];
    }
}

static void matmul_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    const bool complex = catalogue_is_complex(call->dtype);
    const catalogue_value alpha = {call->matmul.alpha.re, complex ? call->matmul.alpha.im : 0.0L, 0};
    const catalogue_value beta = {call->matmul.beta.re, complex ? call->matmul.beta.im : 0.0L, 0};
    int64_t index[TNR_MAX_RANK] = {0};
    if (output->count == 0) {
        return;
    }
    do {
        catalogue_value sum = {0.0L, 0.0L, 0};
        long double scale = 0.0L;
        for (int64_t k = 0; k < inputs[0].shape[1]; ++k) {
            const int64_t left[2] = {index[0], k};
            const int64_t right[2] = {k, index[1]};
            catalogue_value a = inputs[0].values[catalogue_position(&inputs[0], left)];
            catalogue_value b = inputs[1].values[catalogue_position(&inputs[1], right)];
            a = call->matmul.conjugate_a ? conjugate(a) : a;
            b = call->matmul.conjugate_b ? conjugate(b) : b;
            sum = plus(call->dtype, sum, times(call->dtype, a, b));
            scale += size_of(a) * size_of(b);
        }
        const int64_t at = catalogue_position(output, index);
        const catalogue_value old = output->values[at];
        output->values[at] = times(call->dtype, alpha, sum);
        output->scale[at] = size_of(alpha) * scale * (1.0L + sqrtl((long double)inputs[0].shape[1]) / 4.0L);
        if (call->reads_output) {
            output->values[at] = plus(call->dtype, output->values[at], times(call->dtype, beta, old));
            output->scale[at] += size_of(beta) * size_of(old);
        }
    } while (catalogue_step(output->rank, output->shape, index));
}

/* ---- The rows ----------------------------------------------------------------------------------------------------------------- */

#define ANY CATALOGUE_ANY_INPUT
#define NO_COPY TNR_COPY_REASON_END

const catalogue_op catalogue_ops[] = {
    {"add", 2, CATALOGUE_NUMBER, ANY, true, 0.5, NO_COPY, choose_elementwise, add_make, add_into, add_model},
    {"sub", 2, CATALOGUE_NUMBER, ANY, true, 0.5, NO_COPY, choose_elementwise, sub_make, sub_into, sub_model},
    {"mul", 2, CATALOGUE_NUMBER, ANY, true, 2.0, NO_COPY, choose_elementwise, mul_make, mul_into, mul_model},
    {"exp", 1, CATALOGUE_FLOAT, ANY, true, 4.0, NO_COPY, choose_elementwise, exp_make, exp_into, exp_model},
    {"sum", 1, CATALOGUE_NUMBER, ANY, false, 40.0, NO_COPY, choose_sum, sum_make, sum_into, sum_model},
    {"permute", 1, CATALOGUE_ALL, ANY, false, 0.0, TNR_COPY_PERMUTE, choose_permute, permute_make, permute_into,
     permute_model},
    {"to_contiguous", 1, CATALOGUE_ALL, ANY, false, 0.0, TNR_COPY_TO_CONTIGUOUS, choose_same, to_contiguous_make, NULL,
     copy_model},
    {"copy_into", 1, CATALOGUE_ALL, ANY, false, 0.0, TNR_COPY_COPY_INTO, choose_same, NULL, copy_into_into, copy_model},
    {"matmul", 2, CATALOGUE_FLOAT, ANY, false, 8.0, NO_COPY, choose_matmul, matmul_make, matmul_into, matmul_model},
};

const int catalogue_op_count = (int)(sizeof catalogue_ops / sizeof *catalogue_ops);

catalogue_call catalogue_choose(catalogue_random *random, const catalogue_op *op, tnr_dtype dtype, int64_t limit)
{
    const tnr_matmul_options options = TNR_MATMUL_OPTIONS;
    catalogue_call call = {.op = op, .dtype = dtype, .matmul = options};
    op->choose(random, limit, &call);
    return call;
}

static int64_t product(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) {
        count *= shape[i];
    }
    return count;
}

catalogue_call catalogue_plain_call(const catalogue_op *op, tnr_dtype dtype)
{
    catalogue_random random = {77};
    for (;;) {
        const catalogue_call call = catalogue_choose(&random, op, dtype, 5);
        bool plain = call.rank > 0 && product(call.rank, call.shape) > 1 && !call.reads_output &&
                     call.matmul.alpha.re == 1.0 && call.matmul.alpha.im == 0.0;
        for (int i = 0; i < op->arity; ++i) {
            plain = plain && call.input_rank[i] > 0 && product(call.input_rank[i], call.input_shape[i]) > 1;
        }
        if (plain) {
            return call;
        }
    }
}
