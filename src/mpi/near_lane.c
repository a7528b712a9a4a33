/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payload through shared memory: the sender packs piece by piece into slots of its own, the receiver unpacks straight from there, and
 * both are at work at one time. No MPI, and any layout at either end. A payload of middling size that is dense at both ends is read by
 * the receiver out of the sender's memory, where the system allows that: one copy instead of two.
 *
 * Measured: one copy wins from some 10 KiB up to a megabyte or two; beyond that two copies, each by a core of its own and through slots that
 * stay in cache, are faster than the one that the kernel makes.
 *
 * Guarantees: two copies at most. For each neighbour that holds no slot one is left: what a rank accepts goes on when it is in the
 * library, whatever others accepted and left lying. A send fills slots before it is accepted; such guesses leave as many, and never take
 * more than half of all.
 */
#include "flight_internal.h"
#include "group_internal.h"

/* Small payloads are cut finer than slots, so that the two ends overlap. */
enum { LEAST_PIECE = 8192, PIECES_AIMED = 4 };

/*
 * Runs of a line or more, of host memory: pieces of which a few stay in a core's own cache. Shorter runs may be a transposed layout, of which every piece reads
 * all lines: the larger pieces are, the more of each line is used at a time.
 */
enum { LINE = 64, LONG_PIECE = 64 << 10 };

/* Payloads that are read by the receiver, and how much of them in one step. */
enum { READ_LEAST = 12 << 10, READ_MOST = 2 << 20, READ_PIECE = 2 << 20 };

static bool may_be_read(const tnri_flight *flight)
{
    const uint64_t bytes = flight->stream.bytes;
    return flight->world->near->reads && flight->stream.dense && flight->stream.away == NULL &&
           !flight->stream.managed && bytes >= READ_LEAST && bytes <= READ_MOST;
}

/* What lies ready for the receiver from the start. */
static void offer(tnri_flight *flight, bool reads)
{
    const tnri_cargo *cargo = &flight->cargo;
    flight->lane->address = reads ? (uint64_t)(uintptr_t)flight->stream.data : 0;
    const uint64_t ready = cargo->reads ? cargo->count : 0;
    atomic_store_explicit(&flight->lane->filled, cargo->base + (uint32_t)ready, memory_order_release);
}

void tnri_cargo_begin_send(tnri_flight *flight)
{
    const tnri_near *near = flight->world->near;
    const uint64_t bytes = flight->stream.bytes;
    tnri_cargo *cargo = &flight->cargo;
    const bool lines = flight->stream.run_bytes >= LINE && flight->stream.away == NULL;
    const uint64_t most = lines ? tnri_min_u64(LONG_PIECE, near->slot_bytes) : near->slot_bytes;
    uint64_t piece = tnri_min_u64(tnri_max_u64(bytes / PIECES_AIMED, LEAST_PIECE), most);
    piece -= piece % 64U;
    cargo->piece = piece;
    cargo->count = tnri_chunk_count(bytes, piece);
    cargo->moved = 0;
    cargo->freed = 0;
    cargo->base = 0;
    cargo->guessing = true;
    cargo->reads = false;
    flight->lane->piece = piece;
    offer(flight, may_be_read(flight));
    atomic_store_explicit(&flight->lane->taken, 0U, memory_order_relaxed);
}

tnr_status tnri_cargo_begin_receive(tnri_flight *flight, uint64_t bytes, uint64_t piece)
{
    TNR_REQUIRE(piece <= flight->world->near->slot_bytes && piece % 64U == 0, TNR_ERR_MPI,
                "%s: rank %d sends pieces of %llu bytes through shared memory; slots have %llu", flight->op,
                flight->peer, TNRI_LLU(piece), TNRI_LLU(flight->world->near->slot_bytes));
    flight->cargo.piece = piece;
    flight->cargo.count = tnri_chunk_count(bytes, piece);
    flight->cargo.moved = 0;
    flight->cargo.base = 0;
    flight->cargo.reads = false; /* until tnri_cargo_choose */
    return TNR_OK;
}

void tnri_cargo_restart(tnri_flight *flight)
{
    tnri_cargo *cargo = &flight->cargo;
    cargo->base += (uint32_t)cargo->moved;
    cargo->moved = 0;
    cargo->freed = 0;
    cargo->guessing = flight->kind == TNRI_SEND;
    if (flight->kind == TNRI_SEND) {
        offer(flight, cargo->reads);
    }
}

