/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of reals, of the widest kind that the instruction set has: what kernels that are written in vectors have in common. */
#ifndef TENURE_ENGINE_VECTORS
#define TENURE_ENGINE_VECTORS

#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define ALWAYS_INLINE __attribute__((always_inline))

/* Before loops over vectors that are to stay in registers. */
#if defined(TNRI_LOOPS_AS_WRITTEN) /* under a sanitizer: what it adds to an access would be there as often */
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef float vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES)));

/* Where they lie: as aligned as an element is. */
typedef float loose_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double loose_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

/* x in every element, a zero with its sign. */
#define SPREAD(vector, x) ((x) - (vector){0})

#endif /* TENURE_ENGINE_VECTORS */
