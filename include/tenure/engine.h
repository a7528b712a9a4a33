/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file engine.h
 * Something that computes on views and makes new tensors in a domain: its life, its workers, and the rules of every
 * operation. The operations: elementwise.h, reduction.h, structure.h, product.h, contract.h, einsum.h; prepared ones: plan.h.
 *
 * Every operation has two forms. The allocating one makes a new tensor in the engine's output domain and writes it
 * through its last parameter. The `_into` form writes a view of the caller's and allocates nothing (but see the scratch of
 * tnr_matmul_into and tnr_concatenate_into). Inputs are views of any layout in any memory that the host can map; other memory is
 * TNR_ERR_RESIDENCY, whose text names the call to make. Nothing is moved unasked. An engine of a device (cuda.h) has the same
 * operations and rules, and computes on the device's memory alone; what it does otherwise is said there.
 *
 * Rules for every operation:
 * - All errors come before the first write, operands are looked at before anything is allocated, and on failure outputs,
 *   inputs and counters are as they were. One error comes later, and only from a program's domain: its unmap fails when
 *   the call ends. No new tensor exists then, leases are given back, but what was written to the caller's view, the
 *   ledger's entry for a copy of that, and scratch that a product took, stay. And a pool whose parent is full gives up
 *   retained buffers for a new tensor (domain.h), and all of them where its parent's room is enough and in pieces.
 * - Dtypes must match (TNR_ERR_DTYPE) unless the operation says otherwise; shapes must be equal, or an operand has rank 0
 *   and meets every element of the others (TNR_ERR_SHAPE). A dtype for which an operation does not exist is
 *   TNR_ERR_UNSUPPORTED.
 * - Inputs are leased for reading and outputs for writing while the call runs: TNR_ERR_BUSY on a conflict.
 * - Elementwise: an output may be an input's very elements, index for index (in place). Any other overlap that is not
 *   disproved is TNR_ERR_OVERLAP. The outputs of all other operations must lie apart from their inputs.
 * - Zero counts are fine everywhere and move nothing.
 * - A result does not depend on the number of workers, bit for bit. Workers compute in the calling thread's floating-point
 *   environment (rounding, flushing of denormals, traps) as it is at the call; flags that they raise stay theirs. On other
 *   machines than x86-64 and 64-bit ARM the direction of rounding alone is handed on.
 * - The calling thread needs 256 KiB of stack; 8 KiB in builds for microcontrollers (docs/bounded.md).
 *
 * Placement: a new tensor has the placement of the domain that it is made in. The engine's own pool stands over the
 * engine's domain: over a numa domain (topology.h), outputs carry that node.
 *
 * Threads: an engine is its caller's. A second thread inside it gets TNR_ERR_BUSY at once. Two engines never wait for each
 * other.
 *
 * fork: waits until no other thread is in one of the few stretches of a call that must not be cut, so a child may go on using
 * everything, whatever other threads did at that moment; it never waits for them. Such a stretch is a few instructions long; but
 * the discovery of a topology by another thread, and BLIS's setting itself up for the first engine that may use it, are waited
 * for whole, and no other begins meanwhile. Engines compute on the calling thread alone in a child. An engine in which another
 * thread was at the moment of the fork, and a tensor that such a call, mapping or ticket had leased, stay TNR_ERR_BUSY there;
 * what that thread alone knew of is never given back. This holds for fork alone, not for calls that run no pthread_atfork
 * handlers (vfork, _Fork, clone).
 * While fork runs, other threads may be held up inside the library: a handler that was registered before the library was
 * loaded must neither wait for one nor call the library.
 */
#ifndef TENURE_ENGINE_H
#define TENURE_ENGINE_H

#include "tenure/tensor.h"
#include "tenure/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_engine tnr_engine;

/** Whose register kernels matrix products and contractions use. */
typedef enum tnr_product_source {
    TNR_PRODUCTS_AUTOMATIC =
        0,            /**< the environment's TENURE_PRODUCTS ("own", "blis") if set, else as docs/product.md tells */
    TNR_PRODUCTS_OWN, /**< the library's own */
    TNR_PRODUCTS_BLIS /**< those of BLIS; TNR_ERR_UNSUPPORTED when it is not built in or does not work */
} tnr_product_source;

/**
 * Settings of an engine. Start from TNR_ENGINE_OPTIONS: zero is not the default of all members (a pool_max_bytes of 0 retains
 * nothing, a node of 0 is node 0).
 */
typedef struct tnr_engine_options {
    size_t size;             /**< sizeof(tnr_engine_options) */
    tnr_domain *output;      /**< where outputs are made; NULL: the engine's own pool over its domain */
    uint64_t pool_max_bytes; /**< cap of that pool; TNR_POOL_MAX_BYTES_AUTO */
    uint64_t scratch_bytes;  /**< scratch to take at once, as tnr_matmul_need says; 0: when it is first needed */
    tnr_topology *topology;  /**< NULL: no workers, everything runs on the calling thread */
    const tnr_cpu_set
        *cpus;   /**< with a topology: CPUs to work on; NULL: one of each usable core (of the node, if named) */
    int node;    /**< with a topology: a node that all CPUs must be near; TNR_NONE: any */
    int workers; /**< with a topology: so many of these CPUs, spread evenly over the set; 0: all of them */
    tnr_product_source products; /**< whose kernels products use */
    uint64_t
        plan_cache_bytes; /**< of the engine's domain, for what ordinary calls have planned (plan.h), in whole 64s and
                                      up to 1 GiB; below 2048: no cache */
} tnr_engine_options;

