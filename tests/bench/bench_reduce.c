/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suite "reduce": f64 sums of vectors for each cache level and memory, of a matrix along each axis, maxima, norms; one and two
 * workers. Against the naive loop that only reads, and NumPy.
 */
#include "bench.h"
#include "loops.h"

#include <stdio.h>
#include <string.h>

#include "tenure/tenure.h"

static const struct size {
    const char *name;
    int64_t count;
    double milliseconds;
} sizes[] = {
    {"L1 1Ki", 1024, 60.0}, {"L2 16Ki", 16384, 100.0}, {"L3 1Mi", 1048576, 300.0}, {"memory 32Mi", 33554432, 2000.0}};

#define SIZES (int)(sizeof sizes / sizeof *sizes)
#define MOST 33554432
#define SIDE 2048

typedef tnr_status (*reduction)(tnr_engine *, const tnr_view *, const int *, int, const tnr_view_mut *);

static struct scene {
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_engine *engines[2];
    tnr_engine *engine;
    tnr_tensor *source;
    tnr_tensor *scalar;
    tnr_tensor *line;
    const double *data;
    tnr_view a;
    tnr_view_mut out;
    int axes[2];
    int axis_count;
    reduction function;
    int64_t count;
    volatile double sink;
    bool failed;
} s;

static void must(tnr_status status)
{
    if (status != TNR_OK) {
        bench_note("reduce", tnr_last_error());
        s.failed = true;
    }
}

static void ours(void *unused)
{
    (void)unused;
    must(s.function(s.engine, &s.a, s.axes, s.axis_count, &s.out));
}

static void peer_loop(void *unused)
{
    (void)unused;
    s.sink = bench_loops_best()->sum(s.data, s.count);
}

static void peer_pair(void *unused)
{
    (void)unused;
    s.sink = bench_pair_sum(bench_loops_best()->sum, s.data, s.count);
}

static void row(const char *what, int workers, double ours_ns, const char *peer, double peer_ns)
{
    char name[120];
    const double bytes = 8.0 * (double)s.count;
    snprintf(name, sizeof name, "%s, %d worker%s", what, workers, workers == 1 ? "" : "s");
    if (peer_ns > 0.0) {
        bench_row("reduce", name, "GB/s", bytes / ours_ns, peer, bytes / peer_ns, false);
    }
}

static void vectors(int workers)
{
    static const struct kind {
        const char *name;
        reduction function;
        const char *numpy;
    } kinds[] = {{"sum", tnr_sum_into, "np.sum(a)"},
                 {"max", tnr_max_into, "np.max(a)"},
                 {"norm", tnr_norm_into, "np.linalg.norm(a)"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        for (int i = 0; i < SIZES; ++i) {
            const tnr_range range = {0, sizes[i].count, 1};
            tnr_view whole;
            char what[60];
            must(tnr_tensor_view(s.source, &whole));
            must(tnr_view_slice_axis(&whole, 0, range, &s.a));
            must(tnr_tensor_view_mut(s.scalar, &s.out));
            s.axes[0] = 0;
            s.axis_count = 1;
            s.function = kinds[k].function;
            s.count = sizes[i].count;
            snprintf(what, sizeof what, "%s %s", kinds[k].name, sizes[i].name);
            const bench_pairing turns =
                bench_in_turns(ours, workers == 1 ? peer_loop : peer_pair, NULL, sizes[i].milliseconds);
            row(what, workers, turns.ours_ns, workers == 1 ? "naive sum" : "naive sum on two threads", turns.peer_ns);
            if (workers == 1) {
                row(what, workers, turns.ours_ns, "numpy", bench_numpy(kinds[k].numpy, s.count));
            }
        }
    }
}

/* 2048 x 2048: sums that leave a row or a column. */
static void matrices(int workers)
{
    const int64_t shape[2] = {SIDE, SIDE};
    const int64_t strides[2] = {1, SIDE};
    for (int axis = 0; axis < 2; ++axis) {
        char what[60];
        must(tnr_tensor_region(s.source, 2, shape, strides, 0, &s.a));
        must(tnr_tensor_view_mut(s.line, &s.out));
        s.axes[0] = axis;
        s.axis_count = 1;
        s.function = tnr_sum_into;
        s.count = SIDE * SIDE;
        snprintf(what, sizeof what, "sum of 2048 x 2048 along axis %d", axis);
        const bench_pairing turns = bench_in_turns(ours, workers == 1 ? peer_loop : peer_pair, NULL, 600.0);
        row(what, workers, turns.ours_ns, workers == 1 ? "naive sum of all" : "naive sum of all on two threads",
            turns.peer_ns);
        if (workers == 1) { /* NumPy's first axis is the slow one */
            row(what, workers, turns.ours_ns, "numpy",
                bench_numpy(axis == 0 ? "a.reshape(2048, 2048).sum(axis=1)" : "a.reshape(2048, 2048).sum(axis=0)",
                            s.count));
        }
    }
}

static bool set_up(void)
{
    memset(&s, 0, sizeof s);
    must(tnr_heap_create(&s.heap));
    must(tnr_topology_create(s.heap, NULL, &s.topology));
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.topology = s.topology;
    tnr_topology_info info = {0};
    if (!s.failed) {
        must(tnr_topology_describe(s.topology, &info));
    }
    for (int workers = 1; workers <= 2 && workers <= info.cpus && !s.failed; ++workers) {
        options.workers = workers;
        must(tnr_engine_create(s.heap, &options, &s.engines[workers - 1]));
    }
    const int64_t most = MOST;
    const int64_t side = SIDE;
    tnr_view_mut view;
    tnr_write_map map;
    if (s.failed) {
        return false;
    }
    must(tnr_tensor_zeros(s.heap, TNR_F64, 1, &most, &s.source));
    must(tnr_tensor_zeros(s.heap, TNR_F64, 0, NULL, &s.scalar));
    must(tnr_tensor_zeros(s.heap, TNR_F64, 1, &side, &s.line));
    must(tnr_tensor_view_mut(s.source, &view));
    must(tnr_map_write(&view, &map));
    for (int64_t k = 0; k < most; ++k) {
        ((double *)map.data)[k] = (double)(k % 1000 + 1) / 1000.0;
    }
    s.data = map.data;
    must(tnr_unmap_write(&map));
    return !s.failed;
}

int bench_reduce(void)
{
    if (set_up()) {
        const bool numpy = bench_numpy_open("reduce");
        s.engine = s.engines[0];
        bench_pin_first(true);
        vectors(1);
        matrices(1);
        bench_pin_first(false);
        if (s.engines[1] != NULL && bench_pair_open()) {
            s.engine = s.engines[1];
            vectors(2);
            matrices(2);
            bench_pair_close();
        } else {
            bench_note("reduce", "one CPU only: rows of two workers are left out");
        }
        if (numpy) {
            bench_numpy_close();
        }
    }
    must(tnr_tensor_release(&s.source));
    must(tnr_tensor_release(&s.scalar));
    must(tnr_tensor_release(&s.line));
    must(tnr_engine_destroy(&s.engines[1]));
    must(tnr_engine_destroy(&s.engines[0]));
    must(tnr_topology_destroy(&s.topology));
    must(tnr_domain_close(&s.heap));
    return s.failed;
}
