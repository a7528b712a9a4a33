/* SPDX-License-Identifier: BSD-3-Clause */
/* Other machines: the direction of rounding, which is all that C itself can ask for. */
#include <fenv.h>

#include "fp_control_internal.h"

tnri_fp_control tnri_fp_control_get(void)
{
    const tnri_fp_control control = {(uint64_t)fegetround()};
    return control;
}

void tnri_fp_control_set(tnri_fp_control control) { (void)fesetround((int)control.word); }

tnri_fp_control tnri_fp_control_nearest(tnri_fp_control control)
{
    (void)control;
    const tnri_fp_control nearest = {(uint64_t)FE_TONEAREST};
    return nearest;
}
