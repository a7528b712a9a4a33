/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one strided copy: every named copy of the library ends here.
 *
 * Guarantees: writes the elements of the target layout and nothing else; reads any source layout, overlapping elements
 * included; any alignment that the dtype itself needs. Blocks (copy_plan.c) are written straight to the target, or put
 * together in a buffer of whole cache lines and stored past the caches: a line that two blocks share is carried over from
 * one to the next where they follow on each other, else its parts are written with ordinary stores.
 * Does not check anything or take leases.
 */
#include "copy_internal.h"

/* Targets from here on are written past the caches when nobody says what the caches hold. */
#define STREAM_FROM ((uint64_t)4 << 20)

/* Most rows of a block: TNRI_COPY_BUFFER holds no more of the least pitch, 64 + 128 bytes. */
#define MOST_ROWS (TNRI_COPY_BUFFER / 192 + 1)

const tnri_copy_kernels *tnri_copy_kernels_of(tnri_isa isa)
{
    static const tnri_copy_kernels *const tables[TNRI_ISA_END] = TNRI_ISA_TABLES(tnri_copy_kernels);
    return tables[isa];
}

/* ---- Walking the blocks --------------------------------------------------------------------------------------------------- */

/* A block: its first elements and its extents along the two axes that are cut. */
typedef struct block {
    char *target;
    const char *source;
    int64_t cut;    /* elements */
    int64_t across; /* elements; 0: the block is empty */
} block;

typedef struct walk {
    char *target;
    const char *source;
    int64_t cut_at;
    int64_t across_at;
    int64_t index[TNR_MAX_RANK + 1];
} walk;

static void walk_move(const tnri_copy_plan *plan, walk *at, int loop, int64_t times)
{
    const tnri_copy_loop *l = &plan->loop[loop];
    const int64_t elements = l->step * times;
    at->index[loop] += times;
    at->target += plan->nest.strides[0][l->axis] * elements;
    at->source += plan->nest.strides[1][l->axis] * elements;
    if (l->axis == plan->cut) {
        at->cut_at += elements;
    } else if (l->axis == plan->across) {
        at->across_at += elements;
    }
}

static void walk_start(const tnri_copy_plan *plan, walk *at, int64_t first)
{
    at->target = plan->nest.data[0];
    at->source = plan->nest.data[1];
    at->cut_at = 0;
    at->across_at = 0;
    for (int i = 0; i < plan->loops; ++i) {
        at->index[i] = 0;
        if (first != 0) {
            walk_move(plan, at, i, first % plan->loop[i].count);
            first /= plan->loop[i].count;
        }
    }
}

static inline void walk_next(const tnri_copy_plan *plan, walk *at)
{
    for (int i = 0; i < plan->loops; ++i) {
        if (at->index[i] + 1 < plan->loop[i].count) {
            walk_move(plan, at, i, 1);
            return;
        }
        walk_move(plan, at, i, -at->index[i]);
    }
}

static inline block walk_block(const tnri_copy_plan *plan, const walk *at)
{
    block b = {at->target, at->source, plan->nest.shape[plan->cut] - at->cut_at, 1};
    b.cut = b.cut < plan->cut_block ? b.cut : plan->cut_block;
    if (plan->across >= 0) {
        b.across = plan->nest.shape[plan->across] - at->across_at;
        b.across = b.across < plan->across_block ? b.across : plan->across_block;
        b.across = b.across < 0 ? 0 : b.across; /* the last band has fewer steps than the others */
    }
    return b;
}

/* ---- Blocks that are one plane, written straight --------------------------------------------------------------------------- */

static void run_planes(const tnri_copy_plan *plan, tnri_copy_plane_kernel kernel, walk *at, int64_t blocks)
{
    const tnri_nest *nest = &plan->nest;
    tnri_copy_plane plane = {.target_row = nest->strides[0][0], .source_row = nest->strides[1][0]};
    if (plan->across >= 0) {
        plane.target_column = nest->strides[0][plan->across];
        plane.source_column = nest->strides[1][plan->across];
    }
    walk fetched = *at; /* a few blocks further on */
    for (int64_t i = 0; i < plan->ahead; ++i) {
        walk_next(plan, &fetched);
    }
    for (int64_t i = 0; i < blocks; ++i) {
        const block b = walk_block(plan, at);
        walk_next(plan, at);
        if (b.across > 0) {
            plane.rows = b.cut;
            plane.columns = b.across;
            plane.ahead = plan->ahead == 0 ? 0 : (int64_t)((uintptr_t)fetched.source - (uintptr_t)b.source);
            kernel(b.target, b.source, &plane);
        }
        if (plan->ahead != 0) {
            walk_next(plan, &fetched);
        }
    }
}

