/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of tenure::cuda share: a driver, a device object with one domain of each kind, and what must be true at the end. */
#ifndef TENURE_TESTS_CUDA_SCENE_H
#define TENURE_TESTS_CUDA_SCENE_H

#include "../fake_cuda/fake_cuda.h"
#include "support/storage_test.h"
#include "tenure/cuda.h"
#include "tenure/tenure.h"

/* Path of the driver that is tested: TENURE_TEST_CUDA_DRIVER, else the fake. */
const char *scene_driver(void);
/* The fake's control block; NULL on a real driver. */
fake_cuda *scene_fake(void);
/* The fake as new. On a real driver, whose context is made for the first device object and ended with the last: it is kept till exit. */
void scene_reset(uint64_t seed);
/* A number of the environment's. */
uint64_t scene_number(const char *name, uint64_t otherwise);
/* How many orders of streams a test tries: so many on the fake, 2 on a device, whose orders are its own. */
uint64_t scene_seeds(uint64_t many);
/* The cuBLAS to name in options: the fake's; on a real driver NULL, for the usual one. */
const char *scene_blas(void);
/* This thread's stack of contexts, on the fake. */
int scene_depth(void);

/*
 * Run in a child of fork; what it writes to standard output and error comes back as text, as much as there is room for. Its exit status
 * (0 when `run` returns), or minus the signal that ended it.
 */
int scene_in_child(void (*run)(void *context), void *context, char *said, size_t bytes);

#define NEEDS_FAKE()                                                               \
    do {                                                                           \
        if (scene_fake() == NULL) {                                                \
            print_message("skipped: what it does is only possible on the fake\n"); \
            skip();                                                                \
        }                                                                          \
    } while (0)

typedef struct scene {
    tnr_domain *heap;
    tnr_cuda_device *device;
    tnr_cuda_lane *lane[2];
    tnr_domain *domain[TNR_CUDA_MEMORY_END];
} scene;

/* Small chunks, so that small tensors go through them. */
extern const tnr_cuda_options SCENE_SMALL;

/* Reset with this seed, open, make the domains. options NULL: SCENE_SMALL. */
void scene_begin(scene *of, uint64_t seed, const tnr_cuda_options *options);
/* Close everything and expect that the fake has nothing to complain of. */
void scene_end(scene *of);
/* Close everything; what the fake thinks of it is another's to ask. */
void scene_close(scene *of);
/* Only look: no fault of the library's so far, and no context left current. */
void scene_expect_clean(void);

/* A scene with an engine of the device in lane 0, and one of CPUs. options NULL: defaults. */
typedef struct stage {
    scene s;
    tnr_engine *engine;
    tnr_engine *cpu;
} stage;

/* Options of an engine with this cuBLAS: scene_blas, or "off", and the library's kernel makes all products. */
tnr_cuda_engine_options stage_options(const char *cublas);
void stage_begin(stage *of, uint64_t seed, const tnr_cuda_engine_options *options);
/* End both, and the scene as scene_end. */
void stage_end(stage *of);

tnr_cuda_statistics scene_counts(const scene *of);

/* New i32 tensor first, first + 1, ... in a host domain; and one on the device with the same. */
tnr_tensor *scene_counting(tnr_domain *domain, int64_t count, int32_t first);
tnr_tensor *scene_on_device(const scene *of, tnr_cuda_memory memory, int64_t count, int32_t first);
/* Does the tensor hold that? Downloads what the host cannot reach. */
void scene_expect_counting(const scene *of, const tnr_tensor *tensor, int32_t first);

#endif /* TENURE_TESTS_CUDA_SCENE_H */
