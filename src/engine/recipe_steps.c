/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From operations on values (einsum_plan.c) to steps on axes: which groups of axes a product has, and how it is made.
 *
 * An operand alone is copied or summed as those operations do it; with a factor, or conjugated, it is a product with the number 1. What is
 * summed for later is conjugated later.
 */
#include "recipe_internal.h"

/* ---- Equation, path, operations ------------------------------------------------------------------------------------------------------ */

static bool reads_nothing(const tnri_made_of *of) { return of->equation.empty || of->asked->finish.nothing; }

/* Steps of something that has no element: none; of something that reads no operand: one. */
static int count_steps(const tnri_made_of *of)
{
    for (int i = 0; i < of->equation.out_rank; ++i) {
        if (of->equation.out_shape[i] == 0) {
            return 0;
        }
    }
    return reads_nothing(of) ? 1 : of->plan.count;
}

/* In a frame of its own, for the search takes much of the stack. */
static TNRI_NOINLINE tnr_status find_path(const tnri_asked *asked, const tnri_equation *equation, tnri_path *path)
{
    return tnri_path_find(asked->op, equation, &asked->options, path);
}

tnr_status tnri_made_of_take(const tnri_asked *asked, tnri_made_of *of, tnri_path *path)
{
    tnri_path own;
    tnri_path *taken = path != NULL ? path : &own;
    tnri_equation *e = &of->equation;
    of->asked = asked;
    if (asked->pair) {
        TNR_TRY(tnri_equation_of_pair(asked->op, asked->labels, asked->operands, e));
        tnri_path_of_pair(taken);
    } else {
        TNR_TRY(tnri_equation_read(asked->op, asked->labels[0], asked->operands, asked->count, e));
    }
    if (asked->out != NULL && TNRI_UNLIKELY(!tnri_has_shape(asked->out, e->out_rank, e->out_shape))) {
        return tnri_fail_shape(asked->op, "out", e->out_rank, e->out_shape, asked->out, "");
    }
    if (TNRI_UNLIKELY(!tnri_has_product(e->dtype))) {
        return tnri_fail_unsupported(asked->op, e->dtype);
    }
    if (!asked->pair) {
        TNR_TRY(find_path(asked, e, taken));
    }
    TNR_TRY(tnri_einsum_plan_make(asked->op, e, taken, !asked->finish.plain || asked->conjugate != 0, &of->plan));
    of->steps = count_steps(of);
    return TNR_OK;
}

/* ---- Values as operands of steps ----------------------------------------------------------------------------------------------------- */

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

static tnri_place at_operand(int number) { return (tnri_place){(uint64_t)number, TNRI_AT_OPERAND}; }

/* All axes of a value longer than 1, and where it lies. */
static tnri_place enter_value(const tnri_made_of *of, tnri_label *labels, side s, int value)
{
    const tnri_equation *e = &of->equation;
    if (value == TNR_NONE) {
        for (int i = 0; i < e->out_rank; ++i) {
            if (e->out_shape[i] != 1) {
                enter_axis(e, labels, s, e->out_axes[i], of->out_strides[i]);
            }
        }
        return at_operand(0);
    }
    if (value < e->count) {
        const tnr_view *view = of->asked->operands[value];
        for (int i = 0; i < view->rank; ++i) {
            if (view->shape[i] != 1) {
                enter_axis(e, labels, s, e->axes[value][i], view->strides[i]);
            }
        }
        return at_operand(1 + value);
    }
    const tnri_value *v = &of->plan.values[value];
    int64_t step = 1;
    for (int i = 0; i < v->rank; ++i) {
        enter_axis(e, labels, s, v->axes[i], step);
        step *= e->extents[v->axes[i]];
    }
    return (tnri_place){v->place, TNRI_IN_SPAN};
}

/* Does the operand that a value is, or was summed from, have to be conjugated? */
static bool conjugated(const tnri_made_of *of, int value)
{
    const int summed = value - 2 * TNR_EINSUM_OPERANDS;
    const int operand = value < of->equation.count ? value : summed;
    return operand >= 0 && (of->asked->conjugate >> operand & 1U) != 0;
}

