/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From shapes and strides to what kernels are told (kernels/contract.h). Pure.
 *
 * Maps and copies: axes of extent 1 go, an axis on which the target steps backwards is turned round, the target's nearest comes
 * first, and neighbours that go on one another in all operands are one. So whatever can be one run of memory is.
 */
#include <string.h>

#include "kernels_internal.h"

/* ---- Kernels by name ---------------------------------------------------------------------------------------------------------------- */

#define NAME_(module, name) "tnri_" #name,
#define MODULE_(module, name) TNRI_MODULE_##module,
const char *const tnri_kernel_names[TNRI_KERNELS] = {TNRI_KERNEL_LIST(NAME_)};
const unsigned char tnri_kernel_modules[TNRI_KERNELS] = {TNRI_KERNEL_LIST(MODULE_)};
#undef NAME_
#undef MODULE_
const char *const tnri_module_names[TNRI_MODULES] = {"move",         "map",    "cast",  "math",
                                                     "math_complex", "reduce", "index", "product"};

static bool is_complex(int dtype) { return dtype == TNRI_KERNEL_C32 || dtype == TNRI_KERNEL_C64; }
static bool is_integer(int dtype) { return dtype == TNRI_KERNEL_I32 || dtype == TNRI_KERNEL_I64; }
static bool is_real(int dtype) { return dtype == TNRI_KERNEL_F32 || dtype == TNRI_KERNEL_F64; }
static size_t bytes_of(int dtype)
{
    static const unsigned char bytes[TNRI_KERNEL_BOOL + 1] = {0, 4, 8, 8, 16, 4, 8, 1};
    return bytes[dtype];
}
static int of_dtype(int first, int dtype) { return first + dtype - TNRI_KERNEL_F32; }

int tnri_map_kernel(tnri_map_op op, int dtype)
{
    const bool number = dtype != TNRI_KERNEL_BOOL;
    switch (op) {
    case TNRI_MAP_ADD:
    case TNRI_MAP_SUB:
    case TNRI_MAP_MUL:
    case TNRI_MAP_NEG:
        return number ? of_dtype(TNRI_KERNEL_map_f32, dtype) : -1;
    case TNRI_MAP_CONJ:
        return number && !is_integer(dtype) ? of_dtype(TNRI_KERNEL_map_f32, dtype) : -1;
    case TNRI_MAP_ABS:
    case TNRI_MAP_SIGN:
    case TNRI_MAP_MAXIMUM:
    case TNRI_MAP_MINIMUM:
    case TNRI_MAP_CLAMP:
        return number && !is_complex(dtype) ? of_dtype(TNRI_KERNEL_map_f32, dtype) : -1;
    case TNRI_MAP_DIV:
        return number ? of_dtype(is_real(dtype) ? TNRI_KERNEL_map_f32 : TNRI_KERNEL_heavy_f32, dtype) : -1;
    case TNRI_MAP_REM:
        return number && !is_complex(dtype) ? of_dtype(TNRI_KERNEL_heavy_f32, dtype) : -1;
    case TNRI_MAP_POW:
        return is_integer(dtype) ? of_dtype(TNRI_KERNEL_heavy_f32, dtype) : -1;
    case TNRI_MAP_SIGN_COMPLEX:
        return is_complex(dtype) ? of_dtype(TNRI_KERNEL_heavy_f32, dtype) : -1;
    case TNRI_MAP_SIZE:
        return is_complex(dtype) ? (int)TNRI_KERNEL_size_c32 + dtype - TNRI_KERNEL_C32 : -1;
    case TNRI_MAP_EQUAL:
    case TNRI_MAP_NOT_EQUAL:
        return of_dtype(TNRI_KERNEL_compare_f32, dtype);
    case TNRI_MAP_LESS:
    case TNRI_MAP_LESS_EQUAL:
        return is_complex(dtype) ? -1 : of_dtype(TNRI_KERNEL_compare_f32, dtype);
    case TNRI_MAP_SELECT:
        return tnri_kernel_of_width(TNRI_KERNEL_select_1, bytes_of(dtype));
    case TNRI_MAP_END:
        break;
    }
    return -1;
}

int tnri_cast_kernel(int from) { return of_dtype(TNRI_KERNEL_cast_f32, from); }

