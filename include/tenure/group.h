/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file group.h
 * Many owners and many descriptors in two append-only tables, addressed by slot.
 *
 * An owner is a tensor that moved in. A descriptor names an owner, a span of its bytes, dtype and layout; it owns
 * nothing, and several may name one owner. Slots only grow and are never reused: taking a slot twice is TNR_ERR_VACANT,
 * and the counts include vacated entries. Entering copies no element, keeps the pool to which the bytes will return, and
 * ends all views made before; so does leaving.
 *
 * A group may be published to other ranks (mpi.h). Then it also lists the others' descriptors: they can be described, and whoever
 * asks for their bytes gets TNR_ERR_FOREIGN with the rank. Until it is unpublished append, take, merge and release are
 * TNR_ERR_BUSY. Slots of an epoch that ended are TNR_ERR_STALE, their places vacant.
 *
 * Threads: reading calls (views, describe, counts) may run at the same time; calls that change the tables need the
 * group alone.
 */
#ifndef TENURE_GROUP_H
#define TENURE_GROUP_H

#include "tenure/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_group tnr_group;

/** Address of one descriptor. Carries no rights; of another group it is TNR_ERR_FOREIGN. */
typedef struct tnr_slot {
    uint64_t group; /**< serial of the group, from 1, never reused */
    uint32_t index; /**< in order of entry, from 0 */
    uint32_t epoch; /**< 0 for entries of this process; the publishing epoch of remote ones */
} tnr_slot;

/** What a descriptor says. */
typedef struct tnr_descriptor {
    bool vacant;    /**< taken, or of an epoch that ended: nothing else means anything but an own entry's `owner` */
    uint32_t owner; /**< index in the owner table, of its own rank */
    tnr_domain_id
        domain; /**< the owner's; an adopted owner gets the group's home. process - 1: its rank in MPI_COMM_WORLD */
    uint64_t allocation;     /**< the owner's number in that domain */
    tnr_placement placement; /**< the owner's */
    tnr_dtype dtype;
    int32_t rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
    int64_t offset;      /**< in elements from byte_begin */
    uint64_t byte_begin; /**< span inside the owner */
    uint64_t byte_count;
    uint64_t reserved[4]; /**< 0 */
} tnr_descriptor;

/** Empty group whose tables live in the home of `home`. Cost: blocks there as the tables grow. */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_create(tnr_domain *home, tnr_group **group);

/**
 * Have room for so many entries in all in each table, vacated ones included, until the group is released: as far as that no
 * call that adds to the group asks the home for anything. tnr_group_need says what it takes. Less than there is changes nothing.
 * TNR_ERR_MEMORY, nothing changed; TNR_ERR_OVERFLOW for more than a table can have; TNR_ERR_BUSY while the group is published.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_reserve(tnr_group *group, uint32_t owners, uint32_t descriptors);

/**
 * Move tensors[i] into a new group, slot i each. On success *group owns all and every tensors[i] is NULL; on failure
 * nothing changed. count 0 makes an empty group. `tensors` may not repeat a tensor (TNR_ERR_ARGUMENT).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_from_tensors(tnr_domain *home, tnr_tensor **tensors, size_t count,
                                                         tnr_group **group);

/** Move one tensor in and null it; *slot (may be NULL) names its descriptor. TNR_ERR_BUSY under a lease. */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_append(tnr_group *group, tnr_tensor **tensor, tnr_slot *slot);

/**
 * Add a descriptor on a span of the owner that `of` names.
 *
 * byte_begin and byte_count count from the owner's first byte; strides NULL means compact; offset counts elements from
 * byte_begin. Errors: TNR_ERR_ARGUMENT when byte_begin is not aligned for the dtype or byte_count no whole number of
 * elements; TNR_ERR_BOUNDS when the span leaves the owner or the layout leaves the span; TNR_ERR_VACANT, TNR_ERR_FOREIGN.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_describe_span(tnr_group *group, tnr_slot of, tnr_dtype dtype,
                                                          uint64_t byte_begin, uint64_t byte_count, int rank,
                                                          const int64_t *shape, const int64_t *strides, int64_t offset,
                                                          tnr_slot *slot);

/** Slot number `index` of a group, with its epoch. TNR_ERR_BOUNDS when there is none; a vacated one is fine. */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_slot(const tnr_group *group, uint32_t index, tnr_slot *slot);

/** Entries ever made in the two tables, vacated ones included. Either may be NULL. */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_counts(const tnr_group *group, uint32_t *owners, uint32_t *descriptors);

/** Fill *descriptor. Vacated slots are described as vacant. */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_describe(const tnr_group *group, tnr_slot slot, tnr_descriptor *descriptor);

/** Readable view through a descriptor. Any number may exist. */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_view(const tnr_group *group, tnr_slot slot, tnr_view *view);

/** Writable view through a descriptor; TNR_ERR_OVERLAP when its elements are not proved distinct. */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_view_mut(tnr_group *group, tnr_slot slot, tnr_view_mut *view);

/**
 * Writable views through several descriptors that may be used at the same time (see tnr_view_mut_split).
 *
 * A slot named twice is TNR_ERR_ARGUMENT; a descriptor whose elements are not proved distinct is TNR_ERR_OVERLAP; a pair
 * not proved disjoint gives *granted false and no views. count 0 is granted.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_split(tnr_group *group, const tnr_slot *slots, size_t count, bool *granted,
                                                  tnr_view_mut *views);

/**
 * Move an owner out: an ordinary tensor again, same bytes, same pool, exportable.
 *
 * Needs the sole live descriptor of its owner (TNR_ERR_BUSY else), compact, offset 0, the full span and the layout's
 * count of bytes (TNR_ERR_LAYOUT else; tnr_group_copy_out copies). TNR_ERR_VACANT on a second take: the text says
 * "descriptor slot N is vacant". TNR_ERR_BUSY under a lease. On failure nothing changed.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_take(tnr_group *group, tnr_slot slot, tnr_tensor **tensor);

/** New compact tensor in `domain` with a descriptor's elements: one named copy (ledger: copy_out). */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_copy_out(const tnr_group *group, tnr_slot slot, tnr_domain *domain,
                                                     tnr_tensor **tensor);

/**
 * Move all of *source to the end of target and null *source; its slot i becomes index *first + i of target, vacated
 * entries included. Views made through the source stay valid; its slots become TNR_ERR_FOREIGN. TNR_ERR_ARGUMENT when
 * both are the same group; TNR_ERR_FOREIGN when their homes differ.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_merge(tnr_group *target, tnr_group **source, uint32_t *first);

/** Release every owner and the tables; null *group. TNR_ERR_BUSY, nothing changed, while any owner is leased. */
TNR_API tnr_status tnr_group_release(tnr_group **group);

/** Walk both tables and check every invariant. TNR_ERR_BACKEND with the first fault. O(owners * descriptors). */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_check(const tnr_group *group);

/** Need of one group that never has more than so many entries in its tables (not its tensors). */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_need(uint32_t owners, uint32_t descriptors, tnr_need *need);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_GROUP_H */
