/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of structure.h that write zeros where nothing is copied: pad, embed_diagonal, tril, triu. */
#include <string.h>

#include "ops.h"

static void all_zero(catalogue_array *output)
{
    for (int64_t i = 0; i < output->count; ++i) {
        output->values[i] = (catalogue_value){0.0L, 0.0L, 0};
    }
}

static void choose_pad(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = random_rank(random);
    random_shape(random, limit, rank, shape);
    set_input(call, 0, rank, shape);
    call->rank = rank;
    for (int i = 0; i < rank; ++i) {
        tnr_padding *padding = &call->paddings[i];
        padding->interior = catalogue_below(random, 2) == 0 ? 0 : catalogue_below(random, 4);
        const int64_t spread = shape[i] == 0 ? 0 : shape[i] + padding->interior * (shape[i] - 1);
        padding->low = catalogue_below(random, 7) - 3;
        padding->high = catalogue_below(random, 7) - 3;
        if (catalogue_below(random, 8) == 0) { /* push everything out on one side */
            padding->low = -spread - catalogue_below(random, 3);
            padding->high = spread + 1 - padding->low;
        }
        if (spread + padding->low + padding->high < 0) {
            padding->high = -spread - padding->low;
        }
        call->shape[i] = spread + padding->low + padding->high;
    }
}

static void pad_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    all_zero(output);
    if (inputs[0].count == 0) {
        return;
    }
    do {
        int64_t target[TNR_MAX_RANK] = {0};
        bool inside = true;
        for (int i = 0; i < output->rank; ++i) {
            target[i] = call->paddings[i].low + index[i] * (call->paddings[i].interior + 1);
            inside = inside && target[i] >= 0 && target[i] < output->shape[i];
        }
        if (inside) {
            output->values[catalogue_position(output, target)] =
                inputs[0].values[catalogue_position(&inputs[0], index)];
        }
    } while (catalogue_step(inputs[0].rank, inputs[0].shape, index));
}

static tnr_status pad_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_pad(engine, &in[0], call->paddings, out);
}

static tnr_status pad_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_pad_into(engine, &in[0], call->paddings, out);
}

/* axes[0] is made a diagonal, axes[1] is where its other axis goes. */
static void choose_embed(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = 1 + (int)catalogue_below(random, CATALOGUE_RANK - 1);
    random_shape(random, limit, rank, shape);
    set_input(call, 0, rank, shape);
    call->axes[0] = (int)catalogue_below(random, rank);
    call->axes[1] = (int)catalogue_below(random, rank + 1);
    call->rank = rank + 1;
    int from = 0;
    for (int i = 0; i <= rank; ++i) {
        call->shape[i] = i == call->axes[1] ? shape[call->axes[0]] : shape[from++];
    }
}

static void embed_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    all_zero(output);
    if (inputs[0].count == 0) {
        return;
    }
    do {
        int64_t target[TNR_MAX_RANK] = {0};
        int from = 0;
        for (int i = 0; i < output->rank; ++i) {
            target[i] = i == call->axes[1] ? index[call->axes[0]] : index[from++];
        }
        output->values[catalogue_position(output, target)] = inputs[0].values[catalogue_position(&inputs[0], index)];
    } while (catalogue_step(inputs[0].rank, inputs[0].shape, index));
}

static tnr_status embed_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_embed_diagonal(engine, &in[0], call->axes[0], call->axes[1], out);
}

static tnr_status embed_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                             const tnr_view_mut *out)
{
    return tnr_embed_diagonal_into(engine, &in[0], call->axes[0], call->axes[1], out);
}

static void choose_triangle(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = choose_matrices(random, limit, shape, call);
    set_input(call, 0, rank, shape);
    set_output(call, rank, shape);
    static const int64_t far[2] = {INT64_MIN, INT64_MAX};
    call->number =
        catalogue_below(random, 8) == 0 ? far[catalogue_below(random, 2)] : catalogue_below(random, 2 * limit) - limit;
}

static void triangle_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    const bool lower = strcmp(call->op->name, "tril") == 0;
    all_zero(output);
    if (output->count == 0) {
        return;
    }
    do {
        const long double distance = (long double)index[1] - (long double)index[0] - (long double)call->number;
        if (lower ? distance <= 0 : distance >= 0) {
            const int64_t at = catalogue_position(output, index);
            output->values[at] = inputs[0].values[at];
        }
    } while (catalogue_step(output->rank, output->shape, index));
}

static tnr_status tril_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_tril(engine, &in[0], call->number, out);
}

static tnr_status tril_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_tril_into(engine, &in[0], call->number, out);
}

static tnr_status triu_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_triu(engine, &in[0], call->number, out);
}

static tnr_status triu_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, const tnr_view_mut *out)
{
    return tnr_triu_into(engine, &in[0], call->number, out);
}

static const catalogue_op rows[] = {
    {.name = "pad",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_PAD,
     .choose = choose_pad,
     .make = pad_make,
     .into = pad_into,
     .model = pad_model},
    {.name = "embed_diagonal",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_EMBED_DIAGONAL,
     .choose = choose_embed,
     .make = embed_make,
     .into = embed_into,
     .model = embed_model},
    {.name = "tril",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_TRIL,
     .choose = choose_triangle,
     .make = tril_make,
     .into = tril_into,
     .model = triangle_model},
    {.name = "triu",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_TRIU,
     .choose = choose_triangle,
     .make = triu_make,
     .into = triu_into,
     .model = triangle_model},
};

const catalogue_family catalogue_zeros = {rows, (int)(sizeof rows / sizeof *rows)};
