/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mpi.h
 * Ranks: tensors move between them only by explicit copy, and groups may span them. Library tenure::mpi.
 *
 * A world is made from a communicator of the program's. It never initialises or finalises MPI, sets an error handler only on
 * the duplicate that it makes, and ends no program. Where ranks are in different collective calls at one time, which is a fault of the
 * program, all get TNR_ERR_PEER, which names two ranks and their calls; nothing has moved, and the world goes on.
 *
 * What travels is elements in column-major order of their indices, so the layouts at the two ends may differ; dtype and shape
 * must agree, and a transfer on which they do not is an error at both ends, before any element is written: at the end that finds it
 * TNR_ERR_DTYPE or TNR_ERR_SHAPE, at the other TNR_ERR_PEER with the same text. Both may go on then. An MPI call that fails
 * (TNR_ERR_MPI), a rank that died, and a wait that reached timeout_ms (TNR_ERR_PEER) *poison* the world: every later call but
 * tnr_world_describe and tnr_world_destroy answers with that error at once; elements of what was being written are unspecified.
 * tnr_world_poisoned tells these from the TNR_ERR_PEER of a mere disagreement. The other ranks of the node that wait for one whose
 * world was poisoned hear of it within a fraction of a second, and theirs is poisoned too.
 *
 * Bytes move only while a call runs: on the world (tnr_world_progress does nothing else), on a ticket or on an exchange of it. Nothing
 * works behind the program.
 *
 * Views may have any layout: strided, negative, permuted, empty, rank 0; broadcast ones may be sent. A world's calls take leases as
 * an engine's do, and each copy is one entry in the ledger of the receiving domain. Counts beyond 2^31 are fine. A rank may send to
 * itself: a local copy. Memory that the host cannot reach travels through its domain's own copies (tnr_domain_ops.read and write),
 * piece by piece through host memory of the world's; MPI gets it only where it answered that it takes it (tnr_world_device).
 * TNR_ERR_RESIDENCY where a domain has no copies. Managed memory of devices is host memory here, of which MPI gets copies. When such a
 * copy fails, the transfer fails at both ends: with the domain's error at the one, TNR_ERR_PEER and its text at the other, elements of
 * the target unspecified. If that was the read of the first piece, or came with a payload as small as its header, both may go on as
 * after a disagreement; after it, and in collective calls, at all ranks, it poisons the world. A failing fetch is its caller's alone.
 *
 * Threads: tnr_world_options.threads says which thread may call. One call at a time on a world: a second thread inside it, or
 * inside a ticket of it, gets TNR_ERR_BUSY. Several worlds may be used side by side as MPI's thread level allows.
 */
#ifndef TENURE_MPI_H
#define TENURE_MPI_H

#include <mpi.h>

#include "tenure/group.h"
#include "tenure/machine.h"
#include "tenure/ticket.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_world tnr_world;

/* ---- World -------------------------------------------------------------------------------------------------------------- */

/**
 * Which threads call. Needs the MPI thread level of that name, which the program asked for in MPI_Init_thread. A thread that may
 * not call gets TNR_ERR_MPI.
 */
typedef enum tnr_world_threads {
    TNR_WORLD_FUNNELED = 0, /**< the one that initialised MPI; MPI_THREAD_SINGLE serves too */
    TNR_WORLD_SERIALIZED,   /**< any, one at a time, the program's own MPI calls included */
    TNR_WORLD_MULTIPLE      /**< any, while others call MPI */
} tnr_world_threads;

/** How bytes travel, for describe and for choosing. */
typedef enum tnr_world_path {
    TNR_PATH_SELF = 0, /**< a rank to itself: a local copy */
    TNR_PATH_EAGER,    /**< in one message with the header */
    TNR_PATH_DIRECT,   /**< dense at this end: MPI reads or writes the tensor itself */
    TNR_PATH_DERIVED,  /**< strided, long runs: MPI walks the layout by a derived datatype */
    TNR_PATH_PACKED,   /**< packed and unpacked piece by piece, while other pieces travel */
    TNR_PATH_SHARED, /**< ranks of one node: piece by piece through shared memory, or, up to some MiB and dense at both ends,
                            out of the sender's memory in one copy; no MPI in between */
    TNR_PATH_DEVICE, /**< device memory, dense and exportable, that MPI itself reads or writes: tnr_world_device */
    TNR_PATH_END
} tnr_world_path;

