/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file view.h
 * Borrowed descriptors: how a tensor's bytes are looked at.
 *
 * A view owns nothing and is free to make, copy and drop: O(rank), no allocation, no count. It carries the generation
 * of its owner, so using it after its owner went is TNR_ERR_STALE wherever bytes are touched. There are two types: a
 * tnr_view may be read through, a tnr_view_mut may be written through and is only made with proof that no two of its
 * indices land on one element.
 *
 * Shapes, strides and offsets count elements of the view's dtype; axis 0 varies fastest in a compact layout. Strides
 * may be negative or zero. Rank 0 is one element; any zero extent means count 0, whatever the other extents are. The
 * stride of an axis of extent 1 means nothing.
 *
 * The transforms and questions below only look at the descriptors they are given: they are pure, thread-safe, and
 * `out` may be `view` itself. Making views of an owner, asking for overlap and splitting also touch the owner's
 * handle. Bounds are checked when a view is made and again wherever bytes are touched.
 */
#ifndef TENURE_VIEW_H
#define TENURE_VIEW_H

#include "tenure/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_tensor tnr_tensor;

/**
 * A readable view. Fields may be read freely; make one only through the calls below. Entries of shape and strides beyond
 * the rank are unspecified.
 */
typedef struct tnr_view {
    tnr_tensor *root;              /**< owner whose bytes are looked at */
    uint32_t generation;           /**< the owner's when the view was made */
    tnr_dtype dtype;               /**< of the elements seen, not necessarily the owner's */
    int32_t rank;                  /**< 0 to TNR_MAX_RANK */
    uint32_t part;                 /**< which part of a split, 0 to 63 */
    uint64_t split;                /**< number of the split it is a part of; 0: not split */
    uint64_t base;                 /**< host address of the owner's first byte; 0 when reached by mapping */
    uint64_t window_begin;         /**< first byte of the owner that the view may reach */
    uint64_t window_bytes;         /**< bytes that it may reach from there */
    int64_t offset;                /**< of index (0, ..., 0), in elements from the window's begin */
    int64_t shape[TNR_MAX_RANK];   /**< extents, >= 0 */
    int64_t strides[TNR_MAX_RANK]; /**< in elements, signed */
} tnr_view;

/** A writable view: the same descriptor with proof that its elements are distinct. `&m.view` reads through it. */
typedef struct tnr_view_mut {
    tnr_view view;
} tnr_view_mut;

/** "To the end" for tnr_range.end. */
#define TNR_END INT64_MAX

/**
 * A range of one axis. start and end select a forward range: negative values count from the end, and both are then held
 * to 0..extent; start >= end is empty. |step| > 1 keeps every |step|-th element of that range; step < 0 walks it from its
 * last element down: {1, 4, -1} is 3, 2, 1. step 0 is TNR_ERR_ARGUMENT. Not NumPy's rule for negative steps: the range comes first.
 */
typedef struct tnr_range {
    int64_t start;
    int64_t end;
    int64_t step;
} tnr_range;

/** The whole axis. */
/* clang-format off */
#define TNR_RANGE_ALL {0, TNR_END, 1}
/* clang-format on */

/* ---- Making views of an owner (these touch its handle: TNR_ERR_STALE when it is gone) -------------------------------- */

/** View of all of a tensor: its shape, compact, offset 0. TNR_ERR_ARGUMENT on NULL. */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_view(const tnr_tensor *tensor, tnr_view *view);

/**
 * View of a tensor that does not exist: dtype, shape, compact, and no owner. For what looks at descriptors alone, before there are
 * operands: transforms, paths, needs, and the making of plans. TNR_ERR_ARGUMENT wherever bytes are touched. Pure. TNR_ERR_ARGUMENT for a dtype
 * or rank that is none and a negative extent, TNR_ERR_OVERFLOW for bytes that do not fit 63 bits.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_shaped(tnr_dtype dtype, int rank, const int64_t *shape, tnr_view *view);

/** Writable view of all of a tensor. */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_view_mut(tnr_tensor *tensor, tnr_view_mut *view);

