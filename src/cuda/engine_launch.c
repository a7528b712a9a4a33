/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core's operations as launches: which kernel, its layout, its grid. What each does with them is said in kernels/contract.h.
 *
 * Guarantees: a call that finds no kernel is TNR_ERR_UNSUPPORTED, and nothing of it was given to the lane.
 */
#include "engine_internal.h"

/* ---- One launch ----------------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_engine_launch(tnri_cuda_engine *engine, int kernel, unsigned blocks, void **parameters)
{
    tnri_engine_batch(engine);
    return tnri_kernel_launch(engine->op, engine->lane, kernel, blocks, parameters);
}

static uint64_t address_of(const void *data) { return (uint64_t)(uintptr_t)data; }

static tnr_status no_kernel(const tnri_cuda_engine *engine, tnr_dtype dtype)
{
    return tnri_fail(TNR_ERR_UNSUPPORTED, "%s: not on a device for %s", engine->op, tnr_dtype_name(dtype));
}

/* ---- Elementwise ------------------------------------------------------------------------------------------------------------------------- */

/* How an operation is launched: as tnri_map_op, as a function, or as a cast. */
typedef struct launched {
    int op;       /* tnri_map_op; -1: none */
    int function; /* TNRI_KERNEL_<function>_f32; -1: none */
} launched;

static launched launch_of(tnri_elementwise_code code, tnr_dtype from)
{
    static const launched all[TNRI_DO_END] = {
        [TNRI_DO_NOTHING] = {-1, -1},
        [TNRI_DO_ADD] = {TNRI_MAP_ADD, -1},
        [TNRI_DO_SUB] = {TNRI_MAP_SUB, -1},
        [TNRI_DO_MUL] = {TNRI_MAP_MUL, -1},
        [TNRI_DO_DIV] = {TNRI_MAP_DIV, -1},
        [TNRI_DO_REM] = {TNRI_MAP_REM, -1},
        [TNRI_DO_POW] = {TNRI_MAP_POW, TNRI_KERNEL_power_f32},
        [TNRI_DO_NEG] = {TNRI_MAP_NEG, -1},
        [TNRI_DO_ABS] = {TNRI_MAP_ABS, -1},
        [TNRI_DO_SIGN] = {TNRI_MAP_SIGN, -1},
        [TNRI_DO_CONJ] = {TNRI_MAP_CONJ, -1},
        [TNRI_DO_MAXIMUM] = {TNRI_MAP_MAXIMUM, -1},
        [TNRI_DO_MINIMUM] = {TNRI_MAP_MINIMUM, -1},
        [TNRI_DO_CLAMP] = {TNRI_MAP_CLAMP, -1},
        [TNRI_DO_SELECT] = {TNRI_MAP_SELECT, -1},
        [TNRI_DO_EQUAL] = {TNRI_MAP_EQUAL, -1},
        [TNRI_DO_NOT_EQUAL] = {TNRI_MAP_NOT_EQUAL, -1},
        [TNRI_DO_LESS] = {TNRI_MAP_LESS, -1},
        [TNRI_DO_LESS_EQUAL] = {TNRI_MAP_LESS_EQUAL, -1},
        [TNRI_DO_CAST] = {-1, -1},
        [TNRI_DO_EXP] = {-1, TNRI_KERNEL_exp_f32},
        [TNRI_DO_LOG] = {-1, TNRI_KERNEL_log_f32},
        [TNRI_DO_SIN] = {-1, TNRI_KERNEL_sin_f32},
        [TNRI_DO_COS] = {-1, TNRI_KERNEL_cos_f32},
        [TNRI_DO_TANH] = {-1, TNRI_KERNEL_tanh_f32},
        [TNRI_DO_SQRT] = {-1, TNRI_KERNEL_sqrt_f32},
        [TNRI_DO_RSQRT] = {-1, TNRI_KERNEL_rsqrt_f32},
        [TNRI_DO_EXPM1] = {-1, TNRI_KERNEL_expm1_f32},
        [TNRI_DO_LOG1P] = {-1, TNRI_KERNEL_log1p_f32},
    };
    launched of = all[code];
    const bool complex = from == TNR_C32 || from == TNR_C64;
    const bool integer = from == TNR_I32 || from == TNR_I64;
    if (code == TNRI_DO_POW) {
        *(integer ? &of.function : &of.op) = -1;
    } else if (code == TNRI_DO_ABS && complex) {
        of.op = TNRI_MAP_SIZE;
    } else if (code == TNRI_DO_SIGN && complex) {
        of.op = TNRI_MAP_SIGN_COMPLEX;
    }
    return of;
}

