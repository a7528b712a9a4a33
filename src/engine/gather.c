/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather: windows of a tensor, put side by side.
 *
 * Windows are looked up a few hundred at a time. Where a window's elements are the nearer neighbours in the result,
 * each is copied as one; where those of different windows are, element by element of the window for all of them. On
 * several lanes the index vectors are dealt out, or, where they are few, the windows are cut.
 */
#include "structure_internal.h"

static const tnri_rearrangement op_gather = {"gather", TNR_COPY_GATHER};

#define LARGE_WINDOW 1024 /* elements from which on a window of several axes is worth a copy of its own */

/* ---- Moves ---------------------------------------------------------------------------------------------------------- */

#define WORD tnri_word1
#define NAME(x) x##_1
#include "kernels/gather.tmpl.h"

#define WORD tnri_word4
#define NAME(x) x##_4
#include "kernels/gather.tmpl.h"

#define WORD tnri_word8
#define NAME(x) x##_8
#include "kernels/gather.tmpl.h"

#define WORD tnri_word16
#define NAME(x) x##_16
#include "kernels/gather.tmpl.h"

/* Bytes at any address. */
typedef struct bytes1 {
    char at[1];
} __attribute__((may_alias)) bytes1;
typedef struct bytes2 {
    char at[2];
} __attribute__((may_alias)) bytes2;
typedef struct bytes4 {
    char at[4];
} __attribute__((may_alias)) bytes4;
typedef struct bytes8 {
    char at[8];
} __attribute__((may_alias)) bytes8;
typedef struct bytes16 {
    char at[16];
} __attribute__((may_alias)) bytes16;
typedef struct bytes32 {
    char at[32];
} __attribute__((may_alias)) bytes32;

#define WORD bytes1
#define NAME(x) x##_from_1_byte
#include "kernels/gather_bytes.tmpl.h"

#define WORD bytes2
#define NAME(x) x##_from_2_bytes
#include "kernels/gather_bytes.tmpl.h"

#define WORD bytes4
#define NAME(x) x##_from_4_bytes
#include "kernels/gather_bytes.tmpl.h"

#define WORD bytes8
#define NAME(x) x##_from_8_bytes
#include "kernels/gather_bytes.tmpl.h"

#define WORD bytes16
#define NAME(x) x##_from_16_bytes
#include "kernels/gather_bytes.tmpl.h"

#define WORD bytes32
#define NAME(x) x##_from_32_bytes
#include "kernels/gather_bytes.tmpl.h"

static void rows_of_many_bytes(char *target, const int64_t *in_target, const char *source, const int64_t *in_source,
                               int64_t windows, const tnri_rows *rows)
{
    for (int64_t i = 0; i < windows; ++i) {
        for (int64_t row = 0; row < rows->rows; ++row) {
            memcpy(target + in_target[i] + row * rows->target_row, source + in_source[i] + row * rows->source_row,
                   (size_t)(rows->count * rows->target_step));
        }
    }
}

typedef void (*rows_kernel)(char *target, const int64_t *in_target, const char *source, const int64_t *in_source,
                            int64_t windows, const tnri_rows *rows);
typedef void (*pick_kernel)(char *target, const int64_t *in_target, const char *source, const int64_t *in_source,
                            int64_t count);
typedef void (*run_pick_kernel)(char *target, int64_t step, const char *source, const int64_t *in_source,
                                int64_t count);
typedef void (*take_kernel)(char *target, int64_t step, const char *source, const tnri_lookup *at, int64_t count);

/* By the bytes of an element. */
static const rows_kernel spread_rows[17] = {[1] = rows_1, [4] = rows_4, [8] = rows_8, [16] = rows_16};
static const pick_kernel picks[17] = {[1] = pick_1, [4] = pick_4, [8] = pick_8, [16] = pick_16};
static const run_pick_kernel run_picks[17] = {[1] = pick_run_1, [4] = pick_run_4, [8] = pick_run_8, [16] = pick_run_16};
static const take_kernel takes[17] = {[1] = take_1, [4] = take_4, [8] = take_8, [16] = take_16};

