/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the preparation of an exchange begins: each rank tells every rank that its parts name what it has with it, or that it cannot
 * prepare anything, and why. One message each way, so that whoever is named hears of bad arguments, want of memory and lists that do not
 * fit each other before a header travels, and nobody waits for one that never comes.
 *
 * Guarantees: needs no memory but the world's; messages of two ranks meet in the order of their preparations. A rank that is named and
 * never prepares is waited for (timeout_ms), by one that was refused its arguments too: else what the other sends would meet the next one.
 */
#include <stdio.h>

#include "flight_internal.h"

/* Channels of one direction add up to this, in whatever order they are listed. */
static uint64_t channel_word(int channel)
{
    const uint64_t word = ((uint64_t)channel + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return word ^ word >> 29U;
}

/* What the list has with each rank. Parts of no rank are left out, and lists that are longer than any can be are not read. */
static void list(const tnr_world *world, const tnr_exchange_part *parts, size_t count)
{
    tnri_roll *rolls = world->transfers->rolls;
    if (parts == NULL || count > (uint64_t)2 * TNR_WORLD_CHANNELS * (uint64_t)world->size) {
        count = 0;
    }
    for (int rank = 0; rank < world->size; rank++) {
        rolls[rank] = (tnri_roll){.request = MPI_REQUEST_NULL};
    }
    for (size_t i = 0; i < count; i++) {
        const tnr_exchange_part *part = &parts[i];
        if (part->rank < 0 || part->rank >= world->size || part->rank == world->rank) {
            continue;
        }
        tnri_roll *roll = &rolls[part->rank];
        roll->named = true;
        if (part->send != NULL) {
            roll->mine.sends++;
            roll->mine.sent += channel_word(part->channel);
        } else {
            roll->mine.receives++;
            roll->mine.received += channel_word(part->channel);
        }
    }
}

static tnr_status tell(const char *op, tnr_world *world, int rank, bool able)
{
    tnri_flights *room = world->transfers;
    tnri_roll *roll = &room->rolls[rank];
    const void *what = able ? (const void *)&roll->mine : room->roll_told;
    const int length = able ? (int)sizeof(roll->mine) : (int)sizeof(room->roll_told);
    TNR_TRY(
        tnri_mpi(op, "MPI_Isend", MPI_Isend(what, length, MPI_BYTE, rank, TNRI_TAG_ROLL, world->comm, &roll->request)));
    tnri_request_count();
    return TNR_OK;
}

/* What came of a rank: TNR_ERR_PEER when it cannot, or has another list. */
static tnr_status read_roll(const char *op, const tnr_world *world, int rank, int length)
{
    tnri_flights *room = world->transfers;
    const tnri_roll_words *mine = &room->rolls[rank].mine;
    tnri_roll_words theirs;
    if (length == (int)sizeof(room->roll_heard)) {
        room->roll_heard[sizeof(room->roll_heard) - 1] = '\0';
        return tnri_fail(TNR_ERR_PEER, "%s: rank %d could not prepare its parts: %s", op, rank,
                         tnri_text_after(op, room->roll_heard));
    }
    TNR_REQUIRE(length == (int)sizeof(theirs), TNR_ERR_MPI, "%s: rank %d sends %d bytes that begin no exchange", op,
                rank, length);
    memcpy(&theirs, room->roll_heard, sizeof(theirs));
    TNR_REQUIRE(theirs.sends == mine->receives && theirs.receives == mine->sends, TNR_ERR_PEER,
                "%s: rank %d has %llu sends to and %llu receives from rank %d, which has %llu receives and %llu sends",
                op, rank, TNRI_LLU(theirs.sends), TNRI_LLU(theirs.receives), world->rank, TNRI_LLU(mine->receives),
                TNRI_LLU(mine->sends));
    TNR_REQUIRE(theirs.sent == mine->received && theirs.received == mine->sent, TNR_ERR_PEER,
                "%s: ranks %d and %d have their parts on different channels", op, world->rank, rank);
    return TNR_OK;
}

static tnr_status hear(const char *op, tnr_world *world, int rank, MPI_Request *request)
{
    tnri_flights *room = world->transfers;
    char what[80];
    MPI_Status status;
    int length = 0;
    TNR_TRY(tnri_world_poison(world, tnri_mpi(op, "MPI_Irecv",
                                              MPI_Irecv(room->roll_heard, (int)sizeof(room->roll_heard), MPI_BYTE, rank,
                                                        TNRI_TAG_ROLL, world->comm, request))));
    tnri_request_count();
    (void)snprintf(what, sizeof(what), "rank %d to prepare its end of an exchange", rank);
    TNR_TRY(tnri_world_await(op, world, request, &status, what));
    TNR_TRY(tnri_world_poison(world, tnri_mpi(op, "MPI_Get_count", MPI_Get_count(&status, MPI_BYTE, &length))));
    const tnr_status said = read_roll(op, world, rank, length);
    room->rolls[rank].refused = said != TNR_OK;
    return said == TNR_ERR_MPI ? tnri_world_poison(world, said) : said;
}

/* To all that are named, and of all; the first that cannot. */
static tnr_status call(const char *op, tnr_world *world, bool able, MPI_Request *request)
{
    tnri_roll *rolls = world->transfers->rolls;
    tnr_status first = TNR_OK;
    char text[TNR_ERROR_TEXT_BYTES];
    for (int rank = 0; rank < world->size; rank++) {
        TNR_TRY(rolls[rank].named ? tnri_world_poison(world, tell(op, world, rank, able)) : TNR_OK);
    }
    for (int rank = 0; rank < world->size; rank++) {
        const tnr_status heard = rolls[rank].named ? hear(op, world, rank, request) : TNR_OK;
        if (heard != TNR_OK && world->poison != TNR_OK) {
            return heard;
        }
        if (heard != TNR_OK && first == TNR_OK) {
            first = heard;
            memcpy(text, tnr_last_error(), sizeof(text));
        }
    }
    for (int rank = 0; rank < world->size; rank++) {
        if (rolls[rank].request != MPI_REQUEST_NULL) {
            TNR_TRY(tnri_world_wait(op, world, &rolls[rank].request, "a partner to hear of an exchange"));
        }
    }
    return first == TNR_OK ? TNR_OK : tnri_fail(first, "%s", text);
}

tnr_status tnri_roll_call(const char *op, tnr_world *world, const tnr_exchange_part *parts, size_t count,
                          tnr_status mine)
{
    tnri_flights *room = world->transfers;
    MPI_Request request = MPI_REQUEST_NULL;
    char text[TNR_ERROR_TEXT_BYTES];
    if (mine != TNR_OK) {
        memcpy(room->roll_told, tnr_last_error(), sizeof(room->roll_told));
    }
    list(world, parts, count);
    const tnr_status heard = call(op, world, mine == TNR_OK, &request);
    memcpy(text, mine == TNR_OK ? tnr_last_error() : room->roll_told, sizeof(text));
    if (world->poison != TNR_OK) {
        const uint64_t until = tnri_milliseconds() + TNRI_CALL_OFF_MS;
        room->stuck = !tnri_request_call_off(&request, true, until);
        for (int rank = 0; rank < world->size; rank++) {
            room->stuck = !tnri_request_call_off(&room->rolls[rank].request, false, until) || room->stuck;
        }
    }
    const tnr_status status = mine == TNR_OK ? heard : mine;
    return status == TNR_OK ? TNR_OK : tnri_fail(status, "%s", text);
}
