/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plus_f32, times_c64 and their kin: arithmetic on values of each dtype, written once. Integers wrap; complex numbers
 * multiply by the plain formula everywhere.
 */
#ifndef TENURE_ENGINE_ARITHMETIC_H
#define TENURE_ENGINE_ARITHMETIC_H

#include "tenure/dtype.h"

#define TEMPLATE "arithmetic.tmpl.h"
#define DTYPES DTYPES_NUMBER
#include "each_dtype.inl.h"

#endif /* TENURE_ENGINE_ARITHMETIC_H */
