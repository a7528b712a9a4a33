/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-level good-fit allocator of tlsf_internal.h. Guarantees: every call but init and check takes bounded time,
 * whatever happened before; no recursion; no memory but the tables. Does not lock and does not believe in bad indices:
 * its caller has checked them.
 */
#include "tlsf_internal.h"

/* ---- Bits -------------------------------------------------------------------------------------------------------- */

/* Of a value that is not 0. */
static inline uint32_t lowest_of(uint32_t value) { return (uint32_t)__builtin_ctz(value); }
static inline uint32_t highest_of(uint32_t value) { return 31U - (uint32_t)__builtin_clz(value); }

/* ---- Classes ----------------------------------------------------------------------------------------------------- */

static inline uint32_t class_row(uint32_t units)
{
    return units < TNRI_TLSF_COLUMNS ? 0U : highest_of(units) - (TNRI_TLSF_COLUMN_BITS - 1U);
}

/* Row and column in one number: row * TNRI_TLSF_COLUMNS + column. Rises with units. */
static inline uint32_t class_of(uint32_t units)
{
    if (units < TNRI_TLSF_COLUMNS) {
        return units;
    }
    const uint32_t high = highest_of(units);
    /* what is left of units is TNRI_TLSF_COLUMNS + column, so the leading one adds the row that class_row adds. */
    return (high - TNRI_TLSF_COLUMN_BITS) * TNRI_TLSF_COLUMNS + (units >> (high - TNRI_TLSF_COLUMN_BITS));
}

uint32_t tnri_tlsf_rows(uint32_t units) { return class_row(units) + 1U; }

