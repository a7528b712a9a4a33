/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuBLAS, loaded at first use by its path: matrix products in a lane. Its few functions are declared here, for a toolkit may come
 * without its header. Not there, or not willing on this device: nothing of it is used, which is an error where its file was named. Want of
 * memory is an error too, and the next product asks again.
 *
 * Guarantees: one handle, in the lane's stream, with a workspace of ours; arithmetic of the dtype's own width (the default mode takes no
 * TF32); scalars come from the host.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "engine_internal.h"

typedef void *blas_handle;
typedef int (*create_fn)(blas_handle *);
typedef int (*destroy_fn)(blas_handle);
typedef int (*stream_fn)(blas_handle, CUstream);
typedef int (*workspace_fn)(blas_handle, void *, size_t);
typedef int (*mode_fn)(blas_handle, int);
typedef int (*product_fn)(blas_handle, int, int, int, int, int, const void *, const void *, int, const void *, int,
                          const void *, void *, int);
typedef int (*batch_fn)(blas_handle, int, int, int, int, int, const void *, const void *, int, long long, const void *,
                        int, long long, const void *, void *, int, long long, int);

enum { CREATE, DESTROY, STREAM, WORKSPACE, MODE, PRODUCT, BATCH = PRODUCT + 4, CALLS = BATCH + 4 };

static const char *const names[CALLS] = {"cublasCreate_v2",
                                         "cublasDestroy_v2",
                                         "cublasSetStream_v2",
                                         "cublasSetWorkspace_v2",
                                         "cublasSetMathMode",
                                         "cublasSgemm_v2",
                                         "cublasDgemm_v2",
                                         "cublasCgemm_v2",
                                         "cublasZgemm_v2",
                                         "cublasSgemmStridedBatched",
                                         "cublasDgemmStridedBatched",
                                         "cublasCgemmStridedBatched",
                                         "cublasZgemmStridedBatched"};

_Static_assert(sizeof(((tnri_blas *)NULL)->calls) == CALLS * sizeof(void *), "the header's number of calls");

enum { DEFAULT_MODE = 0, STATUS_ALLOC_FAILED = 3 };

/* The same with their types. */
typedef struct blas_calls {
    create_fn create;
    destroy_fn destroy;
    stream_fn stream;
    workspace_fn workspace;
    mode_fn mode;
    product_fn product[4];
    batch_fn batch[4];
} blas_calls;

_Static_assert(sizeof(blas_calls) == CALLS * sizeof(void *), "one after the other");

static blas_calls calls_of(const tnri_blas *blas)
{
    blas_calls calls;
    memcpy(&calls, blas->calls, sizeof(calls));
    return calls;
}

