/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of transfers between two ranks share.
 *
 * A flight is one end of one transfer, from its start until the caller has heard of its end:
 *
 *   flight_room.c     room for them, buffers, lists            flight_send.c, flight_receive.c   the two ends
 *   flight.c          stepping, waiting, settling
 *   flight_message.c  payload by MPI messages                  flight_self.c   a rank to itself  flight_ticket.c  tickets
 *   near_mail.c       headers through shared memory            transfer.c      the public calls
 *   near_lane.c       payload through shared memory            exchange.c, exchange_roll.c       transfers that repeat
 *   expose.c          device memory that MPI itself gets
 *
 *   WAITING --accepted--> MOVING --all moved--> CLOSING --requests over--> OVER
 *      |    --refused---------------------------->'
 *      '--(prepared, accepted)--> READY --start--> MOVING ... --> READY
 *
 * Where an end's memory is away, its domain's copy may fail with the transfer under way. Then all messages or pieces go on, empty, a
 * text with them or after them, so that both ends come to their end, nothing of it stays in MPI or in a lane, and both know:
 *
 *   by messages       a failing sender sends empty messages from there on, and its text after the last; a receiver that is away
 *                     says so in its answer, and then, after the last message, how it went (`verdict`)
 *   by shared memory  a failing sender marks its slots, which have the text; a receiver puts status and text in the lane
 *
 * When the failure comes before the first piece, that is a refusal; after it, the world ends at both ends (`fatal`), once all transfers
 * of the call are over.
 *
 * Steps never wait for another rank; for a device they may (flight.c). What a flight holds (leases, a draft) it holds until it is settled,
 * after OVER, by the thread that hears of its end.
 */
#ifndef TENURE_MPI_FLIGHT_INTERNAL_H
#define TENURE_MPI_FLIGHT_INTERNAL_H

#include <stddef.h>

#include "mpi_internal.h"
#include "near_internal.h"

typedef enum tnri_flight_kind { TNRI_SEND, TNRI_RECEIVE, TNRI_RECEIVE_NEW } tnri_flight_kind;

typedef enum tnri_flight_state {
    TNRI_FLIGHT_WAITING, /* a send: for the answer; a receive: for the header */
    TNRI_FLIGHT_READY,   /* prepared and agreed: not under way */
    TNRI_FLIGHT_MOVING,
    TNRI_FLIGHT_CLOSING, /* outcome known; header or answer still on their way */
    TNRI_FLIGHT_OVER
} tnri_flight_state;

/* What a receiver tells a sender that it does not share memory with; the text only goes when it refuses. */
typedef struct tnri_answer {
    uint32_t number;
    uint32_t status;
    uint64_t message; /* bytes in all messages but the last */
    char text[TNR_ERROR_TEXT_BYTES];
} tnri_answer;
#define TNRI_ANSWER_LEAST ((int)offsetof(tnri_answer, text))
/* In `message`: another answer comes when all messages have. */
#define TNRI_ANSWER_VERDICT (UINT64_C(1) << 63U)
/* In its place, to a rank of this node that would send messages: through slots instead. */
#define TNRI_ANSWER_SLOTS UINT64_C(0)

/* Room for one packed message; kept by the world for the next flight. */
typedef struct tnri_pack {
    struct tnri_pack *next;
    tnr_block block;
    char *data;
} tnri_pack;

enum { TNRI_MESSAGES_AT_ONCE = 4, TNRI_PACKS = 2 };

/* A message that is still to go or come when the payload has. */
typedef enum tnri_late { TNRI_LATE_NONE, TNRI_LATE_DUE, TNRI_LATE_POSTED } tnri_late;

/* Payload on its way as messages. */
typedef struct tnri_messages {
    uint64_t most; /* bytes of all but the last */
    uint64_t count;
    uint64_t begun;
    uint64_t ended;
    int tag;
    int at_once;
    bool judged;       /* the receiver is away: a verdict follows */
    tnri_late notice;  /* the sender's text */
    tnri_late verdict; /* the receiver's */
    MPI_Datatype type; /* of all but the last, where one serves all */
    MPI_Request requests[TNRI_MESSAGES_AT_ONCE];
    tnri_pack *packs[TNRI_PACKS];
} tnri_messages;

