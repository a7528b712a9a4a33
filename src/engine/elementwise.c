/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elementwise operations: one driver, and a table of kernels per dtype.
 *
 * Guarantees: any layouts; a rank-0 operand meets every element of the other; in place where output and input are the same
 * elements. Axes are merged and put in the output's order, and a kernel gets two of them at a time: so short runs do not
 * cost a call each. Where an input has its neighbours along another axis than the output, that axis is the second, and
 * large planes are walked in tiles, of which such an input is first brought into the output's order.
 */
#include <math.h>

#include "engine_internal.h"

#if defined(__clang__) /* "independent" permits vector code; where the compiler sees no gain in it, that is no defect */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

/* Lines of runs: `count` elements `step` bytes apart, `lines` of them `jump` bytes apart; for the output and each input. */
typedef struct plane {
    int operands;
    char *data[1 + TNRI_CALL_INPUTS];
    int64_t count;
    int64_t step[1 + TNRI_CALL_INPUTS];
    int64_t lines;
    int64_t jump[1 + TNRI_CALL_INPUTS];
} plane;

#include "kernels/arithmetic.inl.h"

#define TEMPLATE "elementwise.tmpl.h"
#define DTYPES DTYPES_NUMBER
#include "kernels/each_dtype.inl.h"

typedef void (*plane_kernel)(const plane *p);

typedef struct operation {
    const char *name;
    plane_kernel kernels[TNR_DTYPE_END]; /* NULL: not defined for the dtype */
} operation;

/* exp is for floats only. */
static const operation op_add = {"add", NUMBER_TABLE(add)};
static const operation op_sub = {"sub", NUMBER_TABLE(sub)};
static const operation op_mul = {"mul", NUMBER_TABLE(mul)};
static const operation op_exp = {"exp", FLOAT_TABLE(exp)};

/* ---- Walking ------------------------------------------------------------------------------------------------------------------ */

#define SHORT_RUN 8     /* below this many elements, runs are better walked across */
#define STRIP_LINES 256 /* so many lines at a time then: their cache lines are met again for each element of the run */
#define NEIGHBOURS 64   /* bytes: elements closer than this share a cache line */
#define TILE_BYTES 8192 /* of one input in a tile */
#define TILE_RUN 32     /* elements of a run in a tile */
#define UNTILED_BYTES 65536 /* planes up to this stay in the cache as they are */

static int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

