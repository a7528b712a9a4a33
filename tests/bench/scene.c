/* SPDX-License-Identifier: BSD-3-Clause */
/* What the suites of operations share: scene.h. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "loops.h"

const bench_size bench_sizes[BENCH_SIZES] = {
    {"L1 1Ki", 1024, 60.0}, {"L2 16Ki", 16384, 100.0}, {"L3 1Mi", 1048576, 300.0}, {"memory 32Mi", BENCH_MOST, 2500.0}};

void bench_scene_must(bench_scene *scene, tnr_status status)
{
    if (status != TNR_OK) {
        bench_note(scene->suite, tnr_last_error());
        scene->failed = true;
    }
}

bool bench_scene_open(bench_scene *scene, const char *suite, uint64_t pool_max_bytes)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_topology_info info = {0};
    memset(scene, 0, sizeof *scene);
    scene->suite = suite;
    bench_scene_must(scene, tnr_heap_create(&scene->heap));
    if (!scene->failed) {
        bench_scene_must(scene, tnr_topology_create(scene->heap, NULL, &scene->topology));
    }
    if (!scene->failed) {
        bench_scene_must(scene, tnr_topology_describe(scene->topology, &info));
    }
    options.topology = scene->topology;
    options.pool_max_bytes = pool_max_bytes;
    for (int workers = 1; workers <= 2 && workers <= info.cpus && !scene->failed; ++workers) {
        options.workers = workers;
        bench_scene_must(scene, tnr_engine_create(scene->heap, &options, &scene->engines[workers - 1]));
    }
    scene->engine = scene->engines[0];
    return !scene->failed;
}

void bench_scene_close(bench_scene *scene)
{
    bench_pin_first(false);
    bench_scene_must(scene, tnr_engine_destroy(&scene->engines[1]));
    bench_scene_must(scene, tnr_engine_destroy(&scene->engines[0]));
    bench_scene_must(scene, tnr_topology_destroy(&scene->topology));
    bench_scene_must(scene, tnr_domain_close(&scene->heap));
}

bool bench_scene_use(bench_scene *scene, int workers)
{
    const char *most = getenv("TENURE_BENCH_WORKERS");
    if (workers == 2 && most != NULL && strcmp(most, "1") == 0) {
        bench_note(scene->suite, "TENURE_BENCH_WORKERS=1: rows of two workers are left out");
        return false;
    }
    if (scene->engines[workers - 1] == NULL) {
        bench_note(scene->suite, "one CPU only: rows of two workers are left out");
        return false;
    }
    bench_pin_first(workers == 1);
    scene->engine = scene->engines[workers - 1];
    return true;
}

void bench_scene_row(const bench_scene *scene, const char *what, int workers, double bytes, double ours_ns,
                     const char *peer, double peer_ns)
{
    char name[120];
    (void)snprintf(name, sizeof name, "%s, %d worker%s", what, workers, workers == 1 ? "" : "s");
    if (peer_ns > 0.0) {
        bench_row(scene->suite, name, "GB/s", bytes / ours_ns, peer, bytes / peer_ns, false);
    }
}
