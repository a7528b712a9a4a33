/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Index vectors and windows: what gather and scatter have in common. Options and descriptors are checked and brought
 * into one plan; index values are checked, and turned into offsets a few hundred at a time. Axes of index vectors that
 * follow one another in memory, in the indices and in the result, are one axis.
 *
 * Guarantees: no element is looked at before all descriptors were found good; no offset is formed that leaves the
 * tensor, whatever the indices hold when they are read a second time.
 */
#include "structure_internal.h"

/*
 * ---- Options
 * ----------------------------------------------------------------------------------------------------------------------
 */

tnr_status tnr_index_along(const tnr_view *a, const tnr_view *indices, int axis, tnr_index_options *options)
{
    static const char op[] = "index_along";
    static const tnr_index_options none = TNR_INDEX_OPTIONS;
    TNRI_CHECK_VIEW(op, "a", a);
    TNRI_CHECK_VIEW(op, "indices", indices);
    TNR_REQUIRE(options != NULL, TNR_ERR_ARGUMENT, "%s: options is NULL", op);
    TNR_REQUIRE(axis >= 0 && axis < a->rank, TNR_ERR_BOUNDS, "%s: axis %d of a tensor of rank %d", op, axis,
                (int)a->rank);
    TNR_REQUIRE(a->rank - 1 + indices->rank <= TNR_MAX_RANK, TNR_ERR_SHAPE,
                "%s: the result would have rank %d, at most %d", op, (int)(a->rank - 1 + indices->rank), TNR_MAX_RANK);
    tnr_index_options made = none;
    made.index_axis = indices->rank;
    made.axis_count = 1;
    made.axes[0] = axis;
    int window_axes = 0;
    for (int i = 0; i < a->rank; ++i) {
        made.window[i] = i == axis ? 1 : a->shape[i];
        made.collapsed[i] = i == axis;
        if (i != axis) {
            made.window_axes[window_axes++] = i < axis ? i : i - 1 + indices->rank;
        }
    }
    *options = made;
    return TNR_OK;
}

/* Batch axes and vectors, from the shape of the indices. */
static tnr_status plan_vectors(const char *op, const tnr_view *indices, const tnr_index_options *options,
                               tnri_windows *w)
{
    int64_t elements;
    TNR_TRY(tnri_shape_count(op, indices->rank, indices->shape, &elements));
    TNR_REQUIRE(options->index_axis >= 0 && options->index_axis <= indices->rank, TNR_ERR_BOUNDS,
                "%s: index axis %d of indices of rank %d", op, options->index_axis, (int)indices->rank);
    const bool has_axis = options->index_axis < indices->rank;
    const int64_t length = has_axis ? indices->shape[options->index_axis] : 1;
    TNR_REQUIRE(length == options->axis_count, TNR_ERR_SHAPE, "%s: index vectors of %d entries expected, found %lld",
                op, options->axis_count, TNRI_LL(length));
    w->entries = options->axis_count;
    w->entry_stride = length > 1 && elements != 0 ? indices->strides[options->index_axis] : 0;
    w->batch_rank = 0;
    for (int i = 0; i < indices->rank; ++i) {
        if (i != options->index_axis) {
            w->batch_shape[w->batch_rank] = indices->shape[i];
            w->batch_strides[w->batch_rank] = indices->shape[i] > 1 && elements != 0 ? indices->strides[i] : 0;
            ++w->batch_rank;
        }
    }
    return tnri_shape_count(op, w->batch_rank, w->batch_shape, &w->vectors);
}

/* Windows and their places on each axis of the tensor. */
static tnr_status plan_windows(const char *op, const tnr_view *a, const tnr_index_options *options, tnri_windows *w)
{
    uint64_t met = 0;
    w->window_rank = 0;
    w->spread = false;
    for (int i = 0; i < options->axis_count; ++i) {
        TNR_TRY(tnri_axis_enter(op, options->axes[i], a->rank, &met));
        w->entry_axes[i] = options->axes[i];
    }
    for (int i = 0; i < a->rank; ++i) {
        const int64_t window = options->window[i];
        TNR_REQUIRE(window >= 0 && (window <= a->shape[i] || w->vectors == 0), TNR_ERR_SHAPE,
                    "%s: a window of %lld on axis %d, which has extent %lld", op, TNRI_LL(window), i,
                    TNRI_LL(a->shape[i]));
        TNR_REQUIRE(!options->collapsed[i] || window == 1, TNR_ERR_SHAPE,
                    "%s: axis %d is left out, so its window must be 1, found %lld", op, i, TNRI_LL(window));
        w->spread = w->spread || ((met >> i & 1U) != 0 && window > 1);
        if (!options->collapsed[i]) {
            w->window_shape[w->window_rank] = window;
            w->tensor_axes[w->window_rank] = i;
            ++w->window_rank;
        }
    }
    for (int i = 0; i < options->axis_count; ++i) {
        w->limits[i] = w->vectors == 0 ? 0 : a->shape[options->axes[i]] - options->window[options->axes[i]];
        w->single[i] = options->window[options->axes[i]] == 1;
    }
    return TNR_OK;
}

