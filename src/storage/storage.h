/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this room offers to the rooms above and to its own files: pure layout arithmetic and proofs, the inside of a
 * tensor, access to operands under leases, and the one strided copy.
 */
#ifndef TENURE_STORAGE_STORAGE_H
#define TENURE_STORAGE_STORAGE_H

#include "../arena/arena.h"
#include "tenure/group.h"

/* Element sizes are powers of two: size == 1 << tnri_dtype_shift[dtype], for valid dtypes only (dtype.c). */
extern const uint8_t tnri_dtype_shift[TNR_DTYPE_END];

/* ---- Layout: pure functions (layout.c) ------------------------------------------------------------------------------------ */

/* rank in 0..TNR_MAX_RANK, no negative extent (TNR_ERR_ARGUMENT); any zero extent: *count 0, whatever the others are; else
 * their product, TNR_ERR_OVERFLOW when 63 bits cannot hold it. `op` begins the text. */
tnr_status tnri_shape_count(const char *op, int rank, const int64_t *shape, int64_t *count);

/* tnri_shape_count and count * element size in 63 bits. */
tnr_status tnri_shape_bytes(const char *op, tnr_dtype dtype, int rank, const int64_t *shape, int64_t *count,
                            uint64_t *bytes);

/* Column-major strides of a shape whose count fitted. Extents of 0 count as 1 (and saturate: an empty shape's strides mean
 * nothing, so they stop growing instead of overflowing). */
void tnri_compact_strides(int rank, const int64_t *shape, int64_t *strides);

/* Lowest and highest element offset relative to the first element (low <= 0 <= high) of a non-empty layout.
 * TNR_ERR_OVERFLOW when 64 bits cannot hold one of them. */
tnr_status tnri_reach(const char *op, int rank, const int64_t *shape, const int64_t *strides, int64_t *low,
                      int64_t *high);

/* All of a view's checks against `elements` elements of window: rank, extents, count, reach, bounds, in that order; an
 * empty view's offset must be in 0..elements. */
tnr_status tnri_layout_check(const char *op, int rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                             int64_t elements, int64_t *count);

/* Compact, ignoring axes of extent 1; true when empty. */
bool tnri_is_compact(int rank, const int64_t *shape, const int64_t *strides);

/* ---- Proofs: pure functions (injective.c, overlap.c) ----------------------------------------------------------------------- */

/* DESIGN.md section 3: empty; sorted spans; exact gcd rule for two axes; enumeration up to 4096 elements; else false. */
bool tnri_is_distinct(int rank, const int64_t *shape, const int64_t *strides);

/* One operand of an overlap question, in bytes: address of the first element, strides in bytes. */
typedef struct tnri_lattice {
    uint64_t address;
    int rank;
    const int64_t *shape;
    const int64_t *strides; /* in elements */
    int64_t element_bytes;
} tnri_lattice;

/* Empty; byte intervals; gcd residue over all strides of axes longer than 1; else possible. SAME only for equal address,
 * element size, shape and strides (strides of axes of extent 1 ignored). */
tnr_overlap tnri_lattice_overlap(const tnri_lattice *a, const tnri_lattice *b);

/* ---- Inside a tensor (tensor.c) --------------------------------------------------------------------------------------------- */

/* Binary digits of the count of readers of one part. */
#define TNRI_READER_BITS 6

struct tnr_tensor {
    tnri_handle handle; /* first: state, home, kind */
    tnr_domain *domain; /* whose block; NULL for adopted bytes */
    tnr_block block;    /* of domain; for adopted bytes address and bytes only */
    uint64_t bytes;     /* count * element size */
    tnr_release_fn release;
    void *context;
    uint64_t group_serial; /* adopted bytes in or after a group: serial of the domain whose number they have; else 0 */
    uint64_t split;        /* number of the split whose parts are leased; guarded by the lease word's CHANGING */
    uint64_t split_parts;  /* mask of parts leased for writing; guarded likewise */
    uint64_t
        split_readers[TNRI_READER_BITS]; /* readers of part p: bit p of each, lowest digit first; guarded likewise */
    uint8_t dtype;
    uint8_t rank;
    uint8_t access; /* tnr_host_access of the domain; direct for adopted bytes */
    bool coherent;  /* the domain's; true for adopted bytes */
    int64_t shape[TNR_MAX_RANK];
};

