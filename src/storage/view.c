/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Views of views, and questions that only need the descriptor.
 *
 * Every transform checks its input against its window, works on a copy and writes `out` last, so `out` may be the input
 * and stays as it was on failure. What comes out satisfies tnri_layout_check against its window again. An empty result
 * gets compact strides and an offset held to 0..elements of the window, so nothing about an empty view can overflow.
 *
 * Nothing here follows `root`: owners, leases and bytes are the business of tensor.c and access.c.
 */
#include "view_internal.h"

/* ---- Checks ---------------------------------------------------------------------------------------------------- */

int64_t tnri_view_window(const tnr_view *view)
{
    return (int64_t)tnri_min_u64(view->window_bytes >> tnri_dtype_shift[view->dtype], INT64_MAX);
}

tnr_status tnri_view_shape_check(const char *op, const tnr_view *view, int64_t *count)
{
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: a view expected, found NULL", op);
    TNR_REQUIRE(tnr_dtype_size(view->dtype) != 0, TNR_ERR_ARGUMENT, "%s: a view with a dtype expected, found %d", op,
                (int)view->dtype);
    return tnri_shape_count(op, view->rank, view->shape, count);
}

tnr_status tnri_view_check(const char *op, const tnr_view *view, int64_t *count)
{
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: a view expected, found NULL", op);
    TNR_REQUIRE(tnr_dtype_size(view->dtype) != 0, TNR_ERR_ARGUMENT, "%s: a view with a dtype expected, found %d", op,
                (int)view->dtype);
    return tnri_layout_check(op, view->rank, view->shape, view->strides, view->offset, tnri_view_window(view), count);
}

/* What every transform asks of its input and of where its result goes. */
static tnr_status begin(const char *op, const tnr_view *view, const tnr_view *out, int64_t *count)
{
    TNR_TRY(tnri_view_check(op, view, count));
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "%s: a place for the result expected, found NULL", op);
    return TNR_OK;
}

static tnr_status check_axis(const char *op, int axis, int rank)
{
    TNR_REQUIRE(axis >= 0 && axis < rank, TNR_ERR_BOUNDS, "%s: an axis below rank %d expected, found %d", op, rank,
                axis);
    return TNR_OK;
}

/* Enter an axis in a mask of those met so far. */
static tnr_status check_fresh_axis(const char *op, int axis, int rank, uint64_t *met)
{
    TNR_TRY(check_axis(op, axis, rank));
    const uint64_t bit = (uint64_t)1 << axis;
    TNR_REQUIRE((*met & bit) == 0, TNR_ERR_ARGUMENT, "%s: distinct axes expected, axis %d is there twice", op, axis);
    *met |= bit;
    return TNR_OK;
}

_Static_assert(TNR_MAX_RANK <= 64, "axis masks are one word");

static bool has_zero_extent(const tnr_view *view)
{
    for (int i = 0; i < view->rank; i++) {
        if (view->shape[i] == 0) {
            return true;
        }
    }
    return false;
}

/* Strides and offset of an empty view: they mean nothing and are kept harmless. */
static void settle_empty(tnr_view *view)
{
    const int64_t window = tnri_view_window(view);
    tnri_compact_strides(view->rank, view->shape, view->strides);
    view->offset = view->offset < 0 ? 0 : view->offset > window ? window : view->offset;
}

/*
 * Move the first element by `steps` steps of an axis. In a view with elements that stays inside its reach; in an empty
 * one strides are arbitrary, and a move that does not fit is left out.
 */
static void shift(tnr_view *view, int64_t steps, int64_t stride)
{
    int64_t moved;
    if (tnri_mul_i64(steps, stride, &moved) && tnri_add_i64(view->offset, moved, &moved)) {
        view->offset = moved;
    }
}

/* ---- Axes ------------------------------------------------------------------------------------------------------ */

