/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of tenure::mpi share.
 *
 *   world.c      making, comparing, describing, destroying     wire.c      headers as bytes: pure, no MPI
 *   world_need.c what a world takes of its home                hello.c     which build a rank is of
 *   guard.c      who may call now; MPI's errors; poison        vote.c      all ranks agree, or all hear why not; how each
 *   vote_over.c  the same while there is no world              collective call begins
 *   stream.c     a view as a stream of elements                flight.c    transfers between two ranks, and their tickets
 *   near.c       shared memory of a node's ranks               exchange*.c prepared transfers
 *   expose.c     device memory for an MPI that takes it        device_query_*.c  does it? As it answers when it runs
 *   segment.c    a new piece of shared memory
 *   collective*.c, broadcast.c, combine.c, parts.c, redistribute.c: all ranks at once; distribution.c: pure
 *   publish.c, publish_words.c, fetch.c, fetch_plan.c, window.c, share.c
 *
 * The core is reached through tnr_provider alone.
 */
#ifndef TENURE_MPI_MPI_INTERNAL_H
#define TENURE_MPI_MPI_INTERNAL_H

#include "../storage/provider.h"
#include "tenure/mpi.h"

/* tnri_fail, TNR_TRY and TNR_REQUIRE of base.h record their texts in the core. */
#define tnri_record_failure tnr_provider.record_failure

/* ---- Wire headers (wire.c): pure; hostile bytes are refused before anything is allocated ---------------------------------------- */

#define TNRI_WIRE_MAGIC UINT32_C(0x52544E54) /* "TNTR" */
#define TNRI_WIRE_VERSION 1U

/* What one transfer says of itself. */
typedef struct tnri_header {
    uint32_t dtype;
    uint32_t rank;   /* of the tensor */
    uint32_t flags;  /* TNRI_WIRE_EAGER ... */
    uint32_t epoch;  /* of the world */
    uint32_t number; /* of the transfer between these two ranks, from 1, wraps */
    uint32_t source; /* rank of the sender in the world */
    uint32_t channel;
    uint32_t ack;    /* where the sender waits for the answer: flight.c */
    uint64_t count;  /* elements */
    uint64_t bytes;  /* count * element size */
    uint64_t chunk;  /* most bytes in one message */
    uint64_t domain; /* serial and allocation of the source: information only */
    uint64_t allocation;
    int64_t shape[TNR_MAX_RANK];
} tnri_header;

enum { TNRI_WIRE_EAGER = 1, TNRI_WIRE_SHARED = 2 };

/* Most bytes in one message: far from where counts of 32 bits end. */
#define TNRI_CHUNK_MOST (UINT64_C(1) << 30U)

/* Bytes of a header of this rank, and of the longest; little-endian, 8-byte fields, checksum last. */
#define TNRI_WIRE_FIXED_BYTES 96U
#define TNRI_WIRE_BYTES(rank) (TNRI_WIRE_FIXED_BYTES + 8U * (uint32_t)(rank))
#define TNRI_WIRE_MOST_BYTES TNRI_WIRE_BYTES(TNR_MAX_RANK)

/* What a header must agree with to be taken. */
typedef struct tnri_wire_limits {
    uint32_t epoch;
    uint32_t source;
    uint32_t channel;
    uint64_t most_bytes; /* payloads above are TNR_ERR_MEMORY; UINT64_MAX: no cap (0 takes empty ones only) */
} tnri_wire_limits;

uint32_t tnri_wire_encode(const tnri_header *header, unsigned char *bytes);
/*
 * TNR_ERR_MPI with what is wrong; *header is written on success only. `bytes` may be any `length` bytes: the whole message, the
 * header and, when the flag EAGER says so, exactly its payload behind it. The caller compares `number` and `ack`.
 */
tnr_status tnri_wire_decode(const char *op, const unsigned char *bytes, uint64_t length, const tnri_wire_limits *limits,
                            tnri_header *header);

/* The same checks on a header that came as it is, through the node's shared memory. `payload`: bytes behind it. */
tnr_status tnri_wire_check(const char *op, const tnri_header *header, uint64_t payload, const tnri_wire_limits *limits);

/* ---- Streams (stream.c) ---------------------------------------------------------------------------------------------------------- */

/*
 * Elements of a layout in column-major order of their indices, as bytes 0 .. bytes-1: axes of extent 1 dropped, neighbours merged where
 * strides chain, never reordered. run_bytes: consecutive bytes in memory at a time; `dense` when that is all of them.
 */
