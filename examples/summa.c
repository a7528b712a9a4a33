/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summa: a matrix product that no rank could hold alone, C = A B on a grid of ranks (van de Geijn and Watts, "SUMMA: scalable
 * universal matrix multiplication algorithm", 1997).
 *
 * Each rank has a block of A, of B and of C. The inner extent is walked in panels: the ranks that have a panel of A broadcast their part
 * of it along their grid rows, those that have one of B along their grid columns, and every rank adds the product of the two to its
 * block. Rows and columns of the grid are worlds over communicators of the program's. Besides its blocks a rank holds one panel of each
 * matrix, made before the first step: a broadcast is over when it returns, so a second panel would gain nothing.
 *
 * Elements are small integers, so the product is exact in any order of addition: the distributed one must be the very one that
 * rank 0 computes alone. Any number of ranks and any size: a prime number of ranks is a 1 x p grid, blocks may be empty.
 *
 * Bad options are one line on stderr, and exit code 1 on all ranks.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tenure/mpi.h>
#include <tenure/tenure.h>

static const char usage[] =
    "usage: summa [-n SIZE] [-w WIDTH] [-r REPEATS]\n"
    "\n"
    "Multiply two SIZE x SIZE matrices of doubles on a grid of ranks, and compare with one rank.\n"
    "\n"
    "  -n SIZE     1 to 30000 (default 512); rank 0 holds three whole matrices for the comparison\n"
    "  -w WIDTH    of the panels, 1 to 30000 (default 128)\n"
    "  -r REPEATS  the best of so many is told, 1 to 1000 (default 3)\n"
    "  -h          this text\n";

typedef struct options {
    long size;
    long width;
    long repeats;
    bool help;
} options;

typedef struct program {
    options options;
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_engine *engine;
    tnr_world *all;
    tnr_world *row;    /* the ranks of this grid row; a rank's number in it is its grid column */
    tnr_world *column; /* the ranks of this grid column; a rank's number in it is its grid row */
    int rows;
    int columns;
    double reachable; /* at most this efficiency: cores of all ranks together, for each that they reckon with */
    int cores;
} program;

/* ---- Small helpers ------------------------------------------------------------------------------------------------------- */

/* A call that has to succeed: the others may be waiting for this rank, so the job ends. */
static void must(tnr_status status)
{
    if (status != TNR_OK) {
        (void)fprintf(stderr, "summa: %s\n", tnr_last_error());
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static tnr_view view_of(const tnr_tensor *tensor)
{
    tnr_view view;
    must(tnr_tensor_view(tensor, &view));
    return view;
}

static tnr_view_mut mut_view_of(tnr_tensor *tensor)
{
    tnr_view_mut view;
    must(tnr_tensor_view_mut(tensor, &view));
    return view;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- Options ------------------------------------------------------------------------------------------------------------- */

static const char *parse_number(const char *text, long most, long *number)
{
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > most) {
        return most == 1000 ? "a number from 1 to 1000 expected" : "a number from 1 to 30000 expected";
    }
    *number = value;
    return NULL;
}

/* What is wrong, or NULL; *which is then the argument. Every rank has the same arguments, and comes to the same answer. */
static const char *parse(int argc, char **argv, options *to, const char **which)
{
    for (int index = 1; index < argc; index++) {
        *which = argv[index];
        if (strcmp(argv[index], "-h") == 0) {
            to->help = true;
            return NULL;
        }
        const bool size = strcmp(argv[index], "-n") == 0;
        const bool width = strcmp(argv[index], "-w") == 0;
        if (!size && !width && strcmp(argv[index], "-r") != 0) {
            return "no such option; -h tells which there are";
        }
        if (++index == argc) {
            return "a number expected after it";
        }
        const char *wrong = parse_number(argv[index], size || width ? 30000 : 1000,
                                         size    ? &to->size
                                         : width ? &to->width
                                                 : &to->repeats);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

/* ---- The grid and who computes ---------------------------------------------------------------------------------------------- */

/* The squarest grid. Part p of a distribution is at row p % rows and column p / rows: column-major, as everything here. */
static void make_grid(program *self)
{
    const int ranks = tnr_world_size(self->all);
    const int rank = tnr_world_rank(self->all);
    self->rows = 1;
    for (int rows = 2; rows <= ranks / rows; rows++) {
        self->rows = ranks % rows == 0 ? rows : self->rows;
    }
    self->columns = ranks / self->rows;
    MPI_Comm row = MPI_COMM_NULL;
    MPI_Comm column = MPI_COMM_NULL;
    (void)MPI_Comm_split(MPI_COMM_WORLD, rank % self->rows, rank,
                         &row); /* without an answer MPI would have ended the job */
    (void)MPI_Comm_split(MPI_COMM_WORLD, rank / self->rows, rank, &column);
    must(tnr_world_create(self->heap, row, NULL, &self->row));
    must(tnr_world_create(self->heap, column, NULL, &self->column));
    (void)MPI_Comm_free(&row); /* worlds have their own duplicates */
    (void)MPI_Comm_free(&column);
}

/*
 * An engine on this rank's share of its host, and what can be hoped for. When ranks outnumber cores, each is given one core that it shares
 * with others: p ranks are then not p times as fast as one.
 */
static void make_engine(program *self)
{
    tnr_share share;
    tnr_engine_options engine = TNR_ENGINE_OPTIONS;
    must(tnr_topology_create(self->heap, NULL, &self->topology));
    must(tnr_world_share(self->all, self->topology, 0, &share));
    engine.topology = self->topology;
    engine.cpus = &share.cpus;
    must(tnr_engine_create(self->heap, &engine, &self->engine));

    /* cores in use on all hosts, once each; those of a host are counted by its first rank */
    int counts[2] = {share.local_rank == 0 ? share.host_cores : 0, share.cores};
    (void)MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    self->cores = counts[0];
    self->reachable = (double)counts[0] / counts[1];
}

/* ---- Matrices ------------------------------------------------------------------------------------------------------------------ */

/* A whole matrix on rank 0, of integers from -8 to 8. */
static tnr_tensor *whole(const program *self, uint32_t seed)
{
    const int64_t shape[2] = {self->options.size, self->options.size};
    tnr_tensor *tensor = NULL;
    void *data = NULL;
    must(tnr_tensor_zeros(self->heap, TNR_F64, 2, shape, &tensor));
    must(tnr_tensor_host_data_mut(tensor, &data));
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
        seed = seed * 1664525U + 1013904223U;
        ((double *)data)[i] = (double)((seed >> 16U) % 17U) - 8.0;
    }
    return tensor;
}

/* Rank 0's matrix to blocks on the grid: every rank gets its own. */
static tnr_tensor *deal(const program *self, const tnr_distribution *one, const tnr_distribution *grid,
                        const tnr_tensor *matrix)
{
    tnr_view view;
    tnr_tensor *block = NULL;
    if (matrix != NULL) {
        view = view_of(matrix);
    }
    must(tnr_world_redistribute(self->all, one, matrix != NULL ? &view : NULL, grid, self->heap, &block));
    return block;
}

/* ---- The product ------------------------------------------------------------------------------------------------------------------ */

typedef struct product {
    tnr_view a; /* this rank's blocks */
    tnr_view b;
    tnr_view_mut c;
    tnr_view_mut a_panel; /* what others broadcast */
    tnr_view_mut b_panel;
    double waiting; /* seconds in broadcasts */
} product;

/*
 * Columns [from, to) of A along this grid row, or rows of B along this grid column. *panel is what to multiply by: `root` has it already,
 * and copies nothing.
 */
static void spread(tnr_world *world, int root, int axis, const tnr_view *block, tnr_range mine,
                   const tnr_view_mut *receive, tnr_view *panel)
{
    if (tnr_world_rank(world) == root) {
        must(tnr_view_slice_axis(block, axis, mine, panel));
        must(tnr_world_broadcast_into(world, root, panel, NULL));
    } else {
        tnr_view_mut target;
        must(tnr_view_mut_slice_axis(receive, axis, (tnr_range){0, mine.end - mine.start, 1}, &target));
        must(tnr_world_broadcast_into(world, root, NULL, &target));
        *panel = target.view;
    }
}

/*
 * Blocks of A end at other places of the inner extent than blocks of B where the grid is not square, so a panel ends where either does.
 */
static void multiply(const program *self, product *of)
{
    const int64_t extent = self->options.size;
    tnr_product_options add = TNR_PRODUCT_OPTIONS; /* beta 0: the first panel writes C, whatever it holds */
    int column = 0;                                /* which has the columns of A from k on */
    int row = 0;                                   /* which has the rows of B */
    for (int64_t k = 0; k < extent;) {
        int64_t a_start = 0;
        int64_t a_count = 0;
        int64_t b_start = 0;
        int64_t b_count = 0;
        must(tnr_block_range(extent, self->columns, column, &a_start, &a_count));
        must(tnr_block_range(extent, self->rows, row, &b_start, &b_count));
        if (k == a_start + a_count) {
            column++;
            continue;
        }
        if (k == b_start + b_count) {
            row++;
            continue;
        }
        const int64_t end = smaller(k + self->options.width, smaller(a_start + a_count, b_start + b_count));
        tnr_view a;
        tnr_view b;
        const double begin = MPI_Wtime();
        spread(self->row, column, 1, &of->a, (tnr_range){k - a_start, end - a_start, 1}, &of->a_panel, &a);
        spread(self->column, row, 0, &of->b, (tnr_range){k - b_start, end - b_start, 1}, &of->b_panel, &b);
        of->waiting += MPI_Wtime() - begin;
        must(tnr_matmul_into(self->engine, &a, &b, &add, &of->c));
        add.beta.re = 1.0; /* the others add to it */
        k = end;
    }
}

/* ---- One rank alone --------------------------------------------------------------------------------------------------------------- */

/* Best time of the whole product on this rank; the others sleep meanwhile, so that it has its cores to itself. */
static double alone(const program *self, const tnr_tensor *a, const tnr_tensor *b, tnr_tensor **c)
{
    const int64_t shape[2] = {self->options.size, self->options.size};
    const tnr_view va = view_of(a);
    const tnr_view vb = view_of(b);
    double best = 0.0;
    must(tnr_tensor_zeros(self->heap, TNR_F64, 2, shape, c));
    const tnr_view_mut vc = mut_view_of(*c);
    for (long repeat = 0; repeat < self->options.repeats; repeat++) {
        const double begin = MPI_Wtime();
        must(tnr_matmul_into(self->engine, &va, &vb, NULL, &vc));
        const double seconds = MPI_Wtime() - begin;
        best = repeat == 0 || seconds < best ? seconds : best;
    }
    return best;
}

/* Rank 0 says "done" to each rank; these look for it now and then. */
static void done_alone(const program *self, double seconds)
{
    tnr_tensor *word = NULL;
    must(tnr_tensor_full(self->heap, TNR_F64, 0, NULL, &seconds, &word));
    const tnr_view view = view_of(word);
    for (int rank = 1; rank < tnr_world_size(self->all); rank++) {
        must(tnr_world_send(self->all, &view, rank, 0));
    }
    must(tnr_tensor_release(&word));
}

static void sleep_meanwhile(const program *self)
{
    const struct timespec pause = {0, 2000000};
    tnr_ticket *ticket = NULL;
    tnr_tensor *word = NULL;
    bool done = false;
    must(tnr_world_receive_begin(self->all, 0, 0, self->heap, &word, &ticket));
    while (!done) {
        (void)nanosleep(&pause, NULL);
        must(tnr_ticket_test(&ticket, &done));
    }
    must(tnr_tensor_release(&word));
}

/* The number of elements that differ. */
static int64_t differences(const program *self, const tnr_tensor *a, const tnr_tensor *b)
{
    const void *x = NULL;
    const void *y = NULL;
    int64_t count = 0;
    must(tnr_tensor_host_data(a, &x));
    must(tnr_tensor_host_data(b, &y));
    for (int64_t i = 0; i < (int64_t)self->options.size * self->options.size; i++) {
        count += ((const double *)x)[i] != ((const double *)y)[i] ? 1 : 0;
    }
    return count;
}

/* ---- Main line --------------------------------------------------------------------------------------------------------------------- */

static void report(const program *self, double seconds, double waiting, double single)
{
    const double n = (double)self->options.size;
    const int ranks = tnr_world_size(self->all);
    const double efficiency = single / (ranks * seconds);
    printf("alone     %9.3f ms  %8.2f Gflop/s\n", single * 1e3, 2.0 * n * n * n / single * 1e-9);
    printf("%-3d %s %9.3f ms  %8.2f Gflop/s, %.0f %% of rank 0's time in broadcasts and waiting for them\n", ranks,
           ranks == 1 ? "rank " : "ranks", seconds * 1e3, 2.0 * n * n * n / seconds * 1e-9, 100.0 * waiting / seconds);
    printf("efficiency %.2f = time on one rank / (%d %s x time)", efficiency, ranks, ranks == 1 ? "rank" : "ranks");
    if (self->reachable < 1.0) {
        printf("; with %d %s for %d ranks %.2f is the most there can be", self->cores,
               self->cores == 1 ? "core" : "cores", ranks, self->reachable);
    }
    printf("\n");
}

static int run(program *self)
{
    const int64_t n = self->options.size;
    must(tnr_heap_create(&self->heap));
    must(tnr_world_create(self->heap, MPI_COMM_WORLD, NULL, &self->all));
    make_grid(self);
    make_engine(self);
    const bool first = tnr_world_rank(self->all) == 0;

    /* A whole matrix is a distribution too: one part, on rank 0. */
    const int owner = 0;
    const int64_t shape[2] = {n, n};
    const tnr_axis_cut cuts[2] = {{self->rows, 0, NULL}, {self->columns, 0, NULL}};
    const tnr_distribution one = {sizeof(one), 2, shape, NULL, &owner};
    const tnr_distribution grid = {sizeof(grid), 2, shape, cuts, NULL};
    int64_t block[2] = {0, 0};
    bool holds = false;
    must(tnr_distribution_part(&grid, tnr_world_size(self->all), tnr_world_rank(self->all), &holds, block));

    tnr_tensor *a_whole = first ? whole(self, 1) : NULL;
    tnr_tensor *b_whole = first ? whole(self, 2) : NULL;
    tnr_tensor *a = deal(self, &one, &grid, a_whole);
    tnr_tensor *b = deal(self, &one, &grid, b_whole);
    tnr_tensor *c = NULL;
    tnr_tensor *a_panel = NULL;
    tnr_tensor *b_panel = NULL;
    const int64_t width = smaller(self->options.width, n);
    must(tnr_tensor_zeros(self->heap, TNR_F64, 2, block, &c));
    must(tnr_tensor_zeros(self->heap, TNR_F64, 2, (const int64_t[]){block[0], width}, &a_panel));
    must(tnr_tensor_zeros(self->heap, TNR_F64, 2, (const int64_t[]){width, block[1]}, &b_panel));
    if (first) {
        printf("%lld x %lld doubles on %d %s: grid %d x %d, panels %lld wide, %d %s\n", (long long)n, (long long)n,
               tnr_world_size(self->all), tnr_world_size(self->all) == 1 ? "rank" : "ranks", self->rows, self->columns,
               (long long)width, self->cores, self->cores == 1 ? "core" : "cores");
    }

    product of = {view_of(a), view_of(b), mut_view_of(c), mut_view_of(a_panel), mut_view_of(b_panel), 0.0};
    double seconds = 0.0;
    double waiting = 0.0;
    for (long repeat = 0; repeat < self->options.repeats; repeat++) {
        of.waiting = 0.0;
        must(tnr_world_barrier(self->all));
        const double begin = MPI_Wtime();
        multiply(self, &of);
        must(tnr_world_barrier(self->all)); /* the slowest rank counts */
        const double now = MPI_Wtime() - begin;
        if (repeat == 0 || now < seconds) {
            seconds = now;
            waiting = of.waiting;
        }
    }

    /* Together again on rank 0, and against its own. */
    tnr_tensor *c_whole = NULL;
    must(
        tnr_world_redistribute(self->all, &grid, &of.c.view, &one, first ? self->heap : NULL, first ? &c_whole : NULL));
    int64_t wrong = 0;
    if (first) {
        tnr_tensor *expected = NULL;
        const double single = alone(self, a_whole, b_whole, &expected);
        done_alone(self, single);
        wrong = differences(self, c_whole, expected);
        report(self, seconds, waiting, single);
        printf("%s: %lld of %lld elements differ from one rank's product; the bound is none, they are integers\n",
               wrong == 0 ? "good" : "WRONG", (long long)wrong, (long long)n * n);
        must(tnr_tensor_release(&expected));
    } else {
        sleep_meanwhile(self);
    }

    tnr_tensor **mine[] = {&a_whole, &b_whole, &c_whole, &a, &b, &c, &a_panel, &b_panel};
    for (size_t index = 0; index < sizeof(mine) / sizeof(mine[0]); index++) {
        must(tnr_tensor_release(mine[index]));
    }
    must(tnr_world_destroy(&self->column));
    must(tnr_world_destroy(&self->row));
    must(tnr_world_destroy(&self->all));
    must(tnr_engine_destroy(&self->engine));
    must(tnr_topology_destroy(&self->topology));
    must(tnr_domain_close(&self->heap));
    return wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    program self = {.options = {512, 128, 3, false}};
    const char *which = NULL;
    int granted = 0;
    int rank = 0;
    (void)MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *wrong = parse(argc, argv, &self.options, &which);
    int code = 0;
    if (wrong != NULL) {
        if (rank == 0) {
            (void)fprintf(stderr, "summa: %s: %s\n", which, wrong);
        }
        code = 1;
    } else if (self.options.help) {
        (void)fputs(rank == 0 ? usage : "", stdout);
    } else {
        code = run(&self);
    }
    (void)MPI_Finalize();
    return code;
}
