/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines of a device: what their files share.
 *
 *   engine.c           life, options             engine_product.c   products: cuBLAS or the own kernel
 *   engine_access.c    from open to close        cublas.c           cuBLAS, found at run time
 *   engine_launch.c    one kernel or two for each entry of the core's table
 *
 * From open to close the calling thread holds the lane, the device object's mutex and the context. All launches of a call are one batch
 * of the lane, which every operand notes; where a mark was made meanwhile (memory was taken, the host waited), what follows is the next
 * batch, for a mark stands for all that its number covers.
 */
#ifndef TENURE_CUDA_ENGINE_INTERNAL_H
#define TENURE_CUDA_ENGINE_INTERNAL_H

#include "../engine/device.h"
#include "cuda_internal.h"

/* ---- cuBLAS (cublas.c) --------------------------------------------------------------------------------------------------------------- */

typedef struct tnri_blas tnri_blas; /* a handle, or that there is none */

/* One product of matrices by columns, or a batch of them. Sizes and steps in elements. */
typedef struct tnri_blas_product {
    tnr_dtype dtype;
    int transpose_a; /* 0: as it lies; 1: transposed; 2: conjugated and transposed */
    int transpose_b;
    int m, n, k;
    tnr_c64 alpha, beta;
    uint64_t a, b, c;
    int a_step, b_step, c_step; /* from column to column */
    int64_t a_batch, b_batch, c_batch;
    int batch;
} tnri_blas_product;

/*
 * Of the untried: its file and functions. TNR_ERR_UNSUPPORTED where these are named and cannot be had, every time; else it is found, or there
 * is none.
 */
tnr_status tnri_blas_find(const char *op, tnri_blas *blas);
/*
 * Of the found: a handle. TNR_ERR_MEMORY, and TNR_ERR_UNSUPPORTED where its file is named: it stays found. Else it is ready, or there is none.
 * Under the lock, context current.
 */
tnr_status tnri_blas_begin(const char *op, tnr_cuda_lane *lane, tnri_blas *blas);
tnr_status tnri_blas_run(const char *op, tnr_cuda_device *device, const tnri_blas *blas,
                         const tnri_blas_product *product);
/* `current`: the context is. */
void tnri_blas_end(tnri_blas *blas, bool current);

typedef enum tnri_blas_state { TNRI_BLAS_UNTRIED, TNRI_BLAS_FOUND, TNRI_BLAS_READY, TNRI_BLAS_NONE } tnri_blas_state;

struct tnri_blas {
    tnri_blas_state state;
    char path[TNRI_PATH_BYTES]; /* "": look for it; "off": none */
    const char *named_by;       /* whose word its file is; NULL: it was looked for */
    uint64_t workspace;         /* of the device's; set before the first use */
    uint64_t workspace_bytes;
    void *handle;
    void *calls[13]; /* cublas.c knows */
};

/* ---- The engine ------------------------------------------------------------------------------------------------------------------------ */

/*
 * Memory that an engine keeps: for intermediates that the core holds, for one operation, numbers, what values are found in, cuBLAS; and
 * page-locked, where such values arrive.
 */
enum { TNRI_KEPT_SPAN, TNRI_KEPT_WORK, TNRI_KEPT_ONES, TNRI_KEPT_WORD, TNRI_KEPT_BLAS, TNRI_KEPT_ARRIVAL, TNRI_KEPT };

typedef struct tnri_cuda_engine {
    tnr_block record;
    tnr_domain *home;
    tnr_cuda_device *device;
    tnr_cuda_lane *lane;
    tnr_domain *own;          /* of scratch, and behind the engine's pool */
    tnri_cuda_domain *memory; /* the same */
    uint64_t scratch_max_bytes;
    uint64_t kept_bytes;
    tnri_memory *kept[TNRI_KEPT];
    int multiprocessors;
    double blas_from;  /* multiplications from which on a product is cuBLAS's */
    int64_t pack_from; /* uses of each element from which on packing an operand pays */
    const char *op;    /* that is open; NULL: none */
    tnri_operand *operands;
    int count;
    int64_t word[2]; /* what came from the device last */
    tnri_blas blas;
} tnri_cuda_engine;

extern const tnri_device_table tnri_cuda_engines;

/* -- engine_access.c -- */

tnr_status tnri_engine_open(void *state, const char *op, tnri_operand *operands, int count);
tnr_status tnri_engine_close(void *state, tnr_status status);
/* At least so many bytes of one kind, in *address. Open or not. */
tnr_status tnri_engine_keep(tnri_cuda_engine *engine, int kind, uint64_t bytes, uint64_t *address);
/* Give one kind back: nothing that was given to the lane for this call uses it. Under the lock, context current. */
void tnri_engine_drop(tnri_cuda_engine *engine, int kind);
/* Before anything is given to the lane: it belongs to a batch that no mark stands for. Open. */
void tnri_engine_batch(tnri_cuda_engine *engine);
/* Bytes of the device, 16 at most, to engine->word; waits. TNRI_KEPT_ARRIVAL is there. Open. */
tnr_status tnri_engine_fetch(tnri_cuda_engine *engine, uint64_t address, size_t bytes);
/* Give all that is kept back. Under the lock. */
void tnri_engine_forget(tnri_cuda_engine *engine, bool current);

/* -- engine_launch.c: open -- */

tnr_status tnri_engine_launch(tnri_cuda_engine *engine, int kernel, unsigned blocks, void **parameters);
tnr_status tnri_engine_map(void *state, const tnri_device_map *map);
tnr_status tnri_engine_find(void *state, tnri_device_find what, const tnr_view *view, const char *data, int64_t *found);
tnr_status tnri_engine_copy(void *state, const tnri_device_copy *copy);
tnr_status tnri_engine_fill(void *state, size_t width, int rank, const int64_t *shape, char *target,
                            const int64_t *strides, const void *value);
tnr_status tnri_engine_triangle(void *state, const tnri_device_copy *copy, int64_t k, bool upper);
tnr_status tnri_engine_reshape(void *state, const tnr_view *out, char *target, const tnr_view *a, const char *source);
tnr_status tnri_engine_reduce(void *state, tnri_reduce_op op, const tnr_view *a, const int64_t *spread,
                              const char *source, tnr_dtype to, char *target);
tnr_status tnri_engine_arg(void *state, bool smallest, const tnr_view *a, int axis, const tnr_view *out,
                           const char *source, char *target);
tnr_status tnri_engine_stray(void *state, const tnri_device_windows *windows, int64_t *place, int64_t *value);
tnr_status tnri_engine_gather(void *state, const tnri_device_windows *windows);
tnr_status tnri_engine_scatter(void *state, tnr_dtype dtype, const tnri_device_windows *windows);

/* -- engine_product.c: open -- */

tnr_status tnri_engine_product(void *state, const tnri_device_product *product);

#endif /* TENURE_CUDA_ENGINE_INTERNAL_H */
