/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of an engine, its scratch, the beginning and end of its operations, and the failure texts that they share.
 *
 * Guarantees: an engine is one block of its domain, plus blocks for scratch, a team and plans, and a pool over that domain whose user
 * it is; one thread inside at a time, told by one atomic flag; destroying it ends its threads and leaves every tensor that it
 * made valid (the pool returns weakly).
 */
#include "caches_internal.h"
#include "recipe_internal.h"
#include "team_internal.h"

/* ---- Life ------------------------------------------------------------------------------------------------------------------- */

/* Its team and its CPUs' caches, by options that name a topology. */
static tnr_status take_team(const char *op, tnr_engine *engine, tnr_topology *topology, const tnr_cpu_set *cpus)
{
    TNR_TRY(tnri_caches_of(topology, cpus, &engine->l2_bytes, &engine->l3_bytes));
    uint64_t bytes;
    TNR_TRY(tnri_team_need(topology, cpus, &bytes));
    if (bytes == 0) {
        return TNR_OK;
    }
    TNR_TRY(tnri_node_of_cpus(topology, cpus, &engine->node));
    TNR_TRY(tnri_block_take(engine->domain, bytes, &engine->team_block));
    return tnri_team_start(op, engine->team_block.address, topology, cpus, &engine->team);
}

/* Everything that is only an engine's own. On failure the engine has what was taken. Scratch last, for it is in the ledger. */
static tnr_status furnish(const char *op, tnr_engine *engine, const tnr_engine_options *options,
                          const tnr_cpu_set *cpus)
{
    engine->op = op;
    engine->isa = tnri_isa_best();
    TNR_TRY(tnri_product_source_take(op, options->products, engine->isa, &engine->products));
    engine->node = TNR_NONE;
    tnri_caches_guess(&engine->l2_bytes, &engine->l3_bytes);
    if (options->topology != NULL) {
        TNR_TRY(take_team(op, engine, options->topology, cpus));
    }
    const uint64_t plans = tnri_plan_cache_bytes(options->plan_cache_bytes);
    if (plans != 0) {
        TNR_TRY(tnri_block_take(engine->domain, plans, &engine->plan_block));
        engine->plans = tnri_plan_cache_make(engine->plan_block.address, plans);
    }
    void *scratch;
    return tnri_engine_scratch(engine, options->scratch_bytes, &scratch);
}

/* Give back what furnish took. */
static void strip(tnr_engine *engine)
{
    tnri_team_stop(engine->team);
    tnri_block_give(engine->domain, &engine->team_block);
    tnri_block_give(engine->domain, &engine->plan_block);
    tnri_block_give(engine->domain, &engine->scratch);
}

