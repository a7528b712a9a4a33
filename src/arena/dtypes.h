/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which dtypes this build computes in: all, or what TENURE_DTYPES names (cmake/parts.cmake). Tensors of a dtype that is left out
 * can be made, viewed, copied and moved all the same, for that goes by bytes.
 */
#ifndef TENURE_ARENA_DTYPES_H
#define TENURE_ARENA_DTYPES_H

#ifndef TNRI_DTYPES_CHOSEN
#define TNRI_HAS_F32 1
#define TNRI_HAS_F64 1
#define TNRI_HAS_C32 1
#define TNRI_HAS_C64 1
#define TNRI_HAS_I32 1
#define TNRI_HAS_I64 1
#define TNRI_HAS_BOOL 1
#endif

#endif /* TENURE_ARENA_DTYPES_H */
