/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks agree, or all hear why not. One all-reduce of minima decides: over the number of the first rank that fails, and, where
 * words are to be compared, over each word and its complement, so that one message tells both the least and the greatest.
 * Only when there is something to tell do further messages travel.
 */
#define _POSIX_C_SOURCE 200809L /* sched_yield */
#include <sched.h>

#include "mpi_internal.h"

/*
 * Where a vote's messages lie. Not on the stack, and not in the world: when a partner dies, MPI may keep a request that can be
 * neither finished nor cancelled, and its buffers must stay for ever.
 */
typedef struct vote_room {
    atomic_bool taken;
    uint64_t mine[2 * TNRI_VOTE_WORDS + 1];
    uint64_t all[2 * TNRI_VOTE_WORDS + 1];
    struct {
        uint64_t status;
        char text[TNR_ERROR_TEXT_BYTES];
    } reason;
} vote_room;

static vote_room rooms[32]; /* votes that run at the same time, in as many worlds, and those that never end */

typedef struct vote {
    const char *op;
    tnr_world *world; /* NULL: none yet */
    MPI_Comm comm;
    int rank;
    int size;
    vote_room *room;
    MPI_Request request;
    bool stuck;                      /* a request still uses the room */
    char text[TNR_ERROR_TEXT_BYTES]; /* why this rank failed: what happens meanwhile may record other texts */
} vote;

static tnr_status room_take(vote *of)
{
    for (unsigned tries = 0; tries < 100000U; tries++) {
        for (size_t index = 0; index < sizeof(rooms) / sizeof(rooms[0]); index++) {
            if (!atomic_exchange_explicit(&rooms[index].taken, true, memory_order_acquire)) {
                of->room = &rooms[index];
                return TNR_OK;
            }
        }
        (void)sched_yield();
    }
    return tnri_fail(TNR_ERR_MPI, "%s: too many worlds wait for ranks that never answer", of->op);
}

/* The collective was started with this answer: wait for its end. */
static tnr_status finish(vote *of, const char *call, int code)
{
    const tnr_status started = tnri_mpi(of->op, call, code);
    if (started != TNR_OK) {
        return of->world != NULL ? tnri_world_poison(of->world, started) : started;
    }
    if (of->world == NULL) {
        return tnri_mpi(of->op, call, MPI_Wait(&of->request, MPI_STATUS_IGNORE));
    }
    atomic_fetch_add_explicit(&tnri_mpi_live.requests, 1U, memory_order_relaxed);
    const tnr_status status = tnri_world_wait(of->op, of->world, &of->request, "all ranks to agree");
    of->stuck = of->request != MPI_REQUEST_NULL;
    return status;
}

static tnr_status minima(vote *of, int count)
{
    of->request = MPI_REQUEST_NULL;
    return finish(of, "MPI_Iallreduce",
                  MPI_Iallreduce(of->room->mine, of->room->all, count, MPI_UINT64_T, MPI_MIN, of->comm, &of->request));
}

static tnr_status broadcast(vote *of, void *bytes, size_t count, int root)
{
    of->request = MPI_REQUEST_NULL;
    return finish(of, "MPI_Ibcast", MPI_Ibcast(bytes, (int)count, MPI_BYTE, root, of->comm, &of->request));
}

/* `first` failed: its text goes to all that did not. */
static tnr_status tell_reason(vote *of, int first, tnr_status mine)
{
    vote_room *room = of->room;
    if (of->rank == first) {
        memset(&room->reason, 0, sizeof(room->reason));
        room->reason.status = (uint64_t)mine;
        memcpy(room->reason.text, of->text, sizeof(of->text));
    }
    TNR_TRY(broadcast(of, &room->reason, sizeof(room->reason), first));
    room->reason.text[sizeof(room->reason.text) - 1] = '\0';
    const char *text = room->reason.text;
    const size_t length = strlen(of->op);
    if (strncmp(text, of->op, length) == 0 && text[length] == ':' && text[length + 1] == ' ') {
        text += length + 2; /* our own text begins with it */
    }
    return tnri_fail(TNR_ERR_PEER, "%s: rank %d: %s", of->op, first, text);
}