tnr_status tnr_engine_create(tnr_domain *domain, const tnr_engine_options *options, tnr_engine **engine)
{
    static const char *const op = "engine_create";
    TNR_REQUIRE(domain != NULL && engine != NULL, TNR_ERR_ARGUMENT, "engine_create: domain or result is NULL");
    tnr_engine_options taken;
    TNR_TRY(tnri_engine_options_take(op, options, &taken));
    TNR_REQUIRE(tnr_domain_access(domain) == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "engine_create: the host does not reach domain '%s' directly", tnr_domain_name(domain));
    TNR_REQUIRE(taken.output == NULL || tnr_domain_access(taken.output) != TNR_ACCESS_NONE, TNR_ERR_RESIDENCY,
                "engine_create: outputs in domain '%s', which the host cannot map; copy there by tnr_tensor_duplicate",
                tnr_domain_name(taken.output));
    TNR_TRY(tnri_isa_check(op));
    TNR_TRY(tnri_domain_check_open(op, domain));
    tnr_cpu_set cpus = {{0}};
    if (taken.topology != NULL) {
        TNR_TRY(tnri_engine_cpus(op, &taken, &cpus));
    }

    tnr_block record;
    tnr_status status = tnri_record_take(domain, sizeof(tnr_engine), &record);
    if (status != TNR_OK) {
        return tnri_failed_in(op, NULL, status);
    }
    tnr_pool_options pool_options = TNR_POOL_OPTIONS;
    pool_options.max_bytes = taken.pool_max_bytes;
    tnr_domain *pool = NULL;
    status = tnr_pool_create(domain, &pool_options, &pool);
    if (status != TNR_OK) {
        tnri_record_give(domain, &record);
        return tnri_failed_in(op, NULL, status);
    }
    tnr_engine *made = record.address;
    atomic_init(&made->busy, 0U);
    atomic_init(&made->plan_count, 0U);
#if TNRI_DEVICES
    atomic_init(&made->registered, 0U);
#endif
    made->domain = domain;
    made->pool = pool;
    made->output = taken.output != NULL ? taken.output : pool;
    made->topology = taken.topology;
    made->record = record;
    status = furnish(op, made, &taken, &cpus);
    if (status != TNR_OK) {
        strip(made);
        (void)tnr_domain_close(&pool); /* nothing is in it */
        tnri_record_give(domain, &record);
        return tnri_failed_in(op, NULL, status);
    }
    tnri_domain_use(domain);
    tnri_domain_use(pool); /* a program that closes it only empties it */
    if (made->output != pool) {
        tnri_domain_use(made->output);
    }
    if (made->topology != NULL) {
        tnri_topology_use(made->topology);
    }
    *engine = made;
    return TNR_OK;
}

tnr_status tnri_engine_check_unused(const char *op, const tnr_engine *engine)
{
    const unsigned plans = atomic_load_explicit(&engine->plan_count, memory_order_relaxed);
    TNR_REQUIRE(plans == 0, TNR_ERR_BUSY, "%s: plans of the engine that are left: %d (tnr_plan_destroy)", op,
                (int)plans);
#if TNRI_DEVICES
    TNR_REQUIRE(atomic_load_explicit(&engine->registered, memory_order_relaxed) == 0, TNR_ERR_BUSY,
                "%s: a machine knows the engine: tnr_machine_unregister", op);
#endif
    return TNR_OK;
}

tnr_status tnri_engine_end(tnr_engine *engine)
{
    tnr_domain *pool = engine->pool;
    tnr_status status = tnri_engine_check_unused("engine_destroy", engine);
    if (status == TNR_OK &&
        (!TNRI_DEVICES || pool != NULL)) { /* first of all, for it is the one step that may be refused */
        const uint64_t raw = pool != NULL ? tnri_domain_program_blocks(pool) : 0;
        if (raw == 0) {
            status = tnr_domain_close(&pool);
        } else {
            status = tnri_fail(
                TNR_ERR_BUSY, "engine_destroy: raw blocks of the engine's pool that are out: %llu (tnr_domain_release)",
                TNRI_LLU(raw));
        }
    }
    if (status != TNR_OK) {
        return tnri_engine_leave(engine, status);
    }
    strip(engine);
    tnr_domain *domain = engine->domain;
    const tnr_block record = engine->record;
    if (engine->output != engine->pool) {
        tnri_domain_unuse(engine->output);
    }
    if (engine->topology != NULL) {
        tnri_topology_unuse(engine->topology);
    }
    if (!TNRI_DEVICES || engine->pool != NULL) {
        tnri_domain_unuse(engine->pool);
    }
#if TNRI_DEVICES
    if (tnri_is_device(engine)) {
        engine->device->destroy(engine->device_state);
    }
#endif
    tnri_record_give(domain, &record);
    tnri_domain_unuse(domain);
    return TNR_OK;
}

