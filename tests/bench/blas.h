/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Libraries with a BLAS interface, found when the bench runs: OpenBLAS (OPENBLAS_LIB), BLIS (BLIS_LIB), Eigen (EIGEN_LIB, a library
 * with a BLAS interface made of it). Columns are contiguous, integers have 32 bits.
 */
#ifndef TENURE_TESTS_BENCH_BLAS_H
#define TENURE_TESTS_BENCH_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "tenure/dtype.h"

enum { BENCH_BLAS_MOST = 3, BENCH_BLAS_DTYPES = 4 };

typedef void (*bench_gemm_function)(const char *, const char *, const int *, const int *, const int *, const void *,
                                    const void *, const int *, const void *, const int *, const void *, void *,
                                    const int *);
typedef void (*bench_gemv_function)(const char *, const int *, const int *, const void *, const void *, const int *,
                                    const void *, const int *, const void *, void *, const int *);
typedef void (*bench_ger_function)(const int *, const int *, const void *, const void *, const int *, const void *,
                                   const int *, void *, const int *);

typedef struct bench_blas {
    char name[48]; /* with the kernels that it uses: "OpenBLAS Zen" */
    bool two;      /* can be told to use two threads, by one of these */
    void (*threads)(int);
    void (*threads_at)(const int *);
    bench_gemm_function gemm[BENCH_BLAS_DTYPES]; /* by bench_blas_index; NULL: it has none */
    bench_gemv_function gemv[BENCH_BLAS_DTYPES];
    bench_ger_function ger[BENCH_BLAS_DTYPES]; /* of complex numbers, unconjugated */
    float (*sdot)(const int *, const float *, const int *, const float *, const int *);
    double (*ddot)(const int *, const double *, const int *, const double *, const int *);
} bench_blas;

typedef struct bench_blases {
    bench_blas list[BENCH_BLAS_MOST];
    int count;
} bench_blases;

/* Of f32 f64 c32 c64: 0 to 3. */
int bench_blas_index(tnr_dtype dtype);

/*
 * Find them and say which kernels they use; those are left out that are missing or give wrong results. Call it while the thread may
 * run on all CPUs: their threads inherit that.
 */
void bench_blas_open(const char *suite, bench_blases *blases);

/* Choose the kernels that suit the processor, through the environment: before any of the libraries is loaded. */
void bench_blas_environment(void);

/* From now on so many threads. False: it cannot. */
bool bench_blas_use(const bench_blas *blas, int workers);

/* One product as the interface has it: alpha 1, c = op(a) op(b) of matrices without gaps. */
typedef struct bench_product {
    bench_gemm_function gemm;
    int dtype; /* bench_blas_index */
    char turn_a;
    char turn_b; /* 'N', 'T' or 'C' */
    int m;
    int n;
    int k;
    const void *a;
    const void *b;
    void *c;
} bench_product;

void bench_product_run(const bench_product *product);

#endif /* TENURE_TESTS_BENCH_BLAS_H */
