/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this room offers to the rooms above: domains from the inside, handles with generations, ledger entries.
 *
 * Picture of a home domain and what hangs from it:
 *
 *   home (heap or arena) ── slab: chunks of handle slots, mapped as long as the home lives
 *     ├─ domain record of a pool ── parent ─> home or another domain
 *     └─ domain record of a program's domain
 *
 * `users` of a domain counts what would dangle if it closed: tensors and drafts, raw blocks where the domain's class does
 * not count them itself, exported blocks, groups, engines, and domains whose home or parent it is. It is guarded by the
 * lock of the home's slab, as are the ledger and the slab itself: making a tensor takes that lock once.
 */
#ifndef TENURE_ARENA_ARENA_H
#define TENURE_ARENA_ARENA_H

#include "base.h"
#include "isa_levels.h"
#include "tenure/topology.h"

/* ---- Handles ---------------------------------------------------------------------------------------------------------- */

/* What a slot is at the moment; checked on every use of a handle. */
typedef enum tnri_handle_kind {
    TNRI_HANDLE_FREE = 0,
    TNRI_HANDLE_TENSOR,
    TNRI_HANDLE_DRAFT,
    TNRI_HANDLE_GROUPED, /* a tensor that lives in a group's owner table */
    TNRI_HANDLE_BLOCK    /* a raw block of a domain that keeps no list of its own */
} tnri_handle_kind;

/*
 * Head of every slot; storage puts the rest behind it. `state` is generation << 32 | lease, changed only by atomic
 * operations and never reset while the home lives, so a stale view always meets a generation that is not its own
 * (generations wrap after 2^32 uses of one slot). Fields other than state are written while the slot is out of the free
 * list and nobody else knows it.
 */
typedef struct tnri_slab_chunk tnri_slab_chunk;

typedef struct tnri_handle {
    TNRI_ATOMIC(uint64_t) state;
    tnr_domain *home;
    struct tnri_handle *next;   /* free list */
    TNRI_ATOMIC(uint32_t) kind; /* tnri_handle_kind */
    tnri_slab_chunk *chunk;
} tnri_handle;

/* Bytes of one slot: head, what storage keeps of a tensor (tensor.c asserts that it fits), and its shape. */
#define TNRI_HANDLE_BYTES ((192U + 8U * TNR_MAX_RANK + 63U) / 64U * 64U)

/* A slab grows by one block of its home at a time: 16 slots, then 32, 64, ... up to 4096. */
#define TNRI_SLAB_FIRST_SLOTS 16U
#define TNRI_SLAB_MOST_SLOTS 4096U

/* Blocks and their bytes in which so many handles fit; false on overflow. */
bool tnri_slab_need(uint64_t handles, uint64_t *bytes, uint64_t *blocks);

typedef struct tnri_slab {
    tnri_lock lock; /* guards everything below, and users and ledger of every domain of this home */
    tnri_handle *free;
    tnri_slab_chunk *chunks;
    uint64_t chunk_count;
    uint64_t slots;    /* in all chunks */
    tnri_turn growing; /* held by the one thread that asks the home for a chunk; taken before `lock` */
} tnri_slab;

/*
 * Take a slot for something that lives in `domain` (its home's slab), count it as a user there, and enter `bytes` under
 * `reason` in its ledger (reason TNR_ALLOCATION_REASON_END: no entry). The slot comes back with kind FREE: the caller fills
 * it and then sets the kind. TNR_ERR_MEMORY when the home is full; nothing changed then.
 */
tnr_status tnri_handle_take(tnr_domain *domain, tnr_allocation_reason reason, uint64_t bytes, tnri_handle **handle);

/*
 * Undo tnri_handle_take because what should follow failed: ledger and counts as before, and a chunk that was added for it
 * goes back.
 */
void tnri_handle_cancel(tnr_domain *domain, tnr_allocation_reason reason, uint64_t bytes, tnri_handle *handle);

