/* SPDX-License-Identifier: BSD-3-Clause */
/* x86-64: MXCSR, and the control word of the older unit, which C libraries use for long double. */
#include <xmmintrin.h>

#include "fp_control_internal.h"

enum { RAISED = 0x3F }; /* of MXCSR */

tnri_fp_control tnri_fp_control_get(void)
{
    uint16_t old_unit;
    __asm__ volatile("fnstcw %0" : "=m"(old_unit));
    const tnri_fp_control control = {(_mm_getcsr() & ~(unsigned)RAISED) | (uint64_t)old_unit << 32};
    return control;
}

void tnri_fp_control_set(tnri_fp_control control)
{
    const tnri_fp_control now = tnri_fp_control_get();
    if (now.word != control.word) {
        const uint16_t old_unit = (uint16_t)(control.word >> 32);
        __asm__ volatile("fldcw %0" : : "m"(old_unit));
        _mm_setcsr((unsigned)control.word | (_mm_getcsr() & (unsigned)RAISED));
    }
}

tnri_fp_control tnri_fp_control_nearest(tnri_fp_control control)
{
    const uint64_t rounding = UINT64_C(0x6000) | UINT64_C(0x0C00) << 32; /* two bits of each unit */
    const tnri_fp_control nearest = {control.word & ~rounding};
    return nearest;
}
