/* SPDX-License-Identifier: BSD-3-Clause */
/* See device.h. This build has no tenure::cuda: no device, and no engine of one. */
#include "device.h"

#include <stdio.h>

static const char absent[] = "tenure::cuda is not built in";

device_answer device_open(tnr_domain *home, device **opened, char text[DEVICE_TEXT_BYTES])
{
    (void)home;
    (void)opened;
    (void)snprintf(text, DEVICE_TEXT_BYTES, "%s", absent);
    return DEVICE_NONE;
}

tnr_engine *device_engine(const device *of)
{
    (void)of;
    return NULL;
}

const char *device_name(const device *of)
{
    (void)of;
    return "";
}

tnr_domain *device_host(const device *of)
{
    (void)of;
    return NULL;
}

tnr_status device_wait(const device *of)
{
    (void)of;
    return TNR_OK;
}

tnr_status device_close(device **of)
{
    (void)of;
    return TNR_OK;
}

bool device_has(const tnr_engine *engine)
{
    (void)engine;
    return false;
}

/* Nobody has an engine to call these with. */
static tnr_status refuse(void) { return tnr_set_error(TNR_ERR_UNSUPPORTED, absent); }

tnr_status device_zeros(tnr_engine *engine, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                        tnr_tensor **tensor)
{
    (void)engine;
    (void)domain;
    (void)dtype;
    (void)rank;
    (void)shape;
    (void)tensor;
    return refuse();
}

tnr_status device_put(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    (void)engine;
    (void)source;
    (void)domain;
    (void)tensor;
    return refuse();
}

tnr_status device_put_into(tnr_engine *engine, const tnr_view *source, const tnr_view_mut *target)
{
    (void)engine;
    (void)source;
    (void)target;
    return refuse();
}

tnr_status device_get(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    return device_put(engine, source, domain, tensor);
}

tnr_status device_get_into(tnr_engine *engine, const tnr_view *source, const tnr_view_mut *target)
{
    return device_put_into(engine, source, target);
}
