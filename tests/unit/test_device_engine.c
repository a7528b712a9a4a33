/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines of a device, without one: a table that computes in memory which the core takes for a device's, by naive loops and by an engine
 * of CPUs on views of its own. The whole catalogue goes by it, so every entry is asked for, with the right layouts, between one open and
 * one close; the core maps nothing and leases everything. And what fails in an entry is heard, with nothing left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"
#include "engine/device.h"

#define ROUNDS 12

/* ---- Memory that the host reaches by mappings alone, which are copies ---------------------------------------------------------------- */

static struct {
    int maps;
    int open;
    int live;
} memory;

static tnr_status memory_open(void *state, const void *config)
{
    (void)state;
    (void)config;
    return TNR_OK;
}

static tnr_status memory_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    (void)state;
    const uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
    block->address = aligned_alloc((size_t)alignment, (size_t)rounded);
    assert_non_null(block->address);
    memset(block->address, 0xFF, (size_t)rounded);
    block->bytes = rounded;
    block->tag = 0;
    ++memory.live;
    return TNR_OK;
}

static void memory_release(void *state, const tnr_block *block)
{
    (void)state;
    --memory.live;
    free(block->address);
}

static tnr_status memory_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    (void)state;
    (void)mode;
    *host = malloc((size_t)block->bytes);
    assert_non_null(*host);
    memcpy(*host, block->address, (size_t)block->bytes);
    ++memory.maps;
    ++memory.open;
    return TNR_OK;
}

static tnr_status memory_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    (void)state;
    if (mode == TNR_MAP_WRITE) {
        memcpy(block->address, host, (size_t)block->bytes);
    }
    free(host);
    --memory.open;
    return TNR_OK;
}

static tnr_domain *make_memory(tnr_domain *home)
{
    static const tnr_domain_ops ops = {.size = 8,
                                       .name = "played device",
                                       .open = memory_open,
                                       .allocate = memory_allocate,
                                       .release = memory_release,
                                       .map = memory_map,
                                       .unmap = memory_unmap};
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.access = TNR_ACCESS_MAPPED;
    config.placement = (tnr_placement){TNR_MEMORY_MANAGED, 3, TNR_NONE};
    tnr_domain *domain = NULL;
    catalogue_ok(tnr_domain_create(home, &config, &domain), "memory of the played device");
    return domain;
}

/* ---- The device ---------------------------------------------------------------------------------------------------------------------- */

typedef struct played {
    tnr_domain *heap;
    tnr_domain *domain;
    tnr_engine *cpu; /* computes for it */
    bool open;
    int opens;
    int closes;
    int destroyed;
    int calls;   /* of entries */
    int fail_at; /* which of them fails; 0: none */
    void *scratch;
    uint64_t scratch_bytes;
} played;

static tnr_status call(played *p)
{
    assert_true(p->open);
    ++p->calls;
    return p->calls == p->fail_at ? tnr_set_error(TNR_ERR_BACKEND, "played: fails on order") : TNR_OK;
}

static tnr_status do_open(void *state, const char *op, tnri_operand *operands, int count)
{
    played *p = state;
    assert_false(p->open);
    for (int i = 0; i < count; ++i) {
        const tnr_tensor *root = operands[i].view->root;
        if (root->domain != p->domain) {
            return tnri_fail(TNR_ERR_RESIDENCY, "%s: operand %d is elsewhere", op, i);
        }
        assert_int_equal(operands[i].write, i == 0);
    }
    for (int i = 0; i < count; ++i) {
        if (operands[i].data != NULL) {
            operands[i].data = (char *)operands[i].view->root->block.address + tnri_away_byte(operands[i].data);
        }
    }
    p->open = true;
    ++p->opens;
    return TNR_OK;
}

static tnr_status do_close(void *state, tnr_status status)
{
    played *p = state;
    assert_true(p->open);
    p->open = false;
    ++p->closes;
    return status;
}

/* ---- Views of the played memory for the engine that computes ---------------------------------------------------------------------------- */

typedef struct wrapped {
    tnr_tensor *owner;
    tnr_view_mut view;
} wrapped;

