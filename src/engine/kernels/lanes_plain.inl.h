/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes in the compilers' own vectors, 128 bits, no fused multiply-add: for machines that we know nothing of. */
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
LANES_INLINE bits_f32 splat_bits_f32(uint32_t x) { return (bits_f32){x, x, x, x}; }
LANES_INLINE bits_f64 splat_bits_f64(uint64_t x) { return (bits_f64){x, x}; }

LANES_INLINE lanes_f32 fused_f32(lanes_f32 a, lanes_f32 b, lanes_f32 c) { return a * b + c; }
LANES_INLINE lanes_f64 fused_f64(lanes_f64 a, lanes_f64 b, lanes_f64 c) { return a * b + c; }
LANES_INLINE lanes_f32 root_f32(lanes_f32 a) { return (lanes_f32){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])}; }
LANES_INLINE lanes_f64 root_f64(lanes_f64 a) { return (lanes_f64){sqrt(a[0]), sqrt(a[1])}; }
LANES_INLINE lanes_f32 capped_f32(lanes_f32 a, lanes_f32 cap)
{
    const bits_f32 above = (bits_f32)(a > cap);
    return (lanes_f32)((above & (bits_f32)cap) | (~above & (bits_f32)a));
}
LANES_INLINE lanes_f64 capped_f64(lanes_f64 a, lanes_f64 cap)
{
    const bits_f64 above = (bits_f64)(a > cap);
    return (lanes_f64)((above & (bits_f64)cap) | (~above & (bits_f64)a));
}

LANES_INLINE bool all_f32(where_f32 p) { return (p[0] & p[1] & p[2] & p[3]) != 0; }
LANES_INLINE bool all_f64(where_f64 p) { return (p[0] & p[1]) != 0; }

LANES_INLINE lanes_f32 ratio_f32(lanes_f32 a, lanes_f32 b) { return a / b; }
LANES_INLINE lanes_f64 ratio_f64(lanes_f64 a, lanes_f64 b) { return a / b; }

#include "lanes_truth.inl.h"
