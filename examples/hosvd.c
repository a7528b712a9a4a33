/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosvd: read a NIfTI volume, compress it by a truncated higher-order singular value decomposition, and hold what it cost in accuracy
 * against what theory says.
 *
 * Contractions on real data: Gram matrices, mode products and the volume made again are tnr_contract and tnr_einsum on views
 * (hosvd/tucker.c); nothing is unfolded or transposed, and the ledger at the end shows that nothing was copied. All tensors are in
 * the memory of one node, through the pool of its engine. The three small eigenproblems are LAPACK's. With --engine cuda the tensors are
 * in a device's memory: the volume is uploaded once, what was made again is downloaded once, and the eigenproblems go there and back.
 *
 * The error is measured on the volume that was made again. When it is not what the discarded spectrum says, when anything fails, or the
 * input is bad: one line on stderr and exit code 1, or 2 when a device was asked for and there is none; no picture is left then.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <tenure/tenure.h>

#include "denoise/nifti.h"
#include "denoise/output.h"
#include "denoise/slices_png.h"
#include "device/near.h"
#include "hosvd/options.h"
#include "hosvd/tucker.h"

/* Everything that must be given back, whichever way the program ends. */
typedef struct program {
    hosvd_options options;
    nifti_header header;
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_machine *machine;
    device *device;     /* NULL: CPUs */
    tnr_engine *engine; /* the machine's default, or the device's */
    tnr_domain *memory; /* where the engine makes its outputs; the volume is there too */
    tnr_domain *host;   /* what is read; with CPUs that is the same */
    tnr_tensor *volume; /* as it was read */
    tnr_tensor *upload; /* the same on the device */
    tucker tucker;
    tnr_tensor *rebuilt;
    tnr_tensor *download; /* the same from the device */
    slices before;
    slices after;
    output picture;
    output voxels;
    int code; /* of a failure */
} program;

/* What is found out and printed. */
typedef struct results {
    double reading; /* seconds */
    tucker_cost rebuilding;
    tnr_contraction_path path;
    double error; /* norm of the difference */
    double largest;
} results;

static bool fail(const char *text)
{
    (void)fprintf(stderr, "hosvd: %s\n", text);
    return false;
}

/* True when a call of the library succeeded. */
static bool done(tnr_status status) { return status == TNR_OK || fail(tnr_last_error()); }

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- The main line ----------------------------------------------------------------------------------------------- */

static bool begin_device(program *p)
{
    char reason[DEVICE_TEXT_BYTES];
    char text[DEVICE_TEXT_BYTES + 16];
    switch (device_open(p->heap, &p->device, reason)) {
    case DEVICE_OPENED:
        p->engine = device_engine(p->device);
        p->memory = tnr_engine_output(p->engine);
        return true;
    case DEVICE_NONE:
        p->code = DEVICE_EXIT_NONE;
        (void)snprintf(text, sizeof text, "no device: %s", reason);
        return fail(text);
    case DEVICE_FAILED:
        break;
    }
    return fail(tnr_last_error());
}

static bool begin(program *p)
{
    tnr_machine_options machine = TNR_MACHINE_OPTIONS;
    machine.workers = p->options.workers;
    if (!done(tnr_check_build()) || !done(tnr_heap_create(&p->heap)) ||
        !done(tnr_topology_create(p->heap, NULL, &p->topology)) ||
        !done(tnr_machine_create(p->heap, p->topology, &machine, &p->machine)) ||
        !done(tnr_machine_engine(p->machine, TNR_NONE, &p->engine))) {
        return false;
    }
    p->memory = tnr_engine_output(p->engine);
    p->host = p->memory;
    return p->options.engine == ENGINE_CPU || begin_device(p);
}

static bool read_volume(program *p, results *r)
{
    const hosvd_options *o = &p->options;
    char message[NIFTI_MESSAGE_BYTES];
    const double start = seconds();
    if (!nifti_read(o->input, p->host, &p->header, &p->volume, message)) {
        return fail(message);
    }
    r->reading = seconds() - start;
    for (int mode = 0; mode < TUCKER_MODES && o->ranks_given; mode++) {
        if (o->ranks[mode] > p->header.shape[mode]) {
            (void)snprintf(message, sizeof message, "rank %lld along axis %d, which is %lld long",
                           (long long)o->ranks[mode], mode, (long long)p->header.shape[mode]);
            return fail(message);
        }
    }
    return (output_open(&p->picture, o->output, o->input, message) &&
            (o->voxels == NULL || output_open(&p->voxels, o->voxels, o->input, message))) ||
           fail(message);
}

