/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a small call costs with every check on. The peer of each row is the same arithmetic as a bare loop, or nothing where
 * there is none; the difference is what leases, checks and dispatch cost.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "tenure/tenure.h"

#define LEAST_ROUNDS 5
#define LEAST_NS 100000000U

static void need(tnr_status status)
{
    if (status != TNR_OK) {
        fprintf(stderr, "dispatch: %s: %s\n", tnr_status_name(status), tnr_last_error());
        exit(1);
    }
}

/* The best of many rounds of `calls` executions, in ns each. Short rounds: some are not interrupted on a shared machine. */
#define BEST_OF(result, calls, statement)                                                             \
    do {                                                                                              \
        const uint64_t first_ = bench_now_ns();                                                       \
        double best_ = 1e300;                                                                         \
        for (int round_ = 0; round_ < LEAST_ROUNDS || bench_now_ns() - first_ < LEAST_NS; ++round_) { \
            const uint64_t begin_ = bench_now_ns();                                                   \
            for (int call_ = 0; call_ < (calls); ++call_) {                                           \
                statement;                                                                            \
            }                                                                                         \
            const double each_ = (double)(bench_now_ns() - begin_) / (calls);                         \
            best_ = each_ < best_ ? each_ : best_;                                                    \
        }                                                                                             \
        (result) = best_;                                                                             \
    } while (0)

/* Peers: not inlined, so that they are calls as well; the empty statement keeps even calls of nothing. */
static __attribute__((noinline)) void raw_add(double *out, const double *a, const double *b, int count)
{
    __asm__ volatile("" ::: "memory");
    for (int i = 0; i < count; ++i) {
        out[i] = a[i] + b[i];
    }
}

static __attribute__((noinline)) void raw_matmul(double *out, const double *a, const double *b, int n)
{
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) {
            out[i + j * n] = 0.0;
        }
        for (int k = 0; k < n; ++k) {
            for (int i = 0; i < n; ++i) {
                out[i + j * n] += a[i + k * n] * b[k + j * n];
            }
        }
    }
}

typedef struct operands {
    tnr_tensor *tensors[3];
    tnr_view a;
    tnr_view b;
    tnr_view_mut out;
    double *data[3];
} operands;

static void make_operands(tnr_domain *domain, int rank, const int64_t *shape, operands *made)
{
    for (int i = 0; i < 3; ++i) {
        need(tnr_tensor_zeros(domain, TNR_F64, rank, shape, &made->tensors[i]));
        void *data;
        need(tnr_tensor_host_data_mut(made->tensors[i], &data));
        made->data[i] = data;
        tnr_tensor_info info;
        need(tnr_tensor_describe(made->tensors[i], &info));
        for (int64_t k = 0; k < info.count; ++k) {
            made->data[i][k] = 1.0 + (double)k / 64.0;
        }
    }
    need(tnr_tensor_view(made->tensors[0], &made->a));
    need(tnr_tensor_view(made->tensors[1], &made->b));
    need(tnr_tensor_view_mut(made->tensors[2], &made->out));
}

static void release_operands(operands *made)
{
    for (int i = 0; i < 3; ++i) {
        need(tnr_tensor_release(&made->tensors[i]));
    }
}

static void larger_elementwise(tnr_domain *heap, tnr_engine *engine)
{
    static const int64_t nothing = 0;
    static const int64_t eight = 8;
    operands empty;
    operands small;
    double ours;
    double peer;
    make_operands(heap, 1, &nothing, &empty);
    make_operands(heap, 1, &eight, &small);
    BEST_OF(ours, 1000, need(tnr_add_into(engine, &empty.a, &empty.b, &empty.out)));
    BEST_OF(peer, 1000, raw_add(empty.data[2], empty.data[0], empty.data[1], 0));
    bench_row("dispatch", "empty add", "ns", ours, "raw loop", peer, true);
    BEST_OF(ours, 1000, need(tnr_add_into(engine, &small.a, &small.b, &small.out)));
    BEST_OF(peer, 1000, raw_add(small.data[2], small.data[0], small.data[1], 8));
    bench_row("dispatch", "add of 8 f64", "ns", ours, "raw loop", peer, true);
    release_operands(&empty);
    release_operands(&small);
}

