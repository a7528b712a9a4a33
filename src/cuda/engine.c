/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of an engine of a device. The core has the engine itself; here is the state behind its table.
 *
 * Guarantees: what a failed create took is given back; an engine holds its device object open through a domain of its own.
 */
#include "engine_internal.h"

/* Figures of choice, not measured on a device yet. */
enum { BLAS_FROM = 32768, PACK_FROM = 32 };

static tnr_status scratch(void *state, uint64_t bytes, void **data)
{
    uint64_t address;
    TNR_TRY(tnri_engine_keep(state, TNRI_KEPT_SPAN, bytes, &address));
    *data = (void *)(uintptr_t)address;
    return TNR_OK;
}

/* One of each precision: their real parts serve real dtypes. */
static tnr_status one(void *state, tnr_dtype dtype, const char **data)
{
    static const struct numbers {
        tnr_c64 both;
        tnr_c32 single;
    } numbers = {{1.0, 0.0}, {1.0F, 0.0F}};
    tnri_cuda_engine *engine = state;
    const bool there = engine->kept[TNRI_KEPT_ONES] != NULL;
    uint64_t address;
    TNR_TRY(tnri_engine_keep(engine, TNRI_KEPT_ONES, sizeof(numbers), &address));
    if (!there) {
        tnri_engine_batch(engine);
        engine->device->counts.operations++;
        const tnr_status status =
            TNRI_CUDA(engine->op, engine->device, copy_in, address, &numbers, sizeof(numbers), engine->lane->stream);
        if (status != TNR_OK) {
            tnri_engine_drop(engine, TNRI_KEPT_ONES);
            return status;
        }
    }
    const bool single = dtype == TNR_F32 || dtype == TNR_C32;
    *data = (const char *)(uintptr_t)address + (single ? offsetof(struct numbers, single) : 0);
    return TNR_OK;
}

static void describe(const void *state, tnr_engine_info *info)
{
    const tnri_cuda_engine *engine = state;
    info->node = engine->device->info.numa_node;
    info->blas = engine->blas.state == TNRI_BLAS_READY ? "cublas" : "own";
}

/* While tensors live that the engine made, their domain does: then the device object closes it. */
static void give_domain(tnri_cuda_engine *engine)
{
    tnr_cuda_device *device = engine->device;
    if (tnr_domain_close(&engine->own) != TNR_OK && tnri_device_here("engine_destroy", device) == TNR_OK) {
        (void)pthread_mutex_lock(&device->mutex);
        engine->memory->orphan = true;
        device->orphan_count++;
        (void)pthread_mutex_unlock(&device->mutex);
    }
}

static void destroy(void *state)
{
    tnri_cuda_engine *engine = state;
    tnr_domain *home = engine->home;
    const tnr_block record = engine->record;
    bool current;
    if (tnri_device_enter_ended("engine_destroy", engine->device, &current) == TNR_OK) {
        tnri_blas_end(&engine->blas, current);
        tnri_engine_forget(engine, current);
        engine->device->engine_count--; /* its domain is an orphan's from now on, or closed */
        (void)tnri_device_leave(engine->device, current, TNR_OK);
    }
    give_domain(engine);
    tnr_provider.record_give(home, &record);
    tnr_provider.domain_unuse(home);
}

const tnri_device_table tnri_cuda_engines = {
    .size = sizeof(tnri_device_table),
    .kind = "cuda",
    .open = tnri_engine_open,
    .close = tnri_engine_close,
    .map = tnri_engine_map,
    .find = tnri_engine_find,
    .copy = tnri_engine_copy,
    .fill = tnri_engine_fill,
    .triangle = tnri_engine_triangle,
    .reshape = tnri_engine_reshape,
    .reduce = tnri_engine_reduce,
    .arg = tnri_engine_arg,
    .stray = tnri_engine_stray,
    .gather = tnri_engine_gather,
    .scatter = tnri_engine_scatter,
    .product = tnri_engine_product,
    .one = one,
    .scratch = scratch,
    .describe = describe,
    .destroy = destroy,
};

/* ---- Making --------------------------------------------------------------------------------------------------------------------------- */

static tnr_status provider_check(const char *op)
{
    if (tnr_engine_provider.version != TNRI_ENGINE_PROVIDER_VERSION || tnr_engine_provider.max_rank != TNR_MAX_RANK ||
        tnr_engine_provider.size != sizeof(tnri_engine_provider) ||
        tnr_engine_provider.table_size != sizeof(tnri_device_table)) {
        return tnri_fail(TNR_ERR_UNSUPPORTED, "%s: libtenure_cuda and libtenure are not of the same build", op);
    }
    return TNR_OK;
}