/** Room in tnr_world_info for paths to come. */
#define TNR_WORLD_PATHS 16

/**
 * Does MPI get device memory, and why not? Staged: it goes piece by piece through its domain's copies and host memory of the world's, and
 * MPI sees no address of it. Direct: dense tensors of kinds that other libraries can take (tenure::cuda: TNR_CUDA_PLAIN, which is how a
 * program asks for it) are handed to MPI once what the device has to do on them is over, for which the call waits; all other device
 * memory is staged as before. So is that of a device which is not current in the thread that calls, where MPI looks for it: its domain
 * refuses then (tnr_domain_ops.expose: TNR_ERR_UNSUPPORTED). MPI's answer may be no more than how it was built: options.no_device.
 */
typedef enum tnr_world_device {
    TNR_WORLD_DEVICE_UNKNOWN = 0,     /**< staged: this MPI cannot be asked whether it takes device memory */
    TNR_WORLD_DEVICE_REFUSED,         /**< staged: MPI, asked when the world was made, answered that it does not */
    TNR_WORLD_DEVICE_OFF,             /**< staged: options.no_device */
    TNR_WORLD_DEVICE_OFF_ENVIRONMENT, /**< staged: TENURE_MPI_DEVICE=off */
    TNR_WORLD_DEVICE_DIRECT           /**< direct: MPI answered that it does */
} tnr_world_device;

/** The same in words; "unknown" for what is none. */
TNR_API const char *tnr_world_device_text(tnr_world_device device);

/** Settings of a world; the same on all ranks, and compared. Zero means the default; start from TNR_WORLD_OPTIONS. */
typedef struct tnr_world_options {
    size_t size; /**< sizeof(tnr_world_options) */
    tnr_world_threads threads;
    int tickets;          /**< operations in flight at one time, 1 to 2000; 0: 256 */
    uint64_t eager_bytes; /**< payloads up to this travel with the header, at most 3 KiB; 0: 2 KiB. In a node: what fits
                                     some 170 bytes */
    uint64_t chunk_bytes; /**< most in one message, 4 KiB to 1 GiB; 0: 1 MiB */
    uint64_t pack_bytes;  /**< one piece of packed transfers between nodes, 4 KiB to 1 GiB; 0: 512 KiB */
    uint64_t derived_run_bytes; /**< runs from so many bytes on go by derived datatype; 0: 256; UINT64_MAX: never */
    uint64_t shared_bytes;      /**< shared memory of each rank for transfers in its node, 64 KiB to 1 GiB; 0: 2 MiB. At
                                     least 1 KiB for each rank of the node */
    bool no_shared;             /**< use MPI messages between the ranks of a node too */
    uint64_t receive_max_bytes; /**< refuse to allocate for a larger payload (TNR_ERR_MEMORY); 0: no cap */
    uint32_t
        timeout_ms; /**< a wait in which nothing moves for so long is TNR_ERR_PEER, saying who waits for whom, and ends
                                     the world; 0: never. More than any rank computes between two calls. A rank of this node
                                     whose process is gone, or whose world an error ended, is noticed without it, also by
                                     calls that do not wait (tnr_exchange_test), which know no time */
    bool no_device; /**< MPI gets no device memory, whatever it answers (tnr_world_device). So does the word off in
                         TENURE_MPI_DEVICE, for one process; auto, or nothing, is the default, all else TNR_ERR_ARGUMENT */
} tnr_world_options;

/* clang-format off */
#define TNR_WORLD_OPTIONS {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 0, 0, 0, 0, 0, 0, false, 0, 0, false}
/* clang-format on */

