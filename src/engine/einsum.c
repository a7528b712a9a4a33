/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The course of an einsum: equation, path and plan (einsum_internal.h), leases of all operands and the output, scratch for all
 * intermediates and for every product, then one operation after the other. The last one writes the output; before it only scratch is
 * written.
 *
 * An operand alone is copied or summed as those operations do it; with a factor, or conjugated, it is a product with the number 1.
 */
#include "einsum_internal.h"
#include "kernels/reduce_kernels.h"
#include "reduce_internal.h"
#include "structure_internal.h"
#include "team_internal.h"

static const tnri_reduce_table *const reducers[TNRI_ISA_END] = TNRI_ISA_TABLES(tnri_reduce_kernels);

/* One call, from the first lease to the last. operands[0] is what is written. */
typedef struct einsum {
    const tnri_equation *equation;
    const tnri_einsum_plan *plan;
    uint64_t conjugate; /* operands that are */
    tnri_finish finish; /* of the last operation */
    const tnr_view *out;
    char *span;
    tnri_operand operands[1 + TNR_EINSUM_OPERANDS];
    tnri_output output;
} einsum;

/* ---- Values as operands of products ---------------------------------------------------------------------------------------------- */

typedef enum side { SIDE_A, SIDE_B, SIDE_C } side;

/* An axis of a value. */
static void enter_axis(const tnri_equation *e, tnri_label *labels, side s, int number, int64_t step)
{
    tnri_label *l = &labels[number];
    l->extent = e->extents[number];
    if (s == SIDE_A) {
        l->in_a = true;
        l->a += step;
    } else if (s == SIDE_B) {
        l->in_b = true;
        l->b += step;
    } else {
        l->in_c = true;
        l->c += step;
    }
}

/* All axes of a value longer than 1, and where it lies. */
static char *enter_value(const einsum *call, tnri_label *labels, side s, int value)
{
    const tnri_equation *e = call->equation;
    if (value == TNR_NONE) {
        for (int i = 0; i < e->out_rank; ++i) {
            if (e->out_shape[i] != 1) {
                enter_axis(e, labels, s, e->out_axes[i], call->out->strides[i]);
            }
        }
        return call->operands[0].data;
    }
    if (value < e->count) {
        const tnr_view *view = call->operands[1 + value].view;
        for (int i = 0; i < view->rank; ++i) {
            if (view->shape[i] != 1) {
                enter_axis(e, labels, s, e->axes[value][i], view->strides[i]);
            }
        }
        return call->operands[1 + value].data;
    }
    const tnri_value *v = &call->plan->values[value];
    int64_t step = 1;
    for (int i = 0; i < v->rank; ++i) {
        enter_axis(e, labels, s, v->axes[i], step);
        step *= e->extents[v->axes[i]];
    }
    return call->span + v->place;
}

/* Does the operand that a value is, or was summed from, have to be conjugated? */
static bool conjugated(const einsum *call, int value)
{
    const int summed = value - 2 * TNR_EINSUM_OPERANDS;
    const int operand = value < call->equation->count ? value : summed;
    return operand >= 0 && (call->conjugate >> operand & 1U) != 0;
}

static tnri_finish finish_of(const einsum *call, const tnri_einsum_op *op)
{
    tnri_finish finish = {.plain = true, .overwrite = true, .alpha = {1.0, 0.0}};
    if (op->to == TNR_NONE) {
        finish = call->finish;
    }
    finish.conjugate_a = conjugated(call, op->a);
    finish.conjugate_b = op->b != TNR_NONE && conjugated(call, op->b);
    return finish;
}

/* ---- Operations -------------------------------------------------------------------------------------------------------------------- */

static tnr_status multiply(tnr_engine *engine, const einsum *call, const tnri_einsum_op *op)
{
    const tnri_equation *e = call->equation;
    tnri_label labels[TNRI_LABELS];
    memset(labels, 0, (size_t)e->labels * sizeof labels[0]);
    tnri_product product;
    product.dtype = e->dtype;
    product.finish = finish_of(call, op);
    product.a = enter_value(call, labels, SIDE_A, op->a);
    product.b = enter_value(call, labels, SIDE_B, op->b);
    product.c = enter_value(call, labels, SIDE_C, op->to);
    tnri_product_clear(&product);
    for (int i = 0; i < e->labels; ++i) {
        if (labels[i].extent != 0) {
            tnri_product_add_label(&product, &labels[i]);
        }
    }
    tnri_product_fuse(&product);
    return tnri_product_run(engine, &product);
}

