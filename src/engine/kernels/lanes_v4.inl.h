/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of x86-64-v4: 512 bits, fused multiply-add, truth values in mask registers. */
#include <immintrin.h>

#define LANES_REGISTER "v"
#define LANES_FUSED 1
enum { LANES_f32 = 16, LANES_f64 = 8 };

typedef float lanes_f32 __attribute__((vector_size(64)));
typedef double lanes_f64 __attribute__((vector_size(64)));
typedef uint32_t bits_f32 __attribute__((vector_size(64)));
typedef uint64_t bits_f64 __attribute__((vector_size(64)));
typedef __mmask16 where_f32;
typedef __mmask8 where_f64;

LANES_INLINE lanes_f32 splat_f32(float x) { return (lanes_f32)_mm512_set1_ps(x); }
LANES_INLINE lanes_f64 splat_f64(double x) { return (lanes_f64)_mm512_set1_pd(x); }
LANES_INLINE bits_f32 splat_bits_f32(uint32_t x)
{
    bits_f32 numbers = (bits_f32)_mm512_set1_epi32((int)x);
    LANES_KEEP(numbers);
    return numbers;
}
LANES_INLINE bits_f64 splat_bits_f64(uint64_t x)
{
    bits_f64 numbers = (bits_f64)_mm512_set1_epi64((long long)x);
    LANES_KEEP(numbers);
    return numbers;
}

LANES_INLINE lanes_f32 fused_f32(lanes_f32 a, lanes_f32 b, lanes_f32 c)
{
    return (lanes_f32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
LANES_INLINE lanes_f64 fused_f64(lanes_f64 a, lanes_f64 b, lanes_f64 c)
{
    return (lanes_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
LANES_INLINE lanes_f32 root_f32(lanes_f32 a) { return (lanes_f32)_mm512_sqrt_ps((__m512)a); }
LANES_INLINE lanes_f64 root_f64(lanes_f64 a) { return (lanes_f64)_mm512_sqrt_pd((__m512d)a); }
/*
 * The divider takes 16 cycles for 8 numbers. VRCP14 starts with 14 bits; each fused step doubles them, and the last one works
 * on the quotient itself.
 */
LANES_INLINE lanes_f32 ratio_f32(lanes_f32 a, lanes_f32 b)
{
    const lanes_f32 inverse = (lanes_f32)_mm512_rcp14_ps((__m512)b);
    const lanes_f32 quotient = a * inverse;
    return fused_f32(fused_f32(-b, quotient, a), inverse, quotient);
}
LANES_INLINE lanes_f64 ratio_f64(lanes_f64 a, lanes_f64 b)
{
    lanes_f64 inverse = (lanes_f64)_mm512_rcp14_pd((__m512d)b);
    inverse = fused_f64(fused_f64(-b, inverse, splat_f64(1.0)), inverse, inverse);
    const lanes_f64 quotient = a * inverse;
    return fused_f64(fused_f64(-b, quotient, a), inverse, quotient);
}
/* Of a NaN and a number, VMINPS gives its second operand. */
LANES_INLINE lanes_f32 capped_f32(lanes_f32 a, lanes_f32 cap)
{
    return (lanes_f32)_mm512_min_ps((__m512)cap, (__m512)a);
}
LANES_INLINE lanes_f64 capped_f64(lanes_f64 a, lanes_f64 cap)
{
    return (lanes_f64)_mm512_min_pd((__m512d)cap, (__m512d)a);
}

LANES_INLINE where_f32 everywhere_f32(void) { return 0xFFFFU; }
LANES_INLINE where_f64 everywhere_f64(void) { return 0xFFU; }
LANES_INLINE where_f32 at_most_f32(lanes_f32 a, lanes_f32 b)
{
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
}
LANES_INLINE where_f64 at_most_f64(lanes_f64 a, lanes_f64 b)
{
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ);
}
LANES_INLINE where_f32 under_f32(bits_f32 a, bits_f32 b) { return _mm512_cmplt_epi32_mask((__m512i)a, (__m512i)b); }
LANES_INLINE where_f64 under_f64(bits_f64 a, bits_f64 b) { return _mm512_cmplt_epi64_mask((__m512i)a, (__m512i)b); }
LANES_INLINE where_f32 both_f32(where_f32 p, where_f32 q) { return (where_f32)(p & q); }
LANES_INLINE where_f64 both_f64(where_f64 p, where_f64 q) { return (where_f64)(p & q); }
LANES_INLINE bool all_f32(where_f32 p) { return p == 0xFFFFU; }
LANES_INLINE bool all_f64(where_f64 p) { return p == 0xFFU; }
LANES_INLINE bool holds_f32(where_f32 p, int i) { return (((unsigned)p >> i) & 1U) != 0U; }
LANES_INLINE bool holds_f64(where_f64 p, int i) { return (((unsigned)p >> i) & 1U) != 0U; }
