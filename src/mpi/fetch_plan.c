/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes to read when only stretches of memory can be read, each at a price: pure.
 *
 * Elements that lie close together are read in one stretch, what is between them included, and sorted out here; where the gaps cost
 * more than another read, each is read by itself. Stretches that are dense at both ends go straight to their place.
 */
#include "group_internal.h"

/* Runs from so many bytes on, dense at both ends, are read one by one into their place. */
#define DIRECT_BYTES 4096U
/* Most bytes in one read that goes straight to its place. */
#define DIRECT_MOST (UINT64_C(1) << 20U)

/* Enter an axis of more than one index: both strides turned so that the source's is not negative, sorted by it. */
static void enter_axis(tnri_fetch_plan *plan, int64_t extent, int64_t source, int64_t target)
{
    const int64_t bytes = (int64_t)plan->element_bytes;
    if (source < 0) {
        plan->begin += (extent - 1) * source * bytes;
        plan->to += (extent - 1) * target * bytes;
        source = -source;
        target = -target;
    }
    int at = plan->rank++;
    for (; at > 0 && plan->source[at - 1] > source; at--) {
        plan->shape[at] = plan->shape[at - 1];
        plan->source[at] = plan->source[at - 1];
        plan->target[at] = plan->target[at - 1];
    }
    plan->shape[at] = extent;
    plan->source[at] = source;
    plan->target[at] = target;
}

static void merge_axes(tnri_fetch_plan *plan)
{
    int last = 0;
    for (int axis = 1; axis < plan->rank; axis++) {
        if (plan->source[axis] == plan->source[last] * plan->shape[last] &&
            plan->target[axis] == plan->target[last] * plan->shape[last]) {
            plan->shape[last] *= plan->shape[axis];
            continue;
        }
        last++;
        plan->shape[last] = plan->shape[axis];
        plan->source[last] = plan->source[axis];
        plan->target[last] = plan->target[axis];
    }
    plan->rank = last + 1;
}

/* How much of the innermost axes makes one piece. */
static void choose_piece(tnri_fetch_plan *plan, uint64_t most, uint64_t start_bytes)
{
    const uint64_t bytes = plan->element_bytes;
    const uint64_t run = (uint64_t)plan->shape[0] * bytes;
    plan->inner = 0;
    plan->direct = plan->source[0] == 1 && plan->target[0] == 1 && (plan->rank == 1 || run >= DIRECT_BYTES);
    if (plan->direct) {
        plan->step = (int64_t)(tnri_min_u64(run, DIRECT_MOST) / bytes);
        return;
    }
    uint64_t span = bytes;
    plan->step = 1;
    for (; plan->inner < plan->rank; plan->inner++) {
        const uint64_t stride = (uint64_t)plan->source[plan->inner] * bytes;
        const uint64_t extent = (uint64_t)plan->shape[plan->inner];
        if (stride > start_bytes + span) {
            return; /* the gaps cost more */
        }
        const uint64_t fit = stride == 0 ? extent : tnri_min_u64(extent, (most - span) / stride + 1);
        if (fit < extent) {
            plan->step = (int64_t)fit;
            return;
        }
        span += (extent - 1) * stride;
    }
}

void tnri_fetch_plan_make(tnri_fetch_plan *plan, size_t element_bytes, int rank, const int64_t *shape, int64_t begin,
                          const int64_t *source, char *to, const int64_t *target, uint64_t most, uint64_t start_bytes)
{
    memset(plan, 0, sizeof(*plan));
    plan->element_bytes = element_bytes;
    plan->begin = begin;
    plan->to = to;
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0) {
            plan->over = true;
            return;
        }
    }
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] > 1) {
            enter_axis(plan, shape[axis], source[axis], target[axis]);
        }
    }
    if (plan->rank == 0) {
        enter_axis(plan, 1, 1, 1);
    }
    merge_axes(plan);
    choose_piece(plan, most, start_bytes);
}

bool tnri_fetch_plan_next(tnri_fetch_plan *plan, tnri_fetch_piece *piece)
{
    if (plan->over) {
        return false;
    }
    const int64_t bytes = (int64_t)plan->element_bytes;
    int64_t begin = plan->begin;
    int64_t to = 0;
    int64_t span = bytes;
    for (int axis = plan->inner; axis < plan->rank; axis++) {
        begin += plan->index[axis] * plan->source[axis] * bytes;
        to += plan->index[axis] * plan->target[axis] * bytes;
    }
    piece->rank = plan->inner;
    for (int axis = 0; axis < plan->inner; axis++) {
        piece->shape[axis] = plan->shape[axis];
        span += (plan->shape[axis] - 1) * plan->source[axis] * bytes;
    }
    if (plan->inner < plan->rank) {
        const int64_t left = plan->shape[plan->inner] - plan->index[plan->inner];
        const int64_t count = left < plan->step ? left : plan->step;
        piece->shape[piece->rank++] = count;
        span += (count - 1) * plan->source[plan->inner] * bytes;
    }
    piece->begin = (uint64_t)begin;
    piece->span = (uint64_t)span;
    piece->to = plan->to + to;
    for (int axis = plan->inner; axis < plan->rank; axis++) {
        plan->index[axis] += axis == plan->inner ? plan->step : 1;
        if (plan->index[axis] < plan->shape[axis]) {
            return true;
        }
        plan->index[axis] = 0;
    }
    plan->over = true;
    return true;
}
