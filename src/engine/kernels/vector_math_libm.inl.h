/* SPDX-License-Identifier: BSD-3-Clause */
/* No vector library: the C library's functions, on vectors of one number. math_kernels.c says what a provider gives. */
typedef float lanes_f32;
typedef double lanes_f64;

static inline float exp_lanes_f32(float x) { return expf(x); }
static inline float log_lanes_f32(float x) { return logf(x); }
static inline float sin_lanes_f32(float x) { return sinf(x); }
static inline float cos_lanes_f32(float x) { return cosf(x); }
static inline float tanh_lanes_f32(float x) { return tanhf(x); }
static inline float expm1_lanes_f32(float x) { return expm1f(x); }
static inline float log1p_lanes_f32(float x) { return log1pf(x); }
static inline float pow_lanes_f32(float x, float y) { return powf(x, y); }

static inline double exp_lanes_f64(double x) { return exp(x); }
static inline double log_lanes_f64(double x) { return log(x); }
static inline double sin_lanes_f64(double x) { return sin(x); }
static inline double cos_lanes_f64(double x) { return cos(x); }
static inline double tanh_lanes_f64(double x) { return tanh(x); }
static inline double expm1_lanes_f64(double x) { return expm1(x); }
static inline double log1p_lanes_f64(double x) { return log1p(x); }
static inline double pow_lanes_f64(double x, double y) { return pow(x, y); }
