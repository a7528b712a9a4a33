/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake's cuBLAS: the symbols that the library uses, in the fake driver's own file. Products are queued in the handle's stream like
 * kernels and computed by plain loops in double precision. Blamed: handles that are none, of another context or without a
 * stream or workspace, leading dimensions and counts that cuBLAS refuses.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_internal.h"

enum { CUBLAS_SUCCESS = 0, CUBLAS_NOT_INITIALIZED = 1, CUBLAS_INVALID_VALUE = 7 };

typedef struct fake_handle {
    fake_object object;
    CUstream stream;
    uint64_t workspace;
    uint64_t workspace_bytes;
} fake_handle;

typedef struct fake_gemm {
    size_t part; /* bytes of a real */
    bool is_complex;
    int turn_a, turn_b;
    int64_t m, n, k;
    double alpha[2], beta[2];
    uint64_t a, b, c;
    int64_t a_column, b_column, c_column;
    int64_t a_item, b_item, c_item, items;
    uint64_t workspace, workspace_bytes;
} fake_gemm;

enum { SCRIBBLED = 4096, SCRIBBLE = 0xB7 };

static void get(const fake_gemm *g, uint64_t base, int64_t at, bool conjugate, double *to)
{
    const size_t bytes = g->part * (g->is_complex ? 2 : 1);
    const char *from = fake_device_bytes(base + (uint64_t)at * bytes, bytes, bytes > 8 ? 8 : bytes);
    for (int part = 0; part < 2; part++) {
        float single = 0;
        to[part] = 0;
        if (part == 1 && !g->is_complex) {
            break;
        }
        if (g->part == sizeof(float)) {
            memcpy(&single, from + (size_t)part * g->part, sizeof(single));
            to[part] = (double)single;
        } else {
            memcpy(&to[part], from + (size_t)part * g->part, sizeof(double));
        }
    }
    to[1] = conjugate ? -to[1] : to[1];
}

static void put(const fake_gemm *g, int64_t at, const double *from)
{
    const size_t bytes = g->part * (g->is_complex ? 2 : 1);
    char *to = fake_device_bytes(g->c + (uint64_t)at * bytes, bytes, bytes > 8 ? 8 : bytes);
    for (int part = 0; part < (g->is_complex ? 2 : 1); part++) {
        const float single = (float)from[part];
        if (g->part == sizeof(float)) {
            memcpy(to + (size_t)part * g->part, &single, sizeof(single));
        } else {
            memcpy(to + (size_t)part * g->part, &from[part], sizeof(double));
        }
    }
}

static void add_product(double *sum, const double *x, const double *y)
{
    sum[0] += x[0] * y[0] - x[1] * y[1];
    sum[1] += x[0] * y[1] + x[1] * y[0];
}

static void run_gemm(void *const *values)
{
    fake_gemm g;
    memcpy(&g, values[0], sizeof(g));
    /* the workspace is its own meanwhile */
    const uint64_t bytes = g.workspace_bytes < SCRIBBLED ? g.workspace_bytes : SCRIBBLED;
    for (uint64_t at = 0; at < bytes; at++) {
        *fake_device_bytes(g.workspace + at, 1, 1) = (char)SCRIBBLE;
    }
    const bool reads = g.alpha[0] != 0.0 || g.alpha[1] != 0.0;
    for (int64_t at = 0; at < g.items * g.n * g.m; at++) {
        const int64_t i = at % g.m;
        const int64_t j = at / g.m % g.n;
        const int64_t item = at / g.m / g.n;
        double sum[2] = {0, 0};
        double all[2] = {0, 0};
        for (int64_t k = 0; k < g.k && reads; k++) {
            double x[2];
            double y[2];
            get(&g, g.a, item * g.a_item + (g.turn_a == 0 ? i + k * g.a_column : k + i * g.a_column), g.turn_a == 2, x);
            get(&g, g.b, item * g.b_item + (g.turn_b == 0 ? k + j * g.b_column : j + k * g.b_column), g.turn_b == 2, y);
            add_product(sum, x, y);
        }
        add_product(all, g.alpha, sum);
        if (g.beta[0] != 0.0 || g.beta[1] != 0.0) {
            double there[2];
            get(&g, g.c, item * g.c_item + i + j * g.c_column, false, there);
            add_product(all, g.beta, there);
        }
        put(&g, item * g.c_item + i + j * g.c_column, all);
    }
}

