/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See slices_png.h. Turning a slice upright is a view (permute, then a step of -1): only the slice itself is copied.
 * The file is written with libpng's simplified interface, which needs no setjmp.
 */
#include "slices_png.h"
#include "try.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Columns of the picture. */
enum { BEFORE, AFTER, DIFFERENCE, COLUMNS };

/* Pixels. */
enum { MARGIN = 8, DOT = 2, GLYPH_WIDTH = 5, GLYPH_HEIGHT = 7, MAX_PANEL = 2048 };

enum { BACKGROUND = 0, INK = 255, ZERO_DIFFERENCE = 128 };

static const char *const row_names[SLICES] = {"AXIAL", "CORONAL", "SAGITTAL"};
static const char *const column_names[COLUMNS] = {"BEFORE", "AFTER", "DIFFERENCE"};

/* ---- Cutting ----------------------------------------------------------------------------------------------------- */

/* The same volume with its axes pointing right, front and up. */
static tnr_status turn(const tnr_view *volume, const nifti_orientation *orientation, tnr_view *out)
{
    const tnr_range backwards = {0, TNR_END, -1};
    TRY(tnr_view_permute(volume, orientation->axis, out));
    for (int axis = 0; axis < 3; axis++) {
        if (orientation->reversed[axis]) {
            TRY(tnr_view_slice_axis(out, axis, backwards, out));
        }
    }
    return TNR_OK;
}

void slices_place(const int64_t shape[3], const nifti_orientation *orientation, int i, int *axis, int64_t *index)
{
    const int normal = 2 - i; /* axial: up; coronal: front; sagittal: right */
    *axis = orientation->axis[normal];
    *index = shape[*axis] / 2;
    if (orientation->reversed[normal]) {
        *index = shape[*axis] - 1 - *index;
    }
}

tnr_status slices_keep(const tnr_view *thin, const nifti_orientation *orientation, int i, int64_t index,
                       tnr_domain *domain, slices *out)
{
    const int normal = 2 - i;
    tnr_view slice;
    TRY(turn(thin, orientation, &slice));
    TRY(tnr_view_select(&slice, normal, 0, &slice));
    TRY(tnr_view_slice_axis(&slice, 1, (tnr_range){0, TNR_END, -1}, &slice)); /* pictures grow downwards */
    TRY(tnr_tensor_duplicate(&slice, domain, &out->plane[i]));
    out->index[i] = index;
    out->spacing[i][0] = orientation->spacing[normal == 0 ? 1 : 0];
    out->spacing[i][1] = orientation->spacing[normal == 2 ? 1 : 2];
    return TNR_OK;
}

static tnr_status cut(const tnr_view *volume, const nifti_orientation *orientation, tnr_domain *domain, slices *out)
{
    for (int i = 0; i < SLICES; i++) {
        int axis = 0;
        int64_t index = 0;
        tnr_view thin;
        slices_place(volume->shape, orientation, i, &axis, &index);
        TRY(tnr_view_slice_axis(volume, axis, (tnr_range){index, index + 1, 1}, &thin));
        TRY(slices_keep(&thin, orientation, i, index, domain, out));
    }
    return TNR_OK;
}

tnr_status slices_take(const tnr_view *volume, const nifti_orientation *orientation, tnr_domain *domain, slices *out)
{
    memset(out, 0, sizeof *out);
    const tnr_status status = cut(volume, orientation, domain, out);
    if (status != TNR_OK) {
        slices_release(out);
    }
    return status;
}

