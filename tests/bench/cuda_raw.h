/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peers of tenure-bench cuda: the driver and cuBLAS themselves, found by dlopen, with a stream and memory of their own in the device's
 * primary context. What goes wrong is counted, and fails the suite.
 */
#ifndef TENURE_TESTS_BENCH_CUDA_RAW_H
#define TENURE_TESTS_BENCH_CUDA_RAW_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/dtype.h"

/* X(member, name in the driver, parameters). */
#define RAW_CALLS(X)                                                                  \
    X(init, "cuInit", (unsigned))                                                     \
    X(retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                    \
    X(release, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                            \
    X(push, "cuCtxPushCurrent_v2", (CUcontext))                                       \
    X(pop, "cuCtxPopCurrent_v2", (CUcontext *))                                       \
    X(stream_create, "cuStreamCreate", (CUstream *, unsigned))                        \
    X(stream_destroy, "cuStreamDestroy_v2", (CUstream))                               \
    X(synchronize, "cuStreamSynchronize", (CUstream))                                 \
    X(take, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                 \
    X(give, "cuMemFree_v2", (CUdeviceptr))                                            \
    X(pinned_take, "cuMemHostAlloc", (void **, size_t, unsigned))                     \
    X(pinned_give, "cuMemFreeHost", (void *))                                         \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream)) \
    X(copy_out, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))      \
    X(copy_on, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))

#define RAW_MEMBER(member, name, parameters) CUresult(CUDAAPI *member) parameters;
typedef struct cuda_raw {
    RAW_CALLS(RAW_MEMBER)
    CUcontext context;
    CUstream stream;
    size_t bytes; /* of each of these: */
    CUdeviceptr device[2];
    void *pinned;
    void *blas; /* a handle; NULL: there is no cuBLAS */
    CUdeviceptr workspace;
    void *product[4]; /* by dtype, f32 first: plain and batched */
    void *batched[4];
    int wrong; /* calls that failed */
} cuda_raw;
#undef RAW_MEMBER

/* `driver`: its file. The context stays current on this thread until the end. False: something is missing; end it all the same. */
bool cuda_raw_begin(cuda_raw *raw, const char *driver, size_t bytes);
void cuda_raw_end(cuda_raw *raw);

/* A handle of cuBLAS with a workspace as large as the library's; false when there is none. */
bool cuda_raw_blas(cuda_raw *raw);

/* A product of n x n matrices that lie one after another, `batch` of them, in the raw stream. */
typedef struct raw_product {
    cuda_raw *raw;
    tnr_dtype dtype;
    int n;
    int batch;
    CUdeviceptr a, b, c;
} raw_product;

void raw_product_run(void *context);

#endif /* TENURE_TESTS_BENCH_CUDA_RAW_H */
