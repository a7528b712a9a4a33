/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers between ranks of one node: a small ring in shared memory for each ordered pair of ranks, in the receiver's part, written by
 * the sender and emptied by the receiver. Payloads that fit an entry come along.
 *
 * Guarantees: transfers of one channel between two ranks are matched in order: entries are handed to the oldest receive that waits
 * for their channel, and kept in order where none does; without memory for that they stay where they are, and are looked past. A full ring
 * makes senders wait, in order; nothing is lost or overwritten.
 */
#include "flight_internal.h"

enum { LETTERS_AT_ONCE = 32 };

/* A header that came before a receive for it was begun. */
struct tnri_letter {
    struct tnri_letter *next;
    int peer;
    uint32_t tag;
    uint32_t length;
    unsigned char bytes[TNRI_MAIL_BYTES];
};

/* Letters are taken from the world's home in sheets. */
struct tnri_sheet {
    struct tnri_sheet *next;
    tnr_block block;
    struct tnri_letter letters[LETTERS_AT_ONCE];
};

uint64_t tnri_mail_sheets(uint64_t headers, uint64_t *sheets)
{
    *sheets = headers / LETTERS_AT_ONCE + (headers % LETTERS_AT_ONCE != 0 ? 1 : 0);
    return sizeof(struct tnri_sheet);
}

static uint32_t tag_of(const tnri_flight *flight)
{
    return (uint32_t)flight->channel | (flight->prepared ? UINT32_C(0x10000) : 0U);
}

static tnri_mail *ring_of(const tnri_near *near, int receiver, int sender)
{
    char *part = (char *)near->mapping + (uint64_t)receiver * near->part + near->mail_begin;
    return (tnri_mail *)(void *)part + (size_t)sender * TNRI_MAIL_ENTRIES;
}

/* ---- Sending ------------------------------------------------------------------------------------------------------------------- */

/* Is another send to the same rank still to be posted, and was begun before? */
static bool must_queue(const tnri_flight *flight)
{
    for (const tnri_flight *at = flight->previous; at != NULL; at = at->previous) {
        if (at->kind == TNRI_SEND && at->peer == flight->peer && !at->seen && at->state == TNRI_FLIGHT_WAITING) {
            return true;
        }
    }
    return false;
}

void tnri_mail_post(tnri_flight *flight, bool *moved)
{
    tnri_near *near = flight->world->near;
    const int receiver = flight->world->peers[flight->peer].near;
    uint32_t *tail = &near->ends[receiver].tail;
    tnri_mail *entry = ring_of(near, receiver, flight->world->node_rank) + *tail % TNRI_MAIL_ENTRIES;
    if (atomic_load_explicit(&entry->full, memory_order_acquire) != 0U || must_queue(flight)) {
        return;
    }
    entry->tag = tag_of(flight);
    entry->length = flight->wire_length;
    memcpy(entry->bytes, flight->wire, flight->wire_length);
    atomic_store_explicit(&entry->full, 1U, memory_order_release);
    ++*tail;
    flight->seen = true;
    *moved = true;
}

/* ---- Receiving -------------------------------------------------------------------------------------------------------------------- */

static tnri_flight *receive_for(const tnr_world *world, int peer, uint32_t tag)
{
    for (tnri_flight *at = world->flights; at != NULL; at = at->next) {
        if (at->kind != TNRI_SEND && at->peer == peer && at->state == TNRI_FLIGHT_WAITING && tag_of(at) == tag) {
            return at;
        }
    }
    return NULL;
}

/* Keep an entry for later; false when there is no memory for it: it stays where it is. */
static bool keep(tnr_world *world, int peer, const tnri_mail *entry, uint32_t length)
{
    tnri_near *near = world->near;
    if (near->free_letters == NULL) {
        tnr_block block;
        if (tnr_provider.record_take(world->home, sizeof(struct tnri_sheet), &block) != TNR_OK) {
            return false;
        }
        struct tnri_sheet *sheet = block.address;
        sheet->block = block;
        sheet->next = near->sheets;
        near->sheets = sheet;
        for (int i = 0; i < LETTERS_AT_ONCE; i++) {
            sheet->letters[i].next = near->free_letters;
            near->free_letters = &sheet->letters[i];
        }
    }
    struct tnri_letter *letter = near->free_letters;
    near->free_letters = letter->next;
    letter->next = NULL;
    letter->peer = peer;
    letter->tag = entry->tag;
    letter->length = length;
    memcpy(letter->bytes, entry->bytes, length);
    struct tnri_letter **at = &near->letters;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = letter;
    return true;
}