static tnr_status options_take(const char *op, tnr_cuda_device *device, const tnr_cuda_engine_options *given,
                               tnr_cuda_engine_options *options)
{
    tnr_cuda_engine_options known = TNR_CUDA_ENGINE_OPTIONS;
    TNR_TRY(tnr_provider.options_take(op, given, sizeof(known), &known, sizeof(known)));
    TNR_REQUIRE(known.cublas == NULL || strlen(known.cublas) < TNRI_PATH_BYTES, TNR_ERR_ARGUMENT,
                "%s: options.cublas is longer than %d bytes", op, (int)TNRI_PATH_BYTES - 1);
    if (known.output != NULL) {
        static const tnri_hint hint = {"options.output", "outputs of this engine are made on the device",
                                       TNRI_OWN_LANE};
        TNR_TRY(tnri_check_device_domain(op, device, known.output, &hint));
    }
    known.scratch_max_bytes = known.scratch_max_bytes != 0 ? known.scratch_max_bytes : UINT64_MAX;
    *options = known;
    return TNR_OK;
}

/* The domain behind the pool, the pool, the core's engine. On failure nothing of these is left. */
static tnr_status make(const char *op, tnri_cuda_engine *engine, const tnr_cuda_engine_options *options,
                       tnr_engine **made)
{
    tnr_cuda_device *device = engine->device;
    TNR_TRY(tnr_cuda_domain_create(device, TNR_CUDA_POOL, NULL, &engine->own));
    (void)pthread_mutex_lock(&device->mutex);
    engine->memory = tnri_domain_of(device, engine->own);
    (void)pthread_mutex_unlock(&device->mutex);
    tnr_domain *pool = NULL;
    tnr_pool_options pool_options = TNR_POOL_OPTIONS;
    pool_options.max_bytes = options->pool_max_bytes;
    tnr_status status = tnr_pool_create(engine->own, &pool_options, &pool);
    if (status == TNR_OK) {
        const tnri_device_parts parts = {.table = &tnri_cuda_engines,
                                         .state = engine,
                                         .number = device->info.ordinal,
                                         .output = options->output != NULL ? options->output : pool,
                                         .pool = pool,
                                         .plan_cache_bytes = options->plan_cache_bytes};
        status = tnr_engine_provider.make(op, engine->home, &parts, made);
        if (status != TNR_OK) {
            (void)tnr_domain_close(&pool);
        }
    }
    if (status == TNR_OK) {
        (void)pthread_mutex_lock(&device->mutex);
        device->engine_count++;
        (void)pthread_mutex_unlock(&device->mutex);
    } else {
        give_domain(engine);
    }
    return status;
}

tnr_status tnr_cuda_engine_create(tnr_domain *home, tnr_cuda_lane *lane, const tnr_cuda_engine_options *given,
                                  tnr_engine **engine)
{
    static const char *const op = "cuda_engine_create";
    TNR_REQUIRE(home != NULL && lane != NULL && engine != NULL, TNR_ERR_ARGUMENT,
                "%s: home, lane and engine must not be NULL", op);
    TNR_TRY(provider_check(op));
    TNR_TRY(tnri_lane_here(op, lane));
    tnr_cuda_device *device = lane->device;
    TNR_TRY(tnri_device_here(op, device));
    tnr_cuda_engine_options options;
    TNR_TRY(options_take(op, device, given, &options));
    tnr_block record;
    TNR_TRY(tnr_provider.record_take(home, sizeof(tnri_cuda_engine), &record));
    tnri_cuda_engine *made = record.address;
    made->record = record;
    made->home = home;
    made->device = device;
    made->lane = lane;
    made->scratch_max_bytes = options.scratch_max_bytes;
    if (options.cublas != NULL) {
        memcpy(made->blas.path, options.cublas, strlen(options.cublas) + 1);
    }
    made->multiprocessors = device->multiprocessors;
    made->blas_from = BLAS_FROM;
    made->pack_from = PACK_FROM;
    const tnr_status status = make(op, made, &options, engine);
    if (status != TNR_OK) {
        tnr_provider.record_give(home, &record);
        return status;
    }
    tnr_provider.domain_use(home);
    return TNR_OK;
}

tnr_cuda_lane *tnr_cuda_engine_lane(const tnr_engine *engine)
{
    const tnri_cuda_engine *state = tnr_engine_provider.state(engine, &tnri_cuda_engines);
    return state != NULL ? state->lane : NULL;
}
