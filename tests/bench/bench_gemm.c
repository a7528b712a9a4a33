/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suite "gemm": tnr_matmul_into on whole matrices against BLAS libraries (blas.h), squares and thin shapes, every dtype, one worker and
 * two; vectors; batches of small products against loops of a library's; and what a 2x2 product costs. All ways to make one product are
 * timed in turns, and their results compared.
 *
 * Scores take the best library at each point. With TENURE_BENCH_FULL more sizes, and the largest for every dtype.
 */
#include "bench.h"
#include "blas.h"
#include "loops.h"
#include "race.h"
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE "gemm"
#define MOST_EXTENT 2048
#define MOST_BYTES ((uint64_t)MOST_EXTENT * MOST_EXTENT * 16)

typedef struct extents {
    int m;
    int n;
    int k;
    bool full; /* with TENURE_BENCH_FULL only */
} extents;

static const extents shapes[] = {
    {2, 2, 2, false},         {3, 3, 3, true},           {4, 4, 4, false},         {6, 6, 6, true},
    {8, 8, 8, false},         {12, 12, 12, true},        {16, 16, 16, false},      {24, 24, 24, true},
    {32, 32, 32, false},      {48, 48, 48, false},       {64, 64, 64, false},      {96, 96, 96, false},
    {100, 100, 100, true},    {128, 128, 128, false},    {192, 192, 192, true},    {256, 256, 256, false},
    {384, 384, 384, true},    {500, 500, 500, true},     {512, 512, 512, false},   {768, 768, 768, true},
    {1000, 1000, 1000, true}, {1024, 1024, 1024, false}, {1536, 1536, 1536, true}, {2048, 2048, 2048, false},
    {4096, 64, 64, false},    {64, 4096, 64, false},     {64, 64, 4096, false},    {2000, 2000, 16, false},
    {16, 2000, 2000, false},
};

static const char *const dtype_names[BENCH_BLAS_DTYPES] = {"f32", "f64", "c32", "c64"};

static bench_scene scene;
static bench_blases blases;
static bool full;

/* Everything a measured call looks at. */
static struct operands {
    void *memory[4]; /* a, b, what we make, what the others make */
    tnr_dtype dtype;
    tnr_tensor *tensors[3];
    tnr_view a;
    tnr_view b;
    tnr_view_mut out;
    tnr_product_options options;
    const char *labels[3]; /* of a batch */
    tnr_engine *other;     /* of one worker, where the scene's has two */
} s;

static void must(tnr_status status) { bench_scene_must(&scene, status); }

static int index_of(tnr_dtype dtype) { return bench_blas_index(dtype); }

/* ---- Operands ------------------------------------------------------------------------------------------------------------ */

static void fill(tnr_dtype dtype)
{
    const bool wide = dtype == TNR_F64 || dtype == TNR_C64;
    for (int i = 0; i < 2; ++i) {
        const uint64_t period = i == 0 ? 1009 : 773;
        for (uint64_t j = 0; j < MOST_BYTES / (wide ? 8 : 4); ++j) {
            const double value = (double)(j % period) / (double)period - 0.5;
            if (wide) {
                ((double *)s.memory[i])[j] = value;
            } else {
                ((float *)s.memory[i])[j] = (float)value;
            }
        }
    }
    s.dtype = dtype;
}

static void close_operands(void)
{
    for (int i = 0; i < 3; ++i) {
        must(tnr_tensor_release(&s.tensors[i]));
    }
}

/* Tensors of these shapes over the kept memory. */
static void open_operands(int rank, const int64_t *a, const int64_t *b, const int64_t *out)
{
    const int64_t *const shape[3] = {a, b, out};
    close_operands();
    for (int i = 0; i < 3 && !scene.failed; ++i) {
        uint64_t bytes = tnr_dtype_size(s.dtype);
        for (int axis = 0; axis < rank; ++axis) {
            bytes *= (uint64_t)shape[i][axis];
        }
        must(tnr_tensor_adopt(scene.heap, s.dtype, rank, shape[i], s.memory[i], bytes, NULL, NULL, &s.tensors[i]));
    }
    if (!scene.failed) {
        must(tnr_tensor_view(s.tensors[0], &s.a));
        must(tnr_tensor_view(s.tensors[1], &s.b));
        must(tnr_tensor_view_mut(s.tensors[2], &s.out));
    }
    s.options = (tnr_product_options)TNR_PRODUCT_OPTIONS;
}

