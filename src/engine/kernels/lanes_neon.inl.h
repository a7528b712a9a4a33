/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of 64-bit ARM: 128 bits, fused multiply-add. */
#include <arm_neon.h>

#define LANES_FUSED 1
enum { LANES_f32 = 4, LANES_f64 = 2 };

typedef float lanes_f32 __attribute__((vector_size(16)));
typedef double lanes_f64 __attribute__((vector_size(16)));
typedef uint32_t bits_f32 __attribute__((vector_size(16)));
typedef uint64_t bits_f64 __attribute__((vector_size(16)));
typedef int32_t where_f32 __attribute__((vector_size(16)));
typedef int64_t where_f64 __attribute__((vector_size(16)));

LANES_INLINE lanes_f32 splat_f32(float x) { return (lanes_f32){x, x, x, x}; }
LANES_INLINE lanes_f64 splat_f64(double x) { return (lanes_f64){x, x}; }
LANES_INLINE bits_f32 splat_bits_f32(uint32_t x) { return (bits_f32){x, x, x, x}; }
LANES_INLINE bits_f64 splat_bits_f64(uint64_t x) { return (bits_f64){x, x}; }

LANES_INLINE lanes_f32 fused_f32(lanes_f32 a, lanes_f32 b, lanes_f32 c)
{
    return (lanes_f32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
LANES_INLINE lanes_f64 fused_f64(lanes_f64 a, lanes_f64 b, lanes_f64 c)
{
    return (lanes_f64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
LANES_INLINE lanes_f32 root_f32(lanes_f32 a) { return (lanes_f32)vsqrtq_f32((float32x4_t)a); }
LANES_INLINE lanes_f64 root_f64(lanes_f64 a) { return (lanes_f64)vsqrtq_f64((float64x2_t)a); }
/* FMIN gives NaN when either is one. */
LANES_INLINE lanes_f32 capped_f32(lanes_f32 a, lanes_f32 cap)
{
    return (lanes_f32)vminq_f32((float32x4_t)a, (float32x4_t)cap);
}
LANES_INLINE lanes_f64 capped_f64(lanes_f64 a, lanes_f64 cap)
{
    return (lanes_f64)vminq_f64((float64x2_t)a, (float64x2_t)cap);
}

LANES_INLINE bool all_f32(where_f32 p) { return vminvq_u32((uint32x4_t)p) != 0; }
LANES_INLINE bool all_f64(where_f64 p) { return vminvq_u32((uint32x4_t)p) != 0; }

LANES_INLINE lanes_f32 ratio_f32(lanes_f32 a, lanes_f32 b) { return a / b; }
LANES_INLINE lanes_f64 ratio_f64(lanes_f64 a, lanes_f64 b) { return a / b; }

#include "lanes_truth.inl.h"
