/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-level good-fit allocator of tlsf_internal.h. Guarantees: every call but init and check takes bounded time,
 * whatever happened before; no recursion; no memory but the tables. Does not lock and does not believe in bad indices:
 * its caller has checked them.
 */
#include "tlsf.inl.h"

static inline uint32_t class_row(uint32_t units) { return class_of(units) / TNRI_TLSF_COLUMNS; }

uint32_t tnri_tlsf_rows(uint32_t units) { return class_row(units) + 1U; }

uint32_t tnri_tlsf_most_units(uint32_t rows)
{
    return rows >= TNRI_TLSF_MOST_ROWS ? TNRI_TLSF_MOST_UNITS : (1U << (rows + TNRI_TLSF_COLUMN_BITS - 1U)) - 1U;
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
    tlsf->descriptors = (uint32_t)count; /* TNRI_TLSF_MOST_BLOCKS leaves room */
    tlsf->blocks_left = block_limit;
    tlsf->generation = generation;
    memset(tlsf->row_bits, 0, rows * sizeof(uint32_t));
    memset(tlsf->heads, 0, rows * TNRI_TLSF_COLUMNS * sizeof(uint32_t));
    memset(tlsf->blocks, 0, (size_t)count * sizeof(tnri_tlsf_block));

    for (uint32_t index = (uint32_t)(count - 1U); index >= 2U; index--) {
        tlsf->blocks[index].generation = generation;
        spare_give(tlsf, index);
    }
    tlsf->blocks[0].state = TNRI_TLSF_END;
    tlsf->blocks[0].before = 1U;
    tlsf->blocks[0].after = 1U;
    tlsf->blocks[1].generation = generation;
    tlsf->blocks[1].units = units;
    list_insert(tlsf, 1U, class_of(units));
}

/* ---- Search ------------------------------------------------------------------------------------------------------ */

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
    ladder at = ladder_at(class);
    for (uint32_t probe = 0; probe < TNRI_TLSF_PROBES && ladder_next(tlsf, &at); probe++) {
        index = tlsf->heads[ladder_class(&at)];
        if (fits(tlsf, index, units, alignment)) {
            return index;
        }
    }
    return 0U;
}

/* ---- Take -------------------------------------------------------------------------------------------------------- */

/* The tightest of the first few of a class becomes its first. */
static bool bring_forward(tnri_tlsf *tlsf, uint32_t class, uint32_t units)
{
    uint32_t best = 0;
    uint32_t least = UINT32_MAX;
    uint32_t index = tlsf->heads[class];
    for (uint32_t probes = TNRI_TLSF_PROBES; index != 0U && probes != 0U; probes--) {
        const tnri_tlsf_block *block = &tlsf->blocks[index];
        if (block->units >= units && block->units < least) {
            least = block->units;
            best = index;
        }
        index = block->u.list.next;
    }
    if (best == 0U) {
        return false;
    }
    list_remove(tlsf, best, class);
    list_insert(tlsf, best, class);
    return true;
}

bool tnri_tlsf_take(tnri_tlsf *tlsf, uint32_t units, uint32_t state, uint32_t *taken)
{
    if (tlsf->blocks_left == 0U) {
        return false;
    }
    uint32_t class = class_of(units);
    if (!search(tlsf, units, &class) && !bring_forward(tlsf, class, units)) {
        return false;
    }
    tlsf->blocks_left--;
    *taken = take_first(tlsf, class, units, state);
    return true;
}

bool tnri_tlsf_take_aligned(tnri_tlsf *tlsf, uint32_t units, uint64_t alignment, uint32_t state, uint32_t *taken)
{
    const uint32_t own = class_of(units);
    if (tlsf->blocks_left == 0U) {
        return false;
    }
    uint32_t index = search_aligned(tlsf, own, units, alignment);
    if (index == 0U) {
        /* Alignment spoiled those: look where every block is large enough for the worst lead. */
        const uint64_t enough = (uint64_t)units + (alignment - 1U);
        if (enough > tlsf->unit_count) {
            return false;
        }
        index = search_aligned(tlsf, class_of((uint32_t)enough), units, alignment);
        if (index == 0U) {
            return false;
        }
    }
    tnri_tlsf_block *block = &tlsf->blocks[index];
    list_remove(tlsf, index, class_free(block));
    uint32_t front;
    if (is_small(tlsf, units)) {
        front = (uint32_t)lead_of(tlsf, block, alignment);
    } else {
        front = block->units - units;
        front -= (uint32_t)((tlsf->origin + block->offset + front) & (alignment - 1U));
    }
    if (front != 0U) {
        const uint32_t piece = cut_low(tlsf, index, block->units, front);
        list_insert(tlsf, piece, class_of(front));
    }
    const uint32_t back = block->units - units;
    if (back != 0U) {
        const uint32_t piece = cut_high(tlsf, index, block->units, back);
        list_insert(tlsf, piece, class_of(back));
    }
    block->state = state;
    tlsf->free_units -= units;
    tlsf->blocks_left--;
    *taken = index;
    return true;
}

void tnri_tlsf_give(tnri_tlsf *tlsf, uint32_t index) { tlsf_give(tlsf, index); }

/* ---- Look -------------------------------------------------------------------------------------------------------- */

/* The last place of a word that is set; it is not 0. */
static inline uint32_t last_of(uint32_t word) { return 31U - (uint32_t)__builtin_ctz(word); }

uint32_t tnri_tlsf_largest(const tnri_tlsf *tlsf)
{
    if (tlsf->row_map == 0U || tlsf->blocks_left == 0U) {
        return 0U;
    }
    /* A larger block of the top class further down its list could not be had: a search would not get there. */
    const uint32_t row = last_of(tlsf->row_map);
    uint32_t index = tlsf->heads[row * TNRI_TLSF_COLUMNS + last_of(tlsf->row_bits[row])];
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
        if (is_free(block)) {
            if (before != 0U && is_free(&blocks[before])) {
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
    if (blocks[0].before != before || blocks[0].state != TNRI_TLSF_END || blocks[0].units != 0U) {
        return "the sentinel is damaged";
    }
    if (offset != tlsf->unit_count) {
        return "the blocks do not add up to the range";
    }
    if (free_units != tlsf->free_units || out != tlsf->block_limit - tlsf->blocks_left || out > tlsf->block_limit) {
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
                if (!is_free(&blocks[index]) || class_free(&blocks[index]) != class ||
                    class_of(blocks[index].units) != class || blocks[index].u.list.previous != previous) {
                    return "a free list holds a block that does not belong there";
                }
                previous = index;
                listed++;
                bits |= bit_of(column);
            }
        }
        if (bits != tlsf->row_bits[row]) {
            return "the bits of a row do not match its lists";
        }
        row_map |= bits != 0U ? bit_of(row) : 0U;
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
