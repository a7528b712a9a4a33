/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter: a copy of a tensor with windows of updates added to it.
 *
 * Guarantees: what is added to one element is added in the order of the index vectors, on any number of lanes. Lanes
 * share out the elements of the windows, along an axis on which all windows start at 0; or the places on an axis on
 * which windows have one element and an index: then each lane goes over all vectors and takes those that are for its
 * places. Never the vectors themselves.
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

typedef void (*rows_kernel)(char *target, const int64_t *in_target, const char *updates, const int64_t *in_updates,
                            int64_t windows, const tnri_rows *rows);
typedef void (*pick_kernel)(char *target, const int64_t *in_target, const char *updates, const int64_t *in_updates,
                            int64_t count);
typedef void (*take_kernel)(char *target, const tnri_lookup *at, const char *updates, int64_t step, int64_t count);

static const rows_kernel rows_kernels[TNR_DTYPE_END] = NUMBER_TABLE(add_rows);
static const pick_kernel picks[TNR_DTYPE_END] = NUMBER_TABLE(add_picked);
static const take_kernel takes[TNR_DTYPE_END] = NUMBER_TABLE(add_taken);

typedef struct scattering {
    const tnri_windows *windows;
    const tnri_window_steps *steps;
    tnr_dtype dtype;
    tnri_box window;  /* the window at place 0, from the updates to the tensor */
    int64_t elements; /* of a window */
    int cut;          /* axis of the window that is cut into pieces; -1: none */
    int entry;        /* entry on whose axis the places are shared out; -1: they are not */
    int64_t pieces;
} scattering;

/* ---- Pieces --------------------------------------------------------------------------------------------------------- */

/* Windows of one element with one index each. */
static void take_windows(const scattering *all, const tnri_nest *nest)
{
    const tnri_window_steps *steps = all->steps;
    const int64_t last = all->windows->vectors;
    tnri_vectors at;
    tnri_vectors_at(steps, 0, &at);
    for (int64_t vector = 0; vector < last;) {
        const int64_t run = tnri_vectors_run(steps, &at, last - vector);
        const tnri_lookup lookup = tnri_lookup_of(all->windows, steps, &at);
        takes[all->dtype](nest->data[0], &lookup, nest->data[1] + at.result, steps->result[0], run);
        tnri_vectors_on(steps, run, &at);
        vector += run;
    }
}

/* One window after the other. */
static void add_in_turn(const scattering *all, tnri_nest *nest, int64_t count, const int64_t *in_tensor,
                        const int64_t *in_updates)
{
    const tnri_rows rows = tnri_rows_of(nest);
    const rows_kernel kernel = rows_kernels[all->dtype];
    if (nest->rank <= 2) {
        kernel(nest->data[0], in_tensor, nest->data[1], in_updates, count, &rows);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        do {
            kernel(nest->data[0], in_tensor + i, nest->data[1], in_updates + i, 1, &rows);
        } while (tnri_nest_step(nest, 2));
    }
}

static void run_piece(void *context, int64_t piece)
{
    const scattering *all = context;
    int64_t in_tensor[TNRI_WINDOWS_AT_ONCE];
    int64_t in_updates[TNRI_WINDOWS_AT_ONCE];
    tnri_box window = all->window;
    tnri_window_share share;
    const tnri_window_share *mine = NULL;
    if (all->cut >= 0) {
        int64_t begin;
        int64_t end;
        tnri_piece_of(window.shape[all->cut], all->pieces, piece, &begin, &end);
        tnri_box_narrow(&window, all->cut, begin, end - begin, 1);
    } else if (all->entry >= 0) {
        share.entry = all->entry;
        tnri_piece_of(all->windows->limits[all->entry] + 1, all->pieces, piece, &share.begin, &share.end);
        mine = &share;
    }
    const tnri_nest_operand operands[2] = {{window.target, window.target_strides, window.width},
                                           {window.source, window.source_strides, window.width}};
    tnri_nest nest;
    if (!tnri_nest_make(&nest, window.rank, window.shape, 2, operands)) {
        return;
    }
    if (all->elements == 1 && all->windows->entries == 1 && mine == NULL) {
        take_windows(all, &nest);
        return;
    }
    /* Element by element of the window keeps the order of the vectors only where no two of its elements can meet. */
    const bool across =
        all->elements == 1 || (!all->windows->spread && tnri_windows_lie_inside(all->steps, nest.strides[1][0]));
    const int64_t last = all->windows->vectors;
    for (int64_t vector = 0; vector < last; vector += TNRI_WINDOWS_AT_ONCE) {
        const int64_t most = last - vector < TNRI_WINDOWS_AT_ONCE ? last - vector : TNRI_WINDOWS_AT_ONCE;
        const int64_t count = tnri_windows_locate(all->windows, all->steps, vector, most, mine, in_tensor, in_updates);
        if (!across) {
            add_in_turn(all, &nest, count, in_tensor, in_updates);
            continue;
        }
        do {
            picks[all->dtype](nest.data[0], in_tensor, nest.data[1], in_updates, count);
        } while (tnri_nest_step(&nest, 0));
    }
}

/* ---- Sharing out ---------------------------------------------------------------------------------------------------- */

/*
 * Measured, roughly, in nanoseconds: adding single elements to a tensor of so many KiB took 1.0 each in 32, 2 in 2048, 6 in
 * 8192, 9 in 32768 on one lane; for one of two lanes 3, 3.3, 5 and 7 of all vectors, for one of eight 2.5 in all of them.
 */
