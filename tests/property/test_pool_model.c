/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool under random traffic against a model that is too simple to be wrong: a plain list of retained buffers in the
 * order of their release, searched from end to end. After every call all figures must agree, the cap must hold, and the
 * parent must have exactly what the model says is out or retained. Then the same pool under two threads, with patterns
 * in the buffers.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/counted_parent.h"

/* ---- Random numbers: splitmix64 ---------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *state, uint64_t limit) { return next_random(state) % limit; }

static uint64_t random_bytes(uint64_t *state)
{
    const uint64_t top = UINT64_C(1) << (6 + below(state, 8));
    return 1 + below(state, top);
}

static uint64_t seed(void)
{
    const char *text = getenv("TENURE_TEST_SEED");
    const uint64_t value = text != NULL ? strtoull(text, NULL, 0) : 20260726;
    print_message("TENURE_TEST_SEED=%llu\n", (unsigned long long)value);
    return value;
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

enum { MOST = 512 };

typedef struct model_buffer {
    void *address;
    uint64_t bytes;
    bool pooled;
    tnr_block block; /* while it is out */
} model_buffer;

typedef struct model {
    model_buffer out[MOST];
    size_t out_count;
    model_buffer retained[MOST]; /* oldest first */
    size_t retained_count;
    uint64_t cap;
    uint64_t capacity; /* of the parent; 0: none */
    uint64_t hits, misses, evictions, high_water, peak, failures;
    uint64_t freed; /* buffers that the parent must have got back */
    tnr_block stale_block;
    bool has_stale;
} model;

static uint64_t naive_class(uint64_t bytes)
{
    for (uint64_t base = 64;; base *= 2) {
        for (uint64_t quarter = 4; quarter < 8; quarter++) {
            if (base / 4 * quarter >= bytes) {
                return base / 4 * quarter;
            }
        }
    }
}

static uint64_t sum(const model_buffer *buffers, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += buffers[i].bytes;
    }
    return bytes;
}

static void erase(model_buffer *buffers, size_t *count, size_t at)
{
    memmove(&buffers[at], &buffers[at + 1], (*count - at - 1) * sizeof(buffers[0]));
    (*count)--;
}

/* The oldest goes; the parent must see exactly this buffer next. */
static void model_evict(model *m, const counted_parent *counts)
{
    if (m->freed < COUNTED_LOG) {
        assert_ptr_equal(counts->log[m->freed], m->retained[0].address);
    }
    m->freed++;
    m->evictions++;
    erase(m->retained, &m->retained_count, 0);
}

static void model_allocate(model *m, tnr_domain *pool, const counted_parent *counts, uint64_t asked, uint64_t alignment)
{
    const uint64_t bytes = naive_class(asked);
    size_t at = m->retained_count;
    if (alignment <= 64) {
        while (at > 0 && m->retained[at - 1].bytes != bytes) {
            at--;
        }
    } else {
        at = 0;
    }
    tnr_block block;
    const tnr_status status = tnr_domain_allocate(pool, asked, alignment, &block);
    if (at > 0) { /* a hit: the newest of the class */
        assert_int_equal(status, TNR_OK);
        assert_ptr_equal(block.address, m->retained[at - 1].address);
        erase(m->retained, &m->retained_count, at - 1);
        m->hits++;
    } else {
        const uint64_t out = sum(m->out, m->out_count);
        bool room = m->capacity == 0 || out + sum(m->retained, m->retained_count) + bytes <= m->capacity;
        while (!room && m->retained_count > 0) { /* no more than it takes; this parent does not say what it has */
            model_evict(m, counts);
            room = out + sum(m->retained, m->retained_count) + bytes <= m->capacity;
        }
        if (!room) {
            assert_int_equal(status, TNR_ERR_MEMORY);
            m->failures++;
            return;
        }
        assert_int_equal(status, TNR_OK);
        m->misses++;
    }
    assert_int_equal(block.bytes, bytes);
    assert_int_equal((uintptr_t)block.address % (alignment > 64 ? alignment : 64), 0);
    model_buffer *made = &m->out[m->out_count++];
    *made = (model_buffer){block.address, bytes, alignment <= 64, block};
    memset(block.address, 0x33, bytes);
    const uint64_t out = sum(m->out, m->out_count);
    const uint64_t held = out + sum(m->retained, m->retained_count);
    m->high_water = held > m->high_water ? held : m->high_water;
    m->peak = out > m->peak ? out : m->peak;
}

static void model_release(model *m, tnr_domain *pool, const counted_parent *counts, size_t at)
{
    const model_buffer going = m->out[at];
    assert_int_equal(tnr_domain_release(pool, &going.block), TNR_OK);
    erase(m->out, &m->out_count, at);
    m->stale_block = going.block;
    m->has_stale = true;
    if (!going.pooled || going.bytes > m->cap) {
        if (m->freed < COUNTED_LOG) {
            assert_ptr_equal(counts->log[m->freed], going.address);
        }
        m->freed++;
        return;
    }
    while (sum(m->retained, m->retained_count) + going.bytes > m->cap) {
        model_evict(m, counts);
    }
    m->retained[m->retained_count++] = going;
}

