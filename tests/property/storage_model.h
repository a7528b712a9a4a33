/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A naive model of everything that owns, lends and describes bytes, for test_storage_model.c: for each tensor the bytes that
 * it must hold and who leases it, for each view the plain list of byte offsets of its elements, for each pool the list of
 * retained buffers, for each domain its ledger, for each group its tables. The operations (storage_*.c) draw arguments,
 * predict the answer from the model, make the call, and carry its effect over.
 *
 * It models no allocator: whether an arena is full is taken from the arena, and only a refusal for which there was clearly
 * room is a fault.
 */
#ifndef TENURE_TESTS_PROPERTY_STORAGE_MODEL_H
#define TENURE_TESTS_PROPERTY_STORAGE_MODEL_H

#include "tenure/group.h"

#define SM_MAX_COUNT 256 /* elements of a tensor */
#define SM_MAX_BYTES (SM_MAX_COUNT * 16)
#define SM_MAX_VIEW 512 /* elements of a view */
#define SM_MAX_RANK 7
#define SM_PARTS 5
#define SM_TENSORS 72
#define SM_VIEWS 160
#define SM_MAPS 12
#define SM_BLOCKS 24
#define SM_GROUPS 4
#define SM_ENTRIES 48 /* of a group; a fuller one is only emptied */
#define SM_DOMAINS 64
#define SM_RETAINED 1024
#define SM_DEAD 16

typedef enum sm_role {
    SM_HEAP,
    SM_ARENA,       /* bookkeeping in the region */
    SM_ARENA_APART, /* bookkeeping elsewhere, region misaligned, larger page */
    SM_POOL_HEAP,
    SM_POOL_ARENA,
    SM_MAPPED, /* the program's own, reached by mapping only */
    SM_POOL_MAPPED,
    SM_ROLES
} sm_role;

typedef struct sm_domain sm_domain;
struct sm_domain {
    bool used;
    bool open; /* false: a closed pool whose tensors live */
    sm_role role;
    sm_domain *parent; /* pools */
    sm_domain *home;
    tnr_domain *it;
    tnr_domain_id id;
    tnr_ledger ledger;
    unsigned live;       /* tensors, drafts and lent blocks that keep it */
    unsigned raw_blocks; /* the program's blocks */
    uint64_t max_blocks; /* arenas */
    /* Pools: sizes of retained buffers, oldest first, and the counters. */
    uint64_t retained[SM_RETAINED];
    size_t retained_count;
    uint64_t retained_bytes;
    uint64_t in_flight;
    uint64_t in_flight_bytes;
    uint64_t hits, misses, evictions, high_water, cap;
};

typedef enum sm_state { SM_NONE, SM_TENSOR, SM_DRAFT, SM_GROUPED, SM_EXPORTED } sm_state;

/* An adopted buffer; outlives the tensor so that a second release would be seen. */
typedef struct sm_adopted {
    unsigned char *data;
    uint64_t bytes;
    unsigned released;
} sm_adopted;

typedef struct sm_group sm_group;

typedef struct sm_tensor {
    sm_state state;
    tnr_tensor *it;
    tnr_draft *draft;
    sm_domain *domain;  /* NULL: adopted */
    sm_domain *counted; /* keeps the handle in its books */
    tnr_dtype dtype;
    int rank;
    int64_t shape[SM_MAX_RANK];
    int64_t count;
    uint64_t bytes;
    uint64_t capacity; /* of its block */
    uint64_t epoch;    /* views of another epoch are stale */
    unsigned readers;
    bool writer;
    uint64_t split; /* split whose parts are leased; 0: none */
    uint64_t parts; /* of it, leased for writing */
    unsigned part_readers[SM_PARTS];
    sm_group *group;
    sm_adopted adopted;
    tnr_exported exported;
    unsigned char data[SM_MAX_BYTES];
} sm_tensor;

/* Shape and the byte offset of every element, in column-major order. */
typedef struct sm_layout {
    tnr_dtype dtype;
    int rank;
    int64_t shape[SM_MAX_RANK];
    int64_t count;
    uint32_t at[SM_MAX_VIEW];
} sm_layout;

typedef struct sm_view {
    bool used;
    bool writable;
    sm_tensor *owner;
    uint64_t epoch;
    uint64_t window; /* first byte of its window */
    uint64_t split;
    unsigned part;
    tnr_view_mut it;
    sm_layout layout;
} sm_view;

