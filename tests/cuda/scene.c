/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L /* fork */
#include "scene.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

const tnr_cuda_options SCENE_SMALL = {
    .size = sizeof(tnr_cuda_options), .direct_bytes = 256, .chunk_bytes = 4096, .chunks = 3, .retirements = 4};

const char *scene_driver(void)
{
    const char *path = getenv("TENURE_TEST_CUDA_DRIVER");
    return path != NULL && path[0] != '\0' ? path : FAKE_CUDA_PATH;
}

uint64_t scene_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

/* A function of the driver; those of the fake: NULL on a real one. */
static void *find(const char *name)
{
    static void *library;
    if (library == NULL) {
        library = dlopen(scene_driver(), RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            print_error("no driver to test: %s\n", dlerror());
            exit(1);
        }
    }
    return dlsym(library, name);
}

fake_cuda *scene_fake(void)
{
    fake_cuda_control_fn control;
    void *found = find("fake_cuda_control");
    memcpy(&control, &found, sizeof(found));
    return control != NULL ? control() : NULL;
}

static pid_t keeper; /* the process that keeps a context; 0: none */

static void let_go(void)
{
    int (*give)(int);
    void *found = find("cuDevicePrimaryCtxRelease_v2");
    memcpy(&give, &found, sizeof(found));
    if (keeper == getpid() && give != NULL) { /* a forked child has no say */
        (void)give(0);
    }
}

/*
 * A real driver makes the primary context when the first device object retains it, and ends it with the last: not for each of some hundred
 * objects of a program. It is let go at exit, for those who look for leaks at its end.
 */
static void keep_context(void)
{
    int (*init)(unsigned);
    int (*retain)(void **, int);
    void *found[2] = {find("cuInit"), find("cuDevicePrimaryCtxRetain")};
    void *context = NULL;
    memcpy(&init, &found[0], sizeof(init));
    memcpy(&retain, &found[1], sizeof(retain));
    if (keeper == 0 && init != NULL && retain != NULL && init(0) == 0 && retain(&context, 0) == 0) {
        keeper = getpid();
        (void)atexit(let_go);
    }
}

void scene_reset(uint64_t seed)
{
    fake_cuda_reset_fn reset;
    void *found = find("fake_cuda_reset");
    memcpy(&reset, &found, sizeof(found));
    if (reset != NULL) {
        reset(seed);
    } else {
        keep_context();
    }
}

uint64_t scene_seeds(uint64_t many) { return scene_fake() != NULL ? many : 2; }

const char *scene_blas(void) { return scene_fake() != NULL ? scene_driver() : NULL; }

int scene_depth(void)
{
    fake_cuda_depth_fn depth;
    void *found = find("fake_cuda_depth");
    memcpy(&depth, &found, sizeof(found));
    return depth != NULL ? depth() : 0;
}

int scene_in_child(void (*run)(void *context), void *context, char *said, size_t bytes)
{
    int ends[2];
    int how = 0;
    size_t had = 0;
    assert_int_equal(pipe(ends), 0);
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], 1);
        (void)dup2(ends[1], 2);
        (void)close(ends[0]);
        (void)close(ends[1]);
        run(context);
        exit(0);
    }
    (void)close(ends[1]);
    for (;;) {
        char beyond[256];
        const bool room = had + 1 < bytes;
        const ssize_t more = read(ends[0], room ? said + had : beyond, room ? bytes - had - 1 : sizeof(beyond));
        if (more <= 0) {
            break;
        }
        had += room ? (size_t)more : 0;
    }
    said[had] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

void scene_begin(scene *of, uint64_t seed, const tnr_cuda_options *given)
{
    tnr_cuda_options options = given != NULL ? *given : SCENE_SMALL;
    memset(of, 0, sizeof(*of));
    scene_reset(seed);
    options.driver = scene_driver();
    options.nvrtc = options.nvrtc == NULL && scene_fake() != NULL ? scene_driver() : options.nvrtc;
    of->heap = make_heap();
    OK(tnr_cuda_device_open(of->heap, &options, &of->device));
    of->lane[0] = tnr_cuda_device_lane(of->device, 0);
    of->lane[1] = tnr_cuda_device_lane(of->device, 1);
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        OK(tnr_cuda_domain_create(of->device, (tnr_cuda_memory)memory, NULL, &of->domain[memory]));
    }
}