/* The same where all planes are alike, which small copies are made of: no block is cut, nothing is fetched ahead. */
static void run_whole_planes(const tnri_copy_plan *plan, tnri_copy_plane_kernel kernel)
{
    const tnri_nest *nest = &plan->nest;
    tnri_copy_plane plane = {.rows = plan->cut_block,
                             .columns = plan->across_block,
                             .target_row = nest->strides[0][0],
                             .source_row = nest->strides[1][0]};
    if (plan->across >= 0) {
        plane.target_column = nest->strides[0][plan->across];
        plane.source_column = nest->strides[1][plan->across];
    }
    char *target = nest->data[0];
    const char *source = nest->data[1];
    if (plan->loops == 0) {
        kernel(target, source, &plane);
        return;
    }
    const int64_t count = plan->loop[0].count;
    const int64_t target_step = nest->strides[0][plan->loop[0].axis];
    const int64_t source_step = nest->strides[1][plan->loop[0].axis];
    int64_t index[TNR_MAX_RANK + 1];
    for (int i = 1; i < plan->loops; ++i) {
        index[i] = 0;
    }
    for (;;) {
        for (int64_t i = 0; i < count; ++i) {
            kernel(target + i * target_step, source + i * source_step, &plane);
        }
        int i = 1;
        for (; i < plan->loops; ++i) {
            const tnri_copy_loop *loop = &plan->loop[i];
            if (++index[i] < loop->count) {
                target += nest->strides[0][loop->axis];
                source += nest->strides[1][loop->axis];
                break;
            }
            target -= nest->strides[0][loop->axis] * (loop->count - 1);
            source -= nest->strides[1][loop->axis] * (loop->count - 1);
            index[i] = 0;
        }
        if (i >= plan->loops) {
            return;
        }
    }
}

/* ---- Blocks that are put together from planes ---------------------------------------------------------------------------------- */

/* Copy a block; target steps are the target's own, but across it `across_step`. */
static void fill(const tnri_copy_plan *plan, const block *b, char *target, int64_t across_step, int64_t ahead)
{
    const tnri_nest *nest = &plan->nest;
    const tnri_copy_plane_kernel kernel = plan->kernels->planes[plan->shift];
    tnri_copy_plane plane = {.rows = plan->cut == 0 ? b->cut : nest->shape[0],
                             .columns = 1,
                             .target_row = nest->strides[0][0],
                             .source_row = nest->strides[1][0],
                             .ahead = ahead};
    /* All axes of the block but those of the plane. */
    int axes = 0;
    int64_t extents[TNR_MAX_RANK];
    int64_t target_steps[TNR_MAX_RANK];
    int64_t source_steps[TNR_MAX_RANK];
    int64_t index[TNR_MAX_RANK];
    for (int i = 1; i <= plan->cut + 1; ++i) {
        const bool last = i > plan->cut;
        const int axis = last ? plan->across : i;
        if (axis < 0) {
            continue;
        }
        const int64_t extent = last ? b->across : i == plan->cut ? b->cut : nest->shape[i];
        const int64_t step = last ? across_step : nest->strides[0][i];
        if (axis == plan->columns) {
            plane.columns = extent;
            plane.target_column = step;
            plane.source_column = nest->strides[1][axis];
        } else if (extent > 1) {
            extents[axes] = extent;
            target_steps[axes] = step;
            source_steps[axes] = nest->strides[1][axis];
            index[axes] = 0;
            ++axes;
        }
    }
    const char *source = b->source;
    for (;;) {
        kernel(target, source, &plane);
        int i = 0;
        for (; i < axes; ++i) {
            target += target_steps[i];
            source += source_steps[i];
            if (++index[i] < extents[i]) {
                break;
            }
            target -= target_steps[i] * extents[i];
            source -= source_steps[i] * extents[i];
            index[i] = 0;
        }
        if (i == axes) {
            return;
        }
    }
}

/*
 * Whole lines through a buffer. Row j of a block is put where its address modulo 64 is that of its place in the target.
 * Of a line begun and not finished, first[j] is the first byte that is still to be written.
 */
