/* SPDX-License-Identifier: BSD-3-Clause */
/* See rank_slab.h. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "rank_slab.h"
#include "try.h"

#include <string.h>
#include <time.h>

enum { LOW = RANK_SLAB_LOW, HIGH = RANK_SLAB_HIGH };

double rank_slab_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Making -------------------------------------------------------------------------------------------------------- */

tnr_status rank_slab_scatter(tnr_world *world, tnr_engine *engine, const int64_t shape[3], const tnr_view *volume,
                             rank_slab *slab)
{
    memset(slab, 0, sizeof *slab);
    slab->world = world;
    slab->engine = engine;
    slab->memory = tnr_engine_pool(engine);
    memcpy(slab->shape, shape, sizeof slab->shape);
    TRY(tnr_block_range(shape[2], tnr_world_size(world), tnr_world_rank(world), &slab->first, &slab->planes));
    return tnr_world_scatter(world, 0, volume, 2, NULL, slab->memory, &slab->volume);
}

/* Is there a slab beyond this end? Those without planes come last. */
static bool has_neighbour(const rank_slab *slab, int end)
{
    return slab->planes > 0 && (end == LOW ? slab->first > 0 : slab->first + slab->planes < slab->shape[2]);
}

/* Cut the slab's view in parts that may be read and written independently: border planes travel while the others change. */
static tnr_status cut(rank_slab *slab)
{
    tnr_view_mut all;
    tnr_view_mut part[3];
    bool granted = false;
    TRY(tnr_tensor_view_mut(slab->volume, &all));
    TRY(tnr_view_mut_slice_axis(&all, 2, (tnr_range){0, 1, 1}, &part[0]));
    TRY(tnr_view_mut_slice_axis(&all, 2, (tnr_range){1, -1, 1}, &part[1]));
    TRY(tnr_view_mut_slice_axis(&all, 2, (tnr_range){-1, TNR_END, 1}, &part[2]));
    if (slab->planes == 1) {
        slab->end[LOW] = part[0]; /* one plane is both ends */
        slab->end[HIGH] = part[0];
        return TNR_OK;
    }
    TRY(tnr_view_mut_split(part, 3, &granted));
    if (!granted) {
        return tnr_set_error(TNR_ERR_OVERLAP, "rank_slab: planes of a slab were not proved apart");
    }
    slab->end[LOW] = part[0];
    slab->between = part[1];
    slab->end[HIGH] = part[2];
    return TNR_OK;
}

tnr_status rank_slab_begin(rank_slab *slab)
{
    TRY(figures_begin(slab->memory, slab->planes, &slab->figures));
    TRY(tnr_tensor_zeros(slab->memory, TNR_F64, 1, &slab->shape[2], &slab->sums));
    if (slab->planes == 0) {
        return TNR_OK;
    }
    for (int end = LOW; end <= HIGH; end++) {
        if (has_neighbour(slab, end)) {
            TRY(tnr_tensor_zeros(slab->memory, TNR_F64, 2, slab->shape, &slab->ghost[end]));
            TRY(tnr_tensor_zeros(slab->memory, TNR_F64, 2, slab->shape, &slab->outer[end]));
        }
        if (slab->planes > 1) {
            TRY(tnr_tensor_zeros(slab->memory, TNR_F64, 2, slab->shape, &slab->inner[end]));
        }
    }
    return cut(slab);
}

tnr_status rank_slab_set(rank_slab *slab, double kappa, double dt)
{
    return perona_malik_begin(slab->engine, slab->memory, slab->shape, kappa, dt, &slab->pm);
}

tnr_status rank_slab_prepare(rank_slab *slab)
{
    tnr_view send[2];
    tnr_view_mut receive[2];
    tnr_exchange_part parts[4];
    size_t count = 0;
    for (int end = LOW; end <= HIGH; end++) {
        if (has_neighbour(slab, end)) {
            const int rank = tnr_world_rank(slab->world) + (end == LOW ? -1 : 1);
            TRY(tnr_view_select(&slab->end[end].view, 2, 0, &send[end]));
            TRY(tnr_tensor_view_mut(slab->ghost[end], &receive[end]));
            parts[count++] = (tnr_exchange_part){.rank = rank, .send = &send[end]};
            parts[count++] = (tnr_exchange_part){.rank = rank, .receive = &receive[end]};
        }
    }
    return tnr_exchange_prepare(slab->world, parts, count, &slab->halo); /* of no parts: an exchange of nothing */
}

void rank_slab_release(rank_slab *slab)
{
    (void)!tnr_exchange_destroy(&slab->halo);
    perona_malik_end(&slab->pm);
    figures_end(&slab->figures);
    (void)!tnr_tensor_release(&slab->sums);
    for (int end = LOW; end <= HIGH; end++) {
        (void)!tnr_tensor_release(&slab->ghost[end]);
        (void)!tnr_tensor_release(&slab->outer[end]);
        (void)!tnr_tensor_release(&slab->inner[end]);
    }
    (void)!tnr_tensor_release(&slab->volume);
}

