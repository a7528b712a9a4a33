/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of tenure::cuda share.
 *
 *   driver.c   finding the driver: a table of functions    store.c     records of one size, from the home
 *   guard.c    who may call now; errors; poison            lane.c      order in and between lanes: numbers and marks
 *   device.c   opening, closing, describing                memory.c    blocks: taking, releasing, retirement, quarantine
 *   domain.c   the kinds of memory as domains              plan.c      layouts as copies of runs, rows and planes: pure
 *   ring.c     chunks of page-locked memory                transfer.c  one transfer, step by step
 *   flight.c   transfers of views, and their tickets       copies.c    the calls of cuda.h
 *   between.c  two device objects
 *   kernels.c  kernels of our own on a device              nvrtc.c     their compiler; kernels/: their text
 *   layouts.c  shapes and strides as kernels are told      kernel_images_none.c: builds without nvcc
 *   host.c     the program's own page-locked memory        box.c       a domain's read and write
 *
 * One mutex per device object guards everything of it; calls into the driver are made under it, but for the last wait of a
 * call. Nothing of the core that may call back into a domain is called under it. The core is reached through tnr_provider alone.
 *
 * Order. Every batch of work gets the next number of its lane *before* the driver is asked for anything, and each block that it
 * touches notes lane and number. A *mark* is an event behind number n: once it is reached, everything up to n is over. So "is
 * this block free of work" is a comparison of numbers, and one event serves many blocks.
 */
#ifndef TENURE_CUDA_CUDA_INTERNAL_H
#define TENURE_CUDA_CUDA_INTERNAL_H

#include <pthread.h>

#include "driver_internal.h"
#include "kernels_internal.h"

/* Lane 0 is the house's: allocation, release, copies for domains. The program's follow. */
enum {
    TNRI_LANES = TNR_CUDA_MAX_LANES + 1,
    TNRI_HOUSE = 0,
    TNRI_CHUNKS = 8,
    TNRI_BUCKETS = 256,
    TNRI_MOST_OPEN = TNR_CUDA_MAX_OPEN
};

/* ---- Records of one size (store.c) --------------------------------------------------------------------------------------------- */

typedef struct tnri_store {
    size_t item; /* bytes of one */
    void *free;
    struct tnri_store_piece *pieces;
} tnri_store;

tnr_status tnri_store_take(tnri_store *store, tnr_domain *home, void **item); /* zeroed */
void tnri_store_give(tnri_store *store, void *item);
void tnri_store_end(tnri_store *store, tnr_domain *home);

/* ---- Lanes and marks (lane.c) --------------------------------------------------------------------------------------------------- */

typedef struct tnri_mark {
    struct tnri_mark *next; /* of its lane, in the order of their numbers; or of those that can be used again */
    CUevent event;
    uint64_t number;
    uint32_t holders; /* threads that wait for it without the lock */
    bool reached;     /* out of its lane's list */
} tnri_mark;

struct tnr_cuda_lane {
    tnr_cuda_device *device;
    int index;
    atomic_uint inside; /* a thread is */
    CUstream stream;
    uint64_t issued;             /* number of the last batch */
    uint64_t done;               /* everything up to this is known to be over */
    uint64_t waited[TNRI_LANES]; /* up to which number of each other lane this one was made to wait */
    tnri_mark *first;            /* marks that are not known to be reached */
    tnri_mark *last;
};

/* ---- Blocks (memory.c) ----------------------------------------------------------------------------------------------------------- */

typedef struct tnri_cuda_domain tnri_cuda_domain;

typedef struct tnri_memory {
    struct tnri_memory *next; /* of its bucket while it is out; then of those retiring, quarantined or retained */
    tnr_cuda_device *device;
    tnri_cuda_domain *domain; /* NULL: closed, which only quarantined blocks live to see */
    tnr_cuda_memory kind;
    uint64_t address; /* 256-byte aligned; the driver's own */
    uint64_t bytes;
    tnr_domain *bound; /* pinned memory bound to a node: where its pages came from, or NULL */
    tnr_block pages;
    int written_in; /* lane of the last writer */
    uint64_t written;
    uint64_t used[TNRI_LANES]; /* last batch of each lane that touches it, writers included */
} tnri_memory;