/**
 * View of a tensor's bytes under any strides and offset.
 *
 * Checked in this order: rank and negative extents (TNR_ERR_ARGUMENT), element count and reach (TNR_ERR_OVERFLOW),
 * lowest and highest element inside the tensor (TNR_ERR_BOUNDS). An empty view may start anywhere from 0 to the count.
 * Elements may coincide: reading that is fine.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_region(const tnr_tensor *tensor, int rank, const int64_t *shape,
                                                    const int64_t *strides, int64_t offset, tnr_view *view);

/** As tnr_tensor_region, and TNR_ERR_OVERLAP unless the elements are proved distinct (see tnr_view_distinct). */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_region_mut(tnr_tensor *tensor, int rank, const int64_t *shape,
                                                        const int64_t *strides, int64_t offset, tnr_view_mut *view);

/* ---- Views of views ------------------------------------------------------------------------------------------------- */

/**
 * Axis i of the result is axis axes[i] of the view. NULL reverses the axes (a matrix is transposed). TNR_ERR_ARGUMENT
 * on a repeated axis, TNR_ERR_BOUNDS on one that does not exist. `axes` has view->rank entries.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_permute(const tnr_view *view, const int *axes, tnr_view *out);

/** One slice per axis (view->rank of them). TNR_ERR_ARGUMENT on a zero step. */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_slice(const tnr_view *view, const tnr_range *slices, tnr_view *out);

/** A slice of one axis, the others whole. TNR_ERR_BOUNDS when axis is not 0 <= axis < rank. */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_slice_axis(const tnr_view *view, int axis, tnr_range slice, tnr_view *out);

/** Fix one axis at an index (negative counts from the end) and drop it. TNR_ERR_BOUNDS on axis or index. */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_select(const tnr_view *view, int axis, int64_t index, tnr_view *out);

/**
 * The same elements in the same column-major order under another shape, without a copy.
 *
 * TNR_ERR_SHAPE when the counts differ; TNR_ERR_LAYOUT when no strides can express it (the text names the copying
 * call). Axes that merge and split inside compact runs are fine, so views that are not compact as a whole may reshape.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_reshape(const tnr_view *view, int rank, const int64_t *shape, tnr_view *out);

/**
 * Repeat along new or length-1 axes: source axis i becomes axis axes[i] of `shape`; the rest get stride 0.
 *
 * `axes` has view->rank distinct entries; each source extent equals the target's or is 1. TNR_ERR_ARGUMENT on a repeated
 * axis, TNR_ERR_BOUNDS on one outside, TNR_ERR_SHAPE on extents that do not fit.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_broadcast(const tnr_view *view, int rank, const int64_t *shape,
                                                     const int *axes, tnr_view *out);

/** Elements whose indices on both axes agree; the joint axis becomes the last one. TNR_ERR_ARGUMENT when a == b. */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_diagonal(const tnr_view *view, int axis_a, int axis_b, tnr_view *out);

/** A complex view as real: a new first axis of extent 2 (real, imaginary). TNR_ERR_DTYPE unless complex. */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_as_real(const tnr_view *view, tnr_view *out);

/**
 * The inverse: a real view whose first axis has extent 2 and stride 1, with even other strides and an even offset, as
 * complex. TNR_ERR_DTYPE unless f32 or f64, TNR_ERR_SHAPE or TNR_ERR_LAYOUT otherwise.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_as_complex(const tnr_view *view, tnr_view *out);

/** @name The same for writable views
 * As above, and TNR_ERR_OVERLAP where the result's elements are not proved distinct. @{ */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_permute(const tnr_view_mut *view, const int *axes, tnr_view_mut *out);
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_slice(const tnr_view_mut *view, const tnr_range *slices,
                                                     tnr_view_mut *out);
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_slice_axis(const tnr_view_mut *view, int axis, tnr_range slice,
                                                          tnr_view_mut *out);
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_select(const tnr_view_mut *view, int axis, int64_t index,
                                                      tnr_view_mut *out);
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_reshape(const tnr_view_mut *view, int rank, const int64_t *shape,
                                                       tnr_view_mut *out);
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_broadcast(const tnr_view_mut *view, int rank, const int64_t *shape,
                                                         const int *axes, tnr_view_mut *out);
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_diagonal(const tnr_view_mut *view, int axis_a, int axis_b,
                                                        tnr_view_mut *out);
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_as_real(const tnr_view_mut *view, tnr_view_mut *out);
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_as_complex(const tnr_view_mut *view, tnr_view_mut *out);
/** @} */

