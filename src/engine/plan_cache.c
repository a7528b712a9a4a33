/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an engine remembers of ordinary calls: keys and the recipes that were made for them, in one block.
 *
 *   | cache | buckets | entry, entry, ...   free   ..., entry, entry |
 *                                        ^ next     ^ oldest
 *
 * Entries lie in a ring, each in one piece, in the order in which they came; where the next one does not fit, the oldest go. A bucket is a
 * chain of entries whose keys' hashes end alike; whole keys are compared. One engine, one thread at a time: no lock.
 *
 * Guarantees: takes no memory after the block; finding costs one look at the key and, nearly always, one comparison; no call fails or
 * waits because of it.
 */
#include "recipe_internal.h"
#include "tenure/plan.h"

typedef struct entry {
    uint64_t hash;
    uint32_t bytes; /* of all, up to the next one */
    uint32_t key_bytes;
    uint32_t chain; /* of the next entry in the bucket: its place and 1; 0: the last one */
    uint32_t unused;
    /* the key; the recipe */
} entry;

struct tnri_plan_cache {
    uint32_t *buckets; /* places of entries and 1; 0: none */
    uint64_t bucket_mask;
    char *ring;
    uint32_t size;   /* of the ring */
    uint32_t next;   /* where the next entry begins */
    uint32_t oldest; /* where the oldest one does, if there is one */
    uint32_t end;    /* of the last entry before the ring starts again; `size` where nothing is left out */
    uint64_t bytes;  /* of the block */
    uint64_t plans;
    uint64_t hits;
    uint64_t misses;
    uint64_t evicted;
};

enum {
    LEAST_BYTES = 2048, /* a plan or two */
    ENTRY_BYTES = 1024  /* roundly: a bucket for each */
};

/* Places are 32 bits wide: more than that keeps more plans than any program has. */
#define MOST_BYTES (UINT64_C(1) << 30)

uint64_t tnri_plan_cache_bytes(uint64_t wanted)
{
    return wanted < LEAST_BYTES ? 0 : wanted < MOST_BYTES ? wanted / 64 * 64 : MOST_BYTES;
}

struct tnri_plan_cache *tnri_plan_cache_make(void *block, uint64_t bytes)
{
    struct tnri_plan_cache *cache = block;
    uint64_t buckets = 1;
    while (buckets * ENTRY_BYTES < bytes) {
        buckets *= 2;
    }
    memset(cache, 0, sizeof *cache);
    cache->buckets = (uint32_t *)(void *)(cache + 1);
    cache->bucket_mask = buckets - 1;
    const uint64_t table = (buckets * sizeof *cache->buckets + 7) / 8 * 8;
    memset(cache->buckets, 0, (size_t)table);
    cache->ring = (char *)cache->buckets + table;
    cache->size = (uint32_t)(bytes - sizeof *cache - table);
    cache->end = cache->size;
    cache->bytes = bytes;
    return cache;
}

static entry *entry_at(const struct tnri_plan_cache *cache, uint32_t place)
{
    return (entry *)(void *)(cache->ring + place);
}

static uint64_t *key_of(entry *e) { return (uint64_t *)(void *)(e + 1); }

static tnri_recipe *recipe_of(entry *e) { return (tnri_recipe *)(void *)((char *)(e + 1) + e->key_bytes); }

/* Two chains of multiplications, so that one does not wait for the other. */
static uint64_t hash_of(const uint64_t *key, uint64_t bytes)
{
    const uint64_t words = bytes / 8;
    uint64_t x = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t y = words;
    uint64_t i = 0;
    for (; i + 2 <= words; i += 2) {
        x = (x ^ key[i]) * UINT64_C(0xBF58476D1CE4E5B9);
        y = (y ^ key[i + 1]) * UINT64_C(0x94D049BB133111EB);
        x ^= x >> 32;
        y ^= y >> 32;
    }
    if (i < words) {
        x = (x ^ key[i]) * UINT64_C(0xBF58476D1CE4E5B9);
        x ^= x >> 32;
    }
    x = (x ^ y) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 32;
}