typedef struct tnri_stream {
    char *data;             /* first element; of an away root a place (storage.h) */
    const tnr_tensor *away; /* root that the host cannot reach: its domain copies; NULL: host memory */
    bool managed;           /* host memory that is a device's too: MPI gets copies of it only */
    size_t element_bytes;
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK]; /* in elements */
    uint64_t bytes;
    uint64_t run_bytes;
    bool dense;
} tnri_stream;

void tnri_stream_make(tnri_stream *stream, void *data, tnr_dtype dtype, int rank, const int64_t *shape,
                      const int64_t *strides);
/* The same of a view, whose owner may be away. */
void tnri_stream_of(tnri_stream *stream, const tnr_view *view, char *data);
bool tnri_is_away(const tnr_view *view);
bool tnri_is_managed(const tnr_tensor *root); /* by a device */
/* Copy bytes [begin, begin + bytes) of the stream, whole elements, out of or into memory. Fails only where a stream is away. */
tnr_status tnri_stream_pack(const tnri_stream *stream, uint64_t begin, uint64_t bytes, void *buffer);
tnr_status tnri_stream_unpack(const tnri_stream *stream, uint64_t begin, uint64_t bytes, const void *buffer);
/*
 * Copy all of a stream to another one with as many elements of the same size, of which at least one is away, through a buffer of at least
 * one element. *moved, on failure: elements may have been written.
 */
tnr_status tnri_stream_copy(const tnri_stream *from, const tnri_stream *to, void *buffer, uint64_t buffer_bytes,
                            bool *moved);
/* Where the element at this byte of the stream lies. */
char *tnri_stream_at(const tnri_stream *stream, uint64_t begin);
/*
 * A derived type for a piece of at most 1 GiB (nested hvector, MPI_BYTE inside), committed and counted, relative to the piece's first
 * element: the same one serves all pieces that are as many whole slices. TNR_ERR_UNSUPPORTED for runs of one byte.
 */
tnr_status tnri_stream_type(const char *op, const tnri_stream *stream, uint64_t begin, uint64_t bytes,
                            MPI_Datatype *type);
void tnri_stream_type_free(MPI_Datatype *type);
/* A good size of all messages but the last: whole outer slices that fit `most`, else whole elements; >= one element. */
uint64_t tnri_stream_message(const tnri_stream *stream, uint64_t most);

/* A piece of a stream as boxes, each of them one strided block; strides are the stream's. */
typedef struct tnri_box {
    char *data;
    int rank;
    int64_t shape[TNR_MAX_RANK];
    uint64_t bytes;
} tnri_box;
typedef struct tnri_boxes {
    const tnri_stream *stream;
    int64_t next; /* elements */
    int64_t end;
} tnri_boxes;
void tnri_boxes_start(tnri_boxes *boxes, const tnri_stream *stream, uint64_t begin, uint64_t bytes);
bool tnri_boxes_next(tnri_boxes *boxes, tnri_box *box);

/* Chunk `index` of `bytes` cut into pieces of at most `most`: pieces add up exactly. Pure. */
uint64_t tnri_chunk_count(uint64_t bytes, uint64_t most);
void tnri_chunk(uint64_t bytes, uint64_t most, uint64_t index, uint64_t *begin, uint64_t *length);

_Static_assert((int)TNR_PATH_END <= TNR_WORLD_PATHS, "room for every path");

/* ---- Even parts ------------------------------------------------------------------------------------------------------------------ */

/* Part `part` of `extent` in `parts`, as tnr_block_range tells them: 0 <= part < parts. */
static inline void tnri_even_part(int64_t extent, int parts, int part, int64_t *start, int64_t *count)
{
    const int64_t least = extent / parts;
    const int64_t longer = extent % parts; /* so many have one more */
    *start = least * part + (part < longer ? part : longer);
    *count = least + (part < longer ? 1 : 0);
}

/* ---- World ------------------------------------------------------------------------------------------------------------------------ */

/* Tags of the world's own communicator, all below 32768: a header's is its channel. */
enum {
    TNRI_TAG_HEADER = 0, /* + channel */
    TNRI_TAG_VOTE = 3072,
    TNRI_TAG_ROLL = 3073,
    TNRI_TAG_ANSWER = 4096, /* + number % TNRI_TAG_NUMBERS */
    TNRI_TAG_DATA = 16384,  /* + number % TNRI_TAG_NUMBERS */
    TNRI_TAG_NUMBERS = 8192,
    TNRI_TAG_EXCHANGE = 28672, /* prepared exchanges: + number % TNRI_TAG_EXCHANGES */
    TNRI_TAG_CONFIRM = 30720,  /* the ends of their preparation: likewise */
    TNRI_TAG_MOST = 32767      /* every MPI has so many */
};
/* The channel on which collective calls move data, beyond those of programs and of exchanges that are being prepared. */
enum { TNRI_CHANNEL_COLLECTIVE = 2 * TNR_WORLD_CHANNELS };

