/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plus_f32, times_c64 and their kin: arithmetic on values of each dtype, written once. Integers wrap; complex numbers
 * multiply by the plain formula everywhere.
 */
#ifndef TENURE_ENGINE_ARITHMETIC_H
#define TENURE_ENGINE_ARITHMETIC_H

#include "tenure/dtype.h"

/*
 * A product that is rounded before it is added to another. -ffp-contract=off asks for that everywhere; but where one of two
 * neighbours is a sum and the other a difference of products, GCC 12 makes a fused vector instruction of them all the same.
 */
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier)
#define ROUNDED(product) __builtin_assoc_barrier(product)
#endif
#endif
#if !defined(ROUNDED)
#define ROUNDED(product) (product)
#endif

#define TEMPLATE "arithmetic.tmpl.h"
#define DTYPES DTYPES_NUMBER
#include "each_dtype.inl.h"

#endif /* TENURE_ENGINE_ARITHMETIC_H */
