/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elementwise operations: one driver for all of them. Which there are, and of what kernels: elementwise_arithmetic.c,
 * elementwise_order.c, elementwise_cast.c, elementwise_math.c.
 *
 * Guarantees: every check before the first write; a rank-0 operand meets every element of the others; integers that an
 * operation must not meet are found by a scan first; a small call costs its checks and one kernel.
 * Does not order, cut or stream: elementwise_walk.c does, for all but small single runs.
 */
#include <string.h>

#include "elementwise_internal.h"

#define SMALL_NANOSECONDS 1000 /* estimated; below, one run is one kernel call on the calling thread */
#define PICOSECONDS_EACH 125   /* and this is what moving an element is taken to cost there */
#define SMALL_PLANE 256        /* elements; two axes of so few are one kernel call as they are, in whatever order */

/* Once for each number of inputs, or once for all. */
#if TNRI_SMALL
#define INLINED
#else
#define INLINED inline __attribute__((always_inline))
#endif

/* ---- Checks ------------------------------------------------------------------------------------------------------------------- */

static const char *const repeat_advice = ": tnr_view_broadcast repeats a view along axes";

/* Do two inputs of different dtypes go together? *lifted is the one that counts as complex, 1 or 2. */
static TNRI_NOINLINE tnr_status lift(const tnri_operation *op, const tnr_view *a, const tnr_view *b, int *lifted)
{
    if (op->rule == TNRI_MIXES_SCALAR) {
        if (a->rank == 0 && tnr_dtype_real(b->dtype) == a->dtype) {
            *lifted = 1;
            return TNR_OK;
        }
        if (b->rank == 0 && tnr_dtype_real(a->dtype) == b->dtype) {
            *lifted = 2;
            return TNR_OK;
        }
    }
    return tnri_fail_dtype(op->name, a->dtype, b->dtype);
}

static tnr_dtype result_of(const tnri_operation *op, tnr_dtype dtype)
{
    switch (op->rule) {
    case TNRI_TO_RESULT:
        return op->result;
    case TNRI_TO_REAL:
        return tnr_dtype_real(dtype);
    case TNRI_ONE_DTYPE:
    case TNRI_MIXES_SCALAR:
    case TNRI_BY_BOOL:
    default:
        return dtype;
    }
}

#define INDEX_TEXT 21 /* characters of one index: ", " and 19 digits */

static TNRI_NOINLINE tnr_status fail_at(const tnri_operation *op, int rank, const int64_t *index)
{
    char text[INDEX_TEXT * TNR_MAX_RANK + 1];
    char *end = text;
    for (int i = 0; i < rank; ++i) {
        if (i > 0) {
            *end++ = ',';
            *end++ = ' ';
        }
        end += tnri_put_decimal(end, (uint64_t)index[i]);
    }
    *end = '\0';
    return tnri_fail(TNR_ERR_NUMERIC, "%s: %s at index [%s] of b", op->name, op->forbidden, text);
}

/* The index of the first element that the scan finds, in the view's own order, for the text: nothing is fast here any more. */
static TNRI_NOINLINE tnr_status fail_forbidden(const tnri_operation *op, const tnr_view *view, const char *data,
                                               tnri_run_scan scan)
{
    const int64_t width = (int64_t)tnr_dtype_size(view->dtype);
    int64_t index[TNR_MAX_RANK] = {0};
    bool more = true;
    while (more && scan(data, width, 1) < 0) {
        more = false;
        for (int i = 0; i < view->rank && !more; ++i) {
            if (view->shape[i] == 1) { /* its stride means nothing and may be huge */
                continue;
            }
            data += view->strides[i] * width;
            more = ++index[i] < view->shape[i];
            if (!more) {
                data -= view->strides[i] * width * view->shape[i];
                index[i] = 0;
            }
        }
    }
    return fail_at(op, view->rank, index);
}

/* ---- From operands to kernels --------------------------------------------------------------------------------------------------- */

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

