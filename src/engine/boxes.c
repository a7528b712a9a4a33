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

tnr_status tnri_copy_on_lanes(tnr_engine *engine, size_t width, int rank, const int64_t *shape, void *target,
                              const int64_t *target_strides, const void *source, const int64_t *source_strides)
{
    if (tnri_is_device(engine)) {
        return tnri_device_copy_elements(engine, width, rank, shape, target, target_strides, source, source_strides);
    }
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
    tnri_engine_run(engine, lanes, all.count, run_piece, &all);
    return TNR_OK;
}

tnr_status tnri_box_run_on_lanes(tnr_engine *engine, const tnri_box *box)
{
    if (tnri_is_device(engine)) {
        return tnri_device_copy_elements(engine, box->width, box->rank, box->shape, box->target, box->target_strides,
                                         box->source, box->source_strides);
    }
    const bool zeros = box->source == NULL;
    return tnri_copy_on_lanes(engine, box->width, box->rank, box->shape, box->target, box->target_strides,
                              zeros ? (const void *)&zero : box->source, zeros ? still : box->source_strides);
}

/* ---- Strips --------------------------------------------------------------------------------------------------------- */

#define STRIP_BYTES 131072 /* of a strip that is to stay in the second-level cache */
#define LONG_RUN 2048      /* bytes side by side that need no such strips: they may as well go past the caches */

uint64_t tnri_box_run_bytes(const tnri_box *box)
{
    const tnri_nest_operand target = {box->target, box->target_strides, box->width};
    tnri_nest nest;
    if (!tnri_nest_make(&nest, box->rank, box->shape, 1, &target) || nest.strides[0][0] != (int64_t)box->width) {
        return box->width;
    }
    return (uint64_t)nest.shape[0] * box->width;
}

void tnri_strips_make(tnr_engine *engine, const tnri_box *whole, uint64_t run, tnri_strips *strips)
{
    uint64_t bytes = whole->width;
    for (int i = 0; i < whole->rank; ++i) {
        bytes *= (uint64_t)whole->shape[i];
    }
    strips->kernels = tnri_copy_kernels_of(engine->isa);
    strips->lanes = tnri_engine_lanes(engine, tnri_move_time(bytes));
    strips->streams = run >= LONG_RUN && tnri_engine_streams(engine, 2 * bytes);
    strips->axis = tnri_box_cut_axis(whole, UINT64_MAX, strips->lanes);
    strips->extent = strips->axis >= 0 ? whole->shape[strips->axis] : 1;
    strips->block = strips->extent;
    const uint64_t each = bytes / (uint64_t)strips->extent;
    if (run < LONG_RUN && bytes > STRIP_BYTES) {
        strips->block = each < STRIP_BYTES ? (int64_t)(STRIP_BYTES / each) : 1;
    }
    const int64_t most = strips->lanes == 1 ? 1 : 4 * (int64_t)strips->lanes;
    strips->pieces = strips->extent < most ? strips->extent : most;
}

/* The first index of a box that is not below `index` of the strips' axis; at most `count`. */
static int64_t first_from(int64_t index, int64_t at, int64_t step, int64_t count)
{
    if (index <= at) {
        return 0;
    }
    const int64_t first = tnri_quotient_up(index - at, step);
    return first < count ? first : count;
}

static void run_part(const tnri_strips *strips, const tnri_box *part)
{
    const bool zeros = part->source == NULL;
    tnri_copy_plan plan;
    tnri_copy_plan_make(&plan, strips->kernels, strips->streams, part->width, part->rank, part->shape, part->target,
                        part->target_strides, zeros ? (const void *)&zero : part->source,
                        zeros ? still : part->source_strides);
    tnri_copy_plan_run(&plan, 0, 1);
}

void tnri_box_run_strip(const tnri_strips *strips, const tnri_box *box, int axis, int64_t at, int64_t step,
                        int64_t begin, int64_t end)
{
    if (strips->axis < 0 || end - begin == strips->extent) {
        run_part(strips, box);
        return;
    }
    const int64_t first = first_from(begin, at, step, box->shape[axis]);
    const int64_t last = first_from(end, at, step, box->shape[axis]);
    if (first < last) {
        tnri_box part = *box;
        tnri_box_narrow(&part, axis, first, last - first, 1);
        run_part(strips, &part);
    }
}

/* ---- Lists of boxes ------------------------------------------------------------------------------------------------- */

void tnri_patches_begin(tnr_engine *engine, const tnri_box *whole, uint64_t run, tnri_patches *patches)
{
    patches->engine = engine;
    patches->count = 0;
    patches->status = TNR_OK;
    tnri_strips_make(engine, whole, run, &patches->strips);
}

static void run_strips(void *context, int64_t piece)
{
    const tnri_patches *patches = context;
    const tnri_strips *strips = &patches->strips;
    int64_t begin;
    int64_t last;
    tnri_piece_of(strips->extent, strips->pieces, piece, &begin, &last);
    while (begin < last) {
        const int64_t end = last - begin < strips->block ? last : begin + strips->block;
        for (int i = 0; i < patches->count; ++i) {
            const tnri_patch *patch = &patches->patch[i];
            tnri_box_run_strip(strips, &patch->box, patch->axis, patch->at, patch->step, begin, end);
        }
        begin = end;
    }
}

tnr_status tnri_patches_end(tnri_patches *patches)
{
    if (patches->count > 0) {
        tnri_engine_run(patches->engine, patches->strips.lanes, patches->strips.pieces, run_strips, patches);
    }
    patches->count = 0;
    return patches->status;
}

void tnri_patches_add(tnri_patches *patches, const tnri_box *box, int axis, int64_t at, int64_t step)
{
    if (tnri_is_device(patches->engine)) {
        patches->status = patches->status == TNR_OK ? tnri_box_run_on_lanes(patches->engine, box) : patches->status;
        return;
    }
    if (patches->strips.pieces == 1 && patches->strips.block == patches->strips.extent) { /* all of it at once */
        run_part(&patches->strips, box);
        return;
    }
    if (patches->count == TNRI_PATCHES) {
        (void)tnri_patches_end(patches);
    }
    tnri_patch *patch = &patches->patch[patches->count++];
    patch->box = *box;
    patch->axis = axis;
    patch->at = at;
    patch->step = step;
}
