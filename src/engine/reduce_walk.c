/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From axes and strides to rows, columns and tiles (kernels/reduce_kernels.h), and the work over several lanes.
 *
 * Guarantees: how the terms of an output are grouped follows from shape and strides of the source; the number of lanes
 * decides only who does which part of it. Nothing is allocated: partial results lie on the stack, PARTIAL_BYTES at a time.
 */
#include "reduce_internal.h"

/* Terms of an output that lie side by side, up to so many, are taken as rows of a strip over the outputs instead. */
#define SHORT_LINE 16

/* Outputs that are worth a lane's while side by side: neighbouring cache lines, in bytes. */
#define STRIP_GRAIN 512

/* Units or blocks per lane, so that lanes that are late do not keep the others waiting long. */
#define PIECES_PER_LANE 4

/* Whole rows of a line that may be a term of a strip: with more of them the error would be more than that of one tree. */
#define INNER_ROWS 8

/* Least tiles of a block: less is not worth the second step. */
#define LEAST_BLOCK 8

/* ---- Units ---------------------------------------------------------------------------------------------------------------- */

void tnri_reduce_cut(tnri_reduce_units *units, int64_t grain, int64_t wanted)
{
    int64_t others = 1;
    for (int i = 1; i < units->kept.rank; ++i) {
        others *= units->kept.shape[i];
    }
    const int64_t extent = units->kept.shape[0];
    const int64_t pieces = tnri_quotient_up(wanted, others);
    int64_t run = tnri_quotient_up(extent, pieces);
    run = tnri_quotient_up(run, grain) * grain;
    units->run = run < extent ? run : extent;
    units->runs = tnri_quotient_up(extent, units->run);
    units->count = units->runs * others;
}

tnri_reduce_unit tnri_reduce_unit_at(const tnri_reduce_units *units, int64_t number)
{
    const tnri_nest *kept = &units->kept;
    const int64_t begin = number % units->runs * units->run;
    int64_t rest = number / units->runs;
    const char *a = kept->data[0] + begin * kept->strides[0][0];
    char *out = kept->data[1] + begin * kept->strides[1][0];
    for (int i = 1; i < kept->rank; ++i) {
        const int64_t at = rest % kept->shape[i];
        rest /= kept->shape[i];
        a += at * kept->strides[0][i];
        out += at * kept->strides[1][i];
    }
    const int64_t left = kept->shape[0] - begin;
    return (tnri_reduce_unit){a, out, left < units->run ? left : units->run};
}

void tnri_reduce_still_last(tnri_nest *nest)
{
    int moving = 0;
    for (int i = 0; i < nest->rank; ++i) {
        if (nest->strides[0][i] != 0) {
            for (int k = i; k > moving; --k) {
                tnri_nest_exchange(nest, k, k - 1);
            }
            ++moving;
        }
    }
}

/* In cache about 64 bytes a nanosecond, beyond it 20; small elements are dearer. */
uint64_t tnri_reduce_time(const tnr_engine *engine, int64_t terms, size_t width)
{
    const uint64_t count = (uint64_t)terms;
    const uint64_t bytes = count < UINT64_MAX / 16 ? count * width : UINT64_MAX;
    return bytes <= engine->l2_bytes ? bytes / 64 : bytes / 20;
}

/* ---- From axes to rows ------------------------------------------------------------------------------------------------------ */

typedef struct job {
    const tnri_reducer *reducer;
    tnri_reduction reduction;
    tnri_reduction inner; /* what reduction.inner may be */
    tnri_reduce_units units;
    int64_t pieces;
    /* Blocks of tiles (second way): unit number `begin` + piece / blocks, block piece % blocks. */
    int64_t begin;
    int64_t blocks;
    int64_t block_tiles;
    int64_t pitch;
    char *partials;
} job;

static void take_axis(tnri_nest *kept, const tnri_nest *nest, int axis)
{
    kept->shape[kept->rank] = nest->shape[axis];
    kept->strides[0][kept->rank] = nest->strides[0][axis];
    kept->strides[1][kept->rank] = nest->strides[1][axis];
    ++kept->rank;
}

/* Tiles in all, and what follows from their number. */
static void count_tiles(tnri_reduction *r, int64_t width)
{
    r->line_tiles = tnri_quotient_up(r->shape[0], TILE_ROWS);
    r->tiles = r->line_tiles;
    for (int i = 1; i < r->rank; ++i) {
        r->tiles *= r->shape[i];
    }
    const int64_t levels = r->tiles == 1 ? 1 : 2 + (int64_t)tnri_highest_bit((uint64_t)r->tiles);
    r->strip = PARTIAL_BYTES / levels / width;
    if (r->strip > STRIP_GRAIN / width) {
        r->strip = r->strip / (STRIP_GRAIN / width) * (STRIP_GRAIN / width);
    }
}

