/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file dtype.h
 * Element types. One list makes the enum, the sizes and the kernels.
 */
#ifndef TENURE_DTYPE_H
#define TENURE_DTYPE_H

#include "tenure/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A complex number as it lies in memory: real part first. Same bytes as C's and C++'s complex types. */
typedef struct tnr_c32 {
    float re;
    float im;
} tnr_c32;

/** @copydoc tnr_c32 */
typedef struct tnr_c64 {
    double re;
    double im;
} tnr_c64;

/** X(CONSTANT, suffix, C type, C type of one real component, components per element). */
#define TNR_DTYPES(X)                \
    X(F32, f32, float, float, 1)     \
    X(F64, f64, double, double, 1)   \
    X(C32, c32, tnr_c32, float, 2)   \
    X(C64, c64, tnr_c64, double, 2)  \
    X(I32, i32, int32_t, int32_t, 1) \
    X(I64, i64, int64_t, int64_t, 1) \
    X(BOOL, bool, uint8_t, uint8_t, 1)

/**
 * Element type of a tensor or view. c32 is two floats, c64 two doubles. A bool is one byte, 0 or 1; any other byte reads
 * as true. 0 is no dtype, so a zeroed struct is never taken for a valid one.
 */
#define TNR_DTYPE_ENUM_(CONSTANT, suffix, type, real, components) TNR_##CONSTANT,
typedef enum tnr_dtype { TNR_DTYPE_NONE = 0, TNR_DTYPES(TNR_DTYPE_ENUM_) TNR_DTYPE_END } tnr_dtype;
#undef TNR_DTYPE_ENUM_

/** Bytes of one element; 0 for a value that is no dtype. Thread-safe. */
TNR_API size_t tnr_dtype_size(tnr_dtype dtype);

/** Alignment of one element in bytes (that of its component); 0 for a value that is no dtype. Thread-safe. */
TNR_API size_t tnr_dtype_alignment(tnr_dtype dtype);

/** Name of a dtype ("f64"); "none" for a value that is no dtype. Never NULL. Thread-safe. */
TNR_API const char *tnr_dtype_name(tnr_dtype dtype);

/** Real dtype of a complex one (c32 -> f32, c64 -> f64); any other dtype is its own. Thread-safe. */
TNR_API tnr_dtype tnr_dtype_real(tnr_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_DTYPE_H */
