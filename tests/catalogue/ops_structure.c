/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of structure.h. */
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

/* Two different axes in axes[0] and axes[1] of a shape of rank 2 or more. */
static int choose_matrices(catalogue_random *random, int64_t limit, int64_t *shape, catalogue_call *call)
{
    const int rank = 2 + (int)catalogue_below(random, CATALOGUE_RANK - 1);
    random_shape(random, limit, rank, shape);
    random_axes(random, rank, call->axes);
    return rank;
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

/*
 * ---- What is zero where nothing is copied: pad, embed_diagonal, triangles
 * ----------------------------------------------------------
 */

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

/*
 * ---- Gather and scatter
 * --------------------------------------------------------------------------------------------------------------
 */

/*
 * A tensor and indices; the result's shape in result. Input 1 is the indices; axes of the result are those of the
 * window where window_axes say, those of the indices between them.
 */
static int choose_index(catalogue_random *random, int64_t limit, catalogue_call *call, int64_t *result)
{
    int64_t shape[TNR_MAX_RANK];
    int64_t places[TNR_MAX_RANK];
    tnr_index_options *options = &call->index;
    const tnr_index_options none = TNR_INDEX_OPTIONS;
    *options = none;
    const int rank = (int)catalogue_below(random, CATALOGUE_RANK);
    random_shape(random, limit, rank, shape);
    set_input(call, 0, rank, shape);
    call->input_dtype[1] = catalogue_below(random, 2) == 0 ? TNR_I32 : TNR_I64;
    options->out_of_range = catalogue_below(random, 2) == 0 ? TNR_OUT_OF_RANGE_REFUSE : TNR_OUT_OF_RANGE_CLAMP;
    random_axes(random, rank, options->axes);
    options->axis_count = (int)catalogue_below(random, rank + 1);
    int windows = 0;
    for (int i = 0; i < rank; ++i) {
        options->window[i] = catalogue_below(random, 3) == 0 ? catalogue_below(random, shape[i] + 1) : shape[i];
        if (shape[i] > 0 && catalogue_below(random, 3) == 0) {
            options->window[i] = 1;
        }
        options->collapsed[i] = options->window[i] == 1 && catalogue_below(random, 2) == 0;
        windows += options->collapsed[i] ? 0 : 1;
    }
    const int batches = (int)catalogue_below(random, 3);
    random_shape(random, limit / 2 + 1, batches, places);
    const int result_rank = windows + batches;
    /* which axes of the result are the window's: a random choice, ascending */
    int order[TNR_MAX_RANK];
    bool of_window[TNR_MAX_RANK] = {false};
    random_axes(random, result_rank, order);
    for (int i = 0; i < windows; ++i) {
        of_window[order[i]] = true;
    }
    int window = 0;
    int batch = 0;
    int axis = 0; /* of the tensor */
    for (int i = 0; i < result_rank; ++i) {
        if (!of_window[i]) {
            result[i] = places[batch++];
            continue;
        }
        for (; options->collapsed[axis]; ++axis) {
        }
        options->window_axes[window++] = i;
        result[i] = options->window[axis++];
    }
    int64_t indices[TNR_MAX_RANK];
    int indices_rank = 0;
    options->index_axis = (int)catalogue_below(random, batches + 1);
    const bool no_axis = options->axis_count == 1 && catalogue_below(random, 2) == 0;
    for (int i = 0; i <= batches; ++i) {
        if (i == options->index_axis && !no_axis) {
            indices[indices_rank++] = options->axis_count;
        }
        if (i < batches) {
            indices[indices_rank++] = places[i];
        }
    }
    if (no_axis) {
        options->index_axis = batches;
    }
    set_input(call, 1, indices_rank, indices);
    return result_rank;
}

/* Indices that fit every axis they may be for; when they are clamped, others as well. */
static void adjust_index(catalogue_random *random, const catalogue_call *call, int input, catalogue_value *value)
{
    if (input != 1) {
        return;
    }
    int64_t most = INT32_MAX;
    for (int i = 0; i < call->index.axis_count; ++i) {
        const int axis = call->index.axes[i];
        const int64_t limit = call->input_shape[0][axis] - call->index.window[axis];
        most = limit < most ? limit : most;
    }
    value->integer = catalogue_below(random, most + 1);
    if (call->index.out_of_range == TNR_OUT_OF_RANGE_CLAMP && catalogue_below(random, 3) == 0) {
        static const int64_t outside[4] = {-1, INT32_MIN, INT32_MAX, 7};
        value->integer = outside[catalogue_below(random, 4)];
    }
}

/*
 * For the index `at` of the result: the place in the tensor. Written from the rules: the vector's entries are starts,
 * clamped when that was asked for.
 */
static void place_of(const catalogue_call *call, const catalogue_array *tensor, const catalogue_array *indices,
                     int result_rank, const int64_t *at, int64_t *place)
{
    const tnr_index_options *options = &call->index;
    int64_t batch[TNR_MAX_RANK] = {0};
    int64_t vector[TNR_MAX_RANK] = {0};
    int64_t in_window[TNR_MAX_RANK] = {0};
    int windows = 0;
    int batches = 0;
    int kept = 0;
    for (int i = 0; i < tensor->rank; ++i) {
        kept += options->collapsed[i] ? 0 : 1;
    }
    for (int i = 0; i < result_rank; ++i) {
        if (windows < kept && options->window_axes[windows] == i) {
            in_window[windows++] = at[i];
        } else {
            batch[batches++] = at[i];
        }
    }
    windows = 0;
    for (int i = 0; i < tensor->rank; ++i) {
        place[i] = options->collapsed[i] ? 0 : in_window[windows++];
    }
    for (int entry = 0; entry < options->axis_count; ++entry) {
        int from = 0;
        for (int i = 0; i < indices->rank; ++i) {
            vector[i] = i == options->index_axis ? entry : batch[from++];
        }
        const int axis = options->axes[entry];
        const int64_t limit = tensor->shape[axis] - options->window[axis];
        int64_t start = indices->values[catalogue_position(indices, vector)].integer;
        start = start > limit ? limit : start;
        start = start < 0 ? 0 : start;
        place[axis] += start;
    }
}

static void choose_gather(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    call->rank = choose_index(random, limit, call, call->shape);
}

static void gather_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    if (output->count == 0) {
        return;
    }
    do {
        int64_t place[TNR_MAX_RANK] = {0};
        place_of(call, &inputs[0], &inputs[1], output->rank, index, place);
        output->values[catalogue_position(output, index)] = inputs[0].values[catalogue_position(&inputs[0], place)];
    } while (catalogue_step(output->rank, output->shape, index));
}

