/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases: who may touch an owner's bytes at the moment.
 *
 * One 64-bit word per owner, generation << 32 | lease, so that "is the owner still the one this view was made of" and "is
 * nobody in the way" are decided by a single compare-and-swap:
 *
 *   lease 0                 nobody
 *   lease 1 .. READERS      so many readers of the whole
 *   WRITER                  one writer of the whole
 *   SPLIT | n               parts of one split are leased: which of them for writing is in split_parts, how many readers each
 *                           has in split_readers; besides n readers of the whole, who are only let in while nobody writes
 *   SPLIT | CHANGING | n    somebody changes these fields: a dozen instructions
 *
 * A part counts for itself, like an owner: many readers or one writer. Parts of different splits are not known to be apart,
 * so a reader of another split's part is a reader of the whole. Only the holder leaves WRITER, by a plain store; the other
 * words are changed by read-modify-write operations, so that readers of the whole can go at any time.
 */
#include "storage_internal.h"

#define LEASE_MASK TNRI_LEASE_MASK
#define WRITER TNRI_LEASE_WRITER
#define SPLIT TNRI_LEASE_SPLIT
#define CHANGING TNRI_LEASE_CHANGING
#define READERS TNRI_LEASE_READERS

static tnr_status fail_stale(const char *op)
{
    return tnri_fail(TNR_ERR_STALE, "%s: the view's owner was released or moved", op);
}

static tnr_status fail_busy(const char *op, uint64_t lease, bool write)
{
    const char *const wanted = write ? "write" : "read";
    if ((lease & (WRITER | SPLIT)) == 0) {
        return tnri_fail(TNR_ERR_BUSY, "%s: %llu read leases are live where a %s lease is wanted", op, TNRI_LLU(lease),
                         wanted);
    }
    return tnri_fail(TNR_ERR_BUSY, "%s: %s live where a %s lease is wanted", op,
                     (lease & WRITER) != 0 ? "a write lease on the owner is" : "leases on parts of the owner are",
                     wanted);
}

/* ---- Parts ------------------------------------------------------------------------------------------------------------------- */

/*
 * Enter CHANGING from any word but WRITER. False when the generation or WRITER forbids it; *state is the word before. Plain
 * words too gain SPLIT for the time; leave_changing takes it back when no part is leased. Like the short lock of base.h, this
 * may have to let another thread finish a dozen instructions: that is not waiting for a lease, and a part's own thread must
 * not be told BUSY because of it.
 */
static bool enter_changing(tnr_tensor *root, uint32_t generation, uint64_t *state)
{
    tnri_hold_take(); /* no fork in the middle */
    uint64_t seen = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
    for (unsigned tries = 0;; tries++) {
        if ((uint32_t)(seen >> 32) != generation || (seen & WRITER) != 0) {
            *state = seen;
            tnri_hold_end();
            return false;
        }
        if ((seen & CHANGING) != 0) {
            tnri_relax(tries);
            seen = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
            continue;
        }
        if (atomic_compare_exchange_weak_explicit(&root->handle.state, &seen, seen | SPLIT | CHANGING,
                                                  memory_order_acquire, memory_order_relaxed)) {
            *state = seen;
            return true;
        }
    }
}

/* Parts with at least one reader. */
static uint64_t read_parts(const tnr_tensor *root)
{
    uint64_t parts = 0;
    for (int digit = 0; digit < TNRI_READER_BITS; digit++) {
        parts |= root->split_readers[digit];
    }
    return parts;
}

/* Parts that have as many readers as can be counted. */
static uint64_t full_parts(const tnr_tensor *root)
{
    uint64_t parts = UINT64_MAX;
    for (int digit = 0; digit < TNRI_READER_BITS; digit++) {
        parts &= root->split_readers[digit];
    }
    return parts;
}

/* One reader more, or one fewer, of every part of the mask: 64 binary counters side by side. */
static void count_readers(tnr_tensor *root, uint64_t parts, bool more)
{
    for (int digit = 0; digit < TNRI_READER_BITS; digit++) {
        const uint64_t before = root->split_readers[digit];
        root->split_readers[digit] = before ^ parts;
        parts &= more ? before : ~before; /* the carry, or what is borrowed */
    }
}