enum { TNRI_TAG_EXCHANGES = 2048 }; /* what the numbers of the last two wrap at */

/* Tag of a number that only grows: `base` and `numbers` are a pair from above. */
static inline int tnri_tag(int base, uint32_t numbers, uint64_t number) { return base + (int)(number % numbers); }

/* Most operations in flight: with what a world adds of its own, fewer than numbers of any tag, so that a free one is always found. */
enum { TNRI_TICKETS_MOST = 2000 };

/* What is known of one rank of the world. */
typedef struct tnri_peer {
    int process;   /* its rank in MPI_COMM_WORLD */
    int near;      /* its rank among those of this node; -1: on another */
    int64_t pid;   /* its process, when this one can watch it (same node, same names of processes); else 0 */
    uint32_t sent; /* numbers of the last transfers in each direction */
    uint32_t received;
} tnri_peer;

typedef struct tnri_near tnri_near;     /* near.c */
typedef struct tnri_flight tnri_flight; /* flight.c */

/*
 * What lives in a world and keeps it from being destroyed: exchanges, published groups. First member of their structs;
 * tnri_dependent_add and _remove by a thread that is inside the world.
 */
typedef struct tnri_dependent {
    struct tnri_dependent *next;
    struct tnri_dependent *previous;
    void (*finalize)(
        struct tnri_dependent *dependent); /* MPI_Finalize begins: give back what is MPI's; NULL: nothing is */
    /* The world, ended by an error or by MPI_Finalize, is destroyed: give everything back. Removed already; NULL: stays as it is */
    void (*end)(struct tnri_dependent *dependent);
} tnri_dependent;

struct tnr_world {
    tnr_domain *home;
    tnr_block record;
    MPI_Comm comm; /* this world's own duplicate of the program's communicator; MPI_COMM_NULL once MPI is finalised */
    MPI_Comm node; /* its ranks that share memory */
    int rank;
    int size;
    int node_rank;
    int node_size;
    int nodes;
    int process;
    uint32_t
        epoch; /* counts worlds: the same on all ranks of one, and never the same again in two worlds of one process */
    tnr_world_options options;      /* defaults filled in */
    tnr_world_device device;        /* whether MPI gets device memory (expose.c), and why not */
    tnri_peer *peers;               /* by rank */
    atomic_uint inside;             /* a thread is */
    TNRI_ATOMIC(tnr_status) poison; /* TNR_OK, or what ended it; the text is there before */
    char poison_text[TNR_ERROR_TEXT_BYTES];
    tnri_flight *flights; /* in flight, in order of their start */
    tnri_flight *free_flights;
    struct tnri_flights *transfers;     /* what both lists are made of (flight.c) */
    tnri_near *near;                    /* NULL: ranks of this node go through MPI too */
    struct tnri_collective *collective; /* room of collective calls (collective.c) */
    uint32_t published;                 /* epoch of the last publication: no two of one world have the same */
    uint64_t tickets;                   /* alive */
    tnri_dependent *dependents;         /* exchanges, published groups */
    struct tnr_world *older;            /* worlds of this process that live, newest first (world.c) */
    uint64_t sends[TNR_PATH_END];
    uint64_t sent_bytes[TNR_PATH_END];
};

/* -- guard.c -- */

/* Is MPI usable: initialised and not finalised? TNR_ERR_MPI otherwise. */
tnr_status tnri_mpi_usable(const char *op);
/* May MPI be called for a world that was made? Set to false by world.c when MPI_Finalize has begun; costs one load. */
bool tnri_mpi_running(void);
void tnri_mpi_stop(void);
/* May this thread call: TNR_ERR_MPI when the level lets only the main thread, and this is another. */
tnr_status tnri_mpi_thread(const char *op, tnr_world_threads threads);
/* Milliseconds of a clock that never steps back. */
uint64_t tnri_milliseconds(void);
/*
 * Wait for a request of the world, letting flights go on. TNR_ERR_PEER when a rank of this node is lost or timeout_ms passed, TNR_ERR_MPI when
 * MPI failed: the world is poisoned then, and the request perhaps still active (*request not null): its buffers must stay.
 * `what` ends "op: waits for ...". Counts the request's end.
 */
tnr_status tnri_world_await(const char *op, tnr_world *world, MPI_Request *request, MPI_Status *status,
                            const char *what);
