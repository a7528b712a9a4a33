/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of contract.h and einsum.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops.h"

#define LABELS 6 /* that one contraction may have */

static double random_factor(catalogue_random *random)
{
    static const double factors[] = {1.0, 0.0, -1.0, 0.5, 2.0};
    return factors[catalogue_below(random, 5)];
}

static bool has_label(const char *text, int label) { return strchr(text, 'a' + label) != NULL; }

static void shape_of(const char *text, const int64_t *extents, int64_t *shape)
{
    for (int i = 0; text[i] != '\0'; ++i) {
        shape[i] = extents[text[i] - 'a'];
    }
}

/* Any labels in any order, repeated ones among them; the result has some of them. */
static void choose_contract(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    const int arity = call->op->arity;
    const int64_t most = 1 + limit / (3 * arity);
    int64_t extents[LABELS];
    for (int i = 0; i < LABELS; ++i) {
        const int64_t kind = catalogue_below(random, 24);
        extents[i] = kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 ? 1 + 2 * most : 1 + catalogue_below(random, most);
    }
    memset(call->labels, 0, sizeof call->labels);
    for (int input = 0; input < arity; ++input) {
        const int rank = (int)catalogue_below(random, CATALOGUE_RANK + 1);
        for (int i = 0; i < rank; ++i) {
            call->labels[input][i] = (char)('a' + catalogue_below(random, LABELS));
        }
        int64_t shape[TNR_MAX_RANK];
        shape_of(call->labels[input], extents, shape);
        set_input(call, input, rank, shape);
    }
    int order[LABELS];
    random_axes(random, LABELS, order);
    int rank = 0;
    for (int i = 0; i < LABELS && rank < CATALOGUE_RANK; ++i) {
        bool there = false;
        for (int input = 0; input < arity; ++input) {
            there = there || has_label(call->labels[input], order[i]);
        }
        if (there && catalogue_below(random, 3) > 0) {
            call->labels[arity][rank++] = (char)('a' + order[i]);
        }
    }
    call->rank = rank;
    shape_of(call->labels[arity], extents, call->shape);
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

/* The element of an operand that an index over all labels names. */
static int64_t element_at(const catalogue_array *array, const char *text, const int64_t *index)
{
    int64_t own[TNR_MAX_RANK];
    shape_of(text, index, own);
    return catalogue_position(array, own);
}

/* The third operand of an einsum is conjugated when one of the others is. */
static bool conjugated(const catalogue_call *call, int input)
{
    const bool a = call->matmul.conjugate_a;
    const bool b = call->matmul.conjugate_b;
    return input == 0 ? a : input == 1 ? b : a != b;
}

static void contract_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    const int arity = call->op->arity;
    const char *out = call->labels[arity];
    const bool complex = catalogue_is_complex(call->dtype);
    const catalogue_value alpha = {call->matmul.alpha.re, complex ? call->matmul.alpha.im : 0.0L, 0};
    const catalogue_value beta = {call->matmul.beta.re, complex ? call->matmul.beta.im : 0.0L, 0};
    int64_t extents[LABELS];
    int64_t summed = 1;
    for (int label = 0; label < LABELS; ++label) {
        extents[label] = 1;
    }
    for (int input = 0; input < arity; ++input) {
        for (int i = 0; call->labels[input][i] != '\0'; ++i) {
            extents[call->labels[input][i] - 'a'] = inputs[input].shape[i];
        }
    }
    for (int label = 0; label < LABELS; ++label) {
        summed *= has_label(out, label) ? 1 : extents[label];
    }
    catalogue_array sums = catalogue_array_make(call->dtype, output->rank, output->shape);
    for (int64_t i = 0; i < output->count; ++i) {
        sums.values[i] = (catalogue_value){0.0L, 0.0L, 0};
        sums.scale[i] = 0.0L;
    }
    if (output->count > 0 && summed > 0) {
        int64_t index[LABELS] = {0};
        do {
            catalogue_value product = {1.0L, 0.0L, 0};
            long double size = 1.0L;
            for (int input = 0; input < arity; ++input) {
                catalogue_value value = inputs[input].values[element_at(&inputs[input], call->labels[input], index)];
                value = conjugated(call, input) ? conjugate(value) : value;
                product = input == 0 ? value : times(call->dtype, product, value);
                size *= size_of(value);
            }
            const int64_t at = element_at(output, out, index);
            sums.values[at] = plus(call->dtype, sums.values[at], product);
            sums.scale[at] += size;
        } while (catalogue_step(LABELS, extents, index));
    }
    for (int64_t i = 0; i < output->count; ++i) {
        const catalogue_value old = output->values[i];
        output->values[i] = times(call->dtype, alpha, sums.values[i]);
        output->scale[i] = size_of(alpha) * sums.scale[i] * (1.0L + sqrtl((long double)summed) / 4.0L);
        if (call->reads_output) {
            output->values[i] = plus(call->dtype, output->values[i], times(call->dtype, beta, old));
            output->scale[i] += size_of(beta) * size_of(old);
        }
    }
    catalogue_array_free(&sums);
}

