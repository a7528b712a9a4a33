/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape rules and arithmetic that rows of several families use; the list of all rows. */
#include <math.h>
#include <string.h>

#include "ops.h"

/* ---- Shape rules ----------------------------------------------------------------------------------------------------------- */

void random_shape(catalogue_random *random, int64_t limit, int rank, int64_t *shape)
{
    /* Keep the count in hand: long axes only where there are few. */
    const int64_t most = rank <= 2 ? limit : rank == 3 ? 1 + limit / 3 : 4;
    for (int i = 0; i < rank; ++i) {
        const int64_t kind = catalogue_below(random, 12);
        shape[i] = kind == 0 ? 0 : kind <= 2 ? 1 : 1 + catalogue_below(random, most);
    }
}

int random_rank(catalogue_random *random) { return (int)catalogue_below(random, CATALOGUE_RANK + 1); }

void set_input(catalogue_call *call, int input, int rank, const int64_t *shape)
{
    call->input_rank[input] = rank;
    for (int i = 0; i < rank; ++i) {
        call->input_shape[input][i] = shape[i];
    }
}

void set_output(catalogue_call *call, int rank, const int64_t *shape)
{
    call->rank = rank;
    for (int i = 0; i < rank; ++i) {
        call->shape[i] = shape[i];
    }
}

void choose_elementwise(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = (int)catalogue_below(random, CATALOGUE_RANK + 1);
    random_shape(random, limit, rank, shape);
    for (int input = 0; input < call->op->arity; ++input) {
        set_input(call, input, rank, shape);
    }
    set_output(call, rank, shape);
    if (call->op->arity > 1 && catalogue_below(random, 4) == 0) {
        const int64_t keeps = catalogue_below(random, call->op->arity); /* a scalar, or several, meets all */
        for (int input = 0; input < call->op->arity; ++input) {
            if (input != keeps && (input == (keeps + 1) % call->op->arity || catalogue_below(random, 2) == 0)) {
                call->input_rank[input] = 0;
            }
        }
    }
}

void random_axes(catalogue_random *random, int rank, int *axes)
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

void choose_same(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = (int)catalogue_below(random, CATALOGUE_RANK + 1);
    random_shape(random, limit, rank, shape);
    set_input(call, 0, rank, shape);
    set_output(call, rank, shape);
}

int choose_matrices(catalogue_random *random, int64_t limit, int64_t *shape, catalogue_call *call)
{
    const int rank = 2 + (int)catalogue_below(random, CATALOGUE_RANK - 1);
    random_shape(random, limit, rank, shape);
    random_axes(random, rank, call->axes);
    return rank;
}

/* ---- Models ------------------------------------------------------------------------------------------------------------------- */

/* Keep what fits the dtype: integers wrap. */
int64_t wrap(tnr_dtype dtype, uint64_t bits)
{
    return dtype == TNR_I32 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
}

catalogue_value plus(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    return (catalogue_value){a.re + b.re, a.im + b.im, wrap(dtype, (uint64_t)a.integer + (uint64_t)b.integer)};
}

catalogue_value minus(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    return (catalogue_value){a.re - b.re, a.im - b.im, wrap(dtype, (uint64_t)a.integer - (uint64_t)b.integer)};
}

catalogue_value times(tnr_dtype dtype, catalogue_value a, catalogue_value b)
{
    if (!catalogue_is_complex(dtype)) {
        return (catalogue_value){a.re * b.re, 0.0L, wrap(dtype, (uint64_t)a.integer * (uint64_t)b.integer)};
    }
    return (catalogue_value){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, 0};
}

catalogue_value conjugate(catalogue_value a) { return (catalogue_value){a.re, -a.im, a.integer}; }

long double size_of(catalogue_value a) { return fabsl(a.re) + fabsl(a.im); }

void copy_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    (void)call;
    for (int64_t i = 0; i < output->count; ++i) {
        output->values[i] = inputs[0].values[i];
    }
}

/* ---- All rows ---------------------------------------------------------------------------------------------------------------- */

const catalogue_op *catalogue_op_at(int index)
{
    const catalogue_family *const families[] = {&catalogue_elementwise, &catalogue_reduction, &catalogue_structure,
                                                &catalogue_zeros,       &catalogue_index,     &catalogue_product,
                                                &catalogue_contract};
    for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
        if (index < families[i]->count) {
            return &families[i]->ops[index];
        }
        index -= families[i]->count;
    }
    return NULL;
}

tnr_dtype catalogue_plain_dtype(const catalogue_op *op)
{
    if ((op->dtypes & CATALOGUE_BIT(TNR_F64)) != 0) {
        return TNR_F64;
    }
    int dtype = TNR_F32;
    while ((op->dtypes & CATALOGUE_BIT(dtype)) == 0) {
        ++dtype;
    }
    return (tnr_dtype)dtype;
}

catalogue_call catalogue_choose(catalogue_random *random, const catalogue_op *op, tnr_dtype dtype, int64_t limit)
{
    const tnr_product_options options = TNR_PRODUCT_OPTIONS;
    const tnr_index_options index = TNR_INDEX_OPTIONS;
    catalogue_call call = {.op = op, .dtype = dtype, .output_dtype = dtype, .matmul = options, .index = index};
    for (int i = 0; i < CATALOGUE_INPUTS; ++i) {
        call.input_dtype[i] = dtype;
    }
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