/* Have so many slots in all, out and free, or TNR_ERR_MEMORY with those that could be had. */
tnr_status tnri_slab_reserve(tnr_domain *home, uint64_t handles);

/* Make a filled slot a handle that views may name from now on. */
void tnri_handle_publish(tnri_handle *handle, tnri_handle_kind kind);

/*
 * The slot at this address, or NULL when it is none of the home's: never looks at memory that is not a slot. O(chunks). The
 * lock of the home's slab is held.
 */
tnri_handle *tnri_slab_find(tnr_domain *home, uint64_t address);

/* Give all chunks back; nothing is out any more. */
void tnri_slab_close(tnr_domain *home);

/*
 * Put a slot back whose generation was already ended (state: new generation, lease 0); `released` adds to the ledger's
 * releases. When the domain is a closed pool and this was its last user, the pool's record goes too.
 */
void tnri_handle_give(tnr_domain *domain, tnri_handle *handle, bool released);

/* ---- Domains from the inside -------------------------------------------------------------------------------------------- */

/* Whom a block is for. A domain that counts its blocks remembers it with each. */
typedef enum tnri_block_use {
    TNRI_FOR_TENSOR, /* bytes of a tensor: its handle counts as a user */
    TNRI_FOR_RECORD, /* handle chunks, domain records, tables: what they serve counts as a user */
    TNRI_FOR_PROGRAM /* a raw block: keeps the domain from closing; tnr_arena_reset forgets it */
} tnri_block_use;

/* Behaviour of a kind of domain. All entries required unless NULL is given a meaning. */
typedef struct tnri_domain_class {
    const char *name; /* NULL: the program's table has it */
    /*
     * Fill *block, on success only, its number by tnri_mint or the class's own count. bytes >= 1. alignment is a power of two, or 0:
     * who asks has seen to it (tnri_raw_allocate for programs); what is under TNRI_UNIT means that.
     */
    tnr_status (*allocate)(tnr_domain *domain, tnri_block_use use, uint64_t bytes, uint64_t alignment,
                           tnr_block *block);
    /*
     * TNR_OK, nothing changed, for an empty block; TNR_ERR_STALE or TNR_ERR_FOREIGN, nothing changed either, for a block that is not out, or not for this use: a program cannot
     * give back the bytes of a tensor. Classes without program_blocks are only given blocks that are known to be good.
     */
    tnr_status (*release)(tnr_domain *domain, const tnr_block *block, tnri_block_use use);
    tnr_status (*map)(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode, void **host);  /* NULL: direct */
    tnr_status (*unmap)(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode, void *host); /* NULL: direct */
    /* Out of and into memory that the host cannot reach; called where tnr_domain.copies says so, NULL elsewhere. */
    tnr_status (*read)(tnr_domain *domain, const tnr_block *block, const tnr_domain_box *box, void *host);
    tnr_status (*write)(tnr_domain *domain, const tnr_block *block, const tnr_domain_box *box, const void *host);
    /* Such memory for a transport that reaches it; called where tnr_domain.exposes says so, NULL elsewhere. */
    tnr_status (*expose)(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode, void **address);
    void (*conceal)(tnr_domain *domain, const tnr_block *block, tnr_map_mode mode);
    void (*statistics)(tnr_domain *domain, tnr_domain_statistics *statistics);
    /*
     * Number of the program's raw blocks that are out. NULL: the class keeps no list of its blocks, and the core gives
     * each raw block a handle slot, which counts as a user and makes release exact.
     */
    uint64_t (*program_blocks)(tnr_domain *domain);
    /*
     * A block changes hands between tensor and program (export, import): checked as release checks, counts moved. NULL when
     * program_blocks is, and for classes whose tensors are never exported as blocks of their own (pools).
     */
    tnr_status (*transfer)(tnr_domain *domain, const tnr_block *block, tnri_block_use from, tnri_block_use to);
    /* tnr_domain_close succeeded; users may still live when `outlives_close`. NULL: nothing to do. */
    void (*close)(tnr_domain *domain);
    /* Nothing uses the domain any more: give back what creation took beyond the record itself. NULL: nothing. */
    void (*destroy)(tnr_domain *domain);
    bool outlives_close; /* pools: closing is fine while tensors live, and release goes on working until the last */
} tnri_domain_class;