static tnr_status gather_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_gather(engine, &in[0], &in[1], &call->index, out);
}

static tnr_status gather_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                              const tnr_view_mut *out)
{
    return tnr_gather_into(engine, &in[0], &in[1], &call->index, out);
}

static void choose_scatter(catalogue_random *random, int64_t limit, catalogue_call *call)
{
    int64_t updates[TNR_MAX_RANK];
    const int rank = choose_index(random, limit, call, updates);
    set_input(call, 2, rank, updates);
    set_output(call, call->input_rank[0], call->input_shape[0]);
}

static void scatter_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output)
{
    int64_t index[TNR_MAX_RANK] = {0};
    copy_model(call, inputs, output);
    if (inputs[2].count == 0) {
        return;
    }
    do { /* sums of the values that tests have are exact, whatever the order */
        int64_t place[TNR_MAX_RANK] = {0};
        place_of(call, &inputs[0], &inputs[1], inputs[2].rank, index, place);
        catalogue_value *sum = &output->values[catalogue_position(output, place)];
        *sum = plus(call->dtype, *sum, inputs[2].values[catalogue_position(&inputs[2], index)]);
    } while (catalogue_step(inputs[2].rank, inputs[2].shape, index));
}

static tnr_status scatter_make(tnr_engine *engine, const catalogue_call *call, const tnr_view *in, tnr_tensor **out)
{
    return tnr_scatter(engine, &in[0], &in[1], &in[2], &call->index, out);
}

static tnr_status scatter_into(tnr_engine *engine, const catalogue_call *call, const tnr_view *in,
                               const tnr_view_mut *out)
{
    return tnr_scatter_into(engine, &in[0], &in[1], &in[2], &call->index, out);
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
    {.name = "pad",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_PAD,
     .choose = choose_pad,
     .make = pad_make,
     .into = pad_into,
     .model = pad_model},
    {.name = "diagonal",
     .arity = 1,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_DIAGONAL,
     .choose = choose_diagonal,
     .make = diagonal_make,
     .into = diagonal_into,
     .model = diagonal_model},
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
    {.name = "gather",
     .arity = 2,
     .dtypes = CATALOGUE_ALL,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_GATHER,
     .choose = choose_gather,
     .make = gather_make,
     .into = gather_into,
     .model = gather_model,
     .adjust = adjust_index,
     .exempt = CATALOGUE_FREE_INPUT_SHAPES | CATALOGUE_FREE_INPUT_DTYPES},
    {.name = "scatter",
     .arity = 3,
     .dtypes = CATALOGUE_NUMBER,
     .layouts = CATALOGUE_ANY_INPUT,
     .copies = TNR_COPY_SCATTER,
     .choose = choose_scatter,
     .make = scatter_make,
     .into = scatter_into,
     .model = scatter_model,
     .in_place = CATALOGUE_IN_PLACE(0),
     .adjust = adjust_index},
};

const catalogue_family catalogue_structure = {rows, (int)(sizeof rows / sizeof *rows)};
