/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of random transforms against their definitions. The model of a view is the list of its elements, index by
 * index; each transform must give the list that its definition makes of the list before, or the error it calls for.
 * Reshape must refuse exactly when no strides exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/storage.h"
#include "support/layout_model.h"
#include "support/views.h"

#ifndef CHAINS
#define CHAINS 60000
#endif

/* ---- Transforms ------------------------------------------------------------------------------------------------- */

#define MOST 2048

/* A view's elements in column-major order, each by the byte where it begins. */
typedef struct listing {
    int64_t count;
    int64_t bytes[MOST];
} listing;

static void list(const tnr_view *view, listing *into)
{
    const int64_t size = (int64_t)tnr_dtype_size(view->dtype);
    int64_t index[TNR_MAX_RANK];
    into->count = count_of(view->rank, view->shape);
    assert_true(into->count <= MOST);
    for (int64_t i = 0; i < into->count; i++) {
        index_of(view->rank, view->shape, i, index);
        into->bytes[i] = size * (view->offset + offset_of(view->rank, view->strides, index));
    }
}

static tnr_view random_parent(void)
{
    static const tnr_dtype dtypes[] = {TNR_F32, TNR_F64, TNR_C32, TNR_C64, TNR_BOOL};
    int64_t shape[4];
    const int rank = (int)within(0, 4);
    for (int i = 0; i < rank; i++) {
        shape[i] = chance(30) ? 0 : within(1, 5);
    }
    const int64_t count = count_of(rank, shape);
    const tnr_dtype dtype = dtypes[within(0, 4)];
    tnr_view view = test_view(dtype, count + within(0, 3), rank, shape, NULL, 0);
    view.offset = within(0, (int64_t)(view.window_bytes / tnr_dtype_size(dtype)) - count);
    view.window_bytes += chance(4) ? tnr_dtype_size(dtype) / 2 : 0;
    return view;
}

/* One call of both kinds: what it must give, made by the definition from the input's listing. */
typedef struct step {
    bool untried;      /* too much for a listing */
    tnr_status status; /* expected of the readable form */
    int rank;          /* expected shape, when TNR_OK */
    int64_t shape[TNR_MAX_RANK];
    listing elements;
    tnr_view out;
    tnr_view_mut out_mut;
    tnr_status got;
    tnr_status got_mut;
} step;

static int64_t element_at(const tnr_view *in, const listing *elements, const int64_t *index)
{
    return elements->bytes[position_of(in->rank, in->shape, index)];
}

static void try_permute(const tnr_view *in, const listing *from, step *to)
{
    const tnr_view_mut in_mut = {*in};
    int axes[TNR_MAX_RANK];
    for (int i = 0; i < in->rank; i++) {
        axes[i] = i;
    }
    for (int i = in->rank; i-- > 1;) {
        const int other = (int)within(0, i);
        const int kept = axes[i];
        axes[i] = axes[other];
        axes[other] = kept;
    }
    to->rank = in->rank;
    for (int i = 0; i < in->rank; i++) {
        to->shape[i] = in->shape[axes[i]];
    }
    to->elements.count = from->count;
    for (int64_t i = 0; i < from->count; i++) {
        int64_t index[TNR_MAX_RANK];
        int64_t source[TNR_MAX_RANK] = {0};
        index_of(to->rank, to->shape, i, index);
        for (int axis = 0; axis < in->rank; axis++) {
            source[axes[axis]] = index[axis];
        }
        to->elements.bytes[i] = element_at(in, from, source);
    }
    to->got = tnr_view_permute(in, axes, &to->out);
    to->got_mut = tnr_view_mut_permute(&in_mut, axes, &to->out_mut);
}

