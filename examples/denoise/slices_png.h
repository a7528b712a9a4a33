/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three middle slices of a volume, and a picture of two such triples and their difference.
 *
 * The picture has a column each for before, after and difference, and a row each for the axial, coronal and sagittal
 * slice, as its labels say. Heads are upright: the front of an axial slice and the top of the others point up, left is
 * left. Before and after share one grey scale; in the difference grey is zero, brighter is more.
 */
#ifndef DENOISE_SLICES_PNG_H
#define DENOISE_SLICES_PNG_H

#include "nifti.h"
#include "output.h"

enum { SLICES = 3 }; /* axial, coronal, sagittal */

/* Copies of three slices, each already turned the way it is shown: axis 0 to the right, axis 1 down. */
typedef struct slices {
    tnr_tensor *plane[SLICES];
    int64_t index[SLICES];     /* where along the voxel axis each was cut */
    double spacing[SLICES][2]; /* pixel sizes */
} slices;

/* Cut the middle slices of a rank-3 f64 view: three named copies in `domain`. On failure nothing is left behind. */
TNR_MUST_CHECK tnr_status slices_take(const tnr_view *volume, const nifti_orientation *orientation, tnr_domain *domain,
                                      slices *out);

/* Where slice i of a volume of this shape is cut: across which voxel axis, and at which voxel. */
void slices_place(const int64_t shape[3], const nifti_orientation *orientation, int i, int *axis, int64_t *index);

/*
 * One of the three at a time, for who has no whole volume: slice i as a view of rank 3 with extent 1 along the axis that slices_place
 * named. *out begins as zeros.
 */
TNR_MUST_CHECK tnr_status slices_keep(const tnr_view *thin, const nifti_orientation *orientation, int i, int64_t index,
                                      tnr_domain *domain, slices *out);

/* Give the copies back. A zeroed struct is fine. */
void slices_release(slices *s);

/*
 * Write the picture as an 8-bit grey PNG. *largest gets the largest absolute difference shown. True on success; else
 * `message` holds one line.
 */
bool slices_write_png(const output *file, const slices *before, const slices *after, double *largest,
                      char message[NIFTI_MESSAGE_BYTES]);

/* What a reader of the picture must know. */
void slices_print(const slices *s, const char *path, double largest);

#endif /* DENOISE_SLICES_PNG_H */
