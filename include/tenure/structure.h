/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file structure.h
 * Copies by name that rearrange elements. The rules of every operation are in engine.h.
 *
 * All dtypes unless a call says otherwise. Each is one entry in the ledger of the output's domain, under its own name.
 * Where a view can say the same without a copy, the call names it. Outputs lie apart from every element of all inputs
 * (TNR_ERR_OVERLAP), also from those that are left out, but for tnr_scatter_into: to copy one part of a tensor to
 * another part, take a view of the part. Integer arguments are checked before the operands' bytes: TNR_ERR_BOUNDS for
 * an axis that does not exist, TNR_ERR_ARGUMENT for a repeated one or a missing list, TNR_ERR_SHAPE for a result of too
 * high a rank (TNR_ERR_ARGUMENT where that is an argument itself), TNR_ERR_OVERFLOW for one whose bytes do not fit 63 bits. Zero is false for bool.
 */
#ifndef TENURE_STRUCTURE_H
#define TENURE_STRUCTURE_H

#include "tenure/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A compact tensor with a's elements. */
TNR_API TNR_MUST_CHECK tnr_status tnr_to_contiguous(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);

/** Copy a's elements to out: same shape and dtype, any layouts. */
TNR_API TNR_MUST_CHECK tnr_status tnr_copy_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** Axis i of the result is axis axes[i] of a; NULL reverses the axes. View: tnr_view_permute. */
TNR_API TNR_MUST_CHECK tnr_status tnr_permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnr_tensor **out);
/** @copydoc tnr_permute */
TNR_API TNR_MUST_CHECK tnr_status tnr_permute_into(tnr_engine *engine, const tnr_view *a, const int *axes,
                                                   const tnr_view_mut *out);

/**
 * a's elements in column-major order under another shape of the same count (else TNR_ERR_SHAPE). View:
 * tnr_view_reshape. tnr_reshape_into takes the shape from out.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_reshape(tnr_engine *engine, const tnr_view *a, int rank, const int64_t *shape,
                                              tnr_tensor **out);
/** @copydoc tnr_reshape */
TNR_API TNR_MUST_CHECK tnr_status tnr_reshape_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/**
 * Repeat a along new axes and axes of extent 1: axis i of a is axis axes[i] of the result. View and errors:
 * tnr_view_broadcast. tnr_broadcast_into takes the shape from out.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_broadcast(tnr_engine *engine, const tnr_view *a, int rank, const int64_t *shape,
                                                const int *axes, tnr_tensor **out);
/**
 * The same into a view. Filling is this with a view of rank 0 (axes NULL): every element of out gets that value.
 * @copydetails tnr_broadcast
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_broadcast_into(tnr_engine *engine, const tnr_view *a, const int *axes,
                                                     const tnr_view_mut *out);

/** One range per axis. View, ranges and errors: tnr_view_slice. */
TNR_API TNR_MUST_CHECK tnr_status tnr_slice(tnr_engine *engine, const tnr_view *a, const tnr_range *ranges,
                                            tnr_tensor **out);
/** @copydoc tnr_slice */
TNR_API TNR_MUST_CHECK tnr_status tnr_slice_into(tnr_engine *engine, const tnr_view *a, const tnr_range *ranges,
                                                 const tnr_view_mut *out);

/** The listed axes the other way round. View: tnr_view_slice with step -1. */
TNR_API TNR_MUST_CHECK tnr_status tnr_reverse(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                              tnr_tensor **out);
/** @copydoc tnr_reverse */
TNR_API TNR_MUST_CHECK tnr_status tnr_reverse_into(tnr_engine *engine, const tnr_view *a, const int *axes,
                                                   int axis_count, const tnr_view_mut *out);

