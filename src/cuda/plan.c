/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts as what the driver can copy: runs, rows of runs, planes of rows. Pure arithmetic, and the one place that gives
 * copies to the driver.
 *
 * Guarantees: a plan copies every element once and touches no byte between runs. Two levels of equal steps above the run go in
 * one operation, where steps go forward and are no shorter than the run on both sides (the driver's condition); other levels are
 * loops of operations.
 */
#include "cuda_internal.h"

/* ---- Axes ------------------------------------------------------------------------------------------------------------------------ */

/* Axes of a copy in work: two steps each. */
typedef struct axes {
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t steps[2][TNR_MAX_RANK];
} axes;

static void axes_add(axes *to, int64_t extent, int64_t first, int64_t second)
{
    int at = to->rank++;
    for (; at > 0 && to->steps[0][at - 1] > first; at--) { /* by the first side's steps */
        to->shape[at] = to->shape[at - 1];
        to->steps[0][at] = to->steps[0][at - 1];
        to->steps[1][at] = to->steps[1][at - 1];
    }
    to->shape[at] = extent;
    to->steps[0][at] = first;
    to->steps[1][at] = second;
}

static void axes_remove(axes *of, int axis)
{
    of->rank--;
    for (int at = axis; at < of->rank; at++) {
        of->shape[at] = of->shape[at + 1];
        of->steps[0][at] = of->steps[0][at + 1];
        of->steps[1][at] = of->steps[1][at + 1];
    }
}

static bool chains(const axes *of, int axis, int side)
{
    int64_t reach;
    return tnri_mul_i64(of->steps[side][axis], of->shape[axis], &reach) && reach == of->steps[side][axis + 1];
}

static void axes_merge(axes *of)
{
    for (int axis = 0; axis + 1 < of->rank;) {
        if (chains(of, axis, 0) && chains(of, axis, 1)) {
            of->shape[axis] *= of->shape[axis + 1];
            axes_remove(of, axis + 1);
        } else {
            axis++;
        }
    }
}

/* ---- Plans ------------------------------------------------------------------------------------------------------------------------ */

/* May this axis be the rows of runs of `width` bytes: do both sides step by a possible pitch? */
static bool makes_rows(const axes *of, int axis, uint64_t width, int64_t most_pitch)
{
    bool fits = true;
    for (int side = 0; side < 2; side++) {
        const int64_t step = of->steps[side][axis];
        fits = fits && step >= (int64_t)width && step <= most_pitch;
    }
    return fits;
}

/* May this axis be the planes of these rows: do both sides step by whole rows, no fewer than a plane has? */
static bool makes_planes(const axes *of, int axis, int rows)
{
    bool fits = axis != rows;
    for (int side = 0; side < 2 && fits; side++) {
        const int64_t step = of->steps[side][axis];
        const int64_t pitch = of->steps[side][rows];
        fits = step > 0 && step % pitch == 0 && step / pitch >= of->shape[rows];
    }
    return fits;
}

/* The rows, and the planes over them, that leave the fewest operations; -1: none. */
static void choose_axes(const axes *of, uint64_t width, int64_t most_pitch, int *rows, int *planes)
{
    int64_t best = 1;
    *rows = -1;
    *planes = -1;
    for (int row = 0; row < of->rank; row++) {
        if (!makes_rows(of, row, width, most_pitch)) {
            continue;
        }
        int plane = -1;
        for (int axis = 0; axis < of->rank; axis++) {
            if (makes_planes(of, axis, row) && (plane < 0 || of->shape[axis] > of->shape[plane])) {
                plane = axis;
            }
        }
        const int64_t covered = of->shape[row] * (plane >= 0 ? of->shape[plane] : 1);
        if (covered > best) {
            best = covered;
            *rows = row;
            *planes = plane;
        }
    }
}

void tnri_plan_make(tnri_plan *plan, int64_t most_pitch, uint64_t element_bytes, int rank, const int64_t *shape,
                    const int64_t *target_strides, const int64_t *source_strides)
{
    axes all = {.rank = 0};
    memset(plan, 0, sizeof(*plan));
    for (int axis = 0; axis < rank; axis++) {
        int64_t target = target_strides[axis];
        int64_t source = source_strides[axis];
        if (shape[axis] == 1) {
            continue;
        }
        if (target < 0) {
            plan->begin[0] += target * (shape[axis] - 1);
            plan->begin[1] += source * (shape[axis] - 1);
            target = -target;
            source = -source;
        }
        axes_add(&all, shape[axis], target, source);
    }
    axes_merge(&all);
    plan->width = element_bytes;
    plan->height = 1;
    plan->depth = 1;
    if (all.rank > 0 && all.steps[0][0] == (int64_t)element_bytes && all.steps[1][0] == (int64_t)element_bytes) {
        plan->width *= (uint64_t)all.shape[0];
        axes_remove(&all, 0);
    }
    int rows;
    int planes;
    choose_axes(&all, plan->width, most_pitch, &rows, &planes);
    for (int side = 0; side < 2 && rows >= 0; side++) {
        plan->height = (uint64_t)all.shape[rows];
        plan->pitch[side] = (uint64_t)all.steps[side][rows];
        if (planes >= 0) {
            plan->depth = (uint64_t)all.shape[planes];
            plan->slice[side] = (uint64_t)(all.steps[side][planes] / all.steps[side][rows]);
        }
    }
    for (int axis = all.rank - 1; axis >= 0; axis--) {
        if (axis == rows || axis == planes) {
            axes_remove(&all, axis);
        }
    }
    plan->operations = 1;
    plan->loops = all.rank;
    for (int axis = 0; axis < all.rank; axis++) {
        plan->operations *= (uint64_t)all.shape[axis];
        plan->shape[axis] = all.shape[axis];
        plan->strides[0][axis] = all.steps[0][axis];
        plan->strides[1][axis] = all.steps[1][axis];
    }
}

/* ---- Pairs ------------------------------------------------------------------------------------------------------------------------ */

void tnri_pair_make(tnri_pair *pair, size_t element_bytes, int rank, const int64_t *shape, const int64_t *away_strides,
                    const int64_t *host_strides)
{
    axes all = {.rank = 0};
    const int64_t element = (int64_t)element_bytes;
    memset(pair, 0, sizeof(*pair));
    pair->element_bytes = element_bytes;
    pair->bytes = element_bytes;
    for (int axis = 0; axis < rank; axis++) {
        int64_t away = away_strides[axis];
        int64_t host = host_strides[axis];
        if (shape[axis] == 1) {
            continue;
        }
        if (away == 0) {
            pair->repeat_shape[pair->repeats] = shape[axis];
            pair->repeat_host[pair->repeats] = host;
            pair->repeats++;
            continue;
        }
        if (away < 0) {
            pair->away_begin += away * (shape[axis] - 1) * element;
            pair->host_begin += host * (shape[axis] - 1);
            away = -away;
            host = -host;
        }
        axes_add(&all, shape[axis], away, host);
    }
    axes_merge(&all);
    pair->rank = all.rank;
    for (int axis = 0; axis < all.rank; axis++) {
        pair->shape[axis] = all.shape[axis];
        pair->away[axis] = all.steps[0][axis] * element;
        pair->host[axis] = all.steps[1][axis];
        pair->bytes *= (uint64_t)all.shape[axis];
    }
}

/* The axis along which pieces are cut, and how many steps of it they take; rank: nothing is cut. */
static int cut_axis(const tnri_pair *pair, uint64_t most, int64_t *step)
{
    uint64_t slice = pair->element_bytes;
    int axis = 0;
    while (axis < pair->rank && slice * (uint64_t)pair->shape[axis] <= most) {
        slice *= (uint64_t)pair->shape[axis++];
    }
    *step = most / slice != 0 ? (int64_t)(most / slice) : 1;
    return axis;
}

static void piece_fill(const tnri_pair *pair, int cut, int64_t step, tnri_piece *piece)
{
    piece->bytes = pair->element_bytes;
    piece->rank = cut < pair->rank ? cut + 1 : pair->rank;
    for (int axis = 0; axis < piece->rank; axis++) {
        const int64_t left = pair->shape[axis] - piece->index[axis];
        piece->shape[axis] = axis < cut || left < step ? left : step;
        piece->bytes *= (uint64_t)piece->shape[axis];
    }
}

void tnri_piece_first(const tnri_pair *pair, uint64_t most, tnri_piece *piece)
{
    int64_t step;
    const int cut = cut_axis(pair, most, &step);
    memset(piece, 0, sizeof(*piece));
    piece_fill(pair, cut, step, piece);
}

bool tnri_piece_next(const tnri_pair *pair, uint64_t most, tnri_piece *piece)
{
    int64_t step;
    const int cut = cut_axis(pair, most, &step);
    if (cut == pair->rank) {
        return false;
    }
    piece->index[cut] += piece->shape[cut];
    for (int axis = cut; piece->index[axis] >= pair->shape[axis]; axis++) {
        if (axis + 1 == pair->rank) {
            return false;
        }
        piece->index[axis] = 0;
        piece->index[axis + 1]++;
    }
    piece_fill(pair, cut, step, piece);
    return true;
}

int64_t tnri_piece_away(const tnri_pair *pair, const tnri_piece *piece)
{
    int64_t at = 0;
    for (int axis = 0; axis < pair->rank; axis++) {
        at += piece->index[axis] * pair->away[axis];
    }
    return at;
}

int64_t tnri_piece_host(const tnri_pair *pair, const tnri_piece *piece)
{
    int64_t at = 0;
    for (int axis = 0; axis < pair->rank; axis++) {
        at += piece->index[axis] * pair->host[axis];
    }
    return at;
}

/* ---- Giving copies to the driver ------------------------------------------------------------------------------------------------------ */

static CUmemorytype type_of(tnri_side side) { return side.host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; }

static tnr_status issue_run(const char *op, tnr_cuda_lane *lane, uint64_t bytes, tnri_side target, tnri_side source)
{
    tnr_cuda_device *device = lane->device;
    if (source.host) {
        return TNRI_CUDA(op, device, copy_in, target.address, (const void *)(uintptr_t)source.address, bytes,
                         lane->stream);
    }
    if (target.host) {
        return TNRI_CUDA(op, device, copy_out, (void *)(uintptr_t)target.address, source.address, bytes, lane->stream);
    }
    return TNRI_CUDA(op, device, copy_on, target.address, source.address, bytes, lane->stream);
}

static tnr_status issue_rows(const char *op, tnr_cuda_lane *lane, const tnri_plan *plan, tnri_side target,
                             tnri_side source)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof(copy));
    copy.srcMemoryType = type_of(source);
    copy.srcHost = (const void *)(uintptr_t)(source.host ? source.address : 0);
    copy.srcDevice = source.host ? 0 : source.address;
    copy.srcPitch = plan->pitch[1];
    copy.dstMemoryType = type_of(target);
    copy.dstHost = (void *)(uintptr_t)(target.host ? target.address : 0);
    copy.dstDevice = target.host ? 0 : target.address;
    copy.dstPitch = plan->pitch[0];
    copy.WidthInBytes = plan->width;
    copy.Height = plan->height;
    return TNRI_CUDA(op, lane->device, copy_rows, &copy, lane->stream);
}

