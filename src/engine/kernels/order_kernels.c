/* SPDX-License-Identifier: BSD-3-Clause */
/* Order, equality and choice, for one instruction set. */
#include <string.h>

#include "../../storage/stream.h"
#include "elementwise_kernels.h"

#if defined(__clang__) /* "independent" permits vector code; where the compiler sees no gain in it, that is no defect */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

/* The integer with the bits of a real. */
#define BITS BITS_(SUFFIX)
#define BITS_(suffix) BITS__(suffix)
#define BITS__(suffix) bits_##suffix
typedef uint32_t bits_f32;
typedef uint64_t bits_f64;

#define TEMPLATE "order_ops.tmpl.h"
#define DTYPES DTYPES_ALL
#include "each_dtype.inl.h"

/*
 * select moves bits: one kernel per width, whatever the dtype. A pair of floats is as aligned as a float is; and what is
 * moved was written as another type, which the compiler is told.
 */
typedef uint32_t word __attribute__((may_alias));
typedef uint64_t pair __attribute__((may_alias, aligned(4)));
typedef struct quad {
    uint64_t first, second;
} __attribute__((may_alias)) quad;

static inline uint8_t chosen_8(uint8_t which, uint8_t a, uint8_t b) { return which != 0 ? a : b; }
static inline uint32_t chosen_32(uint8_t which, uint32_t a, uint32_t b) { return which != 0 ? a : b; }
static inline uint64_t chosen_64(uint8_t which, uint64_t a, uint64_t b) { return which != 0 ? a : b; }
static inline quad chosen_128(uint8_t which, quad a, quad b)
{
    return (quad){which != 0 ? a.first : b.first, which != 0 ? a.second : b.second};
}

#undef NAME
#define NAME(x) x
#define FIRST uint8_t
#define HOW NARROW
#define OUT uint8_t
#define KERNEL select_8
#define APPLY chosen_8
#include "ternary.tmpl.h"
#undef OUT
#undef HOW
#define HOW STREAMS
#define OUT word
#define KERNEL select_32
#define APPLY chosen_32
#include "ternary.tmpl.h"
#undef OUT
#define OUT pair
#define KERNEL select_64
#define APPLY chosen_64
#include "ternary.tmpl.h"
#undef OUT
#define OUT quad
#define KERNEL select_128
#define APPLY chosen_128
#include "ternary.tmpl.h"
#undef OUT
#undef FIRST
#undef HOW

/* clang-format off */
const tnri_order_kernels TNRI_ISA_NAME(tnri_order_kernels) = {
    .maximum = ORDERED_TABLE(maximum),
    .minimum = ORDERED_TABLE(minimum),
    .clamp = ORDERED_TABLE(clamp),
    .select = {[TNR_F32] = select_32, [TNR_F64] = select_64, [TNR_C32] = select_64, [TNR_C64] = select_128,
               [TNR_I32] = select_32, [TNR_I64] = select_64, [TNR_BOOL] = select_8},
    .equal = ALL_TABLE(equal),
    .not_equal = ALL_TABLE(not_equal),
    .less = {[TNR_F32] = less_f32, [TNR_F64] = less_f64, [TNR_I32] = less_i32, [TNR_I64] = less_i64,
             [TNR_BOOL] = less_b8},
    .less_equal = {[TNR_F32] = less_equal_f32, [TNR_F64] = less_equal_f64, [TNR_I32] = less_equal_i32,
                   [TNR_I64] = less_equal_i64, [TNR_BOOL] = less_equal_b8},
};
/* clang-format on */
