/* SPDX-License-Identifier: BSD-3-Clause */
/* What an arena's life (arena.c) and its sizes (arena_sizes.c) tell each other. */
#ifndef TENURE_ARENA_ARENA_INTERNAL_H
#define TENURE_ARENA_ARENA_INTERNAL_H

#include "arena.h"

/* Of the bookkeeping, in front of the allocator's table. */
extern const uint32_t tnri_arena_head_bytes;

/* Where everything lies, as addresses. */
typedef struct tnri_arena_layout {
    uint64_t control;
    uint64_t base;
    uint64_t granule;
    uint32_t granules;
    uint32_t rows;
} tnri_arena_layout;

/* Options as given, or the defaults, checked. */
tnr_status tnri_arena_options(const char *op, const tnr_arena_options *given, tnr_arena_options *options);

/* Fill *at for a region of `bytes` bytes at address `region`, or say why it cannot be. */
tnr_status tnri_arena_lay_out(uint64_t region, uint64_t bytes, const tnr_arena_options *options, uint32_t max_blocks,
                              tnri_arena_layout *at);

#endif /* TENURE_ARENA_ARENA_INTERNAL_H */