/* What a request for no bytes is answered with. */
static inline bool tnri_block_is_empty(const tnr_block *block) { return block->bytes == 0 && block->address == NULL; }

/* Blocks out of a domain whose class does not count them itself: the heap and programs' domains. */
typedef struct tnri_tally {
    tnri_lock lock;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t peak_bytes;
    uint64_t allocations;
    uint64_t failures;
} tnri_tally;

void tnri_tally_take(tnri_tally *tally, uint64_t bytes);
void tnri_tally_give(tnri_tally *tally, uint64_t bytes);
void tnri_tally_failure(tnri_tally *tally);
void tnri_tally_report(tnri_tally *tally, tnr_domain_statistics *statistics);

struct tnr_domain {
    const tnri_domain_class *kind;
    tnr_domain *home;   /* self for heap and arena */
    tnr_domain *parent; /* domain whose user this one is, besides home; NULL: none */
    uint64_t serial;    /* the domain's number in this process */
    tnr_placement placement;
    tnr_host_access access;
    bool copies : 1;    /* the host cannot reach it, but read and write copy */
    bool exposes : 1;   /* and transports that reach it may have its blocks */
    bool coherent;      /* several mappings of one block may be written through at a time; true for direct access */
    bool closed;        /* a pool whose tensors live on; guarded by the home's slab lock */
    bool sealed;        /* an arena in which nothing that lasts may be made any more; guarded likewise */
    const char *keeper; /* who alone may close it, in a word; NULL: the program. Guarded likewise */
    tnr_block record;   /* block of the home that holds this struct, when it is another domain's */
    uint64_t users;     /* guarded by the home's slab lock */
    TNRI_ATOMIC(uint64_t) raw_blocks; /* of the users, raw blocks, where the class keeps no list of its own */
    uint64_t handles;             /* of these, handles that live in it: tensors, drafts, such raw blocks; likewise */
    uint64_t children;            /* of these, domains over this one that are not closed; guarded likewise */
    tnr_ledger ledger;            /* guarded by the home's slab lock */
    TNRI_ATOMIC(uint64_t) minted; /* allocation numbers given out */
    tnri_slab slab;               /* used when home == self */
    tnri_tally tally;             /* for classes that do not count themselves */
    void *state;                  /* the class's own */
};

/* Give back the record of a domain that nothing uses any more: class close, then the block that holds it. */
void tnri_domain_free_record(tnr_domain *domain);

/* Identity of the domain with this serial; {0, 0} for serial 0. */
tnr_domain_id tnri_identity_of(uint64_t serial);

/*
 * From now on identities have this process part, those of domains made before included. Once it is set it stays:
 * TNR_ERR_ARGUMENT for another one.
 */
tnr_status tnri_process_attach(const char *op, uint64_t process);

/* Fill the common part: identity (a new serial: TNR_ERR_OVERFLOW when none is left), home, access, placement. */
tnr_status tnri_domain_init(tnr_domain *domain, const tnri_domain_class *kind, tnr_domain *home,
                            tnr_placement placement, tnr_host_access access);

/*
 * Take a zeroed block of the domain's home for a record of ours (a domain, a group, an engine, a table). Not in the ledger;
 * whatever the record is for counts as a user (tnri_domain_use).
 */
tnr_status tnri_record_take(tnr_domain *domain, uint64_t bytes, tnr_block *block);
void tnri_record_give(tnr_domain *domain, const tnr_block *block);

/* Count or uncount one user of a domain (a group, an engine, a child, an exported block). The last user of a closed pool
 * takes the pool's record with it. */
void tnri_domain_use(tnr_domain *domain);
void tnri_domain_unuse(tnr_domain *domain);