static void leave_changing(tnr_tensor *root)
{
    const bool leased = root->split_parts != 0 || read_parts(root) != 0;
    (void)atomic_fetch_and_explicit(&root->handle.state, ~(leased ? CHANGING : SPLIT | CHANGING), memory_order_release);
    tnri_hold_end();
}

/* NULL, or why these parts cannot be leased beside what is. Under CHANGING. */
static const char *in_the_way(const tnr_tensor *root, uint64_t readers, uint64_t write, uint64_t read)
{
    if ((root->split_parts & (write | read)) != 0) {
        return "this part is leased for writing";
    }
    if ((read_parts(root) & write) != 0) {
        return "this part is leased for reading";
    }
    if (write != 0 && readers != 0) {
        return "read leases on the owner are live where a write lease is wanted";
    }
    return (full_parts(root) & read) != 0 ? "no more readers of this part can be counted" : NULL;
}

static tnr_status lease_whole(const char *op, tnr_tensor *root, uint32_t generation, bool write);

static tnr_status lease_parts(const char *op, tnri_lease *lease)
{
    tnr_tensor *root = lease->root;
    uint64_t seen;
    if (!enter_changing(root, lease->generation, &seen)) {
        return (uint32_t)(seen >> 32) != lease->generation ? fail_stale(op)
                                                           : fail_busy(op, seen & LEASE_MASK, lease->write);
    }
    if ((seen & SPLIT) == 0) {
        root->split = lease->split;
        root->split_parts = 0;
        memset(root->split_readers, 0, sizeof(root->split_readers));
    }
    if (!root->coherent) { /* one mapping may hide what another writes: a part is leased as the whole */
        leave_changing(root);
        lease->split = 0;
        return lease_whole(op, root, lease->generation, lease->write);
    }
    const char *reason = NULL;
    if (root->split == lease->split) {
        reason = in_the_way(root, seen & READERS, lease->parts, lease->read_parts);
        if (reason == NULL) {
            root->split_parts |= lease->parts;
            count_readers(root, lease->read_parts, true);
        }
    } else if (!lease->write && root->split_parts == 0 && (seen & READERS) < READERS) {
        (void)atomic_fetch_add_explicit(&root->handle.state, 1, memory_order_relaxed);
        lease->split = 0;
    } else {
        reason = "a part of another split is leased";
    }
    leave_changing(root);
    TNR_REQUIRE(reason == NULL, TNR_ERR_BUSY, "%s: %s", op, reason);
    return TNR_OK;
}

static void give_parts(const tnri_lease *lease)
{
    tnr_tensor *root = lease->root;
    uint64_t seen;
    if (enter_changing(root, lease->generation, &seen)) {
        root->split_parts &= ~lease->parts;
        count_readers(root, lease->read_parts, false);
        leave_changing(root);
    }
}

/* ---- The whole --------------------------------------------------------------------------------------------------------------- */

/* A reader of the whole beside readers of parts. */
static tnr_status join_readers(const char *op, tnr_tensor *root, uint32_t generation)
{
    uint64_t seen;
    if (!enter_changing(root, generation, &seen)) {
        return (uint32_t)(seen >> 32) != generation ? fail_stale(op) : fail_busy(op, seen & LEASE_MASK, false);
    }
    const bool written = (seen & SPLIT) != 0 && root->split_parts != 0;
    const bool granted = !written && (seen & READERS) < READERS;
    if ((seen & SPLIT) == 0) { /* they went meanwhile */
        root->split_parts = 0;
        memset(root->split_readers, 0, sizeof(root->split_readers));
    }
    if (granted) {
        (void)atomic_fetch_add_explicit(&root->handle.state, 1, memory_order_relaxed);
    }
    leave_changing(root);
    TNR_REQUIRE(granted, TNR_ERR_BUSY, "%s: %s", op,
                written ? "a write lease on parts of the owner is live where a read lease is wanted"
                        : "no more readers can be counted");
    return TNR_OK;
}