/*
 * Private drafts: outputs that an operation makes for itself. Nobody else knows one before it is committed, so it is written
 * without leases, and undone as if it had never been asked for.
 *
 *   lease the inputs -> tnri_output_begin -> write output.data -> tnri_output_end, whatever happened
 */
typedef struct tnri_output {
    tnr_tensor *root;
    tnr_allocation_reason reason;
    void *host;    /* of the block while it is mapped; NULL when there are no bytes */
    char *data;    /* what to write: all elements, compact and column-major; NULL when there are none */
    tnr_view view; /* of them, for kernels that take layouts */
} tnri_output;

/* TNR_ERR_RESIDENCY when the host cannot reach the domain; TNR_ERR_MEMORY and the like: nothing changed. */
tnr_status tnri_output_begin(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                             tnr_allocation_reason reason, tnri_output *output);

/* The same also for memory that the host cannot reach, whose domain copies: output.data is a place then (see below). */
tnr_status tnri_output_begin_away(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                  tnr_allocation_reason reason, tnri_output *output);

/* The same without a mapping, wherever the memory is: output.data is a place unless the host reaches it directly. */
tnr_status tnri_output_begin_bare(const char *op, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                                  tnr_allocation_reason reason, tnri_output *output);

/* Unmap; with status TNR_OK and a good unmap *tensor is the new tensor, else all is undone. The status, or the unmap's. */
tnr_status tnri_output_end(tnri_output *output, tnr_status status, tnr_tensor **tensor);

/*
 * Placement of a view's owner: TNR_ERR_STALE when it is gone. Takes no lease, so nobody may consume the owner meanwhile.
 */
tnr_status tnri_view_placement(const char *op, const tnr_view *view, tnr_placement *placement);

/* ---- Access to operands (access.c) ------------------------------------------------------------------------------------------- */

/*
 * How outputs relate to inputs: apart from them; or perhaps the same, element for element, as any input or as the first
 * input (operand 1) only; or apart, but what they hold is read as well (accumulation), which a draft does not allow.
 */
typedef enum tnri_aliasing {
    TNRI_APART,
    TNRI_IN_PLACE,
    TNRI_FIRST_IN_PLACE,
    TNRI_READ_BACK,
    TNRI_APART_AB,    /* apart, and texts of failures call the inputs a and b; else they are operands 0, 1, ... */
    TNRI_READ_BACK_AB /* the same of accumulation */
} tnri_aliasing;

/* What an operand carries of its root. */
typedef enum tnri_carries {
    TNRI_CARRIES_NOTHING,
    TNRI_CARRIES_LEASE, /* and a mapping where its domain maps */
    TNRI_CARRIES_WHOLE /* a lease of all of it, for this operand's reading or writing alone, of memory without mappings */
} tnri_carries;

/* One operand while an operation runs. The caller sets view and write; access fills the rest. */
typedef struct tnri_operand {
    const tnr_view *view;
    bool write;
    char *data; /* host address of the view's first element; NULL when the view is empty */
    struct {    /* what access holds and must give back */
        tnr_tensor *root;
        void *host;
        uint64_t split;
        uint64_t parts;       /* of the split: leased for writing */
        uint64_t read_parts;  /* and for reading */
        tnri_carries carries; /* for all operands of its root */
        bool writes;          /* the lease is a write lease */
        int carrier;          /* first operand of the same root, which carries for it */
        int next;             /* next operand of the same root; -1: the last */
        int sorted;           /* room for sorting (same_root.c) */
        int64_t count;        /* elements of the view */
    } held;
} tnri_operand;