#define LOOK_UP 3     /* a vector, for every lane: each goes over all of them */
#define FAR_LINE 6    /* a line of a tensor that is far larger than the second-level cache */
#define FAR_CACHES 8  /* so many times */
#define NEAR_BYTES 12 /* added in one nanosecond elsewhere */

#define APART 256 /* bytes of the tensor that a lane should have to itself before another one's begin */

/* Adding one window on one lane. */
static uint64_t window_time(const tnr_engine *engine, const scattering *all, uint64_t tensor_bytes)
{
    const uint64_t bytes = (uint64_t)all->elements * all->window.width;
    const uint64_t far = tensor_bytes / FAR_CACHES > engine->l2_bytes ? (1 + bytes / 64) * FAR_LINE : 0;
    const bool taken = all->elements == 1 && all->windows->entries == 1; /* looked up on the way */
    return (taken ? 1 : LOOK_UP) + bytes / NEAR_BYTES + far;
}

/* Does each of the lanes get enough that is its own, with such a step and so many of them? */
static bool lies_apart(int64_t count, int64_t step, int lanes)
{
    return count >= lanes && (uint64_t)(count / lanes) >= APART / (tnri_magnitude(step) + 1) + 1;
}

/* The entry on whose axis there are the most places, where windows are 1 long on it; -1: none that pays. */
static int shared_entry(const scattering *all, int lanes)
{
    const tnri_windows *windows = all->windows;
    int best = -1;
    for (int i = 0; i < windows->entries; ++i) {
        if (windows->single[i] && lies_apart(windows->limits[i] + 1, all->steps->tensor[i], lanes) &&
            (best < 0 || windows->limits[i] > windows->limits[best])) {
            best = i;
        }
    }
    return best;
}

/* An axis of the windows or an entry, if the lanes save more by it than looking everything up costs them. */
static void share_out(const tnr_engine *engine, uint64_t tensor_bytes, uint64_t still, scattering *all)
{
    const uint64_t time = window_time(engine, all, tensor_bytes);
    uint64_t whole;
    if (!tnri_mul_u64(time, (uint64_t)all->windows->vectors, &whole)) {
        whole = UINT64_MAX;
    }
    const int lanes = tnri_engine_lanes(engine, whole);
    const uint64_t shares = (uint64_t)lanes;
    if (lanes == 1 ||
        4 * (LOOK_UP * shares + time) > 3 * shares * time) { /* the time of a lane is not a quarter less */
        return;
    }
    const int cut = tnri_box_cut_axis(&all->window, still, lanes);
    if (cut >= 0 &&
        lies_apart(all->window.shape[cut], all->window.target_strides[cut] * (int64_t)all->window.width, lanes)) {
        all->cut = cut;
        all->pieces = lanes;
        return;
    }
    all->entry = shared_entry(all, lanes);
    all->pieces = all->entry >= 0 ? lanes : 1;
}

static tnr_status add_windows(tnr_engine *engine, const tnri_windows *windows, const tnri_window_steps *steps,
                              const tnri_call *call)
{
    const tnr_view *updates = call->operands[3].view;
    if (tnri_shape_extent_bytes(call->dtype, windows->rank, windows->shape) == 0) {
        return TNR_OK;
    }
    scattering all = {
        .windows = windows, .steps = steps, .dtype = call->dtype, .elements = 1, .cut = -1, .entry = -1, .pieces = 1};
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
    if (tnri_is_device(engine)) {
        return tnri_device_scatter(engine, windows, steps, &all.window, call->dtype);
    }
    share_out(engine, tnri_shape_extent_bytes(call->dtype, call->rank, call->shape), still, &all);
    tnri_engine_run(engine, (int)all.pieces, all.pieces, run_piece, &all);
    return TNR_OK;
}

/* ---- The operation -------------------------------------------------------------------------------------------------- */

static tnr_status copy_first(tnr_engine *engine, const tnri_call *call)
{
    const bool in_place = call->operands[0].data == call->operands[1].data; /* or nothing is there at all */
    if (!in_place) {
        tnri_box box;
        tnri_box_make(&box, call->out, call->operands[0].data, call->operands[1].data, call->operands[1].view->strides);
        return tnri_box_run_on_lanes(engine, &box);
    }
    return TNR_OK;
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
    if (picks[a->dtype] == NULL) {
        return tnri_fail_unsupported("scatter", a->dtype);
    }
    tnri_windows windows;
    TNR_TRY(tnri_windows_plan("scatter", a, indices, options, &windows));
    if (!tnri_has_shape(updates, windows.rank, windows.shape)) {
        return tnri_fail_shape("scatter", "updates", windows.rank, windows.shape, updates, "");
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
    tnr_status status = tnri_windows_check(engine, "scatter", &windows, &steps);
    if (status != TNR_OK) {
        return tnri_call_end(engine, &call, target, status);
    }
    status = copy_first(engine, &call);
    status = status == TNR_OK ? add_windows(engine, &windows, &steps, &call) : status;
    return tnri_rearrange_end(engine, &op_scatter, &call, target, status);
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, const tnr_view *indices, const tnr_view *updates,
                      const tnr_index_options *options, tnri_target target)
{
    tnr_index_options taken;
    TNR_TRY(tnri_index_options_take("scatter", options, &taken));
    TNR_TRY(tnri_engine_enter("scatter", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, indices, updates, &taken, target));
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