typedef struct sm_map {
    bool used;
    bool write;
    tnr_read_map reading;
    tnr_write_map writing;
    uint64_t held_split; /* 0: the whole owner is leased */
    uint64_t held_parts;
    sm_view view;
} sm_map;

typedef struct sm_block {
    bool used;
    bool straight; /* more aligned than a pool keeps */
    sm_domain *domain;
    tnr_domain_id id;
    tnr_block it;
    unsigned char pattern;
} sm_block;

typedef struct sm_entry {
    bool vacant;
    unsigned owner;
    uint64_t byte_begin;
    uint64_t byte_count;
    int64_t offset;
    bool whole; /* may become a tensor again: compact, from the first byte to the last */
    sm_layout layout;
} sm_entry;

struct sm_group {
    tnr_group *it;
    sm_domain *home;
    uint64_t serial;
    unsigned owners;
    unsigned entries;
    sm_tensor *owner[SM_ENTRIES * 2];
    unsigned live[SM_ENTRIES * 2];
    sm_entry entry[SM_ENTRIES * 2];
};

typedef struct sm_model {
    uint64_t random;
    uint64_t seed;
    bool coherent; /* all mappings of a block of the program's own domain show the same bytes; drawn */
    uint64_t step;
    const char *operation;
    uint64_t epochs;
    uint64_t splits;
    sm_domain domains[SM_DOMAINS];
    sm_domain *role[SM_ROLES];
    sm_tensor tensors[SM_TENSORS];
    sm_view views[SM_VIEWS];
    sm_map maps[SM_MAPS];
    sm_block blocks[SM_BLOCKS];
    sm_group groups[SM_GROUPS];
    /* What ended, kept to be used wrongly. */
    tnr_tensor *dead_tensor[SM_DEAD];
    tnr_draft *dead_draft[SM_DEAD];
    sm_block dead_block[SM_DEAD];
    tnr_slot dead_slot[SM_DEAD];
    uint64_t counts[TNR_ERR_IO + 1]; /* answers seen, for the report at the end */
} sm_model;

extern sm_model sm;

/* ---- storage_model.c: drawing, judging, books -------------------------------------------------------------------------- */

uint64_t sm_below(uint64_t bound);
int64_t sm_between(int64_t low, int64_t high);
bool sm_chance(unsigned percent);
void sm_random_bytes(unsigned char *bytes, size_t count);

/* Fail the test, naming seed, step and operation. */
void sm_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void sm_check(bool condition, const char *what);
void sm_expect(tnr_status got, tnr_status wanted, const char *call);

void sm_start(uint64_t seed);
/* Release everything, expect every book to balance, close all domains. */
void sm_finish(void);
/* Pools against their model and caps: every step. */
void sm_check_pools(void);
/* Ledgers, arenas, groups. */
void sm_check_books(void);

sm_domain *sm_any_domain(void);
bool sm_reaches_directly(const sm_domain *domain);
bool sm_is_pool(const sm_domain *domain);
/* Was TNR_ERR_MEMORY a fair answer to a request of so many bytes? Then books are settled and it says true. */
bool sm_was_full(sm_domain *domain, tnr_status status, uint64_t bytes);
uint64_t sm_class(uint64_t bytes);
void sm_pool_take(sm_domain *pool, uint64_t bytes, bool straight);
void sm_pool_give(sm_domain *pool, uint64_t class_bytes, bool straight);
/* A buffer of the parent enters a pool as a retained one. */
void sm_pool_accept(sm_domain *pool, uint64_t block_bytes);
void sm_pool_lose(sm_domain *pool, uint64_t class_bytes);
/* Something of a domain went: a closed pool goes with its last. */
void sm_unlive(sm_domain *domain);
void sm_open_pool(sm_role role);
uint64_t sm_mapped_free(void);

/* ---- storage_views.c ------------------------------------------------------------------------------------------------------ */

bool sm_alive(const sm_view *view);
/* What a lease would be answered; with `take` the model holds it, and *split and *parts say what was had. */
tnr_status sm_lease(const sm_view *view, bool write, bool take, uint64_t *split, uint64_t *parts);
void sm_unlease(sm_tensor *tensor, bool write, uint64_t split, uint64_t parts);
bool sm_leased(const sm_tensor *tensor);
sm_view *sm_new_view(void);
sm_view *sm_any_view(bool writable);
/* Fill layout from strides in elements. False when an element leaves `elements` or the list is too long. */
bool sm_layout_make(sm_layout *layout, tnr_dtype dtype, int rank, const int64_t *shape, const int64_t *strides,
                    int64_t offset, uint64_t window, int64_t elements);
