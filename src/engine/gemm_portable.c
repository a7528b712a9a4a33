/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix products in plain C with vector extensions: five loops around a register tile, operands packed straight from any
 * strides (zero and negative ones included) into scratch that the caller keeps.
 *
 * The loops are those of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34 (2008), in
 * the form of Van Zee and van de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality", ACM TOMS 41
 * (2015). Does not choose instruction sets: it is compiled for the one that the build names.
 */
#include "engine_internal.h"

/* Rows and depth of a block of a (second-level cache), columns of a block of b. */
#define GEMM_MC 128
#define GEMM_KC 256
#define GEMM_NC 512

/* Widest vector that the target has, and a register tile that fits its file with room for operands. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define REAL_MV 3
#define REAL_NR 8
#define COMPLEX_MV 2
#define COMPLEX_NR 6
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define REAL_MV 3
#define REAL_NR 4
#define COMPLEX_MV 1
#define COMPLEX_NR 6
#else
#define VECTOR_BYTES 16
#define REAL_MV 2
#define REAL_NR 4
#define COMPLEX_MV 1
#define COMPLEX_NR 4
#endif

typedef float vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES)));

typedef struct gemm_blocks {
    int64_t m, n, k;
    uint64_t a_bytes; /* of packed a, rounded to a cache line; packed b follows */
    uint64_t bytes;   /* of both */
} gemm_blocks;

#include "kernels/arithmetic.inl.h"

#define TEMPLATE "gemm_packed.tmpl.h"
#define DTYPES DTYPES_FLOAT
#include "kernels/each_dtype.inl.h"

typedef gemm_blocks (*blocks_rule)(int64_t m, int64_t n, int64_t k);
typedef void (*gemm_kernel)(const tnri_gemm *gemm, char *scratch);

static const blocks_rule rules[TNR_DTYPE_END] = FLOAT_TABLE(gemm_blocks);
static const gemm_kernel kernels[TNR_DTYPE_END] = FLOAT_TABLE(gemm_packed);

uint64_t tnri_gemm_portable_bytes(tnr_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    return rules[dtype](m, n, k).bytes;
}

void tnri_gemm_portable(const tnri_gemm *gemm, void *scratch) { kernels[gemm->dtype](gemm, scratch); }
