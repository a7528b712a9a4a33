/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Includes a template once per dtype: the one way in which kernels of several dtypes are made. Define before
 *
 *   TEMPLATE  the file, beside this one
 *   DTYPES    for which dtypes: DTYPES_REAL, DTYPES_COMPLEX, DTYPES_INTEGER, DTYPES_BOOL, joined by |
 *
 * and include this; both are undefined afterwards. The template finds
 *
 *   T, SUFFIX      element type, and the dtype's suffix (f32)
 *   REAL           type of one component; REAL_SUFFIX is its suffix (c32: float, f32)
 *   KIND           KIND_REAL, KIND_COMPLEX, KIND_INTEGER or KIND_BOOL (a byte, any but 0 is true; SUFFIX is b8)
 *   NAME(x)        x_f32; REAL_NAME(x) the same with REAL_SUFFIX
 *   MATH(exp)      the C library's exp or expf, by REAL (floats only)
 *   UNSIGNED       for integers: the type in which overflow wraps
 *
 * and undefines what it adds itself. FLOAT_TABLE(x) and its kin are initialisers of a table by dtype with the functions that
 * came out.
 */
#ifndef TENURE_ENGINE_EACH_DTYPE
#define TENURE_ENGINE_EACH_DTYPE

#define DTYPES_REAL 1
#define DTYPES_COMPLEX 2
#define DTYPES_INTEGER 4
#define DTYPES_BOOL 8
#define DTYPES_FLOAT (DTYPES_REAL | DTYPES_COMPLEX)
#define DTYPES_NUMBER (DTYPES_FLOAT | DTYPES_INTEGER)
#define DTYPES_ALL (DTYPES_NUMBER | DTYPES_BOOL)

#define KIND_REAL 1
#define KIND_COMPLEX 2
#define KIND_INTEGER 3
#define KIND_BOOL 4

#define NAME(x) JOIN_SUFFIX(x, SUFFIX)
#define REAL_NAME(x) JOIN_SUFFIX(x, REAL_SUFFIX)
#define JOIN_SUFFIX(x, suffix) JOIN_SUFFIX_(x, suffix)
#define JOIN_SUFFIX_(x, suffix) x##_##suffix

/* clang-format off */
#define FLOATS_(x) [TNR_F32] = x##_f32, [TNR_F64] = x##_f64, [TNR_C32] = x##_c32, [TNR_C64] = x##_c64
#define FLOAT_TABLE(x) {FLOATS_(x)}
#define INTEGERS_(x) [TNR_I32] = x##_i32, [TNR_I64] = x##_i64
#define NUMBER_TABLE(x) {FLOATS_(x), INTEGERS_(x)}
#define ALL_TABLE(x) {FLOATS_(x), INTEGERS_(x), [TNR_BOOL] = x##_b8}
#define ORDERED_TABLE(x) {[TNR_F32] = x##_f32, [TNR_F64] = x##_f64, INTEGERS_(x)}
#define INTEGER_TABLE(x) {INTEGERS_(x)}
/* clang-format on */

#endif

#if (DTYPES) & DTYPES_REAL
#define KIND KIND_REAL

#define T float
#define SUFFIX f32
#define REAL float
#define REAL_SUFFIX f32
#define MATH(function) function##f
#include TEMPLATE
#undef T
#undef SUFFIX
#undef REAL
#undef REAL_SUFFIX
#undef MATH

#define T double
#define SUFFIX f64
#define REAL double
#define REAL_SUFFIX f64
#define MATH(function) function
#include TEMPLATE
#undef T
#undef SUFFIX
#undef REAL
#undef REAL_SUFFIX
#undef MATH

#undef KIND
#endif

#if (DTYPES) & DTYPES_COMPLEX
#define KIND KIND_COMPLEX

#define T tnr_c32
#define SUFFIX c32
#define REAL float
#define REAL_SUFFIX f32
#define MATH(function) function##f
#include TEMPLATE
#undef T
#undef SUFFIX
#undef REAL
#undef REAL_SUFFIX
#undef MATH

#define T tnr_c64
#define SUFFIX c64
#define REAL double
#define REAL_SUFFIX f64
#define MATH(function) function
#include TEMPLATE
#undef T
#undef SUFFIX
#undef REAL
#undef REAL_SUFFIX
#undef MATH

#undef KIND
#endif

#if (DTYPES) & DTYPES_INTEGER
#define KIND KIND_INTEGER

#define T int32_t
#define SUFFIX i32
#define REAL int32_t
#define REAL_SUFFIX i32
#define UNSIGNED uint32_t
#include TEMPLATE
#undef T
#undef SUFFIX
#undef REAL
#undef REAL_SUFFIX
#undef UNSIGNED

#define T int64_t
#define SUFFIX i64
#define REAL int64_t
#define REAL_SUFFIX i64
#define UNSIGNED uint64_t
#include TEMPLATE
#undef T
#undef SUFFIX
#undef REAL
#undef REAL_SUFFIX
#undef UNSIGNED

#undef KIND
#endif

#if (DTYPES) & DTYPES_BOOL
#define KIND KIND_BOOL
#define T uint8_t
#define SUFFIX b8
#define REAL uint8_t
#define REAL_SUFFIX b8
#include TEMPLATE
#undef T
#undef SUFFIX
#undef REAL
#undef REAL_SUFFIX
#undef KIND
#endif

#undef TEMPLATE
#undef DTYPES