static const fake_kernel gemm_kernel = {"cublas_gemm", 1, {sizeof(fake_gemm)}, {false}, run_gemm, true, NULL};

static int enqueue(fake_handle *handle, fake_gemm *g, const void *alpha, const void *beta)
{
    fake_stream *stream =
        handle->stream == NULL ? NULL : fake_find(FAKE_STREAM, handle->stream, "a handle's stream is gone");
    const int64_t a_rows = g->turn_a == 0 ? g->m : g->k;
    const int64_t b_rows = g->turn_b == 0 ? g->k : g->n;
    const bool right = g->m >= 0 && g->n >= 0 && g->k >= 0 && g->items >= 0 &&
                       g->a_column >= (a_rows > 1 ? a_rows : 1) && g->b_column >= (b_rows > 1 ? b_rows : 1) &&
                       g->c_column >= (g->m > 1 ? g->m : 1);
    if (stream == NULL || handle->workspace == 0 || stream->object.device != fake_current() ||
        handle->object.device != fake_current() || !right) {
        fake_blame(&fake.misuse, right ? "a product in no stream or context of its handle, or without a workspace"
                                       : "a product whose columns overlap");
        return CUBLAS_INVALID_VALUE;
    }
    for (int part = 0; part < (g->is_complex ? 2 : 1); part++) {
        g->alpha[part] = g->part == 4 ? (double)((const float *)alpha)[part] : ((const double *)alpha)[part];
        g->beta[part] = g->part == 4 ? (double)((const float *)beta)[part] : ((const double *)beta)[part];
    }
    if (g->m == 0 || g->n == 0 || g->items == 0) {
        return CUBLAS_SUCCESS;
    }
    g->workspace = handle->workspace;
    g->workspace_bytes = handle->workspace_bytes;
    fake_op *op = fake_op_new();
    op->what = FAKE_LAUNCH;
    op->kernel = &gemm_kernel;
    op->number = 1;
    op->device = stream->object.device;
    op->snapshot = malloc(sizeof(*g));
    memcpy(op->snapshot, g, sizeof(*g));
    op->address_count = 4;
    op->addresses[0] = g->a;
    op->addresses[1] = g->b;
    op->addresses[2] = g->c;
    op->addresses[3] = handle->workspace;
    fake_push(stream, op);
    return CUBLAS_SUCCESS;
}

FAKE_API CUresult cublasCreate_v2(void **handle);
FAKE_API CUresult cublasDestroy_v2(void *handle);
FAKE_API CUresult cublasSetStream_v2(void *handle, CUstream stream);
FAKE_API CUresult cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
FAKE_API CUresult cublasSetMathMode(void *handle, int mode);

CUresult cublasCreate_v2(void **handle)
{
    FAKE_BEGIN("cublasCreate_v2", true);
    *handle = fake_new(FAKE_HANDLE, fake_current(), sizeof(fake_handle));
    return fake_leave(CUDA_SUCCESS);
}

