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

#define NAME_(x, y) NAME__(x, y)
#define NAME__(x, y) x##_##y

#define T float
#define REAL float
#define VEC vector_f32
#define FIELD f32
#define COMPLEX 0
#define MV REAL_MV
#define NR REAL_NR
#define NAME(x) NAME_(x, f32)
#include "kernels/gemm_packed.tmpl.h"

#define T double
#define REAL double
#define VEC vector_f64
#define FIELD f64
#define COMPLEX 0
#define MV REAL_MV
#define NR REAL_NR
#define NAME(x) NAME_(x, f64)
#include "kernels/gemm_packed.tmpl.h"

#define T tnr_c32
#define REAL float
#define VEC vector_f32
#define FIELD c32
#define COMPLEX 1
#define MV COMPLEX_MV
#define NR COMPLEX_NR
#define NAME(x) NAME_(x, c32)
#include "kernels/gemm_packed.tmpl.h"

#define T tnr_c64
#define REAL double
#define VEC vector_f64
#define FIELD c64
#define COMPLEX 1
#define MV COMPLEX_MV
#define NR COMPLEX_NR
#define NAME(x) NAME_(x, c64)
#include "kernels/gemm_packed.tmpl.h"

uint64_t tnri_gemm_portable_bytes(const tnri_gemm *gemm)
{
    switch (gemm->dtype) {
    case TNR_F32:
        return blocks_f32(gemm).bytes;
    case TNR_F64:
        return blocks_f64(gemm).bytes;
    case TNR_C32:
        return blocks_c32(gemm).bytes;
    default:
        return blocks_c64(gemm).bytes;
    }
}

void tnri_gemm_portable(const tnri_gemm *gemm, void *scratch)
{
    switch (gemm->dtype) {
    case TNR_F32:
        gemm_packed_f32(gemm, scratch);
        break;
    case TNR_F64:
        gemm_packed_f64(gemm, scratch);
        break;
    case TNR_C32:
        gemm_packed_c32(gemm, scratch);
        break;
    default:
        gemm_packed_c64(gemm, scratch);
        break;
    }
}