/* Stays loaded: it does not like to be closed. `path` "": by its usual names. */
static void *open_library(const char *path)
{
    static const char *const files[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"};
    if (path[0] != '\0') {
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    void *library = NULL;
    for (size_t at = 0; at < sizeof(files) / sizeof(files[0]) && library == NULL; at++) {
        library = dlopen(files[at], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* Its functions; NULL, or why not, which the thread's next dlopen or dlsym may change. */
static const char *load(tnri_blas *blas, const char *path)
{
    void *library = open_library(path);
    for (int call = 0; call < CALLS && library != NULL; call++) {
        blas->calls[call] = dlsym(library, names[call]);
        library = blas->calls[call] != NULL ? library : NULL;
    }
    if (library != NULL) {
        return NULL;
    }
    const char *said = dlerror();
    return said != NULL ? said : "it cannot be loaded";
}

tnr_status tnri_blas_find(const char *op, tnri_blas *blas)
{
    if (blas->state != TNRI_BLAS_UNTRIED) {
        return TNR_OK;
    }
    const char *said = getenv("TENURE_CUBLAS");
    const bool by_option = blas->path[0] != '\0';
    const char *path = by_option ? blas->path : said != NULL ? said : "";
    const char *why = NULL;
    blas->named_by = by_option ? "options.cublas" : path[0] != '\0' ? "TENURE_CUBLAS" : NULL;
    if (strcmp(path, "off") == 0) {
        blas->state = TNRI_BLAS_NONE;
        return TNR_OK;
    }
    why = load(blas, path);
    TNR_REQUIRE(why == NULL || blas->named_by == NULL, TNR_ERR_UNSUPPORTED, "%s: cuBLAS as %s names it, \"%s\": %s", op,
                blas->named_by, path, why);
    blas->state = why == NULL ? TNRI_BLAS_FOUND : TNRI_BLAS_NONE;
    return TNR_OK;
}

/* The first call that fails, by its place in `names`, and what it answered. */
static int set_up(tnr_cuda_lane *lane, tnri_blas *blas, int *call)
{
    const blas_calls calls = calls_of(blas);
    *call = CREATE;
    int answer = calls.create(&blas->handle);
    if (answer != 0) {
        blas->handle = NULL;
        return answer;
    }
    *call = STREAM; /* first: setting it takes the workspace away */
    answer = calls.stream(blas->handle, lane->stream);
    if (answer == 0) {
        *call = WORKSPACE;
        answer = calls.workspace(blas->handle, (void *)(uintptr_t)blas->workspace, (size_t)blas->workspace_bytes);
    }
    if (answer == 0) {
        *call = MODE;
        answer = calls.mode(blas->handle, DEFAULT_MODE);
    }
    return answer;
}

tnr_status tnri_blas_begin(const char *op, tnr_cuda_lane *lane, tnri_blas *blas)
{
    int call;
    const int answer = set_up(lane, blas, &call);
    if (answer == 0) {
        blas->state = TNRI_BLAS_READY;
        return TNR_OK;
    }
    tnri_blas_end(blas, true);
    blas->state = TNRI_BLAS_FOUND;
    TNR_REQUIRE(answer != STATUS_ALLOC_FAILED, TNR_ERR_MEMORY, "%s: %s: no memory", op, names[call]);
    TNR_REQUIRE(blas->named_by == NULL, TNR_ERR_UNSUPPORTED, "%s: cuBLAS as %s names it: %s: status %d", op,
                blas->named_by, names[call], answer);
    blas->state = TNRI_BLAS_NONE;
    return TNR_OK;
}

void tnri_blas_end(tnri_blas *blas, bool current)
{
    if (blas->handle != NULL && current) {
        (void)calls_of(blas).destroy(blas->handle);
    }
    blas->handle = NULL;
    blas->state = TNRI_BLAS_NONE;
}

/* A scalar as the dtype has it. */
typedef union scalar {
    float f32;
    double f64;
    tnr_c32 c32;
    tnr_c64 c64;
} scalar;

static scalar scalar_of(tnr_dtype dtype, tnr_c64 value)
{
    scalar made;
    memset(&made, 0, sizeof(made));
    switch (dtype) {
    case TNR_F32:
        made.f32 = (float)value.re;
        break;
    case TNR_F64:
        made.f64 = value.re;
        break;
    case TNR_C32:
        made.c32 = (tnr_c32){(float)value.re, (float)value.im};
        break;
    default:
        made.c64 = value;
        break;
    }
    return made;
}

tnr_status tnri_blas_run(const char *op, tnr_cuda_device *device, const tnri_blas *blas, const tnri_blas_product *p)
{
    const scalar alpha = scalar_of(p->dtype, p->alpha);
    const scalar beta = scalar_of(p->dtype, p->beta);
    const void *a = (const void *)(uintptr_t)p->a;
    const void *b = (const void *)(uintptr_t)p->b;
    void *c = (void *)(uintptr_t)p->c;
    const blas_calls calls = calls_of(blas);
    const int which = (int)p->dtype - (int)TNR_F32;
    const char *name = names[(p->batch > 1 ? BATCH : PRODUCT) + which];
    int status;
    if (p->batch > 1) {
        status =
            calls.batch[which](blas->handle, p->transpose_a, p->transpose_b, p->m, p->n, p->k, &alpha, a, p->a_step,
                               p->a_batch, b, p->b_step, p->b_batch, &beta, c, p->c_step, p->c_batch, p->batch);
    } else {
        status = calls.product[which](blas->handle, p->transpose_a, p->transpose_b, p->m, p->n, p->k, &alpha, a,
                                      p->a_step, b, p->b_step, &beta, c, p->c_step);
    }
    TNR_REQUIRE(status != STATUS_ALLOC_FAILED, TNR_ERR_MEMORY, "%s: %s: no memory", op, name);
    TNR_REQUIRE(status == 0, TNR_ERR_BACKEND, "%s: %s: status %d", op, name, status);
    device->counts.operations++;
    device->counts.blas_products++;
    return TNR_OK;
}
