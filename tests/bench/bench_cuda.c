/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tenure-bench cuda, on the first device: copies to and from it against the link (the driver's own copy from and to page-locked memory), copies on
 * it and work of engines against the driver's copy on the device (cuda_work.c), products against cuBLAS, small calls against
 * small copies of the driver's, and a pipeline in two lanes against the sum of its parts.
 *
 * TENURE_CUDA_DRIVER, TENURE_NVRTC and TENURE_CUBLAS name files as everywhere; TENURE_BENCH_CUDA_BYTES is the size of the largest tensor (1 GiB,
 * or an eighth of the device). Below 1 MiB everything runs once, to show that it runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_scene.h"

static const char suite[] = "cuda";

/* ---- To the device and back ------------------------------------------------------------------------------------------------ */

typedef struct transfer {
    cuda_scene *scene;
    tnr_view host;
    tnr_view_mut host_mut;
    tnr_view there;
    tnr_view_mut there_mut;
    size_t bytes; /* of the peer's */
} transfer;

static void run_upload(void *context)
{
    const transfer *t = context;
    cuda_scene_must(t->scene, tnr_cuda_upload_into(t->scene->lanes[0], &t->host, &t->there_mut));
}

static void run_download(void *context)
{
    const transfer *t = context;
    cuda_scene_must(t->scene, tnr_cuda_download_into(t->scene->lanes[0], &t->there, &t->host_mut));
}

static void run_duplicate(void *context)
{
    const transfer *t = context;
    cuda_scene_must(t->scene, tnr_cuda_copy_into(t->scene->lanes[0], &t->there, &t->there_mut));
}

static void raw_upload(void *context)
{
    const transfer *t = context;
    cuda_raw *raw = &t->scene->raw;
    raw->wrong += raw->copy_in(raw->device[1], raw->pinned, t->bytes, raw->stream) != CUDA_SUCCESS ? 1 : 0;
}

static void raw_download(void *context)
{
    const transfer *t = context;
    cuda_raw *raw = &t->scene->raw;
    raw->wrong += raw->copy_out(raw->pinned, raw->device[0], t->bytes, raw->stream) != CUDA_SUCCESS ? 1 : 0;
}

static void transfer_row(cuda_scene *scene, const char *name, bool up, transfer *t, double bytes)
{
    cuda_duel duel = {.ours = up ? run_upload : run_download,
                      .ours_context = t,
                      .peer = up ? raw_upload : raw_download,
                      .peer_context = t};
    char text[96];
    (void)snprintf(text, sizeof(text), "%s %s", up ? "upload" : "download", name);
    if (!scene->failed) {
        cuda_scene_fight(scene, &duel);
    }
    if (!scene->failed) {
        bench_row(suite, text, "GB/s", bytes / duel.ours_ns,
                  up ? "cuMemcpyHtoDAsync, page-locked" : "cuMemcpyDtoHAsync, page-locked",
                  (double)t->bytes / duel.peer_ns, false);
    }
}

/* Numbers of f32 in host memory of this domain. */
static tnr_tensor *host_tensor(cuda_scene *scene, tnr_domain *domain, int rank, const int64_t *shape)
{
    tnr_tensor *tensor = NULL;
    const float value = 0.75F;
    cuda_scene_must(scene, tnr_tensor_full(domain, TNR_F32, rank, shape, &value, &tensor));
    return tensor;
}

static void transfers_of(cuda_scene *scene, const char *name, tnr_domain *domain, uint64_t bytes)
{
    char text[96];
    const int64_t columns = scene->quick ? 4 : 1024;
    const int64_t shape[2] = {(int64_t)(bytes / sizeof(float)) / columns, columns};
    tnr_tensor *host = host_tensor(scene, domain, 2, shape);
    tnr_tensor *there = cuda_scene_make(scene, TNR_F32, 2, shape);
    if (!scene->failed) {
        transfer t = {.scene = scene, .bytes = (size_t)bytes};
        t.host_mut = cuda_scene_out(scene, host);
        t.host = t.host_mut.view;
        t.there_mut = cuda_scene_out(scene, there);
        t.there = t.there_mut.view;
        for (int up = 1; up >= 0; up--) {
            transfer_row(scene, name, up == 1, &t, (double)bytes);
        }
        /* every row without its ends, on both sides */
        const tnr_range part = {shape[0] > 4 ? 2 : 0, shape[0] > 4 ? -2 : TNR_END, 1};
        cuda_scene_must(scene, tnr_view_mut_slice_axis(&t.host_mut, 0, part, &t.host_mut));
        cuda_scene_must(scene, tnr_view_mut_slice_axis(&t.there_mut, 0, part, &t.there_mut));
        t.host = t.host_mut.view;
        t.there = t.there_mut.view;
        const double moved = (double)(t.host.shape[0] * t.host.shape[1]) * sizeof(float);
        (void)snprintf(text, sizeof(text), "%s, strided", name);
        for (int up = 1; up >= 0; up--) {
            transfer_row(scene, text, up == 1, &t, moved);
        }
    }
    cuda_scene_drop(scene);
    cuda_scene_must(scene, tnr_tensor_release(&host));
}

static void transfers(cuda_scene *scene)
{
    const uint64_t large = scene->bytes < (UINT64_C(256) << 20) ? scene->bytes : UINT64_C(256) << 20;
    const uint64_t small = large < (UINT64_C(1) << 20) ? large : UINT64_C(1) << 20;
    transfers_of(scene, "page-locked, large", scene->pinned, large);
    transfers_of(scene, "page-locked, 1 MiB", scene->pinned, small);
    transfers_of(scene, "pageable, large", scene->heap, large);
    transfers_of(scene, "pageable, 1 MiB", scene->heap, small);
}

/* ---- On the device --------------------------------------------------------------------------------------------------------- */

static void copies(cuda_scene *scene)
{
    const int64_t count = (int64_t)(scene->bytes / sizeof(float));
    tnr_tensor *a = cuda_scene_make(scene, TNR_F32, 1, &count);
    tnr_tensor *out = cuda_scene_make(scene, TNR_F32, 1, &count);
    if (!scene->failed) {
        transfer t = {.scene = scene, .there = cuda_scene_view(scene, a), .there_mut = cuda_scene_out(scene, out)};
        cuda_scene_against_copy(scene, "copy on the device", 2.0 * (double)scene->bytes, run_duplicate, &t);
    }
    cuda_scene_drop(scene);
}

static void run_small(void *context)
{
    const transfer *t = context;
    cuda_scene_must(t->scene, tnr_add_into(t->scene->engines[0], &t->there, &t->there, &t->there_mut));
}

static void raw_small(void *context)
{
    const transfer *t = context;
    cuda_raw *raw = &t->scene->raw;
    raw->wrong += raw->copy_on(raw->device[1], raw->device[0], 64, raw->stream) != CUDA_SUCCESS ? 1 : 0;
}

/* What a call costs the host and the device when there is nothing to do: many of them, and one wait. */
static void small_calls(cuda_scene *scene)
{
    const int64_t count = 16;
    tnr_tensor *a = cuda_scene_make(scene, TNR_F32, 1, &count);
    tnr_tensor *out = cuda_scene_make(scene, TNR_F32, 1, &count);
    if (!scene->failed) {
        transfer t = {.scene = scene, .there = cuda_scene_view(scene, a), .there_mut = cuda_scene_out(scene, out)};
        cuda_duel duel = {.ours = run_small, .ours_context = &t, .peer = raw_small, .peer_context = &t};
        cuda_scene_fight(scene, &duel);
        if (!scene->failed) {
            bench_row(suite, "add of 16 f32, one of many calls", "ns", duel.ours_ns, "cuMemcpyDtoDAsync of 64 bytes",
                      duel.peer_ns, true);
        }
    }
    cuda_scene_drop(scene);
}

/* ---- A pipeline ------------------------------------------------------------------------------------------------------------- */

enum { CHUNKS = 8, WORK = 8 };

/* Chunks go up, are worked on, and come down: chunk i in lane i % 2, with that lane's engine. */
typedef struct pipeline {
    cuda_scene *scene;
    tnr_view source[CHUNKS];
    tnr_view_mut back[CHUNKS];
    tnr_view_mut there[2];
} pipeline;

static void upload(const pipeline *p, int chunk)
{
    cuda_scene_must(p->scene,
                    tnr_cuda_upload_into(p->scene->lanes[chunk % 2], &p->source[chunk], &p->there[chunk % 2]));
}

static void compute(const pipeline *p, int chunk)
{
    const tnr_view_mut *at = &p->there[chunk % 2];
    for (int i = 0; i < WORK; i++) {
        cuda_scene_must(p->scene, tnr_sqrt_into(p->scene->engines[chunk % 2], &at->view, at));
    }
}

static void run_uploads(void *context)
{
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        upload(context, chunk);
    }
}

