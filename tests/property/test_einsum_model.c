/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Einsum against the sum over all labels by definition: random equations of one to six operands in any layout, every way to a path,
 * alpha, beta and conjugates, outputs that held NaN, scratch that comes dirty. Whole numbers exactly, others within the bound of
 * their accumulation. And the same bits from an engine with workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/einsum_test.h"
#include "support/engines_world.h"

/* A path of pairs drawn by lot. */
static void random_path(int count, tnr_einsum_step *steps)
{
    int numbers[2 * MOST_OPERANDS];
    int left = count;
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
    }
    steps[0].a = 0;
    steps[0].b = TNR_NONE;
    for (int i = 0; i + 1 < count; i++) {
        const int a = (int)within(0, left - 1);
        steps[i].a = numbers[a];
        numbers[a] = numbers[--left];
        const int b = (int)within(0, left - 1);
        steps[i].b = numbers[b];
        numbers[b] = count + i;
    }
}

typedef struct expected {
    int64_t count;
    double complex *values;
    double *bounds; /* of errors; 0: none */
} expected;

static void complain(const sum_case *c, int64_t at, double complex found, double complex wanted)
{
    for (int i = 0; i < c->labels; i++) {
        print_error("%c=%lld ", 'a' + i, (long long)c->extents[i]);
    }
    print_error("\n");
    fail_msg("%s %s, element %lld: %g%+gi, expected %g%+gi", tnr_dtype_name(c->dtype), c->equation, (long long)at,
             creal(found), cimag(found), creal(wanted), cimag(wanted));
}

static void check_value(const sum_case *c, int64_t at, double complex found, const expected *e)
{
    if (!(cabs(found - e->values[at]) <= e->bounds[at])) {
        complain(c, at, found, e->values[at]);
    }
}

/* The view holds what is expected, and the rest of the owner what it held. */
static void check_seen(const sum_case *c, const seen *out, const void *before, const expected *e)
{
    bool *inside = calloc((size_t)out->count + 1, sizeof *inside);
    assert_non_null(inside);
    int64_t shape[TNR_MAX_RANK];
    for (int i = 0; i < c->out.rank; i++) {
        shape[i] = extent_of(c, c->out.labels[i]);
    }
    for (int64_t i = 0; i < e->count; i++) {
        int64_t index[TNR_MAX_RANK];
        index_of(c->out.rank, shape, i, index);
        const int64_t at = out->view.view.offset + offset_of(c->out.rank, out->view.view.strides, index);
        inside[at] = true;
        check_value(c, i, element_get(c->dtype, out->data, at), e);
    }
    const size_t size = tnr_dtype_size(c->dtype);
    for (int64_t i = 0; i < out->count; i++) {
        assert_true(inside[i] || memcmp((const char *)out->data + (size_t)i * size,
                                        (const char *)before + (size_t)i * size, size) == 0);
    }
    free(inside);
}

static void check_made(const sum_case *c, tnr_tensor *made, const expected *e)
{
    const void *data;
    OK(tnr_tensor_host_data(made, &data));
    for (int64_t i = 0; i < e->count; i++) {
        check_value(c, i, element_get(c->dtype, data, i), e);
    }
}