static wrapped wrap(played *p, tnr_dtype dtype, int rank, const int64_t *shape, const int64_t *strides, char *data)
{
    int64_t low = 0;
    int64_t high = 0;
    wrapped made = {.owner = NULL};
    for (int i = 0; i < rank; ++i) {
        if (shape[i] > 1) {
            *(strides[i] < 0 ? &low : &high) += strides[i] * (shape[i] - 1);
        }
    }
    const int64_t size = (int64_t)tnr_dtype_size(dtype);
    const int64_t elements = high - low + 1;
    catalogue_ok(tnr_tensor_adopt(p->heap, dtype, 1, &elements, data + low * size, (uint64_t)(elements * size), NULL,
                                  NULL, &made.owner),
                 "adopt");
    catalogue_ok(tnr_tensor_region(made.owner, rank, shape, strides, -low, &made.view.view), "region");
    return made;
}

static void unwrap(wrapped *all, int count)
{
    for (int i = 0; i < count; ++i) {
        catalogue_ok(tnr_tensor_release(&all[i].owner), "release");
    }
}

static tnr_status do_map(void *state, const tnri_device_map *map)
{
    played *p = state;
    TNR_TRY(call(p));
    wrapped w[4];
    for (int k = 0; k <= map->inputs; ++k) {
        tnr_dtype dtype = k == 0 ? map->to : map->from;
        int rank = map->rank;
        if (k > 0 && k == map->lifted) {
            dtype = tnr_dtype_real(dtype);
            rank = 0;
        }
        dtype = map->code == TNRI_DO_SELECT && k == 1 ? TNR_BOOL : dtype;
        assert_int_equal(map->widths[k], tnr_dtype_size(dtype));
        w[k] = wrap(p, dtype, rank, map->shape, map->strides[k], map->data[k]);
    }
    const tnr_view *a = &w[1].view.view;
    const tnr_view *b = &w[2].view.view;
    const tnr_view *c = &w[3].view.view;
    const tnr_view_mut *out = &w[0].view;
    tnr_engine *e = p->cpu;
    tnr_status status = TNR_ERR_UNSUPPORTED;
    switch (map->code) {
#define ONE(code, function)               \
    case TNRI_DO_##code:                  \
        assert_int_equal(map->inputs, 1); \
        status = function(e, a, out);     \
        break;
#define TWO(code, function)               \
    case TNRI_DO_##code:                  \
        assert_int_equal(map->inputs, 2); \
        status = function(e, a, b, out);  \
        break;
#define COMPARE(code)                                                \
    case TNRI_DO_##code:                                             \
        status = tnr_compare_into(e, TNR_COMPARE_##code, a, b, out); \
        break;
        TWO(ADD, tnr_add_into)
        TWO(SUB, tnr_sub_into)
        TWO(MUL, tnr_mul_into)
        TWO(DIV, tnr_div_into)
        TWO(REM, tnr_rem_into)
        TWO(POW, tnr_pow_into)
        ONE(NEG, tnr_neg_into)
        ONE(ABS, tnr_abs_into)
        ONE(SIGN, tnr_sign_into)
        ONE(CONJ, tnr_conj_into)
        TWO(MAXIMUM, tnr_maximum_into)
        TWO(MINIMUM, tnr_minimum_into)
        COMPARE(EQUAL)
        COMPARE(NOT_EQUAL)
        COMPARE(LESS)
        COMPARE(LESS_EQUAL)
        ONE(CAST, tnr_cast_into)
        ONE(EXP, tnr_exp_into)
        ONE(LOG, tnr_log_into)
        ONE(SIN, tnr_sin_into)
        ONE(COS, tnr_cos_into)
        ONE(TANH, tnr_tanh_into)
        ONE(SQRT, tnr_sqrt_into)
        ONE(RSQRT, tnr_rsqrt_into)
        ONE(EXPM1, tnr_expm1_into)
        ONE(LOG1P, tnr_log1p_into)
    case TNRI_DO_CLAMP:
        status = tnr_clamp_into(e, a, b, c, out);
        break;
    case TNRI_DO_SELECT:
        status = tnr_select_into(e, a, b, c, out);
        break;
    default:
        fail();
    }
    unwrap(w, map->inputs + 1);
    return status;
}

static bool step(int rank, const int64_t *shape, int64_t *index) { return catalogue_step(rank, shape, index); }

static int64_t offset(int rank, const int64_t *index, const int64_t *strides)
{
    int64_t sum = 0;
    for (int i = 0; i < rank; ++i) {
        sum += index[i] == 0 ? 0 : index[i] * strides[i];
    }
    return sum;
}

static int64_t integer_at(bool wide, const char *at)
{
    int64_t value = 0;
    int32_t narrow = 0;
    if (wide) {
        memcpy(&value, at, 8);
        return value;
    }
    memcpy(&narrow, at, 4);
    return narrow;
}

static tnr_status do_find(void *state, tnri_device_find what, const tnr_view *view, const char *data, int64_t *found)
{
    TNR_TRY(call(state));
    int64_t index[TNR_MAX_RANK] = {0};
    int64_t number = 0;
    *found = -1;
    do {
        const int64_t width = (int64_t)tnr_dtype_size(view->dtype);
        const int64_t value =
            integer_at(view->dtype == TNR_I64, data + offset(view->rank, index, view->strides) * width);
        if (what == TNRI_FIND_ZERO ? value == 0 : value < 0) {
            *found = number;
            return TNR_OK;
        }
        ++number;
    } while (step(view->rank, view->shape, index));
    return TNR_OK;
}

static tnr_status do_copy(void *state, const tnri_device_copy *copy)
{
    TNR_TRY(call(state));
    int64_t index[TNR_MAX_RANK] = {0};
    do {
        char *to = copy->target + offset(copy->rank, index, copy->target_strides) * (int64_t)copy->width;
        if (copy->source == NULL) {
            memset(to, 0, copy->width);
        } else {
            memcpy(to, copy->source + offset(copy->rank, index, copy->source_strides) * (int64_t)copy->width,
                   copy->width);
        }
    } while (step(copy->rank, copy->shape, index));
    return TNR_OK;
}

static tnr_status do_fill(void *state, size_t width, int rank, const int64_t *shape, char *target,
                          const int64_t *strides, const void *value)
{
    TNR_TRY(call(state));
    int64_t index[TNR_MAX_RANK] = {0};
    do {
        memcpy(target + offset(rank, index, strides) * (int64_t)width, value, width);
    } while (step(rank, shape, index));
    return TNR_OK;
}

static tnr_status do_triangle(void *state, const tnri_device_copy *copy, int64_t k, bool upper)
{
    TNR_TRY(call(state));
    int64_t index[TNR_MAX_RANK] = {0};
    do {
        const bool stays = upper ? index[0] <= index[1] - k : index[0] >= index[1] - k;
        char *to = copy->target + offset(copy->rank, index, copy->target_strides) * (int64_t)copy->width;
        memset(to, 0, copy->width);
        if (stays) {
            memcpy(to, copy->source + offset(copy->rank, index, copy->source_strides) * (int64_t)copy->width,
                   copy->width);
        }
    } while (step(copy->rank, copy->shape, index));
    return TNR_OK;
}

static tnr_status do_reshape(void *state, const tnr_view *out, char *target, const tnr_view *a, const char *source)
{
    TNR_TRY(call(state));
    const int64_t width = (int64_t)tnr_dtype_size(a->dtype);
    int64_t to[TNR_MAX_RANK] = {0};
    int64_t from[TNR_MAX_RANK] = {0};
    bool more;
    do {
        memcpy(target + offset(out->rank, to, out->strides) * width, source + offset(a->rank, from, a->strides) * width,
               (size_t)width);
        more = step(a->rank, a->shape, from);
    } while (step(out->rank, out->shape, to));
    assert_false(more);
    return TNR_OK;
}

static tnr_status do_reduce(void *state, tnri_reduce_op op, const tnr_view *a, const int64_t *spread,
                            const char *source, tnr_dtype to, char *target)
{
    typedef tnr_status (*into_fn)(tnr_engine *, const tnr_view *, const int *, int, const tnr_view_mut *);
    static const into_fn into[TNRI_REDUCE_END] = {
        [TNRI_REDUCE_SUM] = tnr_sum_into,  [TNRI_REDUCE_PROD] = tnr_prod_into, [TNRI_REDUCE_MAX] = tnr_max_into,
        [TNRI_REDUCE_MIN] = tnr_min_into,  [TNRI_REDUCE_ALL] = tnr_all_into,   [TNRI_REDUCE_ANY] = tnr_any_into,
        [TNRI_REDUCE_NORM] = tnr_norm_into};
    played *p = state;
    TNR_TRY(call(p));
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
    int axes[TNR_MAX_RANK];
    int kept = 0;
    int gone = 0;
    for (int i = 0; i < a->rank; ++i) {
        if (spread[i] == 0) {
            axes[gone++] = i;
        } else {
            shape[kept] = a->shape[i];
            strides[kept++] = spread[i];
        }
    }
    wrapped w[2] = {wrap(p, to, kept, shape, strides, target),
                    wrap(p, a->dtype, a->rank, a->shape, a->strides, (char *)(uintptr_t)source)};
    const tnr_status status = into[op](p->cpu, &w[1].view.view, axes, gone, &w[0].view);
    unwrap(w, 2);
    return status;
}

static tnr_status do_arg(void *state, bool smallest, const tnr_view *a, int axis, const tnr_view *out,
                         const char *source, char *target)
{
    played *p = state;
    TNR_TRY(call(p));
    wrapped w[2] = {wrap(p, TNR_I64, out->rank, out->shape, out->strides, target),
                    wrap(p, a->dtype, a->rank, a->shape, a->strides, (char *)(uintptr_t)source)};
    const tnr_status status = smallest ? tnr_argmin_into(p->cpu, &w[1].view.view, axis, &w[0].view)
                                       : tnr_argmax_into(p->cpu, &w[1].view.view, axis, &w[0].view);
    unwrap(w, 2);
    return status;
}

/* ---- Windows --------------------------------------------------------------------------------------------------------------------------- */

/* Entries of the vector at a batch index. */
static void entries_of(const tnri_device_windows *w, const int64_t *batch, int64_t *entries)
{
    const char *at = w->indices;
    for (int i = 0; i < w->batch_rank; ++i) {
        at += batch[i] * w->batch_indices[i];
    }
    for (int entry = 0; entry < w->entries; ++entry) {
        entries[entry] = integer_at(w->wide, at + entry * w->entry_step);
    }
}

static tnr_status do_stray(void *state, const tnri_device_windows *w, int64_t *place, int64_t *value)
{
    TNR_TRY(call(state));
    int64_t batch[TNR_MAX_RANK] = {0};
    int64_t entries[TNR_MAX_RANK];
    int64_t vector = 0;
    do {
        entries_of(w, batch, entries);
        for (int entry = 0; entry < w->entries; ++entry) {
            if (entries[entry] < 0 || entries[entry] > w->limits[entry]) {
                *place = vector * w->entries + entry;
                *value = entries[entry];
                return TNR_OK;
            }
        }
        ++vector;
    } while (step(w->batch_rank, w->batch_shape, batch));
    assert_int_equal(vector, w->vectors);
    return TNR_OK;
}

static void add(tnr_dtype dtype, char *to, const char *from)
{
    float single[4];
    double both[4];
    int32_t narrow[2];
    int64_t wide[2];
    const size_t width = tnr_dtype_size(dtype);
    switch (dtype) {
    case TNR_F32:
    case TNR_C32:
        memcpy(single, to, width);
        memcpy(single + 2, from, width);
        single[0] += single[2];
        single[1] += single[3];
        memcpy(to, single, width);
        break;
    case TNR_F64:
    case TNR_C64:
        memcpy(both, to, width);
        memcpy(both + 2, from, width);
        both[0] += both[2];
        both[1] += both[3];
        memcpy(to, both, width);
        break;
    case TNR_I32:
        memcpy(&narrow[0], to, width);
        memcpy(&narrow[1], from, width);
        narrow[0] = (int32_t)((uint32_t)narrow[0] + (uint32_t)narrow[1]);
        memcpy(to, &narrow[0], width);
        break;
    default:
        memcpy(&wide[0], to, width);
        memcpy(&wide[1], from, width);
        wide[0] = (int64_t)((uint64_t)wide[0] + (uint64_t)wide[1]);
        memcpy(to, &wide[0], width);
        break;
    }
}

static tnr_status each_window(void *state, const tnri_device_windows *w, tnr_dtype adds)
{
    TNR_TRY(call(state));
    int64_t batch[TNR_MAX_RANK] = {0};
    int64_t entries[TNR_MAX_RANK];
    const int64_t width = (int64_t)w->width;
    do {
        int64_t tensor = 0;
        int64_t result = 0;
        entries_of(w, batch, entries);
        for (int entry = 0; entry < w->entries; ++entry) {
            const int64_t limit = w->limits[entry];
            const int64_t held = entries[entry] < 0 ? 0 : entries[entry] > limit ? limit : entries[entry];
            tensor += held * w->tensor_steps[entry];
        }
        for (int i = 0; i < w->batch_rank; ++i) {
            result += batch[i] * w->batch_result[i];
        }
        int64_t index[TNR_MAX_RANK] = {0};
        do {
            char *in_tensor = w->tensor + tensor + offset(w->window_rank, index, w->window_tensor) * width;
            char *in_result = w->result + result + offset(w->window_rank, index, w->window_result) * width;
            if (adds != TNR_DTYPE_NONE) {
                add(adds, in_tensor, in_result);
            } else {
                memcpy(in_result, in_tensor, w->width);
            }
        } while (step(w->window_rank, w->window_shape, index));
    } while (step(w->batch_rank, w->batch_shape, batch));
    return TNR_OK;
}

static tnr_status do_gather(void *state, const tnri_device_windows *windows)
{
    return each_window(state, windows, TNR_DTYPE_NONE);
}

static tnr_status do_scatter(void *state, tnr_dtype dtype, const tnri_device_windows *windows)
{
    return each_window(state, windows, dtype);
}

/* ---- Products -------------------------------------------------------------------------------------------------------------------------- */

static tnr_c64 load(tnr_dtype dtype, const char *at)
{
    float single[2] = {0.0F, 0.0F};
    double both[2] = {0.0, 0.0};
    if (dtype == TNR_F32 || dtype == TNR_C32) {
        memcpy(single, at, tnr_dtype_size(dtype));
        return (tnr_c64){(double)single[0], (double)single[1]};
    }
    memcpy(both, at, tnr_dtype_size(dtype));
    return (tnr_c64){both[0], both[1]};
}

static void store(tnr_dtype dtype, char *at, tnr_c64 value)
{
    const float single[2] = {(float)value.re, (float)value.im};
    const double both[2] = {value.re, value.im};
    memcpy(at, dtype == TNR_F32 || dtype == TNR_C32 ? (const void *)single : (const void *)both, tnr_dtype_size(dtype));
}

static tnr_c64 times(tnr_c64 x, tnr_c64 y) { return (tnr_c64){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }

static tnr_status do_product(void *state, const tnri_device_product *p)
{
    TNR_TRY(call(state));
    const int64_t width = (int64_t)tnr_dtype_size(p->dtype);
    const bool reads = p->k.size != 0 && (p->alpha.re != 0.0 || p->alpha.im != 0.0);
    int64_t batch[2 * TNR_MAX_RANK] = {0};
    do {
        int64_t n[2 * TNR_MAX_RANK] = {0};
        do {
            int64_t m[2 * TNR_MAX_RANK] = {0};
            do {
                int64_t k[2 * TNR_MAX_RANK] = {0};
                tnr_c64 sum = {0.0, 0.0};
                const int64_t in_a = offset(p->batch.rank, batch, p->batch.a) + offset(p->m.rank, m, p->m.a);
                const int64_t in_b = offset(p->batch.rank, batch, p->batch.b) + offset(p->n.rank, n, p->n.b);
                const int64_t in_c = offset(p->batch.rank, batch, p->batch.c) + offset(p->n.rank, n, p->n.c) +
                                     offset(p->m.rank, m, p->m.c);
                bool more = reads;
                while (more) {
                    tnr_c64 x = load(p->dtype, (const char *)p->a + (in_a + offset(p->k.rank, k, p->k.a)) * width);
                    tnr_c64 y = load(p->dtype, (const char *)p->b + (in_b + offset(p->k.rank, k, p->k.b)) * width);
                    x.im = p->conjugate_a ? -x.im : x.im;
                    y.im = p->conjugate_b ? -y.im : y.im;
                    const tnr_c64 z = times(x, y);
                    sum.re += z.re;
                    sum.im += z.im;
                    more = step(p->k.rank, p->k.extents, k);
                }
                char *to = (char *)p->c + in_c * width;
                tnr_c64 value = times(p->alpha, sum);
                if (!p->overwrite) {
                    const tnr_c64 had = times(p->beta, load(p->dtype, to));
                    value = reads ? (tnr_c64){value.re + had.re, value.im + had.im} : had;
                }
                store(p->dtype, to, value);
            } while (step(p->m.rank, p->m.extents, m));
        } while (step(p->n.rank, p->n.extents, n));
    } while (step(p->batch.rank, p->batch.extents, batch));
    return TNR_OK;
}

static tnr_status do_one(void *state, tnr_dtype dtype, const char **data)
{
    static const tnr_c64 both = {1.0, 0.0};
    static const tnr_c32 single = {1.0F, 0.0F};
    TNR_TRY(call(state));
    *data = dtype == TNR_F32 || dtype == TNR_C32 ? (const char *)&single : (const char *)&both;
    return TNR_OK;
}

static tnr_status do_scratch(void *state, uint64_t bytes, void **data)
{
    played *p = state;
    if (bytes > p->scratch_bytes) {
        free(p->scratch);
        p->scratch = malloc((size_t)bytes);
        assert_non_null(p->scratch);
        p->scratch_bytes = bytes;
    }
    *data = p->scratch;
    return TNR_OK;
}

static void do_describe(const void *state, tnr_engine_info *info)
{
    (void)state;
    info->workers = 7;
}

static void do_destroy(void *state)
{
    played *p = state;
    free(p->scratch);
    p->scratch = NULL;
    ++p->destroyed;
}

static const tnri_device_table table = {.size = sizeof(tnri_device_table),
                                        .kind = "played",
                                        .open = do_open,
                                        .close = do_close,
                                        .map = do_map,
                                        .find = do_find,
                                        .copy = do_copy,
                                        .fill = do_fill,
                                        .triangle = do_triangle,
                                        .reshape = do_reshape,
                                        .reduce = do_reduce,
                                        .arg = do_arg,
                                        .stray = do_stray,
                                        .gather = do_gather,
                                        .scatter = do_scatter,
                                        .product = do_product,
                                        .one = do_one,
                                        .scratch = do_scratch,
                                        .describe = do_describe,
                                        .destroy = do_destroy};

/* ---- Tests --------------------------------------------------------------------------------------------------------------------------- */

static tnr_engine *begin(played *p, uint64_t plan_cache_bytes)
{
    tnr_engine *engine = NULL;
    memset(p, 0, sizeof *p);
    catalogue_ok(tnr_heap_create(&p->heap), "heap");
    p->domain = make_memory(p->heap);
    catalogue_ok(tnr_engine_create(p->heap, NULL, &p->cpu), "engine of CPUs");
    const tnri_device_parts parts = {&table, p, 3, p->domain, NULL, plan_cache_bytes};
    catalogue_ok(tnr_engine_provider.make("test", p->heap, &parts, &engine), "engine of a device");
    return engine;
}

static void end(played *p, tnr_engine *engine)
{
    assert_int_equal(p->opens, p->closes);
    catalogue_ok(tnr_engine_destroy(&engine), "destroy");
    assert_int_equal(p->destroyed, 1);
    catalogue_ok(tnr_engine_destroy(&p->cpu), "destroy");
    catalogue_ok(tnr_domain_close(&p->domain), "nothing is left in the played memory");
    catalogue_ok(tnr_domain_close(&p->heap), "nothing is left in the heap");
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.open, 0);
}

/* One use of an operation. With fail_at: every entry that it calls fails once. */
static void check(played *p, tnr_engine *engine, catalogue_random *random, const catalogue_call *use)
{
    catalogue_operand inputs[CATALOGUE_INPUTS];
    catalogue_operand output;
    tnr_view views[CATALOGUE_INPUTS];
    for (int i = 0; i < use->op->arity; ++i) {
        catalogue_input_make(random, p->domain, use, i, use->op->layouts, false, &inputs[i]);
        views[i] = inputs[i].view.view;
    }
    catalogue_output_make(random, p->domain, use, use->reads_output ? CATALOGUE_VALUES : CATALOGUE_DIRT, &output);
    const int maps = memory.maps;
    if (use->op->into != NULL) {
        catalogue_array expected = catalogue_expect(use, inputs, &output.array);
        catalogue_ok(use->op->into(engine, use, views, &output.view), use->op->name);
        assert_int_equal(memory.maps, maps);
        catalogue_operand_check(use, &output, &expected);
        catalogue_array_free(&expected);
    }
    if (use->op->make != NULL) {
        catalogue_call fresh = *use;
        fresh.reads_output = false;
        catalogue_array expected = catalogue_expect(&fresh, inputs, NULL);
        tnr_tensor *made = NULL;
        const int calls = p->calls;
        catalogue_ok(use->op->make(engine, &fresh, views, &made), use->op->name);
        catalogue_tensor_check(&fresh, made, &expected);
        catalogue_ok(tnr_tensor_release(&made), "release");
        catalogue_array_free(&expected);
        const int used = p->calls - calls;
        const int live = memory.live;
        for (int at = 1; at <= used; ++at) {
            p->fail_at = p->calls + at;
            assert_int_equal(use->op->make(engine, &fresh, views, &made), TNR_ERR_BACKEND);
            assert_null(made);
            assert_int_equal(memory.live, live);
            assert_int_equal(p->opens, p->closes);
            p->fail_at = 0;
        }
    }
    for (int i = 0; i < use->op->arity; ++i) {
        catalogue_operand_unchanged(&inputs[i]);
        catalogue_operand_free(&inputs[i]);
    }
    catalogue_operand_free(&output);
}

static void run_catalogue(uint64_t plan_cache_bytes)
{
    catalogue_random random = catalogue_seed(20261130U);
    played p;
    tnr_engine *engine = begin(&p, plan_cache_bytes);
    const catalogue_op *op;
    for (int o = 0; (op = catalogue_op_at(o)) != NULL; ++o) {
        for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
            for (int round = 0; (op->dtypes & CATALOGUE_BIT(dtype)) != 0 && round < ROUNDS; ++round) {
                const catalogue_call use = catalogue_choose(&random, op, (tnr_dtype)dtype, 8);
                check(&p, engine, &random, &use);
            }
        }
    }
    assert_true(p.opens > 1000);
    end(&p, engine);
}

