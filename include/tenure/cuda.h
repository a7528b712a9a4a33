/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cuda.h
 * NVIDIA devices: domains for their memory and explicit copies to and from them. Library tenure::cuda.
 *
 * The driver is looked for when a program asks, not when it starts: a program linked with this library runs on machines without
 * a device or a driver, and tnr_cuda_look says what there is. No type of CUDA's appears here.
 *
 * What belongs to the program stays as it was after every call: current context and device, streams, allocations. The library
 * works in the device's primary context, on streams of its own, and gets nothing done at exit: what is not closed then is left
 * to the system.
 *
 * Forks. A forked child may not use what its parent opened (TNR_ERR_BACKEND). Releasing inherited tensors there, ending engines and closing
 * domains touches nothing of the device's; tickets and registered memory cannot be ended there, and what they hold stays leased. A child
 * that wants a device is forked before its parent looks for one (tnr_cuda_look starts the driver), and opens it itself.
 *
 * Lanes. Work on a device goes in lanes, each a queue in which one thing follows the other. A copy between host and device, or on the
 * device, names its lane. Different lanes run side by side; where they touch one tensor the library orders them: whoever reads
 * waits for the last writer, whoever writes for everybody before. So a call's result is the same whatever lanes were named.
 *
 * When bytes move. A call without a ticket returns when its host memory is the caller's again: an upload when the source was read,
 * perhaps before the device has all of it; a download when the target is complete; a copy on the device as soon as it is in its
 * lane. Every later use is ordered behind, also tnr_tensor_release: the bytes are given back when nothing in flight touches them.
 * Calls that end in _start make a ticket (ticket.h) that keeps the leases until it is ended: nothing queues up behind it. Until
 * then every other call on its target, and every call that writes its source, is TNR_ERR_BUSY. It can be abandoned only while nothing of it
 * was given to the driver, which is so while it waits for a chunk; after that tnr_ticket_abandon is TNR_ERR_BUSY: wait.
 *
 * Layouts may differ and be of any kind, as for tnr_copy_into. The driver itself walks layouts whose runs lie at most two
 * levels of equal steps deep (rows, planes), in one operation. Beyond four such operations a copy on the device is one kernel,
 * where the library has its image or NVRTC is there to compile it (once in a device object, for a second or two of a CPU); where not, it is
 * one operation for each such block, and a transposed copy one for each row: slow. To and from the host, such layouts are rearranged by the
 * host, chunk by chunk, in page-locked memory of the device object's.
 *
 * Errors of the device. An operation that fails on the device is heard of by a later call. One that ends the context (an address
 * out of bounds, an uncorrectable memory error) *poisons* the device object: every later call but describe, statistics,
 * releases and close answers with the first error. Memory that the device may still be using then, because nobody can prove that
 * it is not, is in *quarantine*: counted, never given out again, and given back when a later proof arrives
 * (tnr_cuda_synchronize, or the end of the context in tnr_cuda_device_close).
 *
 * Threads: any thread may call; one at a time in a lane, where a second one gets TNR_ERR_BUSY at once: whoever tries again and again is
 * let in when the other one pauses, so threads that work at the same time had better have a lane each. In different lanes they take
 * turns at the device object and nobody is refused. Domains may be used by several.
 * Closing a device object needs it alone.
 */
#ifndef TENURE_CUDA_H
#define TENURE_CUDA_H

#include "tenure/engine.h"
#include "tenure/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_cuda_device tnr_cuda_device;
typedef struct tnr_cuda_lane tnr_cuda_lane;

/* ---- Is there a device? ------------------------------------------------------------------------------------------------- */

/** What a look at the driver found. */
typedef enum tnr_cuda_state {
    TNR_CUDA_AVAILABLE = 0,
    TNR_CUDA_NO_DRIVER,  /**< there is no such library, or TENURE_CUDA_DRIVER is "off" */
    TNR_CUDA_STUB,       /**< the toolkit's stand-in, which programs are only linked against */
    TNR_CUDA_NO_DEVICE,  /**< a driver, but no device, or CUDA_VISIBLE_DEVICES hides all */
    TNR_CUDA_TOO_OLD,    /**< of before CUDA 11.4 */
    TNR_CUDA_INIT_FAILED /**< the driver refuses to start */
} tnr_cuda_state;

