/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transpose: a volume from slabs of one orientation to slabs of another and back, which is all the communication that a parallel FFT
 * of a volume has.
 *
 * A transform along an axis wants every line of that axis whole on one rank. Slabs cut along z have whole lines of x and of y; lines of
 * z are whole in slabs cut along y or along x. tnr_world_redistribute_into moves the volume from one to the other. Where the lines lie is the
 * target's business: into a permuted view of a tensor whose first axis is z, they arrive contiguous, as a transform wants them.
 *
 * Memory: two slabs on each rank, and from the world's home at most two pieces of tnr_world_options.pack_bytes per transfer under way, of
 * which a rank has at most eight. The world here has a home of its own, so the program can look.
 *
 * Every element is checked after the way there, every bit after the way back. Bad options are one line on stderr, and exit code 1 on all
 * ranks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/mpi.h>
#include <tenure/tenure.h>

static const char usage[] =
    "usage: transpose [-m] [X Y Z [REPEATS]]\n"
    "\n"
    "Turn a volume of X x Y x Z complex doubles, cut along z over all ranks, to slabs cut along y and along x, and\n"
    "back. Extents are 1 to 4096 (default 192 160 128); the best of REPEATS (default 5) is told.\n"
    "\n"
    "  -m  MPI's messages between the ranks of one host too, as between hosts, instead of shared memory\n";

enum { X, Y, Z, AXES };

typedef struct program {
    int64_t shape[AXES];
    long repeats;
    bool messages;
    int ranks;
    int rank;
    tnr_domain *heap;
    tnr_domain *home; /* the world's alone */
    tnr_world *world;
    double copy_seconds; /* memcpy of the same bytes, all ranks at the same time */
} program;

