/* SPDX-License-Identifier: BSD-3-Clause */
/* Run when the build is configured (kernels.cmake), with src/arena/isa_x86.c: exits with the number of the best set that this machine runs. */
#include "isa_levels.h"

int main(void)
{
    int best = TNRI_ISA_BASELINE;
    for (int isa = TNRI_ISA_BASELINE; isa != TNRI_ISA_END; ++isa) {
        best = tnri_isa_runs((tnri_isa)isa) ? isa : best;
    }
    return best;
}