const tnri_recipe *tnri_plan_cache_find(struct tnri_plan_cache *cache, const uint64_t *key, uint64_t key_bytes)
{
    const uint64_t hash = hash_of(key, key_bytes);
    for (uint32_t at = cache->buckets[hash & cache->bucket_mask]; at != 0;) {
        entry *e = entry_at(cache, at - 1);
        if (e->hash == hash && e->key_bytes == key_bytes && memcmp(key_of(e), key, (size_t)key_bytes) == 0) {
            ++cache->hits;
            return recipe_of(e);
        }
        at = e->chain;
    }
    return NULL;
}

/* ---- Room -------------------------------------------------------------------------------------------------------------------------------- */

static void evict_oldest(struct tnri_plan_cache *cache)
{
    const uint32_t place = cache->oldest;
    const entry *old = entry_at(cache, place);
    uint32_t *link = &cache->buckets[old->hash & cache->bucket_mask];
    while (*link != place + 1) {
        link = &entry_at(cache, *link - 1)->chain;
    }
    *link = old->chain;
    cache->oldest = place + old->bytes;
    if (cache->oldest == cache->end) { /* the ring starts again */
        cache->oldest = 0;
        cache->end = cache->size;
    }
    --cache->plans;
    ++cache->evicted;
    if (cache->plans == 0) {
        cache->next = 0;
        cache->oldest = 0;
        cache->end = cache->size;
    }
}

/* Make `bytes` in one piece free at `next`; they are no more than the ring has. */
static void make_room(struct tnri_plan_cache *cache, uint32_t bytes)
{
    for (;;) {
        const bool behind =
            cache->plans == 0 || cache->next > cache->oldest; /* free: from next to the end, and before oldest */
        if (behind && cache->size - cache->next >= bytes) {
            return;
        }
        if (behind) { /* start again: what is left at the end stays free */
            cache->end = cache->next;
            cache->next = 0;
        } else if (cache->oldest - cache->next >= bytes) {
            return;
        } else {
            evict_oldest(cache);
        }
    }
}

tnri_recipe *tnri_plan_cache_room(struct tnri_plan_cache *cache, const uint64_t *key, uint64_t key_bytes, uint64_t room)
{
    const uint64_t bytes = sizeof(entry) + key_bytes + room;
    if (bytes > cache->size) {
        ++cache->misses;
        return NULL;
    }
    make_room(cache, (uint32_t)bytes);
    entry *made = entry_at(cache, cache->next);
    made->hash = hash_of(key, key_bytes);
    made->key_bytes = (uint32_t)key_bytes;
    memcpy(key_of(made), key, (size_t)key_bytes);
    return recipe_of(made);
}

void tnri_plan_cache_keep(struct tnri_plan_cache *cache, const tnri_recipe *recipe)
{
    const uint32_t place = cache->next;
    entry *made = entry_at(cache, place);
    uint32_t *bucket = &cache->buckets[made->hash & cache->bucket_mask];
    made->bytes = (uint32_t)(sizeof *made + made->key_bytes + recipe->bytes);
    made->chain = *bucket;
    *bucket = place + 1;
    cache->next = place + made->bytes;
    ++cache->misses;
    ++cache->plans;
}

/* ---- For programs ------------------------------------------------------------------------------------------------------------------------- */

tnr_status tnr_engine_plans(tnr_engine *engine, tnr_plan_cache_info *info)
{
    static const char *const op = "engine_plans";
    TNR_REQUIRE(info != NULL, TNR_ERR_ARGUMENT, "%s: info is NULL", op);
    TNR_TRY(tnri_engine_enter(op, engine, true));
    const struct tnri_plan_cache *cache = engine->plans;
    memset(info, 0, sizeof *info);
    if (cache != NULL) {
        info->hits = cache->hits;
        info->misses = cache->misses;
        info->evicted = cache->evicted;
        info->plans = cache->plans;
        info->bytes = cache->bytes;
    }
    return tnri_engine_leave(engine, TNR_OK);
}
