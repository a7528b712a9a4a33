/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-level good-fit allocator of tlsf_internal.h. Guarantees: every call but init and check takes bounded time,
 * whatever happened before; no recursion; no memory but the tables. Does not lock and does not believe in bad indices:
 * its caller has checked them.
 */
#include "tlsf_internal.h"

/* ---- Classes ----------------------------------------------------------------------------------------------------- */

static inline uint32_t class_row(uint32_t units)
{
    return units < TNRI_TLSF_COLUMNS ? 0U : tnri_highest_bit(units) - (TNRI_TLSF_COLUMN_BITS - 1U);
}

/* Row and column in one number: row * 64 + column. Rises with units. */
static inline uint32_t class_of(uint32_t units)
{
    if (units < TNRI_TLSF_COLUMNS) {
        return units;
    }
    const uint32_t high = tnri_highest_bit(units);
    /* units >> (high - 6) is 64 + column, so the leading one adds the row that class_row adds. */
    return (high - TNRI_TLSF_COLUMN_BITS) * TNRI_TLSF_COLUMNS + (units >> (high - TNRI_TLSF_COLUMN_BITS));
}

uint32_t tnri_tlsf_rows(uint32_t units) { return class_row(units) + 1U; }

uint32_t tnri_tlsf_most_units(uint32_t rows)
{
    return rows >= TNRI_TLSF_MOST_ROWS ? TNRI_TLSF_MOST_UNITS : (1U << (rows + TNRI_TLSF_COLUMN_BITS - 1U)) - 1U;
}

