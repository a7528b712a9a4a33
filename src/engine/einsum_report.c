/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths for programs: what a path costs, and as text. Pure; no stdio.
 */
#include "einsum_internal.h"

tnr_status tnri_einsum_options_take(const char *op, const tnr_einsum_options *options, int count,
                                    tnr_einsum_options *taken)
{
    TNR_TRY(tnri_options_take(op, options, sizeof *taken, taken, sizeof *taken));
    TNR_REQUIRE(taken->conjugate >> 1 >> (count - 1) == 0, TNR_ERR_ARGUMENT,
                "%s: a bit of conjugate is set that none of the %d operands has", op, count);
    TNR_REQUIRE(taken->step_count >= 0, TNR_ERR_ARGUMENT, "%s: %d steps", op, taken->step_count);
    return TNR_OK;
}

/* ---- Costs ----------------------------------------------------------------------------------------------------------------------- */

/* Labels of a value of the path; of operands less those that they alone have, where these are summed first. */
static uint64_t labels_of(const tnri_equation *e, const tnri_path *path, const uint32_t *sets, int value)
{
    return value < e->count && path->at_once ? e->operands[value] : tnri_path_left(e, sets[value]);
}

/* Additions of the sum that an operand goes through first. */
static double sum_before(const tnri_equation *e, const tnri_path *path, const uint32_t *sets, int value)
{
    if (value >= e->count || path->at_once || (e->operands[value] & ~tnri_path_left(e, sets[value]) & e->longer) == 0) {
        return 0.0;
    }
    return tnri_path_elements(e, e->operands[value]);
}

static char *put_labels(const tnri_equation *e, char *at, uint64_t labels)
{
    for (uint64_t rest = labels; rest != 0; rest &= rest - 1) {
        *at++ = e->names[tnri_lowest_bit(rest)];
    }
    return at;
}

/* An operand's labels stand as in its equation, diagonals included; others in the order in which they were met. */
static char *put_value(const tnri_equation *e, const uint32_t *sets, char *at, int value)
{
    if (value >= e->count) {
        return put_labels(e, at, tnri_path_left(e, sets[value]));
    }
    for (int i = 0; i < e->ranks[value]; ++i) {
        *at++ = e->names[e->axes[value][i]];
    }
    return at;
}

static char *put_out(const tnri_equation *e, char *at)
{
    for (int i = 0; i < e->out_rank; ++i) {
        *at++ = e->names[e->out_axes[i]];
    }
    return at;
}

static void report_step(const tnri_equation *e, const tnri_path *path, const uint32_t *sets, int number,
                        tnr_einsum_step *step)
{
    const bool complex = tnri_is_complex(e->dtype);
    const double addition = complex ? 2.0 : 1.0;
    const bool last = number + 1 == path->count;
    const int own = e->count + number;
    memset(step, 0, sizeof *step);
    step->a = path->a[number];
    step->b = path->b[number];
    char *at = put_value(e, sets, step->equation, step->a);
    if (step->b == TNR_NONE) {
        step->flops = addition * sum_before(e, path, sets, step->a);
    } else {
        *at++ = ',';
        at = put_value(e, sets, at, step->b);
        const double pairs =
            tnri_path_elements(e, labels_of(e, path, sets, step->a) | labels_of(e, path, sets, step->b));
        step->flops = (complex ? 8.0 : 2.0) * pairs +
                      addition * (sum_before(e, path, sets, step->a) + sum_before(e, path, sets, step->b));
    }
    *at++ = '-';
    *at++ = '>';
    at = last ? put_out(e, at) : put_labels(e, at, tnri_path_left(e, sets[own]));
    *at = '\0';
    step->elements = tnri_path_elements(e, last ? e->out : tnri_path_left(e, sets[own]));
}

void tnri_path_report(const tnri_equation *e, const tnri_path *path, const tnri_einsum_plan *plan,
                      tnr_contraction_path *told)
{
    const bool complex = tnri_is_complex(e->dtype);
    uint32_t sets[2 * TNR_EINSUM_OPERANDS];
    for (int i = 0; i < e->count; ++i) {
        sets[i] = UINT32_C(1) << i;
    }
    memset(told, 0, sizeof *told);
    told->operands = e->count;
    told->step_count = path->count;
    told->mode = path->mode;
    told->given = path->given;
    told->largest = plan->largest;
    told->intermediate_bytes = plan->bytes;
    uint64_t all = 0;
    for (int i = 0; i < e->count; ++i) {
        all |= e->operands[i];
    }
    const double rest = e->count > 1 ? (double)(e->count - 1) : 0.0;
    const double additions = complex ? 2.0 : 1.0;
    const bool sums = e->count > 1 || (all & ~e->out & e->longer) != 0;
    told->flops_at_once = tnri_path_elements(e, all) * ((complex ? 6.0 : 1.0) * rest + (sums ? additions : 0.0));
    for (int i = 0; i < path->count; ++i) {
        sets[e->count + i] = sets[path->a[i]] | (path->b[i] == TNR_NONE ? 0U : sets[path->b[i]]);
        report_step(e, path, sets, i, &told->steps[i]);
        told->flops += told->steps[i].flops;
    }
}

