/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the arena share: a region between guards, and calls that must succeed. */
#ifndef TENURE_TESTS_ARENA_PLACE_H
#define TENURE_TESTS_ARENA_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arena/arena.h"

#define GUARD 0xA7
#define CONTROL_BYTES 65536U

/* A region with guards around it, at a chosen distance from a multiple of 4096, and control memory elsewhere. */
typedef struct place {
    unsigned char *memory;
    uint64_t memory_bytes;
    unsigned char *region;
    uint64_t bytes;
    unsigned char *control;
} place;

static inline place place_make(uint64_t bytes, uint64_t skew)
{
    place made;
    made.memory_bytes = (bytes + skew + 3U * 4096U) / 4096U * 4096U;
    made.memory = aligned_alloc(4096, (size_t)made.memory_bytes);
    made.control = aligned_alloc(64, CONTROL_BYTES);
    assert_non_null(made.memory);
    assert_non_null(made.control);
    memset(made.memory, GUARD, (size_t)made.memory_bytes);
    made.region = made.memory + 4096 + skew;
    made.bytes = bytes;
    return made;
}

/* All bytes outside the region still are what they were. */
static inline void place_check(const place *made)
{
    for (const unsigned char *at = made->memory; at < made->memory + made->memory_bytes; at++) {
        if ((at < made->region || at >= made->region + made->bytes) && *at != GUARD) {
            fail_msg("byte %td from the region's start was written", at - made->region);
        }
    }
}

static inline void place_free(place *made)
{
    place_check(made);
    free(made->memory);
    free(made->control);
}

static inline tnr_arena_options options_apart(const place *made)
{
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.control = made->control;
    options.control_bytes = CONTROL_BYTES;
    return options;
}

static inline tnr_domain *arena_make(const place *made, const tnr_arena_options *options)
{
    tnr_domain *arena = NULL;
    assert_int_equal(tnr_arena_create(made->region, made->bytes, options, &arena), TNR_OK);
    assert_non_null(arena);
    return arena;
}

static inline void arena_close(tnr_domain **arena)
{
    assert_int_equal(tnr_arena_check(*arena), TNR_OK);
    assert_int_equal(tnr_domain_close(arena), TNR_OK);
    assert_null(*arena);
}

static inline tnr_domain_statistics statistics_of(tnr_domain *arena)
{
    tnr_domain_statistics statistics;
    assert_int_equal(tnr_domain_statistics_get(arena, &statistics), TNR_OK);
    assert_int_equal(statistics.bytes + statistics.free_bytes, statistics.capacity);
    assert_true(statistics.largest_free <= statistics.free_bytes);
    return statistics;
}

static inline tnr_block take(tnr_domain *arena, uint64_t bytes)
{
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(arena, bytes, 0, &block), TNR_OK);
    assert_true(block.bytes >= bytes);
    memset(block.address, 0x5A, (size_t)block.bytes);
    return block;
}

static inline void expect_no_room(tnr_domain *arena, uint64_t bytes)
{
    const tnr_domain_statistics before = statistics_of(arena);
    tnr_block block = {NULL, 11, 12, 13};
    assert_int_equal(tnr_domain_allocate(arena, bytes, 0, &block), TNR_ERR_MEMORY);
    assert_true(block.address == NULL && block.bytes == 11 && block.allocation == 12 && block.tag == 13);
    tnr_domain_statistics after = statistics_of(arena);
    assert_int_equal(after.failures, before.failures + 1);
    after.failures = before.failures;
    assert_memory_equal(&after, &before, sizeof(after));
}

#endif /* TENURE_TESTS_ARENA_PLACE_H */