/* Axes of the result: those of the window where they are said to be, those of the indices between them. */
static tnr_status plan_result(const char *op, const tnr_index_options *options, tnri_windows *w)
{
    TNR_REQUIRE(w->window_rank + w->batch_rank <= TNR_MAX_RANK, TNR_ERR_SHAPE,
                "%s: the result would have rank %d, at most %d", op, w->window_rank + w->batch_rank, TNR_MAX_RANK);
    w->rank = w->window_rank + w->batch_rank;
    int previous = -1;
    for (int i = 0; i < w->window_rank; ++i) {
        const int axis = options->window_axes[i];
        TNR_REQUIRE(axis >= 0 && axis < w->rank, TNR_ERR_BOUNDS, "%s: window axis %d of a result of rank %d", op, axis,
                    w->rank);
        TNR_REQUIRE(axis > previous, TNR_ERR_ARGUMENT, "%s: window axes must ascend, found %d after %d", op, axis,
                    previous);
        w->window_axes[i] = axis;
        previous = axis;
    }
    int windows = 0;
    int batches = 0;
    for (int i = 0; i < w->rank; ++i) {
        if (windows < w->window_rank && w->window_axes[windows] == i) {
            w->shape[i] = w->window_shape[windows++];
        } else {
            w->batch_axes[batches] = i;
            w->shape[i] = w->batch_shape[batches++];
        }
    }
    return TNR_OK;
}

tnr_status tnri_index_options_take(const char *op, const tnr_index_options *options, tnr_index_options *taken)
{
    const tnr_index_options none = TNR_INDEX_OPTIONS;
    *taken = none;
    TNR_REQUIRE(options != NULL, TNR_ERR_ARGUMENT, "%s: options is NULL", op);
    TNR_TRY(tnri_options_take(op, options, sizeof *taken, taken, sizeof *taken));
    if (taken->out_of_range != TNR_OUT_OF_RANGE_REFUSE && taken->out_of_range != TNR_OUT_OF_RANGE_CLAMP) {
        return tnri_fail_enumeration(op, "out_of_range", (int)taken->out_of_range);
    }
    return TNR_OK;
}

tnr_status tnri_windows_plan(const char *op, const tnr_view *a, const tnr_view *indices,
                             const tnr_index_options *options, tnri_windows *windows)
{
    TNR_REQUIRE(indices->dtype == TNR_I32 || indices->dtype == TNR_I64, TNR_ERR_DTYPE,
                "%s: indices of i32 or i64 expected, found %s", op, tnr_dtype_name(indices->dtype));
    TNR_REQUIRE(options->axis_count >= 0 && options->axis_count <= a->rank, TNR_ERR_ARGUMENT,
                "%s: index vectors of %d entries for a tensor of rank %d", op, options->axis_count, (int)a->rank);
    windows->wide = indices->dtype == TNR_I64;
    windows->clamp = options->out_of_range == TNR_OUT_OF_RANGE_CLAMP;
    int64_t elements;
    TNR_TRY(tnri_shape_count(op, a->rank, a->shape, &elements));
    TNR_TRY(plan_vectors(op, indices, options, windows));
    TNR_TRY(plan_windows(op, a, options, windows));
    TNR_TRY(plan_result(op, options, windows));
    uint64_t bytes;
    return tnri_shape_bytes(op, a->dtype, windows->rank, windows->shape, &elements, &bytes);
}

/*
 * ---- Values
 * ------------------------------------------------------------------------------------------------------------------------
 */

/* One operand's axis after another, in the order of the vectors; those that go on where the last one ends are that one. */
static void put_axis(tnri_window_steps *steps, int64_t extent, int64_t index_step, int64_t result_step)
{
    if (extent == 1) {
        return;
    }
    const int last = steps->batch_rank - 1;
    if (last >= 0 && steps->batch[last] * steps->batch_shape[last] == index_step &&
        steps->result[last] * steps->batch_shape[last] == result_step) {
        steps->batch_shape[last] *= extent;
        return;
    }
    steps->batch_shape[last + 1] = extent;
    steps->batch[last + 1] = index_step;
    steps->result[last + 1] = result_step;
    ++steps->batch_rank;
}