struct tnri_cuda_domain {
    tnr_cuda_device *device;
    tnri_cuda_domain *next;
    tnr_domain *domain; /* whose state this is; NULL until it is made */
    const void *maker;  /* call that makes it */
    tnr_cuda_memory memory;
    CUmemoryPool pool;
    tnr_domain *bound; /* pinned: pages of the node near the device; NULL: the driver's */
    uint64_t max_bytes;
    uint64_t retain_bytes;
    uint64_t out_bytes;
    uint64_t retained_bytes;
    tnri_memory *retained[64]; /* pinned, by power of two */
    uint64_t peers;            /* devices that may reach the pool, by ordinal */
    bool orphan;               /* its engine has ended, its tensors had not: the device object closes it */
};

/* The program's page-locked memory. */
typedef struct tnri_registered {
    struct tnri_registered *next;
    uint64_t address;
    uint64_t bytes;
    uint64_t users; /* transfers in flight */
} tnri_registered;

/* ---- Plans (plan.c): pure -------------------------------------------------------------------------------------------------------- */

/* One side of a copy: address of the first element, and what it is to the driver. */
typedef struct tnri_side {
    bool host;
    uint64_t address;
    CUcontext context; /* of a copy between devices; NULL else */
} tnri_side;

/* A copy of one layout to another as `operations` blocks of depth planes of height rows of width bytes. */
typedef struct tnri_plan {
    uint64_t width;
    uint64_t height;
    uint64_t depth;
    uint64_t pitch[2]; /* bytes from row to row: target, source */
    uint64_t slice[2]; /* rows from plane to plane */
    uint64_t operations;
    int loops;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[2][TNR_MAX_RANK]; /* bytes */
    int64_t begin[2];                 /* bytes from the first element to the first of the plan */
} tnri_plan;

/* strides in bytes; target elements distinct; no extent 0. `most_pitch`: longest step from row to row that the driver takes. */
void tnri_plan_make(tnri_plan *plan, int64_t most_pitch, uint64_t element_bytes, int rank, const int64_t *shape,
                    const int64_t *target_strides, const int64_t *source_strides);

/*
 * A layout on the device and one on the host, of the same elements, in the order of the device's memory: axes of extent 1
 * dropped, none stepped backwards on the device, the smallest step first; axes on which the device's does not move at all apart.
 */
typedef struct tnri_pair {
    size_t element_bytes;
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t away[TNR_MAX_RANK]; /* steps on the device, bytes */
    int64_t host[TNR_MAX_RANK]; /* on the host, elements */
    int repeats;                /* the host's axes of elements that the device has once */
    int64_t repeat_shape[TNR_MAX_RANK];
    int64_t repeat_host[TNR_MAX_RANK];
    int64_t away_begin; /* bytes from the views' first elements to the pair's */
    int64_t host_begin; /* elements */
    uint64_t bytes;     /* on the device, each element once */
} tnri_pair;

void tnri_pair_make(tnri_pair *pair, size_t element_bytes, int rank, const int64_t *shape, const int64_t *away_strides,
                    const int64_t *host_strides); /* strides in elements; no extent 0 */

/* A box of a pair that fits a chunk, and the next one. */
typedef struct tnri_piece {
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t index[TNR_MAX_RANK]; /* where it begins */
    uint64_t bytes;
} tnri_piece;

void tnri_piece_first(const tnri_pair *pair, uint64_t most, tnri_piece *piece);
bool tnri_piece_next(const tnri_pair *pair, uint64_t most, tnri_piece *piece); /* false: that was the last */
int64_t tnri_piece_away(const tnri_pair *pair, const tnri_piece *piece);       /* bytes from the pair's begin */
int64_t tnri_piece_host(const tnri_pair *pair, const tnri_piece *piece);       /* elements */

/* ---- Chunks (ring.c) -------------------------------------------------------------------------------------------------------------- */

