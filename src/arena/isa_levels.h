/* SPDX-License-Identifier: BSD-3-Clause */
/* Instruction sets, and which of them run: all that CMake's question at configure time (cmake/isa_best.c) needs of the library. */
#ifndef TENURE_ARENA_ISA_LEVELS_H
#define TENURE_ARENA_ISA_LEVELS_H

#include <stdbool.h>

/*
 * Kernels are compiled once per instruction set, from one source, and each set's are a table. BASELINE is what the compiler
 * targets by itself: SSE2 on x86-64, NEON on 64-bit ARM.
 */
typedef enum tnri_isa { TNRI_ISA_BASELINE, TNRI_ISA_V2, TNRI_ISA_V3, TNRI_ISA_V4, TNRI_ISA_END } tnri_isa;

/* From CPUID: has the machine, and the operating system, what the set needs? (isa_x86.c) */
bool tnri_isa_runs(tnri_isa isa);

#endif /* TENURE_ARENA_ISA_LEVELS_H */
