/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suite "reduce": f64 sums of vectors for each cache level and memory, of a matrix along each axis, maxima, norms; one and two
 * workers. Against the naive loop that only reads, and NumPy.
 */
#include "bench.h"
#include "loops.h"
#include "scene.h"

#include <stdio.h>
#include <string.h>

#define SIDE 2048

typedef tnr_status (*reduction)(tnr_engine *, const tnr_view *, const int *, int, const tnr_view_mut *);

static bench_scene scene;
static struct operands {
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
} s;

static void must(tnr_status status) { bench_scene_must(&scene, status); }

static void ours(void *unused)
{
    (void)unused;
    must(s.function(scene.engine, &s.a, s.axes, s.axis_count, &s.out));
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
    bench_scene_row(&scene, what, workers, 8.0 * (double)s.count, ours_ns, peer, peer_ns);
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
        for (int i = 0; i < BENCH_SIZES; ++i) {
            const tnr_range range = {0, bench_sizes[i].count, 1};
            tnr_view whole;
            char what[60];
            must(tnr_tensor_view(s.source, &whole));
            must(tnr_view_slice_axis(&whole, 0, range, &s.a));
            must(tnr_tensor_view_mut(s.scalar, &s.out));
            s.axes[0] = 0;
            s.axis_count = 1;
            s.function = kinds[k].function;
            s.count = bench_sizes[i].count;
            snprintf(what, sizeof what, "%s %s", kinds[k].name, bench_sizes[i].name);
            const bench_pairing turns =
                bench_in_turns(ours, workers == 1 ? peer_loop : peer_pair, NULL, bench_sizes[i].milliseconds);
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

/* The input, from 1/1000 to 1 over and over, and outputs of one number and of one line. */
static bool make_operands(void)
{
    const int64_t most = BENCH_MOST;
    const int64_t side = SIDE;
    tnr_view_mut view;
    tnr_write_map map;
    must(tnr_tensor_zeros(scene.heap, TNR_F64, 1, &most, &s.source));
    must(tnr_tensor_zeros(scene.heap, TNR_F64, 0, NULL, &s.scalar));
    must(tnr_tensor_zeros(scene.heap, TNR_F64, 1, &side, &s.line));
    if (scene.failed) {
        return false;
    }
    must(tnr_tensor_view_mut(s.source, &view));
    must(tnr_map_write(&view, &map));
    for (int64_t k = 0; k < most; ++k) {
        ((double *)map.data)[k] = (double)(k % 1000 + 1) / 1000.0;
    }
    s.data = map.data;
    must(tnr_unmap_write(&map));
    return !scene.failed;
}

int bench_reduce(void)
{
    memset(&s, 0, sizeof s);
    if (bench_scene_open(&scene, "reduce", TNR_POOL_MAX_BYTES_AUTO) && make_operands()) {
        const bool numpy = bench_numpy_open("reduce", 1);
        (void)bench_scene_use(&scene, 1);
        vectors(1);
        matrices(1);
        if (bench_scene_use(&scene, 2) && bench_pair_open()) {
            vectors(2);
            matrices(2);
            bench_pair_close();
        }
        if (numpy) {
            bench_numpy_close();
        }
    }
    must(tnr_tensor_release(&s.source));
    must(tnr_tensor_release(&s.scalar));
    must(tnr_tensor_release(&s.line));
    bench_scene_close(&scene);
    return scene.failed;
}