static TNRI_NOINLINE void compute_large(tnr_engine *engine, const tnri_operation *op, const tnri_call *call,
                                        const int64_t *const *strides, const size_t *widths, tnri_plane_kernel kernel)
{
    tnri_index_space space = {.rank = call->rank, .shape = call->shape, .operands = 1 + call->inputs};
    for (int k = 0; k <= call->inputs; ++k) {
        const int from = op->swaps && k > 0 ? 3 - k : k;
        space.list[k] = (tnri_nest_operand){call->operands[from].data, strides[from], widths[from]};
    }
    tnri_elementwise_walk(engine, &space, kernel, op);
}

/* `inputs` is a constant where this is inlined. */
static INLINED void compute(tnr_engine *engine, const tnri_operation *op, const tnri_call *call, const int inputs,
                            tnri_plane_kernel kernel)
{
    const int64_t *strides[1 + TNRI_CALL_INPUTS];
    size_t widths[1 + TNRI_CALL_INPUTS];
    strides[0] = call->out->strides;
    widths[0] = (size_t)1 << tnri_dtype_shift[call->dtype];
    for (int k = 1; k <= inputs; ++k) {
        const tnr_view *view = call->operands[k].view;
        strides[k] = view->rank == 0 ? still : view->strides;
        widths[k] = (size_t)1 << tnri_dtype_shift[view->dtype];
    }
    tnri_plane p; /* one run, or a small plane: nothing to order or merge */
    p.lines = 1;
    for (int k = 0; k <= inputs; ++k) {
        p.jump[k] = 0;
    }
    if (call->rank == 1 && call->shape[0] > 1) {
        p.count = call->shape[0];
        for (int k = 0; k <= inputs; ++k) {
            p.step[k] = strides[k][0] * (int64_t)widths[k];
        }
    } else if (is_one_run(call, strides, &p.count)) {
        for (int k = 0; k <= inputs; ++k) {
            p.step[k] = strides[k] == still ? 0 : (int64_t)widths[k];
        }
    } else if (call->rank == 2 && call->shape[0] * call->shape[1] <= SMALL_PLANE) {
        p.count = call->shape[0];
        p.lines = call->shape[1];
        for (int k = 0; k <= inputs; ++k) {
            p.step[k] = p.count > 1 ? strides[k][0] * (int64_t)widths[k] : 0;
            p.jump[k] = p.lines > 1 ? strides[k][1] * (int64_t)widths[k] : 0;
        }
    } else {
        compute_large(engine, op, call, strides, widths, kernel);
        return;
    }
    if (p.count > SMALL_NANOSECONDS * 1000 / PICOSECONDS_EACH ||
        (uint64_t)(p.count * p.lines) * op->picoseconds > SMALL_NANOSECONDS * UINT64_C(1000)) {
        compute_large(engine, op, call, strides, widths, kernel);
        return;
    }
    if (p.count == 0 || p.lines == 0) {
        return;
    }
    p.operands = 1 + inputs;
    p.stream = false;
    for (int k = 0; k <= inputs; ++k) {
        p.data[k] = call->operands[k].data;
    }
    if (inputs == 2 && op->swaps) {
        char *const data = p.data[1];
        const int64_t step = p.step[1];
        p.data[1] = p.data[2];
        p.step[1] = p.step[2];
        p.data[2] = data;
        p.step[2] = step;
        const int64_t jump = p.jump[1];
        p.jump[1] = p.jump[2];
        p.jump[2] = jump;
    }
    kernel(&p);
}

