/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of an elementwise kernel over its operands: order, tiles, streaming, lanes.
 *
 * Axes are merged and put in the output's order (nest.c), and a kernel gets two of them at a time: so short runs do not cost
 * a call each. Where an input has its neighbours along another axis than the output, that axis is the second, and large
 * planes are walked in tiles, of which such an input is first brought into the output's order.
 *
 * Work that takes long enough is cut along its longest axis, a run at cache lines of the output. Elements do not depend on
 * each other, so how it is cut changes no result.
 *
 * An output that the caches would not hold is written past them: without that, each of its lines is first read.
 */
#include "../storage/stream.h"
#include "elementwise_internal.h"
#include "fp_control_internal.h"

#define SHORT_RUN 8     /* below this many elements, runs are better walked across */
#define STRIP_LINES 256 /* so many lines at a time then: their cache lines are met again for each element of the run */
#define CACHE_LINE 64   /* bytes; elements closer than this share one */
#if TNRI_SMALL
#define TILE_BYTES 512 /* of one input in a tile */
#else
#define TILE_BYTES 8192
#endif
#define TILE_RUN 32         /* elements of a run in a tile */
#define UNTILED_BYTES 65536 /* planes up to this stay in the cache as they are */
#define STREAM_BLOCK 1024   /* bytes made in the cache and then streamed, where the kernel does not stream itself */
#define STREAM_RUN 1024     /* bytes of a run from which on its ends are worth doing apart */
#define PIECES 4            /* per lane: what a lane that is held up leaves, others take */
#define PIECE_BYTES 16384   /* of the output, at least */

typedef struct walk {
    tnri_plane_kernel kernel;
    tnri_run_scan scan; /* instead of a kernel */
    atomic_bool found;  /* by the scan */
    bool takes_stream;
    bool stream;
    int64_t width[1 + TNRI_CALL_INPUTS];
    tnri_nest nest;
    int axis;      /* along which it is cut */
    int64_t first; /* extent of the first piece */
    int64_t each;  /* and of the others; the last may have less */
} walk;

/* ---- Planes ------------------------------------------------------------------------------------------------------------------- */

static bool lies_across(int64_t step, int64_t jump)
{
    return tnri_magnitude(step) >= CACHE_LINE && jump != 0 && tnri_magnitude(jump) < CACHE_LINE;
}

/* Axis along which an input has its neighbours, when it has none along axis 0; 0: there is no such input. */
static int tiled_axis(const tnri_nest *nest)
{
    for (int k = 1; k < nest->count; ++k) {
        for (int i = 1; i < nest->rank; ++i) {
            if (lies_across(nest->strides[k][0], nest->strides[k][i])) {
                return i;
            }
        }
    }
    return 0;
}

/* The part of a plane that begins at element i of line j. */
static tnri_plane part_of(const tnri_plane *p, int64_t i, int64_t count, int64_t j, int64_t lines)
{
    tnri_plane part = *p;
    for (int k = 0; k < p->operands; ++k) {
        part.data[k] += i * p->step[k] + j * p->jump[k];
    }
    part.count = count;
    part.lines = lines;
    return part;
}

static bool on_cache_line(const void *data) { return (uintptr_t)data % CACHE_LINE == 0; }

static bool lines_on_cache_lines(const tnri_plane *p)
{
    return on_cache_line(p->data[0]) && (p->lines == 1 || p->jump[0] % CACHE_LINE == 0);
}

/* Bring an input of a tile into the output's order. */
static void straighten(tnri_plane *tile, int k, int64_t width, char *buffer)
{
    const int64_t shape[2] = {tile->count, tile->lines};
    const int64_t to[2] = {1, tile->count};
    const int64_t from[2] = {tile->step[k] / width, tile->jump[k] / width};
    tnri_copy_elements((size_t)width, 2, shape, buffer, to, tile->data[k], from);
    tile->data[k] = buffer;
    tile->step[k] = width;
    tile->jump[k] = tile->count * width;
}