/* Indices that a slice keeps, by walking the range. */
static int64_t walk(tnr_range slice, int64_t extent, int64_t *kept)
{
    static int64_t range[MOST];
    int64_t length = 0;
    int64_t found = 0;
    for (int64_t i = 0; i < extent; i++) {
        const int64_t start = slice.start < 0 ? slice.start + extent : slice.start;
        const int64_t end = slice.end < 0 ? slice.end + extent : slice.end;
        if (i >= start && i < end) {
            range[length++] = i;
        }
    }
    const int64_t stride = slice.step < 0 ? -slice.step : slice.step;
    for (int64_t i = 0; i < length; i += stride) {
        kept[found++] = slice.step > 0 ? range[i] : range[length - 1 - i];
    }
    return found;
}

static tnr_range random_slice(int64_t extent)
{
    tnr_range made = TNR_RANGE_ALL;
    if (!chance(3)) {
        made.start = within(-extent - 1, extent + 1);
        made.end = chance(4) ? TNR_END : within(-extent - 1, extent + 2);
    }
    made.step = chance(2) ? 1 : within(1, 4);
    made.step *= chance(3) ? -1 : 1;
    return made;
}

static void try_slice(const tnr_view *in, const listing *from, step *to)
{
    const tnr_view_mut in_mut = {*in};
    tnr_range slices[TNR_MAX_RANK];
    static int64_t kept[TNR_MAX_RANK][MOST];
    const int only = in->rank > 0 && chance(2) ? (int)within(0, in->rank - 1) : -1;
    to->rank = in->rank;
    for (int i = 0; i < in->rank; i++) {
        slices[i] = only < 0 || i == only ? random_slice(in->shape[i]) : (tnr_range)TNR_RANGE_ALL;
        to->shape[i] = walk(slices[i], in->shape[i], kept[i]);
    }
    to->elements.count = count_of(to->rank, to->shape);
    for (int64_t i = 0; i < to->elements.count; i++) {
        int64_t index[TNR_MAX_RANK];
        index_of(to->rank, to->shape, i, index);
        for (int axis = 0; axis < to->rank; axis++) {
            index[axis] = kept[axis][index[axis]];
        }
        to->elements.bytes[i] = element_at(in, from, index);
    }
    if (only >= 0) {
        to->got = tnr_view_slice_axis(in, only, slices[only], &to->out);
        to->got_mut = tnr_view_mut_slice_axis(&in_mut, only, slices[only], &to->out_mut);
    } else {
        to->got = tnr_view_slice(in, slices, &to->out);
        to->got_mut = tnr_view_mut_slice(&in_mut, slices, &to->out_mut);
    }
}

static void try_select(const tnr_view *in, const listing *from, step *to)
{
    const tnr_view_mut in_mut = {*in};
    const int axis = (int)within(0, in->rank);
    const int64_t extent = axis < in->rank ? in->shape[axis] : 1;
    const int64_t index = within(-extent - 1, extent);
    if (axis == in->rank || index < -extent || index >= extent) {
        to->status = TNR_ERR_BOUNDS;
    } else {
        to->rank = in->rank - 1;
        for (int i = 0; i < to->rank; i++) {
            to->shape[i] = in->shape[i + (i >= axis)];
        }
        to->elements.count = count_of(to->rank, to->shape);
        for (int64_t i = 0; i < to->elements.count; i++) {
            int64_t of_out[TNR_MAX_RANK];
            int64_t source[TNR_MAX_RANK];
            index_of(to->rank, to->shape, i, of_out);
            for (int j = 0; j < in->rank; j++) {
                source[j] = j == axis ? (index + extent) % extent : of_out[j - (j > axis)];
            }
            to->elements.bytes[i] = element_at(in, from, source);
        }
    }
    to->got = tnr_view_select(in, axis, index, &to->out);
    to->got_mut = tnr_view_mut_select(&in_mut, axis, index, &to->out_mut);
}

