/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file domain.h
 * Where bytes come from, who reclaims them, and the identity both share.
 *
 * Everything that holds bytes is a domain: the C library's heap, a fixed arena, a pool that caches another domain, and
 * whatever a program supplies by a table of functions. A domain hands out blocks. A block is a small value that names
 * one allocation; the domain checks it when it comes back, so a second release, a block of another domain and a made-up
 * block are refused, not believed.
 *
 * Home. Every domain keeps its own state, and the handles of its tensors, in host memory of its *home*: the heap and an
 * arena are their own home, a pool lives in its parent's, a program's domain in the one it names.
 *
 * Threads: calls on one domain may come from several threads, creating things on it included; tnr_domain_close and
 * tnr_arena_reset need the domain alone. Options may be NULL everywhere: the defaults. How structs may grow: features.h.
 */
#ifndef TENURE_DOMAIN_H
#define TENURE_DOMAIN_H

#include "tenure/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_domain tnr_domain;

/* ---- Identity and placement --------------------------------------------------------------------------------------- */

/**
 * Name of a domain. `serial` counts domains of this process from 1 and is never reused; `process` is 0 until an MPI
 * world is attached, then rank + 1. {0, 0} means "no domain": adopted memory outside a group.
 */
typedef struct tnr_domain_id {
    uint64_t process;
    uint64_t serial;
} tnr_domain_id;

/** What kind of memory a domain hands out. */
typedef enum tnr_memory_kind {
    TNR_MEMORY_HOST = 0, /**< ordinary host memory, not page-locked */
    TNR_MEMORY_PINNED,   /**< page-locked host memory */
    TNR_MEMORY_MANAGED,  /**< host and something else reach it, in turns */
    TNR_MEMORY_DEVICE,   /**< a device's own memory */
    TNR_MEMORY_OTHER
} tnr_memory_kind;

/** "None" for tnr_placement.device and tnr_placement.cpu_affinity. */
#define TNR_NONE (-1)

/** Where a domain's bytes are. A tensor gets it from its domain and cannot claim another. */
typedef struct tnr_placement {
    tnr_memory_kind kind;
    int32_t device;       /**< device number, or TNR_NONE */
    int32_t cpu_affinity; /**< NUMA node (operating-system id) that the bytes are bound to, or TNR_NONE */
} tnr_placement;

/** Plain host memory, bound to nothing. */
/* clang-format off */
#define TNR_PLACEMENT_HOST {TNR_MEMORY_HOST, TNR_NONE, TNR_NONE}
/* clang-format on */

/** How the host reaches a block. */
typedef enum tnr_host_access {
    TNR_ACCESS_DIRECT = 0, /**< tnr_block.address is a host pointer */
    TNR_ACCESS_MAPPED,     /**< only between map and unmap */
    TNR_ACCESS_NONE        /**< never: copies by name only (tnr_domain_ops.read and write) */
} tnr_host_access;

/** What a mapping is for. Writing keeps what is there: elements that are not written stay. */
typedef enum tnr_map_mode { TNR_MAP_READ = 0, TNR_MAP_WRITE = 1 } tnr_map_mode;

/* ---- Blocks ------------------------------------------------------------------------------------------------------- */

/** One allocation of one domain. A value: copy it freely; only the first release of it counts. */
typedef struct tnr_block {
    void *address;       /**< host pointer when access is direct; else whatever the domain means by it */
    uint64_t bytes;      /**< usable bytes, at least what was asked for */
    uint64_t allocation; /**< its number inside the domain, from 1, never reused */
    uint64_t tag;        /**< the domain's own, to find and check the block */
} tnr_block;

/**
 * What is out, what was, what is left. Bytes are those of blocks, rounding included. A call that fails half way gives
 * back what it took: then only peak_bytes, allocations and failures, which are history, may have grown.
 */
typedef struct tnr_domain_statistics {
    uint64_t blocks;       /**< blocks that are out */
    uint64_t bytes;        /**< their bytes */
    uint64_t peak_bytes;   /**< most bytes that were out at one time */
    uint64_t allocations;  /**< blocks ever handed out */
    uint64_t failures;     /**< requests refused for want of room */
    uint64_t capacity;     /**< bytes that the domain can hand out in all; 0 when it has no limit of its own */
    uint64_t free_bytes;   /**< bytes not out, when capacity is not 0 */
    uint64_t largest_free; /**< largest block that could be had now, when capacity is not 0 */
    uint64_t reserved[4];  /**< 0 */
} tnr_domain_statistics;