static tnr_status issue_planes(const char *op, tnr_cuda_lane *lane, const tnri_plan *plan, tnri_side target,
                               tnri_side source)
{
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof(copy));
    copy.srcMemoryType = type_of(source);
    copy.srcHost = (const void *)(uintptr_t)(source.host ? source.address : 0);
    copy.srcDevice = source.host ? 0 : source.address;
    copy.srcPitch = plan->pitch[1];
    copy.srcHeight = plan->slice[1];
    copy.dstMemoryType = type_of(target);
    copy.dstHost = (void *)(uintptr_t)(target.host ? target.address : 0);
    copy.dstDevice = target.host ? 0 : target.address;
    copy.dstPitch = plan->pitch[0];
    copy.dstHeight = plan->slice[0];
    copy.WidthInBytes = plan->width;
    copy.Height = plan->height;
    copy.Depth = plan->depth;
    return TNRI_CUDA(op, lane->device, copy_planes, &copy, lane->stream);
}

static tnr_status issue_peer(const char *op, tnr_cuda_lane *lane, const tnri_plan *plan, tnri_side target,
                             tnri_side source)
{
    CUDA_MEMCPY3D_PEER copy;
    memset(&copy, 0, sizeof(copy));
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = source.address;
    copy.srcContext = source.context;
    copy.srcPitch = plan->pitch[1] != 0 ? plan->pitch[1] : plan->width;
    copy.srcHeight = plan->slice[1] != 0 ? plan->slice[1] : plan->height;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = target.address;
    copy.dstContext = target.context;
    copy.dstPitch = plan->pitch[0] != 0 ? plan->pitch[0] : plan->width;
    copy.dstHeight = plan->slice[0] != 0 ? plan->slice[0] : plan->height;
    copy.WidthInBytes = plan->width;
    copy.Height = plan->height;
    copy.Depth = plan->depth;
    return TNRI_CUDA(op, lane->device, copy_peer, &copy, lane->stream);
}

