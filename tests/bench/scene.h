/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the suites of operations share: a heap, engines of one and of two workers, sizes for each cache level and for memory, and
 * rows of figures per second.
 */
#ifndef TENURE_TESTS_BENCH_SCENE_H
#define TENURE_TESTS_BENCH_SCENE_H

#include "tenure/tenure.h"

/* Numbers of f64 that fit a level of the caches, the last in none of them; and how long to measure. */
typedef struct bench_size {
    const char *name;
    int64_t count;
    double milliseconds;
} bench_size;

enum { BENCH_SIZES = 4, BENCH_MOST = 33554432 };
extern const bench_size bench_sizes[BENCH_SIZES];

typedef struct bench_scene {
    const char *suite;
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_engine *engines[2]; /* one worker, two workers; the second NULL where there is one CPU */
    tnr_engine *engine;     /* the one being measured */
    bool failed;
} bench_scene;

/* False, with a remark, when something is not to be had; bench_scene_close is due in any case. */
bool bench_scene_open(bench_scene *scene, const char *suite, uint64_t pool_max_bytes);
void bench_scene_close(bench_scene *scene);

/* A status that is no success is remarked, and fails the suite. */
void bench_scene_must(bench_scene *scene, tnr_status status);

/*
 * Measure the engine of so many workers from now on, this thread bound to one CPU for one, as a launcher binds a process of one
 * core. False, with a remark, when there is no such engine, or when TENURE_BENCH_WORKERS=1 asks for one worker only.
 */
bool bench_scene_use(bench_scene *scene, int workers);

/* A row "<what>, <n> worker[s]" in GB/s, or none when the peer has no figure. */
void bench_scene_row(const bench_scene *scene, const char *what, int workers, double bytes, double ours_ns,
                     const char *peer, double peer_ns);

#endif /* TENURE_TESTS_BENCH_SCENE_H */
