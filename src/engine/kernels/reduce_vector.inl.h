/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of reals and the larger and smaller of two: larger_f64 with every rule of tnr_maximum, and quick_larger_f64, one
 * instruction where there is one, whose result is anything when an element is NaN and either zero when both are zeros.
 */
#ifndef TENURE_ENGINE_REDUCE_VECTOR
#define TENURE_ENGINE_REDUCE_VECTOR

#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

/* The widest vectors of the instruction set. Results do not depend on it. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define ALWAYS_INLINE __attribute__((always_inline))

/*
 * Before loops over vectors that are to stay in registers, and over rows, which memory should be read in the order of:
 * compilers that unroll those put together what belongs to one accumulator.
 */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define ROLLED _Pragma("GCC unroll 1")
#endif

typedef float vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t mask_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t mask_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t vector_i32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t vector_i64 __attribute__((vector_size(VECTOR_BYTES)));
typedef vector_i32 mask_i32;
typedef vector_i64 mask_i64;

/* Where they lie: as aligned as an element is. */
typedef float loose_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double loose_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int32_t loose_i32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int64_t loose_i64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

/* clang-format off */
#if defined(__AVX512F__)
#define QUICK_LARGER_f32(x, y) (vector_f32)_mm512_max_ps((__m512)(x), (__m512)(y))
#define QUICK_LARGER_f64(x, y) (vector_f64)_mm512_max_pd((__m512d)(x), (__m512d)(y))
#define QUICK_SMALLER_f32(x, y) (vector_f32)_mm512_min_ps((__m512)(x), (__m512)(y))
#define QUICK_SMALLER_f64(x, y) (vector_f64)_mm512_min_pd((__m512d)(x), (__m512d)(y))
#elif defined(__AVX__)
#define QUICK_LARGER_f32(x, y) (vector_f32)_mm256_max_ps((__m256)(x), (__m256)(y))
#define QUICK_LARGER_f64(x, y) (vector_f64)_mm256_max_pd((__m256d)(x), (__m256d)(y))
#define QUICK_SMALLER_f32(x, y) (vector_f32)_mm256_min_ps((__m256)(x), (__m256)(y))
#define QUICK_SMALLER_f64(x, y) (vector_f64)_mm256_min_pd((__m256d)(x), (__m256d)(y))
#elif defined(__SSE2__)
#define QUICK_LARGER_f32(x, y) (vector_f32)_mm_max_ps((__m128)(x), (__m128)(y))
#define QUICK_LARGER_f64(x, y) (vector_f64)_mm_max_pd((__m128d)(x), (__m128d)(y))
#define QUICK_SMALLER_f32(x, y) (vector_f32)_mm_min_ps((__m128)(x), (__m128)(y))
#define QUICK_SMALLER_f64(x, y) (vector_f64)_mm_min_pd((__m128d)(x), (__m128d)(y))
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define QUICK_LARGER_f32(x, y) (vector_f32)vmaxq_f32((float32x4_t)(x), (float32x4_t)(y))
#define QUICK_LARGER_f64(x, y) (vector_f64)vmaxq_f64((float64x2_t)(x), (float64x2_t)(y))
#define QUICK_SMALLER_f32(x, y) (vector_f32)vminq_f32((float32x4_t)(x), (float32x4_t)(y))
#define QUICK_SMALLER_f64(x, y) (vector_f64)vminq_f64((float64x2_t)(x), (float64x2_t)(y))
#else
#define QUICK_LARGER_f32(x, y) larger_vector_f32(x, y)
#define QUICK_LARGER_f64(x, y) larger_vector_f64(x, y)
#define QUICK_SMALLER_f32(x, y) smaller_vector_f32(x, y)
#define QUICK_SMALLER_f64(x, y) smaller_vector_f64(x, y)
#endif
/* clang-format on */

#endif /* TENURE_ENGINE_REDUCE_VECTOR */