/* One operand less the labels that the result lacks. */
static void sum(tnr_engine *engine, const einsum *call, const tnri_einsum_op *op)
{
    const tnri_equation *e = call->equation;
    tnri_label labels[TNRI_LABELS];
    memset(labels, 0, (size_t)e->labels * sizeof labels[0]);
    const char *source = enter_value(call, labels, SIDE_A, op->a);
    char *target = enter_value(call, labels, SIDE_C, op->to);
    tnr_view joined = {.dtype = e->dtype, .rank = 0}; /* axes of one label are one */
    int64_t spread[TNR_MAX_RANK];
    bool sums = false;
    for (int i = 0; i < e->labels; ++i) {
        if (labels[i].in_a) {
            joined.shape[joined.rank] = labels[i].extent;
            joined.strides[joined.rank] = labels[i].a;
            spread[joined.rank++] = labels[i].c;
            sums = sums || !labels[i].in_c;
        }
    }
    const size_t width = tnr_dtype_size(e->dtype);
    if (sums) {
        tnri_reduce_walk(engine, 0, &reducers[engine->isa]->reducers[TNRI_REDUCE_SUM][e->dtype], &joined, spread,
                         source, target, width);
    } else {
        tnri_copy_on_lanes(engine, width, joined.rank, joined.shape, target, spread, source, joined.strides);
    }
}

/* One operand whose labels are the result's: every element by itself, times the number 1. */
static tnr_status scale(tnr_engine *engine, const einsum *call, const tnri_einsum_op *op)
{
    static const tnr_c64 double_one = {1.0, 0.0};
    static const tnr_c32 single_one = {1.0F, 0.0F};
    const tnri_equation *e = call->equation;
    tnri_label labels[TNRI_LABELS];
    memset(labels, 0, (size_t)e->labels * sizeof labels[0]);
    const bool single = e->dtype == TNR_F32 || e->dtype == TNR_C32;
    tnri_product product;
    product.dtype = e->dtype;
    product.finish = finish_of(call, op);
    product.a = enter_value(call, labels, SIDE_A, op->a);
    product.b = single ? (const void *)&single_one : &double_one;
    product.c = enter_value(call, labels, SIDE_C, op->to);
    tnri_product_clear(&product);
    for (int i = 0; i < e->labels; ++i) {
        if (labels[i].in_a) {
            labels[i].in_b = true; /* a batch */
            tnri_product_add_label(&product, &labels[i]);
        }
    }
    tnri_product_fuse(&product);
    return tnri_product_run(engine, &product);
}

/* Nothing to sum, or alpha is 0: the operands are not read. */
static tnr_status only_beta(tnr_engine *engine, const einsum *call)
{
    const tnri_equation *e = call->equation;
    tnri_label labels[TNRI_LABELS];
    memset(labels, 0, (size_t)e->labels * sizeof labels[0]);
    tnri_product product;
    product.dtype = e->dtype;
    product.finish = call->finish;
    product.finish.conjugate_a = false;
    product.finish.conjugate_b = false;
    product.a = NULL;
    product.b = NULL;
    product.c = enter_value(call, labels, SIDE_C, TNR_NONE);
    tnri_product_clear(&product);
    for (int i = 0; i < e->labels; ++i) {
        if (labels[i].in_c) {
            labels[i].in_a = true;
            tnri_product_add_label(&product, &labels[i]);
        }
    }
    tnri_product_fuse(&product);
    product.k.size = 0;
    return tnri_product_run(engine, &product);
}

static bool reads_nothing(const einsum *call)
{
    return call->equation->empty || (call->finish.alpha.re == 0.0 && call->finish.alpha.im == 0.0);
}

static bool is_plain(const tnri_finish *finish) { return finish->plain && !finish->conjugate_a; }

static tnr_status compute(tnr_engine *engine, const einsum *call)
{
    for (int i = 0; i < call->equation->out_rank; ++i) {
        if (call->equation->out_shape[i] == 0) {
            return TNR_OK;
        }
    }
    if (reads_nothing(call)) {
        return only_beta(engine, call);
    }
    for (int i = 0; i < call->plan->count; ++i) {
        const tnri_einsum_op *op = &call->plan->ops[i];
        if (op->b != TNR_NONE) {
            TNR_TRY(multiply(engine, call, op));
            continue;
        }
        const tnri_finish finish = finish_of(call, op);
        if (op->to != TNR_NONE || is_plain(&finish)) {
            sum(engine, call, op); /* what is summed for later is conjugated later */
        } else {
            TNR_TRY(scale(engine, call, op));
        }
    }
    return TNR_OK;
}

/* ---- The call ------------------------------------------------------------------------------------------------------------------------ */

