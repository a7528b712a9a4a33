/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix products through BLIS's typed interface, which takes row and column strides and conjugation as they are. The only
 * file that includes blis.h.
 *
 * Guarantees: the calling thread alone computes; BLIS is handed only operands that its own checks accept, because a failed
 * check there prints and aborts. BLIS keeps its packing buffers in memory pools of its own, from the C library, under mutexes
 * that no fork handler of its takes: no fork cuts a call.
 */
#define _POSIX_C_SOURCE 200809L /* blis.h names POSIX barriers */

#include "engine_internal.h"

#if defined(__GNUC__) /* the vendor's header is not written for our warnings */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#include <blis.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Below this many multiplications, or this extent, the call costs more than it saves. */
#define BLIS_LEAST_WORK (24 * 24 * 24)
#define BLIS_LEAST_EXTENT 4

static rntm_t one_thread(void)
{
    rntm_t rntm;
    bli_rntm_init(&rntm);
    bli_rntm_set_num_threads(1, &rntm);
    return rntm;
}

bool tnri_blis_works(void)
{
    if (bli_info_get_int_type_size() != (gint_t)(8 * sizeof(gint_t))) {
        return false;
    }
    /* [[1,2],[3,4]] x [[5,6],[7,8]], row-major, with a stride on both sides that a wrong integer width would misread. */
    const double a[8] = {1, 0, 2, 0, 3, 0, 4, 0};
    const double b[4] = {5, 6, 7, 8};
    double c[4] = {-1, -1, -1, -1};
    double one = 1.0;
    double nothing = 0.0;
    tnri_foreign_begin();
    rntm_t rntm = one_thread();
    bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, 2, 2, 2, &one, (double *)a, 4, 2, (double *)b, 2, 1, &nothing, c,
                 2, 1, NULL, &rntm);
    tnri_foreign_end();
    return c[0] == 19.0 && c[1] == 22.0 && c[2] == 43.0 && c[3] == 50.0;
}

/*
 * One axis nested in the other, the outer stride reaching past the inner axis, and all within BLIS's integers: what its
 * checks call row-stored, column-stored or general. Zero strides, interleaved and self-overlapping layouts are not.
 */
static bool nested(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
{
    if (row_stride <= 0 || column_stride <= 0 || row_stride == INT64_MAX || column_stride == INT64_MAX) {
        return false;
    }
    if (sizeof(dim_t) < sizeof(int64_t) &&
        (row_stride > INT32_MAX || column_stride > INT32_MAX || rows > INT32_MAX || columns > INT32_MAX)) {
        return false;
    }
    return row_stride <= column_stride ? row_stride <= column_stride / rows : column_stride <= row_stride / columns;
}

bool tnri_blis_accepts(const tnri_gemm *gemm)
{
    return gemm->m >= BLIS_LEAST_EXTENT && gemm->n >= BLIS_LEAST_EXTENT && gemm->k >= BLIS_LEAST_EXTENT &&
           tnri_gemm_work(gemm->m, gemm->n, gemm->k) >= BLIS_LEAST_WORK &&
           nested(gemm->m, gemm->k, gemm->a_row, gemm->a_column) &&
           nested(gemm->k, gemm->n, gemm->b_row, gemm->b_column) &&
           nested(gemm->m, gemm->n, gemm->c_row, gemm->c_column);
}

#include "kernels/arithmetic.inl.h"

#define blis_call_f32 bli_sgemm_ex
#define blis_call_f64 bli_dgemm_ex
#define blis_call_c32 bli_cgemm_ex
#define blis_call_c64 bli_zgemm_ex
#define blis_type_f32 float
#define blis_type_f64 double
#define blis_type_c32 scomplex
#define blis_type_c64 dcomplex
#define TEMPLATE "gemm_blis.tmpl.h"
#define DTYPES DTYPES_FLOAT
#include "kernels/each_dtype.inl.h"

typedef void (*gemm_kernel)(const tnri_gemm *gemm);

static const gemm_kernel kernels[TNR_DTYPE_END] = FLOAT_TABLE(gemm_blis);

void tnri_gemm_blis(const tnri_gemm *gemm)
{
    tnri_foreign_begin();
    kernels[gemm->dtype](gemm);
    tnri_foreign_end();
}
