/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside a pool.
 *
 *   pool record: | tnr_domain | hot counters | the retained buffers of each size class | chunks of entries |
 *
 * Each buffer that the pool has from its parent, out or retained, has an entry. Entries live in chunks of growing size
 * in the home domain and stay until the pool is gone. The tag of a block is the address of its entry, believed only
 * when it is one of the table's: a made-up tag leads nowhere. The number of the block, never used twice, makes the
 * check exact.
 *
 * A retained entry is in its class's list, newest first, and carries the number of its retention. The oldest of the
 * pool is the oldest of the classes' last ones: a look at the classes in use finds it, and a hit pays nothing for that.
 */
#ifndef TENURE_ARENA_POOL_INTERNAL_H
#define TENURE_ARENA_POOL_INTERNAL_H

#include <stdalign.h>

#include "arena.h"
#include "size_class_internal.h"

typedef enum tnri_pool_state {
    TNRI_POOL_IDLE = 0, /* no buffer: in the list of idle entries, or about to get one */
    TNRI_POOL_OUT,
    TNRI_POOL_RETAINED,
    TNRI_POOL_RETURNING /* released, waiting while older buffers make room */
} tnri_pool_state;

/* Stamp of a buffer that came from the parent for the block that is out. */
#define TNRI_POOL_FRESH UINT64_MAX

/* One cache line: what is known of a buffer, but for the parent's tag. */
typedef struct tnri_pool_entry {
    struct tnri_pool_entry *above, *below; /* class list: retained after and before this one; idle: `below` chains */
    void *address;
    uint64_t number;            /* of the block that is or was out last */
    uint64_t stamp;             /* retained: how many were before it; TNRI_POOL_FRESH: never was */
    uint64_t parent_bytes;      /* of the parent's block */
    uint64_t parent_allocation; /* its number there */
    uint32_t index;             /* of this entry in the table */
    uint8_t size_class;
    uint8_t state; /* tnri_pool_state */
    uint8_t use;   /* tnri_block_use */
    bool pooled;   /* false: alignment beyond a cache line, goes straight back to the parent */
} tnri_pool_entry;

_Static_assert(sizeof(void *) != 8 || sizeof(tnri_pool_entry) == 64, "an entry is one cache line");

/* Retained buffers of one class. Only `newest` counts when it is NULL. */
typedef struct tnri_pool_class {
    tnri_pool_entry *newest;
    tnri_pool_entry *oldest;
    uint64_t oldest_stamp;
} tnri_pool_class;

/* Chunk k holds 2^(k + 4) entries, then as many tags of the parent's blocks. */
#define TNRI_POOL_FIRST_SHIFT 4U
#define TNRI_POOL_CHUNKS (32U - TNRI_POOL_FIRST_SHIFT)
#define TNRI_POOL_ENTRY_BYTES (sizeof(tnri_pool_entry) + sizeof(uint64_t))

/* Numbers that the pool takes from its domain at a time, so that a hit costs no atomic operation besides the lock. */
#define TNRI_POOL_NUMBERS 1024U

typedef struct tnri_pool {
    tnr_domain domain;

    /*
     * One line: what every call touches; the rest is touched by some. Counters that change together are kept apart: a
     * compiler that joins neighbours into one wide access makes the next call wait for the narrow stores of this one.
     */
    alignas(64) tnri_lock lock; /* guards everything below */
    uint32_t chunk_count;
    uint64_t next_number;
    uint64_t end_number;
    uint64_t hits;
    uint64_t peak_bytes;     /* most bytes out */
    uint64_t kept;           /* buffers ever retained; those retained now: kept - hits - evictions */
    uint64_t held_bytes;     /* retained and out: changes only when the parent is asked */
    uint64_t retained_bytes; /* never above max_bytes */

    alignas(64) uint64_t admit_bytes; /* cap for what comes in; under max_bytes while a lowered cap takes effect */
    uint64_t program_blocks;          /* raw blocks out */
    uint64_t held;                    /* buffers, retained and out */
    uint64_t failures;
    tnri_pool_entry *idle;
    uint64_t max_bytes;
    uint64_t misses;
    uint64_t evictions;

    alignas(64) uint64_t used[(TNRI_CLASS_COUNT + 63U) / 64U]; /* bit: the class may have retained buffers */
    uint64_t high_water_bytes;
    tnri_pool_class classes[TNRI_CLASS_COUNT];
    tnri_pool_entry *chunks[TNRI_POOL_CHUNKS];
    tnr_block chunk_records[TNRI_POOL_CHUNKS];
} tnri_pool;

static inline tnri_pool *tnri_pool_of(tnr_domain *domain) { return (tnri_pool *)(void *)domain; }

/* Buffers that are retained. The lock is held. */
static inline uint64_t tnri_pool_retained(const tnri_pool *pool) { return pool->kept - pool->hits - pool->evictions; }

static inline uint64_t tnri_pool_chunk_entries(uint32_t chunk)
{
    return UINT64_C(1) << (chunk + TNRI_POOL_FIRST_SHIFT);
}

/*
 * The entry that a tag names, or NULL when it is none of ours. The lock is held. The newest chunk holds more than half
 * of all entries, so it is asked first; and the entry's address comes from the tag itself, with nothing to wait for.
 */
static inline tnri_pool_entry *tnri_pool_find(const tnri_pool *pool, uint64_t tag)
{
    for (uint32_t chunk = pool->chunk_count; chunk-- > 0;) {
        const uint64_t offset = tag - (uint64_t)(uintptr_t)pool->chunks[chunk];
        if (TNRI_LIKELY(offset < tnri_pool_chunk_entries(chunk) * sizeof(tnri_pool_entry))) {
            return offset % sizeof(tnri_pool_entry) == 0 ? (tnri_pool_entry *)(uintptr_t)tag : NULL;
        }
    }
    return NULL;
}

/* ---- pool.c: of the class what takes and gives; and trimming, until at most `keep` bytes are retained: how many went ---- */

tnr_status tnri_pool_allocate(tnr_domain *domain, tnri_block_use use, uint64_t bytes, uint64_t alignment,
                              tnr_block *block);
tnr_status tnri_pool_release(tnr_domain *domain, const tnr_block *block, tnri_block_use use);
tnr_status tnri_pool_transfer(tnr_domain *domain, const tnr_block *block, tnri_block_use from, tnri_block_use to);
uint64_t tnri_pool_trim(tnri_pool *pool, uint64_t keep);

/* ---- pool_entry.c ------------------------------------------------------------------------------------------------ */

/* Where the tag of the parent's block of an entry is. */
uint64_t *tnri_pool_parent_tag(const tnri_pool *pool, const tnri_pool_entry *entry);

/* Take an idle entry, growing the table when there is none; the lock is not held. TNR_ERR_MEMORY: the home is full. */
tnr_status tnri_pool_entry_take(tnri_pool *pool, tnri_pool_entry **entry);

/* Put an entry without a buffer back; the lock is held. */
void tnri_pool_entry_idle(tnri_pool *pool, tnri_pool_entry *entry);

/* Give all chunks back to the home; nothing is out or retained. */
void tnri_pool_entries_close(tnri_pool *pool);

/* ---- pool_environment.c, pool_environment_none.c ----------------------------------------------------------------- */

/*
 * The cap for TNR_POOL_MAX_BYTES_AUTO: TENURE_POOL_MAX_BYTES as the process first saw it, else the default.
 * TNR_ERR_ARGUMENT, with the value in the text, when that is no number of bytes.
 */
tnr_status tnri_pool_environment(uint64_t *max_bytes);

#endif /* TENURE_ARENA_POOL_INTERNAL_H */