void tnri_cargo_choose(tnri_flight *flight)
{
    flight->cargo.reads = flight->lane->address != 0 && flight->stream.dense && flight->stream.away == NULL;
    flight->lane->reads = flight->cargo.reads ? 1U : 0U;
}

/* So many slots more, or fewer, lie ready for the neighbour, in sends that it has accepted. */
static void hold(const tnri_flight *flight, int more)
{
    tnri_near *near = flight->world->near;
    tnri_ends *ends = &near->ends[flight->world->peers[flight->peer].near];
    near->unserved += ends->held == 0 ? UINT32_MAX : 0U;
    ends->held += (uint32_t)more;
    near->unserved += ends->held == 0 ? 1U : 0U;
}

static void free_slots(tnri_flight *flight, uint64_t upto)
{
    tnri_near *near = flight->world->near;
    tnri_cargo *cargo = &flight->cargo;
    for (; cargo->freed < upto; cargo->freed++) {
        const uint32_t slot = flight->lane->slots[(cargo->base + cargo->freed) % TNRI_SLOTS_MOST];
        near->free_slots[near->free_count++] = (uint16_t)(slot & ~(uint32_t)TNRI_SLOT_TEXT);
        if (cargo->guessing) {
            near->guessed--;
        } else {
            hold(flight, -1);
        }
    }
}

static bool may_fill(const tnri_flight *flight)
{
    const tnri_near *near = flight->world->near;
    const tnri_cargo *cargo = &flight->cargo;
    if (cargo->moved == cargo->count || cargo->moved - cargo->freed == TNRI_SLOTS_MOST) {
        return false;
    }
    const bool spare = near->free_count > near->unserved;
    if (cargo->guessing) {
        return spare && near->guessed < near->slots / 2U && flight->lane->address == 0;
    }
    /* Its first slot is always there: each neighbour without one is counted among those that one is kept for. */
    return spare || (near->free_count != 0 && near->ends[flight->world->peers[flight->peer].near].held == 0);
}

/* The next piece into a slot, or, where that fails or did, the text. What to call the slot. */
static uint32_t fill_slot(tnri_flight *flight, uint32_t slot)
{
    const tnri_cargo *cargo = &flight->cargo;
    char *to = tnri_near_slot(flight->world, flight->world->node_rank, slot);
    uint64_t begin;
    uint64_t bytes;
    tnri_chunk(flight->stream.bytes, cargo->piece, cargo->moved, &begin, &bytes);
    if (TNRI_LIKELY(flight->failed == TNR_OK)) {
        const tnr_status status = tnri_stream_pack(&flight->stream, begin, bytes, to);
        if (TNRI_LIKELY(status == TNR_OK)) {
            return slot;
        }
        tnri_flight_fail(flight, status, cargo->moved != 0);
    }
    memcpy(to, flight->text, sizeof(flight->text));
    return slot | TNRI_SLOT_TEXT;
}

/* Its slots are no guess any more. */
static void accepted(tnri_flight *flight)
{
    tnri_cargo *cargo = &flight->cargo;
    if (cargo->guessing) {
        const uint32_t slots = (uint32_t)(cargo->moved - cargo->freed);
        flight->world->near->guessed -= slots;
        hold(flight, (int)slots);
        cargo->guessing = false;
    }
}

void tnri_cargo_send_step(tnri_flight *flight, bool *moved)
{
    tnri_near *near = flight->world->near;
    tnri_cargo *cargo = &flight->cargo;
    tnri_lane *lane = flight->lane;
    const uint32_t taken = atomic_load_explicit(&lane->taken, memory_order_acquire) - cargo->base;
    if (cargo->reads) {
        if (taken == (uint32_t)cargo->count) {
            cargo->moved = cargo->count;
            cargo->freed = cargo->count;
            *moved = true;
        }
        return;
    }
    const uint64_t upto = cargo->freed + (uint32_t)(taken - (uint32_t)cargo->freed);
    if (upto > cargo->freed && upto <= cargo->moved) {
        accepted(flight);
        free_slots(flight, upto);
        *moved = true;
    }
    if (may_fill(flight)) {
        const uint32_t slot = near->free_slots[--near->free_count];
        if (cargo->guessing) {
            near->guessed++;
        } else {
            hold(flight, 1);
        }
        lane->slots[(cargo->base + cargo->moved) % TNRI_SLOTS_MOST] = (uint16_t)fill_slot(flight, slot);
        cargo->moved++;
        atomic_store_explicit(&lane->filled, cargo->base + (uint32_t)cargo->moved, memory_order_release);
        *moved = true;
    }
}

