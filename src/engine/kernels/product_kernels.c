/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of matrix products, for one instruction set. */
#include "product_kernels.h"

#include "arithmetic.inl.h"
#include "fused.inl.h"
#include "some.inl.h"

#if TNRI_THREADS
#include <assert.h>
#define EXPECTED(condition) assert(condition)
#else /* bounded: no stdio, which a failed assertion would want */
#define EXPECTED(condition) ((void)0)
#endif

/* A register tile that fits the file of the widest vectors, with room for operands. */
#if VECTOR_BYTES == 64
#define TILE_VECTORS 3
#define TILE_COLUMNS 8
#define TILE_DEPTH 512
#elif VECTOR_BYTES == 32
#define TILE_VECTORS 3
#define TILE_COLUMNS 4
#elif defined(__aarch64__)
#define TILE_VECTORS 4
#define TILE_COLUMNS 6
#else
#define TILE_VECTORS 2
#define TILE_COLUMNS 4
#endif

#ifndef TILE_DEPTH
#define TILE_DEPTH 256
#endif

/* Real and imaginary parts change places. */
#if VECTOR_BYTES == 64
#define SWAPPED_f32(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#define SWAPPED_f64(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#elif VECTOR_BYTES == 32
#define SWAPPED_f32(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#define SWAPPED_f64(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#else
#define SWAPPED_f32(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#define SWAPPED_f64(v) __builtin_shufflevector(v, v, 1, 0)
#endif

/*
 * Keeps a loop from being made into vectors: GCC 12 does so with c32 in 16 bytes by reading two elements at a time, the last of which may
 * lie beyond the operand.
 */
#define AS_IT_STANDS(pointer) __asm__("" : "+r"(pointer))

/* What a tile asks for while it adds: more of packed b, which streams from a second-level cache, or of rows that are read in place. */
typedef enum fetch_ahead { FETCH_NOTHING, FETCH_B, FETCH_ROWS } fetch_ahead;

/* Most of the elements along k have the next one for a neighbour. */
static inline bool has_lines(const int64_t *depths, int64_t depth)
{
    int64_t next = 0;
    for (int64_t p = 1; p < depth; ++p) {
        next += depths[p] == depths[p - 1] + 1 ? 1 : 0;
    }
    return 2 * next > depth;
}

/* Elements by size, for packing: words that may alias any dtype. c32 and c64 are aligned as their parts. */
typedef uint32_t word_4 __attribute__((may_alias));
typedef uint64_t word_8 __attribute__((may_alias, aligned(4)));
typedef struct word_16 {
    uint64_t half[2];
} __attribute__((may_alias, aligned(8))) word_16;

typedef uint32_t quad_4 __attribute__((vector_size(16)));
typedef uint64_t quad_8 __attribute__((vector_size(32)));

/* Eight by eight are turned in registers where eight elements are a vector. */
#if VECTOR_BYTES >= 32
typedef uint32_t octet_4 __attribute__((vector_size(32)));
#endif
#if VECTOR_BYTES >= 64
typedef uint64_t octet_8 __attribute__((vector_size(64)));
#endif

#if TNRI_HAS_F32
#define E word_4
#define QUAD quad_4
#if VECTOR_BYTES >= 32
#define OCTET octet_4
#endif
#define SIZED(x) x##_4
#include "product_pack.tmpl.h"
#endif
#if TNRI_HAS_F64 || TNRI_HAS_C32
#define E word_8
#define QUAD quad_8
#if VECTOR_BYTES >= 64
#define OCTET octet_8
#endif
#define SIZED(x) x##_8
#include "product_pack.tmpl.h"
#endif
#if TNRI_HAS_C64
#define E word_16
#define SIZED(x) x##_16
#include "product_pack.tmpl.h"
#endif

#define pack_f32 pack_4
#define pack_f64 pack_8
#define pack_c32 pack_8
#define pack_c64 pack_16
#define pack_across_f32 pack_across_4
#define pack_across_f64 pack_across_8
#define pack_across_c32 pack_across_8
#define pack_across_c64 pack_across_16

#define SUMS_REALS 2048 /* of a column of sums, on the stack */
#define TEMPLATE "product_tile.tmpl.h"
#define DTYPES DTYPES_FLOAT
#include "each_dtype.inl.h"

/* Rows from which on vectors are worth having: as many as one has where less than that goes without a mask. */
#if VECTOR_BYTES > 16
#define FEW(type) 2
#else
#define FEW(type) (VECTOR_BYTES / (int)sizeof(type))
#endif

/* clang-format off */
#define KERNEL(dtype, type, parts) {TILE_VECTORS * VECTOR_BYTES / (int)sizeof(type), TILE_COLUMNS / (parts), \
                                    VECTOR_BYTES / (int)sizeof(type), FEW(type), TILE_DEPTH, PICK_##dtype(tile_##dtype), PICK_##dtype(tile_in_place_##dtype), \
                                    PICK_##dtype(finish_##dtype), PICK_##dtype(small_##dtype), \
                                    PICK_##dtype(gathered_##dtype), PICK_##dtype(by_columns_##dtype), PICK_##dtype(by_rows_##dtype), \
                                    PICK_##dtype(outer_##dtype), PICK_##dtype(tiny_##dtype), PICK_##dtype(zip_##dtype), \
                                    PICK_##dtype(scale_##dtype), PICK_##dtype(pack_##dtype), PICK_##dtype(pack_across_##dtype)}
/* clang-format on */

const tnri_product_table TNRI_ISA_NAME(tnri_product_kernels) = {
    .of = {[TNR_F32] = KERNEL(f32, float, 1),
           [TNR_F64] = KERNEL(f64, double, 1),
           [TNR_C32] = KERNEL(c32, tnr_c32, 2),
           [TNR_C64] = KERNEL(c64, tnr_c64, 2)},
};
