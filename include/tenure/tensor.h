/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tensor.h
 * The one owner of one allocation: making, moving, touching, releasing.
 *
 * A tensor is always compact and column-major. Calls that consume one take `tnr_tensor **` and null it on success; on
 * failure the caller still owns it, unchanged. Touching bytes takes a lease for as long as it lasts: many readers or one
 * writer per tensor (parts of a split count apart). A lease that conflicts is TNR_ERR_BUSY at once, never a wait;
 * releasing, exporting, grouping or reclaiming a tensor under a lease is TNR_ERR_BUSY too.
 *
 * Threads: leases and views may race from any number of threads, also with the end of the owner. One tnr_tensor * itself is
 * one owner's. A copy of the pointer that is used after the tensor was consumed is TNR_ERR_STALE or TNR_ERR_BUSY, as long as
 * its handle was not given to a new tensor: then it is that tensor's. Views do not have this limit.
 */
#ifndef TENURE_TENSOR_H
#define TENURE_TENSOR_H

#include "tenure/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Gives adopted memory back. Called once, on the thread that releases the tensor; may be NULL: nothing to give back. */
typedef void (*tnr_release_fn)(void *context, void *data, uint64_t bytes);

/* ---- Making --------------------------------------------------------------------------------------------------------- */

/**
 * Own a buffer that the caller already has, without a copy: same pointer in, same pointer out (tnr_tensor_export).
 *
 * @param home    where the handle comes from (a domain's home is used); the bytes do not: the tensor has no domain and no
 *                allocation number until it enters a group, and is plain host memory.
 * @param data    column-major elements, aligned for the dtype (TNR_ERR_ARGUMENT else); may be NULL when bytes is 0.
 * @param bytes   exactly count * element size, else TNR_ERR_SHAPE.
 * @param release called when the tensor goes; NULL leaves the buffer to the caller, who keeps it alive.
 * On failure the buffer is still the caller's. Cost: one handle.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_adopt(tnr_domain *home, tnr_dtype dtype, int rank, const int64_t *shape,
                                                   void *data, uint64_t bytes, tnr_release_fn release, void *context,
                                                   tnr_tensor **tensor);

/** New tensor, all bytes zero. TNR_ERR_MEMORY when the domain is full, TNR_ERR_RESIDENCY when the host cannot reach it. */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_zeros(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                                   tnr_tensor **tensor);

/** New tensor, every element *value (one element of the dtype). rank 0 makes a scalar. Errors as tnr_tensor_zeros. */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_full(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                                  const void *value, tnr_tensor **tensor);

/**
 * New tensor from elements in column-major order, as C arrays of a tensor's own order: one named copy (ledger:
 * from_column_major). tnr_tensor_adopt takes the array itself instead.
 * @param data  aligned for the dtype (TNR_ERR_ARGUMENT else); stays the caller's and is not kept.
 * @param bytes exactly count * element size, else TNR_ERR_SHAPE.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_from_column_major(tnr_domain *domain, tnr_dtype dtype, int rank,
                                                               const int64_t *shape, const void *data, uint64_t bytes,
                                                               tnr_tensor **tensor);

/** The same from elements in row-major order (ledger: from_row_major). */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_from_row_major(tnr_domain *domain, tnr_dtype dtype, int rank,
                                                            const int64_t *shape, const void *data, uint64_t bytes,
                                                            tnr_tensor **tensor);

/** New compact tensor in `domain` with a view's elements: one named copy (ledger: duplicate). Any layout is fine. */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_duplicate(const tnr_view *view, tnr_domain *domain, tnr_tensor **tensor);

/** Bytes to be filled before they become a tensor. */
typedef struct tnr_draft tnr_draft;

/**
 * Take uninitialised bytes for a tensor that the caller will write in full.
 * The shape is checked before the domain is asked. End it with tnr_draft_commit or tnr_draft_abandon.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_draft_begin(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                                  tnr_draft **draft);

/** Writable view of a draft. Reading through it is TNR_ERR_BUSY until the draft is committed. */
TNR_API TNR_MUST_CHECK tnr_status tnr_draft_view(tnr_draft *draft, tnr_view_mut *view);

/**
 * Turn a draft into a tensor and null *draft. The caller vouches that every element was written; views of the draft are
 * stale afterwards. TNR_ERR_BUSY while one of them is leased.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_draft_commit(tnr_draft **draft, tnr_tensor **tensor);

/** Give a draft's bytes back (to its pool, where it has one) and null *draft. NULL is fine. TNR_ERR_BUSY as above. */
TNR_API tnr_status tnr_draft_abandon(tnr_draft **draft);

/* ---- Letting go ----------------------------------------------------------------------------------------------------- */

/**
 * Give the bytes back (to the pool they came from, else to their domain, else to the adopted buffer's release function),
 * end all views, and null *tensor. NULL and a pointer to NULL are fine.
 * TNR_ERR_BUSY while a lease is live; TNR_ERR_STALE when it was consumed through a copy of the pointer (see above).
 */
TNR_API tnr_status tnr_tensor_release(tnr_tensor **tensor);

/** Bytes that left the library, with all that is needed to give them back. */
typedef struct tnr_exported {
    void *data; /**< the very pointer that the tensor had; NULL only when bytes is 0 */
    uint64_t bytes;
    tnr_dtype dtype;
    int32_t rank;
    int64_t shape[TNR_MAX_RANK];
    tnr_domain *domain;     /**< whose block it is, or NULL for adopted bytes; keeps the domain from closing */
    tnr_block block;        /**< when domain is not NULL */
    tnr_release_fn release; /**< adopted bytes: the function given to tnr_tensor_adopt, or NULL */
    void *context;          /**< for release */
} tnr_exported;

