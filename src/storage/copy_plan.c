/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cuts a strided copy into blocks and orders them, by fixed rules and without trying anything out.
 *
 * A target's axes are sorted by its strides; those that follow on each other without a gap make one run. A block is a
 * stretch of that run, axes 0..cut, times some elements of the axis `across` along which the source has its neighbours:
 *
 *            source: whole lines along across
 *            +--------+
 *            |  block |   axes 0..cut: whole lines of the target
 *            +--------+
 *
 * Blocks of whole aligned lines are taken in the order of the source: measured, as many rows of the source as a line of the
 * target has elements are read side by side at the full speed of memory, and stores past the caches bear being spread.
 * Blocks that share lines are taken in the order of the target, so that a line is finished before it is stored.
 *
 * Blocking for both operands is that of Lam, Rothberg and Wolf, "The cache performance and optimizations of blocked
 * algorithms", ASPLOS 1991; axes are chosen as by Springer, Su and Bientinesi, "HPTT: a high-performance tensor transposition
 * C++ library", ARRAY 2017, but from strides alone.
 */
#include "copy_internal.h"

/* Whole lines past the caches only where the target has at least so many bytes without a gap. */
#define LEAST_RUN 256
/* Runs of both sides from here on go past the caches wherever they begin and end; bytes. */
#define LONG_RUN 2048
/* And are cut into pieces of so many. */
#define MOST_RUN 16384
/* Cache lines of the target's run in a tile: one, so that no more rows of the source are read than prefetching follows. */
#define TILE_LINES 1
/* Bytes of a row of the source that a tile takes, and from what is copied to what is fetched. */
#define FETCH_BYTES 512
/* Steps that are whole multiples of this many bytes share places in caches and banks of memory. */
#define UNEVEN 512
/* Runs of both sides that are shorter, and made of whole lines, are put together to longer ones. */
#define SHORT_RUN 192
/* Bytes of the target's run in a block, of the source's, and rows of such short runs at a time. */
#define BLOCK_RUN 512
#define BLOCK_SPAN 512
#define CHUNK_ROWS 8
/* Lines of the target until the first of them is met again. */
#define BAND_ROWS 1024
/* Bytes of a block that is put together, along the target's run and along the source's lines. */
#define RUN_BYTES 512
#define SPAN_BYTES 256

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
/* Axis from `first` on along which the source steps least, but does step; -1: none. */
static int nearest_axis(const tnri_nest *nest, int first, int end)
{
    int best = -1;
    for (int i = first; i < end; ++i) {
        if (nest->strides[1][i] != 0 &&
            (best < 0 || tnri_magnitude(nest->strides[1][i]) < tnri_magnitude(nest->strides[1][best]))) {
            best = i;
        }
    }
    return best;
}

static void add_loop(tnri_copy_plan *plan, int axis, int64_t step, int64_t count)
{
    if (count > 1) {
        plan->loop[plan->loops++] = (tnri_copy_loop){axis, step, count};
        plan->blocks *= count;
    }
}

/* So many steps of `step` bytes that they reach `bytes`, in whole cache lines where a line has several. */
static int64_t steps_for(int64_t bytes, int64_t step)
{
    return step >= bytes ? 1 : step >= 64 ? tnri_quotient_up(bytes, step) : tnri_quotient_up(bytes, 64) * (64 / step);
}

/* The greatest multiple of what fills a cache line that is no more than `steps`, if that is any. */
static int64_t whole_lines(int64_t steps, int64_t step)
{
    const int64_t line = step > 0 && step < 64 ? 64 / step : 1;
    return steps >= line ? steps - steps % line : steps;
}

