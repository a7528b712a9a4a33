/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file product.h
 * Matrix products. The rules of every operation are in engine.h.
 */
#ifndef TENURE_PRODUCT_H
#define TENURE_PRODUCT_H

#include "tenure/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A scalar of any float dtype; `im` is ignored for real ones. */
typedef struct tnr_scalar {
    double re;
    double im;
} tnr_scalar;

/** Settings of a product or contraction. Start from TNR_PRODUCT_OPTIONS: out = a * b. */
typedef struct tnr_product_options {
    size_t size;      /**< sizeof(tnr_product_options) */
    bool conjugate_a; /**< use the conjugate of a; nothing for real dtypes */
    bool conjugate_b; /**< use the conjugate of b */
    tnr_scalar alpha; /**< 0, as the dtype rounds it, reads neither a nor b */
    tnr_scalar beta;  /**< 0 does not read out; anything else is refused by tnr_matmul (TNR_ERR_ARGUMENT) */
} tnr_product_options;

/* clang-format off */
#define TNR_PRODUCT_OPTIONS {sizeof(tnr_product_options), false, false, {1.0, 0.0}, {0.0, 0.0}}
/* clang-format on */

/**
 * alpha * a * b for a of shape [m, k] and b of shape [k, n]: shape [m, n]. Any strides, also negative and zero; a transposed
 * operand is a permuted view. f32 f64 c32 c64, one dtype for all; integers are TNR_ERR_UNSUPPORTED. k = 0 gives zeros. A real operand
 * with a complex one is a contraction of reals: contract.h.
 * Scratch as in tnr_matmul_into.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_matmul(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                             const tnr_product_options *options, tnr_tensor **out);

/**
 * out = alpha * a * b + beta * out. With beta 0 whatever out held, NaN included, does not matter.
 *
 * Larger products pack blocks of their operands: up to 4 MiB of one, and 400 KiB of the other for each worker; twice that on x86-64-v4. The
 * first that does, and each that needs more than any before it,
 * takes scratch from the engine's domain (TNR_ERR_MEMORY before the first write), which the engine keeps and never makes
 * smaller; every other call takes nothing. It is a block of the domain, in its ledger as scratch, and no buffer of the pool.
 * tnr_engine_options.scratch_bytes takes it when the engine is made.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_matmul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                                  const tnr_product_options *options, const tnr_view_mut *out);

/**
 * Need of the scratch of an engine with so many workers (0: one made without a topology; a team of one is 1, and is counted as two) for
 * every product of that dtype with extents up to m, n and k, whatever the layouts: an upper bound on this machine, all 0 when one of them is. Small
 * matrices take none (docs/product.md). For contractions ask tnr_contract_need and tnr_einsum_need. The engine keeps one scratch, so take the
 * largest of several answers, not their sum. Growing has old and new scratch out at once: where that does not fit, give the bytes as
 * tnr_engine_options.scratch_bytes. TNR_ERR_ARGUMENT on negative numbers and more than TNR_MAX_CPUS workers, TNR_ERR_UNSUPPORTED as
 * tnr_matmul.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_matmul_need(tnr_dtype dtype, int64_t m, int64_t n, int64_t k, int workers,
                                                  tnr_need *need);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_PRODUCT_H */