/* What any product of the plan takes of scratch at most. */
static uint64_t behind(const tnr_engine *engine, const einsum *call)
{
    const tnri_equation *e = call->equation;
    const tnri_product_kernel *kernel = tnri_product_kernel_of(engine->isa, e->dtype);
    const int team = engine->team != NULL ? tnri_team_lanes(engine->team) : 1;
    const int lanes = engine->team != NULL && team < 2 ? 2 : team; /* a caller beside one worker makes two */
    uint64_t most = 0;
    for (int i = 0; i < call->plan->count; ++i) {
        const tnri_einsum_op *op = &call->plan->ops[i];
        if (op->b == TNR_NONE) {
            continue;
        }
        const uint64_t a = op->a < e->count ? e->operands[op->a] : call->plan->values[op->a].labels;
        const uint64_t b = op->b < e->count ? e->operands[op->b] : call->plan->values[op->b].labels;
        const uint64_t c = op->to == TNR_NONE ? e->out : call->plan->values[op->to].labels;
        const uint64_t groups[3] = {a & ~b, b & ~a, a & b & ~c};
        int64_t sizes[3] = {1, 1, 1}; /* they fit, being part of a value */
        for (int g = 0; g < 3; ++g) {
            for (uint64_t rest = groups[g]; rest != 0; rest &= rest - 1) {
                sizes[g] *= e->extents[tnri_lowest_bit(rest)];
            }
        }
        const uint64_t bytes = tnri_product_bytes(kernel, e->dtype, sizes[0], sizes[1], sizes[2], lanes);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static tnr_status begin(tnr_engine *engine, einsum *call, const tnr_view *const *operands, tnri_target target)
{
    const tnri_equation *e = call->equation;
    for (int i = 1; i <= e->count; ++i) {
        call->operands[i].view = operands[i - 1];
        call->operands[i].write = false;
    }
    if (target.into != NULL) {
        call->out = &target.into->view;
        call->operands[0].view = call->out;
        call->operands[0].write = true;
        return tnri_access_begin("einsum", call->operands, 1 + e->count,
                                 call->finish.overwrite ? TNRI_APART : TNRI_READ_BACK);
    }
    TNR_TRY(tnri_access_begin("einsum", call->operands + 1, e->count, TNRI_APART));
    const tnr_status status = tnri_output_begin("einsum", engine->output, e->dtype, e->out_rank, e->out_shape,
                                                TNR_ALLOCATION_OUTPUT, &call->output);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        (void)tnri_access_end(call->operands + 1, e->count);
        return status;
    }
    call->out = &call->output.view;
    call->operands[0].view = call->out;
    call->operands[0].data = call->output.data;
    return TNR_OK;
}

/* Inputs first: when one of them cannot be given back, the new tensor is not made. */
static tnr_status end(einsum *call, tnri_target target, tnr_status status)
{
    const int count = call->equation->count;
    if (target.into != NULL) {
        const tnr_status ended = tnri_access_end(call->operands, 1 + count);
        return status == TNR_OK ? ended : status;
    }
    const tnr_status ended = tnri_access_end(call->operands + 1, count);
    return tnri_output_end(&call->output, status == TNR_OK ? ended : status, target.made);
}

static tnr_status hold_and_compute(tnr_engine *engine, einsum *call)
{
    void *span;
    TNR_TRY(tnri_engine_hold(engine, call->plan->bytes, reads_nothing(call) ? 0 : behind(engine, call), &span));
    call->span = span;
    const tnr_status status = compute(engine, call);
    tnri_engine_let_go(engine);
    return status;
}

/* The path is found in a frame of its own, for the search takes much of the stack. */
static TNRI_NOINLINE tnr_status find(const tnri_equation *equation, const tnr_einsum_options *options, bool finished,
                                     tnri_einsum_plan *plan)
{
    tnri_path path;
    TNR_TRY(tnri_path_find("einsum", equation, options, &path));
    return tnri_einsum_plan_make("einsum", equation, &path, finished, plan);
}

static tnr_status inside(tnr_engine *engine, const char *text, const tnr_view *const *operands, int count,
                         const tnr_einsum_options *options, tnri_target target)
{
    tnri_equation equation;
    TNR_TRY(tnri_equation_read("einsum", text, operands, count, &equation));
    TNR_TRY(tnri_check_into("einsum", target.into, equation.dtype, equation.out_rank, equation.out_shape));
    if (TNRI_UNLIKELY(!tnri_has_product(equation.dtype))) {
        return tnri_fail_unsupported("einsum", equation.dtype);
    }
    tnr_einsum_options taken = TNR_EINSUM_OPTIONS;
    TNR_TRY(tnri_einsum_options_take("einsum", options, count, &taken));
    einsum call;
    tnr_product_options product = TNR_PRODUCT_OPTIONS;
    product.alpha = taken.alpha;
    product.beta = taken.beta;
    TNR_TRY(tnri_finish_take("einsum", &product, equation.dtype, target.into != NULL, &call.finish));
    call.conjugate = tnr_dtype_real(equation.dtype) != equation.dtype ? taken.conjugate : 0;
    tnri_einsum_plan plan;
    TNR_TRY(find(&equation, &taken, !call.finish.plain || call.conjugate != 0, &plan));
    call.equation = &equation;
    call.plan = &plan;
    TNR_TRY(begin(engine, &call, operands, target));
    return end(&call, target, hold_and_compute(engine, &call));
}

static tnr_status run(tnr_engine *engine, const char *equation, const tnr_view *const *operands, int count,
                      const tnr_einsum_options *options, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("einsum", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, equation, operands, count, options, target));
}

tnr_status tnr_einsum(tnr_engine *engine, const char *equation, const tnr_view *const *operands, int count,
                      const tnr_einsum_options *options, tnr_tensor **out)
{
    return run(engine, equation, operands, count, options, (tnri_target){.made = out});
}

tnr_status tnr_einsum_into(tnr_engine *engine, const char *equation, const tnr_view *const *operands, int count,
                           const tnr_einsum_options *options, const tnr_view_mut *out)
{
    return run(engine, equation, operands, count, options, (tnri_target){.into = out});
}