/**
 * Make a world over all ranks of a communicator. Collective: it answers TNR_OK on every rank or on none.
 *
 * Duplicates the communicator once, so that the messages of a world meet nobody else's, those of other worlds over the same
 * communicator included; the program may free its own. Tells this process' domains which process they are of (rank in
 * MPI_COMM_WORLD plus one), and compares versions, byte order, limits and options between ranks.
 * @param home keeps the world, its tickets (4.3 KiB each: 1.1 MiB for the default of 256) and buffers (tnr_world_need); reached by the
 * host directly; must outlive it. Shared memory comes from the system.
 * TNR_ERR_MPI when MPI is not initialised, already finalised, or grants a lower thread level than asked for;
 * TNR_ERR_ARGUMENT for MPI_COMM_NULL or an intercommunicator; TNR_ERR_PEER when another rank failed or does not agree, with what;
 * TNR_ERR_UNSUPPORTED for ranks that were spawned, outside MPI_COMM_WORLD. Only a call from a thread that may not call MPI at all,
 * or for MPI_COMM_NULL, is refused without the others hearing of it.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_create(tnr_domain *home, MPI_Comm comm, const tnr_world_options *options,
                                                   tnr_world **world);

/**
 * Need of a world of so many ranks in its home, whatever their number on a node, for its whole life: with at most so many transfers of
 * a rank under way at one time, and exchanges that have as many parts at most. `transfers` 0: to make it, and nothing more. Its copies
 * count 1 each, tnr_world_send_receive 2, collective calls and redistribution 9, as far as there are tickets + 2. Of a transfer nearly
 * all is two buffers of pack_bytes; those between ranks of one node, or of dense host memory, take none. Beyond this are: scratch of a
 * reduction (six tensors of 256 KiB), and what publications hold, and shares, windows and fetches take while they are made.
 * Exact when the transfers need buffers and the ranks are on one node, else an upper bound; tnr_arena_bytes makes an arena of it.
 * TNR_ERR_ARGUMENT for size < 1 or transfers < 0, and for options as tnr_world_create.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_need(const tnr_world_options *options, int size, int transfers,
                                                 tnr_need *need);

/**
 * Give everything back and null *world. Not collective. TNR_ERR_BUSY while tickets, exchanges or published groups of it
 * live, unless it is poisoned: then these end with it, and their handles may not be used again, not even to destroy them (to be safe in
 * any order, end them first). MPI_Finalize poisons all worlds; after it only
 * memory is given back, by any thread. A world may also be left alone for ever. NULL is fine. Tensors whose addresses MPI still has when a
 * poisoned world goes stay leased.
 */
TNR_API tnr_status tnr_world_destroy(tnr_world **world);

/** This rank, and how many there are; -1 and 0 for NULL. @{ */
TNR_API int tnr_world_rank(const tnr_world *world);
TNR_API int tnr_world_size(const tnr_world *world);
/** @} */

/**
 * The rank in this world of a process that a domain's id names (tnr_domain_id.process, as descriptors of published groups have it: rank
 * in MPI_COMM_WORLD plus one); -1 when it is in none of its ranks, for 0, and for a NULL world. Looks through all ranks.
 */
TNR_API int tnr_world_rank_of(const tnr_world *world, uint64_t process);

/** What a world is, what went through it, and what it still holds. */
typedef struct tnr_world_info {
    int rank;
    int size;
    int node_rank; /**< among the ranks that share memory with this one */
    int node_size;
    int nodes;                            /**< hosts */
    bool shared;                          /**< the ranks of this node copy through shared memory */
    tnr_status poisoned;                  /**< TNR_OK, or the error that ended it */
    uint64_t sends[TNR_WORLD_PATHS];      /**< transfers that this rank sent, by path (TNR_PATH_SELF ...); 0 beyond */
    uint64_t sent_bytes[TNR_WORLD_PATHS]; /**< their payloads */
    uint64_t tickets;                     /**< alive */
    uint64_t requests; /**< MPI requests alive, in this process' worlds together; so are the next three */
    uint64_t datatypes;
    uint64_t communicators;
    uint64_t windows;
    tnr_world_device device; /**< whether MPI gets device memory, as decided when the world was made, and why */
    uint32_t reserved_word;  /**< 0 */
    uint64_t reserved[7];    /**< 0 */
} tnr_world_info;

/** Fill *info. Not collective; also after an error, and after MPI_Finalize; any thread, TNR_ERR_BUSY while a call on it runs. */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_describe(const tnr_world *world, tnr_world_info *info);

/**
 * TNR_OK, or the error that ended the world, with its text as the last error: a call that failed with TNR_ERR_PEER was refused, and may
 * be mended, or was the end. Not collective, cheap; any time and any thread, also while a call on it runs and after MPI_Finalize.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_poisoned(const tnr_world *world);

/** Wait for all ranks. Collective. */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_barrier(tnr_world *world);