static bool compress(program *p, const tnr_view *volume, results *r)
{
    const hosvd_options *o = &p->options;
    return done(tucker_decompose(p->engine, p->device, volume, !o->plain, o->error, o->ranks_given ? o->ranks : NULL,
                                 &p->tucker)) &&
           done(tucker_rebuild(&p->tucker, &p->rebuilt, &r->path, &r->rebuilding));
}

/* The rebuilt volume is looked at first: then the difference takes its place. */
static bool compare(program *p, const tnr_view *volume, results *r)
{
    char message[NIFTI_MESSAGE_BYTES];
    tnr_view_mut rebuilt;
    tnr_view read;
    tnr_view made;
    if (!done(tnr_tensor_view_mut(p->rebuilt, &rebuilt)) || !done(tnr_tensor_view(p->volume, &read)) ||
        (p->device != NULL && !done(device_get(p->engine, &rebuilt.view, p->host, &p->download))) ||
        !done(tnr_tensor_view(p->device != NULL ? p->download : p->rebuilt, &made)) ||
        !done(slices_take(&read, &p->header.orientation, p->heap, &p->before)) ||
        !done(slices_take(&made, &p->header.orientation, p->heap, &p->after))) {
        return false;
    }
    if (!slices_write_png(&p->picture, &p->before, &p->after, &r->largest, message) ||
        (p->options.voxels != NULL &&
         !output_write(&p->voxels, p->device != NULL ? p->download : p->rebuilt, message))) {
        return fail(message);
    }
    return done(tnr_sub_into(p->engine, &rebuilt.view, volume, &rebuilt)) &&
           done(tucker_norm(p->engine, &rebuilt.view, &r->error));
}

/* ---- What is printed ----------------------------------------------------------------------------------------------- */

static double relative(const program *p, double square)
{
    return p->tucker.norm > 0.0 ? sqrt(square) / p->tucker.norm : 0.0;
}

static void print_cost(const char *name, const tucker_cost *cost)
{
    (void)printf("  %-16s %10.4f s", name, cost->seconds);
    if (cost->flops > 0.0 && cost->seconds > 0.0) {
        (void)printf("  %8.1f Gflop/s", 1e-9 * cost->flops / cost->seconds);
    }
    (void)printf("\n");
}

static void add_cost(tucker_cost *sum, const tucker_cost *cost)
{
    sum->seconds += cost->seconds;
    sum->flops += cost->flops;
}

static bool print_head(const program *p)
{
    const int64_t *shape = p->header.shape;
    tnr_engine_info engine;
    if (!done(tnr_engine_describe(p->engine, &engine))) {
        return false;
    }
    (void)printf("input              %s: %lld x %lld x %lld, %s\n", p->options.input, (long long)shape[0],
                 (long long)shape[1], (long long)shape[2], p->header.type);
    if (p->device != NULL) {
        (void)printf("device             %s, products by %s\n", device_name(p->device), engine.blas);
    } else {
        (void)printf("workers            %d\n", engine.workers);
    }
    (void)printf("method             %s, ", p->options.plain ? "plain" : "sequential");
    if (p->options.ranks_given) {
        (void)printf("ranks given\n");
    } else {
        (void)printf("relative error at most %g\n", p->options.error);
    }
    return true;
}

static void print_modes(const program *p)
{
    (void)printf("axis               %12s %12s %20s\n", "extent", "rank", "left out, relative");
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        const tucker_mode *m = &p->tucker.mode[mode];
        (void)printf("  %-16d %12lld %12lld %20.6e\n", mode, (long long)m->extent, (long long)m->rank,
                     relative(p, m->left_out));
    }
    const double before = (double)p->header.shape[0] * (double)p->header.shape[1] * (double)p->header.shape[2];
    const int64_t after = tucker_numbers(&p->tucker);
    (void)printf("numbers            %.0f before, %lld after\n", before, (long long)after);
    (void)printf("compression ratio  %.2f\n", before / (double)after);
}

static void print_times(const program *p, const results *r)
{
    tucker_cost gram = {0.0, 0.0};
    tucker_cost eigen = {0.0, 0.0};
    tucker_cost product = {0.0, 0.0};
    const tucker_cost reading = {r->reading, 0.0};
    for (int mode = 0; mode < TUCKER_MODES; mode++) {
        add_cost(&gram, &p->tucker.mode[mode].gram);
        add_cost(&eigen, &p->tucker.mode[mode].eigen);
        add_cost(&product, &p->tucker.mode[mode].product);
    }
    (void)printf("time\n");
    print_cost("reading", &reading);
    print_cost("Gram matrices", &gram);
    print_cost("eigenvectors", &eigen);
    print_cost("mode products", &product);
    print_cost("rebuilding", &r->rebuilding);
}

