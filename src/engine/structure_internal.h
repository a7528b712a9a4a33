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
 * Give everything back and enter the copy, unless it failed or the output is the first input itself. The entry of a caller's output comes
 * first: it says what was written.
 */
tnr_status tnri_rearrange_end(tnr_engine *engine, const tnri_rearrangement *op, tnri_call *call, tnri_target target,
                              tnr_status status);

/* Words that may alias any dtype, by the bytes of an element; c32 and c64 are aligned as their parts. */
typedef uint8_t tnri_word1 __attribute__((may_alias));
typedef uint32_t tnri_word4 __attribute__((may_alias));
typedef uint64_t tnri_word8 __attribute__((may_alias, aligned(4)));
typedef struct tnri_word16 {
    uint64_t low;
    uint64_t high;
} __attribute__((may_alias, aligned(8))) tnri_word16;

/* Bytes of so many elements as the shape has, which access has seen to fit. */
uint64_t tnri_shape_extent_bytes(tnr_dtype dtype, int rank, const int64_t *shape);

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

/* tnri_copy_elements on as many lanes as pay, with the engine's kernels; or on its device, which alone may fail. */
tnr_status tnri_copy_on_lanes(tnr_engine *engine, size_t width, int rank, const int64_t *shape, void *target,
                              const int64_t *target_strides, const void *source, const int64_t *source_strides);

/* tnri_box_run on as many lanes as pay. */
tnr_status tnri_box_run_on_lanes(tnr_engine *engine, const tnri_box *box);

/*
 * An output that is put together from boxes, in one go: it is cut along one axis into strips, on several lanes, and a
 * strip has its part of every box before the next one begins. So boxes may lie over one another where they have the
 * same indices of that axis: the later one stays.
 */
typedef struct tnri_strips {
    const tnri_copy_kernels *kernels;
    int axis;       /* of the output; -1: all of it is one strip */
    int64_t extent; /* of that axis */
    int64_t block;  /* indices of a strip */
    int lanes;
    int64_t pieces; /* to run, each of whole strips */
    bool streams;
} tnri_strips;

/*
 * How to cut `whole`, the box of all of a non-empty output. `run`: so many bytes of each box lie side by side. Where that
 * is little, strips are small enough to stay in the second-level cache while their boxes are written.
 */
void tnri_strips_make(tnr_engine *engine, const tnri_box *whole, uint64_t run, tnri_strips *strips);

/* Bytes of a box that lie side by side in the target. */
uint64_t tnri_box_run_bytes(const tnri_box *box);

/*
 * The part of a box in strip [begin, end): `axis` is the one of the box whose indices are begin, begin + step, ... of the
 * strips' axis.
 */
void tnri_box_run_strip(const tnri_strips *strips, const tnri_box *box, int axis, int64_t at, int64_t step,
                        int64_t begin, int64_t end);

/* The lower or upper triangle of a box's first two axes, on the engine's device. (device.c) */
tnr_status tnri_device_triangle(tnr_engine *engine, const tnri_box *box, int64_t k, bool upper) TNRI_COLD;

/* A list of boxes; the memory of it is the caller's. */
#if TNRI_SMALL
#define TNRI_PATCHES 4
#else
#define TNRI_PATCHES 24
#endif

typedef struct tnri_patch {
    tnri_box box;
    int axis;
    int64_t at;
    int64_t step;
} tnri_patch;

typedef struct tnri_patches {
    tnr_engine *engine;
    tnri_strips strips;
    tnr_status status; /* of a device */
    int count;
    tnri_patch patch[TNRI_PATCHES];
} tnri_patches;

/* An empty list for the output `whole`. */
void tnri_patches_begin(tnr_engine *engine, const tnri_box *whole, uint64_t run, tnri_patches *patches);

/* One more, as for tnri_box_run_strip. A full list is written first; where there is one strip, or on a device, nothing is listed. */
void tnri_patches_add(tnri_patches *patches, const tnri_box *box, int axis, int64_t at, int64_t step);

/* Write all that are listed; the status of all, which is TNR_OK but on a device. */
tnr_status tnri_patches_end(tnri_patches *patches);

/*
 * The axis on which the target is best cut into pieces, among those of `allowed` (a mask); -1: none is longer than 1.
 */
int tnri_box_cut_axis(const tnri_box *box, uint64_t allowed, int lanes);

/* Nanoseconds that moving so many bytes takes on one lane, roughly. */
static inline uint64_t tnri_move_time(uint64_t bytes) { return bytes / 8; }

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
    bool single[TNR_MAX_RANK];    /* the window is 1 long on that axis */
    int window_rank;              /* axes of the window that are not left out */
    int64_t window_shape[TNR_MAX_RANK];
    int tensor_axes[TNR_MAX_RANK]; /* of each: which axis of the tensor it is */
    int window_axes[TNR_MAX_RANK]; /* and of the result */
    bool spread;                   /* some axis with an entry has a window longer than 1: windows may overlap in part */
    int rank;                      /* of the result */
    int64_t shape[TNR_MAX_RANK];
} tnri_windows;

/* The caller's options, of this version: first of all checks, as they have a value of an enumeration. */
tnr_status tnri_index_options_take(const char *op, const tnr_index_options *options, tnr_index_options *taken);

/* All checks of descriptors and options. */
tnr_status tnri_windows_plan(const char *op, const tnr_view *a, const tnr_view *indices,
                             const tnr_index_options *options, tnri_windows *windows);

/*
 * How far index vectors and windows lie apart in memory, in bytes. The vectors' own axes, in their order: those that
 * follow one another are one, those not longer than 1 are left out; there is one at least.
 */