/* ---- Questions ------------------------------------------------------------------------------------------------------ */

/** Number of elements; 0 when any extent is 0. TNR_ERR_OVERFLOW only for a descriptor that no call here made. */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_count(const tnr_view *view, int64_t *count);

/** Elements from the lowest to the highest touched one, both included: 0 when empty, 1 at rank 0. */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_span(const tnr_view *view, int64_t *span);

/** True when the elements lie one after the other in column-major order (axes of extent 1 ignored). False for NULL. */
TNR_API bool tnr_view_is_compact(const tnr_view *view);

/**
 * Are the elements proved distinct? Order of proof: empty; sorted spans (each stride exceeds the reach of all smaller
 * ones); the exact gcd rule when two axes are longer than 1; enumeration up to 4096 elements; else no proof: false.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_distinct(const tnr_view *view, bool *distinct);

/** How the memory of two views relates. */
typedef enum tnr_overlap {
    TNR_OVERLAP_NONE = 0, /**< proved: no byte in common */
    TNR_OVERLAP_SAME,     /**< the same elements at the same indices */
    TNR_OVERLAP_POSSIBLE  /**< bytes in common, or not proved apart */
} tnr_overlap;

/**
 * Relation of two views' memory, also when they have different owners over the same bytes. Order of proof: empty;
 * different memory; byte intervals; the residue rule of the strides' gcd, also with the largest strides set aside (upper
 * and lower halves of a matrix); else possible. TNR_ERR_STALE when an owner is gone.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_overlap(const tnr_view *a, const tnr_view *b, tnr_overlap *overlap);

/* ---- Splitting ------------------------------------------------------------------------------------------------------ */

/** Most parts of one split. */
#define TNR_MAX_PARTS 64

/**
 * Ask that several writable views may be written at the same time.
 *
 * Every pair is compared as tnr_view_overlap compares: two rows of a column-major 2x2 share nothing. When all are proved
 * disjoint, *granted is true and the parts are marked as siblings: each is leased for itself, by many readers (up to 63) or
 * one writer, on other threads too. Otherwise *granted is false and nothing changed: "not proved" is an answer, not an
 * error. Views cut from a part later stay that part.
 * Errors: TNR_ERR_ARGUMENT when count > TNR_MAX_PARTS; TNR_ERR_STALE. O(count^2 * rank), no allocation.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_mut_split(tnr_view_mut *parts, size_t count, bool *granted);

/* ---- Walking elements ----------------------------------------------------------------------------------------------- */

/** Cursor over a view's elements, first axis fastest. Needs no owner; holds nothing. */
typedef struct tnr_cursor {
    const tnr_view *view;        /**< must outlive the cursor */
    bool valid;                  /**< false once past the last element */
    int64_t position;            /**< 0, 1, 2, ... */
    int64_t offset;              /**< of the element, counted from the view's first one: data[cursor.offset] */
    int64_t index[TNR_MAX_RANK]; /**< of the element */
} tnr_cursor;

/** Cursor at the first element; not valid when the view is NULL or empty. */
TNR_API tnr_cursor tnr_cursor_begin(const tnr_view *view);

/** Step to the next element. */
TNR_API void tnr_cursor_next(tnr_cursor *cursor);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_VIEW_H */
