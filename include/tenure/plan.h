/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file plan.h
 * Products, contractions and einsum prepared once and run many times, and what an engine remembers of ordinary calls.
 *
 * A plan has everything that depends on dtypes, shapes, strides and settings alone: the order of pairs, the groups of axes, the kernels,
 * the places of intermediates, the scratch. It has no data: each run names its operands. Running one checks that these lie as the
 * operands did for which it was made, and allocates nothing.
 *
 * Ordinary calls of tnr_contract and tnr_einsum look for what an earlier call of the same labels, dtypes, shapes, strides and settings
 * planned, in a cache of fixed size that the engine has in its domain (tnr_engine_options.plan_cache_bytes; below 2 KiB there is none).
 * The oldest plans make room. No call fails, waits or takes memory because of it, and none gives another result. Of alpha and beta it
 * matters only whether they are 0 or 1.
 */
#ifndef TENURE_PLAN_H
#define TENURE_PLAN_H

#include "tenure/einsum.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A prepared contraction or einsum of one engine. */
typedef struct tnr_plan tnr_plan;

/**
 * Prepare tnr_contract. Of a, b and out only dtype, shape and strides are looked at: no lease is taken, views whose owner is gone serve as
 * well, and those of tnr_view_shaped, which never had one. out tells the layout of the views that runs will write into, NULL: that of a new
 * tensor. beta may be set where out is not NULL. alpha, beta and conjugates are the plan's: every run has those of its making,
 * rounded to the dtype then.
 *
 * The plan lies where the engine does, and the engine cannot be destroyed before it is (TNR_ERR_BUSY). Scratch that runs will need is
 * taken now, and kept by the engine as every scratch, so that runs take none. Errors as tnr_contract, TNR_ERR_OVERFLOW for a layout that
 * reaches further than memory can, TNR_ERR_OVERLAP for an out whose elements coincide, TNR_ERR_MEMORY; then the engine has what it had. Enters the engine.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_plan_contract(tnr_engine *engine, const tnr_view *a, const char *a_labels,
                                                    const tnr_view *b, const char *b_labels, const tnr_view *out,
                                                    const char *out_labels, const tnr_product_options *options,
                                                    tnr_plan **plan);

/** Prepare tnr_einsum, likewise. */
TNR_API TNR_MUST_CHECK tnr_status tnr_plan_einsum(tnr_engine *engine, const char *equation,
                                                  const tnr_view *const *operands, int count, const tnr_view *out,
                                                  const tnr_einsum_options *options, tnr_plan **plan);

/**
 * Run it into a view of the caller's. Operands and out have the dtypes, shapes and strides for which the plan was made (steps along
 * extents of 1, and of views without elements, do not matter; out is as a new tensor where none was told): TNR_ERR_DTYPE, TNR_ERR_SHAPE,
 * TNR_ERR_LAYOUT otherwise; TNR_ERR_ARGUMENT for another number of operands.
 * Leases, overlap and residency as in every operation. Takes no memory. Enters the engine.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_plan_run_into(tnr_plan *plan, const tnr_view *const *operands, int count,
                                                    const tnr_view_mut *out);

/** Run it into a new tensor of the engine's output domain, for a plan that was made with out NULL (TNR_ERR_LAYOUT). */
TNR_API TNR_MUST_CHECK tnr_status tnr_plan_run(tnr_plan *plan, const tnr_view *const *operands, int count,
                                               tnr_tensor **out);

/** The path that a plan takes, one step for tnr_plan_contract; tnr_einsum_format makes text of it. Thread-safe. */
TNR_API TNR_MUST_CHECK tnr_status tnr_plan_path(const tnr_plan *plan, tnr_contraction_path *path);

/** Give the plan back and null *plan; NULL and a pointer to NULL are fine. TNR_ERR_BUSY while a thread is inside its engine. */
TNR_API tnr_status tnr_plan_destroy(tnr_plan **plan);

/**
 * Need of such a plan, exactly; dtypes and shapes alone are looked at, so that views of tnr_view_shaped will do. Not in it: the engine's
 * scratch, of which a plan takes at most what tnr_contract_need or tnr_einsum_need says. Errors as the calls that make the plan; pure,
 * thread-safe. @{
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_plan_contract_need(const tnr_view *a, const char *a_labels, const tnr_view *b,
                                                         const char *b_labels, const char *out_labels, tnr_need *need);
TNR_API TNR_MUST_CHECK tnr_status tnr_plan_einsum_need(const char *equation, const tnr_view *const *operands, int count,
                                                       const tnr_einsum_options *options, tnr_need *need);
/** @} */

/** An upper bound of both for so many operands, whatever their ranks and labels: several times what a usual plan takes. */
TNR_API TNR_MUST_CHECK tnr_status tnr_plan_need(int operands, tnr_need *need);

/** What an engine's cache of plans has done. Calls that are refused, for want of scratch too, count as no hit and no miss; plans that
 * made room for theirs are gone. */
typedef struct tnr_plan_cache_info {
    uint64_t hits;        /**< ordinary calls that found their plan */
    uint64_t misses;      /**< that planned anew */
    uint64_t evicted;     /**< plans that made room */
    uint64_t plans;       /**< that are in it now */
    uint64_t bytes;       /**< of the cache; 0: there is none */
    uint64_t reserved[8]; /**< 0 */
} tnr_plan_cache_info;

/** Fill *info. TNR_ERR_BUSY while another thread is inside the engine. */
TNR_API TNR_MUST_CHECK tnr_status tnr_engine_plans(tnr_engine *engine, tnr_plan_cache_info *info);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_PLAN_H */