/* The innermost axis goes: rows are parts of it, or, where it is short, all of it. */
static void make_lines(tnri_reduction *r, int64_t width)
{
    const int64_t whole = ROW_BYTES / width;
    const int64_t extent = r->shape[0];
    r->lines = true;
    r->across = r->strides[0];
    if (extent >= whole) {
        r->columns = whole;
        r->shape[0] = extent / whole;
        r->strides[0] *= whole;
        r->tail = extent % whole;
        return;
    }
    r->columns = extent;
    r->short_line = r->rank == 1;
    --r->rank;
    for (int i = 0; i < r->rank; ++i) {
        r->shape[i] = r->shape[i + 1];
        r->strides[i] = r->strides[i + 1];
    }
    if (r->rank == 0) {
        r->rank = 1;
        r->shape[0] = 1;
        r->strides[0] = 0;
    }
}

/*
 * Few outputs side by side, and rows that lie end to end: several rows are one, in which the outputs take turns. False where
 * that is not so.
 */
static bool make_turns(tnri_reduction *r, const tnri_nest *kept, int64_t width)
{
    const int64_t outputs = kept->shape[0];
    const int64_t together = ROW_BYTES / width / outputs;
    if (r->across != width || r->strides[0] != outputs * width || together < 2 || r->shape[0] < 2 * together) {
        return false;
    }
    r->lines = true;
    r->group = outputs;
    r->columns = together * outputs;
    r->tail = r->shape[0] % together * outputs;
    r->shape[0] /= together;
    r->strides[0] *= together;
    return true;
}

/*
 * A short line goes, and another axis outside of the outputs: going through all of the lines of one output first would visit
 * memory in small pieces far apart. So lines are terms, and the outputs a strip. False where that is not so.
 */
static bool make_lines_of_strips(job *j, int64_t width)
{
    tnri_reduction *r = &j->reduction;
    const tnri_nest *kept = &j->units.kept;
    if (r->rank < 2 || kept->strides[0][0] >= r->strides[1] || r->shape[0] * width >= (INNER_ROWS + 1) * ROW_BYTES) {
        return false;
    }
    tnri_reduction *inner = &j->inner;
    *inner = *r;
    inner->rank = 1;
    make_lines(inner, width);
    count_tiles(inner, width);
    --r->rank;
    for (int i = 0; i < r->rank; ++i) {
        r->shape[i] = r->shape[i + 1];
        r->strides[i] = r->strides[i + 1];
    }
    r->lines = false;
    r->across = kept->strides[0][0];
    r->inner = inner;
    return true;
}

static bool arrange(job *j, const tnr_view *a, const int64_t *spread, const char *source, char *target,
                    size_t out_width)
{
    const int64_t width = (int64_t)tnr_dtype_size(a->dtype);
    const tnri_nest_operand list[2] = {{source, a->strides, (size_t)width}, {target, spread, out_width}};
    tnri_nest nest;
    if (!tnri_nest_make(&nest, a->rank, a->shape, 2, list)) {
        return false;
    }
    tnri_reduce_still_last(&nest);
    tnri_nest *kept = &j->units.kept;
    kept->rank = 0;
    kept->count = 2;
    kept->data[0] = nest.data[0];
    kept->data[1] = nest.data[1];
    tnri_reduction *r = &j->reduction;
    r->rank = 0;
    r->tail = 0;
    r->columns = 0;
    r->group = 1;
    r->short_line = false;
    r->inner = NULL;
    r->scale = 0.0;
    r->terms = j->reducer->terms;
    const bool goes = nest.strides[1][0] == 0;
    for (int i = 0; i < nest.rank; ++i) {
        if (nest.strides[1][i] == 0) {
            r->shape[r->rank] = nest.shape[i];
            r->strides[r->rank] = nest.strides[0][i];
            ++r->rank;
        } else {
            take_axis(kept, &nest, i);
        }
    }
    for (int i = 0; i < kept->rank; ++i) {
        kept->index[i] = 0;
    }
    if (r->rank == 0) { /* only axes of extent 1 go */
        r->rank = 1;
        r->shape[0] = 1;
        r->strides[0] = 0;
    }
    if (kept->rank == 0 || (goes && r->shape[0] > SHORT_LINE)) {
        if (kept->rank == 0 || !make_lines_of_strips(j, width)) {
            make_lines(r, width);
        }
    } else {
        r->lines = false;
        r->across = kept->strides[0][0];
        (void)make_turns(r, kept, width);
    }
    if (kept->rank == 0) {
        kept->rank = 1;
        kept->shape[0] = 1;
        kept->strides[0][0] = 0;
        kept->strides[1][0] = 0;
        kept->index[0] = 0;
    }
    count_tiles(r, width);
    return true;
}

/* ---- The work --------------------------------------------------------------------------------------------------------------- */

#if TNRI_THREADS

