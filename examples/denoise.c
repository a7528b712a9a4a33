/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * denoise: read a NIfTI volume, smooth its noise and keep its edges, show what happened to values and to storage.
 *
 * The whole main line of the library on real data: bytes are read into a draft that becomes a tensor; each NUMA node that
 * the process may use gets a slab of the volume by a named copy, in memory bound to it; the node's engine works there on
 * shifted views, in place; scratch is made once, and the ledger shows that steps allocate and copy nothing.
 * With --engine cuda the whole volume is one slab on a device: uploaded, worked on there by the same calls, downloaded.
 * Bad input of any kind is one line on stderr and exit code 1, or 2 when a device was asked for and there is none; no picture is left then.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tenure/tenure.h>

#include "denoise/figures.h"
#include "denoise/nifti.h"
#include "denoise/options.h"
#include "denoise/output.h"
#include "denoise/slabs.h"
#include "denoise/slices_png.h"
#include "device/near.h"

/* Everything that must be given back, whichever way the program ends. */
typedef struct program {
    options options;
    nifti_header header;
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_machine *machine;
    tnr_engine *engine; /* the machine's default, for what is done to the whole volume */
    device *device;     /* NULL: the steps are done by the machine's engines */
    tnr_tensor *volume;
    figures_scratch figures;
    slices before;
    slices after;
    slabs slabs;
    output picture;
    output voxels;
    int code; /* of a failure */
} program;

static bool fail(const char *text)
{
    (void)fprintf(stderr, "denoise: %s\n", text);
    return false;
}

/* True when a call of the library succeeded. */
static bool done(tnr_status status) { return status == TNR_OK || fail(tnr_last_error()); }

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

static bool find_figures(program *p, figures *f)
{
    tnr_view view;
    return done(tnr_tensor_view(p->volume, &view)) && done(figures_of_planes(p->engine, &view, &p->figures)) &&
           done(figures_finish(p->engine, p->figures.sums, (double)(view.shape[0] * view.shape[1] * view.shape[2]),
                               &p->figures, f));
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

static bool begin_device(program *p)
{
    char reason[DEVICE_TEXT_BYTES];
    char text[DEVICE_TEXT_BYTES + 16];
    switch (device_open(p->heap, &p->device, reason)) {
    case DEVICE_OPENED:
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

static bool read_volume(program *p)
{
    char message[NIFTI_MESSAGE_BYTES];
    tnr_machine_options machine = TNR_MACHINE_OPTIONS;
    machine.pool_max_bytes = 0; /* everything is made once */
    if (!done(tnr_check_build()) || !done(tnr_heap_create(&p->heap)) ||
        !done(tnr_topology_create(p->heap, NULL, &p->topology)) ||
        !done(tnr_machine_create(p->heap, p->topology, &machine, &p->machine)) ||
        !done(tnr_machine_engine(p->machine, TNR_NONE, &p->engine)) ||
        (p->options.engine == ENGINE_CUDA && !begin_device(p))) {
        return false;
    }
    if (!nifti_read(p->options.input, p->heap, &p->header, &p->volume, message)) {
        return fail(message);
    }
    return done(figures_begin(p->heap, p->header.shape[2], &p->figures));
}

static bool open_outputs(program *p)
{
    const options *o = &p->options;
    char message[NIFTI_MESSAGE_BYTES];
    return (output_open(&p->picture, o->output, o->input, message) &&
            (o->voxels == NULL || output_open(&p->voxels, o->voxels, o->input, message))) ||
           fail(message);
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
    return done(device_wait(p->device)); /* steps on a device were only asked for */
}

static bool write_outputs(program *p, double *largest)
{
    char message[NIFTI_MESSAGE_BYTES];
    return (slices_write_png(&p->picture, &p->before, &p->after, largest, message) &&
            (p->options.voxels == NULL || output_write(&p->voxels, p->volume, message))) ||
           fail(message);
}

static void print_times(const program *p, double elapsed)
{
    const int64_t *shape = p->header.shape;
    const double per_step = elapsed / (double)p->options.steps;
    (void)printf("time per step      %.3f s\n", per_step);
    (void)printf("voxels per second  %.3g\n", (double)(shape[0] * shape[1] * shape[2]) / per_step);
}

/* Where each slab is: asked for, bound, and really there. */
static bool print_places(const program *p)
{
    if (p->device != NULL) {
        (void)printf("device             %s\n", device_name(p->device));
        return true;
    }
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

static bool cut(program *p, const tnr_view *volume)
{
    const options *o = &p->options;
    return done(p->device != NULL ? slabs_whole(device_engine(p->device), volume, o->kappa, o->dt, &p->slabs)
                                  : slabs_cut(p->machine, volume, o->kappa, o->dt, &p->slabs));
}

static bool run(program *p)
{
    figures before;
    figures after;
    storage_count storage_before;
    storage_count storage_after;
    tnr_view_mut volume;
    double largest = 0.0;

    if (!read_volume(p) || !open_outputs(p) || !find_figures(p, &before)) {
        return false;
    }
    if (p->options.kappa == 0.0) {
        p->options.kappa = options_default_kappa(before.lowest, before.highest);
    }
    if (!done(tnr_tensor_view_mut(p->volume, &volume)) ||
        !done(slices_take(&volume.view, &p->header.orientation, p->heap, &p->before)) || !cut(p, &volume.view) ||
        !count_storage(p, &storage_before)) {
        return false;
    }

    const double start = seconds();
    if (!run_steps(p)) {
        return false;
    }
    const double elapsed = seconds() - start;

    if (!count_storage(p, &storage_after) || !done(slabs_join(&p->slabs, &volume)) || !find_figures(p, &after) ||
        !done(slices_take(&volume.view, &p->header.orientation, p->heap, &p->after)) || !write_outputs(p, &largest)) {
        return false;
    }
    figures_print(&p->options, &p->header, &before, &after);
    print_times(p, elapsed);
    if (!print_places(p)) {
        return false;
    }
    print_storage(&storage_before, &storage_after);
    slices_print(&p->before, p->options.output, largest);
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
    slabs_release(&p->slabs);
    slices_release(&p->before);
    slices_release(&p->after);
    figures_end(&p->figures);
    const bool clean = tnr_tensor_release(&p->volume) == TNR_OK && device_close(&p->device) == TNR_OK &&
                       tnr_machine_destroy(&p->machine) == TNR_OK && tnr_topology_destroy(&p->topology) == TNR_OK &&
                       tnr_domain_close(&p->heap) == TNR_OK;
    if (good && !clean) {
        good = fail(tnr_last_error());
    }
    return good;
}

int main(int count, char **words)
{
    program p = {.code = 1};
    char message[NIFTI_MESSAGE_BYTES];
    if (!options_read(count - 1, words + 1, false, &p.options, message)) {
        (void)fail(message);
        return 1;
    }
    if (p.options.help) {
        return options_print_usage(false) ? 0 : 1;
    }
    const bool good = run(&p);
    return clean_up(&p, good) ? 0 : p.code;
}
