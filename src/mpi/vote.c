/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks of a world agree, or all hear why not. It is also how every collective call begins: the first message of each says which
 * call it is, so that ranks which are in different calls part, all knowing it, before anything else is sent.
 *
 * Messages go as in a dissemination barrier (Hensgen, Finkel, Manber 1988): in step k each rank sends to the one 2^k above it what it
 * knows, and hears of the one 2^k below. After log2(size) steps everybody has heard of everybody. All calls go through the same steps, whatever
 * they are and whatever is found on the way, so that one message more or less is never under way. What is known is small and merges: the lowest
 * rank and its call, the lowest rank in another one, the lowest that failed, with its text, and two words likewise. Calls that
 * need every rank's words (collective_internal.h) have them along, as in Bruck's all-gather.
 *
 * Guarantees: messages of each pair of ranks are met in order, those of calls that differ too; a receive for ranks that never come is cancelled.
 */
#include "collective_internal.h"

/* Numbers as in tnri_call. Forms that may meet have one name. */
static const char *const call_names[] = {
    [TNRI_CALL_NONE] = "none",
    [TNRI_CALL_BARRIER] = "world_barrier",
    [TNRI_CALL_AGREE] = "world_agree",
    [TNRI_CALL_BROADCAST] = "world_broadcast",
    [TNRI_CALL_REDUCE] = "world_reduce",
    [TNRI_CALL_ALL_REDUCE] = "world_all_reduce",
    [TNRI_CALL_SCATTER] = "world_scatter",
    [TNRI_CALL_SCATTER_INTO] = "world_scatter_into",
    [TNRI_CALL_GATHER] = "world_gather",
    [TNRI_CALL_ALL_GATHER] = "world_all_gather",
    [TNRI_CALL_ALL_TO_ALL] = "world_all_to_all",
    [TNRI_CALL_REDISTRIBUTE] = "world_redistribute",
    [TNRI_CALL_PUBLISH] = "group_publish",
    [TNRI_CALL_UNPUBLISH] = "group_unpublish",
    [TNRI_CALL_WINDOW] = "window_create",
    [TNRI_CALL_SHARE] = "world_share",
    [TNRI_CALL_MACHINE] = "world_machine",
    [TNRI_CALL_SHARE_TABLE] = "world_share_table",
};
_Static_assert(sizeof(call_names) / sizeof(call_names[0]) == TNRI_CALL_END, "a name for each call");

/* A rank and what it has; no rank: -1. */
typedef struct found {
    int64_t rank;
    uint64_t value;
} found;

/* What a rank knows of those that it has heard of; first in a message. */
typedef struct known {
    found calls[2];  /* of the lowest rank, and of the lowest whose call is another */
    found words[2];  /* likewise, of ranks that compare a word and did not fail */
    int64_t failed;  /* the lowest rank that did, -1: none; its text follows */
    uint64_t blocks; /* so many ranks' words follow */
} known;

typedef struct vote {
    const char *op;
    tnr_world *world;
    known known;
    char text[TNR_ERROR_TEXT_BYTES]; /* of the lowest rank that failed */
    bool tells;                      /* everybody's words are told */
    bool whole;                      /* and those that should have come did */
} vote;

uint64_t tnri_ballot_bytes(int size)
{
    return sizeof(known) + TNR_ERROR_TEXT_BYTES + (uint64_t)(size / 2) * sizeof(tnri_words);
}

/* ---- What is known ------------------------------------------------------------------------------------------------------------------ */

/* The lowest of both pairs, and the lowest that differs from it: exact, for each pair has those of all ranks that it stands for. */
static void merge_found(found *pair, const found *other)
{
    const found all[4] = {pair[0], pair[1], other[0], other[1]};
    found low = {-1, 0};
    found differs = {-1, 0};
    for (int index = 0; index < 4; index++) {
        if (all[index].rank >= 0 && (low.rank < 0 || all[index].rank < low.rank)) {
            low = all[index];
        }
    }
    for (int index = 0; index < 4; index++) {
        const bool other_value = all[index].rank >= 0 && all[index].value != low.value;
        if (other_value && (differs.rank < 0 || all[index].rank < differs.rank)) {
            differs = all[index];
        }
    }
    pair[0] = low;
    pair[1] = differs;
}

