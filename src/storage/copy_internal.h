/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the strided copy and its kernels: what a kernel file offers for one instruction set.
 */
#ifndef TENURE_STORAGE_COPY_INTERNAL_H
#define TENURE_STORAGE_COPY_INTERNAL_H

#include "storage.h"

/* Bytes of the buffer in which lines are put together: on the stack, and half of a small first-level cache. */
#if TNRI_THREADS
#define TNRI_COPY_BUFFER 24576
#else
#define TNRI_COPY_BUFFER 4096
#endif

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
    int64_t ahead; /* from an element to the one to fetch into the cache meanwhile; 0: none */
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
    /* Whole lines to a target at a multiple of 64, past the caches. */
    void (*lines)(char *target, const char *source, int64_t bytes);
    /* What went past the caches is ordered before what is stored next. */
    void (*fence)(void);
};

TNRI_ISA_DECLARE(tnri_copy_kernels, tnri_copy_kernels);

#endif /* TENURE_STORAGE_COPY_INTERNAL_H */
