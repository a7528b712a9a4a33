/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Concatenation: each input is copied to its place along one axis of the output.
 *
 * Guarantees: up to 4096 inputs, the same one several times among them, leased as one call's operands: all or none.
 * Records of the leases of more inputs than fit on the stack are in the engine's scratch; a call that is refused leaves
 * none there.
 */
#include "structure_internal.h"

#define MOST_INPUTS 4096
#define STACK_OPERANDS 8

static const tnri_rearrangement op_concatenate = {"concatenate", TNR_COPY_CONCATENATE};

/*
 * ---- From the first lease to the last: as tnri_call, for any number of inputs
 * ------------------------------------------------------
 */

typedef struct joined {
    int count;              /* inputs */
    tnri_operand *operands; /* [0] is what is written */
    tnr_dtype dtype;
    int rank;
    int64_t shape[TNR_MAX_RANK];
    const tnr_view *out;
    tnri_output output;
} joined;

static tnr_status begin(tnr_engine *engine, joined *call, const tnr_view *const *inputs, tnri_target target)
{
    static const char op[] = "concatenate";
    for (int i = 0; i < call->count; ++i) {
        call->operands[1 + i].view = inputs[i];
        call->operands[1 + i].write = false;
    }
    if (tnri_is_device(engine)) {
        const tnri_device_frame frame = {op,          call->operands, call->count, TNRI_APART,          target.into,
                                         call->dtype, call->rank,     call->shape, TNR_ALLOCATION_COPY, &call->output};
        TNR_TRY(tnri_device_begin(engine, &frame));
        call->out = call->operands[0].view;
        return TNR_OK;
    }
    if (target.into != NULL) {
        call->out = &target.into->view;
        call->operands[0].view = call->out;
        call->operands[0].write = true;
        return tnri_access_begin(op, call->operands, 1 + call->count, TNRI_APART);
    }
    TNR_TRY(tnri_access_begin(op, call->operands + 1, call->count, TNRI_APART));
    const tnr_status status =
        tnri_output_begin(op, engine->output, call->dtype, call->rank, call->shape, TNR_ALLOCATION_COPY, &call->output);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        (void)tnri_access_end(call->operands + 1, call->count);
        return status;
    }
    call->out = &call->output.view;
    call->operands[0].data = call->output.data;
    return TNR_OK;
}

/* Leases back, and the new tensor is there. */
static tnr_status give_back(tnr_engine *engine, joined *call, tnri_target target, tnr_status status)
{
    if (tnri_is_device(engine)) {
        return tnri_device_end(engine, call->operands, call->count, &call->output, target, status);
    }
    if (target.into != NULL) {
        return tnri_access_end(call->operands, 1 + call->count);
    }
    return tnri_output_end(&call->output, tnri_access_end(call->operands + 1, call->count), target.made);
}

static tnr_status end(tnr_engine *engine, joined *call, tnri_target target, tnr_status status)
{
    const uint64_t bytes = tnri_shape_extent_bytes(call->dtype, call->rank, call->shape);
    if (target.into != NULL) { /* before the lease goes: after it nothing keeps the owner's domain */
        if (TNRI_LIKELY(status == TNR_OK)) {
            tnri_ledger_copy(target.into->view.root->domain, TNR_COPY_CONCATENATE, bytes);
        }
        return give_back(engine, call, target, status);
    }
    TNR_TRY(give_back(engine, call, target, status));
    tnri_ledger_copy(engine->output, TNR_COPY_CONCATENATE, bytes);
    return TNR_OK;
}

/*
 * ---- Copying
 * ------------------------------------------------------------------------------------------------------------------------
 */

typedef struct joining {
    const joined *call;
    int axis;
    tnri_strips strips;
} joining;

