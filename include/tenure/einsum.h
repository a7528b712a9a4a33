/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file einsum.h
 * Products of any number of tensors summed over common axes, and the order in which they are best made. The rules of every
 * operation are in engine.h.
 *
 * An equation has the labels of every operand, as contract.h has them, and those of the result: "ab,bc,cd->ad". A label that the
 * result lacks is summed over, in however many operands it is; one that the result has may be in any number of operands. Twice in
 * one operand it is the diagonal. One label has one extent everywhere: 1 does not stretch. Without "->" an equation is refused, and
 * so are blanks, before any shape is looked at: what comes out, and in which order, is always said.
 *
 *   "ij->ji"      a transposed copy          "ij,jk,kl->il"   a chain of matrices
 *   "iij->j"      sum of a diagonal          "a,b,c->abc"     outer product of three vectors
 *   "i->"         sum of all elements        ",ij->ij"        a matrix times a number (an operand of rank 0)
 *
 * More than two operands are contracted in pairs, along a path. Labels that one operand alone has are summed before it meets another.
 * No operand is copied as a whole; what pairs give is kept in one block of scratch, each at a place that was fixed before the first
 * of them was computed, so that a warm call allocates nothing.
 */
#ifndef TENURE_EINSUM_H
#define TENURE_EINSUM_H

#include "tenure/contract.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most operands for which all paths are weighed. */
#define TNR_EINSUM_EXACT_OPERANDS 12

/** Most labels of an equation: letters and digits. */
#define TNR_EINSUM_LABELS 62

/** How a path is found. */
typedef enum tnr_einsum_mode {
    TNR_EINSUM_AUTOMATIC = 0, /**< exact where the search costs less than contracting by the greedy path; else greedy */
    TNR_EINSUM_GREEDY,        /**< the pair next whose result is smallest compared with what it takes away */
    TNR_EINSUM_EXACT,         /**< fewest flops of its products; TNR_ERR_ARGUMENT beyond TNR_EINSUM_EXACT_OPERANDS */
    TNR_EINSUM_LEFT_TO_RIGHT, /**< first with second, their product with third, ... */
    TNR_EINSUM_GIVEN /**< of a path that the options gave; in options with steps alone, without them TNR_ERR_ARGUMENT */
} tnr_einsum_mode;

/**
 * One step of a path. Operands have the numbers 0, 1, ...; the result of step i has the number `count of operands + i`, and the
 * last step's is the result of the whole. Each number is used once.
 */
typedef struct tnr_einsum_step {
    int a;
    int b;        /**< TNR_NONE: a is the only operand of the equation */
    double flops; /**< a multiplication and an addition are 2, of complex numbers 8; with sums of a or b alone before */
    double elements;                          /**< of the result */
    char equation[3 * TNR_EINSUM_LABELS + 4]; /**< as tnr_contract would have it: "ab,bc->ac" */
} tnr_einsum_step;

/** A path, and what it takes. */
typedef struct tnr_contraction_path {
    int operands;
    int step_count;
    tnr_einsum_mode mode;        /**< how it was found, never automatic; where one step is all, left to right */
    bool given;                  /**< by the options */
    double flops;                /**< of all steps */
    double flops_at_once;        /**< of one loop over all labels, all operands multiplied in it */
    int64_t largest;             /**< elements of the largest intermediate; 0: there are none */
    uint64_t intermediate_bytes; /**< scratch that intermediates take at their peak */
    uint64_t reserved[8];        /**< 0 */
    tnr_einsum_step steps[TNR_EINSUM_OPERANDS];
} tnr_contraction_path;

/** Settings. Start from TNR_EINSUM_OPTIONS: the plain result, path found by itself. */
typedef struct tnr_einsum_options {
    size_t size; /**< sizeof(tnr_einsum_options) */
    tnr_einsum_mode mode;
    int step_count;               /**< of `steps`; 0: the path is found by `mode` */
    const tnr_einsum_step *steps; /**< a path of one's own: a and b of each step; the rest is not looked at */
    uint64_t conjugate;           /**< bit i, of an operand: use its conjugate; nothing for real dtypes */
    tnr_scalar alpha;             /**< 0 reads no operand */
    tnr_scalar beta;              /**< 0 does not read out; anything else is refused by tnr_einsum (TNR_ERR_ARGUMENT) */
} tnr_einsum_options;

/* clang-format off */
#define TNR_EINSUM_OPTIONS {sizeof(tnr_einsum_options), TNR_EINSUM_AUTOMATIC, 0, NULL, 0, {1.0, 0.0}, {0.0, 0.0}}
/* clang-format on */

/**
 * out = alpha * (the operands' product, summed), for 1 to TNR_EINSUM_OPERANDS operands of one dtype and of any layouts, of which
 * several may be the same tensor. f32 f64 c32 c64; options NULL: defaults, beta must be 0. A sum over nothing (extent 0) is 0.
 *
 * TNR_ERR_ARGUMENT for an equation that is none, of another number of operands, or with a label of the result that no operand has or
 * that is there twice; for a given path that does not use each number once; for a bit of conjugate beyond the operands. TNR_ERR_SHAPE for labels of another number than an
 * operand's axes and for a label with two extents; TNR_ERR_UNSUPPORTED where an intermediate would have more than 2 * TNR_MAX_RANK axes
 * longer than 1, TNR_ERR_OVERFLOW where its bytes do not fit 63 bits.
 *
 * Scratch: one block of the engine's for the path's intermediates (tnr_contraction_path.intermediate_bytes) and behind them for its products,
 * as tnr_matmul_into says of theirs. With tnr_engine_options.scratch_bytes of tnr_einsum_need no call takes any.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_einsum(tnr_engine *engine, const char *equation, const tnr_view *const *operands,
                                             int count, const tnr_einsum_options *options, tnr_tensor **out);

/** out = alpha * (the operands' product, summed) + beta * out. With beta 0 whatever out held does not matter. */
TNR_API TNR_MUST_CHECK tnr_status tnr_einsum_into(tnr_engine *engine, const char *equation,
                                                  const tnr_view *const *operands, int count,
                                                  const tnr_einsum_options *options, const tnr_view_mut *out);

/**
 * The path that tnr_einsum takes with these operands and options. Looks at the views' dtypes and shapes alone, so that views of
 * tnr_view_shaped will do; pure and thread-safe. Errors as tnr_einsum_into, without those of out. A path that was found once can be given in the options from then on.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_einsum_path(const char *equation, const tnr_view *const *operands, int count,
                                                  const tnr_einsum_options *options, tnr_contraction_path *path);

/**
 * Need of the scratch of an engine with so many workers (0: one made without a topology) for tnr_einsum with these operands and options:
 * intermediates at their peak and, behind them, the largest of the path's products, whatever the strides. As tnr_contract_need.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_einsum_need(const char *equation, const tnr_view *const *operands, int count,
                                                  const tnr_einsum_options *options, int workers, tnr_need *need);

/**
 * A path as text to be read, a line for the whole and one for each step, ended by a zero. *needed (which may be NULL) gets the bytes
 * that it takes, also with TNR_ERR_BOUNDS when they are more than `room` (text may then be NULL and room 0).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_einsum_format(const tnr_contraction_path *path, char *text, size_t room,
                                                    size_t *needed);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_EINSUM_H */
