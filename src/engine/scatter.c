/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter: a copy of a tensor with windows of updates added to it.
 *
 * Guarantees: what is added to one element is added in the order of the index vectors, on any number of lanes: lanes
 * share out the elements of the windows, along an axis on which all windows start at 0, and never the vectors. So
 * windows of one element are added on one lane.
 */
#include "structure_internal.h"

#if defined(__clang__) /* "independent" permits vector code; where the compiler sees no gain in it, that is no defect */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

static const tnri_rearrangement op_scatter = {"scatter", TNR_COPY_SCATTER};

#include "kernels/arithmetic.inl.h"

#define TEMPLATE "scatter.tmpl.h"
#define DTYPES DTYPES_NUMBER
#include "kernels/each_dtype.inl.h"

typedef void (*line_kernel)(char *target, int64_t target_step, const char *updates, int64_t updates_step,
                            int64_t count);
typedef void (*pick_kernel)(char *target, const int64_t *in_target, const char *updates, const int64_t *in_updates,
                            int64_t count);

static const line_kernel lines[TNR_DTYPE_END] = NUMBER_TABLE(add_line);
static const pick_kernel picks[TNR_DTYPE_END] = NUMBER_TABLE(add_picked);

typedef struct scattering {
    const tnri_windows *windows;
    const tnri_window_steps *steps;
    tnr_dtype dtype;
    tnri_box window;  /* the window at place 0, from the updates to the tensor */
    int64_t elements; /* of a window */
    int cut;          /* axis of the window that is cut into pieces */
    int64_t pieces;
} scattering;

static void run_piece(void *context, int64_t piece)
{
    const scattering *all = context;
    int64_t in_tensor[TNRI_WINDOWS_AT_ONCE];
    int64_t in_updates[TNRI_WINDOWS_AT_ONCE];
    tnri_box window = all->window;
    if (all->cut >= 0) {
        int64_t begin;
        int64_t end;
        tnri_piece_of(window.shape[all->cut], all->pieces, piece, &begin, &end);
        tnri_box_narrow(&window, all->cut, begin, end - begin, 1);
    }
    const tnri_nest_operand operands[2] = {{window.target, window.target_strides, window.width},
                                           {window.source, window.source_strides, window.width}};
    tnri_nest nest;
    if (!tnri_nest_make(&nest, window.rank, window.shape, 2, operands)) {
        return;
    }
    const line_kernel line = lines[all->dtype];
    const pick_kernel pick = picks[all->dtype];
    /* Element by element of the window keeps the order of the vectors only where no two of its elements can meet. */
    const bool across = all->elements == 1 || (!all->windows->spread &&
                                               tnri_windows_lie_inside(all->windows, all->steps, nest.strides[1][0]));
    const int64_t last = all->windows->vectors;
    for (int64_t vector = 0; vector < last; vector += TNRI_WINDOWS_AT_ONCE) {
        const int64_t count = last - vector < TNRI_WINDOWS_AT_ONCE ? last - vector : TNRI_WINDOWS_AT_ONCE;
        tnri_windows_locate(all->windows, all->steps, vector, count, in_tensor, in_updates);
        if (across) {
            do {
                pick(nest.data[0], in_tensor, nest.data[1], in_updates, count);
            } while (tnri_nest_step(&nest, 0));
            continue;
        }
        for (int64_t i = 0; i < count; ++i) {
            do {
                line(nest.data[0] + in_tensor[i], nest.strides[0][0], nest.data[1] + in_updates[i], nest.strides[1][0],
                     nest.shape[0]);
            } while (tnri_nest_step(&nest, 1));
        }
    }
}

