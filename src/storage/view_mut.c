/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writable views of writable views: the readable transform, then proof that the result's elements are distinct.
 *
 * Only tnr_view_mut_broadcast can make elements coincide. The others keep or drop elements; but a struct is no promise,
 * and what is handed out here must be provable again when it is written (access.c): so all results are proved.
 */
#include "view_internal.h"

static const tnr_view *readable(const tnr_view_mut *view) { return view != NULL ? &view->view : NULL; }

static tnr_status finish(const char *op, const tnr_view *result, tnr_view_mut *out)
{
    TNR_REQUIRE(out != NULL, TNR_ERR_ARGUMENT, "%s: a place for the result expected, found NULL", op);
    TNR_REQUIRE(tnri_is_distinct(result->rank, result->shape, result->strides), TNR_ERR_OVERLAP,
                "%s: elements proved distinct expected, found that two may coincide", op);
    tnri_view_copy(&out->view, result);
    return TNR_OK;
}

tnr_status tnr_view_mut_permute(const tnr_view_mut *view, const int *axes, tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_permute(readable(view), axes, &result));
    return finish("view_mut_permute", &result, out);
}

tnr_status tnr_view_mut_slice(const tnr_view_mut *view, const tnr_range *slices, tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_slice(readable(view), slices, &result));
    return finish("view_mut_slice", &result, out);
}

tnr_status tnr_view_mut_slice_axis(const tnr_view_mut *view, int axis, tnr_range slice, tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_slice_axis(readable(view), axis, slice, &result));
    return finish("view_mut_slice_axis", &result, out);
}

tnr_status tnr_view_mut_select(const tnr_view_mut *view, int axis, int64_t index, tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_select(readable(view), axis, index, &result));
    return finish("view_mut_select", &result, out);
}

tnr_status tnr_view_mut_reshape(const tnr_view_mut *view, int rank, const int64_t *shape, tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_reshape(readable(view), rank, shape, &result));
    return finish("view_mut_reshape", &result, out);
}

tnr_status tnr_view_mut_broadcast(const tnr_view_mut *view, int rank, const int64_t *shape, const int *axes,
                                  tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_broadcast(readable(view), rank, shape, axes, &result));
    return finish("view_mut_broadcast", &result, out);
}

tnr_status tnr_view_mut_diagonal(const tnr_view_mut *view, int axis_a, int axis_b, tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_diagonal(readable(view), axis_a, axis_b, &result));
    return finish("view_mut_diagonal", &result, out);
}

tnr_status tnr_view_mut_as_real(const tnr_view_mut *view, tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_as_real(readable(view), &result));
    return finish("view_mut_as_real", &result, out);
}

tnr_status tnr_view_mut_as_complex(const tnr_view_mut *view, tnr_view_mut *out)
{
    tnr_view result;
    TNR_TRY(tnr_view_as_complex(readable(view), &result));
    return finish("view_mut_as_complex", &result, out);
}