static tnri_finish finish_of(const tnri_made_of *of, const tnri_einsum_op *op)
{
    tnri_finish finish = {.plain = true, .overwrite = true, .alpha = {1.0, 0.0}};
    if (op->to == TNR_NONE) {
        finish = of->asked->finish;
    }
    finish.conjugate_a = conjugated(of, op->a);
    finish.conjugate_b = op->b != TNR_NONE && conjugated(of, op->b);
    return finish;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------------------------------- */

/* A product of what was entered: every label is in one group of axes. */
static void make_product(const tnr_engine *engine, const tnri_made_of *of, const tnri_label *labels, tnri_step *step)
{
    tnri_product_clear(&step->product);
    for (int i = 0; i < of->equation.labels; ++i) {
        if (labels[i].extent != 0) {
            tnri_product_add_label(&step->product, &labels[i]);
        }
    }
    tnri_product_fuse(&step->product);
    if (step->a.where == TNRI_NOWHERE) {
        step->product.k.size = 0;
    }
    tnri_product_prepare(engine, &step->product);
}

/* One operand less the labels that the result lacks. */
static void make_sum(const tnri_made_of *of, const tnri_label *labels, tnri_step *step)
{
    bool sums = false;
    step->rank = 0;
    for (int i = 0; i < of->equation.labels; ++i) {
        if (labels[i].in_a) { /* axes of one label are one */
            step->shape[step->rank] = labels[i].extent;
            step->strides[step->rank] = labels[i].a;
            step->spread[step->rank++] = labels[i].c;
            sums = sums || !labels[i].in_c;
        }
    }
    step->kind = sums ? TNRI_STEP_SUM : TNRI_STEP_COPY;
}

/* Nothing to sum, or alpha is 0: the operands are not read. */
static void make_beta(const tnr_engine *engine, const tnri_made_of *of, tnri_label *labels, tnri_step *step)
{
    step->kind = TNRI_STEP_PRODUCT;
    step->last = true;
    step->product.finish = of->asked->finish;
    step->product.finish.conjugate_a = false;
    step->product.finish.conjugate_b = false;
    step->a = (tnri_place){0, TNRI_NOWHERE};
    step->b = step->a;
    step->c = enter_value(of, labels, SIDE_C, TNR_NONE);
    for (int i = 0; i < of->equation.labels; ++i) {
        labels[i].in_a = labels[i].in_c;
    }
    make_product(engine, of, labels, step);
}

void tnri_step_make(const tnr_engine *engine, const tnri_made_of *of, int number, tnri_step *step)
{
    tnri_label labels[TNRI_LABELS];
    memset(labels, 0, (size_t)of->equation.labels * sizeof labels[0]);
    step->product.dtype = of->equation.dtype;
    if (reads_nothing(of)) {
        make_beta(engine, of, labels, step);
        return;
    }
    const tnri_einsum_op *op = &of->plan.ops[number];
    const tnri_finish finish = finish_of(of, op);
    step->last = op->to == TNR_NONE;
    step->a = enter_value(of, labels, SIDE_A, op->a);
    step->c = enter_value(of, labels, SIDE_C, op->to);
    if (op->b == TNR_NONE && (!step->last || (finish.plain && !finish.conjugate_a))) {
        step->b = (tnri_place){0, TNRI_NOWHERE};
        make_sum(of, labels, step);
        return;
    }
    step->kind = TNRI_STEP_PRODUCT;
    step->product.finish = finish;
    if (op->b != TNR_NONE) {
        step->b = enter_value(of, labels, SIDE_B, op->b);
    } else { /* every element by itself, times the number 1: a batch */
        step->b = (tnri_place){0, TNRI_AT_ONE};
        for (int i = 0; i < of->equation.labels; ++i) {
            labels[i].in_b = labels[i].in_a;
        }
    }
    make_product(engine, of, labels, step);
}