/*
 * Before anything is taken for what lasts (a domain, an engine, a machine, ...): TNR_ERR_UNSUPPORTED when the domain's home is a
 * sealed arena.
 */
tnr_status tnri_domain_check_open(const char *op, tnr_domain *domain);

/*
 * tnri_domain_use for a new domain: of its parent, or of its home where it has none. It is a child until it is closed, and a
 * user until its record is freed.
 */
void tnri_domain_use_as_child(tnr_domain *support);

/*
 * A domain that something of ours made and lends: the program's tnr_domain_close is TNR_ERR_BUSY from now on, and names the
 * keeper ("machine"). NULL, for the keeper's own closing: anybody may again.
 */
void tnri_domain_keep(tnr_domain *domain, const char *keeper);

/* Domains over this one that are not closed, and the program's raw blocks that are out: what "in use" means to owners of domains. */
uint64_t tnri_domain_children(tnr_domain *domain);
uint64_t tnri_domain_users(tnr_domain *domain);
uint64_t tnri_domain_program_blocks(tnr_domain *domain);

/* Count or uncount what must not outlive a topology: numa domains, engines with a team, machines (topology.c). */
void tnri_topology_use(tnr_topology *topology);
void tnri_topology_unuse(tnr_topology *topology);

/*
 * A user closes but goes on reading, because tensors of it live: destroying the topology succeeds from now on, and takes
 * effect when the last such holder lets go.
 */
void tnri_topology_retire(tnr_topology *topology);
void tnri_topology_let_go(tnr_topology *topology);

/* TNR_ERR_BOUNDS, naming the usable nodes, when this is none of them. */
tnr_status tnri_topology_node_check(const char *op, const tnr_topology *topology, int node);

/* tnr_domain_allocate and tnr_domain_release, whatever the class: see arena.c. */
tnr_status tnri_raw_allocate(tnr_domain *domain, uint64_t bytes, uint64_t alignment, tnr_block *block);
tnr_status tnri_raw_release(tnr_domain *domain, const tnr_block *block);

/* Bytes for a tensor, 64-byte aligned; 0 bytes give a zeroed block. */
tnr_status tnri_block_take(tnr_domain *domain, uint64_t bytes, tnr_block *block);
/* The block is known to be good. Undo: because what should follow failed; a pool keeps nothing of it. */
void tnri_block_give(tnr_domain *domain, const tnr_block *block);
void tnri_block_undo(tnr_domain *domain, const tnr_block *block);

/*
 * A tensor's block becomes the program's (*lent is what it may give to tnr_domain_release), or the program's block a
 * tensor's again. A block that is not out that way is TNR_ERR_STALE or TNR_ERR_FOREIGN, nothing changed.
 */
tnr_status tnri_block_lend(tnr_domain *domain, const tnr_block *block, tnr_block *lent);
tnr_status tnri_block_retake(tnr_domain *domain, const tnr_block *lent, tnr_block *block);

/* Next allocation number of a domain: 64 bits at one allocation per nanosecond last for centuries, so no check. */
static inline uint64_t tnri_mint(tnr_domain *domain)
{
    return atomic_fetch_add_explicit(&domain->minted, 1, memory_order_relaxed) + 1;
}

/* Enter bytes that are no tensor's. */
void tnri_ledger_allocation(tnr_domain *domain, tnr_allocation_reason reason, uint64_t bytes);

/* Enter a copy of `bytes` bytes in the ledger of the domain of its destination; NULL (adopted memory): nowhere. */
void tnri_ledger_copy(tnr_domain *domain, tnr_copy_reason reason, uint64_t bytes);

/* The word in a program's table of functions. */
const char *tnri_program_domain_name(const tnr_domain *domain);

/* ---- Pool internals that tensors need ------------------------------------------------------------------------------------ */

bool tnri_is_pool(const tnr_domain *domain);
bool tnri_is_heap(const tnr_domain *domain);

