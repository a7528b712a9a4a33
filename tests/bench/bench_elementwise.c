/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suite "elementwise": f64, sizes for each cache level and for memory, one and two workers, fresh outputs and `_into`.
 * Against hand loops (plain and streaming), the C library's vector functions through a loop that the compiler turned into
 * calls of them, and NumPy.
 */
#include "bench.h"
#include "loops.h"
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef tnr_status (*unary)(tnr_engine *, const tnr_view *, const tnr_view_mut *);

/* Everything a measured call looks at. */
static bench_scene scene;
static struct operands {
    tnr_tensor *tensors[3];
    double *data[3];
    tnr_view a, b;
    tnr_view_mut out;
    int64_t count;
    unary function;
    void (*loop)(double *, const double *, const double *, int64_t);
} s;

static void must(tnr_status status) { bench_scene_must(&scene, status); }

/* ---- What is measured --------------------------------------------------------------------------------------------------- */

static void ours_add_into(void *unused)
{
    (void)unused;
    must(tnr_add_into(scene.engine, &s.a, &s.b, &s.out));
}

static void ours_add(void *unused)
{
    (void)unused;
    tnr_tensor *made = NULL;
    must(tnr_add(scene.engine, &s.a, &s.b, &made));
    must(tnr_tensor_release(&made));
}

static void ours_copy_into(void *unused)
{
    (void)unused;
    must(tnr_copy_into(scene.engine, &s.a, &s.out));
}

static void ours_function(void *unused)
{
    (void)unused;
    must(s.function(scene.engine, &s.a, &s.out));
}

static void peer_loop(void *unused)
{
    (void)unused;
    s.loop(s.data[2], s.data[0], s.data[1], s.count);
}

static void peer_pair(void *unused)
{
    (void)unused;
    bench_pair_run(s.loop, s.data[2], s.data[0], s.data[1], s.count);
}

/* ---- libmvec, by a loop that calls it ------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GLIBC__)
typedef double vector4 __attribute__((vector_size(32)));
typedef vector4 (*vector_function)(vector4);

/* The loop that compilers make of y[i] = f(x[i]) when they may call the vector library. */
__attribute__((target("avx2"))) static void mvec_loop(vector_function function, double *to, const double *a,
                                                      int64_t count)
{
    for (int64_t i = 0; i + 4 <= count; i += 4) {
        vector4 x;
        memcpy(&x, a + i, sizeof x);
        x = function(x);
        memcpy(to + i, &x, sizeof x);
    }
}

static vector_function mvec;

static void peer_mvec(void *unused)
{
    (void)unused;
    mvec_loop(mvec, s.data[2], s.data[0], s.count);
}

static bool find_mvec(const char *name)
{
    static void *library;
    if (library == NULL) {
        library = bench_library("elementwise", "MVEC_LIB", "libmvec.so.1");
    }
    char symbol[40];
    snprintf(symbol, sizeof symbol, "_ZGVdN4v_%s", name);
    return __builtin_cpu_supports("avx2") && bench_function(library, symbol, &mvec);
}
#else
static bool find_mvec(const char *name)
{
    (void)name;
    return false;
}
static void peer_mvec(void *unused) { (void)unused; }
#endif

/* ---- Rows ------------------------------------------------------------------------------------------------------------------- */

static void row(const char *what, const char *how, int workers, const bench_size *size, double bytes, double ours_ns,
                const char *peer, double peer_ns)
{
    char name[100];
    snprintf(name, sizeof name, "%s %s, %s", what, how, size->name);
    bench_scene_row(&scene, name, workers, bytes, ours_ns, peer, peer_ns);
}

/* Three whole tensors of so many elements. */
static void choose(int64_t count)
{
    if (s.count == count) {
        return;
    }
    for (int i = 0; i < 3; ++i) {
        tnr_view_mut view;
        tnr_write_map map;
        must(tnr_tensor_release(&s.tensors[i]));
        must(tnr_tensor_zeros(scene.heap, TNR_F64, 1, &count, &s.tensors[i]));
        must(tnr_tensor_view_mut(s.tensors[i], &view));
        must(tnr_map_write(&view, &map));
        s.data[i] = map.data;
        const int64_t period = i == 0 ? 1000 : 777;
        for (int64_t k = 0; k < count; ++k) {
            s.data[i][k] = (double)(k % period + 1) / (double)period;
        }
        must(tnr_unmap_write(&map));
    }
    must(tnr_tensor_view(s.tensors[0], &s.a));
    must(tnr_tensor_view(s.tensors[1], &s.b));
    must(tnr_tensor_view_mut(s.tensors[2], &s.out));
    s.count = count;
}

/* Best of the plain and the streaming loop, each measured in turns with ours. */
static void against_loops(const char *what, void (*ours)(void *), const char *how, int workers, const bench_size *size,
                          double bytes, void (*plain)(double *, const double *, const double *, int64_t),
                          void (*streaming)(double *, const double *, const double *, int64_t))
{
    void (*const peer)(void *) = workers == 1 ? peer_loop : peer_pair;
    s.loop = plain;
    bench_pairing best = bench_in_turns(ours, peer, NULL, size->milliseconds);
    const char *name = workers == 1 ? "plain loop" : "plain loop on two threads";
    if (streaming != NULL) {
        s.loop = streaming;
        const bench_pairing other = bench_in_turns(ours, peer, NULL, size->milliseconds);
        if (other.peer_ns / other.ours_ns < best.peer_ns / best.ours_ns) {
            best = other;
            name = workers == 1 ? "streaming loop" : "streaming loop on two threads";
        }
    }
    row(what, how, workers, size, bytes, best.ours_ns, name, best.peer_ns);
}