static TNRI_NOINLINE void run_tiles(const walk *work, const tnri_plane *p)
{
    _Alignas(64) char buffers[TNRI_CALL_INPUTS][TILE_BYTES];
    int64_t widest = 1;
    for (int k = 1; k < p->operands; ++k) {
        widest = work->width[k] > widest ? work->width[k] : widest;
    }
    const int64_t lines = TILE_BYTES / TILE_RUN / widest;
    const bool stream =
        work->stream && work->takes_stream && lines_on_cache_lines(p) && TILE_RUN * work->width[0] % CACHE_LINE == 0;
    for (int64_t i = 0; i < p->count; i += TILE_RUN) {
        const int64_t count = p->count - i < TILE_RUN ? p->count - i : TILE_RUN;
        for (int64_t j = 0; j < p->lines; j += lines) {
            tnri_plane tile = part_of(p, i, count, j, p->lines - j < lines ? p->lines - j : lines);
            tile.stream = stream;
            for (int k = 1; k < p->operands; ++k) {
                if (lies_across(p->step[k], p->jump[k])) {
                    straighten(&tile, k, work->width[k], buffers[k - 1]);
                }
            }
            work->kernel(&tile);
        }
    }
}

static void run_across(tnri_plane_kernel kernel, const tnri_plane *p)
{
    tnri_plane turned = *p;
    for (int k = 0; k < p->operands; ++k) {
        turned.step[k] = p->jump[k];
        turned.jump[k] = p->step[k];
    }
    for (int64_t j = 0; j < p->lines; j += STRIP_LINES) {
        const tnri_plane strip =
            part_of(&turned, j, p->lines - j < STRIP_LINES ? p->lines - j : STRIP_LINES, 0, p->count);
        kernel(&strip);
    }
}

/* A run that begins on a cache line, by a kernel that does not stream: made block by block, and streamed from there. */
static TNRI_NOINLINE void stream_blocks(const walk *work, const tnri_plane *p)
{
    _Alignas(64) char block[STREAM_BLOCK];
    const int64_t width = work->width[0];
    const int64_t step = STREAM_BLOCK / width;
    int64_t i = 0;
    for (; p->count - i >= step; i += step) {
        tnri_plane part = part_of(p, i, step, 0, 1);
        char *to = part.data[0];
        part.data[0] = block;
        work->kernel(&part);
        for (int64_t byte = 0; byte < STREAM_BLOCK; byte += TNRI_STREAM_BYTES) {
            tnri_stream_block(to + byte, block + byte);
        }
    }
    if (i < p->count) {
        const tnri_plane rest = part_of(p, i, p->count - i, 0, 1);
        work->kernel(&rest);
    }
}

/* Lines one by one, each from its first cache line on past the caches. */
static TNRI_NOINLINE void run_streams(const walk *work, const tnri_plane *p)
{
    const int64_t width = work->width[0];
    if (work->takes_stream && lines_on_cache_lines(p)) {
        tnri_plane all = *p;
        all.stream = true;
        work->kernel(&all);
        return;
    }
    for (int64_t j = 0; j < p->lines; ++j) {
        const int64_t before = (int64_t)((0U - (uintptr_t)(p->data[0] + j * p->jump[0])) % CACHE_LINE);
        const int64_t head =
            before % width == 0 ? before / width : p->count; /* pairs of doubles may never meet a line */
        if (head > 0) {
            const tnri_plane part = part_of(p, 0, head < p->count ? head : p->count, j, 1);
            work->kernel(&part);
        }
        if (head < p->count) {
            tnri_plane body = part_of(p, head, p->count - head, j, 1);
            if (work->takes_stream) {
                body.stream = true;
                work->kernel(&body);
            } else {
                stream_blocks(work, &body);
            }
        }
    }
}

/* ---- Nests -------------------------------------------------------------------------------------------------------------------- */

