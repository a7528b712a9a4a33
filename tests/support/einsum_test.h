/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests of einsum share: random equations, operands in any layout, and the sum over all labels by definition.
 */
#ifndef TENURE_TESTS_SUPPORT_EINSUM_TEST_H
#define TENURE_TESTS_SUPPORT_EINSUM_TEST_H

#include <complex.h>
#include <float.h>
#include <math.h>

#include "support/layout_model.h"
#include "support/storage_test.h"
#include "tenure/tenure.h"

enum { MOST_OPERANDS = 6, MOST_LABELS = 16, RANDOM_LABELS = 8 };

typedef struct term {
    int rank;
    char labels[TNR_MAX_RANK + 1];
} term;

/* Labels are 'a' + number. */
typedef struct sum_case {
    tnr_dtype dtype;
    int count;
    int labels;
    int64_t extents[MOST_LABELS];
    term terms[MOST_OPERANDS];
    term out;
    char equation[(MOST_OPERANDS + 1) * (TNR_MAX_RANK + 1) + 3];
} sum_case;

/* An owner larger than the view of it, so that what lies beside the view can be watched. */
typedef struct seen {
    tnr_tensor *tensor;
    tnr_view_mut view;
    void *data;
    int64_t count; /* of the owner */
} seen;

static inline bool is_complex(tnr_dtype dtype) { return dtype == TNR_C32 || dtype == TNR_C64; }
static inline bool is_single(tnr_dtype dtype) { return dtype == TNR_F32 || dtype == TNR_C32; }

static inline double complex element_get(tnr_dtype dtype, const void *data, int64_t at)
{
    switch (dtype) {
    case TNR_F32:
        return (double)((const float *)data)[at];
    case TNR_F64:
        return ((const double *)data)[at];
    case TNR_C32:
        return (double)((const float *)data)[2 * at] + I * (double)((const float *)data)[2 * at + 1];
    default:
        return ((const double *)data)[2 * at] + I * ((const double *)data)[2 * at + 1];
    }
}

static inline void element_set(tnr_dtype dtype, void *data, int64_t at, double re, double im)
{
    switch (dtype) {
    case TNR_F32:
        ((float *)data)[at] = (float)re;
        break;
    case TNR_F64:
        ((double *)data)[at] = re;
        break;
    case TNR_C32:
        ((float *)data)[2 * at] = (float)re;
        ((float *)data)[2 * at + 1] = (float)im;
        break;
    default:
        ((double *)data)[2 * at] = re;
        ((double *)data)[2 * at + 1] = im;
        break;
    }
}

static inline int64_t extent_of(const sum_case *c, char label) { return c->extents[label - 'a']; }

static inline int64_t term_count(const sum_case *c, const term *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->rank; i++) {
        count *= extent_of(c, t->labels[i]);
    }
    return count;
}

static inline bool term_has(const term *t, char label) { return t->rank > 0 && strchr(t->labels, label) != NULL; }

static inline bool case_has(const sum_case *c, char label)
{
    for (int i = 0; i < c->count; i++) {
        if (term_has(&c->terms[i], label)) {
            return true;
        }
    }
    return false;
}

/* Indices of one loop over all labels. */
static inline int64_t case_loop(const sum_case *c)
{
    int64_t all = 1;
    for (int i = 0; i < c->labels; i++) {
        all *= case_has(c, (char)('a' + i)) ? c->extents[i] : 1;
    }
    return all;
}

static inline void write_equation(sum_case *c)
{
    char *at = c->equation;
    for (int i = 0; i < c->count; i++) {
        at += snprintf(at, sizeof c->equation, "%s%s", i > 0 ? "," : "", c->terms[i].labels);
    }
    (void)snprintf(at, sizeof c->equation - (size_t)(at - c->equation), "->%s", c->out.labels);
}

/* A small one, of at most `most` operands. */
static inline sum_case random_case(int most, int64_t loop)
{
    sum_case c;
    do {
        memset(&c, 0, sizeof c);
        c.dtype = (tnr_dtype[]){TNR_F32, TNR_F64, TNR_C32, TNR_C64}[within(0, 3)];
        c.count = (int)within(1, most);
        c.labels = (int)within(1, RANDOM_LABELS);
        const bool large = chance(8);
        for (int i = 0; i < c.labels; i++) {
            c.extents[i] = chance(60) ? 0 : chance(6) ? 1 : within(1, large ? 24 : 5);
        }
        for (int i = 0; i < c.count; i++) {
            c.terms[i].rank = (int)within(0, c.count > 3 ? 3 : 4);
            for (int k = 0; k < c.terms[i].rank; k++) {
                c.terms[i].labels[k] = (char)('a' + within(0, c.labels - 1));
            }
        }
        int order[MOST_LABELS] = {0};
        for (int i = 0; i < c.labels; i++) {
            const int at = (int)within(0, i);
            order[i] = order[at];
            order[at] = i;
        }
        for (int i = 0; i < c.labels; i++) {
            if (case_has(&c, (char)('a' + order[i])) && chance(2)) {
                c.out.labels[c.out.rank++] = (char)('a' + order[i]);
            }
        }
    } while (case_loop(&c) > loop);
    write_equation(&c);
    return c;
}

