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
#if TNRI_HAS_BOOL
#define HOW NARROW
#define OUT uint8_t
#define KERNEL select_8
#define APPLY chosen_8
#include "ternary.tmpl.h"
#undef OUT
#undef HOW
#define HOW STREAMS
#if TNRI_HAS_F32 || TNRI_HAS_I32
#define OUT word
#define KERNEL select_32
#define APPLY chosen_32
#include "ternary.tmpl.h"
#undef OUT
#endif
#if TNRI_HAS_F64 || TNRI_HAS_C32 || TNRI_HAS_I64
#define OUT pair
#define KERNEL select_64
#define APPLY chosen_64
#include "ternary.tmpl.h"
#undef OUT
#endif
#if TNRI_HAS_C64
#define OUT quad
#define KERNEL select_128
#define APPLY chosen_128
#include "ternary.tmpl.h"
#undef OUT
#endif
#undef HOW
#endif
#undef FIRST

/* clang-format off */
/* Comparisons make bools, and choices go by them. */
#define COMPARED_(dtype, x) PICK_b8(PICK_##dtype(x))
#define RANKED_(x) [TNR_F32] = COMPARED_(f32, x##_f32), [TNR_F64] = COMPARED_(f64, x##_f64), \
                   [TNR_I32] = COMPARED_(i32, x##_i32), [TNR_I64] = COMPARED_(i64, x##_i64), \
                   [TNR_BOOL] = PICK_b8(x##_b8)
#define RANKED_TABLE(x) {RANKED_(x)}
#define COMPARED_TABLE(x) {RANKED_(x), [TNR_C32] = COMPARED_(c32, x##_c32), [TNR_C64] = COMPARED_(c64, x##_c64)}

const tnri_order_kernels TNRI_ISA_NAME(tnri_order_kernels) = {
    .maximum = ORDERED_TABLE(maximum),
    .minimum = ORDERED_TABLE(minimum),
    .clamp = ORDERED_TABLE(clamp),
    .select = {[TNR_F32] = COMPARED_(f32, select_32), [TNR_F64] = COMPARED_(f64, select_64),
               [TNR_C32] = COMPARED_(c32, select_64), [TNR_C64] = COMPARED_(c64, select_128),
               [TNR_I32] = COMPARED_(i32, select_32), [TNR_I64] = COMPARED_(i64, select_64),
               [TNR_BOOL] = COMPARED_(b8, select_8)},
    .equal = COMPARED_TABLE(equal),
    .not_equal = COMPARED_TABLE(not_equal),
    .less = RANKED_TABLE(less),
    .less_equal = RANKED_TABLE(less_equal),
};
/* clang-format on */
