/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which instruction set kernels are taken for: decided once, from CPUID flags and never from a CPU's name.
 *
 * Guarantees: never one that the machine or its operating system lacks. TENURE_ISA can lower it, for tests and comparisons;
 * a bad value there lowers nothing, and engines refuse to be made (tnri_isa_check).
 */
#include "arena.h"

static const char *const names[TNRI_ISA_END] = {
#if defined(__aarch64__)
    [TNRI_ISA_BASELINE] = "neon",
#else
    [TNRI_ISA_BASELINE] = "baseline",
#endif
    [TNRI_ISA_V2] = "x86-64-v2",
    [TNRI_ISA_V3] = "x86-64-v3",
    [TNRI_ISA_V4] = "x86-64-v4",
};

const char *tnri_isa_name(tnri_isa isa) { return names[isa]; }

/* The set that TENURE_ISA names; TNRI_ISA_END: no such word, or none. */
static tnri_isa named(void)
{
    const char *word = tnri_environment(TNRI_WORD_ISA);
    for (int i = 0; word != NULL && i < TNRI_ISA_END; ++i) {
        if (strcmp(word, names[i]) == 0) {
            return (tnri_isa)i;
        }
    }
    return TNRI_ISA_END;
}

tnr_status tnri_isa_check(const char *op)
{
    const char *word = tnri_environment(TNRI_WORD_ISA);
    if (word == NULL) {
        return TNR_OK;
    }
    const tnri_isa isa = named();
    TNR_REQUIRE(isa != TNRI_ISA_END, TNR_ERR_ARGUMENT,
                "%s: TENURE_ISA is \"%s\", expected %s, x86-64-v2, x86-64-v3 or x86-64-v4", op, word, names[0]);
    TNR_REQUIRE(tnri_isa_runs(isa), TNR_ERR_UNSUPPORTED,
                "%s: TENURE_ISA asks for %s, which this machine or build lacks", op, word);
    return TNR_OK;
}

tnri_isa tnri_isa_best(void)
{
    static atomic_int known; /* the answer plus one; every thread finds the same */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        tnri_isa best = named();
        if (best == TNRI_ISA_END || !tnri_isa_runs(best)) {
            best = TNRI_ISA_V4;
            while (best != TNRI_ISA_BASELINE && !tnri_isa_runs(best)) {
                best = (tnri_isa)(best - 1);
            }
        }
        answer = (int)best + 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return (tnri_isa)(answer - 1);
}