static tnr_status lease_whole(const char *op, tnr_tensor *root, uint32_t generation, bool write)
{
    uint64_t state = atomic_load_explicit(&root->handle.state, memory_order_relaxed);
    for (;;) {
        const uint64_t lease = state & LEASE_MASK;
        if (TNRI_UNLIKELY((uint32_t)(state >> 32) != generation)) {
            return fail_stale(op);
        }
        if (TNRI_UNLIKELY(!write && (lease & SPLIT) != 0)) {
            return join_readers(op, root, generation);
        }
        if (TNRI_UNLIKELY(write ? lease != 0 : lease >= READERS)) {
            return fail_busy(op, lease, write);
        }
        const uint64_t next = write ? state | WRITER : state + 1;
        if (TNRI_LIKELY(atomic_compare_exchange_weak_explicit(&root->handle.state, &state, next, memory_order_acquire,
                                                              memory_order_relaxed))) {
            return TNR_OK;
        }
    }
}

/* ---- Both -------------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_lease_take(const char *op, tnri_lease *lease)
{
    tnr_tensor *root = lease->root;
    if (lease->split == 0) {
        TNR_TRY(lease_whole(op, root, lease->generation, lease->write));
    } else {
        TNR_TRY(lease_parts(op, lease));
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
    if (TNRI_UNLIKELY(lease->split != 0)) {
        give_parts(lease);
    } else {
        tnri_lease_give_whole(lease->root, lease->write);
    }
}

bool tnri_lease_is_held(const tnri_lease *lease)
{
    tnr_tensor *root = lease->root;
    if (lease->split != 0) {
        uint64_t seen;
        if (!enter_changing(root, lease->generation, &seen)) {
            return false;
        }
        const bool held = (seen & SPLIT) != 0 && root->split == lease->split &&
                          (lease->parts & ~root->split_parts) == 0 && (lease->read_parts & ~read_parts(root)) == 0;
        leave_changing(root);
        return held;
    }
    const uint64_t state = atomic_load_explicit(&root->handle.state, memory_order_acquire);
    if ((uint32_t)(state >> 32) != lease->generation) {
        return false;
    }
    return lease->write ? (state & WRITER) != 0 : (state & WRITER) == 0 && (state & READERS) != 0;
}

/* ---- Generations ------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_generation_hold(const char *op, tnr_tensor *root, tnri_handle_kind kind)
{
    /* Acquire: who sees a state that another thread left also sees the kind that it left. */
    uint64_t state = atomic_load_explicit(&root->handle.state, memory_order_acquire);
    do {
        TNR_REQUIRE(atomic_load_explicit(&root->handle.kind, memory_order_acquire) == (uint32_t)kind, TNR_ERR_STALE,
                    "%s: the handle was released or moved", op);
        TNR_REQUIRE((state & LEASE_MASK) == 0, TNR_ERR_BUSY, "%s: a lease (operation, mapping or ticket) is live", op);
    } while (!atomic_compare_exchange_weak_explicit(&root->handle.state, &state, state | WRITER, memory_order_acquire,
                                                    memory_order_acquire));
    return TNR_OK;
}

void tnri_generation_unhold(tnr_tensor *root)
{
    const uint64_t generation = tnri_generation(root);
    atomic_store_explicit(&root->handle.state, generation << 32, memory_order_release);
}

void tnri_generation_end_held(tnr_tensor *root, tnri_handle_kind next_kind)
{
    atomic_store_explicit(&root->handle.kind, (uint32_t)next_kind, memory_order_release);
    const uint64_t next = (uint64_t)tnri_generation(root) + 1;
    atomic_store_explicit(&root->handle.state, next << 32, memory_order_release);
}

tnr_status tnri_generation_end(const char *op, tnr_tensor *root, tnri_handle_kind kind, tnri_handle_kind next_kind)
{
    TNR_TRY(tnri_generation_hold(op, root, kind));
    tnri_generation_end_held(root, next_kind);
    return TNR_OK;
}