/* How the four operands of the rebuilding were contracted. */
static bool print_path(const results *r)
{
    char text[2048];
    if (!done(tnr_einsum_format(&r->path, text, sizeof text, NULL))) {
        return false;
    }
    (void)printf("rebuilding: %s", text);
    return true;
}

/* What the ledger of the tensors' memory says. */
static bool print_storage(const program *p)
{
    tnr_domain *node = p->memory;
    tnr_domain_statistics statistics;
    tnr_ledger ledger;
    tnr_ledger_entry made;
    tnr_ledger_entry copied;
    if ((p->device == NULL && !done(tnr_machine_domain(p->machine, TNR_NONE, &node))) ||
        !done(tnr_domain_statistics_get(node, &statistics)) || !done(tnr_ledger_get(p->memory, &ledger))) {
        return false;
    }
    tnr_ledger_total(&ledger, &made, &copied);
    (void)printf("ledger             %llu tensors made, %llu copies, at most %.1f MiB of memory\n",
                 (unsigned long long)made.count, (unsigned long long)copied.count,
                 (double)statistics.peak_bytes / 1048576.0);
    return true;
}

/* The measured error against the spectrum that was left out. */
static bool check_error(const program *p, const results *r)
{
    const tucker_bound bound = tucker_bound_of(&p->tucker);
    const double square = r->error * r->error;
    const bool good = tucker_bound_holds(&bound, square);
    (void)printf("relative error     %.6e\n", relative(p, square));
    (void)printf("  by the spectrum  ");
    if (!p->tucker.sequential) {
        (void)printf("%.6e to ", relative(p, bound.least));
    }
    (void)printf("%.6e, its square to %.1e: %s\n", relative(p, bound.most),
                 p->tucker.norm > 0.0 ? bound.rounding / (p->tucker.norm * p->tucker.norm) : 0.0,
                 good ? "good" : "WRONG");
    return good || fail("the error is not what the discarded spectrum says");
}

static bool run(program *p)
{
    results r = {.error = 0.0};
    tnr_view volume;
    if (!begin(p) || !read_volume(p, &r) || !done(tnr_tensor_view(p->volume, &volume)) ||
        (p->device != NULL &&
         (!done(near_put(p->engine, &volume, p->memory, &p->upload)) || !done(tnr_tensor_view(p->upload, &volume)))) ||
        !compress(p, &volume, &r) || !compare(p, &volume, &r) || !print_head(p)) {
        return false;
    }
    print_modes(p);
    if (!check_error(p, &r)) {
        return false;
    }
    print_times(p, &r);
    if (!print_path(&r) || !print_storage(p)) {
        return false;
    }
    slices_print(&p->before, p->options.output, r.largest);
    return fflush(stdout) == 0 || fail("standard output cannot be written");
}

/* Give everything back. Files that did not become whole go too. */
static bool clean_up(program *p, bool good)
{
    char message[NIFTI_MESSAGE_BYTES];
    if (!output_close(&p->voxels, good, message)) {
        good = fail(message);
    }
    if (!output_close(&p->picture, good, message)) {
        good = fail(message);
    }
    slices_release(&p->before);
    slices_release(&p->after);
    tucker_release(&p->tucker);
    const bool clean = tnr_tensor_release(&p->rebuilt) == TNR_OK && tnr_tensor_release(&p->upload) == TNR_OK &&
                       tnr_tensor_release(&p->download) == TNR_OK && tnr_tensor_release(&p->volume) == TNR_OK &&
                       device_close(&p->device) == TNR_OK && tnr_machine_destroy(&p->machine) == TNR_OK &&
                       tnr_topology_destroy(&p->topology) == TNR_OK && tnr_domain_close(&p->heap) == TNR_OK;
    if (good && !clean) {
        good = fail(tnr_last_error());
    }
    return good;
}

int main(int count, char **words)
{
    program p = {.code = 1};
    char message[NIFTI_MESSAGE_BYTES];
    if (!hosvd_options_read(count - 1, words + 1, &p.options, message)) {
        (void)fail(message);
        return 1;
    }
    if (p.options.help) {
        return hosvd_options_print_usage() ? 0 : 1;
    }
    const bool good = run(&p);
    return clean_up(&p, good) ? 0 : p.code;
}