/*
 * All that has to be true before bytes are touched, for all operands or for none: descriptors well-formed and inside their
 * owners, owners alive (TNR_ERR_STALE), reachable by the host (TNR_ERR_RESIDENCY), leases had (TNR_ERR_BUSY), written
 * elements distinct and apart from inputs or the very same (TNR_ERR_OVERLAP), mappable memory mapped. Operands of one root
 * share one lease. Any number of operands, in O(n log n) when one of them is written. On success every non-empty operand has
 * `data`; end with tnri_access_end.
 */
tnr_status tnri_access_begin(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing);

/*
 * Memory that the host cannot reach is *away*: its domain's read and write copy it, box by box. Where such operands are taken
 * too, the data of one is no address but a place: it counts bytes from the block's first one, from TNRI_AWAY_BASE on, where
 * no memory is. Steps along a view's strides keep it a place.
 */
#define TNRI_AWAY_BASE ((UINTPTR_MAX >> 9) + 1)
static inline uint64_t tnri_away_byte(const void *place) { return (uint64_t)((uintptr_t)place - TNRI_AWAY_BASE); }

/* tnri_access_begin that takes operands in domains that copy as well; end it in the same way. */
tnr_status tnri_access_begin_away(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing);

/*
 * Leases and checks without a mapping, for who reaches the bytes by another way: a device's companion. The data of what the host
 * does not reach directly is a place, also where it could be mapped. End it in the same way.
 */
tnr_status tnri_access_begin_bare(const char *op, tnri_operand *operands, int count, tnri_aliasing aliasing);

/* A box of an away root's block, to or from packed host memory. The lease is held. */
tnr_status tnri_away_read(const tnr_tensor *root, const tnr_domain_box *box, void *host);
tnr_status tnri_away_write(const tnr_tensor *root, const tnr_domain_box *box, const void *host);

/*
 * The address of an away root's block for a transport that reaches it, once what must come first is over; until it is concealed. The
 * lease is held. Only where tnr_domain.exposes says so.
 */
tnr_status tnri_away_expose(const tnr_tensor *root, tnr_map_mode mode, void **address);
void tnri_away_conceal(const tnr_tensor *root, tnr_map_mode mode);

/* Unmap and give the leases back. A failing unmap of a written operand is TNR_ERR_BACKEND or the domain's answer. */
tnr_status tnri_access_end(tnri_operand *operands, int count);

/*
 * Strides for `shape` over the elements of `view` in column-major order; false, and no text of a failure: there are none.
 * Counts are equal and not 0. (view.c)
 */
bool tnri_reshape_strides(const tnr_view *view, int rank, const int64_t *shape, int64_t *strides);

/* ---- Loop nests (nest.c): pure; what the copy and every elementwise and reducing kernel run over -------------------------------- */

/* Most operands of one nest. */
#define TNRI_NEST_OPERANDS 4

/* One operand going in. Strides in elements; data is the first element. */
typedef struct tnri_nest_operand {
    const void *data;
    const int64_t *strides;
    size_t element_bytes;
} tnri_nest_operand;

/*
 * The same index space for all operands, axes of extent 1 dropped, axis 0 the one on which operand 0 steps least, all of
 * operand 0's strides >= 0 (an axis is walked backwards where they were not), neighbouring axes merged where every operand
 * allows it. data moves while the nest is walked.
 */
typedef struct tnri_nest {
    int rank;
    int count; /* operands */
    char *data[TNRI_NEST_OPERANDS];
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNRI_NEST_OPERANDS][TNR_MAX_RANK]; /* in bytes */
    int64_t index[TNR_MAX_RANK];
} tnri_nest;

