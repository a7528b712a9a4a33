/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What publishing, fetching and shared windows share.
 *
 *   publish.c      a group's descriptors to all ranks      fetch_plan.c   which bytes of an owner to read: pure
 *   fetch.c        copying what a descriptor names         peer_copy_linux.c, peer_copy_none.c   another process' memory
 *   window.c       domains in memory that a node shares    tell.c         every rank's words to every rank
 */
#ifndef TENURE_MPI_GROUP_INTERNAL_H
#define TENURE_MPI_GROUP_INTERNAL_H

#include "mpi_internal.h"

/* -- tell.c -- */

/*
 * Every rank of `comm` (the world's, or its node's) tells the others `bytes` bytes: `room` has size + 1 places of so many; the last one is
 * what this rank tells, the others get what the ranks told. Collective. *stuck: MPI may still write to the room, which must stay.
 */
tnr_status tnri_tell(const char *op, tnr_world *world, MPI_Comm comm, int size, void *room, size_t bytes, bool *stuck);

/* -- fetch_plan.c -- */

/*
 * A strided copy out of memory that can only be read in stretches. Axes by ascending stride of the source, which are all >= 0; those
 * of a piece are the first `inner` ones and `step` indices of the next.
 */
typedef struct tnri_fetch_plan {
    size_t element_bytes;
    int rank;
    int inner;
    int64_t step;
    bool direct; /* each piece is dense at both ends */
    bool over;
    int64_t shape[TNR_MAX_RANK];
    int64_t source[TNR_MAX_RANK]; /* strides in elements */
    int64_t target[TNR_MAX_RANK];
    int64_t index[TNR_MAX_RANK];
    int64_t begin; /* byte of the piece's first in the source */
    char *to;
} tnri_fetch_plan;

/* Read bytes [begin, begin + span) of the source; element n of `shape` under plan->source goes to `to` under plan->target. */
typedef struct tnri_fetch_piece {
    uint64_t begin;
    uint64_t span;
    char *to;
    int rank;
    int64_t shape[TNR_MAX_RANK];
} tnri_fetch_piece;

/*
 * `begin`: byte of the first element. Pieces that need a buffer span at most `most` bytes (at least one element's). `start_bytes`:
 * how many bytes could be read in the time that starting a read takes.
 */
void tnri_fetch_plan_make(tnri_fetch_plan *plan, size_t element_bytes, int rank, const int64_t *shape, int64_t begin,
                          const int64_t *source, char *to, const int64_t *target, uint64_t most, uint64_t start_bytes);
bool tnri_fetch_plan_next(tnri_fetch_plan *plan, tnri_fetch_piece *piece);

/* -- peer_copy_linux.c or peer_copy_none.c -- */

typedef struct tnri_peer_span {
    void *local;
    uint64_t remote; /* address there */
    uint64_t bytes;
} tnri_peer_span;

enum { TNRI_PEER_SPANS = 64 };

/* Read a process' memory; at most TNRI_PEER_SPANS spans. False when that cannot be: some bytes may have been written. */
bool tnri_peer_read(int64_t pid, const tnri_peer_span *spans, int count);

/* -- window.c -- */

/* Do these bytes lie in a window of this process? Its number, and where in it. */
bool tnri_window_of(const void *address, uint64_t bytes, uint64_t *window, uint64_t *offset);

/*
 * Copy from a window that this process has too; false when it has none of this number. The source's first element is at `first` of the
 * whole window, and all of it within [begin, begin + bytes).
 */
bool tnri_window_copy(uint64_t window, uint64_t begin, uint64_t bytes, uint64_t first, size_t element_bytes, int rank,
                      const int64_t *shape, void *target, const int64_t *target_strides, const int64_t *strides);

/* -- publish.c -- */

/* Words of tnri_group_item.source. */
enum {
    TNRI_SOURCE_ADDRESS, /* of the owner's first byte, there */
    TNRI_SOURCE_REMOTE,  /* which of the publication's MPI windows it is in, plus one; 0: none */
    TNRI_SOURCE_WINDOW,  /* number of the shared window that it is in; 0: none */
    TNRI_SOURCE_OFFSET   /* and where */
};

enum { TNRI_FETCHES = 4 }; /* one-sided reads in flight */

typedef struct tnri_publication {
    tnri_dependent dependent; /* first */
    tnr_world *world;
    tnr_group *group;
    tnr_block record;     /* this and the next four */
    tnri_operand *owners; /* leased and mapped */
    tnr_view *views;
    uint8_t *readable;       /* by rank: its memory can be read directly */
    struct tnri_head *heads; /* room for tnri_tell */
    uint64_t owner_count;
    uint32_t descriptors; /* of the group, before the others' came */
    bool leased;
    bool stuck; /* MPI may still use our memory: it stays */
    uint32_t epoch;
    uint32_t before;  /* the group's epoch until then */
    uint64_t probe;   /* what others try to read */
    tnr_block buffer; /* for pieces */
    tnr_block windows_record;
    MPI_Win *windows;
    uint32_t window_count;
} tnri_publication;

/* -- publish_words.c -- */

/* One descriptor. */
enum { TNRI_ITEM_WORDS = 17 + TNRI_GROUP_SOURCE_WORDS + 2 * TNR_MAX_RANK };
void tnri_item_encode(const tnri_group_item *item, uint64_t *words);
/* TNR_ERR_MPI when they are no descriptor of this rank. */
tnr_status tnri_item_decode(const char *op, int rank, const uint64_t *words, tnri_group_item *item);

#endif /* TENURE_MPI_GROUP_INTERNAL_H */
