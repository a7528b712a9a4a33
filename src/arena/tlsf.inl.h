/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking and giving, by the allocator of tlsf_internal.h: in a header, so that the arena has them in its own functions. On a
 * Cortex-M3 calls, and what is loaded anew behind them, were a tenth of an allocation.
 *
 * Guarantees: bounded time, whatever happened before; no recursion, no division, no loop; no memory but the tables. Does not lock and does not believe in bad indices: its caller has checked them.
 */
#ifndef TENURE_ARENA_TLSF_INL_H
#define TENURE_ARENA_TLSF_INL_H

#include "tlsf_internal.h"

/* ---- Bits: place 0 is the highest, so that one instruction finds the first that is set ----------------------------- */

/* Of a word that is not 0. */
static inline uint32_t first_of(uint32_t word) { return (uint32_t)__builtin_clz(word); }
static inline uint32_t bit_of(uint32_t place) { return UINT32_C(0x80000000) >> place; }
static inline uint32_t bits_behind(uint32_t place) { return UINT32_C(0x7FFFFFFF) >> place; }

/* ---- Classes ------------------------------------------------------------------------------------------------------- */

/* Row and column in one number: row * TNRI_TLSF_COLUMNS + column. Rises with units. */
static TNRI_INLINED uint32_t class_of(uint32_t units)
{
    if (units < TNRI_TLSF_COLUMNS) {
        return units;
    }
    const uint32_t over = (31U - TNRI_TLSF_COLUMN_BITS) - (uint32_t)__builtin_clz(units);
    /* units >> over is TNRI_TLSF_COLUMNS + column: the leading one adds the row that is missing. */
    return over * TNRI_TLSF_COLUMNS + (units >> over);
}

/* ---- Lists --------------------------------------------------------------------------------------------------------- */

static inline bool is_free(const tnri_tlsf_block *block) { return (block->state & TNRI_TLSF_FREE) != 0U; }

/* Of one that is. */
static inline uint32_t class_free(const tnri_tlsf_block *block) { return block->state >> TNRI_TLSF_CLASS_SHIFT; }

static TNRI_INLINED void list_insert(tnri_tlsf *tlsf, uint32_t index, uint32_t class)
{
    tnri_tlsf_block *block = &tlsf->blocks[index];
    const uint32_t head = tlsf->heads[class];
    block->u.list.previous = 0U;
    block->u.list.next = head;
    block->state = class << TNRI_TLSF_CLASS_SHIFT | TNRI_TLSF_FREE;
    tlsf->heads[class] = index;
    if (head != 0U) {
        tlsf->blocks[head].u.list.previous = index;
    } else {
        const uint32_t row = class / TNRI_TLSF_COLUMNS;
        tlsf->row_bits[row] |= bit_of(class % TNRI_TLSF_COLUMNS);
        tlsf->row_map |= bit_of(row);
    }
}

/* The head of a class goes. */
static TNRI_INLINED void list_remove_head(tnri_tlsf *tlsf, uint32_t index, uint32_t class)
{
    const uint32_t next = tlsf->blocks[index].u.list.next;
    tlsf->heads[class] = next;
    if (next != 0U) {
        tlsf->blocks[next].u.list.previous = 0U;
    } else {
        const uint32_t row = class / TNRI_TLSF_COLUMNS;
        const uint32_t left = tlsf->row_bits[row] & ~bit_of(class % TNRI_TLSF_COLUMNS);
        tlsf->row_bits[row] = left;
        if (left == 0U) {
            tlsf->row_map &= ~bit_of(row);
        }
    }
}

static TNRI_INLINED void list_remove(tnri_tlsf *tlsf, uint32_t index, uint32_t class)
{
    const uint32_t previous = tlsf->blocks[index].u.list.previous;
    if (previous == 0U) {
        list_remove_head(tlsf, index, class);
    } else {
        const uint32_t next = tlsf->blocks[index].u.list.next;
        tlsf->blocks[next].u.list.previous = previous;
        tlsf->blocks[previous].u.list.next = next;
    }
}

/* A descriptor without a block. There always is one: see the head of tlsf_internal.h. */
static inline uint32_t spare_take(tnri_tlsf *tlsf)
{
    const uint32_t index = tlsf->spare;
    tlsf->spare = tlsf->blocks[index].u.list.next;
    return index;
}

static inline void spare_give(tnri_tlsf *tlsf, uint32_t index)
{
    tlsf->blocks[index].state = TNRI_TLSF_SPARE;
    tlsf->blocks[index].u.list.next = tlsf->spare;
    tlsf->spare = index;
}

/* ---- Search -------------------------------------------------------------------------------------------------------- */

static inline bool is_small(const tnri_tlsf *tlsf, uint32_t units) { return units < tlsf->small; }

/* Where a search is: the classes behind one that have free blocks, one after the other. */
typedef struct ladder {
    uint32_t row;
    uint32_t column;
} ladder;

static inline ladder ladder_at(uint32_t class)
{
    return (ladder){class / TNRI_TLSF_COLUMNS, class % TNRI_TLSF_COLUMNS};
}
static inline uint32_t ladder_class(const ladder *at) { return at->row * TNRI_TLSF_COLUMNS + at->column; }

/* To the next class; false: there is none. */
static TNRI_INLINED bool ladder_next(const tnri_tlsf *tlsf, ladder *at)
{
    uint32_t word = tlsf->row_bits[at->row] & bits_behind(at->column);
    if (word == 0U) {
        const uint32_t rows = tlsf->row_map & bits_behind(at->row);
        if (rows == 0U) {
            return false;
        }
        at->row = first_of(rows);
        word = tlsf->row_bits[at->row];
    }
    at->column = first_of(word);
    return true;
}