struct tnri_flight {
    tnr_ticket ticket; /* first */
    tnr_world *world;
    struct tnri_flight *next; /* in world->flights, or free */
    struct tnri_flight *previous;
    const char *op;
    tnri_flight_kind kind;
    tnri_flight_state state;
    bool ticketed;
    bool prepared;
    bool piece;                  /* of a larger copy, whose entry in the ledger its caller makes */
    bool joint;                  /* one of several of a call, which ends the world itself when all are over */
    bool seen;                   /* the partner may know of it */
    struct tnri_flight *partner; /* prepared, to itself: the other end */
    int peer;
    int channel;
    uint32_t index;      /* of this flight among the world's */
    uint32_t number;     /* of the transfer; a receive: once its header is there */
    uint32_t lane_index; /* of the sender's flight */
    tnr_world_path path;
    /* memory */
    tnr_view view;
    tnri_operand operand;
    bool leased;
    tnr_domain *domain; /* of a new tensor */
    tnr_tensor **tensor;
    tnri_output output;
    bool drafted;
    tnri_stream stream;
    char *exposed; /* path DEVICE, under way: what MPI gets for stream.data; NULL: nothing is exposed */
    /* outcome */
    tnr_status failed; /* a domain's copy did, at either end: the outcome to come, its text below */
    bool fatal;        /* and elements had moved by then */
    tnr_status status;
    char text[TNR_ERROR_TEXT_BYTES];
    /* transport */
    MPI_Request header_request;
    MPI_Request answer_request;
    tnri_answer answer;
    tnri_messages messages;
    tnri_lane *lane; /* the sender's; NULL: by messages */
    tnri_cargo cargo;
    unsigned char *wire; /* header and eager payload */
    uint32_t wire_length;
};

/* What a rank has with another in an exchange that it prepares, as the other is told. */
typedef struct tnri_roll_words {
    uint64_t sends;
    uint64_t receives;
    uint64_t sent; /* channels of the sends, together */
    uint64_t received;
} tnri_roll_words;
typedef struct tnri_roll {
    tnri_roll_words mine;
    MPI_Request request;
    bool named;
    bool refused; /* by that rank, or what it has does not fit: no part with it is begun */
} tnri_roll;

/* What a world's flights stand on; world->free_flights and world->flights are lists of these. */
typedef struct tnri_flights {
    tnr_block record;
    uint32_t count;
    tnri_pack *packs;
    tnri_flight *parked; /* prepared, not under way */
    uint32_t prepared;   /* flights of exchanges */
    uint32_t spins;      /* looks in vain before the core is given away */
    uint64_t watched;    /* ms of the last look for the dead by calls that do not wait */
    int lost;            /* who was lost at that look; -1: nobody */
    bool stuck;          /* a request that never ended may still be at what follows */
    tnri_roll *rolls;    /* by rank */
    char roll_told[TNR_ERROR_TEXT_BYTES];
    char roll_heard[TNR_ERROR_TEXT_BYTES];
    tnri_flight flights[];
} tnri_flights;

/* -- flight.c, flight_room.c -- */

/* A free flight, TNRI_FLIGHT_WAITING and in no list; TNR_ERR_MEMORY when all are taken. */
tnr_status tnri_flight_take(const char *op, tnr_world *world, tnri_flight_kind kind, int peer, int channel,
                            tnri_flight **flight);
