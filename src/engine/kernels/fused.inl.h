/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * x * y + sum, for reals and vectors of them: with one rounding where the instruction set has an instruction for it (HAS_FUSED_f32,
 * HAS_FUSED_f64), with two elsewhere, and the same for a real and a vector of it. What is fused is said by calling these and by nothing
 * else, for everything is compiled with -ffp-contract=off: compilers that are free to choose fuse here and not there, by how they cut a
 * function in blocks.
 */
#ifndef TENURE_ENGINE_FUSED
#define TENURE_ENGINE_FUSED

#include "vectors.inl.h"

/* Whether C's fma is an instruction: GCC says so by C's own macros, and of 32-bit ARM both compilers do. */
#if defined(__FP_FAST_FMAF) || (defined(__ARM_FEATURE_FMA) && (__ARM_FP & 4) != 0)
#define FMA_IS_FAST_f32 1
#else
#define FMA_IS_FAST_f32 0
#endif
#if defined(__FP_FAST_FMA) || (defined(__ARM_FEATURE_FMA) && (__ARM_FP & 8) != 0)
#define FMA_IS_FAST_f64 1
#else
#define FMA_IS_FAST_f64 0
#endif

/* clang-format off */
#if defined(__FMA__)
#define HAS_FUSED_f32 1
#define HAS_FUSED_f64 1
#if defined(__AVX512F__)
#define FUSED_f32(x, y, sum) (vector_f32)_mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(sum))
#define FUSED_f64(x, y, sum) (vector_f64)_mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(sum))
#else
#define FUSED_f32(x, y, sum) (vector_f32)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(sum))
#define FUSED_f64(x, y, sum) (vector_f64)_mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(sum))
#endif
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define HAS_FUSED_f32 1
#define HAS_FUSED_f64 1
#define FUSED_f32(x, y, sum) (vector_f32)vfmaq_f32((float32x4_t)(sum), (float32x4_t)(x), (float32x4_t)(y))
#define FUSED_f64(x, y, sum) (vector_f64)vfmaq_f64((float64x2_t)(sum), (float64x2_t)(x), (float64x2_t)(y))
#else /* element by element, of each type by itself: some cores fuse single precision alone */
#define HAS_FUSED_f32 (VECTOR_BYTES == 16 && FMA_IS_FAST_f32)
#define HAS_FUSED_f64 (VECTOR_BYTES == 16 && FMA_IS_FAST_f64)
#if HAS_FUSED_f32
#define FUSED_f32(x, y, sum) fused_lanes_f32(x, y, sum)
#else
#define FUSED_f32(x, y, sum) ((x) * (y) + (sum))
#endif
#if HAS_FUSED_f64
#define FUSED_f64(x, y, sum) fused_lanes_f64(x, y, sum)
#else
#define FUSED_f64(x, y, sum) ((x) * (y) + (sum))
#endif
#endif
/* clang-format on */

/* The builtin is C's fma: an instruction here, never a choice. Loops over it become vectors. */
static inline ALWAYS_INLINE float fused_f32(float x, float y, float sum)
{
    return HAS_FUSED_f32 ? __builtin_fmaf(x, y, sum) : x * y + sum;
}

static inline ALWAYS_INLINE double fused_f64(double x, double y, double sum)
{
    return HAS_FUSED_f64 ? __builtin_fma(x, y, sum) : x * y + sum;
}

#if VECTOR_BYTES == 16

static inline ALWAYS_INLINE vector_f32 fused_lanes_f32(vector_f32 x, vector_f32 y, vector_f32 sum)
{
    return (vector_f32){fused_f32(x[0], y[0], sum[0]), fused_f32(x[1], y[1], sum[1]), fused_f32(x[2], y[2], sum[2]),
                        fused_f32(x[3], y[3], sum[3])};
}

static inline ALWAYS_INLINE vector_f64 fused_lanes_f64(vector_f64 x, vector_f64 y, vector_f64 sum)
{
    return (vector_f64){fused_f64(x[0], y[0], sum[0]), fused_f64(x[1], y[1], sum[1])};
}

#endif

#endif /* TENURE_ENGINE_FUSED */