static rows_kernel rows_kernel_for(size_t width, const tnri_rows *rows)
{
    static const rows_kernel by_bytes[6] = {rows_from_1_byte,  rows_from_2_bytes,  rows_from_4_bytes,
                                            rows_from_8_bytes, rows_from_16_bytes, rows_from_32_bytes};
    const int64_t step = (int64_t)width;
    if (rows->target_step != step || rows->source_step != step) {
        return spread_rows[width];
    }
    const uint64_t bytes = (uint64_t)(rows->count * step);
    return bytes <= 64 ? by_bytes[tnri_highest_bit(bytes - (bytes == 64 ? 1 : 0))] : rows_of_many_bytes;
}

/* ---- Pieces --------------------------------------------------------------------------------------------------------- */

typedef struct gathering {
    const tnri_windows *windows;
    const tnri_window_steps *steps;
    tnri_box window;  /* the window at place 0, from the tensor to the result */
    int64_t elements; /* of a window */
    int cut;          /* axis of the window that is cut into pieces; -1: the vectors are */
    int64_t pieces;
} gathering;

/* One window after the other. */
static void copy_windows(const gathering *all, const tnri_box *window, tnri_nest *nest, int64_t count,
                         const int64_t *in_tensor, const int64_t *in_result)
{
    const tnri_rows rows = tnri_rows_of(nest);
    const rows_kernel kernel = rows_kernel_for(window->width, &rows);
    if (nest->rank > 1 && all->elements >= LARGE_WINDOW) {
        for (int64_t i = 0; i < count; ++i) {
            tnri_copy_elements(window->width, window->rank, window->shape, window->target + in_result[i],
                               window->target_strides, window->source + in_tensor[i], window->source_strides);
        }
    } else if (nest->rank > 2) {
        for (int64_t i = 0; i < count; ++i) {
            do {
                kernel(nest->data[0], in_result + i, nest->data[1], in_tensor + i, 1, &rows);
            } while (tnri_nest_step(nest, 2));
        }
    } else {
        kernel(nest->data[0], in_result, nest->data[1], in_tensor, count, &rows);
    }
}

/* Windows of one element with one index each. */
static void take_windows(const gathering *all, const tnri_nest *nest, int64_t first, int64_t last)
{
    const tnri_window_steps *steps = all->steps;
    const take_kernel take = takes[all->window.width];
    tnri_vectors at;
    tnri_vectors_at(steps, first, &at);
    while (first < last) {
        const int64_t run = tnri_vectors_run(steps, &at, last - first);
        const tnri_lookup lookup = tnri_lookup_of(all->windows, steps, &at);
        take(nest->data[0] + at.result, steps->result[0], nest->data[1], &lookup, run);
        tnri_vectors_on(steps, run, &at);
        first += run;
    }
}

static void run_piece(void *context, int64_t piece)
{
    const gathering *all = context;
    int64_t in_tensor[TNRI_WINDOWS_AT_ONCE];
    int64_t in_result[TNRI_WINDOWS_AT_ONCE];
    tnri_box window = all->window;
    int64_t first = 0;
    int64_t last = all->windows->vectors;
    int64_t begin;
    int64_t end;
    if (all->cut < 0) {
        tnri_piece_of(all->windows->vectors, all->pieces, piece, &first, &last);
    } else {
        tnri_piece_of(window.shape[all->cut], all->pieces, piece, &begin, &end);
        tnri_box_narrow(&window, all->cut, begin, end - begin, 1);
    }
    const tnri_nest_operand operands[2] = {{window.target, window.target_strides, window.width},
                                           {window.source, window.source_strides, window.width}};
    tnri_nest nest;
    if (!tnri_nest_make(&nest, window.rank, window.shape, 2, operands)) {
        return;
    }
    const bool across = all->elements == 1 || tnri_windows_lie_inside(all->steps, nest.strides[0][0]);
    if (all->elements == 1 && all->windows->entries == 1) {
        take_windows(all, &nest, first, last);
        return;
    }
    for (int64_t vector = first; vector < last; vector += TNRI_WINDOWS_AT_ONCE) {
        const int64_t most = last - vector < TNRI_WINDOWS_AT_ONCE ? last - vector : TNRI_WINDOWS_AT_ONCE;
        const int64_t count = tnri_windows_locate(all->windows, all->steps, vector, most, NULL, in_tensor, in_result);
        if (!across) {
            copy_windows(all, &window, &nest, count, in_tensor, in_result);
            continue;
        }
        do {
            if (all->steps->batch_rank == 1) {
                run_picks[window.width](nest.data[0] + in_result[0], all->steps->result[0], nest.data[1], in_tensor,
                                        count);
            } else {
                picks[window.width](nest.data[0], in_result, nest.data[1], in_tensor, count);
            }
        } while (tnri_nest_step(&nest, 0));
    }
}