/* One equation by every way, into views and as new tensors. */
static void one_case(world *w, const sum_case *c, bool whole, bool accumulate)
{
    seen operands[MOST_OPERANDS];
    const tnr_view *views[MOST_OPERANDS];
    for (int i = 0; i < c->count; i++) {
        operands[i] = make_seen(w->heap, c, &c->terms[i], chance(3));
        fill_seen(c, &operands[i], whole);
        views[i] = &operands[i].view.view;
    }
    seen out = make_seen(w->heap, c, &c->out, chance(3));
    const size_t bytes = (size_t)out.count * tnr_dtype_size(c->dtype);
    static char nothing[1]; /* an empty owner has no address */
    out.data = bytes > 0 ? out.data : nothing;
    void *before = malloc(bytes + 1);
    void *first = malloc(bytes + 1);
    expected e = {.count = term_count(c, &c->out)};
    e.values = calloc((size_t)e.count + 1, sizeof *e.values);
    e.bounds = calloc((size_t)e.count + 1, sizeof *e.bounds);
    assert_true(before != NULL && first != NULL && e.values != NULL && e.bounds != NULL);
    if (accumulate) {
        fill_seen(c, &out, whole);
    } else {
        for (int64_t i = 0; i < out.count; i++) {
            element_set(c->dtype, out.data, i, (double)NAN, (double)NAN);
        }
    }
    memcpy(before, out.data, bytes);

    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    if (chance(2)) {
        options.conjugate = random_bits() & ((UINT64_C(1) << c->count) - 1);
    }
    if (chance(3)) {
        options.alpha = (tnr_scalar){(double)within(-2, 2), (double)within(-1, 1)};
    }
    if (accumulate) {
        options.beta = (tnr_scalar){(double)within(-2, 2), (double)within(-1, 1)};
    }
    const bool complex_case = is_complex(c->dtype);
    const double complex alpha = options.alpha.re + (complex_case ? I * options.alpha.im : 0.0);
    const double complex beta = options.beta.re + (complex_case ? I * options.beta.im : 0.0);
    sum_by_definition(c, operands, complex_case ? options.conjugate : 0, e.values, e.bounds);
    const double epsilon = is_single(c->dtype) ? (double)FLT_EPSILON : DBL_EPSILON;
    const double roundings = (double)(case_loop(c) + 8 * c->count + 8);
    int64_t shape[TNR_MAX_RANK];
    for (int i = 0; i < c->out.rank; i++) {
        shape[i] = extent_of(c, c->out.labels[i]);
    }
    for (int64_t i = 0; i < e.count; i++) {
        int64_t index[TNR_MAX_RANK];
        index_of(c->out.rank, shape, i, index);
        double complex old = 0.0;
        if (beta != 0.0) {
            old = element_get(c->dtype, before,
                              out.view.view.offset + offset_of(c->out.rank, out.view.view.strides, index));
        }
        e.values[i] = alpha * e.values[i] + beta * old;
        e.bounds[i] = whole ? 0.0 : epsilon * roundings * (cabs(alpha) * e.bounds[i] + cabs(beta) * cabs(old));
    }

    tnr_einsum_step steps[MOST_OPERANDS];
    random_path(c->count, steps);
    for (int way = 0; way < 5; way++) {
        options.mode = way < 4 ? (tnr_einsum_mode)way : TNR_EINSUM_AUTOMATIC;
        options.steps = way == 4 ? steps : NULL;
        options.step_count = way < 4 ? 0 : c->count == 1 ? 1 : c->count - 1;
        OK(tnr_einsum_into(w->engine, c->equation, views, c->count, &options, &out.view));
        check_seen(c, &out, before, &e);
        if (w->team != NULL) {
            memcpy(first, out.data, bytes);
            memcpy(out.data, before, bytes);
            OK(tnr_einsum_into(w->team, c->equation, views, c->count, &options, &out.view));
            assert_memory_equal(first, out.data, bytes);
        }
        memcpy(out.data, before, bytes);
        if (beta == 0.0) {
            tnr_tensor *made = NULL;
            OK(tnr_einsum(w->engine, c->equation, views, c->count, &options, &made));
            check_made(c, made, &e);
            release(&made);
        }
    }
    for (int i = 0; i < c->count; i++) {
        release(&operands[i].tensor);
    }
    release(&out.tensor);
    free(before);
    free(first);
    free(e.values);
    free(e.bounds);
}

static void many(int cases, bool whole)
{
    seed_from_environment();
    world w;
    open_world(&w);
    for (int i = 0; i < cases; i++) {
        if (i % 20 == 0) { /* new scratch, dirty */
            close_engines(&w);
            open_engines(&w);
        }
        const sum_case c = random_case(MOST_OPERANDS, 20000);
        one_case(&w, &c, whole, chance(3));
    }
    close_world(&w);
}

static void whole_numbers_are_exact_by_every_path(void **state)
{
    (void)state;
    many(700, true);
}

static void others_are_within_their_bound(void **state)
{
    (void)state;
    many(300, false);
}

/* Products that are packed behind intermediates: the two do not meet. */
static void large_chains(void **state)
{
    (void)state;
    seed_from_environment();
    world w;
    open_world(&w);
    static const struct {
        const char *terms[4];
        const char *out;
        int64_t extents[MOST_LABELS];
    } chains[] = {{{"ab", "bc", "cd", "de"}, "ea", {5, 40, 45, 50, 3}},
                  {{"abc", "cde", "efa", "g"}, "bdfg", {12, 7, 13, 6, 11, 5, 2}},
                  {{"ab", "cb", "cd", "bd"}, "ad", {130, 3, 100, 4}}};
    for (size_t n = 0; n < sizeof chains / sizeof chains[0]; n++) {
        for (int d = 0; d < 4; d++) {
            sum_case c = {.dtype = (tnr_dtype[]){TNR_F32, TNR_F64, TNR_C32, TNR_C64}[d], .count = 4, .labels = 7};
            memcpy(c.extents, chains[n].extents, sizeof c.extents);
            for (int i = 0; i < 7; i++) {
                c.extents[i] = c.extents[i] == 0 ? 1 : c.extents[i];
            }
            for (int i = 0; i < 4; i++) {
                (void)snprintf(c.terms[i].labels, sizeof c.terms[i].labels, "%s", chains[n].terms[i]);
                c.terms[i].rank = (int)strlen(chains[n].terms[i]);
            }
            (void)snprintf(c.out.labels, sizeof c.out.labels, "%s", chains[n].out);
            c.out.rank = (int)strlen(chains[n].out);
            write_equation(&c);
            one_case(&w, &c, true, false);
        }
    }
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_exact_by_every_path),
        cmocka_unit_test(others_are_within_their_bound),
        cmocka_unit_test(large_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