/* A random shape of `count` elements, ones strewn in; now and then of another count. */
static int random_shape(int64_t count, int64_t *shape)
{
    int rank = 0;
    int64_t left = count;
    if (count == 0) {
        shape[rank++] = within(0, 3);
        shape[rank++] = shape[0] == 0 ? within(0, 1000) : 0;
        return rank;
    }
    while (left > 1 && rank < 7) {
        int64_t factor = within(1, left);
        while (left % factor != 0) {
            factor--;
        }
        factor = chance(3) ? left / factor : factor;
        shape[rank++] = factor;
        left /= factor;
    }
    if (left > 1 || chance(3)) {
        shape[rank++] = left + (chance(10) ? 1 : 0);
    }
    return rank;
}

/* Strides that some view of that shape would need: unit steps name them, all elements confirm them. */
static bool has_strides(const listing *elements, int rank, const int64_t *shape)
{
    int64_t strides[TNR_MAX_RANK];
    int64_t index[TNR_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        memset(index, 0, sizeof index);
        index[i] = shape[i] > 1 ? 1 : 0;
        strides[i] = elements->bytes[position_of(rank, shape, index)] - elements->bytes[0];
    }
    for (int64_t i = 0; i < elements->count; i++) {
        index_of(rank, shape, i, index);
        if (elements->bytes[i] != elements->bytes[0] + offset_of(rank, strides, index)) {
            return false;
        }
    }
    return true;
}

static void try_reshape(const tnr_view *in, const listing *from, step *to)
{
    const tnr_view_mut in_mut = {*in};
    to->rank = random_shape(from->count, to->shape);
    to->elements = *from;
    if (count_of(to->rank, to->shape) != from->count) {
        to->status = TNR_ERR_SHAPE;
    } else if (from->count != 0 && !has_strides(from, to->rank, to->shape)) {
        to->status = TNR_ERR_LAYOUT;
    }
    to->got = tnr_view_reshape(in, to->rank, to->shape, &to->out);
    to->got_mut = tnr_view_mut_reshape(&in_mut, to->rank, to->shape, &to->out_mut);
}

static void try_broadcast(const tnr_view *in, const listing *from, step *to)
{
    const tnr_view_mut in_mut = {*in};
    int axes[TNR_MAX_RANK];
    int source_of[TNR_MAX_RANK];
    to->rank = in->rank + (int)within(0, 2);
    for (int i = 0; i < to->rank; i++) {
        source_of[i] = -1;
        to->shape[i] = chance(20) ? 0 : within(1, 3);
    }
    for (int i = 0; i < in->rank; i++) {
        do {
            axes[i] = (int)within(0, to->rank - 1);
        } while (source_of[axes[i]] >= 0);
        source_of[axes[i]] = i;
        if (in->shape[i] != 1 || chance(2)) {
            to->shape[axes[i]] = in->shape[i];
        }
    }
    to->elements.count = count_of(to->rank, to->shape);
    if (to->elements.count > MOST) {
        to->untried = true;
        return;
    }
    if (in->rank > 0 && in->shape[0] > 1 && chance(10)) {
        to->status = TNR_ERR_SHAPE;
        to->shape[axes[0]]++;
    }
    for (int64_t i = 0; to->status == TNR_OK && i < to->elements.count; i++) {
        int64_t index[TNR_MAX_RANK];
        int64_t source[TNR_MAX_RANK];
        index_of(to->rank, to->shape, i, index);
        for (int j = 0; j < in->rank; j++) {
            source[j] = in->shape[j] == 1 ? 0 : index[axes[j]];
        }
        to->elements.bytes[i] = element_at(in, from, source);
    }
    to->got = tnr_view_broadcast(in, to->rank, to->shape, axes, &to->out);
    to->got_mut = tnr_view_mut_broadcast(&in_mut, to->rank, to->shape, axes, &to->out_mut);
}

