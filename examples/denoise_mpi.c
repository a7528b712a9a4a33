/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * denoise-mpi: denoise on several ranks, to the same bits. Start it as mpirun -n 4 denoise-mpi INPUT OUTPUT, or by srun --mpi=pmix.
 *
 * Rank 0 reads the volume and scatters it; every rank has a slab of planes, in memory of its own NUMA node, and an engine on its own
 * cores, which the ranks of a host share out among themselves; a step exchanges border planes while the planes between are computed
 * (denoise/rank_slab.c); what the picture shows is gathered. Tensors move by the library's calls; the few bytes of control around
 * them are the program's own MPI calls, beside which a world is at ease.
 *
 * Errors: bad input is one line by rank 0; a rank that cannot do its part by itself says why, and no rank goes on. Exit code 1 on all
 * ranks, and no picture is left. Only what fails while neighbours already wait for planes aborts the job.
 */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tenure/mpi.h>
#include <tenure/tenure.h>

#include "denoise/figures.h"
#include "denoise/nifti.h"
#include "denoise/options.h"
#include "denoise/output.h"
#include "denoise/rank_report.h"
#include "denoise/rank_slab.h"
#include "denoise/slices_png.h"

/* What rank 0 tells the others: first what it was asked for, then what it read. */
typedef struct job {
    long steps;
    double kappa; /* 0: not given */
    double dt;
    bool help;
    bool voxels; /* gather them all */
    bool no_shared;
    int64_t shape[3];
    nifti_orientation orientation;
} job;

/* Everything that must be given back, whichever way the program ends. */
typedef struct program {
    int rank;
    int size;
    char message[NIFTI_MESSAGE_BYTES]; /* why this rank cannot go on */
    job job;
    tnr_domain *heap;
    tnr_world *world;
    tnr_topology *topology;
    tnr_machine *machine;
    tnr_engine *engine;
    tnr_share share;
    rank_slab slab;
    /* rank 0's */
    options options;
    nifti_header header;
    tnr_tensor *volume;
    slices before;
    slices after;
    output picture;
    output voxels;
} program;

/* ---- Going on together ---------------------------------------------------------------------------------------------- */

static bool say(const program *p, const char *text)
{
    if (p->rank == 0) {
        (void)fprintf(stderr, "denoise-mpi: %s\n", text);
    } else {
        (void)fprintf(stderr, "denoise-mpi: rank %d: %s\n", p->rank, text);
    }
    return false;
}

/* True when a call that concerns this rank alone succeeded; else the others must hear of it: agree. */
static bool done(program *p, tnr_status status)
{
    if (status != TNR_OK) {
        (void)snprintf(p->message, sizeof p->message, "%s", tnr_last_error());
    }
    return status == TNR_OK;
}

/* All ranks could do their own part. Of those that could not, the first says why. */
static bool agree(const program *p, bool good)
{
    const int mine = good ? p->size : p->rank;
    int first = p->size;
    (void)MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return first == p->size || (first == p->rank && say(p, p->message));
}

/* True when a collective call succeeded. It fails on every rank, so one line will do. */
static bool together(const program *p, tnr_status status)
{
    return status == TNR_OK || (p->rank == 0 && say(p, tnr_last_error()));
}

