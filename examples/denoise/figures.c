/* SPDX-License-Identifier: BSD-3-Clause */
/* See figures.h. */
#include "figures.h"
#include "try.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int axes[3] = {0, 1, 2};

static tnr_status make(tnr_domain *domain, int64_t planes, figures_scratch *scratch)
{
    TRY(tnr_tensor_zeros(domain, TNR_F64, 1, &planes, &scratch->sums));
    TRY(tnr_tensor_zeros(domain, TNR_F64, 0, NULL, &scratch->lowest));
    TRY(tnr_tensor_zeros(domain, TNR_F64, 0, NULL, &scratch->highest));
    return tnr_tensor_zeros(domain, TNR_F64, 0, NULL, &scratch->total);
}

tnr_status figures_begin(tnr_domain *domain, int64_t planes, figures_scratch *scratch)
{
    memset(scratch, 0, sizeof *scratch);
    const tnr_status status = make(domain, planes, scratch);
    if (status != TNR_OK) {
        figures_end(scratch);
    }
    return status;
}

void figures_end(figures_scratch *scratch)
{
    tnr_tensor **const all[] = {&scratch->sums, &scratch->lowest, &scratch->highest, &scratch->total};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        (void)!tnr_tensor_release(all[i]); /* nothing leases them */
    }
}

tnr_status figures_of_planes(tnr_engine *engine, const tnr_view *slab, figures_scratch *scratch)
{
    tnr_view_mut sums;
    tnr_view_mut lowest;
    tnr_view_mut highest;
    TRY(tnr_tensor_view_mut(scratch->sums, &sums));
    TRY(tnr_tensor_view_mut(scratch->lowest, &lowest));
    TRY(tnr_tensor_view_mut(scratch->highest, &highest));
    for (int64_t z = 0; z < slab->shape[2]; z++) {
        tnr_view plane;
        tnr_view_mut sum;
        TRY(tnr_view_select(slab, 2, z, &plane));
        TRY(tnr_view_mut_select(&sums, 0, z, &sum));
        TRY(tnr_sum_into(engine, &plane, axes, 2, &sum));
    }
    if (slab->shape[2] == 0) { /* there is no least value of none: one that never wins */
        TRY(tnr_view_set(&lowest, NULL, &(double){INFINITY}));
        return tnr_view_set(&highest, NULL, &(double){-INFINITY});
    }
    TRY(tnr_min_into(engine, slab, axes, 3, &lowest));
    return tnr_max_into(engine, slab, axes, 3, &highest);
}

static tnr_status get(const tnr_tensor *scalar, double *value)
{
    tnr_view view;
    TRY(tnr_tensor_view(scalar, &view));
    return tnr_view_get(&view, NULL, value);
}

tnr_status figures_finish(tnr_engine *engine, const tnr_tensor *sums, double voxels, figures_scratch *scratch,
                          figures *f)
{
    tnr_view each;
    tnr_view_mut total;
    double sum = 0.0;
    TRY(tnr_tensor_view(sums, &each));
    TRY(tnr_tensor_view_mut(scratch->total, &total));
    TRY(tnr_sum_into(engine, &each, axes, 1, &total));
    TRY(get(scratch->total, &sum));
    TRY(get(scratch->lowest, &f->lowest));
    TRY(get(scratch->highest, &f->highest));
    f->mean = sum / voxels;
    return TNR_OK;
}

void figures_print(const options *o, const nifti_header *header, const figures *before, const figures *after)
{
    const int64_t *shape = header->shape;
    (void)printf("input              %s: %lld x %lld x %lld, %s\n", o->input, (long long)shape[0], (long long)shape[1],
                 (long long)shape[2], header->type);
    const int64_t voxels = shape[0] * shape[1] * shape[2];
    (void)printf("voxels             %lld\n", (long long)voxels);
    (void)printf("steps              %ld, kappa %g, dt %.6g\n", o->steps, o->kappa, o->dt);
    (void)printf("                   %20s %20s\n", "before", "after");
    (void)printf("mean               %20.12f %20.12f\n", before->mean, after->mean);
    (void)printf("min                %20.12f %20.12f\n", before->lowest, after->lowest);
    (void)printf("max                %20.12f %20.12f\n", before->highest, after->highest);
}
