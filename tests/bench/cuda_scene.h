/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of tenure-bench cuda share: a device object, an engine in each of two lanes, the raw peers, and duels: ours and a peer's in
 * turns, each turn a batch of calls and one wait for the device, the best turn of each.
 */
#ifndef TENURE_TESTS_BENCH_CUDA_SCENE_H
#define TENURE_TESTS_BENCH_CUDA_SCENE_H

#include "bench.h"
#include "cuda_raw.h"
#include "tenure/cuda.h"
#include "tenure/tenure.h"

enum { CUDA_BENCH_TENSORS = 8 };

typedef struct cuda_scene {
    tnr_domain *heap;
    tnr_cuda_device *device;
    tnr_cuda_lane *lanes[2];
    tnr_domain *memory; /* of the device: a pool */
    tnr_domain *pinned;
    tnr_engine *engines[2]; /* one in each lane */
    tnr_tensor *noise;      /* numbers from 0.5 to 1.5, f32, on the device */
    cuda_raw raw;
    uint64_t bytes; /* of the largest tensor */
    bool quick;     /* sizes that show nothing: one turn each */
    bool failed;
    tnr_tensor *made[CUDA_BENCH_TENSORS]; /* by cuda_scene_make */
    int count;
} cuda_scene;

/* A status that is no success is remarked once, and fails the suite. */
void cuda_scene_must(cuda_scene *scene, tnr_status status);

/* New tensor on the device with numbers in it; NULL, and the suite has failed, when there is no room. */
tnr_tensor *cuda_scene_make(cuda_scene *scene, tnr_dtype dtype, int rank, const int64_t *shape);
tnr_view cuda_scene_view(cuda_scene *scene, const tnr_tensor *tensor);
tnr_view_mut cuda_scene_out(cuda_scene *scene, tnr_tensor *tensor);
/* Give back what was made. */
void cuda_scene_drop(cuda_scene *scene);

/* Nanoseconds of one call of each. */
typedef struct cuda_duel {
    void (*ours)(void *);
    void *ours_context;
    void (*peer)(void *);
    void *peer_context;
    double ours_ns;
    double peer_ns;
} cuda_duel;

void cuda_scene_fight(cuda_scene *scene, cuda_duel *duel);

/* Ours against the driver's own copy on the device of scene->bytes: a row in GB/s, of `traffic` bytes read and written. */
void cuda_scene_against_copy(cuda_scene *scene, const char *name, double traffic, void (*ours)(void *), void *context);

/* The parts: bench_cuda_work.c, bench_cuda.c. */
void cuda_bench_elementwise(cuda_scene *scene);
void cuda_bench_reductions(cuda_scene *scene);
void cuda_bench_permutations(cuda_scene *scene);
void cuda_bench_products(cuda_scene *scene);

#endif /* TENURE_TESTS_BENCH_CUDA_SCENE_H */
