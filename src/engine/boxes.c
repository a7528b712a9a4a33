/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Boxes: what structural operations are put together from. A box of the target is copied from a box of the source, or
 * zeroed; large ones in pieces, on several lanes.
 *
 * Guarantees: each element of the target box is written once, nothing else is. What is written does not depend on the
 * lanes. Does not check anything: leases, bounds and overlap are behind the caller.
 */
#include "structure_internal.h"

static const tnr_c64 zero; /* all bytes zero: zero or false in every dtype */
static const int64_t still[TNR_MAX_RANK];

void tnri_box_make(tnri_box *box, const tnr_view *out, char *target, const char *source, const int64_t *source_strides)
{
    box->width = tnr_dtype_size(out->dtype);
    box->rank = out->rank;
    box->target = target;
    box->source = source;
    for (int i = 0; i < out->rank; ++i) {
        box->shape[i] = out->shape[i];
        box->target_strides[i] = out->strides[i];
        box->source_strides[i] = source_strides[i];
    }
}

/*
 * One operand of a box on one axis. The stride of an extent of 1 means nothing, may be huge, and is not touched; within
 * longer extents all products are steps inside the operand.
 */
static int64_t narrowed(int64_t *stride, size_t width, int64_t begin, int64_t count, int64_t step)
{
    const int64_t moved = begin == 0 || count == 0 ? 0 : begin * *stride * (int64_t)width;
    if (count > 1 && step > 1) {
        *stride *= step;
    }
    return moved;
}

void tnri_box_narrow(tnri_box *box, int axis, int64_t begin, int64_t count, int64_t step)
{
    box->shape[axis] = count;
    if (box->source != NULL) {
        box->source += narrowed(&box->source_strides[axis], box->width, begin, count, step);
    }
    box->target += narrowed(&box->target_strides[axis], box->width, begin, count, step);
}

void tnri_box_run(const tnri_box *box)
{
    const bool zeros = box->source == NULL;
    tnri_copy_elements(box->width, box->rank, box->shape, box->target, box->target_strides,
                       zeros ? (const void *)&zero : box->source, zeros ? still : box->source_strides);
}

/* The outermost axis in memory that gives each lane a few indices; else the longest. */
int tnri_box_cut_axis(const tnri_box *box, uint64_t allowed, int lanes)
{
    int outermost = -1;
    int longest = -1;
    for (int i = 0; i < box->rank; ++i) {
        if ((allowed >> i & 1U) == 0 || box->shape[i] <= 1) {
            continue;
        }
        if (longest < 0 || box->shape[i] > box->shape[longest]) {
            longest = i;
        }
        if (box->shape[i] >= 2 * (int64_t)lanes &&
            (outermost < 0 ||
             tnri_magnitude(box->target_strides[i]) > tnri_magnitude(box->target_strides[outermost]))) {
            outermost = i;
        }
    }
    return outermost >= 0 ? outermost : longest;
}

typedef struct pieces {
    const tnri_copy_plan *plan;
    int64_t count;
} pieces;

static void run_piece(void *context, int64_t piece)
{
    const pieces *all = context;
    tnri_copy_plan_run(all->plan, piece, all->count);
}

void tnri_copy_on_lanes(tnr_engine *engine, size_t width, int rank, const int64_t *shape, void *target,
                        const int64_t *target_strides, const void *source, const int64_t *source_strides)
{
    uint64_t bytes = width;
    for (int i = 0; i < rank; ++i) {
        bytes *= (uint64_t)shape[i]; /* fits, or some extent is 0 and then so is this */
    }
    tnri_copy_plan plan;
    tnri_copy_plan_make(&plan, tnri_copy_kernels_of(engine->isa), tnri_engine_streams(engine, 2 * bytes), width, rank,
                        shape, target, target_strides, source, source_strides);
    const int lanes = tnri_engine_lanes(engine, tnri_move_time(bytes));
    pieces all = {&plan, lanes == 1 ? 1 : 4 * (int64_t)lanes};
    all.count = all.count < plan.blocks ? all.count : plan.blocks;
    tnri_engine_run(engine, all.count, run_piece, &all);
}

void tnri_box_run_on_lanes(tnr_engine *engine, const tnri_box *box)
{
    const bool zeros = box->source == NULL;
    tnri_copy_on_lanes(engine, box->width, box->rank, box->shape, box->target, box->target_strides,
                       zeros ? (const void *)&zero : box->source, zeros ? still : box->source_strides);
}