void scene_expect_clean(void)
{
    const fake_cuda *fake = scene_fake();
    if (fake == NULL) {
        return;
    }
    if (fake->first[0] != '\0') {
        print_error("the driver says: %s (seed %llu)\n", fake->first, (unsigned long long)fake->seed);
    }
    assert_int_equal(fake->use_after_free, 0);
    assert_int_equal(fake->double_free, 0);
    assert_int_equal(fake->out_of_bounds, 0);
    assert_int_equal(fake->misuse, 0);
    assert_int_equal(fake->hangs, 0);
    assert_int_equal(scene_depth(), 0);
}

void scene_close(scene *of)
{
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        OK(tnr_domain_close(&of->domain[memory]));
    }
    OK(tnr_cuda_device_close(&of->device));
    assert_null(of->device);
    OK(tnr_domain_close(&of->heap));
}

void scene_end(scene *of)
{
    scene_close(of);
    scene_expect_clean();
    const fake_cuda *fake = scene_fake();
    if (fake != NULL) {
        assert_int_equal(fake->leaked, 0);
        assert_int_equal(fake->live, 0);
        assert_int_equal(fake->live_bytes, 0);
    }
}

tnr_cuda_engine_options stage_options(const char *cublas)
{
    tnr_cuda_engine_options options = TNR_CUDA_ENGINE_OPTIONS;
    options.cublas = cublas;
    return options;
}

void stage_begin(stage *of, uint64_t seed, const tnr_cuda_engine_options *options)
{
    scene_begin(&of->s, seed, NULL);
    of->engine = NULL;
    of->cpu = NULL;
    OK(tnr_cuda_engine_create(of->s.heap, of->s.lane[0], options, &of->engine));
    OK(tnr_engine_create(of->s.heap, NULL, &of->cpu));
}

void stage_end(stage *of)
{
    OK(tnr_engine_destroy(&of->cpu));
    OK(tnr_engine_destroy(&of->engine));
    scene_end(&of->s);
}

tnr_cuda_statistics scene_counts(const scene *of)
{
    tnr_cuda_statistics counts;
    OK(tnr_cuda_statistics_get(of->device, &counts));
    return counts;
}

tnr_tensor *scene_counting(tnr_domain *domain, int64_t count, int32_t first)
{
    tnr_draft *draft = NULL;
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    tnr_write_map map;
    OK(tnr_draft_begin(domain, TNR_I32, 1, &count, &draft));
    OK(tnr_draft_view(draft, &view));
    OK(tnr_map_write(&view, &map));
    for (int64_t at = 0; at < count; at++) {
        ((int32_t *)map.data)[at] = first + (int32_t)at;
    }
    OK(tnr_unmap_write(&map));
    OK(tnr_draft_commit(&draft, &tensor));
    return tensor;
}

tnr_tensor *scene_on_device(const scene *of, tnr_cuda_memory memory, int64_t count, int32_t first)
{
    tnr_tensor *host = scene_counting(of->heap, count, first);
    tnr_tensor *tensor = NULL;
    const tnr_view view = view_of(host);
    OK(tnr_cuda_upload(of->lane[0], &view, of->domain[memory], &tensor));
    release(&host);
    return tensor;
}

void scene_expect_counting(const scene *of, const tnr_tensor *tensor, int32_t first)
{
    tnr_tensor_info info;
    tnr_tensor *host = NULL;
    tnr_view view = view_of(tensor);
    tnr_read_map map;
    OK(tnr_tensor_describe(tensor, &info));
    if (info.access == TNR_ACCESS_NONE) {
        OK(tnr_cuda_download(of->lane[1], &view, of->heap, &host));
        view = view_of(host);
    }
    OK(tnr_map_read(&view, &map));
    for (int64_t at = 0; at < info.count; at++) {
        assert_int_equal(((const int32_t *)map.data)[at], first + (int32_t)at);
    }
    OK(tnr_unmap_read(&map));
    if (host != NULL) {
        release(&host);
    }
}
