/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix products without packing: a few elements of one column of c at a time, summed over k in registers. For products
 * that are done before a packing loop would have started.
 */
#include "engine_internal.h"

#define NAME_(x, y) NAME__(x, y)
#define NAME__(x, y) x##_##y

#define T float
#define REAL float
#define FIELD f32
#define COMPLEX 0
#define NAME(x) NAME_(x, f32)
#include "kernels/gemm_small.tmpl.h"

#define T double
#define REAL double
#define FIELD f64
#define COMPLEX 0
#define NAME(x) NAME_(x, f64)
#include "kernels/gemm_small.tmpl.h"

#define T tnr_c32
#define REAL float
#define FIELD c32
#define COMPLEX 1
#define NAME(x) NAME_(x, c32)
#include "kernels/gemm_small.tmpl.h"

#define T tnr_c64
#define REAL double
#define FIELD c64
#define COMPLEX 1
#define NAME(x) NAME_(x, c64)
#include "kernels/gemm_small.tmpl.h"

void tnri_gemm_small(const tnri_gemm *gemm)
{
    switch (gemm->dtype) {
    case TNR_F32:
        gemm_small_f32(gemm);
        break;
    case TNR_F64:
        gemm_small_f64(gemm);
        break;
    case TNR_C32:
        gemm_small_c32(gemm);
        break;
    default:
        gemm_small_c64(gemm);
        break;
    }
}