typedef struct tnri_window_steps {
    const char *indices;
    int batch_rank;
    int64_t batch_shape[TNR_MAX_RANK];
    int64_t batch[TNR_MAX_RANK];  /* of indices */
    int64_t result[TNR_MAX_RANK]; /* of the result */
    int64_t entry;                /* of indices, from one entry of a vector to the next */
    int64_t tensor[TNR_MAX_RANK]; /* by entry; 0 where all windows are at one place */
} tnri_window_steps;

#if TNRI_DEVICES
/* The same for a device, but for tensor and result. */
void tnri_windows_for_device(const tnri_windows *windows, const tnri_window_steps *steps, tnri_device_windows *all);
#endif
/* On the engine's device. `window`: the one at place 0, from the tensor to the result, or from the updates to the tensor. */
tnr_status tnri_device_gather(tnr_engine *engine, const tnri_windows *windows, const tnri_window_steps *steps,
                              const tnri_box *window) TNRI_COLD;
tnr_status tnri_device_scatter(tnr_engine *engine, const tnri_windows *windows, const tnri_window_steps *steps,
                               const tnri_box *window, tnr_dtype dtype) TNRI_COLD;

/* After access: `indices` is the first element's address, or NULL where there are none. */
void tnri_windows_steps(const tnri_windows *windows, const char *indices, size_t width, const int64_t *tensor_strides,
                        const int64_t *result_strides, tnri_window_steps *steps);

/* All checks of values: TNR_ERR_BOUNDS for the first window, in order, that leaves the tensor. */
tnr_status tnri_windows_check(tnr_engine *engine, const char *op, const tnri_windows *windows,
                              const tnri_window_steps *steps);

/* A walk over index vectors in column-major order, by runs along axis 0. */
typedef struct tnri_vectors {
    int64_t index[TNR_MAX_RANK];
    const char *indices; /* first entry of the vector */
    int64_t result;      /* offset in the result */
} tnri_vectors;

void tnri_vectors_at(const tnri_window_steps *steps, int64_t vector, tnri_vectors *at);

/* Vectors from here to the end of axis 0, at most `most`. */
int64_t tnri_vectors_run(const tnri_window_steps *steps, const tnri_vectors *at, int64_t most);

/* On by a run, which ends on axis 0. */
void tnri_vectors_on(const tnri_window_steps *steps, int64_t run, tnri_vectors *at);

static inline int64_t tnri_index_held(int64_t value, int64_t limit)
{
    const int64_t below = value < limit ? value : limit;
    return below < 0 ? 0 : below;
}

/* A run of vectors of one entry, for kernels that look up by themselves. */
typedef struct tnri_lookup {
    const char *indices;
    int64_t step; /* of indices, in bytes */
    int64_t limit;
    int64_t scale;     /* bytes in the tensor from one index to the next */
    uint32_t most_i32; /* the limit, if indices are i32 */
    bool wide;
    bool clamp;
} tnri_lookup;

static inline tnri_lookup tnri_lookup_of(const tnri_windows *windows, const tnri_window_steps *steps,
                                         const tnri_vectors *at)
{
    const int64_t limit = windows->limits[0];
    return (tnri_lookup){.indices = at->indices,
                         .step = steps->batch[0],
                         .limit = limit,
                         .scale = steps->tensor[0],
                         .most_i32 = limit < INT32_MAX ? (uint32_t)limit : (uint32_t)INT32_MAX,
                         .wide = windows->wide,
                         .clamp = windows->clamp};
}

/*
 * The most frequent kind: i32 side by side, for elements side by side. They were checked, so that holding them to the limit
 * as unsigned numbers, the cheaper way, changes none.
 */
static inline bool tnri_lookup_plain_i32(const tnri_lookup *at, int64_t width)
{
    return !at->wide && !at->clamp && at->step == (int64_t)sizeof(int32_t) && at->scale == width;
}

/* Windows looked up at a time. */
#if TNRI_SMALL
#define TNRI_WINDOWS_AT_ONCE 32
#else
#define TNRI_WINDOWS_AT_ONCE 1024
#endif

/* Those of all windows whose places on one axis, that of an entry, are in [begin, end). */
typedef struct tnri_window_share {
    int entry;
    int64_t begin;
    int64_t end;
} tnri_window_share;

/*
 * Offsets in bytes of windows first..first+count-1 in the tensor and in the result, in that order; only of those in the
 * share unless it is NULL. Their number; count <= TNRI_WINDOWS_AT_ONCE.
 */
int64_t tnri_windows_locate(const tnri_windows *windows, const tnri_window_steps *steps, int64_t first, int64_t count,
                            const tnri_window_share *share, int64_t *in_tensor, int64_t *in_result);

/* Are vectors nearer to one another in the result than `step`, that of a window's neighbouring elements? */
bool tnri_windows_lie_inside(const tnri_window_steps *steps, int64_t step);

/* The one or two innermost axes of windows: rows of elements, `rows` of them. Steps in bytes. */
typedef struct tnri_rows {
    int64_t count; /* elements of a row */
    int64_t target_step;
    int64_t source_step;
    int64_t rows;
    int64_t target_row;
    int64_t source_row;
} tnri_rows;

/* The axes of a nest of two operands below its second axis. */
static inline tnri_rows tnri_rows_of(const tnri_nest *nest)
{
    tnri_rows rows = {nest->shape[0], nest->strides[0][0], nest->strides[1][0], 1, 0, 0};
    if (nest->rank > 1) {
        rows.rows = nest->shape[1];
        rows.target_row = nest->strides[0][1];
        rows.source_row = nest->strides[1][1];
    }
    return rows;
}

#endif /* TENURE_ENGINE_STRUCTURE_INTERNAL_H */
