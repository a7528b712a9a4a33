/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perona_malik.h"

static const char usage[] =
    " [options] INPUT.nii[.gz] OUTPUT.png\n"
    "\n"
    "Smooth a volume by Perona-Malik diffusion and draw its middle slices before, after, and the difference.\n"
    "\n"
    "  --steps N      number of steps, 1 to 100000 (default 10)\n"
    "  --kappa K      differences between neighbours well below K are noise, well above K edges\n"
    "                 (default: three hundredths of the range of values)\n"
    "  --dt T         length of a step, above 0 and at most 1/6, where it is stable (default 1/7)\n"
    "  --voxels FILE  write the smoothed voxels too: float64 of this machine, x fastest, no header\n";

static const char usage_of_help[] = "  --help         this text\n";

static const char usage_of_engine[] =
    "  --engine E     where the steps are computed: cpu (default), or cuda, the first NVIDIA device;\n"
    "                 exit code 2 where there is none\n";

static const char usage_of_ranks[] = "  --no-shared    send messages of MPI between the ranks of a host too\n";

enum { DEFAULT_STEPS = 10, MOST_STEPS = 100000 };

static const double default_dt = 1.0 / 7.0;
static const double default_kappa_part = 0.03;

static bool refuse(char message[NIFTI_MESSAGE_BYTES], const char *text)
{
    (void)snprintf(message, NIFTI_MESSAGE_BYTES, "%s (see --help)", text);
    return false;
}

static bool read_steps(const char *value, long *steps)
{
    char *end = NULL;
    errno = 0;
    *steps = strtol(value, &end, 10);
    return errno == 0 && end != value && *end == '\0' && *steps >= 1 && *steps <= MOST_STEPS;
}

static bool read_positive(const char *value, double most, double *number)
{
    char *end = NULL;
    *number = strtod(value, &end);
    return end != value && *end == '\0' && isfinite(*number) && *number > 0.0 && *number <= most;
}

static bool take_option(options *o, const char *name, const char *value)
{
    if (strcmp(name, "--steps") == 0) {
        return read_steps(value, &o->steps);
    }
    if (strcmp(name, "--kappa") == 0) {
        return read_positive(value, HUGE_VAL, &o->kappa);
    }
    if (strcmp(name, "--dt") == 0) {
        return read_positive(value, PERONA_MALIK_MAX_DT, &o->dt);
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
    static const char *const names[] = {"--steps", "--kappa", "--dt", "--voxels", "--engine"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const size_t length = strlen(names[n]);
        if (strncmp(word, names[n], length) == 0 && (word[length] == '\0' || word[length] == '=')) {
            *value = word[length] == '=' ? word + length + 1 : NULL;
            return names[n];
        }
    }
    return NULL;
}

bool options_read(int count, char **words, bool ranks, options *o, char message[NIFTI_MESSAGE_BYTES])
{
    bool only_paths = false;
    *o = (options){.steps = DEFAULT_STEPS, .dt = default_dt};
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        const char *value = NULL;
        if (only_paths || word[0] != '-' || word[1] == '\0') {
            if (o->output != NULL) {
                return refuse(message, "more than two paths");
            }
            *(o->input == NULL ? &o->input : &o->output) = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_paths = true;
            continue;
        }
        if (strcmp(word, "--help") == 0) {
            o->help = true;
            return true;
        }
        if (ranks && strcmp(word, "--no-shared") == 0) {
            o->no_shared = true;
            continue;
        }
        const char *name = find_option(word, &value);
        if (name == NULL || (ranks && strcmp(name, "--engine") == 0)) {
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
    if (o->output == NULL) {
        return refuse(message, "needs an input and an output");
    }
    return o->voxels == NULL || strcmp(o->voxels, o->output) != 0 ||
           refuse(message, "picture and voxels have one path");
}

double options_default_kappa(double lowest, double highest)
{
    return highest > lowest ? default_kappa_part * (highest - lowest) : 1.0;
}

bool options_print_usage(bool ranks)
{
    const char *command = ranks ? "mpirun -n RANKS denoise-mpi" : "denoise";
    return printf("usage: %s%s%s%s", command, usage, ranks ? usage_of_ranks : usage_of_engine, usage_of_help) >= 0 &&
           fflush(stdout) == 0;
}
