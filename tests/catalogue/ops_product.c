/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of product.h. */
#include <math.h>
#include <string.h>

#include "ops.h"

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

static tnr_status matmul_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    tnr_product_options options = call->matmul;
    options.beta = (tnr_scalar){0.0, 0.0};
    return tnr_matmul(engine, &in[0], &in[1], &options, out);
}

static tnr_status matmul_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                              const tnr_view_mut *out)
{
    return tnr_matmul_into(engine, &in[0], &in[1], &call->matmul, out);
}

static const catalogue_op rows[] = {
    {.name = "matmul",
     .arity = 2,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 8.0,
     .copies = NO_COPY,
     .choose = choose_matmul,
     .make = matmul_make,
     .into = matmul_into,
     .model = matmul_model,
     .scratch = true},
};

const catalogue_family catalogue_product = {rows, (int)(sizeof rows / sizeof *rows)};