static void run_lines(const tnri_copy_plan *plan, walk *at, int64_t blocks)
{
    const tnri_nest *nest = &plan->nest;
    _Alignas(64) char buffer[TNRI_COPY_BUFFER];
    uint8_t first[MOST_ROWS];
    int64_t inner = INT64_C(1) << plan->shift;
    for (int i = 0; i < plan->cut; ++i) {
        inner *= nest->shape[i];
    }
    const int64_t across_step = plan->across >= 0 ? nest->strides[0][plan->across] : 0;
    bool carried = false;
    block b = walk_block(plan, at);
    for (int64_t n = 0; n < blocks; ++n) {
        walk_next(plan, at);
        const block next = walk_block(plan, at);
        if (b.across > 0) {
            const int64_t run = inner * b.cut;
            const bool carries = n + 1 < blocks && next.target == b.target + run && next.across == b.across;
            const int64_t phase = (int64_t)((uintptr_t)b.target & 63U);
            const int64_t next_phase = (phase + run) & 63;
            fill(plan, &b, buffer + phase, plan->pitch, n + 1 < blocks ? (int64_t)(next.source - b.source) : 0);
            for (int64_t j = 0; j < b.across; ++j) {
                char *target = b.target + j * across_step;
                const int64_t begin = (int64_t)((uintptr_t)target & 63U);
                char *row = buffer + phase + j * plan->pitch - begin;
                target -= begin;
                int64_t from = carried ? first[j] : begin;
                const int64_t end = begin + run;
                const int64_t lines = end & ~INT64_C(63);
                if (from != 0 && lines > 0) {
                    memcpy(target + from, row + from, (size_t)(64 - from));
                    from = 64;
                }
                if (lines > from) {
                    plan->kernels->lines(target + from, row + from, lines - from);
                    from = lines;
                }
                if (!carries) {
                    memcpy(target + from, row + from, (size_t)(end - from));
                } else {
                    char *next_row = buffer + next_phase + j * plan->pitch - (end & 63);
                    memmove(next_row, row + lines, 64);
                    first[j] = (uint8_t)(from - lines);
                }
            }
            carried = carries;
        } else {
            carried = false;
        }
        b = next;
    }
}

/* ---- Blocks of whole lines, while the next one is fetched ------------------------------------------------------------------------ */

/* Where in the source the segments of a block begin: stretches of axis 0, one after the other in the target's run. */
static void list_segments(const tnri_copy_plan *plan, int64_t *offsets)
{
    int64_t count = 1;
    offsets[0] = 0;
    for (int i = 1; i <= plan->cut; ++i) {
        const int64_t extent = i == plan->cut ? plan->cut_block : plan->nest.shape[i];
        for (int64_t k = 1; k < extent; ++k) {
            for (int64_t n = 0; n < count; ++n) {
                offsets[k * count + n] = offsets[n] + k * plan->nest.strides[1][i];
            }
        }
        count *= extent;
    }
}

