/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of the strided copy for one instruction set: planes of two axes, and runs written past the caches.
 *
 * Guarantees: each kernel writes the elements it is given, some perhaps twice with the same value, and no other byte; reads
 * no byte outside the elements. Alignment: elements as their dtype needs, no more.
 */
#include "../copy_internal.h"
#include "../stream.h"
#include "transpose.inl.h"

/* Words that may alias any dtype. A c32 is aligned as its float, so eight bytes may start on a multiple of four. */
typedef uint8_t word1 __attribute__((may_alias));
typedef uint32_t word4 __attribute__((may_alias));
typedef uint64_t word8 __attribute__((may_alias, aligned(4)));
typedef uint64_t word16 __attribute__((vector_size(16), may_alias, aligned(8)));

/* Bytes from what is copied to what is fetched meanwhile. */
#define FETCH_AHEAD 512

static void lines(char *target, const char *source, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += 64) {
        tnri_stream_line(target + i, source + i);
    }
}

static inline void run(char *target, const char *source, int64_t bytes)
{
    const int64_t before = (int64_t)(-(uintptr_t)target & 63U);
    if (bytes < 128) {
        memcpy(target, source, (size_t)bytes);
        return;
    }
    memcpy(target, source, (size_t)before);
    const int64_t end = before + ((bytes - before) & ~(int64_t)63);
    for (int64_t i = before; i < end; i += 64) {
        TNRI_FETCH((uintptr_t)source + (uintptr_t)(i + FETCH_AHEAD));
        tnri_stream_line(target + i, source + i);
    }
    memcpy(target + end, source + end, (size_t)(bytes - end));
}

#define WORD word1
#define NAME(x) x##_1
#define SIDE 64
#define SQUARE SQUARE_1
#define CORNER CORNER_1
#include "copy_plane.tmpl.h"

#define WORD word4
#define NAME(x) x##_4
#define SIDE 16
#define SQUARE SQUARE_4
#define CORNER CORNER_4
#include "copy_plane.tmpl.h"

#define WORD word8
#define NAME(x) x##_8
#define SIDE 8
#define SQUARE SQUARE_8
#define CORNER CORNER_8
#include "copy_plane.tmpl.h"

#define WORD word16
#define NAME(x) x##_16
#define SIDE 4
#define SQUARE SQUARE_16
#define CORNER CORNER_16
#include "copy_plane.tmpl.h"

static void fence(void) { tnri_stream_fence(); }

const tnri_copy_kernels TNRI_ISA_NAME(tnri_copy_kernels) = {
    .planes = {plane_1, NULL, plane_4, plane_8, plane_16},
    .runs = {runs_1, NULL, runs_4, runs_8, runs_16},
    .tiles = {tiles_1, NULL, tiles_4, tiles_8, tiles_16},
    .blocks = {blocks_1, NULL, blocks_4, blocks_8, blocks_16},
    .lines = lines,
    .fence = fence,
};