/* clang-format off */
#define TNR_ENGINE_OPTIONS {sizeof(tnr_engine_options), NULL, TNR_POOL_MAX_BYTES_AUTO, 0, NULL, NULL, TNR_NONE, 0, TNR_PRODUCTS_AUTOMATIC, TNR_PLAN_CACHE_BYTES}
/* clang-format on */

/**
 * Make a CPU engine.
 *
 * With a topology it has a team: one worker thread pinned to each of its CPUs, each pin read back and checked
 * (TNR_ERR_BACKEND when the system does not do what was asked). Small work runs on the calling thread; larger work on the
 * workers, and on the calling thread too when that runs on one of the engine's cores as the call begins: it stands in for the
 * worker there. The caller's own affinity is never changed; bind it within the engine's CPUs, and it always takes part. An
 * engine of one CPU made by a thread that is bound to that CPU's core starts no thread. Worker threads are named "tenure-" and
 * their CPU. They spin briefly (50 us), then
 * sleep; they take no signals. Builds without worker threads (bounded ones, systems other than Linux) compute on the calling
 * thread alone, with or without a topology, and tnr_engine_describe says so.
 *
 * @param domain host-direct; holds the engine, its pool, its scratch and its team's state, and must outlive it. Stacks of
 *               worker threads come from the system.
 * The first engine of a process that may use BLIS (products) has BLIS set itself up, with memory from the C library, and tries its
 * kernels; products take nothing from it.
 *
 * @param options NULL for defaults; the topology must outlive the engine. TNR_ERR_RESIDENCY when options->output cannot be
 * mapped by the host; TNR_ERR_BOUNDS for a node, a CPU or more workers than the topology or the set has; TNR_ERR_ARGUMENT for
 * an empty set, for cpus, node or workers without a topology, and when the environment's TENURE_ISA or TENURE_PRODUCTS is no known word;
 * TNR_ERR_UNSUPPORTED for a described topology, or a TENURE_ISA that this machine lacks.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_engine_create(tnr_domain *domain, const tnr_engine_options *options,
                                                    tnr_engine **engine);

/**
 * Close the engine's pool, end its workers, give its memory back and null *engine. Tensors that it made stay valid (weak
 * return). TNR_ERR_BUSY, and nothing changed, while a thread is inside, raw blocks of the engine's pool are out, or plans made with
 * the engine live (plan.h). NULL and a pointer to NULL are fine.
 */
TNR_API tnr_status tnr_engine_destroy(tnr_engine **engine);

/**
 * Need of one engine of these options (NULL: defaults) whose pool never has more than `buffers` buffers, out and retained
 * together: the engine, its pool without the bytes of buffers, its team, options->scratch_bytes and options->plan_cache_bytes.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_engine_need(const tnr_engine_options *options, uint64_t buffers, tnr_need *need);

/** The domain in which the engine makes outputs; NULL for NULL. */
TNR_API tnr_domain *tnr_engine_output(const tnr_engine *engine);

/**
 * The engine's own pool, also when outputs go elsewhere; NULL for NULL. Its counters and its cap are yours, closing it is
 * not: the engine uses it. A program that closes it all the same only makes it retain nothing from then on.
 */
TNR_API tnr_domain *tnr_engine_pool(const tnr_engine *engine);

/** What an engine came to be. */
typedef struct tnr_engine_info {
    int node;             /**< node near all its CPUs; TNR_NONE: several, none, or no team */
    int workers;          /**< CPUs that it may work on at one time; 1 without a team */
    bool threads;         /**< it has worker threads of its own */
    tnr_cpu_set cpus;     /**< where they are pinned; empty without a team */
    const char *isa;      /**< instruction set of its kernels: "x86-64-v3", "neon", "baseline"; of a device, its kind */
    const char *blas;     /**< whose kernels products use: "own", "blis", "cublas" (once it has been used) */
    uint64_t l2_bytes;    /**< second-level cache that its kernels reckon with */
    uint64_t l3_bytes;    /**< third-level cache, as far as it is its CPUs' by the cores that share it */
    const char *kind;     /**< what it computes on: "cpu", or "cuda" (cuda.h) */
    int device;           /**< number of the device, as in placements; TNR_NONE: CPUs */
    uint64_t reserved[6]; /**< 0 */
} tnr_engine_info;

/** Fill *info. Thread-safe. */
TNR_API TNR_MUST_CHECK tnr_status tnr_engine_describe(const tnr_engine *engine, tnr_engine_info *info);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_ENGINE_H */