static tnr_status contract_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    tnr_product_options options = call->matmul;
    options.beta = (tnr_scalar){0.0, 0.0};
    return tnr_contract(engine, &in[0], call->labels[0], &in[1], call->labels[1], call->labels[2], &options, out);
}

static tnr_status contract_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                                const tnr_view_mut *out)
{
    return tnr_contract_into(engine, &in[0], call->labels[0], &in[1], call->labels[1], call->labels[2], &call->matmul,
                             out);
}

#define EQUATION_BYTES (CATALOGUE_INPUTS * (TNR_MAX_RANK + 1) + 2)

/* Any path: the expected value does not depend on it. */
static void einsum_of(const catalogue_call *call, const tnr_view *in, char *equation, const tnr_view **list,
                      tnr_einsum_options *options)
{
    const int arity = call->op->arity;
    size_t at = 0;
    for (int i = 0; i <= arity; ++i) {
        const char *before = i == 0 ? "" : i < arity ? "," : "->";
        at += (size_t)snprintf(equation + at, EQUATION_BYTES - at, "%s%s", before, call->labels[i]);
    }
    for (int input = 0; input < arity; ++input) {
        list[input] = &in[input];
        options->conjugate |= (uint64_t)conjugated(call, input) << input;
    }
    options->mode = (tnr_einsum_mode)(strlen(call->labels[0]) % 4);
    options->alpha = call->matmul.alpha;
    options->beta = call->matmul.beta;
}

static tnr_status einsum_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    char equation[EQUATION_BYTES];
    const tnr_view *list[CATALOGUE_INPUTS];
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    einsum_of(call, in, equation, list, &options);
    options.beta = (tnr_scalar){0.0, 0.0};
    return tnr_einsum(engine, equation, list, call->op->arity, &options, out);
}

static tnr_status einsum_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                              const tnr_view_mut *out)
{
    char equation[EQUATION_BYTES];
    const tnr_view *list[CATALOGUE_INPUTS];
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    einsum_of(call, in, equation, list, &options);
    return tnr_einsum_into(engine, equation, list, call->op->arity, &options, out);
}

static const catalogue_op rows[] = {
    {.name = "contract",
     .arity = 2,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 8.0,
     .copies = NO_COPY,
     .choose = choose_contract,
     .make = contract_make,
     .into = contract_into,
     .model = contract_model,
     .exempt = CATALOGUE_FREE_INPUT_SHAPES,
     .scratch = true},
    {.name = "einsum",
     .arity = 3,
     .dtypes = CATALOGUE_FLOAT,
     .layouts = CATALOGUE_ANY_INPUT,
     .tolerance = 12.0,
     .copies = NO_COPY,
     .choose = choose_contract,
     .make = einsum_make,
     .into = einsum_into,
     .model = contract_model,
     .exempt = CATALOGUE_FREE_INPUT_SHAPES,
     .scratch = true},
};

const catalogue_family catalogue_contract = {rows, (int)(sizeof rows / sizeof *rows)};
