/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a launch and its kernel must agree on: which kernels there are, and their parameters. Read by the library (C), by the
 * kernels (CUDA C++, by nvcc and by NVRTC) and by the fake driver of the tests (C++).
 *
 * All kernels: blocks of 256 threads in one dimension, any number of blocks >= 1 (they go on until the work is done, so a launch
 * chooses by the device: tnri_*_blocks of kernels_internal.h), no dynamic shared memory, nothing to do is never launched. Addresses
 * are those of first elements, steps are bytes and may be negative, elements are aligned to their size, 16-byte ones to 8. No kernel
 * reads an element that it does not need, and none writes anything but its output.
 */
#ifndef TENURE_CUDA_KERNELS_CONTRACT_H
#define TENURE_CUDA_KERNELS_CONTRACT_H

#ifdef __CUDACC_RTC__ /* has no headers */
typedef unsigned char uint8_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

/* More than any tensor has, so that the kernels' text does not depend on TNR_MAX_RANK. */
#define TNRI_KERNEL_RANK 64
#define TNRI_KERNEL_THREADS 256

/* dtypes as kernels number them: tnr_dtype's values. */
#define TNRI_KERNEL_F32 1
#define TNRI_KERNEL_F64 2
#define TNRI_KERNEL_C32 3
#define TNRI_KERNEL_C64 4
#define TNRI_KERNEL_I32 5
#define TNRI_KERNEL_I64 6
#define TNRI_KERNEL_BOOL 7

/*
 * The kernels: K(module, name). A module is compiled and loaded as one, when the first kernel of it is wanted. The kernel's name
 * on the device is tnri_<name>.
 */
#define TNRI_KERNEL_REALS_(K, module, name) K(module, name##_f32) K(module, name##_f64)
#define TNRI_KERNEL_COMPLEX_(K, module, name) K(module, name##_c32) K(module, name##_c64)
#define TNRI_KERNEL_INTEGERS_(K, module, name) K(module, name##_i32) K(module, name##_i64)
#define TNRI_KERNEL_NUMBERS_(K, module, name) \
    TNRI_KERNEL_REALS_(K, module, name) TNRI_KERNEL_COMPLEX_(K, module, name) TNRI_KERNEL_INTEGERS_(K, module, name)