/* The class whose first block serves: the own class if its first is large enough, else the next that has one. False: none. */
static TNRI_INLINED bool search(const tnri_tlsf *tlsf, uint32_t units, uint32_t *class)
{
    const uint32_t own = class_of(units);
    *class = own;
    if (tlsf->blocks[tlsf->heads[own]].units >= units) { /* the sentinel has 0 */
        return true;
    }
    ladder at = ladder_at(own);
    if (TNRI_UNLIKELY(!ladder_next(tlsf, &at))) {
        return false;
    }
    *class = ladder_class(&at);
    return true;
}

/* ---- Take -------------------------------------------------------------------------------------------------------- */

/* A descriptor for units at the low or the high end of a free block of `had` units, which keeps the rest. */
static TNRI_INLINED uint32_t cut_low(tnri_tlsf *tlsf, uint32_t index, uint32_t had, uint32_t units)
{
    const uint32_t piece = spare_take(tlsf);
    tnri_tlsf_block *block = &tlsf->blocks[index];
    tnri_tlsf_block *low = &tlsf->blocks[piece];
    const uint32_t before = block->before;
    const uint32_t offset = block->offset;
    low->before = before;
    low->after = index;
    low->offset = offset;
    low->units = units;
    block->before = piece;
    block->offset = offset + units;
    block->units = had - units;
    tlsf->blocks[before].after = piece;
    return piece;
}

static TNRI_INLINED uint32_t cut_high(tnri_tlsf *tlsf, uint32_t index, uint32_t had, uint32_t units)
{
    const uint32_t piece = spare_take(tlsf);
    tnri_tlsf_block *block = &tlsf->blocks[index];
    tnri_tlsf_block *high = &tlsf->blocks[piece];
    const uint32_t after = block->after;
    const uint32_t rest = had - units;
    high->before = index;
    high->after = after;
    high->offset = block->offset + rest;
    high->units = units;
    block->after = piece;
    block->units = rest;
    tlsf->blocks[after].before = piece;
    return piece;
}

/* From the first block of a class, which is large enough: the descriptor of what was taken. */
static TNRI_INLINED uint32_t take_first(tnri_tlsf *tlsf, uint32_t class, uint32_t units, uint32_t state)
{
    const uint32_t rest = tlsf->heads[class];
    const uint32_t had = tlsf->blocks[rest].units;
    uint32_t index = rest;
    if (had == units) {
        list_remove_head(tlsf, rest, class);
    } else {
        index = is_small(tlsf, units) ? cut_low(tlsf, rest, had, units) : cut_high(tlsf, rest, had, units);
        const uint32_t now = class_of(had - units);
        if (now != class) {
            list_remove_head(tlsf, rest, class);
            list_insert(tlsf, rest, now);
        }
    }
    tlsf->blocks[index].state = state;
    tlsf->free_units -= units;
    return index;
}

/*
 * Take 1 <= units <= unit_count. `state` has the bit TNRI_TLSF_OUT and is kept with the block. False when block_limit are out or neither the first
 * block of the own class nor any of those behind it is large enough; else *taken is the descriptor's index.
 */
static TNRI_INLINED bool tlsf_take(tnri_tlsf *tlsf, uint32_t units, uint32_t state, uint32_t *taken)
{
    uint32_t class = 0;
    if (TNRI_UNLIKELY(tlsf->blocks_left == 0U)) {
        return false;
    }
    tlsf->blocks_left--;
    if (TNRI_UNLIKELY(!search(tlsf, units, &class))) {
        tlsf->blocks_left++;
        return false;
    }
    *taken = take_first(tlsf, class, units, state);
    return true;
}

/* ---- Give -------------------------------------------------------------------------------------------------------- */

/* Give a block back that is out. It goes into a free neighbour, whose descriptor stays; where both are free, into the one before. */
static TNRI_INLINED void tlsf_give(tnri_tlsf *tlsf, uint32_t index)
{
    tnri_tlsf_block *const blocks = tlsf->blocks;
    tnri_tlsf_block *const block = &blocks[index];
    const uint32_t before = block->before;
    const uint32_t after = block->after;
    uint32_t units = block->units;
    uint32_t grown; /* the descriptor that stays, and of what class it was */
    uint32_t class;
    const uint32_t free_units = tlsf->free_units;
    const uint32_t blocks_left = tlsf->blocks_left;
    tlsf->free_units = free_units + units;
    tlsf->blocks_left = blocks_left + 1U;
    block->generation++;
    if (is_free(&blocks[before])) {
        uint32_t end = after;
        grown = before;
        class = class_free(&blocks[before]);
        units += blocks[before].units;
        spare_give(tlsf, index);
        if (is_free(&blocks[after])) {
            list_remove(tlsf, after, class_free(&blocks[after]));
            units += blocks[after].units;
            end = blocks[after].after;
            spare_give(tlsf, after);
        }
        blocks[before].after = end;
        blocks[end].before = before;
    } else if (is_free(&blocks[after])) {
        grown = after;
        class = class_free(&blocks[after]);
        blocks[after].offset -= units;
        units += blocks[after].units;
        blocks[after].before = before;
        blocks[before].after = after;
        spare_give(tlsf, index);
    } else {
        list_insert(tlsf, index, class_of(units));
        return;
    }
    blocks[grown].units = units;
    const uint32_t now = class_of(units);
    if (now != class) {
        list_remove(tlsf, grown, class);
        list_insert(tlsf, grown, now);
    }
}

#endif /* TENURE_ARENA_TLSF_INL_H */