/**
 * Bytes of a block in any layout: runs of `run_bytes` consecutive bytes, one for each index of `shape`, the first of them at
 * byte `begin` of the block. rank 0: one run. What the host has of them is packed: run after run, the first axis fastest.
 */
typedef struct tnr_domain_box {
    uint64_t begin;
    uint64_t bytes;                /**< of all runs, at least 1 */
    uint64_t run_bytes;            /**< a multiple of the element's size */
    int32_t rank;                  /**< of the box of runs */
    int64_t shape[TNR_MAX_RANK];   /**< each at least 2 */
    int64_t strides[TNR_MAX_RANK]; /**< from run to run, in bytes; may be negative, or, where bytes are read, 0 */
} tnr_domain_box;

/**
 * A program's own domain, as a table of functions. `state` is `size` bytes, zeroed, 64-byte aligned, placed by the
 * library in the home domain before `open` and given back after `close`; no domain needs a malloc of its own.
 *
 * Unless an entry says otherwise: any thread may call it, several at once; no lock of the library is held; it may block;
 * it must not call the library on its own domain. A failing entry returns a status other than TNR_OK and may first call
 * tnr_set_error.
 */
typedef struct tnr_domain_ops {
    size_t size;      /**< bytes of private state; 0 for none */
    const char *name; /**< required: a word for texts, "heap" */

    /** Called once by tnr_domain_create. NULL: the zeroed state is enough. On failure close is not called. */
    tnr_status (*open)(void *state, const void *config);

    /** Called once by tnr_domain_close, when nothing of the domain is out. NULL: nothing to undo. */
    void (*close)(void *state);

    /**
     * Required. Fill block->address and block->bytes (>= bytes), and block->tag if it helps release. `bytes` is at
     * least 1, `alignment` a power of two, which binds address when access is direct. Without direct access address is
     * the domain's own and may be NULL. block->allocation is the library's to fill. TNR_ERR_MEMORY when full.
     */
    tnr_status (*allocate)(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block);

    /** Required. Take a block back; the library has checked that it is out and unleased. Must succeed. */
    void (*release)(void *state, const tnr_block *block);

    /**
     * Required when access is mapped, else NULL. *host gets a pointer to the whole block, aligned to 16 bytes, valid
     * until its unmap. Readers map one block several times at once; writers do, of parts of a split, only where
     * tnr_domain_config.coherent_maps says that all mappings show the same bytes.
     */
    tnr_status (*map)(void *state, const tnr_block *block, tnr_map_mode mode, void **host);

    /** Required when access is mapped, else NULL. After it returns, what was written is what the block holds. */
    tnr_status (*unmap)(void *state, const tnr_block *block, tnr_map_mode mode, void *host);

    /** Fill capacity, free_bytes and largest_free; the library counts the rest. NULL: no limit of its own. */
    void (*statistics)(void *state, tnr_domain_statistics *statistics);

    /**
     * For access none only, and there both or neither: how bytes leave a block and come into it when a call that copies by
     * name is given memory that the host cannot reach (tenure::mpi: mpi.h). NULL: such calls are TNR_ERR_RESIDENCY.
     *
     * read copies a box of the block to `host`, packed; write the other way. The library has checked that all runs lie in what
     * was asked for of the block, and that runs which are written do not overlap, and it holds a lease; `host` is ordinary
     * memory of any alignment, for the length of the call. Both are over when they return: read gives what all work wrote that
     * the domain knows of, and whatever comes later sees what write wrote. One call moves at most a piece of a transfer, so
     * that pieces on their way to other ranks overlap with the next one's copy. After a failure what was to be written is
     * unspecified. Neither may call the library on a world or engine. @{
     */
    tnr_status (*read)(void *state, const tnr_block *block, const tnr_domain_box *box, void *host);
    tnr_status (*write)(void *state, const tnr_block *block, const tnr_domain_box *box, const void *host);
    /** @} */

    /**
     * Beside read and write, and both or neither: how a transport that reaches such memory itself gets at it (tenure::mpi, where MPI
     * confirms that it does: mpi.h). NULL, as for memory that other libraries cannot take: it is read and written only.
     *
     * expose answers when all work that the domain knows of and that wrote the block (mode write: that used it) is over: *address is
     * where the block begins, for the transport and not for the host. Until conceal the transport may read elements of the block (mode
     * write: write them); the library holds a lease on these. conceal cannot fail: the transport is done, and whatever comes later sees what
     * it wrote. A block may be exposed several times at once. expose may wait, and may answer TNR_ERR_UNSUPPORTED where the transport
     * cannot have it now, in this thread say: no failure, read and write are used instead. Neither may call the library on a world or engine. @{
     */
    tnr_status (*expose)(void *state, const tnr_block *block, tnr_map_mode mode, void **address);
    void (*conceal)(void *state, const tnr_block *block, tnr_map_mode mode);
    /** @} */
} tnr_domain_ops;