static void run_blocks(const tnri_copy_plan *plan, walk *at, int64_t blocks)
{
    const tnri_nest *nest = &plan->nest;
    _Alignas(64) char buffer[TNRI_COPY_BUFFER];
    int64_t offsets[TNRI_COPY_SEGMENTS];
    list_segments(plan, offsets);
    const int64_t width = INT64_C(1) << plan->shift;
    const bool transposed = nest->strides[1][0] != width;
    int64_t each = 1; /* segments of one step along the cut axis */
    for (int i = 1; i < plan->cut; ++i) {
        each *= nest->shape[i];
    }
    const tnri_copy_plane_kernel kernel =
        transposed ? plan->kernels->blocks[plan->shift] : plan->kernels->planes[plan->shift];
    const int64_t across_step = plan->across >= 0 ? nest->strides[0][plan->across] : 0;
    const int64_t source_step = plan->across >= 0 ? nest->strides[1][plan->across] : 0;
    const int64_t again = plan->second >= 0 ? nest->strides[0][plan->second] : 0;
    const int64_t source_again = plan->second >= 0 ? nest->strides[1][plan->second] : 0;
    const int64_t chunk = plan->chunk;
    block b = walk_block(plan, at);
    for (int64_t n = 0; n < blocks; ++n) {
        walk_next(plan, at);
        const block next = walk_block(plan, at);
        const int64_t rows = plan->cut == 0 ? b.cut : nest->shape[0];
        const int64_t segments = plan->cut == 0 ? 1 : each * b.cut;
        const int64_t run = rows * width * segments;
        tnri_copy_fetch fetch = {.base = (uintptr_t)next.source, .row = (uintptr_t)next.source, .offsets = offsets};
        if (n + 1 < blocks && next.across > 0) {
            const int64_t next_rows = plan->cut == 0 ? next.cut : nest->shape[0];
            fetch.segments = plan->cut == 0 ? 1 : each * next.cut;
            fetch.rows = transposed ? next_rows : next.across;
            fetch.row_step = transposed ? nest->strides[1][0] : source_step;
            fetch.lines = ((transposed ? next.across * plan->again : next_rows) * width + 63) >> 6;
        }
        tnri_copy_plane plane = {.rows = rows,
                                 .target_row = width,
                                 .target_column = plan->pitch,
                                 .source_row = nest->strides[1][0],
                                 .source_column = source_step,
                                 .fetch = &fetch};
        for (int64_t i = 0; i < plan->again; ++i) {
            const char *source = b.source + i * source_again;
            char *target = b.target + i * again;
            for (int64_t j = 0; j < b.across; j += chunk) {
                plane.columns = b.across - j < chunk ? b.across - j : chunk;
                for (int64_t k = 0; k < segments; ++k) {
                    if (!transposed) {
                        tnri_copy_fetch_lines(&fetch, plane.columns * fetch.lines);
                    }
                    kernel(buffer + k * rows * width, source + offsets[k] + j * source_step, &plane);
                }
                for (int64_t k = 0; k < plane.columns; ++k) {
                    plan->kernels->lines(target + (j + k) * across_step, buffer + k * plan->pitch, run);
                }
            }
        }
        b = next;
    }
}

/* ---- Running ------------------------------------------------------------------------------------------------------------------- */

static int64_t first_block(int64_t blocks, int64_t piece, int64_t pieces)
{
    const int64_t rest = blocks % pieces;
    return blocks / pieces * piece + (piece < rest ? piece : rest);
}

void tnri_copy_plan_run(const tnri_copy_plan *plan, int64_t piece, int64_t pieces)
{
    const int64_t first = first_block(plan->blocks, piece, pieces);
    const int64_t blocks = first_block(plan->blocks, piece + 1, pieces) - first;
    if (blocks == 0) {
        return;
    }
    const tnri_copy_kernels *kernels = plan->kernels;
    if (plan->mode == TNRI_COPY_PLAIN && pieces == 1 && plan->cut_block == plan->nest.shape[0] &&
        (plan->across < 0 || plan->across_block == plan->nest.shape[plan->across])) {
        run_whole_planes(plan, kernels->planes[plan->shift]);
        return;
    }
    walk at;
    walk_start(plan, &at, first);
    switch (plan->mode) {
    case TNRI_COPY_PLAIN:
        run_planes(plan, kernels->planes[plan->shift], &at, blocks);
        return;
    case TNRI_COPY_RUNS:
        run_planes(plan, kernels->runs[plan->shift], &at, blocks);
        break;
    case TNRI_COPY_TILES:
        run_planes(plan, kernels->tiles[plan->shift], &at, blocks);
        break;
    case TNRI_COPY_BLOCKS:
        run_blocks(plan, &at, blocks);
        break;
    case TNRI_COPY_LINES:
        run_lines(plan, &at, blocks);
        break;
    }
    kernels->fence();
}

void tnri_copy_elements(size_t element_bytes, int rank, const int64_t *shape, void *target,
                        const int64_t *target_strides, const void *source, const int64_t *source_strides)
{
    uint64_t count = 1; /* fits, or some extent is 0 and it does not matter what it is */
    bool dense = true;
    for (int i = 0; i < rank; ++i) {
        dense =
            dense && (shape[i] == 1 || ((uint64_t)target_strides[i] == count && (uint64_t)source_strides[i] == count));
        count *= (uint64_t)shape[i];
    }
    const uint64_t bytes = count * element_bytes;
    if (dense && bytes < STREAM_FROM) { /* nothing to plan */
        if (bytes != 0) {
            memcpy(target, source, (size_t)bytes);
        }
        return;
    }
    tnri_copy_plan plan;
    tnri_copy_plan_make(&plan, tnri_copy_kernels_of(tnri_isa_best()), bytes >= STREAM_FROM, element_bytes, rank, shape,
                        target, target_strides, source, source_strides);
    tnri_copy_plan_run(&plan, 0, 1);
}
