/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of denoise and denoise-mpi. */
#ifndef DENOISE_OPTIONS_H
#define DENOISE_OPTIONS_H

#include "device/device.h"
#include "nifti.h"

typedef struct options {
    const char *input;
    const char *output; /* the picture */
    const char *voxels; /* where the result goes besides; NULL: nowhere */
    long steps;
    double kappa; /* 0: not given, see options_default_kappa */
    double dt;
    engine_choice engine; /* denoise */
    bool no_shared;       /* denoise-mpi */
    bool help;
} options;

/* Read the words after a program's name; `ranks`: denoise-mpi's. True on success; else `message` holds one line. */
bool options_read(int count, char **list, bool ranks, options *o, char message[NIFTI_MESSAGE_BYTES]);

/* Three hundredths of the range of values. */
double options_default_kappa(double lowest, double highest);

/* Write the usage to standard output. */
bool options_print_usage(bool ranks);

#endif /* DENOISE_OPTIONS_H */
