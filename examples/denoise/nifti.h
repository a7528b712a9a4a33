/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reader for NIfTI-1 volumes in one file, plain (.nii) or gzip (.nii.gz).
 *
 * Reads uint8, int8, int16, uint16, int32, uint32, float32 and float64 in either byte order as f64, with scl_slope and
 * scl_inter applied. Takes 3-D volumes, and 4-D ones that hold a single volume. Does not read header/image pairs,
 * NIfTI-2, or colour. A file that is damaged, or says one size and has another, is refused.
 *
 * Source of the format: the header nifti1.h of the NIfTI working group (offsets and codes), https://nifti.nimh.nih.gov
 */
#ifndef DENOISE_NIFTI_H
#define DENOISE_NIFTI_H

#include <tenure/tenure.h>

/* How voxel axes lie in the head. World axis 0 points right, 1 to the front, 2 up. */
typedef struct nifti_orientation {
    int axis[3];       /* voxel axis that runs along world axis i */
    bool reversed[3];  /* it runs against it */
    double spacing[3]; /* voxel size along world axis i, > 0 */
} nifti_orientation;

/* What the header says. */
typedef struct nifti_header {
    int64_t shape[3];
    const char *type; /* of a voxel in the file: "uint8" */
    nifti_orientation orientation;
} nifti_header;

/* Room for one line that says what is wrong. */
enum { NIFTI_MESSAGE_BYTES = 400 };

/*
 * Read a whole volume as a new f64 tensor of `domain`, x fastest, as the file has it.
 * True on success. Otherwise nothing is left behind and `message` holds one line.
 */
bool nifti_read(const char *path, tnr_domain *domain, nifti_header *header, tnr_tensor **volume,
                char message[NIFTI_MESSAGE_BYTES]);

#endif /* DENOISE_NIFTI_H */