void tnri_flight_add(tnri_flight *flight);             /* to the end of world->flights */
void tnri_flight_park(tnri_flight *flight);            /* from there to the prepared ones */
void tnri_flight_remove(tnri_flight *flight);          /* from whichever list it is in */
bool tnri_flight_is_active(const tnri_flight *flight); /* MPI may touch its memory */
/* Leases on flight->view, kept until it is settled. */
tnr_status tnri_flight_lease(tnri_flight *flight, const tnr_view *view, bool write);
/* Give back leases, draft and the flight itself, whatever state it is in, but no request of it may be active. `status` stands. */
tnr_status tnri_flight_drop(tnri_flight *flight, tnr_status status);
/* The last recorded text and this status are the outcome: closing. */
void tnri_flight_close(tnri_flight *flight, tnr_status status);
/* A domain's copy failed, with the last recorded text; `moved`: after the first piece. Only the first failure of a flight counts. */
void tnri_flight_fail(tnri_flight *flight, tnr_status status, bool moved);
/* The same, told by the other end. */
void tnri_flight_hear(tnri_flight *flight, const char *text, bool moved);
/* All has moved, or would have: closing, with what failed on the way. */
void tnri_flight_finish(tnri_flight *flight);
/* It was packed on its way out, which is one entry in the ledger. */
bool tnri_flight_packed(const tnri_flight *flight);
/* Until it is over (or READY), all others going on too; an answer other than TNR_OK: the world is poisoned, or nothing can ever come. */
tnr_status tnri_flight_wait(tnri_flight *flight);
/* Rank and channel exist: TNR_ERR_BOUNDS. */
tnr_status tnri_check_ends(const char *op, const tnr_world *world, int peer, int channel);
/* The world has ended: cancel what MPI still has of a flight, for some milliseconds. It may stay active all the same. */
void tnri_flight_call_off(tnri_flight *flight);
/* Hear of the end of a flight that is over, or whose world is poisoned: its outcome; it is free again (or left to the world). */
tnr_status tnri_flight_settle(tnri_flight *flight);
tnr_status tnri_pack_take(const char *op, tnr_world *world, tnri_pack **pack);
uint64_t tnri_pack_bytes(const tnr_world_options *options);
void tnri_pack_give(tnr_world *world, tnri_pack *pack);
/* MPI_Test that counts; *done for a null request. */
tnr_status tnri_request_test(const char *op, MPI_Request *request, MPI_Status *status, bool *done);
void tnri_request_count(void); /* one more is active */
/* The world has ended: cancel a receive, and let go of a request as soon as it is over; false: it is not by then. */
enum { TNRI_CALL_OFF_MS = 50 };
bool tnri_request_call_off(MPI_Request *request, bool cancels, uint64_t until);
void tnri_shape_text(const int64_t *shape, int rank, char *text, size_t bytes);

/* -- flight_send.c, flight_receive.c, flight_self.c, flight_message.c, near_lane.c: steps; *moved when something went on -- */

tnr_status tnri_send_step(tnri_flight *flight, bool *moved);
tnr_status tnri_receive_step(tnri_flight *flight, bool *moved);
void tnri_self_step(tnri_flight *flight, bool *moved);
/* What failed is in both, which are not closed by it. */
void tnri_self_copy(tnri_flight *send, tnri_flight *receive);
/* Dtype and shape of what comes agree with the view's: else the outcome and its text. */
tnr_status tnri_match(const tnri_flight *flight, tnr_dtype dtype, int rank, const int64_t *shape);

/*
 * Put a flight under way, whose stream is made (a send, a receive into) or whose domain is set. An answer other than TNR_OK: nothing
 * was begun, or the world is poisoned; the caller drops or settles it.
 */
tnr_status tnri_send_begin(tnri_flight *flight);
tnr_status tnri_receive_begin(tnri_flight *flight);
/* The same for a view whose owner is leased by someone else as long as the flight lives. */
tnr_status tnri_flight_adopt(tnri_flight *flight, const tnr_view *view, char *data);
/* A header has come in flight->wire. */
tnr_status tnri_receive_header(tnri_flight *flight, int length);

/* How this end's payload goes as messages where MPI does not get a device's memory; and of how many bytes it wants them, at most `most`. */
tnr_world_path tnri_messages_path(const tnr_world *world, const tnri_stream *stream);
uint64_t tnri_messages_propose(const tnri_flight *flight, uint64_t most);
/* What can fail without anything having moved: buffers. */
tnr_status tnri_messages_prepare(tnri_flight *flight);
tnr_status tnri_messages_begin(tnri_flight *flight, uint64_t most);
tnr_status tnri_messages_step(tnri_flight *flight, bool *moved);
void tnri_messages_end(tnri_flight *flight);     /* types and buffers go back */
void tnri_messages_restart(tnri_flight *flight); /* the same again */
static inline bool tnri_messages_over(const tnri_flight *flight)
{
    return flight->messages.ended == flight->messages.count && flight->messages.notice == TNRI_LATE_NONE &&
           flight->messages.verdict == TNRI_LATE_NONE;
}

