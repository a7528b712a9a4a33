/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of x86-64-v3: 256 bits, fused multiply-add. */
#include <immintrin.h>

#define LANES_REGISTER "x"
#define LANES_FUSED 1
enum { LANES_f32 = 8, LANES_f64 = 4 };

typedef float lanes_f32 __attribute__((vector_size(32)));
typedef double lanes_f64 __attribute__((vector_size(32)));
typedef uint32_t bits_f32 __attribute__((vector_size(32)));
typedef uint64_t bits_f64 __attribute__((vector_size(32)));
typedef int32_t where_f32 __attribute__((vector_size(32)));
typedef int64_t where_f64 __attribute__((vector_size(32)));

LANES_INLINE lanes_f32 splat_f32(float x) { return (lanes_f32){x, x, x, x, x, x, x, x}; }
LANES_INLINE lanes_f64 splat_f64(double x) { return (lanes_f64){x, x, x, x}; }
LANES_INLINE bits_f32 splat_bits_f32(uint32_t x)
{
    bits_f32 numbers = (bits_f32){x, x, x, x, x, x, x, x};
    LANES_KEEP(numbers);
    return numbers;
}
LANES_INLINE bits_f64 splat_bits_f64(uint64_t x)
{
    bits_f64 numbers = (bits_f64){x, x, x, x};
    LANES_KEEP(numbers);
    return numbers;
}

LANES_INLINE lanes_f32 fused_f32(lanes_f32 a, lanes_f32 b, lanes_f32 c)
{
    return (lanes_f32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
LANES_INLINE lanes_f64 fused_f64(lanes_f64 a, lanes_f64 b, lanes_f64 c)
{
    return (lanes_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
LANES_INLINE lanes_f32 root_f32(lanes_f32 a) { return (lanes_f32)_mm256_sqrt_ps((__m256)a); }
LANES_INLINE lanes_f64 root_f64(lanes_f64 a) { return (lanes_f64)_mm256_sqrt_pd((__m256d)a); }
/* Of a NaN and a number, MINPS gives its second operand. */
LANES_INLINE lanes_f32 capped_f32(lanes_f32 a, lanes_f32 cap)
{
    return (lanes_f32)_mm256_min_ps((__m256)cap, (__m256)a);
}
LANES_INLINE lanes_f64 capped_f64(lanes_f64 a, lanes_f64 cap)
{
    return (lanes_f64)_mm256_min_pd((__m256d)cap, (__m256d)a);
}

LANES_INLINE bool all_f32(where_f32 p) { return _mm256_movemask_ps((__m256)p) == 0xFF; }
LANES_INLINE bool all_f64(where_f64 p) { return _mm256_movemask_pd((__m256d)p) == 0xF; }

LANES_INLINE lanes_f32 ratio_f32(lanes_f32 a, lanes_f32 b) { return a / b; }
LANES_INLINE lanes_f64 ratio_f64(lanes_f64 a, lanes_f64 b) { return a / b; }

#include "lanes_truth.inl.h"