/* False when the shape is empty: nothing to do. Otherwise rank >= 1: a single element is one axis of extent 1. */
bool tnri_nest_make(tnri_nest *nest, int rank, const int64_t *shape, int count, const tnri_nest_operand *operands);

/* Exchange two axes of a nest that has not been walked yet. */
void tnri_nest_exchange(tnri_nest *nest, int a, int b);

/* Step to the next combination of the axes from `first` on, moving data; false (data back at the start) after the last. */
bool tnri_nest_step(tnri_nest *nest, int first);

/* ---- The one strided copy (copy.c, copy_plan.c): pure, no leases -------------------------------------------------------------- */

/*
 * Copy elements of element_bytes (1, 4, 8 or 16) from one layout to another of the same shape, on the calling thread. Strides
 * in elements; target and source point at the first elements; memory must not overlap. The source's elements may.
 */
void tnri_copy_elements(size_t element_bytes, int rank, const int64_t *shape, void *target,
                        const int64_t *target_strides, const void *source, const int64_t *source_strides);

typedef struct tnri_copy_kernels tnri_copy_kernels;

/* Kernels of an instruction set; asking for one that the machine lacks is the caller's fault. */
const tnri_copy_kernels *tnri_copy_kernels_of(tnri_isa isa);

/* One loop over blocks: `count` times `step` elements along `axis`. */
typedef struct tnri_copy_loop {
    int axis;
    int64_t step;
    int64_t count;
} tnri_copy_loop;

/*
 * A copy that is ready to run, whole or in pieces: what blocks the index space is cut into and in which order they are
 * taken. Made on the stack in well under a microsecond; holds no memory and does not change while it runs.
 */
typedef struct tnri_copy_plan {
    const tnri_copy_kernels *kernels;
    tnri_nest nest;       /* target and source */
    uint64_t bytes;       /* to be written */
    int64_t blocks;       /* 0: nothing to do */
    int64_t cut_block;    /* elements of a block along axis `cut`; axes below it are whole in every block */
    int64_t across_block; /* and along axis `across`; all other axes have one element in a block */
    int64_t ahead;        /* blocks from the one that is copied to the one that is fetched into the cache */
    int64_t pitch;        /* bytes from row to row of the buffer in which a block is put together */
    int64_t chunk;        /* rows of that buffer that are put together and written at a time */
    int64_t again;        /* elements of a block along axis `second` */
    int cut;
    int across;  /* -1: none */
    int second;  /* axis on which the source goes on where it ends along `across`; -1: none */
    int columns; /* axis of a block along which the source steps least, besides axis 0; -1: none */
    int shift;   /* an element has 1 << shift bytes */
    enum {
        TNRI_COPY_PLAIN,  /* ordinary stores */
        TNRI_COPY_RUNS,   /* past the caches: runs that are runs of the source too */
        TNRI_COPY_TILES,  /* past the caches: transposed tiles, line by line */
        TNRI_COPY_BLOCKS, /* past the caches: runs of whole lines, put together while the next block is fetched */
        TNRI_COPY_LINES   /* past the caches: anything else, put together in a buffer */
    } mode;
    int loops;
    tnri_copy_loop loop[TNR_MAX_RANK + 1]; /* innermost first */
} tnri_copy_plan;

/* As tnri_copy_elements. `streams`: write past the caches where the target's layout allows it. */
void tnri_copy_plan_make(tnri_copy_plan *plan, const tnri_copy_kernels *kernels, bool streams, size_t element_bytes,
                         int rank, const int64_t *shape, void *target, const int64_t *target_strides,
                         const void *source, const int64_t *source_strides);

/*
 * Copy piece `piece` of `pieces` equal ones; any number of pieces, in any order, on any threads. Different pieces write
 * different elements, mostly in different cache lines.
 */
void tnri_copy_plan_run(const tnri_copy_plan *plan, int64_t piece, int64_t pieces);

#endif /* TENURE_STORAGE_STORAGE_H */
