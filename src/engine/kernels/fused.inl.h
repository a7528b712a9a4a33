/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * x * y + sum, for reals and vectors of them: with one rounding where the instruction set has an instruction for it, with two elsewhere,
 * and the same for all of these types. What is fused is said by calling these and by nothing else, for everything is compiled with
 * -ffp-contract=off: compilers that are free to choose fuse here and not there, by how they cut a function in blocks.
 */
#ifndef TENURE_ENGINE_FUSED
#define TENURE_ENGINE_FUSED

#include "vectors.inl.h"

/* Vectors of 16 bytes, for fewer rows than the widest have elements. */
typedef float low_vector_f32 __attribute__((vector_size(16)));
typedef double low_vector_f64 __attribute__((vector_size(16)));

/* clang-format off */
#if defined(__FMA__)
#define HAS_FUSED 1
#define LOW_FUSED_f32(x, y, sum) (low_vector_f32)_mm_fmadd_ps((__m128)(x), (__m128)(y), (__m128)(sum))
#define LOW_FUSED_f64(x, y, sum) (low_vector_f64)_mm_fmadd_pd((__m128d)(x), (__m128d)(y), (__m128d)(sum))
#if defined(__AVX512F__)
#define FUSED_f32(x, y, sum) (vector_f32)_mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(sum))
#define FUSED_f64(x, y, sum) (vector_f64)_mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(sum))
#else
#define FUSED_f32(x, y, sum) (vector_f32)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(sum))
#define FUSED_f64(x, y, sum) (vector_f64)_mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(sum))
#endif
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define HAS_FUSED 1
#define FUSED_f32(x, y, sum) (vector_f32)vfmaq_f32((float32x4_t)(sum), (float32x4_t)(x), (float32x4_t)(y))
#define FUSED_f64(x, y, sum) (vector_f64)vfmaq_f64((float64x2_t)(sum), (float64x2_t)(x), (float64x2_t)(y))
#else
#define HAS_FUSED 0
#define FUSED_f32(x, y, sum) ((x) * (y) + (sum))
#define FUSED_f64(x, y, sum) ((x) * (y) + (sum))
#define LOW_FUSED_f32(x, y, sum) ((x) * (y) + (sum))
#define LOW_FUSED_f64(x, y, sum) ((x) * (y) + (sum))
#endif
/* clang-format on */

/* The builtin is C's fma: an instruction here, never a choice. Loops over it become vectors. */
static inline ALWAYS_INLINE float fused_f32(float x, float y, float sum)
{
    return HAS_FUSED ? __builtin_fmaf(x, y, sum) : x * y + sum;
}

static inline ALWAYS_INLINE double fused_f64(double x, double y, double sum)
{
    return HAS_FUSED ? __builtin_fma(x, y, sum) : x * y + sum;
}

#endif /* TENURE_ENGINE_FUSED */
