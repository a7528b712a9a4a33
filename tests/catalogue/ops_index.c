/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of structure.h that look places up: gather and scatter. */
#include "ops.h"

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

const catalogue_family catalogue_index = {rows, (int)(sizeof rows / sizeof *rows)};
