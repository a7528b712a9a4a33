/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of a thread's floating-point environment that results depend on: the direction of rounding, whether denormals are
 * flushed, which exceptions trap. Not the exceptions that were raised: these stay each thread's own. One of fp_control_x86.c,
 * fp_control_aarch64.c and fp_control_fenv.c.
 */
#ifndef TENURE_ENGINE_FP_CONTROL_INTERNAL_H
#define TENURE_ENGINE_FP_CONTROL_INTERNAL_H

#include <stdint.h>

typedef struct tnri_fp_control {
    uint64_t word;
} tnri_fp_control;

/* The calling thread's. */
tnri_fp_control tnri_fp_control_get(void);
void tnri_fp_control_set(tnri_fp_control control);

/* The same, but rounding to nearest. */
tnri_fp_control tnri_fp_control_nearest(tnri_fp_control control);

#endif /* TENURE_ENGINE_FP_CONTROL_INTERNAL_H */