CUresult cublasDestroy_v2(void *handle)
{
    FAKE_BEGIN("cublasDestroy_v2", true);
    fake_object *of = fake_find(FAKE_HANDLE, handle, "a handle of cuBLAS is destroyed twice");
    if (of == NULL) {
        return fake_leave((CUresult)CUBLAS_NOT_INITIALIZED);
    }
    fake_bury(of);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cublasSetStream_v2(void *handle, CUstream stream)
{
    FAKE_BEGIN("cublasSetStream_v2", true);
    fake_handle *of = fake_find(FAKE_HANDLE, handle, "no handle of cuBLAS");
    if (of == NULL) {
        return fake_leave((CUresult)CUBLAS_NOT_INITIALIZED);
    }
    fake_stream *found = fake_find(FAKE_STREAM, stream, "a handle is given a stream that is none");
    of->stream = fake.planted.stray_blas && found != NULL ? (CUstream)fake_stray(found) : stream;
    of->workspace = 0; /* as cuBLAS does */
    return fake_leave(CUDA_SUCCESS);
}

CUresult cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
    FAKE_BEGIN("cublasSetWorkspace_v2", true);
    fake_handle *of = fake_find(FAKE_HANDLE, handle, "no handle of cuBLAS");
    const uint64_t address = (uint64_t)(uintptr_t)workspace;
    const fake_memory *memory = of == NULL ? NULL : fake_memory_at(address);
    if (memory == NULL || address % 256 != 0 || bytes > memory->bytes - (address - memory->address)) {
        fake_blame(&fake.misuse, "a workspace that is no device memory, or not aligned");
        return fake_leave((CUresult)CUBLAS_INVALID_VALUE);
    }
    of->workspace = fake.planted.lost_workspace ? 0 : address;
    of->workspace_bytes = bytes;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cublasSetMathMode(void *handle, int mode)
{
    FAKE_BEGIN("cublasSetMathMode", true);
    if (fake_find(FAKE_HANDLE, handle, "no handle of cuBLAS") == NULL) {
        return fake_leave((CUresult)CUBLAS_NOT_INITIALIZED);
    }
    if (mode != 0 && mode != 2) {
        fake_blame(&fake.misuse, "a math mode that rounds operands");
    }
    return fake_leave(CUDA_SUCCESS);
}

static uint64_t address_of(const void *at) { return (uint64_t)(uintptr_t)at; }

static CUresult gemm(const char *entry, void *handle, fake_gemm *g, const void *alpha, const void *beta)
{
    FAKE_BEGIN(entry, true);
    fake_handle *of = fake_find(FAKE_HANDLE, handle, "no handle of cuBLAS");
    return fake_leave((CUresult)(of == NULL ? CUBLAS_NOT_INITIALIZED : enqueue(of, g, alpha, beta)));
}

/* What both entries of a type take, as one record. */
#define GEMM_RECORD(PART, COMPLEX, ...)                                                                            \
    {                                                                                                              \
        .part = sizeof(PART), .is_complex = (COMPLEX), .turn_a = turn_a, .turn_b = turn_b, .m = m, .n = n, .k = k, \
        .a = address_of(a), .b = address_of(b), .c = address_of(c), .a_column = a_column, .b_column = b_column,    \
        .c_column = c_column, __VA_ARGS__                                                                          \
    }

#define GEMM(letter, PART, COMPLEX)                                                                                \
    FAKE_API CUresult cublas##letter##gemm_v2(void *handle, int turn_a, int turn_b, int m, int n, int k,           \
                                              const void *alpha, const void *a, int a_column, const void *b,       \
                                              int b_column, const void *beta, void *c, int c_column);              \
    FAKE_API CUresult cublas##letter##gemmStridedBatched(                                                          \
        void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha, const void *a, int a_column, \
        long long a_item, const void *b, int b_column, long long b_item, const void *beta, void *c, int c_column,  \
        long long c_item, int items);                                                                              \
    CUresult cublas##letter##gemm_v2(void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha, \
                                     const void *a, int a_column, const void *b, int b_column, const void *beta,   \
                                     void *c, int c_column)                                                        \
    {                                                                                                              \
        fake_gemm g = GEMM_RECORD(PART, COMPLEX, .items = 1);                                                      \
        return gemm("cublas" #letter "gemm_v2", handle, &g, alpha, beta);                                          \
    }                                                                                                              \
    CUresult cublas##letter##gemmStridedBatched(void *handle, int turn_a, int turn_b, int m, int n, int k,         \
                                                const void *alpha, const void *a, int a_column, long long a_item,  \
                                                const void *b, int b_column, long long b_item, const void *beta,   \
                                                void *c, int c_column, long long c_item, int items)                \
    {                                                                                                              \
        fake_gemm g =                                                                                              \
            GEMM_RECORD(PART, COMPLEX, .a_item = a_item, .b_item = b_item, .c_item = c_item, .items = items);      \
        return gemm("cublas" #letter "gemmStridedBatched", handle, &g, alpha, beta);                               \
    }
GEMM(S, float, false)
GEMM(D, double, false)
GEMM(C, float, true)
GEMM(Z, double, true)
