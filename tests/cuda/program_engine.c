/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of random programs by engines of the device, each in a lane of its own, and by one of CPUs on what the host reaches; then by
 * the engine of CPUs on the models.
 *
 * A refusal must be the other engine's too, and has changed nothing. A call that a fault made fail may have written its output, and
 * nothing else; not even that when it had given nothing to the lane.
 */
#include "../../src/cuda/engine_internal.h"
#include "program_operation.h"

/* ---- One operation ------------------------------------------------------------------------------------------------------------------------ */

static void view_all(const operation *o, bool model, call *c)
{
    for (int at = 0; at < o->inputs; at++) {
        const layout *l = &o->in_at[at];
        const owner *of = o->in[at];
        OK(tnr_tensor_region(model ? of->shadow : of->tensor, l->rank, l->shape, l->strides, l->offset, &c->in[at]));
    }
    if (o->out != NULL) {
        const layout *l = &o->out_at;
        OK(tnr_tensor_region_mut(model ? o->out->shadow : o->out->tensor, l->rank, l->shape, l->strides, l->offset,
                                 &c->out));
    }
}

/* It worked on both sides: a new tensor finds a place, or goes at once, with its work in flight. */
static void keep(program *p, const operation *o, const call *made, call *model, bool tainted)
{
    tnr_tensor_info info[2];
    const void *data = NULL;
    OK(tnr_tensor_describe(made->made, &info[0]));
    OK(tnr_tensor_describe(model->made, &info[1]));
    OK(tnr_tensor_host_data(model->made, &data));
    const uint64_t bytes = (uint64_t)info[1].count * tnr_dtype_size(info[1].dtype);
    if (info[0].dtype != info[1].dtype || info[0].count != info[1].count) {
        complain(p, "a result of another kind", (long long)info[0].count);
    }
    owner *slot = NULL;
    for (int at = 0; at < TENSORS && slot == NULL && bytes <= BYTES; at++) {
        slot = p->owners[at].tensor == NULL ? &p->owners[at] : NULL;
    }
    if (slot != NULL) {
        const int place = o->by == BY_CPU     ? HEAP
                          : o->number == 0    ? ENGINE_POOL
                          : p->managed_output ? TNR_CUDA_MANAGED
                                              : TNR_CUDA_POOL;
        memcpy(slot->model, data, (size_t)bytes);
        adopt(p, slot, made->made, place, info[1].dtype, info[1].count, o->bound);
        memset(slot->unknown, tainted ? 1 : 0, (size_t)slot->count);
        slot->tainted = tainted;
    } else {
        release_or_stray(p, made->made);
    }
    OK(tnr_tensor_release(&model->made));
}

/* It worked on the device; what a failed call left may have been an index, or a divisor. */
static void accept(program *p, const operation *o, const call *there, call *model, bool tainted)
{
    if (operation_run(o, model) != TNR_OK) {
        if (!tainted) {
            complain(p, tnr_last_error(), (int)o->what);
        }
        if (o->out == NULL) {
            release_or_stray(p, there->made);
        } else {
            taint(o->out, &o->out_at, true);
        }
    } else if (o->out == NULL) {
        keep(p, o, there, model, tainted);
    } else {
        taint(o->out, &o->out_at, tainted);
        o->out->bound = larger(o->out->bound, o->bound);
    }
}

/* Busy: with a transfer that cannot be proved to be over. */
static bool is_refusal(tnr_status status)
{
    return status != TNR_ERR_MEMORY && status != TNR_ERR_BACKEND && status != TNR_ERR_BUSY;
}

static void act(program *p, operation *o)
{
    call there = {.engine = o->by == BY_CPU ? p->cpu : p->engines[o->number], .plan = p->plans[o->number]};
    call model = {.engine = p->cpu};
    bool tainted = o->reads_out && o->out->tainted;
    bool astray = o->out != NULL && !on_device(o->out->place);
    for (int at = 0; at < o->inputs; at++) {
        tainted = tainted || o->in[at]->tainted;
        astray = astray || !on_device(o->in[at]->place);
    }
    astray = astray && o->by == ASTRAY;
    view_all(o, false, &there);
    view_all(o, true, &model);
    if (o->what == GATHER || o->what == SCATTER) {
        OK(tnr_index_along(&there.in[0], &there.in[1], o->axes[0], &o->index));
        o->index.out_of_range = roll(p, 2) == 0 ? TNR_OUT_OF_RANGE_CLAMP : TNR_OUT_OF_RANGE_REFUSE;
    }
    const uint64_t given = scene_counts(&p->s).operations;
    const tnr_status status = operation_run(o, &there);
    p->answer.operations++;
    if ((status == TNR_OK) != (there.made != NULL) && o->out == NULL) {
        complain(p, "a tensor beside a failure, or none without", (int)status);
    }
    if (status == TNR_OK) {
        accept(p, o, &there, &model, tainted);
        if (astray) {
            complain(p, "host memory was taken", (int)o->what);
        }
    } else if (!is_refusal(status)) {
        (void)fine(p, status, "operation");
        if (o->out != NULL && (o->by == BY_CPU || scene_counts(&p->s).operations != given)) {
            taint(o->out, &o->out_at, true);
        }
    } else if (astray) {
        if (status != TNR_ERR_RESIDENCY && status != TNR_ERR_OVERLAP && status != TNR_ERR_UNSUPPORTED) {
            complain(p, tnr_last_error(), (int)o->what);
        }
    } else if (!tainted && (status != TNR_ERR_UNSUPPORTED || (p->kernels && !p->faulty))) {
        char said[TNR_ERROR_TEXT_BYTES];
        (void)snprintf(said, sizeof(said), "%s", tnr_last_error());
        p->answer.refused++;
        if (operation_run(o, &model) != status) {
            complain(p, said, (int)o->what);
        }
    }
}

