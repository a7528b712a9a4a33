/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of structure.h that only rearrange; ops_zeros.c and ops_index.c have the others. */
#include <math.h>
#include <string.h>

#include "ops.h"

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

/*
 * ---- Other views: reshape, broadcast, slice, reverse, diagonal
 * ------------------------------------------------------------------
 */

/* Another shape of so many elements: prime factors in random places. */
static void choose_reshape(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = random_rank(random);
    random_shape(random, limit, rank, shape);
    set_input(call, 0, rank, shape);
    int64_t left = 1;
    for (int i = 0; i < rank; ++i) {
        left *= shape[i];
    }
    call->rank = left == 1 ? random_rank(random) : 1 + (int)catalogue_below(random, CATALOGUE_RANK);
    for (int i = 0; i < call->rank; ++i) {
        call->shape[i] = 1;
    }
    if (left == 0) {
        random_shape(random, limit, call->rank, call->shape);
        call->shape[catalogue_below(random, call->rank)] = 0;
        return;
    }
    for (int64_t factor = 2; left > 1; ++factor) {
        for (; left % factor == 0; left /= factor) {
            call->shape[catalogue_below(random, call->rank)] *= factor;
        }
    }
}

static tnr_status reshape_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_reshape(engine, &in[0], call->rank, call->shape, out);
}

static tnr_status reshape_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                               const tnr_view_mut *out)
{
    (void)call;
    return tnr_reshape_into(engine, &in[0], out);
}

static void choose_broadcast(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t source[TNR_MAX_RANK];
    const int rank = random_rank(random);
    random_shape(random, limit, rank, call->shape);
    call->rank = rank;
    random_axes(random, rank, call->axes);
    call->axis_count = (int)catalogue_below(random, rank + 1);
    for (int i = 0; i < call->axis_count; ++i) {
        source[i] = catalogue_below(random, 3) == 0 ? 1 : call->shape[call->axes[i]];
    }
    set_input(call, 0, call->axis_count, source);
}

static void broadcast_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    if (output->count == 0) {
        return;
    }
    do {
        int64_t source[TNR_MAX_RANK] = {0};
        for (int i = 0; i < call->axis_count; ++i) {
            source[i] = inputs[0].shape[i] == 1 ? 0 : index[call->axes[i]];
        }
        output->values[catalogue_position(output, index)] = inputs[0].values[catalogue_position(&inputs[0], source)];
    } while (catalogue_step(output->rank, output->shape, index));
}

static tnr_status broadcast_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_broadcast(engine, &in[0], call->rank, call->shape, call->axes, out);
}

static tnr_status broadcast_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                                 const tnr_view_mut *out)
{
    return tnr_broadcast_into(engine, &in[0], call->axes, out);
}

/* Elements of a range, one by one; their number. */
static int64_t range_elements(tnr_range range, int64_t extent, int64_t *elements)
{
    int64_t start = range.start < 0 ? range.start + extent : range.start;
    int64_t end = range.end < 0 ? range.end + extent : range.end;
    start = start < 0 ? 0 : start > extent ? extent : start;
    end = end < 0 ? 0 : end > extent ? extent : end;
    int64_t count = 0;
    if (range.step > 0) {
        for (int64_t i = start; i < end; i += range.step) {
            elements[count++] = i;
        }
    } else {
        for (int64_t i = end - 1; i >= start; i += range.step) {
            elements[count++] = i;
        }
    }
    return count;
}

#define MOST_ELEMENTS 4096

static void choose_slice(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    int64_t elements[MOST_ELEMENTS];
    const int rank = random_rank(random);
    random_shape(random, limit, rank, shape);
    set_input(call, 0, rank, shape);
    call->rank = rank;
    for (int i = 0; i < rank; ++i) {
        const tnr_range all = TNR_RANGE_ALL;
        call->ranges[i] = all;
        if (catalogue_below(random, 3) != 0) {
            call->ranges[i].start = catalogue_below(random, 3) - 1;
            call->ranges[i].end = catalogue_below(random, 4) == 0 ? -1 : shape[i] + 1 - catalogue_below(random, 3);
            call->ranges[i].step = 1 + catalogue_below(random, 3);
            call->ranges[i].step *= catalogue_below(random, 2) == 0 ? -1 : 1;
        }
        call->shape[i] = range_elements(call->ranges[i], shape[i], elements);
    }
}

static void slice_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    int64_t elements[MOST_ELEMENTS];
    if (output->count == 0) {
        return;
    }
    do {
        int64_t source[TNR_MAX_RANK] = {0};
        for (int i = 0; i < output->rank; ++i) {
            (void)range_elements(call->ranges[i], inputs[0].shape[i], elements);
            source[i] = elements[index[i]];
        }
        output->values[catalogue_position(output, index)] = inputs[0].values[catalogue_position(&inputs[0], source)];
    } while (catalogue_step(output->rank, output->shape, index));
}

static tnr_status slice_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_slice(engine, &in[0], call->ranges, out);
}

static tnr_status slice_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                             const tnr_view_mut *out)
{
    return tnr_slice_into(engine, &in[0], call->ranges, out);
}

static void choose_reverse(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    choose_same(random, limit, call);
    random_axes(random, call->rank, call->axes);
    call->axis_count = (int)catalogue_below(random, call->rank + 1);
}

