/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena on the mixed trace: 64 live blocks, sizes log-uniform from 4 KiB to 8 MiB, 400,000 random replacements.
 *
 * Latency: every call is timed by itself; the figures contain the clock (case "clock alone"). All allocators run the
 * same trace in turns, several rounds, the bounded ones in the same region of twice the peak; each figure is the least
 * disturbed of the rounds. Room: the smallest region in which the whole trace runs, by bisection, over the peak of the
 * bytes that the trace asks for, for several seeds.
 *
 * Peers: TLSF from TLSF_LIB, o1heap from O1HEAP_LIB, and as general allocators the C library, jemalloc and mimalloc.
 */
#define _GNU_SOURCE

#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tenure/domain.h"

#define SUITE "arena"
#define SLOTS 64U
#define REPLACEMENTS 400000U
#define STEPS (REPLACEMENTS + SLOTS)
#define ROUNDS 7
#define SEEDS 8U
#define REGION_BYTES (UINT64_C(1) << 30)

/* ---- The trace --------------------------------------------------------------------------------------------------- */

typedef struct trace {
    uint32_t bytes[STEPS];
    uint8_t slot[STEPS];
    uint64_t peak; /* most bytes live at one time */
} trace;

static void trace_make(trace *made, uint64_t seed)
{
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t current[SLOTS] = {0};
    uint64_t live = 0;
    made->peak = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        const double uniform = (double)(bench_random(&random) >> 11) * 0x1p-53;
        const uint32_t slot = step < SLOTS ? step : (uint32_t)(bench_random(&random) % SLOTS);
        made->bytes[step] = (uint32_t)(4096.0 * exp2(11.0 * uniform));
        made->slot[step] = (uint8_t)slot;
        live += made->bytes[step] - current[slot];
        current[slot] = made->bytes[step];
        made->peak = live > made->peak ? live : made->peak;
    }
}

/* ---- Allocators -------------------------------------------------------------------------------------------------- */

/* One allocator; slots hold what it handed out. start gets the region (not used by general allocators). */
typedef struct allocator {
    const char *name;
    bool bounded;
    bool (*start)(uint64_t bytes);
    bool (*take)(uint32_t slot, size_t bytes);
    void (*give)(uint32_t slot);
    void (*stop)(void);
} allocator;

static void *region;
static void *pointers[SLOTS];

static tnr_domain *our_arena;
static tnr_block our_blocks[SLOTS];
static unsigned char our_control[65536];

static bool ours_start(uint64_t bytes)
{
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.max_blocks = 128;
    options.control = our_control;
    options.control_bytes = sizeof(our_control);
    return tnr_arena_create(region, bytes, &options, &our_arena) == TNR_OK;
}

static bool ours_take(uint32_t slot, size_t bytes)
{
    return tnr_domain_allocate(our_arena, bytes, 0, &our_blocks[slot]) == TNR_OK;
}

static void ours_give(uint32_t slot) { (void)!tnr_domain_release(our_arena, &our_blocks[slot]); }

static void ours_stop(void)
{
    (void)!tnr_arena_reset(our_arena);
    (void)!tnr_domain_close(&our_arena);
}

static struct {
    void *(*create_with_pool)(void *memory, size_t bytes);
    void *(*allocate)(void *heap, size_t bytes);
    void (*release)(void *heap, void *pointer);
    void *heap;
} tlsf, o1heap;

static bool tlsf_start(uint64_t bytes)
{
    tlsf.heap = tlsf.create_with_pool(region, (size_t)bytes);
    return tlsf.heap != NULL;
}

static bool tlsf_take(uint32_t slot, size_t bytes)
{
    return (pointers[slot] = tlsf.allocate(tlsf.heap, bytes)) != NULL;
}
static void tlsf_give(uint32_t slot) { tlsf.release(tlsf.heap, pointers[slot]); }