static void run_computations(void *context)
{
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        compute(context, chunk);
    }
}

static void run_downloads(void *context)
{
    const pipeline *p = context;
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        cuda_scene_must(p->scene,
                        tnr_cuda_download_into(p->scene->lanes[chunk % 2], &p->there[chunk % 2].view, &p->back[chunk]));
    }
}

static void run_all(void *context)
{
    const pipeline *p = context;
    tnr_ticket *tickets[2] = {NULL, NULL};
    for (int chunk = 0; chunk < CHUNKS + 2; chunk++) {
        if (tickets[chunk % 2] != NULL) {
            cuda_scene_must(p->scene, tnr_ticket_wait(&tickets[chunk % 2]));
        }
        if (chunk < CHUNKS && !p->scene->failed) {
            upload(p, chunk);
            compute(p, chunk);
            cuda_scene_must(p->scene, tnr_cuda_download_start(p->scene->lanes[chunk % 2], &p->there[chunk % 2].view,
                                                              &p->back[chunk], &tickets[chunk % 2]));
        }
    }
}

static void pipelines(cuda_scene *scene)
{
    const uint64_t all = scene->bytes < (UINT64_C(256) << 20) ? scene->bytes : UINT64_C(256) << 20;
    const int64_t count = (int64_t)(all / sizeof(float)) / CHUNKS;
    tnr_tensor *source[CHUNKS] = {NULL};
    tnr_tensor *back[CHUNKS] = {NULL};
    pipeline p = {.scene = scene};
    for (int chunk = 0; chunk < CHUNKS && !scene->failed; chunk++) {
        source[chunk] = host_tensor(scene, scene->pinned, 1, &count);
        back[chunk] = host_tensor(scene, scene->pinned, 1, &count);
        if (!scene->failed) {
            p.source[chunk] = cuda_scene_view(scene, source[chunk]);
            p.back[chunk] = cuda_scene_out(scene, back[chunk]);
        }
    }
    for (int lane = 0; lane < 2 && !scene->failed; lane++) {
        p.there[lane] = cuda_scene_out(scene, cuda_scene_make(scene, TNR_F32, 1, &count));
    }
    cuda_duel up_and_down = {.ours = run_uploads, .ours_context = &p, .peer = run_downloads, .peer_context = &p};
    cuda_duel rest = {.ours = run_all, .ours_context = &p, .peer = run_computations, .peer_context = &p};
    if (!scene->failed) {
        cuda_scene_fight(scene, &up_and_down);
        cuda_scene_fight(scene, &rest);
    }
    if (!scene->failed) {
        bench_row(suite, "pipeline of 8 chunks in two lanes", "us", 1e-3 * rest.ours_ns,
                  "the sum of uploads, computations and downloads",
                  1e-3 * (up_and_down.ours_ns + up_and_down.peer_ns + rest.peer_ns), true);
    }
    cuda_scene_drop(scene);
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        cuda_scene_must(scene, tnr_tensor_release(&source[chunk]));
        cuda_scene_must(scene, tnr_tensor_release(&back[chunk]));
    }
}