/** The same with a text. */
typedef struct tnr_cuda_sight {
    tnr_cuda_state state;
    int devices;        /**< how many are visible */
    int driver_version; /**< 1000 * major + 10 * minor of the newest CUDA that the driver knows; 0: not known */
    char text[TNR_ERROR_TEXT_BYTES];
    uint64_t reserved[4]; /**< 0 */
} tnr_cuda_sight;

/**
 * Look for a driver and its devices. Never fails, prints nothing, and leaves no context behind. Thread-safe.
 * @param driver file of the driver; NULL: the environment's TENURE_CUDA_DRIVER, else libcuda.so.1.
 */
TNR_API void tnr_cuda_look(const char *driver, tnr_cuda_sight *sight);

/* ---- Device object ------------------------------------------------------------------------------------------------------- */

/** Most lanes of a device object. */
#define TNR_CUDA_MAX_LANES 8

/** Most device objects that are open in a process at one time. */
#define TNR_CUDA_MAX_OPEN 64

/** Settings of a device object. Zero means the default; start from TNR_CUDA_OPTIONS. */
typedef struct tnr_cuda_options {
    size_t size;            /**< sizeof(tnr_cuda_options) */
    const char *driver;     /**< as for tnr_cuda_look; of any length that the system's loader takes */
    int ordinal;            /**< which visible device, from 0; not looked at with by_uuid */
    bool by_uuid;           /**< choose by uuid: ordinals change with CUDA_VISIBLE_DEVICES */
    unsigned char uuid[16]; /**< of the device, or of its MIG instance where the driver shows that as a device */
    int lanes;              /**< 1 to TNR_CUDA_MAX_LANES; 0: 2 */
    uint64_t
        direct_bytes; /**< dense uploads up to this go straight from ordinary host memory; 0: 64 KiB; at most 1 GiB */
    uint64_t
        chunk_bytes; /**< other transfers of ordinary memory go in chunks of this through page-locked memory, 4 KiB to 256 MiB and a multiple of 64; 0: 4 MiB */
    int chunks;      /**< such chunks, 2 to 8; 0: 4. Taken at the first use */
    int retirements; /**< released blocks that may wait for work in flight, 1 to 256; 0: 32 */
    const char *
        nvrtc; /**< file of NVRTC, which compiles the library's kernels when the first one is wanted; at most 511 bytes; "off": none. NULL:
                            the environment's TENURE_NVRTC, else libnvrtc.so of CUDA 13, 12 or 11 */
} tnr_cuda_options;

/* clang-format off */
#define TNR_CUDA_OPTIONS {sizeof(tnr_cuda_options), NULL, 0, false, {0}, 0, 0, 0, 0, 0, NULL}
/* clang-format on */

/**
 * Open a device: retain its primary context, make lanes. Two opens of one device are two objects, whose domains are each
 * other's foreigners; two ranks may open the same device.
 * @param home keeps the object and its records; reached by the host directly (TNR_ERR_RESIDENCY: managed domains are not); must outlive it.
 * TNR_ERR_UNSUPPORTED, with the text of tnr_cuda_look, when there is no driver or device; TNR_ERR_BOUNDS, naming what is there, for an
 * ordinal or UUID that is not visible; TNR_ERR_BACKEND when the driver fails at a step, which the text names. TNR_ERR_MEMORY beyond
 * TNR_CUDA_MAX_OPEN, or where home has no room.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_device_open(tnr_domain *home, const tnr_cuda_options *options,
                                                       tnr_cuda_device **device);

/**
 * Wait for all lanes, give everything back, and null *device. NULL is fine.
 *
 * TNR_ERR_BUSY while tickets, engines or the tensors that they made, domains, registered memory or quarantined host memory of it live; nothing
 * changed then, but what was in quarantine may have been freed. On a poisoned object it ends the context's use: if nobody else retains the primary context, that is
 * the proof that ends all quarantine, else a later close asks again; tensors that live can then be released, memory unregistered, and the device closed. TNR_ERR_BACKEND
 * when the driver failed while it was closed: it is closed all the same. A driver that is unloading is no error. In a forked child it
 * forgets the object where no ticket, engine, domain or registered memory of it lived at the fork; else it is TNR_ERR_BUSY there, also when
 * these were closed there: leave it to the end of the child. Never called at exit by the library.
 */
TNR_API tnr_status tnr_cuda_device_close(tnr_cuda_device **device);