/**
 * Put 1 to 4096 inputs (TNR_ERR_ARGUMENT) one after the other along `axis`: same dtype (TNR_ERR_DTYPE), rank >= 1 and
 * extents of all other axes (TNR_ERR_SHAPE). An input may occur several times. A call with more than 7 inputs keeps the
 * records of their leases in the engine's scratch, also in the _into form: it takes more from the engine's domain when
 * there is too little (TNR_ERR_MEMORY; ledger: scratch), some 100 bytes for an input, and nothing when it is refused.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_concatenate(tnr_engine *engine, const tnr_view *const *inputs, int count,
                                                  int axis, tnr_tensor **out);
/** @copydoc tnr_concatenate */
TNR_API TNR_MUST_CHECK tnr_status tnr_concatenate_into(tnr_engine *engine, const tnr_view *const *inputs, int count,
                                                       int axis, const tnr_view_mut *out);

/** How one axis is padded. */
typedef struct tnr_padding {
    int64_t low;      /**< elements before the first; negative: so many are cut off */
    int64_t high;     /**< elements after the last; negative: so many are cut off */
    int64_t interior; /**< elements between neighbours; >= 0 (TNR_ERR_ARGUMENT) */
} tnr_padding;

/**
 * One padding per axis, filled with zeros: extent n becomes low + n + interior * (n - 1) + high (for n = 0: low +
 * high), which must not be negative (TNR_ERR_SHAPE). What is cut off is cut off the spread-out axis, zeros of the
 * interior included; TNR_ERR_OVERFLOW also when that axis, n + interior * (n - 1), does not fit 63 bits.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_pad(tnr_engine *engine, const tnr_view *a, const tnr_padding *paddings,
                                          tnr_tensor **out);
/** @copydoc tnr_pad */
TNR_API TNR_MUST_CHECK tnr_status tnr_pad_into(tnr_engine *engine, const tnr_view *a, const tnr_padding *paddings,
                                               const tnr_view_mut *out);

/**
 * Elements whose indices on both axes agree; the joint axis becomes the last one. View and errors: tnr_view_diagonal.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_diagonal(tnr_engine *engine, const tnr_view *a, int axis_a, int axis_b,
                                               tnr_tensor **out);
/** @copydoc tnr_diagonal */
TNR_API TNR_MUST_CHECK tnr_status tnr_diagonal_into(tnr_engine *engine, const tnr_view *a, int axis_a, int axis_b,
                                                    const tnr_view_mut *out);

/**
 * The inverse: `axis` of a becomes the diagonal of that axis and a new axis of the same extent, which the result has at
 * position `at`, 0 to a's rank (TNR_ERR_BOUNDS); zero off the diagonal. The result's other axes keep their order.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_embed_diagonal(tnr_engine *engine, const tnr_view *a, int axis, int at,
                                                     tnr_tensor **out);
/** @copydoc tnr_embed_diagonal */
TNR_API TNR_MUST_CHECK tnr_status tnr_embed_diagonal_into(tnr_engine *engine, const tnr_view *a, int axis, int at,
                                                          const tnr_view_mut *out);

/**
 * Lower triangle: elements with i >= j - k on the first two axes stay, others are zero. Any k; rank >= 2
 * (TNR_ERR_SHAPE).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tril(tnr_engine *engine, const tnr_view *a, int64_t k, tnr_tensor **out);
/** @copydoc tnr_tril */
TNR_API TNR_MUST_CHECK tnr_status tnr_tril_into(tnr_engine *engine, const tnr_view *a, int64_t k,
                                                const tnr_view_mut *out);

/**
 * Upper triangle: elements with i <= j - k on the first two axes stay, others are zero. Any k; rank >= 2
 * (TNR_ERR_SHAPE).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_triu(tnr_engine *engine, const tnr_view *a, int64_t k, tnr_tensor **out);
/** @copydoc tnr_triu */
TNR_API TNR_MUST_CHECK tnr_status tnr_triu_into(tnr_engine *engine, const tnr_view *a, int64_t k,
                                                const tnr_view_mut *out);

/** What becomes of a window that would leave the tensor. */
typedef enum tnr_out_of_range {
    TNR_OUT_OF_RANGE_REFUSE = 0, /**< TNR_ERR_BOUNDS, before the first write, with the index in the text */
    TNR_OUT_OF_RANGE_CLAMP       /**< it is moved to where it fits */
} tnr_out_of_range;