static bool o1heap_start(uint64_t bytes)
{
    o1heap.heap = o1heap.create_with_pool(region, (size_t)bytes);
    return o1heap.heap != NULL;
}

static bool o1heap_take(uint32_t slot, size_t bytes)
{
    return (pointers[slot] = o1heap.allocate(o1heap.heap, bytes)) != NULL;
}
static void o1heap_give(uint32_t slot) { o1heap.release(o1heap.heap, pointers[slot]); }

static struct {
    void *(*allocate)(size_t bytes);
    void (*release)(void *pointer);
} jemalloc, mimalloc;

static bool general_start(uint64_t bytes)
{
    (void)bytes;
    return true;
}

static bool libc_take(uint32_t slot, size_t bytes) { return (pointers[slot] = malloc(bytes)) != NULL; }
static void libc_give(uint32_t slot) { free(pointers[slot]); }
static bool jemalloc_take(uint32_t slot, size_t bytes) { return (pointers[slot] = jemalloc.allocate(bytes)) != NULL; }
static void jemalloc_give(uint32_t slot) { jemalloc.release(pointers[slot]); }
static bool mimalloc_take(uint32_t slot, size_t bytes) { return (pointers[slot] = mimalloc.allocate(bytes)) != NULL; }
static void mimalloc_give(uint32_t slot) { mimalloc.release(pointers[slot]); }

static void nothing(void) {}

/* The clock, measured like an allocator that does nothing. */
static bool clock_take(uint32_t slot, size_t bytes)
{
    (void)slot;
    return bytes != 0;
}
static void clock_give(uint32_t slot) { (void)slot; }

static size_t allocators_make(allocator *list)
{
    size_t count = 0;
    list[count++] = (allocator){"tenure", true, ours_start, ours_take, ours_give, ours_stop};
    list[count++] = (allocator){"clock alone", false, general_start, clock_take, clock_give, nothing};
    void *library = bench_library(SUITE, "TLSF_LIB", NULL);
    if (bench_function(library, "tlsf_create_with_pool", &tlsf.create_with_pool) &&
        bench_function(library, "tlsf_malloc", &tlsf.allocate) && bench_function(library, "tlsf_free", &tlsf.release)) {
        list[count++] = (allocator){"TLSF", true, tlsf_start, tlsf_take, tlsf_give, nothing};
    }
    library = bench_library(SUITE, "O1HEAP_LIB", NULL);
    if (bench_function(library, "o1heapInit", &o1heap.create_with_pool) &&
        bench_function(library, "o1heapAllocate", &o1heap.allocate) &&
        bench_function(library, "o1heapFree", &o1heap.release)) {
        list[count++] = (allocator){"o1heap", true, o1heap_start, o1heap_take, o1heap_give, nothing};
    }
    list[count++] = (allocator){"libc", false, general_start, libc_take, libc_give, nothing};
    library = bench_library(SUITE, "JEMALLOC_LIB", "libjemalloc.so.2");
    if (bench_function(library, "malloc", &jemalloc.allocate) && bench_function(library, "free", &jemalloc.release)) {
        list[count++] = (allocator){"jemalloc", false, general_start, jemalloc_take, jemalloc_give, nothing};
    }
    library = bench_library(SUITE, "MIMALLOC_LIB", "libmimalloc.so.2");
    if (bench_function(library, "mi_malloc", &mimalloc.allocate) &&
        bench_function(library, "mi_free", &mimalloc.release)) {
        list[count++] = (allocator){"mimalloc", false, general_start, mimalloc_take, mimalloc_give, nothing};
    }
    return count;
}

/* ---- Latency ----------------------------------------------------------------------------------------------------- */

enum { MEAN, P50, P99, P999, P9999, FIGURES };
static const char *const figure_names[FIGURES] = {"mix mean", "mix p50", "mix p99", "mix p99.9", "mix p99.99"};

static inline uint32_t clamp_ticks(uint64_t ticks) { return ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks; }

