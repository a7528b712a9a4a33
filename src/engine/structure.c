/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structure: permute, to_contiguous, copy_into. Each is a copy by name: checks, the one strided copy, an entry in the ledger
 * of the destination's domain.
 *
 * Guarantees: all dtypes, any layouts; the output is apart from the input; a call that was refused is not entered. When a
 * domain fails to end the call after the bytes of a caller's view have moved, the entry stays: it says what was copied.
 */
#include "engine_internal.h"

/* A call, and the name of its copy in the ledger. */
typedef struct operation {
    const char *name;
    tnr_copy_reason reason;
} operation;

static const operation op_permute = {"permute", TNR_COPY_PERMUTE};
static const operation op_to_contiguous = {"to_contiguous", TNR_COPY_TO_CONTIGUOUS};
static const operation op_copy_into = {"copy_into", TNR_COPY_COPY_INTO};

/* `source` is seen as the output will be. */
static tnr_status copy(tnr_engine *engine, const operation *op, const tnr_view *source, tnri_target target)
{
    TNR_TRY(tnri_check_into(op->name, target.into, source->dtype, source->rank, source->shape));
    tnri_call call;
    call.op = op->name;
    call.inputs = 1;
    call.dtype = source->dtype;
    call.rank = source->rank;
    call.shape = source->shape;
    call.reason = TNR_ALLOCATION_COPY;
    call.aliasing = TNRI_APART;
    call.operands[1].view = source;
    TNR_TRY(tnri_call_begin(engine, &call, target));
    const size_t width = tnr_dtype_size(source->dtype);
    tnri_copy_elements(width, source->rank, source->shape, call.operands[0].data, call.out->strides,
                       call.operands[1].data, source->strides);
    uint64_t bytes = width;
    for (int i = 0; i < source->rank; ++i) {
        bytes *= (uint64_t)source->shape[i]; /* fits: access checked the layout, or some extent is 0 */
    }
    if (target.into != NULL) { /* before the lease goes: after it nothing keeps the owner's domain */
        tnri_ledger_copy(target.into->view.root->domain, op->reason, bytes);
        return tnri_call_end(&call, target, TNR_OK);
    }
    TNR_TRY(tnri_call_end(&call, target, TNR_OK));
    tnri_ledger_copy(engine->output, op->reason, bytes); /* the engine is its user */
    return TNR_OK;
}

static tnr_status permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnri_target target)
{
    TNRI_CHECK_VIEW("permute", "a", a);
    tnr_view source;
    TNR_TRY(tnr_view_permute(a, axes, &source));
    return copy(engine, &op_permute, &source, target);
}

static tnr_status run_permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("permute", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, permute(engine, a, axes, target));
}

static tnr_status plain(tnr_engine *engine, const operation *op, const tnr_view *a, tnri_target target)
{
    TNRI_CHECK_VIEW(op->name, "a", a);
    return copy(engine, op, a, target);
}

static tnr_status run_plain(tnr_engine *engine, const operation *op, const tnr_view *a, tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op->name, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, plain(engine, op, a, target));
}

tnr_status tnr_permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnr_tensor **out)
{
    return run_permute(engine, a, axes, (tnri_target){.made = out});
}

tnr_status tnr_permute_into(tnr_engine *engine, const tnr_view *a, const int *axes, const tnr_view_mut *out)
{
    return run_permute(engine, a, axes, (tnri_target){.into = out});
}

tnr_status tnr_to_contiguous(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    return run_plain(engine, &op_to_contiguous, a, (tnri_target){.made = out});
}

tnr_status tnr_copy_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    return run_plain(engine, &op_copy_into, a, (tnri_target){.into = out});
}