/* ---- Messages ------------------------------------------------------------------------------------------------------------------------ */

/* Where the words lie that are the `distance`-th below this rank's. */
static tnri_words *words_of(const tnr_world *world, int rank, int distance)
{
    return &world->collective->all[(rank - distance + world->size) % world->size];
}

/* What is known, to the room that is sent from; `blocks`: how many ranks' words, where all that should be are there. */
static int write_message(const vote *of, int blocks)
{
    tnri_collective *room = of->world->collective;
    char *to = room->ballot_out;
    const bool whole = of->tells && of->whole && of->known.calls[1].rank < 0;
    known told = of->known;
    told.blocks = whole ? (uint64_t)blocks : 0;
    memcpy(to, &told, sizeof(told));
    size_t length = sizeof(told);
    if (told.failed >= 0) {
        memcpy(to + length, of->text, sizeof(of->text));
        length += sizeof(of->text);
    }
    for (int distance = 0; distance < blocks && whole; distance++) {
        memcpy(to + length, words_of(of->world, of->world->rank, distance), sizeof(tnri_words));
        length += sizeof(tnri_words);
    }
    return (int)length;
}

/* A message of rank `from`, with up to `blocks` ranks' words. */
static tnr_status read_message(vote *of, int from, int length, int blocks)
{
    const tnr_world *world = of->world;
    const char *at = world->collective->ballot_in;
    known told = {.failed = -1};
    if ((size_t)length >= sizeof(told)) {
        memcpy(&told, at, sizeof(told));
    }
    const size_t text = told.failed >= 0 ? sizeof(of->text) : 0;
    const bool whole =
        told.blocks <= (uint64_t)blocks && (uint64_t)length == sizeof(told) + text + told.blocks * sizeof(tnri_words);
    TNR_REQUIRE(whole, TNR_ERR_MPI, "%s: rank %d sends %d bytes that are no first message of a call", of->op, from,
                length);
    at += sizeof(told);
    if (told.failed >= 0 && (of->known.failed < 0 || told.failed < of->known.failed)) {
        of->known.failed = told.failed;
        memcpy(of->text, at, sizeof(of->text));
        of->text[sizeof(of->text) - 1] = '\0';
    }
    at += text;
    merge_found(of->known.calls, told.calls);
    merge_found(of->known.words, told.words);
    of->whole = of->whole && told.blocks == (uint64_t)blocks;
    for (int distance = 0; distance < blocks && of->whole && of->tells; distance++) {
        memcpy(words_of(world, from, distance), at, sizeof(tnri_words));
        at += sizeof(tnri_words);
    }
    return TNR_OK;
}

/* One step: a message to one rank, and one of another. */
static tnr_status trade(const vote *of, int to, int from, int length, int *got)
{
    tnr_world *world = of->world;
    tnri_collective *room = world->collective;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Status status;
    tnr_status result = tnri_mpi(of->op, "MPI_Irecv",
                                 MPI_Irecv(room->ballot_in, (int)tnri_ballot_bytes(world->size), MPI_BYTE, from,
                                           TNRI_TAG_VOTE, world->comm, &receive));
    if (result == TNR_OK) {
        tnri_request_count();
        result = tnri_mpi(of->op, "MPI_Isend",
                          MPI_Isend(room->ballot_out, length, MPI_BYTE, to, TNRI_TAG_VOTE, world->comm, &send));
    }
    if (result != TNR_OK) {
        (void)tnri_world_poison(world, result);
    } else {
        tnri_request_count();
        result = tnri_world_await(of->op, world, &receive, &status, "the other ranks");
    }
    if (result == TNR_OK) {
        result = tnri_world_wait(of->op, world, &send, "the other ranks");
    }
    if (result == TNR_OK) {
        return tnri_world_poison(world, tnri_mpi(of->op, "MPI_Get_count", MPI_Get_count(&status, MPI_BYTE, got)));
    }
    char text[TNR_ERROR_TEXT_BYTES];
    memcpy(text, tnr_last_error(), sizeof(text));
    const uint64_t until = tnri_milliseconds() + TNRI_CALL_OFF_MS;
    room->stuck =
        !tnri_request_call_off(&receive, true, until) || room->stuck; /* what MPI keeps all the same keeps the room */
    room->stuck = !tnri_request_call_off(&send, false, until) || room->stuck;
    return tnri_fail(result, "%s", text);
}