/* -- expose.c -- */

/* MPI may have the stream's elements from now on; waits until what must come first is over. A failure exposes nothing. */
tnr_status tnri_flight_expose(tnri_flight *flight);
/*
 * Does MPI get them? *direct, and then they are exposed, but those of a prepared flight only at each start. Not where the world or the memory
 * does not qualify, or its domain answers TNR_ERR_UNSUPPORTED, which is no failure.
 */
tnr_status tnri_flight_go_direct(tnri_flight *flight, bool *direct);
/* MPI is done with them. Nothing to do where nothing is exposed. */
void tnri_flight_conceal(tnri_flight *flight);

/* -- near_mail.c -- */

/* Bytes of a header in shared memory. */
static inline uint32_t tnri_mail_head(uint32_t rank) { return (uint32_t)offsetof(tnri_header, shape) + 8U * rank; }

/* Hand a send's header to a rank of this node, when its ring has room and no earlier send waits for that: flight->seen. */
void tnri_mail_post(tnri_flight *flight, bool *moved);
/* A receive is begun: is its header there already? */
tnr_status tnri_mail_kept(tnri_flight *flight);
/* Take what a rank of this node has posted. */
tnr_status tnri_mail_collect(tnr_world *world, int peer, bool *moved);
/* Does a receive wait for what cannot come, because all room for headers is taken by those of other channels? */
bool tnri_mail_choked(const tnri_flight *flight);
void tnri_mail_end(tnr_world *world);
/* Bytes of each of the *sheets that so many headers without a receive need. */
uint64_t tnri_mail_sheets(uint64_t headers, uint64_t *sheets);

/* -- exchange.c -- */

uint64_t tnri_exchange_bytes(uint64_t parts);

/* -- exchange_roll.c -- */

/*
 * Tell all ranks that the parts name, and hear of them; `mine`: what this rank can. It gets its own failure back, else TNR_ERR_PEER of the
 * first rank that cannot, or has other parts with this one: tnri_roll.refused. Or the world has ended.
 */
tnr_status tnri_roll_call(const char *op, tnr_world *world, const tnr_exchange_part *parts, size_t count,
                          tnr_status mine);

/* -- near_lane.c -- */

void tnri_cargo_begin_send(tnri_flight *flight);
/* Pieces of so many bytes as the sender says; TNR_ERR_MPI when that cannot be. */
tnr_status tnri_cargo_begin_receive(tnri_flight *flight, uint64_t bytes, uint64_t piece);
void tnri_cargo_send_step(tnri_flight *flight, bool *moved);
tnr_status tnri_cargo_receive_step(tnri_flight *flight, bool *moved);
/* The receiver, whose stream is made, before it accepts: through slots, or out of the sender's memory. */
void tnri_cargo_choose(tnri_flight *flight);
/* The sender hears of that. */
void tnri_cargo_answered(tnri_flight *flight);
void tnri_cargo_restart(tnri_flight *flight); /* the same again: counts in the lane go on */
void tnri_cargo_sent(tnri_flight *flight);    /* all pieces were taken: how did it go there? */
void tnri_cargo_end(tnri_flight *flight);     /* a send's slots are had back */

extern const tnri_ticket_class tnri_flight_tickets;

static inline int tnri_answer_tag(const tnri_flight *flight)
{
    return tnri_tag(TNRI_TAG_ANSWER, TNRI_TAG_NUMBERS, flight->number);
}

/* Headers of transfers that are being prepared have tags of their own. */
static inline int tnri_header_tag(const tnri_flight *flight)
{
    return TNRI_TAG_HEADER + flight->channel + (flight->prepared ? TNR_WORLD_CHANNELS : 0);
}

#endif /* TENURE_MPI_FLIGHT_INTERNAL_H */
