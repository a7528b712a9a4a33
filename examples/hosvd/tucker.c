/* SPDX-License-Identifier: BSD-3-Clause */
/* See tucker.h. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "tucker.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "denoise/try.h"
#include "device/near.h"
#include "eigen.h"

/* Labels of contractions: a, b, c are the modes; d is a mode met a second time, r, s, t count what is kept. */
static const char volume_labels[] = "abc";
static const char *const other_labels[TUCKER_MODES] = {"dbc", "adc", "abd"};
static const char *const gram_labels[TUCKER_MODES] = {"ad", "bd", "cd"};
static const char *const factor_labels[TUCKER_MODES] = {"ar", "bs", "ct"};
static const char *const kept_labels[TUCKER_MODES] = {"rbc", "asc", "abt"};
static const char rebuild_equation[] = "rst,ar,bs,ct->abc";

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double elements(const tnr_view *view)
{
    return (double)view->shape[0] * (double)view->shape[1] * (double)view->shape[2];
}

tnr_status tucker_norm(tnr_engine *engine, const tnr_view *view, double *norm)
{
    int axes[TNR_MAX_RANK];
    tnr_tensor *scalar = NULL;
    for (int axis = 0; axis < view->rank; axis++) {
        axes[axis] = axis;
    }
    TRY(tnr_norm(engine, view, axes, view->rank, &scalar));
    const tnr_status status = near_value(engine, scalar, norm);
    (void)!tnr_tensor_release(&scalar); /* nothing leases it */
    return status;
}

/* ---- One mode ---------------------------------------------------------------------------------------------------- */

/* Fewest ranks whose rest is within `allowed`; at least one. Eigenvalues of nothing may come out below zero. */
static int64_t choose_rank(const double *eigenvalues, int64_t count, double allowed)
{
    double rest = 0.0;
    for (int64_t i = 0; i + 1 < count; i++) {
        rest += fmax(eigenvalues[i], 0.0);
        if (rest > allowed) {
            return count - i;
        }
    }
    return 1;
}

static double sum_left_out(const double *eigenvalues, int64_t count, int64_t rank)
{
    double rest = 0.0;
    for (int64_t i = 0; i < count - rank; i++) {
        rest += fmax(eigenvalues[i], 0.0);
    }
    return rest;
}

/* The Gram matrix becomes its eigenvectors. LAPACK reads host memory: from a device the matrix goes there and back. */
static tnr_status find_vectors(const tucker *t, tnr_tensor *matrix, tnr_tensor **values)
{
    if (t->device == NULL) {
        return eigen_symmetric(tnr_engine_output(t->engine), matrix, values);
    }
    tnr_tensor *here = NULL;
    tnr_view view;
    tnr_view_mut there;
    TRY(tnr_tensor_view_mut(matrix, &there));
    TRY(device_get(t->engine, &there.view, device_host(t->device), &here));
    tnr_status status = eigen_symmetric(device_host(t->device), here, values);
    if (status == TNR_OK) {
        status = tnr_tensor_view(here, &view);
    }
    if (status == TNR_OK) {
        status = device_put_into(t->engine, &view, &there);
    }
    (void)!tnr_tensor_release(&here); /* nothing leases them */
    if (status != TNR_OK) {
        (void)!tnr_tensor_release(values);
    }
    return status;
}

/* Vectors of a mode and how many of them are kept. `allowed`: squared error that this mode may add; below 0: the rank is set. */
static tnr_status find_factor(tucker *t, int mode, const tnr_view *from, double allowed)
{
    tucker_mode *const m = &t->mode[mode];
    tnr_tensor *values = NULL;
    tnr_view vectors;
    const void *data = NULL;

    const double start = seconds();
    TRY(tnr_contract(t->engine, from, volume_labels, from, other_labels[mode], gram_labels[mode], NULL, &m->vectors));
    TRY(device_wait(t->device));
    m->gram.seconds = seconds() - start;
    m->gram.flops = 2.0 * elements(from) * (double)m->extent;

    TRY(find_vectors(t, m->vectors, &values));
    m->eigen.seconds = seconds() - start - m->gram.seconds;

    tnr_status status = tnr_tensor_host_data(values, &data);
    if (status == TNR_OK) {
        if (allowed >= 0.0) {
            m->rank = choose_rank(data, m->extent, allowed);
        }
        m->left_out = sum_left_out(data, m->extent, m->rank);
    }
    (void)!tnr_tensor_release(&values); /* nothing leases it */
    TRY(status);
    TRY(tnr_tensor_view(m->vectors, &vectors));
    /* the last columns, the very last first */
    return tnr_view_slice_axis(&vectors, 1, (tnr_range){m->extent - m->rank, TNR_END, -1}, &m->factor);
}