/** What tnr_domain_create needs to know. Start from TNR_DOMAIN_CONFIG. */
typedef struct tnr_domain_config {
    size_t size;               /**< sizeof(tnr_domain_config) */
    const tnr_domain_ops *ops; /**< required; copied */
    size_t ops_size;           /**< sizeof(tnr_domain_ops) as the program knows it */
    const void *config;        /**< handed to ops->open; not kept */
    tnr_placement placement;   /**< stamped on every tensor of the domain */
    tnr_host_access access;    /**< how the host reaches its blocks */
    bool coherent_maps;        /**< mapped access: all mappings of a block show the same bytes. If not, parts of a split
                                    are leased one after the other, so that no mapping hides another's writes */
} tnr_domain_config;

/* clang-format off */
#define TNR_DOMAIN_CONFIG \
    {sizeof(tnr_domain_config), NULL, sizeof(tnr_domain_ops), NULL, TNR_PLACEMENT_HOST, TNR_ACCESS_DIRECT, false}
/* clang-format on */

/**
 * Make a domain from a program's table of functions.
 *
 * @param home   its home keeps the domain's state and the handles of its tensors, and must outlive the domain.
 * @param domain written on success.
 * Errors: TNR_ERR_ARGUMENT when a required entry is missing or the sizes are wrong; TNR_ERR_MEMORY when home is full;
 * whatever ops->open answers. Cost: one block of home.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_domain_create(tnr_domain *home, const tnr_domain_config *config,
                                                    tnr_domain **domain);

/**
 * Close a domain and null *domain. NULL and a pointer to NULL are fine.
 *
 * TNR_ERR_BUSY while tensors, blocks, groups, engines or other domains live in it; the text counts them by kind. Pools and
 * numa domains are the exception: only raw blocks keep them from closing, and what lives in them stays valid (see
 * tnr_pool_create, tnr_numa_create). Views of tensors that are gone must not be used any more once the tensors' home is
 * closed.
 */
TNR_API tnr_status tnr_domain_close(tnr_domain **domain);

/** Identity of a domain; {0, 0} for NULL. Thread-safe. */
TNR_API tnr_domain_id tnr_domain_identity(const tnr_domain *domain);

/** True when both name the same domain. */
static inline bool tnr_domain_id_equal(tnr_domain_id a, tnr_domain_id b)
{
    return a.process == b.process && a.serial == b.serial;
}

/** Word for a domain's kind ("heap", "arena", "pool", or what its table says); "none" for NULL. */
TNR_API const char *tnr_domain_name(const tnr_domain *domain);

/** Placement that every tensor of the domain has; plain host for NULL. */
TNR_API tnr_placement tnr_domain_placement(const tnr_domain *domain);

/** How the host reaches the domain's blocks; TNR_ACCESS_NONE for NULL. */
TNR_API tnr_host_access tnr_domain_access(const tnr_domain *domain);

/** Fill *statistics. TNR_ERR_ARGUMENT on NULL. Thread-safe. */
TNR_API TNR_MUST_CHECK tnr_status tnr_domain_statistics_get(tnr_domain *domain, tnr_domain_statistics *statistics);

/* ---- Raw blocks: most programs use tensors instead ------------------------------------------------------------------ */