/* Where input i goes, `begin` indices along the axis. */
static void input_box(const joined *call, int axis, int i, int64_t begin, tnri_box *box)
{
    const tnr_view *input = call->operands[1 + i].view;
    tnri_box_make(box, call->out, call->operands[0].data, NULL, input->strides);
    tnri_box_narrow(box, axis, begin, input->shape[axis], 1);
    box->source = call->operands[1 + i].data;
}

/* A strip; the inputs' places are found by adding up those before. */
static void join_strip(const joining *all, int64_t first, int64_t last)
{
    const joined *call = all->call;
    const bool along = all->axis == all->strips.axis; /* then the strip has a few inputs only, else a part of each */
    int64_t begin = 0;
    for (int i = 0; i < call->count && (!along || begin < last); ++i) {
        const int64_t extent = call->operands[1 + i].view->shape[all->axis];
        if (call->operands[1 + i].data != NULL && (!along || begin + extent > first)) {
            tnri_box box;
            input_box(call, all->axis, i, begin, &box);
            tnri_box_run_strip(&all->strips, &box, all->strips.axis, along ? begin : 0, 1, first, last);
        }
        begin += extent;
    }
}

static void run_piece(void *context, int64_t piece)
{
    const joining *all = context;
    int64_t begin;
    int64_t last;
    tnri_piece_of(all->strips.extent, all->strips.pieces, piece, &begin, &last);
    while (begin < last) {
        const int64_t end = last - begin < all->strips.block ? last : begin + all->strips.block;
        join_strip(all, begin, end);
        begin = end;
    }
}

static tnr_status join_on_device(tnr_engine *engine, const joined *call, int axis)
{
    int64_t begin = 0;
    for (int i = 0; i < call->count; ++i) {
        tnri_box box;
        input_box(call, axis, i, begin, &box);
        if (call->operands[1 + i].data != NULL) {
            TNR_TRY(tnri_box_run_on_lanes(engine, &box));
        }
        begin += call->operands[1 + i].view->shape[axis];
    }
    return TNR_OK;
}

static tnr_status compute(tnr_engine *engine, const joined *call, int axis)
{
    if (tnri_shape_extent_bytes(call->dtype, call->rank, call->shape) == 0) {
        return TNR_OK;
    }
    if (tnri_is_device(engine)) {
        return join_on_device(engine, call, axis);
    }
    tnri_box whole;
    tnri_box_make(&whole, call->out, call->operands[0].data, NULL, call->out->strides);
    joining all = {.call = call, .axis = axis};
    tnri_box one = whole; /* as large as an input on average */
    const int64_t mean = call->shape[axis] / call->count;
    tnri_box_narrow(&one, axis, 0, mean > 0 ? mean : 1, 1);
    tnri_strips_make(engine, &whole, tnri_box_run_bytes(&one), &all.strips);
    if (axis == all.strips.axis) { /* one input after the other, as large as they are */
        all.strips.block = all.strips.extent;
    }
    tnri_engine_run(engine, all.strips.lanes, all.strips.pieces, run_piece, &all);
    return TNR_OK;
}

/*
 * ---- The operation
 * --------------------------------------------------------------------------------------------------------------------
 */

