/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of x86-64 before v3: 128 bits, SSE2, no fused multiply-add. */
#include <emmintrin.h>

#define LANES_REGISTER "x"
#define LANES_FUSED 0
enum { LANES_f32 = 4, LANES_f64 = 2 };

typedef float lanes_f32 __attribute__((vector_size(16)));
typedef double lanes_f64 __attribute__((vector_size(16)));
typedef uint32_t bits_f32 __attribute__((vector_size(16)));
typedef uint64_t bits_f64 __attribute__((vector_size(16)));
typedef int32_t where_f32 __attribute__((vector_size(16)));
typedef int64_t where_f64 __attribute__((vector_size(16)));

LANES_INLINE lanes_f32 splat_f32(float x) { return (lanes_f32){x, x, x, x}; }
LANES_INLINE lanes_f64 splat_f64(double x) { return (lanes_f64){x, x}; }
LANES_INLINE bits_f32 splat_bits_f32(uint32_t x)
{
    bits_f32 numbers = (bits_f32){x, x, x, x};
    LANES_KEEP(numbers);
    return numbers;
}
LANES_INLINE bits_f64 splat_bits_f64(uint64_t x)
{
    bits_f64 numbers = (bits_f64){x, x};
    LANES_KEEP(numbers);
    return numbers;
}

LANES_INLINE lanes_f32 fused_f32(lanes_f32 a, lanes_f32 b, lanes_f32 c) { return a * b + c; }
LANES_INLINE lanes_f64 fused_f64(lanes_f64 a, lanes_f64 b, lanes_f64 c) { return a * b + c; }
LANES_INLINE lanes_f32 root_f32(lanes_f32 a) { return (lanes_f32)_mm_sqrt_ps((__m128)a); }
LANES_INLINE lanes_f64 root_f64(lanes_f64 a) { return (lanes_f64)_mm_sqrt_pd((__m128d)a); }
/* Of a NaN and a number, MINPS gives its second operand. */
LANES_INLINE lanes_f32 capped_f32(lanes_f32 a, lanes_f32 cap) { return (lanes_f32)_mm_min_ps((__m128)cap, (__m128)a); }
LANES_INLINE lanes_f64 capped_f64(lanes_f64 a, lanes_f64 cap)
{
    return (lanes_f64)_mm_min_pd((__m128d)cap, (__m128d)a);
}

LANES_INLINE bool all_f32(where_f32 p) { return _mm_movemask_ps((__m128)p) == 0xF; }
LANES_INLINE bool all_f64(where_f64 p) { return _mm_movemask_pd((__m128d)p) == 0x3; }

LANES_INLINE lanes_f32 ratio_f32(lanes_f32 a, lanes_f32 b) { return a / b; }
LANES_INLINE lanes_f64 ratio_f64(lanes_f64 a, lanes_f64 b) { return a / b; }

#include "lanes_truth.inl.h"
