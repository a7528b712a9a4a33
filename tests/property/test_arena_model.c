/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random traffic on arenas against a naive model: an array that says of every unit which block it belongs to. After
 * every call: blocks are where nothing else is, statistics are the model's, a failure was unavoidable by the rules in
 * domain.h. After every few: every invariant, and the guards around the region. And two threads at once on one arena.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "arena/base.h"

#define MOST_UNITS 20000U
#define MOST_BLOCKS 300U
#define GUARD_BYTES 256U
#define GUARD 0xB3

static uint64_t seed_of_run(void)
{
    const char *text = getenv("TENURE_TEST_SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 20260303U;
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15U;
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31);
}

static uint64_t below(uint64_t *state, uint64_t limit) { return next_random(state) % limit; }

/* Sizes whose number of bits is uniform. */
static uint64_t any_size(uint64_t *state, unsigned most_bits)
{
    const uint64_t high = UINT64_C(1) << below(state, most_bits);
    return high + below(state, high);
}

typedef struct model {
    tnr_domain *arena;
    unsigned char *memory;
    unsigned char *region;
    uint64_t region_bytes;
    uint64_t unit;  /* bytes */
    uint64_t first; /* address of unit 0 */
    uint32_t units;
    uint32_t most_blocks;
    uint16_t owner[MOST_UNITS]; /* 0: free; else block number + 1 */
    tnr_block blocks[MOST_BLOCKS];
    tnr_block gone[MOST_BLOCKS]; /* released earlier */
    bool out[MOST_BLOCKS];
    uint32_t count;
    uint32_t gone_count;
    uint64_t bytes;
    uint64_t peak;
    uint64_t allocations;
    uint64_t failures;
    uint64_t random;
} model;

static uint32_t class_of_units(uint64_t units)
{
    if (units < 64) {
        return (uint32_t)units;
    }
    uint32_t row = 1;
    while (units >= UINT64_C(128) << (row - 1)) {
        row++;
    }
    return row * 64U + (uint32_t)((units >> (row - 1)) - 64U);
}

/* Longest run of free units, and how many free runs share its class. */
static uint32_t longest_run(const model *m, uint32_t *same_class)
{
    uint32_t longest = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t run = 0;
        *same_class = 0;
        for (uint32_t at = 0; at <= m->units; at++) {
            if (at < m->units && m->owner[at] == 0) {
                run++;
                continue;
            }
            longest = run > longest ? run : longest;
            *same_class += run != 0 && class_of_units(run) == class_of_units(longest) ? 1U : 0U;
            run = 0;
        }
    }
    return longest;
}

static void compare_statistics(const model *m)
{
    tnr_domain_statistics s;
    assert_int_equal(tnr_domain_statistics_get(m->arena, &s), TNR_OK);
    assert_int_equal(s.blocks, m->count);
    assert_int_equal(s.bytes, m->bytes);
    assert_int_equal(s.peak_bytes, m->peak);
    assert_int_equal(s.allocations, m->allocations);
    assert_int_equal(s.failures, m->failures);
    assert_int_equal(s.capacity, m->units * m->unit);
    assert_int_equal(s.free_bytes, m->units * m->unit - m->bytes);
    uint32_t same_class;
    const uint32_t longest = longest_run(m, &same_class);
    if (m->count == m->most_blocks) {
        assert_int_equal(s.largest_free, 0);
    } else if (same_class <= 8) {
        assert_int_equal(s.largest_free, longest * m->unit);
    } else {
        assert_true(s.largest_free <= longest * m->unit);
        assert_int_equal(class_of_units(s.largest_free / m->unit), class_of_units(longest));
    }
}

static void check_guards(const model *m)
{
    for (uint32_t i = 0; i < GUARD_BYTES; i++) {
        assert_int_equal(m->memory[i], GUARD);
        assert_int_equal(m->region[m->region_bytes + i], GUARD);
    }
}

static unsigned char mark_of(const tnr_block *block, uint64_t byte)
{
    return (unsigned char)(block->allocation * 31U + byte * 7U);
}

static void fill(const tnr_block *block)
{
    unsigned char *bytes = block->address;
    for (uint64_t i = 0; i < block->bytes; i += 61) {
        bytes[i] = mark_of(block, i);
    }
    bytes[block->bytes - 1] = mark_of(block, block->bytes - 1);
}

static void check_fill(const tnr_block *block)
{
    const unsigned char *bytes = block->address;
    for (uint64_t i = 0; i < block->bytes - 1; i += 61) {
        assert_int_equal(bytes[i], mark_of(block, i));
    }
    assert_int_equal(bytes[block->bytes - 1], mark_of(block, block->bytes - 1));
}