/**
 * Take the bytes out without a copy and null *tensor. A pool forgets the buffer first: it is then its parent's.
 *
 * From the heap domain, data may instead be given to free() after tnr_exported_forget. TNR_ERR_RESIDENCY when the host
 * cannot reach the bytes directly; TNR_ERR_BUSY under a lease.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_export(tnr_tensor **tensor, tnr_exported *exported);

/**
 * The inverse: own exported bytes again, without a copy, and zero *exported. The handle of adopted bytes comes from home;
 * that of a domain's block from the domain's own home, as ever.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_import(tnr_domain *home, tnr_exported *exported, tnr_tensor **tensor);

/** Give exported bytes back to where they came from and zero *exported. NULL and a zeroed struct are fine. */
TNR_API tnr_status tnr_exported_free(tnr_exported *exported);

/**
 * Heap only: the bytes are the C program's from now on, to be given to free(data); *exported is zeroed. No bytes give NULL.
 * TNR_ERR_FOREIGN unless they are a heap domain's block.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_exported_forget(tnr_exported *exported, void **data);

/**
 * Hand a tensor's buffer to a pool as a retained one, at once, and null *tensor.
 *
 * The tensor's bytes must be the pool's own or its parent's (TNR_ERR_FOREIGN else). Under the pool's cap as any release:
 * a buffer that does not fit is freed. A parent's buffer counts as the largest size class that fits into it.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_reclaim(tnr_domain *pool, tnr_tensor **tensor);

/* ---- Asking --------------------------------------------------------------------------------------------------------- */

/** Everything that is known about a tensor. */
typedef struct tnr_tensor_info {
    tnr_dtype dtype;
    int32_t rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t count;           /**< elements */
    uint64_t bytes;          /**< count * element size */
    uint64_t capacity_bytes; /**< of the block behind it */
    tnr_domain_id domain;    /**< {0, 0}: none */
    uint64_t allocation;     /**< number inside the domain; 0: none */
    tnr_placement placement;
    tnr_host_access access;
    uint64_t reserved[4]; /**< 0 */
} tnr_tensor_info;

/**
 * Fill *info. TNR_ERR_STALE when the tensor is gone or in a group. Takes no lease: thread-safe among readers, while nobody
 * consumes the tensor.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_describe(const tnr_tensor *tensor, tnr_tensor_info *info);

/* ---- Touching ------------------------------------------------------------------------------------------------------- */

/**
 * Plain pointer to all elements of a host-direct tensor (NULL when it is empty). No lease: valid until the tensor is
 * consumed, and keeping readers and writers apart is the caller's.
 * TNR_ERR_RESIDENCY, naming the call to make, when the bytes need a mapping or a download.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_host_data(const tnr_tensor *tensor, const void **data);

/** As tnr_tensor_host_data, for writing. */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_host_data_mut(tnr_tensor *tensor, void **data);

/** A live read mapping. Only `data` is for users. It must stay where it is until it is ended: a copy holds nothing. */
typedef struct tnr_read_map {
    const void *data; /**< the view's first element; others by its strides. NULL when the view is empty */
    struct {
        tnr_tensor *root;
        void *host;
        uint64_t split;
        uint64_t parts;
        const void *self; /* where the guard lies: a copy of it holds nothing */
        uint32_t generation;
    } held;
} tnr_read_map;

/** A live write mapping. Only `data` is for users. It must stay where it is until it is ended: a copy holds nothing. */
typedef struct tnr_write_map {
    void *data; /**< the view's first element; others by its strides. NULL when the view is empty */
    struct {
        tnr_tensor *root;
        void *host;
        uint64_t split;
        uint64_t parts;
        const void *self; /* where the guard lies: a copy of it holds nothing */
        uint32_t generation;
    } held;
} tnr_write_map;

/**
 * Make a view's elements readable until tnr_unmap_read: the one path for direct and mappable memory alike.
 *
 * Takes a read lease. TNR_ERR_BUSY under a write lease, TNR_ERR_STALE, TNR_ERR_RESIDENCY (naming the call to make) when
 * the host can never reach the bytes. No allocation.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_map_read(const tnr_view *view, tnr_read_map *map);

/** End a read mapping and zero *map; a zeroed one is fine. TNR_ERR_STALE for a copy, and for one that ended before. */
TNR_API tnr_status tnr_unmap_read(tnr_read_map *map);

/** As tnr_map_read, with a write lease; elements that are not written keep their values. */
TNR_API TNR_MUST_CHECK tnr_status tnr_map_write(const tnr_view_mut *view, tnr_write_map *map);

/**
 * End a write mapping and zero *map; a zeroed one is fine. What was written is then what the tensor holds, unless the
 * domain's unmap fails: its answer is returned, the mapping and its lease are ended, and the elements are in doubt.
 */
TNR_API tnr_status tnr_unmap_write(tnr_write_map *map);

/**
 * Read one element by index (rank entries, 0 <= index < extent, TNR_ERR_BOUNDS else; NULL at rank 0) into *value, of the
 * view's dtype. Takes and gives a lease each time: map the view to read many.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_get(const tnr_view *view, const int64_t *index, void *value);

/** Write one element by index. */
TNR_API TNR_MUST_CHECK tnr_status tnr_view_set(const tnr_view_mut *view, const int64_t *index, const void *value);

/** Need of `count` tensors of this dtype and shape in one arena. */
TNR_API TNR_MUST_CHECK tnr_status tnr_tensor_need(tnr_dtype dtype, int rank, const int64_t *shape, uint64_t count,
                                                  tnr_need *need);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_TENSOR_H */