int tnri_reduce_kernel(tnri_kernel_reduce_op op, int dtype)
{
    bool offered = dtype != TNRI_KERNEL_BOOL;
    switch (op) {
    case TNRI_KERNEL_SUM:
    case TNRI_KERNEL_PROD:
        break;
    case TNRI_KERNEL_MAX:
    case TNRI_KERNEL_MIN:
        offered = offered && !is_complex(dtype);
        break;
    case TNRI_KERNEL_ALL:
    case TNRI_KERNEL_ANY:
        offered = !offered;
        break;
    case TNRI_KERNEL_NORM:
        offered = offered && !is_integer(dtype);
        break;
    case TNRI_KERNEL_ARGMAX:
    case TNRI_KERNEL_ARGMIN:
        return is_real(dtype)      ? (int)TNRI_KERNEL_arg_f32 + dtype - TNRI_KERNEL_F32
               : is_integer(dtype) ? (int)TNRI_KERNEL_arg_i32 + dtype - TNRI_KERNEL_I32
                                   : -1;
    }
    return offered ? of_dtype(TNRI_KERNEL_reduce_f32, dtype) : -1;
}

int tnri_scatter_kernel(int dtype) { return dtype == TNRI_KERNEL_BOOL ? -1 : of_dtype(TNRI_KERNEL_scatter_f32, dtype); }

int tnri_math_kernel_at(tnri_kernel function, int dtype)
{
    const int which = (int)function - TNRI_KERNEL_exp_f32;
    switch (dtype) {
    case TNRI_KERNEL_F32:
        return TNRI_KERNEL_exp_f32 + which;
    case TNRI_KERNEL_F64:
        return TNRI_KERNEL_exp_f64 + which;
    case TNRI_KERNEL_C32:
        return TNRI_KERNEL_exp_c32 + which;
    case TNRI_KERNEL_C64:
        return TNRI_KERNEL_exp_c64 + which;
    default:
        return -1;
    }
}

/* ---- Maps ------------------------------------------------------------------------------------------------------------------------------ */

/* q = (((uint64) n * multiplier >> 32) + n) >> shift is n / extent for all n < 2^31, 1 <= extent < 2^31 (Granlund and Montgomery, PLDI 1994). */
static void divide_by(int64_t extent, uint32_t *multiplier, uint32_t *shift)
{
    uint32_t log = 0;
    while ((INT64_C(1) << log) < extent) {
        log++;
    }
    *shift = log;
    *multiplier = (uint32_t)((((UINT64_C(1) << log) - (uint64_t)extent) << 32) / (uint64_t)extent + 1);
}

/*
 * The same for n < 2^63: the multiplier is floor(2^64 * (2^shift - extent) / extent) + 1, whose numerator has 128 bits; it is divided bit
 * by bit. 2^shift - extent is less than extent, so that the quotient fits.
 */
static void divide_wide(int64_t extent, uint64_t *multiplier, uint8_t *shift)
{
    const uint64_t by = (uint64_t)extent;
    uint8_t log = 0;
    while (log < 63 && (UINT64_C(1) << log) < by) {
        log++;
    }
    uint64_t rest = (UINT64_C(1) << log) - by;
    uint64_t quotient = 0;
    for (int bit = 0; bit < 64; bit++) {
        const bool carry = rest >> 63 != 0;
        rest <<= 1;
        quotient <<= 1;
        if (carry || rest >= by) {
            rest -= by;
            quotient |= 1U;
        }
    }
    *shift = log;
    *multiplier = quotient + 1;
}

static void divide_axes(tnri_divisors *by, int rank, const int64_t *shape)
{
    for (int axis = 0; axis < rank; axis++) {
        divide_wide(shape[axis], &by->multiplier[axis], &by->shift[axis]);
    }
}

static int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

/* Is axis i of the layout to come before axis j? By the target, then by the inputs. */
static bool comes_before(const tnri_map_layout *l, int i, int j)
{
    for (int operand = 0; operand < l->operands; operand++) {
        const int64_t first = magnitude(l->steps[operand][i]);
        const int64_t second = magnitude(l->steps[operand][j]);
        if (first != second) {
            return operand == 0 && (first == 0 || second == 0) ? second == 0 : first < second;
        }
    }
    return false;
}

