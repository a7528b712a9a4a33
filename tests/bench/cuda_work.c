/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tenure-bench cuda: what engines do. Elementwise operations, reductions and permutations are held against the driver's copy on the device
 * of the largest size, by bytes read and written; products against cuBLAS itself.
 */
#include <stdio.h>
#include <string.h>

#include "cuda_scene.h"

static const char suite[] = "cuda";

typedef struct work {
    cuda_scene *scene;
    tnr_view a;
    tnr_view b;
    tnr_view_mut out;
    const int *axes;
    int axis_count;
    const char *labels[3];
} work;

static void must(const work *w, tnr_status status) { cuda_scene_must(w->scene, status); }

/* ---- One function for each operation ------------------------------------------------------------------------------------- */

static void run_add(void *context)
{
    const work *w = context;
    must(w, tnr_add_into(w->scene->engines[0], &w->a, &w->b, &w->out));
}

static void run_exp(void *context)
{
    const work *w = context;
    must(w, tnr_exp_into(w->scene->engines[0], &w->a, &w->out));
}

static void run_sqrt(void *context)
{
    const work *w = context;
    must(w, tnr_sqrt_into(w->scene->engines[0], &w->a, &w->out));
}

static void run_cast(void *context)
{
    const work *w = context;
    must(w, tnr_cast_into(w->scene->engines[0], &w->a, &w->out));
}

static void run_copy(void *context)
{
    const work *w = context;
    must(w, tnr_copy_into(w->scene->engines[0], &w->a, &w->out));
}

static void run_sum(void *context)
{
    const work *w = context;
    must(w, tnr_sum_into(w->scene->engines[0], &w->a, w->axes, w->axis_count, &w->out));
}

static void run_max(void *context)
{
    const work *w = context;
    must(w, tnr_max_into(w->scene->engines[0], &w->a, w->axes, w->axis_count, &w->out));
}

static void run_norm(void *context)
{
    const work *w = context;
    must(w, tnr_norm_into(w->scene->engines[0], &w->a, w->axes, w->axis_count, &w->out));
}

static void run_argmax(void *context)
{
    const work *w = context;
    must(w, tnr_argmax_into(w->scene->engines[0], &w->a, 0, &w->out));
}

static void run_permute(void *context)
{
    const work *w = context;
    must(w, tnr_permute_into(w->scene->engines[0], &w->a, w->axes, &w->out));
}

static void run_contract(void *context)
{
    const work *w = context;
    must(w, tnr_contract_into(w->scene->engines[0], &w->a, w->labels[0], &w->b, w->labels[1], w->labels[2], NULL,
                              &w->out));
}

/* ---- Elementwise ------------------------------------------------------------------------------------------------------------ */

/* The middle of both axes: no row begins where the one before ends. */
static void inner(cuda_scene *scene, const tnr_view *view, tnr_view *part)
{
    cuda_scene_must(scene, tnr_view_slice(view, (const tnr_range[]){{1, -1, 1}, {1, -1, 1}}, part));
}

static void elementwise_of(cuda_scene *scene, tnr_dtype dtype, size_t bytes, const char *name)
{
    char text[96];
    const int64_t count = (int64_t)(scene->bytes / bytes);
    const int64_t rows = count >= (1 << 18) ? 4096 : 16;
    const int64_t shape[2] = {rows, count / rows};
    tnr_tensor *a = cuda_scene_make(scene, dtype, 2, shape);
    tnr_tensor *b = cuda_scene_make(scene, dtype, 2, shape);
    tnr_tensor *out = cuda_scene_make(scene, dtype, 2, shape);
    tnr_tensor *one = cuda_scene_make(scene, dtype, 0, NULL);
    if (scene->failed) {
        return;
    }
    work w = {.scene = scene};
    w.a = cuda_scene_view(scene, a);
    w.b = cuda_scene_view(scene, b);
    w.out = cuda_scene_out(scene, out);
    const double each = (double)bytes * (double)(shape[0] * shape[1]);
    (void)snprintf(text, sizeof(text), "add %s", name);
    cuda_scene_against_copy(scene, text, 3.0 * each, run_add, &w);
    (void)snprintf(text, sizeof(text), "copy by engine %s", name);
    cuda_scene_against_copy(scene, text, 2.0 * each, run_copy, &w);
    (void)snprintf(text, sizeof(text), "exp %s", name);
    cuda_scene_against_copy(scene, text, 2.0 * each, run_exp, &w);
    (void)snprintf(text, sizeof(text), "sqrt %s", name);
    cuda_scene_against_copy(scene, text, 2.0 * each, run_sqrt, &w);
    (void)snprintf(text, sizeof(text), "add a scalar %s", name);
    w.b = cuda_scene_view(scene, one);
    cuda_scene_against_copy(scene, text, 2.0 * each, run_add, &w);
    (void)snprintf(text, sizeof(text), "add strided (both axes cut) %s", name);
    const tnr_view whole = cuda_scene_view(scene, b);
    inner(scene, &w.a, &w.a);
    inner(scene, &whole, &w.b);
    cuda_scene_must(scene, tnr_view_mut_slice(&w.out, (const tnr_range[]){{1, -1, 1}, {1, -1, 1}}, &w.out));
    cuda_scene_against_copy(scene, text, 3.0 * (double)bytes * (double)((shape[0] - 2) * (shape[1] - 2)), run_add, &w);
    cuda_scene_drop(scene);
}

