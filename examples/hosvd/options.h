/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of hosvd. */
#ifndef HOSVD_OPTIONS_H
#define HOSVD_OPTIONS_H

#include "denoise/nifti.h"
#include "device/device.h"
#include "tucker.h"

typedef struct hosvd_options {
    const char *input;
    const char *output; /* the picture */
    const char *voxels; /* where the rebuilt volume goes besides; NULL: nowhere */
    double error;       /* relative; used unless ranks are given */
    bool ranks_given;
    int64_t ranks[TUCKER_MODES];
    bool plain;  /* every mode of the volume itself */
    int workers; /* most; 0: one per core */
    engine_choice engine;
    bool help;
} hosvd_options;

/* Read the words after the program's name. True on success; else `message` holds one line. */
bool hosvd_options_read(int count, char **list, hosvd_options *o, char message[NIFTI_MESSAGE_BYTES]);

/* Write the usage to standard output. */
bool hosvd_options_print_usage(void);

#endif /* HOSVD_OPTIONS_H */
