/* SPDX-License-Identifier: BSD-3-Clause */
/* See output.h. */
#define _POSIX_C_SOURCE 200809L /* fileno, fstat */

#include "output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool output_refuse(const output *o, const char *reason, char message[NIFTI_MESSAGE_BYTES])
{
    (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%.200s: cannot be written: %.150s", o->path, reason);
    return false;
}

bool output_open(output *o, const char *path, const char *input, char message[NIFTI_MESSAGE_BYTES])
{
    struct stat from;
    struct stat to;
    if (stat(input, &from) == 0 && stat(path, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
        (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%.200s: the output would replace the input", path);
        return false;
    }
    o->path = path;
    o->file = fopen(path, "wb");
    return o->file != NULL || output_refuse(o, strerror(errno), message);
}

bool output_write(const output *o, const tnr_tensor *tensor, char message[NIFTI_MESSAGE_BYTES])
{
    tnr_tensor_info info;
    const void *data = NULL;
    if (tnr_tensor_describe(tensor, &info) != TNR_OK || tnr_tensor_host_data(tensor, &data) != TNR_OK) {
        return output_refuse(o, tnr_last_error(), message);
    }
    if (fwrite(data, 1, (size_t)info.bytes, o->file) != (size_t)info.bytes) {
        return output_refuse(o, strerror(errno), message);
    }
    return output_flush(o, message);
}

bool output_flush(const output *o, char message[NIFTI_MESSAGE_BYTES])
{
    return fflush(o->file) == 0 || output_refuse(o, strerror(errno), message);
}

bool output_close(output *o, bool good, char message[NIFTI_MESSAGE_BYTES])
{
    if (o->file == NULL) {
        return true;
    }
    struct stat status;
    const bool file = fstat(fileno(o->file), &status) == 0 && S_ISREG(status.st_mode);
    const bool closed = fclose(o->file) == 0;
    o->file = NULL;
    if (good && !closed) {
        (void)output_refuse(o, strerror(errno), message);
    }
    if (!(good && closed) && file) {
        (void)remove(o->path);
    }
    return closed || !good;
}