tnr_status tnri_engine_map(void *state, const tnri_device_map *map)
{
    tnri_cuda_engine *engine = state;
    tnri_map_layout layout;
    tnri_kernel_operand operands[4];
    uint64_t at[4] = {0, 0, 0, 0};
    for (int k = 0; k <= map->inputs; k++) {
        operands[k] = (tnri_kernel_operand){address_of(map->data[k]), map->widths[k], map->strides[k]};
    }
    tnri_map_layout_make(&layout, map->rank, map->shape, 1 + map->inputs, operands);
    for (int k = 0; k <= map->inputs; k++) {
        at[k] = operands[k].address;
    }
    const launched of = launch_of(map->code, map->from);
    const unsigned blocks = tnri_map_blocks(layout.count, engine->multiprocessors);
    int32_t op = of.op;
    int kernel;
    if (map->code == TNRI_DO_CAST) {
        op = (int32_t)map->to;
        kernel = tnri_cast_kernel((int)map->from);
    } else if (of.function >= 0) {
        void *parameters[] = {&layout, &at[0], &at[1], &at[2]};
        kernel = tnri_math_kernel_at((tnri_kernel)of.function, (int)map->from);
        return kernel >= 0 ? tnri_engine_launch(engine, kernel, blocks, parameters) : no_kernel(engine, map->from);
    } else {
        kernel = of.op >= 0 ? tnri_map_kernel((tnri_map_op)of.op, (int)map->from) : -1;
        op |= map->lifted == 1 ? TNRI_MAP_REAL_1 : map->lifted == 2 ? TNRI_MAP_REAL_2 : 0;
    }
    void *parameters[] = {&layout, &op, &at[0], &at[1], &at[2], &at[3]};
    return kernel >= 0 ? tnri_engine_launch(engine, kernel, blocks, parameters) : no_kernel(engine, map->from);
}

/* ---- Copies -------------------------------------------------------------------------------------------------------------------------------- */

static tnr_status fill(tnri_cuda_engine *engine, size_t width, int rank, const int64_t *shape, uint64_t target,
                       const int64_t *strides, tnri_value value)
{
    tnri_map_layout layout;
    tnri_kernel_operand operand = {target, width, strides};
    tnri_map_layout_make(&layout, rank, shape, 1, &operand);
    void *parameters[] = {&layout, &operand.address, &value};
    return tnri_engine_launch(engine, tnri_kernel_of_width(TNRI_KERNEL_fill_1, width),
                              tnri_map_blocks(layout.count, engine->multiprocessors), parameters);
}

tnr_status tnri_engine_fill(void *state, size_t width, int rank, const int64_t *shape, char *target,
                            const int64_t *strides, const void *value)
{
    tnri_value packed = {0, 0};
    memcpy(&packed, value, width); /* devices and their hosts are little-endian */
    return fill(state, width, rank, shape, address_of(target), strides, packed);
}

tnr_status tnri_engine_copy(void *state, const tnri_device_copy *copy)
{
    tnri_cuda_engine *engine = state;
    if (copy->source == NULL) {
        return fill(engine, copy->width, copy->rank, copy->shape, address_of(copy->target), copy->target_strides,
                    (tnri_value){0, 0});
    }
    tnri_kernel_operand operands[2] = {{address_of(copy->target), copy->width, copy->target_strides},
                                       {address_of(copy->source), copy->width, copy->source_strides}};
    tnri_engine_batch(engine);
    return tnri_kernel_copy(engine->op, engine->lane, copy->rank, copy->shape, operands);
}

