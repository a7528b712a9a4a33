/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool refuse(char message[NIFTI_MESSAGE_BYTES], const char *text)
{
    (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%s (see --help)", text);
    return false;
}

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

static bool read_ranks(const char *value, hosvd_options *o)
{
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

static bool read_error(const char *value, double *error)
{
    char *end = NULL;
    *error = strtod(value, &end);
    return end != value && *end == '\0' && *error >= TUCKER_LEAST_ERROR && *error < 1.0;
}

static bool take_option(hosvd_options *o, const char *name, const char *value)
{
    if (strcmp(name, "--error") == 0) {
        return read_error(value, &o->error);
    }
    if (strcmp(name, "--ranks") == 0) {
        return read_ranks(value, o);
    }
    if (strcmp(name, "--workers") == 0) {
        long workers = 0;
        const bool good = read_count(&value, '\0', MOST_WORKERS, &workers);
        o->workers = (int)workers;
        return good;
    }
    if (strcmp(name, "--engine") == 0) {
        return engine_choice_read(value, &o->engine);
    }
    o->voxels = value;
    return *value != '\0';
}

/* The option that a word begins with, or NULL; *value when it follows in the same word. */
static const char *find_option(const char *word, const char **value)
{
    static const char *const names[] = {"--error", "--ranks", "--workers", "--voxels", "--engine"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const size_t length = strlen(names[n]);
        if (strncmp(word, names[n], length) == 0 && (word[length] == '\0' || word[length] == '=')) {
            *value = word[length] == '=' ? word + length + 1 : NULL;
            return names[n];
        }
    }
    return NULL;
}

bool hosvd_options_read(int count, char **words, hosvd_options *o, char message[NIFTI_MESSAGE_BYTES])
{
    bool only_paths = false;
    *o = (hosvd_options){.error = 0.0};
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        const char *value = NULL;
        if (only_paths || word[0] != '-' || word[1] == '\0') {
            if (o->output != NULL) {
                return refuse(message, "more than two paths");
            }
            *(o->input == NULL ? &o->input : &o->output) = word;
        } else if (strcmp(word, "--") == 0) {
            only_paths = true;
        } else if (strcmp(word, "--help") == 0) {
            o->help = true;
            return true;
        } else if (strcmp(word, "--plain") == 0) {
            o->plain = true;
        } else {
            const char *name = find_option(word, &value);
            if (name == NULL) {
                (void)snprintf(message, NIFTI_MESSAGE_BYTES, "unknown option %.200s (see --help)", word);
                return false;
            }
            if (value == NULL && ++i < count) {
                value = words[i];
            }
            if (value == NULL) {
                (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%s needs a value (see --help)", name);
                return false;
            }
            if (!take_option(o, name, value)) {
                (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%s: \"%.200s\" is not allowed here (see --help)", name,
                               value);
                return false;
            }
        }
    }
    if (o->output == NULL) {
        return refuse(message, "needs an input and an output");
    }
    if (o->ranks_given && o->error != 0.0) {
        return refuse(message, "--error and --ranks: one decides the other");
    }
    o->error = o->error != 0.0 ? o->error : default_error;
    return o->voxels == NULL || strcmp(o->voxels, o->output) != 0 ||
           refuse(message, "picture and voxels have one path");
}

bool hosvd_options_print_usage(void) { return fputs(usage, stdout) >= 0 && fflush(stdout) == 0; }
