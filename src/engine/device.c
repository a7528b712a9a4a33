/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of engines that are not of CPUs: the frame from the first lease to the last, and such an engine's making.
 *
 * Guarantees: as for a CPU engine, a call that is refused leaves no trace: leases are given back and a new tensor is undone. What the
 * device itself fails at comes from the table, and a new tensor is undone then too.
 */
#include "recipe_internal.h"
#include "structure_internal.h"

/* ---- Frame of a call ------------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_device_begin(tnr_engine *engine, const tnri_device_frame *frame)
{
    tnri_operand *operands = frame->operands;
    const int first = frame->into != NULL ? 0 : 1;
    const int held = frame->inputs + 1 - first;
    for (int i = 1; i <= frame->inputs; ++i) {
        operands[i].write = false;
    }
    if (frame->into != NULL) {
        operands[0].view = &frame->into->view;
        operands[0].write = true;
    }
    TNR_TRY(tnri_access_begin_bare(frame->op, operands + first, held, frame->aliasing));
    tnr_status status = TNR_OK;
    if (frame->into == NULL) {
        status = tnri_output_begin_bare(frame->op, engine->output, frame->dtype, frame->rank, frame->shape,
                                        frame->reason, frame->output);
        if (status != TNR_OK) {
            (void)tnri_access_end(operands + first, held);
            return status;
        }
        operands[0].view = &frame->output->view;
        operands[0].data = frame->output->data;
        operands[0].write = true;
    }
    status = engine->device->open(engine->device_state, frame->op, operands, frame->inputs + 1);
    if (status != TNR_OK) {
        (void)tnri_access_end(operands + first, held);
        if (frame->into == NULL) {
            (void)tnri_output_end(frame->output, status, NULL);
        }
    }
    return status;
}

tnr_status tnri_device_end(tnr_engine *engine, tnri_operand *operands, int inputs, tnri_output *output,
                           tnri_target target, tnr_status status)
{
    status = engine->device->close(engine->device_state, status);
    const int first = target.into != NULL ? 0 : 1;
    const tnr_status ended = tnri_access_end(operands + first, inputs + 1 - first);
    status = status == TNR_OK ? ended : status;
    return target.into != NULL ? status : tnri_output_end(output, status, target.made);
}

tnr_status tnri_device_call_begin(tnr_engine *engine, tnri_call *call, tnri_target target)
{
    const tnri_device_frame frame = {.op = call->op,
                                     .operands = call->operands,
                                     .inputs = call->inputs,
                                     .aliasing = call->aliasing,
                                     .into = target.into,
                                     .dtype = call->dtype,
                                     .rank = call->rank,
                                     .shape = call->shape,
                                     .reason = call->reason,
                                     .output = &call->output};
    TNR_TRY(tnri_device_begin(engine, &frame));
    call->out = call->operands[0].view;
    return TNR_OK;
}

tnr_status tnri_device_call_end(tnr_engine *engine, tnri_call *call, tnri_target target, tnr_status status)
{
    return tnri_device_end(engine, call->operands, call->inputs, &call->output, target, status);
}

/* ---- Work on bytes ------------------------------------------------------------------------------------------------------------------------ */

static bool has_elements(int rank, const int64_t *shape)
{
    for (int i = 0; i < rank; ++i) {
        if (shape[i] == 0) {
            return false;
        }
    }
    return true;
}

tnr_status tnri_device_copy_elements(tnr_engine *engine, size_t width, int rank, const int64_t *shape, void *target,
                                     const int64_t *target_strides, const void *source, const int64_t *source_strides)
{
    const tnri_device_copy copy = {width, rank, shape, target, target_strides, source, source_strides};
    return has_elements(rank, shape) ? engine->device->copy(engine->device_state, &copy) : TNR_OK;
}

tnr_status tnri_device_fill(tnr_engine *engine, const tnr_view *out, char *target, const void *value)
{
    return has_elements(out->rank, out->shape)
               ? engine->device->fill(engine->device_state, tnr_dtype_size(out->dtype), out->rank, out->shape, target,
                                      out->strides, value)
               : TNR_OK;
}

tnr_status tnri_device_reduce(tnr_engine *engine, tnri_reduce_op op, const tnr_view *a, const int64_t *spread,
                              const char *source, tnr_dtype to, char *target)
{
    return engine->device->reduce(engine->device_state, op, a, spread, source, to, target);
}

tnr_status tnri_device_arg(tnr_engine *engine, bool smallest, const tnr_view *a, int axis, const tnr_view *out,
                           const char *source, char *target)
{
    return has_elements(a->rank, a->shape)
               ? engine->device->arg(engine->device_state, smallest, a, axis, out, source, target)
               : TNR_OK;
}