/* For work in which neighbours wait for each other: a rank that fails there cannot just leave. */
static void must(const program *p, tnr_status status)
{
    if (status != TNR_OK) {
        (void)say(p, tnr_last_error());
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Rank 0 tells the others. */
static void tell(job *j) { (void)MPI_Bcast(j, (int)sizeof *j, MPI_BYTE, 0, MPI_COMM_WORLD); }

/* ---- Before the steps ------------------------------------------------------------------------------------------------ */

/* Rank 0 reads the command line. */
static bool take_options(program *p, int count, char **words)
{
    options *o = &p->options;
    if (!options_read(count, words, true, o, p->message)) {
        return false;
    }
    p->job = (job){o->steps, o->kappa, o->dt, o->help, o->voxels != NULL, o->no_shared, {0}, {{0}, {false}, {0.0}}};
    (void)snprintf(p->message, sizeof p->message, "standard output cannot be written");
    return !o->help || options_print_usage(true);
}

/* An engine on this rank's share of the host's cores. A machine has one per NUMA node: start (at least) one rank for each. */
static bool start(program *p)
{
    tnr_world_options world = TNR_WORLD_OPTIONS;
    tnr_machine_options machine = TNR_MACHINE_OPTIONS;
    world.no_shared = p->job.no_shared;
    machine.pool_max_bytes = 0; /* everything is made once */
    return agree(p, done(p, tnr_check_build()) && done(p, tnr_heap_create(&p->heap)) &&
                        done(p, tnr_topology_create(p->heap, NULL, &p->topology))) &&
           together(p, tnr_world_create(p->heap, MPI_COMM_WORLD, &world, &p->world)) &&
           together(p, tnr_world_machine(p->world, p->heap, p->topology, &machine, &p->share, &p->machine)) &&
           agree(p, done(p, tnr_machine_engine(p->machine, TNR_NONE, &p->engine)));
}

/* Rank 0 reads the volume, keeps slices of it, and opens what it will write, so that a bad path costs nobody a minute. */
static bool read_volume(program *p)
{
    const options *o = &p->options;
    tnr_view volume;
    if (!nifti_read(o->input, p->heap, &p->header, &p->volume, p->message) ||
        !output_open(&p->picture, o->output, o->input, p->message) ||
        (o->voxels != NULL && !output_open(&p->voxels, o->voxels, o->input, p->message))) {
        return false;
    }
    memcpy(p->job.shape, p->header.shape, sizeof p->job.shape);
    p->job.orientation = p->header.orientation;
    return done(p, tnr_tensor_view(p->volume, &volume)) &&
           done(p, slices_take(&volume, &p->header.orientation, p->heap, &p->before));
}

/* Slabs on all ranks, ready for steps. Rank 0 keeps its slab and lets go of the volume. */
static bool scatter(program *p, figures *before)
{
    job *j = &p->job;
    tnr_view volume;
    if (!agree(p, p->rank != 0 || done(p, tnr_tensor_view(p->volume, &volume))) ||
        !together(p, rank_slab_scatter(p->world, p->engine, j->shape, p->rank == 0 ? &volume : NULL, &p->slab)) ||
        !agree(p, done(p, tnr_tensor_release(&p->volume)) && done(p, rank_slab_begin(&p->slab)))) {
        return false;
    }
    must(p, rank_slab_figures(&p->slab, before));
    if (j->kappa == 0.0) {
        j->kappa = options_default_kappa(before->lowest, before->highest); /* on every rank the same */
    }
    if (!agree(p, done(p, rank_slab_set(&p->slab, j->kappa, j->dt)))) {
        return false;
    }
    must(p, rank_slab_prepare(&p->slab));
    return true;
}

/* ---- The steps -------------------------------------------------------------------------------------------------------- */

static void run_steps(program *p, rank_work *w)
{
    const bool terminal = p->rank == 0 && isatty(STDERR_FILENO) != 0;
    rank_work before;
    must(p, rank_report_count(p->heap, &p->slab, &before));
    must(p, tnr_world_barrier(p->world));
    const double begin = rank_slab_clock();
    for (w->steps = 0; w->steps < p->job.steps; w->steps++) {
        if (terminal) {
            (void)fprintf(stderr, "\rstep %ld of %ld", w->steps + 1, p->job.steps);
        }
        must(p, rank_slab_step(&p->slab, &w->waited));
    }
    w->elapsed = rank_slab_clock() - begin;
    if (terminal) {
        (void)fprintf(stderr, "\r%40s\r", "");
    }
    must(p, rank_report_count(p->heap, &p->slab, w));
    w->tensors -= before.tensors;
    w->copies -= before.copies;
    w->blocks -= before.blocks;
}

/* ---- After the steps --------------------------------------------------------------------------------------------------- */

/*
 * A slice across the planes has a row on every rank; one along them is on one rank, and empty on the others. Either way it is a thin
 * volume whose parts follow each other along axis 2.
 */
static bool gather_slice(program *p, int i)
{
    int axis = 0;
    int64_t index = 0;
    tnr_view slab;
    tnr_view part;
    tnr_tensor *thin = NULL;
    slices_place(p->job.shape, &p->job.orientation, i, &axis, &index);
    int64_t at = index;
    int64_t count = 1;
    if (axis == 2) {
        const bool here = index >= p->slab.first && index < p->slab.first + p->slab.planes;
        at = here ? index - p->slab.first : 0;
        count = here ? 1 : 0;
    }
    if (!agree(p, done(p, tnr_tensor_view(p->slab.volume, &slab)) &&
                      done(p, tnr_view_slice_axis(&slab, axis, (tnr_range){at, at + count, 1}, &part))) ||
        !together(p, tnr_world_gather(p->world, 0, &part, 2, p->heap, p->rank == 0 ? &thin : NULL))) {
        return false;
    }
    bool good = true;
    if (p->rank == 0) {
        good = done(p, tnr_tensor_view(thin, &part)) &&
               done(p, slices_keep(&part, &p->job.orientation, i, index, p->heap, &p->after));
        good = done(p, tnr_tensor_release(&thin)) && good;
    }
    return agree(p, good);
}

static bool gather(program *p)
{
    tnr_view slab;
    for (int i = 0; i < SLICES; i++) {
        if (!gather_slice(p, i)) {
            return false;
        }
    }
    return !p->job.voxels ||
           (agree(p, done(p, tnr_tensor_view(p->slab.volume, &slab))) &&
            together(p, tnr_world_gather(p->world, 0, &slab, 2, p->heap, p->rank == 0 ? &p->volume : NULL)));
}

static bool write_outputs(program *p, double *largest)
{
    return slices_write_png(&p->picture, &p->before, &p->after, largest, p->message) &&
           (!p->job.voxels || output_write(&p->voxels, p->volume, p->message));
}

static bool report(program *p, const figures *before, const figures *after, const rank_work *w, double largest)
{
    double slowest = 0.0;
    (void)MPI_Reduce(&w->elapsed, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (p->rank == 0) {
        const int64_t *shape = p->job.shape;
        const double per_step = slowest / (double)p->job.steps;
        p->options.kappa = p->job.kappa;
        figures_print(&p->options, &p->header, before, after);
        (void)printf("time per step      %.3f s\n", per_step);
        (void)printf("voxels per second  %.3g\n", (double)(shape[0] * shape[1] * shape[2]) / per_step);
    }
    if (!together(p, rank_report_print(&p->share, &p->slab, w))) {
        return false;
    }
    if (p->rank == 0) {
        slices_print(&p->before, p->options.output, largest);
        (void)snprintf(p->message, sizeof p->message, "standard output cannot be written");
    }
    return agree(p, p->rank != 0 || fflush(stdout) == 0);
}

/* ---- The main line ------------------------------------------------------------------------------------------------------ */

static bool run(program *p, int count, char **words)
{
    figures before;
    figures after;
    rank_work w = {.waited = 0.0};
    double largest = 0.0;
    if (!agree(p, p->rank != 0 || take_options(p, count, words))) {
        return false;
    }
    tell(&p->job);
    if (p->job.help) {
        return true;
    }
    if (!start(p) || !agree(p, p->rank != 0 || read_volume(p))) {
        return false;
    }
    tell(&p->job);
    if (!scatter(p, &before)) {
        return false;
    }
    run_steps(p, &w);
    must(p, rank_slab_figures(&p->slab, &after));
    return gather(p) && agree(p, p->rank != 0 || write_outputs(p, &largest)) && report(p, &before, &after, &w, largest);
}

/* Give everything back. Files that did not become whole go too. */
static bool clean_up(program *p, bool good)
{
    bool clean = output_close(&p->voxels, good, p->message);
    clean = output_close(&p->picture, good, p->message) && clean;
    slices_release(&p->before);
    slices_release(&p->after);
    rank_slab_release(&p->slab);
    const bool given = done(p, tnr_tensor_release(&p->volume)) && done(p, tnr_world_destroy(&p->world)) &&
                       done(p, tnr_machine_destroy(&p->machine)) && done(p, tnr_topology_destroy(&p->topology)) &&
                       done(p, tnr_domain_close(&p->heap));
    return good && agree(p, clean && given);
}

int main(int count, char **words)
{
    program p = {.rank = 0};
    int level = MPI_THREAD_SINGLE;
    (void)MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &level);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &p.size);
    const bool good = run(&p, count - 1, words + 1);
    const bool clean = clean_up(&p, good);
    (void)MPI_Finalize();
    return clean ? 0 : 1;
}