/**
 * Take `bytes` bytes at `alignment`.
 *
 * bytes == 0 gives a block with a NULL address that counts nowhere and may be released. alignment 0 means 64.
 * Errors: TNR_ERR_ARGUMENT when alignment is no power of two; TNR_ERR_OVERFLOW when rounding leaves 64 bits;
 * TNR_ERR_MEMORY when there is no room: the text gives what is free and the largest free block where that is known.
 * On failure nothing changed. Cost: heap, the C library's; arena, O(1); pool, O(1) on a hit. Thread-safe.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_domain_allocate(tnr_domain *domain, uint64_t bytes, uint64_t alignment,
                                                      tnr_block *block);

/**
 * Give a block back to the domain that it came from.
 *
 * TNR_ERR_STALE when it was released before, TNR_ERR_FOREIGN when the domain never handed it out: nothing changed. A
 * block with a NULL address and 0 bytes is released without effect. Thread-safe.
 */
TNR_API tnr_status tnr_domain_release(tnr_domain *domain, const tnr_block *block);

/* ---- Heap --------------------------------------------------------------------------------------------------------- */

/**
 * A domain over the C library's allocator: 64-byte aligned, and exported buffers can be given to free().
 *
 * The one place where the library calls malloc, because the caller says so by name. Blocks of 4 MiB and more ask the system for
 * huge pages, by advice. Not in bounded builds
 * (TNR_ERR_UNSUPPORTED). Closing it is TNR_ERR_BUSY while anything lives in it.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_heap_create(tnr_domain **heap);

/* ---- Arena -------------------------------------------------------------------------------------------------------- */

/** Settings of an arena. Zero means default; start from TNR_ARENA_OPTIONS. */
typedef struct tnr_arena_options {
    size_t size;            /**< sizeof(tnr_arena_options) */
    uint64_t max_blocks;    /**< most blocks out at one time; 0: one per 4 KiB of region, 64 to 65536 */
    uint64_t page;          /**< blocks start and end on multiples of this power of two; 0: 64 */
    void *control;          /**< NULL: the arena's own state lies at the head of the region; else here */
    uint64_t control_bytes; /**< bytes at control; tnr_arena_bytes tells how many are needed */
    uint64_t handles;       /**< handles to make room for at once; tnr_need.handles keeps an exact arena exact */
    tnr_placement
        placement; /**< the region's: host, pinned or managed memory. cpu_affinity TNR_NONE: only a domain that
                                  bound memory itself may name a node, so that is tnr_arena_create_in's */
} tnr_arena_options;

/* clang-format off */
#define TNR_ARENA_OPTIONS {sizeof(tnr_arena_options), 0, 0, NULL, 0, 0, TNR_PLACEMENT_HOST}
/* clang-format on */

/**
 * What a list of objects needs of an arena: add needs up, then ask tnr_arena_bytes. Every kind of object has a
 * tnr_*_need call that fills one.
 */
typedef struct tnr_need {
    uint64_t bytes;   /**< bytes of blocks, each rounded up to 64 */
    uint64_t blocks;  /**< number of blocks */
    uint64_t handles; /**< tensor handles */
} tnr_need;

/** Need of `count` raw blocks of `bytes` bytes, alignment at most 64. TNR_ERR_OVERFLOW as usual. */
TNR_API TNR_MUST_CHECK tnr_status tnr_block_need(uint64_t bytes, uint64_t count, tnr_need *need);

/** *sum = *sum + *term * times. TNR_ERR_OVERFLOW leaves *sum as it was. */
TNR_API TNR_MUST_CHECK tnr_status tnr_need_add(tnr_need *sum, const tnr_need *term, uint64_t times);

