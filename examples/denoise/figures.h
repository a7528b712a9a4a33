/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mean, least and greatest value of a volume, to the same bits however its planes are dealt out: every plane is summed by itself, and
 * then the sums, in the order of the planes. A sum of the sums of slabs would depend on where the volume was cut.
 */
#ifndef DENOISE_FIGURES_H
#define DENOISE_FIGURES_H

#include "nifti.h"
#include "options.h"

typedef struct figures {
    double mean;
    double lowest;
    double highest;
} figures;

/* Where they are made. Fields are the caller's to read. */
typedef struct figures_scratch {
    tnr_tensor *sums;   /* one per plane */
    tnr_tensor *lowest; /* rank 0, and so are the others */
    tnr_tensor *highest;
    tnr_tensor *total;
} figures_scratch;

/* Room for a volume or slab of so many planes. On failure nothing is left behind. */
TNR_MUST_CHECK tnr_status figures_begin(tnr_domain *domain, int64_t planes, figures_scratch *scratch);

/* The sums of a slab's planes, and its least and greatest value: infinite when it has no planes. */
TNR_MUST_CHECK tnr_status figures_of_planes(tnr_engine *engine, const tnr_view *slab, figures_scratch *scratch);

/* All of them from the sums of all planes, and from scratch->lowest and ->highest. */
TNR_MUST_CHECK tnr_status figures_finish(tnr_engine *engine, const tnr_tensor *sums, double voxels,
                                         figures_scratch *scratch, figures *f);

/* Give the room back. A zeroed struct is fine. */
void figures_end(figures_scratch *scratch);

/* The table of both programs: input, settings, figures before and after. */
void figures_print(const options *o, const nifti_header *header, const figures *before, const figures *after);

#endif /* DENOISE_FIGURES_H */