/* The next pieces out of the sender's memory. */
static tnr_status read_step(tnri_flight *flight, bool *moved)
{
    tnri_cargo *cargo = &flight->cargo;
    uint64_t pieces = tnri_max_u64(READ_PIECE / cargo->piece, 1);
    pieces = tnri_min_u64(pieces, cargo->count - cargo->moved);
    const uint64_t begin = cargo->moved * cargo->piece;
    const uint64_t bytes = tnri_min_u64(pieces * cargo->piece, flight->stream.bytes - begin);
    const tnri_peer_span span = {flight->stream.data + begin, flight->lane->address + begin, bytes};
    TNR_REQUIRE(tnri_peer_read(flight->world->peers[flight->peer].pid, &span, 1), TNR_ERR_PEER,
                "%s: the memory of rank %d cannot be read any more; its process may be gone", flight->op, flight->peer);
    /* A world that ended gives its leases back after it said so: what was read may be anything since. */
    int ended;
    char why[TNR_ERROR_TEXT_BYTES];
    TNR_REQUIRE(!tnri_near_ended(flight->world, flight->world->peers[flight->peer].near, &ended, why), TNR_ERR_PEER,
                "%s: the world of rank %d has ended: %s", flight->op, ended, why);
    cargo->moved += pieces;
    atomic_store_explicit(&flight->lane->taken, cargo->base + (uint32_t)cargo->moved, memory_order_release);
    *moved = true;
    return TNR_OK;
}

/* The next piece, or the sender's text in its place, out of a slot. */
static void empty_slot(tnri_flight *flight, const char *from, bool text)
{
    const tnri_cargo *cargo = &flight->cargo;
    uint64_t begin;
    uint64_t bytes;
    if (TNRI_UNLIKELY(text)) {
        char said[TNR_ERROR_TEXT_BYTES];
        memcpy(said, from, sizeof(said));
        said[sizeof(said) - 1] = '\0';
        tnri_flight_hear(flight, said, cargo->moved != 0 && flight->failed == TNR_OK);
        return;
    }
    if (TNRI_UNLIKELY(flight->failed != TNR_OK)) {
        return;
    }
    tnri_chunk(flight->stream.bytes, cargo->piece, cargo->moved, &begin, &bytes);
    const tnr_status status = tnri_stream_unpack(&flight->stream, begin, bytes, from);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        tnri_flight_fail(flight, status, true);
        memcpy(flight->lane->text, flight->text, sizeof(flight->text));
        flight->lane->failed = 1U;
    }
}

tnr_status tnri_cargo_receive_step(tnri_flight *flight, bool *moved)
{
    const tnr_world *world = flight->world;
    const int near = world->peers[flight->peer].near;
    tnri_cargo *cargo = &flight->cargo;
    tnri_lane *lane = flight->lane;
    const uint32_t filled = atomic_load_explicit(&lane->filled, memory_order_acquire) - cargo->base;
    if (cargo->reads) {
        const bool offered = filled == (uint32_t)cargo->count || !flight->prepared;
        return offered && cargo->moved < cargo->count ? read_step(flight, moved) : TNR_OK;
    }
    uint32_t ready = filled - (uint32_t)cargo->moved;
    ready = ready <= TNRI_SLOTS_MOST ? ready : 0;
    for (; ready > 0 && cargo->moved < cargo->count; ready--) {
        const uint32_t named = lane->slots[(cargo->base + cargo->moved) % TNRI_SLOTS_MOST];
        const uint32_t slot = (named & ~(uint32_t)TNRI_SLOT_TEXT) % world->near->slots;
        empty_slot(flight, tnri_near_slot(world, near, slot), (named & TNRI_SLOT_TEXT) != 0);
        cargo->moved++;
        atomic_store_explicit(&lane->taken, cargo->base + (uint32_t)cargo->moved, memory_order_release);
        *moved = true;
    }
    return TNR_OK;
}

void tnri_cargo_answered(tnri_flight *flight)
{
    accepted(flight);
    flight->cargo.reads = flight->lane->reads != 0 && flight->lane->address != 0;
}

void tnri_cargo_sent(tnri_flight *flight)
{
    if (TNRI_UNLIKELY(flight->lane->failed != 0U)) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, flight->lane->text, sizeof(text));
        text[sizeof(text) - 1] = '\0';
        tnri_flight_hear(flight, text, true);
    }
}

void tnri_cargo_end(tnri_flight *flight)
{
    if (flight->kind == TNRI_SEND && flight->world->near != NULL) {
        free_slots(flight, flight->cargo.moved);
    }
    flight->lane = NULL;
}
