/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for integers that an operation must not meet, for one instruction set. */
#include "elementwise_kernels.h"

#define STRIP 1024 /* elements looked at between two decisions */

#define TEMPLATE "scan.tmpl.h"
#define DTYPES DTYPES_INTEGER
#include "each_dtype.inl.h"

const tnri_scan_kernels TNRI_ISA_NAME(tnri_scan_kernels) = {
    .zero = INTEGER_TABLE(zero),
    .negative = INTEGER_TABLE(negative),
};