static void open_matrices(const extents *at)
{
    open_operands(2, (int64_t[]){at->m, at->k}, (int64_t[]){at->k, at->n}, (int64_t[]){at->m, at->n});
}

/* What the other way made differs from ours by rounding only; `terms` are summed. */
static void compare(const char *peer, const char *where, uint64_t elements, int terms)
{
    const bool wide = s.dtype == TNR_F64 || s.dtype == TNR_C64;
    const uint64_t count = elements * (tnr_dtype_size(s.dtype) / (wide ? 8 : 4));
    const double limit = (double)terms * (wide ? 1e-15 : 5e-7);
    for (uint64_t i = 0; i < count; ++i) {
        const double ours = wide ? ((double *)s.memory[2])[i] : (double)((float *)s.memory[2])[i];
        const double theirs = wide ? ((double *)s.memory[3])[i] : (double)((float *)s.memory[3])[i];
        if (!(fabs(ours - theirs) <= limit)) {
            char text[200];
            (void)snprintf(text, sizeof text, "%s: ours and %s differ: %g and %g", where, peer, ours, theirs);
            bench_note(SUITE, text);
            scene.failed = true;
            return;
        }
    }
}

/* ---- What is measured ------------------------------------------------------------------------------------------------------ */

static void ours_matmul(void *unused)
{
    (void)unused;
    must(tnr_matmul_into(scene.engine, &s.a, &s.b, &s.options, &s.out));
}

static void ours_alone(void *unused)
{
    (void)unused;
    must(tnr_matmul_into(s.other, &s.a, &s.b, &s.options, &s.out));
}

static void ours_batch(void *unused)
{
    (void)unused;
    must(tnr_contract_into(scene.engine, &s.a, s.labels[0], &s.b, s.labels[1], s.labels[2], &s.options, &s.out));
}

static void peer_product(void *context) { bench_product_run(context); }

typedef struct batch {
    bench_product product;
    int count;
} batch;