void tnri_windows_steps(const tnri_windows *windows, const char *indices, size_t width, const int64_t *tensor_strides,
                        const int64_t *result_strides, tnri_window_steps *steps)
{
    static const int64_t nothing = 0; /* somewhere, for vectors without entries */
    const int64_t index_width = windows->wide ? 8 : 4;
    bool empty = false; /* what is empty may have any strides */
    for (int i = 0; i < windows->rank; ++i) {
        empty = empty || windows->shape[i] == 0;
    }
    steps->indices = indices != NULL ? indices : (const char *)&nothing;
    steps->entry = windows->entry_stride * index_width;
    for (int i = 0; i < windows->entries; ++i) {
        const int64_t stride = tensor_strides[windows->entry_axes[i]];
        steps->tensor[i] = windows->limits[i] > 0 && !empty ? stride * (int64_t)width : 0;
    }
    steps->batch_rank = 0;
    for (int i = 0; i < windows->batch_rank && windows->vectors != 0; ++i) {
        const int64_t extent = windows->batch_shape[i];
        const int64_t stride = result_strides[windows->batch_axes[i]];
        put_axis(steps, extent, windows->batch_strides[i] * index_width,
                 extent > 1 && !empty ? stride * (int64_t)width : 0);
    }
    if (steps->batch_rank == 0) {
        steps->batch_rank = 1;
        steps->batch_shape[0] = windows->vectors;
        steps->batch[0] = 0;
        steps->result[0] = 0;
    }
}

/* ---- Walking the vectors -------------------------------------------------------------------------------------------- */

void tnri_vectors_at(const tnri_window_steps *steps, int64_t vector, tnri_vectors *at)
{
    at->indices = steps->indices;
    at->result = 0;
    int i = 0;
    do { // there is always a first axis
        at->index[i] = vector % steps->batch_shape[i];
        vector /= steps->batch_shape[i];
        at->indices += at->index[i] * steps->batch[i];
        at->result += at->index[i] * steps->result[i];
    } while (++i < steps->batch_rank);
}

int64_t tnri_vectors_run(const tnri_window_steps *steps, const tnri_vectors *at, int64_t most)
{
    const int64_t left = steps->batch_shape[0] - at->index[0];
    return left < most ? left : most;
}

void tnri_vectors_on(const tnri_window_steps *steps, int64_t run, tnri_vectors *at)
{
    for (int i = 0; i < steps->batch_rank; ++i) {
        at->index[i] += run;
        at->indices += run * steps->batch[i];
        at->result += run * steps->result[i];
        if (at->index[i] < steps->batch_shape[i]) {
            return;
        }
        at->index[i] = 0;
        at->indices -= steps->batch_shape[i] * steps->batch[i];
        at->result -= steps->batch_shape[i] * steps->result[i];
        run = 1;
    }
}

/* Entry `entry` of a run of vectors. */
static void read_entries(const tnri_windows *w, const tnri_window_steps *steps, const tnri_vectors *at, int entry,
                         int64_t run, int64_t *values)
{
    const char *from = at->indices + entry * steps->entry;
    const int64_t stride = steps->batch[0];
    if (w->wide) {
        for (int64_t i = 0; i < run; ++i) {
            values[i] = *(const int64_t *)(const void *)(from + i * stride);
        }
    } else {
        for (int64_t i = 0; i < run; ++i) {
            values[i] = *(const int32_t *)(const void *)(from + i * stride);
        }
    }
}

/* ---- Checking ------------------------------------------------------------------------------------------------------- */

/* Entries of a run that lie side by side: is one negative, or above the limit? */
static bool strays_i32(const int32_t *values, int64_t run, int64_t limit)
{
    const uint32_t most = limit < INT32_MAX ? (uint32_t)limit : (uint32_t)INT32_MAX;
    uint32_t largest = 0;
    for (int64_t i = 0; i < run; ++i) {
        largest = (uint32_t)values[i] > largest ? (uint32_t)values[i] : largest;
    }
    return largest > most;
}

static bool strays_i64(const int64_t *values, int64_t run, int64_t limit)
{
    bool found = false;
    for (int64_t i = 0; i < run; ++i) {
        found |= (uint64_t)values[i] > (uint64_t)limit;
    }
    return found;
}

