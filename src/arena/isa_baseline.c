/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds whose kernels are compiled for one instruction set only. */
#include "arena.h"

bool tnri_isa_runs(tnri_isa isa) { return isa == TNRI_ISA_BASELINE; }
