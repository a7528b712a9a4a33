/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of reals and the larger and smaller of two: larger_f64 with every rule of tnr_maximum, and quick_larger_f64, one
 * instruction where there is one, whose result is anything when an element is NaN, and one of both when both are zeros: the
 * first or the second, always the same, or the right one.
 */
#ifndef TENURE_ENGINE_REDUCE_VECTOR
#define TENURE_ENGINE_REDUCE_VECTOR

#include "vectors.inl.h"

/*
 * ROLLED: before loops over rows, which memory should be read in the order of: compilers that unroll those far put together what
 * belongs to one accumulator. TURNS: a few at a time, which they leave.
 */
#if defined(TNRI_LOOPS_AS_WRITTEN)
#define TURNS
#define ROLLED
#elif defined(__clang__)
#define TURNS _Pragma("clang loop unroll_count(3)")
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define TURNS _Pragma("GCC unroll 3")
#define ROLLED _Pragma("GCC unroll 1")
#endif

typedef int32_t mask_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t mask_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t vector_i32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t vector_i64 __attribute__((vector_size(VECTOR_BYTES)));
typedef vector_i32 mask_i32;
typedef vector_i64 mask_i64;
typedef int32_t loose_i32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int64_t loose_i64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

/*
 * What quick passes doubt: DOUBT_NAN where x or y is NaN, DOUBT_ZERO where x is a zero; joined by |, and asked by DOUBTED whether
 * there is any.
 */
/* clang-format off */
#if defined(__AVX512F__)
typedef __mmask16 doubt_f32;
typedef __mmask8 doubt_f64;
#define DOUBT_NAN_f32(x, y) _mm512_cmp_ps_mask((__m512)(x), (__m512)(y), _CMP_UNORD_Q)
#define DOUBT_NAN_f64(x, y) _mm512_cmp_pd_mask((__m512d)(x), (__m512d)(y), _CMP_UNORD_Q)
#define DOUBT_ZERO_f32(x) _mm512_cmp_ps_mask((__m512)(x), _mm512_setzero_ps(), _CMP_EQ_OQ)
#define DOUBT_ZERO_f64(x) _mm512_cmp_pd_mask((__m512d)(x), _mm512_setzero_pd(), _CMP_EQ_OQ)
#define DOUBTED(doubt) ((doubt) != 0)
#define QUICK_LARGER_f32(x, y) (vector_f32)_mm512_max_ps((__m512)(x), (__m512)(y))
#define QUICK_LARGER_f64(x, y) (vector_f64)_mm512_max_pd((__m512d)(x), (__m512d)(y))
#define QUICK_SMALLER_f32(x, y) (vector_f32)_mm512_min_ps((__m512)(x), (__m512)(y))
#define QUICK_SMALLER_f64(x, y) (vector_f64)_mm512_min_pd((__m512d)(x), (__m512d)(y))
#elif defined(__AVX__)
typedef mask_f32 doubt_f32;
typedef mask_f64 doubt_f64;
#define DOUBT_NAN_f32(x, y) (mask_f32)_mm256_cmp_ps((__m256)(x), (__m256)(y), _CMP_UNORD_Q)
#define DOUBT_NAN_f64(x, y) (mask_f64)_mm256_cmp_pd((__m256d)(x), (__m256d)(y), _CMP_UNORD_Q)
#define DOUBT_ZERO_f32(x) ((x) == 0.0F)
#define DOUBT_ZERO_f64(x) ((x) == 0.0)
#define DOUBTED(doubt) (!_mm256_testz_si256((__m256i)(doubt), (__m256i)(doubt)))
#define QUICK_LARGER_f32(x, y) (vector_f32)_mm256_max_ps((__m256)(x), (__m256)(y))
#define QUICK_LARGER_f64(x, y) (vector_f64)_mm256_max_pd((__m256d)(x), (__m256d)(y))
#define QUICK_SMALLER_f32(x, y) (vector_f32)_mm256_min_ps((__m256)(x), (__m256)(y))
#define QUICK_SMALLER_f64(x, y) (vector_f64)_mm256_min_pd((__m256d)(x), (__m256d)(y))
#elif defined(__SSE2__)
typedef mask_f32 doubt_f32;
typedef mask_f64 doubt_f64;
#define DOUBT_NAN_f32(x, y) (mask_f32)_mm_cmpunord_ps((__m128)(x), (__m128)(y))
#define DOUBT_NAN_f64(x, y) (mask_f64)_mm_cmpunord_pd((__m128d)(x), (__m128d)(y))
#define DOUBT_ZERO_f32(x) ((x) == 0.0F)
#define DOUBT_ZERO_f64(x) ((x) == 0.0)
#define DOUBTED(doubt) (_mm_movemask_epi8((__m128i)(doubt)) != 0)
#define QUICK_LARGER_f32(x, y) (vector_f32)_mm_max_ps((__m128)(x), (__m128)(y))
#define QUICK_LARGER_f64(x, y) (vector_f64)_mm_max_pd((__m128d)(x), (__m128d)(y))
#define QUICK_SMALLER_f32(x, y) (vector_f32)_mm_min_ps((__m128)(x), (__m128)(y))
#define QUICK_SMALLER_f64(x, y) (vector_f64)_mm_min_pd((__m128d)(x), (__m128d)(y))
#else
typedef mask_f32 doubt_f32;
typedef mask_f64 doubt_f64;
#define DOUBT_NAN_f32(x, y) (((x) != (x)) | ((y) != (y)))
#define DOUBT_NAN_f64(x, y) (((x) != (x)) | ((y) != (y)))
#define DOUBT_ZERO_f32(x) ((x) == 0.0F)
#define DOUBT_ZERO_f64(x) ((x) == 0.0)
#define DOUBTED(doubt) ((((mask_f64)(doubt))[0] | ((mask_f64)(doubt))[1]) != 0)
#if defined(__ARM_NEON) && defined(__aarch64__)
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
#endif
/* clang-format on */

#endif /* TENURE_ENGINE_REDUCE_VECTOR */
