/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine of a device for the longer examples: --engine cuda. Two files have these functions: device_cuda.c, which calls tenure::cuda,
 * and device_none.c for builds without that library, where there is never a device. Examples choose by device_open alone and put bytes
 * near their engine by near.h.
 */
#ifndef EXAMPLES_DEVICE_DEVICE_H
#define EXAMPLES_DEVICE_DEVICE_H

#include <tenure/tenure.h>

/* Exit code of a program that was to compute on a device and found none. */
enum { DEVICE_EXIT_NONE = 2 };

/* What --engine names. */
typedef enum engine_choice { ENGINE_CPU = 0, ENGINE_CUDA } engine_choice;

/* "cpu" or "cuda". */
bool engine_choice_read(const char *word, engine_choice *choice);

/* A device that was opened, and an engine of it in its first lane. */
typedef struct device device;

typedef enum device_answer {
    DEVICE_OPENED = 0,
    DEVICE_NONE,  /* there is none here, or this build cannot look; `text` says which */
    DEVICE_FAILED /* there is one, and it fails: tnr_last_error */
} device_answer;

enum { DEVICE_TEXT_BYTES = 400 };

/* Open the first device that is visible. `home` keeps it and must outlive it. On any other answer nothing is left behind. */
device_answer device_open(tnr_domain *home, device **opened, char text[DEVICE_TEXT_BYTES]);

tnr_engine *device_engine(const device *of);

/* What the driver calls it. */
const char *device_name(const device *of);

/* Page-locked memory of the host, for what goes there and back. */
tnr_domain *device_host(const device *of);

/* Wait until all that was asked for is over. NULL is fine: CPUs are never behind. */
tnr_status device_wait(const device *of);

/* End the engine, close the device, null *of. NULL is fine. Tensors in its memory must be gone. */
tnr_status device_close(device **of);

/* ---- For near.c: `engine` is one of a device -------------------------------------------------------------------------------- */

/* Is it? */
bool device_has(const tnr_engine *engine);

tnr_status device_zeros(tnr_engine *engine, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                        tnr_tensor **tensor);
tnr_status device_put(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor);
tnr_status device_put_into(tnr_engine *engine, const tnr_view *source, const tnr_view_mut *target);
tnr_status device_get(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor);
tnr_status device_get_into(tnr_engine *engine, const tnr_view *source, const tnr_view_mut *target);

#endif /* EXAMPLES_DEVICE_DEVICE_H */
