/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share among themselves only. */
#ifndef TENURE_STORAGE_STORAGE_INTERNAL_H
#define TENURE_STORAGE_STORAGE_INTERNAL_H

#include "storage.h"

/* ---- lease.c ---------------------------------------------------------------------------------------------------------------- */

/* One lease on one owner: of all of it, or of parts of a split. */
typedef struct tnri_lease {
    tnr_tensor *root;
    uint64_t split;      /* 0: the whole; changed to 0 by tnri_lease_take where the whole was taken instead */
    uint64_t parts;      /* mask of parts of that split to write */
    uint64_t read_parts; /* and only to read */
    uint32_t generation;
    bool write;
    bool reads; /* the bytes will be read, also when they are written: refused for a draft */
} tnri_lease;

/* TNR_ERR_STALE, TNR_ERR_BUSY; never waits for a lease. */
tnr_status tnri_lease_take(const char *op, tnri_lease *lease);
void tnri_lease_give(const tnri_lease *lease);

/*
 * May this lease still be held? False for certain when its generation ended or nothing of its kind is leased: what a second
 * end of one mapping looks like.
 */
bool tnri_lease_is_held(const tnri_lease *lease);

/* Lease words; lease.c tells what they mean. */
#define TNRI_LEASE_MASK ((uint64_t)0xFFFFFFFF)
#define TNRI_LEASE_WRITER ((uint64_t)0x80000000)
#define TNRI_LEASE_SPLIT ((uint64_t)0x40000000)
#define TNRI_LEASE_CHANGING ((uint64_t)0x20000000)
#define TNRI_LEASE_READERS ((uint64_t)0x1FFFFFFF)

/*
 * The usual case of tnri_lease_take in line: all of a tensor that nobody is in the way of. False says nothing but "take the
 * other way", which knows the reason.
 */
static inline bool tnri_lease_try_whole(tnr_tensor *root, uint32_t generation, bool write)
{
    uint64_t state = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
    const uint64_t lease = state & TNRI_LEASE_MASK;
    return (state >> 32) == generation && (write ? lease == 0 : lease < TNRI_LEASE_READERS) &&
           (write || atomic_load_explicit(&root->handle.kind, memory_order_relaxed) != TNRI_HANDLE_DRAFT) &&
           atomic_compare_exchange_strong_explicit(&root->handle.state, &state,
                                                   write ? state | TNRI_LEASE_WRITER : state + 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* Only the writer leaves a word that says WRITER: a plain store does. */
static inline void tnri_lease_give_whole(tnr_tensor *root, bool write)
{
    if (write) {
        const uint64_t state = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
        atomic_store_explicit(&root->handle.state, state & ~TNRI_LEASE_MASK, memory_order_release);
    } else {
        atomic_fetch_sub_explicit(&root->handle.state, 1, memory_order_release);
    }
}

/*
 * End a handle's generation: all its views are stale from now on, and it is of the next kind. A copied pointer finds it held or
 * of that kind, never free to be ended again as what it was. TNR_ERR_STALE when it is not of this kind, TNR_ERR_BUSY under a
 * lease.
 */
tnr_status tnri_generation_end(const char *op, tnr_tensor *root, tnri_handle_kind kind, tnri_handle_kind next_kind);

/*
 * The same in two steps, for calls that must do something fallible in between: hold it as its only writer, then end it or
 * let go.
 */
tnr_status tnri_generation_hold(const char *op, tnr_tensor *root, tnri_handle_kind kind);
void tnri_generation_unhold(tnr_tensor *root);
void tnri_generation_end_held(tnr_tensor *root, tnri_handle_kind next_kind);

static inline uint32_t tnri_generation(const tnr_tensor *root)
{
    return (uint32_t)(atomic_load_explicit(&root->handle.state, memory_order_relaxed) >> 32);
}

/* ---- access.c --------------------------------------------------------------------------------------------------------------- */

/* Relation of two well-formed views' memory, whoever owns it. Looks at the views only, not at owners, so needs no lease. */
tnr_overlap tnri_views_overlap(const tnr_view *a, const tnr_view *b);

/* ---- same_root.c ------------------------------------------------------------------------------------------------------------ */

/* Find the operands that have one root: fills held.carrier and held.next of all. Every view is there. */
void tnri_link_same_roots(tnri_operand *operands, int count);

/* ---- split.c ---------------------------------------------------------------------------------------------------------------- */

/* Mark views whose disjointness was proved as parts of one split of each owner. */
void tnri_mark_parts(tnr_view_mut *parts, size_t count);

/* ---- tensor.c --------------------------------------------------------------------------------------------------------------- */

/*
 * NULL is TNR_ERR_ARGUMENT, a handle that is no tensor of its own any more TNR_ERR_STALE. *generation is read before that
 * check: whatever is made of it is stale if the tensor goes meanwhile.
 */
tnr_status tnri_tensor_check(const char *op, const tnr_tensor *tensor, uint32_t *generation);

/* Compact view of all of a root. */
void tnri_root_view(const tnr_tensor *root, uint32_t generation, tnr_view *view);

/* A caller's array that is to be a tensor of this shape: as long as it must be, not NULL, aligned. */
tnr_status tnri_buffer_check(const char *op, tnr_dtype dtype, int rank, const int64_t *shape, const void *data,
                             uint64_t bytes, int64_t *count);

/* Fill a slot that nobody knows yet: nothing leased, nothing split, no release function. */
void tnri_root_init(tnr_tensor *root, tnr_domain *domain, uint64_t bytes, tnr_dtype dtype, int rank,
                    const int64_t *shape);

/* Handle and block for a new root that nobody knows yet, entered under `reason` (output.c). All-or-nothing. */
tnr_status tnri_root_take(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                          tnr_allocation_reason reason, tnr_tensor **root);

/* Identity and number of a root's bytes, {0, 0} and 0 where they have none; and where they are. */
tnr_domain_id tnri_root_domain(const tnr_tensor *root);
uint64_t tnri_root_allocation(const tnr_tensor *root);
tnr_placement tnri_root_placement(const tnr_tensor *root);

/* Domain in whose name the handle is counted. */
static inline tnr_domain *tnri_owner_domain(const tnr_tensor *root)
{
    return root->domain != NULL ? root->domain : root->handle.home;
}

/* Give bytes and handle of a root whose generation was ended. */
void tnri_root_free(tnr_tensor *root);

/* How the host reaches a root's bytes, its domain's or direct for adopted ones. */
static inline tnr_host_access tnri_root_access(const tnr_tensor *root) { return (tnr_host_access)root->access; }

/* What a view says of its owner's address. */
static inline uint64_t tnri_root_base(const tnr_tensor *root)
{
    return root->access == TNR_ACCESS_DIRECT ? (uint64_t)(uintptr_t)root->block.address : 0;
}

/* TNR_ERR_RESIDENCY with the call to make. */
tnr_status tnri_fail_residency(const char *op, const tnr_tensor *root);

/* View of a span of a root under any layout: all checks of tnr_tensor_region. */
tnr_status tnri_region(const char *op, const tnr_tensor *root, uint32_t generation, tnr_dtype dtype,
                       uint64_t window_begin, uint64_t window_bytes, int rank, const int64_t *shape,
                       const int64_t *strides, int64_t offset, tnr_view *view);

/* New tensor of `reason` with a view's elements, entered as one copy. */
tnr_status tnri_duplicate(const char *op, const tnr_view *view, tnr_domain *domain, tnr_copy_reason reason,
                          tnr_tensor **tensor);

#endif /* TENURE_STORAGE_STORAGE_INTERNAL_H */