static void try_allocate(model *m)
{
    const uint64_t bytes = below(&m->random, 8) == 0 ? any_size(&m->random, 21) : any_size(&m->random, 16);
    const uint64_t alignment = below(&m->random, 4) == 0 ? UINT64_C(1) << below(&m->random, 15) : 0;
    const uint64_t units = (bytes + m->unit - 1) / m->unit;
    const uint64_t steps = alignment > m->unit ? alignment / m->unit : 1;
    tnr_block block;
    const tnr_status status = tnr_domain_allocate(m->arena, bytes, alignment, &block);
    if (status != TNR_OK) {
        assert_int_equal(status, TNR_ERR_MEMORY);
        m->failures++;
        uint32_t same_class;
        const uint64_t longest = longest_run(m, &same_class);
        const uint64_t enough = units + steps - 1;
        const bool hopeless = longest < enough || (class_of_units(longest) == class_of_units(enough) && same_class > 8);
        assert_true(m->count == m->most_blocks || hopeless);
        return;
    }
    assert_true(m->count < m->most_blocks);
    assert_int_equal(block.bytes, units * m->unit);
    assert_int_equal((uintptr_t)block.address % (alignment > m->unit ? alignment : m->unit), 0);
    assert_int_equal(block.allocation, m->allocations + 1);
    const uint64_t start = ((uint64_t)(uintptr_t)block.address - m->first) / m->unit;
    assert_true(start < m->units && start + units <= m->units);
    uint32_t place = 0;
    while (m->out[place]) {
        place++;
    }
    for (uint64_t at = start; at < start + units; at++) {
        assert_int_equal(m->owner[at], 0);
        m->owner[at] = (uint16_t)(place + 1);
    }
    m->blocks[place] = block;
    m->out[place] = true;
    m->count++;
    m->allocations++;
    m->bytes += block.bytes;
    m->peak = m->bytes > m->peak ? m->bytes : m->peak;
    fill(&block);
}

static void forget(model *m, uint32_t place)
{
    const tnr_block *block = &m->blocks[place];
    const uint64_t start = ((uint64_t)(uintptr_t)block->address - m->first) / m->unit;
    for (uint64_t at = start; at < start + block->bytes / m->unit; at++) {
        assert_int_equal(m->owner[at], place + 1);
        m->owner[at] = 0;
    }
    m->out[place] = false;
    m->count--;
    m->bytes -= block->bytes;
    if (m->gone_count < MOST_BLOCKS) {
        m->gone[m->gone_count++] = *block;
    } else {
        m->gone[below(&m->random, MOST_BLOCKS)] = *block;
    }
}

static void release_one(model *m)
{
    if (m->count == 0) {
        return;
    }
    uint32_t place = (uint32_t)below(&m->random, m->most_blocks);
    while (!m->out[place]) {
        place = (place + 1) % m->most_blocks;
    }
    check_fill(&m->blocks[place]);
    assert_int_equal(tnr_domain_release(m->arena, &m->blocks[place]), TNR_OK);
    forget(m, place);
}

static void abuse(model *m)
{
    if (m->gone_count != 0) {
        const tnr_block *stale = &m->gone[below(&m->random, m->gone_count)];
        assert_int_equal(tnr_domain_release(m->arena, stale), TNR_ERR_STALE);
    }
    if (m->count != 0) {
        uint32_t place = 0;
        while (!m->out[place]) {
            place++;
        }
        tnr_block forged = m->blocks[place];
        switch (below(&m->random, 5)) {
        case 0:
            forged.tag += UINT64_C(1) << (32 + below(&m->random, 31));
            break;
        case 1:
            forged.bytes ^= UINT64_C(1) << below(&m->random, 64);
            break;
        case 2:
            forged.address = (char *)forged.address + m->unit;
            break;
        case 3:
            forged.allocation ^= UINT64_C(1) << below(&m->random, 64);
            break;
        default:
            forged.tag = (forged.tag & ~UINT64_C(0xFFFFFFFF)) |
                         (below(&m->random, 2) ? 0 : 0xFFFFFFFFU - below(&m->random, 1000));
            break;
        }
        assert_int_equal(tnr_domain_release(m->arena, &forged), TNR_ERR_FOREIGN);
    }
}

