/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of the math functions. Polynomials are minimax, found by Remez exchange in 60 digits on a range a little wider
 * than the reduced argument's, then rounded; "error" is that of the exact polynomial, relative to the function.
 *
 *   exp   (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2; the first coefficient, 1/2, is fixed    error 2^-57, f32 2^-28
 *   log   (log((1+s)/(1-s)) / s - 2) / s^2 in s^2 for s = f / (2+f), 1+f in [sqrt 1/2, sqrt 2]  error 2^-59, f32 2^-30
 *   sin   (sin r / r - 1) / r^2 in r^2 for |r| <= pi / 2                                    error 2^-61, f32 2^-27
 *
 * ln 2 and pi in pieces: a piece times an integer that can occur is exact, but for the last; with fused multiply-add all
 * pieces of pi are full numbers.
 */
#ifndef TENURE_ENGINE_MATH_COEFFICIENTS_H
#define TENURE_ENGINE_MATH_COEFFICIENTS_H

#include "lanes.inl.h"

#define COUNT(terms) ((int)(sizeof(terms) / sizeof(terms)[0]))

/* Layout of the numbers. ONE is the bits of 1, ROOT_HALF of sqrt(1/2) rounded. */
enum { FRACTION_f32 = 23, FRACTION_f64 = 52 };
#define BIAS_f32 127U
#define BIAS_f64 1023U
#define ONE_f32 UINT32_C(0x3F800000)
#define ONE_f64 UINT64_C(0x3FF0000000000000)
#define ROOT_HALF_f32 UINT32_C(0x3F3504F3)
#define ROOT_HALF_f64 UINT64_C(0x3FE6A09E667F3BCD)
#define LEAST_NORMAL_f32 UINT32_C(0x00800000)
#define LEAST_NORMAL_f64 UINT64_C(0x0010000000000000)
#define INFINITE_BITS_f32 UINT32_C(0x7F800000)
#define INFINITE_BITS_f64 UINT64_C(0x7FF0000000000000)
#define SIGN_f32 UINT32_C(0x80000000)
#define SIGN_f64 UINT64_C(0x8000000000000000)

/* Added to a small number, they leave its nearest integer in the last bits; OFFSET's are all free for an exponent field. */
#define ROUNDER_f32 0x1.8p23F
#define ROUNDER_f64 0x1.8p52
#define OFFSET_f32 0x1p23F
#define OFFSET_f64 0x1p52
#define OFFSET_BITS_f32 UINT32_C(0x4B000000)
#define OFFSET_BITS_f64 UINT64_C(0x4330000000000000)

/* Beyond these the C library computes: results that are not normal numbers, angles of many turns. */
#define EXP_LIMIT_f32 87.0F
#define EXP_LIMIT_f64 708.0
#define TURN_LIMIT_f32 0x1p12F
#define TURN_LIMIT_f64 0x1p24
#define LOG1P_LEAST_f32 -0x1.fffffep-1F /* the first number above -1 */
#define LOG1P_LEAST_f64 -0x1.fffffffffffffp-1
#define LOG1P_LIMIT_f32 0x1p120F
#define LOG1P_LIMIT_f64 0x1p1000
/* From here on tanh is 1. */
#define TANH_CAP_f32 10.0F
#define TANH_CAP_f64 20.0

#define LOG2_E_f32 0x1.715476p+0F
#define LOG2_E_f64 0x1.71547652b82fep+0
#define LN2_HIGH_f32 0x1.62e4p-1F
#define LN2_LOW_f32 0x1.7f7d1cp-20F
#define LN2_HIGH_f64 0x1.62e42fefa3800p-1
#define LN2_LOW_f64 0x1.ef35793c76730p-45
#define ONE_OVER_PI_f32 0x1.45f306p-2F
#define ONE_OVER_PI_f64 0x1.45f306dc9c883p-2

/*
 * All pieces of pi are above 0: then n pi with n = 0 is a zero that leaves the sign of x = -0.
 *
 * The terms of the sine were moved by units of their last places until, in the very order of operations of math_lanes.tmpl.h,
 * the sine of the number next to pi / 2 is 1 (so cos 0 is) and next to none is above 1. Fused operations round elsewhere.
 */
#if LANES_FUSED
enum { PIECES_OF_PI = 3 };
static const float pi_f32[] = {0x1.921fb4p+1F, 0x1.4442dp-23F, 0x1.846988p-47F};
static const double pi_f64[] = {0x1.921fb54442d18p+1, 0x1.1a62633145c06p-53, 0x1.c1cd129024e08p-106};
static const float sin_terms_f32[] = {-0x1.55554cp-3F, 0x1.110f08p-7F, -0x1.9f7976p-13F, 0x1.5e1c1cp-19F};
static const double sin_terms_f64[] = {
    -0x1.5555555555555p-3,  0x1.11111111110c9p-7,  -0x1.a01a01a0151abp-13, 0x1.71de3a52c16efp-19,
    -0x1.ae6454e4ae1fap-26, 0x1.6123d149b33d8p-33, -0x1.ae44a7339febcp-41, 0x1.8851ab7d5f5fep-49,
};
#else
enum { PIECES_OF_PI = 4 };
static const float pi_f32[] = {0x1.92p+1F, 0x1.fb4p-11F, 0x1.444p-23F, 0x1.68c234p-38F};
static const double pi_f64[] = {0x1.921fb54p+1, 0x1.10b4611p-29, 0x1.4c4c662p-58, 0x1.1701b839a252p-87};
static const float sin_terms_f32[] = {-0x1.55554cp-3F, 0x1.110efcp-7F, -0x1.9f7816p-13F, 0x1.5e29b4p-19F};
static const double sin_terms_f64[] = {
    -0x1.5555555555555p-3,  0x1.11111111110ccp-7,  -0x1.a01a01a0151a9p-13, 0x1.71de3a52c170bp-19,
    -0x1.ae6454e4ae1fap-26, 0x1.6123d149b33d8p-33, -0x1.ae44a7339febcp-41, 0x1.8851ab7d5f5fep-49,
};
#endif

static const float exp_terms_f32[] = {0.5F, 0x1.555492p-3F, 0x1.5554c0p-5F, 0x1.123a00p-7F, 0x1.6d7ad2p-10F};
static const double exp_terms_f64[] = {
    0.5,
    0x1.555555555555cp-3,
    0x1.5555555553168p-5,
    0x1.111111110e573p-7,
    0x1.6c16c17cf4eaep-10,
    0x1.a01a01b677911p-13,
    0x1.a019aa931ce2ap-16,
    0x1.71dde873d6d34p-19,
    0x1.28a02169a6b12p-22,
    0x1.af794bf84051cp-26,
};
static const float log_terms_f32[] = {0x1.55557ap-1F, 0x1.995eb8p-2F, 0x1.31e34ap-2F};
static const double log_terms_f64[] = {
    0x1.5555555555592p-1, 0x1.999999997fd78p-2, 0x1.24924941f4ed7p-2, 0x1.c71c520618a0dp-3,
    0x1.74663f9d8d750p-3, 0x1.39a1a789fcd10p-3, 0x1.2f062dc73d9fcp-3,
};

#endif /* TENURE_ENGINE_MATH_COEFFICIENTS_H */
