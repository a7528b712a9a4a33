/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What elementwise kernels work on, and their tables: one of each kind per instruction set.
 *
 * A kernel gets one plane: lines of runs, of the output (0) and of each input (1, 2, 3). It writes every element of the
 * output and nothing else, and what it writes depends on the input elements at the same index only: not on position, steps
 * or the cut into planes. An output is apart from each input or is the very same elements, so a kernel may read a block of
 * each input and then write that block. Any step and jump may occur: 0 (an element held still), negative, not a multiple
 * of the width; elements are always aligned. count and lines are at least 1. Kernels hold no state, allocate nothing and
 * cannot fail: what may fail is found by a scan before.
 *
 * `stream` is a hint: the output's runs are compact, begin on a cache line, and will not be read soon, so a kernel may write
 * them past the caches (run.tmpl.h). A kernel that ignores it is given short blocks by the walk, which streams what it made
 * of them. Whoever set the hint ends with a store fence. Threads are the walk's choice as well.
 */
#ifndef TENURE_ENGINE_ELEMENTWISE_KERNELS_H
#define TENURE_ENGINE_ELEMENTWISE_KERNELS_H

#include "../engine_internal.h"

/* `count` elements `step` bytes apart, `lines` of such runs `jump` bytes apart; for the output and each input. */
typedef struct tnri_plane {
    int operands; /* 1 + inputs */
    bool stream;
    char *data[1 + TNRI_CALL_INPUTS];
    int64_t count;
    int64_t step[1 + TNRI_CALL_INPUTS];
    int64_t lines;
    int64_t jump[1 + TNRI_CALL_INPUTS];
} tnri_plane;

typedef void (*tnri_plane_kernel)(const tnri_plane *plane);

#if TNRI_SMALL
/* Does `one` for each element: at[k] is its place in operand k. Kernels of small builds are this and a few instructions. */
void tnri_plane_each(const tnri_plane *plane, void (*one)(char *const *at));
#endif

/* Ways of a run, of which a template is told one as HOW (run.tmpl.h), and elements of a block of the narrow one. */
#define PLAIN 1
#define STREAMS 2
#define NARROW 3
#define NARROW_BLOCK 32

/* By the dtype of the (last) input; NULL where the operation does not exist. */
typedef tnri_plane_kernel tnri_kernel_row[TNR_DTYPE_END];

/* Sums, products and signs (arithmetic_kernels.c). pow: integers with exponents >= 0; abs of c32 writes f32. */
typedef struct tnri_arithmetic_kernels {
    tnri_kernel_row add, sub, mul, div, rem, pow, neg, abs, sign, conj;
} tnri_arithmetic_kernels;
TNRI_ISA_DECLARE(tnri_arithmetic_kernels, tnri_arithmetic_kernels);

/* Order and choice (order_kernels.c). Comparisons write bools; input 1 of select is bool. */
typedef struct tnri_order_kernels {
    tnri_kernel_row maximum, minimum, clamp, select, equal, not_equal, less, less_equal;
} tnri_order_kernels;
TNRI_ISA_DECLARE(tnri_order_kernels, tnri_order_kernels);

/* to[dtype of the output][dtype of the input] (cast_kernels.c); from a dtype to itself it copies. */
typedef struct tnri_cast_kernels {
    tnri_kernel_row to[TNR_DTYPE_END];
} tnri_cast_kernels;
TNRI_ISA_DECLARE(tnri_cast_kernels, tnri_cast_kernels);

/*
 * Is there an integer that must not be: a zero divisor, a negative exponent (scan_kernels.c)? `data` is one run of `count`
 * elements `step` bytes apart. The position of the first one, or -1.
 */
typedef int64_t (*tnri_run_scan)(const char *data, int64_t step, int64_t count);
typedef struct tnri_scan_kernels {
    tnri_run_scan zero[TNR_DTYPE_END];
    tnri_run_scan negative[TNR_DTYPE_END];
} tnri_scan_kernels;
TNRI_ISA_DECLARE(tnri_scan_kernels, tnri_scan_kernels);

/* The functions marked [bound], square roots, and powers of floats (math_kernels.c). Floats only. */
typedef struct tnri_math_kernels {
    tnri_kernel_row exp, log, sin, cos, tanh, sqrt, rsqrt, expm1, log1p, pow;
} tnri_math_kernels;
TNRI_ISA_DECLARE(tnri_math_kernels, tnri_math_kernels);

#endif /* TENURE_ENGINE_ELEMENTWISE_KERNELS_H */