/** Facts about an open device. */
typedef struct tnr_cuda_device_info {
    char name[128];         /**< the driver's; a fake driver of tests says so here */
    unsigned char uuid[16]; /**< all 0 when the driver does not tell */
    int ordinal;
    int driver_version;
    int major; /**< compute capability */
    int minor;
    int numa_node; /**< of the host, nearest to the device; TNR_NONE: not known */
    int lanes;
    uint64_t total_bytes;    /**< the device's memory */
    bool pools;              /**< stream-ordered pools are supported */
    bool managed;            /**< managed memory is supported */
    bool concurrent_managed; /**< the host may touch managed memory while the device works on other */
    uint64_t reserved[8];    /**< 0 */
} tnr_cuda_device_info;

TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_device_describe(const tnr_cuda_device *device, tnr_cuda_device_info *info);

/** Counts of a device object since it was opened. */
typedef struct tnr_cuda_statistics {
    uint64_t tickets;               /**< alive */
    uint64_t operations;            /**< copies, fills and kernels given to the driver */
    uint64_t direct_bytes;          /**< to and from the host without a chunk in between */
    uint64_t staged_bytes;          /**< through chunks */
    uint64_t device_bytes;          /**< on the device, or between two */
    uint64_t launches;              /**< kernels of the library, those of engines included */
    uint64_t lane_waits;            /**< times that one lane was made to wait for another */
    uint64_t host_waits;            /**< times that a call waited for the device */
    uint64_t synchronises;          /**< of these, for a whole lane */
    uint64_t events;                /**< events ever made; they are used again */
    uint64_t retired;               /**< released blocks that had to wait for work in flight */
    uint64_t retiring;              /**< that wait now */
    uint64_t quarantined;           /**< blocks, chunks and transfers in quarantine now */
    uint64_t quarantined_bytes;     /**< of the blocks */
    uint64_t quarantined_ever;      /**< as quarantined, ever */
    uint64_t out_of_memory_retries; /**< times that the driver was asked again after everything was given back to it */
    tnr_status poison;              /**< TNR_OK, or the error that ended the object */
    uint64_t products;              /**< of engines: products by the library's kernel */
    uint64_t blas_products;         /**< and by cuBLAS */
    uint64_t packed;                /**< operands that were copied for cuBLAS, results included */
    uint64_t reserved[5];           /**< 0 */
} tnr_cuda_statistics;

TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_statistics_get(tnr_cuda_device *device, tnr_cuda_statistics *statistics);

/**
 * Lane of this number, from 0; NULL when there is none, or for a NULL device. Lives as long as the device object: a call that names it later is
 * TNR_ERR_STALE, unless another object was opened at the same place by then, whose lane it is taken for.
 */
TNR_API tnr_cuda_lane *tnr_cuda_device_lane(tnr_cuda_device *device, int number);

/**
 * Wait until all lanes are empty; give back what was waiting for that, and what was in quarantine and is now proved to be over.
 * Tickets stay to be ended. Errors of what ran before come out here.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_synchronize(tnr_cuda_device *device);

/**
 * Wait until all work that was given to the lane before this call is over, and for nothing else: with tnr_cuda_engine_lane, for an
 * engine. Does not enter the lane; other threads go on meanwhile, in it too. Never needed for a result to be right: for clocks, and for
 * errors of what ran before, which come out here. Tickets stay to be ended, and a download's elements arrive when its ticket is.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_lane_synchronize(tnr_cuda_lane *lane);

/* ---- Domains --------------------------------------------------------------------------------------------------------------- */

/** Kinds of a device's domains. */
typedef enum tnr_cuda_memory {
    /**
     * Device memory from a stream-ordered pool of this domain's own, so that no setting of it touches anybody else: the usual
     * choice. Not for CUDA IPC, and so not for MPI libraries that take device memory. Where the device has no such
     * pools it is as TNR_CUDA_PLAIN, and tnr_cuda_domain_describe says so.
     */
    TNR_CUDA_POOL = 0,
    TNR_CUDA_PLAIN, /**< device memory taken one by one: exportable, and handed to an MPI that takes it (mpi.h: tnr_world_device) in threads
                         where the program has made the device current. Giving it back waits for the whole device: not in hot loops */
    TNR_CUDA_PINNED,  /**< page-locked host memory: the fast end of transfers. Reached by the host as any other */
    TNR_CUDA_MANAGED, /**< memory that host and device reach in turns: the host by mapping, which waits for the device */
    TNR_CUDA_MEMORY_END
} tnr_cuda_memory;