/* What is rare with two inputs: integers to look at first, and a real that counts as complex. */
static TNRI_NOINLINE tnr_status compute_apart(tnr_engine *engine, const tnri_operation *op, tnri_call *call, int lifted,
                                              tnri_plane_kernel kernel)
{
    const tnr_view *b = call->operands[2].view;
    const tnri_run_scan scan = op->forbidden != NULL ? op->scans[engine->isa][b->dtype] : NULL;
    if (scan != NULL && call->operands[2].data != NULL) {
        bool empty = false; /* what meets nothing does no harm */
        for (int i = 0; i < call->rank; ++i) {
            empty = empty || call->shape[i] == 0;
        }
        const tnri_nest_operand operand = {call->operands[2].data, b->strides, tnr_dtype_size(b->dtype)};
        if (!empty && tnri_elementwise_scan(engine, b->rank, b->shape, &operand, scan)) {
            return fail_forbidden(op, b, call->operands[2].data, scan);
        }
    }
    if (lifted == 0) {
        compute(engine, op, call, 2, kernel);
        return TNR_OK;
    }
    /* A complex number of its own beside the call, and a view of it. */
    tnr_view view = *call->operands[lifted].view;
    tnr_c32 single = {0.0F, 0.0F};
    tnr_c64 both = {0.0, 0.0};
    const char *from = call->operands[lifted].data;
    tnri_call with = *call;
    if (view.dtype == TNR_F32) {
        memcpy(&single.re, from, sizeof single.re);
        with.operands[lifted].data = (char *)&single;
    } else {
        memcpy(&both.re, from, sizeof both.re);
        with.operands[lifted].data = (char *)&both;
    }
    view.dtype = call->dtype;
    with.operands[lifted].view = &view;
    compute(engine, op, &with, 2, kernel);
    return TNR_OK;
}

#if TNRI_DEVICES

/* ---- On a device ----------------------------------------------------------------------------------------------------------------- */

/* The text of fail_forbidden, by the element's number in the view's order. */
static tnr_status fail_scanned(const tnri_operation *op, const tnr_view *view, int64_t number)
{
    int64_t index[TNR_MAX_RANK];
    for (int i = 0; i < view->rank; ++i) {
        index[i] = number % view->shape[i];
        number /= view->shape[i];
    }
    return fail_at(op, view->rank, index);
}

static tnr_status compute_on_device(tnr_engine *engine, const tnri_operation *op, const tnri_call *call, int lifted)
{
    const tnr_view *last = call->operands[call->inputs].view;
    tnri_device_map map = {.op = op->name,
                           .code = (tnri_elementwise_code)op->code,
                           .inputs = call->inputs,
                           .from = lifted == 2 ? call->dtype : last->dtype,
                           .to = call->dtype,
                           .lifted = lifted,
                           .rank = call->rank,
                           .shape = call->shape};
    for (int i = 0; i < call->rank; ++i) {
        if (call->shape[i] == 0) {
            return TNR_OK;
        }
    }
    if (op->forbidden != NULL && op->scans[engine->isa][last->dtype] != NULL) {
        const tnri_device_find what = op->code == TNRI_DO_POW ? TNRI_FIND_NEGATIVE : TNRI_FIND_ZERO;
        int64_t found = -1;
        TNR_TRY(engine->device->find(engine->device_state, what, last, call->operands[call->inputs].data, &found));
        if (found >= 0) {
            return fail_scanned(op, last, found);
        }
    }
    for (int k = 0; k <= call->inputs; ++k) {
        const int from = op->swaps && k > 0 ? 3 - k : k;
        const tnr_view *view = call->operands[from].view;
        map.data[k] = call->operands[from].data;
        map.strides[k] = view->rank == 0 ? still : view->strides;
        map.widths[k] = tnr_dtype_size(view->dtype);
    }
    return engine->device->map(engine->device_state, &map);
}

static TNRI_COLD tnr_status run_on_device(tnr_engine *engine, const tnri_operation *op, tnri_call *call, int lifted,
                                          tnri_target target)
{
    TNR_TRY(tnri_device_call_begin(engine, call, target));
    return tnri_device_call_end(engine, call, target, compute_on_device(engine, op, call, lifted));
}

#endif