/* Columns of `rows` elements, `ld` apart; b is read by rows when it is transposed. */
static __attribute__((noinline)) void raw_plane(double *out, const double *a, const double *b, int64_t rows,
                                                int64_t columns, int64_t ld, bool transposed)
{
    for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < rows; ++i) {
            out[i + j * ld] = a[i + j * ld] + b[transposed ? j + i * ld : i + j * ld];
        }
    }
}

/* Sixteen elements under other layouts than that of a whole tensor: a slice, a slice with steps, a corner of a matrix. */
static void bench_slices(tnr_domain *heap, tnr_engine *engine)
{
    static const int64_t sixty_four = 64;
    static const int64_t square[2] = {8, 8};
    static const tnr_range ranges[2] = {{8, 24, 1}, {8, 40, 2}};
    static const char *const names[2] = {"add of 16 f64 of 64", "add of every second f64, 16 of 64"};
    operands made;
    double ours;
    double peer;
    for (int i = 0; i < 2; ++i) {
        make_operands(heap, 1, &sixty_four, &made);
        need(tnr_view_slice_axis(&made.a, 0, ranges[i], &made.a));
        need(tnr_view_slice_axis(&made.b, 0, ranges[i], &made.b));
        need(tnr_view_mut_slice_axis(&made.out, 0, ranges[i], &made.out));
        BEST_OF(ours, 1000, need(tnr_add_into(engine, &made.a, &made.b, &made.out)));
        BEST_OF(peer, 1000, raw_plane(made.data[2] + 8, made.data[0] + 8, made.data[1] + 8, 1, 16, i + 1, false));
        bench_row("dispatch", names[i], "ns", ours, "raw loop", peer, true);
        BEST_OF(ours, 1000, need(tnr_add_into(engine, &made.out.view, &made.b, &made.out)));
        bench_row("dispatch", "  and in place", "ns", ours, "raw loop", peer, true);
        release_operands(&made);
    }
    make_operands(heap, 2, square, &made);
    for (int axis = 0; axis < 2; ++axis) {
        const tnr_range four = {2, 6, 1};
        need(tnr_view_slice_axis(&made.a, axis, four, &made.a));
        need(tnr_view_slice_axis(&made.b, axis, four, &made.b));
        need(tnr_view_mut_slice_axis(&made.out, axis, four, &made.out));
    }
    BEST_OF(ours, 1000, need(tnr_add_into(engine, &made.a, &made.b, &made.out)));
    BEST_OF(peer, 1000, raw_plane(made.data[2] + 18, made.data[0] + 18, made.data[1] + 18, 4, 4, 8, false));
    bench_row("dispatch", "add of 4 x 4 f64 of 8 x 8", "ns", ours, "raw loop", peer, true);
    release_operands(&made);
}

/* Layouts that are not one run: short columns, a small corner, a transposed operand. Figures are ns per element. */
static void bench_layouts(tnr_domain *heap, tnr_engine *engine)
{
    static const int64_t tall[2] = {4, 100000};
    static const int64_t square[2] = {2048, 2048};
    const tnr_range three = {0, 3, 1};
    operands made;
    double ours;
    double peer;
    make_operands(heap, 2, tall, &made);
    need(tnr_view_slice_axis(&made.a, 0, three, &made.a));
    need(tnr_view_slice_axis(&made.b, 0, three, &made.b));
    need(tnr_view_mut_slice_axis(&made.out, 0, three, &made.out));
    BEST_OF(ours, 5, need(tnr_add_into(engine, &made.a, &made.b, &made.out)));
    BEST_OF(peer, 5, raw_plane(made.data[2], made.data[0], made.data[1], 3, 100000, 4, false));
    bench_row("dispatch", "add of 3 x 100000 in 4 x 100000, per element", "ns", ours / 300000, "raw loop",
              peer / 300000, true);
    release_operands(&made);
    make_operands(heap, 2, square, &made);
    const double count = 2048.0 * 2048.0;
    BEST_OF(ours, 1, need(tnr_add_into(engine, &made.a, &made.b, &made.out)));
    BEST_OF(peer, 1, raw_plane(made.data[2], made.data[0], made.data[1], 2048, 2048, 2048, false));
    bench_row("dispatch", "add of 2048 x 2048, per element", "ns", ours / count, "raw loop", peer / count, true);
    need(tnr_view_permute(&made.b, NULL, &made.b));
    BEST_OF(ours, 1, need(tnr_add_into(engine, &made.a, &made.b, &made.out)));
    BEST_OF(peer, 1, raw_plane(made.data[2], made.data[0], made.data[1], 2048, 2048, 2048, true));
    bench_row("dispatch", "add of 2048 x 2048 transposed, per element", "ns", ours / count, "raw loop", peer / count,
              true);
    release_operands(&made);
}