static inline tnr_status tnri_world_wait(const char *op, tnr_world *world, MPI_Request *request, const char *what)
{
    return tnri_world_await(op, world, request, MPI_STATUS_IGNORE, what);
}
/* The one way into a world: not NULL, MPI usable, the right thread, nobody else inside (TNR_ERR_BUSY), not poisoned. */
tnr_status tnri_world_enter(const char *op, tnr_world *world);
/*
 * Is rank `peer` lost, or, for -1, any: its process gone, or its world ended by an error? Known of this node's ranks only. `why`
 * (TNR_ERROR_TEXT_BYTES) says which and how. `sure`: it was at the last look too, so that what it sent before should be here. The caller ends
 * this world by the answer then, and the node hears what `peer` said.
 */
bool tnri_world_lost(const tnr_world *world, int peer, bool sure, char *why);
/* Milliseconds between two looks for the dead. */
enum { TNRI_WATCH_MS = 50 };
/* How long a rank has waited, and for whom in vain. All zero: not yet. */
typedef struct tnri_patience {
    uint64_t since;   /* ms of the first look in vain */
    uint64_t watched; /* and of the last one for the dead */
    uint64_t waited;  /* ms */
    bool lost;        /* one was, at that look: what it sent before may still come */
} tnri_patience;
typedef enum tnri_outlook {
    TNRI_WAIT_ON,
    TNRI_WAIT_LOST, /* `why` says who is */
    TNRI_WAIT_LATE  /* timeout_ms has passed */
} tnri_outlook;
/* One more look in vain, for a rank, or, -1, any: is there hope? The clock is asked now and then, the dead are looked for rarely. */
tnri_outlook tnri_world_watch(const tnr_world *world, int peer, tnri_patience *patience, char *why);
/* Enter to give things back: also a world that has ended, and after MPI_Finalize, when any thread may. */
tnr_status tnri_world_enter_ended(const char *op, tnr_world *world);
/* Leave; gives `status` back. */
tnr_status tnri_world_leave(tnr_world *world, tnr_status status);
/* TNR_OK for MPI_SUCCESS, else TNR_ERR_MPI with MPI's class and text: "op: MPI_Isend: ...". */
tnr_status tnri_mpi(const char *op, const char *call, int code);
/* The last recorded error ends the world; gives it back. Called where bytes may have moved. The node's other ranks are told. */
tnr_status tnri_world_poison(tnr_world *world, tnr_status status);
/* The same without telling: as it was agreed to end. */
void tnri_world_close(tnr_world *world, tnr_status status);

/* Counts of what MPI holds for us, in all worlds. */
typedef struct tnri_mpi_counts {
    atomic_ullong requests;
    atomic_ullong datatypes;
    atomic_ullong communicators;
    atomic_ullong windows;
} tnri_mpi_counts;
extern tnri_mpi_counts tnri_mpi_live;

/* -- vote.c -- */

/* Which calls may meet: those of one number, with or without a new tensor on this or that rank. */
typedef enum tnri_call {
    TNRI_CALL_NONE = 0,
    TNRI_CALL_BARRIER,
    TNRI_CALL_AGREE,
    TNRI_CALL_BROADCAST,
    TNRI_CALL_REDUCE,
    TNRI_CALL_ALL_REDUCE,
    TNRI_CALL_SCATTER,
    TNRI_CALL_SCATTER_INTO,
    TNRI_CALL_GATHER,
    TNRI_CALL_ALL_GATHER,
    TNRI_CALL_ALL_TO_ALL,
    TNRI_CALL_REDISTRIBUTE,
    TNRI_CALL_PUBLISH,
    TNRI_CALL_UNPUBLISH,
    TNRI_CALL_WINDOW,
    TNRI_CALL_SHARE,
    TNRI_CALL_MACHINE,
    TNRI_CALL_SHARE_TABLE,
    TNRI_CALL_END
} tnri_call;

/*
 * How every collective call of a world begins, before it sends anything else. All ranks bring a status; TNR_OK when all did. Else each
 * failing rank gets its own back (text as it was), the others TNR_ERR_PEER with the smallest failing rank's number and text. When they
 * are in different calls all get TNR_ERR_PEER, naming two of them, and the world goes on. `what` not NULL: the word must
 * be the same on all ranks that did not fail, or all get TNR_ERR_PEER: "the ranks do not agree on what: rank 0 has 3, rank 2 has 4".
 */
tnr_status tnri_vote_cast(const char *op, tnr_world *world, tnri_call call, tnr_status mine, const char *what,
                          uint64_t word);

