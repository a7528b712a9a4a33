/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See nifti.h. The header is a fixed record of 348 bytes; fields are fetched by offset, so that no struct padding and
 * no byte order of this machine enters. Voxels are read in pieces and widened straight into the bytes of the tensor: a
 * draft, which becomes a tensor only once the last voxel is in.
 */
#define _POSIX_C_SOURCE 200809L /* stat */

#include "nifti.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* Offsets of header fields. */
enum {
    HEADER_BYTES = 348,
    AT_DIM = 40,
    AT_DATATYPE = 70,
    AT_BITPIX = 72,
    AT_PIXDIM = 76,
    AT_VOX_OFFSET = 108,
    AT_SLOPE = 112,
    AT_INTERCEPT = 116,
    AT_QFORM_CODE = 252,
    AT_SFORM_CODE = 254,
    AT_QUATERN = 256,
    AT_SROW = 280,
    AT_MAGIC = 344
};

/* Voxels start at least here: the header and four bytes that announce extensions. */
enum { LEAST_OFFSET = 352, MOST_OFFSET = 1 << 30 };

/* Deflate cannot pack more than 1032 bytes into one (RFC 1951: 258 bytes need at least two bits). */
enum { DEFLATE_RATIO = 1032 };

/* Bytes read at a time: a multiple of every voxel size. */
enum { PIECE_BYTES = 1 << 16 };

typedef struct voxel_type {
    int code; /* of the header's datatype field */
    int bytes;
    const char *name;
} voxel_type;

static const voxel_type voxel_types[] = {
    {2, 1, "uint8"},    {4, 2, "int16"},  {8, 4, "int32"},    {16, 4, "float32"},
    {64, 8, "float64"}, {256, 1, "int8"}, {512, 2, "uint16"}, {768, 4, "uint32"},
};

/* What reading needs while it runs. */
typedef struct reader {
    const char *path;
    char *message;
    gzFile file;
    bool swapped; /* the file's byte order is not this machine's */
    unsigned char header[HEADER_BYTES];
    const voxel_type *type;
    int64_t count;  /* voxels */
    int64_t offset; /* of the first one in the file */
    double slope;
    double intercept;
} reader;