/**
 * Bytes of region and of control memory that an arena of these options needs so that the whole of *need fits at once.
 *
 * With options->control NULL, *control_bytes is 0 and the control memory is counted in *region_bytes. max_blocks 0
 * here means exactly need->blocks and the handles' blocks. Exact for a region that starts on a multiple of 64; add 63 for
 * one that may not. With a larger options->page the same holds for that multiple, and the answer is an upper bound: it
 * grants each block the most that rounding can cost it. Blocks of a region above 256 GiB are rounded to 128 bytes or
 * more, as if options->page said so. To ask before there is control memory, let options->control be any address. A need
 * of more than what fits in 64 bits is TNR_ERR_OVERFLOW. Give the arena the *max_blocks that comes back and need->handles:
 * then it is exact not only for the first filling but for every one, in any order of the same objects' release.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_arena_bytes(const tnr_need *need, const tnr_arena_options *options,
                                                  uint64_t *region_bytes, uint64_t *control_bytes,
                                                  uint64_t *max_blocks);

/**
 * A domain inside one region that the caller supplies and keeps: never grows, no system call. Taking, giving back and
 * statistics are O(1) whatever the history. What looks at every block is O(max_blocks), and other threads' calls on the
 * arena wait for it: closing it, also by tnr_machine_destroy, tnr_arena_reset and tnr_arena_check.
 *
 * Two-level good fit with immediate coalescing (after Masmano, Ripoll, Crespo and Real, "TLSF: a new dynamic memory
 * allocator for real-time systems", ECRTS 2004), bookkeeping kept apart from the blocks: blocks have no headers, an
 * overrun cannot damage it, and free memory is never touched (debug builds fill it). Fails only when no free block that
 * the search covers is large enough: all those of a higher size class (32 classes per power of two), and the first 8 of
 * the request's own; with an alignment above the page, only when that holds for bytes + alignment - page.
 * The first one found that fits is taken (of those 8 the tightest): the low end of it for requests under 1/32 of the
 * region, the high end for larger ones, so that small blocks do not cut up the room for large ones. The program's placement must be memory that the host
 * reaches directly (TNR_ERR_RESIDENCY). For a region on memory that is bound to a node, or in any other domain:
 * tnr_arena_create_in.
 *
 * @param region start at any alignment; the head is rounded up and the loss deducted.
 * @param bytes  TNR_ERR_ARGUMENT when not even the bookkeeping fits, TNR_ERR_MEMORY when options->handles do not.
 * Region (and control) must outlive the arena; closing it is TNR_ERR_BUSY while anything lives in it.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_arena_create(void *region, uint64_t bytes, const tnr_arena_options *options,
                                                   tnr_domain **arena);

/**
 * An arena whose region is one block of another domain: on bound memory, say. Same placement as the parent, so
 * options->placement must be left alone.
 *
 * The region is all of the block, also where the parent rounds up (to pages, to a pool's size class); it goes back when the
 * arena is closed. Until then the arena is one of the domains that live in the parent.
 * Errors: those of tnr_arena_create and of a block of the parent; TNR_ERR_RESIDENCY when the host does not reach its blocks
 * directly. Nothing is taken then.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_arena_create_in(tnr_domain *parent, uint64_t bytes,
                                                      const tnr_arena_options *options, tnr_domain **arena);

/**
 * Forget every raw block of an arena at once, in O(max_blocks). Statistics start anew; peak and counts stay.
 * TNR_ERR_BUSY while handles, groups, engines or domains live in it: those are released one by one.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_arena_reset(tnr_domain *arena);

/**
 * Seal an arena: from now on nothing that lasts can be made in it. It cannot be opened again, and stays sealed over
 * tnr_arena_reset.
 *
 * TNR_ERR_UNSUPPORTED, naming the arena, for every call that would make a domain of any kind (a pool, an arena in it, a
 * node's, a program's), an engine, a machine or a topology whose state would lie in the arena, and for a world or a device of
 * the companion libraries; also for what a machine makes only when it is first asked for (tnr_machine_engine,
 * tnr_machine_domain). Nothing else changes: what is there goes on taking, giving back and ending, and tensors, raw blocks,
 * groups, plans, scratch and handles come and go as far as there is room. An arena that was made inside of it before is one
 * of its own: seal that too.
 *
 * For the end of a program's start: what a later part would take for good is refused where it asks, and not noticed one day
 * by whoever then lacks room. Sealing twice is fine. TNR_ERR_ARGUMENT when the domain is no arena. Thread-safe: a making that
 * another thread began earlier may still succeed. O(1).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_arena_seal(tnr_domain *arena);

/** Is this an arena that was sealed? False for other domains and NULL. Thread-safe. */
TNR_API bool tnr_arena_is_sealed(tnr_domain *arena);

/**
 * Walk the whole arena and check every invariant: neighbours, sums, lists, bitmaps. For tests and suspicion.
 * TNR_ERR_BACKEND with the first fault found. O(max_blocks).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_arena_check(tnr_domain *arena);

/* ---- Pool --------------------------------------------------------------------------------------------------------- */

/** Retained bytes that a pool may hold when nothing else is said: 100 MiB. */
#define TNR_POOL_DEFAULT_MAX_BYTES ((uint64_t)104857600)

