/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools against allocators: one buffer taken and given back again and again, and an output of 32 MiB taken, written
 * once and given back. Peers are loaded when the program runs; one that is not there is left out. JEMALLOC_LIB,
 * MIMALLOC_LIB, RPMALLOC_LIB and UMPIRE_LIB name builds of them; jemalloc asks for
 * GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384. Rounds of ours and of the peers alternate, and the best round of
 * each counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_umpire.h"
#include "tenure/domain.h"

enum { ROUNDS = 9, PEERS = 5 };

#define MIB ((size_t)1 << 20)

typedef void *(*take_function)(size_t bytes);
typedef void (*give_function)(void *address);

typedef struct peer {
    const char *name;
    take_function take;
    give_function give;
} peer;

/* Add a peer to the list when its library and both functions are there. */
static void add_peer(peer *peers, int *count, const char *name, void *library, const char *take, const char *give)
{
    peer *made = &peers[*count];
    made->name = name;
    if (library != NULL && bench_function(library, take, &made->take) && bench_function(library, give, &made->give)) {
        (*count)++;
    }
}

static void *start_rpmalloc(void)
{
    int (*initialize)(void *) = NULL;
    void *library = bench_library("pool", "RPMALLOC_LIB", "librpmalloc.so");
    const bool ready = library != NULL && bench_function(library, "rpmalloc_initialize", &initialize);
    return ready && initialize(NULL) == 0 ? library : NULL;
}

static int load_peers(peer peers[PEERS])
{
    int count = 0;
    peers[count].name = "glibc";
    peers[count].take = malloc;
    peers[count].give = free;
    count++;
    add_peer(peers, &count, "jemalloc", bench_library("pool", "JEMALLOC_LIB", "libjemalloc.so.2"), "malloc", "free");
    add_peer(peers, &count, "mimalloc", bench_library("pool", "MIMALLOC_LIB", "libmimalloc.so.2"), "mi_malloc",
             "mi_free");
    add_peer(peers, &count, "rpmalloc", start_rpmalloc(), "rpmalloc", "rpfree");
    if (bench_umpire_start("pool")) {
        peers[count].name = "Umpire";
        peers[count].take = bench_umpire_take;
        peers[count].give = bench_umpire_give;
        count++;
    }
    return count;
}

static double lower(double a, double b) { return a < b ? a : b; }

/* ---- One round: nanoseconds per pair; negative when a call failed ------------------------------------------------ */

static double pool_pairs(tnr_domain *pool, size_t bytes, int pairs, bool touch)
{
    const uint64_t start = bench_now_ns();
    for (int i = 0; i < pairs; i++) {
        tnr_block block;
        if (tnr_domain_allocate(pool, bytes, 0, &block) != TNR_OK) {
            return -1;
        }
        if (touch) {
            memset(block.address, i, bytes);
        }
        if (tnr_domain_release(pool, &block) != TNR_OK) {
            return -1;
        }
    }
    return (double)(bench_now_ns() - start) / pairs;
}

static double peer_pairs(const peer *from, size_t bytes, int pairs, bool touch)
{
    const take_function volatile take = from->take; /* volatile: a pair must not be optimised away */
    const give_function volatile give = from->give;
    const uint64_t start = bench_now_ns();
    for (int i = 0; i < pairs; i++) {
        void *address = take(bytes);
        if (address == NULL) {
            return -1;
        }
        if (touch) {
            memset(address, i, bytes);
        }
        give(address);
    }
    return (double)(bench_now_ns() - start) / pairs;
}

/* Best round of ours and of every peer. */
static bool best_rounds(tnr_domain *pool, const peer *peers, int count, size_t bytes, int pairs, bool touch,
                        double *ours, double theirs[PEERS])
{
    *ours = 1e30;
    for (int p = 0; p < count; p++) {
        theirs[p] = 1e30;
    }
    for (int round = 0; round < ROUNDS; round++) {
        const double time = pool_pairs(pool, bytes, pairs, touch);
        if (time < 0) {
            return false;
        }
        *ours = lower(*ours, time);
        for (int p = 0; p < count; p++) {
            /* Large buffers cost some allocators microseconds: a tenth of the pairs tells as much. */
            const double peer_time = peer_pairs(&peers[p], bytes, touch ? pairs : pairs / 10, touch);
            if (peer_time < 0) {
                return false;
            }
            theirs[p] = lower(theirs[p], peer_time);
        }
    }
    return true;
}

static int run(tnr_domain *pool)
{
    static const struct {
        const char *name;
        size_t bytes;
        int pairs;
        bool touch;
    } rows[] = {
        {"recycle 32 KiB", 32 * 1024, 200000, false},
        {"recycle 1 MiB", MIB, 200000, false},
        {"recycle 32 MiB", 32 * MIB, 20000, false},
        {"32 MiB output, written once", 32 * MIB, 8, true},
    };
    peer peers[PEERS];
    const int count = load_peers(peers);
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        double ours;
        double theirs[PEERS];
        if (!best_rounds(pool, peers, count, rows[row].bytes, rows[row].pairs, rows[row].touch, &ours, theirs)) {
            return 1;
        }
        for (int p = 0; p < count; p++) {
            /* Bytes per nanosecond are GB/s. */
            const double bytes = (double)rows[row].bytes;
            if (rows[row].touch) {
                bench_row("pool", rows[row].name, "GB/s", bytes / ours, peers[p].name, bytes / theirs[p], false);
            } else {
                bench_row("pool", rows[row].name, "ns", ours, peers[p].name, theirs[p], true);
            }
        }
    }
    return 0;
}

int bench_pool(void)
{
    tnr_domain *heap = NULL;
    tnr_domain *pool = NULL;
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = TNR_POOL_DEFAULT_MAX_BYTES;
    int failed = tnr_heap_create(&heap) != TNR_OK || tnr_pool_create(heap, &options, &pool) != TNR_OK;
    failed = failed || run(pool) != 0;
    failed = tnr_domain_close(&pool) != TNR_OK || failed;
    failed = tnr_domain_close(&heap) != TNR_OK || failed;
    if (failed) {
        (void)fprintf(stderr, "bench_pool: %s\n", tnr_last_error());
    }
    return failed;
}