tnr_status tnr_engine_destroy(tnr_engine **engine)
{
    if (engine == NULL || *engine == NULL) {
        return TNR_OK;
    }
    TNR_REQUIRE((*engine)->keeper == NULL, TNR_ERR_BUSY,
                "engine_destroy: the engine belongs to a %s, which destroys it", (*engine)->keeper);
    TNR_TRY(tnri_engine_enter("engine_destroy", *engine, true));
    TNR_TRY(tnri_engine_end(*engine));
    *engine = NULL;
    return TNR_OK;
}

tnr_status tnri_engine_records_need(uint64_t buffers, tnr_need *need)
{
    tnr_need sum;
    tnr_need pool;
    TNR_TRY(tnri_record_need(sizeof(tnr_engine), &sum));
    TNR_TRY(tnr_pool_need(buffers, &pool));
    TNR_TRY(tnr_need_add(&sum, &pool, 1));
    *need = sum;
    return TNR_OK;
}

tnr_status tnr_engine_need(const tnr_engine_options *options, uint64_t buffers, tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "engine_need: need is NULL");
    tnr_engine_options taken;
    TNR_TRY(tnri_engine_options_take("engine_need", options, &taken));
    uint64_t team_bytes = 0;
    if (taken.topology != NULL) {
        tnr_cpu_set cpus;
        TNR_TRY(tnri_engine_cpus("engine_need", &taken, &cpus));
        TNR_TRY(tnri_team_need(taken.topology, &cpus, &team_bytes));
    }
    tnr_need sum;
    tnr_need term;
    TNR_TRY(tnri_engine_records_need(buffers, &sum));
    const uint64_t blocks[3] = {taken.scratch_bytes, team_bytes, tnri_plan_cache_bytes(taken.plan_cache_bytes)};
    for (int i = 0; i < 3; ++i) {
        if (blocks[i] != 0) {
            TNR_TRY(tnr_block_need(blocks[i], 1, &term));
            TNR_TRY(tnr_need_add(&sum, &term, 1));
        }
    }
    *need = sum;
    return TNR_OK;
}

tnr_status tnr_engine_describe(const tnr_engine *engine, tnr_engine_info *info)
{
    TNR_REQUIRE(engine != NULL && info != NULL, TNR_ERR_ARGUMENT, "engine_describe: engine or info is NULL");
    memset(info, 0, sizeof *info);
    info->node = engine->node;
    info->workers = 1;
    if (engine->team != NULL) {
        info->workers = tnri_team_lanes(engine->team);
        info->threads = tnri_team_threads(engine->team);
        info->cpus = *tnri_team_cpus(engine->team);
    }
    info->isa = tnri_isa_name(engine->isa);
    info->kind = "cpu";
    info->device = TNR_NONE;
    info->l2_bytes = engine->l2_bytes;
    info->l3_bytes = engine->l3_bytes;
#if TNRI_DEVICES
    if (tnri_is_device(engine)) {
        info->kind = engine->device->kind;
        info->device = engine->device_number;
        info->isa = engine->device->kind;
        info->blas = "own";
        engine->device->describe(engine->device_state, info);
        return TNR_OK;
    }
#endif
    info->blas = tnri_product_source_name(engine->products);
    return TNR_OK;
}

tnr_domain *tnr_engine_output(const tnr_engine *engine) { return engine == NULL ? NULL : engine->output; }

tnr_domain *tnr_engine_pool(const tnr_engine *engine) { return engine == NULL ? NULL : engine->pool; }

tnr_status tnri_engine_refuse(const char *op, const tnr_engine *engine, bool has_target)
{
    TNR_REQUIRE(has_target, TNR_ERR_ARGUMENT, "%s: out is NULL", op);
    TNR_REQUIRE(engine != NULL, TNR_ERR_ARGUMENT, "%s: engine is NULL", op);
    return tnri_fail(TNR_ERR_BUSY, "%s: another call is inside this engine; an engine serves one thread at a time", op);
}

/*
 * In the engine's domain itself, which may be closer to its cores than the domain's home, and not in the pool, whose counters
 * are the program's. New scratch before the old one goes, so that wanting room changes nothing.
 */
