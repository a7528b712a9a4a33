/* SPDX-License-Identifier: BSD-3-Clause */
/* Every dtype to every other, for one instruction set. */
#include "../../storage/stream.h"
#include "elementwise_kernels.h"

#if defined(__clang__) /* "independent" permits vector code; where the compiler sees no gain in it, that is no defect */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#define TEMPLATE "saturate.tmpl.h"
#define DTYPES DTYPES_INTEGER
#define LEAST NAME(LEAST_OF)
#define MOST NAME(MOST_OF)
#define LEAST_OF_i32 INT32_MIN
#define MOST_OF_i32 INT32_MAX
#define LEAST_OF_i64 INT64_MIN
#define MOST_OF_i64 INT64_MAX
#include "each_dtype.inl.h"

typedef float aliased_f32 __attribute__((may_alias));
typedef double aliased_f64 __attribute__((may_alias));
typedef struct aliased_c32 {
    float re, im;
} __attribute__((may_alias)) aliased_c32;
typedef struct aliased_c64 {
    double re, im;
} __attribute__((may_alias)) aliased_c64;
typedef int32_t aliased_i32 __attribute__((may_alias));
typedef int64_t aliased_i64 __attribute__((may_alias));
typedef uint8_t aliased_b8 __attribute__((may_alias));

#if TNRI_HAS_F32
#define FROM float
#define FROM_SUFFIX f32
#define FROM_REAL_SUFFIX f32
#define FROM_KIND KIND_REAL
#include "cast_from.tmpl.h"
#endif
#if TNRI_HAS_F64
#define FROM double
#define FROM_SUFFIX f64
#define FROM_REAL_SUFFIX f64
#define FROM_KIND KIND_REAL
#include "cast_from.tmpl.h"
#endif
#if TNRI_HAS_C32
#define FROM aliased_c32
#define FROM_SUFFIX c32
#define FROM_REAL_SUFFIX f32
#define FROM_KIND KIND_COMPLEX
#include "cast_from.tmpl.h"
#endif
#if TNRI_HAS_C64
#define FROM aliased_c64
#define FROM_SUFFIX c64
#define FROM_REAL_SUFFIX f64
#define FROM_KIND KIND_COMPLEX
#include "cast_from.tmpl.h"
#endif
#if TNRI_HAS_I32
#define FROM int32_t
#define FROM_SUFFIX i32
#define FROM_REAL_SUFFIX i32
#define FROM_KIND KIND_INTEGER
#include "cast_from.tmpl.h"
#endif
#if TNRI_HAS_I64
#define FROM int64_t
#define FROM_SUFFIX i64
#define FROM_REAL_SUFFIX i64
#define FROM_KIND KIND_INTEGER
#include "cast_from.tmpl.h"
#endif
#if TNRI_HAS_BOOL
#define FROM uint8_t
#define FROM_SUFFIX b8
#define FROM_REAL_SUFFIX b8
#define FROM_KIND KIND_BOOL
#include "cast_from.tmpl.h"
#endif

/* clang-format off */
#define FROM_ALL(to) {[TNR_F32] = PICK_##to(PICK_f32(from_f32_##to)), [TNR_F64] = PICK_##to(PICK_f64(from_f64_##to)), \
                      [TNR_C32] = PICK_##to(PICK_c32(from_c32_##to)), [TNR_C64] = PICK_##to(PICK_c64(from_c64_##to)), \
                      [TNR_I32] = PICK_##to(PICK_i32(from_i32_##to)), [TNR_I64] = PICK_##to(PICK_i64(from_i64_##to)), \
                      [TNR_BOOL] = PICK_##to(PICK_b8(from_b8_##to))}
const tnri_cast_kernels TNRI_ISA_NAME(tnri_cast_kernels) = {
    .to = {
        [TNR_F32] = FROM_ALL(f32),
        [TNR_F64] = FROM_ALL(f64),
        [TNR_C32] = FROM_ALL(c32),
        [TNR_C64] = FROM_ALL(c64),
        [TNR_I32] = FROM_ALL(i32),
        [TNR_I64] = FROM_ALL(i64),
        [TNR_BOOL] = FROM_ALL(b8),
    },
};
/* clang-format on */