typedef struct tnri_flight tnri_flight;

typedef enum tnri_chunk_state { TNRI_CHUNK_FREE, TNRI_CHUNK_BUSY, TNRI_CHUNK_LOST } tnri_chunk_state;

typedef struct tnri_chunk {
    char *bytes;
    tnri_chunk_state state;
    int lane;
    uint64_t number;       /* of the batch that uses it */
    tnri_flight *download; /* whose elements are to be taken out, or NULL */
    tnri_piece piece;      /* which ones */
} tnri_chunk;

/* ---- Flights (flight.c) ------------------------------------------------------------------------------------------------------------ */

typedef enum tnri_way { TNRI_UPLOAD, TNRI_DOWNLOAD, TNRI_ON_DEVICE } tnri_way;

struct tnri_flight {
    tnr_ticket ticket; /* first */
    struct tnri_flight *next;
    tnr_cuda_lane *lane;
    const char *op;
    tnri_way way;
    tnr_view target_view;
    tnr_view source_view;
    tnri_operand away[2]; /* on the device: target first where both are */
    tnri_operand host;
    int aways;
    bool has_host;
    tnr_domain *ledger; /* domain of the target */
    tnr_copy_reason reason;
    uint64_t ledger_bytes;
    tnri_memory *target; /* NULL: on the host */
    tnri_memory *source;
    tnri_registered *registered; /* held, or NULL */
    tnri_pair pair;
    uint64_t base;    /* of the device's side: address of the first element */
    char *host_base;  /* of the host's */
    uint64_t most;    /* bytes of a piece, at most a chunk's */
    tnri_piece piece; /* next to go through a chunk */
    bool pieces_left;
    bool staged;
    bool touches_host;  /* the device itself reads or writes the host operand */
    bool ordered;       /* over as soon as it is in its lane */
    bool issued;        /* something was given to the driver */
    int outstanding;    /* chunks with elements of this download */
    tnri_output output; /* the target is a new tensor, that nobody knows yet */
    bool owns_output;
    uint64_t number; /* last batch */
    tnr_status status;
};

/* ---- Kernels ----------------------------------------------------------------------------------------------------------------------- */

enum { TNRI_PATH_BYTES = 512 };
typedef enum tnri_module_state { TNRI_MODULE_UNTRIED, TNRI_MODULE_LOADED, TNRI_MODULE_NONE } tnri_module_state;

/* ---- The device object --------------------------------------------------------------------------------------------------------------- */

struct tnr_cuda_device {
    tnr_domain *home;
    tnr_block record;
    tnri_driver driver;
    CUdevice handle;
    CUcontext context;
    long owner; /* process that opened it */
    pthread_mutex_t mutex;
    tnr_cuda_options options; /* defaults filled in */
    tnr_cuda_device_info info;
    tnr_cuda_statistics counts;
    int64_t max_pitch; /* longest step from row to row that the driver takes */
    int multiprocessors;
    bool context_held; /* retained and not yet released */
    bool released;     /* the driver took that back */
    bool gone;         /* released, and nobody else had it: all that ran in it is over */
    bool unloading;    /* the driver said so */
    tnr_status poison;
    char poison_text[TNR_ERROR_TEXT_BYTES];
    tnr_cuda_lane lanes[TNRI_LANES];
    int lane_count; /* the house's included */
    tnri_mark *free_marks;
    tnri_store mark_store;
    tnri_store memory_store;
    tnri_store flight_store;
    tnri_store registered_store;
    tnri_memory *buckets[TNRI_BUCKETS];
    tnri_memory *retiring; /* oldest first */
    tnri_memory *quarantined;
    tnri_cuda_domain *domains;
    tnri_registered *registered;
    tnri_flight *lost;           /* transfers that touch host memory and cannot be proved to be over */
    uint64_t lost_count;         /* of these */
    uint64_t domain_count;       /* all; of these: */
    uint64_t engine_count;       /* the own ones of engines, one each */
    uint64_t orphan_count;       /* and of engines that have ended */
    uint64_t managed_maps;       /* managed blocks mapped now */
    char nvrtc[TNRI_PATH_BYTES]; /* file of NVRTC; "": look for it */
    tnri_module_state module_states[TNRI_MODULES];
    CUmodule modules[TNRI_MODULES];
    CUfunction kernels[TNRI_KERNELS]; /* those that were asked for */
    char *ring;
    tnri_chunk chunks[TNRI_CHUNKS];
};