tnr_status tnr_view_permute(const tnr_view *view, const int *axes, tnr_view *out)
{
    static const char op[] = "view_permute";
    int64_t count;
    TNR_TRY(begin(op, view, out, &count));

    tnr_view result;
    tnri_view_copy(&result, view);
    uint64_t met = 0;
    for (int i = 0; i < view->rank; i++) {
        const int from = axes != NULL ? axes[i] : view->rank - 1 - i;
        TNR_TRY(check_fresh_axis(op, from, view->rank, &met));
        result.shape[i] = view->shape[from];
        result.strides[i] = view->strides[from];
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

/* Apply one slice to one axis of `view`; the stride is only scaled where it is used again. */
static tnr_status slice_one(const char *op, tnr_view *view, int axis, tnr_range slice)
{
    TNR_REQUIRE(slice.step != 0, TNR_ERR_ARGUMENT, "%s: a step other than 0 expected on axis %d", op, axis);

    const int64_t extent = view->shape[axis];
    int64_t start = slice.start < 0 ? slice.start + extent : slice.start;
    int64_t end = slice.end < 0 ? slice.end + extent : slice.end;
    start = start < 0 ? 0 : start > extent ? extent : start;
    end = end < start ? start : end > extent ? extent : end;

    const int64_t stride = view->strides[axis];
    const uint64_t length = (uint64_t)(end - start);
    const uint64_t step = slice.step < 0 ? 0 - (uint64_t)slice.step : (uint64_t)slice.step; /* holds INT64_MIN too */
    shift(view, slice.step < 0 && length != 0 ? end - 1 : start, stride);
    view->shape[axis] = length == 0 ? 0 : (int64_t)((length - 1) / step) + 1;
    if (view->shape[axis] > 1) {
        int64_t scaled; /* step < extent now; only an empty view's stride may be too large for it */
        view->strides[axis] = tnri_mul_i64(stride, slice.step, &scaled) ? scaled : 0;
    }
    return TNR_OK;
}

tnr_status tnr_view_slice(const tnr_view *view, const tnr_range *slices, tnr_view *out)
{
    static const char op[] = "view_slice";
    int64_t count;
    TNR_TRY(begin(op, view, out, &count));
    TNR_REQUIRE(slices != NULL || view->rank == 0, TNR_ERR_ARGUMENT, "%s: a slice per axis expected, found NULL", op);

    tnr_view result;
    tnri_view_copy(&result, view);
    for (int i = 0; i < view->rank; i++) {
        TNR_TRY(slice_one(op, &result, i, slices[i]));
    }
    if (has_zero_extent(&result)) {
        settle_empty(&result);
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

tnr_status tnr_view_slice_axis(const tnr_view *view, int axis, tnr_range slice, tnr_view *out)
{
    static const char op[] = "view_slice_axis";
    int64_t count;
    TNR_TRY(begin(op, view, out, &count));
    TNR_TRY(check_axis(op, axis, view->rank));

    tnr_view result;
    tnri_view_copy(&result, view);
    TNR_TRY(slice_one(op, &result, axis, slice));
    if (has_zero_extent(&result)) {
        settle_empty(&result);
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

static void drop_axis(tnr_view *view, int axis)
{
    for (int i = axis + 1; i < view->rank; i++) {
        view->shape[i - 1] = view->shape[i];
        view->strides[i - 1] = view->strides[i];
    }
    view->rank--;
}

tnr_status tnr_view_select(const tnr_view *view, int axis, int64_t index, tnr_view *out)
{
    static const char op[] = "view_select";
    int64_t count;
    TNR_TRY(begin(op, view, out, &count));
    TNR_TRY(check_axis(op, axis, view->rank));
    const int64_t extent = view->shape[axis];
    const int64_t position = index < 0 ? index + extent : index;
    TNR_REQUIRE(position >= 0 && position < extent, TNR_ERR_BOUNDS,
                "%s: an index from %lld to %lld expected on axis %d, found %lld", op, TNRI_LL(-extent),
                TNRI_LL(extent - 1), axis, TNRI_LL(index));

    tnr_view result;
    tnri_view_copy(&result, view);
    shift(&result, position, view->strides[axis]);
    drop_axis(&result, axis);
    if (count == 0) {
        settle_empty(&result);
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

tnr_status tnr_view_diagonal(const tnr_view *view, int axis_a, int axis_b, tnr_view *out)
{
    static const char op[] = "view_diagonal";
    int64_t count;
    TNR_TRY(begin(op, view, out, &count));
    TNR_REQUIRE(axis_a != axis_b, TNR_ERR_ARGUMENT, "%s: two different axes expected, found %d twice", op, axis_a);
    TNR_TRY(check_axis(op, axis_a, view->rank));
    TNR_TRY(check_axis(op, axis_b, view->rank));

    tnr_view result;
    tnri_view_copy(&result, view);
    drop_axis(&result, axis_a > axis_b ? axis_a : axis_b);
    drop_axis(&result, axis_a > axis_b ? axis_b : axis_a);
    const int joint = result.rank++;
    const int64_t extent = view->shape[axis_a] < view->shape[axis_b] ? view->shape[axis_a] : view->shape[axis_b];
    int64_t stride; /* fits where it is used: index (1, 1) of both axes is in the window then */
    result.shape[joint] = extent;
    result.strides[joint] = tnri_add_i64(view->strides[axis_a], view->strides[axis_b], &stride) ? stride : 0;
    if (count == 0) {
        settle_empty(&result);
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

/* ---- Other shapes ---------------------------------------------------------------------------------------------- */

/*
 * Axes of extent 1 left aside, neighbours that follow one another (next stride = stride * extent) join into runs; each
 * run is uniform, and no two neighbouring runs are one. A new axis therefore lies inside one run and divides what is
 * left of it: otherwise it would cross the end of a run and make steps of two sizes. So the greedy walk below finds the
 * strides whenever they exist.
 */
bool tnri_reshape_strides(const tnr_view *view, int rank, const int64_t *shape, int64_t *strides)
{
    int64_t left = 1; /* elements of the current run not yet covered */
    int64_t step = 1; /* stride that the next new axis takes */
    int from = 0;
    for (int to = 0; to < rank; to++) {
        if (shape[to] == 1) {
            strides[to] = step;
            continue;
        }
        if (left == 1) {
            while (view->shape[from] == 1) {
                from++;
            }
            left = view->shape[from];
            step = view->strides[from];
            int64_t next;
            int64_t last = left; /* elements of the run so far */
            for (from++; from < view->rank; from++) {
                if (view->shape[from] == 1) {
                    continue;
                }
                if (!tnri_mul_i64(step, last, &next) || view->strides[from] != next) {
                    break;
                }
                last *= view->shape[from];
            }
            left = last;
        }
        if (left % shape[to] != 0) {
            return false;
        }
        strides[to] = step;
        left /= shape[to];
        if (!tnri_mul_i64(step, shape[to], &step)) {
            step = 1; /* the run ends here: inside it the product is a stride of the view */
        }
    }
    return true;
}

tnr_status tnr_view_reshape(const tnr_view *view, int rank, const int64_t *shape, tnr_view *out)
{
    static const char op[] = "view_reshape";
    int64_t count;
    int64_t wanted;
    TNR_TRY(begin(op, view, out, &count));
    TNR_TRY(tnri_shape_count(op, rank, shape, &wanted));
    TNR_REQUIRE(wanted == count, TNR_ERR_SHAPE, "%s: a shape of %lld elements expected, found one of %lld", op,
                TNRI_LL(count), TNRI_LL(wanted));

    tnr_view result;
    tnri_view_copy(&result, view);
    result.rank = rank;
    for (int i = 0; i < rank; i++) {
        result.shape[i] = shape[i];
    }
    if (count == 0) {
        settle_empty(&result);
    } else {
        TNR_REQUIRE(tnri_reshape_strides(view, rank, shape, result.strides), TNR_ERR_LAYOUT,
                    "%s: no strides give these elements that shape; copy them first with tnr_to_contiguous or "
                    "tnr_tensor_duplicate",
                    op);
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

tnr_status tnr_view_shaped(tnr_dtype dtype, int rank, const int64_t *shape, tnr_view *view)
{
    static const char op[] = "view_shaped";
    int64_t count;
    tnr_view result = {.dtype = dtype, .rank = rank};
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: a place for the result expected, found NULL", op);
    TNR_TRY(tnri_shape_bytes(op, dtype, rank, shape, &count, &result.window_bytes));
    for (int i = 0; i < rank; i++) {
        result.shape[i] = shape[i];
    }
    tnri_compact_strides(rank, shape, result.strides);
    *view = result;
    return TNR_OK;
}

tnr_status tnr_view_broadcast(const tnr_view *view, int rank, const int64_t *shape, const int *axes, tnr_view *out)
{
    static const char op[] = "view_broadcast";
    int64_t count;
    int64_t wanted;
    TNR_TRY(begin(op, view, out, &count));
    TNR_REQUIRE(axes != NULL || view->rank == 0, TNR_ERR_ARGUMENT,
                "%s: a target axis per source axis expected, found NULL", op);
    TNR_TRY(tnri_shape_count(op, rank, shape, &wanted));

    tnr_view result;
    tnri_view_copy(&result, view);
    result.rank = rank;
    for (int i = 0; i < rank; i++) {
        result.shape[i] = shape[i];
        result.strides[i] = 0;
    }
    uint64_t met = 0;
    for (int i = 0; i < view->rank; i++) {
        const int to = axes[i];
        TNR_TRY(check_fresh_axis(op, to, rank, &met));
        TNR_REQUIRE(view->shape[i] == shape[to] || view->shape[i] == 1, TNR_ERR_SHAPE,
                    "%s: extent %lld or 1 expected on source axis %d, found %lld", op, TNRI_LL(shape[to]), i,
                    TNRI_LL(view->shape[i]));
        if (view->shape[i] != 1) {
            result.strides[to] = view->strides[i];
        }
    }
    if (wanted == 0) {
        settle_empty(&result);
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

/* ---- Complex as real and back ---------------------------------------------------------------------------------- */

tnr_status tnr_view_as_real(const tnr_view *view, tnr_view *out)
{
    static const char op[] = "view_as_real";
    int64_t count;
    TNR_TRY(begin(op, view, out, &count));
    const tnr_dtype real = tnr_dtype_real(view->dtype);
    TNR_REQUIRE(real != view->dtype, TNR_ERR_DTYPE, "%s: c32 or c64 expected, found %s", op,
                tnr_dtype_name(view->dtype));
    TNR_REQUIRE(view->rank < TNR_MAX_RANK, TNR_ERR_ARGUMENT, "%s: rank below %d expected, found %d", op, TNR_MAX_RANK,
                (int)view->rank);
    TNR_REQUIRE(count <= INT64_MAX / 2, TNR_ERR_OVERFLOW, "%s: twice %lld elements do not fit 63 bits", op,
                TNRI_LL(count));

    tnr_view result;
    tnri_view_copy(&result, view);
    result.dtype = real;
    result.rank = view->rank + 1;
    result.offset = 2 * view->offset; /* below twice the window's elements, which are bytes or fewer */
    result.shape[0] = 2;
    result.strides[0] = 1;
    for (int i = 0; i < view->rank; i++) {
        int64_t doubled; /* fits wherever the stride is used: two elements of the window lie that far apart */
        result.shape[i + 1] = view->shape[i];
        result.strides[i + 1] = tnri_mul_i64(view->strides[i], 2, &doubled) ? doubled : 0;
    }
    if (count == 0) {
        settle_empty(&result);
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

tnr_status tnr_view_as_complex(const tnr_view *view, tnr_view *out)
{
    static const char op[] = "view_as_complex";
    int64_t count;
    TNR_TRY(begin(op, view, out, &count));
    TNR_REQUIRE(view->dtype == TNR_F32 || view->dtype == TNR_F64, TNR_ERR_DTYPE, "%s: f32 or f64 expected, found %s",
                op, tnr_dtype_name(view->dtype));
    TNR_REQUIRE(view->rank > 0, TNR_ERR_SHAPE, "%s: a first axis of extent 2 expected, found rank 0", op);
    TNR_REQUIRE(view->shape[0] == 2, TNR_ERR_SHAPE, "%s: a first axis of extent 2 expected, found %lld", op,
                TNRI_LL(view->shape[0]));
    if (count != 0) {
        TNR_REQUIRE(view->strides[0] == 1, TNR_ERR_LAYOUT, "%s: stride 1 expected on the first axis, found %lld", op,
                    TNRI_LL(view->strides[0]));
        TNR_REQUIRE(view->offset % 2 == 0, TNR_ERR_LAYOUT, "%s: an even offset expected, found %lld", op,
                    TNRI_LL(view->offset));
        for (int i = 1; i < view->rank; i++) {
            TNR_REQUIRE(view->shape[i] == 1 || view->strides[i] % 2 == 0, TNR_ERR_LAYOUT,
                        "%s: an even stride expected on axis %d, found %lld", op, i, TNRI_LL(view->strides[i]));
        }
    }

    /* A complex element is aligned like its parts, so a window that suits the parts suits the whole. */
    tnr_view result;
    tnri_view_copy(&result, view);
    result.dtype = view->dtype == TNR_F32 ? TNR_C32 : TNR_C64;
    result.rank = view->rank - 1;
    result.offset = view->offset / 2;
    for (int i = 1; i < view->rank; i++) {
        result.shape[i - 1] = view->shape[i];
        result.strides[i - 1] = view->strides[i] / 2;
    }
    if (count == 0) {
        settle_empty(&result);
    }
    tnri_view_copy(out, &result);
    return TNR_OK;
}

/* ---- Questions ------------------------------------------------------------------------------------------------- */

tnr_status tnr_view_count(const tnr_view *view, int64_t *count)
{
    static const char op[] = "view_count";
    int64_t number;
    TNR_TRY(tnri_view_shape_check(op, view, &number));
    TNR_REQUIRE(count != NULL, TNR_ERR_ARGUMENT, "%s: a place for the result expected, found NULL", op);
    *count = number;
    return TNR_OK;
}

tnr_status tnr_view_span(const tnr_view *view, int64_t *span)
{
    static const char op[] = "view_span";
    int64_t count;
    TNR_TRY(tnri_view_shape_check(op, view, &count));
    TNR_REQUIRE(span != NULL, TNR_ERR_ARGUMENT, "%s: a place for the result expected, found NULL", op);
    if (count == 0) {
        *span = 0;
        return TNR_OK;
    }

    int64_t low;
    int64_t high;
    TNR_TRY(tnri_reach(op, view->rank, view->shape, view->strides, &low, &high));
    TNR_REQUIRE(tnri_sub_i64(high, low, &high) && tnri_add_i64(high, 1, &high), TNR_ERR_OVERFLOW,
                "%s: the span does not fit 63 bits", op);
    *span = high;
    return TNR_OK;
}

bool tnr_view_is_compact(const tnr_view *view)
{
    if (view == NULL || view->rank < 0 || view->rank > TNR_MAX_RANK) {
        return false;
    }
    for (int i = 0; i < view->rank; i++) {
        if (view->shape[i] < 0) {
            return false;
        }
    }
    return tnri_is_compact(view->rank, view->shape, view->strides);
}

tnr_status tnr_view_distinct(const tnr_view *view, bool *distinct)
{
    static const char op[] = "view_distinct";
    int64_t count;
    TNR_TRY(tnri_view_shape_check(op, view, &count));
    TNR_REQUIRE(distinct != NULL, TNR_ERR_ARGUMENT, "%s: a place for the result expected, found NULL", op);
    *distinct = tnri_is_distinct(view->rank, view->shape, view->strides);
    return TNR_OK;
}
