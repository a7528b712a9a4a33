/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a path to operations: sums over labels that one operand alone has, then pairs; the order of axes of what they give, and where it
 * lies. Pure.
 *
 * Axes of an intermediate: those that stay free when it meets its partner, those that are summed, and last those of the batch; within each the
 * order of the operands it came from. The free ones come first, or the summed ones where more neighbours are neighbours then in all that
 * has them: these fuse, and products of few axes take less preparation.
 */
#include "einsum_internal.h"

#define NO_ORDER (-1) /* rank of an intermediate whose order of axes is not known yet */

static int reduced(int operand) { return 2 * TNR_EINSUM_OPERANDS + operand; }

/* Labels of any value; those of operands are the equation's. */
static uint64_t labels_of(const tnri_equation *e, const tnri_einsum_plan *plan, int value)
{
    return value < e->count ? e->operands[value] : plan->values[value].labels;
}

static void add(tnri_einsum_plan *plan, int a, int b, int to, int step)
{
    plan->ops[plan->count++] = (tnri_einsum_op){a, b, to, step};
}

/* The value that a step takes for `value`: an operand is summed first over what it alone has. */
static int prepared(const tnri_equation *e, tnri_einsum_plan *plan, int value, int step)
{
    if (value >= e->count) {
        return value;
    }
    const uint64_t left = tnri_path_left(e, UINT32_C(1) << value);
    if ((e->operands[value] & ~left & e->longer) == 0) {
        return value;
    }
    plan->values[reduced(value)].labels = left;
    plan->values[reduced(value)].rank = NO_ORDER;
    add(plan, value, TNR_NONE, reduced(value), step);
    return reduced(value);
}

static void add_operations(const tnri_equation *e, const tnri_path *path, bool finished, tnri_einsum_plan *plan)
{
    plan->count = 0;
    if (e->empty) {
        return;
    }
    if (e->count == 1) {
        add(plan, finished ? prepared(e, plan, 0, 0) : 0, TNR_NONE, TNR_NONE, 0);
        return;
    }
    uint32_t sets[2 * TNR_EINSUM_OPERANDS];
    for (int i = 0; i < e->count; ++i) {
        sets[i] = UINT32_C(1) << i;
    }
    for (int i = 0; i < path->count; ++i) {
        const int a = prepared(e, plan, path->a[i], i);
        const int b = prepared(e, plan, path->b[i], i);
        const int to = i + 1 < path->count ? e->count + i : TNR_NONE;
        sets[e->count + i] = sets[path->a[i]] | sets[path->b[i]];
        if (to != TNR_NONE) {
            plan->values[to].labels = tnri_path_left(e, sets[to]);
            plan->values[to].rank = NO_ORDER;
        }
        add(plan, a, b, to, i);
    }
}

/* The operation that takes the result of operation `number`. */
static int taker_of(const tnri_einsum_plan *plan, int number)
{
    const int value = plan->ops[number].to;
    int taker = number + 1;
    while (plan->ops[taker].a != value && plan->ops[taker].b != value) {
        ++taker;
    }
    return taker;
}

/* Labels of a value, or of the result, in the order of its axes. */
typedef struct axis_list {
    int rank;
    const uint8_t *axes;
} axis_list;

static axis_list axes_of(const tnri_equation *e, const tnri_einsum_plan *plan, int value)
{
    if (value == TNR_NONE) {
        return (axis_list){e->out_rank, e->out_axes};
    }
    return value < e->count ? (axis_list){e->ranks[value], e->axes[value]}
                            : (axis_list){plan->values[value].rank, plan->values[value].axes};
}

/* Go through a value's labels in the order of its axes and append those that `wanted` still has. */
static void append(const tnri_equation *e, const tnri_einsum_plan *plan, int from, uint64_t *wanted, tnri_value *to)
{
    const axis_list list = axes_of(e, plan, from);
    for (int i = 0; i < list.rank; ++i) {
        const uint64_t bit = UINT64_C(1) << list.axes[i];
        if ((*wanted & bit) != 0) {
            *wanted &= ~bit;
            to->axes[to->rank++] = list.axes[i];
        }
    }
}

/* Class by class, each in the order of the operation's operands. */
static void append_classes(const tnri_equation *e, const tnri_einsum_plan *plan, const tnri_einsum_op *op,
                           const uint64_t classes[3], tnri_value *value)
{
    value->rank = 0;
    for (int c = 0; c < 3; ++c) {
        uint64_t wanted = classes[c];
        append(e, plan, op->a, &wanted, value);
        if (op->b != TNR_NONE) {
            append(e, plan, op->b, &wanted, value);
        }
    }
}