static tnr_status compute(tnr_engine *engine, const tnri_windows *windows, const tnri_window_steps *steps,
                          const tnri_call *call)
{
    const tnr_view *a = call->operands[1].view;
    const uint64_t bytes = tnri_shape_extent_bytes(call->dtype, call->rank, call->shape);
    if (bytes == 0) {
        return TNR_OK;
    }
    gathering all = {.windows = windows, .steps = steps, .elements = 1, .cut = -1};
    all.window.width = tnr_dtype_size(call->dtype);
    all.window.rank = windows->window_rank;
    all.window.target = call->operands[0].data;
    all.window.source = call->operands[1].data;
    for (int i = 0; i < windows->window_rank; ++i) {
        all.window.shape[i] = windows->window_shape[i];
        all.window.target_strides[i] = call->out->strides[windows->window_axes[i]];
        all.window.source_strides[i] = a->strides[windows->tensor_axes[i]];
        all.elements *= windows->window_shape[i];
    }
    if (tnri_is_device(engine)) {
        return tnri_device_gather(engine, windows, steps, &all.window);
    }
    const int lanes = tnri_engine_lanes(engine, 2 * tnri_move_time(bytes));
    if (lanes > 1 && windows->vectors < 2 * (int64_t)lanes) {
        all.cut = tnri_box_cut_axis(&all.window, UINT64_MAX, lanes);
    }
    const int64_t extent = all.cut < 0 ? windows->vectors : all.window.shape[all.cut];
    const int64_t most = lanes == 1 ? 1 : 4 * (int64_t)lanes;
    all.pieces = extent < most ? extent : most;
    tnri_engine_run(engine, lanes, all.pieces, run_piece, &all);
    return TNR_OK;
}

static tnr_status inside(tnr_engine *engine, const tnr_view *a, const tnr_view *indices,
                         const tnr_index_options *options, tnri_target target)
{
    TNRI_CHECK_VIEW("gather", "a", a);
    TNRI_CHECK_VIEW("gather", "indices", indices);
    tnri_windows windows;
    TNR_TRY(tnri_windows_plan("gather", a, indices, options, &windows));
    tnri_call call;
    call.inputs = 2;
    call.dtype = a->dtype;
    call.rank = windows.rank;
    call.shape = windows.shape;
    call.aliasing = TNRI_APART;
    call.operands[1].view = a;
    call.operands[2].view = indices;
    TNR_TRY(tnri_rearrange_begin(engine, &op_gather, &call, target));
    tnri_window_steps steps;
    tnri_windows_steps(&windows, call.operands[2].data, tnr_dtype_size(a->dtype), a->strides, call.out->strides,
                       &steps);
    const tnr_status status = tnri_windows_check(engine, "gather", &windows, &steps);
    if (status != TNR_OK) {
        return tnri_call_end(engine, &call, target, status);
    }
    return tnri_rearrange_end(engine, &op_gather, &call, target, compute(engine, &windows, &steps, &call));
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, const tnr_view *indices, const tnr_index_options *options,
                      tnri_target target)
{
    tnr_index_options taken;
    TNR_TRY(tnri_index_options_take("gather", options, &taken));
    TNR_TRY(tnri_engine_enter("gather", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, indices, &taken, target));
}

tnr_status tnr_gather(tnr_engine *engine, const tnr_view *a, const tnr_view *indices, const tnr_index_options *options,
                      tnr_tensor **out)
{
    return run(engine, a, indices, options, (tnri_target){.made = out});
}

tnr_status tnr_gather_into(tnr_engine *engine, const tnr_view *a, const tnr_view *indices,
                           const tnr_index_options *options, const tnr_view_mut *out)
{
    return run(engine, a, indices, options, (tnri_target){.into = out});
}