/* A view of that shape somewhere in a larger owner: steps of 2, axes in any order, some backwards. */
static inline seen make_seen(tnr_domain *domain, const sum_case *c, const term *t, bool plain)
{
    seen made;
    int order[TNR_MAX_RANK] = {0};
    int back[TNR_MAX_RANK] = {0};
    int64_t shape[TNR_MAX_RANK];
    bool wide[TNR_MAX_RANK] = {false};
    for (int i = 0; i < t->rank; i++) {
        const int at = plain ? i : (int)within(0, i);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < t->rank; i++) {
        wide[i] = !plain && chance(4);
        shape[i] = extent_of(c, t->labels[order[i]]) * (wide[i] ? 2 : 1);
        back[order[i]] = i;
    }
    OK(tnr_tensor_zeros(domain, c->dtype, t->rank, shape, &made.tensor));
    made.count = count_of(t->rank, shape);
    OK(tnr_tensor_view_mut(made.tensor, &made.view));
    OK(tnr_tensor_host_data_mut(made.tensor, &made.data));
    for (int i = 0; i < t->rank; i++) {
        if (wide[i]) {
            OK(tnr_view_mut_slice_axis(&made.view, i, (tnr_range){0, TNR_END, 2}, &made.view));
        }
        if (!plain && chance(4)) {
            OK(tnr_view_mut_slice_axis(&made.view, i, (tnr_range){0, TNR_END, -1}, &made.view));
        }
    }
    if (t->rank > 0) {
        OK(tnr_view_mut_permute(&made.view, back, &made.view));
    }
    return made;
}

/* Whole numbers from -2 to 2, or anything from -1 to 1. */
static inline void fill_seen(const sum_case *c, seen *s, bool whole)
{
    for (int64_t i = 0; i < s->count; i++) {
        const double re = whole ? (double)within(-2, 2) : (double)within(-1000000, 1000000) / 1e6;
        const double im = whole ? (double)within(-2, 2) : (double)within(-1000000, 1000000) / 1e6;
        element_set(c->dtype, s->data, i, re, im);
    }
}

/* Position in the owner of the element that the labels' indices choose. */
static inline int64_t element_of(const seen *s, const term *t, const int64_t *index)
{
    int64_t at = s->view.view.offset;
    for (int i = 0; i < t->rank; i++) {
        at += s->view.view.strides[i] * index[t->labels[i] - 'a'];
    }
    return at;
}

/* The sum by definition, and of the terms' magnitudes; compact and column-major as the result's labels stand. */
static inline void sum_by_definition(const sum_case *c, const seen *operands, uint64_t conjugate, double complex *sums,
                                     double *magnitudes)
{
    const int64_t all = case_loop(c);
    for (int64_t i = 0; i < term_count(c, &c->out); i++) {
        sums[i] = 0.0;
        magnitudes[i] = 0.0;
    }
    for (int64_t n = 0; n < all; n++) {
        int64_t index[MOST_LABELS] = {0};
        int64_t rest = n;
        for (int i = 0; i < c->labels; i++) {
            if (case_has(c, (char)('a' + i))) {
                index[i] = rest % c->extents[i];
                rest /= c->extents[i];
            }
        }
        double complex product = 1.0;
        for (int i = 0; i < c->count; i++) {
            const double complex value =
                element_get(c->dtype, operands[i].data, element_of(&operands[i], &c->terms[i], index));
            product *= (conjugate >> i & 1U) != 0 ? conj(value) : value;
        }
        int64_t at = 0;
        int64_t step = 1;
        for (int i = 0; i < c->out.rank; i++) {
            at += step * index[c->out.labels[i] - 'a'];
            step *= extent_of(c, c->out.labels[i]);
        }
        sums[at] += product;
        magnitudes[at] += cabs(product);
    }
}

#endif /* TENURE_TESTS_SUPPORT_EINSUM_TEST_H */
