/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of an engine, its output drafts, its scratch, and the failure texts that operations share.
 *
 * Guarantees: an engine is one block of its domain, plus a pool over that domain; one thread inside at a time, told by one
 * atomic flag; destroying it leaves every tensor that it made valid (the pool returns weakly).
 */
#include "engine_internal.h"

tnr_status tnr_engine_create(tnr_domain *domain, const tnr_engine_options *options, tnr_engine **engine)
{
    static const tnr_engine_options defaults = TNR_ENGINE_OPTIONS;
    if (options == NULL) {
        options = &defaults;
    }
    TNR_REQUIRE(domain != NULL && engine != NULL, TNR_ERR_ARGUMENT, "engine create: domain or result is NULL");
    TNR_REQUIRE(options->size == sizeof(tnr_engine_options), TNR_ERR_ARGUMENT,
                "engine create: options of %llu bytes, expected %llu", TNRI_LLU(options->size),
                TNRI_LLU(sizeof(tnr_engine_options)));
    TNR_REQUIRE(tnr_domain_access(domain) == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "engine create: the host does not reach domain '%s' directly", tnr_domain_name(domain));
    TNR_REQUIRE(options->output == NULL || tnr_domain_access(options->output) != TNR_ACCESS_NONE, TNR_ERR_RESIDENCY,
                "engine create: outputs in domain '%s', which the host cannot map; copy there by tnr_tensor_duplicate",
                tnr_domain_name(options->output));

    tnr_block record;
    TNR_TRY(tnri_record_take(domain, sizeof(tnr_engine), &record));
    const tnr_pool_options pool_options = {sizeof(tnr_pool_options), options->pool_max_bytes};
    tnr_domain *pool = NULL;
    const tnr_status status = tnr_pool_create(domain, &pool_options, &pool);
    if (status != TNR_OK) {
        tnri_record_give(domain, &record);
        return status;
    }
    tnr_engine *made = record.address;
    atomic_init(&made->busy, 0U);
    made->blis = tnri_blis_works();
    made->domain = domain;
    made->pool = pool;
    made->output = options->output != NULL ? options->output : pool;
    made->scratch = NULL;
    made->record = record;
    tnri_domain_use(domain);
    if (options->output != NULL) {
        tnri_domain_use(options->output);
    }
    *engine = made;
    return TNR_OK;
}

tnr_status tnr_engine_destroy(tnr_engine **engine)
{
    if (engine == NULL || *engine == NULL) {
        return TNR_OK;
    }
    tnr_engine *old = *engine;
    TNR_TRY(tnri_engine_enter("engine destroy", old));
    tnr_status status = tnr_draft_abandon(&old->scratch);
    if (status != TNR_OK) {
        tnri_engine_leave(old);
        return status;
    }
    old->scratch_bytes = 0;
    const bool elsewhere = old->output != old->pool;
    tnr_domain *pool = old->pool;
    status = tnr_domain_close(&pool);
    if (status != TNR_OK) {
        tnri_engine_leave(old);
        return status;
    }
    if (elsewhere) {
        tnri_domain_unuse(old->output);
    }
    tnr_domain *domain = old->domain;
    const tnr_block record = old->record;
    *engine = NULL;
    tnri_record_give(domain, &record);
    tnri_domain_unuse(domain);
    return TNR_OK;
}

tnr_domain *tnr_engine_output(const tnr_engine *engine) { return engine == NULL ? NULL : engine->output; }

tnr_domain *tnr_engine_pool(const tnr_engine *engine) { return engine == NULL ? NULL : engine->pool; }

tnr_status tnri_engine_refuse(const char *op, const tnr_engine *engine)
{
    TNR_REQUIRE(engine != NULL, TNR_ERR_ARGUMENT, "%s: engine is NULL", op);
    return tnri_fail(TNR_ERR_BUSY, "%s: another call is inside this engine; an engine serves one thread at a time", op);
}

tnr_status tnri_engine_scratch(const char *op, tnr_engine *engine, uint64_t bytes, void **data)
{
    if (engine->scratch_bytes < bytes) {
        TNR_REQUIRE(bytes <= INT64_MAX, TNR_ERR_OVERFLOW, "%s: scratch of %llu bytes", op, TNRI_LLU(bytes));
        const int64_t count = (int64_t)bytes;
        tnr_draft *draft = NULL;
        TNR_TRY(tnri_draft_begin(op, engine->pool, TNR_BOOL, 1, &count, TNR_ALLOCATION_SCRATCH, &draft));
        tnr_view_mut view;
        tnr_status status = tnr_draft_view(draft, &view);
        if (status == TNR_OK) {
            status = tnr_draft_abandon(&engine->scratch);
        }
        if (status != TNR_OK) {
            tnri_draft_cancel(draft, TNR_ALLOCATION_SCRATCH);
            return status;
        }
        engine->scratch = draft;
        engine->scratch_data = view.view.root->block.address;
        engine->scratch_bytes = bytes;
    }
    *data = engine->scratch_data;
    return TNR_OK;
}

/* ---- Outputs ---------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_output_begin(const char *op, tnr_engine *engine, tnr_dtype dtype, int rank, const int64_t *shape,
                             tnr_allocation_reason reason, tnri_output *output)
{
    output->draft = NULL;
    output->reason = reason;
    TNR_TRY(tnri_draft_begin(op, engine->output, dtype, rank, shape, reason, &output->draft));
    const tnr_status status = tnr_draft_view(output->draft, &output->view);
    return status == TNR_OK ? TNR_OK : tnri_output_end(output, status, NULL);
}

tnr_status tnri_output_end(tnri_output *output, tnr_status status, tnr_tensor **tensor)
{
    if (TNRI_LIKELY(status == TNR_OK)) {
        status = tnr_draft_commit(&output->draft, tensor);
    }
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        tnri_draft_cancel(output->draft, output->reason);
    }
    return status;
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
    return tnri_fail(TNR_ERR_DTYPE, "%s: operands must have one dtype, expected %s, found %s", op,
                     tnr_dtype_name(expected), tnr_dtype_name(found));
}

tnr_status tnri_fail_unsupported(const char *op, tnr_dtype dtype)
{
    return tnri_fail(TNR_ERR_UNSUPPORTED, "%s: not defined for %s", op, tnr_dtype_name(dtype));
}

tnr_status tnri_fail_shape(const char *op, const char *what, int rank, const int64_t *expected, const tnr_view *found)
{
    TNR_REQUIRE(rank == found->rank, TNR_ERR_SHAPE, "%s: %s has rank %d, expected %d", op, what, (int)found->rank,
                rank);
    for (int i = 0; i < rank; ++i) {
        TNR_REQUIRE(expected[i] == found->shape[i], TNR_ERR_SHAPE, "%s: %s has extent %lld on axis %d, expected %lld",
                    op, what, TNRI_LL(found->shape[i]), i, TNRI_LL(expected[i]));
    }
    return tnri_fail(TNR_ERR_SHAPE, "%s: %s does not fit", op, what);
}