/* y comes after x among a value's axes longer than 1, or neither does, as far as is known. */
static bool stay_neighbours(const tnri_equation *e, const tnri_einsum_plan *plan, int value, uint8_t x, uint8_t y)
{
    const axis_list list = axes_of(e, plan, value);
    if (list.rank == NO_ORDER) {
        const uint64_t labels = plan->values[value].labels;
        return (labels >> x & 1) == (labels >> y & 1);
    }
    bool after_x = false;
    for (int i = 0; i < list.rank; ++i) {
        const uint8_t label = list.axes[i];
        if (after_x && (e->longer >> label & 1) != 0) {
            return label == y;
        }
        if (label == y) {
            return false;
        }
        after_x = after_x || label == x;
    }
    return !after_x;
}

/* Neighbours of a value that are such for all else in the operation that gives it, and for all else in the one that takes it. */
static int fused(const tnri_equation *e, const tnri_einsum_plan *plan, const tnri_einsum_op *given,
                 const tnri_einsum_op *taken, int partner, const tnri_value *value)
{
    int count = 0;
    for (int i = 0; i + 1 < value->rank; ++i) {
        const uint8_t x = value->axes[i];
        const uint8_t y = value->axes[i + 1];
        count += stay_neighbours(e, plan, given->a, x, y) &&
                 (given->b == TNR_NONE || stay_neighbours(e, plan, given->b, x, y));
        count += stay_neighbours(e, plan, taken->to, x, y) &&
                 (partner == TNR_NONE || stay_neighbours(e, plan, partner, x, y));
    }
    return count;
}

static void order_axes(const tnri_equation *e, tnri_einsum_plan *plan, int number, int taker)
{
    const tnri_einsum_op *op = &plan->ops[number];
    const tnri_einsum_op *next = &plan->ops[taker];
    tnri_value *value = &plan->values[op->to];
    const int partner = next->a == op->to ? next->b : next->a;
    const uint64_t other = partner == TNR_NONE ? 0 : labels_of(e, plan, partner);
    const uint64_t result = next->to == TNR_NONE ? e->out : plan->values[next->to].labels;
    const uint64_t own = value->labels & e->longer;
    const uint64_t free = own & ~other;
    const uint64_t summed = own & other & ~result;
    const uint64_t batch = own & other & result;
    tnri_value plain = *value;
    tnri_value turned = *value;
    append_classes(e, plan, op, (const uint64_t[]){free, summed, batch}, &plain);
    append_classes(e, plan, op, (const uint64_t[]){summed, free, batch}, &turned);
    *value = fused(e, plan, op, next, partner, &turned) > fused(e, plan, op, next, partner, &plain) ? turned : plain;
}

static tnr_status measure(const char *op, const tnri_equation *e, tnri_value *value, uint64_t *bytes)
{
    int64_t shape = 1;
    for (int i = 0; i < value->rank; ++i) {
        TNR_REQUIRE(tnri_mul_i64(shape, e->extents[value->axes[i]], &shape), TNR_ERR_OVERFLOW,
                    "%s: the elements of an intermediate of the path do not fit 63 bits", op);
    }
    value->elements = shape;
    TNR_REQUIRE(tnri_mul_u64((uint64_t)shape, tnr_dtype_size(e->dtype), bytes) && *bytes <= (uint64_t)INT64_MAX,
                TNR_ERR_OVERFLOW, "%s: the bytes of an intermediate of the path do not fit 63 bits", op);
    return TNR_OK;
}

tnr_status tnri_einsum_plan_make(const char *op, const tnri_equation *equation, const tnri_path *path, bool finished,
                                 tnri_einsum_plan *plan)
{
    tnri_temporary temporaries[2 * TNR_EINSUM_OPERANDS];
    int values[2 * TNR_EINSUM_OPERANDS];
    int count = 0;
    plan->largest = 0;
    add_operations(equation, path, finished, plan);
    for (int i = 0; i < plan->count; ++i) {
        const int to = plan->ops[i].to;
        if (to == TNR_NONE) {
            continue;
        }
        const int taker = taker_of(plan, i);
        order_axes(equation, plan, i, taker);
        tnri_temporary *t = &temporaries[count];
        *t = (tnri_temporary){.first = i, .last = taker};
        TNR_TRY(measure(op, equation, &plan->values[to], &t->bytes));
        if (plan->values[to].elements > plan->largest) {
            plan->largest = plan->values[to].elements;
        }
        values[count++] = to;
    }
    TNR_REQUIRE(tnri_span_place(temporaries, count, &plan->bytes), TNR_ERR_OVERFLOW,
                "%s: the bytes of the path's intermediates do not fit 63 bits", op);
    for (int i = 0; i < count; ++i) {
        plan->values[values[i]].place = temporaries[i].place;
    }
    return TNR_OK;
}