static void every_operation_goes_by_the_table(void **state)
{
    (void)state;
    run_catalogue(0);
}

static void and_by_remembered_plans(void **state)
{
    (void)state;
    run_catalogue(1 << 16);
}

/* Host memory is refused by the device, device memory that cannot be mapped by CPUs; a conflict of leases is seen before it is opened. */
static void rules_of_the_core_hold(void **state)
{
    (void)state;
    played p;
    tnr_engine *engine = begin(&p, 0);
    const int64_t shape[1] = {4};
    tnr_tensor *here = NULL;
    tnr_tensor *away = NULL;
    tnr_tensor *made = NULL;
    tnr_view on_host;
    tnr_view_mut on_device;
    catalogue_ok(tnr_tensor_zeros(p.heap, TNR_F64, 1, shape, &here), "zeros");
    catalogue_ok(tnr_tensor_zeros(p.domain, TNR_F64, 1, shape, &away), "zeros");
    catalogue_ok(tnr_tensor_view(here, &on_host), "view");
    catalogue_ok(tnr_tensor_view_mut(away, &on_device), "view");
    assert_int_equal(tnr_neg(engine, &on_host, &made), TNR_ERR_RESIDENCY);
    assert_int_equal(tnr_neg_into(engine, &on_host, &on_device), TNR_ERR_RESIDENCY);
    tnr_read_map map;
    catalogue_ok(tnr_map_read(&on_device.view, &map), "map");
    assert_int_equal(tnr_neg_into(engine, &on_device.view, &on_device), TNR_ERR_BUSY);
    catalogue_ok(tnr_neg(engine, &on_device.view, &made), "readers share");
    catalogue_ok(tnr_unmap_read(&map), "unmap");
    catalogue_ok(tnr_tensor_release(&made), "release");
    assert_int_equal(tnr_neg_into(engine, &on_device.view, NULL), TNR_ERR_ARGUMENT);
    tnr_engine_info info;
    catalogue_ok(tnr_engine_describe(engine, &info), "describe");
    assert_string_equal(info.kind, "played");
    assert_int_equal(info.device, 3);
    assert_int_equal(info.workers, 7);
    assert_null(tnr_engine_pool(engine));
    assert_ptr_equal(tnr_engine_output(engine), p.domain);
    catalogue_ok(tnr_engine_describe(p.cpu, &info), "describe");
    assert_string_equal(info.kind, "cpu");
    assert_int_equal(info.device, TNR_NONE);
    catalogue_ok(tnr_tensor_release(&here), "release");
    catalogue_ok(tnr_tensor_release(&away), "release");
    end(&p, engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_goes_by_the_table),
        cmocka_unit_test(and_by_remembered_plans),
        cmocka_unit_test(rules_of_the_core_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