/**
 * Let all that is under way in this world go on a little, without waiting for other ranks (for devices: tnr_ticket_test): transfers of
 * tickets and exchanges. Not collective. For loops that compute long. What becomes of a transfer its ticket or exchange says; an error that
 * ended the world is this call's too.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_progress(tnr_world *world);

/**
 * Find out whether something went well on all ranks: `mine` is how it went on this one. TNR_OK when it did everywhere; else a rank on
 * which it did not gets its own status back, and the others TNR_ERR_PEER with the first such rank and the text of its last error.
 * Collective. Costs as much as a barrier. TNR_ERR_ARGUMENT, as if `mine` were that, for what is no status.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_agree(tnr_world *world, tnr_status mine);

/**
 * Poison the world because this rank cannot go on: `reason`, not TNR_OK, and the text of this thread's last error. Not collective. Ranks of
 * this node that wait in it, or come to it, get TNR_ERR_PEER with that text within a fraction of a second; those of other nodes,
 * and all with no_shared, when timeout_ms says so.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_give_up(tnr_world *world, tnr_status reason);

/* ---- One rank to another ------------------------------------------------------------------------------------------------- */

/** Channels keep unrelated transfers apart: 0 to this, less one. Transfers of one channel between two ranks stay in order. */
#define TNR_WORLD_CHANNELS 1024

/**
 * Copy a view's elements to rank `to`. Returns when the receiver has accepted them, however few, and the view may be changed
 * again: two ranks that both send first wait for each other (tnr_world_send_receive does not).
 * TNR_ERR_BOUNDS for a rank or channel that does not exist; TNR_ERR_PEER, with its reason, when the receiver refused.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_send(tnr_world *world, const tnr_view *view, int to, int channel);

/**
 * Wait for a transfer from rank `from` and make a tensor of it in `domain` (TNR_ERR_MEMORY: the sender hears of it too). Headers of a node's
 * transfers that come before their receives are kept in the world's home. When it has no room for them (tnr_world_need), a receive that
 * comes to lie behind eight of one rank is TNR_ERR_MEMORY too: nothing is lost, nobody hears of it, and those eight must be received first.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_receive(tnr_world *world, int from, int channel, tnr_domain *domain,
                                                    tnr_tensor **tensor);

/** Wait for a transfer of this view's dtype and shape and write its elements. */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_receive_into(tnr_world *world, const tnr_view_mut *view, int from,
                                                         int channel);

/**
 * The same three, started only: tickets. They move while any call on the world, its tickets or its exchanges runs.
 * TNR_ERR_MEMORY when all tickets are taken. After MPI_Finalize a ticket still ends, as long as its world lives: TNR_ERR_MPI, and
 * tnr_ticket_abandon lets go of any.
 *
 * tnr_world_receive_begin keeps the address `tensor`, not what is there: the variable must live, at its place, until the ticket has
 * ended. The call that ends it well (tnr_ticket_wait, tnr_ticket_test) writes the new tensor there, in the thread that makes it;
 * nothing else does, and where the transfer fails, is abandoned, or ends with its world, nothing is written. @{
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_send_begin(tnr_world *world, const tnr_view *view, int to, int channel,
                                                       tnr_ticket **ticket);
TNR_API TNR_MUST_CHECK tnr_status tnr_world_receive_begin(tnr_world *world, int from, int channel, tnr_domain *domain,
                                                          tnr_tensor **tensor, tnr_ticket **ticket);
TNR_API TNR_MUST_CHECK tnr_status tnr_world_receive_into_begin(tnr_world *world, const tnr_view_mut *view, int from,
                                                               int channel, tnr_ticket **ticket);
/** @} */

/**
 * Send to one rank and receive from another at the same time; both end, whatever becomes of either; the first failure. Where this
 * rank's home has no buffers for one of the two (TNR_ERR_MEMORY), its other end gets TNR_ERR_PEER.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_send_receive(tnr_world *world, const tnr_view *send, int to,
                                                         const tnr_view_mut *receive, int from, int channel);

/* ---- Exchanges that repeat ------------------------------------------------------------------------------------------------ */

typedef struct tnr_exchange tnr_exchange;

/** One transfer of an exchange: of the two views exactly one. */
typedef struct tnr_exchange_part {
    int rank; /**< the other end */
    int channel; /**< several parts between two ranks need several channels, or are matched in the order listed, and exchanges
                               in the order prepared */
    const tnr_view *send; /**< copied at preparation, not kept */
    const tnr_view_mut *receive;
} tnr_exchange_part;