static void swap_axes(tnri_map_layout *l, int i, int j)
{
    const int64_t extent = l->shape[i];
    l->shape[i] = l->shape[j];
    l->shape[j] = extent;
    for (int operand = 0; operand < l->operands; operand++) {
        const int64_t step = l->steps[operand][i];
        l->steps[operand][i] = l->steps[operand][j];
        l->steps[operand][j] = step;
    }
}

static void join_axes(tnri_map_layout *l)
{
    int last = 0;
    for (int axis = 1; axis < l->rank; axis++) {
        bool goes_on = true;
        for (int operand = 0; operand < l->operands; operand++) {
            goes_on = goes_on && l->steps[operand][last] * l->shape[last] == l->steps[operand][axis];
        }
        if (goes_on) {
            l->shape[last] *= l->shape[axis];
        } else {
            last++;
            if (last != axis) {
                swap_axes(l, last, axis);
            }
        }
    }
    l->rank = l->rank == 0 ? 0 : last + 1;
}

/* What follows from shape and steps. */
static void choose_way(tnri_map_layout *l, const tnri_kernel_operand *operand)
{
    bool flat = l->rank <= 1;
    l->still = 0;
    for (int i = 0; i < l->operands; i++) {
        bool still = true;
        for (int axis = 0; axis < l->rank; axis++) {
            still = still && l->steps[i][axis] == 0;
        }
        l->still |= still ? 1U << i : 0U;
        flat = flat && (still || l->steps[i][0] == (int64_t)operand[i].width);
    }
    l->way = flat ? TNRI_WAY_FLAT : l->rank <= 4 && l->count <= INT32_MAX ? TNRI_WAY_SMALL : TNRI_WAY_GENERAL;
    for (int axis = 0; axis < l->rank && l->way == TNRI_WAY_SMALL; axis++) {
        divide_by(l->shape[axis], &l->multiplier[axis], &l->shift[axis]);
    }
    if (l->way == TNRI_WAY_GENERAL) {
        divide_axes(&l->by, l->rank, l->shape);
    }
}

void tnri_map_layout_make(tnri_map_layout *layout, int rank, const int64_t *shape, int operands,
                          tnri_kernel_operand *operand)
{
    memset(layout, 0, sizeof(*layout));
    layout->operands = operands;
    layout->count = 1;
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] == 1) {
            continue;
        }
        const int at = layout->rank++;
        const bool turned = operand[0].strides[axis] < 0;
        layout->shape[at] = shape[axis];
        layout->count *= shape[axis];
        for (int i = 0; i < operands; i++) {
            const int64_t step = operand[i].strides[axis] * (int64_t)operand[i].width;
            layout->steps[i][at] = turned ? -step : step;
            operand[i].address += turned ? (uint64_t)(step * (shape[axis] - 1)) : 0;
        }
    }
    for (int i = 1; i < layout->rank; i++) {
        for (int j = i; j > 0 && comes_before(layout, j, j - 1); j--) {
            swap_axes(layout, j, j - 1);
        }
    }
    join_axes(layout);
    choose_way(layout, operand);
}

/* Both extents so long that tiles are worth it. */
enum { LEAST_TURNED = 8 };

void tnri_copy_layout_make(tnri_map_layout *layout, int rank, const int64_t *shape, tnri_kernel_operand *operand)
{
    tnri_map_layout_make(layout, rank, shape, 2, operand);
    int nearest = 0;
    for (int axis = 1; axis < layout->rank; axis++) {
        const int64_t step = magnitude(layout->steps[1][axis]);
        if (step != 0 && (layout->steps[1][nearest] == 0 || step < magnitude(layout->steps[1][nearest]))) {
            nearest = axis;
        }
    }
    if (nearest == 0 || layout->steps[1][0] == 0 || layout->shape[0] < LEAST_TURNED ||
        layout->shape[nearest] < LEAST_TURNED || magnitude(layout->steps[1][nearest]) > 4 * (int64_t)operand[1].width) {
        return;
    }
    for (int axis = nearest; axis > 1; axis--) {
        swap_axes(layout, axis, axis - 1);
    }
    layout->way = TNRI_WAY_TURNED;
    divide_axes(&layout->by, layout->rank, layout->shape);
}

