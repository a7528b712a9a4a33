/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file contract.h
 * Contractions: products of two tensors summed over common axes. The rules of every operation are in engine.h.
 *
 * Each axis has a label, a letter (a to z, A to Z) or a digit, one character per axis in the order of the axes. What a label is follows from
 * where it stands:
 *
 *   in a, b and out    an index of all three (batch)
 *   in one and out     an index of the result
 *   in a and b         summed
 *   in one alone       summed too, in that operand, before it meets the other
 *   twice in one       its diagonal, any number of times
 *
 * One label has one extent everywhere: 1 does not stretch. "ik", "kj" and "ij" are the matrix product; "bik", "bkj" and "bij" a batch of
 * them; "i", "j" and "ij" the outer product; "ab", "ab" and "" the sum of all products, of rank 0.
 *
 * Operands and result have one dtype (TNR_ERR_DTYPE): nothing is widened behind the caller's back, for that would double the
 * multiplications. A real a with a complex b needs no widening: see b and out as pairs of reals, "ik" with "ckj" gives "cij" for
 * tnr_view_as_real(b) and tnr_view_mut_as_real(out), without a copy. That is a contraction of reals: conjugates mean nothing in it, and
 * of alpha and beta only re counts. For the conjugate of b, contract the parts apart, the second with alpha -1.
 */
#ifndef TENURE_CONTRACT_H
#define TENURE_CONTRACT_H

#include "tenure/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * out = alpha * (a b, summed) for operands of any layout, none of which is copied as a whole; out's axes come in the order of
 * out_labels. f32 f64 c32 c64; options NULL: defaults, beta must be 0. An index that is summed over nothing (extent 0) gives zeros.
 *
 * TNR_ERR_ARGUMENT for a character that is no label, a label of out that is in neither operand or twice in out; TNR_ERR_SHAPE for
 * labels of another number than the view's axes, and for a label with two extents. Scratch: one block of the engine's, of at most what
 * tnr_contract_need says, for sums of one operand alone and, behind them, for the product as in tnr_matmul_into.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_contract(tnr_engine *engine, const tnr_view *a, const char *a_labels,
                                               const tnr_view *b, const char *b_labels, const char *out_labels,
                                               const tnr_product_options *options, tnr_tensor **out);

/** out = alpha * (a b, summed) + beta * out. With beta 0 whatever out held does not matter. */
TNR_API TNR_MUST_CHECK tnr_status tnr_contract_into(tnr_engine *engine, const tnr_view *a, const char *a_labels,
                                                    const tnr_view *b, const char *b_labels, const char *out_labels,
                                                    const tnr_product_options *options, const tnr_view_mut *out);

/**
 * Need of the scratch of an engine with so many workers (0: one made without a topology) for this contraction, whatever the strides: of
 * a and b dtype and shape alone are looked at, so that views of tnr_view_shaped will do. All 0 where it takes none. As with tnr_matmul_need the engine keeps one scratch: give
 * the largest of several answers as tnr_engine_options.scratch_bytes, and no call takes any. Errors as tnr_contract; pure, thread-safe.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_contract_need(const tnr_view *a, const char *a_labels, const tnr_view *b,
                                                    const char *b_labels, const char *out_labels, int workers,
                                                    tnr_need *need);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_CONTRACT_H */
