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
    bool apart;                   /* a text is one operand's labels or the result's, and its end is theirs */
    int16_t numbers[TNRI_LABELS]; /* of the labels by tnri_label_number; -1: not met yet */
    char name[TNRI_OPERAND_NAME];
} reader;

/* How failures call an operand. */
static const char *name_of(reader *r, int index)
{
    static const char *const letters[] = {"a", "b"};
    return r->apart ? letters[index] : tnri_operand_name(r->name, index);
}

/* Labels up to what ends an operand or the text. */
static int count_labels(const reader *r)
{
    int count = 0;
    while (count <= TNR_MAX_RANK && tnri_label_number(r->at[count]) >= 0) {
        ++count;
    }
    return count;
}

/* Signs are looked at before any shape is: labels as far as they go, and what stands behind them. */
static const char *behind_labels(const char *text)
{
    while (tnri_label_number(*text) >= 0) {
        ++text;
    }
    return text;
}

static TNRI_COLD tnr_status wrong_sign(const char *op, const char *of, const char *text, const char *at,
                                       const char *expected)
{
    const char sign[2] = {*at, '\0'};
    const long long position = TNRI_LL(at - text);
    if (sign[0] >= ' ' && sign[0] <= '~') {
        return tnri_fail(TNR_ERR_ARGUMENT, "%s: %s: character '%s' (at %lld, counted from 0) is not %s", op, of, sign,
                         position, expected);
    }
    return tnri_fail(TNR_ERR_ARGUMENT, "%s: %s: byte %d (at %lld, counted from 0) is not %s", op, of,
                     (int)(unsigned char)sign[0], position, expected);
}

/* Nothing but labels. */
static tnr_status check_labels(const char *op, const char *of, const char *text)
{
    const char *end = behind_labels(text);
    return *end == '\0' ? TNR_OK : wrong_sign(op, of, text, end, "a letter or a digit");
}

/* Nothing but labels, commas and an arrow, for so many operands. */
static tnr_status check_signs(const char *op, const char *text, int count)
{
    int64_t operands = 1;
    const char *at = behind_labels(text);
    for (; *at == ','; at = behind_labels(at + 1)) {
        ++operands;
    }
    TNR_REQUIRE(*at != '\0', TNR_ERR_ARGUMENT,
                "%s: the equation has no \"->\", after which the labels of the result stand", op);
    if (at[0] != '-' || at[1] != '>') {
        return wrong_sign(op, "the equation", text, at, "a letter, a digit, a comma or \"->\"");
    }
    const char *end = behind_labels(at + 2);
    if (*end != '\0') {
        return wrong_sign(op, "the equation", text, end, "a letter or a digit, as the result's labels are");
    }
    TNR_REQUIRE(operands == count, TNR_ERR_ARGUMENT, "%s: number of operands: %lld in the equation, %d given", op,
                TNRI_LL(operands), count);
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
        const int label = tnri_label_number(*r->at++);
        if (r->numbers[label] < 0) {
            TNR_REQUIRE(view->shape[i] >= 0, TNR_ERR_ARGUMENT, "%s: %s has extent %lld on axis %d", r->op,
                        name_of(r, index), TNRI_LL(view->shape[i]), i);
            r->numbers[label] = (int16_t)e->labels;
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
        const int number = r->numbers[tnri_label_number(*r->at++)];
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
    TNR_TRY(check_signs(op, text, count));
    reader r;
    begin(&r, op, false, operands, count, equation);
    r.at = text;
    for (int i = 0; i < count; ++i) {
        TNR_TRY(read_operand(&r, i, operands[i]));
        ++r.at; /* a comma, or the arrow's first sign */
    }
    ++r.at;
    return read_result(&r);
}

tnr_status tnri_equation_of_pair(const char *op, const char *const labels[3], const tnr_view *const *operands,
                                 tnri_equation *equation)
{
    static const char *const of[3] = {"labels of a", "labels of b", "labels of out"};
    reader r;
    for (int i = 0; i < 3; ++i) {
        TNR_REQUIRE(labels[i] != NULL, TNR_ERR_ARGUMENT, "%s: %s are NULL", op, of[i]);
        TNR_TRY(check_labels(op, of[i], labels[i]));
    }
    begin(&r, op, true, operands, 2, equation);
    for (int i = 0; i < 2; ++i) {
        r.at = labels[i];
        TNR_TRY(read_operand(&r, i, operands[i]));
    }
    r.at = labels[2];
    return read_result(&r);
}

const char *tnri_operand_name(char *room, int index)
{
    static const char word[] = "operand ";
    memcpy(room, word, sizeof word);
    room[sizeof word - 1 + (size_t)tnri_put_decimal(room + sizeof word - 1, (uint64_t)index)] = '\0';
    return room;
}

tnr_status tnri_operand_refuse(const char *op, int index, const char *const *names, const tnr_view *view)
{
    char room[TNRI_OPERAND_NAME];
    return tnri_view_refuse(op, names != NULL ? names[index] : tnri_operand_name(room, index), view);
}

static TNRI_COLD tnr_status fail_dtype(const char *op, int index, const char *const *names, tnr_dtype first,
                                       tnr_dtype found)
{
    char rooms[2][TNRI_OPERAND_NAME];
    return tnri_fail(TNR_ERR_DTYPE,
                     "%s: operands must have one dtype, %s is %s, and %s %s: tnr_cast makes one of the other", op,
                     names != NULL ? names[0] : tnri_operand_name(rooms[0], 0), tnr_dtype_name(first),
                     names != NULL ? names[index] : tnri_operand_name(rooms[1], index), tnr_dtype_name(found));
}

tnr_status tnri_operands_check(const char *op, const tnr_view *const *operands, int count, const char *const *names)
{
    TNR_REQUIRE(count >= 1 && count <= TNR_EINSUM_OPERANDS, TNR_ERR_ARGUMENT, "%s: 1 to %d operands expected, found %d",
                op, TNR_EINSUM_OPERANDS, count);
    TNR_REQUIRE(operands != NULL, TNR_ERR_ARGUMENT, "%s: the list of operands is NULL", op);
    for (int i = 0; i < count; ++i) {
        if (TNRI_UNLIKELY(!tnri_view_plausible(operands[i]))) {
            return tnri_operand_refuse(op, i, names, operands[i]);
        }
        if (TNRI_UNLIKELY(operands[i]->dtype != operands[0]->dtype)) {
            return fail_dtype(op, i, names, operands[0]->dtype, operands[i]->dtype);
        }
    }
    return TNR_OK;
}