static bool run_strays(const tnri_windows *w, const tnri_window_steps *steps, const tnri_vectors *at, int entry,
                       int64_t run, int64_t *values)
{
    const char *from = at->indices + entry * steps->entry;
    if (!w->wide && steps->batch[0] == (int64_t)sizeof(int32_t)) {
        return strays_i32((const int32_t *)(const void *)from, run, w->limits[entry]);
    }
    if (w->wide && steps->batch[0] == (int64_t)sizeof(int64_t)) {
        return strays_i64((const int64_t *)(const void *)from, run, w->limits[entry]);
    }
    read_entries(w, steps, at, entry, run, values);
    return strays_i64(values, run, w->limits[entry]);
}

/* The first window of [first, last) that leaves the tensor. */
typedef struct stray {
    int64_t vector;
    int64_t value;
    int entry;
} stray;

static bool find_stray(const tnri_windows *w, const tnri_window_steps *steps, int64_t first, int64_t last, stray *found)
{
    int64_t values[TNRI_WINDOWS_AT_ONCE];
    tnri_vectors at;
    tnri_vectors_at(steps, first, &at);
    for (int64_t vector = first; vector < last;) {
        const int64_t most = last - vector < TNRI_WINDOWS_AT_ONCE ? last - vector : TNRI_WINDOWS_AT_ONCE;
        const int64_t run = tnri_vectors_run(steps, &at, most);
        int64_t worst = run; /* first vector of the run that strays */
        for (int entry = 0; entry < w->entries; ++entry) {
            if (!run_strays(w, steps, &at, entry, run, values)) {
                continue;
            }
            read_entries(w, steps, &at, entry, run, values);
            for (int64_t i = 0; i < worst; ++i) {
                if ((uint64_t)values[i] > (uint64_t)w->limits[entry]) {
                    *found = (stray){vector + i, values[i], entry};
                    worst = i;
                }
            }
        }
        if (worst < run) {
            return true;
        }
        tnri_vectors_on(steps, run, &at);
        vector += run;
    }
    return false;
}

typedef struct checking {
    const tnri_windows *windows;
    const tnri_window_steps *steps;
    int64_t pieces;
    atomic_bool strayed;
} checking;

static void check_piece(void *context, int64_t piece)
{
    checking *all = context;
    int64_t first;
    int64_t last;
    stray found;
    tnri_piece_of(all->windows->vectors, all->pieces, piece, &first, &last);
    if (first < last && find_stray(all->windows, all->steps, first, last, &found)) {
        atomic_store_explicit(&all->strayed, true, memory_order_relaxed);
    }
}

static tnr_status fail_stray(const char *op, const tnri_windows *windows, const stray *found)
{
    return tnri_fail(TNR_ERR_BOUNDS, "%s: index %lld of vector %lld, expected 0 to %lld for axis %d", op,
                     TNRI_LL(found->value), TNRI_LL(found->vector), TNRI_LL(windows->limits[found->entry]),
                     windows->entry_axes[found->entry]);
}

#if TNRI_DEVICES
void tnri_windows_for_device(const tnri_windows *windows, const tnri_window_steps *steps, tnri_device_windows *all)
{
    *all = (tnri_device_windows){.wide = windows->wide,
                                 .overlap = windows->spread,
                                 .vectors = windows->vectors,
                                 .indices = steps->indices,
                                 .entries = windows->entries,
                                 .entry_step = steps->entry,
                                 .limits = windows->limits,
                                 .tensor_steps = steps->tensor,
                                 .batch_rank = steps->batch_rank,
                                 .batch_shape = steps->batch_shape,
                                 .batch_indices = steps->batch,
                                 .batch_result = steps->result,
                                 .window_rank = windows->window_rank,
                                 .window_shape = windows->window_shape};
}

tnr_status tnri_device_gather(tnr_engine *engine, const tnri_windows *windows, const tnri_window_steps *steps,
                              const tnri_box *window)
{
    tnri_device_windows all;
    tnri_windows_for_device(windows, steps, &all);
    all.width = window->width;
    all.tensor = (char *)(uintptr_t)window->source;
    all.result = window->target;
    all.window_tensor = window->source_strides;
    all.window_result = window->target_strides;
    return engine->device->gather(engine->device_state, &all);
}

