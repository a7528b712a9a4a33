/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file engine.h
 * Something that computes on views and makes new tensors in a domain.
 *
 * Every operation has two forms. The allocating one makes a new tensor in the engine's output domain and writes it
 * through its last parameter. The `_into` form writes a view of the caller's and allocates nothing (but see
 * tnr_matmul_into for its scratch). Inputs are views of
 * any layout in any memory that the host can map; other memory is TNR_ERR_RESIDENCY, whose text names the call to make.
 * Nothing is moved unasked.
 *
 * Rules for every operation:
 * - All errors come before the first write, operands are looked at before anything is allocated, and on failure outputs,
 *   inputs and counters are as they were. One error comes later, and only from a program's domain: its unmap fails when
 *   the call ends. No new tensor exists then, leases are given back, but what was written to the caller's view, the
 *   ledger's entry for a copy of that, and scratch that a product took, stay.
 * - Dtypes must match (TNR_ERR_DTYPE); shapes must be equal, or one operand has rank 0 (TNR_ERR_SHAPE).
 * - Inputs are leased for reading and outputs for writing while the call runs: TNR_ERR_BUSY on a conflict.
 * - An output may be an input's very elements, index for index (in place). Any other overlap that is not disproved is
 *   TNR_ERR_OVERLAP. tnr_matmul_into, tnr_permute_into, tnr_sum_into and tnr_copy_into need outputs apart from inputs.
 * - Zero counts are fine everywhere and move nothing.
 *
 * Threads: an engine is its caller's. A second thread inside it gets TNR_ERR_BUSY at once.
 */
#ifndef TENURE_ENGINE_H
#define TENURE_ENGINE_H

#include "tenure/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_engine tnr_engine;

/** Settings of an engine. Start from TNR_ENGINE_OPTIONS. */
typedef struct tnr_engine_options {
    size_t size;             /**< sizeof(tnr_engine_options) */
    tnr_domain *output;      /**< where outputs are made; NULL: the engine's own pool over its domain */
    uint64_t pool_max_bytes; /**< cap of that pool; TNR_POOL_MAX_BYTES_AUTO */
    uint64_t scratch_bytes;  /**< scratch to take at once, as tnr_matmul_need says; 0: when it is first needed */
} tnr_engine_options;

/* clang-format off */
#define TNR_ENGINE_OPTIONS {sizeof(tnr_engine_options), NULL, TNR_POOL_MAX_BYTES_AUTO, 0}
/* clang-format on */

/**
 * Make a serial CPU engine.
 *
 * @param domain host-direct; holds the engine, its pool and its scratch, and must outlive it.
 * @param options NULL for defaults. TNR_ERR_RESIDENCY when options->output cannot be mapped by the host.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_engine_create(tnr_domain *domain, const tnr_engine_options *options,
                                                    tnr_engine **engine);

/**
 * Close the engine's pool, give its memory back and null *engine. Tensors that it made stay valid (weak return).
 * TNR_ERR_BUSY, and nothing changed, while a thread is inside or raw blocks of the engine's pool are out. NULL and a
 * pointer to NULL are fine.
 */
TNR_API tnr_status tnr_engine_destroy(tnr_engine **engine);

/**
 * Need of one engine of these options (NULL: defaults) whose pool never has more than `buffers` buffers, out and retained
 * together: the engine, its pool without the bytes of buffers, and options->scratch_bytes.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_engine_need(const tnr_engine_options *options, uint64_t buffers, tnr_need *need);

/** The domain in which the engine makes outputs; NULL for NULL. */
TNR_API tnr_domain *tnr_engine_output(const tnr_engine *engine);

/**
 * The engine's own pool, also when outputs go elsewhere; NULL for NULL. Its counters and its cap are yours, closing it is
 * not: the engine uses it. A program that closes it all the same only makes it retain nothing from then on.
 */
TNR_API tnr_domain *tnr_engine_pool(const tnr_engine *engine);

/* ---- Elementwise ---------------------------------------------------------------------------------------------------- */