/* ---- One step ------------------------------------------------------------------------------------------------------- */

static tnr_status face(rank_slab *slab, const tnr_view *low, const tnr_view *high, tnr_tensor *flux)
{
    tnr_view_mut out;
    TRY(tnr_tensor_view_mut(flux, &out));
    return perona_malik_face(&slab->pm, low, high, &out);
}

/* NULL fluxes: the volume ends there. */
static tnr_status sweep(rank_slab *slab, const tnr_view_mut *part, const tnr_tensor *below, const tnr_tensor *above)
{
    tnr_view in;
    tnr_view out;
    if (below != NULL) {
        TRY(tnr_tensor_view(below, &in));
    }
    if (above != NULL) {
        TRY(tnr_tensor_view(above, &out));
    }
    return perona_malik_sweep(&slab->pm, part, below != NULL ? &in : NULL, above != NULL ? &out : NULL);
}

/* All that needs no ghost. Fluxes between the parts come first: they are made of old values. */
static tnr_status step_between(rank_slab *slab)
{
    tnr_view end[2];
    tnr_view next[2]; /* the plane beside each */
    for (int at = LOW; at <= HIGH; at++) {
        TRY(tnr_view_select(&slab->end[at].view, 2, 0, &end[at]));
        if (slab->planes > 2) {
            TRY(tnr_view_select(&slab->between.view, 2, at == LOW ? 0 : -1, &next[at]));
        } else {
            TRY(tnr_view_select(&slab->end[at == LOW ? HIGH : LOW].view, 2, 0, &next[at]));
        }
    }
    TRY(face(slab, &end[LOW], &next[LOW], slab->inner[LOW]));
    TRY(face(slab, &next[HIGH], &end[HIGH], slab->inner[HIGH]));
    return sweep(slab, &slab->between, slab->inner[LOW], slab->inner[HIGH]);
}

static tnr_status step_ends(rank_slab *slab)
{
    for (int at = LOW; at <= HIGH; at++) {
        tnr_view end;
        tnr_view ghost;
        if (slab->ghost[at] != NULL) {
            TRY(tnr_view_select(&slab->end[at].view, 2, 0, &end));
            TRY(tnr_tensor_view(slab->ghost[at], &ghost));
            TRY(face(slab, at == LOW ? &ghost : &end, at == LOW ? &end : &ghost, slab->outer[at]));
        }
    }
    if (slab->planes == 1) {
        return sweep(slab, &slab->end[LOW], slab->outer[LOW], slab->outer[HIGH]);
    }
    TRY(sweep(slab, &slab->end[LOW], slab->outer[LOW], slab->inner[LOW]));
    return sweep(slab, &slab->end[HIGH], slab->inner[HIGH], slab->outer[HIGH]);
}

tnr_status rank_slab_step(rank_slab *slab, double *waited)
{
    TRY(tnr_exchange_start(slab->halo)); /* border planes go out ... */
    if (slab->planes > 1) {
        TRY(step_between(slab)); /* ... while the others are worked on, which may read but not write them */
    }
    const double start = rank_slab_clock();
    TRY(tnr_exchange_wait(slab->halo));
    *waited += rank_slab_clock() - start;
    return slab->planes > 0 ? step_ends(slab) : TNR_OK;
}

/* ---- Figures -------------------------------------------------------------------------------------------------------- */

static tnr_status all_reduce(rank_slab *slab, tnr_world_combine combine, tnr_tensor *scalar)
{
    tnr_view_mut view;
    TRY(tnr_tensor_view_mut(scalar, &view));
    return tnr_world_all_reduce_into(slab->world, slab->engine, combine, &view.view, &view); /* in place */
}

tnr_status rank_slab_figures(rank_slab *slab, figures *f)
{
    const double voxels = (double)(slab->shape[0] * slab->shape[1] * slab->shape[2]);
    tnr_view volume;
    tnr_view mine;
    tnr_view_mut all;
    TRY(tnr_tensor_view(slab->volume, &volume));
    TRY(figures_of_planes(slab->engine, &volume, &slab->figures));
    TRY(all_reduce(slab, TNR_COMBINE_MIN, slab->figures.lowest));
    TRY(all_reduce(slab, TNR_COMBINE_MAX, slab->figures.highest));
    /* An all-reduced sum would depend on the number of ranks: gather the planes' sums instead, and add them everywhere. */
    TRY(tnr_tensor_view(slab->figures.sums, &mine));
    TRY(tnr_tensor_view_mut(slab->sums, &all));
    TRY(tnr_world_all_gather_into(slab->world, &mine, 0, &all));
    return figures_finish(slab->engine, slab->sums, voxels, &slab->figures, f);
}
