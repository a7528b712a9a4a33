/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector functions of libmvec, glibc's vector math library, for x86-64. math_kernels.c says what a provider gives.
 *
 * The names are those of the vector function ABI for x86-64: b, d or e for SSE, AVX2 or AVX-512, N for no mask, how many
 * numbers, one v per argument. glibc has no header that declares them: compilers call them by themselves, for -ffast-math
 * loops alone. CMake has seen that every one of them links.
 */
#if defined(__AVX512F__)
#define MVEC_BYTES 64
#define MVEC_f32 "_ZGVeN16"
#define MVEC_f64 "_ZGVeN8"
#elif defined(__AVX2__)
#define MVEC_BYTES 32
#define MVEC_f32 "_ZGVdN8"
#define MVEC_f64 "_ZGVdN4"
#else
#define MVEC_BYTES 16
#define MVEC_f32 "_ZGVbN4"
#define MVEC_f64 "_ZGVbN2"
#endif

typedef float lanes_f32 __attribute__((vector_size(MVEC_BYTES)));
typedef double lanes_f64 __attribute__((vector_size(MVEC_BYTES)));

lanes_f32 exp_lanes_f32(lanes_f32 x) __asm__(MVEC_f32 "v_expf");
lanes_f32 log_lanes_f32(lanes_f32 x) __asm__(MVEC_f32 "v_logf");
lanes_f32 sin_lanes_f32(lanes_f32 x) __asm__(MVEC_f32 "v_sinf");
lanes_f32 cos_lanes_f32(lanes_f32 x) __asm__(MVEC_f32 "v_cosf");
lanes_f32 tanh_lanes_f32(lanes_f32 x) __asm__(MVEC_f32 "v_tanhf");
lanes_f32 expm1_lanes_f32(lanes_f32 x) __asm__(MVEC_f32 "v_expm1f");
lanes_f32 log1p_lanes_f32(lanes_f32 x) __asm__(MVEC_f32 "v_log1pf");
lanes_f32 pow_lanes_f32(lanes_f32 x, lanes_f32 y) __asm__(MVEC_f32 "vv_powf");

lanes_f64 exp_lanes_f64(lanes_f64 x) __asm__(MVEC_f64 "v_exp");
lanes_f64 log_lanes_f64(lanes_f64 x) __asm__(MVEC_f64 "v_log");
lanes_f64 sin_lanes_f64(lanes_f64 x) __asm__(MVEC_f64 "v_sin");
lanes_f64 cos_lanes_f64(lanes_f64 x) __asm__(MVEC_f64 "v_cos");
lanes_f64 tanh_lanes_f64(lanes_f64 x) __asm__(MVEC_f64 "v_tanh");
lanes_f64 expm1_lanes_f64(lanes_f64 x) __asm__(MVEC_f64 "v_expm1");
lanes_f64 log1p_lanes_f64(lanes_f64 x) __asm__(MVEC_f64 "v_log1p");
lanes_f64 pow_lanes_f64(lanes_f64 x, lanes_f64 y) __asm__(MVEC_f64 "vv_pow");
