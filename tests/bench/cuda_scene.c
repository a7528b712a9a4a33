/* SPDX-License-Identifier: BSD-3-Clause */
/* See cuda_scene.h. */
#include "cuda_scene.h"

#include <stdio.h>

static const char suite[] = "cuda";

void cuda_scene_must(cuda_scene *scene, tnr_status status)
{
    if (status != TNR_OK && !scene->failed) {
        bench_note(suite, tnr_last_error());
    }
    scene->failed = scene->failed || status != TNR_OK;
}

/* The noise again and again, as another dtype. What is left at the end stays zero. */
static void fill(cuda_scene *scene, tnr_tensor *tensor, int64_t count)
{
    tnr_view noise = cuda_scene_view(scene, scene->noise);
    tnr_view_mut target;
    const int64_t length = count < noise.shape[0] ? count : noise.shape[0];
    const int64_t shape[2] = {length, count / (length > 0 ? length : 1)};
    cuda_scene_must(scene, tnr_view_slice_axis(&noise, 0, (tnr_range){0, length, 1}, &noise));
    cuda_scene_must(scene, tnr_view_broadcast(&noise, 2, shape, (const int[]){0}, &noise));
    cuda_scene_must(scene, tnr_tensor_region_mut(tensor, 2, shape, (const int64_t[]){1, length}, 0, &target));
    cuda_scene_must(scene, tnr_cast_into(scene->engines[0], &noise, &target));
}

tnr_tensor *cuda_scene_make(cuda_scene *scene, tnr_dtype dtype, int rank, const int64_t *shape)
{
    tnr_tensor *tensor = NULL;
    if (scene->failed || scene->count == CUDA_BENCH_TENSORS) {
        scene->failed = true;
        return NULL;
    }
    cuda_scene_must(scene, tnr_cuda_zeros(scene->lanes[0], scene->memory, dtype, rank, shape, &tensor));
    if (tensor != NULL) {
        int64_t count = 1;
        for (int axis = 0; axis < rank; axis++) {
            count *= shape[axis];
        }
        scene->made[scene->count++] = tensor;
        fill(scene, tensor, count);
    }
    return tensor;
}

tnr_view cuda_scene_view(cuda_scene *scene, const tnr_tensor *tensor)
{
    tnr_view view = {.rank = 0};
    cuda_scene_must(scene, tnr_tensor_view(tensor, &view));
    return view;
}

tnr_view_mut cuda_scene_out(cuda_scene *scene, tnr_tensor *tensor)
{
    tnr_view_mut view = {.view = {.rank = 0}};
    cuda_scene_must(scene, tnr_tensor_view_mut(tensor, &view));
    return view;
}

void cuda_scene_drop(cuda_scene *scene)
{
    while (scene->count > 0) {
        cuda_scene_must(scene, tnr_tensor_release(&scene->made[--scene->count]));
    }
}

/* ---- Duels --------------------------------------------------------------------------------------------------------------- */

static void wait(cuda_scene *scene)
{
    cuda_scene_must(scene, tnr_cuda_synchronize(scene->device));
    scene->raw.wrong += scene->raw.synchronize(scene->raw.stream) != CUDA_SUCCESS ? 1 : 0;
}

static double turn(cuda_scene *scene, void (*run)(void *), void *context, int calls)
{
    wait(scene);
    const uint64_t start = bench_now_ns();
    for (int call = 0; call < calls; call++) {
        run(context);
    }
    wait(scene);
    return (double)(bench_now_ns() - start) / calls;
}

void cuda_scene_fight(cuda_scene *scene, cuda_duel *duel)
{
    enum { MOST_CALLS = 64, LEAST_TURNS = 3, MOST_TURNS = 40 };
    const double turn_ns = 4e6; /* of a batch: the wait at its end is little of that */
    const double all_ns = 1.5e8;
    void (*const run[2])(void *) = {duel->ours, duel->peer};
    void *const context[2] = {duel->ours_context, duel->peer_context};
    double *const best[2] = {&duel->ours_ns, &duel->peer_ns};
    int calls[2] = {1, 1};
    for (int side = 0; side < 2; side++) {
        if (run[side] == NULL) {
            continue;
        }
        *best[side] = turn(scene, run[side], context[side], 1); /* kernels are loaded */
        if (!scene->quick) {
            *best[side] = turn(scene, run[side], context[side], 1);
            calls[side] = (int)(turn_ns / (*best[side] + 1.0)) + 1;
            calls[side] = calls[side] > MOST_CALLS ? MOST_CALLS : calls[side];
        }
    }
    const uint64_t start = bench_now_ns();
    for (int turns = 0; !scene->quick && !scene->failed && turns < MOST_TURNS &&
                        (turns < LEAST_TURNS || (double)(bench_now_ns() - start) < all_ns);
         turns++) {
        for (int side = 0; side < 2; side++) {
            const double ns = run[side] != NULL ? turn(scene, run[side], context[side], calls[side]) : 0.0;
            *best[side] = ns < *best[side] ? ns : *best[side];
        }
    }
}

static void copy_on(void *context)
{
    cuda_raw *raw = context;
    raw->wrong += raw->copy_on(raw->device[1], raw->device[0], raw->bytes, raw->stream) != CUDA_SUCCESS ? 1 : 0;
}

void cuda_scene_against_copy(cuda_scene *scene, const char *name, double traffic, void (*ours)(void *), void *context)
{
    cuda_duel duel = {.ours = ours, .ours_context = context, .peer = copy_on, .peer_context = &scene->raw};
    if (!scene->failed) {
        cuda_scene_fight(scene, &duel);
    }
    if (!scene->failed) {
        bench_row(suite, name, "GB/s", traffic / duel.ours_ns, "cuMemcpyDtoDAsync",
                  2.0 * (double)scene->raw.bytes / duel.peer_ns, false);
    }
}