static void walk_nest(const walk *work, tnri_nest *nest)
{
    const int tiled = tiled_axis(nest);
    if (tiled > 1) {
        tnri_nest_exchange(nest, 1, tiled);
    }
    const int64_t width = work->width[0];
    tnri_plane p = {.operands = nest->count, .count = nest->shape[0], .lines = nest->rank > 1 ? nest->shape[1] : 1};
    for (int k = 0; k < nest->count; ++k) {
        p.step[k] = nest->strides[k][0];
        p.jump[k] = nest->rank > 1 ? nest->strides[k][1] : 0;
    }
    const bool across = p.count < SHORT_RUN && p.lines >= 2 * SHORT_RUN;
    const bool tiles = tiled != 0 && p.count > UNTILED_BYTES / width / p.lines;
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the width of a dtype is not 0 */
    const bool streams = work->stream && p.step[0] == width && p.count >= STREAM_RUN / width;
    do {
        for (int k = 0; k < nest->count; ++k) {
            p.data[k] = nest->data[k];
        }
        if (across) {
            run_across(work->kernel, &p);
        } else if (tiles) {
            run_tiles(work, &p);
        } else if (streams) {
            run_streams(work, &p);
        } else {
            work->kernel(&p);
        }
    } while (tnri_nest_step(nest, 2));
    if (work->stream) {
        tnri_stream_fence();
    }
}

static bool scan_nest(tnri_run_scan scan, tnri_nest *nest)
{
    do {
        if (scan(nest->data[0], nest->strides[0][0], nest->shape[0]) >= 0) {
            return true;
        }
    } while (tnri_nest_step(nest, 1));
    return false;
}

/* ---- Lanes -------------------------------------------------------------------------------------------------------------------- */

static void run_piece(void *context, int64_t piece)
{
    walk *work = context;
    tnri_nest nest = work->nest;
    const int64_t begin = piece == 0 ? 0 : work->first + (piece - 1) * work->each;
    const int64_t extent = piece == 0 ? work->first : work->each;
    const int64_t left = nest.shape[work->axis] - begin;
    nest.shape[work->axis] = left < extent ? left : extent;
    for (int k = 0; k < nest.count; ++k) {
        nest.data[k] += begin * nest.strides[k][work->axis];
    }
    if (work->scan == NULL) {
        walk_nest(work, &nest);
    } else if (!atomic_load_explicit(&work->found, memory_order_relaxed) && scan_nest(work->scan, &nest)) {
        atomic_store_explicit(&work->found, true, memory_order_relaxed);
    }
}

/* Cut work->nest for so many lanes; the number of pieces. */
static int64_t cut(walk *work, int lanes, int64_t bytes)
{
    const tnri_nest *nest = &work->nest;
    int axis = nest->rank - 1; /* the outer one of two that are as long */
    for (int i = axis - 1; i >= 0; --i) {
        axis = nest->shape[i] > nest->shape[axis] ? i : axis;
    }
    int64_t pieces = (int64_t)lanes * PIECES;
    if (pieces > bytes / PIECE_BYTES) {
        pieces = bytes / PIECE_BYTES > lanes ? bytes / PIECE_BYTES : lanes;
    }
    const int64_t extent = nest->shape[axis];
    int64_t each = (extent - 1) / pieces + 1;
    int64_t first = each;
    if (axis == 0 && nest->strides[0][0] == work->width[0]) { /* no two lanes write one cache line */
        const int64_t unit = work->width[0] < CACHE_LINE ? CACHE_LINE / work->width[0] : 1;
        each = (each - 1) / unit * unit + unit;
        first = each + (int64_t)((0U - (uintptr_t)nest->data[0]) % CACHE_LINE) / work->width[0];
    }
    work->axis = axis;
    work->first = first < extent ? first : extent;
    work->each = each;
    return 1 + (extent - work->first + each - 1) / each;
}