static void try_diagonal(const tnr_view *in, const listing *from, step *to)
{
    const tnr_view_mut in_mut = {*in};
    const int a = (int)within(0, in->rank);
    const int b = (int)within(0, in->rank);
    if (a == b) {
        to->status = TNR_ERR_ARGUMENT;
    } else if (a == in->rank || b == in->rank) {
        to->status = TNR_ERR_BOUNDS;
    } else {
        int others[TNR_MAX_RANK];
        for (int i = 0; i < in->rank; i++) {
            if (i != a && i != b) {
                others[to->rank] = i;
                to->shape[to->rank++] = in->shape[i];
            }
        }
        const int joint = to->rank++;
        to->shape[joint] = in->shape[a] < in->shape[b] ? in->shape[a] : in->shape[b];
        to->elements.count = count_of(to->rank, to->shape);
        for (int64_t i = 0; i < to->elements.count; i++) {
            int64_t index[TNR_MAX_RANK];
            int64_t source[TNR_MAX_RANK];
            index_of(to->rank, to->shape, i, index);
            for (int j = 0; j < joint; j++) {
                source[others[j]] = index[j];
            }
            source[a] = source[b] = index[joint];
            to->elements.bytes[i] = element_at(in, from, source);
        }
    }
    to->got = tnr_view_diagonal(in, a, b, &to->out);
    to->got_mut = tnr_view_mut_diagonal(&in_mut, a, b, &to->out_mut);
}

static void try_as_real(const tnr_view *in, const listing *from, step *to)
{
    const tnr_view_mut in_mut = {*in};
    if (in->dtype != TNR_C32 && in->dtype != TNR_C64) {
        to->status = TNR_ERR_DTYPE;
    } else if (2 * from->count > MOST) {
        to->untried = true;
        return;
    } else {
        const int64_t size = (int64_t)tnr_dtype_size(tnr_dtype_real(in->dtype));
        to->rank = in->rank + 1;
        to->shape[0] = 2;
        for (int i = 0; i < in->rank; i++) {
            to->shape[i + 1] = in->shape[i];
        }
        to->elements.count = 2 * from->count;
        for (int64_t i = 0; i < to->elements.count; i++) {
            to->elements.bytes[i] = from->bytes[i / 2] + i % 2 * size;
        }
    }
    to->got = tnr_view_as_real(in, &to->out);
    to->got_mut = tnr_view_mut_as_real(&in_mut, &to->out_mut);
}

static void try_as_complex(const tnr_view *in, const listing *from, step *to)
{
    const tnr_view_mut in_mut = {*in};
    const int64_t size = (int64_t)tnr_dtype_size(in->dtype);
    if (in->dtype != TNR_F32 && in->dtype != TNR_F64) {
        to->status = TNR_ERR_DTYPE;
    } else if (in->rank == 0 || in->shape[0] != 2) {
        to->status = TNR_ERR_SHAPE;
    } else {
        to->rank = in->rank - 1;
        for (int i = 0; i < to->rank; i++) {
            to->shape[i] = in->shape[i + 1];
        }
        to->elements.count = from->count / 2;
        for (int64_t i = 0; i < to->elements.count; i++) {
            to->elements.bytes[i] = from->bytes[2 * i];
            if (from->bytes[2 * i] % (2 * size) != 0 || from->bytes[2 * i + 1] != from->bytes[2 * i] + size) {
                to->status = TNR_ERR_LAYOUT;
            }
        }
    }
    to->got = tnr_view_as_complex(in, &to->out);
    to->got_mut = tnr_view_mut_as_complex(&in_mut, &to->out_mut);
}

typedef void (*attempt)(const tnr_view *in, const listing *from, step *to);
static const attempt attempts[] = {try_permute,   try_slice,    try_select,  try_reshape,
                                   try_broadcast, try_diagonal, try_as_real, try_as_complex};
static const char *const names[] = {"permute",   "slice",    "select",  "reshape",
                                    "broadcast", "diagonal", "as_real", "as_complex"};
#define ATTEMPTS (sizeof attempts / sizeof attempts[0])

