/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In place of gemm_blis.c where BLIS is not built in: never available, never asked.
 */
#include "engine_internal.h"

bool tnri_blis_works(void) { return false; }

bool tnri_blis_accepts(const tnri_gemm *gemm)
{
    (void)gemm;
    return false;
}

void tnri_gemm_blis(const tnri_gemm *gemm) { (void)gemm; }