/* Blocks that are put together in whole lines. `dense` axes of the target follow on each other. */
static void plan_lines(tnri_copy_plan *plan, int dense)
{
    const tnri_nest *nest = &plan->nest;
    int64_t inner = INT64_C(1) << plan->shift; /* bytes of one step along the cut axis */
    int cut = 0;
    while (cut + 1 < dense && inner * nest->shape[cut] < RUN_BYTES / 2) {
        inner *= nest->shape[cut];
        ++cut;
    }
    const int nearest = nearest_axis(nest, 0, nest->rank);
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): shift is 0 to 4, and extents are not 0 */
    int64_t length = most(1, RUN_BYTES / inner);
    int across = nearest;
    if (nearest <= cut) { /* whole lines of the source are in the run; neighbours across it may share a page */
        if (nearest == cut) {
            length = most(length, steps_for(SPAN_BYTES, (int64_t)tnri_magnitude(nest->strides[1][cut])));
        }
        across = nearest_axis(nest, cut + 1, nest->rank);
        if (across >= 0 && tnri_magnitude(nest->strides[1][across]) > 4096) {
            across = -1;
        }
    }
    plan->cut = cut;
    plan->cut_block = least(nest->shape[cut], least(length, (TNRI_COPY_BUFFER - 512) / inner));
    plan->across = across;
    plan->across_block = 1;
    if (across >= 0) {
        const int64_t run = inner * plan->cut_block;
        const int64_t step = (int64_t)tnri_magnitude(nest->strides[1][across]);
        plan->pitch = ((run + 63) & ~INT64_C(63)) + 128 + (nest->strides[0][across] & 63);
        const int64_t fits = most(1, whole_lines((TNRI_COPY_BUFFER - 128) / plan->pitch, step));
        plan->across_block = least(nest->shape[across], least(fits, steps_for(SPAN_BYTES, step)));
    }
    plan->columns = nearest_axis(nest, 1, cut + 1);
    if (across >= 0 && (plan->columns < 0 ||
                        tnri_magnitude(nest->strides[1][across]) <= tnri_magnitude(nest->strides[1][plan->columns]))) {
        plan->columns = across;
    }
}

/* Are all runs of so many bytes, from the first on and at the target's steps beyond `cut`, made of whole, aligned lines? */
static bool is_aligned(const tnri_copy_plan *plan, int cut, int64_t run)
{
    const tnri_nest *nest = &plan->nest;
    uintptr_t all = (uintptr_t)nest->data[0] | (uintptr_t)run;
    for (int i = cut + 1; i < nest->rank; ++i) {
        all |= (uintptr_t)nest->strides[0][i];
    }
    return (all & 63) == 0;
}

/*
 * Loops for whole lines past the caches: reading goes along the source, where the machine's own prefetching helps, through
 * so many lines of the target as address translation remembers; then along the target's run.
 */
static void source_order(tnri_copy_plan *plan)
{
    const tnri_nest *nest = &plan->nest;
    bool done[TNR_MAX_RANK] = {false};
    int64_t rows = plan->across_block;
    bool cut_done = false;
    for (int i = 0; i <= plan->cut; ++i) {
        done[i] = true;
    }
    for (int n = plan->cut + 1; n < nest->rank; ++n) {
        int axis = -1;
        for (int i = plan->cut + 1; i < nest->rank; ++i) {
            if (!done[i] &&
                (axis < 0 || tnri_magnitude(nest->strides[1][i]) < tnri_magnitude(nest->strides[1][axis]))) {
                axis = i;
            }
        }
        done[axis] = true;
        const int64_t step = axis == plan->across ? plan->across_block : axis == plan->second ? plan->again : 1;
        const int64_t count = tnri_quotient_up(nest->shape[axis], step);
        if (!cut_done && rows * count > BAND_ROWS) {
            const int64_t band = axis == plan->across ? most(1, BAND_ROWS / rows) : 1;
            add_loop(plan, axis, step, least(band, count));
            add_loop(plan, plan->cut, plan->cut_block, tnri_quotient_up(nest->shape[plan->cut], plan->cut_block));
            add_loop(plan, axis, step * band, tnri_quotient_up(count, band));
            cut_done = true;
        } else {
            add_loop(plan, axis, step, count);
            rows *= count;
        }
    }
    if (!cut_done) {
        add_loop(plan, plan->cut, plan->cut_block, tnri_quotient_up(nest->shape[plan->cut], plan->cut_block));
    }
}

/* Loops for blocks that share lines with the next one along the run: that comes first. */
static void target_order(tnri_copy_plan *plan)
{
    const tnri_nest *nest = &plan->nest;
    add_loop(plan, plan->cut, plan->cut_block, tnri_quotient_up(nest->shape[plan->cut], plan->cut_block));
    for (int i = plan->cut + 1; i < nest->rank; ++i) {
        const int64_t step = i == plan->across ? plan->across_block : 1;
        add_loop(plan, i, step, tnri_quotient_up(nest->shape[i], step));
    }
}

