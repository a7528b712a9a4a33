/* SPDX-License-Identifier: BSD-3-Clause */
/* See near.h and device.h. */
#include "near.h"

#include <string.h>

#include "denoise/try.h"
#include "device.h"

bool engine_choice_read(const char *word, engine_choice *choice)
{
    const bool cuda = strcmp(word, "cuda") == 0;
    *choice = cuda ? ENGINE_CUDA : ENGINE_CPU;
    return cuda || strcmp(word, "cpu") == 0;
}

tnr_status near_zeros(tnr_engine *engine, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                      tnr_tensor **tensor)
{
    return device_has(engine) ? device_zeros(engine, domain, dtype, rank, shape, tensor)
                              : tnr_tensor_zeros(domain, dtype, rank, shape, tensor);
}

tnr_status near_scalar(tnr_engine *engine, tnr_domain *domain, double value, tnr_tensor **scalar)
{
    if (!device_has(engine)) {
        return tnr_tensor_from_row_major(domain, TNR_F64, 0, NULL, &value, sizeof value, scalar);
    }
    tnr_tensor *here = NULL;
    tnr_view view;
    TRY(tnr_tensor_adopt(domain, TNR_F64, 0, NULL, &value, sizeof value, NULL, NULL, &here));
    tnr_status status = tnr_tensor_view(here, &view);
    if (status == TNR_OK) {
        status = device_put(engine, &view, domain, scalar); /* it has read the value when it returns */
    }
    (void)!tnr_tensor_release(&here);
    return status;
}

/* By the engine's own workers, so that pages lie where they work. */
static tnr_status copy_new(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    tnr_draft *draft = NULL;
    tnr_view_mut target;
    TRY(tnr_draft_begin(domain, source->dtype, source->rank, source->shape, &draft)); /* nothing to clear first */
    tnr_status status = tnr_draft_view(draft, &target);
    if (status == TNR_OK) {
        status = tnr_copy_into(engine, source, &target);
    }
    if (status != TNR_OK) {
        tnr_draft_abandon(&draft);
        return status;
    }
    return tnr_draft_commit(&draft, tensor);
}

tnr_status near_put(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    return device_has(engine) ? device_put(engine, source, domain, tensor) : copy_new(engine, source, domain, tensor);
}

tnr_status near_get_into(tnr_engine *engine, const tnr_view *source, const tnr_view_mut *target)
{
    return device_has(engine) ? device_get_into(engine, source, target) : tnr_copy_into(engine, source, target);
}

tnr_status near_value(tnr_engine *engine, const tnr_tensor *scalar, double *value)
{
    tnr_view view;
    TRY(tnr_tensor_view(scalar, &view));
    if (!device_has(engine)) {
        return tnr_view_get(&view, NULL, value);
    }
    tnr_tensor *here = NULL;
    tnr_view_mut target;
    TRY(tnr_tensor_adopt(tnr_engine_output(engine), TNR_F64, 0, NULL, value, sizeof *value, NULL, NULL, &here));
    tnr_status status = tnr_tensor_view_mut(here, &target);
    if (status == TNR_OK) {
        status = device_get_into(engine, &view, &target);
    }
    (void)!tnr_tensor_release(&here);
    return status;
}
