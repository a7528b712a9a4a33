/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels, with the shapes of the operands that have them, as numbers: of an equation's text, or of two operands and a result whose labels
 * stand apart. Grammar of a text: labels of operands with commas between, "->", labels of the result; one character a label, nothing
 * else anywhere.
 */
#include "einsum_internal.h"

typedef struct reader {
    const char *op;
    const char *at;
    tnri_equation *equation;
    bool apart;                  /* a text is one operand's labels or the result's, and its end is theirs */
    int8_t numbers[TNRI_LABELS]; /* of the labels by tnri_label_number; -1: not met yet */
    char name[16];
} reader;

/* How failures call an operand. */
static const char *name_of(reader *r, int index)
{
    static const char *const letters[] = {"a", "b"};
    if (r->apart) {
        return letters[index];
    }
    static const char word[] = "operand ";
    memcpy(r->name, word, sizeof word);
    r->name[sizeof word - 1 + (size_t)tnri_put_decimal(r->name + sizeof word - 1, (uint64_t)index)] = '\0';
    return r->name;
}

/* Labels up to what ends an operand or the text. */
static int count_labels(const reader *r)
{
    const char *text = r->at;
    int count = 0;
    while (count <= TNR_MAX_RANK && text[count] != '\0' && (r->apart || (text[count] != ',' && text[count] != '-'))) {
        ++count;
    }
    return count;
}

static tnr_status take_label(reader *r, const char *owner, int *number)
{
    const int label = tnri_label_number(*r->at);
    TNR_REQUIRE(label >= 0, TNR_ERR_ARGUMENT, "%s: labels of %s: character number %d is neither a letter nor a digit",
                r->op, owner, (int)(unsigned char)*r->at);
    ++r->at;
    *number = label;
    return TNR_OK;
}

static tnr_status read_operand(reader *r, int index, const tnr_view *view)
{
    tnri_equation *e = r->equation;
    const int count = count_labels(r);
    TNR_REQUIRE(count == view->rank, TNR_ERR_SHAPE, "%s: %s has rank %d, and labels for %s%d axes", r->op,
                name_of(r, index), (int)view->rank, count > TNR_MAX_RANK ? "more than " : "",
                count > TNR_MAX_RANK ? TNR_MAX_RANK : count);
    uint64_t labels = 0;
    e->ranks[index] = (uint8_t)view->rank;
    for (int i = 0; i < view->rank; ++i) {
        const char name[2] = {*r->at, '\0'};
        int label = tnri_label_number(name[0]);
        if (TNRI_UNLIKELY(label < 0)) {
            return take_label(r, name_of(r, index), &label);
        }
        ++r->at;
        if (r->numbers[label] < 0) {
            TNR_REQUIRE(view->shape[i] >= 0, TNR_ERR_ARGUMENT, "%s: %s has extent %lld on axis %d", r->op,
                        name_of(r, index), TNRI_LL(view->shape[i]), i);
            r->numbers[label] = (int8_t)e->labels;
            e->names[e->labels] = name[0];
            e->extents[e->labels] = view->shape[i];
            e->empty = e->empty || view->shape[i] == 0;
            e->longer |= (uint64_t)(view->shape[i] != 1) << e->labels;
            ++e->labels;
        }
        const int number = r->numbers[label];
        TNR_REQUIRE(e->extents[number] == view->shape[i], TNR_ERR_SHAPE,
                    "%s: label %s has extents %lld and, in %s, %lld", r->op, name, TNRI_LL(e->extents[number]),
                    name_of(r, index), TNRI_LL(view->shape[i]));
        e->axes[index][i] = (uint8_t)number;
        labels |= UINT64_C(1) << number;
    }
    e->operands[index] = labels;
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
        TNR_TRY(take_label(r, "the result", &label));
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

static void begin(reader *r, const char *op, bool apart, const tnr_view *const *operands, int count,
                  tnri_equation *equation)
{
    r->op = op;
    r->apart = apart;
    r->equation = equation;
    memset(r->numbers, -1, sizeof r->numbers);
    equation->count = count;
    equation->labels = 0;
    equation->dtype = operands[0]->dtype;
    equation->empty = false;
    equation->longer = 0;
}

tnr_status tnri_equation_read(const char *op, const char *text, const tnr_view *const *operands, int count,
                              tnri_equation *equation)
{
    TNR_REQUIRE(text != NULL, TNR_ERR_ARGUMENT, "%s: the equation is NULL", op);
    reader r;
    begin(&r, op, false, operands, count, equation);
    r.at = text;
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

/* Where nothing is summed beforehand, indices that are summed over are those of both operands together. */
static tnr_status check_sum(const char *op, const tnri_equation *e)
{
    int64_t size = 1;
    for (uint64_t rest = (e->operands[0] | e->operands[1]) & ~e->out; rest != 0 && !e->empty; rest &= rest - 1) {
        TNR_REQUIRE(tnri_mul_i64(size, e->extents[tnri_lowest_bit(rest)], &size), TNR_ERR_OVERFLOW,
                    "%s: the number of products that are summed does not fit 63 bits", op);
    }
    return TNR_OK;
}

tnr_status tnri_equation_of_pair(const char *op, const char *const labels[3], const tnr_view *const *operands,
                                 tnri_equation *equation)
{
    reader r;
    begin(&r, op, true, operands, 2, equation);
    for (int i = 0; i < 2; ++i) {
        TNR_REQUIRE(labels[i] != NULL, TNR_ERR_ARGUMENT, "%s: labels of %s are NULL", op, name_of(&r, i));
        r.at = labels[i];
        TNR_TRY(read_operand(&r, i, operands[i]));
    }
    TNR_REQUIRE(labels[2] != NULL, TNR_ERR_ARGUMENT, "%s: labels of out are NULL", op);
    r.at = labels[2];
    TNR_TRY(read_result(&r));
    return check_sum(op, equation);
}

tnr_status tnri_operands_check(const char *op, const tnr_view *const *operands, int count, const char *const *names)
{
    TNR_REQUIRE(operands != NULL && count >= 1 && count <= TNR_EINSUM_OPERANDS, TNR_ERR_ARGUMENT,
                "%s: 1 to %d operands expected, found %d, or no list", op, TNR_EINSUM_OPERANDS, count);
    for (int i = 0; i < count; ++i) {
        TNRI_CHECK_VIEW(op, names != NULL ? names[i] : "an operand", operands[i]);
        if (TNRI_UNLIKELY(operands[i]->dtype != operands[0]->dtype)) {
            return tnri_fail_dtype(op, operands[0]->dtype, operands[i]->dtype);
        }
    }
    return TNR_OK;
}