static void bench_products(tnr_domain *heap, tnr_engine *engine)
{
    static const int64_t two[2] = {2, 2};
    static const int64_t sixty_four[2] = {64, 64};
    operands small;
    operands large;
    double ours;
    double peer;
    make_operands(heap, 2, two, &small);
    make_operands(heap, 2, sixty_four, &large);
    BEST_OF(ours, 1000, need(tnr_matmul_into(engine, &small.a, &small.b, NULL, &small.out)));
    BEST_OF(peer, 1000, raw_matmul(small.data[2], small.data[0], small.data[1], 2));
    bench_row("dispatch", "2x2 f64 product, output reused", "ns", ours, "raw loop", peer, true);
    tnr_tensor *made = NULL;
    BEST_OF(ours, 50, {
        need(tnr_matmul(engine, &large.a, &large.b, NULL, &made));
        need(tnr_tensor_release(&made));
    });
    BEST_OF(peer, 50, raw_matmul(large.data[2], large.data[0], large.data[1], 64));
    bench_row("dispatch", "64x64 f64 product, output from and to the pool", "ns", ours, "raw loop", peer, true);
    release_operands(&small);
    release_operands(&large);
}

static void bench_views(tnr_domain *heap)
{
    static const int64_t shape[2] = {64, 64};
    operands made;
    tnr_view view;
    tnr_view_mut halves[2];
    tnr_read_map map;
    bool granted;
    double ours;
    make_operands(heap, 2, shape, &made);
    const tnr_range upper = {0, 32, 1};
    const tnr_range lower = {32, TNR_END, 1};
    BEST_OF(ours, 1000, need(tnr_tensor_view(made.tensors[0], &view)));
    bench_row("dispatch", "view of a tensor", "ns", ours, "none", 0.0, true);
    BEST_OF(ours, 1000, need(tnr_view_permute(&made.a, NULL, &view)));
    bench_row("dispatch", "transposed view", "ns", ours, "none", 0.0, true);
    need(tnr_view_mut_slice_axis(&made.out, 1, upper, &halves[0]));
    need(tnr_view_mut_slice_axis(&made.out, 1, lower, &halves[1]));
    BEST_OF(ours, 1000, need(tnr_view_mut_split(halves, 2, &granted)));
    bench_row("dispatch", "split in two", "ns", ours, "none", 0.0, true);
    BEST_OF(ours, 1000, {
        need(tnr_map_read(&made.a, &map));
        need(tnr_unmap_read(&map));
    });
    bench_row("dispatch", "map and unmap for reading", "ns", ours, "none", 0.0, true);
    release_operands(&made);
}

int bench_dispatch(void)
{
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    need(tnr_heap_create(&heap));
    need(tnr_engine_create(heap, NULL, &engine));
    larger_elementwise(heap, engine);
    bench_slices(heap, engine);
    bench_layouts(heap, engine);
    bench_products(heap, engine);
    bench_views(heap);
    need(tnr_engine_destroy(&engine));
    need(tnr_domain_close(&heap));
    return 0;
}