static bool time_trace(const allocator *who, const trace *run, uint32_t *samples, double *figures)
{
    size_t count = 0;
    if (!who->start(2 * run->peak)) {
        return false;
    }
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t slot = run->slot[step];
        const uint64_t start = bench_ticks();
        if (step >= SLOTS) {
            who->give(slot);
        }
        const uint64_t middle = bench_ticks();
        const bool taken = who->take(slot, run->bytes[step]);
        const uint64_t end = bench_ticks();
        if (!taken) {
            return false;
        }
        if (step >= SLOTS) {
            samples[count++] = clamp_ticks(middle - start);
            samples[count++] = clamp_ticks(end - middle);
        }
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        who->give(slot);
    }
    who->stop();
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += samples[i];
    }
    bench_sort(samples, count);
    const double tick = bench_ns_per_tick();
    const double now[FIGURES] = {sum / (double)count * tick, bench_quantile(samples, count, 0.5) * tick,
                                 bench_quantile(samples, count, 0.99) * tick,
                                 bench_quantile(samples, count, 0.999) * tick,
                                 bench_quantile(samples, count, 0.9999) * tick};
    for (int figure = 0; figure < FIGURES; figure++) {
        if (figures[figure] == 0 || now[figure] < figures[figure]) {
            figures[figure] = now[figure];
        }
    }
    return true;
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

static bool trace_runs(const allocator *who, const trace *run, uint64_t bytes)
{
    if (!who->start(bytes)) {
        return false;
    }
    bool runs = true;
    for (uint32_t step = 0; step < STEPS && runs; step++) {
        if (step >= SLOTS) {
            who->give(run->slot[step]);
        }
        runs = who->take(run->slot[step], run->bytes[step]);
    }
    who->stop();
    return runs;
}

/* Smallest region over peak live bytes, to 0.1 %. */
static double room_needed(const allocator *who, const trace *run)
{
    uint64_t low = run->peak;
    uint64_t high = 2 * run->peak;
    while (high - low > run->peak / 1000) {
        const uint64_t middle = low + (high - low) / 2;
        if (trace_runs(who, run, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return (double)high / (double)run->peak;
}

int bench_arena(void)
{
    allocator list[8];
    const size_t count = allocators_make(list);
    double figures[8][FIGURES] = {{0}};
    double room_sum[8] = {0};
    double room_worst[8] = {0};
    trace *run = malloc(sizeof(*run));
    uint32_t *samples = malloc(2 * (size_t)STEPS * sizeof(*samples));
    region =
        mmap(NULL, (size_t)REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (run == NULL || samples == NULL || region == MAP_FAILED) {
        return 1;
    }
    trace_make(run, 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            if (!time_trace(&list[i], run, samples, figures[i])) {
                bench_note(SUITE, list[i].name);
                return 1;
            }
        }
    }
    for (int figure = 0; figure < FIGURES; figure++) {
        for (size_t i = 1; i < count; i++) {
            bench_row(SUITE, figure_names[figure], "ns", figures[0][figure], list[i].name, figures[i][figure], true);
        }
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        trace_make(run, seed);
        for (size_t i = 0; i < count; i++) {
            if (list[i].bounded) {
                const double room = room_needed(&list[i], run);
                room_sum[i] += room;
                room_worst[i] = room > room_worst[i] ? room : room_worst[i];
            }
        }
    }
    for (size_t i = 1; i < count; i++) {
        if (list[i].bounded) {
            bench_row(SUITE, "mix bytes per peak live byte, mean of 8 seeds", "1", room_sum[0] / SEEDS, list[i].name,
                      room_sum[i] / SEEDS, true);
            bench_row(SUITE, "mix bytes per peak live byte, worst of 8 seeds", "1", room_worst[0], list[i].name,
                      room_worst[i], true);
        }
    }
    munmap(region, (size_t)REGION_BYTES);
    free(samples);
    free(run);
    return 0;
}
