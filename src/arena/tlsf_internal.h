/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A two-level good-fit allocator over a range of units, numbered from 0. It deals in numbers only: what a unit is, and
 * where it lies, is its caller's business, so it can never touch the memory that it divides.
 *
 * Every block, free or out, has a descriptor in one array. Free neighbours are merged at once, so between two blocks
 * that are out there is at most one free one, and block_limit blocks out need 2 * block_limit + 1 descriptors at most:
 * splitting never lacks one. Descriptor 0 is a sentinel that closes the ring of neighbours and ends every list; it
 * counts as a block that is out, so that merging stops at it without asking.
 *
 * Size classes: 32 per power of two. Row 0 holds 0..31 units exactly, row r > 0 holds 2^(r+4) .. 2^(r+5) - 1 in 32
 * equal steps. One bit per row, one word of bits per row, all of 32 bits.
 *
 * Where a request goes: into the first block of its own class where that is large enough, else into the first of the next class that has
 * one; where there is none, further down the list of its own. A large one takes the high end of that block, a small one (under 1/32 of the
 * range) the low end: small blocks gather at low addresses, and what is cut off a hole lies beside blocks of its own kind. On the trace of
 * tests/bench/bench_arena.c the room needed per peak live byte is 1.175 in the mean of 24 seeds. To choose the lowest of five holes for
 * small requests made that 1.154, and cost a third more instructions; the class rounded up instead, as in the paper, needs 1.21.
 *
 * What is cut off is a new descriptor's: the rest of a free block keeps its own, and its place in its list while it stays in
 * its class. Likewise a block that comes back goes into a free neighbour.
 *
 * After Masmano, Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator for real-time systems", ECRTS 2004.
 * Not thread-safe.
 */
#ifndef TENURE_ARENA_TLSF_INTERNAL_H
#define TENURE_ARENA_TLSF_INTERNAL_H

#include "base.h"

#define TNRI_TLSF_COLUMN_BITS 5U
#define TNRI_TLSF_COLUMNS 32U
/* Rows for units up to 2^32 - 1. */
#define TNRI_TLSF_MOST_ROWS 28U
/* Most units, and most blocks out, that fit indices of 32 bits. */
#define TNRI_TLSF_MOST_UNITS 0xFFFFFFFEU
#define TNRI_TLSF_MOST_BLOCKS 0x7FFFFFFEU
/* Free blocks of the request's own class that a search looks at where there is nothing else. */
#define TNRI_TLSF_PROBES 8U
/* Requests under this share of the range are small. */
#define TNRI_TLSF_SMALL_SHARE 32U

/* States of a descriptor. A block that is out has the caller's word: this bit, and what the caller likes in the two below it. */
#define TNRI_TLSF_SPARE 0U
#define TNRI_TLSF_END 2U /* the sentinel */
#define TNRI_TLSF_OUT 4U
#define TNRI_TLSF_FREE 8U /* this bit, and the class above it */
#define TNRI_TLSF_CLASS_SHIFT 4U

typedef struct tnri_tlsf_block {
    uint32_t before; /* neighbours in the range; 0 at both ends */
    uint32_t after;
    uint32_t offset; /* first unit */
    uint32_t units;
    union {
        struct {
            uint32_t previous; /* free: list of its class; spare: only next */
            uint32_t next;
        } list;
        uint64_t number; /* out: the caller's own */
    } u;
    uint32_t generation; /* goes up by one at each release */
    uint32_t state;
} tnri_tlsf_block;

typedef struct tnri_tlsf {
    uint32_t row_map;   /* rows that have a free block */
    uint32_t *row_bits; /* rows words: columns that have a free block */
    uint32_t *heads;    /* rows * TNRI_TLSF_COLUMNS: first free block of each class, 0 for none */
    tnri_tlsf_block *blocks;
    uint64_t origin; /* number of unit 0 in the address space: what alignment refers to */
    uint32_t free_units;
    uint32_t blocks_left; /* so many more may be out */
    uint32_t unit_count;
    uint32_t small; /* requests under so many units are small */
    uint32_t rows;
    uint32_t block_limit;
    uint32_t descriptors; /* in the table */
    uint32_t spare;       /* descriptors without a block */
    uint32_t generation;  /* first generation of every descriptor */
} tnri_tlsf;

/* Rows that a range of so many units needs, 1..TNRI_TLSF_MOST_ROWS, and the largest range that so many rows serve. */
uint32_t tnri_tlsf_rows(uint32_t units);
uint32_t tnri_tlsf_most_units(uint32_t rows);

/*
 * Bytes of 64-byte aligned memory for the tables, a multiple of 64; block_limit <= TNRI_TLSF_MOST_BLOCKS: no
 * overflow.
 */
uint64_t tnri_tlsf_table_bytes(uint32_t rows, uint32_t block_limit);

/* One free block of `units` >= 1 units. `tables` has tnri_tlsf_table_bytes bytes. */
void tnri_tlsf_init(tnri_tlsf *tlsf, void *tables, uint32_t units, uint32_t block_limit, uint64_t origin,
                    uint32_t generation);

/* tlsf_take of tlsf.inl.h, and where that finds nothing, further down the list of the own class. */
bool tnri_tlsf_take(tnri_tlsf *tlsf, uint32_t units, uint32_t state, uint32_t *taken);

/* The same where the first unit must be at a multiple of `alignment` (a power of two, in units, counted from origin). */
bool tnri_tlsf_take_aligned(tnri_tlsf *tlsf, uint32_t units, uint64_t alignment, uint32_t state, uint32_t *taken);

/* tlsf_give of tlsf.inl.h, for those in no hurry. */
void tnri_tlsf_give(tnri_tlsf *tlsf, uint32_t index);

/* The largest `units` for which tnri_tlsf_take with alignment 1 would succeed; 0 for none. Bounded time. */
uint32_t tnri_tlsf_largest(const tnri_tlsf *tlsf);

/* NULL when every invariant holds, else a description of the first fault. */
const char *tnri_tlsf_check(const tnri_tlsf *tlsf);

#endif /* TENURE_ARENA_TLSF_INTERNAL_H */
