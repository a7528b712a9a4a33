/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See perona_malik.h. The volume is taken plane by plane along its last axis, so that scratch is a few planes instead
 * of a few volumes, and stays in the cache. A plane is changed only when all fluxes that need its old values are
 * known:
 *
 *     plane z:  fluxes inside it, flux to plane z + 1         (old values of z and z + 1)
 *               then z += fluxes in - fluxes out              (with the flux from z - 1, kept since the last turn)
 *
 * Every operation is a call of the engine on views: shifted slices of the volume in, scratch out.
 */
#include "perona_malik.h"
#include "try.h"

#include <math.h>
#include <string.h>

#include "device/near.h"

/* ---- Preparation ------------------------------------------------------------------------------------------------- */

static tnr_status make_scratch(tnr_engine *engine, tnr_domain *domain, const int64_t shape[3], double kappa, double dt,
                               perona_malik *pm)
{
    TRY(near_scalar(engine, domain, -1.0 / (kappa * kappa), &pm->minus_kappa2));
    TRY(near_scalar(engine, domain, dt, &pm->dt));
    for (int i = 0; i < 2; i++) {
        TRY(near_zeros(engine, domain, TNR_F64, 2, shape, &pm->along[i]));
        TRY(near_zeros(engine, domain, TNR_F64, 2, shape, &pm->across[i]));
    }
    return near_zeros(engine, domain, TNR_F64, 2, shape, &pm->conductance);
}

tnr_status perona_malik_begin(tnr_engine *engine, tnr_domain *domain, const int64_t shape[3], double kappa, double dt,
                              perona_malik *pm)
{
    memset(pm, 0, sizeof *pm);
    if (!(kappa > 0.0) || !isfinite(1.0 / (kappa * kappa))) {
        return tnr_set_error(TNR_ERR_ARGUMENT, "perona_malik: kappa must be positive");
    }
    if (!(dt > 0.0 && dt <= PERONA_MALIK_MAX_DT)) {
        return tnr_set_error(TNR_ERR_ARGUMENT, "perona_malik: dt must be above 0 and at most 1/6");
    }
    pm->engine = engine;
    const tnr_status status = make_scratch(engine, domain, shape, kappa, dt, pm);
    if (status != TNR_OK) {
        perona_malik_end(pm);
    }
    return status;
}

void perona_malik_end(perona_malik *pm)
{
    tnr_tensor **const all[] = {&pm->along[0],    &pm->along[1],     &pm->across[0], &pm->across[1],
                                &pm->conductance, &pm->minus_kappa2, &pm->dt};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        (void)!tnr_tensor_release(all[i]); /* nothing leases them between steps */
    }
    memset(pm, 0, sizeof *pm);
}

/* ---- One step ---------------------------------------------------------------------------------------------------- */

/* All of a plane but its last, or but its first, row along one axis. Empty when there is one row only. */
static tnr_status but_last(const tnr_view_mut *plane, int axis, tnr_view_mut *out)
{
    return tnr_view_mut_slice_axis(plane, axis, (tnr_range){0, -1, 1}, out);
}

static tnr_status but_first(const tnr_view_mut *plane, int axis, tnr_view_mut *out)
{
    return tnr_view_mut_slice_axis(plane, axis, (tnr_range){1, TNR_END, 1}, out);
}

/* flux = dt * g(high - low) * (high - low); g is scratch. All views have one shape. */
static tnr_status face_flux(const perona_malik *pm, const tnr_view *low, const tnr_view *high, const tnr_view_mut *g,
                            const tnr_view_mut *flux)
{
    tnr_view minus_kappa2;
    tnr_view dt;
    TRY(tnr_tensor_view(pm->minus_kappa2, &minus_kappa2));
    TRY(tnr_tensor_view(pm->dt, &dt));
    TRY(tnr_sub_into(pm->engine, high, low, flux));
    TRY(tnr_mul_into(pm->engine, &flux->view, &flux->view, g));
    TRY(tnr_mul_into(pm->engine, &g->view, &minus_kappa2, g));
    TRY(tnr_exp_into(pm->engine, &g->view, g));
    TRY(tnr_mul_into(pm->engine, &g->view, &dt, g));
    return tnr_mul_into(pm->engine, &flux->view, &g->view, flux);
}

/* Flux through the faces inside a plane, along one axis. */
static tnr_status flux_along(const perona_malik *pm, const tnr_view_mut *plane, int axis)
{
    tnr_view_mut low;
    tnr_view_mut high;
    tnr_view_mut flux;
    tnr_view_mut g;
    TRY(but_last(plane, axis, &low));
    TRY(but_first(plane, axis, &high));
    TRY(tnr_tensor_view_mut(pm->along[axis], &flux));
    TRY(but_last(&flux, axis, &flux));
    TRY(tnr_tensor_view_mut(pm->conductance, &g));
    TRY(but_last(&g, axis, &g));
    return face_flux(pm, &low.view, &high.view, &g, &flux);
}

/* What leaves one side of a face enters the other. */
static tnr_status apply_along(const perona_malik *pm, const tnr_view_mut *plane, int axis)
{
    tnr_view_mut low;
    tnr_view_mut high;
    tnr_view_mut flux;
    TRY(but_last(plane, axis, &low));
    TRY(but_first(plane, axis, &high));
    TRY(tnr_tensor_view_mut(pm->along[axis], &flux));
    TRY(but_last(&flux, axis, &flux));
    TRY(tnr_add_into(pm->engine, &low.view, &flux.view, &low));
    return tnr_sub_into(pm->engine, &high.view, &flux.view, &high);
}

tnr_status perona_malik_face(const perona_malik *pm, const tnr_view *low, const tnr_view *high,
                             const tnr_view_mut *flux)
{
    tnr_view_mut g;
    TRY(tnr_tensor_view_mut(pm->conductance, &g));
    return face_flux(pm, low, high, &g, flux);
}

tnr_status perona_malik_sweep(perona_malik *pm, const tnr_view_mut *slab, const tnr_view *below, const tnr_view *above)
{
    const int64_t planes = slab->view.shape[2];
    for (int64_t z = 0; z < planes; z++) {
        tnr_view_mut plane;
        tnr_view_mut flux; /* between two planes of the slab */
        tnr_view in;       /* from the plane before to here */
        tnr_view out;      /* from here to the plane after */
        const bool first = z == 0;
        const bool last = z + 1 == planes;
        TRY(tnr_view_mut_select(slab, 2, z, &plane));
        TRY(flux_along(pm, &plane, 0));
        TRY(flux_along(pm, &plane, 1));
        if (!last) {
            tnr_view_mut after;
            TRY(tnr_view_mut_select(slab, 2, z + 1, &after));
            TRY(tnr_tensor_view_mut(pm->across[z % 2], &flux));
            TRY(perona_malik_face(pm, &plane.view, &after.view, &flux));
            out = flux.view;
        } else if (above != NULL) {
            out = *above;
        }
        if (!first) {
            TRY(tnr_tensor_view(pm->across[(z + 1) % 2], &in));
        } else if (below != NULL) {
            in = *below;
        }

        TRY(apply_along(pm, &plane, 0));
        TRY(apply_along(pm, &plane, 1));
        if (!last || above != NULL) {
            TRY(tnr_add_into(pm->engine, &plane.view, &out, &plane));
        }
        if (!first || below != NULL) {
            TRY(tnr_sub_into(pm->engine, &plane.view, &in, &plane));
        }
    }
    return TNR_OK;
}

tnr_status perona_malik_step(perona_malik *pm, const tnr_view_mut *volume)
{
    return perona_malik_sweep(pm, volume, NULL, NULL);
}
