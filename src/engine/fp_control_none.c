/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores whose floating point is done by the compiler's library: there is no environment. */
#include "fp_control_internal.h"

tnri_fp_control tnri_fp_control_get(void)
{
    const tnri_fp_control nothing = {0};
    return nothing;
}

void tnri_fp_control_set(tnri_fp_control control) { (void)control; }

tnri_fp_control tnri_fp_control_nearest(tnri_fp_control control) { return control; }