/*
 * Are lines of the target better written several at a time? Measured, single lines are as fast where they are spread evenly,
 * and slower where source or target steps by multiples of 512 bytes from line to line, for these fall on each other in
 * caches and memory; and where whole pieces of the source are near anyway.
 */
static bool wants_blocks(const tnri_nest *nest, int nearest)
{
    const int64_t row = (int64_t)tnri_magnitude(nest->strides[1][0]);
    const int64_t column = nest->strides[0][nearest];
    return row <= UNEVEN || (column >= UNEVEN && (row % UNEVEN == 0 || column % UNEVEN == 0));
}

/* The target's part of a block: axes 0 .. cut, as many bytes as are worth the way. False when lines are shared. */
static bool plan_block_run(tnri_copy_plan *plan, int dense, int nearest, int64_t most_run)
{
    const tnri_nest *nest = &plan->nest;
    int64_t inner = INT64_C(1) << plan->shift; /* bytes of one step along the cut axis */
    int64_t segments = 1;                      /* and stretches of axis 0 */
    int cut = 0;
    while (cut + 1 < dense && cut + 1 != nearest && inner * nest->shape[cut] <= most_run / 2 &&
           (cut == 0 || segments * nest->shape[cut] <= TNRI_COPY_SEGMENTS / 2)) {
        inner *= nest->shape[cut];
        segments *= cut == 0 ? 1 : nest->shape[cut];
        ++cut;
    }
    const int64_t extent = nest->shape[cut];
    const int64_t unit = (inner & 63) == 0 ? 1 : 64 >> tnri_lowest_bit((uint64_t)inner); /* steps to whole lines */
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): shift is 0 to 4, and extents are not 0 */
    int64_t steps = most_run / inner;
    steps = cut > 0 ? least(steps, TNRI_COPY_SEGMENTS / segments) : steps;
    steps -= steps % unit;
    if (steps == 0 || !is_aligned(plan, cut, inner * extent)) {
        return false;
    }
    if (extent > steps) { /* parts of about the same length */
        steps = tnri_quotient_up(tnri_quotient_up(extent, tnri_quotient_up(extent, steps)), unit) * unit;
    }
    plan->cut = cut;
    plan->cut_block = least(extent, steps);
    plan->pitch = inner * plan->cut_block + 64; /* rows at powers of two would share their places in the cache */
    return true;
}

/* The source's part: along `across`, and where that is short and the source goes on, some of the next axis. */
static void plan_block_across(tnri_copy_plan *plan, int64_t step, int64_t whole)
{
    const tnri_nest *nest = &plan->nest;
    const int64_t extent = nest->shape[plan->across];
    const int64_t bytes = extent * step;
    if (bytes > BLOCK_SPAN) {
        const int64_t parts = tnri_quotient_up(bytes, BLOCK_SPAN / 2);
        plan->across_block = least(extent, tnri_quotient_up(tnri_quotient_up(extent, parts), whole) * whole);
        return;
    }
    plan->across_block = extent;
    for (int i = plan->cut + 1; i < nest->rank && whole > 1; ++i) {
        for (int64_t n = 2; nest->strides[1][i] == bytes && n <= nest->shape[i] && n * bytes <= BLOCK_SPAN; ++n) {
            if (nest->shape[i] % n == 0) {
                plan->second = i;
                plan->again = n;
            }
        }
    }
}

/* Runs of whole lines of the target times a stretch of the source. False when runs do not begin and end with lines. */
static bool plan_blocks(tnri_copy_plan *plan, int dense)
{
    const tnri_nest *nest = &plan->nest;
    const int64_t width = INT64_C(1) << plan->shift;
    const bool transposed = nest->strides[1][0] != width;
    const int nearest = nearest_axis(nest, transposed ? 0 : 1, nest->rank);
    if (transposed && (nearest <= 0 || nest->strides[1][nearest] != width)) {
        return false;
    }
    plan->chunk = transposed ? 64 / width : CHUNK_ROWS;
    if (!plan_block_run(plan, dense, nearest, least(BLOCK_RUN, TNRI_COPY_BUFFER / plan->chunk - 64))) {
        return false;
    }
    plan->mode = TNRI_COPY_BLOCKS;
    plan->across = nearest > 0 ? nearest : -1;
    plan->across_block = 1;
    if (nearest > 0) {
        plan_block_across(plan, transposed ? width : nest->shape[0] * width, transposed ? 64 / width : 1);
    }
    return true;
}

