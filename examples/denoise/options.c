/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perona_malik.h"
#include "words.h"

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

static bool read_positive(const char *value, double most, double *number)
{
    char *end = NULL;
    *number = strtod(value, &end);
    return end != value && *end == '\0' && isfinite(*number) && *number > 0.0 && *number <= most;
}

static bool take_engine(const char *value, void *of) { return engine_choice_read(value, &((options *)of)->engine); }

static bool take_steps(const char *value, void *of)
{
    long *steps = &((options *)of)->steps;
    char *end = NULL;
    errno = 0;
    *steps = strtol(value, &end, 10);
    return errno == 0 && end != value && *end == '\0' && *steps >= 1 && *steps <= MOST_STEPS;
}

static bool take_kappa(const char *value, void *of) { return read_positive(value, HUGE_VAL, &((options *)of)->kappa); }

static bool take_dt(const char *value, void *of)
{
    return read_positive(value, PERONA_MALIK_MAX_DT, &((options *)of)->dt);
}

static bool take_voxels(const char *value, void *of)
{
    ((options *)of)->voxels = value;
    return *value != '\0';
}

static bool take_no_shared(const char *value, void *of)
{
    (void)value;
    ((options *)of)->no_shared = true;
    return true;
}

/* denoise has all but the last of them, denoise-mpi all but the first. */
static const word_option known[] = {
    {"--engine", false, take_engine}, {"--steps", false, take_steps},   {"--kappa", false, take_kappa},
    {"--dt", false, take_dt},         {"--voxels", false, take_voxels}, {"--no-shared", true, take_no_shared},
};

bool options_read(int count, char **list, bool ranks, options *o, char message[NIFTI_MESSAGE_BYTES])
{
    words paths;
    *o = (options){.steps = DEFAULT_STEPS, .dt = default_dt};
    if (!words_read(count, list, ranks ? known + 1 : known, sizeof known / sizeof known[0] - 1, o, &paths, message)) {
        return false;
    }
    o->input = paths.input;
    o->output = paths.output;
    o->help = paths.help;
    return o->help || o->voxels == NULL || strcmp(o->voxels, o->output) != 0 ||
           words_refuse(message, "picture and voxels have one path");
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