static void model_trim(model *m, tnr_domain *pool, const counted_parent *counts, uint64_t keep)
{
    uint64_t freed;
    assert_int_equal(tnr_pool_trim(pool, keep, &freed), TNR_OK);
    const uint64_t before = sum(m->retained, m->retained_count);
    while (sum(m->retained, m->retained_count) > keep) {
        model_evict(m, counts);
    }
    assert_int_equal(freed, before - sum(m->retained, m->retained_count));
}

static void model_set_cap(model *m, tnr_domain *pool, const counted_parent *counts, uint64_t cap)
{
    assert_int_equal(tnr_pool_set_max_bytes(pool, cap), TNR_OK);
    m->cap = cap;
    while (sum(m->retained, m->retained_count) > cap) {
        model_evict(m, counts);
    }
}

static void compare(const model *m, tnr_domain *pool, const counted_parent *counts)
{
    tnr_pool_statistics s;
    tnr_domain_statistics d;
    assert_int_equal(tnr_pool_statistics_get(pool, &s), TNR_OK);
    assert_int_equal(tnr_domain_statistics_get(pool, &d), TNR_OK);
    const uint64_t retained = sum(m->retained, m->retained_count);
    const uint64_t out = sum(m->out, m->out_count);
    assert_true(s.capacity_bytes <= s.max_bytes);
    assert_int_equal(s.max_bytes, m->cap);
    assert_int_equal(s.buffers, m->retained_count);
    assert_int_equal(s.capacity_bytes, retained);
    assert_int_equal(s.hits, m->hits);
    assert_int_equal(s.misses, m->misses);
    assert_int_equal(s.evictions, m->evictions);
    assert_int_equal(s.in_flight, m->out_count);
    assert_int_equal(s.in_flight_bytes, out);
    assert_int_equal(s.high_water_bytes, m->high_water);
    assert_int_equal(d.blocks, m->out_count);
    assert_int_equal(d.bytes, out);
    assert_int_equal(d.peak_bytes, m->peak);
    assert_int_equal(d.allocations, m->hits + m->misses);
    assert_int_equal(d.failures, m->failures);
    assert_int_equal(counts->out, m->out_count + m->retained_count);
    assert_int_equal(counts->out_bytes, out + retained);
    assert_int_equal(counts->releases, m->freed);
    assert_int_equal(counts->faults, 0);
}

static void random_traffic(uint64_t start, uint64_t cap, uint64_t capacity, int steps)
{
    static model m;
    memset(&m, 0, sizeof(m));
    uint64_t random = start;
    counted_parent counts = {.capacity = capacity};
    tnr_domain *heap;
    tnr_domain *parent;
    tnr_domain *pool;
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    assert_int_equal(counted_create(heap, &counts, TNR_ACCESS_DIRECT, &parent), TNR_OK);
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = cap;
    assert_int_equal(tnr_pool_create(parent, &options, &pool), TNR_OK);
    m.cap = cap;
    m.capacity = capacity;
    for (int step = 0; step < steps; step++) {
        const uint64_t kind = below(&random, 100);
        if (kind < 50 && m.out_count < 100) {
            const uint64_t alignment = below(&random, 20) == 0 ? 128U << below(&random, 4) : 64;
            model_allocate(&m, pool, &counts, random_bytes(&random), alignment);
        } else if (kind < 94 && m.out_count > 0) {
            model_release(&m, pool, &counts, (size_t)below(&random, m.out_count));
        } else if (kind < 96) {
            model_trim(&m, pool, &counts, below(&random, cap + 1));
        } else if (kind < 97) {
            model_set_cap(&m, pool, &counts, below(&random, cap * 2 + 1));
        } else if (m.has_stale) {
            assert_int_equal(tnr_domain_release(pool, &m.stale_block), TNR_ERR_STALE);
        }
        compare(&m, pool, &counts);
    }
    while (m.out_count > 0) {
        model_release(&m, pool, &counts, m.out_count - 1);
        compare(&m, pool, &counts);
    }
    assert_true(m.hits > 0 && m.misses > 0 && m.evictions > 0);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(counts.out, 0);
    assert_int_equal(tnr_domain_close(&parent), TNR_OK);
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
}

static void traffic_agrees_with_the_model(void **state)
{
    (void)state;
    const uint64_t start = seed();
    for (uint64_t round = 0; round < 20; round++) {
        random_traffic(start + round, UINT64_C(2048) << round % 6, 0, 2000);
    }
}