static void casts(cuda_scene *scene)
{
    const int64_t count = (int64_t)(scene->bytes / sizeof(double));
    tnr_tensor *narrow = cuda_scene_make(scene, TNR_F32, 1, &count);
    tnr_tensor *wide = cuda_scene_make(scene, TNR_F64, 1, &count);
    if (scene->failed) {
        return;
    }
    const double traffic = 12.0 * (double)count;
    work w = {.scene = scene, .a = cuda_scene_view(scene, narrow), .out = cuda_scene_out(scene, wide)};
    cuda_scene_against_copy(scene, "cast f32 to f64", traffic, run_cast, &w);
    w = (work){.scene = scene, .a = cuda_scene_view(scene, wide), .out = cuda_scene_out(scene, narrow)};
    cuda_scene_against_copy(scene, "cast f64 to f32", traffic, run_cast, &w);
    cuda_scene_drop(scene);
}

void cuda_bench_elementwise(cuda_scene *scene)
{
    elementwise_of(scene, TNR_F32, sizeof(float), "f32");
    elementwise_of(scene, TNR_F64, sizeof(double), "f64");
    casts(scene);
}

/* ---- Reductions ------------------------------------------------------------------------------------------------------------- */

static void reductions_of(cuda_scene *scene, tnr_dtype dtype, size_t bytes, const char *name)
{
    static const int both[2] = {0, 1};
    static const struct way {
        const char *name;
        void (*run)(void *);
        const int *axes;
        int axis_count;
    } ways[] = {{"sum of all", run_sum, both, 2},      {"sum of columns", run_sum, both, 1},
                {"sum of rows", run_sum, both + 1, 1}, {"max of all", run_max, both, 2},
                {"norm of all", run_norm, both, 2},    {"argmax of columns", run_argmax, NULL, 0}};
    char text[96];
    const int64_t count = (int64_t)(scene->bytes / bytes);
    const int64_t rows = count >= (1 << 18) ? 4096 : 16;
    const int64_t shape[2] = {rows, count / rows};
    tnr_tensor *a = cuda_scene_make(scene, dtype, 2, shape);
    tnr_tensor *outs[4] = {cuda_scene_make(scene, dtype, 1, &shape[1]), cuda_scene_make(scene, dtype, 1, &shape[0]),
                           cuda_scene_make(scene, dtype, 0, NULL), cuda_scene_make(scene, TNR_I64, 1, &shape[1])};
    for (size_t at = 0; at < sizeof(ways) / sizeof(ways[0]) && !scene->failed; at++) {
        const struct way *way = &ways[at];
        const int out = way->run == run_argmax ? 3 : way->axis_count == 2 ? 2 : way->axes == both ? 0 : 1;
        work w = {.scene = scene,
                  .a = cuda_scene_view(scene, a),
                  .out = cuda_scene_out(scene, outs[out]),
                  .axes = way->axes,
                  .axis_count = way->axis_count};
        (void)snprintf(text, sizeof(text), "%s %s", way->name, name);
        cuda_scene_against_copy(scene, text, (double)bytes * (double)(shape[0] * shape[1]), way->run, &w);
    }
    cuda_scene_drop(scene);
}

void cuda_bench_reductions(cuda_scene *scene)
{
    reductions_of(scene, TNR_F32, sizeof(float), "f32");
    reductions_of(scene, TNR_F64, sizeof(double), "f64");
}

/* ---- Permutations ----------------------------------------------------------------------------------------------------------- */

/* Axes of about the same extent, as many elements as fit. */
static void cube(cuda_scene *scene, size_t bytes, int rank, int64_t *shape)
{
    int64_t side = 1;
    for (;;) {
        int64_t count = 1;
        for (int axis = 0; axis < rank; axis++) {
            count *= side + 1;
        }
        if (count > (int64_t)(scene->bytes / bytes)) {
            break;
        }
        side++;
    }
    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = side - axis; /* not all the same: none is mistaken for another */
    }
}