/** Settings of a domain. Start from TNR_CUDA_DOMAIN_OPTIONS. */
typedef struct tnr_cuda_domain_options {
    size_t size;           /**< sizeof(tnr_cuda_domain_options) */
    uint64_t max_bytes;    /**< most bytes out at one time, TNR_ERR_MEMORY beyond; 0: what the device has */
    uint64_t retain_bytes; /**< bytes kept for the next request when blocks are given back: pool and pinned. 0: 256 MiB;
                                UINT64_MAX: all; 1: nothing */
    tnr_topology
        *topology; /**< pinned: take memory bound to the node nearest to the device, when it is usable; must outlive
                                 the domain. NULL: where the driver puts it */
} tnr_cuda_domain_options;

/* clang-format off */
#define TNR_CUDA_DOMAIN_OPTIONS {sizeof(tnr_cuda_domain_options), 0, 0, NULL}
/* clang-format on */

/**
 * A domain over memory of this kind. Its placement is {device, device number, none}, {pinned, device number, node or none}
 * or {managed, device number, none}; access none, direct, or mapped. Close it by tnr_domain_close, before the device.
 *
 * Blocks start on multiples of 256. Pinned ones are kept by powers of two, within retain_bytes, and used again only
 * when nothing in flight touches them. Out of memory: whatever waits to be given back is, what the domain retains goes back to
 * the driver, and it is asked once more; then TNR_ERR_MEMORY tells what was asked for, what is out and what the cap is.
 * TNR_ERR_UNSUPPORTED for managed memory that the device does not have.
 *
 * The host cannot reach device memory: no call touches it but the copies below, those of tenure::mpi, and engines of the
 * device. Managed tensors are mapped by every call that works on host memory, CPU engines included; while the device works
 * on such a tensor that waits, and while it is mapped the device's calls on it are TNR_ERR_BUSY. Devices without
 * concurrent_managed refuse all work while any managed tensor is mapped, and a mapping waits for all lanes: those of the one device
 * object. Two objects of such a device know nothing of each other: the program itself keeps the one's mappings apart from the other's work.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_domain_create(tnr_cuda_device *device, tnr_cuda_memory memory,
                                                         const tnr_cuda_domain_options *options, tnr_domain **domain);

/** What a domain of a device is. */
typedef struct tnr_cuda_domain_info {
    tnr_cuda_memory memory;  /**< as asked for, but pool memory that the device does not have is PLAIN */
    bool exportable;         /**< may be given to CUDA IPC, and to an MPI that takes device memory */
    uint64_t out_bytes;      /**< handed out, those that wait for work in flight included */
    uint64_t retained_bytes; /**< kept for reuse: pinned, exactly; pool, as the driver tells */
    uint64_t max_bytes;
    uint64_t retain_bytes;
    uint64_t reserved[8]; /**< 0 */
} tnr_cuda_domain_info;

/** Fill *info. TNR_ERR_FOREIGN when the domain is none of the device's. */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_domain_describe(tnr_cuda_device *device, const tnr_domain *domain,
                                                           tnr_cuda_domain_info *info);

/**
 * Wait for all lanes, and give memory that the domain retains back to the driver until at most keep_bytes of it stay.
 * TNR_ERR_FOREIGN as above.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_domain_trim(tnr_cuda_device *device, tnr_domain *domain,
                                                       uint64_t keep_bytes);

/**
 * Page-lock memory of the program's own, so that transfers of tensors that lie in it (tnr_tensor_adopt) go straight. It must stay
 * where it is until tnr_cuda_unregister. Slow (milliseconds per MiB): once for a buffer, never for a transfer.
 * TNR_ERR_OVERLAP when it meets memory that is registered already.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_register(tnr_cuda_device *device, void *data, uint64_t bytes);

/**
 * The inverse. TNR_ERR_FOREIGN for memory that was not registered; TNR_ERR_BUSY while a transfer uses it. TNR_ERR_BACKEND when the driver
 * does not let go of it: it stays registered, and the call may be made again; of a poisoned device when tnr_cuda_device_close
 * has ended its context.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_unregister(tnr_cuda_device *device, void *data);

/* ---- Copies ------------------------------------------------------------------------------------------------------------------ */

