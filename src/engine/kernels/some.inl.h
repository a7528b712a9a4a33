/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Some elements of a vector, the first ones: FIRST(count) says which, 0 < count <= all. The others are not touched in memory, and 0 in
 * what was loaded.
 */
#ifndef TENURE_ENGINE_SOME
#define TENURE_ENGINE_SOME

#include "vectors.inl.h"

#if VECTOR_BYTES == 64
typedef __mmask16 some_f32;
typedef __mmask8 some_f64;
#define FIRST_f32(count) ((some_f32)((1U << (count)) - 1U))
#define FIRST_f64(count) ((some_f64)((1U << (count)) - 1U))
#define load_some_f32(some, from) (vector_f32) _mm512_maskz_loadu_ps(some, from)
#define load_some_f64(some, from) (vector_f64) _mm512_maskz_loadu_pd(some, from)
#define store_some_f32(some, to, v) _mm512_mask_storeu_ps(to, some, (__m512)(v))
#define store_some_f64(some, to, v) _mm512_mask_storeu_pd(to, some, (__m512d)(v))
#elif VECTOR_BYTES == 32
typedef __m256i some_f32;
typedef __m256i some_f64;
#define FIRST_f32(count) (some_f32)((vector_f32){0, 1, 2, 3, 4, 5, 6, 7} < (float)(count))
#define FIRST_f64(count) (some_f64)((vector_f64){0, 1, 2, 3} < (double)(count))
#define load_some_f32(some, from) (vector_f32) _mm256_maskload_ps(from, some)
#define load_some_f64(some, from) (vector_f64) _mm256_maskload_pd(from, some)
#define store_some_f32(some, to, v) _mm256_maskstore_ps(to, some, (__m256)(v))
#define store_some_f64(some, to, v) _mm256_maskstore_pd(to, some, (__m256d)(v))
#else
typedef int some_f32;
typedef int some_f64;
#define FIRST_f32(count) (count)
#define FIRST_f64(count) (count)

static inline ALWAYS_INLINE vector_f32 load_some_f32(int some, const float *from)
{
    return (vector_f32){from[0], some > 1 ? from[1] : 0.0F, some > 2 ? from[2] : 0.0F, some > 3 ? from[3] : 0.0F};
}

static inline ALWAYS_INLINE vector_f64 load_some_f64(int some, const double *from)
{
    return (vector_f64){from[0], some > 1 ? from[1] : 0.0};
}

static inline ALWAYS_INLINE void store_some_f32(int some, float *to, vector_f32 v)
{
    for (int i = 0; i < some; ++i) {
        to[i] = v[i];
    }
}

static inline ALWAYS_INLINE void store_some_f64(int some, double *to, vector_f64 v)
{
    for (int i = 0; i < some; ++i) {
        to[i] = v[i];
    }
}
#endif

#endif /* TENURE_ENGINE_SOME */