static tnr_status hear_all(vote *of)
{
    const tnr_world *world = of->world;
    const int size = world->size;
    for (int step = 1; step < size; step *= 2) {
        const int from = (world->rank - step + size) % size;
        const int blocks = step < size - step ? step : size - step;
        int length = 0;
        TNR_TRY(trade(of, (world->rank + step) % size, from, write_message(of, blocks), &length));
        TNR_TRY(tnri_world_poison(of->world, read_message(of, from, length, of->tells ? blocks : size / 2)));
    }
    return TNR_OK;
}

/* ---- The verdict -------------------------------------------------------------------------------------------------------------------- */

const char *tnri_text_after(const char *op, const char *text)
{
    const size_t length = strlen(op);
    const bool ours = strncmp(text, op, length) == 0 && text[length] == ':' && text[length + 1] == ' ';
    return ours ? text + length + 2 : text;
}

static const char *name_of(uint64_t call) { return call < TNRI_CALL_END ? call_names[call] : "another call"; }

static tnr_status run(vote *of, tnri_call call, tnr_status mine, const char *what, uint64_t word)
{
    const tnr_world *world = of->world;
    char text[TNR_ERROR_TEXT_BYTES];
    if (world->size == 1) {
        return mine;
    }
    if (mine != TNR_OK) {
        memcpy(text, tnr_last_error(), sizeof(text));
        memcpy(of->text, text, sizeof(text));
    }
    const found none = {-1, 0};
    of->known.calls[0] = (found){world->rank, (uint64_t)call};
    of->known.calls[1] = none;
    of->known.words[0] = what != NULL && mine == TNR_OK ? (found){world->rank, word} : none;
    of->known.words[1] = none;
    of->known.failed = mine != TNR_OK ? world->rank : -1;
    of->whole = true;
    const tnr_status heard = hear_all(of);
    const known *all = &of->known;
    if (heard == TNR_OK && all->calls[1].rank >= 0) {
        return tnri_fail(TNR_ERR_PEER,
                         "%s: rank %d calls %s, rank %d %s: all ranks must make the same calls in the same order",
                         of->op, (int)all->calls[0].rank, name_of(all->calls[0].value), (int)all->calls[1].rank,
                         name_of(all->calls[1].value));
    }
    if (mine != TNR_OK) {
        return tnri_fail(mine, "%s", text);
    }
    TNR_TRY(heard);
    if (of->tells && !of->whole) { /* cannot be, of ranks that are of one build */
        return tnri_world_poison(of->world, tnri_fail(TNR_ERR_MPI, "%s: not all ranks' words came", of->op));
    }
    if (all->failed >= 0) {
        return tnri_fail(TNR_ERR_PEER, "%s: rank %d: %s", of->op, (int)all->failed, tnri_text_after(of->op, of->text));
    }
    TNR_REQUIRE(what == NULL || all->words[1].rank < 0, TNR_ERR_PEER,
                "%s: the ranks do not agree on %s: rank %d has %llu, rank %d has %llu", of->op, what,
                (int)all->words[0].rank, TNRI_LLU(all->words[0].value), (int)all->words[1].rank,
                TNRI_LLU(all->words[1].value));
    return TNR_OK;
}

tnr_status tnri_vote_cast(const char *op, tnr_world *world, tnri_call call, tnr_status mine, const char *what,
                          uint64_t word)
{
    vote of = {.op = op, .world = world};
    world->collective->call = call;
    return run(&of, call, mine, what, word);
}

tnr_status tnri_vote_words(const char *op, tnr_world *world, tnri_call call, tnr_status mine)
{
    vote of = {.op = op, .world = world, .tells = true};
    world->collective->call = call;
    return run(&of, call, mine, NULL, 0);
}

tnr_status tnri_vote_again(const char *op, tnr_world *world, tnr_status mine)
{
    return tnri_vote_cast(op, world, world->collective->call, mine, NULL, 0);
}