static void do_units(void *context, int64_t piece)
{
    const job *j = context;
    const tnri_nest *kept = &j->units.kept;
    const int64_t end = (piece + 1) * j->units.count / j->pieces;
    for (int64_t u = piece * j->units.count / j->pieces; u < end; ++u) {
        const tnri_reduce_unit unit = tnri_reduce_unit_at(&j->units, u);
        j->reducer->outputs(&j->reduction, unit.out, kept->strides[1][0], unit.a, kept->strides[0][0], unit.outputs);
    }
}

static void do_block(void *context, int64_t piece)
{
    const job *j = context;
    const tnri_reduction *r = &j->reduction;
    const tnri_reduce_unit unit = tnri_reduce_unit_at(&j->units, j->begin + piece / j->blocks);
    const int64_t first = piece % j->blocks * j->block_tiles;
    const int64_t left = r->tiles - first;
    j->reducer->partial(r, unit.a, r->lines ? r->columns : unit.outputs, first,
                        left < j->block_tiles ? left : j->block_tiles, j->partials + piece * j->pitch);
}

/*
 * Few outputs of many terms: cut the terms into blocks, subtrees of 2^k tiles; then join what came of them. Some units at a
 * time, as many as partial results fit.
 */
static TNRI_NOINLINE void walk_blocks(tnr_engine *engine, int lanes, const job *whole, int64_t width, int64_t wanted)
{
    job j = *whole;
    _Alignas(64) char partials[PARTIAL_BYTES];
    const tnri_reduction *r = &j.reduction;
    const int64_t columns = r->lines ? r->columns : j.units.run;
    j.partials = partials;
    j.pitch = tnri_quotient_up(columns * width, 64) * 64;
    const int64_t most = PARTIAL_BYTES / j.pitch;
    const int64_t blocks = tnri_quotient_up(wanted, j.units.count);
    j.block_tiles = LEAST_BLOCK;
    while (tnri_quotient_up(r->tiles, j.block_tiles) > (blocks < most ? blocks : most)) {
        j.block_tiles *= 2;
    }
    j.blocks = tnri_quotient_up(r->tiles, j.block_tiles);
    const int64_t together = most / j.blocks;
    const tnri_nest *kept = &j.units.kept;
    for (j.begin = 0; j.begin < j.units.count; j.begin += together) {
        const int64_t left = j.units.count - j.begin;
        const int64_t units = left < together ? left : together;
        tnri_engine_run(engine, lanes, units * j.blocks, do_block, &j);
        for (int64_t u = 0; u < units; ++u) {
            const tnri_reduce_unit unit = tnri_reduce_unit_at(&j.units, j.begin + u);
            j.reducer->merge(r, unit.out, kept->strides[1][0], unit.a, kept->strides[0][0], unit.outputs,
                             partials + u * j.blocks * j.pitch, j.blocks, j.pitch);
        }
    }
}

/* On several lanes: units, or, where they are few, blocks of tiles. */
static void walk_lanes(tnr_engine *engine, int lanes, job *j, int64_t width)
{
    const tnri_reduction *r = &j->reduction;
    const int64_t wanted = (int64_t)lanes * PIECES_PER_LANE;
    const int64_t grain = r->lines ? r->group : tnri_quotient_up(STRIP_GRAIN, width);
    tnri_reduce_cut(&j->units, grain, wanted);
    if (j->units.count >= wanted / 2 || r->tiles < 2 * LEAST_BLOCK || j->reducer->partial == NULL) {
        j->pieces = j->units.count < wanted ? j->units.count : wanted;
        tnri_engine_run(engine, lanes, j->pieces, do_units, j);
        return;
    }
    if (r->lines) { /* one line a unit */
        tnri_reduce_cut(&j->units, r->group, INT64_MAX);
    }
    walk_blocks(engine, lanes, j, width, wanted);
}

static int64_t terms_of(const tnr_view *a)
{
    int64_t terms = 1;
    for (int i = 0; i < a->rank; ++i) {
        terms *= a->shape[i];
    }
    return terms;
}

#endif

void tnri_reduce_walk(tnr_engine *engine, int lanes, const tnri_reducer *reducer, const tnr_view *a,
                      const int64_t *spread, const char *source, char *target, size_t out_width)
{
    job j;
    j.reducer = reducer;
    if (!arrange(&j, a, spread, source, target, out_width)) {
        return;
    }
    const tnri_reduction *r = &j.reduction;
    tnri_nest *kept = &j.units.kept;
#if TNRI_THREADS
    const int64_t width = (int64_t)tnr_dtype_size(a->dtype);
    if (lanes == 0) {
        lanes = tnri_engine_lanes(engine, tnri_reduce_time(engine, terms_of(a), (size_t)width));
    }
    if (lanes > 1) {
        walk_lanes(engine, lanes, &j, width);
        return;
    }
#else
    (void)engine;
    (void)lanes;
#endif
    do {
        reducer->outputs(r, kept->data[1], kept->strides[1][0], kept->data[0], kept->strides[0][0], kept->shape[0]);
    } while (tnri_nest_step(kept, 1));
}