static void traffic_over_a_full_parent_agrees_with_the_model(void **state)
{
    (void)state;
    const uint64_t start = seed() + 1000;
    for (uint64_t round = 0; round < 10; round++) {
        random_traffic(start + round, UINT64_C(4096) << round % 4, UINT64_C(24576) << round % 3, 2000);
    }
}

/* ---- Two threads ------------------------------------------------------------------------------------------------- */

enum { THREAD_STEPS = 40000, THREAD_BLOCKS = 24 };

typedef struct traffic {
    tnr_domain *pool;
    uint64_t random;
    uint64_t mark;
    uint64_t served;
    const char *fault; /* cmocka's asserts belong to the main thread */
} traffic;

static void check(traffic *t, bool good, const char *what)
{
    if (!good && t->fault == NULL) {
        t->fault = what;
    }
}

static void write_mark(const tnr_block *block, uint64_t mark)
{
    uint64_t *words = block->address;
    words[0] = mark;
    words[block->bytes / sizeof(uint64_t) - 1] = mark;
}

static bool has_mark(const tnr_block *block, uint64_t mark)
{
    const uint64_t *words = block->address;
    return words[0] == mark && words[block->bytes / sizeof(uint64_t) - 1] == mark;
}

static void *run_traffic(void *argument)
{
    traffic *t = argument;
    tnr_block blocks[THREAD_BLOCKS];
    uint64_t marks[THREAD_BLOCKS];
    bool taken[THREAD_BLOCKS] = {false};
    for (int step = 0; step < THREAD_STEPS && t->fault == NULL; step++) {
        const size_t at = (size_t)below(&t->random, THREAD_BLOCKS);
        if (taken[at]) {
            check(t, has_mark(&blocks[at], marks[at]), "a buffer that is out was given to someone else");
            const tnr_block block = blocks[at];
            check(t, tnr_domain_release(t->pool, &block) == TNR_OK, "release");
            check(t, tnr_domain_release(t->pool, &block) == TNR_ERR_STALE, "second release");
            taken[at] = false;
        } else {
            check(t, tnr_domain_allocate(t->pool, random_bytes(&t->random), 0, &blocks[at]) == TNR_OK, "allocate");
            marks[at] = t->mark++;
            write_mark(&blocks[at], marks[at]);
            taken[at] = true;
            t->served++;
        }
        tnr_pool_statistics s;
        check(t, tnr_pool_statistics_get(t->pool, &s) == TNR_OK && s.capacity_bytes <= s.max_bytes, "the cap");
        if (step % 1000 == 0) {
            check(t, tnr_pool_set_max_bytes(t->pool, 2048 + below(&t->random, 60000)) == TNR_OK, "set_max_bytes");
        } else if (step % 1000 == 500) {
            check(t, tnr_pool_trim(t->pool, below(&t->random, 4096), NULL) == TNR_OK, "trim");
        }
    }
    for (size_t at = 0; at < THREAD_BLOCKS; at++) {
        if (taken[at]) {
            check(t, tnr_domain_release(t->pool, &blocks[at]) == TNR_OK, "last release");
        }
    }
    return NULL;
}

static void two_threads_share_a_pool(void **state)
{
    (void)state;
    const uint64_t start = seed();
    counted_parent counts = {0};
    tnr_domain *heap;
    tnr_domain *parent;
    tnr_domain *pool;
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    assert_int_equal(counted_create(heap, &counts, TNR_ACCESS_DIRECT, &parent), TNR_OK);
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = 30000;
    assert_int_equal(tnr_pool_create(parent, &options, &pool), TNR_OK);
    traffic traffics[2] = {{.pool = pool, .random = start, .mark = 0},
                           {.pool = pool, .random = ~start, .mark = 1ULL << 63}};
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, run_traffic, &traffics[1]), 0);
    (void)run_traffic(&traffics[0]);
    assert_int_equal(pthread_join(other, NULL), 0);
    for (int i = 0; i < 2; i++) {
        if (traffics[i].fault != NULL) {
            fail_msg("thread %d: %s", i, traffics[i].fault);
        }
    }
    tnr_pool_statistics s;
    assert_int_equal(tnr_pool_statistics_get(pool, &s), TNR_OK);
    assert_int_equal(s.in_flight, 0);
    assert_int_equal(s.in_flight_bytes, 0);
    assert_int_equal(s.hits + s.misses, traffics[0].served + traffics[1].served);
    assert_int_equal(counts.out, s.buffers);
    assert_int_equal(counts.out_bytes, s.capacity_bytes);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(counts.out, 0);
    assert_int_equal(counts.faults, 0);
    assert_int_equal(tnr_domain_close(&parent), TNR_OK);
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traffic_agrees_with_the_model),
        cmocka_unit_test(traffic_over_a_full_parent_agrees_with_the_model),
        cmocka_unit_test(two_threads_share_a_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
