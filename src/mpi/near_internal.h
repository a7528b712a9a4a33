/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory of the ranks of one node, as the transfers see it.
 *
 * Each rank has a part that it alone gives out: one lane per flight, and a ring of slots. A lane is where the partner of a send answers,
 * and where the two tell each other which pieces lie in which slot. Each line of a lane has one writer.
 */
#ifndef TENURE_MPI_NEAR_INTERNAL_H
#define TENURE_MPI_NEAR_INTERNAL_H

#include "mpi_internal.h"

/* Slots that one send has at a time; the mark of one that has a sender's text instead of a piece: its memory could not be read. */
enum { TNRI_SLOTS_MOST = 32, TNRI_SLOT_TEXT = 0x8000 };

typedef struct tnri_lane {
    /* the receiver's line */
    _Alignas(64) atomic_uint answered; /* the transfer's number, once status and text are there */
    atomic_uint taken;                 /* pieces that it has copied, mod 2^32 */
    uint32_t status;
    uint32_t reads;   /* it reads the sender's memory itself: no slots */
    uint32_t failed;  /* its memory did, some time before the last piece was taken */
    uint64_t message; /* where the payload goes by MPI messages: as tnri_answer has it */
    /* the sender's line */
    _Alignas(64) atomic_uint filled; /* pieces that lie ready or have been taken */
    uint64_t address;                /* of the payload, where it lies in one piece and may be read; else 0 */
    uint64_t piece; /* bytes of pieces, should the receiver want them where the header speaks of messages */
    uint16_t slots[TNRI_SLOTS_MOST]; /* of piece p: [p % TNRI_SLOTS_MOST] */
    /* the receiver's */
    _Alignas(64) char text[TNR_ERROR_TEXT_BYTES]; /* why it refuses, or fails */
} tnri_lane;

/* A rank of the node has ended its world by an error. Written once, by its owner. */
typedef struct tnri_notice {
    _Alignas(64) atomic_uint there;
    int32_t rank;                    /* of the world: where it began */
    char text[TNR_ERROR_TEXT_BYTES]; /* as that rank has it */
} tnri_notice;

/* One header on its way, as it is, with what payload fits behind it. */
enum { TNRI_MAIL_ENTRIES = 8, TNRI_MAIL_BYTES = 244 };
typedef struct tnri_mail {
    _Alignas(64) atomic_uint full;
    uint32_t tag;
    uint32_t length;
    unsigned char bytes[TNRI_MAIL_BYTES];
} tnri_mail;
_Static_assert(sizeof(tnri_mail) == 256 && TNRI_MAIL_BYTES >= sizeof(tnri_header),
               "whole lines, and room for any header");

/* How far a rank is with its neighbours' rings: with what it writes to one, and reads from it. */
typedef struct tnri_ends {
    uint32_t tail;
    uint32_t head;
    uint32_t taken; /* of the entries from head on, those that are empty again: bit 0 is head's */
    bool choked;    /* the ring is full of headers without a receive, and the home has no room for them */
    uint32_t held;  /* slots of this rank that lie ready for it, in sends that it has accepted */
} tnri_ends;

struct tnri_near {
    tnr_block record;
    void *mapping;
    size_t mapped;
    uint64_t part;        /* bytes of one rank's part */
    uint64_t slots_begin; /* in a part */
    uint64_t mail_begin;
    uint64_t notice_begin;
    uint64_t slot_bytes;
    uint32_t lanes;
    uint32_t slots;
    uint32_t free_count; /* of this rank's own: free_slots[0 .. free_count) */
    uint16_t *free_slots;
    uint32_t unserved;           /* neighbours that hold none: so many are kept for them */
    bool reads;                  /* the ranks of this node may read each other's memory */
    struct tnri_letter *letters; /* came before their receives */
    struct tnri_letter *free_letters;
    struct tnri_sheet *sheets;
    tnri_ends *ends;  /* by rank of the node */
    uint32_t guessed; /* of its slots in use: by sends that nobody has accepted yet */
};

/* How far a payload is. */
typedef struct tnri_cargo {
    uint64_t piece; /* bytes */
    uint64_t count;
    uint64_t moved; /* pieces filled (sender) or taken (receiver) */
    uint64_t freed; /* sender: slots had back */
    uint32_t base;  /* what the lane's counts were when it began */
    bool reads;     /* the receiver copies out of the sender's memory */
    bool guessing;  /* not accepted yet: its slots count as guessed */
} tnri_cargo;

/* -- segment.c -- */

typedef char tnri_segment_name[64];
/* New shared memory, of no bytes; a descriptor and a name (shm_unlink), or -1 and "". */
int tnri_segment_create(tnri_segment_name name, const char *kind);

/* -- near.c -- */

tnri_lane *tnri_near_lane(const tnr_world *world, int near, uint32_t index);
/* A rank's slot. */
char *tnri_near_slot(const tnr_world *world, int near, uint32_t slot);

#endif /* TENURE_MPI_NEAR_INTERNAL_H */
