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
 * for the dtypes that are not left out (TENURE_DTYPES), and undefines what it adds itself. FLOAT_TABLE(x) and its kin are initialisers of a table by dtype with the functions that
 * came out.
 */
#ifndef TENURE_ENGINE_EACH_DTYPE
#define TENURE_ENGINE_EACH_DTYPE

#include "../../arena/base.h"

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

/* PICK_f32(x) is x, or NULL where f32 is left out; and so on. PICK_ARG: what makes positions, which are i64. */
/* clang-format off */
#if TNRI_HAS_F32
#define PICK_f32(x) x
#else
#define PICK_f32(x) NULL
#endif
#if TNRI_HAS_F64
#define PICK_f64(x) x
#else
#define PICK_f64(x) NULL
#endif
#if TNRI_HAS_C32
#define PICK_c32(x) x
#else
#define PICK_c32(x) NULL
#endif
#if TNRI_HAS_C64
#define PICK_c64(x) x
#else
#define PICK_c64(x) NULL
#endif
#if TNRI_HAS_I32
#define PICK_i32(x) x
#else
#define PICK_i32(x) NULL
#endif
#if TNRI_HAS_I64
#define PICK_i64(x) x
#define PICK_ARG(x) x
#else
#define PICK_i64(x) NULL
#define PICK_ARG(x) NULL
#endif
#if TNRI_HAS_BOOL
#define PICK_b8(x) x
#else
#define PICK_b8(x) NULL
#endif

#define FLOATS_(x) [TNR_F32] = PICK_f32(x##_f32), [TNR_F64] = PICK_f64(x##_f64), [TNR_C32] = PICK_c32(x##_c32), \
                   [TNR_C64] = PICK_c64(x##_c64)
#define FLOAT_TABLE(x) {FLOATS_(x)}
#define INTEGERS_(x) [TNR_I32] = PICK_i32(x##_i32), [TNR_I64] = PICK_i64(x##_i64)
#define NUMBER_TABLE(x) {FLOATS_(x), INTEGERS_(x)}
#define ALL_TABLE(x) {FLOATS_(x), INTEGERS_(x), [TNR_BOOL] = PICK_b8(x##_b8)}
#define ORDERED_TABLE(x) {[TNR_F32] = PICK_f32(x##_f32), [TNR_F64] = PICK_f64(x##_f64), INTEGERS_(x)}
#define INTEGER_TABLE(x) {INTEGERS_(x)}
/* clang-format on */

#endif

#if (DTYPES) & DTYPES_REAL
#define KIND KIND_REAL

#if TNRI_HAS_F32
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
#endif

#if TNRI_HAS_F64
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
#endif

#undef KIND
#endif

#if (DTYPES) & DTYPES_COMPLEX
#define KIND KIND_COMPLEX

#if TNRI_HAS_C32
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
#endif

#if TNRI_HAS_C64
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
#endif

#undef KIND
#endif

#if (DTYPES) & DTYPES_INTEGER
#define KIND KIND_INTEGER

#if TNRI_HAS_I32
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
#endif

#if TNRI_HAS_I64
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
#endif

#undef KIND
#endif

#if ((DTYPES)&DTYPES_BOOL) && TNRI_HAS_BOOL
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