/* ---- Engines ---------------------------------------------------------------------------------------------------------------------------- */

/* Also small products of the second engine are cuBLAS's. */
static void make_engine(program *p, int number)
{
    tnr_cuda_engine_options options = TNR_CUDA_ENGINE_OPTIONS;
    options.cublas = number == 0 ? "off" : scene_blas();
    options.output = number == 0 ? NULL : p->s.domain[p->managed_output ? TNR_CUDA_MANAGED : TNR_CUDA_POOL];
    if (fine(p, tnr_cuda_engine_create(p->s.heap, p->s.lane[number], &options, &p->engines[number]), "engine_create")) {
        tnri_cuda_engine *inside = tnr_engine_provider.state(p->engines[number], &tnri_cuda_engines);
        inside->blas_from = 0.0;
        inside->pack_from = 1;
    }
}

static void end_engine(program *p, int number)
{
    if (tnr_plan_destroy(&p->plans[number]) != TNR_OK || tnr_engine_destroy(&p->engines[number]) != TNR_OK) {
        complain(p, tnr_last_error(), number);
    }
}

void engines_begin(program *p)
{
    p->managed_output = roll(p, 2) == 0;
    p->kernels = tnri_module_images[TNRI_MODULE_move] != NULL || strcmp(p->s.device->nvrtc, "off") != 0;
    OK(tnr_engine_create(p->s.heap, NULL, &p->cpu));
    for (int number = 0; number < ENGINES; number++) {
        make_engine(p, number);
    }
}

void engines_end(program *p)
{
    for (int number = 0; number < ENGINES; number++) {
        end_engine(p, number);
    }
    OK(tnr_engine_destroy(&p->cpu));
}

/* ---- Planted losses ------------------------------------------------------------------------------------------------------------------- */

static void lose_notes(tnri_memory *memory)
{
    memset(memory->used, 0, sizeof(memory->used));
    memory->written = 0;
}

static void lose_notes_of(program *p, const owner *of)
{
    if (of != NULL && of->tensor != NULL && on_device(of->place)) {
        lose_notes(tnri_memory_find(p->s.device, (uint64_t)(uintptr_t)of->tensor->block.address));
    }
}

static void lose(program *p, const operation *o)
{
    tnri_cuda_engine *inside = tnr_engine_provider.state(p->engines[o->number], &tnri_cuda_engines);
    tnri_memory **kept = inside->kept;
    if (tnri_device_enter("plant", p->s.device) != TNR_OK) {
        return;
    }
    for (int at = 0; at < o->inputs && p->loss == LOSE_OPERANDS; at++) {
        lose_notes_of(p, o->in[at]);
    }
    if (p->loss == LOSE_OPERANDS) {
        lose_notes_of(p, o->out);
    }
    for (int at = 0; at < TNRI_KEPT; at++) {
        const bool ends = p->loss == END_SCRATCH ? at == TNRI_KEPT_SPAN || at == TNRI_KEPT_WORK
                                                 : p->loss == END_WORKSPACE && at == TNRI_KEPT_BLAS;
        if (ends && kept[at] != NULL) {
            if (p->loss == END_SCRATCH) {
                lose_notes(kept[at]);
            }
            inside->kept_bytes -= kept[at]->bytes;
            tnri_memory_release(kept[at], true);
            kept[at] = NULL;
        }
    }
    (void)tnri_device_leave(p->s.device, true, TNR_OK);
}

void engine_step(program *p)
{
    static const kind more[4] = {MATMUL, EINSUM, PLANNED, MATMUL}; /* products take scratch, and cuBLAS */
    const uint64_t which = roll(p, KINDS + 4);
    operation o = {.what = which < KINDS ? (kind)which : more[which - KINDS],
                   .number = (int)roll(p, ENGINES),
                   .product = TNR_PRODUCT_OPTIONS};
    const uint64_t how = roll(p, 64);
    o.index = (tnr_index_options)TNR_INDEX_OPTIONS;
    o.by = how < 44 ? BY_DEVICE : how < 54 ? BY_CPU : ASTRAY;
    if (p->engines[o.number] == NULL || how == 63) {
        end_engine(p, o.number);
        make_engine(p, o.number);
    } else if (how == 62) {
        (void)fine(p, tnr_plan_destroy(&p->plans[o.number]), "plan_destroy");
    } else if (how == 61) {
        (void)fine(p, tnr_cuda_domain_trim(p->s.device, p->s.domain[TNR_CUDA_POOL], 0), "trim");
    } else if (operation_prepare(p, &o)) {
        act(p, &o);
        if (p->loss != LOSE_NOTHING && o.by != BY_CPU) {
            lose(p, &o);
        }
    }
}