static void reverse_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    if (output->count == 0) {
        return;
    }
    do {
        int64_t source[TNR_MAX_RANK];
        memcpy(source, index, sizeof source);
        for (int i = 0; i < call->axis_count; ++i) {
            const int axis = call->axes[i];
            source[axis] = output->shape[axis] - 1 - index[axis];
        }
        output->values[catalogue_position(output, index)] = inputs[0].values[catalogue_position(&inputs[0], source)];
    } while (catalogue_step(output->rank, output->shape, index));
}

static tnr_status reverse_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_reverse(engine, &in[0], call->axes, call->axis_count, out);
}

static tnr_status reverse_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                               const tnr_view_mut *out)
{
    return tnr_reverse_into(engine, &in[0], call->axes, call->axis_count, out);
}

static void choose_diagonal(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    const int rank = choose_matrices(random, limit, shape, call);
    set_input(call, 0, rank, shape);
    const int64_t a = shape[call->axes[0]];
    const int64_t b = shape[call->axes[1]];
    call->rank = 0;
    for (int i = 0; i < rank; ++i) {
        if (i != call->axes[0] && i != call->axes[1]) {
            call->shape[call->rank++] = shape[i];
        }
    }
    call->shape[call->rank++] = a < b ? a : b;
}

static void diagonal_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    if (output->count == 0) {
        return;
    }
    do {
        int64_t source[TNR_MAX_RANK] = {0};
        int from = 0;
        for (int i = 0; i < inputs[0].rank; ++i) {
            const bool joint = i == call->axes[0] || i == call->axes[1];
            source[i] = index[joint ? output->rank - 1 : from++];
        }
        output->values[catalogue_position(output, index)] = inputs[0].values[catalogue_position(&inputs[0], source)];
    } while (catalogue_step(output->rank, output->shape, index));
}

static tnr_status diagonal_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_diagonal(engine, &in[0], call->axes[0], call->axes[1], out);
}

static tnr_status diagonal_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                                const tnr_view_mut *out)
{
    return tnr_diagonal_into(engine, &in[0], call->axes[0], call->axes[1], out);
}

/*
 * ---- Concatenate
 * ------------------------------------------------------------------------------------------------------------------
 */

static void choose_concatenate(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t shape[TNR_MAX_RANK];
    int64_t input[TNR_MAX_RANK];
    const int rank = 1 + (int)catalogue_below(random, CATALOGUE_RANK);
    random_shape(random, limit, rank, shape);
    const int axis = (int)catalogue_below(random, rank);
    call->axes[0] = axis;
    call->rank = rank;
    memcpy(call->shape, shape, sizeof shape);
    memcpy(input, shape, sizeof shape);
    call->shape[axis] = 0;
    for (int k = 0; k < call->op->arity; ++k) {
        input[axis] = catalogue_below(random, 5);
        set_input(call, k, rank, input);
        call->shape[axis] += input[axis];
    }
}

static void concatenate_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    const int axis = call->axes[0];
    if (output->count == 0) {
        return;
    }
    do {
        int64_t source[TNR_MAX_RANK];
        int k = 0;
        memcpy(source, index, sizeof source);
        for (; source[axis] >= inputs[k].shape[axis]; ++k) {
            source[axis] -= inputs[k].shape[axis];
        }
        output->values[catalogue_position(output, index)] = inputs[k].values[catalogue_position(&inputs[k], source)];
    } while (catalogue_step(output->rank, output->shape, index));
}

static tnr_status concatenate_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    const tnr_view *const inputs[3] = {&in[0], &in[1], &in[2]};
    return tnr_concatenate(engine, inputs, 3, call->axes[0], out);
}

static tnr_status concatenate_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                                   const tnr_view_mut *out)
{
    const tnr_view *const inputs[3] = {&in[0], &in[1], &in[2]};
    return tnr_concatenate_into(engine, inputs, 3, call->axes[0], out);
}

static const catalogue_op rows[] = {
    {.name = "permute",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_PERMUTE,
     .choose = choose_permute,
     .make = permute_make,
     .into = permute_into,
     .model = permute_model},
    {.name = "to_contiguous",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_TO_CONTIGUOUS,
     .choose = choose_same,
     .make = to_contiguous_make,
     .model = copy_model},
    {.name = "copy_into",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_COPY_INTO,
     .choose = choose_same,
     .into = copy_into_into,
     .model = copy_model},
    {.name = "reshape",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_RESHAPE,
     .choose = choose_reshape,
     .make = reshape_make,
     .into = reshape_into,
     .model = copy_model,
     .exempt = CATALOGUE_FREE_OUTPUT_SHAPE},
    {.name = "broadcast",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_BROADCAST,
     .choose = choose_broadcast,
     .make = broadcast_make,
     .into = broadcast_into,
     .model = broadcast_model,
     .exempt = CATALOGUE_FREE_OUTPUT_SHAPE},
    {.name = "slice",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_SLICE,
     .choose = choose_slice,
     .make = slice_make,
     .into = slice_into,
     .model = slice_model},
    {.name = "reverse",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_REVERSE,
     .choose = choose_reverse,
     .make = reverse_make,
     .into = reverse_into,
     .model = reverse_model},
    {.name = "concatenate",
     .arity = 3,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_CONCATENATE,
     .choose = choose_concatenate,
     .make = concatenate_make,
     .into = concatenate_into,
     .model = concatenate_model,
     .exempt = CATALOGUE_FREE_INPUT_SHAPES},
    {.name = "diagonal",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_DIAGONAL,
     .choose = choose_diagonal,
     .make = diagonal_make,
     .into = diagonal_into,
     .model = diagonal_model},
};

const catalogue_family catalogue_structure = {rows, (int)(sizeof rows / sizeof *rows)};