/* ---- All of it --------------------------------------------------------------------------------------------------------------- */

static uint64_t largest(uint64_t device_bytes)
{
    const char *wish = getenv("TENURE_BENCH_CUDA_BYTES");
    const uint64_t bytes = wish != NULL ? strtoull(wish, NULL, 10) : UINT64_C(1) << 30;
    const uint64_t most = device_bytes / 8;
    return (bytes < 16384 ? 16384 : bytes > most ? most : bytes) / 16384 * 16384;
}

/* Some thousands of numbers, on the device. */
static void make_noise(cuda_scene *scene)
{
    enum { NUMBERS = 1 << 16 };
    static float values[NUMBERS];
    const int64_t count = scene->quick ? 512 : NUMBERS;
    uint64_t random = 88172645463325252U;
    tnr_tensor *host = NULL;
    tnr_view view;
    for (int at = 0; at < NUMBERS; at++) {
        values[at] = 0.5F + (float)(bench_random(&random) >> 40) * 0x1.0p-24F;
    }
    tnr_status status =
        tnr_tensor_adopt(scene->heap, TNR_F32, 1, &count, values, (uint64_t)count * sizeof(float), NULL, NULL, &host);
    if (status == TNR_OK) {
        status = tnr_tensor_view(host, &view);
    }
    if (status == TNR_OK) {
        status = tnr_cuda_upload(scene->lanes[0], &view, scene->memory, &scene->noise);
    }
    cuda_scene_must(scene, status);
    cuda_scene_must(scene, tnr_tensor_release(&host));
}

