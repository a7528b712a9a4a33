/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * denoise: read a NIfTI volume, smooth its noise and keep its edges, show what happened to values and to storage.
 *
 * The whole main line of the library on real data: bytes are read into a draft that becomes a tensor; each NUMA node that
 * the process may use gets a slab of the volume by a named copy, in memory bound to it; the node's engine works there on
 * shifted views, in place; scratch is made once, and the ledger shows that steps allocate and copy nothing.
 * Bad input of any kind is one line on stderr and exit code 1; no picture is left then.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, fstat, isatty */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tenure/tenure.h>

#include "denoise/nifti.h"
#include "denoise/slabs.h"
#include "denoise/slices_png.h"

static const char usage[] =
    "usage: denoise [options] INPUT.nii[.gz] OUTPUT.png\n"
    "\n"
    "Smooth a volume by Perona-Malik diffusion and draw its middle slices before, after, and the difference.\n"
    "\n"
    "  --steps N   number of steps, 1 to 100000 (default 10)\n"
    "  --kappa K   differences between neighbours well below K are noise, well above K edges\n"
    "              (default: three hundredths of the range of values)\n"
    "  --dt T      length of a step, above 0 and at most 1/6, where it is stable (default 1/7)\n"
    "  --help      this text\n";

enum { DEFAULT_STEPS = 10, MOST_STEPS = 100000 };

static const double default_dt = 1.0 / 7.0;
static const double default_kappa_part = 0.03;

typedef struct options {
    const char *input;
    const char *output;
    long steps;
    double kappa; /* 0: not given */
    double dt;
    bool help;
} options;

/* Everything that must be given back, whichever way the program ends. */
typedef struct program {
    options options;
    nifti_header header;
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_machine *machine;
    tnr_engine *engine; /* the machine's default */
    tnr_tensor *volume;
    tnr_tensor *sum; /* rank 0 */
    slices before;
    slices after;
    slabs slabs;
    FILE *picture;
} program;

/* What the table shows. */
typedef struct figures {
    double mean;
    double lowest;
    double highest;
} figures;

static bool fail(const char *text)
{
    (void)fprintf(stderr, "denoise: %s\n", text);
    return false;
}

/* True when a call of the library succeeded. */
static bool done(tnr_status status) { return status == TNR_OK || fail(tnr_last_error()); }

/* ---- Options ----------------------------------------------------------------------------------------------------- */

