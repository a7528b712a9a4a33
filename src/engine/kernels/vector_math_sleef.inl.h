/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector functions of SLEEF, those within 1 ulp, in the variants (finz with fused multiply-add, cinz without) that choose
 * their method by lane: the plain ones choose it for the whole vector. math_kernels.c says what a provider gives.
 *
 * Three are helped where SLEEF 3.5.1 is wrong, element by element: exp and pow are infinite a little below the largest
 * number, log1p of numbers near it is infinite, and log1p loses the sign of the least numbers.
 */
#include <sleef.h>

#if defined(__AVX512F__)
#define SLEEF_f32(function) Sleef_finz_##function##f16_u10avx512f
#define SLEEF_f64(function) Sleef_finz_##function##d8_u10avx512f
typedef __m512 lanes_f32;
typedef __m512d lanes_f64;
#elif defined(__AVX2__)
#define SLEEF_f32(function) Sleef_finz_##function##f8_u10avx2
#define SLEEF_f64(function) Sleef_finz_##function##d4_u10avx2
typedef __m256 lanes_f32;
typedef __m256d lanes_f64;
#elif defined(__aarch64__)
#define SLEEF_f32(function) Sleef_finz_##function##f4_u10advsimd
#define SLEEF_f64(function) Sleef_finz_##function##d2_u10advsimd
typedef float32x4_t lanes_f32;
typedef float64x2_t lanes_f64;
#else
#define SLEEF_f32(function) Sleef_cinz_##function##f4_u10sse2
#define SLEEF_f64(function) Sleef_cinz_##function##d2_u10sse2
typedef __m128 lanes_f32;
typedef __m128d lanes_f64;
#endif

static inline lanes_f32 exp_lanes_f32(lanes_f32 x)
{
    lanes_f32 y = SLEEF_f32(exp)(x);
    for (size_t i = 0; i < sizeof x / sizeof(float); ++i) {
        y[i] = isinf(y[i]) ? expf(x[i]) : y[i];
    }
    return y;
}
static inline lanes_f32 log_lanes_f32(lanes_f32 x) { return SLEEF_f32(log)(x); }
static inline lanes_f32 sin_lanes_f32(lanes_f32 x) { return SLEEF_f32(sin)(x); }
static inline lanes_f32 cos_lanes_f32(lanes_f32 x) { return SLEEF_f32(cos)(x); }
static inline lanes_f32 tanh_lanes_f32(lanes_f32 x) { return SLEEF_f32(tanh)(x); }
static inline lanes_f32 expm1_lanes_f32(lanes_f32 x) { return SLEEF_f32(expm1)(x); }
static inline lanes_f32 log1p_lanes_f32(lanes_f32 x)
{
    lanes_f32 y = SLEEF_f32(log1p)(x);
    for (size_t i = 0; i < sizeof x / sizeof(float); ++i) {
        y[i] = fabsf(x[i]) > 0x1p-100F && x[i] < 0x1p100F ? y[i] : log1pf(x[i]);
    }
    return y;
}
static inline lanes_f32 pow_lanes_f32(lanes_f32 x, lanes_f32 y)
{
    lanes_f32 z = SLEEF_f32(pow)(x, y);
    for (size_t i = 0; i < sizeof x / sizeof(float); ++i) {
        z[i] = isinf(z[i]) ? powf(x[i], y[i]) : z[i];
    }
    return z;
}

static inline lanes_f64 exp_lanes_f64(lanes_f64 x)
{
    lanes_f64 y = SLEEF_f64(exp)(x);
    for (size_t i = 0; i < sizeof x / sizeof(double); ++i) {
        y[i] = isinf(y[i]) ? exp(x[i]) : y[i];
    }
    return y;
}
static inline lanes_f64 log_lanes_f64(lanes_f64 x) { return SLEEF_f64(log)(x); }
static inline lanes_f64 sin_lanes_f64(lanes_f64 x) { return SLEEF_f64(sin)(x); }
static inline lanes_f64 cos_lanes_f64(lanes_f64 x) { return SLEEF_f64(cos)(x); }
static inline lanes_f64 tanh_lanes_f64(lanes_f64 x) { return SLEEF_f64(tanh)(x); }
static inline lanes_f64 expm1_lanes_f64(lanes_f64 x) { return SLEEF_f64(expm1)(x); }
static inline lanes_f64 log1p_lanes_f64(lanes_f64 x)
{
    lanes_f64 y = SLEEF_f64(log1p)(x);
    for (size_t i = 0; i < sizeof x / sizeof(double); ++i) {
        y[i] = fabs(x[i]) > 0x1p-900 && x[i] < 0x1p900 ? y[i] : log1p(x[i]);
    }
    return y;
}
static inline lanes_f64 pow_lanes_f64(lanes_f64 x, lanes_f64 y)
{
    lanes_f64 z = SLEEF_f64(pow)(x, y);
    for (size_t i = 0; i < sizeof x / sizeof(double); ++i) {
        z[i] = isinf(z[i]) ? pow(x[i], y[i]) : z[i];
    }
    return z;
}
