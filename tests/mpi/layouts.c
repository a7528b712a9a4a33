/* SPDX-License-Identifier: BSD-3-Clause */
/* Random views for tests of ranks. */
#include "layouts.h"

uint64_t layout_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

uint64_t layout_below(uint64_t *state, uint64_t limit) { return (layout_random(state) >> 20) % limit; }

void layout_draw_shape(uint64_t *state, int64_t most, layout_shape *shape)
{
    static const tnr_dtype dtypes[] = {TNR_BOOL, TNR_F32, TNR_F64, TNR_C32, TNR_C64, TNR_I32, TNR_I64};
    shape->dtype = dtypes[layout_below(state, sizeof(dtypes) / sizeof(dtypes[0]))];
    int64_t room = 1; /* as if no extent were 0 */
    do {
        shape->rank = (int)layout_below(state, 6);
        shape->count = 1;
        room = 1;
        for (int axis = 0; axis < shape->rank && room <= most; axis++) { /* too many: drawn anew, nothing overflows */
            const uint64_t limit = layout_below(state, 3) == 0 ? (uint64_t)most : 9;
            shape->shape[axis] = 1 + (int64_t)layout_below(state, limit);
            room *= shape->shape[axis];
            shape->shape[axis] -= layout_below(state, 40) == 0 ? shape->shape[axis] : 0;
            shape->count *= shape->shape[axis];
        }
    } while (room > most);
}

/* Nested strides in some order of the axes, with gaps, some negative. */
static void draw_strides(uint64_t *state, const layout_shape *shape, layout_kind kind, int64_t *strides, int64_t *low,
                         int64_t *high)
{
    int order[TNR_MAX_RANK];
    for (int axis = 0; axis < shape->rank; axis++) {
        order[axis] = axis;
    }
    const bool permute = kind == LAYOUT_ANY && layout_below(state, 2) == 0;
    for (int axis = shape->rank - 1; permute && axis > 0; axis--) {
        const int other = (int)layout_below(state, (uint64_t)axis + 1);
        const int kept = order[axis];
        order[axis] = order[other];
        order[other] = kept;
    }
    int64_t step = 1;
    *low = 0;
    *high = 0;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t extent = shape->shape[order[i]];
        if (kind == LAYOUT_ANY && layout_below(state, 3) == 0) {
            step += (int64_t)layout_below(state, 3);
        }
        const bool negative = kind == LAYOUT_ANY && layout_below(state, 5) == 0;
        const int64_t stride = negative ? -step : step;
        strides[order[i]] = stride;
        *(negative ? low : high) += stride * (extent > 0 ? extent - 1 : 0);
        step *= extent > 0 ? extent : 1;
    }
}

void layout_make(uint64_t *state, tnr_domain *domain, const layout_shape *shape, layout_kind kind, layout_piece *piece)
{
    int64_t strides[TNR_MAX_RANK];
    int64_t low;
    int64_t high;
    draw_strides(state, shape, kind, strides, &low, &high);
    const int64_t before = kind == LAYOUT_ANY ? (int64_t)layout_below(state, 5) : 0;
    const int64_t after = kind == LAYOUT_ANY ? (int64_t)layout_below(state, 5) : 0;
    const int64_t room = before + high - low + 1 + after;
    CHECK_OK(tnr_tensor_zeros(domain, shape->dtype, 1, &room, &piece->tensor));
    CHECK_OK(tnr_tensor_region_mut(piece->tensor, shape->rank, shape->shape, strides, before - low, &piece->view));
    void *data;
    CHECK_OK(tnr_tensor_host_data_mut(piece->tensor, &data));
    for (size_t i = 0; i < (size_t)room * tnr_dtype_size(shape->dtype); i++) {
        ((unsigned char *)data)[i] = (unsigned char)layout_below(state, 2);
    }
}

void layout_end(layout_piece *piece) { CHECK_OK(tnr_tensor_release(&piece->tensor)); }

/* The bytes of element n of a number. */
static void element(uint64_t seed, int64_t n, size_t bytes, unsigned char *value)
{
    uint64_t state = (seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)n * UINT64_C(0xD1342543DE82EF95)) | 1U;
    for (size_t i = 0; i < bytes; i++) {
        value[i] = (unsigned char)(layout_random(&state) >> 40);
    }
}

static const unsigned char *place_of(const tnr_view *view, const unsigned char *origin, const int64_t *index)
{
    int64_t offset = view->offset;
    for (int axis = 0; axis < view->rank; axis++) {
        offset += index[axis] * view->strides[axis];
    }
    return origin + view->window_begin + offset * (int64_t)tnr_dtype_size(view->dtype);
}

typedef void (*visitor)(unsigned char *place, int64_t n, size_t bytes, uint64_t *state);

static void visit(const tnr_view *view, visitor visits, uint64_t *state)
{
    const void *origin;
    int64_t count;
    int64_t index[TNR_MAX_RANK] = {0};
    CHECK_OK(tnr_tensor_host_data(view->root, &origin));
    CHECK_OK(tnr_view_count(view, &count));
    for (int64_t n = 0; n < count; n++) {
        visits((unsigned char *)(uintptr_t)place_of(view, origin, index), n, tnr_dtype_size(view->dtype), state);
        for (int axis = 0; axis < view->rank && ++index[axis] == view->shape[axis]; axis++) {
            index[axis] = 0;
        }
    }
}

static void put(unsigned char *place, int64_t n, size_t bytes, uint64_t *state) { element(*state, n, bytes, place); }

static void compare(unsigned char *place, int64_t n, size_t bytes, uint64_t *state)
{
    unsigned char value[16];
    element(*state, n, bytes, value);
    if (memcmp(place, value, bytes) != 0) {
        ranks_fail(__FILE__, __LINE__, "element %lld of number %llu is another", (long long)n,
                   (unsigned long long)*state);
    }
}

static void add(unsigned char *place, int64_t n, size_t bytes, uint64_t *state)
{
    (void)n;
    for (size_t i = 0; i < bytes; i++) {
        *state += place[i];
    }
}

void layout_fill(const layout_piece *piece, uint64_t seed) { visit(&piece->view.view, put, &seed); }

void layout_check(const tnr_view *view, uint64_t seed) { visit(view, compare, &seed); }

uint64_t layout_outside(const layout_piece *piece)
{
    tnr_view all;
    uint64_t whole = 0;
    uint64_t inside = 0;
    CHECK_OK(tnr_tensor_view(piece->tensor, &all));
    visit(&all, add, &whole);
    visit(&piece->view.view, add, &inside);
    return whole - inside;
}