/**
 * How tnr_gather and tnr_scatter read their indices: XLA's rules with names of our own. `indices` is i32 or i64
 * (TNR_ERR_DTYPE); its axis `index_axis` holds index vectors, or, when that is the rank of `indices`, every element is
 * a vector of one. Entry i of a vector is the window's start on axis axes[i] of the tensor; on other axes windows start
 * at 0. Start from TNR_INDEX_OPTIONS, or let tnr_index_along fill it.
 */
typedef struct tnr_index_options {
    size_t size;    /**< sizeof(tnr_index_options) */
    int index_axis; /**< axis of `indices` that holds the vectors; 0 to the rank of indices (TNR_ERR_BOUNDS) */
    int axis_count; /**< length of the vectors (TNR_ERR_SHAPE), 0 to the rank of the tensor (TNR_ERR_ARGUMENT) */
    int axes[TNR_MAX_RANK];        /**< the tensor's axis of each entry; distinct */
    int64_t window[TNR_MAX_RANK];  /**< the window's extent on each axis of the tensor, 0 to that axis' extent
                                         (TNR_ERR_SHAPE); may be larger where there are no vectors at all */
    bool collapsed[TNR_MAX_RANK];  /**< leave this axis of the window, of extent 1 (TNR_ERR_SHAPE), out of the result */
    int window_axes[TNR_MAX_RANK]; /**< axes of the result, or of updates, that the window's other axes become;
                                         ascending (TNR_ERR_ARGUMENT) */
    tnr_out_of_range out_of_range;
} tnr_index_options;

/* clang-format off */
#define TNR_INDEX_OPTIONS {sizeof(tnr_index_options), 0, 0, {0}, {0}, {false}, {0}, TNR_OUT_OF_RANGE_REFUSE}
/* clang-format on */

/**
 * Options for the usual case: take whole slices at the indices of one axis. The result of tnr_gather then has a's shape
 * with `axis` replaced by the axes of `indices`. Looks at shapes only; options are as they were on failure.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_index_along(const tnr_view *a, const tnr_view *indices, int axis,
                                                  tnr_index_options *options);

/**
 * Windows of a at the places that `indices` tells, one for each index vector. The axes of `indices` without index_axis
 * are the result's axes that are not in window_axes, in their order. Indices are looked at before anything is written,
 * also when windows are empty: the first vector with an entry out of range is named in the text.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_gather(tnr_engine *engine, const tnr_view *a, const tnr_view *indices,
                                             const tnr_index_options *options, tnr_tensor **out);
/** @copydoc tnr_gather */
TNR_API TNR_MUST_CHECK tnr_status tnr_gather_into(tnr_engine *engine, const tnr_view *a, const tnr_view *indices,
                                                  const tnr_index_options *options, const tnr_view_mut *out);

/**
 * A copy of a with windows of `updates` (shaped as tnr_gather's result would be: TNR_ERR_SHAPE; a's dtype) *added* at
 * the places that `indices` tells, in the column-major order of the index vectors: so places that occur several times
 * add up, always in the same order, on any number of workers. All dtypes but bool (TNR_ERR_UNSUPPORTED); integers wrap.
 * In tnr_scatter_into, out may be a's very elements, index for index, which then are not copied and not entered in the ledger; it lies apart from the
 * others.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_scatter(tnr_engine *engine, const tnr_view *a, const tnr_view *indices,
                                              const tnr_view *updates, const tnr_index_options *options,
                                              tnr_tensor **out);
/** @copydoc tnr_scatter */
TNR_API TNR_MUST_CHECK tnr_status tnr_scatter_into(tnr_engine *engine, const tnr_view *a, const tnr_view *indices,
                                                   const tnr_view *updates, const tnr_index_options *options,
                                                   const tnr_view_mut *out);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_STRUCTURE_H */