/* First class above `class` that has a free block, or 0 (class 0 is always empty: no block has 0 units). */
static inline uint32_t next_class(const tnri_tlsf *tlsf, uint32_t class)
{
    const uint32_t row = class / TNRI_TLSF_COLUMNS;
    const uint32_t column = class % TNRI_TLSF_COLUMNS;
    const uint64_t here = tlsf->row_bits[row] & (~UINT64_C(1) << column);
    if (here != 0U) {
        return row * TNRI_TLSF_COLUMNS + tnri_lowest_bit(here);
    }
    const uint64_t rows = tlsf->row_map & (~UINT64_C(1) << row);
    if (rows == 0U) {
        return 0U;
    }
    const uint32_t upper = tnri_lowest_bit(rows);
    return upper * TNRI_TLSF_COLUMNS + tnri_lowest_bit(tlsf->row_bits[upper]);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static inline void list_insert(tnri_tlsf *tlsf, uint32_t index)
{
    tnri_tlsf_block *block = &tlsf->blocks[index];
    const uint32_t class = class_of(block->units);
    const uint32_t row = class / TNRI_TLSF_COLUMNS;
    const uint32_t head = tlsf->heads[class];
    block->state = TNRI_TLSF_FREE;
    block->u.list.previous = 0U;
    block->u.list.next = head;
    tlsf->blocks[head].u.list.previous = index; /* the sentinel's is never read */
    tlsf->heads[class] = index;
    tlsf->row_bits[row] |= UINT64_C(1) << (class % TNRI_TLSF_COLUMNS);
    tlsf->row_map |= UINT64_C(1) << row;
}

static inline void list_remove(tnri_tlsf *tlsf, uint32_t index)
{
    const tnri_tlsf_block *block = &tlsf->blocks[index];
    const uint32_t previous = block->u.list.previous;
    const uint32_t next = block->u.list.next;
    tlsf->blocks[next].u.list.previous = previous;
    if (previous != 0U) {
        tlsf->blocks[previous].u.list.next = next;
        return;
    }
    const uint32_t class = class_of(block->units);
    tlsf->heads[class] = next;
    if (next == 0U) {
        const uint32_t row = class / TNRI_TLSF_COLUMNS;
        tlsf->row_bits[row] &= ~(UINT64_C(1) << (class % TNRI_TLSF_COLUMNS));
        if (tlsf->row_bits[row] == 0U) {
            tlsf->row_map &= ~(UINT64_C(1) << row);
        }
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

/* ---- Birth ------------------------------------------------------------------------------------------------------- */

/* Descriptors: the sentinel and 2 * block_limit + 1. */
static inline uint64_t descriptor_count(uint32_t block_limit) { return 2U * (uint64_t)block_limit + 2U; }

uint64_t tnri_tlsf_table_bytes(uint32_t rows, uint32_t block_limit)
{
    /* At most 27 * 264 + 2^32 * 32 bytes. */
    const uint64_t bytes = rows * (sizeof(uint64_t) + TNRI_TLSF_COLUMNS * sizeof(uint32_t)) +
                           descriptor_count(block_limit) * sizeof(tnri_tlsf_block);
    return (bytes + 63U) & ~UINT64_C(63);
}

void tnri_tlsf_init(tnri_tlsf *tlsf, void *tables, uint32_t units, uint32_t block_limit, uint64_t origin,
                    uint32_t generation)
{
    const uint32_t rows = tnri_tlsf_rows(units);
    const uint64_t count = descriptor_count(block_limit);
    unsigned char *at = tables;

    memset(tlsf, 0, sizeof *tlsf);
    tlsf->blocks = (tnri_tlsf_block *)(void *)at; /* first, so that no descriptor crosses a cache line */
    at += (size_t)count * sizeof(tnri_tlsf_block);
    tlsf->row_bits = (uint64_t *)(void *)at;
    at += rows * sizeof(uint64_t);
    tlsf->heads = (uint32_t *)(void *)at;
    tlsf->origin = origin;
    tlsf->free_units = units;
    tlsf->unit_count = units;
    tlsf->small = units / TNRI_TLSF_SMALL_SHARE;
    tlsf->rows = rows;
    tlsf->block_limit = block_limit;
    tlsf->generation = generation;
    memset(tlsf->row_bits, 0, rows * sizeof(uint64_t));
    memset(tlsf->heads, 0, rows * TNRI_TLSF_COLUMNS * sizeof(uint32_t));
    memset(tlsf->blocks, 0, (size_t)count * sizeof(tnri_tlsf_block));

    for (uint32_t index = (uint32_t)(count - 1U); index >= 2U; index--) {
        tlsf->blocks[index].generation = generation;
        spare_give(tlsf, index);
    }
    tlsf->blocks[0].state = TNRI_TLSF_OUT;
    tlsf->blocks[0].before = 1U;
    tlsf->blocks[0].after = 1U;
    tlsf->blocks[1].generation = generation;
    tlsf->blocks[1].units = units;
    list_insert(tlsf, 1U);
}

/* ---- Take -------------------------------------------------------------------------------------------------------- */

/* Units that must be skipped at the head of a block so that the rest starts at a multiple of alignment. */
static inline uint64_t lead_of(const tnri_tlsf *tlsf, const tnri_tlsf_block *block, uint64_t alignment)
{
    return (0U - (tlsf->origin + block->offset)) & (alignment - 1U);
}

static inline bool fits(const tnri_tlsf *tlsf, const tnri_tlsf_block *block, uint32_t units, uint64_t alignment)
{
    const uint64_t lead = lead_of(tlsf, block, alignment);
    return lead <= block->units && block->units - lead >= units;
}

static inline bool is_small(const tnri_tlsf *tlsf, uint32_t units) { return units < tlsf->small; }

/*
 * Look for a block at the first TNRI_TLSF_PROBES of `class` and at the heads of the classes above it. A large request
 * takes the tightest of its class, else the next head that fits. A small one takes the lowest address among its class
 * and the next TNRI_TLSF_HEADS heads that fit.
 */
static inline uint32_t search(const tnri_tlsf *tlsf, uint32_t class, uint32_t units, uint64_t alignment)
{
    const bool small = is_small(tlsf, units);
    uint32_t best = 0;
    uint32_t best_key = UINT32_MAX;
    uint32_t index = tlsf->heads[class];
    for (uint32_t probe = 0; index != 0U && probe < TNRI_TLSF_PROBES; probe++) {
        const tnri_tlsf_block *block = &tlsf->blocks[index];
        const uint32_t key = small ? block->offset : block->units;
        if (key < best_key && fits(tlsf, block, units, alignment)) {
            best_key = key;
            best = index;
        }
        index = block->u.list.next;
    }
    uint32_t wanted = small ? TNRI_TLSF_HEADS : best == 0U;
    for (uint32_t probe = 0; wanted != 0U && probe < TNRI_TLSF_PROBES; probe++) {
        class = next_class(tlsf, class);
        if (class == 0U) {
            break;
        }
        index = tlsf->heads[class];
        const tnri_tlsf_block *block = &tlsf->blocks[index];
        if (fits(tlsf, block, units, alignment)) {
            best = block->offset < best_key ? index : best;
            best_key = block->offset < best_key ? block->offset : best_key;
            wanted--;
        }
    }
    return best;
}

static inline uint32_t find(const tnri_tlsf *tlsf, uint32_t units, uint64_t alignment)
{
    const uint32_t class = class_of(units);
    if (class >= tlsf->rows * TNRI_TLSF_COLUMNS) {
        return 0U;
    }
    /* Without a wish for alignment every block of the next class that has one fits: this finds what there is. */
    const uint32_t index = search(tlsf, class, units, alignment);
    if (index != 0U || alignment == 1U) {
        return index;
    }
    /* Alignment spoiled those: look where every block is large enough for the worst lead. */
    const uint64_t enough = (uint64_t)units + (alignment - 1U);
    return enough <= tlsf->unit_count ? search(tlsf, class_of((uint32_t)enough), units, alignment) : 0U;
}

/* A new free block before or after `index`, which gives up these units. */
static inline void split_front(tnri_tlsf *tlsf, uint32_t index, uint32_t units)
{
    const uint32_t piece = spare_take(tlsf);
    tnri_tlsf_block *block = &tlsf->blocks[index];
    tnri_tlsf_block *front = &tlsf->blocks[piece];
    front->offset = block->offset;
    front->units = units;
    front->before = block->before;
    front->after = index;
    tlsf->blocks[block->before].after = piece;
    block->before = piece;
    block->offset += units;
    block->units -= units;
    list_insert(tlsf, piece);
}

static inline void split_back(tnri_tlsf *tlsf, uint32_t index, uint32_t units)
{
    const uint32_t piece = spare_take(tlsf);
    tnri_tlsf_block *block = &tlsf->blocks[index];
    tnri_tlsf_block *back = &tlsf->blocks[piece];
    block->units -= units;
    back->offset = block->offset + block->units;
    back->units = units;
    back->before = index;
    back->after = block->after;
    tlsf->blocks[block->after].before = piece;
    block->after = piece;
    list_insert(tlsf, piece);
}

uint32_t tnri_tlsf_take(tnri_tlsf *tlsf, uint32_t units, uint64_t alignment, uint32_t state)
{
    if (tlsf->blocks_out == tlsf->block_limit) {
        return 0U;
    }
    const uint32_t index = find(tlsf, units, alignment);
    if (index == 0U) {
        return 0U;
    }
    list_remove(tlsf, index);
    tnri_tlsf_block *block = &tlsf->blocks[index];
    uint32_t front;
    if (is_small(tlsf, units)) {
        front = (uint32_t)lead_of(tlsf, block, alignment);
    } else {
        front = block->units - units;
        front -= (uint32_t)((tlsf->origin + block->offset + front) & (alignment - 1U));
    }
    if (front != 0U) {
        split_front(tlsf, index, front);
    }
    if (block->units != units) {
        split_back(tlsf, index, block->units - units);
    }
    block->state = state;
    tlsf->free_units -= units;
    tlsf->blocks_out++;
    return index;
}

/* ---- Give -------------------------------------------------------------------------------------------------------- */

void tnri_tlsf_give(tnri_tlsf *tlsf, uint32_t index)
{
    tnri_tlsf_block *block = &tlsf->blocks[index];
    const uint32_t before = block->before;
    const uint32_t after = block->after;
    tlsf->free_units += block->units;
    tlsf->blocks_out--;
    block->generation++;
    if (tlsf->blocks[before].state == TNRI_TLSF_FREE) {
        list_remove(tlsf, before);
        block->offset = tlsf->blocks[before].offset;
        block->units += tlsf->blocks[before].units;
        block->before = tlsf->blocks[before].before;
        tlsf->blocks[block->before].after = index;
        spare_give(tlsf, before);
    }
    if (tlsf->blocks[after].state == TNRI_TLSF_FREE) {
        list_remove(tlsf, after);
        block->units += tlsf->blocks[after].units;
        block->after = tlsf->blocks[after].after;
        tlsf->blocks[block->after].before = index;
        spare_give(tlsf, after);
    }
    list_insert(tlsf, index);
}

/* ---- Look -------------------------------------------------------------------------------------------------------- */

uint32_t tnri_tlsf_largest(const tnri_tlsf *tlsf)
{
    if (tlsf->row_map == 0U || tlsf->blocks_out == tlsf->block_limit) {
        return 0U;
    }
    /* A larger block of the top class further down its list could not be had: a search would not get there. */
    const uint32_t row = tnri_highest_bit(tlsf->row_map);
    uint32_t index = tlsf->heads[row * TNRI_TLSF_COLUMNS + tnri_highest_bit(tlsf->row_bits[row])];
    uint32_t largest = 0U;
    for (uint32_t probe = 0; index != 0U && probe < TNRI_TLSF_PROBES; probe++) {
        if (tlsf->blocks[index].units > largest) {
            largest = tlsf->blocks[index].units;
        }
        index = tlsf->blocks[index].u.list.next;
    }
    return largest;
}

const char *tnri_tlsf_check(const tnri_tlsf *tlsf)
{
    const tnri_tlsf_block *blocks = tlsf->blocks;
    const uint64_t count = descriptor_count(tlsf->block_limit);
    uint64_t offset = 0;
    uint64_t free_units = 0;
    uint64_t seen = 1; /* the sentinel */
    uint64_t out = 0;
    uint64_t free_blocks = 0;
    uint32_t before = 0;

    for (uint32_t index = blocks[0].after; index != 0U; index = blocks[index].after) {
        if (index >= count || seen >= count) {
            return "the chain of neighbours leaves the table or does not end";
        }
        const tnri_tlsf_block *block = &blocks[index];
        if (block->before != before) {
            return "a neighbour does not point back";
        }
        if (block->offset != offset || block->units == 0U) {
            return "a block does not start where the one before it ends";
        }
        if (block->state == TNRI_TLSF_SPARE) {
            return "a spare descriptor is a neighbour";
        }
        if (block->state == TNRI_TLSF_FREE) {
            if (before != 0U && blocks[before].state == TNRI_TLSF_FREE) {
                return "two free neighbours are not merged";
            }
            free_units += block->units;
            free_blocks++;
        } else {
            out++;
        }
        offset += block->units;
        before = index;
        seen++;
    }
    if (blocks[0].before != before || blocks[0].state != TNRI_TLSF_OUT) {
        return "the sentinel is damaged";
    }
    if (offset != tlsf->unit_count) {
        return "the blocks do not add up to the range";
    }
    if (free_units != tlsf->free_units || out != tlsf->blocks_out || out > tlsf->block_limit) {
        return "the counts of free units or of blocks that are out are wrong";
    }

    uint64_t listed = 0;
    uint64_t row_map = 0;
    for (uint32_t row = 0; row < tlsf->rows; row++) {
        uint64_t bits = 0;
        for (uint32_t column = 0; column < TNRI_TLSF_COLUMNS; column++) {
            const uint32_t class = row * TNRI_TLSF_COLUMNS + column;
            uint32_t previous = 0;
            for (uint32_t index = tlsf->heads[class]; index != 0U; index = blocks[index].u.list.next) {
                if (index >= count || listed >= free_blocks) {
                    return "a free list leaves the table or does not end";
                }
                if (blocks[index].state != TNRI_TLSF_FREE || class_of(blocks[index].units) != class ||
                    blocks[index].u.list.previous != previous) {
                    return "a free list holds a block that does not belong there";
                }
                previous = index;
                listed++;
                bits |= UINT64_C(1) << column;
            }
        }
        if (bits != tlsf->row_bits[row]) {
            return "the bits of a row do not match its lists";
        }
        row_map |= (uint64_t)(bits != 0U) << row;
    }
    if (listed != free_blocks || row_map != tlsf->row_map) {
        return "the lists do not hold every free block";
    }

    for (uint32_t index = tlsf->spare; index != 0U; index = blocks[index].u.list.next) {
        if (index >= count || seen >= count || blocks[index].state != TNRI_TLSF_SPARE) {
            return "the list of spare descriptors is damaged";
        }
        seen++;
    }
    return seen == count ? NULL : "a descriptor is lost";
}