static void put_side(tnri_reshape_layout *layout, int side, size_t width, int rank, const int64_t *shape,
                     const int64_t *strides)
{
    int used = 0;
    int64_t *const to = layout->shape[side];
    int64_t *const steps = layout->steps[side];
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] == 1) { /* its stride means nothing and may be huge */
            continue;
        }
        const int64_t step = strides[axis] * (int64_t)width;
        if (used > 0 && steps[used - 1] * to[used - 1] == step) {
            to[used - 1] *= shape[axis];
        } else {
            to[used] = shape[axis];
            steps[used++] = step;
        }
    }
    layout->rank[side] = used;
    divide_axes(&layout->by[side], used, to);
}

void tnri_reshape_layout_make(tnri_reshape_layout *layout, size_t width, int rank, const int64_t *shape,
                              const int64_t *target, int source_rank, const int64_t *source_shape,
                              const int64_t *source)
{
    memset(layout, 0, sizeof(*layout));
    layout->count = 1;
    for (int axis = 0; axis < rank; axis++) {
        layout->count *= shape[axis];
    }
    put_side(layout, 0, width, rank, shape, target);
    if (source != NULL) {
        put_side(layout, 1, width, source_rank, source_shape, source);
    }
}

unsigned tnri_turn_blocks(const tnri_map_layout *layout, int multiprocessors)
{
    const int64_t tiles = ((layout->shape[0] - 1) / 32 + 1) * ((layout->shape[1] - 1) / 32 + 1);
    const int64_t planes = layout->count / (layout->shape[0] * layout->shape[1]);
    return tnri_kernel_blocks_(tiles * planes, multiprocessors, 16);
}

/* ---- Reductions ------------------------------------------------------------------------------------------------------------------------ */

/*
 * So many terms of one output are a block's, so many outputs are enough blocks: by numbers of our own, not the device's, for the
 * order of additions must not depend on it.
 */
enum {
    LEAST_CHUNK = 4096,
    ENOUGH_BLOCKS = 1024,
    MOST_CHUNKS = 1024,
    MOST_TERMS_OF_A_THREAD = 2048 /* 4 * 8 * 8 * 8 */
};

static int32_t partial_bytes(tnri_kernel_reduce_op op, int dtype)
{
    switch (op) {
    case TNRI_KERNEL_NORM:
        return dtype == TNRI_KERNEL_F32 || dtype == TNRI_KERNEL_C32 ? 16 : 24;
    case TNRI_KERNEL_ARGMAX:
    case TNRI_KERNEL_ARGMIN:
        return 16;
    default:
        return (int32_t)bytes_of(dtype);
    }
}

static size_t result_bytes(tnri_kernel_reduce_op op, int dtype)
{
    switch (op) {
    case TNRI_KERNEL_NORM:
        return dtype == TNRI_KERNEL_F32 || dtype == TNRI_KERNEL_C32 ? 4 : 8;
    case TNRI_KERNEL_ARGMAX:
    case TNRI_KERNEL_ARGMIN:
        return 8;
    default:
        return bytes_of(dtype);
    }
}

/* The smallest power of two that is not below n, at most 256. */
static int32_t lanes_for(int64_t n)
{
    int32_t lanes = 1;
    while (lanes < n && lanes < TNRI_KERNEL_THREADS) {
        lanes *= 2;
    }
    return lanes;
}

static int64_t rounded_up(int64_t n, int64_t unit) { return (n - 1) / unit * unit + unit; }