/** Take the cap from the environment (TENURE_POOL_MAX_BYTES) or the default. */
#define TNR_POOL_MAX_BYTES_AUTO UINT64_MAX

/** Settings of a pool. Start from TNR_POOL_OPTIONS: a max_bytes of 0 retains nothing. */
typedef struct tnr_pool_options {
    size_t size;        /**< sizeof(tnr_pool_options) */
    uint64_t max_bytes; /**< cap on retained bytes; 0 retains nothing; TNR_POOL_MAX_BYTES_AUTO */
} tnr_pool_options;

/* clang-format off */
#define TNR_POOL_OPTIONS {sizeof(tnr_pool_options), TNR_POOL_MAX_BYTES_AUTO}
/* clang-format on */

/** A pool's figures. "Retained" buffers are released ones that wait for reuse. */
typedef struct tnr_pool_statistics {
    uint64_t buffers;          /**< retained now */
    uint64_t capacity_bytes;   /**< their bytes: never above max_bytes, at any moment */
    uint64_t hits;             /**< requests served from retained buffers */
    uint64_t misses;           /**< requests that went to the parent */
    uint64_t evictions;        /**< retained buffers given up for the cap, for trim or for want of room */
    uint64_t in_flight;        /**< buffers out now */
    uint64_t in_flight_bytes;  /**< their bytes */
    uint64_t high_water_bytes; /**< most bytes in flight and retained together, ever */
    uint64_t max_bytes;        /**< the cap */
    uint64_t reserved[4];      /**< 0 */
} tnr_pool_statistics;

/**
 * A cache of buffers over any other domain. Same placement and access as its parent.
 *
 * A released buffer is kept for the next request of its size class: four classes per power of two, so at most 25 %
 * more bytes than asked for, none at powers of two (never under 64 bytes). The best class is found in O(1). The sum of
 * retained bytes stays under the cap at every moment; a buffer above the cap is freed at once and evicts nothing; the
 * least recently released goes first. Zero bytes never take a buffer. When the parent is full the pool gives up
 * what it retains, oldest first, until the parent has room, and no more than that; where the parent says how much it has
 * (an arena does) and even all that is retained would not do, it gives up nothing.
 *
 * Weak return: tnr_domain_close closes a pool also while its tensors live. They stay valid, and their bytes go straight
 * to the parent when they are released; the parent cannot be closed before.
 *
 * The cap comes from options, else from TENURE_POOL_MAX_BYTES (bytes, or with suffix K, M or G), read once per process,
 * else 100 MiB. A value that is no such number is TNR_ERR_ARGUMENT here, with the value in the text.
 * Threads: one short lock per call; buffers are freed outside it.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_pool_create(tnr_domain *parent, const tnr_pool_options *options,
                                                  tnr_domain **pool);

/** Fill *statistics. TNR_ERR_ARGUMENT when the domain is no pool. Thread-safe. */
TNR_API TNR_MUST_CHECK tnr_status tnr_pool_statistics_get(tnr_domain *pool, tnr_pool_statistics *statistics);

/** Change the cap; lowering it evicts at once. TNR_ERR_ARGUMENT when the domain is no pool. Thread-safe. */
TNR_API TNR_MUST_CHECK tnr_status tnr_pool_set_max_bytes(tnr_domain *pool, uint64_t max_bytes);

/** Give up retained buffers, least recent first, until at most keep_bytes stay. *freed (may be NULL) gets the bytes. */
TNR_API TNR_MUST_CHECK tnr_status tnr_pool_trim(tnr_domain *pool, uint64_t keep_bytes, uint64_t *freed);

/**
 * Have the records of so many buffers, out and retained together, now: nothing but buffers is taken from then on while there
 * are no more of them. Records are otherwise taken with the buffers that need them. They are the pool's, and lie in its home
 * until it is gone. TNR_ERR_MEMORY when the home is full: what could be had stays. TNR_ERR_OVERFLOW for more than a pool can
 * number, TNR_ERR_ARGUMENT when the domain is no pool; nothing changed then. O(buffers). Thread-safe.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_pool_reserve(tnr_domain *pool, uint64_t buffers);

/** Bytes of the buffer that a pool hands out for a request: its size class. TNR_ERR_OVERFLOW near 2^64. */
TNR_API TNR_MUST_CHECK tnr_status tnr_pool_class_bytes(uint64_t bytes, uint64_t *class_bytes);

