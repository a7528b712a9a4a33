/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one course of all collective calls:
 *
 *   enter -> local checks, leases -> everyone's words to everyone -> the same verdict everywhere -> new tensors, a vote on them
 *         -> data, by flights on a channel of their own -> leases back, leave
 *
 * Up to the data nothing has been written and everybody may go on; a failure after that ends the world. Where a rank's memory is
 * away (storage.h) its domain's copies may fail in the midst: then all transfers go on as they would, some of them failing, and at the
 * end all vote on that.
 */
#ifndef TENURE_MPI_COLLECTIVE_INTERNAL_H
#define TENURE_MPI_COLLECTIVE_INTERNAL_H

#include "flight_internal.h"

/* What a rank gives, or has to write. */
typedef struct tnri_side {
    uint64_t there;
    uint64_t dtype;
    int64_t rank;
    int64_t shape[TNR_MAX_RANK];
    uint8_t order[TNR_MAX_RANK]; /* axes from the nearest elements to the farthest: how it lies in memory */
} tnri_side;

/* What each rank tells the others before anything else. */
typedef struct tnri_words {
    int64_t root; /* the next four must be the same everywhere */
    int64_t axis;
    int64_t other;  /* second axis, kind of combination */
    uint64_t hash;  /* of what else must be */
    uint64_t makes; /* a new tensor: votes once more */
    uint64_t cuts;  /* it names extents of parts */
    uint64_t away;  /* it gives or takes memory that the host cannot reach */
    tnri_side give;
    tnri_side take;
} tnri_words;

/* Room in the world for this, and for votes. */
typedef struct tnri_collective {
    tnr_block record;
    tnri_call call;  /* that is made, or was last */
    bool stuck;      /* a request that never ended may still write here */
    tnri_words *all; /* by rank */
    int64_t *sent;   /* one per rank: extents that this rank names for the others */
    int64_t *got;    /* and they for it */
    char *ballot_in; /* messages of votes */
    char *ballot_out;
} tnri_collective;

enum { TNRI_AT_ONCE = 8 }; /* flights of one call: sends and receives together */

/*
 * Buffers of packed messages that a call has taken before its ranks agree: for a transfer in each direction, the least that data need. The
 * others are taken as they are to be had.
 */
enum { TNRI_RESERVED = 2 * TNRI_PACKS };

/* How a view is cut on its way; an axis otherwise. */
enum {
    TNRI_CUT_NOT = -1,    /* whole, or in slabs */
    TNRI_CUT_ANYHOW = -2, /* in boxes */
    TNRI_CUT_STAYS = -3   /* it does not travel itself */
};

typedef struct tnri_course {
    const char *op;
    tnr_world *world;
    tnri_call call;
    tnri_words words;
    const tnri_words *all; /* by rank, once told */
    /* memory: operand 0 is given, the next one taken; as views with the address of their first element */
    tnri_operand operands[2];
    int operand_count;
    bool leased;
    bool stays; /* see tnri_course_settle */
    tnr_view give;
    tnr_view take;
    char *give_data;
    char *take_data;
    tnr_domain *domain; /* of the new tensor; NULL: none */
    tnr_tensor **out;
    tnri_output output;
    bool drafted;
    int give_cut; /* TNRI_CUT_NOT ..., or an axis */
    int take_cut;
    tnri_pack *reserved[TNRI_RESERVED];
    int reserved_count;
    bool reserves; /* it has that many, here or in flights */
    /* flights, oldest first */
    tnri_flight *flights[TNRI_AT_ONCE];
    uint64_t begun;
    uint64_t ended;
    uint64_t packed; /* bytes that had to be packed to be sent */
    /* memory that is away: room for copies here, and what failed first */
    tnri_pack *pack;
    bool votes_again; /* it is at some rank */
    tnr_status failed;
    char failed_text[TNR_ERROR_TEXT_BYTES];
} tnri_course;

/* -- collective.c -- */