/**
 * Prepare transfers that will be made again and again, as halos are: shapes and dtypes are compared with the other ends now, and
 * datatypes and buffers are made. Every rank that is named must prepare its own ends; the call waits for them (timeout_ms). No parts at
 * all, and parts of empty views, are fine: ranks at a wall have fewer. The list and its views are copied; their owners must live as long as
 * the exchange (TNR_ERR_STALE at the next start otherwise). Cut a view to send from the part of a split that is leased apart
 * (tnr_view_mut_split), not from the whole: else the whole is leased. Parts take tickets as long as the exchange lives.
 *
 * When a rank cannot prepare (arguments, tickets, leases, memory), when two ranks' lists do not have the same parts with each other, or when a
 * part is refused, no rank that has a part with such a rank or such a part's ends gets an exchange: TNR_ERR_PEER with the reason. Ranks further
 * off are not told, and wait at their next start. A rank that is named and does not call is waited for, also by one whose own
 * arguments are wrong; that ends the world after timeout_ms.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_exchange_prepare(tnr_world *world, const tnr_exchange_part *parts, size_t count,
                                                       tnr_exchange **exchange);

/**
 * Start all transfers: leases are taken, nothing is allocated, no header travels. Compute on other elements meanwhile, by views that
 * tnr_view_mut_split proved apart. TNR_ERR_BUSY when it is under way. A rank whose start fails (a stale or leased view, device memory that
 * MPI was to have and does not get: tnr_world_device) has begun nothing and tells nobody; the others wait for it to start again.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_exchange_start(tnr_exchange *exchange);

/** Wait for all transfers and give the leases back. TNR_OK when it is not under way. */
TNR_API TNR_MUST_CHECK tnr_status tnr_exchange_wait(tnr_exchange *exchange);

/**
 * Let all transfers go on a little, without waiting for other ranks (for work of devices: tnr_ticket_test). *done: they are over, and it is
 * as if tnr_exchange_wait had returned this status; true for one that is not under way, and where the world has ended. Not written when the
 * call is refused.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_exchange_test(tnr_exchange *exchange, bool *done);

/** Start and wait. */
TNR_API TNR_MUST_CHECK tnr_status tnr_exchange_run(tnr_exchange *exchange);

/** Null *exchange. TNR_ERR_BUSY while it is under way, unless the world is poisoned. NULL is fine. */
TNR_API tnr_status tnr_exchange_destroy(tnr_exchange **exchange);

/* ---- All ranks at once ------------------------------------------------------------------------------------------------------ */

/*
 * Collective: every rank of the world calls, in the same order. All vote before data move: when one rank refuses (its view is
 * stale, leased, of another dtype or shape, its domain is full), every rank gets an error, that rank its own and the others
 * TNR_ERR_PEER with its text and number, and nothing was written anywhere. Empty parts take part. So do calls that differ: see above.
 *
 * Where a call takes `out` and `domain`: *out is a new tensor in `domain`. The `_into` form writes a view of the caller's. Ranks on which
 * there is no result (not root) pass NULL, and get NULL. But for scatter each rank may choose its form for itself. When the ranks'
 * views do not agree, the first rank that differs from the root's, or from rank 0's, is the one that refused. What a call brings to a
 * rank is one entry in the ledger (receive), and so is what had to be packed on its way out (send).
 */

/** How elements of several ranks become one: as tnr_add, tnr_mul, tnr_minimum, tnr_maximum; and, or (bool). */
typedef enum tnr_world_combine {
    TNR_COMBINE_SUM = 0,
    TNR_COMBINE_PROD,
    TNR_COMBINE_MIN,
    TNR_COMBINE_MAX,
    TNR_COMBINE_ALL,
    TNR_COMBINE_ANY
} tnr_world_combine;

/** Copy root's view to all. `source` is root's; root gets a tensor too. */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_broadcast(tnr_world *world, int root, const tnr_view *source,
                                                      tnr_domain *domain, tnr_tensor **out);
/** `target` is the other ranks' (root: NULL). */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_broadcast_into(tnr_world *world, int root, const tnr_view *source,
                                                           const tnr_view_mut *target);