/* Name `index` of a list separated by commas; its last for all that follow. */
static void pick_name(const char *names, int index, char *name, size_t bytes)
{
    const char *comma = strchr(names, ',');
    for (; index > 0 && comma != NULL; index--) {
        names = comma + 1;
        comma = strchr(names, ',');
    }
    const size_t length = tnri_min_u64(comma != NULL ? (size_t)(comma - names) : strlen(names), bytes - 1);
    memcpy(name, names, length);
    name[length] = '\0';
}

/* Word `index` is not the same everywhere: find the first rank that differs from rank 0, and say so on all. */
static tnr_status tell_difference(vote *of, const char *what, int index, uint64_t mine)
{
    vote_room *room = of->room;
    room->all[0] = mine;
    TNR_TRY(broadcast(of, room->all, sizeof(room->all[0]), 0));
    const uint64_t first = room->all[0];
    room->mine[0] = mine != first ? (uint64_t)of->rank : (uint64_t)of->size;
    TNR_TRY(minima(of, 1));
    const int other = room->all[0] < (uint64_t)of->size ? (int)room->all[0] : 0;
    room->all[0] = mine;
    TNR_TRY(broadcast(of, room->all, sizeof(room->all[0]), other));
    char name[64];
    pick_name(what, index, name, sizeof(name));
    return tnri_fail(TNR_ERR_PEER, "%s: the ranks do not agree on %s: rank 0 has %llu, rank %d has %llu", of->op, name,
                     TNRI_LLU(first), other, TNRI_LLU(room->all[0]));
}

static tnr_status decide(vote *of, tnr_status mine, const char *what, const uint64_t *words, int count)
{
    vote_room *room = of->room;
    room->mine[0] = mine != TNR_OK ? (uint64_t)of->rank : (uint64_t)of->size;
    for (int index = 0; index < count; index++) {
        room->mine[1 + index] = mine != TNR_OK ? UINT64_MAX : words[index];
        room->mine[1 + count + index] = mine != TNR_OK ? UINT64_MAX : ~words[index];
    }
    TNR_TRY(minima(of, 1 + 2 * count));
    if (room->all[0] < (uint64_t)of->size) {
        return tell_reason(of, (int)room->all[0], mine);
    }
    for (int index = 0; index < count; index++) {
        if (room->all[1 + index] != ~room->all[1 + count + index]) {
            return tell_difference(of, what, index, words[index]);
        }
    }
    return TNR_OK;
}

static tnr_status run(vote *of, tnr_status mine, const char *what, const uint64_t *words, int count)
{
    if (of->size == 1) {
        return mine;
    }
    if (mine != TNR_OK) {
        const char *text = tnr_last_error();
        memcpy(of->text, text, strlen(text) + 1);
    }
    tnr_status verdict = room_take(of);
    if (verdict == TNR_OK) {
        verdict = decide(of, mine, what, words, count);
        if (!of->stuck) {
            atomic_store_explicit(&of->room->taken, false, memory_order_release);
        }
    }
    return mine != TNR_OK ? tnri_fail(mine, "%s", of->text) : verdict;
}

tnr_status tnri_vote_words(const char *op, tnr_world *world, tnr_status mine, const char *what, const uint64_t *words,
                           int count)
{
    vote of = {.op = op, .world = world, .comm = world->comm, .rank = world->rank, .size = world->size};
    return run(&of, mine, what, words, count);
}

tnr_status tnri_vote_over(const char *op, MPI_Comm comm, int rank, int size, tnr_status mine, const char *what,
                          const uint64_t *words, int count)
{
    vote of = {.op = op, .comm = comm, .rank = rank, .size = size};
    return run(&of, mine, what, words, words != NULL ? count : 0);
}
