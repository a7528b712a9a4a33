/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file machine.h
 * All engines of this process: one per NUMA node that it may use, and the rule by which a call finds its engine.
 *
 * Engines of devices that the program makes can be registered, to be found by number; routing never chooses one.
 *
 * A machine is a value of its caller's, not a global: it holds a topology, and for each node with usable CPUs a numa domain
 * and an engine over it, made when first asked for. A CPU whose own node's memory may not be used counts with the nearest node
 * whose memory may (tnr_cpu_info.nearest): wherever there is a CPU and memory, there is an engine. Inputs stay where they are, whichever engine runs: memory of
 * another node is read there, never moved.
 */
#ifndef TENURE_MACHINE_H
#define TENURE_MACHINE_H

#include "tenure/contract.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Routing: pure functions ------------------------------------------------------------------------------------------- */

/** What routing looks at: one input's node and logical bytes (count * element size; 1 element at rank 0). */
typedef struct tnr_route_input {
    int32_t node;   /**< NUMA node; negative (TNR_NONE): unknown */
    uint64_t bytes; /**< 0 for empty inputs */
} tnr_route_input;

/** How an engine is chosen when none is named. */
typedef enum tnr_route_policy {
    TNR_ROUTE_DOMINANT = 0, /**< the node with the largest sum of bytes; ties to the smallest node */
    TNR_ROUTE_REQUIRE_ONE   /**< all inputs whose node is known must be on one node */
} tnr_route_policy;

/** Why a node was chosen. */
typedef enum tnr_route_reason {
    TNR_ROUTED_EXPLICIT = 0, /**< the caller named it */
    TNR_ROUTED_DOMINANT,     /**< largest sum of bytes */
    TNR_ROUTED_SINGLE,       /**< the one node of all known inputs */
    TNR_ROUTED_DEFAULT       /**< nothing is known of any input */
} tnr_route_reason;

/**
 * Choose a node. Pure: the same answer for the same numbers, on every rank.
 *
 * 1. `named` other than TNR_NONE wins and skips every check below.
 * 2. TNR_ROUTE_DOMINANT: inputs of unknown node or 0 bytes are left out; bytes are added up per node (TNR_ERR_OVERFLOW
 *    naming the smallest node whose sum does not fit 64 bits); the largest sum wins, equal ones go to the smallest node; with
 *    nothing left it is `otherwise`.
 * 3. TNR_ROUTE_REQUIRE_ONE: inputs of unknown node are left out, empty ones are not; none left: `otherwise`; one node: it;
 *    more: TNR_ERR_RESIDENCY naming the two smallest.
 * @param node,reason written on success; reason may be NULL.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_route(tnr_route_policy policy, const tnr_route_input *inputs, size_t count,
                                            int32_t named, int32_t otherwise, int32_t *node, tnr_route_reason *reason);

/**
 * What routing knows of a view: its owner's cpu_affinity and its logical bytes. TNR_ERR_OVERFLOW when these do not fit 64
 * bits (any zero extent: 0), TNR_ERR_STALE when the owner is gone. Takes no lease: nobody may consume the owner meanwhile.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_route_input_of(const tnr_view *view, tnr_route_input *input);

/* ---- Machine -------------------------------------------------------------------------------------------------------------- */

typedef struct tnr_machine tnr_machine;

/** Settings of a machine. Start from TNR_MACHINE_OPTIONS: a pool_max_bytes of 0 retains nothing. */
typedef struct tnr_machine_options {
    size_t size;             /**< sizeof(tnr_machine_options) */
    uint64_t pool_max_bytes; /**< cap of each engine's pool; TNR_POOL_MAX_BYTES_AUTO */
    uint64_t scratch_bytes;  /**< scratch that each engine takes at once, as tnr_matmul_need says; 0: when needed */
    int workers;             /**< most of each engine; 0: one per core of its node */
    const tnr_numa_options *memory; /**< of each node's domain; NULL: the defaults, and best effort: unbound memory of
                                         affinity none where binding is refused */
    const tnr_cpu_set *cpus;        /**< use no CPU outside this set; NULL: all that the topology lists */
    uint64_t plan_cache_bytes;      /**< of each engine, in its node's domain (plan.h); 0: no caches */
    uint64_t
        arena_bytes; /**< 0: engines take of their node's domain what they come to need. Else arena mode: each engine is made in
                               an arena of so many bytes, one block of its node's domain that is taken with it, and takes nothing of
                               the system from then on; where the arena has no room a call is TNR_ERR_MEMORY. Of what
                               tnr_engine_need says: tnr_arena_bytes with a max_blocks of one for 4 KiB, 64 at least */
} tnr_machine_options;

/* clang-format off */
#define TNR_MACHINE_OPTIONS {sizeof(tnr_machine_options), TNR_POOL_MAX_BYTES_AUTO, 0, 0, NULL, NULL, TNR_PLAN_CACHE_BYTES, 0}
/* clang-format on */