static void copies_and_sums(int workers)
{
    const bench_loops *loops = bench_loops_best();
    if (workers == 2 && !bench_pair_open()) {
        return;
    }
    for (int i = 0; i < BENCH_SIZES; ++i) {
        const bench_size *size = &bench_sizes[i];
        const double two = 16.0 * (double)size->count;
        const double three = 24.0 * (double)size->count;
        choose(size->count);
        const bool memory =
            i + 1 == BENCH_SIZES; /* what fits a cache is written into it: the plain loop is the peer there */
        against_loops("copy", ours_copy_into, "into", workers, size, two, loops->copy,
                      memory ? loops->copy_stream : NULL);
        against_loops("add", ours_add_into, "into", workers, size, three, loops->add,
                      memory ? loops->add_stream : NULL);
        against_loops("add", ours_add, "fresh", workers, size, three, loops->add, memory ? loops->add_stream : NULL);
        if (workers == 1) {
            const bench_pairing into = bench_in_turns(ours_add_into, NULL, NULL, size->milliseconds);
            row("add", "into", 1, size, three, into.ours_ns, "numpy", bench_numpy("np.add(a, b, out)", size->count));
            const bench_pairing fresh = bench_in_turns(ours_add, NULL, NULL, size->milliseconds);
            row("add", "fresh", 1, size, three, fresh.ours_ns, "numpy", bench_numpy("a + b", size->count));
        }
    }
    if (workers == 2) {
        bench_pair_close();
    }
}

static void functions(int workers)
{
    static const struct function {
        const char *name;
        unary into;
        const char *numpy;
    } list[] = {{"exp", tnr_exp_into, "np.exp(a, out)"},       {"log", tnr_log_into, "np.log(a, out)"},
                {"sin", tnr_sin_into, "np.sin(a, out)"},       {"cos", tnr_cos_into, "np.cos(a, out)"},
                {"tanh", tnr_tanh_into, "np.tanh(a, out)"},    {"expm1", tnr_expm1_into, "np.expm1(a, out)"},
                {"log1p", tnr_log1p_into, "np.log1p(a, out)"}, {"sqrt", tnr_sqrt_into, "np.sqrt(a, out)"}};
    for (size_t f = 0; f < sizeof list / sizeof *list; ++f) {
        s.function = list[f].into;
        for (int i = 1; i < BENCH_SIZES; ++i) {
            const bench_size *size = &bench_sizes[i];
            const double bytes = 16.0 * (double)size->count;
            choose(size->count);
            if (workers == 1 && find_mvec(list[f].name)) {
                const bench_pairing turns = bench_in_turns(ours_function, peer_mvec, NULL, size->milliseconds);
                row(list[f].name, "into", workers, size, bytes, turns.ours_ns, "libmvec, 4 lanes", turns.peer_ns);
            }
            const bench_pairing ours = bench_in_turns(ours_function, NULL, NULL, size->milliseconds);
            row(list[f].name, "into", workers, size, bytes, ours.ours_ns, "numpy",
                bench_numpy(list[f].numpy, size->count));
        }
    }
}

static void small(void)
{
    choose(16);
    s.loop = bench_loops_best()->add;
    const bench_pairing turns = bench_in_turns(ours_add_into, peer_loop, NULL, 100.0);
    bench_row("elementwise", "add into, 16 elements", "ns", turns.ours_ns, "plain loop", turns.peer_ns, true);
    const bench_pairing fresh = bench_in_turns(ours_add, peer_loop, NULL, 100.0);
    bench_row("elementwise", "add fresh, 16 elements", "ns", fresh.ours_ns, "plain loop", fresh.peer_ns, true);
}

/* Two workers against one, over sizes: never slower. */
static void crossover(void)
{
    for (int64_t count = 1024; count <= 4194304; count *= 4) {
        char name[80];
        choose(count);
        double best[2];
        for (int workers = 1; workers <= 2; ++workers) {
            scene.engine = scene.engines[workers - 1];
            best[workers - 1] = bench_in_turns(ours_add_into, NULL, NULL, 80.0).ours_ns;
        }
        snprintf(name, sizeof name, "add into, %lld elements, 2 workers", (long long)count);
        bench_row("elementwise", name, "ns", best[1], "1 worker", best[0], true);
    }
}

int bench_elementwise(void)
{
    memset(&s, 0, sizeof s);
    if (bench_scene_open(&scene, "elementwise", UINT64_C(1) << 30)) {
        tnr_engine_info info;
        char text[120];
        must(tnr_engine_describe(scene.engine, &info));
        snprintf(text, sizeof text, "kernels: %s, L2 %llu KiB, L3 %llu KiB; hand loops: %s", info.isa,
                 (unsigned long long)(info.l2_bytes >> 10), (unsigned long long)(info.l3_bytes >> 10),
                 bench_loops_best()->name);
        bench_note("elementwise", text);
        const bool numpy = bench_numpy_open("elementwise", 1);
        (void)bench_scene_use(&scene, 1);
        small();
        copies_and_sums(1);
        functions(1);
        if (bench_scene_use(&scene, 2)) {
            copies_and_sums(2);
            functions(2);
            crossover();
        }
        if (numpy) {
            bench_numpy_close();
        }
    }
    for (int i = 0; i < 3; ++i) {
        must(tnr_tensor_release(&s.tensors[i]));
    }
    bench_scene_close(&scene);
    return scene.failed;
}