/* What a block of the pool that is out is to pool->parent; and: it leaves the pool for good, the parent's block it is. */
void tnri_pool_parent_block(tnr_domain *domain, const tnr_block *block, tnr_block *parent_block);
void tnri_pool_detach(tnr_domain *domain, const tnr_block *block);

/* Take a block back as if it had not been handed out: what came from the parent for it goes there, nothing is counted. */
void tnri_pool_undo(tnr_domain *domain, const tnr_block *block);

/*
 * Retain a block of pool->parent as if it had been released to the pool. False when it does not fit under the cap or no
 * entry can be had: the block is still the caller's.
 */
bool tnri_pool_accept(tnr_domain *domain, const tnr_block *parent_block);

/* ---- Instruction sets (isa.c; isa_x86.c or isa_baseline.c) ----------------------------------------------------------------- */

/* The best one that is built in and that this machine has, or the lower one that TENURE_ISA names. Constant, thread-safe. */
tnri_isa tnri_isa_best(void);

/* TNR_ERR_ARGUMENT when TENURE_ISA is no known word, TNR_ERR_UNSUPPORTED when it names what this machine or build lacks. */
tnr_status tnri_isa_check(const char *op);

/* "x86-64-v3"; the words that TENURE_ISA takes. */
const char *tnri_isa_name(tnri_isa isa);

/* A word of the environment, read once per process; NULL: it is not set, or empty. (environment.c; environment_none.c) */
typedef enum tnri_word { TNRI_WORD_ISA, TNRI_WORD_PRODUCTS, TNRI_WORDS } tnri_word;
const char *tnri_environment(tnri_word which);

/* Name of a kernel file's table, in that file; and the initialiser of the array of all tables, by tnri_isa. */
#ifdef TNRI_ISA
#define TNRI_ISA_NAME(name) TNRI_ISA_JOIN(name, TNRI_ISA)
#define TNRI_ISA_JOIN(name, isa) TNRI_ISA_JOIN_(name, isa)
#define TNRI_ISA_JOIN_(name, isa) name##_##isa
#endif
/* Tables of the sets that this build has; for one that it has not, the next lower one stands in. */
#if defined(TNRI_HAS_v2)
#define TNRI_ISA_V2_OF(name) name##_v2
#define TNRI_ISA_V2_TOO(name) , name##_v2
#else
#define TNRI_ISA_V2_OF(name) name##_baseline
#define TNRI_ISA_V2_TOO(name)
#endif
#if defined(TNRI_HAS_v3)
#define TNRI_ISA_V3_OF(name) name##_v3
#define TNRI_ISA_V3_TOO(name) , name##_v3
#else
#define TNRI_ISA_V3_OF(name) TNRI_ISA_V2_OF(name)
#define TNRI_ISA_V3_TOO(name)
#endif
#if defined(TNRI_HAS_v4)
#define TNRI_ISA_V4_OF(name) name##_v4
#define TNRI_ISA_V4_TOO(name) , name##_v4
#else
#define TNRI_ISA_V4_OF(name) TNRI_ISA_V3_OF(name)
#define TNRI_ISA_V4_TOO(name)
#endif
#define TNRI_ISA_TABLES(name)                                                                 \
    {                                                                                         \
        &name##_baseline, &TNRI_ISA_V2_OF(name), &TNRI_ISA_V3_OF(name), &TNRI_ISA_V4_OF(name) \
    }
#define TNRI_ISA_DECLARE(type, name) \
    extern const type name##_baseline TNRI_ISA_V2_TOO(name) TNRI_ISA_V3_TOO(name) TNRI_ISA_V4_TOO(name)

/* Does the hwloc that runs fit the one built in? TNR_OK where none is. */
tnr_status tnri_hwloc_check(void);

/* Need of one record of `bytes` bytes. */
tnr_status tnri_record_need(uint64_t bytes, tnr_need *need);

#endif /* TENURE_ARENA_ARENA_H */