tnr_status tnri_engine_scratch(tnr_engine *engine, uint64_t bytes, void **data)
{
    if (engine->scratch.bytes - engine->held < bytes) {
        TNR_REQUIRE(engine->held == 0, TNR_ERR_MEMORY, "%s: %llu bytes of scratch where %llu were set aside",
                    engine->op, TNRI_LLU(bytes), TNRI_LLU(engine->scratch.bytes - engine->held));
        tnr_block block;
        const tnr_status status = tnri_block_take(engine->domain, bytes, &block);
        if (TNRI_UNLIKELY(status != TNR_OK)) {
            return tnri_failed_in(engine->op, "scratch", status);
        }
        tnri_ledger_allocation(engine->domain, TNR_ALLOCATION_SCRATCH, bytes);
        tnri_block_give(engine->domain, &engine->scratch);
        engine->scratch = block;
    }
    *data = engine->held == 0 ? engine->scratch.address : (char *)engine->scratch.address + engine->held;
    return TNR_OK;
}

tnr_status tnri_engine_hold(tnr_engine *engine, uint64_t held, uint64_t behind, void **data)
{
    uint64_t bytes;
    TNR_REQUIRE(tnri_add_u64(held, behind, &bytes) && bytes <= (uint64_t)INT64_MAX, TNR_ERR_OVERFLOW,
                "%s: scratch of %llu and %llu bytes does not fit 63 bits", engine->op, TNRI_LLU(held),
                TNRI_LLU(behind));
#if TNRI_DEVICES
    if (tnri_is_device(engine)) { /* behind is for kernels of CPUs */
        const tnr_status status = engine->device->scratch(engine->device_state, held, data);
        return status == TNR_OK ? status : tnri_failed_in(engine->op, NULL, status);
    }
#endif
    TNR_TRY(tnri_engine_scratch(engine, bytes, data));
    engine->held = held;
    return TNR_OK;
}

tnr_status tnri_engine_reserve(tnr_engine *engine, uint64_t held, uint64_t behind)
{
    void *data;
    TNR_TRY(tnri_engine_hold(engine, held, behind, &data));
    tnri_engine_let_go(engine);
    return TNR_OK;
}

/* ---- One operation ---------------------------------------------------------------------------------------------------------- */

tnr_status tnri_call_begin_new(tnr_engine *engine, tnri_call *call)
{
    TNR_TRY(tnri_access_begin(call->op, call->operands + 1, call->inputs, call->aliasing));
    const tnr_status status =
        tnri_output_begin(call->op, engine->output, call->dtype, call->rank, call->shape, call->reason, &call->output);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        (void)tnri_access_end(call->operands + 1, call->inputs);
        return status;
    }
    call->out = &call->output.view;
    call->operands[0].view = call->out;
    call->operands[0].data = call->output.data;
    return TNR_OK;
}

/* Inputs first: when one of them cannot be given back, the new tensor is not made. */
tnr_status tnri_call_end_new(tnri_call *call, tnr_tensor **made, tnr_status status)
{
    const tnr_status ended = tnri_access_end(call->operands + 1, call->inputs);
    return tnri_output_end(&call->output, status == TNR_OK ? ended : status, made);
}

/* ---- Failure texts ------------------------------------------------------------------------------------------------------------ */

tnr_status tnri_view_refuse(const char *op, const char *name, const tnr_view *view)
{
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: %s is NULL", op, name);
    TNR_REQUIRE(view->rank >= 0 && view->rank <= TNR_MAX_RANK, TNR_ERR_ARGUMENT, "%s: %s has rank %d, expected 0 to %d",
                op, name, (int)view->rank, TNR_MAX_RANK);
    return tnri_fail(TNR_ERR_ARGUMENT, "%s: %s has no valid dtype (%d)", op, name, (int)view->dtype);
}