static void open_scene(cuda_scene *scene)
{
    char text[256];
    tnr_cuda_device_info info;
    cuda_scene_must(scene, tnr_heap_create(&scene->heap));
    cuda_scene_must(scene, tnr_cuda_device_open(scene->heap, NULL, &scene->device));
    if (scene->failed) {
        return;
    }
    cuda_scene_must(scene, tnr_cuda_device_describe(scene->device, &info));
    scene->bytes = largest(info.total_bytes);
    scene->quick = scene->bytes < (UINT64_C(1) << 20);
    cuda_scene_must(scene, tnr_cuda_domain_create(scene->device, TNR_CUDA_POOL, NULL, &scene->memory));
    cuda_scene_must(scene, tnr_cuda_domain_create(scene->device, TNR_CUDA_PINNED, NULL, &scene->pinned));
    for (int lane = 0; lane < 2 && !scene->failed; lane++) {
        scene->lanes[lane] = tnr_cuda_device_lane(scene->device, lane);
        cuda_scene_must(scene, tnr_cuda_engine_create(scene->heap, scene->lanes[lane], NULL, &scene->engines[lane]));
    }
    if (!scene->failed && !cuda_raw_begin(&scene->raw, "libcuda.so.1", scene->bytes)) {
        bench_note(suite, "the driver's own calls could not be prepared");
        scene->failed = true;
    }
    if (!scene->failed) {
        (void)snprintf(text, sizeof(text),
                       "%s, compute capability %d.%d, driver for CUDA %d.%d, tensors of %llu bytes%s", info.name,
                       info.major, info.minor, info.driver_version / 1000, info.driver_version % 1000 / 10,
                       (unsigned long long)scene->bytes, scene->quick ? ", figures that mean nothing" : "");
        bench_note(suite, text);
        make_noise(scene);
    }
}

static void close_scene(cuda_scene *scene)
{
    cuda_scene_must(scene, tnr_tensor_release(&scene->noise));
    cuda_raw_end(&scene->raw);
    for (int lane = 0; lane < 2; lane++) {
        cuda_scene_must(scene, tnr_engine_destroy(&scene->engines[lane]));
    }
    if (scene->memory != NULL) {
        cuda_scene_must(scene, tnr_domain_close(&scene->memory));
    }
    if (scene->pinned != NULL) {
        cuda_scene_must(scene, tnr_domain_close(&scene->pinned));
    }
    cuda_scene_must(scene, tnr_cuda_device_close(&scene->device));
    if (scene->heap != NULL) {
        cuda_scene_must(scene, tnr_domain_close(&scene->heap));
    }
}

int bench_cuda(void)
{
    static void (*const parts[])(cuda_scene *) = {transfers,
                                                  copies,
                                                  cuda_bench_elementwise,
                                                  cuda_bench_reductions,
                                                  cuda_bench_permutations,
                                                  cuda_bench_products,
                                                  small_calls,
                                                  pipelines};
    tnr_cuda_sight sight;
    cuda_scene scene = {.failed = false};
    tnr_cuda_look(NULL, &sight);
    if (sight.state != TNR_CUDA_AVAILABLE) {
        char text[TNR_ERROR_TEXT_BYTES + 32];
        (void)snprintf(text, sizeof(text), "skipped, no device: %s", sight.text);
        bench_note(suite, text);
        return 0;
    }
    open_scene(&scene);
    for (size_t at = 0; at < sizeof(parts) / sizeof(parts[0]) && !scene.failed; at++) {
        parts[at](&scene);
    }
    cuda_scene_drop(&scene);
    close_scene(&scene);
    if (scene.raw.wrong != 0) {
        bench_note(suite, "calls of the driver or of cuBLAS failed");
    }
    return scene.failed || scene.raw.wrong != 0 ? 1 : 0;
}