/* The stride of an extent of 1 means nothing and may be huge. */
static int64_t step_of(int64_t extent, int64_t stride, size_t width)
{
    return extent == 1 ? 0 : stride * (int64_t)width;
}

tnr_status tnri_engine_triangle(void *state, const tnri_device_copy *copy, int64_t k, bool upper)
{
    tnri_cuda_engine *engine = state;
    tnri_triangle_layout layout;
    memset(&layout, 0, sizeof(layout));
    layout.count = 1;
    layout.k = k;
    layout.rank = copy->rank;
    layout.upper = upper ? 1 : 0;
    for (int axis = 0; axis < copy->rank; axis++) {
        layout.shape[axis] = copy->shape[axis];
        layout.steps[0][axis] = step_of(copy->shape[axis], copy->target_strides[axis], copy->width);
        layout.steps[1][axis] = step_of(copy->shape[axis], copy->source_strides[axis], copy->width);
        layout.count *= copy->shape[axis];
    }
    uint64_t target = address_of(copy->target);
    uint64_t source = address_of(copy->source);
    void *parameters[] = {&layout, &target, &source};
    return tnri_engine_launch(engine, tnri_kernel_of_width(TNRI_KERNEL_triangle_1, copy->width),
                              tnri_map_blocks(layout.count, engine->multiprocessors), parameters);
}

tnr_status tnri_engine_reshape(void *state, const tnr_view *out, char *target, const tnr_view *a, const char *source)
{
    tnri_cuda_engine *engine = state;
    const size_t width = tnr_dtype_size(a->dtype);
    tnri_reshape_layout layout;
    tnri_reshape_layout_make(&layout, width, out->rank, out->shape, out->strides, a->rank, a->shape, a->strides);
    uint64_t to = address_of(target);
    uint64_t from = address_of(source);
    void *parameters[] = {&layout, &to, &from};
    return tnri_engine_launch(engine, tnri_kernel_of_width(TNRI_KERNEL_reshape_1, width),
                              tnri_map_blocks(layout.count, engine->multiprocessors), parameters);
}

/* ---- Values that are found ------------------------------------------------------------------------------------------------------------------ */

/* Where a kernel puts what it finds: set to INT64_MAX, which it lowers. */
static tnr_status found_at(tnri_cuda_engine *engine, uint64_t *found)
{
    static const int64_t two = 2;
    static const int64_t side_by_side = 1;
    uint64_t arrival;
    TNR_TRY(tnri_engine_keep(engine, TNRI_KEPT_ARRIVAL, sizeof(engine->word), &arrival));
    TNR_TRY(tnri_engine_keep(engine, TNRI_KEPT_WORD, sizeof(engine->word), found));
    return fill(engine, sizeof(int64_t), 1, &two, *found, &side_by_side, (tnri_value){(uint64_t)INT64_MAX, 0});
}

tnr_status tnri_engine_find(void *state, tnri_device_find what, const tnr_view *view, const char *data, int64_t *found)
{
    tnri_cuda_engine *engine = state;
    tnri_reshape_layout layout;
    const int kernel = view->dtype == TNR_I32 ? TNRI_KERNEL_scan_i32 : TNRI_KERNEL_scan_i64;
    int32_t kind = what == TNRI_FIND_ZERO ? TNRI_SCAN_ZERO : TNRI_SCAN_NEGATIVE;
    uint64_t word;
    uint64_t from = address_of(data);
    TNR_TRY(found_at(engine, &word));
    tnri_reshape_layout_make(&layout, tnr_dtype_size(view->dtype), view->rank, view->shape, view->strides, 0, NULL,
                             NULL);
    void *parameters[] = {&layout, &kind, &from, &word};
    TNR_TRY(tnri_engine_launch(engine, kernel, tnri_map_blocks(layout.count, engine->multiprocessors), parameters));
    TNR_TRY(tnri_engine_fetch(engine, word, sizeof(int64_t)));
    *found = engine->word[0] == INT64_MAX ? -1 : engine->word[0];
    return TNR_OK;
}