static void one_run(uint64_t seed, uint64_t page, bool apart, uint32_t most_blocks)
{
    model *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    m->random = seed;
    m->unit = page > 64 ? page : 64;
    m->most_blocks = most_blocks;
    m->region_bytes = 200000 + below(&m->random, 800000);
    const uint64_t skew = below(&m->random, 4096);
    m->memory = malloc((size_t)(m->region_bytes + skew + 2 * GUARD_BYTES));
    unsigned char *control = malloc(200000);
    assert_non_null(m->memory);
    assert_non_null(control);
    memset(m->memory, GUARD, (size_t)(m->region_bytes + skew + 2 * GUARD_BYTES));
    m->region = m->memory + GUARD_BYTES + skew;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.page = page;
    options.max_blocks = most_blocks;
    options.control = apart ? control : NULL;
    options.control_bytes = apart ? 200000 : 0;
    assert_int_equal(tnr_arena_create(m->region, m->region_bytes, &options, &m->arena), TNR_OK);
    tnr_domain_statistics s;
    assert_int_equal(tnr_domain_statistics_get(m->arena, &s), TNR_OK);
    m->units = (uint32_t)(s.capacity / m->unit);
    assert_in_range(m->units, 1, MOST_UNITS);
    /* Unit 0 is the last place from which so many units fit. */
    const uint64_t end = (uint64_t)(uintptr_t)m->region + m->region_bytes;
    m->first = end / m->unit * m->unit - s.capacity;
    if (apart) {
        assert_true(m->first - (uint64_t)(uintptr_t)m->region < m->unit);
    }

    for (int step = 0; step < 6000; step++) {
        const uint64_t what = below(&m->random, 100);
        const bool filling = (step / 500) % 2 == 0;
        if (what < (filling ? 60U : 40U)) {
            try_allocate(m);
        } else if (what < 97) {
            release_one(m);
        } else {
            abuse(m);
        }
        if (step % 10 == 0) {
            compare_statistics(m);
            assert_int_equal(tnr_arena_check(m->arena), TNR_OK);
        }
        if (step % 2500 == 2499) {
            assert_int_equal(tnr_arena_reset(m->arena), TNR_OK);
            for (uint32_t place = 0; place < most_blocks; place++) {
                if (m->out[place]) {
                    forget(m, place);
                }
            }
            compare_statistics(m);
            assert_int_equal(m->bytes, 0);
            check_guards(m);
        }
    }
    assert_true(m->allocations > 1000);
    while (m->count != 0) {
        release_one(m);
    }
    compare_statistics(m);
    assert_int_equal(tnr_arena_check(m->arena), TNR_OK);
    assert_int_equal(tnr_domain_close(&m->arena), TNR_OK);
    check_guards(m);
    free(control);
    free(m->memory);
    free(m);
}

static void random_traffic(void **state)
{
    (void)state;
    const uint64_t seed = seed_of_run();
    static const uint64_t pages[] = {0, 0, 128, 1024};
    static const uint32_t limits[] = {MOST_BLOCKS, 40, 7, MOST_BLOCKS};
    for (uint64_t i = 0; i < 8; i++) {
        one_run(seed + i * 1000003U, pages[i % 4], i / 4 == 0, limits[(i + i / 4) % 4]);
    }
}

/* Many free blocks of one class, none of them large enough but the ninth: the one failure that the rules allow. */
static void more_than_the_search_looks_at(void **state)
{
    (void)state;
    enum { units = 64 * 1024 };
    unsigned char *memory = aligned_alloc(64, (size_t)units * 64U);
    unsigned char *control = aligned_alloc(64, 65536);
    assert_true(memory != NULL && control != NULL);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.max_blocks = 64;
    options.control = control;
    options.control_bytes = 65536;
    tnr_domain *arena = NULL;
    assert_int_equal(tnr_arena_create(memory, (uint64_t)units * 64U, &options, &arena), TNR_OK);
    /* 1024..1039 units are one class. Walls, as large requests too, keep the holes apart. */
    tnr_block holes[12];
    tnr_block walls[13];
    for (uint64_t i = 0; i < 12; i++) {
        assert_int_equal(tnr_domain_allocate(arena, (i == 0 ? 1039U : 1024U) * 64U, 0, &holes[i]), TNR_OK);
        assert_int_equal(tnr_domain_allocate(arena, units / 128 * 64, 0, &walls[i]), TNR_OK);
    }
    tnr_domain_statistics s;
    assert_int_equal(tnr_domain_statistics_get(arena, &s), TNR_OK);
    assert_int_equal(tnr_domain_allocate(arena, s.largest_free, 0, &walls[12]), TNR_OK); /* the rest */
    for (int i = 0; i < 12; i++) {
        assert_int_equal(tnr_domain_release(arena, &holes[i]), TNR_OK);
        tnr_block block;
        assert_int_equal(tnr_domain_statistics_get(arena, &s), TNR_OK);
        const bool reached = i < 8; /* the large hole is at most the eighth of its list */
        assert_int_equal(s.largest_free, (reached ? 1039U : 1024U) * 64U);
        const tnr_status status = tnr_domain_allocate(arena, 1039 * 64, 0, &block);
        assert_int_equal(status, reached ? TNR_OK : TNR_ERR_MEMORY);
        if (reached) {
            assert_ptr_equal(block.address, holes[0].address);
            assert_int_equal(tnr_domain_release(arena, &block), TNR_OK);
            /* It is first in its list now: bury it again. */
            tnr_block again[12];
            for (int k = 0; k <= i; k++) {
                const uint64_t units_of_hole = k == 0 ? 1039 : 1024;
                assert_int_equal(tnr_domain_allocate(arena, units_of_hole * 64U, 0, &again[k]), TNR_OK);
            }
            for (int k = 0; k <= i; k++) {
                assert_int_equal(tnr_domain_release(arena, &again[k]), TNR_OK);
            }
        }
        assert_int_equal(tnr_arena_check(arena), TNR_OK);
    }
    assert_int_equal(tnr_arena_reset(arena), TNR_OK);
    assert_int_equal(tnr_domain_close(&arena), TNR_OK);
    free(memory);
    free(control);
}

