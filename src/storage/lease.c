/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases: who may touch an owner's bytes at the moment.
 *
 * One 64-bit word per owner, generation << 32 | lease, so that "is the owner still the one this view was made of" and "is
 * nobody in the way" are decided by a single compare-and-swap:
 *
 *   lease 0                 nobody
 *   lease 1 .. 2^30 - 1     so many readers
 *   WRITER                  one writer of the whole
 *   SPLIT                   writers of parts that were proved disjoint; which ones is in split and split_parts
 *   SPLIT_CHANGING          somebody changes split and split_parts: a dozen instructions
 *
 * Only the holder leaves WRITER and SPLIT_CHANGING, so both are left by a plain store.
 */
#include "storage_internal.h"

#define LEASE_MASK TNRI_LEASE_MASK
#define WRITER TNRI_LEASE_WRITER
#define SPLIT TNRI_LEASE_SPLIT
#define SPLIT_CHANGING ((uint64_t)0x60000000)

static tnr_status fail_stale(const char *op)
{
    return tnri_fail(TNR_ERR_STALE, "%s: the view's owner was released or moved", op);
}

static tnr_status fail_busy(const char *op, uint64_t lease, bool write)
{
    if (lease < SPLIT) {
        return tnri_fail(TNR_ERR_BUSY, "%s: %llu read leases are live where %s is wanted", op, TNRI_LLU(lease),
                         write ? "a write lease" : "one more");
    }
    return tnri_fail(TNR_ERR_BUSY, "%s: a write lease on %s is live where a %s lease is wanted", op,
                     lease == WRITER ? "the owner" : "parts of the owner", write ? "write" : "read");
}

static tnr_status lease_whole(const char *op, tnr_tensor *root, uint32_t generation, bool write)
{
    uint64_t state = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
    for (;;) {
        const uint64_t lease = state & LEASE_MASK;
        if (TNRI_UNLIKELY((uint32_t)(state >> 32) != generation)) {
            return fail_stale(op);
        }
        if (TNRI_UNLIKELY(write ? lease != 0 : lease >= SPLIT - 1)) {
            return fail_busy(op, lease, write);
        }
        const uint64_t next = write ? state | WRITER : state + 1;
        if (TNRI_LIKELY(atomic_compare_exchange_weak_explicit(&root->handle.state, &state, next, memory_order_acquire,
                                                              memory_order_relaxed))) {
            return TNR_OK;
        }
    }
}

/*
 * Enter SPLIT_CHANGING from SPLIT or, when `may_open`, from 0. False when something else is there. *state is the word with
 * lease 0 added back by leave_changing.
 */
static bool enter_changing(tnr_tensor *root, uint32_t generation, bool may_open, uint64_t *state)
{
    uint64_t seen = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
    for (;;) {
        const uint64_t lease = seen & LEASE_MASK;
        if ((uint32_t)(seen >> 32) != generation || (lease != SPLIT && lease != SPLIT_CHANGING && !(may_open && lease == 0))) {
            *state = seen;
            return false;
        }
        if (lease == SPLIT_CHANGING) {
            seen = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
            continue;
        }
        if (atomic_compare_exchange_weak_explicit(&root->handle.state, &seen, (seen & ~LEASE_MASK) | SPLIT_CHANGING,
                                                  memory_order_acquire, memory_order_relaxed)) {
            *state = seen;
            return true;
        }
    }
}

static void leave_changing(tnr_tensor *root, uint32_t generation)
{
    const uint64_t lease = root->split_parts != 0 ? SPLIT : 0;
    atomic_store_explicit(&root->handle.state, (uint64_t)generation << 32 | lease, memory_order_release);
}

static tnr_status lease_parts(const char *op, tnr_tensor *root, uint32_t generation, uint64_t split, uint64_t parts)
{
    uint64_t seen;
    if (!enter_changing(root, generation, true, &seen)) {
        return (uint32_t)(seen >> 32) != generation ? fail_stale(op) : fail_busy(op, seen & LEASE_MASK, true);
    }
    if ((seen & LEASE_MASK) == 0) {
        root->split = split;
        root->split_parts = 0;
    }
    const bool same_split = root->split == split;
    const bool granted = same_split && (root->split_parts & parts) == 0;
    if (granted) {
        root->split_parts |= parts;
    }
    leave_changing(root, generation);
    TNR_REQUIRE(granted, TNR_ERR_BUSY, "%s: %s is leased for writing", op,
                same_split ? "this part" : "a part of another split");
    return TNR_OK;
}

tnr_status tnri_lease_take(const char *op, tnri_lease *lease)
{
    tnr_tensor *root = lease->root;
    if (lease->split == 0 || !lease->write) {
        const uint64_t state = atomic_load_explicit(&root->handle.state, memory_order_relaxed) & LEASE_MASK;
        /* A reader of one part joins the writers of the others; otherwise it reads like any reader. */
        if (lease->split == 0 || lease->write || (state != SPLIT && state != SPLIT_CHANGING)) {
            TNR_TRY(lease_whole(op, root, lease->generation, lease->write));
            lease->split = 0;
            lease->parts = 0;
        } else {
            TNR_TRY(lease_parts(op, root, lease->generation, lease->split, lease->parts));
        }
    } else {
        TNR_TRY(lease_parts(op, root, lease->generation, lease->split, lease->parts));
    }
    const uint32_t kind = atomic_load_explicit(&root->handle.kind, memory_order_relaxed);
    if (TNRI_UNLIKELY(kind == TNRI_HANDLE_DRAFT && lease->reads)) {
        tnri_lease_give(lease);
        return tnri_fail(TNR_ERR_BUSY, "%s: a draft cannot be read before tnr_draft_commit", op);
    }
    return TNR_OK;
}

void tnri_lease_give(const tnri_lease *lease)
{
    tnr_tensor *root = lease->root;
    if (TNRI_UNLIKELY(lease->split != 0)) {
        uint64_t seen;
        if (enter_changing(root, lease->generation, false, &seen)) {
            root->split_parts &= ~lease->parts;
            leave_changing(root, lease->generation);
        }
    } else {
        tnri_lease_give_whole(root, lease->write);
    }
}

tnr_status tnri_generation_hold(const char *op, tnr_tensor *root, tnri_handle_kind kind)
{
    uint64_t state = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
    do {
        TNR_REQUIRE(atomic_load_explicit(&root->handle.kind, memory_order_acquire) == (uint32_t)kind, TNR_ERR_STALE,
                    "%s: the handle was released or moved", op);
        TNR_REQUIRE((state & LEASE_MASK) == 0, TNR_ERR_BUSY, "%s: a lease (operation, mapping or ticket) is live", op);
    } while (!atomic_compare_exchange_weak_explicit(&root->handle.state, &state, state | WRITER, memory_order_acquire,
                                                    memory_order_relaxed));
    return TNR_OK;
}

void tnri_generation_unhold(tnr_tensor *root)
{
    const uint64_t generation = tnri_generation(root);
    atomic_store_explicit(&root->handle.state, generation << 32, memory_order_release);
}

void tnri_generation_end_held(tnr_tensor *root)
{
    const uint64_t next = (uint64_t)tnri_generation(root) + 1;
    atomic_store_explicit(&root->handle.state, next << 32, memory_order_release);
}

tnr_status tnri_generation_end(const char *op, tnr_tensor *root, tnri_handle_kind kind)
{
    TNR_TRY(tnri_generation_hold(op, root, kind));
    tnri_generation_end_held(root);
    return TNR_OK;
}