/*
 * All of these: dtype and shape must agree (TNR_ERR_DTYPE, TNR_ERR_SHAPE), leases are taken as by an engine (TNR_ERR_BUSY, TNR_ERR_STALE).
 * The device's side must lie in a pool, plain or managed domain of the lane's device object: TNR_ERR_RESIDENCY when it is host
 * memory, TNR_ERR_FOREIGN when it is another object's; the text names the call to make. The host's side is anything
 * that the host reaches. An upload or download within one owner, which is managed memory, is TNR_ERR_OVERLAP where its bytes may meet, else
 * TNR_ERR_ARGUMENT: tnr_cuda_copy_into copies there. Pools (tnr_pool_create) over such domains serve as well. One entry in the ledger of the target's domain.
 * A call that fails has written nothing, or what it had to write is unspecified; new tensors are undone.
 */

/**
 * New tensor of a pool, plain or managed domain, all bytes zero: nothing travels. Ledger: an allocation (create), no copy. For what
 * tnr_tensor_zeros cannot reach.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_zeros(tnr_cuda_lane *lane, tnr_domain *domain, tnr_dtype dtype, int rank,
                                                 const int64_t *shape, tnr_tensor **tensor);

/** Host to device, into a new tensor of `domain`. Ledger: upload. */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_upload(tnr_cuda_lane *lane, const tnr_view *source, tnr_domain *domain,
                                                  tnr_tensor **tensor);
/** Host to device, into elements that are there. */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_upload_into(tnr_cuda_lane *lane, const tnr_view *source,
                                                       const tnr_view_mut *target);
/** The same as a ticket. Parts that go through chunks go on while calls on the ticket or on other transfers of the device run. */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_upload_start(tnr_cuda_lane *lane, const tnr_view *source,
                                                        const tnr_view_mut *target, tnr_ticket **ticket);

/** Device to host, into a new tensor of `domain`. Ledger: download. @{ */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_download(tnr_cuda_lane *lane, const tnr_view *source, tnr_domain *domain,
                                                    tnr_tensor **tensor);
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_download_into(tnr_cuda_lane *lane, const tnr_view *source,
                                                         const tnr_view_mut *target);
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_download_start(tnr_cuda_lane *lane, const tnr_view *source,
                                                          const tnr_view_mut *target, tnr_ticket **ticket);
/** @} */

/** On the device, between any of its pool, plain and managed domains. Ledger: duplicate, copy_into. @{ */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_duplicate(tnr_cuda_lane *lane, const tnr_view *source, tnr_domain *domain,
                                                     tnr_tensor **tensor);
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_copy_into(tnr_cuda_lane *lane, const tnr_view *source,
                                                     const tnr_view_mut *target);
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_copy_start(tnr_cuda_lane *lane, const tnr_view *source,
                                                      const tnr_view_mut *target, tnr_ticket **ticket);
/** @} */

/**
 * Between two device objects, on one device or on two: a lane of each side is named, and both are ordered around the copy. Layouts as on one
 * device; a kernel, where it takes one, is the target's object's. On one device any of both sides' pool, plain and managed domains serve.
 *
 * Between devices it goes directly or not at all. Both sides must be of TNR_CUDA_POOL domains (or of pools over them), whose access is the
 * library's to give, and the target's device must have access to the source's, which may be so in one direction only: else it is
 * TNR_ERR_UNSUPPORTED; download and upload then. Ledger: copy_into.
 *
 * A ticket is one of the target's object, whose lane it is ended in. @{
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_copy_between(tnr_cuda_lane *source_lane, const tnr_view *source,
                                                        tnr_cuda_lane *target_lane, const tnr_view_mut *target);
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_copy_between_start(tnr_cuda_lane *source_lane, const tnr_view *source,
                                                              tnr_cuda_lane *target_lane, const tnr_view_mut *target,
                                                              tnr_ticket **ticket);
/** @} */

/* ---- Engines ----------------------------------------------------------------------------------------------------------------- */