static void peer_batch(void *context)
{
    const batch *all = context;
    bench_product one = all->product;
    const uint64_t bytes = (uint64_t)one.m * (uint64_t)one.m * tnr_dtype_size(s.dtype);
    for (int i = 0; i < all->count; ++i) {
        bench_product_run(&one);
        one.a = (const char *)one.a + bytes;
        one.b = (const char *)one.b + bytes;
        one.c = (char *)one.c + bytes;
    }
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------ */

typedef struct scores {
    bench_score all;
    bench_score large; /* all extents from 256 on, or one that is past it */
    bench_score two;   /* two workers against one */
} scores;

static bench_score every_large; /* of all dtypes */

static const char *plural(int workers) { return workers == 1 ? "1 worker" : "2 workers"; }

/* Rows of a race: each peer's, in work per nanosecond; the ratio to the best of them, or 0. */
static double rows(const bench_field *field, const char *name, const char *unit, double work)
{
    for (int i = 1; i < field->count; ++i) {
        if (work > 0.0) {
            bench_row(SUITE, name, unit, work / field->racers[0].ns, field->racers[i].name, work / field->racers[i].ns,
                      false);
        } else {
            bench_row(SUITE, name, unit, field->racers[0].ns, field->racers[i].name, field->racers[i].ns, true);
        }
    }
    const int best = bench_fastest(field, 1);
    return best < 0 ? 0.0 : field->racers[best].ns / field->racers[0].ns;
}

static void measure_matrices(const extents *at, int workers, scores *score)
{
    const int dtype = index_of(s.dtype);
    const double flops = 2.0 * at->m * at->n * at->k * (dtype < 2 ? 1.0 : 4.0);
    bench_field field = {.count = 0};
    bench_product products[BENCH_BLAS_MOST];
    char shape_name[40];
    char name[100];
    (void)snprintf(shape_name, sizeof shape_name, "%dx%dx%d", at->m, at->n, at->k);
    (void)snprintf(name, sizeof name, "%s %s, %s", dtype_names[dtype], shape_name, plural(workers));
    open_matrices(at);
    bench_enter(&field, ours_matmul, NULL, "ours");
    for (int i = 0; i < blases.count; ++i) {
        if (bench_blas_use(&blases.list[i], workers)) {
            products[i] = (bench_product){blases.list[i].gemm[dtype],
                                          dtype,
                                          'N',
                                          'N',
                                          at->m,
                                          at->n,
                                          at->k,
                                          s.memory[0],
                                          s.memory[1],
                                          s.memory[3]};
            bench_enter(&field, peer_product, &products[i], "%s", blases.list[i].name);
        }
    }
    if (scene.failed) {
        return;
    }
    ours_matmul(NULL);
    for (int i = 1; i < field.count; ++i) {
        field.racers[i].run(field.racers[i].context);
        compare(field.racers[i].name, name, (uint64_t)at->m * (uint64_t)at->n, at->k);
    }
    bench_field alone = {.count = 0};
    bench_race(&field, flops < 1e6 ? 60.0 : 200.0, workers == 1);
    const double ratio = rows(&field, name, "GFLOP/s", flops);
    if (ratio > 0.0) {
        bench_score_add(&score->all, ratio, shape_name);
        if (at->m >= 256 && at->n >= 256 && at->k >= 256) {
            bench_score_add(&score->large, ratio, shape_name);
            bench_score_add(&every_large, ratio, name);
        }
    }
    if (workers == 2) {
        s.other = scene.engines[0];
        bench_enter(&alone, ours_matmul, NULL, "two");
        bench_enter(&alone, ours_alone, NULL, "1 worker");
        bench_race(&alone, flops < 1e6 ? 40.0 : 150.0, false);
        bench_row(SUITE, name, "GFLOP/s", flops / alone.racers[0].ns, "1 worker", flops / alone.racers[1].ns, false);
        bench_score_add(&score->two, alone.racers[1].ns / alone.racers[0].ns, shape_name);
    }
}

static void matrices(tnr_dtype dtype, int workers)
{
    scores score = {.all = {.count = 0}};
    char what[80];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !scene.failed; ++i) {
        const double flops =
            2.0 * shapes[i].m * shapes[i].n * shapes[i].k * (dtype == TNR_C32 || dtype == TNR_C64 ? 4 : 1);
        if (full || (!shapes[i].full && flops < 20e9)) {
            measure_matrices(&shapes[i], workers, &score);
        }
    }
    (void)snprintf(what, sizeof what, "%s, %s", dtype_names[index_of(dtype)], plural(workers));
    bench_score_rows(SUITE, &score.all, what, "best at each point");
    (void)snprintf(what, sizeof what, "%s, %s, all extents at least 256", dtype_names[index_of(dtype)],
                   plural(workers));
    bench_score_rows(SUITE, &score.large, what, "best at each point");
    (void)snprintf(what, sizeof what, "%s, 2 workers against 1", dtype_names[index_of(dtype)]);
    bench_score_rows(SUITE, &score.two, what, "1 worker");
}

/* ---- Vectors --------------------------------------------------------------------------------------------------------------- */

typedef struct vector_case {
    const bench_blas *blas;
    int dtype;
    int n;
} vector_case;

static const int unit = 1;

static void peer_gemv(void *context)
{
    const vector_case *c = context;
    const tnr_c64 one = {1.0, 0.0};
    const tnr_c32 one_f = {1.0F, 0.0F};
    const tnr_c64 zero = {0.0, 0.0};
    const void *alpha = c->dtype % 2 == 1 ? (const void *)&one : (const void *)&one_f;
    c->blas->gemv[c->dtype]("N", &c->n, &c->n, alpha, s.memory[0], &c->n, s.memory[1], &unit, &zero, s.memory[3],
                            &unit);
}

static void peer_ger(void *context)
{
    const vector_case *c = context;
    const tnr_c64 one = {1.0, 0.0};
    const tnr_c32 one_f = {1.0F, 0.0F};
    const void *alpha = c->dtype % 2 == 1 ? (const void *)&one : (const void *)&one_f;
    c->blas->ger[c->dtype](&c->n, &c->n, alpha, s.memory[0], &unit, s.memory[1], &unit, s.memory[3], &c->n);
}

static void peer_dot(void *context)
{
    const vector_case *c = context;
    if (c->dtype == 1) {
        *(double *)s.memory[3] = c->blas->ddot(&c->n, s.memory[0], &unit, s.memory[1], &unit);
    } else {
        *(float *)s.memory[3] = c->blas->sdot(&c->n, s.memory[0], &unit, s.memory[1], &unit);
    }
}

