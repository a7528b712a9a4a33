/* SPDX-License-Identifier: BSD-3-Clause */
/* 64-bit ARM: FPCR. What was raised is in another register. */
#include "fp_control_internal.h"

tnri_fp_control tnri_fp_control_get(void)
{
    tnri_fp_control control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control.word));
    return control;
}

void tnri_fp_control_set(tnri_fp_control control)
{
    if (tnri_fp_control_get().word != control.word) { /* writing it may stop the pipeline */
        __asm__ volatile("msr fpcr, %0" : : "r"(control.word));
    }
}

tnri_fp_control tnri_fp_control_nearest(tnri_fp_control control)
{
    const tnri_fp_control nearest = {control.word & ~UINT64_C(0xC00000)}; /* RMode */
    return nearest;
}
