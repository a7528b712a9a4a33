/* SPDX-License-Identifier: BSD-3-Clause */
/* See device.h. The driver is looked for when device_open asks, so the programs start on machines without one. */
#include "device.h"

#include <stdio.h>

#include <tenure/cuda.h>

struct device {
    tnr_domain *home;
    tnr_block block; /* this */
    tnr_cuda_device *cuda;
    tnr_domain *pinned;
    tnr_engine *engine;
    tnr_cuda_device_info info;
};

static tnr_status start(tnr_domain *home, device *of)
{
    tnr_status status = tnr_cuda_device_open(home, NULL, &of->cuda);
    if (status == TNR_OK) {
        status = tnr_cuda_device_describe(of->cuda, &of->info);
    }
    if (status == TNR_OK) {
        status = tnr_cuda_domain_create(of->cuda, TNR_CUDA_PINNED, NULL, &of->pinned);
    }
    if (status == TNR_OK) {
        status = tnr_cuda_engine_create(home, tnr_cuda_device_lane(of->cuda, 0), NULL, &of->engine);
    }
    return status;
}

device_answer device_open(tnr_domain *home, device **opened, char text[DEVICE_TEXT_BYTES])
{
    tnr_cuda_sight sight;
    tnr_block block;
    tnr_cuda_look(NULL, &sight);
    if (sight.state != TNR_CUDA_AVAILABLE) {
        (void)snprintf(text, DEVICE_TEXT_BYTES, "%s", sight.text);
        return DEVICE_NONE;
    }
    if (tnr_domain_allocate(home, sizeof(device), _Alignof(device), &block) != TNR_OK) {
        return DEVICE_FAILED;
    }
    device *made = block.address;
    *made = (device){.home = home, .block = block};
    if (start(home, made) != TNR_OK) {
        char first[DEVICE_TEXT_BYTES];
        (void)snprintf(first, sizeof first, "%s", tnr_last_error());
        (void)device_close(&made);
        (void)tnr_set_error(TNR_ERR_BACKEND, first);
        return DEVICE_FAILED;
    }
    *opened = made;
    return DEVICE_OPENED;
}

tnr_engine *device_engine(const device *of) { return of->engine; }

const char *device_name(const device *of) { return of->info.name; }

tnr_domain *device_host(const device *of) { return of->pinned; }

tnr_status device_wait(const device *of) { return of == NULL ? TNR_OK : tnr_cuda_synchronize(of->cuda); }

tnr_status device_close(device **of)
{
    if (*of == NULL) {
        return TNR_OK;
    }
    device *old = *of;
    tnr_status status = tnr_engine_destroy(&old->engine);
    if (status == TNR_OK) {
        status = tnr_domain_close(&old->pinned);
    }
    if (status == TNR_OK) {
        status = tnr_cuda_device_close(&old->cuda);
    }
    if (status == TNR_OK) {
        tnr_domain *home = old->home;
        const tnr_block block = old->block; /* that is where it stands */
        status = tnr_domain_release(home, &block);
        *of = NULL;
    }
    return status;
}

bool device_has(const tnr_engine *engine) { return tnr_cuda_engine_lane(engine) != NULL; }

tnr_status device_zeros(tnr_engine *engine, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                        tnr_tensor **tensor)
{
    return tnr_cuda_zeros(tnr_cuda_engine_lane(engine), domain, dtype, rank, shape, tensor);
}

tnr_status device_put(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    return tnr_cuda_upload(tnr_cuda_engine_lane(engine), source, domain, tensor);
}

tnr_status device_put_into(tnr_engine *engine, const tnr_view *source, const tnr_view_mut *target)
{
    return tnr_cuda_upload_into(tnr_cuda_engine_lane(engine), source, target);
}

tnr_status device_get(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    return tnr_cuda_download(tnr_cuda_engine_lane(engine), source, domain, tensor);
}

tnr_status device_get_into(tnr_engine *engine, const tnr_view *source, const tnr_view_mut *target)
{
    return tnr_cuda_download_into(tnr_cuda_engine_lane(engine), source, target);
}