/* -- guard.c -- */

/* TNR_ERR_BACKEND in a forked child; without a lock, so the first thing to ask. */
tnr_status tnri_device_here(const char *op, const tnr_cuda_device *device);
/* Lock and make the context current; fails, nothing held, when the object is poisoned. */
tnr_status tnri_device_enter(const char *op, tnr_cuda_device *device);
/* The same for what ends things: a poisoned object is entered too. *current: the context is. Fails in a forked child only. */
tnr_status tnri_device_enter_ended(const char *op, tnr_cuda_device *device, bool *current);
/* Undo; gives `status` back. */
tnr_status tnri_device_leave(tnr_cuda_device *device, bool current, tnr_status status);
/* Its lanes live from here until unlist. TNR_ERR_MEMORY: too many are open. */
tnr_status tnri_device_list(const char *op, const tnr_cuda_device *device);
void tnri_device_unlist(const tnr_cuda_device *device);
/* TNR_ERR_STALE for a lane whose device object was closed, at which nothing looks. The first thing to ask of a lane. */
tnr_status tnri_lane_here(const char *op, const tnr_cuda_lane *lane);
/* One thread in a lane that lives: TNR_ERR_BUSY. Before the lock. */
tnr_status tnri_lane_enter(const char *op, tnr_cuda_lane *lane);
void tnri_lane_leave(tnr_cuda_lane *lane);
/* TNR_OK for CUDA_SUCCESS; else "op: cuX: CUDA_ERROR_Y", and the object is poisoned where the context is gone. */
tnr_status tnri_device_check(const char *op, tnr_cuda_device *device, const char *call, CUresult code);
#define TNRI_CUDA(op, device, member, ...) \
    tnri_device_check(op, device, tnri_call_name_##member, (device)->driver.member(__VA_ARGS__))
#define TNRI_CUDA_NAME(member, name, parameters) extern const char tnri_call_name_##member[];
TNRI_CUDA_CALLS(TNRI_CUDA_NAME)
#undef TNRI_CUDA_NAME

/* -- lane.c: all under the lock, context current -- */

/* Number of the next batch of the lane. */
uint64_t tnri_lane_begin(tnr_cuda_lane *lane);
/* Order the lane behind whatever the next batch must wait for. */
tnr_status tnri_lane_order(const char *op, tnr_cuda_lane *lane, const tnri_memory *memory, bool write);
/* The batch that was begun last touches this block. */
void tnri_lane_note(const tnr_cuda_lane *lane, tnri_memory *memory, bool write);
/* Make `lane` wait for another one's batches up to a number; the other may be of another device object, locked too. */
tnr_status tnri_lane_behind(const char *op, tnr_cuda_lane *lane, tnr_cuda_lane *other, uint64_t number);
/* From now on others can be made to wait for all that was issued without the lane's own context: a mark is there, or it is over. */
tnr_status tnri_lane_mark(const char *op, tnr_cuda_lane *lane);
/* Is everything up to this number over? Asks the driver when that is not known. False too when it cannot tell. */
bool tnri_lane_reached(tnr_cuda_lane *lane, uint64_t number);
/* Wait for that. After a failure nothing is proved. `open`: the mutex is let go meanwhile. */
tnr_status tnri_lane_wait(const char *op, tnr_cuda_lane *lane, uint64_t number, bool open);
/* Wait for all lanes; the first failure, after all were tried. */
tnr_status tnri_lanes_wait(const char *op, tnr_cuda_device *device);
/* Destroy the events. */
void tnri_marks_end(tnr_cuda_device *device, bool current);

/* -- memory.c -- */

tnr_status tnri_memory_take(const char *op, tnri_cuda_domain *domain, uint64_t bytes, tnri_memory **memory);
/* Page-locked memory of the host's in the books of a domain of any kind. */
tnr_status tnri_memory_take_pinned(const char *op, tnri_cuda_domain *domain, uint64_t bytes, tnri_memory **memory);
/* Never fails: freed, retired or quarantined. `current`: the driver may be asked. It is out of its bucket. */
void tnri_memory_release(tnri_memory *memory, bool current);
tnri_memory *tnri_memory_find(const tnr_cuda_device *device, uint64_t address);
/* Free what waits and is free of work by now; `wait`: wait for all of it. */
void tnri_memory_drain(tnr_cuda_device *device, bool wait);
/* Give retained pinned memory back until at most keep bytes stay. */
void tnri_memory_trim(tnri_cuda_domain *domain, uint64_t keep);
/* A domain closes: nothing of it is out. Its blocks that wait are given back, or quarantined without it. */
void tnri_memory_forget(tnri_cuda_domain *domain, bool current);
/* Everything that ran is proved to be over, or the context is gone: end all quarantine of blocks. */
void tnri_memory_recover(tnr_cuda_device *device, bool gone);

/* -- domain.c -- */

/* The device's domain behind this one, pools over it included; NULL: none. */
tnri_cuda_domain *tnri_domain_of(const tnr_cuda_device *device, const tnr_domain *domain);
/* Is this domain page-locked memory of any device object's? */
bool tnri_domain_is_pinned(const tnr_domain *domain);
bool tnri_domain_is_device(const tnr_domain *domain);

/* -- box.c -- */

tnr_status tnri_box_read(void *state, const tnr_block *block, const tnr_domain_box *box, void *host);
tnr_status tnri_box_write(void *state, const tnr_block *block, const tnr_domain_box *box, const void *host);

/* -- plan.c, the one that asks the driver -- */

tnr_status tnri_plan_issue(const char *op, tnr_cuda_lane *lane, const tnri_plan *plan, tnri_side target,
                           tnri_side source);

/* -- nvrtc.c -- */

/* An image of a module for this compute capability, in a record of the home; its length is the block's tag. */
tnr_status tnri_nvrtc_compile(const char *op, const char *path, tnri_module module, int major, int minor,
                              tnr_domain *home, tnr_block *image);

/* -- kernels.c: under the lock, context current -- */

/*
 * A kernel (tnri_kernel; -1 is answered TNR_ERR_UNSUPPORTED). Its module is loaded at the first call: the image that nvcc made if the
 * device takes it (TENURE_CUDA_IMAGES=off: not tried), else what NVRTC makes. A module that could not be had is not tried again.
 */
tnr_status tnri_kernel_get(const char *op, tnr_cuda_device *device, int kernel, CUfunction *function);
/* Given to the lane, whose batch was begun. */
tnr_status tnri_kernel_launch(const char *op, tnr_cuda_lane *lane, int kernel, unsigned blocks, void **parameters);
/* Copy elements from operands[1] to operands[0]; their addresses become those of the walk. */
tnr_status tnri_kernel_copy(const char *op, tnr_cuda_lane *lane, int rank, const int64_t *shape,
                            tnri_kernel_operand *operands);
/* Can copies on this device go by kernels? */
bool tnri_kernels_ready(const char *op, tnr_cuda_device *device);
void tnri_kernels_end(tnr_cuda_device *device, bool current);
/* Copy on the device; the pair's "away" is the target, its "host" the source, which must step on every axis or be broadcast. */
tnr_status tnri_kernel_pack(const char *op, tnr_cuda_lane *lane, uint64_t element_bytes, const tnri_pair *axes,
                            uint64_t target, uint64_t source);

/* -- ring.c -- */

/* A free chunk, or NULL when there is none without waiting. */
tnr_status tnri_chunk_take(const char *op, tnr_cuda_device *device, bool wait, tnri_chunk **chunk);
/* Take in what arrived: downloads' elements go to where they belong. */
void tnri_chunks_collect(tnr_cuda_device *device);
/* Forget what chunks hold for a flight that failed: free when `over`, else lost. */
void tnri_chunks_drop(tnr_cuda_device *device, const tnri_flight *flight, bool over);
void tnri_chunks_recover(tnr_cuda_device *device);
void tnri_ring_end(tnr_cuda_device *device, bool current);

/* -- transfer.c: under the lock, context current -- */

/* Choose a path for an upload or download whose pair, base and host_base are set; `locked`: the host's side is page-locked. */
void tnri_transfer_prepare(tnri_flight *flight, bool locked);
/* All of it goes through chunks, in pieces of at most so many bytes. */
void tnri_transfer_stage(tnri_flight *flight, uint64_t most);
/* Order the lane behind what must come first. TNR_ERR_BUSY and errors of what ran before: nothing was given to the driver. */
tnr_status tnri_transfer_begin(tnri_flight *flight);
/* Go on; `wait`: to the end. *over: nothing of it is in flight, or what is, is ordered and touches no memory of the host's. */
tnr_status tnri_transfer_step(tnri_flight *flight, bool wait, bool *over);
/* It failed: wait for what was given to the driver. False: not proved to be over. */
bool tnri_transfer_fail(tnri_flight *flight);
/*
 * Give a copy between views on one device, or on two (the sides' contexts differ, and the lane's device reaches both), to the lane, whose batch was
 * begun: as a few operations of the driver, or as one kernel of the lane's device where there are kernels.
 */
tnr_status tnri_transfer_views(const char *op, tnr_cuda_lane *lane, int64_t most_pitch, const tnr_view *to,
                               const tnr_view *from, tnri_side target, tnri_side source);

/* -- flight.c -- */

extern const tnri_ticket_class tnri_transfer_tickets;

/* What one copy is to do. */
typedef struct tnri_order {
    const char *op;
    tnri_way way;
    const tnr_view *target; /* NULL: a new tensor of `domain` */
    const tnr_view *source;
    tnr_domain *domain;
    tnr_copy_reason reason;
} tnri_order;

/* Run a copy, to its end or (ticket not NULL) as a ticket. */
tnr_status tnri_flight_run(tnr_cuda_lane *lane, const tnri_order *order, tnr_tensor **tensor, tnr_ticket **ticket);
/* A record for such a copy, of the lane's device object; its target view is still to be told. */
tnr_status tnri_order_take(tnr_cuda_lane *lane, const tnri_order *order, tnri_flight **flight);
/*
 * The flight's device work is over, well or not; `lost`: or not proved to be. Leases, ledger, the new tensor, the record; its status. Not under
 * the lock.
 */
tnr_status tnri_order_conclude(tnri_flight *flight, tnr_status status, bool lost, tnr_tensor **tensor);
/* Give the leases of lost transfers back, which are proved to be over by now. Not under the lock. */
void tnri_flights_recover(tnr_cuda_device *device);
/* dtype and shape agree. */
tnr_status tnri_views_agree(const char *op, const tnr_view *target, const tnr_view *source);
/* What a refused domain is to the call, and what to do instead where it is the host's, or another device object's. */
typedef struct tnri_hint {
    const char *what;
    const char *host;
    const char *foreign;
} tnri_hint;
#define TNRI_OWN_LANE "name a lane of the domain's own device object"
/* Is this domain (NULL: adopted memory) one where the device's side of a copy may lie? */
tnr_status tnri_check_device_domain(const char *op, tnr_cuda_device *device, const tnr_domain *domain,
                                    const tnri_hint *hint);
/* The block behind an operand on the device, and where its first element is. The lease is held. */
tnr_status tnri_find_away(const char *op, tnr_cuda_device *device, const tnri_operand *operand, const tnri_hint *hint,
                          tnri_memory **memory, uint64_t *base);

/* -- host.c -- */

/* The registered memory that all of these bytes lie in; NULL: none. */
tnri_registered *tnri_registered_find(const tnr_cuda_device *device, uint64_t address, uint64_t bytes);

#endif /* TENURE_CUDA_CUDA_INTERNAL_H */
