/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A volume as a small core times a factor along each of its modes: x[a,b,c] = sum of core[r,s,t] u[a,r] v[b,s] w[c,t], the truncated
 * higher-order singular value decomposition.
 *
 * Per mode: the Gram matrix of the volume over the two other modes, whose eigenvectors are the mode's left singular vectors and whose
 * eigenvalues are the squares of its singular values; so many of them are kept that the squares of the others, together over all modes,
 * stay below what is allowed. Plain: each mode of the volume itself (De Lathauwer, De Moor, Vandewalle, "A multilinear singular
 * value decomposition", SIAM J. Matrix Anal. Appl. 21, 2000); the squared error is then at least what the worst mode leaves out and at most
 * what all leave out together. Sequential: each mode of what the modes before have left (Vannieuwenhoven, Vandebril, Meerbergen, "A new
 * truncation strategy for the higher-order singular value decomposition", SIAM J. Sci. Comput. 34, 2012): fewer operations, and the squared
 * error is just the sum of what was left out.
 *
 * Gram matrices, mode products and the volume made again are contractions of views: nothing is unfolded, transposed or copied.
 * A Gram matrix has the squares of singular values to about 1e-16 of the largest one: errors below some 1e-7 cannot be told.
 */
#ifndef HOSVD_TUCKER_H
#define HOSVD_TUCKER_H

#include <tenure/tenure.h>

#include "device/device.h"

enum { TUCKER_MODES = 3 };

/* Least error that can be asked for. */
#define TUCKER_LEAST_ERROR 1e-6

/* What a phase took; flops 0: not counted. */
typedef struct tucker_cost {
    double seconds;
    double flops;
} tucker_cost;

typedef struct tucker_mode {
    int64_t extent;
    int64_t rank;
    double left_out;     /* sum of the squared singular values that were not kept */
    tnr_tensor *vectors; /* extent x extent: all eigenvectors, those of the least eigenvalue first */
    tnr_view factor;     /* extent x rank: those that were kept, best first */
    tucker_cost gram;
    tucker_cost eigen;
    tucker_cost product;
} tucker_mode;

/* Fields are the caller's to read. */
typedef struct tucker {
    tnr_engine *engine;
    const device *device; /* NULL: CPUs */
    bool sequential;
    double norm; /* of the volume */
    tucker_mode mode[TUCKER_MODES];
    tnr_tensor *core;
} tucker;

/*
 * Decompose a rank-3 f64 view without empty axes. ranks NULL: as few as keep the error below `error` times the norm, which is at least
 * TUCKER_LEAST_ERROR; else that many (1 to the extent), and `error` is not looked at. `on`: the device whose engine that is, so that the
 * eigenproblems are brought to the host and back; NULL for an engine of CPUs. All tensors are made where the engine makes its
 * outputs. On failure nothing is left behind. TNR_ERR_NUMERIC where the squares of the values leave the range of f64.
 */
TNR_MUST_CHECK tnr_status tucker_decompose(tnr_engine *engine, const device *on, const tnr_view *volume,
                                           bool sequential, double error, const int64_t *ranks, tucker *t);

/* The volume again: one contraction of core and factors, in the order that `path` then tells. */
TNR_MUST_CHECK tnr_status tucker_rebuild(const tucker *t, tnr_tensor **volume, tnr_contraction_path *path,
                                         tucker_cost *cost);

/* Numbers to keep: core and factors. */
int64_t tucker_numbers(const tucker *t);

/* What the modes left out says of the squared error: within `least` and `most`, which rounding may pass by `rounding`. */
typedef struct tucker_bound {
    double least;
    double most;
    double rounding;
} tucker_bound;

tucker_bound tucker_bound_of(const tucker *t);

/* Is this squared error what the bound says? */
bool tucker_bound_holds(const tucker_bound *bound, double square);

/* Euclidean norm of any f64 view. */
TNR_MUST_CHECK tnr_status tucker_norm(tnr_engine *engine, const tnr_view *view, double *norm);

/* Give everything back. A zeroed struct is fine. */
void tucker_release(tucker *t);

#endif /* HOSVD_TUCKER_H */
