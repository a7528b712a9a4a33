/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors of f32 and f64 as wide as the registers of the instruction set that a kernel file is compiled for. With S for f32
 * or f64:
 *
 *   lanes_S, bits_S   so many numbers; the same register as unsigned integers. + - * / and, for bits, & | ^ << >> are C's
 *   LANES_S           how many
 *   where_S           one truth value per lane
 *   splat_S(x)        x in every lane; splat_bits_S(x) the same for integers
 *   fused_S(a, b, c)  a * b + c, with one rounding where LANES_FUSED is 1, with two where it is 0
 *   ratio_S(a, b)     a / b within 1 ulp, for b from 2^-100 to 2^100 and results that are normal or 0
 *   root_S(a)         square roots
 *   capped_S(a, cap)  the smaller; NaN stays
 *   at_most_S(a, b)   where a <= b; false for NaN
 *   under_S(a, b)     where a < b as signed integers
 *   everywhere_S(), both_S(p, q), all_S(p), holds_S(p, i)
 *
 * Same input, same lane count or not, same result: no operation here looks at a neighbour. That is what makes a tail that
 * was padded equal to the middle of a run.
 */
#ifndef TENURE_ENGINE_LANES_H
#define TENURE_ENGINE_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LANES_INLINE static inline __attribute__((always_inline))

/* GCC would rather build an integer constant anew in every round of a loop than load it: hide that it is one. */
#if defined(__GNUC__) && !defined(__clang__)
#define LANES_KEEP(numbers) __asm__("" : "+" LANES_REGISTER(numbers))
#else
#define LANES_KEEP(numbers) ((void)0)
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include "lanes_v4.inl.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "lanes_v3.inl.h"
#elif defined(__aarch64__)
#include "lanes_neon.inl.h"
#elif defined(__SSE2__)
#include "lanes_sse2.inl.h"
#else
#include "lanes_plain.inl.h"
#endif

#endif /* TENURE_ENGINE_LANES_H */