/**
 * Combine the views of all ranks, element by element, at root; this rank's engine computes. Ranks are combined in order 0, 1, 2,
 * ... in a fixed tree, whatever the root: the same bits in every run with as many ranks, on any transport, as long as the engines
 * have one instruction set. `target` may be `source`'s very elements. Scratch of at most 1.5 MiB comes from the world. Sum and product:
 * numbers; min, max: f32 f64 i32 i64; all, any: bool (TNR_ERR_UNSUPPORTED else). The engine is one of CPUs, wherever source and target
 * lie: elements of a device are combined in pieces in host memory (TNR_ERR_UNSUPPORTED: an engine of a device).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_reduce(tnr_world *world, tnr_engine *engine, tnr_world_combine combine,
                                                   int root, const tnr_view *source, tnr_domain *domain,
                                                   tnr_tensor **out);
/** @copydoc tnr_world_reduce */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_reduce_into(tnr_world *world, tnr_engine *engine, tnr_world_combine combine,
                                                        int root, const tnr_view *source, const tnr_view_mut *target);
/** The same with the result on every rank, the same bits on each. */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_all_reduce(tnr_world *world, tnr_engine *engine, tnr_world_combine combine,
                                                       const tnr_view *source, tnr_domain *domain, tnr_tensor **out);
/** @copydoc tnr_world_all_reduce */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_all_reduce_into(tnr_world *world, tnr_engine *engine,
                                                            tnr_world_combine combine, const tnr_view *source,
                                                            const tnr_view_mut *target);

/**
 * Cut root's view along `axis` into consecutive parts, part r for rank r. `extents` (root's, one per rank, >= 0, adding up to the axis) or
 * NULL: as even as can be (tnr_block_range).
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_scatter(tnr_world *world, int root, const tnr_view *source, int axis,
                                                    const int64_t *extents, tnr_domain *domain, tnr_tensor **out);
/** Part extents are those of the targets. */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_scatter_into(tnr_world *world, int root, const tnr_view *source, int axis,
                                                         const tnr_view_mut *target);

/** Put the parts of all ranks one after the other along `axis`, at root: other extents agree. */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_gather(tnr_world *world, int root, const tnr_view *part, int axis,
                                                   tnr_domain *domain, tnr_tensor **out);
/** @copydoc tnr_world_gather */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_gather_into(tnr_world *world, int root, const tnr_view *part, int axis,
                                                        const tnr_view_mut *target);
/** The same on every rank. */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_all_gather(tnr_world *world, const tnr_view *part, int axis,
                                                       tnr_domain *domain, tnr_tensor **out);
/** @copydoc tnr_world_all_gather */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_all_gather_into(tnr_world *world, const tnr_view *part, int axis,
                                                            const tnr_view_mut *target);

/**
 * Every rank cuts its view along `send_axis` (`extents`: one per rank, or NULL: as even as can be), sends part r to rank r, and puts what it
 * gets one after the other along `receive_axis`, in rank order.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_all_to_all(tnr_world *world, const tnr_view *source, int send_axis,
                                                       const int64_t *extents, int receive_axis, tnr_domain *domain,
                                                       tnr_tensor **out);
/** @copydoc tnr_world_all_to_all */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_all_to_all_into(tnr_world *world, const tnr_view *source, int send_axis,
                                                            const int64_t *extents, int receive_axis,
                                                            const tnr_view_mut *target);

/* ---- Distributions ------------------------------------------------------------------------------------------------------------ */

/**
 * Part `part` of `extent` cut into `parts` consecutive ones as even as can be: the first (extent mod parts) are one longer. Pure.
 * TNR_ERR_ARGUMENT for parts < 1 or a negative extent, TNR_ERR_BOUNDS for a part outside 0..parts-1.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_block_range(int64_t extent, int parts, int part, int64_t *start, int64_t *count);

/** How one axis is cut. */
typedef struct tnr_axis_cut {
    int parts;     /**< >= 1; 1: not cut */
    int64_t block; /**< 0: one consecutive part each; else blocks of so many, dealt round (block-cyclic) */
    const int64_t
        *starts; /**< with block 0: parts + 1 ascending starts, from 0 to the extent; NULL: as tnr_block_range */
} tnr_axis_cut;

/**
 * Which rank has which elements of a tensor that no rank has as a whole. Cuts make a grid of parts, column-major: part p of the
 * grid is on rank owners[p] (each at most once), or p when owners is NULL. There may be fewer parts than ranks. The whole tensor on
 * one rank: {sizeof(tnr_distribution), rank, shape, NULL, &owner}.
 */
typedef struct tnr_distribution {
    size_t size; /**< sizeof(tnr_distribution) */
    int rank;    /**< of the tensor */
    const int64_t *shape;
    const tnr_axis_cut *cuts; /**< one per axis; NULL: no axis is cut, and there is one part */
    const int *owners;        /**< rank of each part; NULL: part p is rank p's */
} tnr_distribution;

