/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of reals: the device's own, with C's special values; roots are correctly rounded. Bounds: docs/cuda.md. */
#include "functions.cuh"

DEVICE float function_exp(float a) { return expf(a); }
DEVICE double function_exp(double a) { return exp(a); }
DEVICE float function_log(float a) { return logf(a); }
DEVICE double function_log(double a) { return log(a); }
DEVICE float function_sin(float a) { return sinf(a); }
DEVICE double function_sin(double a) { return sin(a); }
DEVICE float function_cos(float a) { return cosf(a); }
DEVICE double function_cos(double a) { return cos(a); }
DEVICE float function_tanh(float a) { return tanhf(a); }
DEVICE double function_tanh(double a) { return tanh(a); }
DEVICE float function_sqrt(float a) { return sqrtf(a); }
DEVICE double function_sqrt(double a) { return sqrt(a); }
DEVICE float function_rsqrt(float a) { return 1.0f / sqrtf(a); }
DEVICE double function_rsqrt(double a) { return 1.0 / sqrt(a); }
DEVICE float function_expm1(float a) { return expm1f(a); }
DEVICE double function_expm1(double a) { return expm1(a); }
DEVICE float function_log1p(float a) { return log1pf(a); }
DEVICE double function_log1p(double a) { return log1p(a); }
DEVICE float function_power(float a, float b) { return powf(a, b); }
DEVICE double function_power(double a, double b) { return pow(a, b); }

FUNCTIONS(f32, float)
FUNCTIONS(f64, double)
