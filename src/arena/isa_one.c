/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded builds: kernels of one instruction set. */
#include "arena.h"

bool tnri_isa_runs(tnri_isa isa) { return isa == TNRI_ISA_BASELINE; }

tnri_isa tnri_isa_best(void) { return TNRI_ISA_BASELINE; }

tnr_status tnri_isa_check(const char *op)
{
    (void)op;
    return TNR_OK;
}

const char *tnri_isa_name(tnri_isa isa)
{
    (void)isa;
#if defined(__aarch64__)
    return "neon";
#else
    return "baseline";
#endif
}
