/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that a program writes: opened before the work, so that a path that cannot be written costs nobody a minute, and removed
 * when it did not become whole.
 */
#ifndef DENOISE_OUTPUT_H
#define DENOISE_OUTPUT_H

#include <stdio.h>

#include "nifti.h"

typedef struct output {
    FILE *file; /* NULL: not open */
    const char *path;
} output;

/* Open for writing; the input is never replaced. True on success; else `message` holds one line. */
bool output_open(output *o, const char *path, const char *input, char message[NIFTI_MESSAGE_BYTES]);

/* Write a compact f64 tensor as it lies in memory. */
bool output_write(const output *o, const tnr_tensor *tensor, char message[NIFTI_MESSAGE_BYTES]);

/* Hand what was written to the system: where a full disk shows. */
bool output_flush(const output *o, char message[NIFTI_MESSAGE_BYTES]);

/* Say in `message` why this file cannot be written; false. */
bool output_refuse(const output *o, const char *reason, char message[NIFTI_MESSAGE_BYTES]);

/*
 * Close, and remove the file (if it is one) unless it became whole: `good`, and everything reached the system. False, with a
 * message, when closing is what failed. One that is not open is fine.
 */
bool output_close(output *o, bool good, char message[NIFTI_MESSAGE_BYTES]);

#endif /* DENOISE_OUTPUT_H */