/** Settings of an engine of a device. Zero means the default; start from TNR_CUDA_ENGINE_OPTIONS. */
typedef struct tnr_cuda_engine_options {
    size_t size; /**< sizeof(tnr_cuda_engine_options) */
    tnr_domain
        *output; /**< where outputs are made: a pool, plain or managed domain of the device object, or a pool over
                              one. NULL: the engine's own pool, over a TNR_CUDA_POOL domain of its own */
    uint64_t pool_max_bytes; /**< cap of that pool; TNR_POOL_MAX_BYTES_AUTO */
    uint64_t
        scratch_max_bytes; /**< most device memory that it keeps to itself, TNR_ERR_MEMORY beyond; 0: what the device has */
    uint64_t plan_cache_bytes; /**< of the home, as for tnr_engine_options */
    const char
        *cublas; /**< file of cuBLAS, which is loaded with the first product that is worth it; "off": the library's own
                             kernels make all products. NULL: the environment's TENURE_CUBLAS, else libcublas.so of CUDA 13, 12 or 11.
                             Not used where scratch_max_bytes is below its workspace of 32 MiB */
} tnr_cuda_engine_options;

/* clang-format off */
#define TNR_CUDA_ENGINE_OPTIONS {sizeof(tnr_cuda_engine_options), NULL, TNR_POOL_MAX_BYTES_AUTO, 0, TNR_PLAN_CACHE_BYTES, NULL}
/* clang-format on */

/**
 * An engine that computes on the device: every operation that takes a tnr_engine takes it, with the same meaning, refusals and
 * errors as a CPU engine's (engine.h), on tensors of pool, plain and managed domains of the lane's device object and of pools over
 * these. Ended by tnr_engine_destroy; the device cannot be closed before (TNR_ERR_BUSY).
 *
 * A call puts its work in the lane and returns; later uses of its tensors are ordered behind, in whatever lane, on the host, or when
 * they are released. It waits for the device only where a value decides what happens: integer div, rem and pow look for what they must
 * refuse, gather and scatter look at their indices (not with TNR_OUT_OF_RANGE_CLAMP). One thread at a time is in an engine, and in a lane:
 * TNR_ERR_BUSY else. While one is inside, other calls on the device object wait for it.
 *
 * Operands elsewhere: TNR_ERR_RESIDENCY for host memory (tnr_cuda_upload first), TNR_ERR_FOREIGN for another device object's
 * (tnr_cuda_copy_between). Nothing is moved unasked, and nothing is computed by the host instead: what the device does not have
 * is TNR_ERR_UNSUPPORTED, all of it where there are neither kernels of this architecture in the library nor an NVRTC to make them.
 *
 * Values: integers, sums, differences, products, quotients, square roots, order, casts and copies of elements are a CPU engine's, bit for
 * bit. Mathematical functions are within a few units in the last place (docs/cuda.md). Reductions and products add in another order than a CPU
 * engine, the same one at every run of the same call on the same device (cuBLAS: by its documentation). Products are asked for in no
 * arithmetic narrower than the dtype.
 *
 * Products that are worth it go to cuBLAS, where there is one: its first use in an engine takes time and memory of the device that is
 * no domain's (how much is its business; not measured). Operands that it cannot read are packed before, in scratch. All other products, and all
 * where there is no cuBLAS, are made by the library's kernel, from any layout.
 *
 * A cuBLAS that the option or the environment names and that cannot be used is TNR_ERR_UNSUPPORTED, with the loader's words, at every product
 * that would be its. One that nobody named and that is not there, or does not take the device, is no error: tnr_engine_info.blas tells "own",
 * and tnr_cuda_statistics counts both kinds. No memory for its handle or workspace is TNR_ERR_MEMORY, and the next product asks again.
 *
 * Memory: outputs as said; scratch comes from a domain of the engine's own, is kept, and is entered in that domain's ledger alone.
 * An error of the device is heard of by a later call, and then what was computed meanwhile is unspecified. A call that fails itself has
 * changed nothing, or, where the driver failed after a part of it was in the lane, what it had to write is unspecified; new tensors are undone.
 *
 * @param home keeps the engine, its records and its cache of plans; reached by the host directly; must outlive it.
 * @param options NULL for defaults. TNR_ERR_RESIDENCY when options->output is no memory of a device, TNR_ERR_FOREIGN when it is another
 * device object's; TNR_ERR_ARGUMENT for NULL, or a path longer than 511 bytes; TNR_ERR_BACKEND in a forked child.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cuda_engine_create(tnr_domain *home, tnr_cuda_lane *lane,
                                                         const tnr_cuda_engine_options *options, tnr_engine **engine);

/** The lane that an engine works in; NULL when it is no engine of a device. */
TNR_API tnr_cuda_lane *tnr_cuda_engine_lane(const tnr_engine *engine);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_CUDA_H */
