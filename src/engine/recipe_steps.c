/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From operations on values (einsum_plan.c) to steps on axes: which groups of axes a product has, and how it is made.
 *
 * An operand alone is copied or summed as those operations do it; with a factor, or conjugated, it is a product with the number 1. What is
 * summed for later is conjugated later.
 */
#include "recipe_internal.h"

/* ---- Equation, path, operations ------------------------------------------------------------------------------------------------------ */

static bool reads_nothing(const tnri_made_of *of)
{
    return of->equation.empty || of->asked->finish.nothing;
}

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

/* Most labels of one step: those of two values, for a result has none that they lack. */
#define STEP_LABELS (4 * TNR_MAX_RANK < TNRI_LABELS ? 4 * TNR_MAX_RANK : TNRI_LABELS)

/* Labels of one step, as they are met. */
typedef struct step_labels {
    int count;
    uint8_t at[TNRI_LABELS]; /* place of the equation's label, and 1; 0: the step has it not */
    tnri_label labels[STEP_LABELS];
} step_labels;

/* The step's label of that number in the equation; NULL: it has none. */
static tnri_label *label_at(step_labels *all, int number)
{
    return all->at[number] != 0 ? &all->labels[all->at[number] - 1] : NULL;
}

/* An axis of a value. */
static void enter_axis(const tnri_equation *e, step_labels *all, side s, int number, int64_t step)
{
    tnri_label *l = label_at(all, number);
    if (l == NULL) {
        l = &all->labels[all->count];
        *l = (tnri_label){0};
        all->at[number] = (uint8_t)++all->count;
    }
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
static tnri_place enter_value(const tnri_made_of *of, step_labels *labels, side s, int value)
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

bool tnri_step_is_product(const tnri_made_of *of, int number)
{
    if (reads_nothing(of)) {
        return true;
    }
    const tnri_einsum_op *op = &of->plan.ops[number];
    const tnri_finish finish = finish_of(of, op);
    return op->b != TNR_NONE || (op->to == TNR_NONE && (!finish.plain || finish.conjugate_a));
}

/* A product of what was entered: every label is in one group of axes. */
static void finish_product(const tnr_engine *engine, const tnri_made_of *of, step_labels *labels,
                           tnri_step_product *step)
{
    tnri_product_clear(&step->product);
    for (int i = 0; i < of->equation.labels; ++i) {
        const tnri_label *l = label_at(labels, i);
        if (l != NULL && l->extent != 0) {
            tnri_product_add_label(&step->product, l);
        }
    }
    tnri_product_fuse(&step->product);
    if (step->a.where == TNRI_NOWHERE) {
        step->product.k.size = 0;
    }
    tnri_product_prepare(engine, &step->product);
}

static void enter_beta(const tnri_made_of *of, step_labels *labels, tnri_step_product *step)
{
    step->last = true;
    step->product.finish = of->asked->finish;
    step->product.finish.conjugate_a = false;
    step->product.finish.conjugate_b = false;
    step->a = (tnri_place){0, TNRI_NOWHERE};
    step->b = step->a;
    step->c = enter_value(of, labels, SIDE_C, TNR_NONE);
    for (int i = 0; i < labels->count; ++i) {
        labels->labels[i].in_a = labels->labels[i].in_c;
    }
}

static void enter_product(const tnri_made_of *of, const tnri_einsum_op *op, step_labels *labels,
                          tnri_step_product *step)
{
    step->last = op->to == TNR_NONE;
    step->product.finish = finish_of(of, op);
    step->a = enter_value(of, labels, SIDE_A, op->a);
    step->c = enter_value(of, labels, SIDE_C, op->to);
    if (op->b != TNR_NONE) {
        step->b = enter_value(of, labels, SIDE_B, op->b);
        return;
    }
    step->b = (tnri_place){0, TNRI_AT_ONE}; /* every element by itself, times the number 1: a batch */
    for (int i = 0; i < labels->count; ++i) {
        labels->labels[i].in_b = labels->labels[i].in_a;
    }
}

static void begin_labels(step_labels *labels)
{
    labels->count = 0;
    memset(labels->at, 0, sizeof labels->at);
}

void tnri_step_product_make(const tnr_engine *engine, const tnri_made_of *of, int number, tnri_step_product *step)
{
    step_labels labels;
    begin_labels(&labels);
    step->product.dtype = of->equation.dtype;
    if (reads_nothing(of)) {
        enter_beta(of, &labels, step);
    } else {
        enter_product(of, &of->plan.ops[number], &labels, step);
    }
    finish_product(engine, of, &labels, step);
}

/* One operand less the labels that the result lacks. */
void tnri_sum_step_make(const tnri_made_of *of, int number, tnri_step_sum *step)
{
    const tnri_einsum_op *op = &of->plan.ops[number];
    step_labels labels;
    begin_labels(&labels);
    step->a = enter_value(of, &labels, SIDE_A, op->a);
    step->c = enter_value(of, &labels, SIDE_C, op->to);
    bool sums = false;
    step->rank = 0;
    for (int i = 0; i < of->equation.labels; ++i) {
        const tnri_label *l = label_at(&labels, i);
        if (l != NULL && l->in_a) { /* axes of one label are one */
            step->shape[step->rank] = l->extent;
            step->strides[step->rank] = l->a;
            step->spread[step->rank++] = l->c;
            sums = sums || !l->in_c;
        }
    }
    step->kind = sums ? TNRI_STEP_SUM : TNRI_STEP_COPY;
}