/**
 * Make a machine over a topology (this system's: TNR_ERR_UNSUPPORTED for a described one). Nothing per node is made yet.
 *
 * @param home     keeps the machine, its domains' states and handles; heap or arena; must outlive it, as must topology. What
 *                 the options point to is needed during the call only.
 * TNR_ERR_BOUNDS when options->cpus has a CPU that the process may not use, TNR_ERR_ARGUMENT when it is empty.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_create(tnr_domain *home, tnr_topology *topology,
                                                     const tnr_machine_options *options, tnr_machine **machine);

/**
 * Need of a machine of these options in its home, with all its engines and domains, when no engine's pool ever has more than so
 * many buffers, out and retained together. The buffers' bytes, scratch and the workers' state come from the nodes' memory (with
 * arena_bytes the engines themselves do: tnr_engine_need says what an arena must have), and
 * tensors' handles are the program's to add (tnr_need.handles). The topology may be a described one. Errors as above.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_need(const tnr_topology *topology, const tnr_machine_options *options,
                                                   uint64_t buffers_per_engine, tnr_need *need);

/**
 * Destroy all engines and close all domains, and null *machine. Tensors that were made in them stay valid (weak return).
 * TNR_ERR_BUSY, nothing changed, while a thread is inside one of the engines or a plan of one lives, or raw blocks of one of its
 * domains or pools are out, or domains that the program made over one of its domains or pools are not closed; with arena_bytes also
 * while tensors live that were made in an engine's arena. It needs the machine alone.
 */
TNR_API tnr_status tnr_machine_destroy(tnr_machine **machine);

/** Nodes with an engine, ascending; 0 for NULL. Node by index; TNR_NONE beyond. @{ */
TNR_API int tnr_machine_nodes(const tnr_machine *machine);
TNR_API int tnr_machine_node_at(const tnr_machine *machine, int index);
/** @} */

/**
 * Engine of a node, made now if nobody asked before; TNR_NONE: the default, which is the smallest node. The machine owns
 * it: tnr_engine_destroy is TNR_ERR_BUSY. TNR_ERR_BOUNDS when the node has no usable CPU here. Thread-safe; engines themselves serve one thread at a time.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_engine(tnr_machine *machine, int node, tnr_engine **engine);

/**
 * Domain of a node, made now if nobody asked before: for tensors, pools and arenas of the program's own. Memory-only nodes
 * have one too; TNR_NONE: of the default node, as above. The machine owns it: tnr_domain_close is TNR_ERR_BUSY.
 * TNR_ERR_BOUNDS when the process may not use the node. Thread-safe.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_domain(tnr_machine *machine, int node, tnr_domain **domain);

/**
 * The engine for an operation on these inputs, by tnr_route with the smallest node as default. A node that has no engine
 * (memory only, or of tensors that another process bound) is unknown here. `named` TNR_NONE: nobody is named.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_route(tnr_machine *machine, tnr_route_policy policy,
                                                    const tnr_view *const *inputs, size_t count, int named,
                                                    tnr_engine **engine, tnr_route_reason *reason);

/* ---- Engines of devices --------------------------------------------------------------------------------------------------------- */

/** Most that a machine knows. */
#define TNR_MACHINE_DEVICES 16

/**
 * Make an engine of a device (cuda.h) known under its device's number, so that whoever has the machine finds it. It stays its maker's: the
 * machine neither routes to it nor destroys it nor moves anything there, and tnr_engine_destroy of it is TNR_ERR_BUSY until
 * tnr_machine_unregister or tnr_machine_destroy. Thread-safe, as are the following.
 *
 * TNR_ERR_ARGUMENT for an engine of CPUs; TNR_ERR_BUSY when an engine of that number is known already, or this one to any machine;
 * TNR_ERR_OVERFLOW beyond TNR_MACHINE_DEVICES.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_register(tnr_machine *machine, tnr_engine *engine);

/** The inverse. TNR_ERR_ARGUMENT when the machine does not know it. Nobody may be using what they found before. */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_unregister(tnr_machine *machine, tnr_engine *engine);

/** Engine of the device with this number (tnr_placement.device). TNR_ERR_BOUNDS when none is known. */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_device(tnr_machine *machine, int device, tnr_engine **engine);

/** How many are known; 0 for NULL. */
TNR_API int tnr_machine_devices(tnr_machine *machine);

/* ---- Products by all nodes at one time ------------------------------------------------------------------------------------- */

/**
 * tnr_contract_into by the engines of up to 8 nodes together, for one contraction that is worth all cores of the process: each makes a part
 * of out, with packed blocks in its own node's memory. Bit for bit what one engine gives. Operands and out stay where they are and are
 * read and written from all nodes: a program that wants each part of out on the node that makes it had better give it pages of all
 * nodes.
 *
 * Engines are made if nobody asked for them before. The default node's engine alone makes what is too small to be packed,
 * products with vectors, and results whose longer side has too few indices on its slowest axis to be cut. Errors as tnr_contract_into; TNR_ERR_BUSY while a thread is inside one of these engines; TNR_ERR_MEMORY, before the first write,
 * when one of them finds no room for its scratch. No form makes a new tensor, for no node would be its place before another; there is no
 * plan, and no cache remembers it; and no einsum: contract the costly pairs of its path (tnr_einsum_path) by this call. Small builds (docs/bounded.md: TENURE_SMALL)
 * pack nothing: there the default node's engine makes every product alone.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_contract_into(tnr_machine *machine, const tnr_view *a,
                                                            const char *a_labels, const tnr_view *b,
                                                            const char *b_labels, const char *out_labels,
                                                            const tnr_product_options *options,
                                                            const tnr_view_mut *out);

/** tnr_matmul_into, likewise. */
TNR_API TNR_MUST_CHECK tnr_status tnr_machine_matmul_into(tnr_machine *machine, const tnr_view *a, const tnr_view *b,
                                                          const tnr_product_options *options, const tnr_view_mut *out);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_MACHINE_H */