tnr_status tnri_plan_issue(const char *op, tnr_cuda_lane *lane, const tnri_plan *plan, tnri_side target,
                           tnri_side source)
{
    int64_t index[TNR_MAX_RANK] = {0};
    target.address += (uint64_t)plan->begin[0];
    source.address += (uint64_t)plan->begin[1];
    for (;;) {
        if (source.context != target.context) {
            TNR_TRY(issue_peer(op, lane, plan, target, source));
        } else if (plan->depth > 1) {
            TNR_TRY(issue_planes(op, lane, plan, target, source));
        } else if (plan->height > 1) {
            TNR_TRY(issue_rows(op, lane, plan, target, source));
        } else {
            TNR_TRY(issue_run(op, lane, plan->width, target, source));
        }
        lane->device->counts.operations++;
        int loop = 0;
        for (; loop < plan->loops; loop++) {
            target.address += (uint64_t)plan->strides[0][loop];
            source.address += (uint64_t)plan->strides[1][loop];
            if (++index[loop] < plan->shape[loop]) {
                break;
            }
            target.address -= (uint64_t)(plan->strides[0][loop] * plan->shape[loop]);
            source.address -= (uint64_t)(plan->strides[1][loop] * plan->shape[loop]);
            index[loop] = 0;
        }
        if (loop == plan->loops) {
            return TNR_OK;
        }
    }
}