/* What failed here has failed: said once more where compilers and analysers see it. */
static inline tnr_status tnri_vote_call(const char *op, tnr_world *world, tnri_call call, tnr_status mine,
                                        const char *what, uint64_t word)
{
    const tnr_status all = tnri_vote_cast(op, world, call, mine, what, word);
    return mine != TNR_OK && all == TNR_OK ? mine : all;
}
/* The same, and everybody's words in world->collective->all, where this rank's are already (collective_internal.h). */
tnr_status tnri_vote_words(const char *op, tnr_world *world, tnri_call call, tnr_status mine);
/* Once more within that call. */
tnr_status tnri_vote_again(const char *op, tnr_world *world, tnr_status mine);
static inline tnr_status tnri_vote(const char *op, tnr_world *world, tnr_status mine)
{
    const tnr_status all = tnri_vote_again(op, world, mine);
    return mine != TNR_OK && all == TNR_OK ? mine : all;
}
/* Bytes of the longest such message. */
uint64_t tnri_ballot_bytes(int size);
/* A text without the "op: " that it begins with. */
const char *tnri_text_after(const char *op, const char *text);

/* -- vote_over.c -- */

/* Most words that can be compared at once. */
#define TNRI_VOTE_WORDS 48

/*
 * The same while there is no world yet: waits inside MPI. Several words, NULL: nothing to compare; `what` names them, separated by commas; the
 * last name goes for the rest. A rank that fails may bring any words.
 */
tnr_status tnri_vote_over(const char *op, MPI_Comm comm, int rank, int size, tnr_status mine, const char *what,
                          const uint64_t *words, int count);

/* -- hello.c -- */

enum { TNRI_HELLO_WORDS = 7 };
extern const char tnri_hello_names[];
void tnri_hello_fill(uint64_t *words);

/* -- expose.c, device_query_*.c -- */

/* Does the MPI that runs take device memory of CUDA's? Asked anew; MPI is initialised. TNR_WORLD_DEVICE_DIRECT, _REFUSED or _UNKNOWN. */
tnr_world_device tnri_device_query(void);
/* Which way device memory goes in a world of these options; the off switches first. TNR_ERR_ARGUMENT for a word that is none. */
tnr_status tnri_device_decide(const char *op, const tnr_world_options *options, tnr_world_device *device);

/* -- world.c -- */

/* Given options, checked, with the defaults filled in. */
tnr_status tnri_world_options_take(const char *op, const tnr_world_options *given, tnr_world_options *options);
/* Of the home, for so many ranks: for the world's life, and while it is made (world_need.c; so are all _bytes below). */
void tnri_world_bytes(int size, uint64_t *record, uint64_t *room);
void tnri_dependent_add(tnr_world *world, tnri_dependent *dependent);
void tnri_dependent_remove(tnr_world *world, tnri_dependent *dependent);

/* -- flight.c -- */

/* Let everything in flight go on a little, without waiting: when nothing moved, is one lost whom anything is with? That ends the world. */
tnr_status tnri_world_progress(tnr_world *world);
/* Only go on; true in *moved when anything did. */
tnr_status tnri_world_move(tnr_world *world, bool *moved);
tnr_status tnri_flights_make(tnr_world *world); /* room for options.tickets */
uint64_t tnri_flights_count(const tnr_world_options *options);
uint64_t tnri_flights_bytes(const tnr_world_options *options, int size);
/* Before shared memory and communicators go: what a poisoned world still has in flight is called off as far as MPI lets us. */
void tnri_flights_stop(tnr_world *world);
void tnri_flights_free(tnr_world *world);

/* -- collective.c -- */

tnr_status tnri_collective_make(tnr_world *world);
uint64_t tnri_collective_bytes(int size);
void tnri_collective_free(tnr_world *world);

/* -- near.c -- */

/* Collective over the node's ranks; leaves world->near NULL when options or the system do not allow it: that is no error. */
tnr_status tnri_near_make(tnr_world *world);
uint64_t tnri_near_bytes(int node_size);
void tnri_near_free(tnr_world *world); /* MPI is usable, or only memory is given back */
/* Is the process of this rank of the node still there? True where it cannot be watched (tnri_peer.pid 0). */
bool tnri_near_alive(const tnr_world *world, int near);
/* Tell the node that this rank's world has ended, by what `rank` of the world met with. The first time counts. */
void tnri_near_end(const tnr_world *world, int rank, const char *text);
/* Has this rank of the node told so? `text`: TNR_ERROR_TEXT_BYTES. */
bool tnri_near_ended(const tnr_world *world, int near, int *rank, char *text);

#endif /* TENURE_MPI_MPI_INTERNAL_H */
