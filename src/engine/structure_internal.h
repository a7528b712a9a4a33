/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the operations of structure.h share: the frame of a call, boxes that are copied or zeroed on several lanes, and
 * the windows of gather and scatter.
 */
#ifndef TENURE_ENGINE_STRUCTURE_INTERNAL_H
#define TENURE_ENGINE_STRUCTURE_INTERNAL_H

#include "engine_internal.h"

/*
 * ---- Frame of a call (structure.c)
 * ------------------------------------------------------------------------------------------
 */

/* A call, and the name of its copy in the ledger. */
typedef struct tnri_rearrangement {
    const char *name;
    tnr_copy_reason reason;
} tnri_rearrangement;

/*
 * A caller's output is as it must be; then the leases. `call` has inputs, their views, dtype, rank, shape and aliasing.
 */
tnr_status tnri_rearrange_begin(tnr_engine *engine, const tnri_rearrangement *op, tnri_call *call, tnri_target target);

/*
 * Give everything back and enter the copy, unless the output is the first input itself. The entry of a caller's output comes
 * first: it says what was written.
 */
tnr_status tnri_rearrange_end(tnr_engine *engine, const tnri_rearrangement *op, tnri_call *call, tnri_target target);

/* Bytes of so many elements as the shape has, which access has seen to fit. */
uint64_t tnri_shape_extent_bytes(tnr_dtype dtype, int rank, const int64_t *shape);

/* Enter each axis of a list in a mask: TNR_ERR_BOUNDS, TNR_ERR_ARGUMENT for one that is there already. */
tnr_status tnri_axis_enter(const char *op, int axis, int rank, uint64_t *met);

/*
 * ---- Boxes (boxes.c)
 * ----------------------------------------------------------------------------------------------------------
 */

/* Elements `stride` apart on each axis. Strides in elements; data may be anything when an extent is 0. */
typedef struct tnri_box {
    size_t width; /* bytes of an element */
    int rank;
    int64_t shape[TNR_MAX_RANK];
    char *target;
    int64_t target_strides[TNR_MAX_RANK];
    const char *source; /* NULL: zeros */
    int64_t source_strides[TNR_MAX_RANK];
} tnri_box;

/* The box of a result and of the source with the same shape. */
void tnri_box_make(tnri_box *box, const tnr_view *out, char *target, const char *source, const int64_t *source_strides);

/* Leave `count` >= 0 indices of an axis, from `begin` on, every step-th of them; step >= 1. */
void tnri_box_narrow(tnri_box *box, int axis, int64_t begin, int64_t count, int64_t step);

/* Copy source to target, or zero the target, on the calling thread. */
void tnri_box_run(const tnri_box *box);

/* tnri_copy_elements on as many lanes as pay, with the engine's kernels. */
void tnri_copy_on_lanes(tnr_engine *engine, size_t width, int rank, const int64_t *shape, void *target,
                        const int64_t *target_strides, const void *source, const int64_t *source_strides);

/* tnri_box_run on as many lanes as pay. */
void tnri_box_run_on_lanes(tnr_engine *engine, const tnri_box *box);

/*
 * The axis on which the target is best cut into pieces, among those of `allowed` (a mask); -1: none is longer than 1.
 */
int tnri_box_cut_axis(const tnri_box *box, uint64_t allowed, int lanes);

/* Nanoseconds that moving so many bytes takes on one lane, roughly. */
static inline uint64_t tnri_move_time(uint64_t bytes) { return bytes / 8; }

static inline uint64_t tnri_magnitude(int64_t stride) { return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride; }

/* Piece p of so many: [*begin, *end) of 0..extent-1. */
static inline void tnri_piece_of(int64_t extent, int64_t pieces, int64_t p, int64_t *begin, int64_t *end)
{
    const int64_t each = extent / pieces;
    const int64_t rest = extent % pieces;
    *begin = p * each + (p < rest ? p : rest);
    *end = *begin + each + (p < rest ? 1 : 0);
}

/*
 * ---- Windows of gather and scatter (index.c)
 * -------------------------------------------------------------------------------------
 */

/*
 * What tnr_index_options say for given operands. "Tensor" is what windows are in, "result" what has them side by side:
 * the result of gather, the updates of scatter. From descriptors alone: what strides are used for comes when access has
 * seen them.
 */
typedef struct tnri_windows {
    bool wide;      /* indices are i64 */
    bool clamp;     /* windows are moved to where they fit */
    int batch_rank; /* axes of `indices` without that of the vectors */
    int64_t batch_shape[TNR_MAX_RANK];
    int64_t batch_strides[TNR_MAX_RANK]; /* of indices, in elements; of axes not longer than 1: 0 */
    int batch_axes[TNR_MAX_RANK];        /* of the result */
    int64_t vectors;
    int entries; /* of a vector */
    int64_t entry_stride;
    int entry_axes[TNR_MAX_RANK]; /* of the tensor */
    int64_t limits[TNR_MAX_RANK]; /* last place on that axis where the window fits */
    int window_rank;              /* axes of the window that are not left out */
    int64_t window_shape[TNR_MAX_RANK];
    int tensor_axes[TNR_MAX_RANK]; /* of each: which axis of the tensor it is */
    int window_axes[TNR_MAX_RANK]; /* and of the result */
    bool spread;                   /* some axis with an entry has a window longer than 1: windows may overlap in part */
    int rank;                      /* of the result */
    int64_t shape[TNR_MAX_RANK];
} tnri_windows;

/* All checks of descriptors and options. */
tnr_status tnri_windows_plan(const char *op, const tnr_view *a, const tnr_view *indices,
                             const tnr_index_options *options, tnri_windows *windows);

/* How far index vectors and windows lie apart in memory, in bytes; of axes not longer than 1: 0. */
typedef struct tnri_window_steps {
    const char *indices;
    int64_t batch[TNR_MAX_RANK];  /* of indices, by batch axis */
    int64_t entry;                /* likewise, from one entry of a vector to the next */
    int64_t tensor[TNR_MAX_RANK]; /* by entry */
    int64_t result[TNR_MAX_RANK]; /* by batch axis */
} tnri_window_steps;

/* After access: `indices` is the first element's address, or NULL where there are none. */
void tnri_windows_steps(const tnri_windows *windows, const char *indices, size_t width, const int64_t *tensor_strides,
                        const int64_t *result_strides, tnri_window_steps *steps);

/* All checks of values: TNR_ERR_BOUNDS for the first window, in order, that leaves the tensor. */
tnr_status tnri_windows_check(tnr_engine *engine, const char *op, const tnri_windows *windows,
                              const tnri_window_steps *steps);

/* Windows looked up at a time. */
#define TNRI_WINDOWS_AT_ONCE 1024

/* Offsets in bytes of windows first..first+count-1 in the tensor and in the result; count <= TNRI_WINDOWS_AT_ONCE. */
void tnri_windows_locate(const tnri_windows *windows, const tnri_window_steps *steps, int64_t first, int64_t count,
                         int64_t *in_tensor, int64_t *in_result);

/* Are vectors nearer to one another in the result than `step`, that of a window's neighbouring elements? */
bool tnri_windows_lie_inside(const tnri_windows *windows, const tnri_window_steps *steps, int64_t step);

#endif /* TENURE_ENGINE_STRUCTURE_INTERNAL_H */
