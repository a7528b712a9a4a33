/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of structure.h share: an engine, small tensors by their values, and refusals that leave no trace. */
#ifndef TENURE_TESTS_SUPPORT_STRUCTURE_TEST_H
#define TENURE_TESTS_SUPPORT_STRUCTURE_TEST_H

#include "support/storage_test.h"

#include "tenure/tenure.h"

#define AXES(...) ((const int[]){__VA_ARGS__})
#define VALUES(...) ((const int32_t[]){__VA_ARGS__})

static tnr_domain *heap;
static tnr_engine *engine;

static inline int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    OK(tnr_engine_create(heap, NULL, &engine));
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    OK(tnr_engine_destroy(&engine));
    close_domain(&heap);
    return 0;
}

/* i32, values in column-major order. */
static inline tnr_tensor *numbers(int rank, const int64_t *shape, const int32_t *values)
{
    tnr_tensor *tensor = NULL;
    uint64_t bytes = sizeof(int32_t);
    for (int i = 0; i < rank; i++) {
        bytes *= (uint64_t)shape[i];
    }
    OK(tnr_tensor_from_column_major(heap, TNR_I32, rank, shape, values, bytes, &tensor));
    return tensor;
}

/* 0, 1, 2, ... in column-major order. */
static inline tnr_tensor *counting(int rank, const int64_t *shape)
{
    int32_t values[4096];
    for (int32_t i = 0; i < 4096; i++) {
        values[i] = i;
    }
    return numbers(rank, shape, values);
}

/* The tensor has that shape and those i32 values; it is released. */
static inline void check_made(tnr_tensor **made, int rank, const int64_t *shape, const int32_t *values,
                              const char *file, int line)
{
    const tnr_view view = view_of(*made);
    const int32_t *found = (const int32_t *)(const void *)host_of(*made);
    int64_t count = 1;
    bool fits = view.rank == rank;
    for (int i = 0; i < rank && fits; i++) {
        fits = view.shape[i] == shape[i];
        count *= shape[i];
    }
    for (int64_t i = 0; i < count && fits; i++) {
        if (found[i] != values[i]) {
            print_error("%s:%d: element %lld is %d, expected %d\n", file, line, (long long)i, (int)found[i],
                        (int)values[i]);
            fits = false;
        }
    }
    if (!fits) {
        print_error("%s:%d: rank %d, expected %d\n", file, line, (int)view.rank, rank);
        _fail(file, line);
    }
    release(made);
}

#define MADE(made, rank, shape, values) check_made(&(made), (rank), (shape), (values), __FILE__, __LINE__)

/* Everything that the heap and the engine's pool count. */
typedef struct all_counters {
    tnr_domain_statistics heap;
    tnr_domain_statistics pool;
    tnr_ledger heap_ledger;
    tnr_ledger pool_ledger;
} all_counters;

static inline all_counters counters_now(void)
{
    all_counters now;
    memset(&now, 0, sizeof now);
    now.heap = statistics_of(heap);
    now.pool = statistics_of(tnr_engine_pool(engine));
    now.heap_ledger = ledger_of(heap);
    now.pool_ledger = ledger_of(tnr_engine_pool(engine));
    return now;
}

/* What may grow when a call takes something and gives it back. */
static inline void forget_history(tnr_domain_statistics *statistics)
{
    statistics->peak_bytes = 0;
    statistics->allocations = 0;
    statistics->failures = 0;
}

static inline void check_no_trace(all_counters before, const char *file, int line)
{
    all_counters after = counters_now();
    forget_history(&before.heap);
    forget_history(&before.pool);
    forget_history(&after.heap);
    forget_history(&after.pool);
    if (memcmp(&before, &after, sizeof before) != 0) { /* 64-bit members only: no padding */
        print_error("%s:%d: a refused call left a trace in some counter\n", file, line);
        _fail(file, line);
    }
}

/* A call that is refused changes nothing that can be counted; `call` may make a tensor in `made`, which stays NULL. */
#define REFUSED(expected, call)                      \
    do {                                             \
        const all_counters before_ = counters_now(); \
        made = NULL;                                 \
        EXPECT((expected), (call));                  \
        check_no_trace(before_, __FILE__, __LINE__); \
        assert_null(made);                           \
    } while (0)

#endif /* TENURE_TESTS_SUPPORT_STRUCTURE_TEST_H */
