/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of an engine, and what its files share: entering and leaving, outputs, the view checks that come before anything
 * is leased, and the matrix-product kernels.
 *
 * Flow of an operation: enter -> dtypes and shapes from the descriptors -> [draft] -> leases and overlap (tnri_access_begin)
 * -> kernel -> leases back -> [commit] -> leave. Nothing is written before the last check has passed.
 */
#ifndef TENURE_ENGINE_INTERNAL_H
#define TENURE_ENGINE_INTERNAL_H

#include "../storage/storage.h"
#include "tenure/engine.h"

/* Loops whose iterations touch only their own elements, although an output may be an input's very elements. */
#if defined(__clang__)
#define TNRI_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TNRI_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TNRI_INDEPENDENT
#endif

struct tnr_engine {
    atomic_uint busy;   /* 1 while a thread is inside */
    bool blis;          /* BLIS is built in and answered its known product */
    tnr_domain *domain; /* holds this struct */
    tnr_domain *output; /* where outputs are made */
    tnr_domain *pool;
    tnr_draft *scratch; /* of the pool, kept from first use on; NULL before */
    void *scratch_data;
    uint64_t scratch_bytes;
    tnr_block record;
};

/* ---- Entering ------------------------------------------------------------------------------------------------------------ */

/* TNR_ERR_ARGUMENT for NULL, TNR_ERR_BUSY when a thread is inside already. */
tnr_status tnri_engine_refuse(const char *op, const tnr_engine *engine);

static inline tnr_status tnri_engine_enter(const char *op, tnr_engine *engine)
{
    if (TNRI_UNLIKELY(engine == NULL || atomic_exchange_explicit(&engine->busy, 1U, memory_order_acquire) != 0U)) {
        return tnri_engine_refuse(op, engine);
    }
    return TNR_OK;
}

static inline void tnri_engine_leave(tnr_engine *engine)
{
    atomic_store_explicit(&engine->busy, 0U, memory_order_release);
}

/* At least `bytes` bytes of kept scratch, 64-byte aligned, contents undefined; a warm call takes nothing. */
tnr_status tnri_engine_scratch(const char *op, tnr_engine *engine, uint64_t bytes, void **data);

/* ---- Outputs ------------------------------------------------------------------------------------------------------------- */

/* An output on its way: a draft in the engine's output domain, and the view that the kernel writes. */
typedef struct tnri_output {
    tnr_draft *draft;
    tnr_allocation_reason reason;
    tnr_view_mut view;
} tnri_output;

tnr_status tnri_output_begin(const char *op, tnr_engine *engine, tnr_dtype dtype, int rank, const int64_t *shape,
                             tnr_allocation_reason reason, tnri_output *output);

/* Commit when `status` is TNR_OK, else undo the draft as if it had never been asked for, and give `status` on. */
tnr_status tnri_output_end(tnri_output *output, tnr_status status, tnr_tensor **tensor);

/* ---- Checks of descriptors -------------------------------------------------------------------------------------------------- */

/* Not NULL, rank and dtype in range. All else is looked at under lease. */
static inline bool tnri_view_plausible(const tnr_view *view)
{
    return view != NULL && (uint32_t)view->rank <= (uint32_t)TNR_MAX_RANK && (unsigned)view->dtype > TNR_DTYPE_NONE &&
           (unsigned)view->dtype < TNR_DTYPE_END;
}

tnr_status tnri_view_refuse(const char *op, const char *name, const tnr_view *view) TNRI_COLD;

#define TNRI_CHECK_VIEW(op, name, view)                    \
    do {                                                   \
        if (TNRI_UNLIKELY(!tnri_view_plausible(view))) {   \
            return tnri_view_refuse((op), (name), (view)); \
        }                                                  \
    } while (0)

static inline bool tnri_same_shape(const tnr_view *a, const tnr_view *b)
{
    if (a->rank != b->rank) {
        return false;
    }
    for (int i = 0; i < a->rank; ++i) {
        if (a->shape[i] != b->shape[i]) {
            return false;
        }
    }
    return true;
}

/* The usual failures, with both parties in the text. */
tnr_status tnri_fail_dtype(const char *op, tnr_dtype expected, tnr_dtype found) TNRI_COLD;
tnr_status tnri_fail_unsupported(const char *op, tnr_dtype dtype) TNRI_COLD;
tnr_status tnri_fail_shape(const char *op, const char *what, int rank, const int64_t *expected,
                           const tnr_view *found) TNRI_COLD;

/* ---- Matrix product kernels --------------------------------------------------------------------------------------------------- */

/* A scalar in the dtype's own precision. */
typedef union tnri_gemm_scalar {
    float f32;
    double f64;
    tnr_c32 c32;
    tnr_c64 c64;
} tnri_gemm_scalar;

/*
 * c = alpha * a * b + beta * c. m, n, k >= 1; alpha is not 0. Strides in elements. c overlaps neither a nor b. A beta of 0
 * does not read c.
 */
typedef struct tnri_gemm {
    tnr_dtype dtype;
    bool conjugate_a; /* false for real dtypes */
    bool conjugate_b;
    bool overwrite; /* beta is 0 */
    bool plain;     /* overwrite, and alpha is 1 */
    int64_t m, n, k;
    const void *a;
    int64_t a_row, a_column;
    const void *b;
    int64_t b_row, b_column;
    void *c;
    int64_t c_row, c_column;
    tnri_gemm_scalar alpha, beta;
} tnri_gemm;

/* Straight loops, no packing: for products so small that anything else costs more than the arithmetic. */
void tnri_gemm_small(const tnri_gemm *gemm);

/* Scratch that tnri_gemm_portable needs for this product. */
uint64_t tnri_gemm_portable_bytes(const tnri_gemm *gemm);

/* Packed and blocked; any strides. `scratch` is 64-byte aligned. */
void tnri_gemm_portable(const tnri_gemm *gemm, void *scratch);

/* BLIS is built in, has the integer width of its header, and multiplies two small matrices correctly. */
bool tnri_blis_works(void);

/* True when BLIS takes these operands as they are. */
bool tnri_blis_accepts(const tnri_gemm *gemm);

/* Through BLIS on the calling thread. Only after tnri_blis_accepts. */
void tnri_gemm_blis(const tnri_gemm *gemm);

#endif /* TENURE_ENGINE_INTERNAL_H */