/* `inputs`, 1 to 3, is a constant where this is inlined; views beyond it are not looked at. */
static INLINED tnr_status inside(tnr_engine *engine, const tnri_operation *op, const int inputs, const tnr_view *a,
                                 const tnr_view *b, const tnr_view *c, tnri_target target)
{
    TNRI_CHECK_VIEW(op->name, op->inputs[0], a);
    const tnr_view *like = a;
    tnr_dtype dtype = a->dtype;
    int lifted = 0;
    if (inputs >= 2) {
        TNRI_CHECK_VIEW(op->name, op->inputs[1], b);
        like = a->rank == 0 ? b : a;
        if (inputs == 3) {
            TNRI_CHECK_VIEW(op->name, op->inputs[2], c);
            like = like->rank == 0 ? c : like;
            if (op->rule == TNRI_BY_BOOL) {
                if (TNRI_UNLIKELY(dtype != TNR_BOOL)) {
                    return tnri_fail(TNR_ERR_DTYPE, "%s: %s is %s, expected bool", op->name, op->inputs[0],
                                     tnr_dtype_name(dtype));
                }
                dtype = b->dtype;
            }
            if (TNRI_UNLIKELY(c->dtype != dtype)) {
                return tnri_fail_dtype(op->name, dtype, c->dtype);
            }
            if (TNRI_UNLIKELY(c->rank != 0 && !tnri_has_shape(c, like->rank, like->shape))) {
                return tnri_fail_shape(op->name, op->inputs[2], like->rank, like->shape, c, repeat_advice);
            }
        }
        if (TNRI_UNLIKELY(b->dtype != dtype)) {
            if (inputs == 3) {
                return tnri_fail_dtype(op->name, dtype, b->dtype);
            }
            TNR_TRY(lift(op, a, b, &lifted));
            dtype = lifted == 1 ? b->dtype : dtype;
        }
        if (TNRI_UNLIKELY(b->rank != 0 && !tnri_has_shape(b, like->rank, like->shape))) {
            return tnri_fail_shape(op->name, op->inputs[1], like->rank, like->shape, b, repeat_advice);
        }
    }
    const tnr_dtype result = op->rule == TNRI_ONE_DTYPE || op->rule == TNRI_MIXES_SCALAR ? dtype : result_of(op, dtype);
    const tnri_plane_kernel kernel = op->rows[engine->isa][dtype];
    TNR_TRY(tnri_check_into(op->name, target.into, result, like->rank, like->shape));
    if (TNRI_UNLIKELY(kernel == NULL)) {
        return tnri_fail_unsupported(op->name, dtype);
    }
    tnri_call call;
    call.op = op->name;
    call.inputs = inputs;
    call.dtype = result;
    call.rank = like->rank;
    call.shape = like->shape;
    call.reason = TNR_ALLOCATION_OUTPUT;
    call.aliasing = TNRI_IN_PLACE;
    call.operands[1].view = a;
    call.operands[2].view = b;
    call.operands[3].view = c;
#if TNRI_DEVICES
    if (tnri_is_device(engine)) {
        return run_on_device(engine, op, &call, lifted, target);
    }
#endif
    TNR_TRY(tnri_call_begin_here(engine, &call, target));
    tnr_status status = TNR_OK;
    if (inputs == 2 && TNRI_UNLIKELY(op->forbidden != NULL || lifted != 0)) {
        status = compute_apart(engine, op, &call, lifted, kernel);
    } else {
        compute(engine, op, &call, inputs, kernel);
    }
    return tnri_call_end_here(&call, target, status);
}

TNRI_NOINLINE tnr_status tnri_elementwise_one(tnr_engine *engine, const tnri_operation *op, const tnr_view *a,
                                              tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op->name, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, op, 1, a, NULL, NULL, target));
}

TNRI_NOINLINE tnr_status tnri_elementwise_two(tnr_engine *engine, const tnri_operation *op, const tnr_view *a,
                                              const tnr_view *b, tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op->name, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, op, 2, a, b, NULL, target));
}

TNRI_NOINLINE tnr_status tnri_elementwise_three(tnr_engine *engine, const tnri_operation *op, const tnr_view *a,
                                                const tnr_view *b, const tnr_view *c, tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op->name, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, op, 3, a, b, c, target));
}