/**
 * Shape of what `rank` of `world_size` has: zero extents where it has nothing (all of them when it is in no part; rank 0 tensors
 * are on one rank alone, and *holds tells). Pure.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_distribution_part(const tnr_distribution *distribution, int world_size, int rank,
                                                        bool *holds, int64_t *shape);

/**
 * Where what `rank` has begins in the whole: along each axis the index of its first element, or, where it has none, the one that it would
 * begin at. Of blocks that are dealt round it is the first block's. All 0 when the rank is in no part. Pure.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_distribution_starts(const tnr_distribution *distribution, int world_size,
                                                          int rank, bool *holds, int64_t *starts);

/**
 * Copy a distributed tensor from one distribution to another of the same global shape. Every rank gives all of both. Elements that stay
 * on their rank are copied there. At most 8 transfers of a rank are under way at one time, each of a box that two parts have in common,
 * straight from view to view, and each with at most two buffers of tnr_world_options.pack_bytes: that bounds the memory. It comes from
 * the world, which keeps it for later transfers; through shared memory there is none.
 * Source and target are views of this rank's parts (dense or not, apart from each other); a rank that has none passes an empty view
 * or NULL. A rank that is in no part of `to` gets NULL, and may pass NULL for `domain` and `out`.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_redistribute(tnr_world *world, const tnr_distribution *from,
                                                         const tnr_view *source, const tnr_distribution *to,
                                                         tnr_domain *domain, tnr_tensor **out);
/** @copydoc tnr_world_redistribute */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_redistribute_into(tnr_world *world, const tnr_distribution *from,
                                                              const tnr_view *source, const tnr_distribution *to,
                                                              const tnr_view_mut *target);

/* ---- Groups across ranks -------------------------------------------------------------------------------------------------- */

/**
 * Make this rank's group known to all: descriptors travel, data does not. Collective; each rank gives its own group, which may be
 * empty. Entries of other ranks are appended to the table in rank order, slots with this epoch: they can be listed and described
 * (domain.process tells the rank), and reading one is TNR_ERR_FOREIGN, naming the rank; places that were vacated are left out. Owners
 * carry a read lease until the group is unpublished, and tnr_group_append, _take, _merge and _release are TNR_ERR_BUSY.
 * TNR_ERR_BUSY when the group is published, in this or another world, or an owner is leased for writing; TNR_ERR_RESIDENCY
 * for owners that the host cannot reach, and in managed memory of devices, which others cannot read. Cost: six rounds of messages among all ranks, more where MPI reads; memory in the world's
 * home for fetching (four times pack_bytes) and for all descriptors while they travel.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_publish(tnr_world *world, tnr_group *group);

/**
 * The slot of what a rank has published: number `index` of its entries, counted from 0 in the order in which they are in its own
 * group. Local. TNR_ERR_BOUNDS for a rank that the world has not, or an entry that the rank has not published; TNR_ERR_STALE when the group is not
 * published, TNR_ERR_FOREIGN when it is in another world. Looks through the whole table.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_find(const tnr_world *world, const tnr_group *group, int rank,
                                                 uint32_t index, tnr_slot *slot);

/**
 * End the epoch: slots of remote entries are TNR_ERR_STALE from then on, their places stay vacant (tnr_group_slot gives them with epoch
 * 0), leases end. Collective, over the ranks that published together, errors too. TNR_ERR_STALE when the group is not published,
 * TNR_ERR_FOREIGN when it is in another world. A world that was ended by an error ends its publications when it is destroyed.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_unpublish(tnr_world *world, tnr_group *group);

/**
 * Copy what a remote descriptor names into a new tensor here (ledger: fetch). The owner's rank need not take part; between nodes, and
 * with no_shared, MPI may want it to be inside some MPI call now and then. A slot of this rank's own entries is copied locally,
 * published or not. TNR_ERR_UNSUPPORTED where neither the owner's memory can be read nor MPI has one-sided reads (Open MPI 4.1
 * of Debian over tcp, unless its osc component pt2pt is switched on). Nothing is allocated but the tensor.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_fetch(tnr_world *world, const tnr_group *group, tnr_slot slot,
                                                  tnr_domain *domain, tnr_tensor **tensor);
/** @copydoc tnr_group_fetch */
TNR_API TNR_MUST_CHECK tnr_status tnr_group_fetch_into(tnr_world *world, const tnr_group *group, tnr_slot slot,
                                                       const tnr_view_mut *view);