tnr_status tnri_mail_kept(tnri_flight *flight)
{
    tnri_near *near = flight->world->near;
    const uint32_t tag = tag_of(flight);
    for (struct tnri_letter **at = &near->letters; *at != NULL; at = &(*at)->next) {
        struct tnri_letter *letter = *at;
        if (letter->peer == flight->peer && letter->tag == tag) {
            const uint32_t length = letter->length;
            memcpy(flight->wire, letter->bytes, length);
            *at = letter->next;
            letter->next = near->free_letters;
            near->free_letters = letter;
            return tnri_receive_header(flight, (int)length);
        }
    }
    return TNR_OK;
}

/* The entry that is `ahead` of the first is empty again. */
static void release(tnri_ends *ends, tnri_mail *entry, uint32_t ahead)
{
    atomic_store_explicit(&entry->full, 0U, memory_order_release);
    ends->taken |= 1U << ahead;
    while ((ends->taken & 1U) != 0U) {
        ends->taken >>= 1U;
        ends->head++;
    }
}

/* The oldest entry that a receive waits for, or that could be kept for later, of *length bytes; NULL: there is none. */
static tnri_mail *find_entry(tnr_world *world, int peer, uint32_t *ahead, tnri_flight **flight, uint32_t *length)
{
    tnri_near *near = world->near;
    const int sender = world->peers[peer].near;
    tnri_mail *ring = ring_of(near, world->node_rank, sender);
    tnri_ends *ends = &near->ends[sender];
    bool keeps = true; /* when one cannot be kept no later one is, lest it be found first */
    ends->choked = false;
    for (*ahead = 0; *ahead < TNRI_MAIL_ENTRIES; ++*ahead) {
        tnri_mail *entry = &ring[(ends->head + *ahead) % TNRI_MAIL_ENTRIES];
        if ((ends->taken >> *ahead & 1U) != 0U) {
            continue;
        }
        if (atomic_load_explicit(&entry->full, memory_order_acquire) == 0U) {
            return NULL;
        }
        *length = entry->length;
        *flight = receive_for(world, peer, entry->tag);
        if (*flight != NULL || *length > TNRI_MAIL_BYTES) {
            return entry;
        }
        keeps = keeps && keep(world, peer, entry, *length);
        if (keeps) {
            return entry;
        }
    }
    ends->choked = true;
    return NULL;
}

tnr_status tnri_mail_collect(tnr_world *world, int peer, bool *moved)
{
    for (;;) {
        uint32_t ahead = 0;
        uint32_t length = 0;
        tnri_flight *flight = NULL;
        tnri_mail *entry = find_entry(world, peer, &ahead, &flight, &length);
        if (entry == NULL) {
            return TNR_OK;
        }
        TNR_REQUIRE(length <= TNRI_MAIL_BYTES, TNR_ERR_MPI,
                    "shared memory: rank %d posts %llu bytes into an entry of %d", peer, TNRI_LLU(length),
                    (int)TNRI_MAIL_BYTES);
        if (flight != NULL) {
            memcpy(flight->wire, entry->bytes, length);
        }
        release(&world->near->ends[world->peers[peer].near], entry, ahead);
        *moved = true;
        if (flight != NULL) {
            TNR_TRY(tnri_receive_header(flight, (int)length));
        }
    }
}

bool tnri_mail_choked(const tnri_flight *flight)
{
    const tnr_world *world = flight->world;
    const int near = world->peers[flight->peer].near;
    return flight->kind != TNRI_SEND && flight->state == TNRI_FLIGHT_WAITING && world->near != NULL && near >= 0 &&
           world->near->ends[near].choked;
}

void tnri_mail_end(tnr_world *world)
{
    tnri_near *near = world->near;
    while (near->sheets != NULL) {
        struct tnri_sheet *sheet = near->sheets;
        near->sheets = sheet->next;
        const tnr_block block = sheet->block;
        tnr_provider.record_give(world->home, &block);
    }
    near->letters = NULL;
    near->free_letters = NULL;
}
