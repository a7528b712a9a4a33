/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contractions the old way, of the best parts at hand: turn the operands into matrices, one product of a BLAS library, turn the result.
 * What lies as a matrix already is not turned; of the orders of axes within a group that one is taken which turns the fewest bytes.
 */
#ifndef TENURE_TESTS_BENCH_TTGT_H
#define TENURE_TESTS_BENCH_TTGT_H

#include "blas.h"
#include "scene.h"

enum { BENCH_TTGT_RANK = 8 };

/* A whole f64 tensor with one label per axis. */
typedef struct bench_labelled {
    char labels[BENCH_TTGT_RANK + 1];
    int rank;
    int64_t shape[BENCH_TTGT_RANK];
    double *data;
} bench_labelled;

/* How a tensor becomes a matrix: as it lies, or by a permutation into other memory (of the result: out of it). */
typedef struct bench_turn {
    bool turned;
    int axes[BENCH_TTGT_RANK];
    bench_labelled matrix;  /* its axes in the matrix's order */
    tnr_tensor *tensors[2]; /* source, target */
    tnr_view source;
    tnr_view_mut target;
} bench_turn;

typedef void (*bench_hptt)(const int *, int, double, const double *, const int *, const int *, double, double *,
                           const int *, int, int);

typedef struct bench_ttgt {
    bench_scene *scene;
    bench_turn turns[3]; /* a, b, result */
    bench_product product;
    bench_hptt hptt; /* NULL: tnr_permute_into, by the engine that is measured */
    int threads;
} bench_ttgt;

int64_t bench_labelled_count(const bench_labelled *tensor);

/*
 * Prepare c = a b for tensors without labels that all three share, that one alone has, or that one has twice. `room`: memory for the
 * three matrices. Close it in any case.
 */
void bench_ttgt_open(bench_ttgt *ttgt, bench_scene *scene, const bench_labelled operands[3], double *const room[3]);
void bench_ttgt_close(bench_ttgt *ttgt);

/* Context is a bench_ttgt; its product.gemm, hptt and threads have been set. */
void bench_ttgt_run(void *context);

/* "a b c": the tensors that are turned, "none". */
const char *bench_ttgt_turned(const bench_ttgt *ttgt);

#endif /* TENURE_TESTS_BENCH_TTGT_H */