/* A call that has to succeed: the others may be waiting for this rank, so the job ends. */
static void must(tnr_status status)
{
    if (status != TNR_OK) {
        (void)fprintf(stderr, "transpose: %s\n", tnr_last_error());
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* ---- Slabs ------------------------------------------------------------------------------------------------------------------ */

typedef struct slab {
    tnr_axis_cut cuts[AXES];
    tnr_distribution distribution;
    tnr_tensor *tensor;
    tnr_view_mut view; /* x, y, z, however it lies */
    int64_t start;     /* along the axis that is cut */
    int axis;
} slab;

/* This rank's part of the volume cut along `axis`. `first`: the axis whose lines are contiguous. */
static void slab_make(const program *self, int axis, int first, slab *to)
{
    int64_t shape[AXES];
    int64_t lying[AXES];
    int64_t count = 0;
    bool holds = false;
    for (int at = 0; at < AXES; at++) {
        to->cuts[at] = (tnr_axis_cut){at == axis ? self->ranks : 1, 0, NULL};
    }
    to->distribution = (tnr_distribution){sizeof(to->distribution), AXES, self->shape, to->cuts, NULL};
    to->axis = axis;
    must(tnr_block_range(self->shape[axis], self->ranks, self->rank, &to->start, &count));
    must(tnr_distribution_part(&to->distribution, self->ranks, self->rank, &holds, shape));

    /* the tensor's axes are first, then the others in their order; the view has them as x, y, z */
    int order[AXES]; /* where each of x, y, z is in the tensor */
    int next = 1;
    for (int at = 0; at < AXES; at++) {
        order[at] = at == first ? 0 : next++;
        lying[order[at]] = shape[at];
    }
    must(tnr_tensor_zeros(self->heap, TNR_C64, AXES, lying, &to->tensor));
    must(tnr_tensor_view_mut(to->tensor, &to->view));
    must(tnr_view_mut_permute(&to->view, order, &to->view));
}

/* A value that tells where in the volume it belongs; both parts are exact. */
static void value_at(const program *self, const slab *of, const int64_t *index, double *value)
{
    int64_t global[AXES] = {index[X], index[Y], index[Z]};
    global[of->axis] += of->start;
    value[0] = (double)(global[X] + self->shape[X] * (global[Y] + self->shape[Y] * global[Z]));
    value[1] = -1.0 - value[0];
}

static void slab_fill(const program *self, const slab *to)
{
    tnr_write_map map;
    must(tnr_map_write(&to->view, &map));
    for (tnr_cursor at = tnr_cursor_begin(&to->view.view); at.valid; tnr_cursor_next(&at)) {
        value_at(self, to, at.index, (double *)map.data + 2 * at.offset);
    }
    must(tnr_unmap_write(&map));
}

static int64_t slab_wrong(const program *self, const slab *of)
{
    int64_t wrong = 0;
    tnr_read_map map;
    must(tnr_map_read(&of->view.view, &map));
    for (tnr_cursor at = tnr_cursor_begin(&of->view.view); at.valid; tnr_cursor_next(&at)) {
        double expected[2];
        value_at(self, of, at.index, expected);
        const double *found = (const double *)map.data + 2 * at.offset;
        wrong += found[0] != expected[0] || found[1] != expected[1] ? 1 : 0;
    }
    must(tnr_unmap_read(&map));
    return wrong;
}

static bool slab_same(const slab *a, const slab *b)
{
    tnr_tensor_info info;
    const void *x = NULL;
    const void *y = NULL;
    must(tnr_tensor_describe(a->tensor, &info));
    must(tnr_tensor_host_data(a->tensor, &x));
    must(tnr_tensor_host_data(b->tensor, &y));
    return info.bytes == 0 || memcmp(x, y, info.bytes) == 0;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------------------- */

static double volume_bytes(const program *self)
{
    return 16.0 * (double)self->shape[X] * (double)self->shape[Y] * (double)self->shape[Z];
}

/* Best time from slab to slab, of the slowest rank. */
static double move(const program *self, const slab *from, const slab *to)
{
    double best = 0.0;
    for (long repeat = 0; repeat < self->repeats; repeat++) {
        must(tnr_world_barrier(self->world));
        const double begin = MPI_Wtime();
        must(tnr_world_redistribute_into(self->world, &from->distribution, &from->view.view, &to->distribution,
                                         &to->view));
        must(tnr_world_barrier(self->world));
        const double seconds = MPI_Wtime() - begin;
        best = repeat == 0 || seconds < best ? seconds : best;
    }
    return best;
}

/* Best time of copying every rank's slab within the rank, by memcpy. */
static double copy(const program *self, const slab *from, slab *to)
{
    tnr_tensor_info info;
    const void *source = NULL;
    void *target = NULL;
    double best = 0.0;
    must(tnr_tensor_describe(from->tensor, &info));
    must(tnr_tensor_host_data(from->tensor, &source));
    must(tnr_tensor_host_data_mut(to->tensor, &target));
    for (long repeat = 0; repeat < self->repeats; repeat++) {
        must(tnr_world_barrier(self->world));
        const double begin = MPI_Wtime();
        if (info.bytes != 0) {
            memcpy(target, source, info.bytes);
        }
        must(tnr_world_barrier(self->world));
        const double seconds = MPI_Wtime() - begin;
        best = repeat == 0 || seconds < best ? seconds : best;
    }
    return best;
}

/* How much of the world's home has been out at one time, ever. */
static uint64_t home_peak(const program *self)
{
    tnr_domain_statistics statistics;
    must(tnr_domain_statistics_get(self->home, &statistics));
    return statistics.peak_bytes;
}

/* ---- Main line ------------------------------------------------------------------------------------------------------------------ */

/* From z-slabs to slabs along `axis` and back; the number of elements that are not what they should be, on all ranks. */
static int64_t there_and_back(const program *self, const slab *from, slab *again, int axis, int first, const char *name)
{
    slab to;
    slab_make(self, axis, first, &to);
    const double there = move(self, from, &to);
    int64_t wrong = slab_wrong(self, &to);
    const double back = move(self, &to, again);
    wrong += slab_same(from, again) ? 0 : 1;
    must(tnr_tensor_release(&to.tensor));
    if (self->rank == 0) {
        const double bytes = volume_bytes(self);
        printf("%-22s  %7.2f GB/s  %5.2f of memcpy   back %7.2f GB/s  %5.2f\n", name, bytes / there * 1e-9,
               self->copy_seconds / there, bytes / back * 1e-9, self->copy_seconds / back);
    }
    (void)MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return wrong;
}

static int run(program *self)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.pack_bytes = 512 << 10; /* the default, said because we count with it */
    options.no_shared = self->messages;
    must(tnr_heap_create(&self->heap));
    must(tnr_heap_create(&self->home));
    must(tnr_world_create(self->home, MPI_COMM_WORLD, &options, &self->world));
    self->rank = tnr_world_rank(self->world);
    self->ranks = tnr_world_size(self->world);

    slab from;
    slab again;
    slab_make(self, Z, X, &from);
    slab_make(self, Z, X, &again);
    slab_fill(self, &from);
    self->copy_seconds = copy(self, &from, &again);
    if (self->rank == 0) {
        printf("%lld x %lld x %lld complex doubles, %.1f MB, on %d %s; GB/s of the whole volume, %.0f %% of it changes "
               "ranks\n",
               (long long)self->shape[X], (long long)self->shape[Y], (long long)self->shape[Z],
               volume_bytes(self) * 1e-6, self->ranks, self->ranks == 1 ? "rank" : "ranks",
               100.0 * (self->ranks - 1) / self->ranks);
        printf("%-22s  %7.2f GB/s, all ranks at the same time\n", "memcpy of the slabs",
               volume_bytes(self) / self->copy_seconds * 1e-9);
    }

    const uint64_t before = home_peak(self);
    int64_t wrong = there_and_back(self, &from, &again, Y, X, "z to y");
    wrong += there_and_back(self, &from, &again, X, X, "z to x");
    wrong += there_and_back(self, &from, &again, Y, Z, "z to y, z contiguous");
    wrong += there_and_back(self, &from, &again, X, Z, "z to x, z contiguous");

    uint64_t taken = home_peak(self) - before;
    const uint64_t bound = 8 * 2 * (options.pack_bytes + 64); /* each with the bookkeeping of a block */
    (void)MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    const bool good = wrong == 0 && taken <= bound;
    if (self->rank == 0) {
        printf("memory beside the slabs: %.2f MB at most on any rank; the bound is %.2f MB\n", (double)taken * 1e-6,
               (double)bound * 1e-6);
        printf("%s: %lld elements are not what they should be\n", good ? "good" : "WRONG", (long long)wrong);
    }
    must(tnr_tensor_release(&from.tensor));
    must(tnr_tensor_release(&again.tensor));
    must(tnr_world_destroy(&self->world));
    must(tnr_domain_close(&self->home));
    must(tnr_domain_close(&self->heap));
    return good ? 0 : 1;
}

/* What is wrong with the arguments: one of them, or NULL. */
static const char *parse(int argc, char **argv, program *self)
{
    if (argc > 1 && strcmp(argv[1], "-m") == 0) {
        self->messages = true;
        argc--;
        argv++;
    }
    if (argc != 1 && argc != 4 && argc != 5) {
        return argv[argc > 5 ? 5 : argc - 1];
    }
    for (int index = 1; index < argc; index++) {
        char *end = NULL;
        errno = 0;
        const long value = strtol(argv[index], &end, 10);
        if (errno != 0 || end == argv[index] || *end != '\0' || value < 1 || value > 4096) {
            return argv[index];
        }
        if (index <= AXES) {
            self->shape[index - 1] = value;
        } else {
            self->repeats = value;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    program self = {.shape = {192, 160, 128}, .repeats = 5};
    int granted = 0;
    int rank = 0;
    int code = 0;
    (void)MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        (void)fputs(rank == 0 ? usage : "", stdout);
    } else {
        const char *wrong = parse(argc, argv, &self);
        if (wrong != NULL && rank == 0) {
            (void)fprintf(
                stderr,
                "transpose: %s: three extents from 1 to 4096 expected, and how often, or nothing; -h tells more\n",
                wrong);
        }
        code = wrong != NULL ? 1 : run(&self);
    }
    (void)MPI_Finalize();
    return code;
}
