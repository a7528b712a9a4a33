/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Perona-Malik diffusion of a volume, in place: smooths noise and keeps edges.
 *
 * One step adds dt * sum over the axes of div(g(d) d) to every voxel, where d is the difference across a face between
 * two voxels and g(d) = exp(-(d / kappa)^2). No flux crosses the volume's outer faces. Hence the sum over all voxels
 * stays (rounding apart), and for 0 < dt <= 1/6 a new voxel is a mean of old ones with weights >= 0: minimum and
 * maximum do not spread.
 *
 * f64 throughout. f32 would halve the memory traffic, but its 24 bits leave 6e-8 of relative rounding in every
 * operation: neither the comparison with a plain loop to 1e-12 nor a mean kept to 1e-9 could be shown.
 *
 * Source: P. Perona and J. Malik, "Scale-space and edge detection using anisotropic diffusion", IEEE Transactions on
 * Pattern Analysis and Machine Intelligence 12(7), 1990, equations 7 to 10, here with six neighbours.
 */
#ifndef DENOISE_PERONA_MALIK_H
#define DENOISE_PERONA_MALIK_H

#include <tenure/tenure.h>

/* Scratch of one plane each; a step reuses it and allocates nothing. Fields are the implementation's. */
typedef struct perona_malik {
    tnr_engine *engine;
    tnr_tensor *along[2];     /* flux through the faces along axes 0 and 1 of the plane at hand */
    tnr_tensor *across[2];    /* flux to the plane after it, and from the plane before it */
    tnr_tensor *conductance;  /* g, while it is being made */
    tnr_tensor *minus_kappa2; /* rank 0: -1 / kappa^2 */
    tnr_tensor *dt;           /* rank 0 */
} perona_malik;

/* Longest stable step in three dimensions. */
#define PERONA_MALIK_MAX_DT (1.0 / 6.0)

/*
 * Prepare for volumes of this shape: seven small tensors of `domain`, which the engine reaches. TNR_ERR_ARGUMENT unless kappa > 0 and
 * 0 < dt <= PERONA_MALIK_MAX_DT. On failure nothing is left behind.
 */
TNR_MUST_CHECK tnr_status perona_malik_begin(tnr_engine *engine, tnr_domain *domain, const int64_t shape[3],
                                             double kappa, double dt, perona_malik *pm);

/*
 * One step on an f64 view of the prepared shape. No allocation, no copy. A failure may leave a part of the planes
 * done.
 */
TNR_MUST_CHECK tnr_status perona_malik_step(perona_malik *pm, const tnr_view_mut *volume);

/*
 * The same for a slab of a larger volume: `below` is the flux that comes in through its first plane, `above` the flux that
 * goes out through its last, as perona_malik_face makes them from old values. NULL: an outer face.
 */
TNR_MUST_CHECK tnr_status perona_malik_sweep(perona_malik *pm, const tnr_view_mut *slab, const tnr_view *below,
                                             const tnr_view *above);

/* Flux from one plane to the next. The planes may lie in different slabs and on different nodes; pm is either slab's. */
TNR_MUST_CHECK tnr_status perona_malik_face(const perona_malik *pm, const tnr_view *low, const tnr_view *high,
                                            const tnr_view_mut *flux);

/* Give the scratch back. A zeroed struct is fine. */
void perona_malik_end(perona_malik *pm);

#endif /* DENOISE_PERONA_MALIK_H */