/* *kept = what is left of `from` when the mode is expressed by its factor. */
static tnr_status keep(tucker *t, int mode, const tnr_view *from, tnr_tensor **kept)
{
    tucker_mode *const m = &t->mode[mode];
    const double start = seconds();
    TRY(tnr_contract(t->engine, from, volume_labels, &m->factor, factor_labels[mode], kept_labels[mode], NULL, kept));
    const tnr_status status = device_wait(t->device);
    if (status != TNR_OK) {
        (void)!tnr_tensor_release(kept);
        return status;
    }
    m->product.seconds = seconds() - start;
    m->product.flops = 2.0 * elements(from) * (double)m->rank;
    return TNR_OK;
}

/* ---- All modes --------------------------------------------------------------------------------------------------- */

static tnr_status decompose(const tnr_view *volume, double error, const int64_t *ranks, tucker *t)
{
    TRY(tucker_norm(t->engine, volume, &t->norm));
    const double square = t->norm * t->norm;
    if (t->norm != 0.0 && !(t->norm > 1e-140 && t->norm < 1e150)) {
        return tnr_set_error(TNR_ERR_NUMERIC, "tucker: the squares of the values leave the range of f64");
    }
    double left = error * error * square; /* what no mode has used yet */
    tnr_view from = *volume;
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        tnr_tensor *kept = NULL;
        tnr_view next;
        TRY(find_factor(t, mode, t->sequential ? &from : volume, ranks != NULL ? -1.0 : left / (TUCKER_MODES - mode)));
        left = fmax(left - t->mode[mode].left_out, 0.0);
        TRY(keep(t, mode, &from, &kept));
        (void)!tnr_tensor_release(
            &t->core); /* of the modes before; back to the pool, and the next one comes from there */
        t->core = kept;
        TRY(tnr_tensor_view(kept, &next));
        from = next;
    }
    return TNR_OK;
}

tnr_status tucker_decompose(tnr_engine *engine, const device *on, const tnr_view *volume, bool sequential, double error,
                            const int64_t *ranks, tucker *t)
{
    memset(t, 0, sizeof *t);
    if (volume->rank != TUCKER_MODES || volume->dtype != TNR_F64) {
        return tnr_set_error(TNR_ERR_SHAPE, "tucker: an f64 volume of three axes is needed");
    }
    if (ranks == NULL && !(error >= TUCKER_LEAST_ERROR && error < 1.0)) {
        return tnr_set_error(TNR_ERR_ARGUMENT, "tucker: the error must be at least 1e-6 and below 1");
    }
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        t->mode[mode].extent = volume->shape[mode];
        t->mode[mode].rank = ranks != NULL ? ranks[mode] : 1;
        if (t->mode[mode].rank < 1 || t->mode[mode].rank > volume->shape[mode]) {
            return tnr_set_error(TNR_ERR_ARGUMENT, "tucker: a rank must be at least 1 and at most its mode's extent");
        }
    }
    t->engine = engine;
    t->device = on;
    t->sequential = sequential;
    const tnr_status status = decompose(volume, error, ranks, t);
    if (status != TNR_OK) {
        tucker_release(t);
    }
    return status;
}

tnr_status tucker_rebuild(const tucker *t, tnr_tensor **volume, tnr_contraction_path *path, tucker_cost *cost)
{
    tnr_view core;
    TRY(tnr_tensor_view(t->core, &core));
    const tnr_view *const operands[] = {&core, &t->mode[0].factor, &t->mode[1].factor, &t->mode[2].factor};
    TRY(tnr_einsum_path(rebuild_equation, operands, 4, NULL, path));
    const double start = seconds();
    TRY(tnr_einsum(t->engine, rebuild_equation, operands, 4, NULL, volume));
    TRY(device_wait(t->device));
    cost->seconds = seconds() - start;
    cost->flops = path->flops;
    return TNR_OK;
}

int64_t tucker_numbers(const tucker *t)
{
    int64_t core = 1;
    int64_t factors = 0;
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        core *= t->mode[mode].rank;
        factors += t->mode[mode].rank * t->mode[mode].extent;
    }
    return core + factors;
}

tucker_bound tucker_bound_of(const tucker *t)
{
    tucker_bound bound = {0.0, 0.0, 0.0};
    double extents = 0.0;
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        bound.least = fmax(bound.least, t->mode[mode].left_out);
        bound.most += t->mode[mode].left_out;
        extents += (double)t->mode[mode].extent;
    }
    if (t->sequential) {
        bound.least = bound.most;
    }
    /* each eigenvalue is off by a few units in the last place of the largest, which is at most the squared norm */
    bound.rounding = 16.0 * extents * DBL_EPSILON * t->norm * t->norm;
    return bound;
}

bool tucker_bound_holds(const tucker_bound *bound, double square)
{
    return square >= bound->least - bound->rounding && square <= bound->most + bound->rounding;
}

void tucker_release(tucker *t)
{
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        (void)!tnr_tensor_release(&t->mode[mode].vectors); /* nothing leases them */
    }
    (void)!tnr_tensor_release(&t->core);
    memset(t, 0, sizeof *t);
}
