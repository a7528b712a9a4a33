/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of contractions and einsum: labels as numbers, a path of pairs, and the operations that it becomes. A contraction of two is an
 * einsum of one operation.
 *
 * Labels are numbered as they are met first; a set of them is a mask. Values are what operations read and write: the operands of the
 * equation, numbers 0 to count - 1, what steps give, count to 2 * count - 2, and operands less the labels that only they have.
 */
#ifndef TENURE_ENGINE_EINSUM_INTERNAL_H
#define TENURE_ENGINE_EINSUM_INTERNAL_H

#include "labels_internal.h"
#include "span_internal.h"
#include "tenure/einsum.h"

/* ---- Equations (einsum_equation.c) --------------------------------------------------------------------------------------------- */

typedef struct tnri_equation {
    int count;  /* of operands */
    int labels; /* of distinct labels */
    int out_rank;
    tnr_dtype dtype;
    bool empty;                             /* some label has no index */
    uint64_t longer;                        /* labels whose extent is not 1 */
    uint64_t out;                           /* labels of the result */
    uint64_t operands[TNR_EINSUM_OPERANDS]; /* labels of each operand */
    int64_t extents[TNRI_LABELS];
    char names[TNRI_LABELS];
    uint8_t ranks[TNR_EINSUM_OPERANDS];
    uint8_t axes[TNR_EINSUM_OPERANDS][TNR_MAX_RANK]; /* label of each axis */
    uint8_t out_axes[TNR_MAX_RANK];
    int64_t out_shape[TNR_MAX_RANK];
} tnri_equation;

/* 1 to TNR_EINSUM_OPERANDS plausible views of one dtype. `names` (NULL: none) and `op` are for texts of failures. */
tnr_status tnri_operands_check(const char *op, const tnr_view *const *operands, int count, const char *const *names);

/* Read the text and the shapes of checked operands. */
tnr_status tnri_equation_read(const char *op, const char *text, const tnr_view *const *operands, int count,
                              tnri_equation *equation);

/* The same of two operands, with the labels of a, b and the result apart; indices that are summed over can be counted. */
tnr_status tnri_equation_of_pair(const char *op, const char *const labels[3], const tnr_view *const *operands,
                                 tnri_equation *equation);

/* ---- Paths (einsum_path.c): pure ------------------------------------------------------------------------------------------------- */

/* Most axes longer than 1 of an intermediate: no group of a product can have more. */
#define TNRI_EINSUM_RANK TNRI_PRODUCT_RANK

/* A path: pairs of values; the i-th gives value count + i. Of one operand: that and TNR_NONE. */
typedef struct tnri_path {
    int count; /* of pairs */
    tnr_einsum_mode mode;
    bool given;
    bool at_once; /* one step, which sums labels of one operand alone too: a contraction of two */
    int a[TNR_EINSUM_OPERANDS];
    int b[TNR_EINSUM_OPERANDS];
} tnri_path;

/* Options, which may be NULL, over the defaults in *taken. (einsum_report.c) */
tnr_status tnri_einsum_options_take(const char *op, const tnr_einsum_options *options, int count,
                                    tnr_einsum_options *taken);

/* What a path costs, for programs. (einsum_report.c) */
struct tnri_einsum_plan;
void tnri_path_report(const tnri_equation *equation, const tnri_path *path, const struct tnri_einsum_plan *plan,
                      tnr_contraction_path *told);

/* By the options' mode, or as they say. */
tnr_status tnri_path_find(const char *op, const tnri_equation *equation, const tnr_einsum_options *options,
                          tnri_path *path);

/* The only one of a contraction of two. */
void tnri_path_of_pair(tnri_path *path);

/* Labels that are left when the values of a set of operands have met: those that anything outside the set has. */
uint64_t tnri_path_left(const tnri_equation *equation, uint32_t set);

/* Product of the extents of a set of labels, roundly. */
double tnri_path_elements(const tnri_equation *equation, uint64_t labels);

/* ---- Plans (einsum_plan.c): pure --------------------------------------------------------------------------------------------------- */

#define TNRI_EINSUM_VALUES (3 * TNR_EINSUM_OPERANDS)

/* A value that is not an operand: compact, column-major, axes in the order of `axes`; extents of 1 are left out. */
typedef struct tnri_value {
    uint64_t labels;
    int64_t elements;
    uint64_t place; /* in the span of intermediates, in bytes */
    int rank;
    uint8_t axes[TNRI_EINSUM_RANK];
} tnri_value;

/* One operation. */
typedef struct tnri_einsum_op {
    int a;
    int b;    /* TNR_NONE: a is summed over the labels that `to` lacks */
    int to;   /* TNR_NONE: the result */
    int step; /* of the path */
} tnri_einsum_op;

typedef struct tnri_einsum_plan {
    int count; /* of operations */
    int64_t largest;
    uint64_t bytes; /* of the span */
    tnri_einsum_op ops[2 * TNR_EINSUM_OPERANDS];
    tnri_value values[TNRI_EINSUM_VALUES];
} tnri_einsum_plan;

/* The operations of a path, where their results lie and in which order of axes. `finished`: the end cannot be part of a sum. */
tnr_status tnri_einsum_plan_make(const char *op, const tnri_equation *equation, const tnri_path *path, bool finished,
                                 tnri_einsum_plan *plan);

/* Equation, path and plan of a call that is not made, everything checked as tnr_einsum does. (einsum_report.c) */
tnr_status tnri_einsum_consider(const char *op, const char *equation, const tnr_view *const *operands, int count,
                                const tnr_einsum_options *options, tnri_equation *e, tnri_path *path,
                                tnri_einsum_plan *plan);

#endif /* TENURE_ENGINE_EINSUM_INTERNAL_H */