tnr_status tnri_device_reshape(tnr_engine *engine, const tnr_view *out, char *target, const tnr_view *a,
                               const char *source)
{
    return engine->device->reshape(engine->device_state, out, target, a, source);
}

tnr_status tnri_device_one(tnr_engine *engine, tnr_dtype dtype, const void **data)
{
    const char *one = NULL;
    TNR_TRY(engine->device->one(engine->device_state, dtype, &one));
    *data = one;
    return TNR_OK;
}

tnr_status tnri_device_triangle(tnr_engine *engine, const tnri_box *box, int64_t k, bool upper)
{
    const tnri_device_copy copy = {box->width,          box->rank,   box->shape,         box->target,
                                   box->target_strides, box->source, box->source_strides};
    return engine->device->triangle(engine->device_state, &copy, k, upper);
}

static tnri_device_axes axes_of(const tnri_product_axes *axes)
{
    return (tnri_device_axes){axes->rank, axes->size, axes->extents, axes->a, axes->b, axes->c};
}

tnr_status tnri_product_run_on_device(tnr_engine *engine, const tnri_product *product, const void *a, const void *b,
                                      void *c)
{
    if (product->m.size == 0 || product->n.size == 0 || product->batch.size == 0) {
        return TNR_OK;
    }
    const tnri_finish *finish = &product->finish;
    const tnri_device_product all = {.op = "product",
                                     .dtype = product->dtype,
                                     .m = axes_of(&product->m),
                                     .n = axes_of(&product->n),
                                     .k = axes_of(&product->k),
                                     .batch = axes_of(&product->batch),
                                     .overwrite = finish->overwrite,
                                     .conjugate_a = finish->conjugate_a,
                                     .conjugate_b = finish->conjugate_b,
                                     .alpha = finish->alpha,
                                     .beta = finish->beta,
                                     .a = a,
                                     .b = b,
                                     .c = c};
    return engine->device->product(engine->device_state, &all);
}

/* ---- Life ---------------------------------------------------------------------------------------------------------------------------------- */

static tnr_status make(const char *op, tnr_domain *home, const tnri_device_parts *parts, tnr_engine **engine)
{
    TNR_REQUIRE(home != NULL && parts->output != NULL && parts->table->size == sizeof(tnri_device_table),
                TNR_ERR_ARGUMENT, "%s: home or output is NULL, or the table is of another build", op);
    TNR_REQUIRE(tnr_domain_access(home) == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "%s: the host does not reach domain '%s' directly", op, tnr_domain_name(home));
    tnr_block record;
    TNR_TRY(tnri_record_take(home, sizeof(tnr_engine), &record));
    tnr_engine *made = record.address;
    atomic_init(&made->busy, 0U);
    atomic_init(&made->plan_count, 0U);
    atomic_init(&made->registered, 0U);
    made->isa = tnri_isa_best(); /* its tables tell which operations there are */
    made->node = TNR_NONE;
    made->domain = home;
    made->output = parts->output;
    made->pool = parts->pool;
    made->record = record;
    made->device = parts->table;
    made->device_state = parts->state;
    made->device_number = parts->number;
    const uint64_t plans = tnri_plan_cache_bytes(parts->plan_cache_bytes);
    if (plans != 0) {
        const tnr_status status = tnri_block_take(home, plans, &made->plan_block);
        if (status != TNR_OK) {
            tnri_record_give(home, &record);
            return status;
        }
        made->plans = tnri_plan_cache_make(made->plan_block.address, plans);
    }
    tnri_domain_use(home);
    tnri_domain_use(made->output);
    if (made->pool != NULL && made->pool != made->output) {
        tnri_domain_use(made->pool);
    }
    *engine = made;
    return TNR_OK;
}

static void *state_of(const tnr_engine *engine, const tnri_device_table *table)
{
    return engine != NULL && engine->device == table ? engine->device_state : NULL;
}

static void ledger_scratch(tnr_domain *domain, uint64_t bytes)
{
    tnri_ledger_allocation(domain, TNR_ALLOCATION_SCRATCH, bytes);
}

const tnri_engine_provider tnr_engine_provider = {
    .version = TNRI_ENGINE_PROVIDER_VERSION,
    .max_rank = TNR_MAX_RANK,
    .size = sizeof(tnri_engine_provider),
    .table_size = sizeof(tnri_device_table),
    .make = make,
    .state = state_of,
    .ledger_scratch = ledger_scratch,
    .nest_make = tnri_nest_make,
};