/* ---- Memory that a node's ranks share ---------------------------------------------------------------------------------------- */

/** Settings of a window. Start from TNR_WINDOW_OPTIONS. */
typedef struct tnr_window_options {
    size_t size;      /**< sizeof(tnr_window_options) */
    uint64_t bytes;   /**< this rank's slice, rounded up; may be 0, and differ between ranks */
    uint64_t page;    /**< blocks start and end on multiples of this power of two; 0: 64, or a page for first_touch */
    bool first_touch; /**< the system places each page where it is first written, and takes it only then */
} tnr_window_options;

/* clang-format off */
#define TNR_WINDOW_OPTIONS {sizeof(tnr_window_options), 0, 0, false}
/* clang-format on */

/**
 * A domain in a window that the ranks of this node share. Collective over the world. Placement: managed; the host maps its blocks, and
 * mapping and unmapping are fences. Each rank allocates from its own slice, which begins and ends on pages of the system; no rank
 * views another's. Every engine operation works in it (for outputs there: tnr_engine_options.output; an engine or arena itself needs a
 * home that the host reaches directly), and tnr_group_fetch of a tensor in it by a rank of the node is one local copy.
 *
 * The slice's memory is taken at once, near the calling thread, so that a full /dev/shm is TNR_ERR_MEMORY here and never a signal
 * later. With options->first_touch pages come to lie where their owner first writes, and only what is free now is compared with the
 * slice: where others fill /dev/shm meanwhile, writing is a signal.
 * @param home keeps the domain's state, bookkeeping and handles; must outlive it.
 * tnr_domain_close of it is local, in any order, after tnr_world_destroy and MPI_Finalize too: a window does not keep its world from
 * ending. The memory goes back when the last rank of the node has closed it, or ended.
 * TNR_ERR_ARGUMENT for a page that is no power of two from 64 to 2^30.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_window_create(tnr_world *world, tnr_domain *home,
                                                    const tnr_window_options *options, tnr_domain **domain);

/* ---- Ranks of a host share its cores ------------------------------------------------------------------------------------------ */

/** What one rank may use beside the others of its host. */
typedef struct tnr_share {
    tnr_cpu_set cpus; /**< to work on: one of each core */
    int node;         /**< NUMA node of all of them; TNR_NONE: several */
    int device;       /**< suggested device number; TNR_NONE: no hint, or the environment chose already */
    int local_rank;
    int local_size;
    int cores;            /**< so many CPUs are in cpus */
    int host_cores;       /**< and in those of all ranks of this host together, each counted once */
    bool launcher_bound;  /**< the launcher gave this rank CPUs that no other rank of the host has */
    bool oversubscribed;  /**< ranks of this host have to share cores: there are fewer of them than ranks */
    char reason[160];     /**< one sentence */
    uint64_t reserved[8]; /**< 0 */
} tnr_share;

/**
 * Agree with the other ranks of this host. Collective over the world. What the launcher bound is honoured. Ranks that may run on
 * the same CPUs share them out: whole nodes first, then cores, in order of local rank; none is used twice unless there are fewer cores
 * than ranks. Nothing is bound. With more ranks than nodes each node is shared by its ranks alone, so parts may differ.
 * @param devices  devices of this host that programs may use; 0: none. Suggested by local rank, but not (TNR_NONE) where
 * CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or ZE_AFFINITY_MASK leave one device, or differ between the ranks of
 * the host: the environment has chosen.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_share(tnr_world *world, const tnr_topology *topology, int devices,
                                                  tnr_share *share);

/**
 * A machine within this rank's share, and options->cpus if given (tnr_machine_create with these CPUs). Collective over the world.
 * @param share  what was agreed, as by tnr_world_share with no devices; may be NULL. options->cpus does not narrow it.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_machine(tnr_world *world, tnr_domain *home, tnr_topology *topology,
                                                    const tnr_machine_options *options, tnr_share *share,
                                                    tnr_machine **machine);

/**
 * One line per rank: host, local rank, CPUs, node, binding. Collective; rank `root` gets the text in `buffer`, cut at `bytes`, the
 * others "".
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_world_share_table(tnr_world *world, const tnr_share *share, int root,
                                                        char *buffer, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_MPI_H */
