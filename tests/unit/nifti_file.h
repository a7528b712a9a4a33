/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes NIfTI-1 files for the tests of the denoise example: right ones, and wrong ones by changing a field or the
 * length.
 */
#ifndef TESTS_UNIT_NIFTI_FILE_H
#define TESTS_UNIT_NIFTI_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { NIFTI_FILE_HEADER = 348, NIFTI_FILE_OFFSET = 352, NIFTI_FILE_ROOM = 1 << 16 };

/* A file in memory. */
typedef struct nifti_file {
    unsigned char bytes[NIFTI_FILE_ROOM];
    size_t length;
} nifti_file;

static inline void nifti_put_int16(nifti_file *file, size_t at, int value)
{
    const int16_t narrow = (int16_t)value;
    memcpy(file->bytes + at, &narrow, sizeof narrow);
}

static inline void nifti_put_float(nifti_file *file, size_t at, float value)
{
    memcpy(file->bytes + at, &value, sizeof value);
}

/* A header without orientation, and `bytes` bytes of voxels. */
static inline void nifti_make(nifti_file *file, int nx, int ny, int nz, int datatype, int bits, const void *voxels,
                              size_t bytes)
{
    const int32_t size = NIFTI_FILE_HEADER;
    memset(file, 0, sizeof *file);
    memcpy(file->bytes, &size, sizeof size);
    nifti_put_int16(file, 40, 3);
    nifti_put_int16(file, 42, nx);
    nifti_put_int16(file, 44, ny);
    nifti_put_int16(file, 46, nz);
    nifti_put_int16(file, 70, datatype);
    nifti_put_int16(file, 72, bits);
    for (size_t i = 0; i < 4; i++) {
        nifti_put_float(file, 76 + 4 * i, 1.0F);
    }
    nifti_put_float(file, 108, (float)NIFTI_FILE_OFFSET);
    memcpy(file->bytes + 344, "n+1", 4);
    if (bytes != 0) {
        memcpy(file->bytes + NIFTI_FILE_OFFSET, voxels, bytes);
    }
    file->length = NIFTI_FILE_OFFSET + bytes;
}

/* A good 6x5x4 volume of uint8. */
static inline void nifti_make_small(nifti_file *file)
{
    unsigned char voxels[6 * 5 * 4];
    for (size_t i = 0; i < sizeof voxels; i++) {
        voxels[i] = (unsigned char)(i * 7 % 251);
    }
    nifti_make(file, 6, 5, 4, 2, 8, voxels, sizeof voxels);
}

static inline void nifti_swap(unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes / 2; i++) {
        const unsigned char other = at[bytes - 1 - i];
        at[bytes - 1 - i] = at[i];
        at[i] = other;
    }
}

/* The same file as a machine of the other byte order writes it: only fields that the reader knows, and the voxels. */
static inline void nifti_turn_bytes(nifti_file *file, size_t voxel_bytes)
{
    nifti_swap(file->bytes, 4);
    for (size_t at = 40; at < 56; at += 2) {
        nifti_swap(file->bytes + at, 2);
    }
    nifti_swap(file->bytes + 70, 2);
    nifti_swap(file->bytes + 72, 2);
    for (size_t at = 76; at < 120; at += 4) {
        nifti_swap(file->bytes + at, 4);
    }
    nifti_swap(file->bytes + 252, 2);
    nifti_swap(file->bytes + 254, 2);
    for (size_t at = 256; at < 328; at += 4) {
        nifti_swap(file->bytes + at, 4);
    }
    for (size_t at = NIFTI_FILE_OFFSET; at < file->length; at += voxel_bytes) {
        nifti_swap(file->bytes + at, voxel_bytes);
    }
}

/* Write as it is, or through gzip. True on success. */
static inline bool nifti_write(const nifti_file *file, const char *path, bool packed)
{
    /* mode "T" writes without packing */
    gzFile out = gzopen(path, packed ? "wb" : "wbT");
    if (out == NULL) {
        return false;
    }
    const bool good = file->length == 0 || gzwrite(out, file->bytes, (unsigned)file->length) == (int)file->length;
    return gzclose(out) == Z_OK && good;
}

/* Write any bytes. True on success. */
static inline bool nifti_write_bytes(const char *path, const void *bytes, size_t length)
{
    FILE *out = fopen(path, "wb");
    if (out == NULL) {
        return false;
    }
    const bool good = fwrite(bytes, 1, length, out) == length;
    return fclose(out) == 0 && good;
}

/* Read a file of at most `room` bytes; its length, or -1. */
static inline long nifti_read_bytes(const char *path, void *bytes, size_t room)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        return -1;
    }
    const size_t got = fread(bytes, 1, room, in);
    return fclose(in) == 0 ? (long)got : -1;
}

#endif /* TESTS_UNIT_NIFTI_FILE_H */
