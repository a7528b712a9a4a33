/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool over a counted parent over a heap, and short words for what its tests do. */
#ifndef TENURE_TESTS_POOL_FIXTURE_H
#define TENURE_TESTS_POOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/counted_parent.h"

#define MIB (UINT64_C(1) << 20)

typedef struct fixture {
    tnr_domain *heap;
    counted_parent counts;
    tnr_domain *parent;
    tnr_domain *pool;
} fixture;

static inline tnr_domain *make_pool(tnr_domain *parent, uint64_t max_bytes)
{
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = max_bytes;
    tnr_domain *pool = NULL;
    assert_int_equal(tnr_pool_create(parent, &options, &pool), TNR_OK);
    return pool;
}

static inline int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_int_equal(tnr_heap_create(&f->heap), TNR_OK);
    assert_int_equal(counted_create(f->heap, &f->counts, TNR_ACCESS_DIRECT, &f->parent), TNR_OK);
    f->pool = make_pool(f->parent, 100 * MIB);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    assert_int_equal(tnr_domain_close(&f->pool), TNR_OK);
    assert_null(f->pool);
    assert_int_equal(f->counts.out, 0);
    assert_int_equal(f->counts.faults, 0);
    assert_int_equal(tnr_domain_close(&f->parent), TNR_OK);
    assert_int_equal(tnr_domain_close(&f->heap), TNR_OK);
    free(f);
    return 0;
}

static inline tnr_block take(tnr_domain *domain, uint64_t bytes)
{
    tnr_block block;
    assert_int_equal(tnr_domain_allocate(domain, bytes, 0, &block), TNR_OK);
    return block;
}

static inline void give(tnr_domain *domain, const tnr_block *block)
{
    assert_int_equal(tnr_domain_release(domain, block), TNR_OK);
}

/* Put one buffer of each size into the pool, in this order. */
static inline void recycle(tnr_domain *pool, uint64_t bytes)
{
    const tnr_block block = take(pool, bytes);
    give(pool, &block);
}

static inline tnr_pool_statistics figures(tnr_domain *pool)
{
    tnr_pool_statistics statistics;
    assert_int_equal(tnr_pool_statistics_get(pool, &statistics), TNR_OK);
    return statistics;
}

static inline uint64_t class_of(uint64_t bytes)
{
    uint64_t class_bytes = UINT64_MAX;
    assert_int_equal(tnr_pool_class_bytes(bytes, &class_bytes), TNR_OK);
    return class_bytes;
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif /* TENURE_TESTS_POOL_FIXTURE_H */