void slices_release(slices *s)
{
    for (int i = 0; i < SLICES; i++) {
        (void)!tnr_tensor_release(&s->plane[i]); /* nothing leases them */
    }
    memset(s, 0, sizeof *s);
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

typedef struct canvas {
    int width;
    int height;
    unsigned char *pixels;
} canvas;

/* One slice as it is drawn: elements, and pixels once voxels are made square. */
typedef struct panel {
    const double *value[2]; /* before and after, row by row */
    int64_t shape[2];
    int width;
    int height;
} panel;

/* Letters that the labels use, seven rows of five dots, the leftmost dot in bit 4. */
typedef struct glyph {
    char letter;
    unsigned char row[GLYPH_HEIGHT];
} glyph;

static const glyph glyphs[] = {
    {'A', {0x0E, 0x11, 0x11, 0x1F, 0x11, 0x11, 0x11}}, {'B', {0x1E, 0x11, 0x11, 0x1E, 0x11, 0x11, 0x1E}},
    {'C', {0x0E, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0E}}, {'D', {0x1E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1E}},
    {'E', {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x1F}}, {'F', {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x10}},
    {'G', {0x0E, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0F}}, {'I', {0x0E, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0E}},
    {'L', {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1F}}, {'N', {0x11, 0x19, 0x15, 0x13, 0x11, 0x11, 0x11}},
    {'O', {0x0E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E}}, {'R', {0x1E, 0x11, 0x11, 0x1E, 0x14, 0x12, 0x11}},
    {'S', {0x0F, 0x10, 0x10, 0x0E, 0x01, 0x01, 0x1E}}, {'T', {0x1F, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04}},
    {'X', {0x11, 0x11, 0x0A, 0x04, 0x0A, 0x11, 0x11}},
};

static void set_pixel(canvas *c, int x, int y, int grey)
{
    if (x >= 0 && x < c->width && y >= 0 && y < c->height) {
        c->pixels[(size_t)y * (size_t)c->width + (size_t)x] = (unsigned char)grey;
    }
}

static void draw_text(canvas *c, int left, int top, const char *text)
{
    for (; *text != '\0'; text++, left += (GLYPH_WIDTH + 1) * DOT) {
        for (size_t g = 0; g < sizeof glyphs / sizeof glyphs[0]; g++) {
            if (glyphs[g].letter != *text) {
                continue;
            }
            for (int i = 0; i < GLYPH_WIDTH * DOT * GLYPH_HEIGHT * DOT; i++) {
                const int x = i % (GLYPH_WIDTH * DOT);
                const int y = i / (GLYPH_WIDTH * DOT);
                if ((glyphs[g].row[y / DOT] >> (GLYPH_WIDTH - 1 - x / DOT) & 1) != 0) {
                    set_pixel(c, left + x, top + y, INK);
                }
            }
        }
    }
}

static int grey(double value, double lowest, double highest)
{
    const double part = highest > lowest ? (value - lowest) / (highest - lowest) : 0.0;
    return (int)(255.0 * fmin(fmax(part, 0.0), 1.0) + 0.5);
}

/* Grey scale of the picture. */
typedef struct scale {
    double lowest;
    double highest;
    double difference;
} scale;

static void draw_panel(canvas *c, int left, int top, const panel *p, int column, const scale *s)
{
    for (int y = 0; y < p->height; y++) {
        const int64_t row = y * p->shape[1] / p->height;
        for (int x = 0; x < p->width; x++) {
            const int64_t at = row * p->shape[0] + x * p->shape[0] / p->width;
            int shade = 0;
            if (column == DIFFERENCE) {
                const double change = p->value[AFTER][at] - p->value[BEFORE][at];
                shade = ZERO_DIFFERENCE + (int)lround(127.0 * change / s->difference);
            } else {
                shade = grey(p->value[column][at], s->lowest, s->highest);
            }
            set_pixel(c, left + x, top + y, shade);
        }
    }
}

/* Pixels of a panel: voxels become squares, nothing grows beyond MAX_PANEL. */
static void size_panel(panel *p, const double spacing[2])
{
    const double smallest = fmin(spacing[0], spacing[1]);
    const double width = (double)p->shape[0] * spacing[0] / smallest;
    const double height = (double)p->shape[1] * spacing[1] / smallest;
    const double shrink = fmin(1.0, MAX_PANEL / fmax(width, height));
    p->width = (int)fmax(1.0, width * shrink + 0.5);
    p->height = (int)fmax(1.0, height * shrink + 0.5);
}

static scale find_scale(const panel panels[SLICES])
{
    scale s = {panels[0].value[BEFORE][0], panels[0].value[BEFORE][0], 0.0};
    for (int i = 0; i < SLICES; i++) {
        for (int64_t at = 0; at < panels[i].shape[0] * panels[i].shape[1]; at++) {
            const double before = panels[i].value[BEFORE][at];
            s.lowest = fmin(s.lowest, before);
            s.highest = fmax(s.highest, before);
            s.difference = fmax(s.difference, fabs(panels[i].value[AFTER][at] - before));
        }
    }
    return s;
}

/* Lay the panels out and write them. `pixels` comes and goes here. */
static bool write_picture(const output *file, const panel panels[SLICES], double *largest,
                          char message[NIFTI_MESSAGE_BYTES])
{
    const int label = GLYPH_HEIGHT * DOT + MARGIN;
    int column_width = (int)(strlen(column_names[DIFFERENCE]) * (GLYPH_WIDTH + 1) * DOT);
    canvas c = {0, MARGIN + label, NULL};
    for (int i = 0; i < SLICES; i++) {
        column_width = panels[i].width > column_width ? panels[i].width : column_width;
        c.height += label + panels[i].height + MARGIN;
    }
    c.width = MARGIN + COLUMNS * (column_width + MARGIN);
    c.pixels = malloc((size_t)c.width * (size_t)c.height);
    if (c.pixels == NULL) {
        return output_refuse(file, "no memory to draw it in", message);
    }
    memset(c.pixels, BACKGROUND, (size_t)c.width * (size_t)c.height);

    scale s = find_scale(panels);
    *largest = s.difference;
    s.difference = s.difference > 0.0 ? s.difference : 1.0;
    for (int column = 0; column < COLUMNS; column++) {
        const int left = MARGIN + column * (column_width + MARGIN);
        int top = MARGIN;
        draw_text(&c, left, top, column_names[column]);
        top += label;
        for (int i = 0; i < SLICES; i++) {
            if (column == 0) {
                draw_text(&c, left, top, row_names[i]);
            }
            top += label;
            draw_panel(&c, left + (column_width - panels[i].width) / 2, top, &panels[i], column, &s);
            top += panels[i].height + MARGIN;
        }
    }

    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)c.width,
                       .height = (png_uint_32)c.height,
                       .format = PNG_FORMAT_GRAY};
    const bool good = png_image_write_to_stdio(&image, file->file, 0, c.pixels, 0, NULL) != 0;
    if (!good) {
        (void)output_refuse(file, image.message, message);
    }
    png_image_free(&image);
    free(c.pixels);
    return good && output_flush(file, message);
}

