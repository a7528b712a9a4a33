/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside a group: two tables that only grow.
 *
 *   owners       | tensor (NULL: taken) | live descriptors |
 *   descriptors  | owner | vacant | remote | dtype, byte span, layout |
 *
 * A descriptor of another rank's, while the group is published (group_remote.c), has its owner's identity in `remotes`; when the
 * epoch ends it becomes a vacant place.
 *
 * A table is a short directory of chunks, each twice as large as the one before, so entries never move, growing never copies,
 * and the bytes for n entries are known beforehand.
 */
#ifndef TENURE_STORAGE_GROUP_INTERNAL_H
#define TENURE_STORAGE_GROUP_INTERNAL_H

#include "provider.h"
#include "storage_internal.h"

#define TNRI_TABLE_FIRST 8U  /* entries of the first chunk */
#define TNRI_TABLE_CHUNKS 29 /* 8 + 16 + ... : nearly all that 32 bits can number */
#define TNRI_TABLE_MOST (((uint64_t)TNRI_TABLE_FIRST << TNRI_TABLE_CHUNKS) - TNRI_TABLE_FIRST)

typedef struct tnri_table {
    size_t entry_bytes;
    uint32_t count; /* entries ever made */
    uint32_t kept;  /* entries for which there is room whatever the count: tnr_group_reserve */
    int chunk_count;
    tnr_block chunks[TNRI_TABLE_CHUNKS];
} tnri_table;

/* Make room for `more` entries beyond count. TNR_ERR_MEMORY or TNR_ERR_OVERFLOW: as before. */
tnr_status tnri_table_reserve(const char *op, tnr_domain *home, tnri_table *table, uint32_t more);
/* Give back chunks that no entry needs and that were not reserved. */
void tnri_table_trim(tnr_domain *home, tnri_table *table);
void tnri_table_free(tnr_domain *home, tnri_table *table);
/* index < reserved entries. */
void *tnri_table_at(const tnri_table *table, uint32_t index);
tnr_status tnri_table_need(size_t entry_bytes, uint32_t entries, tnr_need *need);

typedef struct tnri_group_owner {
    tnr_tensor *tensor;
    uint32_t live; /* descriptors that name it and are not vacant */
} tnri_group_owner;

typedef struct tnri_group_entry {
    uint32_t owner;
    uint8_t vacant;
    uint8_t dtype;
    uint8_t rank;
    uint8_t remote; /* of another rank: owner is its index in remotes, 0 once it is vacant */
    uint64_t byte_begin;
    uint64_t byte_count;
    int64_t offset;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
} tnri_group_entry;

/* The owner of a remote entry. */
typedef struct tnri_group_remote {
    uint32_t owner; /* its index in the table of its own rank */
    int32_t rank;
    tnr_domain_id domain;
    uint64_t allocation;
    tnr_placement placement;
    uint64_t bytes;
    uint64_t source[TNRI_GROUP_SOURCE_WORDS];
} tnri_group_remote;

struct tnr_group {
    uint64_t serial;
    tnr_domain *home;
    tnr_block record;
    tnri_table owners;
    tnri_table descriptors;
    tnri_group_remote *remotes; /* what is known of remote entries' owners; in `remotes_record` */
    tnr_block remotes_record;
    void *publication; /* the companion's, while the group is published; else NULL */
    uint32_t epoch;    /* of the publication; while there is none, of the last one */
};

static inline tnri_group_owner *tnri_group_owner_at(const tnr_group *group, uint32_t index)
{
    return tnri_table_at(&group->owners, index);
}

static inline tnri_group_entry *tnri_group_entry_at(const tnr_group *group, uint32_t index)
{
    return tnri_table_at(&group->descriptors, index);
}

/* The entry of a slot, vacant or not: TNR_ERR_ARGUMENT, TNR_ERR_FOREIGN, TNR_ERR_STALE, TNR_ERR_BOUNDS. */
tnr_status tnri_group_find_any(const char *op, const tnr_group *group, tnr_slot slot, tnri_group_entry **entry);

/* The live entry of a slot on this rank: also TNR_ERR_VACANT, and TNR_ERR_FOREIGN naming the rank of a remote one. */
tnr_status tnri_group_find(const char *op, const tnr_group *group, tnr_slot slot, tnri_group_entry **entry);

/* TNR_ERR_BACKEND when remote entry `index` cannot be. */
tnr_status tnri_group_check_remote(const char *op, const tnr_group *group, uint32_t index);

/* TNR_ERR_BUSY while the group is published. */
tnr_status tnri_group_unpublished(const char *op, const tnr_group *group);

#endif /* TENURE_STORAGE_GROUP_INTERNAL_H */
