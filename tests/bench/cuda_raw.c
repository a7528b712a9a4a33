/* SPDX-License-Identifier: BSD-3-Clause */
/* See cuda_raw.h. */
#include "cuda_raw.h"

#include <string.h>

#include "bench.h"

enum { WORKSPACE = 32 << 20 };

typedef int (*create_fn)(void **);
typedef int (*destroy_fn)(void *);
typedef int (*stream_fn)(void *, CUstream);
typedef int (*workspace_fn)(void *, CUdeviceptr, size_t);
typedef int (*product_fn)(void *, int, int, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int,
                          const void *, CUdeviceptr, int);
typedef int (*batched_fn)(void *, int, int, int, int, int, const void *, CUdeviceptr, int, long long, CUdeviceptr, int,
                          long long, const void *, CUdeviceptr, int, long long, int);

static void *cublas; /* stays loaded */

/* Numbers from 0.5 to 1.5 as f32, and no extreme ones as anything else: multiplying zeros takes a device less power than what ours gets. */
static bool fill_with_noise(void *to, size_t bytes)
{
    float *values = to;
    uint64_t random = 2463534242U;
    for (size_t at = 0; at < bytes / sizeof(float); at++) {
        if (at < 65521) { /* not a power of two: again and again from here */
            values[at] = 0.5F + (float)(bench_random(&random) >> 40) * 0x1.0p-24F;
        } else {
            values[at] = values[at - 65521];
        }
    }
    return true;
}

bool cuda_raw_begin(cuda_raw *raw, const char *driver, size_t bytes)
{
    memset(raw, 0, sizeof(*raw));
    void *library = bench_library("cuda", "TENURE_CUDA_DRIVER", driver);
    bool good = library != NULL;
#define FIND(member, name, parameters) good = good && bench_function(library, name, &raw->member);
    RAW_CALLS(FIND)
#undef FIND
    good = good && raw->init(0) == CUDA_SUCCESS && raw->retain(&raw->context, 0) == CUDA_SUCCESS;
    if (!good) {
        raw->context = NULL;
        return false;
    }
    raw->bytes = bytes;
    return raw->push(raw->context) == CUDA_SUCCESS &&
           raw->stream_create(&raw->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
           raw->take(&raw->device[0], bytes) == CUDA_SUCCESS && raw->take(&raw->device[1], bytes) == CUDA_SUCCESS &&
           raw->pinned_take(&raw->pinned, bytes, 0) == CUDA_SUCCESS && fill_with_noise(raw->pinned, bytes) &&
           raw->copy_in(raw->device[0], raw->pinned, bytes, raw->stream) == CUDA_SUCCESS &&
           raw->synchronize(raw->stream) == CUDA_SUCCESS;
}

static void count(cuda_raw *raw, CUresult code) { raw->wrong += code != CUDA_SUCCESS ? 1 : 0; }

void cuda_raw_end(cuda_raw *raw)
{
    if (raw->context == NULL) {
        return;
    }
    if (raw->blas != NULL) {
        destroy_fn destroy;
        raw->wrong += bench_function(cublas, "cublasDestroy_v2", &destroy) && destroy(raw->blas) == 0 ? 0 : 1;
    }
    if (raw->workspace != 0) {
        count(raw, raw->give(raw->workspace));
    }
    for (int at = 0; at < 2; at++) {
        if (raw->device[at] != 0) {
            count(raw, raw->give(raw->device[at]));
        }
    }
    if (raw->pinned != NULL) {
        count(raw, raw->pinned_give(raw->pinned));
    }
    if (raw->stream != NULL) {
        count(raw, raw->stream_destroy(raw->stream));
    }
    CUcontext popped;
    count(raw, raw->pop(&popped));
    count(raw, raw->release(0));
    raw->context = NULL;
}

bool cuda_raw_blas(cuda_raw *raw)
{
    static const char *const products[4] = {"cublasSgemm_v2", "cublasDgemm_v2", "cublasCgemm_v2", "cublasZgemm_v2"};
    static const char *const batches[4] = {"cublasSgemmStridedBatched", "cublasDgemmStridedBatched",
                                           "cublasCgemmStridedBatched", "cublasZgemmStridedBatched"};
    static const char *const files[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"};
    create_fn create;
    stream_fn stream;
    workspace_fn workspace;
    for (size_t at = 0; at < sizeof(files) / sizeof(files[0]) && cublas == NULL; at++) {
        cublas = bench_library("cuda", "TENURE_CUBLAS", files[at]);
    }
    bool good = bench_function(cublas, "cublasCreate_v2", &create) &&
                bench_function(cublas, "cublasSetStream_v2", &stream) &&
                bench_function(cublas, "cublasSetWorkspace_v2", &workspace);
    for (int at = 0; at < 4; at++) {
        good = good && bench_function(cublas, products[at], &raw->product[at]) &&
               bench_function(cublas, batches[at], &raw->batched[at]);
    }
    if (!good || create(&raw->blas) != 0) {
        raw->blas = NULL;
        return false;
    }
    return stream(raw->blas, raw->stream) == 0 && raw->take(&raw->workspace, WORKSPACE) == CUDA_SUCCESS &&
           workspace(raw->blas, raw->workspace, WORKSPACE) == 0;
}

void raw_product_run(void *context)
{
    const raw_product *p = context;
    cuda_raw *raw = p->raw;
    static const float one_f32[2] = {1.0F, 0.0F};
    static const float zero_f32[2] = {0.0F, 0.0F};
    static const double one_f64[2] = {1.0, 0.0};
    static const double zero_f64[2] = {0.0, 0.0};
    const bool single = p->dtype == TNR_F32 || p->dtype == TNR_C32;
    const void *one = single ? (const void *)one_f32 : (const void *)one_f64;
    const void *zero = single ? (const void *)zero_f32 : (const void *)zero_f64;
    const int which = (int)p->dtype - (int)TNR_F32;
    const int n = p->n;
    const long long step = (long long)n * n;
    product_fn product;
    batched_fn batched;
    memcpy(&product, &raw->product[which], sizeof(product));
    memcpy(&batched, &raw->batched[which], sizeof(batched));
    const int status = p->batch == 1 ? product(raw->blas, 0, 0, n, n, n, one, p->a, n, p->b, n, zero, p->c, n)
                                     : batched(raw->blas, 0, 0, n, n, n, one, p->a, n, step, p->b, n, step, zero, p->c,
                                               n, step, p->batch);
    raw->wrong += status != 0 ? 1 : 0;
}