static void measure_vectors(const char *what, int n, int workers, bench_score *score)
{
    const int dtype = index_of(s.dtype);
    const bool dot = strcmp(what, "dot") == 0;
    const bool outer = strcmp(what, "ger") == 0;
    const int m = dot ? 1 : n;
    const extents at = {m, outer ? n : 1, outer ? 1 : n, false};
    bench_field field = {.count = 0};
    vector_case cases[BENCH_BLAS_MOST];
    char where[40];
    char name[100];
    open_matrices(&at);
    s.options.beta.re = outer ? 1.0 : 0.0;
    bench_enter(&field, ours_matmul, NULL, "ours");
    for (int i = 0; i < blases.count; ++i) {
        const bench_blas *blas = &blases.list[i];
        cases[i] = (vector_case){blas, dtype, n};
        const bool has = dot     ? (dtype == 1 ? blas->ddot != NULL : blas->sdot != NULL)
                         : outer ? blas->ger[dtype] != NULL
                                 : blas->gemv[dtype] != NULL;
        if (has && bench_blas_use(blas, workers)) {
            bench_enter(&field, dot ? peer_dot : outer ? peer_ger : peer_gemv, &cases[i], "%s", blas->name);
        }
    }
    if (scene.failed) {
        return;
    }
    (void)snprintf(where, sizeof where, "%s %s %d", dtype_names[dtype], what, n);
    (void)snprintf(name, sizeof name, "%s, %s", where, plural(workers));
    for (int i = 1; i < field.count; ++i) {
        memset(s.memory[2], 0, (size_t)at.m * (size_t)at.n * tnr_dtype_size(s.dtype));
        memset(s.memory[3], 0, (size_t)at.m * (size_t)at.n * tnr_dtype_size(s.dtype));
        ours_matmul(NULL);
        field.racers[i].run(field.racers[i].context);
        compare(field.racers[i].name, name, (uint64_t)at.m * (uint64_t)at.n, at.k < 100 ? 100 : at.k);
    }
    bench_race(&field, 80.0, workers == 1);
    const double ratio = rows(&field, name, "GFLOP/s", 2.0 * at.m * at.n * at.k * (dtype < 2 ? 1.0 : 4.0));
    if (ratio > 0.0) {
        bench_score_add(score, ratio, where);
    }
}

static void vectors(tnr_dtype dtype, int workers, bench_score *score)
{
    static const int sizes[] = {16, 256, 2048};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        measure_vectors("gemv", sizes[i], workers, score);
        measure_vectors("ger", sizes[i], workers, score);
        if (dtype == TNR_F32 || dtype == TNR_F64) {
            measure_vectors("dot", sizes[i] * 64, workers, score);
        }
    }
}

/* ---- Batches --------------------------------------------------------------------------------------------------------------- */

static void measure_batch(int n, int count, int workers, bench_score *score)
{
    const int dtype = index_of(s.dtype);
    bench_field field = {.count = 0};
    batch batches[BENCH_BLAS_MOST];
    char where[40];
    char name[100];
    const int64_t shape[3] = {n, n, count};
    open_operands(3, shape, shape, shape);
    s.labels[0] = "ikb";
    s.labels[1] = "kjb";
    s.labels[2] = "ijb";
    bench_enter(&field, ours_batch, NULL, "ours");
    for (int i = 0; i < blases.count; ++i) {
        if (bench_blas_use(&blases.list[i], workers)) {
            batches[i] = (batch){
                {blases.list[i].gemm[dtype], dtype, 'N', 'N', n, n, n, s.memory[0], s.memory[1], s.memory[3]}, count};
            bench_enter(&field, peer_batch, &batches[i], "loop of %s", blases.list[i].name);
        }
    }
    if (scene.failed) {
        return;
    }
    (void)snprintf(where, sizeof where, "%s %d products of %dx%dx%d", dtype_names[dtype], count, n, n, n);
    (void)snprintf(name, sizeof name, "%s, %s", where, plural(workers));
    ours_batch(NULL);
    for (int i = 1; i < field.count; ++i) {
        field.racers[i].run(field.racers[i].context);
        compare(field.racers[i].name, name, (uint64_t)count * (uint64_t)n * (uint64_t)n, n);
    }
    bench_race(&field, 100.0, workers == 1);
    const double ratio = rows(&field, name, "GFLOP/s", 2.0 * n * n * n * count * (dtype < 2 ? 1.0 : 4.0));
    if (ratio > 0.0) {
        bench_score_add(score, ratio, where);
    }
}