static void run_work(tnr_engine *engine, walk *work, int lanes, int64_t out_bytes)
{
    if (lanes > 1) {
        tnri_engine_run(engine, lanes, cut(work, lanes, out_bytes), run_piece, work);
        return;
    }
    tnri_nest nest = work->nest;
    if (work->scan == NULL) {
        walk_nest(work, &nest);
    } else if (scan_nest(work->scan, &nest)) {
        atomic_store_explicit(&work->found, true, memory_order_relaxed);
    }
}

/* Nanoseconds that so many bytes take to come and go, by the nearest cache that holds them all; rough. */
static uint64_t moving_time(const tnr_engine *engine, uint64_t bytes)
{
    return bytes <= engine->l2_bytes ? bytes / 64 : bytes <= engine->l3_bytes ? bytes / 24 : bytes / 12;
}

static int64_t elements_of(const tnri_nest *nest)
{
    int64_t elements = 1;
    for (int i = 0; i < nest->rank; ++i) {
        elements *= nest->shape[i];
    }
    return elements;
}

/* Bytes of an operand that are looked at: axes on which it stands still do not count. */
static uint64_t bytes_of(const tnri_nest *nest, int k, int64_t width)
{
    uint64_t bytes = (uint64_t)width;
    for (int i = 0; i < nest->rank; ++i) {
        bytes *= nest->strides[k][i] != 0 ? (uint64_t)nest->shape[i] : 1U;
    }
    return bytes;
}

void tnri_elementwise_walk(tnr_engine *engine, const tnri_index_space *space, tnri_plane_kernel kernel,
                           const tnri_operation *op)
{
    walk work;
    if (!tnri_nest_make(&work.nest, space->rank, space->shape, space->operands, space->list)) {
        return;
    }
    work.kernel = kernel;
    work.scan = NULL;
    work.takes_stream = op->takes_stream;
    uint64_t bytes = 0;
    bool in_place = false; /* then its lines have been read by the time they are written */
    for (int k = 0; k < space->operands; ++k) {
        work.width[k] = (int64_t)space->list[k].element_bytes;
        const bool again = k > 0 && space->list[k].data == space->list[0].data;
        bytes += again ? 0U : bytes_of(&work.nest, k, work.width[k]);
        in_place = in_place || again;
    }
    work.stream = !in_place && tnri_engine_streams(engine, bytes);
    const int64_t elements = elements_of(&work.nest);
    const uint64_t arithmetic =
        (uint64_t)elements / 1000U * op->picoseconds + (uint64_t)elements % 1000U * op->picoseconds / 1000U;
    const int lanes = tnri_engine_lanes(engine, moving_time(engine, bytes) + arithmetic);
    if (TNRI_LIKELY(!op->to_nearest)) {
        run_work(engine, &work, lanes, elements * work.width[0]);
        return;
    }
    const tnri_fp_control before = tnri_fp_control_get(); /* workers take the caller's */
    tnri_fp_control_set(tnri_fp_control_nearest(before));
    run_work(engine, &work, lanes, elements * work.width[0]);
    tnri_fp_control_set(before);
}

bool tnri_elementwise_scan(tnr_engine *engine, int rank, const int64_t *shape, const tnri_nest_operand *operand,
                           tnri_run_scan scan)
{
    int64_t seen[TNR_MAX_RANK]; /* once is enough for elements that are met again and again */
    for (int i = 0; i < rank; ++i) {
        seen[i] = operand->strides[i] == 0 && shape[i] > 1 ? 1 : shape[i];
    }
    walk work;
    if (!tnri_nest_make(&work.nest, rank, seen, 1, operand)) {
        return false;
    }
    work.scan = scan;
    work.width[0] = (int64_t)operand->element_bytes;
    atomic_init(&work.found, false);
    const int64_t bytes = elements_of(&work.nest) * work.width[0];
    run_work(engine, &work, tnri_engine_lanes(engine, moving_time(engine, (uint64_t)bytes)), bytes);
    return atomic_load_explicit(&work.found, memory_order_relaxed);
}