/* ---- Reductions ------------------------------------------------------------------------------------------------------------------------------ */

static tnr_status reduce(tnri_cuda_engine *engine, tnri_kernel_reduce_op op, const tnr_view *a, uint64_t gone,
                         const int64_t *target_strides, const char *source, char *target)
{
    tnri_reduce_layout layout;
    const int kernel = tnri_reduce_kernel(op, (int)a->dtype);
    if (kernel < 0) {
        return no_kernel(engine, a->dtype);
    }
    tnri_reduce_layout_make(&layout, op, (int)a->dtype, a->rank, a->shape, gone, a->strides, target_strides);
    uint64_t partials = 0;
    const uint64_t bytes = tnri_reduce_scratch(&layout);
    if (bytes != 0) {
        TNR_TRY(tnri_engine_keep(engine, TNRI_KEPT_WORK, bytes, &partials));
    }
    uint64_t to = address_of(target);
    uint64_t from = address_of(source);
    void *parameters[] = {&layout, &to, &from, &partials};
    TNR_TRY(tnri_engine_launch(engine, kernel, tnri_reduce_blocks(&layout, engine->multiprocessors), parameters));
    if (bytes == 0) {
        return TNR_OK;
    }
    tnri_reduce_layout_join(&layout);
    return tnri_engine_launch(engine, kernel, tnri_reduce_blocks(&layout, engine->multiprocessors), parameters);
}

tnr_status tnri_engine_reduce(void *state, tnri_reduce_op op, const tnr_view *a, const int64_t *spread,
                              const char *source, tnr_dtype to, char *target)
{
    static const tnri_kernel_reduce_op ops[TNRI_REDUCE_END] = {
        [TNRI_REDUCE_SUM] = TNRI_KERNEL_SUM,  [TNRI_REDUCE_PROD] = TNRI_KERNEL_PROD,
        [TNRI_REDUCE_MAX] = TNRI_KERNEL_MAX,  [TNRI_REDUCE_MIN] = TNRI_KERNEL_MIN,
        [TNRI_REDUCE_ALL] = TNRI_KERNEL_ALL,  [TNRI_REDUCE_ANY] = TNRI_KERNEL_ANY,
        [TNRI_REDUCE_NORM] = TNRI_KERNEL_NORM};
    (void)to; /* follows from op and a */
    uint64_t gone = 0;
    for (int axis = 0; axis < a->rank; axis++) {
        gone |= (uint64_t)(spread[axis] == 0 ? 1 : 0) << axis; /* one of a single index may as well */
    }
    return reduce(state, ops[op], a, gone, spread, source, target);
}

tnr_status tnri_engine_arg(void *state, bool smallest, const tnr_view *a, int axis, const tnr_view *out,
                           const char *source, char *target)
{
    int64_t strides[TNR_MAX_RANK];
    int kept = 0;
    for (int at = 0; at < a->rank; at++) {
        strides[at] = at == axis ? 0 : out->strides[kept++];
    }
    return reduce(state, smallest ? TNRI_KERNEL_ARGMIN : TNRI_KERNEL_ARGMAX, a, UINT64_C(1) << axis, strides, source,
                  target);
}

/* ---- Windows --------------------------------------------------------------------------------------------------------------------------------- */