static void batched(int workers, bench_score *score)
{
    measure_batch(2, 16, workers, score);
    measure_batch(4, 16, workers, score);
    measure_batch(4, 64, workers, score);
    measure_batch(4, 256, workers, score);
    measure_batch(4, 1024, workers, score);
    measure_batch(64, 32, workers, score);
    measure_batch(128, 32, workers, score);
}

/* ---- One very small product -------------------------------------------------------------------------------------------------- */

static void raw_2x2(void *unused)
{
    (void)unused;
    const double *a = s.memory[0];
    const double *b = s.memory[1];
    double *c = s.memory[3];
    for (int j = 0; j < 2; ++j) {
        for (int i = 0; i < 2; ++i) {
            c[i + 2 * j] = a[i] * b[2 * j] + a[i + 2] * b[1 + 2 * j];
        }
    }
}

static void smallest(void)
{
    bench_field field = {.count = 0};
    open_matrices(&shapes[0]);
    bench_enter(&field, ours_matmul, NULL, "ours");
    bench_enter(&field, raw_2x2, NULL, "raw loop");
    if (!scene.failed) {
        bench_race(&field, 100.0, true);
        (void)rows(&field, "f64 2x2x2 into a reused output", "ns", 0.0);
        bench_row(SUITE, "f64 2x2x2 into a reused output, past the raw loop", "ns",
                  field.racers[0].ns - field.racers[1].ns, "goal", 60.0, true);
    }
}

/* ---- The suite ----------------------------------------------------------------------------------------------------------------- */

static void all_of(int workers)
{
    static const tnr_dtype order[] = {TNR_F64, TNR_F32, TNR_C64, TNR_C32};
    bench_score vector_score = {.count = 0};
    bench_score batch_score = {.count = 0};
    char what[80];
    memset(&every_large, 0, sizeof every_large);
    for (size_t i = 0; i < sizeof order / sizeof *order && !scene.failed; ++i) {
        fill(order[i]);
        if (workers == 1 && order[i] == TNR_F64) {
            smallest();
        }
        matrices(order[i], workers);
        vectors(order[i], workers, &vector_score);
        batched(workers, &batch_score);
    }
    (void)snprintf(what, sizeof what, "all dtypes, %s, all extents at least 256", plural(workers));
    bench_score_rows(SUITE, &every_large, what, "best at each point");
    (void)snprintf(what, sizeof what, "vectors, %s", plural(workers));
    bench_score_rows(SUITE, &vector_score, what, "best at each point");
    (void)snprintf(what, sizeof what, "batches, %s", plural(workers));
    bench_score_rows(SUITE, &batch_score, what, "best loop of a library's product at each point");
}

int bench_gemm(void)
{
    const char *wish = getenv("TENURE_BENCH_FULL");
    full = wish != NULL && *wish != '\0' && *wish != '0';
    memset(&s, 0, sizeof s);
    bool opened = bench_scene_open(&scene, SUITE, UINT64_C(1) << 30);
    for (int i = 0; i < 4; ++i) {
        s.memory[i] = aligned_alloc(4096, MOST_BYTES);
        opened = opened && s.memory[i] != NULL;
    }
    if (opened) {
        tnr_engine_info info;
        char text[160];
        must(tnr_engine_describe(scene.engine, &info));
        (void)snprintf(text, sizeof text, "ours: %s kernels for %s", info.blas, info.isa);
        bench_note(SUITE, text);
        bench_blas_open(SUITE, &blases);
        memset(s.memory[2], 0, MOST_BYTES);
        memset(s.memory[3], 0, MOST_BYTES);
        for (int workers = 1; workers <= 2 && !scene.failed; ++workers) {
            if (bench_scene_use(&scene, workers)) {
                all_of(workers);
            }
        }
    }
    close_operands();
    for (int i = 0; i < 4; ++i) {
        free(s.memory[i]);
    }
    bench_scene_close(&scene);
    return scene.failed;
}