/* ---- Two threads ------------------------------------------------------------------------------------------------- */

#if TNRI_THREADS
typedef struct worker {
    tnr_domain *arena;
    uint64_t random;
    uint64_t done;
    const char *fault;
} worker;

static void *work(void *argument)
{
    worker *self = argument;
    tnr_block blocks[40];
    bool out[40] = {false};
    for (int step = 0; step < 40000 && self->fault == NULL; step++) {
        const uint64_t place = below(&self->random, 40);
        if (!out[place]) {
            const tnr_status status = tnr_domain_allocate(self->arena, any_size(&self->random, 14),
                                                          UINT64_C(1) << below(&self->random, 9), &blocks[place]);
            out[place] = status == TNR_OK;
            if (out[place]) {
                memset(blocks[place].address, (int)(blocks[place].allocation & 0xFF), (size_t)blocks[place].bytes);
                self->done++;
            } else if (status != TNR_ERR_MEMORY) {
                self->fault = "allocate failed in another way than for want of room";
            }
            continue;
        }
        const unsigned char *bytes = blocks[place].address;
        const unsigned char mark = (unsigned char)(blocks[place].allocation & 0xFF);
        if (bytes[0] != mark || bytes[blocks[place].bytes / 2] != mark || bytes[blocks[place].bytes - 1] != mark) {
            self->fault = "a block was written by somebody else";
        }
        if (tnr_domain_release(self->arena, &blocks[place]) != TNR_OK) {
            self->fault = "release failed";
        }
        if (step % 16 == 0 && tnr_domain_release(self->arena, &blocks[place]) != TNR_ERR_STALE) {
            self->fault = "a second release was not refused";
        }
        out[place] = false;
    }
    for (int place = 0; place < 40; place++) {
        if (out[place] && tnr_domain_release(self->arena, &blocks[place]) != TNR_OK) {
            self->fault = "release failed at the end";
        }
    }
    return NULL;
}

static void two_threads(void **state)
{
    (void)state;
    const uint64_t seed = seed_of_run();
    enum { region_bytes = 300000 };
    unsigned char *memory = malloc(region_bytes);
    assert_non_null(memory);
    tnr_domain *arena = NULL;
    assert_int_equal(tnr_arena_create(memory, region_bytes, NULL, &arena), TNR_OK);
    worker workers[2] = {{arena, seed, 0, NULL}, {arena, seed + 17, 0, NULL}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (workers[i].fault != NULL) {
            fail_msg("thread %d: %s", i, workers[i].fault);
        }
    }
    tnr_domain_statistics s;
    assert_int_equal(tnr_domain_statistics_get(arena, &s), TNR_OK);
    assert_int_equal(s.allocations, workers[0].done + workers[1].done);
    assert_true(s.blocks == 0 && s.bytes == 0 && s.largest_free == s.capacity);
    assert_int_equal(tnr_arena_check(arena), TNR_OK);
    assert_int_equal(tnr_domain_close(&arena), TNR_OK);
    free(memory);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traffic),
        cmocka_unit_test(more_than_the_search_looks_at),
#if TNRI_THREADS
        cmocka_unit_test(two_threads),
#endif
    };
    return cmocka_run_group_tests_name("arena_model", tests, NULL, NULL);
}
