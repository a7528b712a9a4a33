/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions over axes: sum, prod, max, min, all, any, norm. argmax and argmin are in reduce_arg.c, the work in reduce_walk.c.
 *
 * Guarantees: axes are looked at before anything else, for empty tensors too; any layouts; nothing is allocated but the
 * result; the same bits with any number of workers and any instruction set.
 */
#include "reduce_internal.h"

static const tnri_reduce_table *const tables[TNRI_ISA_END] = TNRI_ISA_TABLES(tnri_reduce_kernels);

static const char *const names[TNRI_REDUCE_END] = {"sum", "prod", "max", "min", "all", "any", "norm"};

static const int64_t still[TNR_MAX_RANK];

int tnri_reduce_shape(const tnr_view *a, uint64_t gone, int64_t *shape)
{
    int rank = 0;
    for (int i = 0; i < a->rank; ++i) {
        if ((gone >> i & 1U) == 0) {
            shape[rank++] = a->shape[i];
        }
    }
    return rank;
}

/* An axis that goes and has no elements, or -1. */
static int empty_axis(const tnr_view *a, uint64_t gone)
{
    for (int i = 0; i < a->rank; ++i) {
        if ((gone >> i & 1U) != 0 && a->shape[i] == 0) {
            return i;
        }
    }
    return -1;
}

static tnr_dtype result_dtype(tnri_reduce_op op, tnr_dtype dtype)
{
    if (op == TNRI_REDUCE_NORM && dtype == TNR_C32) {
        return TNR_F32;
    }
    return op == TNRI_REDUCE_NORM && dtype == TNR_C64 ? TNR_F64 : dtype;
}

/* What comes of no terms; zero but for products and all. Such results are few: no kernel. */
static tnr_status fill_empty(tnr_engine *engine, tnri_reduce_op op, const tnr_view *out, char *data)
{
    union {
        float f32;
        double f64;
        tnr_c32 c32;
        tnr_c64 c64;
        int32_t i32;
        int64_t i64;
        uint8_t truth;
    } one;
    memset(&one, 0, sizeof one);
    if (op == TNRI_REDUCE_ALL) {
        one.truth = 1;
    } else if (op == TNRI_REDUCE_PROD) {
        switch (out->dtype) {
        case TNR_F32:
            one.f32 = 1.0F;
            break;
        case TNR_F64:
            one.f64 = 1.0;
            break;
        case TNR_C32:
            one.c32.re = 1.0F;
            break;
        case TNR_C64:
            one.c64.re = 1.0;
            break;
        case TNR_I32:
            one.i32 = 1;
            break;
        default:
            one.i64 = 1;
            break;
        }
    }
    if (tnri_is_device(engine)) {
        return tnri_device_fill(engine, out, data, &one);
    }
    tnri_copy_elements(tnr_dtype_size(out->dtype), out->rank, out->shape, data, out->strides, &one, still);
    return TNR_OK;
}

/* `gone` has a bit for each axis that goes away. */
static tnr_status compute(tnr_engine *engine, tnri_reduce_op op, const tnr_view *a, uint64_t gone,
                          const tnri_call *call)
{
    const tnr_view *out = call->out;
    int64_t spread[TNR_MAX_RANK];
    bool nothing = false;
    int kept = 0;
    for (int i = 0; i < a->rank; ++i) {
        nothing = nothing || a->shape[i] == 0;
        spread[i] = (gone >> i & 1U) != 0 ? 0 : out->strides[kept++];
    }
    if (nothing) {
        return fill_empty(engine, op, out, call->operands[0].data);
    }
    if (tnri_is_device(engine)) {
        return tnri_device_reduce(engine, op, a, spread, call->operands[1].data, out->dtype, call->operands[0].data);
    }
    tnri_reduce_walk(engine, 0, &tables[engine->isa]->reducers[op][a->dtype], a, spread, call->operands[1].data,
                     call->operands[0].data, tnr_dtype_size(out->dtype));
    return TNR_OK;
}

static tnr_status inside(tnr_engine *engine, tnri_reduce_op op, const tnr_view *a, const int *axes, int axis_count,
                         tnri_target target)
{
    const char *name = names[op];
    TNRI_CHECK_VIEW(name, "a", a);
    uint64_t gone;
    TNR_TRY(tnri_axes_enter(name, axes, axis_count, a->rank, &gone));
    if (tables[engine->isa]->reducers[op][a->dtype].outputs == NULL) {
        return tnri_fail_unsupported(name, a->dtype);
    }
    int64_t shape[TNR_MAX_RANK];
    const int rank = tnri_reduce_shape(a, gone, shape);
    const tnr_dtype dtype = result_dtype(op, a->dtype);
    TNR_TRY(tnri_check_into(name, target.into, dtype, rank, shape));
    if (op == TNRI_REDUCE_MAX || op == TNRI_REDUCE_MIN) {
        const int empty = empty_axis(a, gone);
        TNR_REQUIRE(empty < 0, TNR_ERR_SHAPE, "%s: no element along axis %d, whose extent is 0", name, empty);
    }
    tnri_call call;
    call.op = name;
    call.inputs = 1;
    call.dtype = dtype;
    call.rank = rank;
    call.shape = shape;
    call.reason = TNR_ALLOCATION_OUTPUT;
    call.aliasing = TNRI_APART;
    call.operands[1].view = a;
    TNR_TRY(tnri_call_begin(engine, &call, target));
    return tnri_call_end(engine, &call, target, compute(engine, op, a, gone, &call));
}

static tnr_status run(tnr_engine *engine, tnri_reduce_op op, const tnr_view *a, const int *axes, int axis_count,
                      tnri_target target)
{
    TNR_TRY(tnri_engine_enter(names[op], engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, op, a, axes, axis_count, target));
}

tnr_status tnr_sum(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run(engine, TNRI_REDUCE_SUM, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_sum_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, const tnr_view_mut *out)
{
    return run(engine, TNRI_REDUCE_SUM, a, axes, axis_count, (tnri_target){.into = out});
}

tnr_status tnr_prod(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run(engine, TNRI_REDUCE_PROD, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_prod_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                         const tnr_view_mut *out)
{
    return run(engine, TNRI_REDUCE_PROD, a, axes, axis_count, (tnri_target){.into = out});
}

tnr_status tnr_max(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run(engine, TNRI_REDUCE_MAX, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_max_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, const tnr_view_mut *out)
{
    return run(engine, TNRI_REDUCE_MAX, a, axes, axis_count, (tnri_target){.into = out});
}

tnr_status tnr_min(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run(engine, TNRI_REDUCE_MIN, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_min_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, const tnr_view_mut *out)
{
    return run(engine, TNRI_REDUCE_MIN, a, axes, axis_count, (tnri_target){.into = out});
}

tnr_status tnr_all(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run(engine, TNRI_REDUCE_ALL, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_all_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, const tnr_view_mut *out)
{
    return run(engine, TNRI_REDUCE_ALL, a, axes, axis_count, (tnri_target){.into = out});
}

tnr_status tnr_any(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run(engine, TNRI_REDUCE_ANY, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_any_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, const tnr_view_mut *out)
{
    return run(engine, TNRI_REDUCE_ANY, a, axes, axis_count, (tnri_target){.into = out});
}

tnr_status tnr_norm(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count, tnr_tensor **out)
{
    return run(engine, TNRI_REDUCE_NORM, a, axes, axis_count, (tnri_target){.made = out});
}

tnr_status tnr_norm_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                         const tnr_view_mut *out)
{
    return run(engine, TNRI_REDUCE_NORM, a, axes, axis_count, (tnri_target){.into = out});
}