static void windows_layout(const tnri_device_windows *windows, tnri_windows_layout *layout)
{
    memset(layout, 0, sizeof(*layout));
    layout->vectors = windows->vectors;
    layout->entry_step = windows->entry_step;
    layout->batch_rank = windows->batch_rank;
    layout->window_rank = windows->window_result != NULL ? windows->window_rank : 0; /* not asked for by a check */
    layout->entries = windows->entries;
    layout->wide = windows->wide ? 1 : 0;
    for (int at = 0; at < windows->batch_rank; at++) {
        layout->shape[at] = windows->batch_shape[at];
        layout->result[at] = windows->batch_result[at];
        layout->other[at] = windows->batch_indices[at];
    }
    for (int at = 0; at < layout->window_rank; at++) {
        const int64_t extent = windows->window_shape[at];
        const int axis = windows->batch_rank + at;
        layout->shape[axis] = extent;
        layout->result[axis] = step_of(extent, windows->window_result[at], windows->width);
        layout->other[axis] = step_of(extent, windows->window_tensor[at], windows->width);
    }
    for (int at = 0; at < windows->entries; at++) {
        layout->limit[at] = windows->limits[at];
        layout->tensor[at] = windows->tensor_steps[at];
    }
    tnri_windows_layout_finish(layout, windows->overlap);
}

/* Vectors without entries have no indices. */
static uint64_t indices_of(const tnri_device_windows *windows)
{
    return windows->entries > 0 ? address_of(windows->indices) : 0;
}

tnr_status tnri_engine_stray(void *state, const tnri_device_windows *windows, int64_t *place, int64_t *value)
{
    tnri_cuda_engine *engine = state;
    tnri_windows_layout layout;
    uint64_t word;
    uint64_t indices = indices_of(windows);
    TNR_TRY(found_at(engine, &word));
    windows_layout(windows, &layout);
    void *parameters[] = {&layout, &indices, &word};
    TNR_TRY(tnri_engine_launch(engine, TNRI_KERNEL_windows_check,
                               tnri_map_blocks(layout.vectors, engine->multiprocessors), parameters));
    TNR_TRY(tnri_engine_launch(engine, TNRI_KERNEL_windows_value, 1, parameters));
    TNR_TRY(tnri_engine_fetch(engine, word, sizeof(engine->word)));
    *place = engine->word[0] == INT64_MAX ? -1 : engine->word[0];
    *value = engine->word[1];
    return TNR_OK;
}

tnr_status tnri_engine_gather(void *state, const tnri_device_windows *windows)
{
    tnri_cuda_engine *engine = state;
    tnri_windows_layout layout;
    windows_layout(windows, &layout);
    uint64_t target = address_of(windows->result);
    uint64_t source = address_of(windows->tensor);
    uint64_t indices = indices_of(windows);
    void *parameters[] = {&layout, &target, &source, &indices};
    return tnri_engine_launch(engine, tnri_kernel_of_width(TNRI_KERNEL_gather_1, windows->width),
                              tnri_gather_blocks(&layout, engine->multiprocessors), parameters);
}

/* So many vectors are worth a launch each where their windows may overlap in part: one launch then is one block. */
enum { VECTORS_BY_LAUNCHES = 256 };

tnr_status tnri_engine_scatter(void *state, tnr_dtype dtype, const tnri_device_windows *windows)
{
    tnri_cuda_engine *engine = state;
    tnri_windows_layout layout;
    const int kernel = tnri_scatter_kernel((int)dtype);
    if (kernel < 0) {
        return no_kernel(engine, dtype);
    }
    windows_layout(windows, &layout);
    uint64_t target = address_of(windows->tensor);
    uint64_t source = address_of(windows->result);
    uint64_t indices = indices_of(windows);
    void *parameters[] = {&layout, &target, &source, &indices};
    if (layout.way != TNRI_SCATTER_TURNS || windows->vectors > VECTORS_BY_LAUNCHES) {
        return tnri_engine_launch(engine, kernel, tnri_scatter_blocks(&layout, engine->multiprocessors), parameters);
    }
    layout.vectors = 1;
    tnri_windows_layout_finish(&layout, false);
    for (int64_t vector = 0; vector < windows->vectors; vector++) {
        layout.first = vector;
        TNR_TRY(tnri_engine_launch(engine, kernel, tnri_scatter_blocks(&layout, engine->multiprocessors), parameters));
    }
    return TNR_OK;
}