static void compare_with_cursor(const tnr_view *view, const listing *elements)
{
    const int64_t size = (int64_t)tnr_dtype_size(view->dtype);
    int64_t seen = 0;
    for (tnr_cursor cursor = tnr_cursor_begin(view); cursor.valid; tnr_cursor_next(&cursor)) {
        assert_true(seen < elements->count && cursor.position == seen);
        assert_true(position_of(view->rank, view->shape, cursor.index) == seen);
        assert_true(size * (view->offset + cursor.offset) == elements->bytes[seen]);
        seen++;
    }
    assert_true(seen == elements->count);
}

static void compare_with_span(const tnr_view *view, const listing *elements)
{
    const int64_t size = (int64_t)tnr_dtype_size(view->dtype);
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    int64_t span;
    for (int64_t i = 0; i < elements->count; i++) {
        low = elements->bytes[i] < low ? elements->bytes[i] : low;
        high = elements->bytes[i] > high ? elements->bytes[i] : high;
    }
    assert_int_equal(tnr_view_span(view, &span), TNR_OK);
    assert_true(span == (elements->count == 0 ? 0 : (high - low) / size + 1));
}

static void transforms_follow_their_definitions(void **state)
{
    (void)state;
    int64_t good[ATTEMPTS] = {0};
    int64_t refused[ATTEMPTS] = {0};
    int64_t without_strides = 0;
    for (int chain = 0; chain < CHAINS; chain++) {
        tnr_view view = random_parent();
        for (int length = 0; length < 6; length++) {
            static listing from;
            static step to;
            const size_t which = (size_t)within(0, ATTEMPTS - 1);
            list(&view, &from);
            to = (step){.status = TNR_OK};
            attempts[which](&view, &from, &to);
            if (to.untried) {
                continue;
            }
            if (to.got != to.status) {
                fail_msg("%s, chain %d: status %d, expected %d", names[which], chain, to.got, to.status);
            }
            if (to.status != TNR_OK) {
                refused[which]++;
                without_strides += to.status == TNR_ERR_LAYOUT && attempts[which] == try_reshape;
                assert_int_equal(to.got_mut, to.status);
                continue;
            }
            good[which]++;
            int64_t count;
            const int64_t window = (int64_t)(to.out.window_bytes / tnr_dtype_size(to.out.dtype));
            assert_int_equal(tnri_layout_check(names[which], to.out.rank, to.out.shape, to.out.strides, to.out.offset,
                                               window, &count),
                             TNR_OK);
            assert_true(count == to.elements.count && to.out.rank == to.rank);
            assert_true(same_numbers(to.out.shape, to.shape, to.rank));
            assert_memory_equal(&to.out, &view, offsetof(tnr_view, dtype));
            assert_true(to.out.window_begin == view.window_begin && to.out.window_bytes == view.window_bytes);
            list(&to.out, &from);
            assert_true(same_numbers(from.bytes, to.elements.bytes, count));
            compare_with_cursor(&to.out, &to.elements);
            compare_with_span(&to.out, &to.elements);
            /* the writable form: the same view, or refused for want of proof */
            const bool distinct = tnri_is_distinct(to.out.rank, to.out.shape, to.out.strides);
            assert_int_equal(to.got_mut, distinct ? TNR_OK : TNR_ERR_OVERLAP);
            if (distinct) {
                list(&to.out_mut.view, &from);
                assert_true(same_numbers(from.bytes, to.elements.bytes, count));
            }
            view = to.out;
        }
    }
    for (size_t i = 0; i < ATTEMPTS; i++) {
        printf("%s: %lld as defined, %lld refused as defined\n", names[i], (long long)good[i], (long long)refused[i]);
        assert_true(good[i] > CHAINS / 100);
    }
    printf("reshape: %lld refused because no strides exist\n", (long long)without_strides);
    assert_true(without_strides > CHAINS / 100);
}

int main(void)
{
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_follow_their_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