tnr_status tnri_einsum_consider(const char *op, const char *equation, const tnr_view *const *operands, int count,
                                const tnr_einsum_options *options, tnri_equation *e, tnri_path *path,
                                tnri_einsum_plan *plan)
{
    TNR_TRY(tnri_operands_check(op, operands, count, NULL));
    TNR_TRY(tnri_equation_read(op, equation, operands, count, e));
    if (!tnri_has_product(e->dtype)) {
        return tnri_fail_unsupported(op, e->dtype);
    }
    tnr_einsum_options taken = TNR_EINSUM_OPTIONS;
    TNR_TRY(tnri_einsum_options_take(op, options, count, &taken));
    tnri_finish finish;
    tnr_product_options product = TNR_PRODUCT_OPTIONS;
    product.alpha = taken.alpha;
    product.beta = taken.beta;
    TNR_TRY(tnri_finish_take(op, &product, e->dtype, true, &finish));
    const bool complex = tnr_dtype_real(e->dtype) != e->dtype;
    TNR_TRY(tnri_path_find(op, e, &taken, path));
    return tnri_einsum_plan_make(op, e, path, !finish.plain || (complex && taken.conjugate != 0), plan);
}

tnr_status tnr_einsum_path(const char *equation, const tnr_view *const *operands, int count,
                           const tnr_einsum_options *options, tnr_contraction_path *path)
{
    static const char *const op = "einsum_path";
    TNR_REQUIRE(path != NULL, TNR_ERR_ARGUMENT, "einsum_path: path is NULL");
    tnri_equation e;
    tnri_path found;
    tnri_einsum_plan plan;
    TNR_TRY(tnri_einsum_consider(op, equation, operands, count, options, &e, &found, &plan));
    tnri_path_report(&e, &found, &plan, path);
    return TNR_OK;
}

/* ---- Text ------------------------------------------------------------------------------------------------------------------------ */

typedef struct writer {
    char *text;
    size_t room;
    size_t bytes;
} writer;

static void put(writer *w, char character)
{
    if (w->bytes < w->room) {
        w->text[w->bytes] = character;
    }
    w->bytes++;
}

static void put_text(writer *w, const char *text)
{
    for (; *text != '\0'; ++text) {
        put(w, *text);
    }
}

static void put_number(writer *w, uint64_t number)
{
    char digits[TNRI_DIGITS];
    const int count = tnri_put_decimal(digits, number);
    for (int i = 0; i < count; ++i) {
        put(w, digits[i]);
    }
}

/* A count: whole below 10^15, else four digits and a power of ten. */
static void put_count(writer *w, double count)
{
    if (count < 1e15) {
        put_number(w, (uint64_t)count);
        return;
    }
    if (!(count <= 1.7976931348623157e308)) {
        put_text(w, "more than 1e308");
        return;
    }
    uint64_t power = 0;
    while (count >= 1e4) {
        count /= 10.0;
        ++power;
    }
    const uint64_t digits = (uint64_t)count;
    put_number(w, digits / 1000);
    put(w, '.');
    put_number(w, digits / 100 % 10);
    put_number(w, digits / 10 % 10);
    put_number(w, digits % 10);
    put(w, 'e');
    put_number(w, power + 3);
}

static void put_path(writer *w, const tnr_contraction_path *path)
{
    static const char *const modes[] = {"automatic", "greedy", "exact", "left to right"};
    put_number(w, (uint64_t)path->operands);
    put_text(w, path->operands == 1 ? " operand, path " : " operands, path ");
    put_text(w, path->given ? "as given" : modes[path->mode]);
    put_text(w, ": ");
    put_count(w, path->flops);
    put_text(w, " flops (at once ");
    put_count(w, path->flops_at_once);
    put_text(w, "), largest intermediate ");
    put_number(w, (uint64_t)path->largest);
    put_text(w, " elements, intermediates ");
    put_number(w, path->intermediate_bytes);
    put_text(w, " bytes\n");
    for (int i = 0; i < path->step_count; ++i) {
        const tnr_einsum_step *step = &path->steps[i];
        put_text(w, "  ");
        put_number(w, (uint64_t)path->operands + (uint64_t)i);
        put_text(w, " = ");
        put_number(w, (uint64_t)step->a);
        if (step->b != TNR_NONE) {
            put(w, ' ');
            put_number(w, (uint64_t)step->b);
        }
        put_text(w, "  ");
        put_text(w, step->equation);
        put_text(w, "  ");
        put_count(w, step->flops);
        put_text(w, " flops, ");
        put_count(w, step->elements);
        put_text(w, step->elements == 1.0 ? " element\n" : " elements\n");
    }
    put(w, '\0');
}

tnr_status tnr_einsum_format(const tnr_contraction_path *path, char *text, size_t room, size_t *needed)
{
    TNR_REQUIRE(path != NULL && (text != NULL || room == 0), TNR_ERR_ARGUMENT,
                "einsum_format: path and text must not be NULL");
    TNR_REQUIRE(path->operands >= 1 && path->operands <= TNR_EINSUM_OPERANDS && path->step_count >= 1 &&
                    path->step_count <= TNR_EINSUM_OPERANDS && (unsigned)path->mode <= TNR_EINSUM_LEFT_TO_RIGHT,
                TNR_ERR_ARGUMENT, "einsum_format: no path that einsum_path has filled");
    writer count = {NULL, 0, 0};
    put_path(&count, path);
    if (needed != NULL) {
        *needed = count.bytes;
    }
    TNR_REQUIRE(count.bytes <= room, TNR_ERR_BOUNDS, "einsum_format: the text takes %llu bytes, there is room for %llu",
                TNRI_LLU(count.bytes), TNRI_LLU(room));
    writer whole = {text, room, 0};
    put_path(&whole, path);
    return TNR_OK;
}
