/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structure: permute, to_contiguous, copy_into. Each is a copy by name: checks, the one strided copy, an entry in the ledger
 * of the destination's domain.
 *
 * Guarantees: all dtypes, any layouts; the output is apart from the input; a copy that failed is not entered.
 */
#include "engine_internal.h"

/* What of `source`, seen as the output will be, goes where. */
typedef struct copy_call {
    const char *op;
    tnr_copy_reason reason;
} copy_call;

static const copy_call call_permute = {"permute", TNR_COPY_PERMUTE};
static const copy_call call_to_contiguous = {"to_contiguous", TNR_COPY_TO_CONTIGUOUS};
static const copy_call call_copy_into = {"copy_into", TNR_COPY_COPY_INTO};

static tnr_status copy_run(const copy_call *call, const tnr_view *source, const tnr_view *target)
{
    tnri_operand operands[2];
    operands[0].view = target;
    operands[0].write = true;
    operands[1].view = source;
    operands[1].write = false;
    TNR_TRY(tnri_access_begin(call->op, operands, 2, TNRI_APART));
    const size_t width = tnr_dtype_size(target->dtype);
    tnri_copy_elements(width, target->rank, target->shape, operands[0].data, target->strides, operands[1].data,
                       source->strides);
    uint64_t bytes = width;
    for (int i = 0; i < target->rank; ++i) {
        bytes *= (uint64_t)target->shape[i]; /* fits: access checked the layout, or some extent is 0 */
    }
    tnr_domain *domain = target->root->domain; /* while the lease keeps the owner */
    TNR_TRY(tnri_access_end(operands, 2));
    tnri_ledger_copy(domain, call->reason, bytes);
    return TNR_OK;
}

/* One of `into` and `tensor` is NULL. */
static tnr_status copy_inside(tnr_engine *engine, const copy_call *call, const tnr_view *source,
                              const tnr_view_mut *into, tnr_tensor **tensor)
{
    if (into != NULL) {
        const tnr_view *target = &into->view;
        TNRI_CHECK_VIEW(call->op, "out", target);
        if (source->dtype != target->dtype) {
            return tnri_fail_dtype(call->op, source->dtype, target->dtype);
        }
        if (!tnri_same_shape(source, target)) {
            return tnri_fail_shape(call->op, "out", source->rank, source->shape, target);
        }
        return copy_run(call, source, target);
    }
    tnri_output output;
    TNR_TRY(
        tnri_output_begin(call->op, engine, source->dtype, source->rank, source->shape, TNR_ALLOCATION_COPY, &output));
    return tnri_output_end(&output, copy_run(call, source, &output.view.view), tensor);
}

static tnr_status permute_inside(tnr_engine *engine, const tnr_view *a, const int *axes, const tnr_view_mut *into,
                                 tnr_tensor **tensor)
{
    TNRI_CHECK_VIEW("permute", "a", a);
    tnr_view source;
    TNR_TRY(tnr_view_permute(a, axes, &source));
    return copy_inside(engine, &call_permute, &source, into, tensor);
}

tnr_status tnr_permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnr_tensor **out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "permute: out is NULL");
    TNR_TRY(tnri_engine_enter("permute", engine));
    const tnr_status status = permute_inside(engine, a, axes, NULL, out);
    tnri_engine_leave(engine);
    return status;
}

tnr_status tnr_permute_into(tnr_engine *engine, const tnr_view *a, const int *axes, const tnr_view_mut *out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "permute: out is NULL");
    TNR_TRY(tnri_engine_enter("permute", engine));
    const tnr_status status = permute_inside(engine, a, axes, out, NULL);
    tnri_engine_leave(engine);
    return status;
}

static tnr_status plain_inside(tnr_engine *engine, const copy_call *call, const tnr_view *a, const tnr_view_mut *into,
                               tnr_tensor **tensor)
{
    TNRI_CHECK_VIEW(call->op, "a", a);
    return copy_inside(engine, call, a, into, tensor);
}

tnr_status tnr_to_contiguous(tnr_engine *engine, const tnr_view *a, tnr_tensor **out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "to_contiguous: out is NULL");
    TNR_TRY(tnri_engine_enter("to_contiguous", engine));
    const tnr_status status = plain_inside(engine, &call_to_contiguous, a, NULL, out);
    tnri_engine_leave(engine);
    return status;
}

tnr_status tnr_copy_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "copy_into: out is NULL");
    TNR_TRY(tnri_engine_enter("copy_into", engine));
    const tnr_status status = plain_inside(engine, &call_copy_into, a, out, NULL);
    tnri_engine_leave(engine);
    return status;
}