static bool bad_option(const char *name, const char *value)
{
    (void)fprintf(stderr, "denoise: %s: \"%s\" is not allowed here (denoise --help)\n", name, value);
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

/* An option with its value: "--name value" or "--name=value". */
static bool take_option(options *o, const char *name, const char *value)
{
    if (strcmp(name, "--steps") == 0) {
        return read_steps(value, &o->steps) || bad_option(name, value);
    }
    if (strcmp(name, "--kappa") == 0) {
        return read_positive(value, HUGE_VAL, &o->kappa) || bad_option(name, value);
    }
    return read_positive(value, PERONA_MALIK_MAX_DT, &o->dt) || bad_option(name, value);
}

static bool take_path(options *o, const char *path)
{
    if (o->input == NULL) {
        o->input = path;
    } else if (o->output == NULL) {
        o->output = path;
    } else {
        return fail("more than two paths (denoise --help)");
    }
    return true;
}

static bool read_options(int count, char **words, options *o)
{
    static const char *const names[] = {"--steps", "--kappa", "--dt"};
    bool only_paths = false;
    for (int i = 1; i < count; i++) {
        const char *word = words[i];
        if (only_paths || word[0] != '-' || word[1] == '\0') {
            if (!take_path(o, word)) {
                return false;
            }
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
        const char *name = NULL;
        const char *value = NULL;
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            const size_t length = strlen(names[n]);
            if (strncmp(word, names[n], length) == 0 && (word[length] == '\0' || word[length] == '=')) {
                name = names[n];
                value = word[length] == '=' ? word + length + 1 : NULL;
            }
        }
        if (name == NULL) {
            (void)fprintf(stderr, "denoise: unknown option %s (denoise --help)\n", word);
            return false;
        }
        if (value == NULL) {
            if (++i == count) {
                (void)fprintf(stderr, "denoise: %s needs a value (denoise --help)\n", name);
                return false;
            }
            value = words[i];
        }
        if (!take_option(o, name, value)) {
            return false;
        }
    }
    return o->output != NULL || fail("needs an input and an output (denoise --help)");
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

static bool find_figures(program *p, figures *f)
{
    static const int axes[3] = {0, 1, 2};
    tnr_view view;
    tnr_view_mut scalar;
    double total = 0.0;
    if (!done(tnr_tensor_view(p->volume, &view)) || !done(tnr_tensor_view_mut(p->sum, &scalar)) ||
        !done(tnr_sum_into(p->engine, &view, axes, 3, &scalar)) || !done(tnr_view_get(&scalar.view, NULL, &total)) ||
        !done(tnr_min_into(p->engine, &view, axes, 3, &scalar)) ||
        !done(tnr_view_get(&scalar.view, NULL, &f->lowest)) ||
        !done(tnr_max_into(p->engine, &view, axes, 3, &scalar)) ||
        !done(tnr_view_get(&scalar.view, NULL, &f->highest))) {
        return false;
    }
    f->mean = total / ((double)view.shape[0] * (double)view.shape[1] * (double)view.shape[2]);
    return true;
}

/* What the ledgers of the heap and of each node's memory say, all reasons together. */
typedef struct storage_count {
    uint64_t tensors;
    uint64_t copies;
    uint64_t blocks; /* every block that the heap ever handed out: handles, scratch and state too */
} storage_count;

static bool add_ledger(tnr_domain *domain, storage_count *count)
{
    tnr_ledger ledger;
    tnr_ledger_entry made;
    tnr_ledger_entry copied;
    if (!done(tnr_ledger_get(domain, &ledger))) {
        return false;
    }
    tnr_ledger_total(&ledger, &made, &copied);
    count->tensors += made.count;
    count->copies += copied.count;
    return true;
}

static bool count_storage(const program *p, storage_count *count)
{
    memset(count, 0, sizeof *count);
    bool good = add_ledger(p->heap, count);
    for (int i = 0; i < p->slabs.count && good; i++) {
        good = add_ledger(tnr_engine_pool(p->slabs.slab[i].engine), count);
    }
    tnr_domain_statistics statistics;
    if (!good || !done(tnr_domain_statistics_get(p->heap, &statistics))) {
        return false;
    }
    count->blocks = statistics.allocations;
    return true;
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- The main line ----------------------------------------------------------------------------------------------- */

static bool read_volume(program *p)
{
    char message[NIFTI_MESSAGE_BYTES];
    tnr_machine_options machine = TNR_MACHINE_OPTIONS;
    machine.pool_max_bytes = 0; /* everything is made once */
    if (!done(tnr_check_build()) || !done(tnr_heap_create(&p->heap)) ||
        !done(tnr_topology_create(p->heap, NULL, &p->topology)) ||
        !done(tnr_machine_create(p->heap, p->topology, &machine, &p->machine)) ||
        !done(tnr_machine_engine(p->machine, TNR_NONE, &p->engine)) ||
        !done(tnr_tensor_zeros(p->heap, TNR_F64, 0, NULL, &p->sum))) {
        return false;
    }
    return nifti_read(p->options.input, p->heap, &p->header, &p->volume, message) || fail(message);
}

/* Open the picture before the work, so that a path that cannot be written costs nobody a minute. */
static bool open_picture(program *p)
{
    struct stat input;
    struct stat output;
    if (stat(p->options.input, &input) == 0 && stat(p->options.output, &output) == 0 && input.st_dev == output.st_dev &&
        input.st_ino == output.st_ino) {
        return fail("the output would replace the input");
    }
    p->picture = fopen(p->options.output, "wb");
    if (p->picture == NULL) {
        (void)fprintf(stderr, "denoise: %s: cannot be written: %s\n", p->options.output, strerror(errno));
        return false;
    }
    return true;
}

static bool run_steps(program *p)
{
    const bool terminal = isatty(STDERR_FILENO) != 0;
    for (long step = 0; step < p->options.steps; step++) {
        if (terminal) {
            (void)fprintf(stderr, "\rstep %ld of %ld", step + 1, p->options.steps);
        }
        if (slabs_step(&p->slabs) != TNR_OK) {
            return fail(tnr_last_error());
        }
    }
    if (terminal) {
        (void)fprintf(stderr, "\r%40s\r", "");
    }
    return true;
}

static bool write_picture(program *p, double *largest)
{
    char message[NIFTI_MESSAGE_BYTES];
    bool good = slices_write_png(p->picture, &p->before, &p->after, largest, message);
    if (good && fflush(p->picture) != 0) {
        (void)snprintf(message, sizeof message, "%s", strerror(errno));
        good = false;
    }
    if (!good) {
        (void)fprintf(stderr, "denoise: %s: cannot be written: %s\n", p->options.output, message);
    }
    return good;
}

static void print_table(const program *p, const figures *before, const figures *after, double elapsed)
{
    const int64_t *shape = p->header.shape;
    const double voxels = (double)(shape[0] * shape[1] * shape[2]);
    const double per_step = elapsed / (double)p->options.steps;
    (void)printf("input              %s: %lld x %lld x %lld, %s\n", p->options.input, (long long)shape[0],
                 (long long)shape[1], (long long)shape[2], p->header.type);
    (void)printf("voxels             %.0f\n", voxels);
    (void)printf("steps              %ld, kappa %g, dt %.6g\n", p->options.steps, p->options.kappa, p->options.dt);
    (void)printf("                   %20s %20s\n", "before", "after");
    (void)printf("mean               %20.12f %20.12f\n", before->mean, after->mean);
    (void)printf("min                %20.12f %20.12f\n", before->lowest, after->lowest);
    (void)printf("max                %20.12f %20.12f\n", before->highest, after->highest);
    (void)printf("time per step      %.3f s\n", per_step);
    (void)printf("voxels per second  %.3g\n", voxels / per_step);
}

/* Where each slab is: asked for, bound, and really there. */
static bool print_places(const program *p)
{
    (void)printf("slabs              %20s %20s %20s\n", "planes", "engine", "memory");
    for (int i = 0; i < p->slabs.count; i++) {
        const slab *s = &p->slabs.slab[i];
        tnr_engine_info engine;
        tnr_tensor_info tensor;
        tnr_residence residence;
        const void *data = NULL;
        char planes[48];
        char worker[48];
        char memory[64];
        if (!done(tnr_engine_describe(s->engine, &engine)) || !done(tnr_tensor_describe(s->volume, &tensor)) ||
            !done(tnr_tensor_host_data(s->volume, &data))) {
            return false;
        }
        (void)snprintf(planes, sizeof planes, "%lld to %lld", (long long)s->first,
                       (long long)(s->first + s->planes - 1));
        (void)snprintf(worker, sizeof worker, "node %d, %d worker%s", tnr_machine_node_at(p->machine, i),
                       engine.workers, engine.workers == 1 ? "" : "s");
        const int node = tensor.placement.cpu_affinity;
        if (node == TNR_NONE) {
            (void)snprintf(memory, sizeof memory, "not bound");
        } else if (tnr_residence_of(data, tensor.bytes, node, &residence) == TNR_OK) {
            (void)snprintf(memory, sizeof memory, "node %d (%llu of %llu pages)", node,
                           (unsigned long long)residence.at_node, (unsigned long long)residence.pages);
        } else {
            (void)snprintf(memory, sizeof memory, "node %d (not verified)", node);
        }
        (void)printf("  %-16d %20s %20s %20s\n", i, planes, worker, memory);
    }
    return true;
}

static void print_storage(const storage_count *before, const storage_count *after)
{
    (void)printf("ledger             %20s %20s\n", "before the steps", "after the steps");
    (void)printf("  tensors made     %20llu %20llu\n", (unsigned long long)before->tensors,
                 (unsigned long long)after->tensors);
    (void)printf("  copies           %20llu %20llu\n", (unsigned long long)before->copies,
                 (unsigned long long)after->copies);
    (void)printf("  blocks of heap   %20llu %20llu\n", (unsigned long long)before->blocks,
                 (unsigned long long)after->blocks);
}

static void print_picture(const program *p, double largest)
{
    (void)printf("picture            %s\n", p->options.output);
    (void)printf("  left to right    before, after, difference (grey is 0, white +%.3g, black -%.3g)\n", largest,
                 largest);
    (void)printf("  top to bottom    axial, coronal and sagittal slice, at voxels %lld, %lld, %lld\n",
                 (long long)p->before.index[0], (long long)p->before.index[1], (long long)p->before.index[2]);
}

static bool run(program *p)
{
    figures before;
    figures after;
    storage_count storage_before;
    storage_count storage_after;
    tnr_view_mut volume;
    double largest = 0.0;

    if (!read_volume(p) || !open_picture(p) || !find_figures(p, &before)) {
        return false;
    }
    if (p->options.kappa == 0.0) {
        p->options.kappa = before.highest > before.lowest ? default_kappa_part * (before.highest - before.lowest) : 1.0;
    }
    if (!done(tnr_tensor_view_mut(p->volume, &volume)) ||
        !done(slices_take(&volume.view, &p->header.orientation, p->heap, &p->before)) ||
        !done(slabs_cut(p->machine, &volume.view, p->options.kappa, p->options.dt, &p->slabs)) ||
        !count_storage(p, &storage_before)) {
        return false;
    }

    const double start = seconds();
    if (!run_steps(p)) {
        return false;
    }
    const double elapsed = seconds() - start;

    if (!count_storage(p, &storage_after) || !done(slabs_join(&p->slabs, &volume)) || !find_figures(p, &after) ||
        !done(slices_take(&volume.view, &p->header.orientation, p->heap, &p->after)) || !write_picture(p, &largest)) {
        return false;
    }
    print_table(p, &before, &after, elapsed);
    if (!print_places(p)) {
        return false;
    }
    print_storage(&storage_before, &storage_after);
    print_picture(p, largest);
    return fflush(stdout) == 0 || fail("standard output cannot be written");
}

/* Give everything back. A picture that did not become whole goes too, if it is a file. */
static bool clean_up(program *p, bool good)
{
    if (p->picture != NULL) {
        struct stat status;
        const bool file = fstat(fileno(p->picture), &status) == 0 && S_ISREG(status.st_mode);
        if (fclose(p->picture) != 0 && good) {
            good = fail("the picture cannot be written");
        }
        if (!good && file) {
            (void)remove(p->options.output);
        }
    }
    slabs_release(&p->slabs);
    slices_release(&p->before);
    slices_release(&p->after);
    const bool clean = tnr_tensor_release(&p->sum) == TNR_OK && tnr_tensor_release(&p->volume) == TNR_OK &&
                       tnr_machine_destroy(&p->machine) == TNR_OK && tnr_topology_destroy(&p->topology) == TNR_OK &&
                       tnr_domain_close(&p->heap) == TNR_OK;
    if (good && !clean) {
        good = fail(tnr_last_error());
    }
    return good;
}

int main(int count, char **words)
{
    program p = {.options = {.steps = DEFAULT_STEPS, .dt = default_dt}};
    if (!read_options(count, words, &p.options)) {
        return 1;
    }
    if (p.options.help) {
        return fputs(usage, stdout) == EOF ? 1 : 0;
    }
    const bool good = run(&p);
    return clean_up(&p, good) ? 0 : 1;
}