static bool lies_across(int64_t step, int64_t jump)
{
    return magnitude(step) >= NEIGHBOURS && jump != 0 && magnitude(jump) < NEIGHBOURS;
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
static plane part_of(const plane *p, int64_t i, int64_t count, int64_t j, int64_t lines)
{
    plane part = *p;
    for (int k = 0; k < p->operands; ++k) {
        part.data[k] += i * p->step[k] + j * p->jump[k];
    }
    part.count = count;
    part.lines = lines;
    return part;
}

/* Bring an input of a tile into the output's order. */
static void straighten(plane *tile, int k, size_t width, char *buffer)
{
    const int64_t element = (int64_t)width;
    const int64_t shape[2] = {tile->count, tile->lines};
    const int64_t to[2] = {1, tile->count};
    const int64_t from[2] = {tile->step[k] / element, tile->jump[k] / element};
    tnri_copy_elements(width, 2, shape, buffer, to, tile->data[k], from);
    tile->data[k] = buffer;
    tile->step[k] = element;
    tile->jump[k] = tile->count * element;
}

static TNRI_NOINLINE void run_tiles(plane_kernel kernel, const plane *p, size_t width)
{
    _Alignas(64) char buffers[TNRI_CALL_INPUTS][TILE_BYTES];
    const int64_t lines = TILE_BYTES / TILE_RUN / (int64_t)width;
    for (int64_t i = 0; i < p->count; i += TILE_RUN) {
        const int64_t count = p->count - i < TILE_RUN ? p->count - i : TILE_RUN;
        for (int64_t j = 0; j < p->lines; j += lines) {
            plane tile = part_of(p, i, count, j, p->lines - j < lines ? p->lines - j : lines);
            for (int k = 1; k < p->operands; ++k) {
                if (lies_across(p->step[k], p->jump[k])) {
                    straighten(&tile, k, width, buffers[k - 1]);
                }
            }
            kernel(&tile);
        }
    }
}

static void run_across(plane_kernel kernel, const plane *p)
{
    plane turned = *p;
    for (int k = 0; k < p->operands; ++k) {
        turned.step[k] = p->jump[k];
        turned.jump[k] = p->step[k];
    }
    for (int64_t j = 0; j < p->lines; j += STRIP_LINES) {
        const plane strip = part_of(&turned, j, p->lines - j < STRIP_LINES ? p->lines - j : STRIP_LINES, 0, p->count);
        kernel(&strip);
    }
}

static TNRI_NOINLINE void walk(plane_kernel kernel, const tnri_call *call, const int64_t *const *strides)
{
    const size_t width = tnr_dtype_size(call->dtype);
    tnri_nest_operand list[1 + TNRI_CALL_INPUTS];
    for (int k = 0; k <= call->inputs; ++k) {
        list[k] = (tnri_nest_operand){call->operands[k].data, strides[k], width};
    }
    tnri_nest nest;
    if (!tnri_nest_make(&nest, call->rank, call->shape, 1 + call->inputs, list)) {
        return;
    }
    const int tiled = tiled_axis(&nest);
    if (tiled > 1) {
        tnri_nest_exchange(&nest, 1, tiled);
    }
    plane p = {.operands = nest.count, .count = nest.shape[0], .lines = nest.rank > 1 ? nest.shape[1] : 1};
    for (int k = 0; k < nest.count; ++k) {
        p.step[k] = nest.strides[k][0];
        p.jump[k] = nest.rank > 1 ? nest.strides[k][1] : 0;
    }
    const bool across = p.count < SHORT_RUN && p.lines >= 2 * SHORT_RUN;
    const bool tiles = tiled != 0 && p.count > UNTILED_BYTES / (int64_t)width / p.lines;
    do {
        for (int k = 0; k < nest.count; ++k) {
            p.data[k] = nest.data[k];
        }
        if (across) {
            run_across(kernel, &p);
        } else if (tiles) {
            run_tiles(kernel, &p, width);
        } else {
            kernel(&p);
        }
    } while (tnri_nest_step(&nest, 2));
}

/* ---- The driver ----------------------------------------------------------------------------------------------------------------- */

static const int64_t still[TNR_MAX_RANK]; /* strides of an operand that is one element */

/* Are all operands compact, as most are, or one element? *count elements then. */
static inline bool is_one_run(const tnri_call *call, const int64_t *const *strides, int64_t *count)
{
    uint64_t expected = 1;
    for (int i = 0; i < call->rank; ++i) {
        if (call->shape[i] == 1) {
            continue;
        }
        for (int k = 0; k <= call->inputs; ++k) {
            if ((uint64_t)strides[k][i] != expected && strides[k] != still) {
                return false;
            }
        }
        expected *= (uint64_t)call->shape[i]; /* fits, or some extent is 0 and then so is this */
    }
    *count = (int64_t)expected;
    return true;
}

static inline __attribute__((always_inline)) void compute(const operation *op, const tnri_call *call)
{
    const plane_kernel kernel = op->kernels[call->dtype];
    const int64_t *strides[1 + TNRI_CALL_INPUTS];
    strides[0] = call->out->strides;
    for (int k = 1; k <= call->inputs; ++k) {
        const tnr_view *view = call->operands[k].view;
        strides[k] = view->rank == 0 ? still : view->strides;
    }
    plane p; /* one run: nothing to order or merge */
    p.operands = 1 + call->inputs;
    p.lines = 1;
    const int64_t width = (int64_t)tnr_dtype_size(call->dtype);
    if (call->rank == 1 && call->shape[0] > 1) {
        p.count = call->shape[0];
        for (int k = 0; k < p.operands; ++k) {
            p.step[k] = strides[k][0] * width;
        }
    } else if (is_one_run(call, strides, &p.count)) {
        for (int k = 0; k < p.operands; ++k) {
            p.step[k] = strides[k] == still ? 0 : width;
        }
    } else {
        walk(kernel, call, strides);
        return;
    }
    if (p.count == 0) {
        return;
    }
    for (int k = 0; k < p.operands; ++k) {
        p.data[k] = call->operands[k].data;
        p.jump[k] = 0;
    }
    kernel(&p);
}

/* `inputs`, 1 or 2, is a constant where this is inlined; `b` is not looked at when it is 1. */
static inline __attribute__((always_inline)) tnr_status inside(tnr_engine *engine, const operation *op, int inputs,
                                                               const tnr_view *a, const tnr_view *b, tnri_target target)
{
    TNRI_CHECK_VIEW(op->name, "a", a);
    const tnr_view *like = a;
    if (inputs == 2) {
        TNRI_CHECK_VIEW(op->name, "b", b);
        if (TNRI_UNLIKELY(a->dtype != b->dtype)) {
            return tnri_fail_dtype(op->name, a->dtype, b->dtype);
        }
        like = a->rank == 0 ? b : a;
        if (TNRI_UNLIKELY(b->rank != 0 && !tnri_has_shape(b, like->rank, like->shape))) {
            return tnri_fail_shape(op->name, "b", like->rank, like->shape, b);
        }
    }
    TNR_TRY(tnri_check_into(op->name, target.into, a->dtype, like->rank, like->shape));
    if (TNRI_UNLIKELY(op->kernels[a->dtype] == NULL)) {
        return tnri_fail_unsupported(op->name, a->dtype);
    }
    tnri_call call;
    call.op = op->name;
    call.inputs = inputs;
    call.dtype = a->dtype;
    call.rank = like->rank;
    call.shape = like->shape;
    call.reason = TNR_ALLOCATION_OUTPUT;
    call.aliasing = TNRI_IN_PLACE;
    call.operands[1].view = a;
    call.operands[2].view = b;
    TNR_TRY(tnri_call_begin(engine, &call, target));
    compute(op, &call);
    return tnri_call_end(&call, target, TNR_OK);
}

static TNRI_NOINLINE tnr_status run_one(tnr_engine *engine, const operation *op, const tnr_view *a, tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op->name, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, op, 1, a, NULL, target));
}

static TNRI_NOINLINE tnr_status run_two(tnr_engine *engine, const operation *op, const tnr_view *a, const tnr_view *b,
                                        tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op->name, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, op, 2, a, b, target));
}

tnr_status tnr_add(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return run_two(engine, &op_add, a, b, (tnri_target){.made = out});
}

tnr_status tnr_add_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return run_two(engine, &op_add, a, b, (tnri_target){.into = out});
}

tnr_status tnr_sub(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return run_two(engine, &op_sub, a, b, (tnri_target){.made = out});
}

tnr_status tnr_sub_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return run_two(engine, &op_sub, a, b, (tnri_target){.into = out});
}

tnr_status tnr_mul(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out)
{
    return run_two(engine, &op_mul, a, b, (tnri_target){.made = out});
}

tnr_status tnr_mul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out)
{
    return run_two(engine, &op_mul, a, b, (tnri_target){.into = out});
}

tnr_status tnr_exp(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return run_one(engine, &op_exp, a, (tnri_target){.made = out});
}

tnr_status tnr_exp_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return run_one(engine, &op_exp, a, (tnri_target){.into = out});
}