static bool refuse(const reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const reader *r, const char *format, ...)
{
    const int used = snprintf(r->message, NIFTI_MESSAGE_BYTES, "%.200s: ", r->path);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(r->message + used, (size_t)(NIFTI_MESSAGE_BYTES - used), format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

/* Copy one number of `bytes` bytes, at most 8, turning it round when the file's byte order is the other one. */
static void fetch(const unsigned char *from, void *to, int bytes, bool swapped)
{
    unsigned char turned[8];
    for (int i = 0; i < bytes; i++) {
        turned[i] = from[swapped ? bytes - 1 - i : i];
    }
    memcpy(to, turned, (size_t)bytes);
}

static int field_int16(const reader *r, int offset)
{
    int16_t value = 0;
    fetch(r->header + offset, &value, (int)sizeof value, r->swapped);
    return value;
}

static double field_float(const reader *r, int offset)
{
    float value = 0;
    fetch(r->header + offset, &value, (int)sizeof value, r->swapped);
    return (double)value;
}

/* ---- Header ------------------------------------------------------------------------------------------------------ */

/* Read `bytes` bytes or say why not. */
static bool read_exactly(reader *r, void *to, unsigned bytes, const char *what)
{
    const int got = gzread(r->file, to, bytes);
    if (got >= 0 && (unsigned)got == bytes) {
        return true;
    }
    int code = Z_OK;
    const char *text = gzerror(r->file, &code);
    if (code == Z_ERRNO) {
        return refuse(r, "cannot be read: %s", strerror(errno));
    }
    if (code != Z_OK && code != Z_BUF_ERROR) {
        return refuse(r, "damaged gzip data in %s (%s)", what, text);
    }
    return refuse(r, "truncated: the file ends inside %s", what);
}

static bool read_identity(reader *r)
{
    if (!read_exactly(r, r->header, HEADER_BYTES, "the header")) {
        return false;
    }
    int32_t size = 0;
    memcpy(&size, r->header, sizeof size);
    if (size != HEADER_BYTES) {
        r->swapped = true;
        fetch(r->header, &size, (int)sizeof size, true);
    }
    if (size != HEADER_BYTES) {
        return refuse(r, "not a NIfTI-1 file, neither plain nor gzip");
    }
    if (memcmp(r->header + AT_MAGIC, "ni1", 4) == 0) {
        return refuse(r, "the header of a header/image pair; only single files (n+1) are read");
    }
    if (memcmp(r->header + AT_MAGIC, "n+1", 4) != 0) {
        return refuse(r, "not a NIfTI-1 file: its magic is missing");
    }
    return true;
}

static bool read_shape(reader *r, nifti_header *header)
{
    const int rank = field_int16(r, AT_DIM);
    if (rank < 3 || rank > 7) {
        return refuse(r, "has %d dimensions; a volume of 3 is needed", rank);
    }
    r->count = 1;
    for (int i = 1; i <= rank; i++) {
        const int extent = field_int16(r, AT_DIM + 2 * i);
        if (extent < 1) {
            return refuse(r, "dimension %d has extent %d", i, extent);
        }
        if (i > 3 && extent != 1) {
            return refuse(r, "holds more than one volume (dimension %d has extent %d)", i, extent);
        }
        if (i <= 3) {
            header->shape[i - 1] = extent;
            r->count *= extent; /* below 2^45: extents are below 2^15 */
        }
    }
    return true;
}

static bool read_type(reader *r, nifti_header *header)
{
    const int code = field_int16(r, AT_DATATYPE);
    for (size_t i = 0; i < sizeof voxel_types / sizeof voxel_types[0]; i++) {
        if (voxel_types[i].code == code) {
            r->type = &voxel_types[i];
        }
    }
    if (r->type == NULL) {
        return refuse(r, "voxels of unsupported type (datatype %d)", code);
    }
    const int bits = field_int16(r, AT_BITPIX);
    if (bits != 8 * r->type->bytes) {
        return refuse(r, "contradicts itself: voxels of type %s with %d bits", r->type->name, bits);
    }
    header->type = r->type->name;

    const double offset = field_float(r, AT_VOX_OFFSET);
    if (!(offset >= LEAST_OFFSET && offset <= MOST_OFFSET) || offset != floor(offset)) {
        return refuse(r, "voxels cannot start at byte %g", offset);
    }
    r->offset = (int64_t)offset;

    /* A slope of 0 means: no scaling. */
    r->slope = field_float(r, AT_SLOPE);
    r->intercept = field_float(r, AT_INTERCEPT);
    if (r->slope == 0.0 || !isfinite(r->slope) || !isfinite(r->intercept)) {
        r->slope = 1.0;
        r->intercept = 0.0;
    }
    return true;
}

/* Columns of the matrix from voxel indices to world coordinates: sform, else qform, else the voxels' own axes. */
static void read_matrix(const reader *r, double matrix[3][3])
{
    double spacing[3];
    for (int i = 0; i < 3; i++) {
        spacing[i] = fabs(field_float(r, AT_PIXDIM + 4 * (i + 1)));
        if (!(spacing[i] > 0.0) || !isfinite(spacing[i])) {
            spacing[i] = 1.0;
        }
    }
    if (field_int16(r, AT_SFORM_CODE) > 0) {
        for (int row = 0; row < 3; row++) {
            for (int column = 0; column < 3; column++) {
                matrix[row][column] = field_float(r, AT_SROW + 16 * row + 4 * column);
            }
        }
        return;
    }
    double b = 0.0;
    double c = 0.0;
    double d = 0.0;
    double third = 1.0;
    if (field_int16(r, AT_QFORM_CODE) > 0) {
        b = field_float(r, AT_QUATERN);
        c = field_float(r, AT_QUATERN + 4);
        d = field_float(r, AT_QUATERN + 8);
        third = field_float(r, AT_PIXDIM) < 0.0 ? -1.0 : 1.0;
    }
    const double rest = 1.0 - b * b - c * c - d * d;
    const double a = rest > 0.0 ? sqrt(rest) : 0.0;
    const double rotation[3][3] = {
        {a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
        {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
        {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c},
    };
    for (int row = 0; row < 3; row++) {
        matrix[row][0] = rotation[row][0] * spacing[0];
        matrix[row][1] = rotation[row][1] * spacing[1];
        matrix[row][2] = rotation[row][2] * spacing[2] * third;
    }
}

/*
 * Give each world axis the voxel axis nearest to it: the largest entry of the matrix first, rows and columns once
 * each.
 */
static void read_orientation(const reader *r, nifti_orientation *orientation)
{
    double matrix[3][3];
    read_matrix(r, matrix);
    bool row_done[3] = {false, false, false};
    bool column_done[3] = {false, false, false};
    for (int round = 0; round < 3; round++) {
        int best_row = -1;
        int best_column = -1;
        double best = -1.0;
        for (int row = 0; row < 3; row++) {
            for (int column = 0; column < 3; column++) {
                const double size = isfinite(matrix[row][column]) ? fabs(matrix[row][column]) : 0.0;
                if (!row_done[row] && !column_done[column] && size > best) {
                    best = size;
                    best_row = row;
                    best_column = column;
                }
            }
        }
        row_done[best_row] = true;
        column_done[best_column] = true;
        double square = 0.0;
        for (int row = 0; row < 3; row++) {
            square += matrix[row][best_column] * matrix[row][best_column];
        }
        orientation->axis[best_row] = best_column;
        orientation->reversed[best_row] = matrix[best_row][best_column] < 0.0;
        orientation->spacing[best_row] = square > 0.0 && isfinite(square) ? sqrt(square) : 1.0;
    }
}

/* A header may promise more than the file can hold: find out before memory is asked for. */
static bool check_size(reader *r)
{
    struct stat status;
    if (stat(r->path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return true; /* a pipe: reading will tell */
    }
    const int64_t needed = r->offset + r->count * r->type->bytes;
    const int64_t present = (int64_t)status.st_size;
    if (gzdirect(r->file) ? needed > present : needed / DEFLATE_RATIO > present) {
        return refuse(r, "truncated: %lld bytes cannot hold the %lld that its header announces", (long long)present,
                      (long long)needed);
    }
    return true;
}

/* ---- Voxels ------------------------------------------------------------------------------------------------------ */

static double voxel(const reader *r, const unsigned char *at)
{
    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        float f32;
        double f64;
    } value;
    fetch(at, &value, r->type->bytes, r->swapped);
    switch (r->type->code) {
    case 2:
        return value.u8;
    case 4:
        return value.i16;
    case 8:
        return value.i32;
    case 16:
        return (double)value.f32;
    case 64:
        return value.f64;
    case 256:
        return value.i8;
    case 512:
        return value.u16;
    default:
        return value.u32;
    }
}

static bool read_voxels(reader *r, double *voxels)
{
    unsigned char piece[PIECE_BYTES];
    for (int64_t left = r->offset - HEADER_BYTES; left > 0;) {
        const unsigned bytes = left < PIECE_BYTES ? (unsigned)left : (unsigned)PIECE_BYTES;
        if (!read_exactly(r, piece, bytes, "what lies between header and voxels")) {
            return false;
        }
        left -= bytes;
    }
    const int64_t most = PIECE_BYTES / r->type->bytes;
    for (int64_t done = 0; done < r->count;) {
        const int64_t now = r->count - done < most ? r->count - done : most;
        if (!read_exactly(r, piece, (unsigned)(now * r->type->bytes), "the voxels")) {
            return false;
        }
        for (int64_t i = 0; i < now; i++) {
            const double value = voxel(r, piece + i * r->type->bytes) * r->slope + r->intercept;
            const int64_t at = done + i;
            if (!isfinite(value)) {
                return refuse(r, "voxel %lld is not a finite number", (long long)at);
            }
            voxels[at] = value;
        }
        done += now;
    }
    /* One more read: makes zlib check the sum at the end, and shows what does not belong. */
    const int more = gzread(r->file, piece, 1);
    int code = Z_OK;
    const char *text = gzerror(r->file, &code);
    if (more < 0 || (code != Z_OK && code != Z_STREAM_END)) {
        return code == Z_BUF_ERROR ? refuse(r, "truncated: the end of the gzip data is missing")
                                   : refuse(r, "damaged gzip data (%s)", text);
    }
    return more == 0 || refuse(r, "wrong size: it goes on after the %lld voxels of its header", (long long)r->count);
}

static bool read_file(reader *r, tnr_domain *domain, nifti_header *header, tnr_tensor **volume)
{
    if (!read_identity(r) || !read_shape(r, header) || !read_type(r, header) || !check_size(r)) {
        return false;
    }
    read_orientation(r, &header->orientation);

    tnr_draft *draft = NULL;
    tnr_view_mut view;
    tnr_write_map map;
    if (tnr_draft_begin(domain, TNR_F64, 3, header->shape, &draft) != TNR_OK) {
        return refuse(r, "%s", tnr_last_error());
    }
    bool good = false;
    if (tnr_draft_view(draft, &view) != TNR_OK || tnr_map_write(&view, &map) != TNR_OK) {
        (void)refuse(r, "%s", tnr_last_error());
    } else {
        good = read_voxels(r, map.data);
        if (tnr_unmap_write(&map) != TNR_OK && good) {
            good = refuse(r, "%s", tnr_last_error());
        }
    }
    if (good && tnr_draft_commit(&draft, volume) != TNR_OK) {
        good = refuse(r, "%s", tnr_last_error());
    }
    if (!good) {
        (void)!tnr_draft_abandon(&draft);
    }
    return good;
}

bool nifti_read(const char *path, tnr_domain *domain, nifti_header *header, tnr_tensor **volume,
                char message[NIFTI_MESSAGE_BYTES])
{
    reader r = {.path = path, .message = message};
    struct stat status;
    if (stat(path, &status) != 0) {
        return refuse(&r, "cannot be opened: %s", strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return refuse(&r, "is a directory");
    }
    errno = 0;
    r.file = gzopen(path, "rb");
    if (r.file == NULL) {
        return refuse(&r, "cannot be opened: %s", errno != 0 ? strerror(errno) : "out of memory");
    }
    const bool good = read_file(&r, domain, header, volume);
    (void)gzclose_r(r.file);
    return good;
}
