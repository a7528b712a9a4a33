/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the strided copy and its kernels: what a kernel file offers for one instruction set.
 */
#ifndef TENURE_STORAGE_COPY_INTERNAL_H
#define TENURE_STORAGE_COPY_INTERNAL_H

#include "storage.h"
#include "stream.h"

/* Bytes of the buffer in which lines are put together: on the stack, and half of a small first-level cache. And of how many
 * stretches of the target's first axis a run in it is made at most. */
#if TNRI_THREADS
#define TNRI_COPY_BUFFER 24576
#define TNRI_COPY_SEGMENTS 512
#else
#define TNRI_COPY_BUFFER 4096
#define TNRI_COPY_SEGMENTS 64
#endif

/*
 * What of the source is fetched into the cache while something else is copied: rows of whole lines, one after the other, for
 * that is how memory likes to be read. Rows lie a step apart, `rows` of them in each segment.
 */
typedef struct tnri_copy_fetch {
    uintptr_t base;
    uintptr_t row;          /* the one that is being fetched */
    const int64_t *offsets; /* of the segments, from the base */
    int64_t lines;          /* of a row */
    int64_t line;           /* of these, fetched */
    int64_t rows;
    int64_t row_at;
    int64_t row_step;
    int64_t segments;
    int64_t segment;
} tnri_copy_fetch;

static inline void tnri_copy_fetch_lines(tnri_copy_fetch *fetch, int64_t lines)
{
    while (lines > 0 && fetch->segment < fetch->segments) {
        const int64_t rest = fetch->lines - fetch->line;
        const int64_t count = lines < rest ? lines : rest;
        const uintptr_t from = fetch->row + 64 * (uintptr_t)fetch->line;
        for (int64_t i = 0; i < count; ++i) {
            TNRI_FETCH(from + 64 * (uintptr_t)i);
        }
        lines -= count;
        fetch->line += count;
        if (count < rest) {
            return;
        }
        fetch->line = 0;
        fetch->row += (uintptr_t)fetch->row_step;
        if (++fetch->row_at == fetch->rows) {
            fetch->row_at = 0;
            if (++fetch->segment < fetch->segments) {
                fetch->row = fetch->base + (uintptr_t)fetch->offsets[fetch->segment];
            }
        }
    }
}

/*
 * A piece of two axes. Along the rows the target steps least, along the columns the source does, or any other axis. All
 * distances in bytes, of any sign.
 */
typedef struct tnri_copy_plane {
    int64_t rows;
    int64_t columns;
    int64_t target_row;
    int64_t target_column;
    int64_t source_row;
    int64_t source_column;
    int64_t ahead;          /* from an element to the one to fetch into the cache meanwhile; 0: none */
    tnri_copy_fetch *fetch; /* what a kernel of blocks fetches */
} tnri_copy_plane;

typedef void (*tnri_copy_plane_kernel)(char *target, const char *source, const tnri_copy_plane *plane);

/* Kernels of planes: by the logarithm of the element's bytes, NULL for elements of 2. */
struct tnri_copy_kernels {
    /* Ordinary stores; any steps. */
    tnri_copy_plane_kernel planes[5];
    /* Past the caches; unit steps along the rows of both sides, any alignment. */
    tnri_copy_plane_kernel runs[5];
    /* Past the caches; unit steps along the target's rows and the source's columns, target lines aligned, whole lines. */
    tnri_copy_plane_kernel tiles[5];
    /* As `planes` with unit steps along the target's rows and the source's columns; fetches a line for each one it reads. */
    tnri_copy_plane_kernel blocks[5];
    /* Whole lines to a target at a multiple of 64, past the caches. */
    void (*lines)(char *target, const char *source, int64_t bytes);
    /* What went past the caches is ordered before what is stored next. */
    void (*fence)(void);
};

TNRI_ISA_DECLARE(tnri_copy_kernels, tnri_copy_kernels);

#endif /* TENURE_STORAGE_COPY_INTERNAL_H */