static void add_windows(tnr_engine *engine, const tnri_windows *windows, const tnri_window_steps *steps,
                        const tnri_call *call)
{
    const tnr_view *updates = call->operands[3].view;
    const uint64_t bytes = tnri_shape_extent_bytes(call->dtype, windows->rank, windows->shape);
    if (bytes == 0) {
        return;
    }
    scattering all = {.windows = windows, .steps = steps, .dtype = call->dtype, .elements = 1, .cut = -1, .pieces = 1};
    all.window.width = tnr_dtype_size(call->dtype);
    all.window.rank = windows->window_rank;
    all.window.target = call->operands[0].data;
    all.window.source = call->operands[3].data;
    uint64_t still = 0; /* axes of the window that start at 0 wherever it goes */
    for (int i = 0; i < windows->window_rank; ++i) {
        all.window.shape[i] = windows->window_shape[i];
        all.window.target_strides[i] = call->out->strides[windows->tensor_axes[i]];
        all.window.source_strides[i] = updates->strides[windows->window_axes[i]];
        all.elements *= windows->window_shape[i];
        still |= UINT64_C(1) << i;
        for (int entry = 0; entry < windows->entries; ++entry) {
            if (windows->entry_axes[entry] == windows->tensor_axes[i]) {
                still &= ~(UINT64_C(1) << i);
            }
        }
    }
    const int lanes = tnri_engine_lanes(engine, 2 * tnri_move_time(bytes));
    if (lanes > 1) {
        all.cut = tnri_box_cut_axis(&all.window, still, lanes);
    }
    if (all.cut >= 0) { /* each piece looks up all windows again, so no more pieces than lanes */
        all.pieces = all.window.shape[all.cut] < lanes ? all.window.shape[all.cut] : lanes;
    }
    tnri_engine_run(engine, all.pieces, run_piece, &all);
}

static void copy_first(tnr_engine *engine, const tnri_call *call)
{
    const bool in_place = call->operands[0].data == call->operands[1].data; /* or nothing is there at all */
    if (!in_place) {
        tnri_box box;
        tnri_box_make(&box, call->out, call->operands[0].data, call->operands[1].data, call->operands[1].view->strides);
        tnri_box_run_on_lanes(engine, &box);
    }
}

static tnr_status inside(tnr_engine *engine, const tnr_view *a, const tnr_view *indices, const tnr_view *updates,
                         const tnr_index_options *options, tnri_target target)
{
    TNRI_CHECK_VIEW("scatter", "a", a);
    TNRI_CHECK_VIEW("scatter", "indices", indices);
    TNRI_CHECK_VIEW("scatter", "updates", updates);
    if (updates->dtype != a->dtype) {
        return tnri_fail_dtype("scatter", a->dtype, updates->dtype);
    }
    if (lines[a->dtype] == NULL) {
        return tnri_fail_unsupported("scatter", a->dtype);
    }
    tnri_windows windows;
    TNR_TRY(tnri_windows_plan("scatter", a, indices, options, &windows));
    if (!tnri_has_shape(updates, windows.rank, windows.shape)) {
        return tnri_fail_shape("scatter", "updates", windows.rank, windows.shape, updates);
    }
    tnri_call call;
    call.inputs = 3;
    call.dtype = a->dtype;
    call.rank = a->rank;
    call.shape = a->shape;
    call.aliasing = TNRI_FIRST_IN_PLACE;
    call.operands[1].view = a;
    call.operands[2].view = indices;
    call.operands[3].view = updates;
    TNR_TRY(tnri_rearrange_begin(engine, &op_scatter, &call, target));
    tnri_window_steps steps;
    tnri_windows_steps(&windows, call.operands[2].data, tnr_dtype_size(a->dtype), call.out->strides, updates->strides,
                       &steps);
    const tnr_status status = tnri_windows_check(engine, "scatter", &windows, &steps);
    if (status != TNR_OK) {
        return tnri_call_end(&call, target, status);
    }
    copy_first(engine, &call);
    add_windows(engine, &windows, &steps, &call);
    return tnri_rearrange_end(engine, &op_scatter, &call, target);
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, const tnr_view *indices, const tnr_view *updates,
                      const tnr_index_options *options, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("scatter", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, indices, updates, options, target));
}

tnr_status tnr_scatter(tnr_engine *engine, const tnr_view *a, const tnr_view *indices, const tnr_view *updates,
                       const tnr_index_options *options, tnr_tensor **out)
{
    return run(engine, a, indices, updates, options, (tnri_target){.made = out});
}

tnr_status tnr_scatter_into(tnr_engine *engine, const tnr_view *a, const tnr_view *indices, const tnr_view *updates,
                            const tnr_index_options *options, const tnr_view_mut *out)
{
    return run(engine, a, indices, updates, options, (tnri_target){.into = out});
}
