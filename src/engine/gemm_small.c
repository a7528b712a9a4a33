/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix products without packing: a few elements of one column of c at a time, summed over k in registers. For products
 * that are done before a packing loop would have started; and what is left of a product when no input counts.
 */
#include "engine_internal.h"

#include "kernels/arithmetic.inl.h"

#define TEMPLATE "gemm_small.tmpl.h"
#define DTYPES DTYPES_FLOAT
#include "kernels/each_dtype.inl.h"

typedef void (*gemm_kernel)(const tnri_gemm *gemm);

static const gemm_kernel small_kernels[TNR_DTYPE_END] = FLOAT_TABLE(gemm_small);
static const gemm_kernel scale_kernels[TNR_DTYPE_END] = FLOAT_TABLE(gemm_scale);

void tnri_gemm_small(const tnri_gemm *gemm) { small_kernels[gemm->dtype](gemm); }

void tnri_gemm_scale(const tnri_gemm *gemm) { scale_kernels[gemm->dtype](gemm); }