tnr_status tnri_fail_dtype(const char *op, tnr_dtype expected, tnr_dtype found)
{
    return tnri_fail(TNR_ERR_DTYPE,
                     "%s: operands must have one dtype, expected %s, found %s: tnr_cast makes one of the other", op,
                     tnr_dtype_name(expected), tnr_dtype_name(found));
}

tnr_status tnri_fail_out_dtype(const char *op, tnr_dtype expected, tnr_dtype found)
{
    return tnri_fail(TNR_ERR_DTYPE, "%s: out is %s, expected %s", op, tnr_dtype_name(found), tnr_dtype_name(expected));
}

tnr_status tnri_axis_enter(const char *op, int axis, int rank, uint64_t *axes)
{
    TNR_REQUIRE(axis >= 0 && axis < rank, TNR_ERR_BOUNDS, "%s: axis %d of a tensor of rank %d", op, axis, rank);
    const uint64_t bit = UINT64_C(1) << axis;
    TNR_REQUIRE((*axes & bit) == 0, TNR_ERR_ARGUMENT, "%s: axis %d is listed twice", op, axis);
    *axes |= bit;
    return TNR_OK;
}

tnr_status tnri_axes_enter(const char *op, const int *axes, int axis_count, int rank, uint64_t *entered)
{
    TNR_REQUIRE(axis_count >= 0 && (axes != NULL || axis_count == 0), TNR_ERR_ARGUMENT,
                "%s: %d axes at a NULL list, or a negative count", op, axis_count);
    uint64_t all = 0;
    for (int i = 0; i < axis_count; ++i) {
        TNR_TRY(tnri_axis_enter(op, axes[i], rank, &all));
    }
    *entered = all;
    return TNR_OK;
}

tnr_status tnri_fail_enumeration(const char *op, const char *name, int value)
{
    return tnri_fail(TNR_ERR_ARGUMENT, "%s: %s is %d, which is none of its values", op, name, value);
}

tnr_status tnri_fail_unsupported(const char *op, tnr_dtype dtype)
{
    static const bool here[TNR_DTYPE_END] = {
        [TNR_F32] = TNRI_HAS_F32, [TNR_F64] = TNRI_HAS_F64, [TNR_C32] = TNRI_HAS_C32,  [TNR_C64] = TNRI_HAS_C64,
        [TNR_I32] = TNRI_HAS_I32, [TNR_I64] = TNRI_HAS_I64, [TNR_BOOL] = TNRI_HAS_BOOL};
    TNR_REQUIRE(here[dtype], TNR_ERR_UNSUPPORTED, "%s: %s is left out of this build (TENURE_DTYPES)", op,
                tnr_dtype_name(dtype));
    TNR_REQUIRE(TNRI_HAS_BOOL && TNRI_HAS_I64, TNR_ERR_UNSUPPORTED,
                "%s: not defined for %s, or for want of the dtype of its result (TENURE_DTYPES)", op,
                tnr_dtype_name(dtype));
    return tnri_fail(TNR_ERR_UNSUPPORTED, "%s: not defined for %s", op, tnr_dtype_name(dtype));
}

tnr_status tnri_fail_shape(const char *op, const char *what, int rank, const int64_t *expected, const tnr_view *found,
                           const char *advice)
{
    TNR_REQUIRE(rank == found->rank, TNR_ERR_SHAPE, "%s: %s has rank %d, expected %d%s", op, what, (int)found->rank,
                rank, advice);
    for (int i = 0; i < rank; ++i) {
        TNR_REQUIRE(expected[i] == found->shape[i], TNR_ERR_SHAPE, "%s: %s has extent %lld on axis %d, expected %lld%s",
                    op, what, TNRI_LL(found->shape[i]), i, TNRI_LL(expected[i]), advice);
    }
    return tnri_fail(TNR_ERR_SHAPE, "%s: %s does not fit%s", op, what, advice);
}
