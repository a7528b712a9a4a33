/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file reduction.h
 * Operations over axes, which the result drops. The rules of every operation are in engine.h; dtype words as in
 * elementwise.h.
 *
 * The result drops the axes: tnr_view_reshape shows it with extents of 1 in their places, tnr_view_broadcast with the input's
 * shape, both without a copy. Axes are listed in any order. axis_count 0 reduces nothing: every element is its own result (for tnr_norm, its absolute
 * value). TNR_ERR_BOUNDS on an axis that does not exist, TNR_ERR_ARGUMENT on a repeated one, both also for empty tensors
 * and before anything else. Outputs lie apart from the input.
 *
 * Accuracy: float sums are added pairwise in an order that depends on the shape and layout alone, never on the number of
 * workers or the instruction set, so the same call gives the same bits (which of several NaNs a result is, is not promised);
 * for n terms the error is at most about (16 + log2 n) * epsilon * sum |x| (Higham, "The accuracy of floating point
 * summation", SIAM J. Sci. Comput. 14, 1993), whatever the axes, strides and workers. Complex sums keep it in each part.
 * Another layout of the same numbers may give another sum within the bound.
 */
#ifndef TENURE_REDUCTION_H
#define TENURE_REDUCTION_H

#include "tenure/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sum; 0 over an axis of extent 0. Numbers; integers wrap. */
TNR_API TNR_MUST_CHECK tnr_status tnr_sum(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                          tnr_tensor **out);
/** @copydoc tnr_sum */
TNR_API TNR_MUST_CHECK tnr_status tnr_sum_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                               const tnr_view_mut *out);

/**
 * Product, in the same order as sums; 1 over an axis of extent 0. Numbers; integers wrap. Partial products may leave the range
 * of floats even where the whole would not.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_prod(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                           tnr_tensor **out);
/** @copydoc tnr_prod */
TNR_API TNR_MUST_CHECK tnr_status tnr_prod_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                                const tnr_view_mut *out);

/**
 * Largest element, as tnr_maximum: any NaN gives NaN, +0 beats -0. Ordered. TNR_ERR_SHAPE over an axis of extent 0, also when
 * there are no outputs.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_max(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                          tnr_tensor **out);
/** @copydoc tnr_max */
TNR_API TNR_MUST_CHECK tnr_status tnr_max_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                               const tnr_view_mut *out);

/** Smallest element, as tnr_minimum. Ordered. TNR_ERR_SHAPE over an axis of extent 0. */
TNR_API TNR_MUST_CHECK tnr_status tnr_min(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                          tnr_tensor **out);
/** @copydoc tnr_min */
TNR_API TNR_MUST_CHECK tnr_status tnr_min_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                               const tnr_view_mut *out);

/** Are all true? True over an axis of extent 0. Bool only (any byte but 0 is true): tnr_compare makes bools. */
TNR_API TNR_MUST_CHECK tnr_status tnr_all(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                          tnr_tensor **out);
/** @copydoc tnr_all */
TNR_API TNR_MUST_CHECK tnr_status tnr_all_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                               const tnr_view_mut *out);

/** Is any true? False over an axis of extent 0. Bool only. */
TNR_API TNR_MUST_CHECK tnr_status tnr_any(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                          tnr_tensor **out);
/** @copydoc tnr_any */
TNR_API TNR_MUST_CHECK tnr_status tnr_any_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                               const tnr_view_mut *out);

/**
 * Euclidean norm: the root of the sum of squared absolute values, scaled where squares would overflow or underflow; 0 over
 * an axis of extent 0. Any infinity gives infinity, else any NaN gives NaN. Floats; complex gives the real dtype of its
 * precision. Relative error as a sum's of as many positive terms. Outputs whose sum of squares leaves the range (0 does) cost a
 * second pass on one worker.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_norm(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                           tnr_tensor **out);
/** @copydoc tnr_norm */
TNR_API TNR_MUST_CHECK tnr_status tnr_norm_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                                const tnr_view_mut *out);

/**
 * Index along one axis of the largest element, as i64: the first of equal ones (-0 and +0 are equal here), the first NaN if
 * there is any. Ordered. TNR_ERR_SHAPE when the axis has extent 0.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_argmax(tnr_engine *engine, const tnr_view *a, int axis, tnr_tensor **out);
/** @copydoc tnr_argmax */
TNR_API TNR_MUST_CHECK tnr_status tnr_argmax_into(tnr_engine *engine, const tnr_view *a, int axis,
                                                  const tnr_view_mut *out);

/** The same of the smallest element. */
TNR_API TNR_MUST_CHECK tnr_status tnr_argmin(tnr_engine *engine, const tnr_view *a, int axis, tnr_tensor **out);
/** @copydoc tnr_argmin */
TNR_API TNR_MUST_CHECK tnr_status tnr_argmin_into(tnr_engine *engine, const tnr_view *a, int axis,
                                                  const tnr_view_mut *out);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_REDUCTION_H */