void cuda_bench_permutations(cuda_scene *scene)
{
    static const struct turned {
        tnr_dtype dtype;
        size_t bytes;
        const char *name;
        int rank;
        int axes[4];
    } cases[] = {{TNR_F32, 4, "f32, transposed", 2, {1, 0}},       {TNR_F64, 8, "f64, transposed", 2, {1, 0}},
                 {TNR_C64, 16, "c64, transposed", 2, {1, 0}},      {TNR_F32, 4, "f32, 3 axes reversed", 3, {2, 1, 0}},
                 {TNR_F64, 8, "f64, 3 axes turned", 3, {1, 2, 0}}, {TNR_F64, 8, "f64, first axis stays", 3, {0, 2, 1}},
                 {TNR_F32, 4, "f32, 4 axes", 4, {3, 1, 0, 2}},     {TNR_F64, 8, "f64, 4 axes", 4, {1, 0, 3, 2}}};
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]) && !scene->failed; at++) {
        char text[96];
        int64_t shape[4];
        int64_t turned[4];
        double traffic = 2.0 * (double)cases[at].bytes;
        cube(scene, cases[at].bytes, cases[at].rank, shape);
        for (int axis = 0; axis < cases[at].rank; axis++) {
            turned[axis] = shape[cases[at].axes[axis]];
            traffic *= (double)shape[axis];
        }
        tnr_tensor *a = cuda_scene_make(scene, cases[at].dtype, cases[at].rank, shape);
        tnr_tensor *out = cuda_scene_make(scene, cases[at].dtype, cases[at].rank, turned);
        if (!scene->failed) {
            work w = {.scene = scene,
                      .a = cuda_scene_view(scene, a),
                      .out = cuda_scene_out(scene, out),
                      .axes = cases[at].axes};
            (void)snprintf(text, sizeof(text), "permutation %s", cases[at].name);
            cuda_scene_against_copy(scene, text, traffic, run_permute, &w);
        }
        cuda_scene_drop(scene);
    }
}

/* ---- Products --------------------------------------------------------------------------------------------------------------- */

static const struct number {
    tnr_dtype dtype;
    size_t bytes;
    double flops; /* of a multiplication and an addition */
    const char *name;
} numbers[] = {{TNR_F32, 4, 2.0, "f32"}, {TNR_F64, 8, 2.0, "f64"}, {TNR_C32, 8, 8.0, "c32"}, {TNR_C64, 16, 8.0, "c64"}};

static void product_of(cuda_scene *scene, const struct number *number, int n, int batch, bool with_blas)
{
    char text[96];
    const int64_t shape[3] = {n, n, batch};
    tnr_tensor *a = cuda_scene_make(scene, number->dtype, 3, shape);
    tnr_tensor *b = cuda_scene_make(scene, number->dtype, 3, shape);
    tnr_tensor *out = cuda_scene_make(scene, number->dtype, 3, shape);
    const uint64_t bytes = (uint64_t)number->bytes * (uint64_t)n * (uint64_t)n * (uint64_t)batch;
    if (!scene->failed) {
        work w = {.scene = scene,
                  .a = cuda_scene_view(scene, a),
                  .b = cuda_scene_view(scene, b),
                  .out = cuda_scene_out(scene, out),
                  .labels = {"mkb", "knb", "mnb"}};
        /* the peer's matrices, the result apart, lie in the raw memory of each copy */
        raw_product raw = {.raw = &scene->raw,
                           .dtype = number->dtype,
                           .n = n,
                           .batch = batch,
                           .a = scene->raw.device[0],
                           .b = scene->raw.device[0] + bytes,
                           .c = scene->raw.device[1]};
        const bool fits = with_blas && 2 * bytes <= scene->raw.bytes;
        cuda_duel duel = {
            .ours = run_contract, .ours_context = &w, .peer = fits ? raw_product_run : NULL, .peer_context = &raw};
        const double flops = number->flops * (double)n * (double)n * (double)n * (double)batch;
        cuda_scene_fight(scene, &duel);
        (void)snprintf(text, sizeof(text), batch == 1 ? "product %s, %d" : "products %s, %d, batch of %d", number->name,
                       n, batch);
        if (!scene->failed && fits) {
            bench_row(suite, text, "GFLOP/s", flops / duel.ours_ns, "cuBLAS", flops / duel.peer_ns, false);
        }
    }
    cuda_scene_drop(scene);
}

void cuda_bench_products(cuda_scene *scene)
{
    static const int sides[] = {256, 1024, 4096, 8192};
    const bool with_blas = cuda_raw_blas(&scene->raw);
    if (!with_blas) {
        bench_note(suite, "no cuBLAS: no products");
        return;
    }
    for (size_t at = 0; at < sizeof(numbers) / sizeof(numbers[0]) && !scene->failed; at++) {
        const struct number *number = &numbers[at];
        for (size_t side = 0; side < sizeof(sides) / sizeof(sides[0]) && !scene->quick && !scene->failed; side++) {
            if ((sides[side] < 8192 || number->dtype == TNR_F32) &&
                2 * number->bytes * (size_t)sides[side] * (size_t)sides[side] <= scene->raw.bytes) {
                product_of(scene, number, sides[side], 1, with_blas);
            }
        }
        if (scene->quick) {
            product_of(scene, number, 12, 1, with_blas);
        }
        product_of(scene, number, scene->quick ? 6 : 128, scene->quick ? 3 : 256, with_blas);
    }
}