/* Threads of a block that share an output, and how many blocks share it. */
static void choose_chunks(tnri_reduce_layout *l)
{
    int64_t outputs_of_block;
    if (l->lines) {
        l->lanes = lanes_for(l->terms < 8 ? l->terms : (l->terms - 1) / 8 + 1);
        if (l->lanes < 32 && l->terms >= 32) {
            l->lanes = 32; /* whole lines of memory */
        }
    } else {
        /* 32 outputs side by side are whole lines of memory; more threads along the terms where outputs are few */
        const int32_t beside = lanes_for(l->outputs);
        const int32_t least = beside < 32 ? beside : 32;
        int32_t lanes = TNRI_KERNEL_THREADS / beside;
        while (lanes * least < TNRI_KERNEL_THREADS &&
               (l->outputs - 1) / (TNRI_KERNEL_THREADS / lanes) + 1 < ENOUGH_BLOCKS && (int64_t)lanes * 16 < l->terms) {
            lanes *= 2;
        }
        l->lanes = lanes;
    }
    outputs_of_block = TNRI_KERNEL_THREADS / l->lanes;
    const int64_t groups = (l->outputs - 1) / outputs_of_block + 1;
    const int64_t most = (int64_t)l->lanes * MOST_TERMS_OF_A_THREAD;
    int64_t chunks = groups >= ENOUGH_BLOCKS ? 1 : (ENOUGH_BLOCKS - 1) / groups + 1;
    const int64_t least_chunk = (int64_t)l->lanes * (LEAST_CHUNK / TNRI_KERNEL_THREADS);
    const int64_t possible = (l->terms - 1) / least_chunk + 1;
    chunks = chunks < possible ? chunks : possible;
    chunks = chunks < MOST_CHUNKS ? chunks : MOST_CHUNKS;
    const int64_t needed = (l->terms - 1) / most + 1;
    chunks = chunks > needed ? chunks : needed;
    l->chunk = rounded_up((l->terms - 1) / chunks + 1, l->lanes);
    l->chunks = (l->terms - 1) / l->chunk + 1;
    l->stage = l->chunks > 1 ? TNRI_STAGE_SPLIT : TNRI_STAGE_WHOLE;
}

/* Axis i's and j's places change if j's step is the smaller one. */
static void sort_part(tnri_reduce_layout *l, int begin, int end)
{
    for (int i = begin + 1; i < end; i++) {
        for (int j = i; j > begin && magnitude(l->source[j]) < magnitude(l->source[j - 1]); j--) {
            const int64_t axis[3] = {l->shape[j], l->source[j], l->target[j]};
            l->shape[j] = l->shape[j - 1];
            l->source[j] = l->source[j - 1];
            l->target[j] = l->target[j - 1];
            l->shape[j - 1] = axis[0];
            l->source[j - 1] = axis[1];
            l->target[j - 1] = axis[2];
        }
    }
}

/* Joins axes that go on one another; their number. */
static int join_part(tnri_reduce_layout *l, int begin, int end)
{
    int last = begin;
    for (int axis = begin + 1; axis < end; axis++) {
        if (l->source[last] * l->shape[last] == l->source[axis] &&
            l->target[last] * l->shape[last] == l->target[axis]) {
            l->shape[last] *= l->shape[axis];
        } else {
            last++;
            l->shape[last] = l->shape[axis];
            l->source[last] = l->source[axis];
            l->target[last] = l->target[axis];
        }
    }
    return begin == end ? 0 : last + 1 - begin;
}

void tnri_reduce_layout_make(tnri_reduce_layout *layout, tnri_kernel_reduce_op op, int dtype, int rank,
                             const int64_t *shape, uint64_t gone, const int64_t *source, const int64_t *target)
{
    const int64_t width = (int64_t)bytes_of(dtype);
    const int64_t target_width = (int64_t)result_bytes(op, dtype);
    memset(layout, 0, sizeof(*layout));
    layout->op = (int32_t)op;
    layout->partial_bytes = partial_bytes(op, dtype);
    layout->outputs = 1;
    layout->terms = 1;
    int used = 0;
    for (int part = 0; part < 2; part++) {
        const int begin = used;
        for (int axis = 0; axis < rank; axis++) {
            if ((gone >> axis & 1U) != (uint64_t)part || shape[axis] == 1) {
                continue;
            }
            layout->shape[used] = shape[axis];
            layout->source[used] = source[axis] * width;
            layout->target[used] = part == 0 ? target[axis] * target_width : 0;
            *(part == 0 ? &layout->outputs : &layout->terms) *= shape[axis];
            used++;
        }
        if (part == 0 ||
            (op != TNRI_KERNEL_ARGMAX && op != TNRI_KERNEL_ARGMIN)) { /* positions count along one axis as it is */
            sort_part(layout, begin, used);
        }
        used = begin + join_part(layout, begin, used);
        *(part == 0 ? &layout->kept_rank : &layout->gone_rank) = used - begin;
    }
    const int64_t *const terms_source = layout->source + layout->kept_rank;
    const int64_t *const terms_shape = layout->shape + layout->kept_rank;
    layout->way = layout->gone_rank <= 1                                 ? TNRI_WAY_FLAT
                  : layout->gone_rank <= 4 && layout->terms <= INT32_MAX ? TNRI_WAY_SMALL
                                                                         : TNRI_WAY_GENERAL;
    for (int axis = 0; axis < layout->gone_rank && layout->way == TNRI_WAY_SMALL; axis++) {
        divide_by(terms_shape[axis], &layout->multiplier[axis], &layout->shift[axis]);
    }
    divide_axes(&layout->by, layout->kept_rank + layout->gone_rank, layout->shape);
    layout->lines =
        layout->outputs == 1 ||
        (layout->gone_rank > 0 && magnitude(terms_source[0]) < magnitude(layout->source[0]) && layout->terms >= 4);
    choose_chunks(layout);
}