/* Into the world. An answer other than TNR_OK: nothing was told to anyone, return it. */
tnr_status tnri_course_enter(tnri_course *course, const char *op, tnr_world *world, tnri_call call);
/* A root of the world; an axis of the view that is given (`there`: else not checked). */
tnr_status tnri_course_root(tnri_course *course, int root);
/* Lease what is given and taken (either NULL: not there); views and words of both are set. */
tnr_status tnri_course_lease(tnri_course *course, const tnr_view *give, const tnr_view *take, tnri_aliasing aliasing);
/* A new tensor is wanted in this domain. */
tnr_status tnri_course_makes(tnri_course *course, tnr_domain *domain, tnr_tensor **out);
/* All ranks' words; TNR_OK when all brought TNR_OK and agree on call, root, axes and hash. */
tnr_status tnri_course_tell(tnri_course *course, tnr_status mine);
/* The extents that this rank names for each (`sent`, filled) to them; course->world->collective->got are those for this one. */
tnr_status tnri_course_trade(tnri_course *course);
/* Rank `who` is wrong, as all ranks see: its own status there, TNR_ERR_PEER elsewhere. */
tnr_status tnri_course_blame(const tnri_course *course, int who, tnr_status status, const char *text);
/* Rank `who`'s side against what it should be. */
tnr_status tnri_course_expect(const tnri_course *course, int who, const tnri_side *side, const char *verb,
                              uint64_t dtype, int64_t rank, const int64_t *shape);
/* `status` of this rank's own steps since the words; where a new tensor is wanted it is made of this dtype and shape. All ranks vote
 * when one of them makes a tensor, or `votes`; course->take is it. */
tnr_status tnri_course_make(tnri_course *course, tnr_status status, bool votes, tnr_dtype dtype, int rank,
                            const int64_t *shape);
uint64_t tnri_view_bytes(const tnr_view *view);
/* What is left of flights after a failure; true: MPI may still be at the bytes, so memory and leases stay as they are. */
bool tnri_course_settle(tnri_course *course, tnr_status status);
/* A domain's copy failed, with the last recorded text: the outcome, once all has moved. */
void tnri_course_fail(tnri_course *course, tnr_status status);
/* Flights end, leases go back, ledgers are written, the new tensor is its caller's (or undone), out of the world. */
tnr_status tnri_course_leave(tnri_course *course, tnr_status status);

/* -- collective_reserve.c -- */

/* Before ranks agree: can transfers of this view go packed, and then, is there room for two? */
tnr_status tnri_course_reserve(tnri_course *course, const tnr_view *view, char *data, int cut);
/* Give a flight the buffers that it needs, if any; *full: there are none, and those of an older flight must be had back. */
void tnri_course_outfit(tnri_course *course, tnri_flight *flight, bool *full);
/* A flight of the call is over: what the call must have is had back. */
void tnri_course_regain(tnri_course *course, tnri_flight *flight);
void tnri_course_unreserve(tnri_course *course);

/* -- collective_traffic.c: an error here ends the world -- */

/* Part of a view: `count` from `start` along `axis`. */
void tnri_part_of(const tnr_view *view, char *data, int axis, int64_t start, int64_t count, tnr_view *part,
                  char **part_data);
/* Start a transfer on the collective channel (empty ones: nothing); waits for older ones when too many are in flight. */
tnr_status tnri_course_send(tnri_course *course, const tnr_view *view, char *data, int to);
tnr_status tnri_course_receive(tnri_course *course, const tnr_view *view, char *data, int from);
/* Until the first `upto` transfers of the call are over (course->begun: all). */
tnr_status tnri_course_wait(tnri_course *course, uint64_t upto);
/* Elements that stay here: shapes agree; memory is apart, or the very same. What fails is the course's. */
void tnri_course_copy(tnri_course *course, const tnr_view *from, const char *from_data, const tnr_view *to,
                      char *to_data);
/* course->give of `root` to course->take of all others, which have its shape, and a copy to root's own take when `root_too`. */
tnr_status tnri_course_spread(tnri_course *course, int root, const tnr_view *source, char *source_data, bool root_too);

#endif /* TENURE_MPI_COLLECTIVE_INTERNAL_H */
