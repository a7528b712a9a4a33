/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of functions of one or two numbers: FUNCTIONS(dtype, T) makes them all from what T's function_<name> are. */
#ifndef TENURE_CUDA_KERNELS_FUNCTIONS
#define TENURE_CUDA_KERNELS_FUNCTIONS

#include "walk.cuh"

#define ONE(function, dtype, T)                                                                           \
    struct work_##function##_##dtype {                                                                    \
        template <int N> MEMBER void run(T *result, const T *a, const nothing *, const nothing *) const   \
        {                                                                                                 \
            result[0] = function_##function(a[0]);                                                        \
        }                                                                                                 \
    };                                                                                                    \
    KERNEL_OF(function##_##dtype, 2)(SAME(tnri_map_layout) l, char *target, const char *a, const char *b) \
    {                                                                                                     \
        (void)b;                                                                                          \
        walk_slowly<T, T, nothing>(l, 0, target, a, 0, work_##function##_##dtype());                      \
    }
#define TWO(function, dtype, T)                                                                           \
    struct work_##function##_##dtype {                                                                    \
        template <int N> MEMBER void run(T *result, const T *a, const T *b, const nothing *) const        \
        {                                                                                                 \
            result[0] = function_##function(a[0], b[0]);                                                  \
        }                                                                                                 \
    };                                                                                                    \
    KERNEL_OF(function##_##dtype, 2)(SAME(tnri_map_layout) l, char *target, const char *a, const char *b) \
    {                                                                                                     \
        walk_slowly<T, T, T>(l, 0, target, a, b, work_##function##_##dtype());                            \
    }
#define FUNCTIONS(dtype, T) \
    ONE(exp, dtype, T)      \
    ONE(log, dtype, T)      \
    ONE(sin, dtype, T)      \
    ONE(cos, dtype, T)      \
    ONE(tanh, dtype, T)     \
    ONE(sqrt, dtype, T)     \
    ONE(rsqrt, dtype, T)    \
    ONE(expm1, dtype, T)    \
    ONE(log1p, dtype, T)    \
    TWO(power, dtype, T)

#endif