/** Need of one domain made by tnr_domain_create with this configuration. */
TNR_API TNR_MUST_CHECK tnr_status tnr_domain_need(const tnr_domain_config *config, tnr_need *need);

/**
 * Need of one pool that never has more than `buffers` buffers, out and retained together (not their bytes), and of
 * tnr_pool_reserve for as many.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_pool_need(uint64_t buffers, tnr_need *need);

/* ---- Ledger ------------------------------------------------------------------------------------------------------- */

/** Why a tensor's bytes were allocated: X(CONSTANT, name). */
#define TNR_ALLOCATION_REASONS(X) \
    X(CREATE, "create")           \
    X(OUTPUT, "output")           \
    X(COPY, "copy")               \
    X(SCRATCH, "scratch")

/** Why bytes were copied: X(CONSTANT, name). Each is the name of a call. */
#define TNR_COPY_REASONS(X)                   \
    X(DUPLICATE, "duplicate")                 \
    X(FROM_COLUMN_MAJOR, "from_column_major") \
    X(FROM_ROW_MAJOR, "from_row_major")       \
    X(COPY_INTO, "copy_into")                 \
    X(TO_CONTIGUOUS, "to_contiguous")         \
    X(PERMUTE, "permute")                     \
    X(COPY_OUT, "copy_out")                   \
    X(UPLOAD, "upload")                       \
    X(DOWNLOAD, "download")                   \
    X(SEND, "send")                           \
    X(RECEIVE, "receive")                     \
    X(FETCH, "fetch")                         \
    X(RESHAPE, "reshape")                     \
    X(BROADCAST, "broadcast")                 \
    X(SLICE, "slice")                         \
    X(REVERSE, "reverse")                     \
    X(CONCATENATE, "concatenate")             \
    X(PAD, "pad")                             \
    X(DIAGONAL, "diagonal")                   \
    X(EMBED_DIAGONAL, "embed_diagonal")       \
    X(TRIL, "tril")                           \
    X(TRIU, "triu")                           \
    X(GATHER, "gather")                       \
    X(SCATTER, "scatter")

#define TNR_REASON_ENUM_(CONSTANT, name) TNR_ALLOCATION_##CONSTANT,
typedef enum tnr_allocation_reason {
    TNR_ALLOCATION_REASONS(TNR_REASON_ENUM_) TNR_ALLOCATION_REASON_END
} tnr_allocation_reason;
#undef TNR_REASON_ENUM_
#define TNR_REASON_ENUM_(CONSTANT, name) TNR_COPY_##CONSTANT,
typedef enum tnr_copy_reason { TNR_COPY_REASONS(TNR_REASON_ENUM_) TNR_COPY_REASON_END } tnr_copy_reason;
#undef TNR_REASON_ENUM_

/** Room for reasons of either kind, those of later versions included. */
#define TNR_LEDGER_REASONS 32

/** A count and the bytes behind it. */
typedef struct tnr_ledger_entry {
    uint64_t count;
    uint64_t bytes; /**< logical bytes of the tensors or elements, without rounding */
} tnr_ledger_entry;

/**
 * What was allocated and copied in a domain, by reason, since it was made or the ledger reset. A copy counts in the
 * domain of its destination. Views, splits, moves into and out of groups, mappings and exports add nothing.
 */
typedef struct tnr_ledger {
    tnr_ledger_entry allocations[TNR_LEDGER_REASONS]; /**< by tnr_allocation_reason; the rest 0 */
    tnr_ledger_entry copies[TNR_LEDGER_REASONS];      /**< by tnr_copy_reason; the rest 0 */
    uint64_t releases;                                /**< tensors whose bytes were given back */
} tnr_ledger;

/** Fill *ledger with the domain's. Thread-safe; exact when no call is running. */
TNR_API TNR_MUST_CHECK tnr_status tnr_ledger_get(tnr_domain *domain, tnr_ledger *ledger);

/** Sums over all reasons; either result may be NULL. All zero for NULL. */
TNR_API void tnr_ledger_total(const tnr_ledger *ledger, tnr_ledger_entry *allocations, tnr_ledger_entry *copies);

/** Set the domain's ledger to zero. Thread-safe. */
TNR_API TNR_MUST_CHECK tnr_status tnr_ledger_reset(tnr_domain *domain);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_DOMAIN_H */