tnr_status tnri_device_scatter(tnr_engine *engine, const tnri_windows *windows, const tnri_window_steps *steps,
                               const tnri_box *window, tnr_dtype dtype)
{
    tnri_device_windows all;
    tnri_windows_for_device(windows, steps, &all);
    all.width = window->width;
    all.tensor = window->target;
    all.result = (char *)(uintptr_t)window->source;
    all.window_tensor = window->target_strides;
    all.window_result = window->source_strides;
    return engine->device->scatter(engine->device_state, dtype, &all);
}

static TNRI_COLD tnr_status check_on_device(tnr_engine *engine, const char *op, const tnri_windows *windows,
                                            const tnri_window_steps *steps)
{
    tnri_device_windows all;
    int64_t place = -1;
    stray found = {0, 0, 0};
    tnri_windows_for_device(windows, steps, &all);
    TNR_TRY(engine->device->stray(engine->device_state, &all, &place, &found.value));
    if (place < 0) {
        return TNR_OK;
    }
    found.vector = place / windows->entries;
    found.entry = (int)(place % windows->entries);
    return fail_stray(op, windows, &found);
}
#endif

tnr_status tnri_windows_check(tnr_engine *engine, const char *op, const tnri_windows *windows,
                              const tnri_window_steps *steps)
{
    if (windows->clamp || windows->entries == 0 || windows->vectors == 0) {
        return TNR_OK;
    }
#if TNRI_DEVICES
    if (tnri_is_device(engine)) {
        return check_on_device(engine, op, windows, steps);
    }
#endif
    const uint64_t time = (uint64_t)windows->vectors / 4 * (uint64_t)windows->entries;
    checking all = {windows, steps, tnri_engine_lanes(engine, time), false};
    tnri_engine_run(engine, (int)all.pieces, all.pieces, check_piece, &all);
    stray found = {0, 0, 0};
    if (atomic_load_explicit(&all.strayed, memory_order_relaxed) &&
        find_stray(windows, steps, 0, windows->vectors, &found)) {
        return fail_stray(op, windows, &found);
    }
    return TNR_OK;
}

/* ---- Offsets -------------------------------------------------------------------------------------------------------- */

/* Vectors of a run that are for this share: their places in the run, and how many they are. No branch on the values. */
static int64_t sift(const tnri_windows *w, const tnri_window_steps *steps, const tnri_vectors *at, int64_t run,
                    const tnri_window_share *share, int64_t *places)
{
    int64_t values[TNRI_WINDOWS_AT_ONCE];
    const int64_t limit = w->limits[share->entry];
    const uint64_t extent = (uint64_t)(share->end - share->begin);
    int64_t found = 0;
    read_entries(w, steps, at, share->entry, run, values);
    for (int64_t i = 0; i < run; ++i) {
        places[found] = i;
        found += (uint64_t)(tnri_index_held(values[i], limit) - share->begin) < extent ? 1 : 0;
    }
    return found;
}

int64_t tnri_windows_locate(const tnri_windows *windows, const tnri_window_steps *steps, int64_t first, int64_t count,
                            const tnri_window_share *share, int64_t *in_tensor, int64_t *in_result)
{
    int64_t places[TNRI_WINDOWS_AT_ONCE];
    int64_t values[TNRI_WINDOWS_AT_ONCE];
    int64_t located = 0;
    tnri_vectors at;
    tnri_vectors_at(steps, first, &at);
    for (int64_t done = 0; done < count;) {
        const int64_t run = tnri_vectors_run(steps, &at, count - done);
        const int64_t step = steps->result[0];
        const int64_t found = share == NULL ? run : sift(windows, steps, &at, run, share, places);
        for (int64_t i = 0; i < found; ++i) {
            in_result[located + i] = at.result + (share == NULL ? i : places[i]) * step;
            in_tensor[located + i] = 0;
        }
        for (int entry = 0; entry < windows->entries; ++entry) {
            const int64_t limit = windows->limits[entry];
            const int64_t scale = steps->tensor[entry];
            read_entries(windows, steps, &at, entry, run, values);
            for (int64_t i = 0; i < found; ++i) {
                const int64_t value = values[share == NULL ? i : places[i]];
                in_tensor[located + i] += tnri_index_held(value, limit) * scale;
            }
        }
        tnri_vectors_on(steps, run, &at);
        located += found;
        done += run;
    }
    return located;
}

bool tnri_windows_lie_inside(const tnri_window_steps *steps, int64_t step)
{
    for (int i = 0; i < steps->batch_rank; ++i) {
        if (steps->result[i] != 0 && tnri_magnitude(steps->result[i]) < tnri_magnitude(step)) {
            return true;
        }
    }
    return false;
}
