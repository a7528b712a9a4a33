/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A volume cut into slabs along its last axis, one for each NUMA node that has an engine: each slab lies on its node and is
 * worked on there, by a thread of its own that calls that node's engine. Slabs meet at one plane of fluxes, which the lower
 * slab's engine makes before anybody moves on; it reads the upper slab's first plane where that lies.
 */
#ifndef DENOISE_SLABS_H
#define DENOISE_SLABS_H

#include <pthread.h>

#include "perona_malik.h"

enum { SLABS_MOST = 64 };

typedef struct slab {
    tnr_engine *engine; /* the machine's, or of a device */
    int node;           /* TNR_NONE: memory that could not be bound */
    int64_t first;      /* plane of the whole volume */
    int64_t planes;
    tnr_tensor *volume;
    tnr_tensor *above; /* flux to the next slab; NULL for the last */
    perona_malik pm;
    const struct slab *below; /* NULL for the first */
    tnr_status status;
    char text[400]; /* of the thread's failure */
} slab;

typedef struct slabs {
    int count;
    slab slab[SLABS_MOST];
} slabs;

/*
 * Cut a rank-3 f64 view: named copies (copy_into) into the memory of each node. On failure nothing is left behind. With one
 * node there is one slab.
 */
TNR_MUST_CHECK tnr_status slabs_cut(tnr_machine *machine, const tnr_view *volume, double kappa, double dt, slabs *cut);

/* The whole volume as one slab, in the memory of one engine: of a device, by an upload. On failure nothing is left behind. */
TNR_MUST_CHECK tnr_status slabs_whole(tnr_engine *engine, const tnr_view *volume, double kappa, double dt, slabs *cut);

/* One step of all slabs at once. No tensor is made, nothing is copied. */
TNR_MUST_CHECK tnr_status slabs_step(slabs *cut);

/* Copy the slabs back, or download them, into the volume that they were cut from. */
TNR_MUST_CHECK tnr_status slabs_join(slabs *cut, const tnr_view_mut *volume);

/* Give everything back. A zeroed struct is fine. */
void slabs_release(slabs *cut);

#endif /* DENOISE_SLABS_H */