uint64_t tnri_reduce_scratch(const tnri_reduce_layout *layout)
{
    return layout->stage == TNRI_STAGE_SPLIT
               ? (uint64_t)layout->chunks * (uint64_t)layout->outputs * (uint64_t)layout->partial_bytes
               : 0;
}

void tnri_reduce_layout_join(tnri_reduce_layout *layout)
{
    layout->stage = TNRI_STAGE_JOIN;
    layout->terms = layout->chunks;
    layout->chunk = layout->chunks;
    layout->chunks = 1;
    layout->lines = 0; /* partials of neighbouring outputs lie side by side */
    layout->lanes = lanes_for(layout->terms);
    while (layout->lanes > 1 && layout->lanes * 4 > layout->terms &&
           layout->outputs > TNRI_KERNEL_THREADS / layout->lanes) {
        layout->lanes /= 2;
    }
}

unsigned tnri_reduce_blocks(const tnri_reduce_layout *layout, int multiprocessors)
{
    const int64_t outputs_of_block = TNRI_KERNEL_THREADS / layout->lanes;
    const int64_t items = ((layout->outputs - 1) / outputs_of_block + 1) * layout->chunks;
    return tnri_kernel_blocks_(items, multiprocessors, 16);
}

/* ---- Windows ---------------------------------------------------------------------------------------------------------------------------- */

/* So many threads are at work when a thread takes an element of the window; with fewer, places are shared out. */
enum { ENOUGH_ELEMENTS = 4096 };

void tnri_windows_layout_finish(tnri_windows_layout *layout, bool overlap)
{
    divide_axes(&layout->by, layout->batch_rank + layout->window_rank, layout->shape);
    layout->elements = 1;
    for (int axis = layout->batch_rank; axis < layout->batch_rank + layout->window_rank; axis++) {
        layout->elements *= layout->shape[axis];
    }
    layout->places = 1;
    for (int entry = 0; entry < layout->entries; entry++) {
        const int64_t places = layout->limit[entry] + 1;
        layout->places = places > 0 && layout->places > INT64_MAX / places ? INT64_MAX : layout->places * places;
    }
    int64_t window = INT64_MAX; /* the nearest neighbours in the result: of a window, or of vectors? */
    int64_t batch = INT64_MAX;
    for (int axis = 0; axis < layout->batch_rank + layout->window_rank; axis++) {
        const int64_t step = magnitude(layout->result[axis]);
        int64_t *const nearest = axis < layout->batch_rank ? &batch : &window;
        *nearest = layout->shape[axis] > 1 && step < *nearest ? step : *nearest;
    }
    layout->window_first = window <= batch;
    if (layout->vectors == 1 || (!overlap && layout->elements >= ENOUGH_ELEMENTS)) {
        layout->way = TNRI_SCATTER_ELEMENTS;
    } else if (overlap || layout->places == INT64_MAX) {
        layout->way = TNRI_SCATTER_TURNS;
    } else {
        layout->way = layout->places == 1 ? TNRI_SCATTER_ELEMENTS : TNRI_SCATTER_SHARES;
    }
}

