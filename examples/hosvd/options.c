/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "denoise/words.h"

static const char usage[] =
    "usage: hosvd [options] INPUT.nii[.gz] OUTPUT.png\n"
    "\n"
    "Compress a volume to a small core and a factor per axis (truncated higher-order SVD), check the error against "
    "what was left\n"
    "out, and draw the middle slices before, after, and the difference.\n"
    "\n"
    "  --error E      relative error to stay below, 1e-6 to less than 1 (default 0.05); decides the ranks\n"
    "  --ranks R,S,T  the ranks themselves, one per axis of the file\n"
    "  --plain        factors of the volume itself, and not of what the axes before have left\n"
    "  --workers N    at most so many cores, 1 to 4096 (default: all of one memory node)\n"
    "  --engine E     where tensors are contracted: cpu (default), or cuda, the first NVIDIA device; exit code 2\n"
    "                 where there is none\n"
    "  --voxels FILE  write the rebuilt voxels too: float64 of this machine, x fastest, no header\n"
    "  --help         this text\n";

enum { MOST_EXTENT = 32767, MOST_WORKERS = 4096 }; /* a NIfTI extent has 16 bits */

static const double default_error = 0.05;

/* A number from 1 to `most` that `end_at` ends. */
static bool read_count(const char **text, char end_at, long most, long *number)
{
    char *end = NULL;
    if (**text < '0' || **text > '9') { /* strtol takes signs and blanks */
        return false;
    }
    errno = 0;
    *number = strtol(*text, &end, 10);
    if (errno != 0 || *end != end_at || *number < 1 || *number > most) {
        return false;
    }
    *text = end_at == '\0' ? end : end + 1;
    return true;
}

static bool take_error(const char *value, void *of)
{
    double *error = &((hosvd_options *)of)->error;
    char *end = NULL;
    *error = strtod(value, &end);
    return end != value && *end == '\0' && *error >= TUCKER_LEAST_ERROR && *error < 1.0;
}

static bool take_ranks(const char *value, void *of)
{
    hosvd_options *o = of;
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        long rank = 0;
        if (!read_count(&value, mode + 1 < TUCKER_MODES ? ',' : '\0', MOST_EXTENT, &rank)) {
            return false;
        }
        o->ranks[mode] = rank;
    }
    o->ranks_given = true;
    return true;
}

static bool take_plain(const char *value, void *of)
{
    (void)value;
    ((hosvd_options *)of)->plain = true;
    return true;
}

static bool take_workers(const char *value, void *of)
{
    long workers = 0;
    const bool good = read_count(&value, '\0', MOST_WORKERS, &workers);
    ((hosvd_options *)of)->workers = (int)workers;
    return good;
}

static bool take_engine(const char *value, void *of)
{
    return engine_choice_read(value, &((hosvd_options *)of)->engine);
}

static bool take_voxels(const char *value, void *of)
{
    ((hosvd_options *)of)->voxels = value;
    return *value != '\0';
}

static const word_option known[] = {
    {"--error", false, take_error},     {"--ranks", false, take_ranks},   {"--plain", true, take_plain},
    {"--workers", false, take_workers}, {"--engine", false, take_engine}, {"--voxels", false, take_voxels},
};

bool hosvd_options_read(int count, char **list, hosvd_options *o, char message[NIFTI_MESSAGE_BYTES])
{
    words paths;
    *o = (hosvd_options){.error = 0.0};
    if (!words_read(count, list, known, sizeof known / sizeof known[0], o, &paths, message)) {
        return false;
    }
    o->input = paths.input;
    o->output = paths.output;
    o->help = paths.help;
    if (o->help) {
        return true;
    }
    if (o->ranks_given && o->error != 0.0) {
        return words_refuse(message, "--error and --ranks: one decides the other");
    }
    o->error = o->error != 0.0 ? o->error : default_error;
    return o->voxels == NULL || strcmp(o->voxels, o->output) != 0 ||
           words_refuse(message, "picture and voxels have one path");
}

bool hosvd_options_print_usage(void) { return fputs(usage, stdout) >= 0 && fflush(stdout) == 0; }
