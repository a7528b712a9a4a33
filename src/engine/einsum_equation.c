/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An equation's text, with the shapes of its operands, as numbers. Grammar: labels of operands with commas between, "->", labels of the
 * result; one character a label, nothing else anywhere.
 */
#include "einsum_internal.h"

typedef struct reader {
    const char *op;
    const char *at;
    tnri_equation *equation;
    int numbers[TNRI_LABELS]; /* of the labels by tnri_label_number; -1: not met yet */
} reader;

/* Labels up to what ends an operand or the text. */
static int count_labels(const char *text)
{
    int count = 0;
    while (count <= TNR_MAX_RANK && text[count] != '\0' && text[count] != ',' && text[count] != '-') {
        ++count;
    }
    return count;
}

static tnr_status take_label(reader *r, int *number)
{
    const int label = tnri_label_number(*r->at);
    TNR_REQUIRE(label >= 0, TNR_ERR_ARGUMENT, "%s: equation: character number %d is neither a letter nor a digit",
                r->op, (int)(unsigned char)*r->at);
    ++r->at;
    *number = label;
    return TNR_OK;
}

static tnr_status read_operand(reader *r, int index, const tnr_view *view)
{
    tnri_equation *e = r->equation;
    const int count = count_labels(r->at);
    TNR_REQUIRE(count == view->rank, TNR_ERR_SHAPE, "%s: operand %d has rank %d, and labels for %s%d axes", r->op,
                index, (int)view->rank, count > TNR_MAX_RANK ? "more than " : "",
                count > TNR_MAX_RANK ? TNR_MAX_RANK : count);
    e->operands[index] = 0;
    e->ranks[index] = (uint8_t)view->rank;
    for (int i = 0; i < view->rank; ++i) {
        const char name[2] = {*r->at, '\0'};
        int label;
        TNR_TRY(take_label(r, &label));
        if (r->numbers[label] < 0) {
            TNR_REQUIRE(view->shape[i] >= 0, TNR_ERR_ARGUMENT, "%s: operand %d has extent %lld on axis %d", r->op,
                        index, TNRI_LL(view->shape[i]), i);
            r->numbers[label] = e->labels;
            e->names[e->labels] = name[0];
            e->extents[e->labels] = view->shape[i];
            e->empty = e->empty || view->shape[i] == 0;
            e->longer |= (uint64_t)(view->shape[i] != 1) << e->labels;
            ++e->labels;
        }
        const int number = r->numbers[label];
        TNR_REQUIRE(e->extents[number] == view->shape[i], TNR_ERR_SHAPE,
                    "%s: label %s has extents %lld and, in operand %d, %lld", r->op, name, TNRI_LL(e->extents[number]),
                    index, TNRI_LL(view->shape[i]));
        e->axes[index][i] = (uint8_t)number;
        e->operands[index] |= UINT64_C(1) << number;
    }
    return TNR_OK;
}

static tnr_status read_result(reader *r)
{
    tnri_equation *e = r->equation;
    e->out = 0;
    e->out_rank = 0;
    while (*r->at != '\0') {
        const char name[2] = {*r->at, '\0'};
        int label;
        TNR_TRY(take_label(r, &label));
        const int number = r->numbers[label];
        TNR_REQUIRE(number >= 0, TNR_ERR_ARGUMENT, "%s: label %s of the result is in no operand", r->op, name);
        TNR_REQUIRE((e->out >> number & 1U) == 0, TNR_ERR_ARGUMENT, "%s: label %s is twice in the result", r->op, name);
        TNR_REQUIRE(e->out_rank < TNR_MAX_RANK, TNR_ERR_SHAPE, "%s: the result has labels for more than %d axes", r->op,
                    TNR_MAX_RANK);
        e->out |= UINT64_C(1) << number;
        e->out_shape[e->out_rank] = e->extents[number];
        e->out_axes[e->out_rank++] = (uint8_t)number;
    }
    return TNR_OK;
}

tnr_status tnri_equation_read(const char *op, const char *text, const tnr_view *const *operands, int count,
                              tnri_equation *equation)
{
    TNR_REQUIRE(text != NULL, TNR_ERR_ARGUMENT, "%s: the equation is NULL", op);
    TNR_REQUIRE(operands != NULL && count >= 1 && count <= TNR_EINSUM_OPERANDS, TNR_ERR_ARGUMENT,
                "%s: 1 to %d operands expected, found %d, or no list", op, TNR_EINSUM_OPERANDS, count);
    reader r = {.op = op, .at = text, .equation = equation};
    for (int i = 0; i < TNRI_LABELS; ++i) {
        r.numbers[i] = -1;
    }
    for (int i = 0; i < count; ++i) {
        TNRI_CHECK_VIEW(op, "an operand", operands[i]);
        if (operands[i]->dtype != operands[0]->dtype) {
            return tnri_fail_dtype(op, operands[0]->dtype, operands[i]->dtype);
        }
    }
    equation->count = count;
    equation->labels = 0;
    equation->dtype = operands[0]->dtype;
    equation->empty = false;
    equation->longer = 0;
    for (int i = 0; i < count; ++i) {
        if (i > 0) {
            TNR_REQUIRE(*r.at == ',', TNR_ERR_ARGUMENT, "%s: the equation has %d operands, found %d", op, i, count);
            ++r.at;
        }
        TNR_TRY(read_operand(&r, i, operands[i]));
    }
    TNR_REQUIRE(*r.at != ',', TNR_ERR_ARGUMENT, "%s: the equation has more than %d operands", op, count);
    TNR_REQUIRE(r.at[0] == '-' && r.at[1] == '>', TNR_ERR_ARGUMENT,
                "%s: the equation has no \"->\", after which the labels of the result stand", op);
    r.at += 2;
    return read_result(&r);
}