bool sm_layout_distinct(const sm_layout *layout);
/* View of all of a tensor. */
sm_view *sm_view_whole(sm_tensor *tensor, bool writable);
/* The library's descriptor against the model's list. */
void sm_check_descriptor(const sm_view *view);
void sm_compact(int rank, const int64_t *shape, int64_t *strides);
int64_t sm_count_of(int rank, const int64_t *shape);
/* Step a column-major index. */
void sm_step(int rank, const int64_t *shape, int64_t *index);
/* The elements of `in` at base + sum of index * steps, counted in positions of `in`. False when they are too many. */
bool sm_gather(sm_layout *out, const sm_layout *in, int rank, const int64_t *shape, int64_t base, const int64_t *steps);
/* First, count and stride of the range of one axis. */
void sm_slice(int64_t extent, tnr_range slice, int64_t *first, int64_t *count, int64_t *stride);
/* Enter a copy of a view into the table and check its descriptor. */
void sm_keep_view(const sm_view *made);

void sm_op_make_view(void);
void sm_op_region(void);
void sm_op_questions(void);
void sm_op_split(void);

/* ---- storage_transforms.c --------------------------------------------------------------------------------------------------- */

void sm_op_transform(void);

/* ---- storage_values.c ----------------------------------------------------------------------------------------------------- */

/* Values through mapping, element by element, or a copy: drawn. */
void sm_check_values(const sm_view *view);

void sm_op_values(void);
void sm_op_set(void);
void sm_op_map(void);
void sm_op_unmap(void);
void sm_unmap(sm_map *map);

/* ---- storage_tensors.c ---------------------------------------------------------------------------------------------------- */

sm_tensor *sm_free_tensor(void);
sm_tensor *sm_any_tensor(sm_state state);
void sm_draw_shape(tnr_dtype *dtype, int *rank, int64_t *shape, int64_t *count);
/* Enter a tensor that a call made: `domain` allocated it for `reason`. */
void sm_born(sm_tensor *tensor, tnr_tensor *it, sm_domain *domain, tnr_allocation_reason reason, tnr_dtype dtype,
             int rank, const int64_t *shape);
/* A copy into `domain` was made for `reason`; the tensor it made is released again. */
void sm_check_copy(tnr_status status, tnr_status wanted, const sm_view *view, sm_domain *domain, tnr_copy_reason reason,
                   tnr_tensor *copy);
/* All its views are stale from now on. */
void sm_end_epoch(sm_tensor *tensor);
/* The bytes went the ordinary way. */
void sm_gone(sm_tensor *tensor);
void sm_check_tensor(sm_tensor *tensor);

void sm_op_zeros(void);
void sm_op_from_array(void);
void sm_op_duplicate(void);
void sm_op_adopt(void);
void sm_op_draft(void);
void sm_op_draft_end(void);

/* ---- storage_ends.c -------------------------------------------------------------------------------------------------------- */

void sm_release(sm_tensor *tensor);

void sm_op_release(void);
void sm_op_export(void);
void sm_op_exported(void);
void sm_op_reclaim(void);
void sm_op_describe(void);
void sm_op_release_twice(void);

/* ---- storage_blocks.c ------------------------------------------------------------------------------------------------------ */

void sm_op_block(void);
void sm_op_block_release(void);
void sm_block_release(sm_block *block);
void sm_op_block_wrong(void);
void sm_op_pool(void);
void sm_op_pool_close(void);

/* ---- storage_groups.c ------------------------------------------------------------------------------------------------------ */

void sm_op_group_make(void);
void sm_op_group_append(void);
void sm_op_group_span(void);
void sm_op_group_view(void);
void sm_op_group_split(void);
void sm_op_group_take(void);
void sm_op_group_copy_out(void);
void sm_op_group_merge(void);
void sm_op_group_release(void);
void sm_op_group_wrong(void);
void sm_group_release(sm_group *group);

#endif /* TENURE_TESTS_PROPERTY_STORAGE_MODEL_H */