uint32_t tnri_tlsf_most_units(uint32_t rows)
{
    return rows >= TNRI_TLSF_MOST_ROWS ? TNRI_TLSF_MOST_UNITS : (1U << (rows + TNRI_TLSF_COLUMN_BITS - 1U)) - 1U;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static inline void list_insert(tnri_tlsf *tlsf, uint32_t index, uint32_t class)
{
    tnri_tlsf_block *block = &tlsf->blocks[index];
    const uint32_t row = class / TNRI_TLSF_COLUMNS;
    const uint32_t head = tlsf->heads[class];
    block->u.list.previous = 0U;
    block->u.list.next = head;
    tlsf->blocks[head].u.list.previous = index; /* the sentinel's is never read */
    tlsf->heads[class] = index;
    tlsf->row_bits[row] |= UINT32_C(1) << (class % TNRI_TLSF_COLUMNS);
    tlsf->row_map |= UINT32_C(1) << row;
}

static inline void list_remove(tnri_tlsf *tlsf, uint32_t index, uint32_t class)
{
    const tnri_tlsf_block *block = &tlsf->blocks[index];
    const uint32_t previous = block->u.list.previous;
    const uint32_t next = block->u.list.next;
    tlsf->blocks[next].u.list.previous = previous;
    if (previous != 0U) {
        tlsf->blocks[previous].u.list.next = next;
        return;
    }
    tlsf->heads[class] = next;
    if (next == 0U) {
        const uint32_t row = class / TNRI_TLSF_COLUMNS;
        tlsf->row_bits[row] &= ~(UINT32_C(1) << (class % TNRI_TLSF_COLUMNS));
        if (tlsf->row_bits[row] == 0U) {
            tlsf->row_map &= ~(UINT32_C(1) << row);
        }
    }
}

/* A free block of `class` has become smaller or larger: it stays in its list, or moves to the head of another. */
static inline void list_move(tnri_tlsf *tlsf, uint32_t index, uint32_t class)
{
    const uint32_t now = class_of(tlsf->blocks[index].units);
    if (now != class) {
        list_remove(tlsf, index, class);
        list_insert(tlsf, index, now);
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
    /* A few KiB of rows and at most 2^32 descriptors: no overflow. */
    const uint64_t bytes = rows * (sizeof(uint32_t) + TNRI_TLSF_COLUMNS * sizeof(uint32_t)) +
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
    tlsf->row_bits = (uint32_t *)(void *)at;
    at += rows * sizeof(uint32_t);
    tlsf->heads = (uint32_t *)(void *)at;
    tlsf->origin = origin;
    tlsf->free_units = units;
    tlsf->unit_count = units;
    tlsf->small = units / TNRI_TLSF_SMALL_SHARE;
    tlsf->rows = rows;
    tlsf->block_limit = block_limit;
    tlsf->generation = generation;
    memset(tlsf->row_bits, 0, rows * sizeof(uint32_t));
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
    tlsf->blocks[1].state = TNRI_TLSF_FREE;
    list_insert(tlsf, 1U, class_of(units));
}

/* ---- Search ------------------------------------------------------------------------------------------------------ */

/* Where a search is: the classes above one that have free blocks, one after the other. */
typedef struct ladder {
    uint32_t row;
    uint32_t word; /* columns of the row that are left */
} ladder;

static inline ladder ladder_above(const tnri_tlsf *tlsf, uint32_t class)
{
    const uint32_t row = class / TNRI_TLSF_COLUMNS;
    return (ladder){row, tlsf->row_bits[row] & (~UINT32_C(1) << (class % TNRI_TLSF_COLUMNS))};
}

/* The next class, or 0 (class 0 is always empty: no block has 0 units). */
static inline uint32_t ladder_next(const tnri_tlsf *tlsf, ladder *at)
{
    if (at->word == 0U) {
        const uint32_t rows = tlsf->row_map & (~UINT32_C(1) << at->row);
        if (rows == 0U) {
            return 0U;
        }
        at->row = lowest_of(rows);
        at->word = tlsf->row_bits[at->row];
    }
    const uint32_t class = at->row * TNRI_TLSF_COLUMNS + lowest_of(at->word);
    at->word &= at->word - 1U;
    return class;
}

static inline bool is_small(const tnri_tlsf *tlsf, uint32_t units) { return units < tlsf->small; }

/* The tightest of the first `probes` blocks of a class that are large enough, or 0. */
static inline uint32_t tightest(const tnri_tlsf *tlsf, uint32_t class, uint32_t units, uint32_t probes)
{
    uint32_t best = 0;
    uint32_t least = UINT32_MAX;
    for (uint32_t index = tlsf->heads[class]; index != 0U && probes != 0U; probes--) {
        const tnri_tlsf_block *block = &tlsf->blocks[index];
        if (block->units >= units && block->units < least) {
            least = block->units;
            best = index;
        }
        index = block->u.list.next;
    }
    return best;
}

/* The lowest of the first few blocks of a class that are large enough and the heads of the next few classes, or 0. */
static inline uint32_t lowest(const tnri_tlsf *tlsf, uint32_t class, uint32_t units)
{
    const tnri_tlsf_block *blocks = tlsf->blocks;
    uint32_t best = 0;
    uint32_t least = UINT32_MAX;
    uint32_t index = tlsf->heads[class];
    for (uint32_t probes = TNRI_TLSF_FIRST_PROBES; index != 0U && probes != 0U; probes--) {
        if (blocks[index].offset < least && blocks[index].units >= units) {
            least = blocks[index].offset;
            best = index;
        }
        index = blocks[index].u.list.next;
    }
    ladder at = ladder_above(tlsf, class);
    for (uint32_t heads = TNRI_TLSF_HEADS; heads != 0U; heads--) {
        index = tlsf->heads[ladder_next(tlsf, &at)]; /* that of class 0 is 0 */
        if (index == 0U) {
            break;
        }
        if (blocks[index].offset < least) {
            least = blocks[index].offset;
            best = index;
        }
    }
    return best;
}

/* Without a wish for alignment. Where only the request's own class is left, further down its list. */
static inline uint32_t search(const tnri_tlsf *tlsf, uint32_t units)
{
    const uint32_t class = class_of(units);
    if (class >= tlsf->rows * TNRI_TLSF_COLUMNS) {
        return 0U;
    }
    uint32_t index;
    if (is_small(tlsf, units)) {
        index = lowest(tlsf, class, units);
    } else {
        index = tightest(tlsf, class, units, TNRI_TLSF_FIRST_PROBES);
        if (index == 0U) {
            ladder at = ladder_above(tlsf, class);
            index = tlsf->heads[ladder_next(tlsf, &at)];
        }
    }
    return index != 0U ? index : tightest(tlsf, class, units, TNRI_TLSF_PROBES);
}

/* Units that must be skipped at the head of a block so that the rest starts at a multiple of alignment. */
static inline uint64_t lead_of(const tnri_tlsf *tlsf, const tnri_tlsf_block *block, uint64_t alignment)
{
    return (0U - (tlsf->origin + block->offset)) & (alignment - 1U);
}

static inline bool fits(const tnri_tlsf *tlsf, uint32_t index, uint32_t units, uint64_t alignment)
{
    const tnri_tlsf_block *block = &tlsf->blocks[index];
    const uint64_t lead = lead_of(tlsf, block, alignment);
    return lead <= block->units && block->units - lead >= units;
}

/* The first of a class, or of the heads of those above it, that serves; so many of each are looked at. */
static uint32_t search_aligned(const tnri_tlsf *tlsf, uint32_t class, uint32_t units, uint64_t alignment)
{
    uint32_t index = tlsf->heads[class];
    for (uint32_t probe = 0; index != 0U && probe < TNRI_TLSF_PROBES; probe++) {
        if (fits(tlsf, index, units, alignment)) {
            return index;
        }
        index = tlsf->blocks[index].u.list.next;
    }
    ladder at = ladder_above(tlsf, class);
    for (uint32_t probe = 0; probe < TNRI_TLSF_PROBES; probe++) {
        index = tlsf->heads[ladder_next(tlsf, &at)];
        if (index == 0U || fits(tlsf, index, units, alignment)) {
            return index;
        }
    }
    return 0U;
}

/* ---- Take -------------------------------------------------------------------------------------------------------- */

/* A descriptor for units at the low or the high end of a free block, which keeps the rest. */
static inline uint32_t cut_low(tnri_tlsf *tlsf, uint32_t index, uint32_t units)
{
    const uint32_t piece = spare_take(tlsf);
    tnri_tlsf_block *block = &tlsf->blocks[index];
    tnri_tlsf_block *low = &tlsf->blocks[piece];
    low->offset = block->offset;
    low->units = units;
    low->before = block->before;
    low->after = index;
    tlsf->blocks[block->before].after = piece;
    block->before = piece;
    block->offset += units;
    block->units -= units;
    return piece;
}

static inline uint32_t cut_high(tnri_tlsf *tlsf, uint32_t index, uint32_t units)
{
    const uint32_t piece = spare_take(tlsf);
    tnri_tlsf_block *block = &tlsf->blocks[index];
    tnri_tlsf_block *high = &tlsf->blocks[piece];
    block->units -= units;
    high->offset = block->offset + block->units;
    high->units = units;
    high->before = index;
    high->after = block->after;
    tlsf->blocks[block->after].before = piece;
    block->after = piece;
    return piece;
}

uint32_t tnri_tlsf_take(tnri_tlsf *tlsf, uint32_t units, uint32_t state)
{
    if (tlsf->blocks_out == tlsf->block_limit) {
        return 0U;
    }
    uint32_t index = search(tlsf, units);
    if (index == 0U) {
        return 0U;
    }
    const uint32_t had = tlsf->blocks[index].units;
    const uint32_t class = class_of(had);
    if (had == units) {
        list_remove(tlsf, index, class);
    } else {
        const uint32_t rest = index;
        index = is_small(tlsf, units) ? cut_low(tlsf, index, units) : cut_high(tlsf, index, units);
        list_move(tlsf, rest, class);
    }
    tlsf->blocks[index].state = state;
    tlsf->free_units -= units;
    tlsf->blocks_out++;
    return index;
}

uint32_t tnri_tlsf_take_aligned(tnri_tlsf *tlsf, uint32_t units, uint64_t alignment, uint32_t state)
{
    const uint32_t own = class_of(units);
    if (tlsf->blocks_out == tlsf->block_limit || own >= tlsf->rows * TNRI_TLSF_COLUMNS) {
        return 0U;
    }
    uint32_t index = search_aligned(tlsf, own, units, alignment);
    if (index == 0U) {
        /* Alignment spoiled those: look where every block is large enough for the worst lead. */
        const uint64_t enough = (uint64_t)units + (alignment - 1U);
        if (enough > tlsf->unit_count) {
            return 0U;
        }
        index = search_aligned(tlsf, class_of((uint32_t)enough), units, alignment);
        if (index == 0U) {
            return 0U;
        }
    }
    tnri_tlsf_block *block = &tlsf->blocks[index];
    list_remove(tlsf, index, class_of(block->units));
    uint32_t front;
    if (is_small(tlsf, units)) {
        front = (uint32_t)lead_of(tlsf, block, alignment);
    } else {
        front = block->units - units;
        front -= (uint32_t)((tlsf->origin + block->offset + front) & (alignment - 1U));
    }
    if (front != 0U) {
        const uint32_t piece = cut_low(tlsf, index, front);
        tlsf->blocks[piece].state = TNRI_TLSF_FREE;
        list_insert(tlsf, piece, class_of(front));
    }
    const uint32_t back = block->units - units;
    if (back != 0U) {
        const uint32_t piece = cut_high(tlsf, index, back);
        tlsf->blocks[piece].state = TNRI_TLSF_FREE;
        list_insert(tlsf, piece, class_of(back));
    }
    block->state = state;
    tlsf->free_units -= units;
    tlsf->blocks_out++;
    return index;
}

/* ---- Give -------------------------------------------------------------------------------------------------------- */

/* It goes into a free neighbour, whose descriptor stays; where both are free, into the one before. */
void tnri_tlsf_give(tnri_tlsf *tlsf, uint32_t index)
{
    tnri_tlsf_block *const blocks = tlsf->blocks;
    tnri_tlsf_block *block = &blocks[index];
    const uint32_t before = block->before;
    const uint32_t after = block->after;
    const uint32_t units = block->units;
    tlsf->free_units += units;
    tlsf->blocks_out--;
    block->generation++;
    if (blocks[before].state == TNRI_TLSF_FREE) {
        const uint32_t class = class_of(blocks[before].units);
        uint32_t end = after;
        blocks[before].units += units;
        spare_give(tlsf, index);
        if (blocks[after].state == TNRI_TLSF_FREE) {
            list_remove(tlsf, after, class_of(blocks[after].units));
            blocks[before].units += blocks[after].units;
            end = blocks[after].after;
            spare_give(tlsf, after);
        }
        blocks[before].after = end;
        blocks[end].before = before;
        list_move(tlsf, before, class);
    } else if (blocks[after].state == TNRI_TLSF_FREE) {
        const uint32_t class = class_of(blocks[after].units);
        blocks[after].offset -= units;
        blocks[after].units += units;
        blocks[after].before = before;
        blocks[before].after = after;
        spare_give(tlsf, index);
        list_move(tlsf, after, class);
    } else {
        block->state = TNRI_TLSF_FREE;
        list_insert(tlsf, index, class_of(units));
    }
}

/* ---- Look -------------------------------------------------------------------------------------------------------- */

uint32_t tnri_tlsf_largest(const tnri_tlsf *tlsf)
{
    if (tlsf->row_map == 0U || tlsf->blocks_out == tlsf->block_limit) {
        return 0U;
    }
    /* A larger block of the top class further down its list could not be had: a search would not get there. */
    const uint32_t row = highest_of(tlsf->row_map);
    uint32_t index = tlsf->heads[row * TNRI_TLSF_COLUMNS + highest_of(tlsf->row_bits[row])];
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
    uint32_t row_map = 0;
    for (uint32_t row = 0; row < tlsf->rows; row++) {
        uint32_t bits = 0;
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
                bits |= UINT32_C(1) << column;
            }
        }
        if (bits != tlsf->row_bits[row]) {
            return "the bits of a row do not match its lists";
        }
        row_map |= (uint32_t)(bits != 0U) << row;
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