#define TNRI_KERNEL_ALL_(K, module, name) TNRI_KERNEL_NUMBERS_(K, module, name) K(module, name##_bool)
#define TNRI_KERNEL_WIDTHS_(K, module, name) \
    K(module, name##_1) K(module, name##_4) K(module, name##_8) K(module, name##_16)
/* clang-format off */
#define TNRI_KERNEL_FUNCTIONS_(K, module, dtype)                                                    \
    K(module, exp_##dtype)                                                                          \
    K(module, log_##dtype)                                                                          \
    K(module, sin_##dtype)                                                                          \
    K(module, cos_##dtype) K(module, tanh_##dtype) K(module, sqrt_##dtype) K(module, rsqrt_##dtype) \
        K(module, expm1_##dtype) K(module, log1p_##dtype) K(module, power_##dtype)
/* clang-format on */
#define TNRI_KERNEL_LIST(K)                         \
    TNRI_KERNEL_WIDTHS_(K, move, pack)              \
    TNRI_KERNEL_WIDTHS_(K, move, turn)              \
    TNRI_KERNEL_WIDTHS_(K, move, fill)              \
    TNRI_KERNEL_WIDTHS_(K, move, reshape)           \
    TNRI_KERNEL_WIDTHS_(K, move, triangle)          \
    TNRI_KERNEL_NUMBERS_(K, map, map)               \
    TNRI_KERNEL_NUMBERS_(K, map, heavy)             \
    TNRI_KERNEL_COMPLEX_(K, map, size)              \
    TNRI_KERNEL_ALL_(K, map, compare)               \
    TNRI_KERNEL_WIDTHS_(K, map, select)             \
    TNRI_KERNEL_INTEGERS_(K, map, scan)             \
    TNRI_KERNEL_ALL_(K, cast, cast)                 \
    TNRI_KERNEL_FUNCTIONS_(K, math, f32)            \
    TNRI_KERNEL_FUNCTIONS_(K, math, f64)            \
    TNRI_KERNEL_FUNCTIONS_(K, math_complex, c32)    \
    TNRI_KERNEL_FUNCTIONS_(K, math_complex, c64)    \
    TNRI_KERNEL_ALL_(K, reduce, reduce)             \
    TNRI_KERNEL_REALS_(K, reduce, arg)              \
    TNRI_KERNEL_INTEGERS_(K, reduce, arg)           \
    TNRI_KERNEL_WIDTHS_(K, index, gather)           \
    TNRI_KERNEL_NUMBERS_(K, index, scatter)         \
    K(index, windows_check)                         \
    K(index, windows_value)                         \
    TNRI_KERNEL_REALS_(K, product, product)         \
    TNRI_KERNEL_COMPLEX_(K, product, product)       \
    TNRI_KERNEL_REALS_(K, product, product_lines)   \
    TNRI_KERNEL_COMPLEX_(K, product, product_lines) \
    TNRI_KERNEL_REALS_(K, product, product_join)    \
    TNRI_KERNEL_COMPLEX_(K, product, product_join)  \
    K(product, offsets)

/*
 * ---- Maps: element by element ------------------------------------------------------------------------------------------------
 *
 * Axes of extent 1 are dropped, no step of the target is negative, the target's smallest comes first, axes that go on one another in
 * all operands are one: tnri_map_layout_make does all that, and the rest of the struct with it. A target may be an input's very
 * elements; else operands lie apart.
 */
typedef struct tnri_divisors { /* index / shape[axis] by a multiplication, for indices below 2^63 */
    uint64_t multiplier[TNRI_KERNEL_RANK];
    uint8_t shift[TNRI_KERNEL_RANK];
} tnri_divisors;

typedef struct tnri_map_layout {
    int64_t count; /* elements, >= 1 */
    int32_t rank;
    int32_t operands;       /* target and inputs: 1 to 4 */
    int32_t way;            /* TNRI_WAY_* */
    uint32_t still;         /* bit i: operand i does not move at all */
    uint32_t multiplier[4]; /* TNRI_WAY_SMALL: index / shape[axis] by a multiplication */
    uint32_t shift[4];
    int64_t shape[TNRI_KERNEL_RANK];
    int64_t steps[4][TNRI_KERNEL_RANK];
    tnri_divisors by;
} tnri_map_layout;

enum {
    TNRI_WAY_FLAT,    /* rank <= 1; each operand steps by its element or is still */
    TNRI_WAY_SMALL,   /* rank <= 4, count < 2^31 */
    TNRI_WAY_GENERAL, /* anything */
    TNRI_WAY_TURNED   /* two operands: tnri_turn_*; axis 0 is the target's nearest, axis 1 the source's */
};

/* Operations of maps. */
typedef enum tnri_map_op {
    /* tnri_map_<dtype>: result of the dtype */
    TNRI_MAP_ADD,
    TNRI_MAP_SUB,
    TNRI_MAP_MUL,
    TNRI_MAP_NEG,
    TNRI_MAP_ABS,  /* not complex */
    TNRI_MAP_SIGN, /* not complex */
    TNRI_MAP_CONJ, /* reals: a copy */
    TNRI_MAP_MAXIMUM,
    TNRI_MAP_MINIMUM,
    TNRI_MAP_CLAMP, /* inputs a, low, high */
    TNRI_MAP_DIV,   /* reals; others: tnri_heavy_<dtype>; integers: no zero among the divisors */
    /* tnri_heavy_<dtype> */
    TNRI_MAP_REM,
    TNRI_MAP_POW,          /* integers; no negative exponent */
    TNRI_MAP_SIGN_COMPLEX, /* complex */
    /* tnri_size_<c32|c64>: |a|, a real */
    TNRI_MAP_SIZE,
    /* tnri_compare_<dtype>: a bool */
    TNRI_MAP_EQUAL,
    TNRI_MAP_NOT_EQUAL,
    TNRI_MAP_LESS,
    TNRI_MAP_LESS_EQUAL,
    /* tnri_select_<bytes>: inputs which (bool), a, b */
    TNRI_MAP_SELECT,
    TNRI_MAP_END
} tnri_map_op;

/* Or-ed to the op of add, sub, mul, div of complex numbers: that input is a real of the same precision, and still. */
#define TNRI_MAP_REAL_1 0x100
#define TNRI_MAP_REAL_2 0x200

/*
 *   tnri_map_<dtype>, heavy_, compare_    (tnri_map_layout, int32_t op, target, a, b, c)
 *   tnri_size_<dtype>                     (tnri_map_layout, int32_t op, target, a, 0, 0)
 *   tnri_select_<bytes>                   (tnri_map_layout, int32_t op, target, which, a, b)
 *   tnri_cast_<dtype of a>                (tnri_map_layout, int32_t dtype of the target, target, a)
 *   tnri_<function>_<dtype>               (tnri_map_layout, target, a, b)      b of power alone, else 0
 *   tnri_pack_<bytes>, turn_              (tnri_map_layout, target, a)
 *   tnri_fill_<bytes>                     (tnri_map_layout of one operand, target, tnri_value)
 *   tnri_triangle_<bytes>                 (tnri_triangle_layout, target, a)
 *   tnri_reshape_<bytes>                  (tnri_reshape_layout, target, a)
 *   tnri_scan_<i32|i64>                   (tnri_reshape_layout of one side, int32_t kind, a, int64_t *found)
 *
 * target, a, b, c and found are addresses of the device; those that the operation has no use for are 0. Scan and check lower *found,
 * which the launch set to INT64_MAX before, to the number of the first offender in column-major order.
 */
typedef struct tnri_value {
    uint64_t low; /* the element's first bytes; of 1 and 4 byte ones the lowest bits */
    uint64_t high;
} tnri_value;

enum { TNRI_SCAN_ZERO, TNRI_SCAN_NEGATIVE };

/* Keeps i >= j - k (lower) or i <= j - k (upper) of axes 0 and 1; else zero. Axes as they are; operands as in maps. */
typedef struct tnri_triangle_layout {
    int64_t count;
    int64_t k;
    int32_t rank; /* >= 2 */
    int32_t upper;
    int64_t shape[TNRI_KERNEL_RANK];
    int64_t steps[2][TNRI_KERNEL_RANK];
} tnri_triangle_layout;

/* Two layouts of as many elements, each in column-major order. [0] the target; of a scan, what is looked at. Rank 0: one element. */
typedef struct tnri_reshape_layout {
    int64_t count;
    int32_t rank[2];
    int64_t shape[2][TNRI_KERNEL_RANK];
    int64_t steps[2][TNRI_KERNEL_RANK];
    tnri_divisors by[2];
} tnri_reshape_layout;

/*
 * ---- Reductions --------------------------------------------------------------------------------------------------------------
 *
 *   tnri_reduce_<dtype>   (tnri_reduce_layout, target, source, partials)
 *   tnri_arg_<dtype>      (the same; target of i64)
 *
 * tnri_reduce_layout_make fills the struct. Where it sets chunks > 1, results come in two launches: the first (stage SPLIT) writes
 * partials, chunks * outputs of partial_bytes each; then tnri_reduce_layout_join, and the second (stage JOIN) reads them and writes the
 * target; it does not read the source. Else stage is WHOLE, and partials 0. The order of additions follows from shape and steps alone.
 */
typedef enum tnri_kernel_reduce_op { /* as tnri_reduce_op */
                                     TNRI_KERNEL_SUM,
                                     TNRI_KERNEL_PROD,
                                     TNRI_KERNEL_MAX,
                                     TNRI_KERNEL_MIN,
                                     TNRI_KERNEL_ALL,
                                     TNRI_KERNEL_ANY,
                                     TNRI_KERNEL_NORM, /* complex: the target is real */
                                     TNRI_KERNEL_ARGMAX,
                                     TNRI_KERNEL_ARGMIN
} tnri_kernel_reduce_op;

enum { TNRI_STAGE_WHOLE, TNRI_STAGE_SPLIT, TNRI_STAGE_JOIN };

typedef struct tnri_reduce_layout {
    int64_t outputs;
    int64_t terms; /* of an output, >= 1; in stage JOIN: chunks */
    int64_t chunk; /* terms that a block takes at a time */
    int64_t chunks;
    int32_t op;
    int32_t stage;
    int32_t lanes;         /* threads of a block that share an output: a power of two */
    int32_t lines;         /* neighbouring threads take neighbouring terms, not outputs */
    int32_t kept_rank;     /* axes 0..kept_rank-1: of outputs */
    int32_t gone_rank;     /* behind them: of terms */
    int32_t partial_bytes; /* of one partial result */
    int32_t way;           /* of terms: TNRI_WAY_FLAT (gone_rank <= 1), SMALL or GENERAL */
    uint32_t multiplier[4];
    uint32_t shift[4];
    int64_t shape[TNRI_KERNEL_RANK];
    int64_t source[TNRI_KERNEL_RANK];
    int64_t target[TNRI_KERNEL_RANK]; /* kept axes */
    tnri_divisors by;
} tnri_reduce_layout;

/*
 * ---- Windows -----------------------------------------------------------------------------------------------------------------
 *
 *   tnri_gather_<bytes>    (tnri_windows_layout, target = the result, tensor, indices)
 *   tnri_scatter_<dtype>   (tnri_windows_layout, target = the tensor, updates, indices)
 *   tnri_windows_check     (tnri_windows_layout, indices, int64_t *found)   lowers *found to vector * entries + entry of the first
 *                          entry that is not in 0..limit; entries >= 1
 *   tnri_windows_value     (tnri_windows_layout, indices, int64_t *found)   one block: found[1] becomes the entry found[0] tells,
 *                          0 where that is INT64_MAX
 *
 * Entries are held to 0..limit when they are used. Scatter adds what meets one element in the order of the vectors, by any way;
 * tnri_windows_layout_finish chooses it. Where windows overlap in part and vectors are not many, a launch for each vector (first,
 * vectors = 1) has many blocks at work, which TURNS has not.
 */
typedef struct tnri_windows_layout {
    int64_t vectors;
    int64_t elements;   /* of a window */
    int64_t entry_step; /* of indices, from entry to entry */
    int64_t first;  /* number of the first vector: first..first+vectors-1 of those that the batch axes tell are taken */
    int64_t places; /* of windows: product of limit + 1 over the entries, or INT64_MAX */
    int32_t batch_rank;  /* axes 0..batch_rank-1: of the vectors */
    int32_t window_rank; /* behind them: of windows */
    int32_t entries;
    int32_t wide; /* indices are i64, else i32 */
    int32_t
        window_first; /* gather: neighbouring threads take neighbouring elements of a window, not neighbouring vectors */
    int32_t way;      /* scatter: TNRI_SCATTER_* */
    int64_t shape[TNRI_KERNEL_RANK];
    int64_t result[TNRI_KERNEL_RANK]; /* steps in the result, or in updates */
    int64_t other[TNRI_KERNEL_RANK];  /* of the vectors' axes: in indices; of windows': in the tensor */
    int64_t limit[TNRI_KERNEL_RANK];  /* of each entry: last place where the window fits */
    int64_t tensor[TNRI_KERNEL_RANK]; /* of each entry: bytes from place to place */
    tnri_divisors by;                 /* tnri_windows_layout_finish */
} tnri_windows_layout;

enum {
    TNRI_SCATTER_ELEMENTS, /* a thread per element of the window takes all vectors: windows are apart or the same, or one */
    TNRI_SCATTER_SHARES, /* a block per share of the places takes the vectors that are for it: windows are apart or the same */
    TNRI_SCATTER_TURNS /* one block, one vector after the other: windows may overlap in part */
};

/*
 * ---- Products ----------------------------------------------------------------------------------------------------------------
 *
 * c = alpha * sum over k of a * b + beta * c, for every index of m, n and the batch.
 *
 *   tnri_product_<dtype>        (tnri_product_layout, c, a, b, partials)
 *   tnri_product_lines_<dtype>  (the same)
 *   tnri_product_join_<dtype>   (the same layout; c, 0, 0, partials)
 *   tnri_offsets                (tnri_offsets_layout, int64_t *first, second, third)    writes tables; those not wanted are 0
 *
 * A group of one axis (or none) has steps and no tables (0); any other has tables of offsets in bytes, as long as the group, which
 * tnri_offsets wrote. tnri_product_layout_finish chooses the way and the number of splits.
 */
typedef struct tnri_product_group {
    int64_t size;
    int64_t step[3];         /* in a, b, c */
    const int64_t *table[3]; /* on the device */
} tnri_product_group;

typedef struct tnri_product_layout {
    tnri_product_group m; /* of a and c */
    tnri_product_group n; /* of b and c */
    tnri_product_group k; /* of a and b; size >= 1 */
    tnri_product_group batch;
    double alpha[2]; /* re, im */
    double beta[2];
    int64_t split;     /* of k, that a block takes */
    int64_t splits;    /* > 1: partials, splits * batch * n * m elements of the dtype, and then tnri_product_join */
    int32_t way;       /* TNRI_PRODUCT_WAY_* */
    int32_t overwrite; /* beta is 0: c is not read */
    int32_t keep;      /* beta is 1 */
    int32_t plain;     /* alpha is 1: sums are not multiplied */
    int32_t conjugate_a;
    int32_t conjugate_b;
    int32_t lanes; /* LINES: threads of a block that share an element of c: a power of two */
    int32_t lines; /* LINES: neighbouring threads take neighbours along k, not along m */
} tnri_product_layout;

enum {
    TNRI_PRODUCT_WAY_TILES, /* tnri_product: blocks of c through shared memory */
    TNRI_PRODUCT_WAY_LINES  /* tnri_product_lines: a block, or a part of one, per element of c */
};

/* words: shape[rank], then `rank` steps for each of the tables that are wanted, in order. */
typedef struct tnri_offsets_layout {
    int64_t count;
    int32_t rank;
    int32_t spare;
    int64_t words[6 * TNRI_KERNEL_RANK];
} tnri_offsets_layout;

#endif /* TENURE_CUDA_KERNELS_CONTRACT_H */