unsigned tnri_gather_blocks(const tnri_windows_layout *layout, int multiprocessors)
{
    return tnri_map_blocks(layout->vectors * layout->elements, multiprocessors);
}

unsigned tnri_scatter_blocks(const tnri_windows_layout *layout, int multiprocessors)
{
    if (layout->way == TNRI_SCATTER_TURNS) {
        return 1;
    }
    if (layout->way == TNRI_SCATTER_ELEMENTS) {
        return tnri_map_blocks(layout->elements, multiprocessors);
    }
    return tnri_kernel_blocks_(layout->places, multiprocessors, 4);
}

/* ---- Products ------------------------------------------------------------------------------------------------------------------------------ */

enum { PRODUCT_TILE = 64, LEAST_TILED = 16, LEAST_SPLIT = 512, ENOUGH_PRODUCT_BLOCKS = 256, MOST_SPLITS = 256 };

static int64_t tiles_of(const tnri_product_layout *l)
{
    return ((l->m.size - 1) / PRODUCT_TILE + 1) * ((l->n.size - 1) / PRODUCT_TILE + 1) * l->batch.size;
}

static int64_t groups_of(const tnri_product_layout *l)
{
    return (l->m.size * l->n.size * l->batch.size - 1) / (TNRI_KERNEL_THREADS / l->lanes) + 1;
}

void tnri_product_layout_finish(tnri_product_layout *layout, int dtype)
{
    (void)dtype;
    const int64_t outputs = layout->m.size * layout->n.size * layout->batch.size;
    int64_t blocks;
    layout->lanes = 1;
    layout->lines = 0;
    if (layout->m.size >= LEAST_TILED && layout->n.size >= LEAST_TILED) {
        layout->way = TNRI_PRODUCT_WAY_TILES;
        blocks = tiles_of(layout);
    } else {
        /* The longer side's operand is what memory is read for. */
        const bool by_a = layout->m.size >= layout->n.size;
        const tnri_product_group *const across = by_a ? &layout->m : &layout->n;
        const int64_t beside = magnitude(across->step[by_a ? 0 : 1]);
        const int64_t along = magnitude(layout->k.step[by_a ? 0 : 1]);
        layout->way = TNRI_PRODUCT_WAY_LINES;
        layout->lines = across->size == 1 || (layout->k.size >= 32 && along < beside);
        layout->lanes = lanes_for(layout->k.size < 8 ? layout->k.size : (layout->k.size - 1) / 8 + 1);
        if (!layout->lines) {
            while (layout->lanes > 1 && (layout->lanes > 8 || outputs > 65536)) {
                layout->lanes /= 2;
            }
        }
        blocks = groups_of(layout);
    }
    const int64_t least = layout->way == TNRI_PRODUCT_WAY_LINES ? (int64_t)layout->lanes * 32 : LEAST_SPLIT;
    const int64_t possible = (layout->k.size - 1) / least + 1;
    int64_t splits = blocks >= ENOUGH_PRODUCT_BLOCKS ? 1 : (ENOUGH_PRODUCT_BLOCKS - 1) / blocks + 1;
    splits = splits < possible ? splits : possible;
    splits = splits < MOST_SPLITS ? splits : MOST_SPLITS;
    layout->split = rounded_up((layout->k.size - 1) / splits + 1, 16);
    layout->splits = (layout->k.size - 1) / layout->split + 1;
}

uint64_t tnri_product_scratch_bytes(const tnri_product_layout *layout, int dtype)
{
    const uint64_t outputs = (uint64_t)(layout->m.size * layout->n.size * layout->batch.size);
    return layout->splits > 1 ? (uint64_t)layout->splits * outputs * bytes_of(dtype) : 0;
}

unsigned tnri_product_blocks(const tnri_product_layout *layout, int multiprocessors)
{
    const int64_t blocks = layout->way == TNRI_PRODUCT_WAY_TILES ? tiles_of(layout) : groups_of(layout);
    return tnri_kernel_blocks_(blocks * layout->splits, multiprocessors, 8);
}

unsigned tnri_product_join_blocks(const tnri_product_layout *layout, int multiprocessors)
{
    return tnri_map_blocks(layout->m.size * layout->n.size * layout->batch.size, multiprocessors);
}