/** a + b. Integers wrap. f32 f64 c32 c64 i32 i64; bool is TNR_ERR_UNSUPPORTED. */
TNR_API TNR_MUST_CHECK tnr_status tnr_add(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_add */
TNR_API TNR_MUST_CHECK tnr_status tnr_add_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/** a - b. Integers wrap. f32 f64 c32 c64 i32 i64. */
TNR_API TNR_MUST_CHECK tnr_status tnr_sub(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_sub */
TNR_API TNR_MUST_CHECK tnr_status tnr_sub_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/** a * b by element. Integers wrap. f32 f64 c32 c64 i32 i64. */
TNR_API TNR_MUST_CHECK tnr_status tnr_mul(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_mul */
TNR_API TNR_MUST_CHECK tnr_status tnr_mul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/** e to the a. f32 f64 c32 c64; integers and bool are TNR_ERR_UNSUPPORTED. NaN stays NaN. */
TNR_API TNR_MUST_CHECK tnr_status tnr_exp(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_exp */
TNR_API TNR_MUST_CHECK tnr_status tnr_exp_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/* ---- Reduction ------------------------------------------------------------------------------------------------------ */

/**
 * Sum over the listed axes, which the result drops. axis_count 0 copies. Over an axis of extent 0 it is 0.
 * f32 f64 c32 c64 i32 i64 (integers wrap); floats are added pairwise, so the error grows with the logarithm of the count.
 * TNR_ERR_BOUNDS on an axis that does not exist, TNR_ERR_ARGUMENT on a repeated one, both also for empty tensors.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_sum(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                          tnr_tensor **out);
/** @copydoc tnr_sum */
TNR_API TNR_MUST_CHECK tnr_status tnr_sum_into(tnr_engine *engine, const tnr_view *a, const int *axes, int axis_count,
                                               const tnr_view_mut *out);

/* ---- Structure: copies by name -------------------------------------------------------------------------------------- */

/** Axis i of the result is axis axes[i] of a; NULL reverses the axes. All dtypes. Ledger: permute. */
TNR_API TNR_MUST_CHECK tnr_status tnr_permute(tnr_engine *engine, const tnr_view *a, const int *axes, tnr_tensor **out);
/** @copydoc tnr_permute */
TNR_API TNR_MUST_CHECK tnr_status tnr_permute_into(tnr_engine *engine, const tnr_view *a, const int *axes,
                                                   const tnr_view_mut *out);

/** A compact tensor with a's elements. All dtypes. Ledger: to_contiguous. */
TNR_API TNR_MUST_CHECK tnr_status tnr_to_contiguous(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);

/** Copy a's elements to out: same shape and dtype, any layouts. All dtypes. Ledger: copy_into. */
TNR_API TNR_MUST_CHECK tnr_status tnr_copy_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/* ---- Matrix product ------------------------------------------------------------------------------------------------- */

/** A scalar of any float dtype; `im` is ignored for real ones. */
typedef struct tnr_scalar {
    double re;
    double im;
} tnr_scalar;

/** Settings of a matrix product. Start from TNR_MATMUL_OPTIONS: out = a * b. */
typedef struct tnr_matmul_options {
    size_t size;      /**< sizeof(tnr_matmul_options) */
    bool conjugate_a; /**< use the conjugate of a; nothing for real dtypes */
    bool conjugate_b; /**< use the conjugate of b */
    tnr_scalar alpha; /**< 0 reads neither a nor b */
    tnr_scalar beta;  /**< 0 does not read out; anything else is refused by tnr_matmul (TNR_ERR_ARGUMENT) */
} tnr_matmul_options;

/* clang-format off */
#define TNR_MATMUL_OPTIONS {sizeof(tnr_matmul_options), false, false, {1.0, 0.0}, {0.0, 0.0}}
/* clang-format on */

/**
 * alpha * a * b for a of shape [m, k] and b of shape [k, n]: shape [m, n]. Any strides, also negative and zero; a transposed
 * operand is a permuted view. f32 f64 c32 c64; integers are TNR_ERR_UNSUPPORTED. k = 0 gives zeros.
 * Through BLIS where it is built in and the product is large enough, else by portable kernels. options NULL: defaults.
 * Scratch as in tnr_matmul_into.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_matmul(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                             const tnr_matmul_options *options, tnr_tensor **out);

/**
 * out = alpha * a * b + beta * out. With beta 0 whatever out held, NaN included, does not matter.
 *
 * The portable kernels pack their operands. The first product that does, and each that needs more than any before it,
 * takes scratch from the engine's domain (TNR_ERR_MEMORY before the first write), which the engine keeps and never makes
 * smaller; every other call takes nothing. It is a block of the domain, in its ledger as scratch, and no buffer of the pool.
 * tnr_engine_options.scratch_bytes takes it when the engine is made.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_matmul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                                  const tnr_matmul_options *options, const tnr_view_mut *out);

/**
 * Need of an engine's scratch for every product of that dtype with extents up to m, n and k, whatever the layouts; all 0
 * when those are too small to be packed. The engine keeps one scratch, so take the largest of several answers, not their
 * sum. Growing has old and new scratch out at once: where that does not fit, give the bytes as
 * tnr_engine_options.scratch_bytes. TNR_ERR_ARGUMENT on negative extents, TNR_ERR_UNSUPPORTED as tnr_matmul.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_matmul_need(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, tnr_need *need);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_ENGINE_H */