bool slices_write_png(const output *file, const slices *before, const slices *after, double *largest,
                      char message[NIFTI_MESSAGE_BYTES])
{
    const slices *const both[2] = {before, after};
    tnr_read_map maps[2 * SLICES];
    memset(maps, 0, sizeof maps);
    panel panels[SLICES];
    bool good = true;
    for (int i = 0; good && i < 2 * SLICES; i++) {
        panel *const p = &panels[i / 2];
        tnr_view view;
        good = tnr_tensor_view(both[i % 2]->plane[i / 2], &view) == TNR_OK && tnr_map_read(&view, &maps[i]) == TNR_OK;
        if (good) {
            p->value[i % 2] = maps[i].data;
            p->shape[0] = view.shape[0];
            p->shape[1] = view.shape[1];
            size_panel(p, before->spacing[i / 2]);
        } else {
            (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%s", tnr_last_error());
        }
    }
    good = good && write_picture(file, panels, largest, message);
    for (int i = 0; i < 2 * SLICES; i++) {
        (void)!tnr_unmap_read(&maps[i]);
    }
    return good;
}

void slices_print(const slices *s, const char *path, double largest)
{
    (void)printf("picture            %s\n", path);
    (void)printf("  left to right    before, after, difference (grey is 0, white +%.3g, black -%.3g)\n", largest,
                 largest);
    (void)printf("  top to bottom    axial, coronal and sagittal slice, at voxels %lld, %lld, %lld\n",
                 (long long)s->index[0], (long long)s->index[1], (long long)s->index[2]);
}