static tnr_status join_shapes(const tnr_view *const *inputs, int count, int axis, joined *call)
{
    static const char op[] = "concatenate";
    const tnr_view *first = inputs[0];
    TNR_REQUIRE(first->rank >= 1, TNR_ERR_SHAPE, "%s: rank 1 or more expected, input 0 has rank 0", op);
    TNR_REQUIRE(axis >= 0 && axis < first->rank, TNR_ERR_BOUNDS, "%s: axis %d of inputs of rank %d", op, axis,
                (int)first->rank);
    call->dtype = first->dtype;
    call->rank = first->rank;
    for (int i = 0; i < first->rank; ++i) {
        call->shape[i] = first->shape[i];
    }
    call->shape[axis] = 0;
    for (int k = 0; k < count; ++k) {
        const tnr_view *input = inputs[k];
        if (input->dtype != first->dtype) {
            return tnri_fail_dtype(op, first->dtype, input->dtype);
        }
        TNR_REQUIRE(input->rank == first->rank, TNR_ERR_SHAPE, "%s: input %d has rank %d, expected %d", op, k,
                    (int)input->rank, (int)first->rank);
        for (int i = 0; i < first->rank; ++i) {
            TNR_REQUIRE(input->shape[i] >= 0, TNR_ERR_ARGUMENT, "%s: input %d has extent %lld on axis %d", op, k,
                        TNRI_LL(input->shape[i]), i);
            TNR_REQUIRE(i == axis || input->shape[i] == first->shape[i], TNR_ERR_SHAPE,
                        "%s: input %d has extent %lld on axis %d, expected %lld", op, k, TNRI_LL(input->shape[i]), i,
                        TNRI_LL(first->shape[i]));
        }
        TNR_REQUIRE(tnri_add_i64(call->shape[axis], input->shape[axis], &call->shape[axis]), TNR_ERR_OVERFLOW,
                    "%s: the sum of the extents on axis %d does not fit 63 bits", op, axis);
    }
    int64_t elements;
    uint64_t bytes;
    return tnri_shape_bytes(op, call->dtype, call->rank, call->shape, &elements, &bytes);
}

/* Records in memory that the engine keeps as scratch only when the leases and the output were had. */
static tnr_status begin_many(tnr_engine *engine, joined *call, const tnr_view *const *inputs, tnri_target target)
{
    const uint64_t bytes = (uint64_t)(1 + call->count) * sizeof(tnri_operand);
    if (engine->scratch.bytes >= bytes) {
        call->operands = engine->scratch.address;
        return begin(engine, call, inputs, target);
    }
    tnr_block block;
    TNR_TRY(tnri_block_take(engine->domain, bytes, &block));
    call->operands = block.address;
    const tnr_status status = begin(engine, call, inputs, target);
    if (status != TNR_OK) {
        tnri_block_undo(engine->domain, &block);
        return status;
    }
    tnri_ledger_allocation(engine->domain, TNR_ALLOCATION_SCRATCH, bytes);
    tnri_block_give(engine->domain, &engine->scratch);
    engine->scratch = block;
    return TNR_OK;
}

static tnr_status inside(tnr_engine *engine, const tnr_view *const *inputs, int count, int axis, tnri_target target)
{
    TNR_REQUIRE(inputs != NULL && count >= 1 && count <= MOST_INPUTS, TNR_ERR_ARGUMENT,
                "concatenate: 1 to %d inputs expected, found %d, or no list", MOST_INPUTS, count);
    for (int i = 0; i < count; ++i) {
        TNRI_CHECK_VIEW(op_concatenate.name, "an input", inputs[i]);
    }
    tnri_operand few[STACK_OPERANDS];
    joined call;
    call.count = count;
    call.operands = few;
    TNR_TRY(join_shapes(inputs, count, axis, &call));
    TNR_TRY(tnri_check_into(op_concatenate.name, target.into, call.dtype, call.rank, call.shape));
    TNR_TRY(count < STACK_OPERANDS ? begin(engine, &call, inputs, target) : begin_many(engine, &call, inputs, target));
    return end(engine, &call, target, compute(engine, &call, axis));
}

static tnr_status run(tnr_engine *engine, const tnr_view *const *inputs, int count, int axis, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("concatenate", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, inputs, count, axis, target));
}

tnr_status tnr_concatenate(tnr_engine *engine, const tnr_view *const *inputs, int count, int axis, tnr_tensor **out)
{
    return run(engine, inputs, count, axis, (tnri_target){.made = out});
}

tnr_status tnr_concatenate_into(tnr_engine *engine, const tnr_view *const *inputs, int count, int axis,
                                const tnr_view_mut *out)
{
    return run(engine, inputs, count, axis, (tnri_target){.into = out});
}
