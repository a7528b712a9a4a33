/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's slab of a volume that no rank has as a whole: consecutive planes of the last axis, and a ghost plane for each
 * neighbour's nearest one. A rank beyond the last plane has an empty slab and takes part in all that is collective.
 *
 * A step sends the border planes off, computes the inner ones while they travel, waits, and computes the border ones. It gives the bits
 * that perona_malik_step gives on the whole volume: a flux between two slabs is made by both ranks, from the same two planes.
 */
#ifndef DENOISE_RANK_SLAB_H
#define DENOISE_RANK_SLAB_H

#include <tenure/mpi.h>

#include "figures.h"
#include "perona_malik.h"

enum { RANK_SLAB_LOW, RANK_SLAB_HIGH }; /* a slab's two ends */

typedef struct rank_slab {
    tnr_world *world;
    tnr_engine *engine;
    tnr_domain *memory; /* the engine's, on its node */
    tnr_exchange *halo;
    int64_t shape[3]; /* of the whole volume */
    int64_t first;    /* plane of it */
    int64_t planes;
    tnr_tensor *volume;
    tnr_tensor *ghost[2]; /* NULL: no neighbour there */
    tnr_tensor *outer[2]; /* flux through each end of the slab */
    tnr_tensor *inner[2]; /* flux between the plane at each end and the planes between them */
    tnr_view_mut end[2];  /* the slab in parts that are leased apart: a plane at each end, and what is between */
    tnr_view_mut between;
    perona_malik pm;
    figures_scratch figures;
    tnr_tensor *sums; /* of all planes */
} rank_slab;

/*
 * Collective. Cut rank 0's volume of this shape (others: NULL) into slabs as even as can be; each comes to lie in the memory of its
 * engine.
 */
TNR_MUST_CHECK tnr_status rank_slab_scatter(tnr_world *world, tnr_engine *engine, const int64_t shape[3],
                                            const tnr_view *volume, rank_slab *slab);

/* What this rank needs by itself: ghosts, fluxes, room for figures; then, once kappa is known, the rest. @{ */
TNR_MUST_CHECK tnr_status rank_slab_begin(rank_slab *slab);
TNR_MUST_CHECK tnr_status rank_slab_set(rank_slab *slab, double kappa, double dt);
/* @} */

/* Agree with the neighbours on what every step will exchange. They must all have begun. */
TNR_MUST_CHECK tnr_status rank_slab_prepare(rank_slab *slab);

/* One step. No tensor is made; what is copied are the planes that cross. *waited grows by the seconds spent waiting for them. */
TNR_MUST_CHECK tnr_status rank_slab_step(rank_slab *slab, double *waited);

/* Collective. Figures of the whole volume, the same on every rank. */
TNR_MUST_CHECK tnr_status rank_slab_figures(rank_slab *slab, figures *f);

/* Give everything back. A zeroed struct is fine. */
void rank_slab_release(rank_slab *slab);

/* Seconds of a clock that only runs forwards. */
double rank_slab_clock(void);

#endif /* DENOISE_RANK_SLAB_H */