static void plan_runs(tnri_copy_plan *plan)
{
    const tnri_nest *nest = &plan->nest;
    const int64_t width = INT64_C(1) << plan->shift;
    plan->mode = TNRI_COPY_RUNS;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): shift is 0 to 4 */
    plan->cut_block = least(nest->shape[0], MOST_RUN / width);
    plan->across = nearest_axis(nest, 1, nest->rank);
    plan->across_block =
        plan->across > 0 ? least(nest->shape[plan->across], most(1, 8192 / (plan->cut_block * width))) : 1;
}

static void plan_tiles(tnri_copy_plan *plan, int nearest)
{
    const tnri_nest *nest = &plan->nest;
    const int64_t width = INT64_C(1) << plan->shift;
    plan->mode = TNRI_COPY_TILES;
    plan->cut_block = least(nest->shape[0], TILE_LINES * 64 / width);
    plan->across = nearest;
    const int64_t fits = TNRI_COPY_BUFFER / (plan->cut_block * width);
    plan->across_block = least(nest->shape[nearest], least(fits, FETCH_BYTES / width));
    plan->ahead = most(1, FETCH_BYTES / (plan->across_block * width));
}

static void plan_streams(tnri_copy_plan *plan, int dense)
{
    const tnri_nest *nest = &plan->nest;
    const int64_t width = INT64_C(1) << plan->shift;
    const int64_t row = nest->shape[0] * width;
    const int nearest = nearest_axis(nest, 0, nest->rank);
    const bool aligned = is_aligned(plan, 0, row);
    if (nest->strides[1][0] == width && (row >= LONG_RUN || (aligned && row >= SHORT_RUN))) {
        plan_runs(plan);
    } else if (aligned && nearest > 0 && nest->strides[1][nearest] == width && !wants_blocks(nest, nearest)) {
        plan_tiles(plan, nearest);
    } else if (!plan_blocks(plan, dense)) {
        plan->mode = TNRI_COPY_LINES;
        plan_lines(plan, dense);
        target_order(plan);
        return;
    }
    source_order(plan);
}

/* Blocks that are planes: the target's nearest axis against the source's. */
static void plan_plain(tnri_copy_plan *plan)
{
    plan->mode = TNRI_COPY_PLAIN;
    const tnri_nest *nest = &plan->nest;
    const int nearest = nearest_axis(nest, 0, nest->rank);
    plan->across = nearest > 0 ? nearest : nest->rank > 1 ? 1 : -1;
    plan->cut_block = least(nest->shape[0], INT64_C(16384) >> plan->shift);
    plan->across_block = plan->across > 0 ? least(nest->shape[plan->across], nearest > 0 ? 128 : 64) : 1;
    target_order(plan);
}

void tnri_copy_plan_make(tnri_copy_plan *plan, const tnri_copy_kernels *kernels, bool streams, size_t element_bytes,
                         int rank, const int64_t *shape, void *target, const int64_t *target_strides,
                         const void *source, const int64_t *source_strides)
{
    const tnri_nest_operand operands[2] = {{target, target_strides, element_bytes},
                                           {source, source_strides, element_bytes}};
    tnri_nest *nest = &plan->nest;
    plan->kernels = kernels;
    plan->blocks = 0;
    plan->bytes = 0;
    plan->loops = 0;
    if (!tnri_nest_make(nest, rank, shape, 2, operands)) {
        return;
    }
    plan->shift = (int)tnri_lowest_bit(element_bytes);
    plan->blocks = 1;
    plan->ahead = 0;
    plan->pitch = 0;
    plan->cut = 0;
    plan->columns = -1;
    plan->second = -1;
    plan->again = 1;
    int64_t run = (int64_t)element_bytes; /* bytes of the target without a gap */
    int dense = 0;
    while (dense < nest->rank && nest->strides[0][dense] == run) {
        run *= nest->shape[dense];
        ++dense;
    }
    plan->bytes = (uint64_t)run;
    for (int i = dense; i < nest->rank; ++i) {
        plan->bytes *= (uint64_t)nest->shape[i];
    }
    if (streams && run >= LEAST_RUN) {
        plan_streams(plan, dense);
    } else {
        plan_plain(plan);
    }
}
